// SPDX-License-Identifier: MIT
#include "cmd.h"
#include "graph_cmd.h"

static const struct option options[] = {
	DFT_GRAPH_FILTERS,
	DFT_GRAPH_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace entities [OPTIONS] DIR|FILE...\n"
	"Lists the entities of a trace: data that programs said they used or made, and files,\n"
	"programs and pipes of their runs.\n"
	"\n"
	DFT_GRAPH_FILTERS_HELP
	DFT_GRAPH_SIDES
	"      --json        print one JSON object\n"
	"      --csv         print CSV\n"
	"  -h, --help        print this help\n"
	DFT_GRAPH_HELP;

static const struct dft_col cols[] = {
	{ "id", NULL, false },	       { "type", NULL, false },
	{ "role", NULL, false },       { "store", NULL, false },
	{ "used", NULL, true },	       { "generated", NULL, true },
	{ "updated", NULL, true },     { "invalidated", NULL, true },
	{ "entity", NULL, false },
};

#define NCOLS (sizeof(cols) / sizeof(cols[0]))

static void store_cell(struct dft_sheet *s, uint32_t store)
{
	const char *name = dft_store_name(store);

	if (name)
		dft_sheet_text(s, name);
	else if (store == DFT_NOTHING)
		dft_sheet_none(s);
	else
		dft_sheet_u64(s, store);
}

static void row(struct dft_sheet *s, const struct dft_graph_cmd *c, uint32_t nr)
{
	const struct dft_graph *g = &c->g;
	const struct dft_ent *e = DFT_ENTS(g) + nr;
	uint64_t n[DFT_KINDS] = { 0 };

	for (uint32_t i = g->of_ent.at[nr]; i < g->of_ent.at[nr + 1]; i++) {
		const struct dft_rel *r = DFT_RELS(g) + g->of_ent.v[i];

		if (DFT_ACTS(g)[r->act].side & c->sides)
			n[r->kind]++;
	}
	dft_sheet_hash(s, e->id);
	dft_graph_cell_text(s, g, e->type);
	dft_sheet_text(s, dft_role_text(dft_graph_role(g, e->type)));
	store_cell(s, e->store);
	dft_sheet_u64(s, n[DFT_USED]);
	dft_sheet_u64(s, n[DFT_GENERATED]);
	dft_sheet_u64(s, n[DFT_UPDATED]);
	dft_sheet_u64(s, n[DFT_INVALIDATED]);
	/* The key says more than a uri, which may be cut, and is the same on several hosts. */
	dft_graph_cell_text(s, g, e->key ? e->key : e->uri);
}

static int print(struct dft_graph_cmd *c)
{
	struct dft_sheet s;
	uint64_t undeclared = 0;
	int rc = dft_sheet_begin(&s, c->style, stdout, "entities", cols, NCOLS);

	for (uint32_t i = 0; i < c->g.ents.n && !rc; i++) {
		const struct dft_ent *e = DFT_ENTS(&c->g) + i;

		if (!dft_graph_shows_ent(&c->g, i, c->sides) || !dft_graph_passes(c, e))
			continue;
		undeclared += !e->declared && !e->late;
		row(&s, c, i);
	}
	rc = dft_sheet_end(&s);
	if (!rc && c->style == DFT_STYLE_JSON)
		dft_json_u64(&s.json, "undeclared", undeclared);
	if (dft_sheet_close(&s))
		rc = -ENOMEM;
	if (!rc && c->style == DFT_STYLE_TEXT && undeclared)
		printf("\n%llu of them %s declared nowhere in the trace\n",
		       (unsigned long long)undeclared, undeclared == 1 ? "is" : "are");
	return rc;
}

static int run_entities(int argc, char **argv)
{
	static struct dft_graph_cmd c = { .name = "entities" };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		}
		if (!dft_graph_opt(&c, opt))
			return dft_usage_option(c.name, argv);
	}
	if (optind == argc)
		return dft_usage(c.name, "no DIR or FILE given");
	rc = dft_graph_read(&c, argc - optind, argv + optind);
	if (!rc) {
		rc = print(&c);
		if (rc)
			dft_graph_no_memory(c.name);
	}
	return dft_graph_exit(&c, rc);
}

const struct dft_cmd dft_cmd_entities = {
	.name = "entities",
	.run = run_entities,
	.brief = "data, files, programs and pipes, and how often they were used and made",
};
