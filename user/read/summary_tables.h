/* SPDX-License-Identifier: MIT */
/*
 * The tables of the summary, each by its name: as a section of the text, as an array in the JSON object,
 * or alone, as text, JSON or CSV. Text has few columns, with units; the others have all, exactly.
 */
#ifndef DFT_SUMMARY_TABLES_H
#define DFT_SUMMARY_TABLES_H

#include "sheet.h"
#include "summary.h"

struct dft_sum_table;

/* By name, NULL when there is none of it. */
const struct dft_sum_table *dft_sum_table(const char *name);
/* Names of all, separated by a comma and a blank. */
const char *dft_sum_table_names(void);
/* Rows that there are. */
size_t dft_sum_table_rows(const struct dft_sum_table *t, const struct dft_job *job);

/* The first `top` rows (0: all), as text, JSON or CSV by itself. 0 or -ENOMEM. */
int dft_sum_table_print(const struct dft_sum_table *t, const struct dft_job *job, enum dft_style style,
			uint64_t top, FILE *f);
/* The same as the array `key` of an object. */
int dft_sum_table_json(const struct dft_sum_table *t, const struct dft_job *job, const char *key,
		       uint64_t top, struct dft_json *json);

#endif
