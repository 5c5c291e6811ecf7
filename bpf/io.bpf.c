// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * System calls. Entry notes the time and identifies files (at exit another thread may have put
 * another file under the number); exit reads the other arguments, which the registers still hold,
 * and sends the record.
 */
#include "chain.bpf.h"
#include "file.bpf.h"
#include "proc.bpf.h"
#include "value.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* This file is built twice (see file.bpf.h), under two names. */
#ifdef DFT_CAST
#define IO_SYS_ENTER io_cast_sys_enter
#define IO_SYS_EXIT  io_cast_sys_exit
#else
#define IO_SYS_ENTER io_sys_enter
#define IO_SYS_EXIT  io_sys_exit
#endif

#define AT_EMPTY_PATH	  0x1000
#define CLONE_THREAD	  0x10000
#define PROT_EXEC	  0x4
#define MAP_ANONYMOUS	  0x20
#define CLOSE_RANGE_CLOEXEC 4u
#define CLOSE_RANGE_FLAGS   6u

/* Kernel-internal results of an interrupted call, which is run again or turned into EINTR. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

/* What finish() hands around: BPF functions take five arguments. */
struct exit_ctx {
	struct args args;
	struct dft_task *t;
	__s64 ret;
	__u64 dur_ns;
	__u32 tid;
	__u16 nr;
	__u16 pad;
};

