// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Mapped files: which file is mapped at an address, and the page faults that read from one or make a page
 * of one writable.
 *
 * A fault is known to be one in a file at its begin, and to have succeeded, with or without reading from
 * the disk, at its end, for which there is no hook that says the address for less than the fault itself
 * costs. But the kernel counts the thread's faults as they end: that the count has moved by the next fault
 * of the thread, by the next pass of the iterator, or by the thread's end, says the same. Those that had
 * to wait for the disk are few, and their end has a hook: they become events with their duration.
 */
#include "filter.bpf.h"
#include "proc.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define VM_EXEC	   0x4ul
#define VM_SHARED  0x8ul
#define VM_HUGETLB 0x400000ul

/* ---- mappings ------------------------------------------------------------------------------- */

/* A tree of this height has more mappings than a process may have. */
#define TREE_MAX  12
#define PIVOT_MAX 15

/*
 * Global functions: the verifier checks each once, instead of at each level of the tree and behind each way
 * out of it.
 */
__u64 dft_node_slot(__u64 entry, __u64 addr);
__u64 dft_find_area(__u64 entry, __u64 addr);

/* Below the address of a node is its kind. */
ALWAYS_INLINE __u32 node_type(__u64 entry)
{
	return entry >> 3 & 0xf;
}

/* What stands for the address in a node: slot i is for what is up to pivot i, and above the one before. */
__attribute__((noinline)) __u64 dft_node_slot(__u64 entry, __u64 addr)
{
	__u64 pivot[PIVOT_MAX], node = entry & ~0xffull, slot = 0;
	__u32 n, pivots, slots, at;

	if (!bpf_core_field_exists(struct mm_struct, mm_mt))
		return 0;
	if (node_type(entry) == bpf_core_enum_value(enum maple_type, maple_arange_64)) {
		n = bpf_core_field_size(struct maple_arange_64, pivot) / sizeof(__u64);
		pivots = bpf_core_field_offset(struct maple_arange_64, pivot);
		slots = bpf_core_field_offset(struct maple_arange_64, slot);
	} else {
		n = bpf_core_field_size(struct maple_range_64, pivot) / sizeof(__u64);
		pivots = bpf_core_field_offset(struct maple_range_64, pivot);
		slots = bpf_core_field_offset(struct maple_range_64, slot);
	}
	if (bpf_probe_read_kernel(pivot, sizeof(pivot), (const void *)(node + pivots)))
		return 0;
	for (at = 0; at < PIVOT_MAX; at++)
		if (at >= n || pivot[at] >= addr)
			break;
	bpf_probe_read_kernel(&slot, sizeof(slot), (const void *)(node + slots + at * sizeof(slot)));
	return slot;
}

/* Address of the vm_area_struct, or 0. It may be on its way out: whoever asks looks what it says of itself. */
__attribute__((noinline)) __u64 dft_find_area(__u64 entry, __u64 addr)
{
	if (!bpf_core_field_exists(struct mm_struct, mm_mt) || (entry & 3) != 2)
		return 0; /* one mapping at most: no program can live in it */
	for (__u32 i = 0; i < TREE_MAX && entry; i++) {
		bool leaf = node_type(entry) < bpf_core_enum_value(enum maple_type, maple_range_64);

		entry = dft_node_slot(entry, addr);
		if (leaf)
			return entry & 3 ? 0 : entry; /* what is no address marks an empty place */
	}
	return 0;
}

/*
 * Memory that processes share and that the kernel keeps in a file: no program can name it. It has names that
 * no other file can have, or that are nowhere in the directory tree.
 */
ALWAYS_INLINE bool is_memory(struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	char name[8] = "";

	if (BPF_CORE_READ(dentry, d_parent) != dentry)
		return false;
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(dentry, d_name.name));
	return !__builtin_memcmp(name, "dev/", 4) || !__builtin_memcmp(name, "SYSV", 4);
}

