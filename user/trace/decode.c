// SPDX-License-Identifier: MIT
/* Records of the ring: checks, looks names up, keeps the table of processes. */
#include "annot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* Hand over a process's lines from this size on: a buffer of 1 MiB, which has grown by doubling. */
#define LINES_HIGH ((1u << 20) - 32768)

int dft_engine_init(struct dft_engine *engine, const struct dft_config *cfg,
		    const struct dft_engine_ops *ops, const char *host, int64_t clock_offset_ns)
{
	memset(engine, 0, sizeof(*engine));
	engine->cfg = cfg;
	engine->ops = *ops;
	engine->clock_offset_ns = clock_offset_ns;
	engine->host = strdup(host);
	if (!engine->host)
		return -ENOMEM;
	engine->hhash = dft_hash(host, strlen(host));
	dft_runs_init(engine);
	return 0;
}

void dft_engine_free(struct dft_engine *engine)
{
	dft_procs_free(&engine->procs);
	dft_map_free(&engine->files.by_key); /* runs had them all */
	dft_names_free(&engine->names);
	dft_buf_free(&engine->scratch);
	free(engine->host);
}

static void account(struct dft_engine *engine, struct dft_proc *proc)
{
	engine->buffered += proc->lines.len - proc->buffered;
	proc->buffered = proc->lines.len;
}

int dft_engine_hand_over(struct dft_engine *engine, struct dft_proc *proc, bool last)
{
	int err;

	if (proc->lines.failed)
		return -ENOMEM;
	if (!proc->lines.len && !last) {
		dft_buf_free(&proc->lines); /* of a process that is idle now */
		account(engine, proc);
		return 0;
	}
	err = engine->ops.output(engine->ops.ctx, proc, last);
	account(engine, proc);
	return err;
}

int dft_engine_hand_over_much(struct dft_engine *engine, struct dft_proc *proc)
{
	return proc->lines.len >= LINES_HIGH ? dft_engine_hand_over(engine, proc, false) : 0;
}

int dft_engine_grown(struct dft_engine *engine, struct dft_proc *proc)
{
	uint64_t most = engine->cfg->memory / 4;

	if (proc->lines.len >= LINES_HIGH)
		return dft_engine_hand_over(engine, proc, false);
	account(engine, proc);
	return most && engine->buffered > most ? dft_engine_flush(engine) : 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* Arguments with NULs, as the kernel keeps them -> joined with ';', cut at an argument. */
static int set_cmd(struct dft_proc *proc, const char *raw, size_t len, uint64_t full)
{
	const char *nul;

	proc->cmd_full = 0;
	if (!len)
		return dft_proc_set(&proc->cmd, &proc->cmd_len, NULL, 0);
	if (full > len) {
		proc->cmd_full = full;
		nul = memrchr(raw, '\0', len);
		if (nul)
			len = (size_t)(nul - raw);
	} else if (raw[len - 1] == '\0') {
		len--;
	}
	if (dft_proc_set(&proc->cmd, &proc->cmd_len, raw, len))
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		if (proc->cmd[i] == '\0')
			proc->cmd[i] = ';';
	return 0;
}

int dft_engine_set_program(struct dft_proc *proc, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	if (slash && slash + 1 < path + len) {
		len -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	return dft_proc_set(&proc->program, NULL, path, len);
}

static int set_cwd(struct dft_engine *engine, struct dft_proc *proc, uint64_t name_id)
{
	const struct dft_name *name = dft_names_get(&engine->names, name_id);

	if (!name || name->flags & DFT_NAME_TRUNCATED)
		return 0;
	return dft_proc_set(&proc->cwd, &proc->cwd_len, name->text, name->len);
}

/* What the records did not tell, from /proc. */
static int describe(struct dft_engine *engine, struct dft_proc *proc)
{
	struct dft_described d = { 0 };
	int err = 0;

	if (!engine->ops.describe)
		return 0;
	engine->ops.describe(engine->ops.ctx, proc->pid, &d);
	if (d.cmd) {
		size_t kept = d.cmd_len < DFT_CMD_MAX ? d.cmd_len : DFT_CMD_MAX;

		err = set_cmd(proc, d.cmd, kept, d.cmd_len);
	}
	if (!err && d.cwd && !proc->cwd)
		err = dft_proc_set(&proc->cwd, &proc->cwd_len, d.cwd, strlen(d.cwd));
	if (!err && d.program)
		err = dft_proc_set(&proc->program, NULL, d.program, strlen(d.program));
	if (d.env)
		dft_jobenv_scan(d.env, d.env_len, &proc->job);
	free(d.env);
	free(d.cmd);
	free(d.cwd);
	free(d.program);
	return err;
}

/* The process of a record, made and described from /proc if its birth was not seen. */
static struct dft_proc *proc_of(struct dft_engine *engine, uint32_t pid, uint64_t ts_ns)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);

	if (proc)
		return proc;
	proc = dft_procs_add(&engine->procs, pid, 0);
	if (!proc || describe(engine, proc))
		return NULL;
	proc->seen_ns = ts_ns;
	dft_format_opening(engine, proc, ts_ns);
	return proc;
}

