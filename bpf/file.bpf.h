/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Descriptors and files, read from the kernel's own tables. */
#ifndef DFT_FILE_BPF_H
#define DFT_FILE_BPF_H

#include "core.bpf.h"

/*
 * Two ways to read kernel objects, chosen when the object file is built. With DFT_CAST (kernel 6.2
 * and later) the verifier is told the type of an address and the fields are loaded directly;
 * otherwise each field costs a helper call. A call on a descriptor reads two dozen fields.
 */
#ifdef DFT_CAST
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;
#define AT_ADDR(type, addr)                                                                        \
	((struct type *)bpf_rdonly_cast((void *)(addr), bpf_core_type_id_kernel(struct type)))
/*
 * A pointer of a task, by an address that the verifier does not trust: for each pointer loaded by one
 * that it does, and each time it comes by, it searches all types of the kernel by name, in milliseconds.
 */
#define OF_TASK(task, a)	AT_ADDR(task_struct, task)->a
#define CHAIN_ID(place)		dft_cast_chain_id(place)
#define READ_1(src, a)		(src)->a
#define READ_2(src, a, b)	(src)->a->b
#define READ_N(_1, _2, n, ...)	READ_##n
#define READ_PICK(...)		READ_N(__VA_ARGS__, 2, 1)
#define READ(src, ...)		READ_PICK(__VA_ARGS__)(src, __VA_ARGS__)
/* A word of kernel memory: as any structure that begins with a pointer. */
#define READ_WORD(addr)		((__u64)AT_ADDR(path, addr)->mnt)
#else
#define AT_ADDR(type, addr) ((struct type *)(addr))
#define OF_TASK(task, a)	    (task)->a
#define CHAIN_ID(place)	    dft_chain_id(place)
#define READ(src, ...)	    BPF_CORE_READ(src, __VA_ARGS__)
#define READ_WORD(addr)	    read_word((const void *)(addr))
#endif

#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFLNK	 0120000
#define S_IFREG	 0100000
#define S_IFBLK	 0060000
#define S_IFDIR	 0040000
#define S_IFCHR	 0020000
#define S_IFIFO	 0010000

#define O_APPEND 02000
#define AT_FDCWD -100

#ifndef DFT_CAST
ALWAYS_INLINE __u64 read_word(const void *addr)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), addr);
	return word;
}
#endif

/* File systems whose files are not data (include/uapi/linux/magic.h, fs/xxx/). */
ALWAYS_INLINE bool magic_is_pseudo(__u32 magic)
{
	switch (magic) {
	case 0x00009fa0: /* proc */
	case 0x62656572: /* sysfs */
	case 0x0027e0eb: /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0xcafe4a11: /* bpf */
	case 0x6165676c: /* pstore */
	case 0xde5e81e4: /* efivarfs */
	case 0x62656570: /* configfs */
	case 0x65735543: /* fusectl */
	case 0xf97cff8c: /* selinuxfs */
	case 0x43415d53: /* smackfs */
	case 0x6e736673: /* nsfs */
	case 0x19800202: /* mqueue */
	case 0x42494e4d: /* binfmt_misc */
	case 0x67596969: /* rpc_pipefs */
	case 0x07655821: /* resctrl */
		return true;
	}
	return false;
}

#define ANON_INODE_MAGIC 0x09041934
#define PIDFS_MAGIC	 0x50494446

ALWAYS_INLINE __u8 class_of(__u16 mode, __u32 magic, dev_t rdev)
{
	__u32 major;

	/* First of all: since 6.16 anonymous inodes pretend to be regular files. */
	if (magic == ANON_INODE_MAGIC || magic == PIDFS_MAGIC)
		return DFT_CLASS_ANON;
	switch (mode & S_IFMT) {
	case S_IFREG:
		return magic_is_pseudo(magic) ? DFT_CLASS_PSEUDO : DFT_CLASS_FILE;
	case S_IFDIR:
		return magic_is_pseudo(magic) ? DFT_CLASS_PSEUDO : DFT_CLASS_DIR;
	case S_IFLNK:
		return magic_is_pseudo(magic) ? DFT_CLASS_PSEUDO : DFT_CLASS_LINK;
	case S_IFBLK:
		return DFT_CLASS_BLOCK;
	case S_IFSOCK:
		return DFT_CLASS_SOCKET;
	case S_IFIFO:
		return DFT_CLASS_PIPE;
	case S_IFCHR:
		major = rdev >> 20; /* 4 tty, 5 console, 136..143 pts */
		return major == 4 || major == 5 || (major >= 136 && major <= 143) ? DFT_CLASS_TTY :
										    DFT_CLASS_CHAR;
	}
	return DFT_CLASS_ANON;
}

/*
 * Of the class, unless its files are asked for. Directories of pseudo file systems can be the base
 * of a path and keep their names.
 */
