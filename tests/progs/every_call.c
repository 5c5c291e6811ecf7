// SPDX-License-Identifier: MIT
/*
 * Calls every traced system call by its number, with right and with wrong arguments, and says which
 * event each must become. Runs in an empty directory, as root.
 *
 * What is said is written by hand from the promises made about the trace and from the manual pages.
 * Return values are the kernel's; names of files are getcwd() and what was written, or readlink() of
 * /proc/self/fd where only the kernel knows.
 */
#include "say.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <utime.h>

#define NOWHERE 8L /* an address that is never mapped */
#define NOFD	999L

/* Newer than the headers we may be built with; the same on all machines. */
#define NR_FCHMODAT2	 452
#define NR_SETXATTRAT	 463
#define NR_GETXATTRAT	 464
#define NR_LISTXATTRAT	 465
#define NR_REMOVEXATTRAT 466

struct xattr_args {
	uint64_t value;
	uint32_t size, flags;
};

static char cwd[4096];
static char page[65536];

/* The absolute name of a file in our directory. */
static const char *P(const char *rel)
{
	static __thread char ring[16][4400];
	static __thread unsigned int next;
	char *out = ring[next++ % 16];

	snprintf(out, sizeof(ring[0]), "%s/%s", cwd, rel);
	return out;
}

/* The kernel's own name of what is open; asking for it is an event, too. */
static const char *name_of_fd(long fd)
{
	static __thread char ring[8][4400];
	static __thread unsigned int next;
	char link[64], *out = ring[next++ % 8], *deleted;
	long n;

	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	n = ok(CALL(SYS_readlinkat, AT_FDCWD, L(link), L(out), 4095));
	ev("readlink", n, F(link), D("bufsize", 4095));
	out[n] = '\0';
	deleted = strstr(out, " (deleted)");
	if (deleted)
		*deleted = '\0';
	return out;
}

static long open_it(const char *path, long flags)
{
	long fd = ok(CALL(SYS_openat, AT_FDCWD, L(path), flags, 0600));

	if (flags & O_CREAT)
		ev("open", fd, F(P(path)), D("flags", flags), U("mode", 0600));
	else
		ev("open", fd, F(P(path)), D("flags", flags));
	return fd;
}

static void close_it(long fd, const char *path)
{
	ev("close", ok(CALL(SYS_close, fd)), F(P(path)));
}

/* ---- opening ---- */

static void opening_by_name(void)
{
	long fd, at;

#ifdef SYS_open
	fd = ok(CALL(SYS_open, L("a.txt"), O_CREAT | O_RDWR, 0640));
	ev("open", fd, F(P("a.txt")), D("flags", O_CREAT | O_RDWR), U("mode", 0640));
	close_it(fd, "a.txt");
	ev("open", bad(CALL(SYS_open, L("none"), O_RDONLY), ENOENT), F(P("none")),
	   D("flags", O_RDONLY));
	ev("open", bad(CALL(SYS_open, L("a.txt/x"), O_RDONLY), ENOTDIR), F(P("a.txt/x")),
	   D("flags", O_RDONLY));
	ev("open", bad(CALL(SYS_open, L("a.txt"), O_CREAT | O_EXCL, 0644), EEXIST), F(P("a.txt")),
	   D("flags", O_CREAT | O_EXCL), U("mode", 0644));
	ev("open", bad(CALL(SYS_open, NOWHERE, O_RDONLY), EFAULT), D("flags", O_RDONLY), RET,
	   TEXT("unresolved", "fault"));
	ev("open", bad(CALL(SYS_open, 0, O_RDONLY), EFAULT), D("flags", O_RDONLY), RET,
	   TEXT("unresolved", "fault"));
	ev("open", bad(CALL(SYS_open, L(""), O_RDONLY), ENOENT), F(P("")), D("flags", O_RDONLY));
#endif
#ifdef SYS_creat
	fd = ok(CALL(SYS_creat, L("created"), 0604));
	ev("open", fd, F(P("created")), U("mode", 0604));
	close_it(fd, "created");
	ev("open", bad(CALL(SYS_creat, L("none/x"), 0600), ENOENT), F(P("none/x")), U("mode", 0600));
#endif
	fd = ok(CALL(SYS_openat, AT_FDCWD, L("a.txt"), O_CREAT | O_RDWR | O_CLOEXEC, 0640));
	ev("open", fd, F(P("a.txt")), D("flags", O_CREAT | O_RDWR | O_CLOEXEC), U("mode", 0640));
	ev("open", bad(CALL(SYS_openat, fd, L("x"), O_RDONLY), ENOTDIR), F(P("a.txt/x")),
	   D("flags", O_RDONLY));
	close_it(fd, "a.txt");
	ev("mkdir", ok(CALL(SYS_mkdirat, AT_FDCWD, L("sub"), 0755)), F(P("sub")), U("mode", 0755));
	at = open_it("sub", O_RDONLY | O_DIRECTORY);
	fd = ok(CALL(SYS_openat, at, L("b.txt"), O_CREAT | O_WRONLY, 0600));
	ev("open", fd, F(P("sub/b.txt")), D("flags", O_CREAT | O_WRONLY), U("mode", 0600));
	close_it(fd, "sub/b.txt");
	ev("open", bad(CALL(SYS_openat, at, L("none"), O_RDONLY), ENOENT), F(P("sub/none")),
	   D("flags", O_RDONLY));
	ev("open", bad(CALL(SYS_openat, NOFD, L("x/y"), O_RDONLY), EBADF), D("flags", O_RDONLY), RET,
	   TEXT("unresolved", "dirfd"), TEXT("path", "x/y"));
	fd = ok(CALL(SYS_openat, NOFD, L(P("a.txt")), O_RDONLY));
	ev("open", fd, F(P("a.txt")), D("flags", O_RDONLY));
	close_it(fd, "a.txt");
	/* An absolute name that does not exist; a descriptor beside it plays no part. */
	ev("open", bad(CALL(SYS_openat, at, L("/dft-no-such/file"), O_RDONLY), ENOENT),
	   F("/dft-no-such/file"), D("flags", O_RDONLY));
	close_it(at, "sub");
}

static void opening_specially(void)
{
	struct open_how how = { .flags = O_RDONLY };
	struct {
		struct file_handle h;
		char room[MAX_HANDLE_SZ];
	} handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	long fd, at, mount_id = 0;
	const char *name;

	at = open_it("sub", O_RDONLY | O_DIRECTORY);
	fd = ok(CALL(SYS_openat2, at, L("b.txt"), L(&how), sizeof(how)));
	ev("open", fd, F(P("sub/b.txt")), U("flags", O_RDONLY), U("resolve", 0));
	close_it(fd, "sub/b.txt");
	how = (struct open_how){ .flags = O_RDWR | O_CREAT, .mode = 0611,
				 .resolve = RESOLVE_BENEATH };
	fd = ok(CALL(SYS_openat2, at, L("c.txt"), L(&how), sizeof(how)));
	ev("open", fd, F(P("sub/c.txt")), U("flags", O_RDWR | O_CREAT), U("mode", 0611),
	   U("resolve", RESOLVE_BENEATH));
	close_it(fd, "sub/c.txt");
	how = (struct open_how){ .flags = O_RDONLY, .resolve = RESOLVE_BENEATH };
	ev("open", bad(CALL(SYS_openat2, at, L("../a.txt"), L(&how), sizeof(how)), EXDEV),
	   F(P("sub/../a.txt")), U("flags", O_RDONLY), U("resolve", RESOLVE_BENEATH), RET,
	   D("lexical", 1));
	ev("open", bad(CALL(SYS_openat2, at, L("b.txt"), NOWHERE, sizeof(how)), EFAULT),
	   F(P("sub/b.txt")));
	close_it(at, "sub");

	/* A file that never had a name. */
	fd = ok(CALL(SYS_openat, AT_FDCWD, L("sub"), O_TMPFILE | O_RDWR, 0600));
	say_nr = SYS_readlinkat;
	{
		/* Its event comes before that of asking for its name. */
		char link[64], text[4400];
		long n;

		snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
		n = ok(CALL(SYS_readlinkat, AT_FDCWD, L(link), L(text), sizeof(text) - 1));
		text[n] = '\0';
		if (!strstr(text, " (deleted)"))
			_exit(97);
		*strstr(text, " (deleted)") = '\0';
		say_nr = SYS_openat;
		ev("open", fd, F(text), D("flags", O_TMPFILE | O_RDWR), U("mode", 0600), RET,
		   D("deleted", 1));
		ev("readlink", n, F(link), D("bufsize", sizeof(text) - 1));
		ev("close", ok(CALL(SYS_close, fd)), F(text), RET, D("deleted", 1));
	}
	ev("open", bad(CALL(SYS_openat, AT_FDCWD, L("sub"), O_TMPFILE | O_RDONLY, 0600), EINVAL),
	   F(P("sub")), D("flags", O_TMPFILE | O_RDONLY), U("mode", 0600));

	ok(CALL(SYS_name_to_handle_at, AT_FDCWD, L("a.txt"), L(&handle), L(&mount_id), 0));
	at = open_it("sub", O_RDONLY | O_DIRECTORY);
	fd = ok(CALL(SYS_open_by_handle_at, at, L(&handle), O_RDONLY));
	name = P("a.txt");
	ev("open", fd, F(name), D("flags", O_RDONLY));
	close_it(fd, "a.txt");
	ev("open", bad(CALL(SYS_open_by_handle_at, NOFD, L(&handle), O_RDONLY), EBADF),
	   D("flags", O_RDONLY), RET, TEXT("unresolved", "handle"));
	handle.h.handle_bytes = 0;
	ev("open", bad(CALL(SYS_open_by_handle_at, at, L(&handle), O_RDONLY), EINVAL),
	   D("flags", O_RDONLY), RET, TEXT("unresolved", "handle"));
	close_it(at, "sub");
	ev("close", bad(CALL(SYS_close, NOFD), EBADF));
	ev("close", bad(CALL(SYS_close, -1), EBADF));
	/* O_PATH, and a file of a kind left out. */
	fd = open_it("a.txt", O_PATH);
	ev("read", bad(CALL(SYS_read, fd, L(page), 1), EBADF), F(P("a.txt")), U("count", 1));
	close_it(fd, "a.txt");
	fd = ok(CALL(SYS_openat, AT_FDCWD, L("/dev/null"), O_RDWR));
	evc("chardev", "open", fd, F("/dev/null"), D("flags", O_RDWR));
	evc("chardev", "write", ok(CALL(SYS_write, fd, L(page), 77)), F("/dev/null"), U("count", 77));
	evc("chardev", "close", ok(CALL(SYS_close, fd)), F("/dev/null"));
}

