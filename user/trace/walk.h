/* SPDX-License-Identifier: MIT */
/* Through all entries of a BPF hash map, a batch at a time. */
#ifndef DFT_WALK_H
#define DFT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each entry. Positive: delete it; negative: stop. */
typedef int (*dft_walk_fn)(void *ctx, const void *key, const void *value);

struct dft_walk {
	int fd;
	size_t key_len, value_len;
	uint32_t cursor; /* a bucket of the table: entries in others may come and go */
	bool begun, over;
	char *keys, *values;
};

/* 0 or -ENOMEM; dft_walk_end() in either case. */
int dft_walk_begin(struct dft_walk *walk, int fd, size_t key_len, size_t value_len);
/* The next batch; `over` is set by the last one. 0 or -errno, or what `fn` returned. */
int dft_walk_some(struct dft_walk *walk, dft_walk_fn fn, void *ctx);
/* Frees what it has, however far it came; it is over then. */
void dft_walk_end(struct dft_walk *walk);

#endif