ALWAYS_INLINE bool ret_is_restart(__s64 ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

/* ---- entry ---------------------------------------------------------------------------------- */

/* Notes the file of a descriptor as the call's first file. */
ALWAYS_INLINE void note_file(struct task_struct *task, struct dft_task *t, __u32 fd, bool must_name)
{
	__u64 addr = addr_of_fd(task, fd);
	struct dft_place place;
	struct inode *inode;
	struct file *file;

	if (!addr)
		return;
	file = AT_ADDR(file, addr);
	inode = READ(file, f_inode);
	t->cls = class_of_inode(inode);
	t->file = addr;
	t->seen = fd_sequence(task, fd, false);
	t->pos = READ(file, f_pos);
	t->append = !!(READ(file, f_flags) & O_APPEND);
	if (t->cls == DFT_CLASS_PIPE)
		t->ino = READ(inode, i_ino);
	if (class_is_filtered(t->cls) && !must_name)
		return;
	if (dentry_is_deleted(READ(file, f_path.dentry)))
		t->call |= DFT_CALL_DELETED;
	place.cls = t->cls;
	if (!place_file(&place, task, file))
		t->name = place_name(t, &place);
	if (!t->name)
		t->call |= DFT_CALL_NAMELESS;
}

/* The second file, of a call between two or of one that closes another descriptor. */
ALWAYS_INLINE void note_other(struct task_struct *task, struct dft_task *t, __u32 fd)
{
	__u64 addr = addr_of_fd(task, fd);
	struct dft_place place;
	struct inode *inode;
	struct file *file;

	if (!addr)
		return;
	file = AT_ADDR(file, addr);
	t->file2 = addr;
	t->seen2 = fd_sequence(task, fd, false);
	inode = READ(file, f_inode);
	t->cls2 = class_of_inode(inode);
	if (t->cls2 == DFT_CLASS_PIPE)
		t->ino2 = READ(inode, i_ino);
	if (dentry_is_deleted(READ(file, f_path.dentry)))
		t->call |= DFT_CALL_OTHER_DELETED;
	place.cls = t->cls2;
	if (!place_file(&place, task, file))
		t->name2 = place_name(t, &place);
	if (!t->name2)
		t->call |= DFT_CALL_OTHER_NAMELESS;
}

/* True when the path is surely absolute; a page not resident is looked at again at exit. */
ALWAYS_INLINE bool path_is_absolute(__u64 user)
{
	char first = 0;

	return !bpf_probe_read_user(&first, 1, (const void *)user) && first == '/';
}

/* The working directory as the base of a relative path: a name id or 0, its class and sequence. */
ALWAYS_INLINE __u64 note_cwd(struct task_struct *task, struct dft_task *t, __u8 *cls, __u32 *seen)
{
	struct dft_place place;

	*seen = cwd_sequence(task, false);
	if (place_cwd(&place, task))
		return 0;
	*cls = place.cls;
	return place_name(t, &place);
}

ALWAYS_INLINE void note_base(struct task_struct *task, struct dft_task *t, const struct args *args,
			     const volatile struct dft_desc *d)
{
	__s32 dirfd = d->base ? (__s32)arg(args, d->base - 1) : AT_FDCWD;

	if (path_is_absolute(arg(args, d->path - 1)))
		return;
	if (dirfd != AT_FDCWD) {
		/* Named whatever its class: relative to /proc is a name like any other. */
		note_file(task, t, dirfd, true);
		t->call |= DFT_CALL_DIRFD;
	} else {
		t->name = note_cwd(task, t, &t->cls, &t->seen);
	}
}

ALWAYS_INLINE void note_base2(struct task_struct *task, struct dft_task *t, const struct args *args,
			      const volatile struct dft_desc *d)
{
	__s32 dirfd = d->base2 ? (__s32)arg(args, d->base2 - 1) : AT_FDCWD;

	if (path_is_absolute(arg(args, d->path2 - 1)))
		return;
	if (dirfd == AT_FDCWD)
		t->name2 = note_cwd(task, t, &t->cls2, &t->seen2);
	else
		note_other(task, t, dirfd);
}

/*
 * Reads a string of the program and sends it ahead of the call's record. Returns its length, -1
 * when it cannot be read, -2 when the ring is full.
 */
static __attribute__((noinline)) int send_text(struct dft_task *t, __u64 user, __u32 slot,
					       __u32 skip_empty)
{
	struct dft_scratch *s = dft_scratch_get(0);
	struct dft_rec_text *rec;
	int err = -2, len;

	if (!s)
		return -2;
	rec = (struct dft_rec_text *)s->rec;
	/* One byte more than a path can have tells a longer string. */
	len = bpf_probe_read_user_str(rec->text, DFT_PATH_MAX + 1, (const void *)user);
	if (len < 1) {
		err = -1;
		goto out;
	}
	len = (len - 1) & (2 * DFT_PATH_MAX - 1);
	if (!len && skip_empty) {
		err = 0;
		goto out;
	}
	rec->type = DFT_REC_TEXT;
	rec->slot = slot;
	rec->len = len;
	rec->pid = t->pid;
	rec->tid = (__u32)bpf_get_current_pid_tgid();
	rec->nr = t->nr;
	rec->base = slot == 2 ? t->name2 : 0;
	if (dft_emit(rec, sizeof(*rec) + len))
		tally_one(t, DFT_TALLY_RECORD, DFT_REC_TEXT);
	else
		err = len;
out:
	dft_scratch_put(s);
	return err;
}

ALWAYS_INLINE bool empty_path_allowed(const struct args *args, const volatile struct dft_desc *d)
{
	return d->empty_ok ||
	       (d->at_flags && (arg(args, d->at_flags - 1) & AT_EMPTY_PATH));
}

/* Strings that the call itself may overwrite. What is not resident yet is read at exit. */
ALWAYS_INLINE void note_early(struct dft_task *t, const struct args *args,
			      const volatile struct dft_desc *d)
{
	bool empty_ok = empty_path_allowed(args, d);
	int len;

	if (d->fd && class_is_filtered(t->cls))
		return;
	if (d->path) {
		len = send_text(t, arg(args, d->path - 1), 1, empty_ok);
		if (len >= 0)
			t->flags |= TASK_TEXT1_SENT;
		else if (len == -2)
			t->flags |= TASK_TEXT1_LOST;
		if (!len && empty_ok)
			t->call |= DFT_CALL_SELF;
	}
	if (d->path2) {
		len = send_text(t, arg(args, d->path2 - 1), 2, 0);
		if (len >= 0)
			t->flags |= TASK_TEXT2_SENT;
		else if (len == -2)
			t->flags |= TASK_TEXT2_LOST;
	}
}

struct closing {
	struct task_struct *task;
	struct dft_task *t;
	__u64 ts_ns;
	__u32 fd, last;
};

/*
 * A descriptor closed by another call than close. `cls` in the low byte, enum dft_call_flag above.
 */
ALWAYS_INLINE void send_implied_close(struct dft_task *t, __u64 ts_ns, __u64 dur_ns, __u64 name,
				      __u32 cls_flags)
{
	struct dft_rec_call rec = {};
	struct dft_tally_key key;
	__u8 cls = cls_flags;

	tally_key(&key, t, DFT_TALLY_FILTERED, NR_CLOSE);
	if (dft_knob_verdicts && name && bpf_map_lookup_elem(&verdicts, &name))
		cls = DFT_CLASS_EXCLUDED;
	if (class_is_filtered(cls) || cls == DFT_CLASS_EXCLUDED) {
		key.cls = cls;
		dft_tally(&key, 0, 0, dur_ns);
		return;
	}
	rec.type = DFT_REC_CALL;
	rec.nr = t->nr;
	rec.flags = DFT_CALL_VIA | (cls_flags >> 8) | (name ? 0 : DFT_CALL_NAMELESS);
	rec.cls = cls;
	rec.ts_ns = ts_ns;
	rec.dur_ns = dur_ns;
	rec.pid = t->pid;
	rec.tid = (__u32)bpf_get_current_pid_tgid();
	rec.name = name;
	if (dft_emit(&rec, sizeof(rec))) {
		key.kind = DFT_TALLY_LOST;
		dft_tally(&key, 0, 0, dur_ns);
	}
}

/* One descriptor of a close_range. */
static long close_step(__u32 index, void *ctx)
{
	struct closing *c = ctx;
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_place place;
	struct file *file;
	__u32 fd = c->fd + index, flags;
	__u64 name = 0;

	if (fd < index || fd > c->last || fd >= BPF_CORE_READ(task, files, fdt, max_fds))
		return 1;
	file = file_of_fd(task, fd);
	if (!file)
		return 0;
	place.cls = class_of_inode(READ(file, f_inode));
	flags = dentry_is_deleted(READ(file, f_path.dentry)) ? DFT_CALL_DELETED : 0;
	if (!class_is_filtered(place.cls) && !place_file(&place, task, file))
		name = place_name(c->t, &place);
	send_implied_close(c->t, c->ts_ns, 0, name, place.cls | flags << 8);
	return 0;
}

#define CLOSE_RANGE_MAX	     (1u << 20) /* descriptors a process may have on usual systems */
#define CLOSE_RANGE_MAX_LOOP 64

/*
 * close_range() with valid arguments closes whatever is open, so that its files are told here, while
 * they are still there.
 */
static __attribute__((noinline)) int note_close_range(struct dft_task *t, __u64 first, __u64 last,
						      __u64 flags)
{
	struct closing c = { .t = t, .fd = first, .last = last };

	if ((__u32)first > (__u32)last || (__u32)flags & ~CLOSE_RANGE_FLAGS ||
	    flags & CLOSE_RANGE_CLOEXEC)
		return 0;
	c.ts_ns = bpf_ktime_get_ns();
	if (!dft_knob_no_loop && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(CLOSE_RANGE_MAX, close_step, &c, 0);
	} else {
		for (__u32 i = 0; i < CLOSE_RANGE_MAX_LOOP; i++)
			if (close_step(i, &c))
				break;
	}
	return 0;
}

/* A call that is only counted: by the class of its file when that is a filtered one. */
static __attribute__((noinline)) int count_undecoded(struct dft_task *t, const struct args *args,
						     __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);
	struct dft_tally_key key;

	tally_key(&key, t, DFT_TALLY_UNDECODED, nr);
	if (d->fd) {
		struct file *file =
			file_of_fd(bpf_get_current_task_btf(), arg(args, d->fd - 1));

		if (file) {
			__u8 cls = class_of_inode(READ(file, f_inode));

			if (class_is_filtered(cls)) {
				key.kind = DFT_TALLY_FILTERED;
				key.cls = cls;
			}
		}
	}
	return dft_tally(&key, 0, 0, 0);
}

