/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Requests of Linux AIO. They begin with io_submit(), and their ends are told by io_getevents(): those
 * that the program takes out of the ring itself, which it has mapped, nobody tells. A part of io.bpf.c.
 */
#ifndef DFT_AIO_BPF_H
#define DFT_AIO_BPF_H

#include "request.bpf.h"

#ifdef DFT_CAST
#define AIO_BEGIN io_cast_aio_begin
#else
#define AIO_BEGIN io_aio_begin
#endif

#define AIO_MAX	     65536u /* requests of a call; what more there are is counted */
#define AIO_MAX_LOOP 64u    /* without bpf_loop() */

/* include/uapi/linux/aio_abi.h */
struct io_event {
	__u64 data;
	__u64 obj; /* address of the iocb */
	__s64 res, res2;
};

struct aio_walk {
	struct dft_task *t;
	__u64 user; /* array of the program */
	__u64 ring;
	__s64 ret;
	__u64 first;
};

ALWAYS_INLINE void aio_key(struct dft_request_key *key, const struct dft_who *who, __u64 iocb)
{
	key->addr = iocb;
	key->start_ns = who->start_ns;
	key->pid = who->pid;
	key->pad = 0;
}

/* Those for which there is no room. */
ALWAYS_INLINE void aio_rest(const struct dft_task *t, __u64 n)
{
	struct dft_sum sum = { .more = n - 1 };
	struct dft_tally_key key;

	tally_key(&key, &t->who, DFT_TALLY_RECORD, DFT_REC_REQUEST);
	dft_tally(&key, &sum);
}

ALWAYS_INLINE bool aio_can_loop(void)
{
	return !dft_knob_no_loop && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop);
}

/* How many of `n` are looked at. */
ALWAYS_INLINE __u32 aio_limit(__u64 n)
{
	__u32 max = aio_can_loop() ? AIO_MAX : AIO_MAX_LOOP;

	return (__s64)n < 0 ? 0 : n < max ? n : max;
}

/* ---- io_submit -------------------------------------------------------------------------------- */

/* The request in s->raw; 0: it is no event. A global function, which the verifier checks once. */
int AIO_BEGIN(struct dft_task *t, struct dft_submit *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct dft_desc *d;
	__u16 opcode;
	__u64 addr;

	if (!t || !s)
		return 0;
	opcode = s->raw[2];
	if (opcode >= DFT_NR_AIO_MAX || desc_of(DFT_NR_AIO + opcode)->kind == DFT_KIND_NONE) {
		tally_one(&t->who, DFT_TALLY_UNKNOWN, 0xffff);
		return 0;
	}
	s->req.nr = DFT_NR_AIO + opcode;
	d = desc_of(s->req.nr);
	if (d->kind != DFT_KIND_DECODED)
		return 0;
	s->req.tid = (__u32)bpf_get_current_pid_tgid();
	s->req.flags = 0;
	s->req.args[0] = s->raw[2] >> 32; /* descriptor */
	s->req.args[1] = s->raw[3];       /* address */
	s->req.args[2] = s->raw[4];       /* length */
	s->req.args[3] = s->raw[5];       /* offset */
	s->req.args[4] = 0;
	s->req.args[5] = s->raw[1] >> 32; /* RWF_* */
	request_reset(t, s->req.nr);
	addr = addr_of_fd(task, s->req.args[0]);
	if (addr)
		note_file(task, t, addr, false, false);
	return 1;
}

static long aio_submit_step(__u32 index, void *ctx)
{
	struct aio_walk *w = ctx;
	struct dft_request_key key;
	struct dft_submit *s;
	__u64 iocb = 0;

	if (bpf_probe_read_user(&iocb, sizeof(iocb), (const void *)(w->user + index * sizeof(iocb))))
		return 1; /* the kernel will not come further either */
	aio_key(&key, &w->t->who, iocb);
	s = submit_get();
	if (!s)
		return 0;
	s->key = key;
	s->req.ring = w->ring;
	if (!bpf_probe_read_user(s->raw, sizeof(s->raw), (const void *)iocb) && AIO_BEGIN(w->t, s))
		request_put(w->t, s, true);
	else
		request_displaced(&key, true);
	s->busy = 0;
	return 0;
}

