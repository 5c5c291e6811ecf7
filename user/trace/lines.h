/* SPDX-License-Identifier: MIT */
/* What all lines of the trace begin and end with. docs/trace-format.md is the norm. */
#ifndef DFT_LINES_H
#define DFT_LINES_H

#include "engine.h"

#define DFT_LINE_DFTRACER 1 /* `type` of records about the trace itself */
#define DFT_LINE_LIBC_IO  3

#define DFT_PH_COMPLETE	  1
#define DFT_PH_AGGREGATED 3
#define DFT_PH_METADATA	  4

/* CLOCK_MONOTONIC in ns -> microseconds since the epoch. */
uint64_t dft_line_us(const struct dft_engine *engine, uint64_t mono_ns);

void dft_line_begin(struct dft_json *json, struct dft_proc *proc);
void dft_line_end(struct dft_json *json);

/* Everything of a metadata record up to and with hhash; its end. */
void dft_metadata_begin(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
			const char *name, unsigned int type);
void dft_metadata_end(struct dft_json *json);
/* A whole one with `name` and `value`. */
void dft_metadata_write(struct dft_engine *engine, struct dft_proc *proc, const char *name,
			const char *key, const char *value);

struct dft_event_head {
	const char *name, *cat;
	size_t name_len, cat_len;
	unsigned int type;
	uint32_t tid;
	uint64_t ts_us, dur_us;
};

/* Everything of an event up to and with hhash; its end. Gives it the next id. */
void dft_event_begin(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_event_head *head);
void dft_event_end(struct dft_json *json);

#endif
