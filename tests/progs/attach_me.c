// SPDX-License-Identifier: MIT
/*
 * A process to attach to: three files open (one renamed, one removed since), the current directory
 * elsewhere, eight threads. Everything is done after a line on stdin, and said. Then it forks.
 *
 *   attach_me DIRECTORY        runs in an empty directory; DIRECTORY becomes the current one
 */
#include "say.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define THREADS 8
#define ROUNDS	50

static char home[4096], cwd[4096];
static int plain, renamed, removed;
static pthread_barrier_t go;

static char *in(const char *dir, const char *rel)
{
	static __thread char ring[8][8200];
	static __thread unsigned int next;
	char *out = ring[next++ % 8];

	snprintf(out, sizeof(ring[0]), "%s/%s", dir, rel);
	return out;
}

static void work(int number)
{
	struct stat st;
	char byte[16], rel[32];
	long fd;

	snprintf(rel, sizeof(rel), "rel%d", number);
	for (int i = 0; i < ROUNDS; i++) {
		ev("pread", ok(CALL(SYS_pread64, plain, L(byte), 3, 2)), F(in(home, "plain")),
		   U("count", 3), D("offset", 2));
		ev("pwrite", ok(CALL(SYS_pwrite64, renamed, L(byte), 4, i)),
		   F(in(home, "new name")), U("count", 4), D("offset", i));
		ev("fstat", ok(CALL(SYS_fstat, removed, L(&st))), F(in(home, "removed")), RET,
		   D("deleted", 1));
		ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L("none"), L(&st), 0), ENOENT),
		   F(in(cwd, "none")), D("flags", 0));
		fd = ok(CALL(SYS_openat, AT_FDCWD, L(rel), O_CREAT | O_RDWR, 0600));
		ev("open", fd, F(in(cwd, rel)), D("flags", O_CREAT | O_RDWR), U("mode", 0600));
		ev("write", ok(CALL(SYS_write, fd, L("12345"), 5)), F(in(cwd, rel)), U("count", 5),
		   D("offset", 0));
		ev("close", ok(CALL(SYS_close, fd)), F(in(cwd, rel)));
	}
}

static void *thread(void *arg)
{
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&go);
	work((int)(intptr_t)arg);
	say_word("done", NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pid_t child;
	char byte;

	if (argc != 2 || !getcwd(home, sizeof(home)))
		return 2;
	plain = open("plain", O_RDWR | O_CREAT, 0600);
	renamed = open("old name", O_RDWR | O_CREAT, 0600);
	removed = open("removed", O_RDWR | O_CREAT, 0600);
	if (pwrite(plain, "0123456789", 10, 0) != 10 || rename("old name", "new name") ||
	    unlink("removed") || chdir(argv[1]) || !getcwd(cwd, sizeof(cwd)))
		return 1;
	pthread_barrier_init(&go, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i))
			return 1;
	pthread_barrier_wait(&go);
	say_word("live", NULL);
	if (read(0, &byte, 1) != 1)
		return 1;
	pthread_barrier_wait(&go);
	work(THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		work(THREADS + 1);
		say_word("done", NULL);
		_exit(5);
	}
	say_nr = SYS_clone;
	ev("fork", child, U("flags", 0x1200011)); /* as libc makes a process */
	{
		int status = -1;
		long r = ok(CALL(SYS_wait4, child, L(&status), 0, 0));

		ev("wait", r, D("options", 0), RET, D("status", 5 << 8));
	}
	say_word("done", NULL);
	return 0;
}
