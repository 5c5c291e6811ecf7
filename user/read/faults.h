/* SPDX-License-Identifier: MIT */
/* What was found wrong with one file: the first few in full, the rest as a number. */
#ifndef DFT_FAULTS_H
#define DFT_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "source.h"

#define DFT_FAULTS_KEPT 20
#define DFT_FAULT_SZ 512

struct dft_faults {
	struct dft_fault v[DFT_FAULTS_KEPT]; /* `what` points into text */
	char text[DFT_FAULTS_KEPT][DFT_FAULT_SZ];
	size_t kept;
	uint64_t total;
};

void dft_faults_clear(struct dft_faults *f);
void dft_faults_take(struct dft_faults *f, const struct dft_fault *fault);
/* A fault of a line; 0 for one of the file as a whole. */
void dft_faults_add(struct dft_faults *f, uint64_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "member 3 at byte 4711: what", "line 12: what" or "what", into buf. Returns buf. */
char *dft_fault_text(char *buf, size_t cap, const struct dft_fault *fault);

/* The fault of a line that dft_record_parse() refused. */
struct dft_jsonr;
void dft_faults_add_json(struct dft_faults *f, uint64_t line, const struct dft_jsonr *j);

#endif
