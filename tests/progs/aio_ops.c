/* SPDX-License-Identifier: MIT */
/*
 * Requests of Linux AIO, each told as the event that it must become: what was asked, and what the
 * completion said.
 *
 *   aio_ops WHAT DIR
 */
// LDFLAGS: -laio
#include <libaio.h>
#include <sys/stat.h>

#include "say.h"

#define DEPTH 64
#define VIA   RET, TEXT("via", "aio")

static const char *dir;

static char *in_dir(const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

static int open_file(const char *path, int flags)
{
	static const char zeros[16384];
	int fd = (int)ok(open(path, O_RDWR | O_CREAT | flags, 0600)), plain = (int)ok(open(path, O_RDWR));

	if (ok(pwrite(plain, zeros, sizeof(zeros), 0)) != sizeof(zeros))
		abort();
	ok(close(plain));
	return fd;
}

static io_context_t context(void)
{
	io_context_t ctx = NULL;

	ok(io_setup(DEPTH, &ctx));
	return ctx;
}

/* The `n` ends, into res by the iocb's data; by io_pgetevents if asked for. */
static void reap(io_context_t ctx, int n, long *res, bool p)
{
	struct io_event events[DEPTH];

	while (n) {
		long got = p ? syscall(SYS_io_pgetevents, ctx, 1L, (long)n, events, NULL, NULL) :
			       syscall(SYS_io_getevents, ctx, 1L, (long)n, events, NULL);

		if (got < 1)
			abort();
		for (long i = 0; i < got; i++)
			res[(long)events[i].data] = (long)events[i].res;
		n -= (int)got;
	}
}

/* One after the other. */
static long go1(io_context_t ctx, struct iocb *iocb, bool p)
{
	long res[DEPTH];

	iocb->data = NULL;
	ok(io_submit(ctx, 1, &iocb));
	reap(ctx, 1, res, p);
	return res[0];
}

static void file_ops(const char *name, int flags, bool p)
{
	char *path = in_dir(name), *bytes;
	int fd = open_file(path, flags);
	io_context_t ctx = context();
	struct iovec iov[2];
	struct iocb iocb;

	if (posix_memalign((void **)&bytes, 4096, 8192))
		abort();
	memset(bytes, 1, 8192);
	iov[0] = (struct iovec){ bytes, 4096 };
	iov[1] = (struct iovec){ bytes + 4096, 4096 };
	io_prep_pwrite(&iocb, fd, bytes, 4096, 8192);
	ev("pwrite", ok(go1(ctx, &iocb, p)), F(path), D("count", 4096), D("offset", 8192), VIA);
	io_prep_pread(&iocb, fd, bytes, 8192, 12288); /* short */
	ev("pread", ok(go1(ctx, &iocb, p)), F(path), D("count", 8192), D("offset", 12288), VIA);
	io_prep_pread(&iocb, fd, bytes, 4096, 1048576);
	ev("pread", ok(go1(ctx, &iocb, p)), F(path), D("count", 4096), D("offset", 1048576), VIA);
	io_prep_preadv(&iocb, fd, iov, 2, 4096);
	ev("preadv", ok(go1(ctx, &iocb, p)), F(path), D("iovcnt", 2), D("offset", 4096), VIA);
	io_prep_pwritev(&iocb, fd, iov, 2, 0);
	ev("pwritev", ok(go1(ctx, &iocb, p)), F(path), D("iovcnt", 2), D("offset", 0), VIA);
	io_prep_fsync(&iocb, fd);
	ev("fsync", ok(go1(ctx, &iocb, p)), F(path), VIA);
	io_prep_fdsync(&iocb, fd);
	ev("fdatasync", ok(go1(ctx, &iocb, p)), F(path), VIA);
	io_prep_pread(&iocb, fd, (void *)4096, 4096, 0);
	if (flags) /* otherwise some file systems find out while they submit */
		ev("pread", bad(go1(ctx, &iocb, p), EFAULT), F(path), D("count", 4096), D("offset", 0), VIA);
	ok(io_destroy(ctx));
}

/* What the kernel refuses to take is no request, but for the one whose error the call returns. */
static void refused_ops(void)
{
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path, 0);
	io_context_t ctx = context();
	struct iocb good[3], wrong, *list[4] = { &good[0], &good[1], &wrong, &good[2] };
	long res[DEPTH];

	io_prep_pread(&wrong, 1000, bytes, 100, 3);
	list[0] = &wrong;
	ev("pread", bad(io_submit(ctx, 2, list), EBADF), D("count", 100), D("offset", 3), VIA);
	list[0] = &good[0];
	for (long i = 0; i < 3; i++) {
		io_prep_pread(&good[i], fd, bytes, 50, i);
		good[i].data = (void *)i;
	}
	if (ok(io_submit(ctx, 4, list)) != 2)
		abort();
	reap(ctx, 2, res, false);
	for (int i = 0; i < 2; i++)
		ev("pread", ok(res[i]), F(path), D("count", 50), D("offset", i), VIA);
	wrong.aio_lio_opcode = 77;
	wrong.aio_fildes = fd;
	list[0] = &wrong;
	bad(io_submit(ctx, 1, list), EINVAL);
	ok(io_destroy(ctx));
}

