// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "out.h"
#include "pass.h"

struct totals {
	uint64_t files, bad_files, faults, records, events, lost, missed, aggregated;
	uint64_t unfinished, cut, unread;
	struct dft_annot_counts annot;
};

/* Of a thread. */
struct state {
	struct dft_check check;
	struct totals sum;
};

struct run {
	bool as_json;
	bool quiet;
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

static void put_text(struct dft_buf *out, const char *path, const struct dft_faults *f)
{
	char name[DFT_SAFE_SZ], text[DFT_FAULT_SZ + 64];

	dft_safe_z(name, sizeof(name), path);
	for (size_t i = 0; i < f->kept; i++) {
		dft_buf_puts(out, name);
		dft_buf_puts(out, ": ");
		dft_buf_puts(out, dft_fault_text(text, sizeof(text), &f->v[i]));
		dft_buf_putc(out, '\n');
	}
	if (f->total == f->kept)
		return;
	dft_buf_puts(out, name);
	dft_buf_puts(out, ": ... and ");
	dft_buf_u64(out, f->total - f->kept);
	dft_buf_puts(out, " more\n");
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

static void put_json(struct dft_buf *out, const struct dft_check *c, const struct dft_pass_file *file,
		     const struct dft_source_stat *st)
{
	struct dft_json json = { .buf = out, .comma = file->nr > 0 }, *w = &json;
	const struct dft_faults *f = &c->faults;

	dft_json_object(w, NULL);
	dft_out_name(w, "file", "file_raw", (struct dft_str){ file->path, strlen(file->path) });
	dft_json_cstr(w, "state", state_text(c, st));
	dft_json_u64(w, "members", st->members);
	dft_json_u64(w, "lines", st->lines);
	dft_json_u64(w, "records", c->records);
	dft_json_u64(w, "events", c->events);
	dft_json_u64(w, "aggregated", c->aggregated);
	dft_json_u64(w, "lost", c->lost);
	dft_json_u64(w, "not_decoded", c->missed);
	print_annot(w, &c->annot);
	dft_json_u64(w, "faults", f->total);
	dft_json_array(w, "first_faults");
	for (size_t i = 0; i < f->kept; i++)
		print_json_fault(w, &f->v[i]);
	dft_json_array_end(w);
	dft_json_object_end(w);
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct state *s = state;

	(void)ctx;
	(void)file;
	dft_check_begin(&s->check);
	return 0;
}

static int on_line(void *state, void *ctx, const struct dft_line *line, bool plain)
{
	struct state *s = state;

	(void)ctx;
	return dft_check_line(&s->check, line, plain);
}

static void on_fault(void *state, const struct dft_fault *fault)
{
	struct state *s = state;

	dft_check_source_fault(&s->check, fault);
}

static void add_up(struct totals *to, const struct totals *from)
{
	to->files += from->files;
	to->bad_files += from->bad_files;
	to->faults += from->faults;
	to->records += from->records;
	to->events += from->events;
	to->unfinished += from->unfinished;
	to->cut += from->cut;
	to->unread += from->unread;
	to->annot.events += from->annot.events;
	to->annot.entities += from->annot.entities;
	to->annot.entity_types += from->annot.entity_types;
	to->annot.relations += from->annot.relations;
	to->annot.gaps += from->annot.gaps;
	to->annot.unarmed += from->annot.unarmed;
	dft_add_sat(&to->lost, from->lost);
	dft_add_sat(&to->missed, from->missed);
	dft_add_sat(&to->aggregated, from->aggregated);
}

static int on_end(void *state, void *ctx, const struct dft_pass_file *file,
		  const struct dft_pass_end *end)
{
	const struct run *r = ctx;
	struct state *s = state;
	struct dft_check *c = &s->check;
	int rc = 0;

	/* That a file cannot be read, or not to its end, is a fault of the file. */
	if (end->error)
		dft_faults_add(&c->faults, 0, "cannot be read: %s", strerror(-end->error));
	else
		rc = dft_check_end(c, &end->stat);
	if (rc)
		return rc;
	add_up(&s->sum, &(struct totals){
		.files = 1, .bad_files = c->faults.total > 0, .faults = c->faults.total,
		.records = c->records, .events = c->events, .lost = c->lost, .missed = c->missed,
		.aggregated = c->aggregated, .annot = c->annot, .unread = end->error != 0,
		.unfinished = c->unfinished && !end->stat.cut, .cut = end->stat.cut });
	if (r->as_json)
		put_json(end->out, c, file, &end->stat);
	else if (!r->quiet)
		put_text(end->out, file->path, &c->faults);
	return 0;
}

static const struct dft_pass_ops ops = {
	.state_sz = sizeof(struct state),
	.begin = on_begin,
	.line = on_line,
	.fault = on_fault,
	.end = on_end,
};

/* ---- the sum -------------------------------------------------------------------------------- */

static void print_number(uint64_t n, const char *one, const char *many)
{
	if (n)
		printf(", %" PRIu64 " %s", n, n == 1 ? one : many);
}

static void print_total(const struct totals *t)
{
	printf("%" PRIu64 " %s, %" PRIu64 " events", t->files, t->files == 1 ? "file" : "files",
	       t->events);
	if (t->annot.events)
		printf(" (%" PRIu64 " of them annotations)", t->annot.events);
	print_number(t->annot.entities, "entity", "entities");
	print_number(t->annot.entity_types, "entity type", "entity types");
	print_number(t->annot.relations, "relation of entities", "relations of entities");
	fputs(": ", stdout);
	if (!t->faults)
		fputs("all right, nothing lost", stdout);
	else
		printf("%" PRIu64 " %s in %" PRIu64 " %s", t->faults,
		       t->faults == 1 ? "fault" : "faults", t->bad_files,
		       t->bad_files == 1 ? "file" : "files");
	print_number(t->unfinished, "unfinished", "unfinished");
	print_number(t->cut, "cut", "cut");
	print_number(t->lost, "calls and records lost", "calls and records lost");
	/* They are there, if not one by one. */
	print_number(t->aggregated, "call aggregated", "calls aggregated");
	/* Of kinds that the tracer does not decode, such as on sockets: told, and no fault. */
	print_number(t->missed, "calls not decoded", "calls not decoded");
	/* Nor is it one that nobody could listen to some annotations. */
	print_number(t->annot.gaps, "annotation gap", "annotation gaps");
	print_number(t->annot.unarmed, "file without annotations", "files without annotations");
	putchar('\n');
}

static int print_total_json(struct dft_json *w, const struct totals *t, uint64_t errors)
{
	dft_json_array_end(w);
	dft_json_object(w, "total");
	dft_json_u64(w, "files", t->files);
	dft_json_u64(w, "bad_files", t->bad_files);
	dft_json_u64(w, "unfinished", t->unfinished);
	dft_json_u64(w, "cut", t->cut);
	dft_json_u64(w, "unreadable", t->unread + errors);
	dft_json_u64(w, "records", t->records);
	dft_json_u64(w, "events", t->events);
	dft_json_u64(w, "aggregated", t->aggregated);
	dft_json_u64(w, "lost", t->lost);
	dft_json_u64(w, "not_decoded", t->missed);
	print_annot(w, &t->annot);
	dft_json_u64(w, "faults", t->faults);
	dft_json_object_end(w);
	dft_json_object_end(w);
	dft_buf_putc(w->buf, '\n');
	return dft_out_buf(w->buf, stdout);
}

static int check_files(struct run *r, int argc, char **argv)
{
	struct dft_pass p = { .cmd = "check", .ops = &ops, .ctx = r };
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	struct totals t = { 0 };
	int rc = 0;

	if (r->as_json) {
		dft_json_object(&json, NULL);
		dft_json_array(&json, "files");
		rc = dft_out_buf(&buf, stdout);
	}
	if (!rc)
		rc = dft_pass_run(&p, argc, argv);
	for (size_t i = 0; i < p.nstates; i++) {
		struct state *s = dft_pass_state(&p, i);

		add_up(&t, &s->sum);
		dft_check_free(&s->check);
	}
	if (!rc && r->as_json)
		rc = print_total_json(&json, &t, p.files.errors);
	else if (!rc && !r->quiet && t.files)
		print_total(&t);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_buf_free(&buf);
	return t.faults ? DFT_EXIT_FAULT : rc;
}

static int run_check(int argc, char **argv)
{
	struct run r = { 0 };
	int opt;

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
	return check_files(&r, argc - optind, argv + optind);
}

const struct dft_cmd dft_cmd_check = {
	.name = "check",
	.run = run_check,
	.brief = "are the files whole and right, and was anything lost?",
};
