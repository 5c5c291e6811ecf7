/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef DFT_PROC_BPF_H
#define DFT_PROC_BPF_H

#include "core.bpf.h"

/* Starts tracing the current thread (-a), unless it is the tracer's own. NULL if not traced. */
struct dft_task *dft_adopt(struct task_struct *task) __hidden;

#endif
