/* SPDX-License-Identifier: MIT */
/* From the command line's arguments to the list of trace files. */
#ifndef DFT_FILES_H
#define DFT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tables.h"

struct dft_files {
	char **v;
	size_t n;
	size_t cap;
	uint64_t bytes;      /* of the regular ones, as they are now */
	uint64_t errors;     /* arguments and directories that could not be read; each was told */
	struct dft_index seen; /* a file is taken once, by whatever names it is reached */
};

/*
 * Takes a FILE, "-", or a DIR: then every *.pfw and *.pfw.gz below it, in order of their paths.
 * Links to directories are not followed, so there are no loops. What cannot be read is told and
 * counted. Returns 0, or -ENOMEM.
 */
int dft_files_add(struct dft_files *f, const char *arg);
/* All the arguments; also tells when there are no files at all. */
int dft_files_add_all(struct dft_files *f, int argc, char **argv);
/* Whether that file is one of them. */
bool dft_files_has(const struct dft_files *f, const struct stat *st);
void dft_files_free(struct dft_files *f);

#endif
