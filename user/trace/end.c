// SPDX-License-Identifier: MIT
/* Rows of aggregated calls, and the last line of a process. docs/trace-format.md is the norm. */
#include "lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "annot.h"
#include "syscalls.h"

/* By which calls that were left out are told apart. */
static const char *const class_names[] = {
	[DFT_CLASS_NONE] = "none",     [DFT_CLASS_FILE] = "file",     [DFT_CLASS_DIR] = "dir",
	[DFT_CLASS_BLOCK] = "block",   [DFT_CLASS_LINK] = "link",     [DFT_CLASS_SOCKET] = "socket",
	[DFT_CLASS_PIPE] = "pipe",     [DFT_CLASS_TTY] = "tty",	      [DFT_CLASS_CHAR] = "chardev",
	[DFT_CLASS_ANON] = "anon",     [DFT_CLASS_PSEUDO] = "pseudo", [DFT_CLASS_EXCLUDED] = "excluded",
	[DFT_CLASS_ONLY] = "only",     [DFT_CLASS_MIN_DUR] = "min_dur",
};
#define CLASS_COUNT (sizeof(class_names) / sizeof(class_names[0]))

const char *dft_tally_op(const struct dft_tally_key *key)
{
	static const char *const records[] = {
		[DFT_REC_TEXT] = "record_text", [DFT_REC_NAME] = "record_name",
		[DFT_REC_PROC] = "record_proc", [DFT_REC_FORK] = "record_fork",
		[DFT_REC_EXEC] = "record_exec", [DFT_REC_EXIT] = "record_exit",
		[DFT_REC_EVENT] = "record_event", [DFT_REC_PART] = "record_part",
		[DFT_REC_METADATA] = "record_metadata", [DFT_REC_ENTITY] = "record_entity",
		[DFT_REC_ENTITY_TYPE] = "record_entity_type",
		[DFT_REC_RELATION] = "record_relation", [DFT_REC_IMAGE] = "record_image",
		[DFT_REC_REQUEST] = "record_request",
		[DFT_REC_COMM] = "record_comm", [DFT_REC_ENV] = "record_env",
	};
	const struct dft_sys *sys = dft_sys_find(key->nr & DFT_TALLY_NR);

	if (key->kind == DFT_TALLY_RECORD)
		return key->nr < sizeof(records) / sizeof(records[0]) && records[key->nr] ?
			       records[key->nr] :
			       "record";
	if (!sys)
		return NULL;
	if (key->kind == DFT_TALLY_UNDECODED || !sys->event)
		return sys->name;
	return dft_sys_event(sys, key->nr & DFT_TALLY_FLAGGED, key->nr & DFT_TALLY_SELF);
}

/* Counts by name, in order of first appearance; a process has a few dozen at most. */
struct counts {
	struct {
		const char *name;
		uint64_t count;
	} item[DFT_NR_MAX];
	size_t len;
};

static void counts_add(struct counts *counts, const char *name, uint64_t count)
{
	for (size_t i = 0; i < counts->len; i++) {
		if (!strcmp(counts->item[i].name, name)) {
			counts->item[i].count += count;
			return;
		}
	}
	if (counts->len < DFT_NR_MAX) {
		counts->item[counts->len].name = name;
		counts->item[counts->len++].count = count;
	}
}

static void counts_write(struct dft_json *json, const char *key, const struct counts *counts)
{
	if (!counts->len)
		return;
	dft_json_object(json, key);
	for (size_t i = 0; i < counts->len; i++)
		dft_json_u64(json, counts->item[i].name, counts->item[i].count);
	dft_json_object_end(json);
}

/* What is missing as single events: in rows, or altogether. */
static void write_lost(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc)
{
	struct counts counts = { .len = 0 };

	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];

		if (e->key.kind == DFT_TALLY_SHED && e->file != DFT_TALLY_FILE_EXCLUDED)
			counts_add(&counts, "aggregated", e->value.calls);
	}
	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];

		if (e->key.kind == DFT_TALLY_RECORD)
			counts_add(&counts, dft_tally_op(&e->key), e->value.calls);
	}
	if (engine->uncounted && !engine->uncounted_told) {
		/* Once in the trace, so that sums over all files are right. */
		counts_add(&counts, "uncounted_of_all_processes", engine->uncounted);
		engine->uncounted_told = true;
	}
	if (engine->failed)
		counts_add(&counts, "tracer_failed", 1);
	counts_write(json, "lost", &counts);
}

