/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Records and map layouts shared by the kernel side and user space. Both run on one machine, so
 * byte order and padding agree; everything is naturally aligned and checked below. Enumerations
 * have explicit values and only grow at the end.
 *
 * The including side provides __u8 .. __u64 (vmlinux.h or <linux/types.h>).
 */
#ifndef DFT_ABI_H
#define DFT_ABI_H

#include "../include/dftracer/wire.h"

#define DFT_PATH_MAX 4096u      /* longest name kept, with its final NUL */
#define DFT_CMD_MAX  16384u     /* bytes of a command line kept */
#define DFT_COMM_LEN 16u
/*
 * Numbers of lines of the table: system calls have their own, and what else becomes an event, for it
 * reaches files without a call of its own, has numbers behind them.
 */
#define DFT_NR_SYS   512u       /* system call numbers described are below this */
#define DFT_NR_URING 512u       /* + opcode of an io_uring request */
#define DFT_NR_URING_MAX 128u
#define DFT_NR_AIO   640u       /* + opcode of a Linux AIO request */
#define DFT_NR_AIO_MAX 16u
#define DFT_NR_FORM  704u       /* calls that another argument turns into something else: + DFT_FORM_* */
#define DFT_NR_FAULT 736u       /* page faults in mapped files: + DFT_FAULT_* */
#define DFT_NR_MAX   1024u      /* all numbers are below this */
#define DFT_MAX_VALS 7u

/* ---- the table of system calls ---------------------------------------------------------- */

enum dft_kind {
	DFT_KIND_NONE = 0, /* no such system call when the table was written */
	DFT_KIND_DECODED = 1,
	DFT_KIND_UNDECODED = 2,
	DFT_KIND_NOTIO = 3,
};

enum dft_ret {
	DFT_RET_ZERO = 0,
	DFT_RET_FILE = 1,
	DFT_RET_BYTES = 2,
	DFT_RET_COUNT = 3,
	DFT_RET_NEWFD = 4,
	DFT_RET_OFFSET = 5,
	DFT_RET_ADDRESS = 6,
	DFT_RET_PID = 7,
};

enum dft_special {
	DFT_SPECIAL_NONE = 0,
	DFT_SPECIAL_CLOSE_RANGE = 1, /* a close event for each descriptor it closes */
	DFT_SPECIAL_MMAP = 2,        /* anonymous mappings are not events */
	DFT_SPECIAL_CLONE = 3,       /* threads are not events */
	DFT_SPECIAL_EXEC = 4,        /* on success the strings come from the exec hook */
	DFT_SPECIAL_CHDIR = 5,       /* changes the base it is relative to */
	/* No events themselves, but they begin and end requests of Linux AIO. */
	DFT_SPECIAL_AIO_SUBMIT = 6,
	DFT_SPECIAL_AIO_GETEVENTS = 7,
	DFT_SPECIAL_AIO_DESTROY = 8,
	DFT_SPECIAL_UNMAP = 9,       /* of anonymous memory it is not an event */
	DFT_SPECIAL_FORM = 10,       /* an argument may turn it into a line of DFT_NR_FORM */
};

/* Lines of DFT_NR_FORM and DFT_NR_FAULT. */
enum dft_form {
	DFT_FORM_FICLONE = 0,
	DFT_FORM_FICLONERANGE = 1,
};
enum dft_fault {
	DFT_FAULT_READ = 0,
	DFT_FAULT_WRITE = 1,
};

/* How AT_* flags turn the event's name. */
enum dft_alt {
	DFT_ALT_NONE = 0,
	DFT_ALT_STAT = 1,
	DFT_ALT_UNLINK = 2,
	DFT_ALT_CHMOD = 3,
	DFT_ALT_CHOWN = 4,
	DFT_ALT_SETXATTR = 5,
	DFT_ALT_GETXATTR = 6,
	DFT_ALT_LISTXATTR = 7,
	DFT_ALT_REMOVEXATTR = 8,
	DFT_ALT_FSYNC = 9,
};

