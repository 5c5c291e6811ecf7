// SPDX-License-Identifier: MIT
#include "tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "log.h"
#include "probe.h"
#include "uprobes.h"

#include "dftrace.skel.h"

#define MAX_LINKS   8
#define WALK_BATCH 512
#define DISARM_THREADS 32
/* Empty the kernel's map of names when this many have been sent since, well before it is full. */
#define NAMES_HIGH  98304
/* The same for the maps of examined files and of declarations. */
#define IMAGES_HIGH   49152
#define DECLARED_HIGH 196608

struct dft_tracer {
	struct dftrace_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *links[MAX_LINKS];
	size_t nlinks;
	dft_record_fn fn;
	void *ctx;
	unsigned int left;      /* of the budget */
	int stopped;            /* what the callback returned */
	unsigned int names_sent;
	unsigned int images_seen, declared_sent;
	bool probes;            /* programs for annotations are loaded */
	bool one_by_one;        /* no links of many probes in this kernel */
	struct bpf_program *enter, *exit; /* of the variant that loads */
};

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[1024];
	size_t len;

	if (dft_log_level() < DFT_LOG_VERBOSE || level == LIBBPF_DEBUG)
		return 0;
	if (vsnprintf(line, sizeof(line), fmt, ap) < 0)
		return 0;
	len = strlen(line);
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	dft_verbose("%s", line);
	return 0;
}

/* -EAGAIN makes libbpf stop behind this record; dft_tracer_read() turns it back into success. */
static int on_record(void *ctx, void *data, size_t size)
{
	struct dft_tracer *tracer = ctx;

	if (size && *(const uint8_t *)data == DFT_REC_NAME)
		tracer->names_sent++;
	if (size && (*(const uint8_t *)data == DFT_REC_ENTITY ||
		     *(const uint8_t *)data == DFT_REC_ENTITY_TYPE))
		tracer->declared_sent++;
	tracer->stopped = tracer->fn(tracer->ctx, data, size);
	if (tracer->stopped)
		return -ECANCELED;
	return --tracer->left ? 0 : -EAGAIN;
}

static void set_knobs(struct dftrace_bpf__rodata *knobs, const struct dft_config *cfg)
{
	knobs->dft_knob_all = cfg->all;
	knobs->dft_knob_follow = cfg->follow;
	knobs->dft_knob_all_files = cfg->all_files;
	knobs->dft_knob_verdicts = cfg->include.n || cfg->exclude.n;
	knobs->dft_knob_self = (uint32_t)getpid();
}

/* What is loaded, the best first. */
struct variant {
	bool cast;   /* direct loads of kernel objects: 6.2 and later */
	bool probes; /* annotations: bpf_get_attach_cookie(), 5.15 and later */
};

static const struct variant variants[] = { { true, true }, { false, true }, { false, false } };

/* Opens and loads. 0 or -errno. */
static int load(struct dft_tracer *tracer, const struct dft_config *cfg,
		const struct variant *variant)
{
	struct dftrace_bpf *skel = dftrace_bpf__open();
	int err;

	if (!skel)
		return -errno;
	tracer->skel = skel;
	set_knobs(skel->rodata, cfg);
	skel->rodata->dft_knob_no_loop = getenv("DFTRACE_BPF_FALLBACK") != NULL;
	tracer->enter = variant->cast ? skel->progs.io_cast_sys_enter : skel->progs.io_sys_enter;
	tracer->exit = variant->cast ? skel->progs.io_cast_sys_exit : skel->progs.io_sys_exit;
	bpf_program__set_autoload(tracer->enter, true);
	bpf_program__set_autoload(tracer->exit, true);
	bpf_program__set_autoload(skel->progs.annot_multi, variant->probes);
	bpf_program__set_autoload(skel->progs.annot_single, variant->probes);
	bpf_program__set_expected_attach_type(skel->progs.annot_multi,
					      (enum bpf_attach_type)DFT_ATTACH_UPROBE_MULTI);
	err = bpf_map__set_max_entries(skel->maps.ring, cfg->ring_sz);
	if (!err)
		err = dftrace_bpf__load(skel);
	if (err) {
		dftrace_bpf__destroy(skel);
		tracer->skel = NULL;
	}
	return err;
}

