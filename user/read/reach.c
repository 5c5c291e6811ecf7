// SPDX-License-Identifier: MIT
#include "reach.h"

/*
 * With times: each entity has a limit. Going back it is the last moment at which its content can have
 * gone into the start, and an activity counts that began by then; what that activity used must have
 * been there before the activity ended, and not after the limit it has itself. Going onwards it is the
 * first moment at which the entity can hold something of the start, and an activity counts that ended
 * later. Where several ways lead to an entity, the most generous limit holds.
 */
struct limit {
	uint64_t t;
	uint32_t node; /* entities first, then activities */
};

struct walk {
	const struct dft_graph *g;
	const struct dft_reach_opts *o;
	unsigned int in, out; /* relations on this and on the far side of an activity */
	struct dft_reach *r;
	uint8_t *seen;    /* entities */
	uint64_t *limits; /* of entities; NULL when times do not matter */
	struct limit *heap;
	size_t heap_n, heap_cap;
	uint8_t *settled;
	int err;
};

void dft_reach_free(struct dft_reach *r)
{
	free(r->visits);
	free(r->acts);
	memset(r, 0, sizeof(*r));
}

/* ---- what may be passed --------------------------------------------------------------------- */

static bool er_counts(const struct walk *w, const struct dft_er *e)
{
	return e->side & w->o->sides && (w->o->edges || e->side == DFT_AUTO);
}

/* Whether an edge leads from `ent` on, and where to: content goes from the object to the subject. */
static bool er_leads(const struct walk *w, const struct dft_er *e, uint32_t ent, uint32_t *to)
{
	/* A whole is made of its parts, whichever of both the edge begins with. */
	bool turned = e->relation == DFT_PART_OF;
	uint32_t made = turned ? e->object : e->subject, source = turned ? e->subject : e->object;

	if (!er_counts(w, e))
		return false;
	if (e->relation == DFT_ALTERNATE_OF)
		*to = ent == e->subject ? e->object : e->subject;
	else if (ent == (w->o->impact ? source : made))
		*to = w->o->impact ? made : source;
	else
		return false;
	return dft_graph_shows_ent(w->g, *to, w->o->sides);
}

