// SPDX-License-Identifier: MIT
#include "retire.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/*
 * It begins when this many names have been sent since the last time: at once, well before the kernel's
 * map is full; or if the last time is so long ago.
 */
#define HIGH	   98304
#define MEDIUM	   20000
#define MEDIUM_NS  1000000000ull
#define LOW	   512
#define LOW_NS	   10000000000ull
/* The C library keeps what was freed between what was not. */
#define TRIM_NS	   10000000000ull

void dft_retire_init(struct dft_retire *retire, struct dft_tracer *tracer, struct dft_names *names)
{
	const char *high = getenv("DFTRACE_BPF_NAMES_HIGH"); /* for tests */

	*retire = (struct dft_retire){ .tracer = tracer, .names = names, .high = HIGH };
	if (high)
		retire->high = (unsigned int)strtoul(high, NULL, 10);
}

static bool is_due(const struct dft_retire *retire, uint64_t now_ns)
{
	unsigned int sent = dft_tracer_names_sent(retire->tracer);
	uint64_t since = now_ns - retire->begun_ns;

	return sent > retire->high || (sent > MEDIUM && since >= MEDIUM_NS) ||
	       (sent > LOW && since >= LOW_NS);
}

static void *settle(void *ctx)
{
	struct dft_retire *retire = ctx;
	int err = dft_tracer_settle(retire->tracer);

	__atomic_store_n(&retire->settled, err ? err : 1, __ATOMIC_RELEASE);
	return NULL;
}

static int begin(struct dft_retire *retire, uint64_t now_ns)
{
	int err;

	/* First: what is read from here on may have been sent since. */
	dft_names_begin(retire->names);
	retire->begun_ns = now_ns;
	err = dft_tracer_names_forget(retire->tracer);
	if (err)
		return err;
	retire->settled = 0;
	retire->has_thread = !pthread_create(&retire->thread, NULL, settle, retire);
	if (!retire->has_thread)
		settle(retire); /* the reading waits, then */
	retire->state = DFT_RETIRE_SETTLING;
	return 0;
}

static void join(struct dft_retire *retire)
{
	if (retire->has_thread)
		pthread_join(retire->thread, NULL);
	retire->has_thread = false;
}

static void keep(void *ctx, uint64_t id)
{
	struct dft_retire *retire = ctx;

	dft_names_keep(retire->names, id);
}

/* The programs have ended. */
static int look(struct dft_retire *retire, uint64_t now_ns)
{
	int err;

	join(retire);
	err = retire->settled < 0 ? retire->settled :
				    dft_tracer_names_in_use(retire->tracer, keep, retire);
	if (err == -EAGAIN)
		return begin(retire, now_ns);
	if (err)
		return err;
	retire->ring_end = dft_tracer_ring_end(retire->tracer);
	retire->state = DFT_RETIRE_READING;
	return 0;
}

static void trim(struct dft_retire *retire, uint64_t now_ns)
{
	malloc_trim(0);
	retire->trimmed_ns = now_ns;
}

int dft_retire_step(struct dft_retire *retire, uint64_t now_ns)
{
	switch (retire->state) {
	case DFT_RETIRE_RESTING:
		if (now_ns - retire->trimmed_ns >= TRIM_NS)
			trim(retire, now_ns);
		return is_due(retire, now_ns) ? begin(retire, now_ns) : 0;
	case DFT_RETIRE_SETTLING:
		if (!__atomic_load_n(&retire->settled, __ATOMIC_ACQUIRE))
			return 0;
		return look(retire, now_ns);
	case DFT_RETIRE_READING:
		break;
	}
	return dft_tracer_ring_read(retire->tracer) >= retire->ring_end;
}

/* What is left out on the kernel side is left out by its id. */
static void forgotten(void *ctx, const struct dft_name *name)
{
	struct dft_retire *retire = ctx;
	int err = name->excluded ? dft_tracer_include(retire->tracer, name->id) : 0;

	retire->gone++;
	if (err)
		dft_verbose("verdicts: %s", strerror(-err));
}

int dft_retire_finish(struct dft_retire *retire)
{
	int err;

	retire->gone = 0;
	err = dft_names_drop(retire->names, forgotten, retire);
	if (err)
		return err;
	dft_verbose("names: %zu forgotten, %zu kept", retire->gone, retire->names->by_id.len);
	retire->state = DFT_RETIRE_RESTING;
	return 0;
}

void dft_retire_stop(struct dft_retire *retire)
{
	join(retire);
}
