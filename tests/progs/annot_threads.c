// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * annot_threads THREADS EVENTS [rt|slow]: as many threads, each of which makes as many events one after the
 * other, all at the same time. An event has the numbers of its thread and of itself, and a text of
 * which length and bytes depend on both, and which begins with the FNV-1a of the rest; the last
 * argument is the FNV-1a of all of it. Every other text is so long that the event takes several records.
 *
 * rt: every other thread is a real-time one, which waits a little before each event. Its probe then
 * interrupts whatever another thread is doing, in its own probe perhaps.
 * slow: all threads wait a little before they end an event, so that a tracer may get to run in between.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dftracer/dftracer.h>

#define TEXT_MAX 3000
#define SHORT	 200
#define SUM_LEN	 8

static pthread_barrier_t everybody;
static unsigned int threads, events;
static int rt, slow;

static uint32_t fnv(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

static void make_text(char *text, unsigned int thread, unsigned int seq)
{
	uint64_t x = (uint64_t)thread << 32 | (seq + 1);
	unsigned int len = (thread * 977 + seq * 131) % (seq % 2 ? TEXT_MAX : SHORT);
	char sum[SUM_LEN + 1];

	for (unsigned int i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text[SUM_LEN + i] = (char)(' ' + x % 95);
	}
	text[SUM_LEN + len] = '\0';
	snprintf(sum, sizeof(sum), "%08x", fnv(text + SUM_LEN));
	for (int i = 0; i < SUM_LEN; i++)
		text[i] = sum[i];
}

static void wait_us(long us)
{
	struct timespec little = { 0, us * 1000 };

	nanosleep(&little, NULL);
}

static void one(unsigned int thread, unsigned int seq)
{
	char text[SUM_LEN + TEXT_MAX + 1], sum[SUM_LEN + 1];

	make_text(text, thread, seq);
	snprintf(sum, sizeof(sum), "%08x", fnv(text));
	{
		DFTRACER_C_FUNCTION_START();
		DFTRACER_C_FUNCTION_UPDATE_INT("thread", (int)thread);
		DFTRACER_C_FUNCTION_UPDATE_INT("seq", (int)seq);
		DFTRACER_C_FUNCTION_UPDATE_STR("text", text);
		DFTRACER_C_FUNCTION_UPDATE_STR("sum", sum);
		if (slow)
			wait_us(1000);
	}
}

static void be_real_time(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		abort();
}

static void *work(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg;
	int waits = rt && thread % 2;

	if (waits)
		be_real_time();
	pthread_barrier_wait(&everybody);
	for (unsigned int seq = 0; seq < events; seq++) {
		if (waits)
			wait_us(20 + (long)(seq % 50));
		one(thread, seq);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t *ids;

	if (argc < 3)
		return 1;
	threads = (unsigned int)atoi(argv[1]);
	events = (unsigned int)atoi(argv[2]);
	rt = argc > 3 && !strcmp(argv[3], "rt");
	slow = argc > 3 && !strcmp(argv[3], "slow");
	ids = calloc(threads, sizeof(*ids));
	if (!ids || pthread_barrier_init(&everybody, NULL, threads))
		return 1;
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)i))
			return 1;
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	free(ids);
	printf("fired %u\n", threads * events);
	return 0;
}
