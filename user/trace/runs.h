/* SPDX-License-Identifier: MIT */
/*
 * Runs of programs, and what each did with which file. A run begins when a process is born, comes to be
 * traced, or executes a program, and ends with the next program, the process, or the tracing. When it ends
 * an event tells which files went into it and which came out (user/lib/prov.h has the rules).
 *
 * A file is here under its name, as the calls tell it, while some run knows it.
 */
#ifndef DFT_RUNS_H
#define DFT_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"

/* As what a file is an entity. A pipe is one in any case. */
enum dft_run_type {
	DFT_RUN_FILE,
	DFT_RUN_PROGRAM,
	DFT_RUN_DIR,
	DFT_RUN_TYPES,
};

struct dft_run_file {
	uint64_t key;    /* in the table: the hash of its name, and a foreign mount namespace */
	uint64_t fhash;
	uint64_t ids[DFT_RUN_TYPES]; /* as an entity; 0: not asked for yet */
	size_t refs;
	uint32_t mnt_ns; /* 0: the tracer's own */
	uint32_t len;
	uint8_t store;
	bool pipe;
	char text[];     /* its name, not terminated */
};

/* All files that runs know. */
struct dft_run_files {
	struct dft_map by_key;
};

/* What a run did with a file. */
struct dft_use {
	struct dft_use *next;
	struct dft_run_file *file;
	uint32_t facts; /* enum dft_prov_fact */
	uint8_t told;   /* enum dft_prov_relation that are written */
	bool passed;    /* that it was made is the next program's now */
	bool cloexec;   /* of the descriptors of it none outlives an exec */
	uint32_t fds;   /* descriptors of it, as far as the run's own calls tell */
};

struct dft_run {
	struct dft_run_files *files;
	struct dft_run *parent; /* which forked the process, or ran in it before; or NULL */
	struct dft_run *next;   /* which came after it in the process; NULL: none, or it is forgotten */
	size_t refs;
	unsigned int depth;     /* number of ancestors */
	uint64_t ts_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t id;            /* of its event; 0: not written */
	unsigned int parts;     /* records of it that were written */
	char *name;             /* of one that has ended */
	bool execed, attached, ended, written;
	bool image;             /* which file it executes is known from the kernel */
	struct dft_map by_key;  /* uses by the key of the file */
	struct dft_use *first, **end;
	struct dft_use *last;   /* the one looked for last */
	size_t made;            /* of the uses those that are made; to look whether there are any */
	uint64_t gone;          /* number of uses that were written and forgotten */
	uint64_t bytes_read, bytes_written;
	uint64_t untold;        /* calls of which it is not known what they did */
};

/* An entity that a program declared with an absolute uri. */
struct dft_uri {
	struct dft_uri *next; /* of the same uri */
	uint64_t id;
	bool told;
};

#define DFT_RUNS_PAST 8

struct dft_proc_runs {
	struct dft_run *run; /* NULL: of which nothing is known yet */
	/* Those before it, newest first: sums that come at the process's end may be theirs. */
	struct dft_run *past[DFT_RUNS_PAST];
	bool forgotten;      /* there were more */
	struct dft_map uris; /* by the hash of the uri: the first struct dft_uri */
	size_t nuris;
};

struct dft_call_names;
struct dft_engine;
struct dft_name;
struct dft_proc;
struct dft_rec_call;
struct dft_rec_proc;
struct dft_tally;
struct dft_tally_entry;

/* What the lines of the table do, for dft_runs_call(). */
void dft_runs_init(struct dft_engine *engine);
/* Of a process of which this is the PROC or FORK record. 0, -ENOMEM, or what the output returned, as all of these. */
int dft_runs_born(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_proc *rec);
/* It executes another program: the end of a run, while the process still has the old one's name. */
int dft_runs_exec_old(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns);
/* The begin of the next; `image` is the file that runs, or NULL. */
int dft_runs_exec_new(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns,
		      const struct dft_name *image);
/* A call or request that has become an event. */
int dft_runs_call(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_call *rec,
		  const struct dft_call_names *names);
/* The file of rows has been found. */
int dft_runs_row_file(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *entry,
		      const struct dft_name *name);
/* What a row tells: `now` against entry->value. */
int dft_runs_row(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *entry,
		 const struct dft_tally *now);
/* An entity was declared. */
int dft_runs_entity(struct dft_engine *engine, struct dft_proc *proc, uint64_t id, const char *uri,
		    size_t len);
/* The process's tallies are final: what is not written yet is. */
int dft_runs_end(struct dft_engine *engine, struct dft_proc *proc);
void dft_run_file_put(struct dft_run_files *files, struct dft_run_file *file);
void dft_runs_free(struct dft_proc_runs *runs);

/* ---- runout.c -------------------------------------------------------------------------------- */

/* enum dft_prov_relation of a use, as it is now. */
unsigned int dft_use_relations(const struct dft_use *use);
/*
 * Writes what is not written yet of the run, `over` if it is over: then its event is among it. Otherwise
 * only further parts, from memory that has to be freed.
 */
int dft_run_write(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run, bool over);
/* EH and ET of a file, unless they are written; its id. 0 or -ENOMEM. */
int dft_run_declare(struct dft_engine *engine, struct dft_proc *proc, struct dft_run_file *file,
		    enum dft_run_type type, uint64_t *id);
/* ER. */
void dft_run_relate(struct dft_engine *engine, struct dft_proc *proc, unsigned int relation,
		    uint64_t subject, uint64_t object, const char *why);

#endif
