// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "explain.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(n) (UINT64_C(1) << (n))
#define ENOUGH (BIT(CAP_BPF) | BIT(CAP_PERFMON))
#define KERNEL_ENOTSUPP 524

static void test_lockdown_parse(void **state)
{
	static const struct {
		const char *text;
		enum dft_lockdown want;
	} cases[] = {
		{ "[none] integrity confidentiality\n", DFT_LOCKDOWN_NONE },
		{ "none [integrity] confidentiality\n", DFT_LOCKDOWN_INTEGRITY },
		{ "none integrity [confidentiality]\n", DFT_LOCKDOWN_CONFIDENTIALITY },
		{ "none integrity [confidentiality]", DFT_LOCKDOWN_CONFIDENTIALITY },
		/* not understood is not the same as none */
		{ "none integrity confidentiality\n", DFT_LOCKDOWN_UNKNOWN },
		{ "none [integrity", DFT_LOCKDOWN_UNKNOWN },
		{ "[integrityx]", DFT_LOCKDOWN_UNKNOWN },
		{ "[inte]", DFT_LOCKDOWN_UNKNOWN },
		{ "[]", DFT_LOCKDOWN_UNKNOWN },
		{ "[", DFT_LOCKDOWN_UNKNOWN },
		{ "", DFT_LOCKDOWN_UNKNOWN },
		{ NULL, DFT_LOCKDOWN_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (dft_lockdown_parse(cases[i].text) != cases[i].want)
			fail_msg("'%s' is not taken for %s", cases[i].text,
				 dft_lockdown_name(cases[i].want));
}

static const struct dft_facts good = {
	.root = true,
	.caps = ~UINT64_C(0),
	.btf = true,
	.lockdown = DFT_LOCKDOWN_NONE,
	.perf_paranoid = 2,
	.release = "6.1.0-18-amd64",
};

static void test_capable(void **state)
{
	struct dft_facts facts = { .caps = BIT(CAP_BPF) };

	(void)state;
	assert_true(dft_facts_capable(&facts, CAP_BPF));
	assert_false(dft_facts_capable(&facts, CAP_PERFMON));
	facts.caps = BIT(CAP_SYS_ADMIN);
	assert_true(dft_facts_capable(&facts, CAP_BPF));
	assert_true(dft_facts_capable(&facts, CAP_PERFMON));
}

/* Every line has to name the cause and the remedy, and be one line. */
static void check_line(const char *what, const char *line, const char *cause, const char *remedy)
{
	if (!strstr(line, cause) || !strstr(line, remedy) || strchr(line, '\n'))
		fail_msg("%s: '%s' lacks '%s' or '%s'", what, line, cause, remedy);
	if (line[strlen(line) - 1] != ')')
		fail_msg("%s: '%s' does not end in what to do", what, line);
}

static void check_preflight(const char *what, const struct dft_facts *facts, int err,
			    const char *cause, const char *remedy)
{
	char line[512] = "untouched";
	int got = dft_explain_preflight(facts, line, sizeof(line));

	if (got != err)
		fail_msg("%s: %d instead of %d", what, got, err);
	if (err)
		check_line(what, line, cause, remedy);
	else
		assert_string_equal(line, "untouched");
}

static void test_preflight(void **state)
{
	struct dft_facts f;

	(void)state;
	check_preflight("all there", &good, 0, NULL, NULL);

	f = good, f.root = false, f.caps = ENOUGH;
	check_preflight("no root, the two", &f, 0, NULL, NULL);
	f.caps = BIT(CAP_SYS_ADMIN);
	check_preflight("no root, sys_admin", &f, 0, NULL, NULL);
	f.caps = 0;
	check_preflight("nothing", &f, -EPERM, "CAP_BPF and CAP_PERFMON are missing", "sudo");
	f.caps = BIT(CAP_BPF);
	check_preflight("bpf only", &f, -EPERM, ": CAP_PERFMON is missing", "sudo");
	f.caps = BIT(CAP_PERFMON);
	check_preflight("perfmon only", &f, -EPERM, ": CAP_BPF is missing", "sudo");
	f.root = true;
	check_preflight("clipped root", &f, -EPERM, "CAP_BPF is missing", "container");

	f = good, f.userns = true;
	check_preflight("user namespace", &f, -EPERM, "user namespace", "host");

	f = good, f.pidns = true;
	check_preflight("pid namespace", &f, -EPERM, "pid namespace", "host");

	f = good, f.btf = false;
	check_preflight("no btf", &f, -ENOENT, "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF");
	strcpy(f.release, "4.18.0-553.el8.x86_64");
	check_preflight("old, no btf", &f, -ENOENT, "4.18.0-553.el8.x86_64 is too old", "5.14");

	f = good, f.lockdown = DFT_LOCKDOWN_CONFIDENTIALITY;
	check_preflight("confidentiality", &f, -EPERM, "confidentiality", "lockdown=integrity");
	f.lockdown = DFT_LOCKDOWN_INTEGRITY;
	check_preflight("integrity", &f, 0, NULL, NULL);
	f.lockdown = DFT_LOCKDOWN_UNKNOWN;
	check_preflight("unknown", &f, 0, NULL, NULL);

	/* privileges come first: without them the rest cannot be known */
	f = good, f.caps = 0, f.root = false, f.btf = false;
	check_preflight("no caps, no btf", &f, -EPERM, "CAP_BPF", "sudo");
}

static void check_failure(const struct dft_facts *facts, int err, const char *cause,
			  const char *remedy)
{
	char line[512];

	dft_explain_failure(facts, "loading io_enter", err, line, sizeof(line));
	if (strncmp(line, "loading io_enter: ", 18) != 0)
		fail_msg("'%s' does not begin with what failed", line);
	check_line(strerror(-err), line, cause, remedy);
}

static void test_failure(void **state)
{
	struct dft_facts f;

	(void)state;
	check_failure(&good, -EPERM, "although the capabilities are there", "--info");
	check_failure(&good, -EACCES, "verifier of kernel 6.1.0-18-amd64", "-v");
	check_failure(&good, -EINVAL, "6.1.0-18-amd64 does not have", "--info");
	check_failure(&good, -ESRCH, "does not have", "--info");
	check_failure(&good, -KERNEL_ENOTSUPP, "does not have", "--info");
	check_failure(&good, -ENOSYS, "bpf system call", "CONFIG_BPF_SYSCALL");
	check_failure(&good, -ENOMEM, "not enough memory", "--ring");
	check_failure(&good, -EMFILE, "too many open files", "ulimit -n");
	check_failure(&good, -EIO, "Input/output error", "--info");
	/* the sign does not matter to the reader */
	check_failure(&good, ENOMEM, "not enough memory", "--ring");

	f = good, f.perf_paranoid = 3;
	check_failure(&f, -EACCES, "perf_event_paranoid is 3", "sysctl");
	f.perf_paranoid = DFT_FACT_UNKNOWN;
	check_failure(&f, -EACCES, "verifier", "-v");

	f = good, f.caps = 0, f.root = false;
	check_failure(&f, -EPERM, "CAP_BPF and CAP_PERFMON are missing", "sudo");
	check_failure(&f, -EACCES, "CAP_BPF and CAP_PERFMON are missing", "sudo");

	f = good, f.lockdown = DFT_LOCKDOWN_CONFIDENTIALITY;
	check_failure(&f, -EPERM, "confidentiality", "lockdown=integrity");
	check_failure(&f, -EINVAL, "confidentiality", "lockdown=integrity");
	check_failure(&f, -ENOMEM, "not enough memory", "--ring");

	f = good, f.btf = false;
	check_failure(&f, -ESRCH, "no kernel type information", "CONFIG_DEBUG_INFO_BTF");

	f = good, strcpy(f.release, "5.10.0-28-amd64");
	check_failure(&f, -EINVAL, "5.10.0-28-amd64 is too old", "5.14");
	strcpy(f.release, "5.14.0-70.el9");
	check_failure(&f, -EINVAL, "does not have", "--info");
	strcpy(f.release, "strange");
	check_failure(&f, -EINVAL, "does not have", "--info");
}

/* A short buffer is filled and ended, never overrun. */
static void test_short_buffer(void **state)
{
	char line[8];

	(void)state;
	dft_explain_failure(&good, "loading", -EPERM, line, sizeof(line));
	assert_string_equal(line, "loading");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lockdown_parse), cmocka_unit_test(test_capable),
		cmocka_unit_test(test_preflight),      cmocka_unit_test(test_failure),
		cmocka_unit_test(test_short_buffer),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
