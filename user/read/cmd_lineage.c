// SPDX-License-Identifier: MIT
/* lineage and impact: one walk, in two directions. */
#include <inttypes.h>

#include "cmd.h"
#include "graph_cmd.h"

static const struct option options[] = {
	{ "depth", required_argument, NULL, 'd' },
	{ "via", required_argument, NULL, 'v' },
	{ "er", no_argument, NULL, 'e' },
	{ "time-aware", no_argument, NULL, 'w' },
	DFT_GRAPH_FILTERS,
	DFT_GRAPH_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

#define HELP_REST                                                                            \
	"\n"                                                                                 \
	"ENTITY is an id, TYPE:KEY, or the path or uri of it; of one that is not absolute the\n" \
	"working directory is put before.\n"                                                 \
	"\n"                                                                                 \
	"      --depth N     go N hops at most\n"                                            \
	"      --via LIST    relations to follow, of used, generated, updated, invalidated\n" \
	"                    (default: used,generated,updated)\n"                            \
	"      --er          follow edges between entities, too\n"                           \
	"      --time-aware  leave out what was used only after the result was finished\n"   \
	DFT_GRAPH_FILTERS_HELP                                                               \
	DFT_GRAPH_SIDES                                                                      \
	"      --json        print one JSON object\n"                                        \
	"      --csv         print CSV\n"                                                    \
	"  -h, --help        print this help\n"                                              \
	DFT_GRAPH_HELP

static const char lineage_help[] =
	"Usage: dftrace lineage [OPTIONS] DIR|FILE... ENTITY\n"
	"What went into an entity: all that the activities which made it used, what went into\n"
	"that, and so on.\n"
	HELP_REST;

static const char impact_help[] =
	"Usage: dftrace impact [OPTIONS] DIR|FILE... ENTITY\n"
	"What came of an entity: all that was made by the activities which used it, what was made\n"
	"of that, and so on.\n"
	HELP_REST;

struct job {
	struct dft_graph_cmd c;
	struct dft_reach_opts walk;
	const char *help;
};

static const struct dft_col cols[] = {
	{ "depth", NULL, true },  { "type", NULL, false },     { "id", NULL, false },
	{ "how", NULL, false },	  { "activity", NULL, false }, { "step", NULL, false },
	{ "entity", NULL, false },
};

static bool shown(const struct job *job, const struct dft_visit *v)
{
	return v->how != DFT_BY_START && dft_graph_passes(&job->c, DFT_ENTS(&job->c.g) + v->ent);
}

static void row(struct dft_sheet *s, const struct dft_graph *g, const struct dft_visit *v)
{
	const struct dft_ent *e = DFT_ENTS(g) + v->ent;
	char edge[DFT_EDGE_SZ];

	dft_sheet_u64(s, v->depth);
	dft_graph_cell_text(s, g, e->type);
	dft_sheet_hash(s, e->id);
	if (v->how == DFT_BY_ACTIVITY)
		dft_sheet_text(s, "activity");
	else if (v->how == DFT_BY_EDGE)
		dft_sheet_text(s, dft_edge_name(DFT_ERS(g)[v->nr].relation, edge));
	else
		dft_sheet_text(s, "same");
	if (v->how == DFT_BY_ACTIVITY) {
		dft_graph_cell_act(s, DFT_ACTS(g) + v->nr);
		dft_graph_cell_text(s, g, DFT_ACTS(g)[v->nr].label);
	} else {
		dft_sheet_none(s);
		dft_sheet_none(s);
	}
	dft_graph_cell_name(s, g, e);
}

/* Of the activities that were passed: of how many calls or relations were lost. */
static uint64_t lacking(const struct dft_graph *g, const struct dft_reach *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->acts.n; i++)
		n += r->acts[i] && DFT_ACTS(g)[i].lacks;
	return n;
}

static void json_rest(struct dft_json *json, const struct job *job, uint32_t start,
		      const struct dft_reach *r, size_t total, const struct dft_type_count *types,
		      size_t ntypes)
{
	const struct dft_graph *g = &job->c.g;
	const struct dft_ent *e = DFT_ENTS(g) + start;

	dft_json_object(json, "entity");
	dft_json_hash(json, "id", e->id);
	if (e->type)
		dft_out_name(json, "type", "type_raw", dft_graph_str(g, e->type));
	dft_out_name(json, "uri", "uri_raw", dft_graph_name(g, e));
	dft_json_object_end(json);
	dft_json_cstr(json, "sides", dft_graph_sides_name(job->walk.sides));
	dft_json_u64(json, "total", total);
	dft_json_u64(json, "activities", r->acts_cnt);
	dft_json_u64(json, "incomplete", lacking(g, r));
	dft_json_array(json, "by_type");
	for (size_t i = 0; i < ntypes; i++) {
		dft_json_object(json, NULL);
		dft_out_name(json, "type", "type_raw", dft_graph_str(g, types[i].type));
		dft_json_u64(json, "count", types[i].n);
		dft_json_object_end(json);
	}
	dft_json_array_end(json);
}

static bool has_runs(const struct dft_graph *g)
{
	for (size_t i = 0; i < g->acts.n; i++)
		if (DFT_ACTS(g)[i].side == DFT_AUTO)
			return true;
	return false;
}

