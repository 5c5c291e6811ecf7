/* SPDX-License-Identifier: MIT */
/*
 * Requests of io_uring, each told as the event that it must become: what was asked, and what the
 * completion said.
 *
 *   uring_ops WHAT DIR
 */
// LDFLAGS: -luring
#include <linux/stat.h>
#include <liburing.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "say.h"

#define DEPTH 64
#define VIA   RET, TEXT("via", "io_uring")

/* Opcodes that this liburing does not know. */
enum { OP_FIXED_FD_INSTALL = 54, OP_FTRUNCATE = 55, OP_READV_FIXED = 60, OP_WRITEV_FIXED = 61 };

static const char *dir;
static unsigned int every; /* flags of all requests */

static char *in_dir(const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

static void ring_init(struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 50 };

	ok(io_uring_queue_init_params(DEPTH, ring, &p));
}

static struct io_uring_sqe *next(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		abort();
	return sqe;
}

/* Submits what was prepared, and waits for the `n` ends, into res by user_data. */
static void go(struct io_uring *ring, unsigned int n, int *res)
{
	struct io_uring_cqe *cqe;

	ok(io_uring_submit(ring));
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

static int go1(struct io_uring *ring, struct io_uring_sqe *sqe)
{
	int res[DEPTH];

	sqe->flags |= every;
	sqe->user_data = 0;
	go(ring, 1, res);
	return res[0];
}

/* Reads and writes of all kinds; the file is at `path`, open as `fd`. */
static void data_ops(struct io_uring *ring, int fd, const char *path)
{
	char bytes[1000] = "some bytes";
	struct iovec iov[2] = { { bytes, 100 }, { bytes + 100, 50 } };
	struct io_uring_sqe *sqe;

	io_uring_prep_write(sqe = next(ring), fd, bytes, 1000, 5000);
	ev("write", go1(ring, sqe), F(path), D("count", 1000), D("offset", 5000), VIA);
	io_uring_prep_read(sqe = next(ring), fd, bytes, 500, 5500);
	ev("read", go1(ring, sqe), F(path), D("count", 500), D("offset", 5500), VIA);
	io_uring_prep_read(sqe = next(ring), fd, bytes, 700, 5500); /* to the end: short */
	ev("read", go1(ring, sqe), F(path), D("count", 700), D("offset", 5500), VIA);
	io_uring_prep_read(sqe = next(ring), fd, bytes, 10, 100000);
	ev("read", go1(ring, sqe), F(path), D("count", 10), D("offset", 100000), VIA);
	io_uring_prep_writev(sqe = next(ring), fd, iov, 2, 70);
	ev("writev", go1(ring, sqe), F(path), D("iovcnt", 2), D("offset", 70), VIA);
	io_uring_prep_readv(sqe = next(ring), fd, iov, 2, 80);
	ev("readv", go1(ring, sqe), F(path), D("iovcnt", 2), D("offset", 80), VIA);
	/* At the file's position, which moves on. */
	ok(lseek(fd, 30, SEEK_SET));
	io_uring_prep_read(sqe = next(ring), fd, bytes, 20, -1);
	ev("read", go1(ring, sqe), F(path), D("count", 20), D("offset", 30), VIA);
	io_uring_prep_write(sqe = next(ring), fd, bytes, 7, -1);
	ev("write", go1(ring, sqe), F(path), D("count", 7), D("offset", 50), VIA);
	io_uring_prep_read(sqe = next(ring), fd, (void *)16, 20, 0);
	ev("read", bad(go1(ring, sqe), EFAULT), F(path), D("count", 20), D("offset", 0), VIA);
	io_uring_prep_read(sqe = next(ring), 1000, bytes, 20, 0);
	ev("read", bad(go1(ring, sqe), EBADF), D("count", 20), D("offset", 0), VIA);
}

static void sync_ops(struct io_uring *ring, int fd, const char *path)
{
	struct io_uring_sqe *sqe;

	io_uring_prep_fsync(sqe = next(ring), fd, 0);
	ev("fsync", ok(go1(ring, sqe)), F(path), VIA);
	io_uring_prep_fsync(sqe = next(ring), fd, IORING_FSYNC_DATASYNC);
	ev("fdatasync", ok(go1(ring, sqe)), F(path), VIA);
	io_uring_prep_fsync(sqe = next(ring), fd, 128); /* refused before it is begun with */
	ev("fsync", bad(go1(ring, sqe), EINVAL), F(path), VIA);
	io_uring_prep_sync_file_range(sqe = next(ring), fd, 1000, 10, 2);
	ev("sync_file_range", ok(go1(ring, sqe)), F(path), D("offset", 10), D("len", 1000),
	   D("flags", 2), VIA);
	io_uring_prep_fallocate(sqe = next(ring), fd, 0, 20, 9000);
	ev("fallocate", ok(go1(ring, sqe)), F(path), D("offset", 20), D("len", 9000), D("mode", 0), VIA);
	io_uring_prep_fadvise(sqe = next(ring), fd, 5, 4096, POSIX_FADV_SEQUENTIAL);
	ev("posix_fadvise", ok(go1(ring, sqe)), F(path), D("offset", 5), D("len", 4096),
	   D("advice", POSIX_FADV_SEQUENTIAL), VIA);
	io_uring_prep_rw(OP_FTRUNCATE, sqe = next(ring), fd, NULL, 0, 4000);
	ev("ftruncate", ok(go1(ring, sqe)), F(path), D("len", 4000), VIA);
}

static void open_ops(struct io_uring *ring, const char *path, int dirfd)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH };
	char *other = in_dir("created"), *missing = in_dir("missing");
	struct io_uring_sqe *sqe;
	int fd;

	io_uring_prep_openat(sqe = next(ring), dirfd, "created", O_RDWR | O_CREAT, 0640);
	fd = (int)ok(go1(ring, sqe));
	ev("open", fd, F(other), D("flags", O_RDWR | O_CREAT), D("mode", 0640), VIA);
	io_uring_prep_close(sqe = next(ring), fd);
	ev("close", ok(go1(ring, sqe)), F(other), VIA);
	io_uring_prep_close(sqe = next(ring), fd);
	ev("close", bad(go1(ring, sqe), EBADF), VIA);
	io_uring_prep_openat2(sqe = next(ring), dirfd, "created", &how);
	fd = (int)ok(go1(ring, sqe));
	ev("open", fd, F(other), D("flags", O_RDONLY), D("resolve", RESOLVE_BENEATH), VIA);
	ok(close(fd));
	io_uring_prep_openat(sqe = next(ring), AT_FDCWD, missing, O_RDONLY, 0);
	ev("open", bad(go1(ring, sqe), ENOENT), F(missing), D("flags", O_RDONLY), VIA);
	io_uring_prep_openat(sqe = next(ring), dirfd, "missing", O_RDONLY, 0);
	ev("open", bad(go1(ring, sqe), ENOENT), F(missing), D("flags", O_RDONLY), VIA);
	/* Refused before it is begun with: its path is not told. */
	io_uring_prep_openat(sqe = next(ring), AT_FDCWD, (const char *)16, O_RDONLY, 0);
	ev("open", bad(go1(ring, sqe), EFAULT), D("flags", O_RDONLY), RET, TEXT("unresolved", "lost"),
	   TEXT("via", "io_uring"));
	io_uring_prep_openat2(sqe = next(ring), dirfd, "created", (struct open_how *)16);
	ev("open", bad(go1(ring, sqe), EFAULT), RET, TEXT("unresolved", "lost"), TEXT("via", "io_uring"));
	io_uring_prep_openat(sqe = next(ring), AT_FDCWD, path, O_RDONLY, 0);
	fd = (int)ok(go1(ring, sqe));
	ev("open", fd, F(path), D("flags", O_RDONLY), VIA);
	ok(close(fd));
}

