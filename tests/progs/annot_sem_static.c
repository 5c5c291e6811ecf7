// SPDX-License-Identifier: MIT
// CFLAGS: -fno-pie -no-pie -static
/* annot_sem at the addresses that are written in its file. */
#define NO_LIBRARY
#include "annot_sem.c"