/* Many in flight, of two threads that share a context: whoever asks is told. */
struct shared {
	io_context_t ctx;
	const char *path;
	int fd;
};

static void *busy_thread(void *arg)
{
	const struct shared *s = arg;
	static __thread char bytes[16][512];
	static __thread struct iocb iocbs[40][16]; /* the end of one may be told to the other thread */
	struct iocb *list[16];
	unsigned int seed = (unsigned int)syscall(SYS_gettid);

	for (int round = 0; round < 40; round++) {
		struct io_event events[16];

		for (int i = 0; i < 16; i++) {
			unsigned int count = (unsigned int)rand_r(&seed) % 512;
			unsigned int offset = (unsigned int)rand_r(&seed) % 10000;

			list[i] = &iocbs[round][i];
			io_prep_pread(list[i], s->fd, bytes[i], count, offset);
			/* All there: so the result is known before it is told, perhaps to the other thread. */
			ev("pread", count, F(s->path), D("count", count), D("offset", offset), VIA);
		}
		if (ok(io_submit(s->ctx, 16, list)) != 16)
			abort();
		for (int left = 16; left;) {
			long got = syscall(SYS_io_getevents, s->ctx, 1L, (long)left, events, NULL);

			if (got < 1)
				abort();
			for (long i = 0; i < got; i++)
				if (events[i].res != events[i].obj->u.c.nbytes)
					abort();
			left -= (int)got;
		}
	}
	return NULL;
}

static void busy_threads(void)
{
	struct shared s = { .ctx = context(), .path = in_dir("file") };
	pthread_t threads[2];

	s.fd = open_file(s.path, 0);
	for (int i = 0; i < 2; i++)
		ok(-pthread_create(&threads[i], NULL, busy_thread, &s));
	for (int i = 0; i < 2; i++)
		ok(-pthread_join(threads[i], NULL));
	ok(io_destroy(s.ctx));
}

/* The ring of completions, which is mapped at the context's address. */
struct ring {
	unsigned int id, nr, head, tail, magic, compat, incompat, header_length;
	struct io_event events[];
};

/* Ends that the program takes out of the ring itself: no call tells them. */
static void unseen_ops(void)
{
	char *path = in_dir("file"), bytes[100];
	int fd = open_file(path, 0);
	io_context_t ctx = context();
	volatile struct ring *ring = (void *)ctx;
	struct iocb iocb, *list = &iocb;
	char count[32];

	for (int i = 0; i < 20; i++) {
		io_prep_pread(&iocb, fd, bytes, 50, i);
		ok(io_submit(ctx, 1, &list));
		while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head)
			;
		__atomic_store_n(&ring->head, ring->tail % ring->nr, __ATOMIC_RELEASE);
	}
	ok(io_destroy(ctx));
	snprintf(count, sizeof(count), "%d", 20);
	say_word("unseen", count);
}

/* A request whose end is not asked for, until the program is killed, or told to go on and end. */
static void waiting_ops(void)
{
	int fd = open_file(in_dir("file"), 0);
	io_context_t ctx = context();
	struct iocb iocb, *list = &iocb;
	char bytes[100], word;

	say_word("ready", NULL);
	if (read(0, &word, 1) != 1)
		abort();
	io_prep_pread(&iocb, fd, bytes, 60, 5);
	ok(io_submit(ctx, 1, &list));
	say_word("done", NULL);
	(void)!read(0, &word, 1);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";

	dir = argc == 3 ? argv[2] : NULL;
	if (!strcmp(what, "buffered"))
		file_ops("file", 0, false);
	else if (!strcmp(what, "direct"))
		file_ops("file", O_DIRECT, false);
	else if (!strcmp(what, "pgetevents"))
		file_ops("file", 0, true);
	else if (!strcmp(what, "refused"))
		refused_ops();
	else if (!strcmp(what, "threads"))
		busy_threads();
	else if (!strcmp(what, "unseen"))
		unseen_ops();
	else if (!strcmp(what, "waiting"))
		waiting_ops();
	else
		return 2;
	return 0;
}
