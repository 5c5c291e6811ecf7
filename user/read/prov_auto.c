// SPDX-License-Identifier: MIT
#include "prov_auto.h"

#include <fcntl.h>

#include "graph.h"
#include "prov.h"

#define PROCS(a) ((struct dft_auto_proc *)(a)->procs.v)
#define RUNS(a)	 ((struct dft_auto_run *)(a)->runs.v)
#define FACTS(a) ((struct dft_auto_fact *)(a)->facts.v)
#define PAIRS(a) ((struct dft_auto_pair *)(a)->pairs.v)

/*
 * Whether a mapping that can be written was written is told by page faults, where the trace has them.
 * That stands in the end record: until then both answers are kept.
 */
#define UNSEEN_SHIFT 16
#define FACT_BITS    ((1u << UNSEEN_SHIFT) - 1)

#define WRITER "dftrace-bpf"

void dft_auto_free(struct dft_auto_facts *a)
{
	for (size_t i = 0; i < a->procs.n; i++)
		dft_rows_free(&PROCS(a)[i].own);
	dft_rows_free(&a->procs);
	dft_rows_free(&a->runs);
	dft_rows_free(&a->facts);
	dft_rows_free(&a->pairs);
	dft_index_free(&a->fact_at);
	dft_index_free(&a->pair_at);
	dft_processes_free(&a->processes);
	dft_index_free(&a->proc_at);
	memset(a, 0, sizeof(*a));
}

void dft_auto_begin(struct dft_auto_facts *a)
{
	dft_index_clear(&a->fact_at);
	dft_index_clear(&a->pair_at);
	dft_index_clear(&a->proc_at);
	a->processes.alone = true;
	dft_processes_begin_file(&a->processes);
	a->proc = 0;
	a->first_proc = a->procs.n;
	a->first_run = a->runs.n;
	a->first_fact = a->facts.n;
	a->first_pair = a->pairs.n;
}

static uint64_t num(struct dft_jsonr *j, const struct dft_record *r, const char *key, bool *has)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, key);
	uint64_t n = 0;
	bool is = v && dft_jsonr_u64(j, v, &n);

	if (has)
		*has = is;
	return n;
}

static bool hash(struct dft_jsonr *j, const struct dft_record *r, const char *key, uint64_t *h)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, key);

	return v && dft_hash_value(j, v, r->letter, h);
}

/* ---- processes and runs --------------------------------------------------------------------- */

static struct dft_auto_run *add_run(struct dft_auto_facts *a, uint64_t start, uint64_t id)
{
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	struct dft_auto_run *run = dft_rows_add(&a->runs, sizeof(*run));
	size_t *own = run ? dft_rows_add(&p->own, sizeof(*own)) : NULL;

	if (!own)
		return NULL;
	*own = a->runs.n - 1;
	run->start = run->end = start;
	run->id = id;
	run->mnt_ns = p->mnt_ns;
	run->proc = a->proc - 1;
	return run;
}

/* Puts the process of the record at hand into a->proc; its first event makes it. 0 or -ENOMEM. */
static int find_proc(struct dft_auto_facts *a, struct dft_graph *g, const struct dft_record *r,
		     struct dft_jsonr *j)
{
	size_t nr = dft_process_of(&a->processes, r, j);
	bool fresh, event = r->ph == DFT_PH_COMPLETE || r->ph == DFT_PH_AGGREGATED;
	uint64_t *at = nr ? dft_index_put(&a->proc_at, nr, &fresh) : NULL;
	struct dft_auto_proc *p;

