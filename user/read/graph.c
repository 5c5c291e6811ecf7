// SPDX-License-Identifier: MIT
#include "graph.h"

#include <inttypes.h>

#include "log.h"
#include "prov.h"

static const char *const kind_names[DFT_KINDS] = { "used", "generated", "invalidated", "updated" };

static const char *const edge_names[] = {
	"derived_from", "revision_of", "contains", "part_of", "specialization_of", "alternate_of",
	"depends_on",
};

static const char *const store_names[] = {
	"memory", "gpu_memory", "local_disk", "parallel_fs", "burst_buffer", "object_store",
	"database", "network", "other",
};

static const char *const role_names[] = {
	"unknown", "input", "output", "intermediate", "parameter", "reference",
};

const char *dft_kind_name(enum dft_kind kind)
{
	return kind_names[kind];
}

const char *dft_store_name(uint32_t store)
{
	return store < sizeof(store_names) / sizeof(store_names[0]) ? store_names[store] : NULL;
}

const char *dft_role_text(uint32_t role)
{
	return role < sizeof(role_names) / sizeof(role_names[0]) ? role_names[role] : "unknown";
}

const char *dft_edge_name(uint32_t relation, char buf[DFT_EDGE_SZ])
{
	if (relation >= DFT_DERIVED_FROM && relation <= DFT_DEPENDS_ON)
		return edge_names[relation - DFT_DERIVED_FROM];
	snprintf(buf, DFT_EDGE_SZ, "relation %" PRIu32, relation);
	return buf;
}

char *dft_act_name(char buf[DFT_ACT_SZ], const struct dft_act *a)
{
	snprintf(buf, DFT_ACT_SZ, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, a->pid, a->id, a->ts);
	return buf;
}

uint64_t dft_act_begin_ns(const struct dft_act *a)
{
	return dft_mul_sat(a->ts, a->unit_ns);
}

uint64_t dft_act_end_ns(const struct dft_act *a)
{
	uint64_t end = a->ts;

	dft_add_sat(&end, a->dur);
	return dft_mul_sat(end, a->unit_ns);
}

uint64_t dft_entity_id(struct dft_str type, struct dft_str key)
{
	return dft_prov_id(type.s, type.n, key.s, key.n, "", 0);
}

void dft_graph_free(struct dft_graph *g)
{
	dft_rows_free(&g->ents);
	dft_rows_free(&g->acts);
	dft_rows_free(&g->rels);
	dft_rows_free(&g->ers);
	dft_rows_free(&g->types);
	dft_strings_free(&g->texts);
	dft_index_free(&g->text_at);
	dft_index_free(&g->ent_at);
	dft_index_free(&g->act_at);
	dft_index_free(&g->type_at);
	dft_naming_free(&g->naming);
	dft_auto_free(&g->autos);
	for (size_t i = 0; i < 4; i++) {
		struct dft_fan *fan = (struct dft_fan *[]){ &g->of_ent, &g->of_act, &g->ers_of,
							    &g->groups }[i];

		free(fan->at);
		free(fan->v);
	}
	memset(g, 0, sizeof(*g));
}

int dft_graph_text(struct dft_graph *g, struct dft_str s, uint64_t *at)
{
	uint64_t key = dft_hash_bytes(1, s.s, s.n), *slot;
	bool fresh;

	if (!s.n) {
		*at = 0;
		return 0;
	}
	for (;; key++) {
		struct dft_str is;
		int rc;

		slot = dft_index_put(&g->text_at, key, &fresh);
		if (!slot)
			return -ENOMEM;
		if (fresh) {
			rc = dft_strings_add(&g->texts, s, slot);
			*at = *slot;
			return rc;
		}
		is = dft_strings_at(&g->texts, *slot);
		if (dft_str_eq(is, s.s, s.n)) {
			*at = *slot;
			return 0;
		}
	}
}

struct dft_ent *dft_graph_ent(struct dft_graph *g, uint64_t id, uint32_t *nr)
{
	struct dft_ent *e;
	bool fresh;
	uint64_t *at = dft_index_put(&g->ent_at, id, &fresh);

	if (!at)
		return NULL;
	if (fresh) {
		e = dft_rows_add(&g->ents, sizeof(*e));
		if (!e)
			return NULL;
		e->id = id;
		e->store = DFT_NOTHING;
		*at = g->ents.n - 1;
	}
	if (nr)
		*nr = (uint32_t)*at;
	return DFT_ENTS(g) + *at;
}