static void name_ops(struct io_uring *ring, int dirfd)
{
	char *a = in_dir("a"), *b = in_dir("b"), *sub = in_dir("sub"), *sym = in_dir("sym");
	struct io_uring_sqe *sqe;
	struct statx st;

	ok(mknodat(dirfd, "a", S_IFREG | 0600, 0));
	io_uring_prep_statx(sqe = next(ring), dirfd, "a", AT_SYMLINK_NOFOLLOW, STATX_SIZE, &st);
	ev("lstat", ok(go1(ring, sqe)), F(a), D("flags", AT_SYMLINK_NOFOLLOW), D("mask", STATX_SIZE), VIA);
	io_uring_prep_statx(sqe = next(ring), dirfd, "none", 0, STATX_ALL, &st);
	ev("stat", bad(go1(ring, sqe), ENOENT), F(in_dir("none")), D("flags", 0), D("mask", STATX_ALL), VIA);
	io_uring_prep_statx(sqe = next(ring), dirfd, "", AT_EMPTY_PATH, STATX_ALL, &st);
	ev("fstat", ok(go1(ring, sqe)), F(dir), D("flags", AT_EMPTY_PATH), D("mask", STATX_ALL), VIA);
	io_uring_prep_renameat(sqe = next(ring), dirfd, "a", AT_FDCWD, b, 1); /* RENAME_NOREPLACE */
	ev("rename", ok(go1(ring, sqe)), F(a), FILE_AS("newpath_hash", b), D("flags", 1), VIA);
	io_uring_prep_linkat(sqe = next(ring), AT_FDCWD, b, dirfd, "a", 0);
	ev("link", ok(go1(ring, sqe)), F(b), FILE_AS("newpath_hash", a), D("flags", 0), VIA);
	io_uring_prep_symlinkat(sqe = next(ring), "a", dirfd, "sym");
	ev("symlink", ok(go1(ring, sqe)), F(sym), STRING("target_hash", "a"), VIA);
	io_uring_prep_mkdirat(sqe = next(ring), dirfd, "sub", 0750);
	ev("mkdir", ok(go1(ring, sqe)), F(sub), D("mode", 0750), VIA);
	io_uring_prep_mkdirat(sqe = next(ring), dirfd, "sub", 0750);
	ev("mkdir", bad(go1(ring, sqe), EEXIST), F(sub), D("mode", 0750), VIA);
	io_uring_prep_unlinkat(sqe = next(ring), dirfd, "sub", AT_REMOVEDIR);
	ev("rmdir", ok(go1(ring, sqe)), F(sub), VIA);
	io_uring_prep_unlinkat(sqe = next(ring), AT_FDCWD, sym, 0);
	ev("unlink", ok(go1(ring, sqe)), F(sym), VIA);
	io_uring_prep_setxattr(sqe = next(ring), "user.one", "value", b, 0, 5);
	ev("setxattr", ok(go1(ring, sqe)), F(b), TEXT("xattr", "user.one"), D("size", 5), D("flags", 0), VIA);
}

