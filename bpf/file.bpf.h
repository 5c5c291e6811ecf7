/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Descriptors and files, read from the kernel's own tables. */
#ifndef DFT_FILE_BPF_H
#define DFT_FILE_BPF_H

#include "core.bpf.h"

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

ALWAYS_INLINE struct file *file_of_fd(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = task->files;
	struct file *file = NULL;
	struct fdtable *fdt;

	if (!files)
		return NULL;
	fdt = files->fdt;
	if (!fdt || fd >= fdt->max_fds)
		return NULL;
	/* The slot may change at any moment; whatever is read is a file that was there. */
	bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

ALWAYS_INLINE __u8 class_of_inode(struct inode *inode)
{
	return class_of(BPF_CORE_READ(inode, i_mode), BPF_CORE_READ(inode, i_sb, s_magic),
			BPF_CORE_READ(inode, i_rdev));
}

/*
 * Root of the process's view; 0, or -1 for a task that is on its way out. Read through a helper and
 * not directly: the verifier lets no arithmetic be done on what it knows to be a pointer.
 */
ALWAYS_INLINE int place_root(struct dft_place *place, struct task_struct *task)
{
	struct fs_struct *fs = task->fs;
	struct path path;

	if (!fs)
		return -1;
	BPF_CORE_READ_INTO(&path, fs, root);
	place->root_mnt = (__u64)path.mnt;
	place->root_dentry = (__u64)path.dentry;
	return 0;
}

ALWAYS_INLINE int place_cwd(struct dft_place *place, struct task_struct *task)
{
	struct fs_struct *fs = task->fs;
	struct path path;

	if (place_root(place, task) || !fs)
		return -1;
	BPF_CORE_READ_INTO(&path, fs, pwd);
	place->mnt = (__u64)path.mnt;
	place->dentry = (__u64)path.dentry;
	place->inode = (__u64)BPF_CORE_READ(path.dentry, d_inode);
	place->cls = DFT_CLASS_DIR;
	place->pad = 0;
	return 0;
}

ALWAYS_INLINE int place_file(struct dft_place *place, struct task_struct *task, struct file *file)
{
	struct path path;

	if (place_root(place, task))
		return -1;
	BPF_CORE_READ_INTO(&path, file, f_path);
	place->mnt = (__u64)path.mnt;
	place->dentry = (__u64)path.dentry;
	place->inode = (__u64)BPF_CORE_READ(file, f_inode);
	place->cls = class_of_inode((struct inode *)place->inode);
	place->pad = 0;
	return 0;
}

ALWAYS_INLINE __u64 place_ino(const struct dft_place *place)
{
	struct inode *inode = (struct inode *)place->inode;

	return BPF_CORE_READ(inode, i_ino);
}

/* A name that unlink took away; files that never had one (pipes, memfd) do not count. */
ALWAYS_INLINE bool dentry_is_deleted(__u64 dentry)
{
	struct dentry *d = (struct dentry *)dentry;

	return !BPF_CORE_READ(d, d_hash.pprev) && (__u64)BPF_CORE_READ(d, d_parent) != dentry;
}

#endif
