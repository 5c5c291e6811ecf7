// SPDX-License-Identifier: MIT
/*
 * Feeds recorded steps to the decoder and prints the lines it writes. The steps come from a file that
 * test_golden.py assembles out of a *.rec text:
 *
 *     replay FILE
 *
 * The file is a sequence of {u32 kind; u32 size; payload; padding to 8 bytes}. Nothing of the system
 * shows in the output: host, clock offset and what /proc would say are steps, too. The lines of each
 * process are printed together, processes in order of pid and birth; a last line holds the totals.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum step {
	STEP_HOST = 1,
	STEP_OFFSET = 2,
	STEP_CONFIG = 3,
	STEP_DESCRIBE = 4,
	STEP_RECORD = 5,
	STEP_TALLY = 6,
	STEP_LOOK = 7,
	STEP_GONE = 8,
	STEP_RETIRE = 9,
	STEP_FLUSH = 10,
	STEP_UNCOUNTED = 11,
	STEP_FOUND = 12,
	STEP_SETTLE = 13,
	STEP_ADOPT = 14,
	STEP_AGGREGATE = 15,
	STEP_HOME = 16,
	STEP_CGROUP = 17,
};

struct chunk {
	uint32_t kind, size;
};

struct described {
	uint32_t pid;
	uint32_t len[3]; /* program, cmd, cwd; UINT32_MAX = not known */
};

/* What looking at a file finds; `why` follows. Others have no probes. */
struct found {
	uint64_t ino, armed_ns;
	uint32_t state, pad;
};

struct cgroup {
	uint64_t id;
	char path[];
};

/* As the kernel side keeps them. */
struct tally {
	struct dft_tally_key key;
	struct dft_tally value;
};

/* The decoder asked what is in a file. */
struct looked {
	uint32_t pid;
	uint64_t ino;
	char *path; /* or NULL */
};

struct output {
	uint32_t pid;
	uint64_t start_ns, seen_ns;
	struct dft_buf lines;
	bool complete;
};

struct replay {
	struct dft_config cfg;
	struct dft_engine engine;
	bool running;
	char host[256];
	int64_t offset_ns;
	struct described *described[64];
	size_t ndescribed;
	struct output *outputs[256];
	size_t noutputs;
	uint64_t excluded[64];
	size_t nexcluded;
	struct found *found[64];
	size_t nfound;
	struct looked looked[64];
	size_t nlooked;
	struct tally tallies[256];
	size_t ntallies;
	struct dft_scene home;
	struct cgroup *cgroups[16];
	size_t ncgroups;
};

static void die(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(2);
}

static void *alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		die("out of memory");
	return p;
}

static char *copy(const void *bytes, size_t len)
{
	char *text = alloc(len + 1);

	memcpy(text, bytes, len);
	return text;
}

/* ---- callbacks ------------------------------------------------------------------------------ */

static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct replay *r = ctx;
	struct output *out = proc->sink;

	if (!out) {
		if (r->noutputs == 256)
			die("too many processes");
		out = proc->sink = r->outputs[r->noutputs++] = alloc(sizeof(*out));
		out->pid = proc->pid;
	}
	if (out->complete)
		die("output after the last one");
	out->start_ns = proc->start_ns;
	out->seen_ns = proc->seen_ns;
	out->complete = last;
	dft_buf_append(&out->lines, proc->lines.data, proc->lines.len);
	proc->lines.len = 0;
	return out->lines.failed ? -ENOMEM : 0;
}

static void on_exclude(void *ctx, uint64_t name_id)
{
	struct replay *r = ctx;

	if (r->nexcluded < 64)
		r->excluded[r->nexcluded++] = name_id;
}

static void on_describe(void *ctx, uint32_t pid, struct dft_described *out)
{
	struct replay *r = ctx;

	for (size_t i = 0; i < r->ndescribed; i++) {
		const struct described *d = r->described[i];
		const char *at = (const char *)(d + 1);
		char *text[3] = { NULL, NULL, NULL };

		if (d->pid != pid)
			continue;
		for (int f = 0; f < 3; f++) {
			if (d->len[f] == UINT32_MAX)
				continue;
			text[f] = copy(at, d->len[f]);
			at += d->len[f];
		}
		out->program = text[0];
		out->cmd = text[1];
		out->cmd_len = text[1] ? d->len[1] : 0;
		out->cwd = text[2];
		return;
	}
}

