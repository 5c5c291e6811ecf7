// SPDX-License-Identifier: MIT
// CFLAGS: -shared -fPIC
/*
 * To be preloaded into a tracer: its disk writes SLOW_RATE bytes a second to the files below SLOW_DIR,
 * one write after the other, until there is a file SLOW_UNTIL. What the tracer runs is not concerned.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static const char *dir, *until;
static double rate;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SLOW_RATE");

	dir = getenv("SLOW_DIR");
	until = getenv("SLOW_UNTIL");
	rate = text ? strtod(text, NULL) : 0;
	unsetenv("LD_PRELOAD");
}

static int is_slow(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	if (!dir || rate <= 0 || (until && !access(until, F_OK)))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 && (size_t)n > strlen(dir) && !strncmp(path, dir, strlen(dir));
}

ssize_t write(int fd, const void *data, size_t len)
{
	static ssize_t (*real)(int, const void *, size_t);
	struct timespec left;
	ssize_t n;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (!is_slow(fd))
		return real(fd, data, len);
	pthread_mutex_lock(&disk);
	n = real(fd, data, len);
	left.tv_sec = (time_t)(n > 0 ? (double)n / rate : 0);
	left.tv_nsec = (long)((n > 0 ? (double)n / rate - (double)left.tv_sec : 0) * 1e9);
	while (nanosleep(&left, &left))
		;
	pthread_mutex_unlock(&disk);
	return n;
}
