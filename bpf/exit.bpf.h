/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Exit of a call: its values and strings, and where it goes. A part of io.bpf.c. */
#ifndef DFT_EXIT_BPF_H
#define DFT_EXIT_BPF_H

#include "enter.bpf.h"

#define CLONE_THREAD  0x10000
#define PROT_EXEC     0x4
#define MAP_ANONYMOUS 0x20

/* What finish() hands around: BPF functions take five arguments. */
struct exit_ctx {
	struct value_env env;
	struct dft_task *t;
	__u64 dur_ns;
	__u32 tid;
	__u16 nr;
	__u16 pad;
};

/* What its event's name depends on besides the number: dft_desc_form(). */
ALWAYS_INLINE __u32 form_of(const struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);

	return dft_desc_form(call & DFT_CALL_SELF,
			     d->at_flags && arg(&x->env.args, d->at_flags - 1) & dft_alt_flag(d->alt));
}

/* The call's number in a tally. */
ALWAYS_INLINE __u16 tally_nr(const struct exit_ctx *x, __u32 call)
{
	__u32 form = form_of(x, call);

	return x->nr | (form & 1 ? DFT_TALLY_SELF : 0) | (form & 2 ? DFT_TALLY_FLAGGED : 0);
}

ALWAYS_INLINE void call_sum(struct dft_sum *sum, const struct exit_ctx *x)
{
	sum->failed = x->env.ret < 0 && !ret_is_none(x->env.ret);
	sum->bytes = desc_of(x->nr)->ret == DFT_RET_BYTES && x->env.ret > 0 ? x->env.ret : 0;
	sum->ts_ns = x->t->ts_ns;
	sum->dur_ns = x->dur_ns;
	sum->more = 0;
}

/* Adds the call to a tally of its file. The base of a path is not the file. */
static __attribute__((noinline)) int tally_call(struct exit_ctx *x, __u32 kind, __u32 call)
{
	struct dft_tally_key key;
	struct dft_sum sum;

	tally_key(&key, &x->t->who, kind, tally_nr(x, call));
	key.id = call & DFT_CALL_BASE ? 0 : x->t->name;
	call_sum(&sum, x);
	return dft_tally(&key, &sum);
}

/* What entry has noted, for the values. */
ALWAYS_INLINE void env_fill(struct value_env *env, const struct dft_task *t)
{
	env->file = t->file;
	env->pos = t->pos;
	env->name2 = t->name2;
	env->file2 = t->file2;
	env->cls = t->cls;
	env->append = t->append;
}

/* Where the next call of the batch goes; `mine` is false while the batch is being taken away. */
ALWAYS_INLINE struct dft_gathered *gather_begin(struct dft_task *t, bool *mine)
{
	__u32 at = DFT_BATCH_MAX;

	*mine = take(t);
	if (*mine && t->batch.n < DFT_BATCH_MAX)
		at = t->batch.n;
	bound(at);
	return at > DFT_BATCH_MAX ? NULL : &t->calls[at];
}

ALWAYS_INLINE void gather_end(const struct exit_ctx *x, bool mine)
{
	struct dft_task *t = x->t;
	__u32 n;

	if (!mine) {
		dft_send_single(t);
		return;
	}
	n = t->batch.n + 1;
	t->batch.n = n;
	if (n >= DFT_BATCH_MAX || t->ts_ns + x->dur_ns - t->calls[0].ts_ns > dft_knob_flush)
		dft_hand_in(t, x->tid);
	let_go(&t->busy, t->handed << 1);
}

ALWAYS_INLINE void gathered_fill(struct dft_gathered *c, const struct exit_ctx *x)
{
	const struct dft_task *t = x->t;

	c->nr = x->nr;
	c->nvals = 0;
	c->present = 0;
	c->cls = t->cls;
	c->ts_ns = t->ts_ns;
	c->dur_ns = x->dur_ns;
	c->ret = x->env.ret;
	c->name = t->name;
}

