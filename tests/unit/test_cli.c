// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND UINT64_C(1000000000)
#define MAX_WORDS 16

struct parsed {
	struct dft_config cfg;
	int result;
	char *argv[MAX_WORDS + 1];
	int argc;
	char message[1024]; /* what was said on stderr */
};

/* Runs the parser on argv with stderr put into p->message. */
static void run_parser(struct parsed *p)
{
	int saved = dup(STDERR_FILENO), fd = memfd_create("stderr", 0);
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	p->result = dft_cli_parse(&p->cfg, p->argc, p->argv);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	n = pread(fd, p->message, sizeof(p->message) - 1, 0);
	assert_true(n >= 0);
	p->message[n] = '\0';
	close(saved);
	close(fd);
}

/* Parses "dftrace-bpf" and the words up to NULL. End with done(). */
static void parse(struct parsed *p, ...)
{
	const char *word = "dftrace-bpf";
	va_list ap;

	memset(p, 0, sizeof(*p));
	va_start(ap, p);
	for (; word; word = va_arg(ap, const char *)) {
		assert_true(p->argc < MAX_WORDS);
		/* getopt permutes nothing with '+', but is free to be given constant strings */
		p->argv[p->argc++] = (char *)(uintptr_t)word;
	}
	va_end(ap);
	run_parser(p);
}

static void done(struct parsed *p)
{
	dft_cli_free(&p->cfg);
	/* a second time is harmless */
	dft_cli_free(&p->cfg);
}

#define assert_parses(p, ...)                                                                      \
	do {                                                                                       \
		parse(p, __VA_ARGS__, NULL);                                                       \
		if ((p)->result != 0)                                                              \
			fail_msg("refused: %s", (p)->message);                                     \
		assert_string_equal((p)->message, "");                                             \
	} while (0)

