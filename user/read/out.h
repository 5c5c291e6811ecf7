/* SPDX-License-Identifier: MIT */
/*
 * Output for people (safe names, units, aligned tables) and for programs, on stdio. Errors of the
 * stream are left to its error flag, which dft_out_finish() looks at once at the end.
 */
#ifndef DFT_OUT_H
#define DFT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "jsonr.h"

/* Flushes stdout; 0, or -errno after saying what could not be written. */
int dft_out_finish(void);

/*
 * Text of a trace or a file name made fit for a terminal: control bytes, bytes that are not UTF-8
 * and backslashes become escapes. What does not fit is cut and ends in "...". Returns buf.
 */
char *dft_safe(char *buf, size_t cap, struct dft_str s);
char *dft_safe_z(char *buf, size_t cap, const char *s);
/* Room for any name of 4,095 bytes. */
#define DFT_SAFE_SZ (4 * 4096 + 8)

/* 1536 -> "1.5 KiB"; 1500000 ns -> "1.5 ms". buf takes at least 32 bytes. */
#define DFT_UNIT_SZ 32
char *dft_human_bytes(char *buf, uint64_t bytes);
char *dft_human_ns(char *buf, uint64_t ns);

/* Columns that a text takes: characters, not bytes. */
size_t dft_text_width(const char *s);
/* One cell, padded to `width` unless it is longer; with `last` the line ends. */
void dft_print_cell(FILE *f, const char *s, size_t width, char align, bool last);

/* A table whose columns are as wide as their widest cell; cells are given row by row. */
struct dft_table {
	const char *align; /* per column 'l' or 'r'; the last column, if 'l', is not padded */
	size_t cols;
	char **cells;
	size_t cnt;
	size_t cap;
	int err; /* -ENOMEM once memory was short; later cells are ignored */
};

void dft_table_init(struct dft_table *t, const char *align);
void dft_table_add(struct dft_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints and empties the table. 0 or -ENOMEM, then nothing was printed. */
int dft_table_print(struct dft_table *t, FILE *f);

/*
 * A name from a trace in JSON: `key`, and `raw_key` with its bytes in hex when it is not UTF-8.
 * Either key may be NULL.
 */
void dft_out_name(struct dft_json *json, const char *key, const char *raw_key, struct dft_str s);
/* Writes and empties the buffer. 0, or -ENOMEM when memory was short while it was filled. */
int dft_out_buf(struct dft_buf *buf, FILE *f);

#endif
