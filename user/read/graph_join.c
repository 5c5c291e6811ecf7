// SPDX-License-Identifier: MIT
/* From what threads have gathered to one graph: adding up, an order, what is one thing, and who has what. */
#include <inttypes.h>

#include "graph.h"
#include "prov.h"

/* ---- adding up ------------------------------------------------------------------------------ */

static int merge_ents(struct dft_graph *to, const struct dft_graph *from, uint32_t *map)
{
	for (size_t i = 0; i < from->ents.n; i++) {
		const struct dft_ent *e = DFT_ENTS(from) + i;
		struct dft_eh eh = { .type = dft_graph_str(from, e->type),
				     .uri = dft_graph_str(from, e->uri), .store = e->store,
				     .host = e->host, .fhash = e->fhash, .mnt_ns = e->mnt_ns,
				     .late = !e->declared };
		struct dft_ent *t = dft_graph_ent(to, e->id, &map[i]);
		int rc;

		if (!t)
			return -ENOMEM;
		t->sides |= e->sides;
		if (!e->declared && !e->late)
			continue;
		rc = dft_graph_eh(to, e->id, &eh);
		if (rc)
			return rc;
		DFT_ENTS(to)[map[i]].late |= e->late;
	}
	return 0;
}

static int merge_text(struct dft_graph *to, const struct dft_graph *from, uint64_t *at)
{
	return dft_graph_text(to, dft_graph_str(from, *at), at);
}

