// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jsonr.h"
#include "source.h"
#include "streams.h"

static void add(struct dft_annots *annots, uint64_t data, uint64_t value, uint32_t before,
		const char *text)
{
	assert_int_equal(dft_stream_add(annots, data, value, before, text, strlen(text)), 0);
}

/* Takes the stream out: it must be there, and be this. */
static void take(struct dft_annots *annots, uint64_t data, uint64_t value, const char *want,
		 bool broken)
{
	struct dft_stream stream;

	assert_true(dft_stream_take(annots, data, value, &stream));
	assert_int_equal(stream.bytes.len, strlen(want));
	if (*want)
		assert_memory_equal(stream.bytes.data, want, strlen(want));
	assert_int_equal(stream.broken, broken);
	dft_buf_free(&stream.bytes);
}

static void none(struct dft_annots *annots, uint64_t data, uint64_t value)
{
	struct dft_stream stream;

	assert_false(dft_stream_take(annots, data, value, &stream));
}

static void joined(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	none(&annots, 1, 10);
	add(&annots, 1, 10, 0, "ab");
	add(&annots, 2, 10, 0, "AB");
	add(&annots, 1, 10, 2, "cde");
	add(&annots, 2, 10, 2, "");
	add(&annots, 2, 10, 2, "C");
	none(&annots, 3, 10);
	none(&annots, 1, 11); /* of another region */
	take(&annots, 1, 10, "abcde", false);
	none(&annots, 1, 10);
	take(&annots, 2, 10, "ABC", false);
	assert_int_equal(annots.nstreams, 0);
	assert_int_equal(annots.unended, 0);
	dft_annots_free(&annots);
}

/* Taking one out of the middle leaves the others. */
static void out_of_the_middle(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	for (uint64_t data = 1; data <= 5; data++) {
		char text[2] = { (char)('0' + data), '\0' };

		add(&annots, data, data * 10, 0, text);
	}
	take(&annots, 3, 30, "3", false);
	take(&annots, 1, 10, "1", false);
	take(&annots, 5, 50, "5", false);
	add(&annots, 2, 20, 1, "+");
	take(&annots, 4, 40, "4", false);
	take(&annots, 2, 20, "2+", false);
	assert_int_equal(annots.nstreams, 0);
	dft_annots_free(&annots);
}

static void does_not_fit(void **state)
{
	static const uint32_t wrong[] = { 1, 2, 4, 5, 0x7fffffff, 0xffffffff };
	struct dft_annots annots = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		add(&annots, 1, 10, 0, "abc");
		add(&annots, 1, 10, wrong[i], "x");
		add(&annots, 1, 10, 3, "y"); /* would fit again: it is not what came next */
		add(&annots, 1, 10, 4, "z");
		take(&annots, 1, 10, "abc", true);
		/* the first one missing */
		add(&annots, 1, 10, wrong[i], "x");
		take(&annots, 1, 10, "", true);
	}
	assert_int_equal(annots.unended, 0);
	dft_annots_free(&annots);
}

static void known_to_be_missing(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	assert_int_equal(dft_stream_break(&annots, 1, 10), 0);
	add(&annots, 1, 10, 2, "x");
	take(&annots, 1, 10, "", true);
	add(&annots, 1, 10, 0, "ab");
	assert_int_equal(dft_stream_break(&annots, 1, 10), 0);
	add(&annots, 1, 10, 2, "x");
	take(&annots, 1, 10, "ab", true);
	/* it was the first of another region */
	add(&annots, 1, 10, 0, "ab");
	assert_int_equal(dft_stream_break(&annots, 1, 11), 0);
	take(&annots, 1, 10, "ab", false);
	take(&annots, 1, 11, "", true);
	dft_annots_free(&annots);
}

static void memory_used_again(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	add(&annots, 1, 10, 0, "old");
	add(&annots, 2, 10, 0, "other");
	add(&annots, 1, 10, 0, "new"); /* even in the same nanosecond */
	assert_int_equal(annots.unended, 1);
	add(&annots, 1, 10, 3, "er");
	add(&annots, 1, 11, 0, "newest"); /* the one before may have been moved away */
	take(&annots, 1, 10, "newer", false);
	add(&annots, 1, 12, 6, "?"); /* its first one is missing */
	take(&annots, 1, 12, "", true);
	take(&annots, 1, 11, "newest", false);
	/* one that is broken is left behind as well */
	assert_int_equal(dft_stream_break(&annots, 1, 13), 0);
	add(&annots, 1, 13, 0, "whole");
	assert_int_equal(annots.unended, 2);
	take(&annots, 1, 13, "whole", false);
	take(&annots, 2, 10, "other", false);
	assert_int_equal(annots.nstreams, 0);
	dft_annots_free(&annots);
}

