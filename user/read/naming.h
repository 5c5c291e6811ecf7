/* SPDX-License-Identifier: MIT */
/*
 * What the hashes in a trace stand for: its FH, SH and HH records. The same text has the same hash in
 * every file, so that one table does for a whole trace. Memory is bounded by the distinct names.
 */
#ifndef DFT_NAMING_H
#define DFT_NAMING_H

#include "record.h"
#include "tables.h"

enum dft_name_kind {
	DFT_NAME_NONE = 0, /* not a record of a name */
	DFT_NAME_FH,
	DFT_NAME_SH,
	DFT_NAME_HH,
};

struct dft_naming {
	struct dft_index at; /* by kind and hash */
	struct dft_strings texts;
	struct dft_bytes raw;
};

void dft_naming_free(struct dft_naming *t);

/* Takes a METADATA record: 1 when it tells a name, 0 when it does not, -ENOMEM. */
int dft_naming_take(struct dft_naming *t, const struct dft_record *r, struct dft_jsonr *json);

/*
 * The original bytes; false when no record has told them. Valid until the next name is taken.
 */
bool dft_naming_get(const struct dft_naming *t, enum dft_name_kind kind, uint64_t hash,
		    struct dft_str *name);

/* The same for the hash in an arg, such as args.fhash; `old` as in dft_hash_value(). */
bool dft_naming_of(const struct dft_naming *t, enum dft_name_kind kind, struct dft_jsonr *json,
		   const struct dft_jsonr_node *arg, bool old, struct dft_str *name);

/* All names of `from` are also in `to` after it. 0 or -ENOMEM. */
int dft_naming_merge(struct dft_naming *to, const struct dft_naming *from);

#endif
