// SPDX-License-Identifier: MIT
/*
 * Descriptors that come and go by other ways than open and close: shared tables, passed and fetched
 * descriptors, exec, files without a name. Says what the trace must hold, with the names that
 * /proc/self/fd gives. Runs in an empty directory.
 *
 *   descriptors               all of it
 *   descriptors after KEPT CLOSED   what follows an exec (by itself)
 */
#include "say.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char cwd[4096];

/* The absolute name of a file in our directory. */
static const char *P(const char *rel)
{
	static __thread char ring[16][4400];
	static __thread unsigned int next;
	char *out = ring[next++ % 16];

	snprintf(out, sizeof(ring[0]), "%s/%s", cwd, rel);
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

static void write_it(long fd, const char *name, long at)
{
	ev("pwrite", ok(CALL(SYS_pwrite64, fd, L("x"), 1, at)), F(name), U("count", 1),
	   D("offset", at));
}

static void write_deleted(long fd, const char *name, long at)
{
	ev("pwrite", ok(CALL(SYS_pwrite64, fd, L("x"), 1, at)), F(name), U("count", 1),
	   D("offset", at), RET, D("deleted", 1));
}

/* A number that stands for nothing: the error, and no name. */
static void write_nothing(long fd)
{
	ev("pwrite", bad(CALL(SYS_pwrite64, fd, L("x"), 1, 0), EBADF), U("count", 1),
	   D("offset", 0));
}

static void close_it(long fd, const char *name)
{
	ev("close", ok(CALL(SYS_close, fd)), F(name));
}

/* The kernel's own name of what is open, and whether it is deleted; asking is an event, too. */
static const char *ask_name(long fd, bool deleted)
{
	static __thread char ring[8][4400];
	static __thread unsigned int next;
	char link[64], *out = ring[next++ % 8], *mark;
	long n;

	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	n = ok(CALL(SYS_readlinkat, AT_FDCWD, L(link), L(out), 4095));
	ev("readlink", n, F(link), D("bufsize", 4095));
	out[n] = '\0';
	mark = strstr(out, " (deleted)");
	if (deleted != !!mark)
		_exit(97);
	if (mark)
		*mark = '\0';
	return out;
}

static void wait_it(pid_t child)
{
	int status = -1;

	/* Children of clone() without a signal want __WALL; the others do not mind. */
	ev("wait", ok(CALL(SYS_wait4, child, L(&status), __WALL, 0)), D("options", __WALL), RET,
	   D("status", 0));
	if (status)
		_exit(92);
}

/* ---- duplicates ---- */

static void duplicates(void)
{
	long fd, copy;

	begin();
	fd = open_it("a", O_CREAT | O_RDWR);
	copy = ok(CALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 250));
	ev("fcntl", copy, F(P("a")), D("cmd", F_DUPFD_CLOEXEC), U("arg", 250));
	if (copy != 250)
		_exit(97);
	close_it(fd, P("a"));
	write_it(copy, P("a"), 1);
	write_nothing(fd);
	ev("dup3", ok(CALL(SYS_dup3, copy, 260, O_CLOEXEC)), F(P("a")), D("newfd", 260),
	   D("flags", O_CLOEXEC));
	close_it(copy, P("a"));
	write_it(260, P("a"), 2);
	close_it(260, P("a"));
	end();
}

