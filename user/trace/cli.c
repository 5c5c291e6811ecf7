// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "log.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define DEFAULT_RING_SZ (16u << 20)
#define MIN_RING_SZ	(4u << 10)
#define MAX_RING_SZ	(1u << 30)
#define MAX_PID		(4u << 20) /* PID_MAX_LIMIT of 64-bit kernels */
#define DEFAULT_MEMORY	(256ull << 20)
#define MIN_MEMORY	(16ull << 20)
#define MAX_COMM	15
#define MAX_LEVEL	12
#define DEFAULT_FLUSH	1000000000ull
#define MIN_FLUSH	10000000ull /* two turns of the tracer */

enum {
	OPT_NO_FOLLOW = 256,
	OPT_CGROUP,
	OPT_UID,
	OPT_COMM,
	OPT_INCLUDE,
	OPT_EXCLUDE,
	OPT_ONLY,
	OPT_MIN_DUR,
	OPT_AGGREGATE,
	OPT_USDT,
	OPT_ALL_FILES,
	OPT_MMAP,
	OPT_NO_MMAP,
	OPT_FLUSH,
	OPT_LEVEL,
	OPT_MAX_SIZE,
	OPT_MEMORY,
	OPT_RING,
	OPT_PRECISE,
	OPT_NO_ARGS,
	OPT_PROV,
	OPT_NO_PROV,
	OPT_READY_FD,
	OPT_INFO,
	OPT_JSON,
	OPT_LIST_SYSCALLS,
};

struct cli_option {
	int id;		  /* the short letter, or one of OPT_; 0 for a heading */
	const char *name; /* long name, or the heading */
	const char *arg;  /* NULL when it takes no value; [=...] when it may take one */
	const char *help;
};

/* The one table: getopt's two descriptions and the text of --help are made from it. */
static const struct cli_option cli_options[] = {
	{ 0, "What to trace", NULL, NULL },
	{ 'p', "pid", "PID[,PID]", "attach to running processes, all their threads (repeatable)" },
	{ 'a', "all", NULL, "every process of the system" },
	{ OPT_CGROUP, "cgroup", "PATH", "every process in this cgroup (v2) or below it" },
	{ OPT_UID, "uid", "USER", "every process of this user, by name or number" },
	{ OPT_COMM, "comm", "NAME", "every process of this name; with --cgroup and --uid:\n"
				    "those of which all is true" },
	{ OPT_NO_FOLLOW, "no-follow", NULL, "not the processes that traced ones start" },
	{ 'u', "user", "USER", "run CMD as USER; root keeps root (default under sudo:\n"
			       "the user who called sudo)" },
	{ 'd', "duration", "TIME", "stop tracing after TIME: 30, 1.5s, 200ms, 2m, 1h" },

	{ 0, "What to keep", NULL, NULL },
	{ OPT_INCLUDE, "include", "PREFIX", "only files under PREFIX (repeatable)" },
	{ OPT_EXCLUDE, "exclude", "PREFIX", "no files under PREFIX (repeatable); the longest\n"
					    "matching PREFIX decides" },
	{ OPT_ONLY, "only", "NAME[,NAME]", "only calls that are these events: read,write ...\n"
					   "(repeatable)" },
	{ OPT_MIN_DUR, "min-dur", "TIME", "only calls that take so long" },
	{ OPT_AGGREGATE, "aggregate", "[=TIME]", "no single calls: sums by process, file and event, each\n"
						 "TIME (default: 1s) and at the end" },
	{ OPT_ALL_FILES, "all-files", NULL, "also sockets, pipes, terminals, /proc and the like" },
	{ OPT_MMAP, "mmap", NULL, "page faults in mapped files, as sums (the default)" },
	{ OPT_NO_MMAP, "no-mmap", NULL, "not these: what goes through mapped files is unknown then" },
	{ OPT_USDT, "usdt", "FILE", "listen to annotations of FILE, a program or library that\n"
				    "may start later, from its first one on (repeatable)" },
	{ OPT_PRECISE, "precise", NULL, "add durations in nanoseconds" },
	{ OPT_NO_ARGS, "no-args", NULL, "leave out the arguments of the calls" },
	{ OPT_PROV, "prov", NULL, "for each program which files went in and came out (the default)" },
	{ OPT_NO_PROV, "no-prov", NULL, "not that" },

	{ 0, "Output", NULL, NULL },
	{ 'o', "output", "DIR", "directory of the trace\n"
				"(default: dftrace-HOST-YYYYmmdd-HHMMSS)" },
	{ OPT_FLUSH, "flush", "TIME", "what is older is on disk (default: 1s)" },
	{ OPT_MAX_SIZE, "max-size", "SIZE", "from so many bytes of trace on go on as --aggregate does" },
	{ OPT_LEVEL, "level", "N", "of compression, 1 to 12 (default: 0, by load)" },
	{ OPT_MEMORY, "memory", "SIZE", "bound of what waits to be written, besides --ring\n"
					"(default: 256M)" },
	{ OPT_RING, "ring", "SIZE", "buffer between kernel and tracer: 4K to 1G, a power of\n"
				    "two (default: 16M)" },
	{ OPT_READY_FD, "ready-fd", "N", "write one byte to descriptor N when tracing is live" },
	{ 'q', "quiet", NULL, "errors only" },
	{ 'v', "verbose", NULL, "say more" },

	{ 0, "Information", NULL, NULL },
	{ OPT_INFO, "info", NULL, "what this kernel and these privileges allow" },
	{ OPT_JSON, "json", NULL, "with --info: as JSON" },
	{ OPT_LIST_SYSCALLS, "list-syscalls", NULL, "how each system call is traced" },
	{ 'V', "version", NULL, "version" },
	{ 'h', "help", NULL, "this text" },
};

