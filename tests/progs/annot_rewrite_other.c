// SPDX-License-Identifier: MIT
// CFLAGS: -O2 -fno-toplevel-reorder
/* annot_rewrite with its code where that has its probes. */
#define OTHER
#include "annot_rewrite.c"