/* ---- reading and writing ---- */

static void reading_and_writing(void)
{
	long fd = open_it("data", O_RDWR | O_CREAT);
	long dir = open_it("sub", O_RDONLY), only, more;

	ev("write", ok(CALL(SYS_write, fd, L(page), 1000)), F(P("data")), U("count", 1000),
	   D("offset", 0));
	ev("write", ok(CALL(SYS_write, fd, L(page), 0)), F(P("data")), U("count", 0),
	   D("offset", 1000));
	ev("write", ok(CALL(SYS_write, fd, L(page), 24)), F(P("data")), U("count", 24),
	   D("offset", 1000));
	ev("write", bad(CALL(SYS_write, fd, NOWHERE, 10), EFAULT), F(P("data")), U("count", 10));
	ev("write", bad(CALL(SYS_write, NOFD, L(page), 10), EBADF), U("count", 10));
	ev("read", ok(CALL(SYS_read, fd, L(page), 4096)), F(P("data")), U("count", 4096),
	   D("offset", 1024));
	ev("lseek", ok(CALL(SYS_lseek, fd, 10, SEEK_SET)), F(P("data")), D("offset", 10),
	   D("whence", SEEK_SET));
	ev("read", ok(CALL(SYS_read, fd, L(page), 4096)), F(P("data")), U("count", 4096),
	   D("offset", 10));
	ev("lseek", ok(CALL(SYS_lseek, fd, -24, SEEK_END)), F(P("data")), D("offset", -24),
	   D("whence", SEEK_END));
	ev("read", ok(CALL(SYS_read, fd, L(page), 5)), F(P("data")), U("count", 5),
	   D("offset", 1000));
	ev("lseek", bad(CALL(SYS_lseek, fd, 0, 99), EINVAL), F(P("data")), D("offset", 0),
	   D("whence", 99));
	ev("lseek", bad(CALL(SYS_lseek, NOFD, 0, SEEK_CUR), EBADF), D("offset", 0),
	   D("whence", SEEK_CUR));
	ev("read", bad(CALL(SYS_read, dir, L(page), 5), EISDIR), F(P("sub")), U("count", 5));
	ev("read", bad(CALL(SYS_read, NOFD, L(page), 5), EBADF), U("count", 5));
	ev("read", bad(CALL(SYS_read, fd, NOWHERE, 5), EFAULT), F(P("data")), U("count", 5));
	only = open_it("data", O_RDONLY);
	ev("write", bad(CALL(SYS_write, only, L(page), 5), EBADF), F(P("data")), U("count", 5));
	close_it(only, "data");

	/* Appending goes to the end, wherever the position was. */
	more = open_it("data", O_WRONLY | O_APPEND);
	ev("write", ok(CALL(SYS_write, more, L(page), 6)), F(P("data")), U("count", 6),
	   D("offset", 1024));
	ev("lseek", ok(CALL(SYS_lseek, more, 3, SEEK_SET)), F(P("data")), D("offset", 3),
	   D("whence", SEEK_SET));
	ev("write", ok(CALL(SYS_write, more, L(page), 10)), F(P("data")), U("count", 10),
	   D("offset", 1030));
	close_it(more, "data");
	close_it(dir, "sub");
	close_it(fd, "data");
}

static void reading_positioned(void)
{
	long fd = open_it("data", O_RDWR);

	ev("pread", ok(CALL(SYS_pread64, fd, L(page), 100, 1000)), F(P("data")), U("count", 100),
	   D("offset", 1000));
	ev("pread", ok(CALL(SYS_pread64, fd, L(page), 100, 1L << 40)), F(P("data")),
	   U("count", 100), D("offset", 1L << 40));
	ev("pread", bad(CALL(SYS_pread64, fd, L(page), 100, -5), EINVAL), F(P("data")),
	   U("count", 100), D("offset", -5));
	ev("pread", bad(CALL(SYS_pread64, NOFD, L(page), 100, 0), EBADF), U("count", 100),
	   D("offset", 0));
	ev("pwrite", ok(CALL(SYS_pwrite64, fd, L(page), 10, 5)), F(P("data")), U("count", 10),
	   D("offset", 5));
	ev("pwrite", bad(CALL(SYS_pwrite64, fd, L(page), 10, -1), EINVAL), F(P("data")),
	   U("count", 10), D("offset", -1));
	close_it(fd, "data");
}

static void reading_vectors(void)
{
	struct iovec iov[2] = { { page, 3 }, { page + 100, 4 } };
	long fd = open_it("data", O_RDWR), v = L(iov);

	ev("readv", ok(CALL(SYS_readv, fd, v, 2)), F(P("data")), U("iovcnt", 2), D("offset", 0));
	ev("readv", bad(CALL(SYS_readv, fd, v, 5000), EINVAL), F(P("data")), U("iovcnt", 5000));
	ev("readv", bad(CALL(SYS_readv, NOFD, v, 2), EBADF), U("iovcnt", 2));
	ev("writev", ok(CALL(SYS_writev, fd, v, 2)), F(P("data")), U("iovcnt", 2), D("offset", 7));
	ev("writev", bad(CALL(SYS_writev, fd, NOWHERE, 2), EFAULT), F(P("data")), U("iovcnt", 2));
	ev("preadv", ok(CALL(SYS_preadv, fd, v, 2, 1, 0)), F(P("data")), U("iovcnt", 2),
	   D("offset", 1));
	ev("preadv", bad(CALL(SYS_preadv, fd, v, 2, -1, -1), EINVAL), F(P("data")),
	   U("iovcnt", 2), D("offset", -1));
	ev("pwritev", ok(CALL(SYS_pwritev, fd, v, 1, 2, 0)), F(P("data")), U("iovcnt", 1),
	   D("offset", 2));
	ev("pwritev", bad(CALL(SYS_pwritev, NOFD, v, 1, 2, 0), EBADF), U("iovcnt", 1),
	   D("offset", 2));
	/* The newer ones take -1 for the file's own position. */
	ev("preadv2", ok(CALL(SYS_preadv2, fd, v, 2, 4, 0, 0)), F(P("data")), U("iovcnt", 2),
	   D("offset", 4), D("flags", 0));
	ev("preadv2", ok(CALL(SYS_preadv2, fd, v, 2, -1, -1, RWF_HIPRI)), F(P("data")),
	   U("iovcnt", 2), D("offset", 14), D("flags", RWF_HIPRI));
	ev("preadv2", bad(CALL(SYS_preadv2, fd, v, 2, 4, 0, 0x4000000), EOPNOTSUPP), F(P("data")),
	   U("iovcnt", 2), D("offset", 4), D("flags", 0x4000000));
	ev("pwritev2", ok(CALL(SYS_pwritev2, fd, v, 2, 4, 0, RWF_DSYNC)), F(P("data")),
	   U("iovcnt", 2), D("offset", 4), D("flags", RWF_DSYNC));
	ev("pwritev2", ok(CALL(SYS_pwritev2, fd, v, 2, -1, -1, 0)), F(P("data")), U("iovcnt", 2),
	   D("offset", 21), D("flags", 0));
	ev("pwritev2", bad(CALL(SYS_pwritev2, fd, v, 2, -1, -1, 0x4000000), EOPNOTSUPP),
	   F(P("data")), U("iovcnt", 2), D("flags", 0x4000000));
	ev("lseek", ok(CALL(SYS_lseek, fd, 0, SEEK_CUR)), F(P("data")), D("offset", 0),
	   D("whence", SEEK_CUR));
	close_it(fd, "data");
	/* Appending by O_APPEND, and by a flag of the call. */
	fd = open_it("data", O_WRONLY | O_APPEND);
	ev("pwritev2", ok(CALL(SYS_pwritev2, fd, v, 2, -1, -1, 0)), F(P("data")), U("iovcnt", 2),
	   D("offset", 1040), D("flags", 0));
	ev("writev", ok(CALL(SYS_writev, fd, v, 1)), F(P("data")), U("iovcnt", 1),
	   D("offset", 1047));
	close_it(fd, "data");
	fd = open_it("data", O_WRONLY);
	ev("pwritev2", ok(CALL(SYS_pwritev2, fd, v, 2, -1, -1, RWF_APPEND)), F(P("data")),
	   U("iovcnt", 2), D("offset", 1050), D("flags", RWF_APPEND));
	close_it(fd, "data");
}

static void syncing_and_sizes(void)
{
	long fd = open_it("data", O_RDWR), only;

	ev("fsync", ok(CALL(SYS_fsync, fd)), F(P("data")));
	ev("fsync", bad(CALL(SYS_fsync, NOFD), EBADF));
	ev("fdatasync", ok(CALL(SYS_fdatasync, fd)), F(P("data")));
	ev("fdatasync", bad(CALL(SYS_fdatasync, NOFD), EBADF));
	ev("sync_file_range", ok(CALL(SYS_sync_file_range, fd, 4096, 8192, SYNC_FILE_RANGE_WRITE)),
	   F(P("data")), D("offset", 4096), D("len", 8192), U("flags", SYNC_FILE_RANGE_WRITE));
	ev("sync_file_range", bad(CALL(SYS_sync_file_range, fd, 0, 1, 64), EINVAL), F(P("data")),
	   D("offset", 0), D("len", 1), U("flags", 64));
	ev("syncfs", ok(CALL(SYS_syncfs, fd)), F(P("data")));
	ev("syncfs", bad(CALL(SYS_syncfs, NOFD), EBADF));
	ev("sync", ok(CALL(SYS_sync, 0)));
	ev("truncate", ok(CALL(SYS_truncate, L("data"), 900)), F(P("data")), D("len", 900));
	ev("truncate", bad(CALL(SYS_truncate, L("none"), 900), ENOENT), F(P("none")),
	   D("len", 900));
	ev("truncate", bad(CALL(SYS_truncate, L("data"), -1), EINVAL), F(P("data")), D("len", -1));
	ev("ftruncate", ok(CALL(SYS_ftruncate, fd, 800)), F(P("data")), D("len", 800));
	only = open_it("data", O_RDONLY);
	ev("ftruncate", bad(CALL(SYS_ftruncate, only, 10), EINVAL), F(P("data")), D("len", 10));
	close_it(only, "data");
	ev("fallocate", ok(CALL(SYS_fallocate, fd, 1, 100, 9000)), F(P("data")), D("offset", 100),
	   D("len", 9000), D("mode", 1));
	ev("fallocate", bad(CALL(SYS_fallocate, fd, 0, 0, 0), EINVAL), F(P("data")),
	   D("offset", 0), D("len", 0), D("mode", 0));
	ev("posix_fadvise", ok(CALL(SYS_fadvise64, fd, 0, 4096, POSIX_FADV_WILLNEED)),
	   F(P("data")), D("offset", 0), D("len", 4096), D("advice", POSIX_FADV_WILLNEED));
	ev("posix_fadvise", bad(CALL(SYS_fadvise64, fd, 1, 2, 99), EINVAL), F(P("data")),
	   D("offset", 1), D("len", 2), D("advice", 99));
	ev("readahead", ok(CALL(SYS_readahead, fd, 0, 4096)), F(P("data")), D("offset", 0),
	   U("len", 4096));
	ev("readahead", bad(CALL(SYS_readahead, NOFD, 0, 4096), EBADF), D("offset", 0),
	   U("len", 4096));
	close_it(fd, "data");
}

