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
	const struct dft_jsonr_node *v = dft_jsonr_get(&job->json, r->args, key);

	return v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(&job->json, v) : none;
}

static bool number_arg(struct dft_job *job, const struct dft_jsonr_node *args, const char *key,
		       uint64_t *n)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&job->json, args, key);

	return v && dft_jsonr_u64(&job->json, v, n);
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

void dft_sums_relations(struct dft_job *job, const struct dft_jsonr_node *rel)
{
	struct dft_jsonr *j = &job->json;
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
		dft_job_count(job, &job->annots.relations, none, dft_jsonr_str(j, k), n);
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

static void take_entity(struct dft_job *job, const struct dft_record *r)
{
	struct dft_annot_sums *a = &job->annots;
	struct dft_entity_type *t;
	struct dft_entity *e;
	uint64_t id, *at, n;
	bool fresh;

	if (!dft_hex16(text_arg(job, r, "id"), &id))
		return;
	at = dft_index_put(&a->entity_at, id, &fresh);
	if (at && fresh) {
		e = dft_vec_add(&a->entities, sizeof(*e));
		if (e) {
			e->id = id;
			*at = a->entities.n;
		}
	}
	if (!at || !*at) {
		dft_job_no_memory(job);
		return;
	}
	e = (struct dft_entity *)a->entities.v + *at - 1;
	/* One process may have declared what another only used. */
	if (e->type || (number_arg(job, r->args, "late", &n) && n))
		return;
	t = type_of(job, text_arg(job, r, "type"));
	if (t)
		e->type = (uint64_t)(t - (struct dft_entity_type *)a->types.v) + 1;
}

static void take_entity_type(struct dft_job *job, const struct dft_record *r)
{
	struct dft_entity_type *t = type_of(job, text_arg(job, r, "type"));
	uint64_t role;

	/* Of several processes' roles, the first that says something. */
	if (t && t->role <= 1 && number_arg(job, r->args, "role", &role) && role < DFT_ROLES)
		t->role = (unsigned int)role + 1;
}

static void take_relation(struct dft_job *job, const struct dft_record *r)
{
	const char *name;
	uint64_t n;

	if (!number_arg(job, r->args, "relation", &n) || n < FIRST_RELATION || n > LAST_RELATION)
		return;
	name = relation_names[n - FIRST_RELATION];
	dft_job_count(job, &job->annots.relations, none, (struct dft_str){ name, strlen(name) }, 1);
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
	id = dft_hash_bytes(gap, path.s, path.n);
	if (!gap)
		id = dft_hash_bytes(id, val.s, val.n);
	g = gap_of(job, gap ? &a->gaps : &a->unarmed, path, gap ? none : val, id);
	p = g ? dft_job_proc(job, r->pid) : NULL;
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
	const struct dft_jsonr_node *o = dft_jsonr_get(&job->json, r->args, "annotations");
	uint64_t n;

	if (o && number_arg(job, o, "inherited", &n))
		dft_add_sat(&job->annots.inherited, n);
	if (o && number_arg(job, o, "unended", &n))
		dft_add_sat(&job->annots.unended, n);
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
