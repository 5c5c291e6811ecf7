// SPDX-License-Identifier: MIT
/* Lines of the trace. docs/trace-format.md is the norm. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "annot.h"
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

static const char *const class_names[] = {
	[DFT_CLASS_NONE] = "none",     [DFT_CLASS_FILE] = "file",     [DFT_CLASS_DIR] = "dir",
	[DFT_CLASS_BLOCK] = "block",   [DFT_CLASS_LINK] = "link",     [DFT_CLASS_SOCKET] = "socket",
	[DFT_CLASS_PIPE] = "pipe",     [DFT_CLASS_TTY] = "tty",	      [DFT_CLASS_CHAR] = "chardev",
	[DFT_CLASS_ANON] = "anon",     [DFT_CLASS_PSEUDO] = "pseudo", [DFT_CLASS_EXCLUDED] = "excluded",
};
#define CLASS_COUNT (sizeof(class_names) / sizeof(class_names[0]))

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

static void event_begin(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
			const char *name, const char *cat, unsigned int type, uint32_t tid,
			uint64_t ts_ns, uint64_t dur_ns)
{
	struct dft_event_head head = {
		.name = name, .name_len = strlen(name), .cat = cat, .cat_len = strlen(cat),
		.type = type, .tid = tid,
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
	dft_format_image(engine, proc);
	write_start(engine, proc, ts_ns);
	proc->opened = true;
	engine->processes++;
}

static bool is_restart(int64_t ret)
{
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND ||
	       ret == -ERESTART_RESTARTBLOCK;
}

static void write_ret(struct dft_json *json, int64_t ret)
{
	if (ret >= 0 || ret < -MAX_ERRNO) {
		dft_json_i64(json, "ret", ret);
		return;
	}
	dft_json_i64(json, "ret", -1);
	if (is_restart(ret)) {
		dft_json_u64(json, "errno", EINTR);
		dft_json_u64(json, "restarted", 1);
	} else {
		dft_json_u64(json, "errno", (uint64_t)-ret);
	}
}

/* Context of the values of one call. */
struct vals {
	struct dft_engine *engine;
	struct dft_proc *proc;
	const struct dft_rec_call *rec;
	const struct dft_call_names *names;
	const struct dft_sys *sys;
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

static void write_value(struct dft_json *json, const char *key, uint8_t fmt, uint64_t value)
{
	switch (fmt) {
	case DFT_FMT_INT:
	case DFT_FMT_STATUS:
		dft_json_i64(json, key, (int32_t)value);
		break;
	case DFT_FMT_ID:
		if ((uint32_t)value == UINT32_MAX) {
			dft_json_i64(json, key, -1);
			break;
		}
		/* fall through */
	case DFT_FMT_UINT:
	case DFT_FMT_LO32:
	case DFT_FMT_MODE:
		dft_json_u64(json, key, (uint32_t)value);
		break;
	case DFT_FMT_HI32:
		dft_json_u64(json, key, value >> 32);
		break;
	case DFT_FMT_LONG:
		dft_json_i64(json, key, (int64_t)value);
		break;
	default:
		dft_json_u64(json, key, value);
	}
}

/* Hashes and strings: what does not come as a number in the record. */
static void write_text_value(struct dft_json *json, const struct vals *v,
			     const struct dft_sys_val *val)
{
	const struct dft_call_names *names = v->names;

	switch (val->src) {
	case DFT_SRC_TEXT1:
		if (names->path1)
			dft_json_hash(json, val->name, dft_hash(names->path1, names->path1_len));
		else if (names->file)
			dft_json_hash(json, val->name, names->file->fhash);
		break;
	case DFT_SRC_TEXT2:
		if (!names->text2)
			break;
		if (val->fmt == DFT_FMT_STR)
			dft_json_str(json, val->name, names->text2, names->text2_len);
		else
			dft_json_hash(json, val->name, dft_hash(names->text2, names->text2_len));
		break;
	case DFT_SRC_NAME2:
		if (names->other)
			dft_json_hash(json, val->name, names->other->fhash);
		break;
	case DFT_SRC_CMD:
		if (v->rec->ret == 0 && v->proc->cmd) {
			dft_json_hash(json, val->name, dft_hash(v->proc->cmd, v->proc->cmd_len));
			if (v->proc->cmd_full)
				dft_json_u64(json, "cmd_len", v->proc->cmd_full);
		}
		break;
	case DFT_SRC_RET:
		if (v->rec->ret >= 0)
			dft_json_i64(json, val->name, v->rec->ret);
		break;
	}
}

static void write_values(struct dft_json *json, const struct vals *v)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS && v->sys->vals[i].src; i++) {
		const struct dft_sys_val *val = &v->sys->vals[i];

		if (!val->name || val->fmt == DFT_FMT_STATUS)
			continue;
		if (val->src >= DFT_SRC_USER || val->src == DFT_SRC_NAME2)
			write_text_value(json, v, val);
		else if (val_present(v, i) && (val->fmt != DFT_FMT_MODE || vals_creates(v)))
			write_value(json, val->name, val->fmt, v->rec->val[i]);
	}
	if (v->rec->flags & DFT_CALL_OFFSET_SHARED)
		dft_json_u64(json, "offset_shared", 1);
}

