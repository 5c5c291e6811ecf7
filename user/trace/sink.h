/* SPDX-License-Identifier: MIT */
/*
 * Trace files. Blocks of lines become complete gzip members, written in order per file by a pool of
 * threads, so that neither compression nor the disk holds up the reading of the ring. The only
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
 * not be used again. Never waits: see dft_sink_full(). 0 or -ENOMEM.
 */
int dft_sink_write(struct dft_sink *sink, struct dft_sink_file *file, struct dft_buf *lines,
		   bool last);
/* Too much waits for compression and the disk: make no more lines until it is less. */
bool dft_sink_full(struct dft_sink *sink);
/* Waits until it is not full, at most so long. True if it is not. */
bool dft_sink_wait(struct dft_sink *sink, unsigned int timeout_ms);
/* Bytes on disk so far. */
uint64_t dft_sink_bytes(struct dft_sink *sink);
/* Waits until everything is written. 0, or -1 if a file could not be written (a line was printed). */
int dft_sink_finish(struct dft_sink *sink);
void dft_sink_free(struct dft_sink *sink);

#endif
