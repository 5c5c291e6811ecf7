// SPDX-License-Identifier: MIT
/*
 * annot_sem [LIBRARY]: says "ready", then obeys lines of its input, and ends with that:
 *
 *   fire    passes all its probes, then those of the library, and says "fired"
 *   fork    goes on as a child, which says its number; the parent then ends as the child does
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annot_sem.h"

static void fire_nothing(void)
{
}

static void (*find(const char *path))(void)
{
#ifdef NO_LIBRARY
	fprintf(stderr, "%s: no libraries here\n", path);
	return NULL;
#else
	void *library = dlopen(path, RTLD_NOW);
	void (*fire)(void) = NULL;

	if (library)
		*(void **)&fire = dlsym(library, "fire_library");
	if (!fire)
		fprintf(stderr, "%s\n", dlerror());
	return fire;
#endif
}

static void go_on_as_child(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		printf("%d\n", (int)getpid());
		return;
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		_exit(98);
	_exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	void (*fire_library)(void) = argc > 1 ? find(argv[1]) : fire_nothing;
	char line[64];

	if (!fire_library)
		return 1;
	/* Unbuffered: what comes after a fork is the child's. */
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "fork\n")) {
			go_on_as_child();
			continue;
		}
		fire_all("PROGRAM");
		fire_library();
		puts("fired");
	}
	return 0;
}
