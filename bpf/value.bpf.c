// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Values of a call record, from the arguments, the file and the program's memory. */
#include "value.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define FMODE_CREATED 0x100000 /* include/linux/fs.h */

/* What few calls have. */
ALWAYS_INLINE bool value_rare(const struct value_env *env, __u8 src, __u64 *value)
{
	struct file *file = (struct file *)env->file, *file2 = (struct file *)env->file2;

	if (src == DFT_SRC_NOTED) {
		*value = env->pos;
		return env->file != 0;
	}
	if (src == DFT_SRC_CREATED) {
		*value = 1;
		return file && env->ret >= 0 && BPF_CORE_READ(file, f_mode) & FMODE_CREATED;
	}
	if (!file2 || env->ret < 0)
		return false;
	*value = BPF_CORE_READ(file2, f_inode, i_size);
	return true;
}

/* Behind pointers of the program: resident now, since the kernel has just used them. */
ALWAYS_INLINE bool value_deref(const struct value_env *env, __u8 src, __u64 *value)
{
	__u64 user, word = 0;
	__u32 half = 0;

	if (src < DFT_SRC_INT)
		return value_rare(env, src, value);
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

int dft_value(struct value_env *env, union call_rec *rec, __u32 i)
{
	__u16 flags = 0;
	__u64 value = 0;
	bool there;
	__u8 src;

	if (!env || !rec)
		return 0;
	i &= DFT_MAX_VALS;
	src = i < DFT_MAX_VALS ? desc_of(rec->c.nr)->src[i] : 0;
	if (!src || src >= DFT_SRC_USER)
		return 0;
	there = src > DFT_SRC_SET_A3 ? value_deref(env, src, &value) :
					value_plain(env, src, &flags, &value);
	rec->c.flags |= flags;
	if (there) {
		rec->c.present |= 1 << i;
		rec->c.nvals = i + 1;
		rec->c.val[i] = value;
	}
	return 0;
}
