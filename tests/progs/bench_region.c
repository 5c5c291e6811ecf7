// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * A workload for measuring: regions with two arguments and one relation each.
 *
 *     bench_region CALLS
 *
 * Prints {"calls":N,"wall_ns":N,"cpu_ns":N}, both times of the loop alone. bench_region_nop5.c and
 * bench_region_off.c are the same with the five-byte nop and with annotations compiled away.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <dftracer/dftracer.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

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

int main(int argc, char **argv)
{
	uint64_t calls, wall, cpu;
	EntityID sample;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_region CALLS\n");
		return 2;
	}
	calls = strtoull(argv[1], NULL, 10);
	sample = DFTRACER_C_ENTITY("sample", "0", DFT_STORE_MEMORY, NULL);
	wall = now_ns(CLOCK_MONOTONIC);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < calls; i++)
		step((int)i, sample);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	printf("{\"calls\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 "}\n", calls, wall,
	       cpu);
	return 0;
}
