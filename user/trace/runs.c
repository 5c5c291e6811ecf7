// SPDX-License-Identifier: MIT
/* Runs, their files, and how they hang together. What calls mean for them is in runcalls.c. */
#include "runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "runparts.h"

/* A run that has come to so many files tells of them, and forgets them. */
#define USES_MAX 65536
/* A process that executes itself again and again has no end of ancestors. */
#define DEPTH_MAX 64
#define URIS_MAX  65536

/* ---- files ---------------------------------------------------------------------------------- */

/* Where a file is stored, by its file system's magic number (include/uapi/linux/magic.h). */
static uint8_t store_of(uint32_t magic)
{
	static const struct {
		uint32_t magic;
		uint8_t store; /* of the format */
	} known[] = {
		{ 0x01021994, 0 }, { 0x858458f6, 0 }, { 0x958458f6, 0 }, /* tmpfs, ramfs, hugetlbfs */
		{ 0x0bd00bd3, 3 }, { 0x47504653, 3 }, { 0x19830326, 3 }, /* lustre, gpfs, beegfs */
		{ 0x6969, 7 },	   { 0xff534d42, 7 }, { 0xfe534d42, 7 }, /* nfs, cifs, smb2 */
		{ 0x517b, 7 },	   { 0x00c36400, 7 }, { 0x5346414f, 7 }, /* smb, ceph, afs */
		{ 0x6b414653, 7 }, { 0x01021997, 7 }, { 0x65735546, 8 }, /* afs, 9p, fuse */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].magic == magic)
			return known[i].store;
	return 2; /* local disk */
}

static uint64_t key_of(const struct dft_engine *engine, const struct dft_proc *proc,
		       const struct run_ref *ref)
{
	return ref->fhash ^ (ref->pipe ? 0 : run_foreign_ns(engine, proc) * 0x9e3779b97f4a7c15ull);
}

uint32_t run_foreign_ns(const struct dft_engine *engine, const struct dft_proc *proc)
{
	uint32_t ns = proc->scene.mnt_ns;

	return ns && ns != engine->home.mnt_ns ? ns : 0;
}

struct dft_run_file *run_file_get(struct dft_engine *engine, const struct dft_proc *proc,
				  const struct run_ref *ref)
{
	return dft_map_get(&engine->files.by_key, key_of(engine, proc, ref));
}

struct dft_run_file *run_file_take(struct dft_engine *engine, const struct dft_proc *proc,
				   const struct run_ref *ref)
{
	uint64_t key = key_of(engine, proc, ref);
	struct dft_run_file *file = dft_map_get(&engine->files.by_key, key);

	if (file) {
		file->refs++;
		return file;
	}
	file = malloc(sizeof(*file) + ref->len);
	if (!file || dft_map_put(&engine->files.by_key, key, file)) {
		free(file);
		return NULL;
	}
	*file = (struct dft_run_file){
		.key = key, .fhash = ref->fhash, .refs = 1, .len = (uint32_t)ref->len,
		.mnt_ns = ref->pipe ? 0 : run_foreign_ns(engine, proc),
		.store = ref->pipe ? 0 : store_of(ref->magic), .pipe = ref->pipe,
	};
	memcpy(file->text, ref->text, ref->len);
	return file;
}

