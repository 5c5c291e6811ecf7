// SPDX-License-Identifier: MIT
/* Annotations line by line, through the checker and the summary, without any file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "summary.h"
#include "tests/lib/jobline.h"

#define HOST "\"hhash\":\"70c8aac0b3f2da76\""
#define ID_A "83b05a10328e7590"
#define ID_B "8f0de68c04eea0bf"

/* A metadata record of the tracer, and one of a program of type `t`. */
#define META(name, args) META_OF(1, name, args)
#define META_OF(t, name, args)                                                                    \
	"{\"name\":\"" name "\",\"cat\":\"dftracer\",\"type\":" #t ",\"pid\":7,\"tid\":7,\"ph\":4," \
	"\"args\":{" HOST args "}}"
#define EVENT(id, name, cat, t, args)                                                             \
	"{\"id\":" #id ",\"name\":\"" name "\",\"cat\":\"" cat "\",\"type\":" #t ",\"pid\":7,"       \
	"\"tid\":8,\"ts\":1000,\"dur\":20,\"ph\":1,\"args\":{" HOST args "}}"
#define EH_OF(id, type, uri, rest) \
	META("EH", ",\"id\":\"" id "\",\"type\":\"" type "\",\"store\":2,\"uri\":\"" uri \
		   "\"" rest)