static int load_any(struct dft_tracer *tracer, const struct dft_config *cfg, size_t first)
{
	int err = -ENOTSUP;

	for (size_t i = first; err && i < sizeof(variants) / sizeof(variants[0]); i++) {
		err = load(tracer, cfg, &variants[i]);
		tracer->probes = !err && variants[i].probes;
		if (err)
			dft_verbose("variant %zu of the programs does not load (%s)", i + 1,
				    strerror(-err));
	}
	return err;
}

struct dft_tracer *dft_tracer_new(const struct dft_config *cfg, dft_record_fn fn, void *ctx)
{
	struct dft_tracer *tracer = calloc(1, sizeof(*tracer));
	int err;

	if (!tracer) {
		dft_error("cannot start: out of memory (free some)");
		return NULL;
	}
	tracer->fn = fn;
	tracer->ctx = ctx;
	tracer->one_by_one = getenv("DFTRACE_BPF_FALLBACK") != NULL;
	libbpf_set_print(print_libbpf);
	/* The second one, for tests: what an older kernel would get. */
	err = load_any(tracer, cfg, tracer->one_by_one ? 1 : 0);
	if (err) {
		dft_probe_explain("loading the BPF programs", err);
		goto failed;
	}
	tracer->ring = ring_buffer__new(bpf_map__fd(tracer->skel->maps.ring), on_record, tracer, NULL);
	if (!tracer->ring) {
		dft_probe_explain("mapping the ring buffer", -errno);
		goto failed;
	}
	return tracer;
failed:
	dft_tracer_free(tracer);
	return NULL;
}

int dft_tracer_add_target(struct dft_tracer *tracer, pid_t pid, uint32_t flags)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map__update_elem(tracer->skel->maps.targets, &key, sizeof(key), &flags,
				    sizeof(flags), BPF_ANY);
}

/* One pass over all threads; returns how many were marked, or -errno. */
static int mark_once(struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	ssize_t marked = 0, n;
	char bytes[4096];

	if (fd < 0)
		return -errno;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		marked += n;
	if (n < 0)
		marked = -errno;
	close(fd);
	return (int)marked;
}

static uint64_t unmarked_now(const struct dft_tracer *tracer)
{
	return __atomic_load_n(&tracer->skel->bss->dft_unmarked, __ATOMIC_ACQUIRE);
}

/*
 * The fork hook is live by now and marks children of marked threads; threads of a target that is not
 * marked yet make more meanwhile. A pass that finds nothing new, and in which no thread was born that
 * could not be marked, ends it.
 */
static int mark_targets(struct dft_tracer *tracer)
{
	struct bpf_link *link = bpf_program__attach_iter(tracer->skel->progs.proc_mark, NULL);
	uint64_t before;
	int marked;

	if (!link)
		return -errno;
	do {
		before = unmarked_now(tracer);
		marked = mark_once(link);
	} while (marked > 0);
	if (!marked)
		__atomic_store_n(&tracer->skel->bss->dft_unmarked_done, before, __ATOMIC_RELEASE);
	bpf_link__destroy(link);
	return marked;
}

int dft_tracer_census(struct dft_tracer *tracer)
{
	struct bpf_link *link = bpf_program__attach_iter(tracer->skel->progs.proc_mark, NULL);
	int alive;

	if (!link)
		return -errno;
	__atomic_store_n(&tracer->skel->bss->dft_census, true, __ATOMIC_RELEASE);
	alive = mark_once(link);
	__atomic_store_n(&tracer->skel->bss->dft_census, false, __ATOMIC_RELEASE);
	bpf_link__destroy(link);
	return alive;
}

