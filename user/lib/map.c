// SPDX-License-Identifier: MIT
#include "map.h"

#include <errno.h>
#include <stdlib.h>

/* At most three quarters full: looking for a key soon meets an empty slot. */

static int grow(struct dft_map *map)
{
	struct dft_map bigger = { .cap = map->cap ? map->cap * 2 : 16, .len = map->len };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].value)
			*dft_map_find(&bigger, map->slots[i].key) = map->slots[i];
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
	slot = dft_map_find(map, key);
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
	hole = (size_t)(dft_map_find(map, key) - map->slots);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	/* Close the gap: move up what would not be found any more behind an empty slot. */
	for (i = (hole + 1) & (map->cap - 1); map->slots[i].value; i = (i + 1) & (map->cap - 1)) {
		size_t home = dft_map_home(map, map->slots[i].key);

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