#define EH(id, type, rest) EH_OF(id, type, "/a", rest)
#define ET(type, role, text) \
	META("ET", ",\"type\":\"" type "\",\"role\":" #role ",\"description\":\"" text "\"")
#define LATE(id) \
	META("EH", ",\"id\":\"" id "\",\"type\":\"\",\"store\":8,\"uri\":\"\",\"late\":1")
#define REL(id, rel) EVENT(id, "step", "PROV", 2, ",\"relations\":" rel)
#define BEGIN META("HH", ",\"name\":\"node01\",\"value\":\"70c8aac0b3f2da76\""), \
	      EVENT(1, "start", "dftracer", 1, "")
#define END(id, args) EVENT(id, "end", "dftracer", 1, args)

static struct dft_check check;
static struct dft_job job;

static struct dft_line line_of(const char *s, uint64_t no)
{
	return (struct dft_line){ .s = s, .n = strlen(s), .no = no, .whole = true };
}

/* Checks the lines; the number of faults. */
static uint64_t faults_of(const char *const *lines, size_t n)
{
	const struct dft_source_stat st = { .lines = n, .plain = true };

	dft_check_begin(&check);
	for (size_t i = 0; i < n; i++) {
		struct dft_line line = line_of(lines[i], i + 1);

		assert_int_equal(dft_check_line(&check, &line, true), 0);
	}
	assert_int_equal(dft_check_end(&check, &st), 0);
	return check.faults.total;
}

#define FAULTS(...) \
	faults_of((const char *const[]){ __VA_ARGS__ }, \
		  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* The lines between have just that fault, in that line. */
#define ONE_FAULT(in_line, say, ...)                                          \
	do {                                                                  \
		assert_int_equal(FAULTS(BEGIN, __VA_ARGS__), 1);              \
		assert_string_equal(check.faults.v[0].what, say);             \
		assert_int_equal(check.faults.v[0].line, in_line);            \
	} while (0)

static void test_good(void **state)
{
	(void)state;
	assert_int_equal(FAULTS(BEGIN, END(2, "")), 0);
	assert_int_equal(check.annot.events + check.annot.entities, 0);
	assert_int_equal(FAULTS(BEGIN, LATE(ID_A), EH(ID_B, "t", ""),
				ET("t", 5, ""),
				REL(2, "{\"used\":[\"" ID_A "\",\"" ID_B "\"],\"updated\":[\"" ID_A
				       "\"]}"),
				EH(ID_A, "t", ""), EVENT(3, "end", "dftracer", 9, ""),
				META_OF(6, "CM", ",\"name\":\"\",\"value\":\"\""),
				META("ER", ",\"relation\":22,\"subject\":\"" ID_A
					   "\",\"object\":\"" ID_A "\""),
				END(4, ",\"annotations\":{\"unended\":1}")), 0);
	assert_int_equal(check.events, 4);
	assert_int_equal(check.annot.events, 2);
	assert_int_equal(check.annot.entities, 2);
	assert_int_equal(check.annot.entity_types, 1);
	assert_int_equal(check.annot.relations, 1);
}

/* Each character of the first 256, in a type, a uri and a description. */
static void test_characters(void **state)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-.:/@+=,~ ";
	char lines[3][256];
	const char *const all[] = { BEGIN, lines[0], lines[1], lines[2], END(2, "") };

	(void)state;
	for (unsigned int ch = 0; ch < 256; ch++) {
		bool good = ch && ch < 128 && strchr(allowed, (int)ch);
		char text[16];

		snprintf(text, sizeof(text), "x\\u%04x", ch);
		snprintf(lines[0], sizeof(lines[0]), EH(ID_A, "%s", ""), text);
		snprintf(lines[1], sizeof(lines[1]), EH_OF(ID_B, "", "%s", ""), text);
		snprintf(lines[2], sizeof(lines[2]), ET("t", 0, "%s"), text);
		assert_int_equal(faults_of(all, sizeof(all) / sizeof(all[0])), good ? 0 : 3);
	}
}

static void test_lengths(void **state)
{
	char x[300], lines[3][512];
	const char *const all[] = { BEGIN, lines[0], lines[1], lines[2], END(2, "") };

	(void)state;
	memset(x, 'x', sizeof(x));
	for (int n = 0; n < (int)sizeof(x); n++) {
		snprintf(lines[0], sizeof(lines[0]), EH(ID_A, "%.*s", ""), n, x);
		snprintf(lines[1], sizeof(lines[1]), EH_OF(ID_B, "", "%.*s", ""), n, x);
		snprintf(lines[2], sizeof(lines[2]), ET("t", 0, "%.*s"), n, x);
		assert_int_equal(faults_of(all, sizeof(all) / sizeof(all[0])),
				 (n > 31) + 2 * (n > 255));
	}
}

static void test_declarations(void **state)
{
	(void)state;
	ONE_FAULT(4, "EH: entity " ID_A " was declared before", EH(ID_A, "t", ""),
		  EH(ID_A, "t", ""), END(2, ""));
	ONE_FAULT(4, "EH: entity " ID_A " was declared before", EH(ID_A, "t", ""), LATE(ID_A),
		  END(2, ""));
	ONE_FAULT(4, "EH: entity " ID_A " was declared before", LATE(ID_A), LATE(ID_A),
		  END(2, ""));
	ONE_FAULT(5, "EH: entity " ID_A " was declared before", LATE(ID_A), EH(ID_A, "t", ""),
		  EH(ID_A, "t", ""), END(2, ""));
	assert_int_equal(check.annot.entities, 1);
	ONE_FAULT(3, "entity " ID_A " has no EH record", REL(2, "{\"used\":[\"" ID_A "\"]}"),
		  REL(3, "{\"used\":[\"" ID_A "\"]}"), END(4, ""));
	ONE_FAULT(3, "EH: it is late, but has a type, a store or a uri",
		  EH(ID_A, "t", ",\"late\":1"), END(2, ""));
	/* Of an unfinished file declarations may be missing, and of a new file nothing is known. */
	ONE_FAULT(0, "unfinished: no end record after 2 events (still being written, or the tracer "
		     "was killed)", REL(2, "{\"used\":[\"" ID_A "\"]}"));
	assert_int_equal(FAULTS(BEGIN, EH(ID_A, "t", ""), END(2, "")), 0);
	assert_int_equal(FAULTS(BEGIN, EH(ID_A, "t", ""), END(2, "")), 0);
}

static void test_relations_are_checked(void **state)
{
	static const struct {
		const char *line, *say;
	} t[] = {
		{ REL(2, "1"), "args.relations is not an object" },
		{ REL(2, "{}"), "args.relations is empty" },
		{ REL(2, "{\"used\":{}}"), "args.relations holds something other than arrays" },
		{ REL(2, "{\"used\":[]}"), "args.relations.used is empty" },
		{ REL(2, "{\"x\\ny\":[]}"), "args.relations.x\\ny is no relation of an event" },
		{ REL(2, "{\"used\":[\"" ID_A "\",\"" ID_A "\"]}"),
		  "args.relations.used holds " ID_A " twice" },
		{ REL(2, "{\"used\":[null]}"),
		  "args.relations: an entity id is not 16 lowercase hex digits" },
		{ REL(2, "{\"used\":[\"0000000000000000\"]}"),
		  "args.relations: an entity id is 0, which stands for none" },
		{ EVENT(2, "a", "b", 2, ",\"c\":[1]"), "args.c is neither a number nor a string" },
		{ EVENT(2, "a", "b", 9, ",\"c\":null"), "args.c is neither a number nor a string" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ONE_FAULT(3, t[i].say, t[i].line, EH(ID_A, "t", ""), END(3, ""));
	/* The ids of one array, or of one event, say nothing about the next. */
	assert_int_equal(FAULTS(BEGIN, EH(ID_A, "t", ""),
				REL(2, "{\"used\":[\"" ID_A "\"],\"generated\":[\"" ID_A "\"]}"),
				REL(3, "{\"related\":[\"" ID_A "\"]}"), END(4, "")), 0);
}

static void take(const char *const *lines, size_t n)
{
	dft_job_begin_file(&job, 0);
	for (size_t i = 0; i < n; i++) {
		struct dft_line line = line_of(lines[i], i + 1);

		assert_int_equal(job_line(&job, &line), 1);
	}
}

#define TAKE(...) \
	take((const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static struct dft_str str(uint64_t at)
{
	return dft_strings_at(&job.strings, at);
}

static void test_sums(void **state)
{
	const struct dft_annot_sums *a = &job.annots;
	const struct dft_entity_type *type;
	const struct dft_op *op;
	const struct dft_gap *gap;

	(void)state;
	TAKE(BEGIN, LATE(ID_A), LATE("00000000000000ff"), REL(2, "{\"used\":[\"" ID_A "\",\"x\"]}"),
	     REL(3, "{\"used\":[\"" ID_A "\"],\"related\":[1]}"),
	     EVENT(4, "read", "POSIX", 2, ",\"ret\":5,\"fhash\":\"70c8aac0b3f2da76\""),
	     EVENT(5, "read", "POSIX", 3, ",\"ret\":6,\"fhash\":\"70c8aac0b3f2da76\""),
	     META("CM", ",\"name\":\"probes_gap_us\",\"value\":\"9\",\"ts\":1,\"path\":\"/l\""),
	     META_OF(2, "CM", ",\"name\":\"probes_gap_us\",\"value\":\"7\",\"path\":\"/l\""),
	     END(6, ",\"annotations\":{\"inherited\":3,\"unended\":4}"));
	TAKE(BEGIN, EH(ID_A, "t", ""), EH(ID_B, "t", ""),
	     ET("t", 2, ""),
	     META("ER", ",\"relation\":18,\"subject\":\"" ID_A "\",\"object\":\"" ID_B "\""),
	     META("CM", ",\"name\":\"probes_gap_us\",\"value\":\"1\",\"ts\":1,\"path\":\"/l\""),
	     END(2, ""));
	dft_job_sort(&job);
	assert_int_equal(job.events, 4);
	assert_int_equal(a->events, 3);
	assert_int_equal(a->names.n, 2);
	op = a->names.v;
	assert_true(DFT_STR_IS(str(op[0].name), "step") && op[0].calls == 2);
	assert_true(op[0].time_ns == 40000 && op[0].max_ns == 20000);
	assert_true(DFT_STR_IS(str(op[1].name), "read") && op[1].calls == 1);
	assert_int_equal(job.ops.n, 1);
	op = job.ops.v;
	assert_true(op[0].calls == 1 && op[0].bytes == 6);
	assert_int_equal(((struct dft_file *)job.files.v)->calls, 1);
	assert_int_equal(a->entities.n, 3);
	assert_int_equal(a->undeclared, 1);
	assert_int_equal(a->types.n, 1);
	type = a->types.v;
	assert_int_equal(type->entities, 2);
	assert_string_equal(dft_role_name(type->role), "output");
	assert_null(dft_role_name(0));
	assert_int_equal(a->relations.n, 3);
	assert_int_equal(((struct dft_count *)a->relations.v)->n, 3);
	gap = a->gaps.v;
	assert_int_equal(a->gaps.n, 1);
	assert_true(gap->gaps == 2 && gap->procs == 2 && gap->us == 10);
	assert_true(a->gap_cnt == 2 && a->gap_procs == 2 && a->gap_us == 10);
	assert_true(a->inherited == 3 && a->unended == 4 && !a->unarmed.n);
	dft_job_free(&job);
}

/* What breaks the rules, or is of an older writer, is passed over. */
static void test_odd_lines(void **state)
{
	const struct dft_annot_sums *a = &job.annots;

	(void)state;
	TAKE(BEGIN, "{\"type\":2,\"ph\":1,\"name\":\"a\",\"cat\":\"b\",\"pid\":7,\"dur\":1}",
	     REL(2, "[\"used\",[\"x\"],[\"used\"]]"), REL(3, "[[1,2],[3,4]]"), ET("t", 6, ""),
	     META("ER", ",\"relation\":15"), META("ER", ",\"relation\":256"),
	     META("ET", ",\"role\":\"x\""), META("EH", ",\"id\":\"\""), META("EH", ""),
	     EVENT(4, "a", "b", 2, ",\"args_lost\":0,\"unreadable\":\"1\""));
	dft_job_sort(&job);
	assert_int_equal(a->events, 4);
	assert_int_equal(a->relations.n + a->entities.n + a->args_lost + a->unreadable, 0);
	assert_int_equal(a->types.n, 2);
	for (size_t i = 0; i < a->types.n; i++)
		assert_int_equal(((struct dft_entity_type *)a->types.v)[i].role, 0);
	assert_false(dft_sums_lack(a));
	dft_job_free(&job);
}

/* Each of what may be missing is told by itself. */
static void test_what_is_missing(void **state)
{
	static const struct {
		const char *line;
		bool lack;
	} t[] = {
		{ META("CM", ",\"name\":\"probes_gap_us\",\"value\":\"0\",\"path\":\"/l\""), true },
		{ META("CM", ",\"name\":\"probes_unarmed\",\"value\":\"no\",\"path\":\"/l\""), true },
		{ EVENT(2, "a", "b", 6, ",\"args_lost\":1"), true },
		{ EVENT(2, "a", "b", 6, ",\"unreadable\":1"), true },
		{ END(2, ",\"annotations\":{\"unended\":1}"), true },
		{ END(2, ",\"annotations\":{\"inherited\":1}"), false },
		{ EVENT(2, "a", "b", 6, ""), false },
		{ EVENT(2, "a", "POSIX", 3, ",\"args_lost\":1"), false },
		{ META("CM", ",\"name\":\"probes_gap_us\",\"value\":\"x\",\"path\":\"/l\""), false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		TAKE(BEGIN, t[i].line);
		assert_int_equal(dft_sums_lack(&job.annots), t[i].lack);
		dft_job_free(&job);
	}
}

static int teardown(void **state)
{
	(void)state;
	dft_check_free(&check);
	dft_job_free(&job);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_relations_are_checked),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