/* Calls that are not decoded. True when nothing is left to do. */
ALWAYS_INLINE bool enter_uncommon(struct task_struct *task, struct dft_task *t,
				  const struct args *args, long nr)
{
	__u8 kind;

	if (task_is_compat(task)) {
		tally_one(t, DFT_TALLY_COMPAT, nr);
		return true;
	}
	if (nr < 0)
		return true; /* the call was cancelled by a tracer or seccomp */
	if (nr >= DFT_NR_MAX) {
		tally_one(t, DFT_TALLY_UNKNOWN, nr > 0xffff ? 0xffff : nr);
		return true;
	}
	kind = desc_of(nr)->kind;
	if (kind == DFT_KIND_DECODED)
		return false;
	if (kind == DFT_KIND_UNDECODED)
		count_undecoded(t, args, nr);
	else if (kind == DFT_KIND_NONE)
		tally_one(t, DFT_TALLY_UNKNOWN, nr);
	return true;
}

static __attribute__((noinline)) int enter_files(struct dft_task *t, const struct args *args, __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);
	struct task_struct *task = bpf_get_current_task_btf();

	if (d->fd)
		note_file(task, t, arg(args, d->fd - 1), false);
	else if (d->path)
		note_base(task, t, args, d);
	return 0;
}

static __attribute__((noinline)) int enter_second(struct dft_task *t, const struct args *args, __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);
	struct task_struct *task = bpf_get_current_task_btf();

	if (d->fd2) {
		__u32 fd2 = arg(args, d->fd2 - 1);

		if (!d->closes) {
			note_other(task, t, fd2);
			/* Kept for the other side's sake: then this side is named, too. */
			if (!t->name && t->cls && !class_is_filtered(t->cls2))
				note_file(task, t, arg(args, d->fd - 1), true);
		} else if (fd2 != (__u32)arg(args, d->fd - 1)) {
			note_other(task, t, fd2);
		}
	} else if (d->path2 && !d->raw2) {
		note_base2(task, t, args, d);
	}
	if (d->early)
		note_early(t, args, d);
	if (d->special == DFT_SPECIAL_CLOSE_RANGE)
		note_close_range(t, arg(args, 0), arg(args, 1), arg(args, 2));
	else if (d->special == DFT_SPECIAL_EXEC)
		t->pos = arg(args, 4); /* flags of execveat; exec clears the registers */
	return 0;
}

