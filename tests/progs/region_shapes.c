// SPDX-License-Identifier: MIT
/*
 * Regions in all the ways in which a C program enters and leaves them, said by region_log.h.
 *
 *   region_shapes SHAPE...
 */
#include "region_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(97);
}

/* An argument of n bytes, which the reader can compute from the region's id. */
static void pad(struct DFTracerData *d, const struct rl *r, int n)
{
	char word[40], *text = malloc((size_t)n + 1);

	for (int i = 0; i < n; i++)
		text[i] = (char)('a' + (i + r->id) % 26);
	text[n] = '\0';
	update_metadata_string(d, "pad", text);
	free(text);
	snprintf(word, sizeof(word), "pad:%ld", r->id);
	rl_say(word, n);
}

/* ---- nesting, early ends --------------------------------------------------------------------- */

static void level5(int siblings)
{
	RL_FUNCTION();
	for (int i = 0; i < siblings; i++) {
		RL_REGION(in_loop);
		if (i % 2)
			continue;
		RL_REGION(even);
		pad(data_even, rl_of_even, 100 + 300 * i);
	}
}

static int level4(int siblings)
{
	RL_FUNCTION();
	level5(siblings);
	RL_REGION(after);
	return siblings;
}

static void level3(int siblings)
{
	RL_FUNCTION();
	pad(data_fn, rl_of_fn, 2000);
	level4(siblings);
	level4(0);
}

static void level2(int siblings)
{
	RL_FUNCTION();
	level3(siblings);
	DFTRACER_C_FUNCTION_UPDATE_STR("end", "of level2");
	rl_closing(rl_of_fn);
	DFTRACER_C_FUNCTION_END();
	rl_closed(rl_of_fn);
	RL_REGION(beside_level2);
}

static void nested(void)
{
	RL_FUNCTION();
	for (int i = 0; i < 4; i++)
		level2(i);
}

static int early(int how)
{
	RL_FUNCTION();
	if (how == 0)
		return 0;
	for (int i = 0;; i++) {
		RL_REGION(turn);
		if (i == 2)
			break;
		if (i == how)
			return i;
		RL_REGION(rest_of_turn);
		switch (how) {
		case 7: {
			RL_REGION(in_case);
			goto out;
		}
		case 8:
			RL_REGION_END(rest_of_turn);
			RL_REGION_END(turn);
			RL_REGION_END(turn);
			continue;
		}
		RL_REGION(last);
	}
	RL_REGION(after_loop);
	pad(data_after_loop, rl_of_after_loop, 1000);
	if (how == 5)
		return how;
out:
	return -1;
}

static void early_ends(void)
{
	for (int how = 0; how < 9; how++)
		early(how);
}

/* ---- ends that do not come ------------------------------------------------------------------- */

static jmp_buf back;

static __attribute__((noinline)) void jump(int depth)
{
	RL_FUNCTION();
	pad(data_fn, rl_of_fn, depth * 1000);
	if (depth < 0)
		return; /* never: for the compiler, which warns of a recursion without end */
	if (!depth)
		longjmp(back, 1);
	jump(depth - 1);
}

static void jumps(void)
{
	struct rl *top;
	struct rl_handle kept = rl_open("kept_over_jump");

	RL_FUNCTION();
	top = rl_top;
	for (volatile int i = 0; i < 3; i++) {
		if (!setjmp(back))
			jump(3);
		rl_top = top; /* those inside are gone for the program as well */
		level4(2);
	}
	RL_REGION_END(fn);
	rl_close(kept);
	/* What is left behind can still be told, by whoever kept the pointer. */
	struct rl_handle lost = rl_open("never_closed");

	pad(lost.d, lost.r, 3000);
	rl_hand_over(lost);
}

static void descend(int depth, const char **low)
{
	char here;

	RL_FUNCTION();
	*low = &here;
	if (depth > 1)
		descend(depth - 1, low);
}

