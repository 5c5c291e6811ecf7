// SPDX-License-Identifier: MIT
#include "pump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "sink.h"
#include "target.h"
#include "tracer.h"

#define MS 1000000ull

#define READ_BUDGET  1024 /* records, each of up to 16 calls, between two looks at the sink */
#define READ_CHUNKS  8    /* of these in a turn */
#define LOOK_BATCHES 16   /* of tallies in a turn */
#define SUSPECTS     16   /* processes looked at in a turn */
#define PASS_NS	     (100 * MS)   /* between the ends of processes */
#define ROWS_NS	     (1000 * MS)  /* between rows that --max-size has brought about */
#define SWEEP_NS     (1000 * MS)  /* between looks for lost deaths */
#define SWEEP_ALL_NS (30000 * MS) /* for those that no record at all told of, not even a lost one */
#define LOOK_SHARE   10   /* at most a tenth of the time goes into looking at tallies */
#define WAIT_MS	     100

static uint64_t rows_interval(const struct dft_pump *pump)
{
	if (pump->cfg->aggregate_ns)
		return pump->cfg->aggregate_ns;
	return pump->limited ? ROWS_NS : pump->cfg->flush_ns;
}

static uint64_t round_interval(const struct dft_pump *pump)
{
	uint64_t rows = rows_interval(pump), flush = pump->cfg->flush_ns;

	return rows < flush ? rows : flush;
}

/* The next time of something that is due each `interval`; one that was missed is not made up for. */
static void advance(uint64_t *next, uint64_t interval, uint64_t now)
{
	*next += interval;
	if (*next <= now)
		*next = now + interval;
}

void dft_pump_init(struct dft_pump *pump, const struct dft_config *cfg, struct dft_tracer *tracer,
		   struct dft_engine *engine, struct dft_sink *sink)
{
	uint64_t now = dft_clock_mono_ns();

	*pump = (struct dft_pump){ .cfg = cfg, .tracer = tracer, .engine = engine, .sink = sink,
				   .swept_ns = now, .exits_looked = true };
	pump->next_round = pump->next_rows = now + round_interval(pump);
	engine->looked_ns = now;
}

void dft_pump_free(struct dft_pump *pump)
{
	dft_map_free(&pump->strangers);
	dft_map_free(&pump->strangers_before);
	free(pump->suspects);
}

void dft_pump_fail(struct dft_pump *pump, int err)
{
	if (err < 0 && !pump->error) {
		pump->error = err;
		pump->engine->failed = true;
		dft_error("tracing stops: %s (what was captured is written)", strerror(-err));
	}
}

/* ---- the ring ------------------------------------------------------------------------------- */

/* Is all read that was in the ring when it ended there? */
static bool is_read(const struct dft_pump *pump, uint64_t ring_end)
{
	return dft_tracer_ring_read(pump->tracer) >= ring_end;
}

/* Some records. True when there are no more, or they cannot be read. */
static bool read_chunk(struct dft_pump *pump)
{
	int n = dft_tracer_read(pump->tracer, READ_BUDGET);

	dft_pump_fail(pump, n);
	return n < READ_BUDGET;
}

static void read_some(struct dft_pump *pump)
{
	pump->empty = false;
	for (int i = 0; i < READ_CHUNKS && !pump->empty && !dft_sink_full(pump->sink); i++)
		pump->empty = read_chunk(pump);
}

static void wait_for_sink(struct dft_pump *pump)
{
	while (dft_sink_full(pump->sink) && !dft_sink_wait(pump->sink, WAIT_MS))
		;
}

void dft_pump_catch_up(struct dft_pump *pump)
{
	uint64_t mark = dft_tracer_ring_end(pump->tracer);

	while (!is_read(pump, mark)) {
		wait_for_sink(pump);
		if (read_chunk(pump) && pump->error)
			return;
	}
}

/* ---- processes whose death or birth no record tells of ---------------------------------------- */