/* A region that is a C++ object goes on in other memory, and its old one is another's. */
static void moved(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	add(&annots, 5, 20, 0, "abc");
	add(&annots, 5, 21, 0, "xyz");
	add(&annots, 6, 20, 3, "d");
	add(&annots, 7, 21, 3, "w");
	take(&annots, 6, 20, "abcd", false);
	take(&annots, 7, 21, "xyzw", false);
	/* not one that has come less far: a part is missing */
	add(&annots, 5, 22, 0, "abc");
	add(&annots, 6, 22, 4, "e");
	take(&annots, 6, 22, "", true);
	take(&annots, 5, 22, "abc", false);
	assert_int_equal(annots.unended, 0);
	dft_annots_free(&annots);
}

static void never_ended(void **state)
{
	struct dft_annots annots = { 0 };

	(void)state;
	for (uint64_t data = 1; data <= 2000; data++) {
		add(&annots, data, 10, 0, "left");
		assert_int_equal(annots.unended + annots.nstreams, data);
		assert_true(annots.nstreams <= 1024);
	}
	none(&annots, 1, 10); /* the oldest have gone */
	take(&annots, 2000, 10, "left", false);
	take(&annots, 1999, 10, "left", false);
	dft_annots_free(&annots); /* and what is left */
}

/*
 * One region cannot take all memory, and a broken one takes no more. What it takes makes a line that
 * can be read again: a byte becomes 6 characters at most, and an argument of two values 13 bytes at
 * least, a relation of one 10.
 */
static void too_long(void **state)
{
	struct dft_annots annots = { 0 };
	size_t size = 1 << 20, sent = 0, kept;
	char *bytes = calloc(1, size);
	struct dft_stream stream;

	(void)state;
	assert_non_null(bytes);
	do {
		assert_int_equal(dft_stream_add(&annots, 1, 10, (uint32_t)sent, bytes, size), 0);
		sent += size;
		assert_true(sent <= 64u << 20);
	} while (!annots.streams[0].broken);
	kept = annots.streams[0].bytes.len;
	assert_int_equal(kept, sent - size);
	assert_in_range(kept, 1 << 20, (DFT_LINE_MAX - 4096) / 6);
	assert_true(kept / 13 * 2 < DFT_JSONR_MAX_NODES - 64);
	assert_int_equal(dft_stream_add(&annots, 1, 10, (uint32_t)kept, bytes, 1), 0);
	assert_true(dft_stream_take(&annots, 1, 10, &stream));
	assert_true(stream.broken);
	assert_int_equal(stream.bytes.len, kept);
	dft_buf_free(&stream.bytes);
	free(bytes);
	dft_annots_free(&annots);
}

/* ---- metadata of the process ---------------------------------------------------------------- */

static const struct dft_app *set(struct dft_annots *annots, const char *key, size_t key_len,
				 int64_t number, const char *text, size_t text_len)
{
	int err = dft_app_set(&annots->app, key, key_len, number, text, text_len);

	assert_int_equal(err, 0);
	for (size_t i = 0; i < annots->app.n; i++)
		if (annots->app.list[i].key_len == key_len && !memcmp(annots->app.list[i].key, key, key_len))
			return &annots->app.list[i];
	fail_msg("the key is not there");
	return NULL;
}

static void values_of_the_process(void **state)
{
	struct dft_annots annots = { 0 };
	const struct dft_app *app;

	(void)state;
	app = set(&annots, "a", 1, 1, NULL, 0);
	assert_true(app->is_int && app->number == 1 && !app->text);
	app = set(&annots, "b", 1, INT64_MIN, NULL, 0);
	assert_true(app->is_int && app->number == INT64_MIN);
	app = set(&annots, "a", 1, 0, "x\0y", 3);
	assert_true(!app->is_int && app->text_len == 3);
	assert_memory_equal(app->text, "x\0y", 3);
	app = set(&annots, "a", 1, 0, "", 0); /* an empty one is a text */
	assert_true(!app->is_int && app->text_len == 0 && app->text);
	app = set(&annots, "a", 1, 2, NULL, 0);
	assert_true(app->is_int && app->number == 2 && !app->text_len);
	set(&annots, "", 0, 3, NULL, 0);
	set(&annots, "a\0b", 3, 4, NULL, 0);
	set(&annots, "a\0c", 3, 5, NULL, 0);
	set(&annots, "aa", 2, 6, "left", 4);
	/* where each stood first */
	assert_int_equal(annots.app.n, 6);
	assert_string_equal(annots.app.list[0].key, "a");
	assert_string_equal(annots.app.list[1].key, "b");
	assert_int_equal(annots.app.list[2].key_len, 0);
	assert_int_equal(annots.app.list[3].number, 4);
	assert_int_equal(annots.app.list[4].number, 5);
	dft_annots_free(&annots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined),
		cmocka_unit_test(out_of_the_middle),
		cmocka_unit_test(does_not_fit),
		cmocka_unit_test(known_to_be_missing),
		cmocka_unit_test(memory_used_again),
		cmocka_unit_test(moved),
		cmocka_unit_test(never_ended),
		cmocka_unit_test(too_long),
		cmocka_unit_test(values_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
