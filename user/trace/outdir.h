/* SPDX-License-Identifier: MIT */
/*
 * The directory of a trace and the files in it, which consist of whole gzip members at any time.
 * Knows nothing of threads: a file is written by one at a time.
 */
#ifndef DFT_OUTDIR_H
#define DFT_OUTDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "child.h"
#include "config.h"

struct dft_outdir {
	char *path;
	bool given; /* by the user: then it may exist already */
	bool made;
	int fd;
};

struct dft_outfile {
	char *name;
	bool made;
	off_t len; /* of whole members */
	dev_t dev;
	ino_t ino;
};

/*
 * This thread, and it alone, makes and writes files as the user whose files they are. Each thread
 * that calls what is below does this first. 0 or -errno.
 */
int dft_outdir_enter(const struct dft_identity *id);

/* 0 or -ENOMEM. */
int dft_outdir_init(struct dft_outdir *dir, const struct dft_config *cfg);
/* Makes or finds it. 0 or -errno, which dft_outdir_complain() puts into words. */
int dft_outdir_open(struct dft_outdir *dir);
void dft_outdir_complain(const struct dft_outdir *dir, int err);
/* Nothing was written: leaves no empty directory behind. */
void dft_outdir_remove(struct dft_outdir *dir);
void dft_outdir_free(struct dft_outdir *dir);

/*
 * Appends a member: all of it or, after an error, nothing. 0 or -errno. The file is made by its
 * first member, and not held open.
 */
int dft_outfile_append(const struct dft_outdir *dir, struct dft_outfile *file, const void *member,
		       size_t len);
/* What can be done about an error of dft_outfile_append(). */
const char *dft_outfile_remedy(int err);

#endif
