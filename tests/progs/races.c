// SPDX-License-Identifier: MIT
/*
 * One thread makes calls through something that another thread replaces: a directory descriptor or
 * the working directory as the base of names, a descriptor, the file that sendfile reads. Directory A
 * holds the file `x` with the byte A, directory B the file `y` with the byte B, and each a FIFO. Runs
 * in an empty directory.
 *
 *   races base|cwd|fchdir|read|sendfile N     says which of the two each call worked on
 *   races blocked                             replaced while the calls are blocked
 */
#include "say.h"

#include <sched.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define VICTIM	 100
#define PER_LINE 4000

struct place {
	int dir, file;
};

static struct place a, b;
static int done;

static struct place make(const char *dir, const char *name)
{
	struct place p;
	char path[64];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	if (mkdir(dir, 0700) || mkfifo(path, 0600))
		_exit(1);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	p.dir = open(dir, O_RDONLY | O_DIRECTORY);
	p.file = open(path, O_CREAT | O_RDWR, 0600);
	if (p.dir < 0 || p.file < 0 || write(p.file, dir, 1) != 1)
		_exit(1);
	return p;
}

/* ---- replaced all the time ---- */

/* To one of the processors we may use: the two threads must run at the same time. */
static void pin(int nth)
{
	cpu_set_t may, one;

	if (sched_getaffinity(0, sizeof(may), &may))
		_exit(1);
	nth %= CPU_COUNT(&may);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && !nth--)
			CPU_SET(i, &one);
	if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one))
		_exit(1);
}

static void replace_fd(const struct place *p, bool file)
{
	if (dup2(file ? p->file : p->dir, VICTIM) < 0)
		_exit(1);
}

/* For a while, so that hardly ever two replacements fall into one call. */
static void spin(unsigned int rounds)
{
	for (volatile unsigned int i = 0; i < rounds; i++)
		;
}

static void *replacer(void *arg)
{
	const char *what = arg;
	unsigned int seed = 1;

	pin(1);
	for (bool odd = false; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); odd = !odd) {
		const struct place *p = odd ? &a : &b;

		if (strcmp(what, "cwd"))
			replace_fd(p, !strcmp(what, "read") || !strcmp(what, "sendfile"));
		else if (fchdir(p->dir))
			_exit(1);
		seed = seed * 1103515245 + 12345;
		spin(3000 + (seed >> 16) % 8192);
	}
	return NULL;
}

static char worked_on(const char *what, long i, int sink)
{
	struct stat st;
	char one = '?';

	if (!strcmp(what, "base"))
		return syscall(SYS_faccessat, VICTIM, "x", F_OK) ? 'B' : 'A';
	if (!strcmp(what, "cwd"))
		return syscall(SYS_faccessat, AT_FDCWD, "x", F_OK) ? 'B' : 'A';
	if (!strcmp(what, "fchdir")) {
		if (fchdir(VICTIM))
			_exit(1);
		return fstatat(AT_FDCWD, "x", &st, 0) ? 'B' : 'A';
	}
	if (!strcmp(what, "read")) {
		if (pread(VICTIM, &one, 1, 0) != 1)
			_exit(1);
		return one;
	}
	off_t from = 0;

	if (sendfile(sink, VICTIM, &from, 1) != 1 || pread(sink, &one, 1, i) != 1)
		_exit(1);
	return one;
}

static void race(char *what, long n)
{
	int sink = open("sink", O_CREAT | O_RDWR, 0600);
	char line[PER_LINE + 1];
	pthread_t thread;
	size_t len = 0;

	replace_fd(&a, strcmp(what, "base") && strcmp(what, "fchdir"));
	if (fchdir(a.dir) || pthread_create(&thread, NULL, replacer, what))
		_exit(1);
	pin(0);
	say_mark("begin");
	for (long i = 0; i < n; i++) {
		line[len++] = worked_on(what, i, sink);
		if (len == PER_LINE || i == n - 1) {
			line[len] = '\0';
			say_word("files", line);
			len = 0;
		}
	}
	say_mark("end");
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

/* ---- replaced while the call is blocked ---- */

static pthread_t victim;
static long victim_tid;

static void interrupt(int sig)
{
	(void)sig;
}

/* Until the victim sleeps in that call. */
static void until_blocked_in(long nr)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall", victim_tid);
	for (;;) {
		FILE *f = fopen(path, "r");
		bool is = f && fgets(text, sizeof(text), f) && text[0] >= '0' && text[0] <= '9' &&
			  atol(text) == nr;

		if (f)
			fclose(f);
		if (is)
			return;
		sched_yield();
	}
}

struct job {
	const char *what;
	int to;
};

static void *blocked(void *arg)
{
	const struct job *j = arg;

	__atomic_store_n(&victim_tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	say_word(j->what, NULL);
	if (!strcmp(j->what, "sendfile")) {
		if (sendfile(j->to, VICTIM, &(off_t){ 0 }, 1) != 1)
			_exit(1);
	} else {
		int at = !strcmp(j->what, "base") ? VICTIM : AT_FDCWD;

		if (syscall(SYS_openat, at, "fifo", O_RDONLY) != -1 || errno != EINTR)
			_exit(1);
	}
	return NULL;
}

static void block_and_replace(const char *what)
{
	struct job j = { .what = what };
	bool sending = !strcmp(what, "sendfile");
	char fill[4096] = "";
	int ends[2];

	replace_fd(&a, sending);
	if (fchdir(a.dir) || pipe(ends) || fcntl(ends[1], F_SETFL, O_NONBLOCK))
		_exit(1);
	while (write(ends[1], fill, sizeof(fill)) > 0)
		;
	if (fcntl(ends[1], F_SETFL, 0))
		_exit(1);
	j.to = ends[1];
	victim_tid = 0;
	if (pthread_create(&victim, NULL, blocked, &j))
		_exit(1);
	while (!__atomic_load_n(&victim_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	until_blocked_in(sending ? SYS_sendfile : SYS_openat);
	if (!strcmp(what, "cwd") ? fchdir(b.dir) : dup2(sending ? b.file : b.dir, VICTIM) < 0)
		_exit(1);
	if (sending) {
		for (int i = 0; i < 2; i++)
			if (read(ends[0], fill, sizeof(fill)) < 1)
				_exit(1);
	} else {
		pthread_kill(victim, SIGUSR1);
	}
	pthread_join(victim, NULL);
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = interrupt };

	if (argc < 2 || sigaction(SIGUSR1, &act, NULL))
		return 2;
	a = make("A", "x");
	b = make("B", "y");
	if (!strcmp(argv[1], "blocked")) {
		block_and_replace("base");
		block_and_replace("cwd");
		block_and_replace("sendfile");
	} else if (argc == 3) {
		race(argv[1], atol(argv[2]));
	} else {
		return 2;
	}
	return 0;
}