/* Tells calls of other threads that are under way that the descriptor has changed. */
ALWAYS_INLINE void note_change(struct task_struct *task, const struct args *args, __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);
	__u32 *n = NULL;

	if ((nr != NR_CLOSE && !d->closes) || !fds_are_shared(task))
		return;
	if (nr == NR_CLOSE)
		n = fd_counter(task, arg(args, 0));
	else
		n = fd_counter(task, arg(args, d->fd2 - 1));
	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(IO_SYS_ENTER, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = bpf_task_storage_get(&tasks, task, NULL, 0);
	const volatile struct dft_desc *d;
	struct args args = {};

	if (!t) {
		if (!dft_knob_all && dft_unmarked == dft_unmarked_done)
			return 0;
		t = dft_adopt(task, nr);
		if (!t)
			return 0;
	}
	t->ts_ns = 0;
	d = desc_of(nr);
	if (t->flags & TASK_BEFORE_EXEC && d->special != DFT_SPECIAL_EXEC)
		return 0;
	regs_args(regs, args.v);
	if (enter_uncommon(task, t, &args, nr))
		return 0;
	t->nr = nr;
	t->name = 0;
	t->name2 = 0;
	t->file = 0;
	t->file2 = 0;
	t->seen = 0;
	t->seen2 = 0;
	t->ino = 0;
	t->ino2 = 0;
	t->call = 0;
	t->cls = DFT_CLASS_NONE;
	t->cls2 = DFT_CLASS_NONE;
	t->flags &= TASK_BEFORE_EXEC;
	enter_files(t, &args, nr);
	if (d->fd2 || d->path2 || d->early || d->special)
		enter_second(t, &args, nr);
	note_change(task, &args, nr);
	t->ts_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* The call's number in a tally, with what its event's name depends on. */
ALWAYS_INLINE __u16 tally_nr(const struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	__u16 nr = x->nr;

	if (call & DFT_CALL_SELF)
		nr |= DFT_TALLY_SELF;
	if (d->at_flags && arg(&x->args, d->at_flags - 1) & dft_alt_flag(d->alt))
		nr |= DFT_TALLY_FLAGGED;
	return nr;
}

static __attribute__((noinline)) int send_call(struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	struct value_env env = {};
	union call_rec rec = {};
	__u64 size;

	rec.c.type = DFT_REC_CALL;
	rec.c.nr = x->nr;
	rec.c.flags = call;
	rec.c.cls = t->cls;
	rec.c.ts_ns = t->ts_ns;
	rec.c.dur_ns = x->dur_ns;
	rec.c.pid = t->pid;
	rec.c.tid = x->tid;
	rec.c.ret = x->ret;
	rec.c.name = t->name;
	if (d->src[0]) {
		env.args = x->args;
		env.ret = x->ret;
		env.file = t->file;
		env.pos = t->pos;
		env.name2 = t->name2;
		env.cls = t->cls;
		env.append = t->append;
		for (__u32 i = 0; i < DFT_MAX_VALS; i++)
			if (!dft_value(&env, &rec, i))
				break;
	}
	size = sizeof(rec.c) + (rec.c.nvals & DFT_MAX_VALS) * sizeof(__u64);
	if (dft_emit(&rec, size)) {
		struct dft_tally_key key;

		tally_key(&key, t, DFT_TALLY_LOST, tally_nr(x, call));
		dft_tally(&key, ret_is_restart(x->ret) ? 0 : x->ret,
			  d->ret == DFT_RET_BYTES && x->ret > 0 ? x->ret : 0, x->dur_ns);
	}
	return 0;
}

static __attribute__((noinline)) int count_filtered(struct exit_ctx *x, __u32 cls,
						    __u32 call)
{
	struct dft_tally_key key;

	tally_key(&key, x->t, DFT_TALLY_FILTERED, tally_nr(x, call));
	key.cls = cls;
	if (cls == DFT_CLASS_PIPE && desc_of(x->nr)->ret == DFT_RET_BYTES)
		key.ino = x->t->ino ? x->t->ino : x->t->ino2;
	return dft_tally(&key, ret_is_restart(x->ret) ? 0 : x->ret,
			 desc_of(x->nr)->ret == DFT_RET_BYTES && x->ret > 0 ? x->ret : 0, x->dur_ns);
}

/* The first string; sets SELF when there is none and the call is on the descriptor itself. */
ALWAYS_INLINE void exit_text1(struct exit_ctx *x, const volatile struct dft_desc *d, __u32 *call)
{
	struct dft_task *t = x->t;
	__u64 user = arg(&x->args, d->path - 1);
	bool empty_ok = empty_path_allowed(&x->args, d);
	int len;

	if (!user && ((d->null_ok && *call & DFT_CALL_DIRFD) || (d->null_empty && empty_ok))) {
		*call |= DFT_CALL_SELF;
		return;
	}
	len = send_text(t, user, 1, empty_ok);
	if (!len && empty_ok)
		*call |= DFT_CALL_SELF;
	else if (len >= 0)
		*call |= DFT_CALL_TEXT1;
	else if (len == -1)
		*call |= DFT_CALL_FAULT1;
	else
		*call |= DFT_CALL_LOST1;
}

static __attribute__((noinline)) int exit_texts(struct exit_ctx *x, __u32 call)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	int len;

	if (d->path && !(call & DFT_CALL_SELF)) {
		if (t->flags & TASK_TEXT1_SENT)
			call |= DFT_CALL_TEXT1;
		else if (t->flags & TASK_TEXT1_LOST)
			call |= DFT_CALL_LOST1;
		else
			exit_text1(x, d, &call);
		if (!(call & DFT_CALL_SELF))
			call |= DFT_CALL_BASE;
	}
	/* On the descriptor itself, and that is of a kind left out: the caller counts it. */
	if (call & DFT_CALL_SELF && class_is_filtered(t->cls))
		return call;
	if (t->flags & TASK_TEXT2_SENT) {
		call |= DFT_CALL_TEXT2;
	} else if (t->flags & TASK_TEXT2_LOST) {
		call |= DFT_CALL_LOST2;
	} else if (d->path2) {
		len = send_text(t, arg(&x->args, d->path2 - 1), 2, 0);
		if (len >= 0)
			call |= DFT_CALL_TEXT2;
		else if (len == -1)
			call |= DFT_CALL_FAULT2;
		else
			call |= DFT_CALL_LOST2;
	}
	return call;
}

