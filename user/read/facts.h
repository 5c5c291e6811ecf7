/* SPDX-License-Identifier: MIT */
/* What an event says about itself in its args, by the rules that readers of the format follow. */
#ifndef DFT_FACTS_H
#define DFT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "jsonr.h"
#include "record.h"

/* Which way the bytes go that `ret` counts. */
enum dft_dir {
	DFT_DIR_NONE = 0,
	DFT_DIR_READ,
	DFT_DIR_WRITE,
	DFT_DIR_FROM_FHASH, /* read from args.fhash, written to args.other_fhash */
	DFT_DIR_TO_FHASH,
	DFT_DIR_MAPPED, /* by page faults: of the pages of a mapped file, which it read or made writable */
};

/* Where 0 means something, has_ tells whether the arg was there and of the right type. */
struct dft_facts {
	bool has_ret, has_errno, restarted, has_file, has_other, has_size_sum, has_dur_ns;
	bool is_pipe; /* it names a pipe in args.pipe */
	int64_t ret;
	int64_t err;      /* of args.errno; 0: not told */
	bool has_offset;
	uint64_t offset;
	uint64_t file, other;
	uint64_t len, off_in; /* of a call that shares a part of another file */
	uint64_t size, image_size, size_sum, dur_ns;
	bool has_cnt, shed;
	uint64_t cnt, errors, dur_sum, dur_max, ret_sum, last;
	const struct dft_jsonr_node *relations; /* to entities; NULL: none */
	/* What the event does not tell: why a name is missing; and the remarks of these names. */
	const struct dft_jsonr_node *unresolved, *unresolved2;
	bool unfinished, unseen, replaced;
};

void dft_facts_take(struct dft_facts *f, struct dft_jsonr *j, const struct dft_record *r);

/* Categories whose calls return bytes: POSIX and STDIO, in any case. */
bool dft_is_io_cat(struct dft_str cat);

/* The name of a pipe, as /proc shows it: what goes through pipes is told by rows of such names. */
bool dft_is_pipe_name(struct dft_str name);

/* The direction of a call by its category and name. */
enum dft_dir dft_dir_of(struct dft_str cat, struct dft_str name);

/* The bytes moved: what was returned, or what the record says, never what was asked for. */
uint64_t dft_facts_bytes(const struct dft_facts *f, enum dft_dir dir, const struct dft_record *r);

#endif
