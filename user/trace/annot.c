// SPDX-License-Identifier: MIT
#include "annot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "items.h"
#include "lines.h"

#define TYPE_CUT 31 /* longest type, as DFTracer has them */
#define TEXT_CUT DFT_ANNOT_TEXT

#define STORE_OTHER  8
#define STORE_MAX    8
#define ROLE_MAX     5
#define REL_ENTITIES 16 /* relations from here on are between entities */
#define REL_MAX	     255

/*
 * Which API an event came from. The program says so, and cannot pose as anything else: by the type
 * readers tell its events from system calls and from records about the trace.
 */
static unsigned int api_of(const struct dft_rec_annot *rec)
{
	return rec->code == DFT_TYPE_CPP_APP || rec->code == DFT_TYPE_PYTHON ?
		       (unsigned int)rec->code :
		       DFT_TYPE_C_APP;
}

/* ---- declarations --------------------------------------------------------------------------- */

/* The header has restricted them already; but a program may do without it. */
size_t dft_annot_sanitize(char *to, size_t cut, const char *from, size_t len)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-.:/@+=,~ ";

	if (len > cut)
		len = cut;
	for (size_t i = 0; i < len; i++)
		to[i] = from[i] && strchr(safe, from[i]) ? from[i] : '_';
	return len;
}

static void write_entity(struct dft_engine *engine, struct dft_proc *proc, uint64_t id,
			 const struct dft_rec_annot *rec)
{
	char type[TYPE_CUT], uri[TEXT_CUT];
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "EH", DFT_LINE_DFTRACER);
	dft_json_hash(&json, "id", id);
	if (rec) {
		dft_json_str(&json, "type", type,
			     dft_annot_sanitize(type, sizeof(type), rec->name, rec->name_len));
		dft_json_u64(&json, "store", rec->code <= STORE_MAX ? rec->code : STORE_OTHER);
		dft_json_str(&json, "uri", uri, dft_annot_sanitize(uri, sizeof(uri), rec->text, rec->text_len));
	} else {
		dft_json_cstr(&json, "type", "");
		dft_json_u64(&json, "store", STORE_OTHER);
		dft_json_cstr(&json, "uri", "");
		dft_json_u64(&json, "late", 1);
	}
	dft_metadata_end(&json);
}

/* An id that is used and was never declared: that was before the tracer came. */
static int need_entity(struct dft_engine *engine, struct dft_proc *proc, uint64_t id)
{
	struct dft_map *entities = &proc->annots.entities;

	if (dft_map_get(entities, id))
		return 0;
	if (dft_map_put(entities, id, DFT_LATE))
		return -ENOMEM;
	write_entity(engine, proc, id, NULL);
	return 0;
}

static int on_entity(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_annot *rec)
{
	struct dft_map *entities = &proc->annots.entities;

	proc->annots.declared = true;
	if (!rec->value || dft_map_get(entities, rec->value) == DFT_DECLARED)
		return 0; /* the first one stands */
	if (rec->flags)
		return need_entity(engine, proc, rec->value); /* unreadable: the next one tells */
	if (dft_map_put(entities, rec->value, DFT_DECLARED))
		return -ENOMEM;
	write_entity(engine, proc, rec->value, rec);
	return dft_runs_entity(engine, proc, rec->value, rec->text, rec->text_len);
}

static int on_entity_type(struct dft_engine *engine, struct dft_proc *proc,
			  const struct dft_rec_annot *rec)
{
	char type[TYPE_CUT], text[TEXT_CUT];
	size_t len = dft_annot_sanitize(type, sizeof(type), rec->name, rec->name_len);
	uint64_t hash = dft_hash(type, len);
	struct dft_json json;

	proc->annots.declared = true;
	if (rec->flags || dft_map_get(&proc->annots.types, hash) == DFT_DECLARED)
		return 0; /* unreadable: it will be sent again */
	if (dft_map_put(&proc->annots.types, hash, DFT_DECLARED))
		return -ENOMEM;
	dft_metadata_begin(&json, engine, proc, "ET", DFT_LINE_DFTRACER);
	dft_json_str(&json, "type", type, len);
	dft_json_u64(&json, "role", rec->code <= ROLE_MAX ? rec->code : 0);
	dft_json_str(&json, "description", text,
		     dft_annot_sanitize(text, sizeof(text), rec->text, rec->text_len));
	dft_metadata_end(&json);
	return 0;
}

