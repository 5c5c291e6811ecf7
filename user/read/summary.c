// SPDX-License-Identifier: MIT
#include "summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "summary_parts.h"

/* A program's name is never long; of a command line, an SH record too, the begin is enough here. */
#define TEXT_MAX 255

void *dft_vec_add(struct dft_vec *v, size_t size)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 32;
		void *p = reallocarray(v->v, cap, size);

		if (!p)
			return NULL;
		v->v = p;
		v->cap = cap;
	}
	return memset((char *)v->v + size * v->n++, 0, size);
}

static void free_ops(struct dft_vec *v)
{
	struct dft_op *op = v->v;

	for (size_t i = 0; i < v->n; i++)
		dft_hist_free(&op[i].hist);
	free(v->v);
}

void dft_job_free(struct dft_job *job)
{
	struct dft_vec *const vecs[] = {
		&job->files, &job->access, &job->procs, &job->slow, &job->failures, &job->about,
		&job->run_relations, &job->lost, &job->filtered, &job->missed, &job->doubts, &job->hosts,
		&job->dirs, &job->programs, &job->parts, &job->frequent, &job->uses,
		&job->by_time, &job->by_bytes,
	};
	struct dft_index *const maps[] = {
		&job->op_at, &job->pipe_at, &job->file_at, &job->count_at, &job->pipe_ids,
		&job->program_at, &job->failure_at, &job->text_at, &job->proc_at, &job->tid_at,
		&job->use_at,
	};

	free_ops(&job->ops);
	free_ops(&job->pipes);
	for (size_t i = 0; i < sizeof(vecs) / sizeof(vecs[0]); i++)
		free(vecs[i]->v);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		dft_index_free(maps[i]);
	dft_sums_free(&job->annots);
	for (int i = 0; i < DFT_WAYS; i++)
		dft_sizes_free(&job->sizes[i]);
	dft_strings_free(&job->strings);
	free(job->raw.buf);
	dft_strings_free(&job->texts);
	dft_processes_free(&job->processes);
	memset(job, 0, sizeof(*job));
}

void dft_job_begin_file(struct dft_job *job, uint64_t nr)
{
	if (!job->first_ns && !job->last_ns)
		job->first_ns = UINT64_MAX;
	dft_strings_clear(&job->texts);
	dft_index_clear(&job->text_at);
	job->processes.alone = true;
	dft_processes_begin_file(&job->processes);
	dft_index_clear(&job->proc_at);
	dft_index_clear(&job->tid_at);
	dft_index_clear(&job->use_at);
	job->uses.n = 0;
	job->cur_proc = job->cur_use = 0;
	job->unit_ns = 1000;
	job->ended = false;
	job->file_nr = nr;
	job->serial++;
}

static void add_rank(struct dft_rank_set *set, uint64_t rank)
{
	if (rank < DFT_RANK_WORDS * 64)
		set->bits[rank / 64] |= 1ull << rank % 64;
	else
		set->more = true;
}

unsigned int dft_rank_count(const struct dft_rank_set *set)
{
	unsigned int n = set->more;

	for (int i = 0; i < DFT_RANK_WORDS; i++)
		n += (unsigned int)__builtin_popcountll(set->bits[i]);
	return n;
}

/* Now it is known which rank each process was. */
void dft_job_end_file(struct dft_job *job)
{
	const struct dft_proc *procs = job->procs.v;
	const struct dft_use *u = job->uses.v;
	struct dft_file *files = job->files.v;

	if (!job->ended)
		job->faults_unseen = true;
	for (size_t i = 0; i < job->uses.n; i++)
		if (procs[u[i].proc].has_rank)
			add_rank(&files[u[i].file].ranks, procs[u[i].proc].rank);
}

