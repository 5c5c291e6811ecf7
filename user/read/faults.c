// SPDX-License-Identifier: MIT
#include "faults.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "jsonr.h"

void dft_faults_clear(struct dft_faults *f)
{
	f->kept = 0;
	f->total = 0;
}

void dft_faults_take(struct dft_faults *f, const struct dft_fault *fault)
{
	f->total++;
	if (f->kept == DFT_FAULTS_KEPT)
		return;
	snprintf(f->text[f->kept], DFT_FAULT_SZ, "%s", fault->what);
	f->v[f->kept] = *fault;
	f->v[f->kept].what = f->text[f->kept];
	f->kept++;
}

void dft_faults_add(struct dft_faults *f, uint64_t line, const char *fmt, ...)
{
	struct dft_fault fault = { .line = line };
	char what[DFT_FAULT_SZ];
	va_list ap;

	/* Formatting is not free, and a bad file can have millions of faults. */
	if (f->kept < DFT_FAULTS_KEPT) {
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
