/* SPDX-License-Identifier: MIT */
/* How the answer to --info looks. Pure: probe.c finds out, this prints. */
#ifndef DFT_INFO_H
#define DFT_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "explain.h"

struct dft_feature {
	const char *name;
	bool ok;
	char why[320]; /* unless ok */
};

struct dft_info {
	struct dft_facts facts;
	int kptr_restrict; /* or DFT_FACT_UNKNOWN */
	char libbpf[16];
	const struct dft_feature *features;
	size_t nfeatures;
};

/* To stdout, unflushed. Exit status. */
int dft_info_print(const struct dft_info *info, bool json);

#endif
