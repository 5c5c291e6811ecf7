/* SPDX-License-Identifier: MIT */
/*
 * Reads a descriptor as a row of gzip members, checking each one's CRC and length, or as plain
 * bytes. Damage does not end the reading: after a bad member the next header is looked for.
 */
#ifndef DFT_GZIN_H
#define DFT_GZIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dft_gzin;

enum dft_gz_event {
	DFT_GZ_DATA = 0,   /* nothing but bytes */
	DFT_GZ_MEMBER,     /* a member has ended and is right */
	DFT_GZ_BAD,        /* a member is damaged; reading goes on with a later one, if any */
	DFT_GZ_CUT,        /* the file ends within a member */
	DFT_GZ_JUNK,       /* bytes between or after the members belong to none */
	DFT_GZ_END,
};

struct dft_gz_step {
	enum dft_gz_event event;
	size_t got;         /* bytes put into the buffer; they come before the event */
	uint64_t member;    /* 1-based number of the member concerned */
	uint64_t byte;      /* where in the file it (or the junk) starts */
	uint64_t junk;      /* DFT_GZ_JUNK: how many bytes ... */
	bool zeros;         /* ... and whether all of them are zero */
	const char *why;    /* DFT_GZ_BAD: what is wrong */
};

enum dft_gz_format {
	DFT_GZ_AUTO = 0, /* by the first bytes */
	DFT_GZ_GZIP,     /* gzip with a damaged start, unless it starts like JSON */
};

/* The descriptor stays the caller's. NULL with errno set on failure. */
struct dft_gzin *dft_gzin_new(int fd);
void dft_gzin_free(struct dft_gzin *g);
/* Begins again with another descriptor. */
void dft_gzin_reset(struct dft_gzin *g, int fd, enum dft_gz_format format);

/*
 * Fills up to cap bytes of buf and tells what happened. Returns 0, or -errno when the descriptor
 * cannot be read or memory is short. With cap > 0 every call makes progress.
 */
int dft_gzin_step(struct dft_gzin *g, char *buf, size_t cap, struct dft_gz_step *st);

/*
 * Where `fd` becomes readable, a step that would wait for bytes of the file fails with -ECANCELED
 * instead. -1: none.
 */
void dft_gzin_stop_at(struct dft_gzin *g, int fd);

/* Known after the first step. */
bool dft_gzin_is_plain(const struct dft_gzin *g);
/* Bytes of the file consumed so far. */
uint64_t dft_gzin_offset(const struct dft_gzin *g);

#endif
