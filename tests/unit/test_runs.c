// SPDX-License-Identifier: MIT
/* Runs of programs: how long what is kept, and that memory is bounded. Lines are counted, not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"
#include "syscalls.h"

struct seen {
	uint64_t whole, parts, ids, longest, largest;
};

/* How many records of runs there are, and how many ids of relations in them. */
static int count(void *ctx, struct dft_proc *proc, bool last)
{
	struct seen *seen = ctx;
	char *at = proc->lines.data, *end = at + proc->lines.len;

	(void)last;
	if (proc->lines.len > seen->largest)
		seen->largest = proc->lines.len;
	while (at && at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		assert_non_null(stop);
		*stop = '\0';
		if (strstr(at, "\"cat\":\"PROGRAM\"")) {
			const char *ids = strstr(at, "\"relations\"");

			if ((size_t)(stop - at) > seen->longest)
				seen->longest = (uint64_t)(stop - at);
			seen->parts += strstr(at, "\"part\":") != NULL;
			seen->whole += strstr(at, "\"part\":") == NULL;
			/* `,"` and `["` stand before each. */
			for (; ids && (ids = strpbrk(ids, ",[")); ids++)
				seen->ids += ids[1] == '"' && strspn(ids + 2, "0123456789abcdef") == 16;
		}
		at = stop + 1;
	}
	proc->lines.len = 0;
	return 0;
}

static uint16_t number(const char *name)
{
	for (uint16_t nr = 0; nr < DFT_NR_MAX; nr++)
		if (dft_sys_find(nr) && !strcmp(dft_sys_find(nr)->name, name))
			return nr;
	fail();
	return 0;
}

static void start(struct dft_engine *engine, const struct dft_config *cfg, struct seen *seen)
{
	struct dft_engine_ops ops = { .ctx = seen, .output = count };

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(dft_engine_init(engine, cfg, &ops, "host", 0), 0);
}

static void name(struct dft_engine *engine, uint64_t id, const char *path)
{
	char room[sizeof(struct dft_rec_name) + 64];
	struct dft_rec_name *rec = (struct dft_rec_name *)room;

	memset(room, 0, sizeof(room));
	rec->type = DFT_REC_NAME;
	rec->cls = DFT_CLASS_FILE;
	rec->id = id;
	rec->len = (uint16_t)strlen(path);
	memcpy(rec->path, path, rec->len);
	assert_int_equal(dft_engine_record(engine, rec, sizeof(*rec) + rec->len), 0);
}

static void call(struct dft_engine *engine, uint32_t pid, uint16_t nr, uint64_t id, uint64_t ts, uint64_t flags)
{
	union {
		struct dft_rec_call call;
		char bytes[sizeof(struct dft_rec_call) + 2 * sizeof(uint64_t)];
	} rec = { .call = { .type = DFT_REC_CALL, .nvals = 2, .nr = nr, .present = 1, .cls = DFT_CLASS_FILE,
			    .ts_ns = ts, .dur_ns = 1, .pid = pid, .tid = pid, .ret = 7, .name = id } };

	memcpy(rec.call.val, &flags, sizeof(flags));
	assert_int_equal(dft_engine_record(engine, &rec, sizeof(rec)), 0);
}

static void born(struct dft_engine *engine, uint8_t type, uint32_t pid, uint32_t maker, uint64_t ts)
{
	struct dft_rec_proc rec = { .type = type, .pid = pid, .ppid = maker, .maker = maker, .ts_ns = ts,
				    .start_ns = pid, .comm = "job" };

	assert_int_equal(dft_engine_record(engine, &rec, sizeof(rec)), 0);
}

static void executes(struct dft_engine *engine, uint32_t pid, uint64_t ts)
{
	struct dft_rec_exec rec = { .type = DFT_REC_EXEC, .pid = pid, .old_tid = pid, .ts_ns = ts,
				    .start_ns = pid, .comm = "job" };

	assert_int_equal(dft_engine_record(engine, &rec, sizeof(rec)), 0);
}

