/* SPDX-License-Identifier: MIT */
/* Processes being traced, and those that have ended and wait for their last counts. */
#ifndef DFT_PROCS_H
#define DFT_PROCS_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "buf.h"
#include "jobenv.h"
#include "map.h"
#include "runs.h"
#include "streams.h"

/* A TEXT record that waits for its call. */
struct dft_text {
	struct dft_text *next;
	uint32_t tid;
	uint32_t nr;
	uint64_t base;
	uint8_t slot;
	uint16_t len;
	char bytes[];
};

/* What is known of the file of a tally. */
enum dft_tally_file {
	DFT_TALLY_FILE_UNKNOWN = 0, /* not looked for yet, or it has none */
	DFT_TALLY_FILE_AWAITED,     /* its name has not come: it may be in the ring still */
	DFT_TALLY_FILE_NAMED,
	DFT_TALLY_FILE_NAMELESS,
	DFT_TALLY_FILE_EXCLUDED,    /* by --include/--exclude */
};

struct dft_tally_entry {
	struct dft_tally_key key;
	struct dft_tally value; /* of calls: what rows have told so far */
	uint64_t fhash;         /* of NAMED: the name itself may have been forgotten since */
	const char *why;        /* of NAMELESS; static */
	enum dft_tally_file file;
	struct dft_run_file *of; /* for runs; NULL: of none that counts, or not known yet */
};

/* Tallies of a process, in the order in which they were first seen. */
struct dft_tallies {
	struct dft_tally_entry *v;
	size_t n;
	struct dft_map at; /* by a hash of the key: index in `v`, + 1 */
};

struct dft_event_count {
	const char *event; /* of the table: static */
	uint64_t calls;
};

struct dft_proc {
	uint32_t pid, ppid;
	uint64_t start_ns;    /* CLOCK_BOOTTIME; with pid it identifies the process */
	uint64_t seen_ns;     /* CLOCK_MONOTONIC of the first record */
	char *program;        /* base name of the executable */
	char *cmd;            /* arguments joined with ';', or NULL when unknown */
	size_t cmd_len;
	uint64_t cmd_full;    /* full length when cmd was cut, else 0 */
	char *cwd;            /* or NULL when unknown */
	size_t cwd_len;
	struct dft_scene scene; /* as it was last told */
	struct dft_job job;   /* of the image that runs */
	struct dft_buf env;   /* parts of the environment that have come */
	bool opened;          /* opening records are written */
	bool ended;           /* an EXIT record came, or the sweep found it gone */
	bool unsettled;       /* threads of it may still be about to hand in their last calls */
	bool ending;          /* its tallies are final: written at the end of the look under way */
	bool has_status;
	int status;           /* as wait(2) */
	uint64_t end_ns;
	uint64_t next_id;     /* of the last event written */
	struct dft_buf lines; /* not handed to the sink yet */
	size_t buffered;      /* their bytes as the engine has last counted them */
	struct dft_map seen;  /* FH and SH already written; values are not used */
	struct dft_text *texts;
	struct dft_event_count *excluded; /* calls on names left out by --include/--exclude */
	size_t nexcluded;
	uint64_t unseen[2];   /* requests of io_uring and of AIO whose end nobody saw */
	struct dft_tallies tallies;
	struct dft_annots annots;
	struct dft_proc_runs runs;
	void *sink;           /* of the output layer */
};

struct dft_procs {
	struct dft_map live;  /* by pid */
	struct dft_map dying; /* by dft_procs_key() */
};

uint64_t dft_procs_key(uint32_t pid, uint64_t start_ns);
struct dft_proc *dft_procs_get(const struct dft_procs *procs, uint32_t pid);
/* A new process under `pid`; one that was there is moved to the dying. NULL: no memory. */
struct dft_proc *dft_procs_add(struct dft_procs *procs, uint32_t pid, uint64_t start_ns);
/* One that has ended, whoever lives under its pid now. NULL: no memory. */
struct dft_proc *dft_procs_orphan(struct dft_procs *procs, uint32_t pid, uint64_t start_ns);
/* The process has ended: from live to dying. 0 or -ENOMEM. */
int dft_procs_retire(struct dft_procs *procs, struct dft_proc *proc);
/* All that live, as of CLOCK_MONOTONIC `now_ns`; no record will come any more. 0 or -ENOMEM. */
int dft_procs_retire_all(struct dft_procs *procs, uint64_t now_ns);
/* Copies `text` for the process; a copy of NULL is NULL. 0 or -ENOMEM. */
int dft_proc_set(char **field, size_t *field_len, const char *text, size_t len);
/* Counts calls left out by --include/--exclude. `event` is static. 0 or -ENOMEM. */
int dft_proc_count_excluded(struct dft_proc *proc, const char *event, uint64_t calls);
/* The process's tally of that key, made if need be. NULL: no memory. Valid until the next one is made. */
struct dft_tally_entry *dft_proc_tally(struct dft_proc *proc, const struct dft_tally_key *key);
/* Keeps a text until its call comes; replaces one that never got a call. 0 or -ENOMEM. */
int dft_proc_keep_text(struct dft_proc *proc, const struct dft_rec_text *rec);
/* Takes out the text of a thread's call, or NULL. The caller frees it. */
struct dft_text *dft_proc_take_text(struct dft_proc *proc, uint32_t tid, uint8_t slot);
void dft_proc_free(struct dft_proc *proc);
void dft_procs_free(struct dft_procs *procs);

#endif
