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
	uint32_t len;
	uint32_t flags; /* enum dft_name_flag */
	uint32_t age;   /* of struct dft_names when it was last needed */
	uint32_t magic; /* of the file system */
	uint8_t cls;    /* enum dft_class */
	bool excluded;  /* by --include/--exclude */
	char text[];    /* not terminated */
};

struct dft_names {
	struct dft_map by_id;
	uint32_t age;
};

/*
 * Takes in a NAME record (its lengths checked by the caller). What dft_names_get() has returned for its
 * id is not valid any more. NULL: no memory.
 */
struct dft_name *dft_names_put(struct dft_names *names, const struct dft_rec_name *rec);
struct dft_name *dft_names_get(const struct dft_names *names, uint64_t id);

/* From here on only what is put, or put again, or told by dft_names_keep() stays. */
void dft_names_begin(struct dft_names *names);
void dft_names_keep(struct dft_names *names, uint64_t id);
/* Frees the others, each after `gone` was called with it. 0 or -ENOMEM: then all are there. */
int dft_names_drop(struct dft_names *names, void (*gone)(void *ctx, const struct dft_name *name),
		   void *ctx);
void dft_names_free(struct dft_names *names);

#endif
