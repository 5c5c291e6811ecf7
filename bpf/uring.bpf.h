/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Requests of io_uring. A part of io.bpf.c. */
#ifndef DFT_URING_BPF_H
#define DFT_URING_BPF_H

#include "proc.bpf.h"
#include "request.bpf.h"

#ifdef DFT_CAST
#define URING_SUBMIT   io_cast_uring_submit
#define URING_FAILED   io_cast_uring_failed
#define URING_COMPLETE io_cast_uring_complete
#define URING_OVERFLOW io_cast_uring_overflow
#else
#define URING_SUBMIT   io_uring_submit
#define URING_FAILED   io_uring_failed
#define URING_COMPLETE io_uring_complete
#define URING_OVERFLOW io_uring_overflow
#endif

/* include/uapi/linux/io_uring.h */
#define IORING_SETUP_SQE128	  (1u << 10)
#define IORING_SETUP_NO_SQARRAY	  (1u << 16)
#define IOSQE_FIXED_FILE	  (1u << 0)
#define IOSQE_CQE_SKIP_SUCCESS	  (1u << 6)
#define SPLICE_F_FD_IN_FIXED	  (1u << 31)
enum {
	URING_FADVISE = 24,
	URING_OPENAT = 18,
	URING_FILES_UPDATE = 20,
	URING_OPENAT2 = 28,
	URING_SPLICE = 30,
	URING_TEE = 33,
	URING_SETXATTR = 42,
	URING_GETXATTR = 44,
};

#define PF_IO_WORKER  0x10 /* include/linux/sched.h: a thread that the kernel made for io_uring */
#define FILE_PTR_MASK (~7ull) /* the lowest bits are flags */

/* What openat2() and its request have behind a pointer. */
struct how {
	__u64 flags, mode, resolve;
};

/* ---- the ring's own table of files ------------------------------------------------------------ */

/* Address of the struct file of a direct descriptor, or 0. */
ALWAYS_INLINE __u64 addr_of_slot(struct io_ring_ctx *ring, __u32 slot)
{
	struct io_ring_ctx___files *old = (void *)ring;
	__u64 node = 0, file = 0;

	if (bpf_core_field_exists(ring->file_table.data)) {
		if (slot >= BPF_CORE_READ(ring, file_table.data.nr))
			return 0;
		bpf_probe_read_kernel(&node, sizeof(node),
				      BPF_CORE_READ(ring, file_table.data.nodes) + slot);
		if (node)
			file = BPF_CORE_READ((struct io_rsrc_node *)node, file_ptr);
	} else if (slot < BPF_CORE_READ(old, nr_user_files)) {
		struct io_fixed_file *files = BPF_CORE_READ(old, file_table.files);

		file = BPF_CORE_READ(&files[slot], file_ptr);
	}
	return file & FILE_PTR_MASK;
}

/* ---- submission ------------------------------------------------------------------------------ */

/*
 * The entry of the submission queue that the kernel has just taken. Another thread may be writing over
 * it, as it may while the kernel reads it.
 */
ALWAYS_INLINE __u64 sqe_taken(struct dft_submit *s)
{
	struct io_ring_ctx *ring = AT_ADDR(io_ring_ctx, s->req.ring);
	__u32 flags = READ(ring, flags), mask = READ(ring, sq_entries) - 1;
	__u32 at = (READ(ring, cached_sq_head) - 1) & mask;
	volatile __u64 *wash = s->raw; /* makes a number of a pointer to the verifier */

	if (!(flags & IORING_SETUP_NO_SQARRAY)) {
		__u32 *array = READ(ring, sq_array);

		at = READ(AT_ADDR(seqcount, array + at), sequence) & mask;
	}
	if (flags & IORING_SETUP_SQE128)
		at <<= 1;
	*wash = (__u64)READ(ring, sq_sqes);
	return *wash + at * sizeof(s->raw);
}

/*
 * The arguments, as the lines of the table have them: descriptor, address, length, offset or second
 * address, third descriptor (or direct descriptor, or third address), flags.
 */
