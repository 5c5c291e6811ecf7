// SPDX-License-Identifier: MIT
/*
 * Writes a trace to measure the reader with: `make_trace DIR EVENTS PROCESSES FILES`, a file of the trace
 * for each process, lines and members as the tracer writes them. `make_trace --graph DIR EVENTS ENTITIES`
 * writes one of runs of programs instead, each of which makes a file from two that earlier ones made.
 * Nothing is random: the same arguments give the same trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "hash.h"

#define MEMBER (1u << 20)
#define HOST   "6882804a826580cd"

static char text[MEMBER + (1u << 16)];
static size_t len;
static FILE *out;
static uint64_t total;

static void fail(const char *what)
{
	fprintf(stderr, "make_trace: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void flush(void)
{
	static unsigned char packed[2 * sizeof(text)];
	z_stream z = { .next_in = (unsigned char *)text, .avail_in = (unsigned int)len,
		       .next_out = packed, .avail_out = sizeof(packed) };

	if (!len)
		return;
	if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&z, Z_FINISH) != Z_STREAM_END)
		fail("deflate");
	if (fwrite(packed, 1, z.total_out, out) != z.total_out)
		fail("write");
	deflateEnd(&z);
	total += len;
	len = 0;
}

static void __attribute__((format(printf, 1, 2))) line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += (size_t)vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	text[len++] = '\n';
	if (len >= MEMBER)
		flush();
}

static void name(const char *kind, int pid, const char *s, uint64_t hash)
{
	line("{\"name\":\"%s\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":4,\"args\":{"
	     "\"hhash\":\"" HOST "\",\"name\":\"%s\",\"value\":\"%016" PRIx64 "\"}}", kind, pid, pid, s, hash);
}

static void begin(const char *dir, int pid)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/p-%d.pfw.gz", dir, pid);
	out = fopen(path, "w");
	if (!out)
		fail(path);
	line("{\"name\":\"HH\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":4,\"args\":{"
	     "\"hhash\":\"" HOST "\",\"name\":\"vm\",\"value\":\"" HOST "\"}}", pid, pid);
	line("{\"name\":\"thread_name\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":4,\"args\":{"
	     "\"hhash\":\"" HOST "\",\"name\":\"%d\",\"value\":\"thread_name\"}}", pid, pid, pid);
	line("{\"name\":\"CM\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":4,\"args\":{"
	     "\"hhash\":\"" HOST "\",\"name\":\"time_metric\",\"value\":\"US\"}}", pid, pid);
	line("{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ts\":"
	     "1796037078184191,\"dur\":0,\"ph\":1,\"args\":{\"hhash\":\"" HOST "\",\"ppid\":1}}", pid, pid);
}

static void end(int pid, uint64_t id)
{
	line("{\"id\":%" PRIu64 ",\"name\":\"end\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ts\":"
	     "1796037078184191,\"dur\":0,\"ph\":1,\"args\":{\"hhash\":\"" HOST "\",\"num_events\":%" PRIu64 ","
	     "\"cfg\":{\"enable\":1,\"metadata\":1,\"mmap\":1},\"exit\":{\"code\":0}}}", id, pid, pid, id - 1);
	flush();
	if (fclose(out))
		fail("close");
}

/* Every file is used by a few processes, and each process goes from one file to the next after 16 calls. */
static void calls(const char *dir, uint64_t events, int procs, uint64_t files)
{
	char path[64];

	for (int p = 0; p < procs; p++) {
		int pid = 1000 + p;
		uint64_t n = events / (uint64_t)procs, hash = 0;
		uint64_t mine = files < (uint64_t)procs ? files : files / (uint64_t)procs * 2;

		begin(dir, pid);
		for (uint64_t i = 0; i < n; i++) {
			if (i % 16 == 0) {
				uint64_t f = ((uint64_t)p * (mine / 2) + i / 16 % mine) % files;

				snprintf(path, sizeof(path), "/data/set-%" PRIu64 "/part-%06" PRIu64,
					 f / 512, f);
				hash = dft_hash(path, strlen(path));
				if (i / 16 < mine)
					name("FH", pid, path, hash);
			}
			line("{\"id\":%" PRIu64 ",\"name\":\"%s\",\"cat\":\"POSIX\",\"type\":3,\"pid\":%d,\"tid\":%d,"
			     "\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"ph\":1,\"args\":{\"hhash\":\"" HOST "\","
			     "\"fhash\":\"%016" PRIx64 "\",\"count\":4096,\"offset\":%" PRIu64 ",\"ret\":4096}}",
			     i + 2, i % 16 < 12 ? "pread" : "pwrite", pid, pid + (int)(i / 64 % 2),
			     1796037078184191 + i * 10, i * 2654435761u % 97 / 12, hash, i % 16 * 4096);
		}
		end(pid, n + 2);
	}
}

