/* SPDX-License-Identifier: MIT */
/* What the parts of the bookkeeping of runs share: runs.c and runcalls.c. */
#ifndef DFT_RUNPARTS_H
#define DFT_RUNPARTS_H

#include "engine.h"
#include "prov.h"
#include "runs.h"

/* Relations between entities, of the format. */
#define DFT_DERIVED_FROM 16
#define DFT_ALTERNATE_OF 21

/* A file that is talked of. */
struct run_ref {
	const char *text;
	size_t len;
	uint64_t fhash;
	uint32_t magic; /* of its file system; 0: not known */
	bool pipe;
};

/* Of a name of the kernel side; false: what is in it is no content that counts. */
bool run_ref_name(struct run_ref *ref, const struct dft_name *name);
void run_ref_file(struct run_ref *ref, const struct dft_run_file *file);

/* The number of the process's mount namespace, 0 if it is the tracer's own. */
uint32_t run_foreign_ns(const struct dft_engine *engine, const struct dft_proc *proc);
struct dft_run_file *run_file_get(struct dft_engine *engine, const struct dft_proc *proc,
				  const struct run_ref *ref);
/* The same, made if need be, with a reference for the caller. NULL: no memory. */
struct dft_run_file *run_file_take(struct dft_engine *engine, const struct dft_proc *proc,
				   const struct run_ref *ref);
/* What a run did with a file; NULL: nothing. */
struct dft_use *run_use_get(const struct dft_engine *engine, const struct dft_proc *proc,
			    const struct dft_run *run, const struct run_ref *ref);
/* The run that goes on; NULL: no memory. */
struct dft_run *run_of(struct dft_engine *engine, struct dft_proc *proc);
/*
 * The one whose time it was; of times before all the first one, or NULL when that is forgotten. 0 or -ENOMEM.
 */
int run_at(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns, struct dft_run **out);
/* Adds facts, enum dft_prov_fact, about a file. 0, -ENOMEM, or what the output returned. */
int run_add(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run,
	    const struct run_ref *ref, unsigned int facts, struct dft_use **out);
/* The run wrote what it has not opened: it may have it from an ancestor. */
void run_inherit(struct dft_run *run, struct dft_use *use);
enum dft_run_type run_type(const struct dft_run *run, const struct dft_run_file *file);
/* Of the tallies that are known only now, at the process's end: pipes, and what was lost. */
int run_take_sums(struct dft_engine *engine, struct dft_proc *proc);

#endif
