/* SPDX-License-Identifier: MIT */
/* For programs that pass probes without dftracer.h: chunks with one number, made by hand. */
#ifndef DFT_TESTS_ANNOT_CHUNK_H
#define DFT_TESTS_ANNOT_CHUNK_H

#include <stdint.h>
#include <string.h>
#include <time.h>

#include <dftracer/usdt.h>
#include <dftracer/wire.h>

struct chunk {
	uint32_t len;
	char bytes[64];
};

static inline void chunk_put(struct chunk *chunk, const void *from, size_t len)
{
	memcpy(chunk->bytes + chunk->len, from, len);
	chunk->len += (uint32_t)len;
}

/* A whole stream: the argument {"KEY":NUMBER}. */
static inline void chunk_number(struct chunk *chunk, const char *key, int64_t number)
{
	static const char head[] = { DFT_ITEM_INT, 0 };
	uint32_t before = 0, len = (uint32_t)strlen(key);

	chunk->len = 0;
	chunk_put(chunk, &before, sizeof(before));
	chunk_put(chunk, head, sizeof(head));
	chunk_put(chunk, &len, sizeof(len));
	chunk_put(chunk, key, len);
	chunk_put(chunk, &number, sizeof(number));
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