/* The name it was given, unless that is the beginning of the program's, as it is after an exec. */
static void tell_name(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_proc *rec)
{
	size_t len = strnlen(rec->comm, sizeof(rec->comm));

	if (len && !(proc->program && !strncmp(proc->program, rec->comm, DFT_COMM_LEN - 1)))
		dft_format_comm(engine, proc, proc->pid, rec->comm, rec->ts_ns);
}

/* A new process still runs the image of the one that made it. */
static int inherit(struct dft_proc *proc, const struct dft_proc *maker)
{
	int err = dft_proc_set(&proc->cmd, &proc->cmd_len, maker->cmd, maker->cmd_len);

	proc->cmd_full = maker->cmd_full;
	proc->job = maker->job;
	if (!err && maker->program)
		err = dft_proc_set(&proc->program, NULL, maker->program, strlen(maker->program));
	return err;
}

static int on_proc(struct dft_engine *engine, const struct dft_rec_proc *rec)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, rec->pid);
	struct dft_proc *maker = dft_procs_get(&engine->procs, rec->maker);
	int err;

	if (proc && proc->start_ns == rec->start_ns)
		return 0; /* another thread of a process already known */
	if (proc && !proc->start_ns) {
		/* Made without its birth record, which may have been late or lost. */
		proc->start_ns = rec->start_ns;
		if (proc->opened)
			return 0;
		proc->ppid = rec->ppid;
		proc->scene = rec->scene;
		err = set_cwd(engine, proc, rec->cwd);
		return err ? err : dft_runs_born(engine, proc, rec);
	}
	if (proc)
		proc->end_ns = rec->ts_ns; /* its pid is used again, so it is gone by now */
	proc = dft_procs_add(&engine->procs, rec->pid, rec->start_ns);
	if (!proc)
		return -ENOMEM;
	proc->ppid = rec->ppid;
	proc->scene = rec->scene;
	proc->seen_ns = rec->ts_ns;
	err = set_cwd(engine, proc, rec->cwd);
	if (!err)
		err = dft_engine_set_program(proc, rec->comm, strnlen(rec->comm, sizeof(rec->comm)));
	if (!err && rec->type == DFT_REC_FORK && maker)
		err = inherit(proc, maker);
	else if (!err)
		err = describe(engine, proc);
	if (err)
		return err;
	err = dft_runs_born(engine, proc, rec);
	if (err)
		return err;
	dft_format_opening(engine, proc, rec->ts_ns);
	tell_name(engine, proc, rec);
	return dft_engine_grown(engine, proc);
}

static int on_exec(struct dft_engine *engine, const struct dft_rec_exec *rec)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, rec->pid);
	struct dft_text *file;
	int err;

	if (!proc) {
		proc = dft_procs_add(&engine->procs, rec->pid, rec->start_ns);
		if (!proc)
			return -ENOMEM;
	}
	if (!proc->opened) {
		proc->ppid = rec->ppid;
		proc->scene = rec->scene;
		proc->seen_ns = rec->ts_ns;
	}
	if (!proc->start_ns)
		proc->start_ns = rec->start_ns;
	err = dft_runs_exec_old(engine, proc, rec->ts_ns);
	if (!err)
		err = set_cmd(proc, rec->cmd, rec->cmd_len, rec->full_len);
	if (!err)
		err = set_cwd(engine, proc, rec->cwd);
	file = proc->texts; /* the newest: the exec hook has just sent it */
	if (!err && file && file->tid == rec->pid && file->slot == 1)
		err = dft_engine_set_program(proc, file->bytes, file->len);
	else if (!err)
		err = dft_engine_set_program(proc, rec->comm, strnlen(rec->comm, sizeof(rec->comm)));
	if (err)
		return err;
	dft_buf_free(&proc->env);
	if (proc->opened) {
		dft_format_image(engine, proc);
		dft_format_moved(engine, proc, &rec->scene, rec->ts_ns);
	} else {
		dft_format_opening(engine, proc, rec->ts_ns);
	}
	err = dft_runs_exec_new(engine, proc, rec->ts_ns, dft_names_get(&engine->names, rec->image));
	return err ? err : dft_engine_grown(engine, proc);
}

