// SPDX-License-Identifier: MIT
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "out.h"

static int tell(const struct dft_whole *w, const char *what, int err)
{
	char safe[1024];

	dft_error("%s: %s: %s", dft_safe_z(safe, sizeof(safe), w->path), what, strerror(err));
	return -err;
}

static void forget(struct dft_whole *w)
{
	free(w->path);
	free(w->temp);
	memset(w, 0, sizeof(*w));
	w->fd = -1;
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
	w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
