// SPDX-License-Identifier: MIT
#include "cmd.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"
#include "out.h"

int dft_usage(const char *cmd, const char *fmt, ...)
{
	char what[256], safe[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	dft_error("%s%s%s (try: dftrace %s%s--help)", cmd, *cmd ? ": " : "",
		  dft_safe_z(safe, sizeof(safe), what), cmd, *cmd ? " " : "");
	return DFT_EXIT_USAGE;
}

int dft_usage_option(const char *cmd, char **argv)
{
	return dft_usage(cmd, "%s: unknown option, or its value is missing or not wanted",
			 argv[optind - 1]);
}
