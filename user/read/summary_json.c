// SPDX-License-Identifier: MIT
#include <errno.h>

#include "out.h"
#include "summary.h"
#include "summary_tables.h"

static struct dft_str at(const struct dft_job *job, uint64_t str)
{
	return dft_strings_at(&job->strings, str);
}

static uint64_t span_us(uint64_t first_ns, uint64_t last_ns)
{
	return last_ns > first_ns ? (last_ns - first_ns) / 1000 : 0;
}

static void put_io(struct dft_json *w, const struct dft_job *job)
{
	dft_json_object(w, "io");
	dft_json_u64(w, "calls", job->calls);
	dft_json_u64(w, "read", job->read);
	dft_json_u64(w, "written", job->written);
	dft_json_u64(w, "mapped", job->faulted);
	dft_json_u64(w, "data_ns", job->data_ns);
	dft_json_u64(w, "metadata_ns", job->meta_ns);
	dft_json_u64(w, "processes_ns", job->procs_ns);
	dft_json_f64(w, "bandwidth", dft_job_bandwidth(job));
	dft_json_object_end(w);
}

static void put_runs(struct dft_json *w, const struct dft_job *job)
{
	const struct dft_count *c = job->run_relations.v;

	dft_json_object(w, "program_runs");
	dft_json_u64(w, "runs", job->runs);
	dft_json_array(w, "relations");
	for (size_t i = 0; i < job->run_relations.n; i++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "name", NULL, at(job, c[i].name));
		dft_json_u64(w, "count", c[i].n);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
	dft_json_object_end(w);
}

static void put_job(struct dft_json *w, const struct dft_job *job, const struct dft_read_stat *rs)
{
	const struct dft_count *hosts = job->hosts.v, *about = job->about.v;

	dft_json_u64(w, "files", rs->files);
	dft_json_u64(w, "processes", job->procs.n);
	dft_json_array(w, "hosts");
	for (size_t i = 0; i < job->hosts.n; i++)
		dft_out_name(w, NULL, NULL, at(job, hosts[i].name));
	dft_json_array_end(w);
	dft_json_u64(w, "records", job->records);
	dft_json_u64(w, "events", job->events);
	dft_json_u64(w, "counters", job->counters);
	dft_json_u64(w, "errors", job->error_cnt);
	dft_json_u64(w, "begin_us", job->last_ns ? job->first_ns / 1000 : 0);
	dft_json_u64(w, "duration_us", span_us(job->first_ns, job->last_ns));
	dft_json_u64(w, "threads", job->threads);
	dft_json_u64(w, "ranks", job->ranks);
	dft_json_array(w, "job");
	for (size_t i = 0; i < job->about.n; i++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "name", NULL, at(job, about[i].group));
		dft_out_name(w, "value", NULL, at(job, about[i].name));
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
	put_io(w, job);
	put_runs(w, job);
	dft_json_object(w, "read");
	dft_json_u64(w, "bytes_in", rs->bytes_in);
	dft_json_u64(w, "bytes_out", rs->bytes_out);
	dft_json_u64(w, "unfinished", rs->unfinished);
	dft_json_u64(w, "cut", rs->cut);
	dft_json_u64(w, "damaged", rs->damaged);
	dft_json_u64(w, "unreadable", rs->unread);
	dft_json_u64(w, "faults", rs->faults);
	dft_json_object_end(w);
}

