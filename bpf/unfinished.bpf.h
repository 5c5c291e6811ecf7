/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef DFT_UNFINISHED_BPF_H
#define DFT_UNFINISHED_BPF_H

#include "core.bpf.h"

/* The current thread leaves for good: if it does so in the middle of a call, tells that. */
int dft_unfinished(struct dft_task *t) __hidden;

#endif