struct dft_op *dft_job_op(struct dft_job *job, struct dft_vec *vec, struct dft_index *map,
			  const struct dft_record *r)
{
	uint64_t key = dft_hash_bytes(dft_hash_bytes(0, r->cat.s, r->cat.n), r->name.s, r->name.n);
	struct dft_op *op;
	bool fresh;
	uint64_t *at = dft_index_put(map, key, &fresh);

	if (at && !fresh)
		return (struct dft_op *)vec->v + *at;
	op = at ? dft_vec_add(vec, sizeof(*op)) : NULL;
	if (!op || dft_strings_add(&job->strings, r->name, &op->name) < 0 ||
	    dft_strings_add(&job->strings, r->cat, &op->cat) < 0) {
		dft_job_no_memory(job);
		return NULL;
	}
	*at = vec->n - 1;
	op->dir = dft_dir_of(r->cat, r->name);
	op->class = dft_class_of(r->cat, r->name);
	return op;
}

static bool is_str(const struct dft_job *job, uint64_t at, struct dft_str s)
{
	return dft_str_eq(dft_strings_at(&job->strings, at), s.s, s.n);
}

struct dft_op *dft_job_call(struct dft_job *job, const struct dft_record *r)
{
	/* There are few names, and nearly every event has one of them: no hash is needed to tell which. */
	size_t n = r->name.n, i = n ? n * 5 + (unsigned char)r->name.s[0] + (unsigned char)r->name.s[n / 2] : 0;
	uint32_t *slot = &job->op_cache[i % DFT_OP_CACHE];
	struct dft_op *op = *slot ? (struct dft_op *)job->ops.v + *slot - 1 : NULL;

	if (op && is_str(job, op->name, r->name) && is_str(job, op->cat, r->cat))
		return op;
	op = dft_job_op(job, &job->ops, &job->op_at, r);
	if (op)
		*slot = (uint32_t)(op - (struct dft_op *)job->ops.v) + 1;
	return op;
}

struct dft_file *dft_job_file(struct dft_job *job, uint64_t hash)
{
	struct dft_file *f;
	bool fresh;
	uint64_t *at = dft_index_put(&job->file_at, hash, &fresh);

	if (at && !fresh)
		return (struct dft_file *)job->files.v + *at;
	f = at ? dft_vec_add(&job->files, sizeof(*f)) : NULL;
	if (!f) {
		dft_job_no_memory(job);
		return NULL;
	}
	*at = job->files.n - 1;
	f->hash = hash;
	return f;
}

struct dft_proc *dft_job_proc(struct dft_job *job)
{
	struct dft_proc *p;
	uint64_t *at;
	bool fresh;

	/* Nearly every file is of one process. */
	if (job->cur_proc && job->process == job->cur_nr)
		return (struct dft_proc *)job->procs.v + job->cur_proc - 1;
	at = dft_index_put(&job->proc_at, job->process, &fresh);
	p = at && fresh ? dft_vec_add(&job->procs, sizeof(*p)) : NULL;
	if (!at || (fresh && !p)) {
		dft_job_no_memory(job);
		return NULL;
	}
	if (fresh) {
		p->pid = dft_process_at(&job->processes, job->process)->pid;
		p->first_ns = UINT64_MAX;
		p->file_nr = job->file_nr;
		*at = job->procs.n;
	}
	job->cur_nr = job->process;
	job->cur_proc = *at;
	return (struct dft_proc *)job->procs.v + *at - 1;
}

/* Some numbers are not of one process but of all; each process's end record repeats them. */
static bool is_of_all(struct dft_str name)
{
	static const char suffix[] = "_of_all_processes";
	size_t n = sizeof(suffix) - 1;

	return name.n > n && memcmp(name.s + name.n - n, suffix, n) == 0;
}

void dft_job_count(struct dft_job *job, struct dft_vec *vec, struct dft_str group,
		   struct dft_str name, uint64_t n)
{
	uint64_t seed = (uint64_t)((char *)vec - (char *)job);
	uint64_t key = dft_hash_bytes(dft_hash_bytes(seed, group.s, group.n), name.s, name.n);
	struct dft_count *c;
	bool fresh;
	uint64_t *at;

