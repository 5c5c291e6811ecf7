// SPDX-License-Identifier: MIT
/* What calls, rows and sums mean for the runs that made them. */
#include "runparts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"
#include "syscalls.h"

/* Calls that say how long a file stays open: behind those of enum dft_prov_act. */
enum {
	ACT_CLOSE = DFT_PROV_EXEC + 1,
	ACT_DUP,
	ACT_FCNTL,
};

static uint8_t act_of_line(const struct dft_sys *sys)
{
	const char *event;
	enum dft_prov_act act;

	if (!sys || !sys->event)
		return DFT_PROV_NONE;
	event = dft_sys_event(sys, false, false);
	act = dft_prov_act_of(event, strlen(event));
	if (act)
		return (uint8_t)act;
	if (!strcmp(event, "close"))
		return ACT_CLOSE;
	if (!strncmp(event, "dup", 3))
		return ACT_DUP;
	return !strcmp(event, "fcntl") ? ACT_FCNTL : DFT_PROV_NONE;
}

void dft_runs_init(struct dft_engine *engine)
{
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++)
		engine->acts[nr] = act_of_line(dft_sys_find(nr));
}

/* ---- names ---------------------------------------------------------------------------------- */

void run_ref_file(struct run_ref *ref, const struct dft_run_file *file)
{
	*ref = (struct run_ref){ .text = file->text, .len = file->len, .fhash = file->fhash,
				 .pipe = file->pipe };
}

bool run_ref_name(struct run_ref *ref, const struct dft_name *name)
{
	bool floating = name->flags & DFT_NAME_FLOATING;
	bool counts = name->cls == DFT_CLASS_FILE || name->cls == DFT_CLASS_BLOCK;

	*ref = (struct run_ref){ .text = name->text, .len = name->len, .fhash = name->fhash,
				 .magic = name->magic, .pipe = name->cls == DFT_CLASS_PIPE };
	/* Outside of the tree, or of the process's root, a name does not tell which file it is. */
	if (name->flags & (DFT_NAME_TRUNCATED | DFT_NAME_UNREACHABLE) || !name->len || name->excluded)
		return false;
	return ref->pipe || (counts && !floating);
}

struct call {
	struct dft_engine *engine;
	struct dft_proc *proc;
	struct dft_run *run;
	const struct dft_rec_call *rec;
	const struct dft_sys *sys;
	const struct dft_call_names *names;
	struct dft_prov_call what;
};

static bool resolve(const struct call *c, enum dft_resolve how, const char *path, size_t len,
		    struct dft_resolved *out)
{
	const struct dft_engine_ops *ops = &c->engine->ops;

	return ops->resolve && !ops->resolve(ops->ctx, c->proc, how, path, len, out);
}

/*
 * The file of a name that the program wrote: the directory part may lead over symbolic links, and the
 * kernel's names, under which the file's reads and writes are known, do not. `base`: the directory of a
 * name of one component, which is the kernel's.
 */
static int ref_text(const struct call *c, const char *text, size_t len, const struct dft_name *base,
		    struct dft_buf *room, struct run_ref *ref)
{
	const char *slash = memrchr(text, '/', len);
	size_t dir = slash ? (size_t)(slash - text) : 0;
	struct dft_resolved real;

	*ref = (struct run_ref){ .text = text, .len = len, .magic = base ? base->magic : 0 };
	if (!base && slash && resolve(c, DFT_RESOLVE_DIR, dir ? text : "/", dir ? dir : 1, &real)) {
		if (real.len > 1)
			dft_buf_append(room, real.path, real.len);
		dft_buf_append(room, slash, len - dir);
		if (room->failed)
			return -ENOMEM;
		ref->text = room->data;
		ref->len = room->len;
		ref->magic = real.magic;
	}
	ref->fhash = dft_hash(ref->text, ref->len);
	return 0;
}

/* The same of a name whose last component may be a link, too, and is followed. */
static int ref_followed(const struct call *c, const char *text, size_t len, struct dft_buf *room,
			struct run_ref *ref)
{
	struct dft_resolved real;