/* Refused with exactly one line in which `words` occurs. */
#define assert_refuses(words, ...)                                                                 \
	do {                                                                                       \
		struct parsed p_;                                                                  \
                                                                                                   \
		parse(&p_, __VA_ARGS__, NULL);                                                     \
		if (p_.result != -1 || !strstr(p_.message, words) ||                               \
		    strchr(p_.message, '\n') != p_.message + strlen(p_.message) - 1)               \
			fail_msg("%d, not '%s': %s", p_.result, words, p_.message);                \
		done(&p_);                                                                         \
	} while (0)

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "1", SECOND },
		{ "30", 30 * SECOND },
		{ "1s", SECOND },
		{ "1.5s", SECOND + SECOND / 2 },
		{ "1.5", SECOND + SECOND / 2 },
		{ ".5", SECOND / 2 },
		{ "200ms", SECOND / 5 },
		{ "0.000000001", 1 },
		{ "1.0000000019", SECOND + 1 }, /* below a nanosecond falls off */
		{ "7us", 7000 },
		{ "1ns", 1 },
		{ "2m", 120 * SECOND },
		{ "1h", 3600 * SECOND },
		{ "0.5h", 1800 * SECOND },
		{ "1.25m", 75 * SECOND },
		{ "9223372036", UINT64_C(9223372036) * SECOND },
		{ "9223372036854775807ns", INT64_MAX },
		{ "00001", SECOND },
	};
	static const char *const invalid[] = {
		"",   " ",   "s",   "-1",  "+1", "1 s", " 1",  "1 ",  "1x",   "1S",  "1sec",
		"1.", "1.s", ".",   ".s",  "1,5", "1e3", "0x1", "inf", "nan", "1.2.3", "ms",
		"1d", "1s1", "1.-5",
	};
	static const char *const out_of_range[] = {
		"0", "0s", "0.0", "0.0000000001", "0.1ns", "9223372037", "18446744073709551616",
		"99999999999999999999999999h", "9223372036854775808ns", "5124095577h",
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ns = 0;
		if (dft_cli_parse_duration(good[i].text, &ns) || ns != good[i].ns)
			fail_msg("'%s' gives %ju", good[i].text, (uintmax_t)ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		if (dft_cli_parse_duration(invalid[i], &ns) != -EINVAL)
			fail_msg("'%s' is not EINVAL", invalid[i]);
	for (size_t i = 0; i < ARRAY_SIZE(out_of_range); i++)
		if (dft_cli_parse_duration(out_of_range[i], &ns) != -ERANGE)
			fail_msg("'%s' is not ERANGE", out_of_range[i]);
}

static void test_ring_sizes(void **state)
{
	static const struct {
		const char *text;
		uint32_t bytes;
	} good[] = {
		{ "65536", 1u << 16 }, { "64K", 1u << 16 },   { "64k", 1u << 16 },
		{ "64KiB", 1u << 16 }, { "1M", 1u << 20 },    { "16MiB", 1u << 24 },
		{ "1G", 1u << 30 },    { "1024M", 1u << 30 }, { "1073741824", 1u << 30 },
	};
	static const char *const invalid[] = {
		"", "K", "-1", "+4096", " 4096", "4096 ", "64KB", "64B", "64Ki", "64iB",
		"0x10000", "1.5M", "65537", "3M", "96K", "64KK",
	};
	static const char *const out_of_range[] = {
		"0", "0K", "1", "2048", "2K", "2G", "1T", "2048M", "1073741825", "4294967296",
		"18446744073709551616", "17179869184G",
	};
	uint32_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		bytes = 0;
		if (dft_cli_parse_ring_size(good[i].text, &bytes) || bytes != good[i].bytes)
			fail_msg("'%s' gives %u", good[i].text, bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		if (dft_cli_parse_ring_size(invalid[i], &bytes) != -EINVAL)
			fail_msg("'%s' is not EINVAL", invalid[i]);
	for (size_t i = 0; i < ARRAY_SIZE(out_of_range); i++)
		if (dft_cli_parse_ring_size(out_of_range[i], &bytes) != -ERANGE)
			fail_msg("'%s' is not ERANGE", out_of_range[i]);
	/* whole pages, whatever the page size */
	assert_int_equal(dft_cli_parse_ring_size("4K", &bytes),
			 sysconf(_SC_PAGESIZE) <= 4096 ? 0 : -ERANGE);
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },		  { "1", 1 },		   { "500M", 500ull << 20 },
		{ "20GiB", 20ull << 30 }, { "3t", 3ull << 40 },	   { "7kiB", 7 << 10 },
		{ "16777215TiB", 16777215ull << 40 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const invalid[] = { "", "M", "-1", "+1", " 1", "1 ", "1KB", "1.5M", "1Mi", "1P" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (dft_cli_parse_size(good[i].text, &bytes) || bytes != good[i].bytes)
			fail_msg("'%s' gives %" PRIu64, good[i].text, bytes);
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		if (dft_cli_parse_size(invalid[i], &bytes) != -EINVAL)
			fail_msg("'%s' is not EINVAL", invalid[i]);
	assert_int_equal(dft_cli_parse_size("16777216T", &bytes), -ERANGE);
	assert_int_equal(dft_cli_parse_size("18446744073709551616", &bytes), -ERANGE);
}

static void test_defaults(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "true");
	assert_int_equal(p.cfg.action, DFT_ACTION_TRACE);
	assert_ptr_equal(p.cfg.argv, p.argv + 1);
	assert_null(p.cfg.argv[1]);
	assert_int_equal(p.cfg.npids, 0);
	assert_false(p.cfg.all);
	assert_true(p.cfg.follow);
	assert_false(p.cfg.out_dir_given);
	assert_int_equal(strncmp(p.cfg.out_dir, "dftrace-", 8), 0);
	assert_null(strchr(p.cfg.out_dir, '/'));
	assert_null(p.cfg.user);
	assert_int_equal(p.cfg.duration_ns, 0);
	assert_int_equal(p.cfg.include.n + p.cfg.exclude.n, 0);
	assert_false(p.cfg.all_files || p.cfg.precise || p.cfg.json);
	assert_false(p.cfg.quiet || p.cfg.verbose);
	assert_int_equal(p.cfg.ring_sz, 16u << 20);
	assert_true(p.cfg.args && p.cfg.mmap);
	assert_int_equal(p.cfg.ready_fd, -1);
	assert_int_equal(p.cfg.only.n, 0);
	assert_int_equal(p.cfg.min_dur_ns + p.cfg.aggregate_ns + p.cfg.max_size, 0);
	assert_int_equal(p.cfg.flush_ns, 1000000000);
	assert_int_equal(p.cfg.memory, 256 << 20);
	assert_int_equal(p.cfg.level, 0);
	done(&p);
}

static void test_amounts(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "--aggregate", "--flush", "10ms", "--level", "12", "--memory", "16M",
		      "--min-dur", "1.5us", "true");
	assert_int_equal(p.cfg.aggregate_ns, 1000000000);
	assert_int_equal(p.cfg.flush_ns, 10000000);
	assert_int_equal(p.cfg.level, 12);
	assert_int_equal(p.cfg.memory, 16 << 20);
	assert_int_equal(p.cfg.min_dur_ns, 1500);
	assert_string_equal(p.cfg.argv[0], "true");
	done(&p);
	/* the interval is never the next word */
	assert_parses(&p, "--aggregate=2m", "--level=0", "true");
	assert_int_equal(p.cfg.aggregate_ns, 120000000000);
	assert_int_equal(p.cfg.level, 0);
	done(&p);
	assert_parses(&p, "--max-size", "1", "--aggregate", "-V");
	assert_int_equal(p.cfg.max_size, 1);
	done(&p);
	assert_refuses("--aggregate: '9ms': must be 10ms or more", "--aggregate=9ms", "true");
	assert_refuses("--aggregate: '': not a time", "--aggregate=", "true");
	assert_refuses("--max-size: has no meaning with --aggregate", "--aggregate", "--max-size", "1G", "true");
	assert_refuses("must be 10ms or more", "--flush", "9999us", "true");
	assert_refuses("more than zero", "--flush", "0", "true");
	assert_refuses("not a number from 1 to 12", "--level", "13", "true");
	assert_refuses("not a number from 1 to 12", "--level", "-1", "true");
	assert_refuses("not a number from 1 to 12", "--level", "6x", "true");
	assert_refuses("--memory: ", "--memory", "16777215", "true");
	assert_refuses("--memory: ", "--memory", "1x", "true");
	assert_refuses("not a size", "--max-size", "0", "true");
	assert_refuses("--min-dur: '0': must be more than zero", "--min-dur", "0", "true");
}

static void test_only(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "--only", "read,write", "--only", "fstat", "true");
	assert_int_equal(p.cfg.only.n, 3);
	assert_string_equal(p.cfg.only.v[0], "read");
	assert_string_equal(p.cfg.only.v[1], "write");
	assert_string_equal(p.cfg.only.v[2], "fstat");
	done(&p);
	assert_refuses("not a name or a list", "--only", "", "true");
	assert_refuses("not a name or a list", "--only", "read,", "true");
	assert_refuses("not a name or a list", "--only", ",read", "true");
	assert_refuses("--only: ' write': no event is called so: did you mean write?", "--only", "read, write", "true");
	assert_refuses("did you mean open?", "--only", "openat", "true"); /* a system call, and no event */
	assert_refuses("--only: 'sendto': no event", "--only", "sendto", "true"); /* not decoded */
	assert_refuses("no event", "--only", "start", "true");
}

