// SPDX-License-Identifier: MIT
#include "extsort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "out.h"

#define MEMORY	 (64u << 20)
#define BUF_SZ	 (64u << 10)
/* More parts than that are first merged into one. */
#define MAX_RUNS 128

/* Before each record, in memory and in the file. */
struct head {
	uint32_t key_n, data_n;
};

struct item {
	uint64_t prefix; /* of the key: decides most comparisons */
	size_t off;      /* of the record's head */
};

/* One sorted part of the file. */
struct run {
	uint64_t off, end; /* what has not been read into the buffer */
	char *buf;
	size_t pos, len, cap;
	struct dft_str key, data; /* at hand */
};

struct dft_extsort {
	struct dft_extsort_opts opts;
	char *arena;
	size_t len, cap;
	struct item *items;
	size_t n, items_cap;
	int fd; /* -1: all is in memory */
	uint64_t file_len;
	struct run runs[MAX_RUNS + 1];
	size_t nruns;
	size_t heap[MAX_RUNS + 1]; /* of runs, the least first */
	size_t nheap;
	bool advanced;  /* the run on top has been handed out */
	size_t next;    /* item, when all is in memory */
	uint64_t given;
	bool told;
};

unsigned char *dft_key_u64(unsigned char *to, uint64_t v)
{
	for (int i = 7; i >= 0; i--, v >>= 8)
		to[i] = (unsigned char)v;
	return to + 8;
}

struct dft_extsort *dft_extsort_new(const struct dft_extsort_opts *opts)
{
	struct dft_extsort *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->opts = *opts;
	if (!s->opts.memory)
		s->opts.memory = MEMORY;
	s->fd = -1;
	return s;
}

static void free_runs(struct dft_extsort *s)
{
	for (size_t i = 0; i < s->nruns; i++) {
		free(s->runs[i].buf);
		memset(&s->runs[i], 0, sizeof(s->runs[i]));
	}
	s->nruns = 0;
}

void dft_extsort_free(struct dft_extsort *s)
{
	if (!s)
		return;
	free_runs(s);
	/* The file has no name: nobody misses what close() could not write. */
	if (s->fd >= 0)
		close(s->fd);
	free(s->arena);
	free(s->items);
	free(s);
}

/* ---- the temporary file --------------------------------------------------------------------- */

static int tell(struct dft_extsort *s, const char *what, int err)
{
	const char *dir = getenv("TMPDIR");
	char safe[512];

	if (!s->told)
		dft_error("%s: temporary file for sorting: %s: %s (TMPDIR can name another place)",
			  dft_safe_z(safe, sizeof(safe), dir && *dir ? dir : "/tmp"), what,
			  strerror(err));
	s->told = true;
	return -err;
}

static int open_temp(struct dft_extsort *s)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		/* Not all file systems can do that. */
		if (snprintf(path, sizeof(path), "%s/dftrace-XXXXXX", dir) >= (int)sizeof(path))
			return tell(s, "cannot be made", ENAMETOOLONG);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0)
			return tell(s, "cannot be made", errno);
		if (unlink(path) < 0) {
			int err = errno;

			close(fd);
			return tell(s, "cannot be removed", err);
		}
	}
	return fd;
}

struct writer {
	struct dft_extsort *s;
	int fd;
	uint64_t off;
	char *buf;
	size_t len, cap;
};

