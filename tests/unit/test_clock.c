// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"

static int64_t real_ns(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &ts), 0);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void goes_forward(void **state)
{
	uint64_t before = dft_clock_mono_ns();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = dft_clock_mono_ns();

		assert_true(now >= before);
		before = now;
	}
}

/* CLOCK_MONOTONIC plus the offset lies between two readings of CLOCK_REALTIME. */
static void offset_fits(void **state)
{
	int fits = 0;

	(void)state;
	/* A busy machine may take the processor away between the readings: then the window is wide. */
	for (int i = 0; i < 100; i++) {
		int64_t offset = dft_clock_offset_ns(), before = real_ns();
		int64_t now = (int64_t)dft_clock_mono_ns() + offset, after = real_ns();

		fits += now >= before - 1000 && now <= after + 1000;
	}
	assert_true(fits > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_forward),
		cmocka_unit_test(offset_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
