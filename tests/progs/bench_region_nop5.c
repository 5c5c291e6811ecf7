// SPDX-License-Identifier: MIT
// CFLAGS: -O2
#define DFTRACER_USDT_NOP5 1
#include "bench_region.c"