static int on_relation(struct dft_engine *engine, struct dft_proc *proc,
		       const struct dft_rec_annot *rec)
{
	uint64_t subject = rec->value, object = rec->data;
	struct dft_json json;

	if (rec->code < REL_ENTITIES || rec->code > REL_MAX || !subject || !object)
		return 0;
	if (need_entity(engine, proc, subject) || need_entity(engine, proc, object))
		return -ENOMEM;
	dft_metadata_begin(&json, engine, proc, "ER", DFT_LINE_DFTRACER);
	dft_json_u64(&json, "relation", rec->code);
	dft_json_hash(&json, "subject", subject);
	dft_json_hash(&json, "object", object);
	dft_metadata_end(&json);
	return 0;
}

/* ---- streams -------------------------------------------------------------------------------- */

/* The whole stream of an event or metadata; `owned` is what to free. */
struct joined {
	struct dft_items items;
	struct dft_buf owned;
	bool lost; /* only its beginning is here */
};

static uint32_t chunk_before(const struct dft_rec_annot *rec)
{
	uint32_t before = 0;

	if (rec->chunk_len >= sizeof(before))
		memcpy(&before, rec->chunk, sizeof(before));
	return before;
}

static int on_part(struct dft_proc *proc, const struct dft_rec_annot *rec)
{
	if (rec->chunk_len < sizeof(uint32_t))
		return dft_stream_break(&proc->annots, rec->data, rec->value);
	return dft_stream_add(&proc->annots, rec->data, rec->value, chunk_before(rec),
			      rec->chunk + sizeof(uint32_t), rec->chunk_len - sizeof(uint32_t));
}

static int join(struct dft_proc *proc, const struct dft_rec_annot *rec, struct joined *out)
{
	uint32_t before = chunk_before(rec);
	struct dft_stream stream;

	memset(out, 0, sizeof(*out));
	if (rec->chunk_len < sizeof(before)) {
		out->lost = true;
	} else if (!before) {
		out->items.at = rec->chunk + sizeof(before);
		out->items.end = rec->chunk + rec->chunk_len;
		return 0;
	} else if (dft_stream_add(&proc->annots, rec->data, rec->value, before,
				  rec->chunk + sizeof(before), rec->chunk_len - sizeof(before))) {
		return -ENOMEM;
	}
	if (dft_stream_take(&proc->annots, rec->data, rec->value, &stream)) {
		out->owned = stream.bytes;
		out->lost = out->lost || stream.broken;
		out->items.at = stream.bytes.data;
		out->items.end = stream.bytes.data + stream.bytes.len;
	}
	return 0;
}

/* ---- events --------------------------------------------------------------------------------- */

struct arg {
	size_t key_at, key_len; /* in `keys`: a JSON string with its quotes */
	struct dft_item_value value;
};

struct rel_list {
	uint8_t rel;
	uint64_t *ids;
	size_t n;
	struct dft_map seen; /* of long lists */
};

#define REL_LISTS 5 /* four that have names, and the rest */
#define FEW	  16 /* up to here looking at all is faster than a table */

struct event {
	const struct dft_rec_annot *rec;
	struct dft_item_text name, cat;
	bool has_dur, lost;
	uint64_t dur_ns;
	struct dft_buf keys;
	struct arg *args;
	size_t nargs;
	struct dft_map by_key; /* of many: hash of the key -> number of the argument + 1 */
	struct rel_list rels[REL_LISTS];
	size_t nrels;
};

static const char *rel_name(uint8_t rel)
{
	static const char *const names[] = { "used", "generated", "invalidated", "updated" };

	return rel < sizeof(names) / sizeof(names[0]) ? names[rel] : "related";
}

