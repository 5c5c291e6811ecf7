// SPDX-License-Identifier: MIT
#include "cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLE_KERNFS 0xfe /* include/linux/exportfs.h: FILEID_KERNFS */
#define PATHS_MAX     4096

/* Blanks and the like are in mountinfo as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] && p[3]) {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
}

/* ID PARENT MAJOR:MINOR ROOT MOUNT ... - TYPE ...: takes it if it is ours. 0 or -ENOMEM. */
static int take_mount(struct dft_cgroups *cgroups, char *line)
{
	char *dash = strstr(line, " - cgroup2 "), *fields[5];

	if (!dash)
		return 0;
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strsep(&line, " ");
		if (!fields[i] || !line)
			return 0;
	}
	unescape(fields[3]);
	unescape(fields[4]);
	cgroups->root = strdup(strcmp(fields[3], "/") ? fields[3] : "");
	cgroups->mount = strdup(fields[4]);
	return cgroups->root && cgroups->mount ? 0 : -ENOMEM;
}

static int find_mount(struct dft_cgroups *cgroups)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	if (!mounts)
		return -errno;
	while (!err && !cgroups->mount && getline(&line, &cap, mounts) > 0)
		err = take_mount(cgroups, line);
	if (!err && ferror(mounts))
		err = -EIO;
	free(line);
	fclose(mounts);
	return err ? err : cgroups->mount ? 0 : -ENOENT;
}

int dft_cgroups_open(struct dft_cgroups *cgroups)
{
	int err;

	memset(cgroups, 0, sizeof(*cgroups));
	cgroups->fd = -1;
	err = find_mount(cgroups);
	if (err)
		return err;
	cgroups->fd = open(cgroups->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cgroups->fd < 0 ? -errno : 0;
}

/* What is open under `fd`, from the top of the hierarchy; "" if that cannot be told. NULL: no memory. */
static char *path_of(const struct dft_cgroups *cgroups, int fd)
{
	size_t mount = strlen(cgroups->mount);
	char link[64], target[PATH_MAX], *path;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return strdup("");
	target[n] = '\0';
	/* One that is being removed has something behind its name. */
	if (strncmp(target, cgroups->mount, mount) || (target[mount] && target[mount] != '/') ||
	    access(target, F_OK))
		return strdup("");
	if (asprintf(&path, "%s%s", cgroups->root, target + mount) < 0)
		return NULL;
	if (*path)
		return path;
	free(path);
	return strdup("/");
}

static char *look_up(const struct dft_cgroups *cgroups, uint64_t id)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = HANDLE_KERNFS } };
	char *path;
	int fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(cgroups->fd, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return strdup("");
	path = path_of(cgroups, fd);
	close(fd);
	return path;
}

static void forget_all(struct dft_cgroups *cgroups)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&cgroups->paths, &at)))
		free(slot->value);
	dft_map_free(&cgroups->paths);
}

const char *dft_cgroups_path(struct dft_cgroups *cgroups, uint64_t id)
{
	char *path;

	if (cgroups->fd < 0)
		return NULL;
	path = dft_map_get(&cgroups->paths, id);
	if (!path) {
		/* Numbers are not used again, so only that there are many is a reason to forget. */
		if (cgroups->paths.len >= PATHS_MAX)
			forget_all(cgroups);
		path = look_up(cgroups, id);
		if (path && dft_map_put(&cgroups->paths, id, path)) {
			free(path);
			path = NULL;
		}
	}
	return path && *path ? path : NULL;
}

void dft_cgroups_close(struct dft_cgroups *cgroups)
{
	forget_all(cgroups);
	if (cgroups->fd >= 0)
		close(cgroups->fd);
	free(cgroups->mount);
	free(cgroups->root);
	memset(cgroups, 0, sizeof(*cgroups));
	cgroups->fd = -1;
}
