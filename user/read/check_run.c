// SPDX-License-Identifier: MIT
/* Rules of runs: the tracer's account of what a program did with its files, in one or more records. */
#include <errno.h>
#include <inttypes.h>

#include "check_parts.h"
#include "marker.h"

/* Of an id: whether its event was seen, and above that how many further parts. */
#define RUN_WHOLE      1u
#define RUN_PART_SHIFT 1

static bool part_of(struct dft_check *c, uint64_t *part)
{
	const struct dft_jsonr_node *v = c->r->args ? dft_jsonr_get(&c->json, c->r->args, "part") : NULL;

	*part = 0;
	if (v && (!dft_jsonr_u64(&c->json, v, part) || *part < 2))
		FAULT(c, "args.part is not an integer from 2 on");
	return v;
}

static void check_parts(struct dft_check *c, uint64_t *run, bool whole, uint64_t part)
{
	uint64_t parts = *run >> RUN_PART_SHIFT;
	/* Some may be in another file, or gone; in order of time they may stand in any. */
	bool orderly = !dft_check_may_lack(c) && !(c->rearranged & DFT_REARRANGED_SORT);

	if (!whole && orderly && part != parts + 2)
		FAULT(c, "args.part is %" PRIu64 ", expected %" PRIu64, part, parts + 2);
	if (whole && *run & RUN_WHOLE)
		FAULT(c, "a second event of the run with id %" PRIu64, c->r->id);
	*run = whole ? *run | RUN_WHOLE : *run + (1u << RUN_PART_SHIFT);
}

/* Ids are those of one process; in a file of several, its `start` tells which. */
static uint64_t run_key(const struct dft_check *c)
{
	const uint64_t parts[] = { c->life_at, c->life.start_line, c->r->id };

	return c->rearranged ? dft_hash_bytes(0, parts, sizeof(parts)) : c->r->id;
}

bool dft_check_run(struct dft_check *c)
{
	const struct dft_record *r = c->r;
	bool fresh, fresh_ts, whole;
	uint64_t part, *run, *ts;

	if (r->ph != DFT_PH_COMPLETE || r->letter || !dft_is_of_run(r))
		return false;
	whole = !part_of(c, &part);
	if (whole)
		for (size_t i = 0; i < 3; i++)
			if (r->args)
				dft_check_has_arg(c, "PROGRAM", (const char *const[]){ "files", "bytes_read",
						  "bytes_written" }[i], DFT_JSONR_INT);
	run = dft_index_put(&c->runs, run_key(c), &fresh);
	if (!run) {
		c->err = -ENOMEM;
		return true;
	}
	check_parts(c, run, whole, part);
	ts = dft_index_put(&c->run_ts, run_key(c), &fresh_ts);
	if (!ts) {
		c->err = -ENOMEM;
		return true;
	}
	if (!fresh_ts && *ts != r->ts)
		FAULT(c, "the parts of the run with id %" PRIu64 " begin at different times", r->id);
	*ts = r->ts;
	return !fresh;
}

void dft_check_runs_end(struct dft_check *c)
{
	for (size_t i = 0; i < c->runs.cap; i++) {
		const struct dft_index_slot *s = &c->runs.slots[i];

		if (s->epoch == c->runs.epoch && !(s->val & RUN_WHOLE))
			dft_faults_add(&c->faults, 0, "of the run with id %" PRIu64
				       " there are parts and no event", s->key);
	}
}
