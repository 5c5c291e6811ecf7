/* SPDX-License-Identifier: MIT */
/*
 * Requests of io_uring in ways that programs seldom use, each told as the event that it must become.
 *
 *   uring_odd WHAT DIR
 */
// LDFLAGS: -luring
#include <liburing.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "say.h"

#define DEPTH 64
#define VIA   RET, TEXT("via", "io_uring")

#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif

static const char *dir;

static char *in_dir(const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

static struct io_uring_sqe *next(struct io_uring *ring, unsigned int id)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		abort();
	sqe->user_data = id;
	return sqe;
}

#define PREP(kind, ring, id, flags_, ...) \
	do { \
		struct io_uring_sqe *sqe_ = next(ring, id); \
		io_uring_prep_##kind(sqe_, __VA_ARGS__); \
		sqe_->user_data = (id); \
		sqe_->flags |= (flags_); \
	} while (0)

static void reap(struct io_uring *ring, unsigned int n, int *res)
{
	struct io_uring_cqe *cqe;

	for (unsigned int i = 0; i < n; i++) {
		int err;

		do
			err = io_uring_wait_cqe(ring, &cqe);
		while (err == -EINTR);
		ok(err);
		res[cqe->user_data % DEPTH] = cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
}

static void go(struct io_uring *ring, unsigned int n, int *res)
{
	ok(io_uring_submit(ring));
	reap(ring, n, res);
}

static int open_file(const char *path)
{
	static const char zeros[20000];
	int fd = (int)ok(open(path, O_RDWR | O_CREAT, 0600));

	if (ok(pwrite(fd, zeros, 6000, 0)) != 6000)
		abort();
	return fd;
}

static void init(struct io_uring *ring, struct io_uring_params p)
{
	ok(io_uring_queue_init_params(DEPTH, ring, &p));
}
#define INIT(ring, ...) init(ring, (struct io_uring_params){ __VA_ARGS__ })

/* One polling thread for several rings, of two threads. */
static void *poll_user(void *ctx)
{
	struct io_uring *ring = ctx;
	char *path = in_dir("polled"), bytes[100];
	int fd = open_file(path), res[DEPTH];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 16; i++)
			PREP(read, ring, i, 0, fd, bytes, 10 + i, round);
		go(ring, 16, res);
		for (int i = 0; i < 16; i++)
			ev("read", ok(res[i]), F(path), D("count", 10 + i), D("offset", round), VIA);
	}
	return NULL;
}

static void shared_poller(void)
{
	static struct io_uring rings[3];
	pthread_t threads[3];

	INIT(&rings[0], .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 20);
	for (int i = 1; i < 3; i++)
		INIT(&rings[i], .flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ,
		     .sq_thread_idle = 20, .wq_fd = rings[0].ring_fd);
	for (int i = 0; i < 3; i++)
		ok(-pthread_create(&threads[i], NULL, poll_user, &rings[i]));
	for (int i = 0; i < 3; i++)
		ok(-pthread_join(threads[i], NULL));
}

/* More ends than the queue has room for, by worker threads, or kept until somebody waits. */
static void overflowing(unsigned int setup, unsigned int flags)
{
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path), res[DEPTH];
	struct io_uring ring;

	INIT(&ring, .flags = IORING_SETUP_CQSIZE | setup, .cq_entries = DEPTH);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < DEPTH; i++)
			PREP(read, &ring, i, flags, fd, bytes, 10 + i, round);
		ok(io_uring_submit(&ring));
	}
	/* Worker threads: until the queue is full and there is one that found it so. */
	while (flags && !(setup & IORING_SETUP_DEFER_TASKRUN) &&
	       !(*(volatile unsigned int *)ring.sq.kflags & IORING_SQ_CQ_OVERFLOW))
		;
	reap(&ring, 4 * DEPTH, res);
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < DEPTH; i++)
			ev("read", ok(res[i]), F(path), D("count", 10 + i), D("offset", round), VIA);
	io_uring_queue_exit(&ring);
}

