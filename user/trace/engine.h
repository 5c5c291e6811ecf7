/* SPDX-License-Identifier: MIT */
/*
 * From records of the kernel side to the lines of each process: decoding (decode.c, calls.c), what was counted
 * instead of recorded (tallies.c), and writing (format.c, end.c). Pure: whatever touches the system is behind the callbacks, so that recorded raw
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
	char *env;      /* with NUL behind each string */
	size_t env_len;
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

/* What of a name is to be found out. */
enum dft_resolve {
	DFT_RESOLVE_DIR,  /* a directory */
	DFT_RESOLVE_FILE, /* whatever it is */
	DFT_RESOLVE_LINK, /* the same, and a symbolic link is one */
};

struct dft_resolved {
	const char *path; /* without symbolic links, as the process sees it */
	size_t len;
	uint32_t magic;   /* of its file system */
	uint32_t mode;    /* as of stat */
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
	/* The path of a cgroup; NULL when it has gone. Valid until the next is asked for. */
	const char *(*cgroup)(void *ctx, uint64_t id);
	/*
	 * A process has begun to run a file that may have probes; `path` is as the process sees it, or
	 * NULL. Looks, listens from now on, and says what it found.
	 */
	void (*image)(void *ctx, const struct dft_rec_image *rec, const char *path,
		      struct dft_image_found *out);
	/* An absolute name, as the process has it. 0, or -errno; what is in `out` is valid until the next. */
	int (*resolve)(void *ctx, const struct dft_proc *proc, enum dft_resolve how, const char *path,
		       size_t len, struct dft_resolved *out);
};

struct dft_engine {
	const struct dft_config *cfg;
	struct dft_engine_ops ops;
	char *host;
	uint64_t hhash;
	struct dft_scene home;   /* namespaces of the tracer: of processes in others they are shown */
	int64_t clock_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct dft_names names;
	struct dft_procs procs;
	struct dft_buf scratch;  /* a name being joined */
	struct dft_run_files files;
	uint8_t acts[DFT_NR_MAX]; /* what the lines of the table do with content */
	/* Totals of the session; events are calls, without start and end. */
	uint64_t events, processes, lost, bad_records;
	uint64_t aggregated;     /* calls in rows, for the ring had no room for their records ... */
	uint64_t chosen;         /* ... or for that was asked for */
	uint64_t uncounted;      /* losses that belong to no process's tally; known at the end */
	bool uncounted_told;     /* in the end record of one process */
	bool mmap;               /* page faults in mapped files are seen */
	bool failed;             /* the tracer did: there may be losses that nobody has counted */
	uint64_t buffered;       /* bytes of all lines that are not handed over */
	uint64_t looked_ns;      /* CLOCK_MONOTONIC: all that was tallied before is in rows */
	uint64_t look_ns;        /* begin of the look under way */
	unsigned int look;       /* what it is for: enum dft_look */
	bool untold;             /* there are calls that the last look found and did not put into rows */
	uint64_t aggregated_ns;  /* calls are aggregated from then on; 0: they are not, or always were */
};

/* What a look at the tallies is for, besides the ends of processes. */
enum dft_look {
	DFT_LOOK_ROWS = 1 << 0,  /* rows of what has changed */
	DFT_LOOK_NAMES = 1 << 1, /* take note of the files of all tallies: names will be forgotten */
};

/* 0 or -ENOMEM. `host` is copied. */
int dft_engine_init(struct dft_engine *engine, const struct dft_config *cfg,
		    const struct dft_engine_ops *ops, const char *host, int64_t clock_offset_ns);
void dft_engine_free(struct dft_engine *engine);

/* One record of the ring. 0 or -errno (memory, output). A malformed one is counted. */
int dft_engine_record(struct dft_engine *engine, const void *data, size_t size);
/*
 * A process of which no record has come, born at `start_ns`, which lives or, with `gone`, is dying.
 * 0 or -ENOMEM.
 */
int dft_engine_adopt(struct dft_engine *engine, uint32_t pid, uint64_t start_ns, uint64_t now_ns,
		     bool gone);
/* A process whose end waits for its tallies, or NULL. */
struct dft_proc *dft_engine_dying(struct dft_engine *engine, uint32_t pid, uint64_t start_ns);
/* A file that a process has mapped is not listened to any more, as of CLOCK_MONOTONIC `now_ns`. */
void dft_engine_unheard(struct dft_engine *engine, struct dft_proc *proc, const char *path,
			uint64_t now_ns);
/* Has a process that this look will end declared entities or types? */
bool dft_engine_ending_declared(const struct dft_engine *engine);
/*
 * A look at the kernel side's tallies, as of CLOCK_MONOTONIC `now_ns`, for enum dft_look `what`. Those of
 * processes that are dying and settled by now are final once every record that is in the ring by now has
 * been read: then come dft_engine_tally() for each, and dft_engine_look_end(), which writes the ends of
 * these processes and forgets them.
 */
void dft_engine_look_begin(struct dft_engine *engine, uint64_t now_ns, unsigned int what);
/*
 * Returns 1 when the tally is not needed any more, 0 when it is; -ESRCH: its process is not known (yet);
 * -ENOMEM, or what the output returned.
 */
int dft_engine_tally(struct dft_engine *engine, const struct dft_tally_key *key,
		     const struct dft_tally *value);
