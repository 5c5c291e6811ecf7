// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "extsort.h"
#include "log.h"
#include "marker.h"
#include "out.h"
#include "pass.h"
#include "sheet.h"
#include "view.h"
#include "where.h"

#define MAX_FIELDS  64
#define MAX_KEY	    56
#define SORTED_MAX  8192
#define LOOK_LINES  1024 /* names and facts may stand before a file's first event */

enum output {
	OUT_TEXT = DFT_STYLE_TEXT,
	OUT_JSON = DFT_STYLE_JSON,
	OUT_CSV = DFT_STYLE_CSV,
	OUT_LINES,
};

struct column {
	struct dft_field_ref ref;
	bool is_time; /* ts, in seconds since the first one */
	bool is_ret;
};

struct run {
	struct dft_view view;
	struct dft_where *where;
	struct dft_field_ref failure; /* args.errno */
	struct dft_extsort *sort; /* NULL: as they come */
	struct dft_field_ref sort_by;
	struct dft_sheet sheet;
	struct dft_jsonr json; /* of lines that are read again */
	struct column columns[MAX_FIELDS];
	struct dft_col cols[MAX_FIELDS];
	size_t ncols;
	char *keys; /* the columns' names */
	enum output output;
	bool desc, metadata, have_base, wants_base;
	uint64_t limit, shown, nr;
	char **sources;
};

