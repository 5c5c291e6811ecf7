// SPDX-License-Identifier: MIT
/* The sorter that goes to disk, against qsort(); timelines and nested spans, against sums by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "extsort.h"
#include "timeline.h"

struct pair {
	char key[12];
	size_t key_n;
	uint32_t nr;
};

static int up(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;
	int c = memcmp(a->key, b->key, a->key_n < b->key_n ? a->key_n : b->key_n);

	if (!c)
		c = a->key_n < b->key_n ? -1 : a->key_n > b->key_n;
	return c ? c : a->nr < b->nr ? -1 : 1;
}

static int down(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;
	int c = memcmp(a->key, b->key, a->key_n < b->key_n ? a->key_n : b->key_n);

	if (!c)
		c = a->key_n < b->key_n ? -1 : a->key_n > b->key_n;
	return c ? -c : a->nr < b->nr ? -1 : 1;
}

static void sort_once(size_t n, size_t memory, bool desc, uint64_t limit)
{
	const struct dft_extsort_opts opts = { memory, desc, limit };
	struct dft_extsort *s = dft_extsort_new(&opts);
	struct pair *v = calloc(n + 1, sizeof(*v));
	char text[300];
	struct dft_str key, data;
	size_t want = limit && limit < n ? limit : n;

	assert_non_null(s);
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < n; i++) {
		/* Lengths from 0 on, few letters, so that many are equal or begin alike. */
		v[i].key_n = (size_t)rand() % 11;
		for (size_t k = 0; k < v[i].key_n; k++)
			v[i].key[k] = "\0a\xff"[rand() % 3];
		v[i].nr = (uint32_t)i;
		assert_int_equal(dft_extsort_add(s, (struct dft_str){ v[i].key, v[i].key_n }, &v[i].nr,
						 sizeof(v[i].nr),
						 (struct dft_str){ text, (size_t)rand() % 300 }), 0);
	}
	qsort(v, n, sizeof(*v), desc ? down : up);
	assert_int_equal(dft_extsort_finish(s), 0);
	for (size_t i = 0; i < want; i++) {
		uint32_t nr;

		assert_int_equal(dft_extsort_next(s, &key, &data), 1);
		memcpy(&nr, data.s, sizeof(nr));
		assert_int_equal(nr, v[i].nr);
		assert_int_equal(key.n, v[i].key_n);
		assert_memory_equal(key.s, v[i].key, key.n);
		assert_true(data.n == 4 || data.s[data.n - 1] == 'x');
	}
	assert_int_equal(dft_extsort_next(s, &key, &data), 0);
	dft_extsort_free(s);
	free(v);
}

static void test_sort(void **state)
{
	(void)state;
	for (int desc = 0; desc < 2; desc++) {
		sort_once(0, 0, desc, 0);
		sort_once(1, 1, desc, 0);
		sort_once(3000, 0, desc, 0);
		sort_once(3000, 20000, desc, 0);   /* some parts */
		sort_once(3000, 1000, desc, 0);    /* more than are merged at once */
		sort_once(3000, 1, desc, 0);       /* each its own part */
		sort_once(3000, 20000, desc, 5);   /* few are wanted: no parts */
		sort_once(3000, 20000, desc, 1000); /* more are wanted than fit */
	}
}

static void test_keys(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 255, 256, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX };
	unsigned char a[8], b[8];

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_ptr_equal(dft_key_u64(a, numbers[i]), a + 8);
		dft_key_u64(b, numbers[i + 1]);
		assert_true(memcmp(a, b, 8) < 0);
	}
}

static void sum_up(const struct dft_timeline *t, struct dft_tl_cell *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < t->n; i++) {
		sum->read += t->slots[i].cell.read;
		sum->written += t->slots[i].cell.written;
		sum->ops += t->slots[i].cell.ops;
	}
}

/* However calls are shared out, and in whatever order: the same slots. */
static void test_timeline_order(void **state)
{
	struct dft_timeline one, a, b;
	struct dft_tl_cell sum;
	uint64_t bytes = 0;
	struct dft_tl_call c;

	(void)state;
	dft_timeline_init(&one, 0, 100);
	dft_timeline_init(&a, 0, 100);
	dft_timeline_init(&b, 0, 100);
	for (int i = 0; i < 2000; i++) {
		c = (struct dft_tl_call){ .from_ns = (uint64_t)rand() % 1000000000, .ops = 1,
					  .group = (uint64_t)rand() % 3 };
		c.to_ns = c.from_ns + (uint64_t)(rand() % 4 ? rand() % 1000 : rand() % 500000000);
		c.read = (uint64_t)rand() % 100000;
		bytes += c.read;
		assert_int_equal(dft_timeline_add(&one, &c), 0);
		assert_int_equal(dft_timeline_add(i < 1900 ? &a : &b, &c), 0);
	}
	assert_int_equal(dft_timeline_merge(&b, &a), 0);
	dft_timeline_sort(&one);
	dft_timeline_sort(&b);
	assert_int_equal(one.width_ns, b.width_ns);
	assert_true(one.last - one.first < 100);
	assert_int_equal(one.n, b.n);
	for (size_t i = 0; i < one.n; i++)
		assert_memory_equal(&one.slots[i], &b.slots[i], sizeof(one.slots[i]));
	sum_up(&one, &sum);
	assert_int_equal(sum.read, bytes);
	assert_int_equal(sum.ops, 2000);
	assert_int_equal(dft_timeline_round(&one) % one.width_ns, 0);
	dft_timeline_free(&one);
	dft_timeline_free(&a);
	dft_timeline_free(&b);
}

static void test_timeline_spread(void **state)
{
	struct dft_timeline t;
	struct dft_tl_call c = { .from_ns = 500, .to_ns = 2500, .read = 5, .written = 4000, .ops = 1 };

	(void)state;
	dft_timeline_init(&t, 1000, 10);
	assert_int_equal(dft_timeline_add(&t, &c), 0);
	dft_timeline_sort(&t);
	assert_int_equal(t.n, 3);
	/* 500, 1000 and 500 of 2000 ns: of 5 bytes 1, 3 and 5 are done by then. */
	assert_int_equal(t.slots[0].cell.read, 1);
	assert_int_equal(t.slots[1].cell.read, 2);
	assert_int_equal(t.slots[2].cell.read, 2);
	assert_int_equal(t.slots[0].cell.written, 1000);
	assert_int_equal(t.slots[1].cell.written, 2000);
	assert_int_equal(t.slots[2].cell.written, 1000);
	assert_int_equal(t.slots[0].cell.ops, 1);
	assert_int_equal(t.slots[1].cell.ops, 0);
	dft_timeline_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_timeline_order),
		cmocka_unit_test(test_timeline_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