static void sweep_begin(struct dft_pump *pump, uint64_t now)
{
	struct dft_map *live = &pump->engine->procs.live;
	struct dft_map_slot *slot;
	size_t at = 0;

	pump->exits_lost = dft_tracer_exits_lost(pump->tracer);
	pump->swept_ns = now;
	pump->nsuspects = pump->next_suspect = pump->ngone = 0;
	if (!live->len)
		return;
	pump->suspects = calloc(live->len, sizeof(*pump->suspects));
	if (!pump->suspects) {
		dft_pump_fail(pump, -ENOMEM);
		return;
	}
	while ((slot = dft_map_next(live, &at))) {
		const struct dft_proc *proc = slot->value;

		pump->suspects[pump->nsuspects++] = (struct dft_suspect){ proc->start_ns, proc->pid };
	}
}

/* Those that have gone. Their last records may be in the ring still: these come first. */
static void sweep_end(struct dft_pump *pump, uint64_t now)
{
	for (size_t i = 0; i < pump->ngone; i++) {
		const struct dft_suspect *s = &pump->suspects[i];
		const struct dft_proc *proc = dft_procs_get(&pump->engine->procs, s->pid);

		if (proc && proc->start_ns == s->start_ns)
			dft_pump_fail(pump, dft_engine_gone(pump->engine, s->pid, now));
	}
	free(pump->suspects);
	pump->suspects = NULL;
}

/* Looks for processes that have gone, when an EXIT record was lost. Reading /proc takes its time. */
static void sweep_some(struct dft_pump *pump, uint64_t now)
{
	size_t end;

	if (!pump->suspects) {
		bool lost = dft_tracer_exits_lost(pump->tracer) != pump->exits_lost;

		if (now - pump->swept_ns < (lost ? SWEEP_NS : SWEEP_ALL_NS))
			return;
		/* One of which nothing is known at all shows among the tallies. */
		pump->exits_looked = pump->exits_looked && !lost;
		sweep_begin(pump, now);
		return;
	}
	if (pump->next_suspect == pump->nsuspects) {
		if (is_read(pump, pump->suspects_mark))
			sweep_end(pump, now);
		return;
	}
	end = pump->next_suspect + SUSPECTS;
	if (end > pump->nsuspects)
		end = pump->nsuspects;
	for (; pump->next_suspect < end; pump->next_suspect++) {
		struct dft_suspect s = pump->suspects[pump->next_suspect];

		if (dft_target_is_gone(s.pid, s.start_ns))
			pump->suspects[pump->ngone++] = s;
	}
	pump->suspects_mark = dft_tracer_ring_end(pump->tracer);
}

/* Threads that left together may have handed in their last calls behind the EXIT record. */
static void settle(struct dft_pump *pump)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&pump->engine->procs.dying, &at))) {
		struct dft_proc *proc = slot->value;

		if (proc->unsettled && dft_target_is_gone(proc->pid, proc->start_ns))
			proc->unsettled = false;
	}
}

/*
 * A tally of a process that no record has told of. One may be in the ring, up to the next look; then it
 * was lost.
 */
static int on_stranger(struct dft_pump *pump, const struct dft_tally_key *key)
{
	uint64_t id = dft_procs_key(key->pid, key->start_ns);
	bool gone;

	if (!pump->over && !dft_map_get(&pump->strangers_before, id))
		return dft_map_put(&pump->strangers, id, pump);
	gone = pump->over || dft_target_is_gone(key->pid, key->start_ns);
	pump->adopted = true;
	return dft_engine_adopt(pump->engine, key->pid, key->start_ns, dft_clock_mono_ns(), gone);
}

/* ---- a pass --------------------------------------------------------------------------------- */

static int on_tally(void *ctx, const struct dft_tally_key *key, const struct dft_tally *value)
{
	struct dft_pump *pump = ctx;
	int err = dft_engine_tally(pump->engine, key, value);

	if (err == -ESRCH) {
		err = on_stranger(pump, key);
		if (!err)
			err = dft_engine_tally(pump->engine, key, value);
		if (err == -ESRCH)
			err = 0;
	}
	return err;
}

