// SPDX-License-Identifier: MIT
/* Records to the graph: entities, relations and edges as the format has them, and as earlier ones had. */
#include "graph.h"

static const struct dft_str none = { "", 0 };

static struct dft_str text_arg(struct dft_jsonr *j, const struct dft_record *r, const char *key)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, key);

	return v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(j, v) : none;
}

static uint64_t hash_arg(struct dft_jsonr *j, const struct dft_record *r, const char *key)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, key);
	uint64_t hash;

	return v && dft_hash_value(j, v, r->letter, &hash) ? hash : 0;
}

/* Numbers may be strings in records of others. */
static uint32_t small_arg(struct dft_jsonr *j, const struct dft_record *r, const char *key,
			  uint32_t otherwise)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, key);
	uint64_t n;

	if (!v || (!dft_jsonr_u64(j, v, &n) &&
		   !(v->type == DFT_JSONR_STRING && dft_decimal(dft_jsonr_str(j, v), &n))))
		return otherwise;
	return n < UINT32_MAX ? (uint32_t)n : otherwise;
}

/* Up to the separator, which is passed. */
static struct dft_str field(struct dft_str *s, char sep)
{
	const char *end = s->n ? memchr(s->s, sep, s->n) : NULL;
	struct dft_str f = { s->s, end ? (size_t)(end - s->s) : s->n };

	s->s += f.n + (end != NULL);
	s->n -= f.n + (end != NULL);
	return f;
}

/* Ids of prototypes of the format need not be hashes. */
static uint64_t old_id(struct dft_str s)
{
	uint64_t id;

	return dft_hex16(s, &id) ? id : dft_entity_id(none, s);
}

static uint32_t old_number(struct dft_str s, uint32_t otherwise)
{
	uint64_t n;

	return dft_decimal(s, &n) && n < UINT32_MAX ? (uint32_t)n : otherwise;
}

/* ---- entities, types, edges ----------------------------------------------------------------- */

static int take_eh(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_str id = text_arg(j, r, "id"), name = text_arg(j, r, "name"), value;
	struct dft_eh eh = { .host = hash_arg(j, r, "hhash"), .mnt_ns = g->mnt_ns };
	uint64_t n;

	if (!id.n && name.n) {
		/* A prototype: the id as name, and the rest in one string. */
		value = text_arg(j, r, "value");
		eh.type = field(&value, '|');
		eh.store = old_number(field(&value, '|'), DFT_NOTHING);
		eh.uri = value;
		return dft_graph_eh(g, old_id(name), &eh);
	}
	if (!dft_hex16(id, &n))
		return 0;
	eh.type = text_arg(j, r, "type");
	eh.uri = text_arg(j, r, "uri");
	eh.store = small_arg(j, r, "store", DFT_NOTHING);
	eh.fhash = hash_arg(j, r, "fhash");
	eh.late = small_arg(j, r, "late", 0);
	return dft_graph_eh(g, n, &eh);
}

static int take_er(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j)
{
	uint32_t relation = small_arg(j, r, "relation", 0);
	uint64_t subject, object;

	if (relation < DFT_DERIVED_FROM || !dft_hex16(text_arg(j, r, "subject"), &subject) ||
	    !dft_hex16(text_arg(j, r, "object"), &object))
		return 0;
	return dft_graph_er(g, subject, object, relation, text_arg(j, r, "why"));
}

#define OLD_ENTITY "prov_entity:"
#define OLD_TYPE   "prov_type:"

static int take_old_metadata(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_str name = text_arg(j, r, "name"), value = text_arg(j, r, "value");
	struct dft_eh eh = { .host = hash_arg(j, r, "hhash") };
	size_t n = sizeof(OLD_ENTITY) - 1, m = sizeof(OLD_TYPE) - 1;

	if (name.n > n && memcmp(name.s, OLD_ENTITY, n) == 0) {
		eh.type = field(&value, '|');
		field(&value, '|');
		eh.store = old_number(field(&value, '|'), DFT_NOTHING);
		eh.uri = value;
		return dft_graph_eh(g, old_id((struct dft_str){ name.s + n, name.n - n }), &eh);
	}
	if (name.n > m && memcmp(name.s, OLD_TYPE, m) == 0)
		return dft_graph_type(g, (struct dft_str){ name.s + m, name.n - m },
				      old_number(field(&value, '|'), 0));
	return 0;
}

/* What of CM records matters here: the unit of times, and the mount namespace that names are of. */
static void take_cm(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_str name = text_arg(j, r, "name"), value = text_arg(j, r, "value");

	if (dft_is_of_app(r))
		return;
	if (DFT_STR_IS(name, "time_metric"))
		g->unit_ns = DFT_STR_IS(value, "NS") ? 1 :
			     DFT_STR_IS(value, "MS") ? 1000000 :
			     DFT_STR_IS(value, "SEC") ? 1000000000 : 1000;
	else if (DFT_STR_IS(name, "mnt_ns"))
		dft_decimal(value, &g->mnt_ns);
}

