// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "moved.h"
#include "out.h"
#include "pass.h"
#include "sheet.h"
#include "timeline.h"
#include "view.h"
#include "where.h"

#define FINE	  640    /* intervals, of which about 60 are made */
#define EXACT_MAX 100000 /* when their length was asked for */
#define TOP	  5
#define HOST_MAX  255 /* bytes of a name that is shown; of a program there are no more, either */
#define LABEL_SZ  640

enum by {
	BY_NONE = 0,
	BY_OP,
	BY_FILE,
	BY_PROCESS,
};

/* Names of groups, which are told apart by a hash. */
struct labels {
	struct dft_index at;   /* group -> place in texts, 0: none */
	struct dft_index with; /* group -> program that the label names, + 1 */
	struct dft_strings texts;
};

struct state {
	struct dft_view view;
	struct dft_timeline total, groups;
	struct labels labels;
	uint64_t file_nr;
	bool begun;
};

struct group {
	uint64_t id, bytes, ops;
	uint64_t nth; /* of those of one label, from 1 on */
	struct dft_str label;
};

struct run {
	enum by by;
	enum dft_style style;
	uint64_t interval_ns, top;
	bool plot;
	/* The result: */
	struct state sum;
	struct dft_timeline shown; /* groups are ranks from 0 on; of the total only 0 */
	struct group *groups;
	size_t ngroups;
	uint64_t base_ns;
};

