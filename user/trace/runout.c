// SPDX-License-Identifier: MIT
/* Lines about runs: PROGRAM events, and the entities that they refer to. docs/trace-format.md is the norm. */
#include "runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "annot.h"
#include "hash.h"
#include "lines.h"
#include "prov.h"

/* A line stays below 16 KiB, whatever the program is called. */
#define IDS_MAX 700

enum { STORE_MEMORY = 0, STORE_PARALLEL = 3, STORE_NETWORK = 7 };

/* ---- entities ------------------------------------------------------------------------------- */

static const char *type_of(const struct dft_run_file *file, enum dft_run_type type)
{
	static const char *const names[DFT_RUN_TYPES] = { DFT_PROV_FILE, DFT_PROV_PROGRAM, DFT_PROV_DIR };

	return file->pipe ? DFT_PROV_PIPE : names[type];
}

/* What stands before the name in the key: nothing, where the name is the same on all machines. */
static uint64_t id_of(const struct dft_engine *engine, struct dft_run_file *file,
		      enum dft_run_type type)
{
	bool shared = !file->pipe && (file->store == STORE_PARALLEL || file->store == STORE_NETWORK);
	uint64_t *id = &file->ids[file->pipe ? DFT_RUN_FILE : type];
	const char *name = type_of(file, type);
	char head[320];
	int len = 0;

	if (*id)
		return *id;
	if (!shared && file->mnt_ns)
		len = snprintf(head, sizeof(head), "%s:%" PRIu32 ":", engine->host, file->mnt_ns);
	else if (!shared)
		len = snprintf(head, sizeof(head), "%s:", engine->host);
	if (len < 0 || (size_t)len >= sizeof(head))
		len = 0;
	*id = dft_prov_id(name, strlen(name), head, (size_t)len, file->text, file->len);
	return *id;
}

static int write_type(struct dft_engine *engine, struct dft_proc *proc, const char *type)
{
	static const struct {
		const char *type, *text;
		unsigned int role;
	} types[] = {
		{ DFT_PROV_FILE, "file, as a program read or wrote it", 0 },
		{ DFT_PROV_PROGRAM, "executable file or library, as a program ran it", 4 },
		{ DFT_PROV_PIPE, "pipe between programs", 3 },
		{ DFT_PROV_DIR, "directory that was renamed", 0 },
	};
	uint64_t hash = dft_hash(type, strlen(type));
	struct dft_json json;

	if (dft_map_get(&proc->annots.types, hash))
		return 0;
	/* The program may have a type of the same name, and describe it later. */
	if (dft_map_put(&proc->annots.types, hash, DFT_LATE))
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].type, type))
			continue;
		dft_metadata_begin(&json, engine, proc, "ET", DFT_LINE_DFTRACER);
		dft_json_cstr(&json, "type", type);
		dft_json_u64(&json, "role", types[i].role);
		dft_json_cstr(&json, "description", types[i].text);
		dft_metadata_end(&json);
	}
	return 0;
}

int dft_run_declare(struct dft_engine *engine, struct dft_proc *proc, struct dft_run_file *file,
		    enum dft_run_type as, uint64_t *id)
{
	struct dft_map *entities = &proc->annots.entities;
	const char *type = type_of(file, as);
	char uri[DFT_ANNOT_TEXT];
	struct dft_json json;

	*id = id_of(engine, file, as);
	if (dft_map_get(entities, *id) == DFT_DECLARED)
		return 0;
	if (write_type(engine, proc, type) || dft_map_put(entities, *id, DFT_DECLARED))
		return -ENOMEM;
	if (engine->cfg->args)
		dft_format_text(engine, proc, "FH", file->text, file->len);
	dft_metadata_begin(&json, engine, proc, "EH", DFT_LINE_DFTRACER);
	dft_json_hash(&json, "id", *id);
	dft_json_cstr(&json, "type", type);
	dft_json_u64(&json, "store", file->store);
	dft_json_str(&json, "uri", uri, dft_annot_sanitize(uri, sizeof(uri), file->text, file->len));
	if (engine->cfg->args)
		dft_json_hash(&json, "fhash", file->fhash);
	dft_metadata_end(&json);
	return 0;
}

void dft_run_relate(struct dft_engine *engine, struct dft_proc *proc, unsigned int relation,
		    uint64_t subject, uint64_t object, const char *why)
{
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "ER", DFT_LINE_DFTRACER);
	dft_json_u64(&json, "relation", relation);
	dft_json_hash(&json, "subject", subject);
	dft_json_hash(&json, "object", object);
	dft_json_cstr(&json, "why", why);
	dft_metadata_end(&json);
}

/* ---- events --------------------------------------------------------------------------------- */

unsigned int dft_use_relations(const struct dft_use *use)
{
	return dft_prov_relations(use->passed ? use->facts & ~(uint32_t)DFT_PROV_MADE : use->facts);
}

static enum dft_run_type type_in(const struct dft_use *use)
{
	return use->facts & DFT_PROV_RAN ? DFT_RUN_PROGRAM : DFT_RUN_FILE;
}