/* ---- attributes of files ---- */

static void asking(void)
{
	struct stat st;

#ifdef SYS_stat
	ev("stat", ok(CALL(SYS_stat, L("a.txt"), L(&st))), F(P("a.txt")));
	ev("stat", bad(CALL(SYS_stat, L("none"), L(&st)), ENOENT), F(P("none")));
	ev("stat", bad(CALL(SYS_stat, L("a.txt"), NOWHERE), EFAULT), F(P("a.txt")));
	ev("lstat", ok(CALL(SYS_lstat, L("link"), L(&st))), F(P("link")));
	ev("lstat", bad(CALL(SYS_lstat, L("a.txt/none"), L(&st)), ENOTDIR), F(P("a.txt/none")));
#endif
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY);

	ev("fstat", ok(CALL(SYS_fstat, fd, L(&st))), F(P("a.txt")));
	ev("fstat", ok(CALL(SYS_fstat, at, L(&st))), F(P("sub")));
	ev("fstat", bad(CALL(SYS_fstat, NOFD, L(&st)), EBADF));
	ev("stat", ok(CALL(SYS_newfstatat, at, L("b.txt"), L(&st), 0)), F(P("sub/b.txt")),
	   D("flags", 0));
	ev("stat", ok(CALL(SYS_newfstatat, AT_FDCWD, L("link"), L(&st), 0)), F(P("link")),
	   D("flags", 0));
	ev("lstat", ok(CALL(SYS_newfstatat, AT_FDCWD, L("link"), L(&st), AT_SYMLINK_NOFOLLOW)),
	   F(P("link")), D("flags", AT_SYMLINK_NOFOLLOW));
	ev("fstat", ok(CALL(SYS_newfstatat, fd, L(""), L(&st), AT_EMPTY_PATH)), F(P("a.txt")),
	   D("flags", AT_EMPTY_PATH));
	ev("fstat", ok(CALL(SYS_newfstatat, AT_FDCWD, L(""), L(&st), AT_EMPTY_PATH)), F(cwd),
	   D("flags", AT_EMPTY_PATH));
	ev("fstat", CALL(SYS_newfstatat, fd, 0, L(&st), AT_EMPTY_PATH), F(P("a.txt")),
	   D("flags", AT_EMPTY_PATH));
	ev("fstat", bad(CALL(SYS_newfstatat, NOFD, L(""), L(&st), AT_EMPTY_PATH), EBADF),
	   D("flags", AT_EMPTY_PATH));
	/* A name given: the flag that would allow an empty one plays no part. */
	ev("stat", ok(CALL(SYS_newfstatat, at, L("b.txt"), L(&st), AT_EMPTY_PATH)),
	   F(P("sub/b.txt")), D("flags", AT_EMPTY_PATH));
	ev("stat", bad(CALL(SYS_newfstatat, at, L(""), L(&st), 0), ENOENT), F(P("sub/")),
	   D("flags", 0));
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, 0, L(&st), 0), EFAULT), D("flags", 0), RET,
	   TEXT("unresolved", "fault"));
	ev("stat", bad(CALL(SYS_newfstatat, at, L("b.txt"), L(&st), 0x8000), EINVAL),
	   F(P("sub/b.txt")), D("flags", 0x8000));
	ev("stat", bad(CALL(SYS_newfstatat, NOFD, L("b.txt"), L(&st), 0), EBADF), D("flags", 0),
	   RET, TEXT("unresolved", "dirfd"), TEXT("path", "b.txt"));
	close_it(at, "sub");
	close_it(fd, "a.txt");
}

static void asking_more(void)
{
	struct statx stx;
	struct statfs sfs;
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY);
	long x = L(&stx);

	ev("stat", ok(CALL(SYS_statx, at, L("b.txt"), 0, STATX_BASIC_STATS, x)), F(P("sub/b.txt")),
	   D("flags", 0), U("mask", STATX_BASIC_STATS));
	ev("lstat", ok(CALL(SYS_statx, AT_FDCWD, L("link"), AT_SYMLINK_NOFOLLOW, STATX_SIZE, x)),
	   F(P("link")), D("flags", AT_SYMLINK_NOFOLLOW), U("mask", STATX_SIZE));
	ev("fstat", ok(CALL(SYS_statx, fd, L(""), AT_EMPTY_PATH, STATX_MODE, x)), F(P("a.txt")),
	   D("flags", AT_EMPTY_PATH), U("mask", STATX_MODE));
	ev("fstat", CALL(SYS_statx, fd, 0, AT_EMPTY_PATH, STATX_MODE, x), F(P("a.txt")),
	   D("flags", AT_EMPTY_PATH), U("mask", STATX_MODE));
	ev("stat", bad(CALL(SYS_statx, at, L("none"), AT_STATX_DONT_SYNC, STATX_ALL, x), ENOENT),
	   F(P("sub/none")), D("flags", AT_STATX_DONT_SYNC), U("mask", STATX_ALL));
	ev("stat", bad(CALL(SYS_statx, at, L("b.txt"), 0, 0x80000000, x), EINVAL),
	   F(P("sub/b.txt")), D("flags", 0), U("mask", 0x80000000u));
#ifdef SYS_access
	ev("access", ok(CALL(SYS_access, L("a.txt"), R_OK)), F(P("a.txt")), U("mode", R_OK));
	ev("access", bad(CALL(SYS_access, L("none"), F_OK), ENOENT), F(P("none")),
	   U("mode", F_OK));
#endif
	ev("access", ok(CALL(SYS_faccessat, at, L("b.txt"), R_OK | W_OK)), F(P("sub/b.txt")),
	   U("mode", R_OK | W_OK));
	ev("access", bad(CALL(SYS_faccessat, at, L("b.txt"), 64), EINVAL), F(P("sub/b.txt")),
	   U("mode", 64));
	ev("access", ok(CALL(SYS_faccessat2, at, L("b.txt"), R_OK, AT_EACCESS)), F(P("sub/b.txt")),
	   U("mode", R_OK), D("flags", AT_EACCESS));
	ev("access", ok(CALL(SYS_faccessat2, fd, L(""), R_OK, AT_EMPTY_PATH)), F(P("a.txt")),
	   U("mode", R_OK), D("flags", AT_EMPTY_PATH));
	ev("access", bad(CALL(SYS_faccessat2, at, L("none"), F_OK, 0), ENOENT), F(P("sub/none")),
	   U("mode", F_OK), D("flags", 0));
	ev("statvfs", ok(CALL(SYS_statfs, L("sub"), L(&sfs))), F(P("sub")));
	ev("statvfs", bad(CALL(SYS_statfs, L("none"), L(&sfs)), ENOENT), F(P("none")));
	ev("fstatvfs", ok(CALL(SYS_fstatfs, fd, L(&sfs))), F(P("a.txt")));
	ev("fstatvfs", bad(CALL(SYS_fstatfs, NOFD, L(&sfs)), EBADF));
	close_it(at, "sub");
	close_it(fd, "a.txt");
}

static void modes_and_owners(void)
{
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY);

#ifdef SYS_chmod
	ev("chmod", ok(CALL(SYS_chmod, L("a.txt"), 0644)), F(P("a.txt")), U("mode", 0644));
	ev("chmod", bad(CALL(SYS_chmod, L("none"), 0644), ENOENT), F(P("none")), U("mode", 0644));
	ev("chown", ok(CALL(SYS_chown, L("a.txt"), 12, 34)), F(P("a.txt")), D("owner", 12),
	   D("group", 34));
	ev("chown", bad(CALL(SYS_chown, L("none"), -1, 34), ENOENT), F(P("none")), D("owner", -1),
	   D("group", 34));
	ev("lchown", ok(CALL(SYS_lchown, L("link"), 4000000000u, -1)), F(P("link")),
	   D("owner", 4000000000u), D("group", -1));
	ev("lchown", bad(CALL(SYS_lchown, L("none"), 1, 1), ENOENT), F(P("none")), D("owner", 1),
	   D("group", 1));
#endif
	ev("fchmod", ok(CALL(SYS_fchmod, fd, 0600)), F(P("a.txt")), U("mode", 0600));
	ev("fchmod", bad(CALL(SYS_fchmod, NOFD, 0600), EBADF), U("mode", 0600));
	ev("chmod", ok(CALL(SYS_fchmodat, at, L("b.txt"), 0640)), F(P("sub/b.txt")),
	   U("mode", 0640));
	ev("chmod", bad(CALL(SYS_fchmodat, at, L("none"), 0640), ENOENT), F(P("sub/none")),
	   U("mode", 0640));
	ev("chmod", new_ok(CALL(NR_FCHMODAT2, at, L("b.txt"), 0600, 0)), F(P("sub/b.txt")),
	   U("mode", 0600), D("flags", 0));
	ev("fchmod", new_ok(CALL(NR_FCHMODAT2, fd, L(""), 0600, AT_EMPTY_PATH)), F(P("a.txt")),
	   U("mode", 0600), D("flags", AT_EMPTY_PATH));
	ev("chmod", new_bad(CALL(NR_FCHMODAT2, at, L("b.txt"), 0600, 1), EINVAL),
	   F(P("sub/b.txt")), U("mode", 0600), D("flags", 1));
	ev("fchown", ok(CALL(SYS_fchown, fd, 0, 0)), F(P("a.txt")), D("owner", 0), D("group", 0));
	ev("fchown", bad(CALL(SYS_fchown, NOFD, 0, 0), EBADF), D("owner", 0), D("group", 0));
	ev("chown", ok(CALL(SYS_fchownat, at, L("b.txt"), 1, -1, 0)), F(P("sub/b.txt")),
	   D("owner", 1), D("group", -1), D("flags", 0));
	ev("lchown", ok(CALL(SYS_fchownat, AT_FDCWD, L("link"), 1, 2, AT_SYMLINK_NOFOLLOW)),
	   F(P("link")), D("owner", 1), D("group", 2), D("flags", AT_SYMLINK_NOFOLLOW));
	ev("fchown", ok(CALL(SYS_fchownat, fd, L(""), 0, 0, AT_EMPTY_PATH)), F(P("a.txt")),
	   D("owner", 0), D("group", 0), D("flags", AT_EMPTY_PATH));
	ev("chown", bad(CALL(SYS_fchownat, at, L("none"), 0, 0, 0), ENOENT), F(P("sub/none")),
	   D("owner", 0), D("group", 0), D("flags", 0));
	close_it(at, "sub");
	close_it(fd, "a.txt");
}