int dft_tracer_catch_up(struct dft_tracer *tracer)
{
	return unmarked_now(tracer) == tracer->skel->bss->dft_unmarked_done ? 0 :
									      mark_targets(tracer);
}

int dft_tracer_attach(struct dft_tracer *tracer)
{
	/* Birth and death before the calls, so that no thread escapes in between. */
	struct bpf_program *progs[] = {
		tracer->skel->progs.proc_exit, tracer->skel->progs.proc_exec,
		tracer->skel->progs.proc_fork, tracer->exit, tracer->enter,
	};
	int err;

	for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
		struct bpf_link *link = bpf_program__attach(progs[i]);

		if (!link) {
			err = -errno;
			dft_probe_explain(bpf_program__section_name(progs[i]), err);
			return err;
		}
		tracer->links[tracer->nlinks++] = link;
	}
	err = mark_targets(tracer);
	if (err)
		dft_probe_explain("marking the threads to trace (iter/task)", err);
	return err;
}

/* Called for each entry of a map. Positive: delete it; negative: stop. */
typedef int (*walk_fn)(void *ctx, const void *key, const void *value);

struct walk {
	int fd;
	size_t key_len, value_len;
	walk_fn fn;
	void *ctx;
	char *keys, *values;  /* a batch */
	struct dft_buf doomed; /* keys to delete */
};

static int walk_entry(struct walk *walk, uint32_t i)
{
	const char *key = walk->keys + i * walk->key_len;
	int err = walk->fn(walk->ctx, key, walk->values + i * walk->value_len);

	if (err <= 0)
		return err;
	dft_buf_append(&walk->doomed, key, walk->key_len);
	return walk->doomed.failed ? -ENOMEM : 0;
}

static int walk_entries(struct walk *walk)
{
	uint32_t batch = 0, count;
	bool first = true, end = false;
	int err = 0;

	while (!err && !end) {
		count = WALK_BATCH;
		if (bpf_map_lookup_batch(walk->fd, first ? NULL : &batch, &batch, walk->keys,
					 walk->values, &count, NULL)) {
			if (errno != ENOENT)
				return -errno;
			end = true;
		}
		first = false;
		for (uint32_t i = 0; i < count && !err; i++)
			err = walk_entry(walk, i);
	}
	return err;
}

/* 0 or -errno, or what `fn` returned. */
static int walk_map(const struct bpf_map *map, walk_fn fn, void *ctx)
{
	struct walk walk = {
		.fd = bpf_map__fd(map), .key_len = bpf_map__key_size(map),
		.value_len = bpf_map__value_size(map), .fn = fn, .ctx = ctx,
	};
	int err = -ENOMEM;

	walk.keys = calloc(WALK_BATCH, walk.key_len);
	walk.values = calloc(WALK_BATCH, walk.value_len);
	if (walk.keys && walk.values)
		err = walk_entries(&walk);
	/* Not while walking: the cursor is a bucket number and would skip entries. */
	for (size_t at = 0; at < walk.doomed.len; at += walk.key_len)
		if (bpf_map_delete_elem(walk.fd, walk.doomed.data + at) && errno != ENOENT && !err)
			err = -errno;
	dft_buf_free(&walk.doomed);
	free(walk.keys);
	free(walk.values);
	return err;
}

static int any_entry(void *ctx, const void *key, const void *value)
{
	(void)ctx;
	(void)key;
	(void)value;
	return 1;
}

/*
 * Forgetting what has been sent is always safe: it is sent again. Entries written meanwhile may stay
 * or go.
 */
static void forget_all(const struct bpf_map *map, unsigned int *sent)
{
	int err = walk_map(map, any_entry, NULL);

	if (err)
		dft_verbose("emptying the map %s: %s", bpf_map__name(map), strerror(-err));
	*sent = 0;
}

