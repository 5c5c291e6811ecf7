// SPDX-License-Identifier: MIT
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void begin(struct dft_json *json, const char *key)
{
	if (json->comma)
		dft_buf_putc(json->buf, ',');
	json->comma = true;
	if (key) {
		dft_buf_putc(json->buf, '"');
		dft_buf_puts(json->buf, key);
		DFT_BUF_LIT(json->buf, "\":");
	}
}

void dft_json_object(struct dft_json *json, const char *key)
{
	begin(json, key);
	dft_buf_putc(json->buf, '{');
	json->comma = false;
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
	begin(json, key);
	dft_buf_u64(json->buf, value);
}

void dft_json_i64(struct dft_json *json, const char *key, int64_t value)
{
	begin(json, key);
	dft_buf_i64(json->buf, value);
}

void dft_json_bool(struct dft_json *json, const char *key, bool value)
{
	begin(json, key);
	dft_buf_puts(json->buf, value ? "true" : "false");
}

void dft_json_f64(struct dft_json *json, const char *key, double value)
{
	char text[40];

	if (!isfinite(value)) {
		dft_json_cstr(json, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	begin(json, key);
	dft_buf_puts(json->buf, text);
	if (!strpbrk(text, ".e"))
		DFT_BUF_LIT(json->buf, ".0"); /* readers tell by this that it was no integer */
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
	begin(json, key);
	dft_buf_putc(json->buf, '"');
	dft_buf_hex16(json->buf, value);
	dft_buf_putc(json->buf, '"');
}

void dft_json_cstr(struct dft_json *json, const char *key, const char *value)
{
	dft_json_str(json, key, value, strlen(value));
}

static void escape_control(struct dft_buf *buf, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	switch (c) {
	case '\n':
		DFT_BUF_LIT(buf, "\\n");
		break;
	case '\t':
		DFT_BUF_LIT(buf, "\\t");
		break;
	case '\r':
		DFT_BUF_LIT(buf, "\\r");
		break;
	case '"':
		DFT_BUF_LIT(buf, "\\\"");
		break;
	case '\\':
		DFT_BUF_LIT(buf, "\\\\");
		break;
	default:
		dft_buf_append(buf, text, sizeof(text));
	}
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

bool dft_json_str(struct dft_json *json, const char *key, const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t plain = 0, i = 0;
	bool good = true;

	begin(json, key);
	dft_buf_putc(json->buf, '"');
	if (!len)
		bytes = ""; /* may be NULL, to which nothing can be added */
	while (i < len) {
		int n;

		if (s[i] >= 0x20 && s[i] < 0x80 && s[i] != '"' && s[i] != '\\') {
			i++;
			continue;
		}
		if (s[i] >= 0x80) {
			n = utf8_len(s + i, len - i);
			if (n > 0) {
				i += (size_t)n;
				continue;
			}
			good = false;
		} else {
			n = -1;
		}
		dft_buf_append(json->buf, bytes + plain, i - plain);
		if (s[i] >= 0x80)
			DFT_BUF_LIT(json->buf, "\xef\xbf\xbd");
		else
			escape_control(json->buf, s[i]);
		i += (size_t)-n;
		plain = i;
	}
	dft_buf_append(json->buf, bytes + plain, len - plain);
	dft_buf_putc(json->buf, '"');
	return good;
}

void dft_json_hex(struct dft_json *json, const char *key, const char *bytes, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	begin(json, key);
	dft_buf_putc(json->buf, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		dft_buf_putc(json->buf, hex[c >> 4]);
		dft_buf_putc(json->buf, hex[c & 15]);
	}
	dft_buf_putc(json->buf, '"');
}
