// SPDX-License-Identifier: MIT
#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer name is none of a program; command lines stand in SH records, too. */
#define PROGRAM_MAX 255

static const struct {
	const char *name;
	enum dft_field_kind kind;
} fields[] = {
	{ "id", DFT_FIELD_ID }, { "name", DFT_FIELD_NAME }, { "cat", DFT_FIELD_CAT },
	{ "type", DFT_FIELD_TYPE }, { "pid", DFT_FIELD_PID }, { "tid", DFT_FIELD_TID },
	{ "ts", DFT_FIELD_TS }, { "time", DFT_FIELD_TIME }, { "dur", DFT_FIELD_DUR }, { "ph", DFT_FIELD_PH },
	{ "file", DFT_FIELD_FILE }, { "other", DFT_FIELD_OTHER }, { "host", DFT_FIELD_HOST },
	{ "program", DFT_FIELD_PROGRAM }, { "rank", DFT_FIELD_RANK }, { "bytes", DFT_FIELD_BYTES },
	{ "source", DFT_FIELD_SOURCE }, { "line", DFT_FIELD_LINE },
};

bool dft_field_parse(struct dft_str text, struct dft_field_ref *ref)
{
	memset(ref, 0, sizeof(*ref));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (dft_str_eq(text, fields[i].name, strlen(fields[i].name))) {
			ref->kind = fields[i].kind;
			return true;
		}
	}
	if (text.n <= 5 || memcmp(text.s, "args.", 5) != 0)
		return false;
	ref->kind = DFT_FIELD_ARG;
	ref->key = (struct dft_str){ text.s + 5, text.n - 5 };
	return true;
}

void dft_field_unknown(char *buf, size_t cap, struct dft_str text)
{
	static const struct {
		const char *said, *meant;
	} other[] = {
		{ "path", "file" }, { "filename", "file" }, { "fname", "file" }, { "op", "name" },
		{ "operation", "name" }, { "call", "name" }, { "size", "bytes" }, { "length", "bytes" },
		{ "duration", "dur" }, { "begin", "time" }, { "start", "time" }, { "comm", "program" },
		{ "process", "pid" }, { "thread", "tid" }, { "category", "cat" }, { "error", "args.errno" },
		{ "result", "args.ret" },
	};
	bool word = text.n > 0 && text.n <= 40;

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		if (dft_str_eq(text, other[i].said, strlen(other[i].said))) {
			snprintf(buf, cap, "there is no such field (it is %s)", other[i].meant);
			return;
		}
	}
	for (size_t i = 0; word && i < text.n; i++)
		word = isalnum((unsigned char)text.s[i]) || text.s[i] == '_';
	if (word)
		snprintf(buf, cap, "there is no such field (of arguments it is args.%.*s)", (int)text.n, text.s);
	else
		snprintf(buf, cap, "there is no such field");
}

void dft_view_free(struct dft_view *v)
{
	dft_naming_free(&v->names);
	dft_strings_free(&v->programs);
	dft_index_free(&v->program_at);
	dft_processes_free(&v->processes);
	dft_index_free(&v->runs);
	dft_index_free(&v->ranks);
	memset(v, 0, sizeof(*v));
}

void dft_view_begin_file(struct dft_view *v, const char *source)
{
	v->source = source;
	v->unit_ns = 1000;
	dft_processes_begin_file(&v->processes);
	if (v->processes.alone) {
		dft_index_clear(&v->runs);
		dft_index_clear(&v->ranks);
	}
	v->process = v->program = v->rank = 0;
}

/* ---- what records tell of others ------------------------------------------------------------ */

static struct dft_str base_name(struct dft_str s)
{
	const char *slash = s.n ? memrchr(s.s, '/', s.n) : NULL;

	if (slash)
		s = (struct dft_str){ slash + 1, s.n - (size_t)(slash + 1 - s.s) };
	if (s.n > PROGRAM_MAX)
		s.n = PROGRAM_MAX;
	return s;
}

