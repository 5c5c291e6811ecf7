// SPDX-License-Identifier: MIT
#include "tracer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"
#include "log.h"
#include "probe.h"
#include "syscalls.h"
#include "uprobes.h"

/* Empty the map of declarations when this many have been put in, well before it is full. */
#define DECLARED_HIGH 196608

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

static bool is_in(const struct dft_strv *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], name))
			return true;
	return false;
}

/* Forms of a call, as bits, whose event is not in the list. */
static uint8_t forms_to_drop(const struct dft_strv *only, unsigned int nr)
{
	const struct dft_sys *sys = dft_sys_find(nr);
	uint8_t drop = 0;

	for (int form = 0; sys && sys->event && form < 4; form++) {
		bool self = form & 1, flagged = form & 2;

		if (!is_in(only, dft_sys_event(sys, flagged, self)))
			drop |= (uint8_t)(1u << dft_desc_form(self, flagged));
	}
	return drop;
}

static void set_selection(struct dftrace_bpf__rodata *knobs, const struct dft_select *select)
{
	knobs->dft_knob_cgroup = select->cgroup >= 0;
	knobs->dft_knob_uid = select->uid;
	memcpy((void *)knobs->dft_knob_comm, select->comm, sizeof(select->comm));
}

static void set_knobs(struct dftrace_bpf__rodata *knobs, const struct dft_config *cfg)
{
	knobs->dft_knob_all = cfg->all;
	knobs->dft_knob_select = dft_select_is_on(cfg);
	knobs->dft_knob_follow = cfg->follow;
	knobs->dft_knob_all_files = cfg->all_files;
	knobs->dft_knob_verdicts = cfg->include.n || cfg->exclude.n;
	knobs->dft_knob_self = (uint32_t)getpid();
	knobs->dft_knob_page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	knobs->dft_knob_call_room = cfg->ring_sz - cfg->ring_sz / 8;
	knobs->dft_knob_only = cfg->only.n;
	knobs->dft_knob_min_dur = cfg->min_dur_ns;
	knobs->dft_knob_flush = cfg->flush_ns;
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++) {
		struct dft_desc *desc = (struct dft_desc *)&knobs->dft_descs[nr];

		desc->simple = (uint8_t)dft_desc_is_simple(desc);
		desc->drop = cfg->only.n ? forms_to_drop(&cfg->only, nr) : 0;
	}
}

/* What is loaded, the best first. */
struct variant {
	bool cast;   /* direct loads of kernel objects: 6.2 and later */
	bool probes; /* annotations: bpf_get_attach_cookie(), 5.15 and later */
	bool uring;  /* requests of io_uring: tracepoints as they are from 6.10 on */
	bool odd;    /* no kernel needs this one: for tests */
};

static const struct variant variants[] = {
	{ true, true, true, false },   { true, true, false, false },   { false, true, true, true },
	{ false, true, false, false }, { false, false, false, false },
};

/*
 * For tests, which want what older kernels would get: without io_uring, which has tracepoints of its own,
 * or else without everything but that.
 */
static bool falls_back(bool uring)
{
	const char *what = getenv("DFTRACE_BPF_FALLBACK");

	return what && !strcmp(what, "uring") == uring;
}

/* The programs that follow requests; in the order in which they go in: the ends before the beginnings. */
static void choose_requests(struct dft_tracer *tracer, const struct variant *variant)
{
	struct dftrace_bpf *skel = tracer->skel;
	bool cast = variant->cast;

	tracer->requests = variant->uring;
	tracer->sweep = cast ? skel->progs.io_cast_request_sweep : skel->progs.io_request_sweep;
	tracer->uring[0] = cast ? skel->progs.io_cast_uring_complete : skel->progs.io_uring_complete;
	tracer->uring[1] = cast ? skel->progs.io_cast_uring_overflow : skel->progs.io_uring_overflow;
	tracer->uring[2] = cast ? skel->progs.io_cast_uring_failed : skel->progs.io_uring_failed;
	tracer->uring[3] = cast ? skel->progs.io_cast_uring_submit : skel->progs.io_uring_submit;
	bpf_program__set_autoload(tracer->sweep, true);
	for (size_t i = 0; i < sizeof(tracer->uring) / sizeof(tracer->uring[0]); i++)
		bpf_program__set_autoload(tracer->uring[i], variant->uring);
}

