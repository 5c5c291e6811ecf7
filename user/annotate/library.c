// SPDX-License-Identifier: MIT
/*
 * libdftracer.so: the functions of <dftracer/dftracer.h> as exported symbols, for languages that
 * have no use for a C header, and for programs that were linked against DFTracer's library. It is
 * compiled with hidden visibility, so that nothing but these is exported.
 */
#define DFTRACER_FN __attribute__((visibility("default")))

#include <dftracer/functions.h>

#pragma GCC visibility push(default)
#include "dftracer_ext.h"
#pragma GCC visibility pop

/*
 * Epoch time minus CLOCK_MONOTONIC, ns. Measured once, so that the two conversions undo each other
 * and times of one process keep their order when the clock is set. Of some readings between two of
 * the other clock the one counts that took the shortest.
 */
static int64_t measure_offset(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t before = dft_clock(DFT_CLOCK_MONOTONIC);
		uint64_t real = dft_clock(DFT_CLOCK_REALTIME);
		uint64_t width = dft_clock(DFT_CLOCK_MONOTONIC) - before;

		if (width < best) {
			best = width;
			offset = (int64_t)(real - before - width / 2);
		}
	}
	return offset;
}

/* 0 is as good as not measured: the epoch and the last boot are not at the same nanosecond. */
static uint64_t epoch_offset(void)
{
	static int64_t known;
	int64_t offset = __atomic_load_n(&known, __ATOMIC_RELAXED);
	int64_t mine;

	if (offset)
		return (uint64_t)offset;
	mine = measure_offset();
	/* Whoever was first is right, for all threads. */
	if (__atomic_compare_exchange_n(&known, &offset, mine, 0, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		offset = mine;
	return (uint64_t)offset;
}

TimeResolution get_time(void)
{
	return (dft_clock(DFT_CLOCK_MONOTONIC) + epoch_offset()) / 1000;
}

struct DFTracerData *dftracer_region_open(const char *name, const char *cat, int api)
{
	if (dft_listens(DF_DATA_EVENT))
		return dft_handle_open(name, cat, DF_DATA_EVENT, api);
	return &dft_inert;
}

void dftracer_region_int(struct DFTracerData *d, const char *key, int64_t value, int mt)
{
	struct dft_region *r = dft_live(d);

	if (r)
		dft_region_int(r, key, value, mt);
}

void dftracer_region_float(struct DFTracerData *d, const char *key, double value, int mt)
{
	struct dft_region *r = dft_live(d);

	if (!r || r->is_metadata)
		return;
	dft_put_key(r, DFT_ITEM_FLOAT, key, mt);
	dft_put(r, &value, sizeof(value));
}

void dftracer_region_times(struct DFTracerData *d, uint64_t start_us, uint64_t duration_us)
{
	struct dft_region *r = dft_live(d);
	unsigned char item = DFT_ITEM_DUR;
	uint64_t duration = duration_us * 1000;

	if (!r || r->is_metadata)
		return;
	if (!r->chunk.before)
		r->value = start_us * 1000 - epoch_offset();
	dft_put(r, &item, sizeof(item));
	dft_put(r, &duration, sizeof(duration));
}

void dftracer_region_drop(struct DFTracerData *d)
{
	if (dft_live(d))
		dft_region_close(d, 1);
}

void log_event(ConstEventNameType name, ConstEventNameType cat, TimeResolution start,
	       TimeResolution duration)
{
	struct DFTracerData *d = initialize_region(name, cat, DF_DATA_EVENT);

	dftracer_region_times(d, start, duration);
	finalize_region(d);
}

void dftracer_metadata_str(int form, int api, const char *key, const char *value)
{
	if (dft_listens(DF_METADATA_EVENT))
		dft_metadata_str((enum dft_meta)form, api, key, value);
}

void dftracer_metadata_int(int form, int api, const char *key, int64_t value)
{
	if (dft_listens(DF_METADATA_EVENT))
		dft_metadata_int((enum dft_meta)form, api, key, value);
}

EntityID dftracer_entity_id(const char *type, const char *key)
{
	return dft_entity_id(type, key);
}

const volatile unsigned short *dftracer_listeners(void)
{
	return &dftracer_event_semaphore;
}