/* One line `what: 'value': why (try --help)`; a long value is cut so that the reason stays. */
static int usage_error(const char *what, const char *value, const char *why)
{
	const int max = 200;

	if (!value)
		dft_error("%s: %s (try --help)", what, why);
	else
		dft_error("%s: '%.*s%s': %s (try --help)", what, max, value,
			  strlen(value) > (size_t)max ? "..." : "", why);
	return -1;
}

static int no_memory(void)
{
	dft_error("command line: out of memory (free some memory)");
	return -1;
}

/* Reads digits from *text on, and moves it past them. */
static int scan_digits(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned int)(*p - '0'), &v))
			return -ERANGE;
	*text = p;
	*value = v;
	return 0;
}

int dft_cli_parse_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 },   { "s", 1000000000 }, { "ms", 1000000 },
		{ "us", 1000 },	      { "ns", 1 },	   { "m", 60000000000 },
		{ "h", 3600000000000 },
	};
	const char *fraction = NULL, *p = text;
	uint64_t whole = 0, unit = 0, total;
	int err;

	if (*p != '.') {
		err = scan_digits(&p, &whole);
		if (err)
			return err;
	}
	if (*p == '.') {
		fraction = ++p;
		p += strspn(p, "0123456789");
		if (p == fraction)
			return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(p, units[i].name) == 0)
			unit = units[i].ns;
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &total))
		return -ERANGE;
	/* Digit by digit: exact, and what is below a nanosecond falls off. */
	for (; fraction && *fraction >= '0' && *fraction <= '9'; fraction++) {
		unit /= 10;
		if (__builtin_add_overflow(total, (unsigned int)(*fraction - '0') * unit, &total))
			return -ERANGE;
	}
	/* A timer takes a signed number of nanoseconds. */
	if (total == 0 || total > INT64_MAX)
		return -ERANGE;
	*ns = total;
	return 0;
}

int dft_cli_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmgt";
	const char *p = text, *unit;
	unsigned int shift = 0;
	uint64_t v;
	int err = scan_digits(&p, &v);

	if (err)
		return err;
	if (*p) {
		unit = strchr(units, tolower((unsigned char)*p++));
		if (!unit || (*p && strcmp(p, "iB") != 0))
			return -EINVAL;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = v << shift;
	return 0;
}

int dft_cli_parse_ring_size(const char *text, uint32_t *bytes)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t v;
	int err = dft_cli_parse_size(text, &v);

	if (err)
		return err;
	/* The kernel wants whole pages, and pages are larger than 4 KiB on some machines. */
	if (v < MIN_RING_SZ || v > MAX_RING_SZ || (page > 0 && v < (uint64_t)page))
		return -ERANGE;
	if (v & (v - 1))
		return -EINVAL;
	*bytes = (uint32_t)v;
	return 0;
}

static int add_pid(struct dft_config *cfg, pid_t pid)
{
	pid_t *pids;

	for (size_t i = 0; i < cfg->npids; i++)
		if (cfg->pids[i] == pid)
			return 0;
	pids = reallocarray(cfg->pids, cfg->npids + 1, sizeof(*pids));
	if (!pids)
		return no_memory();
	cfg->pids = pids;
	cfg->pids[cfg->npids++] = pid;
	return 0;
}