static void xattr_ops(struct io_uring *ring, int fd, const char *path)
{
	struct io_uring_sqe *sqe;
	char value[64];

	io_uring_prep_fsetxattr(sqe = next(ring), fd, "user.two", "other value", 0, 11);
	ev("fsetxattr", ok(go1(ring, sqe)), F(path), TEXT("xattr", "user.two"), D("size", 11),
	   D("flags", 0), VIA);
	io_uring_prep_fgetxattr(sqe = next(ring), fd, "user.two", value, sizeof(value));
	ev("fgetxattr", ok(go1(ring, sqe)), F(path), TEXT("xattr", "user.two"), D("size", 64), VIA);
	io_uring_prep_getxattr(sqe = next(ring), "user.two", value, path, sizeof(value));
	ev("getxattr", ok(go1(ring, sqe)), F(path), TEXT("xattr", "user.two"), D("size", 64), VIA);
	io_uring_prep_getxattr(sqe = next(ring), "user.none", value, path, sizeof(value));
	ev("getxattr", bad(go1(ring, sqe), ENODATA), F(path), TEXT("xattr", "user.none"), D("size", 64), VIA);
}

static void splice_ops(struct io_uring *ring, int fd, const char *path)
{
	struct io_uring_sqe *sqe;
	char pipe_name[64], other_name[64];
	struct stat st;
	int p[2], q[2];

	ok(pipe(p));
	ok(fstat(p[0], &st));
	snprintf(pipe_name, sizeof(pipe_name), "pipe:[%lu]", st.st_ino);
	io_uring_prep_splice(sqe = next(ring), fd, 100, p[1], -1, 300, 0);
	ev("splice", ok(go1(ring, sqe)), F(path), FILE_AS("other_fhash", pipe_name), D("len", 300),
	   D("off_in", 100), D("flags", 0), VIA);
	io_uring_prep_splice(sqe = next(ring), p[0], -1, fd, 2000, 300, 0);
	ev("splice", ok(go1(ring, sqe)), F(pipe_name), FILE_AS("other_fhash", path), D("len", 300),
	   D("off_out", 2000), D("flags", 0), VIA);
	io_uring_prep_splice(sqe = next(ring), fd, 100, p[1], -1, 300, 64); /* refused at once */
	ev("splice", bad(go1(ring, sqe), EINVAL), D("len", 300), D("off_in", 100), D("flags", 64), VIA);
	/* Between two pipes. */
	if (ok(write(p[1], "five!", 5)) != 5)
		abort();
	ok(pipe(q));
	ok(fstat(q[0], &st));
	snprintf(other_name, sizeof(other_name), "pipe:[%lu]", st.st_ino);
	io_uring_prep_tee(sqe = next(ring), p[0], q[1], 5, 0);
	evc("pipe", "tee", ok(go1(ring, sqe)), F(pipe_name), FILE_AS("other_fhash", other_name), D("len", 5),
	    D("flags", 0), VIA);
	ok(close(p[0]));
	ok(close(p[1]));
	ok(close(q[0]));
	ok(close(q[1]));
}

