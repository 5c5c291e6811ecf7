// SPDX-License-Identifier: MIT
#include "nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A begin is rounded down and a duration to the nearest: ends are off by less than that. */
#define SLACK_NS  1000
#define MAX_DEPTH 512

struct open_span {
	struct dft_span span;
	uint64_t end_ns; /* before it was trimmed: that is done within the slack, once */
	char *text;
	size_t n;
};

struct nest {
	struct open_span open[MAX_DEPTH]; /* each within the one before */
	size_t depth;
	struct dft_extsort *out; /* what is known to nest, with its final length */
	dft_span_fn fn;
	void *ctx;
};

int dft_nest_add(struct dft_extsort *sort, const struct dft_span *span, struct dft_str text)
{
	unsigned char key[32], *to = key;

	to = dft_key_u64(to, span->pid);
	to = dft_key_u64(to, span->tid);
	to = dft_key_u64(to, span->ts_ns);
	dft_key_u64(to, ~span->dur_ns);
	return dft_extsort_add(sort, (struct dft_str){ (char *)key, sizeof(key) }, span,
			       sizeof(*span), text);
}

static uint64_t end_of(const struct dft_span *s)
{
	uint64_t end;

	return __builtin_add_overflow(s->ts_ns, s->dur_ns, &end) ? UINT64_MAX : end;
}

static int pop(struct nest *n)
{
	struct open_span *o = &n->open[--n->depth];
	int rc = dft_nest_add(n->out, &o->span, (struct dft_str){ o->text, o->n });

	free(o->text);
	o->text = NULL;
	return rc;
}

static bool same_thread(const struct dft_span *a, const struct dft_span *b)
{
	return a->pid == b->pid && a->tid == b->tid;
}

/* The spans that are over when this one begins, or would be if times were exact. */
static int close_before(struct nest *n, const struct dft_span *s)
{
	int rc = 0;

	while (!rc && n->depth) {
		struct open_span *o = &n->open[n->depth - 1];
		struct dft_span *top = &o->span;

		if (same_thread(top, s)) {
			uint64_t end = end_of(top);

			if (end > s->ts_ns && (end_of(s) <= end || o->end_ns - s->ts_ns > SLACK_NS))
				break;
			if (end > s->ts_ns)
				top->dur_ns = s->ts_ns - top->ts_ns;
		}
		rc = pop(n);
	}
	return rc;
}

static int take(struct nest *n, struct dft_span *s, struct dft_str text)
{
	uint64_t end, own_end = end_of(s);
	struct open_span *o;
	int rc = close_before(n, s);

	if (rc)
		return rc;
	if (n->depth) {
		end = end_of(&n->open[n->depth - 1].span);
		if (end_of(s) > end && end_of(s) - end <= SLACK_NS)
			s->dur_ns = end - s->ts_ns;
		if (end_of(s) > end || n->depth == MAX_DEPTH)
			return n->fn(n->ctx, s, false, text);
	}
	o = &n->open[n->depth];
	o->text = malloc(text.n + 1);
	if (!o->text)
		return -ENOMEM;
	memcpy(o->text, text.s, text.n);
	o->n = text.n;
	o->span = *s;
	o->end_ns = own_end;
	n->depth++;
	return 0;
}

static void split(struct dft_str data, struct dft_span *s, struct dft_str *text)
{
	memcpy(s, data.s, sizeof(*s));
	*text = (struct dft_str){ data.s + sizeof(*s), data.n - sizeof(*s) };
}

int dft_nest_run(struct dft_extsort *sort, dft_span_fn fn, void *ctx)
{
	struct nest *n = calloc(1, sizeof(*n));
	const struct dft_extsort_opts opts = { 0 };
	struct dft_str key, data, text;
	struct dft_span s;
	int rc;

	if (!n)
		return -ENOMEM;
	n->fn = fn;
	n->ctx = ctx;
	n->out = dft_extsort_new(&opts);
	rc = n->out ? dft_extsort_finish(sort) : -ENOMEM;
	while (!rc && (rc = dft_extsort_next(sort, &key, &data)) == 1) {
		split(data, &s, &text);
		rc = take(n, &s, text);
	}
	while (!rc && n->depth)
		rc = pop(n);
	if (!rc)
		rc = dft_extsort_finish(n->out);
	while (!rc && (rc = dft_extsort_next(n->out, &key, &data)) == 1) {
		split(data, &s, &text);
		rc = fn(ctx, &s, true, text);
	}
	while (n->depth)
		free(n->open[--n->depth].text);
	dft_extsort_free(n->out);
	free(n);
	return rc;
}
