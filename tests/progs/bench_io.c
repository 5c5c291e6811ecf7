// SPDX-License-Identifier: MIT
// CFLAGS: -O2
// LDFLAGS: -static
/*
 * Workloads for measuring: system calls on files, as fast as they go.
 *
 *     bench_io MODE DIR CALLS [THREADS]
 *
 * MODE is pread or pwrite (4 KiB at a time within the first MiB of a file), open (open and close),
 * stat, create (a new file, of 4 KiB, closed and removed), or loader (64 files of 4 MiB, each opened, read
 * 1 MiB at a time and closed). Each thread has files of its own, which must be there: DIR/0, DIR/1 ... and
 * for loader DIR/loader/0 to 63; what create makes is called DIR/0.0, DIR/0.1 ... CALLS is the number
 * of system calls of all threads, rounded down to whole turns. What it prints: see bench.h.
 *
 * Static, so that every call of these names is one that the workload knows of.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "bench.h"

#define BLOCK	    4096
#define BLOCKS	    256
#define CHUNK	    (1 << 20)
#define CHUNKS	    4
#define FILES	    64
#define MAX_THREADS 64
#define BEFORE	    1000

struct worker {
	pthread_t thread;
	const struct mode *mode;
	const char *dir;
	unsigned int nr;
	char path[4096]; /* the thread's file */
	int fd;		 /* of it */
	char *chunk;	 /* CHUNK bytes */
	uint64_t turns, cpu_ns;
};

struct mode {
	const char *name;
	int (*turn)(struct worker *w, uint64_t i); /* 0, or -1 with errno */
	bool on_fd; /* works on the thread's file, open */
	struct bench_op ops[5];
	uint64_t before; /* turns that are not measured */
};

static pthread_barrier_t warm, go;

static int transferred(ssize_t got, ssize_t want)
{
	if (got >= 0 && got != want)
		errno = ENODATA; /* a file that is too short */
	return got == want ? 0 : -1;
}

static int turn_pread(struct worker *w, uint64_t i)
{
	return transferred(pread(w->fd, w->chunk, BLOCK, (off_t)(i % BLOCKS) * BLOCK), BLOCK);
}

static int turn_pwrite(struct worker *w, uint64_t i)
{
	return transferred(pwrite(w->fd, w->chunk, BLOCK, (off_t)(i % BLOCKS) * BLOCK), BLOCK);
}

static int turn_open(struct worker *w, uint64_t i)
{
	int fd = open(w->path, O_RDONLY | O_CLOEXEC);

	(void)i;
	return fd < 0 ? -1 : close(fd);
}

static int turn_stat(struct worker *w, uint64_t i)
{
	struct stat st;

	(void)i;
	return stat(w->path, &st);
}

/* Each has a name that has not been there before: what an archiver does that unpacks. */
static int turn_create(struct worker *w, uint64_t i)
{
	char path[sizeof(w->path) + 24];
	int fd;

	snprintf(path, sizeof(path), "%s.%" PRIu64, w->path, i);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || transferred(pwrite(fd, w->chunk, BLOCK, 0), BLOCK) || close(fd))
		return -1;
	return unlink(path);
}

static int turn_loader(struct worker *w, uint64_t i)
{
	char path[sizeof(w->path)];
	int fd;

	if (snprintf(path, sizeof(path), "%s/loader/%u", w->dir, (unsigned int)(i % FILES)) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int c = 0; c < CHUNKS; c++)
		if (transferred(read(fd, w->chunk, CHUNK), CHUNK))
			return -1;
	return close(fd);
}

static const struct mode modes[] = {
	{ "pread", turn_pread, true, { { "pread", 1 } }, BEFORE },
	{ "pwrite", turn_pwrite, true, { { "pwrite", 1 } }, BEFORE },
	{ "open", turn_open, false, { { "open", 1 }, { "close", 1 } }, BEFORE },
	{ "stat", turn_stat, false, { { "stat", 1 } }, BEFORE },
	{ "create", turn_create, false, { { "open", 1 }, { "pwrite", 1 }, { "close", 1 }, { "unlink", 1 } }, BEFORE },
	{ "loader", turn_loader, false, { { "open", 1 }, { "read", CHUNKS }, { "close", 1 } }, FILES },
};

static unsigned int calls_of_turn(const struct mode *mode)
{
	unsigned int n = 0;

	for (const struct bench_op *op = mode->ops; op->name; op++)
		n += op->each;
	return n;
}

static void turns(struct worker *w, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (w->mode->turn(w, i)) {
			fprintf(stderr, "bench_io: %s in %s: %s\n", w->mode->name, w->dir,
				strerror(errno));
			exit(1);
		}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t cpu;

	turns(w, w->mode->before);
	pthread_barrier_wait(&warm);
	pthread_barrier_wait(&go);
	cpu = bench_now(CLOCK_THREAD_CPUTIME_ID);
	turns(w, w->turns);
	w->cpu_ns = bench_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return NULL;
}

static void prepare(struct worker *w)
{
	if (snprintf(w->path, sizeof(w->path), "%s/%u", w->dir, w->nr) >= (int)sizeof(w->path)) {
		fprintf(stderr, "bench_io: %s: name too long\n", w->dir);
		exit(1);
	}
	w->fd = w->mode->on_fd ? open(w->path, O_RDWR | O_CLOEXEC) : -1;
	w->chunk = malloc(CHUNK);
	if ((w->mode->on_fd && w->fd < 0) || !w->chunk) {
		fprintf(stderr, "bench_io: %s: %s\n", w->path, strerror(errno));
		exit(1);
	}
	memset(w->chunk, 'x', CHUNK);
	errno = pthread_create(&w->thread, NULL, work, w);
	if (errno) {
		perror("bench_io: thread");
		exit(1);
	}
}

static void run(struct worker *workers, unsigned int n, struct bench_times *times)
{
	if (pthread_barrier_init(&warm, NULL, n + 1) || pthread_barrier_init(&go, NULL, n + 1)) {
		fprintf(stderr, "bench_io: no barrier\n");
		exit(1);
	}
	for (unsigned int t = 0; t < n; t++)
		prepare(&workers[t]);
	pthread_barrier_wait(&warm);
	bench_gate();
	times->wall_ns = bench_now(CLOCK_MONOTONIC);
	pthread_barrier_wait(&go);
	for (unsigned int t = 0; t < n; t++) {
		pthread_join(workers[t].thread, NULL);
		times->cpu_ns += workers[t].cpu_ns;
	}
	times->wall_ns = bench_now(CLOCK_MONOTONIC) - times->wall_ns;
}

static const struct mode *mode_of(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	fprintf(stderr, "bench_io: %s: no such mode\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	struct bench_times times = { 0 };
	const struct mode *mode;
	uint64_t threads, each;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: bench_io pread|pwrite|open|stat|create|loader DIR CALLS [THREADS]\n");
		return 2;
	}
	mode = mode_of(argv[1]);
	threads = argc == 5 ? bench_count(argv[4]) : 1;
	if (threads < 1 || threads > MAX_THREADS) {
		fprintf(stderr, "bench_io: %s: 1 to %d threads\n", argv[4], MAX_THREADS);
		return 2;
	}
	each = bench_count(argv[3]) / calls_of_turn(mode) / threads;
	for (unsigned int t = 0; t < threads; t++)
		workers[t] = (struct worker){ .mode = mode, .dir = argv[2], .nr = t, .turns = each };
	run(workers, (unsigned int)threads, &times);
	return bench_report(mode->ops, each * threads, mode->before * threads, &times);
}
