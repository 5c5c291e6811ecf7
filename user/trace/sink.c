// SPDX-License-Identifier: MIT
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

#define LEVEL	  6
#define QUEUE_MAX (64u << 20) /* bytes of lines waiting; then the reader of the ring waits */

struct dft_sink_file {
	char *name;
	bool made;
	bool failed;  /* said so once; what comes later is dropped */
	off_t len;    /* of whole members */
	dev_t dev;
	ino_t ino;
};

struct block {
	struct block *next;
	struct dft_sink_file *file;
	char *data;
	size_t len;
	bool last;
};

struct dft_sink {
	char *dir;
	bool dir_given, dir_made;
	int dir_fd;
	const struct dft_identity *id;
	struct libdeflate_compressor *compressor;
	char *out; /* one compressed member */
	size_t out_cap;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t work, room, ready;
	struct block *head, **tail;
	size_t queued;    /* bytes */
	uint64_t written; /* bytes on disk */
	bool finishing;
	unsigned int failed; /* files that are not complete */
	int told;            /* the errno that was said already */
	int opened;       /* 1 after the directory is open, or -errno */
};

/*
 * Files belong to the user who called sudo, and on file systems that map root to nobody only he can
 * make them. The ids of this thread alone change: hence the raw system call, as the C library's
 * function would change all threads.
 */
static int take_identity(const struct dft_identity *id)
{
	if (!id->change_out)
		return 0;
	if (syscall(SYS_setgroups, id->out_ngroups, id->out_groups))
		return -errno;
	setfsgid(id->out_gid);
	setfsuid(id->out_uid);
	/* They return the old id only; asking again tells whether it took. */
	if ((gid_t)setfsgid((gid_t)-1) != id->out_gid || (uid_t)setfsuid((uid_t)-1) != id->out_uid)
		return -EPERM;
	return 0;
}

static int open_dir(struct dft_sink *sink)
{
	if (!mkdir(sink->dir, 0700))
		sink->dir_made = true;
	else if (errno != EEXIST || !sink->dir_given)
		return -errno;
	sink->dir_fd = open(sink->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sink->dir_fd < 0)
		return -errno;
	/* Found out now rather than at the first flush, when CMD is running. */
	if (faccessat(sink->dir_fd, ".", W_OK | X_OK, AT_EACCESS) && errno != ENOSYS)
		return -errno;
	return 0;
}

/*
 * Files are not held open: there may be more of them than descriptors. A file found again must be
 * the one that was made, not something put in its place.
 */
static int open_file(struct dft_sink *sink, struct dft_sink_file *file)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	int fd;

	fd = openat(sink->dir_fd, file->name, file->made ? flags : flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (!file->made) {
		file->dev = st.st_dev;
		file->ino = st.st_ino;
		file->made = true;
	} else if (st.st_dev != file->dev || st.st_ino != file->ino) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* All of it or nothing: what a full disk cut off is taken back, so that whole members remain. */
static int write_member(struct dft_sink_file *file, int fd, const char *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, data + done, len - done);

		if (n < 0) {
			int err = -errno;

			if (errno == EINTR)
				continue;
			if (ftruncate(fd, file->len))
				dft_verbose("%s: ftruncate: %s", file->name, strerror(errno));
			return err;
		}
		done += (size_t)n;
	}
	file->len += (off_t)len;
	return 0;
}

