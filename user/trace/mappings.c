// SPDX-License-Identifier: MIT
#include "mappings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool dft_mapping_parse(char *line, struct dft_mapping *out)
{
	unsigned int major, minor;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &out->start,
		   &out->end, perms, &major, &minor, &out->ino, &at) != 6 ||
	    !at)
		return false;
	out->dev = major << 20 | minor;
	out->path = line + at;
	line[at + (int)strcspn(line + at, "\n")] = '\0';
	return perms[2] == 'x' && out->ino && *out->path == '/';
}

struct walk {
	bool (*fn)(void *ctx, pid_t tid, const struct dft_mapping *mapping);
	void *ctx;
	bool stopped;
};

/* The number of lines read, or -errno. */
static long walk_maps(struct walk *walk, pid_t tid)
{
	struct dft_mapping mapping;
	char name[64], *line = NULL;
	size_t cap = 0;
	long lines = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)tid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (!walk->stopped && getline(&line, &cap, f) > 0) {
		lines++;
		if (dft_mapping_parse(line, &mapping))
			walk->stopped = walk->fn(walk->ctx, tid, &mapping);
		errno = 0;
	}
	if (!walk->stopped && errno)
		lines = -errno;
	free(line);
	fclose(f);
	return lines;
}

int dft_mappings_each(pid_t pid,
		      bool (*fn)(void *ctx, pid_t tid, const struct dft_mapping *mapping),
		      void *ctx)
{
	struct walk walk = { .fn = fn, .ctx = ctx };
	long lines = walk_maps(&walk, pid);
	struct dirent *entry;
	char name[64];
	DIR *dir;

	if (lines)
		return lines < 0 ? (int)lines : 0;
	/* The first thread may have ended before the others, and has no memory any more. */
	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	dir = opendir(name);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (lines <= 0 && (entry = readdir(dir))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && tid != pid)
			lines = walk_maps(&walk, tid);
	}
	closedir(dir);
	return lines > 0 ? 0 : -ESRCH;
}

int dft_mapping_open_path(pid_t pid, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char name[64];
	int root, fd;

	snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

static bool is_it(int fd, const struct dft_mapping *mapping)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == mapping->ino;
}

int dft_mapping_open(pid_t tid, const struct dft_mapping *mapping)
{
	char name[96];
	int fd, err;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)tid,
		 mapping->start, mapping->end);
	fd = open(name, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	if (err == -EMFILE || err == -ENFILE)
		return err;
	/* By name then, which takes fewer privileges: as the process has it, or as we have. */
	fd = dft_mapping_open_path(tid, mapping->path);
	if (fd >= 0 && !is_it(fd, mapping)) {
		close(fd);
		fd = -ENOENT;
	}
	if (fd >= 0)
		return fd;
	fd = open(mapping->path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && !is_it(fd, mapping)) {
		close(fd);
		fd = -1;
	}
	return fd >= 0 ? fd : err;
}

struct wanted {
	uint32_t dev;
	uint64_t ino;
	bool found;
};

static bool is_wanted(void *ctx, pid_t tid, const struct dft_mapping *mapping)
{
	struct wanted *wanted = ctx;

	(void)tid;
	wanted->found = mapping->dev == wanted->dev && mapping->ino == wanted->ino;
	return wanted->found;
}

int dft_mappings_has(pid_t pid, uint32_t dev, uint64_t ino)
{
	struct wanted wanted = { .dev = dev, .ino = ino };
	int err = dft_mappings_each(pid, is_wanted, &wanted);

	return wanted.found ? 1 : err;
}

bool dft_mappings_used(uint32_t dev, uint64_t ino)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool used = false;

	if (!dir)
		return true; /* not known: it may be */
	while (!used && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		used = pid > 0 && dft_mappings_has(pid, dev, ino) == 1;
	}
	closedir(dir);
	return used;
}
