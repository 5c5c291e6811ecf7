// SPDX-License-Identifier: MIT
/*
 * What the kernel side counted instead of sending it. Its tallies only grow while a process lives; rows
 * tell what was added since the last look, so that they add up to the tally whatever was missed in
 * between.
 */
#include "engine.h"

#include <errno.h>
#include <string.h>

/* One of which neither birth nor death was seen is known by its pid; a tally tells its birth. */
struct dft_proc *dft_engine_dying(struct dft_engine *engine, uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *proc = dft_map_get(&engine->procs.dying, dft_procs_key(pid, start_ns));

	if (proc)
		return proc;
	proc = dft_map_get(&engine->procs.dying, dft_procs_key(pid, 0));
	if (!proc || (proc->start_ns && proc->start_ns != start_ns))
		return NULL;
	proc->start_ns = start_ns;
	return proc;
}

static struct dft_proc *find_proc(struct dft_engine *engine, uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);

	return proc && proc->start_ns == start_ns ? proc : dft_engine_dying(engine, pid, start_ns);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/*
 * Finds out which file a tally is of. Its name was sent before the tally was made, but may not have been
 * read yet: it is lost if it has not come by the next look, before which all that was sent is read.
 */
static void find_file(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *e,
		      const struct dft_name **of)
{
	const struct dft_name *name;

	if (!e->key.id || e->file > DFT_TALLY_FILE_AWAITED)
		return;
	name = dft_names_get(&engine->names, e->key.id);
	if (!name && e->file == DFT_TALLY_FILE_UNKNOWN && !proc->ending) {
		e->file = DFT_TALLY_FILE_AWAITED;
		return;
	}
	e->why = name ? dft_name_flaw(name) : "lost";
	*of = name;
	if (e->why) {
		e->file = DFT_TALLY_FILE_NAMELESS;
	} else if (name->excluded) {
		e->file = DFT_TALLY_FILE_EXCLUDED;
	} else if (engine->cfg->args) {
		e->file = DFT_TALLY_FILE_NAMED;
		e->fhash = name->fhash;
		dft_format_name(engine, proc, name);
	} else {
		e->file = DFT_TALLY_FILE_UNKNOWN; /* --no-args: nobody asks */
	}
}

static bool same(const struct dft_tally *a, const struct dft_tally *b)
{
	return a->calls == b->calls && a->errors == b->errors && a->bytes == b->bytes &&
	       a->dur_ns == b->dur_ns;
}

static void count(struct dft_engine *engine, const struct dft_tally_key *key, uint64_t calls)
{
	if (key->kind == DFT_TALLY_SHED)
		engine->aggregated += calls;
	else if ((key->nr & DFT_TALLY_NR) < DFT_NR_FAULT) /* page faults are no calls */
		engine->chosen += calls;
}

static int tell(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *e,
		const struct dft_tally *now)
{
	uint64_t calls = now->calls - e->value.calls;
	const struct dft_name *name = NULL;
	int err;

	if (same(&e->value, now))
		return 0;
	err = dft_engine_open(engine, proc, now->first_ns < proc->seen_ns ? now->first_ns : proc->seen_ns);
	if (err)
		return err;
	find_file(engine, proc, e, &name);
	if (name && dft_runs_row_file(engine, proc, e, name))
		return -ENOMEM;
	if (e->file == DFT_TALLY_FILE_AWAITED)
		engine->untold = true;
	if (e->file == DFT_TALLY_FILE_AWAITED || !(proc->ending || engine->look & DFT_LOOK_ROWS))
		return 0;
	if (e->file == DFT_TALLY_FILE_EXCLUDED) {
		err = dft_proc_count_excluded(proc, dft_tally_op(&e->key), calls);
	} else {
		dft_format_row(engine, proc, e, now);
		count(engine, &e->key, calls);
		err = engine->cfg->prov ? dft_runs_row(engine, proc, e, now) : 0;
		err = err ? err : dft_engine_grown(engine, proc);
	}
	e->value = *now;
	return err;
}

/* ---- a look --------------------------------------------------------------------------------- */

