// SPDX-License-Identifier: MIT
/* Tables of files and directories, processes and programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "summary_columns.h"

/* ---- files, directories --------------------------------------------------------------------- */

enum { F_NAME, F_HASH, F_READ, F_WRITTEN, F_MAPPED, F_MAPPED_BYTES, F_CALLS, F_OPENS, F_ERRORS, F_TIME,
       F_META, F_PROCS, F_PROCS_MORE, F_RANKS, F_RANKS_MORE, F_FILES };

static const struct column file_cols[] = {
	{ "name", NULL, false, DATA, F_NAME }, { "fhash", NULL, false, DATA, F_HASH },
	{ "read", NULL, false, BOTH, F_READ }, { "written", NULL, false, BOTH, F_WRITTEN },
	{ "mapped_bytes", NULL, false, DATA, F_MAPPED_BYTES },
	{ "mapped", NULL, false, BOTH | IF_MAPPED, F_MAPPED }, { "calls", NULL, false, BOTH, F_CALLS },
	{ "opens", NULL, false, BOTH, F_OPENS }, { "errors", NULL, false, BOTH, F_ERRORS },
	{ "time_ns", "time", false, BOTH, F_TIME }, { "metadata_ns", "metadata", false, BOTH, F_META },
	{ "processes", "procs", false, BOTH, F_PROCS }, { "processes_more", NULL, false, DATA, F_PROCS_MORE },
	{ "ranks", NULL, false, BOTH | IF_RANKS, F_RANKS }, { "ranks_more", NULL, false, DATA, F_RANKS_MORE },
	{ "sequential", "seq", false, TEXT, A_SEQ_SHARE }, { "consecutive", "cons", false, TEXT, A_CONS_SHARE },
	ACCESS_COLUMNS("read", 0), ACCESS_COLUMNS("write", A_WRITES),
	{ "file", NULL, true, TEXT, F_NAME },
};

static size_t file_rows(const struct dft_job *job)
{
	return job->files.n;
}

/* By page faults; "+": and perhaps more, that was not seen. */
static void mapped_cell(struct dft_sheet *s, const struct dft_job *job, const struct dft_file *f)
{
	const char *state = dft_mapped_state(job, f);
	char bytes[DFT_UNIT_SZ], text[DFT_UNIT_SZ + 1];

	if (!state) {
		dft_sheet_none(s);
	} else if (s->style != DFT_STYLE_TEXT) {
		dft_sheet_text(s, state);
	} else if (!strcmp(state, "known") || f->faulted) {
		snprintf(text, sizeof(text), "%s%s", dft_human_bytes(bytes, f->faulted),
			 strcmp(state, "known") ? "+" : "");
		dft_sheet_text(s, text);
	} else {
		dft_sheet_text(s, state);
	}
}

/* A number that may be larger: ">=12" in text; in data there is a column beside it. */
static void at_least(struct dft_sheet *s, uint64_t n, bool more)
{
	char text[32];

	if (s->style != DFT_STYLE_TEXT || !more) {
		dft_sheet_u64(s, n);
		return;
	}
	snprintf(text, sizeof(text), ">=%" PRIu64, n);
	dft_sheet_text(s, text);
}

static void file_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	static const struct dft_access none;
	const struct dft_file *f = (const struct dft_file *)job->files.v + i;

	switch (id) {
	case F_NAME:
		dft_cell_file(s, job, f);
		break;
	case F_HASH:
		dft_sheet_hash(s, f->hash);
		break;
	case F_READ:
		dft_sheet_bytes(s, f->read);
		break;
	case F_WRITTEN:
		dft_sheet_bytes(s, f->written);
		break;
	case F_MAPPED:
		mapped_cell(s, job, f);
		break;
	case F_MAPPED_BYTES:
		if (dft_mapped_state(job, f))
			dft_sheet_bytes(s, f->faulted);
		else
			dft_sheet_none(s);
		break;
	case F_CALLS:
		dft_sheet_u64(s, f->calls);
		break;
	case F_OPENS:
		dft_sheet_u64(s, f->opens);
		break;
	case F_ERRORS:
		dft_sheet_u64(s, f->errors);
		break;
	case F_TIME:
		dft_sheet_ns(s, f->time_ns);
		break;
	case F_META:
		dft_sheet_ns(s, f->meta_ns);
		break;
	case F_PROCS:
		at_least(s, f->procs, f->procs_more);
		break;
	case F_PROCS_MORE:
		dft_sheet_u64(s, f->procs_more);
		break;
	case F_RANKS:
		at_least(s, dft_rank_count(&f->ranks), f->ranks.more);
		break;
	case F_RANKS_MORE:
		dft_sheet_u64(s, f->ranks.more);
		break;
	default:
		dft_cell_access(s, f->access ? (const struct dft_access *)job->access.v + f->access - 1 : &none,
			    id);
	}
}

