// SPDX-License-Identifier: MIT
/*
 * Any bytes as the stream of items of one event, which comes in chunks. The input is a byte of
 * options, a byte that says how the stream is cut, and the stream. However it is cut, the line must
 * be the same; with a chunk missing it must say so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "items.h"
#include "jsonr.h"
#include "replay.h"

#define ROOM (DFT_CHUNK_MAX - sizeof(uint32_t))

static void must(int cond)
{
	if (!cond)
		abort();
}

static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct dft_buf *all = ctx;

	(void)last;
	dft_buf_append(all, proc->lines.data, proc->lines.len);
	must(!all->failed);
	proc->lines.len = 0;
	return 0;
}

/* ---- reading the items ----------------------------------------------------------------------- */

static void within(const struct dft_item_text *text, const char *bytes, size_t size)
{
	must(!text->bytes || (text->bytes >= bytes && text->bytes <= bytes + size &&
			      text->len <= (size_t)(bytes + size - text->bytes)));
	must(text->bytes || !text->len);
}

/* Bytes of the item by wire.h, counted anew. */
static size_t size_of(const struct dft_item_value *item)
{
	switch (item->tag) {
	case DFT_ITEM_INT:
	case DFT_ITEM_FLOAT:
		return 1 + 1 + 4 + item->key.len + 8;
	case DFT_ITEM_STR:
		return 1 + 1 + 4 + item->key.len + 4 + item->text.len;
	case DFT_ITEM_REL:
		return 1 + 1 + 8;
	case DFT_ITEM_DUR:
		return 1 + 8;
	case DFT_ITEM_NAME:
	case DFT_ITEM_CAT:
		return 1 + 4 + item->key.len;
	}
	abort();
}

static void read_items(const char *bytes, size_t size)
{
	struct dft_items items = { .at = bytes, .end = bytes + size };
	struct dft_item_value item;
	size_t at = 0;

	while (dft_items_next(&items, &item)) {
		within(&item.key, bytes, size);
		within(&item.text, bytes, size);
		at += size_of(&item);
		must(items.at == bytes + at);
	}
	must(items.bad || at == size);
	must(!dft_items_next(&items, &item));
}

/* ---- sending them ----------------------------------------------------------------------------- */

static void send(struct dft_engine *engine, uint8_t type, uint64_t start, size_t before,
		 const char *bytes, size_t size)
{
	struct dft_rec_annot *rec = malloc(sizeof(*rec));
	uint32_t gone = (uint32_t)before;

	must(rec != NULL);
	memset(rec, 0xa5, sizeof(*rec));
	rec->type = type;
	rec->flags = 0;
	rec->name_len = 1;
	rec->text_len = 1;
	rec->chunk_len = (uint16_t)(sizeof(gone) + size);
	rec->pid = rec->tid = 100;
	rec->ts_ns = start + 1000;
	rec->value = start;
	rec->code = DFT_TYPE_C_APP;
	rec->data = 4096;
	rec->name[0] = 'n';
	rec->text[0] = 'c';
	memcpy(rec->chunk, &gone, sizeof(gone));
	if (size)
		memcpy(rec->chunk + sizeof(gone), bytes, size);
	must(dft_engine_record(engine, rec, sizeof(*rec)) == 0);
	free(rec);
}

/* The stream in chunks of `cut` bytes, without the one that has the number `lost`. */
static void send_cut(struct dft_engine *engine, uint64_t start, const char *bytes, size_t size,
		     size_t cut, size_t lost)
{
	size_t at = 0, number = 0;

	for (; size - at > cut; at += cut)
		if (number++ != lost)
			send(engine, DFT_REC_PART, start, at, bytes + at, cut);
	send(engine, DFT_REC_EVENT, start, at, bytes + at, size - at);
}

/* ---- the lines -------------------------------------------------------------------------------- */

static bool is_event(struct dft_jsonr *reader)
{
	const struct dft_jsonr_node *root = dft_jsonr_root(reader);
	const struct dft_jsonr_node *type = dft_jsonr_get(reader, root, "type");
	uint64_t value;

	return type && dft_jsonr_get(reader, root, "id") && dft_jsonr_u64(reader, type, &value) &&
	       value == DFT_TYPE_C_APP;
}

/* An event's line from its name on; the id before that differs. */
static struct dft_str event_line(struct dft_jsonr *reader, const char **at, const char *end)
{
	while (*at < end) {
		const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line)), *name;
		struct dft_str key;

		must(stop != NULL);
		*at = stop + 1;
		must(dft_jsonr_parse(reader, line, (size_t)(stop - line)) == 0);
		must(dft_jsonr_find_dup(reader, &key) == 0);
		if (!is_event(reader))
			continue;
		name = memchr(line, ',', (size_t)(stop - line));
		must(name != NULL);
		return (struct dft_str){ name, (size_t)(stop - name) };
	}
	return (struct dft_str){ NULL, 0 };
}

static void compare(struct dft_str whole, struct dft_str cut, struct dft_str lost, bool any_lost)
{
	must(whole.n == cut.n && !memcmp(whole.s, cut.s, whole.n));
	if (any_lost)
		must(memmem(lost.s, lost.n, "\"args_lost\":1", 13) != NULL);
	else
		must(whole.n == lost.n && !memcmp(whole.s, lost.s, whole.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dft_config cfg = { .follow = true, .args = true, .ring_sz = 4096 };
	struct dft_buf all = DFT_BUF_INIT;
	struct dft_engine_ops ops = { .ctx = &all, .output = on_output };
	struct dft_jsonr reader = { 0 };
	struct dft_engine engine;
	struct dft_str lines[3];
	size_t cut, chunks;
	const char *at;
	char *bytes;

	if (size < 2)
		return 0;
	cfg.args = !(data[0] & 1);
	cfg.precise = data[0] & 2;
	cut = data[1] % ROOM + 1;
	size -= 2;
	/* Of just that size, so that AddressSanitizer sees any reading beyond it. */
	bytes = malloc(size ? size : 1);
	must(bytes != NULL);
	memcpy(bytes, data + 2, size);
	read_items(bytes, size);

	must(dft_engine_init(&engine, &cfg, &ops, "host", 1000000000) == 0);
	chunks = size ? (size + cut - 1) / cut : 1;
	send_cut(&engine, 5000, bytes, size, ROOM, SIZE_MAX);
	send_cut(&engine, 5000, bytes, size, cut, SIZE_MAX);
	send_cut(&engine, 5000, bytes, size, cut,
		 chunks > 1 ? (data[0] >> 2) % (chunks - 1) : SIZE_MAX);
	must(dft_engine_retire_all(&engine, 9000) == 0);
	dft_engine_look_begin(&engine, 9000, 0);
	must(dft_engine_look_end(&engine) == 0);
	must(engine.bad_records == 0 && engine.events == 3);
	at = all.data;
	for (int i = 0; i < 3; i++)
		lines[i] = event_line(&reader, &at, all.data + all.len);
	must(lines[2].s != NULL && event_line(&reader, &at, all.data + all.len).s == NULL);
	compare(lines[0], lines[1], lines[2], chunks > 1);
	dft_engine_free(&engine);
	dft_jsonr_free(&reader);
	dft_buf_free(&all);
	free(bytes);
	return 0;
}