/* A call that a batch cannot hold: one with strings, or whose tally would not be by number and file. */
#define NOT_GATHERED                                                                                 \
	(DFT_CALL_BASE | DFT_CALL_SELF | DFT_CALL_TEXT1 | DFT_CALL_TEXT2 | DFT_CALL_FAULT1 |         \
	 DFT_CALL_FAULT2)

/* Not exec: what the process makes from then on refers to the program. */
ALWAYS_INLINE bool can_gather(const volatile struct dft_desc *d, const struct dft_rec_call *rec)
{
	return !(rec->flags & NOT_GATHERED) && rec->nvals <= DFT_BATCH_VALS && !d->at_flags &&
	       d->special != DFT_SPECIAL_EXEC;
}

ALWAYS_INLINE void gather_call(const struct exit_ctx *x, const union call_rec *rec)
{
	bool mine;
	struct dft_gathered *c = gather_begin(x->t, &mine);

	if (!c)
		return;
	gathered_fill(c, x);
	c->flags = rec->c.flags;
	c->nvals = rec->c.nvals;
	c->present = rec->c.present;
	for (__u32 i = 0; i < DFT_BATCH_VALS; i++)
		c->val[i] = rec->c.val[i];
	gather_end(x, mine);
}

static __attribute__((noinline)) int send_call(struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	union call_rec rec = {};
	__u64 size;

	rec.c.type = DFT_REC_CALL;
	rec.c.nr = x->nr;
	rec.c.flags = call;
	rec.c.cls = t->cls;
	rec.c.ts_ns = t->ts_ns;
	rec.c.dur_ns = x->dur_ns;
	rec.c.pid = t->who.pid;
	rec.c.tid = x->tid;
	rec.c.ret = x->env.ret;
	rec.c.name = t->name;
	if (d->src[0]) {
		env_fill(&x->env, t);
		for (__u32 i = 0; i < DFT_MAX_VALS && d->src[i]; i++)
			dft_value(&x->env, &rec, i);
	}
	if (can_gather(d, &rec.c)) {
		gather_call(x, &rec);
		return 0;
	}
	dft_flush(t);
	size = sizeof(rec.c) + (rec.c.nvals & DFT_MAX_VALS) * sizeof(__u64);
	if (dft_emit_detail(&rec, size))
		tally_call(x, DFT_TALLY_SHED, call);
	return 0;
}

static __attribute__((noinline)) int count_filtered(struct exit_ctx *x, __u32 cls,
						    __u32 call)
{
	struct dft_tally_key key;
	struct dft_sum sum;

	tally_key(&key, &x->t->who, DFT_TALLY_FILTERED, tally_nr(x, call));
	key.cls = cls;
	if (cls == DFT_CLASS_PIPE && desc_of(x->nr)->ret == DFT_RET_BYTES)
		key.id = x->t->ino ? x->t->ino : x->t->ino2;
	call_sum(&sum, x);
	return dft_tally(&key, &sum);
}

/* The first string; sets SELF when there is none and the call is on the descriptor itself. */
ALWAYS_INLINE void exit_text1(struct exit_ctx *x, const volatile struct dft_desc *d, __u32 *call)
{
	struct dft_task *t = x->t;
	__u64 user = arg(&x->env.args, d->path - 1);
	bool empty_ok = empty_path_allowed(&x->env.args, d);
	int len;

	if (!user && ((d->null_ok && *call & DFT_CALL_DIRFD) || (d->null_empty && empty_ok))) {
		*call |= DFT_CALL_SELF;
		return;
	}
	len = send_text(t, user, 1, empty_ok);
	if (!len && empty_ok)
		*call |= DFT_CALL_SELF;
	else if (len >= 0)
		*call |= DFT_CALL_TEXT1;
	else if (len == -1)
		*call |= DFT_CALL_FAULT1;
	else
		*call |= DFT_CALL_LOST1;
}

