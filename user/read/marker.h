/* SPDX-License-Identifier: MIT */
/*
 * Metadata that `dftrace` itself writes into traces. CM `rearranged` tells what it has done to a file,
 * for other rules hold then: docs/trace-format.md.
 */
#ifndef DFT_MARKER_H
#define DFT_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"
#include "naming.h"
#include "record.h"

enum dft_rearranged {
	DFT_REARRANGED_MERGE = 1 << 0,   /* several processes, each in its order */
	DFT_REARRANGED_SORT = 1 << 1,    /* the same, and all in order of time */
	DFT_REARRANGED_SPLIT = 1 << 2,   /* parts of processes */
	DFT_REARRANGED_RECOVER = 1 << 3, /* what a cut or damaged file still held */
};

/* What the record says of its file; 0 for any other record. */
unsigned int dft_rearranged_of(const struct dft_record *r, struct dft_jsonr *j);

/* Whose record is written. */
struct dft_whose {
	uint64_t pid, tid, hhash;
	bool has_host;
	bool letter; /* in the dialect of 2025 */
};

void dft_whose_of(struct dft_whose *w, const struct dft_record *r, struct dft_jsonr *j);

/* A metadata record up to its args, which are open; and its end. No newline. */
void dft_marker_begin(struct dft_json *json, const struct dft_whose *w, const char *name);
void dft_marker_end(struct dft_json *json);
/* A whole CM record. */
void dft_marker_cm(struct dft_json *json, const struct dft_whose *w, const char *name,
		   const char *value);
/* An FH, SH or HH record. */
void dft_marker_name(struct dft_json *json, const struct dft_whose *w, enum dft_name_kind kind,
		     uint64_t hash, struct dft_str name);

/* A record's line without what belongs to an array around it. */
struct dft_str dft_bare_line(const char *s, size_t n);

#endif
