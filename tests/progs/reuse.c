// SPDX-License-Identifier: MIT
/*
 * Makes and removes names as fast as it can, so that the kernel uses its directory entries, inodes
 * and mounts again for others. In each round the offset of a pwrite is the number of the round, which
 * tells what the file was called. Runs in an empty directory (mounts: anywhere).
 *
 *   reuse links N           dI/sub/f, a hard link, written to
 *   reuse files N           dI/f, written to
 *   reuse cwd N             access("nI") in the directory dI/w
 *   reuse sides N           in/sub/f in even rounds, out/sub/f in odd ones, written to
 *   reuse mounts N FILE...  FILE[I % files] in a new copy of the mount namespace
 */
#include "say.h"

#include <sched.h>
#include <sys/stat.h>

#define NAME 64

static void write_and_remove(const char *path, int flags, long i)
{
	int fd = open(path, flags, 0600);

	if (fd < 0 || pwrite(fd, "x", 1, i) != 1 || close(fd) || unlink(path))
		_exit(1);
}

static void hard_linked(const char *dir, long i)
{
	char sub[NAME], path[NAME];

	snprintf(sub, sizeof(sub), "%.32s/sub", dir);
	snprintf(path, sizeof(path), "%.32s/sub/f", dir);
	if (mkdir(dir, 0700) || mkdir(sub, 0700) || link("keep", path))
		_exit(1);
	write_and_remove(path, O_RDWR, i);
	if (rmdir(sub) || rmdir(dir))
		_exit(1);
}

static void links(long n)
{
	for (long i = 0; i < n; i++) {
		char dir[NAME];

		snprintf(dir, sizeof(dir), "d%ld", i);
		hard_linked(dir, i);
	}
}

static void sides(long n)
{
	for (long i = 0; i < n; i++)
		hard_linked(i % 2 ? "out" : "in", i);
}

static void files(long n)
{
	for (long i = 0; i < n; i++) {
		char dir[NAME], path[NAME];

		snprintf(dir, sizeof(dir), "d%ld", i);
		snprintf(path, sizeof(path), "d%ld/f", i);
		if (mkdir(dir, 0700))
			_exit(1);
		write_and_remove(path, O_CREAT | O_EXCL | O_RDWR, i);
		if (rmdir(dir))
			_exit(1);
	}
}

static void cwd(long n)
{
	int top = open(".", O_RDONLY | O_DIRECTORY);

	for (long i = 0; i < n; i++) {
		char dir[NAME], sub[NAME], name[NAME];

		snprintf(dir, sizeof(dir), "d%ld", i);
		snprintf(sub, sizeof(sub), "d%ld/w", i);
		snprintf(name, sizeof(name), "n%ld", i);
		if (mkdir(dir, 0700) || mkdir(sub, 0700) || chdir(sub))
			_exit(1);
		if (syscall(SYS_faccessat, AT_FDCWD, name, F_OK) != -1 || errno != ENOENT)
			_exit(1);
		if (fchdir(top) || rmdir(sub) || rmdir(dir))
			_exit(1);
	}
}

static void mounts(long n, char **file, int number)
{
	for (long i = 0; i < n; i++) {
		int fd;

		if (unshare(CLONE_NEWNS))
			_exit(1);
		fd = open(file[i % number], O_RDWR);
		if (fd < 0 || pwrite(fd, "x", 1, i) != 1 || close(fd))
			_exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(what, "mounts") && argc > 3) {
		mounts(n, argv + 3, argc - 3);
		return 0;
	}
	if (close(open("keep", O_CREAT | O_RDWR, 0600)))
		return 1;
	if (!strcmp(what, "links"))
		links(n);
	else if (!strcmp(what, "sides"))
		sides(n);
	else if (!strcmp(what, "files"))
		files(n);
	else if (!strcmp(what, "cwd"))
		cwd(n);
	else
		return 2;
	return 0;
}
