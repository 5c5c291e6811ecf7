// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "out.h"
#include "summary.h"
#include "summary_tables.h"

struct run {
	struct dft_summary_opts opts;
	const struct dft_sum_table *table; /* NULL: all */
	uint64_t dir_depth;
	enum dft_style style;
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "csv", no_argument, NULL, 'c' },
	{ "table", required_argument, NULL, 'T' },
	{ "top", required_argument, NULL, 't' },
	{ "dir-depth", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace summary [OPTIONS] DIR|FILE...\n"
	"A job at a glance: bytes and time by operation, file, directory and process, how files\n"
	"were accessed, the longest calls, errors, annotations, and what was lost or filtered.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"      --top N        show N rows of the long tables (default 10, of some 5; 0: all),\n"
	"                     and processes by bytes and by events, too\n"
	"      --table NAME   print this table alone: operations, classes, access, sizes,\n"
	"                     frequent-sizes, files, directories, processes,\n"
	"                     processes-by-time, processes-by-bytes, programs, slowest,\n"
	"                     errors, balance or pipes\n"
	"      --dir-depth N  put directories together that have their first N parts in common\n"
	"      --json         print one JSON object\n"
	"      --csv          print a table as CSV, operations unless --table names another\n"
	"  -h, --help         print this help\n"
	"\n"
	"Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n"
	"is summed up); 2 wrong usage. An unfinished file alone is a warning.\n";

/* ---- the pass ------------------------------------------------------------------------------- */

static uint64_t slow_max(const struct run *r)
{
	return r->opts.top && r->opts.top < DFT_SLOW_MAX ? r->opts.top : DFT_SLOW_MAX;
}

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct dft_job *job = state;

	job->slow_max = slow_max(ctx);
	dft_job_begin_file(job, file->nr);
	return 0;
}

static int on_record(void *job, void *ctx, const struct dft_record *r, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	(void)ctx;
	(void)line;
	return dft_job_record(job, r, json);
}

static int on_end(void *job, void *ctx, const struct dft_pass_file *file, const struct dft_pass_end *end)
{
	(void)ctx;
	(void)file;
	(void)end;
	dft_job_end_file(job);
	return 0;
}

static const struct dft_pass_ops pass_ops = {
	.state_sz = sizeof(struct dft_job),
	.begin = on_begin,
	.record = on_record,
	.end = on_end,
};

/* ---- what comes of it ----------------------------------------------------------------------- */

static int print(const struct run *r, struct dft_job *job, const struct dft_read_stat *stat)
{
	if (r->table)
		return dft_sum_table_print(r->table, job, r->style, r->opts.top, stdout);
	return r->style == DFT_STYLE_JSON ? dft_summary_json(job, stat, &r->opts, stdout) :
					    dft_summary_text(job, stat, &r->opts, stdout);
}

/* Into the first of the threads' jobs. */
static int sum_up(const struct run *r, const struct dft_pass *p)
{
	struct dft_job *job = dft_pass_state(p, 0);
	int rc = 0;

	job->dir_depth = r->dir_depth;
	for (size_t i = 1; i < p->nstates && !rc; i++) {
		rc = dft_job_merge(job, dft_pass_state(p, i));
		dft_job_free(dft_pass_state(p, i));
	}
	if (!rc)
		rc = dft_job_sort(job);
	return rc ? rc : print(r, job, &p->stat);
}

static int run_pass(const struct run *r, int argc, char **argv)
{
	struct dft_pass p = { .cmd = "summary", .ops = &pass_ops, .ctx = (void *)r };
	int rc = dft_pass_run(&p, argc, argv), err;

	/* Nothing to show when no argument could be read at all. */
	if (!rc && (p.stat.files || !p.files.errors)) {
		rc = sum_up(r, &p);
		if (rc)
			dft_error("summary: %s (nothing of the result is to be used)", strerror(-rc));
	}
	err = dft_pass_exit(&p, rc);
	for (size_t i = 0; i < p.nstates; i++)
		dft_job_free(dft_pass_state(&p, i));
	dft_pass_free(&p);
	return err;
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool parse_number(const char *s, uint64_t *n)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*n = strtoull(s, &end, 10);
	return !*end && !errno;
}

static int run_summary(int argc, char **argv)
{
	struct run r = { .opts.top = 10 };
	bool csv = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			r.style = DFT_STYLE_JSON;
			break;
		case 'c':
			csv = true;
			break;
		case 'T':
			r.table = dft_sum_table(optarg);
			if (!r.table)
				return dft_usage("summary", "--table %s: none of %s", optarg,
						 dft_sum_table_names());
			break;
		case 't':
			if (!parse_number(optarg, &r.opts.top))
				return dft_usage("summary", "--top %s: not a number", optarg);
			r.opts.top_given = true;
			break;
		case 'd':
			if (!parse_number(optarg, &r.dir_depth))
				return dft_usage("summary", "--dir-depth %s: not a number", optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("summary", argv);
		}
	}
	if (csv && r.style == DFT_STYLE_JSON)
		return dft_usage("summary", "--csv and --json: one of them");
	if (csv) {
		r.style = DFT_STYLE_CSV;
		r.table = r.table ? r.table : dft_sum_table("operations");
	}
	/* A table by itself is wanted as a whole. */
	if (r.table && !r.opts.top_given)
		r.opts.top = 0;
	if (optind == argc)
		return dft_usage("summary", "no DIR or FILE given");
	return run_pass(&r, argc - optind, argv + optind);
}

const struct dft_cmd dft_cmd_summary = {
	.name = "summary",
	.run = run_summary,
	.brief = "the job at a glance: bytes, time, access, errors, and what was lost",
};