/* A successful open: the file is the one that is under the new number now. */
static __attribute__((noinline)) int exit_opened(struct exit_ctx *x)
{
	struct dft_task *t = x->t;

	t->name = 0;
	t->cls = DFT_CLASS_NONE;
	t->call = 0;
	note_file(bpf_get_current_task_btf(), t, x->ret, false);
	return 0;
}

/* Calls that turn out to be no events. */
ALWAYS_INLINE bool exit_is_no_event(struct exit_ctx *x, const volatile struct dft_desc *d)
{
	__u64 flags = 0, user;

	if (d->special == DFT_SPECIAL_MMAP)
		return arg(&x->args, 3) & MAP_ANONYMOUS;
	if (d->special != DFT_SPECIAL_CLONE)
		return false;
	if (d->src[0] == DFT_SRC_A0)
		return arg(&x->args, 0) & CLONE_THREAD;
	user = arg(&x->args, 0); /* clone3: flags come first in its structure */
	return !bpf_probe_read_user(&flags, sizeof(flags), (const void *)user) &&
	       flags & CLONE_THREAD;
}

/* The class that has the call left out, 0 if it is kept. */
ALWAYS_INLINE __u8 exit_filter(struct dft_task *t, const volatile struct dft_desc *d, __u32 call)
{
	bool is_file = d->fd || d->ret == DFT_RET_FILE || call & DFT_CALL_SELF;

	if (!is_file || call & DFT_CALL_BASE)
		return 0; /* calls on names are judged in user space, which has the name */
	if (class_is_filtered(t->cls) &&
	    (!d->fd2 || d->closes || !t->cls2 || class_is_filtered(t->cls2)))
		return t->cls;
	if (dft_knob_verdicts && t->name && bpf_map_lookup_elem(&verdicts, &t->name) &&
	    (!d->fd2 || d->closes || !t->name2 || bpf_map_lookup_elem(&verdicts, &t->name2)))
		return DFT_CLASS_EXCLUDED;
	return 0;
}

