/* SPDX-License-Identifier: MIT */
/*
 * For programs with regions that say, line by line on their stdout, what they did with each of them,
 * and when by their own clock:
 *
 *   + PID TID ID PARENT NAME T0 T1     a region was opened between T0 and T1
 *   - PID TID OPENER:ID T2 T3          it was closed between T2 and T3
 *   ^ PID TID OPENER:ID PARENT         it belongs to this thread now, which will close it
 *   ! PID TID WORD NUMBER              anything else
 *
 * PARENT is OPENER:ID of the region around it, as the program has them on its stack, or -. Times are
 * of CLOCK_MONOTONIC. No two of a thread are nearer than two microseconds, so that they can be told
 * apart where times are in microseconds. A region has its ID as an argument.
 */
#ifndef DFT_TESTS_REGION_LOG_H
#define DFT_TESTS_REGION_LOG_H

#include <dftracer/dftracer.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RL_APART 2000 /* ns */

#define RL_MAX	 40000
#define RL_UNUSED __attribute__((unused))

struct rl {
	struct rl *parent;
	const char *name;
	long id, pid;
	uint64_t t0, t1, t2, t3;
	int state; /* 0 not open yet, 1 open, 2 being closed, 3 closed */
};

static struct rl rl_all[RL_MAX];
static long rl_used;
static long rl_first RL_UNUSED; /* the first id; not 0 in a process that has had others before */
static __thread struct rl *rl_top;
static __thread uint64_t rl_last;

static inline uint64_t rl_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Waits until the clock has moved on since the last moment that was noted. */
static inline void rl_tick(void)
{
	while (rl_now() < rl_last + RL_APART)
		;
}

/* What another thread has noted counts as well: after it has been waited for. */
static inline void rl_sync(void)
{
	rl_last = rl_now();
	rl_tick();
}

/* A process that waits for what does not come is not left behind. */
RL_UNUSED static void rl_not_for_ever(void)
{
	alarm(240);
}

static inline void rl_write(const char *line, int len)
{
	if (len < 0 || write(1, line, (size_t)len) != len)
		_exit(99);
}

static inline long rl_pid(void)
{
	return syscall(SYS_getpid);
}

static inline long rl_tid(void)
{
	return syscall(SYS_gettid);
}

RL_UNUSED static void rl_say(const char *word, long number)
{
	char line[160];

	rl_write(line, snprintf(line, sizeof(line), "! %ld %ld %s %ld\n", rl_pid(), rl_tid(), word,
				number));
}

/* Before a region is opened, and after. */
RL_UNUSED static struct rl *rl_opening(const char *name)
{
	long n = __atomic_fetch_add(&rl_used, 1, __ATOMIC_RELAXED);
	struct rl *r = &rl_all[n];

	if (n >= RL_MAX)
		_exit(98);
	r->parent = rl_top;
	r->name = name;
	r->id = rl_first + n;
	r->pid = rl_pid();
	rl_tick();
	r->t0 = rl_now();
	return r;
}

static inline void rl_name_parent(const struct rl *r, char name[64])
{
	if (r->parent)
		snprintf(name, 64, "%ld:%ld", r->parent->pid, r->parent->id);
	else
		strcpy(name, "-");
}

RL_UNUSED static struct rl *rl_opened(struct rl *r)
{
	char line[400], parent[64];

	r->t1 = rl_last = rl_now();
	rl_name_parent(r, parent);
	rl_write(line, snprintf(line, sizeof(line), "+ %ld %ld %ld %s %s %llu %llu\n", r->pid, rl_tid(),
				r->id, parent, r->name, (unsigned long long)r->t0,
				(unsigned long long)r->t1));
	r->state = 1;
	rl_top = r;
	return r;
}

/* Before it is closed, and after. Only the first time counts, as with a region. */
RL_UNUSED static void rl_closing(struct rl *r)
{
	if (r->state != 1)
		return;
	rl_tick();
	r->t2 = rl_now();
	r->state = 2;
}

RL_UNUSED static void rl_closed(struct rl *r)
{
	struct rl **at = &rl_top;
	char line[200];

	if (r->state != 2)
		return;
	r->t3 = rl_last = rl_now();
	r->state = 3;
	while (*at && *at != r)
		at = &(*at)->parent;
	if (*at)
		*at = r->parent;
	rl_write(line, snprintf(line, sizeof(line), "- %ld %ld %ld:%ld %llu %llu\n", rl_pid(), rl_tid(),
				r->pid, r->id, (unsigned long long)r->t2,
				(unsigned long long)r->t3));
}

/* ---- C: regions in a scope ------------------------------------------------------------------ */

RL_UNUSED static void rl_closing_at(struct rl **r)
{
	rl_closing(*r);
}

RL_UNUSED static void rl_closed_at(struct rl **r)
{
	rl_closed(*r);
}

#define RL_AT_END(fn) __attribute__((cleanup(fn), unused))

/* The region is between two variables, so that these two see its end coming and past. */
#define RL_REGION(name_)                                                                           \
	struct rl *rl_of_##name_ RL_AT_END(rl_closed_at) = rl_opening(#name_);                     \
	DFTRACER_C_REGION_START(name_)                                                             \
	struct rl *rl_in_##name_ RL_AT_END(rl_closing_at) = rl_opened(rl_of_##name_);              \
	DFTRACER_C_REGION_UPDATE_INT(name_, "id", (int)rl_of_##name_->id)

#define RL_FUNCTION()                                                                              \
	struct rl *rl_of_fn RL_AT_END(rl_closed_at) = rl_opening(__func__);                        \
	DFTRACER_C_FUNCTION_START()                                                                \
	struct rl *rl_in_fn RL_AT_END(rl_closing_at) = rl_opened(rl_of_fn);                        \
	DFTRACER_C_FUNCTION_UPDATE_INT("id", (int)rl_of_fn->id)

#define RL_REGION_END(name_)                                                                       \
	do {                                                                                       \
		rl_closing(rl_of_##name_);                                                         \
		DFTRACER_C_REGION_END(name_)                                                       \
		rl_closed(rl_of_##name_);                                                          \
	} while (0)

/* ---- regions with a handle ------------------------------------------------------------------ */

struct rl_handle {
	struct rl *r;
	struct DFTracerData *d;
};

RL_UNUSED static struct rl_handle rl_open(const char *name)
{
	struct rl_handle h;

	h.r = rl_opening(name);
	h.d = initialize_region(name, "C_APP", DF_DATA_EVENT);
	rl_opened(h.r);
	update_metadata_int(h.d, "id", (int)h.r->id);
	return h;
}

RL_UNUSED static void rl_close(struct rl_handle h)
{
	rl_closing(h.r);
	finalize_region(h.d);
	rl_closed(h.r);
}

/* The thread that opened it is done with it; another one will close it. */
RL_UNUSED static void rl_hand_over(struct rl_handle h)
{
	if (rl_top == h.r)
		rl_top = h.r->parent;
}

/* This thread will close it. What it opens until then is within. */
RL_UNUSED static void rl_take_over(struct rl_handle h)
{
	char line[200], parent[64];

	h.r->parent = rl_top;
	rl_top = h.r;
	rl_name_parent(h.r, parent);
	rl_write(line, snprintf(line, sizeof(line), "^ %ld %ld %ld:%ld %s\n", rl_pid(), rl_tid(),
				h.r->pid, h.r->id, parent));
}

#endif