static int set_pids(struct dft_config *cfg, const char *text)
{
	const char *p = text;
	uint64_t pid;

	for (;;) {
		if (scan_digits(&p, &pid) || (*p && *p != ','))
			return usage_error("-p", text, "not a process id or a list PID,PID");
		if (pid < 1 || pid > MAX_PID)
			return usage_error("-p", text, "a process id is 1 to 4194304");
		if (add_pid(cfg, (pid_t)pid))
			return -1;
		if (!*p)
			return 0;
		p++;
	}
}

/*
 * The prefix without doubled slashes, "." components and trailing slash, as names in the trace are
 * written. NULL when out of memory; *why is set when the prefix could never match.
 */
static char *normal_prefix(const char *text, const char **why)
{
	size_t len = 0, n;
	char *out;

	*why = NULL;
	if (text[0] != '/')
		*why = "not an absolute path";
	else if (strlen(text) >= PATH_MAX)
		*why = "longer than a path can be (4095 bytes)";
	out = malloc(strlen(text) + 2);
	if (!out || *why)
		return out;
	for (const char *p = text; *p; p += n) {
		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.'))
			continue;
		if (n == 2 && p[0] == '.' && p[1] == '.')
			*why = "files are named without '..': give the resolved path";
		out[len++] = '/';
		memcpy(out + len, p, n);
		len += n;
	}
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

static int add_prefix(struct dft_strv *list, const char *option, const char *text)
{
	const char *why;
	char *prefix, **v;

	prefix = normal_prefix(text, &why);
	if (!prefix)
		return no_memory();
	if (why) {
		free(prefix);
		return usage_error(option, text, why);
	}
	v = reallocarray(list->v, list->n + 1, sizeof(*v));
	if (!v) {
		free(prefix);
		return no_memory();
	}
	list->v = v;
	list->v[list->n++] = prefix;
	return 0;
}

static int add_text(struct dft_strv *list, const char *text, size_t len)
{
	char **v = realloc(list->v, (list->n + 1) * sizeof(*v));

	if (!v)
		return no_memory();
	list->v = v;
	v[list->n] = strndup(text, len);
	if (!v[list->n])
		return no_memory();
	list->n++;
	return 0;
}

/* Whether it has annotations is found out when tracing starts. */
static int add_usdt(struct dft_strv *list, const char *text)
{
	return *text ? add_text(list, text, strlen(text)) : usage_error("--usdt", text, "is empty");
}

static int add_event(struct dft_strv *only, const char *text, size_t len)
{
	const char *nearest;
	char name[64], why[128] = "no event is called so; --list-syscalls has all";

	if (!len)
		return usage_error("--only", NULL, "not a name or a list NAME,NAME");
	if (dft_event_is_known(text, len, &nearest))
		return add_text(only, text, len);
	if (nearest)
		snprintf(why, sizeof(why), "no event is called so: did you mean %s? --list-syscalls has all",
			 nearest);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	return usage_error("--only", name, why);
}

static int add_events(struct dft_strv *only, const char *text)
{
	int err = 0;

	do {
		size_t len = strcspn(text, ",");

		err = add_event(only, text, len);
		text += len;
	} while (!err && *text++);
	return err;
}

static int set_string(char **to, const char *option, const char *text)
{
	char *copy;

	if (!*text)
		return usage_error(option, text, "is empty");
	copy = strdup(text);
	if (!copy)
		return no_memory();
	free(*to);
	*to = copy;
	return 0;
}

static int set_comm(struct dft_config *cfg, const char *text)
{
	if (strlen(text) > MAX_COMM)
		return usage_error("--comm", text, "names of processes have at most 15 bytes (see ps -eo comm)");
	return set_string(&cfg->comm, "--comm", text);
}

static int set_time(uint64_t *ns, const char *option, const char *text)
{
	switch (dft_cli_parse_duration(text, ns)) {
	case 0:
		return 0;
	case -ERANGE:
		return usage_error(option, text, "must be more than zero and less than 292 years");
	default:
		return usage_error(option, text, "not a time such as 30, 1.5s, 200ms, 2m, 1h");
	}
}

static int set_interval(uint64_t *ns, const char *option, const char *text)
{
	if (set_time(ns, option, text))
		return -1;
	return *ns < MIN_FLUSH ? usage_error(option, text, "must be 10ms or more") : 0;
}

static int set_ring(struct dft_config *cfg, const char *text)
{
	if (dft_cli_parse_ring_size(text, &cfg->ring_sz) == 0)
		return 0;
	return usage_error("--ring", text, "not a power of two from 4K to 1G");
}

static int set_memory(struct dft_config *cfg, const char *text)
{
	if (dft_cli_parse_size(text, &cfg->memory) == 0 && cfg->memory >= MIN_MEMORY)
		return 0;
	return usage_error("--memory", text, "not a size such as 64M or 1G, from 16M on");
}

static int set_max_size(struct dft_config *cfg, const char *text)
{
	if (dft_cli_parse_size(text, &cfg->max_size) == 0 && cfg->max_size)
		return 0;
	return usage_error("--max-size", text, "not a size such as 500M or 20G");
}

static int set_level(struct dft_config *cfg, const char *text)
{
	const char *p = text;
	uint64_t level;

	if (scan_digits(&p, &level) || *p || level > MAX_LEVEL)
		return usage_error("--level", text, "not a number from 1 to 12, or 0");
	cfg->level = (int)level;
	return 0;
}

static int set_ready_fd(struct dft_config *cfg, const char *text)
{
	const char *p = text;
	uint64_t fd;
	int flags;

	if (scan_digits(&p, &fd) || *p || fd > INT_MAX)
		return usage_error("--ready-fd", text, "not a descriptor number");
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0)
		return usage_error("--ready-fd", text, "that descriptor is not open");
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return usage_error("--ready-fd", text, "that descriptor is not open for writing");
	cfg->ready_fd = (int)fd;
	return 0;
}

