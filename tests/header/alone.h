/* SPDX-License-Identifier: MIT */
/* For tests that play the listener themselves: they cannot while a real one has armed them. */
#ifndef TESTS_HEADER_ALONE_H
#define TESTS_HEADER_ALONE_H

#include <dftracer/dftracer.h>
#include <stdio.h>
#include <stdlib.h>

static inline void want_to_be_alone(void)
{
	if (dftracer_event_semaphore || dftracer_part_semaphore || dftracer_metadata_semaphore) {
		fprintf(stderr, "a tracer listens to all programs: end it before this test\n");
		exit(4);
	}
}

#endif