ALWAYS_INLINE void sqe_args(struct dft_submit *s, __u8 opcode)
{
	const __u64 *raw = s->raw;
	__u64 *args = s->req.args;
	struct how how = {};

	args[0] = raw[0] >> 32;
	args[1] = raw[2];
	args[2] = (__u32)raw[3];
	args[3] = raw[1];
	args[4] = raw[5] >> 32;
	args[5] = raw[3] >> 32;
	if (opcode == URING_OPENAT2) {
		/* Resident: the kernel has read it. */
		if (bpf_probe_read_user(&how, sizeof(how), (const void *)raw[1]))
			s->req.flags |= REQUEST_UNREAD;
		args[5] = how.flags;
		args[2] = how.mode;
		args[3] = how.resolve;
	} else if (opcode == URING_FADVISE && raw[2]) {
		args[2] = raw[2]; /* from 6.8 on a length of 64 bits */
	} else if (opcode == URING_SETXATTR || opcode == URING_GETXATTR) {
		args[4] = raw[6];
	}
}

ALWAYS_INLINE void sqe_flags(struct dft_submit *s, __u16 nr)
{
	const __u64 *args = s->req.args;
	__u8 raw = s->raw[0] >> 8, opcode = nr - DFT_NR_URING, flags = 0;
	bool between = opcode == URING_SPLICE || opcode == URING_TEE;

	if (raw & IOSQE_FIXED_FILE)
		flags |= between ? REQUEST_FIXED2 : REQUEST_FIXED;
	if (between && args[5] & SPLICE_F_FD_IN_FIXED)
		flags |= REQUEST_FIXED;
	if (raw & IOSQE_CQE_SKIP_SUCCESS)
		flags |= REQUEST_SKIP;
	if ((nr == NR_URING_CLOSE || opcode == URING_OPENAT || opcode == URING_OPENAT2) && args[4])
		flags |= REQUEST_SLOT;
	s->req.flags |= flags;
}

/* Tells an open file from another one that has its memory after it. */
ALWAYS_INLINE __u64 uring_dentry(__u64 file)
{
	return (__u64)READ(AT_ADDR(file, file), f_path.dentry);
}

/* The file of a descriptor of the process or of the ring. */
ALWAYS_INLINE __u64 file_asked(struct task_struct *task, const struct dft_request *r, __u32 n, bool fixed)
{
	__u32 fd = r->args[n < 5 ? n : 0];

	if (r->nr == NR_URING_CLOSE && r->flags & REQUEST_SLOT) {
		fd = r->args[4] - 1;
		fixed = true;
	}
	return fixed ? addr_of_slot((struct io_ring_ctx *)r->ring, fd) : addr_of_fd(task, fd);
}

static __attribute__((noinline)) int uring_files(struct dft_task *t, struct dft_submit *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct dft_desc *d = desc_of(s->req.nr);
	bool must_name = false;
	__u64 addr;

	if (d->fd2) {
		addr = file_asked(task, &s->req, d->fd2 - 1, s->req.flags & REQUEST_FIXED2);
		if (addr)
			note_other_file(task, t, addr);
		/* Kept for the other side's sake: then this side is named, too. */
		must_name = addr && !class_is_filtered(t->cls2);
	}
	addr = file_asked(task, &s->req, d->fd - 1, s->req.flags & REQUEST_FIXED);
	if (addr)
		note_file(task, t, addr, must_name, false);
	addr = d->fd > 1 ? t->file2 : t->file;
	s->req.dentry = addr ? uring_dentry(addr) : 0;
	return 0;
}

/* What note_text1() finds at the entry of a call and exit_text1() at its exit. */
ALWAYS_INLINE void uring_text1(struct dft_task *t, const struct args *args,
			       const volatile struct dft_desc *d)
{
	bool empty_ok = empty_path_allowed(args, d);
	__u64 user = arg(args, d->path - 1);
	int len;

	t->flags |= TASK_TEXT1_SENT;
	if (!user && d->null_empty && empty_ok) {
		t->call |= DFT_CALL_SELF;
		return;
	}
	len = send_text(t, user, 1, empty_ok);
	if (!len && empty_ok)
		t->call |= DFT_CALL_SELF;
	else if (len >= 0)
		t->call |= DFT_CALL_TEXT1 | DFT_CALL_BASE;
	else
		t->call |= (len == -1 ? DFT_CALL_FAULT1 : DFT_CALL_LOST1) | DFT_CALL_BASE;
}

