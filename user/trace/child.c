// SPDX-License-Identifier: MIT
/*
 * CMD: forked first, held at a gate, released once tracing is live.
 *
 * The gate is one close-on-exec socket pair. The child sends a report when it has taken CMD's ids
 * and waits, and another one if the exec fails; a successful exec shows as end of file. We send one
 * byte to open the gate. If we die instead, the child sees end of file and exits. Unlike a stop by
 * signal, this cannot be seen or undone by anybody else, and nothing of it is left in CMD.
 *
 * One thread, before any other exists: that is what makes it safe to do more than async-signal-safe
 * work after the fork.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

enum child_stage {
	CHILD_AT_GATE = 0,
	CHILD_GROUPS = 1,
	CHILD_GID = 2,
	CHILD_UID = 3,
	CHILD_ENVIRONMENT = 4,
	CHILD_EXEC = 5,
	CHILD_INTERPRETER = 6, /* the file is there, what should load it is not */
};

/* Sent by the child; small enough to arrive in one piece. */
struct child_report {
	int32_t stage;
	int32_t err;
};

struct dft_child {
	pid_t pid;
	int pidfd;
	int gate; /* -1 once it was opened */
	bool ended;
	int status;   /* as wait(2) has it, when ended */
	const char *argv0;
	char name[256]; /* argv[0] as messages have it */
	char *user;	/* whom CMD runs as, when changed and known */
};

/* ---- in the child ---- */

static void child_report(int gate, enum child_stage stage, int err)
{
	struct child_report report = { .stage = (int32_t)stage, .err = err };

	/* If the tracer is gone there is nobody to tell, and the gate will say so. */
	if (send(gate, &report, sizeof(report), MSG_NOSIGNAL) != (ssize_t)sizeof(report))
		_exit(DFT_EXIT_TRACER);
}

static void child_fail(int gate, enum child_stage stage, int err, int status)
{
	child_report(gate, stage, err);
	_exit(status);
}

/* Groups, then gid, then uid: after the uid has gone, the others could not be changed any more. */
static void child_become(int gate, const struct dft_identity *id)
{
	if (setgroups(id->cmd_ngroups, id->cmd_groups))
		child_fail(gate, CHILD_GROUPS, errno, DFT_EXIT_TRACER);
	if (setresgid(id->cmd_gid, id->cmd_gid, id->cmd_gid))
		child_fail(gate, CHILD_GID, errno, DFT_EXIT_TRACER);
	if (setresuid(id->cmd_uid, id->cmd_uid, id->cmd_uid))
		child_fail(gate, CHILD_UID, errno, DFT_EXIT_TRACER);
	/* Without a passwd entry they are all unknown, and what is there stays. */
	if (id->cmd_name &&
	    (setenv("HOME", id->cmd_home, 1) || setenv("USER", id->cmd_name, 1) ||
	     setenv("LOGNAME", id->cmd_name, 1) || setenv("SHELL", id->cmd_shell, 1)))
		child_fail(gate, CHILD_ENVIRONMENT, errno, DFT_EXIT_TRACER);
}

