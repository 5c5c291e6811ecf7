// SPDX-License-Identifier: MIT
/*
 * How fast the lines of a trace can be compressed, and how small they get, by library and level.
 *
 *     compress_bench FILE LIBRARY-LEVEL ...        for instance: compress_bench lines libdeflate-1 zlib-6
 *
 * FILE holds the lines uncompressed. It is cut into members at line ends, as the tracer does. Prints
 * for each LIBRARY-LEVEL a line {"with":...,"lines":N,"cpu_ns":N,"bytes_in":N,"bytes_out":N}. The time
 * is that of the compressor alone, on one thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libdeflate.h>
#include <zlib.h>

#define MEMBER (1 << 20)

struct totals {
	uint64_t lines, cpu_ns, bytes_in, bytes_out;
};

/* Compresses one member; returns its size, 0: it failed. */
typedef size_t compress_fn(void *with, const char *in, size_t len, void *out, size_t room);

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "compress_bench: %s: %s\n", what, why);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		fail("clock_gettime", strerror(errno));
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static size_t with_libdeflate(void *with, const char *in, size_t len, void *out, size_t room)
{
	return libdeflate_gzip_compress(with, in, len, out, room);
}

static size_t with_zlib(void *with, const char *in, size_t len, void *out, size_t room)
{
	z_stream *z = with;

	if (deflateReset(z) != Z_OK)
		return 0;
	z->next_in = (void *)in;
	z->avail_in = (uInt)len;
	z->next_out = out;
	z->avail_out = (uInt)room;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? room - z->avail_out : 0;
}

/* The whole lines in the first MEMBER bytes, or the first line if it is longer. */
static size_t member_size(const char *at, size_t left)
{
	size_t len = left < MEMBER ? left : MEMBER;
	const char *end = memrchr(at, '\n', len);

	if (!end)
		end = memchr(at, '\n', left);
	return end ? (size_t)(end - at) + 1 : left;
}

static struct totals measure(compress_fn *fn, void *with, const char *text, size_t size)
{
	struct totals t = { .bytes_in = size };
	size_t room = size + size / 8 + 4096, len, got;
	char *out = malloc(room);

	if (!out)
		fail("malloc", strerror(errno));
	memset(out, 0, room); /* page faults are not the compressor's */
	for (size_t i = 0; i < size; i++)
		t.lines += text[i] == '\n';
	t.cpu_ns = now_ns();
	for (size_t at = 0; at < size; at += len) {
		len = member_size(text + at, size - at);
		got = fn(with, text + at, len, out + t.bytes_out, room - t.bytes_out);
		if (!got)
			fail("compressing", "failed");
		t.bytes_out += got;
	}
	t.cpu_ns = now_ns() - t.cpu_ns;
	free(out);
	return t;
}

static struct totals measure_libdeflate(int level, const char *text, size_t size)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	struct totals t;

	if (!c)
		fail("libdeflate", "no such level");
	t = measure(with_libdeflate, c, text, size);
	libdeflate_free_compressor(c);
	return t;
}

static struct totals measure_zlib(int level, const char *text, size_t size)
{
	z_stream z = { 0 };
	struct totals t;

	if (deflateInit2(&z, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		fail("zlib", "no such level");
	t = measure(with_zlib, &z, text, size);
	deflateEnd(&z);
	return t;
}

static char *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *text;
	long len;

	if (!f || fseek(f, 0, SEEK_END) || (len = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		fail(path, strerror(errno));
	*size = (size_t)len;
	text = malloc(*size + 1);
	if (!text || fread(text, 1, *size, f) != *size)
		fail(path, "cannot be read");
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	struct totals t;
	size_t size;
	char *text;

	if (argc < 3) {
		fprintf(stderr, "usage: compress_bench FILE libdeflate-LEVEL|zlib-LEVEL ...\n");
		return 2;
	}
	text = slurp(argv[1], &size);
	for (char **with = argv + 2; *with; with++) {
		if (!strncmp(*with, "libdeflate-", 11))
			t = measure_libdeflate(atoi(*with + 11), text, size);
		else if (!strncmp(*with, "zlib-", 5))
			t = measure_zlib(atoi(*with + 5), text, size);
		else
			fail(*with, "neither libdeflate-LEVEL nor zlib-LEVEL");
		printf("{\"with\":\"%s\",\"lines\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
		       ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64 "}\n",
		       *with, t.lines, t.cpu_ns, t.bytes_in, t.bytes_out);
	}
	free(text);
	return 0;
}