void dft_run_file_put(struct dft_run_files *files, struct dft_run_file *file)
{
	if (!file || --file->refs)
		return;
	dft_map_remove(&files->by_key, file->key);
	free(file);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static struct dft_run *run_new(struct dft_engine *engine, struct dft_run *parent, uint64_t ts_ns)
{
	struct dft_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->files = &engine->files;
	run->refs = 1;
	run->ts_ns = ts_ns;
	run->end = &run->first;
	if (parent && parent->depth < DEPTH_MAX) {
		run->parent = parent;
		run->depth = parent->depth + 1;
		parent->refs++;
	}
	return run;
}

/* Forgets the uses; with `heirs` not those that descendants may ask for. */
static void run_strip(struct dft_run *run, bool heirs)
{
	struct dft_use *use = run->first;

	run->last = NULL;
	run->first = NULL;
	run->end = &run->first;
	dft_map_free(&run->by_key);
	run->made = 0;
	while (use) {
		struct dft_use *next = use->next;
		bool keep = heirs && use->facts & DFT_PROV_MADE && !use->file->pipe;

		use->next = NULL;
		if (keep && !dft_map_put(&run->by_key, use->file->key, use)) {
			*run->end = use;
			run->end = &use->next;
			run->made++;
		} else {
			dft_run_file_put(run->files, use->file);
			free(use);
		}
		use = next;
	}
}

/* Not by recursion: the line of ancestors may be long. */
static void run_put(struct dft_run *run)
{
	while (run && !--run->refs) {
		struct dft_run *parent = run->parent;

		if (parent && parent->next == run)
			parent->next = NULL;
		run_strip(run, false);
		free(run->name);
		free(run);
		run = parent;
	}
}

/* Its process does not need it any more. */
static void run_release(struct dft_run *run)
{
	if (run && run->refs > 1)
		run_strip(run, true);
	run_put(run);
}

struct dft_run *run_of(struct dft_engine *engine, struct dft_proc *proc)
{
	if (!proc->runs.run)
		proc->runs.run = run_new(engine, NULL, proc->seen_ns);
	return proc->runs.run;
}

int run_at(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns, struct dft_run **out)
{
	struct dft_run *run = run_of(engine, proc);

	for (size_t i = 0; run && ts_ns < run->ts_ns && i < DFT_RUNS_PAST && proc->runs.past[i]; i++)
		run = proc->runs.past[i];
	*out = run && ts_ns < run->ts_ns && proc->runs.forgotten ? NULL : run;
	return run ? 0 : -ENOMEM;
}

/* ---- uses ----------------------------------------------------------------------------------- */

/* That the run wrote is known to those from which it has the file. */
static void tell_heir(struct dft_run *run, struct dft_use *use, uint64_t key)
{
	while (use) {
		use->facts |= DFT_PROV_HEIR_WROTE;
		run = use->passed ? run->next : NULL;
		use = run ? dft_map_get(&run->by_key, key) : NULL;
	}
}

void run_inherit(struct dft_run *run, struct dft_use *use)
{
	for (struct dft_run *r = run->parent; r; r = r->parent) {
		struct dft_use *of = dft_map_get(&r->by_key, use->file->key);

		if (!of || !(of->facts & DFT_PROV_MADE))
			continue;
		use->facts |= DFT_PROV_INHERITED;
		tell_heir(r, of, use->file->key);
		return;
	}
}

static struct dft_use *use_new(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run,
			       const struct run_ref *ref)
{
	struct dft_use *use = calloc(1, sizeof(*use));

	if (!use)
		return NULL;
	use->file = run_file_take(engine, proc, ref);
	if (!use->file || dft_map_put(&run->by_key, use->file->key, use)) {
		dft_run_file_put(&engine->files, use->file);
		free(use);
		return NULL;
	}
	*run->end = use;
	run->end = &use->next;
	return use;
}

/* Entities of the process that were declared with this uri. */
static int relate_uris(struct dft_engine *engine, struct dft_proc *proc, struct dft_run_file *file,
		       enum dft_run_type type)
{
	struct dft_uri *uri = file->pipe ? NULL : dft_map_get(&proc->runs.uris, file->fhash);
	uint64_t id;

	for (; uri; uri = uri->next) {
		if (uri->told)
			continue;
		if (dft_run_declare(engine, proc, file, type, &id))
			return -ENOMEM;
		uri->told = true;
		/* Who annotates may have the same idea of what the file is called. */
		if (id != uri->id)
			dft_run_relate(engine, proc, DFT_ALTERNATE_OF, uri->id, id, "uri");
	}
	return 0;
}

/* Tells of all files, and keeps those that it may have made for another. */
static int run_spill(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run)
{
	size_t n = run->by_key.len;
	int err;

	run->end_ns = run->end_ns ? run->end_ns : run->ts_ns;
	err = dft_run_write(engine, proc, run, false);
	for (const struct dft_use *use = run->first; use; use = use->next)
		run->gone += !use->file->pipe && use->told;
	run_strip(run, true);
	/* Made all of them: then none is kept. */
	if (run->by_key.len > n / 2)
		run_strip(run, false);
	for (const struct dft_use *use = run->first; use; use = use->next)
		run->gone -= use->told != 0;
	return err;
}

int run_add(struct dft_engine *engine, struct dft_proc *proc, struct dft_run *run,
	    const struct run_ref *ref, unsigned int facts, struct dft_use **out)
{
	uint64_t key = key_of(engine, proc, ref);
	struct dft_use *use = dft_map_get(&run->by_key, key);
	bool fresh = !use;
	int err = 0;

	*out = NULL;
	if (!use && !run->ended && run->by_key.len >= USES_MAX)
		err = run_spill(engine, proc, run);
	if (!err && !use)
		use = use_new(engine, proc, run, ref);
	if (err || !use)
		return err ? err : -ENOMEM;
	run->made += facts & DFT_PROV_MADE && !(use->facts & DFT_PROV_MADE);
	facts &= ~use->facts;
	use->facts |= facts;
	if (facts & DFT_PROV_WROTE && !(use->facts & DFT_PROV_OPENED) && !use->file->pipe)
		run_inherit(run, use);
	*out = run->last = use;
	if (fresh && proc->runs.nuris)
		return relate_uris(engine, proc, use->file, run_type(run, use->file));
	return 0;
}

struct dft_use *run_use_get(const struct dft_engine *engine, const struct dft_proc *proc,
			    const struct dft_run *run, const struct run_ref *ref)
{
	return dft_map_get(&run->by_key, key_of(engine, proc, ref));
}

/* ---- birth, exec, end ----------------------------------------------------------------------- */

int dft_runs_born(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_proc *rec)
{
	bool fork = rec->type == DFT_REC_FORK;
	struct dft_proc *maker = fork ? dft_procs_get(&engine->procs, rec->maker) : NULL;
	struct dft_run *run = proc->runs.run;

	if (!engine->cfg->prov || (run && (run->execed || run->parent)))
		return 0;
	if (!run) {
		run = run_new(engine, maker && maker != proc ? maker->runs.run : NULL, rec->ts_ns);
		if (!run)
			return -ENOMEM;
		proc->runs.run = run;
	}
	run->attached = !fork;
	return 0;
}

/* It is remembered for a while: sums tell of it later. */
static void remember(struct dft_proc_runs *runs, struct dft_run *run)
{
	runs->forgotten = runs->forgotten || runs->past[DFT_RUNS_PAST - 1];
	run_release(runs->past[DFT_RUNS_PAST - 1]);
	memmove(runs->past + 1, runs->past, (DFT_RUNS_PAST - 1) * sizeof(runs->past[0]));
	runs->past[0] = run;
}

int dft_runs_exec_old(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns)
{
	struct dft_run *run = proc->runs.run;
	int err = 0;

	if (!run)
		return 0;
	/* What it has opened for the next program to fill is that one's. */
	for (struct dft_use *use = run->made ? run->first : NULL; use; use = use->next)
		use->passed = use->facts & DFT_PROV_MADE && !(use->facts & DFT_PROV_WROTE) &&
			      use->fds && !use->cloexec;
	run->end_ns = ts_ns;
	if (proc->opened)
		err = dft_run_write(engine, proc, run, true);
	free(run->name);
	run->name = strdup(proc->program ? proc->program : "unknown");
	run->ended = true;
	return err ? err : run->name ? 0 : -ENOMEM;
}

int dft_runs_exec_new(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns,
		      const struct dft_name *image)
{
	struct dft_run *old = proc->runs.run, *run;
	struct run_ref ref;
	struct dft_use *use;
	int err = 0;

	if (!engine->cfg->prov)
		return 0;
	run = run_new(engine, old, ts_ns);
	if (!run)
		return -ENOMEM;
	run->execed = true;
	proc->runs.run = run;
	if (old) {
		old->next = run->parent == old ? run : NULL;
		remember(&proc->runs, old);
	}
	for (struct dft_use *of = old ? old->first : NULL; of && !err; of = of->next) {
		if (!of->passed)
			continue;
		run_ref_file(&ref, of->file);
		err = run_add(engine, proc, run, &ref,
			      of->facts & (DFT_PROV_MADE | DFT_PROV_HEIR_WROTE), &use);
		if (!err)
			use->fds = of->fds;
	}
	if (!err && image && run_ref_name(&ref, image)) {
		run->image = true;
		err = run_add(engine, proc, run, &ref, DFT_PROV_RAN, &use);
	}
	return err;
}

/* Other runs may have come to a file that it said it annotates. */
static int look_for_uris(struct dft_engine *engine, struct dft_proc *proc)
{
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	while (!err && (slot = dft_map_next(&proc->runs.uris, &at))) {
		struct run_ref ref = { .fhash = slot->key };
		struct dft_run_file *file = run_file_get(engine, proc, &ref);

		if (file)
			err = relate_uris(engine, proc, file, DFT_RUN_FILE);
	}
	return err;
}

int dft_runs_end(struct dft_engine *engine, struct dft_proc *proc)
{
	struct dft_run *run = proc->runs.run;
	int err;

	if (!engine->cfg->prov)
		return 0;
	err = run_take_sums(engine, proc);
	if (!err)
		err = look_for_uris(engine, proc);
	for (size_t i = DFT_RUNS_PAST; i-- && !err;)
		if (proc->runs.past[i])
			err = dft_run_write(engine, proc, proc->runs.past[i], true);
	run = proc->runs.run; /* of which only sums may be known */
	if (err || !run)
		return err;
	for (struct dft_use *use = run->first; use; use = use->next)
		if (use->facts & DFT_PROV_WROTE && !use->file->pipe &&
		    !(use->facts & (DFT_PROV_OPENED | DFT_PROV_INHERITED)))
			run_inherit(run, use); /* which may have come behind */
	run->end_ns = proc->end_ns;
	err = dft_run_write(engine, proc, run, true);
	run->ended = true;
	return err;
}

/* ---- entities of the program ---------------------------------------------------------------- */

int dft_runs_entity(struct dft_engine *engine, struct dft_proc *proc, uint64_t id, const char *uri,
		    size_t len)
{
	struct dft_proc_runs *runs = &proc->runs;
	struct run_ref ref = { .text = uri, .len = len };
	struct dft_run_file *file;
	struct dft_uri *one;

	if (!engine->cfg->prov || !len || uri[0] != '/' || runs->nuris >= URIS_MAX)
		return 0;
	one = calloc(1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	ref.fhash = dft_hash(uri, len);
	one->id = id;
	one->next = dft_map_get(&runs->uris, ref.fhash);
	if (dft_map_put(&runs->uris, ref.fhash, one)) {
		free(one);
		return -ENOMEM;
	}
	runs->nuris++;
	file = run_file_get(engine, proc, &ref);
	return file ? relate_uris(engine, proc, file, run_type(proc->runs.run, file)) : 0;
}

enum dft_run_type run_type(const struct dft_run *run, const struct dft_run_file *file)
{
	const struct dft_use *use = run ? dft_map_get(&run->by_key, file->key) : NULL;

	return use && use->facts & DFT_PROV_RAN ? DFT_RUN_PROGRAM : DFT_RUN_FILE;
}

void dft_runs_free(struct dft_proc_runs *runs)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&runs->uris, &at))) {
		struct dft_uri *uri = slot->value;

		while (uri) {
			struct dft_uri *next = uri->next;

			free(uri);
			uri = next;
		}
	}
	dft_map_free(&runs->uris);
	for (size_t i = 0; i < DFT_RUNS_PAST; i++)
		run_release(runs->past[i]);
	run_release(runs->run);
	*runs = (struct dft_proc_runs){ 0 };
}
