/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef DFT_PROC_BPF_H
#define DFT_PROC_BPF_H

#include "core.bpf.h"

/*
 * Starts tracing the current thread if it should be traced and is not yet: with -a, or because that
 * failed at its birth. NULL if it is not to be traced, or cannot be: then call `nr` is counted.
 */
#define ADOPT_AT_PROBE 0xffffu /* for `nr`: no call, and preemption is on (the scratch is not safe) */
#define ADOPT_AT_EXEC  0xfffeu /* the same: no call that has been seen to begin */
struct dft_task *dft_adopt(struct task_struct *task, __u32 nr) __hidden;

/*
 * State for the current thread, which has none, if its process is to be traced: for one that the kernel
 * made for the process, of which the fork hook is not told. Else NULL.
 */
struct dft_task *dft_adopt_worker(struct task_struct *task) __hidden;

#endif
