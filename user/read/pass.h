/* SPDX-License-Identifier: MIT */
/*
 * One pass over all records of all files, by as many threads as there are cores. What every command
 * does with its arguments, its files and what is wrong with them, stands here.
 *
 * A file is read by one thread, from its first line to its last; which thread that is, and what the
 * other threads read meanwhile, is open. Each thread has a state of the command's own, so that no
 * callback needs a lock; the command adds the states up when the pass is over. The result must not
 * depend on how the files were shared out.
 */
#ifndef DFT_PASS_H
#define DFT_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "files.h"
#include "jsonr.h"
#include "record.h"
#include "source.h"

/* The file at hand. */
struct dft_pass_file {
	const char *path;
	size_t nr; /* from 0, in order of the command line, and of the paths below a directory */
};

/* How its reading ended. */
struct dft_pass_end {
	struct dft_source_stat stat;
	uint64_t faults; /* of its lines and of its wrapping */
	bool ended;      /* an `end` record was seen */
	int error;       /* 0, or the -errno for which it could not be read, or not to its end */
	struct dft_buf *out; /* what is put there goes to stdout, in order of the files */
};

/* From `record`: no more is wanted. The pass ends, and is good. */
#define DFT_PASS_ENOUGH 1

/* All return 0 or -errno; anything but 0 ends the whole pass. */
struct dft_pass_ops {
	size_t state_sz; /* of a thread's state, which starts zeroed */
	int (*listed)(void *ctx, const struct dft_files *files); /* before the first; may be NULL */
	int (*begin)(void *state, void *ctx, const struct dft_pass_file *file); /* may be NULL */
	int (*record)(void *state, void *ctx, const struct dft_record *r, struct dft_jsonr *json,
		      const struct dft_line *line);
	/* Both instead of `record`: lines as they are, and what is wrong with their wrapping. */
	int (*line)(void *state, void *ctx, const struct dft_line *line, bool plain);
	void (*fault)(void *state, const struct dft_fault *fault);
	int (*end)(void *state, void *ctx, const struct dft_pass_file *file,
		   const struct dft_pass_end *end); /* may be NULL */
};

/* What stands about the reading itself. */
struct dft_read_stat {
	uint64_t files, unfinished, cut, damaged, faults, unread;
	uint64_t bytes_in, bytes_out;
};

struct dft_pass {
	const char *cmd;  /* name of the command, for messages */
	const struct dft_pass_ops *ops;
	void *ctx;
	bool in_order;    /* one thread reads the files in their order */
	bool quiet;       /* warnings of single files are not shown (the exit status tells) */
	/* The result: */
	struct dft_files files;
	struct dft_read_stat stat;
	char *states;     /* of `nstates` threads, each ops->state_sz bytes */
	size_t nstates;
};

static inline void *dft_pass_state(const struct dft_pass *p, size_t i)
{
	return p->states + i * p->ops->state_sz;
}

/*
 * Reads what the arguments name: DIR, FILE or "-". Tells what is wrong with each file, in order of the
 * files, and that an unfinished one is unfinished. On a terminal, long work shows how far it is.
 * Returns 0 or -errno, which is told; then nothing of the states is to be used.
 */
int dft_pass_run(struct dft_pass *p, int argc, char **argv);

/*
 * The exit status of a command that has done its output: flushes stdout, and is not good if that, the
 * pass (`rc` of dft_pass_run() or later work) or a file failed. An unfinished file alone is no failure.
 */
int dft_pass_exit(const struct dft_pass *p, int rc);

/* Frees what the pass holds, the states included; what they hold is the command's. */
void dft_pass_free(struct dft_pass *p);

#endif
