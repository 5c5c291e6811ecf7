/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Requests: what a program has the kernel do while it goes on, by io_uring or Linux AIO. A request is
 * noted when it is submitted, and becomes an event when its end is told. A part of io.bpf.c.
 */
#ifndef DFT_REQUEST_BPF_H
#define DFT_REQUEST_BPF_H

#include "exit.bpf.h"

#ifdef DFT_CAST
#define IO_REQUEST_OVER	 io_cast_request_over
#define IO_REQUEST_SWEEP io_cast_request_sweep
#else
#define IO_REQUEST_OVER	 io_request_over
#define IO_REQUEST_SWEEP io_request_sweep
#endif

#define NR_URING_CLOSE (DFT_NR_URING + 19)
#define HOW_VALUES     0x7 /* of openat2: the first three */

union request_rec {
	struct dft_rec_request r;
	__u64 words[sizeof(struct dft_rec_request) / sizeof(__u64) + DFT_MAX_VALS + 1];
};
_Static_assert(sizeof(union request_rec) <= sizeof(((struct dft_ending *)0)->rec), "room for a record");

ALWAYS_INLINE struct dft_request_scratch *request_scratch_of(__u32 iter)
{
	return bpf_map_lookup_elem(&request_scratch, &iter);
}

ALWAYS_INLINE struct dft_submit *submit_get(void)
{
	struct dft_request_scratch *s = request_scratch_of(0);

	if (!s)
		return NULL;
	if (__sync_lock_test_and_set(&s->submit.busy, 1)) {
		dft_count(DFT_COUNTER_SCRATCH_BUSY);
		return NULL;
	}
	return &s->submit;
}

/* ---- submission ------------------------------------------------------------------------------ */

/*
 * The thread's own state serves: the call by which it submits is none that is followed. What was noted
 * for the request before is cleared.
 */
ALWAYS_INLINE void request_reset(struct dft_task *t, __u16 nr)
{
	t->nr = nr;
	t->call = 0;
	t->name = t->name2 = 0;
	t->file = t->file2 = 0;
	t->seen = t->seen2 = 0;
	t->ino = t->ino2 = 0;
	t->cls = t->cls2 = DFT_CLASS_NONE;
	t->pos = 0;
	t->append = 0;
	t->serial = 0;
	t->flags = 0;
	if (dft_aggregate || (dft_knob_only && desc_of(nr)->drop == DFT_DROP_ALL))
		t->flags = TASK_QUIET;
}

/* ---- end -------------------------------------------------------------------------------------- */

ALWAYS_INLINE bool result_is_known(__s64 ret)
{
	return ret != DFT_RESULT_UNFINISHED && ret != DFT_RESULT_UNSEEN;
}

/* Back into the form in which the functions for calls have it. */
ALWAYS_INLINE void ending_fill(struct dft_ending *e)
{
	const struct dft_request *r = &e->req;
	struct dft_task *t = &e->t;

	t->who = r->who;
	t->ts_ns = r->ts_ns;
	t->name = r->name;
	t->name2 = r->name2;
	t->file = r->file;
	t->file2 = r->file2;
	t->pos = r->pos;
	t->ino = r->ino;
	t->ino2 = r->ino2;
	t->nr = r->nr;
	t->call = r->call;
	t->cls = r->cls;
	t->cls2 = r->cls2;
	t->append = r->append;
}

/* The texts of a request that is in the tallies. */
ALWAYS_INLINE void request_forget_texts(struct dft_ending *e, __u32 call)
{
	union request_rec *rec = (union request_rec *)e->rec;

	if (!e->req.serial || !(call & (DFT_CALL_TEXT1 | DFT_CALL_TEXT2)))
		return;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->r.type = DFT_REC_REQUEST;
	rec->r.texts_only = 1;
	rec->r.serial = e->req.serial;
	rec->r.start_ns = e->req.who.start_ns;
	rec->r.call.pid = e->req.who.pid;
	/* Lost, they take up memory in user space until the process ends. */
	dft_emit(rec, sizeof(rec->r));
}

