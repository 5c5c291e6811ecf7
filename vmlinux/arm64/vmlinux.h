/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef DFT_VMLINUX_H
#define DFT_VMLINUX_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long long regs[31];
	unsigned long long orig_x0;
	int syscallno;
};

struct thread_info {
	unsigned long flags;
};

#pragma clang attribute pop

#include "../common.h"

#endif
