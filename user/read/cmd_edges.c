// SPDX-License-Identifier: MIT
/* edges, and made, which counts some of them. */
#include "cmd.h"
#include "graph_cmd.h"

static const struct option options[] = {
	DFT_GRAPH_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

static const char edges_help[] =
	"Usage: dftrace edges [OPTIONS] DIR|FILE...\n"
	"Lists what each activity used, generated, updated and invalidated: one row for each\n"
	"activity, relation and entity. In JSON also the edges between entities.\n"
	"\n"
	DFT_GRAPH_SIDES
	"      --json        print one JSON object\n"
	"      --csv         print CSV\n"
	"  -h, --help        print this help\n"
	DFT_GRAPH_HELP;

static const char made_help[] =
	"Usage: dftrace made [OPTIONS] DIR|FILE...\n"
	"Counts what was generated, by step and type of entity.\n"
	"\n"
	DFT_GRAPH_SIDES
	"                    (default: --annotated when anything is annotated, else --auto)\n"
	"      --json        print one JSON object\n"
	"      --csv         print CSV\n"
	"  -h, --help        print this help\n"
	DFT_GRAPH_HELP;

/* ---- edges ---------------------------------------------------------------------------------- */

static const struct dft_col edge_cols[] = {
	{ "ts", NULL, true },	       { "dur", NULL, true },
	{ "host", NULL, false },       { "activity", NULL, false },
	{ "step", NULL, false },       { "cat", NULL, false },
	{ "derived", NULL, true },     { "relation", NULL, false },
	{ "id", NULL, false },	       { "type", NULL, false },
	{ "entity", NULL, false },
};

static void host_cell(struct dft_sheet *s, const struct dft_graph *g, uint64_t host)
{
	struct dft_str name;

	if (host && dft_naming_get(&g->naming, DFT_NAME_HH, host, &name))
		dft_sheet_name(s, name);
	else if (host)
		dft_sheet_hash(s, host);
	else
		dft_sheet_none(s);
}

static void edge_row(struct dft_sheet *s, const struct dft_graph *g, const struct dft_rel *r)
{
	const struct dft_act *a = DFT_ACTS(g) + r->act;
	const struct dft_ent *e = DFT_ENTS(g) + r->ent;

	dft_sheet_u64(s, a->ts);
	dft_sheet_u64(s, a->dur);
	host_cell(s, g, a->host);
	dft_graph_cell_act(s, a);
	dft_graph_cell_text(s, g, a->label);
	dft_graph_cell_text(s, g, a->cat);
	dft_graph_cell_bool(s, a->derived);
	dft_sheet_text(s, dft_kind_name(r->kind));
	dft_sheet_hash(s, e->id);
	dft_graph_cell_text(s, g, e->type);
	dft_graph_cell_name(s, g, e);
}

/* In JSON: what relates entities to each other. */
static void between_entities(struct dft_sheet *s, const struct dft_graph_cmd *c)
{
	const struct dft_graph *g = &c->g;
	char name[DFT_EDGE_SZ];

	dft_json_array(&s->json, "between_entities");
	for (size_t i = 0; i < g->ers.n; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (!(e->side & c->sides))
			continue;
		dft_json_object(&s->json, NULL);
		dft_json_cstr(&s->json, "relation", dft_edge_name(e->relation, name));
		dft_json_hash(&s->json, "subject", DFT_ENTS(g)[e->subject].id);
		dft_json_hash(&s->json, "object", DFT_ENTS(g)[e->object].id);
		if (e->why)
			dft_out_name(&s->json, "why", "why_raw", dft_graph_str(g, e->why));
		dft_json_object_end(&s->json);
	}
	dft_json_array_end(&s->json);
}

static int print_edges(struct dft_graph_cmd *c)
{
	const struct dft_graph *g = &c->g;
	struct dft_sheet s;
	int rc = dft_sheet_begin(&s, c->style, stdout, "edges", edge_cols,
				 sizeof(edge_cols) / sizeof(edge_cols[0]));

	for (size_t i = 0; i < g->rels.n && !rc; i++)
		if (DFT_ACTS(g)[DFT_RELS(g)[i].act].side & c->sides)
			edge_row(&s, g, DFT_RELS(g) + i);
	rc = dft_sheet_end(&s);
	if (!rc && c->style == DFT_STYLE_JSON)
		between_entities(&s, c);
	return dft_sheet_close(&s) ? -ENOMEM : rc;
}

/* ---- made ----------------------------------------------------------------------------------- */

struct made {
	uint64_t step, type, n;
};

static const struct dft_col made_cols[] = {
	{ "step", NULL, false },
	{ "type", NULL, false },
	{ "generated", NULL, true },
};

static int by_step(const void *x, const void *y, void *g)
{
	const struct made *a = x, *b = y;
	int c = dft_graph_compare(g, a->step, b->step);

	return c ? c : dft_graph_compare(g, a->type, b->type);
}

/* The row of a step and a type; NULL when memory is short. */
static struct made *made_row(struct dft_rows *rows, struct dft_index *at, uint64_t step, uint64_t type)
{
	const uint64_t parts[] = { step, type };
	bool fresh;

	for (uint64_t key = dft_hash_bytes(9, parts, sizeof(parts));; key++) {
		uint64_t *slot = dft_index_put(at, key, &fresh);
		struct made *m;

		if (!slot)
			return NULL;
		if (fresh) {
			m = dft_rows_add(rows, sizeof(*m));
			if (!m)
				return NULL;
			*slot = rows->n - 1;
			m->step = step;
			m->type = type;
			return m;
		}
		m = (struct made *)rows->v + *slot;
		if (m->step == step && m->type == type)
			return m;
	}
}

static int count_made(struct dft_graph_cmd *c, struct dft_rows *rows)
{
	const struct dft_graph *g = &c->g;
	struct dft_index at = { 0 };
	int rc = 0;

	for (size_t i = 0; i < g->rels.n && !rc; i++) {
		const struct dft_rel *r = DFT_RELS(g) + i;
		struct made *m;

		if (r->kind != DFT_GENERATED || !(DFT_ACTS(g)[r->act].side & c->sides))
			continue;
		m = made_row(rows, &at, DFT_ACTS(g)[r->act].label, DFT_ENTS(g)[r->ent].type);
		if (m)
			m->n++;
		else
			rc = -ENOMEM;
	}
	dft_index_free(&at);
	if (!rc && rows->n)
		qsort_r(rows->v, rows->n, sizeof(struct made), by_step, (void *)g);
	return rc;
}

static int print_made(struct dft_graph_cmd *c)
{
	struct dft_rows rows = { 0 };
	struct dft_sheet s;
	int rc = count_made(c, &rows), err;

	if (!rc)
		rc = dft_sheet_begin(&s, c->style, stdout, "made", made_cols,
				     sizeof(made_cols) / sizeof(made_cols[0]));
	if (rc) {
		dft_rows_free(&rows);
		return rc;
	}
	for (size_t i = 0; i < rows.n; i++) {
		const struct made *m = (const struct made *)rows.v + i;

		dft_graph_cell_text(&s, &c->g, m->step);
		dft_graph_cell_text(&s, &c->g, m->type);
		dft_sheet_u64(&s, m->n);
	}
	dft_rows_free(&rows);
	rc = dft_sheet_end(&s);
	err = dft_sheet_close(&s);
	return rc ? rc : err;
}

/* Without being asked for, what programs say comes before what can be seen of them. */
static unsigned int sides_there(const struct dft_graph *g)
{
	for (size_t i = 0; i < g->acts.n; i++)
		if (DFT_ACTS(g)[i].side == DFT_ANNOTATED)
			return DFT_ANNOTATED;
	return DFT_AUTO;
}

/* ---- both ----------------------------------------------------------------------------------- */

static int run(struct dft_graph_cmd *c, const char *help, int (*print)(struct dft_graph_cmd *c),
	       int argc, char **argv)
{
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		}
		if (!dft_graph_opt(c, opt))
			return dft_usage_option(c->name, argv);
	}
	if (optind == argc)
		return dft_usage(c->name, "no DIR or FILE given");
	rc = dft_graph_read(c, argc - optind, argv + optind);
	if (!rc) {
		if (!c->said && print == print_made)
			c->sides = sides_there(&c->g);
		rc = print(c);
		if (rc)
			dft_graph_no_memory(c->name);
	}
	return dft_graph_exit(c, rc);
}

static int run_edges(int argc, char **argv)
{
	static struct dft_graph_cmd c = { .name = "edges" };

	return run(&c, edges_help, print_edges, argc, argv);
}

static int run_made(int argc, char **argv)
{
	static struct dft_graph_cmd c = { .name = "made" };

	return run(&c, made_help, print_made, argc, argv);
}

const struct dft_cmd dft_cmd_edges = {
	.name = "edges",
	.run = run_edges,
	.brief = "what each activity used, generated, updated and invalidated",
};

const struct dft_cmd dft_cmd_made = {
	.name = "made",
	.run = run_made,
	.brief = "how much was generated, by step and type",
};
