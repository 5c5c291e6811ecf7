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
	struct dft_str x = dft_strings_at(&job->strings, a), y = dft_strings_at(&job->strings, b);
	size_t n = x.n < y.n ? x.n : y.n;
	int c = memcmp(x.s, y.s, n);

	if (c)
		return c;
	return x.n < y.n ? -1 : x.n > y.n ? 1 : 0;
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

static int cmp_procs(const void *pa, const void *pb, void *job)
{
	const struct dft_proc *a = pa, *b = pb;
	int c = down(a->events, b->events);

	if (!c)
		c = down(b->first_ns, a->first_ns);
	if (!c)
		c = down(b->pid, a->pid);
	return c ? c : by_text(job, a->program, b->program);
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

void dft_job_sort(struct dft_job *job)
{
	struct dft_file *files = job->files.v;
	size_t used = 0;

	/* Names that no call was made on, such as working directories, are no rows. */
	for (size_t i = 0; i < job->files.n; i++)
		if (files[i].calls)
			files[used++] = files[i];
	job->files.n = used;
	sort(job, &job->ops, sizeof(struct dft_op), cmp_ops);
	sort(job, &job->pipes, sizeof(struct dft_op), cmp_ops);
	sort(job, &job->files, sizeof(struct dft_file), cmp_files);
	sort(job, &job->procs, sizeof(struct dft_proc), cmp_procs);
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
