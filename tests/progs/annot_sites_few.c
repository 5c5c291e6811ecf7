// SPDX-License-Identifier: MIT
/* annot_sites with so few probes that they can be attached one by one. */
#define SITES 50
#include "annot_sites.c"
