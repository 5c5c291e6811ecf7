// SPDX-License-Identifier: MIT
/* Rules of annotations: entities, their relations, metadata, and events of the program itself. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "check_parts.h"
#include "counts.h"
#include "prov.h"

/* Low bits of an entity's value; above them stands the line that used the id first. */
enum declared {
	DECLARED = 1 << 0, /* by an EH with all it takes */
	DECLARED_LATE = 1 << 1, /* by one that only says that the id is in use */
	LINE_SHIFT = 2,
};

/* Longest strings, as the header that all programs include cuts them. */
#define TYPE_MAX 31
#define TEXT_MAX 255

#define STORE_OTHER 8

bool dft_check_has_arg(struct dft_check *c, const char *record, const char *key,
		       enum dft_jsonr_type type)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&c->json, c->r->args, key);

	if (!v)
		FAULT(c, "%s: args.%s is missing", record, key);
	else if (v->type != type)
		FAULT(c, "%s: args.%s is not %s", record, key,
		      type == DFT_JSONR_INT ? "an integer" : "a string");
	return v && v->type == type;
}

static struct dft_str text_arg(struct dft_check *c, const char *key)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&c->json, c->r->args, key);

	if (!v || v->type != DFT_JSONR_STRING)
		return (struct dft_str){ "", 0 };
	return dft_jsonr_str(&c->json, v);
}

static void check_range(struct dft_check *c, const char *record, const char *key, uint64_t lo,
			uint64_t hi)
{
	uint64_t v;

	if (!dft_check_has_arg(c, record, key, DFT_JSONR_INT))
		return;
	if (!dft_jsonr_u64(&c->json, dft_jsonr_get(&c->json, c->r->args, key), &v) || v < lo ||
	    v > hi)
		FAULT(c, "%s: args.%s is not within %" PRIu64 "..%" PRIu64, record, key, lo, hi);
}

/* strchr() would find the NUL as well. */
static bool is_entity_char(char ch)
{
	return (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') ||
	       memchr("_-.:/@+=,~ ", ch, 11);
}

static void check_entity_text(struct dft_check *c, const char *record, const char *key, size_t max)
{
	struct dft_str s;

	if (!dft_check_has_arg(c, record, key, DFT_JSONR_STRING))
		return;
	s = text_arg(c, key);
	if (s.n > max)
		FAULT(c, "%s: args.%s has %zu bytes, at most %zu are allowed", record, key, s.n,
		      max);
	for (size_t i = 0; i < s.n; i++) {
		if (!is_entity_char(s.s[i])) {
			FAULT(c, "%s: args.%s holds a character that is not allowed in it", record,
			      key);
			return;
		}
	}
}

/* The entity's value, with its id; NULL when there is no id, which is told, or no memory. */
static uint64_t *entity_of(struct dft_check *c, const char *where, const struct dft_jsonr_node *v,
			   uint64_t *id)
{
	uint64_t *e;
	bool fresh;

	if (v->type != DFT_JSONR_STRING || !dft_hex16(dft_jsonr_str(&c->json, v), id)) {
		FAULT(c, "%s: an entity id is not 16 lowercase hex digits", where);
		return NULL;
	}
	if (!*id) {
		FAULT(c, "%s: an entity id is 0, which stands for none", where);
		return NULL;
	}
	e = dft_index_put(&c->entity_at, *id, &fresh);
	if (!e)
		c->err = -ENOMEM;
	else if (fresh)
		*e = c->line << LINE_SHIFT;
	return e;
}

/* One array of ids in args.relations. */
static void check_related(struct dft_check *c, struct dft_str key, const struct dft_jsonr_node *v)
{
	const struct dft_jsonr_node *i;
	char name[SHORT_SZ];
	bool fresh;
	uint64_t id;

	if (v->type != DFT_JSONR_ARRAY) {
		FAULT(c, "args.relations holds something other than arrays");
		return;
	}
	if (!dft_jsonr_first(&c->json, v))
		FAULT(c, "args.relations.%s is empty", brief(name, key));
	dft_index_clear(&c->ids);
	for (i = dft_jsonr_first(&c->json, v); i; i = dft_jsonr_next(&c->json, v, i)) {
		/* Declarations may come later in the file; that is settled at the end. */
		if (!entity_of(c, "args.relations", i, &id))
			continue;
		if (!dft_index_put(&c->ids, id, &fresh))
			c->err = -ENOMEM;
		else if (!fresh)
			FAULT(c, "args.relations.%s holds %016" PRIx64 " twice", brief(name, key),
			      id);
	}
}

void dft_check_relations(struct dft_check *c, const struct dft_jsonr_node *rel)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *k;
	char name[SHORT_SZ];

	if (rel->type != DFT_JSONR_OBJECT) {
		FAULT(c, "args.relations is not an object");
		return;
	}
	if (!dft_jsonr_first(j, rel))
		FAULT(c, "args.relations is empty");
	for (k = dft_jsonr_first(j, rel); k; k = dft_jsonr_next(j, rel, k)) {
		struct dft_str key = dft_jsonr_str(j, k);

		/* "related" is any that has a number and no name yet. */
		if (DFT_STR_IS(key, "used") || DFT_STR_IS(key, "generated") ||
		    DFT_STR_IS(key, "invalidated") || DFT_STR_IS(key, "updated") ||
		    DFT_STR_IS(key, "related"))
			check_related(c, key, dft_jsonr_value(k));
		else
			FAULT(c, "args.relations.%s is no relation of an event",
			      brief(name, key));
	}
}

