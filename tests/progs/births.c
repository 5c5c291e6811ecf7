// SPDX-License-Identifier: MIT
/*
 * Makes a child in each way there is. Each child writes the name of its way into the file of that name in
 * the directory given; the parent prints the way and what the call returned.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir;
static char *self;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void leave_mark(const char *way)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, way);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, way, strlen(way)) != (ssize_t)strlen(way) || close(fd))
		_exit(9);
}

static void await(const char *way, pid_t pid)
{
	int status;

	if (pid < 0)
		die(way);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "%s: status %x\n", way, status);
		exit(1);
	}
	printf("%s %d\n", way, pid);
	fflush(stdout);
}

/* exec is all that a child of vfork may do. */
static char *const *again(const char *way)
{
	static char *argv[4];

	argv[0] = self;
	argv[1] = (char *)dir;
	argv[2] = (char *)way;
	return argv;
}

static int in_clone(void *way)
{
	leave_mark(way);
	_exit(0);
}

static char stack[2][65536] __attribute__((aligned(16)));

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc < 2)
		return 2;
	self = argv[0];
	dir = argv[1];
	if (argc > 2) {
		leave_mark(argv[2]);
		return 0;
	}
	pid = fork();
	if (!pid) {
		leave_mark("fork");
		_exit(0);
	}
	await("fork", pid);
	pid = vfork();
	if (!pid) {
		execv(self, again("vfork"));
		_exit(8);
	}
	await("vfork", pid);
	if (posix_spawn(&pid, self, NULL, NULL, again("spawn"), NULL))
		die("posix_spawn");
	await("spawn", pid);
	await("clone", clone(in_clone, stack[0] + sizeof(stack[0]), SIGCHLD, "clone"));
	await("clone_vm", clone(in_clone, stack[1] + sizeof(stack[1]), CLONE_VM | SIGCHLD, "clone_vm"));
	return 0;
}
