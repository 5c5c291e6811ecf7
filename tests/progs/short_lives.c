// SPDX-License-Identifier: MIT
/*
 * `short_lives LANES PROCESSES FILES`: as many lanes as given have as many processes each, one after the
 * other. Each opens and closes as many files, whose names are new: those of the directory LANE/N, which
 * is renamed before each process. It writes a byte into a pipe, too. Says for each `PID LANE N`, and
 * waits for the end of stdin before it ends itself. Runs in an empty directory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int files;

static void one(const char *dir, int fd)
{
	char path[64];

	for (int i = 0; i < files; i++) {
		int opened;

		snprintf(path, sizeof(path), "%s/f%d", dir, i);
		opened = open(path, O_RDONLY);
		if (opened < 0 || close(opened))
			_exit(1);
	}
	_exit(write(fd, "x", 1) != 1);
}

static void lane(int number, int processes)
{
	char is[32], was[32], path[64], byte;
	int fds[2], status = -1;

	snprintf(is, sizeof(is), "%d", number);
	snprintf(was, sizeof(was), "%d/0", number);
	if (mkdir(is, 0700) || mkdir(was, 0700) || pipe(fds))
		_exit(1);
	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/f%d", was, i);
		if (close(open(path, O_CREAT | O_WRONLY, 0600)))
			_exit(1);
	}
	for (int i = 1; i <= processes; i++) {
		pid_t pid;

		snprintf(is, sizeof(is), "%d/%d", number, i);
		if (rename(was, is))
			_exit(1);
		pid = fork();
		if (!pid)
			one(is, fds[1]);
		if (waitpid(pid, &status, 0) != pid || status || read(fds[0], &byte, 1) != 1)
			_exit(1);
		printf("%d %d %d\n", pid, number, i);
		strcpy(was, is);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int lanes, status = -1;
	char byte;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0); /* lines of several lanes do not mix */
	lanes = atoi(argv[1]);
	files = atoi(argv[3]);
	for (int i = 0; i < lanes; i++)
		if (!fork())
			lane(i, atoi(argv[2]));
	for (int i = 0; i < lanes; i++)
		if (wait(&status) < 0 || status)
			return 1;
	puts("done");
	return read(0, &byte, 1) != 0;
}