static int apply_option(struct dft_config *cfg, int id, const char *value)
{
	switch (id) {
	case 'p':
		return set_pids(cfg, value);
	case 'a':
		cfg->all = true;
		return 0;
	case OPT_CGROUP:
		return set_string(&cfg->cgroup, "--cgroup", value);
	case OPT_UID:
		return set_string(&cfg->uid, "--uid", value);
	case OPT_COMM:
		return set_comm(cfg, value);
	case OPT_NO_FOLLOW:
		cfg->follow = false;
		return 0;
	case 'u':
		return set_string(&cfg->user, "-u", value);
	case 'd':
		return set_time(&cfg->duration_ns, "-d", value);
	case OPT_INCLUDE:
		return add_prefix(&cfg->include, "--include", value);
	case OPT_EXCLUDE:
		return add_prefix(&cfg->exclude, "--exclude", value);
	case OPT_ONLY:
		return add_events(&cfg->only, value);
	case OPT_MIN_DUR:
		return set_time(&cfg->min_dur_ns, "--min-dur", value);
	case OPT_AGGREGATE:
		return set_interval(&cfg->aggregate_ns, "--aggregate", value ? value : "1s");
	case OPT_USDT:
		return add_usdt(&cfg->usdt, value);
	case OPT_ALL_FILES:
		cfg->all_files = true;
		return 0;
	case OPT_PRECISE:
		cfg->precise = true;
		return 0;
	case OPT_MMAP:
	case OPT_NO_MMAP:
		cfg->mmap = id == OPT_MMAP;
		return 0;
	case OPT_NO_ARGS:
		cfg->args = false;
		return 0;
	case OPT_PROV:
	case OPT_NO_PROV:
		cfg->prov = id == OPT_PROV;
		return 0;
	case 'o':
		cfg->out_dir_given = true;
		return set_string(&cfg->out_dir, "-o", value);
	case OPT_FLUSH:
		return set_interval(&cfg->flush_ns, "--flush", value);
	case OPT_MAX_SIZE:
		return set_max_size(cfg, value);
	case OPT_LEVEL:
		return set_level(cfg, value);
	case OPT_MEMORY:
		return set_memory(cfg, value);
	case OPT_RING:
		return set_ring(cfg, value);
	case OPT_READY_FD:
		return set_ready_fd(cfg, value);
	case 'q':
		cfg->quiet = true;
		cfg->verbose = false;
		return 0;
	case 'v':
		cfg->verbose = true;
		cfg->quiet = false;
		return 0;
	case OPT_INFO:
		cfg->action = DFT_ACTION_INFO;
		return 0;
	case OPT_JSON:
		cfg->json = true;
		return 0;
	case OPT_LIST_SYSCALLS:
		cfg->action = DFT_ACTION_LIST_SYSCALLS;
		return 0;
	case 'V':
		cfg->action = DFT_ACTION_VERSION;
		return 0;
	case 'h':
		cfg->action = DFT_ACTION_HELP;
		return 0;
	default:
		return usage_error("command line", NULL, "an option of the table is not handled");
	}
}

