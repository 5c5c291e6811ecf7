// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Probes of provider `dftracer` (include/dftracer/wire.h) in the programs. */
#include "core.bpf.h"
#include "proc.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

ALWAYS_INLINE void declared_key(struct dft_declared_key *key, const struct dft_task *t, __u32 probe,
				__u64 id)
{
	key->start_ns = t->who.start_ns;
	key->id = id;
	key->pid = t->who.pid;
	key->probe = probe;
}

/* A string of the program. Its length; 0 and the flag if it cannot be read. */
ALWAYS_INLINE __u16 read_str(char *to, __u32 cap, __u64 from, struct dft_rec_annot *rec, __u8 flag)
{
	long len;

	if (!from)
		return 0;
	len = bpf_probe_read_user_str(to, cap, (const void *)from);
	if (len < 1) {
		rec->flags |= flag;
		return 0;
	}
	return len - 1;
}

ALWAYS_INLINE void fill(struct dft_rec_annot *rec, const struct dft_task *t, __u32 probe,
			const __u64 *operands)
{
	rec->type = DFT_REC_EVENT + probe;
	rec->flags = 0;
	rec->pid = t->who.pid;
	rec->tid = (__u32)bpf_get_current_pid_tgid();
	rec->ts_ns = bpf_ktime_get_ns();
	rec->value = operands[2];
	rec->code = operands[3];
	rec->data = operands[4];
	rec->name_len = read_str(rec->name, sizeof(rec->name), operands[0], rec,
				 DFT_ANNOT_FAULT_NAME);
	rec->text_len = read_str(rec->text, sizeof(rec->text), operands[1], rec,
				 DFT_ANNOT_FAULT_TEXT);
	rec->chunk_len = 0;
}

/* How far the program's CLOCK_MONOTONIC is ahead of ours: in a time namespace of its own. */
ALWAYS_INLINE __u64 time_offset(struct task_struct *task)
{
	struct nsproxy *proxy = BPF_CORE_READ(task, nsproxy);

	if (!proxy)
		return 0;
	return BPF_CORE_READ(proxy, time_ns, offsets.monotonic.tv_sec) * 1000000000ull +
	       BPF_CORE_READ(proxy, time_ns, offsets.monotonic.tv_nsec);
}

/* The record is built in the ring: a program that is preempted here may meet itself on its CPU. */
ALWAYS_INLINE int send_long(struct task_struct *task, const struct dft_task *t, __u32 probe,
			    const __u64 *operands)
{
	struct dft_rec_annot *rec;
	__u64 len = operands[5];

	/* Facts about the process are few, and not detail. */
	if (probe != DFT_PROBE_METADATA && dft_ring_is_tight())
		return -1;
	rec = bpf_ringbuf_reserve(&ring, sizeof(*rec), 0);
	if (!rec)
		return -1;
	fill(rec, t, probe, operands);
	/* Not the last two bits, which say something else in metadata; parts have its value as well. */
	rec->value -= time_offset(task) & ~3ull;
	if (probe == DFT_PROBE_EVENT && rec->value < BPF_CORE_READ(task, group_leader, start_time))
		rec->flags |= DFT_ANNOT_INHERITED;
	if (len > DFT_CHUNK_MAX)
		len = DFT_CHUNK_MAX;
	bound(len);
	if (len <= DFT_CHUNK_MAX) {
		if (bpf_probe_read_user(rec->chunk, len, (const void *)operands[4]))
			rec->flags |= DFT_ANNOT_FAULT_DATA;
		else
			rec->chunk_len = len;
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* 0, the flags of what could not be read, or -1. */
ALWAYS_INLINE int send_short(const struct dft_task *t, __u32 probe, const __u64 *operands)
{
	struct dft_rec_annot *rec = bpf_ringbuf_reserve(&ring, DFT_ANNOT_SHORT, 0);
	int flags;

	if (!rec)
		return -1;
	fill(rec, t, probe, operands);
	flags = rec->flags;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return flags;
}

/* Entities and types: once for each process; said to be sent only after it is. */
ALWAYS_INLINE int send_declaration(const struct dft_task *t, __u32 probe, const __u64 *operands)
{
	struct dft_declared_key key;
	__u8 one = 1;
	int err;

	declared_key(&key, t, probe, operands[2]);
	if (bpf_map_lookup_elem(&declared, &key))
		return 0;
	err = send_short(t, probe, operands);
	if (err)
		return err;
	/* A full map costs a record at each declaration until user space has made room. */
	bpf_map_update_elem(&declared, &key, &one, BPF_ANY);
	return 0;
}

ALWAYS_INLINE int probe_hit(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	__u64 probe = bpf_get_attach_cookie(ctx), operands[6];
	int err;

	if (!t || !t->who.pid)
		t = dft_adopt(task, ADOPT_AT_PROBE);
	if (!t || t->flags & TASK_BEFORE_EXEC || probe >= DFT_PROBE_MAX)
		return 0;
	regs_operands(ctx, operands);
	dft_flush(t); /* the calls before this stand before it */
	if (probe == DFT_PROBE_ENTITY || probe == DFT_PROBE_ENTITY_TYPE)
		err = send_declaration(t, probe, operands);
	else if (probe == DFT_PROBE_RELATION)
		err = send_short(t, probe, operands);
	else
		err = send_long(task, t, probe, operands);
	if (err < 0)
		tally_one(&t->who, DFT_TALLY_RECORD, DFT_REC_EVENT + probe);
	return 0;
}

/* All sites of a file at once, kernel 6.6 and later; loaded with the attach type it needs. */
SEC("?uprobe")
int annot_multi(struct pt_regs *ctx)
{
	return probe_hit(ctx);
}

/* One site. */
SEC("?uprobe")
int annot_single(struct pt_regs *ctx)
{
	return probe_hit(ctx);
}
