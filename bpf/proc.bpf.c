// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Processes: who is traced, birth, exec, death. */
#include "proc.bpf.h"
#include "file.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SIGNAL_GROUP_EXIT 0x4 /* include/linux/sched/signal.h; the same from 5.14 on */

ALWAYS_INLINE __u64 start_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

ALWAYS_INLINE void proc_fill(struct dft_rec_proc *rec, __u8 type, struct task_struct *task,
			     const struct dft_who *who)
{
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = type;
	rec->pid = who->pid;
	rec->ppid = BPF_CORE_READ(task, real_parent, tgid);
	rec->ts_ns = bpf_ktime_get_ns();
	rec->start_ns = who->start_ns;
	BPF_CORE_READ_INTO(&rec->comm, task, comm);
}

/* A thread that cannot be followed yet; see dft_unmarked. */
ALWAYS_INLINE void task_failed(struct task_struct *task)
{
	__u32 tgid = task->tgid, flags = DFT_TARGET_TRACE;

	bpf_map_update_elem(&targets, &tgid, &flags, BPF_NOEXIST);
	__sync_fetch_and_add(&dft_unmarked, 1);
}

/* True if the current thread of the process, which has no state, should have one; its first flags. */
ALWAYS_INLINE bool should_trace(__u32 pid, __u8 *flags)
{
	__u32 *target;

	if (pid == dft_knob_self)
		return false;
	if (dft_unmarked != dft_unmarked_done) {
		target = bpf_map_lookup_elem(&targets, &pid);
		if (target) {
			if (*target & DFT_TARGET_BEFORE_EXEC)
				*flags = TASK_BEFORE_EXEC;
			return true;
		}
	}
	return dft_knob_all;
}

/* State for a thread. The pid goes last: who finds it set finds everything. */
ALWAYS_INLINE struct dft_task *make_state(struct task_struct *task, const struct dft_who *who,
					  __u8 flags)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL,
						  BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return NULL;
	t->flags = flags;
	t->who.start_ns = who->start_ns;
	__sync_lock_test_and_set(&t->who.pid, who->pid);
	return t;
}

ALWAYS_INLINE void who_is(struct dft_who *who, struct task_struct *task)
{
	who->pid = task->tgid;
	who->pad = 0;
	who->start_ns = start_of(task);
}

__hidden struct dft_task *dft_adopt(struct task_struct *task, __u32 nr)
{
	struct dft_rec_proc rec;
	struct dft_who who;
	struct dft_task *t;
	__u8 flags = 0;

	if (!should_trace(task->tgid, &flags))
		return NULL;
	who_is(&who, task);
	t = make_state(task, &who, flags);
	if (!t) {
		if (nr < DFT_NR_SYS && dft_descs[nr & (DFT_NR_MAX - 1)].kind == DFT_KIND_DECODED)
			tally_one(&who, DFT_TALLY_SHED, nr);
		return NULL;
	}
	if (flags & TASK_BEFORE_EXEC)
		return t;
	proc_fill(&rec, DFT_REC_PROC, task, &who);
	if (nr != ADOPT_AT_PROBE && !place_cwd(&t->place, task))
		rec.cwd = place_name(&who, &t->place);
	if (dft_emit(&rec, sizeof(rec)))
		tally_one(&who, DFT_TALLY_RECORD, DFT_REC_PROC);
	return t;
}

/* The state of the process's first thread. */
ALWAYS_INLINE struct dft_task *state_of_leader(struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	return leader ? bpf_task_storage_get(&tasks, leader, NULL, 0) : NULL;
}

