// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"

/* ---- the table of a process ----------------------------------------------------------------- */

static struct dft_tally_key key_of(uint16_t nr, uint8_t kind, uint8_t cls, uint64_t id)
{
	return (struct dft_tally_key){ .start_ns = 5, .pid = 100, .nr = nr, .kind = kind, .cls = cls, .id = id };
}

static void put(struct dft_proc *proc, uint16_t nr, uint64_t id, uint64_t calls)
{
	struct dft_tally_key key = key_of(nr, DFT_TALLY_SHED, 0, id);
	struct dft_tally_entry *e = dft_proc_tally(proc, &key);

	assert_non_null(e);
	assert_int_equal(e->value.calls, 0);
	e->value.calls = calls;
}

static uint64_t get(struct dft_proc *proc, uint16_t nr, uint64_t id)
{
	struct dft_tally_key key = key_of(nr, DFT_TALLY_SHED, 0, id);
	size_t n = proc->tallies.n;
	struct dft_tally_entry *e = dft_proc_tally(proc, &key);

	assert_non_null(e);
	assert_int_equal(proc->tallies.n, n);
	return e->value.calls;
}

static void each_key_has_its_tally(void **state)
{
	struct dft_procs procs = { 0 };
	struct dft_proc *proc = dft_procs_add(&procs, 100, 5);
	struct dft_tally_key key;

	(void)state;
	assert_non_null(proc);
	for (uint16_t nr = 0; nr < 20; nr++)
		for (uint64_t id = 0; id < 200; id++)
			put(proc, nr, id, 1 + nr * 1000 + id);
	for (uint16_t nr = 0; nr < 20; nr++)
		for (uint64_t id = 0; id < 200; id++)
			assert_int_equal(get(proc, nr, id), 1 + nr * 1000 + id);
	/* in order of first appearance */
	assert_int_equal(proc->tallies.v[201].key.nr, 1);
	assert_int_equal(proc->tallies.v[201].key.id, 1);
	/* all that tells tallies apart */
	key = key_of(0, DFT_TALLY_CHOSEN, 0, 0);
	assert_int_equal(dft_proc_tally(proc, &key)->value.calls, 0);
	key = key_of(0, DFT_TALLY_SHED, 1, 0);
	assert_int_equal(dft_proc_tally(proc, &key)->value.calls, 0);
	assert_int_equal(proc->tallies.n, 4002);
	dft_procs_free(&procs);
}

/* The table goes by a hash: find other keys of the same one by trying what it may be made of. */
static void keys_of_one_hash(void **state)
{
	const uint64_t spread = 0xd6e8feb86659fd93ull, shed = DFT_TALLY_SHED << 8;
	struct dft_procs procs = { 0 };
	struct dft_proc *proc = dft_procs_add(&procs, 100, 5);

	(void)state;
	assert_non_null(proc);
	for (uint16_t nr = 1; nr < 50; nr++) {
		uint64_t id = shed * spread ^ ((uint64_t)nr << 16 | shed) * spread;

		put(proc, nr, id, nr);
	}
	put(proc, 0, 0, 1000); /* of the same hash as each of them */
	for (uint16_t nr = 1; nr < 50; nr++)
		assert_int_equal(get(proc, nr, shed * spread ^ ((uint64_t)nr << 16 | shed) * spread), nr);
	assert_int_equal(get(proc, 0, 0), 1000);
	assert_int_equal(proc->tallies.n, 50);
	dft_procs_free(&procs);
}

static void excluded_calls(void **state)
{
	static const char read[] = "read", other[] = "write";
	struct dft_proc *proc = calloc(1, sizeof(*proc));

	(void)state;
	assert_non_null(proc);
	assert_int_equal(dft_proc_count_excluded(proc, read, 3), 0);
	assert_int_equal(dft_proc_count_excluded(proc, other, 1), 0);
	assert_int_equal(dft_proc_count_excluded(proc, read, 4), 0);
	assert_int_equal(proc->nexcluded, 2);
	assert_int_equal(proc->excluded[0].calls, 7);
	assert_int_equal(proc->excluded[1].calls, 1);
	dft_proc_free(proc);
}

/* ---- looks ---------------------------------------------------------------------------------- */

static int drop(void *ctx, struct dft_proc *proc, bool last)
{
	(void)ctx;
	(void)last;
	proc->lines.len = 0;
	return 0;
}

static int look(struct dft_engine *engine, unsigned int what, const struct dft_tally_key *key,
		uint64_t calls)
{
	struct dft_tally value = { .calls = calls, .dur_ns = calls };
	int got;

	dft_engine_look_begin(engine, 1000, what);
	got = dft_engine_tally(engine, key, &value);
	assert_int_equal(dft_engine_look_end(engine), 0);
	return got;
}