static void test_command(void **state)
{
	struct parsed p;

	(void)state;
	/* the first word that is no option is CMD, and all behind it is CMD's */
	assert_parses(&p, "-q", "ls", "-p", "x", "--help");
	assert_string_equal(p.cfg.argv[0], "ls");
	assert_string_equal(p.cfg.argv[3], "--help");
	assert_null(p.cfg.argv[4]);
	assert_true(p.cfg.quiet);
	done(&p);

	assert_parses(&p, "-o", "d", "--", "-weird", "--", "-q");
	assert_string_equal(p.cfg.argv[0], "-weird");
	assert_string_equal(p.cfg.argv[1], "--");
	assert_false(p.cfg.quiet);
	assert_string_equal(p.cfg.out_dir, "d");
	assert_true(p.cfg.out_dir_given);
	done(&p);

	/* an empty word is a (hopeless) command, not an absent one */
	assert_parses(&p, "--", "");
	assert_string_equal(p.cfg.argv[0], "");
	done(&p);

	assert_refuses("nothing to trace", NULL);
	assert_refuses("nothing to trace", "--");
	assert_refuses("nothing to trace", "-q", "--precise");
}

static void test_pids(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "-p", "1,22,1", "--pid=333", "-p22");
	assert_int_equal(p.cfg.npids, 3);
	assert_int_equal(p.cfg.pids[0], 1);
	assert_int_equal(p.cfg.pids[1], 22);
	assert_int_equal(p.cfg.pids[2], 333);
	assert_null(p.cfg.argv);
	done(&p);

	assert_parses(&p, "-p", "4194304", "true");
	assert_int_equal(p.cfg.pids[0], 4194304);
	assert_string_equal(p.cfg.argv[0], "true");
	done(&p);

	assert_refuses("-p: '0'", "-p", "0");
	assert_refuses("1 to 4194304", "-p", "4194305");
	assert_refuses("-p: '-1'", "-p", "-1");
	assert_refuses("not a process id", "-p", "18446744073709551617");
	assert_refuses("not a process id", "-p", "");
	assert_refuses("not a process id", "-p", ",");
	assert_refuses("not a process id", "-p", "1,");
	assert_refuses("not a process id", "-p", ",1");
	assert_refuses("not a process id", "-p", "1,,2");
	assert_refuses("not a process id", "-p", "1 2");
	assert_refuses("not a process id", "-p", "1x");
	assert_refuses("not a process id", "-p", "self");
	assert_refuses("needs a value", "-p");
	assert_refuses("--pid: needs a value", "--pid");
}