static int take_metadata(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j)
{
	int rc;

	if (r->name.n == 2) {
		rc = dft_naming_take(&g->naming, r, j);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	/* A program's own metadata may have any name; what is told of entities is of no program. */
	if (DFT_STR_IS(r->name, "EH") && !dft_is_of_app(r))
		return take_eh(g, r, j);
	if (DFT_STR_IS(r->name, "ET") && !dft_is_of_app(r))
		return dft_graph_type(g, text_arg(j, r, "type"), small_arg(j, r, "role", 0));
	if (DFT_STR_IS(r->name, "ER") && !dft_is_of_app(r))
		return take_er(g, r, j);
	if (DFT_STR_IS(r->name, "CM"))
		take_cm(g, r, j);
	return take_old_metadata(g, r, j);
}

/* ---- relations of events -------------------------------------------------------------------- */

/* Of one event; the activity is made when there is something to relate. */
struct taking {
	struct dft_graph *g;
	struct dft_jsonr *j;
	const struct dft_record *r;
	struct dft_str aid;
	uint32_t act;
	bool made;
};

static int make_act(struct taking *t)
{
	struct dft_act a = { .host = hash_arg(t->j, t->r, "hhash"), .pid = t->r->pid, .ts = t->r->ts,
			     .id = t->r->id, .dur = t->r->dur, .unit_ns = t->g->unit_ns };
	struct dft_str label = text_arg(t->j, t->r, "activity");
	int rc;

	if (!label.n && t->aid.n)
		label = text_arg(t->j, t->r, "prov_activity");
	a.side = dft_is_of_run(t->r) ? DFT_AUTO : DFT_ANNOTATED;
	a.lacks = small_arg(t->j, t->r, a.side == DFT_AUTO ? "incomplete" : "args_lost", 0);
	/* Prototypes name an activity, of which each record has a time of its own. */
	a.named = t->aid.n;
	a.key = t->aid.n ? dft_entity_id(none, t->aid) : a.id;
	rc = dft_graph_text(t->g, label.n ? label : t->r->name, &a.label);
	if (!rc)
		rc = dft_graph_text(t->g, t->r->cat, &a.cat);
	if (!rc)
		rc = dft_graph_act(t->g, &a, &t->act);
	t->made = !rc;
	return rc;
}

static int relate(struct taking *t, uint64_t id, enum dft_kind kind)
{
	struct dft_ent *e;
	uint32_t nr;
	int rc = t->made ? 0 : make_act(t);

	if (rc)
		return rc;
	e = dft_graph_ent(t->g, id, &nr);
	if (!e)
		return -ENOMEM;
	e->sides |= DFT_ACTS(t->g)[t->act].side;
	return dft_graph_rel(t->g, t->act, nr, kind);
}

static int take_lists(struct taking *t, const struct dft_jsonr_node *obj)
{
	const struct dft_jsonr_node *k, *v, *i;
	uint64_t id;

	for (k = dft_jsonr_first(t->j, obj); k; k = dft_jsonr_next(t->j, obj, k)) {
		struct dft_str key = dft_jsonr_str(t->j, k);
		unsigned int kind = 0;

		v = dft_jsonr_value(k);
		if (v->type != DFT_JSONR_ARRAY)
			continue;
		while (kind < DFT_KINDS && !dft_str_eq(key, dft_kind_name(kind),
						       strlen(dft_kind_name(kind))))
			kind++;
		if (kind == DFT_KINDS)
			continue;
		for (i = dft_jsonr_first(t->j, v); i; i = dft_jsonr_next(t->j, v, i)) {
			int rc;

			if (i->type != DFT_JSONR_STRING || !dft_hex16(dft_jsonr_str(t->j, i), &id))
				continue;
			rc = relate(t, id, kind);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int take_old_list(struct taking *t, const char *key, enum dft_kind kind)
{
	struct dft_str list = text_arg(t->j, t->r, key);

	while (list.n) {
		struct dft_str id = field(&list, ',');
		int rc = id.n ? relate(t, old_id(id), kind) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

static int take_event(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *j,
		      const struct dft_jsonr_node *relations)
{
	struct taking t = { .g = g, .j = j, .r = r };
	bool old = DFT_STR_IS(r->cat, "PROV") || DFT_STR_IS(r->cat, "PROV_CONT");
	int rc;

	if (old)
		t.aid = text_arg(j, r, "prov_aid");
	rc = take_lists(&t, r->args);
	if (!rc && relations && relations->type == DFT_JSONR_OBJECT)
		rc = take_lists(&t, relations);
	if (rc || !old)
		return rc;
	rc = take_old_list(&t, "prov_used", DFT_USED);
	return rc ? rc : take_old_list(&t, "prov_generated", DFT_GENERATED);
}

int dft_graph_record(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *json)
{
	int rc = 0;

	if (!r->args)
		return 0;
	if (r->ph == DFT_PH_METADATA)
		rc = take_metadata(g, r, json);
	else if (r->ph == DFT_PH_COMPLETE)
		rc = take_event(g, r, json, dft_jsonr_get(json, r->args, "relations"));
	if (!rc && g->derive)
		rc = dft_auto_record(&g->autos, g, r, json);
	if (dft_is_start(r)) {
		const struct dft_jsonr_node *v = dft_jsonr_get(json, r->args, "mnt_ns");

		/* It may be another process, in a merged file. */
		g->mnt_ns = 0;
		if (v)
			dft_jsonr_u64(json, v, &g->mnt_ns);
	}
	return rc;
}
