/* SPDX-License-Identifier: MIT */
/*
 * The words for why tracing is not possible, chosen from facts that somebody else gathered. Pure.
 */
#ifndef DFT_EXPLAIN_H
#define DFT_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dft_lockdown {
	DFT_LOCKDOWN_UNKNOWN = 0, /* the file is not there: not the same as none */
	DFT_LOCKDOWN_NONE = 1,
	DFT_LOCKDOWN_INTEGRITY = 2,
	DFT_LOCKDOWN_CONFIDENTIALITY = 3,
};

struct dft_facts {
	bool root;   /* effective uid 0 */
	bool userns; /* in a user namespace other than the first */
	bool pidns;  /* the same of the pid namespace */
	uint64_t caps; /* effective, bit by number */
	bool btf;    /* /sys/kernel/btf/vmlinux is readable */
	enum dft_lockdown lockdown;
	int perf_paranoid; /* kernel.perf_event_paranoid, DFT_FACT_UNKNOWN if not readable */
	char release[65];  /* of the kernel, as uname(2) gives it */
};

#define DFT_FACT_UNKNOWN (-1000)

/* The text of /sys/kernel/security/lockdown, "none [integrity] confidentiality". */
enum dft_lockdown dft_lockdown_parse(const char *text);
const char *dft_lockdown_name(enum dft_lockdown lockdown);

/* CAP_SYS_ADMIN stands in for the finer ones, as in the kernel. */
bool dft_facts_capable(const struct dft_facts *facts, int cap);

/* What certainly stands in the way: 0, or -errno with one line in `text`. */
int dft_explain_preflight(const struct dft_facts *facts, char *text, size_t size);

/* The line for `what` that failed with `err` (a negative errno). */
void dft_explain_failure(const struct dft_facts *facts, const char *what, int err, char *text,
			 size_t size);

#endif