static void times(void)
{
	struct timeval tv[2] = { { 1, 0 }, { 2, 0 } }, wrong[2] = { { 1, -1 }, { 2, 0 } };
	struct utimbuf ub = { 1, 2 };
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY);

#ifdef SYS_utime
	ev("utime", ok(CALL(SYS_utime, L("a.txt"), L(&ub))), F(P("a.txt")));
	ev("utime", bad(CALL(SYS_utime, L("none"), L(&ub)), ENOENT), F(P("none")));
#endif
#ifdef SYS_utimes
	ev("utime", ok(CALL(SYS_utimes, L("a.txt"), L(tv))), F(P("a.txt")));
	ev("utime", bad(CALL(SYS_utimes, L("a.txt"), L(wrong)), EINVAL), F(P("a.txt")));
#endif
#ifdef SYS_futimesat
	ev("utime", ok(CALL(SYS_futimesat, at, L("b.txt"), L(tv))), F(P("sub/b.txt")));
	ev("utime", ok(CALL(SYS_futimesat, fd, 0, L(tv))), F(P("a.txt")));
	ev("utime", bad(CALL(SYS_futimesat, NOFD, 0, L(tv)), EBADF));
	ev("utime", bad(CALL(SYS_futimesat, at, L("none"), L(tv)), ENOENT), F(P("sub/none")));
#endif
	ev("utime", ok(CALL(SYS_utimensat, at, L("b.txt"), 0, 0)), F(P("sub/b.txt")),
	   D("flags", 0));
	ev("utime", ok(CALL(SYS_utimensat, fd, 0, 0, 0)), F(P("a.txt")), D("flags", 0));
	ev("utime", ok(CALL(SYS_utimensat, AT_FDCWD, L("link"), 0, AT_SYMLINK_NOFOLLOW)),
	   F(P("link")), D("flags", AT_SYMLINK_NOFOLLOW));
	ev("utime", bad(CALL(SYS_utimensat, at, L("none"), 0, 0), ENOENT), F(P("sub/none")),
	   D("flags", 0));
	/* NULL stands for the descriptor, and the current directory is none. */
	ev("utime", bad(CALL(SYS_utimensat, AT_FDCWD, 0, 0, 0), EFAULT), D("flags", 0), RET,
	   TEXT("unresolved", "fault"));
	close_it(at, "sub");
	close_it(fd, "a.txt");
	(void)tv, (void)wrong, (void)ub;
}

static void extended_attributes(void)
{
	long fd = open_it("a.txt", O_RDONLY), name = L("user.dft"), v = L("value");

	ev("setxattr", ok(CALL(SYS_setxattr, L("a.txt"), name, v, 5, 0)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 5), D("flags", 0));
	ev("setxattr", bad(CALL(SYS_setxattr, L("a.txt"), name, v, 5, 1), EEXIST), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 5), D("flags", 1));
	ev("setxattr", bad(CALL(SYS_setxattr, L("a.txt"), NOWHERE, v, 5, 0), EFAULT), F(P("a.txt")),
	   U("size", 5), D("flags", 0), RET, TEXT("unresolved2", "fault"));
	ev("lsetxattr", ok(CALL(SYS_lsetxattr, L("a.txt"), name, v, 4, 2)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 4), D("flags", 2));
	ev("lsetxattr", bad(CALL(SYS_lsetxattr, L("link"), name, v, 4, 0), EPERM), F(P("link")),
	   TEXT("xattr", "user.dft"), U("size", 4), D("flags", 0));
	ev("fsetxattr", ok(CALL(SYS_fsetxattr, fd, name, v, 3, 0)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 3), D("flags", 0));
	ev("fsetxattr", bad(CALL(SYS_fsetxattr, NOFD, name, v, 3, 0), EBADF),
	   TEXT("xattr", "user.dft"), U("size", 3), D("flags", 0));
	ev("getxattr", ok(CALL(SYS_getxattr, L("a.txt"), name, L(page), 100)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 100));
	ev("getxattr", bad(CALL(SYS_getxattr, L("a.txt"), L("user.\"\\\n"), L(page), 100), ENODATA),
	   F(P("a.txt")), TEXT("xattr", "user.\"\\\n"), U("size", 100));
	ev("lgetxattr", ok(CALL(SYS_lgetxattr, L("a.txt"), name, 0, 0)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 0));
	ev("lgetxattr", bad(CALL(SYS_lgetxattr, L("a.txt"), name, L(page), 1), ERANGE),
	   F(P("a.txt")), TEXT("xattr", "user.dft"), U("size", 1));
	ev("fgetxattr", ok(CALL(SYS_fgetxattr, fd, name, L(page), 9)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"), U("size", 9));
	ev("fgetxattr", bad(CALL(SYS_fgetxattr, fd, L("user.no"), L(page), 9), ENODATA),
	   F(P("a.txt")), TEXT("xattr", "user.no"), U("size", 9));
	ev("listxattr", ok(CALL(SYS_listxattr, L("a.txt"), L(page), 500)), F(P("a.txt")),
	   U("size", 500));
	ev("listxattr", bad(CALL(SYS_listxattr, L("none"), L(page), 500), ENOENT), F(P("none")),
	   U("size", 500));
	ev("llistxattr", ok(CALL(SYS_llistxattr, L("link"), L(page), 500)), F(P("link")),
	   U("size", 500));
	ev("llistxattr", bad(CALL(SYS_llistxattr, L("a.txt"), L(page), 1), ERANGE), F(P("a.txt")),
	   U("size", 1));
	ev("flistxattr", ok(CALL(SYS_flistxattr, fd, 0, 0)), F(P("a.txt")), U("size", 0));
	ev("flistxattr", bad(CALL(SYS_flistxattr, NOFD, 0, 0), EBADF), U("size", 0));
	ev("removexattr", ok(CALL(SYS_removexattr, L("a.txt"), name)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"));
	ev("removexattr", bad(CALL(SYS_removexattr, L("a.txt"), name), ENODATA), F(P("a.txt")),
	   TEXT("xattr", "user.dft"));
	ok(CALL(SYS_lsetxattr, L("a.txt"), name, v, 4, 0));
	ev("lsetxattr", 0, F(P("a.txt")), TEXT("xattr", "user.dft"), U("size", 4), D("flags", 0));
	ev("lremovexattr", ok(CALL(SYS_lremovexattr, L("a.txt"), name)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"));
	ev("lremovexattr", bad(CALL(SYS_lremovexattr, L("none"), name), ENOENT), F(P("none")),
	   TEXT("xattr", "user.dft"));
	ok(CALL(SYS_fsetxattr, fd, name, v, 4, 0));
	ev("fsetxattr", 0, F(P("a.txt")), TEXT("xattr", "user.dft"), U("size", 4), D("flags", 0));
	ev("fremovexattr", ok(CALL(SYS_fremovexattr, fd, name)), F(P("a.txt")),
	   TEXT("xattr", "user.dft"));
	ev("fremovexattr", bad(CALL(SYS_fremovexattr, fd, name), ENODATA), F(P("a.txt")),
	   TEXT("xattr", "user.dft"));
	close_it(fd, "a.txt");
}

/* The forms with a directory descriptor, of 2025. */
static void extended_attributes_at(void)
{
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY);
	long name = L("user.at"), r;
	struct xattr_args set = { .value = (uint64_t)(uintptr_t) "value", .size = 5, .flags = 1 };
	struct xattr_args get = { .value = (uint64_t)(uintptr_t)page, .size = 64 };

	r = new_ok(CALL(NR_SETXATTRAT, at, L("b.txt"), 0, name, L(&set), sizeof(set)));
	ev("setxattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"), U("size", 5), D("flags", 1));
	r = new_bad(CALL(NR_SETXATTRAT, at, L("b.txt"), AT_SYMLINK_NOFOLLOW, name, L(&set),
			 sizeof(set)), EEXIST);
	ev("lsetxattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"), U("size", 5),
	   D("flags", 1));
	r = new_ok(CALL(NR_SETXATTRAT, fd, L(""), AT_EMPTY_PATH, name, L(&set), sizeof(set)));
	ev("fsetxattr", r, F(P("a.txt")), TEXT("xattr", "user.at"), U("size", 5), D("flags", 1));
	r = new_ok(CALL(NR_GETXATTRAT, at, L("b.txt"), 0, name, L(&get), sizeof(get)));
	ev("getxattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"), U("size", 64));
	r = new_ok(CALL(NR_GETXATTRAT, at, L("b.txt"), AT_SYMLINK_NOFOLLOW, name, L(&get),
			sizeof(get)));
	ev("lgetxattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"), U("size", 64));
	r = new_ok(CALL(NR_GETXATTRAT, fd, L(""), AT_EMPTY_PATH, name, L(&get), sizeof(get)));
	ev("fgetxattr", r, F(P("a.txt")), TEXT("xattr", "user.at"), U("size", 64));
	r = new_bad(CALL(NR_GETXATTRAT, at, L("b.txt"), 0, L("user.no"), L(&get), sizeof(get)),
		    ENODATA);
	ev("getxattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.no"), U("size", 64));
	r = new_ok(CALL(NR_LISTXATTRAT, at, L("b.txt"), 0, L(page), 300));
	ev("listxattr", r, F(P("sub/b.txt")), U("size", 300));
	r = new_ok(CALL(NR_LISTXATTRAT, at, L("b.txt"), AT_SYMLINK_NOFOLLOW, L(page), 300));
	ev("llistxattr", r, F(P("sub/b.txt")), U("size", 300));
	r = new_ok(CALL(NR_LISTXATTRAT, fd, L(""), AT_EMPTY_PATH, L(page), 300));
	ev("flistxattr", r, F(P("a.txt")), U("size", 300));
	r = new_bad(CALL(NR_LISTXATTRAT, at, L("none"), 0, L(page), 300), ENOENT);
	ev("listxattr", r, F(P("sub/none")), U("size", 300));
	r = new_ok(CALL(NR_REMOVEXATTRAT, at, L("b.txt"), 0, name));
	ev("removexattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"));
	r = new_bad(CALL(NR_REMOVEXATTRAT, at, L("b.txt"), AT_SYMLINK_NOFOLLOW, name), ENODATA);
	ev("lremovexattr", r, F(P("sub/b.txt")), TEXT("xattr", "user.at"));
	r = new_ok(CALL(NR_REMOVEXATTRAT, fd, L(""), AT_EMPTY_PATH, name));
	ev("fremovexattr", r, F(P("a.txt")), TEXT("xattr", "user.at"));
	close_it(at, "sub");
	close_it(fd, "a.txt");
}