static int set_program(struct dft_view *v)
{
	const struct dft_jsonr_node *args = v->r->args;
	bool fresh, old = v->r->letter;
	struct dft_str s;
	uint64_t *at, *run;

	if (!dft_naming_of(&v->names, DFT_NAME_SH, v->json,
			   dft_jsonr_get(v->json, args, "exec_hash"), old, &s) &&
	    !dft_naming_of(&v->names, DFT_NAME_FH, v->json,
			   dft_jsonr_get(v->json, args, "pathname_hash"), old, &s))
		return 0;
	s = base_name(s);
	at = dft_index_put(&v->program_at, dft_hash_bytes(0, s.s, s.n), &fresh);
	if (!at || (fresh && dft_strings_add(&v->programs, s, at)))
		return -ENOMEM;
	run = dft_index_put(&v->runs, v->process, &fresh);
	if (!run)
		return -ENOMEM;
	*run = *at;
	return 0;
}

static int take_metadata(struct dft_view *v)
{
	const struct dft_jsonr_node *name, *value;
	struct dft_str key, val;
	uint64_t n, *rank;
	bool fresh;
	int rc = dft_naming_take(&v->names, v->r, v->json);

	if (rc || !v->r->args || dft_is_of_app(v->r))
		return rc < 0 ? rc : 0;
	name = dft_jsonr_get(v->json, v->r->args, "name");
	value = dft_jsonr_get(v->json, v->r->args, "value");
	if (!name || !value || name->type != DFT_JSONR_STRING || value->type != DFT_JSONR_STRING)
		return 0;
	key = dft_jsonr_str(v->json, name);
	val = dft_jsonr_str(v->json, value);
	if (DFT_STR_IS(v->r->name, "CM") && DFT_STR_IS(key, "time_metric")) {
		v->unit_ns = DFT_STR_IS(val, "NS") ? 1 :
			     DFT_STR_IS(val, "MS") ? 1000000 :
			     DFT_STR_IS(val, "SEC") ? 1000000000 : 1000;
	} else if (DFT_STR_IS(v->r->name, "PR") && DFT_STR_IS(key, "rank") &&
		   dft_decimal(val, &n) && n < UINT64_MAX) {
		rank = dft_index_put(&v->ranks, v->process, &fresh);
		if (!rank)
			return -ENOMEM;
		*rank = n + 1;
	}
	return 0;
}

int dft_view_take(struct dft_view *v, const struct dft_record *r, struct dft_jsonr *json,
		  uint64_t line)
{
	const uint64_t *at;
	int rc = 0;

	v->r = r;
	v->json = json;
	v->line = line;
	v->have_facts = false;
	v->process = dft_process_of(&v->processes, r, json);
	if (!v->process)
		return -ENOMEM;
	if (r->ph == DFT_PH_METADATA)
		rc = take_metadata(v);
	else if (r->args && dft_is_start(r))
		rc = set_program(v);
	else if (r->ph == DFT_PH_COMPLETE && DFT_STR_IS(r->name, "execve") && !dft_is_of_app(r) &&
		 dft_view_facts(v)->has_ret && v->facts.ret == 0)
		rc = set_program(v);
	if (rc)
		return rc;
	at = dft_index_get(&v->runs, v->process);
	v->program = at ? *at : 0;
	at = dft_index_get(&v->ranks, v->process);
	v->rank = at ? *at : 0;
	return 0;
}

void dft_view_keep(const struct dft_view *v, struct dft_view_kept *k)
{
	k->unit_ns = v->unit_ns;
	k->line = v->line;
	k->program = v->program;
	k->rank = v->rank;
	k->source_nr = 0;
}

void dft_view_show(struct dft_view *v, const struct dft_view_kept *k, const char *source,
		   const struct dft_record *r, struct dft_jsonr *json)
{
	v->source = source;
	v->unit_ns = k->unit_ns;
	v->line = k->line;
	v->program = k->program;
	v->rank = k->rank;
	v->r = r;
	v->json = json;
	v->have_facts = false;
}

/* ---- fields --------------------------------------------------------------------------------- */

const struct dft_facts *dft_view_facts(struct dft_view *v)
{
	if (!v->have_facts)
		dft_facts_take(&v->facts, v->json, v->r);
	v->have_facts = true;
	return &v->facts;
}

uint64_t dft_view_ts(const struct dft_view *v)
{
	return dft_mul_sat(v->r->ts, v->unit_ns);
}

uint64_t dft_view_dur(struct dft_view *v)
{
	const struct dft_facts *f = dft_view_facts(v);

	return f->has_dur_ns && !dft_is_of_app(v->r) ? f->dur_ns : dft_mul_sat(v->r->dur, v->unit_ns);
}

