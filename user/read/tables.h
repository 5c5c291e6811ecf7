/* SPDX-License-Identifier: MIT */
/*
 * The two containers of the reader: a hash table from 64-bit keys to 64-bit values, and a store of
 * byte strings. Both start zeroed, grow as needed and are emptied without giving memory back,
 * because the next file will want it again.
 */
#ifndef DFT_TABLES_H
#define DFT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jsonr.h"

struct dft_index_slot {
	uint64_t key;
	uint64_t val;
	uint32_t epoch; /* the slot is in use when this is the map's epoch */
};

struct dft_index {
	struct dft_index_slot *slots;
	size_t cap; /* a power of two, or 0 */
	size_t cnt;
	uint32_t epoch;
};

void dft_index_free(struct dft_index *m);
/* Cost independent of the size. */
void dft_index_clear(struct dft_index *m);
/* Address of the key's value, NULL when absent. Valid until the next dft_index_put(). */
uint64_t *dft_index_get(const struct dft_index *m, uint64_t key);
/*
 * Address of the key's value, which is 0 with *fresh set when the key was absent. NULL: no memory.
 */
uint64_t *dft_index_put(struct dft_index *m, uint64_t key, bool *fresh);

/* Strings are named by where they start; offset 0 is the empty string. */
struct dft_strings {
	char *buf;
	size_t len;
	size_t cap;
};

void dft_strings_free(struct dft_strings *t);
void dft_strings_clear(struct dft_strings *t);
/* Returns 0 or -ENOMEM. */
int dft_strings_add(struct dft_strings *t, struct dft_str s, uint64_t *at);
/* A copy of `n` bytes that are in the store already, from byte `from` of its buffer on. 0 or -ENOMEM. */
int dft_strings_part(struct dft_strings *t, uint64_t from, size_t n, uint64_t *at);
/* Valid until the next dft_strings_add(). */
struct dft_str dft_strings_at(const struct dft_strings *t, uint64_t at);

/*
 * A hash that grows byte by byte, so that all directories above a name are found in one go, however many
 * there are.
 */
#define DFT_GROWING_BASIS 14695981039346656037u

static inline uint64_t dft_hash_grow(uint64_t h, char c)
{
	return (h ^ (unsigned char)c) * 1099511628211u;
}

/* A well-mixed hash of bytes, for keys of a dft_index. */
uint64_t dft_hash_bytes(uint64_t seed, const void *p, size_t n);

/* a += b, stopping at the largest value: a hostile trace must not wrap a total around. */
static inline void dft_add_sat(uint64_t *a, uint64_t b)
{
	if (__builtin_add_overflow(*a, b, a))
		*a = UINT64_MAX;
}

static inline uint64_t dft_mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

#endif
