// SPDX-License-Identifier: MIT
/* Trace events in JSON as Chrome defined them, for ui.perfetto.dev and chrome://tracing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export.h"
#include "log.h"
#include "moved.h"
#include "nest.h"
#include "out.h"
#include "rewrite.h"
#include "timeline.h"
#include "view.h"

#define BUFFERED (64u << 10)
/* Ids that stand for others begin above all that Linux gives. */
#define FREE_IDS (1u << 22)
#define INTERVALS 1000 /* of the counters, at most: each call is spread over those it spans */

struct proc {
	uint64_t id, number, program;
};

struct thread {
	uint64_t pid, tid, name; /* as written; name in view.programs, 0: none */
};

struct run {
	struct dft_view view;
	struct dft_timeline timeline;
	struct dft_extsort *sort;
	struct dft_export_file out;
	struct dft_buf buf;      /* of what is written */
	struct dft_json json;
	struct dft_buf span_buf; /* of the span at hand */
	struct dft_index ids;    /* process and number -> id */
	struct dft_index taken;  /* ids */
	struct dft_index proc_at, thread_at;
	struct proc *procs;
	struct thread *threads;
	size_t nprocs, procs_cap, nthreads, threads_cap;
	uint64_t next_id, next_async;
};

/* ---- who ------------------------------------------------------------------------------------ */

/* Viewers know one machine, on which no number is given twice. 0: no memory. */
static uint64_t id_of(struct run *r, uint64_t process, uint64_t number)
{
	const uint64_t key[2] = { process, number };
	bool fresh, free_id = false;
	uint64_t *v = dft_index_put(&r->ids, dft_hash_bytes(0, key, sizeof(key)), &fresh), id = number;

	if (!v)
		return 0;
	if (!fresh)
		return *v;
	while (!free_id) {
		if (!id || id > INT32_MAX || dft_index_get(&r->taken, id)) {
			id = r->next_id++;
			continue;
		}
		free_id = true;
	}
	*v = id;
	return dft_index_put(&r->taken, id, &fresh) ? id : 0;
}

/* Room for one more; false: no memory. */
static bool grow(void *v, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 64;
	void **at = v, *p;

	if (n < *cap)
		return true;
	p = realloc(*at, want * size);
	if (!p)
		return false;
	*at = p;
	*cap = want;
	return true;
}

/* The process of the record at hand. 0 or -ENOMEM. */
static int take_proc(struct run *r, uint64_t *pid, uint64_t *tid)
{
	const struct dft_record *rec = r->view.r;
	uint64_t *at;
	bool fresh;

	*pid = id_of(r, r->view.process, rec->pid);
	*tid = rec->tid == rec->pid ? *pid : id_of(r, r->view.process, rec->tid);
	at = *pid && *tid ? dft_index_put(&r->proc_at, *pid, &fresh) : NULL;
	if (!at)
		return -ENOMEM;
	if (fresh) {
		if (!grow(&r->procs, r->nprocs, &r->procs_cap, sizeof(*r->procs)))
			return -ENOMEM;
		r->procs[r->nprocs] = (struct proc){ .id = *pid, .number = r->view.process };
		*at = ++r->nprocs;
	}
	if (r->view.program)
		r->procs[*at - 1].program = r->view.program;
	return 0;
}

/* CM comm: the name of a thread. */
static int take_thread(struct run *r, uint64_t pid, uint64_t tid)
{
	struct dft_jsonr *j = r->view.json;
	const struct dft_jsonr_node *args = r->view.r->args;
	const struct dft_jsonr_node *key = args ? dft_jsonr_get(j, args, "name") : NULL;
	const struct dft_jsonr_node *val = args ? dft_jsonr_get(j, args, "value") : NULL;
	const uint64_t who[2] = { pid, tid };
	uint64_t *at;
	bool fresh;

	if (!DFT_STR_IS(r->view.r->name, "CM") || dft_is_of_app(r->view.r) || !key || !val ||
	    key->type != DFT_JSONR_STRING || val->type != DFT_JSONR_STRING ||
	    !DFT_STR_IS(dft_jsonr_str(j, key), "comm"))
		return 0;
	at = dft_index_put(&r->thread_at, dft_hash_bytes(0, who, sizeof(who)), &fresh);
	if (!at)
		return -ENOMEM;
	if (fresh) {
		if (!grow(&r->threads, r->nthreads, &r->threads_cap, sizeof(*r->threads)))
			return -ENOMEM;
		r->threads[r->nthreads] = (struct thread){ .pid = pid, .tid = tid };
		*at = ++r->nthreads;
	}
	return dft_strings_add(&r->view.programs, dft_jsonr_str(j, val),
			       &r->threads[*at - 1].name);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void json_us(struct dft_json *w, const char *key, uint64_t ns)
{
	char text[32];
	int n = ns % 1000 ? snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000) :
			    snprintf(text, sizeof(text), "%" PRIu64, ns / 1000);

	dft_json_raw(w, key, text, (size_t)n);
}

