// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counts.h"
#include "facts.h"

static struct dft_jsonr json;

static enum dft_dir dir_of(const char *cat, const char *name)
{
	return dft_dir_of((struct dft_str){ cat, strlen(cat) },
			  (struct dft_str){ name, strlen(name) });
}

static void test_directions(void **state)
{
	static const char *const reads[] = { "read",	"pread", "pread64", "readv",	"preadv",
					     "preadv2", "fread", "recv",    "recvfrom", "recvmsg" };
	static const char *const writes[] = { "write", "pwrite", "pwrite64", "writev", "pwritev",
					      "pwritev2", "fwrite", "send", "sendto", "sendmsg" };
	static const char *const others[] = { "open", "readdir", "readlink", "readahead", "lseek",
					      "", "rea", "reads", "tee", "mmap", "READ" };

	(void)state;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		assert_int_equal(dir_of("POSIX", reads[i]), DFT_DIR_READ);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		assert_int_equal(dir_of("STDIO", writes[i]), DFT_DIR_WRITE);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(dir_of("POSIX", others[i]), DFT_DIR_NONE);
	assert_int_equal(dir_of("posix", "sendfile"), DFT_DIR_TO_FHASH);
	assert_int_equal(dir_of("posix", "ficlonerange"), DFT_DIR_TO_FHASH);
	assert_int_equal(dir_of("posix", "mmap_write"), DFT_DIR_MAPPED);
	assert_int_equal(dir_of("posix", "splice"), DFT_DIR_FROM_FHASH);
	assert_int_equal(dir_of("posix", "copy_file_range"), DFT_DIR_FROM_FHASH);
	assert_int_equal(dir_of("C_APP", "read"), DFT_DIR_NONE);
	assert_int_equal(dir_of("", "read"), DFT_DIR_NONE);
}

static uint64_t bytes_of(const char *cat, const char *name, const char *args)
{
	char line[512];
	struct dft_record r;
	struct dft_facts f;

	snprintf(line, sizeof(line), "{\"cat\":\"%s\",\"name\":\"%s\",\"args\":%s}", cat, name,
		 args);
	assert_int_equal(dft_record_parse(&r, &json, line, strlen(line)), 1);
	dft_facts_take(&f, &json, &r);
	return dft_facts_bytes(&f, dft_dir_of(r.cat, r.name), &r);
}

static void test_bytes(void **state)
{
	(void)state;
	assert_int_equal(bytes_of("POSIX", "read", "{\"count\":4096,\"ret\":100}"), 100);
	assert_int_equal(bytes_of("POSIX", "read", "{\"count\":4096}"), 0);
	assert_int_equal(bytes_of("POSIX", "read", "{\"ret\":-1}"), 0);
	assert_int_equal(bytes_of("POSIX", "read", "{\"ret\":\"100\"}"), 0);
	assert_int_equal(bytes_of("POSIX", "read", "{\"ret\":1.5}"), 0);
	assert_int_equal(bytes_of("POSIX", "open", "{\"ret\":3}"), 0);
	assert_int_equal(bytes_of("POSIX", "open", "{\"image_size\":3}"), 0);
	assert_int_equal(bytes_of("STDIO", "fread", "{\"size\":8,\"count\":9,\"ret\":5}"), 40);
	assert_int_equal(bytes_of("POSIX", "read", "{\"size_sum\":7,\"ret\":5}"), 7);
	assert_int_equal(bytes_of("POSIX", "ficlone", "{\"size\":700,\"ret\":0}"), 700);
	assert_int_equal(bytes_of("POSIX", "ficlone", "{\"size\":700,\"ret\":-1}"), 0);
	assert_int_equal(bytes_of("POSIX", "ficlonerange", "{\"len\":0,\"off_in\":9,\"size\":30,\"ret\":0}"), 21);
	assert_int_equal(bytes_of("POSIX", "ficlonerange", "{\"len\":5,\"off_in\":9,\"size\":30,\"ret\":0}"), 5);
	assert_int_equal(bytes_of("POSIX", "ficlonerange", "{\"len\":0,\"off_in\":9,\"size\":3,\"ret\":0}"), 0);
	assert_int_equal(bytes_of("POSIX", "mmap_read", "{\"ret\":4096,\"offset\":1}"), 4096);
	assert_int_equal(bytes_of("data", "item", "{\"image_size\":12,\"ret\":5}"), 12);
	assert_int_equal(bytes_of("data", "reopen", "{\"image_size\":12}"), 0);
	assert_int_equal(bytes_of("data", "read", "{\"ret\":12}"), 0);
}