static uint64_t entity(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull;
}

static void declare(int pid, uint64_t i)
{
	line("{\"name\":\"EH\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":4,\"args\":{\"hhash\":\""
	     HOST "\",\"id\":\"%016" PRIx64 "\",\"type\":\"file\",\"store\":2,\"uri\":\"/graph/%" PRIu64 "\"}}",
	     pid, pid, entity(i), i);
}

/* Entity i is made of i / 2 and the one before it; the events that are no runs are calls. */
static void graph(const char *dir, uint64_t events, uint64_t entities)
{
	uint64_t each = events / entities, id = 1;
	char used[64];

	begin(dir, 1000);
	line("{\"name\":\"ET\",\"cat\":\"dftracer\",\"type\":1,\"pid\":1000,\"tid\":1000,\"ph\":4,\"args\":{\"hhash\":\""
	     HOST "\",\"type\":\"file\",\"role\":0,\"description\":\"\"}}");
	declare(1000, 0);
	for (uint64_t i = 1; i < entities; i++) {
		declare(1000, i);
		for (uint64_t k = 1; k < each; k++) {
			id++;
			line("{\"id\":%" PRIu64 ",\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"pid\":1000,\"tid\":1000,"
			     "\"ts\":%" PRIu64 ",\"dur\":1,\"ph\":1,\"args\":{\"hhash\":\"" HOST "\",\"ret\":1}}",
			     id, 1796037078184191 + id);
		}
		id++;
		snprintf(used, sizeof(used), i / 2 < i - 1 ? "\"%016" PRIx64 "\",\"%016" PRIx64 "\"" :
			 "\"%016" PRIx64 "\"", entity(i / 2), entity(i - 1));
		line("{\"id\":%" PRIu64 ",\"name\":\"step\",\"cat\":\"PROGRAM\",\"type\":1,\"pid\":1000,\"tid\":1000,\"ts\":%"
		     PRIu64 ",\"dur\":5,\"ph\":1,\"args\":{\"hhash\":\"" HOST "\",\"relations\":{\"used\":[%s],"
		     "\"generated\":[\"%016" PRIx64 "\"]}}}", id, 1796037078184191 + id, used, entity(i));
	}
	end(1000, id + 1);
}

int main(int argc, char **argv)
{
	bool is_graph = argc == 5 && !strcmp(argv[1], "--graph");

	if (argc != 5) {
		fprintf(stderr, "usage: make_trace DIR EVENTS PROCESSES FILES | --graph DIR EVENTS ENTITIES\n");
		return 2;
	}
	if (mkdir(argv[is_graph + 1], 0777) < 0 && errno != EEXIST)
		fail(argv[is_graph + 1]);
	if (is_graph)
		graph(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else
		calls(argv[1], strtoull(argv[2], NULL, 10), atoi(argv[3]), strtoull(argv[4], NULL, 10));
	printf("%" PRIu64 "\n", total);
	return 0;
}
