// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * Four threads in a leaf function that keeps its data below the stack pointer (the red zone) while it
 * passes two probes. A listener must not touch that data. Says "ready", then obeys lines:
 *
 *   hits N    until each thread has made N more calls in which somebody listened
 *   calls N   until each thread has made N more calls
 *
 * and answers each with "calls C hits H wrong W", totals up to now. Ends with its input.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dftracer/usdt.h>
#include <dftracer/wire.h>

#ifndef PROBE
#define PROBE DFTRACER_USDT
#endif

DFTRACER_USDT_DEFINE(dftracer, event)
DFTRACER_USDT_DEFINE(dftracer, entity)

#define THREADS	   4
#define WORDS	   15 /* 120 of the 128 bytes */
#define EVENT_EACH 256
#define ENTITY	   0x1234567890abcdefull
#define MIX(x)	   ((x)*0x9e3779b97f4a7c15ull + 0x7f4a7c15ull)

static const char name[] = "leaf", category[] = "REDZONE", type[] = "leaf", uri[] = "";
static const uint32_t empty_chunk;

struct counts {
	_Alignas(64) unsigned long calls;
	unsigned long hits, wrong;
};

static struct counts counts[THREADS];

static inline uint64_t sum(const volatile uint64_t *zone)
{
	uint64_t total = 0;

#pragma GCC unroll 16
	for (int i = 0; i < WORDS; i++)
		total = MIX(total ^ zone[i]);
	return total;
}

/* No call, so that the array needs no room of its own on the stack. */
__attribute__((noinline, noclone)) uint64_t leaf(uint64_t seed, uint64_t start,
						 unsigned long number)
{
	volatile uint64_t zone[WORDS];
	uint64_t total;

#pragma GCC unroll 16
	for (int i = 0; i < WORDS; i++)
		zone[i] = seed = MIX(seed);
	if (DFTRACER_USDT_ENABLED(dftracer, entity))
		PROBE(dftracer, entity, type, uri, ENTITY, 0, 0, 0);
	total = sum(zone);
#pragma GCC unroll 16
	for (int i = 0; i < WORDS; i++)
		zone[i] = total = MIX(total);
	if (number % EVENT_EACH == 0 && DFTRACER_USDT_ENABLED(dftracer, event))
		PROBE(dftracer, event, name, category, start, DFT_TYPE_C_APP, &empty_chunk,
		      sizeof(empty_chunk));
	return total ^ sum(zone);
}

/* The same in memory of its own, and without probes. */
static uint64_t expected(volatile uint64_t *zone, uint64_t seed)
{
	uint64_t total;

	for (int i = 0; i < WORDS; i++)
		zone[i] = seed = MIX(seed);
	total = sum(zone);
	for (int i = 0; i < WORDS; i++)
		zone[i] = total = MIX(total);
	return total ^ sum(zone);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void add(unsigned long *count, unsigned long n)
{
	__atomic_store_n(count, *count + n, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	struct counts *mine = arg;
	uint64_t *zone = calloc(WORDS, sizeof(*zone));
	uint64_t seed = (uint64_t)(mine - counts) + 1;

	if (!zone)
		abort();
	for (;;) {
		/* Counted only if somebody listens before and after: the probe has fired. */
		int listened = DFTRACER_USDT_ENABLED(dftracer, entity);
		uint64_t got = leaf(seed, now(), mine->calls);

		listened = listened && DFTRACER_USDT_ENABLED(dftracer, entity);
		add(&mine->wrong, got != expected(zone, seed));
		add(&mine->hits, (unsigned long)listened);
		add(&mine->calls, 1);
		seed = MIX(seed);
	}
	return NULL;
}

static unsigned long get(const unsigned long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void wait_for(size_t offset, unsigned long more)
{
	unsigned long from[THREADS];

#define COUNT(i) ((const unsigned long *)(const void *)((const char *)&counts[i] + offset))
	for (int i = 0; i < THREADS; i++)
		from[i] = get(COUNT(i));
	for (int i = 0; i < THREADS; i++)
		while (get(COUNT(i)) - from[i] < more)
			sched_yield();
}

int main(void)
{
	pthread_t thread;
	char line[64];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, work, &counts[i]))
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long calls = 0, hits = 0, wrong = 0;

		if (!strncmp(line, "hits ", 5))
			wait_for(offsetof(struct counts, hits), strtoul(line + 5, NULL, 10));
		else if (!strncmp(line, "calls ", 6))
			wait_for(offsetof(struct counts, calls), strtoul(line + 6, NULL, 10));
		else
			return 2;
		for (int i = 0; i < THREADS; i++) {
			calls += get(&counts[i].calls);
			hits += get(&counts[i].hits);
			wrong += get(&counts[i].wrong);
		}
		printf("calls %lu hits %lu wrong %lu\n", calls, hits, wrong);
		fflush(stdout);
	}
	return 0;
}