static const struct option options[] = {
	{ "interval", required_argument, NULL, 'i' },
	{ "by", required_argument, NULL, 'b' },
	{ "top", required_argument, NULL, 't' },
	{ "plot", no_argument, NULL, 'p' },
	{ "json", no_argument, NULL, 'j' },
	{ "csv", no_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace timeline [OPTIONS] DIR|FILE...\n"
	"Shows when bytes were read and written, and how many calls there were.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"      --interval TIME  length of an interval, as 100ms (default: about 60 in all)\n"
	"      --by WHAT        apart by op, file or process\n"
	"      --top N          the N with most bytes, and all others together (default 5; 0: all)\n"
	"      --plot           draw bars\n"
	"      --json           print one JSON object\n"
	"      --csv            print CSV\n"
	"  -h, --help           print this help\n"
	"\n"
	"Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n"
	"is summed up); 2 wrong usage. An unfinished file alone is a warning.\n";

/* ---- the pass ------------------------------------------------------------------------------- */

static void begin_state(struct state *s, const struct run *r)
{
	uint64_t max = r->interval_ns ? EXACT_MAX : FINE;

	if (s->begun)
		return;
	dft_timeline_init(&s->total, r->interval_ns, max);
	dft_timeline_init(&s->groups, r->interval_ns, max);
	s->view.processes.alone = true;
	s->begun = true;
}

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct state *s = state;

	begin_state(s, ctx);
	s->file_nr = file->nr;
	dft_view_begin_file(&s->view, file->path);
	return 0;
}

static int set_label(struct labels *l, uint64_t group, struct dft_str text)
{
	bool fresh;
	uint64_t *at = dft_index_put(&l->at, group, &fresh);

	return at ? dft_strings_add(&l->texts, text, at) : -ENOMEM;
}

/* A process has the name of the program that ran last. */
static int label_process(struct state *s, uint64_t group)
{
	struct dft_str program = { "?", 1 }, host = { "", 0 };
	char text[LABEL_SZ];
	bool fresh;
	uint64_t *with = dft_index_put(&s->labels.with, group, &fresh);
	int n;

	if (!with)
		return -ENOMEM;
	/* A part of it may not tell any. */
	if (*with == s->view.program + 1 || (*with && !s->view.program))
		return 0;
	*with = s->view.program + 1;
	dft_view_program(&s->view, &program);
	dft_view_host(&s->view, &host);
	if (host.n > HOST_MAX)
		host.n = HOST_MAX;
	n = snprintf(text, sizeof(text), "%.*s (%.*s%s%" PRIu64 ")", (int)program.n, program.s, (int)host.n,
		     host.s, host.n ? ":" : "", s->view.r->pid);
	return set_label(&s->labels, group, (struct dft_str){ text, (size_t)n });
}

static int group_of(struct state *s, enum by by, uint64_t *group)
{
	const struct dft_record *rec = s->view.r;
	struct dft_str text = { "(no file)", 9 };
	char unknown[32];
	bool named;

	if (by == BY_PROCESS) {
		*group = dft_process_key(&s->view.processes, s->view.process, s->file_nr);
		return label_process(s, *group);
	}
	if (by == BY_OP) {
		text = rec->name;
	} else if (dft_view_facts(&s->view)->has_file && !dft_view_file(&s->view, &text)) {
		snprintf(unknown, sizeof(unknown), "?%016" PRIx64, s->view.facts.file);
		text = (struct dft_str){ unknown, strlen(unknown) };
	}
	*group = dft_hash_bytes(2, text.s, text.n);
	named = dft_index_get(&s->labels.at, *group);
	return named ? 0 : set_label(&s->labels, *group, text);
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	const struct run *r = ctx;
	struct state *s = state;
	struct dft_tl_call call;
	int rc = dft_view_take(&s->view, rec, json, line->no);

	if (rc || !dft_moved(&s->view, &call))
		return rc;
	rc = dft_timeline_add(&s->total, &call);
	if (rc || !r->by)
		return rc;
	rc = group_of(s, r->by, &call.group);
	return rc ? rc : dft_timeline_add(&s->groups, &call);
}

static const struct dft_pass_ops ops = {
	.state_sz = sizeof(struct state),
	.begin = on_begin,
	.record = on_record,
};

/* ---- adding up ------------------------------------------------------------------------------ */

static int merge_labels(struct labels *to, const struct labels *from)
{
	for (size_t i = 0; i < from->at.cap; i++) {
		const struct dft_index_slot *slot = &from->at.slots[i];
		const uint64_t *have;
		struct dft_str a, b;
		int rc = 0;

		if (slot->epoch != from->at.epoch)
			continue;
		have = dft_index_get(&to->at, slot->key);
		b = dft_strings_at(&from->texts, slot->val);
		/* Of two names one is chosen that does not depend on who read what. */
		if (have) {
			a = dft_strings_at(&to->texts, *have);
			if (a.n > b.n || (a.n == b.n && memcmp(a.s, b.s, a.n) >= 0))
				continue;
		}
		rc = set_label(to, slot->key, b);
		if (rc)
			return rc;
	}
	return 0;
}

static int add_up(struct run *r, struct dft_pass *p)
{
	int rc = 0;

	begin_state(&r->sum, r);
	for (size_t i = 0; i < p->nstates && !rc; i++) {
		struct state *s = dft_pass_state(p, i);

		if (!s->begun)
			continue;
		rc = dft_timeline_merge(&r->sum.total, &s->total);
		if (!rc)
			rc = dft_timeline_merge(&r->sum.groups, &s->groups);
		if (!rc)
			rc = merge_labels(&r->sum.labels, &s->labels);
	}
	return rc;
}

static void free_state(struct state *s)
{
	dft_view_free(&s->view);
	dft_timeline_free(&s->total);
	dft_timeline_free(&s->groups);
	dft_index_free(&s->labels.at);
	dft_index_free(&s->labels.with);
	dft_strings_free(&s->labels.texts);
}

static int compare_groups(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	size_t n = a->label.n < b->label.n ? a->label.n : b->label.n;
	int c;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->ops != b->ops)
		return a->ops > b->ops ? -1 : 1;
	c = n ? memcmp(a->label.s, b->label.s, n) : 0;
	if (c)
		return c;
	if (a->label.n != b->label.n)
		return a->label.n < b->label.n ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* The groups, most bytes first; `at` has the place of each, from 1 on. */
static int rank_groups(struct run *r, struct dft_index *at)
{
	const struct dft_timeline *t = &r->sum.groups;
	struct dft_index labels = { 0 };
	bool fresh;

	r->groups = calloc(t->n + 1, sizeof(*r->groups));
	if (!r->groups)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct dft_tl_slot *s = &t->slots[i];
		uint64_t *v = dft_index_put(at, s->group, &fresh);
		const uint64_t *label;
		struct group *g;

		if (!v)
			return -ENOMEM;
		if (fresh) {
			*v = ++r->ngroups;
			label = dft_index_get(&r->sum.labels.at, s->group);
			g = &r->groups[*v - 1];
			g->id = s->group;
			if (label)
				g->label = dft_strings_at(&r->sum.labels.texts, *label);
		}
		g = &r->groups[*v - 1];
		dft_add_sat(&g->bytes, s->cell.read);
		dft_add_sat(&g->bytes, s->cell.written);
		dft_add_sat(&g->ops, s->cell.ops);
	}
	qsort(r->groups, r->ngroups, sizeof(*r->groups), compare_groups);
	for (size_t i = 0; i < r->ngroups; i++) {
		struct group *g = &r->groups[i];
		uint64_t *v = dft_index_get(at, g->id);

		*v = i + 1;
		/* A pid may have been given twice. */
		v = dft_index_put(&labels, dft_hash_bytes(0, g->label.s, g->label.n), &fresh);
		if (!v) {
			dft_index_free(&labels);
			return -ENOMEM;
		}
		g->nth = ++*v;
	}
	dft_index_free(&labels);
	return 0;
}

