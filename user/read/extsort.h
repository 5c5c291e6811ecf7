/* SPDX-License-Identifier: MIT */
/*
 * Sorts any number of records in bounded memory: what does not fit is sorted in parts, which are kept
 * in a file without a name in $TMPDIR (else /tmp) and merged when they are read. Keys are compared as
 * bytes; records of equal keys come in the order in which they were added.
 */
#ifndef DFT_EXTSORT_H
#define DFT_EXTSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jsonr.h"

struct dft_extsort;

struct dft_extsort_opts {
	size_t memory;   /* bytes of records to be held; 0: 64 MiB */
	bool descending; /* largest keys first; equal ones as they were added */
	uint64_t limit;  /* only so many are wanted, 0: all. Others are dropped early */
};

/* NULL: no memory. */
struct dft_extsort *dft_extsort_new(const struct dft_extsort_opts *opts);
void dft_extsort_free(struct dft_extsort *s);

/* 0 or -errno. What fails with the temporary file is told (once). */
int dft_extsort_add(struct dft_extsort *s, struct dft_str key, const void *head, size_t head_n,
		    struct dft_str data);

/* After the last one. 0 or -errno. */
int dft_extsort_finish(struct dft_extsort *s);
/* The next record, head and data together: 1, 0 at the end, -errno. Valid until the next call. */
int dft_extsort_next(struct dft_extsort *s, struct dft_str *key, struct dft_str *data);

/* Keys from numbers: big end first, so that bytes compare as the numbers do. Returns the end. */
unsigned char *dft_key_u64(unsigned char *to, uint64_t v);

#endif
