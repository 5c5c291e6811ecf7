/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Entry of a call: its files, and the strings that it may overwrite. A part of io.bpf.c. */
#ifndef DFT_ENTER_BPF_H
#define DFT_ENTER_BPF_H

#include "chain.bpf.h"
#include "filter.bpf.h"

#ifdef DFT_CAST
#define IO_TASK_NAME io_cast_task_name
#define IO_NOTE_FILE io_cast_note_file
#else
#define IO_TASK_NAME io_task_name
#define IO_NOTE_FILE io_note_file
#endif

#define AT_EMPTY_PATH	  0x1000
#define CLOSE_RANGE_CLOEXEC 4u
#define CLOSE_RANGE_FLAGS   6u

/*
 * The id of the name of t->place, whose record is in the ring then; or 0. What a thread has used lately
 * it remembers. `id`: of the chain.
 */
ALWAYS_INLINE __u64 name_of(struct dft_task *t, __u32 epoch, __u64 id)
{
	__u32 slot = (id >> 1) & (KNOWN_NAMES - 1);

	if (id && t->epoch == epoch && t->known[slot] == id)
		return id;
	t->place.id = id;
	id = dft_name(&t->who, &t->place);
	if (t->epoch != epoch) {
		__builtin_memset(t->known, 0, sizeof(t->known));
		t->epoch = epoch;
	}
	/* Below the mask again: it may be another name than before. 0 never matches. */
	t->known[(id >> 1) & (KNOWN_NAMES - 1)] = id;
	return id;
}

/* Read before the map is: if it changes meanwhile, what is remembered is void. */
ALWAYS_INLINE __u32 names_epoch(void)
{
	return *(volatile __u32 *)&dft_names_epoch;
}

/* Global functions, which the verifier checks once: see core.bpf.h. */
__u64 IO_TASK_NAME(struct dft_task *t)
{
	__u32 epoch = names_epoch();

	return t ? name_of(t, epoch, CHAIN_ID(&t->place)) : 0;
}

/* `fast`: with the chain in line, for the one place where it pays. */
ALWAYS_INLINE __u64 task_name(struct dft_task *t, bool fast)
{
	__u32 epoch = names_epoch();
	__u64 id = fast ? chain_walk(&t->place, CHAIN_MAX_INLINE) : 0;

	return id ? name_of(t, epoch, id) : IO_TASK_NAME(t);
}

/* Notes a file as the call's first one. */
ALWAYS_INLINE void note_file(struct task_struct *task, struct dft_task *t, __u64 addr, bool must_name,
			     bool fast)
{
	struct file *file = AT_ADDR(file, addr);
	struct inode *inode = READ(file, f_inode);

	t->cls = class_of_inode(inode);
	t->file = addr;
	t->pos = READ(file, f_pos);
	t->append = !!(READ(file, f_flags) & O_APPEND);
	if (t->cls == DFT_CLASS_PIPE)
		t->ino = READ(inode, i_ino);
	if (class_is_filtered(t->cls) && !must_name)
		return;
	if (dentry_is_deleted(READ(file, f_path.dentry)))
		t->call |= DFT_CALL_DELETED;
	t->place.cls = t->cls;
	if (!place_file(&t->place, task, file))
		t->name = task_name(t, fast);
	if (!t->name)
		t->call |= DFT_CALL_NAMELESS;
}

/* The file of a descriptor. */
ALWAYS_INLINE void note_fd(struct task_struct *task, struct dft_task *t, __u32 fd, bool must_name,
			   bool fast)
{
	__u64 addr = addr_of_fd(task, fd);

	if (!addr)
		return;
	t->seen = fd_seen(task, t, fd, &t->key);
	note_file(task, t, addr, must_name, fast);
}

