/* SPDX-License-Identifier: MIT */
/*
 * Growing byte buffer. A failed allocation is remembered in `failed` and later appends do nothing,
 * so that a writer checks once at the end instead of after each byte. Who writes much reserves room
 * once, fills it with the dft_put_*() functions and says at the end how far it came.
 */
#ifndef DFT_BUF_H
#define DFT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dft_buf {
	char *data;
	size_t len, cap;
	bool failed;
};

#define DFT_BUF_INIT { 0 }

/* The part of dft_buf_reserve() for when the room is not there yet. */
char *dft_buf_grow(struct dft_buf *buf, size_t extra);

/* Room for `extra` more bytes; NULL and `failed` when there is no memory. */
static inline char *dft_buf_reserve(struct dft_buf *buf, size_t extra)
{
	if (!buf->failed && buf->data && extra <= buf->cap - buf->len)
		return buf->data + buf->len;
	return dft_buf_grow(buf, extra);
}

/* Room that was reserved is filled up to `end`. */
static inline void dft_buf_filled(struct dft_buf *buf, const char *end)
{
	buf->len = (size_t)(end - buf->data);
}

static inline void dft_buf_putc(struct dft_buf *buf, char c)
{
	char *to = dft_buf_reserve(buf, 1);

	if (to) {
		*to = c;
		buf->len++;
	}
}

void dft_buf_append(struct dft_buf *buf, const void *data, size_t len);
void dft_buf_puts(struct dft_buf *buf, const char *text);
void dft_buf_u64(struct dft_buf *buf, uint64_t value);
void dft_buf_i64(struct dft_buf *buf, int64_t value);
void dft_buf_hex16(struct dft_buf *buf, uint64_t value);
void dft_buf_free(struct dft_buf *buf);

#define DFT_BUF_LIT(buf, lit) dft_buf_append((buf), (lit), sizeof(lit) - 1)

/* ---- into reserved room: each returns the end of what it wrote ------------------------------- */

#define DFT_PUT_INT 20 /* room that any integer fits in */
#define DFT_PUT_HEX 16 /* of dft_put_hex16() */

static inline char *dft_put(char *to, const void *data, size_t len)
{
	memcpy(to, data, len);
	return to + len;
}

#define DFT_PUT_LIT(to, lit) dft_put((to), (lit), sizeof(lit) - 1)

char *dft_put_u64(char *to, uint64_t value);
char *dft_put_i64(char *to, int64_t value);
char *dft_put_hex2(char *to, uint8_t value); /* lower-case, as all hex digits here */
char *dft_put_hex16(char *to, uint64_t value);

#endif
