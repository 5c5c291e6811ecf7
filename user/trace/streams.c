// SPDX-License-Identifier: MIT
#include "streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* Regions that never end (longjmp, a thread that is gone) leave parts behind: bounded. */
#define STREAMS_MAX 1024
/* A line made of it, at six characters a byte or two values for 13 bytes, can be read again. */
#define STREAM_MAX  (4u << 20)
#define WAITING_MAX (64u << 20) /* of all streams of a process */

char dft_declared_mark, dft_late_mark;

static struct dft_stream *find(struct dft_annots *annots, uint64_t data, uint64_t value)
{
	for (size_t i = 0; i < annots->nstreams; i++)
		if (annots->streams[i].data == data && annots->streams[i].value == value)
			return &annots->streams[i];
	return NULL;
}

/*
 * A C++ object that was moved goes on in other memory, and another one may be in its old by now: the
 * stream of the same start that has come just as far.
 */
static struct dft_stream *find_moved(struct dft_annots *annots, uint64_t value, uint32_t before)
{
	for (size_t i = 0; i < annots->nstreams; i++) {
		struct dft_stream *stream = &annots->streams[i];

		if (stream->value == value && stream->bytes.len == before && !stream->broken)
			return stream;
	}
	return NULL;
}

static void drop(struct dft_annots *annots, struct dft_stream *stream)
{
	annots->waiting -= stream->bytes.len;
	dft_buf_free(&stream->bytes);
	annots->nstreams--;
	memmove(stream, stream + 1,
		(size_t)(annots->streams + annots->nstreams - stream) * sizeof(*stream));
}

/* The stream of this region, new if there is none. */
static struct dft_stream *obtain(struct dft_annots *annots, uint64_t data, uint64_t value,
				 uint32_t before)
{
	struct dft_stream *stream = find(annots, data, value), *more;

	if (!stream && before)
		stream = find_moved(annots, value, before);
	if (stream && before) {
		stream->data = data;
		return stream;
	}
	if (stream) {
		drop(annots, stream);
		annots->unended++;
	}
	if (annots->nstreams == STREAMS_MAX) {
		drop(annots, annots->streams); /* the oldest */
		annots->unended++;
	}
	more = realloc(annots->streams, (annots->nstreams + 1) * sizeof(*more));
	if (!more)
		return NULL;
	annots->streams = more;
	stream = &more[annots->nstreams++];
	memset(stream, 0, sizeof(*stream));
	stream->data = data;
	stream->value = value;
	return stream;
}

int dft_stream_add(struct dft_annots *annots, uint64_t data, uint64_t value, uint32_t before,
		   const char *bytes, size_t len)
{
	struct dft_stream *stream = obtain(annots, data, value, before);

	if (!stream)
		return -ENOMEM;
	if (stream->broken || stream->bytes.len != before || len > STREAM_MAX - before ||
	    len > WAITING_MAX - annots->waiting) {
		stream->broken = true;
		return 0;
	}
	dft_buf_append(&stream->bytes, bytes, len);
	annots->waiting += len;
	return stream->bytes.failed ? -ENOMEM : 0;
}

int dft_stream_break(struct dft_annots *annots, uint64_t data, uint64_t value)
{
	struct dft_stream *stream = obtain(annots, data, value, UINT32_MAX);

	if (!stream)
		return -ENOMEM;
	stream->broken = true;
	return 0;
}

bool dft_stream_take(struct dft_annots *annots, uint64_t data, uint64_t value,
		     struct dft_stream *out)
{
	struct dft_stream *stream = find(annots, data, value);

	if (!stream)
		return false;
	*out = *stream;
	annots->waiting -= stream->bytes.len;
	memset(&stream->bytes, 0, sizeof(stream->bytes));
	drop(annots, stream);
	return true;
}

/* ---- metadata of the process ---------------------------------------------------------------- */

static char *copy(const char *text, size_t len)
{
	char *to = malloc(len + 1);

	if (!to)
		return NULL;
	memcpy(to, text, len);
	to[len] = '\0';
	return to;
}

/* The entry of a key, new if there is none. */
static struct dft_app *app_of(struct dft_apps *apps, const char *key, size_t key_len)
{
	uint64_t hash = dft_hash(key, key_len);
	uintptr_t known = (uintptr_t)dft_map_get(&apps->by_key, hash);
	struct dft_app *more;

	if (known)
		return &apps->list[known - 1];
	if ((apps->n & (apps->n - 1)) == 0) {
		more = realloc(apps->list, (apps->n ? apps->n * 2 : 1) * sizeof(*more));
		if (!more)
			return NULL;
		apps->list = more;
	}
	more = &apps->list[apps->n];
	memset(more, 0, sizeof(*more));
	more->key = copy(key, key_len);
	if (!more->key)
		return NULL;
	more->key_len = key_len;
	apps->n++;
	/* If that fails tracing stops: the entry is there to be freed. */
	return dft_map_put(&apps->by_key, hash, (void *)(uintptr_t)apps->n) ? NULL : more;
}

int dft_app_set(struct dft_apps *apps, const char *key, size_t key_len, int64_t number,
		const char *text, size_t text_len)
{
	struct dft_app *app = app_of(apps, key, key_len);
	char *value = NULL;

	if (!app)
		return -ENOMEM;
	if (text) {
		value = copy(text, text_len);
		if (!value)
			return -ENOMEM;
	}
	free(app->text);
	app->text = value;
	app->text_len = text ? text_len : 0;
	app->is_int = !text;
	app->number = number;
	return 0;
}

static void apps_free(struct dft_apps *apps)
{
	for (size_t i = 0; i < apps->n; i++) {
		free(apps->list[i].key);
		free(apps->list[i].text);
	}
	free(apps->list);
	dft_map_free(&apps->by_key);
}

void dft_annots_free(struct dft_annots *annots)
{
	for (size_t i = 0; i < annots->nstreams; i++)
		dft_buf_free(&annots->streams[i].bytes);
	free(annots->streams);
	apps_free(&annots->app);
	apps_free(&annots->used);
	dft_map_free(&annots->entities);
	dft_map_free(&annots->types);
}
