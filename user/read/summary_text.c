// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "out.h"
#include "summary.h"
#include "summary_tables.h"

/* Names in columns; longer ones are cut there. The last column has room for all. */
#define CELL_SZ 64
#define FEW	5 /* rows of the less important tables, unless --top says otherwise */

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

/* What the batch system said: "slurm, job 4711". */
static void put_batch_job(FILE *f, const struct dft_job *job)
{
	const struct dft_count *c = job->about.v;
	const char *sep = "batch job: ";
	char name[CELL_SZ];

	for (size_t i = 0; i < job->about.n && i < 8; i++) {
		struct dft_str key = dft_strings_at(&job->strings, c[i].group);

		fprintf(f, "%s%s%s", sep, DFT_STR_IS(key, "job_id") ? "id " : DFT_STR_IS(key, "job_step") ?
			"step " : "", name_at(job, c[i].name, name, sizeof(name)));
		sep = ", ";
	}
	if (job->about.n)
		fputc('\n', f);
}

static void put_runs(FILE *f, const struct dft_job *job)
{
	const struct dft_count *c = job->run_relations.v;
	const char *sep = " (";
	char name[CELL_SZ];

	if (!job->runs)
		return;
	plural(f, job->runs, "program run", "program runs");
	for (size_t i = 0; i < job->run_relations.n && i < 12; i++, sep = ", ")
		fprintf(f, "%s%s %" PRIu64, sep, name_at(job, c[i].name, name, sizeof(name)), c[i].n);
	fputs(job->run_relations.n ? ")\n" : "\n", f);
}

/* The classes of metadata that took most time, up to four. */
static void put_metadata(FILE *f, const struct dft_job *job)
{
	bool told[DFT_CLASSES] = { false };
	const char *sep = " (";
	char b[DFT_UNIT_SZ];

	for (int k = 0; k < 4; k++) {
		int best = -1;

		for (int c = 0; c < DFT_CLASSES; c++)
			if (dft_class_is_meta((enum dft_class)c) && !told[c] && job->classes[c].time_ns &&
			    (best < 0 || job->classes[c].time_ns > job->classes[best].time_ns))
				best = c;
		if (best < 0)
			break;
		told[best] = true;
		fprintf(f, "%s%s %s", sep, dft_class_name((enum dft_class)best),
			dft_human_ns(b, job->classes[best].time_ns));
		sep = ", ";
	}
	if (*sep == ',')
		fputc(')', f);
}

/* Bytes and time of all calls on files. */
static void put_io(FILE *f, const struct dft_job *job)
{
	char a[DFT_UNIT_SZ], b[DFT_UNIT_SZ], c[DFT_UNIT_SZ];
	uint64_t all = job->data_ns;
	double rate;

	if (!job->calls)
		return;
	dft_add_sat(&all, job->meta_ns);
	fprintf(f, "read %s, written %s in ", dft_human_bytes(a, job->read), dft_human_bytes(b, job->written));
	plural(f, job->calls, "call", "calls");
	fprintf(f, ", of %s: data %s, metadata %s", dft_human_ns(a, all), dft_human_ns(b, job->data_ns),
		dft_human_ns(c, job->meta_ns));
	put_metadata(f, job);
	fputc('\n', f);
	if (job->procs_ns)
		fprintf(f, "%.1f%% of the %s that processes ran", (double)all * 100 / (double)job->procs_ns,
			dft_human_ns(a, job->procs_ns));
	rate = dft_job_bandwidth(job);
	if (rate > 0 && rate < 1e18)
		fprintf(f, "%sabout %s/s: bytes by the time in calls of the %s with most of it",
			job->procs_ns ? "; " : "", dft_human_bytes(a, (uint64_t)rate),
			job->ranks ? "rank" : "process");
	fputc('\n', f);
}

static void put_command(FILE *f, const struct dft_job *job)
{
	const struct dft_program *p = job->programs.v;
	char name[128];

	if (!job->programs.n || !p->command)
		return;
	name_at(job, p->command, name, sizeof(name));
	for (char *c = name; (c = strchr(c, ';'));)
		*c = ' ';
	fprintf(f, "command: %s", name);
	if (job->programs.n > 1) {
		fputs(" and ", f);
		plural(f, job->programs.n - 1, "more program", "more programs");
	}
	fputc('\n', f);
}

