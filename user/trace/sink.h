/* SPDX-License-Identifier: MIT */
/*
 * Trace files. Blocks of lines become complete gzip members, written in order per file by a thread
 * of its own, so that neither compression nor the disk holds up the reading of the ring. The only
 * module that sees the compression library.
 */
#ifndef DFT_SINK_H
#define DFT_SINK_H

#include "buf.h"
#include "child.h"
#include "config.h"

struct dft_sink;
struct dft_sink_file;

/* Makes the directory. NULL after one line that says why. */
struct dft_sink *dft_sink_new(const struct dft_config *cfg, const struct dft_identity *id);
/* A file to be, made at its first block. `name` is copied. NULL: no memory. */
struct dft_sink_file *dft_sink_file_new(struct dft_sink *sink, const char *name);
/*
 * Takes the bytes over and leaves `lines` empty. `last`: the file is complete, and the handle must
 * not be used again. Waits while too much is queued. 0 or -ENOMEM.
 */
int dft_sink_write(struct dft_sink *sink, struct dft_sink_file *file, struct dft_buf *lines,
		   bool last);
/* Bytes on disk so far. */
uint64_t dft_sink_bytes(struct dft_sink *sink);
/* Waits until everything is written. 0, or -1 if a file could not be written (a line was printed). */
int dft_sink_finish(struct dft_sink *sink);
void dft_sink_free(struct dft_sink *sink);

#endif
