// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "items.h"

/* ---- writing, as include/dftracer/wire.h says ------------------------------------------------ */

static void put_u8(struct dft_buf *to, unsigned int value)
{
	dft_buf_putc(to, (char)value);
}

static void put_text(struct dft_buf *to, const char *bytes, uint32_t len)
{
	dft_buf_append(to, &len, sizeof(len));
	dft_buf_append(to, bytes, len);
}

static void put_int(struct dft_buf *to, unsigned int mt, const char *key, int64_t value)
{
	put_u8(to, DFT_ITEM_INT);
	put_u8(to, mt);
	put_text(to, key, (uint32_t)strlen(key));
	dft_buf_append(to, &value, sizeof(value));
}

static void put_str(struct dft_buf *to, unsigned int mt, const char *key, const char *value,
		    uint32_t len)
{
	put_u8(to, DFT_ITEM_STR);
	put_u8(to, mt);
	put_text(to, key, (uint32_t)strlen(key));
	put_text(to, value, len);
}

static void put_float(struct dft_buf *to, unsigned int mt, const char *key, uint64_t bits)
{
	put_u8(to, DFT_ITEM_FLOAT);
	put_u8(to, mt);
	put_text(to, key, (uint32_t)strlen(key));
	dft_buf_append(to, &bits, sizeof(bits));
}

static void put_rel(struct dft_buf *to, unsigned int rel, uint64_t id)
{
	put_u8(to, DFT_ITEM_REL);
	put_u8(to, rel);
	dft_buf_append(to, &id, sizeof(id));
}

static void put_dur(struct dft_buf *to, uint64_t ns)
{
	put_u8(to, DFT_ITEM_DUR);
	dft_buf_append(to, &ns, sizeof(ns));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The bytes in memory of just that size, so that AddressSanitizer sees any reading beyond them. */
static char *exact(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

static struct dft_items over(const char *bytes, size_t len)
{
	return (struct dft_items){ .at = bytes, .end = bytes + len };
}

static void text_is(const struct dft_item_text *text, const char *want, size_t len)
{
	assert_int_equal(text->len, len);
	assert_memory_equal(text->bytes, want, len);
}

/* At its end, and it stays there. */
static void ends(struct dft_items *items, bool bad)
{
	struct dft_item_value item;

	for (int i = 0; i < 3; i++) {
		assert_false(dft_items_next(items, &item));
		assert_int_equal(items->bad, bad);
		assert_true(bad || items->at == items->end);
	}
}

static uint64_t bits_of(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

static void each_kind(void **state)
{
	static const uint64_t quiet_nan = 0x7ff8000000012345ull, minus_zero = 1ull << 63;
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_item_value item;
	struct dft_items items;
	char *bytes;

	(void)state;
	put_int(&buf, 0, "min", INT64_MIN);
	put_int(&buf, 1, "", INT64_MAX);
	put_str(&buf, 2, "key", "a\0b", 3);
	put_str(&buf, 0, "", "", 0);
	put_float(&buf, 1, "nan", quiet_nan);
	put_float(&buf, 0, "zero", minus_zero);
	put_rel(&buf, 255, UINT64_MAX);
	put_dur(&buf, 0x0123456789abcdefull);
	put_u8(&buf, DFT_ITEM_NAME);
	put_text(&buf, "name", 4);
	put_u8(&buf, DFT_ITEM_CAT);
	put_text(&buf, "", 0);
	bytes = exact(buf.data, buf.len);
	items = over(bytes, buf.len);

	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_INT && item.small == 0 && item.number == INT64_MIN);
	text_is(&item.key, "min", 3);
	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_INT && item.small == 1 && item.number == INT64_MAX);
	text_is(&item.key, "", 0);
	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_STR && item.small == 2);
	text_is(&item.key, "key", 3);
	text_is(&item.text, "a\0b", 3);
	assert_true(dft_items_next(&items, &item));
	text_is(&item.key, "", 0);
	text_is(&item.text, "", 0);
	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_FLOAT && item.small == 1);
	assert_true(bits_of(item.real) == quiet_nan);
	text_is(&item.key, "nan", 3);
	assert_true(dft_items_next(&items, &item));
	assert_true(bits_of(item.real) == minus_zero);
	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_REL && item.small == 255 && item.id == UINT64_MAX);
	assert_true(dft_items_next(&items, &item));
	assert_true(item.tag == DFT_ITEM_DUR && item.id == 0x0123456789abcdefull);
	assert_true(dft_items_next(&items, &item));
	assert_int_equal(item.tag, DFT_ITEM_NAME);
	text_is(&item.key, "name", 4);
	assert_true(dft_items_next(&items, &item));
	assert_int_equal(item.tag, DFT_ITEM_CAT);
	text_is(&item.key, "", 0);
	ends(&items, false);
	free(bytes);
	dft_buf_free(&buf);
}

