// SPDX-License-Identifier: MIT
/*
 * How fast records become lines:
 *
 *     decode_bench EVENTS [--paths] [--lines FILE]
 *
 * Feeds EVENTS made-up calls to the decoder, as the ring would, and prints one line of JSON with the
 * time that the decoder took: {"events":N,"wall_ns":N,"bytes":N}. The calls are reads and writes of a
 * few files by a few processes, in batches; with --paths they are opens and stats of names instead.
 * The lines are dropped; --lines writes them to FILE instead, so that compression can be measured
 * with them (the time then includes the writing).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "engine.h"

#define PROCS	  4
#define FILES	  8
#define RUN	  DFT_BATCH_MAX /* calls of one thread that come together */
#define ROUND	  4096 /* calls made in advance: making them is not measured */
#define PID	  31000
#define START	  2000000000

struct batch {
	struct dft_rec_batch head;
	struct dft_gathered calls[RUN];
};

/* A call on a name, and the name before it. */
struct named {
	struct {
		struct dft_rec_text head;
		char path[64];
	} text;
	struct {
		struct dft_rec_call head;
		uint64_t flags;
	} call;
};

struct bench {
	struct dft_engine engine;
	FILE *lines;
	bool paths;
	uint64_t now_ns, bytes, wall_ns;
	uint64_t pos[PROCS];
	struct batch batches[ROUND / RUN];
	struct named named[ROUND];
};

