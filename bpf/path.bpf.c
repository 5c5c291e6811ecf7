// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Names of files: a walk from the dentry up to the process's root, crossing mounts. */
#include "core.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* More than 2,047 components and as many mounts do not fit into a path. */
#define WALK_MAX      2200
#define WALK_MAX_LOOP 96 /* without bpf_loop(): what the verifier of 5.14 can follow */
#define PATH_END      (DFT_PATH_MAX - 1)
#define NAME_MAX      255

struct walk {
	__u64 mnt, dentry;
	__u64 root_mnt, root_dentry;
	__u64 hash; /* as dft_chain_id() */
	char *buf;
	__u32 pos; /* of the first byte; the path ends at PATH_END */
	__u32 flags;
	__u32 done;
	__u32 pad;
};

ALWAYS_INLINE int walk_prepend(struct walk *w, struct dentry *dentry)
{
	struct qstr name;
	__u32 len, pos;

	BPF_CORE_READ_INTO(&name, dentry, d_name);
	w->hash = mix(w->hash, name.hash_len);
	len = name.len;
	if (len > NAME_MAX || w->pos < len + 1) {
		w->flags |= DFT_NAME_TRUNCATED;
		return -1;
	}
	pos = (w->pos - len - 1) & (DFT_PATH_MAX - 1);
	w->buf[pos] = '/';
	/* A name being freed (rename, RCU) reads as what is there; it cannot fault the kernel. */
	bpf_probe_read_kernel(w->buf + pos + 1, len & NAME_MAX, name.name);
	w->pos = pos;
	return 0;
}

/* One component or one mount. 1 ends the walk. */
static long walk_step(__u32 index, void *ctx)
{
	struct walk *w = ctx;
	struct dentry *dentry = (struct dentry *)w->dentry;
	struct vfsmount *vfsmnt = (struct vfsmount *)w->mnt;
	__u64 parent;

	if (w->done)
		return 1;
	if (w->dentry == w->root_dentry && w->mnt == w->root_mnt) {
		w->done = 1;
		return 1;
	}
	if (w->dentry == (__u64)BPF_CORE_READ(vfsmnt, mnt_root)) {
		struct mount *mnt =
			(struct mount *)(w->mnt - bpf_core_field_offset(struct mount, mnt));

		parent = (__u64)BPF_CORE_READ(mnt, mnt_parent);
		if (!parent || parent == (__u64)mnt) {
			w->flags |= DFT_NAME_UNREACHABLE;
			w->done = 1;
			return 1;
		}
		w->dentry = (__u64)BPF_CORE_READ(mnt, mnt_mountpoint);
		w->mnt = parent + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	parent = (__u64)BPF_CORE_READ(dentry, d_parent);
	if (walk_prepend(w, dentry) || !parent) {
		w->done = 1;
		return 1;
	}
	if (parent == w->dentry) {
		w->flags |= DFT_NAME_FLOATING;
		w->done = 1;
		return 1;
	}
	w->dentry = parent;
	return 0;
}

ALWAYS_INLINE void walk_all(struct walk *w)
{
	if (!dft_knob_no_loop && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(WALK_MAX, walk_step, w, 0);
	} else {
		for (__u32 i = 0; i < WALK_MAX_LOOP; i++)
			if (walk_step(i, w))
				break;
	}
	if (!w->done)
		w->flags |= DFT_NAME_TRUNCATED;
}

ALWAYS_INLINE int send_name(struct dft_who *who, struct dft_scratch *s, struct walk *w,
			    const struct dft_place *place, __u64 id)
{
	struct dft_rec_name *rec = (struct dft_rec_name *)s->rec;
	struct inode *inode = (struct inode *)place->inode;
	__u32 pos = w->pos & (DFT_PATH_MAX - 1);
	__u32 len = PATH_END - pos;

	len &= DFT_PATH_MAX - 1;
	rec->type = DFT_REC_NAME;
	rec->cls = place->cls;
	rec->len = len;
	rec->flags = w->flags;
	rec->id = id;
	rec->ino = place->ino;
	rec->gen = place->gen;
	rec->mode = BPF_CORE_READ(inode, i_mode);
	rec->dev = place->dev;
	rec->magic = BPF_CORE_READ(inode, i_sb, s_magic);
	bpf_probe_read_kernel(rec->path, len, s->path + pos);
	if (dft_emit(rec, sizeof(*rec) + len)) {
		tally_one(who, DFT_TALLY_RECORD, DFT_REC_NAME);
		return -1;
	}
	return 0;
}

__u64 dft_name(struct dft_who *who, struct dft_place *place)
{
	struct dft_scratch *s;
	struct walk w = {};
	__u8 one = 1;
	__u64 id;

	if (!who || !place)
		return 0;
	id = place->id;
	if (id && bpf_map_lookup_elem(&names, &id))
		return id;
	s = dft_scratch_get(place->iter);
	if (!s)
		return 0;
	w.mnt = place->mnt;
	w.dentry = place->dentry;
	w.root_mnt = place->root_mnt;
	w.root_dentry = place->root_dentry;
	w.hash = chain_begin(place);
	w.buf = s->path;
	w.pos = PATH_END;
	walk_all(&w);
	/* Not the id asked for if there was a rename meanwhile: the one of the name that is sent. */
	id = chain_end(w.hash, w.flags);
	if (bpf_map_lookup_elem(&names, &id))
		goto out;
	if (send_name(who, s, &w, place, id)) {
		id = 0;
		goto out;
	}
	/*
	 * Seen only after it is sent: a duplicate is harmless, a missing one is not. A full map costs a
	 * record at each call until user space has emptied it.
	 */
	bpf_map_update_elem(&names, &id, &one, BPF_ANY);
out:
	dft_scratch_put(s);
	return id;
}
