/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What the objects of the kernel side share: knobs, maps, state of a task, emitting, tallies. */
#ifndef DFT_CORE_BPF_H
#define DFT_CORE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "arch.bpf.h"

#define ALWAYS_INLINE static __attribute__((always_inline)) inline
#ifndef NULL
#define NULL ((void *)0)
#endif

/*
 * Keeps the compiler from proving that the check which follows is needless: the verifier does not
 * follow the proof and wants the check.
 */
#define bound(var) asm volatile("" : "+r"(var))

/* Kernel-internal results of an interrupted call, which is run again or turned into EINTR. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

#define EINTR 4

#define SIGNAL_GROUP_EXIT 0x4 /* include/linux/sched/signal.h; the same from 5.14 on */
#define SIGKILL		  9

ALWAYS_INLINE bool ret_is_restart(__s64 ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

/* Negative, and no failure. */
ALWAYS_INLINE bool ret_is_none(__s64 ret)
{
	return ret_is_restart(ret) || ret == DFT_RESULT_UNFINISHED || ret == DFT_RESULT_UNSEEN;
}

/* ---- knobs, set by user space before the programs are loaded ----------------------------- */

extern const volatile bool dft_knob_all;       /* -a: every process but the tracer */
extern const volatile bool dft_knob_follow;    /* children of traced processes too */
/* -a with conditions, all of which must hold (see select.bpf.h); each of the others has a value for none. */
extern const volatile bool dft_knob_select;
extern const volatile bool dft_knob_cgroup;    /* --cgroup: `selected` has it */
extern const volatile __u32 dft_knob_uid;      /* --uid; ~0 = any */
extern const volatile __u64 dft_knob_comm[2];  /* --comm, filled with 0 */
extern const volatile bool dft_knob_all_files; /* no class of files is filtered */
extern const volatile bool dft_knob_verdicts;  /* --include/--exclude are in force */
extern const volatile bool dft_knob_no_loop;   /* test hook: behave as without bpf_loop() */
extern const volatile __u32 dft_knob_self;     /* the tracer's tgid */
extern const volatile bool dft_knob_only;      /* --only: dft_descs[].drop is in force */
extern const volatile __u64 dft_knob_min_dur;  /* --min-dur, in ns; 0 = none */
extern const volatile __u64 dft_knob_flush;    /* ns after which a thread hands in what it gathered */
extern const volatile __u32 dft_knob_page_shift;
extern const volatile __u64 dft_knob_call_room; /* bytes of the ring that calls may fill */
extern const volatile struct dft_desc dft_descs[DFT_NR_MAX];

/*
 * Threads whose state could not be made when they were born: no memory, or the storage's lock was
 * held by a task that this CPU had interrupted. Their processes are in the target map, and while the
 * two numbers differ, each call of a thread without state looks there. User space runs the iterator,
 * and then sets the second to what the first was before.
 */
extern __u64 dft_unmarked, dft_unmarked_done;
extern bool dft_census; /* the iterator sends the records of marked threads again */
extern bool dft_aggregate; /* no records of calls from now on: tallies only */
/*
 * Set when a tally of a call has changed, and cleared by user space before it looks at them: while
 * nothing is shed, there is nothing to look at.
 */
extern bool dft_tallied;
/* Changed by user space when it has emptied the map of names: what tasks remember is void. */
extern __u32 dft_names_epoch;
extern bool dft_keep_names; /* gather_flush() puts the names of calls in flight back into the map */
/* EXIT records that found the ring full: user space looks who is gone. */
extern __u64 dft_exits_lost;
extern bool dft_requested; /* a request was submitted since tracing began */
extern __u32 dft_serial;   /* of requests */
extern __u32 dft_sweep;    /* what request_sweep is to do: enum dft_sweep */
/*
 * The tracer's own page, which it touches to see whether mappings are found in this kernel; and the inode
 * of its file as the fault there has found it.
 */
extern __u64 dft_fault_asked, dft_fault_answer;

/* ---- a traced thread ---------------------------------------------------------------------- */

enum task_flag {
	TASK_BEFORE_EXEC = 1 << 0,
	TASK_TEXT1_SENT = 1 << 1, /* by the entry of the call in flight, or by the exec hook in it */
	TASK_TEXT1_LOST = 1 << 2,
	TASK_TEXT2_SENT = 1 << 3,
	TASK_TEXT2_LOST = 1 << 4,
	TASK_QUIET = 1 << 5, /* there will be no record of the call: its texts are not sent */
	TASK_ABSOLUTE = 1 << 6, /* the first text of the call in flight begins with '/' */
};

/*
 * A place in the directory tree as one process sees it: addresses of kernel objects, and what
 * identifies the file.
 */
struct dft_place {
	__u64 mnt, dentry;           /* struct vfsmount, struct dentry */
	__u64 root_mnt, root_dentry; /* of the process */
	__u64 inode;
	__u64 ino;
	__u32 gen, dev;
	__u32 cls;
	__u32 iter; /* asked by the iterator, which has a scratch of its own */
	__u64 id;   /* of the name; 0 = too deep for dft_chain_id() */
};

/* Page faults of one kind in one file, which need not be told one by one. */
struct dft_fault_run {
	__u64 id;    /* of the file's name */
	__u64 first_ns, last_ns;
	__u64 bytes;
	__u32 n;     /* 0 = none */
	__u16 nr;
	__u8 cls;    /* of the file if its class is filtered, or 0 */
	__u8 deleted;
};

/*
 * Page faults of a thread in mapped files. The fault at hand is `last` from its begin on: that it came to
 * an end the kernel's own counters show later. Those before it are in `run` until one of another kind
 * comes, or the batch is handed in.
 */
struct dft_faults {
	/* The mapping it had its last fault in, as long as the process's memory map is the same. */
	__u64 start, end;
	__u64 base;   /* an address + this is the offset in the file */
	__u64 id;     /* of the name */
	__u32 epoch;  /* dft_names_epoch that it is of */
	__u32 seq;    /* of the memory map */
	__u32 page;   /* bytes */
	__u8 counts;  /* it is of a file, and not of a program's code */
	__u8 shared;
	__u8 cls;     /* as in the runs below */
	__u8 deleted;
	/* Behind `busy`, which the thread takes, or the iterator; neither waits. */
	__u32 busy;
	__u32 pad;
	__u64 flt;    /* faults of the thread when `last` began */
	__u64 offset; /* of `last` */
	struct dft_fault_run last, run;
};

#define KNOWN_NAMES 4

/*
 * task_storage of each traced thread: having one is being traced. Its memory dies with the thread,
 * so nothing that must survive is here: what was gathered is handed in by the exit hook.
 */
struct dft_task {
	__u64 ts_ns;    /* entry of the call in flight; 0 = none, or entered before we came */
	struct dft_who who; /* pid 0: being made just now */
	__u64 name;     /* file, or base of the first path */
	__u64 pos;      /* file position at entry */
	/*
	 * Addresses of struct file, to see at exit whether the descriptors still stand for them, and to
	 * read the file's position again.
	 */
	__u64 file;
	__u32 seen;     /* fd_seen() of the descriptor or cwd_sequence() at entry */
	__u32 key;      /* fd_key() of it */
	__u16 nr;
	__u16 call;     /* enum dft_call_flag known at entry */
	__u8 cls, cls2;
	__u8 flags;     /* enum task_flag */
	__u8 append;    /* O_APPEND */
	__u32 epoch;    /* dft_names_epoch that `known` is of */
	__u64 known[KNOWN_NAMES]; /* ids surely in the map of names, by some bits of them */
	__u32 seen2, key2;
	__u64 name2, file2;
	/*
	 * Bit 0: taken by who adds to the batch or takes it away, the thread itself or the iterator. When
	 * it is free, the rest is `handed`.
	 */
	__u32 busy;
	__u32 handed;    /* how often a batch was handed in */
	__u32 serial;    /* while the texts of a request are sent: its serial, else 0 */
	__u32 pad;
	__u64 ino, ino2; /* of pipes */
	/*
	 * Here rather than on the stack, as what is loaded from here is a number to the verifier and not
	 * a pointer, whatever was stored.
	 */
	struct dft_place place;
	struct dft_rec_batch batch;
	/* Of the batch. The last one is for a call that finds the batch being taken away. */
	struct dft_gathered calls[DFT_BATCH_MAX + 1];
	/* What calls on descriptors do not need stands behind what they do. */
	struct dft_faults faults;
	__u64 freed_ns;  /* when its last request to take a descriptor away was submitted */
	__u64 kept_ns;   /* the entry of the call of which `kept` are the arguments: see unfinished.bpf.c */
	__u64 kept[6];
};

/* ---- a request in flight --------------------------------------------------------------------- */

/* Of io_uring: by the kernel's own structure. Of AIO: by the program's iocb, and the process. */
struct dft_request_key {
	__u64 addr;
	__u64 start_ns;
	__u32 pid;
	__u32 pad;
};

enum request_flag {
	REQUEST_FIXED = 1 << 0,    /* `file` comes from the ring's table, not from the process's */
	REQUEST_FIXED2 = 1 << 1,
	REQUEST_SKIP = 1 << 2,     /* its end is not told when it is a success */
	REQUEST_SLOT = 1 << 3,     /* opens or closes a direct descriptor */
	REQUEST_OVERFLOW = 1 << 4, /* it has ended, and `ret` says how */
	REQUEST_REFUSED = 1 << 5,  /* looked at, and not begun with */
	REQUEST_UNREAD = 1 << 6,   /* openat2: its structure could not be read */
};

/* What its end needs; most of it as in struct dft_task. */
struct dft_request {
	struct dft_who who;
	__u64 ts_ns; /* submission */
	__u64 name, name2;
	__u64 file, file2;
	__u64 pos;
	__u64 ino, ino2;
	__u64 ring;      /* struct io_ring_ctx, or what io_setup() gave */
	__u64 dentry;    /* of the file that the kernel looks up: `file2` of two */
	__u64 args[6];
	__u32 tid, serial;
	__u16 nr;
	__u16 call;
	__u8 cls, cls2;
	__u8 append;
	__u8 flags;      /* enum request_flag */
	__s64 ret;       /* of those that have ended */
	__u64 dur_ns;
};

/* ---- maps ---------------------------------------------------------------------------------- */

/* A request being submitted, and one being ended: memory of a CPU, guarded as struct dft_scratch is. */
struct dft_submit {
	__u64 busy;
	struct dft_request_key key;
	struct dft_request req;
	__u64 raw[8]; /* the program's structure */
};
struct dft_ending {
	__u64 busy;
	struct dft_request req;
	__u64 rec[24]; /* union request_rec */
	struct dft_task t; /* what the functions for calls expect */
};
struct dft_request_scratch {
	struct dft_submit submit;
	struct dft_ending ending;
};

struct dft_scratch {
	__u64 busy; /* guards against a program that interrupts another on the same CPU */
	__u64 pad[7];
	char rec[128 + DFT_CMD_MAX];        /* a record being built */
	char path[DFT_PATH_MAX + 256 + 64]; /* a path, built from its end */
};

struct tasks_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dft_task);
};
struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
};
struct targets_map { /* processes asked for: pid -> enum dft_target_flag */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};
struct selected_map { /* the cgroup asked for; made only then */
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};
struct names_map { /* ids whose NAME record is in the ring */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, __u8);
};
struct verdicts_map { /* name ids that --include/--exclude leave out */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, __u8);
};
struct totals_map { /* tallies of processes */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct dft_tally_key);
	__type(value, struct dft_tally);
};
struct details_map { /* for each pipe or file: apart, for there may be very many */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct dft_tally_key);
	__type(value, struct dft_tally);
};
/*
 * How often a descriptor of a table that several threads share was closed or replaced, by a hash of
 * the table and the number. Two that share a counter can only make a call look less certain than it
 * is.
 */
