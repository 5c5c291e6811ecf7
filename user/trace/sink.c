// SPDX-License-Identifier: MIT
/*
 * A block goes through two steps, each done by whichever thread of the pool is free: packing (lines
 * to a gzip member), in any order, and writing, in the order of the file. At most `packers` blocks
 * are packed at once and at most WRITERS files written; there are as many threads as both together,
 * so that files on a server that does not answer hold up neither packing nor, up to WRITERS - 1 of
 * them, the other files.
 */
#include "sink.h"

#include <errno.h>
#include <libdeflate.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "outdir.h"

#define PACKERS_MAX 4
#define WRITERS	    4
#define MEMORY	    (256u << 20)
/* Buffers from this size on are used again: fresh memory costs more than filling it. */
#define SPARE_MIN   (512u << 10)
#define SPARES	    8
/* By load: few bytes for little time; and the least time, when so many bytes wait for a processor. */
#define LEVEL	    5
#define LEVEL_FAST  1
#define HURRY	    (2u << 20)

struct dft_sink_file {
	struct dft_outfile out;
	struct block *head, **tail; /* not written yet, in order */
	bool failed;                /* what comes later is dropped */
	struct dft_sink_file *next; /* in the queue of files to write */
};

struct block {
	struct block *next;   /* in the queue of blocks to pack */
	struct block *behind; /* of the same file */
	struct dft_sink_file *file;
	struct dft_buf data;  /* lines, then the member */
	bool packed;
	bool last;
	int err;              /* of packing */
};

struct packer {
	struct packer *next; /* of those that are free */
	struct libdeflate_compressor *normal, *fast;
	char *out;
	size_t out_cap;
};

struct dft_sink {
	struct dft_outdir dir;
	const struct dft_identity *id;
	pthread_t threads[PACKERS_MAX + WRITERS];
	size_t nthreads;
	struct packer packers[PACKERS_MAX];
	size_t npackers;

	pthread_mutex_t lock; /* of all that follows, and of files' and blocks' places in queues */
	pthread_cond_t work, room, ready;
	size_t nready;        /* threads that have started */
	int start_error;
	bool opened;
	bool finishing;
	struct packer *free_packer;
	struct block *pack_head, **pack_tail;
	struct dft_sink_file *write_head, **write_tail; /* when the first block is packed */
	size_t writing;       /* files */
	size_t blocks;
	struct dft_buf spares[SPARES];
	size_t nspares, spare_bytes;
	uint64_t used, bound; /* bytes in blocks and spare buffers */
	uint64_t peak;        /* of used, since memory was given back to the system */
	uint64_t waiting;     /* bytes of lines in the queue of blocks to pack */
	uint64_t hurry;       /* from so many on */
	uint64_t written;     /* bytes on disk */
	unsigned int failed;  /* files that are not complete */
	bool told[256];       /* errors that were said already, by number */
};

/* ---- packing -------------------------------------------------------------------------------- */

static int packer_init(struct packer *packer, int level)
{
	packer->normal = libdeflate_alloc_compressor(level ? level : LEVEL);
	packer->fast = level ? NULL : libdeflate_alloc_compressor(LEVEL_FAST);
	return packer->normal && (level || packer->fast) ? 0 : -ENOMEM;
}

static void packer_free(struct packer *packer)
{
	libdeflate_free_compressor(packer->normal);
	libdeflate_free_compressor(packer->fast);
	free(packer->out);
}

/* Lines to a member, which may wait long for its turn and is therefore as large as it must be. */
static int pack(struct packer *packer, bool hurry, const struct dft_buf *lines,
		struct dft_buf *member)
{
	struct libdeflate_compressor *compressor = hurry && packer->fast ? packer->fast : packer->normal;
	size_t len, bound = libdeflate_gzip_compress_bound(compressor, lines->len);

