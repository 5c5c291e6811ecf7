// SPDX-License-Identifier: MIT
#include "outpath.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "out.h"

static size_t without(const char *s, size_t n, const char *suffix)
{
	size_t m = strlen(suffix);

	return n > m && memcmp(s + n - m, suffix, m) == 0 ? n - m : n;
}

/* A name is taken by its hash; its value tells how many have asked for it. 0 or -ENOMEM. */
static int ask_for(struct dft_index *taken, const char *name, uint64_t **asked)
{
	bool fresh;

	*asked = dft_index_put(taken, dft_hash_bytes(0, name, strlen(name)), &fresh);
	return *asked ? 0 : -ENOMEM;
}

char *dft_outpath(struct dft_index *taken, const char *dir, const char *source)
{
	const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
	size_t n = strlen(base);
	char *path, *name;
	uint64_t *asked, nr;

	if (strcmp(source, "-") == 0) {
		base = "stdin";
		n = strlen(base);
	}
	n = without(base, without(base, n, ".gz"), ".pfw");
	if (asprintf(&name, "%.*s", (int)n, base) < 0)
		return NULL;
	/* Of sources of one name, in several directories, the others get a number behind it. */
	while (!ask_for(taken, name, &asked) && (nr = ++*asked) > 1) {
		free(name);
		if (asprintf(&name, "%.*s-%" PRIu64, (int)n, base, nr) < 0)
			return NULL;
	}
	path = NULL;
	if (asked && asprintf(&path, "%s/%s.pfw.gz", dir, name) < 0)
		path = NULL;
	free(name);
	return path;
}

/* Of what is not there yet: its directory. The caller frees it. */
static char *real_place(const char *path)
{
	char *real = realpath(path, NULL), *copy;

	if (real)
		return real;
	copy = strdup(path);
	real = copy ? realpath(dirname(copy), NULL) : NULL;
	free(copy);
	return real;
}

const char *dft_outpath_below(const char *out, int argc, char **argv)
{
	char *place = real_place(out);
	const char *found = NULL;
	struct stat st;

	for (int i = 0; place && !found && i < argc; i++) {
		char *dir = realpath(argv[i], NULL);
		size_t n = dir ? strlen(dir) : 0;

		if (dir && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && strncmp(place, dir, n) == 0 &&
		    (!place[n] || place[n] == '/' || n == 1))
			found = argv[i];
		free(dir);
	}
	free(place);
	return found;
}

int dft_outpath_dir(const char *dir)
{
	char safe[1024];
	struct stat st;
	int err = 0;

	if (mkdir(dir, 0777) && (errno != EEXIST || stat(dir, &st)))
		err = errno;
	else if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
		err = ENOTDIR;
	if (err)
		dft_error("%s: %s", dft_safe_z(safe, sizeof(safe), dir), strerror(err));
	return -err;
}
