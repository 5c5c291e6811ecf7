// SPDX-License-Identifier: MIT
/*
 * Any lines as the records of two files that two threads have read: to a graph, to walks in it, and to all
 * that is exported of it. What a walk says holds in the other direction as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "graph_export.h"
#include "reach.h"
#include "replay.h"

static void must(int cond)
{
	if (!cond)
		abort();
}

static void take(struct dft_graph *g, const char *s, size_t n)
{
	static struct dft_jsonr json;

	g->derive = true;
	g->unit_ns = 1000;
	dft_auto_begin(&g->autos);
	while (n) {
		const char *nl = memchr(s, '\n', n);
		size_t len = nl ? (size_t)(nl - s) : n;
		struct dft_record r;

		if (dft_record_parse(&r, &json, s, len) == 1)
			must(dft_graph_record(g, &r, &json) == 0);
		s += len + (nl != NULL);
		n -= len + (nl != NULL);
	}
	dft_auto_end(&g->autos);
}

static bool leads(const struct dft_graph *g, uint32_t from, uint32_t to, struct dft_reach_opts o)
{
	struct dft_reach r;
	bool found = false;

	must(dft_reach(g, from, &o, &r) == 0);
	for (size_t i = 0; i < r.n; i++)
		found |= r.visits[i].ent == to;
	dft_reach_free(&r);
	return found;
}

static void walk(const struct dft_graph *g, uint32_t start, struct dft_reach_opts o)
{
	struct dft_reach_opts back = o;
	struct dft_reach r;

	back.impact = !o.impact;
	must(dft_reach(g, start, &o, &r) == 0);
	must(r.n >= 1 && r.n <= g->ents.n && r.acts_cnt <= g->acts.n);
	for (size_t i = 1; i < r.n; i++)
		must(r.visits[i].depth >= r.visits[i - 1].depth);
	must(leads(g, r.visits[r.n - 1].ent, start, back));
	dft_reach_free(&r);
}

static void look_at(struct dft_graph *g, unsigned int how, FILE *null)
{
	struct dft_reach_opts o = { .sides = how & 1 ? DFT_BOTH : DFT_ANNOTATED,
				    .via = how & 2 ? 15 : DFT_VIA_DEFAULT, .edges = how & 4,
				    .time_aware = how & 8, .impact = how & 16 };

	for (uint32_t i = 0; i < g->ents.n && i < 8; i++)
		if (dft_graph_shows_ent(g, i, o.sides))
			walk(g, i, o);
	must(dft_graph_prov_json(g, o.sides, null) == 0);
	must(dft_graph_prov_n(g, o.sides, null) == 0);
	must(dft_graph_dot(g, &(struct dft_graph_part){ .sides = o.sides }, null) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	struct dft_graph one = { 0 }, two = { 0 };
	const char *s = (const char *)data;
	const char *half = size > 1 ? memmem(s + 1, size - 1, "\n\n", 2) : NULL;

	if (!null)
		null = fopen("/dev/null", "w");
	must(null != NULL);
	if (!size)
		return 0;
	take(&one, s + 1, half ? (size_t)(half - s - 1) : size - 1);
	if (half)
		take(&two, half, size - (size_t)(half - s));
	must(dft_graph_merge(&one, &two) == 0);
	must(dft_graph_complete(&one) == 0);
	look_at(&one, data[0], null);
	dft_graph_free(&one);
	dft_graph_free(&two);
	return 0;
}
