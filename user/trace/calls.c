// SPDX-License-Identifier: MIT
/* A call's names: looks them up, joins them, and asks the filters; then it becomes a line. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "pathfilter.h"
#include "syscalls.h"

bool dft_engine_filters(const struct dft_engine *engine)
{
	return engine->cfg->include.n || engine->cfg->exclude.n;
}

bool dft_engine_keeps(const struct dft_engine *engine, const char *path, size_t len)
{
	return dft_pathfilter_keep(&engine->cfg->include, &engine->cfg->exclude, path, len);
}

struct call {
	struct dft_engine *engine;
	const struct dft_rec_call *rec;
	const struct dft_sys *sys;
	struct dft_text *text1, *text2;
	struct dft_call_names *names;
	size_t path1_at, text2_at; /* in engine->scratch */
	bool joined1, joined2;
};

/* A relative path has a base whose name is known in full, or a reason why not. */
static const struct dft_name *base_name(const struct dft_engine *engine, uint64_t id, bool by_dirfd,
					const char **why)
{
	const struct dft_name *base = dft_names_get(&engine->names, id);

	if (!base)
		*why = id ? "lost" : by_dirfd ? "dirfd" : "cwd";
	else if (!base->len || base->text[0] != '/')
		*why = "dirfd"; /* a pipe, a socket: not in the tree, and nothing is below it */
	else if (base->flags & DFT_NAME_TRUNCATED)
		*why = "too long";
	else
		return base;
	return NULL;
}

static void join(struct call *call, const struct dft_text *text, uint64_t base_id, bool by_dirfd,
		 const struct dft_name **real, const char **why, size_t *at, bool *joined)
{
	bool absolute = text->len && text->bytes[0] == '/';
	const struct dft_name *base = NULL;

	if (text->len >= DFT_PATH_MAX) {
		*why = "too long";
		return;
	}
	if (!absolute) {
		base = base_name(call->engine, base_id, by_dirfd, why);
		if (!base)
			return;
	}
	if (base && !memchr(text->bytes, '/', text->len))
		*real = base;
	if (base && base->flags & DFT_NAME_UNREACHABLE)
		call->names->unreachable = true;
	*at = call->engine->scratch.len;
	if (dft_path_join(&call->engine->scratch, base ? base->text : "", base ? base->len : 0,
			  text->bytes, text->len))
		call->names->lexical = true;
	*joined = true;
}

/*
 * execveat with a directory descriptor: the kernel's own name of the file is /dev/fd/N/PATH, of
 * which PATH is what the program wrote.
 */
static void strip_dev_fd(struct dft_text *text)
{
	static const char prefix[] = "/dev/fd/";
	const char *slash;
	size_t skip;

	if (text->len < sizeof(prefix) - 1 || memcmp(text->bytes, prefix, sizeof(prefix) - 1))
		return;
	slash = memchr(text->bytes + sizeof(prefix) - 1, '/', text->len - (sizeof(prefix) - 1));
	skip = slash ? (size_t)(slash + 1 - text->bytes) : text->len;
	memmove(text->bytes, text->bytes + skip, text->len - skip);
	text->len = (uint16_t)(text->len - skip);
}

const char *dft_name_flaw(const struct dft_name *name)
{
	if (name->flags & DFT_NAME_TRUNCATED)
		return "too long";
	/* Opened by handle, and never looked up by name since. */
	if (name->flags & DFT_NAME_FLOATING && name->len > 1 && !memcmp(name->text, "//", 2))
		return "disconnected";
	return NULL;
}

/* Strings are read at the end of most calls: of one that has none they are not there. */
static const char *missing_text(const struct dft_rec_call *rec, uint16_t lost)
{
	return rec->ret == DFT_RESULT_UNFINISHED && !(rec->flags & lost) ? "unfinished" : "lost";
}

static void resolve_first(struct call *call)
{
	const struct dft_rec_call *rec = call->rec;
	struct dft_call_names *names = call->names;
	bool by_dirfd = rec->flags & DFT_CALL_DIRFD;

	if (!(rec->flags & DFT_CALL_BASE)) {
		names->file = dft_names_get(&call->engine->names, rec->name);
		if (names->file && dft_name_flaw(names->file)) {
			names->unresolved = dft_name_flaw(names->file);
			names->file = NULL;
		} else if (!names->file && (rec->name || rec->flags & DFT_CALL_NAMELESS)) {
			names->unresolved = "lost";
		} else if (!rec->name && call->sys->desc.ret == DFT_RET_FILE && rec->ret < 0) {
			/* open_by_handle_at has no name to show */
			names->unresolved = rec->ret == DFT_RESULT_UNFINISHED ? "unfinished" : "handle";
		}
		if (names->file && names->file->flags & DFT_NAME_UNREACHABLE)
			names->unreachable = true;
		return;
	}
	if (rec->flags & DFT_CALL_FAULT1) {
		names->unresolved = "fault";
	} else if (!call->text1) {
		names->unresolved = missing_text(rec, DFT_CALL_LOST1);
	} else {
		if (call->sys->desc.special == DFT_SPECIAL_EXEC && by_dirfd && rec->ret == 0)
			strip_dev_fd(call->text1);
		if (!call->text1->len && call->sys->desc.special == DFT_SPECIAL_EXEC && by_dirfd &&
		    rec->ret == 0) {
			names->file = dft_names_get(&call->engine->names, rec->name);
			return;
		}
		join(call, call->text1, rec->name, by_dirfd, &names->base1, &names->unresolved,
		     &call->path1_at, &call->joined1);
	}
	if (names->unresolved && call->text1 && call->text1->len < DFT_PATH_MAX) {
		names->raw1 = call->text1->bytes;
		names->raw1_len = call->text1->len;
	}
}

