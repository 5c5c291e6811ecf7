// SPDX-License-Identifier: MIT
#include "buf.h"

#include <stdlib.h>
#include <string.h>

char *dft_buf_reserve(struct dft_buf *buf, size_t extra)
{
	size_t cap = buf->cap ? buf->cap : 256;
	char *data;

	if (buf->failed)
		return NULL;
	if (buf->data && extra <= buf->cap - buf->len)
		return buf->data + buf->len;
	if (extra > SIZE_MAX / 2 - buf->len)
		goto failed;
	while (cap - buf->len < extra)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		goto failed;
	buf->data = data;
	buf->cap = cap;
	return data + buf->len;
failed:
	buf->failed = true;
	return NULL;
}

void dft_buf_append(struct dft_buf *buf, const void *data, size_t len)
{
	char *to = dft_buf_reserve(buf, len);

	if (!to || !len)
		return; /* nothing to copy, and perhaps nowhere */
	memcpy(to, data, len);
	buf->len += len;
}

void dft_buf_putc(struct dft_buf *buf, char c)
{
	dft_buf_append(buf, &c, 1);
}

void dft_buf_puts(struct dft_buf *buf, const char *text)
{
	dft_buf_append(buf, text, strlen(text));
}

void dft_buf_u64(struct dft_buf *buf, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	dft_buf_append(buf, digits + i, sizeof(digits) - i);
}

void dft_buf_i64(struct dft_buf *buf, int64_t value)
{
	if (value < 0) {
		dft_buf_putc(buf, '-');
		dft_buf_u64(buf, 0 - (uint64_t)value);
	} else {
		dft_buf_u64(buf, (uint64_t)value);
	}
}

void dft_buf_hex16(struct dft_buf *buf, uint64_t value)
{
	static const char hex[] = "0123456789abcdef";
	char text[16];

	for (int i = 15; i >= 0; i--) {
		text[i] = hex[value & 15];
		value >>= 4;
	}
	dft_buf_append(buf, text, sizeof(text));
}

void dft_buf_free(struct dft_buf *buf)
{
	free(buf->data);
	*buf = (struct dft_buf)DFT_BUF_INIT;
}
