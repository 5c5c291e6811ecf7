// SPDX-License-Identifier: MIT
/*
 * Runs every_run() three times: while nobody listens, while somebody does, and again while nobody
 * does. With an argument it is in that library, opened now. Prints what came.
 */
#include "listen.h"

#include <stdio.h>
#ifdef BY_DLOPEN
#include <dlfcn.h>
#else
void every_run(void);
#endif

int main(int argc, char **argv)
{
	void (*run)(void);

#ifdef BY_DLOPEN
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library) {
		fprintf(stderr, "dlopen: %s\n", dlerror());
		return 3;
	}
	*(void **)&run = dlsym(library, "every_run");
	if (!run)
		return 3;
#else
	(void)argc;
	(void)argv;
	run = every_run;
#endif
	run();
	listen_print();
	printf("listening %d\n", listen_begin());
	run();
	listen_end();
	listen_print();
	printf("no more\n");
	run();
	listen_print();
	return 0;
}
