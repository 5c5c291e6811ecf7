// SPDX-License-Identifier: MIT
/* Sums over annotations: events of programs, entities and relations, and what is missing of them. */
#include <stdlib.h>
#include <string.h>

#include "summary_parts.h"

static const char *const roles[DFT_ROLES] = {
	"unknown", "input", "output", "intermediate", "parameter", "reference",
};

/* Of records ER, which have numbers from 16 on. */
static const char *const relation_names[] = {
	"derived_from", "revision_of", "contains", "part_of", "specialization_of", "alternate_of",
	"depends_on",
};

#define FIRST_RELATION 16
#define LAST_RELATION (FIRST_RELATION + sizeof(relation_names) / sizeof(relation_names[0]) - 1)

static const struct dft_str none = { "", 0 };

const char *dft_role_name(unsigned int role)
{
	return role ? roles[role - 1] : NULL;
}

bool dft_sums_lack(const struct dft_annot_sums *a)
{
	return a->gaps.n || a->unarmed.n || a->args_lost || a->unreadable || a->unended;
}

void dft_sums_free(struct dft_annot_sums *a)
{
	free(a->names.v);
	free(a->entities.v);
	free(a->types.v);
	free(a->relations.v);
	free(a->gaps.v);
	free(a->unarmed.v);
	dft_index_free(&a->name_at);
	dft_index_free(&a->entity_at);
	dft_index_free(&a->type_at);
	dft_index_free(&a->gap_at);
	dft_index_free(&a->gap_in);
}

static struct dft_str text_arg(struct dft_job *job, const struct dft_record *r, const char *key)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(job->json, r->args, key);

	return v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(job->json, v) : none;
}

static bool number_arg(struct dft_job *job, const struct dft_jsonr_node *args, const char *key,
		       uint64_t *n)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(job->json, args, key);

	return v && dft_jsonr_u64(job->json, v, n);
}

void dft_sums_add(struct dft_job *job, const struct dft_record *r, const struct dft_share *s)
{
	struct dft_op *op = dft_job_op(job, &job->annots.names, &job->annots.name_at, r);

	if (op)
		dft_op_add(op, s);
}

void dft_sums_event(struct dft_job *job, const struct dft_record *r, const struct dft_share *s)
{
	uint64_t n;

	job->annots.events++;
	dft_sums_add(job, r, s);
	if (!r->args)
		return;
	job->annots.args_lost += number_arg(job, r->args, "args_lost", &n) && n;
	job->annots.unreadable += number_arg(job, r->args, "unreadable", &n) && n;
}

void dft_sums_relations(struct dft_job *job, struct dft_vec *vec, const struct dft_jsonr_node *rel)
{
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *k, *v, *i;
	uint64_t n;

	if (rel->type != DFT_JSONR_OBJECT)
		return;
	for (k = dft_jsonr_first(j, rel); k; k = dft_jsonr_next(j, rel, k)) {
		v = dft_jsonr_value(k);
		if (v->type != DFT_JSONR_ARRAY)
			continue;
		n = 0;
		for (i = dft_jsonr_first(j, v); i; i = dft_jsonr_next(j, v, i))
			n++;
		dft_job_count(job, vec, none, dft_jsonr_str(j, k), n);
	}
}

/* NULL when memory is short. */
static struct dft_entity_type *type_of(struct dft_job *job, struct dft_str name)
{
	struct dft_annot_sums *a = &job->annots;
	struct dft_entity_type *t;
	bool fresh;
	uint64_t *at = dft_index_put(&a->type_at, dft_hash_bytes(0, name.s, name.n), &fresh);

	if (at && !fresh)
		return (struct dft_entity_type *)a->types.v + *at;
	t = at ? dft_vec_add(&a->types, sizeof(*t)) : NULL;
	if (!t || dft_strings_add(&job->strings, name, &t->name) < 0) {
		dft_job_no_memory(job);
		return NULL;
	}
	*at = a->types.n - 1;
	return t;
}

/* NULL when memory is short. */
static struct dft_entity *entity_of(struct dft_job *job, uint64_t id)
{
	struct dft_annot_sums *a = &job->annots;
	struct dft_entity *e;
	bool fresh;
	uint64_t *at = dft_index_put(&a->entity_at, id, &fresh);

	if (at && fresh) {
		e = dft_vec_add(&a->entities, sizeof(*e));
		if (e) {
			e->id = id;
			*at = a->entities.n;
		}
	}
	if (!at || !*at) {
		dft_job_no_memory(job);
		return NULL;
	}
	return (struct dft_entity *)a->entities.v + *at - 1;
}

