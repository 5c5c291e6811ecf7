// SPDX-License-Identifier: MIT
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "out.h"

/* Of a name within a message, which has to leave room for the reason. */
#define NAME_SZ 2048

void dft_files_free(struct dft_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i]);
	free(f->v);
	dft_index_free(&f->seen);
	memset(f, 0, sizeof(*f));
}

/* Not inlined: its buffer must not be part of the frames of a deep walk. */
static __attribute__((noinline)) void tell(struct dft_files *f, const char *path, int err)
{
	char safe[NAME_SZ];

	f->errors++;
	dft_error("%s: %s", dft_safe_z(safe, sizeof(safe), path), strerror(err));
}

/* Takes over `path`, also on failure. */
static int push(struct dft_files *f, char *path)
{
	if (!path)
		return -ENOMEM;
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 64;
		char **v = realloc(f->v, cap * sizeof(*v));

		if (!v) {
			free(path);
			return -ENOMEM;
		}
		f->v = v;
		f->cap = cap;
	}
	f->v[f->n++] = path;
	return 0;
}

static uint64_t key_of(const struct stat *st)
{
	return (uint64_t)st->st_dev * 0x9e3779b97f4a7c15ull + (uint64_t)st->st_ino;
}

bool dft_files_has(const struct dft_files *f, const struct stat *st)
{
	return dft_index_get(&f->seen, key_of(st)) != NULL;
}

/* 1: not seen before. */
static int first_time(struct dft_files *f, const struct stat *st)
{
	bool fresh;

	if (!dft_index_put(&f->seen, key_of(st), &fresh))
		return -ENOMEM;
	return fresh;
}

static bool is_trace_name(const char *name)
{
	size_t n = strlen(name);

	return (n > 4 && strcmp(name + n - 4, ".pfw") == 0) ||
	       (n > 7 && strcmp(name + n - 7, ".pfw.gz") == 0);
}

static int add_file(struct dft_files *f, const char *path, const struct stat *st)
{
	int rc = S_ISREG(st->st_mode) ? first_time(f, st) : 1;

	if (rc > 0 && S_ISREG(st->st_mode))
		f->bytes += (uint64_t)st->st_size;
	return rc > 0 ? push(f, strdup(path)) : rc;
}

static int walk(struct dft_files *f, const char *dir);

static int walk_entry(struct dft_files *f, const char *dir, const char *name)
{
	size_t n = strlen(dir);
	struct stat st;
	char *path;
	int rc = 0;

	if (asprintf(&path, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name) < 0)
		return -ENOMEM;
	if (lstat(path, &st) < 0) {
		tell(f, path, errno);
	} else if (S_ISDIR(st.st_mode)) {
		rc = walk(f, path);
	} else if (is_trace_name(name)) {
		if (S_ISLNK(st.st_mode) && stat(path, &st) < 0)
			tell(f, path, errno);
		else if (S_ISREG(st.st_mode))
			rc = add_file(f, path, &st);
	}
	free(path);
	return rc;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* The path's length bounds the depth. The directory is closed again before going deeper. */
static int walk(struct dft_files *f, const char *dir)
{
	struct dirent **list;
	int rc = 0, n = scandir(dir, &list, not_dots, by_bytes);

	if (n < 0) {
		if (errno == ENOMEM)
			return -ENOMEM;
		tell(f, dir, errno);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		unsigned char type = list[i]->d_type;

		/* Most entries are known by name and type not to concern us. */
		if (!rc && (type == DT_DIR || type == DT_UNKNOWN || is_trace_name(list[i]->d_name)))
			rc = walk_entry(f, dir, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return rc;
}

int dft_files_add(struct dft_files *f, const char *arg)
{
	struct stat st;
	size_t before = f->n;
	uint64_t errors = f->errors;
	int rc;

	if (strcmp(arg, "-") == 0)
		return push(f, strdup(arg));
	if (stat(arg, &st) < 0) {
		tell(f, arg, errno);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return add_file(f, arg, &st);
	rc = walk(f, arg);
	if (!rc && f->n == before && f->errors == errors && !f->seen.cnt) {
		char safe[NAME_SZ];

		f->errors++;
		dft_error("%s: no *.pfw or *.pfw.gz below it (name a directory that dftrace-bpf "
			  "wrote)", dft_safe_z(safe, sizeof(safe), arg));
	}
	return rc;
}

int dft_files_add_all(struct dft_files *f, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		int rc = dft_files_add(f, argv[i]);

		if (rc)
			return rc;
	}
	return 0;
}