static void resolve_second(struct call *call)
{
	const struct dft_rec_call *rec = call->rec;
	struct dft_call_names *names = call->names;

	/* Of an exec there is one when it runs a script: the interpreter, relative to the working directory. */
	if (!(call->sys->desc.path2 || rec->flags & DFT_CALL_TEXT2) || rec->flags & DFT_CALL_VIA)
		return;
	if (rec->flags & DFT_CALL_FAULT2) {
		names->unresolved2 = "fault";
	} else if (!call->text2) {
		names->unresolved2 = missing_text(rec, DFT_CALL_LOST2);
	} else if (call->sys->desc.raw2 && call->text2->len >= DFT_PATH_MAX) {
		names->unresolved2 = "too long";
	} else if (call->sys->desc.raw2) {
		names->text2 = call->text2->bytes;
		names->text2_len = call->text2->len;
	} else {
		join(call, call->text2, call->text2->base, call->sys->desc.base2, &names->base2,
		     &names->unresolved2, &call->text2_at, &call->joined2);
	}
}

static void resolve_other(struct call *call)
{
	struct dft_call_names *names = call->names;

	if (call->rec->flags & DFT_CALL_OTHER_NAMELESS && !call->sys->desc.path2 &&
	    !call->sys->desc.closes)
		names->unresolved2 = "lost";
	if (call->rec->flags & DFT_CALL_FAULT2 && call->sys->desc.fd2_ptr)
		names->unresolved2 = "fault";
	for (unsigned int i = 0; i < DFT_MAX_VALS && i < call->rec->nvals; i++) {
		if (!(call->rec->present & 1u << i) || call->sys->vals[i].src != DFT_SRC_NAME2)
			continue;
		names->other = dft_names_get(&call->engine->names, call->rec->val[i]);
		if (!names->other) {
			names->unresolved2 = "lost";
		} else if (names->other->flags & DFT_NAME_TRUNCATED) {
			names->other = NULL;
			names->unresolved2 = "too long";
		}
	}
}

/* Joined names lie in the scratch, which may have moved while it grew: point to them at last. */
static void resolve(struct call *call)
{
	struct dft_buf *scratch = &call->engine->scratch;
	struct dft_call_names *names = call->names;

	scratch->len = 0;
	resolve_first(call);
	if (call->joined1)
		names->path1_len = scratch->len - call->path1_at;
	resolve_second(call);
	if (call->joined2)
		names->text2_len = scratch->len - call->text2_at;
	if (call->joined1)
		names->path1 = scratch->data + call->path1_at;
	if (call->joined2)
		names->text2 = scratch->data + call->text2_at;
	resolve_other(call);
}

/*
 * Left out by --include/--exclude? A call with several names is kept when one of them is; a call
 * without any is kept.
 */
static bool is_excluded(const struct call *call)
{
	const struct dft_call_names *names = call->names;
	bool named = false;

	if (!dft_engine_filters(call->engine) || call->sys->desc.special == DFT_SPECIAL_EXEC)
		return false;
	if (names->file) {
		if (!names->file->excluded)
			return false;
		named = true;
	}
	if (names->other) {
		if (!names->other->excluded)
			return false;
		named = true;
	}
	if (names->path1) {
		if (dft_engine_keeps(call->engine, names->path1, names->path1_len))
			return false;
		named = true;
	}
	if (call->joined2) {
		if (dft_engine_keeps(call->engine, names->text2, names->text2_len))
			return false;
		named = true;
	}
	return named;
}

/* Exec by descriptor: only now is it known which file that was. */
static int set_program_of_call(struct dft_proc *proc, const struct dft_call_names *names)
{
	if (names->path1)
		return dft_engine_set_program(proc, names->path1, names->path1_len);
	return names->file ? dft_engine_set_program(proc, names->file->text, names->file->len) : 0;
}

int dft_engine_call(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_call *rec,
		    uint32_t texts_of)
{
	struct dft_call_names names = { 0 };
	struct call call = { .engine = engine, .rec = rec, .names = &names,
			     .sys = dft_sys_find(rec->nr) };
	int err = 0;

	if (!call.sys || call.sys->desc.kind != DFT_KIND_DECODED) {
		engine->bad_records++;
		return 0;
	}
	err = dft_engine_open(engine, proc, rec->ts_ns);
	if (err)
		return err;
	if (rec->flags & DFT_CALL_TEXT1)
		call.text1 = dft_proc_take_text(proc, texts_of, 1);
	if (rec->flags & DFT_CALL_TEXT2)
		call.text2 = dft_proc_take_text(proc, texts_of, 2);
	resolve(&call);
	if (engine->scratch.failed)
		err = -ENOMEM;
	else if (call.sys->desc.special == DFT_SPECIAL_EXEC && rec->ret == 0)
		err = set_program_of_call(proc, &names);
	if (err)
		goto out;
	if (is_excluded(&call))
		err = dft_proc_count_excluded(proc, dft_sys_event_of(call.sys, rec), 1);
	else {
		dft_format_call(engine, proc, rec, &names);
		err = engine->cfg->prov ? dft_runs_call(engine, proc, rec, &names) : 0;
	}
out:
	free(call.text1);
	free(call.text2);
	return err ? err : dft_engine_grown(engine, proc);
}
