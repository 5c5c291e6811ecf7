// SPDX-License-Identifier: MIT
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check_parts.h"
#include "counts.h"
#include "marker.h"
#include "prov.h"

/* What is known of a hash, and which complaints about it were already made. */
enum known {
	KNOWN_HH = 1 << 0,
	KNOWN_FH = 1 << 1,
	KNOWN_SH = 1 << 2,
	TOLD_SHIFT = 4, /* the same bits again: "has no such record" was said */
};

void dft_check_begin(struct dft_check *c)
{
	dft_faults_clear(&c->faults);
	c->records = c->events = c->lost = c->missed = c->aggregated = 0;
	memset(&c->annot, 0, sizeof(c->annot));
	c->unfinished = false;
	dft_index_clear(&c->hashes);
	dft_index_clear(&c->entity_at);
	dft_index_clear(&c->types);
	dft_index_clear(&c->runs);
	dft_index_clear(&c->run_ts);
	c->whose.alone = true;
	dft_processes_begin_file(&c->whose);
	memset(&c->life, 0, sizeof(c->life));
	c->lives.n = c->life_at = 0;
	c->rearranged = 0;
	c->processes = c->open_ends = 0;
	c->line = c->pid = 0;
	c->have_pid = false;
	c->err = 0;
}

void dft_check_free(struct dft_check *c)
{
	dft_jsonr_free(&c->json);
	dft_index_free(&c->hashes);
	dft_index_free(&c->entity_at);
	dft_index_free(&c->types);
	dft_index_free(&c->ids);
	dft_index_free(&c->runs);
	dft_index_free(&c->run_ts);
	dft_processes_free(&c->whose);
	dft_rows_free(&c->lives);
	free(c->raw.buf);
	memset(c, 0, sizeof(*c));
}

void dft_check_source_fault(void *check, const struct dft_fault *fault)
{
	struct dft_check *c = check;

	dft_faults_take(&c->faults, fault);
}

/* Fields without which a record of its kind cannot be used. */
static unsigned int required(const struct dft_record *r)
{
	unsigned int all = DFT_F_NAME | DFT_F_CAT | DFT_F_PID | DFT_F_TID | DFT_F_PH;

	/* The dialect of 2025 knows no types. */
	if (!r->letter)
		all |= DFT_F_TYPE;
	switch (r->ph) {
	case DFT_PH_COMPLETE:
		return all | DFT_F_ID | DFT_F_TS | DFT_F_DUR;
	case DFT_PH_COUNTER:
	case DFT_PH_AGGREGATED:
		return all | DFT_F_TS;
	case DFT_PH_METADATA:
		return all | DFT_F_ARGS;
	default:
		return all;
	}
}

static const char *wanted(unsigned int field)
{
	switch (field) {
	case DFT_F_NAME:
	case DFT_F_CAT:
		return "a string";
	case DFT_F_ARGS:
		return "an object";
	case DFT_F_PH:
		return "a phase";
	default:
		return "a non-negative integer";
	}
}

static void check_fields(struct dft_check *c)
{
	const struct dft_record *r = c->r;
	unsigned int need = required(r);

	for (unsigned int f = DFT_F_ID; f <= DFT_F_ARGS; f <<= 1) {
		if (r->wrong & f)
			FAULT(c, "%s is not %s", dft_field_name(f), wanted(f));
		else if (need & ~r->has & f)
			FAULT(c, "%s is missing", dft_field_name(f));
	}
	if (r->ph == DFT_PH_OTHER)
		FAULT(c, "ph is none that the format knows");
	if (r->has & DFT_F_PID) {
		if (c->have_pid && r->pid != c->pid && !c->rearranged)
			FAULT(c, "pid is %" PRIu64 ", the records before have %" PRIu64, r->pid,
			      c->pid);
		c->pid = r->pid;
		c->have_pid = true;
	}
}

