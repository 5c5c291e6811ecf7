// SPDX-License-Identifier: MIT
/*
 * One thread writes record after record to a descriptor, each to its own offset, while another puts
 * now the one, now the other of two files under that number. Which file a record went to is seen in
 * the files afterwards, and said: one letter a record.
 *
 *   replaced_fd FILE-A FILE-B RECORDS
 */
#include "say.h"

#include <pthread.h>

#define VICTIM 100

static int a, b;
static long records;
static int done;

static void *replacer(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		dup2(a, VICTIM);
		dup2(b, VICTIM);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char text[4096];
	size_t len = 0;
	char one = 'x';

	if (argc != 4)
		return 2;
	a = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	b = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	records = atol(argv[3]);
	if (dup2(a, VICTIM) < 0 || ftruncate(a, records) || ftruncate(b, records) ||
	    pthread_create(&thread, NULL, replacer, NULL))
		return 1;
	for (long i = 0; i < records; i++)
		if (pwrite(VICTIM, &one, 1, i) != 1)
			return 1;
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (long i = 0; i < records; i++) {
		char in_a = 0, in_b = 0;

		if (pread(a, &in_a, 1, i) != 1 || pread(b, &in_b, 1, i) != 1 || !in_a == !in_b)
			return 1;
		text[len++] = in_a ? 'A' : 'B';
		text[len] = '\0';
		if (len == sizeof(text) - 1 || i == records - 1) {
			say_word("files", text);
			len = 0;
		}
	}
	return 0;
}