static bool key_is_ours(const char *quoted, size_t len)
{
	static const char *const ours[] = { "\"hhash\"", "\"relations\"", "\"args_lost\"",
					    "\"unreadable\"", "\"dur_ns\"" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strlen(ours[i]) == len && !memcmp(ours[i], quoted, len))
			return true;
	return false;
}

/* Appends the key as JSON has it: two that differ only in bytes that are no UTF-8 are one. */
static size_t quote_key(struct dft_buf *keys, const struct dft_item_text *key)
{
	struct dft_json json = { .buf = keys };
	size_t at = keys->len;

	dft_json_str(&json, NULL, key->bytes, key->len);
	if (!keys->failed && key_is_ours(keys->data + at, keys->len - at)) {
		keys->len--;
		DFT_BUF_LIT(keys, "_\"");
	}
	return at;
}

static bool arg_is(const struct event *event, size_t i, const char *key, size_t len)
{
	const struct arg *arg = &event->args[i];

	return arg->key_len == len && !memcmp(event->keys.data + arg->key_at, key, len);
}

/* The argument of a key, or NULL. */
static struct arg *find_arg(struct event *event, const char *key, size_t len)
{
	uintptr_t known;

	if (event->nargs <= FEW) {
		for (size_t i = 0; i < event->nargs; i++)
			if (arg_is(event, i, key, len))
				return &event->args[i];
		return NULL;
	}
	known = (uintptr_t)dft_map_get(&event->by_key, dft_hash(key, len));
	return known ? &event->args[known - 1] : NULL;
}

static int index_arg(struct event *event, size_t i)
{
	const struct arg *arg = &event->args[i];

	return dft_map_put(&event->by_key, dft_hash(event->keys.data + arg->key_at, arg->key_len),
			   (void *)(uintptr_t)(i + 1));
}

/* The last value of a key counts; it stands where the first one stood. */
static int add_arg(struct event *event, const struct dft_item_value *item)
{
	size_t at = quote_key(&event->keys, &item->key), len;
	struct arg *arg;
	int err = 0;

	if (event->keys.failed)
		return -ENOMEM;
	len = event->keys.len - at;
	arg = find_arg(event, event->keys.data + at, len);
	if (arg) {
		arg->value = *item;
		event->keys.len = at;
		return 0;
	}
	if ((event->nargs & (event->nargs - 1)) == 0) {
		arg = realloc(event->args, (event->nargs ? event->nargs * 2 : 1) * sizeof(*arg));
		if (!arg)
			return -ENOMEM;
		event->args = arg;
	}
	arg = &event->args[event->nargs++];
	arg->key_at = at;
	arg->key_len = len;
	arg->value = *item;
	if (event->nargs == FEW + 1)
		for (size_t i = 0; i < event->nargs && !err; i++)
			err = index_arg(event, i);
	else if (event->nargs > FEW)
		err = index_arg(event, event->nargs - 1);
	return err;
}

static bool has_id(const struct rel_list *list, uint64_t id)
{
	if (list->n > FEW)
		return dft_map_get(&list->seen, id);
	for (size_t i = 0; i < list->n; i++)
		if (list->ids[i] == id)
			return true;
	return false;
}