/* Left out by name: counted by the decoder, which knows the names. */
static void excluded_counts(struct counts *counts, const struct dft_proc *proc)
{
	for (size_t i = 0; i < proc->nexcluded; i++)
		counts_add(counts, proc->excluded[i].event, proc->excluded[i].calls);
}

static void write_filtered(struct dft_json *json, const struct dft_proc *proc)
{
	struct counts *counts = calloc(CLASS_COUNT, sizeof(*counts));
	bool any = false;

	if (!counts) {
		json->buf->failed = true;
		return;
	}
	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];

		if (e->key.kind == DFT_TALLY_FILTERED && e->key.cls < CLASS_COUNT &&
		    dft_tally_op(&e->key))
			counts_add(&counts[e->key.cls], dft_tally_op(&e->key), e->value.calls);
	}
	excluded_counts(&counts[DFT_CLASS_EXCLUDED], proc);
	for (size_t cls = 0; cls < CLASS_COUNT; cls++)
		any = any || counts[cls].len;
	if (any) {
		dft_json_object(json, "filtered");
		for (size_t cls = 0; cls < CLASS_COUNT; cls++)
			counts_write(json, class_names[cls], &counts[cls]);
		dft_json_object_end(json);
	}
	free(counts);
}

/* Calls that are counted by name or number and not decoded. */
static void write_not_decoded(struct dft_json *json, const struct dft_proc *proc)
{
	struct counts undecoded = { .len = 0 };
	uint64_t unknown = 0, compat = 0;

	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];

		if (e->key.kind == DFT_TALLY_UNDECODED && dft_tally_op(&e->key))
			counts_add(&undecoded, dft_tally_op(&e->key), e->value.calls);
		else if (e->key.kind == DFT_TALLY_UNKNOWN)
			unknown += e->value.calls;
		else if (e->key.kind == DFT_TALLY_COMPAT)
			compat += e->value.calls;
	}
	counts_write(json, "undecoded", &undecoded);
	if (unknown)
		dft_json_u64(json, "unknown", unknown);
	if (compat)
		dft_json_u64(json, "compat", compat);
}

/* Requests that are events without a result. */
static void write_unseen(struct dft_json *json, const struct dft_proc *proc)
{
	if (!proc->unseen[0] && !proc->unseen[1])
		return;
	dft_json_object(json, "unseen");
	if (proc->unseen[1])
		dft_json_u64(json, "aio", proc->unseen[1]);
	if (proc->unseen[0])
		dft_json_u64(json, "io_uring", proc->unseen[0]);
	dft_json_object_end(json);
}

/* The process has made rings, or used one, in a kernel where its requests cannot be followed. */
static void write_coverage(struct dft_engine *engine, struct dft_proc *proc)
{
	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_key *key = &proc->tallies.v[i].key;
		const struct dft_sys *sys = dft_sys_find(key->nr & DFT_TALLY_NR);

		if (key->kind != DFT_TALLY_UNDECODED || !sys || strncmp(sys->name, "io_uring_", 9))
			continue;
		dft_metadata_write(engine, proc, "CM", "coverage_incomplete", "io_uring");
		return;
	}
}

/* ---- rows ----------------------------------------------------------------------------------- */

static uint64_t rounded_us(uint64_t ns)
{
	return (ns + 500) / 1000;
}

