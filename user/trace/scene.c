// SPDX-License-Identifier: MIT
/* Lines about a process as such: where it runs, as whom, under what name, in which job. */
#include "lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* CM with a time: the value holds from then on. */
static void write_since(struct dft_engine *engine, struct dft_proc *proc, uint32_t tid, const char *key,
			const char *value, size_t len, uint64_t ts_ns)
{
	struct dft_json json;

	dft_metadata_of(&json, engine, proc, tid, "CM", DFT_LINE_DFTRACER);
	dft_json_cstr(&json, "name", key);
	dft_json_str(&json, "value", value, len);
	dft_json_u64(&json, "ts", dft_line_us(engine, ts_ns));
	dft_metadata_end(&json);
}

static const char *cgroup_path(const struct dft_engine *engine, const struct dft_scene *scene)
{
	return engine->ops.cgroup ? engine->ops.cgroup(engine->ops.ctx, scene->cgroup) : NULL;
}

void dft_format_scene(struct dft_json *json, struct dft_engine *engine, const struct dft_proc *proc)
{
	const struct dft_scene *scene = &proc->scene, *home = &engine->home;
	const char *path;

	if (!scene->mnt_ns)
		return; /* nothing is known */
	dft_json_u64(json, "uid", scene->uid);
	if (scene->euid != scene->uid)
		dft_json_u64(json, "euid", scene->euid);
	if (scene->ns_pid && scene->ns_pid != proc->pid)
		dft_json_u64(json, "ns_pid", scene->ns_pid);
	if (scene->mnt_ns != home->mnt_ns)
		dft_json_u64(json, "mnt_ns", scene->mnt_ns);
	if (scene->pid_ns && scene->pid_ns != home->pid_ns)
		dft_json_u64(json, "pid_ns", scene->pid_ns);
	if (scene->user_ns != home->user_ns)
		dft_json_u64(json, "user_ns", scene->user_ns);
	if (!scene->cgroup)
		return;
	path = cgroup_path(engine, scene);
	if (path)
		dft_json_cstr(json, "cgroup", path);
	else
		dft_json_u64(json, "cgroup_id", scene->cgroup);
}

static void write_number_since(struct dft_engine *engine, struct dft_proc *proc, const char *key,
			       uint64_t value, uint64_t ts_ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	write_since(engine, proc, proc->pid, key, text, strlen(text), ts_ns);
}

void dft_format_moved(struct dft_engine *engine, struct dft_proc *proc, const struct dft_scene *now,
		      uint64_t ts_ns)
{
	struct dft_scene old = proc->scene;
	bool all = !old.mnt_ns; /* `start` could tell nothing */
	const char *path;

	if (!now->mnt_ns)
		return;
	proc->scene = *now;
	if (all || old.uid != now->uid)
		write_number_since(engine, proc, "uid", now->uid, ts_ns);
	if (all || old.euid != now->euid)
		write_number_since(engine, proc, "euid", now->euid, ts_ns);
	if (all || old.mnt_ns != now->mnt_ns)
		write_number_since(engine, proc, "mnt_ns", now->mnt_ns, ts_ns);
	if (all || old.pid_ns != now->pid_ns)
		write_number_since(engine, proc, "pid_ns", now->pid_ns, ts_ns);
	if (all || old.user_ns != now->user_ns)
		write_number_since(engine, proc, "user_ns", now->user_ns, ts_ns);
	if (old.cgroup == now->cgroup)
		return;
	path = cgroup_path(engine, now);
	if (path)
		write_since(engine, proc, proc->pid, "cgroup", path, strlen(path), ts_ns);
	else
		write_number_since(engine, proc, "cgroup_id", now->cgroup, ts_ns);
}

void dft_format_comm(struct dft_engine *engine, struct dft_proc *proc, uint32_t tid, const char *comm,
		     uint64_t ts_ns)
{
	write_since(engine, proc, tid, "comm", comm, strnlen(comm, DFT_COMM_LEN), ts_ns);
}

static void write_changed(struct dft_engine *engine, struct dft_proc *proc, const char *kind,
			  const char *key, const char *old, const char *now)
{
	/* Of what is not there any more nothing is said: there is no line for it that readers know. */
	if (*now && (!old || strcmp(old, now)))
		dft_metadata_write(engine, proc, kind, key, now);
}

void dft_format_job(struct dft_engine *engine, struct dft_proc *proc, const struct dft_job *old)
{
	const struct dft_job *now = &proc->job;

	write_changed(engine, proc, "PR", "rank", old ? old->rank : NULL, now->rank);
	write_changed(engine, proc, "CM", "job_rank_source", old ? old->source : NULL, now->source);
	write_changed(engine, proc, "CM", "job_scheduler", old ? old->scheduler : NULL, now->scheduler);
	write_changed(engine, proc, "CM", "job_id", old ? old->id : NULL, now->id);
	write_changed(engine, proc, "CM", "job_step", old ? old->step : NULL, now->step);
	write_changed(engine, proc, "CM", "job_node", old ? old->node : NULL, now->node);
}

void dft_format_job_cut(struct dft_engine *engine, struct dft_proc *proc, uint64_t full_len)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, full_len);
	dft_metadata_write(engine, proc, "CM", "job_env_cut", text);
}