static struct dft_json *event(struct run *r, const char *ph, uint64_t pid, uint64_t tid)
{
	dft_buf_putc(&r->buf, '\n');
	dft_json_object(&r->json, NULL);
	dft_json_cstr(&r->json, "ph", ph);
	dft_json_u64(&r->json, "pid", pid);
	dft_json_u64(&r->json, "tid", tid);
	return &r->json;
}

static int event_end(struct run *r)
{
	dft_json_object_end(&r->json);
	return r->buf.len < BUFFERED && !r->buf.failed ? 0 : dft_out_buf(&r->buf, r->out.f);
}

/* Members that stand in the text already: name, cat, args. */
static void put_text(struct run *r, struct dft_str text)
{
	dft_buf_putc(&r->buf, ',');
	dft_buf_append(&r->buf, text.s, text.n);
}

/* "name", "cat" and "args" of the record at hand, into span_buf. */
static struct dft_str describe(struct run *r)
{
	const struct dft_record *rec = r->view.r;
	struct dft_jsonr *j = r->view.json;
	struct dft_json w = { .buf = &r->span_buf };
	const struct dft_jsonr_node *k;
	struct dft_str file;
	bool own = false;

	r->span_buf.len = 0;
	dft_json_str(&w, "name", rec->name.s, rec->name.n);
	dft_json_str(&w, "cat", rec->cat.s, rec->cat.n);
	dft_json_object(&w, "args");
	for (k = rec->args ? dft_jsonr_first(j, rec->args) : NULL; k;
	     k = dft_jsonr_next(j, rec->args, k)) {
		struct dft_str key = dft_jsonr_str(j, k);

		own |= DFT_STR_IS(key, "file");
		/* Names say more. */
		if (!DFT_STR_IS(key, "hhash") && !DFT_STR_IS(key, "fhash"))
			dft_rewrite_member(&w, j, k);
	}
	if (!own && dft_view_file(&r->view, &file))
		dft_json_str(&w, "file", file.s, file.n);
	dft_json_object_end(&w);
	return (struct dft_str){ r->span_buf.data, r->span_buf.failed ? 0 : r->span_buf.len };
}

static int put_async(struct run *r, const struct dft_span *s, struct dft_str text)
{
	uint64_t id = ++r->next_async, end = s->ts_ns;
	int rc;

	dft_add_sat(&end, s->dur_ns);
	for (int i = 0; i < 2; i++) {
		struct dft_json *w = event(r, i ? "e" : "b", s->pid, s->tid);

		dft_json_u64(w, "id", id);
		json_us(w, "ts", i ? end : s->ts_ns);
		put_text(r, text);
		rc = event_end(r);
		if (rc)
			return rc;
	}
	return 0;
}

static int on_span(void *ctx, const struct dft_span *s, bool nests, struct dft_str text)
{
	struct run *r = ctx;
	struct dft_json *w;

	if (!nests)
		return put_async(r, s, text);
	w = event(r, "X", s->pid, s->tid);
	json_us(w, "ts", s->ts_ns);
	json_us(w, "dur", s->dur_ns);
	put_text(r, text);
	return event_end(r);
}

static int put_instant(struct run *r, const struct dft_span *s, struct dft_str text)
{
	struct dft_json *w = event(r, "i", s->pid, s->tid);

	dft_json_cstr(w, "s", "p");
	json_us(w, "ts", s->ts_ns);
	put_text(r, text);
	return event_end(r);
}