static void test_facts(void **state)
{
	static const char line[] = "{\"args\":{\"hhash\":\"x\",\"fhash\":\"c721397c362c32b4\","
				   "\"other_fhash\":\"70c8aac0b3f2da76\",\"ret\":-1,\"errno\":4,"
				   "\"restarted\":1,\"dur_ns\":5,\"dft_cnt\":6,\"dur_sum\":7,"
				   "\"dur_max\":8,\"ret_sum\":9,\"errors\":10,\"pipe\":11}}";
	struct dft_record r;
	struct dft_facts f;

	(void)state;
	assert_int_equal(dft_record_parse(&r, &json, line, sizeof(line) - 1), 1);
	dft_facts_take(&f, &json, &r);
	assert_true(f.has_file && f.file == 0xc721397c362c32b4);
	assert_true(f.has_other && f.other == 0x70c8aac0b3f2da76);
	assert_true(f.has_ret && f.ret == -1 && f.has_errno && f.restarted && f.is_pipe);
	assert_true(f.has_dur_ns && f.dur_ns == 5 && f.cnt == 6 && f.dur_sum == 7);
	assert_true(f.dur_max == 8 && f.ret_sum == 9 && f.errors == 10);
	assert_int_equal(dft_record_parse(&r, &json, "{\"args\":{\"restarted\":0}}", 24), 1);
	dft_facts_take(&f, &json, &r);
	assert_false(f.restarted || f.has_ret || f.has_file);
	assert_null(f.relations);
	assert_int_equal(dft_record_parse(&r, &json, "{\"args\":{\"relations\":{}}}", 25), 1);
	dft_facts_take(&f, &json, &r);
	assert_true(f.relations && f.relations->type == DFT_JSONR_OBJECT);
	assert_int_equal(dft_record_parse(&r, &json, "{}", 2), 1);
	dft_facts_take(&f, &json, &r);
	assert_false(f.has_ret);
}

static void check_counts(const char *text, uint64_t sum, size_t cap, const char *want)
{
	char buf[64] = "";

	assert_int_equal(dft_jsonr_parse(&json, text, strlen(text)), 0);
	assert_true(dft_sum_counts(&json, dft_jsonr_root(&json), buf, cap) == sum);
	assert_string_equal(buf, want);
}

static void test_counts(void **state)
{
	(void)state;
	check_counts("{}", 0, 64, "");
	check_counts("5", 5, 64, "calls 5");
	check_counts("{\"a\":1,\"b\":0,\"c\":2}", 3, 64, "a 1, c 2");
	check_counts("{\"a\":{\"b\":1,\"c\":[2,3]}}", 6, 64, "b 1, c 2, c 3");
	check_counts("{\"a\":\"9\",\"b\":-4,\"c\":1.5}", 0, 64, "");
	check_counts("{\"a\":18446744073709551615,\"b\":7}", UINT64_MAX, 8, "a 18446");
	check_counts("{\"a\":1}", 1, 0, "");
	/* there, if not one by one */
	check_counts("{\"aggregated\":9,\"read\":1}", 1, 64, "read 1");
}

static int teardown(void **state)
{
	(void)state;
	dft_jsonr_free(&json);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