/* ---- names ---- */

static void making_links(void)
{
	char text[64];
	long fd, at, r;

#ifdef SYS_symlink
	ev("symlink", ok(CALL(SYS_symlink, L("a.txt"), L("link"))), F(P("link")),
	   STRING("target_hash", "a.txt"));
	ev("symlink", bad(CALL(SYS_symlink, L("../else where"), L("link")), EEXIST), F(P("link")),
	   STRING("target_hash", "../else where"));
	ev("symlink", bad(CALL(SYS_symlink, NOWHERE, L("link2")), EFAULT), F(P("link2")), RET,
	   TEXT("unresolved2", "fault"));
	ev("link", ok(CALL(SYS_link, L("a.txt"), L("hard"))), F(P("a.txt")),
	   FILE_AS("newpath_hash", P("hard")));
	ev("link", bad(CALL(SYS_link, L("none"), L("hard2")), ENOENT), F(P("none")),
	   FILE_AS("newpath_hash", P("hard2")));
	ev("link", bad(CALL(SYS_link, L("a.txt"), NOWHERE), EFAULT), F(P("a.txt")), RET,
	   TEXT("unresolved2", "fault"));
	r = ok(CALL(SYS_readlink, L("link"), L(text), sizeof(text)));
	ev("readlink", r, F(P("link")), D("bufsize", sizeof(text)));
	ev("readlink", bad(CALL(SYS_readlink, L("a.txt"), L(text), 10), EINVAL), F(P("a.txt")),
	   D("bufsize", 10));
	/* The answer overwrites the question. */
	strcpy(text, "link");
	ev("readlink", ok(CALL(SYS_readlink, L(text), L(text), sizeof(text))), F(P("link")),
	   D("bufsize", sizeof(text)));
#else
	ev("symlink", ok(CALL(SYS_symlinkat, L("a.txt"), AT_FDCWD, L("link"))), F(P("link")),
	   STRING("target_hash", "a.txt"));
#endif
	at = open_it("sub", O_RDONLY | O_DIRECTORY);
	ev("symlink", ok(CALL(SYS_symlinkat, L("/etc/passwd"), at, L("link"))), F(P("sub/link")),
	   STRING("target_hash", "/etc/passwd"));
	ev("symlink", bad(CALL(SYS_symlinkat, L("t"), NOFD, L("link")), EBADF),
	   STRING("target_hash", "t"), RET, TEXT("unresolved", "dirfd"), TEXT("path", "link"));
	ev("link", ok(CALL(SYS_linkat, AT_FDCWD, L("a.txt"), at, L("hard"), 0)), F(P("a.txt")),
	   FILE_AS("newpath_hash", P("sub/hard")), D("flags", 0));
	fd = open_it("a.txt", O_RDONLY);
	ev("link", ok(CALL(SYS_linkat, fd, L(""), at, L("hard3"), AT_EMPTY_PATH)), F(P("a.txt")),
	   FILE_AS("newpath_hash", P("sub/hard3")), D("flags", AT_EMPTY_PATH));
	close_it(fd, "a.txt");
	ev("link", bad(CALL(SYS_linkat, AT_FDCWD, L("a.txt"), NOFD, L("hard"), 0), EBADF),
	   F(P("a.txt")), D("flags", 0), RET, TEXT("unresolved2", "dirfd"));
	ev("readlink", ok(CALL(SYS_readlinkat, at, L("link"), L(text), 5)), F(P("sub/link")),
	   D("bufsize", 5));
	ev("readlink", bad(CALL(SYS_readlinkat, at, L("none"), L(text), 5), ENOENT),
	   F(P("sub/none")), D("bufsize", 5));
	fd = ok(CALL(SYS_openat, at, L("link"), O_PATH | O_NOFOLLOW));
	ev("open", fd, F(P("sub/link")), D("flags", O_PATH | O_NOFOLLOW));
	ev("readlink", ok(CALL(SYS_readlinkat, fd, L(""), L(text), 50)), F(P("sub/link")),
	   D("bufsize", 50));
	close_it(fd, "sub/link");
	close_it(at, "sub");
}

static void making_nodes(void)
{
	long at = open_it("sub", O_RDONLY | O_DIRECTORY);

#ifdef SYS_mkdir
	ev("mkdir", ok(CALL(SYS_mkdir, L("dir"), 0700)), F(P("dir")), U("mode", 0700));
	ev("mkdir", bad(CALL(SYS_mkdir, L("dir"), 0700), EEXIST), F(P("dir")), U("mode", 0700));
#endif
	ev("mkdir", ok(CALL(SYS_mkdirat, at, L("dir"), 0711)), F(P("sub/dir")), U("mode", 0711));
	ev("mkdir", bad(CALL(SYS_mkdirat, at, L("none/dir"), 0711), ENOENT), F(P("sub/none/dir")),
	   U("mode", 0711));
#ifdef SYS_mknod
	ev("mknod", ok(CALL(SYS_mknod, L("fifo"), S_IFIFO | 0600, 0)), F(P("fifo")),
	   U("mode", S_IFIFO | 0600), U("dev", 0));
	ev("mknod", bad(CALL(SYS_mknod, L("none/x"), S_IFIFO | 0600, 0), ENOENT), F(P("none/x")),
	   U("mode", S_IFIFO | 0600), U("dev", 0));
#endif
	ev("mknod", ok(CALL(SYS_mknodat, at, L("null"), S_IFCHR | 0600, makedev(1, 3))),
	   F(P("sub/null")), U("mode", S_IFCHR | 0600), U("dev", makedev(1, 3)));
	ev("mknod", bad(CALL(SYS_mknodat, at, L("null"), S_IFREG | 0600, 0), EEXIST),
	   F(P("sub/null")), U("mode", S_IFREG | 0600), U("dev", 0));
	close_it(at, "sub");
}

static void renaming_and_removing(void)
{
	long at = open_it("sub", O_RDONLY | O_DIRECTORY);

#ifdef SYS_rename
	ev("rename", ok(CALL(SYS_rename, L("created"), L("sub/moved"))), F(P("created")),
	   FILE_AS("newpath_hash", P("sub/moved")));
	ev("rename", bad(CALL(SYS_rename, L("created"), L("x")), ENOENT), F(P("created")),
	   FILE_AS("newpath_hash", P("x")));
	ev("rename", bad(CALL(SYS_rename, L("a.txt"), NOWHERE), EFAULT), F(P("a.txt")), RET,
	   TEXT("unresolved2", "fault"));
	ev("rename", bad(CALL(SYS_rename, NOWHERE, L("x")), EFAULT),
	   FILE_AS("newpath_hash", P("x")), RET, TEXT("unresolved", "fault"));
#else
	open_it("sub/moved", O_CREAT);
#endif
	ev("rename", ok(CALL(SYS_renameat, at, L("moved"), AT_FDCWD, L("back"))), F(P("sub/moved")),
	   FILE_AS("newpath_hash", P("back")));
	ev("rename", bad(CALL(SYS_renameat, AT_FDCWD, L("back"), NOFD, L("y")), EBADF),
	   F(P("back")), RET, TEXT("unresolved2", "dirfd"));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("back"), at, L("b.txt"), 2)), F(P("back")),
	   FILE_AS("newpath_hash", P("sub/b.txt")), U("flags", 2));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("back"), at, L("b.txt"), 2)), F(P("back")),
	   FILE_AS("newpath_hash", P("sub/b.txt")), U("flags", 2));
	ev("rename", bad(CALL(SYS_renameat2, AT_FDCWD, L("back"), at, L("b.txt"), 1), EEXIST),
	   F(P("back")), FILE_AS("newpath_hash", P("sub/b.txt")), U("flags", 1));
#ifdef SYS_unlink
	ev("unlink", ok(CALL(SYS_unlink, L("back"))), F(P("back")));
	ev("unlink", bad(CALL(SYS_unlink, L("back")), ENOENT), F(P("back")));
	ev("unlink", bad(CALL(SYS_unlink, L("dir")), EISDIR), F(P("dir")));
	ev("rmdir", ok(CALL(SYS_rmdir, L("dir"))), F(P("dir")));
	ev("rmdir", bad(CALL(SYS_rmdir, L("sub")), ENOTEMPTY), F(P("sub")));
#endif
	ev("unlink", ok(CALL(SYS_unlinkat, at, L("hard"), 0)), F(P("sub/hard")));
	ev("rmdir", ok(CALL(SYS_unlinkat, at, L("dir"), AT_REMOVEDIR)), F(P("sub/dir")));
	ev("rmdir", bad(CALL(SYS_unlinkat, at, L("b.txt"), AT_REMOVEDIR), ENOTDIR),
	   F(P("sub/b.txt")));
	ev("unlink", bad(CALL(SYS_unlinkat, at, L("none"), 0), ENOENT), F(P("sub/none")));
	close_it(at, "sub");
}