#define FD_CHANGES 65536
struct fd_changes_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FD_CHANGES);
	__type(key, __u32);
	__type(value, __u32);
};
struct counters_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DFT_COUNTER_MAX);
	__type(key, __u32);
	__type(value, __u64);
};
struct images_map { /* executable files that user space has examined for probes */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct dft_image_key);
	__type(value, __u8);
};
struct executed_map { /* files that have been executed, or mapped to be executed; without their size */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct dft_image_key);
	__type(value, __u8);
};
struct declared_map { /* entities and types whose record is in the ring */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct dft_declared_key);
	__type(value, __u8);
};
struct scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dft_scratch);
};
struct iter_scratch_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dft_scratch);
};

struct requests_map { /* in flight */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct dft_request_key);
	__type(value, struct dft_request);
};
struct ending_map { /* processes that have ended, whose requests are to be swept */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct dft_who);
	__type(value, __u8);
};
struct request_scratch_map { /* the second one is the iterator's */
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct dft_request_scratch);
};

extern struct tasks_map tasks SEC(".maps");
extern struct ring_map ring SEC(".maps");
extern struct targets_map targets SEC(".maps");
extern struct selected_map selected SEC(".maps");
extern struct names_map names SEC(".maps");
extern struct verdicts_map verdicts SEC(".maps");
extern struct totals_map totals SEC(".maps");
extern struct details_map details SEC(".maps");
extern struct fd_changes_map fd_changes SEC(".maps");
extern struct counters_map counters SEC(".maps");
extern struct images_map images SEC(".maps");
extern struct executed_map executed SEC(".maps");
extern struct declared_map declared SEC(".maps");
extern struct scratch_map scratch SEC(".maps");
extern struct iter_scratch_map iter_scratch SEC(".maps");
extern struct requests_map requests SEC(".maps");
extern struct ending_map ending SEC(".maps");
extern struct request_scratch_map request_scratch SEC(".maps");

