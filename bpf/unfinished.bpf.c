// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Calls that have begun and will not be seen to end: their thread dies in them, or tracing is over. Of a
 * thread that is killed while it waits the exit hook of the call tells (see is_dying()); what is here is
 * for the rest.
 */
#include "filter.bpf.h"
#include "unfinished.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MAP_ANONYMOUS 0x20

/* The arguments, from the registers that the thread saved when it called. */
ALWAYS_INLINE bool saved_args(struct task_struct *task, __u64 *args)
{
	__u64 regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	regs = bpf_task_pt_regs(task);
	if (!regs)
		return false;
	saved_regs_args((struct pt_regs *)regs, args);
	return true;
}

/* The values that are arguments as such; memory of another process cannot be read here. */
ALWAYS_INLINE void unfinished_values(union call_rec *rec, const volatile struct dft_desc *d,
				     const struct args *args)
{
#pragma unroll
	for (__u32 i = 0; i < DFT_MAX_VALS; i++) {
		__u32 src = d->src[i], n = src - DFT_SRC_A0;
		__u64 value;

		bound(n);
		if (src >= DFT_SRC_A0 && src <= DFT_SRC_A5)
			value = arg(args, n);
		else if (src == DFT_SRC_POS_A3 || src == DFT_SRC_WPOS_A3)
			value = arg(args, 3);
		else
			continue;
		if (src > DFT_SRC_A5 && value == (__u64)-1)
			continue; /* at the file position, which the call may have moved */
		rec->words[sizeof(rec->c) / sizeof(__u64) + i] = value;
		rec->c.present |= 1 << i;
		rec->c.nvals = i + 1;
	}
}

/* What send_unfinished() hands around. */
struct unfinished {
	struct args args;
	__u64 ts_ns;
	__u64 dur_ns;
	__u32 tid;
	bool known; /* the arguments are */
};

static __attribute__((noinline)) int count_unfinished(struct dft_task *t, struct unfinished *u, __u32 kind,
						      __u32 cls)
{
	struct dft_sum sum = { .ts_ns = u->ts_ns, .dur_ns = u->dur_ns };
	struct dft_tally_key key;

	tally_key(&key, &t->who, kind, t->nr);
	key.cls = cls;
	if (kind == DFT_TALLY_FILTERED)
		key.id = cls == DFT_CLASS_PIPE && desc_of(t->nr)->ret == DFT_RET_BYTES ?
				 (t->ino ? t->ino : t->ino2) : 0;
	else
		key.id = t->call & DFT_CALL_BASE ? 0 : t->name;
	return dft_tally(&key, &sum);
}

ALWAYS_INLINE __u32 text_flags(const struct dft_task *t)
{
	return (t->flags & TASK_TEXT1_SENT ? DFT_CALL_TEXT1 : 0) |
	       (t->flags & TASK_TEXT2_SENT ? DFT_CALL_TEXT2 : 0);
}

/* Its dispositions are those of dispose(), for a call whose result there is not. */
static __attribute__((noinline)) int send_unfinished(struct dft_task *t, struct unfinished *u)
{
	const volatile struct dft_desc *d = desc_of(t->nr);
	union call_rec rec = {};
	__u32 cls;

	if (d->path && !(t->call & DFT_CALL_SELF))
		t->call |= DFT_CALL_BASE;
	t->call |= text_flags(t);
	cls = is_dropped(t->nr, 0) ? DFT_CLASS_ONLY : filter_file(t, d, t->call);
	if (!cls && is_too_short(u->dur_ns))
		cls = DFT_CLASS_MIN_DUR;
	if (cls)
		return count_unfinished(t, u, DFT_TALLY_FILTERED, cls);
	if (dft_aggregate)
		return count_unfinished(t, u, DFT_TALLY_CHOSEN, 0);
	rec.c.type = DFT_REC_CALL;
	rec.c.nr = t->nr;
	rec.c.flags = t->call;
	rec.c.cls = t->cls;
	rec.c.ts_ns = u->ts_ns;
	rec.c.dur_ns = u->dur_ns;
	rec.c.pid = t->who.pid;
	rec.c.tid = u->tid;
	rec.c.ret = DFT_RESULT_UNFINISHED;
	rec.c.name = t->name;
	if (u->known)
		unfinished_values(&rec, d, &u->args);
	if (dft_emit_detail(&rec, sizeof(rec.c) + (rec.c.nvals & DFT_MAX_VALS) * sizeof(__u64)))
		count_unfinished(t, u, DFT_TALLY_SHED, 0);
	return 0;
}

ALWAYS_INLINE bool is_in_flight(const struct dft_task *t)
{
	return t->who.pid && !(t->flags & TASK_BEFORE_EXEC) &&
	       desc_of(t->nr)->kind == DFT_KIND_DECODED;
}

ALWAYS_INLINE bool take_kept(const struct dft_task *t, struct unfinished *u)
{
#pragma unroll
	for (__u32 i = 0; i < 6; i++)
		u->args.v[i] = t->kept[i];
	return true;
}

ALWAYS_INLINE void unfinished(struct task_struct *task, struct dft_task *t)
{
	struct unfinished u = { .tid = task->pid };

	/* By the iterator or the thread itself, whoever comes first. */
	u.ts_ns = __sync_lock_test_and_set(&t->ts_ns, 0);
	if (!u.ts_ns)
		return;
	u.dur_ns = bpf_ktime_get_ns() - u.ts_ns;
	if (t->kept_ns == u.ts_ns)
		u.known = take_kept(t, &u);
	else
		u.known = task == bpf_get_current_task_btf() && saved_args(task, u.args.v);
	/* Without a file it is no event, and whether it has one the arguments tell. */
	if (desc_of(t->nr)->special == DFT_SPECIAL_MMAP && (!u.known || u.args.v[3] & MAP_ANONYMOUS))
		return;
	send_unfinished(t, &u);
}

__hidden int dft_unfinished(struct dft_task *t)
{
	if (is_in_flight(t))
		unfinished(bpf_get_current_task_btf(), t);
	return 0;
}

/*
 * Tracing ends, and the hook of the entries is gone: the arguments of the calls under way. When that of the
 * exits has gone, too, the threads may be in later calls, with those in their registers.
 */
SEC("iter/task")
int call_keep_args(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct args args = {};
	struct dft_task *t;
	__u64 ts_ns;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!t || !is_in_flight(t))
		return 0;
	ts_ns = *(volatile __u64 *)&t->ts_ns;
	if (!ts_ns || !saved_args(task, args.v))
		return 0;
	__sync_lock_test_and_set(&t->kept_ns, 0); /* looks after it has read them: a barrier */
	if (*(volatile __u64 *)&t->ts_ns != ts_ns)
		return 0; /* over */
#pragma unroll
	for (__u32 i = 0; i < 6; i++)
		t->kept[i] = args.v[i];
	t->kept_ns = ts_ns;
	return 0;
}

/* Tracing is over, and the hooks of the calls are gone: what is under way in threads that live. */
SEC("iter/task")
int call_unfinished(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct dft_task *t;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (t && is_in_flight(t))
		unfinished(task, t);
	return 0;
}