static int add_id(struct rel_list *list, uint64_t id)
{
	int err = 0;

	if (has_id(list, id))
		return 0;
	if ((list->n & (list->n - 1)) == 0) {
		uint64_t *more = realloc(list->ids, (list->n ? list->n * 2 : 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->ids = more;
	}
	list->ids[list->n++] = id;
	if (list->n == FEW + 1)
		for (size_t i = 0; i < list->n && !err; i++)
			err = dft_map_put(&list->seen, list->ids[i], DFT_DECLARED);
	else if (list->n > FEW)
		err = dft_map_put(&list->seen, id, DFT_DECLARED);
	return err;
}

static int add_rel(struct event *event, uint8_t rel, uint64_t id)
{
	if (rel > REL_LISTS - 1)
		rel = REL_LISTS - 1;
	for (size_t i = 0; i < event->nrels; i++)
		if (event->rels[i].rel == rel)
			return add_id(&event->rels[i], id);
	event->rels[event->nrels].rel = rel;
	return add_id(&event->rels[event->nrels++], id);
}

static int collect(struct event *event, struct dft_items *items)
{
	struct dft_item_value item;
	int err = 0;

	while (!err && dft_items_next(items, &item)) {
		switch (item.tag) {
		case DFT_ITEM_INT:
		case DFT_ITEM_STR:
		case DFT_ITEM_FLOAT:
			err = add_arg(event, &item);
			break;
		case DFT_ITEM_REL:
			if (item.id && item.small < REL_ENTITIES)
				err = add_rel(event, item.small, item.id);
			break;
		case DFT_ITEM_DUR:
			event->has_dur = true;
			event->dur_ns = item.id;
			break;
		case DFT_ITEM_NAME:
			event->name = item.key;
			break;
		case DFT_ITEM_CAT:
			event->cat = item.key;
			break;
		}
	}
	event->lost = event->lost || items->bad;
	return err;
}

static void event_free(struct event *event)
{
	for (size_t i = 0; i < event->nrels; i++) {
		free(event->rels[i].ids);
		dft_map_free(&event->rels[i].seen);
	}
	dft_map_free(&event->by_key);
	dft_buf_free(&event->keys);
	free(event->args);
}

static void write_args(struct dft_json *json, const struct event *event)
{
	for (size_t i = 0; i < event->nargs; i++) {
		const struct arg *arg = &event->args[i];

		dft_json_quoted_key(json, event->keys.data + arg->key_at, arg->key_len);
		if (arg->value.tag == DFT_ITEM_INT)
			dft_json_i64(json, NULL, arg->value.number);
		else if (arg->value.tag == DFT_ITEM_FLOAT)
			dft_json_f64(json, NULL, arg->value.real);
		else
			dft_json_str(json, NULL, arg->value.text.bytes, arg->value.text.len);
	}
}

static void write_relations(struct dft_json *json, const struct event *event)
{
	if (!event->nrels)
		return;
	dft_json_object(json, "relations");
	for (size_t i = 0; i < event->nrels; i++) {
		dft_json_array(json, rel_name(event->rels[i].rel));
		for (size_t k = 0; k < event->rels[i].n; k++)
			dft_json_hash(json, NULL, event->rels[i].ids[k]);
		dft_json_array_end(json);
	}
	dft_json_object_end(json);
}

/* A time that a program gives may be before CLOCK_MONOTONIC began: then it wraps, and so may the sum. */
static uint64_t dur_of(const struct event *event)
{
	uint64_t start = event->rec->value, end = event->rec->ts_ns;

	if (event->has_dur)
		return event->dur_ns;
	return end < start ? 0 : end - start;
}

static void write_event(struct dft_engine *engine, struct dft_proc *proc, const struct event *event)
{
	const struct dft_rec_annot *rec = event->rec;
	/* Both ends rounded down, so that what nests in the program nests in the trace. */
	uint64_t ts = dft_line_us(engine, rec->value);
	uint64_t end = dft_line_us(engine, rec->value + dur_of(event));
	struct dft_event_head head = {
		.name = event->name.bytes, .name_len = event->name.len,
		.cat = event->cat.bytes, .cat_len = event->cat.len,
		.type = api_of(rec), .tid = rec->tid, .ts_us = ts, .dur_us = end < ts ? 0 : end - ts,
	};
	struct dft_json json;

	engine->events++;
	dft_event_begin(&json, engine, proc, &head);
	if (engine->cfg->args)
		write_args(&json, event);
	write_relations(&json, event);
	if (event->lost)
		dft_json_u64(&json, "args_lost", 1);
	if (rec->flags & (DFT_ANNOT_FAULT_NAME | DFT_ANNOT_FAULT_TEXT))
		dft_json_u64(&json, "unreadable", 1);
	if (engine->cfg->args && engine->cfg->precise)
		dft_json_u64(&json, "dur_ns", dur_of(event));
	dft_event_end(&json);
}

static int declare_all(struct dft_engine *engine, struct dft_proc *proc, const struct event *event)
{
	int err = 0;

	for (size_t i = 0; i < event->nrels; i++)
		for (size_t k = 0; k < event->rels[i].n && !err; k++)
			err = need_entity(engine, proc, event->rels[i].ids[k]);
	return err;
}

static int on_event(struct dft_engine *engine, struct dft_proc *proc,
		    const struct dft_rec_annot *rec)
{
	struct event event = {
		.rec = rec,
		.name = { rec->name, rec->name_len },
		.cat = { rec->text, rec->text_len },
	};
	struct joined joined;
	int err = join(proc, rec, &joined);

	event.lost = joined.lost;
	if (!err)
		err = collect(&event, &joined.items);
	if (!err && !event.has_dur && rec->flags & DFT_ANNOT_INHERITED) {
		/* It began in the parent, which ends it as well. */
		proc->annots.inherited++;
	} else if (!err) {
		proc->annots.apis |= 1u << api_of(rec);
		err = declare_all(engine, proc, &event);
		if (!err)
			write_event(engine, proc, &event);
	}
	event_free(&event);
	dft_buf_free(&joined.owned);
	return err;
}

/* ---- metadata ------------------------------------------------------------------------------- */

static void write_custom(struct dft_engine *engine, struct dft_proc *proc,
			 const struct dft_rec_annot *rec, const struct dft_item_value *item)
{
	char number[DFT_PUT_INT];
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "CM", api_of(rec));
	dft_json_str(&json, "name", item->key.bytes, item->key.len);
	if (item->tag == DFT_ITEM_INT) {
		dft_json_str(&json, "value", number,
			     (size_t)(dft_put_i64(number, item->number) - number));
	} else {
		dft_json_str(&json, "value", item->text.bytes, item->text.len);
	}
	dft_metadata_end(&json);
}

/* Kept under the key as JSON has it, see quote_key(). */
static int set_app(struct dft_apps *apps, const struct dft_item_value *item)
{
	struct dft_buf key = DFT_BUF_INIT;
	struct dft_json json = { .buf = &key };
	int err = -ENOMEM;

	dft_json_str(&json, NULL, item->key.bytes, item->key.len);
	if (!key.failed)
		err = dft_app_set(apps, key.data, key.len, item->number,
				  item->tag == DFT_ITEM_STR ? item->text.bytes : NULL, item->text.len);
	dft_buf_free(&key);
	return err;
}

static int on_metadata(struct dft_engine *engine, struct dft_proc *proc,
		       const struct dft_rec_annot *rec)
{
	struct dft_annots *annots = &proc->annots;
	struct dft_item_value item;
	struct joined joined;
	int err = join(proc, rec, &joined);

	if (!err && (!dft_items_next(&joined.items, &item) ||
		     (item.tag != DFT_ITEM_INT && item.tag != DFT_ITEM_STR))) {
		/* If a part of it was lost, the kernel side has counted that. */
		if (!joined.lost)
			engine->bad_records++;
	} else if (!err && DFT_META_OF(rec->value) == DFT_META_CM) {
		write_custom(engine, proc, rec, &item);
	} else if (!err && DFT_META_OF(rec->value) == DFT_META_APP) {
		err = set_app(&annots->app, &item);
	} else if (!err && DFT_META_OF(rec->value) == DFT_META_USED) {
		item.tag = DFT_ITEM_INT;
		item.number = 1;
		err = set_app(&annots->used, &item);
	} else if (!err) {
		engine->bad_records++;
	}
	dft_buf_free(&joined.owned);
	return err;
}

int dft_annot_record(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_annot *rec)
{
	switch (rec->type) {
	case DFT_REC_EVENT:
		return on_event(engine, proc, rec);
	case DFT_REC_PART:
		return on_part(proc, rec);
	case DFT_REC_METADATA:
		return on_metadata(engine, proc, rec);
	case DFT_REC_ENTITY:
		return on_entity(engine, proc, rec);
	case DFT_REC_ENTITY_TYPE:
		return on_entity_type(engine, proc, rec);
	default:
		return on_relation(engine, proc, rec);
	}
}

/* ---- coverage and the end ------------------------------------------------------------------- */

/* From `ts_ns` on annotations of a file are missing in this process: for so long, or for good. */
static void write_coverage(struct dft_engine *engine, struct dft_proc *proc, const char *key,
			   const char *value, uint64_t ts_ns, const char *path, size_t len)
{
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "CM", DFT_LINE_DFTRACER);
	dft_json_cstr(&json, "name", key);
	dft_json_cstr(&json, "value", value);
	dft_json_u64(&json, "ts", dft_line_us(engine, ts_ns));
	dft_json_str(&json, "path", path, len);
	dft_metadata_end(&json);
}