/* What is counted only, or not even that; and a number that no request has. */
static void other_ops(void)
{
	struct __kernel_timespec moment = { .tv_nsec = 1000 };
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[8] = "bytes";
	int s[2];

	ring_init(&ring, 0);
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	io_uring_prep_send(sqe = next(&ring), s[0], bytes, 8, 0);
	ok(go1(&ring, sqe));
	io_uring_prep_recv(sqe = next(&ring), s[1], bytes, 8, 0);
	ok(go1(&ring, sqe));
	io_uring_prep_poll_add(sqe = next(&ring), s[1], POLLOUT);
	ok(go1(&ring, sqe));
	io_uring_prep_timeout(sqe = next(&ring), &moment, 0, 0);
	bad(go1(&ring, sqe), ETIME);
	io_uring_prep_nop(sqe = next(&ring));
	ok(go1(&ring, sqe));
	io_uring_prep_rw(120, sqe = next(&ring), s[0], NULL, 0, 0);
	bad(go1(&ring, sqe), EINVAL);
	io_uring_prep_rw(250, sqe = next(&ring), s[0], NULL, 0, 0);
	bad(go1(&ring, sqe), EINVAL);
	io_uring_queue_exit(&ring);
}

static int open_file(const char *path)
{
	static const char zeros[20000];
	int fd = (int)ok(open(path, O_RDWR | O_CREAT, 0600));

	if (ok(pwrite(fd, zeros, 6000, 0)) != 6000)
		abort();
	return fd;
}

static void all_ops(unsigned int setup, unsigned int flags)
{
	int dirfd = (int)ok(open(dir, O_RDONLY | O_DIRECTORY));
	char *path = in_dir("file");
	int fd = open_file(path);
	struct io_uring ring;

	every = flags;
	ring_init(&ring, setup);
	data_ops(&ring, fd, path);
	sync_ops(&ring, fd, path);
	open_ops(&ring, path, dirfd);
	name_ops(&ring, dirfd);
	xattr_ops(&ring, fd, path);
	splice_ops(&ring, fd, path);
	io_uring_prep_nop(next(&ring));
	ok(io_uring_submit(&ring));
	io_uring_queue_exit(&ring);
}

