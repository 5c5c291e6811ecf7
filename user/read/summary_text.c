// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "out.h"
#include "summary.h"

/* Names in columns; longer ones are cut there. The last column has room for all. */
#define CELL_SZ 64

static char *name_at(const struct dft_job *job, uint64_t str, char *buf, size_t cap)
{
	return dft_safe(buf, cap, dft_strings_at(&job->strings, str));
}

static char *span_text(char *buf, uint64_t first_ns, uint64_t last_ns)
{
	return dft_human_ns(buf, last_ns > first_ns ? last_ns - first_ns : 0);
}

static void plural(FILE *f, uint64_t n, const char *one, const char *many)
{
	fprintf(f, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

static void put_time(FILE *f, const struct dft_job *job)
{
	char span[DFT_UNIT_SZ], when[64];
	time_t sec = (time_t)(job->first_ns / 1000000000);
	struct tm tm;

	if (!job->last_ns)
		return;
	if (gmtime_r(&sec, &tm) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm))
		fprintf(f, "from %s.%06" PRIu64 " UTC, %s\n", when,
			job->first_ns / 1000 % 1000000,
			span_text(span, job->first_ns, job->last_ns));
}

static void put_head(FILE *f, const struct dft_job *job, const struct dft_read_stat *rs)
{
	const struct dft_count *hosts = job->hosts.v;
	char name[CELL_SZ];

	plural(f, job->events, "event", "events");
	fputs(" of ", f);
	plural(f, job->procs.n, "process", "processes");
	for (size_t i = 0; i < job->hosts.n && i < 4; i++)
		fprintf(f, "%s%s", i ? ", " : " on ", name_at(job, hosts[i].name, name, CELL_SZ));
	if (job->hosts.n > 4)
		fprintf(f, " and %zu more hosts", job->hosts.n - 4);
	fputs(", in ", f);
	plural(f, rs->files, "file", "files");
	fputc('\n', f);
	put_time(f, job);
	if (rs->unfinished || rs->cut || rs->damaged || rs->unread) {
		fprintf(f, "INCOMPLETE: %" PRIu64 " files unfinished, %" PRIu64 " cut, %" PRIu64
			   " damaged, %" PRIu64 " unreadable\n",
			rs->unfinished, rs->cut, rs->damaged, rs->unread);
	}
	if (job->lost_cnt)
		fprintf(f, "INCOMPLETE: %" PRIu64 " calls and records lost, see below\n",
			job->lost_cnt);
	if (job->shed_cnt)
		fprintf(f, "AGGREGATED: %" PRIu64 " calls came too fast to be recorded one by one "
			   "(totals are complete)\n", job->shed_cnt);
	if (job->chosen_cnt)
		fprintf(f, "AGGREGATED: %" PRIu64 " calls are in the trace as sums only, as was asked "
			   "for\n", job->chosen_cnt);
	if (dft_sums_lack(&job->annots))
		fputs("INCOMPLETE: annotations are missing, or may be, see below (--usdt names files ahead)\n", f);
	if (dft_files_unknown(job)) {
		fputs("UNKNOWN: what went through the memory of ", f);
		plural(f, dft_files_unknown(job), "mapped file", "mapped files");
		fputs(", for page faults were not traced, or not up to the end\n", f);
	}
	if (job->no_args)
		fputs("UNKNOWN: results, errors, bytes and files of what was traced with --no-args "
		      "(they count as 0 below)\n", f);
}

/* `rows`: tell how many of the calls have no events of their own. */
static int put_ops(FILE *f, const struct dft_job *job, const struct dft_vec *ops, bool rows)
{
	const struct dft_op *op = ops->v;
	char a[CELL_SZ], b[DFT_UNIT_SZ];
	struct dft_table t;

	dft_table_init(&t, rows ? "llrrrrrrrr" : "llrrrrrrr");
	for (const char *const *h = (const char *const[]){ "operation", "cat", "calls", "aggregated",
							    "errors", "restarted", "bytes", "time",
							    "mean", "max", NULL }; *h; h++)
		if (rows || strcmp(*h, "aggregated"))
			dft_table_add(&t, "%s", *h);
	for (size_t i = 0; i < ops->n; i++, op++) {
		dft_table_add(&t, "%s", name_at(job, op->name, a, sizeof(a)));
		dft_table_add(&t, "%s", name_at(job, op->cat, a, sizeof(a)));
		dft_table_add(&t, "%" PRIu64, op->calls);
		if (rows)
			dft_table_add(&t, "%" PRIu64, op->in_rows);
		dft_table_add(&t, "%" PRIu64, op->errors);
		dft_table_add(&t, "%" PRIu64, op->restarted);
		dft_table_add(&t, "%s", op->bytes || op->dir ? dft_human_bytes(b, op->bytes) : "-");
		dft_table_add(&t, "%s", dft_human_ns(b, op->time_ns));
		dft_table_add(&t, "%s", dft_human_ns(b, op->calls ? op->time_ns / op->calls : 0));
		/* Tallies of some writers do not keep the longest. */
		dft_table_add(&t, "%s",
			      op->max_ns || !op->time_ns ? dft_human_ns(b, op->max_ns) : "-");
	}
	return dft_table_print(&t, f);
}

/* How many of n rows to show, telling it in the heading. */
static size_t heading(FILE *f, const char *what, size_t n, uint64_t top)
{
	if (!top || n <= top) {
		fprintf(f, "\n%s: %zu\n", what, n);
		return n;
	}
	fprintf(f, "\n%s: first %" PRIu64 " of %zu (--top 0 shows all)\n", what, top, n);
	return (size_t)top;
}

/* By page faults; "+": and perhaps more, that was not seen. */
static void mapped_text(char b[DFT_UNIT_SZ + 1], const struct dft_job *job, const struct dft_file *file)
{
	const char *state = dft_mapped_state(job, file);
	char bytes[DFT_UNIT_SZ];

	if (!state)
		strcpy(b, "-");
	else if (!strcmp(state, "known"))
		strcpy(b, dft_human_bytes(bytes, file->faulted));
	else if (file->faulted)
		snprintf(b, DFT_UNIT_SZ + 1, "%s+", dft_human_bytes(bytes, file->faulted));
	else
		strcpy(b, state);
}

static int put_files(FILE *f, const struct dft_job *job, uint64_t top)
{
	const struct dft_file *file = job->files.v;
	size_t n = heading(f, "Files, by bytes", job->files.n, top);
	char name[DFT_SAFE_SZ], b[DFT_UNIT_SZ], mapped[DFT_UNIT_SZ + 1];
	struct dft_table t;

	dft_table_init(&t, "rrrrrrl");
	for (const char *const *h = (const char *const[]){ "read", "written", "mapped", "calls", "errors",
							    "time", "file", NULL }; *h; h++)
		dft_table_add(&t, "%s", *h);
	for (size_t i = 0; i < n; i++, file++) {
		dft_table_add(&t, "%s", dft_human_bytes(b, file->read));
		dft_table_add(&t, "%s", dft_human_bytes(b, file->written));
		mapped_text(mapped, job, file);
		dft_table_add(&t, "%s", mapped);
		dft_table_add(&t, "%" PRIu64, file->calls);
		dft_table_add(&t, "%" PRIu64, file->errors);
		dft_table_add(&t, "%s", dft_human_ns(b, file->time_ns));
		if (file->name)
			dft_table_add(&t, "%s", name_at(job, file->name, name, sizeof(name)));
		else
			dft_table_add(&t, "(no name for %016" PRIx64 ")", file->hash);
	}
	return dft_table_print(&t, f);
}

static void exit_text(char buf[DFT_UNIT_SZ], const struct dft_proc *p)
{
	if (p->exit_kind == DFT_EXIT_CODE)
		snprintf(buf, DFT_UNIT_SZ, "%" PRId64, p->exit_val);
	else if (p->exit_kind == DFT_EXIT_SIGNAL)
		snprintf(buf, DFT_UNIT_SZ, "signal %" PRId64, p->exit_val);
	else
		snprintf(buf, DFT_UNIT_SZ, "%s", p->ended ? "-" : "unfinished");
}

static int put_procs(FILE *f, const struct dft_job *job, uint64_t top)
{
	const struct dft_proc *p = job->procs.v;
	size_t n = heading(f, "Processes, by events", job->procs.n, top);
	char name[DFT_SAFE_SZ], b[DFT_UNIT_SZ];
	struct dft_table t;

	dft_table_init(&t, "rrrrl");
	for (const char *const *h = (const char *const[]){ "pid", "events", "exit", "duration",
							    "program", NULL }; *h; h++)
		dft_table_add(&t, "%s", *h);
	for (size_t i = 0; i < n; i++, p++) {
		dft_table_add(&t, "%" PRIu64, p->pid);
		dft_table_add(&t, "%" PRIu64, p->events);
		exit_text(b, p);
		dft_table_add(&t, "%s", b);
		dft_table_add(&t, "%s", span_text(b, p->first_ns, p->last_ns));
		dft_table_add(&t, "%s", p->program ?
			      name_at(job, p->program, name, sizeof(name)) : "?");
	}
	return dft_table_print(&t, f);
}

static int put_counts(FILE *f, const struct dft_job *job, const char *what, uint64_t sum,
		      const struct dft_vec *counts, const char *one, const char *many)
{
	const struct dft_count *c = counts->v;
	char a[CELL_SZ];
	struct dft_table t;

	if (!counts->n)
		return 0;
	fprintf(f, "\n%s: ", what);
	plural(f, sum, one, many);
	fputc('\n', f);
	dft_table_init(&t, "rll");
	for (size_t i = 0; i < counts->n; i++, c++) {
		dft_table_add(&t, "%" PRIu64, c->n);
		dft_table_add(&t, "%s", name_at(job, c->name, a, sizeof(a)));
		dft_table_add(&t, "%s", c->group ? name_at(job, c->group, a, sizeof(a)) : "-");
	}
	return dft_table_print(&t, f);
}

static void put_row(struct dft_table *t, const char *const *cells)
{
	for (; *cells; cells++)
		dft_table_add(t, "%s", *cells);
}

static int put_names(FILE *f, const struct dft_job *job, uint64_t top)
{
	static const char *const head[] = { "name", "cat", "events", "time", "mean", "max", NULL };
	const struct dft_op *op = job->annots.names.v;
	size_t n = heading(f, "Annotations, by time", job->annots.names.n, top);
	char a[CELL_SZ], b[DFT_UNIT_SZ];
	struct dft_table t;

	dft_table_init(&t, "llrrrr");
	put_row(&t, head);
	for (size_t i = 0; i < n; i++, op++) {
		dft_table_add(&t, "%s", op->name ? name_at(job, op->name, a, sizeof(a)) : "-");
		dft_table_add(&t, "%s", op->cat ? name_at(job, op->cat, a, sizeof(a)) : "-");
		dft_table_add(&t, "%" PRIu64, op->calls);
		dft_table_add(&t, "%s", dft_human_ns(b, op->time_ns));
		dft_table_add(&t, "%s", dft_human_ns(b, op->calls ? op->time_ns / op->calls : 0));
		dft_table_add(&t, "%s",
			      op->max_ns || !op->time_ns ? dft_human_ns(b, op->max_ns) : "-");
	}
	return dft_table_print(&t, f);
}

static int put_entity_types(FILE *f, const struct dft_job *job, uint64_t top)
{
	static const char *const head[] = { "entities", "role", "type", NULL };
	const struct dft_annot_sums *a = &job->annots;
	const struct dft_entity_type *type = a->types.v;
	size_t n = heading(f, "Types of entities", a->types.n, top);
	char name[CELL_SZ];
	struct dft_table t;

	dft_table_init(&t, "rll");
	put_row(&t, head);
	for (size_t i = 0; i < n; i++, type++) {
		dft_table_add(&t, "%" PRIu64, type->entities);
		dft_table_add(&t, "%s", type->role ? dft_role_name(type->role) : "-");
		dft_table_add(&t, "%s", name_at(job, type->name, name, sizeof(name)));
	}
	if (a->undeclared) {
		dft_table_add(&t, "%" PRIu64, a->undeclared);
		dft_table_add(&t, "-");
		dft_table_add(&t, "(declared before the tracer came)");
	}
	return dft_table_print(&t, f);
}

static int put_relations(FILE *f, const struct dft_job *job)
{
	const struct dft_count *c = job->annots.relations.v;
	char name[CELL_SZ];
	struct dft_table t;

	fprintf(f, "\nRelations: %zu\n", job->annots.relations.n);
	dft_table_init(&t, "rl");
	for (size_t i = 0; i < job->annots.relations.n; i++, c++) {
		dft_table_add(&t, "%" PRIu64, c->n);
		dft_table_add(&t, "%s", name_at(job, c->name, name, sizeof(name)));
	}
	return dft_table_print(&t, f);
}

static int put_gaps(FILE *f, const struct dft_job *job, uint64_t top)
{
	static const char *const head[] = { "gaps", "processes", "time", "file", NULL };
	const struct dft_annot_sums *a = &job->annots;
	const struct dft_gap *g = a->gaps.v;
	char name[DFT_SAFE_SZ], b[DFT_UNIT_SZ];
	struct dft_table t;
	size_t n;

	if (!a->gaps.n)
		return 0;
	n = heading(f, "Files whose annotations may be missing", a->gaps.n, top);
	plural(f, a->gap_cnt, "gap", "gaps");
	fputs(" in ", f);
	plural(f, a->gap_procs, "process", "processes");
	fprintf(f, ", %s\n", dft_human_ns(b, dft_mul_sat(a->gap_us, 1000)));
	dft_table_init(&t, "rrrl");
	put_row(&t, head);
	for (size_t i = 0; i < n; i++, g++) {
		dft_table_add(&t, "%" PRIu64, g->gaps);
		dft_table_add(&t, "%" PRIu64, g->procs);
		dft_table_add(&t, "%s", dft_human_ns(b, dft_mul_sat(g->us, 1000)));
		dft_table_add(&t, "%s", name_at(job, g->path, name, sizeof(name)));
	}
	return dft_table_print(&t, f);
}

static int put_unarmed(FILE *f, const struct dft_job *job, uint64_t top)
{
	static const char *const head[] = { "processes", "reason", "file", NULL };
	const struct dft_gap *g = job->annots.unarmed.v;
	char name[DFT_SAFE_SZ];
	struct dft_table t;
	size_t n;

	if (!job->annots.unarmed.n)
		return 0;
	n = heading(f, "Files whose annotations are missing", job->annots.unarmed.n, top);
	dft_table_init(&t, "rll");
	put_row(&t, head);
	for (size_t i = 0; i < n; i++, g++) {
		dft_table_add(&t, "%" PRIu64, g->procs);
		dft_table_add(&t, "%s", name_at(job, g->reason, name, sizeof(name)));
		dft_table_add(&t, "%s", name_at(job, g->path, name, sizeof(name)));
	}
	return dft_table_print(&t, f);
}

static void put_partial(FILE *f, const struct dft_annot_sums *a)
{
	const struct {
		uint64_t n;
		const char *what;
	} rows[] = {
		{ a->args_lost, "annotations without some of their arguments" },
		{ a->unreadable, "annotations without a readable name or category" },
		{ a->unended, "annotations of which only parts came" },
		{ a->inherited, "regions that a process had from its parent and left to it" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].n)
			continue;
		fprintf(f, "%s%" PRIu64 " %s\n", any ? "" : "\nAnnotations, further:\n", rows[i].n,
			rows[i].what);
		any = true;
	}
}

