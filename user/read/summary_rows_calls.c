// SPDX-License-Identifier: MIT
/* Tables of operations, access, single calls, and of how they are shared. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "summary_columns.h"

/* ---- operations ----------------------------------------------------------------------------- */

enum { O_NAME, O_CAT, O_CLASS, O_CALLS, O_ROWS, O_ERRORS, O_RESTARTED, O_BYTES, O_TIME, O_MEAN, O_P50,
       O_P95, O_P99, O_MAX };

static const struct column op_cols[] = {
	{ "name", "operation", true, BOTH, O_NAME }, { "cat", NULL, true, BOTH, O_CAT },
	{ "class", NULL, true, DATA, O_CLASS },
	{ "calls", NULL, false, BOTH, O_CALLS }, { "aggregated", NULL, false, BOTH | IF_ROWS, O_ROWS },
	{ "errors", NULL, false, BOTH, O_ERRORS },
	{ "restarted", NULL, false, BOTH | IF_RESTARTED, O_RESTARTED },
	{ "bytes", NULL, false, BOTH, O_BYTES }, { "time_ns", "time", false, BOTH, O_TIME },
	{ "mean_ns", "mean", false, BOTH, O_MEAN }, { "p50_ns", "p50", false, BOTH, O_P50 },
	{ "p95_ns", "p95", false, BOTH, O_P95 }, { "p99_ns", "p99", false, BOTH, O_P99 },
	{ "max_ns", "max", false, BOTH, O_MAX },
};

/* The middle of a bin may be beyond the longest call. */
static void quantile(struct dft_sheet *s, const struct dft_op *op, unsigned int permille)
{
	uint64_t v = dft_hist_quantile(&op->hist, permille);

	if (op->hist.total)
		dft_sheet_ns(s, v < op->max_ns ? v : op->max_ns);
	else
		dft_sheet_none(s);
}

static void op_cell(struct dft_sheet *s, const struct dft_job *job, const struct dft_op *op, int id)
{
	bool text = s->style == DFT_STYLE_TEXT;

	switch (id) {
	case O_NAME:
		dft_cell_name(s, job, op->name);
		break;
	case O_CAT:
		dft_cell_name(s, job, op->cat);
		break;
	case O_CLASS:
		dft_sheet_text(s, dft_class_name(op->class));
		break;
	case O_CALLS:
		dft_sheet_u64(s, op->calls);
		break;
	case O_ROWS:
		dft_sheet_u64(s, op->in_rows);
		break;
	case O_ERRORS:
		dft_sheet_u64(s, op->errors);
		break;
	case O_RESTARTED:
		dft_sheet_u64(s, op->restarted);
		break;
	case O_BYTES:
		if (text && !op->bytes && !op->dir)
			dft_sheet_none(s);
		else
			dft_sheet_bytes(s, op->bytes);
		break;
	case O_TIME:
		dft_sheet_ns(s, op->time_ns);
		break;
	case O_MEAN:
		dft_sheet_ns(s, op->calls ? op->time_ns / op->calls : 0);
		break;
	case O_MAX:
		/* Tallies of some writers do not keep the longest. */
		if (text && !op->max_ns && op->time_ns)
			dft_sheet_none(s);
		else
			dft_sheet_ns(s, op->max_ns);
		break;
	default:
		quantile(s, op, id == O_P50 ? 500 : id == O_P95 ? 950 : 990);
	}
}

static size_t op_rows(const struct dft_job *job)
{
	return job->ops.n;
}

static void op_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	op_cell(s, job, (const struct dft_op *)job->ops.v + i, id);
}

static size_t pipe_rows(const struct dft_job *job)
{
	return job->pipes.n;
}

static void pipe_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	op_cell(s, job, (const struct dft_op *)job->pipes.v + i, id);
}

