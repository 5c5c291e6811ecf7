// SPDX-License-Identifier: MIT
/* The files to arm: those of a command to come, of a process, of all. */
#include "arm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "libs.h"
#include "log.h"
#include "mappings.h"

static void on_file(void *ctx, const char *path)
{
	int err = dft_arm_file(ctx, path, false);

	if (err)
		dft_verbose("%s: %s", path, strerror(-err));
}

int dft_arm_command(struct dft_arm *arm, char *const *argv)
{
	struct dft_libs_env env;
	int err = 0;

	dft_libs_environment(&env);
	if (argv)
		err = dft_libs_each(argv[0], &env, on_file, arm);
	/* A command that is not there: who executes it will say so. */
	if (!err || err == -ENOENT)
		err = dft_libs_dftracer(&env, on_file, arm);
	return err;
}

/* The mappings of a process, or the one that is meant. */
struct sweep {
	struct dft_arm *arm;
	const struct dft_image_key *key; /* both NULL: all of them */
	const char *path;
	struct dft_arm_result *out;      /* of the one, or what matters most of all of them */
	bool found;
	uint64_t ino;                    /* of the mapping before */
	uint32_t dev;
};

/* Not knowing is worse than a late start, and a late start than none. */
static void add_result(struct dft_arm_result *out, const struct dft_arm_result *more)
{
	out->probes = out->probes || more->probes;
	if (more->err)
		out->err = more->err;
	if (more->since_ns > out->since_ns)
		out->since_ns = more->since_ns;
	if (out->err)
		out->since_ns = 0;
}

static bool is_meant(const struct sweep *sweep, const struct dft_mapping *m)
{
	if (!sweep->key && !sweep->path)
		return true;
	return (sweep->key && sweep->key->ino == m->ino && sweep->key->dev == m->dev) ||
	       (sweep->path && !strcmp(sweep->path, m->path));
}

static bool on_mapping(void *ctx, pid_t tid, const struct dft_mapping *m)
{
	struct sweep *sweep = ctx;
	struct dft_arm_result result;
	int fd;

	if (!is_meant(sweep, m) || (m->ino == sweep->ino && m->dev == sweep->dev))
		return false;
	sweep->ino = m->ino;
	sweep->dev = m->dev;
	fd = dft_mapping_open(tid, m);
	if (fd == -ENOENT || fd == -ESRCH)
		return false; /* unmapped meanwhile */
	dft_arm_fd(sweep->arm, fd, m->path, &result);
	if (fd >= 0)
		close(fd);
	else
		dft_verbose("%s of process %d: %s", m->path, (int)tid, strerror(-fd));
	sweep->found = true;
	if (sweep->out)
		add_result(sweep->out, &result);
	return sweep->key || sweep->path;
}

int dft_arm_process(struct dft_arm *arm, pid_t pid)
{
	struct sweep sweep = { .arm = arm };
	int err = dft_mappings_each(pid, on_mapping, &sweep);

	return err == -ESRCH ? 0 : err;
}

int dft_arm_all(struct dft_arm *arm)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		int one = pid > 0 && pid != getpid() ? dft_arm_process(arm, pid) : 0;

		/* The others are worth having all the same. */
		if (one && !err)
			err = one;
	}
	closedir(dir);
	return err;
}

/* The path alone: as the process has it or, when that has gone, as we have. */
static void examine_path(struct dft_arm *arm, pid_t pid, const char *path, struct dft_arm_result *out)
{
	int fd = dft_mapping_open_path(pid, path);

	if (fd == -ESRCH) {
		fd = open(path, O_PATH | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	dft_arm_fd(arm, fd, path, out);
	if (fd >= 0)
		close(fd);
}

void dft_arm_image(struct dft_arm *arm, pid_t pid, const struct dft_image_key *key, const char *path,
		   struct dft_arm_result *out)
{
	struct sweep sweep = { .arm = arm, .key = key, .path = path, .out = out };
	int err;

	*out = (struct dft_arm_result){ 0 };
	err = key || path ? dft_mappings_each(pid, on_mapping, &sweep) : 0;
	if (sweep.found)
		return;
	/* Unmapped again, replaced by another exec, gone; or it goes by another number here. */
	*out = (struct dft_arm_result){ .err = -ENOENT };
	if (path && *path == '/')
		examine_path(arm, pid, path, out);
	if (!out->err || err == -ESRCH)
		return;
	sweep = (struct sweep){ .arm = arm, .out = out };
	*out = (struct dft_arm_result){ 0 };
	err = dft_mappings_each(pid, on_mapping, &sweep);
	if (err || !sweep.found)
		out->err = err ? err : -ENOENT;
}