void dft_check_app_arg(struct dft_check *c, struct dft_str key, const struct dft_jsonr_node *v)
{
	char name[SHORT_SZ];

	/* Metadata and sums have rules of their own. */
	if (c->r->ph == DFT_PH_COMPLETE && v->type != DFT_JSONR_STRING &&
	    v->type != DFT_JSONR_INT && v->type != DFT_JSONR_REAL)
		FAULT(c, "args.%s is neither a number nor a string", brief(name, key));
}

/* Nothing is known of such an entity but that it is related to. */
static void check_late(struct dft_check *c, const struct dft_jsonr_node *late)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&c->json, c->r->args, "store");
	uint64_t n, store;

	if (!dft_jsonr_u64(&c->json, late, &n) || n != 1)
		FAULT(c, "EH: args.late is not 1");
	if (text_arg(c, "type").n || text_arg(c, "uri").n ||
	    (v && dft_jsonr_u64(&c->json, v, &store) && store != STORE_OTHER))
		FAULT(c, "EH: it is late, but has a type, a store or a uri");
}

static void check_eh(struct dft_check *c)
{
	const struct dft_jsonr_node *late = dft_jsonr_get(&c->json, c->r->args, "late");
	uint64_t id, *e = NULL;

	check_entity_text(c, "EH", "type", TYPE_MAX);
	check_range(c, "EH", "store", 0, STORE_OTHER);
	check_entity_text(c, "EH", "uri", TEXT_MAX);
	if (late)
		check_late(c, late);
	if (dft_check_has_arg(c, "EH", "id", DFT_JSONR_STRING))
		e = entity_of(c, "EH", dft_jsonr_get(&c->json, c->r->args, "id"), &id);
	if (!e)
		return;
	/* The declaration itself may still come after a late one, but not the other way round. */
	/* In a merged file each process may have declared it. */
	if (!c->rearranged && *e & (late ? DECLARED | DECLARED_LATE : DECLARED))
		FAULT(c, "EH: entity %016" PRIx64 " was declared before", id);
	c->annot.entities += !(*e & (DECLARED | DECLARED_LATE));
	*e |= late ? DECLARED_LATE : DECLARED;
}

/* The tracer describes its own types, and the program may after it. */
static bool is_found_type(struct dft_str type)
{
	return DFT_STR_IS(type, DFT_PROV_FILE) || DFT_STR_IS(type, DFT_PROV_PROGRAM) ||
	       DFT_STR_IS(type, DFT_PROV_PIPE);
}

static void check_et(struct dft_check *c)
{
	char name[SHORT_SZ];
	struct dft_str type;
	bool fresh;

	check_entity_text(c, "ET", "type", TYPE_MAX);
	check_range(c, "ET", "role", 0, 5);
	check_entity_text(c, "ET", "description", TEXT_MAX);
	c->annot.entity_types++;
	type = text_arg(c, "type");
	if (!dft_index_put(&c->types, dft_hash_bytes(0, type.s, type.n), &fresh))
		c->err = -ENOMEM;
	else if (!fresh && !c->rearranged && !is_found_type(type))
		FAULT(c, "ET: type \"%s\" was described before", brief(name, type));
}

static void check_er(struct dft_check *c)
{
	static const char *const ends[] = { "subject", "object" };
	uint64_t id;

	check_range(c, "ER", "relation", 16, 255); /* above 22: the program's own */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (dft_check_has_arg(c, "ER", ends[i], DFT_JSONR_STRING))
			entity_of(c, "ER", dft_jsonr_get(&c->json, c->r->args, ends[i]), &id);
	}
	c->annot.relations++;
}