__hidden struct dft_task *dft_adopt_worker(struct task_struct *task)
{
	struct dft_task *leader = state_of_leader(task), *t;
	struct dft_who who;
	__u8 flags = 0;

	if (leader && leader->flags & TASK_BEFORE_EXEC)
		return NULL;
	if (!(leader && leader->who.pid) && !should_trace(task->tgid, &flags))
		return NULL;
	who_is(&who, task);
	t = make_state(task, &who, flags);
	if (!t)
		task_failed(task);
	return t;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(proc_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid;
	struct dft_rec_proc rec;
	struct dft_place place;
	struct dft_who who;
	__u32 *target;

	/*
	 * A thread of a process that is being attached may not be marked yet while it makes another:
	 * then the target map says it.
	 */
	if (tgid == dft_knob_self)
		return 0; /* the tracer's threads; its child CMD is marked by name */
	if (!dft_knob_all && !bpf_task_storage_get(&tasks, parent, NULL, 0)) {
		target = bpf_map_lookup_elem(&targets, &tgid);
		if (!target)
			return 0;
	}
	if (child->tgid != tgid && !dft_knob_follow && !dft_knob_all)
		return 0;
	who_is(&who, child);
	if (!make_state(child, &who, 0))
		task_failed(child);
	if (child->tgid == tgid)
		return 0;
	proc_fill(&rec, DFT_REC_FORK, child, &who);
	rec.maker = tgid;
	if (!place_cwd(&place, child))
		rec.cwd = place_name(&who, &place);
	if (dft_emit(&rec, sizeof(rec)))
		tally_one(&who, DFT_TALLY_RECORD, DFT_REC_FORK);
	return 0;
}

/* The new command line, from the memory the exec has just filled. */
ALWAYS_INLINE __u32 exec_read_cmd(struct dft_rec_exec *rec, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	__u64 start, len;

	if (!mm)
		return 0;
	start = mm->arg_start;
	len = mm->arg_end - start;
	rec->full_len = len;
	if (len > DFT_CMD_MAX)
		len = DFT_CMD_MAX;
	bound(len);
	if (len > DFT_CMD_MAX || bpf_probe_read_user(rec->cmd, len, (const void *)start))
		return 0;
	return len;
}

ALWAYS_INLINE void exec_send_file(struct dft_task *t, struct dft_scratch *s, const char *filename)
{
	struct dft_rec_text *rec = (struct dft_rec_text *)s->rec;
	int len = bpf_probe_read_kernel_str(rec->text, DFT_PATH_MAX, filename);

	t->flags |= TASK_TEXT1_LOST;
	if (len < 1)
		return;
	len = (len - 1) & (DFT_PATH_MAX - 1);
	rec->type = DFT_REC_TEXT;
	rec->slot = 1;
	rec->len = len;
	rec->pid = t->who.pid;
	rec->tid = (__u32)bpf_get_current_pid_tgid();
	rec->nr = t->nr;
	rec->base = 0;
	if (!dft_emit(rec, sizeof(*rec) + len)) {
		t->flags &= ~TASK_TEXT1_LOST;
		t->flags |= TASK_TEXT1_SENT;
	}
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(proc_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct dft_rec_exec *rec;
	struct dft_scratch *s;
	__u32 len;

	if (!t || !t->who.pid)
		return 0;
	t->flags &= ~TASK_BEFORE_EXEC;
	t->faults.end = 0; /* another memory map */
	s = dft_scratch_get(0);
	if (!s) {
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_EXEC);
		return 0;
	}
	exec_send_file(t, s, bprm->filename);
	dft_scratch_put(s);

	/* The name of cwd needs the scratch, too: before the record is built in it. */
	__u64 cwd = place_cwd(&t->place, task) ? 0 : place_name(&t->who, &t->place);

	s = dft_scratch_get(0);
	if (!s) {
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_EXEC);
		return 0;
	}
	rec = (struct dft_rec_exec *)s->rec;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = DFT_REC_EXEC;
	rec->pid = t->who.pid;
	rec->old_tid = old_pid;
	rec->ts_ns = t->ts_ns ? t->ts_ns : bpf_ktime_get_ns(); /* entry of the exec */
	rec->start_ns = t->who.start_ns;
	rec->ppid = BPF_CORE_READ(task, real_parent, tgid);
	rec->cwd = cwd;
	BPF_CORE_READ_INTO(&rec->comm, task, comm);
	len = exec_read_cmd(rec, task);
	bound(len);
	if (len > DFT_CMD_MAX)
		len = DFT_CMD_MAX;
	rec->cmd_len = len;
	if (dft_emit(rec, sizeof(*rec) + len))
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_EXEC);
	dft_scratch_put(s);
	dft_image(t, (__u64)BPF_CORE_READ(bprm, file));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(proc_exit, struct task_struct *task)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct dft_rec_exit rec = {};
	struct signal_struct *signal = task->signal;
	__u32 pid = task->tgid;
	struct dft_who who;

	if (t) {
		dft_flush(t);
		dft_faults_flush(task, t);
	}

	/* The kernel counts the thread out before this hook; the last one ends the process. */
	if (!signal || signal->live.counter)
		return 0;
	/* It may be a worker of io_uring, which nobody has marked. */
	if (!t)
		t = state_of_leader(task);
	if (t || dft_unmarked)
		bpf_map_delete_elem(&targets, &pid); /* the pid may be used again */
	if (!t && (!dft_knob_all || pid == dft_knob_self))
		return 0;
	/* With -a the last thread may be one that never made a call, and so has no state. */
	who_is(&who, task);
	rec.type = DFT_REC_EXIT;
	rec.pid = pid;
	rec.tid = task->pid;
	rec.ts_ns = bpf_ktime_get_ns();
	rec.start_ns = who.start_ns;
	rec.threads = signal->nr_threads;
	rec.status = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code :
							 BPF_CORE_READ(task, group_leader, exit_code);
	if (dft_emit(&rec, sizeof(rec))) {
		tally_one(&who, DFT_TALLY_RECORD, DFT_REC_EXIT);
		__sync_fetch_and_add(&dft_exits_lost, 1);
	}
	return 0;
}

/* The PROC record of a thread other than the current one. */
ALWAYS_INLINE void mark_send(struct task_struct *task, struct dft_who *who)
{
	struct dft_place place;
	struct dft_rec_proc rec;

	proc_fill(&rec, DFT_REC_PROC, task, who);
	if (!place_cwd(&place, task)) {
		place.iter = 1;
		rec.cwd = place_name(who, &place);
	}
	if (dft_emit(&rec, sizeof(rec)))
		tally_one(who, DFT_TALLY_RECORD, DFT_REC_PROC);
}

/*
 * Marks the threads of the processes in the target map. Each new mark is one byte for the reader of
 * the iterator, which repeats until a pass marks none. For a census the marked ones are counted.
 */
SEC("iter/task")
int proc_mark(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 tgid, *target;
	struct dft_task *t;
	struct dft_who who;
	__u8 flags = 0;
	char one = 1;

	/* Of dead ones only the task is left, waiting for its parent. */
	if (!task || !BPF_CORE_READ(task, signal, live.counter))
		return 0;
	who_is(&who, task);
	t = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (t) {
		if (dft_census && !(t->flags & TASK_BEFORE_EXEC)) {
			mark_send(task, &who);
			bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
		}
		return 0;
	}
	tgid = who.pid;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (!target)
		return 0;
	if (*target & DFT_TARGET_BEFORE_EXEC)
		flags = TASK_BEFORE_EXEC;
	if (!make_state(task, &who, flags)) {
		task_failed(task);
		return 0;
	}
	if (!(flags & TASK_BEFORE_EXEC))
		mark_send(task, &who);
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}
