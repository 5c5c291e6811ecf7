/* SPDX-License-Identifier: MIT */
/*
 * What runs of programs did with files, for those whose PROGRAM event is missing: the tracer was
 * killed, or was told to write none. Facts are collected while a process's file is read, by run and
 * file; relations are derived when all files have been read, for a run may have been given files by
 * an ancestor. Of processes whose PROGRAM events are there only that is kept.
 */
#ifndef DFT_PROV_AUTO_H
#define DFT_PROV_AUTO_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"
#include "process.h"
#include "record.h"
#include "rows.h"
#include "tables.h"

struct dft_graph;

struct dft_auto_facts {
	struct dft_rows procs, runs, facts, pairs;

	/* The file at hand: */
	struct dft_index fact_at;  /* (run, file) -> index in facts + 1 */
	struct dft_index pair_at;
	struct dft_processes processes;
	struct dft_index proc_at;  /* number of a process -> index in procs + 1 */
	size_t proc;               /* of the record at hand: index + 1 */
	size_t first_proc, first_run, first_fact, first_pair;
};

void dft_auto_free(struct dft_auto_facts *a);

/* Those that return something return 0 or -ENOMEM. */
void dft_auto_begin(struct dft_auto_facts *a);
int dft_auto_record(struct dft_auto_facts *a, struct dft_graph *g, const struct dft_record *r,
		    struct dft_jsonr *json);
int dft_auto_end(struct dft_auto_facts *a);
int dft_auto_merge(struct dft_auto_facts *to, const struct dft_auto_facts *from);

/* Adds activities and relations to the graph; its names must be complete (prov_derive.c). */
int dft_auto_derive(struct dft_graph *g);

/* ---- between prov_auto.c and prov_derive.c ------------------------------------------------------ */

struct dft_auto_proc {
	uint64_t host, pid, ppid, born; /* born: time of its first event */
	uint64_t program; /* SH hash of the command line that `start` tells */
	size_t run, nruns; /* the first of its runs, when its file is over: they stand together */
	struct dft_rows own; /* until then: where they are, of size_t */
	uint64_t mnt_ns;   /* of its run at hand */
	uint32_t unit_ns;
	bool whole; /* all its runs have been told of by the tracer */
	bool shed;  /* some of its calls are only in rows, which tell less */
	bool foreign; /* not written by dftrace-bpf */
	bool prov_told, faults_untold, ended; /* by the end record */
};

struct dft_auto_run {
	uint64_t start, end, id, mnt_ns;
	uint64_t path;   /* FH hash of what was executed */
	bool execed;
	bool told;       /* by a PROGRAM event */
	size_t proc;
};

/* Beside enum dft_prov_fact: the name is that of a directory. */
#define DFT_AUTO_DIR (1u << 15)

struct dft_auto_fact {
	size_t run;
	uint64_t file; /* FH hash */
	unsigned int facts;
};

/* A rename or link that succeeded. */
struct dft_auto_pair {
	size_t run;
	uint64_t from, to; /* FH hashes */
	bool link;
};

#endif
