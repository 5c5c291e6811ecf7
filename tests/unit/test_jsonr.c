// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jsonr.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Parses a copy without a byte to spare, so that AddressSanitizer sees any reading beyond it. */
static int parse_exact(struct dft_jsonr *j, const char *s, size_t n, char **copy)
{
	*copy = malloc(n ? n : 1);
	assert_non_null(*copy);
	memcpy(*copy, s, n);
	return dft_jsonr_parse(j, *copy, n);
}

static const char *const good[] = {
	"null", "true", "false", "0", "-0", "12", "-1", "1.5", "0.0", "1e5", "1E+5", "1e-5",
	"-1.25e10",
	"123456789012345678901234567890", "\"\"", "\"abc\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
	"\"\\u0041\\ud83d\\ude00\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "[]", "{}",
	"[[],{}]",
	" [ 1 , 2 ] ", "\t{\"a\" : 1 ,\n\"b\":[true]}\r", "{\"\":0}", "{\"a\":1,\"a\":2}",
	"\"\\u0000\"", "\"0123456701234567012345670123456\"", "[\"\x7f\"]", "\"\xed\x9f\xbf\"",
	"\"\xee\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\xf0\x90\x80\x80\"", "\"\xc2\x80\"",
};

static const char *const bad[] = {
	"", " ", "nul", "nulll", "True", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "1 2",
	"--1",
	"\"", "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u123g\"", "\"\\ud800\"",
	"\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\x01\"", "\"\n\"", "\"\t\"",
	"\"\x80\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xe0\x80\x80\"",
	"\"\xe0\x9f\xbf\"",
	"\"\xed\xa0\x80\"", "\"\xf0\x80\x80\x80\"", "\"\xf0\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\"",
	"\"\xf5\x80\x80\x80\"", "\"\xe2\x82\"", "\"\xe2\x82", "\"\xc3", "\"\xc3\"", "[", "]", "[1",
	"[1,",
	"[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
	"{,}",
	"{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "NaN", "Infinity", "'a'", "{a:1}", "[1]x",
	"\xef\xbb\xbf[]", "/**/1", "\"abcdefgh\x1f\"", "\"abcdefgh\x80ijklmnop\"", "tru", "fals",
};

static void test_grammar(void **state)
{
	struct dft_jsonr j = { 0 };
	char *copy;

	(void)state;
	for (size_t i = 0; i < N(good); i++) {
		if (parse_exact(&j, good[i], strlen(good[i]), &copy))
			fail_msg("%s: %s at %zu", good[i], j.err, j.err_off);
		free(copy);
	}
	for (size_t i = 0; i < N(bad); i++) {
		if (parse_exact(&j, bad[i], strlen(bad[i]), &copy) != -EBADMSG)
			fail_msg("%s: accepted", bad[i]);
		assert_non_null(j.err);
		assert_true(j.err_off <= strlen(bad[i]));
		free(copy);
	}
	/* A NUL is a control character, and no end. */
	assert_int_equal(dft_jsonr_parse(&j, "\"a\0b\"", 5), -EBADMSG);
	assert_int_equal(dft_jsonr_parse(&j, "1\0", 2), -EBADMSG);
	assert_int_equal(dft_jsonr_parse(&j, "\"\\\0\"", 4), -EBADMSG);
	dft_jsonr_free(&j);
}

static void test_every_prefix_is_refused(void **state)
{
	static const char text[] = "{\"id\":1,\"n\":\"\\u00e9\\ud83d\\ude00\xe2\x82\xac\",\"a\":"
				   "{\"x\":[1.5e3,true,false,null,{}]}}";
	struct dft_jsonr j = { 0 };
	char *copy;

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		assert_int_equal(parse_exact(&j, text, n, &copy), -EBADMSG);
		free(copy);
	}
	assert_int_equal(dft_jsonr_parse(&j, text, sizeof(text) - 1), 0);
	dft_jsonr_free(&j);
}

/* Special bytes at every place of a word and with every distance to the end. */
static void test_string_scan(void **state)
{
	struct dft_jsonr j = { 0 };
	char text[64], *copy;

	(void)state;
	for (size_t len = 1; len < 40; len++) {
		for (size_t at = 0; at < len; at++) {
			for (unsigned int c = 0; c < 256; c++) {
				bool right = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';

				memset(text, 'x', sizeof(text));
				text[0] = text[len + 1] = '"';
				text[1 + at] = (char)c;
				assert_int_equal(parse_exact(&j, text, len + 2, &copy) == 0, right);
				free(copy);
			}
		}
	}
	dft_jsonr_free(&j);
}

