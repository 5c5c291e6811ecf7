// SPDX-License-Identifier: MIT
/*
 * `mixed_load ROUNDS`: so many times a second, from a byte on stdin to its end, a bit of everything: a
 * process with regions and entities of its own, which now and then runs another program; a thread; files
 * that are renamed and removed, by a name of their own each time; sockets. Says how many rounds it made.
 * Runs in an empty directory.
 */
#include <dftracer/dftracer.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILES 20
#define READS 100

static int sockets[2];
static char block[4096];

static void must(int good)
{
	if (!good) {
		perror("mixed_load");
		_exit(1);
	}
}

static int open_numbered(int i)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "data/%d", i);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	must(fd >= 0);
	return fd;
}

static void *reader(void *arg)
{
	int fd = open_numbered(*(int *)arg % FILES);

	DFTRACER_C_FUNCTION_START();
	for (int i = 0; i < READS; i++)
		must(pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block));
	DFTRACER_C_FUNCTION_UPDATE_INT("reads", READS);
	DFTRACER_C_FUNCTION_END();
	must(!close(fd));
	return NULL;
}

static void short_life(int round)
{
	char key[32];

	DFTRACER_C_FUNCTION_START();
	snprintf(key, sizeof(key), "result %d", round);
	DFTRACER_C_FUNCTION_USES("input", "data");
	DFTRACER_C_FUNCTION_GENERATES("result", key);
	for (int i = 0; i < FILES; i++) {
		int fd = open_numbered(i);

		must(pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block) && !close(fd));
	}
	DFTRACER_C_FUNCTION_END();
	if (round % 8 == 0)
		execl("/bin/true", "true", NULL);
	_exit(round % 8 == 0);
}

static void names(int round)
{
	char old[32], new[32];
	int fd;

	snprintf(old, sizeof(old), "old%d", round);
	snprintf(new, sizeof(new), "new%d", round);
	fd = open(old, O_CREAT | O_RDWR, 0600);
	must(fd >= 0 && write(fd, old, 8) == 8 && !rename(old, new) && pread(fd, block, 8, 0) == 8 &&
	     !unlink(new) && !close(fd));
}

static void one_round(int round)
{
	int status = -1;
	pthread_t thread;
	pid_t pid = fork();

	if (!pid)
		short_life(round);
	must(pid > 0 && !pthread_create(&thread, NULL, reader, &round));
	names(round);
	for (int i = 0; i < 10; i++)
		must(write(sockets[0], block, 1024) == 1024 && read(sockets[1], block, 1024) == 1024);
	must(!pthread_join(thread, NULL) && waitpid(pid, &status, 0) == pid && !status);
}

/* True when stdin has ended. */
static int over(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

int main(int argc, char **argv)
{
	struct timespec next;
	int rounds_made = 0, rounds = argc == 2 ? atoi(argv[1]) : 0;

	if (rounds < 1 || rounds > 1000)
		return 2;
	must(!mkdir("data", 0700) && !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	for (int i = 0; i < FILES; i++) {
		int fd = open_numbered(i);

		must(pwrite(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block) && !close(fd));
	}
	must(read(0, block, 1) == 1);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int round = 1; !over(); round++) {
		one_round(round);
		next.tv_nsec += 1000000000 / rounds;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		rounds_made = round;
	}
	printf("%d\n", rounds_made);
	return 0;
}