static int write_out(struct writer *w)
{
	for (size_t done = 0; done < w->len;) {
		ssize_t n = pwrite(w->fd, w->buf + done, w->len - done, (off_t)w->off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tell(w->s, "cannot be written", n ? errno : ENOSPC);
		done += (size_t)n;
		w->off += (uint64_t)n;
	}
	w->len = 0;
	return 0;
}

static int put(struct writer *w, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		size_t room = w->cap - w->len, part = n < room ? n : room;
		int rc;

		memcpy(w->buf + w->len, from, part);
		w->len += part;
		from += part;
		n -= part;
		rc = w->len == w->cap ? write_out(w) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int put_record(struct writer *w, struct dft_str key, struct dft_str data)
{
	const struct head h = { (uint32_t)key.n, (uint32_t)data.n };
	int rc = put(w, &h, sizeof(h));

	if (!rc)
		rc = put(w, key.s, key.n);
	return rc ? rc : put(w, data.s, data.n);
}

/* ---- in memory ------------------------------------------------------------------------------ */

static int compare_bytes(struct dft_str a, struct dft_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.s, b.s, n) : 0;

	return c ? c : a.n < b.n ? -1 : a.n > b.n;
}

static void record_at(const struct dft_extsort *s, size_t off, struct dft_str *key,
		      struct dft_str *data)
{
	struct head h;

	memcpy(&h, s->arena + off, sizeof(h));
	*key = (struct dft_str){ s->arena + off + sizeof(h), h.key_n };
	*data = (struct dft_str){ key->s + h.key_n, h.data_n };
}

static int compare_items(const void *x, const void *y, void *sorter)
{
	const struct dft_extsort *s = sorter;
	const struct item *a = x, *b = y;
	struct dft_str ka, kb, data;
	int c = a->prefix < b->prefix ? -1 : a->prefix > b->prefix;

	if (!c) {
		record_at(s, a->off, &ka, &data);
		record_at(s, b->off, &kb, &data);
		c = compare_bytes(ka, kb);
	}
	if (c)
		return s->opts.descending ? -c : c;
	return a->off < b->off ? -1 : a->off > b->off;
}

static void sort_items(struct dft_extsort *s)
{
	if (s->n)
		qsort_r(s->items, s->n, sizeof(*s->items), compare_items, s);
}

static int compare_offs(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	return a->off < b->off ? -1 : a->off > b->off;
}

/*
 * Of the records at hand, sorted, only the first `limit` can ever be wanted; the rest make room.
 * They stay in the order in which they were added, which decides between equal keys.
 */
static void drop_surplus(struct dft_extsort *s)
{
	size_t len = 0;

	if (!s->opts.limit || s->n <= s->opts.limit)
		return;
	s->n = s->opts.limit;
	qsort(s->items, s->n, sizeof(*s->items), compare_offs);
	for (size_t i = 0; i < s->n; i++) {
		struct head h;
		size_t size;

		memcpy(&h, s->arena + s->items[i].off, sizeof(h));
		size = sizeof(h) + h.key_n + h.data_n;
		memmove(s->arena + len, s->arena + s->items[i].off, size);
		s->items[i].off = len;
		len += size;
	}
	s->len = len;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int writer_init(struct writer *w, struct dft_extsort *s, int fd, uint64_t off)
{
	*w = (struct writer){ .s = s, .fd = fd, .off = off, .cap = BUF_SZ };
	w->buf = malloc(w->cap);
	return w->buf ? 0 : -ENOMEM;
}

static int refill(struct dft_extsort *s, struct run *r, size_t want)
{
	while (r->len - r->pos < want) {
		size_t room;
		ssize_t n;

		memmove(r->buf, r->buf + r->pos, r->len - r->pos);
		r->len -= r->pos;
		r->pos = 0;
		if (want > r->cap) {
			char *buf = realloc(r->buf, want);

			if (!buf)
				return -ENOMEM;
			r->buf = buf;
			r->cap = want;
		}
		room = r->cap - r->len;
		if (room > r->end - r->off)
			room = (size_t)(r->end - r->off);
		n = room ? pread(s->fd, r->buf + r->len, room, (off_t)r->off) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tell(s, "cannot be read", n ? errno : EIO);
		r->len += (size_t)n;
		r->off += (uint64_t)n;
	}
	return 0;
}

/* The run's next record: 1, 0 at its end, -errno. */
static int run_next(struct dft_extsort *s, struct run *r)
{
	struct head h;
	int rc;

	if (r->pos == r->len && r->off == r->end)
		return 0;
	rc = refill(s, r, sizeof(h));
	if (rc)
		return rc;
	memcpy(&h, r->buf + r->pos, sizeof(h));
	rc = refill(s, r, sizeof(h) + h.key_n + h.data_n);
	if (rc)
		return rc;
	r->key = (struct dft_str){ r->buf + r->pos + sizeof(h), h.key_n };
	r->data = (struct dft_str){ r->key.s + h.key_n, h.data_n };
	r->pos += sizeof(h) + h.key_n + h.data_n;
	return 1;
}

/* Earlier parts have what was added earlier. */
static bool before(const struct dft_extsort *s, size_t a, size_t b)
{
	int c = compare_bytes(s->runs[a].key, s->runs[b].key);

	if (!c)
		return a < b;
	return s->opts.descending ? c > 0 : c < 0;
}

static void sift_down(struct dft_extsort *s, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < s->nheap; c++)
			if (before(s, s->heap[c], s->heap[least]))
				least = c;
		if (least == i)
			return;
		size_t t = s->heap[i];

		s->heap[i] = s->heap[least];
		s->heap[least] = t;
		i = least;
	}
}

static int merge_begin(struct dft_extsort *s)
{
	s->nheap = 0;
	s->advanced = false;
	for (size_t i = 0; i < s->nruns; i++) {
		struct run *r = &s->runs[i];
		int rc;

		r->cap = BUF_SZ;
		r->buf = malloc(r->cap);
		if (!r->buf)
			return -ENOMEM;
		rc = run_next(s, r);
		if (rc < 0)
			return rc;
		if (rc)
			s->heap[s->nheap++] = i;
	}
	for (size_t i = s->nheap; i-- > 0;)
		sift_down(s, i);
	return 0;
}

static int merge_next(struct dft_extsort *s, struct dft_str *key, struct dft_str *data)
{
	if (s->advanced) {
		int rc = run_next(s, &s->runs[s->heap[0]]);

		if (rc < 0)
			return rc;
		if (!rc)
			s->heap[0] = s->heap[--s->nheap];
		sift_down(s, 0);
	}
	s->advanced = s->nheap > 0;
	if (!s->nheap)
		return 0;
	*key = s->runs[s->heap[0]].key;
	*data = s->runs[s->heap[0]].data;
	return 1;
}