void dft_check_entity_record(struct dft_check *c, char second)
{
	if (c->r->has & DFT_F_TYPE && c->r->type != DFT_BY_TRACER)
		FAULT(c, "E%c: type is not 1", second);
	if (second == 'H')
		check_eh(c);
	else if (second == 'T')
		check_et(c);
	else
		check_er(c);
}

/* Something is so from a time on, as `value` says; whether that is there. */
static bool check_since(struct dft_check *c, const char *what)
{
	const struct dft_jsonr_node *ts = dft_jsonr_get(&c->json, c->r->args, "ts");
	uint64_t n;

	if (!ts || !dft_jsonr_u64(&c->json, ts, &n))
		FAULT(c, "%s: args.ts is not a non-negative integer", what);
	return dft_check_has_arg(c, what, "value", DFT_JSONR_STRING);
}

/* Where the kernel side could not listen: in which file, since when, and how long or why. */
static void check_coverage(struct dft_check *c, const char *what, bool gap)
{
	uint64_t n;

	if (check_since(c, what) && gap && !dft_decimal(text_arg(c, "value"), &n))
		FAULT(c, "%s: args.value is not a decimal number", what);
	dft_check_has_arg(c, what, "path", DFT_JSONR_STRING);
	if (gap)
		c->annot.gaps++;
	else
		c->annot.unarmed++;
}

void dft_check_cm(struct dft_check *c)
{
	struct dft_str name = text_arg(c, "name");

	dft_check_has_arg(c, "CM", "name", DFT_JSONR_STRING);
	if (dft_is_of_app(c->r)) {
		dft_check_has_arg(c, "CM", "value", DFT_JSONR_STRING);
		return;
	}
	if (c->r->has & DFT_F_TYPE && c->r->type != DFT_BY_TRACER)
		FAULT(c, "CM: type is none of 1, 2, 6 and 9");
	if (DFT_STR_IS(name, "probes_gap_us"))
		check_coverage(c, "probes_gap_us", true);
	else if (DFT_STR_IS(name, "probes_unarmed"))
		check_coverage(c, "probes_unarmed", false);
	else if (DFT_STR_IS(name, "aggregated_from"))
		check_since(c, "aggregated_from");
	else if (DFT_STR_IS(name, "comm"))
		check_since(c, "comm");
	else if (!dft_jsonr_get(&c->json, c->r->args, "value"))
		FAULT(c, "CM: args.value is missing");
}

/* An object of the end record whose values are integers up to `max`, or with `text` strings. */
static const struct dft_jsonr_node *check_values(struct dft_check *c, const char *key, uint64_t max,
						 bool text)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *k, *v, *o = dft_jsonr_get(j, c->r->args, key);
	char name[SHORT_SZ];
	uint64_t n;

	if (!o)
		return NULL;
	if (o->type != DFT_JSONR_OBJECT) {
		FAULT(c, "end: args.%s is not an object", key);
		return NULL;
	}
	for (k = dft_jsonr_first(j, o); k; k = dft_jsonr_next(j, o, k)) {
		v = dft_jsonr_value(k);
		if (text && v->type != DFT_JSONR_INT && v->type != DFT_JSONR_STRING)
			FAULT(c, "end: args.%s.%s is neither an integer nor a string", key,
			      brief(name, dft_jsonr_str(j, k)));
		else if (!text && (!dft_jsonr_u64(j, v, &n) || n > max))
			FAULT(c, "end: args.%s.%s is not within 0..%" PRIu64, key,
			      brief(name, dft_jsonr_str(j, k)), max);
	}
	return o;
}

void dft_check_end_args(struct dft_check *c)
{
	const struct dft_jsonr_node *o;

	check_values(c, "used", 1, false);
	check_values(c, "app", 0, true);
	o = check_values(c, "annotations", UINT64_MAX, false);
	if (o && !dft_sum_counts(&c->json, o, NULL, 0))
		FAULT(c, "end: args.annotations counts nothing");
}

void dft_check_undeclared(struct dft_check *c)
{
	for (size_t i = 0; i < c->entity_at.cap; i++) {
		const struct dft_index_slot *s = &c->entity_at.slots[i];

		if (s->epoch != c->entity_at.epoch || s->val & (DECLARED | DECLARED_LATE))
			continue;
		dft_faults_add(&c->faults, s->val >> LINE_SHIFT,
			       "entity %016" PRIx64 " has no EH record", s->key);
	}
}
