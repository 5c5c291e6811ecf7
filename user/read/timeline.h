/* SPDX-License-Identifier: MIT */
/*
 * What happened when: bytes and calls by interval. The range of time is not known before it is over,
 * so intervals start fine and are joined as it grows; there are never more than a fixed number of them.
 * The sums are the same whatever the order of the calls. One timeline belongs to one thread.
 */
#ifndef DFT_TIMELINE_H
#define DFT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

struct dft_tl_cell {
	uint64_t read, written; /* bytes */
	uint64_t ops, meta;     /* calls that began; those of them that move no bytes */
};

struct dft_tl_slot {
	uint64_t group, at; /* `at` counts intervals since the epoch */
	struct dft_tl_cell cell;
};

struct dft_timeline {
	uint64_t width_ns;  /* of an interval; 0: nothing was added */
	uint64_t first, last; /* intervals with something in them */
	uint64_t max;       /* of intervals between them */
	unsigned int step;  /* of the row of widths */
	struct dft_tl_slot *slots; /* those with something in them */
	size_t n, cap;
	struct dft_index index; /* by group and interval: place in slots, from 1 on */
};

/* One call, or many that are told together. */
struct dft_tl_call {
	uint64_t group; /* whatever the caller tells apart */
	uint64_t from_ns, to_ns;
	uint64_t read, written, ops, meta;
};

/* `width_ns` is where it begins; 0: as fine as it gets. `max` at least 2. */
void dft_timeline_init(struct dft_timeline *t, uint64_t width_ns, uint64_t max);
void dft_timeline_free(struct dft_timeline *t);
/* Bytes are spread evenly over the intervals that the call spans. 0 or -ENOMEM. */
int dft_timeline_add(struct dft_timeline *t, const struct dft_tl_call *c);
/* Adds what `from` has. 0 or -ENOMEM. */
int dft_timeline_merge(struct dft_timeline *t, const struct dft_timeline *from);
/* Adds a sum to an interval, which must be within reach. 0 or -ENOMEM. */
int dft_timeline_put(struct dft_timeline *t, uint64_t group, uint64_t at,
		     const struct dft_tl_cell *sum);
/* Sorts the slots by time, then group; nothing is added after it. */
void dft_timeline_sort(struct dft_timeline *t);
/* A round width, a multiple of the timeline's own, that makes about 60 intervals of it. */
uint64_t dft_timeline_round(const struct dft_timeline *t);

#endif