void dft_engine_look_begin(struct dft_engine *engine, uint64_t now_ns, unsigned int what)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	engine->look_ns = now_ns;
	engine->look = what;
	if (what & DFT_LOOK_ROWS)
		engine->untold = false;
	while ((slot = dft_map_next(&engine->procs.dying, &at))) {
		struct dft_proc *proc = slot->value;

		proc->ending = !proc->unsettled;
	}
}

int dft_engine_tally(struct dft_engine *engine, const struct dft_tally_key *key,
		     const struct dft_tally *value)
{
	bool calls = key->kind == DFT_TALLY_SHED || key->kind == DFT_TALLY_CHOSEN;
	struct dft_proc *proc = find_proc(engine, key->pid, key->start_ns);
	struct dft_tally_entry *entry;
	int err = 0;

	if (!proc) {
		engine->untold = true;
		return -ESRCH;
	}
	if (!proc->ending && !(engine->look && (calls || key->kind == DFT_TALLY_RECORD)))
		return 0;
	entry = dft_proc_tally(proc, key);
	if (!entry)
		return -ENOMEM;
	if (calls) {
		err = tell(engine, proc, entry, value);
	} else {
		if (key->kind == DFT_TALLY_RECORD)
			engine->lost += value->calls - entry->value.calls;
		entry->value = *value;
	}
	return err ? err : proc->ending;
}

static int end(struct dft_engine *engine, struct dft_proc *proc)
{
	int err = 0;

	if (!proc->opened && proc->tallies.n)
		dft_format_opening(engine, proc, proc->end_ns);
	if (proc->opened) {
		err = dft_runs_end(engine, proc);
		dft_format_end(engine, proc);
		err = err ? err : dft_engine_hand_over(engine, proc, true);
	}
	engine->buffered -= proc->buffered;
	dft_proc_free(proc);
	return err;
}

int dft_engine_look_end(struct dft_engine *engine)
{
	struct dft_map left = { 0 };
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	while ((slot = dft_map_next(&engine->procs.dying, &at))) {
		struct dft_proc *proc = slot->value;

		if (!proc->ending && dft_map_put(&left, slot->key, proc)) {
			dft_map_free(&left);
			return -ENOMEM;
		}
	}
	at = 0;
	while ((slot = dft_map_next(&engine->procs.dying, &at))) {
		struct dft_proc *proc = slot->value;
		int one = proc->ending ? end(engine, proc) : 0;

		if (!err)
			err = one;
	}
	dft_map_free(&engine->procs.dying);
	engine->procs.dying = left;
	if (engine->look & DFT_LOOK_ROWS)
		engine->looked_ns = engine->look_ns;
	engine->look = 0;
	return err;
}

int dft_engine_aggregate(struct dft_engine *engine, uint64_t now_ns)
{
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	engine->aggregated_ns = now_ns;
	while (!err && (slot = dft_map_next(&engine->procs.live, &at))) {
		struct dft_proc *proc = slot->value;

		if (!proc->opened)
			continue;
		dft_format_aggregated(engine, proc);
		err = dft_engine_grown(engine, proc);
	}
	return err;
}

/* ---- processes that nothing else tells of --------------------------------------------------- */

int dft_engine_adopt(struct dft_engine *engine, uint32_t pid, uint64_t start_ns, uint64_t now_ns,
		     bool gone)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);

	if (proc && !proc->start_ns && !gone) {
		proc->start_ns = start_ns; /* the one that lives has this pid */
		return 0;
	}
	/* Of two of one pid the older one has gone. It must not put an end to the other. */
	if (proc && proc->start_ns > start_ns)
		gone = true;
	proc = gone ? dft_procs_orphan(&engine->procs, pid, start_ns) :
		      dft_procs_add(&engine->procs, pid, start_ns);
	if (!proc)
		return -ENOMEM;
	proc->seen_ns = now_ns;
	proc->end_ns = now_ns;
	return 0;
}

int dft_engine_gone(struct dft_engine *engine, uint32_t pid, uint64_t now_ns)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);

	if (!proc)
		return 0;
	proc->end_ns = now_ns;
	return dft_procs_retire(&engine->procs, proc);
}

int dft_engine_retire_all(struct dft_engine *engine, uint64_t now_ns)
{
	return dft_procs_retire_all(&engine->procs, now_ns);
}
