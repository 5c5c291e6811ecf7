// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Calls that a thread gathers in its own state and hands in together: reserving room in the ring costs
 * a call more than its record does.
 *
 * `busy` is taken by whoever adds or hands in: the thread itself, or the iterator, which does it for
 * threads that make no further calls. Neither waits. The iterator reserves its room in the ring before it
 * takes `busy`, and takes it only if the thread has not handed in since before that, which `busy` tells as
 * well. So who finds it taken by the iterator knows that the batch is on its way, and stands before
 * whatever is sent from then on: the order within a thread holds.
 */
#include "core.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define BUSY_TRIES 256 /* of the iterator; a thread holds it for well under a microsecond */

/* Adds a gathered call to the tallies. */
ALWAYS_INLINE void shed_gathered(struct dft_task *t, const struct dft_gathered *c)
{
	struct dft_tally_key key;
	struct dft_sum sum;
	bool bytes = dft_descs[c->nr & (DFT_NR_MAX - 1)].ret == DFT_RET_BYTES;

	tally_key(&key, &t->who, DFT_TALLY_SHED, c->nr);
	key.id = c->name;
	sum.failed = c->ret < 0 && !ret_is_none(c->ret);
	sum.bytes = bytes && c->ret > 0 ? c->ret : 0;
	sum.ts_ns = c->ts_ns;
	sum.dur_ns = c->dur_ns;
	sum.more = 0;
	dft_tally(&key, &sum);
}

ALWAYS_INLINE void batch_fill(struct dft_rec_batch *batch, const struct dft_task *t, __u32 n, __u32 tid)
{
	batch->type = DFT_REC_BATCH;
	batch->n = n;
	batch->pid = t->who.pid;
	batch->tid = tid;
	batch->start_ns = t->who.start_ns;
}

ALWAYS_INLINE void shed_batch(struct dft_task *t, __u32 n)
{
	for (__u32 i = 0; i < DFT_BATCH_MAX && i < n; i++)
		shed_gathered(t, &t->calls[i]);
}

int dft_hand_in(struct dft_task *t, __u32 tid)
{
	__u32 n, size;

	if (!t)
		return 0;
	n = t->batch.n;
	if (!n || n > DFT_BATCH_MAX)
		return 0;
	batch_fill(&t->batch, t, n, tid);
	size = sizeof(t->batch) + n * sizeof(t->calls[0]);
	bound(size);
	if (size > sizeof(t->batch) + DFT_BATCH_MAX * sizeof(t->calls[0]))
		return 0;
	if (dft_emit_detail(&t->batch, size))
		shed_batch(t, n);
	t->batch.n = 0;
	t->handed++;
	return 0;
}

__hidden int dft_flush_batch(struct dft_task *t)
{
	if (!take(t))
		return 0; /* being taken away just now */
	dft_hand_in(t, (__u32)bpf_get_current_pid_tgid());
	let_go(&t->busy, t->handed << 1);
	return 0;
}

__hidden int dft_send_single(struct dft_task *t)
{
	struct {
		struct dft_rec_batch batch;
		struct dft_gathered call;
	} rec = {};

	batch_fill(&rec.batch, t, 1, (__u32)bpf_get_current_pid_tgid());
	rec.call = t->calls[DFT_BATCH_MAX];
	if (dft_emit_detail(&rec, sizeof(rec)))
		shed_gathered(t, &rec.call);
	return 0;
}

struct full_batch {
	struct dft_rec_batch batch;
	struct dft_gathered calls[DFT_BATCH_MAX];
};

/* `busy` when it was not taken; or, after so long, taken all the same: then it cannot be unchanged. */
ALWAYS_INLINE __u32 when_free(const struct dft_task *t)
{
	__u32 was = 1;

	for (__u32 i = 0; i < BUSY_TRIES && was & 1; i++)
		was = *(volatile __u32 *)&t->busy;
	return was;
}

/* For the iterator, unless the thread has handed in since `was` was read. */
ALWAYS_INLINE bool take_unchanged(struct dft_task *t, __u32 was)
{
	for (__u32 i = 0; i < BUSY_TRIES && !(was & 1); i++)
		if (__sync_val_compare_and_swap(&t->busy, was, was | 1) == was)
			return true;
	return false;
}

ALWAYS_INLINE bool keep_name(__u64 id)
{
	__u8 one = 1;

	return !id || !bpf_map_update_elem(&names, &id, &one, BPF_ANY);
}

/*
 * The call in flight refers to names whose records may be long gone by when its own comes: back into
 * the map, where user space looks for what is needed still. False if there was no room.
 */
ALWAYS_INLINE bool keep_names(struct dft_task *t)
{
	/* A fault refers to its file's name until it is tallied. */
	bool kept = keep_name(*(volatile __u64 *)&t->faults.last.id) &&
		    keep_name(*(volatile __u64 *)&t->faults.run.id);

	if (*(volatile __u64 *)&t->ts_ns)
		kept = kept && keep_name(*(volatile __u64 *)&t->name) &&
		       keep_name(*(volatile __u64 *)&t->name2);
	/* A full barrier: a call that has ended by now is in the batch as it is looked at below. */
	__sync_val_compare_and_swap(&t->busy, 0, 0);
	return kept;
}

/*
 * What threads have gathered and not handed in, for they make no calls at the moment. A thread that is
 * in the middle of adding to its batch hands it in itself if it is old; for it, and for one whose names
 * could not be kept, the reader of the iterator gets a byte.
 */
SEC("iter/task")
int gather_flush(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct full_batch *full;
	struct dft_task *t;
	__u32 n, was;
	char one = 1;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!t)
		return 0;
	if (dft_keep_names && !keep_names(t))
		bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	if (!dft_faults_flush(task, t))
		bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	was = when_free(t);
	if (!*(volatile __u8 *)&t->batch.n)
		return 0;
	full = dft_ring_is_tight() ? NULL : bpf_ringbuf_reserve(&ring, sizeof(*full), 0);
	if (!take_unchanged(t, was)) {
		if (full)
			bpf_ringbuf_discard(full, BPF_RB_NO_WAKEUP);
		bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
		return 0;
	}
	n = t->batch.n;
	if (full) {
		__builtin_memset(&full->batch, 0, sizeof(full->batch));
		batch_fill(&full->batch, t, n, task->pid);
		bpf_probe_read_kernel(full->calls, sizeof(full->calls), t->calls);
		/* Not empty: it was not before `busy` was taken, and the thread has not handed it in. */
		bpf_ringbuf_submit(full, BPF_RB_NO_WAKEUP);
	} else {
		shed_batch(t, n);
	}
	t->batch.n = 0;
	t->handed++;
	let_go(&t->busy, t->handed << 1);
	return 0;
}
