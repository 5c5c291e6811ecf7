/* SPDX-License-Identifier: MIT */
/*
 * What the workloads of the benchmark share: clocks, the gate, the report.
 *
 * A workload makes its unmeasured calls, prints the line `ready`, reads one byte (or the end) of its
 * standard input and runs its loop. So whoever attaches to it can do so between the two, and attaching
 * is not in the times. In the end it prints one line of JSON; see bench_report().
 */
#ifndef DFT_TESTS_BENCH_H
#define DFT_TESTS_BENCH_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * An operation of a workload, by its name in a trace, and how often one turn of the loop does it. What
 * leaves no trace has an empty name.
 */
struct bench_op {
	const char *name;
	unsigned int each;
};

struct bench_times {
	uint64_t wall_ns, cpu_ns;
};

static inline uint64_t bench_now(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts)) {
		perror("clock_gettime");
		exit(1);
	}
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A count on the command line; ends the program when it is none. */
static inline uint64_t bench_count(const char *text)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-') {
		fprintf(stderr, "%s: not a count\n", text);
		exit(2);
	}
	return n;
}

static inline void bench_gate(void)
{
	char byte;

	if (puts("ready") == EOF || fflush(stdout) || read(STDIN_FILENO, &byte, 1) < 0) {
		perror("gate");
		exit(1);
	}
}

static inline void bench_ops(const char *key, const struct bench_op *ops, uint64_t turns)
{
	printf(",\"%s\":{", key);
	for (const struct bench_op *op = ops; op->name; op++)
		if (*op->name)
			printf("%s\"%s\":%" PRIu64, op == ops ? "" : ",", op->name,
			       op->each * turns);
	putchar('}');
}

/*
 * calls, wall_ns, cpu_ns: of the loop alone, all threads. loop, before: the same calls and the
 * unmeasured ones, by name in a trace. process_cpu_ns: of the whole process, to tell its share from a
 * tracer's that waited for it. Returns the exit status.
 */
static inline int bench_report(const struct bench_op *ops, uint64_t loop, uint64_t before,
			       const struct bench_times *times)
{
	uint64_t calls = 0;

	for (const struct bench_op *op = ops; op->name; op++)
		calls += op->each * loop;
	printf("{\"calls\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64, calls,
	       times->wall_ns, times->cpu_ns);
	bench_ops("loop", ops, loop);
	bench_ops("before", ops, before);
	printf(",\"process_cpu_ns\":%" PRIu64 "}\n", bench_now(CLOCK_PROCESS_CPUTIME_ID));
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

#endif
