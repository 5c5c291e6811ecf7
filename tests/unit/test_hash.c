// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hash.h"

/* The first four are vectors of the format; the others were computed with md5sum. */
static void vectors(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		uint64_t hash;
	} cases[] = {
#define S(text) text, sizeof(text) - 1
		{ S("/data/a.bin"), 0xc721397c362c32b4ull },
		{ S("node01"), 0x70c8aac0b3f2da76ull },
		{ S("localhost"), 0x42a907a3b64f2a3eull },
		{ S("/dev/null"), 0xeee78214f21683d6ull },
		{ S(""), 0xd48c8fb2e909ec42ull },
		{ S("a"), 0x0c75c0b631996926ull },
		{ S("\xff\xfe"), 0xf357fe2e46a94599ull },
		{ S("a\0b"), 0x700f27e33f763030ull },
#undef S
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(dft_hash(cases[i].text, cases[i].len) == cases[i].hash);
}

/* Zeros, in lengths around the block size of MD5. */
static void lengths(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} cases[] = {
		{ 1, 0x9385fea0cd344f9full },
		{ 55, 0xc933b99fe39406d1ull },
		{ 56, 0xe3dda91f9d8e0978ull },
		{ 63, 0x65cf802f5775ec3full },
		{ 64, 0x3b3c2037eed3e32eull },
		{ 65, 0x1ee83013e9440ca1ull },
		{ 128, 0xf03563398e2e50bcull },
		{ 4095, 0x21f9a6db6edc044eull },
		{ 1000000, 0x874b5737ec5af946ull },
	};
	char *zeros = calloc(1, 1000000);

	(void)state;
	assert_non_null(zeros);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(dft_hash(zeros, cases[i].len) == cases[i].hash);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
