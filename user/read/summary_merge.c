// SPDX-License-Identifier: MIT
/* The sums of one job to those of another: all that is kept of a job adds up in any order. */
#include <stdlib.h>
#include <string.h>

#include "summary_parts.h"

int dft_text_cmp(struct dft_str a, struct dft_str b)
{
	int c = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);

	if (c)
		return c;
	return a.n < b.n ? -1 : a.n > b.n ? 1 : 0;
}

/* The text that is `at` in `from`, in `to`; 0 for none, or when memory is short. */
static uint64_t text(struct dft_job *to, const struct dft_job *from, uint64_t at)
{
	uint64_t there = 0;

	if (at && dft_strings_add(&to->strings, dft_strings_at(&from->strings, at), &there) < 0)
		dft_job_no_memory(to);
	return there;
}

/* The same of texts that many have. */
static uint64_t shared_text(struct dft_job *to, const struct dft_job *from, uint64_t at)
{
	struct dft_str s = dft_strings_at(&from->strings, at);
	uint64_t *there;
	bool fresh;

	if (!at)
		return 0;
	there = dft_index_put(&to->program_at, dft_hash_bytes(0, s.s, s.n), &fresh);
	if (there && fresh)
		*there = text(to, from, at);
	if (!there)
		dft_job_no_memory(to);
	return there ? *there : 0;
}

/* Where the operation is in `to`; UINT64_MAX when memory is short. */
static uint64_t merge_op(struct dft_job *to, struct dft_vec *vec, struct dft_index *map,
			 const struct dft_job *from, const struct dft_op *op)
{
	const struct dft_record r = { .name = dft_strings_at(&from->strings, op->name),
				      .cat = dft_strings_at(&from->strings, op->cat) };
	const struct dft_share s = { op->calls, op->errors, op->restarted, op->bytes, op->time_ns,
				     op->max_ns };
	struct dft_op *t = dft_job_op(to, vec, map, &r);

	if (!t)
		return UINT64_MAX;
	dft_op_add(t, &s);
	dft_add_sat(&t->in_rows, op->in_rows);
	if (dft_hist_merge(&t->hist, &op->hist) < 0)
		dft_job_no_memory(to);
	return (uint64_t)(t - (struct dft_op *)vec->v);
}

static void merge_ops(struct dft_job *to, struct dft_vec *vec, struct dft_index *map,
		      const struct dft_job *from, const struct dft_vec *ops)
{
	const struct dft_op *op = ops->v;

	for (size_t i = 0; i < ops->n && !to->err; i++)
		merge_op(to, vec, map, from, &op[i]);
}

/* Operations, and what refers to them by number. */
static void merge_calls(struct dft_job *to, const struct dft_job *from)
{
	const struct dft_op *op = from->ops.v;
	const struct dft_failure *f = from->failures.v;
	const struct dft_slow *slow = from->slow.v;
	struct dft_vec nrs = { 0 };
	uint64_t *nr;

	for (size_t i = 0; i < from->ops.n && !to->err; i++) {
		nr = dft_vec_add(&nrs, sizeof(*nr));
		if (nr)
			*nr = merge_op(to, &to->ops, &to->op_at, from, &op[i]);
		else
			dft_job_no_memory(to);
	}
	nr = nrs.v;
	for (size_t i = 0; i < from->failures.n && !to->err; i++)
		dft_failure_add(to, nr[f[i].op], f[i].err, f[i].calls);
	for (size_t i = 0; i < from->slow.n && !to->err; i++) {
		struct dft_slow s = slow[i];

		s.op = nr[s.op];
		dft_slow_take(to, &s);
	}
	free(nrs.v);
}