static void test_walk(void **state)
{
	static const char text[] = "{\"a\":1,\"b\":[10,[20],{\"c\":30}],\"d\":\"x\",\"e\":{}}";
	struct dft_jsonr j = { 0 };
	const struct dft_jsonr_node *k, *v, *root;
	char keys[16] = "";
	size_t n = 0;

	(void)state;
	assert_int_equal(dft_jsonr_parse(&j, text, strlen(text)), 0);
	root = dft_jsonr_root(&j);
	for (k = dft_jsonr_first(&j, root); k; k = dft_jsonr_next(&j, root, k))
		strncat(keys, dft_jsonr_str(&j, k).s, 1);
	assert_string_equal(keys, "abde");
	v = dft_jsonr_get(&j, root, "b");
	for (k = dft_jsonr_first(&j, v); k; k = dft_jsonr_next(&j, v, k))
		n++;
	assert_int_equal(n, 3);
	assert_true(DFT_STR_IS(dft_jsonr_raw(&j, v), "[10,[20],{\"c\":30}]"));
	assert_null(dft_jsonr_get(&j, root, "c"));
	assert_null(dft_jsonr_get(&j, v, "c"));
	assert_null(dft_jsonr_first(&j, dft_jsonr_get(&j, root, "e")));
	assert_true(DFT_STR_IS(dft_jsonr_raw(&j, dft_jsonr_get(&j, root, "d")), "x"));
	dft_jsonr_free(&j);
	assert_null(j.nodes);
}

static void check_str(const char *text, const char *want, size_t n)
{
	struct dft_jsonr j = { 0 };
	struct dft_str s;

	assert_int_equal(dft_jsonr_parse(&j, text, strlen(text)), 0);
	/* Asking twice must not change the answer. */
	for (int i = 0; i < 2; i++) {
		s = dft_jsonr_str(&j, dft_jsonr_root(&j));
		assert_int_equal(s.n, n);
		assert_memory_equal(s.s, want, n);
	}
	dft_jsonr_free(&j);
}