/* FH and SH records that the call's line will refer to. */
static void declare_names(const struct vals *v)
{
	const struct dft_call_names *names = v->names;

	if (names->file)
		write_name(v->engine, v->proc, names->file);
	if (names->path1)
		write_text_hash(v->engine, v->proc, "FH", names->path1, names->path1_len);
	if (names->other)
		write_name(v->engine, v->proc, names->other);
	for (unsigned int i = 0; names->text2 && i < DFT_MAX_VALS; i++)
		if (v->sys->vals[i].src == DFT_SRC_TEXT2 && v->sys->vals[i].fmt != DFT_FMT_STR)
			write_text_hash(v->engine, v->proc,
					v->sys->vals[i].fmt == DFT_FMT_SH ? "SH" : "FH",
					names->text2, names->text2_len);
}

/* What makes the file known less than usually. */
static void write_remarks(struct dft_json *json, const struct vals *v, const char *via)
{
	const struct dft_call_names *names = v->names;
	uint16_t flags = v->rec->flags;

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

static void write_after_ret(struct dft_json *json, const struct vals *v)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS && v->sys->vals[i].src; i++)
		if (v->sys->vals[i].fmt == DFT_FMT_STATUS && val_present(v, i) &&
		    v->rec->ret >= 0 && !gate_is_shut(v, i))
			write_value(json, v->sys->vals[i].name, DFT_FMT_STATUS, v->rec->val[i]);
}

static bool shows_path1(const struct dft_sys *sys)
{
	return sys->vals[0].src != DFT_SRC_TEXT1; /* execve names it as an argument */
}

void dft_format_call(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_call *rec, const struct dft_call_names *names)
{
	struct vals v = { .engine = engine, .proc = proc, .rec = rec, .names = names,
			  .sys = dft_sys_find(rec->nr) };
	bool via = rec->flags & DFT_CALL_VIA;
	struct dft_json json;

	if (engine->cfg->args)
		declare_names(&v);
	engine->events++;
	event_begin(&json, engine, proc, dft_sys_event_of(v.sys, rec), "POSIX", DFT_LINE_LIBC_IO, rec->tid,
		    rec->ts_ns, rec->dur_ns);
	if (!engine->cfg->args) {
		dft_event_end(&json);
		return;
	}
	if (names->file && shows_path1(v.sys))
		dft_json_hash(&json, "fhash", names->file->fhash);
	else if (names->path1 && shows_path1(v.sys))
		dft_json_hash(&json, "fhash", dft_hash(names->path1, names->path1_len));
	if (!via)
		write_values(&json, &v);
	write_ret(&json, rec->ret);
	write_after_ret(&json, &v);
	write_remarks(&json, &v, via ? v.sys->name : NULL);
	if (engine->cfg->precise)
		dft_json_u64(&json, "dur_ns", rec->dur_ns);
	dft_event_end(&json);
}

/* ---- the end of a process ------------------------------------------------------------------- */

static const char *tally_op(const struct dft_tally_key *key)
{
	static const char *const records[] = {
		[DFT_REC_TEXT] = "record_text", [DFT_REC_NAME] = "record_name",
		[DFT_REC_PROC] = "record_proc", [DFT_REC_FORK] = "record_fork",
		[DFT_REC_EXEC] = "record_exec", [DFT_REC_EXIT] = "record_exit",
		[DFT_REC_EVENT] = "record_event", [DFT_REC_PART] = "record_part",
		[DFT_REC_METADATA] = "record_metadata", [DFT_REC_ENTITY] = "record_entity",
		[DFT_REC_ENTITY_TYPE] = "record_entity_type",
		[DFT_REC_RELATION] = "record_relation", [DFT_REC_IMAGE] = "record_image",
	};
	const struct dft_sys *sys = dft_sys_find(key->nr & DFT_TALLY_NR);

	if (key->kind == DFT_TALLY_RECORD)
		return key->nr < sizeof(records) / sizeof(records[0]) && records[key->nr] ?
			       records[key->nr] :
			       "record";
	if (!sys)
		return NULL;
	if (key->kind == DFT_TALLY_UNDECODED || !sys->event)
		return sys->name;
	return dft_sys_event(sys, key->nr & DFT_TALLY_FLAGGED, key->nr & DFT_TALLY_SELF);
}

