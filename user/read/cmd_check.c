// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "files.h"
#include "log.h"
#include "out.h"

struct run {
	struct dft_source *src;
	struct dft_check check;
	struct dft_buf buf;
	struct dft_json json;
	bool as_json;
	bool quiet;
	/* Totals. */
	uint64_t files, bad_files, faults, records, events, lost, missed, aggregated;
	struct dft_annot_counts annot;
	uint64_t unfinished, cut, unread;
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace check [OPTIONS] DIR|FILE...\n"
	"Checks trace files: compression, JSON, and the rules of the format.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"  -q, --quiet  print nothing, tell by the exit status\n"
	"      --json   print one JSON object\n"
	"  -h, --help   print this help\n"
	"\n"
	"Exit status: 0 all is right and nothing was lost; 1 anything else; 2 wrong usage.\n";

static const char *state_text(const struct dft_check *c, const struct dft_source_stat *st)
{
	if (st->cut)
		return "cut";
	if (c->unfinished)
		return "unfinished";
	return c->faults.total ? "faulty" : "good";
}

static void print_text(const char *path, const struct dft_faults *f)
{
	char name[DFT_SAFE_SZ], text[DFT_FAULT_SZ + 64];

	dft_safe_z(name, sizeof(name), path);
	for (size_t i = 0; i < f->kept; i++)
		printf("%s: %s\n", name, dft_fault_text(text, sizeof(text), &f->v[i]));
	if (f->total > f->kept)
		printf("%s: ... and %" PRIu64 " more\n", name, f->total - f->kept);
}

static void print_json_fault(struct dft_json *w, const struct dft_fault *f)
{
	dft_json_object(w, NULL);
	if (f->member) {
		dft_json_u64(w, "member", f->member);
		dft_json_u64(w, "byte", f->byte);
	}
	if (f->line)
		dft_json_u64(w, "line", f->line);
	dft_json_cstr(w, "what", f->what);
	dft_json_object_end(w);
}

static void print_annot(struct dft_json *w, const struct dft_annot_counts *a)
{
	dft_json_u64(w, "annotations", a->events);
	dft_json_u64(w, "entities", a->entities);
	dft_json_u64(w, "entity_types", a->entity_types);
	dft_json_u64(w, "entity_relations", a->relations);
	dft_json_u64(w, "annotation_gaps", a->gaps);
	dft_json_u64(w, "annotations_unarmed", a->unarmed);
}

static int print_json(struct run *r, const char *path, const struct dft_source_stat *st)
{
	struct dft_json *w = &r->json;
	const struct dft_faults *f = &r->check.faults;

	dft_json_object(w, NULL);
	dft_out_name(w, "file", "file_raw", (struct dft_str){ path, strlen(path) });
	dft_json_cstr(w, "state", state_text(&r->check, st));
	dft_json_u64(w, "members", st->members);
	dft_json_u64(w, "lines", st->lines);
	dft_json_u64(w, "records", r->check.records);
	dft_json_u64(w, "events", r->check.events);
	dft_json_u64(w, "aggregated", r->check.aggregated);
	dft_json_u64(w, "lost", r->check.lost);
	dft_json_u64(w, "not_decoded", r->check.missed);
	print_annot(w, &r->check.annot);
	dft_json_u64(w, "faults", f->total);
	dft_json_array(w, "first_faults");
	for (size_t i = 0; i < f->kept; i++)
		print_json_fault(w, &f->v[i]);
	dft_json_array_end(w);
	dft_json_object_end(w);
	/* File by file, so that a trace of many files does not pile up in memory. */
	return dft_out_buf(&r->buf, stdout);
}

/* 0, also when the file cannot be read to its end: that is a fault of the file. -ENOMEM. */
static int read_file(struct run *r, const char *path)
{
	struct dft_check *c = &r->check;
	struct dft_source_stat st;
	struct dft_line line;
	int rc;

	dft_check_begin(c);
	rc = dft_source_open(r->src, path, dft_check_source_fault, c);
	while (!rc) {
		rc = dft_source_next(r->src, &line);
		if (rc != 1)
			break;
		dft_source_stat(r->src, &st);
		rc = dft_check_line(c, &line, st.plain);
	}
	if (rc == -ENOMEM)
		return rc;
	dft_source_stat(r->src, &st);
	if (rc < 0) {
		r->unread++;
		dft_faults_add(&c->faults, 0, "cannot be read: %s", strerror(-rc));
	} else {
		rc = dft_check_end(c, &st);
		if (rc)
			return rc;
	}
	r->files++;
	r->faults += c->faults.total;
	r->bad_files += c->faults.total > 0;
	r->records += c->records;
	r->events += c->events;
	r->annot.events += c->annot.events;
	r->annot.entities += c->annot.entities;
	r->annot.entity_types += c->annot.entity_types;
	r->annot.relations += c->annot.relations;
	r->annot.gaps += c->annot.gaps;
	r->annot.unarmed += c->annot.unarmed;
	dft_add_sat(&r->lost, c->lost);
	dft_add_sat(&r->missed, c->missed);
	dft_add_sat(&r->aggregated, c->aggregated);
	r->unfinished += c->unfinished && !st.cut;
	r->cut += st.cut;
	if (r->as_json)
		return print_json(r, path, &st);
	if (!r->quiet)
		print_text(path, &c->faults);
	return 0;
}

static void print_number(uint64_t n, const char *one, const char *many)
{
	if (n)
		printf(", %" PRIu64 " %s", n, n == 1 ? one : many);
}

static void print_total(struct run *r)
{
	printf("%" PRIu64 " %s, %" PRIu64 " events", r->files, r->files == 1 ? "file" : "files",
	       r->events);
	if (r->annot.events)
		printf(" (%" PRIu64 " of them annotations)", r->annot.events);
	print_number(r->annot.entities, "entity", "entities");
	print_number(r->annot.entity_types, "entity type", "entity types");
	print_number(r->annot.relations, "relation of entities", "relations of entities");
	fputs(": ", stdout);
	if (!r->faults)
		fputs("all right, nothing lost", stdout);
	else
		printf("%" PRIu64 " %s in %" PRIu64 " %s", r->faults,
		       r->faults == 1 ? "fault" : "faults", r->bad_files,
		       r->bad_files == 1 ? "file" : "files");
	print_number(r->unfinished, "unfinished", "unfinished");
	print_number(r->cut, "cut", "cut");
	print_number(r->lost, "calls and records lost", "calls and records lost");
	/* They are there, if not one by one. */
	print_number(r->aggregated, "call aggregated", "calls aggregated");
	/* Of kinds that the tracer does not decode, such as on sockets: told, and no fault. */
	print_number(r->missed, "calls not decoded", "calls not decoded");
	/* Nor is it one that nobody could listen to some annotations. */
	print_number(r->annot.gaps, "annotation gap", "annotation gaps");
	print_number(r->annot.unarmed, "file without annotations", "files without annotations");
	putchar('\n');
}

static int print_total_json(struct run *r, uint64_t errors)
{
	struct dft_json *w = &r->json;

	dft_json_array_end(w);
	dft_json_object(w, "total");
	dft_json_u64(w, "files", r->files);
	dft_json_u64(w, "bad_files", r->bad_files);
	dft_json_u64(w, "unfinished", r->unfinished);
	dft_json_u64(w, "cut", r->cut);
	dft_json_u64(w, "unreadable", r->unread + errors);
	dft_json_u64(w, "records", r->records);
	dft_json_u64(w, "events", r->events);
	dft_json_u64(w, "aggregated", r->aggregated);
	dft_json_u64(w, "lost", r->lost);
	dft_json_u64(w, "not_decoded", r->missed);
	print_annot(w, &r->annot);
	dft_json_u64(w, "faults", r->faults);
	dft_json_object_end(w);
	dft_json_object_end(w);
	dft_buf_putc(w->buf, '\n');
	return dft_out_buf(w->buf, stdout);
}

static int check_files(struct run *r, const struct dft_files *files)
{
	if (r->as_json) {
		r->json.buf = &r->buf;
		dft_json_object(&r->json, NULL);
		dft_json_array(&r->json, "files");
	}
	for (size_t i = 0; i < files->n; i++) {
		int rc = read_file(r, files->v[i]);

		if (rc)
			return rc;
	}
	if (r->as_json)
		return print_total_json(r, files->errors);
	if (!r->quiet && r->files)
		print_total(r);
	return 0;
}

static int run_check(int argc, char **argv)
{
	struct dft_files files = { 0 };
	static struct run r; /* too large for a stack frame; one command runs per process */
	int opt, rc, err;

	while ((opt = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			r.as_json = true;
			break;
		case 'q':
			r.quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("check", argv);
		}
	}
	if (optind == argc)
		return dft_usage("check", "no DIR or FILE given");
	rc = dft_files_add_all(&files, argc - optind, argv + optind);
	r.src = rc ? NULL : dft_source_new();
	if (!rc)
		rc = r.src ? check_files(&r, &files) : -ENOMEM;
	if (rc)
		dft_error("check: %s (nothing of the result is to be used)", strerror(-rc));
	err = dft_out_finish();
	if (err || rc || r.faults || r.unread || files.errors)
		rc = DFT_EXIT_FAULT;
	dft_source_free(r.src);
	dft_check_free(&r.check);
	dft_buf_free(&r.buf);
	dft_files_free(&files);
	return rc;
}

const struct dft_cmd dft_cmd_check = {
	.name = "check",
	.run = run_check,
	.brief = "are the files whole and right, and was anything lost?",
};
