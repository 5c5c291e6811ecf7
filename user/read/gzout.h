/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file: gzip members of about a megabyte that end with a line, so that any reader of
 * the format accepts it, or plain text where the name does not end in .gz. The file is there whole or
 * not at all.
 */
#ifndef DFT_GZOUT_H
#define DFT_GZOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "whole.h"

struct libdeflate_compressor;

struct dft_gzout {
	struct dft_whole file;
	struct dft_buf text; /* whole lines that wait */
	struct libdeflate_compressor *packer; /* NULL: plain */
	char *member;
	size_t member_cap;
	uint64_t bytes; /* of lines, in all */
};

/* 0 or -errno, which is told. */
int dft_gzout_open(struct dft_gzout *o, const char *path, bool force);
/* One line, without its newline. 0 or -errno; what fails with the file is told. */
int dft_gzout_line(struct dft_gzout *o, const char *s, size_t n);
/* The same without a newline, for the last bytes of a file. */
int dft_gzout_tail(struct dft_gzout *o, const char *s, size_t n);
/* What is there by now as a member. */
int dft_gzout_flush(struct dft_gzout *o);
/* Completes the file, or with `rc` that is not 0 removes it. 0 or -errno, which is told, or rc. */
int dft_gzout_close(struct dft_gzout *o, int rc);

#endif
