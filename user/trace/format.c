// SPDX-License-Identifier: MIT
/* Lines of the trace. docs/trace-format.md is the norm. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hash.h"
#include "syscalls.h"
#include "version.h"

#define MAX_ERRNO 4095
/* Results of interrupted calls that user space never sees; see bpf/io.bpf.c. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

#define KERNEL_O_TMPFILE 020000000 /* without O_DIRECTORY, which differs between machines */

#define SEEN_MAX 65536 /* names that are remembered as told */

/*
 * FH, SH or HH: what a hash stands for, once per process and kind, before its first use. The hash is
 * of the original bytes; where they are no UTF-8 they follow in hex.
 */
static void write_hash(struct dft_engine *engine, struct dft_proc *proc, const char *kind,
		       uint64_t hash, const char *text, size_t len)
{
	uint64_t key = kind[0] == 'F' ? hash : ~hash;
	struct dft_json json;

	if (dft_map_get(&proc->seen, key))
		return;
	/* A process that lives long comes to ever more names: those in use are told again, then. */
	if (proc->seen.len >= SEEN_MAX)
		dft_map_free(&proc->seen);
	if (dft_map_put(&proc->seen, key, proc)) {
		proc->lines.failed = true;
		return;
	}
	dft_metadata_begin(&json, engine, proc, kind, DFT_LINE_DFTRACER);
	if (dft_json_str(&json, "name", text, len)) {
		dft_json_hash(&json, "value", hash);
	} else {
		dft_json_hash(&json, "value", hash);
		dft_json_hex(&json, "raw", text, len);
	}
	dft_metadata_end(&json);
}

static uint64_t write_text_hash(struct dft_engine *engine, struct dft_proc *proc, const char *kind,
				const char *text, size_t len)
{
	uint64_t hash = dft_hash(text, len);

	write_hash(engine, proc, kind, hash, text, len);
	return hash;
}

static void write_name(struct dft_engine *engine, struct dft_proc *proc, const struct dft_name *name)
{
	write_hash(engine, proc, "FH", name->fhash, name->text, name->len);
}

static bool token_is_wrapper(const char *token, size_t len)
{
	static const char *const words[] = { "python", "env", "multiprocessing" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(token, len, words[i], strlen(words[i])))
			return true;
	return false;
}

/*
 * DFTracer's name of a program: the base name of the first argument that is neither an option nor an
 * interpreter.
 */
static const char *exec_name(const struct dft_proc *proc, size_t *len)
{
	const char *at = proc->cmd, *end = at ? at + proc->cmd_len : NULL;

	while (at && at < end) {
		const char *stop = memchr(at, ';', (size_t)(end - at));
		const char *slash;

		if (!stop)
			stop = end;
		slash = memrchr(at, '/', (size_t)(stop - at));
		if (slash)
			at = slash + 1;
		if (at < stop && *at != '-' && !token_is_wrapper(at, (size_t)(stop - at))) {
			*len = (size_t)(stop - at);
			return at;
		}
		at = stop + 1;
	}
	*len = strlen("DEFAULT");
	return "DEFAULT";
}

void dft_format_image(struct dft_engine *engine, struct dft_proc *proc)
{
	const char *name;
	size_t len;

	if (proc->cwd) {
		write_text_hash(engine, proc, "FH", proc->cwd, proc->cwd_len);
		write_text_hash(engine, proc, "SH", proc->cwd, proc->cwd_len);
	}
	if (proc->cmd)
		write_text_hash(engine, proc, "SH", proc->cmd, proc->cmd_len);
	name = exec_name(proc, &len);
	write_text_hash(engine, proc, "SH", name, len);
}

/* ---- events --------------------------------------------------------------------------------- */