/* Up to the last look, and up to now: what rows add up to is what was counted, also when rounded. */
static void write_sums(struct dft_json *json, const struct dft_engine *engine,
		       const struct dft_tally_entry *entry, const struct dft_tally *now)
{
	const struct dft_tally *old = &entry->value;
	/* A call may just be on its way in: counted, and its duration not compared yet. */
	uint64_t min_ns = now->min_ns < now->max_ns ? now->min_ns : now->max_ns;

	dft_json_u64(json, "dft_cnt", now->calls - old->calls);
	dft_json_u64(json, "dur_sum", rounded_us(now->dur_ns) - rounded_us(old->dur_ns));
	dft_json_u64(json, "dur_min", rounded_us(min_ns));
	dft_json_u64(json, "dur_max", rounded_us(now->max_ns));
	dft_json_u64(json, "ret_sum", now->bytes - old->bytes);
	dft_json_u64(json, "errors", now->errors - old->errors);
	if (entry->key.kind == DFT_TALLY_SHED)
		dft_json_u64(json, "shed", 1);
	dft_json_u64(json, "last", dft_line_us(engine, now->last_ns));
	if (engine->cfg->precise)
		dft_json_u64(json, "dur_sum_ns", now->dur_ns - old->dur_ns);
}

void dft_format_row(struct dft_engine *engine, struct dft_proc *proc,
		    const struct dft_tally_entry *entry, const struct dft_tally *now)
{
	uint64_t from_ns = entry->value.calls || now->first_ns == UINT64_MAX ? engine->looked_ns :
									       now->first_ns;
	const char *op = dft_tally_op(&entry->key);
	struct dft_json json;

	dft_line_begin(&json, proc);
	dft_json_cstr(&json, "name", op ? op : "unknown");
	dft_json_cstr(&json, "cat", "POSIX");
	dft_json_u64(&json, "type", DFT_LINE_LIBC_IO);
	dft_json_u64(&json, "ts", dft_line_us(engine, from_ns));
	dft_json_u64(&json, "ph", DFT_PH_AGGREGATED);
	dft_json_u64(&json, "pid", proc->pid);
	dft_json_u64(&json, "tid", proc->pid);
	dft_json_object(&json, "args");
	dft_json_hash(&json, "hhash", engine->hhash);
	if (entry->file == DFT_TALLY_FILE_NAMED)
		dft_json_hash(&json, "fhash", entry->fhash);
	write_sums(&json, engine, entry, now);
	if (entry->file == DFT_TALLY_FILE_NAMELESS && engine->cfg->args)
		dft_json_cstr(&json, "unresolved", entry->why);
	dft_event_end(&json);
}

/* Pipes are not traced call by call, yet what went through each is known. */
static void write_pipes(struct dft_engine *engine, struct dft_proc *proc)
{
	for (size_t i = 0; i < proc->tallies.n; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];
		const struct dft_sys *sys = dft_sys_find(e->key.nr & DFT_TALLY_NR);
		struct dft_tally_entry row = { .key = e->key, .file = DFT_TALLY_FILE_NAMED };
		struct dft_buf name = DFT_BUF_INIT;

		if (e->key.kind != DFT_TALLY_FILTERED || e->key.cls != DFT_CLASS_PIPE || !sys ||
		    sys->desc.ret != DFT_RET_BYTES)
			continue;
		DFT_BUF_LIT(&name, "pipe:[");
		dft_buf_u64(&name, e->key.id);
		dft_buf_putc(&name, ']');
		if (name.failed) {
			proc->lines.failed = true;
			return;
		}
		row.fhash = dft_format_text(engine, proc, "FH", name.data, name.len);
		dft_buf_free(&name);
		dft_format_row(engine, proc, &row, &e->value);
	}
}

void dft_format_aggregated(struct dft_engine *engine, struct dft_proc *proc)
{
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "CM", DFT_LINE_DFTRACER);
	dft_json_cstr(&json, "name", "aggregated_from");
	dft_json_cstr(&json, "value", "max_size");
	dft_json_u64(&json, "ts", dft_line_us(engine, engine->aggregated_ns));
	dft_metadata_end(&json);
}

/* ---- the last line -------------------------------------------------------------------------- */

static void write_list(struct dft_json *json, const char *key, const struct dft_strv *list)
{
	if (!list->n)
		return;
	dft_json_array(json, key);
	for (size_t i = 0; i < list->n; i++)
		dft_json_cstr(json, NULL, list->v[i]);
	dft_json_array_end(json);
}