static __attribute__((noinline)) int exit_texts(struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	int len;

	if (d->path && !(call & DFT_CALL_SELF)) {
		if (t->flags & TASK_TEXT1_SENT)
			call |= DFT_CALL_TEXT1;
		else if (t->flags & TASK_TEXT1_LOST)
			call |= DFT_CALL_LOST1;
		else
			exit_text1(x, d, &call);
		if (!(call & DFT_CALL_SELF))
			call |= DFT_CALL_BASE;
	}
	/* On the descriptor itself, and that is of a kind left out: the caller counts it. */
	if (call & DFT_CALL_SELF && class_is_filtered(t->cls))
		return call;
	if (t->flags & TASK_TEXT2_SENT) {
		call |= DFT_CALL_TEXT2;
	} else if (t->flags & TASK_TEXT2_LOST) {
		call |= DFT_CALL_LOST2;
	} else if (d->path2) {
		len = send_text(t, arg(&x->env.args, d->path2 - 1), 2, 0);
		if (len >= 0)
			call |= DFT_CALL_TEXT2;
		else if (len == -1)
			call |= DFT_CALL_FAULT2;
		else
			call |= DFT_CALL_LOST2;
	}
	return call;
}

/* A successful open: the file is the one that is under the new number now. */
static __attribute__((noinline)) int exit_opened(struct exit_ctx *x)
{
	struct dft_task *t = x->t;

	t->name = 0;
	t->cls = DFT_CLASS_NONE;
	t->call = 0;
	IO_NOTE_FILE(t, x->env.ret, false, 0);
	return 0;
}

/* Calls that turn out to be no events. */
ALWAYS_INLINE bool exit_is_no_event(struct exit_ctx *x, const volatile struct dft_desc *d)
{
	__u64 flags = 0, user;

	if (d->special == DFT_SPECIAL_MMAP)
		return arg(&x->env.args, 3) & MAP_ANONYMOUS;
	if (d->special != DFT_SPECIAL_CLONE)
		return false;
	if (d->src[0] == DFT_SRC_A0)
		return arg(&x->env.args, 0) & CLONE_THREAD;
	user = arg(&x->env.args, 0); /* clone3: flags come first in its structure */
	return !bpf_probe_read_user(&flags, sizeof(flags), (const void *)user) &&
	       flags & CLONE_THREAD;
}

/* Why the call is left out: the first reason that holds, or 0 if it is kept. */
ALWAYS_INLINE __u8 exit_filter(struct exit_ctx *x, const volatile struct dft_desc *d, __u32 call,
			       __u32 form)
{
	__u8 cls;

	if (is_dropped(x->nr, form))
		return DFT_CLASS_ONLY;
	cls = filter_file(x->t, d, call);
	return cls ? cls : is_too_short(x->dur_ns) ? DFT_CLASS_MIN_DUR : 0;
}

/* Another file under the descriptor than at entry, or it was away in between? */
ALWAYS_INLINE bool fd_replaced(struct task_struct *task, __u32 fd, __u64 file, __u32 seen, __u32 key)
{
	return seen && (fd_sequence(key) != seen || addr_of_fd(task, fd) != file);
}

ALWAYS_INLINE bool cwd_replaced(struct task_struct *task, __u32 seen)
{
	return seen && cwd_sequence(task, true) != seen;
}

/*
 * What the call's descriptors and cwd stand for was looked up at entry, a fraction of a microsecond
 * before the kernel did. Where another thread puts something else there just then, the kernel may
 * have taken that. It cannot be known which, but it can be said.
 */
static __attribute__((noinline)) int was_replaced(struct exit_ctx *x)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = x->t;
	__u32 n;

	/* Some change it themselves; exec leaves the other threads behind. */
	if (x->nr == NR_CLOSE || d->special == DFT_SPECIAL_CHDIR || d->special == DFT_SPECIAL_EXEC)
		return 0;
	n = d->fd ? d->fd : t->call & DFT_CALL_DIRFD ? d->base : 0;
	if (n ? fd_replaced(task, arg(&x->env.args, n - 1), t->file, t->seen, t->key) :
		cwd_replaced(task, t->seen))
		return 1;
	n = d->fd2 ? d->fd2 : t->file2 ? d->base2 : 0;
	if (d->closes)
		return 0;
	return n ? fd_replaced(task, arg(&x->env.args, n - 1), t->file2, t->seen2, t->key2) :
		   cwd_replaced(task, t->seen2);
}

