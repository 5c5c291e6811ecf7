// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"

/* ---- a checker of its own ------------------------------------------------------------------- */

/* Well-formed UTF-8 as a table (Unicode, table 3-7): the range of each byte of a sequence. */
static const struct {
	int len;
	unsigned char low[4], high[4];
} forms[] = {
	{ 1, { 0x00 }, { 0x7f } },
	{ 2, { 0xc2, 0x80 }, { 0xdf, 0xbf } },
	{ 3, { 0xe0, 0xa0, 0x80 }, { 0xe0, 0xbf, 0xbf } },
	{ 3, { 0xe1, 0x80, 0x80 }, { 0xec, 0xbf, 0xbf } },
	{ 3, { 0xed, 0x80, 0x80 }, { 0xed, 0x9f, 0xbf } },
	{ 3, { 0xee, 0x80, 0x80 }, { 0xef, 0xbf, 0xbf } },
	{ 4, { 0xf0, 0x90, 0x80, 0x80 }, { 0xf0, 0xbf, 0xbf, 0xbf } },
	{ 4, { 0xf1, 0x80, 0x80, 0x80 }, { 0xf3, 0xbf, 0xbf, 0xbf } },
	{ 4, { 0xf4, 0x80, 0x80, 0x80 }, { 0xf4, 0x8f, 0xbf, 0xbf } },
};

/* Bytes at s that begin a sequence; *whole when they are one. At least 1. */
static size_t part_len(const unsigned char *s, size_t n, bool *whole)
{
	size_t best = 1;

	*whole = false;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		size_t k = 0;

		while (k < (size_t)forms[f].len && k < n && s[k] >= forms[f].low[k] &&
		       s[k] <= forms[f].high[k])
			k++;
		if (k == (size_t)forms[f].len) {
			*whole = true;
			return k;
		}
		if (k > best)
			best = k;
	}
	return best;
}

/* What a string must read as: the bytes, with U+FFFD for each maximal ill-formed part. */
static size_t replaced(const unsigned char *s, size_t n, unsigned char *out, bool *good)
{
	size_t at = 0, len = 0;

	*good = true;
	while (at < n) {
		bool whole;
		size_t k = part_len(s + at, n - at, &whole);

		if (whole) {
			memcpy(out + len, s + at, k);
			len += k;
		} else {
			memcpy(out + len, "\xef\xbf\xbd", 3);
			len += 3;
			*good = false;
		}
		at += k;
	}
	return len;
}

static unsigned int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	assert_non_null(at);
	return (unsigned int)(at - digits);
}

/* Reads one JSON string strictly; fails the test when it is none. Returns the bytes it stands for. */
static size_t read_string(const char *text, size_t n, unsigned char *out)
{
	size_t i = 1, len = 0;

	assert_true(n >= 2 && text[0] == '"' && text[n - 1] == '"');
	while (i < n - 1) {
		unsigned char c = (unsigned char)text[i++];

		assert_true(c >= 0x20);
		assert_true(c != '"');
		if (c != '\\') {
			out[len++] = c;
			continue;
		}
		assert_true(i < n - 1);
		c = (unsigned char)text[i++];
		if (c == 'u') {
			unsigned int value = 0;

			assert_true(i + 4 <= n - 1);
			for (int d = 0; d < 4; d++)
				value = value << 4 | hex_digit(text[i++]);
			assert_true(value < 0x20); /* nothing else has to be written so */
			out[len++] = (unsigned char)value;
			continue;
		}
		switch (c) {
		case 'n':
			c = '\n';
			break;
		case 't':
			c = '\t';
			break;
		case 'r':
			c = '\r';
			break;
		default:
			assert_true(c == '"' || c == '\\');
		}
		out[len++] = c;
	}
	return len;
}

