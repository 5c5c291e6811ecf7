// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "map.h"

#define KEYS 300

static uint32_t random_state = 7;

static uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* Values are addresses in here; slot i belongs to key i of the model. */
static char cells[2 * KEYS];

struct model {
	uint64_t key[KEYS];
	void *value[KEYS]; /* NULL: not in the map */
};

static void compare(const struct dft_map *map, const struct model *model)
{
	struct dft_map_slot *slot;
	size_t at = 0, in_model = 0, in_map = 0;

	for (size_t i = 0; i < KEYS; i++) {
		in_model += model->value[i] != NULL;
		assert_ptr_equal(dft_map_get(map, model->key[i]), model->value[i]);
	}
	assert_int_equal(map->len, in_model);
	while ((slot = dft_map_next(map, &at))) {
		size_t i = 0;

		while (i < KEYS && model->key[i] != slot->key)
			i++;
		assert_true(i < KEYS);
		assert_ptr_equal(slot->value, model->value[i]);
		in_map++;
	}
	assert_int_equal(in_map, in_model);
}

static void random_operations(const uint64_t *keys, int rounds)
{
	struct dft_map map = { 0 };
	struct model model = { .value = { NULL } };

	memcpy(model.key, keys, sizeof(model.key));
	for (int round = 0; round < rounds; round++) {
		size_t i = random_u32() % KEYS;
		/* Phases of growing and of shrinking. */
		bool put = random_u32() % 100 < (round / 2000 % 2 ? 30u : 70u);

		if (put) {
			void *value = &cells[random_u32() % sizeof(cells)];

			assert_int_equal(dft_map_put(&map, keys[i], value), 0);
			model.value[i] = value;
		} else {
			assert_ptr_equal(dft_map_remove(&map, keys[i]), model.value[i]);
			model.value[i] = NULL;
		}
		if (round % 97 == 0)
			compare(&map, &model);
	}
	compare(&map, &model);
	dft_map_free(&map);
	assert_int_equal(map.len, 0);
	assert_null(dft_map_get(&map, keys[0]));
}

static void like_a_list(void **state)
{
	uint64_t keys[KEYS];

	(void)state;
	/* small numbers, as pids */
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = i;
	random_operations(keys, 20000);
	/* differing in high bits only: the table's size must not hide them */
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (uint64_t)i << 48;
	random_operations(keys, 20000);
	/* hashes */
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (uint64_t)random_u32() << 32 | i;
	random_operations(keys, 20000);
}

/* Keys that all belong at the same place: the gap a removal leaves must close. */
static void in_one_row(void **state)
{
	uint64_t keys[KEYS];
	uint64_t inverse = 0xf1de83e19937733dull; /* of the multiplier in map.c, modulo 2^64 */

	(void)state;
	assert_true(inverse * 0x9e3779b97f4a7c15ull == 1);
	for (size_t i = 0; i < KEYS; i++)
		keys[i] = ((uint64_t)(i % 3) << 32 | i) * inverse; /* homes 0, 1 and 2 */
	random_operations(keys, 20000);
}

static void empty(void **state)
{
	struct dft_map map = { 0 };
	size_t at = 0;

	(void)state;
	assert_null(dft_map_get(&map, 0));
	assert_null(dft_map_remove(&map, 0));
	assert_null(dft_map_next(&map, &at));
	assert_int_equal(dft_map_put(&map, 0, cells), 0);
	assert_ptr_equal(dft_map_get(&map, 0), cells);
	assert_int_equal(dft_map_put(&map, 0, cells + 1), 0);
	assert_int_equal(map.len, 1);
	assert_ptr_equal(dft_map_remove(&map, 0), cells + 1);
	assert_null(dft_map_remove(&map, 0));
	assert_int_equal(map.len, 0);
	dft_map_free(&map);
	dft_map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(like_a_list),
		cmocka_unit_test(in_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