static __attribute__((noinline)) int request_send(struct dft_ending *e, struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	union request_rec *rec = (union request_rec *)e->rec;
	struct dft_rec_call *c = &rec->r.call;
	__u64 size;

	__builtin_memset(rec, 0, sizeof(*rec));
	rec->r.type = DFT_REC_REQUEST;
	rec->r.serial = e->req.serial;
	rec->r.start_ns = e->req.who.start_ns;
	c->type = DFT_REC_CALL;
	c->nr = x->nr;
	c->flags = call;
	c->cls = e->t.cls;
	c->ts_ns = e->req.ts_ns;
	c->dur_ns = x->dur_ns;
	c->pid = e->req.who.pid;
	c->tid = x->tid;
	c->ret = x->env.ret;
	c->name = e->t.name;
	env_fill(&x->env, &e->t);
	for (__u32 i = 0; i < DFT_MAX_VALS && d->src[i]; i++)
		dft_value(&x->env, (union call_rec *)c, i);
	if (e->req.flags & REQUEST_UNREAD)
		c->present &= ~HOW_VALUES;
	size = sizeof(rec->r) + (c->nvals & DFT_MAX_VALS) * sizeof(__u64);
	return dft_emit_detail(rec, size);
}

/* As dispose() does with a call. */
ALWAYS_INLINE void request_dispose(struct dft_ending *e, struct exit_ctx *x)
{
	__u32 call = e->t.call, cls;
	bool unseen = x->env.ret == DFT_RESULT_UNSEEN;

	if (unseen) /* how long it took is not known: not too short, then */
		x->dur_ns = dft_knob_min_dur;
	cls = exit_filter(x, desc_of(x->nr), call, form_of(x, call));
	if (unseen)
		x->dur_ns = 0;
	if (cls)
		count_filtered(x, cls, call);
	else if (dft_aggregate)
		tally_call(x, DFT_TALLY_CHOSEN, call);
	else if (call & (DFT_CALL_LOST1 | DFT_CALL_LOST2) || request_send(e, x, call))
		tally_call(x, DFT_TALLY_SHED, call);
	else
		return;
	request_forget_texts(e, call);
}

/* Takes the request out of the map, whoever is first; NULL: it is not there, or somebody else was. */
ALWAYS_INLINE struct dft_ending *ending_take(const struct dft_request_key *key, __u32 iter)
{
	struct dft_request *r = bpf_map_lookup_elem(&requests, key);
	struct dft_request_scratch *s;

	if (!r)
		return NULL;
	s = request_scratch_of(iter);
	if (!s)
		return NULL;
	if (__sync_lock_test_and_set(&s->ending.busy, 1)) {
		if (!bpf_map_delete_elem(&requests, key))
			dft_count(DFT_COUNTER_SCRATCH_BUSY);
		return NULL;
	}
	s->ending.req = *r;
	if (bpf_map_delete_elem(&requests, key)) {
		s->ending.busy = 0;
		return NULL;
	}
	ending_fill(&s->ending);
	return &s->ending;
}

ALWAYS_INLINE void ending_ctx(struct exit_ctx *x, struct dft_ending *e, __s64 ret)
{
	x->t = &e->t;
	for (__u32 i = 0; i < 6; i++)
		x->env.args.v[i] = e->req.args[i];
	x->env.args.v[6] = 0;
	x->env.args.v[7] = 0;
	x->env.ret = ret;
	x->nr = e->req.nr & (DFT_NR_MAX - 1);
	x->tid = e->req.tid;
	x->pad = 0;
	x->dur_ns = bpf_ktime_get_ns() - e->req.ts_ns;
}

/*
 * The end of a request whose file has not to be looked at again. A global function, which the verifier
 * checks once for all that call it.
 */
int IO_REQUEST_OVER(struct dft_request_key *key, __s64 ret, __u32 iter)
{
	struct dft_ending *e;
	struct exit_ctx x;

	e = key ? ending_take(key, iter) : NULL;
	if (!e)
		return 0;
	ending_ctx(&x, e, ret);
	if (!result_is_known(ret) && e->req.flags & REQUEST_OVERFLOW) {
		x.env.ret = e->req.ret;
		x.dur_ns = e->req.dur_ns;
	}
	request_dispose(e, &x);
	e->busy = 0;
	return 0;
}

