/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Ids of names. A part of io.bpf.c, and built twice like that. */
#ifndef DFT_CHAIN_BPF_H
#define DFT_CHAIN_BPF_H

#include "file.bpf.h"

#ifdef DFT_CAST
#define DFT_CHAIN_ID dft_cast_chain_id
#else
#define DFT_CHAIN_ID dft_chain_id
#endif

#define CHAIN_MAX 24
#define CHAIN_MAX_INLINE 10 /* where each step costs the verifier dear */

/*
 * From the top of a mount to where it is mounted. `wash` is memory that makes a number of a pointer to
 * the verifier, which allows no going from a vfsmount to the mount around it.
 */
ALWAYS_INLINE int chain_cross(volatile __u64 *wash, __u64 *mnt_addr, __u64 *dentry_addr)
{
	struct mount *mnt;
	__u64 parent;

	*wash = *mnt_addr;
	mnt = AT_ADDR(mount, *wash - bpf_core_field_offset(struct mount, mnt));
	*wash = (__u64)READ(mnt, mnt_parent);
	parent = *wash;
	*wash = (__u64)mnt;
	if (!parent || parent == *wash)
		return -1;
	*dentry_addr = (__u64)READ(mnt, mnt_mountpoint);
	*mnt_addr = parent + bpf_core_field_offset(struct mount, mnt);
	return 0;
}

/* 0 when it has more than `max` steps. */
ALWAYS_INLINE __u64 chain_walk(struct dft_place *place, const __u32 max)
{
	__u64 mnt_addr, dentry_addr, root_mnt, root_dentry, top, parent, hash;

	mnt_addr = place->mnt;
	dentry_addr = place->dentry;
	root_mnt = place->root_mnt;
	root_dentry = place->root_dentry;
	hash = chain_begin(place);
	top = (__u64)(READ(AT_ADDR(vfsmount, mnt_addr), mnt_root));
	for (__u32 i = 0; i < max; i++) {
		struct dentry *dentry;

		if (dentry_addr == root_dentry && mnt_addr == root_mnt)
			return chain_end(hash, 0);
		if (dentry_addr == top) {
			if (chain_cross(&place->id, &mnt_addr, &dentry_addr))
				return chain_end(hash, DFT_NAME_UNREACHABLE);
			top = (__u64)(READ(AT_ADDR(vfsmount, mnt_addr), mnt_root));
			continue;
		}
		dentry = AT_ADDR(dentry, dentry_addr);
		hash = mix(hash, READ(dentry, d_name.hash_len));
		parent = (__u64)(READ(dentry, d_parent));
		if (!parent || parent == dentry_addr)
			return chain_end(hash, DFT_NAME_FLOATING);
		dentry_addr = parent;
	}
	return 0;
}

__u64 DFT_CHAIN_ID(struct dft_place *place)
{
	return place ? chain_walk(place, CHAIN_MAX) : 0;
}

#endif
