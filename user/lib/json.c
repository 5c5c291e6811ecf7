// SPDX-License-Identifier: MIT
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE	".0" /* readers tell by this that a number was no integer */
#define PUT_F64 32   /* room for -2.2250738585072014e-308 and its NUL */

/* Begins one member with a key of any length, with `more` bytes for what is no number. */
static bool begin_one(struct dft_pen *pen, struct dft_json *json, const char *key, size_t more)
{
	return dft_pen_begin(pen, json, 1, (key ? strlen(key) : 0) + more);
}

static void begin(struct dft_json *json, const char *key)
{
	struct dft_pen pen;

	if (begin_one(&pen, json, key, 0)) {
		dft_pen_key(&pen, key);
		dft_pen_end(&pen, json);
	}
}

void dft_json_object(struct dft_json *json, const char *key)
{
	struct dft_pen pen;

	if (begin_one(&pen, json, key, 0)) {
		dft_pen_object(&pen, key);
		dft_pen_end(&pen, json);
	}
}

void dft_json_object_end(struct dft_json *json)
{
	dft_buf_putc(json->buf, '}');
	json->comma = true;
}

void dft_json_array(struct dft_json *json, const char *key)
{
	begin(json, key);
	dft_buf_putc(json->buf, '[');
	json->comma = false;
}

void dft_json_array_end(struct dft_json *json)
{
	dft_buf_putc(json->buf, ']');
	json->comma = true;
}

void dft_json_u64(struct dft_json *json, const char *key, uint64_t value)
{
	struct dft_pen pen;

	if (begin_one(&pen, json, key, 0)) {
		dft_pen_u64(&pen, key, value);
		dft_pen_end(&pen, json);
	}
}

void dft_json_i64(struct dft_json *json, const char *key, int64_t value)
{
	struct dft_pen pen;

	if (begin_one(&pen, json, key, 0)) {
		dft_pen_i64(&pen, key, value);
		dft_pen_end(&pen, json);
	}
}

void dft_json_bool(struct dft_json *json, const char *key, bool value)
{
	begin(json, key);
	dft_buf_puts(json->buf, value ? "true" : "false");
}

void dft_json_raw(struct dft_json *json, const char *key, const char *text, size_t len)
{
	begin(json, key);
	dft_buf_append(json->buf, text, len);
}

/*
 * Numbers of up to 15 digits that need no exponent: a whole number divided by a power of ten, both
 * exact in a double, so that the quotient is the double nearest to what is written. NULL: it is none
 * of them.
 */
static char *put_short_f64(char *to, double value)
{
	double size = fabs(value), power = 1;
	uint64_t digits, scale = 1;
	char *end;

	if (size != 0 && size < 1e-4)
		return NULL;
	for (;;) {
		if (size * power >= 1e15)
			return NULL;
		digits = (uint64_t)(size * power + 0.5);
		if ((double)digits / power == size)
			break;
		power *= 10;
		scale *= 10;
	}
	if (signbit(value))
		*to++ = '-';
	to = dft_put_u64(to, digits / scale);
	if (scale == 1)
		return DFT_PUT_LIT(to, WHOLE);
	/* A 1 before the digits keeps their zeros in front; the point takes its place. */
	end = dft_put_u64(to, scale + digits % scale);
	*to = '.';
	return end;
}

static char *put_f64(char *to, double value)
{
	char *end = put_short_f64(to, value);

	if (end)
		return end;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(to, PUT_F64, "%.*g", digits, value);
		if (strtod(to, NULL) == value)
			break;
	}
	end = to + strlen(to);
	return strpbrk(to, ".e") ? end : DFT_PUT_LIT(end, WHOLE);
}

