/* SPDX-License-Identifier: MIT */
/*
 * The sums over a job, taken in one pass: lines go in, nothing is kept of an event but its share in
 * the sums. Memory is bounded by distinct names and processes. A struct dft_job is independent of
 * any other, and belongs to one thread.
 */
#ifndef DFT_SUMMARY_H
#define DFT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "facts.h"
#include "jsonr.h"
#include "pass.h"
#include "record.h"
#include "source.h"
#include "tables.h"

struct dft_op {
	uint64_t name, cat; /* in job->strings */
	enum dft_dir dir;
	uint64_t calls, errors, restarted, bytes, time_ns, max_ns;
	uint64_t in_rows; /* of the calls: that have no events of their own */
};

struct dft_file {
	uint64_t hash;
	uint64_t name; /* in job->strings; 0: no FH record */
	uint64_t calls, errors, read, written, time_ns;
	uint64_t faulted; /* bytes of pages, by page faults */
	bool mapped, code; /* mapped by a call; and to be executed: then faults do not tell all */
};

enum dft_exit_kind {
	DFT_EXIT_UNKNOWN = 0, /* no end record, or one that does not tell */
	DFT_EXIT_CODE,
	DFT_EXIT_SIGNAL,
};

struct dft_proc {
	uint64_t pid;
	uint64_t program; /* in job->strings; 0: not known */
	uint64_t events;
	uint64_t first_ns, last_ns; /* UINT64_MAX and 0 before any event */
	enum dft_exit_kind exit_kind;
	int64_t exit_val;
	bool ended; /* there is an end record */
	bool gap;   /* there were times in which annotations may be missing */
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

struct dft_job {
	struct dft_vec ops;      /* of struct dft_op */
	struct dft_vec pipes;    /* of struct dft_op */
	struct dft_vec files;    /* of struct dft_file */
	struct dft_vec procs;    /* of struct dft_proc */
	struct dft_vec lost;     /* of struct dft_count */
	struct dft_vec filtered; /* of struct dft_count */
	struct dft_vec missed;   /* of struct dft_count: calls that the tracer does not decode */
	struct dft_vec doubts;   /* of struct dft_count: what events do not tell, see summary_coverage.c */
	struct dft_vec hosts;    /* of struct dft_count; group is unused */
	struct dft_annot_sums annots;
	struct dft_strings strings;
	uint64_t records, events, counters, others;
	uint64_t first_ns, last_ns;
	uint64_t pipe_cnt; /* distinct pipes */
	uint64_t error_cnt;
	uint64_t shed_cnt, chosen_cnt; /* calls in rows: for want of room, and others but on pipes */
	bool faults_unseen; /* some of it was traced without page faults, or its end is missing */
	bool no_args; /* some of it was traced with --no-args: results, bytes and files unknown */
	uint64_t lost_cnt, filtered_cnt, missed_cnt; /* sums of the vectors; see dft_job_sort() */

	struct dft_index op_at, pipe_at, file_at, count_at, pipe_ids, programs;

	/* The file at hand. */
	struct dft_jsonr json;
	struct dft_bytes raw;
	struct dft_strings texts; /* SH records of this file */
	struct dft_index text_at;
	struct dft_index proc_at;   /* pid -> index + 1 */
	uint64_t cur_pid, cur_proc;
	uint64_t unit_ns;         /* of ts and dur */
	bool ended;               /* an end record was seen */
	int err;
};

void dft_job_free(struct dft_job *job);
/* Before the lines of each file. */
void dft_job_begin_file(struct dft_job *job);
/* As dft_record_parse(), after which job->json tells about the error. */
int dft_job_line(struct dft_job *job, const struct dft_line *line);

struct dft_summary_opts {
	uint64_t top; /* rows of the long tables; 0: all */
};

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
/* Puts the tables into the order in which they are shown. The job takes no more lines after it. */
void dft_job_sort(struct dft_job *job);

/* Whether some of the annotations are missing, or may be. */
bool dft_sums_lack(const struct dft_annot_sums *a);
/* Name of a role, of those of struct dft_entity_type; NULL for none. */
const char *dft_role_name(unsigned int role);

/* An array of `size`-byte elements, grown by one zeroed element; NULL when memory is short. */
void *dft_vec_add(struct dft_vec *v, size_t size);

#endif