	if (!n)
		return;
	at = dft_index_put(&job->count_at, key, &fresh);
	if (at && !fresh) {
		c = (struct dft_count *)vec->v + *at;
		if (!is_of_all(name))
			dft_add_sat(&c->n, n);
		else if (n > c->n)
			c->n = n;
		return;
	}
	c = at ? dft_vec_add(vec, sizeof(*c)) : NULL;
	if (!c || dft_strings_add(&job->strings, group, &c->group) < 0 ||
	    dft_strings_add(&job->strings, name, &c->name) < 0) {
		dft_job_no_memory(job);
		return;
	}
	*at = vec->n - 1;
	c->n = n;
}

void dft_job_count_from(struct dft_job *job, struct dft_vec *vec, const struct dft_job *from,
			const struct dft_count *c)
{
	dft_job_count(job, vec, dft_strings_at(&from->strings, c->group),
		      dft_strings_at(&from->strings, c->name), c->n);
}

/* {op: n} or {class: {op: n}}; a mere number goes by the name of `what`. */
static void add_counts(struct dft_job *job, struct dft_vec *vec, const struct dft_jsonr_node *end,
		       const char *what, bool grouped)
{
	static const struct dft_str none = { "", 0 };
	struct dft_str group = { what, grouped ? strlen(what) : 0 };
	struct dft_str whole = { what, strlen(what) };
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *n = dft_jsonr_get(j, end, what), *k, *i;
	uint64_t v;

	if (n && dft_jsonr_u64(j, n, &v))
		dft_job_count(job, vec, grouped ? whole : none, whole, v);
	if (!n || n->type != DFT_JSONR_OBJECT)
		return;
	for (k = dft_jsonr_first(j, n); k; k = dft_jsonr_next(j, n, k)) {
		const struct dft_jsonr_node *val = dft_jsonr_value(k);
		struct dft_str key = dft_jsonr_str(j, k);

		if (dft_is_aggregated(key))
			continue; /* the rows tell */
		if (val->type != DFT_JSONR_OBJECT) {
			dft_job_count(job, vec, group, key, dft_sum_counts(j, val, NULL, 0));
			continue;
		}
		for (i = dft_jsonr_first(j, val); i; i = dft_jsonr_next(j, val, i))
			dft_job_count(job, vec, key, dft_jsonr_str(j, i),
				  dft_sum_counts(j, dft_jsonr_value(i), NULL, 0));
	}
}

void dft_op_add(struct dft_op *op, const struct dft_share *s)
{
	dft_add_sat(&op->calls, s->calls);
	dft_add_sat(&op->errors, s->errors);
	dft_add_sat(&op->restarted, s->restarted);
	dft_add_sat(&op->bytes, s->bytes);
	dft_add_sat(&op->time_ns, s->time_ns);
	if (s->max_ns > op->max_ns)
		op->max_ns = s->max_ns;
}

/* Text of an SH record of this file; false when there is none. */
static bool text_of(struct dft_job *job, const struct dft_jsonr_node *v, bool old,
		    struct dft_str *s)
{
	uint64_t hash, *at;

	if (!v || !dft_hash_value(job->json, v, old, &hash))
		return false;
	at = dft_index_get(&job->text_at, hash);
	if (at)
		*s = dft_strings_at(&job->texts, *at);
	return at != NULL;
}

static struct dft_str base_name(struct dft_str s)
{
	const char *slash = memrchr(s.s, '/', s.n);

	if (!slash || slash + 1 == s.s + s.n)
		return s;
	return (struct dft_str){ slash + 1, (size_t)(s.s + s.n - slash - 1) };
}