static void recursion(void)
{
	const char *low = NULL;
	char here;

	descend(3000, &low);
	rl_say("stack", (long)(&here - low));
}

static void *recursion_thread(void *arg)
{
	recursion();
	return arg;
}

static void in_thread(void *(*fn)(void *), size_t stack)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (stack)
		must(!pthread_attr_setstacksize(&attr, stack), "stack size");
	must(!pthread_create(&thread, &attr, fn, NULL), "thread");
	must(!pthread_join(thread, NULL), "join");
	rl_sync();
}

static void recursions(void)
{
	recursion();
	in_thread(recursion_thread, 4 << 20);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void reap(pid_t pid, int want)
{
	int status;

	must(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	must(WIFEXITED(status) && WEXITSTATUS(status) == want, "status");
	rl_sync();
}

/* The process that comes back is the child as well. */
static pid_t fork_inside(void)
{
	RL_FUNCTION();
	pad(data_fn, rl_of_fn, 1500);
	pid_t pid = fork();

	must(pid >= 0, "fork");
	rl_sync();
	RL_REGION(both_have_it);
	pad(data_fn, rl_of_fn, pid ? 700 : 900); /* of a key given twice the last value counts */
	if (pid)
		reap(pid, 3);
	return pid;
}

static void forks(void)
{
	RL_FUNCTION();
	pid_t pid = fork_inside();

	if (!pid) {
		level4(1);
		if (!fork_inside())
			exit(3); /* out of its parent's and grandparent's regions */
		rl_closing(rl_of_fn);
		DFTRACER_C_FUNCTION_END();
		rl_closed(rl_of_fn);
		exit(3);
	}
	RL_REGION(second);
	pid = fork();
	rl_sync();
	if (!pid) {
		RL_REGION(lost_by_exit);
		pad(data_lost_by_exit, rl_of_lost_by_exit, 2000);
		_exit(4);
	}
	reap(pid, 4);
}

static void leaf(void)
{
	RL_FUNCTION();
	RL_REGION(in_leaf);
}

static __attribute__((noinline)) pid_t do_vfork(char *const *argv)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	struct rl_handle h = rl_open("of_vforked_child");

	rl_close(h);
	if (!argv)
		_exit(5);
	execv("/proc/self/exe", argv);
	_exit(96);
}

static char *leaf_argv[] = { "region_shapes", "leaf", NULL };

static void vforks(void)
{
	RL_FUNCTION();
	struct rl_handle h = rl_open("around_vfork");

	pad(h.d, h.r, 600);
	reap(do_vfork(leaf_argv), 0);
	reap(do_vfork(NULL), 5);
	rl_close(h);
}

static void spawns(void)
{
	pid_t pid;

	RL_FUNCTION();
	RL_REGION(around_spawn);
	must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, leaf_argv, environ), "spawn");
	reap(pid, 0);
}