__attribute__((noinline)) int dft_mapping_at(struct dft_mapping *m, __u64 addr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vm_area_struct *area;
	volatile __u64 *wash;
	struct mm_struct *mm;
	struct file *file;

	if (!m || !bpf_core_field_exists(struct mm_struct, mm_mt))
		return -1;
	mm = task->mm;
	if (!mm)
		return -1;
	wash = &m->file; /* makes a number of a pointer to the verifier */
	*wash = (__u64)mm->mm_mt.ma_root;
	area = (struct vm_area_struct *)dft_find_area(*wash, addr);
	if (!area)
		return -1;
	m->start = BPF_CORE_READ(area, vm_start);
	m->end = BPF_CORE_READ(area, vm_end);
	if (BPF_CORE_READ(area, vm_mm) != mm || addr < m->start || addr >= m->end)
		return -1;
	m->flags = BPF_CORE_READ(area, vm_flags);
	m->offset = BPF_CORE_READ(area, vm_pgoff) << dft_knob_page_shift;
	file = BPF_CORE_READ(area, vm_file);
	m->file = file && !is_memory(file) ? (__u64)file : 0;
	return 0;
}

/* ---- the fault at hand ---------------------------------------------------------------------- */

__u64 io_task_name(struct dft_task *t);

/* A number that changes with the memory map; false: this kernel has none. */
ALWAYS_INLINE bool map_sequence(struct task_struct *task, __u32 *seq)
{
	struct mm_struct *mm = task->mm;
	struct mm_struct___int *old = (struct mm_struct___int *)mm;

	if (!mm)
		return false;
	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		*seq = mm->mm_lock_seq.sequence;
	else if (bpf_core_field_exists(old->mm_lock_seq))
		*seq = old->mm_lock_seq;
	else
		return false;
	return true;
}

/* In the mapping of the fault before? */
ALWAYS_INLINE bool is_same(struct task_struct *task, const struct dft_faults *f, __u64 addr)
{
	__u32 seq;

	return addr >= f->start && addr < f->end && map_sequence(task, &seq) && seq == f->seq;
}

ALWAYS_INLINE void executed_key(struct dft_image_key *key, struct inode *inode)
{
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->size = 0;
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->gen = BPF_CORE_READ(inode, i_generation);
}

/* Whether faults in the file count, and under which name. */
ALWAYS_INLINE void judge_file(struct task_struct *task, struct dft_task *t, struct file *file, __u64 flags)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct dft_faults *f = &t->faults;
	struct dft_image_key key;
	__u8 one = 1;

	executed_key(&key, inode);
	if (flags & VM_EXEC) {
		/* The program loader's own is mapped by the kernel. */
		bpf_map_update_elem(&executed, &key, &one, BPF_ANY);
		return;
	}
	if (bpf_map_lookup_elem(&executed, &key))
		return;
	f->counts = 1;
	f->shared = !!(flags & VM_SHARED);
	f->page = 1u << (flags & VM_HUGETLB ? BPF_CORE_READ(inode, i_blkbits) & 31 : dft_knob_page_shift & 31);
	f->deleted = dentry_is_deleted(BPF_CORE_READ(file, f_path.dentry));
	t->place.cls = class_of_inode(inode);
	f->cls = class_is_filtered(t->place.cls) ? t->place.cls : 0;
	if (!f->cls && !place_file(&t->place, task, file))
		f->id = io_task_name(t);
}

static __attribute__((noinline)) int look_up(struct dft_task *t, __u64 addr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_faults *f = &t->faults;
	struct dft_mapping m = {};
	bool lasting = map_sequence(task, &f->seq);

	f->start = 0;
	f->end = 0;
	f->id = 0;
	f->cls = 0;
	f->counts = 0;
	f->epoch = *(volatile __u32 *)&dft_names_epoch; /* before the name is looked up */
	if (dft_mapping_at(&m, addr))
		return 0;
	f->base = m.offset - m.start;
	if (m.file)
		judge_file(task, t, (struct file *)m.file, m.flags);
	if (lasting && (f->id || f->cls || !f->counts)) {
		f->start = m.start;
		f->end = m.end;
	}
	return 0;
}

/* ---- tallies and events --------------------------------------------------------------------- */

/* Why such faults are left out, or 0. */
ALWAYS_INLINE __u8 filter_run(const struct dft_fault_run *run)
{
	__u64 id = run->id;

	if (is_dropped(run->nr, 0))
		return DFT_CLASS_ONLY;
	if (run->cls)
		return run->cls;
	return dft_knob_verdicts && id && bpf_map_lookup_elem(&verdicts, &id) ? DFT_CLASS_EXCLUDED : 0;
}

