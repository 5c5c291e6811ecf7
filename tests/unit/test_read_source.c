// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "source.h"

struct file {
	unsigned char b[1 << 20];
	size_t n;
};

struct seen {
	char lines[1 << 16]; /* joined by '|' */
	size_t n;
	uint64_t faults;
	uint64_t member, byte, line; /* of the first fault */
	char what[256];
	struct dft_source_stat st;
	int rc;
};

static struct file file;
static struct seen seen, without; /* the second: without a thread that decompresses */

static void add(const void *p, size_t n)
{
	assert_true(file.n + n <= sizeof(file.b));
	memcpy(file.b + file.n, p, n);
	file.n += n;
}

static void add_member(const char *text, size_t n, int level)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (uInt)n;
	z.next_out = file.b + file.n;
	z.avail_out = (uInt)(sizeof(file.b) - file.n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	file.n += z.total_out;
	deflateEnd(&z);
}

static void add_text(const char *text)
{
	add_member(text, strlen(text), 6);
}

static void on_fault(void *ctx, const struct dft_fault *f)
{
	struct seen *s = ctx;

	if (!s->faults++) {
		s->member = f->member;
		s->byte = f->byte;
		s->line = f->line;
		snprintf(s->what, sizeof(s->what), "%s", f->what);
	}
}

static void read_fd(struct dft_source *src, int fd, const char *name)
{
	struct dft_line line;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(dft_source_open_fd(src, fd, name, on_fault, &seen), 0);
	while ((seen.rc = dft_source_next(src, &line)) == 1) {
		size_t n = line.n < 64 ? line.n : 64;

		assert_true(seen.n + n + 2 < sizeof(seen.lines));
		memcpy(seen.lines + seen.n, line.s, n);
		seen.n += n;
		seen.lines[seen.n++] = '|';
	}
	seen.lines[seen.n] = '\0';
	dft_source_stat(src, &seen.st);
}

/* What the last two readings saw is the same, but for how far decompression was at the last line. */
static void assert_same(void)
{
	assert_string_equal(seen.lines, without.lines);
	assert_string_equal(seen.what, without.what);
	assert_int_equal(seen.rc, without.rc);
	assert_int_equal(seen.faults, without.faults);
	assert_int_equal(seen.member, without.member);
	assert_int_equal(seen.byte, without.byte);
	assert_int_equal(seen.line, without.line);
	assert_int_equal(seen.st.members, without.st.members);
	assert_int_equal(seen.st.bytes_in, without.st.bytes_in);
	assert_int_equal(seen.st.bytes_out, without.st.bytes_out);
	assert_int_equal(seen.st.lines, without.st.lines);
	assert_int_equal(seen.st.plain, without.st.plain);
	assert_int_equal(seen.st.cut, without.st.cut);
	assert_int_equal(seen.st.damaged, without.st.damaged);
}

static int memfd(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.b, file.n), (ssize_t)file.n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* A pipe cannot go back. */
static int pipefd(void)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_true(file.n <= 65536);
	assert_int_equal(write(p[1], file.b, file.n), (ssize_t)file.n);
	close(p[1]);
	return p[0];
}

/* Without a thread, with one from the start, and with one from somewhere on. */
static void read_ways(struct dft_source *src, int (*open_fd)(void), const char *name)
{
	static const uint64_t from[] = { UINT64_MAX, 0, 1, 100000 };

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		dft_source_ahead(src, from[i]);
		read_fd(src, open_fd(), name);
		if (i)
			assert_same();
		else
			without = seen;
	}
}

static void read_file(struct dft_source *src, const char *name)
{
	read_ways(src, memfd, name);
}

static void read_pipe(struct dft_source *src, const char *name)
{
	read_ways(src, pipefd, name);
}

static int setup(void **state)
{
	file.n = 0;
	*state = dft_source_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	dft_source_free(*state);
	return 0;
}

static void test_good(void **state)
{
	add_text("a\nbb\n");
	add_text("");
	add_text("ccc\n\nd\n");
	for (int i = 0; i < 2; i++) {
		i ? read_pipe(*state, "x.gz") : read_file(*state, "x.gz");
		assert_string_equal(seen.lines, "a|bb|ccc||d|");
		assert_int_equal(seen.rc, 0);
		assert_int_equal(seen.faults, 0);
		assert_int_equal(seen.st.members, 3);
		assert_int_equal(seen.st.lines, 5);
		assert_int_equal(seen.st.bytes_in, file.n);
		assert_int_equal(seen.st.bytes_out, 12);
		assert_false(seen.st.plain || seen.st.cut || seen.st.damaged);
	}
}