static int merge_acts(struct dft_graph *to, const struct dft_graph *from, uint32_t *map)
{
	for (size_t i = 0; i < from->acts.n; i++) {
		struct dft_act a = DFT_ACTS(from)[i];
		int rc = merge_text(to, from, &a.label);

		if (!rc)
			rc = merge_text(to, from, &a.cat);
		if (!rc)
			rc = dft_graph_act(to, &a, &map[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int merge_rest(struct dft_graph *to, const struct dft_graph *from, const uint32_t *ents,
		      const uint32_t *acts)
{
	int rc = 0;

	for (size_t i = 0; i < from->rels.n && !rc; i++) {
		const struct dft_rel *r = DFT_RELS(from) + i;

		rc = dft_graph_rel(to, acts[r->act], ents[r->ent], r->kind);
	}
	for (size_t i = 0; i < from->ers.n && !rc; i++) {
		const struct dft_er *e = DFT_ERS(from) + i;

		rc = dft_graph_er(to, DFT_ENTS(from)[e->subject].id, DFT_ENTS(from)[e->object].id,
				  e->relation, dft_graph_str(from, e->why));
	}
	for (size_t i = 0; i < from->types.n && !rc; i++)
		rc = dft_graph_type(to, dft_graph_str(from, DFT_TYPES(from)[i].name),
				    DFT_TYPES(from)[i].role);
	if (!rc)
		rc = dft_naming_merge(&to->naming, &from->naming);
	return rc ? rc : dft_auto_merge(&to->autos, &from->autos);
}

int dft_graph_merge(struct dft_graph *to, const struct dft_graph *from)
{
	uint32_t *ents = calloc(from->ents.n + 1, sizeof(*ents));
	uint32_t *acts = calloc(from->acts.n + 1, sizeof(*acts));
	int rc = ents && acts ? merge_ents(to, from, ents) : -ENOMEM;

	if (!rc)
		rc = merge_acts(to, from, acts);
	if (!rc)
		rc = merge_rest(to, from, ents, acts);
	free(ents);
	free(acts);
	return rc;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void put_str(struct dft_buf *buf, struct dft_str s)
{
	dft_buf_append(buf, s.s, s.n);
}

/* 0 or -ENOMEM; the key is in the buffer. */
static int compose_key(const struct dft_graph *g, struct dft_buf *buf, uint64_t host, uint64_t mnt_ns,
		       struct dft_str path)
{
	struct dft_str name = { "", 0 };

	buf->len = 0;
	if (host && dft_naming_get(&g->naming, DFT_NAME_HH, host, &name)) {
		put_str(buf, name);
		dft_buf_putc(buf, ':');
	}
	/* A pipe has its number all over the host. */
	if (mnt_ns && path.n && path.s[0] == '/') {
		dft_buf_u64(buf, mnt_ns);
		dft_buf_putc(buf, ':');
	}
	put_str(buf, path);
	return buf->failed ? -ENOMEM : 0;
}

int dft_graph_key(struct dft_graph *g, struct dft_buf *buf, uint64_t host, uint64_t mnt_ns,
		  struct dft_str path, uint64_t *at)
{
	int rc = compose_key(g, buf, host, mnt_ns, path);

	return rc ? rc : dft_graph_text(g, (struct dft_str){ buf->data, buf->len }, at);
}

/*
 * Which key the tracer gave to an entity: its id tells, for there are three ways to make one. Keys say
 * which entities are one file, whatever their type.
 */
static int find_key(struct dft_graph *g, struct dft_buf *buf, uint32_t nr)
{
	struct dft_ent e = DFT_ENTS(g)[nr];
	const uint64_t ways[][2] = { { 0, 0 }, { e.host, 0 }, { e.host, e.mnt_ns } };
	struct dft_str path;

	if (!e.fhash || !dft_naming_get(&g->naming, DFT_NAME_FH, e.fhash, &path))
		return 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int rc = compose_key(g, buf, ways[i][0], ways[i][1], path);
		struct dft_str key = { buf->data ? buf->data : "", buf->len };

		if (rc)
			return rc;
		if (dft_entity_id(dft_graph_str(g, e.type), key) == e.id)
			return dft_graph_text(g, key, &DFT_ENTS(g)[nr].key);
	}
	return 0;
}

static int find_keys(struct dft_graph *g)
{
	struct dft_buf buf = DFT_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < g->ents.n && !rc; i++)
		rc = find_key(g, &buf, (uint32_t)i);
	dft_buf_free(&buf);
	return rc;
}

/* ---- order ---------------------------------------------------------------------------------- */

static int by_id(const void *x, const void *y, void *g)
{
	const struct dft_ent *a = DFT_ENTS((struct dft_graph *)g) + *(const uint32_t *)x;
	const struct dft_ent *b = DFT_ENTS((struct dft_graph *)g) + *(const uint32_t *)y;

	return (a->id > b->id) - (a->id < b->id);
}

static int by_time(const void *x, const void *y, void *g)
{
	const struct dft_act *a = DFT_ACTS((struct dft_graph *)g) + *(const uint32_t *)x;
	const struct dft_act *b = DFT_ACTS((struct dft_graph *)g) + *(const uint32_t *)y;
	const uint64_t p[] = { dft_act_begin_ns(a), a->pid, a->id, a->host, a->key, a->ts, a->named };
	const uint64_t q[] = { dft_act_begin_ns(b), b->pid, b->id, b->host, b->key, b->ts, b->named };

	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* Brings rows into an order; `place` gets for each old index the new one. */
static int reorder(struct dft_graph *g, struct dft_rows *rows, size_t size,
		   int (*cmp)(const void *, const void *, void *), uint32_t *place)
{
	uint32_t *order = calloc(rows->n + 1, sizeof(*order));
	char *v = calloc(rows->n + 1, size);

	if (!order || !v) {
		free(order);
		free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rows->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, rows->n, sizeof(*order), cmp, g);
	for (size_t i = 0; i < rows->n; i++) {
		memcpy(v + i * size, (char *)rows->v + order[i] * size, size);
		place[order[i]] = (uint32_t)i;
	}
	free(order);
	free(rows->v);
	rows->v = v;
	rows->cap = rows->n + 1;
	return 0;
}

static int rel_order(const void *x, const void *y, void *g)
{
	const struct dft_rel *a = x, *b = y;

	(void)g;
	if (a->act != b->act)
		return a->act < b->act ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->ent > b->ent) - (a->ent < b->ent);
}

static int er_order(const void *x, const void *y, void *g)
{
	const struct dft_er *a = x, *b = y;
	struct dft_str s, t;
	int c;

	if (a->subject != b->subject)
		return a->subject < b->subject ? -1 : 1;
	if (a->relation != b->relation)
		return a->relation < b->relation ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	s = dft_graph_str(g, a->why);
	t = dft_graph_str(g, b->why);
	c = memcmp(s.s, t.s, s.n < t.n ? s.n : t.n);
	return c ? c : (s.n > t.n) - (s.n < t.n);
}

/* Sorts, and keeps one of those that are equal. */
static void keep_each_once(struct dft_graph *g, struct dft_rows *rows, size_t size,
			   int (*cmp)(const void *, const void *, void *))
{
	char *at = rows->v;
	size_t kept = 0;

	if (!rows->n)
		return;
	qsort_r(at, rows->n, size, cmp, g);
	for (size_t i = 1; i < rows->n; i++)
		if (cmp(at + kept * size, at + i * size, g) && ++kept < i)
			memcpy(at + kept * size, at + i * size, size);
	rows->n = kept + 1;
}

static int bring_in_order(struct dft_graph *g)
{
	uint32_t *ents = calloc(g->ents.n + 1, sizeof(*ents));
	uint32_t *acts = calloc(g->acts.n + 1, sizeof(*acts));
	int rc = ents && acts ? reorder(g, &g->ents, sizeof(struct dft_ent), by_id, ents) : -ENOMEM;

	if (!rc)
		rc = reorder(g, &g->acts, sizeof(struct dft_act), by_time, acts);
	for (size_t i = 0; i < g->rels.n && !rc; i++) {
		DFT_RELS(g)[i].act = acts[DFT_RELS(g)[i].act];
		DFT_RELS(g)[i].ent = ents[DFT_RELS(g)[i].ent];
	}
	for (size_t i = 0; i < g->ers.n && !rc; i++) {
		DFT_ERS(g)[i].subject = ents[DFT_ERS(g)[i].subject];
		DFT_ERS(g)[i].object = ents[DFT_ERS(g)[i].object];
	}
	free(ents);
	free(acts);
	if (rc)
		return rc;
	keep_each_once(g, &g->rels, sizeof(struct dft_rel), rel_order);
	keep_each_once(g, &g->ers, sizeof(struct dft_er), er_order);
	/* These tell of indices that are no more. */
	dft_index_free(&g->ent_at);
	dft_index_free(&g->act_at);
	return 0;
}

/* ---- what is one thing ---------------------------------------------------------------------- */

static uint32_t top_of(struct dft_ent *ents, uint32_t i)
{
	while (ents[i].group != i) {
		ents[i].group = ents[ents[i].group].group;
		i = ents[i].group;
	}
	return i;
}

static void unite(struct dft_graph *g, uint32_t a, uint32_t b)
{
	struct dft_ent *ents = DFT_ENTS(g);

	a = top_of(ents, a);
	b = top_of(ents, b);
	/* The first in order is the top, so that nothing depends on who met whom. */
	if (a < b)
		ents[b].group = a;
	else
		ents[a].group = b;
}

/* Entities that have the same key here are one; `key` 0 is none. */
static int unite_at(struct dft_graph *g, struct dft_index *at, uint64_t key, uint32_t ent)
{
	bool fresh;
	uint64_t *first = dft_index_put(at, key, &fresh);

	if (!first)
		return -ENOMEM;
	if (fresh)
		*first = ent;
	else
		unite(g, (uint32_t)*first, ent);
	return 0;
}

static uint64_t place_of(uint64_t host, uint64_t mnt_ns, uint64_t what)
{
	const uint64_t parts[] = { host, mnt_ns, what };

	return dft_hash_bytes(8, parts, sizeof(parts));
}

/* Automatic entities by key; where that is not known, by where their file was seen. */
static int unite_files(struct dft_graph *g)
{
	struct dft_index at = { 0 };
	int rc = 0;

	for (size_t i = 0; i < g->ents.n && !rc; i++) {
		const struct dft_ent *e = DFT_ENTS(g) + i;

		if (e->key)
			rc = unite_at(g, &at, place_of(0, 0, e->key), (uint32_t)i);
		else if (e->fhash)
			rc = unite_at(g, &at, place_of(e->host, e->mnt_ns, ~e->fhash), (uint32_t)i);
	}
	dft_index_free(&at);
	return rc;
}

/* A file's whole name is its uri: nothing was cut or replaced. */
static bool named_by_uri(const struct dft_graph *g, const struct dft_ent *e)
{
	struct dft_str path, uri = dft_graph_str(g, e->uri);

	return e->fhash && uri.n && dft_naming_get(&g->naming, DFT_NAME_FH, e->fhash, &path) &&
	       dft_str_eq(path, uri.s, uri.n);
}

/* Files that other hosts see as well have the path alone as key. */
static bool is_shared(const struct dft_graph *g, const struct dft_ent *e)
{
	return e->key && e->key == e->uri && dft_graph_str(g, e->key).s[0] == '/';
}

/* What a program calls by a name of its own, and says in which file it is. */
static int unite_alternates(struct dft_graph *g)
{
	struct dft_index at = { 0 };
	uint64_t *file = NULL;
	bool fresh;
	int rc = 0;

	for (size_t i = 0; i < g->ents.n && !rc; i++) {
		const struct dft_ent *e = DFT_ENTS(g) + i;
		bool shared = is_shared(g, e);

		if (!named_by_uri(g, e))
			continue;
		file = dft_index_put(&at, place_of(shared ? 0 : e->host, shared ? 0 : e->mnt_ns, e->uri),
				     &fresh);
		if (!file)
			rc = -ENOMEM;
		else if (fresh)
			*file = i;
	}
	for (size_t i = 0; i < g->ents.n && !rc; i++) {
		const struct dft_ent *e = DFT_ENTS(g) + i;

		if (e->fhash || !e->uri || dft_graph_str(g, e->uri).s[0] != '/')
			continue;
		file = dft_index_get(&at, place_of(e->host, e->mnt_ns, e->uri));
		if (!file)
			file = dft_index_get(&at, place_of(0, 0, e->uri));
		if (file)
			unite(g, (uint32_t)*file, (uint32_t)i);
	}
	dft_index_free(&at);
	for (size_t i = 0; i < g->ers.n; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (e->relation == DFT_ALTERNATE_OF && e->side == DFT_AUTO)
			unite(g, e->subject, e->object);
	}
	return rc;
}

static int find_groups(struct dft_graph *g)
{
	int rc;

	for (size_t i = 0; i < g->ents.n; i++)
		DFT_ENTS(g)[i].group = (uint32_t)i;
	rc = unite_files(g);
	if (!rc)
		rc = unite_alternates(g);
	for (size_t i = 0; i < g->ents.n; i++)
		DFT_ENTS(g)[i].group = top_of(DFT_ENTS(g), (uint32_t)i);
	return rc;
}

/* ---- who has what --------------------------------------------------------------------------- */

/* `owner` tells of which of n things the i-th one is, in its k-th way, or DFT_NOTHING. */
static int make_fan(struct dft_fan *fan, const struct dft_graph *g, size_t n, size_t cnt, int ways,
		    uint32_t (*owner)(const struct dft_graph *g, size_t i, int k))
{
	size_t all = 0;

	fan->at = calloc(n + 2, sizeof(*fan->at));
	if (!fan->at || cnt > UINT32_MAX / (size_t)ways)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		for (int k = 0; k < ways; k++) {
			uint32_t o = owner(g, i, k);

			if (o != DFT_NOTHING) {
				fan->at[o + 2]++;
				all++;
			}
		}
	fan->v = calloc(all + 1, sizeof(*fan->v));
	if (!fan->v)
		return -ENOMEM;
	for (size_t i = 2; i < n + 2; i++)
		fan->at[i] += fan->at[i - 1];
	for (size_t i = 0; i < cnt; i++)
		for (int k = 0; k < ways; k++) {
			uint32_t o = owner(g, i, k);

			if (o != DFT_NOTHING)
				fan->v[fan->at[o + 1]++] = (uint32_t)i;
		}
	return 0;
}

static uint32_t ent_of_rel(const struct dft_graph *g, size_t i, int k)
{
	(void)k;
	return DFT_RELS(g)[i].ent;
}

static uint32_t act_of_rel(const struct dft_graph *g, size_t i, int k)
{
	(void)k;
	return DFT_RELS(g)[i].act;
}

static uint32_t end_of_er(const struct dft_graph *g, size_t i, int k)
{
	const struct dft_er *e = DFT_ERS(g) + i;

	if (k && e->subject == e->object)
		return DFT_NOTHING;
	return k ? e->object : e->subject;
}

static uint32_t group_of_ent(const struct dft_graph *g, size_t i, int k)
{
	(void)k;
	return DFT_ENTS(g)[i].group;
}

int dft_graph_complete(struct dft_graph *g)
{
	int rc = find_keys(g);

	if (!rc && g->derive)
		rc = dft_auto_derive(g);
	dft_auto_free(&g->autos);
	if (!rc)
		rc = dft_graph_move_dirs(g);
	if (!rc)
		rc = bring_in_order(g);
	if (!rc)
		rc = find_groups(g);
	if (!rc)
		rc = make_fan(&g->of_ent, g, g->ents.n, g->rels.n, 1, ent_of_rel);
	if (!rc)
		rc = make_fan(&g->of_act, g, g->acts.n, g->rels.n, 1, act_of_rel);
	if (!rc)
		rc = make_fan(&g->ers_of, g, g->ents.n, g->ers.n, 2, end_of_er);
	if (!rc)
		rc = make_fan(&g->groups, g, g->ents.n, g->ents.n, 1, group_of_ent);
	for (size_t i = 0; i < g->ents.n && !rc; i++)
		g->undeclared += !DFT_ENTS(g)[i].declared && !DFT_ENTS(g)[i].late;
	for (size_t i = 0; i < g->acts.n && !rc; i++)
		g->derived += DFT_ACTS(g)[i].derived;
	return rc;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int begin_file(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct dft_graph *g = state;

	(void)file;
	g->derive = *(const unsigned int *)ctx & DFT_AUTO;
	g->unit_ns = 1000;
	g->mnt_ns = 0;
	dft_auto_begin(&g->autos);
	return 0;
}

static int take_record(void *state, void *ctx, const struct dft_record *r, struct dft_jsonr *json,
		       const struct dft_line *line)
{
	(void)ctx;
	(void)line;
	return dft_graph_record(state, r, json);
}

static int end_file(void *state, void *ctx, const struct dft_pass_file *file,
		    const struct dft_pass_end *end)
{
	struct dft_graph *g = state;

	(void)ctx;
	(void)file;
	(void)end;
	return dft_auto_end(&g->autos);
}

static const struct dft_pass_ops ops = {
	.state_sz = sizeof(struct dft_graph),
	.begin = begin_file,
	.record = take_record,
	.end = end_file,
};

int dft_graph_load(struct dft_graph *g, struct dft_pass *pass, const char *cmd, unsigned int sides,
		   int argc, char **argv)
{
	int rc;

	*pass = (struct dft_pass){ .cmd = cmd, .ops = &ops, .ctx = &sides };
	rc = dft_pass_run(pass, argc, argv);
	if (!rc && pass->nstates) {
		/* The first thread's becomes the whole. */
		*g = *(struct dft_graph *)dft_pass_state(pass, 0);
		memset(dft_pass_state(pass, 0), 0, sizeof(*g));
	} else if (pass->nstates) {
		dft_graph_free(dft_pass_state(pass, 0));
	}
	for (size_t i = 1; i < pass->nstates; i++) {
		struct dft_graph *part = dft_pass_state(pass, i);
		bool more = !rc && (part->ents.n || part->naming.at.cnt || part->autos.procs.n);

		if (more)
			rc = dft_graph_merge(g, part);
		if (more && rc)
			dft_graph_no_memory(cmd);
		dft_graph_free(part);
	}
	if (rc)
		return rc;
	g->derive = sides & DFT_AUTO;
	rc = dft_graph_complete(g);
	if (rc)
		dft_graph_no_memory(cmd);
	return rc;
}
