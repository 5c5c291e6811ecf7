/* SPDX-License-Identifier: MIT */
/*
 * Counts of values by their logarithm: 16 bins for each doubling, so that a quantile is off by 3 in a
 * hundred at most. Only the bins between the smallest and the largest value have memory. The order in
 * which values come, or histograms are added up, makes no difference.
 */
#ifndef DFT_HIST_H
#define DFT_HIST_H

#include <stdint.h>

#include "tables.h"

#define DFT_HIST_SUB 4 /* bits: 16 bins a doubling */

struct dft_hist {
	uint64_t *n;
	uint32_t from, len; /* bins from, from + 1, ... */
	uint64_t total;
};

void dft_hist_free(struct dft_hist *h);
/* Room for a bin that has none: 0 or -ENOMEM. */
int dft_hist_widen(struct dft_hist *h, uint32_t bin);
/* 0 or -ENOMEM. */
int dft_hist_merge(struct dft_hist *to, const struct dft_hist *from);
/* The middle of the bin in which the value is that `permille` of all values do not exceed; 0 if none. */
uint64_t dft_hist_quantile(const struct dft_hist *h, unsigned int permille);

static inline uint32_t dft_hist_bin(uint64_t v)
{
	unsigned int shift;

	if (v < 1u << DFT_HIST_SUB)
		return (uint32_t)v;
	shift = 63u - (unsigned int)__builtin_clzll(v) - DFT_HIST_SUB;
	/* The leading bit of v >> shift is the 16 that the next row of bins begins behind. */
	return (uint32_t)(shift << DFT_HIST_SUB) + (uint32_t)(v >> shift);
}

static inline int dft_hist_add(struct dft_hist *h, uint64_t v)
{
	uint32_t bin = dft_hist_bin(v);

	if (__builtin_expect(bin - h->from >= h->len, 0) && dft_hist_widen(h, bin) < 0)
		return -1;
	h->n[bin - h->from]++;
	h->total++;
	return 0;
}

#endif
