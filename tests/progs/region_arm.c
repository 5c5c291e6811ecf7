// SPDX-License-Identifier: MIT
// LDFLAGS: -ldl
/*
 * A process that does what it is told, line by line on stdin, and answers each line with what
 * region_log.h says of it and a line with a point.
 *
 *   hits NAME N             N regions
 *   inside                  what follows is in the scope of a function's region ...
 *   leave                   ... that ends here
 *   listens                 says how many listen
 *   until N                 waits until so many do
 *   load PATH, unload       a library (region_lib.c)
 *   lib NAME N FIRST        regions in it
 *   lib-until N             as above, in the library
 *   spawn PROGRAM ARG...    a process of another program, and waits for it
 *   child                   a child that does what it is told from now on, while this one waits
 *   entity TYPE KEY N       declares it N times
 *   type TYPE TEXT
 *   uses TYPE KEY           a region that uses it, by type and key
 *   relates TYPE KEY        a region that is related to its id
 *   edge TYPE KEY TYPE KEY  one contains the other
 *   told                    a region with arguments and a relation, and facts about the process
 *   exit
 */
#include "region_log.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

#define WORDS 16

static void *library;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "region_arm: %s\n", what);
	_exit(97);
}

static void *symbol(const char *name)
{
	void *at = library ? dlsym(library, name) : NULL;

	must(at != NULL, name);
	return at;
}

static void reap(pid_t pid)
{
	int status;

	must(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	rl_say("status", status);
	rl_sync();
}

static void serve(void);

static void inside(void)
{
	RL_FUNCTION();
	serve();
}

static void told(void)
{
	struct rl_handle h = rl_open("told");
	EntityID id = DFTRACER_C_ENTITY("file", "told", DFT_STORE_LOCAL_DISK, "/told");

	DFTRACER_C_ENTITY_TYPE("file", DFT_ROLE_INPUT, "what was told");
	update_metadata_string(h.d, "text", "some text");
	update_relation(h.d, DFT_REL_USED, id);
	update_relation(h.d, DFT_REL_UPDATED, id);
	rl_close(h);
	DFTRACER_C_METADATA(told, "fact", "as it is");
	DFTRACER_C_APP_METADATA_INT("seed", 7);
	DFTRACER_C_MARK_USED("TOLD");
}

static void with_entity(const char *name, const char *type, const char *key, int by_id)
{
	struct rl_handle h = rl_open(name);

	if (by_id)
		update_relation(h.d, DFT_REL_USED, dft_entity_id(type, key));
	else
		update_relation_entity(h.d, DFT_REL_GENERATED, type, key, DFT_STORE_MEMORY, NULL);
	rl_close(h);
}

static void edge(char **w)
{
	DFTRACER_C_ENTITY_RELATE(DFT_REL_CONTAINS, dft_entity_id(w[1], w[2]),
				 dft_entity_id(w[3], w[4]));
}

static int obey_process(char **w)
{
	pid_t pid;

	if (!strcmp(w[0], "spawn")) {
		must(!posix_spawn(&pid, w[1], NULL, NULL, w + 1, environ), w[1]);
		reap(pid);
	} else if (!strcmp(w[0], "child")) {
		pid = fork();
		if (pid) {
			reap(pid);
		} else {
			rl_not_for_ever();
			rl_write(".\n", 2);
			serve();
			exit(0);
		}
	} else {
		return 0;
	}
	return 1;
}

static int obey_library(char **w)
{
	if (!strcmp(w[0], "load")) {
		library = dlopen(w[1], RTLD_NOW | RTLD_LOCAL);
		must(library != NULL, w[1]);
	} else if (!strcmp(w[0], "unload")) {
		must(!dlclose(library), "dlclose");
	} else if (!strcmp(w[0], "lib")) {
		((void (*)(const char *, long, long))symbol("lib_hits"))(w[1], atol(w[2]), atol(w[3]));
	} else if (!strcmp(w[0], "lib-until")) {
		while (((int (*)(void))symbol("lib_listens"))() != (atoi(w[1]) != 0))
			;
	} else {
		return 0;
	}
	return 1;
}

static int obey_entity(char **w)
{
	if (!strcmp(w[0], "entity")) {
		for (long i = atol(w[3]); i > 0; i--)
			DFTRACER_C_ENTITY(w[1], w[2], DFT_STORE_MEMORY, "/somewhere");
	} else if (!strcmp(w[0], "type")) {
		DFTRACER_C_ENTITY_TYPE(w[1], DFT_ROLE_INPUT, w[2]);
	} else if (!strcmp(w[0], "uses") || !strcmp(w[0], "relates")) {
		with_entity(w[0], w[1], w[2], !strcmp(w[0], "relates"));
	} else if (!strcmp(w[0], "edge")) {
		edge(w);
	} else if (!strcmp(w[0], "told")) {
		told();
	} else {
		return 0;
	}
	return 1;
}

static void obey(char **w)
{
	if (!strcmp(w[0], "hits")) {
		for (long i = atol(w[2]); i > 0; i--)
			rl_close(rl_open(w[1]));
	} else if (!strcmp(w[0], "inside")) {
		inside();
	} else if (!strcmp(w[0], "listens")) {
		rl_say("listens", dftracer_event_semaphore);
	} else if (!strcmp(w[0], "until")) {
		while (dftracer_event_semaphore != atoi(w[1]))
			;
	} else {
		must(obey_process(w) || obey_library(w) || obey_entity(w), w[0]);
	}
}

static void serve(void)
{
	char line[4096], *word[WORDS], *at;
	int n = 0;

	while (n = 0, fgets(line, sizeof(line), stdin)) {
		for (at = strtok(line, " \n"); at && n < WORDS - 1; at = strtok(NULL, " \n"))
			word[n++] = at;
		word[n] = NULL;
		must(n > 0, "a word");
		for (int i = n; i < WORDS; i++)
			word[i] = NULL;
		if (!strcmp(word[0], "exit"))
			exit(0);
		if (!strcmp(word[0], "inside"))
			rl_write(".\n", 2);
		if (!strcmp(word[0], "leave"))
			return;
		obey(word);
		rl_write(".\n", 2);
	}
}

int main(void)
{
	rl_not_for_ever();
	setvbuf(stdin, NULL, _IONBF, 0); /* what a child reads is not for this process */
	serve();
	return 0;
}
