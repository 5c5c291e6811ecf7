/* SPDX-License-Identifier: MIT */
/*
 * Stands before include/dftracer/usdt.h in the search path of a test: each probe is on from the start
 * and writes what it carries as a line to the file that PIPELINE_RECORD names, instead of waiting for
 * a listener in the kernel:
 *
 *     PID NS PROBE NAME TEXT VALUE CODE DATA LEN CHUNK      strings and chunk in hexadecimal, after an x
 */
#ifndef PIPELINE_RECORD_H
#define PIPELINE_RECORD_H

#include_next <dftracer/usdt.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline char *pipeline_hex(char *to, const char *from, unsigned long n)
{
	*to++ = 'x';
	while (n--)
		to += sprintf(to, "%02x", (unsigned char)*from++);
	*to = 0;
	return to;
}

static inline void pipeline_record(const char *probe, unsigned long name, unsigned long text,
				   unsigned long value, unsigned long code, unsigned long data,
				   unsigned long len)
{
	static char line[65536];
	const char *file = getenv("PIPELINE_RECORD");
	const char *s[2] = { (const char *)name, (const char *)text };
	struct timespec now;
	char *to = line;
	int fd;

	if (!file)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	to += sprintf(to, "%d %llu %s ", (int)getpid(),
		      now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec, probe);
	for (int i = 0; i < 2; i++) {
		to = s[i] ? pipeline_hex(to, s[i], strnlen(s[i], 8192)) : to + sprintf(to, "-");
		*to++ = ' ';
	}
	to += sprintf(to, "%lu %lu %lu %lu ", value, code, data, len);
	to = pipeline_hex(to, (const char *)data, len);
	*to++ = '\n';
	fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)(to - line)) != to - line) {
		perror(file);
		abort();
	}
	close(fd);
}

#undef DFTRACER_USDT_DEFINE
#define DFTRACER_USDT_DEFINE(provider, probe)                                                      \
	DFTRACER_USDT_C_BEGIN                                                                      \
	__attribute__((weak, used, visibility("hidden"))) volatile unsigned short                  \
		provider##_##probe##_semaphore = 1;                                                \
	DFTRACER_USDT_C_END

#undef DFTRACER_USDT
#define DFTRACER_USDT(provider, probe, a0, a1, a2, a3, a4, a5)                                     \
	pipeline_record(#probe, DFTRACER_USDT_WORD_OF(a0), DFTRACER_USDT_WORD_OF(a1),              \
			DFTRACER_USDT_WORD_OF(a2), DFTRACER_USDT_WORD_OF(a3),                      \
			DFTRACER_USDT_WORD_OF(a4), DFTRACER_USDT_WORD_OF(a5))

#endif
