// SPDX-License-Identifier: MIT
/* What calls add to operations, files and processes: single ones, and rows that stand for many. */
#include <string.h>
#include <sys/mman.h>

#include "summary_parts.h"

/*
 * So many pairs of a process and a file are told apart within one file of the trace, which is of one
 * process as a rule; what is beyond counts in all sums, but not among the processes of a file, and where
 * it read and wrote is not looked at.
 */
#define MAX_USES (1u << 18)

/* What the parts of take_event() need to know of one call. */
struct call {
	const struct dft_record *r;
	struct dft_facts f;
	struct dft_share s;
	struct dft_proc *p;
	struct dft_op *op;
	uint64_t from_ns;
};

/* The same as one number: pairs differ in more than one bit of it. */
static uint64_t use_key(const struct dft_job *job, uint64_t hash)
{
	return hash ^ job->cur_proc * 0x9e3779b97f4a7c15ull;
}

/*
 * What the process at hand does with that file; NULL when there are too many, or memory is short. The
 * file is `*file` in any case but the last.
 */
static struct dft_use *use_of(struct dft_job *job, uint64_t hash, struct dft_file **file)
{
	uint64_t *at, key = use_key(job, hash);
	struct dft_use *u;
	bool fresh;

	if (job->cur_use && job->cur_hash == key) {
		u = (struct dft_use *)job->uses.v + job->cur_use - 1;
		*file = (struct dft_file *)job->files.v + u->file;
		return u;
	}
	at = job->uses.n < MAX_USES ? dft_index_put(&job->use_at, key, &fresh) :
				      dft_index_get(&job->use_at, key);
	if (at && *at) {
		job->cur_use = *at;
		job->cur_hash = key;
		u = (struct dft_use *)job->uses.v + *at - 1;
		*file = (struct dft_file *)job->files.v + u->file;
		return u;
	}
	*file = dft_job_file(job, hash);
	if (!*file)
		return NULL;
	if (!at) {
		(*file)->procs_more = true;
		if (job->uses.n < MAX_USES)
			dft_job_no_memory(job);
		return NULL;
	}
	u = dft_vec_add(&job->uses, sizeof(*u));
	if (!u) {
		dft_job_no_memory(job);
		return NULL;
	}
	*at = job->uses.n;
	u->file = (uint64_t)(*file - (struct dft_file *)job->files.v);
	u->proc = job->cur_proc - 1;
	(*file)->procs++;
	job->cur_use = *at;
	job->cur_hash = key;
	return u;
}

static struct dft_use *add_to_file(struct dft_job *job, const struct dft_op *op, uint64_t hash,
				   enum dft_dir dir, const struct dft_share *s)
{
	struct dft_file *f = NULL;
	struct dft_use *u = use_of(job, hash, &f);

	if (!f)
		return NULL;
	dft_add_sat(&f->calls, s->calls);
	dft_add_sat(&f->errors, s->errors);
	dft_add_sat(&f->time_ns, s->time_ns);
	if (dft_class_is_meta(op->class))
		dft_add_sat(&f->meta_ns, s->time_ns);
	if (op->class == DFT_CLASS_OPEN && s->calls > s->errors)
		dft_add_sat(&f->opens, s->calls - s->errors);
	if (dir == DFT_DIR_READ)
		dft_add_sat(&f->read, s->bytes);
	else if (dir == DFT_DIR_WRITE)
		dft_add_sat(&f->written, s->bytes);
	else if (dir == DFT_DIR_MAPPED)
		dft_add_sat(&f->faulted, s->bytes);
	return u;
}

/* A mapping: from then on the file is read and written without calls. */
static void take_mapping(struct dft_job *job, const struct dft_record *r, uint64_t hash)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(job->json, r->args, "prot");
	struct dft_file *f = dft_job_file(job, hash);
	uint64_t prot = 0;

	if (!f)
		return;
	f->mapped = true;
	if (v && dft_jsonr_u64(job->json, v, &prot) && prot & PROT_EXEC)
		f->code = true;
}

const char *dft_mapped_state(const struct dft_job *job, const struct dft_file *f)
{
	if (!f->mapped && !f->faulted)
		return NULL;
	return f->code ? "code" : job->faults_unseen ? "unknown" : "known";
}

/* What is done with the first of the files. */
static struct dft_use *add_to_files(struct dft_job *job, const struct dft_op *op, const struct dft_facts *f,
				    const struct dft_share *s)
{
	enum dft_dir dir = op->dir;
	bool to = dir == DFT_DIR_TO_FHASH, from = dir == DFT_DIR_FROM_FHASH;
	struct dft_use *u = NULL;

	if (f->has_other)
		add_to_file(job, op, f->other, to ? DFT_DIR_READ : from ? DFT_DIR_WRITE : DFT_DIR_NONE, s);
	if (f->has_file)
		u = add_to_file(job, op, f->file, to ? DFT_DIR_WRITE : from ? DFT_DIR_READ : dir, s);
	return u;
}