/* Counts by name, in order of first appearance; a process has a few dozen at most. */
struct counts {
	struct {
		const char *name;
		uint64_t count;
	} item[DFT_NR_MAX];
	size_t len;
};

static void counts_add(struct counts *counts, const char *name, uint64_t count)
{
	for (size_t i = 0; i < counts->len; i++) {
		if (!strcmp(counts->item[i].name, name)) {
			counts->item[i].count += count;
			return;
		}
	}
	if (counts->len < DFT_NR_MAX) {
		counts->item[counts->len].name = name;
		counts->item[counts->len++].count = count;
	}
}

static void counts_write(struct dft_json *json, const char *key, const struct counts *counts)
{
	if (!counts->len)
		return;
	dft_json_object(json, key);
	for (size_t i = 0; i < counts->len; i++)
		dft_json_u64(json, counts->item[i].name, counts->item[i].count);
	dft_json_object_end(json);
}

static void write_lost(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc)
{
	struct counts counts = { .len = 0 };

	for (size_t i = 0; i < proc->ntallies; i++) {
		const struct dft_tally_entry *e = &proc->tallies[i];

		if (e->key.kind != DFT_TALLY_LOST && e->key.kind != DFT_TALLY_RECORD)
			continue;
		counts_add(&counts, tally_op(&e->key) ? tally_op(&e->key) : "unknown",
			   e->value.calls);
		engine->lost += e->value.calls;
	}
	if (engine->uncounted && !engine->uncounted_told) {
		/* Once in the trace, so that sums over all files are right. */
		counts_add(&counts, "uncounted_of_all_processes", engine->uncounted);
		engine->uncounted_told = true;
	}
	counts_write(json, "lost", &counts);
}

/* Left out by name: counted by the decoder, which knows the names. */
static void excluded_counts(struct counts *counts, const struct dft_proc *proc)
{
	for (size_t i = 0; i < proc->nexcluded; i++)
		counts_add(counts, proc->excluded[i].event, proc->excluded[i].calls);
}

static void write_filtered(struct dft_json *json, const struct dft_proc *proc)
{
	struct counts *counts = calloc(CLASS_COUNT, sizeof(*counts));
	bool any = false;

	if (!counts) {
		json->buf->failed = true;
		return;
	}
	for (size_t i = 0; i < proc->ntallies; i++) {
		const struct dft_tally_entry *e = &proc->tallies[i];

		if (e->key.kind == DFT_TALLY_FILTERED && e->key.cls < CLASS_COUNT &&
		    tally_op(&e->key))
			counts_add(&counts[e->key.cls], tally_op(&e->key), e->value.calls);
	}
	excluded_counts(&counts[DFT_CLASS_EXCLUDED], proc);
	for (size_t cls = 0; cls < CLASS_COUNT; cls++)
		any = any || counts[cls].len;
	if (any) {
		dft_json_object(json, "filtered");
		for (size_t cls = 0; cls < CLASS_COUNT; cls++)
			counts_write(json, class_names[cls], &counts[cls]);
		dft_json_object_end(json);
	}
	free(counts);
}

/* Calls that are counted by name or number and not decoded. */
static void write_not_decoded(struct dft_json *json, const struct dft_proc *proc)
{
	struct counts undecoded = { .len = 0 };
	uint64_t unknown = 0, compat = 0;

	for (size_t i = 0; i < proc->ntallies; i++) {
		const struct dft_tally_entry *e = &proc->tallies[i];

		if (e->key.kind == DFT_TALLY_UNDECODED && tally_op(&e->key))
			counts_add(&undecoded, tally_op(&e->key), e->value.calls);
		else if (e->key.kind == DFT_TALLY_UNKNOWN)
			unknown += e->value.calls;
		else if (e->key.kind == DFT_TALLY_COMPAT)
			compat += e->value.calls;
	}
	counts_write(json, "undecoded", &undecoded);
	if (unknown)
		dft_json_u64(json, "unknown", unknown);
	if (compat)
		dft_json_u64(json, "compat", compat);
}