/* Sources of values. The kernel side fills those below DFT_SRC_USER. */
enum dft_src {
	DFT_SRC_NONE = 0,
	DFT_SRC_A0 = 1,
	DFT_SRC_A1 = 2,
	DFT_SRC_A2 = 3,
	DFT_SRC_A3 = 4,
	DFT_SRC_A4 = 5,
	DFT_SRC_A5 = 6,
	DFT_SRC_POS = 8,
	DFT_SRC_POS_A3 = 9,
	DFT_SRC_NAME2 = 10,
	DFT_SRC_WPOS = 11,
	DFT_SRC_WPOS_A3 = 12,
	DFT_SRC_SLOT = 13,
	DFT_SRC_SET_A1 = 14,
	DFT_SRC_SET_A3 = 15,
	DFT_SRC_NOTED = 0x18,
	DFT_SRC_SIZE2 = 0x19,
	DFT_SRC_CREATED = 0x1a,
	DFT_SRC_INT = 0x20,     /* + argument */
	DFT_SRC_OFFSETP = 0x30, /* + argument */
	DFT_SRC_WORD = 0x40,    /* + argument * 8 + word */
	DFT_SRC_USER = 0x80,
	DFT_SRC_TEXT1 = 0x80,
	DFT_SRC_TEXT2 = 0x81,
	DFT_SRC_CMD = 0x82,
	DFT_SRC_RET = 0x83,
};
#define DFT_SRC_I(n)	(DFT_SRC_INT + (n))
#define DFT_SRC_OFFP(n) (DFT_SRC_OFFSETP + (n))
#define DFT_SRC_W(n, w) (DFT_SRC_WORD + (n) * 8 + (w))

/* One line of syscalls.def as both sides use it. Argument numbers are stored + 1; 0 means none. */
struct dft_desc {
	__u8 kind;    /* enum dft_kind */
	__u8 ret;     /* enum dft_ret */
	__u8 special; /* enum dft_special */
	__u8 alt;     /* enum dft_alt */
	__u8 fd, fd2;
	__u8 base, path;
	__u8 base2, path2;
	__u8 at_flags;
	__u8 closes; /* fd2 is closed by the call */
	__u8 raw2;   /* path2 is a plain string */
	__u8 early;
	__u8 empty_ok, null_ok, null_empty;
	__u8 src[DFT_MAX_VALS];
	/*
	 * --only: bit dft_desc_form() set: calls of this form are left out. Filled in by user space
	 * before the programs are loaded.
	 */
	__u8 drop;
	__u8 simple;  /* dft_desc_is_simple(), filled in with `drop` */
	__u8 vma;     /* an address: the file mapped there */
	__u8 fd2_ptr; /* fd2 is a pointer to the descriptor */
	__u8 pad[4];
};
_Static_assert(sizeof(struct dft_desc) == 32, "dft_desc is mapped by both sides");

#define DFT_DROP_ALL 0xf /* whatever its form */

/*
 * A call that does something to the descriptor that is its first argument, and no more; with no more
 * values than a batch keeps, none of which is behind a pointer. The most frequent ones are.
 */
static inline int dft_desc_is_simple(const struct dft_desc *d)
{
	if (d->kind != DFT_KIND_DECODED || d->fd != 1 || d->ret == DFT_RET_FILE)
		return 0;
	if (d->fd2 || d->special || d->base || d->path || d->base2 || d->path2 || d->early)
		return 0;
	for (unsigned int i = 0; i < DFT_MAX_VALS && d->src[i]; i++)
		if (i >= 3 || (d->src[i] > DFT_SRC_WPOS_A3 && d->src[i] < DFT_SRC_USER))
			return 0;
	return 1;
}

/* What else than the number the event's name depends on, as a number below 4. */
static inline __u32 dft_desc_form(int self, int flagged)
{
	return (self ? 1 : 0) | (flagged ? 2 : 0);
}

/* ---- records in the ring ---------------------------------------------------------------- */

