/* SPDX-License-Identifier: MIT */
/*
 * The sums over a job, taken in one pass: records go in, nothing is kept of an event but its share in
 * the sums. Memory is bounded by distinct names and processes. A struct dft_job is independent of
 * any other, and belongs to one thread; dft_job_merge() adds up those of several.
 *
 * Whatever is kept must not depend on the order of the files, nor on which job took which of them: sums,
 * largest and smallest values, sets. Where two files contradict each other, the smaller name holds.
 */
#ifndef DFT_SUMMARY_H
#define DFT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "classes.h"
#include "facts.h"
#include "hist.h"
#include "jsonr.h"
#include "pass.h"
#include "process.h"
#include "record.h"
#include "source.h"
#include "tables.h"

struct dft_op {
	uint64_t name, cat; /* in job->strings */
	enum dft_dir dir;
	uint64_t calls, errors, restarted, bytes, time_ns, max_ns;
	uint64_t in_rows; /* of the calls: that have no events of their own */
	enum dft_class class;
	uint64_t nr, sorted; /* before the table was sorted; and where the one is that was here */
	struct dft_hist hist; /* of the times of events; rows are not in it */
};

/* Reads, or writes, of one file, each by one process: where they were, as seen from the one before. */
struct dft_pattern {
	uint64_t calls;       /* that did not fail, and are events */
	uint64_t located;     /* of these: whose offset is known */
	uint64_t first;       /* of these: before which this process had none on this file */
	uint64_t consecutive; /* begins where the one before ended */
	uint64_t forward;     /* begins behind that */
	uint64_t unaligned;   /* offset is no multiple of DFT_BLOCK */
};

#define DFT_BLOCK 4096
#define DFT_BINS  10 /* of sizes of access, as Darshan has them */

/* 0: reads, 1: writes. */
enum dft_way {
	DFT_WAY_READ = 0,
	DFT_WAY_WRITE,
	DFT_WAYS,
};

struct dft_access {
	struct dft_pattern way[DFT_WAYS];
};

/* How often each size was moved; see summary_access.c for what `level` does. */
struct dft_sizes {
	struct dft_index at;
	unsigned int level;
	uint64_t bins[DFT_BINS];
	uint64_t *last; /* count of last_size; NULL: none */
	uint64_t last_size;
};

struct dft_size {
	uint64_t size, calls;
	enum dft_way way;
};

/* Ranks, or as many of them as there is room for; the same however they come together. */
#define DFT_RANK_WORDS 2
struct dft_rank_set {
	uint64_t bits[DFT_RANK_WORDS]; /* ranks from 0 on ... */
	bool more;                     /* ... and there is one beyond */
};

struct dft_file {
	uint64_t hash;
	uint64_t name; /* in job->strings; 0: no FH record */
	uint64_t calls, errors, read, written, time_ns;
	uint64_t opens, meta_ns; /* opens that succeeded; part of time_ns */
	uint64_t procs;   /* that made a call on it */
	uint64_t faulted; /* bytes of pages, by page faults */
	uint64_t access;  /* index in job->access, from 1 on; 0: neither read nor written by events */
	struct dft_rank_set ranks;
	uint32_t named_in; /* the last file of the trace with an FH of it, see job->serial */
	bool procs_more;   /* there may be more processes than `procs` */
	bool mapped, code; /* mapped by a call; and to be executed: then faults do not tell all */
};

/* Files of one directory; filled by dft_job_sort(). */
struct dft_directory {
	uint64_t name; /* in job->strings; 0: names that are not in a tree, such as of sockets */
	uint64_t files, calls, errors, opens, read, written, time_ns, meta_ns;
	struct dft_access access;
};

enum dft_exit_kind {
	DFT_EXIT_UNKNOWN = 0, /* no end record, or one that does not tell */
	DFT_EXIT_CODE,
	DFT_EXIT_SIGNAL,
};

struct dft_proc {
	uint64_t pid;
	uint64_t file_nr; /* of the trace; with the pid it says which process this is */
	uint64_t program, command; /* in job->strings; 0: not known */
	uint64_t events, threads;
	uint64_t calls, read, written, data_ns, meta_ns; /* of input and output; with those in rows */
	uint64_t first_ns, last_ns; /* UINT64_MAX and 0 before any event */
	uint64_t rank;
	enum dft_exit_kind exit_kind;
	int64_t exit_val;
	bool has_rank;
	bool ended; /* there is an end record */
	bool gap;   /* there were times in which annotations may be missing */
};

/* Processes that ran one program last; filled by dft_job_sort(). */
struct dft_program {
	uint64_t name, command; /* in job->strings; the command line of the largest process of it */
	uint64_t procs, events, calls, read, written, data_ns, meta_ns;
};