/* getopt's two descriptions of the table. `longs` has room for the table and its end. */
static void describe_options(char *shorts, struct option *longs)
{
	*shorts++ = '+'; /* stop at CMD: what follows are its own options */
	*shorts++ = ':'; /* tell a missing value from an unknown option */
	for (size_t i = 0; i < ARRAY_SIZE(cli_options); i++) {
		const struct cli_option *o = &cli_options[i];

		if (o->id == 0)
			continue;
		longs->name = o->name;
		longs->has_arg = !o->arg	 ? no_argument :
				 *o->arg == '[' ? optional_argument :
						  required_argument;
		longs->flag = NULL;
		longs->val = o->id;
		longs++;
		if (o->id >= OPT_NO_FOLLOW)
			continue;
		*shorts++ = (char)o->id;
		if (o->arg)
			*shorts++ = ':';
	}
	*shorts = '\0';
	memset(longs, 0, sizeof(*longs));
}

/*
 * Whether what getopt did not like is a long option. Inside a cluster such as -qX it has not moved
 * on yet, so the last word alone does not tell.
 */
static bool bad_is_long(int result, const char *word)
{
	if (result == ':')
		return strncmp(word, "--", 2) == 0;
	if (optopt == 0 || optopt >= OPT_NO_FOLLOW)
		return true;
	/* A known letter is only complained of as --quiet=3. */
	for (size_t i = 0; i < ARRAY_SIZE(cli_options); i++)
		if (cli_options[i].id == optopt)
			return true;
	return false;
}

static int bad_option(int result, char **argv)
{
	char letter[] = { '-', (char)optopt, '\0' };
	const char *word = argv[optind - 1];

	if (!bad_is_long(result, word))
		return usage_error(letter, NULL,
				   result == ':' ? "needs a value" : "unknown option");
	if (result == ':')
		return usage_error(word, NULL, "needs a value");
	return usage_error(word, NULL,
			   optopt ? "takes no value" : "unknown or ambiguous option");
}

static int default_out_dir(struct dft_config *cfg)
{
	char host[HOST_NAME_MAX + 1] = "", when[32], name[sizeof(host) + 64];
	time_t now = time(NULL);
	struct tm tm;
	struct stat st;

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	for (char *p = host; *p; p++)
		if (!isascii(*p) || (!isalnum(*p) && !strchr(".-_", *p)))
			*p = '_';
	if (!localtime_r(&now, &tm) || !strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm))
		return usage_error("-o", NULL, "no default name, the clock is off: give one");
	snprintf(name, sizeof(name), "dftrace-%s-%s", host, when);
	/* Two runs in one second. What else lstat may say, mkdir will say again. */
	for (unsigned int n = 2; lstat(name, &st) == 0; n++)
		snprintf(name, sizeof(name), "dftrace-%s-%s-%u", host, when, n);
	return set_string(&cfg->out_dir, "-o", name);
}

/* Processes of the system by what they are: nothing else says whom to trace, then. */
static int check_selection(struct dft_config *cfg)
{
	const char *what = cfg->cgroup ? "--cgroup" : cfg->uid ? "--uid" : cfg->comm ? "--comm" : NULL;

	if (what && cfg->npids)
		return usage_error(what, NULL, "does not go with -p, which names the processes");
	if (what && cfg->argv)
		return usage_error(what, NULL, "does not go with a command, which is traced whatever it is");
	if (!cfg->follow && (what || cfg->all))
		return usage_error("--no-follow", NULL,
				   what ? "has no meaning with conditions that children meet as well" :
					  "has no meaning with -a, which traces every process");
	if (what)
		cfg->all = true;
	return 0;
}

static int check_target(struct dft_config *cfg)
{
	if (check_selection(cfg))
		return -1;
	if (!cfg->argv && !cfg->npids && !cfg->all)
		return usage_error("nothing to trace", NULL, "give a command, -p PID or -a");
	if (cfg->all && cfg->npids)
		return usage_error("-p", NULL,
				   "has no meaning with -a, which traces every process");
	if (cfg->aggregate_ns && cfg->max_size)
		return usage_error("--max-size", NULL,
				   "has no meaning with --aggregate, which keeps no single calls");
	if (cfg->user && !cfg->argv)
		return usage_error("-u", NULL, "there is no command to run as that user");
	if (cfg->argv && cfg->ready_fd >= 0 && cfg->ready_fd <= STDERR_FILENO)
		return usage_error("--ready-fd", NULL, "descriptors 0, 1 and 2 belong to CMD");
	if (cfg->json)
		return usage_error("--json", NULL, "only goes with --info");
	return 0;
}