/* In a chain: another file under the descriptor by the time it is used. */
static void replaced(unsigned int setup, unsigned int flags)
{
	char *a = in_dir("first"), *b = in_dir("second"), bytes[100];
	struct io_uring ring;
	int res[DEPTH];

	INIT(&ring, .flags = setup, .sq_thread_idle = 20);
	for (int round = 0; round < 50; round++) {
		int fd = open_file(a), fd2;

		ok(close(open_file(b)));
		PREP(read, &ring, 0, flags | IOSQE_IO_LINK, fd, bytes, 10, 1);
		PREP(close, &ring, 1, flags | IOSQE_IO_LINK, fd);
		PREP(openat, &ring, 2, flags | IOSQE_IO_LINK, AT_FDCWD, b, O_RDONLY, 0);
		PREP(read, &ring, 3, flags, fd, bytes, 20, 2);
		go(&ring, 4, res);
		ev("read", ok(res[0]), F(a), D("count", 10), D("offset", 1), VIA);
		ev("close", ok(res[1]), F(a), VIA);
		fd2 = ok(res[2]);
		ev("open", fd2, F(b), D("flags", O_RDONLY), VIA);
		if (fd2 == fd)
			ev("read", ok(res[3]), F(b), D("count", 20), D("offset", 2), VIA);
		else
			abort();
		ok(close(fd2));
	}
	io_uring_queue_exit(&ring);
}

/* All at once and no chain: by the time the first one's end is told, another file is in its place. */
static void reused(unsigned int setup)
{
	char *a = in_dir("first"), *b = in_dir("second"), bytes[100];
	int files[2] = { -1, -1 }, res[DEPTH];
	struct io_uring ring;

	ok(close(open_file(a)));
	ok(close(open_file(b)));
	INIT(&ring, .flags = setup);
	ok(io_uring_register_files(&ring, files, 2));
	for (int round = 0; round < 20; round++) {
		bool direct = round & 1;
		int fd = direct ? 1 : (int)ok(dup(0)); /* the next one that is free */

		if (!direct) {
			ok(close(fd));
			PREP(openat, &ring, 0, 0, AT_FDCWD, a, O_RDONLY, 0);
			PREP(read, &ring, 1, 0, fd, bytes, 10, 1);
			PREP(close, &ring, 2, 0, fd);
			PREP(openat, &ring, 3, 0, AT_FDCWD, b, O_RDONLY, 0);
			PREP(read, &ring, 4, 0, fd, bytes, 10, 2);
		} else {
			PREP(openat_direct, &ring, 0, 0, AT_FDCWD, a, O_RDONLY, 0, fd);
			PREP(read, &ring, 1, IOSQE_FIXED_FILE, fd, bytes, 10, 1);
			PREP(close_direct, &ring, 2, 0, fd);
			PREP(openat_direct, &ring, 3, 0, AT_FDCWD, b, O_RDONLY, 0, fd);
			PREP(read, &ring, 4, IOSQE_FIXED_FILE, fd, bytes, 10, 2);
		}
		go(&ring, 5, res);
		for (int i = 0; i < 5; i++)
			ok(res[i]);
		if (direct) {
			ev("open", res[0], F(a), D("flags", O_RDONLY), D("slot", fd), VIA);
			ev("read", res[1], F(a), D("count", 10), D("offset", 1), VIA);
			ev("close", res[2], F(a), D("slot", fd), VIA);
			ev("open", res[3], F(b), D("flags", O_RDONLY), D("slot", fd), VIA);
			ev("read", res[4], F(b), D("count", 10), D("offset", 2), VIA);
			PREP(close_direct, &ring, 0, 0, fd);
			go(&ring, 1, res);
			ev("close", ok(res[0]), F(b), D("slot", fd), VIA);
		} else {
			ev("open", res[0], F(a), D("flags", O_RDONLY), VIA);
			ev("read", res[1], F(a), D("count", 10), D("offset", 1), VIA);
			ev("close", res[2], F(a), VIA);
			ev("open", res[3], F(b), D("flags", O_RDONLY), VIA);
			ev("read", res[4], F(b), D("count", 10), D("offset", 2), VIA);
			ok(close(fd));
		}
	}
	io_uring_queue_exit(&ring);
}