static const struct option options[] = {
	{ "where", required_argument, NULL, 'w' },
	{ "fields", required_argument, NULL, 'f' },
	{ "sort", required_argument, NULL, 's' },
	{ "limit", required_argument, NULL, 'l' },
	{ "metadata", no_argument, NULL, 'm' },
	{ "json", no_argument, NULL, 'j' },
	{ "jsonl", no_argument, NULL, 'J' },
	{ "csv", no_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace events [OPTIONS] DIR|FILE...\n"
	"Shows events one by one, those that a condition holds of.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it, - for standard input.\n"
	"\n"
	"      --where CONDITION  for example\n"
	"                         'name == \"read\" and args.ret > 1M and file ~ \"^/data/\"'\n"
	"      --fields LIST      columns: id name cat type pid tid ts time dur ph file other\n"
	"                         host program rank bytes source line args.KEY (time: seconds\n"
	"                         since the first event)\n"
	"      --sort FIELD       by a field, smallest first; FIELD:desc: largest first\n"
	"      --limit N          show N events\n"
	"      --metadata         records without a time, too\n"
	"      --jsonl            print the lines of the trace as they are\n"
	"      --json             print one JSON object\n"
	"      --csv              print CSV\n"
	"  -h, --help             print this help\n"
	"\n"
	"In a CONDITION, fields are compared by == != < <= > >=, ~ and !~ (extended regular\n"
	"expressions) and in (A, B ...); `has FIELD` asks whether it is there. and, or, not\n"
	"and brackets join them. Numbers take K M G T (of 1024) and ns us ms s min. Arguments\n"
	"of events are args.KEY: args.ret, args.errno, args.offset ... (--jsonl shows them).\n"
	"\n"
	"Exit status: 0 read to the end; 1 something was damaged, cut or unreadable (the rest\n"
	"is shown); 2 wrong usage. An unfinished file alone is a warning.\n";

/* ---- a row ---------------------------------------------------------------------------------- */

static void time_cell(struct run *r)
{
	uint64_t ts = dft_view_ts(&r->view), base = r->view.base_ns;

	if (r->view.r->has & DFT_F_TS)
		dft_sheet_real(&r->sheet, ts >= base ? (double)(ts - base) / 1e9 : -(double)(base - ts) / 1e9,
			       6);
	else
		dft_sheet_none(&r->sheet);
}

/* A result of -1 says nothing to people; the reason beside it does. */
static bool failure_cell(struct run *r, const struct dft_value *v)
{
	struct dft_value e = dft_view_get(&r->view, &r->failure);
	const char *name = e.kind == DFT_VALUE_INT && e.i > 0 && e.i < 4096 ? strerrorname_np((int)e.i) : NULL;
	char text[64];

	if (r->sheet.style != DFT_STYLE_TEXT || v->i != -1 || !name)
		return false;
	snprintf(text, sizeof(text), "-1 %s", name);
	dft_sheet_text(&r->sheet, text);
	return true;
}

/* In text, for people; else the number that stands in the trace. */
static void number_cell(struct run *r, const struct column *c, const struct dft_value *v)
{
	struct dft_sheet *s = &r->sheet;

	if (v->i < 0)
		dft_sheet_i64(s, (int64_t)v->i);
	else if (c->ref.kind == DFT_FIELD_BYTES)
		dft_sheet_bytes(s, (uint64_t)v->i);
	else if (c->ref.kind == DFT_FIELD_DUR && s->style == DFT_STYLE_TEXT)
		dft_sheet_ns(s, dft_view_dur(&r->view));
	else
		dft_sheet_u64(s, (uint64_t)v->i);
}

/* As it stands in the trace, which may say more than a double holds. */
static void real_cell(struct run *r, const struct dft_value *v)
{
	char text[64]; /* as long as such numbers are, see view.c */
	size_t n = v->s.n < sizeof(text) ? v->s.n : sizeof(text) - 1;

	memcpy(text, v->s.s, n);
	text[n] = '\0';
	dft_sheet_number(&r->sheet, text);
}

static int show_row(struct run *r)
{
	for (size_t i = 0; i < r->ncols; i++) {
		const struct column *c = &r->columns[i];
		struct dft_value v;

		if (c->is_time) {
			time_cell(r);
			continue;
		}
		v = dft_view_get(&r->view, &c->ref);
		if (v.kind == DFT_VALUE_INT && c->is_ret && failure_cell(r, &v))
			continue;
		if (v.kind == DFT_VALUE_INT)
			number_cell(r, c, &v);
		else if (v.kind == DFT_VALUE_REAL)
			real_cell(r, &v);
		else if (v.kind == DFT_VALUE_STR)
			dft_sheet_name(&r->sheet, v.s);
		else
			dft_sheet_none(&r->sheet);
	}
	return r->sheet.err;
}

static int show(struct run *r, struct dft_str line)
{
	r->shown++;
	if (r->output != OUT_LINES)
		return show_row(r);
	/* The comma behind a record belongs to the array around it. */
	line = dft_bare_line(line.s, line.n);
	fwrite(line.s, 1, line.n, stdout);
	putchar('\n');
	return 0;
}

/* ---- in another order ----------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *to, const struct dft_value *v, uint64_t unit)
{
	/* Above all negative numbers of 64 bits, in whatever unit. */
	const __int128 zero = (__int128)1 << 110, max = ((__int128)1 << 110) - 1;
	__int128 whole = v->i * unit;
	double d = v->d * (double)unit, part = 0;

	if (v->kind == DFT_VALUE_REAL) {
		whole = d > 1e33 ? max : d < -1e33 ? -max : (__int128)d;
		part = d > 1e33 || d < -1e33 ? 0 : d - (double)whole;
		if (part < 0) {
			whole--;
			part += 1;
		}
	}
	whole += zero;
	to = dft_key_u64(to, (uint64_t)(whole >> 64));
	to = dft_key_u64(to, (uint64_t)whole);
	return dft_key_u64(to, (uint64_t)(part * 9e18));
}

/* What has no such field comes last, either way. */
static int add_sorted(struct run *r, struct dft_str line)
{
	struct dft_value v = dft_view_get(&r->view, &r->sort_by);
	bool timed = r->sort_by.kind == DFT_FIELD_TS || r->sort_by.kind == DFT_FIELD_DUR;
	unsigned char key[1 + SORTED_MAX], *end = key + 1;
	struct dft_view_kept kept;

	if (v.kind == DFT_VALUE_STR) {
		key[0] = 2;
		if (v.s.n > SORTED_MAX)
			v.s.n = SORTED_MAX;
		memcpy(end, v.s.s, v.s.n);
		end += v.s.n;
	} else if (v.kind == DFT_VALUE_NONE) {
		key[0] = r->desc ? 0 : 3;
	} else {
		key[0] = 1;
		end = put_number(end, &v, timed ? r->view.unit_ns : 1);
	}
	dft_view_keep(&r->view, &kept);
	kept.source_nr = r->nr;
	return dft_extsort_add(r->sort, (struct dft_str){ (char *)key, (size_t)(end - key) }, &kept,
			       sizeof(kept), line);
}

static int show_again(struct run *r, struct dft_str data)
{
	struct dft_view_kept kept;
	struct dft_record rec;
	struct dft_str line;
	int rc;

	memcpy(&kept, data.s, sizeof(kept));
	line = (struct dft_str){ data.s + sizeof(kept), data.n - sizeof(kept) };
	if (r->output == OUT_LINES)
		return show(r, line);
	rc = dft_record_parse(&rec, &r->json, line.s, line.n);
	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	dft_view_show(&r->view, &kept, r->sources[kept.source_nr], &rec, &r->json);
	return show(r, line);
}

static int show_sorted(struct run *r)
{
	struct dft_str key, data;
	int rc = dft_extsort_finish(r->sort);

	while (!rc) {
		rc = dft_extsort_next(r->sort, &key, &data);
		if (rc != 1)
			break;
		rc = show_again(r, data);
	}
	return rc;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	r->nr = file->nr;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct dft_str text = { line->s, line->n };
	struct run *r = ctx;
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	if (rc)
		return rc;
	if (rec->has & DFT_F_TS && !r->have_base) {
		r->view.base_ns = dft_view_ts(&r->view);
		r->have_base = true;
	}
	if (rec->ph == DFT_PH_METADATA && !r->metadata)
		return 0;
	if (!r->limit && !r->sort)
		return DFT_PASS_ENOUGH;
	if (!dft_where_match(r->where, &r->view))
		return 0;
	if (r->sort)
		return add_sorted(r, text);
	rc = show(r, text);
	return !rc && r->shown == r->limit ? DFT_PASS_ENOUGH : rc;
}

/* ---- what times are counted from ------------------------------------------------------------ */

/* The pass tells of the same faults. */
static void overlook(void *ctx, const struct dft_fault *fault)
{
	(void)ctx;
	(void)fault;
}

/* Takes the time of the first event of a file, if one of its first lines is an event. */
static int look_into(struct dft_source *src, const char *path, uint64_t *first_ns)
{
	struct dft_view view = { 0 };
	struct dft_jsonr json = { 0 };
	struct dft_record rec;
	struct dft_line line;
	int rc = dft_source_open(src, path, overlook, NULL);

	dft_view_begin_file(&view, path);
	for (int i = 0; !rc && i < LOOK_LINES && dft_source_next(src, &line) == 1; i++) {
		if (dft_record_parse(&rec, &json, line.s, line.n) != 1)
			continue;
		rc = dft_view_take(&view, &rec, &json, line.no);
		if (rc || !(rec.has & DFT_F_TS))
			continue;
		if (dft_view_ts(&view) < *first_ns)
			*first_ns = dft_view_ts(&view);
		break;
	}
	dft_view_free(&view);
	dft_jsonr_free(&json);
	return rc == -ENOMEM ? rc : 0; /* whatever else it is, the pass tells */
}

/* The files are read one by one, and the first need not be that of the process that began first. */
static int on_listed(void *ctx, const struct dft_files *files)
{
	uint64_t first_ns = UINT64_MAX;
	struct run *r = ctx;
	struct dft_source *src;
	struct stat st;
	int rc = 0;

	if (!r->wants_base || files->n < 2)
		return 0;
	src = dft_source_new();
	if (!src)
		return -errno;
	/* What is read from a pipe is gone. */
	for (size_t i = 0; i < files->n && !rc; i++)
		if (strcmp(files->v[i], "-") != 0 && !stat(files->v[i], &st) && S_ISREG(st.st_mode))
			rc = look_into(src, files->v[i], &first_ns);
	dft_source_free(src);
	r->have_base = first_ns != UINT64_MAX;
	r->view.base_ns = r->have_base ? first_ns : 0;
	return rc;
}

static const struct dft_pass_ops ops = {
	.state_sz = 1, /* one thread: its state stands in struct run */
	.listed = on_listed,
	.begin = on_begin,
	.record = on_record,
};

static int show_all(struct run *r, struct dft_pass *p, int argc, char **argv)
{
	int rc = 0, err;

	if (r->output != OUT_LINES)
		rc = dft_sheet_begin(&r->sheet, (enum dft_style)r->output, stdout, "events", r->cols,
				     r->ncols);
	if (!rc)
		rc = dft_pass_run(p, argc, argv);
	else
		dft_error("events: %s", strerror(-rc));
	r->sources = p->files.v;
	if (!rc && r->sort && r->limit) {
		rc = show_sorted(r);
		if (rc)
			dft_error("events: %s (the output is not complete)", strerror(-rc));
	}
	if (r->output != OUT_LINES) {
		err = dft_sheet_end(&r->sheet);
		rc = rc ? rc : err;
		err = dft_sheet_close(&r->sheet);
		rc = rc ? rc : err;
	}
	return rc;
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool is_number(enum dft_field_kind k)
{
	return k == DFT_FIELD_ID || k == DFT_FIELD_TYPE || k == DFT_FIELD_PID || k == DFT_FIELD_TID ||
	       k == DFT_FIELD_TS || k == DFT_FIELD_DUR || k == DFT_FIELD_PH || k == DFT_FIELD_RANK ||
	       k == DFT_FIELD_BYTES || k == DFT_FIELD_LINE;
}

static bool good_key(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]) || strchr("\"\\,", s[i]))
			return false;
	return n > 0 && n <= MAX_KEY;
}

