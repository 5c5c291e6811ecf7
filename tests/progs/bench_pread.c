// SPDX-License-Identifier: MIT
/*
 * A workload for measuring: reads 4 KiB at a time from the page cache.
 *
 *     bench_pread FILE CALLS
 *
 * FILE must be at least 1 MiB. Prints {"calls":N,"wall_ns":N,"cpu_ns":N}, both times of the loop alone:
 * whatever comes before it (a tracer being loaded, the program being linked) is not in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK  4096
#define BLOCKS 256

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static char block[BLOCK];
	uint64_t calls, wall, cpu;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: bench_pread FILE CALLS\n");
		return 2;
	}
	calls = strtoull(argv[2], NULL, 10);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "bench_pread: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	/* Once over the file, so that the loop finds it in the page cache. */
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (pread(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK) {
			fprintf(stderr, "bench_pread: %s is too short\n", argv[1]);
			return 1;
		}
	wall = now_ns(CLOCK_MONOTONIC);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < calls; i++)
		if (pread(fd, block, BLOCK, (off_t)(i % BLOCKS) * BLOCK) != BLOCK)
			return 1;
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	printf("{\"calls\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 "}\n", calls, wall,
	       cpu);
	return 0;
}
