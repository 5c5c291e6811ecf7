// SPDX-License-Identifier: MIT
// CFLAGS: -O2
// LDFLAGS: -static -luring -laio
/*
 * Workloads for measuring: data that moves without a call for each piece, and memory.
 *
 *     bench_ways MODE DIR CALLS
 *
 * uring    read 4 KiB of DIR/0 by a request of io_uring, and wait for it
 * uring16  sixteen such requests at once
 * aio      read 4 KiB of DIR/0 by a request of Linux AIO, and wait for it
 * mapped   write to the next page of a file that is mapped, and was not touched before
 * fresh    write to the next page of memory that is new: no file is in it
 *
 * CALLS is the number of requests or pages. What it prints: see bench.h; `fresh` makes no events.
 */
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "bench.h"

#define BLOCK  4096
#define BLOCKS 256
#define MANY   16
#define BEFORE 1600
#define PAGES  16384 /* of memory that is taken and given back as a whole */

static char buf[MANY][BLOCK];
static int fd;
static struct io_uring ring;
static io_context_t aio;

static void fail(const char *what, int err)
{
	fprintf(stderr, "bench_ways: %s: %s\n", what, strerror(err));
	exit(1);
}

static off_t offset_of(uint64_t i)
{
	return (off_t)(i % BLOCKS) * BLOCK;
}

static void uring_turn(uint64_t i, unsigned int n)
{
	struct io_uring_cqe *cqe;
	int err;

	for (unsigned int k = 0; k < n; k++)
		io_uring_prep_read(io_uring_get_sqe(&ring), fd, buf[k], BLOCK, offset_of(i + k));
	err = io_uring_submit_and_wait(&ring, n);
	if (err != (int)n)
		fail("submit", err < 0 ? -err : EIO);
	for (unsigned int k = 0; k < n; k++) {
		err = io_uring_wait_cqe(&ring, &cqe);
		if (err || cqe->res != BLOCK)
			fail("read", err ? -err : EIO);
		io_uring_cqe_seen(&ring, cqe);
	}
}

static void turn_uring(uint64_t i)
{
	uring_turn(i, 1);
}

static void turn_uring16(uint64_t i)
{
	uring_turn(i * MANY, MANY);
}

static void turn_aio(uint64_t i)
{
	struct iocb one, *list = &one;
	struct io_event event;
	int n;

	io_prep_pread(&one, fd, buf[0], BLOCK, offset_of(i));
	n = io_submit(aio, 1, &list);
	if (n == 1)
		n = io_getevents(aio, 1, 1, &event, NULL);
	if (n != 1 || event.res != BLOCK)
		fail("aio", n < 0 ? -n : EIO);
}

/* A page that was not touched since the memory was mapped. */
static char *next_page(uint64_t i, int map_fd)
{
	static char *memory;
	size_t size = (size_t)PAGES * BLOCK;

	if (!(i % PAGES)) {
		if (memory && munmap(memory, size))
			fail("munmap", errno);
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      map_fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, map_fd, 0);
		if (memory == MAP_FAILED)
			fail("mmap", errno);
		/* So that each page is a fault of its own; not all kernels know of larger ones. */
		if (madvise(memory, size, map_fd < 0 ? MADV_NOHUGEPAGE : MADV_RANDOM) &&
		    (map_fd >= 0 || errno != EINVAL))
			fail("madvise", errno);
	}
	return memory + (i % PAGES) * BLOCK;
}

static void turn_mapped(uint64_t i)
{
	*(volatile char *)next_page(i, fd) = 1;
}

static void turn_fresh(uint64_t i)
{
	*(volatile char *)next_page(i, -1) = 1;
}

static const struct mode {
	const char *name;
	void (*turn)(uint64_t i);
	struct bench_op ops[2];
	bool grows; /* the file has to have all pages that are mapped */
} modes[] = {
	{ "uring", turn_uring, { { "read", 1 } }, false },
	{ "uring16", turn_uring16, { { "read", MANY } }, false },
	{ "aio", turn_aio, { { "pread", 1 } }, false },
	{ "mapped", turn_mapped, { { "mmap_write", 1 } }, true },
	{ "fresh", turn_fresh, { { "", 1 } }, false },
};

static const struct mode *mode_of(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	fprintf(stderr, "bench_ways: %s: no such mode\n", name);
	exit(2);
}

static void prepare(const struct mode *mode, const char *dir)
{
	char path[4096];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", dir, mode->grows ? "mapped" : "0") >= (int)sizeof(path))
		fail(dir, ENAMETOOLONG);
	fd = open(path, O_RDWR | O_CLOEXEC | (mode->grows ? O_CREAT : 0), 0600);
	if (fd < 0 || (mode->grows && ftruncate(fd, (off_t)PAGES * BLOCK)))
		fail(path, errno);
	err = io_uring_queue_init(MANY, &ring, 0);
	if (!err)
		err = io_setup(MANY, &aio);
	if (err)
		fail("ring", -err);
}

int main(int argc, char **argv)
{
	struct bench_times times = { 0 };
	const struct mode *mode;
	uint64_t turns, before;

	if (argc != 4) {
		fprintf(stderr, "usage: bench_ways uring|uring16|aio|mapped|fresh DIR CALLS\n");
		return 2;
	}
	mode = mode_of(argv[1]);
	turns = bench_count(argv[3]) / mode->ops[0].each;
	/* Memory is new each time: what was touched before would not be. */
	before = mode->turn == turn_mapped || mode->turn == turn_fresh ? PAGES : BEFORE / mode->ops[0].each;
	prepare(mode, argv[2]);
	for (uint64_t i = 0; i < before; i++)
		mode->turn(i);
	bench_gate();
	times.wall_ns = bench_now(CLOCK_MONOTONIC);
	times.cpu_ns = bench_now(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t i = 0; i < turns; i++)
		mode->turn(i);
	times.cpu_ns = bench_now(CLOCK_THREAD_CPUTIME_ID) - times.cpu_ns;
	times.wall_ns = bench_now(CLOCK_MONOTONIC) - times.wall_ns;
	return bench_report(mode->ops, turns, before, &times);
}
