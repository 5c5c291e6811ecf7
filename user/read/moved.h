/* SPDX-License-Identifier: MIT */
/* What a record adds to a timeline: bytes by direction, and calls. */
#ifndef DFT_MOVED_H
#define DFT_MOVED_H

#include "timeline.h"
#include "view.h"

/*
 * False for what is no call: metadata, counters, annotations, the tracer's own events. What is copied
 * from file to file is both read and written. Pages of mapped files are not counted: through the
 * mapping more may have gone, or less.
 */
bool dft_moved(struct dft_view *v, struct dft_tl_call *c);

#endif