static void check_id(struct dft_check *c)
{
	const struct dft_record *r = c->r;
	uint64_t want = c->life.last_id + 1;

	if (!(r->has & DFT_F_ID))
		return;
	/* In 2025 metadata were numbered, too, and counting could begin elsewhere. */
	if (!r->letter && r->ph != DFT_PH_COMPLETE) {
		FAULT(c, "a record of this kind carries no id");
		return;
	}
	if (dft_check_run(c))
		return;
	c->events++;
	c->annot.events += r->ph == DFT_PH_COMPLETE && dft_is_of_app(r);
	dft_check_count_id(c);
	if (!c->life.have_id && r->letter)
		want = r->id;
	if (!dft_check_id_fits(c, want))
		FAULT(c, "id is %" PRIu64 ", expected %" PRIu64, r->id, want);
	if (!(c->rearranged & DFT_REARRANGED_SORT) || r->id > c->life.last_id)
		c->life.last_id = r->id;
	c->life.have_id = true;
}

/* A process with so many may introduce some again: docs/trace-format.md. */
#define MANY_NAMES 65536

static uint64_t *hash_entry(struct dft_check *c, uint64_t hash)
{
	bool fresh;
	uint64_t *v = dft_index_put(&c->hashes, hash, &fresh);

	if (!v)
		c->err = -ENOMEM;
	return v;
}

static const char *kinds_text(unsigned int kinds)
{
	switch (kinds) {
	case KNOWN_HH:
		return "HH";
	case KNOWN_FH:
		return "FH";
	case KNOWN_SH:
		return "SH";
	default:
		return "FH or SH";
	}
}

/* The hash in `v` must have been introduced by a record of one of `kinds`. */
static void check_ref(struct dft_check *c, struct dft_str key, const struct dft_jsonr_node *v,
		      unsigned int kinds)
{
	uint64_t hash, *known;
	char name[SHORT_SZ];

	if (!dft_hash_value(&c->json, v, c->r->letter, &hash)) {
		FAULT(c, "args.%s is not a hash of 16 lowercase hex digits", brief(name, key));
		return;
	}
	known = hash_entry(c, hash);
	if (c->rearranged & DFT_REARRANGED_RECOVER || !known || *known & (kinds | (uint64_t)kinds << TOLD_SHIFT))
		return;
	/* Said once per hash: a file name that is missing can be used a million times. */
	*known |= (uint64_t)kinds << TOLD_SHIFT;
	FAULT(c, "args.%s %016" PRIx64 " has no %s record before it", brief(name, key), hash,
	      kinds_text(kinds));
}

/* Elsewhere the keys are the application's own: a "commit_hash" is none of ours. */
static bool is_our_cat(struct dft_str cat)
{
	return DFT_STR_IS(cat, "POSIX") || DFT_STR_IS(cat, "STDIO") || DFT_STR_IS(cat, "dftracer") ||
	       DFT_STR_IS(cat, DFT_PROV_CAT);
}

static void check_arg(struct dft_check *c, struct dft_str key, const struct dft_jsonr_node *v)
{
	if (DFT_STR_IS(key, "hhash"))
		check_ref(c, key, v, KNOWN_HH);
	else if (DFT_STR_IS(key, "relations"))
		dft_check_relations(c, v);
	else if (dft_is_of_app(c->r))
		dft_check_app_arg(c, key, v);
	else if (DFT_STR_IS(key, "fhash"))
		check_ref(c, key, v, KNOWN_FH);
	else if (dft_str_ends(key, "_fhash") && is_our_cat(c->r->cat))
		check_ref(c, key, v, KNOWN_FH);
	else if (dft_str_ends(key, "_hash") && is_our_cat(c->r->cat))
		check_ref(c, key, v, KNOWN_FH | KNOWN_SH);
}

/* A record that stands for many calls. */
static void check_row(struct dft_check *c)
{
	static const char *const counts[] = {
		"dft_cnt", "dur_sum", "dur_min", "dur_max", "ret_sum", "errors", "shed", "last",
	};
	struct dft_jsonr *j = &c->json;
	uint64_t n, cnt = 0, shed = 0;

	if (!c->r->args || c->r->letter || dft_is_of_app(c->r) || !is_our_cat(c->r->cat))
		return;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct dft_jsonr_node *v = dft_jsonr_get(j, c->r->args, counts[i]);

		if (!v)
			continue;
		if (!dft_jsonr_u64(j, v, &n))
			FAULT(c, "args.%s is not a non-negative integer", counts[i]);
		else if (!strcmp(counts[i], "dft_cnt"))
			cnt = n;
		else if (!strcmp(counts[i], "shed"))
			shed = n;
	}
	if (shed) {
		dft_add_sat(&c->aggregated, cnt);
		dft_add_sat(&c->life.aggregated, cnt);
	}
}

