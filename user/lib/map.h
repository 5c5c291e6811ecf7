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

/* Open addressing, linear probing: the slot of a key is its home or one of those that follow. */
static inline size_t dft_map_home(const struct dft_map *map, uint64_t key)
{
	/* Keys are often ids that differ in few bits: a multiplication spreads them. */
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (map->cap - 1);
}

/* Where a key is, or the empty slot where it would be; the map has slots. */
static inline struct dft_map_slot *dft_map_find(const struct dft_map *map, uint64_t key)
{
	size_t i = dft_map_home(map, key);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

/* The value, or NULL. */
static inline void *dft_map_get(const struct dft_map *map, uint64_t key)
{
	return map->cap ? dft_map_find(map, key)->value : NULL;
}

/* Puts a value that is not NULL. 0 or -ENOMEM. */
int dft_map_put(struct dft_map *map, uint64_t key, void *value);
/* Takes the value out; NULL if there was none. */
void *dft_map_remove(struct dft_map *map, uint64_t key);
/* The next used slot from *at on, NULL at the end. The map must not change meanwhile. */
struct dft_map_slot *dft_map_next(const struct dft_map *map, size_t *at);
/* Frees the table, not the values. */
void dft_map_free(struct dft_map *map);

#endif
