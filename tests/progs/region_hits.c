// SPDX-License-Identifier: MIT
/*
 * N regions of one name, the first of them before anything else in main().
 *
 *   region_hits NAME N              at once
 *   region_hits NAME N wait         after a byte on stdin; says `ready` before
 *   region_hits NAME N armed        at once, and as many again (armed_NAME) once somebody listens
 *   region_hits NAME N jail DIR     at once; then DIR becomes the root, and /hits is executed to wait
 *   region_hits NAME N unlink       it removes itself, and then as with `armed`
 *
 * The interpreter of a script gets the script's name behind what its first line says.
 */
#include "region_log.h"

static void hits(const char *name, long n)
{
	for (long i = 0; i < n; i++)
		rl_close(rl_open(name));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "none";
	long n = argc > 2 ? atol(argv[2]) : 3;
	const char *how = argc > 3 ? argv[3] : "";
	const char *first = getenv("REGION_FIRST");
	char byte, armed[80];

	rl_not_for_ever();
	rl_first = first ? atol(first) : 0;
	if (!strcmp(how, "wait")) {
		rl_say("ready", 0);
		if (read(0, &byte, 1) != 1)
			return 1;
	} else if (!strcmp(how, "unlink")) {
		if (unlink(argv[0]))
			return 1;
	}
	hits(name, n);
	if (!strcmp(how, "jail")) {
		if (!argv[4] || chroot(argv[4]) || chdir("/") || setenv("REGION_FIRST", "1000", 1))
			return 1;
		execl("/hits", "/hits", "in_jail", "5", "wait", NULL);
		return 1;
	}
	if (!strcmp(how, "armed") || !strcmp(how, "unlink")) {
		while (!DFTRACER_USDT_ENABLED(dftracer, event))
			;
		snprintf(armed, sizeof(armed), "armed_%s", name);
		hits(armed, n);
	}
	rl_say("euid", geteuid());
	rl_say("listens", DFTRACER_USDT_ENABLED(dftracer, event));
	return 0;
}
