/* SPDX-License-Identifier: MIT */
/*
 * Growing byte buffer. A failed allocation is remembered in `failed` and later appends do nothing,
 * so that a writer checks once at the end instead of after each byte.
 */
#ifndef DFT_BUF_H
#define DFT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dft_buf {
	char *data;
	size_t len, cap;
	bool failed;
};

#define DFT_BUF_INIT { 0 }

/* Room for `extra` more bytes; NULL and `failed` when there is no memory. */
char *dft_buf_reserve(struct dft_buf *buf, size_t extra);
void dft_buf_append(struct dft_buf *buf, const void *data, size_t len);
void dft_buf_putc(struct dft_buf *buf, char c);
void dft_buf_puts(struct dft_buf *buf, const char *text);
void dft_buf_u64(struct dft_buf *buf, uint64_t value);
void dft_buf_i64(struct dft_buf *buf, int64_t value);
void dft_buf_hex16(struct dft_buf *buf, uint64_t value); /* 16 lower-case hex digits */
void dft_buf_free(struct dft_buf *buf);

#define DFT_BUF_LIT(buf, lit) dft_buf_append((buf), (lit), sizeof(lit) - 1)

#endif
