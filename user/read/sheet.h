/* SPDX-License-Identifier: MIT */
/*
 * Rows with named columns, shown as aligned text, as JSON or as CSV: every command that prints a
 * table prints it through this. A row is written cell by cell, in the order of the columns.
 *
 * JSON is one object with the rows as an array of objects under a name, so that more can stand beside
 * them. CSV is by RFC 4180, with a header line and numbers as they are, without units. In text, columns
 * are as wide as the widest of the first thousand rows: longer tables are not held in memory.
 */
#ifndef DFT_SHEET_H
#define DFT_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "out.h"

enum dft_style {
	DFT_STYLE_TEXT = 0,
	DFT_STYLE_JSON,
	DFT_STYLE_CSV,
};

struct dft_col {
	const char *key;   /* in JSON and CSV; in text too, unless there is a title */
	const char *title;
	bool right;        /* in text: to the right, as numbers are */
};

struct dft_sheet {
	enum dft_style style;
	FILE *f;
	const struct dft_col *cols;
	size_t ncols;
	size_t col;         /* of the next cell */
	uint64_t rows;
	struct dft_buf buf;
	struct dft_json json;
	struct dft_table table;
	char *align;
	size_t *width;      /* NULL while rows are still collected */
	int err;
};

/*
 * `cols` stays the caller's. In JSON the object is open from here on, `name` is the rows' key. 0 or
 * -ENOMEM, which dft_sheet_end() returns, too.
 */
int dft_sheet_begin(struct dft_sheet *s, enum dft_style style, FILE *f, const char *name,
		    const struct dft_col *cols, size_t ncols);

/*
 * The same as one of several arrays in an object that the caller has begun and will end; JSON only. Between
 * the two nothing else is written to `json`. dft_sheet_close() is not called.
 */
int dft_sheet_begin_in(struct dft_sheet *s, struct dft_json *json, const char *name,
		       const struct dft_col *cols, size_t ncols);
int dft_sheet_end_in(struct dft_sheet *s, struct dft_json *json);

/* Cells. A name from a trace is any bytes: what is no UTF-8 is in JSON under KEY_raw, in hex. */
void dft_sheet_name(struct dft_sheet *s, struct dft_str name);
void dft_sheet_text(struct dft_sheet *s, const char *text);
void dft_sheet_u64(struct dft_sheet *s, uint64_t v);
void dft_sheet_i64(struct dft_sheet *s, int64_t v);
void dft_sheet_hash(struct dft_sheet *s, uint64_t v); /* 16 hex digits */
void dft_sheet_bytes(struct dft_sheet *s, uint64_t v); /* with a unit in text */
void dft_sheet_ns(struct dft_sheet *s, uint64_t v);    /* the same */
void dft_sheet_real(struct dft_sheet *s, double v, int decimals);
void dft_sheet_number(struct dft_sheet *s, const char *json); /* a number as it stands in JSON */
void dft_sheet_none(struct dft_sheet *s); /* not known, or does not apply: "-", null, nothing */

/*
 * Ends the rows. In JSON the object remains open: the caller may add members to s->json, and ends it
 * with dft_sheet_close(). 0, or what failed; errors of the stream itself are left to its flag.
 */
int dft_sheet_end(struct dft_sheet *s);
int dft_sheet_close(struct dft_sheet *s);

#endif