static void write_number(struct dft_json *json, const char *key, uint64_t value)
{
	if (value)
		dft_json_u64(json, key, value);
}

static void write_text(struct dft_json *json, const char *key, const char *text)
{
	if (text)
		dft_json_cstr(json, key, text);
}

/* The keys of the format that mean something here, in its order, then our own. */
static void write_cfg(struct dft_json *json, const struct dft_engine *engine)
{
	const struct dft_config *cfg = engine->cfg;

	dft_json_object(json, "cfg");
	dft_json_u64(json, "enable", 1);
	dft_json_u64(json, "metadata", cfg->args);
	dft_json_u64(json, "core_affinity", 0);
	dft_json_cstr(json, "time_metric", "US");
	dft_json_u64(json, "io", 1);
	dft_json_u64(json, "posix", 1);
	dft_json_u64(json, "stdio", 0);
	dft_json_u64(json, "compression", 1);
	dft_json_u64(json, "trace_all_files", cfg->all_files);
	dft_json_u64(json, "tids", 1);
	dft_json_u64(json, "bind_signals", 0);
	dft_json_u64(json, "aggregation_enable", cfg->aggregate_ns != 0);
	dft_json_u64(json, "all", cfg->all);
	dft_json_u64(json, "follow", cfg->follow);
	write_text(json, "cgroup", cfg->cgroup);
	write_text(json, "uid", cfg->uid);
	write_text(json, "comm", cfg->comm);
	dft_json_u64(json, "precise", cfg->precise);
	dft_json_u64(json, "mmap", engine->mmap);
	dft_json_u64(json, "prov", cfg->prov);
	dft_json_u64(json, "ring", cfg->ring_sz);
	write_list(json, "include", &cfg->include);
	write_list(json, "exclude", &cfg->exclude);
	write_list(json, "only", &cfg->only);
	write_number(json, "min_dur_ns", cfg->min_dur_ns);
	write_number(json, "aggregate_ns", cfg->aggregate_ns);
	write_number(json, "flush_ns", cfg->flush_ns);
	write_number(json, "level", (uint64_t)cfg->level);
	write_number(json, "memory", cfg->memory);
	write_number(json, "max_size", cfg->max_size);
	dft_json_object_end(json);
}

static void write_build(struct dft_json *json)
{
	static const char *const keys[] = { "mpi", "hdf5", "hip", "cuda", "finstrument", "variorum" };

	dft_json_object(json, "build");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		dft_json_u64(json, keys[i], 0);
	dft_json_object_end(json);
}

static void write_exit(struct dft_json *json, const struct dft_proc *proc)
{
	dft_json_object(json, "exit");
	if (!proc->has_status)
		dft_json_u64(json, "unknown", 1); /* still running, or its end was not seen */
	else if (WIFSIGNALED(proc->status))
		dft_json_u64(json, "signal", (uint64_t)WTERMSIG(proc->status));
	else
		dft_json_u64(json, "code", (uint64_t)WEXITSTATUS(proc->status));
	dft_json_object_end(json);
}

void dft_format_end(struct dft_engine *engine, struct dft_proc *proc)
{
	struct dft_event_head head = {
		.name = "end", .name_len = strlen("end"), .cat = "dftracer", .cat_len = strlen("dftracer"),
		.type = DFT_LINE_DFTRACER, .tid = proc->pid, .ts_us = dft_line_us(engine, proc->end_ns),
	};
	uint64_t events = proc->next_id;
	struct dft_json json;

	write_coverage(engine, proc);
	write_pipes(engine, proc);
	dft_event_begin(&json, engine, proc, &head);
	dft_json_u64(&json, "num_events", events);
	write_cfg(&json, engine);
	write_build(&json);
	dft_annot_write_layers(&json, proc);
	write_lost(&json, engine, proc);
	write_filtered(&json, proc);
	write_not_decoded(&json, proc);
	write_unseen(&json, proc);
	dft_annot_write_counts(&json, proc);
	write_exit(&json, proc);
	dft_event_end(&json);
}
