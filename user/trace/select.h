/* SPDX-License-Identifier: MIT */
/* --cgroup, --uid, --comm: which processes of the system are traced. */
#ifndef DFT_SELECT_H
#define DFT_SELECT_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "cgroups.h"
#include "config.h"

struct dft_select {
	int cgroup;              /* its directory; -1 = any */
	uint32_t uid;            /* UINT32_MAX = any */
	char comm[DFT_COMM_LEN]; /* filled with NULs; empty = any */
};

/* Any of the three is asked for. */
bool dft_select_is_on(const struct dft_config *cfg);
/*
 * Looks up what is asked for, and says how many running processes it is. 0, or -errno after one line that
 * says why there can be none; dft_select_close() in either case.
 */
int dft_select_resolve(struct dft_select *select, const struct dft_config *cfg,
		       const struct dft_cgroups *cgroups);
void dft_select_close(struct dft_select *select);

#endif