/* Calls that are no events where the requests that they hand over are. */
static void set_uring_calls(struct dftrace_bpf__rodata *knobs)
{
	for (unsigned int nr = 0; nr < DFT_NR_SYS; nr++) {
		const struct dft_sys *sys = dft_sys_find(nr);
		struct dft_desc *desc = (struct dft_desc *)&knobs->dft_descs[nr];

		if (sys && !strncmp(sys->name, "io_uring_", strlen("io_uring_")))
			desc->kind = DFT_KIND_NOTIO;
	}
}

/* Opens and loads. 0 or -errno. */
static int load(struct dft_tracer *tracer, const struct dft_config *cfg, const struct dft_select *select,
		const struct variant *variant, bool faults)
{
	struct dftrace_bpf *skel = dftrace_bpf__open();
	uint32_t first = 0;
	int err;

	if (!skel)
		return -errno;
	tracer->skel = skel;
	set_knobs(skel->rodata, cfg);
	set_selection(skel->rodata, select);
	skel->bss->dft_aggregate = cfg->aggregate_ns != 0;
	skel->rodata->dft_knob_no_loop = falls_back(false);
	tracer->enter = variant->cast ? skel->progs.io_cast_sys_enter : skel->progs.io_sys_enter;
	tracer->exit = variant->cast ? skel->progs.io_cast_sys_exit : skel->progs.io_sys_exit;
	bpf_program__set_autoload(tracer->enter, true);
	bpf_program__set_autoload(tracer->exit, true);
	choose_requests(tracer, variant);
	if (variant->uring)
		set_uring_calls(skel->rodata);
	tracer->has_faults = faults;
	bpf_program__set_autoload(skel->progs.fault_begin, faults);
	bpf_program__set_autoload(skel->progs.fault_major, faults);
	bpf_program__set_autoload(skel->progs.annot_multi, variant->probes && !tracer->one_by_one);
	bpf_program__set_autoload(skel->progs.annot_single, variant->probes && tracer->one_by_one);
	bpf_program__set_expected_attach_type(skel->progs.annot_multi,
					      (enum bpf_attach_type)DFT_ATTACH_UPROBE_MULTI);
	err = bpf_map__set_max_entries(skel->maps.ring, cfg->ring_sz);
	if (!err && !variant->uring)
		dft_verbose("requests of io_uring are not followed: this kernel tells too little of them");
	/* Ten megabytes for nothing otherwise. */
	if (!err && !skel->rodata->dft_knob_verdicts)
		err = bpf_map__set_max_entries(skel->maps.verdicts, 1);
	if (!err)
		err = bpf_map__set_autocreate(skel->maps.selected, select->cgroup >= 0);
	if (!err)
		err = dftrace_bpf__load(skel);
	if (!err && select->cgroup >= 0)
		err = bpf_map__update_elem(skel->maps.selected, &first, sizeof(first), &select->cgroup,
					   sizeof(select->cgroup), BPF_ANY);
	if (err) {
		dftrace_bpf__destroy(skel);
		tracer->skel = NULL;
	}
	return err;
}

static int load_any(struct dft_tracer *tracer, const struct dft_config *cfg,
		    const struct dft_select *select)
{
	int err = -ENOTSUP;

	for (size_t i = 0; err && i < sizeof(variants) / sizeof(variants[0]); i++) {
		const struct variant *v = &variants[i];

		if (falls_back(false) ? v->cast : v->odd || (v->uring && falls_back(true)))
			continue;
		err = load(tracer, cfg, select, v, cfg->mmap);
		if (err && cfg->mmap) /* page faults are a thing by themselves */
			err = load(tracer, cfg, select, v, false);
		tracer->probes = !err && v->probes;
		if (err)
			dft_verbose("variant %zu of the programs does not load (%s)", i + 1,
				    strerror(-err));
	}
	return err;
}

/* Where its reader and its writers are: the first words of the two pages before its data. */
static int map_positions(struct dft_tracer *tracer)
{
	void *pages = mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			   bpf_map__fd(tracer->skel->maps.ring), 0);

	if (pages == MAP_FAILED)
		return -errno;
	tracer->ring_pos = pages;
	return 0;
}

static int make_barrier(struct dft_tracer *tracer)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts,
		    .inner_map_fd = (__u32)bpf_map__fd(tracer->skel->maps.images));

	tracer->barrier_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "dft_barrier",
					    sizeof(uint32_t), sizeof(uint32_t), 1, &opts);
	return tracer->barrier_fd < 0 ? -errno : 0;
}

