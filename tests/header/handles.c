// SPDX-License-Identifier: MIT
/*
 * Handles that are closed twice, by two threads at once, or that there was no memory for; and what
 * takes memory at all. Exit status 0: all is well.
 */
#include "alone.h"

#include <dftracer/dftracer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program is linked with --wrap for these. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int allocations;
static int fail_from; /* the number of the first allocation that fails */

static int fails(void)
{
	int n = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);

	return fail_from && n >= fail_from;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void listeners(unsigned short n)
{
	dftracer_event_semaphore = n;
	dftracer_part_semaphore = n;
	dftracer_metadata_semaphore = n;
}

static void use(struct DFTracerData *d)
{
	update_metadata_int(d, "i", 1);
	update_metadata_string(d, "s", "v");
	update_relation(d, DFT_REL_USED, 1);
}

static void nobody_listens(void)
{
	struct DFTracerData *a = initialize_region("a", "c", DF_DATA_EVENT);
	struct DFTracerData *b = initialize_region("b", "c", DF_METADATA_EVENT);

	CHECK(a && b);
	use(a);
	finalize_region(a);
	finalize_region(a);
	finalize_region(b);
	CHECK(a->profiler == NULL);
	CHECK(allocations == 0);
}

/* A region from before anybody listened stays silent, and one that they left ends silently. */
static void they_come_and_go(void)
{
	struct DFTracerData *before = initialize_region("before", "c", DF_DATA_EVENT);
	struct DFTracerData *during;

	listeners(1);
	use(before);
	CHECK(before->profiler == NULL);
	during = initialize_region("during", "c", DF_DATA_EVENT);
	CHECK(during != before && during->profiler);
	listeners(0);
	use(during);
	finalize_region(during);
	CHECK(during->profiler == NULL);
	finalize_region(before);
}

static void memory_is_used_again(void)
{
	int first;

	listeners(1);
	finalize_region(initialize_region("x", "y", DF_DATA_EVENT));
	first = allocations;
	CHECK(first > 0);
	for (int i = 0; i < 1000; i++)
		finalize_region(initialize_region("x", "y", DF_DATA_EVENT));
	CHECK(allocations == first);
	listeners(0);
}

static void no_memory(void)
{
	static char longer[20000];
	struct DFTracerData *held[64], *d;
	int n = 0;

	memset(longer, 'n', sizeof(longer) - 1);
	listeners(1);
	fail_from = 1;
	/* Those that are there already are used up; after that there is nothing. */
	while (n < 64 && (held[n] = initialize_region("x", "y", DF_DATA_EVENT))->profiler)
		n++;
	CHECK(n < 64);
	use(held[n]);
	finalize_region(held[n]);
	finalize_region(held[n]);
	/* A handle, but no room for its strings. */
	finalize_region(held[0]);
	d = initialize_region(longer, longer, DF_DATA_EVENT);
	CHECK(d && !d->profiler);
	finalize_region(d);
	d = initialize_region("x", "y", DF_DATA_EVENT);
	CHECK(d == held[0] && d->profiler);
	fail_from = 0;
	finalize_region(d);
	while (--n > 0)
		finalize_region(held[n]);
	listeners(0);
}

/* ---- two threads ------------------------------------------------------------------------------ */

enum { ROUNDS = 20000 };

static struct DFTracerData *shared[ROUNDS];
static pthread_barrier_t both;

static void *close_all(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&both);
	for (int i = 0; i < ROUNDS; i++)
		finalize_region(shared[i]);
	return NULL;
}

static void closed_by_two_threads(void)
{
	pthread_t thread;
	int before;

	listeners(1);
	for (int i = 0; i < ROUNDS; i++)
		shared[i] = initialize_region("shared", "c", DF_DATA_EVENT);
	CHECK(!pthread_barrier_init(&both, NULL, 2));
	CHECK(!pthread_create(&thread, NULL, close_all, NULL));
	close_all(NULL);
	CHECK(!pthread_join(thread, NULL));
	before = allocations;
	/* All of them are there again, each once. */
	for (int i = 0; i < ROUNDS; i++) {
		shared[i] = initialize_region("again", "c", DF_DATA_EVENT);
		CHECK(shared[i]->profiler == (void *)shared[i]);
		CHECK(((struct dft_region *)shared[i]->profiler)->value > 0);
		shared[i]->profiler = NULL;
	}
	CHECK(allocations == before);
	listeners(0);
}

static void *open_and_close(void *unused)
{
	struct DFTracerData *held[5];

	(void)unused;
	pthread_barrier_wait(&both);
	for (int i = 0; i < ROUNDS; i++) {
		for (int n = 0; n < 5; n++) {
			held[n] = initialize_region("mine", "c", DF_DATA_EVENT);
			update_metadata_int(held[n], "n", n);
		}
		for (int n = 0; n < 5; n++)
			finalize_region(held[n]);
	}
	return NULL;
}

static void opened_by_many_threads(void)
{
	pthread_t threads[4];

	listeners(1);
	CHECK(!pthread_barrier_init(&both, NULL, 4));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, open_and_close, NULL));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	listeners(0);
}

int main(void)
{
	want_to_be_alone();
	nobody_listens();
	they_come_and_go();
	memory_is_used_again();
	no_memory();
	opened_by_many_threads();
	closed_by_two_threads();
	return 0;
}
