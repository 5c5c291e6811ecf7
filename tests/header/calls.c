// SPDX-License-Identifier: MIT
/*
 * Regions of all kinds, as if somebody listened, between two writes: what strace shows between them
 * is what regions make a program ask of the kernel.
 */
#include "alone.h"

#include <dftracer/dftracer.h>

#include <unistd.h>

static void scoped(int i)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("i", i);
	DFTRACER_C_FUNCTION_USES("file", "/x");
}

static void handle(void)
{
	struct DFTracerData *d = initialize_region("h", "c", DF_DATA_EVENT);

	update_metadata_string(d, "s", "v");
	finalize_region(d);
}

static void all(int n)
{
	for (int i = 0; i < n; i++) {
		scoped(i);
		handle();
		DFTRACER_C_METADATA(m, "k", "v");
		DFTRACER_C_ENTITY_TYPE("t", DFT_ROLE_INPUT, "d");
		DFTRACER_C_ENTITY_RELATE(DFT_REL_CONTAINS, 1, 2);
	}
}

int main(void)
{
	want_to_be_alone();
	dftracer_event_semaphore = dftracer_part_semaphore = dftracer_metadata_semaphore = 1;
	dftracer_entity_semaphore = dftracer_entity_type_semaphore = dftracer_relation_semaphore = 1;
	all(1); /* memory for the first handle */
	if (write(1, "begin\n", 6) != 6)
		return 1;
	all(1000);
	return write(1, "end\n", 4) != 4;
}
