/* SPDX-License-Identifier: MIT */
/*
 * A file that is there whole or not at all: it is written under a temporary name beside it and gets
 * its own when it is complete. A file that exists is replaced only when that was asked for.
 */
#ifndef DFT_WHOLE_H
#define DFT_WHOLE_H

#include <stdbool.h>

#include "files.h"

struct dft_whole {
	char *path, *temp;
	int fd; /* -1: closed */
	bool force;
};

/* No file is replaced that is read at the same time; NULL: there are none any more. */
void dft_whole_spare(const struct dft_files *sources);
/* 0, or -errno, which is told. */
int dft_whole_open(struct dft_whole *w, const char *path, bool force);
/* Gives the file its name, or with `rc` that is not 0 removes it. 0 or -errno, which is told, or rc. */
int dft_whole_close(struct dft_whole *w, int rc);

#endif
