// SPDX-License-Identifier: MIT
#include "summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "counts.h"
#include "summary_parts.h"

/* A program's name is never long; command lines, which are SH records too, are not needed here. */
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

void dft_job_free(struct dft_job *job)
{
	free(job->ops.v);
	free(job->pipes.v);
	free(job->files.v);
	free(job->procs.v);
	free(job->lost.v);
	free(job->filtered.v);
	free(job->missed.v);
	free(job->doubts.v);
	free(job->hosts.v);
	dft_sums_free(&job->annots);
	dft_strings_free(&job->strings);
	dft_index_free(&job->op_at);
	dft_index_free(&job->pipe_at);
	dft_index_free(&job->file_at);
	dft_index_free(&job->count_at);
	dft_index_free(&job->pipe_ids);
	dft_index_free(&job->programs);
	dft_jsonr_free(&job->json);
	free(job->raw.buf);
	dft_strings_free(&job->texts);
	dft_index_free(&job->text_at);
	dft_index_free(&job->proc_at);
	memset(job, 0, sizeof(*job));
}

void dft_job_begin_file(struct dft_job *job)
{
	if (!job->first_ns && !job->last_ns)
		job->first_ns = UINT64_MAX;
	dft_strings_clear(&job->texts);
	dft_index_clear(&job->text_at);
	dft_index_clear(&job->proc_at);
	job->cur_proc = 0;
	job->unit_ns = 1000;
	job->ended = false;
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
	return op;
}

static struct dft_file *file_of(struct dft_job *job, uint64_t hash)
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

struct dft_proc *dft_job_proc(struct dft_job *job, uint64_t pid)
{
	struct dft_proc *p;
	uint64_t *at;
	bool fresh;

	/* Nearly every file is of one process. */
	if (job->cur_proc && job->cur_pid == pid)
		return (struct dft_proc *)job->procs.v + job->cur_proc - 1;
	at = dft_index_put(&job->proc_at, pid, &fresh);
	p = at && fresh ? dft_vec_add(&job->procs, sizeof(*p)) : NULL;
	if (!at || (fresh && !p)) {
		dft_job_no_memory(job);
		return NULL;
	}
	if (fresh) {
		p->pid = pid;
		p->first_ns = UINT64_MAX;
		*at = job->procs.n;
	}
	job->cur_pid = pid;
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

/* {op: n} or {class: {op: n}}; a mere number goes by the name of `what`. */
static void add_counts(struct dft_job *job, struct dft_vec *vec, const struct dft_jsonr_node *end,
		       const char *what, bool grouped)
{
	static const struct dft_str none = { "", 0 };
	struct dft_str group = { what, grouped ? strlen(what) : 0 };
	struct dft_str whole = { what, strlen(what) };
	struct dft_jsonr *j = &job->json;
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

static void add_to_file(struct dft_job *job, uint64_t hash, enum dft_dir dir,
			const struct dft_share *s)
{
	struct dft_file *f = file_of(job, hash);

	if (!f)
		return;
	dft_add_sat(&f->calls, s->calls);
	dft_add_sat(&f->errors, s->errors);
	dft_add_sat(&f->time_ns, s->time_ns);
	if (dir == DFT_DIR_READ)
		dft_add_sat(&f->read, s->bytes);
	else if (dir == DFT_DIR_WRITE)
		dft_add_sat(&f->written, s->bytes);
	else if (dir == DFT_DIR_MAPPED)
		dft_add_sat(&f->faulted, s->bytes);
}

/* A mapping: from then on the file is read and written without calls. */
static void take_mapping(struct dft_job *job, const struct dft_record *r, uint64_t hash)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&job->json, r->args, "prot");
	struct dft_file *f = file_of(job, hash);
	uint64_t prot = 0;

	if (!f)
		return;
	f->mapped = true;
	if (v && dft_jsonr_u64(&job->json, v, &prot) && prot & PROT_EXEC)
		f->code = true;
}

const char *dft_mapped_state(const struct dft_job *job, const struct dft_file *f)
{
	if (!f->mapped && !f->faulted)
		return NULL;
	return f->code ? "code" : job->faults_unseen ? "unknown" : "known";
}

static void add_to_files(struct dft_job *job, enum dft_dir dir, const struct dft_facts *f,
			 const struct dft_share *s)
{
	bool to = dir == DFT_DIR_TO_FHASH, from = dir == DFT_DIR_FROM_FHASH;

	if (f->has_file)
		add_to_file(job, f->file, to ? DFT_DIR_WRITE : from ? DFT_DIR_READ : dir, s);
	if (f->has_other)
		add_to_file(job, f->other,
			    to ? DFT_DIR_READ : from ? DFT_DIR_WRITE : DFT_DIR_NONE, s);
}

static void add_span(uint64_t *first, uint64_t *last, uint64_t from, uint64_t to)
{
	if (from < *first)
		*first = from;
	if (to > *last)
		*last = to;
}

