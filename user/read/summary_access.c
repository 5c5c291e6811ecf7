// SPDX-License-Identifier: MIT
/*
 * Sizes and places of reads and writes, the longest calls, and failures.
 *
 * How often each size occurs is counted for each size by itself, but sizes can be any. When there are more
 * than MAX_SIZES of them, those go that are multiples of the smallest power of two: `level` is what must
 * divide a size for it to be counted, and round sizes are those that are looked for. What is left is the
 * same in whatever order sizes come and counts are added up: the lowest level at which there are few enough.
 */
#include <stdlib.h>
#include <string.h>

#include "summary_parts.h"

#define MAX_SIZES 4096

static const struct {
	uint64_t max;
	const char *name;
} bins[DFT_BINS] = {
	{ 100, "0-100" }, { 1ull << 10, "100-1K" }, { 10ull << 10, "1K-10K" }, { 100ull << 10, "10K-100K" },
	{ 1ull << 20, "100K-1M" }, { 4ull << 20, "1M-4M" }, { 10ull << 20, "4M-10M" },
	{ 100ull << 20, "10M-100M" }, { 1ull << 30, "100M-1G" }, { UINT64_MAX, "1G+" },
};

uint64_t dft_bin_max(unsigned int bin)
{
	return bins[bin].max;
}

const char *dft_bin_name(unsigned int bin)
{
	return bins[bin].name;
}

static unsigned int bin_of(uint64_t size)
{
	unsigned int i = 0;

	while (size > bins[i].max)
		i++;
	return i;
}

void dft_sizes_free(struct dft_sizes *s)
{
	dft_index_free(&s->at);
	memset(s, 0, sizeof(*s));
}

static bool is_counted(const struct dft_sizes *s, uint64_t size)
{
	return !(size & ((1ull << s->level) - 1));
}

static int count_size(struct dft_sizes *s, uint64_t size, uint64_t n);

/* Until there are few enough. A level that drops none is passed through. */
static int thin_out(struct dft_sizes *s)
{
	while (s->at.cnt > MAX_SIZES && s->level < 63) {
		struct dft_index old = s->at;
		int err = 0;

		memset(&s->at, 0, sizeof(s->at));
		s->level++;
		for (size_t i = 0; i < old.cap && !err; i++)
			if (old.slots[i].epoch == old.epoch && is_counted(s, old.slots[i].key))
				err = count_size(s, old.slots[i].key, old.slots[i].val);
		dft_index_free(&old);
		if (err)
			return err;
	}
	return 0;
}

static int count_size(struct dft_sizes *s, uint64_t size, uint64_t n)
{
	bool fresh;
	uint64_t *at = dft_index_put(&s->at, size, &fresh);

	s->last = NULL;
	if (!at)
		return -ENOMEM;
	dft_add_sat(at, n);
	if (fresh && s->at.cnt > MAX_SIZES)
		return thin_out(s);
	s->last = at;
	s->last_size = size;
	return 0;
}

int dft_sizes_merge(struct dft_sizes *to, const struct dft_sizes *from)
{
	int err = 0;

	for (int i = 0; i < DFT_BINS; i++)
		dft_add_sat(&to->bins[i], from->bins[i]);
	while (to->level < from->level && !err) {
		struct dft_index old = to->at;

		memset(&to->at, 0, sizeof(to->at));
		to->level = from->level;
		for (size_t i = 0; i < old.cap && !err; i++)
			if (old.slots[i].epoch == old.epoch && is_counted(to, old.slots[i].key))
				err = count_size(to, old.slots[i].key, old.slots[i].val);
		dft_index_free(&old);
	}
	for (size_t i = 0; i < from->at.cap && !err; i++)
		if (from->at.slots[i].epoch == from->at.epoch && is_counted(to, from->at.slots[i].key))
			err = count_size(to, from->at.slots[i].key, from->at.slots[i].val);
	return err;
}

static void take_place(struct dft_pattern *p, struct dft_use *u, enum dft_way way, uint64_t offset,
		       uint64_t size)
{
	p->located++;
	p->unaligned += offset % DFT_BLOCK != 0;
	if (!u->has_end[way])
		p->first++;
	else if (offset == u->end[way])
		p->consecutive++;
	else if (offset > u->end[way])
		p->forward++;
	u->has_end[way] = true;
	u->end[way] = offset;
	dft_add_sat(&u->end[way], size);
}

