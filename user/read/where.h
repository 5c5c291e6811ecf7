/* SPDX-License-Identifier: MIT */
/*
 * Conditions on records, as people write them:
 *
 *     name == "read" and args.ret > 1M and file ~ "^/data/"
 *
 * A condition is compiled once and may be asked by several threads, each with a view of its own.
 */
#ifndef DFT_WHERE_H
#define DFT_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "view.h"

struct dft_where;

struct dft_where_error {
	size_t at; /* byte of the text where it goes wrong */
	char what[128];
};

/* 0; -EINVAL with *e filled in; -ENOMEM. */
int dft_where_compile(struct dft_where **w, const char *text, struct dft_where_error *e);
/* Does it hold of the record at hand? NULL holds of all. */
bool dft_where_match(const struct dft_where *w, struct dft_view *v);
void dft_where_free(struct dft_where *w);

/* The text around the fault, with a caret in front of it. */
void dft_where_excerpt(char *buf, size_t cap, const char *text, size_t at);

/*
 * A number with a unit: "1.5K" (of 1024), "10ms". *is_time, then it is in nanoseconds. Returns how
 * many bytes of the text it took, 0 when there is no number or it is out of range.
 */
size_t dft_number_parse(const char *text, struct dft_value *v, bool *is_time);

#endif