/* Text of an SH record of this file; false when there is none. */
static bool text_of(struct dft_job *job, const struct dft_jsonr_node *v, bool old,
		    struct dft_str *s)
{
	uint64_t hash, *at;

	if (!v || !dft_hash_value(&job->json, v, old, &hash))
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
	uint64_t hash, *at;

	if (!v || !dft_hash_value(&job->json, v, old, &hash))
		return 0;
	at = dft_index_get(&job->file_at, hash);
	if (!at || !((struct dft_file *)job->files.v + *at)->name)
		return 0;
	*s = base_name(
		dft_strings_at(&job->strings, ((struct dft_file *)job->files.v + *at)->name));
	if (s->n > TEXT_MAX)
		s->n = TEXT_MAX;
	memcpy(buf, s->s, s->n);
	s->s = buf;
	return 1;
}

/* From the exec hash where there is one, else the executable's name. */
static void set_program(struct dft_job *job, struct dft_proc *p, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
	char buf[TEXT_MAX];
	struct dft_str s;
	uint64_t *at;
	bool fresh;

	if (!text_of(job, dft_jsonr_get(j, r->args, "exec_hash"), r->letter, &s) &&
	    !file_name_of(job, dft_jsonr_get(j, r->args, "pathname_hash"), r->letter, buf, &s))
		return;
	/* One copy for all processes that run the program. */
	at = dft_index_put(&job->programs, dft_hash_bytes(0, s.s, s.n), &fresh);
	if (!at || (fresh && dft_strings_add(&job->strings, s, at) < 0)) {
		dft_job_no_memory(job);
		return;
	}
	p->program = *at;
}

static void take_end(struct dft_job *job, struct dft_proc *p, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
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

/* So that an application's own arg of that name is not taken for the duration. */
static bool is_near(uint64_t a, uint64_t b, uint64_t unit)
{
	return a > b ? a - b <= unit : b - a <= unit;
}

static void take_event(struct dft_job *job, const struct dft_record *r)
{
	struct dft_proc *p = dft_job_proc(job, r->pid);
	bool app = dft_is_of_app(r), life = dft_is_of_tracer(r);
	struct dft_share s = { .calls = 1 };
	struct dft_op *op;
	struct dft_facts f;
	uint64_t from = dft_mul_sat(r->ts, job->unit_ns), to;

	if (!p)
		return;
	dft_facts_take(&f, &job->json, r);
	s.time_ns = dft_mul_sat(r->dur, job->unit_ns);
	if (f.has_dur_ns && (!app || is_near(f.dur_ns, s.time_ns, job->unit_ns)))
		s.time_ns = f.dur_ns;
	s.max_ns = s.time_ns;
	to = from;
	dft_add_sat(&to, s.time_ns);
	if (r->has & DFT_F_TS) {
		add_span(&job->first_ns, &job->last_ns, from, to);
		add_span(&p->first_ns, &p->last_ns, from, to);
	}
	if (life && DFT_STR_IS(r->name, "start")) {
		if (r->args)
			set_program(job, p, r);
		return;
	}
	if (life && DFT_STR_IS(r->name, "end")) {
		take_end(job, p, r);
		return;
	}
	job->events++;
	p->events++;
	if (f.relations)
		dft_sums_relations(job, f.relations);
	if (app) {
		dft_sums_event(job, r, &s);
		return;
	}
	dft_coverage_event(job, r, &f);
	op = dft_job_op(job, &job->ops, &job->op_at, r);
	if (!op)
		return;
	s.bytes = dft_facts_bytes(&f, op->dir, r);
	s.restarted = f.restarted;
	s.errors = !f.restarted && f.has_ret && f.ret == -1 &&
		   (f.has_errno || dft_is_io_cat(r->cat));
	job->error_cnt += s.errors;
	dft_op_add(op, &s);
	add_to_files(job, op->dir, &f, &s);
	if (f.has_file && f.has_ret && f.ret != -1 && DFT_STR_IS(r->name, "mmap") && dft_is_io_cat(r->cat))
		take_mapping(job, r, f.file);
	if (r->args && f.has_ret && f.ret == 0 && DFT_STR_IS(r->name, "execve") &&
	    dft_is_io_cat(r->cat))
		set_program(job, p, r);
}

/*
 * Tallies of pipes are of a "file" named pipe:[N], as /proc shows it, or say args.pipe. Returns
 * whether this is one, with a number that tells the pipes apart.
 */
static bool is_pipe(struct dft_job *job, const struct dft_record *r, const struct dft_facts *f,
		    uint64_t *which)
{
	const struct dft_jsonr_node *v;
	struct dft_str s;
	uint64_t *at;

	if (f->is_pipe) {
		v = dft_jsonr_get(&job->json, r->args, "pipe");
		s = dft_jsonr_raw(&job->json, v);
		*which = dft_hash_bytes(0, s.s, s.n);
		return true;
	}
	at = f->has_file ? dft_index_get(&job->file_at, f->file) : NULL;
	if (!at)
		return false;
	s = dft_strings_at(&job->strings, ((struct dft_file *)job->files.v + *at)->name);
	*which = f->file;
	return s.n > 6 && memcmp(s.s, "pipe:[", 6) == 0;
}

/* From the first of its calls to the end of the last one. */
static void take_row_span(struct dft_job *job, struct dft_proc *p, const struct dft_record *r,
			  const struct dft_facts *f)
{
	uint64_t from = dft_mul_sat(r->ts, job->unit_ns), to = dft_mul_sat(f->last, job->unit_ns);

	if (!(r->has & DFT_F_TS))
		return;
	if (to < from)
		to = from;
	add_span(&job->first_ns, &job->last_ns, from, to);
	add_span(&p->first_ns, &p->last_ns, from, to);
}

/* A row that stands for many calls: a tally of a pipe, or of calls without events of their own. */
static void take_aggregate(struct dft_job *job, const struct dft_record *r)
{
	struct dft_share s = { 0 };
	struct dft_proc *p;
	struct dft_op *op;
	struct dft_facts f;
	uint64_t which = 0;
	bool fresh, pipe;

	/* So that the process is known even if it has nothing else. */
	p = dft_job_proc(job, r->pid);
	if (!p)
		return;
	dft_facts_take(&f, &job->json, r);
	take_row_span(job, p, r, &f);
	s.calls = f.has_cnt ? f.cnt : 1;
	s.errors = f.errors;
	s.time_ns = f.has_dur_ns ? f.dur_ns : dft_mul_sat(f.dur_sum, job->unit_ns);
	s.max_ns = dft_mul_sat(f.dur_max, job->unit_ns);
	if (dft_is_of_app(r)) {
		dft_sums_add(job, r, &s);
		return;
	}
	pipe = is_pipe(job, r, &f, &which);
	op = pipe ? dft_job_op(job, &job->pipes, &job->pipe_at, r) :
		    dft_job_op(job, &job->ops, &job->op_at, r);
	if (!op)
		return;
	s.bytes = f.ret_sum ? f.ret_sum : dft_facts_bytes(&f, op->dir, r);
	dft_op_add(op, &s);
	if (!pipe) {
		dft_add_sat(&op->in_rows, s.calls);
		if (op->dir != DFT_DIR_MAPPED || f.shed)
			dft_add_sat(f.shed ? &job->shed_cnt : &job->chosen_cnt, s.calls);
		dft_add_sat(&job->error_cnt, s.errors);
		add_to_files(job, op->dir, &f, &s);
	} else if (dft_index_put(&job->pipe_ids, which, &fresh)) {
		job->pipe_cnt += fresh;
	} else {
		dft_job_no_memory(job);
	}
}

static void take_file_name(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, "value");
	struct dft_file *f;
	struct dft_str name;
	uint64_t hash;
	int rc;

	if (!v || !dft_hash_value(j, v, r->letter, &hash))
		return;
	f = file_of(job, hash);
	/* The same text has the same hash in every process. */
	if (!f || f->name)
		return;
	rc = dft_original_name(j, r->args, &job->raw, &name);
	if (rc < 0 || (rc > 0 && dft_strings_add(&job->strings, name, &f->name) < 0))
		dft_job_no_memory(job);
}

