// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Values of a call record, from the arguments, the file and the program's memory. */
#include "value.bpf.h"

#define RWF_APPEND   0x10
#define RWF_NOAPPEND 0x20

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/*
 * Where a read or write at the file position worked. Four threads reading one descriptor: before the
 * call others may still move the position, after it they may have done so already; only when both
 * agree is it certain.
 */
ALWAYS_INLINE bool value_pos(const struct value_env *env, union call_rec *rec, bool append,
			     __u64 *value)
{
	struct file *file = (struct file *)env->file;
	__u64 after;

	if (env->ret < 0 || !file || (env->cls != DFT_CLASS_FILE && env->cls != DFT_CLASS_BLOCK))
		return false;
	after = BPF_CORE_READ(file, f_pos);
	if (after == env->pos + env->ret) {
		*value = env->pos;
		return true;
	}
	if (append) {
		*value = after - env->ret;
		return true;
	}
	rec->c.flags |= DFT_CALL_OFFSET_SHARED;
	return false;
}

/* Behind pointers of the program: resident now, since the kernel has just used them. */
ALWAYS_INLINE bool value_deref(const struct value_env *env, __u8 src, __u64 *value)
{
	__u64 user, word = 0;
	__u32 half = 0;

	if (src >= DFT_SRC_WORD) {
		user = arg(&env->args, (src - DFT_SRC_WORD) >> 3);
		user += user ? (src & 7) * 8 : 0;
		if (!user || bpf_probe_read_user(&word, sizeof(word), (const void *)user))
			return false;
		*value = word;
		return true;
	}
	if (src >= DFT_SRC_OFFSETP) {
		user = arg(&env->args, src - DFT_SRC_OFFSETP);
		if (!user || bpf_probe_read_user(&word, sizeof(word), (const void *)user))
			return false;
		*value = env->ret > 0 ? word - env->ret : word;
		return true;
	}
	user = arg(&env->args, src - DFT_SRC_INT);
	if (env->ret <= 0 || !user || bpf_probe_read_user(&half, sizeof(half), (const void *)user))
		return false;
	*value = half;
	return true;
}

/* A write of pwritev2(), whose flags can say otherwise than the descriptor. */
ALWAYS_INLINE bool appends(const struct value_env *env)
{
	__u64 flags = arg(&env->args, 5);

	return (env->append && !(flags & RWF_NOAPPEND)) || flags & RWF_APPEND;
}

ALWAYS_INLINE bool value_of(const struct value_env *env, __u8 src, union call_rec *rec,
			    __u64 *value)
{
	switch (src) {
	case DFT_SRC_POS_A3:
	case DFT_SRC_WPOS_A3:
		*value = arg(&env->args, 3);
		if (*value != (__u64)-1)
			return true;
		return value_pos(env, rec, src == DFT_SRC_WPOS_A3 && appends(env), value);
	case DFT_SRC_POS:
		return value_pos(env, rec, false, value);
	case DFT_SRC_WPOS:
		return value_pos(env, rec, env->append, value);
	case DFT_SRC_NAME2:
		*value = env->name2;
		return *value != 0;
	}
	if (src > DFT_SRC_A5)
		return value_deref(env, src, value);
	*value = arg(&env->args, src - DFT_SRC_A0);
	return true;
}

int dft_value(struct value_env *env, union call_rec *rec, __u32 i)
{
	__u64 value = 0;
	__u8 src;

	if (!env || !rec)
		return 0;
	i &= DFT_MAX_VALS;
	src = i < DFT_MAX_VALS ? desc_of(rec->c.nr)->src[i] : 0;
	if (!src)
		return 0;
	if (src < DFT_SRC_USER && value_of(env, src, rec, &value)) {
		rec->c.present |= 1 << i;
		rec->c.nvals = i + 1;
		rec->c.val[i] = value;
	}
	return 1;
}