/* Everything that needs the whole command line. */
static int finish(struct dft_config *cfg)
{
	if (cfg->action != DFT_ACTION_TRACE) {
		if (cfg->argv)
			return usage_error(cfg->argv[0], NULL, "no command is run with --info or "
							       "--list-syscalls");
		if (cfg->json && cfg->action != DFT_ACTION_INFO)
			return usage_error("--json", NULL, "only goes with --info");
		return 0;
	}
	if (check_target(cfg))
		return -1;
	/* Ours alone: a copy held by CMD would keep the reader of a pipe from seeing its end. */
	if (cfg->ready_fd > STDERR_FILENO && fcntl(cfg->ready_fd, F_SETFD, FD_CLOEXEC))
		return usage_error("--ready-fd", NULL, strerror(errno));
	return cfg->out_dir ? 0 : default_out_dir(cfg);
}

int dft_cli_parse(struct dft_config *cfg, int argc, char **argv)
{
	struct option longs[ARRAY_SIZE(cli_options) + 1];
	char shorts[2 * ARRAY_SIZE(cli_options) + 3];
	int id;

	memset(cfg, 0, sizeof(*cfg));
	cfg->follow = true;
	cfg->args = true;
	cfg->mmap = true;
	cfg->prov = true;
	cfg->ring_sz = DEFAULT_RING_SZ;
	cfg->memory = DEFAULT_MEMORY;
	cfg->flush_ns = DEFAULT_FLUSH;
	cfg->ready_fd = -1;

	describe_options(shorts, longs);
	opterr = 0; /* the words are ours */
	optind = 0; /* start afresh, whoever parsed before */
	while ((id = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (id == '?' || id == ':')
			return bad_option(id, argv);
		if (apply_option(cfg, id, optarg))
			return -1;
		if (cfg->action == DFT_ACTION_HELP || cfg->action == DFT_ACTION_VERSION)
			return 0;
	}
	if (optind < argc)
		cfg->argv = argv + optind;
	return finish(cfg);
}

static void strv_free(struct dft_strv *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
}

void dft_cli_free(struct dft_config *cfg)
{
	strv_free(&cfg->include);
	strv_free(&cfg->exclude);
	strv_free(&cfg->only);
	strv_free(&cfg->usdt);
	free(cfg->pids);
	free(cfg->out_dir);
	free(cfg->user);
	free(cfg->cgroup);
	free(cfg->uid);
	free(cfg->comm);
	memset(cfg, 0, sizeof(*cfg));
}

/* The left column of one line of --help. */
static void help_option(const struct cli_option *o)
{
	const int column = 26;
	int width;

	if (o->id < OPT_NO_FOLLOW)
		width = printf("  -%c, --%s", o->id, o->name);
	else
		width = printf("      --%s", o->name);
	if (o->arg)
		width += printf("%s%s", *o->arg == '[' ? "" : " ", o->arg);
	for (const char *line = o->help; *line;) {
		int n = (int)strcspn(line, "\n");

		printf("%*s%.*s\n", width < column ? column - width : 2, "", n, line);
		width = 0;
		line += n + (line[n] == '\n');
	}
}

void dft_cli_help(void)
{
	puts("usage: dftrace-bpf [OPTIONS] [--] CMD [ARGS]\n"
	     "       dftrace-bpf [OPTIONS] -p PID[,PID] [[--] CMD [ARGS]]\n"
	     "       dftrace-bpf [OPTIONS] -a [[--] CMD [ARGS]]\n"
	     "       dftrace-bpf [OPTIONS] [--cgroup PATH] [--uid USER] [--comm NAME]\n"
	     "\n"
	     "Traces the file I/O of unmodified programs into DFTracer's format,\n"
	     "one DIR/*.pfw.gz a process.");
	for (size_t i = 0; i < ARRAY_SIZE(cli_options); i++) {
		if (cli_options[i].id == 0)
			printf("\n%s:\n", cli_options[i].name);
		else
			help_option(&cli_options[i]);
	}
	puts("\n"
	     "Exit status: CMD's own; 1 the trace could not be written completely; 2 usage;\n"
	     "125 tracing could not begin; 126, 127 CMD could not be executed, was not found.\n"
	     "Lost records do not change it: see dftrace check.");
}