static const char *on_cgroup(void *ctx, uint64_t id)
{
	const struct replay *r = ctx;

	for (size_t i = 0; i < r->ncgroups; i++)
		if (r->cgroups[i]->id == id)
			return r->cgroups[i]->path;
	return NULL;
}

static void on_image(void *ctx, const struct dft_rec_image *rec, const char *path,
		     struct dft_image_found *out)
{
	struct replay *r = ctx;
	struct looked *looked;

	if (r->nlooked == 64)
		die("too many images");
	looked = &r->looked[r->nlooked++];
	looked->pid = rec->pid;
	looked->ino = rec->key.ino;
	looked->path = path ? copy(path, strlen(path)) : NULL;
	for (size_t i = 0; i < r->nfound; i++) {
		const struct found *found = r->found[i];

		if (found->ino != rec->key.ino)
			continue;
		out->state = found->state;
		out->armed_ns = found->armed_ns;
		out->why = (const char *)(found + 1);
		return;
	}
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void add_prefix(struct dft_strv *list, const char *prefix)
{
	list->v = realloc(list->v, (list->n + 1) * sizeof(*list->v));
	if (!list->v)
		die("out of memory");
	list->v[list->n++] = copy(prefix, strlen(prefix));
}

static void set_config(struct dft_config *cfg, const char *word)
{
	if (!strcmp(word, "precise"))
		cfg->precise = true;
	else if (!strcmp(word, "no-args"))
		cfg->args = false;
	else if (!strcmp(word, "prov"))
		cfg->prov = true;
	else if (!strcmp(word, "all"))
		cfg->all = true;
	else if (!strcmp(word, "all-files"))
		cfg->all_files = true;
	else if (!strcmp(word, "no-follow"))
		cfg->follow = false;
	else if (!strncmp(word, "aggregate=", 10))
		cfg->aggregate_ns = strtoull(word + 10, NULL, 10);
	else if (!strncmp(word, "flush=", 6))
		cfg->flush_ns = strtoull(word + 6, NULL, 10);
	else if (!strncmp(word, "min-dur=", 8))
		cfg->min_dur_ns = strtoull(word + 8, NULL, 10);
	else if (!strncmp(word, "max-size=", 9))
		cfg->max_size = strtoull(word + 9, NULL, 10);
	else if (!strncmp(word, "level=", 6))
		cfg->level = atoi(word + 6);
	else if (!strncmp(word, "only=", 5))
		add_prefix(&cfg->only, word + 5);
	else if (!strncmp(word, "include=", 8))
		add_prefix(&cfg->include, word + 8);
	else if (!strncmp(word, "exclude=", 8))
		add_prefix(&cfg->exclude, word + 8);
	else
		die("unknown configuration");
}

/* The engine starts at the first step that needs it: host and clock are known by then. */
static void need_engine(struct replay *r)
{
	struct dft_engine_ops ops = {
		.ctx = r, .output = on_output, .exclude = on_exclude, .describe = on_describe,
		.cgroup = on_cgroup, .image = on_image,
	};

	if (r->running)
		return;
	if (dft_engine_init(&r->engine, &r->cfg, &ops, r->host, r->offset_ns))
		die("dft_engine_init failed");
	r->engine.home = r->home;
	r->running = true;
}

static uint64_t get_u64(const void *data, size_t size, size_t at)
{
	uint64_t value;

	if (at + sizeof(value) > size)
		die("step too short");
	memcpy(&value, (const char *)data + at, sizeof(value));
	return value;
}

static void set_tally(struct replay *r, const void *data, size_t size)
{
	struct tally tally;
	size_t i;

	if (size != sizeof(tally))
		die("tally of another size");
	memcpy(&tally, data, size);
	for (i = 0; i < r->ntallies; i++)
		if (!memcmp(&r->tallies[i].key, &tally.key, sizeof(tally.key)))
			break;
	if (i == 256)
		die("too many tallies");
	if (i == r->ntallies)
		r->ntallies++;
	r->tallies[i] = tally;
}

/* At all tallies. Those that are not needed any more are deleted, as the session does. */
static int look(struct replay *r, uint64_t now_ns, unsigned int what)
{
	size_t left = 0;

	dft_engine_look_begin(&r->engine, now_ns, what);
	for (size_t i = 0; i < r->ntallies; i++) {
		struct tally *tally = &r->tallies[i];
		int err = dft_engine_tally(&r->engine, &tally->key, &tally->value);

		if (err < 0 && err != -ESRCH)
			return err;
		if (err != 1)
			r->tallies[left++] = *tally;
	}
	r->ntallies = left;
	return dft_engine_look_end(&r->engine);
}

static void settle(struct replay *r)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&r->engine.procs.dying, &at)))
		((struct dft_proc *)slot->value)->unsettled = false;
}

