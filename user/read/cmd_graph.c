// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "cmd.h"
#include "graph_cmd.h"
#include "graph_export.h"

static const struct option options[] = {
	{ "around", required_argument, NULL, 'r' },
	{ "depth", required_argument, NULL, 'd' },
	{ "er", no_argument, NULL, 'e' },
	{ "dot", no_argument, NULL, 'o' },
	{ "annotated", no_argument, NULL, 'n' },
	{ "auto", no_argument, NULL, 'a' },
	{ "all", no_argument, NULL, 'A' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace graph [OPTIONS] DIR|FILE...\n"
	"Shows which activities used and made which entities: each activity in order of time, with\n"
	"its entities below it.\n"
	"\n"
	"      --around ENTITY  only what went into an entity and what came of it (ENTITY as\n"
	"                    for dftrace lineage)\n"
	"      --depth N     with --around: N hops in both directions at most\n"
	"      --er          with --around: follow edges between entities, too\n"
	DFT_GRAPH_SIDES
	"      --dot         print a graph for graphviz\n"
	"      --json        print one JSON object: nodes and edges\n"
	"  -h, --help        print this help\n"
	DFT_GRAPH_HELP;

struct job {
	struct dft_graph_cmd c;
	struct dft_reach_opts walk;
	const char *around;
	bool dot;
	uint8_t *ents, *acts; /* what is shown; NULL: everything */
	struct dft_graph_part part;
};

/* ---- JSON ----------------------------------------------------------------------------------- */

#define BUFFERED (64u << 10)

static int drain(struct dft_buf *buf)
{
	return buf->len < BUFFERED && !buf->failed ? 0 : dft_out_buf(buf, stdout);
}

static void json_ent(struct dft_json *json, const struct dft_graph *g, uint32_t i)
{
	const struct dft_ent *e = DFT_ENTS(g) + i;
	const char *store = dft_store_name(e->store);

	dft_json_object(json, NULL);
	dft_json_cstr(json, "kind", "entity");
	dft_json_hash(json, "id", e->id);
	if (e->type)
		dft_out_name(json, "type", "type_raw", dft_graph_str(g, e->type));
	if (store)
		dft_json_cstr(json, "store", store);
	if (e->uri)
		dft_out_name(json, "uri", "uri_raw", dft_graph_str(g, e->uri));
	if (e->key)
		dft_out_name(json, "key", "key_raw", dft_graph_str(g, e->key));
	dft_json_hash(json, "same_as", DFT_ENTS(g)[e->group].id);
	dft_json_object_end(json);
}

static void json_act(struct dft_json *json, const struct dft_graph *g, uint32_t i)
{
	const struct dft_act *a = DFT_ACTS(g) + i;
	char name[DFT_ACT_SZ];

	dft_json_object(json, NULL);
	dft_json_cstr(json, "kind", "activity");
	dft_json_u64(json, "nr", i);
	dft_json_cstr(json, "activity", dft_act_name(name, a));
	dft_json_hash(json, "hhash", a->host);
	dft_out_name(json, "step", "step_raw", dft_graph_str(g, a->label));
	dft_out_name(json, "cat", "cat_raw", dft_graph_str(g, a->cat));
	dft_json_u64(json, "ts", a->ts);
	dft_json_u64(json, "dur", a->dur);
	dft_json_bool(json, "derived", a->derived);
	dft_json_object_end(json);
}

static int json_nodes(const struct job *job, struct dft_json *json)
{
	const struct dft_graph *g = &job->c.g;
	int rc = 0;

	dft_json_array(json, "nodes");
	for (uint32_t i = 0; i < g->ents.n && !rc; i++)
		if (dft_part_has_ent(g, &job->part, i)) {
			json_ent(json, g, i);
			rc = drain(json->buf);
		}
	for (uint32_t i = 0; i < g->acts.n && !rc; i++)
		if (dft_part_has_act(g, &job->part, i)) {
			json_act(json, g, i);
			rc = drain(json->buf);
		}
	dft_json_array_end(json);
	return rc;
}

static int json_edges(const struct job *job, struct dft_json *json)
{
	const struct dft_graph *g = &job->c.g;
	char edge[DFT_EDGE_SZ];
	int rc = 0;

	dft_json_array(json, "edges");
	for (size_t i = 0; i < g->rels.n && !rc; i++) {
		const struct dft_rel *r = DFT_RELS(g) + i;

		if (!dft_part_has_act(g, &job->part, r->act) ||
		    !dft_part_has_ent(g, &job->part, r->ent))
			continue;
		dft_json_object(json, NULL);
		dft_json_u64(json, "activity", r->act);
		dft_json_cstr(json, "relation", dft_kind_name(r->kind));
		dft_json_hash(json, "entity", DFT_ENTS(g)[r->ent].id);
		dft_json_object_end(json);
		rc = drain(json->buf);
	}
	for (size_t i = 0; i < g->ers.n && !rc; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (!(e->side & job->c.sides) || !dft_part_has_ent(g, &job->part, e->subject) ||
		    !dft_part_has_ent(g, &job->part, e->object))
			continue;
		dft_json_object(json, NULL);
		dft_json_hash(json, "subject", DFT_ENTS(g)[e->subject].id);
		dft_json_cstr(json, "relation", dft_edge_name(e->relation, edge));
		dft_json_hash(json, "object", DFT_ENTS(g)[e->object].id);
		dft_json_object_end(json);
		rc = drain(json->buf);
	}
	dft_json_array_end(json);
	return rc;
}

static int print_json(const struct job *job)
{
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	int rc;

	dft_json_object(&json, NULL);
	rc = json_nodes(job, &json);
	if (!rc)
		rc = json_edges(job, &json);
	dft_json_object_end(&json);
	dft_buf_putc(&buf, '\n');
	if (!rc)
		rc = dft_out_buf(&buf, stdout);
	dft_buf_free(&buf);
	return rc;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void text_ent(const struct dft_graph *g, const char *relation, uint32_t ent, char *safe)
{
	const struct dft_ent *e = DFT_ENTS(g) + ent;

	printf("    %-11s  %016" PRIx64, relation, e->id);
	if (e->type)
		printf("  %s", dft_safe(safe, DFT_SAFE_SZ, dft_graph_str(g, e->type)));
	if (dft_graph_name(g, e).n)
		printf("  %s", dft_safe(safe, DFT_SAFE_SZ, dft_graph_name(g, e)));
	putchar('\n');
}

static void text_act(const struct job *job, uint32_t act, char *safe)
{
	const struct dft_graph *g = &job->c.g;
	const struct dft_act *a = DFT_ACTS(g) + act;
	char name[DFT_ACT_SZ], dur[DFT_UNIT_SZ];

	printf("%s", dft_safe(safe, DFT_SAFE_SZ, dft_graph_str(g, a->label)));
	printf("  %s  %s  %s%s\n", dft_act_name(name, a),
	       dft_safe(safe, DFT_SAFE_SZ, dft_graph_str(g, a->cat)),
	       dft_human_ns(dur, dft_mul_sat(a->dur, a->unit_ns)), a->derived ? "  derived" : "");
	for (uint32_t i = g->of_act.at[act]; i < g->of_act.at[act + 1]; i++) {
		const struct dft_rel *r = DFT_RELS(g) + g->of_act.v[i];

		if (dft_part_has_ent(g, &job->part, r->ent))
			text_ent(g, dft_kind_name(r->kind), r->ent, safe);
	}
}

static int print_text(const struct job *job)
{
	const struct dft_graph *g = &job->c.g;
	char *safe = malloc(DFT_SAFE_SZ), edge[DFT_EDGE_SZ];
	bool head = false;

	if (!safe)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->acts.n; i++)
		if (dft_part_has_act(g, &job->part, i))
			text_act(job, i, safe);
	for (size_t i = 0; i < g->ers.n; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (!(e->side & job->c.sides) || !dft_part_has_ent(g, &job->part, e->subject) ||
		    !dft_part_has_ent(g, &job->part, e->object))
			continue;
		if (!head)
			puts("between entities");
		head = true;
		printf("    %016" PRIx64 "  %s  %016" PRIx64 "\n", DFT_ENTS(g)[e->subject].id,
		       dft_edge_name(e->relation, edge), DFT_ENTS(g)[e->object].id);
	}
	free(safe);
	return 0;
}

/* ---- around an entity ----------------------------------------------------------------------- */

static int mark(struct job *job, uint32_t start, bool impact)
{
	struct dft_reach r = { 0 };
	int rc;

	job->walk.impact = impact;
	rc = dft_reach(&job->c.g, start, &job->walk, &r);
	for (size_t i = 0; i < r.n && !rc; i++)
		job->ents[r.visits[i].ent] = 1;
	for (size_t i = 0; i < job->c.g.acts.n && !rc; i++)
		job->acts[i] |= r.acts[i];
	dft_reach_free(&r);
	return rc;
}

static int look_around(struct job *job)
{
	uint32_t start;
	int rc = dft_graph_find(&job->c, job->around, &start);

	if (rc)
		return rc;
	job->ents = calloc(job->c.g.ents.n + 1, 1);
	job->acts = calloc(job->c.g.acts.n + 1, 1);
	if (!job->ents || !job->acts)
		return -ENOMEM;
	job->c.sides = job->walk.sides = dft_graph_walk_sides(&job->c, start);
	job->walk.via = DFT_VIA_DEFAULT;
	rc = mark(job, start, false);
	return rc ? rc : mark(job, start, true);
}

static int answer(struct job *job)
{
	int rc = job->around ? look_around(job) : 0;

	job->part = (struct dft_graph_part){ job->ents, job->acts, job->c.sides };
	if (!rc)
		rc = job->dot ? dft_graph_dot(&job->c.g, &job->part, stdout) :
		     job->c.style == DFT_STYLE_JSON ? print_json(job) : print_text(job);
	free(job->ents);
	free(job->acts);
	if (rc == -ENOMEM)
		dft_graph_no_memory(job->c.name);
	return rc;
}

static int run_graph(int argc, char **argv)
{
	static struct job job = { .c.name = "graph" };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'r':
			job.around = optarg;
			break;
		case 'd':
			if (!dft_decimal((struct dft_str){ optarg, strlen(optarg) },
					 &job.walk.depth) || !job.walk.depth)
				return dft_usage("graph", "--depth %s: not a number from 1 on", optarg);
			break;
		case 'e':
			job.walk.edges = true;
			break;
		case 'o':
			job.dot = true;
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			if (!dft_graph_opt(&job.c, opt))
				return dft_usage_option("graph", argv);
		}
	}
	if (optind == argc)
		return dft_usage("graph", "no DIR or FILE given");
	if (!job.around && (job.walk.depth || job.walk.edges))
		return dft_usage("graph", "--depth and --er are for --around ENTITY");
	rc = dft_graph_read(&job.c, argc - optind, argv + optind);
	if (!rc)
		rc = answer(&job);
	return dft_graph_exit(&job.c, rc);
}

const struct dft_cmd dft_cmd_graph = {
	.name = "graph",
	.run = run_graph,
	.brief = "activities and entities, all or around one, also for graphviz",
};
