// SPDX-License-Identifier: MIT
#include "summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check.h"

/* A program's name is never long; command lines, which are SH records too, are not needed here. */
#define TEXT_MAX 255

/* What the sums need of an event's args. */
struct facts {
	bool has_ret, has_errno, restarted, has_file, has_other, has_size_sum, has_dur_ns;
	bool is_pipe;
	int64_t ret;
	uint64_t file, other, pipe;
	uint64_t size, image_size, size_sum, dur_ns;
	uint64_t cnt, errors, dur_sum, dur_max, ret_sum;
};

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
	free(job->hosts.v);
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

static const struct {
	const char *name;
	enum dft_dir dir;
} dirs[] = {
	{ "read", DFT_DIR_READ }, { "pread", DFT_DIR_READ }, { "pread64", DFT_DIR_READ },
	{ "readv", DFT_DIR_READ }, { "preadv", DFT_DIR_READ }, { "preadv2", DFT_DIR_READ },
	{ "preadv64", DFT_DIR_READ }, { "fread", DFT_DIR_READ }, { "recv", DFT_DIR_READ },
	{ "recvfrom", DFT_DIR_READ }, { "recvmsg", DFT_DIR_READ },
	{ "__read_chk", DFT_DIR_READ }, { "__pread_chk", DFT_DIR_READ },
	{ "__pread64_chk", DFT_DIR_READ }, { "__fread_chk", DFT_DIR_READ },
	{ "write", DFT_DIR_WRITE }, { "pwrite", DFT_DIR_WRITE }, { "pwrite64", DFT_DIR_WRITE },
	{ "writev", DFT_DIR_WRITE }, { "pwritev", DFT_DIR_WRITE }, { "pwritev2", DFT_DIR_WRITE },
	{ "pwritev64", DFT_DIR_WRITE }, { "fwrite", DFT_DIR_WRITE }, { "send", DFT_DIR_WRITE },
	{ "sendto", DFT_DIR_WRITE }, { "sendmsg", DFT_DIR_WRITE },
	{ "copy_file_range", DFT_DIR_FROM_FHASH }, { "splice", DFT_DIR_FROM_FHASH },
	{ "sendfile", DFT_DIR_TO_FHASH }, { "sendfile64", DFT_DIR_TO_FHASH },
};

static bool is_io_cat(struct dft_str cat)
{
	return cat.n == 5 && (strncasecmp(cat.s, "posix", 5) == 0 ||
			      strncasecmp(cat.s, "stdio", 5) == 0);
}

enum dft_dir dft_dir_of(struct dft_str cat, struct dft_str name)
{
	if (!is_io_cat(cat))
		return DFT_DIR_NONE;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dft_str_eq(name, dirs[i].name, strlen(dirs[i].name)))
			return dirs[i].dir;
	return DFT_DIR_NONE;
}

static bool no_memory(struct dft_job *job)
{
	job->err = -ENOMEM;
	return false;
}

static struct dft_op *op_of(struct dft_job *job, struct dft_vec *vec, struct dft_index *map,
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
		no_memory(job);
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
		no_memory(job);
		return NULL;
	}
	*at = job->files.n - 1;
	f->hash = hash;
	return f;
}

static struct dft_proc *proc_of(struct dft_job *job, uint64_t pid)
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
		no_memory(job);
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

static void add_count(struct dft_job *job, struct dft_vec *vec, struct dft_str group,
		      struct dft_str name, uint64_t n)
{
	uint64_t seed = (uint64_t)((char *)vec - (char *)job);
	uint64_t key = dft_hash_bytes(dft_hash_bytes(seed, group.s, group.n), name.s, name.n);
	struct dft_count *c;
	bool fresh;
	uint64_t *at = dft_index_put(&job->count_at, key, &fresh);

	if (at && !fresh) {
		dft_add_sat(&((struct dft_count *)vec->v + *at)->n, n);
		return;
	}
	c = at ? dft_vec_add(vec, sizeof(*c)) : NULL;
	if (!c || dft_strings_add(&job->strings, group, &c->group) < 0 ||
	    dft_strings_add(&job->strings, name, &c->name) < 0) {
		no_memory(job);
		return;
	}
	*at = vec->n - 1;
	c->n = n;
}

/* args.lost and args.filtered: {op: n}, {class: {op: n}}, or a mere number. */
static void add_counts(struct dft_job *job, struct dft_vec *vec, const struct dft_jsonr_node *n)
{
	static const struct dft_str none = { "", 0 }, calls = { "calls", 5 };
	struct dft_jsonr *j = &job->json;
	const struct dft_jsonr_node *k, *i;
	uint64_t v;

	if (dft_jsonr_u64(j, n, &v) && v)
		add_count(job, vec, none, calls, v);
	if (n->type != DFT_JSONR_OBJECT)
		return;
	for (k = dft_jsonr_first(j, n); k; k = dft_jsonr_next(j, n, k)) {
		const struct dft_jsonr_node *val = dft_jsonr_value(k);
		struct dft_str key = dft_jsonr_str(j, k);

		if (val->type != DFT_JSONR_OBJECT) {
			v = dft_sum_counts(j, val, NULL, 0);
			if (v)
				add_count(job, vec, none, key, v);
			continue;
		}
		for (i = dft_jsonr_first(j, val); i; i = dft_jsonr_next(j, val, i)) {
			v = dft_sum_counts(j, dft_jsonr_value(i), NULL, 0);
			if (v)
				add_count(job, vec, key, dft_jsonr_str(j, i), v);
		}
	}
}

