// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "faults.h"
#include "files.h"
#include "log.h"
#include "out.h"
#include "summary.h"

struct run {
	struct dft_source *src;
	struct dft_job job;
	struct dft_faults faults; /* of the file at hand */
	struct dft_read_stat stat;
	struct dft_summary_opts opts;
	bool as_json;
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "top", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace summary [OPTIONS] DIR|FILE...\n"
	"Sums up a trace: operations, files, processes, annotations, and what was lost or\n"
	"filtered.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"      --top N  show N rows of the long tables (default 10; 0: all)\n"
	"      --json   print one JSON object\n"
	"  -h, --help   print this help\n"
	"\n"
	"Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n"
	"is summed up); 2 wrong usage. An unfinished file alone is a warning.\n";

static void on_fault(void *faults, const struct dft_fault *fault)
{
	if (!fault->harmless)
		dft_faults_take(faults, fault);
}

static void warn_faults(const char *path, const struct dft_faults *f)
{
	char name[1024], text[DFT_FAULT_SZ + 64];

	dft_safe_z(name, sizeof(name), path);
	for (size_t i = 0; i < f->kept; i++)
		dft_warn("%s: %s", name, dft_fault_text(text, sizeof(text), &f->v[i]));
	if (f->total > f->kept)
		dft_warn("%s: ... and %" PRIu64 " more", name, f->total - f->kept);
}

/* 0 or -ENOMEM; anything else is a fault of the file, and told. */
static int read_lines(struct run *r, const char *path)
{
	struct dft_line line;
	int rc = dft_source_open(r->src, path, on_fault, &r->faults);

	while (!rc) {
		rc = dft_source_next(r->src, &line);
		if (rc != 1)
			break;
		rc = dft_job_line(&r->job, &line);
		if (rc == -EBADMSG) {
			struct dft_source_stat st;

			/* That a plain file ends within its last line has been told. */
			dft_source_stat(r->src, &st);
			if (line.whole || !st.plain)
				dft_faults_add_json(&r->faults, line.no, &r->job.json);
		}
		rc = rc == -ENOMEM ? rc : 0;
	}
	return rc;
}

static int read_file(struct run *r, const char *path)
{
	struct dft_source_stat st;
	uint64_t line_faults;
	int rc;

	dft_faults_clear(&r->faults);
	dft_job_begin_file(&r->job);
	rc = read_lines(r, path);
	if (rc == -ENOMEM)
		return rc;
	dft_source_stat(r->src, &st);
	if (rc) {
		r->stat.unread++;
		dft_faults_add(&r->faults, 0, "cannot be read: %s", strerror(-rc));
	}
	line_faults = r->faults.total;
	if (!r->job.ended)
		r->job.faults_unseen = true;
	if (!rc && !st.cut && !r->job.ended) {
		r->stat.unfinished++;
		dft_faults_add(&r->faults, 0,
			       "unfinished: no end record (still being written, or the tracer was "
			       "killed)");
	}
	r->stat.files++;
	r->stat.cut += st.cut;
	r->stat.damaged += st.damaged || (line_faults && !st.cut && !rc);
	r->stat.faults += line_faults;
	r->stat.bytes_in += st.bytes_in;
	r->stat.bytes_out += st.bytes_out;
	warn_faults(path, &r->faults);
	return 0;
}

static int sum_up(struct run *r, const struct dft_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		int rc = read_file(r, files->v[i]);

		if (rc)
			return rc;
	}
	/* Nothing to show when no argument could be read at all. */
	if (!r->stat.files && files->errors)
		return 0;
	r->stat.unread += files->errors;
	dft_job_sort(&r->job);
	return r->as_json ? dft_summary_json(&r->job, &r->stat, &r->opts, stdout) :
			    dft_summary_text(&r->job, &r->stat, &r->opts, stdout);
}

static int finish(struct run *r, struct dft_files *files, int rc)
{
	int err;

	if (rc)
		dft_error("summary: %s (nothing of the result is to be used)", strerror(-rc));
	err = dft_out_finish();
	if (err || rc || r->stat.faults || files->errors)
		rc = DFT_EXIT_FAULT;
	dft_source_free(r->src);
	dft_job_free(&r->job);
	dft_files_free(files);
	return rc;
}

static bool parse_top(const char *s, uint64_t *top)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*top = strtoull(s, &end, 10);
	return !*end && !errno;
}

static int run_summary(int argc, char **argv)
{
	struct dft_files files = { 0 };
	static struct run r = { .opts.top = 10 }; /* too large for a stack frame */
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			r.as_json = true;
			break;
		case 't':
			if (!parse_top(optarg, &r.opts.top))
				return dft_usage("summary", "--top %s: not a number", optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("summary", argv);
		}
	}
	if (optind == argc)
		return dft_usage("summary", "no DIR or FILE given");
	rc = dft_files_add_all(&files, argc - optind, argv + optind);
	if (!rc)
		r.src = dft_source_new();
	if (!rc)
		rc = r.src ? sum_up(&r, &files) : -ENOMEM;
	return finish(&r, &files, rc);
}

const struct dft_cmd dft_cmd_summary = {
	.name = "summary",
	.run = run_summary,
	.brief = "operations, files, processes, annotations, and what was lost or filtered",
};