void dft_engine_unheard(struct dft_engine *engine, struct dft_proc *proc, const char *path,
			uint64_t now_ns)
{
	if (proc->opened)
		write_coverage(engine, proc, "probes_unarmed", "opened for writing", now_ns, path,
			       strlen(path));
}

void dft_annot_image(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_image *rec, const struct dft_image_found *found)
{
	bool failed = found->state == DFT_IMAGE_FAILED;
	const struct dft_name *name = dft_names_get(&engine->names, rec->name);
	bool whole = name && !(name->flags & DFT_NAME_TRUNCATED);
	uint64_t gap_ns;
	char gap[24];

	gap_ns = found->armed_ns - rec->ts_ns;
	snprintf(gap, sizeof(gap), "%llu", (unsigned long long)((gap_ns + 999) / 1000));
	write_coverage(engine, proc, failed ? "probes_unarmed" : "probes_gap_us",
		       failed ? found->why : gap, rec->ts_ns, whole ? name->text : "",
		       whole ? name->len : 0);
}

static void write_app(struct dft_json *json, const struct dft_app *app)
{
	dft_json_quoted_key(json, app->key, app->key_len);
	if (app->is_int)
		dft_json_i64(json, NULL, app->number);
	else
		dft_json_str(json, NULL, app->text, app->text_len);
}

