/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* --cgroup, --uid, --comm: which processes of the system are traced. A part of proc.bpf.c. */
#ifndef DFT_SELECT_BPF_H
#define DFT_SELECT_BPF_H

#include "core.bpf.h"

ALWAYS_INLINE bool comm_is_selected(struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 comm[2] = {};

	if (!dft_knob_comm[0])
		return true;
	/* As a string: behind its NUL there may be the rest of an older, longer name. */
	BPF_CORE_READ_STR_INTO(&comm, leader, comm);
	return comm[0] == dft_knob_comm[0] && comm[1] == dft_knob_comm[1];
}

/*
 * Is the process of the current thread among those asked for? By its real user, by its name, which is
 * that of its first thread, and by the cgroup that the thread is in or is below.
 */
static __attribute__((noinline)) int is_selected(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (dft_knob_uid != ~0u && BPF_CORE_READ(task, real_cred, uid.val) != dft_knob_uid)
		return 0;
	if (dft_knob_cgroup && bpf_current_task_under_cgroup(&selected, 0) != 1)
		return 0;
	return comm_is_selected(task);
}

#endif
