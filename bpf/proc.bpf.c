// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Processes: who is traced, birth, exec, death. */
#include "proc.bpf.h"
#include "file.bpf.h"
#include "scene.bpf.h"
#include "select.bpf.h"
#include "unfinished.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

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
	scene_fill(&rec->scene, task);
	BPF_CORE_READ_INTO(&rec->comm, task, comm);
}

ALWAYS_INLINE void send_comm(struct dft_who *who, __u32 tid, const char *comm)
{
	struct dft_rec_comm rec = {};

	rec.type = DFT_REC_COMM;
	rec.pid = who->pid;
	rec.tid = tid;
	rec.ts_ns = bpf_ktime_get_ns();
	rec.start_ns = who->start_ns;
	bpf_probe_read_kernel_str(rec.comm, sizeof(rec.comm), comm);
	if (dft_emit(&rec, sizeof(rec)))
		tally_one(who, DFT_TALLY_RECORD, DFT_REC_COMM);
}

/* A thread with another name than its process's, when it comes to be traced. */
static __attribute__((noinline)) int tell_comm(struct task_struct *task, struct dft_who *who)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 own[2] = {}, its[2] = {};

	if (task->pid == who->pid)
		return 0; /* the PROC or FORK record has it */
	BPF_CORE_READ_STR_INTO(&own, task, comm);
	BPF_CORE_READ_STR_INTO(&its, leader, comm);
	if (own[0] != its[0] || own[1] != its[1])
		send_comm(who, task->pid, (const char *)own);
	return 0;
}

/* A process some of whose threads are to be followed and are not yet; see dft_unmarked. */
ALWAYS_INLINE void target_late(__u32 tgid)
{
	__u32 flags = DFT_TARGET_TRACE;

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
	if (!dft_knob_all || !dft_knob_select)
		return dft_knob_all;
	if (!is_selected())
		return false;
	/* Its other threads, too, whatever the process is when they make their next call. */
	if (BPF_CORE_READ(bpf_get_current_task_btf(), signal, nr_threads) > 1)
		target_late(pid);
	return true;
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
	tell_comm(task, &who);
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
		target_late(task->tgid);
	return t;
}

/* -a without conditions. With them a child of nobody who is traced may be traced from its first call on. */
ALWAYS_INLINE bool knob_everybody(void)
{
	return dft_knob_all && !dft_knob_select;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(proc_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid;
	struct dft_rec_proc rec;
	struct dft_place place;
	struct dft_task *t;
	struct dft_who who;
	__u32 *target;

	/*
	 * A thread of a process that is being attached may not be marked yet while it makes another:
	 * then the target map says it.
	 */
	if (tgid == dft_knob_self)
		return 0; /* the tracer's threads; its child CMD is marked by name */
	if (!knob_everybody() && !bpf_task_storage_get(&tasks, parent, NULL, 0)) {
		target = bpf_map_lookup_elem(&targets, &tgid);
		if (!target)
			return 0;
	}
	if (child->tgid != tgid && !dft_knob_follow && !dft_knob_all)
		return 0;
	/* What the child finds made by its parent stands before what it does itself. */
	t = child->tgid != tgid ? bpf_task_storage_get(&tasks, parent, NULL, 0) : NULL;
	if (t)
		dft_flush(t);
	who_is(&who, child);
	if (!make_state(child, &who, 0))
		target_late(child->tgid);
	if (child->tgid == tgid) {
		tell_comm(child, &who);
		return 0;
	}
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

/* What a script is run by, as its first line has it: relative to the working directory of the exec. */
static __attribute__((noinline)) int exec_send_interp(struct dft_task *t, const char *interp, __u64 cwd)
{
	struct dft_scratch *s = dft_scratch_get(0);
	struct dft_rec_text *rec;
	int len;

	t->flags |= TASK_TEXT2_LOST;
	if (!s)
		return 0;
	rec = (struct dft_rec_text *)s->rec;
	len = bpf_probe_read_kernel_str(rec->text, DFT_PATH_MAX, interp);
	if (len > 0) {
		len = (len - 1) & (DFT_PATH_MAX - 1);
		rec->type = DFT_REC_TEXT;
		rec->slot = 2;
		rec->len = len;
		rec->pid = t->who.pid;
		rec->tid = (__u32)bpf_get_current_pid_tgid();
		rec->nr = t->nr;
		rec->base = cwd;
		if (!dft_emit(rec, sizeof(*rec) + len)) {
			t->flags &= ~TASK_TEXT2_LOST;
			t->flags |= TASK_TEXT2_SENT;
		}
	}
	dft_scratch_put(s);
	return 0;
}

/* The environment of the new program, which says which part of which job it is. */
static __attribute__((noinline)) int exec_send_env(struct dft_task *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 start = BPF_CORE_READ(task, mm, env_start);
	__u64 full = BPF_CORE_READ(task, mm, env_end) - start;
	struct dft_scratch *s = dft_scratch_get(0);
	struct dft_rec_env *rec;

	if (!s) {
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_ENV);
		return 0;
	}
	rec = (struct dft_rec_env *)s->rec;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = DFT_REC_ENV;
	rec->pid = t->who.pid;
	rec->start_ns = t->who.start_ns;
	rec->full_len = full;
	/* One at least: an empty environment is news, too. */
	for (__u32 at = 0; at < DFT_ENV_MAX && (at < full || !at); at += DFT_ENV_CHUNK) {
		__u64 len = full - at;

		if (len > DFT_ENV_CHUNK)
			len = DFT_ENV_CHUNK;
		bound(len);
		if (len > DFT_ENV_CHUNK)
			break;
		rec->offset = at;
		rec->len = len;
		if (bpf_probe_read_user(rec->text, len, (const void *)(start + at)) ||
		    dft_emit(rec, sizeof(*rec) + len)) {
			tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_ENV);
			break;
		}
	}
	dft_scratch_put(s);
	return 0;
}

