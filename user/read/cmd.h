/* SPDX-License-Identifier: MIT */
/*
 * The commands of dftrace. A command is one entry of the table in main.c; it gets its own name as
 * argv[0] and returns the exit status of the program.
 */
#ifndef DFT_CMD_H
#define DFT_CMD_H

#define DFT_EXIT_GOOD 0
#define DFT_EXIT_FAULT 1 /* the trace or the output is not as it should be */
#define DFT_EXIT_USAGE 2

struct dft_cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *brief;
};

extern const struct dft_cmd dft_cmd_check;
extern const struct dft_cmd dft_cmd_summary;
extern const struct dft_cmd dft_cmd_events;
extern const struct dft_cmd dft_cmd_timeline;
extern const struct dft_cmd dft_cmd_entities;
extern const struct dft_cmd dft_cmd_edges;
extern const struct dft_cmd dft_cmd_made;
extern const struct dft_cmd dft_cmd_lineage;
extern const struct dft_cmd dft_cmd_impact;
extern const struct dft_cmd dft_cmd_graph;
extern const struct dft_cmd dft_cmd_export;
extern const struct dft_cmd dft_cmd_merge;
extern const struct dft_cmd dft_cmd_split;
extern const struct dft_cmd dft_cmd_recover;

/*
 * Say what is wrong with the arguments and where help is; both return DFT_EXIT_USAGE. The second is
 * for an option that getopt_long() has just refused. `cmd` is "" outside of a command.
 */
int dft_usage(const char *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int dft_usage_option(const char *cmd, char **argv);

#endif
