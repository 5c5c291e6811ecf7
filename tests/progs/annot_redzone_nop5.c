// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/* annot_redzone with the five-byte nop, which becomes a call. */
#define DFTRACER_USDT_NOP5 1
#include "annot_redzone.c"
