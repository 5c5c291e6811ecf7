// SPDX-License-Identifier: MIT
/* Graphviz: entities are ellipses, activities boxes; arrows go the way that content goes. */
#include <inttypes.h>

#include "graph_export.h"
#include "out.h"

#define MAX_LABEL 200

/* A text fit for a quoted string of DOT: no byte of it can end the string or begin an escape. */
static void put_text(FILE *f, struct dft_str s)
{
	char safe[MAX_LABEL];

	dft_safe(safe, sizeof(safe), s);
	for (const char *p = safe; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', f);
		fputc(*p, f);
	}
}

static struct dft_str base_of(struct dft_str s)
{
	for (size_t i = s.n; i-- > 0;)
		if (s.s[i] == '/' && i + 1 < s.n)
			return (struct dft_str){ s.s + i + 1, s.n - i - 1 };
	return s;
}

static void put_ent(const struct dft_graph *g, uint32_t i, FILE *f)
{
	const struct dft_ent *e = DFT_ENTS(g) + i;
	struct dft_str name = dft_graph_name(g, e);

	fprintf(f, "  e%" PRIu32 " [shape=ellipse, label=\"", i);
	if (name.n)
		put_text(f, base_of(name));
	else
		fprintf(f, "%016" PRIx64, e->id);
	if (e->type) {
		fputs("\\n", f);
		put_text(f, dft_graph_str(g, e->type));
	}
	fputs("\", tooltip=\"", f);
	if (name.n)
		put_text(f, name);
	else
		fprintf(f, "%016" PRIx64, e->id);
	fputs("\"];\n", f);
}

static void put_act(const struct dft_graph *g, uint32_t i, FILE *f)
{
	const struct dft_act *a = DFT_ACTS(g) + i;
	char name[DFT_ACT_SZ];

	fprintf(f, "  a%" PRIu32 " [shape=box, style=%s, label=\"", i,
		a->derived ? "\"filled,dashed\"" : "filled");
	put_text(f, dft_graph_str(g, a->label));
	fprintf(f, "\", tooltip=\"%s\"];\n", dft_act_name(name, a));
}

static void put_rel(const struct dft_rel *r, FILE *f)
{
	switch ((enum dft_kind)r->kind) {
	case DFT_USED:
		fprintf(f, "  e%" PRIu32 " -> a%" PRIu32 ";\n", r->ent, r->act);
		break;
	case DFT_GENERATED:
		fprintf(f, "  a%" PRIu32 " -> e%" PRIu32 ";\n", r->act, r->ent);
		break;
	case DFT_INVALIDATED:
		fprintf(f, "  e%" PRIu32 " -> a%" PRIu32 " [style=dotted, label=\"invalidated\"];\n",
			r->ent, r->act);
		break;
	default:
		fprintf(f, "  a%" PRIu32 " -> e%" PRIu32 " [dir=both, label=\"updated\"];\n", r->act,
			r->ent);
	}
}

int dft_graph_dot(const struct dft_graph *g, const struct dft_graph_part *part, FILE *f)
{
	char edge[DFT_EDGE_SZ];

	fputs("digraph provenance {\n  rankdir=LR;\n  node [fontsize=10];\n", f);
	for (uint32_t i = 0; i < g->ents.n; i++)
		if (dft_part_has_ent(g, part, i))
			put_ent(g, i, f);
	for (uint32_t i = 0; i < g->acts.n; i++)
		if (dft_part_has_act(g, part, i))
			put_act(g, i, f);
	for (size_t i = 0; i < g->rels.n; i++) {
		const struct dft_rel *r = DFT_RELS(g) + i;

		if (dft_part_has_act(g, part, r->act) && dft_part_has_ent(g, part, r->ent))
			put_rel(r, f);
	}
	for (size_t i = 0; i < g->ers.n; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (e->side & part->sides && dft_part_has_ent(g, part, e->subject) &&
		    dft_part_has_ent(g, part, e->object))
			fprintf(f, "  e%" PRIu32 " -> e%" PRIu32 " [style=dashed, label=\"%s\"];\n",
				e->object, e->subject, dft_edge_name(e->relation, edge));
	}
	fputs("}\n", f);
	return 0;
}