/* Entry of a call that has to do with requests. */
static __attribute__((noinline)) int aio_enter(struct dft_task *t, const struct args *args, __u32 nr)
{
	struct aio_walk w = { .t = t, .user = arg(args, 2), .ring = arg(args, 0) };
	__u64 n = arg(args, 1);
	__u32 limit = aio_limit(n);

	if (desc_of(nr)->special != DFT_SPECIAL_AIO_SUBMIT)
		return 0;
	dft_flush(t); /* what the thread did before stands before them, whoever tells their end */
	if (aio_can_loop()) {
		bpf_loop(limit, aio_submit_step, &w, 0);
	} else {
		for (__u32 i = 0; i < AIO_MAX_LOOP && i < limit; i++)
			if (aio_submit_step(i, &w))
				break;
	}
	if ((__s64)n > limit)
		aio_rest(t, n - limit);
	request_reset(t, nr);
	return 0;
}

/* ---- the ends --------------------------------------------------------------------------------- */

/* Requests that the kernel has not taken. */
static long aio_refused_step(__u32 index, void *ctx)
{
	struct aio_walk *w = ctx;
	struct dft_request_key key;
	__u64 iocb = 0;

	index += w->first;
	if (bpf_probe_read_user(&iocb, sizeof(iocb), (const void *)(w->user + index * sizeof(iocb))))
		return 1;
	aio_key(&key, &w->t->who, iocb);
	if (w->ret < 0)
		IO_REQUEST_OVER(&key, w->ret, 0);
	else
		bpf_map_delete_elem(&requests, &key);
	w->ret = 0; /* it was the first one's: the kernel did not look at the others */
	return 0;
}

static long aio_event_step(__u32 index, void *ctx)
{
	struct aio_walk *w = ctx;
	struct dft_request_key key;
	struct io_event event = {};

	if (bpf_probe_read_user(&event, sizeof(event),
				(const void *)(w->user + index * sizeof(event))))
		return 1;
	aio_key(&key, &w->t->who, event.obj);
	IO_REQUEST_OVER(&key, event.res, 0);
	return 0;
}

static long aio_destroyed_step(void *map, struct dft_request_key *key, struct dft_request *r,
			       struct aio_walk *w)
{
	struct dft_request_key own;

	if (r->ring != w->ring || key->pid != w->t->who.pid || key->start_ns != w->t->who.start_ns)
		return 0;
	own = *key;
	IO_REQUEST_OVER(&own, DFT_RESULT_UNSEEN, 0);
	return 0;
}

ALWAYS_INLINE void aio_loop(struct aio_walk *w, __u32 n, bool events)
{
	if (aio_can_loop()) {
		if (events)
			bpf_loop(n, aio_event_step, w, 0);
		else
			bpf_loop(n, aio_refused_step, w, 0);
		return;
	}
	for (__u32 i = 0; i < AIO_MAX_LOOP && i < n; i++)
		if (events ? aio_event_step(i, w) : aio_refused_step(i, w))
			break;
}

static __attribute__((noinline)) int aio_exit(struct exit_ctx *x)
{
	struct aio_walk w = { .t = x->t, .ring = arg(&x->env.args, 0), .ret = x->env.ret };
	__u64 n = arg(&x->env.args, 1);

	if (!dft_requested)
		return 0;
	switch (desc_of(x->nr)->special) {
	case DFT_SPECIAL_AIO_SUBMIT:
		w.user = arg(&x->env.args, 2);
		w.first = w.ret > 0 ? w.ret : 0;
		if (n > w.first)
			aio_loop(&w, aio_limit(n - w.first), false);
		break;
	case DFT_SPECIAL_AIO_GETEVENTS:
		w.user = arg(&x->env.args, 3);
		if (w.ret > 0)
			aio_loop(&w, aio_limit(w.ret), true);
		break;
	case DFT_SPECIAL_AIO_DESTROY:
		/* The kernel has waited for them. */
		if (!w.ret)
			bpf_for_each_map_elem(&requests, aio_destroyed_step, &w, 0);
		break;
	}
	return 0;
}

#endif