/* The name of the file that runs now. */
static __attribute__((noinline)) __u64 exec_image(struct dft_task *t, struct file *file)
{
	struct task_struct *task = bpf_get_current_task_btf();

	t->place.cls = class_of_inode(READ(file, f_inode));
	return place_file(&t->place, task, file) ? 0 : place_name(&t->who, &t->place);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(proc_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct dft_rec_exec *rec;
	struct dft_scratch *s;
	__u64 cwd, image;
	__u32 len;

	if (!t && dft_knob_select)
		t = dft_adopt(task, ADOPT_AT_EXEC); /* by its new name, or user */
	if (!t || !t->who.pid)
		return 0;
	t->flags &= ~TASK_BEFORE_EXEC;
	/* The name of cwd needs the scratch, too: before anything is built in it. */
	cwd = place_cwd(&t->place, task) ? 0 : place_name(&t->who, &t->place);
	image = exec_image(t, bprm->file);
	if (bprm->interp != bprm->filename)
		exec_send_interp(t, bprm->interp, cwd);
	t->faults.end = 0; /* another memory map */
	s = dft_scratch_get(0);
	if (s) {
		exec_send_file(t, s, bprm->filename);
		dft_scratch_put(s);
	} else {
		t->flags |= TASK_TEXT1_LOST;
	}
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
	rec->image = image;
	scene_fill(&rec->scene, task);
	BPF_CORE_READ_INTO(&rec->comm, task, comm);
	len = exec_read_cmd(rec, task);
	bound(len);
	if (len > DFT_CMD_MAX)
		len = DFT_CMD_MAX;
	rec->cmd_len = len;
	if (dft_emit(rec, sizeof(*rec) + len))
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_EXEC);
	dft_scratch_put(s);
	exec_send_env(t);
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
		dft_unfinished(t);
	}

	/* The kernel counts the thread out before this hook; the last one ends the process. */
	if (!signal || signal->live.counter)
		return 0;
	/* It may be a worker of io_uring, which nobody has marked. */
	if (!t)
		t = state_of_leader(task);
	if (t || dft_unmarked)
		bpf_map_delete_elem(&targets, &pid); /* the pid may be used again */
	if (!t && (!dft_knob_all || pid == dft_knob_self || (dft_knob_select && !is_selected())))
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

/* A thread is given a name, by itself or by another one of its process. An exec tells in its own way. */
SEC("tp_btf/task_rename")
int BPF_PROG(proc_rename, struct task_struct *task, const char *comm)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);

	if (!t || !t->who.pid || t->flags & TASK_BEFORE_EXEC)
		return 0;
	if (t->ts_ns && dft_descs[t->nr & (DFT_NR_MAX - 1)].special == DFT_SPECIAL_EXEC &&
	    task == bpf_get_current_task_btf())
		return 0;
	send_comm(&t->who, task->pid, comm);
	return 0;
}

/* The name id of the working directory of a thread other than the current one. */
static __attribute__((noinline)) __u64 mark_cwd(struct task_struct *task, struct dft_who *who)
{
	struct dft_place place;

	if (place_cwd(&place, task))
		return 0;
	place.iter = 1;
	return place_name(who, &place);
}

/* Its PROC record. Apart from the name, for there are 512 bytes of stack for all functions together. */
static __attribute__((noinline)) int mark_send(struct task_struct *task, struct dft_who *who, __u64 cwd)
{
	struct dft_rec_proc rec;

	proc_fill(&rec, DFT_REC_PROC, task, who);
	rec.cwd = cwd;
	if (dft_emit(&rec, sizeof(rec)))
		tally_one(who, DFT_TALLY_RECORD, DFT_REC_PROC);
	return 0;
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
			mark_send(task, &who, mark_cwd(task, &who));
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
		target_late(task->tgid);
		return 0;
	}
	if (!(flags & TASK_BEFORE_EXEC)) {
		mark_send(task, &who, mark_cwd(task, &who));
		tell_comm(task, &who);
	}
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}
