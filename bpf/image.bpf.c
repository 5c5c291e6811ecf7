// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Executable files that processes begin to use: user space looks for probes in them. */
#include "file.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Faults of a program's code are not the job's I/O: those in its other sections neither. */
ALWAYS_INLINE void note_executed(const struct dft_image_key *image)
{
	struct dft_image_key key = *image;
	__u8 one = 1;

	key.size = 0;
	if (!bpf_map_lookup_elem(&executed, &key))
		bpf_map_update_elem(&executed, &key, &one, BPF_ANY);
}

int dft_image(struct dft_task *t, __u64 addr)
{
	struct file *file = (struct file *)addr;
	struct dft_rec_image rec = {};
	struct dft_place place;
	struct inode *inode;

	if (!t || !addr)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	rec.key.ino = BPF_CORE_READ(inode, i_ino);
	rec.key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	rec.key.gen = BPF_CORE_READ(inode, i_generation);
	rec.key.size = BPF_CORE_READ(inode, i_size);
	note_executed(&rec.key);
	if (bpf_map_lookup_elem(&images, &rec.key))
		return 0;
	rec.type = DFT_REC_IMAGE;
	rec.pid = t->who.pid;
	rec.ts_ns = bpf_ktime_get_ns();
	if (!place_file(&place, bpf_get_current_task_btf(), file)) {
		place.cls = DFT_CLASS_FILE;
		rec.name = place_name(&t->who, &place);
	}
	/* Until user space has looked and attached, hits are missed: it should be short. */
	if (dft_emit_urgent(&rec, sizeof(rec)))
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_IMAGE);
	return 0;
}
