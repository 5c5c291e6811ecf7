/* SPDX-License-Identifier: MIT */
/*
 * Six probes and the counters of their listeners. The test knows how many there are of each kind:
 * three events, two relations, an entity, and no type of entities although its counter is there.
 */
#ifndef DFT_TESTS_ANNOT_SEM_H
#define DFT_TESTS_ANNOT_SEM_H

#include "annot_chunk.h"

DFTRACER_USDT_DEFINE(dftracer, event)
DFTRACER_USDT_DEFINE(dftracer, relation)
DFTRACER_USDT_DEFINE(dftracer, entity)
DFTRACER_USDT_DEFINE(dftracer, entity_type)

static inline void fire_all(const char *category)
{
	struct chunk chunk;

	chunk_number(&chunk, "n", 42);
	DFTRACER_USDT(dftracer, entity, "thing", "", 1, 0, 0, 0);
	DFTRACER_USDT(dftracer, event, "first", category, now_ns(), DFT_TYPE_C_APP, chunk.bytes,
		      chunk.len);
	DFTRACER_USDT(dftracer, event, "second", category, now_ns(), DFT_TYPE_C_APP, chunk.bytes,
		      chunk.len);
	DFTRACER_USDT(dftracer, event, "third", category, now_ns(), DFT_TYPE_C_APP, chunk.bytes,
		      chunk.len);
	DFTRACER_USDT(dftracer, relation, 0, 0, 1, 18, 2, 0);
	DFTRACER_USDT(dftracer, relation, 0, 0, 2, 17, 1, 0);
}

#endif