/* How names are put together. */
static void shapes_of_names(void)
{
	static const struct {
		const char *given, *name;
		int lexical;
	} shapes[] = {
		{ "sub/../a.txt", "%/sub/../a.txt", 1 }, { "sub//b.txt", "%/sub/b.txt", 0 },
		{ "./sub/./b.txt", "%/sub/b.txt", 0 },   { "sub/././/.//b.txt", "%/sub/b.txt", 0 },
		{ "sub/.", "%/sub/.", 0 },               { "sub/", "%/sub/", 0 },
		{ "sub///", "%/sub/", 0 },               { ".", "%/.", 0 },
		{ "..", "%/..", 1 },                     { "../", "%/../", 1 },
		{ "sub/..", "%/sub/..", 1 },             { "...", "%/...", 0 },
		{ "a..b/..c", "%/a..b/..c", 0 },         { "//etc///passwd", "/etc/passwd", 0 },
		{ "/./etc/./passwd", "/etc/passwd", 0 }, { "/..", "/..", 1 },
		{ "/", "/", 0 },                         { "//", "/", 0 },
		{ "/.", "/.", 0 },                       { ".hidden", "%/.hidden", 0 },
		{ "x/.y", "%/x/.y", 0 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		char name[4400];
		long r = CALL(SYS_faccessat, AT_FDCWD, L(shapes[i].given), F_OK);

		snprintf(name, sizeof(name), "%s%s", shapes[i].name[0] == '%' ? cwd : "",
			 shapes[i].name + (shapes[i].name[0] == '%'));
		if (shapes[i].lexical)
			ev("access", r, F(name), U("mode", F_OK), RET, D("lexical", 1));
		else
			ev("access", r, F(name), U("mode", F_OK));
	}
}

/* Bases that are no ordinary directories. */
static void bases_of_names(void)
{
	struct stat st;
	long at;

	/* Left out as a file, and yet a base with a name. */
	at = ok(CALL(SYS_openat, AT_FDCWD, L("/proc"), O_RDONLY | O_DIRECTORY));
	evc("pseudo", "open", at, F("/proc"), D("flags", O_RDONLY | O_DIRECTORY));
	ev("stat", ok(CALL(SYS_newfstatat, at, L("1/stat"), L(&st), 0)), F("/proc/1/stat"),
	   D("flags", 0));
	ev("open", bad(CALL(SYS_openat, at, L("none"), O_RDONLY), ENOENT), F("/proc/none"),
	   D("flags", O_RDONLY));
	evc("pseudo", "fstat", ok(CALL(SYS_newfstatat, at, L(""), L(&st), AT_EMPTY_PATH)),
	    F("/proc"), D("flags", AT_EMPTY_PATH));
	evc("pseudo", "close", ok(CALL(SYS_close, at)), F("/proc"));
	/* A directory renamed since it was opened, then removed. */
	ev("mkdir", ok(CALL(SYS_mkdirat, AT_FDCWD, L("d1"), 0700)), F(P("d1")), U("mode", 0700));
	at = open_it("d1", O_RDONLY | O_DIRECTORY);
	ev("stat", bad(CALL(SYS_newfstatat, at, L("x"), L(&st), 0), ENOENT), F(P("d1/x")),
	   D("flags", 0));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("d1"), AT_FDCWD, L("d2"), 0)), F(P("d1")),
	   FILE_AS("newpath_hash", P("d2")), U("flags", 0));
	ev("stat", bad(CALL(SYS_newfstatat, at, L("x"), L(&st), 0), ENOENT), F(P("d2/x")),
	   D("flags", 0));
	ev("rmdir", ok(CALL(SYS_unlinkat, AT_FDCWD, L("d2"), AT_REMOVEDIR)), F(P("d2")));
	ev("fstat", ok(CALL(SYS_fstat, at, L(&st))), F(P("d2")), RET, D("deleted", 1));
	ev("close", ok(CALL(SYS_close, at)), F(P("d2")), RET, D("deleted", 1));
}

/* ---- directories ---- */

static void directories(void)
{
	long fd = open_it("a.txt", O_RDONLY), at = open_it("sub", O_RDONLY | O_DIRECTORY), r;

#ifdef SYS_getdents
	r = ok(CALL(SYS_getdents, at, L(page), 4096));
	ev("readdir", r, F(P("sub")), U("count", 4096));
	ev("readdir", bad(CALL(SYS_getdents, fd, L(page), 4096), ENOTDIR), F(P("a.txt")),
	   U("count", 4096));
	ev("lseek", ok(CALL(SYS_lseek, at, 0, SEEK_SET)), F(P("sub")), D("offset", 0),
	   D("whence", SEEK_SET));
#endif
	r = ok(CALL(SYS_getdents64, at, L(page), 32768));
	ev("readdir", r, F(P("sub")), U("count", 32768));
	r = ok(CALL(SYS_getdents64, at, L(page), 32768));
	ev("readdir", r, F(P("sub")), U("count", 32768));
	ev("readdir", bad(CALL(SYS_getdents64, NOFD, L(page), 32768), EBADF), U("count", 32768));
	ev("chdir", ok(CALL(SYS_chdir, L("sub"))), F(P("sub")));
	ev("access", ok(CALL(SYS_faccessat, AT_FDCWD, L("b.txt"), F_OK)), F(P("sub/b.txt")),
	   U("mode", F_OK));
	ev("chdir", ok(CALL(SYS_chdir, L(".."))), F(P("sub/..")), RET, D("lexical", 1));
	ev("access", ok(CALL(SYS_faccessat, AT_FDCWD, L("a.txt"), F_OK)), F(P("a.txt")),
	   U("mode", F_OK));
	ev("chdir", bad(CALL(SYS_chdir, L("none")), ENOENT), F(P("none")));
	ev("chdir", bad(CALL(SYS_chdir, L("a.txt")), ENOTDIR), F(P("a.txt")));
	ev("fchdir", ok(CALL(SYS_fchdir, at)), F(P("sub")));
	ev("access", bad(CALL(SYS_faccessat, AT_FDCWD, L("none"), F_OK), ENOENT),
	   F(P("sub/none")), U("mode", F_OK));
	ev("fchdir", bad(CALL(SYS_fchdir, fd), ENOTDIR), F(P("a.txt")));
	ev("fchdir", bad(CALL(SYS_fchdir, NOFD), EBADF));
	ev("chdir", ok(CALL(SYS_chdir, L(cwd))), F(cwd));
	close_it(at, "sub");
	close_it(fd, "a.txt");
}

/* In a child of our own: names are absolute in the process's root. */
static void other_root(void)
{
	struct stat st;
	long fd;

	begin();
	ev("chroot", bad(CALL(SYS_chroot, L("none")), ENOENT), F(P("none")));
	ev("mkdir", ok(CALL(SYS_mkdirat, AT_FDCWD, L("sub/jail"), 0700)), F(P("sub/jail")),
	   U("mode", 0700));
	fd = open_it("sub/jail/in", O_CREAT | O_RDWR);
	ev("write", ok(CALL(SYS_write, fd, L("12345"), 5)), F(P("sub/jail/in")), U("count", 5),
	   D("offset", 0));
	ev("chroot", ok(CALL(SYS_chroot, L("sub/jail"))), F(P("sub/jail")));
	/* The same descriptor, seen from the new root. */
	ev("write", ok(CALL(SYS_write, fd, L("678"), 3)), F("/in"), U("count", 3), D("offset", 5));
	ev("close", ok(CALL(SYS_close, fd)), F("/in"));
	/* The current directory is outside of it now. */
	fd = ok(CALL(SYS_openat, AT_FDCWD, L("a.txt"), O_RDONLY));
	ev("open", fd, F(P("a.txt")), D("flags", O_RDONLY), RET, D("unreachable", 1));
	ev("close", ok(CALL(SYS_close, fd)), F(P("a.txt")), RET, D("unreachable", 1));
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L("none"), L(&st), 0), ENOENT), F(P("none")),
	   D("flags", 0), RET, D("unreachable", 1));
	ev("stat", ok(CALL(SYS_newfstatat, AT_FDCWD, L("/in"), L(&st), 0)), F("/in"),
	   D("flags", 0));
	ev("chdir", ok(CALL(SYS_chdir, L("/"))), F("/"));
	ev("stat", ok(CALL(SYS_newfstatat, AT_FDCWD, L("in"), L(&st), 0)), F("/in"), D("flags", 0));
	fd = ok(CALL(SYS_openat, AT_FDCWD, L("in"), O_RDONLY));
	ev("open", fd, F("/in"), D("flags", O_RDONLY));
	ev("close", ok(CALL(SYS_close, fd)), F("/in"));
	end();
	_exit(0);
}

/* ---- descriptors ---- */

static void duplicating(void)
{
	long a = open_it("a.txt", O_RDONLY), b = open_it("sub/b.txt", O_RDONLY), r;

	r = ok(CALL(SYS_dup, a));
	ev("dup", r, F(P("a.txt")), D("newfd", r));
	close_it(r, "a.txt");
	ev("dup", bad(CALL(SYS_dup, NOFD), EBADF));
#ifdef SYS_dup2
	ev("dup2", ok(CALL(SYS_dup2, a, 200)), F(P("a.txt")), D("newfd", 200));
	ev("dup2", ok(CALL(SYS_dup2, b, 200)), F(P("sub/b.txt")), D("newfd", 200));
	ev("close", 0, F(P("a.txt")), RET, TEXT("via", "dup2"));
	ev("dup2", ok(CALL(SYS_dup2, 200, 200)), F(P("sub/b.txt")), D("newfd", 200));
	ev("dup2", bad(CALL(SYS_dup2, NOFD, 200), EBADF), D("newfd", 200));
	ev("dup2", bad(CALL(SYS_dup2, a, -1), EBADF), F(P("a.txt")), D("newfd", -1));
	close_it(200, "sub/b.txt");
#endif
	ev("dup3", ok(CALL(SYS_dup3, a, 201, O_CLOEXEC)), F(P("a.txt")), D("newfd", 201),
	   D("flags", O_CLOEXEC));
	ev("dup3", ok(CALL(SYS_dup3, b, 201, 0)), F(P("sub/b.txt")), D("newfd", 201),
	   D("flags", 0));
	ev("close", 0, F(P("a.txt")), RET, TEXT("via", "dup3"));
	ev("dup3", bad(CALL(SYS_dup3, b, b, 0), EINVAL), F(P("sub/b.txt")), D("newfd", b),
	   D("flags", 0));
	ev("dup3", bad(CALL(SYS_dup3, a, 201, 1), EINVAL), F(P("a.txt")), D("newfd", 201),
	   D("flags", 1));
	close_it(201, "sub/b.txt");

	/* A range: closed in order, then the call itself. */
	ok(CALL(SYS_dup3, a, 300, 0));
	ev("dup3", 300, F(P("a.txt")), D("newfd", 300), D("flags", 0));
	ok(CALL(SYS_dup3, b, 302, 0));
	ev("dup3", 302, F(P("sub/b.txt")), D("newfd", 302), D("flags", 0));
	ev("close_range", ok(CALL(SYS_close_range, 299, 310, 4)), U("first", 299), U("last", 310),
	   U("flags", 4));
	ok(CALL(SYS_close_range, 299, ~0u, 0));
	ev("close", 0, F(P("a.txt")), RET, TEXT("via", "close_range"));
	ev("close", 0, F(P("sub/b.txt")), RET, TEXT("via", "close_range"));
	ev("close_range", 0, U("first", 299), U("last", ~0u), U("flags", 0));
	ev("close_range", bad(CALL(SYS_close_range, 9, 5, 0), EINVAL), U("first", 9), U("last", 5),
	   U("flags", 0));
	close_it(a, "a.txt");
	close_it(b, "sub/b.txt");
}

