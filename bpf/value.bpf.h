/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Values of a call record. */
#ifndef DFT_VALUE_BPF_H
#define DFT_VALUE_BPF_H

#include "file.bpf.h"

#define RWF_APPEND   0x10
#define RWF_NOAPPEND 0x20

#define SLOT_ANY 0xffffffffu /* IORING_FILE_INDEX_ALLOC: the kernel chooses the direct descriptor */

/* A call record with room for all its values. */
union call_rec {
	struct dft_rec_call c;
	__u64 words[sizeof(struct dft_rec_call) / sizeof(__u64) + DFT_MAX_VALS + 1];
};

/* Arguments of the call. Two more than there are, so that a masked index is always inside. */
struct args {
	__u64 v[8];
};

ALWAYS_INLINE __u64 arg(const struct args *a, __u32 n)
{
	return a->v[n & 7];
}

ALWAYS_INLINE const volatile struct dft_desc *desc_of(__u32 nr)
{
	return &dft_descs[nr & (DFT_NR_MAX - 1)];
}

/* What the values of a record are taken from. Plain numbers: see dft_value(). */
struct value_env {
	struct args args;
	__s64 ret;
	__u64 file, pos, name2, file2;
	__u32 cls;
	__u32 append;
};

/*
 * Where a read or write at the file position worked. Four threads reading one descriptor: before the
 * call others may still move the position, after it they may have done so already; only when both
 * agree is it certain.
 */
ALWAYS_INLINE bool value_pos(const struct value_env *env, __u16 *flags, bool append, __u64 *value)
{
	struct file *file = AT_ADDR(file, env->file);
	__u64 after;

	if (env->ret < 0 || !env->file ||
	    (env->cls != DFT_CLASS_FILE && env->cls != DFT_CLASS_BLOCK))
		return false;
	after = READ(file, f_pos);
	if (after == env->pos + env->ret) {
		*value = env->pos;
		return true;
	}
	if (append) {
		*value = after - env->ret;
		return true;
	}
	*flags |= DFT_CALL_OFFSET_SHARED;
	return false;
}

/* A write of pwritev2(), whose flags can say otherwise than the descriptor. */
ALWAYS_INLINE bool appends(const struct value_env *env)
{
	__u64 flags = arg(&env->args, 5);

	return (env->append && !(flags & RWF_NOAPPEND)) || flags & RWF_APPEND;
}

/* Values from the arguments and the file: sources up to DFT_SRC_SET_A3. */
ALWAYS_INLINE bool value_plain(const struct value_env *env, __u8 src, __u16 *flags, __u64 *value)
{
	if (src <= DFT_SRC_A5) {
		*value = arg(&env->args, src - DFT_SRC_A0);
		return true;
	}
	switch (src) {
	case DFT_SRC_POS_A3:
	case DFT_SRC_WPOS_A3:
		*value = arg(&env->args, 3);
		if (*value != (__u64)-1)
			return true;
		return value_pos(env, flags, src == DFT_SRC_WPOS_A3 && appends(env), value);
	case DFT_SRC_POS:
		return value_pos(env, flags, false, value);
	case DFT_SRC_WPOS:
		return value_pos(env, flags, env->append, value);
	case DFT_SRC_NAME2:
		*value = env->name2;
		return *value != 0;
	case DFT_SRC_SET_A1:
	case DFT_SRC_SET_A3:
		*value = arg(&env->args, src == DFT_SRC_SET_A1 ? 1 : 3);
		return *value != (__u64)-1;
	case DFT_SRC_SLOT:
		*value = (__u32)arg(&env->args, 4);
		if (*value == SLOT_ANY)
			*value = env->ret + 1ull;
		return (*value)-- && env->ret >= 0;
	}
	return false;
}

/*
 * Fills in the i-th value of the record, if there is one. A global function, so that the verifier
 * forgets between values which way the ones before went: inlined, seven values of a dozen kinds are half
 * a million steps and most of the start-up time.
 */
int dft_value(struct value_env *env, union call_rec *rec, __u32 i);

#endif
