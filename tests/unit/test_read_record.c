// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"

static struct dft_jsonr json;

static int parse(struct dft_record *r, const char *line)
{
	return dft_record_parse(r, &json, line, strlen(line));
}

static void test_2026(void **state)
{
	struct dft_record r;

	(void)state;
	assert_int_equal(parse(&r, "{\"id\":7,\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,"
				   "\"pid\":1,"
				   "\"tid\":2,\"ts\":18446744073709551615,\"dur\":4,\"ph\":1,"
				   "\"args\":{\"hhash\":\"70c8aac0b3f2da76\"}}"), 1);
	assert_int_equal(r.has, 0x3ff);
	assert_int_equal(r.wrong, 0);
	assert_int_equal(r.ph, DFT_PH_COMPLETE);
	assert_false(r.letter);
	assert_int_equal(r.id, 7);
	assert_int_equal(r.tid, 2);
	assert_true(r.ts == UINT64_MAX);
	assert_true(DFT_STR_IS(r.name, "read") && DFT_STR_IS(r.cat, "POSIX"));
	assert_non_null(r.args);
}

static void test_phases(void **state)
{
	static const struct {
		const char *line;
		enum dft_ph ph;
		bool letter;
		unsigned int wrong;
	} t[] = {
		{ "{\"ph\":1}", DFT_PH_COMPLETE, false, 0 },
		{ "{\"ph\":2}", DFT_PH_COUNTER, false, 0 },
		{ "{\"ph\":3}", DFT_PH_AGGREGATED, false, 0 },
		{ "{\"ph\":4}", DFT_PH_METADATA, false, 0 },
		{ "{\"ph\":5}", DFT_PH_OTHER, false, 0 },
		{ "{\"ph\":0}", DFT_PH_OTHER, false, 0 },
		{ "{\"ph\":\"X\"}", DFT_PH_COMPLETE, true, 0 },
		{ "{\"ph\":\"C\"}", DFT_PH_COUNTER, true, 0 },
		{ "{\"ph\":\"A\"}", DFT_PH_AGGREGATED, true, 0 },
		{ "{\"ph\":\"M\"}", DFT_PH_METADATA, true, 0 },
		{ "{\"ph\":\"Z\"}", DFT_PH_OTHER, true, 0 },
		{ "{\"ph\":\"XX\"}", DFT_PH_NONE, false, DFT_F_PH },
		{ "{\"ph\":-1}", DFT_PH_NONE, false, DFT_F_PH },
		{ "{\"ph\":null}", DFT_PH_NONE, false, DFT_F_PH },
		{ "{}", DFT_PH_NONE, false, 0 },
	};
	struct dft_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(parse(&r, t[i].line), 1);
		assert_int_equal(r.ph, t[i].ph);
		assert_int_equal(r.letter, t[i].letter);
		assert_int_equal(r.wrong, t[i].wrong);
	}
}

static void test_wrong_types(void **state)
{
	struct dft_record r;

	(void)state;
	assert_int_equal(parse(&r, "{\"id\":\"7\",\"name\":1,\"cat\":null,\"type\":-1,\"pid\":1.0,"
				   "\"tid\":[],\"ts\":1e3,\"dur\":18446744073709551616,"
				   "\"args\":1}"), 1);
	assert_int_equal(r.wrong, 0x3ff & ~DFT_F_PH);
	assert_int_equal(r.has, 0);
	assert_null(r.args);
	assert_int_equal(r.name.n, 0);
	/* The first of two counts; unknown keys and escaped ones are fine. */
	assert_int_equal(parse(&r, "{\"id\":1,\"id\":2,\"i\\u0064\":3,\"new\":{\"id\":4},"
				   "\"\":0}"), 1);
	assert_int_equal(r.id, 1);
	assert_int_equal(parse(&r, "{\"i\\u0064\":3}"), 1);
	assert_int_equal(r.id, 3);
}

