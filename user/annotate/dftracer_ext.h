/* SPDX-License-Identifier: MIT */
/*
 * What libdftracer.so exports besides the functions of <dftracer/dftracer.h>: two of DFTracer that
 * are in none of its headers, and those that the Python package is made of.
 */
#ifndef DFTRACER_EXT_H
#define DFTRACER_EXT_H

#include <stdint.h>

#include <dftracer/types.h>
#include <dftracer/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Microseconds since the epoch, by a clock that is never set. */
TimeResolution get_time(void);
/* An event of which the times are known, in microseconds since the epoch. */
void log_event(ConstEventNameType name, ConstEventNameType cat, TimeResolution start,
	       TimeResolution duration);

/*
 * A region as of initialize_region(), for any API (enum dft_api); the strings are copied. It is
 * closed by finalize_region(); strings and relations are told by update_metadata_string_type(),
 * update_relation() and update_relation_entity().
 */
struct DFTracerData *dftracer_region_open(const char *name, const char *cat, int api);
/* mt: MetadataType, 0 to 2. */
void dftracer_region_int(struct DFTracerData *d, const char *key, int64_t value, int mt);
void dftracer_region_float(struct DFTracerData *d, const char *key, double value, int mt);
/*
 * Other times than those of opening and closing, in microseconds since the epoch. To be called before
 * anything else is told about the region: parts of it that were sent already are known by its start.
 */
void dftracer_region_times(struct DFTracerData *d, uint64_t start_us, uint64_t duration_us);
/* Closes the region without an event. */
void dftracer_region_drop(struct DFTracerData *d);

/* form: enum dft_meta. */
void dftracer_metadata_str(int form, int api, const char *key, const char *value);
void dftracer_metadata_int(int form, int api, const char *key, int64_t value);

/* What dftracer_declare_entity() returns, declaring nothing. */
EntityID dftracer_entity_id(const char *type, const char *key);

/* How many listen to events. Not 0: regions are recorded. */
const volatile unsigned short *dftracer_listeners(void);

#ifdef __cplusplus
}
#endif

#endif
