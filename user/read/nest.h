/* SPDX-License-Identifier: MIT */
/*
 * Spans of threads made to nest: viewers draw those of one thread into each other, and misplace any
 * that overlap otherwise. Spans that overlap by no more than the rounding of times are trimmed; the
 * rest are told apart, to be drawn beside the thread.
 */
#ifndef DFT_NEST_H
#define DFT_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "extsort.h"

struct dft_span {
	uint64_t pid, tid, ts_ns, dur_ns;
};

/* What becomes of a span; `text` is what was given with it. Returns 0 or -errno. */
typedef int (*dft_span_fn)(void *ctx, const struct dft_span *span, bool nests, struct dft_str text);

/* Adds a span to a sorter, by thread and time, the longer first. */
int dft_nest_add(struct dft_extsort *sort, const struct dft_span *span, struct dft_str text);

/* Goes through a finished sorter; those that nest come thread by thread in order of time. */
int dft_nest_run(struct dft_extsort *sort, dft_span_fn fn, void *ctx);

#endif