/*
 * Most threads of a machine are not traced: the pointer to what BPF programs keep for a task tells
 * that without a call.
 */
ALWAYS_INLINE struct dft_task *state_of(struct task_struct *task)
{
	return task->bpf_storage ? bpf_task_storage_get(&tasks, task, NULL, 0) : NULL;
}

/* ---- core.bpf.c ---------------------------------------------------------------------------- */

/*
 * dft_tally() and dft_name() are global functions, which the verifier checks once instead of at each
 * of their many calls: hence plain memory as arguments, and no __hidden.
 */

/* One call of a tally, or several. */
struct dft_sum {
	__u32 failed;
	__u32 more;   /* others of the same kind */
	__u64 bytes;  /* of all */
	__u64 ts_ns;  /* entry, CLOCK_MONOTONIC; 0: now */
	__u64 dur_ns;
};

/* Adds one call, or several, to a tally of the process. A full map is counted, never silent. */
int dft_tally(struct dft_tally_key *key, struct dft_sum *sum);
int dft_least(__u64 *at, __u64 value);
int dft_greatest(__u64 *at, __u64 value);
int dft_count(__u32 counter) __hidden;
/* Puts a record into the ring. 0, or -1 when it is full (the caller counts). */
int dft_emit(void *rec, __u64 size) __hidden;
/* The same for what user space should see at once. */
int dft_emit_urgent(void *rec, __u64 size) __hidden;
/*
 * The same for what is detail: it leaves an eighth of the ring to the records that all others refer to
 * (names, births, ends, declarations).
 */
