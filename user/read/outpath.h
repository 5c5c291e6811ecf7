/* SPDX-License-Identifier: MIT */
/* Names of the files that a command writes into a directory. */
#ifndef DFT_OUTPATH_H
#define DFT_OUTPATH_H

#include "tables.h"

/*
 * DIR/BASE of a trace file, always ending in .pfw.gz, and another name than all that are `taken`; the caller
 * frees it. NULL: no memory.
 */
char *dft_outpath(struct dft_index *taken, const char *dir, const char *source);
/* The DIR among the arguments below which `out` is, or will be; NULL if none. */
const char *dft_outpath_below(const char *out, int argc, char **argv);
/* The directory is there from now on. 0 or -errno, which is told. */
int dft_outpath_dir(const char *dir);

#endif
