// SPDX-License-Identifier: MIT
// CFLAGS: -shared -fPIC
/*
 * A library with regions, for region_arm to load, and to be preloaded: with REGION_LIB_EARLY in the
 * environment it has five before main().
 */
#include "region_log.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void lib_hits(const char *name, long n, long first);
EXPORT int lib_listens(void);

/* n regions; they have the ids from `first` on. */
void lib_hits(const char *name, long n, long first)
{
	rl_used = 0;
	rl_first = first;
	for (long i = 0; i < n; i++)
		rl_close(rl_open(name));
}

int lib_listens(void)
{
	return DFTRACER_USDT_ENABLED(dftracer, event);
}

static __attribute__((constructor)) void early(void)
{
	if (getenv("REGION_LIB_EARLY"))
		lib_hits("early", 5, 500000);
}
