/* SPDX-License-Identifier: MIT */
/*
 * From records of the kernel side to the lines of each process: decoding (decode.c) and writing
 * (format.c). Pure: whatever touches the system is behind the callbacks, so that recorded raw
 * records give the same lines anywhere. One thread.
 */
#ifndef DFT_ENGINE_H
#define DFT_ENGINE_H

#include "config.h"
#include "json.h"
#include "names.h"
#include "procs.h"

/* What /proc knows about a process that was there before the tracer. Strings may be NULL. */
struct dft_described {
	char *program;  /* base name of the executable */
	char *cmd;      /* with NUL behind each argument */
	size_t cmd_len;
	char *cwd;
};

/* What was found out about a file that a process runs (DFT_REC_IMAGE). */
struct dft_image_found {
	enum {
		DFT_IMAGE_PLAIN = 0, /* no probes in it */
		DFT_IMAGE_ARMED,
		DFT_IMAGE_FAILED,    /* it may have probes, and they are not listened to */
	} state;
	uint64_t armed_ns;     /* CLOCK_MONOTONIC: listened to from then on */
	const char *why;       /* of FAILED; static */
};

struct dft_engine_ops {
	void *ctx;
	/*
	 * Takes the lines written so far (the callee empties the buffer); `last`: the process has
	 * ended and its file is complete. 0 or -errno, which stops the tracing.
	 */
	int (*output)(void *ctx, struct dft_proc *proc, bool last);
	/* Tells the kernel side to leave out the file. */
	void (*exclude)(void *ctx, uint64_t name_id);
	/* Fills `out` from /proc; its strings are freed by the caller. */
	void (*describe)(void *ctx, uint32_t pid, struct dft_described *out);
	/*
	 * A process has begun to run a file that may have probes; `path` is as the process sees it, or
	 * NULL. Looks, listens from now on, and says what it found.
	 */
	void (*image)(void *ctx, const struct dft_rec_image *rec, const char *path,
		      struct dft_image_found *out);
};

struct dft_engine {
	const struct dft_config *cfg;
	struct dft_engine_ops ops;
	char *host;
	uint64_t hhash;
	int64_t clock_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct dft_names names;
	struct dft_procs procs;
	struct dft_buf scratch;  /* a name being joined */
	/* Totals of the session; events are calls, without start and end. */
	uint64_t events, processes, lost, bad_records;
	uint64_t uncounted;      /* losses that belong to no process's tally; known at the end */
	bool uncounted_told;     /* in the end record of one process */
};

/* 0 or -ENOMEM. `host` is copied. */
int dft_engine_init(struct dft_engine *engine, const struct dft_config *cfg,
		    const struct dft_engine_ops *ops, const char *host, int64_t clock_offset_ns);
void dft_engine_free(struct dft_engine *engine);

/* One record of the ring. 0 or -errno (memory, output). A malformed one is counted. */
int dft_engine_record(struct dft_engine *engine, const void *data, size_t size);
/*
 * A process of which only tallies are known, born at `start_ns`: makes it, dying. 0 or -ENOMEM.
 */
int dft_engine_orphan(struct dft_engine *engine, uint32_t pid, uint64_t start_ns, uint64_t now_ns);
/* A process whose end waits for its tallies, or NULL. */
struct dft_proc *dft_engine_dying(struct dft_engine *engine, uint32_t pid, uint64_t start_ns);
/* A file that a process has mapped is not listened to any more, as of CLOCK_MONOTONIC `now_ns`. */
void dft_engine_unheard(struct dft_engine *engine, struct dft_proc *proc, const char *path,
			uint64_t now_ns);
/* Has a dying process declared entities or types? */
bool dft_engine_dying_declared(const struct dft_engine *engine);
/* One tally of the kernel side's map; kept if its process is dying. 0 or -ENOMEM. */
int dft_engine_tally(struct dft_engine *engine, const struct dft_tally_key *key,
		     const struct dft_tally *value);
/* Tallies are in: writes the end of each dying process and forgets it. */
int dft_engine_reap(struct dft_engine *engine);
/* Tracing is over: all processes still alive become dying, as of CLOCK_MONOTONIC `now_ns`. */
int dft_engine_retire_all(struct dft_engine *engine, uint64_t now_ns);
/* A process is gone and no record said so: its EXIT was lost. 0 or -ENOMEM. */
int dft_engine_gone(struct dft_engine *engine, uint32_t pid, uint64_t now_ns);
/* Hands all lines so far to the output. */
int dft_engine_flush(struct dft_engine *engine);

/* ---- format.c -------------------------------------------------------------------------------- */

/* Strings of a call, resolved. Absent ones are NULL. */
struct dft_call_names {
	const struct dft_name *file;  /* by descriptor */
	const char *path1;            /* by name; points to memory of the caller */
	size_t path1_len;
	const char *text2;
	size_t text2_len;
	const struct dft_name *other;
	const char *unresolved;  /* why path1 or file is missing */
	const char *unresolved2;
	const char *raw1;        /* what the program wrote, when it could not be resolved */
	size_t raw1_len;
	bool lexical;
	bool unreachable;        /* outside the process's root */
};

void dft_format_opening(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns);
void dft_format_image(struct dft_engine *engine, struct dft_proc *proc);
void dft_format_call(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_call *rec, const struct dft_call_names *names);
void dft_format_end(struct dft_engine *engine, struct dft_proc *proc);

#endif