/* What dft_json_room() says is enough; AddressSanitizer sees what lies beyond it. */
static void check_room(const unsigned char *s, size_t n, const char *want, size_t len)
{
	size_t room = dft_json_room((const char *)s, n);
	char *to = malloc(room ? room : 1);
	bool good = true;

	assert_non_null(to);
	assert_true(room >= len);
	assert_ptr_equal(dft_json_escape(to, (const char *)s, n, &good), to + len);
	assert_memory_equal(to, want, len);
	free(to);
}

static void check_string(const unsigned char *s, size_t n)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	unsigned char *want = malloc(3 * n + 1), *got;
	size_t want_len, got_len, at = 0;
	bool good;

	assert_non_null(want);
	want_len = replaced(s, n, want, &good);
	assert_int_equal(dft_json_str(&json, NULL, (const char *)s, n), good);
	assert_false(buf.failed);
	got = malloc(buf.len);
	assert_non_null(got);
	got_len = read_string(buf.data, buf.len, got);
	assert_int_equal(got_len, want_len);
	assert_memory_equal(got, want, want_len);
	while (at < buf.len) { /* the line itself is UTF-8 */
		bool whole;

		at += part_len((unsigned char *)buf.data + at, buf.len - at, &whole);
		assert_true(whole);
	}
	check_room(s, n, buf.data + 1, buf.len - 2);
	free(got);
	free(want);
	dft_buf_free(&buf);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void strings_by_hand(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
		bool good;
	} cases[] = {
#define S(text) text, sizeof(text) - 1
		{ S(""), "\"\"", true },
		{ S("plain /a.b-c"), "\"plain /a.b-c\"", true },
		{ S("q\"b\\s/"), "\"q\\\"b\\\\s/\"", true },
		{ S("\n\t\r"), "\"\\n\\t\\r\"", true },
		{ S("\x01\x08\x0c\x1f\x7f"), "\"\\u0001\\u0008\\u000c\\u001f\x7f\"", true },
		{ S("a\0b"), "\"a\\u0000b\"", true },
		{ S("caf\xc3\xa9"), "\"caf\xc3\xa9\"", true },
		{ S("\xe6\x97\xa5\xf0\x9f\x98\x80"), "\"\xe6\x97\xa5\xf0\x9f\x98\x80\"", true },
		/* one replacement for each maximal ill-formed part */
		{ S("\xff\xfe"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false },
		{ S("a\xc3"), "\"a\xef\xbf\xbd\"", false },
		{ S("\xe2\x82"), "\"\xef\xbf\xbd\"", false },
		{ S("\xe2\x82!"), "\"\xef\xbf\xbd!\"", false },
		{ S("\xf0\x9f\x98"), "\"\xef\xbf\xbd\"", false },
		{ S("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", false },
		{ S("\xe0\x80\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false },
		{ S("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false },
		{ S("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false },
		{ S("\xf5"), "\"\xef\xbf\xbd\"", false },
		{ S("\x80\"\n"), "\"\xef\xbf\xbd\\\"\\n\"", false },
#undef S
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dft_buf buf = DFT_BUF_INIT;
		struct dft_json json = { .buf = &buf };

		assert_int_equal(dft_json_str(&json, NULL, cases[i].in, cases[i].len),
				 cases[i].good);
		assert_int_equal(buf.len, strlen(cases[i].out));
		assert_memory_equal(buf.data, cases[i].out, buf.len);
		dft_buf_free(&buf);
		check_string((const unsigned char *)cases[i].in, cases[i].len);
	}
}

static uint32_t random_state = 1;

static uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static void strings_at_random(void **state)
{
	/* Bytes at which sequences begin, end and go wrong, so that they meet often. */
	static const unsigned char edge[] = { 0x00, 0x1f, '"', '\\', 'a',  0x7f, 0x80, 0x8f, 0x90,
					      0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed,
					      0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff };
	unsigned char s[64];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		size_t n = random_u32() % sizeof(s);

		for (size_t k = 0; k < n; k++)
			s[k] = i & 1 ? edge[random_u32() % sizeof(edge)] :
				       (unsigned char)random_u32();
		check_string(s, n);
	}
}

static void every_pair_of_bytes(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < 256; a++)
		for (unsigned int b = 0; b < 256; b++) {
			unsigned char s[2] = { (unsigned char)a, (unsigned char)b };

			check_string(s, 2);
		}
}

/* Strings are looked at eight bytes at a time: each byte at each place, with each kind around it. */
static void every_byte_at_every_place(void **state)
{
	static const unsigned char around[] = { 'a', ' ', 0x7f, '!', '#', '[', ']' };
	unsigned char s[20];

	(void)state;
	for (size_t n = 1; n <= sizeof(s); n++)
		for (size_t at = 0; at < n; at++)
			for (unsigned int byte = 0; byte < 256; byte++) {
				memset(s, around[byte % sizeof(around)], n);
				s[at] = (unsigned char)byte;
				check_string(s, n);
			}
}

static void plain_strings_need_no_more_room(void **state)
{
	char plain[0x80];
	size_t n = 0;

	(void)state;
	for (int c = 0x20; c < 0x80; c++)
		if (c != '"' && c != '\\')
			plain[n++] = (char)c;
	for (size_t len = 0; len <= n; len++)
		assert_int_equal(dft_json_room(plain, len), len);
	assert_int_equal(dft_json_room(NULL, 0), 0);
}

enum kind { LOWEST, HIGHEST, HASH, STRING, OBJECT, KINDS };

/* A member of the longest kind behind another one; returns what it must read as. */
static const char *write_longest(struct dft_pen *pen, enum kind kind, const char *text)
{
	const char *key = "nineteen_characters";

	assert_int_equal(strlen(key), DFT_PEN_KEY);
	switch (kind) {
	case LOWEST:
		dft_pen_i64(pen, key, INT64_MIN);
		return ",\"nineteen_characters\":-9223372036854775808";
	case HIGHEST:
		dft_pen_u64(pen, key, UINT64_MAX);
		return ",\"nineteen_characters\":18446744073709551615";
	case HASH:
		dft_pen_hash(pen, key, 0xfedcba9876543210);
		return ",\"nineteen_characters\":\"fedcba9876543210\"";
	case STRING:
		assert_false(dft_pen_str(pen, key, text, strlen(text)));
		return ",\"nineteen_characters\":\"\\u0001\xef\xbf\xbd plain\"";
	default:
		dft_pen_object(pen, key);
		dft_pen_object_end(pen);
		return ",\"nineteen_characters\":{}";
	}
}

static void a_pen_keeps_to_its_room(void **state)
{
	const char *text = "\x01\xff plain";

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t more = kind == STRING ? dft_json_room(text, strlen(text)) : 0;
		/* Of just that size, so that AddressSanitizer sees any writing beyond it. */
		struct dft_buf buf = { .data = malloc(DFT_PEN_MEMBER + more),
				       .cap = DFT_PEN_MEMBER + more };
		struct dft_json json = { .buf = &buf, .comma = true };
		struct dft_pen pen;
		const char *want;

		assert_non_null(buf.data);
		assert_true(dft_pen_begin(&pen, &json, 1, more));
		assert_ptr_equal(pen.at, buf.data); /* no other room was needed */
		want = write_longest(&pen, kind, text);
		dft_pen_end(&pen, &json);
		assert_true(json.comma);
		assert_int_equal(buf.len, strlen(want));
		assert_memory_equal(buf.data, want, buf.len);
		dft_buf_free(&buf);
	}
}

static void a_pen_goes_on_where_others_stopped(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	const char *want = "{\"a\":1,\"b\":2,\"c\":\"x\",\"d\":10,\"e\":-3,\"f\":4}";
	struct dft_pen pen;

	(void)state;
	dft_json_object(&json, NULL);
	assert_true(dft_pen_begin(&pen, &json, 3, 1));
	dft_pen_u64(&pen, "a", 1);
	dft_pen_named(&pen, "bcd", 1);
	dft_pen_u64(&pen, NULL, 2);
	dft_pen_plain(&pen, "c", "xyz", 1);
	dft_pen_end(&pen, &json);
	dft_json_u64(&json, "d", 10);
	assert_true(dft_pen_begin(&pen, &json, 3, 0));
	dft_pen_named(&pen, "e", 1);
	dft_pen_i64(&pen, NULL, -3);
	dft_pen_i64(&pen, "f", 4);
	dft_pen_object_end(&pen);
	dft_pen_end(&pen, &json);
	assert_int_equal(buf.len, strlen(want));
	assert_memory_equal(buf.data, want, buf.len);
	dft_buf_free(&buf);
}

static void commas_and_nesting(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	const char *want = "{\"a\":1,\"b\":{},\"c\":[],\"d\":{\"e\":[1,-2,\"x\",[],{}],\"f\":true},"
			   "\"g\":false,\"h\":\"00000000000000ff\",\"i\":\"00ff7f\","
			   "\"j\":18446744073709551615,\"k\":-9223372036854775808}";

	(void)state;
	dft_json_object(&json, NULL);
	dft_json_u64(&json, "a", 1);
	dft_json_object(&json, "b");
	dft_json_object_end(&json);
	dft_json_array(&json, "c");
	dft_json_array_end(&json);
	dft_json_object(&json, "d");
	dft_json_array(&json, "e");
	dft_json_u64(&json, NULL, 1);
	dft_json_i64(&json, NULL, -2);
	dft_json_cstr(&json, NULL, "x");
	dft_json_array(&json, NULL);
	dft_json_array_end(&json);
	dft_json_object(&json, NULL);
	dft_json_object_end(&json);
	dft_json_array_end(&json);
	dft_json_bool(&json, "f", true);
	dft_json_object_end(&json);
	dft_json_bool(&json, "g", false);
	dft_json_hash(&json, "h", 255);
	dft_json_hex(&json, "i", "\0\xff\x7f", 3);
	dft_json_u64(&json, "j", UINT64_MAX);
	dft_json_i64(&json, "k", INT64_MIN);
	dft_json_object_end(&json);
	assert_int_equal(buf.len, strlen(want));
	assert_memory_equal(buf.data, want, buf.len);
	dft_buf_free(&buf);
}

/* The text that a number becomes. */
static void number_text(double value, char *out, size_t size)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };

	dft_json_f64(&json, NULL, value);
	assert_false(buf.failed);
	assert_true(buf.len < size);
	memcpy(out, buf.data, buf.len);
	out[buf.len] = '\0';
	dft_buf_free(&buf);
}

static const char *digits_of(const char *at)
{
	const char *from = at;

	while (*at >= '0' && *at <= '9')
		at++;
	assert_true(at > from);
	return at;
}

/* RFC 8259, section 6. */
static void is_json_number(const char *text)
{
	const char *at = text + (*text == '-');

	at = *at == '0' ? at + 1 : digits_of(at);
	if (*at == '.')
		at = digits_of(at + 1);
	if (*at == 'e' || *at == 'E') {
		at++;
		at = digits_of(at + (*at == '+' || *at == '-'));
	}
	assert_int_equal(*at, '\0');
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* A JSON number that reads as the very same double, in the fewest digits that printf needs for it. */
static void check_number(double value)
{
	char text[64], want[64];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(want, sizeof(want), "%.*g", digits, value);
		if (strtod(want, NULL) == value)
			break;
	}
	if (!strpbrk(want, ".e"))
		strcat(want, ".0");
	number_text(value, text, sizeof(text));
	assert_string_equal(text, want);
	is_json_number(text);
	assert_true(bits_of(strtod(text, NULL)) == bits_of(value));
	assert_true(strlen(text) <= 24);
}

static void floats_by_hand(void **state)
{
	static const struct {
		double in;
		const char *out;
	} cases[] = {
		{ 0.1, "0.1" },
		{ -0.1, "-0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 123456.789, "123456.789" },
		{ 1e300, "1e+300" },
		{ 1.5e-7, "1.5e-07" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 2.2250738585072014e-308, "2.2250738585072014e-308" },
		/* no integer: a reader would lose the sign */
		{ -0.0, "-0.0" },
		/* not finite: no numbers in JSON */
		{ __builtin_nan(""), "\"nan\"" },
		{ -__builtin_nan(""), "\"nan\"" },
		{ __builtin_inf(), "\"inf\"" },
		{ -__builtin_inf(), "\"-inf\"" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		number_text(cases[i].in, text, sizeof(text));
		assert_string_equal(text, cases[i].out);
	}
	for (double whole = 1; whole < 1e22; whole *= 7) {
		check_number(whole);
		check_number(-whole);
	}
	check_number(0);
	check_number(5e-324);
	check_number(9007199254740993.0);
}

static void floats_at_random(void **state)
{
	(void)state;
	for (int i = 0; i < 60000; i++) {
		uint64_t bits = (uint64_t)random_u32() << 32 | random_u32();
		char few[32];
		double value;

		if (i % 3 == 0) { /* few digits */
			value = (double)(int32_t)random_u32() / 1000;
		} else if (i % 3 == 1) { /* up to 17, and around where exponents begin */
			snprintf(few, sizeof(few), "%" PRIu64 "e%d", bits >> (7 + bits % 50),
				 (int)(random_u32() % 40) - 24);
			value = strtod(few, NULL);
		} else {
			memcpy(&value, &bits, sizeof(value));
		}
		if (value - value == 0) /* finite */
			check_number(value);
	}
}

/* Few digits stay few. */
static void floats_are_short(void **state)
{
	char text[64], want[64];

	(void)state;
	for (int i = 1; i < 10000; i += 7) {
		snprintf(want, sizeof(want), "%d.%03d5", i, i % 1000);
		number_text(strtod(want, NULL), text, sizeof(text));
		assert_string_equal(text, want);
	}
}

static void keys_of_any_bytes(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT, key = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf }, quoted = { .buf = &key };
	const char *want = "{\"a\\\"\\u0000\\n\xef\xbf\xbd\":1,\"\":\"x\","
			   "\"a\\\"\\u0000\\n\xef\xbf\xbd\":[2,3],\"b\":0.5,\"\":{\"\":true}}";

	(void)state;
	assert_false(dft_json_str(&quoted, NULL, "a\"\0\n\xff", 5));
	dft_json_object(&json, NULL);
	dft_json_quoted_key(&json, key.data, key.len);
	dft_json_i64(&json, NULL, 1);
	dft_json_quoted_key(&json, "\"\"", 2);
	dft_json_cstr(&json, NULL, "x");
	dft_json_quoted_key(&json, key.data, key.len);
	dft_json_array(&json, NULL);
	dft_json_i64(&json, NULL, 2);
	dft_json_i64(&json, NULL, 3);
	dft_json_array_end(&json);
	dft_json_f64(&json, "b", 0.5);
	dft_json_quoted_key(&json, "\"\"", 2);
	dft_json_object(&json, NULL);
	dft_json_quoted_key(&json, "\"\"", 2);
	dft_json_bool(&json, NULL, true);
	dft_json_object_end(&json);
	dft_json_object_end(&json);
	assert_int_equal(buf.len, strlen(want));
	assert_memory_equal(buf.data, want, buf.len);
	dft_buf_free(&buf);
	dft_buf_free(&key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_by_hand),
		cmocka_unit_test(strings_at_random),
		cmocka_unit_test(every_pair_of_bytes),
		cmocka_unit_test(every_byte_at_every_place),
		cmocka_unit_test(plain_strings_need_no_more_room),
		cmocka_unit_test(a_pen_keeps_to_its_room),
		cmocka_unit_test(a_pen_goes_on_where_others_stopped),
		cmocka_unit_test(commas_and_nesting),
		cmocka_unit_test(floats_by_hand),
		cmocka_unit_test(floats_at_random),
		cmocka_unit_test(floats_are_short),
		cmocka_unit_test(keys_of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
