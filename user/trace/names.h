/* SPDX-License-Identifier: MIT */
/* Names of files that the kernel side has sent, by id. */
#ifndef DFT_NAMES_H
#define DFT_NAMES_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "map.h"

struct dft_name {
	uint64_t id;
	uint64_t fhash;
	char *text; /* not terminated */
	uint32_t len;
	uint32_t flags; /* enum dft_name_flag */
	uint8_t cls;    /* enum dft_class */
	bool excluded;  /* by --include/--exclude */
};

struct dft_names {
	struct dft_map by_id;
};

/* Takes in a NAME record (its lengths checked by the caller). NULL: no memory. */
struct dft_name *dft_names_put(struct dft_names *names, const struct dft_rec_name *rec);
struct dft_name *dft_names_get(const struct dft_names *names, uint64_t id);
void dft_names_free(struct dft_names *names);

#endif
