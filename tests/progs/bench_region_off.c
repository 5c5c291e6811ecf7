// SPDX-License-Identifier: MIT
// CFLAGS: -O2
#define DFTRACER_DISABLE 1
#include "bench_region.c"
