// SPDX-License-Identifier: MIT
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "log.h"

static int read_file(const char *path, struct dft_buf *out)
{
	int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	do {
		char *to = dft_buf_reserve(out, 4096);

		if (!to) {
			err = -ENOMEM;
			break;
		}
		n = read(fd, to, 4096);
		if (n > 0)
			out->len += (size_t)n;
	} while (n > 0);
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

static char *read_link(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n < 0 || (size_t)n == sizeof(target))
		return NULL;
	return strndup(target, (size_t)n);
}

/* One field of /proc/PID/status, as a number; -1 if it is not there. */
static long status_field(const char *status, const char *field)
{
	const char *at = strstr(status, field);

	return at ? strtol(at + strlen(field), NULL, 10) : -1;
}

static int read_status(uint32_t pid, struct dft_buf *out)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	err = read_file(path, out);
	dft_buf_putc(out, '\0');
	return out->failed ? -ENOMEM : err;
}

int dft_target_check(pid_t pid)
{
	struct dft_buf status = DFT_BUF_INIT;
	int err = read_status((uint32_t)pid, &status);
	long tgid;

	if (err) {
		dft_error("-p %d: %s (see the running ones with ps -e)", (int)pid,
			  err == -ENOENT || err == -ESRCH ? "no such process" : strerror(-err));
	} else if (pid == getpid()) {
		dft_error("-p %d: that is this tracer (name another process)", (int)pid);
		err = -EINVAL;
	} else {
		tgid = status_field(status.data, "\nTgid:");
		if (tgid != pid) {
			dft_error("-p %d: a thread, not a process (its process is %ld)", (int)pid, tgid);
			err = -EINVAL;
		}
	}
	dft_buf_free(&status);
	return err;
}

/* A file of the process, or NULL when it cannot be had or is empty. */
static char *read_whole(uint32_t pid, const char *name, size_t *len)
{
	struct dft_buf text = DFT_BUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	if (!read_file(path, &text) && text.len) {
		*len = text.len;
		return text.data;
	}
	dft_buf_free(&text);
	return NULL;
}

int dft_target_identify(uint32_t pid, struct dft_identified *out)
{
	struct dft_buf status = DFT_BUF_INIT, comm = DFT_BUF_INIT;
	char path[64];
	int err = read_status(pid, &status);

	memset(out, 0, sizeof(*out));
	if (!err) {
		snprintf(path, sizeof(path), "/proc/%u/comm", pid);
		err = read_file(path, &comm);
	}
	if (!err) {
		out->uid = (uint32_t)status_field(status.data, "\nUid:");
		/* A newline behind it; there may be others in it. */
		if (comm.len && comm.len <= sizeof(out->comm))
			memcpy(out->comm, comm.data, comm.len - 1);
	}
	dft_buf_free(&status);
	dft_buf_free(&comm);
	return err;
}

int dft_target_home(struct dft_scene *out)
{
	struct stat mnt, pid, user;

	if (stat("/proc/self/ns/mnt", &mnt) || stat("/proc/self/ns/pid", &pid) ||
	    stat("/proc/self/ns/user", &user))
		return -errno;
	*out = (struct dft_scene){ .mnt_ns = (uint32_t)mnt.st_ino, .pid_ns = (uint32_t)pid.st_ino,
				   .user_ns = (uint32_t)user.st_ino };
	return 0;
}

/* What the kernel puts behind the name of a program that has been removed. */
static void strip_deleted(char *exe)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(exe), n = sizeof(mark) - 1;

	if (len > n && !strcmp(exe + len - n, mark) && access(exe, F_OK))
		exe[len - n] = '\0';
}

void dft_target_describe(uint32_t pid, struct dft_described *out)
{
	char path[64], *exe, *slash;

	out->cmd = read_whole(pid, "cmdline", &out->cmd_len);
	out->env = read_whole(pid, "environ", &out->env_len);
	snprintf(path, sizeof(path), "/proc/%u/cwd", pid);
	out->cwd = read_link(path);
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	exe = read_link(path);
	if (!exe)
		return;
	strip_deleted(exe);
	slash = strrchr(exe, '/');
	out->program = strdup(slash ? slash + 1 : exe);
	free(exe);
}

/*
 * Fields of /proc/PID/stat behind the name, which may hold blanks and parentheses itself: state,
 * then 17 others, num_threads, itrealvalue, starttime.
 */
bool dft_target_is_gone(uint32_t pid, uint64_t start_ns)
{
	struct dft_buf stat = DFT_BUF_INIT;
	unsigned long long started = 0;
	long threads = 0, hz = sysconf(_SC_CLK_TCK);
	const char *rest;
	char path[64], state = 0;
	bool gone;
	int err;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	err = read_file(path, &stat);
	dft_buf_putc(&stat, '\0');
	gone = err == -ENOENT || err == -ESRCH;
	rest = err || stat.failed ? NULL : strrchr(stat.data, ')');
	if (rest && hz > 0 &&
	    sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld "
			 "%*d %llu", &state, &threads, &started) == 3) {
		uint64_t ticks = start_ns / (1000000000u / (uint64_t)hz);

		/* A leader that ended before its other threads is a zombie, and the process lives. */
		gone = ((state == 'Z' || state == 'X') && threads <= 1) ||
		       (start_ns && started != ticks);
	}
	dft_buf_free(&stat);
	return gone;
}
