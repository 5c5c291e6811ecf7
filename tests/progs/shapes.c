// SPDX-License-Identifier: MIT
/*
 * Calls and processes of unusual shape, each under its own word. Where it says so, a program prints a
 * line and goes on when it gets one.
 *
 *   shapes overlap                    results written over the path given; says the events (say.h)
 *   shapes chroot DIR                 root DIR, cwd /sub in it; a line; access("rel")
 *   shapes gone DIR                   cwd DIR, removed; a line; access("rel")
 *   shapes uring N FILE               N io_uring_enter, each with a read in a worker; then _exit(7)
 *   shapes handle FILE                opens a file of this (ext4) mount by handle, its name forgotten
 *   shapes brood N CALLS FILE         N children one after another, each making CALLS preads
 *   shapes pipes N COMMAND            N pipes, one byte through each; then the shell's COMMAND
 *   shapes daemon FILE CALLS FILE2    a line; CALLS preads of FILE, calls on many more files, a daemon
 *                                     that says its pid; it waits for a line and writes CALLS bytes to FILE2
 *   shapes idle THREADS CALLS FILE    threads that do nothing; a line; CALLS preads; _exit(7)
 */
#include "say.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define SKIPPED 77 /* exit status: the kernel or file system has not what it takes */

static void say_line(const char *text)
{
	dprintf(STDOUT_FILENO, "%s\n", text);
}

static void await_line(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1)
		if (c == '\n')
			return;
	_exit(3);
}

static int need(int value)
{
	if (value < 0) {
		perror("shapes");
		_exit(1);
	}
	return value;
}

static void read_often(int fd, long calls)
{
	char c;

	for (long i = 0; i < calls; i++)
		if (pread(fd, &c, 1, i) != 1)
			_exit(1);
}

/* ---- results over the path ---- */

static char cwd[4096], full[8192];

static const char *whole(const char *name)
{
	snprintf(full, sizeof(full), "%s/%s", cwd, name);
	return full;
}

/* The buffer holds the text; both path and result of the call that follows. */
static long over(char *buf, const char *text)
{
	strcpy(buf, text);
	return L(buf);
}

static void overlap(void)
{
	static char b[8192] __attribute__((aligned(4096)));
	const char *name = "f";
	char *unaligned = b + 4090;

	if (!getcwd(cwd, sizeof(cwd)))
		_exit(1);
	close(need(open(name, O_CREAT | O_RDWR, 0600)));
	need(symlink("target of the link", "link"));
	if (setxattr(name, "user.abc", "VALUE", 6, 0))
		_exit(SKIPPED);
	begin();
	ev("getxattr", ok(CALL(SYS_getxattr, over(b, name), L("user.abc"), L(b), 100)),
	   F(whole(name)), TEXT("xattr", "user.abc"), U("size", 100));
	ev("lgetxattr", ok(CALL(SYS_lgetxattr, over(b, name), L("user.abc"), L(b), 100)),
	   F(whole(name)), TEXT("xattr", "user.abc"), U("size", 100));
	ev("lgetxattr", ok(CALL(SYS_lgetxattr, L(name), over(b, "user.abc"), L(b), 100)),
	   F(whole(name)), TEXT("xattr", "user.abc"), U("size", 100));
	ev("getxattr", ok(CALL(SYS_getxattr, L(name), over(b, "user.abc"), L(b), 100)),
	   F(whole(name)), TEXT("xattr", "user.abc"), U("size", 100));
	ev("listxattr", ok(CALL(SYS_listxattr, over(b, name), L(b), 100)), F(whole(name)),
	   U("size", 100));
	ev("llistxattr", ok(CALL(SYS_llistxattr, over(b, name), L(b), 100)), F(whole(name)),
	   U("size", 100));
#ifdef SYS_stat
	ev("stat", ok(CALL(SYS_stat, over(b, name), L(b))), F(whole(name)));
	ev("lstat", ok(CALL(SYS_lstat, over(b, name), L(b))), F(whole(name)));
	ev("readlink", ok(CALL(SYS_readlink, over(b, "link"), L(b), 100)), F(whole("link")),
	   D("bufsize", 100));
#endif
	ev("stat", ok(CALL(SYS_newfstatat, AT_FDCWD, over(unaligned, name), L(b + 4080), 0)),
	   F(whole(name)), D("flags", 0));
	ev("stat", ok(CALL(SYS_statx, AT_FDCWD, over(b, name), 0, STATX_SIZE, L(b))),
	   F(whole(name)), D("flags", 0), U("mask", STATX_SIZE));
	ev("statvfs", ok(CALL(SYS_statfs, over(b, name), L(b))), F(whole(name)));
	ev("readlink", ok(CALL(SYS_readlinkat, AT_FDCWD, over(b, "link"), L(b), 100)),
	   F(whole("link")), D("bufsize", 100));
	end();
}

/* ---- other roots, no directory, io_uring, handles ---- */

static void other_root(const char *dir)
{
	need(mkdir(dir, 0700));
	need(chdir(dir));
	need(mkdir("sub", 0700));
	need(chroot("."));
	need(chdir("/sub"));
}

