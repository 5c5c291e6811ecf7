/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The kernel types and fields that bpf/ uses, and no others, written by hand. CO-RE relocates every
 * access, so that order, padding and the fields left out do not matter; building needs no running
 * kernel. README.md in this directory says which kernels it was checked against.
 */
#ifndef DFT_VMLINUX_COMMON_H
#define DFT_VMLINUX_COMMON_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int bool_int;
typedef _Bool bool;
typedef long long loff_t;
typedef int pid_t;
typedef __u16 umode_t;
typedef __u32 fmode_t;
typedef __u32 dev_t;

enum { false = 0, true = 1 };

/* Map types and flags are ABI; the values are in include/uapi/linux/bpf.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Present from the kernel that has the function on, of bpf_loop() 5.17; asked for by CO-RE. */
enum bpf_func_id {
	BPF_FUNC_task_pt_regs = 175, /* 5.15 */
	BPF_FUNC_loop = 181,
};

typedef struct {
	int counter;
} atomic_t;

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

struct qstr {
	union {
		struct {
			u32 hash;
			u32 len;
		};
		u64 hash_len;
	};
	const unsigned char *name;
};

struct super_block {
	dev_t s_dev;
	unsigned long s_magic;
};

struct inode {
	umode_t i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	dev_t i_rdev;
	loff_t i_size;
	u8 i_blkbits;
	u32 i_generation;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	fmode_t f_mode;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
	loff_t f_pos;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
};

/* A seqcount_spinlock_t in older kernels; the sequence comes first in both. */
typedef struct {
} seqlock_t;

struct fs_struct {
	int users;
	seqlock_t seq;
	struct path root;
	struct path pwd;
};

/* An int in kernels before 6.14: struct mm_struct___int. */
typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;

/* Mappings are in a maple tree since 6.1; which kinds of nodes there are is told by the enumeration. */
struct maple_tree {
	void *ma_root;
};

enum maple_type {
	maple_range_64 = 2,
	maple_arange_64 = 3,
};

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct maple_tree mm_mt;
	seqcount_t mm_lock_seq;
};

struct mm_struct___int {
	int mm_lock_seq;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct bpf_raw_tracepoint_args {
	u64 args[0];
};

struct bpf_perf_event_data {
	u64 sample_period;
};

struct bpf_local_storage;

struct signal_struct {
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	unsigned int flags;
};

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct timens_offsets {
	struct timespec64 monotonic;
};

struct time_namespace {
	struct timens_offsets offsets;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct user_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
	struct time_namespace *time_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* One of `numbers` for each level of nesting, up to its own. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
	struct user_namespace *user_ns;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags; /* PF_* */
	struct mm_struct *mm;
	int exit_code;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	u64 start_time; /* CLOCK_MONOTONIC */
	u64 start_boottime;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	unsigned long min_flt, maj_flt;
	int pagefault_disabled;
	struct sigpending pending;
	struct pid *thread_pid;
	struct cred *real_cred;
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage;
};

/* io_uring. The entries of the submission queue are shared with programs, so their layout is ABI. */
struct io_uring_sqe;

struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
	__u32 flags;
};

struct io_rsrc_node {
	unsigned long file_ptr;
};

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};

struct io_file_table {
	struct io_rsrc_data data;
};

/* Before 6.13. */
struct io_fixed_file {
	unsigned long file_ptr;
};

struct io_file_table___files {
	struct io_fixed_file *files;
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work_list {
	struct io_wq_work_node *first;
};

struct io_submit_state {
	struct io_wq_work_list compl_reqs;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_submit_state submit_state;
	u32 *sq_array;
	struct io_uring_sqe *sq_sqes;
	unsigned int cached_sq_head;
	unsigned int sq_entries;
	struct io_file_table file_table;
};

struct io_ring_ctx___files {
	struct io_file_table___files file_table;
	unsigned int nr_user_files;
};

struct io_cqe {
	__u64 user_data;
	__s32 res;
};

struct kiocb {
	loff_t ki_pos;
};

struct io_kiocb {
	struct file *file;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_wq_work_node comp_list;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
	const char *interp; /* the same pointer, unless it is a script */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_map;

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

#pragma clang attribute pop

#endif