/* All parts become one, in a new file, so that the space of the old one is given back. */
static int merge_runs(struct dft_extsort *s)
{
	struct dft_str key, data;
	uint64_t cnt = 0;
	struct writer w;
	int fd = open_temp(s), rc;

	if (fd < 0)
		return fd;
	rc = writer_init(&w, s, fd, 0);
	if (!rc)
		rc = merge_begin(s);
	while (!rc && (!s->opts.limit || cnt < s->opts.limit)) {
		rc = merge_next(s, &key, &data);
		if (rc != 1)
			break;
		rc = put_record(&w, key, data);
		cnt++;
	}
	if (!rc)
		rc = write_out(&w);
	free(w.buf);
	free_runs(s);
	close(s->fd);
	s->fd = fd;
	s->file_len = w.off;
	s->runs[0].end = w.off;
	s->nruns = 1;
	return rc;
}

static int spill(struct dft_extsort *s)
{
	struct dft_str key, data;
	struct writer w;
	int rc = 0;

	if (s->fd < 0) {
		s->fd = open_temp(s);
		if (s->fd < 0)
			return s->fd;
	}
	if (s->nruns == MAX_RUNS)
		rc = merge_runs(s);
	if (!rc)
		rc = writer_init(&w, s, s->fd, s->file_len);
	if (rc)
		return rc;
	sort_items(s);
	for (size_t i = 0; !rc && i < s->n; i++) {
		record_at(s, s->items[i].off, &key, &data);
		rc = put_record(&w, key, data);
	}
	if (!rc)
		rc = write_out(&w);
	free(w.buf);
	s->runs[s->nruns].off = s->file_len;
	s->runs[s->nruns++].end = w.off;
	s->file_len = w.off;
	s->n = s->len = 0;
	return rc;
}

static int make_room(struct dft_extsort *s, size_t size)
{
	size_t used = s->len + s->n * sizeof(*s->items);

	if (used + size + sizeof(*s->items) <= s->opts.memory || !s->n)
		return 0;
	if (s->opts.limit && s->n > s->opts.limit) {
		sort_items(s);
		drop_surplus(s);
		used = s->len + s->n * sizeof(*s->items);
		/* Else it would be done again for each of the next few. */
		if (used + size <= s->opts.memory / 2)
			return 0;
	}
	return spill(s);
}

static int grow(void **p, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap ? *cap : 4096;
	void *q;

	if (want <= *cap)
		return 0;
	while (n < want)
		n *= 2;
	q = realloc(*p, n * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = n;
	return 0;
}

int dft_extsort_add(struct dft_extsort *s, struct dft_str key, const void *head, size_t head_n,
		    struct dft_str data)
{
	size_t size = sizeof(struct head) + key.n + head_n + data.n;
	unsigned char prefix[8] = { 0 };
	struct item *item;
	struct head h;
	char *to;
	int rc;

	if (key.n > UINT32_MAX / 2 || head_n + data.n > UINT32_MAX / 2)
		return -EFBIG;
	rc = make_room(s, size);
	if (!rc)
		rc = grow((void **)&s->arena, &s->cap, s->len + size, 1);
	if (!rc)
		rc = grow((void **)&s->items, &s->items_cap, s->n + 1, sizeof(*s->items));
	if (rc)
		return rc;
	h = (struct head){ (uint32_t)key.n, (uint32_t)(head_n + data.n) };
	to = s->arena + s->len;
	memcpy(to, &h, sizeof(h));
	to += sizeof(h);
	if (key.n)
		memcpy(to, key.s, key.n);
	if (head_n)
		memcpy(to + key.n, head, head_n);
	if (data.n)
		memcpy(to + key.n + head_n, data.s, data.n);
	memcpy(prefix, to, key.n < 8 ? key.n : 8);
	item = &s->items[s->n++];
	item->off = s->len;
	item->prefix = 0;
	for (int i = 0; i < 8; i++)
		item->prefix = item->prefix << 8 | prefix[i];
	s->len += size;
	return 0;
}

int dft_extsort_finish(struct dft_extsort *s)
{
	int rc = 0;

	if (s->fd < 0) {
		sort_items(s);
		return 0;
	}
	if (s->n)
		rc = spill(s);
	free(s->arena);
	free(s->items);
	s->arena = NULL;
	s->items = NULL;
	return rc ? rc : merge_begin(s);
}

int dft_extsort_next(struct dft_extsort *s, struct dft_str *key, struct dft_str *data)
{
	int rc = 1;

	if (s->opts.limit && s->given >= s->opts.limit)
		return 0;
	if (s->fd >= 0)
		rc = merge_next(s, key, data);
	else if (s->next < s->n)
		record_at(s, s->items[s->next++].off, key, data);
	else
		return 0;
	s->given += rc == 1;
	return rc;
}
