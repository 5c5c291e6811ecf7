/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the summary share: summary.c takes calls, files and processes, summary_annot.c
 * what programs reported about themselves. Where memory is short they set job->err.
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
/* The process of that pid in the file at hand; NULL when memory is short. */
struct dft_proc *dft_job_proc(struct dft_job *job, uint64_t pid);
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
/* args.relations of any event. */
void dft_sums_relations(struct dft_job *job, const struct dft_jsonr_node *rel);
/* EH, ET or ER; anything else is passed over. */
void dft_sums_entity_record(struct dft_job *job, const struct dft_record *r);
/* Metadata of the tracer that tell where annotations are missing, by name and value. */
void dft_sums_coverage(struct dft_job *job, const struct dft_record *r, struct dft_str key,
			 struct dft_str val);
void dft_sums_end(struct dft_job *job, const struct dft_record *r);
/* When all is taken. */
void dft_sums_finish(struct dft_annot_sums *a);

#endif