/* The same, or of the file at `addr` if that is not 0. */
int IO_NOTE_FILE(struct dft_task *t, __u32 fd, __u32 must_name, __u64 addr)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!t)
		return 0;
	if (!addr) {
		addr = addr_of_fd(task, fd);
		if (!addr)
			return 0;
		t->seen = fd_seen(task, t, fd, &t->key);
	}
	note_file(task, t, addr, must_name, false);
	return 0;
}

/* Notes the file that is mapped at an address, and where in the file that is. */
static __attribute__((noinline)) int note_mapping(struct dft_task *t, __u64 addr)
{
	struct dft_mapping m = {};

	if (dft_mapping_at(&m, addr) || !m.file)
		return 0;
	IO_NOTE_FILE(t, 0, false, m.file);
	t->pos = m.offset + addr - m.start;
	return 0;
}

/* The second file, of a call between two or of one that closes another descriptor. */
ALWAYS_INLINE void note_other_file(struct task_struct *task, struct dft_task *t, __u64 addr)
{
	struct file *file = AT_ADDR(file, addr);
	struct inode *inode = READ(file, f_inode);

	t->file2 = addr;
	t->cls2 = class_of_inode(inode);
	if (t->cls2 == DFT_CLASS_PIPE)
		t->ino2 = READ(inode, i_ino);
	if (dentry_is_deleted(READ(file, f_path.dentry)))
		t->call |= DFT_CALL_OTHER_DELETED;
	t->place.cls = t->cls2;
	if (!place_file(&t->place, task, file))
		t->name2 = task_name(t, false);
	if (!t->name2)
		t->call |= DFT_CALL_OTHER_NAMELESS;
}

ALWAYS_INLINE void note_other(struct task_struct *task, struct dft_task *t, __u32 fd)
{
	__u64 addr = addr_of_fd(task, fd);

	if (!addr)
		return;
	t->seen2 = fd_seen(task, t, fd, &t->key2);
	note_other_file(task, t, addr);
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
	*seen = cwd_sequence(task, false);
	if (place_cwd(&t->place, task))
		return 0;
	*cls = t->place.cls;
	return task_name(t, false);
}