/* A copy that does not move when the table grows: strings are added from within it below. */
static int file_name_of(struct dft_job *job, const struct dft_jsonr_node *v, bool old,
			char buf[TEXT_MAX], struct dft_str *s)
{
	const struct dft_file *f;
	uint64_t hash, *at;

	if (!v || !dft_hash_value(job->json, v, old, &hash))
		return 0;
	at = dft_index_get(&job->file_at, hash);
	f = at ? (struct dft_file *)job->files.v + *at : NULL;
	/* What other files call it does not count: which of them come before this one is open. */
	if (!f || !f->name || f->named_in != job->serial)
		return 0;
	*s = base_name(dft_strings_at(&job->strings, f->name));
	if (s->n > TEXT_MAX)
		s->n = TEXT_MAX;
	memcpy(buf, s->s, s->n);
	s->s = buf;
	return 1;
}

/* One copy for all processes that have it; 0 when memory is short. */
static uint64_t shared_text(struct dft_job *job, struct dft_str s)
{
	bool fresh;
	uint64_t *at = dft_index_put(&job->program_at, dft_hash_bytes(0, s.s, s.n), &fresh);

	if (at && (!fresh || dft_strings_add(&job->strings, s, at) == 0))
		return *at;
	dft_job_no_memory(job);
	return 0;
}

/* From the exec hash where there is one, else the executable's name; and the command line. */
void dft_job_set_program(struct dft_job *job, struct dft_proc *p, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	char buf[TEXT_MAX];
	struct dft_str s;

	if (text_of(job, dft_jsonr_get(j, r->args, "exec_hash"), r->letter, &s) ||
	    file_name_of(job, dft_jsonr_get(j, r->args, "pathname_hash"), r->letter, buf, &s))
		p->program = shared_text(job, s);
	if (text_of(job, dft_jsonr_get(j, r->args, "cmd_hash"), r->letter, &s))
		p->command = shared_text(job, s);
}

void dft_job_end_record(struct dft_job *job, struct dft_proc *p, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *v, *n;
	int64_t metadata, mmap = 0;

	p->ended = true;
	job->ended = true;
	if (!r->args)
		return;
	v = dft_jsonr_get(j, r->args, "cfg");
	n = v ? dft_jsonr_get(j, v, "metadata") : NULL;
	if (n && dft_jsonr_i64(j, n, &metadata) && !metadata)
		job->no_args = true;
	n = v ? dft_jsonr_get(j, v, "mmap") : NULL;
	if (!n || !dft_jsonr_i64(j, n, &mmap) || !mmap)
		job->faults_unseen = true;
	add_counts(job, &job->lost, r->args, "lost", false);
	add_counts(job, &job->filtered, r->args, "filtered", false);
	add_counts(job, &job->missed, r->args, "undecoded", true);
	add_counts(job, &job->missed, r->args, "unknown", true);
	add_counts(job, &job->missed, r->args, "compat", true);
	dft_sums_end(job, r);
	v = dft_jsonr_get(j, r->args, "exit");
	n = v ? dft_jsonr_get(j, v, "code") : NULL;
	if (n && dft_jsonr_i64(j, n, &p->exit_val))
		p->exit_kind = DFT_EXIT_CODE;
	n = v ? dft_jsonr_get(j, v, "signal") : NULL;
	if (n && dft_jsonr_i64(j, n, &p->exit_val))
		p->exit_kind = DFT_EXIT_SIGNAL;
}

static void take_file_name(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, "value");
	struct dft_file *f;
	struct dft_str name;
	uint64_t hash;
	int rc;

	if (!v || !dft_hash_value(j, v, r->letter, &hash))
		return;
	f = dft_job_file(job, hash);
	if (!f)
		return;
	f->named_in = job->serial;
	rc = dft_original_name(j, r->args, &job->raw, &name);
	if (rc > 0 && (!f->name || dft_text_cmp(name, dft_strings_at(&job->strings, f->name)) < 0))
		rc = dft_strings_add(&job->strings, name, &f->name);
	if (rc < 0)
		dft_job_no_memory(job);
}