enum dft_rec_type {
	DFT_REC_CALL = 1,
	DFT_REC_TEXT = 2,
	DFT_REC_NAME = 3,
	DFT_REC_PROC = 4, /* a process seen for the first time: at attach, or with -a */
	DFT_REC_FORK = 5, /* a process born of a traced one */
	DFT_REC_EXEC = 6,
	DFT_REC_EXIT = 7,
	/* Annotations: one for each probe of include/dftracer/wire.h, in the order of enum dft_probe. */
	DFT_REC_EVENT = 8,
	DFT_REC_PART = 9,
	DFT_REC_METADATA = 10,
	DFT_REC_ENTITY = 11,
	DFT_REC_ENTITY_TYPE = 12,
	DFT_REC_RELATION = 13,
	DFT_REC_IMAGE = 14, /* a process runs a file not examined for probes yet */
	DFT_REC_BATCH = 15, /* calls of one thread, gathered */
	DFT_REC_REQUEST = 16, /* of io_uring or Linux AIO: a call that its thread did not wait for */
	DFT_REC_COMM = 17,    /* the name of a thread */
	DFT_REC_ENV = 18,     /* a part of the environment of a new program */
};

/* The probes; as cookies of the links, this tells the kernel side which one was hit. */
enum dft_probe {
	DFT_PROBE_EVENT = 0,
	DFT_PROBE_PART = 1,
	DFT_PROBE_METADATA = 2,
	DFT_PROBE_ENTITY = 3,
	DFT_PROBE_ENTITY_TYPE = 4,
	DFT_PROBE_RELATION = 5,
	DFT_PROBE_MAX = 6,
};

/* What a descriptor stands for. Classes from DFT_CLASS_SOCKET on are filtered by default. */
enum dft_class {
	DFT_CLASS_NONE = 0,  /* no file: bad descriptor, or a call on a name */
	DFT_CLASS_FILE = 1,  /* regular file */
	DFT_CLASS_DIR = 2,
	DFT_CLASS_BLOCK = 3,
	DFT_CLASS_LINK = 4,  /* symbolic link (O_PATH) */
	DFT_CLASS_SOCKET = 5,
	DFT_CLASS_PIPE = 6,  /* pipes and FIFOs */
	DFT_CLASS_TTY = 7,
	DFT_CLASS_CHAR = 8,  /* other character devices */
	DFT_CLASS_ANON = 9,  /* eventfd, epoll, ... */
	DFT_CLASS_PSEUDO = 10, /* proc, sysfs, cgroup, ... */
	DFT_CLASS_EXCLUDED = 11, /* left out by --include/--exclude */
	/* Not classes of files: why else calls are left out. */
	DFT_CLASS_ONLY = 12,     /* not among those of --only */
	DFT_CLASS_MIN_DUR = 13,  /* shorter than --min-dur */
};

/* Instead of a result, `ret` of a call or request. No errno is so large. */
enum dft_result {
	DFT_RESULT_UNFINISHED = -600, /* the process was killed, or tracing ended, before it was over */
	DFT_RESULT_UNSEEN = -601,     /* over, by all appearance; nobody saw its result */
};

enum dft_call_flag {
	DFT_CALL_BASE = 1 << 0,     /* `name` is the base of TEXT1, not the file itself */
	DFT_CALL_TEXT1 = 1 << 1,    /* a TEXT record of this thread precedes */
	DFT_CALL_TEXT2 = 1 << 2,
	DFT_CALL_FAULT1 = 1 << 3,   /* TEXT1 could not be read from user memory */
	DFT_CALL_FAULT2 = 1 << 4,
	DFT_CALL_LOST1 = 1 << 5,    /* TEXT1 was read, and the ring was full */
	DFT_CALL_LOST2 = 1 << 6,
	DFT_CALL_SELF = 1 << 7,     /* call on names that worked on the descriptor itself (f-form) */
	DFT_CALL_DELETED = 1 << 8,  /* the file had no name any more */
	DFT_CALL_OFFSET_SHARED = 1 << 9,
	DFT_CALL_VIA = 1 << 10,     /* a descriptor closed by another call than close */
	DFT_CALL_NAMELESS = 1 << 11, /* a file was there, and its name could not be sent */
	DFT_CALL_DIRFD = 1 << 12,   /* base is a directory descriptor rather than cwd */
	DFT_CALL_REPLACED = 1 << 13, /* a descriptor or cwd stood for something else at the end */
	DFT_CALL_OTHER_NAMELESS = 1 << 14,
	DFT_CALL_OTHER_DELETED = 1 << 15,
};

