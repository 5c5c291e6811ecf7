// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "path.h"

static void join(struct dft_buf *out, const char *base, const char *text, bool *lexical)
{
	out->len = 0;
	*lexical = dft_path_join(out, base, strlen(base), text, strlen(text));
	dft_buf_putc(out, '\0');
	assert_false(out->failed);
}

static void by_hand(void **state)
{
	static const struct {
		const char *base, *text, *want;
		bool lexical;
	} cases[] = {
		{ "/data", "a", "/data/a", false },
		{ "/", "a", "/a", false },
		{ "/data", "", "/data/", false },
		{ "/", "", "/", false },
		{ "/data", "a/b", "/data/a/b", false },
		{ "/data", "a//b///c", "/data/a/b/c", false },
		{ "/data", "./a", "/data/a", false },
		{ "/data", "././a/./b", "/data/a/b", false },
		{ "/data", ".", "/data/.", false },
		{ "/data", "a/.", "/data/a/.", false },
		{ "/data", "a/./", "/data/a/", false },
		{ "/data", "a/", "/data/a/", false },
		{ "/data", ".a/.b/c.", "/data/.a/.b/c.", false },
		{ "/data", ".//././/a", "/data/a", false },
		/* absolute: the base plays no part */
		{ "/data", "/a", "/a", false },
		{ "/data", "//a/./b", "/a/b", false },
		{ "/data", "/", "/", false },
		{ "/data", "///", "/", false },
		{ "/data", "/.", "/.", false },
		{ "/data", "/./", "/", false },
		/* ".." stays as written, and is told */
		{ "/data", "..", "/data/..", true },
		{ "/data", "../a", "/data/../a", true },
		{ "/data", "a/../b", "/data/a/../b", true },
		{ "/data", "a/..", "/data/a/..", true },
		{ "/data", "/..", "/..", true },
		{ "/data", "a/..//./b", "/data/a/../b", true },
		{ "/data", "...", "/data/...", false },
		{ "/data", "a..", "/data/a..", false },
		{ "/data", "..a/b", "/data/..a/b", false },
		/* only what the program wrote counts as lexical */
		{ "/data/../x", "a", "/data/../x/a", false },
		/* bytes that are no characters */
		{ "/d\xff", "\xfe\n", "/d\xff/\xfe\n", false },
	};
	struct dft_buf out = DFT_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool lexical;

		join(&out, cases[i].base, cases[i].text, &lexical);
		assert_string_equal(out.data, cases[i].want);
		assert_int_equal(lexical, cases[i].lexical);
	}
	dft_buf_free(&out);
}

static void appends_to_what_is_there(void **state)
{
	struct dft_buf out = DFT_BUF_INIT;

	(void)state;
	/* Bytes before it that look like a part of the path are not touched. */
	dft_buf_puts(&out, "x/.");
	dft_path_join(&out, "/data", 5, "/a", 2);
	dft_buf_puts(&out, "/");
	dft_path_join(&out, "/", 1, "./b", 3);
	dft_buf_putc(&out, '\0');
	assert_string_equal(out.data, "x/./a//b");
	dft_buf_free(&out);
}

static bool replace_once(char *text, const char *what)
{
	char *at = strstr(text, what);
	size_t n = strlen(what);

	if (!at)
		return false;
	memmove(at + 1, at + n, strlen(at + n) + 1);
	return true;
}

static bool has_dotdot(const char *text)
{
	char padded[64];

	strcpy(padded, "/");
	strcat(padded, text);
	strcat(padded, "/");
	return strstr(padded, "/../") != NULL;
}

/* All texts of up to 7 bytes out of '/', '.' and 'a', against the rule taken literally. */
static void every_short_text(void **state)
{
	static const char *const bases[] = { "/", "/d", "/d/." };
	struct dft_buf out = DFT_BUF_INIT;
	unsigned int count = 1;

	(void)state;
	for (int len = 0; len <= 7; len++, count *= 3) {
		for (unsigned int code = 0; code < count; code++) {
			char text[8], want[64];
			unsigned int rest = code;
			bool lexical;

			for (int i = 0; i < len; i++, rest /= 3)
				text[i] = "/.a"[rest % 3];
			text[len] = '\0';
			for (size_t b = 0; b < 3; b++) {
				want[0] = '\0';
				if (text[0] != '/') {
					strcat(want, bases[b]);
					strcat(want, "/");
				}
				strcat(want, text);
				while (replace_once(want, "//") || replace_once(want, "/./"))
					;
				join(&out, bases[b], text, &lexical);
				assert_string_equal(out.data, want);
				assert_int_equal(lexical, has_dotdot(text));
			}
		}
	}
	dft_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(appends_to_what_is_there),
		cmocka_unit_test(every_short_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
