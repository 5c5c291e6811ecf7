// SPDX-License-Identifier: MIT
/* dftrace: reads what dftrace-bpf, or another writer of the DFTracer format, has written. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "out.h"
#include "version.h"

static const struct dft_cmd *const commands[] = {
	&dft_cmd_check,
	&dft_cmd_summary,
	&dft_cmd_events,
	&dft_cmd_timeline,
	&dft_cmd_entities,
	&dft_cmd_edges,
	&dft_cmd_made,
	&dft_cmd_lineage,
	&dft_cmd_impact,
	&dft_cmd_graph,
	&dft_cmd_export,
	&dft_cmd_merge,
	&dft_cmd_split,
	&dft_cmd_recover,
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct option options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int print_help(void)
{
	fputs("Usage: dftrace COMMAND [OPTIONS] DIR|FILE...\n"
	      "Reads traces in the DFTracer format: *.pfw.gz and *.pfw.\n"
	      "\n"
	      "Commands:\n", stdout);
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->brief);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     print this help; after a COMMAND, that command's\n"
	      "  -V, --version  print the version\n", stdout);
	return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
}

int main(int argc, char **argv)
{
	int opt;

	dft_log_init("dftrace", DFT_LOG_NORMAL);
	/* Messages come from dft_usage_option(), with the hint where help is. */
	opterr = 0;
	/* '+': the options after the command are the command's. */
	while ((opt = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (opt) {
		case 'h':
			return print_help();
		case 'V':
			printf("dftrace %s\n", DFT_VERSION);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("", argv);
		}
	}
	if (optind == argc)
		return dft_usage("", "no command given");
	argc -= optind;
	argv += optind;
	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (strcmp(argv[0], commands[i]->name) == 0) {
			optind = 0;
			return commands[i]->run(argc, argv);
		}
	}
	return dft_usage("", "%s: no such command", argv[0]);
}
