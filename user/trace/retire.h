/* SPDX-License-Identifier: MIT */
/*
 * Names of files are kept as long as a record may come that refers to them. Now and then all are
 * forgotten on the kernel side, which sends those again that are used again; the others are freed when
 * it is sure that nothing refers to them.
 *
 *   1. The kernel's map is emptied, and what threads remember of it is void.
 *   2. The programs that may have looked before that end.
 *   3. Threads hand in their batches, and names of calls in flight go back into the map.
 *   4. What is in the ring by then is read.
 *   5. Tallies are looked at, which remember from then on what they need.
 *   6. Names that were not sent since 1, and are not in the map at 3, are freed.
 *
 * None of it stops the reading of the ring for long.
 */
#ifndef DFT_RETIRE_H
#define DFT_RETIRE_H

#include <pthread.h>
#include <stdbool.h>

#include "names.h"
#include "tracer.h"

struct dft_retire {
	struct dft_tracer *tracer;
	struct dft_names *names;
	enum {
		DFT_RETIRE_RESTING = 0,
		DFT_RETIRE_SETTLING, /* the thread is waiting for the programs */
		DFT_RETIRE_READING,
	} state;
	unsigned int high;    /* names sent after which it begins at once */
	uint64_t begun_ns;
	uint64_t trimmed_ns;
	uint64_t ring_end;    /* to be read up to there */
	pthread_t thread;
	bool has_thread;
	int settled;          /* by the thread: 1, or -errno */
	size_t gone;
};

void dft_retire_init(struct dft_retire *retire, struct dft_tracer *tracer, struct dft_names *names);
/*
 * A step, if it is time for one, as of CLOCK_MONOTONIC `now_ns`. 1 when 5 and 6 are left: the caller looks
 * at the tallies. 0 or -errno.
 */
int dft_retire_step(struct dft_retire *retire, uint64_t now_ns);
/* Step 6. 0 or -errno. */
int dft_retire_finish(struct dft_retire *retire);
/* Before the tracer is freed. */
void dft_retire_stop(struct dft_retire *retire);

#endif
