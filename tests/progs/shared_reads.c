// SPDX-License-Identifier: MIT
/*
 * Four threads read one shared descriptor, 8 bytes at a time, of a file in which every 8 bytes hold
 * their own offset: so each thread knows where its read took place, and says it.
 *
 *   shared_reads FILE READS
 */
#include "say.h"

#include <pthread.h>

#define THREADS 4

static int fd;
static long per_thread;
static pthread_barrier_t start;

static void *reader(void *arg)
{
	uint64_t *seen = calloc((size_t)per_thread, sizeof(*seen));
	char text[8192];
	size_t len = 0;

	(void)arg;
	pthread_barrier_wait(&start);
	for (long i = 0; i < per_thread; i++)
		if (read(fd, &seen[i], sizeof(seen[i])) != sizeof(seen[i]))
			_exit(90);
	pthread_barrier_wait(&start);
	for (long i = 0; i < per_thread; i++) {
		len += (size_t)sprintf(text + len, "%lu ", (unsigned long)seen[i]);
		if (len > sizeof(text) - 32 || i == per_thread - 1) {
			say_word("offsets", text);
			len = 0;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 3)
		return 2;
	per_thread = atol(argv[2]) / THREADS;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t at = 0; at < (uint64_t)per_thread * THREADS * 8; at += 8)
		if (pwrite(fd, &at, 8, (off_t)at) != 8)
			return 1;
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, reader, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
