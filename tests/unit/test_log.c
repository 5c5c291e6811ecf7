// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"

/* What is written to stderr, in a pipe: one message is one write, so one read. */
static char seen[8192];
static ssize_t seen_len;

static void capture(void (*say)(void))
{
	int fds[2], saved = dup(STDERR_FILENO);

	assert_true(saved >= 0);
	assert_int_equal(pipe(fds), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	say();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	seen_len = read(fds[0], seen, sizeof(seen) - 1);
	assert_true(seen_len >= 0);
	seen[seen_len] = '\0';
	close(fds[0]);
}

static void say_error(void)
{
	errno = ENOSPC;
	dft_error("%s: %d", "file", 7);
	assert_int_equal(errno, ENOSPC);
}

static void say_lines(void)
{
	dft_error("a name\nwith\r\nlines");
}

static void say_long(void)
{
	char *text = malloc(10001);

	assert_non_null(text);
	memset(text, 'x', 10000);
	text[10000] = '\0';
	dft_error("%s", text);
	free(text);
}

static void say_all(void)
{
	dft_error("e");
	dft_warn("w");
	dft_info("i");
	dft_verbose("v");
}

static void one_line(void **state)
{
	(void)state;
	dft_log_init("prog", DFT_LOG_NORMAL);
	capture(say_error);
	assert_string_equal(seen, "prog: file: 7\n");
	capture(say_lines);
	assert_string_equal(seen, "prog: a name with  lines\n");
	capture(say_long);
	assert_true(seen_len > 4000 && seen_len <= 4096);
	assert_int_equal(seen[seen_len - 1], '\n');
	assert_null(memchr(seen, '\n', (size_t)seen_len - 1));
}

static void levels(void **state)
{
	(void)state;
	dft_log_init("p", DFT_LOG_QUIET);
	capture(say_all);
	assert_string_equal(seen, "p: e\n");
	dft_log_set_level(DFT_LOG_NORMAL);
	capture(say_all);
	assert_string_equal(seen, "p: e\np: w\np: i\n");
	dft_log_set_level(DFT_LOG_VERBOSE);
	assert_int_equal(dft_log_level(), DFT_LOG_VERBOSE);
	capture(say_all);
	assert_string_equal(seen, "p: e\np: w\np: i\np: v\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line),
		cmocka_unit_test(levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
