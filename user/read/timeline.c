// SPDX-License-Identifier: MIT
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1000 /* ns: times in traces are no finer */
#define WANTED 80 /* intervals, or fewer */

void dft_timeline_init(struct dft_timeline *t, uint64_t width_ns, uint64_t max)
{
	memset(t, 0, sizeof(*t));
	t->width_ns = width_ns ? width_ns : WIDTH;
	t->max = max;
	t->first = UINT64_MAX;
}

void dft_timeline_free(struct dft_timeline *t)
{
	free(t->slots);
	dft_index_free(&t->index);
	memset(t, 0, sizeof(*t));
}

static struct dft_tl_cell *cell(struct dft_timeline *t, uint64_t group, uint64_t at)
{
	const uint64_t key[2] = { group, at };
	struct dft_tl_slot *slots;
	uint64_t *v;
	bool fresh;

	v = dft_index_put(&t->index, dft_hash_bytes(0, key, sizeof(key)), &fresh);
	if (!v)
		return NULL;
	if (!fresh)
		return &t->slots[*v - 1].cell;
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;

		slots = realloc(t->slots, cap * sizeof(*slots));
		if (!slots)
			return NULL;
		t->slots = slots;
		t->cap = cap;
	}
	t->slots[t->n] = (struct dft_tl_slot){ .group = group, .at = at };
	*v = ++t->n;
	return &t->slots[t->n - 1].cell;
}

static void add_cell(struct dft_tl_cell *to, const struct dft_tl_cell *from)
{
	dft_add_sat(&to->read, from->read);
	dft_add_sat(&to->written, from->written);
	dft_add_sat(&to->ops, from->ops);
	dft_add_sat(&to->meta, from->meta);
}

/* Twice as wide, then five times, then twice ...: 1, 2, 10, 20, 100 us. */
static int widen(struct dft_timeline *t)
{
	unsigned int by = t->step++ % 2 ? 5 : 2;
	struct dft_tl_slot *old = t->slots;
	size_t n = t->n;

	t->width_ns = dft_mul_sat(t->width_ns, by);
	t->first = t->first == UINT64_MAX ? UINT64_MAX : t->first / by;
	t->last /= by;
	t->slots = NULL;
	t->n = t->cap = 0;
	dft_index_clear(&t->index);
	for (size_t i = 0; i < n; i++) {
		struct dft_tl_cell *c = cell(t, old[i].group, old[i].at / by);

		if (!c) {
			free(old);
			return -ENOMEM;
		}
		add_cell(c, &old[i].cell);
	}
	free(old);
	return 0;
}

/* Makes the timeline reach from one interval to another, both in nanoseconds. */
static int reach(struct dft_timeline *t, uint64_t from_ns, uint64_t to_ns)
{
	for (;;) {
		uint64_t a = from_ns / t->width_ns, b = to_ns / t->width_ns;
		int rc;

		if (a > t->first)
			a = t->first;
		if (b < t->last)
			b = t->last;
		if (b - a < t->max) {
			t->first = a;
			t->last = b;
			return 0;
		}
		rc = widen(t);
		if (rc)
			return rc;
	}
}

/* What of `bytes` is done after `t` of `len`: rounded so that parts add up to the whole. */
static uint64_t share(uint64_t bytes, uint64_t t, uint64_t len)
{
	return t >= len ? bytes : (uint64_t)((unsigned __int128)bytes * t / len);
}

int dft_timeline_add(struct dft_timeline *t, const struct dft_tl_call *c)
{
	uint64_t to = c->to_ns > c->from_ns ? c->to_ns : c->from_ns, len = to - c->from_ns;
	/* A call that ends at a boundary was not in the interval behind it. */
	uint64_t last_ns = len ? to - 1 : to;
	struct dft_tl_cell *s;
	int rc = reach(t, c->from_ns, last_ns);

	if (rc)
		return rc;
	s = cell(t, c->group, c->from_ns / t->width_ns);
	if (!s)
		return -ENOMEM;
	dft_add_sat(&s->ops, c->ops);
	dft_add_sat(&s->meta, c->meta);
	if (!c->read && !c->written)
		return 0;
	for (uint64_t i = c->from_ns / t->width_ns; i <= last_ns / t->width_ns; i++) {
		uint64_t a = i * t->width_ns, b = a + t->width_ns;

		a = a > c->from_ns ? a - c->from_ns : 0;
		/* An end beyond the last number there is means the end of the call, too. */
		b = b < i * t->width_ns || b >= to ? len : b - c->from_ns;
		s = cell(t, c->group, i);
		if (!s)
			return -ENOMEM;
		dft_add_sat(&s->read, share(c->read, b, len) - (a ? share(c->read, a, len) : 0));
		dft_add_sat(&s->written,
			    share(c->written, b, len) - (a ? share(c->written, a, len) : 0));
	}
	return 0;
}

int dft_timeline_merge(struct dft_timeline *t, const struct dft_timeline *from)
{
	int rc = 0;

	if (!from->n)
		return 0;
	/* Both began with the same width: the wider one is a multiple of the other. */
	while (!rc && t->width_ns < from->width_ns)
		rc = widen(t);
	if (!rc)
		rc = reach(t, from->first * from->width_ns, from->last * from->width_ns);
	for (size_t i = 0; !rc && i < from->n; i++) {
		const struct dft_tl_slot *s = &from->slots[i];
		struct dft_tl_cell *c = cell(t, s->group, s->at * from->width_ns / t->width_ns);

		if (c)
			add_cell(c, &s->cell);
		else
			rc = -ENOMEM;
	}
	return rc;
}

int dft_timeline_put(struct dft_timeline *t, uint64_t group, uint64_t at,
		     const struct dft_tl_cell *sum)
{
	struct dft_tl_cell *c = cell(t, group, at);

	if (!c)
		return -ENOMEM;
	add_cell(c, sum);
	return 0;
}

static int compare(const void *x, const void *y)
{
	const struct dft_tl_slot *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

void dft_timeline_sort(struct dft_timeline *t)
{
	if (t->n)
		qsort(t->slots, t->n, sizeof(*t->slots), compare);
}

uint64_t dft_timeline_round(const struct dft_timeline *t)
{
	static const unsigned int digits[] = { 1, 2, 5 };

	if (!t->n)
		return t->width_ns;
	for (uint64_t ten = 1; ten <= UINT64_MAX / 50; ten *= 10) {
		for (size_t i = 0; i < 3; i++) {
			uint64_t w = ten * digits[i];

			if (w % t->width_ns == 0 && w >= t->width_ns &&
			    t->last / (w / t->width_ns) - t->first / (w / t->width_ns) < WANTED)
				return w;
		}
	}
	return t->width_ns;
}
