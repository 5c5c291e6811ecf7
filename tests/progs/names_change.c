// SPDX-License-Identifier: MIT
/*
 * Files whose names change while they are open, and descriptors whose files change while a call is
 * at work on them. Says what the trace must hold. Runs in an empty directory, as root.
 */
#include "say.h"

#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char cwd[4096];

static char *P(const char *rel)
{
	char *out = malloc(strlen(cwd) + strlen(rel) + 2);

	sprintf(out, "%s/%s", cwd, rel);
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

static void make(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		_exit(90);
}

static char byte[8];

static void read_it(long fd, const char *name)
{
	ev("pread", ok(CALL(SYS_pread64, fd, L(byte), 1, 0)), F(name), U("count", 1),
	   D("offset", 0));
}

static void close_it(long fd, const char *name)
{
	ev("close", ok(CALL(SYS_close, fd)), F(name));
}

/* ---- one file, several names ---- */

static void hard_links_and_mounts(void)
{
	long fd[5];
	static const char *const names[5] = { "one", "two", "dir/three", "mount1", "mount2" };

	make("one", "1");
	if (mkdir("dir", 0700) || link("one", "two") || link("one", "dir/three") ||
	    unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(90);
	make("mount1", "");
	make("mount2", "");
	if (mount("one", "mount1", NULL, MS_BIND, NULL) ||
	    mount("two", "mount2", NULL, MS_BIND, NULL))
		_exit(90);
	begin();
	for (int i = 0; i < 5; i++)
		fd[i] = open_it(names[i], O_RDWR);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 5; i++)
			read_it(fd[i], P(names[i]));
	for (int i = 4; i >= 0; i--)
		close_it(fd[i], P(names[i]));
	end();
}

static void mounted_directories(void)
{
	long fd[3];

	make("dir/file", "1");
	if (mkdir("m1", 0700) || mkdir("m2", 0700) || mount("dir", "m1", NULL, MS_BIND, NULL) ||
	    mount("m1", "m2", NULL, MS_BIND, NULL))
		_exit(90);
	begin();
	fd[0] = open_it("dir/file", O_RDONLY);
	fd[1] = open_it("m1/file", O_RDONLY);
	fd[2] = open_it("m2/file", O_RDONLY);
	read_it(fd[0], P("dir/file"));
	read_it(fd[1], P("m1/file"));
	read_it(fd[2], P("m2/file"));
	/* Renamed through one of them. */
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("m1/file"), AT_FDCWD, L("m1/other"), 0)),
	   F(P("m1/file")), FILE_AS("newpath_hash", P("m1/other")), U("flags", 0));
	read_it(fd[2], P("m2/other"));
	read_it(fd[1], P("m1/other"));
	read_it(fd[0], P("dir/other"));
	close_it(fd[2], P("m2/other"));
	close_it(fd[1], P("m1/other"));
	close_it(fd[0], P("dir/other"));
	end();
}

/* Mount points that come and go while files below them are open. */
static void moved_mounts(void)
{
	long fd;

	if (mkdir("t1", 0700) || mkdir("t2", 0700) || mount("none", "t1", "tmpfs", 0, NULL))
		_exit(90);
	make("t1/file", "1");
	begin();
	fd = open_it("t1/file", O_RDONLY);
	read_it(fd, P("t1/file"));
	ok(CALL(SYS_mount, L("t1"), L("t2"), 0, MS_MOVE, 0));
	read_it(fd, P("t2/file"));
	ok(CALL(SYS_umount2, L("t2"), MNT_DETACH));
	/* The mount has no place any more: a name from its top, and said so. */
	ev("pread", ok(CALL(SYS_pread64, fd, L(byte), 1, 0)), F("/file"), U("count", 1),
	   D("offset", 0), RET, D("unreachable", 1));
	ev("close", ok(CALL(SYS_close, fd)), F("/file"), RET, D("unreachable", 1));
	end();
}

