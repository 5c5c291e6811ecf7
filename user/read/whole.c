// SPDX-License-Identifier: MIT
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "out.h"

/* Signals by which people and batch systems end a program that takes too long. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
#define ENDS (sizeof(ends) / sizeof(ends[0]))

/* The temporary name of the file that is being written; a command writes one at a time. */
static char unfinished[PATH_MAX];
static volatile sig_atomic_t is_unfinished;

static const struct dft_files *spared;

void dft_whole_spare(const struct dft_files *sources)
{
	spared = sources;
}

static void on_end(int sig)
{
	if (is_unfinished)
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* What is told to be ignored stays so, as under nohup. */
static void watch_signals(void)
{
	struct sigaction is, want = { .sa_handler = on_end };

	for (size_t i = 0; i < ENDS; i++)
		if (sigaction(ends[i], NULL, &is) == 0 && is.sa_handler == SIG_DFL)
			sigaction(ends[i], &want, NULL);
}

/* Makes the file; a signal finds it either not there or known. */
static int make_file(struct dft_whole *w)
{
	sigset_t set, was;
	int fd, err;

	watch_signals();
	sigemptyset(&set);
	for (size_t i = 0; i < ENDS; i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	err = errno;
	if (fd >= 0) {
		/* A longer name could not have been opened. */
		snprintf(unfinished, sizeof(unfinished), "%s", w->temp);
		is_unfinished = 1;
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	errno = err;
	return fd;
}

static int tell(const struct dft_whole *w, const char *what, int err)
{
	char safe[1024];

	dft_error("%s: %s: %s", dft_safe_z(safe, sizeof(safe), w->path), what, strerror(err));
	return -err;
}

static void forget(struct dft_whole *w)
{
	is_unfinished = 0;
	free(w->path);
	free(w->temp);
	memset(w, 0, sizeof(*w));
	w->fd = -1;
}

static bool is_source(const char *path)
{
	char safe[1024];
	struct stat st;

	if (!spared || lstat(path, &st) || !dft_files_has(spared, &st))
		return false;
	dft_error("%s: it is one of the files that are read, and stays as it is (give another name)",
		  dft_safe_z(safe, sizeof(safe), path));
	return true;
}

static int take_names(struct dft_whole *w, const char *path, bool force)
{
	char safe[1024];
	struct stat st;

	memset(w, 0, sizeof(*w));
	w->fd = -1;
	/* Early, so that nobody waits for what is refused in the end. */
	if (!force && lstat(path, &st) == 0) {
		dft_error("%s: there is such a file already (--force replaces it)",
			  dft_safe_z(safe, sizeof(safe), path));
		return -EEXIST;
	}
	if (is_source(path))
		return -EEXIST;
	w->force = force;
	w->path = strdup(path);
	if (!w->path || asprintf(&w->temp, "%s.tmp-%ld", path, (long)getpid()) < 0) {
		w->temp = NULL;
		forget(w);
		dft_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return 0;
}

int dft_whole_open(struct dft_whole *w, const char *path, bool force)
{
	int rc = take_names(w, path, force);

	if (rc)
		return rc;
	w->fd = make_file(w);
	if (w->fd < 0) {
		rc = tell(w, "cannot be made", errno);
		forget(w);
	}
	return rc;
}

static int rename_whole(struct dft_whole *w)
{
	if (w->force)
		return rename(w->temp, w->path) ? -errno : 0;
	if (renameat2(AT_FDCWD, w->temp, AT_FDCWD, w->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system that cannot do that: a hard link does not replace anything either. */
	if (link(w->temp, w->path) == 0)
		return unlink(w->temp) ? -errno : 0;
	return -errno;
}

int dft_whole_close(struct dft_whole *w, int rc)
{
	if (!w->path)
		return rc;
	if (w->fd >= 0 && close(w->fd) && !rc)
		rc = tell(w, "cannot be written", errno);
	w->fd = -1;
	/* Once more, for the files may not have been known when it was opened. */
	if (!rc && is_source(w->path))
		rc = -EEXIST;
	if (!rc) {
		rc = rename_whole(w);
		if (rc)
			tell(w, "cannot be given its name", -rc);
	}
	if (rc && unlink(w->temp) && errno != ENOENT)
		tell(w, "the temporary file beside it cannot be removed", errno);
	forget(w);
	return rc;
}
