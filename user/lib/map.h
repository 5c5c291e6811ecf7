/* SPDX-License-Identifier: MIT */
/* Hash table from 64-bit keys to pointers. Key 0 is a key like any other. */
#ifndef DFT_MAP_H
#define DFT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dft_map_slot {
	uint64_t key;
	void *value; /* NULL: empty */
};

struct dft_map {
	struct dft_map_slot *slots;
	size_t cap; /* power of two, or 0 */
	size_t len;
};

/* The value, or NULL. */
void *dft_map_get(const struct dft_map *map, uint64_t key);
/* Puts a value that is not NULL. 0 or -ENOMEM. */
int dft_map_put(struct dft_map *map, uint64_t key, void *value);
/* Takes the value out; NULL if there was none. */
void *dft_map_remove(struct dft_map *map, uint64_t key);
/* The next used slot from *at on, NULL at the end. The map must not change meanwhile. */
struct dft_map_slot *dft_map_next(const struct dft_map *map, size_t *at);
/* Frees the table, not the values. */
void dft_map_free(struct dft_map *map);

#endif