static void renamed_and_removed(void)
{
	long fd, dir, old;

	make("a", "1");
	make("target", "2");
	if (mkdir("d", 0700) || mkdir("d/e", 0700))
		_exit(90);
	make("d/e/f", "3");
	begin();
	fd = open_it("a", O_RDWR);
	read_it(fd, P("a"));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("a"), AT_FDCWD, L("b"), 0)), F(P("a")),
	   FILE_AS("newpath_hash", P("b")), U("flags", 0));
	read_it(fd, P("b"));
	/* Over another file that is open. */
	old = open_it("target", O_RDWR);
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("b"), AT_FDCWD, L("target"), 0)), F(P("b")),
	   FILE_AS("newpath_hash", P("target")), U("flags", 0));
	read_it(fd, P("target"));
	ev("pread", ok(CALL(SYS_pread64, old, L(byte), 1, 0)), F(P("target")), U("count", 1),
	   D("offset", 0), RET, D("deleted", 1));
	ev("close", ok(CALL(SYS_close, old)), F(P("target")), RET, D("deleted", 1));
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L("target"), 0)), F(P("target")));
	ev("pwrite", ok(CALL(SYS_pwrite64, fd, L("x"), 1, 5)), F(P("target")), U("count", 1),
	   D("offset", 5), RET, D("deleted", 1));
	/* Its old name belongs to another file now. */
	old = open_it("target", O_CREAT | O_RDWR);
	ev("pwrite", ok(CALL(SYS_pwrite64, old, L("x"), 1, 5)), F(P("target")), U("count", 1),
	   D("offset", 5));
	ev("close", ok(CALL(SYS_close, fd)), F(P("target")), RET, D("deleted", 1));
	close_it(old, P("target"));

	/* Directories above it. */
	fd = open_it("d/e/f", O_RDWR);
	dir = open_it("d/e", O_RDONLY | O_DIRECTORY);
	read_it(fd, P("d/e/f"));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("d"), AT_FDCWD, L("D"), 0)), F(P("d")),
	   FILE_AS("newpath_hash", P("D")), U("flags", 0));
	read_it(fd, P("D/e/f"));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("D/e"), AT_FDCWD, L("E"), 0)),
	   F(P("D/e")), FILE_AS("newpath_hash", P("E")), U("flags", 0));
	read_it(fd, P("E/f"));
	ev("access", ok(CALL(SYS_faccessat, dir, L("f"), F_OK)), F(P("E/f")), U("mode", F_OK));
	/* Exchanged. */
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("E"), AT_FDCWD, L("D"), 2)), F(P("E")),
	   FILE_AS("newpath_hash", P("D")), U("flags", 2));
	read_it(fd, P("D/f"));
	/* By somebody else: the same names, and not by a call of ours. */
	if (!fork())
		_exit(rename("D", "F") != 0);
	say_nr = SYS_clone;
	{
		int status = -1;
		pid_t child = wait(&status);

		if (status)
			_exit(90);
		ev("fork", child, U("flags", 0x1200011));
		ev("wait", child, D("options", 0), RET, D("status", 0));
	}
	read_it(fd, P("F/f"));
	close_it(dir, P("F"));
	close_it(fd, P("F/f"));
	end();
}

/* The current directory is renamed and removed under us. */
static void current_directory(void)
{
	begin();
	ev("mkdir", ok(CALL(SYS_mkdirat, AT_FDCWD, L("c"), 0700)), F(P("c")), U("mode", 0700));
	ev("chdir", ok(CALL(SYS_chdir, L("c"))), F(P("c")));
	ev("access", bad(CALL(SYS_faccessat, AT_FDCWD, L("x"), F_OK), ENOENT), F(P("c/x")),
	   U("mode", F_OK));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("../c"), AT_FDCWD, L("../C"), 0)),
	   F(P("c/../c")), FILE_AS("newpath_hash", P("c/../C")), U("flags", 0), RET,
	   D("lexical", 1));
	ev("access", bad(CALL(SYS_faccessat, AT_FDCWD, L("x"), F_OK), ENOENT), F(P("C/x")),
	   U("mode", F_OK));
	ev("chdir", ok(CALL(SYS_chdir, L(cwd))), F(cwd));
	end();
}

/* ---- descriptors ---- */

static pid_t blocked_tid;
static long victim;

static void until_blocked(long nr)
{
	char path[64], text[128], want[16];

	while (!__atomic_load_n(&blocked_tid, __ATOMIC_SEQ_CST))
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", blocked_tid);
	snprintf(want, sizeof(want), "%ld ", nr);
	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		close(fd);
		if (n <= 0)
			_exit(91);
		text[n] = '\0';
		if (!strncmp(text, want, strlen(want)))
			return;
		sched_yield();
	}
}