struct dft_tracer *dft_tracer_new(const struct dft_config *cfg, const struct dft_select *select,
				  dft_record_fn fn, void *ctx)
{
	struct dft_tracer *tracer = calloc(1, sizeof(*tracer));
	int err;

	if (!tracer) {
		dft_error("cannot start: out of memory (free some)");
		return NULL;
	}
	tracer->fn = fn;
	tracer->ctx = ctx;
	tracer->barrier_fd = -1;
	libbpf_set_print(print_libbpf);
	tracer->one_by_one = falls_back(false) || !dft_probe_uprobe_multi();
	err = load_any(tracer, cfg, select);
	if (err) {
		dft_probe_explain("loading the BPF programs", err);
		goto failed;
	}
	tracer->ring = ring_buffer__new(bpf_map__fd(tracer->skel->maps.ring), on_record, tracer, NULL);
	if (!tracer->ring || map_positions(tracer)) {
		dft_probe_explain("mapping the ring buffer", -errno);
		goto failed;
	}
	if (make_barrier(tracer)) {
		dft_probe_explain("making a map of maps", -errno);
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

/* One pass over all threads; returns how many the iterator has counted, or -errno. */
static int pass_once(struct bpf_link *link)
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
		marked = pass_once(link);
	} while (marked > 0);
	if (!marked)
		__atomic_store_n(&tracer->skel->bss->dft_unmarked_done, before, __ATOMIC_RELEASE);
	bpf_link__destroy(link);
	return marked;
}

/* One pass of an iterator; returns as pass_once() does. */
static int pass_of(const struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	int n;

	if (!link)
		return -errno;
	n = pass_once(link);
	bpf_link__destroy(link);
	return n;
}

/* How many threads could not be asked, or -errno. */
static int flush_pass(struct dft_tracer *tracer)
{
	return pass_of(tracer->skel->progs.gather_flush);
}

int dft_tracer_flush(struct dft_tracer *tracer)
{
	int missed = flush_pass(tracer);

	/* A thread that was just adding to its batch will hand it in. */
	return missed < 0 ? missed : 0;
}

int dft_tracer_census(struct dft_tracer *tracer)
{
	struct bpf_link *link = bpf_program__attach_iter(tracer->skel->progs.proc_mark, NULL);
	int alive;

	if (!link)
		return -errno;
	__atomic_store_n(&tracer->skel->bss->dft_census, true, __ATOMIC_RELEASE);
	alive = pass_once(link);
	__atomic_store_n(&tracer->skel->bss->dft_census, false, __ATOMIC_RELEASE);
	bpf_link__destroy(link);
	return alive;
}

int dft_tracer_catch_up(struct dft_tracer *tracer)
{
	return unmarked_now(tracer) == tracer->skel->bss->dft_unmarked_done ? 0 :
									      mark_targets(tracer);
}

/* 0, or -errno after one line. */
static int attach_all(struct dft_tracer *tracer, struct bpf_program **progs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bpf_link *link = bpf_program__attach(progs[i]);

		if (!link) {
			int err = -errno;

			dft_probe_explain(bpf_program__section_name(progs[i]), err);
			return err;
		}
		tracer->links[tracer->nlinks++] = link;
	}
	return 0;
}

int dft_tracer_attach(struct dft_tracer *tracer)
{
	/* Birth and death before the calls, so that no thread escapes in between. */
	struct bpf_program *progs[] = {
		tracer->skel->progs.proc_exit, tracer->skel->progs.proc_exec,
		tracer->skel->progs.proc_rename, tracer->skel->progs.proc_fork, tracer->exit,
		tracer->enter,
	};
	const size_t births = 4;
	int err = attach_all(tracer, progs, births);

	tracer->nbirths = tracer->nlinks;
	if (!err)
		err = attach_all(tracer, progs + births, sizeof(progs) / sizeof(progs[0]) - births);
	if (!err && tracer->requests)
		err = attach_all(tracer, tracer->uring, sizeof(tracer->uring) / sizeof(tracer->uring[0]));
	if (err)
		return err;
	if (tracer->has_faults) {
		err = dft_faults_attach(tracer);
		if (err)
			dft_verbose("page faults in mapped files are not seen: %s", strerror(-err));
		tracer->has_faults = !err;
	}
	err = mark_targets(tracer);
	if (err)
		dft_probe_explain("marking the threads to trace (iter/task)", err);
	return err;
}