int dft_tracer_read(struct dft_tracer *tracer, unsigned int budget)
{
	int n;

	tracer->left = budget;
	tracer->stopped = 0;
	n = ring_buffer__consume(tracer->ring);
	if (tracer->names_sent > NAMES_HIGH)
		forget_all(tracer->skel->maps.names, &tracer->names_sent);
	if (tracer->declared_sent > DECLARED_HIGH)
		forget_all(tracer->skel->maps.declared, &tracer->declared_sent);
	if (tracer->stopped)
		return tracer->stopped;
	if (n < 0 && n != -EAGAIN)
		return n;
	return (int)(budget - tracer->left);
}

struct tally_walk {
	dft_tally_fn fn;
	void *ctx;
};

static int walk_tally(void *ctx, const void *key, const void *value)
{
	struct tally_walk *walk = ctx;

	return walk->fn(walk->ctx, key, value);
}

int dft_tracer_tallies(struct dft_tracer *tracer, dft_tally_fn fn, void *ctx)
{
	struct tally_walk walk = { fn, ctx };
	int err = walk_map(tracer->skel->maps.tallies, walk_tally, &walk);

	return err ? err : walk_map(tracer->skel->maps.pipes, walk_tally, &walk);
}

uint64_t dft_tracer_uncounted(struct dft_tracer *tracer)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *values, total = 0;

	if (cpus < 1)
		return 0;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return 0;
	for (uint32_t i = 0; i < DFT_COUNTER_MAX; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(tracer->skel->maps.counters), &i, values))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			total += values[cpu];
	}
	free(values);
	return total;
}

uint64_t dft_tracer_missed(struct dft_tracer *tracer)
{
	struct bpf_program *prog;
	uint64_t total = 0;

	bpf_object__for_each_program(prog, tracer->skel->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_program__fd(prog) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			total += info.recursion_misses;
	}
	return total;
}

int dft_tracer_exclude(struct dft_tracer *tracer, uint64_t name_id)
{
	uint8_t one = 1;

	return bpf_map__update_elem(tracer->skel->maps.verdicts, &name_id, sizeof(name_id), &one,
				    sizeof(one), BPF_ANY);
}

/* ---- probes in programs --------------------------------------------------------------------- */

struct dft_armed {
	int fd;                   /* of the link of all of them, or -1 */
	struct bpf_link **links;  /* one by one */
	size_t n;
};

int dft_tracer_wake_fd(const struct dft_tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

static int arm_all(struct dft_tracer *tracer, const char *path, const struct dft_site *sites,
		   size_t n)
{
	uint64_t *words = calloc(n * 3, sizeof(*words));
	struct dft_uprobes uprobes = {
		.path = path, .offsets = words, .counters = words + n, .cookies = words + 2 * n,
		.n = (uint32_t)n,
	};
	int fd;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = sites[i].offset;
		words[n + i] = sites[i].sem_offset;
		words[2 * n + i] = sites[i].kind;
	}
	fd = dft_uprobes_link(bpf_program__fd(tracer->skel->progs.annot_multi), &uprobes);
	free(words);
	return fd;
}

/* For kernels before 6.6. Slow to attach, and much slower to detach. */
static int arm_each(struct dft_tracer *tracer, struct dft_armed *armed, const char *path,
		    const struct dft_site *sites, size_t n)
{
	armed->links = calloc(n, sizeof(*armed->links));
	if (!armed->links)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = sites[i].sem_offset,
			    .bpf_cookie = sites[i].kind);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			tracer->skel->progs.annot_single, -1, path, sites[i].offset, &opts);

		if (!link)
			return -errno;
		armed->links[armed->n++] = link;
	}
	return 0;
}

