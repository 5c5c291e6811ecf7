/* SPDX-License-Identifier: MIT */
#ifndef DFT_COUNTS_H
#define DFT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jsonr.h"

/*
 * The sum of all numbers in `n`, at any depth, as in args.lost of an `end` record. Text like
 * "read 3, write 2" goes to buf, as far as it has room.
 */
uint64_t dft_sum_counts(struct dft_jsonr *j, const struct dft_jsonr_node *n, char *buf, size_t cap);

/*
 * A key of args.lost that counts no losses: the calls that are in the file as rows that say `shed`,
 * not one by one. dft_sum_counts() leaves it out.
 */
bool dft_is_aggregated(struct dft_str key);

#endif