int dft_engine_look_end(struct dft_engine *engine);
/* From CLOCK_MONOTONIC `now_ns` on the kernel side only tallies calls: tells it in every trace. */
int dft_engine_aggregate(struct dft_engine *engine, uint64_t now_ns);
/* Tracing is over: all processes still alive become dying, as of CLOCK_MONOTONIC `now_ns`. */
int dft_engine_retire_all(struct dft_engine *engine, uint64_t now_ns);
/* A process is gone and no record said so: its EXIT was lost. 0 or -ENOMEM. */
int dft_engine_gone(struct dft_engine *engine, uint32_t pid, uint64_t now_ns);
/* Hands all lines so far to the output. */
int dft_engine_flush(struct dft_engine *engine);

/* ---- between the parts of the engine ---------------------------------------------------------- */

/* Writes the opening of a process that has none yet. 0 or -ENOMEM. */
int dft_engine_open(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns);
/* Lines were written: hands over what has become too much. 0, -ENOMEM, or what the output returned. */
int dft_engine_grown(struct dft_engine *engine, struct dft_proc *proc);
int dft_engine_hand_over(struct dft_engine *engine, struct dft_proc *proc, bool last);
/* The same, if it has become much, for the one process alone. */
int dft_engine_hand_over_much(struct dft_engine *engine, struct dft_proc *proc);
int dft_engine_set_program(struct dft_proc *proc, const char *path, size_t len);
/* --include or --exclude is in force; would they keep the name? */
bool dft_engine_filters(const struct dft_engine *engine);
bool dft_engine_keeps(const struct dft_engine *engine, const char *path, size_t len);
/*
 * A call that has ended, of a process that is known. Its texts have come before, under the number
 * `texts_of`. 0 or -errno.
 */
int dft_engine_call(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_call *rec,
		    uint32_t texts_of);
/*
 * The process born at `start_ns`, be it dying; made if no record has told of it. NULL: no memory.
 */
struct dft_proc *dft_engine_proc(struct dft_engine *engine, uint32_t pid, uint64_t start_ns,
				 uint64_t ts_ns);
/* Why a name cannot be shown as that of a file; NULL: it can. */
const char *dft_name_flaw(const struct dft_name *name);

/* ---- requests.c ------------------------------------------------------------------------------ */

bool dft_request_is_sound(const struct dft_rec_request *rec, size_t size);
/* A request of io_uring or Linux AIO has ended. 0 or -errno. */
int dft_request_record(struct dft_engine *engine, const struct dft_rec_request *rec);
/* By which of the two, going by its number; NULL: it is a call. */
const char *dft_request_via(unsigned int nr);
/* It has a result: not when its end was not seen, or has not come. */
bool dft_result_is_known(int64_t ret);

/* ---- format.c -------------------------------------------------------------------------------- */

/* Strings of a call, resolved. Absent ones are NULL. */
struct dft_call_names {
	const struct dft_name *file;  /* by descriptor */
	const char *path1;            /* by name; points to memory of the caller */
	uint32_t path1_len;
	const char *text2;
	uint32_t text2_len;
	const struct dft_name *other;
	const struct dft_name *base1, *base2; /* directories that the names are in, known to be real */
	const char *unresolved;  /* why path1 or file is missing */
	const char *unresolved2;
	const char *raw1;        /* what the program wrote, when it could not be resolved */
	uint32_t raw1_len;
	bool lexical;
	bool unreachable;        /* outside the process's root */
};

void dft_format_opening(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns);
void dft_format_image(struct dft_engine *engine, struct dft_proc *proc);
void dft_format_call(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_call *rec, const struct dft_call_names *names);
/* FH or SH of a text, unless the process's trace has it already; its hash. */
uint64_t dft_format_text(struct dft_engine *engine, struct dft_proc *proc, const char *kind,
			 const char *text, size_t len);
/* FH of a name. */
void dft_format_name(struct dft_engine *engine, struct dft_proc *proc, const struct dft_name *name);

/* ---- scene.c --------------------------------------------------------------------------------- */

/* Into `start`: as whom and where the process runs. */
void dft_format_scene(struct dft_json *json, struct dft_engine *engine, const struct dft_proc *proc);
/* What has changed of it since it was last told. */
void dft_format_moved(struct dft_engine *engine, struct dft_proc *proc, const struct dft_scene *now,
		      uint64_t ts_ns);
/* The name of a thread. */
void dft_format_comm(struct dft_engine *engine, struct dft_proc *proc, uint32_t tid, const char *comm,
		     uint64_t ts_ns);
/* The process's job, as far as it is another than `old`, which may be NULL. */
void dft_format_job(struct dft_engine *engine, struct dft_proc *proc, const struct dft_job *old);
/* Not all of its environment of `full_len` bytes was looked at. */
void dft_format_job_cut(struct dft_engine *engine, struct dft_proc *proc, uint64_t full_len);

/* ---- end.c ----------------------------------------------------------------------------------- */

/* The name of the event that the calls of a tally are, or what a record of its kind is called. */
const char *dft_tally_op(const struct dft_tally_key *key);
/* A row: what has been added to the tally, whose file is known by now, up to `now`. */
void dft_format_row(struct dft_engine *engine, struct dft_proc *proc,
		    const struct dft_tally_entry *entry, const struct dft_tally *now);
/* That calls are aggregated since the engine's `aggregated_ns`. */
void dft_format_aggregated(struct dft_engine *engine, struct dft_proc *proc);
void dft_format_end(struct dft_engine *engine, struct dft_proc *proc);

#endif