/* Registered files and buffers, and direct descriptors. */
static void fixed_ops(unsigned int setup)
{
	char *path = in_dir("file"), *other = in_dir("created");
	int fd = open_file(path), files[8] = { -1, -1, fd, -1, -1, -1, -1, -1 };
	static char bytes[8192];
	struct iovec iov = { bytes, sizeof(bytes) }, part = { bytes + 10, 600 };
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	int slot, installed;

	ring_init(&ring, setup);
	ok(io_uring_register_files(&ring, files, 8));
	ok(io_uring_register_buffers(&ring, &iov, 1));
	every = IOSQE_FIXED_FILE;
	io_uring_prep_write_fixed(sqe = next(&ring), 2, bytes, 4096, 512, 0);
	ev("write", ok(go1(&ring, sqe)), F(path), D("count", 4096), D("offset", 512), VIA);
	io_uring_prep_read_fixed(sqe = next(&ring), 2, bytes, 4096, 3000, 0);
	ev("read", ok(go1(&ring, sqe)), F(path), D("count", 4096), D("offset", 3000), VIA);
	io_uring_prep_rw(OP_READV_FIXED, sqe = next(&ring), 2, &part, 1, 44);
	ev("readv", ok(go1(&ring, sqe)), F(path), D("iovcnt", 1), D("offset", 44), VIA);
	io_uring_prep_rw(OP_WRITEV_FIXED, sqe = next(&ring), 2, &part, 1, 45);
	ev("writev", ok(go1(&ring, sqe)), F(path), D("iovcnt", 1), D("offset", 45), VIA);
	io_uring_prep_fsync(sqe = next(&ring), 2, 0);
	ev("fsync", ok(go1(&ring, sqe)), F(path), VIA);
	io_uring_prep_read(sqe = next(&ring), 5, bytes, 10, 0);
	ev("read", bad(go1(&ring, sqe), EBADF), D("count", 10), D("offset", 0), VIA);
	io_uring_prep_rw(OP_FIXED_FD_INSTALL, sqe = next(&ring), 2, NULL, 0, 0);
	installed = (int)ok(go1(&ring, sqe));
	ev("dup", installed, F(path), D("newfd", installed), VIA);
	every = 0;
	io_uring_prep_openat_direct(sqe = next(&ring), AT_FDCWD, other, O_RDWR | O_CREAT, 0600, 4);
	ev("open", ok(go1(&ring, sqe)), F(other), D("flags", O_RDWR | O_CREAT), D("mode", 0600),
	   D("slot", 4), VIA);
	io_uring_prep_write(sqe = next(&ring), 4, bytes, 5, 0);
	sqe->flags = IOSQE_FIXED_FILE;
	ev("write", ok(go1(&ring, sqe)), F(other), D("count", 5), D("offset", 0), VIA);
	io_uring_prep_openat_direct(sqe = next(&ring), AT_FDCWD, path, O_RDONLY, 0, 0);
	sqe->file_index = IORING_FILE_INDEX_ALLOC;
	slot = (int)ok(go1(&ring, sqe));
	ev("open", slot, F(path), D("flags", O_RDONLY), D("slot", slot), VIA);
	io_uring_prep_read(sqe = next(&ring), slot, bytes, 77, 1);
	sqe->flags = IOSQE_FIXED_FILE;
	ev("read", ok(go1(&ring, sqe)), F(path), D("count", 77), D("offset", 1), VIA);
	io_uring_prep_close_direct(sqe = next(&ring), 4);
	ev("close", ok(go1(&ring, sqe)), F(other), D("slot", 4), VIA);
	io_uring_prep_close_direct(sqe = next(&ring), 4);
	ev("close", bad(go1(&ring, sqe), EBADF), VIA);
	io_uring_queue_exit(&ring);
}

/* Chains. */
static void linked_ops(void)
{
	char *path = in_dir("file"), *missing = in_dir("missing");
	int fd = open_file(path), files[4] = { -1, -1, -1, -1 }, res[DEPTH];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[100] = "";

	ring_init(&ring, 0);
	ok(io_uring_register_files(&ring, files, 4));
	io_uring_prep_write(sqe = next(&ring), fd, bytes, 100, 0);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 0;
	io_uring_prep_read(sqe = next(&ring), fd, bytes, 50, 6);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 1;
	io_uring_prep_fsync(sqe = next(&ring), fd, 0);
	sqe->user_data = 2;
	go(&ring, 3, res);
	ev("write", ok(res[0]), F(path), D("count", 100), D("offset", 0), VIA);
	ev("read", ok(res[1]), F(path), D("count", 50), D("offset", 6), VIA);
	ev("fsync", ok(res[2]), F(path), VIA);

	/* The first one fails, so that the others are never begun with. */
	io_uring_prep_openat(sqe = next(&ring), AT_FDCWD, missing, O_RDONLY, 0);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 0;
	io_uring_prep_read(sqe = next(&ring), fd, bytes, 50, 7);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 1;
	io_uring_prep_fsync(sqe = next(&ring), fd, 0);
	sqe->user_data = 2;
	go(&ring, 3, res);
	ev("open", bad(res[0], ENOENT), F(missing), D("flags", O_RDONLY), VIA);
	ev("read", bad(res[1], ECANCELED), F(path), D("count", 50), D("offset", 7), VIA);
	ev("fsync", bad(res[2], ECANCELED), F(path), VIA);

	/* The file of the second and third does not exist when they are submitted. */
	io_uring_prep_openat_direct(sqe = next(&ring), AT_FDCWD, path, O_RDONLY, 0, 3);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 0;
	io_uring_prep_read(sqe = next(&ring), 3, bytes, 60, 8);
	sqe->flags = IOSQE_IO_LINK | IOSQE_FIXED_FILE;
	sqe->user_data = 1;
	io_uring_prep_close_direct(sqe = next(&ring), 3);
	sqe->user_data = 2;
	go(&ring, 3, res);
	ev("open", ok(res[0]), F(path), D("flags", O_RDONLY), D("slot", 3), VIA);
	ev("read", ok(res[1]), F(path), D("count", 60), D("offset", 8), VIA);
	ev("close", ok(res[2]), D("slot", 3), RET, TEXT("unresolved", "lost"), TEXT("via", "io_uring"));
	io_uring_queue_exit(&ring);
}

