// SPDX-License-Identifier: MIT
/*
 * Directories that got another name. The tracer tells of the two directories; what is below has new names
 * then, of which nothing is told. Where such a name has no origin of its own, it is that of the old name.
 */
#include "graph.h"
#include "prov.h"

/* A trace that moves a directory on and on must not cost more than its length, for each of its files. */
#define NAMES_MAX 32

struct move {
	uint64_t from; /* key of the old directory */
	uint64_t next; /* of the same new one: its number, plus 1 */
};

struct moving {
	struct dft_graph *g;
	struct dft_rows moves;
	struct dft_index at;      /* key of a directory's new name: the last move to it, plus 1 */
	struct dft_index by_hash; /* that key, by the hash of its text */
	struct dft_index known;   /* moves, by both keys: some are made again and again */
	struct dft_index gone;    /* keys of files that were removed */
	struct dft_index origins; /* keys of files that have one */
	/* Names that a file may have had: each behind the one from which it came. */
	struct dft_buf names[NAMES_MAX];
	size_t nnames;
};

#define MOVES(m) ((struct move *)(m)->moves.v)

/* One of a file is as good: nothing is below it. So what was not known to be a directory is found, too. */
bool dft_graph_is_move(const struct dft_graph *g, const struct dft_er *e)
{
	return e->side == DFT_AUTO && e->relation == DFT_DERIVED_FROM && DFT_ENTS(g)[e->subject].key &&
	       DFT_ENTS(g)[e->object].key;
}

static bool is_file(const struct dft_graph *g, const struct dft_ent *e)
{
	struct dft_str type = dft_graph_str(g, e->type);

	return e->key && e->fhash && (DFT_STR_IS(type, DFT_PROV_FILE) || DFT_STR_IS(type, DFT_PROV_PROGRAM));
}