static void controlling(void)
{
	long fd = open_it("a.txt", O_RDWR), n = 0, r;

	r = ok(CALL(SYS_fcntl, fd, F_GETFL, 0));
	ev("fcntl", r, F(P("a.txt")), D("cmd", F_GETFL), U("arg", 0));
	r = ok(CALL(SYS_fcntl, fd, F_DUPFD, 250));
	ev("fcntl", r, F(P("a.txt")), D("cmd", F_DUPFD), U("arg", 250));
	close_it(r, "a.txt");
	ev("fcntl", bad(CALL(SYS_fcntl, fd, 4711, 1), EINVAL), F(P("a.txt")), D("cmd", 4711),
	   U("arg", 1));
	ev("fcntl", bad(CALL(SYS_fcntl, NOFD, F_GETFD, 0), EBADF), D("cmd", F_GETFD), U("arg", 0));
	ev("flock", ok(CALL(SYS_flock, fd, LOCK_SH)), F(P("a.txt")), D("operation", LOCK_SH));
	ev("flock", bad(CALL(SYS_flock, fd, 0), EINVAL), F(P("a.txt")), D("operation", 0));
	ev("ioctl", ok(CALL(SYS_ioctl, fd, FIGETBSZ, L(&n))), F(P("a.txt")), U("request", FIGETBSZ));
	ev("ioctl", bad(CALL(SYS_ioctl, fd, TCGETS, L(&n)), ENOTTY), F(P("a.txt")),
	   U("request", TCGETS));
	ev("ioctl", bad(CALL(SYS_ioctl, fd, FS_IOC_GETVERSION, NOWHERE), EFAULT), F(P("a.txt")),
	   U("request", FS_IOC_GETVERSION));
	close_it(fd, "a.txt");
}