static void test_plain(void **state)
{
	add("a\nb\n", 4);
	read_file(*state, "x.pfw");
	assert_string_equal(seen.lines, "a|b|");
	assert_true(seen.st.plain && !seen.st.cut && !seen.faults);
	add("c", 1);
	read_file(*state, "x.pfw");
	assert_string_equal(seen.lines, "a|b|c|");
	assert_true(seen.st.cut);
	assert_int_equal(seen.line, 3);
	file.n = 0;
	add("[\nb\n]", 5);
	read_file(*state, "x.pfw");
	assert_true(!seen.st.cut && !seen.faults);
	file.n = 0;
	read_file(*state, "x.pfw");
	assert_true(seen.rc == 0 && !seen.n && !seen.faults);
}

static void test_cut_everywhere(void **state)
{
	size_t whole, second, n;

	add_text("a\nbb\n");
	second = file.n;
	add_text("ccc\ndddd\n");
	whole = file.n;
	for (n = 1; n < whole; n++) {
		file.n = n;
		read_file(*state, "x.gz");
		assert_int_equal(seen.st.cut, n != second);
		assert_false(seen.st.damaged);
		assert_int_equal(seen.faults, n != second);
		if (n >= second)
			assert_memory_equal(seen.lines, "a|bb|", 5);
		if (n > second) {
			assert_int_equal(seen.member, 2);
			assert_int_equal(seen.byte, second);
		}
	}
}

static void test_bad_member(void **state)
{
	size_t second, third;

	add_text("a\n");
	second = file.n;
	add_text("some text that is long enough to be hurt, and some more of it\n");
	third = file.n;
	add_text("c\n");
	for (size_t at = second; at < third; at++) {
		/* zlib does not look at time, extra flags and system. */
		if (at >= second + 4 && at < second + 10)
			continue;
		file.b[at] ^= 0x55;
		for (int i = 0; i < 2; i++) {
			i ? read_pipe(*state, "x.gz") : read_file(*state, "x.gz");
			assert_true(seen.st.damaged);
			assert_true(seen.faults > 0);
			assert_memory_equal(seen.lines, "a|", 2);
			assert_memory_equal(seen.lines + seen.n - 2, "c|", 2);
			assert_int_equal(seen.member ? seen.byte : second, second);
		}
		file.b[at] ^= 0x55;
	}
}

static void test_junk(void **state)
{
	static const unsigned char zeros[600000];
	size_t end;

	add_text("a\n");
	end = file.n;
	add(zeros, sizeof(zeros));
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "a|");
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.byte, end);
	assert_non_null(strstr(seen.what, "600000 zero bytes"));
	add_text("b\n");
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "a|b|");
	assert_int_equal(seen.faults, 1);
	/* A start that is no header. */
	file.n = 0;
	add("nonsense", 8);
	add_text("b\n");
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "b|");
	assert_int_equal(seen.faults, 1);
	assert_true(seen.st.damaged);
}

static void test_line_over_members(void **state)
{
	add_text("a\nb");
	add_text("c\n");
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "a|bc|");
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.member, 1);
	assert_false(seen.st.damaged);
	file.n = 0;
	add_text("[\na\n]");
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "[|a|]|");
	assert_int_equal(seen.faults, 0);
}

static void test_long_line(void **state)
{
	size_t n = 5u << 20;
	char *text = malloc(n + 3);

	assert_non_null(text);
	memset(text, 'x', n);
	memcpy(text + n, "\na\n", 3);
	add_member(text, n + 3, 1);
	read_file(*state, "x.gz");
	assert_int_equal(seen.st.lines, 2);
	assert_int_equal(seen.faults, 0);
	assert_memory_equal(seen.lines + seen.n - 3, "|a|", 3);
	free(text);
}

