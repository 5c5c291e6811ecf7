// SPDX-License-Identifier: MIT
/*
 * The output: what is written, in which order, and what is left of a file when the disk fails. The
 * calls by which it reaches the disk and the compression library go through this file, which makes
 * them fail or wait; what then lies on the disk is read back with zlib.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "sink.h"

#ifndef DEADLINE_S
#define DEADLINE_S 60
#endif

/* ---- between the sink and the system -------------------------------------------------------- */

struct libdeflate_compressor;
size_t libdeflate_gzip_compress(struct libdeflate_compressor *, const void *, size_t, void *, size_t);

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool packers_held;
	const char *held;     /* writes to files whose names begin so wait */
	size_t waiting;       /* of such writes */
	bool crooked;         /* writes are short or interrupted */
	char said[8192];      /* to stderr */
	size_t said_len;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Errors to come, by file. */
static struct fault {
	const char *file;
	size_t room;   /* bytes of the file that go through before write() fails */
	int write_err;
	off_t close_from; /* close() fails once the file is longer than this */
	int close_err;
} faults[8];

static void reset(void)
{
	gate.packers_held = false;
	gate.held = NULL;
	gate.waiting = 0;
	gate.crooked = false;
	gate.said_len = 0;
	gate.said[0] = '\0';
	memset(faults, 0, sizeof(faults));
}

static void open_gates(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.packers_held = false;
	gate.held = NULL;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

/* Last component of what is open as fd. */
static const char *name_of(int fd, char *path, size_t cap)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, cap - 1);
	path[n < 0 ? 0 : n] = '\0';
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static const struct fault *fault_of(const char *name)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i].file && !strcmp(faults[i].file, name))
			return &faults[i];
	return NULL;
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_size;
}

static void wait_at_gate(const char *name)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.held && !strncmp(name, gate.held, strlen(gate.held))) {
		gate.waiting++;
		pthread_cond_broadcast(&gate.changed);
		pthread_cond_wait(&gate.changed, &gate.lock);
		gate.waiting--;
	}
	pthread_mutex_unlock(&gate.lock);
}

static ssize_t to_stderr(const char *data, size_t len)
{
	pthread_mutex_lock(&gate.lock);
	if (gate.said_len + len < sizeof(gate.said)) {
		memcpy(gate.said + gate.said_len, data, len);
		gate.said_len += len;
		gate.said[gate.said_len] = '\0';
	}
	pthread_mutex_unlock(&gate.lock);
	return (ssize_t)len;
}

ssize_t write(int fd, const void *data, size_t len)
{
	static atomic_uint calls;
	const struct fault *fault;
	const char *name;
	char path[512];

	if (fd == STDERR_FILENO)
		return to_stderr(data, len);
	name = name_of(fd, path, sizeof(path));
	wait_at_gate(name);
	fault = fault_of(name);
	if (fault && fault->write_err) {
		size_t size = (size_t)size_of(fd);

		if (size >= fault->room) {
			errno = fault->write_err;
			return -1;
		}
		if (len > fault->room - size)
			len = fault->room - size;
	}
	if (gate.crooked && len > 1) {
		unsigned int n = atomic_fetch_add(&calls, 1);

		if (n % 3 == 0) {
			errno = EINTR;
			return -1;
		}
		if (n % 3 == 1)
			len = len / 2;
		sched_yield();
	}
	return syscall(SYS_write, fd, data, len);
}

int close(int fd)
{
	char path[512];
	const struct fault *fault = fault_of(name_of(fd, path, sizeof(path)));
	int err = fault && fault->close_err && size_of(fd) > fault->close_from ? fault->close_err : 0;

	if (syscall(SYS_close, fd))
		return -1;
	errno = err;
	return err ? -1 : 0;
}

size_t libdeflate_gzip_compress(struct libdeflate_compressor *compressor, const void *in, size_t in_len,
				void *out, size_t out_len)
{
	size_t (*real)(struct libdeflate_compressor *, const void *, size_t, void *, size_t);

	pthread_mutex_lock(&gate.lock);
	while (gate.packers_held)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	*(void **)&real = dlsym(RTLD_NEXT, "libdeflate_gzip_compress");
	return real(compressor, in, in_len, out, out_len);
}

