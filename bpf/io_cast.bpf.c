// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The programs of io.bpf.c for kernels that can be told the type of an address. */
#define DFT_CAST
#include "io.bpf.c"