static int begin(struct dft_walk *walk, const struct bpf_map *map)
{
	return dft_walk_begin(walk, bpf_map__fd(map), bpf_map__key_size(map), bpf_map__value_size(map));
}

int dft_kernel_walk(const struct bpf_map *map, dft_walk_fn fn, void *ctx)
{
	struct dft_walk walk;
	int err = begin(&walk, map);

	while (!err && !walk.over)
		err = dft_walk_some(&walk, fn, ctx);
	dft_walk_end(&walk);
	return err;
}

static int any_entry(void *ctx, const void *key, const void *value)
{
	(void)ctx;
	(void)key;
	(void)value;
	return 1;
}

void dft_kernel_forget(const struct bpf_map *map, unsigned int *sent)
{
	int err = dft_kernel_walk(map, any_entry, NULL);

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
	if (tracer->declared_sent > DECLARED_HIGH)
		dft_kernel_forget(tracer->skel->maps.declared, &tracer->declared_sent);
	if (tracer->stopped)
		return tracer->stopped;
	if (n < 0 && n != -EAGAIN)
		return n;
	return (int)(budget - tracer->left);
}

/* ---- requests in flight ---------------------------------------------------------------------- */

/* How many were dealt with, or -errno. */
static int sweep_pass(struct dft_tracer *tracer, enum dft_sweep what)
{
	union bpf_iter_link_info info = {
		.map.map_fd = (uint32_t)bpf_map__fd(tracer->skel->maps.requests),
	};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link;
	int n;

	__atomic_store_n(&tracer->skel->bss->dft_sweep, what, __ATOMIC_RELEASE);
	link = bpf_program__attach_iter(tracer->sweep, &opts);
	if (!link)
		return -errno;
	n = pass_once(link);
	bpf_link__destroy(link);
	return n;
}

bool dft_tracer_requested(const struct dft_tracer *tracer)
{
	return __atomic_load_n(&tracer->skel->bss->dft_requested, __ATOMIC_ACQUIRE);
}

int dft_tracer_request_ending(struct dft_tracer *tracer, uint32_t pid, uint64_t start_ns)
{
	struct dft_who who = { .start_ns = start_ns, .pid = pid };
	uint8_t one = 1;

	return bpf_map__update_elem(tracer->skel->maps.ending, &who, sizeof(who), &one, sizeof(one),
				    BPF_ANY);
}

int dft_tracer_sweep(struct dft_tracer *tracer, bool all)
{
	int n;

	/* What the kernel side takes out of the map meanwhile may make the iterator pass others over. */
	do
		n = sweep_pass(tracer, all ? DFT_SWEEP_ALL : DFT_SWEEP_ENDING);
	while (n > 0);
	return n ? n : dft_kernel_walk(tracer->skel->maps.ending, any_entry, NULL);
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

static void end_tallies(struct dft_tracer *tracer)
{
	dft_walk_end(&tracer->tallies[0]);
	dft_walk_end(&tracer->tallies[1]);
}

int dft_tracer_tallies_begin(struct dft_tracer *tracer)
{
	int err;

	end_tallies(tracer);
	err = begin(&tracer->tallies[0], tracer->skel->maps.totals);
	if (!err)
		err = begin(&tracer->tallies[1], tracer->skel->maps.details);
	if (err)
		end_tallies(tracer);
	return err;
}

int dft_tracer_tallies_some(struct dft_tracer *tracer, dft_tally_fn fn, void *ctx)
{
	struct tally_walk each = { fn, ctx };
	struct dft_walk *walk = tracer->tallies;
	int err;

	if (walk->over)
		walk++;
	err = walk->over ? 0 : dft_walk_some(walk, walk_tally, &each);
	if (err || tracer->tallies[1].over)
		end_tallies(tracer);
	return err ? err : !tracer->tallies[1].over;
}

bool dft_tracer_tallied(struct dft_tracer *tracer)
{
	bool *tallied = &tracer->skel->bss->dft_tallied;

	return __atomic_load_n(tallied, __ATOMIC_ACQUIRE) &&
	       __atomic_exchange_n(tallied, false, __ATOMIC_ACQ_REL);
}

void dft_tracer_aggregate(struct dft_tracer *tracer)
{
	__atomic_store_n(&tracer->skel->bss->dft_aggregate, true, __ATOMIC_RELEASE);
}

bool dft_tracer_faults(const struct dft_tracer *tracer)
{
	return tracer->has_faults;
}

uint64_t dft_tracer_exits_lost(const struct dft_tracer *tracer)
{
	return __atomic_load_n(&tracer->skel->bss->dft_exits_lost, __ATOMIC_ACQUIRE);
}

uint64_t dft_tracer_ring_end(const struct dft_tracer *tracer)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(*tracer->ring_pos);

	return __atomic_load_n(&tracer->ring_pos[page], __ATOMIC_ACQUIRE);
}

