// SPDX-License-Identifier: MIT
/* What the sums over operations, files and processes come to: for the job, directories, programs, ranks. */
#include <math.h>
#include <string.h>

#include "summary_parts.h"

/* The entry of that key in a vector, added when it is new; NULL when memory is short. */
static void *entry_of(struct dft_vec *vec, struct dft_index *map, uint64_t key, size_t size, bool *fresh)
{
	uint64_t *at = dft_index_put(map, key, fresh);
	void *v;

	if (at && !*fresh)
		return (char *)vec->v + *at * size;
	v = at ? dft_vec_add(vec, size) : NULL;
	if (v)
		*at = vec->n - 1;
	return v;
}

/* ---- directories ---------------------------------------------------------------------------- */

/*
 * The directory that a name is in, cut behind `depth` parts unless that is 0. A name without a slash is in
 * none: a socket's, for example.
 */
static struct dft_str directory_of(struct dft_str name, uint64_t depth)
{
	const char *slash = memrchr(name.s, '/', name.n);
	size_t n = slash ? (size_t)(slash - name.s) : 0;
	bool part = false;

	if (!slash)
		return (struct dft_str){ "", 0 };
	for (size_t i = 0; depth && i < n; i++) {
		if (name.s[i] != '/') {
			part = true;
		} else if (part) {
			part = false;
			if (!--depth)
				n = i;
		}
	}
	return (struct dft_str){ name.s, n ? n : 1 };
}

static int add_directory(struct dft_job *job, struct dft_index *map, const struct dft_file *f)
{
	struct dft_str name = directory_of(dft_strings_at(&job->strings, f->name), job->dir_depth);
	struct dft_directory *d;
	uint64_t offset;
	bool fresh;

	d = entry_of(&job->dirs, map, dft_hash_bytes(0, name.s, name.n), sizeof(*d), &fresh);
	if (!d)
		return -ENOMEM;
	if (fresh && name.n) {
		/* The store may move while it takes the text, which is in it. */
		offset = (uint64_t)(name.s - job->strings.buf);
		if (dft_strings_part(&job->strings, offset, name.n, &d->name) < 0)
			return -ENOMEM;
	}
	d->files++;
	dft_add_sat(&d->calls, f->calls);
	dft_add_sat(&d->errors, f->errors);
	dft_add_sat(&d->opens, f->opens);
	dft_add_sat(&d->read, f->read);
	dft_add_sat(&d->written, f->written);
	dft_add_sat(&d->time_ns, f->time_ns);
	dft_add_sat(&d->meta_ns, f->meta_ns);
	if (f->access)
		dft_access_add(&d->access, (const struct dft_access *)job->access.v + f->access - 1);
	return 0;
}

static int total_files(struct dft_job *job)
{
	const struct dft_file *f = job->files.v;
	struct dft_index map = { 0 };
	int err = 0;

	for (size_t i = 0; i < job->files.n && !err; i++) {
		err = add_directory(job, &map, &f[i]);
		if (f[i].access)
			dft_access_add(&job->total,
				       (const struct dft_access *)job->access.v + f[i].access - 1);
	}
	dft_index_free(&map);
	return err;
}

/* ---- programs, ranks ------------------------------------------------------------------------ */

static int add_program(struct dft_job *job, struct dft_index *map, const struct dft_proc *p)
{
	struct dft_program *t;
	bool fresh;

	/* The same text is the same number. */
	t = entry_of(&job->programs, map, p->program, sizeof(*t), &fresh);
	if (!t)
		return -ENOMEM;
	if (fresh) {
		/* Processes come with the most events first. */
		t->name = p->program;
		t->command = p->command;
	}
	t->procs++;
	dft_add_sat(&t->events, p->events);
	dft_add_sat(&t->calls, p->calls);
	dft_add_sat(&t->read, p->read);
	dft_add_sat(&t->written, p->written);
	dft_add_sat(&t->data_ns, p->data_ns);
	dft_add_sat(&t->meta_ns, p->meta_ns);
	return 0;
}