static __always_inline void event_begin(struct dft_json *json, struct dft_engine *engine,
					struct dft_proc *proc, const char *name,
					const char *cat, unsigned int type, uint32_t tid,
					uint64_t ts_ns, uint64_t dur_ns)
{
	struct dft_event_head head = {
		.name = name, .name_len = strlen(name), .cat = cat, .cat_len = strlen(cat),
		.plain = true, .type = type, .tid = tid,
		.ts_us = dft_line_us(engine, ts_ns), .dur_us = (dur_ns + 500) / 1000,
	};

	dft_event_begin(json, engine, proc, &head);
}

static void write_start(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns)
{
	time_t seconds = (time_t)(dft_line_us(engine, ts_ns) / 1000000);
	char date[64] = "";
	struct dft_json json;
	const char *name;
	struct tm tm;
	size_t len;

	if (localtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm);
	event_begin(&json, engine, proc, "start", "dftracer", DFT_LINE_DFTRACER, proc->pid, ts_ns, 0);
	if (proc->cwd)
		dft_json_hash(&json, "cwd", dft_hash(proc->cwd, proc->cwd_len));
	if (proc->cmd)
		dft_json_hash(&json, "cmd_hash", dft_hash(proc->cmd, proc->cmd_len));
	name = exec_name(proc, &len);
	dft_json_hash(&json, "exec_hash", dft_hash(name, len));
	dft_json_cstr(&json, "version", "dftrace-bpf " DFT_VERSION);
	dft_json_cstr(&json, "date", date);
	dft_json_u64(&json, "ppid", proc->ppid);
	if (proc->cmd_full)
		dft_json_u64(&json, "cmd_len", proc->cmd_full);
	dft_format_scene(&json, engine, proc);
	dft_event_end(&json);
}

void dft_format_opening(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns)
{
	struct dft_buf pid = DFT_BUF_INIT;
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, "HH", DFT_LINE_DFTRACER);
	dft_json_cstr(&json, "name", engine->host);
	dft_json_hash(&json, "value", engine->hhash);
	dft_metadata_end(&json);
	dft_buf_u64(&pid, proc->pid);
	dft_buf_putc(&pid, '\0');
	if (pid.failed)
		proc->lines.failed = true;
	else
		dft_metadata_write(engine, proc, "thread_name", pid.data, "thread_name");
	dft_buf_free(&pid);
	dft_metadata_write(engine, proc, "CM", "time_metric", "US");
	if (engine->aggregated_ns)
		dft_format_aggregated(engine, proc);
	dft_format_image(engine, proc);
	write_start(engine, proc, ts_ns);
	dft_format_job(engine, proc, NULL);
	proc->opened = true;
	engine->processes++;
}

static bool is_restart(int64_t ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

/* The values, fhash, cmd_len, offset_shared, ret, errno, restarted. */
#define CALL_MEMBERS (DFT_MAX_VALS + 6)

static void write_ret(struct dft_pen *pen, int64_t ret)
{
	if (!dft_result_is_known(ret))
		return;
	if (ret >= 0 || ret < -MAX_ERRNO) {
		dft_pen_i64(pen, "ret", ret);
		return;
	}
	dft_pen_i64(pen, "ret", -1);
	if (is_restart(ret)) {
		dft_pen_u64(pen, "errno", EINTR);
		dft_pen_u64(pen, "restarted", 1);
	} else {
		dft_pen_u64(pen, "errno", (uint64_t)-ret);
	}
}

/* Context of the values of one call. */
struct vals {
	struct dft_engine *engine;
	struct dft_proc *proc;
	const struct dft_rec_call *rec;
	const struct dft_call_names *names;
	const struct dft_sys *sys;
	uint64_t fhash, hash2; /* of the file or path1, and of text2 if it is shown as a hash */
};

static bool val_present(const struct vals *v, unsigned int i)
{
	return v->rec->present & 1u << i && i < v->rec->nvals;
}

static bool vals_creates(const struct vals *v)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS; i++)
		if (val_present(v, i) && v->sys->vals[i].name &&
		    !strcmp(v->sys->vals[i].name, "flags"))
			return v->rec->val[i] & (O_CREAT | KERNEL_O_TMPFILE);
	return false;
}

