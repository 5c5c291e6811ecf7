// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "extsort.h"
#include "gzout.h"
#include "log.h"
#include "marker.h"
#include "out.h"
#include "outpath.h"
#include "pass.h"
#include "tables.h"
#include "view.h"

struct run {
	struct dft_gzout out;
	struct dft_extsort *sort; /* NULL: file by file */
	struct dft_index seen;    /* declarations that have been written */
	struct dft_view view;
	struct dft_buf buf;
	struct dft_whose whose;   /* of the last record, for records of our own */
	struct dft_buf sources;   /* CM records of the files, for the end */
	uint64_t unit_ns;         /* of all files; 0: not known yet */
	uint64_t records;         /* of the file at hand */
	bool marked, have_whose, told;
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "by-time", no_argument, NULL, 't' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace merge [OPTIONS] -o FILE DIR|FILE...\n"
	"Makes one trace file of many.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"  -o, --output FILE  write there; compressed if the name ends in .gz\n"
	"      --by-time      all events in order of time, instead of file by file\n"
	"      --force        replace FILE if it is there\n"
	"  -h, --help         print this help\n"
	"\n"
	"Exit status: 0 everything is in FILE; 1 something was damaged, cut or unreadable (the\n"
	"rest is in FILE); 2 wrong usage. An unfinished file alone is a warning.\n";

/* Records that say the same of all processes need to be there once. */
static bool is_declaration(const struct dft_record *r)
{
	return r->ph == DFT_PH_METADATA && r->args &&
	       (DFT_STR_IS(r->name, "FH") || DFT_STR_IS(r->name, "SH") || DFT_STR_IS(r->name, "HH") ||
		DFT_STR_IS(r->name, "EH") || DFT_STR_IS(r->name, "ET"));
}

static uint64_t hash_arg(struct run *r, uint64_t seed, const char *key)
{
	const struct dft_jsonr_node *n = dft_jsonr_get(r->view.json, r->view.r->args, key);
	struct dft_str s = { "", 0 };

	if (n)
		s = dft_jsonr_raw(r->view.json, n);
	return dft_hash_bytes(seed, s.s, s.n);
}

/* 1: was there; 0; -ENOMEM. */
static int seen_before(struct run *r)
{
	const struct dft_record *rec = r->view.r;
	struct dft_str args = dft_jsonr_raw(r->view.json, rec->args);
	uint64_t key = dft_hash_bytes(0, rec->name.s, rec->name.n);
	bool fresh;

	/* A name is one whichever host tells it; of entities hosts may say different things. */
	if (rec->name.s[1] == 'H' && rec->name.s[0] != 'E')
		key = hash_arg(r, hash_arg(r, key, "value"), "name");
	else
		key = dft_hash_bytes(key, args.s, args.n);
	if (!dft_index_put(&r->seen, key, &fresh))
		return -ENOMEM;
	return !fresh;
}

/* Behind the first HH, which is the first record of every file. */
static int mark(struct run *r)
{
	struct dft_json w = { .buf = &r->buf };

	r->marked = true;
	r->buf.len = 0;
	dft_marker_cm(&w, &r->whose, "rearranged", r->sort ? "sort" : "merge");
	return r->buf.failed ? -ENOMEM : dft_gzout_line(&r->out, r->buf.data, r->buf.len);
}

static int put_line(struct run *r, struct dft_str line)
{
	const struct dft_record *rec = r->view.r;
	unsigned char key[8];
	int rc = 0;

	if (!r->marked && !DFT_STR_IS(rec->name, "HH"))
		rc = mark(r);
	if (rc || !r->sort || !r->marked)
		return rc ? rc : dft_gzout_line(&r->out, line.s, line.n);
	/* What tells of others stands before them all. */
	dft_key_u64(key, rec->ph == DFT_PH_METADATA ? 0 : dft_view_ts(&r->view));
	return dft_extsort_add(r->sort, (struct dft_str){ (char *)key, sizeof(key) }, NULL, 0, line);
}

static int same_unit(struct run *r, const char *path)
{
	char safe[1024];

	if (!r->unit_ns)
		r->unit_ns = r->view.unit_ns;
	if (r->unit_ns == r->view.unit_ns)
		return 0;
	if (!r->told)
		dft_error("%s: its times have another unit than those of the files before (merge them "
			  "apart)", dft_safe_z(safe, sizeof(safe), path));
	r->told = true;
	return -EINVAL;
}

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	r->records = 0;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct run *r = ctx;
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	if (!rc && rec->has & DFT_F_TS)
		rc = same_unit(r, r->view.source);
	if (rc)
		return rc;
	r->records++;
	dft_whose_of(&r->whose, rec, json);
	r->have_whose = true;
	rc = is_declaration(rec) ? seen_before(r) : 0;
	if (rc)
		return rc < 0 ? rc : 0;
	return put_line(r, dft_bare_line(line->s, line->n));
}