/* The process of a record about one that has been told of before; NULL: that was lost, or it has ended. */
static struct dft_proc *known_proc(const struct dft_engine *engine, uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);

	return proc && proc->opened && (!proc->start_ns || proc->start_ns == start_ns) ? proc : NULL;
}

static int on_comm(struct dft_engine *engine, const struct dft_rec_comm *rec)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, rec->pid);
	int err;

	if (proc && proc->start_ns && proc->start_ns != rec->start_ns)
		return 0; /* of one that has ended */
	proc = proc_of(engine, rec->pid, rec->ts_ns);
	err = proc ? dft_engine_open(engine, proc, rec->ts_ns) : -ENOMEM;
	if (err)
		return err;
	dft_format_comm(engine, proc, rec->tid, rec->comm, rec->ts_ns);
	return dft_engine_grown(engine, proc);
}

/* The whole environment, or as much of it as was sent. */
static void take_env(struct dft_engine *engine, struct dft_proc *proc, const char *env, size_t len,
		     uint64_t full_len)
{
	struct dft_job old = proc->job;
	/* Of the last string there may be more than was sent: half a number is another number. */
	const char *nul = full_len > len ? memrchr(env, '\0', len) : NULL;

	dft_jobenv_scan(env, full_len <= len ? len : nul ? (size_t)(nul - env) : 0, &proc->job);
	dft_format_job(engine, proc, &old);
	if (full_len > len)
		dft_format_job_cut(engine, proc, full_len);
}

/* A part that is missing was counted by who could not send it: then the job remains unknown. */
static int on_env(struct dft_engine *engine, const struct dft_rec_env *rec)
{
	struct dft_proc *proc = known_proc(engine, rec->pid, rec->start_ns);
	uint64_t sent = rec->full_len < DFT_ENV_MAX ? rec->full_len : DFT_ENV_MAX;
	bool last = (uint64_t)rec->offset + rec->len >= sent;

	if (!proc || rec->offset != proc->env.len)
		return 0;
	if (!rec->offset && last) { /* as a rule */
		take_env(engine, proc, rec->text, rec->len, rec->full_len);
		return dft_engine_grown(engine, proc);
	}
	dft_buf_append(&proc->env, rec->text, rec->len);
	if (proc->env.failed)
		return -ENOMEM;
	if (!last)
		return 0;
	take_env(engine, proc, proc->env.data, proc->env.len, rec->full_len);
	dft_buf_free(&proc->env);
	return dft_engine_grown(engine, proc);
}

static int on_process_exit(struct dft_engine *engine, const struct dft_rec_exit *rec)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, rec->pid);

	/* Two threads that leave at once may both see themselves as the last one. */
	if (proc && proc->start_ns && proc->start_ns != rec->start_ns)
		return 0;
	if (!proc) {
		/* All its records were lost, or there were none: its tallies tell. */
		if (dft_map_get(&engine->procs.dying, dft_procs_key(rec->pid, rec->start_ns)))
			return 0;
		proc = dft_procs_add(&engine->procs, rec->pid, rec->start_ns);
		if (!proc)
			return -ENOMEM;
		proc->seen_ns = rec->ts_ns;
	}
	proc->start_ns = rec->start_ns;
	proc->has_status = true;
	proc->status = (int)rec->status;
	proc->end_ns = rec->ts_ns;
	if (dft_procs_retire(&engine->procs, proc))
		return -ENOMEM;
	proc->unsettled = rec->threads > 1;
	return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int on_name(struct dft_engine *engine, const struct dft_rec_name *rec)
{
	struct dft_name *name = dft_names_put(&engine->names, rec);

	if (!name)
		return -ENOMEM;
	if (dft_engine_filters(engine) && !(name->flags & DFT_NAME_TRUNCATED)) {
		name->excluded = !dft_engine_keeps(engine, name->text, name->len);
		if (name->excluded && engine->ops.exclude)
			engine->ops.exclude(engine->ops.ctx, name->id);
	}
	return 0;
}

static int on_text(struct dft_engine *engine, const struct dft_rec_text *rec)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, rec->pid);

	if (!proc) {
		/* The file name of our own child's exec comes before all else; its PROC, if any, too. */
		proc = dft_procs_add(&engine->procs, rec->pid, 0);
		if (!proc)
			return -ENOMEM;
	}
	return dft_proc_keep_text(proc, rec);
}