/* Joining makes no sense where only programs' own words count. */
static bool joins(const struct walk *w)
{
	return w->o->sides & DFT_AUTO;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Whether limit a is more generous than b. */
static bool wider(const struct walk *w, uint64_t a, uint64_t b)
{
	return w->o->impact ? a < b : a > b;
}

static bool in_time(const struct walk *w, const struct dft_act *a, uint64_t limit)
{
	return w->o->impact ? dft_act_end_ns(a) >= limit : dft_act_begin_ns(a) <= limit;
}

/* The limit beyond an activity. */
static uint64_t narrowed(const struct walk *w, const struct dft_act *a, uint64_t limit)
{
	uint64_t t = w->o->impact ? dft_act_begin_ns(a) : dft_act_end_ns(a);

	return wider(w, limit, t) ? t : limit;
}

static void heap_put(struct walk *w, uint64_t t, uint32_t node)
{
	size_t i;

	if (w->heap_n == w->heap_cap) {
		size_t cap = w->heap_cap ? w->heap_cap * 2 : 1024;
		struct limit *heap = reallocarray(w->heap, cap, sizeof(*heap));

		if (!heap) {
			w->err = -ENOMEM;
			return;
		}
		w->heap = heap;
		w->heap_cap = cap;
	}
	for (i = w->heap_n++; i && wider(w, t, w->heap[(i - 1) / 2].t); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = (struct limit){ t, node };
}

static struct limit heap_take(struct walk *w)
{
	struct limit top = w->heap[0], last = w->heap[--w->heap_n];
	size_t i = 0;

	while (2 * i + 1 < w->heap_n) {
		size_t k = 2 * i + 1;

		if (k + 1 < w->heap_n && wider(w, w->heap[k + 1].t, w->heap[k].t))
			k++;
		if (!wider(w, w->heap[k].t, last.t))
			break;
		w->heap[i] = w->heap[k];
		i = k;
	}
	w->heap[i] = last;
	return top;
}

static void settle_ent(struct walk *w, uint32_t ent, uint64_t limit)
{
	const struct dft_graph *g = w->g;
	uint32_t group = DFT_ENTS(g)[ent].group;

	w->limits[ent] = limit;
	for (uint32_t i = g->of_ent.at[ent]; i < g->of_ent.at[ent + 1]; i++) {
		const struct dft_rel *rel = DFT_RELS(g) + g->of_ent.v[i];
		const struct dft_act *a = DFT_ACTS(g) + rel->act;

		if (a->side & w->o->sides && w->in & 1u << rel->kind && in_time(w, a, limit))
			heap_put(w, narrowed(w, a, limit), (uint32_t)g->ents.n + rel->act);
	}
	for (uint32_t i = g->ers_of.at[ent]; i < g->ers_of.at[ent + 1]; i++) {
		uint32_t to;

		if (er_leads(w, DFT_ERS(g) + g->ers_of.v[i], ent, &to))
			heap_put(w, limit, to);
	}
	/* The first of a group tells the others; here `seen` is of groups. */
	if (!joins(w) || w->seen[group])
		return;
	w->seen[group] = 1;
	for (uint32_t i = g->groups.at[group]; i < g->groups.at[group + 1]; i++)
		if (!w->settled[g->groups.v[i]] && dft_graph_shows_ent(g, g->groups.v[i], w->o->sides))
			heap_put(w, limit, g->groups.v[i]);
}

static void settle_act(struct walk *w, uint32_t act, uint64_t limit)
{
	const struct dft_graph *g = w->g;

	for (uint32_t i = g->of_act.at[act]; i < g->of_act.at[act + 1]; i++) {
		const struct dft_rel *rel = DFT_RELS(g) + g->of_act.v[i];

		if (w->out & 1u << rel->kind && !w->settled[rel->ent])
			heap_put(w, limit, rel->ent);
	}
}

/* The limit of every entity that is in time. Each is settled once, the most generous limits first. */
static void find_limits(struct walk *w, uint32_t start)
{
	size_t ents = w->g->ents.n;

	heap_put(w, w->o->impact ? 0 : UINT64_MAX, start);
	while (w->heap_n && !w->err) {
		struct limit l = heap_take(w);

		if (w->settled[l.node])
			continue;
		w->settled[l.node] = 1;
		if (l.node < ents)
			settle_ent(w, l.node, l.t);
		else
			settle_act(w, l.node - (uint32_t)ents, l.t);
	}
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void visit(struct walk *w, uint32_t ent, uint32_t from, enum dft_how how, uint32_t nr,
		  uint32_t depth)
{
	const struct dft_graph *g = w->g;
	uint32_t group = DFT_ENTS(g)[ent].group;

	if (w->seen[ent])
		return;
	w->seen[ent] = 1;
	w->r->visits[w->r->n++] = (struct dft_visit){ ent, from, nr, depth, how };
	for (uint32_t i = g->groups.at[group]; joins(w) && i < g->groups.at[group + 1]; i++) {
		uint32_t other = g->groups.v[i];

		if (w->seen[other] || !dft_graph_shows_ent(g, other, w->o->sides))
			continue;
		w->seen[other] = 1;
		w->r->visits[w->r->n++] =
			(struct dft_visit){ other, ent, DFT_NOTHING, depth, DFT_BY_JOIN };
	}
}

static void pass(struct walk *w, uint32_t act, uint32_t from, uint32_t depth)
{
	const struct dft_graph *g = w->g;

	w->r->acts[act] = 1;
	w->r->acts_cnt++;
	for (uint32_t i = g->of_act.at[act]; i < g->of_act.at[act + 1]; i++) {
		const struct dft_rel *rel = DFT_RELS(g) + g->of_act.v[i];

		if (w->out & 1u << rel->kind)
			visit(w, rel->ent, from, DFT_BY_ACTIVITY, act, depth);
	}
}

static void go_on(struct walk *w, const struct dft_visit *v)
{
	const struct dft_graph *g = w->g;

	for (uint32_t i = g->of_ent.at[v->ent]; i < g->of_ent.at[v->ent + 1]; i++) {
		const struct dft_rel *rel = DFT_RELS(g) + g->of_ent.v[i];
		const struct dft_act *a = DFT_ACTS(g) + rel->act;

		if (w->r->acts[rel->act] || !(a->side & w->o->sides) || !(w->in & 1u << rel->kind) ||
		    (w->limits && !in_time(w, a, w->limits[v->ent])))
			continue;
		pass(w, rel->act, v->ent, v->depth + 1);
	}
	for (uint32_t i = g->ers_of.at[v->ent]; i < g->ers_of.at[v->ent + 1]; i++) {
		uint32_t nr = g->ers_of.v[i], to;

		if (er_leads(w, DFT_ERS(g) + nr, v->ent, &to))
			visit(w, to, v->ent, DFT_BY_EDGE, nr, v->depth + 1);
	}
}

static int run(struct walk *w, uint32_t start)
{
	const struct dft_graph *g = w->g;

	w->r->visits = calloc(g->ents.n + 1, sizeof(*w->r->visits));
	w->r->acts = calloc(g->acts.n + 1, 1);
	w->seen = calloc(g->ents.n + 1, 1);
	if (!w->r->visits || !w->r->acts || !w->seen)
		return -ENOMEM;
	if (w->o->time_aware) {
		w->limits = calloc(g->ents.n + 1, sizeof(*w->limits));
		w->settled = calloc(g->ents.n + g->acts.n + 1, 1);
		if (!w->limits || !w->settled)
			return -ENOMEM;
		find_limits(w, start);
		if (w->err)
			return w->err;
		memset(w->seen, 0, g->ents.n);
	}
	visit(w, start, DFT_NOTHING, DFT_BY_START, DFT_NOTHING, 0);
	for (size_t i = 0; i < w->r->n; i++) {
		struct dft_visit v = w->r->visits[i];

		if (w->o->depth && v.depth >= w->o->depth)
			break;
		go_on(w, &v);
	}
	return 0;
}

int dft_reach(const struct dft_graph *g, uint32_t start, const struct dft_reach_opts *opts,
	      struct dft_reach *out)
{
	const unsigned int made = 1u << DFT_GENERATED | 1u << DFT_UPDATED;
	const unsigned int had = 1u << DFT_USED | 1u << DFT_INVALIDATED;
	struct walk w = { .g = g, .o = opts, .r = out };
	int rc;

	w.in = opts->via & (opts->impact ? had : made);
	w.out = opts->via & (opts->impact ? made : had);
	memset(out, 0, sizeof(*out));
	rc = run(&w, start);
	free(w.seen);
	free(w.limits);
	free(w.settled);
	free(w.heap);
	return rc;
}