static const struct column pipe_cols[] = {
	{ "name", "operation", true, BOTH, O_NAME }, { "cat", NULL, true, BOTH, O_CAT },
	{ "calls", NULL, false, BOTH, O_CALLS }, { "aggregated", NULL, false, DATA, O_ROWS },
	{ "errors", NULL, false, BOTH, O_ERRORS }, { "restarted", NULL, false, DATA, O_RESTARTED },
	{ "bytes", NULL, false, BOTH, O_BYTES }, { "time_ns", "time", false, BOTH, O_TIME },
	{ "mean_ns", "mean", false, BOTH, O_MEAN }, { "max_ns", "max", false, BOTH, O_MAX },
};

/* ---- classes of operations ------------------------------------------------------------------ */

enum { C_NAME, C_KIND, C_CALLS, C_ERRORS, C_BYTES, C_TIME };

static const struct column class_cols[] = {
	{ "class", NULL, true, BOTH, C_NAME }, { "kind", NULL, true, BOTH, C_KIND },
	{ "calls", NULL, false, BOTH, C_CALLS }, { "errors", NULL, false, BOTH, C_ERRORS },
	{ "bytes", NULL, false, BOTH, C_BYTES }, { "time_ns", "time", false, BOTH, C_TIME },
};

static size_t class_rows(const struct dft_job *job)
{
	size_t n = 0;

	for (int c = 0; c < DFT_CLASSES; c++)
		n += job->classes[c].calls != 0;
	return n;
}

static void class_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_class_sum *sum = job->classes;
	enum dft_class c;

	/* Only those with calls are rows. */
	while (!sum->calls || i--)
		sum++;
	c = (enum dft_class)(sum - job->classes);
	if (id == C_NAME)
		dft_sheet_text(s, dft_class_name(c));
	else if (id == C_KIND)
		dft_sheet_text(s, dft_class_is_data(c) ? "data" : dft_class_is_meta(c) ? "metadata" : "other");
	else if (id == C_BYTES)
		dft_sheet_bytes(s, sum->bytes);
	else if (id == C_TIME)
		dft_sheet_ns(s, sum->time_ns);
	else
		dft_sheet_u64(s, id == C_CALLS ? sum->calls : sum->errors);
}

/* ---- access --------------------------------------------------------------------------------- */

enum { S_SIZE, S_READS, S_WRITES, S_WAY, S_CALLS, S_MAX };

static const struct column access_cols[] = {
	{ "way", "access", true, BOTH, S_WAY },
	{ "calls", NULL, false, BOTH, A_CALLS }, { "located", "with offset", false, BOTH, A_LOCATED },
	{ "first", NULL, false, DATA, A_FIRST }, { "consecutive", NULL, false, DATA, A_CONSECUTIVE },
	{ "sequential", NULL, false, DATA, A_SEQUENTIAL }, { "random", NULL, false, DATA, A_RANDOM },
	{ "unaligned", NULL, false, DATA, A_UNALIGNED },
	{ "consecutive", NULL, false, TEXT, A_CONSECUTIVE + 1000 },
	{ "sequential", NULL, false, TEXT, A_SEQUENTIAL + 1000 },
	{ "random", NULL, false, TEXT, A_RANDOM + 1000 },
	{ "unaligned", NULL, false, TEXT, A_UNALIGNED + 1000 },
};

static size_t access_rows(const struct dft_job *job)
{
	return job->total.way[0].calls || job->total.way[1].calls ? DFT_WAYS : 0;
}

static void access_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_pattern *p = &job->total.way[i];
	uint64_t of = p->located - p->first, seq = p->consecutive + p->forward;

	if (id == S_WAY)
		dft_sheet_text(s, i == DFT_WAY_READ ? "read" : "write");
	else if (id == A_CONSECUTIVE + 1000)
		dft_cell_percent(s, p->consecutive, of);
	else if (id == A_SEQUENTIAL + 1000)
		dft_cell_percent(s, seq, of);
	else if (id == A_RANDOM + 1000)
		dft_cell_percent(s, of - seq, of);
	else if (id == A_UNALIGNED + 1000)
		dft_cell_percent(s, p->unaligned, p->located);
	else
		dft_cell_pattern(s, p, id);
}