static int compare_str(struct dft_str a, struct dft_str b)
{
	int c = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static bool same_act(const struct dft_act *a, const struct dft_act *b)
{
	return a->host == b->host && a->pid == b->pid && a->key == b->key && a->named == b->named &&
	       (a->named || a->ts == b->ts);
}

/* What two records say of one activity: of the longer one, so that the order does not matter. */
static bool says_more(const struct dft_graph *g, const struct dft_act *a, const struct dft_act *b)
{
	int c;

	if (a->dur != b->dur)
		return a->dur > b->dur;
	c = compare_str(dft_graph_str(g, a->label), dft_graph_str(g, b->label));
	return c ? c < 0 : compare_str(dft_graph_str(g, a->cat), dft_graph_str(g, b->cat)) < 0;
}

int dft_graph_act(struct dft_graph *g, const struct dft_act *like, uint32_t *nr)
{
	const uint64_t parts[] = { like->host, like->pid, like->named ? 0 : like->ts, like->key };
	uint64_t key = dft_hash_bytes(2, parts, sizeof(parts)), *at;
	struct dft_act *a;
	bool fresh;

	for (;; key++) {
		at = dft_index_put(&g->act_at, key, &fresh);
		if (!at)
			return -ENOMEM;
		if (fresh) {
			a = dft_rows_add(&g->acts, sizeof(*a));
			if (!a)
				return -ENOMEM;
			*a = *like;
			*at = g->acts.n - 1;
			break;
		}
		a = DFT_ACTS(g) + *at;
		if (!same_act(a, like))
			continue;
		if (says_more(g, like, a)) {
			a->dur = like->dur;
			a->label = like->label;
			a->cat = like->cat;
			a->id = like->id;
		}
		a->lacks |= like->lacks;
		if (like->ts < a->ts)
			a->ts = like->ts;
		break;
	}
	*nr = (uint32_t)*at;
	return 0;
}

int dft_graph_rel(struct dft_graph *g, uint32_t act, uint32_t ent, enum dft_kind kind)
{
	struct dft_rel *r = dft_rows_add(&g->rels, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct dft_rel){ .act = act, .ent = ent, .kind = kind };
	return 0;
}

static bool eh_before(const struct dft_graph *g, const struct dft_eh *eh, const struct dft_ent *e)
{
	int c = compare_str(eh->type, dft_graph_str(g, e->type));

	if (c)
		return c < 0;
	if (eh->store != e->store)
		return eh->store < e->store;
	return compare_str(eh->uri, dft_graph_str(g, e->uri)) < 0;
}

static bool origin_before(const struct dft_eh *eh, const struct dft_ent *e)
{
	if (eh->host != e->host)
		return eh->host < e->host;
	if (eh->fhash != e->fhash)
		return eh->fhash < e->fhash;
	return eh->mnt_ns < e->mnt_ns;
}

int dft_graph_eh(struct dft_graph *g, uint64_t id, const struct dft_eh *eh)
{
	struct dft_ent *e = dft_graph_ent(g, id, NULL);
	int rc = 0;

	if (!e)
		return -ENOMEM;
	e->sides |= eh->fhash ? DFT_AUTO : DFT_ANNOTATED;
	if (eh->fhash && (!e->fhash || origin_before(eh, e))) {
		e->host = eh->host;
		e->fhash = eh->fhash;
		e->mnt_ns = eh->mnt_ns;
	} else if (!e->fhash && (!e->host || eh->host < e->host ||
				 (eh->host == e->host && eh->mnt_ns < e->mnt_ns))) {
		e->host = eh->host;
		e->mnt_ns = eh->mnt_ns;
	}
	if (eh->late) {
		e->late = true;
		return 0;
	}
	if (e->declared && !eh_before(g, eh, e))
		return 0;
	e->declared = true;
	e->store = eh->store;
	rc = dft_graph_text(g, eh->type, &e->type);
	return rc ? rc : dft_graph_text(g, eh->uri, &e->uri);
}

int dft_graph_type(struct dft_graph *g, struct dft_str name, uint32_t role)
{
	struct dft_etype *t;
	uint64_t text, *at;
	bool fresh;
	int rc = dft_graph_text(g, name, &text);

	if (rc)
		return rc;
	at = dft_index_put(&g->type_at, text, &fresh);
	if (!at)
		return -ENOMEM;
	if (fresh) {
		t = dft_rows_add(&g->types, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->name = text;
		*at = g->types.n - 1;
	}
	t = DFT_TYPES(g) + *at;
	/* Of several roles, the first that says something. */
	if (role && (!t->role || role < t->role))
		t->role = role;
	return 0;
}

uint32_t dft_graph_role(const struct dft_graph *g, uint64_t type)
{
	const uint64_t *at = dft_index_get(&g->type_at, type);

	return at ? DFT_TYPES(g)[*at].role : 0;
}

int dft_graph_er(struct dft_graph *g, uint64_t subject, uint64_t object, uint32_t relation,
		 struct dft_str why)
{
	struct dft_er er = { .relation = relation, .side = why.n ? DFT_AUTO : DFT_ANNOTATED };
	struct dft_er *row;
	int rc = dft_graph_text(g, why, &er.why);

	if (rc)
		return rc;
	if (!dft_graph_ent(g, subject, &er.subject) || !dft_graph_ent(g, object, &er.object))
		return -ENOMEM;
	/* What programs relate is theirs; the tracer joins what is of either side. */
	if (er.side == DFT_ANNOTATED) {
		DFT_ENTS(g)[er.subject].sides |= DFT_ANNOTATED;
		DFT_ENTS(g)[er.object].sides |= DFT_ANNOTATED;
	}
	row = dft_rows_add(&g->ers, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = er;
	return 0;
}

struct dft_str dft_graph_name(const struct dft_graph *g, const struct dft_ent *e)
{
	struct dft_str name;

	/* A uri is cut, and not of all characters: the file's own name is better. */
	if (e->fhash && dft_naming_get(&g->naming, DFT_NAME_FH, e->fhash, &name) && name.n)
		return name;
	return dft_graph_str(g, e->uri ? e->uri : e->key);
}

bool dft_graph_shows_ent(const struct dft_graph *g, uint32_t ent, unsigned int sides)
{
	/* An entity that nobody declared or related to is of no side: it is in an edge. */
	unsigned int of = DFT_ENTS(g)[ent].sides;

	return !of || of & sides;
}

void dft_graph_no_memory(const char *cmd)
{
	dft_error("%s: %s (nothing of the result is to be used)", cmd, strerror(ENOMEM));
}
