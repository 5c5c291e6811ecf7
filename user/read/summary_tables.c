// SPDX-License-Identifier: MIT
#include "summary_tables.h"

#include <inttypes.h>
#include <string.h>

#include "summary_columns.h"

/* ---- cells ---------------------------------------------------------------------------------- */

struct dft_str dft_cell_str(const struct dft_job *job, uint64_t at)
{
	return dft_strings_at(&job->strings, at);
}

void dft_cell_cut(struct dft_sheet *s, struct dft_str name, size_t max)
{
	char buf[COMMAND_SZ + 4];

	if (s->style != DFT_STYLE_TEXT || name.n <= max) {
		dft_sheet_name(s, name);
		return;
	}
	memcpy(buf, name.s, max - 3);
	memcpy(buf + max - 3, "...", 3);
	dft_sheet_name(s, (struct dft_str){ buf, max });
}

void dft_cell_name(struct dft_sheet *s, const struct dft_job *job, uint64_t at)
{
	dft_cell_cut(s, dft_cell_str(job, at), CELL_SZ);
}

void dft_cell_percent(struct dft_sheet *s, uint64_t n, uint64_t of)
{
	char text[32];

	if (!of) {
		dft_sheet_none(s);
		return;
	}
	snprintf(text, sizeof(text), "%.0f%%", (double)n * 100 / (double)of);
	dft_sheet_text(s, text);
}

void dft_cell_pattern(struct dft_sheet *s, const struct dft_pattern *p, int id)
{
	uint64_t seq = p->consecutive + p->forward, of = p->located - p->first;

	switch (id) {
	case A_CALLS:
		dft_sheet_u64(s, p->calls);
		break;
	case A_LOCATED:
		dft_sheet_u64(s, p->located);
		break;
	case A_FIRST:
		dft_sheet_u64(s, p->first);
		break;
	case A_CONSECUTIVE:
		dft_sheet_u64(s, p->consecutive);
		break;
	case A_SEQUENTIAL:
		dft_sheet_u64(s, seq);
		break;
	case A_RANDOM:
		dft_sheet_u64(s, of - seq);
		break;
	default:
		dft_sheet_u64(s, p->unaligned);
		break;
	}
}

/* Of reads and writes together: one column in text. */
static void share_cell(struct dft_sheet *s, const struct dft_access *a, int id)
{
	struct dft_pattern p = a->way[DFT_WAY_READ];

	dft_pattern_add(&p, &a->way[DFT_WAY_WRITE]);
	dft_cell_percent(s, p.consecutive + (id == A_SEQ_SHARE ? p.forward : 0), p.located - p.first);
}

void dft_cell_access(struct dft_sheet *s, const struct dft_access *a, int id)
{
	if (id == A_SEQ_SHARE || id == A_CONS_SHARE)
		share_cell(s, a, id);
	else if (id >= A_CALLS + A_WRITES)
		dft_cell_pattern(s, &a->way[DFT_WAY_WRITE], id - A_WRITES);
	else
		dft_cell_pattern(s, &a->way[DFT_WAY_READ], id);
}

void dft_cell_file(struct dft_sheet *s, const struct dft_job *job, const struct dft_file *f)
{
	char text[64];

	if (f->name) {
		dft_sheet_name(s, dft_cell_str(job, f->name));
	} else if (s->style == DFT_STYLE_TEXT) {
		snprintf(text, sizeof(text), "(no name for %016" PRIx64 ")", f->hash);
		dft_sheet_text(s, text);
	} else {
		dft_sheet_none(s);
	}
}

void dft_cell_i64(struct dft_sheet *s, bool is, int64_t v)
{
	if (is)
		dft_sheet_i64(s, v);
	else
		dft_sheet_none(s);
}

/* ---- all of them ---------------------------------------------------------------------------- */

const struct dft_sum_table *dft_sum_table(const char *name)
{
	for (size_t i = 0; i < DFT_TABLES_OF_CALLS; i++)
		if (!strcmp(dft_tables_of_calls[i].name, name))
			return &dft_tables_of_calls[i];
	for (size_t i = 0; i < DFT_TABLES_OF_FILES; i++)
		if (!strcmp(dft_tables_of_files[i].name, name))
			return &dft_tables_of_files[i];
	return NULL;
}

const char *dft_sum_table_names(void)
{
	return "operations, classes, access, sizes, frequent-sizes, files, directories, processes, "
	       "processes-by-time, processes-by-bytes, programs, slowest, errors, balance, pipes";
}

size_t dft_sum_table_rows(const struct dft_sum_table *t, const struct dft_job *job)
{
	return t->rows(job);
}

/* What of it may be seen in the job at hand. */
static unsigned int conditions(const struct dft_job *job)
{
	const struct dft_op *op = job->ops.v;
	const struct dft_file *f = job->files.v;
	unsigned int is = job->shed_cnt || job->chosen_cnt ? IF_ROWS : 0;

	for (size_t i = 0; i < job->ops.n; i++)
		is |= op[i].restarted ? IF_RESTARTED : 0;
	for (size_t i = 0; i < job->files.n && !(is & IF_MAPPED); i++)
		is |= dft_mapped_state(job, &f[i]) ? IF_MAPPED : 0;
	return is | (job->ranks ? IF_RANKS : 0);
}

struct chosen {
	struct dft_col cols[MAX_COLUMNS];
	int ids[MAX_COLUMNS];
	size_t n;
};

static void choose(struct chosen *c, const struct dft_sum_table *t, const struct dft_job *job, bool text)
{
	unsigned int is = text ? conditions(job) : ~0u;

	c->n = 0;
	for (size_t i = 0; i < t->ncols && c->n < MAX_COLUMNS; i++) {
		const struct column *col = &t->cols[i];

		if (!(col->when & (text ? TEXT : DATA)) || (col->when & ~(unsigned int)BOTH & ~is))
			continue;
		c->cols[c->n] = (struct dft_col){ col->key, col->title, !col->left };
		c->ids[c->n++] = col->id;
	}
}

static void put_rows(struct dft_sheet *s, const struct dft_sum_table *t, const struct chosen *c,
		     const struct dft_job *job, uint64_t top)
{
	size_t n = t->rows(job);

	if (top && n > top)
		n = (size_t)top;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < c->n; k++)
			t->cell(s, job, i, c->ids[k]);
}

int dft_sum_table_print(const struct dft_sum_table *t, const struct dft_job *job, enum dft_style style,
			uint64_t top, FILE *f)
{
	struct dft_sheet s;
	struct chosen c;
	int err, err2;

	choose(&c, t, job, style == DFT_STYLE_TEXT);
	err = dft_sheet_begin(&s, style, f, t->name, c.cols, c.n);
	if (!err)
		put_rows(&s, t, &c, job, top);
	err = dft_sheet_end(&s);
	err2 = dft_sheet_close(&s);
	return err ? err : err2;
}

int dft_sum_table_json(const struct dft_sum_table *t, const struct dft_job *job, const char *key,
		       uint64_t top, struct dft_json *json)
{
	struct dft_sheet s;
	struct chosen c;

	choose(&c, t, job, false);
	dft_sheet_begin_in(&s, json, key, c.cols, c.n);
	put_rows(&s, t, &c, job, top);
	return dft_sheet_end_in(&s, json);
}