/* A counter of the trace's own: its numbers. */
static int put_counter(struct run *r, uint64_t pid, uint64_t tid)
{
	const struct dft_record *rec = r->view.r;
	struct dft_jsonr *j = r->view.json;
	struct dft_json *w = event(r, "C", pid, tid);
	const struct dft_jsonr_node *k;

	dft_json_str(w, "name", rec->name.s, rec->name.n);
	dft_json_str(w, "cat", rec->cat.s, rec->cat.n);
	json_us(w, "ts", dft_view_ts(&r->view));
	dft_json_object(w, "args");
	for (k = rec->args ? dft_jsonr_first(j, rec->args) : NULL; k;
	     k = dft_jsonr_next(j, rec->args, k)) {
		unsigned int type = dft_jsonr_value(k)->type;

		if (type == DFT_JSONR_INT || type == DFT_JSONR_REAL)
			dft_rewrite_member(w, j, k);
	}
	dft_json_object_end(w);
	return event_end(r);
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

/* Requests go on while their thread does something else. */
static bool is_request(struct run *r)
{
	static const struct dft_field_ref via = { DFT_FIELD_ARG, { "via", 3 } };
	struct dft_value v = dft_view_get(&r->view, &via);

	return v.kind == DFT_VALUE_STR && !dft_is_of_app(r->view.r) &&
	       (DFT_STR_IS(v.s, "io_uring") || DFT_STR_IS(v.s, "aio"));
}

static int take_event(struct run *r, uint64_t pid, uint64_t tid)
{
	const struct dft_record *rec = r->view.r;
	struct dft_span s = { pid, tid, dft_view_ts(&r->view), 0 };
	uint64_t last = dft_mul_sat(dft_view_facts(&r->view)->last, r->view.unit_ns);
	struct dft_str text = describe(r);

	if (r->span_buf.failed)
		return -ENOMEM;
	if (rec->ph == DFT_PH_AGGREGATED) {
		s.dur_ns = last > s.ts_ns ? last - s.ts_ns : 0;
		return put_async(r, &s, text);
	}
	/* Not dur_ns, which is exact while the begin is rounded. */
	s.dur_ns = dft_mul_sat(rec->dur, r->view.unit_ns);
	if (dft_is_of_tracer(rec) && (DFT_STR_IS(rec->name, "start") || DFT_STR_IS(rec->name, "end")))
		return put_instant(r, &s, text);
	/* A run of a program is as long as its process, which all its threads are within. */
	if (is_request(r) || dft_is_of_run(rec))
		return put_async(r, &s, text);
	return dft_nest_add(r->sort, &s, text);
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct run *r = ctx;
	struct dft_tl_call call;
	uint64_t pid, tid;
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	/* Names are nobody's: whoever comes first tells them. */
	if (rc || (rec->ph == DFT_PH_METADATA && rec->name.n == 2 && rec->name.s[1] == 'H'))
		return rc;
	rc = take_proc(r, &pid, &tid);
	if (rc)
		return rc;
	if (rec->ph == DFT_PH_METADATA)
		return take_thread(r, pid, tid);
	if (!(rec->has & DFT_F_TS))
		return 0;
	if (dft_moved(&r->view, &call)) {
		rc = dft_timeline_add(&r->timeline, &call);
		if (rc)
			return rc;
	}
	if (rec->ph == DFT_PH_COUNTER)
		return put_counter(r, pid, tid);
	return rec->ph == DFT_PH_COMPLETE || rec->ph == DFT_PH_AGGREGATED ? take_event(r, pid, tid) : 0;
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
};

/* ---- what is known at the end --------------------------------------------------------------- */

static int put_title(struct run *r, const char *what, uint64_t pid, uint64_t tid, struct dft_str name)
{
	struct dft_json *w = event(r, "M", pid, tid);

	dft_json_cstr(w, "name", what);
	dft_json_object(w, "args");
	dft_json_str(w, "name", name.s, name.n);
	dft_json_object_end(w);
	return event_end(r);
}

static int put_process(struct run *r, const struct proc *p)
{
	const struct dft_process *who = dft_process_at(&r->view.processes, p->number);
	struct dft_str program = { "", 0 }, host = { "", 0 };
	struct dft_buf name = DFT_BUF_INIT;
	int rc;

	if (p->program)
		program = dft_strings_at(&r->view.programs, p->program);
	dft_buf_append(&name, program.s, program.n);
	dft_buf_puts(&name, program.n ? " (" : "(");
	if (who->has_host && dft_naming_get(&r->view.names, DFT_NAME_HH, who->host, &host)) {
		dft_buf_append(&name, host.s, host.n);
		dft_buf_putc(&name, ':');
	}
	dft_buf_u64(&name, who->pid);
	dft_buf_putc(&name, ')');
	rc = name.failed ? -ENOMEM : put_title(r, "process_name", p->id, p->id,
					       (struct dft_str){ name.data, name.len });
	dft_buf_free(&name);
	return rc;
}

static int put_bytes(struct run *r, uint64_t pid, uint64_t at_ns, const char *name, uint64_t bytes)
{
	struct dft_json *w = event(r, "C", pid, pid);

	dft_json_cstr(w, "name", name);
	json_us(w, "ts", at_ns);
	dft_json_object(w, "args");
	dft_json_u64(w, "bytes", bytes);
	dft_json_object_end(w);
	return event_end(r);
}

/* A counter holds its value until it gets another: an interval with nothing in it needs its zero. */
static int put_bandwidth(struct run *r)
{
	struct dft_timeline *t = &r->timeline;
	char read[64], written[64], width[DFT_UNIT_SZ];
	uint64_t pid = id_of(r, 0, 0);
	int rc = pid ? 0 : -ENOMEM;

	if (rc || !t->n)
		return rc;
	dft_timeline_sort(t);
	dft_human_ns(width, t->width_ns);
	snprintf(read, sizeof(read), "bytes read in %s", width);
	snprintf(written, sizeof(written), "bytes written in %s", width);
	rc = put_title(r, "process_name", pid, pid, (struct dft_str){ "all processes", 13 });
	for (size_t i = 0; !rc && i < t->n; i++) {
		const struct dft_tl_slot *s = &t->slots[i];
		uint64_t at = dft_mul_sat(s->at, t->width_ns), end = at;
		bool gap = i + 1 == t->n || t->slots[i + 1].at != s->at + 1;

		dft_add_sat(&end, t->width_ns);
		rc = put_bytes(r, pid, at, read, s->cell.read);
		if (!rc)
			rc = put_bytes(r, pid, at, written, s->cell.written);
		if (!rc && gap)
			rc = put_bytes(r, pid, end, read, 0);
		if (!rc && gap)
			rc = put_bytes(r, pid, end, written, 0);
	}
	return rc;
}

static int put_names(struct run *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->nprocs; i++)
		rc = put_process(r, &r->procs[i]);
	for (size_t i = 0; !rc && i < r->nthreads; i++)
		rc = put_title(r, "thread_name", r->threads[i].pid, r->threads[i].tid,
			       dft_strings_at(&r->view.programs, r->threads[i].name));
	return rc;
}