/* Of several types that it is declared with, the first by name. */
static void set_type(struct dft_job *job, struct dft_entity *e, const struct dft_entity_type *t)
{
	const struct dft_entity_type *types = job->annots.types.v;

	if (!e->type || dft_text_cmp(dft_strings_at(&job->strings, t->name),
				     dft_strings_at(&job->strings, types[e->type - 1].name)) < 0)
		e->type = (uint64_t)(t - types) + 1;
}

static void take_entity(struct dft_job *job, const struct dft_record *r)
{
	struct dft_entity_type *t;
	struct dft_entity *e;
	uint64_t id, n;

	if (!dft_hex16(text_arg(job, r, "id"), &id))
		return;
	e = entity_of(job, id);
	if (!e)
		return;
	/* One process may have declared what another only used. */
	if (number_arg(job, r->args, "late", &n) && n)
		return;
	t = type_of(job, text_arg(job, r, "type"));
	if (t)
		set_type(job, e, t);
}

/* Of several processes' roles, the first that says something by the order of the numbers. */
static void set_role(struct dft_entity_type *t, unsigned int role)
{
	if (t->role <= 1 ? role > t->role : role > 1 && role < t->role)
		t->role = role;
}

static void take_entity_type(struct dft_job *job, const struct dft_record *r)
{
	struct dft_entity_type *t = type_of(job, text_arg(job, r, "type"));
	uint64_t role;

	if (t && number_arg(job, r->args, "role", &role) && role < DFT_ROLES)
		set_role(t, (unsigned int)role + 1);
}

static void take_relation(struct dft_job *job, const struct dft_record *r)
{
	const char *name;
	uint64_t n;

	if (!number_arg(job, r->args, "relation", &n) || n < FIRST_RELATION || n > LAST_RELATION)
		return;
	name = relation_names[n - FIRST_RELATION];
	/* The tracer says why it has come to it; programs do not. */
	dft_job_count(job, dft_jsonr_get(job->json, r->args, "why") ? &job->run_relations :
								      &job->annots.relations, none, (struct dft_str){ name, strlen(name) }, 1);
}

void dft_sums_entity_record(struct dft_job *job, const struct dft_record *r)
{
	if (DFT_STR_IS(r->name, "EH"))
		take_entity(job, r);
	else if (DFT_STR_IS(r->name, "ET"))
		take_entity_type(job, r);
	else if (DFT_STR_IS(r->name, "ER"))
		take_relation(job, r);
}

/* NULL when memory is short. */
static struct dft_gap *gap_of(struct dft_job *job, struct dft_vec *vec, struct dft_str path,
			      struct dft_str reason, uint64_t key)
{
	struct dft_gap *g;
	bool fresh;
	uint64_t *at = dft_index_put(&job->annots.gap_at, key, &fresh);

	if (at && !fresh)
		return (struct dft_gap *)vec->v + *at;
	g = at ? dft_vec_add(vec, sizeof(*g)) : NULL;
	if (!g || dft_strings_add(&job->strings, path, &g->path) < 0 ||
	    dft_strings_add(&job->strings, reason, &g->reason) < 0) {
		dft_job_no_memory(job);
		return NULL;
	}
	*at = vec->n - 1;
	return g;
}

static uint64_t gap_key(bool gap, struct dft_str path, struct dft_str reason)
{
	uint64_t id = dft_hash_bytes(gap, path.s, path.n);

	return gap ? id : dft_hash_bytes(id, reason.s, reason.n);
}

void dft_sums_coverage(struct dft_job *job, const struct dft_record *r, struct dft_str key,
			 struct dft_str val)
{
	struct dft_annot_sums *a = &job->annots;
	bool gap = DFT_STR_IS(key, "probes_gap_us");
	struct dft_str path = text_arg(job, r, "path");
	uint64_t us = 0, id, proc;
	struct dft_proc *p;
	struct dft_gap *g;
	bool fresh;

