// SPDX-License-Identifier: MIT
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"

/* What is remembered of a directory is looked up again after this: somebody may have moved it. */
#define FRESH_NS 100000000ull

static void forget(struct dft_resolver *resolver)
{
	for (size_t i = 0; i < resolver->n; i++)
		free(resolver->dirs[i].path);
	resolver->n = 0;
}

void dft_resolver_free(struct dft_resolver *resolver)
{
	forget(resolver);
}

/* Its root; of one that has gone already that of the tracer, if it saw the same mounts. */
static int open_root(const struct dft_proc *proc, uint32_t home)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root", proc->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (proc->scene.mnt_ns && proc->scene.mnt_ns != home)
		return -errno;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Where a descriptor is in the tree. 0 or -errno. */
static int path_of(int fd, char *path, size_t *len)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX);
	if (n < 0)
		return -errno;
	if (n == PATH_MAX || n == 0 || path[0] != '/')
		return -ENAMETOOLONG;
	path[n] = '\0';
	*len = (size_t)n;
	return 0;
}

/* Names are as seen from the process's root, which may be a directory of ours. */
static int below_root(int root, char *path, size_t *len)
{
	char top[PATH_MAX + 1];
	size_t n;
	int err = path_of(root, top, &n);

	if (err || n == 1)
		return err;
	if (*len < n || memcmp(path, top, n) || (path[n] && path[n] != '/'))
		return 0; /* of other mounts than ours: it begins at their root already */
	memmove(path, path + n, *len - n + 1);
	*len -= n;
	if (!*len) {
		memcpy(path, "/", 2);
		*len = 1;
	}
	return 0;
}

static int look(const struct dft_proc *proc, uint32_t home, enum dft_resolve how, const char *name,
		char *path, struct dft_resolved *out)
{
	struct open_how open_how = { .resolve = RESOLVE_IN_ROOT,
				     .flags = O_PATH | O_CLOEXEC |
					      (how == DFT_RESOLVE_DIR ? O_DIRECTORY : 0) |
					      (how == DFT_RESOLVE_LINK ? O_NOFOLLOW : 0) };
	int root = open_root(proc, home), fd, err;
	struct statfs fs;
	struct stat st;

	if (root < 0)
		return root;
	fd = (int)syscall(SYS_openat2, root, name, &open_how, sizeof(open_how));
	err = fd < 0 ? -errno : path_of(fd, path, &out->len);
	if (!err)
		err = below_root(root, path, &out->len);
	if (!err && (fstat(fd, &st) || fstatfs(fd, &fs)))
		err = -errno;
	if (!err) {
		out->path = path;
		out->magic = (uint32_t)fs.f_type;
		out->mode = st.st_mode;
	}
	if (fd >= 0)
		close(fd);
	close(root);
	return err;
}

static void remember(struct dft_resolver *resolver, uint64_t key, const struct dft_resolved *out)
{
	char *path = strndup(out->path, out->len);

	if (!path)
		return; /* it is looked up each time, then */
	resolver->dirs[resolver->n++] = (struct dft_resolver_dir){ key, path, out->len, out->magic,
								    out->mode };
}

int dft_resolver_look(struct dft_resolver *resolver, const struct dft_proc *proc, uint32_t home,
		      enum dft_resolve how, const char *path, size_t len, struct dft_resolved *out)
{
	uint64_t now = dft_clock_mono_ns(), key;
	char name[PATH_MAX + 1];
	int err;

	if (len > PATH_MAX || memchr(path, '\0', len))
		return -ENAMETOOLONG;
	memcpy(name, path, len);
	name[len] = '\0';
	if (how != DFT_RESOLVE_DIR)
		return look(proc, home, how, name, resolver->path, out);
	if (resolver->n == DFT_RESOLVER_DIRS || now - resolver->since_ns > FRESH_NS) {
		forget(resolver);
		resolver->since_ns = now;
	}
	key = dft_hash(path, len) ^ proc->pid * 0x9e3779b97f4a7c15ull ^ proc->start_ns;
	for (size_t i = 0; i < resolver->n; i++) {
		const struct dft_resolver_dir *dir = &resolver->dirs[i];

		if (dir->key != key)
			continue;
		*out = (struct dft_resolved){ dir->path, dir->len, dir->magic, dir->mode };
		return 0;
	}
	err = look(proc, home, how, name, resolver->path, out);
	if (!err)
		remember(resolver, key, out);
	return err;
}