/* Pipes are not traced call by call, yet what went through each is known. */
static void write_pipes(struct dft_engine *engine, struct dft_proc *proc)
{
	for (size_t i = 0; i < proc->ntallies; i++) {
		const struct dft_tally_entry *e = &proc->tallies[i];
		const struct dft_sys *sys = dft_sys_find(e->key.nr & DFT_TALLY_NR);
		struct dft_buf name = DFT_BUF_INIT;
		struct dft_json json;
		uint64_t hash;

		if (e->key.kind != DFT_TALLY_FILTERED || e->key.cls != DFT_CLASS_PIPE || !sys ||
		    sys->desc.ret != DFT_RET_BYTES)
			continue;
		DFT_BUF_LIT(&name, "pipe:[");
		dft_buf_u64(&name, e->key.ino);
		dft_buf_putc(&name, ']');
		if (name.failed) {
			proc->lines.failed = true;
			return;
		}
		hash = write_text_hash(engine, proc, "FH", name.data, name.len);
		dft_buf_free(&name);
		dft_line_begin(&json, proc);
		dft_json_cstr(&json, "name", sys->event);
		dft_json_cstr(&json, "cat", "POSIX");
		dft_json_u64(&json, "type", DFT_LINE_LIBC_IO);
		dft_json_u64(&json, "ts", dft_line_us(engine, e->value.first_ns));
		dft_json_u64(&json, "ph", DFT_PH_AGGREGATED);
		dft_json_u64(&json, "pid", proc->pid);
		dft_json_u64(&json, "tid", proc->pid);
		dft_json_object(&json, "args");
		dft_json_hash(&json, "hhash", engine->hhash);
		dft_json_hash(&json, "fhash", hash);
		dft_json_u64(&json, "dft_cnt", e->value.calls);
		dft_json_u64(&json, "dur_sum", (e->value.dur_ns + 500) / 1000);
		dft_json_u64(&json, "ret_sum", e->value.bytes);
		dft_json_u64(&json, "errors", e->value.errors);
		dft_event_end(&json);
	}
}

static void write_prefixes(struct dft_json *json, const char *key, const struct dft_strv *list)
{
	if (!list->n)
		return;
	dft_json_array(json, key);
	for (size_t i = 0; i < list->n; i++)
		dft_json_cstr(json, NULL, list->v[i]);
	dft_json_array_end(json);
}

/* The keys of the format that mean something here, in its order, then our own. */
static void write_cfg(struct dft_json *json, const struct dft_config *cfg)
{
	dft_json_object(json, "cfg");
	dft_json_u64(json, "enable", 1);
	dft_json_u64(json, "metadata", cfg->args);
	dft_json_u64(json, "core_affinity", 0);
	dft_json_cstr(json, "time_metric", "US");
	dft_json_u64(json, "io", 1);
	dft_json_u64(json, "posix", 1);
	dft_json_u64(json, "stdio", 0);
	dft_json_u64(json, "compression", 1);
	dft_json_u64(json, "trace_all_files", cfg->all_files);
	dft_json_u64(json, "tids", 1);
	dft_json_u64(json, "bind_signals", 0);
	dft_json_u64(json, "aggregation_enable", 0);
	dft_json_u64(json, "all", cfg->all);
	dft_json_u64(json, "follow", cfg->follow);
	dft_json_u64(json, "precise", cfg->precise);
	dft_json_u64(json, "ring", cfg->ring_sz);
	write_prefixes(json, "include", &cfg->include);
	write_prefixes(json, "exclude", &cfg->exclude);
	dft_json_object_end(json);
}

static void write_build(struct dft_json *json)
{
	static const char *const keys[] = { "mpi", "hdf5", "hip", "cuda", "finstrument", "variorum" };

	dft_json_object(json, "build");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		dft_json_u64(json, keys[i], 0);
	dft_json_object_end(json);
}

static void write_exit(struct dft_json *json, const struct dft_proc *proc)
{
	dft_json_object(json, "exit");
	if (!proc->has_status)
		dft_json_u64(json, "unknown", 1); /* still running, or its end was not seen */
	else if (WIFSIGNALED(proc->status))
		dft_json_u64(json, "signal", (uint64_t)WTERMSIG(proc->status));
	else
		dft_json_u64(json, "code", (uint64_t)WEXITSTATUS(proc->status));
	dft_json_object_end(json);
}

void dft_format_end(struct dft_engine *engine, struct dft_proc *proc)
{
	uint64_t events;
	struct dft_json json;

	write_pipes(engine, proc);
	events = proc->next_id;
	event_begin(&json, engine, proc, "end", "dftracer", DFT_LINE_DFTRACER, proc->pid, proc->end_ns, 0);
	dft_json_u64(&json, "num_events", events);
	write_cfg(&json, engine->cfg);
	write_build(&json);
	dft_annot_write_layers(&json, proc);
	write_lost(&json, engine, proc);
	write_filtered(&json, proc);
	write_not_decoded(&json, proc);
	dft_annot_write_counts(&json, proc);
	write_exit(&json, proc);
	dft_event_end(&json);
}
