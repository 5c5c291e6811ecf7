// SPDX-License-Identifier: MIT
#include "hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dft_hist_free(struct dft_hist *h)
{
	free(h->n);
	memset(h, 0, sizeof(*h));
}

/* So many that few calls of one operation need it more than once or twice. */
#define SPARE 4

int dft_hist_widen(struct dft_hist *h, uint32_t bin)
{
	uint32_t from = h->from, to = h->from + h->len;
	uint64_t *n;

	if (!h->len) {
		from = bin;
		to = bin + 1;
	} else if (bin < from) {
		from = bin > SPARE ? bin - SPARE : 0;
	} else if (bin >= to) {
		to = bin + 1 + SPARE;
	} else {
		return 0;
	}
	n = calloc(to - from, sizeof(*n));
	if (!n)
		return -ENOMEM;
	if (h->len)
		memcpy(n + (h->from - from), h->n, h->len * sizeof(*n));
	free(h->n);
	h->n = n;
	h->from = from;
	h->len = to - from;
	return 0;
}

int dft_hist_merge(struct dft_hist *to, const struct dft_hist *from)
{
	if (!from->len)
		return 0;
	if (dft_hist_widen(to, from->from) < 0 || dft_hist_widen(to, from->from + from->len - 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->len; i++)
		to->n[from->from + i - to->from] += from->n[i];
	to->total += from->total;
	return 0;
}

static uint64_t middle(uint32_t bin)
{
	uint32_t shift;
	uint64_t low;

	if (bin < 2u << DFT_HIST_SUB)
		return bin;
	shift = (bin >> DFT_HIST_SUB) - 1;
	low = (uint64_t)(bin - (shift << DFT_HIST_SUB)) << shift;
	return low + (1ull << shift) / 2;
}

uint64_t dft_hist_quantile(const struct dft_hist *h, unsigned int permille)
{
	/* Rounded up: of two values the first is the median, of one it is all quantiles. */
	uint64_t want = h->total / 1000 * permille + (h->total % 1000 * permille + 999) / 1000;
	uint64_t seen = 0;

	if (!want)
		want = 1;
	for (uint32_t i = 0; i < h->len; i++) {
		seen += h->n[i];
		if (seen >= want)
			return middle(h->from + i);
	}
	return 0;
}