/* ---- helpers -------------------------------------------------------------------------------- */

static char base[64], out_dir[96];

static struct dft_sink *new_sink(uint64_t memory, int level)
{
	static const struct dft_identity nobody;
	struct dft_config cfg = { .out_dir = out_dir, .out_dir_given = true, .memory = memory,
				  .level = level };
	struct dft_sink *sink = dft_sink_new(&cfg, &nobody);

	assert_non_null(sink);
	return sink;
}

static struct dft_sink_file *new_file(struct dft_sink *sink, const char *name)
{
	struct dft_sink_file *file = dft_sink_file_new(sink, name);

	assert_non_null(file);
	return file;
}

/* A line of so many bytes that says which it is and does not pack well. */
static void fill(struct dft_buf *buf, unsigned int number, size_t len)
{
	uint64_t x = number * 2654435761u + 88172645463325252u;

	dft_buf_u64(buf, number);
	dft_buf_putc(buf, ' ');
	while (buf->len + 1 < len) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		dft_buf_putc(buf, (char)(' ' + x % 64));
	}
	dft_buf_putc(buf, '\n');
	assert_false(buf->failed);
}

static void put(struct dft_sink *sink, struct dft_sink_file *file, unsigned int number, size_t len,
		bool last)
{
	struct dft_buf buf = DFT_BUF_INIT;

	fill(&buf, number, len);
	assert_int_equal(dft_sink_write(sink, file, &buf, last), 0);
	assert_int_equal(buf.len, 0);
	dft_buf_free(&buf);
}

static void path_to(char *path, size_t cap, const char *name)
{
	snprintf(path, cap, "%s/%s", out_dir, name);
}

static off_t size_at(const char *name)
{
	char path[256];
	struct stat st;

	path_to(path, sizeof(path), name);
	return stat(path, &st) ? -1 : st.st_size;
}

struct member {
	unsigned int number;
	size_t len;          /* of its lines */
	size_t packed;
	unsigned char speed; /* XFL of the header: 4 fastest, 2 smallest, 0 between */
};

/* The next member at *in; 0 if it is not whole. */
static int inflate_one(const unsigned char *in, size_t in_len, struct member *member)
{
	static unsigned char text[4 << 20];
	z_stream stream = { 0 };
	int status;

	if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
		return 0;
	stream.next_in = (unsigned char *)in;
	stream.avail_in = (unsigned int)in_len;
	stream.next_out = text;
	stream.avail_out = sizeof(text);
	status = inflate(&stream, Z_FINISH);
	member->len = stream.total_out;
	member->packed = stream.total_in;
	member->speed = in[8];
	inflateEnd(&stream);
	if (status != Z_STREAM_END || !member->len || text[member->len - 1] != '\n')
		return 0;
	member->number = (unsigned int)strtoul((char *)text, NULL, 10);
	return 1;
}

/* All members of a file; fails if one is damaged. How many there are. */
static size_t members(const char *name, struct member *list, size_t cap)
{
	off_t size = size_at(name);
	unsigned char *data;
	char path[256];
	size_t n = 0, at = 0;
	FILE *f;

	if (size < 0)
		return 0;
	path_to(path, sizeof(path), name);
	f = fopen(path, "r");
	assert_non_null(f);
	data = malloc((size_t)size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)size + 1, f), size);
	fclose(f);
	while (at < (size_t)size) {
		assert_true(n < cap);
		assert_true(inflate_one(data + at, (size_t)size - at, &list[n]));
		at += list[n++].packed;
	}
	free(data);
	return n;
}

/* Members 0, 1, 2 ... and no more than these. */
static void holds(const char *name, size_t want)
{
	static struct member list[4096];
	size_t n = members(name, list, 4096);

	assert_int_equal(n, want);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(list[i].number, i);
}

static size_t lines_said(const char *with)
{
	size_t n = 0;

	pthread_mutex_lock(&gate.lock);
	for (const char *at = gate.said; (at = strstr(at, with)); at++)
		n++;
	pthread_mutex_unlock(&gate.lock);
	return n;
}