static int on_end(void *state, void *ctx, const struct dft_pass_file *file,
		  const struct dft_pass_end *end)
{
	struct dft_json w = { 0 };
	struct run *r = ctx;

	(void)state;
	if (!r->records)
		return 0;
	w.buf = &r->sources;
	dft_marker_begin(&w, &r->whose, "CM");
	dft_json_cstr(&w, "name", "merged_from");
	if (!dft_json_str(&w, "value", file->path, strlen(file->path)))
		dft_json_hex(&w, "raw", file->path, strlen(file->path));
	dft_json_u64(&w, "records", r->records);
	if (!end->ended)
		dft_json_u64(&w, "unfinished", 1);
	dft_marker_end(&w);
	dft_buf_putc(&r->sources, '\n');
	return r->sources.failed ? -ENOMEM : 0;
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
	.end = on_end,
};

static int write_sorted(struct run *r)
{
	struct dft_str key, line;
	int rc = r->sort ? dft_extsort_finish(r->sort) : 0;

	while (!rc && r->sort) {
		rc = dft_extsort_next(r->sort, &key, &line);
		if (rc != 1)
			break;
		rc = dft_gzout_line(&r->out, line.s, line.n);
	}
	/* Its last newline is the line's own. */
	if (!rc && r->sources.len)
		rc = dft_gzout_line(&r->out, r->sources.data, r->sources.len - 1);
	return rc;
}

static int merge(struct run *r, struct dft_pass *p, const char *out, bool force, int argc, char **argv)
{
	int rc = dft_gzout_open(&r->out, out, force);

	if (rc)
		return rc;
	rc = dft_pass_run(p, argc, argv);
	if (!rc && !r->have_whose) {
		dft_error("merge: there are no records to be merged");
		rc = -ENODATA;
	} else if (!rc) {
		rc = write_sorted(r);
		if (rc)
			dft_error("merge: %s", strerror(-rc));
	}
	return dft_gzout_close(&r->out, rc);
}

static int run_merge(int argc, char **argv)
{
	static struct run r;
	struct dft_pass p = { .cmd = "merge", .ops = &ops, .ctx = &r, .in_order = true };
	const struct dft_extsort_opts so = { 0 };
	bool force = false, by_time = false;
	const char *out = NULL, *below;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'o':
			out = optarg;
			break;
		case 't':
			by_time = true;
			break;
		case 'f':
			force = true;
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("merge", argv);
		}
	}
	if (!out)
		return dft_usage("merge", "no -o FILE given");
	if (optind == argc)
		return dft_usage("merge", "no DIR or FILE given");
	below = dft_outpath_below(out, argc - optind, argv + optind);
	/* A directory is read for what is called so. */
	if (below && strstr(out, ".pfw"))
		return dft_usage("merge", "-o %s: is below %s, which would be read twice from then on", out,
				 below);
	r.sort = by_time ? dft_extsort_new(&so) : NULL;
	if (by_time && !r.sort) {
		dft_error("merge: %s", strerror(ENOMEM));
		return DFT_EXIT_FAULT;
	}
	rc = merge(&r, &p, out, force, argc - optind, argv + optind);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_extsort_free(r.sort);
	dft_index_free(&r.seen);
	dft_view_free(&r.view);
	dft_buf_free(&r.buf);
	dft_buf_free(&r.sources);
	return rc;
}

const struct dft_cmd dft_cmd_merge = {
	.name = "merge",
	.run = run_merge,
	.brief = "one trace file of many",
};
