// SPDX-License-Identifier: MIT
/*
 * A program with SITES probes, each at a place of its own. They are passed once, in their order and
 * whether or not somebody listens, for each line of stdin, which is answered with "fired"; it says
 * "ready" before. `annot_sites once` passes them and ends.
 */
#include <stdio.h>

#include "annot_chunk.h"

#ifndef SITES
#define SITES 2000
#endif

DFTRACER_USDT_DEFINE(dftracer, event)

static const char name[] = "site", category[] = "SITES";

enum { FIRST = __COUNTER__ + 1 };

/* chunk_number() is a call, so what comes before each probe differs from what comes after. */
#define ONE(n)                                                                                     \
	chunk_number(&chunk, "site", (n)-FIRST);                                                   \
	DFTRACER_USDT(dftracer, event, name, category, now_ns(), DFT_TYPE_C_APP, chunk.bytes,      \
		      chunk.len);
#define FIVE	     ONE(__COUNTER__) ONE(__COUNTER__) ONE(__COUNTER__) ONE(__COUNTER__) ONE(__COUNTER__)
#define FIFTY	     FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE
#define FIVE_HUNDRED FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY
#define TWO_THOUSAND FIVE_HUNDRED FIVE_HUNDRED FIVE_HUNDRED FIVE_HUNDRED

static void fire_all(void)
{
	struct chunk chunk;

#if SITES == 2000
	TWO_THOUSAND
#elif SITES == 50
	FIFTY
#endif
}

_Static_assert(__COUNTER__ - FIRST == SITES, "so many sites");

int main(int argc, char **argv)
{
	char line[64];

	if (argc > 1) {
		fire_all();
		return argv[1][0] != 'o';
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		fire_all();
		puts("fired");
		fflush(stdout);
	}
	return 0;
}