/* Steps that set the scene; false when `kind` is none of them. */
static bool set_scene(struct replay *r, uint32_t kind, const void *data, size_t size)
{
	switch (kind) {
	case STEP_HOST:
		snprintf(r->host, sizeof(r->host), "%s", (const char *)data);
		return true;
	case STEP_OFFSET:
		r->offset_ns = (int64_t)get_u64(data, size, 0);
		return true;
	case STEP_CONFIG:
		set_config(&r->cfg, data);
		return true;
	case STEP_DESCRIBE:
		if (r->ndescribed == 64)
			die("too many processes described");
		r->described[r->ndescribed++] = (struct described *)copy(data, size);
		return true;
	case STEP_HOME:
		if (size < sizeof(r->home))
			die("a short scene");
		memcpy(&r->home, data, sizeof(r->home));
		return true;
	case STEP_CGROUP:
		if (r->ncgroups == 16 || size < sizeof(struct cgroup))
			die("too many cgroups");
		r->cgroups[r->ncgroups++] = (struct cgroup *)copy(data, size);
		return true;
	case STEP_FOUND:
		if (r->nfound == 64 || size < sizeof(struct found))
			die("too many files found out about");
		r->found[r->nfound++] = (struct found *)copy(data, size);
		return true;
	}
	return false;
}

static int run_step(struct replay *r, uint32_t kind, const void *data, size_t size)
{
	if (set_scene(r, kind, data, size))
		return 0;
	need_engine(r);
	switch (kind) {
	case STEP_RECORD:
		return dft_engine_record(&r->engine, data, size);
	case STEP_TALLY:
		set_tally(r, data, size);
		return 0;
	case STEP_LOOK:
		return look(r, get_u64(data, size, 0), (unsigned int)get_u64(data, size, 8));
	case STEP_SETTLE:
		settle(r);
		return 0;
	case STEP_ADOPT:
		return dft_engine_adopt(&r->engine, (uint32_t)get_u64(data, size, 0),
					get_u64(data, size, 8), get_u64(data, size, 16),
					get_u64(data, size, 24));
	case STEP_AGGREGATE:
		return dft_engine_aggregate(&r->engine, get_u64(data, size, 0));
	case STEP_GONE:
		return dft_engine_gone(&r->engine, (uint32_t)get_u64(data, size, 0),
				       get_u64(data, size, 8));
	case STEP_RETIRE:
		return dft_engine_retire_all(&r->engine, get_u64(data, size, 0));
	case STEP_FLUSH:
		return dft_engine_flush(&r->engine);
	case STEP_UNCOUNTED:
		r->engine.uncounted = get_u64(data, size, 0);
		return 0;
	}
	die("unknown step");
	return -EINVAL;
}

