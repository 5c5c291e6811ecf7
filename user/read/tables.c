// SPDX-License-Identifier: MIT
#include "tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Finalizer of MurmurHash3: ids from a trace may differ in a few bits only. */
static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 33;
	return h;
}

void dft_index_free(struct dft_index *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

void dft_index_clear(struct dft_index *m)
{
	m->cnt = 0;
	/* Slots of old epochs count as empty; only when the counter wraps must they be wiped. */
	if (++m->epoch == 0) {
		if (m->slots)
			memset(m->slots, 0, m->cap * sizeof(*m->slots));
		m->epoch = 1;
	}
}

/* The key's slot or the free one where it belongs; the table is never full. */
static struct dft_index_slot *find(const struct dft_index *m, uint64_t key)
{
	size_t i = (size_t)mix(key) & (m->cap - 1);

	while (m->slots[i].epoch == m->epoch && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static int grow(struct dft_index *m)
{
	struct dft_index old = *m;

	m->cap = old.cap ? old.cap * 2 : 256;
	m->slots = calloc(m->cap, sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return -ENOMEM;
	}
	m->epoch = 1;
	for (size_t i = 0; i < old.cap; i++) {
		if (old.slots[i].epoch == old.epoch) {
			struct dft_index_slot *s = find(m, old.slots[i].key);

			*s = old.slots[i];
			s->epoch = m->epoch;
		}
	}
	free(old.slots);
	return 0;
}

uint64_t *dft_index_get(const struct dft_index *m, uint64_t key)
{
	struct dft_index_slot *s;

	if (!m->cnt)
		return NULL;
	s = find(m, key);
	return s->epoch == m->epoch ? &s->val : NULL;
}

uint64_t *dft_index_put(struct dft_index *m, uint64_t key, bool *fresh)
{
	struct dft_index_slot *s;

	if (m->cnt >= m->cap / 2 && grow(m) < 0)
		return NULL;
	s = find(m, key);
	*fresh = s->epoch != m->epoch;
	if (*fresh) {
		s->key = key;
		s->val = 0;
		s->epoch = m->epoch;
		m->cnt++;
	}
	return &s->val;
}

void dft_strings_free(struct dft_strings *t)
{
	free(t->buf);
	memset(t, 0, sizeof(*t));
}

void dft_strings_clear(struct dft_strings *t)
{
	t->len = 0;
}

/* Room for a string of n bytes behind the others. 0 or -ENOMEM. */
static int make_room(struct dft_strings *t, size_t n)
{
	size_t start = t->len ? t->len : sizeof(n), need;
	char *buf;

	if (__builtin_add_overflow(start + sizeof(n), n, &need))
		return -ENOMEM;
	if (need > t->cap) {
		size_t cap = t->cap ? t->cap : 4096;

		while (cap < need)
			cap *= 2;
		buf = realloc(t->buf, cap);
		if (!buf)
			return -ENOMEM;
		t->buf = buf;
		t->cap = cap;
	}
	return 0;
}

int dft_strings_add(struct dft_strings *t, struct dft_str s, uint64_t *at)
{
	size_t start = t->len ? t->len : sizeof(s.n);

	if (!s.n) {
		*at = 0;
		return 0;
	}
	if (make_room(t, s.n))
		return -ENOMEM;
	memcpy(t->buf + start, &s.n, sizeof(s.n));
	memcpy(t->buf + start + sizeof(s.n), s.s, s.n);
	t->len = start + sizeof(s.n) + s.n;
	*at = start;
	return 0;
}

int dft_strings_part(struct dft_strings *t, uint64_t from, size_t n, uint64_t *at)
{
	if (make_room(t, n))
		return -ENOMEM;
	return dft_strings_add(t, (struct dft_str){ t->buf + from, n }, at);
}

struct dft_str dft_strings_at(const struct dft_strings *t, uint64_t at)
{
	struct dft_str s = { "", 0 };

	if (!at)
		return s;
	memcpy(&s.n, t->buf + at, sizeof(s.n));
	s.s = t->buf + at + sizeof(s.n);
	return s;
}

uint64_t dft_hash_bytes(uint64_t seed, const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull), w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * 0x9fb21c651e98df25ull;
		h ^= h >> 32;
	}
	if (n) {
		w = 0;
		memcpy(&w, s, n);
		h = (h ^ w) * 0x9fb21c651e98df25ull;
	}
	return mix(h);
}