static void drained(void)
{
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path), res[DEPTH];
	struct io_uring ring;

	INIT(&ring, .flags = 0);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 30; i++)
			PREP(read, &ring, i, i % 3 == 2 ? IOSQE_IO_DRAIN : i % 3 ? IOSQE_ASYNC : 0, fd, bytes,
			     10 + i, round);
		go(&ring, 30, res);
		for (int i = 0; i < 30; i++)
			ev("read", ok(res[i]), F(path), D("count", 10 + i), D("offset", round), VIA);
	}
	io_uring_queue_exit(&ring);
}

/* Timeouts of what waits, cancelling by descriptor, and what is refused in a chain. */
static void stopped(void)
{
	int fifo = (int)ok(open(in_dir("fifo"), O_RDWR)), res[DEPTH];
	char *path = in_dir("file"), bytes[100];
	struct __kernel_timespec moment = { .tv_nsec = 1000000 };
	int fd = open_file(path);
	struct io_uring ring;

	INIT(&ring, .flags = 0);
	for (int round = 0; round < 8; round++) {
		unsigned int flags = round & 1 ? IOSQE_ASYNC : 0;

		PREP(read, &ring, 0, IOSQE_IO_LINK | flags, fifo, bytes, 100, -1);
		PREP(link_timeout, &ring, 1, 0, &moment, 0);
		PREP(read, &ring, 2, IOSQE_IO_LINK, fd, bytes, 40, 7);
		PREP(link_timeout, &ring, 3, IOSQE_IO_LINK, &moment, 0);
		PREP(read, &ring, 4, 0, fd, bytes, 41, 7);
		go(&ring, 5, res);
		evc("pipe", "read", res[0], F(in_dir("fifo")), D("count", 100), VIA);
		ev("read", ok(res[2]), F(path), D("count", 40), D("offset", 7), VIA);
		ev("read", ok(res[4]), F(path), D("count", 41), D("offset", 7), VIA);

		for (int i = 0; i < 5; i++)
			PREP(read, &ring, i, 0, fifo, bytes, 30 + i, -1);
		ok(io_uring_submit(&ring));
		PREP(cancel_fd, &ring, 5, 0, fifo, IORING_ASYNC_CANCEL_ALL);
		go(&ring, 6, res);
		for (int i = 0; i < 5; i++)
			evc("pipe", "read", res[i], F(in_dir("fifo")), D("count", 30 + i), VIA);

		/* The second of the chain is refused: none is begun with. */
		PREP(read, &ring, 0, IOSQE_IO_LINK | flags, fd, bytes, 20, 8);
		PREP(fsync, &ring, 1, IOSQE_IO_LINK | flags, fd, 128);
		PREP(read, &ring, 2, flags, fd, bytes, 21, 8);
		go(&ring, 3, res);
		ev("read", bad(res[0], ECANCELED), F(path), D("count", 20), D("offset", 8), VIA);
		ev("fsync", bad(res[1], EINVAL), F(path), VIA);
		ev("read", bad(res[2], ECANCELED), F(path), D("count", 21), D("offset", 8), VIA);
	}
	io_uring_queue_exit(&ring);
}

/* Registered files that change while requests on them wait. */
static void updated(void)
{
	char *a = in_dir("first"), *b = in_dir("second"), *name = in_dir("fifo"), bytes[100];
	int fa = open_file(a), fb = open_file(b), res[DEPTH];
	int fifo = (int)ok(open(name, O_RDWR)), files[4] = { fifo, fa, -1, -1 };
	struct io_uring ring;

	INIT(&ring, .flags = 0);
	ok(io_uring_register_files(&ring, files, 4));
	for (int round = 0; round < 20; round++) {
		unsigned int link = IOSQE_FIXED_FILE | IOSQE_IO_LINK;

		PREP(read, &ring, 0, link, 0, bytes, 5, -1);
		PREP(read, &ring, 1, link, 1, bytes, 10, 1);
		PREP(write, &ring, 2, IOSQE_FIXED_FILE, 2, bytes, 11, 1);
		ok(io_uring_submit(&ring));
		files[0] = -1;
		files[1] = fb;
		files[2] = fa;
		ok(io_uring_register_files_update(&ring, 0, files, 4));
		if (ok(write(fifo, "12345", 5)) != 5)
			abort();
		reap(&ring, 3, res);
		evc("pipe", "read", ok(res[0]), F(name), D("count", 5), VIA);
		ev("read", ok(res[1]), F(b), D("count", 10), D("offset", 1), VIA);
		ev("write", ok(res[2]), F(a), D("count", 11), D("offset", 1), VIA);
		files[0] = fifo;
		files[1] = fa;
		files[2] = -1;
		PREP(files_update, &ring, 0, 0, files, 4, 0);
		PREP(read, &ring, 1, IOSQE_FIXED_FILE, 7, bytes, 10, 1);
		go(&ring, 2, res);
		ev("read", bad(res[1], EBADF), D("count", 10), D("offset", 1), VIA);
	}
	io_uring_queue_exit(&ring);
}

