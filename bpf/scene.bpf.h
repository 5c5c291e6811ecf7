/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Where and as whom a process runs. A part of proc.bpf.c. */
#ifndef DFT_SCENE_BPF_H
#define DFT_SCENE_BPF_H

#include "core.bpf.h"

/* The process's number in its innermost pid namespace, and which one that is. */
ALWAYS_INLINE void scene_pid(struct dft_scene *scene, struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *number;

	if (!pid)
		return; /* on its way out */
	number = (struct upid *)((__u64)pid + bpf_core_field_offset(struct pid, numbers) +
				 level * bpf_core_type_size(struct upid));
	scene->ns_pid = BPF_CORE_READ(number, nr);
	scene->pid_ns = BPF_CORE_READ(number, ns, ns.inum);
}

static __attribute__((noinline)) int scene_fill(struct dft_scene *scene, struct task_struct *task)
{
	struct cred *cred = BPF_CORE_READ(task, real_cred);

	scene_pid(scene, task);
	scene->mnt_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	scene->user_ns = BPF_CORE_READ(cred, user_ns, ns.inum);
	scene->uid = BPF_CORE_READ(cred, uid.val);
	scene->euid = BPF_CORE_READ(cred, euid.val);
	scene->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	return 0;
}

#endif
