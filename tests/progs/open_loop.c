// SPDX-License-Identifier: MIT
/*
 * Threads that open, read and close files as fast as they can, for ever. File fNNN is NNN bytes long,
 * so that what a read returns tells which file it read. Thread t starts with file t and goes round.
 *
 *   open_loop FILES THREADS      makes its files in the current directory; says a line when it runs
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int files;
static int dirfd_;

static void *loop(void *arg)
{
	static const int flags = O_RDONLY;
	char buf[4096], name[32];

	for (int i = (int)(intptr_t)arg;; i = i % files + 1) {
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = openat(dirfd_, name, flags);
		if (fd < 0 || read(fd, buf, sizeof(buf)) != i || close(fd))
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte, name[32];

	if (argc != 3)
		return 2;
	files = atoi(argv[1]);
	dirfd_ = open(".", O_RDONLY | O_DIRECTORY);
	for (int i = 1; i <= files; i++) {
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = open(name, O_CREAT | O_RDWR, 0600);
		if (fd < 0 || ftruncate(fd, i) || close(fd))
			return 1;
	}
	for (int t = 1; t <= atoi(argv[2]); t++)
		if (pthread_create(&thread, NULL, loop, (void *)(intptr_t)t))
			return 1;
	if (write(1, "live\n", 5) != 5)
		return 1;
	while (read(0, &byte, 1) == 1)
		;
	_exit(0);
}