static void execs(void)
{
	RL_FUNCTION();
	RL_REGION(lost_by_exec);
	pad(data_lost_by_exec, rl_of_lost_by_exec, 2500);
	must(!setenv("REGION_FIRST", "30000", 1), "setenv");
	execv("/proc/self/exe", leaf_argv);
	must(0, "exec");
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct rl_handle from_thread;

static __attribute__((noinline)) void leave_by_exit(void)
{
	RL_FUNCTION();
	pad(data_fn, rl_of_fn, 1200);
	RL_REGION(inner);
	pthread_exit(NULL);
}

static void *ends_by_exit(void *arg)
{
	(void)arg;
	RL_FUNCTION();
	leave_by_exit();
	return NULL;
}

static void *ends_by_cancel(void *arg)
{
	int fds[2];
	char byte;

	RL_FUNCTION();
	(void)arg;
	must(!pipe(fds), "pipe");
	must(!pthread_cancel(pthread_self()), "cancel"); /* takes effect in the read */
	must(read(fds[0], &byte, 1) == 0, "read");
	return NULL;
}

static void *ends_with_handle(void *arg)
{
	(void)arg;
	RL_FUNCTION();
	RL_REGION_END(fn);
	from_thread = rl_open("of_ended_thread");
	pad(from_thread.d, from_thread.r, 1300);
	rl_hand_over(from_thread);
	return NULL;
}

static void *many(void *arg)
{
	(void)arg;
	nested();
	early_ends();
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];

	for (int i = 0; i < 4; i++) {
		in_thread(ends_by_exit, 0);
		in_thread(ends_by_cancel, 0);
		in_thread(ends_with_handle, 0);
		rl_take_over(from_thread);
		level4(1);
		pad(from_thread.d, from_thread.r, 1400);
		rl_close(from_thread);
	}
	for (int i = 0; i < 8; i++)
		must(!pthread_create(&thread[i], NULL, many, NULL), "thread");
	for (int i = 0; i < 8; i++)
		must(!pthread_join(thread[i], NULL), "join");
	rl_sync();
}

/* ---- handles --------------------------------------------------------------------------------- */

#define RACES 300

static struct rl_handle shared;
static int race_begun, race_ended;

static void *closes_shared(void *arg)
{
	(void)arg;
	rl_sync();
	rl_take_over(shared);
	level4(1);
	rl_close(shared);
	return NULL;
}

static void until(const int *number, int value)
{
	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static void *races(void *arg)
{
	(void)arg;
	for (int i = 1; i <= RACES; i++) {
		until(&race_begun, i);
		finalize_region(shared.d);
		__atomic_store_n(&race_ended, i, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Two threads close one region at the same time. */
static void close_by_two(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, races, NULL), "thread");
	for (int i = 1; i <= RACES; i++) {
		shared = rl_open("raced");
		rl_closing(shared.r);
		__atomic_store_n(&race_begun, i, __ATOMIC_RELEASE);
		finalize_region(shared.d);
		until(&race_ended, i);
		rl_closed(shared.r);
	}
	must(!pthread_join(thread, NULL), "join");
	rl_sync();
}

static void handles(void)
{
	struct rl_handle h, inner;

	for (int i = 0; i < 3; i++) {
		shared = rl_open("closed_by_another");
		rl_hand_over(shared);
		in_thread(closes_shared, 0);
	}
	/* Twice, and once more through what a scope would call. */
	h = rl_open("closed_twice");
	inner = rl_open("inner_closed_twice");
	rl_close(inner);
	finalize_region(inner.d);
	finalize_region_cleanup(&inner.d);
	rl_close(h);
	finalize_region(h.d);
	update_metadata_int(h.d, "after", 1);
	update_relation(h.d, DFT_REL_USED, 1);
	finalize_region(h.d);
	finalize_region(NULL);
	finalize_region_cleanup(NULL);
	close_by_two();
	/* The API's end is no end here. */
	DFTRACER_C_FINI();
	DFTRACER_C_FINI();
	level4(1);
}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{ "nested", nested },  { "early", early_ends }, { "jumps", jumps },   { "recursion", recursions },
	{ "forks", forks },    { "vforks", vforks },	{ "spawns", spawns }, { "execs", execs },
	{ "threads", threads }, { "handles", handles }, { "leaf", leaf },
};

int main(int argc, char **argv)
{
	const char *first = getenv("REGION_FIRST");

	rl_not_for_ever();
	rl_first = first ? atol(first) : 0;
	DFTRACER_C_INIT(NULL, NULL, NULL);
	for (int i = 1; i < argc; i++) {
		size_t k = 0;

		while (k < sizeof(shapes) / sizeof(shapes[0]) && strcmp(argv[i], shapes[k].name))
			k++;
		must(k < sizeof(shapes) / sizeof(shapes[0]), argv[i]);
		shapes[k].run();
	}
	return 0;
}
