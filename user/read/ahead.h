/* SPDX-License-Identifier: MIT */
/*
 * Decompression in a thread of its own, ahead of who takes the lines apart: of one large file two cores
 * can work at once. The thread fills pieces, a small fixed number of them, and waits when all are full;
 * the reader takes them in order and waits when none is. What was wrong comes with the piece behind
 * whose bytes it was found, so that the reader sees the same as without the thread.
 */
#ifndef DFT_AHEAD_H
#define DFT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gzin.h"

/* Before the bytes of a piece there is room for the line that began in the one before. */
#define DFT_AHEAD_ROOM (64u << 10)

struct dft_ahead;

struct dft_ahead_piece {
	char *data;             /* step.got bytes, and DFT_AHEAD_ROOM writable ones before them */
	struct dft_gz_step step;
	int err;                /* 0, or what the step failed with: the last piece, without bytes */
	bool plain;             /* what the gzin says ... */
	uint64_t offset;        /* ... when the piece was full */
};

/* NULL when there is no memory or no thread to be had; then the gzin is as it was. */
struct dft_ahead *dft_ahead_start(struct dft_gzin *gz);

/*
 * The next piece, which is the reader's until it gives it back; it may hold several. After an error,
 * and after DFT_GZ_END, there is none more, and it must not be asked for.
 */
struct dft_ahead_piece *dft_ahead_take(struct dft_ahead *a);
void dft_ahead_give(struct dft_ahead *a, struct dft_ahead_piece *piece);

/* Ends the thread, also one that waits for a pipe, and frees the pieces. The gzin is the caller's again. */
void dft_ahead_stop(struct dft_ahead *a);

#endif
