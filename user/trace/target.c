// SPDX-License-Identifier: MIT
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void dft_target_describe(uint32_t pid, struct dft_described *out)
{
	struct dft_buf cmd = DFT_BUF_INIT;
	char path[64], *exe, *slash;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	if (!read_file(path, &cmd) && cmd.len) {
		out->cmd = cmd.data;
		out->cmd_len = cmd.len;
	} else {
		dft_buf_free(&cmd);
	}
	snprintf(path, sizeof(path), "/proc/%u/cwd", pid);
	out->cwd = read_link(path);
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	exe = read_link(path);
	if (!exe)
		return;
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