/* A ring that a child inherits: what it submits is its own, whoever takes the end. */
static void inherited(void)
{
	char *path = in_dir("file"), *other = in_dir("second"), bytes[100];
	int fd = open_file(path), fo = open_file(other), res[DEPTH], status;
	struct io_uring ring;
	pid_t child;

	INIT(&ring, .flags = 0);
	PREP(read, &ring, 0, 0, fd, bytes, 50, 1);
	go(&ring, 1, res);
	ev("read", ok(res[0]), F(path), D("count", 50), D("offset", 1), VIA);
	child = (pid_t)ok(fork());
	if (!child) {
		ok(dup2(fo, fd));
		for (int i = 0; i < 20; i++) {
			PREP(read, &ring, i, 0, fd, bytes, 20 + i, 1);
			go(&ring, 1, res);
			ev("read", ok(res[i]), F(other), D("count", 20 + i), D("offset", 1), VIA);
		}
		PREP(read, &ring, 0, 0, (int)ok(open(in_dir("fifo"), O_RDWR)), bytes, 20, -1);
		ok(io_uring_submit(&ring));
		evc("pipe", "read", -ECANCELED, F(in_dir("fifo")), D("count", 20), VIA);
		_exit(0);
	}
	ok(waitpid(child, &status, 0));
	if (status)
		_exit(97);
	io_uring_queue_exit(&ring);
}

/* exec ends what waits. */
static void exec_over(char **argv)
{
	int fifo = (int)ok(open(in_dir("fifo"), O_RDWR));
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path), res[DEPTH];
	struct io_uring ring;

	INIT(&ring, .flags = 0);
	PREP(read, &ring, 0, 0, fd, bytes, 50, 1);
	go(&ring, 1, res);
	ev("read", ok(res[0]), F(path), D("count", 50), D("offset", 1), VIA);
	for (int i = 0; i < 6; i++)
		PREP(read, &ring, i, i & 1 ? IOSQE_ASYNC : 0, fifo, bytes, 30 + i, -1);
	ok(io_uring_submit(&ring));
	for (int i = 0; i < 6; i++)
		evc("pipe", "read", -ECANCELED, F(in_dir("fifo")), D("count", 30 + i), VIA);
	argv[1] = "nothing";
	execv("/proc/self/exe", argv);
	abort();
}

/* Several threads, one ring. */
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static struct io_uring one_ring;

static void *one_ring_user(void *ctx)
{
	char *path = in_dir(ctx), bytes[100];
	int fd = open_file(path), res[DEPTH];

	for (int round = 0; round < 100; round++) {
		pthread_mutex_lock(&ring_lock);
		for (int i = 0; i < 8; i++)
			PREP(read, &one_ring, i, i == 7 ? IOSQE_ASYNC : 0, fd, bytes, 10 + i, round);
		go(&one_ring, 8, res);
		pthread_mutex_unlock(&ring_lock);
		for (int i = 0; i < 8; i++)
			ev("read", ok(res[i]), F(path), D("count", 10 + i), D("offset", round), VIA);
	}
	return NULL;
}