static int no_field(const char *option, const char *s)
{
	char what[128];

	dft_field_unknown(what, sizeof(what), (struct dft_str){ s, strlen(s) });
	return dft_usage("events", "%s %s: %s", option, s, what);
}

/* 0, or an exit status. */
static int parse_fields(struct run *r, const char *list)
{
	char *save = NULL, *s;

	r->keys = strdup(list);
	if (!r->keys) {
		dft_error("events: %s", strerror(ENOMEM));
		return DFT_EXIT_FAULT;
	}
	for (s = strtok_r(r->keys, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		struct column *c = &r->columns[r->ncols];

		if (r->ncols == MAX_FIELDS)
			return dft_usage("events", "--fields: more than %d", MAX_FIELDS);
		c->is_time = strcmp(s, "time") == 0;
		if (!good_key(s) ||
		    (!c->is_time && !dft_field_parse((struct dft_str){ s, strlen(s) }, &c->ref)))
			return no_field("--fields", s);
		r->wants_base |= c->is_time;
		c->is_ret = strcmp(s, "args.ret") == 0;
		r->cols[r->ncols].key = s;
		r->cols[r->ncols].title = c->is_ret ? "ret" : NULL;
		r->cols[r->ncols].right = c->is_time || is_number(c->ref.kind) || c->is_ret;
		r->ncols++;
	}
	return r->ncols ? 0 : dft_usage("events", "--fields: no field given");
}

static int parse_sort(struct run *r, char *s)
{
	char *colon = strrchr(s, ':');

	if (colon && (!strcmp(colon, ":desc") || !strcmp(colon, ":asc"))) {
		r->desc = colon[1] == 'd';
		*colon = '\0';
	}
	/* Seconds since the first one have the order of what they are counted from. */
	if (strcmp(s, "time") == 0)
		r->sort_by.kind = DFT_FIELD_TS;
	else if (!dft_field_parse((struct dft_str){ s, strlen(s) }, &r->sort_by))
		return no_field("--sort", s);
	return 0;
}

static int parse_where(struct run *r, const char *s)
{
	struct dft_where_error e;
	char excerpt[80];
	int rc;

	dft_where_free(r->where);
	r->wants_base |= strstr(s, "time") != NULL;
	rc = dft_where_compile(&r->where, s, &e);
	if (rc == -EINVAL) {
		dft_where_excerpt(excerpt, sizeof(excerpt), s, e.at);
		return dft_usage("events", "--where: %s, at ^: %s", e.what, excerpt);
	}
	if (rc)
		dft_error("events: %s", strerror(-rc));
	return rc ? DFT_EXIT_FAULT : 0;
}

static int take_option(struct run *r, int opt, const char **fields, char **argv)
{
	switch (opt) {
	case 'w':
		return parse_where(r, optarg);
	case 'f':
		*fields = optarg;
		return 0;
	case 's':
		return parse_sort(r, optarg);
	case 'l':
		if (!dft_decimal((struct dft_str){ optarg, strlen(optarg) }, &r->limit))
			return dft_usage("events", "--limit %s: not a number", optarg);
		return 0;
	case 'm':
		r->metadata = true;
		return 0;
	case 'j':
		r->output = OUT_JSON;
		return 0;
	case 'J':
		r->output = OUT_LINES;
		return 0;
	case 'c':
		r->output = OUT_CSV;
		return 0;
	default:
		return dft_usage_option("events", argv);
	}
}

static void free_run(struct run *r)
{
	dft_view_free(&r->view);
	dft_where_free(r->where);
	dft_extsort_free(r->sort);
	dft_jsonr_free(&r->json);
	free(r->keys);
}

static int start(struct run *r, const char *fields)
{
	struct dft_extsort_opts so = { .descending = r->desc,
				       .limit = r->limit == UINT64_MAX ? 0 : r->limit };
	int rc;

	if (!fields)
		fields = r->output == OUT_TEXT ? "time,pid,tid,name,file,bytes,args.ret,dur" :
						 "ts,pid,tid,name,file,bytes,args.ret,dur";
	rc = parse_fields(r, fields);
	if (rc || !r->sort_by.kind)
		return rc;
	r->sort = dft_extsort_new(&so);
	if (r->sort)
		return 0;
	dft_error("events: %s", strerror(ENOMEM));
	return DFT_EXIT_FAULT;
}

static int run_events(int argc, char **argv)
{
	static struct run r = { .limit = UINT64_MAX };
	struct dft_pass p = { .cmd = "events", .ops = &ops, .ctx = &r, .in_order = true };
	const char *fields = NULL;
	int opt, rc = 0;

	dft_field_parse((struct dft_str){ "args.errno", strlen("args.errno") }, &r.failure);
	while (!rc && (opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		}
		rc = take_option(&r, opt, &fields, argv);
	}
	if (!rc && optind == argc)
		rc = dft_usage("events", "no DIR or FILE given");
	if (!rc)
		rc = start(&r, fields);
	if (!rc) {
		rc = show_all(&r, &p, argc - optind, argv + optind);
		rc = dft_pass_exit(&p, rc);
	}
	dft_pass_free(&p);
	free_run(&r);
	return rc;
}

const struct dft_cmd dft_cmd_events = {
	.name = "events",
	.run = run_events,
	.brief = "events one by one: those that a condition holds of, sorted",
};
