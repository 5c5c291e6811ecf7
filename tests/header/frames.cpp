// SPDX-License-Identifier: MIT
/* Functions with one region, for -Wframe-larger-than. */
#include <dftracer/dftracer.h>

static_assert(sizeof(DFTracer) <= 512, "an object is at most 512 bytes");
static_assert(sizeof(struct dft_region) <= 512, "and so is a region of C");

int scoped(int n);
int dynamic(const char *s);

int scoped(int n)
{
	DFTRACER_CPP_FUNCTION();
	DFTRACER_CPP_FUNCTION_UPDATE("n", n);
	DFTRACER_CPP_FUNCTION_USES("file", "x");
	return n;
}

int dynamic(const char *s)
{
	DFTRACER_CPP_REGION_START(d);
	DFTRACER_CPP_REGION_DYN_UPDATE(d, "s", s);
	DFTRACER_CPP_REGION_END(d);
	DFTRACER_CPP_METADATA(m, "s", s);
	return 0;
}
