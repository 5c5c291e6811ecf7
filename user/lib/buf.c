// SPDX-License-Identifier: MIT
#include "buf.h"

#include <endian.h>
#include <stdlib.h>

char *dft_buf_grow(struct dft_buf *buf, size_t extra)
{
	size_t cap = buf->cap ? buf->cap : 256;
	char *data;

	if (buf->failed)
		return NULL;
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

/* ---- numbers, two decimal digits at a time -------------------------------------------------- */

static inline char *put2(char *to, uint32_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	return dft_put(to, pairs + 2 * value, 2);
}

static inline char *put4(char *to, uint32_t value)
{
	return put2(put2(to, value / 100), value % 100);
}

static char *put8(char *to, uint32_t value)
{
	return put4(put4(to, value / 10000), value % 10000);
}

/* Without zeros in front: of up to four digits, and up to eight. */
static inline char *put_max4(char *to, uint32_t value)
{
	if (value >= 1000)
		return put4(to, value);
	if (value >= 100) {
		*to = (char)('0' + value / 100);
		return put2(to + 1, value % 100);
	}
	if (value >= 10)
		return put2(to, value);
	*to = (char)('0' + value);
	return to + 1;
}

static char *put_max8(char *to, uint32_t value)
{
	if (value < 10000)
		return put_max4(to, value);
	return put4(put_max4(to, value / 10000), value % 10000);
}

char *dft_put_u64(char *to, uint64_t value)
{
	uint64_t high = value / 100000000;

	if (!high)
		return put_max8(to, (uint32_t)value);
	if (high < 100000000) {
		to = put_max8(to, (uint32_t)high);
	} else {
		to = put_max4(to, (uint32_t)(high / 100000000));
		to = put8(to, (uint32_t)(high % 100000000));
	}
	return put8(to, (uint32_t)(value % 100000000));
}

char *dft_put_i64(char *to, int64_t value)
{
	if (value >= 0)
		return dft_put_u64(to, (uint64_t)value);
	*to = '-';
	return dft_put_u64(to + 1, 0 - (uint64_t)value);
}

char *dft_put_hex2(char *to, uint8_t value)
{
	static const char digits[] = "0123456789abcdef";

	to[0] = digits[value >> 4];
	to[1] = digits[value & 15];
	return to + 2;
}

/* Half-bytes are spread to bytes, all at the same time, and those above 9 become letters. */
static char *put_hex8(char *to, uint32_t value)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t x = value, letters;

	x = (x << 16 | x) & 0x0000ffff0000ffff;
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	letters = ((x + ones * 6) >> 4) & ones;
	x += ones * '0' + letters * ('a' - '0' - 10);
	x = htobe64(x); /* the highest digit comes first */
	return dft_put(to, &x, sizeof(x));
}

char *dft_put_hex16(char *to, uint64_t value)
{
	return put_hex8(put_hex8(to, (uint32_t)(value >> 32)), (uint32_t)value);
}

/* ---- appending ------------------------------------------------------------------------------ */

void dft_buf_append(struct dft_buf *buf, const void *data, size_t len)
{
	char *to = dft_buf_reserve(buf, len);

	if (to && len) /* else nothing to copy, and perhaps nowhere */
		dft_buf_filled(buf, dft_put(to, data, len));
}

void dft_buf_puts(struct dft_buf *buf, const char *text)
{
	dft_buf_append(buf, text, strlen(text));
}

void dft_buf_u64(struct dft_buf *buf, uint64_t value)
{
	char *to = dft_buf_reserve(buf, DFT_PUT_INT);

	if (to)
		dft_buf_filled(buf, dft_put_u64(to, value));
}

void dft_buf_i64(struct dft_buf *buf, int64_t value)
{
	char *to = dft_buf_reserve(buf, DFT_PUT_INT);

	if (to)
		dft_buf_filled(buf, dft_put_i64(to, value));
}

void dft_buf_hex16(struct dft_buf *buf, uint64_t value)
{
	char *to = dft_buf_reserve(buf, DFT_PUT_HEX);

	if (to)
		dft_buf_filled(buf, dft_put_hex16(to, value));
}

void dft_buf_free(struct dft_buf *buf)
{
	free(buf->data);
	*buf = (struct dft_buf)DFT_BUF_INIT;
}