static void test_unescape(void **state)
{
	struct dft_jsonr j = { 0 };
	const struct dft_jsonr_node *a;

	(void)state;
	check_str("\"plain\"", "plain", 5);
	check_str("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	check_str("\"\\u0041\\u00e9\\u20ac\\uD83D\\uDE00\"",
		  "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10);
	check_str("\"\\u0000\"", "\0", 1);
	check_str("\"\\uffff\\ud7ff\\ue000\"", "\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80", 9);
	check_str("\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 4);
	/* Several in one text have places of their own. */
	assert_int_equal(dft_jsonr_parse(&j, "[\"\\n\",\"\\t\\t\"]", 13), 0);
	a = dft_jsonr_first(&j, dft_jsonr_root(&j));
	{
		struct dft_str x = dft_jsonr_str(&j, a);
		struct dft_str y = dft_jsonr_str(&j, dft_jsonr_next(&j, dft_jsonr_root(&j), a));

		assert_true(DFT_STR_IS(x, "\n"));
		assert_true(DFT_STR_IS(y, "\t\t"));
	}
	dft_jsonr_free(&j);
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		bool is_u, is_i;
		uint64_t u;
		int64_t i;
	} t[] = {
		{ "0", true, true, 0, 0 },
		{ "-0", false, true, 0, 0 },
		{ "-1", false, true, 0, -1 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", true, false, 1ull << 63, 0 },
		{ "-9223372036854775808", false, true, 0, INT64_MIN },
		{ "-9223372036854775809", false, false, 0, 0 },
		{ "18446744073709551615", true, false, UINT64_MAX, 0 },
		{ "18446744073709551616", false, false, 0, 0 },
		{ "99999999999999999999999999", false, false, 0, 0 },
		{ "9999999999999999999", true, false, 9999999999999999999u, 0 },
		{ "1.0", false, false, 0, 0 },
		{ "1e2", false, false, 0, 0 },
		{ "\"1\"", false, false, 0, 0 },
		{ "true", false, false, 0, 0 },
	};
	struct dft_jsonr j = { 0 };

	(void)state;
	for (size_t k = 0; k < N(t); k++) {
		uint64_t u = 0;
		int64_t i = 0;

		assert_int_equal(dft_jsonr_parse(&j, t[k].text, strlen(t[k].text)), 0);
		assert_int_equal(dft_jsonr_u64(&j, dft_jsonr_root(&j), &u), t[k].is_u);
		assert_int_equal(dft_jsonr_i64(&j, dft_jsonr_root(&j), &i), t[k].is_i);
		if (t[k].is_u)
			assert_true(u == t[k].u);
		if (t[k].is_i)
			assert_true(i == t[k].i);
	}
	dft_jsonr_free(&j);
}

static void test_limits(void **state)
{
	struct dft_jsonr j = { 0 };
	size_t n = 2 * (size_t)DFT_JSONR_MAX_NODES + 8;
	char *text = malloc(n);

	(void)state;
	assert_non_null(text);
	memset(text, '[', DFT_JSONR_MAX_DEPTH);
	memset(text + DFT_JSONR_MAX_DEPTH, ']', DFT_JSONR_MAX_DEPTH);
	assert_int_equal(dft_jsonr_parse(&j, text, 2 * DFT_JSONR_MAX_DEPTH), 0);
	memset(text, '[', DFT_JSONR_MAX_DEPTH + 1);
	memset(text + DFT_JSONR_MAX_DEPTH + 1, ']', DFT_JSONR_MAX_DEPTH + 1);
	assert_int_equal(dft_jsonr_parse(&j, text, 2 * DFT_JSONR_MAX_DEPTH + 2), -EBADMSG);
	assert_string_equal(j.err, "nested too deeply");
	/* An array of one value too many; the array itself counts. */
	for (size_t i = 0; i < DFT_JSONR_MAX_NODES; i++)
		memcpy(text + 2 * i, "0,", 2);
	text[0] = '[';
	text[1] = '0';
	memcpy(text + 2, ",0", 2);
	for (size_t i = 2; i < DFT_JSONR_MAX_NODES; i++)
		memcpy(text + 2 * i, ",0", 2);
	text[2 * (size_t)DFT_JSONR_MAX_NODES] = ']';
	assert_int_equal(dft_jsonr_parse(&j, text, 2 * (size_t)DFT_JSONR_MAX_NODES + 1), -EBADMSG);
	assert_string_equal(j.err, "too many values");
	/* One less is as many as there may be. */
	text[2 * (size_t)DFT_JSONR_MAX_NODES - 2] = ']';
	assert_int_equal(dft_jsonr_parse(&j, text, 2 * (size_t)DFT_JSONR_MAX_NODES - 1), 0);
	assert_int_equal(j.node_cnt, DFT_JSONR_MAX_NODES);
	assert_int_equal(dft_jsonr_parse(&j, text, (size_t)DFT_JSONR_MAX_LEN + 1), -EBADMSG);
	free(text);
	dft_jsonr_free(&j);
}

static int dup_of(const char *text, char *key, size_t cap)
{
	struct dft_jsonr j = { 0 };
	struct dft_str s = { "", 0 };
	int rc;

	assert_int_equal(dft_jsonr_parse(&j, text, strlen(text)), 0);
	rc = dft_jsonr_find_dup(&j, &s);
	snprintf(key, cap, "%.*s", (int)s.n, s.s);
	dft_jsonr_free(&j);
	return rc;
}

static void test_duplicates(void **state)
{
	char text[4096], key[32];
	size_t n;

	(void)state;
	assert_int_equal(dup_of("{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1},{\"a\":2}]}", key, 32),
			 0);
	assert_int_equal(dup_of("{\"a\":1,\"b\":2,\"a\":3}", key, 32), 1);
	assert_string_equal(key, "a");
	assert_int_equal(dup_of("[{\"x\":{\"b\":1,\"\\u0062\":2}}]", key, 32), 1);
	assert_string_equal(key, "b");
	assert_int_equal(dup_of("{\"\":1,\"\":2}", key, 32), 1);
	n = (size_t)sprintf(text, "{");
	for (int i = 0; i < 200; i++)
		n += (size_t)sprintf(text + n, "%s\"k%d\":0", i ? "," : "", i);
	sprintf(text + n, "}");
	assert_int_equal(dup_of(text, key, 32), 0);
	sprintf(text + n, ",\"k77\":0}");
	assert_int_equal(dup_of(text, key, 32), 1);
	assert_string_equal(key, "k77");
}

static void test_reuse(void **state)
{
	struct dft_jsonr j = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const char *s = i % 3 ? "{\"a\\n\":[1,2,3]}" : "[\"\\u00e9\"";

		assert_int_equal(dft_jsonr_parse(&j, s, strlen(s)), i % 3 ? 0 : -EBADMSG);
	}
	dft_jsonr_free(&j);
	dft_jsonr_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_every_prefix_is_refused),
		cmocka_unit_test(test_string_scan),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_unescape),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
