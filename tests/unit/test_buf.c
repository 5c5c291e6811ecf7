// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"

/* Sizes that no machine has make malloc() fail instead of ending the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void is(const struct dft_buf *buf, const char *want)
{
	assert_false(buf->failed);
	assert_int_equal(buf->len, strlen(want));
	assert_memory_equal(buf->data, want, buf->len);
}

static void grows_and_keeps_bytes(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT;
	char block[1000];

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		memset(block, (int)(i & 0xff), sizeof(block));
		dft_buf_append(&buf, block, i);
	}
	assert_false(buf.failed);
	assert_int_equal(buf.len, 999 * 1000 / 2);
	for (size_t i = 0, at = 0; i < 1000; at += i, i++)
		for (size_t k = 0; k < i; k++)
			assert_int_equal((unsigned char)buf.data[at + k], i & 0xff);
	dft_buf_free(&buf);
	assert_null(buf.data);
	assert_int_equal(buf.len + buf.cap, 0);
}

static void takes_nothing(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	dft_buf_append(&buf, NULL, 0);
	dft_buf_puts(&buf, "");
	assert_int_equal(buf.len, 0);
	assert_false(buf.failed);
	dft_buf_free(&buf);
}

static void writes_numbers(void **state)
{
	static const struct {
		int64_t value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 9, "9" },
		{ 10, "10" },
		{ -1, "-1" },
		{ -10, "-10" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
		{ INT64_MIN + 1, "-9223372036854775807" },
	};
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf.len = 0;
		dft_buf_i64(&buf, cases[i].value);
		is(&buf, cases[i].text);
		if (cases[i].value < 0)
			continue;
		buf.len = 0;
		dft_buf_u64(&buf, (uint64_t)cases[i].value);
		is(&buf, cases[i].text);
	}
	buf.len = 0;
	dft_buf_u64(&buf, UINT64_MAX);
	is(&buf, "18446744073709551615");
	dft_buf_free(&buf);
}

static void writes_hex(void **state)
{
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	dft_buf_hex16(&buf, 0);
	dft_buf_hex16(&buf, 0x0123456789abcdefull);
	dft_buf_hex16(&buf, UINT64_MAX);
	is(&buf, "00000000000000000123456789abcdefffffffffffffffff");
	dft_buf_free(&buf);
}

static void remembers_that_memory_was_short(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2, (size_t)1 << 60 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct dft_buf buf = DFT_BUF_INIT;

		dft_buf_puts(&buf, "kept");
		assert_null(dft_buf_reserve(&buf, sizes[i]));
		assert_true(buf.failed);
		dft_buf_puts(&buf, "not taken");
		dft_buf_u64(&buf, 1);
		dft_buf_putc(&buf, 'x');
		assert_null(dft_buf_reserve(&buf, 1));
		assert_int_equal(buf.len, 4);
		assert_memory_equal(buf.data, "kept", 4);
		dft_buf_free(&buf);
		assert_false(buf.failed);
	}
}

static void reserves_exactly_what_was_asked(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 2000; extra += 7) {
		struct dft_buf buf = DFT_BUF_INIT;
		char *at;

		dft_buf_putc(&buf, 'a');
		at = dft_buf_reserve(&buf, extra);
		assert_non_null(at);
		/* AddressSanitizer sees a room that is too small. */
		memset(at, 'b', extra);
		assert_ptr_equal(at, buf.data + 1);
		assert_int_equal(buf.len, 1);
		dft_buf_free(&buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_keeps_bytes),
		cmocka_unit_test(takes_nothing),
		cmocka_unit_test(writes_numbers),
		cmocka_unit_test(writes_hex),
		cmocka_unit_test(remembers_that_memory_was_short),
		cmocka_unit_test(reserves_exactly_what_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
