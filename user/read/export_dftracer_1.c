// SPDX-License-Identifier: MIT
/*
 * The dialect of 2025, for analyzers that know no other: an array, letters for `ph`, an id in every
 * record, and hashes that are numbers. One file for each file of the trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export.h"
#include "facts.h"
#include "gzout.h"
#include "naming.h"
#include "outpath.h"
#include "rewrite.h"

struct run {
	const struct dft_export_opts *opts;
	struct dft_naming names;
	struct dft_index taken; /* names of files */
	struct dft_gzout out;
	struct dft_buf buf;
	uint64_t id; /* of the last record written */
	bool open;
};

static bool is_hash_key(struct dft_str k)
{
	return DFT_STR_IS(k, "hhash") || DFT_STR_IS(k, "fhash") || DFT_STR_IS(k, "cwd") ||
	       dft_str_ends(k, "_hash") || dft_str_ends(k, "_fhash");
}

/* By the rule of 2025 where the name is known; else the same number, which has no name either way. */
static uint64_t old_hash(const struct run *r, struct dft_str key, uint64_t hash)
{
	static const enum dft_name_kind kinds[] = { DFT_NAME_FH, DFT_NAME_SH };
	struct dft_str name;

	if (DFT_STR_IS(key, "hhash"))
		return dft_naming_get(&r->names, DFT_NAME_HH, hash, &name) ?
			       dft_name_hash(name, true) : hash;
	for (size_t i = 0; i < 2; i++)
		if (dft_naming_get(&r->names, kinds[i], hash, &name))
			return dft_name_hash(name, true);
	return hash;
}

/* The record that tells a name has its hash in `value`. */
static bool tells_name(const struct dft_record *rec)
{
	return rec->ph == DFT_PH_METADATA && rec->name.n == 2 && rec->name.s[1] == 'H' &&
	       strchr("FSH", rec->name.s[0]);
}

static void write_args(struct run *r, struct dft_json *w, const struct dft_record *rec,
		       struct dft_jsonr *j)
{
	const struct dft_jsonr_node *k;
	bool name = tells_name(rec), app = dft_is_of_app(rec);
	struct dft_str text = { "", 0 };
	struct dft_bytes raw = { 0 };
	bool known = name && dft_original_name(j, rec->args, &raw, &text) == 1;
	uint64_t hash;

	dft_json_object(w, "args");
	for (k = dft_jsonr_first(j, rec->args); k; k = dft_jsonr_next(j, rec->args, k)) {
		struct dft_str key = dft_jsonr_str(j, k);
		const struct dft_jsonr_node *v = dft_jsonr_value(k);
		bool own = DFT_STR_IS(key, "hhash") || (!app && !name && is_hash_key(key));

		if ((own || (name && DFT_STR_IS(key, "value"))) && v->type == DFT_JSONR_STRING &&
		    dft_hex16(dft_jsonr_str(j, v), &hash)) {
			dft_rewrite_key(w, j, k);
			dft_json_u64(w, NULL, known && !own ? dft_name_hash(text, true) :
							      old_hash(r, key, hash));
		} else {
			dft_rewrite_member(w, j, k);
		}
	}
	dft_json_object_end(w);
	free(raw.buf);
}

static void write_record(struct run *r, const struct dft_record *rec, struct dft_jsonr *j)
{
	static const char *const letters[] = { "", "X", "C", "A", "M" };
	struct dft_json w = { .buf = &r->buf };
	struct dft_facts f;

	r->buf.len = 0;
	dft_json_object(&w, NULL);
	dft_json_u64(&w, "id", ++r->id);
	dft_json_str(&w, "name", rec->name.s, rec->name.n);
	dft_json_str(&w, "cat", rec->cat.s, rec->cat.n);
	/* Unknown to that dialect, which passes it over; it tells annotations from calls. */
	if (rec->has & DFT_F_TYPE)
		dft_json_u64(&w, "type", rec->type);
	dft_json_cstr(&w, "ph", letters[rec->ph]);
	if (rec->has & DFT_F_TS)
		dft_json_u64(&w, "ts", rec->ts);
	if (rec->ph == DFT_PH_AGGREGATED) {
		/* Analyzers that take a row for an event ask for its time, and fail where there is none. */
		dft_facts_take(&f, j, rec);
		dft_json_u64(&w, "dur", f.dur_sum);
	} else if (rec->has & DFT_F_DUR) {
		dft_json_u64(&w, "dur", rec->dur);
	}
	dft_json_u64(&w, "pid", rec->pid);
	dft_json_u64(&w, "tid", rec->tid);
	if (rec->args)
		write_args(r, &w, rec, j);
	dft_json_object_end(&w);
}

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;
	char *path = dft_outpath(&r->taken, r->opts->out, file->path);
	int rc;

	(void)state;
	if (!path)
		return -ENOMEM;
	r->id = 0;
	rc = dft_gzout_open(&r->out, path, r->opts->force);
	free(path);
	r->open = !rc;
	if (!rc)
		rc = dft_gzout_line(&r->out, "[", 1);
	return rc;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct run *r = ctx;
	int rc = rec->ph == DFT_PH_METADATA ? dft_naming_take(&r->names, rec, json) : 0;

	(void)state;
	(void)line;
	if (rc < 0)
		return rc;
	/* Of kinds that it does not have. */
	if (rec->ph < DFT_PH_COMPLETE || rec->ph > DFT_PH_METADATA)
		return 0;
	write_record(r, rec, json);
	return r->buf.failed ? -ENOMEM : dft_gzout_line(&r->out, r->buf.data, r->buf.len);
}

static int on_end(void *state, void *ctx, const struct dft_pass_file *file,
		  const struct dft_pass_end *end)
{
	struct run *r = ctx;

	(void)state;
	(void)file;
	(void)end;
	r->open = false;
	return dft_gzout_close(&r->out, dft_gzout_tail(&r->out, "]", 1));
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
	.end = on_end,
};

static int run_dftracer_1(int argc, char **argv, const struct dft_export_opts *opts)
{
	struct run r = { .opts = opts };
	struct dft_pass p = { .cmd = "export", .ops = &ops, .ctx = &r, .in_order = true };
	int rc;

	if (!opts->out || strcmp(opts->out, "-") == 0)
		return dft_usage("export", "--to dftracer-1 needs -o DIR");
	if (dft_outpath_dir(opts->out))
		return DFT_EXIT_FAULT;
	rc = dft_pass_run(&p, argc, argv);
	if (r.open)
		dft_gzout_close(&r.out, rc ? rc : -EINVAL);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_naming_free(&r.names);
	dft_index_free(&r.taken);
	dft_buf_free(&r.buf);
	return rc;
}

const struct dft_exporter dft_export_dftracer_1 = {
	.name = "dftracer-1",
	.brief = "DFTracer's format of 2025, a file for each file, below -o DIR",
	.run = run_dftracer_1,
};