	*ref = (struct run_ref){ .text = text, .len = len };
	if (resolve(c, DFT_RESOLVE_FILE, text, len, &real)) {
		dft_buf_append(room, real.path, real.len);
		if (room->failed)
			return -ENOMEM;
		ref->text = room->data;
		ref->len = room->len;
		ref->magic = real.magic;
	}
	ref->fhash = dft_hash(ref->text, ref->len);
	return 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool value_named(const struct call *c, const char *name, uint64_t *value)
{
	for (unsigned int i = 0; i < DFT_MAX_VALS && c->sys->vals[i].src; i++) {
		if (!c->sys->vals[i].name || strcmp(c->sys->vals[i].name, name))
			continue;
		*value = i < c->rec->nvals && c->rec->present & 1u << i ? c->rec->val[i] : 0;
		return true;
	}
	return false;
}

static int add(const struct call *c, const struct run_ref *ref, unsigned int facts)
{
	struct dft_use *use;

	/* A pipe is not there to be changed: what comes into it is new. */
	if (ref->pipe && facts & DFT_PROV_WROTE)
		facts |= DFT_PROV_MADE;
	if (ref->pipe)
		facts &= DFT_PROV_DID_READ | DFT_PROV_WROTE | DFT_PROV_MADE;
	return facts ? run_add(c->engine, c->proc, c->run, ref, facts, &use) : 0;
}

static void sum(uint64_t *to, uint64_t bytes)
{
	if (__builtin_add_overflow(*to, bytes, to))
		*to = UINT64_MAX;
}

/* Bytes of files, not of pipes. */
static void count(const struct call *c, const struct run_ref *ref, unsigned int facts)
{
	if (c->rec->ret <= 0 || ref->pipe || c->sys->desc.ret != DFT_RET_BYTES)
		return;
	if (facts & DFT_PROV_DID_READ)
		sum(&c->run->bytes_read, (uint64_t)c->rec->ret);
	else if (facts & DFT_PROV_WROTE)
		sum(&c->run->bytes_written, (uint64_t)c->rec->ret);
}

static int on_opened(const struct call *c, const struct run_ref *ref, unsigned int facts)
{
	struct dft_use *use;
	int err = run_add(c->engine, c->proc, c->run, ref, facts, &use);

	if (!err) {
		use->cloexec = c->what.flags & O_CLOEXEC;
		use->fds++;
	}
	return err;
}

/* A call on the file of a descriptor, and perhaps another one. */
static int on_files(const struct call *c, enum dft_prov_act act)
{
	const struct dft_call_names *names = c->names;
	unsigned int facts, other;
	struct run_ref ref;
	int err = 0;

	dft_prov_facts(act, &c->what, &facts, &other);
	if (facts && names->file && run_ref_name(&ref, names->file)) {
		count(c, &ref, facts);
		err = act == DFT_PROV_OPEN && !ref.pipe ? on_opened(c, &ref, facts) : add(c, &ref, facts);
	}
	if (!err && other && names->other && run_ref_name(&ref, names->other)) {
		count(c, &ref, other);
		err = add(c, &ref, other);
	}
	return err;
}

/* One of which only the path is known: truncate, and a request that opens. */
static int on_path(const struct call *c, enum dft_prov_act act)
{
	struct dft_buf room = DFT_BUF_INIT;
	unsigned int facts, other;
	struct run_ref ref;
	int err;

	dft_prov_facts(act, &c->what, &facts, &other);
	if (!facts || !c->names->path1)
		return 0;
	err = ref_followed(c, c->names->path1, c->names->path1_len, &room, &ref);
	if (!err)
		err = add(c, &ref, facts);
	dft_buf_free(&room);
	return err;
}

static int on_unlink(const struct call *c)
{
	const struct dft_call_names *names = c->names;
	struct dft_buf room = DFT_BUF_INIT;
	unsigned int facts, other;
	struct run_ref ref;
	int err;

	dft_prov_facts(DFT_PROV_UNLINK, &c->what, &facts, &other);
	if (!facts || !names->path1)
		return 0;
	err = ref_text(c, names->path1, names->path1_len, names->base1, &room, &ref);
	if (!err)
		err = add(c, &ref, facts);
	dft_buf_free(&room);
	return err;
}

static int relate(const struct call *c, const struct run_ref *new, const struct run_ref *old,
		  const char *why)
{
	struct dft_run_file *of = run_file_get(c->engine, c->proc, old);
	struct dft_run_file *to = run_file_get(c->engine, c->proc, new);
	uint64_t subject, object;

	if (!of || !to || of == to)
		return 0;
	if (dft_run_declare(c->engine, c->proc, to, run_type(c->run, to), &subject) ||
	    dft_run_declare(c->engine, c->proc, of, run_type(c->run, of), &object))
		return -ENOMEM;
	dft_run_relate(c->engine, c->proc, DFT_DERIVED_FROM, subject, object, why);
	return 0;
}

/* What got a new name, as st_mode; what is not known is taken for a file. */
static uint32_t renamed_mode(const struct call *c, const struct run_ref *ref)
{
	struct dft_resolved real;

	if (run_file_get(c->engine, c->proc, ref) ||
	    !resolve(c, DFT_RESOLVE_LINK, c->names->text2, c->names->text2_len, &real))
		return S_IFREG;
	return real.mode;
}

/* A directory has no content, but all that is below it has another name from now on. */
static int renamed_dir(const struct call *c, const struct run_ref *old, const struct run_ref *new)
{
	struct dft_run_file *of = run_file_take(c->engine, c->proc, old);
	struct dft_run_file *to = run_file_take(c->engine, c->proc, new);
	unsigned int facts, other;
	uint64_t subject, object;
	int err = of && to ? 0 : -ENOMEM;

	dft_prov_facts(DFT_PROV_RENAME, &c->what, &facts, &other);
	if (!err)
		err = dft_run_declare(c->engine, c->proc, to, DFT_RUN_DIR, &subject);
	if (!err)
		err = dft_run_declare(c->engine, c->proc, of, DFT_RUN_DIR, &object);
	if (!err && subject != object)
		dft_run_relate(c->engine, c->proc, DFT_DERIVED_FROM, subject, object, "rename");
	if (!err && subject != object && facts & DFT_PROV_NAMED) /* exchanged */
		dft_run_relate(c->engine, c->proc, DFT_DERIVED_FROM, object, subject, "rename");
	dft_run_file_put(&c->engine->files, of);
	dft_run_file_put(&c->engine->files, to);
	return err;
}

/* The name of a descriptor, as programs use it that give a name to a file without one. */
static bool is_descriptor(const char *path, size_t len)
{
	return len > 6 && !memcmp(path, "/proc/", 6);
}

static int renamed(const struct call *c, enum dft_prov_act act, const struct run_ref *old,
		   const struct run_ref *new)
{
	const char *why = act == DFT_PROV_RENAME ? "rename" : "link";
	unsigned int facts, other;
	struct dft_use *use;
	int err = 0;

	dft_prov_facts(act, &c->what, &facts, &other);
	if (old)
		err = run_add(c->engine, c->proc, c->run, old, facts, &use);
	if (!err)
		err = run_add(c->engine, c->proc, c->run, new, other, &use);
	if (!err && old)
		err = relate(c, new, old, why);
	if (!err && old && facts & DFT_PROV_NAMED) /* exchanged */
		err = relate(c, old, new, why);
	return err;
}

static int on_rename(const struct call *c, enum dft_prov_act act)
{
	const struct dft_call_names *names = c->names;
	struct dft_buf rooms[2] = { DFT_BUF_INIT, DFT_BUF_INIT };
	struct run_ref old, new;
	uint32_t mode = 0;
	bool has_old;
	int err;

	if (c->rec->ret < 0 || !names->text2)
		return 0;
	err = ref_text(c, names->text2, names->text2_len, names->base2, &rooms[1], &new);
	has_old = names->path1 && !is_descriptor(names->path1, names->path1_len);
	if (!err && has_old)
		err = ref_text(c, names->path1, names->path1_len, names->base1, &rooms[0], &old);
	else if (!err && names->file)
		has_old = run_ref_name(&old, names->file) && !(c->rec->flags & DFT_CALL_DELETED);
	if (!err)
		mode = renamed_mode(c, has_old ? &old : &new);
	/* A symbolic link is neither. */
	if (!err && (S_ISREG(mode) || S_ISBLK(mode)))
		err = renamed(c, act, has_old ? &old : NULL, &new);
	else if (!err && S_ISDIR(mode) && has_old)
		err = renamed_dir(c, &old, &new);
	dft_buf_free(&rooms[0]);
	dft_buf_free(&rooms[1]);
	return err;
}

/* What is executed is known from the record before; of a script that is what runs it. */
static int on_exec(const struct call *c)
{
	const struct dft_call_names *names = c->names;
	bool script = names->text2, known = c->run->image;
	struct dft_buf room = DFT_BUF_INIT;
	struct run_ref ref;
	int err = 0;

	if (c->rec->ret != 0)
		return 0;
	if (names->path1 && (script || !known)) {
		err = ref_followed(c, names->path1, names->path1_len, &room, &ref);
		if (!err)
			err = add(c, &ref, DFT_PROV_RAN);
	} else if (names->file && (script || !known) && run_ref_name(&ref, names->file)) {
		err = add(c, &ref, DFT_PROV_RAN);
	}
	room.len = 0;
	if (!err && script && !known) {
		err = ref_followed(c, names->text2, names->text2_len, &room, &ref);
		if (!err)
			err = add(c, &ref, DFT_PROV_RAN);
	}
	dft_buf_free(&room);
	return err;
}

/* How many descriptors there are of a file that was made: whether the next program can have it. */
static void on_descriptor(const struct call *c, unsigned int act)
{
	struct dft_use *use = NULL;
	struct run_ref ref;
	uint64_t flags = 0;

	if (c->rec->ret < 0 || !c->run->made || !c->names->file || !run_ref_name(&ref, c->names->file))
		return;
	use = run_use_get(c->engine, c->proc, c->run, &ref);
	if (!use)
		return;
	if (act == ACT_CLOSE) {
		use->fds -= use->fds != 0;
		return;
	}
	if (act == ACT_FCNTL) {
		value_named(c, "cmd", &flags);
		if (flags != F_DUPFD && flags != F_DUPFD_CLOEXEC)
			return;
		flags = flags == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0;
	} else {
		value_named(c, "flags", &flags);
	}
	use->fds++;
	use->cloexec = use->cloexec && flags & O_CLOEXEC;
}

static void fill(struct call *c, enum dft_prov_act act)
{
	struct dft_prov_call *what = &c->what;
	uint64_t created = 0;

	/* Addresses are no numbers that could be compared with 0. */
	what->ret = act == DFT_PROV_MAP && c->rec->ret < 0 ? -1 : c->rec->ret;
	what->faults_seen = c->engine->mmap;
	what->has_flags = value_named(c, "flags", &what->flags);
	value_named(c, "prot", &what->prot);
	value_named(c, "len", &what->len);
	value_named(c, "created", &created);
	what->created = created;
}

/* Reads and writes of the file that was read or written before: nearly all of them. */
static bool is_known(const struct dft_proc *proc, unsigned int act, const struct dft_rec_call *rec,
		     const struct dft_call_names *names)
{
	struct dft_run *run = proc->runs.run;
	const struct dft_use *use = run ? run->last : NULL;

	if (rec->ret < 0)
		return true;
	if (!use || !names->file || use->file->fhash != names->file->fhash || use->file->pipe ||
	    !(use->facts & (act == DFT_PROV_READ ? DFT_PROV_DID_READ : DFT_PROV_WROTE)))
		return false;
	sum(act == DFT_PROV_READ ? &run->bytes_read : &run->bytes_written, (uint64_t)rec->ret);
	return true;
}

int dft_runs_call(struct dft_engine *engine, struct dft_proc *proc, const struct dft_rec_call *rec,
		  const struct dft_call_names *names)
{
	unsigned int act = engine->acts[rec->nr & (DFT_NR_MAX - 1)];
	struct call c = { .engine = engine, .proc = proc, .rec = rec, .names = names };

	if (rec->flags & DFT_CALL_VIA)
		act = ACT_CLOSE; /* beside the call itself */
	if (!act || ((act == DFT_PROV_READ || act == DFT_PROV_WRITE) && is_known(proc, act, rec, names)))
		return 0;
	if (names->unreachable)
		return 0;
	c.sys = dft_sys_find(rec->nr);
	c.run = run_of(engine, proc);
	if (!c.sys || !c.run)
		return -ENOMEM;
	if (act >= ACT_CLOSE) {
		on_descriptor(&c, act);
		return 0;
	}
	c.run->end_ns = rec->ts_ns;
	fill(&c, act);
	switch (act) {
	case DFT_PROV_UNLINK:
		if (c.sys->desc.alt == DFT_ALT_UNLINK && strcmp(dft_sys_event_of(c.sys, rec), "unlink"))
			return 0;
		return on_unlink(&c);
	case DFT_PROV_RENAME:
	case DFT_PROV_LINK:
		return on_rename(&c, act);
	case DFT_PROV_EXEC:
		return on_exec(&c);
	default:
		return names->file ? on_files(&c, act) : on_path(&c, act);
	}
}

/* ---- rows and sums -------------------------------------------------------------------------- */

/* What it means for a file that so many calls of a kind were made. */
static unsigned int facts_of_sum(unsigned int act, const struct dft_tally *sums)
{
	switch (act) {
	case DFT_PROV_READ:
	case DFT_PROV_COPY_FROM:
		return sums->calls > sums->errors ? DFT_PROV_DID_READ : 0;
	case DFT_PROV_WRITE:
	case DFT_PROV_COPY_TO:
		return sums->bytes ? DFT_PROV_WROTE : 0;
	case DFT_PROV_SHARE_TO:
	case DFT_PROV_CHANGE:
		return sums->calls > sums->errors ? DFT_PROV_WROTE : 0;
	default:
		return 0; /* their flags are not known */
	}
}

/* Rows have one file. */
static bool names_more(unsigned int act)
{
	return act == DFT_PROV_COPY_FROM || act == DFT_PROV_COPY_TO || act == DFT_PROV_SHARE_TO;
}

/* Of the run whose time it was. */
static int add_sum(struct dft_engine *engine, struct dft_proc *proc, uint64_t ts_ns,
		   const struct run_ref *ref, unsigned int facts)
{
	struct call c = { .engine = engine, .proc = proc };
	int err = run_at(engine, proc, ts_ns, &c.run);

	return err || !c.run ? err : add(&c, ref, facts);
}

int dft_runs_row_file(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *entry,
		      const struct dft_name *name)
{
	struct run_ref ref;

	if (!engine->cfg->prov || entry->of || !run_ref_name(&ref, name))
		return 0;
	if (run_of(engine, proc))
		entry->of = run_file_take(engine, proc, &ref);
	return entry->of ? 0 : -ENOMEM;
}

int dft_runs_row(struct dft_engine *engine, struct dft_proc *proc, struct dft_tally_entry *entry,
		 const struct dft_tally *now)
{
	unsigned int act = engine->acts[entry->key.nr & DFT_TALLY_NR & (DFT_NR_MAX - 1)];
	unsigned int facts = facts_of_sum(act, now);
	struct dft_run *run;
	struct run_ref ref;
	int err;

	if (!act || act >= ACT_CLOSE)
		return 0;
	err = run_at(engine, proc, now->last_ns, &run);
	if (err || !run)
		return err;
	if (names_more(act) || (facts && !entry->key.id) ||
	    (!facts && now->calls > now->errors && act != DFT_PROV_WRITE))
		sum(&run->untold, now->calls - entry->value.calls);
	if (!entry->of || !facts)
		return 0;
	run_ref_file(&ref, entry->of);
	if (!ref.pipe && facts & DFT_PROV_DID_READ)
		sum(&run->bytes_read, now->bytes - entry->value.bytes);
	else if (!ref.pipe)
		sum(&run->bytes_written, now->bytes - entry->value.bytes);
	err = add_sum(engine, proc, now->last_ns, &ref, facts);
	if (err || entry->value.calls || now->first_ns >= run->ts_ns)
		return err;
	return add_sum(engine, proc, now->first_ns, &ref, facts);
}

static int take_pipe(struct dft_engine *engine, struct dft_proc *proc, const struct dft_tally_entry *e)
{
	unsigned int act = engine->acts[e->key.nr & DFT_TALLY_NR & (DFT_NR_MAX - 1)];
	unsigned int facts = facts_of_sum(act, &e->value);
	struct dft_buf name = DFT_BUF_INIT;
	struct run_ref ref = { .pipe = true };
	int err;

	if (!e->key.id || !facts)
		return 0;
	DFT_BUF_LIT(&name, "pipe:[");
	dft_buf_u64(&name, e->key.id);
	dft_buf_putc(&name, ']');
	if (name.failed)
		return -ENOMEM;
	ref.text = name.data;
	ref.len = name.len;
	ref.fhash = dft_hash(name.data, name.len);
	err = add_sum(engine, proc, e->value.first_ns, &ref, facts);
	if (!err)
		err = add_sum(engine, proc, e->value.last_ns, &ref, facts);
	dft_buf_free(&name);
	return err;
}

int run_take_sums(struct dft_engine *engine, struct dft_proc *proc)
{
	int err = 0;

	for (size_t i = 0; i < proc->tallies.n && !err; i++) {
		const struct dft_tally_entry *e = &proc->tallies.v[i];
		struct dft_run *run = proc->runs.run;

		if (e->key.kind == DFT_TALLY_FILTERED && e->key.cls == DFT_CLASS_PIPE)
			err = take_pipe(engine, proc, e);
		else if (e->key.kind == DFT_TALLY_RECORD && run)
			sum(&run->untold, e->value.calls);
	}
	return err;
}
