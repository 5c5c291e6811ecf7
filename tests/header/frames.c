// SPDX-License-Identifier: MIT
/* Functions with one region, for -Wframe-larger-than. */
#include <dftracer/dftracer.h>

int scoped(int n);
int named(const char *s);
int others(const char *s);

int scoped(int n)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("n", n);
	DFTRACER_C_FUNCTION_USES("file", "x");
	return n;
}

int named(const char *s)
{
	DFTRACER_C_REGION_START(name);
	DFTRACER_C_REGION_UPDATE_STR(name, "s", s);
	return 0;
}

/* What needs a buffer has it elsewhere. */
int others(const char *s)
{
	struct DFTracerData *d = initialize_region(s, s, DF_DATA_EVENT);

	DFTRACER_C_METADATA(m, "s", s);
	DFTRACER_C_APP_METADATA_STR("s", s);
	DFTRACER_C_ENTITY(s, s, DFT_STORE_MEMORY, s);
	finalize_region(d);
	return 0;
}
