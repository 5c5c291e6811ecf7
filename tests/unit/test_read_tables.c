// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "out.h"
#include "hist.h"
#include "tables.h"

static void test_index(void **state)
{
	struct dft_index m = { 0 };
	bool fresh;

	(void)state;
	assert_null(dft_index_get(&m, 0));
	for (int round = 0; round < 3; round++) {
		dft_index_clear(&m);
		assert_null(dft_index_get(&m, 0));
		/* Keys that differ in high bits only, and 0. */
		for (uint64_t i = 0; i < 5000; i++) {
			uint64_t *v = dft_index_put(&m, i << 48, &fresh);

			assert_non_null(v);
			assert_true(fresh);
			assert_int_equal(*v, 0);
			*v = i;
		}
		for (uint64_t i = 0; i < 5000; i++) {
			assert_int_equal(*dft_index_get(&m, i << 48), i);
			assert_non_null(dft_index_put(&m, i << 48, &fresh));
			assert_false(fresh);
		}
		assert_null(dft_index_get(&m, 1));
		assert_int_equal(m.cnt, 5000);
	}
	/* When the counter of clearings wraps, old entries must not come back. */
	m.epoch = UINT32_MAX;
	dft_index_clear(&m);
	assert_null(dft_index_get(&m, 0));
	assert_non_null(dft_index_put(&m, 0, &fresh));
	assert_true(fresh);
	dft_index_free(&m);
}

static void test_strings(void **state)
{
	struct dft_strings t = { 0 };
	uint64_t at[1000], empty;
	char text[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(text, sizeof(text), "string %d", i);

		assert_int_equal(dft_strings_add(&t, (struct dft_str){ text, (size_t)n }, &at[i]),
				 0);
		assert_true(at[i] != 0);
	}
	assert_int_equal(dft_strings_add(&t, (struct dft_str){ "", 0 }, &empty), 0);
	assert_int_equal(empty, 0);
	assert_int_equal(dft_strings_at(&t, 0).n, 0);
	assert_true(DFT_STR_IS(dft_strings_at(&t, at[0]), "string 0"));
	assert_true(DFT_STR_IS(dft_strings_at(&t, at[999]), "string 999"));
	dft_strings_clear(&t);
	assert_int_equal(dft_strings_add(&t, (struct dft_str){ "x", 1 }, &at[0]), 0);
	assert_true(DFT_STR_IS(dft_strings_at(&t, at[0]), "x"));
	dft_strings_free(&t);
}

static void test_saturating(void **state)
{
	uint64_t a = UINT64_MAX - 1;

	(void)state;
	dft_add_sat(&a, 1);
	assert_true(a == UINT64_MAX);
	dft_add_sat(&a, 5);
	assert_true(a == UINT64_MAX);
	assert_true(dft_mul_sat(1ull << 40, 1ull << 40) == UINT64_MAX);
	assert_true(dft_mul_sat(3, 4) == 12);
}

static void test_units(void **state)
{
	static const struct {
		uint64_t v;
		const char *bytes, *ns;
	} t[] = {
		{ 0, "0 B", "0 ns" },
		{ 999, "999 B", "999 ns" },
		{ 1000, "1000 B", "1.0 us" },
		{ 1023, "1023 B", "1.0 us" },
		{ 1024, "1.0 KiB", "1.0 us" },
		{ 1536, "1.5 KiB", "1.5 us" },
		{ 999999, "976.6 KiB", "1.0 ms" },
		{ 1048575, "1.0 MiB", "1.0 ms" },
		{ 1048576, "1.0 MiB", "1.0 ms" },
		{ 999999999, "953.7 MiB", "1.00 s" },
		{ UINT64_MAX, "16.0 EiB", "18446744073.71 s" },
	};
	char buf[DFT_UNIT_SZ];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_string_equal(dft_human_bytes(buf, t[i].v), t[i].bytes);
		assert_string_equal(dft_human_ns(buf, t[i].v), t[i].ns);
	}
}

