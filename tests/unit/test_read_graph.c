// SPDX-License-Identifier: MIT
/* The graph and its walks, line by line, without any file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph.h"
#include "reach.h"

#define HOST "\"hhash\":\"70c8aac0b3f2da76\""
#define A    "000000000000000a"
#define B    "000000000000000b"
#define C    "000000000000000c"
#define D    "000000000000000d"
#define META(name, args)                                                                          \
	"{\"name\":\"" name "\",\"cat\":\"dftracer\",\"type\":1,\"pid\":7,\"tid\":7,\"ph\":4,"        \
	"\"args\":{" HOST args "}}"
#define STEP(id, ts, dur, rel)                                                                    \
	"{\"id\":" #id ",\"name\":\"step\",\"cat\":\"PROV\",\"type\":2,\"pid\":7,\"tid\":7,\"ts\":" #ts \
	",\"dur\":" #dur ",\"ph\":1,\"args\":{" HOST ",\"relations\":{" rel "}}}"
#define CALL(name, ts, args)                                                                      \
	"{\"id\":1,\"name\":\"" name "\",\"cat\":\"POSIX\",\"type\":3,\"pid\":7,\"tid\":7,\"ts\":" #ts   \
	",\"dur\":1,\"ph\":1,\"args\":{" HOST args "}}"
#define EH(id, type, rest) \
	META("EH", ",\"id\":\"" id "\",\"type\":\"" type "\",\"store\":2,\"uri\":\"/x\"" rest)

static struct dft_graph g;

static void take(const char *const *lines, size_t n)
{
	struct dft_jsonr json = { 0 };

	dft_auto_begin(&g.autos);
	g.derive = true;
	g.unit_ns = 1000;
	for (size_t i = 0; i < n; i++) {
		struct dft_record r;

		assert_int_equal(dft_record_parse(&r, &json, lines[i], strlen(lines[i])), 1);
		assert_int_equal(dft_graph_record(&g, &r, &json), 0);
	}
	assert_int_equal(dft_auto_end(&g.autos), 0);
	dft_jsonr_free(&json);
}

#define GRAPH(...)                                                                     \
	do {                                                                           \
		static const char *const lines[] = { __VA_ARGS__ };                    \
		take(lines, sizeof(lines) / sizeof(lines[0]));                         \
		assert_int_equal(dft_graph_complete(&g), 0);                           \
	} while (0)

static int end_graph(void **state)
{
	(void)state;
	dft_graph_free(&g);
	return 0;
}

/* What is reached from entity `start`, as the last digits of ids in order. */
static const char *walk(uint32_t start, struct dft_reach_opts o)
{
	static char text[64];
	struct dft_reach r;
	size_t n = 0;

	o.via = o.via ? o.via : DFT_VIA_DEFAULT;
	o.sides = o.sides ? o.sides : DFT_BOTH;
	assert_int_equal(dft_reach(&g, start, &o, &r), 0);
	for (size_t i = 1; i < r.n; i++)
		text[n++] = "0123456789abcdef"[DFT_ENTS(&g)[r.visits[i].ent].id & 15];
	text[n] = 0;
	dft_reach_free(&r);
	return text;
}

