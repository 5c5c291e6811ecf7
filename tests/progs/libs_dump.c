// SPDX-License-Identifier: MIT
// CFLAGS: -Iuser/lib -Iuser/trace
/*
 * The files that the tracer expects a command to map, one a line, found with our environment:
 *
 *   libs_dump COMMAND           exit status 1: not found
 *   libs_dump --dftracer DIR    each libdftracer.so, if our program were in DIR ("": not known)
 */
#include <stdio.h>

#include "user/lib/buf.c"
#include "user/lib/log.c"
#include "user/trace/elffile.c"
#include "user/trace/ldcache.c"
#include "user/trace/libs.c"

static void print(void *ctx, const char *path)
{
	(void)ctx;
	puts(path);
}

int main(int argc, char **argv)
{
	struct dft_libs_env env;
	int err;

	dft_libs_environment(&env);
	if (argc == 3 && !strcmp(argv[1], "--dftracer")) {
		snprintf(env.own_dir, sizeof(env.own_dir), "%s", argv[2]);
		err = dft_libs_dftracer(&env, print, NULL);
	} else if (argc == 2) {
		err = dft_libs_each(argv[1], &env, print, NULL);
	} else {
		return 2;
	}
	if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	return err ? 1 : 0;
}