void dft_annot_write_layers(struct dft_json *json, const struct dft_proc *proc)
{
	static const struct {
		const char *name;
		unsigned int type;
	} layers[] = { { "\"C_APP\"", DFT_TYPE_C_APP }, { "\"PYTHON\"", DFT_TYPE_PYTHON },
		       { "\"CPP_APP\"", DFT_TYPE_CPP_APP } };
	const struct dft_annots *annots = &proc->annots;
	bool named[3] = { false };

	dft_json_object(json, "used");
	dft_json_u64(json, "LIBC_IO", 1);
	for (size_t i = 0; i < annots->used.n; i++) {
		for (size_t k = 0; k < 3; k++)
			named[k] = named[k] || !strcmp(annots->used.list[i].key, layers[k].name);
		if (strcmp(annots->used.list[i].key, "\"LIBC_IO\""))
			write_app(json, &annots->used.list[i]);
	}
	for (size_t k = 0; k < 3; k++)
		if (!named[k] && annots->apis & 1u << layers[k].type) {
			dft_json_quoted_key(json, layers[k].name, strlen(layers[k].name));
			dft_json_u64(json, NULL, 1);
		}
	dft_json_object_end(json);
	dft_json_object(json, "app");
	for (size_t i = 0; i < annots->app.n; i++)
		write_app(json, &annots->app.list[i]);
	dft_json_object_end(json);
}

void dft_annot_write_counts(struct dft_json *json, const struct dft_proc *proc)
{
	const struct dft_annots *annots = &proc->annots;
	uint64_t unended = annots->unended + annots->nstreams;

	if (!annots->inherited && !unended)
		return;
	dft_json_object(json, "annotations");
	if (annots->inherited)
		dft_json_u64(json, "inherited", annots->inherited);
	if (unended)
		dft_json_u64(json, "unended", unended);
	dft_json_object_end(json);
}