static void take_text(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, "value");
	struct dft_str name;
	uint64_t hash, *at;
	bool fresh;
	int rc;

	if (!v || !dft_hash_value(j, v, r->letter, &hash))
		return;
	rc = dft_original_name(j, r->args, &job->raw, &name);
	if (rc == 0)
		return;
	if (rc > 0 && name.n > TEXT_MAX)
		name.n = TEXT_MAX;
	at = rc < 0 ? NULL : dft_index_put(&job->text_at, hash, &fresh);
	if (!at || (fresh && dft_strings_add(&job->texts, name, at) < 0))
		dft_job_no_memory(job);
}

static bool is_about_job(struct dft_str key)
{
	return DFT_STR_IS(key, "job_id") || DFT_STR_IS(key, "job_scheduler") || DFT_STR_IS(key, "job_step");
}

/* PR rank; its number is a string, in the dialect of 2025 also a number. */
static void take_rank(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	const struct dft_jsonr_node *key = dft_jsonr_get(j, r->args, "name");
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, "value");
	struct dft_proc *p;
	uint64_t rank;

	if (!key || key->type != DFT_JSONR_STRING || !DFT_STR_IS(dft_jsonr_str(j, key), "rank") || !v)
		return;
	if (v->type == DFT_JSONR_STRING ? !dft_decimal(dft_jsonr_str(j, v), &rank) :
					  !dft_jsonr_u64(j, v, &rank))
		return;
	p = dft_job_proc(job);
	if (p) {
		p->has_rank = true;
		p->rank = rank;
	}
}

/* What the tracer says of itself; an application may use the same names for something else. */
static void take_own_metadata(struct dft_job *job, const struct dft_record *r)
{
	static const struct dft_str none = { "", 0 };
	const struct dft_jsonr_node *v = dft_jsonr_get(job->json, r->args, "name");
	struct dft_str key, val;

	key = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(job->json, v) : none;
	v = dft_jsonr_get(job->json, r->args, "value");
	val = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(job->json, v) : none;
	if (DFT_STR_IS(key, "time_metric"))
		job->unit_ns = DFT_STR_IS(val, "NS") ? 1 :
			       DFT_STR_IS(val, "MS") ? 1000000 :
			       DFT_STR_IS(val, "SEC") ? 1000000000 : 1000;
	else if (DFT_STR_IS(key, "coverage_incomplete"))
		dft_coverage_incomplete(job, val);
	else if (is_about_job(key))
		dft_job_count(job, &job->about, key, val, 1);
	else
		dft_sums_coverage(job, r, key, val);
}

static void take_metadata(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = job->json;
	static const struct dft_str none = { "", 0 };
	const struct dft_jsonr_node *v;

	if (!r->args || r->name.n != 2)
		return;
	if (DFT_STR_IS(r->name, "FH")) {
		take_file_name(job, r);
	} else if (DFT_STR_IS(r->name, "SH")) {
		take_text(job, r);
	} else if (DFT_STR_IS(r->name, "HH")) {
		v = dft_jsonr_get(j, r->args, "name");
		if (v && v->type == DFT_JSONR_STRING)
			dft_job_count(job, &job->hosts, none, dft_jsonr_str(j, v), 1);
	} else if (DFT_STR_IS(r->name, "PR")) {
		if (!dft_is_of_app(r))
			take_rank(job, r);
	} else if (!DFT_STR_IS(r->name, "CM")) {
		dft_sums_entity_record(job, r);
	} else if (!dft_is_of_app(r)) {
		take_own_metadata(job, r);
	}
}

int dft_job_record(struct dft_job *job, const struct dft_record *r, struct dft_jsonr *json)
{
	job->json = json;
	job->records++;
	job->err = 0;
	job->process = dft_process_of(&job->processes, r, json);
	if (!job->process)
		return -ENOMEM;
	switch (r->ph) {
	case DFT_PH_COMPLETE:
		dft_job_event(job, r);
		break;
	case DFT_PH_AGGREGATED:
		dft_job_row(job, r);
		break;
	case DFT_PH_METADATA:
		take_metadata(job, r);
		break;
	case DFT_PH_COUNTER:
		job->counters++;
		break;
	default:
		job->others++;
		break;
	}
	return job->err;
}