static void test_targets(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "-a", "true");
	assert_true(p.cfg.all);
	done(&p);
	assert_parses(&p, "--all", "-d", "1.5s");
	assert_int_equal(p.cfg.duration_ns, SECOND + SECOND / 2);
	done(&p);
	assert_parses(&p, "--no-follow", "-u", "nobody", "true");
	assert_false(p.cfg.follow);
	assert_string_equal(p.cfg.user, "nobody");
	done(&p);

	assert_refuses("traces every process", "-a", "-p", "1");
	assert_refuses("traces every process", "-a", "--no-follow");
	assert_refuses("no command to run as that user", "-u", "nobody", "-p", "1");
	assert_refuses("no command to run as that user", "-u", "nobody", "-a");
	assert_refuses("-u: '': is empty", "-u", "", "true");
	assert_refuses("-o: '': is empty", "-o", "", "true");
	assert_refuses("-d: '0'", "-d", "0", "true");
	assert_refuses("not a time", "-d", "1w", "true");
	assert_refuses("--ring: '3M'", "--ring", "3M", "true");
}

static void test_flags(void **state)
{
	struct parsed p;

	(void)state;
	assert_parses(&p, "--all-files", "--precise", "--no-args", "--ring=64K", "-v", "true");
	assert_true(p.cfg.all_files && p.cfg.precise && !p.cfg.args && p.cfg.verbose);
	assert_int_equal(p.cfg.ring_sz, 65536);
	done(&p);
	assert_parses(&p, "true");
	assert_true(p.cfg.prov);
	done(&p);
	assert_parses(&p, "--prov", "--no-prov", "true");
	assert_false(p.cfg.prov);
	done(&p);
	assert_parses(&p, "--no-prov", "--prov", "true");
	assert_true(p.cfg.prov);
	done(&p);
	assert_parses(&p, "--mmap", "--no-mmap", "true");
	assert_false(p.cfg.mmap);
	done(&p);
	assert_parses(&p, "--no-mmap", "--mmap", "true");
	assert_true(p.cfg.mmap);
	done(&p);
	/* the last of the two wins, and of repeated values */
	assert_parses(&p, "-vq", "-o", "a", "-ob", "-d1", "-d2", "-ux", "-uy", "true");
	assert_true(p.cfg.quiet && !p.cfg.verbose);
	assert_string_equal(p.cfg.out_dir, "b");
	assert_string_equal(p.cfg.user, "y");
	assert_int_equal(p.cfg.duration_ns, 2 * SECOND);
	done(&p);
	assert_parses(&p, "-q", "--verbose", "true");
	assert_true(p.cfg.verbose && !p.cfg.quiet);
	done(&p);

	assert_refuses("-x: unknown option", "-x");
	assert_refuses("-x: unknown option", "--all", "-xq");
	assert_refuses("-x: unknown option", "-qx", "true");
	assert_refuses("--nonsense: unknown or ambiguous", "--nonsense", "true");
	assert_refuses("--in: unknown or ambiguous", "--in", "true");
	assert_refuses("--quiet=1: takes no value", "--quiet=1", "true");
	assert_refuses("--precise=1: takes no value", "--precise=1", "true");
	assert_refuses("-p: needs a value", "-qp");
	/* a long value is cut, so that the reason is still there */
	{
		char longer[6000];

		memset(longer, '7', sizeof(longer) - 1);
		longer[sizeof(longer) - 1] = '\0';
		assert_refuses("...': not a process id", "-p", longer);
	}
}

