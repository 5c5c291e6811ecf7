/* SPDX-License-Identifier: MIT */
/*
 * Links of many probes of one file at once (kernel 6.6 and later), through bpf(2) itself: the
 * libbpf of the distributions does not have them.
 */
#ifndef DFT_UPROBES_H
#define DFT_UPROBES_H

#include <stdint.h>

#define DFT_ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */

struct dft_uprobes {
	const char *path;
	const uint64_t *offsets;  /* in the file */
	const uint64_t *counters; /* offsets of the semaphores, 0 = none; or NULL */
	const uint64_t *cookies;  /* or NULL */
	uint32_t n;
	uint32_t pid;             /* 0 = all processes */
};

/* The link's descriptor (closing it detaches), or -errno. The program has the attach type above. */
int dft_uprobes_link(int prog, const struct dft_uprobes *uprobes);

#endif
