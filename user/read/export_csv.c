// SPDX-License-Identifier: MIT
/* Events and rows as CSV, one line each. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "export.h"
#include "sheet.h"
#include "view.h"

static const char *const names[] = {
	"source", "line", "id", "name", "cat", "type", "ph", "pid", "tid", "ts", "dur", "host",
	"program", "rank", "file", "other", "bytes", "args.ret", "args.errno", "args.offset",
	"args.count", "args.flags", "args.mode", "args.via", "args.dft_cnt", "args.errors",
};

#define NCOLS (sizeof(names) / sizeof(names[0]))

struct run {
	struct dft_view view;
	struct dft_sheet sheet;
	struct dft_col cols[NCOLS];
	struct dft_field_ref refs[NCOLS];
};

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct run *r = ctx;
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	if (rc || rec->ph == DFT_PH_METADATA)
		return rc;
	for (size_t i = 0; i < NCOLS; i++) {
		struct dft_value v = dft_view_get(&r->view, &r->refs[i]);

		if (v.kind == DFT_VALUE_NONE)
			dft_sheet_none(&r->sheet);
		else
			dft_sheet_name(&r->sheet, dft_view_text(&r->view, &v));
	}
	return r->sheet.err;
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
};

static int run_csv(int argc, char **argv, const struct dft_export_opts *opts)
{
	static struct run r;
	struct dft_pass p = { .cmd = "export", .ops = &ops, .ctx = &r, .in_order = true };
	struct dft_export_file out;
	int rc = dft_export_open(&out, opts), err;

	if (rc)
		return DFT_EXIT_FAULT;
	for (size_t i = 0; i < NCOLS; i++) {
		struct dft_str s = { names[i], strlen(names[i]) };

		dft_field_parse(s, &r.refs[i]);
		/* The column of an arg is called like the arg. */
		r.cols[i].key = strncmp(names[i], "args.", 5) ? names[i] : names[i] + 5;
	}
	rc = dft_export_failed("csv", dft_sheet_begin(&r.sheet, DFT_STYLE_CSV, out.f, "events",
						      r.cols, NCOLS));
	if (!rc)
		rc = dft_pass_run(&p, argc, argv);
	err = dft_sheet_end(&r.sheet);
	if (!err)
		err = dft_sheet_close(&r.sheet);
	rc = dft_export_close(&out, rc ? rc : err);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_view_free(&r.view);
	return rc;
}

const struct dft_exporter dft_export_csv = {
	.name = "csv",
	.brief = "a line for each event and row, in columns",
	.run = run_csv,
};