ALWAYS_INLINE bool class_is_filtered(__u8 cls)
{
	return cls >= DFT_CLASS_SOCKET && !dft_knob_all_files;
}

/* Address of the struct file of a descriptor, or 0. */
ALWAYS_INLINE __u64 addr_of_fd(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = OF_TASK(task, files);
	struct fdtable *fdt;

	if (!files)
		return 0;
	fdt = files->fdt;
	if (!fdt || fd >= fdt->max_fds)
		return 0;
	/* The slot may change at any moment; whatever is read is a file that was there. */
	return READ_WORD(fdt->fd + fd);
}

ALWAYS_INLINE struct file *file_of_fd(struct task_struct *task, __u32 fd)
{
	__u64 addr = addr_of_fd(task, fd);

	return addr ? AT_ADDR(file, addr) : NULL;
}

ALWAYS_INLINE __u8 class_of_inode(struct inode *inode)
{
	return class_of(READ(inode, i_mode), READ(inode, i_sb, s_magic), READ(inode, i_rdev));
}

/* The name's id and, if it is new, its record. 0 if that could not be sent. */
ALWAYS_INLINE __u64 place_name(struct dft_who *who, struct dft_place *place)
{
	place->id = CHAIN_ID(place);
	return dft_name(who, place);
}

/* What place_file() and place_cwd() have in common. 0, or -1 for a task on its way out. */
ALWAYS_INLINE int place_fill(struct dft_place *place, struct task_struct *task, struct dentry *dentry,
			     struct inode *inode)
{
	struct fs_struct *fs = OF_TASK(task, fs);

	if (!fs)
		return -1;
	place->root_mnt = (__u64)READ(fs, root.mnt);
	place->root_dentry = (__u64)READ(fs, root.dentry);
	place->dentry = (__u64)dentry;
	place->inode = (__u64)inode;
	place->ino = READ(inode, i_ino);
	place->gen = READ(inode, i_generation);
	place->dev = READ(inode, i_sb, s_dev);
	place->iter = 0;
	return 0;
}

ALWAYS_INLINE int place_cwd(struct dft_place *place, struct task_struct *task)
{
	struct fs_struct *fs = OF_TASK(task, fs);
	struct dentry *dentry;

	if (!fs)
		return -1;
	dentry = READ(fs, pwd.dentry);
	place->mnt = (__u64)READ(fs, pwd.mnt);
	place->cls = class_of_inode(READ(dentry, d_inode));
	return place_fill(place, task, dentry, READ(dentry, d_inode));
}

/*
 * Counters that show changes by other threads. 0 is for what nobody shares, so that single threads
 * pay a comparison only; at the end of a call that began with another value they are read whoever
 * shares then.
 */
ALWAYS_INLINE __u32 cwd_sequence(struct task_struct *task, bool must)
{
	struct fs_struct *fs = OF_TASK(task, fs);
	__u32 sequence = 0;

	if (!fs || (!must && READ(fs, users) < 2))
		return 0;
	bpf_probe_read_kernel(&sequence, sizeof(sequence),
			      (char *)fs + bpf_core_field_offset(struct fs_struct, seq));
	return sequence + 1;
}

/* Where the changes of a descriptor are counted. */
ALWAYS_INLINE __u32 fd_key(struct task_struct *task, struct dft_task *t, __u32 fd)
{
	/* A number to the verifier, which lets no arithmetic be done on a pointer. */
	volatile __u64 *wash = &t->place.id;

	*wash = (__u64)OF_TASK(task, files);
	return (mix(*wash, fd) >> 16) & (FD_CHANGES - 1);
}

ALWAYS_INLINE bool fds_are_shared(struct task_struct *task)
{
	struct files_struct *files = OF_TASK(task, files);

	return files && READ(files, count.counter) > 1;
}

ALWAYS_INLINE __u32 fd_sequence(__u32 key)
{
	__u32 *n = bpf_map_lookup_elem(&fd_changes, &key);

	return n ? *n + 1 : 0;
}

/* At entry: 0 if nobody else can change the descriptor. */
ALWAYS_INLINE __u32 fd_seen(struct task_struct *task, struct dft_task *t, __u32 fd, __u32 *key)
{
	if (!fds_are_shared(task))
		return 0;
	*key = fd_key(task, t, fd);
	return fd_sequence(*key);
}

ALWAYS_INLINE int place_file(struct dft_place *place, struct task_struct *task, struct file *file)
{
	place->mnt = (__u64)READ(file, f_path.mnt);
	return place_fill(place, task, READ(file, f_path.dentry), READ(file, f_inode));
}

/* A name that unlink took away; files that never had one (pipes, memfd) do not count. */
ALWAYS_INLINE bool dentry_is_deleted(struct dentry *dentry)
{
	return !READ(dentry, d_hash.pprev) && READ(dentry, d_parent) != dentry;
}

#endif