/* One arg of an event. Keys are told apart by length first, because every event passes here. */
static void take_arg(struct dft_job *job, bool old, struct facts *f, struct dft_str k,
		     const struct dft_jsonr_node *v)
{
	struct dft_jsonr *j = &job->json;

	switch (k.n) {
	case 3:
		if (memcmp(k.s, "ret", 3) == 0)
			f->has_ret = dft_jsonr_i64(j, v, &f->ret);
		break;
	case 4:
		if (memcmp(k.s, "size", 4) == 0)
			dft_jsonr_u64(j, v, &f->size);
		else if (memcmp(k.s, "pipe", 4) == 0)
			f->is_pipe = true;
		break;
	case 5:
		if (memcmp(k.s, "fhash", 5) == 0)
			f->has_file = dft_hash_value(j, v, old, &f->file);
		else if (memcmp(k.s, "errno", 5) == 0)
			f->has_errno = true;
		break;
	case 6:
		if (memcmp(k.s, "dur_ns", 6) == 0)
			f->has_dur_ns = dft_jsonr_u64(j, v, &f->dur_ns);
		else if (memcmp(k.s, "errors", 6) == 0)
			dft_jsonr_u64(j, v, &f->errors);
		break;
	case 7:
		if (memcmp(k.s, "dft_cnt", 7) == 0)
			dft_jsonr_u64(j, v, &f->cnt);
		else if (memcmp(k.s, "dur_sum", 7) == 0)
			dft_jsonr_u64(j, v, &f->dur_sum);
		else if (memcmp(k.s, "dur_max", 7) == 0)
			dft_jsonr_u64(j, v, &f->dur_max);
		else if (memcmp(k.s, "ret_sum", 7) == 0)
			dft_jsonr_u64(j, v, &f->ret_sum);
		break;
	case 8:
		if (memcmp(k.s, "size_sum", 8) == 0)
			f->has_size_sum = dft_jsonr_u64(j, v, &f->size_sum);
		break;
	case 9:
		if (memcmp(k.s, "restarted", 9) == 0)
			f->restarted = true;
		break;
	case 10:
		if (memcmp(k.s, "image_size", 10) == 0)
			dft_jsonr_u64(j, v, &f->image_size);
		break;
	case 11:
		if (memcmp(k.s, "other_fhash", 11) == 0)
			f->has_other = dft_hash_value(j, v, old, &f->other);
		break;
	default:
		break;
	}
}

static void take_args(struct dft_job *job, const struct dft_record *r, struct facts *f)
{
	struct dft_jsonr *j = &job->json;
	const struct dft_jsonr_node *k;

	memset(f, 0, sizeof(*f));
	if (!r->args)
		return;
	for (k = dft_jsonr_first(j, r->args); k; k = dft_jsonr_next(j, r->args, k))
		take_arg(job, r->letter, f, dft_jsonr_str(j, k), dft_jsonr_value(k));
}

/* The reader rule for sizes: `count` is what was asked for and never counts. */
static uint64_t bytes_of(const struct dft_op *op, const struct dft_record *r,
			 const struct facts *f)
{
	uint64_t n = f->has_ret && f->ret > 0 ? (uint64_t)f->ret : 0;

	if (f->has_size_sum)
		return f->size_sum;
	if (op->dir != DFT_DIR_NONE) {
		/* fread and fwrite return items; nothing else with a direction has a `size`. */
		return f->size ? dft_mul_sat(n, f->size) : n;
	}
	if (is_io_cat(r->cat) || memmem(r->name.s, r->name.n, "open", 4))
		return 0;
	return f->image_size;
}

/* One call, or several taken together. */
struct share {
	uint64_t calls, errors, restarted, bytes, time_ns, max_ns;
};

static void add_to_op(struct dft_op *op, const struct share *s)
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
			const struct share *s)
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
}

static void add_to_files(struct dft_job *job, enum dft_dir dir, const struct facts *f,
			 const struct share *s)
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
	*s = base_name(dft_strings_at(&job->strings, ((struct dft_file *)job->files.v + *at)->name));
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
		no_memory(job);
		return;
	}
	p->program = *at;
}

