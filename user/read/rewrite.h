/* SPDX-License-Identifier: MIT */
/* Pieces of a record's JSON, written again as they stand in the line. */
#ifndef DFT_REWRITE_H
#define DFT_REWRITE_H

#include "json.h"
#include "jsonr.h"

/* The value as a text of JSON: of a string with its quotes. */
static inline struct dft_str dft_rewrite_text(const struct dft_jsonr *j, const struct dft_jsonr_node *n)
{
	struct dft_str s = dft_jsonr_raw(j, n);

	if (n->type == DFT_JSONR_STRING)
		s = (struct dft_str){ s.s - 1, s.n + 2 };
	return s;
}

/* A key, whose value follows, with NULL as its key. */
static inline void dft_rewrite_key(struct dft_json *w, const struct dft_jsonr *j,
				   const struct dft_jsonr_node *key)
{
	struct dft_str s = dft_rewrite_text(j, key);

	dft_json_quoted_key(w, s.s, s.n);
}

static inline void dft_rewrite_member(struct dft_json *w, const struct dft_jsonr *j,
				      const struct dft_jsonr_node *key)
{
	struct dft_str s = dft_rewrite_text(j, dft_jsonr_value(key));

	dft_rewrite_key(w, j, key);
	dft_json_raw(w, NULL, s.s, s.n);
}

#endif
