// SPDX-License-Identifier: MIT
/*
 * A region for each line of the input, with the line as its argument; answers each with "done". At the
 * beginning "ready". What a test needs to know which regions must be in the trace.
 */
#include <stdio.h>
#include <string.h>

#include <dftracer/dftracer.h>

static void step(const char *line)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_STR("line", line);
}

int main(void)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		step(line);
		puts("done");
	}
	return 0;
}