static void *lock_it(void *arg)
{
	(void)arg;
	begin();
	__atomic_store_n(&blocked_tid, gettid(), __ATOMIC_SEQ_CST);
	ev("flock", ok(CALL(SYS_flock, victim, LOCK_EX)), F(P("old")), D("operation", LOCK_EX), RET,
	   D("replaced", 1));
	/* The number stands for another file by now. */
	ev("flock", ok(CALL(SYS_flock, victim, LOCK_UN)), F(P("new")), D("operation", LOCK_UN));
	end();
	return NULL;
}

static void replaced_under_a_call(void)
{
	int holder, fd;
	pthread_t thread;

	make("old", "1");
	make("new", "22");
	holder = open("old", O_RDONLY);
	victim = open("old", O_RDONLY);
	fd = open("new", O_RDONLY);
	if (holder < 0 || victim < 0 || fd < 0 || flock(holder, LOCK_EX) ||
	    pthread_create(&thread, NULL, lock_it, NULL))
		_exit(90);
	until_blocked(SYS_flock);
	begin();
	ev("dup3", ok(CALL(SYS_dup3, fd, victim, 0)), F(P("new")), D("newfd", victim),
	   D("flags", 0));
	ev("close", 0, F(P("old")), RET, TEXT("via", "dup3"));
	ev("flock", ok(CALL(SYS_flock, holder, LOCK_UN)), F(P("old")), D("operation", LOCK_UN));
	end();
	pthread_join(thread, NULL);
}

/* ---- file systems of other kinds ---- */

static void overlay(void)
{
	long lower, upper;

	if (mkdir("lower", 0700) || mkdir("upper", 0700) || mkdir("ovlwork", 0700) ||
	    mkdir("merged", 0700))
		_exit(90);
	make("lower/file", "1");
	if (mount("overlay", "merged", "overlay", 0,
		  "lowerdir=lower,upperdir=upper,workdir=ovlwork")) {
		say_word("no overlay", NULL);
		begin();
		end();
		return;
	}
	begin();
	lower = open_it("merged/file", O_RDONLY);
	read_it(lower, P("merged/file"));
	/* Copied up by this. */
	upper = open_it("merged/file", O_RDWR);
	ev("pwrite", ok(CALL(SYS_pwrite64, upper, L("x"), 1, 0)), F(P("merged/file")),
	   U("count", 1), D("offset", 0));
	read_it(lower, P("merged/file"));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("merged/file"), AT_FDCWD,
			     L("merged/other"), 0)),
	   F(P("merged/file")), FILE_AS("newpath_hash", P("merged/other")), U("flags", 0));
	read_it(upper, P("merged/other"));
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L("merged/other"), 0)),
	   F(P("merged/other")));
	ev("pread", ok(CALL(SYS_pread64, upper, L(byte), 1, 0)), F(P("merged/other")),
	   U("count", 1), D("offset", 0), RET, D("deleted", 1));
	ev("close", ok(CALL(SYS_close, upper)), F(P("merged/other")), RET, D("deleted", 1));
	ev("close", ok(CALL(SYS_close, lower)), F(P("merged/other")), RET, D("deleted", 1));
	end();
}

static void nameless(void)
{
	long fd;

	begin();
	fd = ok(CALL(SYS_memfd_create, L("some thing"), 0));
	ev("write", ok(CALL(SYS_write, fd, L("12345"), 5)), F("/memfd:some thing"), U("count", 5),
	   D("offset", 0));
	ev("close", ok(CALL(SYS_close, fd)), F("/memfd:some thing"));
	end();
}

/* A file system of its own is left behind by each child. */
static void in_child(void (*work)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		work();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		_exit(92);
}

static void mounts(void)
{
	hard_links_and_mounts();
}

static void more_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(90);
	mounted_directories();
}

static void yet_more_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(90);
	moved_mounts();
}

static void overlay_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(90);
	overlay();
}

int main(void)
{
	if (!getcwd(cwd, sizeof(cwd)))
		return 1;
	in_child(mounts);
	in_child(more_mounts);
	in_child(yet_more_mounts);
	in_child(renamed_and_removed);
	in_child(current_directory);
	in_child(overlay_mounts);
	in_child(nameless);
	replaced_under_a_call();
	return 0;
}
