// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * A program with probes and much code, which says what its arithmetic comes to. There are two of it:
 * either has its code where the other one has its probes, so that no probe may stay when the one is
 * written over the other.
 *
 * annot_rewrite: makes marks (access to /dft-mark-N) and, between each two, the event "span" with N,
 * until a hundred events were listened to; status 3 when that never happens. `annot_rewrite plain`:
 * only the arithmetic.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define MARKS_FAST 20000
#define MARKS_MAX  80000
#define ENOUGH	   100

#define STEP                                                                                       \
	x = (x ^ 0x5bd1e995) * 0x9e3779b97f4a7c15ull;                                              \
	x ^= x >> 29;
#define STEPS_8	   STEP STEP STEP STEP STEP STEP STEP STEP
#define STEPS_64   STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8
#define STEPS_512  STEPS_64 STEPS_64 STEPS_64 STEPS_64 STEPS_64 STEPS_64 STEPS_64 STEPS_64
#define STEPS_1536 STEPS_512 STEPS_512 STEPS_512
#define STEPS_4096 STEPS_512 STEPS_512 STEPS_512 STEPS_512 STEPS_512 STEPS_512 STEPS_512 STEPS_512

/* Tens of KiB without a jump: all of it is executed. */
#ifdef OTHER
/* Among the code of the header, which is cold as well: before it. */
__attribute__((noinline, noclone, cold)) uint64_t arithmetic(uint64_t x)
{
	STEPS_1536
	return x;
}
#else
__attribute__((noinline, noclone)) uint64_t arithmetic(uint64_t x)
{
	STEPS_4096
	return x;
}
#endif

#include <dftracer/dftracer.h>

static void span(int n)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("n", n);
}

int main(int argc, char **argv)
{
	uint64_t x = arithmetic(1);
	int n = 0, listened = 0;
	char path[64];

	(void)argv;
	while (argc == 1 && listened < ENOUGH && n < MARKS_MAX) {
		snprintf(path, sizeof(path), "/dft-mark-%d", n);
		access(path, F_OK);
		if (n > MARKS_FAST) /* a slow tracer: no need for a longer trace */
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		listened += DFTRACER_USDT_ENABLED(dftracer, event);
		span(n++);
	}
	x = arithmetic(x);
	printf("%016llx\n", (unsigned long long)x);
	return argc == 1 && listened < ENOUGH ? 3 : 0;
}