/* Operations of one class; filled by dft_job_sort(). */
struct dft_class_sum {
	uint64_t calls, errors, bytes, time_ns;
};

/* One rank, or one process of a job without ranks; filled by dft_job_sort(). */
struct dft_part {
	uint64_t id; /* rank or pid */
	uint64_t bytes, time_ns;
};

/* How evenly the parts share something; filled by dft_job_sort(). */
struct dft_balance {
	const char *what;
	uint64_t min, max, max_id;
	double mean, stddev;
};

/* One of the longest calls. */
struct dft_slow {
	uint64_t dur_ns, ts_ns, pid, tid, bytes;
	uint64_t op; /* index in job->ops */
	uint64_t file, file_nr, id;
	bool has_file, has_bytes;
};

/* Failed calls of one operation for one reason. */
struct dft_failure {
	uint64_t op; /* index in job->ops */
	int64_t err; /* errno; 0: not told, as of rows */
	uint64_t calls;
};

/* A count by one or two names: lost calls, or filtered ones by class. */
struct dft_count {
	uint64_t group, name; /* in job->strings; group may be 0 */
	uint64_t n;
};

struct dft_vec {
	void *v;
	size_t n;
	size_t cap;
};

struct dft_entity {
	uint64_t id;
	uint64_t type; /* index in types, from 1 on; 0: only declared as being in use */
};

#define DFT_ROLES 6

struct dft_entity_type {
	uint64_t name; /* in job->strings */
	uint64_t entities;
	unsigned int role; /* from 1 on, so that 0 means: none was told */
};

/* Where annotations of one file may be missing (a gap), or are, for a reason. */
struct dft_gap {
	uint64_t path, reason; /* in job->strings; a gap has no reason */
	uint64_t gaps, procs, us;
};

/* What programs reported about themselves. */
struct dft_annot_sums {
	struct dft_vec names;     /* of struct dft_op: events by category and name */
	struct dft_vec entities;  /* of struct dft_entity, each once whatever declares it */
	struct dft_vec types;     /* of struct dft_entity_type */
	struct dft_vec relations; /* of struct dft_count; group is unused */
	struct dft_vec gaps;      /* of struct dft_gap */
	struct dft_vec unarmed;   /* of struct dft_gap */
	uint64_t events, args_lost, unreadable, inherited, unended;
	uint64_t gap_cnt, gap_procs, gap_us; /* over all files */
	uint64_t undeclared; /* entities only declared as being in use; see dft_job_sort() */

	struct dft_index name_at, entity_at, type_at, gap_at, gap_in;
};

#define DFT_OP_CACHE 64

struct dft_job {
	uint64_t slow_max;  /* so many of the longest calls are kept; to be set before the first file */
	uint64_t dir_depth; /* names of directories are cut behind so many parts; 0: they are not */
	struct dft_vec ops;      /* of struct dft_op */
	struct dft_vec pipes;    /* of struct dft_op */
	struct dft_vec files;    /* of struct dft_file */
	struct dft_vec access;   /* of struct dft_access */
	struct dft_vec procs;    /* of struct dft_proc */
	struct dft_vec slow;     /* of struct dft_slow, a heap: the first is the least of them */
	struct dft_vec failures; /* of struct dft_failure */
	struct dft_vec about;    /* of struct dft_count: what is said of the batch job, by key */
	struct dft_vec run_relations; /* of struct dft_count: of the runs of programs; no group */
	struct dft_vec lost;     /* of struct dft_count */
	struct dft_vec filtered; /* of struct dft_count */
	struct dft_vec missed;   /* of struct dft_count: calls that the tracer does not decode */
	struct dft_vec doubts;   /* of struct dft_count: what events do not tell, see summary_coverage.c */
	struct dft_vec hosts;    /* of struct dft_count; group is unused */
	struct dft_annot_sums annots;
	struct dft_sizes sizes[DFT_WAYS];
	struct dft_strings strings;
	uint64_t records, events, counters, others, runs;
	uint64_t first_ns, last_ns;
	uint64_t pipe_cnt; /* distinct pipes */
	uint64_t error_cnt;
	uint64_t shed_cnt, chosen_cnt; /* calls in rows: for want of room, and others but on pipes */
	bool faults_unseen; /* some of it was traced without page faults, or its end is missing */
	bool no_args; /* some of it was traced with --no-args: results, bytes and files unknown */

	/* By dft_job_sort(): */
	uint64_t lost_cnt, filtered_cnt, missed_cnt; /* sums of the vectors */
	struct dft_vec dirs;     /* of struct dft_directory */
	struct dft_vec programs; /* of struct dft_program */
	struct dft_vec parts;    /* of struct dft_part */
	struct dft_vec frequent; /* of struct dft_size */
	struct dft_vec by_time, by_bytes; /* of uint64_t: indices in procs, in those orders */
	struct dft_balance balance[2]; /* of bytes, and of time */
	struct dft_access total;
	struct dft_class_sum classes[DFT_CLASSES];
	uint64_t threads, ranks;
	uint64_t read, written, faulted, calls, data_ns, meta_ns, procs_ns;