static void take_text(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
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

/* What the tracer says of itself; an application may use the same names for something else. */
static void take_own_metadata(struct dft_job *job, const struct dft_record *r)
{
	static const struct dft_str none = { "", 0 };
	const struct dft_jsonr_node *v = dft_jsonr_get(&job->json, r->args, "name");
	struct dft_str key, val;

	key = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(&job->json, v) : none;
	v = dft_jsonr_get(&job->json, r->args, "value");
	val = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(&job->json, v) : none;
	if (DFT_STR_IS(key, "time_metric"))
		job->unit_ns = DFT_STR_IS(val, "NS") ? 1 :
			       DFT_STR_IS(val, "MS") ? 1000000 :
			       DFT_STR_IS(val, "SEC") ? 1000000000 : 1000;
	else if (DFT_STR_IS(key, "coverage_incomplete"))
		dft_coverage_incomplete(job, val);
	else
		dft_sums_coverage(job, r, key, val);
}

static void take_metadata(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
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
	} else if (!DFT_STR_IS(r->name, "CM")) {
		dft_sums_entity_record(job, r);
	} else if (!dft_is_of_app(r)) {
		take_own_metadata(job, r);
	}
}

int dft_job_line(struct dft_job *job, const struct dft_line *line)
{
	struct dft_record r;
	int rc = dft_record_parse(&r, &job->json, line->s, line->n);

	if (rc != 1)
		return rc;
	job->records++;
	job->err = 0;
	switch (r.ph) {
	case DFT_PH_COMPLETE:
		take_event(job, &r);
		break;
	case DFT_PH_AGGREGATED:
		take_aggregate(job, &r);
		break;
	case DFT_PH_METADATA:
		take_metadata(job, &r);
		break;
	case DFT_PH_COUNTER:
		job->counters++;
		break;
	default:
		job->others++;
		break;
	}
	return job->err ? job->err : 1;
}