/* How a call ended. */
enum { HAS_RET = 1, IS_UNFINISHED = 2, IS_UNSEEN = 4 };

static unsigned int result_bit(struct dft_str key)
{
	return DFT_STR_IS(key, "ret") || DFT_STR_IS(key, "errno") ? HAS_RET :
	       DFT_STR_IS(key, "unfinished")			  ? IS_UNFINISHED :
	       DFT_STR_IS(key, "unseen")			  ? IS_UNSEEN : 0;
}

static void check_result(struct dft_check *c, unsigned int result)
{
	if (c->r->ph != DFT_PH_COMPLETE || c->r->letter || !DFT_STR_IS(c->r->cat, "POSIX"))
		return;
	if (result & HAS_RET && result != HAS_RET)
		FAULT(c, "a result beside args.%s", result & IS_UNSEEN ? "unseen" : "unfinished");
	c->life.unseen += (result & IS_UNSEEN) != 0;
}

static void check_args(struct dft_check *c)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *k, *args = c->r->args;
	unsigned int result = 0;
	bool first = true;

	/* In 2025 hhash could be absent. */
	k = args ? dft_jsonr_first(j, args) : NULL;
	if (args && !c->r->letter && (!k || !DFT_STR_IS(dft_jsonr_str(j, k), "hhash"))) {
		first = dft_jsonr_get(j, args, "hhash") != NULL;
		FAULT(c, first ? "args.hhash is not the first of args" : "args.hhash is missing");
	}
	for (; k; k = dft_jsonr_next(j, args, k)) {
		result |= result_bit(dft_jsonr_str(j, k));
		check_arg(c, dft_jsonr_str(j, k), dft_jsonr_value(k));
	}
	check_result(c, result);
}

/* HH, FH and SH: the hash must be that of the name, and new. */
static void check_hash_record(struct dft_check *c, enum known kind)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, c->r->args, "value");
	const char *kind_text = kinds_text(kind);
	bool old = v && v->type == DFT_JSONR_INT;
	uint64_t hash, right, *known;
	struct dft_str name;
	int rc;

	if (!v || !dft_hash_value(j, v, c->r->letter, &hash)) {
		FAULT(c, "%s: args.value is not a hash of 16 lowercase hex digits", kind_text);
		return;
	}
	rc = dft_original_name(j, c->r->args, &c->raw, &name);
	if (rc < 0) {
		c->err = rc;
		return;
	}
	if (rc == 0) {
		FAULT(c, "%s: no args.name in the form of a string, or args.raw is not hex",
		      kind_text);
	} else {
		right = dft_name_hash(name, old);
		if (right != hash)
			FAULT(c, "%s: args.value %016" PRIx64 " is not the hash of the name, %016"
			      PRIx64, kind_text, hash, right);
	}
	known = hash_entry(c, hash);
	if (!known)
		return;
	if (*known & kind && c->hashes.cnt < MANY_NAMES)
		FAULT(c, "%s: %016" PRIx64 " was introduced before", kind_text, hash);
	*known |= kind;
}