	if (bound > packer->out_cap) {
		/* The old bytes are of no use in the new place. */
		free(packer->out);
		packer->out = malloc(bound);
		packer->out_cap = packer->out ? bound : 0;
		if (!packer->out)
			return -ENOMEM;
	}
	len = libdeflate_gzip_compress(compressor, lines->data, lines->len, packer->out,
				       packer->out_cap);
	if (!len)
		return -EIO;
	member->data = malloc(len);
	if (!member->data)
		return -ENOMEM;
	memcpy(member->data, packer->out, len);
	member->len = member->cap = len;
	return 0;
}

/* Keeps an emptied buffer for lines to come; the lock is held. */
static void keep_spare(struct dft_sink *sink, struct dft_buf *buf)
{
	if (buf->cap < SPARE_MIN || sink->nspares == SPARES ||
	    sink->spare_bytes + buf->cap > sink->bound / 16)
		return;
	buf->len = 0;
	sink->spares[sink->nspares++] = *buf;
	sink->spare_bytes += buf->cap;
	sink->used += buf->cap;
	*buf = (struct dft_buf)DFT_BUF_INIT;
}

static void take_spare(struct dft_sink *sink, struct dft_buf *buf)
{
	if (!sink->nspares)
		return;
	*buf = sink->spares[--sink->nspares];
	sink->spare_bytes -= buf->cap;
	sink->used -= buf->cap;
}

static bool can_pack(const struct dft_sink *sink)
{
	return sink->pack_head && sink->free_packer;
}

static bool can_write(const struct dft_sink *sink)
{
	return sink->write_head && sink->writing < WRITERS;
}

/* One thread wakes the next, as long as there is something to do. */
static void unlock_to_work(struct dft_sink *sink)
{
	if (can_pack(sink) || can_write(sink))
		pthread_cond_signal(&sink->work);
	pthread_mutex_unlock(&sink->lock);
}

static void queue_file(struct dft_sink *sink, struct dft_sink_file *file)
{
	file->next = NULL;
	*sink->write_tail = file;
	sink->write_tail = &file->next;
}

static void give_back(struct dft_sink *sink, size_t bytes)
{
	sink->used -= bytes;
	if (sink->used <= sink->bound)
		pthread_cond_signal(&sink->room);
}

