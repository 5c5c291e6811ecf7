/* SPDX-License-Identifier: MIT */
/* How the tables of the summary are described; summary_rows_*.c are the tables. */
#ifndef DFT_SUMMARY_COLUMNS_H
#define DFT_SUMMARY_COLUMNS_H

#include "summary_tables.h"

/* Names in columns; longer ones are cut there. The last column has room for all. */
#define CELL_SZ	    48
#define COMMAND_SZ  100
#define MAX_COLUMNS 32

/* Where a column is shown. In text, further, only if there is something to be seen in it. */
enum {
	TEXT = 1 << 0,
	DATA = 1 << 1,
	BOTH = TEXT | DATA,
	IF_ROWS = 1 << 2,
	IF_RESTARTED = 1 << 3,
	IF_RANKS = 1 << 4,
	IF_MAPPED = 1 << 5,
};

struct column {
	const char *key, *title;
	bool left;
	unsigned int when;
	int id;
};

struct dft_sum_table {
	const char *name;
	const struct column *cols;
	size_t ncols;
	size_t (*rows)(const struct dft_job *job);
	void (*cell)(struct dft_sheet *s, const struct dft_job *job, size_t i, int id);
};

#define DFT_SUM_TABLE(name, cols, rows, cell) { name, cols, sizeof(cols) / sizeof((cols)[0]), rows, cell }

extern const struct dft_sum_table dft_tables_of_calls[], dft_tables_of_files[];
#define DFT_TABLES_OF_CALLS 9
#define DFT_TABLES_OF_FILES 6

/* Of columns about access, which several tables have: what it is, and of reads or writes. */
enum {
	A_CALLS = 100,
	A_LOCATED,
	A_FIRST,
	A_CONSECUTIVE,
	A_SEQUENTIAL,
	A_RANDOM,
	A_UNALIGNED,
	A_SEQ_SHARE,
	A_CONS_SHARE,
	A_WRITES = 100,
};

#define ACCESS_COLUMNS(way, base)                                                        \
	{ way "s", NULL, false, DATA, A_CALLS + (base) },                                \
	{ way "s_located", NULL, false, DATA, A_LOCATED + (base) },                      \
	{ way "s_first", NULL, false, DATA, A_FIRST + (base) },                          \
	{ way "s_consecutive", NULL, false, DATA, A_CONSECUTIVE + (base) },              \
	{ way "s_sequential", NULL, false, DATA, A_SEQUENTIAL + (base) },                \
	{ way "s_random", NULL, false, DATA, A_RANDOM + (base) },                        \
	{ way "s_unaligned", NULL, false, DATA, A_UNALIGNED + (base) }

struct dft_str dft_cell_str(const struct dft_job *job, uint64_t at);
/* A name that is cut in text: behind `max` bytes, or at the width of a column. */
void dft_cell_cut(struct dft_sheet *s, struct dft_str name, size_t max);
void dft_cell_name(struct dft_sheet *s, const struct dft_job *job, uint64_t at);
void dft_cell_percent(struct dft_sheet *s, uint64_t n, uint64_t of);
void dft_cell_i64(struct dft_sheet *s, bool is, int64_t v);
void dft_cell_file(struct dft_sheet *s, const struct dft_job *job, const struct dft_file *f);
/* Columns A_*, of reads or writes, and of both. */
void dft_cell_pattern(struct dft_sheet *s, const struct dft_pattern *p, int id);
void dft_cell_access(struct dft_sheet *s, const struct dft_access *a, int id);

#endif
