// SPDX-License-Identifier: MIT
// CFLAGS: -fPIC -shared
/* The library of annot_sem. */
#include "annot_sem.h"

void fire_library(void);

void fire_library(void)
{
	fire_all("LIBRARY");
}