/* What a call adds to its process. */
static void add_to_proc(struct dft_proc *p, const struct dft_op *op, const struct dft_share *s)
{
	bool both = op->class == DFT_CLASS_COPY;

	if (dft_class_is_data(op->class))
		dft_add_sat(&p->data_ns, s->time_ns);
	else if (dft_class_is_meta(op->class))
		dft_add_sat(&p->meta_ns, s->time_ns);
	else
		return;
	dft_add_sat(&p->calls, s->calls);
	if (both || op->class == DFT_CLASS_READ)
		dft_add_sat(&p->read, s->bytes);
	if (both || op->class == DFT_CLASS_WRITE)
		dft_add_sat(&p->written, s->bytes);
}

static void add_span(uint64_t *first, uint64_t *last, uint64_t from, uint64_t to)
{
	if (from < *first)
		*first = from;
	if (to > *last)
		*last = to;
}

/* So that an application's own arg of that name is not taken for the duration. */
static bool is_near(uint64_t a, uint64_t b, uint64_t unit)
{
	return a > b ? a - b <= unit : b - a <= unit;
}

static void count_thread(struct dft_job *job, struct dft_proc *p, uint64_t tid)
{
	uint64_t key = tid ^ job->cur_proc * 0x9e3779b97f4a7c15ull;
	bool fresh;

	if (job->cur_tid == key && p->threads)
		return;
	job->cur_tid = key;
	if (!dft_index_put(&job->tid_at, key, &fresh))
		dft_job_no_memory(job);
	else
		p->threads += fresh;
}

/* Of a list that is too long for a record there are several; the first one is the run. */
static void take_run(struct dft_job *job, const struct dft_record *r, const struct dft_facts *f)
{
	const struct dft_jsonr_node *v = r->args ? dft_jsonr_get(job->json, r->args, "part") : NULL;
	uint64_t part;

	job->runs += !(v && dft_jsonr_u64(job->json, v, &part) && part > 1);
	if (f->relations)
		dft_sums_relations(job, &job->run_relations, f->relations);
}

static void take_slow(struct dft_job *job, const struct call *c)
{
	const struct dft_slow *least = job->slow.v;
	struct dft_slow s;

	if ((job->slow.n == job->slow_max && (!job->slow_max || c->s.time_ns < least->dur_ns)) ||
	    (!dft_class_is_data(c->op->class) && !dft_class_is_meta(c->op->class)))
		return;
	s = (struct dft_slow){
		.dur_ns = c->s.time_ns, .ts_ns = c->from_ns, .pid = c->r->pid, .tid = c->r->tid,
		.bytes = c->s.bytes, .has_bytes = c->op->dir != DFT_DIR_NONE,
		.op = (uint64_t)(c->op - (struct dft_op *)job->ops.v),
		.file = c->f.file, .has_file = c->f.has_file, .file_nr = job->file_nr, .id = c->r->id,
	};
	dft_slow_take(job, &s);
}

/* A call, the process and the time of which are known. */
static void take_call(struct dft_job *job, struct call *c)
{
	const struct dft_record *r = c->r;
	const struct dft_facts *f = &c->f;
	struct dft_op *op = c->op = dft_job_call(job, r);
	struct dft_use *u;

	if (!op)
		return;
	c->s.bytes = dft_facts_bytes(f, op->dir, r);
	c->s.restarted = f->restarted;
	c->s.errors = !f->restarted && f->has_ret && f->ret == -1 &&
		      (f->has_errno || dft_is_io_cat(r->cat));
	dft_op_add(op, &c->s);
	if (dft_hist_add(&op->hist, c->s.time_ns) < 0)
		dft_job_no_memory(job);
	if (c->s.errors) {
		job->error_cnt++;
		/* No kernel has others; a damaged trace may have any number of them. */
		dft_failure_add(job, (uint64_t)(op - (struct dft_op *)job->ops.v),
				f->err > 0 && f->err < 4096 ? f->err : 0, 1);
	}
	add_to_proc(c->p, op, &c->s);
	u = add_to_files(job, op, f, &c->s);
	if ((op->dir == DFT_DIR_READ || op->dir == DFT_DIR_WRITE) && f->has_ret && f->ret >= 0)
		dft_access_take(job, op->dir == DFT_DIR_READ ? DFT_WAY_READ : DFT_WAY_WRITE, u, f,
				c->s.bytes);
	take_slow(job, c);
	if (op->class == DFT_CLASS_MAP && f->has_file && f->has_ret && f->ret != -1 &&
	    DFT_STR_IS(r->name, "mmap"))
		take_mapping(job, r, f->file);
	if (op->class == DFT_CLASS_PROCESS && r->args && f->has_ret && f->ret == 0 &&
	    DFT_STR_IS(r->name, "execve"))
		dft_job_set_program(job, c->p, r);
}

