// SPDX-License-Identifier: MIT
// CFLAGS: -O2
// LDFLAGS: -static
/*
 * Calls on files as fast as they go, and the truth about them.
 *
 *     overload MODE THREADS PROCESSES FOR DIR
 *
 * PROCESSES processes of THREADS threads each make calls: FOR seconds if it ends with s, else FOR calls
 * a thread, or, where FOR is -, until the end of the standard input. "live" and the numbers of the
 * processes are said when all of them run. In the end one line of JSON says for each process, file and
 * kind of call how many there were, how many failed and how many bytes they moved:
 *
 *     [[PID,FILE,NAME,CALLS,ERRORS,BYTES],...]
 *
 * FILE is null for calls on names that are no file's. The names are those of events.
 *
 * mix: calls of many kinds. Each thread has three files, DIR/PROCESS-THREAD-N, and those of a process
 * share DIR/PROCESS-shared; DIR/missing is missing.
 * log: pwrite of one byte at the offsets 0, 1, 2 ... of DIR/PROCESS-THREAD-0, and DIR/log says when the
 * calls ended: for each thread of the first process, then of the next one ..., LOG_CALLS + 1 numbers of
 * 64 bits, which are how many calls have ended, and when each of them did, on CLOCK_MONOTONIC in ns.
 * files: each turn of a thread makes the next one of DIR/PROCESS-THREAD-0, -1, -2 ..., writes four bytes at
 * the offset that is its number, and removes it. They are told without their files.
 * slow: as log, with 30 ms between the calls of a thread.
 * exit: as log, without DIR/log; when the first thread of a process is over, the process exits in
 * the midst of the others' calls, so that of each of those there may be one more than is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WRITERS 256
#define OWN	    3
#define SHARED	    OWN
#define NO_FILE	    (OWN + 1)
#define FILES	    (OWN + 2)
#define BLOCK	    4096
#define LOG_CALLS   (16u << 20) /* of a thread: more than it can make in the seconds that a test takes */
#define EACH_CALLS  64 /* between two looks at whether it is over */

enum op { OPEN, CLOSE, READ, WRITE, PREAD, PWRITE, READV, LSEEK, FSTAT, FTRUNCATE, COPY, STAT, UNLINK, OPS };

static const struct {
	const char *name;
	bool bytes; /* what it returns are bytes */
} ops[OPS] = {
	[OPEN] = { "open", false },	  [CLOSE] = { "close", false },
	[READ] = { "read", true },	  [WRITE] = { "write", true },
	[PREAD] = { "pread", true },	  [PWRITE] = { "pwrite", true },
	[READV] = { "readv", true },	  [LSEEK] = { "lseek", false },
	[FSTAT] = { "fstat", false },	  [FTRUNCATE] = { "ftruncate", false },
	[COPY] = { "copy_file_range", true }, [STAT] = { "stat", false },
	[UNLINK] = { "unlink", false },
};

/* A call is noted in one step, by the store of `now`: a thread may die at any moment. */
struct sum {
	uint64_t now;
	struct {
		uint64_t calls, errors, bytes;
	} at[2];
};

struct writer {
	pid_t pid;
	uint64_t calls;
	struct sum sums[OPS][FILES];
};

static struct {
	pthread_barrier_t live; /* of all writers, and of main() */
	bool over;
	struct writer writers[MAX_WRITERS];
} *shared; /* of all processes */

struct thread {
	struct writer *writer;
	unsigned int process, nr;
	int fd[OWN + 1];
	uint64_t *log;
	uint64_t at; /* calls of write_on() */
	char block[BLOCK];
	char path[OWN][512];
};

static enum { MIX, NEW, LOG, SLOW, EXIT } mode;
static unsigned int threads, processes;
static uint64_t max_calls = UINT64_MAX, max_ns;
static const char *dir;
static char missing[512];
static uint64_t *log_mem;