static void run_file(struct replay *r, FILE *in)
{
	struct chunk chunk;

	while (fread(&chunk, sizeof(chunk), 1, in) == 1) {
		size_t padded = (chunk.size + 7u) & ~(size_t)7;
		char *all = alloc(padded), *data;
		int err;

		if (padded && fread(all, padded, 1, in) != 1)
			die("cut within a step");
		/* Of just that size, so that AddressSanitizer sees any reading beyond it. */
		data = malloc(chunk.size ? chunk.size : 1);
		if (!data)
			die("out of memory");
		memcpy(data, all, chunk.size);
		free(all);
		err = run_step(r, chunk.kind, data, chunk.size);
		free(data);
		if (err) {
			fprintf(stderr, "replay: step %u: %s\n", chunk.kind, strerror(-err));
			exit(2);
		}
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

static int by_birth(const void *a, const void *b)
{
	const struct output *x = *(struct output *const *)a, *y = *(struct output *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->seen_ns != y->seen_ns)
		return x->seen_ns < y->seen_ns ? -1 : 1;
	return 0;
}

/* As JSON; paths in the cases need no escaping. */
static void print_looked(const struct replay *r)
{
	if (!r->nlooked)
		return;
	printf(",\"images\":[");
	for (size_t i = 0; i < r->nlooked; i++) {
		const struct looked *l = &r->looked[i];

		printf("%s{\"pid\":%" PRIu32 ",\"ino\":%" PRIu64 ",\"path\":", i ? "," : "", l->pid,
		       l->ino);
		if (l->path)
			printf("\"%s\"}", l->path);
		else
			printf("null}");
	}
	printf("]");
}

static void print_all(struct replay *r)
{
	qsort(r->outputs, r->noutputs, sizeof(r->outputs[0]), by_birth);
	for (size_t i = 0; i < r->noutputs; i++) {
		fwrite(r->outputs[i]->lines.data, 1, r->outputs[i]->lines.len, stdout);
		if (!r->outputs[i]->complete)
			printf("{\"incomplete\":%" PRIu32 "}\n", r->outputs[i]->pid);
	}
	printf("{\"totals\":{\"events\":%" PRIu64 ",\"processes\":%" PRIu64 ",\"lost\":%" PRIu64
	       ",\"bad_records\":%" PRIu64, r->engine.events, r->engine.processes, r->engine.lost,
	       r->engine.bad_records);
	if (r->engine.aggregated || r->engine.chosen)
		printf(",\"aggregated\":%" PRIu64 ",\"chosen\":%" PRIu64, r->engine.aggregated,
		       r->engine.chosen);
	if (r->ntallies)
		printf(",\"tallies_left\":%zu", r->ntallies);
	printf("},\"excluded\":[");
	for (size_t i = 0; i < r->nexcluded; i++)
		printf("%s%" PRIu64, i ? "," : "", r->excluded[i]);
	printf("]");
	print_looked(r);
	printf("}\n");
}

static void free_all(struct replay *r)
{
	struct dft_strv *lists[] = { &r->cfg.include, &r->cfg.exclude, &r->cfg.only };

	dft_engine_free(&r->engine);
	for (size_t i = 0; i < r->noutputs; i++) {
		dft_buf_free(&r->outputs[i]->lines);
		free(r->outputs[i]);
	}
	for (size_t i = 0; i < r->ndescribed; i++)
		free(r->described[i]);
	for (size_t i = 0; i < r->nfound; i++)
		free(r->found[i]);
	for (size_t i = 0; i < r->ncgroups; i++)
		free(r->cgroups[i]);
	for (size_t i = 0; i < r->nlooked; i++)
		free(r->looked[i].path);
	for (size_t l = 0; l < 3; l++) {
		for (size_t i = 0; i < lists[l]->n; i++)
			free(lists[l]->v[i]);
		free(lists[l]->v);
	}
}

int main(int argc, char **argv)
{
	static struct replay r = { .cfg = { .follow = true, .args = true, .ring_sz = 1 << 24 } };
	FILE *in;

	if (argc != 2)
		die("usage: replay FILE");
	in = fopen(argv[1], "rb");
	if (!in)
		die(strerror(errno));
	run_file(&r, in);
	fclose(in);
	need_engine(&r);
	print_all(&r);
	free_all(&r);
	return fflush(stdout) || ferror(stdout) ? 2 : 0;
}