/* One known by a text or tally only: what came before it was lost. */
int dft_engine_open(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns)
{
	int err = 0;

	if (proc->opened)
		return 0;
	/* Once it has ended, another may have its pid. */
	if (!proc->ended)
		err = describe(engine, proc);
	if (!err)
		dft_format_opening(engine, proc, ts_ns);
	return err;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int on_single(struct dft_engine *engine, const struct dft_rec_call *rec)
{
	struct dft_proc *proc = proc_of(engine, rec->pid, rec->ts_ns);

	return proc ? dft_engine_call(engine, proc, rec, rec->tid) : -ENOMEM;
}

/*
 * The process of a batch or request. It may have ended: threads that leave together hand in their last
 * calls in any order, and the EXIT record goes with the first of them; requests may end even later.
 */
struct dft_proc *dft_engine_proc(struct dft_engine *engine, uint32_t pid, uint64_t start_ns,
				 uint64_t ts_ns)
{
	struct dft_proc *proc = dft_procs_get(&engine->procs, pid);
	int err = 0;

	if (proc && proc->start_ns == start_ns)
		return proc;
	proc = dft_engine_dying(engine, pid, start_ns);
	if (proc)
		return proc;
	err = dft_engine_adopt(engine, pid, start_ns, ts_ns, false);
	proc = dft_procs_get(&engine->procs, pid);
	if (!err && proc->start_ns != start_ns)
		proc = dft_engine_dying(engine, pid, start_ns);
	return err ? NULL : proc;
}

static int on_batch(struct dft_engine *engine, const struct dft_rec_batch *rec)
{
	const struct dft_gathered *gathered = (const struct dft_gathered *)(rec + 1);
	struct dft_proc *proc = dft_engine_proc(engine, rec->pid, rec->start_ns, gathered->ts_ns);
	union {
		struct dft_rec_call call;
		char bytes[sizeof(struct dft_rec_call) + DFT_BATCH_VALS * sizeof(uint64_t)];
	} one;
	int err = proc ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < rec->n && !err; i++) {
		const struct dft_gathered *c = &gathered[i];

		if (c->nvals > DFT_BATCH_VALS) {
			engine->bad_records++;
			continue;
		}
		one.call = (struct dft_rec_call){
			.type = DFT_REC_CALL, .nvals = c->nvals, .nr = c->nr, .flags = c->flags,
			.present = c->present, .cls = c->cls, .ts_ns = c->ts_ns,
			.dur_ns = c->dur_ns, .pid = rec->pid, .tid = rec->tid, .ret = c->ret,
			.name = c->name,
		};
		memcpy(one.call.val, c->val, sizeof(c->val));
		err = dft_engine_call(engine, proc, &one.call, rec->tid);
	}
	return err;
}

/* ---- annotations ---------------------------------------------------------------------------- */

static int on_annot(struct dft_engine *engine, const struct dft_rec_annot *rec)
{
	struct dft_proc *proc = proc_of(engine, rec->pid, rec->ts_ns);
	int err = proc ? dft_engine_open(engine, proc, rec->ts_ns) : -ENOMEM;

	if (!err)
		err = dft_annot_record(engine, proc, rec);
	return err ? err : dft_engine_grown(engine, proc);
}

static int on_image(struct dft_engine *engine, const struct dft_rec_image *rec)
{
	const struct dft_name *name = dft_names_get(&engine->names, rec->name);
	bool whole = name && !(name->flags & (DFT_NAME_TRUNCATED | DFT_NAME_UNREACHABLE));
	struct dft_image_found found = { .state = DFT_IMAGE_PLAIN };
	struct dft_proc *proc;
	char *path = NULL;
	int err;

	if (!engine->ops.image)
		return 0;
	if (whole) {
		path = strndup(name->text, name->len);
		if (!path)
			return -ENOMEM;
	}
	engine->ops.image(engine->ops.ctx, rec, path, &found);
	free(path);
	if (found.state == DFT_IMAGE_PLAIN ||
	    (found.state == DFT_IMAGE_ARMED && found.armed_ns <= rec->ts_ns))
		return 0; /* nothing to tell */
	proc = proc_of(engine, rec->pid, rec->ts_ns);
	err = proc ? dft_engine_open(engine, proc, rec->ts_ns) : -ENOMEM;
	if (err)
		return err;
	dft_annot_image(engine, proc, rec, &found);
	return dft_engine_grown(engine, proc);
}

/* ---- entry points --------------------------------------------------------------------------- */

static bool is_annot(uint8_t type)
{
	return type >= DFT_REC_EVENT && type < DFT_REC_EVENT + DFT_PROBE_MAX;
}