/* A read of a pipe that nobody writes to, and its cancellation. */
static void cancelled_ops(void)
{
	int fd = (int)ok(open(in_dir("fifo"), O_RDWR)), res[DEPTH];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[100];

	ring_init(&ring, 0);
	io_uring_prep_read(sqe = next(&ring), fd, bytes, 100, -1);
	sqe->user_data = 1;
	ok(io_uring_submit(&ring));
	io_uring_prep_cancel64(sqe = next(&ring), 1, 0);
	sqe->user_data = 2;
	go(&ring, 2, res);
	ok(res[2]);
	evc("pipe", "read", bad(res[1], ECANCELED), F(in_dir("fifo")), D("count", 100), VIA);
	io_uring_queue_exit(&ring);
}

/* Requests whose success the program does not want to be told of. */
static void skipped_ops(void)
{
	char *path = in_dir("file");
	int fd = open_file(path), res[DEPTH];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[100] = "";

	ring_init(&ring, 0);
	for (int i = 0; i < 40; i++) {
		io_uring_prep_write(sqe = next(&ring), fd, bytes, 100, 100 * i);
		sqe->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
		io_uring_prep_fsync(sqe = next(&ring), fd, 0);
		sqe->user_data = 0;
		go(&ring, 1, res);
		ev("fsync", ok(res[0]), F(path), VIA);
	}
	/* The next request uses the memory of the one before, and is none of those that are followed. */
	for (int i = 40; i < 50; i++) {
		char there;

		bytes[0] = (char)i;
		io_uring_prep_write(sqe = next(&ring), fd, bytes, 100, 100 * i);
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		ok(io_uring_submit(&ring));
		do /* or it would be cancelled in the end, if a worker thread does it */
			ok(pread(fd, &there, 1, 100 * i));
		while (there != (char)i);
		io_uring_prep_nop(sqe = next(&ring));
		ok(go1(&ring, sqe));
	}
	/* Failures are told all the same. */
	io_uring_prep_read(sqe = next(&ring), 1000, bytes, 100, 9);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = 0;
	go(&ring, 1, res);
	ev("read", bad(res[0], EBADF), D("count", 100), D("offset", 9), VIA);
	io_uring_queue_exit(&ring);
}

/* More ends than the completion queue has room for. */
static void overflowing_ops(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE, .cq_entries = 8 };
	char *path = in_dir("file");
	int fd = open_file(path), res[DEPTH];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[100];

	ok(io_uring_queue_init_params(8, &ring, &p));
	for (int i = 0; i < 32; i++) {
		io_uring_prep_read(sqe = next(&ring), fd, bytes, 10 + i, i);
		sqe->user_data = i;
		if (i % 8 == 7)
			ok(io_uring_submit(&ring));
	}
	go(&ring, 32, res);
	for (int i = 0; i < 32; i++)
		ev("read", ok(res[i]), F(path), D("count", 10 + i), D("offset", i), VIA);
	io_uring_queue_exit(&ring);
}

/* Many in flight, of several threads with rings of their own. */
#define ROUNDS 40

static void *busy_thread(void *ctx)
{
	struct { bool write; unsigned int count, offset; } asked[DEPTH];
	const char *name = ctx;
	char *path = in_dir(name);
	int fd = open_file(path), res[DEPTH];
	static __thread char bytes[DEPTH][512];
	unsigned int seed = (unsigned int)name[0];
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	ring_init(&ring, 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < DEPTH; i++) {
			asked[i].write = rand_r(&seed) & 1;
			asked[i].count = (unsigned int)rand_r(&seed) % 512;
			asked[i].offset = (unsigned int)rand_r(&seed) % 10000;
			sqe = next(&ring);
			if (asked[i].write)
				io_uring_prep_write(sqe, fd, bytes[i], asked[i].count, asked[i].offset);
			else
				io_uring_prep_read(sqe, fd, bytes[i], asked[i].count, asked[i].offset);
			sqe->user_data = (unsigned int)i;
			sqe->flags = rand_r(&seed) % 4 ? 0 : IOSQE_ASYNC;
		}
		go(&ring, DEPTH, res);
		for (int i = 0; i < DEPTH; i++)
			ev(asked[i].write ? "write" : "read", ok(res[i]), F(path), D("count", asked[i].count),
			   D("offset", asked[i].offset), VIA);
	}
	io_uring_queue_exit(&ring);
	return NULL;
}