/* What went through a pipe, of which a look tells at the end of the process; `pipe` 0: nothing did. */
static void dies_after(struct dft_engine *engine, uint32_t pid, uint64_t ts, uint64_t pipe, uint64_t when)
{
	struct dft_rec_exit rec = { .type = DFT_REC_EXIT, .pid = pid, .tid = pid, .ts_ns = ts, .start_ns = pid,
				    .threads = 1 };

	assert_int_equal(dft_engine_record(engine, &rec, sizeof(rec)), 0);
	dft_engine_look_begin(engine, ts, 0);
	for (uint64_t id = 1; id <= pipe; id++) {
		struct dft_tally_key key = { .start_ns = pid, .pid = pid, .nr = number("read"), .id = id,
					     .kind = DFT_TALLY_FILTERED, .cls = DFT_CLASS_PIPE };
		struct dft_tally value = { .calls = 1, .bytes = 1, .first_ns = id == 1 ? when : ts,
					   .last_ns = id == 1 ? when : ts };

		assert_int_equal(dft_engine_tally(engine, &key, &value), 1);
	}
	assert_int_equal(dft_engine_look_end(engine), 0);
}

static void dies(struct dft_engine *engine, uint32_t pid, uint64_t ts)
{
	dies_after(engine, pid, ts, 0, 0);
}

/* One that never ends comes to ever more files: it tells of them in time, and all of them once. */
static void many_files(void **state)
{
	struct dft_config cfg = { .args = true, .prov = true };
	const uint64_t files = 150000;
	struct dft_engine engine;
	struct seen seen;
	char path[64];

	(void)state;
	start(&engine, &cfg, &seen);
	born(&engine, DFT_REC_PROC, 100, 1, 1);
	for (uint64_t i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "/data/%llu", (unsigned long long)i);
		name(&engine, 1 + i % 8, path);
		call(&engine, 100, number("read"), 1 + i % 8, 10 + i, 0);
		assert_in_range(engine.files.by_key.len, 1, 65537);
	}
	assert_int_equal(dft_engine_flush(&engine), 0);
	assert_int_equal(seen.whole, 0);
	assert_true(seen.parts > 2 * 65536 / 700);
	dies(&engine, 100, 1000000);
	assert_int_equal(seen.whole, 1);
	assert_int_equal(seen.ids, files);
	assert_true(seen.longest < 16384);
	assert_true(seen.largest > 100000 && seen.largest < 1 << 20);
	assert_int_equal(engine.files.by_key.len, 0);
	dft_engine_free(&engine);
}

/* What a parent made is known as long as somebody may ask, and no longer. */
static void heirs(void **state)
{
	struct dft_config cfg = { .args = true, .prov = true };
	struct dft_engine engine;
	struct seen seen;

	(void)state;
	start(&engine, &cfg, &seen);
	born(&engine, DFT_REC_PROC, 100, 1, 1);
	name(&engine, 1, "/made");
	name(&engine, 2, "/read");
	call(&engine, 100, number("openat"), 1, 10, 01 | 0100 | 01000);
	call(&engine, 100, number("read"), 2, 11, 0);
	born(&engine, DFT_REC_FORK, 101, 100, 12);
	dies(&engine, 100, 20);
	assert_int_equal(seen.whole, 1);
	assert_int_equal(engine.files.by_key.len, 1); /* of both, what the child may write to */
	executes(&engine, 101, 25);
	call(&engine, 101, number("write"), 1, 30, 0);
	dies(&engine, 101, 40);
	/* The empty file was the first one's, as far as could be known. */
	assert_int_equal(seen.ids, 3);
	assert_int_equal(engine.files.by_key.len, 0);
	dft_engine_free(&engine);
}

/* One that executes itself for ever. */
static void many_programs(void **state)
{
	struct dft_config cfg = { .args = true, .prov = true };
	struct dft_engine engine;
	struct seen seen;
	char path[64];

	(void)state;
	start(&engine, &cfg, &seen);
	born(&engine, DFT_REC_PROC, 100, 1, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/made %llu", (unsigned long long)i);
		name(&engine, 1, path);
		call(&engine, 100, number("openat"), 1, 10 + 2 * i, 01 | 0100 | 01000);
		call(&engine, 100, number("write"), 1, 10 + 2 * i, 0);
		executes(&engine, 100, 11 + 2 * i);
		assert_in_range(engine.files.by_key.len, 1, 80);
	}
	/* One pipe was read by the first program, which is forgotten, another one by the last. */
	dies_after(&engine, 100, 5000, 2, 5);
	assert_int_equal(seen.whole, 1001);
	assert_int_equal(seen.ids, 1001);
	assert_int_equal(engine.files.by_key.len, 0);
	dft_engine_free(&engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_files),
		cmocka_unit_test(heirs),
		cmocka_unit_test(many_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
