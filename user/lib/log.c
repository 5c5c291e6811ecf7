// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *log_program = "dftrace";
static enum dft_log_level log_level = DFT_LOG_NORMAL;

void dft_log_init(const char *program, enum dft_log_level level)
{
	log_program = program;
	log_level = level;
}

void dft_log_set_level(enum dft_log_level level)
{
	log_level = level;
}

enum dft_log_level dft_log_level(void)
{
	return log_level;
}

/* One write per message, so that lines of several writers to one terminal do not interleave. */
__attribute__((format(printf, 1, 0))) static void emit(const char *fmt, va_list ap)
{
	int saved = errno;
	char line[4096];
	size_t len, cap = sizeof(line) - 2;
	int n = snprintf(line, cap, "%s: ", log_program);

	len = n < 0 ? 0 : (size_t)n;
	if (len < cap) {
		n = vsnprintf(line + len, cap - len, fmt, ap);
		if (n > 0)
			len += (size_t)n < cap - len ? (size_t)n : cap - len - 1;
	}
	/* A name in the message may hold newlines; the message stays one line. */
	for (size_t i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[len++] = '\n';
	/* Nothing can be done about a failing stderr. */
	if (write(STDERR_FILENO, line, len) < 0)
		errno = saved;
	errno = saved;
}

void dft_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(fmt, ap);
	va_end(ap);
}

#define DFT_LOG_AT(name, level)                                                                    \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		if (log_level < (level))                                                           \
			return;                                                                    \
		va_start(ap, fmt);                                                                 \
		emit(fmt, ap);                                                                     \
		va_end(ap);                                                                        \
	}

DFT_LOG_AT(dft_warn, DFT_LOG_NORMAL)
DFT_LOG_AT(dft_info, DFT_LOG_NORMAL)
DFT_LOG_AT(dft_verbose, DFT_LOG_VERBOSE)