static int put_annotations(FILE *f, const struct dft_job *job, uint64_t top)
{
	const struct dft_annot_sums *a = &job->annots;
	int err = 0;

	if (a->names.n)
		err = put_names(f, job, top);
	if (!err && (a->types.n || a->undeclared))
		err = put_entity_types(f, job, top);
	if (!err && a->relations.n)
		err = put_relations(f, job);
	if (!err)
		err = put_gaps(f, job, top);
	if (!err)
		err = put_unarmed(f, job, top);
	if (!err)
		put_partial(f, a);
	return err;
}

/* Counts of one group, in a line: "lost 2, fault 1". */
static void put_doubts(FILE *f, const struct dft_job *job, const char *group)
{
	const struct dft_count *c = job->doubts.v;
	const char *sep = ": ";
	char name[CELL_SZ];

	for (size_t i = 0; i < job->doubts.n; i++) {
		struct dft_str g = dft_strings_at(&job->strings, c[i].group);

		if (!dft_str_eq(g, group, strlen(group)))
			continue;
		fprintf(f, "%s%s %" PRIu64, sep, name_at(job, c[i].name, name, sizeof(name)), c[i].n);
		sep = ", ";
	}
}

static void put_coverage(FILE *f, const struct dft_job *job)
{
	struct dft_coverage lines[DFT_COVERAGE_MAX];
	size_t n = dft_coverage(job, lines);

	if (n)
		fputs("\nCoverage, what the events do not tell:\n", f);
	for (size_t i = 0; i < n; i++) {
		plural(f, lines[i].n, lines[i].one, lines[i].many);
		if (lines[i].group)
			put_doubts(f, job, lines[i].group);
		fputc('\n', f);
	}
}

int dft_summary_text(struct dft_job *job, const struct dft_read_stat *rs,
		     const struct dft_summary_opts *opts, FILE *f)
{
	int err;

	put_head(f, job, rs);
	fprintf(f, "\nOperations: %zu\n", job->ops.n);
	err = put_ops(f, job, &job->ops, job->shed_cnt || job->chosen_cnt);
	if (!err)
		err = put_files(f, job, opts->top);
	if (!err)
		err = put_procs(f, job, opts->top);
	if (!err && job->pipes.n) {
		fputs("\nPipes: ", f);
		plural(f, job->pipe_cnt, "pipe", "pipes");
		fputc('\n', f);
		err = put_ops(f, job, &job->pipes, false);
	}
	if (!err)
		err = put_annotations(f, job, opts->top);
	if (!err)
		put_coverage(f, job);
	if (!err)
		err = put_counts(f, job, "Lost", job->lost_cnt, &job->lost, "call or record",
				 "calls and records");
	if (!err)
		err = put_counts(f, job, "Filtered, not traced", job->filtered_cnt, &job->filtered, "call",
				 "calls");
	if (!err)
		err = put_counts(f, job, "Not decoded", job->missed_cnt, &job->missed, "call", "calls");
	return err;
}