/* `kind` unless `cls` is a reason to leave them out. */
static __attribute__((noinline)) int tally_run(struct dft_task *t, const struct dft_fault_run *run,
					       __u32 kind, __u32 cls, __u64 dur_ns)
{
	struct dft_tally_key key;
	struct dft_sum sum = { .ts_ns = run->first_ns, .dur_ns = dur_ns };
	__u64 bytes = run->bytes;

	tally_key(&key, &t->who, cls ? DFT_TALLY_FILTERED : kind, run->nr);
	key.cls = cls;
	key.id = cls ? 0 : run->id;
	if (run->n > 1) { /* the last one by itself, for its time */
		sum.more = run->n - 2;
		sum.bytes = bytes - bytes / run->n;
		dft_tally(&key, &sum);
		bytes -= sum.bytes;
		sum.more = 0;
		sum.ts_ns = run->last_ns;
	}
	sum.bytes = bytes;
	return dft_tally(&key, &sum);
}

/* The run is over. */
ALWAYS_INLINE void end_run(struct dft_task *t)
{
	struct dft_fault_run *run = &t->faults.run;

	if (!run->n)
		return;
	tally_run(t, run, DFT_TALLY_CHOSEN, filter_run(run), 0);
	run->n = 0;
	run->id = 0;
}

ALWAYS_INLINE __u64 faults_of(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

/* If the last fault has come to an end, and not in vain, it goes into the run. */
ALWAYS_INLINE void settle(struct task_struct *task, struct dft_task *t, bool next)
{
	struct dft_faults *f = &t->faults;
	bool ended = f->flt != faults_of(task);

	if (!f->last.n || (!ended && !next))
		return;
	if (ended) {
		if (f->run.n && (f->run.id != f->last.id || f->run.nr != f->last.nr ||
				 f->run.cls != f->last.cls))
			end_run(t);
		if (!f->run.n) {
			f->run = f->last;
		} else {
			f->run.n++;
			f->run.bytes += f->last.bytes;
			f->run.last_ns = f->last.last_ns;
		}
	}
	f->last.n = 0;
	f->last.id = 0;
}

__hidden int dft_faults_flush(struct task_struct *task, struct dft_task *t)
{
	struct dft_faults *f = &t->faults;

	if (!*(volatile __u32 *)&f->last.n && !*(volatile __u32 *)&f->run.n)
		return 1;
	if (__sync_lock_test_and_set(&f->busy, 1))
		return 0;
	settle(task, t, false);
	end_run(t);
	let_go(&f->busy, 0);
	return 1;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

ALWAYS_INLINE void fill_run(struct dft_fault_run *run, const struct dft_faults *f, bool write)
{
	run->n = 1;
	run->id = f->id;
	run->nr = DFT_NR_FAULT + (write ? DFT_FAULT_WRITE : DFT_FAULT_READ);
	run->cls = f->cls;
	run->deleted = f->deleted;
	run->bytes = f->page;
	run->first_ns = bpf_ktime_get_ns();
	run->last_ns = run->first_ns;
}

/* A fault of a traced thread begins. */
static __attribute__((noinline)) int begin_fault(struct dft_task *t, __u64 addr, __u64 code, bool same)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_faults *f = &t->faults;
	struct dft_fault_run now;

	if (!same || f->epoch != *(volatile __u32 *)&dft_names_epoch)
		look_up(t, addr);
	if (!f->counts && !f->last.n)
		return 0;
	fill_run(&now, f, f->shared && fault_is_write(code));
	/* A private page made one's own: its content was read before, and the file does not change. */
	if (!f->counts || (!f->shared && fault_is_denied(code)))
		now.n = 0;
	if (__sync_lock_test_and_set(&f->busy, 1)) {
		/* The iterator is at it: not to be waited for. If it fails after all, it is counted still. */
		if (now.n)
			tally_run(t, &now, DFT_TALLY_CHOSEN, filter_run(&now), 0);
		return 0;
	}
	settle(task, t, true);
	if (now.n) {
		f->last = now;
		f->flt = faults_of(task);
		f->offset = ((addr + f->base) & ~((__u64)f->page - 1));
	}
	let_go(&f->busy, 0);
	return 0;
}

/* The tracer's question. */
static __attribute__((noinline)) int answer(__u64 addr)
{
	struct dft_mapping m = {};
	struct file *file;

	if (dft_mapping_at(&m, addr))
		return 0;
	file = (struct file *)m.file;
	if (file)
		dft_fault_answer = BPF_CORE_READ(file, f_inode, i_ino);
	return 0;
}

ALWAYS_INLINE struct dft_task *traced(struct task_struct *task, __u64 addr)
{
	struct dft_task *t = state_of(task);

	if (t && t->who.pid)
		return t->flags & TASK_BEFORE_EXEC ? NULL : t;
	if (dft_fault_asked && task->tgid == dft_knob_self && addr == dft_fault_asked)
		answer(addr);
	if (!dft_knob_all && dft_unmarked == dft_unmarked_done)
		return NULL;
	return dft_adopt(task, DFT_NR_FAULT);
}

/*
 * For both hooks: a fault of the program, or of a call that is given mapped memory. Of a plain type, so that
 * it is checked once, and can be loaded where there are no such hooks.
 */
SEC("?raw_tp")
int fault_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	unsigned long addr = ctx->args[0], code = ctx->args[2];
	struct dft_task *t;
	bool same;

	/* With page faults off an access fails, and is tried again with them on. */
	if ((long)addr < 0 || task->pagefault_disabled)
		return 0;
	t = traced(task, addr);
	if (!t)
		return 0;
	same = is_same(task, &t->faults, addr);
	/* One that does not count, behind another such: most are, in memory that is no file's. */
	if (same && !t->faults.counts && !t->faults.last.n)
		return 0;
	/* exec lays out the new program. */
	if (!t->ts_ns || dft_descs[t->nr & (DFT_NR_MAX - 1)].special != DFT_SPECIAL_EXEC)
		begin_fault(t, addr, code, same);
	return 0;
}