/* The lock is held when this begins and ends. */
static void pack_one(struct dft_sink *sink)
{
	struct block *block = sink->pack_head;
	struct packer *packer = sink->free_packer;
	struct dft_buf lines = block->data;
	size_t taken = lines.cap;
	bool drop = block->file->failed || !lines.len;
	bool hurry;
	int err = 0;

	/* What waits for the disk is no reason. */
	sink->waiting -= lines.len;
	hurry = sink->waiting > sink->hurry;
	sink->pack_head = block->next;
	if (!sink->pack_head)
		sink->pack_tail = &sink->pack_head;
	sink->free_packer = packer->next;
	unlock_to_work(sink);
	block->data = (struct dft_buf)DFT_BUF_INIT;
	if (!drop)
		err = pack(packer, hurry, &lines, &block->data);
	pthread_mutex_lock(&sink->lock);
	packer->next = sink->free_packer;
	sink->free_packer = packer;
	block->err = err;
	block->packed = true;
	sink->used += block->data.cap;
	keep_spare(sink, &lines);
	give_back(sink, taken);
	if (block == block->file->head)
		queue_file(sink, block->file);
	unlock_to_work(sink);
	dft_buf_free(&lines);
	pthread_mutex_lock(&sink->lock);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* A full disk fails for each file: once is enough. */
static void fail_file(struct dft_sink *sink, struct dft_sink_file *file, int err)
{
	bool told, *cause = &sink->told[(uint8_t)-err];

	pthread_mutex_lock(&sink->lock);
	file->failed = true;
	sink->failed++;
	told = *cause;
	*cause = true;
	pthread_mutex_unlock(&sink->lock);
	if (told)
		dft_verbose("%s/%s: %s", sink->dir.path, file->out.name, strerror(-err));
	else
		dft_error("%s/%s: %s (%s; what follows of this process is not recorded)", sink->dir.path,
			  file->out.name, strerror(-err), dft_outfile_remedy(err));
}

static void free_file(struct dft_sink_file *file)
{
	free(file->out.name);
	free(file);
}

/* The first block of a file. The lock is held when this begins and ends. */
static void write_one(struct dft_sink *sink)
{
	struct dft_sink_file *file = sink->write_head;
	struct block *block = file->head;
	bool failed = file->failed;
	int err = block->err;

	sink->write_head = file->next;
	if (!sink->write_head)
		sink->write_tail = &sink->write_head;
	sink->writing++;
	unlock_to_work(sink);
	if (!failed && !err && block->data.len)
		err = dft_outfile_append(&sink->dir, &file->out, block->data.data, block->data.len);
	if (!failed && err)
		fail_file(sink, file, err);
	free(block->data.data);
	pthread_mutex_lock(&sink->lock);
	sink->writing--;
	sink->blocks--;
	if (!failed && !err)
		sink->written += block->data.len;
	give_back(sink, sizeof(*block) + block->data.cap);
	file->head = block->behind;
	if (!file->head)
		file->tail = &file->head;
	/* Behind the others that wait, so that each gets its turn. */
	if (file->head && file->head->packed)
		queue_file(sink, file);
	if (block->last)
		free_file(file);
	free(block);
}

/*
 * After a burst: what is free lies between what is not, and malloc would keep it. The lock is held
 * when this begins and ends.
 */
static void trim(struct dft_sink *sink)
{
	if (sink->blocks || sink->peak < sink->bound / 4)
		return;
	sink->peak = 0;
	pthread_mutex_unlock(&sink->lock);
	malloc_trim(0);
	pthread_mutex_lock(&sink->lock);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void work(struct dft_sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	while (!sink->finishing || sink->blocks) {
		trim(sink);
		if (can_write(sink))
			write_one(sink);
		else if (can_pack(sink))
			pack_one(sink);
		else
			pthread_cond_wait(&sink->work, &sink->lock);
	}
	/* The others wait for what may come from those at work, and now nothing will. */
	pthread_cond_broadcast(&sink->work);
	pthread_mutex_unlock(&sink->lock);
}

static void *thread(void *arg)
{
	struct dft_sink *sink = arg;
	int err = dft_outdir_enter(sink->id);

	pthread_mutex_lock(&sink->lock);
	if (!err && !sink->opened) {
		sink->opened = true;
		err = dft_outdir_open(&sink->dir);
	}
	sink->nready++;
	if (err && !sink->start_error)
		sink->start_error = err;
	pthread_cond_signal(&sink->ready);
	pthread_mutex_unlock(&sink->lock);
	/* After an error there is no work: it waits for the end, so that all are there to be counted. */
	work(sink);
	pthread_mutex_lock(&sink->lock);
	/* Nothing was traced, for CMD could not be run: leave nothing behind. */
	if (--sink->nready == 0 && !sink->written)
		dft_outdir_remove(&sink->dir);
	pthread_mutex_unlock(&sink->lock);
	return NULL;
}

/*
 * Signals are for the main thread; and the one for a file that exceeds the limit of its size, which
 * goes to the thread that writes and would end the program, waits there for ever.
 */
static int start_threads(struct dft_sink *sink)
{
	size_t n = sink->npackers + WRITERS;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	err = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (err)
		goto failed;
	while (!err && sink->nthreads < n) {
		err = pthread_create(&sink->threads[sink->nthreads], NULL, thread, sink);
		if (!err)
			sink->nthreads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
failed:
	if (err)
		dft_error("cannot start the writing threads: %s (raise ulimit -u)", strerror(err));
	return err;
}

static int wait_ready(struct dft_sink *sink)
{
	int err;

	pthread_mutex_lock(&sink->lock);
	while (sink->nready < sink->nthreads)
		pthread_cond_wait(&sink->ready, &sink->lock);
	err = sink->start_error;
	pthread_mutex_unlock(&sink->lock);
	if (err)
		dft_outdir_complain(&sink->dir, err);
	return err;
}

/* ---- from outside --------------------------------------------------------------------------- */

static void init_queues(struct dft_sink *sink)
{
	pthread_condattr_t attr;

	sink->pack_tail = &sink->pack_head;
	sink->write_tail = &sink->write_head;
	pthread_mutex_init(&sink->lock, NULL);
	pthread_cond_init(&sink->work, NULL);
	pthread_cond_init(&sink->ready, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sink->room, &attr);
	pthread_condattr_destroy(&attr);
}

static int init_packers(struct dft_sink *sink, int level)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = cpus < 1 ? 1 : cpus > PACKERS_MAX ? PACKERS_MAX : (size_t)cpus;

	while (sink->npackers < n) {
		struct packer *packer = &sink->packers[sink->npackers++];

		if (packer_init(packer, level))
			return -ENOMEM;
		packer->next = sink->free_packer;
		sink->free_packer = packer;
	}
	return 0;
}

struct dft_sink *dft_sink_new(const struct dft_config *cfg, const struct dft_identity *id)
{
	struct dft_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		goto no_memory;
	init_queues(sink);
	sink->id = id;
	sink->bound = (cfg->memory ? cfg->memory : MEMORY) / 2;
	sink->hurry = sink->bound / 8 < HURRY ? sink->bound / 8 : HURRY;
	if (dft_outdir_init(&sink->dir, cfg) || init_packers(sink, cfg->level))
		goto no_memory;
	if (start_threads(sink) || wait_ready(sink)) {
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
	file->tail = &file->head;
	file->out.name = strdup(name);
	if (!file->out.name) {
		free(file);
		return NULL;
	}
	return file;
}

/* Buffers grow by doubling, and this one may wait for long. */
static void shrink(struct dft_buf *lines)
{
	char *data;

	if (!lines->len || lines->len > lines->cap / 2)
		return;
	data = realloc(lines->data, lines->len);
	if (!data)
		return; /* it is as good as it was */
	lines->data = data;
	lines->cap = lines->len;
}

int dft_sink_write(struct dft_sink *sink, struct dft_sink_file *file, struct dft_buf *lines,
		   bool last)
{
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		return -ENOMEM;
	shrink(lines);
	block->file = file;
	block->data = *lines;
	block->last = last;
	*lines = (struct dft_buf)DFT_BUF_INIT;
	pthread_mutex_lock(&sink->lock);
	sink->blocks++;
	sink->used += sizeof(*block) + block->data.cap;
	if (sink->used > sink->peak)
		sink->peak = sink->used;
	sink->waiting += block->data.len;
	/* There will be as many lines again. */
	if (!last && block->data.len >= SPARE_MIN)
		take_spare(sink, lines);
	*file->tail = block;
	file->tail = &block->behind;
	*sink->pack_tail = block;
	sink->pack_tail = &block->next;
	unlock_to_work(sink);
	return 0;
}

bool dft_sink_full(struct dft_sink *sink)
{
	bool full;

	pthread_mutex_lock(&sink->lock);
	full = sink->used > sink->bound;
	pthread_mutex_unlock(&sink->lock);
	return full;
}

bool dft_sink_wait(struct dft_sink *sink, unsigned int timeout_ms)
{
	struct timespec until;
	bool full;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&sink->lock);
	while (sink->used > sink->bound && !err)
		err = pthread_cond_timedwait(&sink->room, &sink->lock, &until);
	full = sink->used > sink->bound;
	pthread_mutex_unlock(&sink->lock);
	return !full;
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
	pthread_cond_broadcast(&sink->work);
	pthread_mutex_unlock(&sink->lock);
	while (sink->nthreads)
		pthread_join(sink->threads[--sink->nthreads], NULL);
	if (sink->failed > 1)
		dft_info("%u files of the trace are not complete", sink->failed);
	return sink->failed ? -1 : 0;
}

void dft_sink_free(struct dft_sink *sink)
{
	if (!sink)
		return;
	if (sink->nthreads)
		dft_sink_finish(sink);
	while (sink->nspares)
		dft_buf_free(&sink->spares[--sink->nspares]);
	for (size_t i = 0; i < sink->npackers; i++)
		packer_free(&sink->packers[i]);
	dft_outdir_free(&sink->dir);
	free(sink);
}