static void busy_threads(void)
{
	pthread_t threads[2];

	ok(-pthread_create(&threads[0], NULL, busy_thread, "one"));
	ok(-pthread_create(&threads[1], NULL, busy_thread, "two"));
	ok(-pthread_join(threads[0], NULL));
	ok(-pthread_join(threads[1], NULL));
}

static void forked_ops(void)
{
	char *sub = in_dir("child");
	pid_t child;
	int status;

	ok(mkdir(sub, 0700));
	child = (pid_t)ok(fork());
	if (!child)
		dir = sub;
	all_ops(0, 0);
	if (!child)
		_exit(0);
	ok(waitpid(child, &status, 0));
	if (status)
		_exit(97);
}

/* Until it is told to, or killed: requests that have no end, and on request some that have. */
static void waiting_ops(void)
{
	int fifo = (int)ok(open(in_dir("fifo"), O_RDWR));
	char *path = in_dir("file");
	int fd = open_file(path), res[DEPTH];
	static char pending[8][100];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	char bytes[100], word;

	ring_init(&ring, 0);
	say_word("ready", NULL);
	while (read(0, &word, 1) == 1) {
		switch (word) {
		case 'p':
		case 'w': /* by worker threads */
			for (int i = 0; i < 8; i++) {
				io_uring_prep_read(sqe = next(&ring), fifo, pending[i], 10 + i, -1);
				sqe->flags = word == 'w' ? IOSQE_ASYNC : 0;
				sqe->user_data = 32 + i;
			}
			ok(io_uring_submit(&ring));
			break;
		case 'm':
			for (int i = 0; i < 300; i++) {
				char name[32];

				snprintf(name, sizeof(name), "many%d", i);
				ok(close((int)ok(open(in_dir(name), O_RDWR | O_CREAT, 0600))));
			}
			break;
		case 'r':
			for (int i = 0; i < 8; i++) {
				io_uring_prep_read(sqe = next(&ring), fd, bytes, 50 + i, i);
				sqe->user_data = i;
			}
			go(&ring, 8, res);
			for (int i = 0; i < 8; i++)
				ev("read", ok(res[i]), F(path), D("count", 50 + i), D("offset", i), VIA);
			break;
		}
		say_word("done", NULL);
	}
	io_uring_queue_exit(&ring);
}

/* Its only thread leaves, and the kernel's thread, which has not done anything, stays until it is killed. */
static void left_alone(void)
{
	struct io_uring ring;

	ring_init(&ring, IORING_SETUP_SQPOLL);
	say_word("left", NULL);
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";

	dir = argc == 3 ? argv[2] : NULL;
	if (!strcmp(what, "plain"))
		all_ops(0, 0);
	else if (!strcmp(what, "sqpoll"))
		all_ops(IORING_SETUP_SQPOLL, 0);
	else if (!strcmp(what, "async"))
		all_ops(0, IOSQE_ASYNC);
	else if (!strcmp(what, "deferred"))
		all_ops(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SQE128, 0);
	else if (!strcmp(what, "fixed"))
		fixed_ops(0);
	else if (!strcmp(what, "fixed-sqpoll"))
		fixed_ops(IORING_SETUP_SQPOLL);
	else if (!strcmp(what, "linked"))
		linked_ops();
	else if (!strcmp(what, "cancelled"))
		cancelled_ops();
	else if (!strcmp(what, "skipped"))
		skipped_ops();
	else if (!strcmp(what, "overflowing"))
		overflowing_ops();
	else if (!strcmp(what, "threads"))
		busy_threads();
	else if (!strcmp(what, "forked"))
		forked_ops();
	else if (!strcmp(what, "other"))
		other_ops();
	else if (!strcmp(what, "left-alone"))
		left_alone();
	else if (!strcmp(what, "waiting"))
		waiting_ops();
	else
		return 2;
	return 0;
}