static void write_value(struct dft_pen *pen, const struct dft_sys_val *val, uint64_t value)
{
	dft_pen_named(pen, val->name, val->name_len);
	switch (val->fmt) {
	case DFT_FMT_INT:
	case DFT_FMT_STATUS:
		value = (uint64_t)(int32_t)value;
		break;
	case DFT_FMT_ID:
		value = (uint32_t)value == UINT32_MAX ? UINT64_MAX : (uint32_t)value;
		break;
	case DFT_FMT_UINT:
	case DFT_FMT_LO32:
	case DFT_FMT_MODE:
		value = (uint32_t)value;
		break;
	case DFT_FMT_HI32:
		value >>= 32;
		break;
	case DFT_FMT_LONG:
		break;
	default:
		dft_pen_u64(pen, NULL, value);
		return;
	}
	dft_pen_i64(pen, NULL, (int64_t)value);
}

/* Hashes and strings: what does not come as a number in the record. */
static void write_text_value(struct dft_pen *pen, const struct vals *v,
			     const struct dft_sys_val *val)
{
	const struct dft_call_names *names = v->names;

	switch (val->src) {
	case DFT_SRC_TEXT1:
		if (names->path1 || names->file)
			dft_pen_hash(pen, val->name, v->fhash);
		break;
	case DFT_SRC_TEXT2:
		if (!names->text2)
			break;
		if (val->fmt == DFT_FMT_STR)
			dft_pen_str(pen, val->name, names->text2, names->text2_len);
		else
			dft_pen_hash(pen, val->name, v->hash2);
		break;
	case DFT_SRC_NAME2:
		if (names->other)
			dft_pen_hash(pen, val->name, names->other->fhash);
		break;
	case DFT_SRC_CMD:
		if (v->rec->ret == 0 && v->proc->cmd) {
			dft_pen_hash(pen, val->name, dft_hash(v->proc->cmd, v->proc->cmd_len));
			if (v->proc->cmd_full)
				dft_pen_u64(pen, "cmd_len", v->proc->cmd_full);
		}
		break;
	case DFT_SRC_RET:
		if (v->rec->ret >= 0)
			dft_pen_i64(pen, val->name, v->rec->ret);
		break;
	}
}

static void write_values(struct dft_pen *pen, const struct vals *v)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS && v->sys->vals[i].src; i++) {
		const struct dft_sys_val *val = &v->sys->vals[i];

		if (!val->name || val->fmt == DFT_FMT_STATUS)
			continue;
		if (val->src >= DFT_SRC_USER || val->src == DFT_SRC_NAME2)
			write_text_value(pen, v, val);
		else if (val_present(v, i) && (val->fmt != DFT_FMT_MODE || vals_creates(v)))
			write_value(pen, val, v->rec->val[i]);
	}
	if (v->rec->flags & DFT_CALL_OFFSET_SHARED)
		dft_pen_u64(pen, "offset_shared", 1);
}

/* FH and SH records that the call's line will refer to. */
static void declare_names(struct vals *v)
{
	const struct dft_call_names *names = v->names;

	if (names->file) {
		v->fhash = names->file->fhash;
		write_name(v->engine, v->proc, names->file);
	}
	if (names->path1)
		v->fhash = write_text_hash(v->engine, v->proc, "FH", names->path1, names->path1_len);
	if (names->other)
		write_name(v->engine, v->proc, names->other);
	for (unsigned int i = 0; names->text2 && i < DFT_MAX_VALS; i++)
		if (v->sys->vals[i].src == DFT_SRC_TEXT2 && v->sys->vals[i].fmt != DFT_FMT_STR)
			v->hash2 = write_text_hash(v->engine, v->proc,
						   v->sys->vals[i].fmt == DFT_FMT_SH ? "SH" : "FH",
						   names->text2, names->text2_len);
}