static void await_said(const char *text)
{
	time_t end = time(NULL) + DEADLINE_S;

	while (!lines_said(text)) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static void await_bytes(struct dft_sink *sink, uint64_t bytes)
{
	time_t end = time(NULL) + DEADLINE_S;

	while (dft_sink_bytes(sink) < bytes) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static void await_waiting(size_t n)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting < n && !err)
		err = pthread_cond_timedwait(&gate.changed, &gate.lock, &until);
	pthread_mutex_unlock(&gate.lock);
	assert_int_equal(err, 0);
}

static size_t open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- order ---------------------------------------------------------------------------------- */

#define PRODUCERS 4
#define FILES	  16 /* of each */
#define BLOCKS	  60 /* of each file */

struct producer {
	struct dft_sink *sink;
	unsigned int number;
	int err;
};

static void *produce(void *arg)
{
	struct producer *p = arg;
	struct dft_sink_file *files[FILES];
	unsigned int x = p->number + 1;
	char name[32];

	for (unsigned int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file-%u-%u", p->number, i);
		files[i] = dft_sink_file_new(p->sink, name);
		if (!files[i])
			p->err = -ENOMEM;
	}
	for (unsigned int k = 0; k < BLOCKS && !p->err; k++)
		for (unsigned int i = 0; i < FILES && !p->err; i++) {
			struct dft_buf buf = DFT_BUF_INIT;

			x = x * 1103515245 + 12345;
			fill(&buf, k, 20 + (x >> 16) % ((x >> 8) % 5 ? 300 : 20000));
			p->err = dft_sink_write(p->sink, files[i], &buf, k + 1 == BLOCKS);
			dft_buf_free(&buf);
		}
	return NULL;
}

static void writes_members_in_order(void **state)
{
	size_t fds = open_fds();
	struct dft_sink *sink = new_sink(0, 0);
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS];
	uint64_t bytes = 0;
	char name[32], path[256];
	struct stat st;

	(void)state;
	gate.crooked = true;
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){ sink, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(producers[i].err, 0);
	}
	assert_int_equal(dft_sink_finish(sink), 0);
	for (unsigned int i = 0; i < PRODUCERS * FILES; i++) {
		snprintf(name, sizeof(name), "file-%u-%u", i / FILES, i % FILES);
		holds(name, BLOCKS);
		bytes += (uint64_t)size_at(name);
		path_to(path, sizeof(path), name);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	assert_int_equal(dft_sink_bytes(sink), bytes);
	dft_sink_free(sink);
	assert_int_equal(open_fds(), fds);
	assert_string_equal(gate.said, "");
}

/* Nothing to write is nothing written, with or without what came before. */
static void writes_no_empty_members(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct dft_sink_file *none = new_file(sink, "none"), *some = new_file(sink, "some");
	struct dft_buf empty = DFT_BUF_INIT;

	(void)state;
	put(sink, some, 0, 100, false);
	assert_int_equal(dft_sink_write(sink, none, &empty, true), 0);
	assert_int_equal(dft_sink_write(sink, some, &empty, true), 0);
	assert_int_equal(dft_sink_finish(sink), 0);
	assert_int_equal(size_at("none"), -1);
	holds("some", 1);
	dft_sink_free(sink);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Files on a server that does not answer: the others are written, and nobody waits. */
static void hung_files_hold_up_nothing(void **state)
{
	struct dft_sink *sink = new_sink(1 << 20, 0);
	struct dft_sink_file *hung[3], *free_one = new_file(sink, "free");
	unsigned int k = 0;
	uint64_t bytes;

	(void)state;
	gate.held = "hung";
	for (unsigned int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "hung%u", i);
		hung[i] = new_file(sink, name);
		put(sink, hung[i], 0, 1000, false);
	}
	await_waiting(3);
	assert_false(dft_sink_full(sink));
	put(sink, free_one, 0, 1000, false);
	await_bytes(sink, 1);
	bytes = dft_sink_bytes(sink);
	put(sink, free_one, 1, 1000, true);
	await_bytes(sink, bytes + 1);
	assert_true(dft_sink_wait(sink, 0));
	/* Members that wait count: they do not pack to less than a half. */
	while (!dft_sink_full(sink)) {
		assert_true(++k < 200);
		put(sink, hung[0], k, 10000, false);
		dft_sink_wait(sink, 0);
	}
	while (k < 300)
		put(sink, hung[0], ++k, 10000, false);
	assert_true(dft_sink_full(sink));
	assert_false(dft_sink_wait(sink, 1));
	open_gates();
	assert_true(dft_sink_wait(sink, 3600 * 1000));
	for (unsigned int i = 0; i < 3; i++)
		put(sink, hung[i], i ? 1 : ++k, 1000, true);
	assert_int_equal(dft_sink_finish(sink), 0);
	holds("hung0", k + 1);
	holds("hung1", 2);
	holds("hung2", 2);
	holds("free", 2);
	dft_sink_free(sink);
}