int dft_emit_detail(void *rec, __u64 size) __hidden;
bool dft_ring_is_tight(void) __hidden;

/* Scratch of this CPU or of the iterator, or NULL (counted) when it is in use. */
struct dft_scratch *dft_scratch_get(__u32 iter) __hidden;

ALWAYS_INLINE void dft_scratch_put(struct dft_scratch *s)
{
	s->busy = 0;
}

ALWAYS_INLINE void tally_key(struct dft_tally_key *key, const struct dft_who *who, __u8 kind, __u16 nr)
{
	key->start_ns = who->start_ns;
	key->pid = who->pid;
	key->nr = nr;
	key->kind = kind;
	key->cls = 0;
	key->id = 0;
}

/* Counts something that is not a call: a lost record, an unreadable string. */
ALWAYS_INLINE void tally_one(const struct dft_who *who, __u8 kind, __u16 nr)
{
	struct dft_tally_key key;
	struct dft_sum sum = {};

	tally_key(&key, who, kind, nr);
	dft_tally(&key, &sum);
}

/* ---- gather.bpf.c --------------------------------------------------------------------------- */

/* For the thread itself. False: the iterator is taking the batch away. */
ALWAYS_INLINE bool take(struct dft_task *t)
{
	return !(__sync_lock_test_and_set(&t->busy, 1) & 1);
}