static void check_metadata(struct dft_check *c)
{
	struct dft_str name = c->r->name;
	char text[SHORT_SZ];

	if (!DFT_STR_IS(c->r->cat, "dftracer") && c->r->has & DFT_F_CAT)
		FAULT(c, "cat of a metadata record is not \"dftracer\"");
	if (!c->r->args)
		return;
	if (name.n == 2 && name.s[1] == 'H' && strchr("HFS", name.s[0])) {
		check_hash_record(c, name.s[0] == 'H' ? KNOWN_HH :
				  name.s[0] == 'F' ? KNOWN_FH : KNOWN_SH);
	} else if (DFT_STR_IS(name, "EH") || DFT_STR_IS(name, "ET") || DFT_STR_IS(name, "ER")) {
		dft_check_entity_record(c, name.s[1]);
	} else if (DFT_STR_IS(name, "CM")) {
		dft_check_cm(c);
	} else if (DFT_STR_IS(name, "PR") || DFT_STR_IS(name, "thread_name") ||
		   DFT_STR_IS(name, "process_name")) {
		/* The value may be an array; other kinds of metadata may hold anything. */
		dft_check_has_arg(c, brief(text, name), "name", DFT_JSONR_STRING);
		if (!dft_jsonr_get(&c->json, c->r->args, "value"))
			FAULT(c, "%s: args.value is missing", text);
	}
}

static void check_start(struct dft_check *c)
{
	const struct dft_jsonr_node *v;

	if (c->life.start_line)
		FAULT(c, "a second start record; the first is in line %" PRIu64, c->life.start_line);
	else if (!c->r->letter && !dft_check_may_lack(c) &&
		 (c->r->id != 1 || (c->life.ids != 1 && !(c->rearranged & DFT_REARRANGED_SORT))))
		FAULT(c, "start is not the first event");
	c->life.start_line = c->line;
	v = c->r->args ? dft_jsonr_get(&c->json, c->r->args, "cwd") : NULL;
	if (v)
		check_ref(c, (struct dft_str){ "cwd", 3 }, v, KNOWN_FH | KNOWN_SH);
}

static void check_num_events(struct dft_check *c)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, c->r->args, "num_events");
	struct dft_str raw;
	uint64_t n;

	/* Without metadata the record may hold nothing, but then not its configuration either. */
	if (!v && dft_jsonr_get(j, c->r->args, "cfg"))
		FAULT(c, "end: args.num_events is missing");
	/* What exactly was counted in 2025 differs between versions. */
	if (!v || c->r->letter || (dft_jsonr_u64(j, v, &n) && n + 1 == c->r->id))
		return;
	raw = dft_jsonr_raw(j, v);
	FAULT(c, "num_events is %.*s, but end is event %" PRIu64, raw.n > 40 ? 40 : (int)raw.n,
	      raw.s, c->r->id);
}

/* What the end record says of rows is what the rows say. */
static void check_aggregated(struct dft_check *c, const struct dft_jsonr_node *lost)
{
	bool object = lost && lost->type == DFT_JSONR_OBJECT;
	const struct dft_jsonr_node *v = object ? dft_jsonr_get(&c->json, lost, "aggregated") : NULL;
	uint64_t told = 0;

	if (v && !dft_jsonr_u64(&c->json, v, &told))
		FAULT(c, "end: args.lost.aggregated is not a non-negative integer");
	else if (told != c->life.aggregated)
		FAULT(c, "end: args.lost.aggregated is %" PRIu64 ", the rows that say shed have %" PRIu64
		      " calls", told, c->life.aggregated);
}

/* Where events have arguments at all, each says so itself. */
static void check_unseen(struct dft_check *c)
{
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, c->r->args, "unseen");
	const struct dft_jsonr_node *cfg = dft_jsonr_get(j, c->r->args, "cfg");
	const struct dft_jsonr_node *args = cfg && cfg->type == DFT_JSONR_OBJECT ?
						    dft_jsonr_get(j, cfg, "metadata") : NULL;
	uint64_t has_args = 1, told = 0;

	if (v && v->type != DFT_JSONR_OBJECT) {
		FAULT(c, "end: args.unseen is not an object");
		return;
	}
	if (v)
		told = dft_sum_counts(j, v, NULL, 0);
	if (args && (!dft_jsonr_u64(j, args, &has_args) || !has_args))
		return;
	if (told != c->life.unseen)
		FAULT(c, "end: args.unseen is %" PRIu64 " in all, the events that say unseen are %" PRIu64,
		      told, c->life.unseen);
}

