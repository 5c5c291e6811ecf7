/* SPDX-License-Identifier: MIT */
/*
 * One trace file as a row of whole lines, whatever its wrapping and its state. What is wrong with
 * the wrapping is told through a callback, and reading goes on as far as there is anything to read.
 *
 * A source can be used for one file after the other and keeps its buffers meanwhile.
 */
#ifndef DFT_SOURCE_H
#define DFT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer lines are passed over: no record is anywhere near, and memory stays bounded. */
#define DFT_LINE_MAX (64u << 20)

struct dft_source;

struct dft_line {
	const char *s; /* without the newline; valid until the next call */
	size_t n;
	uint64_t no;   /* from 1, counted over all that could be read */
	bool whole;    /* it ended in a newline */
	uint64_t member; /* number of the gzip member in which it ended; 0: plain */
};

/* Something wrong; places that do not apply are 0 (`member` tells whether `byte` applies). */
struct dft_fault {
	uint64_t member;
	uint64_t byte;
	uint64_t line;
	const char *what;
	bool harmless; /* against the rules, but nothing is missing */
	bool bad_member; /* nothing of that member is to be trusted */
};

typedef void (*dft_fault_fn)(void *ctx, const struct dft_fault *fault);

struct dft_source_stat {
	uint64_t members;    /* whole and right ones */
	uint64_t bytes_in;
	uint64_t bytes_out;  /* after decompression */
	uint64_t lines;
	bool plain;          /* not compressed */
	bool cut;            /* ends within a member or, when plain, within a line */
	bool damaged;        /* bad members, junk, or lines that had to be passed over */
};

/* NULL with errno set when memory is short. */
struct dft_source *dft_source_new(void);
void dft_source_free(struct dft_source *s);

/*
 * Files taken up from now on are decompressed by a thread of their own once `from` bytes have come out,
 * so that small ones are spared it; UINT64_MAX, as at the start: never. Lines, faults and figures are the
 * same.
 */
void dft_source_ahead(struct dft_source *s, uint64_t from);

/*
 * Takes up the file at `path`, "-" being standard input. Returns 0 or -errno. The previous file is
 * closed. `fn` is called from dft_source_next().
 */
int dft_source_open(struct dft_source *s, const char *path, dft_fault_fn fn, void *ctx);
/* The same on a descriptor, which the source will close; gzip is expected if `name` ends so. */
int dft_source_open_fd(struct dft_source *s, int fd, const char *name, dft_fault_fn fn, void *ctx);

/* Returns 1 with a line, 0 at the end, -errno when reading fails or memory is short. */
int dft_source_next(struct dft_source *s, struct dft_line *line);

/* Complete after dft_source_next() has returned 0. */
void dft_source_stat(const struct dft_source *s, struct dft_source_stat *st);

#endif
