/* SPDX-License-Identifier: MIT */
/*
 * What stands behind dftracer.h: the probes, and the writer of what they carry (wire.h says what
 * that is). While nobody listens only the few inline lines here run; all else is out of line and
 * away from the program's own code.
 */
#ifndef DFTRACER_REGION_H
#define DFTRACER_REGION_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dftracer/types.h>
#include <dftracer/usdt.h>
#include <dftracer/wire.h>

/*
 * Never inlined, not among hot code, and no warning where a file has no use for it. `inline` all the
 * same, because that makes gcc -O0 leave out what is not used, and gcc has a warning about the two.
 */
#define DFT_COLD static inline __attribute__((noinline, cold, unused))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast" /* an operand may be a number or an address */
extern "C" {
#endif

DFTRACER_USDT_DEFINE(dftracer, event)
DFTRACER_USDT_DEFINE(dftracer, part)
DFTRACER_USDT_DEFINE(dftracer, metadata)
DFTRACER_USDT_DEFINE(dftracer, entity)
DFTRACER_USDT_DEFINE(dftracer, entity_type)
DFTRACER_USDT_DEFINE(dftracer, relation)

enum dft_kind {
	DFT_KIND_SCOPED, /* its memory belongs to the caller */
	DFT_KIND_HANDLE  /* it is the first part of a struct dft_handle */
};

struct dft_chunk {
	uint32_t before; /* bytes of the stream that went before in part probes */
	unsigned char bytes[DFT_CHUNK_MAX - sizeof(uint32_t)];
};

/*
 * A span of time that is going on. It is in the frame of the function that it belongs to, so it is
 * small. Nothing but the first member is written while nobody listens.
 */
struct dft_region {
	struct DFTracerData data; /* profiler: this region while it is recorded, or else NULL */
	const char *name;
	const char *text;
	uint64_t value; /* start, ns; of metadata: see wire.h */
	uint32_t len;	/* bytes used of chunk, with `before` */
	uint8_t code;	/* DFT_TYPE_* */
	uint8_t kind;
	uint8_t is_metadata; /* name and text are a key and its value */
	struct dft_chunk chunk;
};

/* What functions return as a region while nobody listens. Never written to. */
static struct DFTracerData dft_inert DFT_UNUSED = { DFT_NULL };

/* Bound to the C library's function, whatever <time.h> declares under the standard in force. */
struct dft_timespec {
	long sec;
	long nsec;
};
extern int dft_clock_gettime(int clock, struct dft_timespec *ts) __asm__("clock_gettime")
	__attribute__((nothrow));

#define DFT_CLOCK_REALTIME  0
#define DFT_CLOCK_MONOTONIC 1

/* In the vDSO: no system call. */
DFT_COLD uint64_t dft_clock(int clock)
{
	struct dft_timespec ts = { 0, 0 };

	dft_clock_gettime(clock, &ts);
	return DFT_CAST(uint64_t, ts.sec) * 1000000000u + DFT_CAST(uint64_t, ts.nsec);
}

/*
 * The length of a string, all of whose pages are in memory now: a listener in the kernel must not
 * wait for a page, and would see nothing of a string that is still in its file. The compiler knows
 * the length of a literal without looking at it, hence volatile.
 */
DFT_COLD size_t dft_touch(const char *s)
{
	const volatile char *at = s;
	size_t n, i;

	if (!s)
		return 0;
	n = strlen(s);
	for (i = 0; i < n; i += 4096)
		(void)at[i];
	(void)at[n];
	return n;
}

/* ---- the stream of items ------------------------------------------------------------------- */

DFT_COLD void dft_stream_begin(struct dft_region *r, const char *name, const char *text,
			       uint64_t value, int code)
{
	r->name = name ? name : "";
	r->text = text;
	r->value = value;
	r->code = DFT_CAST(uint8_t, code);
	r->len = sizeof(r->chunk.before);
	r->chunk.before = 0;
}

/* Sends a full chunk ahead of its event. */
DFT_COLD void dft_part(struct dft_region *r)
{
	if (DFTRACER_USDT_ENABLED(dftracer, part)) {
		dft_touch(r->name);
		dft_touch(r->text);
		DFTRACER_USDT(dftracer, part, r->name, r->text, r->value, r->code, &r->chunk,
			      r->len);
	}
	r->chunk.before += r->len - DFT_CAST(uint32_t, sizeof(r->chunk.before));
	r->len = sizeof(r->chunk.before);
}

DFT_COLD void dft_put(struct dft_region *r, const void *from, size_t size)
{
	const unsigned char *p = DFT_CAST(const unsigned char *, from);

	while (size) {
		uint32_t room = DFT_CHUNK_MAX - r->len;
		uint32_t n = size < room ? DFT_CAST(uint32_t, size) : room;

		if (!room) {
			dft_part(r);
			continue;
		}
		memcpy(r->chunk.bytes + (r->len - sizeof(r->chunk.before)), p, n);
		r->len += n;
		p += n;
		size -= n;
	}
}

DFT_COLD void dft_put_string(struct dft_region *r, const char *s)
{
	size_t size = s ? strlen(s) : 0;
	uint32_t n = size > UINT32_MAX ? UINT32_MAX : DFT_CAST(uint32_t, size);

	dft_put(r, &n, sizeof(n));
	dft_put(r, s, n);
}

/* The beginning of an item with a key. mt: MetadataType, 0 if it is none. */
DFT_COLD void dft_put_key(struct dft_region *r, enum dft_item item, const char *key, int mt)
{
	unsigned char head[2];

	head[0] = DFT_CAST(unsigned char, item);
	head[1] = DFT_CAST(unsigned char, mt == 1 || mt == 2 ? mt : 0);
	dft_put(r, head, sizeof(head));
	dft_put_string(r, key);
}

/* An item without a key: a string of the event itself, or bytes. */
DFT_COLD void dft_put_own_string(struct dft_region *r, enum dft_item item, const char *s)
{
	unsigned char head = DFT_CAST(unsigned char, item);

	dft_put(r, &head, sizeof(head));
	dft_put_string(r, s);
}

/* ---- metadata ------------------------------------------------------------------------------ */

DFT_COLD void dft_metadata_begin(struct dft_region *r, enum dft_meta form, int api, const char *key)
{
	uint64_t value = dft_clock(DFT_CLOCK_MONOTONIC) * 4 + DFT_CAST(uint64_t, form);

	dft_stream_begin(r, key, DFT_NULL, value, api);
}

DFT_COLD void dft_metadata_fire(struct dft_region *r)
{
	dft_touch(r->name);
	DFTRACER_USDT(dftracer, metadata, r->name, 0, r->value, r->code, &r->chunk, r->len);
}

DFT_COLD void dft_metadata_str(enum dft_meta form, int api, const char *key, const char *value)
{
	struct dft_region r;

	dft_metadata_begin(&r, form, api, key);
	dft_put_key(&r, DFT_ITEM_STR, key, 0);
	dft_put_string(&r, value);
	dft_metadata_fire(&r);
}

DFT_COLD void dft_metadata_int(enum dft_meta form, int api, const char *key, int64_t value)
{
	struct dft_region r;

	dft_metadata_begin(&r, form, api, key);
	dft_put_key(&r, DFT_ITEM_INT, key, 0);
	dft_put(&r, &value, sizeof(value));
	dft_metadata_fire(&r);
}

/* ---- regions ------------------------------------------------------------------------------- */

static inline int dft_listens(int event_type)
{
	if (event_type == DF_METADATA_EVENT)
		return DFTRACER_USDT_ENABLED(dftracer, metadata);
	return DFTRACER_USDT_ENABLED(dftracer, event);
}

/* The region that d stands for, while it is recorded. */
static inline struct dft_region *dft_live(struct DFTracerData *d)
{
	void *r = d ? __atomic_load_n(&d->profiler, __ATOMIC_RELAXED) : DFT_NULL;

	if (__builtin_expect(!r, 1))
		return DFT_NULL;
	return DFT_CAST(struct dft_region *, r);
}

DFT_COLD void dft_region_begin(struct dft_region *r, const char *name, const char *cat,
			       int event_type, int api)
{
	r->is_metadata = event_type == DF_METADATA_EVENT;
	dft_stream_begin(r, name, cat ? cat : "", dft_clock(DFT_CLOCK_MONOTONIC), api);
	__atomic_store_n(&r->data.profiler, DFT_CAST(void *, r), __ATOMIC_RELEASE);
}

DFT_COLD void dft_region_begin_scoped(struct dft_region *r, const char *name, const char *cat,
				      int event_type, int api)
{
	r->kind = DFT_KIND_SCOPED;
	dft_region_begin(r, name, cat, event_type, api);
}

/* Begins a region in memory of the caller. */
static inline struct DFTracerData *dft_region_start(struct dft_region *r, const char *name,
						    const char *cat, int event_type, int api)
{
	r->data.profiler = DFT_NULL;
	if (dft_listens(event_type))
		dft_region_begin_scoped(r, name, cat, event_type, api);
	return &r->data;
}

DFT_COLD void dft_region_fire(struct dft_region *r)
{
	size_t name = dft_touch(r->name);
	size_t text = dft_touch(r->text);

	if (!dft_listens(r->is_metadata))
		return;
	if (r->is_metadata) {
		dft_metadata_str(DFT_META_CM, r->code, r->name, r->text);
		return;
	}
	if (name >= DFT_NAME_SENT)
		dft_put_own_string(r, DFT_ITEM_NAME, r->name);
	if (text >= DFT_TEXT_SENT)
		dft_put_own_string(r, DFT_ITEM_CAT, r->text);
	DFTRACER_USDT(dftracer, event, r->name, r->text, r->value, r->code, &r->chunk, r->len);
}

/* ---- regions that are handed out ----------------------------------------------------------- */

/*
 * The memory of a handle is used again but never given back, so that closing a handle a second time
 * finds a closed region. Its strings are copies: whoever asked for it may free his own.
 */
struct dft_handle {
	struct dft_region region;
	struct dft_handle *next;
	char *strings;
	size_t room;
};

static struct dft_handle *dft_unused_handles DFT_UNUSED = DFT_NULL;

/* Adds a chain of handles to the unused ones. */
DFT_COLD void dft_handles_put(struct dft_handle *first)
{
	struct dft_handle *last = first;
	struct dft_handle *old = DFT_NULL;

	if (__atomic_compare_exchange_n(&dft_unused_handles, &old, first, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		return;
	while (last->next)
		last = last->next;
	do {
		last->next = old;
	} while (!__atomic_compare_exchange_n(&dft_unused_handles, &old, first, 0,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/*
 * An unused handle or a new one. Takes all and puts back what is too many: whoever took only the
 * first could not know that its successor is still the same by the time it becomes the first.
 */
DFT_COLD struct dft_handle *dft_handle_get(void)
{
	struct dft_handle *none = DFT_NULL;
	struct dft_handle *h =
		__atomic_exchange_n(&dft_unused_handles, none, __ATOMIC_ACQUIRE);

	if (!h)
		return DFT_CAST(struct dft_handle *, calloc(1, sizeof(*h)));
	if (h->next)
		dft_handles_put(h->next);
	h->next = DFT_NULL;
	return h;
}

DFT_COLD int dft_handle_reserve(struct dft_handle *h, size_t size)
{
	char *more;

	if (size <= h->room)
		return 1;
	more = DFT_CAST(char *, realloc(h->strings, size));
	if (!more)
		return 0;
	h->strings = more;
	h->room = size;
	return 1;
}

DFT_COLD struct DFTracerData *dft_handle_open(const char *name, const char *cat, int event_type,
					      int api)
{
	size_t name_size = name ? strlen(name) + 1 : 1;
	size_t cat_size = cat ? strlen(cat) + 1 : 1;
	struct dft_handle *h = dft_handle_get();
	char *copy;

	if (!h)
		return &dft_inert;
	if (!dft_handle_reserve(h, name_size + cat_size)) {
		dft_handles_put(h);
		return &dft_inert;
	}
	copy = h->strings;
	memcpy(copy, name ? name : "", name_size);
	memcpy(copy + name_size, cat ? cat : "", cat_size);
	h->region.kind = DFT_KIND_HANDLE;
	dft_region_begin(&h->region, copy, copy + name_size, event_type, api);
	return &h->region.data;
}

/* Ends the region, once, even if two threads do it; with an event unless it is dropped. */
DFT_COLD void dft_region_close(struct DFTracerData *d, int drop)
{
	void *none = DFT_NULL;
	void *was = __atomic_exchange_n(&d->profiler, none, __ATOMIC_ACQ_REL);
	struct dft_region *r = DFT_CAST(struct dft_region *, was);

	if (!r)
		return;
	if (!drop)
		dft_region_fire(r);
	if (r->kind == DFT_KIND_HANDLE)
		dft_handles_put(DFT_CAST(struct dft_handle *, was));
}

/* ---- what is told about a region ----------------------------------------------------------- */

DFT_COLD void dft_region_int(struct dft_region *r, const char *key, int64_t value, int mt)
{
	if (r->is_metadata)
		return;
	dft_put_key(r, DFT_ITEM_INT, key, mt);
	dft_put(r, &value, sizeof(value));
}

DFT_COLD void dft_region_str(struct dft_region *r, const char *key, const char *value, int mt)
{
	if (r->is_metadata)
		return;
	dft_put_key(r, DFT_ITEM_STR, key, mt);
	dft_put_string(r, value);
}

DFT_COLD void dft_region_relation(struct dft_region *r, EntityRelation relation, EntityID id)
{
	unsigned char head[2];

	if (r->is_metadata || !dft_relation_is_event(relation) || id == DFT_ENTITY_NONE)
		return;
	head[0] = DFT_ITEM_REL;
	head[1] = DFT_CAST(unsigned char, relation);
	dft_put(r, head, sizeof(head));
	dft_put(r, &id, sizeof(id));
}

/* ---- entities ------------------------------------------------------------------------------ */

DFT_COLD void dft_entity_fire(const char *type, EntityID id, EntityStore store, const char *uri)
{
	char safe_type[DFT_ENTITY_TYPE_LEN];
	char safe_uri[DFT_ENTITY_URI_LEN];

	dft_entity_sanitize(safe_type, sizeof(safe_type), type);
	dft_entity_sanitize(safe_uri, sizeof(safe_uri), uri);
	DFTRACER_USDT(dftracer, entity, safe_type, safe_uri, id, store, 0, 0);
}

DFT_COLD void dft_entity_type_fire(const char *type, EntityRole role, const char *description)
{
	char safe_type[DFT_ENTITY_TYPE_LEN];
	char safe_text[DFT_ENTITY_DESC_LEN];

	dft_entity_sanitize(safe_type, sizeof(safe_type), type);
	dft_entity_sanitize(safe_text, sizeof(safe_text), description);
	DFTRACER_USDT(dftracer, entity_type, safe_type, safe_text, dft_entity_hash(safe_type, ""),
		      role, 0, 0);
}

DFT_COLD void dft_relation_fire(EntityRelation relation, EntityID subject, EntityID object)
{
	DFTRACER_USDT(dftracer, relation, 0, 0, subject, relation, object, 0);
}

#ifdef __cplusplus
}
#endif

#pragma GCC diagnostic pop

#endif
