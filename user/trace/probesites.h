/* SPDX-License-Identifier: MIT */
/* Where a file has probes: what the notes say, and what the kernel wants to know to arm them. */
#ifndef DFT_PROBESITES_H
#define DFT_PROBESITES_H

#include <linux/types.h>
#include <stdint.h>

#include "bpf/abi.h"

struct dft_site {
	uint64_t offset;     /* in the file, of the instruction */
	uint64_t sem_offset; /* in the file, of the counter of listeners; 0 = it has none */
	uint8_t kind;        /* enum dft_probe */
};

#endif