static void take_end(struct dft_job *job, struct dft_proc *p, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
	const struct dft_jsonr_node *v, *n;

	p->ended = true;
	job->ended = true;
	if (!r->args)
		return;
	v = dft_jsonr_get(j, r->args, "lost");
	if (v) {
		add_counts(job, &job->lost, v);
		dft_add_sat(&job->lost_cnt, dft_sum_counts(j, v, NULL, 0));
	}
	v = dft_jsonr_get(j, r->args, "filtered");
	if (v) {
		add_counts(job, &job->filtered, v);
		dft_add_sat(&job->filtered_cnt, dft_sum_counts(j, v, NULL, 0));
	}
	v = dft_jsonr_get(j, r->args, "exit");
	n = v ? dft_jsonr_get(j, v, "code") : NULL;
	if (n && dft_jsonr_i64(j, n, &p->exit_val))
		p->exit_kind = DFT_EXIT_CODE;
	n = v ? dft_jsonr_get(j, v, "signal") : NULL;
	if (n && dft_jsonr_i64(j, n, &p->exit_val))
		p->exit_kind = DFT_EXIT_SIGNAL;
}

static void take_event(struct dft_job *job, const struct dft_record *r)
{
	struct dft_proc *p = proc_of(job, r->pid);
	bool life = DFT_STR_IS(r->cat, "dftracer");
	struct share s = { .calls = 1 };
	struct dft_op *op;
	struct facts f;
	uint64_t from = dft_mul_sat(r->ts, job->unit_ns), to;

	if (!p)
		return;
	take_args(job, r, &f);
	s.time_ns = s.max_ns = f.has_dur_ns ? f.dur_ns : dft_mul_sat(r->dur, job->unit_ns);
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
	op = op_of(job, &job->ops, &job->op_at, r);
	if (!op)
		return;
	s.bytes = bytes_of(op, r, &f);
	s.restarted = f.restarted;
	s.errors = !f.restarted && f.has_ret && f.ret == -1 && (f.has_errno || is_io_cat(r->cat));
	job->error_cnt += s.errors;
	add_to_op(op, &s);
	add_to_files(job, op->dir, &f, &s);
	if (r->args && f.has_ret && f.ret == 0 && DFT_STR_IS(r->name, "execve") &&
	    is_io_cat(r->cat))
		set_program(job, p, r);
}

/* A row that stands for many calls: a tally of a pipe, or of calls without events of their own. */
static void take_aggregate(struct dft_job *job, const struct dft_record *r)
{
	struct dft_proc *p = proc_of(job, r->pid);
	struct share s = { 0 };
	struct dft_op *op;
	struct facts f;
	bool fresh;

	if (!p)
		return;
	take_args(job, r, &f);
	s.calls = f.cnt ? f.cnt : 1;
	s.errors = f.errors;
	s.time_ns = dft_mul_sat(f.dur_sum, job->unit_ns);
	s.max_ns = dft_mul_sat(f.dur_max, job->unit_ns);
	op = f.is_pipe ? op_of(job, &job->pipes, &job->pipe_at, r) :
			 op_of(job, &job->ops, &job->op_at, r);
	if (!op)
		return;
	s.bytes = f.ret_sum ? f.ret_sum : bytes_of(op, r, &f);
	add_to_op(op, &s);
	if (!f.is_pipe) {
		dft_add_sat(&job->error_cnt, s.errors);
		add_to_files(job, op->dir, &f, &s);
		return;
	}
	/* Told apart by the text of args.pipe, whatever it is. */
	{
		const struct dft_jsonr_node *v = dft_jsonr_get(&job->json, r->args, "pipe");
		struct dft_str raw = dft_jsonr_raw(&job->json, v);

		if (!dft_index_put(&job->pipe_ids, dft_hash_bytes(0, raw.s, raw.n), &fresh))
			no_memory(job);
		else
			job->pipe_cnt += fresh;
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
		no_memory(job);
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
		no_memory(job);
}

static void take_metadata(struct dft_job *job, const struct dft_record *r)
{
	struct dft_jsonr *j = &job->json;
	static const struct dft_str none = { "", 0 };
	const struct dft_jsonr_node *v;
	struct dft_str key, val;

	if (!r->args || r->name.n != 2)
		return;
	if (DFT_STR_IS(r->name, "FH")) {
		take_file_name(job, r);
	} else if (DFT_STR_IS(r->name, "SH")) {
		take_text(job, r);
	} else if (DFT_STR_IS(r->name, "HH")) {
		v = dft_jsonr_get(j, r->args, "name");
		if (v && v->type == DFT_JSONR_STRING)
			add_count(job, &job->hosts, none, dft_jsonr_str(j, v), 1);
	} else if (DFT_STR_IS(r->name, "CM")) {
		v = dft_jsonr_get(j, r->args, "name");
		key = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(j, v) : none;
		v = dft_jsonr_get(j, r->args, "value");
		val = v && v->type == DFT_JSONR_STRING ? dft_jsonr_str(j, v) : none;
		if (DFT_STR_IS(key, "time_metric"))
			job->unit_ns = DFT_STR_IS(val, "NS") ? 1 :
				       DFT_STR_IS(val, "MS") ? 1000000 :
				       DFT_STR_IS(val, "SEC") ? 1000000000 : 1000;
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
