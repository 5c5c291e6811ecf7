// SPDX-License-Identifier: MIT
/*
 * One probe inlined at several places: each is a place of its own to listen at. In the header itself
 * the probes are out of line, hence one by hand.
 *
 *   region_inline N
 */
#include "region_log.h"

struct item {
	uint32_t before;
	uint8_t tag, type;
	uint32_t key_len;
	char key[5];
	int64_t value;
} __attribute__((packed));

static __attribute__((always_inline)) inline void probe(const char *name, int64_t value)
{
	struct item item = { 0, DFT_ITEM_INT, 0, 5, "value", value };
	char names[2][8] = { "", "INLINE" }; /* not in the file, of which pages may not be there yet */

	strcpy(names[0], name);
	if (DFTRACER_USDT_ENABLED(dftracer, event))
		DFTRACER_USDT(dftracer, event, names[0], names[1], rl_now(), DFT_TYPE_C_APP, &item,
			      sizeof(item));
}

static __attribute__((noinline)) void both(long i)
{
	if (i % 2)
		probe("odd", i);
	else
		probe("even", i);
	probe("always", i);
}

static __attribute__((noinline)) void another(long i)
{
	probe("another", i);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;

	for (long i = 0; i < n; i++) {
		both(i);
		another(i);
	}
	return 0;
}