/* What makes the file known less than usually. */
static void write_remarks(struct dft_json *json, const struct vals *v, const char *via)
{
	const struct dft_call_names *names = v->names;
	uint16_t flags = v->rec->flags;

	if (v->rec->ret == DFT_RESULT_UNFINISHED)
		dft_json_u64(json, "unfinished", 1);
	if (v->rec->ret == DFT_RESULT_UNSEEN)
		dft_json_u64(json, "unseen", 1);
	if (names->lexical)
		dft_json_u64(json, "lexical", 1);
	if (flags & DFT_CALL_DELETED && names->file)
		dft_json_u64(json, "deleted", 1);
	if (flags & DFT_CALL_OTHER_DELETED && names->other)
		dft_json_u64(json, "other_deleted", 1);
	if (flags & DFT_CALL_REPLACED)
		dft_json_u64(json, "replaced", 1);
	if (names->unreachable)
		dft_json_u64(json, "unreachable", 1);
	if (names->unresolved)
		dft_json_cstr(json, "unresolved", names->unresolved);
	if (names->raw1)
		dft_json_str(json, "path", names->raw1, names->raw1_len);
	if (names->unresolved2)
		dft_json_cstr(json, "unresolved2", names->unresolved2);
	if (via)
		dft_json_cstr(json, "via", via);
}

static bool gate_is_shut(const struct vals *v, unsigned int i)
{
	return i && v->sys->vals[i - 1].fmt == DFT_FMT_GATE &&
	       (!val_present(v, i - 1) || !(uint32_t)v->rec->val[i - 1]);
}

static void write_after_ret(struct dft_pen *pen, const struct vals *v)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS && v->sys->vals[i].src; i++)
		if (v->sys->vals[i].fmt == DFT_FMT_STATUS && val_present(v, i) &&
		    v->rec->ret >= 0 && !gate_is_shut(v, i))
			write_value(pen, &v->sys->vals[i], v->rec->val[i]);
}

static bool shows_file(const struct vals *v)
{
	return (v->names->file || v->names->path1) &&
	       v->sys->vals[0].src != DFT_SRC_TEXT1; /* execve names it as an argument */
}

static void write_args(struct dft_json *json, const struct vals *v)
{
	const struct dft_call_names *names = v->names;
	bool via = v->rec->flags & DFT_CALL_VIA;
	struct dft_pen pen;

	if (!dft_pen_begin(&pen, json, CALL_MEMBERS,
			   names->text2 ? dft_json_room(names->text2, names->text2_len) : 0))
		return;
	if (shows_file(v))
		dft_pen_hash(&pen, "fhash", v->fhash);
	if (!via)
		write_values(&pen, v);
	write_ret(&pen, v->rec->ret);
	write_after_ret(&pen, v);
	dft_pen_end(&pen, json);
	write_remarks(json, v, via ? v->sys->name : dft_request_via(v->rec->nr));
	if (v->engine->cfg->precise)
		dft_json_u64(json, "dur_ns", v->rec->dur_ns);
}

void dft_format_call(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_call *rec, const struct dft_call_names *names)
{
	struct vals v = { .engine = engine, .proc = proc, .rec = rec, .names = names,
			  .sys = dft_sys_find(rec->nr) };
	struct dft_json json;

	if (engine->cfg->args)
		declare_names(&v);
	if (rec->ret == DFT_RESULT_UNSEEN)
		proc->unseen[rec->nr >= DFT_NR_AIO]++;
	engine->events++;
	event_begin(&json, engine, proc, dft_sys_event_of(v.sys, rec), "POSIX", DFT_LINE_LIBC_IO, rec->tid,
		    rec->ts_ns, rec->dur_ns);
	if (engine->cfg->args)
		write_args(&json, &v);
	dft_event_end(&json);
}

/* ---- for the end of a process ------------------------------------------------------------------ */

uint64_t dft_format_text(struct dft_engine *engine, struct dft_proc *proc, const char *kind,
			 const char *text, size_t len)
{
	return write_text_hash(engine, proc, kind, text, len);
}

void dft_format_name(struct dft_engine *engine, struct dft_proc *proc, const struct dft_name *name)
{
	write_name(engine, proc, name);
}