enum dft_dir dft_view_dir(const struct dft_view *v)
{
	return dft_is_of_app(v->r) ? DFT_DIR_NONE : dft_dir_of(v->r->cat, v->r->name);
}

uint64_t dft_view_bytes(struct dft_view *v)
{
	const struct dft_facts *f = dft_view_facts(v);

	if (v->r->ph == DFT_PH_AGGREGATED)
		return f->ret_sum;
	return dft_facts_bytes(f, dft_view_dir(v), v->r);
}

bool dft_view_file(struct dft_view *v, struct dft_str *name)
{
	const struct dft_facts *f = dft_view_facts(v);

	return f->has_file && dft_naming_get(&v->names, DFT_NAME_FH, f->file, name);
}

bool dft_view_other(struct dft_view *v, struct dft_str *name)
{
	static const char *const keys[] = { "other_fhash", "newpath_hash", "pathname_hash" };

	for (size_t i = 0; v->r->args && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct dft_jsonr_node *n = dft_jsonr_get(v->json, v->r->args, keys[i]);

		if (n)
			return dft_naming_of(&v->names, DFT_NAME_FH, v->json, n, v->r->letter, name);
	}
	return false;
}

bool dft_view_host(struct dft_view *v, struct dft_str *name)
{
	return v->r->args && dft_naming_of(&v->names, DFT_NAME_HH, v->json,
					   dft_jsonr_get(v->json, v->r->args, "hhash"),
					   v->r->letter, name);
}

bool dft_view_program(const struct dft_view *v, struct dft_str *name)
{
	if (v->program)
		*name = dft_strings_at(&v->programs, v->program);
	return v->program != 0;
}

/* A key may hold dots itself, so what is there is looked for: the whole rest, or up to a dot. */
static const struct dft_jsonr_node *member(struct dft_jsonr *j, const struct dft_jsonr_node *o,
					   struct dft_str *key)
{
	const struct dft_jsonr_node *k, *part = NULL;
	size_t part_n = 0;

	for (k = dft_jsonr_first(j, o); k; k = dft_jsonr_next(j, o, k)) {
		struct dft_str s = dft_jsonr_str(j, k);

		if (s.n > key->n || memcmp(s.s, key->s, s.n) != 0)
			continue;
		if (s.n == key->n) {
			key->n = 0;
			return dft_jsonr_value(k);
		}
		if (!part && key->s[s.n] == '.') {
			part = dft_jsonr_value(k);
			part_n = s.n + 1;
		}
	}
	key->s += part_n;
	key->n -= part_n;
	return part;
}

static struct dft_value value_of(struct dft_jsonr *j, const struct dft_jsonr_node *n)
{
	struct dft_value v = { .kind = DFT_VALUE_INT };
	struct dft_str raw;
	char text[64];
	uint64_t u;
	int64_t i;

	if (n->type == DFT_JSONR_STRING)
		return (struct dft_value){ .kind = DFT_VALUE_STR, .s = dft_jsonr_str(j, n) };
	raw = dft_jsonr_raw(j, n);
	if (n->type == DFT_JSONR_NULL)
		return (struct dft_value){ 0 };
	if (n->type == DFT_JSONR_TRUE || n->type == DFT_JSONR_FALSE)
		v.i = n->type == DFT_JSONR_TRUE;
	else if (dft_jsonr_u64(j, n, &u))
		v.i = u;
	else if (dft_jsonr_i64(j, n, &i))
		v.i = i;
	else if (n->type <= DFT_JSONR_REAL && raw.n < sizeof(text)) {
		memcpy(text, raw.s, raw.n);
		text[raw.n] = '\0';
		v.kind = DFT_VALUE_REAL;
		v.d = strtod(text, NULL);
		v.s = raw;
	} else {
		v.kind = DFT_VALUE_STR;
		v.s = raw;
	}
	return v;
}

static struct dft_value arg(struct dft_view *v, struct dft_str key)
{
	const struct dft_jsonr_node *n = v->r->args;

	while (n && key.n) {
		if (n->type != DFT_JSONR_OBJECT)
			return (struct dft_value){ 0 };
		n = member(v->json, n, &key);
	}
	return n ? value_of(v->json, n) : (struct dft_value){ 0 };
}

static struct dft_value number(bool has, uint64_t n)
{
	return (struct dft_value){ .kind = has ? DFT_VALUE_INT : DFT_VALUE_NONE, .i = n };
}