uint64_t dft_tracer_ring_read(const struct dft_tracer *tracer)
{
	return __atomic_load_n(&tracer->ring_pos[0], __ATOMIC_ACQUIRE);
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

/* ---- names that are not needed any more ------------------------------------------------------ */

unsigned int dft_tracer_names_sent(const struct dft_tracer *tracer)
{
	return tracer->names_sent;
}

int dft_tracer_names_forget(struct dft_tracer *tracer)
{
	int err = dft_kernel_walk(tracer->skel->maps.names, any_entry, NULL);

	/* Behind it: who sees the new number sees the map without what was in it. */
	__atomic_fetch_add(&tracer->skel->bss->dft_names_epoch, 1, __ATOMIC_SEQ_CST);
	tracer->names_sent = 0;
	return err;
}

int dft_tracer_settle(struct dft_tracer *tracer)
{
	uint32_t zero = 0, inner = (uint32_t)bpf_map__fd(tracer->skel->maps.images);

	return bpf_map_update_elem(tracer->barrier_fd, &zero, &inner, BPF_ANY) ? -errno : 0;
}

struct names_walk {
	void (*fn)(void *ctx, uint64_t id);
	void *ctx;
};

static int walk_name(void *ctx, const void *key, const void *value)
{
	const struct names_walk *walk = ctx;

	(void)value;
	walk->fn(walk->ctx, *(const uint64_t *)key);
	return 0;
}

int dft_tracer_names_in_use(struct dft_tracer *tracer, void (*fn)(void *ctx, uint64_t id), void *ctx)
{
	struct names_walk walk = { fn, ctx };
	bool *keep = &tracer->skel->bss->dft_keep_names;
	int missed;

	__atomic_store_n(keep, true, __ATOMIC_RELEASE);
	missed = flush_pass(tracer);
	__atomic_store_n(keep, false, __ATOMIC_RELEASE);
	if (!missed && dft_tracer_requested(tracer))
		missed = sweep_pass(tracer, DFT_SWEEP_NAMES);
	if (missed)
		return missed < 0 ? missed : -EAGAIN;
	return dft_kernel_walk(tracer->skel->maps.names, walk_name, &walk);
}

int dft_tracer_include(struct dft_tracer *tracer, uint64_t name_id)
{
	int err = bpf_map__delete_elem(tracer->skel->maps.verdicts, &name_id, sizeof(name_id), 0);

	return err == -ENOENT ? 0 : err;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* They went in last and go first: a birth is never missed for a call seen. 0 or -errno. */
static int detach_down_to(struct dft_tracer *tracer, size_t n)
{
	while (tracer->nlinks > n)
		bpf_link__destroy(tracer->links[--tracer->nlinks]);
	/* A program that was running just then is done after this. */
	return dft_tracer_settle(tracer);
}

int dft_tracer_detach_calls(struct dft_tracer *tracer)
{
	int err, last;

	dft_faults_detach(tracer);
	/* All but the exits: calls under way may still end, and there are no new ones. */
	err = detach_down_to(tracer, tracer->nbirths + 1);
	if (!err)
		err = pass_of(tracer->skel->progs.call_keep_args);
	last = detach_down_to(tracer, tracer->nbirths);
	return err ? err : last;
}

int dft_tracer_unfinished(struct dft_tracer *tracer)
{
	return pass_of(tracer->skel->progs.call_unfinished);
}

void dft_tracer_detach(struct dft_tracer *tracer)
{
	dft_faults_detach(tracer);
	while (tracer->nlinks)
		bpf_link__destroy(tracer->links[--tracer->nlinks]);
}

void dft_tracer_free(struct dft_tracer *tracer)
{
	if (!tracer)
		return;
	dft_tracer_detach(tracer);
	if (tracer->barrier_fd >= 0)
		close(tracer->barrier_fd);
	end_tallies(tracer);
	if (tracer->ring_pos)
		munmap((void *)tracer->ring_pos, 2 * (size_t)sysconf(_SC_PAGESIZE));
	ring_buffer__free(tracer->ring);
	dftrace_bpf__destroy(tracer->skel);
	free(tracer);
}