static int append(struct dft_sink *sink, struct dft_sink_file *file, const char *data, size_t len)
{
	int err, fd = open_file(sink, file);

	if (fd < 0)
		return fd;
	err = write_member(file, fd, data, len);
	/* Network file systems report a full disk here. */
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int compress(struct dft_sink *sink, const struct block *block, size_t *len)
{
	size_t bound = libdeflate_gzip_compress_bound(sink->compressor, block->len);

	if (bound > sink->out_cap) {
		char *out = realloc(sink->out, bound);

		if (!out)
			return -ENOMEM;
		sink->out = out;
		sink->out_cap = bound;
	}
	*len = libdeflate_gzip_compress(sink->compressor, block->data, block->len, sink->out,
					sink->out_cap);
	return *len ? 0 : -EIO;
}

static void write_block(struct dft_sink *sink, struct block *block)
{
	struct dft_sink_file *file = block->file;
	size_t len = 0;
	int err;

	if (file->failed || !block->len)
		return;
	err = compress(sink, block, &len);
	if (!err)
		err = append(sink, file, sink->out, len);
	if (!err) {
		pthread_mutex_lock(&sink->lock);
		sink->written += len;
		pthread_mutex_unlock(&sink->lock);
		return;
	}
	file->failed = true;
	sink->failed++; /* read by others only after this thread has ended */
	/* A full disk fails for each file: once is enough. */
	if (err != sink->told)
		dft_error("%s/%s: %s (what follows of this process is not recorded)", sink->dir,
			  file->name, strerror(-err));
	sink->told = err;
}

static void free_file(struct dft_sink_file *file)
{
	free(file->name);
	free(file);
}

static struct block *next_block(struct dft_sink *sink)
{
	struct block *block;

	pthread_mutex_lock(&sink->lock);
	while (!sink->head && !sink->finishing)
		pthread_cond_wait(&sink->work, &sink->lock);
	block = sink->head;
	if (block) {
		sink->head = block->next;
		if (!sink->head)
			sink->tail = &sink->head;
		sink->queued -= block->len;
		pthread_cond_signal(&sink->room);
	}
	pthread_mutex_unlock(&sink->lock);
	return block;
}

static void *writer(void *arg)
{
	struct dft_sink *sink = arg;
	struct block *block;
	int err = take_identity(sink->id);

	if (!err)
		err = open_dir(sink);
	pthread_mutex_lock(&sink->lock);
	sink->opened = err ? err : 1;
	pthread_cond_signal(&sink->ready);
	pthread_mutex_unlock(&sink->lock);
	if (err)
		return NULL;
	while ((block = next_block(sink))) {
		write_block(sink, block);
		if (block->last)
			free_file(block->file);
		free(block->data);
		free(block);
	}
	/* Nothing was traced, for CMD could not be run: leave nothing behind. */
	if (sink->dir_made && !sink->written && rmdir(sink->dir) && errno != ENOTEMPTY)
		dft_verbose("%s: %s", sink->dir, strerror(errno));
	return NULL;
}

static void complain_dir(const struct dft_sink *sink, int err)
{
	if (err == -EEXIST)
		dft_error("%s: exists already (name another directory with -o)", sink->dir);
	else if (err == -ENOENT)
		dft_error("%s: %s (make its parent directory first)", sink->dir, strerror(-err));
	else
		dft_error("%s: %s (choose a directory that can be written with -o)", sink->dir,
			  strerror(-err));
}

struct dft_sink *dft_sink_new(const struct dft_config *cfg, const struct dft_identity *id)
{
	struct dft_sink *sink = calloc(1, sizeof(*sink));
	int err;

	if (!sink)
		goto no_memory;
	sink->dir_fd = -1;
	sink->id = id;
	sink->tail = &sink->head;
	sink->dir_given = cfg->out_dir_given;
	sink->dir = strdup(cfg->out_dir);
	sink->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!sink->dir || !sink->compressor)
		goto no_memory;
	pthread_mutex_init(&sink->lock, NULL);
	pthread_cond_init(&sink->work, NULL);
	pthread_cond_init(&sink->room, NULL);
	pthread_cond_init(&sink->ready, NULL);
	err = pthread_create(&sink->thread, NULL, writer, sink);
	if (err) {
		dft_error("cannot start the writing thread: %s (raise ulimit -u)", strerror(err));
		dft_sink_free(sink);
		return NULL;
	}
	sink->running = true;
	pthread_mutex_lock(&sink->lock);
	while (!sink->opened)
		pthread_cond_wait(&sink->ready, &sink->lock);
	err = sink->opened;
	pthread_mutex_unlock(&sink->lock);
	if (err < 0) {
		complain_dir(sink, err);
		dft_sink_free(sink);
		return NULL;
	}
	return sink;
no_memory:
	dft_error("cannot start: out of memory (free some)");
	dft_sink_free(sink);
	return NULL;
}

struct dft_sink_file *dft_sink_file_new(struct dft_sink *sink, const char *name)
{
	struct dft_sink_file *file = calloc(1, sizeof(*file));

	(void)sink;
	if (!file)
		return NULL;
	file->name = strdup(name);
	if (!file->name) {
		free(file);
		return NULL;
	}
	return file;
}

int dft_sink_write(struct dft_sink *sink, struct dft_sink_file *file, struct dft_buf *lines,
		   bool last)
{
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		return -ENOMEM;
	block->file = file;
	block->data = lines->data;
	block->len = lines->len;
	block->last = last;
	*lines = (struct dft_buf)DFT_BUF_INIT;
	pthread_mutex_lock(&sink->lock);
	while (sink->queued > QUEUE_MAX)
		pthread_cond_wait(&sink->room, &sink->lock);
	sink->queued += block->len;
	*sink->tail = block;
	sink->tail = &block->next;
	pthread_cond_signal(&sink->work);
	pthread_mutex_unlock(&sink->lock);
	return 0;
}

uint64_t dft_sink_bytes(struct dft_sink *sink)
{
	uint64_t bytes;

	pthread_mutex_lock(&sink->lock);
	bytes = sink->written;
	pthread_mutex_unlock(&sink->lock);
	return bytes;
}

int dft_sink_finish(struct dft_sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	sink->finishing = true;
	pthread_cond_signal(&sink->work);
	pthread_mutex_unlock(&sink->lock);
	if (sink->running)
		pthread_join(sink->thread, NULL);
	sink->running = false;
	if (sink->failed > 1)
		dft_info("%u files of the trace are not complete", sink->failed);
	return sink->failed ? -1 : 0;
}

void dft_sink_free(struct dft_sink *sink)
{
	if (!sink)
		return;
	if (sink->running)
		dft_sink_finish(sink);
	if (sink->dir_fd >= 0)
		close(sink->dir_fd);
	libdeflate_free_compressor(sink->compressor);
	free(sink->out);
	free(sink->dir);
	free(sink);
}