/* Another file under the descriptor than at entry, or it was away in between? */
ALWAYS_INLINE bool fd_replaced(struct task_struct *task, __u32 fd, __u64 file, __u32 seen)
{
	return seen && (fd_sequence(task, fd, true) != seen || addr_of_fd(task, fd) != file);
}

ALWAYS_INLINE bool cwd_replaced(struct task_struct *task, __u32 seen)
{
	return seen && cwd_sequence(task, true) != seen;
}

/*
 * What the call's descriptors and cwd stand for was looked up at entry, a fraction of a microsecond
 * before the kernel did. Where another thread puts something else there just then, the kernel may
 * have taken that. It cannot be known which, but it can be said.
 */
static __attribute__((noinline)) int was_replaced(struct exit_ctx *x)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = x->t;
	__u32 n;

	/* Some change it themselves; exec leaves the other threads behind. */
	if (x->nr == NR_CLOSE || d->special == DFT_SPECIAL_CHDIR || d->special == DFT_SPECIAL_EXEC)
		return 0;
	n = d->fd ? d->fd : t->call & DFT_CALL_DIRFD ? d->base : 0;
	if (n ? fd_replaced(task, arg(&x->args, n - 1), t->file, t->seen) :
		cwd_replaced(task, t->seen))
		return 1;
	n = d->fd2 ? d->fd2 : t->file2 ? d->base2 : 0;
	if (d->closes)
		return 0;
	return n ? fd_replaced(task, arg(&x->args, n - 1), t->file2, t->seen2) :
		   cwd_replaced(task, t->seen2);
}

static __attribute__((noinline)) int finish(struct exit_ctx *x)
{
	const volatile struct dft_desc *d = desc_of(x->nr);
	struct dft_task *t = x->t;
	__u32 call, cls;

	if (exit_is_no_event(x, d))
		return 0;
	if (d->special == DFT_SPECIAL_MMAP && arg(&x->args, 2) & PROT_EXEC && x->ret >= 0)
		dft_image(t, t->file);
	if (d->ret == DFT_RET_FILE && x->ret >= 0)
		exit_opened(x);
	else if (was_replaced(x))
		t->call |= DFT_CALL_REPLACED;
	call = t->call;
	if ((d->path || d->path2) && !(d->ret == DFT_RET_FILE && x->ret >= 0))
		call = exit_texts(x, call);
	cls = exit_filter(t, d, call);
	if (cls)
		count_filtered(x, cls, call);
	else
		send_call(x, call);
	if (d->closes && x->ret >= 0 && t->cls2)
		send_implied_close(t, t->ts_ns, x->dur_ns, t->name2,
				   t->cls2 | (call & DFT_CALL_OTHER_DELETED ? DFT_CALL_DELETED : 0) << 8);
	return 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(IO_SYS_EXIT, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct exit_ctx x = {};
	struct dft_task *t;

	t = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (!t || !t->ts_ns)
		return 0;
	x.dur_ns = bpf_ktime_get_ns() - t->ts_ns;
	x.t = t;
	regs_args(regs, x.args.v);
	x.ret = ret;
	x.nr = t->nr;
	x.tid = (__u32)bpf_get_current_pid_tgid();
	if (desc_of(x.nr)->special == DFT_SPECIAL_EXEC)
		x.args.v[4] = t->pos; /* exec has cleared the registers */
	note_change(task, &x.args, x.nr);
	if (!(t->flags & TASK_BEFORE_EXEC)) /* our own child, and its exec failed */
		finish(&x);
	t->ts_ns = 0;
	return 0;
}
