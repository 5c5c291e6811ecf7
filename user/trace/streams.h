/* SPDX-License-Identifier: MIT */
/* What is known of a process's annotations: parts that wait for their event, declarations, metadata. */
#ifndef DFT_STREAMS_H
#define DFT_STREAMS_H

#include "buf.h"
#include "map.h"

/* Earlier parts of an event or metadata. */
struct dft_stream {
	uint64_t data;  /* address of its buffer in the program: tells streams apart */
	uint64_t value; /* operand of the probe: its start; tells two in the same memory apart */
	struct dft_buf bytes;
	bool broken;    /* a part is missing: `bytes` is what came before it */
};

/* `app` of the end record. */
struct dft_app {
	char *key; /* as a JSON string, with its quotes */
	size_t key_len;
	bool is_int;
	int64_t number;
	char *text;
	size_t text_len;
};

struct dft_apps {
	struct dft_app *list;
	size_t n;
	struct dft_map by_key; /* hash of the key -> number in the list + 1 */
};

struct dft_annots {
	struct dft_map entities; /* ids written: DFT_DECLARED or DFT_LATE */
	struct dft_map types;    /* hashes of types written: DFT_DECLARED, or DFT_LATE of those that are the tracer's */
	bool declared;           /* some by the program itself */
	struct dft_stream *streams;
	size_t nstreams;
	size_t waiting;          /* bytes of all streams */
	struct dft_apps app;
	struct dft_apps used;    /* names of layers in use */
	uint32_t apis;           /* bit n: an event of type n was written */
	uint64_t inherited;      /* regions begun before the process was born: its parent's */
	uint64_t unended;        /* regions of which only parts came */
};

/* Values of the map of entities. */
extern char dft_declared_mark, dft_late_mark;
#define DFT_DECLARED (&dft_declared_mark)
#define DFT_LATE     (&dft_late_mark)

/*
 * Adds a chunk's bytes, of which `before` went before. 0 or -ENOMEM. A chunk that does not fit on
 * marks the stream broken.
 */
int dft_stream_add(struct dft_annots *annots, uint64_t data, uint64_t value, uint32_t before,
		   const char *bytes, size_t len);
/* A chunk is known to be missing. 0 or -ENOMEM. */
int dft_stream_break(struct dft_annots *annots, uint64_t data, uint64_t value);
/* Takes the stream out; the caller frees its bytes. False if there is none. */
bool dft_stream_take(struct dft_annots *annots, uint64_t data, uint64_t value,
		     struct dft_stream *out);

/* Sets a key to a number, or to `text` when that is not NULL. 0 or -ENOMEM. */
int dft_app_set(struct dft_apps *apps, const char *key, size_t key_len, int64_t number,
		const char *text, size_t text_len);
void dft_annots_free(struct dft_annots *annots);

#endif