	if (gap ? !dft_decimal(val, &us) : !DFT_STR_IS(key, "probes_unarmed"))
		return;
	id = gap_key(gap, path, val);
	g = gap_of(job, gap ? &a->gaps : &a->unarmed, path, gap ? none : val, id);
	p = g ? dft_job_proc(job) : NULL;
	if (!p)
		return;
	proc = (uint64_t)(p - (struct dft_proc *)job->procs.v);
	if (!dft_index_put(&a->gap_in, dft_hash_bytes(id, &proc, sizeof(proc)), &fresh)) {
		dft_job_no_memory(job);
		return;
	}
	g->procs += fresh;
	g->gaps++;
	dft_add_sat(&g->us, us);
	if (!gap)
		return;
	a->gap_cnt++;
	dft_add_sat(&a->gap_us, us);
	a->gap_procs += !p->gap;
	p->gap = true;
}

void dft_sums_end(struct dft_job *job, const struct dft_record *r)
{
	const struct dft_jsonr_node *o = dft_jsonr_get(job->json, r->args, "annotations");
	uint64_t n;

	if (o && number_arg(job, o, "inherited", &n))
		dft_add_sat(&job->annots.inherited, n);
	if (o && number_arg(job, o, "unended", &n))
		dft_add_sat(&job->annots.unended, n);
}

static int merge_entities(struct dft_job *to, const struct dft_job *from)
{
	const struct dft_entity *e = from->annots.entities.v;
	const struct dft_entity_type *types = from->annots.types.v, *t;

	for (size_t i = 0; i < from->annots.types.n; i++) {
		struct dft_entity_type *n = type_of(to, dft_strings_at(&from->strings, types[i].name));

		if (!n)
			return -ENOMEM;
		set_role(n, types[i].role);
	}
	for (size_t i = 0; i < from->annots.entities.n; i++) {
		struct dft_entity *n = entity_of(to, e[i].id);

		t = n && e[i].type ? type_of(to, dft_strings_at(&from->strings, types[e[i].type - 1].name)) :
				     NULL;
		if (!n || (e[i].type && !t))
			return -ENOMEM;
		if (t)
			set_type(to, n, t);
	}
	return 0;
}

static int merge_gaps(struct dft_job *to, struct dft_vec *vec, const struct dft_job *from,
		      const struct dft_vec *gaps, bool gap)
{
	const struct dft_gap *g = gaps->v;

	for (size_t i = 0; i < gaps->n; i++) {
		struct dft_str path = dft_strings_at(&from->strings, g[i].path);
		struct dft_str why = dft_strings_at(&from->strings, g[i].reason);
		struct dft_gap *n = gap_of(to, vec, path, why, gap_key(gap, path, why));

		if (!n)
			return -ENOMEM;
		n->gaps += g[i].gaps;
		n->procs += g[i].procs;
		dft_add_sat(&n->us, g[i].us);
	}
	return 0;
}

/* Which processes a gap was in need not be known any more: each is in one job only. */
int dft_sums_merge(struct dft_job *to, const struct dft_job *from)
{
	struct dft_annot_sums *a = &to->annots;
	const struct dft_annot_sums *b = &from->annots;
	const struct dft_op *op = b->names.v;
	const struct dft_count *rel = b->relations.v;
	int err;

	to->err = 0;
	for (size_t i = 0; i < b->names.n; i++) {
		const struct dft_record r = { .name = dft_strings_at(&from->strings, op[i].name),
					      .cat = dft_strings_at(&from->strings, op[i].cat) };
		const struct dft_share s = { op[i].calls, op[i].errors, op[i].restarted, op[i].bytes,
					     op[i].time_ns, op[i].max_ns };

		dft_sums_add(to, &r, &s);
	}
	for (size_t i = 0; i < b->relations.n; i++)
		dft_job_count_from(to, &a->relations, from, &rel[i]);
	err = to->err ? to->err : merge_entities(to, from);
	if (!err)
		err = merge_gaps(to, &a->gaps, from, &b->gaps, true);
	if (!err)
		err = merge_gaps(to, &a->unarmed, from, &b->unarmed, false);
	a->events += b->events;
	a->args_lost += b->args_lost;
	a->unreadable += b->unreadable;
	a->gap_cnt += b->gap_cnt;
	a->gap_procs += b->gap_procs;
	dft_add_sat(&a->inherited, b->inherited);
	dft_add_sat(&a->unended, b->unended);
	dft_add_sat(&a->gap_us, b->gap_us);
	return err;
}

void dft_sums_finish(struct dft_annot_sums *a)
{
	const struct dft_entity *e = a->entities.v;
	struct dft_entity_type *types = a->types.v;

	for (size_t i = 0; i < a->entities.n; i++) {
		if (e[i].type)
			types[e[i].type - 1].entities++;
		else
			a->undeclared++;
	}
}
