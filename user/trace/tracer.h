/* SPDX-License-Identifier: MIT */
/* The kernel side: loading, attaching, marking, reading. The only module that sees the skeleton. */
#ifndef DFT_TRACER_H
#define DFT_TRACER_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "config.h"
#include "probesites.h"
#include "select.h"

struct dft_tracer;
struct dft_armed; /* the probes of one file, being listened to */

/* Called for each record, in order. Nonzero stops the reading and is returned. */
typedef int (*dft_record_fn)(void *ctx, const void *data, size_t size);
/* Called for each tally. Positive: delete it from the map; negative: stop. */
typedef int (*dft_tally_fn)(void *ctx, const struct dft_tally_key *key, const struct dft_tally *value);

/* Opens and loads. NULL after one line that says why. */
struct dft_tracer *dft_tracer_new(const struct dft_config *cfg, const struct dft_select *select,
				  dft_record_fn fn, void *ctx);
/* Whether page faults in mapped files are seen; known when dft_tracer_attach() has returned. */
bool dft_tracer_faults(const struct dft_tracer *tracer);
/* Asks for a process; `flags` are enum dft_target_flag. Before attaching. 0 or -errno. */
int dft_tracer_add_target(struct dft_tracer *tracer, pid_t pid, uint32_t flags);
/* Attaches and marks the targets' threads. When it returns, tracing is live. 0 or -errno + line. */
int dft_tracer_attach(struct dft_tracer *tracer);
/*
 * Marks threads that the kernel side could not mark when they were born. Cheap when there are none.
 * 0 or -errno.
 */
int dft_tracer_catch_up(struct dft_tracer *tracer);
/*
 * Counts the traced threads that are alive and has each send its PROC record again: birth records can
 * be lost. The number, or -errno.
 */
int dft_tracer_census(struct dft_tracer *tracer);
/*
 * Threads that make no calls at the moment hand in what they have gathered. Also after detaching, for
 * what all have. 0 or -errno.
 */
int dft_tracer_flush(struct dft_tracer *tracer);
/*
 * Reads at most `budget` records. Returns how many were read (less than the budget: the ring was
 * empty), or what the callback returned.
 */
int dft_tracer_read(struct dft_tracer *tracer, unsigned int budget);
/*
 * Bytes that have been put into the ring, and that have been read, since it was made. All that was in
 * it at a time is read when the second has come to what the first was then.
 */
uint64_t dft_tracer_ring_end(const struct dft_tracer *tracer);
uint64_t dft_tracer_ring_read(const struct dft_tracer *tracer);
/* Has a tally of calls changed since this was asked? Ask before looking at them. */
bool dft_tracer_tallied(struct dft_tracer *tracer);
/*
 * A look at all tallies, some hundreds at a time: there may be very many. What is tallied meanwhile may
 * be shown or not. Returns 1 while there are more, 0 at the end, -errno, or what `fn` returned.
 */
int dft_tracer_tallies_begin(struct dft_tracer *tracer);
int dft_tracer_tallies_some(struct dft_tracer *tracer, dft_tally_fn fn, void *ctx);
/* Has any request been submitted? If not, none is in flight. */
bool dft_tracer_requested(const struct dft_tracer *tracer);
/* The requests of this process that are in flight at the next sweep have their end there. 0 or -errno. */
int dft_tracer_request_ending(struct dft_tracer *tracer, uint32_t pid, uint64_t start_ns);
/*
 * An end for those requests, or with `all` for those of all processes: into the ring or the tallies, as
 * any other. 0 or -errno.
 */
int dft_tracer_sweep(struct dft_tracer *tracer, bool all);
/* From now on there are no records of calls, but tallies. */
void dft_tracer_aggregate(struct dft_tracer *tracer);
/* EXIT records that found the ring full, so far. */
uint64_t dft_tracer_exits_lost(const struct dft_tracer *tracer);
/* Losses that had no room in the tallies. */
uint64_t dft_tracer_uncounted(struct dft_tracer *tracer);
/*
 * How often the kernel skipped one of our programs since it was running already on that CPU: each is
 * a call or a birth not seen. Before detaching.
 */
uint64_t dft_tracer_missed(struct dft_tracer *tracer);
/* From now on the kernel leaves out calls on this file, or not any more. 0 or -errno. */
int dft_tracer_exclude(struct dft_tracer *tracer, uint64_t name_id);
int dft_tracer_include(struct dft_tracer *tracer, uint64_t name_id);
/* NAME records read since the last dft_tracer_names_forget(). */
unsigned int dft_tracer_names_sent(const struct dft_tracer *tracer);
/* All names will be sent again when they are used next. 0 or -errno. */
int dft_tracer_names_forget(struct dft_tracer *tracer);
/*
 * Waits until each program that is running by now in the kernel has ended: some 20 ms. From any thread.
 * 0 or -errno.
 */
int dft_tracer_settle(struct dft_tracer *tracer);
/*
 * Calls `fn` for each name that a record to come may refer to without its being sent again before; both
 * calls above have been made. Batches are handed in as by dft_tracer_flush(). 0, or -errno: -EAGAIN if
 * there may be others, and all has to be done again.
 */
int dft_tracer_names_in_use(struct dft_tracer *tracer, void (*fn)(void *ctx, uint64_t id), void *ctx);
/* Readable when a record has come that should be seen at once. Edge-triggered. */
int dft_tracer_wake_fd(const struct dft_tracer *tracer);

/*
 * Listens to the probes at `sites` of the file, in all processes that run it now or later. `path` may
 * be /proc/self/fd/N. 0 or -errno.
 */
int dft_tracer_arm(struct dft_tracer *tracer, const char *path, const struct dft_site *sites,
		   size_t n, struct dft_armed **out);
/* Not any more; the programs are as they were. NULL is allowed. */
void dft_tracer_disarm(struct dft_tracer *tracer, struct dft_armed *armed);
/* The same of many, and much faster. */
void dft_tracer_disarm_all(struct dft_tracer *tracer, struct dft_armed **armed, size_t n);
/* From now on no IMAGE record is sent for this file. 0 or -errno. */
int dft_tracer_image_seen(struct dft_tracer *tracer, const struct dft_image_key *key);
/* IMAGE records are sent for all files again. */
void dft_tracer_images_unseen(struct dft_tracer *tracer);
/* Forgets the declarations of processes for which `gone` says so. 0 or -errno. */
int dft_tracer_forget_declared(struct dft_tracer *tracer,
			       bool (*gone)(void *ctx, uint32_t pid, uint64_t start_ns), void *ctx);

/*
 * The end, in two steps. No further calls after the first; what threads have gathered is still there to
 * be flushed, and a thread that ends hands it in. No further records after the second; the ring keeps
 * what it has. 0, or -errno when calls were in progress, perhaps, whose records may come later still.
 */
int dft_tracer_detach_calls(struct dft_tracer *tracer);
/* Between the two, behind the flush: calls that had not ended by the first become records. 0 or -errno. */
int dft_tracer_unfinished(struct dft_tracer *tracer);
void dft_tracer_detach(struct dft_tracer *tracer);
void dft_tracer_free(struct dft_tracer *tracer);

#endif