/* Strings: the kernel has copied them already, so that the program may use the memory again. */
static __attribute__((noinline)) int uring_texts(struct dft_task *t, struct dft_submit *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct dft_desc *d = desc_of(s->req.nr);
	struct args args = {};
	int len;

	for (__u32 i = 0; i < 6; i++)
		args.v[i] = s->req.args[i];
	if (!(t->flags & TASK_QUIET))
		t->serial = __sync_fetch_and_add(&dft_serial, 1) | DFT_SERIAL_BIT;
	if (d->path) {
		uring_text1(t, &args, d);
		note_base(task, t, &args, d);
	}
	if (!d->path2)
		return 0;
	if (!d->raw2)
		note_base2(task, t, &args, d);
	len = send_text(t, arg(&args, d->path2 - 1), 2, 0);
	t->call |= len >= 0 ? DFT_CALL_TEXT2 : len == -1 ? DFT_CALL_FAULT2 : DFT_CALL_LOST2;
	return 0;
}

/* A request that is counted only: by the class of its file when that is a filtered one. */
ALWAYS_INLINE void uring_count(struct dft_task *t, struct dft_submit *s)
{
	const volatile struct dft_desc *d = desc_of(s->req.nr);
	struct dft_sum sum = {};
	struct dft_tally_key key;
	__u64 addr = 0;

	if (d->kind == DFT_KIND_NOTIO)
		return;
	tally_key(&key, &t->who,
		  d->kind == DFT_KIND_UNDECODED ? DFT_TALLY_UNDECODED : DFT_TALLY_UNKNOWN, s->req.nr);
	if (d->fd)
		addr = file_asked(bpf_get_current_task_btf(), &s->req, d->fd - 1,
				  s->req.flags & REQUEST_FIXED);
	if (addr) {
		struct file *file = AT_ADDR(file, addr);
		__u8 cls = class_of_inode(READ(file, f_inode));

		if (class_is_filtered(cls)) {
			key.kind = DFT_TALLY_FILTERED;
			key.cls = cls;
		}
	}
	dft_tally(&key, &sum);
}

/* One that takes a file away from a descriptor, or puts another one there. */
ALWAYS_INLINE bool uring_frees(const struct dft_submit *s, __u8 opcode)
{
	__u32 slot = s->req.args[4];

	if (opcode != URING_OPENAT && opcode != URING_OPENAT2)
		return opcode == URING_FILES_UPDATE || s->req.nr == NR_URING_CLOSE;
	return s->req.flags & REQUEST_SLOT && slot != SLOT_ANY &&
	       addr_of_slot((struct io_ring_ctx *)s->req.ring, slot - 1);
}

/* A request of the current thread, as it is in s->raw. False: it is no event. */
ALWAYS_INLINE bool uring_decode(struct dft_task *t, struct dft_submit *s)
{
	__u8 opcode = s->raw[0];

	if (opcode >= DFT_NR_URING_MAX) {
		tally_one(&t->who, DFT_TALLY_UNKNOWN, DFT_NR_URING + opcode);
		return false;
	}
	s->req.nr = DFT_NR_URING + opcode;
	s->req.tid = (__u32)bpf_get_current_pid_tgid();
	s->req.flags = 0;
	sqe_args(s, opcode);
	sqe_flags(s, s->req.nr);
	if (uring_frees(s, opcode))
		t->freed_ns = bpf_ktime_get_ns();
	if (desc_of(s->req.nr)->kind != DFT_KIND_DECODED) {
		uring_count(t, s);
		return false;
	}
	request_reset(t, s->req.nr);
	return true;
}

/* Its files and strings. */
ALWAYS_INLINE void uring_begin(struct dft_task *t, struct dft_submit *s)
{
	const volatile struct dft_desc *d = desc_of(s->req.nr);

	if (d->fd)
		uring_files(t, s);
	if (d->path || d->path2)
		uring_texts(t, s);
	if (s->req.nr == NR_URING_CLOSE && !(s->req.flags & REQUEST_SLOT))
		note_closed(bpf_get_current_task_btf(), t, s->req.args[0]);
}

/* The state of the current thread, if its process is traced. */
ALWAYS_INLINE struct dft_task *submitter(struct task_struct *task)
{
	struct dft_task *t = state_of(task);

	/* Others are marked when they are born, or at their first call. */
	if (!t && task->flags & PF_IO_WORKER)
		t = dft_adopt_worker(task);
	return t && t->who.pid && !(t->flags & TASK_BEFORE_EXEC) ? t : NULL;
}