static void put_procs(struct dft_json *w, const struct dft_job *job)
{
	const struct dft_proc *p = job->procs.v;

	dft_json_array(w, "process_list");
	for (size_t i = 0; i < job->procs.n; i++, p++) {
		dft_json_object(w, NULL);
		dft_json_u64(w, "pid", p->pid);
		if (p->program)
			dft_out_name(w, "program", "program_raw", at(job, p->program));
		if (p->command)
			dft_out_name(w, "command", "command_raw", at(job, p->command));
		if (p->has_rank)
			dft_json_u64(w, "rank", p->rank);
		dft_json_u64(w, "events", p->events);
		dft_json_u64(w, "threads", p->threads);
		dft_json_u64(w, "calls", p->calls);
		dft_json_u64(w, "read", p->read);
		dft_json_u64(w, "written", p->written);
		dft_json_u64(w, "data_ns", p->data_ns);
		dft_json_u64(w, "metadata_ns", p->meta_ns);
		if (p->last_ns) {
			dft_json_u64(w, "begin_us", p->first_ns / 1000);
			dft_json_u64(w, "duration_us", span_us(p->first_ns, p->last_ns));
		}
		dft_json_bool(w, "finished", p->ended);
		if (p->exit_kind != DFT_EXIT_UNKNOWN) {
			dft_json_object(w, "exit");
			dft_json_i64(w, p->exit_kind == DFT_EXIT_CODE ? "code" : "signal",
				     p->exit_val);
			dft_json_object_end(w);
		}
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
}

static void put_counts(struct dft_json *w, const struct dft_job *job, const char *key,
		       const struct dft_vec *counts)
{
	const struct dft_count *c = counts->v;

	dft_json_array(w, key);
	for (size_t i = 0; i < counts->n; i++, c++) {
		dft_json_object(w, NULL);
		if (c->group)
			dft_out_name(w, "class", NULL, at(job, c->group));
		dft_out_name(w, "name", NULL, at(job, c->name));
		dft_json_u64(w, "calls", c->n);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
}

static void put_doubts(struct dft_json *w, const struct dft_job *job, const char *group)
{
	const struct dft_count *c = job->doubts.v;

	for (size_t i = 0; i < job->doubts.n; i++) {
		struct dft_str g = at(job, c[i].group);

		if (!dft_str_eq(g, group, strlen(group)))
			continue;
		dft_json_object(w, NULL);
		dft_out_name(w, "name", NULL, at(job, c[i].name));
		dft_json_u64(w, "count", c[i].n);
		dft_json_object_end(w);
	}
}

static void put_doubt_lines(struct dft_json *w, const struct dft_job *job)
{
	struct dft_coverage lines[DFT_COVERAGE_MAX];
	size_t n = dft_coverage(job, lines);

	dft_json_object(w, "coverage");
	for (size_t i = 0; i < n; i++) {
		if (!lines[i].group) {
			dft_json_u64(w, lines[i].key, lines[i].n);
			continue;
		}
		dft_json_array(w, lines[i].key);
		put_doubts(w, job, lines[i].group);
		dft_json_array_end(w);
	}
	dft_json_object_end(w);
}

static void put_names(struct dft_json *w, const struct dft_job *job, uint64_t top)
{
	const struct dft_op *op = job->annots.names.v;

	dft_json_u64(w, "names_used", job->annots.names.n);
	dft_json_array(w, "top_names");
	for (size_t i = 0; i < job->annots.names.n && (!top || i < top); i++, op++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "cat", NULL, at(job, op->cat));
		dft_out_name(w, "name", NULL, at(job, op->name));
		dft_json_u64(w, "calls", op->calls);
		dft_json_u64(w, "time_ns", op->time_ns);
		dft_json_u64(w, "mean_ns", op->calls ? op->time_ns / op->calls : 0);
		dft_json_u64(w, "max_ns", op->max_ns);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
}

static void put_entities(struct dft_json *w, const struct dft_job *job)
{
	const struct dft_annot_sums *a = &job->annots;
	const struct dft_entity_type *t = a->types.v;
	const struct dft_count *rel = a->relations.v;

	dft_json_u64(w, "entities", a->entities.n);
	dft_json_array(w, "entity_types");
	for (size_t i = 0; i < a->types.n; i++, t++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "type", NULL, at(job, t->name));
		if (t->role)
			dft_json_cstr(w, "role", dft_role_name(t->role));
		dft_json_u64(w, "entities", t->entities);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
	dft_json_u64(w, "entities_undeclared", a->undeclared);
	dft_json_array(w, "relations");
	for (size_t i = 0; i < a->relations.n; i++, rel++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "name", NULL, at(job, rel->name));
		dft_json_u64(w, "count", rel->n);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
}

static void put_coverage(struct dft_json *w, const struct dft_job *job)
{
	const struct dft_annot_sums *a = &job->annots;
	const struct dft_gap *g = a->gaps.v;

	dft_json_object(w, "coverage");
	dft_json_u64(w, "gaps", a->gap_cnt);
	dft_json_u64(w, "gap_processes", a->gap_procs);
	dft_json_u64(w, "gap_us", a->gap_us);
	dft_json_array(w, "gap_files");
	for (size_t i = 0; i < a->gaps.n; i++, g++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "path", NULL, at(job, g->path));
		dft_json_u64(w, "gaps", g->gaps);
		dft_json_u64(w, "processes", g->procs);
		dft_json_u64(w, "us", g->us);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
	dft_json_array(w, "unarmed_files");
	g = a->unarmed.v;
	for (size_t i = 0; i < a->unarmed.n; i++, g++) {
		dft_json_object(w, NULL);
		dft_out_name(w, "path", NULL, at(job, g->path));
		dft_out_name(w, "reason", NULL, at(job, g->reason));
		dft_json_u64(w, "processes", g->procs);
		dft_json_object_end(w);
	}
	dft_json_array_end(w);
	dft_json_u64(w, "args_lost", a->args_lost);
	dft_json_u64(w, "unreadable", a->unreadable);
	dft_json_u64(w, "unended", a->unended);
	dft_json_u64(w, "inherited", a->inherited);
	dft_json_object_end(w);
}

static void put_annotations(struct dft_json *w, const struct dft_job *job, uint64_t top)
{
	dft_json_object(w, "annotations");
	dft_json_u64(w, "events", job->annots.events);
	put_names(w, job, top);
	put_entities(w, job);
	put_coverage(w, job);
	dft_json_object_end(w);
}

static int put_tables(struct dft_json *w, const struct dft_job *job, uint64_t top)
{
	const struct {
		const char *table, *key, *rows; /* `rows`: key of how many there are */
		bool all;
	} t[] = {
		{ "operations", "operations", NULL, true }, { "pipes", "pipes", NULL, true },
		{ "classes", "classes", NULL, true }, { "access", "access", NULL, true },
		{ "sizes", "access_sizes", NULL, true }, { "balance", "balance", NULL, true },
		{ "frequent-sizes", "frequent_sizes", NULL, false },
		{ "files", "top_files", "files_used", false },
		{ "directories", "top_directories", "directories_used", false },
		{ "programs", "programs", "programs_used", false },
		{ "slowest", "slowest", NULL, false }, { "errors", "errors_by_reason", NULL, true },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]) && !err; i++) {
		const struct dft_sum_table *table = dft_sum_table(t[i].table);

		if (t[i].rows)
			dft_json_u64(w, t[i].rows, dft_sum_table_rows(table, job));
		err = dft_sum_table_json(table, job, t[i].key, t[i].all ? 0 : top, w);
	}
	return err;
}

