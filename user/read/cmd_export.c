// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cmd.h"
#include "export.h"
#include "graph_cmd.h"
#include "log.h"
#include "out.h"

static const struct dft_exporter *const exporters[] = {
	&dft_export_csv,
	&dft_export_dftracer_1,
	&dft_export_dot,
	&dft_export_perfetto,
	&dft_export_prov_json,
	&dft_export_prov_n,
	&dft_export_sqlite,
};

#define NEXPORTERS (sizeof(exporters) / sizeof(exporters[0]))

static const struct option options[] = {
	{ "to", required_argument, NULL, 't' },
	{ "output", required_argument, NULL, 'o' },
	{ "force", no_argument, NULL, 'f' },
	{ "annotated", no_argument, NULL, 'n' },
	{ "auto", no_argument, NULL, 'a' },
	{ "all", no_argument, NULL, 'A' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int print_help(void)
{
	fputs("Usage: dftrace export --to FORMAT [OPTIONS] DIR|FILE...\n"
	      "Writes a trace in another format.\n"
	      "\n"
	      "A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	      "\n"
	      "Formats:\n", stdout);
	for (size_t i = 0; i < NEXPORTERS; i++)
		printf("  %-12s %s\n", exporters[i]->name, exporters[i]->brief);
	fputs("\n"
	      "Options:\n"
	      "      --to FORMAT    one of these\n"
	      "  -o, --output PATH  write there (default: standard output, if it is text)\n"
	      "      --force        replace what is there\n"
	      "of provenance (dot, prov-json, prov-n):\n"
	      DFT_GRAPH_SIDES
	      "  -h, --help         print this help\n"
	      "\n"
	      "Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n"
	      "is written); 2 wrong usage. An unfinished file alone is a warning.\n", stdout);
	return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
}

static const struct dft_exporter *find(const char *name)
{
	for (size_t i = 0; i < NEXPORTERS; i++)
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	return NULL;
}

static int run_export(int argc, char **argv)
{
	const struct dft_exporter *e = NULL;
	struct dft_export_opts opts = { .sides = DFT_BOTH };
	int opt;

	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 't':
			e = find(optarg);
			if (!e)
				return dft_usage("export", "--to %s: no such format", optarg);
			break;
		case 'o':
			opts.out = optarg;
			break;
		case 'f':
			opts.force = true;
			break;
		case 'n':
			opts.sides = DFT_ANNOTATED;
			break;
		case 'a':
			opts.sides = DFT_AUTO;
			break;
		case 'A':
			opts.sides = DFT_BOTH;
			break;
		case 'h':
			return print_help();
		default:
			return dft_usage_option("export", argv);
		}
	}
	if (!e)
		return dft_usage("export", "no format given (--to FORMAT)");
	if (optind == argc)
		return dft_usage("export", "no DIR or FILE given");
	return e->run(argc - optind, argv + optind, &opts);
}

const struct dft_cmd dft_cmd_export = {
	.name = "export",
	.run = run_export,
	.brief = "write a trace in another format: for Perfetto, SQLite, older analyzers",
};
