/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What differs between processors. */
#ifndef DFT_ARCH_BPF_H
#define DFT_ARCH_BPF_H

#if defined(__TARGET_ARCH_x86)

#define TS_COMPAT 0x2u /* thread_info.status: in a 32-bit call (int 0x80, sysenter) */

static __attribute__((always_inline)) inline bool task_is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __attribute__((always_inline)) inline long regs_nr(struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* Argument `n` of the call; the registers keep them until it returns to user space. */
static __attribute__((always_inline)) inline __u64 regs_arg(struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	default:
		return regs->r9;
	}
}

#elif defined(__TARGET_ARCH_arm64)

#define TIF_32BIT (1ul << 22) /* thread_info.flags: an AArch32 task */

static __attribute__((always_inline)) inline bool task_is_compat(struct task_struct *task)
{
	return task->thread_info.flags & TIF_32BIT;
}

static __attribute__((always_inline)) inline long regs_nr(struct pt_regs *regs)
{
	return regs->syscallno;
}

static __attribute__((always_inline)) inline __u64 regs_arg(struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 0:
		return regs->orig_x0; /* x0 holds the return value at exit */
	case 1:
		return regs->regs[1];
	case 2:
		return regs->regs[2];
	case 3:
		return regs->regs[3];
	case 4:
		return regs->regs[4];
	default:
		return regs->regs[5];
	}
}

#else
#error "supported: x86-64 and arm64 (add the registers and the compat test of the new one here)"
#endif

#endif