	struct dft_index op_at, pipe_at, file_at, count_at, pipe_ids, program_at, failure_at;
	uint32_t op_cache[DFT_OP_CACHE]; /* index in ops, from 1 on */

	/* The file at hand. */
	struct dft_jsonr *json;
	struct dft_bytes raw;
	struct dft_strings texts; /* SH records of this file */
	struct dft_index text_at;
	struct dft_processes processes;
	struct dft_index proc_at;   /* number of a process -> index + 1 */
	struct dft_index tid_at;
	struct dft_vec uses;      /* of struct dft_use: what a process does with a file */
	struct dft_index use_at;
	uint64_t cur_use, cur_hash; /* index + 1 */
	size_t process, cur_nr;     /* numbers: of the record at hand, and of cur_proc */
	uint64_t cur_proc, cur_tid;
	uint64_t file_nr;
	uint32_t serial;          /* of the files that this job has taken, from 1 on */
	uint64_t unit_ns;         /* of ts and dur */
	bool ended;               /* an end record was seen */
	int err;
};

void dft_job_free(struct dft_job *job);
/* Before the lines of each file, and after them; `nr` is that of the file among all. 0 or -ENOMEM. */
void dft_job_begin_file(struct dft_job *job, uint64_t nr);
void dft_job_end_file(struct dft_job *job);
/* A record and the reader that it is from. 0 or -ENOMEM. */
int dft_job_record(struct dft_job *job, const struct dft_record *r, struct dft_jsonr *json);
/* Adds what `from` has; between files. 0, or -ENOMEM, and then `to` is not to be used. */
int dft_job_merge(struct dft_job *to, const struct dft_job *from);

struct dft_summary_opts {
	uint64_t top; /* rows of the long tables; 0: all */
	bool top_given; /* else the less important tables are shorter in text */
};

/* The most of the longest calls that can be asked for. */
#define DFT_SLOW_MAX 1000

/* Mapped files through whose memory nobody knows what went. */
uint64_t dft_files_unknown(const struct dft_job *job);

/* One line of what a trace does not tell. */
struct dft_coverage {
	const char *key;  /* in JSON */
	const char *one, *many; /* of what, in words */
	uint64_t n;
	const char *group; /* of the counts in job->doubts that say more, or NULL */
};

#define DFT_COVERAGE_MAX 12

/* Fills `lines` in with what there is to tell, and returns how many; after dft_job_sort(). */
size_t dft_coverage(const struct dft_job *job, struct dft_coverage lines[DFT_COVERAGE_MAX]);

/* 0 or -ENOMEM. */
int dft_summary_text(struct dft_job *job, const struct dft_read_stat *rs,
		     const struct dft_summary_opts *opts, FILE *f);
int dft_summary_json(struct dft_job *job, const struct dft_read_stat *rs,
		     const struct dft_summary_opts *opts, FILE *f);

/*
 * What is known about the bytes that went through the file as mapped memory: NULL when it was not mapped, else
 * "known", "unknown", or "code" for what is executed, whose faults are not counted.
 */
const char *dft_mapped_state(const struct dft_job *job, const struct dft_file *f);
/*
 * Adds up what is asked of the whole, and puts the tables into the order in which they are shown. The job
 * takes no more lines after it. 0 or -ENOMEM.
 */
int dft_job_sort(struct dft_job *job);

/*
 * Bytes a second, as Darshan estimates it: all that was read and written, by the time in calls of that rank,
 * or process where there are no ranks, which has most of it. 0: not known.
 */
double dft_job_bandwidth(const struct dft_job *job);

/* How many of the ranks that touched a file are known, and whether there are more. */
unsigned int dft_rank_count(const struct dft_rank_set *set);
/* What is at most in a bin of sizes, the last one has UINT64_MAX; "0-100", and a key for JSON. */
uint64_t dft_bin_max(unsigned int bin);
const char *dft_bin_name(unsigned int bin);
void dft_pattern_add(struct dft_pattern *to, const struct dft_pattern *from);

/* Whether some of the annotations are missing, or may be. */
bool dft_sums_lack(const struct dft_annot_sums *a);
/* Name of a role, of those of struct dft_entity_type; NULL for none. */
const char *dft_role_name(unsigned int role);

/* An array of `size`-byte elements, grown by one zeroed element; NULL when memory is short. */
void *dft_vec_add(struct dft_vec *v, size_t size);

#endif