static void mapping(void)
{
	long fd = open_it("data", O_RDWR), only, at, map, both = PROT_READ | PROT_WRITE;

	map = ok(CALL(SYS_mmap, 0, 8192, both, MAP_SHARED, fd, 4096));
	ev("mmap", map, F(P("data")), U("length", 8192), D("prot", both), D("flags", MAP_SHARED),
	   D("offset", 4096));
	ev("msync", ok(CALL(SYS_msync, map, 4096, MS_SYNC)), F(P("data")), U("address", map),
	   U("len", 4096), D("flags", MS_SYNC), D("offset", 4096));
	ev("msync", bad(CALL(SYS_msync, map, 4096, 64), EINVAL), F(P("data")), U("address", map),
	   U("len", 4096), D("flags", 64), D("offset", 4096));
	ev("mremap", ok(CALL(SYS_mremap, map, 8192, 4096, 0)), F(P("data")), U("address", map),
	   U("old_length", 8192), U("length", 4096), D("flags", 0), D("offset", 4096));
	ev("mremap", bad(CALL(SYS_mremap, map, 4096, 0, 0), EINVAL), F(P("data")), U("address", map),
	   U("old_length", 4096), U("length", 0), D("flags", 0), D("offset", 4096));
	ev("munmap", bad(CALL(SYS_munmap, map + 1, 4096), EINVAL), F(P("data")), U("address", map + 1),
	   U("length", 4096), D("offset", 4097));
	ev("munmap", ok(CALL(SYS_munmap, map, 4096)), F(P("data")), U("address", map),
	   U("length", 4096), D("offset", 4096));
	map = ok(CALL(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, fd, 0));
	ev("mmap", map, F(P("data")), U("length", 4096), D("prot", PROT_READ),
	   D("flags", MAP_PRIVATE), D("offset", 0));
	ev("munmap", ok(CALL(SYS_munmap, map, 4096)), F(P("data")), U("address", map),
	   U("length", 4096), D("offset", 0));
	/* No file, no event; a descriptor beside MAP_ANONYMOUS is none. */
	map = ok(CALL(SYS_mmap, 0, 4096, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ev("msync", ok(CALL(SYS_msync, map, 4096, MS_SYNC)), U("address", map), U("len", 4096),
	   D("flags", MS_SYNC));
	map = ok(CALL(SYS_mremap, map, 4096, 8192, MREMAP_MAYMOVE));
	ok(CALL(SYS_munmap, map, 8192));
	bad(CALL(SYS_munmap, map, 0), EINVAL);
	map = ok(CALL(SYS_mmap, 0, 4096, both, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0));
	ok(CALL(SYS_munmap, map, 4096));
	only = open_it("data", O_RDONLY);
	ev("mmap", bad(CALL(SYS_mmap, 0, 4096, both, MAP_SHARED, only, 0), EACCES), F(P("data")),
	   U("length", 4096), D("prot", both), D("flags", MAP_SHARED), D("offset", 0));
	close_it(only, "data");
	ev("mmap", bad(CALL(SYS_mmap, 0, 4096, both, MAP_SHARED, NOFD, 0), EBADF),
	   U("length", 4096), D("prot", both), D("flags", MAP_SHARED), D("offset", 0));
	at = open_it("sub", O_RDONLY);
	ev("mmap", bad(CALL(SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, at, 0), ENODEV), F(P("sub")),
	   U("length", 4096), D("prot", PROT_READ), D("flags", MAP_SHARED), D("offset", 0));
	close_it(at, "sub");
	close_it(fd, "data");
}

/* ---- from one file to another ---- */

static void copying(void)
{
	long in = open_it("data", O_RDONLY), out = open_it("copy", O_CREAT | O_RDWR), r;
	long off = 100, out_off = 50;

	ev("sendfile", ok(CALL(SYS_sendfile, out, in, 0, 20)), F(P("copy")),
	   FILE_AS("other_fhash", P("data")), U("len", 20));
	r = ok(CALL(SYS_sendfile, out, in, L(&off), 30));
	ev("sendfile", r, F(P("copy")), FILE_AS("other_fhash", P("data")), U("len", 30),
	   D("offset", 100));
	ev("sendfile", bad(CALL(SYS_sendfile, out, NOFD, 0, 30), EBADF), F(P("copy")),
	   U("len", 30));
	ev("sendfile", bad(CALL(SYS_sendfile, NOFD, in, 0, 30), EBADF),
	   FILE_AS("other_fhash", P("data")), U("len", 30));
	off = 10;
	r = ok(CALL(SYS_copy_file_range, in, L(&off), out, L(&out_off), 70, 0));
	ev("copy_file_range", r, F(P("data")), FILE_AS("other_fhash", P("copy")), U("len", 70),
	   D("off_in", 10), D("off_out", 50), U("flags", 0));
	ev("copy_file_range", ok(CALL(SYS_copy_file_range, in, 0, out, 0, 5, 0)), F(P("data")),
	   FILE_AS("other_fhash", P("copy")), U("len", 5), U("flags", 0));
	ev("copy_file_range", bad(CALL(SYS_copy_file_range, in, 0, out, 0, 5, 8), EINVAL),
	   F(P("data")), FILE_AS("other_fhash", P("copy")), U("len", 5), U("flags", 8));
	close_it(out, "copy");
	close_it(in, "data");
}

static void piping(void)
{
	long in = open_it("data", O_RDONLY), out = open_it("copy", O_RDWR), r, off = 3;
	const char *name, *name2;
	int p[2], q[2];

	if (pipe(p) || pipe(q))
		_exit(97);
	name = name_of_fd(p[1]);
	name2 = name_of_fd(q[1]);
	r = ok(CALL(SYS_splice, in, L(&off), p[1], 0, 100, 0));
	ev("splice", r, F(P("data")), FILE_AS("other_fhash", name), U("len", 100), D("off_in", 3),
	   U("flags", 0));
	evc("pipe", "tee", ok(CALL(SYS_tee, p[0], q[1], 40, 2)), F(name),
	    FILE_AS("other_fhash", name2), U("len", 40), U("flags", 2));
	evc("pipe", "tee", bad(CALL(SYS_tee, p[0], p[1], 40, 0), EINVAL), F(name),
	    FILE_AS("other_fhash", name), U("len", 40), U("flags", 0));
	ev("tee", bad(CALL(SYS_tee, in, p[1], 40, 0), EINVAL), F(P("data")),
	   FILE_AS("other_fhash", name), U("len", 40), U("flags", 0));
	off = 7;
	r = ok(CALL(SYS_splice, p[0], 0, out, L(&off), 60, 1));
	ev("splice", r, F(name), FILE_AS("other_fhash", P("copy")), U("len", 60), D("off_out", 7),
	   U("flags", 1));
	ev("splice", bad(CALL(SYS_splice, in, 0, out, 0, 60, 0), EINVAL), F(P("data")),
	   FILE_AS("other_fhash", P("copy")), U("len", 60), U("flags", 0));
	evc("pipe", "splice", ok(CALL(SYS_splice, q[0], 0, p[1], 0, 10, 0)), F(name2),
	    FILE_AS("other_fhash", name), U("len", 10), U("flags", 0));
	ev("splice", bad(CALL(SYS_splice, NOFD, 0, out, 0, 60, 0), EBADF),
	   FILE_AS("other_fhash", P("copy")), U("len", 60), U("flags", 0));
	evc("pipe", "close", ok(CALL(SYS_close, p[0])), F(name));
	evc("pipe", "close", ok(CALL(SYS_close, p[1])), F(name));
	evc("pipe", "close", ok(CALL(SYS_close, q[0])), F(name2));
	evc("pipe", "close", ok(CALL(SYS_close, q[1])), F(name2));
	close_it(out, "copy");
	close_it(in, "data");
}

/* ---- processes ---- */

static void wait_for(long pid, int status)
{
	int got = -1;
	long r = ok(CALL(SYS_wait4, pid, L(&got), 0, 0));

	if (got != status)
		_exit(96);
	ev("wait", r, D("options", 0), RET, D("status", got));
}

#ifdef __x86_64__
/* In a vfork the child uses the parent's stack: it must not leave a trace there. */
static long vfork_and_exit(long code)
{
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_vfork), "D"(code), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

static int thread_lives = 1;

static int raw_thread(void *arg)
{
	(void)arg;
	/* No libc here: there is no thread descriptor of our own. The other thread says this event. */
	syscall(SYS_faccessat, AT_FDCWD, "from-thread", F_OK);
	syscall(SYS_exit, 0);
	return 0;
}

static void *quiet_thread(void *arg)
{
	return arg;
}

static void forking(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid;

#ifdef SYS_fork
	pid = ok(CALL(SYS_fork));
	if (!pid)
		_exit(3);
	ev("fork", pid);
	wait_for(pid, 3 << 8);
#endif
#ifdef __x86_64__
	say_nr = SYS_vfork;
	pid = vfork_and_exit(4);
	ev("fork", pid);
	wait_for(pid, 4 << 8);
#endif
	pid = ok(CALL(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (!pid)
		kill(getpid(), SIGKILL);
	ev("fork", pid, U("flags", SIGCHLD));
	wait_for(pid, SIGKILL);
	ev("fork", bad(CALL(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0), EINVAL),
	   U("flags", CLONE_FS | CLONE_NEWNS | SIGCHLD));
	args.flags = CLONE_CLEAR_SIGHAND;
	pid = ok(CALL(SYS_clone3, L(&args), sizeof(args)));
	if (!pid)
		_exit(6);
	ev("fork", pid, U("flags", CLONE_CLEAR_SIGHAND));
	wait_for(pid, 6 << 8);
	args.flags = CLONE_FS | CLONE_NEWNS;
	ev("fork", bad(CALL(SYS_clone3, L(&args), sizeof(args)), EINVAL),
	   U("flags", CLONE_FS | CLONE_NEWNS));
	ev("fork", bad(CALL(SYS_clone3, NOWHERE, sizeof(args)), EFAULT));
}

/* Threads are no events, whether they come into being or not. */
static void threading(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t thread;
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;

	if (pthread_create(&thread, NULL, quiet_thread, NULL) || pthread_join(thread, NULL))
		_exit(97);
	bad(CALL(SYS_clone, CLONE_THREAD, 0, 0, 0, 0), EINVAL);
	if (clone(raw_thread, stack + sizeof(stack), (int)flags, NULL, NULL, NULL, &thread_lives) <
	    0)
		_exit(97);
	while (__atomic_load_n(&thread_lives, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void waiting(void)
{
	siginfo_t info;
	int status = 0;
	long pid, r;

	r = CALL(SYS_wait4, -1, L(&status), 0, 0);
	ev("wait", bad(r, ECHILD), D("options", 0));
	ev("wait", bad(CALL(SYS_wait4, -1, L(&status), 0x4000, 0), EINVAL), D("options", 0x4000));
	pid = fork(); /* clone() inside */
	if (!pid) {
		pause();
		_exit(0);
	}
	say_nr = SYS_clone;
	ev("fork", pid, U("flags", CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD));
	ev("wait", ok(CALL(SYS_wait4, pid, L(&status), WNOHANG, 0)), D("options", WNOHANG));
	kill((pid_t)pid, SIGTERM);
	r = ok(CALL(SYS_waitid, P_PID, pid, L(&info), WEXITED | WNOWAIT, 0));
	if (info.si_status != SIGTERM)
		_exit(96);
	ev("wait", r, D("options", WEXITED | WNOWAIT), RET, D("status", SIGTERM));
	r = ok(CALL(SYS_wait4, pid, 0, __WALL, 0));
	ev("wait", r, D("options", __WALL));
	ev("wait", bad(CALL(SYS_waitid, P_PID, pid, L(&info), WEXITED, 0), ECHILD),
	   D("options", WEXITED));
}

static void exec_failing(void)
{
	static char *const argv[] = { "none", NULL }, *const envp[] = { NULL };
	long at = open_it("sub", O_RDONLY | O_DIRECTORY);

	ev("execve", bad(CALL(SYS_execve, L("none"), L(argv), L(envp)), ENOENT),
	   FILE_AS("pathname_hash", P("none")));
	ev("execve", bad(CALL(SYS_execve, L("a.txt"), L(argv), L(envp)), EACCES),
	   FILE_AS("pathname_hash", P("a.txt")));
	ev("execve", bad(CALL(SYS_execve, NOWHERE, L(argv), L(envp)), EFAULT), RET,
	   TEXT("unresolved", "fault"));
	ev("execve", bad(CALL(SYS_execveat, at, L("none"), L(argv), L(envp), 0), ENOENT),
	   FILE_AS("pathname_hash", P("sub/none")), D("flags", 0));
	ev("execve", bad(CALL(SYS_execveat, NOFD, L("x"), L(argv), L(envp), 0), EBADF),
	   D("flags", 0), RET, TEXT("unresolved", "dirfd"), TEXT("path", "x"));
	close_it(at, "sub");
}

/* Children that become another program: the exec is the last event said. */
static void exec_working(int how)
{
	static char *const argv[] = { "tool", "a b", "", "\"q\"", NULL };
	static char *const script_argv[] = { "script", "x", NULL };
	static char *const envp[] = { "LC_ALL=C", NULL };
	const char *cmd = "tool;a b;;\"q\"";
	long at = AT_FDCWD;

	begin();
	if (how >= 2 && how <= 4)
		at = how == 4 ? open_it("tool", O_RDONLY | O_CLOEXEC) :
				open_it("sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	say_nr = how < 2 ? SYS_execve : SYS_execveat;
	switch (how) {
	case 0: /* by a symbolic link */
		ev("execve", 0, FILE_AS("pathname_hash", P("sub/toollink")), STRING("cmd_hash", cmd));
		say_word("exec", NULL);
		CALL(SYS_execve, L("sub/toollink"), L(argv), L(envp));
		break;
	case 1: /* a script: the kernel puts the interpreter's words before */
		ev("execve", 0, FILE_AS("pathname_hash", P("script")),
		   STRING("cmd_hash", "/bin/sh;-e;./script;x"), FILE_AS("interp_hash", "/bin/sh"));
		say_word("exec", NULL);
		CALL(SYS_execve, L("./script"), L(script_argv), L(envp));
		break;
	case 2:
		ev("execve", 0, FILE_AS("pathname_hash", P("sub/toollink")), STRING("cmd_hash", cmd),
		   D("flags", 0));
		say_word("exec", NULL);
		CALL(SYS_execveat, at, L("toollink"), L(argv), L(envp), 0);
		break;
	case 3:
		ev("execve", 0, FILE_AS("pathname_hash", P("tool")), STRING("cmd_hash", cmd),
		   D("flags", AT_SYMLINK_NOFOLLOW));
		say_word("exec", NULL);
		CALL(SYS_execveat, at, L(P("tool")), L(argv), L(envp), AT_SYMLINK_NOFOLLOW);
		break;
	case 4:
		ev("execve", 0, FILE_AS("pathname_hash", P("tool")), STRING("cmd_hash", cmd),
		   D("flags", AT_EMPTY_PATH));
		say_word("exec", NULL);
		CALL(SYS_execveat, at, L(""), L(argv), L(envp), AT_EMPTY_PATH);
		break;
	}
	perror("exec");
	_exit(95);
}

/* ---- calls interrupted and begun again ---- */

static int *signals; /* handled so far; shared with the child that sends them */

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(signals, 1, __ATOMIC_SEQ_CST);
}

static void until_signals(int n)
{
	while (__atomic_load_n(signals, __ATOMIC_SEQ_CST) < n)
		sched_yield();
}

/* Waits until a process sleeps in the system call. */
static void until_in_call(pid_t pid, long nr)
{
	char path[64], text[128], want[16];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	snprintf(want, sizeof(want), "%ld ", nr);
	for (;;) {
		int fd = open(path, O_RDONLY);

		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n <= 0)
			_exit(94);
		text[n] = '\0';
		if (!strncmp(text, want, strlen(want)))
			return;
		sched_yield();
	}
}

/* Holds the lock and sends the signals. */
static void disturb(pid_t victim)
{
	int fd = open("data", O_RDONLY);

	if (fd < 0 || flock(fd, LOCK_EX))
		_exit(94);
	__atomic_store_n(signals, 1, __ATOMIC_SEQ_CST);
	until_in_call(victim, SYS_flock);
	kill(victim, SIGUSR1); /* restarted by the kernel */
	until_signals(2);
	until_in_call(victim, SYS_flock);
	kill(victim, SIGUSR2); /* fails with EINTR */
	until_in_call(victim, SYS_wait4);
	kill(victim, SIGUSR1);
	until_signals(4);
	until_in_call(victim, SYS_wait4);
	_exit(0);
}

static void interrupted(void)
{
	struct sigaction again = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction once = { .sa_handler = on_signal };
	long fd = open_it("data", O_RDONLY), r;
	pid_t me = getpid(), child;
	int status = -1;

	signals = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (signals == MAP_FAILED)
		_exit(97);
	sigaction(SIGUSR1, &again, NULL);
	sigaction(SIGUSR2, &once, NULL);
	child = fork();
	if (!child)
		disturb(me);
	say_nr = SYS_clone;
	ev("fork", child, U("flags", CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD));
	until_signals(1);
	bad(CALL(SYS_flock, fd, LOCK_EX), EINTR);
	/* Twice in the kernel, once for the program. */
	for (int i = 0; i < 2; i++)
		ev("flock", -EINTR, F(P("data")), D("operation", LOCK_EX), RET, D("restarted", 1));
	r = ok(CALL(SYS_wait4, child, L(&status), 0, 0));
	ev("wait", -EINTR, D("options", 0), RET, D("restarted", 1));
	ev("wait", r, D("options", 0), RET, D("status", status));
	close_it(fd, "data");
}

/* ---- */

static void in_child(void (*work)(void))
{
	pid_t child = fork();

	if (!child)
		work();
	say_nr = SYS_clone;
	ev("fork", child, U("flags", CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD));
	wait_for(child, 0);
}

static int exec_how;

static void exec_in_child(void)
{
	exec_working(exec_how);
}

static void processes(void)
{
	forking();
	threading();
	waiting();
	exec_failing();
	ev("symlink", ok(CALL(SYS_symlinkat, L("../tool"), AT_FDCWD, L("sub/toollink"))),
	   F(P("sub/toollink")), STRING("target_hash", "../tool"));
	for (exec_how = 0; exec_how < 5; exec_how++)
		in_child(exec_in_child);
	in_child(other_root);
}

int main(void)
{
	if (!getcwd(cwd, sizeof(cwd)))
		return 1;
	umask(0);
	begin();
	opening_by_name();
	opening_specially();
	making_links();
	making_nodes();
	reading_and_writing();
	reading_positioned();
	reading_vectors();
	syncing_and_sizes();
	asking();
	asking_more();
	modes_and_owners();
	times();
	extended_attributes();
	extended_attributes_at();
	shapes_of_names();
	bases_of_names();
	renaming_and_removing();
	directories();
	duplicating();
	controlling();
	mapping();
	copying();
	piping();
	processes();
	interrupted();
	end();
	return 0;
}