void dft_job_event(struct dft_job *job, const struct dft_record *r)
{
	struct call c = { .r = r, .s.calls = 1, .p = dft_job_proc(job) };
	bool app = dft_is_of_app(r), life = dft_is_of_tracer(r);
	struct dft_share *s = &c.s;
	uint64_t to;

	if (!c.p)
		return;
	dft_facts_take(&c.f, job->json, r);
	c.from_ns = to = dft_mul_sat(r->ts, job->unit_ns);
	s->time_ns = dft_mul_sat(r->dur, job->unit_ns);
	if (c.f.has_dur_ns && (!app || is_near(c.f.dur_ns, s->time_ns, job->unit_ns)))
		s->time_ns = c.f.dur_ns;
	s->max_ns = s->time_ns;
	dft_add_sat(&to, s->time_ns);
	if (r->has & DFT_F_TS) {
		add_span(&job->first_ns, &job->last_ns, c.from_ns, to);
		add_span(&c.p->first_ns, &c.p->last_ns, c.from_ns, to);
	}
	if (life && DFT_STR_IS(r->name, "start")) {
		if (r->args)
			dft_job_set_program(job, c.p, r);
		return;
	}
	if (life && DFT_STR_IS(r->name, "end")) {
		dft_job_end_record(job, c.p, r);
		return;
	}
	if (dft_is_of_run(r)) {
		take_run(job, r, &c.f);
		return;
	}
	count_thread(job, c.p, r->tid);
	job->events++;
	c.p->events++;
	if (c.f.relations)
		dft_sums_relations(job, &job->annots.relations, c.f.relations);
	if (app) {
		dft_sums_event(job, r, s);
		return;
	}
	dft_coverage_event(job, r, &c.f);
	take_call(job, &c);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/*
 * Tallies of pipes are of a "file" named pipe:[N], as /proc shows it, or say args.pipe. Returns
 * whether this is one, with a number that tells the pipes apart.
 */
static bool is_pipe(struct dft_job *job, const struct dft_record *r, const struct dft_facts *f,
		    uint64_t *which)
{
	const struct dft_jsonr_node *v;
	const struct dft_file *file;
	struct dft_str s;
	uint64_t *at;

	if (f->is_pipe) {
		v = dft_jsonr_get(job->json, r->args, "pipe");
		s = dft_jsonr_raw(job->json, v);
		*which = dft_hash_bytes(0, s.s, s.n);
		return true;
	}
	at = f->has_file ? dft_index_get(&job->file_at, f->file) : NULL;
	file = at ? (struct dft_file *)job->files.v + *at : NULL;
	if (!file || file->named_in != job->serial)
		return false;
	s = dft_strings_at(&job->strings, file->name);
	*which = f->file;
	return dft_is_pipe_name(s);
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

static void take_pipe(struct dft_job *job, struct call *c, uint64_t which)
{
	struct dft_op *op = dft_job_op(job, &job->pipes, &job->pipe_at, c->r);
	bool fresh;

	if (!op)
		return;
	c->s.bytes = c->f.ret_sum ? c->f.ret_sum : dft_facts_bytes(&c->f, op->dir, c->r);
	dft_op_add(op, &c->s);
	if (dft_index_put(&job->pipe_ids, which, &fresh))
		job->pipe_cnt += fresh;
	else
		dft_job_no_memory(job);
}

static void take_calls(struct dft_job *job, struct call *c)
{
	struct dft_op *op = dft_job_call(job, c->r);
	const struct dft_facts *f = &c->f;

	if (!op)
		return;
	c->s.bytes = f->ret_sum ? f->ret_sum : dft_facts_bytes(f, op->dir, c->r);
	dft_op_add(op, &c->s);
	dft_add_sat(&op->in_rows, c->s.calls);
	if (op->dir != DFT_DIR_MAPPED || f->shed)
		dft_add_sat(f->shed ? &job->shed_cnt : &job->chosen_cnt, c->s.calls);
	dft_add_sat(&job->error_cnt, c->s.errors);
	if (c->s.errors)
		dft_failure_add(job, (uint64_t)(op - (struct dft_op *)job->ops.v), 0, c->s.errors);
	add_to_proc(c->p, op, &c->s);
	add_to_files(job, op, f, &c->s);
}

/* A row that stands for many calls: a tally of a pipe, or of calls without events of their own. */
void dft_job_row(struct dft_job *job, const struct dft_record *r)
{
	/* So that the process is known even if it has nothing else. */
	struct call c = { .r = r, .p = dft_job_proc(job) };
	uint64_t which = 0;

	if (!c.p)
		return;
	dft_facts_take(&c.f, job->json, r);
	take_row_span(job, c.p, r, &c.f);
	c.s.calls = c.f.has_cnt ? c.f.cnt : 1;
	c.s.errors = c.f.errors;
	c.s.time_ns = c.f.has_dur_ns ? c.f.dur_ns : dft_mul_sat(c.f.dur_sum, job->unit_ns);
	c.s.max_ns = dft_mul_sat(c.f.dur_max, job->unit_ns);
	if (dft_is_of_app(r))
		dft_sums_add(job, r, &c.s);
	else if (is_pipe(job, r, &c.f, &which))
		take_pipe(job, &c, which);
	else
		take_calls(job, &c);
}