/* In which state files are that are not whole: "INCOMPLETE: 1 file unfinished, 2 damaged". */
static void put_states(FILE *f, const struct dft_read_stat *rs)
{
	const struct {
		uint64_t n;
		const char *state;
	} v[] = {
		{ rs->unfinished, "unfinished" },
		{ rs->cut, "cut" },
		{ rs->damaged, "damaged" },
		{ rs->unread, "unreadable" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		if (!v[i].n)
			continue;
		if (any)
			fprintf(f, ", %" PRIu64, v[i].n);
		else
			fprintf(f, "INCOMPLETE: %" PRIu64 " %s", v[i].n, v[i].n == 1 ? "file" : "files");
		fprintf(f, " %s", v[i].state);
		any = true;
	}
	if (any)
		fputc('\n', f);
}

static void put_head(FILE *f, const struct dft_job *job, const struct dft_read_stat *rs)
{
	const struct dft_count *hosts = job->hosts.v;
	char name[CELL_SZ];

	plural(f, job->events, "event", "events");
	fputs(" of ", f);
	plural(f, job->procs.n, "process", "processes");
	if (job->threads > job->procs.n)
		fprintf(f, " (%" PRIu64 " threads)", job->threads);
	if (job->ranks) {
		fputs(", ", f);
		plural(f, job->ranks, "rank", "ranks");
	}
	for (size_t i = 0; i < job->hosts.n && i < 4; i++)
		fprintf(f, "%s%s", i ? ", " : " on ", name_at(job, hosts[i].name, name, CELL_SZ));
	if (job->hosts.n > 4)
		fprintf(f, " and %zu more hosts", job->hosts.n - 4);
	fputs(", in ", f);
	plural(f, rs->files, "file", "files");
	fputc('\n', f);
	put_time(f, job);
	put_batch_job(f, job);
	put_command(f, job);
	put_runs(f, job);
	put_io(f, job);
	put_states(f, rs);
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

/* A table with its heading; nothing of one without rows. 0 or -ENOMEM. */
static int put_table(FILE *f, const struct dft_job *job, const char *name, const char *what, uint64_t top)
{
	const struct dft_sum_table *t = dft_sum_table(name);
	size_t n = dft_sum_table_rows(t, job);

	if (!n)
		return 0;
	heading(f, what, n, top);
	return dft_sum_table_print(t, job, DFT_STYLE_TEXT, top, f);
}

/* Bins that are not empty, as many columns as ways; and the sizes that occur most. */
static int put_sizes(FILE *f, const struct dft_job *job)
{
	const struct dft_size *z = job->frequent.v;
	const char *sep = "most frequent: ";
	struct dft_table t;
	int err;

	dft_table_init(&t, "rrr");
	for (const char *const *h = (const char *const[]){ "size", "reads", "writes", NULL }; *h; h++)
		dft_table_add(&t, "%s", *h);
	for (unsigned int i = 0; i < DFT_BINS; i++) {
		if (!job->sizes[DFT_WAY_READ].bins[i] && !job->sizes[DFT_WAY_WRITE].bins[i])
			continue;
		dft_table_add(&t, "%s", dft_bin_name(i));
		dft_table_add(&t, "%" PRIu64, job->sizes[DFT_WAY_READ].bins[i]);
		dft_table_add(&t, "%" PRIu64, job->sizes[DFT_WAY_WRITE].bins[i]);
	}
	err = dft_table_print(&t, f);
	for (size_t i = 0; i < job->frequent.n && i < 4; i++, sep = ", ")
		fprintf(f, "%s%" PRIu64 " (%" PRIu64 " %s)", sep, z[i].size, z[i].calls,
			z[i].way == DFT_WAY_READ ? z[i].calls == 1 ? "read" : "reads" :
			z[i].calls == 1 ? "write" : "writes");
	if (job->frequent.n)
		fputc('\n', f);
	return err;
}

static int by_calls(const void *a, const void *b)
{
	const struct dft_count *const *x = a, *const *y = b;

	if ((*x)->n != (*y)->n)
		return (*x)->n < (*y)->n ? 1 : -1;
	return *x < *y ? -1 : *x > *y;
}

/* Most calls first; of those that count alike the first in the order in which they stand. */
static const struct dft_count **sorted_counts(const struct dft_vec *counts)
{
	const struct dft_count *c = counts->v, **v = calloc(counts->n, sizeof(*v));

	for (size_t i = 0; v && i < counts->n; i++)
		v[i] = c + i;
	if (v)
		qsort(v, counts->n, sizeof(*v), by_calls);
	return v;
}

static int put_counts(FILE *f, const struct dft_job *job, const char *what, uint64_t sum,
		      const struct dft_vec *counts, const char *one, const char *many, uint64_t top)
{
	size_t n = !top || counts->n < top ? counts->n : (size_t)top;
	const struct dft_count **c;
	char a[CELL_SZ];
	struct dft_table t;

	if (!counts->n)
		return 0;
	c = sorted_counts(counts);
	if (!c)
		return -ENOMEM;
	fprintf(f, "\n%s: ", what);
	plural(f, sum, one, many);
	if (n < counts->n)
		fprintf(f, ", first %zu of %zu kinds (--top 0 shows all)", n, counts->n);
	fputc('\n', f);
	dft_table_init(&t, "rll");
	for (size_t i = 0; i < n; i++) {
		dft_table_add(&t, "%" PRIu64, c[i]->n);
		dft_table_add(&t, "%s", name_at(job, c[i]->name, a, sizeof(a)));
		dft_table_add(&t, "%s", c[i]->group ? name_at(job, c[i]->group, a, sizeof(a)) : "-");
	}
	free(c);
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
	/* Types of what programs declared; those of files are no annotations. */
	if (!err && (a->events || a->relations.n) && (a->types.n || a->undeclared))
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

/* Sections about calls and files. */
static int put_calls(FILE *f, const struct dft_job *job, uint64_t top, uint64_t few)
{
	int err;

	err = put_table(f, job, "operations", "Operations, by time", top);
	if (!err && dft_sum_table_rows(dft_sum_table("access"), job)) {
		fprintf(f, "\nAccess by place, each process and file for itself:\n");
		err = dft_sum_table_print(dft_sum_table("access"), job, DFT_STYLE_TEXT, 0, f);
		if (!err) {
			fprintf(f, "\nAccess by size in bytes%s:\n",
				job->shed_cnt || job->chosen_cnt ? ", without aggregated calls" : "");
			err = put_sizes(f, job);
		}
	}
	if (!err)
		err = put_table(f, job, "files", "Files, by bytes", top);
	if (!err && job->dirs.n > 1)
		err = put_table(f, job, "directories", "Directories, by bytes", few);
	/* No more of them are kept than are asked for: how many there would be is not known. */
	if (!err && job->slow.n) {
		fputs("\nLongest calls:\n", f);
		err = dft_sum_table_print(dft_sum_table("slowest"), job, DFT_STYLE_TEXT, few, f);
	}
	return err ? err : put_table(f, job, "errors", "Errors", few);
}

/* Those with most time, most bytes and most events need not be the same: all three if asked for. */
static int put_processes(FILE *f, const struct dft_job *job, const struct dft_summary_opts *opts, uint64_t few)
{
	bool cut = opts->top && job->procs.n > opts->top;
	int err;

	err = put_table(f, job, "processes-by-time", "Processes, by time in calls", few);
	if (!err && opts->top_given && cut)
		err = put_table(f, job, "processes-by-bytes", "Processes, by bytes", few);
	if (!err && opts->top_given && cut)
		err = put_table(f, job, "processes", "Processes, by events", few);
	/* Otherwise the processes say it all. */
	if (!err && job->programs.n > 1 && job->programs.n < job->procs.n)
		err = put_table(f, job, "programs", "Programs, by time in calls", few);
	if (!err && dft_sum_table_rows(dft_sum_table("balance"), job)) {
		fprintf(f, "\nBalance over %zu %s:\n", job->parts.n, job->ranks ? "ranks" : "processes");
		err = dft_sum_table_print(dft_sum_table("balance"), job, DFT_STYLE_TEXT, 0, f);
	}
	return err;
}

int dft_summary_text(struct dft_job *job, const struct dft_read_stat *rs,
		     const struct dft_summary_opts *opts, FILE *f)
{
	uint64_t few = opts->top_given ? opts->top : FEW;
	int err;

	put_head(f, job, rs);
	err = put_calls(f, job, opts->top, few);
	if (!err)
		err = put_processes(f, job, opts, few);
	if (!err && job->pipes.n) {
		fputs("\nPipes: ", f);
		plural(f, job->pipe_cnt, "pipe", "pipes");
		fputc('\n', f);
		err = dft_sum_table_print(dft_sum_table("pipes"), job, DFT_STYLE_TEXT, 0, f);
	}
	if (!err)
		err = put_annotations(f, job, opts->top);
	if (!err)
		put_coverage(f, job);
	if (!err)
		err = put_counts(f, job, "Lost", job->lost_cnt, &job->lost, "call or record",
				 "calls and records", few);
	if (!err)
		err = put_counts(f, job, "Filtered, not traced", job->filtered_cnt, &job->filtered, "call",
				 "calls", few);
	if (!err)
		err = put_counts(f, job, "Not decoded", job->missed_cnt, &job->missed, "call", "calls", few);
	return err;
}