void dft_json_f64(struct dft_json *json, const char *key, double value)
{
	struct dft_pen pen;

	if (!isfinite(value)) {
		dft_json_cstr(json, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
		return;
	}
	if (!begin_one(&pen, json, key, PUT_F64))
		return;
	dft_pen_key(&pen, key);
	pen.at = put_f64(pen.at, value);
	dft_pen_end(&pen, json);
}

void dft_json_quoted_key(struct dft_json *json, const char *quoted, size_t len)
{
	begin(json, NULL);
	dft_buf_append(json->buf, quoted, len);
	dft_buf_putc(json->buf, ':');
	json->comma = false;
}

void dft_json_hash(struct dft_json *json, const char *key, uint64_t value)
{
	struct dft_pen pen;

	if (begin_one(&pen, json, key, 0)) {
		dft_pen_hash(&pen, key, value);
		dft_pen_end(&pen, json);
	}
}

void dft_json_cstr(struct dft_json *json, const char *key, const char *value)
{
	dft_json_str(json, key, value, strlen(value));
}

static char *escape_control(char *to, unsigned char c)
{
	switch (c) {
	case '\n':
		return DFT_PUT_LIT(to, "\\n");
	case '\t':
		return DFT_PUT_LIT(to, "\\t");
	case '\r':
		return DFT_PUT_LIT(to, "\\r");
	case '"':
		return DFT_PUT_LIT(to, "\\\"");
	case '\\':
		return DFT_PUT_LIT(to, "\\\\");
	}
	to = DFT_PUT_LIT(to, "\\u00");
	return dft_put_hex2(to, c);
}

/*
 * Length of the UTF-8 sequence at s (at most `left` bytes), negative: minus the length of the
 * maximal ill-formed part. Table 3-7 of the Unicode standard.
 */
static int utf8_len(const unsigned char *s, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	int need;

	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		need = 1;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		need = 2;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		need = 3;
	else
		return -1;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	for (int i = 1; i <= need; i++) {
		if ((size_t)i >= left || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return need + 1;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* How many bytes from the first on need no escaping: most often all, hence eight at a time. */
static size_t plain_len(const char *bytes, size_t len)
{
	const uint64_t ones = 0x0101010101010101ull;
	size_t i = 0;

	while (len - i >= 8) {
		uint64_t x, quote, backslash;

		memcpy(&x, bytes + i, sizeof(x));
		/*
		 * A byte that is not plain has its highest bit set in one of the terms; others have
		 * not, unless such a one has borrowed from them.
		 */
		quote = (x ^ ones * '"') - ones;
		backslash = (x ^ ones * '\\') - ones;
		if ((x | (x - ones * 0x20) | quote | backslash) & ones * 0x80)
			break;
		i += 8;
	}
	while (i < len && is_plain((unsigned char)bytes[i]))
		i++;
	return i;
}

size_t dft_json_room(const char *bytes, size_t len)
{
	size_t room = plain_len(bytes, len);

	for (size_t i = room; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		room += is_plain(c) ? 1 : c < 0x20 ? strlen("\\u0000") : strlen("\xef\xbf\xbd");
	}
	return room;
}

char *dft_json_escape(char *to, const char *bytes, size_t len, bool *good)
{
	size_t i = plain_len(bytes, len);

	if (i)
		to = dft_put(to, bytes, i);
	while (i < len) {
		const unsigned char *s = (const unsigned char *)bytes + i;
		int n = 1;

		if (is_plain(*s)) {
			*to++ = bytes[i];
		} else if (*s < 0x80) {
			to = escape_control(to, *s);
		} else {
			n = utf8_len(s, len - i);
			if (n > 0) {
				to = dft_put(to, s, (size_t)n);
			} else {
				to = DFT_PUT_LIT(to, "\xef\xbf\xbd");
				*good = false;
				n = -n;
			}
		}
		i += (size_t)n;
	}
	return to;
}

bool dft_json_str(struct dft_json *json, const char *key, const char *bytes, size_t len)
{
	struct dft_pen pen;
	bool good;

	if (!begin_one(&pen, json, key, dft_json_room(bytes, len)))
		return true;
	good = dft_pen_str(&pen, key, bytes, len);
	dft_pen_end(&pen, json);
	return good;
}

void dft_json_hex(struct dft_json *json, const char *key, const char *bytes, size_t len)
{
	struct dft_pen pen;

	if (!begin_one(&pen, json, key, 2 * len))
		return;
	dft_pen_key(&pen, key);
	*pen.at++ = '"';
	for (size_t i = 0; i < len; i++)
		pen.at = dft_put_hex2(pen.at, (unsigned char)bytes[i]);
	*pen.at++ = '"';
	dft_pen_end(&pen, json);
}