static void test_prefixes(void **state)
{
	static const struct {
		const char *text, *want;
	} good[] = {
		{ "/", "/" },	      { "//", "/" },	      { "/.", "/" },
		{ "/./", "/" },	      { "/data", "/data" },   { "/data/", "/data" },
		{ "//data", "/data" }, { "/data//x/", "/data/x" }, { "/data/./x", "/data/x" },
		{ "/data/.", "/data" }, { "/./data", "/data" }, { "/.data/..x", "/.data/..x" },
		{ "/a b\n", "/a b\n" }, { "/\xff", "/\xff" },  { "/...", "/..." },
	};
	char longest[4097];
	struct parsed p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_parses(&p, "--include", good[i].text, "--exclude", good[i].text, "true");
		assert_int_equal(p.cfg.include.n, 1);
		assert_string_equal(p.cfg.include.v[0], good[i].want);
		assert_string_equal(p.cfg.exclude.v[0], good[i].want);
		done(&p);
	}
	assert_parses(&p, "--include", "/a", "--exclude", "/b", "--include", "/c", "true");
	assert_int_equal(p.cfg.include.n, 2);
	assert_string_equal(p.cfg.include.v[1], "/c");
	assert_int_equal(p.cfg.exclude.n, 1);
	done(&p);

	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[4095] = '\0';
	assert_parses(&p, "--include", longest, "true");
	done(&p);
	longest[4095] = 'x';
	longest[4096] = '\0';
	assert_refuses("longer than a path", "--include", longest, "true");
	assert_refuses("--include: 'data': not an absolute path", "--include", "data", "true");
	assert_refuses("--exclude: './x': not an absolute path", "--exclude", "./x", "true");
	assert_refuses("not an absolute path", "--include", "", "true");
	assert_refuses("without '..'", "--include", "/a/../b", "true");
	assert_refuses("without '..'", "--include", "/a/..", "true");
}