static bool annot_is_sound(const struct dft_rec_annot *rec, size_t size)
{
	bool whole = rec->type <= DFT_REC_METADATA;

	if (size != (whole ? sizeof(*rec) : DFT_ANNOT_SHORT))
		return false;
	return rec->name_len < sizeof(rec->name) && rec->text_len < sizeof(rec->text) &&
	       rec->chunk_len <= (whole ? sizeof(rec->chunk) : 0);
}

static bool batch_is_sound(const struct dft_rec_batch *rec, size_t size)
{
	size_t each = sizeof(struct dft_gathered);

	return size >= sizeof(*rec) + each && rec->n && rec->n <= DFT_BATCH_MAX &&
	       (size == sizeof(*rec) + rec->n * each || size == sizeof(*rec) + DFT_BATCH_MAX * each);
}

/* The record's size fits its type and the lengths inside. */
static bool record_is_sound(const void *data, size_t size)
{
	uint8_t type = size ? *(const uint8_t *)data : 0;

	switch (type) {
	case DFT_REC_CALL:
		return size >= sizeof(struct dft_rec_call) &&
		       size == sizeof(struct dft_rec_call) +
				       ((const struct dft_rec_call *)data)->nvals * sizeof(uint64_t);
	case DFT_REC_TEXT:
		return size >= sizeof(struct dft_rec_text) &&
		       size == sizeof(struct dft_rec_text) + ((const struct dft_rec_text *)data)->len;
	case DFT_REC_NAME:
		return size >= sizeof(struct dft_rec_name) &&
		       size == sizeof(struct dft_rec_name) + ((const struct dft_rec_name *)data)->len;
	case DFT_REC_PROC:
	case DFT_REC_FORK:
		return size == sizeof(struct dft_rec_proc);
	case DFT_REC_EXEC:
		return size >= sizeof(struct dft_rec_exec) &&
		       size == sizeof(struct dft_rec_exec) +
				       ((const struct dft_rec_exec *)data)->cmd_len;
	case DFT_REC_EXIT:
		return size == sizeof(struct dft_rec_exit);
	case DFT_REC_COMM:
		return size == sizeof(struct dft_rec_comm);
	case DFT_REC_ENV:
		return size >= sizeof(struct dft_rec_env) && size <= sizeof(struct dft_rec_env) + DFT_ENV_CHUNK &&
		       size == sizeof(struct dft_rec_env) + ((const struct dft_rec_env *)data)->len;
	case DFT_REC_IMAGE:
		return size == sizeof(struct dft_rec_image);
	case DFT_REC_BATCH:
		return batch_is_sound(data, size);
	case DFT_REC_REQUEST:
		return dft_request_is_sound(data, size);
	}
	return is_annot(type) && annot_is_sound(data, size);
}

int dft_engine_record(struct dft_engine *engine, const void *data, size_t size)
{
	if (!record_is_sound(data, size)) {
		engine->bad_records++;
		return 0;
	}
	if (is_annot(*(const uint8_t *)data))
		return on_annot(engine, data);
	switch (*(const uint8_t *)data) {
	case DFT_REC_IMAGE:
		return on_image(engine, data);
	case DFT_REC_CALL:
		return on_single(engine, data);
	case DFT_REC_BATCH:
		return on_batch(engine, data);
	case DFT_REC_REQUEST:
		return dft_request_record(engine, data);
	case DFT_REC_TEXT:
		return on_text(engine, data);
	case DFT_REC_NAME:
		return on_name(engine, data);
	case DFT_REC_PROC:
	case DFT_REC_FORK:
		return on_proc(engine, data);
	case DFT_REC_EXEC:
		return on_exec(engine, data);
	case DFT_REC_COMM:
		return on_comm(engine, data);
	case DFT_REC_ENV:
		return on_env(engine, data);
	default:
		return on_process_exit(engine, data);
	}
}

bool dft_engine_ending_declared(const struct dft_engine *engine)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&engine->procs.dying, &at))) {
		const struct dft_proc *proc = slot->value;

		if (proc->ending && proc->annots.declared)
			return true;
	}
	return false;
}

/* Those that are dying may take long to settle. */
static int flush_all(struct dft_engine *engine, const struct dft_map *procs)
{
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	while ((slot = dft_map_next(procs, &at))) {
		int one = dft_engine_hand_over(engine, slot->value, false);

		if (!err)
			err = one;
	}
	return err;
}

int dft_engine_flush(struct dft_engine *engine)
{
	int err = flush_all(engine, &engine->procs.live), one = flush_all(engine, &engine->procs.dying);

	return err ? err : one;
}
