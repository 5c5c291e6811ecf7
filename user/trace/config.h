/* SPDX-License-Identifier: MIT */
/*
 * What the command line asked for. Filled by cli.c, read-only everywhere else.
 */
#ifndef DFT_CONFIG_H
#define DFT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit statuses of dftrace-bpf itself; otherwise CMD's own is passed through. */
enum dft_exit {
	DFT_EXIT_OK = 0,
	DFT_EXIT_OUTPUT = 1,  /* the trace could not be written completely */
	DFT_EXIT_USAGE = 2,
	DFT_EXIT_TRACER = 125, /* tracing could not begin; CMD was not run */
	DFT_EXIT_NOEXEC = 126, /* CMD was found and could not be executed */
	DFT_EXIT_NOTFOUND = 127,
};

enum dft_action {
	DFT_ACTION_TRACE = 0,
	DFT_ACTION_HELP,
	DFT_ACTION_VERSION,
	DFT_ACTION_INFO,
	DFT_ACTION_LIST_SYSCALLS,
};

struct dft_strv {
	char **v;
	size_t n;
};

struct dft_config {
	enum dft_action action;

	char **argv;          /* CMD and its arguments, NULL-terminated; NULL without CMD */
	pid_t *pids;          /* -p, without duplicates */
	size_t npids;
	bool all;             /* -a */
	char *cgroup, *uid, *comm; /* --cgroup, --uid, --comm as given, or NULL; with any of them `all` is set */
	bool follow;          /* false with --no-follow */

	char *out_dir;        /* -o; never NULL after parsing */
	bool out_dir_given;   /* false: out_dir is the default name and must not exist yet */
	char *user;           /* -u, or NULL */
	uint64_t duration_ns; /* -d, 0 = none */
	struct dft_strv include;
	struct dft_strv exclude; /* absolute prefixes, without trailing slash except "/" */
	struct dft_strv usdt;    /* --usdt */
	struct dft_strv only;    /* --only: names of events */
	uint64_t min_dur_ns;     /* --min-dur, 0 = none */
	uint64_t aggregate_ns;   /* --aggregate: time from row to row; 0 = each call is an event */
	bool all_files;
	bool mmap;               /* false with --no-mmap: no page faults */
	uint64_t flush_ns;    /* what is older is on disk */
	uint64_t max_size;    /* bytes on disk from which on calls are aggregated, 0 = none */
	uint32_t ring_sz;     /* bytes, a power of two and a multiple of the page size */
	uint64_t memory;      /* bytes, without the ring; 0 = the default */
	int level;            /* of compression, 1 to 12; 0 = by load */
	bool precise;
	bool args;            /* false with --no-args */
	bool prov;            /* false with --no-prov: no relations between runs and files */
	int ready_fd;         /* -1 = none */
	bool quiet;
	bool verbose;
	bool json;            /* --info --json */
};

#endif