static void exec_it(const char *self)
{
	int kept = open("kept", O_CREAT | O_RDWR, 0600);
	int closed = open("closed", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int gone = fcntl(closed, F_DUPFD_CLOEXEC, 400);
	char first[16], second[16], third[16];

	if (kept < 0 || closed < 0 || gone != 400)
		_exit(90);
	snprintf(first, sizeof(first), "%d", kept);
	snprintf(second, sizeof(second), "%d", closed);
	snprintf(third, sizeof(third), "%d", gone);
	execl(self, self, "after", first, second, third, (char *)NULL);
	_exit(90);
}

static void after_exec(long kept, long closed, long gone)
{
	long fd;

	begin();
	write_nothing(closed);
	write_nothing(gone);
	write_it(kept, P("kept"), 1);
	fd = open_it("other", O_CREAT | O_RDWR);
	if (fd != closed)
		_exit(97);
	write_it(closed, P("other"), 2);
	close_it(closed, P("other"));
	close_it(kept, P("kept"));
	end();
}

/* ---- tables ---- */

/* As fork(), with more flags. */
static pid_t clone_it(long flags)
{
	long child = ok(CALL(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));

	if (child)
		ev("fork", child, U("flags", flags | SIGCHLD));
	return (pid_t)child;
}

/* The child opens, the parent uses the number: its file when they share, nothing when not. */
static void child_opens(bool shares)
{
	pid_t child = clone_it(shares ? CLONE_FILES : 0);
	const long fd = 7;

	if (!child) {
		long at;

		begin();
		at = open_it("childs", O_CREAT | O_RDWR);
		ev("dup3", ok(CALL(SYS_dup3, at, fd, 0)), F(P("childs")), D("newfd", fd),
		   D("flags", 0));
		close_it(at, P("childs"));
		write_it(fd, P("childs"), 1);
		end();
		_exit(0);
	}
	wait_it(child);
	if (!shares) {
		write_nothing(fd);
		return;
	}
	write_it(fd, P("childs"), 2);
	close_it(fd, P("childs"));
}

/* The child closes: the parent has the file still when they do not share. */
static void child_closes(long flags, bool range)
{
	long fd = open_it("parents", O_CREAT | O_RDWR), at = 1000;
	pid_t child;

	ev("dup3", ok(CALL(SYS_dup3, fd, at, 0)), F(P("parents")), D("newfd", at), D("flags", 0));
	child = clone_it(flags);
	if (!child) {
		begin();
		if (range) {
			ok(CALL(SYS_close_range, at, ~0u, CLOSE_RANGE_UNSHARE));
			ev("close", 0, F(P("parents")), RET, TEXT("via", "close_range"));
			ev("close_range", 0, U("first", at), U("last", ~0u),
			   U("flags", CLOSE_RANGE_UNSHARE));
		} else {
			close_it(at, P("parents"));
		}
		write_nothing(at);
		end();
		_exit(0);
	}
	wait_it(child);
	if ((flags & CLONE_FILES) && !range) {
		write_nothing(at);
	} else {
		write_it(at, P("parents"), 3);
		close_it(at, P("parents"));
	}
	close_it(fd, P("parents"));
}

static void shared_tables(void)
{
	begin();
	child_opens(true);
	child_opens(false);
	child_closes(0, false);
	child_closes(CLONE_FILES, false);
	child_closes(CLONE_FILES, true);
	end();
}

static pthread_barrier_t turn;
static const long slot = 500;

static void meet(void)
{
	int err = pthread_barrier_wait(&turn);

	if (err && err != PTHREAD_BARRIER_SERIAL_THREAD)
		_exit(94);
}

static void put(const char *path)
{
	long fd = open_it(path, O_CREAT | O_RDWR);

	ev("dup3", ok(CALL(SYS_dup3, fd, slot, 0)), F(P(path)), D("newfd", slot), D("flags", 0));
	close_it(fd, P(path));
}

static void *other_thread(void *arg)
{
	begin();
	write_it(slot, P("shared"), 1);
	ok(CALL(SYS_unshare, CLONE_FILES));
	ev("close", ok(CALL(SYS_close, slot)), F(P("shared")));
	put("own");
	meet();
	/* The same number is two files now. */
	write_it(slot, P("own"), 2);
	meet();
	close_it(slot, P("own"));
	end();
	return arg;
}

/* Two threads share a table until one of them wants its own. */
static void unshared(void)
{
	pthread_t thread;

	if (pthread_barrier_init(&turn, NULL, 2))
		_exit(94);
	begin();
	put("shared");
	if (pthread_create(&thread, NULL, other_thread, NULL))
		_exit(94);
	meet();
	write_it(slot, P("shared"), 3);
	meet();
	close_it(slot, P("shared"));
	if (pthread_join(thread, NULL))
		_exit(94);
	end();
}

/* ---- from one process to another ---- */

static void send_fd(int sock, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = "", text = 't';
	struct iovec iov = { .iov_base = &text, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	if (sendmsg(sock, &msg, 0) != 1)
		_exit(95);
}

static int receive_fd(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], text;
	struct iovec iov = { .iov_base = &text, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &msg, 0) != 1)
		_exit(95);
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		_exit(95);
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static void passed(void)
{
	int sock[2], fd;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		_exit(95);
	begin();
	child = clone_it(0);
	if (!child) {
		begin();
		fd = (int)open_it("sent", O_CREAT | O_RDWR);
		write_it(fd, P("sent"), 1);
		send_fd(sock[1], fd);
		close_it(fd, P("sent"));
		end();
		_exit(0);
	}
	fd = receive_fd(sock[0]);
	wait_it(child);
	/* Nobody has the file open but the one who never opened it. */
	write_it(fd, ask_name(fd, false), 2);
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L("sent"), 0)), F(P("sent")));
	write_deleted(fd, ask_name(fd, true), 3);
	ev("close", ok(CALL(SYS_close, fd)), F(P("sent")), RET, D("deleted", 1));
	end();
}

