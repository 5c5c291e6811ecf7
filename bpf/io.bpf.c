// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * System calls. Entry notes the time and identifies files (at exit another thread may have put
 * another file under the number); exit reads the other arguments, which the registers still hold,
 * and sends the record. Simple calls (dft_desc_is_simple()) take a short way through both.
 */
#include "enter.bpf.h"
#include "exit.bpf.h"
#include "aio.bpf.h"
#include "uring.bpf.h"
#include "proc.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* This file is built twice (see file.bpf.h), under two names. */
#ifdef DFT_CAST
#define IO_SYS_ENTER io_cast_sys_enter
#define IO_SYS_EXIT  io_cast_sys_exit
#else
#define IO_SYS_ENTER io_sys_enter
#define IO_SYS_EXIT  io_sys_exit
#endif

/* A call that is not simple; 0 if it is not to be followed. */
static __attribute__((noinline)) int enter_other(struct dft_task *t, const struct args *args, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct dft_desc *d = desc_of(nr);

	if (enter_uncommon(task, t, args, nr))
		return 0;
	if (d->kind == DFT_KIND_NOTIO) {
		if (!d->special)
			return 0;
		aio_enter(t, args, nr);
		return 1;
	}
	nr = form_of_call(d, args, nr);
	t->nr = nr;
	d = desc_of(nr);
	/* What stands behind belongs to another program; and by the exec hook the thread's id may be another. */
	if (d->special == DFT_SPECIAL_EXEC)
		dft_flush(t);
	t->name2 = 0;
	t->file2 = 0;
	t->seen2 = 0;
	t->ino2 = 0;
	t->cls2 = DFT_CLASS_NONE;
	if (dft_aggregate || (dft_knob_only && d->drop == DFT_DROP_ALL))
		t->flags |= TASK_QUIET;
	enter_first(task, t, args, d);
	if (d->special == DFT_SPECIAL_UNMAP && !t->file)
		return 0; /* anonymous memory: most are */
	if (d->fd2 || d->path2 || d->special)
		enter_second(t, args, nr);
	note_change(task, t, args, nr);
	return 1;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(IO_SYS_ENTER, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = state_of(task);
	const volatile struct dft_desc *d;

	if (!t || !t->who.pid) {
		if (!dft_knob_all && dft_unmarked == dft_unmarked_done)
			return 0;
		t = dft_adopt(task, nr);
		if (!t)
			return 0;
	}
	t->ts_ns = 0;
	d = desc_of(nr);
	if (t->flags & TASK_BEFORE_EXEC && d->special != DFT_SPECIAL_EXEC)
		return 0;
	t->nr = nr;
	t->name = 0;
	t->file = 0;
	t->seen = 0;
	t->ino = 0;
	t->call = 0;
	t->cls = DFT_CLASS_NONE;
	t->flags &= TASK_BEFORE_EXEC;
	if ((__u64)nr < DFT_NR_SYS && d->simple && !task_is_compat(task)) {
		__u32 fd = regs_first(regs);

		if (!is_dropped(nr, 0))
			note_fd(task, t, fd, false, true);
		if (nr == NR_CLOSE)
			note_closed(task, t, fd);
	} else {
		struct args args = {};

		regs_args(regs, args.v);
		if (!enter_other(t, &args, nr))
			return 0;
	}
	t->ts_ns = bpf_ktime_get_ns();
	return 0;
}

/* The current thread has been killed, alone or with its process: it will not return to its program. */
static __attribute__((noinline)) int is_dying(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT) ||
	       (BPF_CORE_READ(task, pending.signal.sig[0]) & 1ul << (SIGKILL - 1));
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(IO_SYS_EXIT, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = state_of(task);
	const volatile struct dft_desc *d;
	struct exit_ctx x;

	if (!t || !t->ts_ns)
		return 0;
	x.dur_ns = bpf_ktime_get_ns() - t->ts_ns;
	x.t = t;
	regs_args(regs, x.env.args.v);
	x.env.args.v[6] = 0; /* see struct args */
	x.env.args.v[7] = 0;
	x.env.ret = ret;
	if (ret < 0 && (ret_is_restart(ret) || ret == -EINTR) && is_dying())
		x.env.ret = DFT_RESULT_UNFINISHED;
	x.nr = t->nr;
	x.tid = task->pid;
	d = desc_of(x.nr);
	if (d->simple && !(t->flags & TASK_BEFORE_EXEC)) {
		if (x.nr == NR_CLOSE)
			note_closed(task, t, x.env.args.v[0]);
		finish_simple(task, &x, d);
		t->ts_ns = 0;
		return 0;
	}
	if (d->special == DFT_SPECIAL_EXEC)
		x.env.args.v[4] = t->pos; /* exec has cleared the registers */
	if (d->kind != DFT_KIND_DECODED) {
		aio_exit(&x);
		t->ts_ns = 0;
		return 0;
	}
	note_change(task, t, &x.env.args, x.nr);
	if (!(t->flags & TASK_BEFORE_EXEC)) /* our own child, and its exec failed */
		finish(&x);
	t->ts_ns = 0;
	return 0;
}
