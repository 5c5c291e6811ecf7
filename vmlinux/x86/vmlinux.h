/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
#ifndef DFT_VMLINUX_H
#define DFT_VMLINUX_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r10, r9, r8, ax, cx, dx, si, di, orig_ax;
};

struct thread_info {
	unsigned long flags;
	unsigned int status;
};

#pragma clang attribute pop

#include "../common.h"

#endif
