/* SPDX-License-Identifier: MIT */
/* Takes a line into the sums of a summary, as a pass over files does with what it has parsed. */
#ifndef DFT_TESTS_JOBLINE_H
#define DFT_TESTS_JOBLINE_H

#include "summary.h"

/* As dft_record_parse(), or what dft_job_record() returned. */
static inline int job_line(struct dft_job *job, const struct dft_line *line)
{
	static struct dft_jsonr json; /* kept: a job may look into it until the next line */
	struct dft_record r;
	int rc = dft_record_parse(&r, &json, line->s, line->n);

	if (rc != 1)
		return rc;
	rc = dft_job_record(job, &r, &json);
	return rc ? rc : 1;
}

#endif