static struct dft_value string(bool has, struct dft_str s)
{
	return (struct dft_value){ .kind = has ? DFT_VALUE_STR : DFT_VALUE_NONE, .s = s };
}

static struct dft_value seconds(bool has, uint64_t ns, uint64_t from)
{
	double d = ns >= from ? (double)(ns - from) : -(double)(from - ns);

	return (struct dft_value){ .kind = has ? DFT_VALUE_REAL : DFT_VALUE_NONE, .d = d / 1e9 };
}

/* Of the fields whose text stands elsewhere. */
static struct dft_value looked_up(struct dft_view *v, enum dft_field_kind kind)
{
	struct dft_str s = { "", 0 };
	bool has;

	switch (kind) {
	case DFT_FIELD_FILE:
		has = dft_view_file(v, &s);
		break;
	case DFT_FIELD_OTHER:
		has = dft_view_other(v, &s);
		break;
	case DFT_FIELD_HOST:
		has = dft_view_host(v, &s);
		break;
	case DFT_FIELD_PROGRAM:
		has = dft_view_program(v, &s);
		break;
	default:
		has = v->source != NULL;
		if (has)
			s = (struct dft_str){ v->source, strlen(v->source) };
		break;
	}
	return string(has, s);
}

struct dft_value dft_view_get(struct dft_view *v, const struct dft_field_ref *ref)
{
	const struct dft_record *r = v->r;
	bool moves;

	switch (ref->kind) {
	case DFT_FIELD_ID:
		return number(r->has & DFT_F_ID, r->id);
	case DFT_FIELD_NAME:
		return string(r->has & DFT_F_NAME, r->name);
	case DFT_FIELD_CAT:
		return string(r->has & DFT_F_CAT, r->cat);
	case DFT_FIELD_TYPE:
		return number(r->has & DFT_F_TYPE, r->type);
	case DFT_FIELD_PID:
		return number(r->has & DFT_F_PID, r->pid);
	case DFT_FIELD_TID:
		return number(r->has & DFT_F_TID, r->tid);
	case DFT_FIELD_TS:
		return number(r->has & DFT_F_TS, r->ts);
	case DFT_FIELD_TIME:
		return seconds(r->has & DFT_F_TS, dft_view_ts(v), v->base_ns);
	case DFT_FIELD_DUR:
		return number(r->has & DFT_F_DUR, r->dur);
	case DFT_FIELD_PH:
		return number(r->has & DFT_F_PH, r->ph);
	case DFT_FIELD_RANK:
		return number(v->rank != 0, v->rank - 1);
	case DFT_FIELD_BYTES:
		moves = r->args && (dft_view_dir(v) != DFT_DIR_NONE || dft_view_bytes(v));
		return number(moves, moves ? dft_view_bytes(v) : 0);
	case DFT_FIELD_LINE:
		return number(true, v->line);
	case DFT_FIELD_ARG:
		return arg(v, ref->key);
	default:
		return looked_up(v, ref->kind);
	}
}

uint64_t dft_view_unit(const struct dft_view *v, const struct dft_field_ref *ref)
{
	if (ref->kind == DFT_FIELD_TIME)
		return 1000000000;
	if (ref->kind == DFT_FIELD_ARG && dft_str_ends(ref->key, "_ns"))
		return 1;
	if (ref->kind == DFT_FIELD_ARG && dft_str_ends(ref->key, "_us"))
		return 1000;
	return v->unit_ns;
}

struct dft_str dft_view_text(struct dft_view *v, const struct dft_value *val)
{
	int n = 0;

	if (val->kind == DFT_VALUE_STR || (val->kind == DFT_VALUE_REAL && val->s.n))
		return val->s;
	/* An integer of a trace has 64 bits, with or without a sign. */
	if (val->kind == DFT_VALUE_INT && val->i < 0)
		n = snprintf(v->text, sizeof(v->text), "%" PRId64, (int64_t)val->i);
	else if (val->kind == DFT_VALUE_INT)
		n = snprintf(v->text, sizeof(v->text), "%" PRIu64, (uint64_t)val->i);
	else if (val->kind == DFT_VALUE_REAL)
		n = snprintf(v->text, sizeof(v->text), "%.17g", val->d);
	return (struct dft_str){ v->text, n > 0 ? (size_t)n : 0 };
}