static const struct column size_cols[] = {
	{ "size", NULL, false, BOTH, S_SIZE }, { "max_bytes", NULL, false, DATA, S_MAX },
	{ "reads", NULL, false, BOTH, S_READS }, { "writes", NULL, false, BOTH, S_WRITES },
};

static size_t size_rows(const struct dft_job *job)
{
	(void)job;
	return DFT_BINS;
}

static void size_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	if (id == S_SIZE)
		dft_sheet_text(s, dft_bin_name((unsigned int)i));
	else if (id == S_MAX && i + 1 == DFT_BINS)
		dft_sheet_none(s);
	else
		dft_sheet_u64(s, id == S_MAX ? dft_bin_max((unsigned int)i) :
				 job->sizes[id == S_READS ? DFT_WAY_READ : DFT_WAY_WRITE].bins[i]);
}

static const struct column frequent_cols[] = {
	{ "calls", NULL, false, BOTH, S_CALLS }, { "way", "access", true, BOTH, S_WAY },
	{ "size", NULL, false, BOTH, S_SIZE },
};

static size_t frequent_rows(const struct dft_job *job)
{
	return job->frequent.n;
}

static void frequent_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_size *z = (const struct dft_size *)job->frequent.v + i;

	if (id == S_WAY)
		dft_sheet_text(s, z->way == DFT_WAY_READ ? "read" : "write");
	else if (id == S_CALLS)
		dft_sheet_u64(s, z->calls);
	else
		dft_sheet_u64(s, z->size);
}

/* ---- longest calls, failures, balance ------------------------------------------------------- */

enum { L_TIME, L_TS, L_AFTER, L_OP, L_CAT, L_BYTES, L_PID, L_TID, L_FILE, L_ERR, L_ERRNO, L_CALLS };

static const struct column slow_cols[] = {
	{ "dur_ns", "time", false, BOTH, L_TIME }, { "ts_us", NULL, false, DATA, L_TS },
	{ "after_ns", "begin", false, TEXT, L_AFTER }, { "operation", NULL, true, BOTH, L_OP },
	{ "cat", NULL, true, DATA, L_CAT }, { "bytes", NULL, false, BOTH, L_BYTES },
	{ "pid", NULL, false, BOTH, L_PID }, { "tid", NULL, false, BOTH, L_TID },
	{ "file", NULL, true, BOTH, L_FILE },
};

static size_t slow_rows(const struct dft_job *job)
{
	return job->slow.n;
}

static void slow_file_cell(struct dft_sheet *s, const struct dft_job *job, const struct dft_slow *l)
{
	const uint64_t *at = l->has_file ? dft_index_get(&job->file_at, l->file) : NULL;

	if (at && *at < job->files.n)
		dft_cell_file(s, job, (const struct dft_file *)job->files.v + *at);
	else
		dft_sheet_none(s);
}

static void slow_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_slow *l = (const struct dft_slow *)job->slow.v + i;
	const struct dft_op *op = (const struct dft_op *)job->ops.v + l->op;

	switch (id) {
	case L_TIME:
		dft_sheet_ns(s, l->dur_ns);
		break;
	case L_TS:
		dft_sheet_u64(s, l->ts_ns / 1000);
		break;
	case L_AFTER:
		dft_sheet_ns(s, l->ts_ns > job->first_ns ? l->ts_ns - job->first_ns : 0);
		break;
	case L_OP:
		dft_cell_name(s, job, op->name);
		break;
	case L_CAT:
		dft_cell_name(s, job, op->cat);
		break;
	case L_BYTES:
		if (l->has_bytes)
			dft_sheet_bytes(s, l->bytes);
		else
			dft_sheet_none(s);
		break;
	case L_PID:
		dft_sheet_u64(s, l->pid);
		break;
	case L_TID:
		dft_sheet_u64(s, l->tid);
		break;
	default:
		slow_file_cell(s, job, l);
	}
}