int dft_tracer_arm(struct dft_tracer *tracer, const char *path, const struct dft_site *sites,
		   size_t n, struct dft_armed **out)
{
	struct dft_armed *armed;
	int err;

	if (!tracer->probes)
		return -EOPNOTSUPP;
	armed = calloc(1, sizeof(*armed));
	if (!armed)
		return -ENOMEM;
	armed->fd = tracer->one_by_one ? -EINVAL : arm_all(tracer, path, sites, n);
	err = armed->fd < 0 ? armed->fd : 0;
	if (err == -EINVAL || err == -EOPNOTSUPP) {
		err = arm_each(tracer, armed, path, sites, n);
		tracer->one_by_one = tracer->one_by_one || !err;
	}
	if (err) {
		dft_tracer_disarm(tracer, armed);
		return err;
	}
	*out = armed;
	return 0;
}

void dft_tracer_disarm(struct dft_tracer *tracer, struct dft_armed *armed)
{
	(void)tracer;
	if (!armed)
		return;
	if (armed->fd >= 0)
		close(armed->fd);
	for (size_t i = 0; i < armed->n; i++)
		bpf_link__destroy(armed->links[i]);
	free(armed->links);
	free(armed);
}

/* Each waits for grace periods of the kernel; those who wait together wait for the same ones. */
struct disarming {
	struct dft_tracer *tracer;
	struct dft_armed **armed;
	size_t n, next;
};

static void *disarm_some(void *ctx)
{
	struct disarming *d = ctx;
	size_t i;

	while ((i = __atomic_fetch_add(&d->next, 1, __ATOMIC_RELAXED)) < d->n)
		dft_tracer_disarm(d->tracer, d->armed[i]);
	return NULL;
}

void dft_tracer_disarm_all(struct dft_tracer *tracer, struct dft_armed **armed, size_t n)
{
	struct disarming d = { .tracer = tracer, .armed = armed, .n = n };
	pthread_t threads[DISARM_THREADS];
	size_t nthreads = 0;

	while (nthreads < DISARM_THREADS && nthreads + 1 < n &&
	       !pthread_create(&threads[nthreads], NULL, disarm_some, &d))
		nthreads++;
	disarm_some(&d);
	while (nthreads)
		pthread_join(threads[--nthreads], NULL);
}

int dft_tracer_image_seen(struct dft_tracer *tracer, const struct dft_image_key *key)
{
	uint8_t one = 1;

	if (tracer->images_seen++ > IMAGES_HIGH)
		forget_all(tracer->skel->maps.images, &tracer->images_seen);
	return bpf_map__update_elem(tracer->skel->maps.images, key, sizeof(*key), &one, sizeof(one),
				    BPF_ANY);
}

void dft_tracer_images_unseen(struct dft_tracer *tracer)
{
	forget_all(tracer->skel->maps.images, &tracer->images_seen);
}

struct gone {
	bool (*fn)(void *ctx, uint32_t pid, uint64_t start_ns);
	void *ctx;
};

static int declarer_is_gone(void *ctx, const void *data, const void *value)
{
	const struct dft_declared_key *key = data;
	const struct gone *gone = ctx;

	(void)value;
	return gone->fn(gone->ctx, key->pid, key->start_ns);
}

int dft_tracer_forget_declared(struct dft_tracer *tracer,
			       bool (*fn)(void *ctx, uint32_t pid, uint64_t start_ns), void *ctx)
{
	struct gone gone = { fn, ctx };

	return walk_map(tracer->skel->maps.declared, declarer_is_gone, &gone);
}

/* ---- the end -------------------------------------------------------------------------------- */

void dft_tracer_detach(struct dft_tracer *tracer)
{
	/* The hooks of the calls went in last and go first: a birth is never missed for a call seen. */
	while (tracer->nlinks)
		bpf_link__destroy(tracer->links[--tracer->nlinks]);
}

void dft_tracer_free(struct dft_tracer *tracer)
{
	if (!tracer)
		return;
	dft_tracer_detach(tracer);
	ring_buffer__free(tracer->ring);
	dftrace_bpf__destroy(tracer->skel);
	free(tracer);
}
