/* SPDX-License-Identifier: MIT */
/*
 * Moves what the kernel side sends and counts to the trace files, in turns of a few milliseconds that
 * never wait: while the disk is behind, the ring is not read, and the kernel side counts what does not
 * fit.
 */
#ifndef DFT_PUMP_H
#define DFT_PUMP_H

#include "engine.h"

struct dft_sink;
struct dft_tracer;

/* A process that may have ended without an EXIT record. */
struct dft_suspect {
	uint64_t start_ns;
	uint32_t pid;
};

struct dft_pump {
	const struct dft_config *cfg;
	struct dft_tracer *tracer;
	struct dft_engine *engine;
	struct dft_sink *sink;
	int error;  /* tracing has to stop: -errno. It was told. */
	bool empty; /* the ring was, when it was last read */

	/*
	 * A pass: read all that is in the ring at its begin; where processes end that may have requests
	 * in flight, sweep these up, and read again; look at the tallies, write the ends of processes, and
	 * in a round hand over all lines.
	 */
	enum { DFT_PASS_NONE = 0, DFT_PASS_READING, DFT_PASS_SWEPT, DFT_PASS_LOOKING } pass;
	bool round, look;
	uint64_t mark;                            /* of the ring at the begin of the pass */
	uint64_t next_pass, next_round, next_rows, next_look;
	uint64_t spent_ns;                        /* looking */
	bool limited;                             /* --max-size was reached */
	bool over;                                /* tracing is */
	enum { DFT_NAMES_NONE = 0, DFT_NAMES_WANTED, DFT_NAMES_LOOKING, DFT_NAMES_NOTED } names;

	/* Processes that have tallies and were in no record: of this look, and of the one before. */
	struct dft_map strangers, strangers_before;
	bool adopted;

	/* Looking for processes that have gone: those of `suspects` up to `ngone` have. */
	struct dft_suspect *suspects;
	size_t nsuspects, next_suspect, ngone;
	uint64_t suspects_mark, swept_ns, exits_lost;
	bool exits_looked;                        /* at the tallies, since that has changed */
};

void dft_pump_init(struct dft_pump *pump, const struct dft_config *cfg, struct dft_tracer *tracer,
		   struct dft_engine *engine, struct dft_sink *sink);
void dft_pump_free(struct dft_pump *pump);

/* Every few milliseconds, and when a record has come that should be seen at once. */
void dft_pump_turn(struct dft_pump *pump);
/* Reads all that is in the ring by now, however long it takes. */
void dft_pump_catch_up(struct dft_pump *pump);
/* Calls are not traced any more: detaches the kernel side, and writes everything. */
void dft_pump_finish(struct dft_pump *pump);

/*
 * Names are going to be forgotten: takes note of those that tallies refer to. To be called until it is
 * true, which is when all tallies made before the first call have been seen.
 */
bool dft_pump_note_names(struct dft_pump *pump);

/* An error that nothing can be done about, if `err` is one: tells it, once. */
void dft_pump_fail(struct dft_pump *pump, int err);

#endif