/* What counts is memory, not the length of lines; and what is hardly used is given back. */
static void counts_memory(void **state)
{
	const size_t cap = 256 << 10; /* twice this may be used */
	struct dft_sink *sink = new_sink(1 << 20, 0);
	struct dft_sink_file *file = new_file(sink, "file");
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	gate.packers_held = true;
	for (unsigned int i = 0; i < 20; i++) {
		assert_non_null(dft_buf_reserve(&buf, cap));
		assert_int_equal(buf.cap, cap);
		fill(&buf, i, 100);
		assert_int_equal(dft_sink_write(sink, file, &buf, false), 0);
		assert_int_equal(buf.cap, 0);
	}
	assert_false(dft_sink_full(sink));
	put(sink, file, 20, cap / 2 + 1, false);
	assert_false(dft_sink_full(sink));
	put(sink, file, 21, cap / 2 + 1, true);
	assert_true(dft_sink_full(sink));
	open_gates();
	assert_int_equal(dft_sink_finish(sink), 0);
	assert_false(dft_sink_full(sink));
	holds("file", 22);
	dft_sink_free(sink);
}

/* A process that writes much gets a used buffer back, others none. */
static void hands_buffers_back(void **state)
{
	struct dft_sink *sink = new_sink(64 << 20, 0);
	struct dft_sink_file *file = new_file(sink, "file");
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	fill(&buf, 0, 900000);
	assert_int_equal(dft_sink_write(sink, file, &buf, false), 0);
	dft_buf_free(&buf);
	await_bytes(sink, 1);
	fill(&buf, 1, 900000);
	assert_int_equal(dft_sink_write(sink, file, &buf, false), 0);
	assert_int_equal(buf.cap, 1 << 20);
	assert_int_equal(buf.len, 0);
	await_bytes(sink, 900000); /* both: one packs to less */
	fill(&buf, 2, 1000);
	assert_int_equal(dft_sink_write(sink, file, &buf, false), 0);
	assert_null(buf.data);
	assert_int_equal(buf.cap, 0);
	fill(&buf, 3, 900000);
	assert_int_equal(dft_sink_write(sink, file, &buf, true), 0);
	assert_null(buf.data);
	assert_int_equal(dft_sink_finish(sink), 0);
	holds("file", 4);
	dft_sink_free(sink);
}

/* ---- level ---------------------------------------------------------------------------------- */

