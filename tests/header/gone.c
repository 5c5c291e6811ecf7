// SPDX-License-Identifier: MIT
/*
 * Listeners that come and go within regions. Breakpoints stay in, so that a probe that is reached
 * although nobody listens is seen.
 */
#include <dftracer/dftracer.h>

#include "listen.h"

static unsigned short events, metadatas;

static void leave(void)
{
	events = dftracer_event_semaphore;
	metadatas = dftracer_metadata_semaphore;
	dftracer_event_semaphore = dftracer_metadata_semaphore = 0;
}

static void come(void)
{
	dftracer_event_semaphore = events;
	dftracer_metadata_semaphore = metadatas;
}

static void region(void (*begun)(void), void (*ended)(void), const char *text)
{
	struct DFTracerData *handle = initialize_region("handle", "c", DF_DATA_EVENT);
	struct DFTracerData *fact = initialize_region(text, "fact", DF_METADATA_EVENT);
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_STR("first", text);

	begun();
	DFTRACER_C_FUNCTION_UPDATE_STR("second", text);
	update_metadata_string(handle, "second", text);
	DFTRACER_C_FUNCTION_END();
	finalize_region(handle);
	finalize_region(fact);
	ended();
}

static void leave_and_come(void)
{
	leave();
	come();
}

static void nothing(void)
{
}

int main(void)
{
	listen_begin();
	region(leave, come, "left");
	region(leave_and_come, nothing, "back again");
	leave();
	region(come, nothing, "came later");
	region(nothing, nothing, "stayed");
	listen_end();
	listen_print();
	return 0;
}
