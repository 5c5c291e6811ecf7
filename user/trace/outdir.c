// SPDX-License-Identifier: MIT
#include "outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

/*
 * Files belong to the user who called sudo, and on file systems that map root to nobody only he can
 * make them. The ids of this thread alone change: hence the raw system call, as the C library's
 * function would change all threads.
 */
int dft_outdir_enter(const struct dft_identity *id)
{
	if (!id->change_out)
		return 0;
	if (syscall(SYS_setgroups, id->out_ngroups, id->out_groups))
		return -errno;
	setfsgid(id->out_gid);
	setfsuid(id->out_uid);
	/* They return the old id only; asking again tells whether it took. */
	if ((gid_t)setfsgid((gid_t)-1) != id->out_gid || (uid_t)setfsuid((uid_t)-1) != id->out_uid)
		return -EPERM;
	return 0;
}

/* ---- the directory -------------------------------------------------------------------------- */

int dft_outdir_init(struct dft_outdir *dir, const struct dft_config *cfg)
{
	*dir = (struct dft_outdir){ .path = strdup(cfg->out_dir), .given = cfg->out_dir_given, .fd = -1 };
	return dir->path ? 0 : -ENOMEM;
}

int dft_outdir_open(struct dft_outdir *dir)
{
	if (!mkdir(dir->path, 0700))
		dir->made = true;
	else if (errno != EEXIST || !dir->given)
		return -errno;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return -errno;
	/* Found out now rather than at the first flush, when CMD is running. */
	if (faccessat(dir->fd, ".", W_OK | X_OK, AT_EACCESS) && errno != ENOSYS)
		return -errno;
	return 0;
}

void dft_outdir_complain(const struct dft_outdir *dir, int err)
{
	if (err == -EEXIST)
		dft_error("%s: exists already (name another directory with -o)", dir->path);
	else if (err == -ENOENT)
		dft_error("%s: %s (make its parent directory first)", dir->path, strerror(-err));
	else
		dft_error("%s: %s (choose a directory that can be written with -o)", dir->path,
			  strerror(-err));
}

void dft_outdir_remove(struct dft_outdir *dir)
{
	if (dir->made && rmdir(dir->path) && errno != ENOTEMPTY)
		dft_verbose("%s: %s", dir->path, strerror(errno));
	dir->made = false;
}

void dft_outdir_free(struct dft_outdir *dir)
{
	if (dir->fd >= 0)
		close(dir->fd);
	free(dir->path);
	*dir = (struct dft_outdir){ .fd = -1 };
}

/* ---- files ---------------------------------------------------------------------------------- */

/*
 * Files are not held open: there may be more of them than descriptors. A file found again must be
 * the one that was made, not something put in its place.
 */
static int open_file(const struct dft_outdir *dir, struct dft_outfile *file)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	int fd;

	fd = openat(dir->fd, file->name, file->made ? flags : flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (!file->made) {
		file->dev = st.st_dev;
		file->ino = st.st_ino;
		file->made = true;
	} else if (st.st_dev != file->dev || st.st_ino != file->ino) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Back to the members that are whole. A file without any is no trace file. */
static void take_back(const struct dft_outdir *dir, const struct dft_outfile *file, int fd)
{
	if (ftruncate(fd, file->len))
		dft_warn("%s/%s: cannot be cut behind its last whole member: %s (readers will find it "
			 "damaged at its end)", dir->path, file->name, strerror(errno));
	else if (!file->len && unlinkat(dir->fd, file->name, 0))
		dft_verbose("%s/%s: %s", dir->path, file->name, strerror(errno));
}

int dft_outfile_append(const struct dft_outdir *dir, struct dft_outfile *file, const void *member,
		       size_t len)
{
	int err, fd = open_file(dir, file);

	if (fd < 0)
		return fd;
	err = write_all(fd, member, len);
	if (err)
		take_back(dir, file, fd);
	/* Network file systems report a full disk here, and what was written may be there in part. */
	if (close(fd) && !err) {
		err = -errno;
		fd = open_file(dir, file);
		if (fd >= 0) {
			take_back(dir, file, fd);
			close(fd);
		}
	}
	if (!err)
		file->len += (off_t)len;
	return err;
}

const char *dft_outfile_remedy(int err)
{
	switch (-err) {
	case ENOSPC:
		return "free some space";
	case EDQUOT:
		return "free some space or have the quota raised";
	case EFBIG:
		return "raise ulimit -f";
	case EIO:
		return "look at the disk and at the kernel's log";
	case ESTALE:
	case ENOENT:
		return "files of a trace must stay where they are while it runs";
	case EEXIST:
		return "take a new directory for each run";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files";
	case ENOMEM:
		return "free some memory";
	default:
		return "choose a directory that can be written with -o";
	}
}
