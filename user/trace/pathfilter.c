// SPDX-License-Identifier: MIT
#include "pathfilter.h"

#include <string.h>

/* Length of the longest prefix in `list` that `path` lies under, 0 when there is none. */
static size_t longest_match(const struct dft_strv *list, const char *path, size_t len)
{
	size_t best = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char *prefix = list->v[i];
		size_t n = strlen(prefix);

		if (n <= best || n > len || memcmp(prefix, path, n) != 0)
			continue;
		/* "/" ends in the separator itself; every other prefix must end a component. */
		if (n == len || path[n] == '/' || prefix[n - 1] == '/')
			best = n;
	}
	return best;
}

bool dft_pathfilter_keep(const struct dft_strv *include, const struct dft_strv *exclude,
			 const char *path, size_t len)
{
	size_t in = longest_match(include, path, len);
	size_t out = longest_match(exclude, path, len);

	if (in == 0 && out == 0)
		return include->n == 0;
	return in > out;
}