/* From fine intervals to those that are shown. */
static int make_shown(struct run *r)
{
	const struct dft_timeline *from = r->by ? &r->sum.groups : &r->sum.total;
	struct dft_index at = { 0 };
	uint64_t width = r->interval_ns ? from->width_ns : dft_timeline_round(from), rank;
	int rc = r->by ? rank_groups(r, &at) : 0;

	dft_timeline_init(&r->shown, width, EXACT_MAX);
	if (from->n) {
		r->shown.first = from->first / (width / from->width_ns);
		r->shown.last = from->last / (width / from->width_ns);
		r->base_ns = dft_mul_sat(r->shown.first, width);
	}
	for (size_t i = 0; !rc && i < from->n; i++) {
		const struct dft_tl_slot *s = &from->slots[i];

		rank = r->by ? *dft_index_get(&at, s->group) - 1 : 0;
		if (r->top && rank > r->top)
			rank = r->top;
		rc = dft_timeline_put(&r->shown, rank, s->at / (width / from->width_ns), &s->cell);
	}
	dft_index_free(&at);
	dft_timeline_sort(&r->shown);
	return rc;
}

/* ---- showing -------------------------------------------------------------------------------- */

static double per_second(const struct run *r, uint64_t bytes)
{
	return (double)bytes * 1e9 / (double)r->shown.width_ns;
}

static void rate_cell(const struct run *r, struct dft_sheet *s, uint64_t bytes)
{
	char text[DFT_UNIT_SZ + 4];

	if (s->style != DFT_STYLE_TEXT) {
		dft_sheet_real(s, per_second(r, bytes), 3);
		return;
	}
	dft_human_bytes(text, (uint64_t)per_second(r, bytes));
	strcat(text, "/s");
	dft_sheet_text(s, bytes ? text : "-");
}

static void label_cell(struct dft_sheet *s, const struct group *g)
{
	char text[LABEL_SZ];
	int n;

	if (g->nth == 1) {
		dft_sheet_name(s, g->label);
		return;
	}
	n = snprintf(text, sizeof(text), "%.*s #%" PRIu64, (int)g->label.n, g->label.s, g->nth);
	dft_sheet_name(s, (struct dft_str){ text, n < LABEL_SZ ? (size_t)n : LABEL_SZ - 1 });
}

static void show_cell(const struct run *r, struct dft_sheet *s, uint64_t at, uint64_t group,
		      const struct dft_tl_cell *c)
{
	uint64_t ns = dft_mul_sat(at, r->shown.width_ns);

	if (s->style == DFT_STYLE_TEXT)
		dft_sheet_real(s, (double)(ns - r->base_ns) / 1e9, 6);
	else
		dft_sheet_u64(s, ns);
	if (r->by && r->top && group == r->top)
		dft_sheet_text(s, "(others)");
	else if (r->by)
		label_cell(s, &r->groups[group]);
	dft_sheet_bytes(s, c->read);
	dft_sheet_bytes(s, c->written);
	rate_cell(r, s, c->read);
	rate_cell(r, s, c->written);
	dft_sheet_u64(s, c->ops);
	dft_sheet_u64(s, c->meta);
}