int dft_summary_json(struct dft_job *job, const struct dft_read_stat *rs,
		     const struct dft_summary_opts *opts, FILE *f)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json w = { .buf = &buf };
	int err, err2;

	dft_json_object(&w, NULL);
	put_job(&w, job, rs);
	err = put_tables(&w, job, opts->top);
	put_procs(&w, job);
	dft_json_u64(&w, "pipes_used", job->pipe_cnt);
	dft_json_u64(&w, "aggregated_shed", job->shed_cnt);
	dft_json_u64(&w, "aggregated_chosen", job->chosen_cnt);
	dft_json_u64(&w, "lost_total", job->lost_cnt);
	dft_json_bool(&w, "no_args", job->no_args);
	put_counts(&w, job, "lost", &job->lost);
	dft_json_u64(&w, "filtered_calls", job->filtered_cnt);
	put_counts(&w, job, "filtered", &job->filtered);
	dft_json_u64(&w, "not_decoded_calls", job->missed_cnt);
	put_counts(&w, job, "not_decoded", &job->missed);
	put_annotations(&w, job, opts->top);
	put_doubt_lines(&w, job);
	dft_json_object_end(&w);
	dft_buf_putc(&buf, '\n');
	err2 = dft_out_buf(&buf, f);
	dft_buf_free(&buf);
	return err ? err : err2;
}
