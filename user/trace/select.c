// SPDX-License-Identifier: MIT
#include "select.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "log.h"
#include "target.h"

#define CGROUP2_MAGIC 0x63677270

bool dft_select_is_on(const struct dft_config *cfg)
{
	return cfg->cgroup || cfg->uid || cfg->comm;
}

/* ---- --uid ---------------------------------------------------------------------------------- */

static int find_user(struct dft_select *select, const char *text)
{
	char *end;
	unsigned long number;
	const struct passwd *user;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && number < UINT32_MAX) {
		select->uid = (uint32_t)number;
		return 0;
	}
	user = getpwnam(text);
	if (!user) {
		dft_error("--uid %s: no such user (give a name of the password database, or a number)", text);
		return -ENOENT;
	}
	select->uid = user->pw_uid;
	return 0;
}

/* ---- --cgroup ------------------------------------------------------------------------------- */

/* The directory of a cgroup: as it is named, or below the mount. -errno; -EINVAL: it is something else. */
static int open_cgroup(const struct dft_cgroups *cgroups, const char *text)
{
	char path[PATH_MAX];
	struct statfs fs;
	int fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC), named = fd < 0 ? -errno : 0;

	if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_MAGIC)
		return fd;
	if (fd >= 0)
		close(fd);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", cgroups->mount, text) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return named && named != -ENOTDIR ? named : -EINVAL;
}

static int id_of(int fd, uint64_t *id)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = { .head = { .handle_bytes = sizeof(*id) } };
	int mount;

	if (name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH))
		return -errno;
	memcpy(id, handle.head.f_handle, sizeof(*id));
	return 0;
}

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (const char *p = path; *p; p++)
		depth += *p == '/' && p[1];
	return depth;
}

static int find_cgroup(struct dft_select *select, const char *text, struct dft_cgroups *cgroups)
{
	int err, fd = cgroups->fd < 0 ? -ENODEV : open_cgroup(cgroups, text);

	if (fd < 0) {
		err = fd;
	} else {
		err = id_of(fd, &select->cgroup);
		close(fd);
	}
	if (!err) {
		select->path = dft_cgroups_path(cgroups, select->cgroup);
		err = select->path ? 0 : -ESTALE;
	}
	if (!err)
		select->level = depth_of(select->path);
	else if (err == -ENODEV)
		dft_error("--cgroup %s: no cgroup2 file system is mounted here (mount one)", text);
	else if (err == -EINVAL)
		dft_error("--cgroup %s: not a directory of the cgroup2 file system, which is at %s (give one of "
			  "those)", text, cgroups->mount);
	else
		dft_error("--cgroup %s: %s (give a directory of the cgroup2 file system, which is at %s)", text,
			  err == -ENOENT ? "no such cgroup" : strerror(-err), cgroups->mount);
	return err;
}

/* ---- who matches now ------------------------------------------------------------------------ */

static bool is_below(const char *path, const char *top)
{
	size_t n = strcmp(top, "/") ? strlen(top) : 0;

	return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

static bool matches(const struct dft_select *select, uint32_t pid)
{
	struct dft_identified who;

	if (dft_target_identify(pid, &who))
		return false; /* gone meanwhile */
	return (select->uid == UINT32_MAX || who.uid == select->uid) &&
	       (!select->comm[0] || !strcmp(who.comm, select->comm)) &&
	       (!select->path || is_below(who.cgroup, select->path));
}

/* How many processes match, the tracer not counted; or -errno. */
static long count_matches(const struct dft_select *select)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	long n = 0;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		if (pid && !*end && (pid_t)pid != getpid() && matches(select, (uint32_t)pid))
			n++;
	}
	closedir(proc);
	return n;
}

int dft_select_resolve(struct dft_select *select, const struct dft_config *cfg,
		       struct dft_cgroups *cgroups)
{
	int err = 0;
	long n;

	*select = (struct dft_select){ .uid = UINT32_MAX };
	if (!dft_select_is_on(cfg))
		return 0;
	if (cfg->comm)
		memcpy(select->comm, cfg->comm, strlen(cfg->comm));
	if (cfg->uid)
		err = find_user(select, cfg->uid);
	if (!err && cfg->cgroup)
		err = find_cgroup(select, cfg->cgroup, cgroups);
	if (err)
		return err;
	n = count_matches(select);
	if (n < 0) {
		dft_error("/proc: %s (mount it)", strerror((int)-n));
		return (int)n;
	}
	if (!n && cfg->cgroup) {
		dft_error("--cgroup %s: matches no process (start the job in it first)", cfg->cgroup);
		return -ESRCH;
	}
	dft_info("%ld running %s; later ones are traced as they come", n,
		 n == 1 ? "process matches" : "processes match");
	return 0;
}