static int show_table(struct run *r)
{
	static const char *const whats[] = { "", "op", "file", "process" };
	static const struct dft_tl_cell nothing;
	const struct dft_timeline *t = &r->shown;
	struct dft_col cols[8] = { { r->style ? "ts_ns" : "time", "time s", true } };
	struct dft_sheet s;
	size_t n = 1;
	int rc;

	if (r->by)
		cols[n++] = (struct dft_col){ whats[r->by], NULL, false };
	cols[n++] = (struct dft_col){ "read", NULL, true };
	cols[n++] = (struct dft_col){ "written", NULL, true };
	cols[n++] = (struct dft_col){ "read_per_s", "read/s", true };
	cols[n++] = (struct dft_col){ "written_per_s", "written/s", true };
	cols[n++] = (struct dft_col){ "ops", NULL, true };
	cols[n++] = (struct dft_col){ "metadata", NULL, true };
	rc = dft_sheet_begin(&s, r->style, stdout, "intervals", cols, n);
	for (size_t i = 0; !rc && i < t->n; i++) {
		/* Times in which nothing was done are told, too. */
		for (uint64_t at = i ? t->slots[i - 1].at + 1 : t->first;
		     !r->by && at < t->slots[i].at; at++)
			show_cell(r, &s, at, 0, &nothing);
		show_cell(r, &s, t->slots[i].at, t->slots[i].group, &t->slots[i].cell);
		rc = s.err;
	}
	for (uint64_t at = t->n ? t->slots[t->n - 1].at + 1 : 1; !r->by && t->n && at <= t->last; at++)
		show_cell(r, &s, at, 0, &nothing);
	if (dft_sheet_end(&s))
		rc = s.err;
	if (r->style == DFT_STYLE_JSON)
		dft_json_u64(&s.json, "interval_ns", t->width_ns);
	return dft_sheet_close(&s) ? s.err : rc;
}

static size_t terminal_width(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40 ? w.ws_col : 80;
}

