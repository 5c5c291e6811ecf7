// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hash.h"
#include "names.h"

static struct dft_name *put(struct dft_names *names, uint64_t id, const char *path)
{
	size_t len = strlen(path);
	struct dft_rec_name *rec = calloc(1, sizeof(*rec) + len);
	struct dft_name *name;

	assert_non_null(rec);
	rec->type = DFT_REC_NAME;
	rec->cls = DFT_CLASS_FILE;
	rec->id = id;
	rec->len = (uint16_t)len;
	memcpy(rec->path, path, len);
	name = dft_names_put(names, rec);
	assert_non_null(name);
	free(rec);
	return name;
}

static void is(const struct dft_names *names, uint64_t id, const char *want)
{
	const struct dft_name *name = dft_names_get(names, id);

	if (!want) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_int_equal(name->id, id);
	assert_int_equal(name->len, strlen(want));
	assert_memory_equal(name->text, want, name->len);
	assert_true(name->fhash == dft_hash(want, name->len));
}

/* Ids of those that went, added up, and their number. */
struct went {
	uint64_t ids;
	size_t n;
};

static void count(void *ctx, const struct dft_name *name)
{
	struct went *went = ctx;

	went->ids += name->id;
	went->n++;
}

static void drop(struct dft_names *names, size_t n, uint64_t ids)
{
	struct went went = { 0 };

	assert_int_equal(dft_names_drop(names, count, &went), 0);
	assert_int_equal(went.n, n);
	assert_int_equal(went.ids, ids);
}

static void what_is_needed_stays(void **state)
{
	struct dft_names names = { 0 };

	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		put(&names, id, "/old");
	drop(&names, 0, 0); /* not begun: all are needed */
	dft_names_begin(&names);
	put(&names, 2, "/old");
	put(&names, 5, "/new");
	dft_names_keep(&names, 3);
	dft_names_keep(&names, 77); /* its record is in the ring still */
	is(&names, 1, "/old");
	drop(&names, 2, 1 + 4);
	is(&names, 1, NULL);
	is(&names, 2, "/old");
	is(&names, 3, "/old");
	is(&names, 4, NULL);
	is(&names, 5, "/new");
	is(&names, 77, NULL);
	/* Kept once is not for ever; begun twice, only what came after the second time counts. */
	dft_names_begin(&names);
	dft_names_keep(&names, 2);
	dft_names_keep(&names, 3);
	dft_names_begin(&names);
	dft_names_keep(&names, 3);
	drop(&names, 2, 2 + 5);
	dft_names_begin(&names);
	drop(&names, 1, 3);
	assert_int_equal(names.by_id.len, 0);
	put(&names, 3, "/again");
	is(&names, 3, "/again");
	dft_names_free(&names);
}

static void another_text_for_an_id(void **state)
{
	struct dft_names names = { 0 };

	(void)state;
	put(&names, 9, "/a")->excluded = true;
	assert_true(put(&names, 9, "/a")->excluded);
	assert_false(put(&names, 9, "/longer than that")->excluded);
	is(&names, 9, "/longer than that");
	put(&names, 9, "/b");
	is(&names, 9, "/b");
	assert_int_equal(names.by_id.len, 1);
	dft_names_free(&names);
}

static void many(void **state)
{
	struct dft_names names = { 0 };
	char path[32];

	(void)state;
	for (int round = 0; round < 5; round++) {
		size_t len = names.by_id.len;

		dft_names_begin(&names);
		for (uint64_t id = 1; id <= 10000; id++) {
			snprintf(path, sizeof(path), "/%d/%d", round, (int)id);
			put(&names, id * 5 + (uint64_t)round, path);
		}
		assert_int_equal(names.by_id.len, len + 10000);
		assert_int_equal(dft_names_drop(&names, count, &(struct went){ 0 }), 0);
		assert_int_equal(names.by_id.len, 10000);
		for (uint64_t id = 1; id <= 10000; id++) {
			snprintf(path, sizeof(path), "/%d/%d", round, (int)id);
			is(&names, id * 5 + (uint64_t)round, path);
		}
	}
	/* The table is small again as well. */
	dft_names_begin(&names);
	put(&names, 1, "/last");
	assert_int_equal(dft_names_drop(&names, count, &(struct went){ 0 }), 0);
	assert_true(names.by_id.cap <= 64);
	dft_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_needed_stays),
		cmocka_unit_test(another_text_for_an_id),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