static int add_move(struct moving *m, uint64_t from, uint64_t to)
{
	const uint64_t both[] = { from, to };
	struct dft_str name = dft_graph_str(m->g, to);
	uint64_t h = DFT_GROWING_BASIS, *at;
	struct move *move;
	bool fresh;

	if (!dft_index_put(&m->known, dft_hash_bytes(9, both, sizeof(both)), &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	move = dft_rows_add(&m->moves, sizeof(*move));
	at = dft_index_put(&m->at, to, &fresh);
	if (!move || !at)
		return -ENOMEM;
	move->from = from;
	move->next = *at;
	*at = m->moves.n;
	for (size_t i = 0; i < name.n; i++)
		h = dft_hash_grow(h, name.s[i]);
	at = dft_index_put(&m->by_hash, h, &fresh);
	if (!at)
		return -ENOMEM;
	if (fresh)
		*at = to;
	return 0;
}

static int add_origin(struct moving *m, uint32_t ent)
{
	uint64_t key = DFT_ENTS(m->g)[ent].key;
	bool fresh;

	if (!key || dft_index_get(&m->gone, key))
		return 0;
	return dft_index_put(&m->origins, key, &fresh) ? 0 : -ENOMEM;
}

/* Who made the files, or from which name they have their own. One that was removed may be another now. */
static int find_origins(struct moving *m)
{
	struct dft_graph *g = m->g;
	bool fresh;
	int rc = 0;

	for (size_t i = 0; i < g->rels.n; i++) {
		const struct dft_rel *r = DFT_RELS(g) + i;

		if (r->kind == DFT_INVALIDATED && DFT_ENTS(g)[r->ent].key &&
		    !dft_index_put(&m->gone, DFT_ENTS(g)[r->ent].key, &fresh))
			return -ENOMEM;
	}
	for (size_t i = 0; i < g->rels.n && !rc; i++)
		if (DFT_RELS(g)[i].kind == DFT_GENERATED)
			rc = add_origin(m, DFT_RELS(g)[i].ent);
	for (size_t i = 0; i < g->ers.n && !rc; i++)
		if (dft_graph_is_move(g, DFT_ERS(g) + i))
			rc = add_origin(m, DFT_ERS(g)[i].subject);
	return rc;
}

/* A file of that name, as one of its types. */
static bool find_file(const struct moving *m, struct dft_str key, uint64_t *id)
{
	static const struct dft_str types[] = {
		{ DFT_PROV_FILE, sizeof(DFT_PROV_FILE) - 1 },
		{ DFT_PROV_PROGRAM, sizeof(DFT_PROV_PROGRAM) - 1 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		*id = dft_entity_id(types[i], key);
		if (dft_index_get(&m->g->ent_at, *id))
			return true;
	}
	return false;
}

/* The name has moved with this directory of it, so many bytes long. */
static int follow(struct moving *m, size_t name, size_t dir, const struct move *move, uint64_t subject)
{
	struct dft_str from = dft_graph_str(m->g, move->from), why = { "rename", strlen("rename") };
	struct dft_buf *old;
	uint64_t object;

	if (m->nnames == NAMES_MAX)
		return 0;
	old = &m->names[m->nnames];
	old->len = 0;
	dft_buf_append(old, from.s, from.n);
	dft_buf_append(old, m->names[name].data + dir, m->names[name].len - dir);
	if (old->failed)
		return -ENOMEM;
	if (!find_file(m, (struct dft_str){ old->data, old->len }, &object)) {
		for (size_t i = 0; i < m->nnames; i++)
			if (m->names[i].len == old->len && !memcmp(m->names[i].data, old->data, old->len))
				return 0;
		m->nnames++; /* it had moved before, perhaps */
		return 0;
	}
	return object == subject ? 0 : dft_graph_er(m->g, subject, object, DFT_DERIVED_FROM, why);
}

/* All directories of one of the names. */
static int look_up(struct moving *m, size_t name, uint64_t subject)
{
	uint64_t h = DFT_GROWING_BASIS;
	int rc = 0;

	for (size_t i = 0; i < m->names[name].len && !rc; i++) {
		const char *s = m->names[name].data;
		const uint64_t *to = s[i] == '/' ? dft_index_get(&m->by_hash, h) : NULL;
		uint64_t nr = to ? *dft_index_get(&m->at, *to) : 0;

		if (nr && !dft_str_eq(dft_graph_str(m->g, *to), s, i))
			nr = 0;
		for (; nr && !rc && m->nnames < NAMES_MAX; nr = MOVES(m)[nr - 1].next)
			rc = follow(m, name, i, MOVES(m) + nr - 1, subject);
		h = dft_hash_grow(h, s[i]);
	}
	return rc;
}

static int move_file(struct moving *m, size_t nr)
{
	struct dft_ent e = DFT_ENTS(m->g)[nr];
	struct dft_str key = dft_graph_str(m->g, e.key);
	int rc = 0;

	m->names[0].len = 0;
	dft_buf_append(&m->names[0], key.s, key.n);
	if (m->names[0].failed)
		return -ENOMEM;
	m->nnames = 1;
	for (size_t i = 0; i < m->nnames && !rc; i++)
		rc = look_up(m, i, e.id);
	return rc;
}

int dft_graph_move_dirs(struct dft_graph *g)
{
	struct moving m = { .g = g };
	size_t nents = g->ents.n;
	int rc = 0;

	for (size_t i = 0; i < g->ers.n && !rc; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (dft_graph_is_move(g, e))
			rc = add_move(&m, DFT_ENTS(g)[e->object].key, DFT_ENTS(g)[e->subject].key);
	}
	if (!rc && m.moves.n)
		rc = find_origins(&m);
	for (size_t i = 0; i < nents && !rc && m.moves.n; i++)
		if (is_file(g, DFT_ENTS(g) + i) && !dft_index_get(&m.origins, DFT_ENTS(g)[i].key))
			rc = move_file(&m, i);
	for (size_t i = 0; i < NAMES_MAX; i++)
		dft_buf_free(&m.names[i]);
	dft_rows_free(&m.moves);
	dft_index_free(&m.at);
	dft_index_free(&m.by_hash);
	dft_index_free(&m.known);
	dft_index_free(&m.gone);
	dft_index_free(&m.origins);
	return rc;
}
