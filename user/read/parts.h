/* SPDX-License-Identifier: MIT */
/*
 * Trace files made of lines of others. Each can be read alone: what its lines refer to - names, hosts,
 * entities and their types - is declared in it before, whatever file it was declared in.
 */
#ifndef DFT_PARTS_H
#define DFT_PARTS_H

#include "gzout.h"
#include "marker.h"
#include "tables.h"

/* What has been declared anywhere. */
struct dft_parts {
	struct dft_naming names;
	struct dft_strings lines;    /* of EH and ET */
	struct dft_index entity_at;  /* id -> place of its EH, 0: not there */
	struct dft_index type_at;
	/* Of the file that is written: */
	struct dft_gzout out;
	struct dft_index written;    /* declarations */
	struct dft_jsonr json, other;
	struct dft_buf buf;
	bool open;
};

/* Takes what a metadata record declares. 0 or -ENOMEM. */
int dft_parts_learn(struct dft_parts *p, const struct dft_record *r, struct dft_jsonr *j,
		    struct dft_str line);

/* 0 or -errno, which is told. */
int dft_parts_open(struct dft_parts *p, const char *path, bool force);
/*
 * A line, and before it what it needs. `about` is what dftrace has done to the file (a value of CM
 * `rearranged`, or NULL), `unit_ns` that of its times; both are told with the first line.
 */
int dft_parts_line(struct dft_parts *p, struct dft_str line, const char *about, uint64_t unit_ns);
/* As dft_gzout_close(). */
int dft_parts_close(struct dft_parts *p, int rc);
void dft_parts_free(struct dft_parts *p);

#endif
