/* SPDX-License-Identifier: MIT */
/* An array that grows, of elements of one size. Starts zeroed. */
#ifndef DFT_ROWS_H
#define DFT_ROWS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dft_rows {
	void *v;
	size_t n, cap;
};

/*
 * One element more, zeroed; NULL when memory is short, or when there are more than a 32-bit index
 * can tell apart.
 */
static inline void *dft_rows_add(struct dft_rows *rows, size_t size)
{
	char *at;

	if (rows->n == rows->cap) {
		size_t cap = rows->cap ? rows->cap * 2 : 64;
		void *v = cap < UINT32_MAX ? reallocarray(rows->v, cap, size) : NULL;

		if (!v)
			return NULL;
		rows->v = v;
		rows->cap = cap;
	}
	at = (char *)rows->v + rows->n++ * size;
	memset(at, 0, size);
	return at;
}

static inline void dft_rows_free(struct dft_rows *rows)
{
	free(rows->v);
	memset(rows, 0, sizeof(*rows));
}

#endif
