/* SPDX-License-Identifier: MIT */
/* The graph in formats of other programs. */
#ifndef DFT_GRAPH_EXPORT_H
#define DFT_GRAPH_EXPORT_H

#include "graph.h"

/* A part of a graph; NULL for either is all of it. */
struct dft_graph_part {
	const uint8_t *ents, *acts;
	unsigned int sides;
};

/* All return 0 or -ENOMEM; errors of the stream are left to its flag. */
int dft_graph_prov_json(const struct dft_graph *g, unsigned int sides, FILE *f);
int dft_graph_prov_n(const struct dft_graph *g, unsigned int sides, FILE *f);
int dft_graph_dot(const struct dft_graph *g, const struct dft_graph_part *part, FILE *f);

static inline bool dft_part_has_ent(const struct dft_graph *g, const struct dft_graph_part *p, uint32_t i)
{
	return p->ents ? p->ents[i] : dft_graph_shows_ent(g, i, p->sides);
}

static inline bool dft_part_has_act(const struct dft_graph *g, const struct dft_graph_part *p, uint32_t i)
{
	return p->acts ? p->acts[i] : DFT_ACTS(g)[i].side & p->sides;
}

#endif