struct dft_rec_call {
	__u8 type;
	__u8 nvals;   /* number of `val`, up to the last one present */
	__u16 nr;
	__u16 flags;  /* enum dft_call_flag */
	__u8 present; /* bit i: val[i], the i-th value of the table's line, is there */
	__u8 cls;     /* enum dft_class of the file */
	__u64 ts_ns;  /* CLOCK_MONOTONIC at entry */
	__u64 dur_ns;
	__u32 pid, tid; /* in the initial pid namespace */
	__s64 ret;
	__u64 name;   /* id of a NAME record, 0 = none */
	__u64 val[];
};
_Static_assert(sizeof(struct dft_rec_call) == 48, "a read with two values is 64 bytes");

/*
 * A request that has ended, as the call that it stands for: by the thread that submitted it, from its
 * submission on.
 */
struct dft_rec_request {
	__u8 type;
	__u8 texts_only; /* it is in the tallies: its texts, which have been sent, are not needed */
	__u8 pad[2];
	__u32 serial;    /* `tid` of its TEXT records */
	__u64 start_ns;  /* of the process */
	struct dft_rec_call call; /* and its values */
};
_Static_assert(sizeof(struct dft_rec_request) == 64, "dft_rec_request");
#define DFT_SERIAL_BIT 0x80000000u /* in all serials, and in no thread's id */

/*
 * Calls of one thread in the order of their ends, none of which has a text or more than three values:
 * the others come as CALL records of their own, behind the batch that was begun before them.
 */
#define DFT_BATCH_MAX  16u
#define DFT_BATCH_VALS 3u

struct dft_gathered {
	__u16 nr;
	__u16 flags;  /* enum dft_call_flag */
	__u8 nvals;   /* this, and those behind it, as in dft_rec_call */
	__u8 present;
	__u8 cls;
	__u8 pad;
	__u64 ts_ns;
	__u64 dur_ns;
	__s64 ret;
	__u64 name;
	__u64 val[DFT_BATCH_VALS];
};
_Static_assert(sizeof(struct dft_gathered) == 64, "a cache line");

struct dft_rec_batch {
	__u8 type;
	__u8 n;
	__u8 pad[2];
	__u32 pid, tid;
	__u32 pad2;
	__u64 start_ns; /* of the process */
	__u64 pad3;
	/* struct dft_gathered of each follow. A record that is longer has been made with room for all. */
};
_Static_assert(sizeof(struct dft_rec_batch) == 32, "dft_rec_batch");

/*
 * A string the program passed. Belongs to the next CALL record of the same thread; a BATCH of what the
 * thread did before may come in between. Of a request: it is sent at its submission, and `tid` is the
 * request's serial.
 */
struct dft_rec_text {
	__u8 type;
	__u8 slot;  /* 1 or 2 */
	__u16 len;  /* bytes of text, without NUL; DFT_PATH_MAX: it was longer than a path can be */
	__u32 pid;
	__u32 tid;
	__u32 nr;   /* the call it belongs to */
	__u64 base; /* for slot 2: the base's name id (slot 1: see the call), 0 = none */
	char text[];
};

enum dft_name_flag {
	DFT_NAME_TRUNCATED = 1 << 0,   /* longer than DFT_PATH_MAX: `path` is its end */
	DFT_NAME_UNREACHABLE = 1 << 1, /* outside the process's root: path from the mount's top */
	DFT_NAME_FLOATING = 1 << 2,    /* not in the directory tree: memfd, pipe, socket, ... */
};

struct dft_rec_name {
	__u8 type;
	__u8 cls;
	__u16 len;
	__u32 flags; /* enum dft_name_flag */
	__u64 id;
	__u64 ino;
	__u32 dev;   /* kernel encoding: major << 20 | minor */
	__u32 gen;   /* inode generation */
	__u32 mode;
	__u32 magic; /* of the file system */
	char path[];
};
_Static_assert(sizeof(struct dft_rec_name) == 40, "dft_rec_name");

/* Where and as whom a process runs. Ids of users are those of the initial user namespace. */
struct dft_scene {
	__u64 cgroup;  /* id in the cgroup2 hierarchy; 0 = not known */
	__u32 mnt_ns;  /* inode numbers, as /proc/PID/ns shows them; 0 = nothing here is known */
	__u32 pid_ns, user_ns;
	__u32 ns_pid;  /* its pid in its own pid namespace */
	__u32 uid, euid;
};
_Static_assert(sizeof(struct dft_scene) == 32, "dft_scene");

