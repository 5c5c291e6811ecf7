// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * A workload for measuring: regions with two arguments and one relation each.
 *
 *     bench_region CALLS
 *
 * What it prints: see bench.h. bench_region_nop5.c and bench_region_off.c are the same with the
 * five-byte nop and with annotations compiled away.
 */
#include <dftracer/dftracer.h>

#include "bench.h"

#define BEFORE 1000

/* A function of its own, as what people annotate is. */
static __attribute__((noinline)) void step(int i, EntityID sample)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("index", i);
	DFTRACER_C_FUNCTION_UPDATE_STR("stage", "decode");
	DFTRACER_C_FUNCTION_RELATE(DFT_REL_USED, sample);
	__asm__ volatile("" : : "r"(i), "r"(sample) : "memory"); /* the work */
	DFTRACER_C_FUNCTION_END();
}

static void steps(uint64_t n, EntityID sample)
{
	for (uint64_t i = 0; i < n; i++)
		step((int)i, sample);
}

int main(int argc, char **argv)
{
	static const struct bench_op ops[] = { { "step", 1 }, { NULL, 0 } };
	struct bench_times times;
	EntityID sample;
	uint64_t calls;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_region CALLS\n");
		return 2;
	}
	calls = bench_count(argv[1]);
	sample = DFTRACER_C_ENTITY("sample", "0", DFT_STORE_MEMORY, NULL);
	steps(BEFORE, sample);
	bench_gate();
	times.wall_ns = bench_now(CLOCK_MONOTONIC);
	times.cpu_ns = bench_now(CLOCK_THREAD_CPUTIME_ID);
	steps(calls, sample);
	times.cpu_ns = bench_now(CLOCK_THREAD_CPUTIME_ID) - times.cpu_ns;
	times.wall_ns = bench_now(CLOCK_MONOTONIC) - times.wall_ns;
	return bench_report(ops, calls, BEFORE, &times);
}