static void check_losses(struct dft_check *c)
{
	static const char *const missed[] = { "undecoded", "unknown", "compat" };
	struct dft_jsonr *j = &c->json;
	const struct dft_jsonr_node *v = dft_jsonr_get(j, c->r->args, "lost");
	char text[256];
	uint64_t n = v ? dft_sum_counts(j, v, text, sizeof(text)) : 0;

	if (n) {
		dft_add_sat(&c->lost, n);
		FAULT(c, "%" PRIu64 " lost: %s", n, text);
	} else if (v && v->type != DFT_JSONR_OBJECT && v->type != DFT_JSONR_INT) {
		FAULT(c, "end: args.lost is neither an object nor a number");
	}
	if (!dft_check_may_lack(c)) {
		check_aggregated(c, v);
		check_unseen(c);
	}
	for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]); i++) {
		v = dft_jsonr_get(j, c->r->args, missed[i]);
		if (v)
			dft_add_sat(&c->missed, dft_sum_counts(j, v, NULL, 0));
	}
}

static void check_end_record(struct dft_check *c)
{
	if (c->life.end_line)
		FAULT(c, "a second end record; the first is in line %" PRIu64, c->life.end_line);
	c->life.end_line = c->line;
	if (!c->r->args)
		return;
	check_num_events(c);
	dft_check_recovered(c);
	check_losses(c);
	dft_check_end_args(c);
}

static void check_life(struct dft_check *c)
{
	const struct dft_record *r = c->r;
	/* An application may call its own things "start" in whatever category. */
	bool own = r->ph == DFT_PH_COMPLETE && dft_is_of_tracer(r);

	if (r->ph == DFT_PH_METADATA)
		return;
	if (c->life.end_line && !(c->rearranged & DFT_REARRANGED_SORT))
		FAULT(c, "an event after the end record of line %" PRIu64, c->life.end_line);
	if (own && DFT_STR_IS(r->name, "start"))
		check_start(c);
	else if (!c->life.start_line && !c->life.start_told && !dft_check_may_lack(c) &&
		 !(c->rearranged & DFT_REARRANGED_SORT)) {
		FAULT(c, "an event before the start record");
		c->life.start_told = true;
	}
	if (own && DFT_STR_IS(r->name, "end"))
		check_end_record(c);
}

static void check_record(struct dft_check *c)
{
	char name[SHORT_SZ];
	struct dft_str key;
	int dup;

	c->records++;
	dup = dft_jsonr_find_dup(&c->json, &key);
	c->rearranged |= dft_rearranged_of(c->r, &c->json);
	if (dup < 0)
		c->err = dup;
	else if (dup)
		FAULT(c, "key \"%s\" twice in one object", brief(name, key));
	dft_check_life_of(c);
	check_fields(c);
	check_id(c);
	/* Before args, so that the HH record itself may carry its hash as hhash. */
	if (c->r->ph == DFT_PH_METADATA)
		check_metadata(c);
	else if (c->r->ph == DFT_PH_AGGREGATED)
		check_row(c);
	check_args(c);
	check_life(c);
}

int dft_check_line(struct dft_check *c, const struct dft_line *line, bool plain)
{
	struct dft_record r;
	int rc = dft_record_parse(&r, &c->json, line->s, line->n);

	c->line = line->no;
	if (rc == 1) {
		c->r = &r;
		check_record(c);
		c->r = NULL;
		return c->err;
	}
	if (rc == -ENOMEM)
		return rc;
	/* That a plain file ends within its last line has been told by the source. */
	if (rc < 0 && (line->whole || !plain))
		dft_faults_add_json(&c->faults, line->no, &c->json);
	return 0;
}

int dft_check_end(struct dft_check *c, const struct dft_source_stat *st)
{
	if (c->rearranged) {
		dft_check_lives(c, st);
		return c->err;
	}
	c->unfinished = !c->life.end_line;
	if (!c->records && !st->cut && !st->damaged)
		dft_faults_add(&c->faults, 0, "unfinished: no records at all");
	else if (c->unfinished && !st->cut)
		dft_faults_add(&c->faults, 0,
			       "unfinished: no end record after %" PRIu64
			       " events (still being written, or the tracer was killed)",
			       c->events);
	/* Behind a cut the declarations may have been. */
	if (!c->unfinished) {
		dft_check_undeclared(c);
		dft_check_runs_end(c);
	}
	return c->err;
}
