// SPDX-License-Identifier: MIT
#include "walk.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 512

int dft_walk_begin(struct dft_walk *walk, int fd, size_t key_len, size_t value_len)
{
	*walk = (struct dft_walk){ .fd = fd, .key_len = key_len, .value_len = value_len };
	walk->keys = calloc(BATCH, key_len);
	walk->values = calloc(BATCH, value_len);
	return walk->keys && walk->values ? 0 : -ENOMEM;
}

/* Deletes the first `n` keys of the batch, those that somebody else has not deleted. */
static int delete_some(struct dft_walk *walk, uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		uint32_t count = n - done;

		if (!bpf_map_delete_batch(walk->fd, walk->keys + done * walk->key_len, &count, NULL))
			return 0;
		if (errno != ENOENT)
			return -errno;
		done += count + 1;
	}
	return 0;
}

int dft_walk_some(struct dft_walk *walk, dft_walk_fn fn, void *ctx)
{
	uint32_t count = BATCH, doomed = 0;
	int err = 0;

	if (bpf_map_lookup_batch(walk->fd, walk->begun ? &walk->cursor : NULL, &walk->cursor,
				 walk->keys, walk->values, &count, NULL)) {
		if (errno != ENOENT)
			return -errno;
		walk->over = true;
	}
	walk->begun = true;
	for (uint32_t i = 0; i < count && err >= 0; i++) {
		const char *key = walk->keys + i * walk->key_len;

		err = fn(ctx, key, walk->values + i * walk->value_len);
		if (err > 0)
			memmove(walk->keys + doomed++ * walk->key_len, key, walk->key_len);
	}
	/* A batch is of whole buckets, and these are behind: no entry of others is passed over. */
	if (doomed && err >= 0)
		err = delete_some(walk, doomed);
	return err < 0 ? err : 0;
}

void dft_walk_end(struct dft_walk *walk)
{
	free(walk->keys);
	free(walk->values);
	*walk = (struct dft_walk){ .over = true };
}