static void die(const char *what)
{
	fprintf(stderr, "decode_bench: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct bench *b = ctx;

	(void)last;
	b->bytes += proc->lines.len;
	if (b->lines && fwrite(proc->lines.data, 1, proc->lines.len, b->lines) != proc->lines.len)
		return -errno;
	proc->lines.len = 0;
	return 0;
}

static void feed(struct bench *b, const void *data, size_t size)
{
	int err = dft_engine_record(&b->engine, data, size);

	if (err) {
		errno = -err;
		die("record");
	}
}

/* Not random to the reader of a trace, but the same in each run. */
static uint32_t next_random(void)
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* As hashes are: any bits. */
static uint64_t name_id(uint64_t file)
{
	return (file + 1) * 0xd6e8feb86659fd93ull;
}

static void send_processes(struct bench *b)
{
	for (uint32_t p = 0; p < PROCS; p++) {
		struct dft_rec_proc rec = {
			.type = DFT_REC_PROC, .pid = PID + p, .ppid = 1,
			.ts_ns = b->now_ns, .start_ns = START + p, .comm = "reader",
		};

		feed(b, &rec, sizeof(rec));
	}
}

static void send_names(struct bench *b)
{
	struct {
		struct dft_rec_name head;
		char path[64];
	} name = { .head = { .type = DFT_REC_NAME, .cls = DFT_CLASS_FILE } };

	for (uint64_t f = 0; f < FILES; f++) {
		int len = snprintf(name.path, sizeof(name.path), "/data/set/shard-%05" PRIu64 ".bin", f);

		name.head.len = (uint16_t)len;
		name.head.id = name_id(f);
		feed(b, &name, sizeof(name.head) + name.head.len);
	}
}

/* A thread reads or writes a file, mostly where it has stopped. */
static void make_batch(struct bench *b, struct batch *batch, uint32_t n, uint32_t calls)
{
	static const uint16_t numbers[] = { SYS_pread64, SYS_pwrite64, SYS_read, SYS_write };
	uint32_t p = n % PROCS, size = 4096u << n % 3;

	batch->head = (struct dft_rec_batch){
		.type = DFT_REC_BATCH, .n = (uint8_t)calls, .pid = PID + p, .tid = PID + p + n % 2,
		.start_ns = START + p,
	};
	for (uint32_t i = 0; i < calls; i++) {
		if (next_random() % 8 == 0)
			b->pos[p] = next_random() % 65536 * 4096ull;
		b->now_ns += 300 + next_random() % 4000;
		batch->calls[i] = (struct dft_gathered){
			.nr = numbers[n / PROCS % 4], .nvals = 2, .present = 3, .cls = DFT_CLASS_FILE,
			.ts_ns = b->now_ns, .dur_ns = 200 + next_random() % 3000, .ret = size,
			.name = name_id(n % FILES), .val = { size, b->pos[p] },
		};
		b->pos[p] += size;
	}
}

static void make_named(struct bench *b, struct named *named, uint32_t n)
{
	bool is_open = n % 2;
	uint32_t pid = PID + n / RUN % PROCS;

	b->now_ns += 300 + next_random() % 4000;
	named->text.head = (struct dft_rec_text){
		.type = DFT_REC_TEXT, .slot = 1, .pid = pid, .tid = pid,
		.nr = is_open ? SYS_openat : SYS_newfstatat,
	};
	named->text.head.len = (uint16_t)snprintf(named->text.path, sizeof(named->text.path),
						  "/data/set/part-%05u/sample.bin",
						  next_random() % 1000);
	named->call.head = (struct dft_rec_call){
		.type = DFT_REC_CALL, .nvals = 1, .present = 1, .nr = (uint16_t)named->text.head.nr,
		.flags = DFT_CALL_BASE | DFT_CALL_TEXT1, .ts_ns = b->now_ns,
		.dur_ns = 500 + next_random() % 9000, .pid = pid, .tid = pid, .ret = is_open ? 3 : 0,
	};
	named->call.flags = is_open ? O_CLOEXEC : 0;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		die("clock_gettime");
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void make(struct bench *b, uint32_t calls)
{
	for (uint32_t i = 0; b->paths && i < calls; i++)
		make_named(b, &b->named[i], i);
	for (uint32_t i = 0; !b->paths && i < calls; i += RUN)
		make_batch(b, &b->batches[i / RUN], i / RUN, calls - i < RUN ? calls - i : RUN);
}

static void send(struct bench *b, uint32_t calls)
{
	for (uint32_t i = 0; b->paths && i < calls; i++) {
		feed(b, &b->named[i].text, sizeof(struct dft_rec_text) + b->named[i].text.head.len);
		feed(b, &b->named[i].call, sizeof(b->named[i].call));
	}
	for (uint32_t i = 0; !b->paths && i < calls; i += RUN)
		feed(b, &b->batches[i / RUN], sizeof(struct batch));
}

static void run(struct bench *b, uint64_t events)
{
	while (events) {
		uint32_t calls = events < ROUND ? (uint32_t)events : ROUND;
		uint64_t start;

		make(b, calls);
		start = clock_ns();
		send(b, calls);
		b->wall_ns += clock_ns() - start;
		events -= calls;
	}
}

int main(int argc, char **argv)
{
	static struct dft_config cfg = { .follow = true, .args = true, .ring_sz = 1 << 24 };
	static struct bench b = { .now_ns = 1000000000000 };
	struct dft_engine_ops ops = { .ctx = &b, .output = on_output };
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	const char *lines = NULL;
	bool usage = !events;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--paths"))
			b.paths = true;
		else if (!strcmp(argv[i], "--lines") && i + 1 < argc)
			lines = argv[++i];
		else
			usage = true;
	}
	if (usage) {
		fputs("usage: decode_bench EVENTS [--paths] [--lines FILE]\n", stderr);
		return 2;
	}
	if (lines) {
		b.lines = fopen(lines, "w");
		if (!b.lines)
			die(lines);
	}
	if (dft_engine_init(&b.engine, &cfg, &ops, "node01", 1700000000000000000))
		die("dft_engine_init");
	send_processes(&b);
	send_names(&b);
	run(&b, events);
	if (dft_engine_flush(&b.engine) || (b.lines && fclose(b.lines)))
		die(lines ? lines : "flush");
	if (b.engine.events != events || b.engine.bad_records) {
		fputs("decode_bench: not every record became an event\n", stderr);
		return 2;
	}
	printf("{\"events\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
	       b.engine.events, b.wall_ns, b.bytes);
	dft_engine_free(&b.engine);
	return fflush(stdout) ? 2 : 0;
}
