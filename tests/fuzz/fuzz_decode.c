// SPDX-License-Identifier: MIT
/*
 * Any bytes as records of the ring, through decoder and formatter to the end of every process. The
 * input is a sequence of {u16 size; size bytes}; a record may be followed by a step of the
 * session (flush, reap, a tally), chosen by the record's last byte. Lines must come out as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "jsonr.h"
#include "replay.h"

static void must(int cond)
{
	if (!cond)
		abort();
}

struct sink {
	struct dft_jsonr reader;
	uint64_t lines;
};

/* Each line must be one JSON object with a name, no key twice, and UTF-8. */
static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct sink *sink = ctx;
	const char *at = proc->lines.data, *end = at + proc->lines.len;
	struct dft_str key;

	(void)last;
	while (at && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		must(stop != NULL);
		must(dft_jsonr_parse(&sink->reader, at, (size_t)(stop - at)) == 0);
		must(dft_jsonr_get(&sink->reader, dft_jsonr_root(&sink->reader), "name") != NULL);
		must(dft_jsonr_find_dup(&sink->reader, &key) == 0);
		sink->lines++;
		at = stop + 1;
	}
	proc->lines.len = 0;
	return 0;
}

static void on_describe(void *ctx, uint32_t pid, struct dft_described *out)
{
	(void)ctx;
	if (pid & 1)
		return;
	out->program = strdup("prog");
	out->cmd = strdup("prog");
	out->cmd_len = out->cmd ? 5 : 0; /* with its NUL */
	out->cwd = pid & 2 ? strdup("/cwd") : NULL;
}

static const char *on_cgroup(void *ctx, uint64_t id)
{
	(void)ctx;
	return id & 1 ? "/a \"b\"" : NULL;
}

/* Depends on the file only: found before its process began to run it, or later, or not at all. */
static void on_image(void *ctx, const struct dft_rec_image *rec, const char *path,
		     struct dft_image_found *out)
{
	(void)ctx;
	must(!path || strlen(path) <= 2 * DFT_PATH_MAX);
	switch (rec->key.ino & 3) {
	case 0:
		out->state = DFT_IMAGE_PLAIN;
		break;
	case 1:
		out->state = DFT_IMAGE_FAILED;
		out->why = "why \"not\"";
		break;
	default:
		out->state = DFT_IMAGE_ARMED;
		out->armed_ns = rec->ts_ns + rec->key.size - rec->key.dev;
	}
}

/* Depends on the name only: as it is, in another place, a directory, or not to be found. */
static int on_resolve(void *ctx, const struct dft_proc *proc, enum dft_resolve how, const char *path,
		      size_t len, struct dft_resolved *out)
{
	(void)ctx;
	(void)proc;
	must(len && path[0] == '/');
	*out = (struct dft_resolved){ path, len, 0x01021994, how == DFT_RESOLVE_DIR ? 040755 : 0100644 };
	switch (path[len - 1] & 3) {
	case 0:
		return -ENOENT;
	case 1:
		out->path = "/real";
		out->len = 5;
		break;
	case 2:
		out->mode = 040755;
		break;
	}
	return 0;
}

static uint32_t pid_of(const uint8_t *rec, size_t size)
{
	/* Those of probes have their lengths before it. */
	size_t at = rec[0] >= DFT_REC_EVENT && rec[0] <= DFT_REC_RELATION ? 8 : 4;
	uint32_t pid = 0;

	if (size >= at + sizeof(pid))
		memcpy(&pid, rec + at, sizeof(pid));
	return pid;
}

/* One tally among those that a look finds. They only grow. */
static int look(struct dft_engine *engine, const struct dft_tally_key *key, unsigned int what)
{
	static uint64_t calls;
	struct dft_tally value = { .min_ns = 3, .max_ns = 3, .first_ns = 4, .last_ns = 7 };
	int err = 0;

	value.calls = ++calls;
	value.bytes = 2 * calls;
	value.dur_ns = 3 * calls;
	dft_engine_look_begin(engine, 5000, what & (DFT_LOOK_ROWS | DFT_LOOK_NAMES));
	if (key)
		err = dft_engine_tally(engine, key, &value);
	if (err == -ESRCH) {
		must(dft_engine_adopt(engine, key->pid, key->start_ns, 6000, what & 4) == 0);
		err = dft_engine_tally(engine, key, &value);
	}
	/* One that was adopted as the successor of another may be known by a later birth. */
	must(err == 0 || err == 1 || err == -ESRCH);
	return dft_engine_look_end(engine);
}

static int session_step(struct dft_engine *engine, const uint8_t *rec, size_t size)
{
	struct dft_tally_key key = { 0 };

	switch (rec[size - 1]) {
	case 0xf0:
		return dft_engine_flush(engine);
	case 0xf1:
		return look(engine, NULL, 0);
	case 0xf2:
		return dft_engine_gone(engine, pid_of(rec, size), 1000);
	case 0xf3:
		memcpy(&key, rec, size < sizeof(key) ? size : sizeof(key));
		return look(engine, &key, rec[0]);
	case 0xf4:
		return dft_engine_aggregate(engine, 7000);
	}
	return 0;
}

static void feed(struct dft_engine *engine, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		uint16_t len;
		uint8_t *rec;

		memcpy(&len, data, sizeof(len));
		data += 2;
		size -= 2;
		if (len > size)
			len = (uint16_t)size;
		/* Of just that size and aligned as in the ring. */
		rec = malloc(len ? len : 1);
		must(rec != NULL);
		memcpy(rec, data, len);
		must(dft_engine_record(engine, rec, len) == 0);
		if (len)
			must(session_step(engine, rec, len) == 0);
		free(rec);
		data += len;
		size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *include[] = { "/data" }, *exclude[] = { "/data/tmp" };
	struct dft_config cfg = { .follow = true, .args = true, .ring_sz = 4096 };
	struct sink sink = { .lines = 0 };
	struct dft_engine_ops ops = {
		.ctx = &sink, .output = on_output, .describe = on_describe, .image = on_image,
		.cgroup = on_cgroup, .resolve = on_resolve,
	};
	struct dft_engine engine;

	if (!size)
		return 0;
	cfg.args = !(data[0] & 1);
	cfg.precise = data[0] & 2;
	cfg.prov = data[0] & 16;
	if (data[0] & 8)
		ops.image = NULL;
	if (data[0] & 4) {
		cfg.include = (struct dft_strv){ include, 1 };
		cfg.exclude = (struct dft_strv){ exclude, 1 };
	}
	must(dft_engine_init(&engine, &cfg, &ops, "host", 1000000000) == 0);
	feed(&engine, data + 1, size - 1);
	must(dft_engine_retire_all(&engine, 2000) == 0);
	must(look(&engine, NULL, 0) == 0);
	must(engine.procs.dying.len == 0);
	must(sink.lines >= 6 * engine.processes); /* HH, thread_name, CM, SH, start, end */
	dft_engine_free(&engine);
	dft_jsonr_free(&sink.reader);
	return 0;
}