static void nothing_at_all(void **state)
{
	struct dft_items items = { 0 };
	char byte = 0;

	(void)state;
	ends(&items, false);
	items = over(&byte, 0);
	ends(&items, false);
}

/* Cut at every byte: what is whole comes, and the rest is bad unless the cut is between items. */
static void cut_at_every_byte(void **state)
{
	size_t edge[8] = { 0 }, n = 0;
	struct dft_buf buf = DFT_BUF_INIT;

	(void)state;
	put_int(&buf, 0, "int", 1);
	edge[++n] = buf.len;
	put_str(&buf, 0, "str", "value", 5);
	edge[++n] = buf.len;
	put_float(&buf, 0, "float", 2);
	edge[++n] = buf.len;
	put_rel(&buf, 0, 3);
	edge[++n] = buf.len;
	put_dur(&buf, 4);
	edge[++n] = buf.len;
	put_u8(&buf, DFT_ITEM_NAME);
	put_text(&buf, "name", 4);
	edge[++n] = buf.len;
	put_u8(&buf, DFT_ITEM_CAT);
	put_text(&buf, "cat", 3);
	edge[++n] = buf.len;

	for (size_t len = 0; len <= buf.len; len++) {
		char *bytes = exact(buf.data, len);
		struct dft_items items = over(bytes, len);
		struct dft_item_value item;
		size_t whole = 0;

		while (whole < n && edge[whole + 1] <= len)
			whole++;
		for (size_t i = 0; i < whole; i++)
			assert_true(dft_items_next(&items, &item));
		ends(&items, len != edge[whole]);
		free(bytes);
	}
	dft_buf_free(&buf);
}

/* A length that says more than there is, by one and by 4 GiB. */
static void huge_lengths(void **state)
{
	static const uint32_t beyond[] = {
		1, 2, 255, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff
	};
	static const unsigned int tags[] = { DFT_ITEM_INT, DFT_ITEM_STR, DFT_ITEM_FLOAT,
					     DFT_ITEM_NAME, DFT_ITEM_CAT };

	(void)state;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]) * 2; i++)
		for (size_t k = 0; k < sizeof(beyond) / sizeof(beyond[0]); k++) {
			unsigned int tag = tags[i / 2];
			uint32_t len = beyond[k];
			struct dft_buf buf = DFT_BUF_INIT;
			struct dft_item_value item;
			struct dft_items items;
			char *bytes;

			if (i % 2 && tag != DFT_ITEM_STR)
				continue;
			put_int(&buf, 0, "before", 1);
			put_u8(&buf, tag);
			if (tag != DFT_ITEM_NAME && tag != DFT_ITEM_CAT)
				put_u8(&buf, 0);
			if (i % 2) /* of the value */
				put_text(&buf, "key", 3);
			dft_buf_append(&buf, &len, sizeof(len));
			bytes = exact(buf.data, buf.len);
			items = over(bytes, buf.len);
			assert_true(dft_items_next(&items, &item));
			ends(&items, true);
			free(bytes);
			dft_buf_free(&buf);
		}
}

static void tags_that_are_none(void **state)
{
	(void)state;
	for (unsigned int tag = 0; tag < 256; tag++) {
		struct dft_buf buf = DFT_BUF_INIT;
		struct dft_item_value item;
		struct dft_items items;

		if (tag >= DFT_ITEM_INT && tag <= DFT_ITEM_CAT)
			continue;
		put_dur(&buf, 1);
		put_u8(&buf, tag);
		put_dur(&buf, 2);
		items = over(buf.data, buf.len);
		assert_true(dft_items_next(&items, &item));
		assert_int_equal(item.id, 1);
		ends(&items, true); /* where the next one begins is not known */
		dft_buf_free(&buf);
	}
}

static uint32_t random_state = 1;

static uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static void within(const struct dft_item_text *text, const char *bytes, size_t len)
{
	if (text->bytes)
		assert_true(text->bytes >= bytes && text->bytes <= bytes + len &&
			    text->len <= (size_t)(bytes + len - text->bytes));
	else
		assert_int_equal(text->len, 0);
}

static void bytes_at_random(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t len = random_u32() % 80, count = 0;
		char *bytes = malloc(len ? len : 1);
		struct dft_item_value item;
		struct dft_items items;

		assert_non_null(bytes);
		for (size_t k = 0; k < len; k++) /* small ones: tags, and lengths that fit */
			bytes[k] = (char)(random_u32() & 3 ? random_u32() & 7 : random_u32());
		for (size_t k = 3; k < len; k += 4 + random_u32() % 8)
			bytes[k] = bytes[k - 1] = 0;
		items = over(bytes, len);
		while (dft_items_next(&items, &item)) {
			within(&item.key, bytes, len);
			within(&item.text, bytes, len);
			assert_true(items.at > bytes && items.at <= items.end);
			assert_true(++count <= len);
		}
		ends(&items, items.bad);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(huge_lengths),
		cmocka_unit_test(tags_that_are_none),
		cmocka_unit_test(bytes_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