static void check_safe(const char *in, size_t n, size_t cap, const char *want)
{
	char *buf = malloc(cap);

	assert_non_null(buf);
	assert_string_equal(dft_safe(buf, cap, (struct dft_str){ in, n }), want);
	free(buf);
}

static void test_safe(void **state)
{
	(void)state;
	check_safe("plain", 5, 64, "plain");
	check_safe("a\n\t\x1b\x7f\\", 6, 64, "a\\n\\t\\x1b\\x7f\\\\");
	check_safe("\xc3\xa9\xff\xc2\x9b" "1", 6, 64, "\xc3\xa9\\xff\\xc2\\x9b" "1");
	check_safe("\0", 1, 64, "\\x00");
	/* Cut, but never within a character. */
	check_safe("abcdefgh", 8, 9, "abcde...");
	check_safe("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8, 8, "\xc3\xa9\xc3\xa9...");
	check_safe("abc", 3, 7, "abc");
}

static void test_table(void **state)
{
	char out[256] = "";
	FILE *f = fmemopen(out, sizeof(out), "w");
	struct dft_table t;

	(void)state;
	assert_non_null(f);
	dft_table_init(&t, "lrl");
	for (int i = 0; i < 3; i++) {
		dft_table_add(&t, "%s", i == 1 ? "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9" : "a");
		dft_table_add(&t, "%d", i * 50);
		dft_table_add(&t, "%s", "last");
	}
	assert_int_equal(dft_table_print(&t, f), 0);
	assert_int_equal(dft_table_print(&t, f), 0);
	fclose(f);
	assert_string_equal(out, "a       0  last\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9   50  last\n"
				 "a     100  last\n");
}

/* Bins meet, hold their values, and quantiles are within 4 in a hundred. */
static void test_hist(void **state)
{
	static const uint64_t v[] = { 0, 1, 15, 16, 31, 32, 33, 1000, 123456789, UINT64_MAX / 2, UINT64_MAX };
	struct dft_hist a = { 0 }, b = { 0 };
	uint64_t got;

	(void)state;
	for (uint64_t i = 1; i < 100000; i++)
		assert_in_range(dft_hist_bin(i) - dft_hist_bin(i - 1), 0, 1);
	assert_int_equal(dft_hist_quantile(&a, 500), 0);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		assert_int_equal(dft_hist_add(&a, v[i]), 0);
		got = dft_hist_quantile(&a, 1000);
		assert_true((got > v[i] ? got - v[i] : v[i] - got) <= v[i] / 25);
		dft_hist_free(&a);
	}
	/* Even numbers to one, from above, and odd ones to the other, from below. */
	for (uint64_t i = 1; i <= 10000; i++)
		assert_int_equal(dft_hist_add(i % 2 ? &a : &b, i % 2 ? i : 10002 - i), 0);
	assert_int_equal(dft_hist_merge(&a, &b), 0);
	assert_int_equal(a.total, 10000);
	assert_in_range(dft_hist_quantile(&a, 500), 4850, 5150);
	assert_in_range(dft_hist_quantile(&a, 990), 9600, 10200);
	assert_int_equal(dft_hist_quantile(&a, 1), 10);
	dft_hist_free(&a);
	dft_hist_free(&b);
}

/* A part of a string that is in the store, which moves while it grows. */
static void test_parts(void **state)
{
	struct dft_strings t = { 0 };
	uint64_t at, part;
	struct dft_str s;

	(void)state;
	assert_int_equal(dft_strings_add(&t, (struct dft_str){ "/a/b/c", 6 }, &at), 0);
	for (int i = 0; i < 1000; i++) {
		s = dft_strings_at(&t, at);
		assert_int_equal(dft_strings_part(&t, (uint64_t)(s.s - t.buf), 4, &part), 0);
		s = dft_strings_at(&t, part);
		assert_true(DFT_STR_IS(s, "/a/b"));
	}
	dft_strings_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_saturating),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
