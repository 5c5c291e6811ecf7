// SPDX-License-Identifier: MIT
#include "sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MEASURED    1000        /* rows */
#define BUFFERED    (64u << 10) /* bytes of JSON */
#define MAX_COL_KEY 64

int dft_sheet_begin(struct dft_sheet *s, enum dft_style style, FILE *f, const char *name,
		    const struct dft_col *cols, size_t ncols)
{
	memset(s, 0, sizeof(*s));
	s->style = style;
	s->f = f;
	s->cols = cols;
	s->ncols = ncols;
	s->json.buf = &s->buf;
	if (style == DFT_STYLE_JSON) {
		dft_json_object(&s->json, NULL);
		dft_json_array(&s->json, name);
		return 0;
	}
	if (style == DFT_STYLE_TEXT) {
		s->align = calloc(ncols + 1, 1);
		if (!s->align)
			return s->err = -ENOMEM;
		for (size_t i = 0; i < ncols; i++)
			s->align[i] = cols[i].right ? 'r' : 'l';
		dft_table_init(&s->table, s->align);
	}
	for (size_t i = 0; i < ncols; i++)
		dft_sheet_text(s, style == DFT_STYLE_TEXT && cols[i].title ? cols[i].title : cols[i].key);
	s->rows = 0;
	return s->err;
}

int dft_sheet_begin_in(struct dft_sheet *s, struct dft_json *json, const char *name,
		       const struct dft_col *cols, size_t ncols)
{
	memset(s, 0, sizeof(*s));
	s->style = DFT_STYLE_JSON;
	s->cols = cols;
	s->ncols = ncols;
	s->json = *json;
	dft_json_array(&s->json, name);
	return 0;
}

int dft_sheet_end_in(struct dft_sheet *s, struct dft_json *json)
{
	dft_json_array_end(&s->json);
	*json = s->json;
	return s->err;
}

/* From here on rows are printed as they come. */
static void fix_widths(struct dft_sheet *s)
{
	int err;

	s->width = calloc(s->ncols, sizeof(*s->width));
	if (!s->width) {
		s->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < s->table.cnt; i++) {
		size_t w = dft_text_width(s->table.cells[i]);

		if (w > s->width[i % s->ncols])
			s->width[i % s->ncols] = w;
	}
	err = dft_table_print(&s->table, s->f);
	if (err)
		s->err = err;
}

static void row_done(struct dft_sheet *s)
{
	s->col = 0;
	s->rows++;
	if (s->style == DFT_STYLE_JSON) {
		dft_json_object_end(&s->json);
		if (s->buf.len >= BUFFERED && dft_out_buf(&s->buf, s->f))
			s->err = -ENOMEM;
	} else if (s->style == DFT_STYLE_CSV) {
		fputs("\r\n", s->f);
	} else if (!s->width && s->rows > MEASURED) {
		fix_widths(s);
	}
}

/* Where the cell begins; its key, or NULL when the cell is not JSON. */
static const char *cell_key(struct dft_sheet *s)
{
	const char *key = s->cols[s->col].key;

	if (s->style == DFT_STYLE_JSON) {
		if (!s->col)
			dft_json_object(&s->json, NULL);
		return key;
	}
	if (s->style == DFT_STYLE_CSV && s->col)
		fputc(',', s->f);
	return NULL;
}

static void cell_done(struct dft_sheet *s)
{
	if (++s->col == s->ncols)
		row_done(s);
}

static void text_cell(struct dft_sheet *s, const char *text)
{
	bool last = s->col + 1 == s->ncols;

	if (s->err)
		return;
	if (s->width) {
		dft_print_cell(s->f, text, s->width[s->col], s->align[s->col], last);
		return;
	}
	dft_table_add(&s->table, "%s", text);
	if (s->table.err)
		s->err = s->table.err;
}

/* Quoted when it has to be. */
static void csv_cell(struct dft_sheet *s, struct dft_str v)
{
	bool plain = true;

	for (size_t i = 0; i < v.n && plain; i++)
		plain = !strchr(",\"\r\n", v.s[i]) || !v.s[i];
	if (plain) {
		fwrite(v.s, 1, v.n, s->f);
		return;
	}
	fputc('"', s->f);
	for (size_t i = 0; i < v.n; i++) {
		if (v.s[i] == '"')
			fputc('"', s->f);
		fputc(v.s[i], s->f);
	}
	fputc('"', s->f);
}