/* PROC and FORK. */
struct dft_rec_proc {
	__u8 type;
	__u8 pad[3];
	__u32 pid;
	__u32 ppid;
	__u32 maker;    /* FORK: the process that called fork, which CLONE_PARENT tells from ppid */
	__u64 ts_ns;
	__u64 start_ns; /* CLOCK_BOOTTIME of birth: pid and this identify a process */
	__u64 cwd;      /* name id */
	struct dft_scene scene;
	char comm[DFT_COMM_LEN];
};

/*
 * A new program. The file name as the program that called exec gave it is in the TEXT record before,
 * and before that, of a script, its interpreter in one of slot 2; the CALL record of execve follows.
 */
struct dft_rec_exec {
	__u8 type;
	__u8 pad[3];
	__u32 pid;
	__u32 old_tid;   /* the thread that called exec; it is now `pid` */
	__u32 cmd_len;   /* bytes of `cmd`; 0 although full_len is not: it could not be read */
	__u64 ts_ns;
	__u64 start_ns;  /* of the process, and its parent: for one not known yet */
	__u32 ppid;
	__u32 pad2;
	__u64 cwd;       /* name id */
	__u64 image;     /* name id of the file that runs now: of a script, what runs it */
	__u64 full_len;  /* of the whole command line, in bytes, with the NUL behind each argument */
	struct dft_scene scene;
	char comm[DFT_COMM_LEN];
	char cmd[];
};

/* A thread has a name of its own: other than the process's, or a new one. */
struct dft_rec_comm {
	__u8 type;
	__u8 pad[3];
	__u32 pid, tid;
	__u32 pad2;
	__u64 ts_ns;
	__u64 start_ns; /* of the process */
	char comm[DFT_COMM_LEN];
};

/*
 * A part of the environment of a new program, behind its EXEC record: strings with a NUL behind each.
 * The parts come in order; what is beyond DFT_ENV_MAX does not.
 */
#define DFT_ENV_CHUNK 16384u
#define DFT_ENV_MAX   131072u

struct dft_rec_env {
	__u8 type;
	__u8 pad[3];
	__u32 pid;
	__u64 start_ns;
	__u32 offset;   /* of this part */
	__u32 len;      /* bytes of `text` */
	__u64 full_len; /* of the whole environment */
	char text[];
};
_Static_assert(sizeof(struct dft_rec_env) == 32, "dft_rec_env");

struct dft_rec_exit {
	__u8 type;
	__u8 pad[3];
	__u32 pid;
	__u32 tid;
	__u32 status;   /* as wait(2) gives it */
	__u64 ts_ns;
	__u64 start_ns;
	/*
	 * Threads that the kernel has not let go of yet, this one included. If there are others, they may
	 * be about to hand in their last batch, and it may come behind this record.
	 */
	__u32 threads;
	__u32 pad2;
};

enum dft_annot_flag {
	DFT_ANNOT_FAULT_NAME = 1 << 0, /* could not be read from the program's memory */
	DFT_ANNOT_FAULT_TEXT = 1 << 1,
	DFT_ANNOT_FAULT_DATA = 1 << 2,
	DFT_ANNOT_INHERITED = 1 << 3,  /* an event that began before the process was born */
};

/*
 * A hit of a probe: its operands (see include/dftracer/wire.h), and what the pointers among them
 * point to. Built in the ring, since these programs can be preempted: hence the fixed size.
 */
struct dft_rec_annot {
	__u8 type;
	__u8 flags;     /* enum dft_annot_flag */
	__u16 name_len; /* without NUL */
	__u16 text_len;
	__u16 chunk_len;
	__u32 pid, tid;
	__u64 ts_ns;    /* CLOCK_MONOTONIC of the hit */
	__u64 value;
	__u64 code;
	__u64 data;
	char name[DFT_NAME_SENT];
	char text[DFT_TEXT_SENT];
	char chunk[DFT_CHUNK_MAX]; /* not there in the records of the last three probes */
};
_Static_assert(sizeof(struct dft_rec_annot) == 48 + 128 + 256 + 448, "dft_rec_annot");
#define DFT_ANNOT_SHORT (sizeof(struct dft_rec_annot) - DFT_CHUNK_MAX)

