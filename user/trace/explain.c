// SPDX-License-Identifier: MIT
#include "explain.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

/* The kernel's own "not supported", which it lets out to user space although no errno.h has it. */
#define KERNEL_ENOTSUPP 524

/* The first kernel the programs are written for. */
#define FLOOR_MAJOR 5
#define FLOOR_MINOR 14

enum dft_lockdown dft_lockdown_parse(const char *text)
{
	static const enum dft_lockdown all[] = { DFT_LOCKDOWN_NONE, DFT_LOCKDOWN_INTEGRITY,
						 DFT_LOCKDOWN_CONFIDENTIALITY };
	const char *open = text ? strchr(text, '[') : NULL;

	if (!open)
		return DFT_LOCKDOWN_UNKNOWN;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *name = dft_lockdown_name(all[i]);
		size_t n = strlen(name);

		if (strncmp(open + 1, name, n) == 0 && open[1 + n] == ']')
			return all[i];
	}
	return DFT_LOCKDOWN_UNKNOWN;
}

const char *dft_lockdown_name(enum dft_lockdown lockdown)
{
	switch (lockdown) {
	case DFT_LOCKDOWN_NONE:
		return "none";
	case DFT_LOCKDOWN_INTEGRITY:
		return "integrity";
	case DFT_LOCKDOWN_CONFIDENTIALITY:
		return "confidentiality";
	case DFT_LOCKDOWN_UNKNOWN:
		break;
	}
	return "unknown";
}

bool dft_facts_capable(const struct dft_facts *facts, int cap)
{
	uint64_t either = (UINT64_C(1) << cap) | (UINT64_C(1) << CAP_SYS_ADMIN);

	return (facts->caps & either) != 0;
}

/* The capabilities that are missing, in words, or NULL. */
static const char *missing_caps(const struct dft_facts *facts)
{
	bool bpf = dft_facts_capable(facts, CAP_BPF);
	bool perfmon = dft_facts_capable(facts, CAP_PERFMON);

	if (bpf && perfmon)
		return NULL;
	if (bpf)
		return "CAP_PERFMON is missing";
	return perfmon ? "CAP_BPF is missing" : "CAP_BPF and CAP_PERFMON are missing";
}

static bool explain_caps(const struct dft_facts *facts, const char *what, char *text, size_t size)
{
	const char *missing = missing_caps(facts);

	if (facts->userns) {
		snprintf(text, size,
			 "%s: not permitted in a user namespace, where even root has no power over "
			 "the kernel (run it outside, as root of the host)",
			 what);
		return true;
	}
	if (!missing)
		return false;
	if (facts->root)
		snprintf(text, size,
			 "%s: not permitted: root without its capabilities, %s (start the "
			 "container or service with CAP_BPF and CAP_PERFMON, or run it on the host)",
			 what, missing);
	else
		snprintf(text, size, "%s: not permitted: %s (run it as root: sudo dftrace-bpf ...)",
			 what, missing);
	return true;
}

static void explain_lockdown(const char *what, char *text, size_t size)
{
	snprintf(text, size,
		 "%s: kernel lockdown is 'confidentiality', which forbids BPF to read kernel "
		 "memory (boot with lockdown=integrity or without Secure Boot)",
		 what);
}

/* True for a kernel known to be older than the floor. Only for words: detection is by trying. */
static bool kernel_is_old(const struct dft_facts *facts)
{
	unsigned int major, minor;

	if (sscanf(facts->release, "%u.%u", &major, &minor) != 2)
		return false;
	return major < FLOOR_MAJOR || (major == FLOOR_MAJOR && minor < FLOOR_MINOR);
}

static void explain_btf(const struct dft_facts *facts, const char *what, char *text, size_t size)
{
	if (kernel_is_old(facts))
		snprintf(text, size,
			 "%s: kernel %s is too old and has no type information (%d.%d or later "
			 "with CONFIG_DEBUG_INFO_BTF=y is needed)",
			 what, facts->release, FLOOR_MAJOR, FLOOR_MINOR);
	else
		snprintf(text, size,
			 "%s: no kernel type information: /sys/kernel/btf/vmlinux is not readable "
			 "(mount /sys, or use a kernel with CONFIG_DEBUG_INFO_BTF=y)",
			 what);
}

