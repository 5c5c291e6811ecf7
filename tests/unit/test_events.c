// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "events.h"
#include "syscalls.h"

static void known(const char *text)
{
	const char *nearest = NULL;

	if (!dft_event_is_known(text, strlen(text), &nearest))
		fail_msg("%s is not known", text);
	assert_string_equal(nearest, text);
}

static void all_events(void **state)
{
	(void)state;
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++) {
		const struct dft_sys *sys = dft_sys_find(nr);

		if (!sys || !sys->event)
			continue;
		for (int form = 0; form < 4; form++)
			known(dft_sys_event(sys, form & 2, form & 1));
	}
	known("close"); /* also what dup2 closes */
}

static void nearest(const char *text, const char *want)
{
	const char *got;

	assert_false(dft_event_is_known(text, strlen(text), &got));
	if (!want)
		assert_null(got);
	else if (!got)
		fail_msg("nothing like %s", text);
	else
		assert_string_equal(got, want);
}

static void unknown_events(void **state)
{
	const char *near;

	(void)state;
	nearest("raed", "read");
	nearest("wriet", "write");
	nearest("writee", "write");
	nearest("rite", "write");
	nearest("fsnc", "fsync");
	nearest("pread64", "pread");
	nearest("copy_file_rangr", "copy_file_range");
	nearest("Read", "read");
	nearest("zzzzzz", NULL);
	nearest("", NULL);
	nearest("readreadreadreadreadreadreadreadreadread", NULL);
	/* the length counts, not a NUL */
	assert_true(dft_event_is_known("read,x", 4, &near));
	assert_false(dft_event_is_known("rea\0d", 5, &near));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_events),
		cmocka_unit_test(unknown_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