static void merge_file(struct dft_job *to, const struct dft_job *from, const struct dft_file *f)
{
	struct dft_file *t = dft_job_file(to, f->hash);

	if (!t)
		return;
	if (f->name && (!t->name || dft_text_cmp(dft_strings_at(&from->strings, f->name),
						 dft_strings_at(&to->strings, t->name)) < 0))
		t->name = text(to, from, f->name);
	dft_add_sat(&t->calls, f->calls);
	dft_add_sat(&t->errors, f->errors);
	dft_add_sat(&t->read, f->read);
	dft_add_sat(&t->written, f->written);
	dft_add_sat(&t->time_ns, f->time_ns);
	dft_add_sat(&t->opens, f->opens);
	dft_add_sat(&t->meta_ns, f->meta_ns);
	dft_add_sat(&t->procs, f->procs);
	dft_add_sat(&t->faulted, f->faulted);
	for (int i = 0; i < DFT_RANK_WORDS; i++)
		t->ranks.bits[i] |= f->ranks.bits[i];
	t->ranks.more |= f->ranks.more;
	t->procs_more |= f->procs_more;
	t->mapped |= f->mapped;
	t->code |= f->code;
	if (!f->access)
		return;
	if (!t->access) {
		if (!dft_vec_add(&to->access, sizeof(struct dft_access))) {
			dft_job_no_memory(to);
			return;
		}
		t->access = to->access.n;
	}
	dft_access_add((struct dft_access *)to->access.v + t->access - 1,
		       (const struct dft_access *)from->access.v + f->access - 1);
}

/* A process is in one file of the trace, and that in one job. */
static void merge_procs(struct dft_job *to, const struct dft_job *from)
{
	const struct dft_proc *p = from->procs.v;

	for (size_t i = 0; i < from->procs.n && !to->err; i++) {
		struct dft_proc *t = dft_vec_add(&to->procs, sizeof(*t));

		if (!t) {
			dft_job_no_memory(to);
			return;
		}
		*t = p[i];
		t->program = shared_text(to, from, p[i].program);
		t->command = shared_text(to, from, p[i].command);
	}
}

static void merge_counts(struct dft_job *to, struct dft_vec *vec, const struct dft_job *from,
			 const struct dft_vec *counts)
{
	const struct dft_count *c = counts->v;

	for (size_t i = 0; i < counts->n && !to->err; i++)
		dft_job_count_from(to, vec, from, &c[i]);
}

static void merge_pipes(struct dft_job *to, const struct dft_job *from)
{
	merge_ops(to, &to->pipes, &to->pipe_at, from, &from->pipes);
	for (size_t i = 0; i < from->pipe_ids.cap && !to->err; i++) {
		const struct dft_index_slot *slot = &from->pipe_ids.slots[i];
		bool fresh;

		if (slot->epoch != from->pipe_ids.epoch)
			continue;
		if (dft_index_put(&to->pipe_ids, slot->key, &fresh))
			to->pipe_cnt += fresh;
		else
			dft_job_no_memory(to);
	}
}

int dft_job_merge(struct dft_job *to, const struct dft_job *from)
{
	const struct dft_file *f = from->files.v;

	to->err = 0;
	if (!from->serial)
		return 0;
	/* A thread that came too late for any file has not even begun. */
	if (!to->serial)
		to->first_ns = UINT64_MAX;
	if (to->slow_max < from->slow_max)
		to->slow_max = from->slow_max;
	to->serial += from->serial;
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	merge_calls(to, from);
	merge_pipes(to, from);
	for (size_t i = 0; i < from->files.n && !to->err; i++)
		merge_file(to, from, &f[i]);
	merge_procs(to, from);
	merge_counts(to, &to->about, from, &from->about);
	merge_counts(to, &to->run_relations, from, &from->run_relations);
	merge_counts(to, &to->lost, from, &from->lost);
	merge_counts(to, &to->filtered, from, &from->filtered);
	merge_counts(to, &to->missed, from, &from->missed);
	merge_counts(to, &to->doubts, from, &from->doubts);
	merge_counts(to, &to->hosts, from, &from->hosts);
	for (int i = 0; i < DFT_WAYS && !to->err; i++)
		to->err = dft_sizes_merge(&to->sizes[i], &from->sizes[i]);
	to->records += from->records;
	to->events += from->events;
	to->counters += from->counters;
	to->others += from->others;
	to->runs += from->runs;
	dft_add_sat(&to->error_cnt, from->error_cnt);
	dft_add_sat(&to->shed_cnt, from->shed_cnt);
	dft_add_sat(&to->chosen_cnt, from->chosen_cnt);
	to->faults_unseen |= from->faults_unseen;
	to->no_args |= from->no_args;
	return to->err ? to->err : dft_sums_merge(to, from);
}
