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
	c->life.ids++;
	c->life.id_sum += c->r->id;
}

/* A process that is over: is each id there once? */
static void end_life(struct dft_check *c, struct dft_check_life *l)
{
	unsigned __int128 n = l->ids, sum = n * (n + 1) / 2;

	if (!l->have_id)
		return;
	c->processes++;
	c->open_ends += !l->end_line;
	if (c->rearranged & DFT_REARRANGED_SORT && !dft_check_may_lack(c) &&
	    (l->last_id != l->ids || l->id_sum != (uint64_t)sum))
		dft_faults_add(&c->faults, 0, "a process has %" PRIu64 " events, but their ids are not 1 to %"
			       PRIu64, l->ids, l->ids);
}

static bool is_start(const struct dft_record *r)
{
	return r->ph == DFT_PH_COMPLETE && DFT_STR_IS(r->name, "start") && dft_is_of_tracer(r);
}

void dft_check_life_of(struct dft_check *c)
{
	const struct dft_jsonr_node *h = c->r->args ? dft_jsonr_get(&c->json, c->r->args, "hhash") : NULL;
	uint64_t host = 0, *at;
	bool fresh;

	if (!c->rearranged || !(c->r->has & DFT_F_PID))
		return;
	if (h && !dft_hash_value(&c->json, h, c->r->letter, &host))
		host = 0;
	at = dft_index_put(&c->life_of, dft_hash_bytes(host, &c->r->pid, sizeof(c->r->pid)), &fresh);
	if (!at) {
		c->err = -ENOMEM;
		return;
	}
	if (fresh) {
		if (c->lives_n == c->lives_cap) {
			size_t cap = c->lives_cap ? c->lives_cap * 2 : 16;
			struct dft_check_life *v = realloc(c->lives, cap * sizeof(*v));

			if (!v) {
				c->err = -ENOMEM;
				return;
			}
			c->lives = v;
			c->lives_cap = cap;
		}
		/* The first one's records before the marker are this process's. */
		c->lives[c->lives_n] = (struct dft_check_life){ 0 };
		*at = ++c->lives_n;
	}
	if (c->life_at)
		c->lives[c->life_at - 1] = c->life;
	c->life_at = *at;
	c->life = c->lives[*at - 1];
	/* The pid of a process that is over was given again. */
	if (is_start(c->r) && c->life.have_id && c->r->id == 1) {
		end_life(c, &c->life);
		memset(&c->life, 0, sizeof(c->life));
	}
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
	if (c->life_at)
		c->lives[c->life_at - 1] = c->life;
	for (size_t i = 0; i < c->lives_n; i++)
		end_life(c, &c->lives[i]);
	c->unfinished = c->open_ends && !(c->rearranged & DFT_REARRANGED_SPLIT);
	if (c->unfinished && !st->cut)
		dft_faults_add(&c->faults, 0, "unfinished: %" PRIu64 " of %" PRIu64
			       " processes have no end record", c->open_ends, c->processes);
	if (!c->unfinished && !dft_check_may_lack(c))
		dft_check_undeclared(c);
}