/*
 * The one before under this key is over, for its memory is used again. Nearly always there is none. Its
 * event is made if `unseen`, for which the verifier needs its time; else it is counted as lost.
 */
ALWAYS_INLINE void request_displaced(struct dft_request_key *key, bool unseen)
{
	struct dft_request *r = dft_requested ? bpf_map_lookup_elem(&requests, key) : NULL;
	struct dft_who who;

	if (!r)
		return;
	if (unseen) {
		IO_REQUEST_OVER(key, DFT_RESULT_UNSEEN, 0);
		return;
	}
	who = r->who;
	if (!bpf_map_delete_elem(&requests, key))
		tally_one(&who, DFT_TALLY_RECORD, DFT_REC_REQUEST);
}

/* ---- into the map ---------------------------------------------------------------------------- */

/* Into the map: before the kernel begins with it, so that its end finds it. */
ALWAYS_INLINE void request_put(struct dft_task *t, struct dft_submit *s, bool unseen)
{
	struct dft_request *r = &s->req;

	r->who = t->who;
	r->name = t->name;
	r->name2 = t->name2;
	r->file = t->file;
	r->file2 = t->file2;
	r->pos = t->pos;
	r->ino = t->ino;
	r->ino2 = t->ino2;
	r->serial = t->serial;
	r->call = t->call;
	r->cls = t->cls;
	r->cls2 = t->cls2;
	r->append = t->append;
	t->serial = 0;
	if (!dft_requested)
		dft_requested = true;
	r->ts_ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&requests, &s->key, r, BPF_NOEXIST))
		return;
	request_displaced(&s->key, unseen);
	/* What became of it will not be known: it is not a call with a result, in the tallies. */
	if (bpf_map_update_elem(&requests, &s->key, r, BPF_ANY))
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_REQUEST);
}

/* ---- those whose end nobody tells ------------------------------------------------------------- */

ALWAYS_INLINE bool keep_request_name(__u64 id)
{
	__u8 one = 1;

	return !id || !bpf_map_update_elem(&names, &id, &one, BPF_ANY);
}

/*
 * What can be said of one that is left over. Those of AIO the kernel lets come to their end before it
 * lets go of the process.
 */
ALWAYS_INLINE __s64 left_over(const struct dft_request *r)
{
	bool over = r->flags & (REQUEST_SKIP | REQUEST_OVERFLOW) ||
		    (dft_sweep == DFT_SWEEP_ENDING && r->nr >= DFT_NR_AIO);

	return over ? DFT_RESULT_UNSEEN : DFT_RESULT_UNFINISHED;
}

/*
 * Requests that are still there when their process has gone or tracing ends; or, while names are being
 * forgotten, those that they refer to. For each that it has dealt with, or could not, the reader of the
 * iterator gets a byte.
 */
SEC("?iter/bpf_map_elem")
int IO_REQUEST_SWEEP(struct bpf_iter__bpf_map_elem *ctx)
{
	const struct dft_request_key *from = ctx->key;
	struct seq_file *seq = ctx->meta->seq;
	struct dft_request *r = ctx->value;
	struct dft_request_key key;
	struct dft_who who;
	char one = 1;

	if (!from || !r)
		return 0;
	if (dft_sweep == DFT_SWEEP_NAMES) {
		if (!keep_request_name(r->name) || !keep_request_name(r->name2))
			bpf_seq_write(seq, &one, sizeof(one));
		return 0;
	}
	who = r->who;
	if (dft_sweep == DFT_SWEEP_ENDING && !bpf_map_lookup_elem(&ending, &who))
		return 0;
	key = *from;
	IO_REQUEST_OVER(&key, left_over(r), 1);
	bpf_seq_write(seq, &one, sizeof(one));
	return 0;
}

#endif
