// SPDX-License-Identifier: MIT
/* Formats of the graph: all read alike. */
#include "export.h"
#include "graph_cmd.h"
#include "graph_export.h"

static int export_graph(int argc, char **argv, const struct dft_export_opts *opts,
			int (*write)(const struct dft_graph *g, unsigned int sides, FILE *f))
{
	static struct dft_graph_cmd c = { .name = "export" };
	struct dft_export_file file;
	int rc;

	c.said = true;
	c.sides = opts->sides;
	rc = dft_graph_read(&c, argc, argv);
	if (!rc && !c.pass.stat.files && c.pass.files.errors)
		return dft_graph_exit(&c, rc); /* nothing could be read, and that was told */
	if (!rc)
		rc = dft_export_open(&file, opts);
	if (rc)
		return dft_graph_exit(&c, rc);
	rc = write(&c.g, c.sides, file.f);
	if (rc)
		dft_graph_no_memory(c.name);
	return dft_graph_exit(&c, dft_export_close(&file, rc));
}

static int run_prov_json(int argc, char **argv, const struct dft_export_opts *opts)
{
	return export_graph(argc, argv, opts, dft_graph_prov_json);
}

static int run_prov_n(int argc, char **argv, const struct dft_export_opts *opts)
{
	return export_graph(argc, argv, opts, dft_graph_prov_n);
}

static int write_dot(const struct dft_graph *g, unsigned int sides, FILE *f)
{
	return dft_graph_dot(g, &(struct dft_graph_part){ .sides = sides }, f);
}

static int run_dot(int argc, char **argv, const struct dft_export_opts *opts)
{
	return export_graph(argc, argv, opts, write_dot);
}

const struct dft_exporter dft_export_prov_json = {
	"prov-json", "provenance, W3C PROV in JSON", run_prov_json,
};

const struct dft_exporter dft_export_prov_n = {
	"prov-n", "provenance, W3C PROV as text", run_prov_n,
};

const struct dft_exporter dft_export_dot = {
	"dot", "provenance as a graph for graphviz", run_dot,
};
