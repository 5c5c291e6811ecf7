// SPDX-License-Identifier: MIT
/* The files to arm: those of a command to come, of a process, of all. */
#include "arm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "libs.h"
#include "log.h"
#include "mappings.h"

#define ARGS_MAX 64 /* of CMD that are looked at: a list of files can be long */

static void on_file(void *ctx, const char *path)
{
	int err = dft_arm_file(ctx, path, false);

	if (err)
		dft_verbose("%s: %s", path, strerror(-err));
}

/* An argument that may be a program that CMD will run, as in `mpirun -n 4 ./job`. */
static bool names_program(const char *arg)
{
	struct stat st;

	return strchr(arg, '/') && !stat(arg, &st) && S_ISREG(st.st_mode) &&
	       st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
}

int dft_arm_command(struct dft_arm *arm, char *const *argv)
{
	struct dft_libs_env env;
	int err = 0;

	dft_libs_environment(&env);
	if (argv)
		err = dft_libs_each(argv[0], &env, on_file, arm);
	for (size_t i = 1; argv && argv[i] && i < ARGS_MAX && err != -ENOMEM; i++)
		if (names_program(argv[i]))
			err = dft_libs_each(argv[i], &env, on_file, arm);
	/* A command that is not there: who executes it will say so. */
	if (err != -ENOMEM)
		err = dft_libs_dftracer(&env, on_file, arm);
	return err;
}

/* The mappings of a process, or the one that is meant. */
struct sweep {
	struct dft_arm *arm;
	const struct dft_image_key *key; /* both NULL: all of them */
	const char *path;
	struct dft_arm_result out; /* of the last one */
	bool found;
	uint64_t ino; /* of the mapping before */
	uint32_t dev;
};

/*
 * Is it the file that the kernel side means? Names may stand for another one by now, or in another
 * root. Below overlays the numbers that files go by differ from those that are mapped.
 */
static bool is_file(int fd, const struct dft_image_key *key)
{
	struct statfs fs;
	struct stat st;

	if (!key)
		return true;
	if (fstat(fd, &st) || (uint64_t)st.st_size != key->size)
		return false;
	return st.st_ino == key->ino || (!fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

static bool has_key(const struct sweep *sweep, const struct dft_mapping *m)
{
	return sweep->key && sweep->key->ino == m->ino && sweep->key->dev == m->dev;
}

static bool on_mapping(void *ctx, pid_t tid, const struct dft_mapping *m)
{
	struct sweep *sweep = ctx;
	bool all = !sweep->key && !sweep->path, sure = all || has_key(sweep, m);
	int fd;

	if ((!sure && !(sweep->path && !strcmp(sweep->path, m->path))) ||
	    (m->ino == sweep->ino && m->dev == sweep->dev))
		return false;
	sweep->ino = m->ino;
	sweep->dev = m->dev;
	fd = dft_mapping_open(tid, m);
	if (fd == -ENOENT || fd == -ESRCH)
		return false; /* unmapped meanwhile */
	if (fd >= 0 && !sure && !is_file(fd, sweep->key)) {
		close(fd);
		return false;
	}
	dft_arm_fd(sweep->arm, fd, m->path, &sweep->out);
	if (fd >= 0)
		close(fd);
	else
		dft_verbose("%s of process %d: %s", m->path, (int)tid, strerror(-fd));
	sweep->found = true;
	return !all;
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

		/* Some are nobody's to see; and the others are worth having all the same. */
		if (one)
			dft_verbose("mappings of process %d: %s", (int)pid, strerror(-one));
		if (one && one != -EACCES && one != -EPERM && !err)
			err = one;
	}
	closedir(dir);
	return err;
}

/* The file at a path, as the process has it or as we have, if it is the one that is meant. */
static int open_path(pid_t pid, const struct dft_image_key *key, const char *path)
{
	int fd = dft_mapping_open_path(pid, path);

	if (fd >= 0 && is_file(fd, key))
		return fd;
	if (fd >= 0)
		close(fd);
	else if (fd == -EMFILE || fd == -ENFILE)
		return fd;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (is_file(fd, key))
		return fd;
	close(fd);
	return -ENOENT;
}

void dft_arm_image(struct dft_arm *arm, pid_t pid, const struct dft_image_key *key,
		   const char *path, struct dft_arm_result *out)
{
	struct sweep sweep = { .arm = arm, .key = key, .path = path };
	int err, fd = -ENOENT;

	/* Also of a process that has ended by now, and had a root that nobody else has. */
	if (key && dft_arm_known(arm, key, out))
		return;
	err = key || path ? dft_mappings_each(pid, on_mapping, &sweep) : 0;
	if (err && err != -ESRCH)
		dft_verbose("mappings of process %d: %s", (int)pid, strerror(-err));
	if (sweep.found) {
		*out = sweep.out;
		return;
	}
	/* Unmapped again, replaced by another exec, gone; or it goes by other numbers here. */
	if (path && *path == '/')
		fd = open_path(pid, key, path);
	dft_arm_fd(arm, fd, path ? path : "a file", out);
	if (fd >= 0)
		close(fd);
}
