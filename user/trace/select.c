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

/* A directory of the cgroup2 file system. -errno; -EINVAL: it is something else. */
static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return errno == ENOTDIR ? -EINVAL : -errno;
	if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_MAGIC)
		return fd;
	close(fd);
	return -EINVAL;
}

/* As it is named, or below the mount; what is wrong with the name as it is given is told rather. */
static int open_cgroup(const struct dft_cgroups *cgroups, const char *text)
{
	char path[PATH_MAX];
	int fd = open_directory(text), below;

	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", cgroups->mount, text) >= sizeof(path))
		return -ENAMETOOLONG;
	below = open_directory(path);
	return below >= 0 ? below : fd;
}

static int find_cgroup(struct dft_select *select, const char *text, const struct dft_cgroups *cgroups)
{
	int fd = cgroups->fd < 0 ? -ENODEV : open_cgroup(cgroups, text);

	if (fd == -ENODEV)
		dft_error("--cgroup %s: no cgroup2 file system is mounted here (mount one)", text);
	else if (fd == -EINVAL)
		dft_error("--cgroup %s: not a directory of the cgroup2 file system, which is at %s (give one of "
			  "those)", text, cgroups->mount);
	else if (fd < 0)
		dft_error("--cgroup %s: %s (give a directory of the cgroup2 file system, which is at %s)", text,
			  fd == -ENOENT ? "no such cgroup" : strerror(-fd), cgroups->mount);
	select->cgroup = fd;
	return fd < 0 ? fd : 0;
}

/* ---- who matches now ------------------------------------------------------------------------ */

static bool matches(const struct dft_select *select, unsigned long pid)
{
	struct dft_identified who;

	/* 0: one that cannot be seen from here. */
	if (!pid || (pid_t)pid == getpid() || dft_target_identify((uint32_t)pid, &who))
		return false; /* gone meanwhile */
	return (select->uid == UINT32_MAX || who.uid == select->uid) &&
	       (!select->comm[0] || !strcmp(who.comm, select->comm));
}

/* Those of /proc. */
static long count_all(const struct dft_select *select)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	long n = 0;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		n += !*end && matches(select, pid);
	}
	closedir(proc);
	return n;
}

/* Those that are in the cgroup itself. */
static long count_members(const struct dft_select *select, int dir)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned long pid;
	long n = 0;

	if (!procs) {
		if (fd >= 0)
			close(fd);
		return 0; /* it has been removed */
	}
	while (fscanf(procs, "%lu", &pid) == 1)
		n += matches(select, pid);
	fclose(procs);
	return n;
}

/* Those in it and below it: by the file system, for names depend on the cgroup namespace. */
static long count_cgroup(const struct dft_select *select, int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	long n;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	n = count_members(select, fd);
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			n += count_cgroup(select, fd, entry->d_name);
	closedir(dir);
	return n;
}

int dft_select_resolve(struct dft_select *select, const struct dft_config *cfg,
		       const struct dft_cgroups *cgroups)
{
	int err = 0;
	long n;

	*select = (struct dft_select){ .cgroup = -1, .uid = UINT32_MAX };
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
	n = cfg->cgroup ? count_cgroup(select, select->cgroup, ".") : count_all(select);
	if (n < 0) {
		dft_error("/proc: %s (mount it)", strerror((int)-n));
		return (int)n;
	}
	if (!n && cfg->cgroup) {
		dft_error("--cgroup %s: matches no process%s (start the job in it first)", cfg->cgroup,
			  cfg->uid || cfg->comm ? " of that user or name" : "");
		return -ESRCH;
	}
	dft_info("%ld running %s; later ones are traced as they come", n,
		 n == 1 ? "process matches" : "processes match");
	return 0;
}

void dft_select_close(struct dft_select *select)
{
	if (select->cgroup >= 0)
		close(select->cgroup);
	select->cgroup = -1;
}
