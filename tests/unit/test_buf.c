// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The C library's own digits; in memory of just that size, so that AddressSanitizer sees any beyond. */
static void as_printf(uint64_t value)
{
	char want[32];
	size_t len = (size_t)snprintf(want, sizeof(want), "%" PRIu64, value);
	char *room = malloc(len);

	assert_non_null(room);
	assert_true(len <= DFT_PUT_INT);
	assert_ptr_equal(dft_put_u64(room, value), room + len);
	assert_memory_equal(room, want, len);
	free(room);

	len = (size_t)snprintf(want, sizeof(want), "%" PRId64, (int64_t)value);
	room = malloc(len);
	assert_non_null(room);
	assert_true(len <= DFT_PUT_INT);
	assert_ptr_equal(dft_put_i64(room, (int64_t)value), room + len);
	assert_memory_equal(room, want, len);
	free(room);

	snprintf(want, sizeof(want), "%016" PRIx64, value);
	room = malloc(DFT_PUT_HEX);
	assert_non_null(room);
	assert_ptr_equal(dft_put_hex16(room, value), room + DFT_PUT_HEX);
	assert_memory_equal(room, want, DFT_PUT_HEX);
	free(room);
}

static void numbers_are_those_of_printf(void **state)
{
	uint64_t power = 1, random = 1;

	(void)state;
	for (uint64_t i = 0; i <= 20000; i++) {
		as_printf(i);
		as_printf(0 - i);
		as_printf((uint64_t)INT64_MAX + i - 10000);
		/* all groups of four digits, at each place where one can be */
		as_printf(i * 10000);
		as_printf(i * 100000000 + 1);
		as_printf(i * 1000000000000 + 10);
	}
	for (int digits = 1; digits <= 20; digits++, power *= 10)
		for (uint64_t near = 0; near < 3; near++) {
			as_printf(power + near);
			as_printf(power - near);
			as_printf(0 - power + near);
		}
	for (unsigned int i = 0; i < 100000; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		as_printf((random ^ random >> 32) >> i % 64);
	}
}

static void writes_each_byte_in_hex(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 256; i++) {
		char want[3], got[2];

		snprintf(want, sizeof(want), "%02x", i);
		assert_ptr_equal(dft_put_hex2(got, (uint8_t)i), got + 2);
		assert_memory_equal(got, want, 2);
	}
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
		cmocka_unit_test(numbers_are_those_of_printf),
		cmocka_unit_test(writes_each_byte_in_hex),
		cmocka_unit_test(remembers_that_memory_was_short),
		cmocka_unit_test(reserves_exactly_what_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
