// SPDX-License-Identifier: MIT
/*
 * Works on a mapped file, step by step, and says how the kernel counted the page faults of each step:
 *
 *     mapped STEP...
 *
 * open:FILE:PAGES  cold  map:shared|private|ro  read:FROM:COUNT  write:FROM:COUNT
 * give:FROM:COUNT:FILE  take:FROM:COUNT:FILE  bus:PAGE  memory:COUNT  anon_shared:COUNT
 * fork  unlink  close  msync  unmap  remap:PAGES  trunc:PAGES  pause
 *
 * Each prints a line: the step, and minor and major faults in it. fork goes on in a child for which the
 * parent waits; pause waits for a line on standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char *map = MAP_FAILED;
static size_t page, pages;
static int fd = -1;
static const char *path;
static sigjmp_buf back;
static volatile char sink;
static struct rusage before, after; /* of the step, or of the part of it that has its faults */
static int counted;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void touch(char *at, size_t n, int writes)
{
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < n; i++) {
		if (writes)
			at[i * page] = 1;
		else
			sink = at[i * page];
	}
	getrusage(RUSAGE_SELF, &after);
	counted = 1;
}

/* A call that is given `n` pages of the mapping: what it writes to FILE, or reads from there. */
static void hand(const char *file, size_t from, size_t n, int gives)
{
	int other = open(file, O_RDWR | O_CREAT, 0600);
	ssize_t done;

	if (other < 0)
		die(file);
	getrusage(RUSAGE_SELF, &before);
	done = gives ? write(other, map + from * page, n * page) : read(other, map + from * page, n * page);
	getrusage(RUSAGE_SELF, &after);
	counted = 1;
	if (done != (ssize_t)(n * page))
		die("the call on mapped memory");
	close(other);
}

static void warm(void);

static void child(void)
{
	char *kept = map;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		warm(); /* its pages are copied as it writes to them */
		map = kept;
		return;
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(1);
	exit(0);
}

static void do_map(const char *how)
{
	int flags = !strcmp(how, "shared") || !strcmp(how, "ro") ? MAP_SHARED : MAP_PRIVATE;

	map = mmap(NULL, pages * page, strcmp(how, "ro") ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);
	if (map == MAP_FAILED || madvise(map, pages * page, MADV_RANDOM))
		die("mmap");
}

static void memory(size_t n, int shared)
{
	char *at = mmap(NULL, n * page, PROT_READ | PROT_WRITE,
			MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

	if (at == MAP_FAILED)
		die("mmap of memory");
	touch(at, n, 1);
	munmap(at, n * page);
}

static void bus(size_t n)
{
	signal(SIGBUS, on_bus);
	if (!sigsetjmp(back, 1)) {
		sink = map[n * page];
		fputs("no SIGBUS\n", stderr);
		exit(1);
	}
}

static void check(int failed, const char *what)
{
	if (failed)
		die(what);
}

static void simple(const char *what)
{
	if (!strcmp(what, "cold")) {
		check(fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), what);
	} else if (!strcmp(what, "fork")) {
		child();
	} else if (!strcmp(what, "unlink")) {
		check(unlink(path), what);
	} else if (!strcmp(what, "close")) {
		check(close(fd), what);
	} else if (!strcmp(what, "msync")) {
		check(msync(map, pages * page, MS_SYNC), what);
	} else if (!strcmp(what, "unmap")) {
		check(munmap(map, pages * page), what);
	} else if (!strcmp(what, "pause")) {
		puts("paused");
		fflush(stdout);
		check(getchar() == EOF, what);
	} else {
		errno = EINVAL;
		die(what);
	}
}

static void step(char *text)
{
	char *what = strtok(text, ":"), *a = strtok(NULL, ":"), *b = strtok(NULL, ":"), *c = strtok(NULL, ":");
	size_t from = a ? strtoul(a, NULL, 10) : 0, n = b ? strtoul(b, NULL, 10) : 0;

	if (!strcmp(what, "open")) {
		path = a;
		pages = n;
		fd = open(a, O_RDWR | O_CREAT, 0600);
		check(fd < 0, a);
	} else if (!strcmp(what, "map")) {
		do_map(a);
	} else if (!strcmp(what, "read") || !strcmp(what, "write")) {
		touch(map + from * page, n, what[0] == 'w');
	} else if (!strcmp(what, "give") || !strcmp(what, "take")) {
		hand(c, from, n, what[0] == 'g');
	} else if (!strcmp(what, "bus")) {
		bus(from);
	} else if (!strcmp(what, "memory") || !strcmp(what, "anon_shared")) {
		memory(from, what[0] == 'a');
	} else if (!strcmp(what, "remap")) {
		map = mremap(map, pages * page, from * page, MREMAP_MAYMOVE);
		check(map == MAP_FAILED, what);
		pages = from;
	} else if (!strcmp(what, "trunc")) {
		check(ftruncate(fd, (off_t)(from * page)), what);
	} else {
		simple(what);
	}
}

/* So that the code and data of a step have had their own faults before. */
static void warm(void)
{
	static char own[65536];

	touch(own, sizeof(own) / page, 1);
	touch(own, sizeof(own) / page, 0);
	map = own;
	hand("/dev/zero", 0, 1, 1);
	hand("/dev/zero", 0, 1, 0);
}

int main(int argc, char **argv)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	warm();
	printf("page %zu\n", page);
	for (int i = 1; i < argc; i++) {
		char shown[256];

		snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(argv[i], "/"), argv[i]);
		fflush(stdout);
		counted = 0;
		getrusage(RUSAGE_SELF, &before);
		step(argv[i]);
		if (!counted)
			getrusage(RUSAGE_SELF, &after);
		if (!strcmp(shown, "fork"))
			before = after; /* another process */
		printf("%d %s %ld %ld\n", (int)getpid(), shown, after.ru_minflt - before.ru_minflt,
		       after.ru_majflt - before.ru_majflt);
	}
	return 0;
}
