// SPDX-License-Identifier: MIT
#include "map.h"

#include <errno.h>
#include <stdlib.h>

/* Open addressing, linear probing, at most three quarters full. */

static size_t home_of(const struct dft_map *map, uint64_t key)
{
	/* Keys are often ids that differ in few bits: a multiplication spreads them. */
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (map->cap - 1);
}

static struct dft_map_slot *find(const struct dft_map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

void *dft_map_get(const struct dft_map *map, uint64_t key)
{
	return map->cap ? find(map, key)->value : NULL;
}

static int grow(struct dft_map *map)
{
	struct dft_map bigger = { .cap = map->cap ? map->cap * 2 : 16, .len = map->len };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].value)
			*find(&bigger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

int dft_map_put(struct dft_map *map, uint64_t key, void *value)
{
	struct dft_map_slot *slot;

	if ((map->len + 1) * 4 > map->cap * 3) {
		int err = grow(map);

		if (err)
			return err;
	}
	slot = find(map, key);
	if (!slot->value)
		map->len++;
	slot->key = key;
	slot->value = value;
	return 0;
}

void *dft_map_remove(struct dft_map *map, uint64_t key)
{
	size_t hole, i;
	void *value;

	if (!map->cap)
		return NULL;
	hole = (size_t)(find(map, key) - map->slots);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	/* Close the gap: move up what would not be found any more behind an empty slot. */
	for (i = (hole + 1) & (map->cap - 1); map->slots[i].value; i = (i + 1) & (map->cap - 1)) {
		size_t home = home_of(map, map->slots[i].key);

		if (((i - home) & (map->cap - 1)) >= ((i - hole) & (map->cap - 1))) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole].value = NULL;
	map->len--;
	return value;
}

struct dft_map_slot *dft_map_next(const struct dft_map *map, size_t *at)
{
	while (*at < map->cap) {
		struct dft_map_slot *slot = &map->slots[(*at)++];

		if (slot->value)
			return slot;
	}
	return NULL;
}

void dft_map_free(struct dft_map *map)
{
	free(map->slots);
	*map = (struct dft_map){ 0 };
}
