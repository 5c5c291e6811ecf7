/* SPDX-License-Identifier: MIT */
/* What the commands on the graph have in common: options, finding an entity, cells of tables. */
#ifndef DFT_GRAPH_CMD_H
#define DFT_GRAPH_CMD_H

#include <getopt.h>

#include "graph.h"
#include "reach.h"
#include "sheet.h"

struct dft_graph_cmd {
	const char *name;
	enum dft_style style;
	unsigned int sides; /* enum dft_side; dft_graph_read() takes both when none is said */
	bool said;
	const char *type;  /* only entities of this type are shown; NULL: all */
	const char *under; /* only this file, or those below this directory; NULL: all */
	struct dft_buf dir; /* of `under`: absolute */
	struct dft_buf real; /* the same without symbolic links and "..", if it is there */
	struct dft_pass pass;
	struct dft_graph g;
};

/* Long options that all have, for the table of each. */
#define DFT_GRAPH_OPTIONS                         \
	{ "annotated", no_argument, NULL, 'n' },  \
	{ "auto", no_argument, NULL, 'a' },       \
	{ "all", no_argument, NULL, 'A' },        \
	{ "json", no_argument, NULL, 'j' },       \
	{ "csv", no_argument, NULL, 'c' },        \
	{ "help", no_argument, NULL, 'h' }

/* Of commands that list entities. */
#define DFT_GRAPH_FILTERS                         \
	{ "type", required_argument, NULL, 't' }, \
	{ "under", required_argument, NULL, 'u' }
#define DFT_GRAPH_FILTERS_HELP                                                             \
	"      --type T      show only entities of type T\n"                                \
	"      --under DIR   show only files below DIR\n"

/* What stands about them in the help of each. */
#define DFT_GRAPH_SIDES                                                                      \
	"      --annotated   only what programs reported about themselves\n"                 \
	"      --auto        only what was found out about runs of programs\n"               \
	"      --all         both\n"
#define DFT_GRAPH_HELP                                                                       \
	"\n"                                                                                 \
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"        \
	"\n"                                                                                 \
	"Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n" \
	"is used), or the entity is not there; 2 wrong usage.\n"

/* One of the options above: true when it was one. */
bool dft_graph_opt(struct dft_graph_cmd *c, int opt);

/* Reads the trace; without --annotated and the like, both sides. 0, or -errno, which was told. */
int dft_graph_read(struct dft_graph_cmd *c, int argc, char **argv);

/* After the output: frees everything, and tells the exit status. */
int dft_graph_exit(struct dft_graph_cmd *c, int rc);

/*
 * The entity that a user means: by id, by type and key, by uri, key or path. 0; -ENOENT when there is none
 * or there are several, which was told; -ENOMEM.
 */
int dft_graph_find(const struct dft_graph_cmd *c, const char *what, uint32_t *ent);

/*
 * Which sides a walk from there takes when none is said: of what an annotated step
 * worked on, such steps. Their words are finer than what is known of whole runs.
 */
unsigned int dft_graph_walk_sides(const struct dft_graph_cmd *c, uint32_t start);
/* In words: "annotated", "auto" or "all". */
const char *dft_graph_sides_name(unsigned int sides);

/* Whether the entity is to be shown. */
bool dft_graph_passes(const struct dft_graph_cmd *c, const struct dft_ent *e);

/* A cell; nothing is "not known". */
void dft_graph_cell_text(struct dft_sheet *s, const struct dft_graph *g, uint64_t text);
void dft_graph_cell_name(struct dft_sheet *s, const struct dft_graph *g, const struct dft_ent *e);
void dft_graph_cell_act(struct dft_sheet *s, const struct dft_act *a);
void dft_graph_cell_bool(struct dft_sheet *s, bool v);

/* In an order by what the texts say. */
int dft_graph_compare(const struct dft_graph *g, uint64_t a, uint64_t b);

/* How many entities of each type: in order of the types' names. */
struct dft_type_count {
	uint64_t type; /* in g->texts */
	uint64_t n;
};
int dft_count_types(const struct dft_graph *g, const uint32_t *ents, size_t n,
		    struct dft_type_count **counts, size_t *cnt);

#endif