/* A look that could not tell everything says so: nothing else would bring about another one. */
static void what_is_not_told_yet(void **state)
{
	struct dft_config cfg = { .args = true };
	struct dft_engine_ops ops = { .output = drop };
	struct dft_tally_key key = key_of(0, DFT_TALLY_SHED, 0, 77), stranger = key;
	struct dft_engine engine;

	(void)state;
	stranger.start_ns = 6;
	assert_int_equal(dft_engine_init(&engine, &cfg, &ops, "host", 0), 0);
	assert_int_equal(dft_engine_adopt(&engine, 100, 5, 10, false), 0);
	assert_int_equal(look(&engine, 0, &key, 3), 0);
	assert_false(engine.untold);
	assert_int_equal(look(&engine, DFT_LOOK_ROWS, &key, 3), 0);
	assert_true(engine.untold); /* its name may come yet */
	assert_int_equal(engine.aggregated, 0);
	assert_int_equal(look(&engine, DFT_LOOK_ROWS, &key, 3), 0);
	assert_false(engine.untold);
	assert_int_equal(engine.aggregated, 3);
	assert_int_equal(look(&engine, DFT_LOOK_ROWS, &stranger, 4), -ESRCH);
	assert_true(engine.untold);
	/* only with rows: looks for ends of processes come in between */
	assert_int_equal(look(&engine, 0, &key, 3), 0);
	assert_true(engine.untold);
	assert_int_equal(look(&engine, DFT_LOOK_ROWS, &key, 3), 0);
	assert_false(engine.untold);
	/* its end: not needed any more */
	assert_int_equal(dft_engine_gone(&engine, 100, 2000), 0);
	assert_int_equal(look(&engine, 0, &key, 5), 1);
	assert_int_equal(engine.aggregated, 5);
	assert_int_equal(look(&engine, 0, &key, 5), -ESRCH);
	dft_engine_free(&engine);
}

/* ---- lines that are not handed over ---------------------------------------------------------- */

struct output {
	uint64_t bytes;
	unsigned int blocks;
	size_t largest;
};

static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct output *out = ctx;

	(void)last;
	out->bytes += proc->lines.len;
	out->blocks++;
	if (proc->lines.len > out->largest)
		out->largest = proc->lines.len;
	proc->lines.len = 0;
	return 0;
}

static uint64_t waiting(const struct dft_engine *engine)
{
	struct dft_map_slot *slot;
	uint64_t sum = 0;
	size_t at = 0;

	while ((slot = dft_map_next(&engine->procs.live, &at)))
		sum += ((struct dft_proc *)slot->value)->lines.len;
	return sum;
}

/* Many processes with few lines each, or one with many. */
static void feed(const struct dft_config *cfg, struct output *out, uint32_t pids, unsigned int records)
{
	struct dft_engine_ops ops = { .ctx = out, .output = on_output };
	struct dft_engine engine;

	memset(out, 0, sizeof(*out));
	assert_int_equal(dft_engine_init(&engine, cfg, &ops, "host", 0), 0);
	for (unsigned int i = 0; i < records; i++) {
		struct dft_rec_call call = { .type = DFT_REC_CALL, .nr = 0, .ts_ns = 1000, .dur_ns = 1,
					     .pid = 1 + i % pids, .tid = 1 };

		assert_int_equal(dft_engine_record(&engine, &call, sizeof(call)), 0);
		assert_int_equal(engine.buffered, waiting(&engine));
		if (cfg->memory)
			assert_true(engine.buffered <= cfg->memory / 4);
	}
	assert_int_equal(dft_engine_flush(&engine), 0);
	assert_int_equal(engine.buffered, 0);
	dft_engine_free(&engine);
}

static void lines_of_many_are_bounded(void **state)
{
	struct dft_config cfg = { .args = true, .memory = 1 << 20 };
	struct output out;

	(void)state;
	feed(&cfg, &out, 1000, 20000);
	assert_true(out.bytes > 2000000);
	assert_true(out.largest < 10000);
	/* each time about a quarter of it, from all of them */
	assert_in_range(out.blocks, 1000 * (out.bytes >> 18) - 3000, 1000 * (out.bytes >> 18) + 2000);
}

static void lines_of_one_are_handed_over_by_the_megabyte(void **state)
{
	struct dft_config cfg = { .args = true, .memory = 256 << 20 };
	struct output out;

	(void)state;
	feed(&cfg, &out, 1, 20000);
	assert_in_range(out.largest, 1000000, 1 << 20);
	assert_int_equal(out.blocks, out.bytes / out.largest + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_has_its_tally),
		cmocka_unit_test(keys_of_one_hash),
		cmocka_unit_test(excluded_calls),
		cmocka_unit_test(what_is_not_told_yet),
		cmocka_unit_test(lines_of_many_are_bounded),
		cmocka_unit_test(lines_of_one_are_handed_over_by_the_megabyte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
