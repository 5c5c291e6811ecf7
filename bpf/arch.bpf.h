/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What differs between processors. */
#ifndef DFT_ARCH_BPF_H
#define DFT_ARCH_BPF_H

#if defined(__TARGET_ARCH_x86)

#define NR_CLOSE  3
#define TS_COMPAT 0x2u /* thread_info.status: in a 32-bit call (int 0x80, sysenter) */

static __attribute__((always_inline)) inline bool task_is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __attribute__((always_inline)) inline __u64 regs_first(struct pt_regs *regs)
{
	return regs->di;
}

/* The registers keep the arguments until the call returns to user space. */
static __attribute__((always_inline)) inline void regs_args(struct pt_regs *regs, __u64 *args)
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

/* The same of saved registers, at an address that is a mere number to the verifier. */
static __attribute__((always_inline)) inline void saved_regs_args(struct pt_regs *regs, __u64 *args)
{
	args[0] = BPF_CORE_READ(regs, di);
	args[1] = BPF_CORE_READ(regs, si);
	args[2] = BPF_CORE_READ(regs, dx);
	args[3] = BPF_CORE_READ(regs, r10);
	args[4] = BPF_CORE_READ(regs, r8);
	args[5] = BPF_CORE_READ(regs, r9);
}

/* Of a probe in a program: the registers of a function call. */
static __attribute__((always_inline)) inline void regs_operands(struct pt_regs *regs, __u64 *args)
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->cx;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

/* The error code of a page fault. */
static __attribute__((always_inline)) inline bool fault_is_write(unsigned long code)
{
	return code & 2;
}

/* The page was there, and did not allow it. */
static __attribute__((always_inline)) inline bool fault_is_denied(unsigned long code)
{
	return code & 1;
}

/* Stores are seen in their order. */
static __attribute__((always_inline)) inline void let_go(__u32 *busy, __u32 value)
{
	asm volatile("" ::: "memory");
	*(volatile __u32 *)busy = value;
}

#elif defined(__TARGET_ARCH_arm64)

#define NR_CLOSE  57
#define TIF_32BIT (1ul << 22) /* thread_info.flags: an AArch32 task */

static __attribute__((always_inline)) inline bool task_is_compat(struct task_struct *task)
{
	return task->thread_info.flags & TIF_32BIT;
}

static __attribute__((always_inline)) inline __u64 regs_first(struct pt_regs *regs)
{
	return regs->orig_x0;
}

static __attribute__((always_inline)) inline void regs_args(struct pt_regs *regs, __u64 *args)
{
	args[0] = regs->orig_x0; /* x0 holds the return value at exit */
	args[1] = regs->regs[1];
	args[2] = regs->regs[2];
	args[3] = regs->regs[3];
	args[4] = regs->regs[4];
	args[5] = regs->regs[5];
}

/* The same of saved registers, at an address that is a mere number to the verifier. */
static __attribute__((always_inline)) inline void saved_regs_args(struct pt_regs *regs, __u64 *args)
{
	args[0] = BPF_CORE_READ(regs, orig_x0);
	args[1] = BPF_CORE_READ(regs, regs[1]);
	args[2] = BPF_CORE_READ(regs, regs[2]);
	args[3] = BPF_CORE_READ(regs, regs[3]);
	args[4] = BPF_CORE_READ(regs, regs[4]);
	args[5] = BPF_CORE_READ(regs, regs[5]);
}

static __attribute__((always_inline)) inline void regs_operands(struct pt_regs *regs, __u64 *args)
{
	args[0] = regs->regs[0];
	args[1] = regs->regs[1];
	args[2] = regs->regs[2];
	args[3] = regs->regs[3];
	args[4] = regs->regs[4];
	args[5] = regs->regs[5];
}

/* ESR_ELx of a data abort: WnR, unless it is of cache maintenance; and the kind of fault. */
static __attribute__((always_inline)) inline bool fault_is_write(unsigned long code)
{
	return (code & (1ul << 6)) && !(code & (1ul << 8));
}

static __attribute__((always_inline)) inline bool fault_is_denied(unsigned long code)
{
	return (code & 0x3c) == 0x0c;
}

/* An atomic operation orders what went before it. */
static __attribute__((always_inline)) inline void let_go(__u32 *busy, __u32 value)
{
	__sync_lock_test_and_set(busy, value);
}

#else
#error "supported: x86-64 and arm64 (add the registers and the compat test of the new one here)"
#endif

#endif