static void test_lines_that_are_none(void **state)
{
	static const char *const none[] = { "", " ", "[", "]", " [", "] ", "\t", ",", "],", "\r" };
	static const char *const bad[] = { "1", "[]", "[1]", "x", "{", "{}}", "\"a\"", "{},,",
					   "[[" };
	static const char *const fine[] = { "{},", "  {\"a\":1}", "{} ,\r", "{}\r", "{}  " };
	struct dft_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(parse(&r, none[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(&r, bad[i]), -EBADMSG);
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(parse(&r, fine[i]), 1);
}

static void test_hashes(void **state)
{
	static const struct {
		const char *name;
		uint64_t hash;
	} t[] = {
		{ "/data/a.bin", 0xc721397c362c32b4 },
		{ "node01", 0x70c8aac0b3f2da76 },
		{ "localhost", 0x42a907a3b64f2a3e },
		{ "/dev/null", 0xeee78214f21683d6 },
	};
	static const char *const bad[] = {
		"\"c721397c362c32b\"", "\"c721397c362c32b44\"", "\"C721397c362c32b4\"",
		"\"g721397c362c32b4\"", "null", "\"\"", "1.5", "-1",
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct dft_str s = { t[i].name, strlen(t[i].name) };

		assert_true(dft_name_hash(s, false) == t[i].hash);
	}
	/* MD5 of nothing is d41d8cd98f00b204e9800998ecf8427e. */
	assert_true(dft_name_hash((struct dft_str){ "", 0 }, false) == 0xd48c8fb2e909ec42);
	assert_true(dft_name_hash((struct dft_str){ "", 0 }, true) == 0xd18d80b0e809ef47);
	assert_int_equal(dft_jsonr_parse(&json, "\"c721397c362c32b4\"", 18), 0);
	assert_true(dft_hash_value(&json, dft_jsonr_root(&json), false, &v));
	assert_true(v == t[0].hash);
	assert_int_equal(dft_jsonr_parse(&json, "123", 3), 0);
	assert_false(dft_hash_value(&json, dft_jsonr_root(&json), false, &v));
	assert_true(dft_hash_value(&json, dft_jsonr_root(&json), true, &v));
	assert_int_equal(v, 123);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(dft_jsonr_parse(&json, bad[i], strlen(bad[i])), 0);
		assert_false(dft_hash_value(&json, dft_jsonr_root(&json), true, &v));
	}
}

static void test_original_names(void **state)
{
	static const struct {
		const char *args, *want;
		int rc;
	} t[] = {
		{ "{\"name\":\"/a\"}", "/a", 1 },
		{ "{\"name\":\"x\",\"raw\":\"2fff\"}", "/\xff", 1 },
		{ "{\"raw\":\"2f\"}", "/", 1 },
		{ "{\"name\":\"x\",\"raw\":\"\"}", "", 1 },
		{ "{\"name\":\"x\",\"raw\":\"2\"}", NULL, 0 },
		{ "{\"name\":\"x\",\"raw\":\"2F\"}", NULL, 0 },
		{ "{\"name\":\"x\",\"raw\":5}", NULL, 0 },
		{ "{\"name\":5}", NULL, 0 },
		{ "{}", NULL, 0 },
	};
	struct dft_bytes buf = { 0 };
	struct dft_str s;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(dft_jsonr_parse(&json, t[i].args, strlen(t[i].args)), 0);
		assert_int_equal(dft_original_name(&json, dft_jsonr_root(&json), &buf, &s),
				 t[i].rc);
		if (t[i].rc)
			assert_true(dft_str_eq(s, t[i].want, strlen(t[i].want)));
	}
	free(buf.buf);
}

static void test_decimals(void **state)
{
	static const char *const bad[] = { "", " 1", "1 ", "-1", "+1", "1.0", "0x1", "a",
					   "18446744073709551616", "18446744073709551620",
					   "184467440737095516150" };
	uint64_t v;

	(void)state;
	assert_true(dft_decimal((struct dft_str){ "0", 1 }, &v) && v == 0);
	assert_true(dft_decimal((struct dft_str){ "0042", 4 }, &v) && v == 42);
	assert_true(dft_decimal((struct dft_str){ "18446744073709551615", 20 }, &v) &&
		    v == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(dft_decimal((struct dft_str){ bad[i], strlen(bad[i]) }, &v));
	assert_false(dft_decimal((struct dft_str){ "1\0", 2 }, &v));
}

static void test_who_made_it(void **state)
{
	static const struct {
		const char *line;
		bool app, tracer;
	} t[] = {
		{ "{\"type\":2,\"cat\":\"POSIX\"}", true, false },
		{ "{\"type\":6,\"cat\":\"dftracer\"}", true, false },
		{ "{\"type\":9}", true, false },
		{ "{\"type\":3,\"cat\":\"POSIX\"}", false, false },
		{ "{\"type\":3,\"cat\":\"C_APP\"}", false, false },
		{ "{\"type\":1,\"cat\":\"dftracer\"}", false, true },
		{ "{\"type\":\"2\",\"cat\":\"C_APP\"}", false, false },
		{ "{\"cat\":\"C_APP\"}", false, false },
		{ "{\"cat\":\"dftracer\"}", false, true },
		{ "{\"ph\":\"X\",\"cat\":\"dftracer\"}", false, true },
	};
	struct dft_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(parse(&r, t[i].line), 1);
		assert_int_equal(dft_is_of_app(&r), t[i].app);
		assert_int_equal(dft_is_of_tracer(&r), t[i].tracer);
	}
}

static int teardown(void **state)
{
	(void)state;
	dft_jsonr_free(&json);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2026),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_original_names),
		cmocka_unit_test(test_decimals),
		cmocka_unit_test(test_who_made_it),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
