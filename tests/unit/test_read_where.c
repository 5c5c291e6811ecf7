// SPDX-License-Identifier: MIT
/* Conditions on records: what they mean, where they are wrong, and how numbers are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "where.h"

static struct dft_view view;
static struct dft_jsonr json;

/* Whether the condition holds of the line; -1: it is none, and `at` is where it goes wrong. */
static int ask(const char *line, const char *text, size_t *at)
{
	struct dft_where_error e = { 0 };
	struct dft_where *w;
	struct dft_record r;
	int rc = dft_where_compile(&w, text, &e);

	if (rc) {
		assert_int_equal(rc, -22);
		assert_null(w);
		assert_true(e.at <= strlen(text));
		assert_true(e.what[0]);
		if (at)
			*at = e.at;
		return -1;
	}
	assert_int_equal(dft_record_parse(&r, &json, line, strlen(line)), 1);
	assert_int_equal(dft_view_take(&view, &r, &json, 7), 0);
	rc = dft_where_match(w, &view);
	dft_where_free(w);
	return rc;
}

static const char call[] =
	"{\"id\":18446744073709551615,\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"pid\":5,"
	"\"tid\":6,\"ts\":1000,\"dur\":18446744073709551615,\"ph\":1,\"args\":{\"hhash\":\"x\","
	"\"ret\":-9223372036854775808,\"a\":{\"b\":{\"c\":7}},\"a.b\":8,\"a.b.d\":9,\"r\":1e300,"
	"\"n\":null,\"t\":true,\"l\":[1,2],\"s\":\"x\\u0000y\",\"big\":123456789012345678901234567890}}";

static void test_values(void **state)
{
	static const struct {
		const char *text;
		int holds;
	} cases[] = {
		{ "id == 18446744073709551615", 1 },
		{ "id > 18446744073709551614", 1 },
		{ "id < 18446744073709551615", 0 },
		{ "dur > 18446744073709551614us", 1 },
		{ "args.ret == -9223372036854775808", 1 },
		{ "args.ret < -9223372036854775807", 1 },
		{ "args.ret < id", -1 },
		{ "args.a.b == 8", 1 },
		{ "args.a.b.d == 9", 1 },
		{ "args.r > 1T", 1 },
		{ "args.r < 1T", 0 },
		{ "has args.n", 0 },
		{ "args.t == 1", 1 },
		{ "args.l ~ \"1,2\"", 1 },
		{ "args.s ~ \"y$\"", 1 },
		{ "args.big > 1T", 1 },
		{ "line == 7", 1 },
		{ "line in (1, 2, 3)", 0 },
		{ "line in (1, 7.0, 3)", 1 },
		{ "ts == 1ms", 1 },
		{ "ts == 0.001s", 1 },
		{ "ts >= 1000000ns and ts <= 1000us", 1 },
		{ "pid == 5K", 0 },
		{ "pid == 0.0048828125K", 1 },
	};

	(void)state;
	dft_view_begin_file(&view, "a.pfw");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int got = ask(call, cases[i].text, NULL);

		if (got != cases[i].holds)
			fail_msg("%s: %d", cases[i].text, got);
	}
}

static void test_places(void **state)
{
	static const struct {
		const char *text;
		size_t at;
	} cases[] = {
		{ "", 0 }, { "x == 1", 0 }, { "pid", 3 }, { "pid ==", 6 }, { "pid == 1 2", 9 },
		{ "pid == 1 and", 12 }, { "pid in (1,", 10 }, { "pid in (1 2)", 10 },
		{ "name == \"abc", 8 }, { "name ~ \"[\"", 7 }, { "pid == 1x", 7 },
		{ "not not", 7 }, { "(pid == 1", 9 },
	};
	char buf[80];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = 999;

		assert_int_equal(ask(call, cases[i].text, &at), -1);
		if (at != cases[i].at)
			fail_msg("%s: at %zu", cases[i].text, at);
	}
	dft_where_excerpt(buf, sizeof(buf), "pid == x", 7);
	assert_string_equal(buf, "pid == ^x");
	dft_where_excerpt(buf, sizeof(buf),
			  "0123456789012345678901234567890123456789 here 0123456789012345678901234567890123",
			  41);
	assert_string_equal(buf, "...12345678901234567890123456789 ^here 0123456789012345678901234...");
}

/* As deep as brackets go, and beyond. */
static void test_bounds(void **state)
{
	char text[4096] = "", *p = text;

	(void)state;
	for (int i = 0; i < 63; i++)
		*p++ = '(';
	p = stpcpy(p, "pid == 5");
	for (int i = 0; i < 63; i++)
		*p++ = ')';
	*p = '\0';
	assert_int_equal(ask(call, text, NULL), 1);
	memmove(text + 1, text, strlen(text) + 1);
	assert_int_equal(ask(call, text, NULL), -1);
	p = text;
	for (int i = 0; i < 62; i++)
		p = stpcpy(p, "not ");
	strcpy(p, "pid == 5");
	assert_int_equal(ask(call, text, NULL), 1);
}

static void test_numbers(void **state)
{
	struct dft_value v;
	bool is_time;

	(void)state;
	assert_int_equal(dft_number_parse("100ms rest", &v, &is_time), 5);
	assert_true(is_time);
	assert_true(v.kind == DFT_VALUE_INT && v.i == 100000000);
	assert_int_equal(dft_number_parse("1.5G", &v, &is_time), 4);
	assert_false(is_time);
	assert_true(v.kind == DFT_VALUE_INT && v.i == 1610612736);
	assert_int_equal(dft_number_parse("-3", &v, &is_time), 2);
	assert_true(v.i == -3);
	assert_int_equal(dft_number_parse("0.3", &v, &is_time), 3);
	assert_true(v.kind == DFT_VALUE_REAL);
	assert_int_equal(dft_number_parse("", &v, &is_time), 0);
	assert_int_equal(dft_number_parse("-", &v, &is_time), 0);
	assert_int_equal(dft_number_parse("5Q", &v, &is_time), 0);
	assert_int_equal(dft_number_parse("5ms3", &v, &is_time), 0);
	assert_int_equal(dft_number_parse("999999999999999999999999", &v, &is_time), 0);
}

static int teardown(void **state)
{
	(void)state;
	dft_view_free(&view);
	dft_jsonr_free(&json);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