static void fetched(void)
{
	int sock[2];
	long fd, pidfd, target;
	char text;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		_exit(95);
	begin();
	child = clone_it(0);
	if (!child) {
		int at;

		begin();
		at = (int)open_it("fetched", O_CREAT | O_RDWR);
		end();
		if (send(sock[1], &at, sizeof(at), 0) != sizeof(at) ||
		    recv(sock[1], &text, 1, 0) != 1)
			_exit(95);
		_exit(0);
	}
	{
		int at;

		if (recv(sock[0], &at, sizeof(at), 0) != sizeof(at))
			_exit(95);
		target = at;
	}
	pidfd = ok(CALL(SYS_pidfd_open, child, 0));
	fd = ok(CALL(SYS_pidfd_getfd, pidfd, target, 0));
	if (send(sock[0], "x", 1, 0) != 1)
		_exit(95);
	wait_it(child);
	write_it(fd, ask_name(fd, false), 4);
	close_it(fd, P("fetched"));
	evc("anon", "close", ok(CALL(SYS_close, pidfd)), F("anon_inode:[pidfd]"));
	end();
}

/* ---- special files ---- */

static void only_a_path(void)
{
	struct stat st;
	char link[64];
	long fd, copy, again;

	close(open("path", O_CREAT | O_RDWR, 0600));
	begin();
	fd = open_it("path", O_PATH);
	copy = ok(CALL(SYS_dup, fd));
	ev("dup", copy, F(P("path")), D("newfd", copy));
	ev("pwrite", bad(CALL(SYS_pwrite64, copy, L("x"), 1, 0), EBADF), F(P("path")),
	   U("count", 1), D("offset", 0));
	ev("fstat", ok(CALL(SYS_fstat, copy, L(&st))), F(P("path")));
	/* What it stands for, opened to be written, under the file's own name. */
	snprintf(link, sizeof(link), "/proc/self/fd/%ld", copy);
	again = ok(CALL(SYS_openat, AT_FDCWD, L(link), O_RDWR));
	ev("open", again, F(P("path")), D("flags", O_RDWR));
	write_it(again, ask_name(again, false), 1);
	close_it(again, P("path"));
	close_it(copy, P("path"));
	close_it(fd, P("path"));
	end();
}

static void opened_again(void)
{
	char link[64];
	long fd, again;

	begin();
	fd = open_it("again", O_CREAT | O_RDWR);
	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L("again"), 0)), F(P("again")));
	again = ok(CALL(SYS_openat, AT_FDCWD, L(link), O_RDWR));
	ev("open", again, F(P("again")), D("flags", O_RDWR), RET, D("deleted", 1));
	ev("close", ok(CALL(SYS_close, fd)), F(P("again")), RET, D("deleted", 1));
	write_deleted(again, ask_name(again, true), 1);
	/* Its name is another file's now: that one is not deleted, and the two are not mixed up. */
	fd = open_it("again", O_CREAT | O_EXCL | O_RDWR);
	write_it(fd, P("again"), 2);
	write_deleted(again, P("again"), 3);
	ev("close", ok(CALL(SYS_close, again)), F(P("again")), RET, D("deleted", 1));
	close_it(fd, P("again"));
	end();
}

static void memory(void)
{
	char link[64];
	long fd, again;

	begin();
	fd = ok(CALL(SYS_memfd_create, L("a b"), MFD_CLOEXEC));
	write_it(fd, "/memfd:a b", 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	again = ok(CALL(SYS_openat, AT_FDCWD, L(link), O_RDWR));
	ev("open", again, F("/memfd:a b"), D("flags", O_RDWR));
	close_it(fd, "/memfd:a b");
	write_it(again, "/memfd:a b", 2);
	close_it(again, "/memfd:a b");
	end();
}

/* A file without a name that is given one: its first descriptor has none still. */
static void named_later(void)
{
	char link[64];
	const char *name;
	long fd, other;

	if (mkdir("unnamed", 0700))
		_exit(90);
	fd = open("unnamed", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		_exit(90);
	begin();
	name = ask_name(fd, true);
	write_deleted(fd, name, 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%ld", fd);
	ev("link", ok(CALL(SYS_linkat, AT_FDCWD, L(link), AT_FDCWD, L("named"), AT_SYMLINK_FOLLOW)),
	   F(link), FILE_AS("newpath_hash", P("named")), U("flags", AT_SYMLINK_FOLLOW));
	write_deleted(fd, ask_name(fd, true), 2);
	other = open_it("named", O_RDWR);
	write_it(other, P("named"), 3);
	close_it(other, P("named"));
	ev("close", ok(CALL(SYS_close, fd)), F(name), RET, D("deleted", 1));
	end();
}

/* Each in a child, so that none finds what another one left open. */
static void in_child(void (*work)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		work();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		_exit(93);
}

static const char *self;

static void exec_self(void)
{
	exec_it(self);
}

int main(int argc, char **argv)
{
	if (!getcwd(cwd, sizeof(cwd)))
		return 1;
	if (argc == 5 && !strcmp(argv[1], "after")) {
		after_exec(atol(argv[2]), atol(argv[3]), atol(argv[4]));
		return 0;
	}
	self = argv[0];
	in_child(duplicates);
	in_child(exec_self);
	in_child(shared_tables);
	in_child(unshared);
	in_child(passed);
	in_child(fetched);
	in_child(only_a_path);
	in_child(opened_again);
	in_child(memory);
	in_child(named_later);
	return 0;
}
