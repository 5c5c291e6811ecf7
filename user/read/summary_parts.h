/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the summary share: summary.c takes processes and metadata, summary_event.c calls and
 * files, summary_access.c sizes and places of access, summary_annot.c what programs reported about
 * themselves, summary_merge.c adds up jobs. Where memory is short they set job->err.
 */
#ifndef DFT_SUMMARY_PARTS_H
#define DFT_SUMMARY_PARTS_H

#include <errno.h>

#include "summary.h"

/* One call, or several taken together. */
struct dft_share {
	uint64_t calls, errors, restarted, bytes, time_ns, max_ns;
};

static inline void dft_job_no_memory(struct dft_job *job)
{
	job->err = -ENOMEM;
}

/* The entry of that category and name, added when it is new; NULL when memory is short. */
struct dft_op *dft_job_op(struct dft_job *job, struct dft_vec *vec, struct dft_index *map,
			  const struct dft_record *r);
void dft_op_add(struct dft_op *op, const struct dft_share *s);
/* What one process does with one file; kept for one file of the trace. */
struct dft_use {
	uint64_t file, proc; /* indices in job->files and job->procs */
	uint64_t end[DFT_WAYS]; /* of its last read, or write, of known offset */
	bool has_end[DFT_WAYS];
};

/* dft_job_op() in job->ops. */
struct dft_op *dft_job_call(struct dft_job *job, const struct dft_record *r);
/* The file of that hash, added when it is new; NULL when memory is short. */
struct dft_file *dft_job_file(struct dft_job *job, uint64_t hash);
/* A count in a sum of its own kind: dft_job_count() of names that are in `from`. */
void dft_job_count_from(struct dft_job *job, struct dft_vec *vec, const struct dft_job *from,
			const struct dft_count *c);
/* COMPLETE and AGGREGATED records. */
void dft_job_event(struct dft_job *job, const struct dft_record *r);
void dft_job_row(struct dft_job *job, const struct dft_record *r);
/* The `end` record, and the program that a process runs. */
void dft_job_end_record(struct dft_job *job, struct dft_proc *p, const struct dft_record *r);
void dft_job_set_program(struct dft_job *job, struct dft_proc *p, const struct dft_record *r);

/* A read or write of `size` bytes that succeeded; `u` may be NULL: then where it was is not looked at. */
void dft_access_take(struct dft_job *job, enum dft_way way, struct dft_use *u, const struct dft_facts *f,
		     uint64_t size);
void dft_sizes_free(struct dft_sizes *s);
/* 0 or -ENOMEM. */
int dft_sizes_merge(struct dft_sizes *to, const struct dft_sizes *from);
void dft_access_add(struct dft_access *to, const struct dft_access *from);

/* What is asked of the whole: by directory, program, rank ...; processes are in order. 0 or -ENOMEM. */
int dft_job_total(struct dft_job *job);
/* How evenly the parts, in order, share bytes and time. */
void dft_job_weigh(struct dft_job *job);

/* An event that may be one of the longest. */
void dft_slow_take(struct dft_job *job, const struct dft_slow *s);
/* Below 0 when a is longer, or else the first of both by some order. */
int dft_slow_cmp(const struct dft_slow *a, const struct dft_slow *b);
void dft_failure_add(struct dft_job *job, uint64_t op, int64_t err, uint64_t calls);

/* The process that the record at hand is of; NULL when memory is short. */
struct dft_proc *dft_job_proc(struct dft_job *job);
/* Adds n to the count of that name, in a vector that is part of the job. */
void dft_job_count(struct dft_job *job, struct dft_vec *vec, struct dft_str group,
		   struct dft_str name, uint64_t n);

/* What an event leaves open. */
void dft_coverage_event(struct dft_job *job, const struct dft_record *r, const struct dft_facts *f);
/* What the tracer could not see of the process at hand. */
void dft_coverage_incomplete(struct dft_job *job, struct dft_str what);

void dft_sums_free(struct dft_annot_sums *a);
/* An event of the program itself. */
void dft_sums_event(struct dft_job *job, const struct dft_record *r, const struct dft_share *s);
/* Its share alone, as of a row that stands for many events. */
void dft_sums_add(struct dft_job *job, const struct dft_record *r, const struct dft_share *s);
/* args.relations of any event, into a vector of the job. */
void dft_sums_relations(struct dft_job *job, struct dft_vec *vec, const struct dft_jsonr_node *rel);
/* 0 or -ENOMEM. */
int dft_sums_merge(struct dft_job *to, const struct dft_job *from);
/* a is before b in the order of bytes. */
int dft_text_cmp(struct dft_str a, struct dft_str b);
/* EH, ET or ER; anything else is passed over. */
void dft_sums_entity_record(struct dft_job *job, const struct dft_record *r);
/* Metadata of the tracer that tell where annotations are missing, by name and value. */
void dft_sums_coverage(struct dft_job *job, const struct dft_record *r, struct dft_str key,
			 struct dft_str val);
void dft_sums_end(struct dft_job *job, const struct dft_record *r);
/* When all is taken. */
void dft_sums_finish(struct dft_annot_sums *a);

#endif
