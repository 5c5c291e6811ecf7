/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Values of a call record. */
#ifndef DFT_VALUE_BPF_H
#define DFT_VALUE_BPF_H

#include "core.bpf.h"

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
	__u64 file, pos, name2;
	__u32 cls;
	__u32 append;
};

/*
 * Fills in the i-th value of the record, if there is one; 0 behind the last. A global function, so
 * that the verifier forgets between values which way the ones before went: inlined, seven values of a
 * dozen kinds are half a million steps and most of the start-up time.
 */
int dft_value(struct value_env *env, union call_rec *rec, __u32 i);

#endif
