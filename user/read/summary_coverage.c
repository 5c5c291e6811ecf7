// SPDX-License-Identifier: MIT
/* What a trace does not tell: calls that are not in it, and what events leave open. */
#include <string.h>

#include "summary_parts.h"

/* Groups of job->doubts. */
#define UNRESOLVED "unresolved"
#define REPLACED   "replaced"
#define UNFINISHED "unfinished"
#define UNSEEN	   "unseen"
#define INCOMPLETE "incomplete"

static void doubt(struct dft_job *job, const char *group, struct dft_str name)
{
	struct dft_str g = { group, strlen(group) };

	dft_job_count(job, &job->doubts, g, name, 1);
}

static void doubt_name(struct dft_job *job, const struct dft_jsonr_node *why)
{
	if (why && why->type == DFT_JSONR_STRING)
		doubt(job, UNRESOLVED, dft_jsonr_str(job->json, why));
}

void dft_coverage_event(struct dft_job *job, const struct dft_record *r, const struct dft_facts *f)
{
	doubt_name(job, f->unresolved);
	doubt_name(job, f->unresolved2);
	if (f->replaced)
		doubt(job, REPLACED, r->name);
	if (f->unfinished)
		doubt(job, UNFINISHED, r->name);
	if (f->unseen)
		doubt(job, UNSEEN, r->name);
}

void dft_coverage_incomplete(struct dft_job *job, struct dft_str what)
{
	doubt(job, INCOMPLETE, what);
}

static uint64_t doubts_of(const struct dft_job *job, const char *group)
{
	const struct dft_count *c = job->doubts.v;
	uint64_t n = 0;

	for (size_t i = 0; i < job->doubts.n; i++) {
		struct dft_str g = dft_strings_at(&job->strings, c[i].group);

		if (dft_str_eq(g, group, strlen(group)))
			dft_add_sat(&n, c[i].n);
	}
	return n;
}

uint64_t dft_files_unknown(const struct dft_job *job)
{
	const struct dft_file *file = job->files.v;
	uint64_t n = 0;

	for (size_t i = 0; i < job->files.n; i++) {
		const char *state = dft_mapped_state(job, &file[i]);

		n += state && !strcmp(state, "unknown");
	}
	return n;
}

size_t dft_coverage(const struct dft_job *job, struct dft_coverage lines[DFT_COVERAGE_MAX])
{
	const struct dft_annot_sums *a = &job->annots;
	const struct dft_coverage all[] = {
		{ "lost", "call or record lost", "calls and records lost", job->lost_cnt, NULL },
		{ "shed", "call in sums only, for it came too fast",
		  "calls in sums only, for they came too fast", job->shed_cnt, NULL },
		{ "not_decoded", "call not decoded", "calls not decoded", job->missed_cnt, NULL },
		{ "filtered", "call left out, by the kind of its file or as was asked for",
		  "calls left out, by the kind of their file or as was asked for", job->filtered_cnt, NULL },
		{ "mapped_unknown", "mapped file of which it is not known what was read or written",
		  "mapped files of which it is not known what was read or written",
		  dft_files_unknown(job), NULL },
		{ "incomplete", "process of which something cannot be seen",
		  "processes of which something cannot be seen", 0, INCOMPLETE },
		{ "unresolved", "name that could not be found out", "names that could not be found out", 0,
		  UNRESOLVED },
		{ "replaced", "event that may have been on another file",
		  "events that may have been on another file", 0, REPLACED },
		{ "unfinished", "call that had not ended", "calls that had not ended", 0, UNFINISHED },
		{ "unseen", "request whose result nobody saw", "requests whose results nobody saw", 0, UNSEEN },
		{ "annotation_gaps", "time in which annotations may be missing",
		  "times in which annotations may be missing", a->gap_cnt, NULL },
		{ "annotation_files", "file whose annotations are missing",
		  "files whose annotations are missing", a->unarmed.n, NULL },
	};
	size_t n = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= DFT_COVERAGE_MAX, "room for all");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		lines[n] = all[i];
		if (all[i].group)
			lines[n].n = doubts_of(job, all[i].group);
		n += lines[n].n != 0;
	}
	return n;
}
