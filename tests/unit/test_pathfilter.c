// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pathfilter.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_PREFIXES 4

struct filter_case {
	const char *include[MAX_PREFIXES];
	const char *exclude[MAX_PREFIXES];
	const char *path;
	bool keep;
};

static const struct filter_case cases[] = {
	/* no list at all */
	{ { NULL }, { NULL }, "/data/x", true },
	{ { NULL }, { NULL }, "pipe:[1]", true },
	{ { NULL }, { NULL }, "", true },
	/* include: by component */
	{ { "/data" }, { NULL }, "/data", true },
	{ { "/data" }, { NULL }, "/data/", true },
	{ { "/data" }, { NULL }, "/data/x/y", true },
	{ { "/data" }, { NULL }, "/database", false },
	{ { "/data" }, { NULL }, "/dat", false },
	{ { "/data" }, { NULL }, "/", false },
	{ { "/data" }, { NULL }, "", false },
	{ { "/data" }, { NULL }, "data", false },
	{ { "/data" }, { NULL }, "/x/data", false },
	{ { "/data" }, { NULL }, "/DATA/x", false },
	{ { "/a", "/b" }, { NULL }, "/b/x", true },
	{ { "/a", "/b" }, { NULL }, "/c/x", false },
	/* exclude alone: everything else stays */
	{ { NULL }, { "/proc" }, "/proc/1/stat", false },
	{ { NULL }, { "/proc" }, "/process", true },
	{ { NULL }, { "/proc" }, "/data", true },
	{ { NULL }, { "/proc" }, "socket:[3]", true },
	/* the root is a prefix of all absolute names, and of nothing else */
	{ { "/" }, { NULL }, "/", true },
	{ { "/" }, { NULL }, "/x", true },
	{ { "/" }, { NULL }, "pipe:[1]", false },
	{ { NULL }, { "/" }, "/x", false },
	{ { NULL }, { "/" }, "pipe:[1]", true },
	/* the longest decides, whichever list it is in and wherever */
	{ { "/data" }, { "/data/tmp" }, "/data/tmp/x", false },
	{ { "/data" }, { "/data/tmp" }, "/data/tmpfile", true },
	{ { "/data/tmp/keep", "/data" }, { "/data/tmp" }, "/data/tmp/keep/x", true },
	{ { "/data", "/data/tmp/keep" }, { "/data/tmp" }, "/data/tmp/keeper", false },
	{ { "/data/keep" }, { "/" }, "/data/keep/x", true },
	{ { "/data/keep" }, { "/" }, "/data/x", false },
	{ { "/" }, { "/usr", "/lib" }, "/lib/x", false },
	{ { "/" }, { "/usr", "/lib" }, "/home/x", true },
	/* a tie is an exclusion */
	{ { "/data" }, { "/data" }, "/data/x", false },
	{ { "/" }, { "/" }, "/x", false },
	/* an include list, and neither matches */
	{ { "/data" }, { "/proc" }, "/home", false },
	/* bytes, not characters */
	{ { "/d\xff\xfe" }, { NULL }, "/d\xff\xfe/x", true },
	{ { "/d\xff" }, { NULL }, "/d\xff\xfe/x", false },
	{ { "/d\n" }, { NULL }, "/d\n/x", true },
};

/* The strings are only read; the list type has no const because others own what is in it. */
static struct dft_strv strv_of(const char *const *prefixes, char **room)
{
	struct dft_strv list = { .v = room, .n = 0 };

	while (list.n < MAX_PREFIXES && prefixes[list.n]) {
		room[list.n] = (char *)(uintptr_t)prefixes[list.n];
		list.n++;
	}
	return list;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *in_room[MAX_PREFIXES], *out_room[MAX_PREFIXES];
		struct dft_strv in = strv_of(cases[i].include, in_room);
		struct dft_strv out = strv_of(cases[i].exclude, out_room);

		if (dft_pathfilter_keep(&in, &out, cases[i].path, strlen(cases[i].path)) !=
		    cases[i].keep)
			fail_msg("case %zu: '%s' should%s be kept", i, cases[i].path,
				 cases[i].keep ? "" : " not");
	}
}

/* The length counts, not a NUL: the caller's buffer need not end there. */
static void test_length(void **state)
{
	char *prefix = (char *)(uintptr_t)"/data";
	struct dft_strv include = { .v = &prefix, .n = 1 }, none = { 0 };
	const char buffer[] = { '/', 'd', 'a', 't', 'a', 'b' };

	(void)state;
	assert_true(dft_pathfilter_keep(&include, &none, buffer, 5));
	assert_false(dft_pathfilter_keep(&include, &none, buffer, 6));
	assert_false(dft_pathfilter_keep(&include, &none, buffer, 4));
	assert_false(dft_pathfilter_keep(&include, &none, buffer, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests_name("pathfilter", tests, NULL, NULL);
}