int dft_flush_batch(struct dft_task *t) __hidden;
/* The call in calls[DFT_BATCH_MAX], not gathered. */
int dft_send_single(struct dft_task *t) __hidden;
/* The batch, by whoever has set `busy`; it is empty afterwards. */
int dft_hand_in(struct dft_task *t, __u32 tid);

/*
 * Hands in what the current thread has gathered: before anything else of it that must stand behind
 * those calls.
 */
ALWAYS_INLINE void dft_flush(struct dft_task *t)
{
	if (t->batch.n)
		dft_flush_batch(t);
}

/* ---- image.bpf.c ---------------------------------------------------------------------------- */

/*
 * The process of `t` runs the code of a file from now on: sends an IMAGE record unless user space
 * has examined it. `file`: address of the struct file.
 */
int dft_image(struct dft_task *t, __u64 file);

/* ---- fault.bpf.c ---------------------------------------------------------------------------- */

/* A mapping of the current process. */
struct dft_mapping {
	__u64 start, end;
	__u64 file;   /* address of the struct file; 0: of none that a program could name */
	__u64 offset; /* in the file, of `start` */
	__u64 flags;  /* VM_* */
};

/* The one at an address. 0, or -1 when nothing is mapped there. */
int dft_mapping_at(struct dft_mapping *m, __u64 addr);
/* Adds what has come to an end of the thread's faults to the tallies. False: not now. */
int dft_faults_flush(struct task_struct *task, struct dft_task *t) __hidden;

/* ---- path.bpf.c ---------------------------------------------------------------------------- */

/*
 * The id of a place's name: over the file's identity and the hashes of all components up to the
 * process's root. It is computed anew at each call. Anything remembered about a dentry's address is
 * wrong as soon as the kernel uses the memory for another one, which no hook tells. 0 when the path
 * has more than CHAIN_MAX components: then dft_name() finds it.
 *
 * The same function twice, with the two ways of reading of file.bpf.h.
 */
__u64 dft_chain_id(struct dft_place *place);
__u64 dft_cast_chain_id(struct dft_place *place);

/*
 * The id of the name of `place`; sends its NAME record unless that is known to be in the ring. 0
 * when it could not be sent (ring full: counted for the process).
 */
__u64 dft_name(struct dft_who *who, struct dft_place *place);

ALWAYS_INLINE __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 29);
}

ALWAYS_INLINE __u64 chain_begin(const struct dft_place *place)
{
	return mix(mix(place->ino, place->gen), place->dev);
}

/* How the chain ended: the same components outside the root are another name. */
ALWAYS_INLINE __u64 chain_end(__u64 hash, __u32 flags)
{
	return mix(hash, flags) | 1; /* 0 is no id */
}

#endif
