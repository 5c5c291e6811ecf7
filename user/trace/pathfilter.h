/* SPDX-License-Identifier: MIT */
/* --include and --exclude: whether a name is kept. Pure; bytes, not characters. */
#ifndef DFT_PATHFILTER_H
#define DFT_PATHFILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

/*
 * The prefixes are compared component by component: /data is a prefix of /data and /data/x, not of
 * /database. The longest prefix of either list that matches decides, exclude wins a tie. When none
 * matches, the name is kept exactly when there is no include list.
 */
bool dft_pathfilter_keep(const struct dft_strv *include, const struct dft_strv *exclude,
			 const char *path, size_t len);

#endif
