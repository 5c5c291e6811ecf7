// SPDX-License-Identifier: MIT
/*
 * The order in which things are shown: the largest first, and names where all else is equal, so
 * that the same trace always gives the same text.
 */
#include <stdlib.h>
#include <string.h>

#include "summary_parts.h"

static int down(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int by_text(const struct dft_job *job, uint64_t a, uint64_t b)
{
	return dft_text_cmp(dft_strings_at(&job->strings, a), dft_strings_at(&job->strings, b));
}

static int cmp_ops(const void *pa, const void *pb, void *job)
{
	const struct dft_op *a = pa, *b = pb;
	int c = down(a->time_ns, b->time_ns);

	if (!c)
		c = down(a->calls, b->calls);
	if (!c)
		c = by_text(job, a->cat, b->cat);
	return c ? c : by_text(job, a->name, b->name);
}

static int cmp_files(const void *pa, const void *pb, void *job)
{
	const struct dft_file *a = pa, *b = pb;
	uint64_t moved_a = a->read, moved_b = b->read;
	int c;

	dft_add_sat(&moved_a, a->written);
	dft_add_sat(&moved_a, a->faulted);
	dft_add_sat(&moved_b, b->written);
	dft_add_sat(&moved_b, b->faulted);
	c = down(moved_a, moved_b);
	if (!c)
		c = down(a->calls, b->calls);
	if (!c)
		c = down(a->time_ns, b->time_ns);
	if (!c)
		c = by_text(job, a->name, b->name);
	return c ? c : down(b->hash, a->hash);
}

/* The last two tell any processes apart. */
static int cmp_procs(const void *pa, const void *pb, void *job)
{
	const struct dft_proc *a = pa, *b = pb;
	int c = down(a->events, b->events);

	(void)job;
	if (!c)
		c = down(b->first_ns, a->first_ns);
	if (!c)
		c = down(b->pid, a->pid);
	return c ? c : down(b->file_nr, a->file_nr);
}

static const struct dft_proc *proc_at(void *job, const void *index)
{
	return (const struct dft_proc *)((struct dft_job *)job)->procs.v + *(const uint64_t *)index;
}

static uint64_t proc_time(const struct dft_proc *p)
{
	uint64_t ns = p->data_ns;

	dft_add_sat(&ns, p->meta_ns);
	return ns;
}

static uint64_t proc_bytes(const struct dft_proc *p)
{
	uint64_t n = p->read;

	dft_add_sat(&n, p->written);
	return n;
}

static int cmp_by_time(const void *a, const void *b, void *job)
{
	int c = down(proc_time(proc_at(job, a)), proc_time(proc_at(job, b)));

	return c ? c : down(*(const uint64_t *)b, *(const uint64_t *)a);
}

static int cmp_by_bytes(const void *a, const void *b, void *job)
{
	int c = down(proc_bytes(proc_at(job, a)), proc_bytes(proc_at(job, b)));

	return c ? c : down(*(const uint64_t *)b, *(const uint64_t *)a);
}

static int cmp_counts(const void *pa, const void *pb, void *job)
{
	const struct dft_count *a = pa, *b = pb;
	int c = by_text(job, a->group, b->group);

	if (!c)
		c = down(a->n, b->n);
	return c ? c : by_text(job, a->name, b->name);
}

static int cmp_types(const void *pa, const void *pb, void *job)
{
	const struct dft_entity_type *a = pa, *b = pb;
	int c = down(a->entities, b->entities);

	return c ? c : by_text(job, a->name, b->name);
}

static int cmp_gaps(const void *pa, const void *pb, void *job)
{
	const struct dft_gap *a = pa, *b = pb;
	int c = down(a->us, b->us);

	if (!c)
		c = down(a->procs, b->procs);
	if (!c)
		c = by_text(job, a->path, b->path);
	return c ? c : by_text(job, a->reason, b->reason);
}

static int cmp_slow(const void *a, const void *b, void *job)
{
	(void)job;
	return dft_slow_cmp(a, b);
}

static int cmp_failures(const void *pa, const void *pb, void *job)
{
	const struct dft_failure *a = pa, *b = pb;
	const struct dft_op *ops = ((const struct dft_job *)job)->ops.v;
	int c = down(a->calls, b->calls);

	if (!c)
		c = by_text(job, ops[a->op].cat, ops[b->op].cat);
	if (!c)
		c = by_text(job, ops[a->op].name, ops[b->op].name);
	return c ? c : down((uint64_t)b->err, (uint64_t)a->err);
}

static int cmp_dirs(const void *pa, const void *pb, void *job)
{
	const struct dft_directory *a = pa, *b = pb;
	uint64_t moved_a = a->read, moved_b = b->read;
	int c;

	dft_add_sat(&moved_a, a->written);
	dft_add_sat(&moved_b, b->written);
	c = down(moved_a, moved_b);
	if (!c)
		c = down(a->calls, b->calls);
	return c ? c : by_text(job, a->name, b->name);
}

static int cmp_programs(const void *pa, const void *pb, void *job)
{
	const struct dft_program *a = pa, *b = pb;
	uint64_t time_a = a->data_ns, time_b = b->data_ns;
	int c;

	dft_add_sat(&time_a, a->meta_ns);
	dft_add_sat(&time_b, b->meta_ns);
	c = down(time_a, time_b);
	if (!c)
		c = down(a->events, b->events);
	return c ? c : by_text(job, a->name, b->name);
}

static int cmp_sizes(const void *pa, const void *pb, void *job)
{
	const struct dft_size *a = pa, *b = pb;
	int c = down(a->calls, b->calls);

	(void)job;
	if (!c)
		c = down(a->size, b->size);
	return c ? c : (int)a->way - (int)b->way;
}

static int cmp_parts(const void *pa, const void *pb, void *job)
{
	const struct dft_part *a = pa, *b = pb;
	int c = down(b->id, a->id);

	(void)job;
	if (!c)
		c = down(a->time_ns, b->time_ns);
	return c ? c : down(a->bytes, b->bytes);
}

static void sort(struct dft_job *job, struct dft_vec *v, size_t size,
		 int (*cmp)(const void *, const void *, void *))
{
	if (v->n)
		qsort_r(v->v, v->n, size, cmp, job);
}

static uint64_t sum(const struct dft_vec *counts)
{
	const struct dft_count *c = counts->v;
	uint64_t n = 0;

	for (size_t i = 0; i < counts->n; i++)
		dft_add_sat(&n, c[i].n);
	return n;
}

/* Others refer to them by number, to which they are given back. */
static void sort_ops(struct dft_job *job)
{
	struct dft_op *op = job->ops.v;
	struct dft_failure *f = job->failures.v;
	struct dft_slow *slow = job->slow.v;

	for (size_t i = 0; i < job->ops.n; i++)
		op[i].nr = i;
	sort(job, &job->ops, sizeof(struct dft_op), cmp_ops);
	for (size_t i = 0; i < job->ops.n; i++)
		op[op[i].nr].sorted = i;
	for (size_t i = 0; i < job->failures.n; i++)
		f[i].op = op[f[i].op].sorted;
	for (size_t i = 0; i < job->slow.n; i++)
		slow[i].op = op[slow[i].op].sorted;
}

static void sort_tables(struct dft_job *job)
{
	/* By what they say of the operations, which are still where their numbers mean. */
	sort(job, &job->slow, sizeof(struct dft_slow), cmp_slow);
	sort(job, &job->failures, sizeof(struct dft_failure), cmp_failures);
	sort(job, &job->dirs, sizeof(struct dft_directory), cmp_dirs);
	sort(job, &job->programs, sizeof(struct dft_program), cmp_programs);
	sort(job, &job->frequent, sizeof(struct dft_size), cmp_sizes);
	sort(job, &job->about, sizeof(struct dft_count), cmp_counts);
	sort(job, &job->run_relations, sizeof(struct dft_count), cmp_counts);
	sort_ops(job);
	sort(job, &job->pipes, sizeof(struct dft_op), cmp_ops);
	sort(job, &job->files, sizeof(struct dft_file), cmp_files);
	sort(job, &job->lost, sizeof(struct dft_count), cmp_counts);
	sort(job, &job->filtered, sizeof(struct dft_count), cmp_counts);
	sort(job, &job->missed, sizeof(struct dft_count), cmp_counts);
	sort(job, &job->doubts, sizeof(struct dft_count), cmp_counts);
	job->lost_cnt = sum(&job->lost);
	job->filtered_cnt = sum(&job->filtered);
	job->missed_cnt = sum(&job->missed);
	sort(job, &job->hosts, sizeof(struct dft_count), cmp_counts);
	dft_sums_finish(&job->annots);
	sort(job, &job->annots.names, sizeof(struct dft_op), cmp_ops);
	sort(job, &job->annots.types, sizeof(struct dft_entity_type), cmp_types);
	sort(job, &job->annots.relations, sizeof(struct dft_count), cmp_counts);
	sort(job, &job->annots.gaps, sizeof(struct dft_gap), cmp_gaps);
	sort(job, &job->annots.unarmed, sizeof(struct dft_gap), cmp_gaps);
}

/* Processes are in their order already; these are two more. 0 or -ENOMEM. */
static int order_procs(struct dft_job *job)
{
	for (uint64_t i = 0; i < job->procs.n; i++) {
		uint64_t *t = dft_vec_add(&job->by_time, sizeof(*t));
		uint64_t *b = dft_vec_add(&job->by_bytes, sizeof(*b));

		if (!t || !b)
			return -ENOMEM;
		*t = *b = i;
	}
	sort(job, &job->by_time, sizeof(uint64_t), cmp_by_time);
	sort(job, &job->by_bytes, sizeof(uint64_t), cmp_by_bytes);
	return 0;
}

int dft_job_sort(struct dft_job *job)
{
	struct dft_file *files = job->files.v;
	size_t used = 0;
	int err;

	/* Names that no call was made on, such as working directories, are no rows. */
	for (size_t i = 0; i < job->files.n; i++)
		if (files[i].calls)
			files[used++] = files[i];
	job->files.n = used;
	sort(job, &job->procs, sizeof(struct dft_proc), cmp_procs);
	err = order_procs(job);
	if (!err)
		err = dft_job_total(job);
	if (err)
		return err;
	sort(job, &job->parts, sizeof(struct dft_part), cmp_parts);
	dft_job_weigh(job);
	sort_tables(job);
	/* Where a file is now. */
	files = job->files.v;
	for (size_t i = 0; i < job->files.n; i++)
		*dft_index_get(&job->file_at, files[i].hash) = i;
	return 0;
}
