// SPDX-License-Identifier: MIT
/*
 * The JSON reader, the record reader and the summary on any bytes, with what must hold of an accepted text.
 */
#include <stdlib.h>
#include <string.h>

#include "jsonr.h"
#include "record.h"
#include "replay.h"
#include "summary.h"

static void must(int cond)
{
	if (!cond)
		abort();
}

static void check_string(struct dft_jsonr *j, const struct dft_jsonr_node *n)
{
	struct dft_str s = dft_jsonr_str(j, n);

	must(s.n <= n->len);
	for (size_t i = 0, len; i < s.n; i += len) {
		len = dft_utf8_len(s.s + i, s.n - i);
		must(len > 0);
	}
}

/* Nodes lie within the text and are well nested. */
static void check_nodes(struct dft_jsonr *j, size_t size)
{
	must(j->node_cnt > 0 && j->nodes[0].next == j->node_cnt);
	for (uint32_t i = 0; i < j->node_cnt; i++) {
		const struct dft_jsonr_node *n = &j->nodes[i], *v;
		uint32_t last = i;

		must((size_t)n->off + n->len <= size);
		must(n->next > i && n->next <= j->node_cnt);
		if (n->type == DFT_JSONR_STRING)
			check_string(j, n);
		if (n->type < DFT_JSONR_ARRAY) {
			must(n->next == i + 1);
			continue;
		}
		for (v = dft_jsonr_first(j, n); v; v = dft_jsonr_next(j, n, v)) {
			must(v > j->nodes + last && v < j->nodes + n->next);
			must(v->off >= n->off && v->off + v->len <= n->off + n->len);
			last = (uint32_t)(v - j->nodes);
		}
	}
}

/* The raw text of an accepted value is itself accepted. */
static void check_raw(const struct dft_jsonr *j)
{
	struct dft_jsonr other = { 0 };

	for (uint32_t i = 0; i < j->node_cnt && i < 64; i++) {
		struct dft_str raw = dft_jsonr_raw(j, &j->nodes[i]);

		if (j->nodes[i].type == DFT_JSONR_STRING)
			continue;
		must(dft_jsonr_parse(&other, raw.s, raw.n) == 0);
		must(other.nodes[0].type == j->nodes[i].type);
	}
	dft_jsonr_free(&other);
}

/* The text as any kind of line; of an event that is one of the tracer or of a program. */
static void sum_up(const struct dft_record *r, struct dft_jsonr *j)
{
	struct dft_job job = { .slow_max = 2 };
	struct dft_record as = *r;

	dft_job_begin_file(&job, 0);
	for (int ph = DFT_PH_COMPLETE; ph <= DFT_PH_METADATA; ph++) {
		as.ph = (enum dft_ph)ph;
		as.type = DFT_BY_TRACER;
		must(dft_job_record(&job, &as, j) == 0);
		as.type = DFT_BY_C;
		must(dft_job_record(&job, &as, j) == 0);
	}
	dft_job_end_file(&job);
	must(dft_job_sort(&job) == 0);
	must(job.records == 8);
	dft_job_free(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dft_jsonr j; /* kept, as it is between lines */
	const char *text = (const char *)data;
	struct dft_record r;
	struct dft_str key;

	if (dft_jsonr_parse(&j, text, size) == 0) {
		check_nodes(&j, size);
		check_raw(&j);
		must(dft_jsonr_find_dup(&j, &key) >= 0);
	} else {
		must(j.err && j.err_off <= size);
	}
	if (dft_record_parse(&r, &j, text, size) == 1) {
		struct dft_bytes buf = { 0 };

		must(!(r.has & r.wrong));
		if (r.args)
			must(dft_original_name(&j, r.args, &buf, &key) >= 0);
		free(buf.buf);
		sum_up(&r, &j);
	}
	return 0;
}
