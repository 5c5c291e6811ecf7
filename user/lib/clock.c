// SPDX-License-Identifier: MIT
#include "clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec ts;

	/* Fails for no clock that exists. */
	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t dft_clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

/* The narrowest of some readings of one clock between two of the other. */
int64_t dft_clock_offset_ns(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 16; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC);
		uint64_t real = read_ns(CLOCK_REALTIME);
		uint64_t width = read_ns(CLOCK_MONOTONIC) - before;

		if (width < best) {
			best = width;
			offset = (int64_t)(real - before - width / 2);
		}
	}
	return offset;
}
