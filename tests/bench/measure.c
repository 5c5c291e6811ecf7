// SPDX-License-Identifier: MIT
/*
 * Runs a command and tells what it used.
 *
 *     measure FD CMD [ARGS]
 *
 * Writes {"wall_ns":N,"cpu_ns":N,"maxrss_kib":N} to descriptor FD when CMD has ended: CMD with the
 * children it waited for. Exits as CMD did; killed by a signal counts as 128 and its number.
 *
 * A parent of its own because the kernel counts what a process held before its exec into its peak: a
 * child of the interpreter that runs the benchmark would have the interpreter's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		fail("clock_gettime");
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t usage_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000u + (uint64_t)tv->tv_usec * 1000;
}

int main(int argc, char **argv)
{
	struct rusage used;
	uint64_t wall;
	int fd, status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: measure FD CMD [ARGS]\n");
		return 2;
	}
	fd = atoi(argv[1]);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC))
		fail(argv[1]);
	wall = now_ns();
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		execvp(argv[2], argv + 2);
		fail(argv[2]);
	}
	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			fail("wait4");
	wall = now_ns() - wall;
	if (dprintf(fd, "{\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"maxrss_kib\":%ld}\n", wall,
		    usage_ns(&used.ru_utime) + usage_ns(&used.ru_stime), used.ru_maxrss) < 0)
		fail("writing");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
