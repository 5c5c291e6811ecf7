// SPDX-License-Identifier: MIT
// LDFLAGS: -static
/* region_hits for a place that has no libraries. */
#include "region_hits.c"