void dft_access_take(struct dft_job *job, enum dft_way way, struct dft_use *u, const struct dft_facts *f,
		     uint64_t size)
{
	struct dft_sizes *s = &job->sizes[way];
	struct dft_access *a;
	struct dft_file *file;

	s->bins[bin_of(size)]++;
	if (s->last && s->last_size == size)
		dft_add_sat(s->last, 1);
	else if (is_counted(s, size) && count_size(s, size, 1) < 0)
		dft_job_no_memory(job);
	if (!u)
		return;
	file = (struct dft_file *)job->files.v + u->file;
	if (!file->access) {
		if (!dft_vec_add(&job->access, sizeof(*a))) {
			dft_job_no_memory(job);
			return;
		}
		file->access = job->access.n;
	}
	a = (struct dft_access *)job->access.v + file->access - 1;
	a->way[way].calls++;
	if (f->has_offset)
		take_place(&a->way[way], u, way, f->offset, size);
}

void dft_pattern_add(struct dft_pattern *to, const struct dft_pattern *from)
{
	dft_add_sat(&to->calls, from->calls);
	dft_add_sat(&to->located, from->located);
	dft_add_sat(&to->first, from->first);
	dft_add_sat(&to->consecutive, from->consecutive);
	dft_add_sat(&to->forward, from->forward);
	dft_add_sat(&to->unaligned, from->unaligned);
}

void dft_access_add(struct dft_access *to, const struct dft_access *from)
{
	for (int i = 0; i < DFT_WAYS; i++)
		dft_pattern_add(&to->way[i], &from->way[i]);
}

/* ---- the longest calls ---------------------------------------------------------------------- */

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b ? 1 : 0;
}

/* By what a job does not give numbers to itself, so that it is the same for any of them. */
int dft_slow_cmp(const struct dft_slow *a, const struct dft_slow *b)
{
	int c = order(b->dur_ns, a->dur_ns);

	if (!c)
		c = order(a->ts_ns, b->ts_ns);
	if (!c)
		c = order(a->file_nr, b->file_nr);
	if (!c)
		c = order(a->pid, b->pid);
	if (!c)
		c = order(a->tid, b->tid);
	if (!c)
		c = order(a->id, b->id);
	if (!c)
		c = order(a->file, b->file);
	return c ? c : order(a->bytes, b->bytes);
}

/* Moves the one at i up to where all above it are less. */
static void sift_up(struct dft_slow *v, size_t i)
{
	while (i && dft_slow_cmp(&v[i], &v[(i - 1) / 2]) > 0) {
		struct dft_slow t = v[i];

		v[i] = v[(i - 1) / 2];
		v[(i - 1) / 2] = t;
		i = (i - 1) / 2;
	}
}

static void sift_down(struct dft_slow *v, size_t n)
{
	for (size_t i = 0, k = 1; k < n; i = k, k = 2 * i + 1) {
		struct dft_slow t = v[i];

		if (k + 1 < n && dft_slow_cmp(&v[k + 1], &v[k]) > 0)
			k++;
		if (dft_slow_cmp(&v[k], &v[i]) <= 0)
			break;
		v[i] = v[k];
		v[k] = t;
	}
}

void dft_slow_take(struct dft_job *job, const struct dft_slow *s)
{
	struct dft_slow *v = job->slow.v;

	if (job->slow.n < job->slow_max) {
		if (!dft_vec_add(&job->slow, sizeof(*s))) {
			dft_job_no_memory(job);
			return;
		}
		v = job->slow.v;
		v[job->slow.n - 1] = *s;
		sift_up(v, job->slow.n - 1);
	} else if (job->slow_max && dft_slow_cmp(s, v) < 0) {
		v[0] = *s;
		sift_down(v, job->slow.n);
	}
}

/* ---- failures ------------------------------------------------------------------------------- */

void dft_failure_add(struct dft_job *job, uint64_t op, int64_t err, uint64_t calls)
{
	uint64_t key = op * 0x9e3779b97f4a7c15ull ^ (uint64_t)err;
	struct dft_failure *f;
	bool fresh;
	uint64_t *at = dft_index_put(&job->failure_at, key, &fresh);

	if (at && fresh) {
		f = dft_vec_add(&job->failures, sizeof(*f));
		if (f) {
			*at = job->failures.n;
			f->op = op;
			f->err = err;
		}
	}
	if (!at || !*at) {
		dft_job_no_memory(job);
		return;
	}
	f = (struct dft_failure *)job->failures.v + *at - 1;
	dft_add_sat(&f->calls, calls);
}