/* By rank where there are any: what else runs, such as launchers, is no part then. */
static int add_part(struct dft_job *job, struct dft_index *map, const struct dft_proc *p, uint64_t nr)
{
	struct dft_part *part;
	bool fresh;

	if (job->ranks && !p->has_rank)
		return 0;
	part = entry_of(&job->parts, map, job->ranks ? p->rank : nr, sizeof(*part), &fresh);
	if (!part)
		return -ENOMEM;
	part->id = job->ranks ? p->rank : p->pid;
	dft_add_sat(&part->bytes, p->read);
	dft_add_sat(&part->bytes, p->written);
	dft_add_sat(&part->time_ns, p->data_ns);
	dft_add_sat(&part->time_ns, p->meta_ns);
	return 0;
}

static int total_procs(struct dft_job *job)
{
	const struct dft_proc *p = job->procs.v;
	struct dft_index programs = { 0 }, parts = { 0 }, ranks = { 0 };
	int err = 0;
	bool fresh;

	for (size_t i = 0; i < job->procs.n && !err; i++) {
		if (p[i].has_rank && !dft_index_put(&ranks, p[i].rank, &fresh))
			err = -ENOMEM;
	}
	job->ranks = ranks.cnt;
	for (size_t i = 0; i < job->procs.n && !err; i++) {
		job->threads += p[i].threads;
		dft_add_sat(&job->read, p[i].read);
		dft_add_sat(&job->written, p[i].written);
		dft_add_sat(&job->calls, p[i].calls);
		dft_add_sat(&job->data_ns, p[i].data_ns);
		dft_add_sat(&job->meta_ns, p[i].meta_ns);
		if (p[i].last_ns > p[i].first_ns)
			dft_add_sat(&job->procs_ns, p[i].last_ns - p[i].first_ns);
		err = add_program(job, &programs, &p[i]);
		if (!err)
			err = add_part(job, &parts, &p[i], i);
	}
	dft_index_free(&programs);
	dft_index_free(&parts);
	dft_index_free(&ranks);
	return err;
}

void dft_job_weigh(struct dft_job *job)
{
	const struct dft_part *part = job->parts.v;

	for (int k = 0; k < 2; k++) {
		struct dft_balance *b = &job->balance[k];
		double sum = 0, squares = 0, n = (double)job->parts.n;

		*b = (struct dft_balance){ .what = k ? "time_ns" : "bytes", .min = UINT64_MAX };
		for (size_t i = 0; i < job->parts.n; i++) {
			uint64_t v = k ? part[i].time_ns : part[i].bytes;

			if (!i || v > b->max) {
				b->max = v;
				b->max_id = part[i].id;
			}
			if (v < b->min)
				b->min = v;
			sum += (double)v;
		}
		if (!job->parts.n) {
			b->min = 0;
			continue;
		}
		b->mean = sum / n;
		/* In a second round: differences of squares would lose all digits. */
		for (size_t i = 0; i < job->parts.n; i++) {
			double d = (double)(k ? part[i].time_ns : part[i].bytes) - b->mean;

			squares += d * d;
		}
		b->stddev = sqrt(squares / n);
	}
}

double dft_job_bandwidth(const struct dft_job *job)
{
	uint64_t bytes = job->read;

	dft_add_sat(&bytes, job->written);
	return job->balance[1].max ? (double)bytes * 1e9 / (double)job->balance[1].max : 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int list_sizes(struct dft_job *job)
{
	for (int way = 0; way < DFT_WAYS; way++) {
		const struct dft_index *m = &job->sizes[way].at;

		for (size_t i = 0; i < m->cap; i++) {
			struct dft_size *s;

			if (m->slots[i].epoch != m->epoch)
				continue;
			s = dft_vec_add(&job->frequent, sizeof(*s));
			if (!s)
				return -ENOMEM;
			*s = (struct dft_size){ m->slots[i].key, m->slots[i].val, (enum dft_way)way };
		}
	}
	return 0;
}

int dft_job_total(struct dft_job *job)
{
	const struct dft_op *op = job->ops.v;
	int err = total_procs(job);

	for (size_t i = 0; i < job->ops.n; i++) {
		struct dft_class_sum *sum = &job->classes[op[i].class];

		dft_add_sat(&sum->calls, op[i].calls);
		dft_add_sat(&sum->errors, op[i].errors);
		dft_add_sat(&sum->bytes, op[i].bytes);
		dft_add_sat(&sum->time_ns, op[i].time_ns);
	}
	job->faulted = job->classes[DFT_CLASS_FAULT].bytes;
	if (!err)
		err = total_files(job);
	return err ? err : list_sizes(job);
}