static void gone(const char *dir)
{
	need(mkdir(dir, 0700));
	need(chdir(dir));
	need(rmdir(dir));
}

static void ask(void)
{
	say_line("live");
	await_line();
	syscall(SYS_faccessat, AT_FDCWD, "rel", F_OK);
}

static void uring(long calls, const char *path)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 8, &p), fd = need(open(path, O_RDONLY));
	unsigned int *tail, *array;
	struct io_uring_sqe *sqe;
	char byte, *sq;

	if (ring < 0)
		_exit(SKIPPED);
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqe == MAP_FAILED)
		_exit(1);
	tail = (unsigned int *)(sq + p.sq_off.tail);
	array = (unsigned int *)(sq + p.sq_off.array);
	for (long i = 0; i < calls; i++) {
		unsigned int at = *tail % p.sq_entries;

		memset(&sqe[at], 0, sizeof(sqe[at]));
		sqe[at].opcode = IORING_OP_READ;
		sqe[at].fd = fd;
		sqe[at].addr = (uintptr_t)&byte;
		sqe[at].len = 1;
		sqe[at].flags = IOSQE_ASYNC;
		array[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			_exit(1);
	}
	_exit(7);
}

/* Remounting drops what the kernel knows of the names below. */
static void by_handle(const char *path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h.handle_bytes = MAX_HANDLE_SZ };
	int id, fd, top = need(open(".", O_RDONLY | O_DIRECTORY));
	char link[64], name[4096] = "";

	need(name_to_handle_at(AT_FDCWD, path, &u.h, &id, 0));
	need(mount(NULL, ".", NULL, MS_REMOUNT, NULL));
	fd = need(open_by_handle_at(top, &u.h, O_RDWR));
	if (pwrite(fd, "x", 1, 5) != 1)
		_exit(1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	need((int)readlink(link, name, sizeof(name) - 1));
	need(close(fd));
	say_line(name);
}

/* ---- processes ---- */

static void brood(long n, long calls, const char *path)
{
	int fd = need(open(path, O_RDONLY));
	pid_t *child = calloc((size_t)n, sizeof(*child));

	for (long i = 0; i < n; i++) {
		int status;

		child[i] = need(fork());
		if (!child[i]) {
			read_often(fd, calls);
			_exit(0);
		}
		if (waitpid(child[i], &status, 0) != child[i] || status)
			_exit(1);
	}
	for (long i = 0; i < n; i++)
		dprintf(STDOUT_FILENO, "%d\n", child[i]);
	free(child);
}

static int many_pipes(long n, const char *command)
{
	for (long i = 0; i < n; i++) {
		int ends[2];
		char c;

		if (pipe(ends) || write(ends[1], "x", 1) != 1 || read(ends[0], &c, 1) != 1 ||
		    close(ends[0]) || close(ends[1]))
			_exit(1);
	}
	return system(command) ? 1 : 0;
}

/* So that there is no room even for the records of which calls leave some. */
static void use_many_files(void)
{
	struct stat st;

	for (int i = 0; i < 100; i++)
		need(fstat(need(memfd_create("", 0)), &st));
}

static void leave_daemon(const char *path, long calls, const char *out)
{
	int fd = need(open(path, O_RDONLY));
	char text[32];
	pid_t pid;

	say_line("live");
	await_line();
	read_often(fd, calls);
	use_many_files();
	pid = need(fork());
	if (pid)
		_exit(0);
	need(setsid());
	snprintf(text, sizeof(text), "%d", getpid());
	say_line(text);
	await_line();
	fd = need(open(out, O_CREAT | O_WRONLY, 0600));
	for (long i = 0; i < calls; i++)
		if (pwrite(fd, "x", 1, i) != 1)
			_exit(1);
}

static void *idler(void *arg)
{
	pause();
	return arg;
}

static void idle(int threads, long calls, const char *path)
{
	int fd = need(open(path, O_RDONLY));
	pthread_t thread;

	for (int i = 0; i < threads; i++)
		need(-pthread_create(&thread, NULL, idler, NULL));
	say_line("live");
	await_line();
	read_often(fd, calls);
	_exit(7);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "overlap"))
		overlap();
	else if (!strcmp(what, "chroot") && argc == 3)
		other_root(argv[2]), ask();
	else if (!strcmp(what, "gone") && argc == 3)
		gone(argv[2]), ask();
	else if (!strcmp(what, "uring") && argc == 4)
		uring(atol(argv[2]), argv[3]);
	else if (!strcmp(what, "handle") && argc == 3)
		by_handle(argv[2]);
	else if (!strcmp(what, "brood") && argc == 5)
		brood(atol(argv[2]), atol(argv[3]), argv[4]);
	else if (!strcmp(what, "pipes") && argc == 4)
		return many_pipes(atol(argv[2]), argv[3]);
	else if (!strcmp(what, "daemon") && argc == 5)
		leave_daemon(argv[2], atol(argv[3]), argv[4]);
	else if (!strcmp(what, "idle") && argc == 5)
		idle(atoi(argv[2]), atol(argv[3]), argv[4]);
	else
		return 2;
	return 0;
}