void dft_sheet_name(struct dft_sheet *s, struct dft_str name)
{
	const char *key = cell_key(s);
	char raw[MAX_COL_KEY], *safe;

	if (key) {
		snprintf(raw, sizeof(raw), "%s_raw", key);
		dft_out_name(&s->json, key, raw, name);
	} else if (s->style == DFT_STYLE_CSV) {
		csv_cell(s, name);
	} else {
		safe = malloc(DFT_SAFE_SZ);
		if (safe)
			text_cell(s, dft_safe(safe, DFT_SAFE_SZ, name));
		else
			s->err = -ENOMEM;
		free(safe);
	}
	cell_done(s);
}

void dft_sheet_text(struct dft_sheet *s, const char *text)
{
	dft_sheet_name(s, (struct dft_str){ text, strlen(text) });
}

/* A number that JSON takes as one, and that `shown` shows in text. */
static void number(struct dft_sheet *s, const char *exact, const char *shown)
{
	if (s->style == DFT_STYLE_CSV)
		fputs(exact, s->f);
	else if (s->style == DFT_STYLE_TEXT)
		text_cell(s, shown);
	cell_done(s);
}

void dft_sheet_u64(struct dft_sheet *s, uint64_t v)
{
	const char *key = cell_key(s);
	char text[24];

	if (key)
		dft_json_u64(&s->json, key, v);
	snprintf(text, sizeof(text), "%" PRIu64, v);
	number(s, text, text);
}

void dft_sheet_i64(struct dft_sheet *s, int64_t v)
{
	const char *key = cell_key(s);
	char text[24];

	if (key)
		dft_json_i64(&s->json, key, v);
	snprintf(text, sizeof(text), "%" PRId64, v);
	number(s, text, text);
}

void dft_sheet_hash(struct dft_sheet *s, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, v);
	dft_sheet_text(s, text);
}

void dft_sheet_bytes(struct dft_sheet *s, uint64_t v)
{
	const char *key = cell_key(s);
	char text[24], shown[DFT_UNIT_SZ];

	if (key)
		dft_json_u64(&s->json, key, v);
	snprintf(text, sizeof(text), "%" PRIu64, v);
	number(s, text, dft_human_bytes(shown, v));
}

void dft_sheet_ns(struct dft_sheet *s, uint64_t v)
{
	const char *key = cell_key(s);
	char text[24], shown[DFT_UNIT_SZ];

	if (key)
		dft_json_u64(&s->json, key, v);
	snprintf(text, sizeof(text), "%" PRIu64, v);
	number(s, text, dft_human_ns(shown, v));
}

void dft_sheet_real(struct dft_sheet *s, double v, int decimals)
{
	const char *key = cell_key(s);
	char text[64];

	snprintf(text, sizeof(text), "%.*f", decimals, v);
	if (key)
		dft_json_raw(&s->json, key, text, strlen(text));
	number(s, text, text);
}

void dft_sheet_number(struct dft_sheet *s, const char *json)
{
	const char *key = cell_key(s);

	if (key)
		dft_json_raw(&s->json, key, json, strlen(json));
	number(s, json, json);
}

void dft_sheet_none(struct dft_sheet *s)
{
	const char *key = cell_key(s);

	if (key)
		dft_json_raw(&s->json, key, "null", strlen("null"));
	number(s, "", "-");
}

int dft_sheet_end(struct dft_sheet *s)
{
	int err;

	if (s->style == DFT_STYLE_JSON) {
		dft_json_array_end(&s->json);
		return s->err;
	}
	if (s->style == DFT_STYLE_TEXT) {
		err = dft_table_print(&s->table, s->f);
		if (err)
			s->err = err;
	}
	free(s->align);
	free(s->width);
	s->align = NULL;
	s->width = NULL;
	return s->err;
}

int dft_sheet_close(struct dft_sheet *s)
{
	if (s->style == DFT_STYLE_JSON) {
		dft_json_object_end(&s->json);
		dft_buf_putc(&s->buf, '\n');
		if (dft_out_buf(&s->buf, s->f))
			s->err = -ENOMEM;
	}
	dft_buf_free(&s->buf);
	return s->err;
}