	if (!at)
		return -ENOMEM;
	a->proc = *at;
	if (a->proc || !event || !r->args || dft_is_of_app(r))
		return 0;
	p = dft_rows_add(&a->procs, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*at = a->proc = a->procs.n;
	hash(j, r, "hhash", &p->host);
	p->pid = r->pid;
	p->born = r->ts;
	p->unit_ns = g->unit_ns;
	return add_run(a, r->ts, 0) ? 0 : -ENOMEM;
}

/* The run at that time: an exec ends all other threads, so that what begins later is of the next one. */
static size_t run_at(const struct dft_auto_facts *a, const struct dft_auto_proc *p, uint64_t ts)
{
	const size_t *own = p->own.v;
	size_t from = 0, to = p->own.n;

	while (to - from > 1) {
		size_t mid = from + (to - from) / 2;

		if (RUNS(a)[own[mid]].start <= ts)
			from = mid;
		else
			to = mid;
	}
	return own[from];
}

static void lasted_until(struct dft_auto_run *run, uint64_t ts, uint64_t dur)
{
	dft_add_sat(&ts, dur);
	if (ts > run->end)
		run->end = ts;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static int learn(struct dft_auto_facts *a, size_t run, uint64_t file, unsigned int facts)
{
	const uint64_t parts[] = { run, file };
	struct dft_auto_fact *f;
	bool fresh;
	uint64_t *at;

	if (!facts)
		return 0;
	/* A collision of the hash would mix two files up: its key is verified, and passed over. */
	for (uint64_t key = dft_hash_bytes(3, parts, sizeof(parts));; key++) {
		at = dft_index_put(&a->fact_at, key, &fresh);
		if (!at)
			return -ENOMEM;
		f = fresh ? dft_rows_add(&a->facts, sizeof(*f)) : FACTS(a) + *at;
		if (!f)
			return -ENOMEM;
		if (fresh) {
			*at = a->facts.n - 1;
			f->run = run;
			f->file = file;
		}
		if (f->run == run && f->file == file)
			break;
	}
	f->facts |= facts;
	return 0;
}

static int learn_pair(struct dft_auto_facts *a, size_t run, uint64_t from, uint64_t to, bool link)
{
	const uint64_t parts[] = { run, from, to, link };
	uint64_t key = dft_hash_bytes(4, parts, sizeof(parts)), *at;
	struct dft_auto_pair *p;
	bool fresh;

	at = dft_index_put(&a->pair_at, key, &fresh);
	if (!at)
		return -ENOMEM;
	if (!fresh)
		return 0;
	p = dft_rows_add(&a->pairs, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct dft_auto_pair){ .run = run, .from = from, .to = to, .link = link };
	return 0;
}

static void take_call(struct dft_prov_call *call, const struct dft_record *r, struct dft_jsonr *j,
		      const struct dft_facts *f, enum dft_prov_act act)
{
	*call = (struct dft_prov_call){ .ret = f->ret, .len = f->len, .faults_seen = true };
	/* Most calls are reads and writes, of which nothing else matters. */
	if (act == DFT_PROV_READ || act == DFT_PROV_WRITE)
		return;
	call->flags = num(j, r, "flags", &call->has_flags);
	call->prot = num(j, r, "prot", NULL);
	call->created = num(j, r, "created", NULL);
}

/* A successful exec: what is executed is of the run that begins. */
static int begin_run(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	struct dft_auto_run *last = &RUNS(a)[((size_t *)p->own.v)[p->own.n - 1]], *run;
	uint64_t start = r->ts > last->start ? r->ts : last->start, file, interp;
	size_t nr = a->runs.n;
	int rc = 0;

	lasted_until(last, start, 0);
	run = add_run(a, start, r->id);
	if (!run)
		return -ENOMEM;
	run->execed = true;
	lasted_until(run, r->ts, r->dur);
	if (hash(j, r, "pathname_hash", &file)) {
		run->path = file;
		rc = learn(a, nr, file, DFT_PROV_RAN);
	}
	if (!rc && hash(j, r, "interp_hash", &interp))
		rc = learn(a, nr, interp, DFT_PROV_RAN);
	return rc;
}

static bool is_about_dir(struct dft_str event)
{
	return DFT_STR_IS(event, "readdir") || DFT_STR_IS(event, "mkdir") ||
	       DFT_STR_IS(event, "rmdir") || DFT_STR_IS(event, "chdir");
}

static int take_event(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j,
		      enum dft_prov_act act)
{
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	size_t run = run_at(a, p, r->ts);
	struct dft_prov_call call;
	struct dft_facts f;
	unsigned int file, other, file_unseen = 0;
	bool names = act == DFT_PROV_RENAME || act == DFT_PROV_LINK;
	int rc = 0;

	lasted_until(&RUNS(a)[run], r->ts, r->dur);
	if (act == DFT_PROV_NONE && !is_about_dir(r->name))
		return 0;
	dft_facts_take(&f, j, r);
	if (act == DFT_PROV_NONE)
		return f.has_file && f.ret >= 0 ? learn(a, run, f.file, DFT_AUTO_DIR) : 0;
	if (!f.has_ret)
		return 0;
	if (act == DFT_PROV_EXEC)
		return f.ret == 0 ? begin_run(a, r, j) : 0;
	take_call(&call, r, j, &f, act);
	dft_prov_facts(act, &call, &file, &other);
	if (act == DFT_PROV_MAP) {
		call.faults_seen = false;
		dft_prov_facts(act, &call, &file_unseen, &(unsigned int){ 0 });
	}
	if (names)
		f.has_other = hash(j, r, "newpath_hash", &f.other);
	if (act == DFT_PROV_OPEN && call.flags & O_DIRECTORY &&
	    !(call.flags & DFT_PROV_O_TMPFILE) && f.ret >= 0)
		file = DFT_AUTO_DIR;
	if (f.has_file)
		rc = learn(a, run, f.file, file | (file_unseen & ~file) << UNSEEN_SHIFT);
	if (!rc && f.has_other)
		rc = learn(a, run, f.other, other);
	if (!rc && names && f.has_file && f.has_other && f.ret == 0)
		rc = learn_pair(a, run, f.file, f.other, act == DFT_PROV_LINK);
	if (!rc && names && f.has_file && f.has_other && file & DFT_PROV_NAMED) /* exchanged */
		rc = learn_pair(a, run, f.other, f.file, false);
	return rc;
}

/* Calls in a row are of one file; of a call between two, a row does not tell the other. */
static int take_row(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j,
		    enum dft_prov_act act)
{
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	size_t from = run_at(a, p, r->ts), to;
	struct dft_facts f;
	unsigned int facts = 0;
	int rc;

	dft_facts_take(&f, j, r);
	/* Of others a row tells neither both files nor what was asked for. */
	p->shed |= f.shed && act != DFT_PROV_NONE && act != DFT_PROV_READ && act != DFT_PROV_WRITE;
	if (!f.has_file || !f.has_cnt || (f.cnt <= f.errors && !f.ret_sum))
		return 0;
	if (act == DFT_PROV_READ || act == DFT_PROV_COPY_FROM)
		facts = DFT_PROV_DID_READ;
	else if ((act == DFT_PROV_WRITE || act == DFT_PROV_COPY_TO) && f.ret_sum)
		facts = DFT_PROV_WROTE;
	/* Its first call is of the one run, its last of the other. */
	to = f.last > r->ts ? run_at(a, p, f.last) : from;
	lasted_until(&RUNS(a)[to], f.last, 0);
	rc = learn(a, from, f.file, facts);
	return rc || to == from ? rc : learn(a, to, f.file, facts);
}

static void take_start(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	struct dft_auto_run *run = &RUNS(a)[*(size_t *)p->own.v];
	const struct dft_jsonr_node *v = dft_jsonr_get(j, r->args, "version");
	struct dft_str by = { "", 0 };

	if (v && v->type == DFT_JSONR_STRING)
		by = dft_jsonr_str(j, v);
	p->foreign = by.n < sizeof(WRITER) - 1 || memcmp(by.s, WRITER, sizeof(WRITER) - 1) != 0;
	p->ppid = num(j, r, "ppid", NULL);
	hash(j, r, "cmd_hash", &p->program);
	p->mnt_ns = num(j, r, "mnt_ns", NULL);
	run->mnt_ns = p->mnt_ns;
	run->id = r->id;
}

static void take_end(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j)
{
	const struct dft_jsonr_node *cfg = dft_jsonr_get(j, r->args, "cfg"), *v;
	struct dft_auto_proc *p = &PROCS(a)[a->proc - 1];
	uint64_t n;

	p->ended = true;
	v = cfg ? dft_jsonr_get(j, cfg, "prov") : NULL;
	p->prov_told |= v && dft_jsonr_u64(j, v, &n) && n;
	v = cfg ? dft_jsonr_get(j, cfg, "mmap") : NULL;
	p->faults_untold = v && dft_jsonr_u64(j, v, &n) && !n;
}

/* A namespace that the process has from its next exec on. */
static void take_cm(struct dft_auto_facts *a, const struct dft_record *r, struct dft_jsonr *j)
{
	const struct dft_jsonr_node *name = dft_jsonr_get(j, r->args, "name");
	const struct dft_jsonr_node *value = dft_jsonr_get(j, r->args, "value");

	if (name && value && name->type == DFT_JSONR_STRING && value->type == DFT_JSONR_STRING &&
	    DFT_STR_IS(dft_jsonr_str(j, name), "mnt_ns"))
		dft_decimal(dft_jsonr_str(j, value), &PROCS(a)[a->proc - 1].mnt_ns);
}

int dft_auto_record(struct dft_auto_facts *a, struct dft_graph *g, const struct dft_record *r,
		    struct dft_jsonr *j)
{
	bool event = r->ph == DFT_PH_COMPLETE;
	struct dft_auto_proc *p;
	int rc;

	/* The dialect of 2025 does not tell what a call returned. */
	if (r->letter)
		return 0;
	rc = find_proc(a, g, r, j);
	if (rc || !a->proc || !r->args || dft_is_of_app(r))
		return rc;
	p = &PROCS(a)[a->proc - 1];
	if (r->ph == DFT_PH_METADATA) {
		if (DFT_STR_IS(r->name, "CM"))
			take_cm(a, r, j);
		return 0;
	}
	if (!event && r->ph != DFT_PH_AGGREGATED)
		return 0;
	if (event && dft_is_of_tracer(r)) {
		if (DFT_STR_IS(r->name, "start"))
			take_start(a, r, j);
		else if (DFT_STR_IS(r->name, "end"))
			take_end(a, r, j);
		return 0;
	}
	if (event && dft_is_of_run(r)) {
		RUNS(a)[run_at(a, p, r->ts)].told = true;
		p->prov_told = true;
		return 0;
	}
	if (p->foreign || !DFT_STR_IS(r->cat, "POSIX"))
		return 0;
	return event ? take_event(a, r, j, dft_prov_act_of(r->name.s, r->name.n)) :
		       take_row(a, r, j, dft_prov_act_of(r->name.s, r->name.n));
}

/* ---- the end of a file ---------------------------------------------------------------------- */

/* Of a process that needs no deriving, others may still ask: what did it make, what was it given? */
static bool may_be_asked(unsigned int facts)
{
	return facts & DFT_PROV_MADE || (facts & DFT_PROV_WROTE && !(facts & DFT_PROV_OPENED));
}

/* Puts the runs of each process together. `to` gets the new place of each. */
static int gather_runs(struct dft_auto_facts *a, size_t *to)
{
	size_t n = a->runs.n - a->first_run, at = a->first_run;
	struct dft_auto_run *was = calloc(n + 1, sizeof(*was));

	if (!was)
		return -ENOMEM;
	memcpy(was, RUNS(a) + a->first_run, n * sizeof(*was));
	for (size_t i = a->first_proc; i < a->procs.n; i++) {
		struct dft_auto_proc *p = &PROCS(a)[i];
		const size_t *own = p->own.v;

		p->run = at;
		p->nruns = p->own.n;
		for (size_t k = 0; k < p->nruns; k++, at++) {
			RUNS(a)[at] = was[own[k] - a->first_run];
			to[own[k] - a->first_run] = at;
		}
		dft_rows_free(&p->own);
		p->whole = p->foreign || (p->ended && p->prov_told);
	}
	free(was);
	return 0;
}

int dft_auto_end(struct dft_auto_facts *a)
{
	size_t n = a->first_fact, *to;

	if (a->procs.n == a->first_proc)
		return 0;
	to = calloc(a->runs.n - a->first_run + 1, sizeof(*to));
	if (!to || gather_runs(a, to)) {
		free(to);
		return -ENOMEM;
	}
	for (size_t i = a->first_fact; i < a->facts.n; i++) {
		struct dft_auto_fact f = FACTS(a)[i];
		const struct dft_auto_proc *p;

		f.run = to[f.run - a->first_run];
		p = &PROCS(a)[RUNS(a)[f.run].proc];
		if (p->faults_untold)
			f.facts |= f.facts >> UNSEEN_SHIFT;
		f.facts &= FACT_BITS;
		if (!p->whole || may_be_asked(f.facts))
			FACTS(a)[n++] = f;
	}
	a->facts.n = n;
	n = a->first_pair;
	for (size_t i = a->first_pair; i < a->pairs.n; i++) {
		struct dft_auto_pair pair = PAIRS(a)[i];

		pair.run = to[pair.run - a->first_run];
		if (!PROCS(a)[RUNS(a)[pair.run].proc].whole)
			PAIRS(a)[n++] = pair;
	}
	a->pairs.n = n;
	free(to);
	return 0;
}

int dft_auto_merge(struct dft_auto_facts *to, const struct dft_auto_facts *from)
{
	size_t procs = to->procs.n, runs = to->runs.n;

	for (size_t i = 0; i < from->procs.n; i++) {
		struct dft_auto_proc *p = dft_rows_add(&to->procs, sizeof(*p));

		if (!p)
			return -ENOMEM;
		*p = PROCS(from)[i];
		p->run += runs;
	}
	for (size_t i = 0; i < from->runs.n; i++) {
		struct dft_auto_run *r = dft_rows_add(&to->runs, sizeof(*r));

		if (!r)
			return -ENOMEM;
		*r = RUNS(from)[i];
		r->proc += procs;
	}
	for (size_t i = 0; i < from->facts.n; i++) {
		struct dft_auto_fact *f = dft_rows_add(&to->facts, sizeof(*f));

		if (!f)
			return -ENOMEM;
		*f = FACTS(from)[i];
		f->run += runs;
	}
	for (size_t i = 0; i < from->pairs.n; i++) {
		struct dft_auto_pair *p = dft_rows_add(&to->pairs, sizeof(*p));

		if (!p)
			return -ENOMEM;
		*p = PAIRS(from)[i];
		p->run += runs;
	}
	return 0;
}