ALWAYS_INLINE void note_base(struct task_struct *task, struct dft_task *t, const struct args *args,
			     const volatile struct dft_desc *d)
{
	__s32 dirfd = d->base ? (__s32)arg(args, d->base - 1) : AT_FDCWD;

	if (t->flags & TASK_TEXT1_SENT ? t->flags & TASK_ABSOLUTE :
					 path_is_absolute(arg(args, d->path - 1)))
		return;
	if (dirfd != AT_FDCWD) {
		/* Named whatever its class: relative to /proc is a name like any other. */
		IO_NOTE_FILE(t, dirfd, true, 0);
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
 * Reads a string of the program and sends it ahead of the call's record, if there will be one. Returns
 * its length, -1 when it cannot be read, -2 when the ring is full: then the call goes to the tallies.
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
	rec->pid = t->who.pid;
	rec->tid = t->serial ? t->serial : (__u32)bpf_get_current_pid_tgid();
	rec->nr = t->nr;
	rec->base = slot == 2 ? t->name2 : 0;
	if (slot == 1 && rec->text[0] == '/')
		t->flags |= TASK_ABSOLUTE;
	if (t->flags & TASK_QUIET || !dft_emit_detail(rec, sizeof(*rec) + len))
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
ALWAYS_INLINE void note_text1(struct dft_task *t, const struct args *args,
			      const volatile struct dft_desc *d)
{
	bool empty_ok = empty_path_allowed(args, d);
	int len = send_text(t, arg(args, d->path - 1), 1, empty_ok);

	if (len >= 0)
		t->flags |= TASK_TEXT1_SENT;
	else if (len == -2)
		t->flags |= TASK_TEXT1_LOST;
	if (!len && empty_ok)
		t->call |= DFT_CALL_SELF;
}

ALWAYS_INLINE void note_text2(struct dft_task *t, const struct args *args,
			      const volatile struct dft_desc *d)
{
	int len = send_text(t, arg(args, d->path2 - 1), 2, 0);

	if (len >= 0)
		t->flags |= TASK_TEXT2_SENT;
	else if (len == -2)
		t->flags |= TASK_TEXT2_LOST;
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
	struct dft_sum sum = { .ts_ns = ts_ns, .dur_ns = dur_ns };
	struct dft_rec_call rec = {};
	struct dft_tally_key key;

	tally_key(&key, &t->who, DFT_TALLY_FILTERED, NR_CLOSE);
	if (is_dropped(NR_CLOSE, 0))
		key.cls = DFT_CLASS_ONLY;
	else if (class_is_filtered(cls_flags))
		key.cls = cls_flags;
	else if (dft_knob_verdicts && name && bpf_map_lookup_elem(&verdicts, &name))
		key.cls = DFT_CLASS_EXCLUDED;
	else if (is_too_short(dur_ns))
		key.cls = DFT_CLASS_MIN_DUR;
	if (!key.cls && dft_aggregate) {
		key.kind = DFT_TALLY_CHOSEN;
		key.id = name;
	}
	if (key.cls || key.id || dft_aggregate) {
		dft_tally(&key, &sum);
		return;
	}
	rec.type = DFT_REC_CALL;
	rec.nr = t->nr;
	rec.flags = DFT_CALL_VIA | (cls_flags >> 8) | (name ? 0 : DFT_CALL_NAMELESS);
	rec.cls = cls_flags;
	rec.ts_ns = ts_ns;
	rec.dur_ns = dur_ns;
	rec.pid = t->who.pid;
	rec.tid = (__u32)bpf_get_current_pid_tgid();
	rec.name = name;
	dft_flush(t);
	if (dft_emit_detail(&rec, sizeof(rec))) {
		key.kind = DFT_TALLY_SHED;
		key.id = name;
		dft_tally(&key, &sum);
	}
}

/* One descriptor of a close_range. */
static long close_step(__u32 index, void *ctx)
{
	struct closing *c = ctx;
	struct task_struct *task = bpf_get_current_task_btf();
	struct dft_task *t = c->t;
	struct file *file;
	__u32 fd = c->fd + index, flags;
	__u64 name = 0;

	if (fd < index || fd > c->last || fd >= BPF_CORE_READ(task, files, fdt, max_fds))
		return 1;
	file = file_of_fd(task, fd);
	if (!file)
		return 0;
	t->place.cls = class_of_inode(READ(file, f_inode));
	flags = dentry_is_deleted(READ(file, f_path.dentry)) ? DFT_CALL_DELETED : 0;
	if (!class_is_filtered(t->place.cls) && !place_file(&t->place, task, file))
		name = task_name(t, false);
	send_implied_close(t, c->ts_ns, 0, name, t->place.cls | flags << 8);
	return 0;
}

#define CLOSE_RANGE_MAX	     (1u << 20) /* descriptors a process may have on usual systems */
#define CLOSE_RANGE_MAX_LOOP 64

/*
 * close_range() with valid arguments closes whatever is open, so that its files are told here, while
 * they are still there.
 */
ALWAYS_INLINE int note_close_range(struct dft_task *t, __u64 first, __u64 last, __u64 flags)
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
	struct dft_sum sum = {};

	tally_key(&key, &t->who, DFT_TALLY_UNDECODED, nr);
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
	return dft_tally(&key, &sum);
}

/* Calls that are not decoded. True when nothing is left to do. */
ALWAYS_INLINE bool enter_uncommon(struct task_struct *task, struct dft_task *t,
				  const struct args *args, long nr)
{
	__u8 kind;

	if (task_is_compat(task)) {
		tally_one(&t->who, DFT_TALLY_COMPAT, nr);
		return true;
	}
	if (nr < 0)
		return true; /* the call was cancelled by a tracer or seccomp */
	if (nr >= DFT_NR_SYS) {
		tally_one(&t->who, DFT_TALLY_UNKNOWN, nr > 0xffff ? 0xffff : nr);
		return true;
	}
	kind = desc_of(nr)->kind;
	if (kind == DFT_KIND_DECODED)
		return false;
	if (kind == DFT_KIND_NOTIO)
		return !desc_of(nr)->special;
	if (kind == DFT_KIND_UNDECODED)
		count_undecoded(t, args, nr);
	else
		tally_one(&t->who, DFT_TALLY_UNKNOWN, nr);
	return true;
}

#define FICLONE	     0x40049409u
#define FICLONERANGE 0x4020940du

/* The line of the call: by its number, and for some by what their arguments ask for. */
ALWAYS_INLINE __u32 form_of_call(const volatile struct dft_desc *d, const struct args *args, __u32 nr)
{
	if (d->special != DFT_SPECIAL_FORM)
		return nr;
	switch ((__u32)arg(args, 1)) {
	case FICLONE:
		return DFT_NR_FORM + DFT_FORM_FICLONE;
	case FICLONERANGE:
		return DFT_NR_FORM + DFT_FORM_FICLONERANGE;
	}
	return nr;
}

/* The first file, and the first string if it must be read now. */
ALWAYS_INLINE void enter_first(struct task_struct *task, struct dft_task *t, const struct args *args,
			       const volatile struct dft_desc *d)
{
	if (d->fd) {
		IO_NOTE_FILE(t, arg(args, d->fd - 1), false, 0);
	} else if (d->vma) {
		note_mapping(t, arg(args, d->vma - 1));
	} else if (d->path) {
		if (d->early)
			note_text1(t, args, d);
		note_base(task, t, args, d);
	}
}

static __attribute__((noinline)) int enter_second(struct dft_task *t, const struct args *args, __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);
	struct task_struct *task = bpf_get_current_task_btf();

	if (d->fd2) {
		__u32 fd2 = arg(args, d->fd2 - 1);

		if (d->fd2_ptr && bpf_probe_read_user(&fd2, sizeof(fd2),
						      (const void *)arg(args, d->fd2 - 1))) {
			t->call |= DFT_CALL_FAULT2; /* or its page is not resident yet */
		} else if (!d->closes) {
			note_other(task, t, fd2);
			if (d->fd2_ptr)
				t->seen2 = 0; /* at the end the program may have changed it */
			/* Kept for the other side's sake: then this side is named, too. */
			if (!t->name && t->cls && !class_is_filtered(t->cls2))
				IO_NOTE_FILE(t, arg(args, d->fd - 1), true, 0);
		} else if (fd2 != (__u32)arg(args, d->fd - 1)) {
			note_other(task, t, fd2);
		}
	} else if (d->path2 && !d->raw2) {
		note_base2(task, t, args, d);
	}
	if (d->early && d->path2 && !(d->fd && class_is_filtered(t->cls)))
		note_text2(t, args, d);
	if (d->special == DFT_SPECIAL_CLOSE_RANGE)
		note_close_range(t, arg(args, 0), arg(args, 1), arg(args, 2));
	else if (d->special == DFT_SPECIAL_EXEC)
		t->pos = arg(args, 4); /* flags of execveat; exec clears the registers */
	return 0;
}

/* Tells calls of other threads that are under way that the descriptor has changed. */
ALWAYS_INLINE void note_closed(struct task_struct *task, struct dft_task *t, __u32 fd)
{
	__u32 key, *n;

	if (!fds_are_shared(task))
		return;
	key = fd_key(task, t, fd);
	n = bpf_map_lookup_elem(&fd_changes, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
}

/* The same for calls that close another descriptor. */
ALWAYS_INLINE void note_change(struct task_struct *task, struct dft_task *t,
			       const struct args *args, __u32 nr)
{
	const volatile struct dft_desc *d = desc_of(nr);

	if (d->closes)
		note_closed(task, t, arg(args, d->fd2 - 1));
}

#endif
