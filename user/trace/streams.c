// SPDX-License-Identifier: MIT
#include "streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Regions that never end (longjmp, a thread that is gone) leave parts behind: bounded. */
#define STREAMS_MAX 1024
#define STREAM_MAX  (16u << 20)

char dft_declared_mark, dft_late_mark;

static struct dft_stream *find(struct dft_annots *annots, uint64_t data)
{
	for (size_t i = 0; i < annots->nstreams; i++)
		if (annots->streams[i].data == data)
			return &annots->streams[i];
	return NULL;
}

static void drop(struct dft_annots *annots, struct dft_stream *stream)
{
	dft_buf_free(&stream->bytes);
	annots->nstreams--;
	memmove(stream, stream + 1,
		(size_t)(annots->streams + annots->nstreams - stream) * sizeof(*stream));
}

/* The stream in this memory, new if there is none; what another region has left there goes. */
static struct dft_stream *obtain(struct dft_annots *annots, uint64_t data, uint64_t value, bool fresh)
{
	struct dft_stream *stream = find(annots, data), *more;

	if (stream && (fresh || stream->value != value)) {
		drop(annots, stream);
		annots->unended++;
		stream = NULL;
	}
	if (stream)
		return stream;
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
	struct dft_stream *stream = obtain(annots, data, value, before == 0);

	if (!stream)
		return -ENOMEM;
	if (stream->broken || stream->bytes.len != before || len > STREAM_MAX - before) {
		stream->broken = true;
		return 0;
	}
	dft_buf_append(&stream->bytes, bytes, len);
	return stream->bytes.failed ? -ENOMEM : 0;
}

int dft_stream_break(struct dft_annots *annots, uint64_t data, uint64_t value)
{
	struct dft_stream *stream = obtain(annots, data, value, false);

	if (!stream)
		return -ENOMEM;
	stream->broken = true;
	return 0;
}

bool dft_stream_take(struct dft_annots *annots, uint64_t data, uint64_t value,
		     struct dft_stream *out)
{
	struct dft_stream *stream = find(annots, data);

	if (!stream || stream->value != value)
		return false;
	*out = *stream;
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

static struct dft_app *app_of(struct dft_app **list, size_t *n, const char *key, size_t key_len)
{
	struct dft_app *more;

	for (size_t i = 0; i < *n; i++)
		if ((*list)[i].key_len == key_len && !memcmp((*list)[i].key, key, key_len))
			return &(*list)[i];
	more = realloc(*list, (*n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	*list = more;
	memset(&more[*n], 0, sizeof(*more));
	more[*n].key = copy(key, key_len);
	if (!more[*n].key)
		return NULL;
	more[*n].key_len = key_len;
	return &more[(*n)++];
}

int dft_app_set(struct dft_app **list, size_t *n, const char *key, size_t key_len, int64_t number,
		const char *text, size_t text_len)
{
	struct dft_app *app = app_of(list, n, key, key_len);
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

static void app_free(struct dft_app *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].key);
		free(list[i].text);
	}
	free(list);
}

void dft_annots_free(struct dft_annots *annots)
{
	for (size_t i = 0; i < annots->nstreams; i++)
		dft_buf_free(&annots->streams[i].bytes);
	free(annots->streams);
	app_free(annots->app, annots->napp);
	app_free(annots->used, annots->nused);
	dft_map_free(&annots->entities);
	dft_map_free(&annots->types);
}