static bool is_ending(void *ctx, uint32_t pid, uint64_t start_ns)
{
	const struct dft_pump *pump = ctx;
	const struct dft_proc *proc = dft_engine_dying(pump->engine, pid, start_ns);

	return proc && proc->ending;
}

static bool is_anybody_ending(const struct dft_engine *engine)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&engine->procs.dying, &at)))
		if (((struct dft_proc *)slot->value)->ending)
			return true;
	return false;
}

/* Time for rows? Without a change there is nothing to look at, and all up to now is in them. */
static bool rows_are_due(struct dft_pump *pump, uint64_t now)
{
	if (now < pump->next_rows)
		return false;
	advance(&pump->next_rows, rows_interval(pump), now);
	if (dft_tracer_tallied(pump->tracer) || pump->engine->untold)
		return true;
	pump->engine->looked_ns = now;
	return false;
}

/* What the look of this pass is for, besides the ends of processes. */
static unsigned int purpose(struct dft_pump *pump, uint64_t now)
{
	unsigned int what = 0;

	if (pump->round && rows_are_due(pump, now))
		what |= DFT_LOOK_ROWS;
	if (pump->names == DFT_NAMES_WANTED) {
		pump->names = DFT_NAMES_LOOKING;
		what |= DFT_LOOK_NAMES;
	}
	return what;
}

static void look_begin(struct dft_pump *pump, unsigned int what)
{
	struct dft_engine *engine = pump->engine;

	dft_engine_look_begin(engine, dft_clock_mono_ns(), what);
	pump->look = what || !pump->exits_looked || pump->strangers.len || is_anybody_ending(engine);
	pump->exits_looked = true;
}

static void pass_begin(struct dft_pump *pump, uint64_t now)
{
	pump->round = now >= pump->next_round;
	pump->next_pass = now + PASS_NS;
	if (pump->round) {
		advance(&pump->next_round, round_interval(pump), now);
		dft_pump_fail(pump, dft_tracer_flush(pump->tracer));
	}
	pump->look = false;
	settle(pump);
	if (now >= pump->next_look)
		look_begin(pump, purpose(pump, now));
	pump->mark = dft_tracer_ring_end(pump->tracer);
	pump->pass = DFT_PASS_READING;
}

/* An end for the requests in flight of processes that have gone: those that are ending, or with `all` all. */
static void sweep_dying(struct dft_pump *pump, bool all)
{
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	while (!err && (slot = dft_map_next(&pump->engine->procs.dying, &at))) {
		struct dft_proc *proc = slot->value;

		if (!proc->ending && !all)
			continue;
		err = dft_tracer_request_ending(pump->tracer, proc->pid, proc->start_ns);
		if (err == -E2BIG) { /* too many at once: at the next look */
			proc->ending = false;
			err = 0;
		}
	}
	dft_pump_fail(pump, err ? err : dft_tracer_sweep(pump->tracer, false));
}

/* Everything up to the begin of the pass was read. */
static void pass_look(struct dft_pump *pump)
{
	pump->pass = DFT_PASS_LOOKING;
	if (!pump->look)
		return;
	pump->spent_ns = 0;
	dft_map_free(&pump->strangers_before);
	pump->strangers_before = pump->strangers;
	pump->strangers = (struct dft_map){ 0 };
	dft_pump_fail(pump, dft_tracer_tallies_begin(pump->tracer));
}

/* --max-size: a trace that has become so large goes on in sums. */
static void limit_size(struct dft_pump *pump)
{
	const struct dft_config *cfg = pump->cfg;

	if (pump->limited || pump->over || !cfg->max_size || cfg->aggregate_ns ||
	    dft_sink_bytes(pump->sink) < cfg->max_size)
		return;
	pump->limited = true;
	dft_tracer_aggregate(pump->tracer);
	dft_pump_fail(pump, dft_engine_aggregate(pump->engine, dft_clock_mono_ns()));
	dft_info("the trace has reached its --max-size: from now on calls are aggregated");
}