/* Blocks until the gate opens, and exits if it never will. */
static void child_wait_at_gate(int gate)
{
	char byte;
	ssize_t n;

	do {
		n = recv(gate, &byte, 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(DFT_EXIT_TRACER);
}

static bool is_type(const char *path, mode_t type)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/*
 * After an exec that failed with ENOENT: whether CMD is there all the same, so that it is its
 * interpreter (or program loader) that is missing.
 */
static bool command_exists(const char *name)
{
	const char *path = getenv("PATH");
	char *file = NULL;
	bool found = false;

	if (!*name)
		return false;
	if (strchr(name, '/'))
		return is_type(name, S_IFREG);
	for (const char *dir = path; dir && !found;) {
		int n = (int)strcspn(dir, ":");

		if (asprintf(&file, "%.*s%s%s", n, dir, n ? "/" : "./", name) < 0)
			return false; /* only a less exact message */
		found = is_type(file, S_IFREG) && access(file, X_OK) == 0;
		free(file);
		dir = dir[n] ? dir + n + 1 : NULL;
	}
	return found;
}

static void child_exec(int gate, char **argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	if (err == EACCES && strchr(argv[0], '/') && is_type(argv[0], S_IFDIR))
		err = EISDIR; /* says more than the kernel's "Permission denied" */
	if (err == ENOENT && command_exists(argv[0]))
		child_fail(gate, CHILD_INTERPRETER, err, DFT_EXIT_NOEXEC);
	child_fail(gate, CHILD_EXEC, err, err == ENOENT ? DFT_EXIT_NOTFOUND : DFT_EXIT_NOEXEC);
}

static void child_main(int gate, const struct dft_config *cfg, const struct dft_identity *id,
		       const struct sigaction *sigchld)
{
	if (sigaction(SIGCHLD, sigchld, NULL))
		_exit(DFT_EXIT_TRACER);
	if (id->change_cmd)
		child_become(gate, id);
	child_report(gate, CHILD_AT_GATE, 0);
	child_wait_at_gate(gate);
	child_exec(gate, cfg->argv);
}

/* ---- in the tracer ---- */

static int waitid_retry(const struct dft_child *child, siginfo_t *info, int options)
{
	int err;

	memset(info, 0, sizeof(*info));
	do {
		err = waitid(P_PIDFD, (id_t)child->pidfd, info, options);
	} while (err && errno == EINTR);
	return err ? -errno : 0;
}

/* Reaps; as dft_child_reap(). */
static int reap(struct dft_child *child, int options)
{
	siginfo_t info;
	int err;

	if (child->ended)
		return 1;
	err = waitid_retry(child, &info, WEXITED | options);
	if (err)
		return err;
	if (info.si_pid == 0)
		return 0;
	child->ended = true;
	if (info.si_code == CLD_EXITED)
		child->status = (info.si_status & 0xff) << 8;
	else
		child->status = info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
	return 1;
}

/* 1 with a report, 0 at end of file, or -errno. */
static int receive_report(const struct dft_child *child, struct child_report *report)
{
	ssize_t n;

	do {
		n = recv(child->gate, report, sizeof(*report), MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	/* A child that dies with our byte unread resets the connection: an end like any other. */
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(*report) ? 1 : -EPROTO;
}

static const char *remedy(int err)
{
	switch (err) {
	case EMFILE:
	case ENFILE:
		return "raise ulimit -n";
	case EAGAIN:
		return "raise ulimit -u";
	case ENOSYS:
		return "a kernel from 5.3 on is needed";
	case ENOMEM:
		return "free some memory";
	default:
		return "run it without dftrace-bpf to compare";
	}
}

static void failed(const struct dft_child *child, const char *why, int err)
{
	dft_error("%s: %s: %s (%s)", child->name, why, strerror(err), remedy(err));
}

/* Why CMD could not be executed. Returns our exit status. */
static int explain_exec(const struct dft_child *child, int err)
{
	const char *name = child->name;

	switch (err) {
	case ENOENT:
		if (strchr(child->argv0, '/'))
			dft_error("%s: cannot be executed: %s (check the path)", name,
				  strerror(err));
		else
			dft_error("%s: command not found in PATH (check the name, or give a path)",
				  name);
		return DFT_EXIT_NOTFOUND;
	case EISDIR:
		dft_error("%s: cannot be executed: %s (give a program in it)", name, strerror(err));
		break;
	case EACCES:
		if (child->user)
			dft_error("%s: cannot be executed by user %s: %s (check its mode and its "
				  "directories', or keep root with -u root)",
				  name, child->user, strerror(err));
		else
			dft_error("%s: cannot be executed: %s (check its mode and its "
				  "directories')",
				  name, strerror(err));
		break;
	case E2BIG:
		dft_error("%s: cannot be executed: %s (shorten its arguments or the environment)",
			  name, strerror(err));
		break;
	default:
		failed(child, "cannot be executed", err);
	}
	return DFT_EXIT_NOEXEC;
}

/* What the child could not do: one line. Returns our exit status. */
static int explain_report(const struct dft_child *child, const struct child_report *report)
{
	static const char *const ids[] = {
		[CHILD_GROUPS] = "groups",
		[CHILD_GID] = "gid",
		[CHILD_UID] = "uid",
	};

	switch (report->stage) {
	case CHILD_GROUPS:
	case CHILD_GID:
	case CHILD_UID:
		dft_error("%s: cannot take the %s of user %s: %s (%s)", child->name,
			  ids[report->stage], child->user ? child->user : "SUDO_UID",
			  strerror(report->err),
			  geteuid() == 0 ? "CAP_SETUID and CAP_SETGID are needed, or -u root" :
					   "run dftrace-bpf as root");
		return DFT_EXIT_TRACER;
	case CHILD_ENVIRONMENT:
		failed(child, "cannot set HOME, USER, LOGNAME and SHELL", report->err);
		return DFT_EXIT_TRACER;
	case CHILD_INTERPRETER:
		dft_error("%s: cannot be executed: its interpreter or loader does not exist "
			  "(see its first line, or what file says)",
			  child->name);
		return DFT_EXIT_NOEXEC;
	case CHILD_EXEC:
		return explain_exec(child, report->err);
	default:
		failed(child, "unexpected answer from its process", EPROTO);
		return DFT_EXIT_TRACER;
	}
}

/* Waits until the child stands at its gate. 0, or -errno after one line. */
static int wait_for_arrival(struct dft_child *child)
{
	struct child_report report;
	int n = receive_report(child, &report);

	if (n > 0 && report.stage == CHILD_AT_GATE)
		return 0;
	if (n > 0) {
		explain_report(child, &report);
		return report.err ? -report.err : -EPROTO;
	}
	dft_error("%s: its process ended before it could be traced (was it killed?)", child->name);
	return n < 0 ? n : -ECHILD;
}

static struct dft_child *child_new(const struct dft_config *cfg, const struct dft_identity *id)
{
	struct dft_child *child = calloc(1, sizeof(*child));
	const char *name = cfg->argv[0];
	const int max = 200; /* so that a line has room for the reason */

	if (!child)
		return NULL;
	child->pidfd = -1;
	child->gate = -1;
	child->argv0 = name;
	snprintf(child->name, sizeof(child->name), "%.*s%s", max, *name ? name : "''",
		 strlen(name) > (size_t)max ? "..." : "");
	if (id->change_cmd && id->cmd_name) {
		child->user = strdup(id->cmd_name);
		if (!child->user) {
			dft_child_free(child);
			return NULL;
		}
	}
	return child;
}

/* Forks; on return the child is on its way to the gate. -errno after one line. */
static int fork_to_gate(struct dft_child *child, const struct dft_config *cfg,
			const struct dft_identity *id)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, sigchld;
	int ends[2], err;

	/*
	 * Where SIGCHLD is ignored (inherited from who started us), a child's status is thrown
	 * away. Ours to change, CMD's to get back.
	 */
	if (sigaction(SIGCHLD, &dfl, &sigchld)) {
		err = -errno;
		failed(child, "cannot set SIGCHLD", -err);
		return err;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		err = -errno;
		failed(child, "cannot make its gate", -err);
		return err;
	}
	child->pid = fork();
	if (child->pid == 0) {
		/* Ours, or the end of file would never come. */
		if (close(ends[0]))
			_exit(DFT_EXIT_TRACER);
		child_main(ends[1], cfg, id, &sigchld);
	}
	err = child->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (err) {
		failed(child, "cannot fork", -err);
		close(ends[0]);
		return err;
	}
	child->gate = ends[0];
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		err = -errno;
		failed(child, "cannot get a pidfd", -err);
	}
	return err;
}

struct dft_child *dft_child_start(const struct dft_config *cfg, const struct dft_identity *id)
{
	struct dft_child *child = child_new(cfg, id);
	int err;

	if (!child) {
		dft_error("CMD: out of memory (%s)", remedy(ENOMEM));
		errno = ENOMEM;
		return NULL;
	}
	err = fork_to_gate(child, cfg, id);
	if (!err)
		err = wait_for_arrival(child);
	if (err) {
		dft_child_free(child);
		errno = -err;
		return NULL;
	}
	return child;
}

pid_t dft_child_pid(const struct dft_child *child)
{
	return child->pid;
}

int dft_child_pidfd(const struct dft_child *child)
{
	return child->pidfd;
}

/*
 * A child that was killed at its gate or between gate and exec looks like a successful exec here;
 * its status then tells, as it would for a CMD killed in its first instruction.
 */
int dft_child_release(struct dft_child *child)
{
	struct child_report report;
	ssize_t sent;
	int n, status;

	do {
		sent = send(child->gate, "", 1, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno != EPIPE && errno != ECONNRESET) {
		failed(child, "cannot open its gate", errno);
		return DFT_EXIT_TRACER;
	}
	n = receive_report(child, &report);
	close(child->gate);
	child->gate = -1;
	if (n == 0)
		return 0;
	if (n < 0) {
		failed(child, "lost touch with its process", -n);
		return DFT_EXIT_TRACER;
	}
	status = explain_report(child, &report);
	n = reap(child, 0); /* it exits by itself right after the report */
	if (n < 0)
		failed(child, "cannot wait for its process", -n);
	return status;
}

void dft_child_forward(struct dft_child *child, int sig)
{
	if (child->ended)
		return;
	if (syscall(SYS_pidfd_send_signal, child->pidfd, sig, NULL, 0) == 0 || errno == ESRCH)
		return;
	dft_warn("%s: cannot forward signal %d: %s", child->name, sig, strerror(errno));
}

int dft_child_reap(struct dft_child *child, int *status)
{
	int n = reap(child, WNOHANG);

	if (n > 0)
		*status = child->status;
	return n;
}

int dft_child_wait(struct dft_child *child, int *status)
{
	int n = reap(child, 0);

	if (n < 0)
		return n;
	*status = child->status;
	return 0;
}

/*
 * Raises CMD's signal on ourselves. Core files are off: ours would say nothing about CMD, and could
 * overwrite CMD's own. Not being dumpable also covers a core_pattern that is a pipe, which ignores
 * the limit. Bare system calls, because libc refuses to handle its own two real-time signals, of
 * which CMD may have died all the same.
 */
static void die_by(int sig)
{
	const struct rlimit none = { 0, 0 };
	const unsigned long dfl[8] = { 0 }; /* the kernel's struct sigaction, and more: SIG_DFL */
	const uint64_t mask = UINT64_C(1) << (sig - 1);

	if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		dft_verbose("cannot turn core files off: %s", strerror(errno));
	/* The uncatchable ones refuse this, and need it not. */
	if (syscall(SYS_rt_sigaction, sig, dfl, NULL, sizeof(mask)) && errno != EINVAL)
		dft_verbose("signal %d: %s", sig, strerror(errno));
	if (syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask)) ||
	    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig))
		dft_verbose("signal %d: %s", sig, strerror(errno));
}

void dft_child_exit_as(int status)
{
	if (fflush(NULL))
		dft_error("standard output: %s (what was printed is incomplete)", strerror(errno));
	if (WIFSIGNALED(status)) {
		die_by(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	exit(WEXITSTATUS(status));
}

void dft_child_free(struct dft_child *child)
{
	if (!child)
		return;
	if (child->gate >= 0)
		close(child->gate);
	if (child->pidfd >= 0)
		close(child->pidfd);
	free(child->user);
	free(child);
}