static bool knows_blocks(void)
{
	static const char *const vars[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < 3; i++) {
		const char *v = getenv(vars[i]);

		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

/* A bar of `room` columns for the largest value. */
static void bar(uint64_t v, uint64_t max, size_t room, bool blocks)
{
	static const char *const eighths[] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b",
					       "\u258a", "\u2589" };
	uint64_t parts = max ? (uint64_t)((unsigned __int128)v * room * 8 / max) : 0;
	size_t cols = parts / 8;

	/* Little is not nothing. */
	if (v && !parts)
		parts = 1;
	for (size_t i = 0; i < cols; i++)
		fputs(blocks ? "\u2588" : "#", stdout);
	if (parts % 8 && cols < room) {
		fputs(blocks ? eighths[parts % 8] : cols ? "" : ".", stdout);
		cols += blocks || !cols;
	}
	printf("%*s", (int)(room - cols), "");
}

static void plot_line(const struct run *r, uint64_t at, const struct dft_tl_cell *c,
		      const struct dft_tl_cell *max, size_t room, bool blocks)
{
	char read[DFT_UNIT_SZ], written[DFT_UNIT_SZ];
	uint64_t ns = dft_mul_sat(at, r->shown.width_ns) - r->base_ns;

	printf("%11.6f ", (double)ns / 1e9);
	bar(c->read, max->read, room, blocks);
	printf(" %10s ", c->read ? dft_human_bytes(read, (uint64_t)per_second(r, c->read)) : "");
	bar(c->written, max->written, room, blocks);
	printf(" %10s\n", c->written ?
	       dft_human_bytes(written, (uint64_t)per_second(r, c->written)) : "");
}

static int show_plot(struct run *r)
{
	static const struct dft_tl_cell nothing;
	const struct dft_timeline *t = &r->shown;
	size_t width = terminal_width(), room = (width - 12 - 24) / 2;
	struct dft_tl_cell max = { 0 };
	bool blocks = knows_blocks();

	for (size_t i = 0; i < t->n; i++) {
		max.read = t->slots[i].cell.read > max.read ? t->slots[i].cell.read : max.read;
		max.written = t->slots[i].cell.written > max.written ? t->slots[i].cell.written :
								       max.written;
	}
	printf("%11s %-*s %10s %-*s %10s\n", "time s", (int)room, "read", "per s", (int)room, "written",
	       "per s");
	for (size_t i = 0; i < t->n; i++) {
		for (uint64_t at = i ? t->slots[i - 1].at + 1 : t->first; at < t->slots[i].at; at++)
			plot_line(r, at, &nothing, &max, room, blocks);
		plot_line(r, t->slots[i].at, &t->slots[i].cell, &max, room, blocks);
	}
	return 0;
}

static int show(struct run *r, struct dft_pass *p)
{
	char asked[DFT_UNIT_SZ], is[DFT_UNIT_SZ];
	int rc = add_up(r, p);

	if (!rc)
		rc = make_shown(r);
	if (!rc && r->interval_ns && r->shown.width_ns != r->interval_ns)
		dft_warn("timeline: there would be more than %d intervals of %s: they are of %s", EXACT_MAX,
			 dft_human_ns(asked, r->interval_ns), dft_human_ns(is, r->shown.width_ns));
	if (!rc)
		rc = r->plot ? show_plot(r) : show_table(r);
	if (rc)
		dft_error("timeline: %s (nothing of the result is to be used)", strerror(-rc));
	return rc;
}

/* ---- the command line ----------------------------------------------------------------------- */

static int parse_interval(struct run *r, const char *s)
{
	struct dft_value v;
	bool is_time;
	size_t n = dft_number_parse(s, &v, &is_time);

	if (!n || s[n] || !is_time || v.kind != DFT_VALUE_INT || v.i < 1000 || v.i > INT64_MAX)
		return dft_usage("timeline", "--interval %s: not a time of at least 1us, as 100ms", s);
	r->interval_ns = (uint64_t)v.i;
	return 0;
}

static int parse_by(struct run *r, const char *s)
{
	r->by = !strcmp(s, "op") ? BY_OP : !strcmp(s, "file") ? BY_FILE :
		!strcmp(s, "process") ? BY_PROCESS : BY_NONE;
	return r->by ? 0 : dft_usage("timeline", "--by %s: not op, file or process", s);
}

static int take_option(struct run *r, int opt, char **argv)
{
	switch (opt) {
	case 'i':
		return parse_interval(r, optarg);
	case 'b':
		return parse_by(r, optarg);
	case 't':
		if (!dft_decimal((struct dft_str){ optarg, strlen(optarg) }, &r->top))
			return dft_usage("timeline", "--top %s: not a number", optarg);
		return 0;
	case 'p':
		r->plot = true;
		return 0;
	case 'j':
		r->style = DFT_STYLE_JSON;
		return 0;
	case 'c':
		r->style = DFT_STYLE_CSV;
		return 0;
	default:
		return dft_usage_option("timeline", argv);
	}
}

static int run_timeline(int argc, char **argv)
{
	static struct run r = { .top = TOP };
	struct dft_pass p = { .cmd = "timeline", .ops = &ops, .ctx = &r };
	int opt, rc = 0;

	while (!rc && (opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		}
		rc = take_option(&r, opt, argv);
	}
	if (!rc && r.plot && (r.by || r.style))
		rc = dft_usage("timeline", "--plot stands alone: no --by, --json or --csv");
	if (!rc && optind == argc)
		rc = dft_usage("timeline", "no DIR or FILE given");
	if (rc)
		return rc;
	rc = dft_pass_run(&p, argc - optind, argv + optind);
	if (!rc)
		rc = show(&r, &p);
	rc = dft_pass_exit(&p, rc);
	for (size_t i = 0; i < p.nstates; i++)
		free_state(dft_pass_state(&p, i));
	dft_pass_free(&p);
	free_state(&r.sum);
	dft_timeline_free(&r.shown);
	free(r.groups);
	return rc;
}

const struct dft_cmd dft_cmd_timeline = {
	.name = "timeline",
	.run = run_timeline,
	.brief = "bytes and calls by time, as a table or drawn",
};