static const struct column dir_cols[] = {
	{ "name", NULL, false, DATA, F_NAME }, { "files", NULL, false, BOTH, F_FILES },
	{ "read", NULL, false, BOTH, F_READ }, { "written", NULL, false, BOTH, F_WRITTEN },
	{ "calls", NULL, false, BOTH, F_CALLS }, { "opens", NULL, false, BOTH, F_OPENS },
	{ "errors", NULL, false, BOTH, F_ERRORS }, { "time_ns", "time", false, BOTH, F_TIME },
	{ "metadata_ns", "metadata", false, BOTH, F_META },
	{ "sequential", "seq", false, TEXT, A_SEQ_SHARE }, { "consecutive", "cons", false, TEXT, A_CONS_SHARE },
	ACCESS_COLUMNS("read", 0), ACCESS_COLUMNS("write", A_WRITES),
	{ "directory", NULL, true, TEXT, F_NAME },
};

static size_t dir_rows(const struct dft_job *job)
{
	return job->dirs.n;
}

static void dir_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_directory *d = (const struct dft_directory *)job->dirs.v + i;

	switch (id) {
	case F_NAME:
		if (d->name)
			dft_sheet_name(s, dft_cell_str(job, d->name));
		else
			dft_sheet_none(s);
		break;
	case F_FILES:
		dft_sheet_u64(s, d->files);
		break;
	case F_READ:
		dft_sheet_bytes(s, d->read);
		break;
	case F_WRITTEN:
		dft_sheet_bytes(s, d->written);
		break;
	case F_CALLS:
		dft_sheet_u64(s, d->calls);
		break;
	case F_OPENS:
		dft_sheet_u64(s, d->opens);
		break;
	case F_ERRORS:
		dft_sheet_u64(s, d->errors);
		break;
	case F_TIME:
		dft_sheet_ns(s, d->time_ns);
		break;
	case F_META:
		dft_sheet_ns(s, d->meta_ns);
		break;
	default:
		dft_cell_access(s, &d->access, id);
	}
}

/* ---- processes, programs -------------------------------------------------------------------- */

enum { P_PID, P_RANK, P_EVENTS, P_THREADS, P_CALLS, P_READ, P_WRITTEN, P_DATA, P_META, P_IO, P_EXIT,
       P_CODE, P_SIGNAL, P_FINISHED, P_BEGIN, P_DURATION, P_PROGRAM, P_COMMAND, P_PROCS };

static const struct column proc_cols[] = {
	{ "pid", NULL, false, BOTH, P_PID }, { "rank", NULL, false, BOTH | IF_RANKS, P_RANK },
	{ "program", NULL, true, DATA, P_PROGRAM }, { "command", NULL, true, DATA, P_COMMAND },
	{ "events", NULL, false, BOTH, P_EVENTS }, { "threads", NULL, false, DATA, P_THREADS },
	{ "exit", NULL, false, TEXT, P_EXIT }, { "exit_code", NULL, false, DATA, P_CODE },
	{ "exit_signal", NULL, false, DATA, P_SIGNAL }, { "finished", NULL, false, DATA, P_FINISHED },
	{ "begin_us", NULL, false, DATA, P_BEGIN }, { "duration_us", "duration", false, BOTH, P_DURATION },
	{ "calls", NULL, false, DATA, P_CALLS }, { "read", NULL, false, BOTH, P_READ },
	{ "written", NULL, false, BOTH, P_WRITTEN }, { "data_ns", "data", false, BOTH, P_DATA },
	{ "metadata_ns", "metadata", false, BOTH, P_META }, { "program", NULL, true, TEXT, P_PROGRAM },
};

static size_t proc_rows(const struct dft_job *job)
{
	return job->procs.n;
}

static void exit_cell(struct dft_sheet *s, const struct dft_proc *p)
{
	char text[48];

	if (p->exit_kind == DFT_EXIT_UNKNOWN)
		snprintf(text, sizeof(text), "%s", p->ended ? "-" : "unfinished");
	else
		snprintf(text, sizeof(text), "%s%" PRId64, p->exit_kind == DFT_EXIT_SIGNAL ? "signal " : "",
			 p->exit_val);
	dft_sheet_text(s, text);
}

/* The arguments are joined with semicolons. */
static void command_cell(struct dft_sheet *s, const struct dft_job *job, uint64_t at)
{
	struct dft_str name = dft_cell_str(job, at);
	char buf[COMMAND_SZ + 4];
	size_t n = name.n < sizeof(buf) ? name.n : sizeof(buf);

	if (!at) {
		dft_sheet_none(s);
	} else if (s->style != DFT_STYLE_TEXT) {
		dft_sheet_name(s, name);
	} else {
		for (size_t i = 0; i < n; i++)
			buf[i] = name.s[i];
		for (char *c = buf; (c = memchr(c, ';', n - (size_t)(c - buf)));)
			*c = ' ';
		dft_cell_cut(s, (struct dft_str){ buf, n }, COMMAND_SZ);
	}
}

