// SPDX-License-Identifier: MIT
#include "faults.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jsonr.h"

void dft_faults_clear(struct dft_faults *f)
{
	f->kept = 0;
	f->total = 0;
}

/*
 * What is wrong with a member stands before the lines, of which it may have spoilt more than are kept; so
 * does what is wrong with the file, when they leave no room.
 */
static size_t place_for(const struct dft_faults *f, const struct dft_fault *fault)
{
	size_t lines = f->kept;

	if (fault->line || (!fault->member && f->kept < DFT_FAULTS_KEPT))
		return f->kept;
	while (lines && f->v[lines - 1].line)
		lines--;
	return lines;
}

void dft_faults_take(struct dft_faults *f, const struct dft_fault *fault)
{
	size_t at = place_for(f, fault), last;

	f->total++;
	if (at == DFT_FAULTS_KEPT)
		return;
	if (f->kept < DFT_FAULTS_KEPT)
		f->kept++;
	last = f->kept - 1;
	memmove(&f->v[at + 1], &f->v[at], (last - at) * sizeof(f->v[0]));
	memmove(&f->text[at + 1], &f->text[at], (last - at) * sizeof(f->text[0]));
	f->v[at] = *fault;
	snprintf(f->text[at], DFT_FAULT_SZ, "%s", fault->what);
	for (size_t i = at; i < f->kept; i++)
		f->v[i].what = f->text[i];
}

void dft_faults_add(struct dft_faults *f, uint64_t line, const char *fmt, ...)
{
	struct dft_fault fault = { .line = line };
	char what[DFT_FAULT_SZ];
	va_list ap;

	/* Formatting is not free, and a bad file can have millions of faults. */
	if (f->kept < DFT_FAULTS_KEPT || !line) {
		va_start(ap, fmt);
		vsnprintf(what, sizeof(what), fmt, ap);
		va_end(ap);
		fault.what = what;
	}
	dft_faults_take(f, &fault);
}

char *dft_fault_text(char *buf, size_t cap, const struct dft_fault *fault)
{
	if (fault->member)
		snprintf(buf, cap, "member %" PRIu64 " at byte %" PRIu64 ": %s", fault->member,
			 fault->byte, fault->what);
	else if (fault->line)
		snprintf(buf, cap, "line %" PRIu64 ": %s", fault->line, fault->what);
	else
		snprintf(buf, cap, "%s", fault->what);
	return buf;
}

void dft_faults_add_json(struct dft_faults *f, uint64_t line, const struct dft_jsonr *j)
{
	dft_faults_add(f, line, "not a JSON record: %s, at byte %zu of the line", j->err,
		       j->err_off + 1);
}
