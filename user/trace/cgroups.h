/* SPDX-License-Identifier: MIT */
/* Names of cgroups: the kernel side knows them by number. */
#ifndef DFT_CGROUPS_H
#define DFT_CGROUPS_H

#include <stdint.h>

#include "map.h"

struct dft_cgroups {
	char *mount;          /* where the cgroup2 file system is; NULL: nowhere */
	char *root;           /* which of its directories is mounted there, "" for the top */
	int fd;               /* of `mount`, or -1 */
	struct dft_map paths; /* by id; "" for one that has gone */
};

/* 0, or -errno; -ENOENT: there is no cgroup2 file system. */
int dft_cgroups_open(struct dft_cgroups *cgroups);
/* As /proc/PID/cgroup has it: from the top of the hierarchy. NULL: it has gone, or is out of sight. */
const char *dft_cgroups_path(struct dft_cgroups *cgroups, uint64_t id);
void dft_cgroups_close(struct dft_cgroups *cgroups);

#endif