static void pass_end(struct dft_pump *pump)
{
	struct dft_engine *engine = pump->engine;
	uint64_t now = dft_clock_mono_ns();

	if (pump->look) {
		if (dft_engine_ending_declared(engine))
			dft_pump_fail(pump, dft_tracer_forget_declared(pump->tracer, is_ending, pump));
		dft_pump_fail(pump, dft_engine_look_end(engine));
		pump->next_look = now + (LOOK_SHARE - 1) * pump->spent_ns;
		if (pump->names == DFT_NAMES_LOOKING)
			pump->names = DFT_NAMES_NOTED;
	}
	if (pump->round)
		dft_pump_fail(pump, dft_engine_flush(engine));
	pump->pass = DFT_PASS_NONE;
}

/* Looks at some tallies. */
static void look_some(struct dft_pump *pump)
{
	uint64_t begin = dft_clock_mono_ns();
	int more = pump->look;

	for (int i = 0; i < LOOK_BATCHES && more > 0; i++)
		more = dft_tracer_tallies_some(pump->tracer, on_tally, pump);
	pump->spent_ns += dft_clock_mono_ns() - begin;
	dft_pump_fail(pump, more);
	if (more <= 0)
		pass_end(pump);
}

static bool pass_is_due(const struct dft_pump *pump, uint64_t now)
{
	bool waiting = pump->engine->procs.dying.len || pump->strangers.len || !pump->exits_looked ||
		       pump->names == DFT_NAMES_WANTED;

	return now >= pump->next_round || (waiting && now >= pump->next_pass && now >= pump->next_look);
}

void dft_pump_turn(struct dft_pump *pump)
{
	uint64_t now = dft_clock_mono_ns();

	pump->empty = false;
	if (dft_sink_full(pump->sink))
		return;
	limit_size(pump);
	if (pump->pass == DFT_PASS_NONE && pass_is_due(pump, now))
		pass_begin(pump, now);
	read_some(pump);
	sweep_some(pump, now);
	if (pump->pass == DFT_PASS_READING && is_read(pump, pump->mark)) {
		/* Before the ends of their processes; so what that has put into the ring is read first. */
		if (pump->look && dft_tracer_requested(pump->tracer) && is_anybody_ending(pump->engine)) {
			sweep_dying(pump, false);
			pump->mark = dft_tracer_ring_end(pump->tracer);
		}
		pump->pass = DFT_PASS_SWEPT;
	}
	if (pump->pass == DFT_PASS_SWEPT && is_read(pump, pump->mark))
		pass_look(pump);
	if (pump->pass == DFT_PASS_LOOKING)
		look_some(pump);
}

bool dft_pump_note_names(struct dft_pump *pump)
{
	if (pump->names == DFT_NAMES_NONE)
		pump->names = DFT_NAMES_WANTED;
	if (pump->names != DFT_NAMES_NOTED)
		return false;
	pump->names = DFT_NAMES_NONE;
	return true;
}

/* ---- the end -------------------------------------------------------------------------------- */

void dft_pump_finish(struct dft_pump *pump)
{
	struct dft_engine *engine = pump->engine;

	pump->over = true;
	dft_pump_catch_up(pump);
	dft_pump_fail(pump, dft_tracer_flush(pump->tracer));
	/* Behind what their threads have gathered before. */
	dft_pump_fail(pump, dft_tracer_unfinished(pump->tracer));
	dft_tracer_detach(pump->tracer);
	dft_pump_catch_up(pump);
	if (dft_tracer_requested(pump->tracer)) {
		sweep_dying(pump, true);
		dft_pump_fail(pump, dft_tracer_sweep(pump->tracer, true));
		dft_pump_catch_up(pump);
	}
	engine->uncounted += dft_tracer_uncounted(pump->tracer);
	dft_pump_fail(pump, dft_engine_retire_all(engine, dft_clock_mono_ns()));
	/* Once more for those of whom only tallies are known. */
	do {
		pump->adopted = false;
		pump->round = true;
		look_begin(pump, DFT_LOOK_ROWS);
		pass_look(pump);
		while (pump->pass == DFT_PASS_LOOKING) {
			wait_for_sink(pump);
			look_some(pump);
		}
	} while (pump->adopted && !pump->error);
}
