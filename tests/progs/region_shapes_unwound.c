// SPDX-License-Identifier: MIT
// CFLAGS: -fexceptions
/* The same, where a thread that is ended unwinds its stack, and so ends its regions. */
#include "region_shapes.c"