static const struct column failure_cols[] = {
	{ "calls", NULL, false, BOTH, L_CALLS }, { "operation", NULL, true, BOTH, L_OP },
	{ "cat", NULL, true, DATA, L_CAT }, { "error", NULL, true, BOTH, L_ERR },
	{ "errno", NULL, false, DATA, L_ERRNO },
};

static size_t failure_rows(const struct dft_job *job)
{
	return job->failures.n;
}

static void error_cell(struct dft_sheet *s, int64_t err)
{
	const char *name = err ? strerrorname_np((int)err) : NULL;
	char text[128];

	if (!err && s->style == DFT_STYLE_TEXT) {
		dft_sheet_text(s, "not told");
	} else if (!err) {
		dft_sheet_none(s);
	} else if (s->style == DFT_STYLE_TEXT && name) {
		snprintf(text, sizeof(text), "%s: %s", name, strerror((int)err));
		dft_sheet_text(s, text);
	} else {
		snprintf(text, sizeof(text), "errno %" PRId64, err);
		dft_sheet_text(s, name ? name : text);
	}
}

static void failure_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_failure *f = (const struct dft_failure *)job->failures.v + i;
	const struct dft_op *op = (const struct dft_op *)job->ops.v + f->op;

	if (id == L_CALLS)
		dft_sheet_u64(s, f->calls);
	else if (id == L_OP || id == L_CAT)
		dft_cell_name(s, job, id == L_OP ? op->name : op->cat);
	else if (id == L_ERRNO)
		dft_cell_i64(s, f->err != 0, f->err);
	else
		error_cell(s, f->err);
}

enum { B_WHAT, B_MIN, B_MEAN, B_MAX, B_DEV, B_WHO };

static const struct column balance_cols[] = {
	{ "what", NULL, true, BOTH, B_WHAT }, { "min", NULL, false, BOTH, B_MIN },
	{ "mean", NULL, false, BOTH, B_MEAN }, { "max", NULL, false, BOTH, B_MAX },
	{ "stddev", NULL, false, BOTH, B_DEV }, { "max_of", "max of", false, BOTH, B_WHO },
};

static size_t balance_rows(const struct dft_job *job)
{
	return job->parts.n > 1 ? 2 : 0;
}

static void amount(struct dft_sheet *s, bool time, double v, bool real)
{
	uint64_t n = v >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)v;

	if (real && s->style != DFT_STYLE_TEXT)
		dft_sheet_real(s, v, 3);
	else if (time)
		dft_sheet_ns(s, n);
	else
		dft_sheet_bytes(s, n);
}

static void balance_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_balance *b = &job->balance[i];

	switch (id) {
	case B_WHAT:
		dft_sheet_text(s, s->style == DFT_STYLE_TEXT && i ? "time in calls" : b->what);
		break;
	case B_MIN:
	case B_MAX:
		if (i)
			dft_sheet_ns(s, id == B_MIN ? b->min : b->max);
		else
			dft_sheet_bytes(s, id == B_MIN ? b->min : b->max);
		break;
	case B_MEAN:
		amount(s, i, b->mean, true);
		break;
	case B_DEV:
		amount(s, i, b->stddev, true);
		break;
	default:
		dft_sheet_u64(s, b->max_id);
	}
}

#define TABLE DFT_SUM_TABLE

const struct dft_sum_table dft_tables_of_calls[DFT_TABLES_OF_CALLS] = {
	TABLE("operations", op_cols, op_rows, op_row),
	TABLE("classes", class_cols, class_rows, class_row),
	TABLE("access", access_cols, access_rows, access_row),
	TABLE("sizes", size_cols, size_rows, size_row),
	TABLE("frequent-sizes", frequent_cols, frequent_rows, frequent_row),
	TABLE("slowest", slow_cols, slow_rows, slow_row),
	TABLE("errors", failure_cols, failure_rows, failure_row),
	TABLE("balance", balance_cols, balance_rows, balance_row),
	TABLE("pipes", pipe_cols, pipe_rows, pipe_row),
};