static void test_ids(void **state)
{
	static const struct {
		const char *type, *key;
		uint64_t id;
	} known[] = {
		{ "protein_structure", "MGYP0001", 0x8f0de68c04eea0bf },
		{ "sequence", "MGYP0001", 0xd824b0bb91487885 },
		{ "file", "/data/a.bin", 0x83b05a10328e7590 },
		{ "", "", 0x44bd44d473cd2214 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(dft_entity_id((struct dft_str){ known[i].type, strlen(known[i].type) },
					       (struct dft_str){ known[i].key, strlen(known[i].key) }),
				 known[i].id);
}

static void test_walk(void **state)
{
	(void)state;
	GRAPH(STEP(1, 10, 5, "\"used\":[\"" A "\"],\"generated\":[\"" B "\"]"),
	      STEP(2, 20, 5, "\"used\":[\"" B "\",\"" C "\"],\"updated\":[\"" D "\"]"),
	      /* A circle, and a step that uses what it makes. */
	      STEP(3, 30, 5, "\"used\":[\"" D "\",\"" A "\"],\"generated\":[\"" A "\"]"));
	assert_int_equal(g.ents.n, 4);
	assert_int_equal(g.undeclared, 4);
	assert_string_equal(walk(3, (struct dft_reach_opts){ 0 }), "bca");
	assert_string_equal(walk(3, (struct dft_reach_opts){ .depth = 1 }), "bc");
	assert_string_equal(walk(0, (struct dft_reach_opts){ 0 }), "dbc");
	assert_string_equal(walk(2, (struct dft_reach_opts){ .impact = true }), "dab");
	assert_string_equal(walk(2, (struct dft_reach_opts){ .impact = true,
							     .via = 1u << DFT_USED }), "");
	assert_string_equal(walk(3, (struct dft_reach_opts){ .sides = DFT_AUTO }), "");
	/* A was made of D after B had been made of it, and D of B before: only backwards from A. */
	assert_string_equal(walk(1, (struct dft_reach_opts){ .time_aware = true }), "a");
	assert_string_equal(walk(0, (struct dft_reach_opts){ .time_aware = true }), "dbc");
}

static void test_parts_are_one(void **state)
{
	(void)state;
	GRAPH(STEP(1, 10, 5, "\"used\":[\"" A "\",\"" A "\"]"),
	      STEP(1, 10, 7, "\"used\":[\"" A "\"],\"generated\":[\"" B "\"]"),
	      STEP(1, 11, 5, "\"generated\":[\"" C "\"]"));
	assert_int_equal(g.acts.n, 2);
	assert_int_equal(DFT_ACTS(&g)[0].dur, 7);
	assert_int_equal(g.rels.n, 3);
	assert_string_equal(walk(1, (struct dft_reach_opts){ 0 }), "a");
	assert_string_equal(walk(2, (struct dft_reach_opts){ 0 }), "");
}

static void test_what_is_said_first_does_not_matter(void **state)
{
	(void)state;
	GRAPH(META("EH", ",\"id\":\"" A "\",\"type\":\"\",\"store\":8,\"uri\":\"\",\"late\":1"),
	      EH(A, "u", ""), EH(A, "t", ""),
	      META("ET", ",\"type\":\"t\",\"role\":0,\"description\":\"\""),
	      META("ET", ",\"type\":\"t\",\"role\":3,\"description\":\"\""),
	      EH("x", "t", ""), META("ER", ",\"relation\":15,\"subject\":\"" A "\",\"object\":\"" B "\""),
	      META("ER", ",\"relation\":16,\"subject\":\"" B "\""));
	assert_int_equal(g.ents.n, 1);
	assert_int_equal(g.ers.n, 0);
	assert_true(DFT_STR_IS(dft_graph_str(&g, DFT_ENTS(&g)[0].type), "t"));
	assert_int_equal(dft_graph_role(&g, DFT_ENTS(&g)[0].type), 3);
	assert_true(DFT_ENTS(&g)[0].declared && DFT_ENTS(&g)[0].late);
	assert_int_equal(g.undeclared, 0);
}

/* Calls of a run: exec, a read, a write to a new file; before, what was opened for it. */
#define NAMES                                                                                     \
	META("HH", ",\"name\":\"node01\",\"value\":\"70c8aac0b3f2da76\""),                            \
	META("FH", ",\"name\":\"/bin/x\",\"value\":\"00000000000000f1\""),                            \
	META("FH", ",\"name\":\"/in\",\"value\":\"00000000000000f2\""),                               \
	META("FH", ",\"name\":\"/out\",\"value\":\"00000000000000f3\"")

static void test_derived(void **state)
{
	const struct dft_act *a;

	(void)state;
	GRAPH(NAMES, CALL("open", 5, ",\"fhash\":\"00000000000000f3\",\"flags\":577,\"mode\":420,\"ret\":3"),
	      CALL("execve", 10, ",\"pathname_hash\":\"00000000000000f1\",\"ret\":0"),
	      CALL("read", 20, ",\"fhash\":\"00000000000000f2\",\"count\":9,\"ret\":0"),
	      CALL("read", 21, ",\"fhash\":\"00000000000000f2\",\"count\":9,\"unfinished\":1"),
	      CALL("write", 30, ",\"fhash\":\"00000000000000f3\",\"count\":9,\"ret\":9"));
	assert_int_equal(g.acts.n, 1);
	a = DFT_ACTS(&g);
	assert_true(a->derived && a->side == DFT_AUTO);
	assert_true(DFT_STR_IS(dft_graph_str(&g, a->label), "x"));
	assert_int_equal(a->ts, 10);
	assert_int_equal(a->dur, 21);
	assert_int_equal(g.rels.n, 3);
	for (size_t i = 0; i < g.rels.n; i++) {
		const struct dft_rel *r = DFT_RELS(&g) + i;
		struct dft_str key = dft_graph_str(&g, DFT_ENTS(&g)[r->ent].key);

		assert_int_equal(r->kind, DFT_STR_IS(key, "node01:/out") ? DFT_GENERATED : DFT_USED);
	}
}

/* A PROGRAM event takes the run's place. */
static void test_told(void **state)
{
	(void)state;
	GRAPH(NAMES, CALL("execve", 10, ",\"pathname_hash\":\"00000000000000f1\",\"ret\":0"),
	      CALL("read", 20, ",\"fhash\":\"00000000000000f2\",\"count\":9,\"ret\":0"),
	      "{\"id\":9,\"name\":\"x\",\"cat\":\"PROGRAM\",\"type\":1,\"pid\":7,\"tid\":7,\"ts\":10,"
	      "\"dur\":50,\"ph\":1,\"args\":{" HOST ",\"relations\":{\"used\":[\"" A "\"]}}}");
	assert_int_equal(g.acts.n, 1);
	assert_int_equal(g.derived, 0);
	assert_int_equal(g.rels.n, 1);
	assert_int_equal(DFT_ENTS(&g)[0].id, 0xa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test_teardown(test_walk, end_graph),
		cmocka_unit_test_teardown(test_parts_are_one, end_graph),
		cmocka_unit_test_teardown(test_what_is_said_first_does_not_matter, end_graph),
		cmocka_unit_test_teardown(test_derived, end_graph),
		cmocka_unit_test_teardown(test_told, end_graph),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