/* What tells one content of an executable file from another. */
struct dft_image_key {
	__u64 ino;
	__u64 size;
	__u32 dev; /* kernel encoding: major << 20 | minor */
	__u32 gen;
};

/* A file was executed, or mapped to be executed, and is not in the map of examined ones. */
struct dft_rec_image {
	__u8 type;
	__u8 pad[3];
	__u32 pid;
	__u64 ts_ns; /* of the exec or mapping */
	__u64 name;  /* name id */
	struct dft_image_key key;
};
_Static_assert(sizeof(struct dft_rec_image) == 48, "dft_rec_image");

/* The map of declared entities and types: those whose record is in the ring. */
struct dft_declared_key {
	__u64 start_ns; /* of the process */
	__u64 id;       /* of the entity; hash of the type */
	__u32 pid;
	__u32 probe;    /* enum dft_probe */
};

/* ---- tallies: what is not in the ring is here, per process ------------------------------- */

enum dft_tally_kind {
	DFT_TALLY_SHED = 1,      /* nr = call; the ring had no room for its record */
	DFT_TALLY_FILTERED = 2,  /* nr = call; cls says why */
	DFT_TALLY_UNDECODED = 3, /* nr = call */
	DFT_TALLY_UNKNOWN = 4,   /* a number that the table does not have; nr = number or 0xffff */
	DFT_TALLY_COMPAT = 5,    /* 32-bit calls; nr = their number */
	DFT_TALLY_RECORD = 6,    /* nr = enum dft_rec_type of a record that found the ring full */
	DFT_TALLY_CHOSEN = 7,    /* nr = call; aggregated because that was asked for */
};

/* Set in a tally's nr: what the event's name depends on besides the number. */
#define DFT_TALLY_SELF	  0x8000u /* the call was on the descriptor itself (DFT_CALL_SELF) */
#define DFT_TALLY_FLAGGED 0x4000u /* its AT_* flags have the bit of dft_alt_flag() */
#define DFT_TALLY_NR	  0x3fffu

/* The flag that turns the event's name: AT_REMOVEDIR, IORING_FSYNC_DATASYNC or AT_SYMLINK_NOFOLLOW. */
static inline __u32 dft_alt_flag(__u8 alt)
{
	return alt == DFT_ALT_UNLINK ? 0x200 : alt == DFT_ALT_FSYNC ? 1 : 0x100;
}

/*
 * One of `id` 0 is in the map of totals, others are in the map of details, and a full one of details
 * falls back to that of totals.
 */
struct dft_tally_key {
	__u64 start_ns;
	__u32 pid;
	__u16 nr;
	__u8 kind; /* enum dft_tally_kind */
	__u8 cls;
	__u64 id;  /* FILTERED: inode number of a pipe; SHED, CHOSEN: name id of the file; or 0 */
};

/*
 * Grows only; the entry is deleted when its process has gone. Times are CLOCK_MONOTONIC; least, greatest
 * and last ones are of calls (SHED, CHOSEN) only.
 */
struct dft_tally {
	__u64 calls, errors, bytes, dur_ns;
	__u64 min_ns, max_ns;     /* durations; min_ns is ~0 until the first call is in */
	__u64 first_ns, last_ns;  /* entry of the first call, end of the last one */
};

/* Tallies that found no room are counted here, per CPU. */
enum dft_counter {
	DFT_COUNTER_TALLY_FULL = 0,
	DFT_COUNTER_SCRATCH_BUSY = 1,
	DFT_COUNTER_MAX = 2,
};

/* ---- maps written by user space ---------------------------------------------------------- */

enum dft_target_flag {
	DFT_TARGET_TRACE = 1 << 0,
	DFT_TARGET_BEFORE_EXEC = 1 << 1, /* our own child: silent until its exec */
};

/* Identifies a process. */
struct dft_who {
	__u64 start_ns; /* CLOCK_BOOTTIME of birth */
	__u32 pid;
	__u32 pad;
};

/* What the iterator over requests in flight is to do. */
enum dft_sweep {
	DFT_SWEEP_NAMES = 0,  /* back into the map with the names that requests refer to */
	DFT_SWEEP_ENDING = 1, /* an end for the requests of the processes in the map `ending` */
	DFT_SWEEP_ALL = 2,
};

#endif