static void die(const char *what)
{
	fprintf(stderr, "overload: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* no system call */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void path_of(char path[512], unsigned int process, const char *name)
{
	if (snprintf(path, 512, "%s/%u-%s", dir, process, name) >= 512) {
		errno = ENAMETOOLONG;
		die(dir);
	}
}

/* Takes note of a call that was just made; `fails`: it must have failed. */
static long did(struct writer *w, enum op op, int file, long ret, bool fails)
{
	struct sum *sum = &w->sums[op][file];
	uint64_t next = !sum->now;

	if ((ret < 0) != fails)
		die(ops[op].name);
	sum->at[next] = sum->at[!next];
	sum->at[next].calls++;
	sum->at[next].errors += ret < 0;
	if (ops[op].bytes && ret > 0)
		sum->at[next].bytes += (uint64_t)ret;
	__atomic_store_n(&sum->now, next, __ATOMIC_RELEASE);
	w->calls++;
	return ret;
}

#define OK(op, file, call)   did(t->writer, op, file, call, false)
#define FAIL(op, file, call) did(t->writer, op, file, call, true)

static void open_files(struct thread *t)
{
	static const int flags[OWN] = { O_RDWR, O_WRONLY, O_RDONLY };
	char name[64];

	for (int i = 0; i < OWN; i++) {
		snprintf(name, sizeof(name), "%u-%d", t->nr, i);
		path_of(t->path[i], t->process, name);
		t->fd[i] = (int)OK(OPEN, i, open(t->path[i], flags[i] | O_CREAT | O_CLOEXEC, 0600));
	}
}

static void close_files(struct thread *t)
{
	for (int i = 0; i < OWN; i++)
		OK(CLOSE, i, close(t->fd[i]));
}

/* Dearer ones, and those on names. */
static void uncommon(struct thread *t)
{
	struct stat st;
	int fd;

	OK(STAT, NO_FILE, stat(t->path[0], &st));
	FAIL(STAT, NO_FILE, stat(missing, &st));
	FAIL(OPEN, NO_FILE, open(missing, O_RDONLY));
	fd = (int)OK(OPEN, 2, open(t->path[2], O_RDONLY | O_CLOEXEC));
	OK(CLOSE, 2, close(fd));
	OK(COPY, 0, copy_file_range(t->fd[0], &(off64_t){ 0 }, t->fd[1], &(off64_t){ 0 }, 100, 0));
	OK(FTRUNCATE, 1, ftruncate(t->fd[1], 0));
	FAIL(FTRUNCATE, 2, ftruncate(t->fd[2], 0));
}

static void turn(struct thread *t, uint64_t i)
{
	size_t size = 1 + (i * 2654435761u >> 16) % BLOCK;
	struct iovec iov[2] = { { t->block, size / 2 }, { t->block + size / 2, size - size / 2 } };
	struct stat st;

	OK(PWRITE, 0, pwrite(t->fd[0], t->block, size, (off_t)(i % 64) * BLOCK));
	OK(PREAD, 0, pread(t->fd[0], t->block, size, (off_t)(i % 64) * BLOCK));
	OK(WRITE, 1, write(t->fd[1], t->block, size));
	OK(READ, 2, read(t->fd[2], t->block, size));
	OK(PWRITE, SHARED, pwrite(t->fd[SHARED], t->block, size % 100, (off_t)(i % 64)));
	OK(PREAD, SHARED, pread(t->fd[SHARED], t->block, size, 0));
	FAIL(WRITE, 2, write(t->fd[2], t->block, size));
	FAIL(READ, 1, read(t->fd[1], t->block, size));
	OK(READV, 0, readv(t->fd[0], iov, 2));
	OK(FSTAT, 1, fstat(t->fd[1], &st));
	if (i % 16 == 0) {
		OK(LSEEK, 0, lseek(t->fd[0], 0, SEEK_SET));
		OK(LSEEK, 1, lseek(t->fd[1], 0, SEEK_SET));
	}
	if (i % 64 == 0)
		uncommon(t);
}

/* A file of its own for each turn. */
static void one_file(struct thread *t, uint64_t i)
{
	char path[512], name[64];
	int fd;

	snprintf(name, sizeof(name), "%u-%" PRIu64, t->nr, i);
	path_of(path, t->process, name);
	fd = (int)OK(OPEN, NO_FILE, open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (int n = 0; n < 4; n++)
		OK(PWRITE, NO_FILE, pwrite(fd, t->block, 1, (off_t)i));
	OK(CLOSE, NO_FILE, close(fd));
	OK(UNLINK, NO_FILE, unlink(path));
}

/* The next calls of a thread that writes one byte after the other. */
static void write_on(struct thread *t)
{
	int calls = mode == SLOW ? 1 : EACH_CALLS;

	if (mode == SLOW)
		nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
	for (int n = 0; n < calls && t->at < LOG_CALLS; n++) {
		OK(PWRITE, 0, pwrite(t->fd[0], t->block, 1, (off_t)t->at));
		t->at++;
		if (!t->log)
			continue;
		t->log[t->at] = now();
		__atomic_store_n(&t->log[0], t->at, __ATOMIC_RELEASE);
	}
}

static bool is_over(const struct thread *t, uint64_t end_ns)
{
	if (mode == EXIT && t->nr)
		return false;
	if (__atomic_load_n(&shared->over, __ATOMIC_RELAXED) || t->writer->calls >= max_calls)
		return true;
	return now() >= end_ns || t->at == LOG_CALLS;
}

static void *work(void *arg)
{
	struct thread *t = arg;
	uint64_t end_ns;

	if (mode != NEW)
		open_files(t);
	pthread_barrier_wait(&shared->live);
	end_ns = max_ns ? now() + max_ns : UINT64_MAX;
	for (uint64_t i = 0; !is_over(t, end_ns); i++) {
		if (mode == MIX)
			turn(t, i);
		else if (mode == NEW)
			one_file(t, i);
		else
			write_on(t);
	}
	if (mode != NEW)
		close_files(t);
	return NULL;
}

/* One process: its exit status. */
static int run(unsigned int process)
{
	struct writer *writers = &shared->writers[process * threads];
	pthread_t ids[MAX_WRITERS];
	char path[512];
	int fd = 0;

	for (unsigned int i = 0; i < threads; i++) {
		struct thread *t = calloc(1, sizeof(*t));

		if (!t)
			die("calloc");
		t->writer = &writers[i];
		t->writer->pid = getpid();
		t->process = process;
		t->nr = i;
		if (!i) {
			path_of(path, process, "shared");
			fd = (int)OK(OPEN, mode == NEW ? NO_FILE : SHARED, open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		}
		t->fd[SHARED] = fd;
		if (log_mem)
			t->log = log_mem + (size_t)(process * threads + i) * (LOG_CALLS + 1);
		errno = pthread_create(&ids[i], NULL, work, t);
		if (errno)
			die("pthread_create");
	}
	for (unsigned int i = 0; i < (mode == EXIT ? 1 : threads); i++)
		pthread_join(ids[i], NULL);
	did(&writers[0], CLOSE, mode == NEW ? NO_FILE : SHARED, close(fd), false);
	return 0;
}

/* ---- main ---------------------------------------------------------------------------------- */

static void *map_shared(size_t size, int fd)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		die("mmap");
	return mem;
}

static void make_shared(void)
{
	size_t size = (size_t)threads * processes * (LOG_CALLS + 1) * sizeof(uint64_t);
	pthread_barrierattr_t attr;
	char path[512];
	int fd;

	shared = map_shared(sizeof(*shared), -1);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	errno = pthread_barrier_init(&shared->live, &attr, threads * processes + 1);
	if (errno)
		die("barrier");
	if (mode != LOG && mode != SLOW)
		return;
	if (snprintf(path, sizeof(path), "%s/log", dir) >= (int)sizeof(path))
		die(dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		die(path);
	log_mem = map_shared(size, fd);
}

/* What the threads of a process did on one file, and with one kind of call. */
static void say_sum(unsigned int process, const char *path, int op, unsigned int thread,
		    unsigned int n, int file)
{
	struct writer *writers = &shared->writers[process * threads];
	uint64_t calls = 0, errors = 0, bytes = 0;
	static bool more;

	for (unsigned int i = thread; i < thread + n; i++) {
		const struct sum *sum = &writers[i].sums[op][file];

		calls += sum->at[sum->now].calls;
		errors += sum->at[sum->now].errors;
		bytes += sum->at[sum->now].bytes;
	}
	if (!calls)
		return;
	printf("%s[%d,", more ? "," : "", writers[0].pid);
	if (path)
		printf("\"%s\"", path);
	else
		printf("null");
	printf(",\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", ops[op].name, calls, errors, bytes);
	more = true;
}

static void say_process(unsigned int process)
{
	char path[512], name[64];

	for (int op = 0; op < OPS; op++) {
		for (unsigned int thread = 0; thread < threads; thread++) {
			for (int file = 0; file < OWN; file++) {
				snprintf(name, sizeof(name), "%u-%d", thread, file);
				path_of(path, process, name);
				say_sum(process, path, op, thread, 1, file);
			}
		}
		path_of(path, process, "shared");
		say_sum(process, path, op, 0, threads, SHARED);
		say_sum(process, NULL, op, 0, threads, NO_FILE);
	}
}

static void parse(char **argv)
{
	double value;
	char *end;

	mode = !strcmp(argv[1], "files") ? NEW :
	       !strcmp(argv[1], "log") ? LOG :
	       !strcmp(argv[1], "slow") ? SLOW :
	       !strcmp(argv[1], "exit") ? EXIT : MIX;
	threads = (unsigned int)atoi(argv[2]);
	processes = (unsigned int)atoi(argv[3]);
	dir = argv[5];
	if (!threads || !processes || threads * processes > MAX_WRITERS) {
		fprintf(stderr, "overload: 1 to %d writers\n", MAX_WRITERS);
		exit(2);
	}
	if (snprintf(missing, sizeof(missing), "%s/missing", dir) >= (int)sizeof(missing))
		die(dir);
	if (!strcmp(argv[4], "-"))
		return;
	value = strtod(argv[4], &end);
	if (!strcmp(end, "s")) {
		max_ns = (uint64_t)(value * 1e9);
	} else if (!*end && value >= 1) {
		max_calls = (uint64_t)value;
	} else {
		fprintf(stderr, "overload: %s: neither seconds nor a number of calls\n", argv[4]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	pid_t children[MAX_WRITERS];
	int status, bad = 0;
	char byte;

	if (argc != 6) {
		fprintf(stderr, "usage: overload mix|files|log|slow|exit THREADS PROCESSES FOR DIR\n");
		return 2;
	}
	parse(argv);
	make_shared();
	for (unsigned int i = 0; i < processes; i++) {
		children[i] = fork();
		if (children[i] < 0)
			die("fork");
		if (!children[i])
			_exit(run(i));
	}
	pthread_barrier_wait(&shared->live);
	printf("live");
	for (unsigned int i = 0; i < processes; i++)
		printf(" %d", children[i]);
	printf("\n");
	if (fflush(stdout))
		die("stdout");
	if (!strcmp(argv[4], "-")) {
		while (read(0, &byte, 1) > 0)
			;
		__atomic_store_n(&shared->over, true, __ATOMIC_RELAXED);
	}
	for (unsigned int i = 0; i < processes; i++)
		bad |= wait(&status) < 0 || status;
	putchar('[');
	for (unsigned int i = 0; i < processes; i++)
		say_process(i);
	printf("]\n");
	return bad || fflush(stdout) ? 1 : 0;
}
