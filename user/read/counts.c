// SPDX-License-Identifier: MIT
#include "counts.h"

#include <inttypes.h>
#include <stdio.h>

#include "out.h"
#include "tables.h"

struct counts {
	char *buf;
	size_t cap;
	size_t len;
	uint64_t sum;
};

static void add_count(struct counts *t, struct dft_str key, uint64_t v)
{
	char name[64];
	int n;

	if (!v)
		return;
	dft_add_sat(&t->sum, v);
	if (t->len >= t->cap)
		return;
	n = snprintf(t->buf + t->len, t->cap - t->len, "%s%s %" PRIu64, t->len ? ", " : "",
		     dft_safe(name, sizeof(name), key), v);
	t->len = n < 0 || (size_t)n >= t->cap - t->len ? t->cap : t->len + (size_t)n;
}

bool dft_is_aggregated(struct dft_str key)
{
	return DFT_STR_IS(key, "aggregated");
}

uint64_t dft_sum_counts(struct dft_jsonr *j, const struct dft_jsonr_node *n, char *buf, size_t cap)
{
	struct counts t = { .buf = buf, .cap = cap };
	struct dft_str key = { "calls", 5 };
	const struct dft_jsonr_node *i, *end = j->nodes + n->next;
	uint64_t v;

	if (cap)
		buf[0] = '\0';
	/* Nodes lie in order: one pass sees every number, at any depth, with its key before it. */
	for (i = n; i < end; i++) {
		if (i->type == DFT_JSONR_STRING)
			key = dft_jsonr_str(j, i);
		else if (dft_jsonr_u64(j, i, &v) && !dft_is_aggregated(key))
			add_count(&t, key, v);
	}
	return t.sum;
}