static int write_all(struct run *r, struct dft_pass *p, int argc, char **argv)
{
	int rc;

	r->json.buf = &r->buf;
	dft_json_object(&r->json, NULL);
	dft_json_cstr(&r->json, "displayTimeUnit", "ms");
	dft_json_array(&r->json, "traceEvents");
	rc = dft_pass_run(p, argc, argv);
	if (rc)
		return rc;
	rc = dft_nest_run(r->sort, on_span, r);
	if (!rc)
		rc = put_bandwidth(r);
	if (!rc)
		rc = put_names(r);
	dft_json_array_end(&r->json);
	dft_json_object_end(&r->json);
	dft_buf_putc(&r->buf, '\n');
	if (!rc)
		rc = dft_out_buf(&r->buf, r->out.f);
	return dft_export_failed("perfetto", rc);
}

static int run_perfetto(int argc, char **argv, const struct dft_export_opts *opts)
{
	static struct run r = { .next_id = FREE_IDS };
	const struct dft_extsort_opts so = { 0 };
	struct dft_pass p = { .cmd = "export", .ops = &ops, .ctx = &r, .in_order = true };
	int rc = dft_export_open(&r.out, opts);

	if (rc)
		return DFT_EXIT_FAULT;
	dft_timeline_init(&r.timeline, 0, INTERVALS);
	r.sort = dft_extsort_new(&so);
	rc = r.sort ? write_all(&r, &p, argc, argv) : dft_export_failed("perfetto", -ENOMEM);
	rc = dft_export_close(&r.out, rc);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_view_free(&r.view);
	dft_timeline_free(&r.timeline);
	dft_extsort_free(r.sort);
	dft_buf_free(&r.buf);
	dft_buf_free(&r.span_buf);
	dft_index_free(&r.ids);
	dft_index_free(&r.taken);
	dft_index_free(&r.proc_at);
	dft_index_free(&r.thread_at);
	free(r.procs);
	free(r.threads);
	return rc;
}

const struct dft_exporter dft_export_perfetto = {
	.name = "perfetto",
	.brief = "trace events in JSON, for ui.perfetto.dev and chrome://tracing",
	.run = run_perfetto,
};