static __attribute__((noinline)) int send_fault(struct dft_task *t, const struct dft_fault_run *run,
						__u64 offset)
{
	union call_rec rec = {};
	__u64 dur_ns = bpf_ktime_get_ns() - run->first_ns;
	__u8 cls = filter_run(run);

	if (!cls && is_too_short(dur_ns))
		cls = DFT_CLASS_MIN_DUR;
	if (cls || dft_aggregate)
		return tally_run(t, run, DFT_TALLY_CHOSEN, cls, dur_ns);
	rec.c.type = DFT_REC_CALL;
	rec.c.nr = run->nr;
	rec.c.nvals = 1;
	rec.c.present = 1;
	rec.c.flags = (run->deleted ? DFT_CALL_DELETED : 0) | (run->id ? 0 : DFT_CALL_NAMELESS);
	rec.c.cls = DFT_CLASS_FILE;
	rec.c.ts_ns = run->first_ns;
	rec.c.dur_ns = dur_ns;
	rec.c.pid = t->who.pid;
	rec.c.tid = (__u32)bpf_get_current_pid_tgid();
	rec.c.ret = run->bytes;
	rec.c.name = run->id;
	rec.c.val[0] = offset;
	dft_flush(t);
	if (dft_emit_detail(&rec, sizeof(rec.c) + sizeof(__u64)))
		tally_run(t, run, DFT_TALLY_SHED, 0, dur_ns);
	return 0;
}

/* PERF_COUNT_SW_PAGE_FAULTS_MAJ: a fault of this thread has ended, and it had to wait for the disk. */
SEC("?perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	struct dft_task *t = state_of(bpf_get_current_task_btf());
	struct dft_fault_run run;
	__u64 offset;

	if (!t || !t->who.pid || !t->faults.last.n)
		return 0;
	if (__sync_lock_test_and_set(&t->faults.busy, 1))
		return 0; /* the iterator takes it for one of the others */
	run = t->faults.last;
	offset = t->faults.offset;
	t->faults.last.n = 0;
	t->faults.last.id = 0;
	let_go(&t->faults.busy, 0);
	if (run.n)
		send_fault(t, &run, offset);
	return 0;
}