static void program_cell(struct dft_sheet *s, const struct dft_job *job, uint64_t at)
{
	if (at)
		dft_cell_name(s, job, at);
	else if (s->style == DFT_STYLE_TEXT)
		dft_sheet_text(s, "?");
	else
		dft_sheet_none(s);
}

static void proc_span_cell(struct dft_sheet *s, const struct dft_proc *p, int id)
{
	uint64_t ns = p->last_ns > p->first_ns ? p->last_ns - p->first_ns : 0;

	if (!p->last_ns && s->style != DFT_STYLE_TEXT)
		dft_sheet_none(s);
	else if (id == P_BEGIN)
		dft_sheet_u64(s, p->first_ns / 1000);
	else if (s->style == DFT_STYLE_TEXT)
		dft_sheet_ns(s, ns);
	else
		dft_sheet_u64(s, ns / 1000);
}

static void proc_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_proc *p = (const struct dft_proc *)job->procs.v + i;

	switch (id) {
	case P_PID:
		dft_sheet_u64(s, p->pid);
		break;
	case P_RANK:
		dft_cell_i64(s, p->has_rank, (int64_t)p->rank);
		break;
	case P_EVENTS:
		dft_sheet_u64(s, p->events);
		break;
	case P_THREADS:
		dft_sheet_u64(s, p->threads);
		break;
	case P_CALLS:
		dft_sheet_u64(s, p->calls);
		break;
	case P_READ:
		dft_sheet_bytes(s, p->read);
		break;
	case P_WRITTEN:
		dft_sheet_bytes(s, p->written);
		break;
	case P_DATA:
		dft_sheet_ns(s, p->data_ns);
		break;
	case P_META:
		dft_sheet_ns(s, p->meta_ns);
		break;
	case P_EXIT:
		exit_cell(s, p);
		break;
	case P_CODE:
		dft_cell_i64(s, p->exit_kind == DFT_EXIT_CODE, p->exit_val);
		break;
	case P_SIGNAL:
		dft_cell_i64(s, p->exit_kind == DFT_EXIT_SIGNAL, p->exit_val);
		break;
	case P_FINISHED:
		dft_sheet_u64(s, p->ended);
		break;
	case P_PROGRAM:
		program_cell(s, job, p->program);
		break;
	case P_COMMAND:
		command_cell(s, job, p->command);
		break;
	default:
		proc_span_cell(s, p, id);
	}
}

static void time_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	proc_row(s, job, ((const uint64_t *)job->by_time.v)[i], id);
}

static void bytes_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	proc_row(s, job, ((const uint64_t *)job->by_bytes.v)[i], id);
}

static const struct column program_cols[] = {
	{ "program", NULL, true, BOTH, P_PROGRAM }, { "processes", "procs", false, BOTH, P_PROCS },
	{ "events", NULL, false, BOTH, P_EVENTS }, { "calls", NULL, false, DATA, P_CALLS },
	{ "read", NULL, false, BOTH, P_READ }, { "written", NULL, false, BOTH, P_WRITTEN },
	{ "data_ns", "data", false, BOTH, P_DATA }, { "metadata_ns", "metadata", false, BOTH, P_META },
	{ "command", "a command line", true, BOTH, P_COMMAND },
};

static size_t program_rows(const struct dft_job *job)
{
	return job->programs.n;
}

static void program_row(struct dft_sheet *s, const struct dft_job *job, size_t i, int id)
{
	const struct dft_program *p = (const struct dft_program *)job->programs.v + i;

	switch (id) {
	case P_PROGRAM:
		program_cell(s, job, p->name);
		break;
	case P_PROCS:
		dft_sheet_u64(s, p->procs);
		break;
	case P_EVENTS:
		dft_sheet_u64(s, p->events);
		break;
	case P_CALLS:
		dft_sheet_u64(s, p->calls);
		break;
	case P_READ:
		dft_sheet_bytes(s, p->read);
		break;
	case P_WRITTEN:
		dft_sheet_bytes(s, p->written);
		break;
	case P_DATA:
		dft_sheet_ns(s, p->data_ns);
		break;
	case P_META:
		dft_sheet_ns(s, p->meta_ns);
		break;
	default:
		command_cell(s, job, p->command);
	}
}

#define TABLE DFT_SUM_TABLE

const struct dft_sum_table dft_tables_of_files[DFT_TABLES_OF_FILES] = {
	TABLE("files", file_cols, file_rows, file_row),
	TABLE("directories", dir_cols, dir_rows, dir_row),
	TABLE("processes", proc_cols, proc_rows, proc_row),
	TABLE("processes-by-time", proc_cols, proc_rows, time_row),
	TABLE("processes-by-bytes", proc_cols, proc_rows, bytes_row),
	TABLE("programs", program_cols, program_rows, program_row),
};
