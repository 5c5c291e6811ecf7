/* SPDX-License-Identifier: MIT */
/* The one place that makes absolute names out of what programs wrote. */
#ifndef DFT_PATH_H
#define DFT_PATH_H

#include "buf.h"

/*
 * Appends to `out` the name of `text` relative to `base`: base + '/' + text, or text alone when it
 * is absolute, with "//" and "/./" removed. ".." and symbolic links stay as written. Returns true
 * when a component ".." is in `text`.
 */
bool dft_path_join(struct dft_buf *out, const char *base, size_t base_len, const char *text,
		   size_t len);

#endif