static void test_ready_fd(void **state)
{
	char number[16];
	struct parsed p;
	int fds[2], path_fd = open("/", O_PATH);

	(void)state;
	assert_int_equal(pipe(fds), 0);
	snprintf(number, sizeof(number), "%d", fds[1]);
	assert_parses(&p, "--ready-fd", number, "true");
	assert_int_equal(p.cfg.ready_fd, fds[1]);
	/* CMD does not get it */
	assert_int_equal(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
	done(&p);
	/* stdout is good enough where there is no CMD */
	assert_parses(&p, "--ready-fd", "1", "-p", "1");
	done(&p);
	assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD), 0);

	assert_refuses("belong to CMD", "--ready-fd", "1", "true");
	snprintf(number, sizeof(number), "%d", fds[0]);
	assert_refuses("not open for writing", "--ready-fd", number, "true");
	snprintf(number, sizeof(number), "%d", path_fd);
	assert_refuses("not open for writing", "--ready-fd", number, "true");
	/* not a number that the helper's own descriptors could get */
	assert_int_equal(fcntl(900, F_GETFD), -1);
	assert_refuses("is not open", "--ready-fd", "900", "true");
	assert_refuses("is not open", "--ready-fd", "2147483647", "true");
	assert_refuses("not a descriptor number", "--ready-fd", "2147483648", "true");
	assert_refuses("not a descriptor number", "--ready-fd", "-1", "true");
	assert_refuses("not a descriptor number", "--ready-fd", "3x", "true");
	assert_refuses("not a descriptor number", "--ready-fd", "", "true");
	close(fds[0]);
	close(fds[1]);
	close(path_fd);
}

static void test_actions(void **state)
{
	struct parsed p;

	(void)state;
	/* help and version are given at once, whatever comes behind */
	assert_parses(&p, "-h", "--nonsense");
	assert_int_equal(p.cfg.action, DFT_ACTION_HELP);
	done(&p);
	assert_parses(&p, "--help", "-p", "x");
	assert_int_equal(p.cfg.action, DFT_ACTION_HELP);
	done(&p);
	assert_parses(&p, "-qV");
	assert_int_equal(p.cfg.action, DFT_ACTION_VERSION);
	done(&p);
	assert_parses(&p, "--json", "--info");
	assert_int_equal(p.cfg.action, DFT_ACTION_INFO);
	assert_true(p.cfg.json);
	done(&p);
	assert_parses(&p, "--list-syscalls");
	assert_int_equal(p.cfg.action, DFT_ACTION_LIST_SYSCALLS);
	done(&p);

	assert_refuses("only goes with --info", "--json", "true");
	assert_refuses("only goes with --info", "--json", "--list-syscalls");
	assert_refuses("true: no command is run", "--info", "true");
	assert_refuses("true: no command is run", "--list-syscalls", "--", "true");
}

/* Two runs within one second get different names. */
static void test_default_dir_taken(void **state)
{
	char home[] = "/tmp/dft-cli-XXXXXX", first[256], cwd[4096];
	struct parsed p;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_non_null(mkdtemp(home));
	assert_int_equal(chdir(home), 0);
	for (int tries = 0; tries < 20; tries++) {
		size_t n;

		assert_parses(&p, "true");
		snprintf(first, sizeof(first), "%s", p.cfg.out_dir);
		done(&p);
		assert_int_equal(mkdir(first, 0700), 0);
		assert_parses(&p, "true");
		assert_string_not_equal(p.cfg.out_dir, first);
		n = strlen(first);
		assert_int_equal(rmdir(first), 0);
		/* unless the clock ticked in between */
		if (strncmp(p.cfg.out_dir, first, n) == 0) {
			assert_string_equal(p.cfg.out_dir + n, "-2");
			done(&p);
			break;
		}
		done(&p);
	}
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(rmdir(home), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations), cmocka_unit_test(test_ring_sizes),
		cmocka_unit_test(test_sizes),	  cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_only),
		cmocka_unit_test(test_defaults),  cmocka_unit_test(test_command),
		cmocka_unit_test(test_pids),	  cmocka_unit_test(test_targets),
		cmocka_unit_test(test_flags),	  cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_ready_fd),  cmocka_unit_test(test_actions),
		cmocka_unit_test(test_default_dir_taken),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