/*
 * The request and its arguments, before anything is known of its files; `sqe` is 0 for the one that the
 * kernel has just taken. NULL: it is not followed; then
 * the one that had this memory before it must not be there when its end is told.
 */
ALWAYS_INLINE struct dft_submit *uring_submitted(struct dft_task **t, struct io_kiocb *req,
						 __u64 ring, __u64 sqe, bool unseen)
{
	struct dft_request_key key = { .addr = (__u64)req };
	struct dft_submit *s;

	*t = submitter(bpf_get_current_task_btf());
	s = *t ? submit_get() : NULL;
	if (s) {
		s->key = key;
		s->req.ring = ring;
		if (!sqe)
			sqe = sqe_taken(s);
		if (!bpf_probe_read_kernel(s->raw, sizeof(s->raw), (const void *)sqe) &&
		    uring_decode(*t, s))
			return s;
		s->busy = 0;
	}
	request_displaced(&key, unseen);
	return NULL;
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(URING_SUBMIT, struct io_kiocb *req)
{
	__u64 ring = (__u64)READ(AT_ADDR(io_kiocb, req), ctx);
	struct dft_submit *s;
	struct dft_task *t;

	s = uring_submitted(&t, req, ring, 0, true);
	if (!s)
		return 0;
	dft_flush(t); /* what the thread did before stands before it, whoever tells its end */
	uring_begin(t, s);
	request_put(t, s, true);
	s->busy = 0;
	return 0;
}

/*
 * Refused when it was looked at. Its end is told like that of others; its file is looked up then, and
 * its strings are not read.
 */
SEC("?tp_btf/io_uring_req_failed")
int BPF_PROG(URING_FAILED, const struct io_uring_sqe *sqe, struct io_kiocb *req, int error)
{
	struct dft_submit *s;
	struct dft_task *t;

	s = uring_submitted(&t, req, (__u64)READ(AT_ADDR(io_kiocb, req), ctx), (__u64)sqe,
			    false);
	if (!s)
		return 0;
	s->req.flags |= REQUEST_REFUSED;
	if (desc_of(s->req.nr)->path)
		t->call = DFT_CALL_BASE;
	request_put(t, s, false);
	s->busy = 0;
	return 0;
}

/* ---- end -------------------------------------------------------------------------------------- */

/*
 * A successful open: the file is the one that is under the new number now. 0: it may not be any more, for
 * the kernel tells the ends of what a thread submits together when it has begun with all of it.
 */
ALWAYS_INLINE __u64 uring_opened(struct task_struct *task, const struct dft_request *r, __s64 ret)
{
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	__u32 slot = r->args[4];

	if (t && t->freed_ns > r->ts_ns)
		return 0;
	if (!(r->flags & REQUEST_SLOT))
		return addr_of_fd(task, ret);
	return addr_of_slot((struct io_ring_ctx *)r->ring, slot == SLOT_ANY ? ret : slot - 1);
}

/*
 * The kernel looks files up when it begins with a request, which may be long after the submission: one
 * behind another in a chain. By now it is known which file it was.
 */
ALWAYS_INLINE __u64 uring_used(struct task_struct *task, const struct dft_request *r, __u64 req,
			       const volatile struct dft_desc *d)
{
	if (!(r->flags & REQUEST_REFUSED))
		return (__u64)READ(AT_ADDR(io_kiocb, req), file);
	/* It would have had this one. Of two, none is named. */
	return d->fd2 ? 0 : file_asked(task, r, d->fd - 1, r->flags & REQUEST_FIXED);
}

/*
 * Another file than at the submission, if it can be seen: not, when the kernel cleans up after the
 * process. What was opened has its path instead, then.
 */
ALWAYS_INLINE void uring_rename(struct dft_ending *e, __u64 req, __s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const volatile struct dft_desc *d = desc_of(e->req.nr);
	bool opened = d->ret == DFT_RET_FILE && ret >= 0, second = d->fd > 1;
	__u64 addr;

	if (opened)
		e->t.file = 0; /* the base of its path */
	if (task->tgid != e->req.who.pid || !(opened || d->fd))
		return;
	addr = opened ? uring_opened(task, &e->req, ret) : uring_used(task, &e->req, req, d);
	if (!addr || (addr == (second ? e->t.file2 : e->t.file) && uring_dentry(addr) == e->req.dentry))
		return;
	if (second) {
		e->t.name2 = 0;
		e->t.call &= ~(DFT_CALL_OTHER_DELETED | DFT_CALL_OTHER_NAMELESS);
		note_other_file(task, &e->t, addr);
		return;
	}
	e->t.name = 0;
	e->t.call = opened ? e->t.call & DFT_CALL_TEXT1 :
			     e->t.call & ~(DFT_CALL_DELETED | DFT_CALL_NAMELESS);
	note_file(task, &e->t, addr, false, false);
}

/*
 * Of one that was given none: the file's position may have moved on by now, but the kernel has left in the
 * request the one behind it.
 */
ALWAYS_INLINE void uring_position(struct dft_request *r, __u64 req, __s64 ret)
{
	__u8 src = desc_of(r->nr)->src[1];

	if ((src == DFT_SRC_POS_A3 || src == DFT_SRC_WPOS_A3) && r->args[3] == (__u64)-1 && ret >= 0 &&
	    (r->cls == DFT_CLASS_FILE || r->cls == DFT_CLASS_BLOCK))
		r->args[3] = READ(AT_ADDR(kiocb, req), ki_pos) - ret;
}

static __attribute__((noinline)) int uring_over(const struct dft_request_key *key, __s64 ret)
{
	struct dft_ending *e = ending_take(key, 0);
	__u64 req = key->addr;
	struct exit_ctx x;

	if (!e)
		return 0;
	uring_rename(e, req, ret);
	e->req.cls = e->t.cls;
	uring_position(&e->req, req, ret);
	ending_ctx(&x, e, ret);
	if (x.nr == NR_URING_CLOSE && !(e->req.flags & REQUEST_SLOT))
		note_closed(bpf_get_current_task_btf(), &e->t, e->req.args[0]);
	if (desc_of(x.nr)->fd && ret >= 0 && !e->t.file)
		e->t.call |= DFT_CALL_NAMELESS; /* there was one, and it is gone */
	request_dispose(e, &x);
	e->busy = 0;
	return 0;
}

SEC("?tp_btf/io_uring_complete")
int BPF_PROG(URING_COMPLETE, struct io_ring_ctx *ring, void *req, struct io_uring_cqe *cqe)
{
	struct dft_request_key key = { .addr = (__u64)req };
	__s64 ret = cqe->res; /* loaded as of a pointer: where it is a number, as before 6.10, this does not load */

	if (req && dft_requested)
		uring_over(&key, ret);
	return 0;
}

/* ---- ends that found the completion queue full -------------------------------------------------- */

/* At most as many as the kernel ends at once. */
#define OVERFLOW_MAX 4096

struct overflow {
	__u64 node; /* of the list of requests that the kernel is just ending */
	__u64 user_data;
	__s64 res;
};

static long overflow_step(__u32 index, void *ctx)
{
	struct overflow *o = ctx;
	struct io_kiocb *req = (void *)(o->node - bpf_core_field_offset(struct io_kiocb, comp_list));
	struct io_wq_work_node *node = (void *)o->node;
	struct dft_request_key key = { .addr = (__u64)req };
	struct dft_request *r;

	if (!node)
		return 1;
	o->node = (__u64)BPF_CORE_READ(node, next);
	if (BPF_CORE_READ(req, cqe.user_data) != o->user_data || BPF_CORE_READ(req, cqe.res) != o->res)
		return 0;
	r = bpf_map_lookup_elem(&requests, &key);
	if (!r || r->flags & REQUEST_OVERFLOW)
		return 0; /* one before it, which looks the same */
	r->dur_ns = bpf_ktime_get_ns() - r->ts_ns;
	r->ret = o->res;
	uring_position(r, (__u64)req, o->res);
	r->flags |= REQUEST_OVERFLOW;
	return 1;
}

/*
 * The kernel tells the ring and what the program gave it, but not which request it was: it is the first
 * one that fits among those that are just being ended. Its result is kept until its memory is used again,
 * or its process ends: this is rare, and a way of its own to the event would cost time at each start.
 */
SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(URING_OVERFLOW, void *ring, unsigned long long user_data, int res)
{
	struct io_ring_ctx *ctx_of = ring;
	struct overflow o = { .user_data = user_data, .res = res };

	if (!dft_requested)
		return 0;
	o.node = (__u64)BPF_CORE_READ(ctx_of, submit_state.compl_reqs.first);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(OVERFLOW_MAX, overflow_step, &o, 0);
	return 0;
}

#endif
