// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "extsort.h"
#include "log.h"
#include "marker.h"
#include "out.h"
#include "outpath.h"
#include "parts.h"
#include "pass.h"
#include "view.h"
#include "where.h"

enum by {
	BY_NONE = 0,
	BY_PROCESS,
	BY_HOST,
	BY_SIZE,
	BY_TIME,
};

/* A process or a host. */
struct part {
	uint64_t pid, host, program;
	bool has_host;
};

struct run {
	struct dft_view view;
	struct dft_parts parts;
	struct dft_extsort *sort; /* lines by part; NULL: by size, as they come */
	struct dft_index part_at;
	struct part *v;
	size_t n, cap;
	const char *dir;
	enum by by;
	uint64_t size, interval_ns;
	uint64_t now;       /* part of the lines that have no time */
	unsigned int moved; /* what the files say of themselves: enum dft_rearranged */
	uint64_t written;   /* parts */
	bool force;
};

/* Before each line in the sorter. */
struct kept {
	uint64_t unit_ns;
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "by", required_argument, NULL, 'b' },
	{ "size", required_argument, NULL, 's' },
	{ "interval", required_argument, NULL, 'i' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace split HOW [OPTIONS] -o OUTDIR DIR|FILE...\n"
	"Makes many trace files of one, or of several. Each can be read alone.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"HOW:\n"
	"      --by process       a file for each process, as the tracer writes them\n"
	"      --by host          a file for each host\n"
	"      --size SIZE        files of so many bytes of text: 100M\n"
	"      --interval TIME    a file for each time of that length: 60s\n"
	"\n"
	"  -o, --output OUTDIR    write there\n"
	"      --force            replace what is there\n"
	"  -h, --help             print this help\n"
	"\n"
	"Exit status: 0 everything is in OUTDIR; 1 something was damaged, cut or unreadable (the\n"
	"rest is there); 2 wrong usage. An unfinished file alone is a warning.\n";

/* ---- which part ----------------------------------------------------------------------------- */

static int new_part(struct run *r, const struct dft_whose *w, uint64_t *at)
{
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct part *v = realloc(r->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		r->v = v;
		r->cap = cap;
	}
	r->v[r->n] = (struct part){ .pid = w->pid, .host = w->hhash, .has_host = w->has_host };
	*at = ++r->n;
	return 0;
}

/* By process or host: part numbers from 1 on, 0: -ENOMEM. */
static uint64_t part_of(struct run *r)
{
	const struct dft_record *rec = r->view.r;
	struct dft_whose w;
	struct part *p;
	uint64_t *at;
	bool fresh;

	dft_whose_of(&w, rec, r->view.json);
	at = dft_index_put(&r->part_at, r->by == BY_HOST ? w.hhash : r->view.process, &fresh);
	if (!at || (fresh && new_part(r, &w, at)))
		return 0;
	p = &r->v[*at - 1];
	if (!p->program)
		p->program = r->view.program;
	return *at;
}

static int add_line(struct run *r, struct dft_str line)
{
	const struct kept kept = { r->view.unit_ns };
	unsigned char key[8];
	uint64_t part;

	/* Each part has those that it needs, in front of what needs them. */
	if (r->by != BY_TIME && r->view.r->ph == DFT_PH_METADATA && DFT_STR_IS(r->view.r->name, "HH"))
		return 0;
	if (r->by == BY_TIME) {
		/* What stands before the first event is with what comes first. */
		if (r->view.r->has & DFT_F_TS)
			r->now = dft_view_ts(&r->view) / r->interval_ns + 1;
		part = r->now;
	} else {
		part = part_of(r);
		if (!part)
			return -ENOMEM;
	}
	dft_key_u64(key, part);
	return dft_extsort_add(r->sort, (struct dft_str){ (char *)key, sizeof(key) }, &kept,
			       sizeof(kept), line);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void name_safe(char *to, size_t cap, struct dft_str s)
{
	size_t n = s.n < cap - 1 ? s.n : cap - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = isalnum((unsigned char)s.s[i]) || strchr("_.+-", s.s[i] ? s.s[i] : '/') ?
				s.s[i] : '_';
	to[n] = '\0';
	/* Such names mean something else. */
	if (!n || to[0] == '.')
		to[0] = '_';
	if (!n)
		to[1] = '\0';
}

static char *part_path(struct run *r, uint64_t nr)
{
	struct dft_str s = { "unknown", 7 };
	const struct part *p = nr ? &r->v[nr - 1] : NULL;
	char name[128], *path;
	uint64_t hex;
	int n;

	if (r->by == BY_SIZE || r->by == BY_TIME || !p) {
		n = asprintf(&path, "%s/part-%06" PRIu64 ".pfw.gz", r->dir, r->written + 1);
		return n < 0 ? NULL : path;
	}
	if (r->by == BY_HOST) {
		if (p->has_host && !dft_naming_get(&r->view.names, DFT_NAME_HH, p->host, &s))
			s = (struct dft_str){ "unknown", 7 };
	} else if (p->program) {
		s = dft_strings_at(&r->view.programs, p->program);
	}
	name_safe(name, sizeof(name), s);
	hex = dft_hash_bytes(p->host, &nr, sizeof(nr));
	n = r->by == BY_HOST ? asprintf(&path, "%s/%s-%016" PRIx64 ".pfw.gz", r->dir, name, p->host) :
			       asprintf(&path, "%s/%s-%" PRIu64 "-%016" PRIx64 ".pfw.gz", r->dir,
					name, p->pid, hex);
	return n < 0 ? NULL : path;
}

static int open_part(struct run *r, uint64_t nr)
{
	char *path = part_path(r, nr);
	int rc = path ? dft_parts_open(&r->parts, path, r->force) : -ENOMEM;

	free(path);
	r->written += !rc;
	return rc;
}

/* What is to be said of the parts; a process that is whole, in its order, is an ordinary file. */
static const char *about(const struct run *r)
{
	if (r->by == BY_SIZE || r->by == BY_TIME || r->moved & DFT_REARRANGED_SPLIT)
		return "split";
	if (r->moved & DFT_REARRANGED_RECOVER)
		return "recover";
	if (r->moved & DFT_REARRANGED_SORT)
		return "sort";
	return r->by == BY_HOST ? "merge" : NULL;
}

static int write_parts(struct run *r)
{
	struct dft_str key, data;
	uint64_t part = UINT64_MAX, nr;
	struct kept kept;
	int rc = dft_extsort_finish(r->sort);

	while (!rc && (rc = dft_extsort_next(r->sort, &key, &data)) == 1) {
		rc = 0;
		nr = 0;
		for (size_t i = 0; i < 8; i++)
			nr = nr << 8 | (unsigned char)key.s[i];
		if (nr != part && part != 0)
			rc = dft_parts_close(&r->parts, 0);
		if (!rc && !r->parts.open)
			rc = open_part(r, nr);
		part = nr;
		memcpy(&kept, data.s, sizeof(kept));
		if (!rc)
			rc = dft_parts_line(&r->parts, (struct dft_str){ data.s + sizeof(kept),
					    data.n - sizeof(kept) }, about(r), kept.unit_ns);
	}
	return rc;
}

/* By size: as they come. */
static int write_line(struct run *r, struct dft_str line)
{
	int rc = 0;

	if (r->parts.open && r->parts.out.bytes && r->parts.out.bytes + line.n >= r->size)
		rc = dft_parts_close(&r->parts, 0);
	if (!rc && !r->parts.open)
		rc = open_part(r, 0);
	return rc ? rc : dft_parts_line(&r->parts, line, about(r), r->view.unit_ns);
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	r->now = 0;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct dft_str text = dft_bare_line(line->s, line->n);
	struct run *r = ctx;
	unsigned int moved = dft_rearranged_of(rec, json);
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	r->moved |= moved;
	if (rc || moved)
		return rc;
	if (rec->ph == DFT_PH_METADATA)
		rc = dft_parts_learn(&r->parts, rec, json, text);
	if (rc)
		return rc;
	return r->sort ? add_line(r, text) : write_line(r, text);
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
};

static int split(struct run *r, struct dft_pass *p, int argc, char **argv)
{
	const struct dft_extsort_opts so = { 0 };
	int rc = dft_outpath_dir(r->dir);

	if (rc)
		return rc;
	if (r->by != BY_SIZE) {
		r->sort = dft_extsort_new(&so);
		if (!r->sort)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = dft_pass_run(p, argc, argv);
	if (!rc && r->sort) {
		rc = write_parts(r);
		if (rc)
			dft_error("split: %s (not all parts were written)", strerror(-rc));
	}
	return dft_parts_close(&r->parts, rc);
}

static int parse_how(struct run *r, enum by by, const char *arg)
{
	struct dft_value v;
	bool is_time;
	size_t n;

	if (r->by)
		return dft_usage("split", "only one of --by, --size and --interval");
	r->by = by;
	if (by == BY_NONE) {
		r->by = !strcmp(arg, "process") ? BY_PROCESS : !strcmp(arg, "host") ? BY_HOST : BY_NONE;
		return r->by ? 0 : dft_usage("split", "--by %s: neither process nor host", arg);
	}
	n = dft_number_parse(arg, &v, &is_time);
	if (!n || arg[n] || v.kind != DFT_VALUE_INT || v.i < 1 || v.i > INT64_MAX ||
	    is_time != (by == BY_TIME))
		return by == BY_TIME ? dft_usage("split", "--interval %s: not a time, as 60s", arg) :
				       dft_usage("split", "--size %s: not a size, as 100M", arg);
	r->size = r->interval_ns = (uint64_t)v.i;
	return 0;
}

static int run_split(int argc, char **argv)
{
	static struct run r;
	struct dft_pass p = { .cmd = "split", .ops = &ops, .ctx = &r, .in_order = true };
	const char *below;
	int opt, rc = 0;

	while (!rc && (opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'o':
			r.dir = optarg;
			break;
		case 'b':
			rc = parse_how(&r, BY_NONE, optarg);
			break;
		case 's':
			rc = parse_how(&r, BY_SIZE, optarg);
			break;
		case 'i':
			rc = parse_how(&r, BY_TIME, optarg);
			break;
		case 'f':
			r.force = true;
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			rc = dft_usage_option("split", argv);
		}
	}
	if (rc)
		return rc;
	if (!r.by)
		return dft_usage("split", "none of --by, --size and --interval given");
	if (!r.dir)
		return dft_usage("split", "no -o OUTDIR given");
	if (optind == argc)
		return dft_usage("split", "no DIR or FILE given");
	below = dft_outpath_below(r.dir, argc - optind, argv + optind);
	if (below)
		return dft_usage("split", "-o %s: is below %s, which would be read twice from then on", r.dir,
				 below);
	rc = split(&r, &p, argc - optind, argv + optind);
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_extsort_free(r.sort);
	dft_index_free(&r.part_at);
	dft_view_free(&r.view);
	dft_parts_free(&r.parts);
	free(r.v);
	return rc;
}

const struct dft_cmd dft_cmd_split = {
	.name = "split",
	.run = run_split,
	.brief = "many trace files of one: by process, host, size or time",
};
