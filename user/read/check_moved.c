// SPDX-License-Identifier: MIT
/* Rules of files that dftrace itself has rearranged: merged, sorted, split, recovered. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check_parts.h"
#include "counts.h"
#include "marker.h"

bool dft_check_may_lack(const struct dft_check *c)
{
	return c->rearranged & (DFT_REARRANGED_SPLIT | DFT_REARRANGED_RECOVER);
}

bool dft_check_id_fits(struct dft_check *c, uint64_t want)
{
	/* In order of time ids have none; that each is there once is seen at the end. */
	if (c->rearranged & DFT_REARRANGED_SORT)
		return true;
	/* In 2025 metadata were numbered, too: those that are there already have gone. */
	if (c->rearranged && c->r->letter)
		return c->r->id >= want;
	return dft_check_may_lack(c) ? !c->life.have_id || c->r->id >= want : c->r->id == want;
}

void dft_check_count_id(struct dft_check *c)
{
	c->life.letter = c->r->letter;
	c->life.ids++;
	c->life.id_sum += c->r->id;
}

/* A process that is over: is each id there once? */
static void end_life(struct dft_check *c, const struct dft_check_life *l)
{
	unsigned __int128 n = l->ids, sum = n * (n + 1) / 2;

	if (!l->have_id)
		return;
	c->processes++;
	c->open_ends += !l->end_line;
	/* In 2025 metadata have ids, too, and those that were there already have gone. */
	if (c->rearranged & DFT_REARRANGED_SORT && !dft_check_may_lack(c) && !l->letter &&
	    (l->last_id != l->ids || l->id_sum != (uint64_t)sum))
		dft_faults_add(&c->faults, 0, "a process has %" PRIu64 " events, but their ids are not 1 to %"
			       PRIu64, l->ids, l->ids);
}

void dft_check_life_of(struct dft_check *c)
{
	struct dft_check_life *lives;
	size_t nr;

	if (!c->rearranged || !(c->r->has & DFT_F_PID))
		return;
	nr = dft_process_of(&c->whose, c->r, &c->json);
	while (nr > c->lives.n)
		if (!dft_rows_add(&c->lives, sizeof(*lives)))
			nr = 0;
	if (!nr) {
		c->err = -ENOMEM;
		return;
	}
	if (nr == c->life_at)
		return;
	/* What stands before the marker is a name, which is no process's. */
	lives = c->lives.v;
	if (c->life_at)
		lives[c->life_at - 1] = c->life;
	c->life_at = nr;
	c->life = lives[nr - 1];
}

void dft_check_recovered(struct dft_check *c)
{
	const struct dft_jsonr_node *v = dft_jsonr_get(&c->json, c->r->args, "recovered");
	char text[256];
	uint64_t n;

	if (!v)
		return;
	if (v->type != DFT_JSONR_OBJECT) {
		FAULT(c, "end: args.recovered is not an object");
		return;
	}
	n = dft_sum_counts(&c->json, v, text, sizeof(text));
	FAULT(c, "recovered from a file that was cut, damaged or unfinished%s%s", n ? ": " : "",
	      n ? text : "");
}

void dft_check_lives(struct dft_check *c, const struct dft_source_stat *st)
{
	struct dft_check_life *lives = c->lives.v;

	if (c->life_at)
		lives[c->life_at - 1] = c->life;
	for (size_t i = 0; i < c->lives.n; i++)
		end_life(c, &lives[i]);
	c->unfinished = c->open_ends && !(c->rearranged & DFT_REARRANGED_SPLIT);
	if (c->unfinished && !st->cut)
		dft_faults_add(&c->faults, 0, "unfinished: %" PRIu64 " of %" PRIu64
			       " processes have no end record", c->open_ends, c->processes);
	if (!c->unfinished && !dft_check_may_lack(c))
		dft_check_undeclared(c);
}
