/* SPDX-License-Identifier: MIT */
/*
 * Walking the graph from one entity, hop by hop: to what it was made from (its lineage), or to what was
 * made from it (its impact).
 *
 * A hop back from an entity goes to the activities that generated or updated it, and from these to what
 * they used; a hop onwards the other way. What an activity updated is no source of what else it made:
 * if it was, the activity used it as well. An edge between entities, where edges are
 * followed, is a hop as well; entities that are one thing are reached together. Each activity and each
 * entity is visited once, by the shortest way; so circles end.
 */
#ifndef DFT_REACH_H
#define DFT_REACH_H

#include "graph.h"

enum dft_how {
	DFT_BY_START = 0,
	DFT_BY_ACTIVITY, /* through `nr`, an activity */
	DFT_BY_EDGE,     /* through `nr`, an edge between entities */
	DFT_BY_JOIN,     /* it is the same thing as `from` */
};

struct dft_reach_opts {
	bool impact;        /* onwards */
	uint64_t depth;     /* hops at most; 0: as far as it goes */
	unsigned int sides; /* enum dft_side: what counts */
	unsigned int via;   /* relations that are followed, 1 << enum dft_kind */
	bool edges;         /* all edges are followed, else those by which the tracer joins names */
	bool time_aware;    /* what was used only after the result was finished does not count */
};

#define DFT_VIA_DEFAULT (1u << DFT_USED | 1u << DFT_GENERATED | 1u << DFT_UPDATED)

struct dft_visit {
	uint32_t ent;
	uint32_t from; /* the entity before it on the way; of the start itself DFT_NOTHING */
	uint32_t nr;   /* see enum dft_how */
	uint32_t depth;
	uint8_t how;
};

struct dft_reach {
	struct dft_visit *visits; /* the start first; by depth */
	size_t n;
	uint8_t *acts;   /* of each activity: whether it was passed */
	size_t acts_cnt; /* how many were */
};

/* 0 or -ENOMEM. */
int dft_reach(const struct dft_graph *g, uint32_t start, const struct dft_reach_opts *opts,
	      struct dft_reach *out);
void dft_reach_free(struct dft_reach *r);

#endif