struct out {
	struct dft_engine *engine;
	struct dft_proc *proc;
	struct dft_run *run;
	struct dft_json json;
	bool open, over;
	unsigned int ids;   /* in the record that is open */
	const char *array;  /* the open one of it, or NULL */
	int err;
};

/* What only the event itself has, not its further parts. */
static void write_totals(struct out *o)
{
	const struct dft_run *run = o->run;
	const struct dft_proc *proc = o->proc;
	uint64_t files = run->gone;

	for (const struct dft_use *use = run->first; use; use = use->next)
		files += !use->file->pipe && (use->told || dft_use_relations(use));
	if (run->attached)
		dft_json_u64(&o->json, "attached", 1);
	if (proc->cmd && !run->name) /* it is another program's by now */
		dft_json_hash(&o->json, "cmd_hash", dft_hash(proc->cmd, proc->cmd_len));
	dft_json_u64(&o->json, "files", files);
	dft_json_u64(&o->json, "bytes_read", run->bytes_read);
	dft_json_u64(&o->json, "bytes_written", run->bytes_written);
	if (run->untold)
		dft_json_u64(&o->json, "incomplete", run->untold);
}

/* The first record is the event, unless that has to wait for the run's end. */
static void record_begin(struct out *o)
{
	struct dft_proc *proc = o->proc;
	struct dft_run *run = o->run;
	bool whole = o->over && !run->written;
	const char *name = run->name ? run->name : proc->program ? proc->program : "unknown";
	uint64_t ts_us = dft_line_us(o->engine, run->ts_ns), end_us = dft_line_us(o->engine, run->end_ns);
	struct dft_event_head head = {
		.name = name, .name_len = strlen(name), .cat = DFT_PROV_CAT,
		.cat_len = strlen(DFT_PROV_CAT), .type = DFT_LINE_DFTRACER, .tid = proc->pid,
		.ts_us = ts_us, .dur_us = end_us < ts_us ? 0 : end_us - ts_us,
	};
	uint64_t next_id = proc->next_id;

	if (!run->id)
		run->id = ++next_id;
	/* One event has one id, however many records. */
	proc->next_id = run->id - 1;
	dft_event_begin(&o->json, o->engine, proc, &head);
	proc->next_id = next_id;
	if (whole)
		write_totals(o);
	else
		dft_json_u64(&o->json, "part", run->parts + 2);
	run->parts += !whole;
	run->written = run->written || whole;
	o->open = true;
	o->ids = 0;
	o->array = NULL;
}

static void record_end(struct out *o)
{
	if (!o->open)
		return;
	if (o->array) {
		dft_json_array_end(&o->json);
		dft_json_object_end(&o->json);
	}
	dft_event_end(&o->json);
	o->open = false;
	/* Not that of others, too: when processes end, some of them are gone already. */
	if (!o->err)
		o->err = dft_engine_hand_over_much(o->engine, o->proc);
}

static void put_id(struct out *o, const char *array, uint64_t id)
{
	if (o->open && o->ids == IDS_MAX)
		record_end(o);
	if (!o->open)
		record_begin(o);
	if (!o->array)
		dft_json_object(&o->json, "relations");
	else if (o->array != array)
		dft_json_array_end(&o->json);
	if (o->array != array)
		dft_json_array(&o->json, array);
	o->array = array;
	o->ids++;
	dft_json_hash(&o->json, NULL, id);
}

/* Entities first, for a record is not to be interrupted by others. */
static int declare_all(struct out *o, bool *any)
{
	uint64_t id;
	int err = 0;

	*any = false;
	for (struct dft_use *use = o->run->first; use && !err; use = use->next) {
		if (!(dft_use_relations(use) & ~use->told))
			continue;
		*any = true;
		err = dft_run_declare(o->engine, o->proc, use->file, type_in(use), &id);
		if (!err)
			err = dft_engine_hand_over_much(o->engine, o->proc);
	}
	return err;
}

int dft_run_write(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run, bool over)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} kinds[] = {
		{ "used", DFT_PROV_USED }, { "generated", DFT_PROV_GENERATED },
		{ "invalidated", DFT_PROV_INVALIDATED }, { "updated", DFT_PROV_UPDATED },
	};
	struct out o = { .engine = engine, .proc = proc, .run = run, .over = over };
	bool any;
	int err = declare_all(&o, &any);

	if (err)
		return err;
	if (over && !run->written && (any || run->id || run->execed)) {
		if (proc->cmd)
			dft_format_text(engine, proc, "SH", proc->cmd, proc->cmd_len);
		record_begin(&o);
	}
	for (size_t i = 0; any && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (struct dft_use *use = run->first; use; use = use->next)
			if (dft_use_relations(use) & ~use->told & kinds[i].bit)
				put_id(&o, kinds[i].name, id_of(engine, use->file, type_in(use)));
	record_end(&o);
	for (struct dft_use *use = run->first; use; use = use->next)
		use->told |= (uint8_t)dft_use_relations(use);
	return proc->lines.failed ? -ENOMEM : o.err;
}