static void text_rest(const struct job *job, const struct dft_reach *r, size_t total,
		      const struct dft_type_count *types, size_t ntypes)
{
	const struct dft_graph *g = &job->c.g;
	uint64_t lack = lacking(g, r);
	char safe[256];

	printf("\n%zu %s through %zu %s", total, total == 1 ? "entity" : "entities",
	       r->acts_cnt, r->acts_cnt == 1 ? "activity" : "activities");
	for (size_t i = 0; i < ntypes; i++)
		printf("%s%" PRIu64 " %s", i ? ", " : ": ", types[i].n,
		       types[i].type ? dft_safe(safe, sizeof(safe), dft_graph_str(g, types[i].type)) :
				       "of unknown type");
	if (lack)
		printf(" (something may be missing: of %" PRIu64 " of the activities calls were lost)",
		       lack);
	/* The choice was ours, then: say that there is another. */
	if (job->walk.sides != job->c.sides && has_runs(g))
		fputs(" (of annotations; --all adds runs of programs)", stdout);
	putchar('\n');
}

static int print(struct job *job, uint32_t start, const struct dft_reach *r)
{
	const struct dft_graph *g = &job->c.g;
	uint32_t *ents = calloc(r->n + 1, sizeof(*ents));
	struct dft_type_count *types = NULL;
	size_t n = 0, ntypes = 0;
	struct dft_sheet s;
	int rc = -ENOMEM, err;

	for (size_t i = 0; ents && i < r->n; i++)
		if (shown(job, &r->visits[i]))
			ents[n++] = r->visits[i].ent;
	if (ents)
		rc = dft_count_types(g, ents, n, &types, &ntypes);
	free(ents);
	if (rc)
		return rc;
	rc = dft_sheet_begin(&s, job->c.style, stdout, "reached", cols,
			     sizeof(cols) / sizeof(cols[0]));
	for (size_t i = 0; i < r->n && !rc; i++)
		if (shown(job, &r->visits[i]))
			row(&s, g, &r->visits[i]);
	rc = dft_sheet_end(&s);
	if (!rc && job->c.style == DFT_STYLE_JSON)
		json_rest(&s.json, job, start, r, n, types, ntypes);
	err = dft_sheet_close(&s);
	rc = rc ? rc : err;
	if (!rc && job->c.style == DFT_STYLE_TEXT)
		text_rest(job, r, n, types, ntypes);
	free(types);
	return rc;
}

static int answer(struct job *job, const char *what)
{
	struct dft_reach r = { 0 };
	uint32_t start;
	int rc = dft_graph_find(&job->c, what, &start);

	if (!rc) {
		job->walk.sides = dft_graph_walk_sides(&job->c, start);
		rc = dft_reach(&job->c.g, start, &job->walk, &r);
	}
	if (!rc)
		rc = print(job, start, &r);
	dft_reach_free(&r);
	if (rc == -ENOMEM)
		dft_graph_no_memory(job->c.name);
	return rc;
}

static bool parse_via(const char *list, unsigned int *via)
{
	*via = 0;
	for (;;) {
		size_t n = strcspn(list, ",");
		unsigned int kind = 0;

		while (kind < DFT_KINDS && (strlen(dft_kind_name(kind)) != n ||
					    memcmp(dft_kind_name(kind), list, n) != 0))
			kind++;
		if (kind == DFT_KINDS)
			return false;
		*via |= 1u << kind;
		if (!list[n])
			return true;
		list += n + 1;
	}
}

/* DFT_EXIT_GOOD when the arguments are right. */
static int parse(struct job *job, int argc, char **argv, bool *done)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			if (!dft_decimal((struct dft_str){ optarg, strlen(optarg) },
					 &job->walk.depth) || !job->walk.depth)
				return dft_usage(job->c.name, "--depth %s: not a number from 1 on",
						 optarg);
			break;
		case 'v':
			if (!parse_via(optarg, &job->walk.via))
				return dft_usage(job->c.name, "--via %s: not a list of used, generated, "
						 "updated, invalidated", optarg);
			break;
		case 'e':
			job->walk.edges = true;
			break;
		case 'w':
			job->walk.time_aware = true;
			break;
		case 'h':
			*done = true;
			fputs(job->help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			if (!dft_graph_opt(&job->c, opt))
				return dft_usage_option(job->c.name, argv);
		}
	}
	if (argc - optind < 2)
		return dft_usage(job->c.name, "no DIR or FILE, or no ENTITY given");
	return DFT_EXIT_GOOD;
}

static int run(struct job *job, int argc, char **argv)
{
	bool done = false;
	int rc;

	job->walk.via = DFT_VIA_DEFAULT;
	rc = parse(job, argc, argv, &done);
	if (rc || done)
		return rc;
	rc = dft_graph_read(&job->c, argc - optind - 1, argv + optind);
	if (!rc)
		rc = answer(job, argv[argc - 1]);
	return dft_graph_exit(&job->c, rc);
}

static int run_lineage(int argc, char **argv)
{
	static struct job job = { .c.name = "lineage", .help = lineage_help };

	return run(&job, argc, argv);
}

static int run_impact(int argc, char **argv)
{
	static struct job job = { .c.name = "impact", .help = impact_help, .walk.impact = true };

	return run(&job, argc, argv);
}

const struct dft_cmd dft_cmd_lineage = {
	.name = "lineage",
	.run = run_lineage,
	.brief = "what went into an entity",
};

const struct dft_cmd dft_cmd_impact = {
	.name = "impact",
	.run = run_impact,
	.brief = "what came of an entity",
};
