/* SPDX-License-Identifier: MIT */
/*
 * Does a file keep the rules of the trace format? Line by line: dft_check_begin(), the lines,
 * dft_check_end(). Faults are collected, nothing is printed. Memory is bounded by the file's
 * distinct names and entities.
 */
#ifndef DFT_CHECK_H
#define DFT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "faults.h"
#include "jsonr.h"
#include "process.h"
#include "record.h"
#include "source.h"
#include "tables.h"

/* What a program reported about itself. */
struct dft_annot_counts {
	uint64_t events;
	uint64_t entities;     /* ids that have an EH record */
	uint64_t entity_types; /* ET records */
	uint64_t relations;    /* ER records */
	uint64_t gaps;         /* times in which annotations may be missing; no fault */
	uint64_t unarmed;      /* files whose annotations are missing; no fault */
};

/* Of one process; a file has one, unless it says that it was merged. */
struct dft_check_life {
	uint64_t last_id, ids, id_sum, unseen, aggregated;
	uint64_t start_line, end_line; /* 0: not seen */
	bool have_id;
	bool start_told; /* that there are events before it */
	bool letter;     /* in the dialect of 2025 */
};

struct dft_check {
	/* What the file turned out to be; complete after dft_check_end(). */
	struct dft_faults faults;
	uint64_t records;
	uint64_t events;   /* records with an id, start and end included */
	uint64_t lost;     /* by the end record */
	uint64_t missed;   /* calls that the tracer saw and does not decode; no fault */
	uint64_t aggregated; /* calls in rows, for want of room for one by one; no fault */
	struct dft_annot_counts annot;
	bool unfinished;   /* no end record */
	unsigned int rearranged; /* enum dft_rearranged; see marker.h */
	uint64_t processes, open_ends; /* of such a file; and those without an end record */

	/* State while reading one file. */
	struct dft_jsonr json;
	struct dft_index hashes;   /* hash -> enum known */
	struct dft_index entity_at; /* id -> enum declared (low bits), line of first use */
	struct dft_index types;    /* hash of the name of an entity type that has its ET */
	struct dft_index ids;      /* of the one array of ids at hand */
	struct dft_index runs;     /* id of the event of a run -> which records of it were seen */
	struct dft_index run_ts;   /* the same id -> its ts */
	struct dft_bytes raw;
	struct dft_record *r;    /* the record and line at hand */
	uint64_t line;
	struct dft_check_life life;    /* of the process at hand */
	struct dft_processes whose;    /* in a file that has several: */
	struct dft_rows lives;         /* of struct dft_check_life, by number of the process */
	size_t life_at;                /* that of `life`; 0: none */
	uint64_t pid;
	bool have_pid;
	int err;                       /* -ENOMEM: the result is not to be used */
};

void dft_check_begin(struct dft_check *c);
/* Returns 0 or -ENOMEM. */
int dft_check_line(struct dft_check *c, const struct dft_line *line, bool plain);
int dft_check_end(struct dft_check *c, const struct dft_source_stat *st);
void dft_check_free(struct dft_check *c);

/* Faults of the wrapping go the same way. */
void dft_check_source_fault(void *check, const struct dft_fault *fault);

#endif
