// SPDX-License-Identifier: MIT
#include "pass.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "faults.h"
#include "log.h"
#include "out.h"
#include "whole.h"

#define MAX_THREADS	 64
#define AHEAD_FROM	 (4u << 20) /* bytes of a file: less is not worth another thread */
#define LINES_A_NOTE	 8192 /* a thread says how far it is once in so many lines */
#define PROGRESS_FROM_NS 1000000000ull
#define PROGRESS_EACH_NS 200000000ull

/* What is kept of a file until its turn to be told. */
struct told {
	struct dft_faults *faults; /* NULL: none */
	struct dft_buf out;
	bool done;
};

struct shared {
	struct dft_pass *p;
	struct told *told;
	atomic_size_t next;  /* file to be read */
	atomic_int err;      /* ends all threads */
	atomic_uint_fast64_t bytes; /* of all files, as they lie on disk */
	uint64_t total;      /* 0: unknown */
	uint64_t start_ns, shown_ns;
	bool terminal;
	pthread_mutex_t lock; /* of the messages, and of `done` */
	size_t told_cnt;      /* files before this one have been told */
};

struct worker {
	struct shared *sh;
	void *state;
	struct dft_source *src;
	struct dft_jsonr json;
	struct dft_buf out;
	struct dft_faults faults;
	uint64_t noted; /* bytes of the file at hand that are in sh->bytes */
	pthread_t thread;
	bool started;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- how far it is -------------------------------------------------------------------------- */

static void wipe_progress(struct shared *sh)
{
	if (sh->shown_ns && write(STDERR_FILENO, "\r\033[K", 4) < 0)
		sh->terminal = false;
	sh->shown_ns = 0;
}

static void show_progress(struct shared *sh)
{
	char line[128], in[DFT_UNIT_SZ], all[DFT_UNIT_SZ];
	uint64_t now = now_ns(), bytes = atomic_load(&sh->bytes);
	int n;

	if (now - sh->start_ns < PROGRESS_FROM_NS || pthread_mutex_trylock(&sh->lock))
		return;
	if (now - sh->shown_ns >= PROGRESS_EACH_NS) {
		n = snprintf(line, sizeof(line), "\r\033[K%s: read %s%s%s", sh->p->cmd,
			     dft_human_bytes(in, bytes), sh->total ? " of " : "",
			     sh->total ? dft_human_bytes(all, sh->total) : "");
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
			sh->terminal = false;
		sh->shown_ns = now;
	}
	pthread_mutex_unlock(&sh->lock);
}

static void note_progress(struct worker *w)
{
	struct dft_source_stat st;

	dft_source_stat(w->src, &st);
	atomic_fetch_add(&w->sh->bytes, st.bytes_in - w->noted);
	w->noted = st.bytes_in;
	if (w->sh->terminal)
		show_progress(w->sh);
}

/* ---- what is wrong with the files ----------------------------------------------------------- */

static void on_fault(void *worker, const struct dft_fault *fault)
{
	struct worker *w = worker;

	if (w->sh->p->ops->fault)
		w->sh->p->ops->fault(w->state, fault);
	else if (!fault->harmless)
		dft_faults_take(&w->faults, fault);
}

static void warn_faults(const char *path, const struct dft_faults *f)
{
	char name[1024], text[DFT_FAULT_SZ + 64];

	dft_safe_z(name, sizeof(name), path);
	for (size_t i = 0; i < f->kept; i++)
		dft_warn("%s: %s", name, dft_fault_text(text, sizeof(text), &f->v[i]));
	if (f->total > f->kept)
		dft_warn("%s: ... and %" PRIu64 " more", name, f->total - f->kept);
}

/* Tells of all files whose predecessors have been told of. Under the lock. */
static void tell(struct shared *sh)
{
	struct dft_pass *p = sh->p;

	while (sh->told_cnt < p->files.n && sh->told[sh->told_cnt].done) {
		struct told *t = &sh->told[sh->told_cnt];

		if (t->faults || t->out.len)
			wipe_progress(sh);
		if (t->faults)
			warn_faults(p->files.v[sh->told_cnt], t->faults);
		/* An error of stdout is found once, by dft_out_finish(). */
		dft_out_buf(&t->out, stdout);
		dft_buf_free(&t->out);
		free(t->faults);
		t->faults = NULL;
		sh->told_cnt++;
	}
}

/* The sums, and the messages in their order. 0 or -ENOMEM. */
static int file_done(struct worker *w, size_t nr, const struct dft_pass_end *end)
{
	struct shared *sh = w->sh;
	struct dft_read_stat *sum = &sh->p->stat;
	const struct dft_source_stat *st = &end->stat;
	struct told *t = &sh->told[nr];
	bool unfinished = !end->error && !st->cut && !end->ended;

	if (end->error)
		dft_faults_add(&w->faults, 0, "cannot be read: %s", strerror(-end->error));
	if (unfinished)
		dft_faults_add(&w->faults, 0,
			       "unfinished: no end record (still being written, or the tracer was "
			       "killed)");
	if (w->out.failed)
		return -ENOMEM;
	t->out = w->out;
	w->out = (struct dft_buf)DFT_BUF_INIT;
	if (w->faults.total && !sh->p->quiet && !sh->p->ops->fault) {
		t->faults = malloc(sizeof(*t->faults));
		if (!t->faults)
			return -ENOMEM;
		memcpy(t->faults, &w->faults, sizeof(w->faults));
		for (size_t i = 0; i < t->faults->kept; i++)
			t->faults->v[i].what = t->faults->text[i];
	}
	pthread_mutex_lock(&sh->lock);
	sum->files++;
	sum->unread += end->error != 0;
	sum->unfinished += unfinished;
	sum->cut += st->cut;
	sum->damaged += st->damaged || (end->faults && !st->cut && !end->error);
	sum->faults += end->faults + (end->error != 0);
	sum->bytes_in += st->bytes_in;
	sum->bytes_out += st->bytes_out;
	t->done = true;
	tell(sh);
	pthread_mutex_unlock(&sh->lock);
	return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* 0 or -errno that ends the pass. */
static int read_line(struct worker *w, const struct dft_line *line, bool *ended)
{
	struct shared *sh = w->sh;
	struct dft_source_stat st;
	struct dft_record r;
	int rc;

	if (sh->p->ops->line) {
		dft_source_stat(w->src, &st);
		return sh->p->ops->line(w->state, sh->p->ctx, line, st.plain);
	}
	rc = dft_record_parse(&r, &w->json, line->s, line->n);
	if (rc == -EBADMSG) {
		/* That a plain file ends within its last line has been told. */
		dft_source_stat(w->src, &st);
		if (line->whole || !st.plain)
			dft_faults_add_json(&w->faults, line->no, &w->json);
		return 0;
	}
	if (rc <= 0)
		return rc;
	*ended |= dft_is_end(&r);
	return sh->p->ops->record(w->state, sh->p->ctx, &r, &w->json, line);
}

static size_t core_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	/* Not those of the machine that are others'. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cores = CPU_COUNT(&set);
	return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;
}

/* Cores that have no file to read any more decompress for those that have. */
static uint64_t ahead_from(const struct shared *sh, size_t nr)
{
	size_t left = sh->p->files.n - nr;

	return (sh->p->in_order ? 1 : left) < core_count() ? AHEAD_FROM : UINT64_MAX;
}

/* 0, or what ends the pass: what reading the file fails with does not. */
static int read_lines(struct worker *w, const char *path, size_t nr, struct dft_pass_end *end)
{
	int rc;

	dft_source_ahead(w->src, ahead_from(w->sh, nr));
	end->error = dft_source_open(w->src, path, on_fault, w);
	while (!end->error) {
		struct dft_line line;

		rc = dft_source_next(w->src, &line);
		if (rc == -ENOMEM)
			return rc;
		if (rc != 1) {
			end->error = rc;
			break;
		}
		rc = read_line(w, &line, &end->ended);
		if (rc)
			return rc;
		if (line.no % LINES_A_NOTE == 0) {
			note_progress(w);
			rc = atomic_load(&w->sh->err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int read_file(struct worker *w, size_t nr)
{
	struct dft_pass *p = w->sh->p;
	const struct dft_pass_file file = { .path = p->files.v[nr], .nr = nr };
	struct dft_pass_end end = { .out = &w->out };
	int rc = p->ops->begin ? p->ops->begin(w->state, p->ctx, &file) : 0;
	bool enough;

	dft_faults_clear(&w->faults);
	w->noted = 0;
	if (!rc)
		rc = read_lines(w, file.path, nr, &end);
	if (rc < 0)
		return rc;
	/* Whether there is an end was not looked at, then. */
	enough = rc == DFT_PASS_ENOUGH;
	end.ended |= enough;
	dft_source_stat(w->src, &end.stat);
	note_progress(w);
	end.faults = w->faults.total;
	if (p->ops->end)
		rc = p->ops->end(w->state, p->ctx, &file, &end);
	else
		rc = 0;
	if (!rc)
		rc = file_done(w, nr, &end);
	return rc || !enough ? rc : DFT_PASS_ENOUGH;
}

static void *work(void *worker)
{
	struct worker *w = worker;
	struct shared *sh = w->sh;
	int none = 0, rc;

	while (!atomic_load(&sh->err)) {
		size_t nr = atomic_fetch_add(&sh->next, 1);

		if (nr >= sh->p->files.n)
			break;
		rc = read_file(w, nr);
		if (rc)
			atomic_compare_exchange_strong(&sh->err, &none, rc);
	}
	return NULL;
}

static size_t thread_count(const struct dft_pass *p)
{
	size_t n = core_count();

	if (p->in_order || !p->files.n)
		return 1;
	return n < p->files.n ? n : p->files.n;
}

/* The first worker is the calling thread; of the others those work that can be had. */
static int run_workers(struct shared *sh, struct worker *workers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		workers[i].sh = sh;
		workers[i].state = dft_pass_state(sh->p, i);
		workers[i].src = dft_source_new();
		if (!workers[i].src)
			return -ENOMEM;
	}
	for (size_t i = 1; i < n; i++)
		workers[i].started = !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	work(&workers[0]);
	for (size_t i = 1; i < n; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	return atomic_load(&sh->err);
}

static int read_all(struct shared *sh)
{
	struct dft_pass *p = sh->p;
	size_t n = thread_count(p);
	struct worker *workers = calloc(n, sizeof(*workers));
	int rc = -ENOMEM;

	sh->told = calloc(p->files.n ? p->files.n : 1, sizeof(*sh->told));
	p->states = calloc(n, p->ops->state_sz);
	if (workers && sh->told && p->states) {
		p->nstates = n;
		rc = run_workers(sh, workers, n);
	}
	wipe_progress(sh);
	for (size_t i = 0; workers && i < n; i++) {
		dft_source_free(workers[i].src);
		dft_jsonr_free(&workers[i].json);
		dft_buf_free(&workers[i].out);
	}
	for (size_t i = 0; sh->told && i < p->files.n; i++) {
		free(sh->told[i].faults);
		dft_buf_free(&sh->told[i].out);
	}
	free(sh->told);
	free(workers);
	return rc;
}

int dft_pass_run(struct dft_pass *p, int argc, char **argv)
{
	struct shared sh = { .p = p, .start_ns = now_ns(), .lock = PTHREAD_MUTEX_INITIALIZER,
			     .terminal = isatty(STDERR_FILENO) && !p->quiet };
	int rc = dft_files_add_all(&p->files, argc, argv);

	sh.total = p->files.bytes;
	dft_whole_spare(&p->files);
	if (!rc && p->ops->listed)
		rc = p->ops->listed(p->ctx, &p->files);
	if (!rc)
		rc = read_all(&sh);
	if (rc == DFT_PASS_ENOUGH)
		rc = 0;
	p->stat.unread += p->files.errors;
	if (rc)
		dft_error("%s: %s (nothing of the result is to be used)", p->cmd, strerror(-rc));
	return rc;
}

int dft_pass_exit(const struct dft_pass *p, int rc)
{
	int err = dft_out_finish();

	return err || rc || p->stat.faults || p->files.errors ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
}

void dft_pass_free(struct dft_pass *p)
{
	free(p->states);
	p->states = NULL;
	p->nstates = 0;
	dft_whole_spare(NULL);
	dft_files_free(&p->files);
}