static void uses_the_level_asked_for(void **state)
{
	static const struct {
		int level;
		unsigned char speed;
	} levels[] = { { 1, 4 }, { 5, 0 }, { 9, 2 }, { 12, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct dft_sink *sink = new_sink(1 << 20, levels[i].level);
		struct member list[8];
		char name[16];

		snprintf(name, sizeof(name), "level%d", levels[i].level);
		struct dft_sink_file *file = new_file(sink, name);

		gate.packers_held = true; /* load makes no difference */
		for (unsigned int k = 0; k < 8; k++)
			put(sink, file, k, 100000, k == 7);
		open_gates();
		assert_int_equal(dft_sink_finish(sink), 0);
		assert_int_equal(members(name, list, 8), 8);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal(list[k].speed, levels[i].speed);
		dft_sink_free(sink);
	}
}

static void hurries_under_load(void **state)
{
	struct dft_sink *sink = new_sink(1 << 20, 0);
	struct dft_sink_file *file = new_file(sink, "file");
	struct member list[64];
	size_t fast = 0;

	(void)state;
	/* Whatever is taken up now is not in a hurry: nothing is behind it. */
	put(sink, file, 0, 30000, false);
	await_bytes(sink, 1);
	gate.packers_held = true;
	for (unsigned int k = 1; k < 64; k++)
		put(sink, file, k, 30000, k == 63);
	open_gates();
	assert_int_equal(dft_sink_finish(sink), 0);
	assert_int_equal(members("file", list, 64), 64);
	assert_int_equal(list[0].speed, 0);
	assert_int_equal(list[63].speed, 0);
	/* More than 64 KiB, and so three blocks, are behind all but the last three. */
	for (unsigned int k = 0; k < 64; k++) {
		fast += list[k].speed == 4;
		if (k >= 61)
			assert_int_equal(list[k].speed, 0);
		else if (k > 8) /* there are at most four packers to have taken some up before */
			assert_int_equal(list[k].speed, 4);
	}
	assert_true(fast >= 52);
	dft_sink_free(sink);
}

/* ---- errors --------------------------------------------------------------------------------- */

/* A file ends at its last whole member; each cause is told once; other files go on. */
static void keeps_whole_members(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct dft_sink_file *file[4];
	static const char *const names[] = { "full", "first", "quota", "fine" };

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		file[i] = new_file(sink, names[i]);
	put(sink, file[0], 0, 5000, false);
	put(sink, file[0], 1, 5000, false);
	await_bytes(sink, 6000); /* both: one packs to less */
	faults[0] = (struct fault){ .file = "full", .room = (size_t)size_at("full") + 700,
				    .write_err = ENOSPC };
	faults[1] = (struct fault){ .file = "first", .room = 700, .write_err = ENOSPC };
	faults[2] = (struct fault){ .file = "quota", .room = 700, .write_err = EDQUOT };
	for (unsigned int k = 2; k < 6; k++)
		put(sink, file[0], k, 5000, k == 5);
	for (unsigned int i = 1; i < 4; i++)
		for (unsigned int k = 0; k < 4; k++)
			put(sink, file[i], k, 5000, k == 3);
	assert_int_equal(dft_sink_finish(sink), -1);
	holds("full", 2);
	assert_int_equal(size_at("first"), -1);
	assert_int_equal(size_at("quota"), -1);
	holds("fine", 4);
	assert_int_equal(dft_sink_bytes(sink), size_at("full") + size_at("fine"));
	assert_int_equal(lines_said("No space left on device (free some space; "), 1);
	assert_int_equal(lines_said("Disk quota exceeded ("), 1);
	assert_int_equal(lines_said("3 files of the trace are not complete"), 1);
	assert_int_equal(lines_said("\n"), 3);
	dft_sink_free(sink);
}

/* A failed file stays closed, also when there is room again. */
static void does_not_resume(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct dft_sink_file *file = new_file(sink, "file"), *other = new_file(sink, "other");

	(void)state;
	put(sink, file, 0, 5000, false);
	await_bytes(sink, 1);
	faults[0] = (struct fault){ .file = "file", .write_err = EIO };
	put(sink, file, 1, 5000, false);
	await_said("Input/output error (");
	memset(faults, 0, sizeof(faults));
	put(sink, file, 2, 5000, true);
	put(sink, other, 0, 5000, true);
	assert_int_equal(dft_sink_finish(sink), -1);
	holds("file", 1);
	holds("other", 1);
	dft_sink_free(sink);
}

/* Network file systems report errors of write() at close(). */
static void takes_back_what_close_refused(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct dft_sink_file *file = new_file(sink, "file");
	off_t size;

	(void)state;
	put(sink, file, 0, 5000, false);
	await_bytes(sink, 1);
	size = size_at("file");
	faults[0] = (struct fault){ .file = "file", .close_from = size, .close_err = EDQUOT };
	put(sink, file, 1, 5000, false);
	put(sink, file, 2, 5000, true);
	assert_int_equal(dft_sink_finish(sink), -1);
	holds("file", 1);
	assert_int_equal(size_at("file"), size);
	dft_sink_free(sink);
}

static void leaves_other_peoples_files_alone(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct dft_sink_file *file = new_file(sink, "file"), *link = new_file(sink, "link");
	char path[256], other[256];
	FILE *f;

	(void)state;
	path_to(path, sizeof(path), "file");
	path_to(other, sizeof(other), "other");
	put(sink, file, 0, 500, false);
	await_bytes(sink, 1);
	f = fopen(other, "w");
	assert_non_null(f);
	assert_int_equal(fputs("mine\n", f) < 0, 0);
	fclose(f);
	assert_int_equal(rename(other, path), 0);
	put(sink, file, 1, 500, true);
	path_to(path, sizeof(path), "link");
	assert_int_equal(symlink("target", path), 0);
	put(sink, link, 0, 500, true);
	assert_int_equal(dft_sink_finish(sink), -1);
	assert_int_equal(size_at("file"), 5);
	assert_int_equal(size_at("target"), -1);
	assert_int_equal(lines_said("/file: Stale file handle ("), 1);
	assert_int_equal(lines_said("/link: File exists ("), 1);
	dft_sink_free(sink);
}

/* By the kernel itself: a signal comes with the error, which must not end the program. */
static void survives_the_limit_of_file_size(void **state)
{
	struct rlimit before, limit;
	struct dft_sink *sink;
	struct dft_sink_file *large, *small;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ 10000, before.rlim_max };
	assert_ptr_equal(signal(SIGXFSZ, SIG_DFL), SIG_DFL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	sink = new_sink(0, 0);
	large = new_file(sink, "large");
	small = new_file(sink, "small");
	for (unsigned int k = 0; k < 4; k++)
		put(sink, large, k, 6000, k == 3);
	put(sink, small, 0, 6000, true);
	assert_int_equal(dft_sink_finish(sink), -1);
	dft_sink_free(sink);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	holds("large", 2);
	holds("small", 1);
	assert_int_equal(lines_said("/large: File too large (raise ulimit -f"), 1);
}

/* ---- the directory -------------------------------------------------------------------------- */

static void leaves_no_unused_directory(void **state)
{
	struct dft_sink *sink = new_sink(0, 0);
	struct stat st;

	(void)state;
	assert_int_equal(stat(out_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(dft_sink_finish(sink), 0);
	assert_int_equal(stat(out_dir, &st), -1);
	dft_sink_free(sink);
	/* One that was there stays. */
	assert_int_equal(mkdir(out_dir, 0755), 0);
	sink = new_sink(0, 0);
	assert_int_equal(dft_sink_finish(sink), 0);
	assert_int_equal(stat(out_dir, &st), 0);
	dft_sink_free(sink);
}

static void says_why_it_cannot_begin(void **state)
{
	static const struct dft_identity nobody;
	struct dft_config cfg = { .out_dir = out_dir };
	char below[128];

	(void)state;
	assert_int_equal(mkdir(out_dir, 0755), 0);
	assert_null(dft_sink_new(&cfg, &nobody));
	assert_int_equal(lines_said("exists already ("), 1);
	snprintf(below, sizeof(below), "%s/a/b", out_dir);
	cfg.out_dir = below;
	assert_null(dft_sink_new(&cfg, &nobody));
	assert_int_equal(lines_said("No such file or directory (make its parent directory first)"), 1);
	assert_int_equal(lines_said("\n"), 2);
}

/* ---- ---------------------------------------------------------------------------------------- */

static int setup(void **state)
{
	(void)state;
	reset();
	snprintf(base, sizeof(base), "/tmp/dft-test-sink.XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(out_dir, sizeof(out_dir), "%s/trace", base);
	return 0;
}

static int teardown(void **state)
{
	struct dirent *entry;
	DIR *dir = opendir(out_dir);
	char path[512];

	(void)state;
	reset();
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", out_dir, entry->d_name);
		if (entry->d_name[0] != '.' && unlink(path))
			return -1;
	}
	if (dir) {
		closedir(dir);
		if (rmdir(out_dir))
			return -1;
	}
	return rmdir(base);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_members_in_order),
		TEST(writes_no_empty_members),
		TEST(hung_files_hold_up_nothing),
		TEST(counts_memory),
		TEST(hands_buffers_back),
		TEST(uses_the_level_asked_for),
		TEST(hurries_under_load),
		TEST(keeps_whole_members),
		TEST(does_not_resume),
		TEST(takes_back_what_close_refused),
		TEST(leaves_other_peoples_files_alone),
		TEST(survives_the_limit_of_file_size),
		TEST(leaves_no_unused_directory),
		TEST(says_why_it_cannot_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