/* The call goes where it belongs: to the tallies, or as a record into the ring. */
ALWAYS_INLINE void dispose(struct exit_ctx *x, const volatile struct dft_desc *d, __u32 call)
{
	__u32 cls = exit_filter(x, d, call, form_of(x, call));

	if (cls)
		count_filtered(x, cls, call);
	else if (dft_aggregate)
		tally_call(x, DFT_TALLY_CHOSEN, call);
	else if (call & (DFT_CALL_LOST1 | DFT_CALL_LOST2))
		tally_call(x, DFT_TALLY_SHED, call);
	else
		send_call(x, call);
}

static __attribute__((noinline)) int finish(struct exit_ctx *x)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	__u32 call;

	if (exit_is_no_event(x, d))
		return 0;
	if (d->special == DFT_SPECIAL_MMAP && arg(&x->env.args, 2) & PROT_EXEC && x->env.ret >= 0)
		dft_image(t, t->file);
	if (d->ret == DFT_RET_FILE && x->env.ret >= 0)
		exit_opened(x);
	else if ((t->seen || t->seen2) && was_replaced(x))
		t->call |= DFT_CALL_REPLACED;
	call = t->call;
	if (dft_knob_min_dur && x->dur_ns < dft_knob_min_dur)
		t->flags |= TASK_QUIET;
	if ((d->path || d->path2) && !(d->ret == DFT_RET_FILE && x->env.ret >= 0))
		call = exit_texts(x, call);
	dispose(x, d, call);
	if (d->closes && x->env.ret >= 0 && t->cls2)
		send_implied_close(t, t->ts_ns, x->dur_ns, t->name2,
				   t->cls2 | (call & DFT_CALL_OTHER_DELETED ? DFT_CALL_DELETED : 0) << 8);
	return 0;
}

/* A simple call that may be left out or aggregated. True when it was. */
static __attribute__((noinline)) int dispose_simple(struct exit_ctx *x)
{
	__u32 call = x->t->call, cls = exit_filter(x, desc_of(x->nr), call, 0);

	if (cls)
		count_filtered(x, cls, call);
	else if (dft_aggregate)
		tally_call(x, DFT_TALLY_CHOSEN, call);
	else
		return 0;
	return 1;
}

/*
 * A simple call: straight into the batch of its thread. What is not the usual way is not in line.
 */
ALWAYS_INLINE void finish_simple(struct task_struct *task, struct exit_ctx *x,
				 const volatile struct dft_desc *d)
{
	struct dft_task *t = x->t;
	struct dft_gathered *c;
	bool mine;

	if (x->nr != NR_CLOSE &&
	    fd_replaced(task, arg(&x->env.args, 0), t->file, t->seen, t->key))
		t->call |= DFT_CALL_REPLACED;
	if (class_is_filtered(t->cls) || dft_knob_verdicts || dft_knob_only || dft_knob_min_dur ||
	    dft_aggregate) {
		if (dispose_simple(x))
			return;
	}
	c = gather_begin(t, &mine);
	if (!c)
		return;
	gathered_fill(c, x);
	if (d->src[0]) {
		__u16 flags = 0;

		env_fill(&x->env, t);
#pragma unroll
		for (__u32 i = 0; i < DFT_BATCH_VALS; i++) {
			__u8 src = d->src[i];

			if (!src)
				break;
			if (src < DFT_SRC_USER && value_plain(&x->env, src, &flags, &c->val[i])) {
				c->present |= 1 << i;
				c->nvals = i + 1;
			}
		}
		t->call |= flags;
	}
	c->flags = t->call;
	gather_end(x, mine);
}

#endif