/* Lines of any length, shorter and longer than what goes from one piece to the next. */
static void test_lines_over_pieces(void **state)
{
	char *text = malloc(3u << 20);
	uint64_t lines = 0;
	unsigned int seed = 1;
	size_t n = 0;

	assert_non_null(text);
	for (unsigned int m = 0; m < 6; m++, n = 0) {
		while (n < 2u << 20) {
			size_t len = (seed = seed * 1103515245 + 12345) % 17 ? seed >> 8 & 0x3ff :
								     seed >> 8 & 0x7ffff;

			memset(text + n, 'a' + (int)(lines++ % 26), len);
			n += len;
			text[n++] = '\n';
		}
		/* Every other member ends within a line. */
		add_member(text, n - m % 2, 1);
	}
	read_file(*state, "x.gz");
	assert_true(lines > 300);
	assert_int_equal(seen.st.lines, lines - 2);
	assert_int_equal(seen.faults, 3);
	assert_false(seen.st.damaged);
	free(text);
}

/* Of a pipe that has no more bytes yet, and of a file of which much is left. */
static void test_stopped_early(void **state)
{
	struct dft_line line;
	int p[2];

	dft_source_ahead(*state, 0);
	for (int i = 0; i < 200; i++)
		add_text("a line\nanother\n");
	assert_int_equal(pipe(p), 0);
	assert_true(file.n <= 65536);
	assert_int_equal(write(p[1], file.b, file.n), (ssize_t)file.n);
	assert_int_equal(dft_source_open_fd(*state, p[0], "x.gz", on_fault, &seen), 0);
	assert_int_equal(dft_source_next(*state, &line), 1);
	assert_memory_equal(line.s, "a line", line.n);
	/* All that has come is there, although the end has not. */
	for (int i = 1; i < 400; i++)
		assert_int_equal(dft_source_next(*state, &line), 1);
	assert_int_equal(dft_source_open_fd(*state, memfd(), "x.gz", on_fault, &seen), 0);
	assert_int_equal(dft_source_next(*state, &line), 1);
	close(p[1]);
}

/* The thread's error is the reader's. */
static void test_error_ahead(void **state)
{
	struct dft_line line;

	dft_source_ahead(*state, 0);
	assert_int_equal(dft_source_open(*state, "/", on_fault, &seen), 0);
	assert_int_equal(dft_source_next(*state, &line), -EISDIR);
}

static void test_too_long_line(void **state)
{
	static char block[1 << 20];
	z_stream z = { 0 };

	memset(block, 'x', sizeof(block));
	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = file.b;
	z.avail_out = sizeof(file.b);
	for (int i = 0; i < 150; i++) {
		z.next_in = (unsigned char *)block;
		z.avail_in = sizeof(block);
		assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
	}
	z.next_in = (unsigned char *)(uintptr_t)"\nb\n";
	z.avail_in = 3;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	file.n = z.total_out;
	deflateEnd(&z);
	read_file(*state, "x.gz");
	assert_string_equal(seen.lines, "b|");
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.line, 1);
	assert_true(seen.st.damaged);
}

/* Many headers in a row, each of a member that fails late: reading must not become quadratic. */
static void test_fake_headers(void **state)
{
	static const unsigned char fake[] = { 0x1f, 0x8b, 8, 0, 0,    0,    0, 0,
					      0,    3,	  0, 0xff, 0xff, 0, 0 };

	while (file.n + sizeof(fake) <= sizeof(file.b))
		add(fake, sizeof(fake));
	read_file(*state, "x.gz");
	assert_int_equal(seen.rc, 0);
	assert_true(seen.faults > 0);
	assert_true(seen.st.bytes_out < 400u << 20);
}

static void test_unreadable(void **state)
{
	struct dft_line line;

	assert_int_equal(dft_source_open(*state, "/nonexistent/x", on_fault, &seen), -ENOENT);
	assert_int_equal(dft_source_open(*state, "/", on_fault, &seen), 0);
	assert_int_equal(dft_source_next(*state, &line), -EISDIR);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_good),
		T(test_plain),
		T(test_cut_everywhere),
		T(test_bad_member),
		T(test_junk),
		T(test_line_over_members),
		T(test_long_line),
		T(test_lines_over_pieces),
		T(test_stopped_early),
		T(test_error_ahead),
		T(test_too_long_line),
		T(test_fake_headers),
		T(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