int dft_explain_preflight(const struct dft_facts *facts, char *text, size_t size)
{
	const char *what = "cannot trace";

	if (explain_caps(facts, what, text, size))
		return -EPERM;
	if (facts->pidns) {
		snprintf(text, size,
			 "%s: this is a pid namespace of its own, and the kernel knows processes by other numbers "
			 "than are seen here (run it on the host, or in a container that has the host's pids)",
			 what);
		return -EPERM;
	}
	if (!facts->btf) {
		explain_btf(facts, what, text, size);
		return -ENOENT;
	}
	if (facts->lockdown == DFT_LOCKDOWN_CONFIDENTIALITY) {
		explain_lockdown(what, text, size);
		return -EPERM;
	}
	return 0;
}

/* Refusals for want of permission. False when `e` is none, or the facts do not explain it. */
static bool explain_refusal(const struct dft_facts *facts, const char *what, int e, char *text,
			    size_t size)
{
	/* With EINVAL the kernel says that a helper is not to be had, lockdown being one cause. */
	bool locked = facts->lockdown == DFT_LOCKDOWN_CONFIDENTIALITY;

	if (e != EPERM && e != EACCES && !(e == EINVAL && locked))
		return false;
	if (explain_caps(facts, what, text, size))
		return true;
	if (locked) {
		explain_lockdown(what, text, size);
		return true;
	}
	if (e == EPERM) {
		snprintf(text, size,
			 "%s: refused by the kernel although the capabilities are there: a "
			 "security module, a seccomp filter or the kernel's configuration forbids "
			 "it (dftrace-bpf --info tells what is allowed)",
			 what);
		return true;
	}
	if (facts->perf_paranoid > 2) {
		snprintf(text, size,
			 "%s: refused by the kernel, kernel.perf_event_paranoid is %d "
			 "(sysctl kernel.perf_event_paranoid=2)",
			 what, facts->perf_paranoid);
		return true;
	}
	return false;
}

/* What the kernel does not have. */
static bool explain_absence(const struct dft_facts *facts, const char *what, int e, char *text,
			    size_t size)
{
	switch (e) {
	case ENOENT:
	case ESRCH:
	case EINVAL:
	case E2BIG:
	case EOPNOTSUPP:
	case KERNEL_ENOTSUPP:
		break;
	case ENOSYS:
		snprintf(text, size,
			 "%s: the bpf system call is not there (a kernel with CONFIG_BPF_SYSCALL=y "
			 "is needed, and no seccomp filter that hides it)",
			 what);
		return true;
	default:
		return false;
	}
	if (!facts->btf)
		explain_btf(facts, what, text, size);
	else if (kernel_is_old(facts))
		snprintf(text, size, "%s: kernel %s is too old (%d.%d or later is needed)", what,
			 facts->release, FLOOR_MAJOR, FLOOR_MINOR);
	else
		snprintf(text, size,
			 "%s: kernel %s does not have what this needs (dftrace-bpf --info tells "
			 "what it has)",
			 what, facts->release);
	return true;
}

void dft_explain_failure(const struct dft_facts *facts, const char *what, int err, char *text,
			 size_t size)
{
	int e = err < 0 ? -err : err;

	if (explain_refusal(facts, what, e, text, size) ||
	    explain_absence(facts, what, e, text, size))
		return;
	switch (e) {
	case EACCES:
		snprintf(text, size,
			 "%s: the verifier of kernel %s refused the program (-v shows what it "
			 "said; please report it)",
			 what, facts->release);
		break;
	case ENOMEM:
		snprintf(text, size, "%s: not enough memory (a smaller --ring needs less)", what);
		break;
	case EMFILE:
	case ENFILE:
		snprintf(text, size, "%s: too many open files (raise ulimit -n)", what);
		break;
	default:
		snprintf(text, size, "%s: %s (dftrace-bpf --info tells what this kernel allows)",
			 what, strerror(e));
	}
}