static void one_for_all(void)
{
	static char *names[] = { "one", "two", "three" };
	pthread_t threads[3];

	INIT(&one_ring, .flags = IORING_SETUP_R_DISABLED);
	ok(syscall(SYS_io_uring_register, one_ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	for (int i = 0; i < 3; i++)
		ok(-pthread_create(&threads[i], NULL, one_ring_user, names[i]));
	for (int i = 0; i < 3; i++)
		ok(-pthread_join(threads[i], NULL));
}

/* Appending, at the position, with flags, vectors, and with buffers that the kernel chooses. */
static void positions(void)
{
	char *path = in_dir("log"), bytes[100] = "";
	int fd = (int)ok(open(path, O_RDWR | O_CREAT | O_APPEND, 0600)), res[DEPTH];
	static char pool[4][64];
	struct io_uring ring;

	INIT(&ring, .flags = 0);
	for (int i = 0; i < 10; i++) {
		PREP(write, &ring, 0, i & 1 ? IOSQE_ASYNC : 0, fd, bytes, 10, -1);
		go(&ring, 1, res);
		ev("write", ok(res[0]), F(path), D("count", 10), D("offset", 10 * i), VIA);
	}
	/* All in one go: at the end of each the position is that of the last one. */
	for (int i = 0; i < 8; i++)
		PREP(write, &ring, i, 0, fd, bytes, 20 + i, -1);
	go(&ring, 8, res);
	for (int i = 0, at = 100; i < 8; at += res[i++])
		ev("write", ok(res[i]), F(path), D("count", 20 + i), D("offset", at), VIA);
	ok(lseek(fd, 50, SEEK_SET));
	for (int i = 0; i < 8; i++)
		PREP(read, &ring, i, i < 7 ? IOSQE_IO_LINK : 0, fd, bytes, 9, -1);
	go(&ring, 8, res);
	for (int i = 0; i < 8; i++)
		ev("read", ok(res[i]), F(path), D("count", 9), D("offset", 50 + 9 * i), VIA);
	ok(lseek(fd, 0, SEEK_SET));
	PREP(provide_buffers, &ring, 0, 0, pool, 64, 4, 3, 0);
	go(&ring, 1, res);
	PREP(read, &ring, 0, IOSQE_BUFFER_SELECT, fd, NULL, 30, -1);
	ring.sq.sqes[(ring.sq.sqe_tail - 1) & *ring.sq.kring_mask].buf_group = 3;
	go(&ring, 1, res);
	ev("read", ok(res[0]), F(path), D("count", 30), D("offset", 0), VIA);
	io_uring_queue_exit(&ring);
}

/* Without the library: entries and ends of double size, no array of entries. */
struct bare {
	int fd;
	unsigned int setup, wide, cwide;
	unsigned int *tail, *array, *chead, *ctail;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *bare_map(const struct bare *b, size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, what);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static void bare_init(struct bare *b, unsigned int setup)
{
	struct io_uring_params p = { .flags = setup };
	char *rings;

	b->setup = setup;
	b->wide = setup & IORING_SETUP_SQE128 ? 2 : 1;
	b->cwide = setup & IORING_SETUP_CQE32 ? 2 : 1;
	b->fd = (int)ok(syscall(SYS_io_uring_setup, 8, &p));
	rings = bare_map(b, p.cq_off.cqes + 16 * b->cwide * sizeof(*b->cqes), IORING_OFF_SQ_RING);
	b->sqes = bare_map(b, 8 * b->wide * sizeof(*b->sqes), IORING_OFF_SQES);
	b->tail = (void *)(rings + p.sq_off.tail);
	b->array = (void *)(rings + p.sq_off.array);
	b->chead = (void *)(rings + p.cq_off.head);
	b->ctail = (void *)(rings + p.cq_off.tail);
	b->cqes = (void *)(rings + p.cq_off.cqes);
}

/* The next entry; with an array, from behind. `wrong`: the array names none, so that the kernel drops it. */
static struct io_uring_sqe *bare_next(struct bare *b, bool wrong)
{
	unsigned int at = *b->tail & 7, where = at;

	if (!(b->setup & IORING_SETUP_NO_SQARRAY)) {
		where = 7 - at;
		b->array[at] = wrong ? 1000 : where;
	}
	memset(&b->sqes[where * b->wide], 0, sizeof(*b->sqes));
	return &b->sqes[where * b->wide];
}

static void bare(unsigned int setup)
{
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path);
	struct bare b;

	bare_init(&b, setup);
	for (unsigned int round = 0; round < 20; round++) {
		unsigned int n = 1 + round % 7, done = 0;
		bool wrong = round % 5 == 4 && !(setup & IORING_SETUP_NO_SQARRAY);

		for (unsigned int i = 0; i < n; i++) {
			struct io_uring_sqe *sqe = bare_next(&b, wrong && i == n - 1);

			io_uring_prep_read(sqe, fd, bytes, 10 + i + round, i);
			sqe->user_data = i;
			__atomic_store_n(b.tail, *b.tail + 1, __ATOMIC_RELEASE);
		}
		syscall(SYS_io_uring_enter, b.fd, n, n - wrong, IORING_ENTER_GETEVENTS, NULL, 0);
		for (; __atomic_load_n(b.ctail, __ATOMIC_ACQUIRE) != *b.chead; done++) {
			struct io_uring_cqe *c = &b.cqes[(*b.chead & 15) * b.cwide];

			ev("read", ok(c->res), F(path), D("count", 10 + c->user_data + round),
			   D("offset", c->user_data), VIA);
			__atomic_store_n(b.chead, *b.chead + 1, __ATOMIC_RELEASE);
		}
		if (done != n - wrong)
			abort();
	}
}

/* Polling for the end. */
static void polled_ends(void)
{
	char *path = in_dir("file");
	int fd, res[DEPTH];
	char *bytes = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct io_uring ring;

	ok(close(open_file(path)));
	fd = (int)ok(open(path, O_RDWR | O_DIRECT));
	INIT(&ring, .flags = IORING_SETUP_IOPOLL);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 8; i++)
			PREP(read, &ring, i, i & 1 ? IOSQE_ASYNC : 0, fd, bytes, 512, 512 * i);
		go(&ring, 8, res);
		for (int i = 0; i < 8; i++)
			ev("read", res[i], F(path), D("count", 512), D("offset", 512 * i), VIA);
	}
	io_uring_queue_exit(&ring);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	const unsigned int one = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;

	dir = argc == 3 ? argv[2] : NULL;
	if (!strcmp(what, "shared-poller"))
		shared_poller();
	else if (!strcmp(what, "overflowing"))
		overflowing(0, 0);
	else if (!strcmp(what, "overflowing-async"))
		overflowing(0, IOSQE_ASYNC);
	else if (!strcmp(what, "overflowing-deferred"))
		overflowing(one, 0);
	else if (!strcmp(what, "overflowing-deferred-async"))
		overflowing(one, IOSQE_ASYNC);
	else if (!strcmp(what, "replaced"))
		replaced(0, 0);
	else if (!strcmp(what, "replaced-async"))
		replaced(0, IOSQE_ASYNC);
	else if (!strcmp(what, "replaced-sqpoll"))
		replaced(IORING_SETUP_SQPOLL, 0);
	else if (!strcmp(what, "replaced-deferred"))
		replaced(one, 0);
	else if (!strcmp(what, "reused"))
		reused(0);
	else if (!strcmp(what, "reused-deferred"))
		reused(one);
	else if (!strcmp(what, "drained"))
		drained();
	else if (!strcmp(what, "stopped"))
		stopped();
	else if (!strcmp(what, "updated"))
		updated();
	else if (!strcmp(what, "inherited"))
		inherited();
	else if (!strcmp(what, "exec"))
		exec_over(argv);
	else if (!strcmp(what, "one-ring"))
		one_for_all();
	else if (!strcmp(what, "positions"))
		positions();
	else if (!strcmp(what, "bare"))
		bare(0);
	else if (!strcmp(what, "bare-wide"))
		bare(IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	else if (!strcmp(what, "bare-no-array"))
		bare(IORING_SETUP_NO_SQARRAY | IORING_SETUP_SQE128);
	else if (!strcmp(what, "iopoll"))
		polled_ends();
	else if (strcmp(what, "nothing"))
		return 2;
	return 0;
}
