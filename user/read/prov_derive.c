// SPDX-License-Identifier: MIT
/* Relations from facts, by the rules of user/lib/prov.h and in the way in which the tracer applies them. */
#include <inttypes.h>

#include "graph.h"
#include "hash.h"
#include "prov.h"

/* No job's processes are that deep, and a trace that says so must not cost more than its length. */
#define MAX_ANCESTORS 256
#define MAX_URI	      255 /* of an EH */
#define NO_PROC	      SIZE_MAX
#define MEMORY	      0
#define LOCAL_DISK    2

struct deriving {
	struct dft_graph *g;
	struct dft_auto_facts *a;
	size_t *parent; /* of each process */
	struct dft_index made, heirs, dirs, known;
	struct dft_buf buf;
};

static struct dft_auto_proc *procs(const struct dft_auto_facts *a)
{
	return a->procs.v;
}

static struct dft_auto_run *runs(const struct dft_auto_facts *a)
{
	return a->runs.v;
}

static struct dft_auto_fact *facts(const struct dft_auto_facts *a)
{
	return a->facts.v;
}

static uint64_t pair_key(uint64_t x, uint64_t y)
{
	const uint64_t parts[] = { x, y };

	return dft_hash_bytes(5, parts, sizeof(parts));
}

static int note(struct dft_index *set, uint64_t key)
{
	bool fresh;

	return dft_index_put(set, key, &fresh) ? 0 : -ENOMEM;
}

/* ---- who was whose parent ------------------------------------------------------------------- */

static int by_birth(const void *x, const void *y, void *ctx)
{
	const struct dft_auto_proc *p = procs(ctx) + *(const size_t *)x;
	const struct dft_auto_proc *q = procs(ctx) + *(const size_t *)y;

	if (p->host != q->host)
		return p->host < q->host ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return (p->born > q->born) - (p->born < q->born);
}

/* The last process of that pid that was there by then: pids are used again. */
static size_t parent_of(const struct deriving *d, const size_t *order, const struct dft_auto_proc *p)
{
	struct dft_auto_proc want = { .host = p->host, .pid = p->ppid, .born = p->born };
	size_t from = 0, to = d->a->procs.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct dft_auto_proc *q = procs(d->a) + order[mid];
		bool before = q->host != want.host ? q->host < want.host :
			      q->pid != want.pid   ? q->pid < want.pid :
						     q->born <= want.born;

		if (before)
			from = mid + 1;
		else
			to = mid;
	}
	if (from) {
		const struct dft_auto_proc *q = procs(d->a) + order[from - 1];

		if (q != p && q->host == want.host && q->pid == want.pid)
			return order[from - 1];
	}
	return NO_PROC;
}

static int find_parents(struct deriving *d)
{
	size_t n = d->a->procs.n, *order = calloc(n, sizeof(*order));

	d->parent = calloc(n, sizeof(*d->parent));
	if (!order || !d->parent) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_birth, d->a);
	for (size_t i = 0; i < n; i++)
		d->parent[i] = parent_of(d, order, procs(d->a) + i);
	free(order);
	return 0;
}

/* ---- what is not from a run's own calls ------------------------------------------------------- */

static int by_file(const void *x, const void *y)
{
	const struct dft_auto_fact *f = x, *h = y;

	if (f->file != h->file)
		return f->file < h->file ? -1 : 1;
	return (f->run > h->run) - (f->run < h->run);
}

static int by_run(const void *x, const void *y)
{
	const struct dft_auto_fact *f = x, *h = y;

	if (f->run != h->run)
		return f->run < h->run ? -1 : 1;
	return (f->file > h->file) - (f->file < h->file);
}

static void sort_facts(struct deriving *d, int (*cmp)(const void *, const void *))
{
	if (d->a->facts.n)
		qsort(d->a->facts.v, d->a->facts.n, sizeof(struct dft_auto_fact), cmp);
}

/*
 * A name that was put together out of a directory's and another one can have ".." in it. It is the file of the
 * name without, unless there is a symbolic link before it: so that counts only if the trace has that name, too.
 */
static int without_dotdot(struct deriving *d, uint64_t *file)
{
	struct dft_str name, known;
	uint64_t hash;
	size_t end;

	if (!dft_naming_get(&d->g->naming, DFT_NAME_FH, *file, &name) || !name.n || name.s[0] != '/' ||
	    !memmem(name.s, name.n, "/../", 4))
		return 0;
	d->buf.len = 0;
	for (size_t i = 0; i < name.n; i = end) {
		const char *slash = memchr(name.s + i + 1, '/', name.n - i - 1);

		end = slash ? (size_t)(slash - name.s) : name.n;
		if (end - i != 3 || memcmp(name.s + i, "/..", 3) != 0)
			dft_buf_append(&d->buf, name.s + i, end - i);
		else
			while (d->buf.len && d->buf.data[--d->buf.len] != '/')
				continue;
		if (d->buf.failed)
			return -ENOMEM;
	}
	if (!d->buf.len)
		return 0;
	hash = dft_hash(d->buf.data, d->buf.len);
	if (dft_naming_get(&d->g->naming, DFT_NAME_FH, hash, &known) &&
	    dft_str_eq(known, d->buf.data, d->buf.len))
		*file = hash;
	return 0;
}

static int clean_names(struct deriving *d)
{
	struct dft_auto_pair *pairs = d->a->pairs.v;
	int rc = 0;

	for (size_t i = 0; i < d->a->facts.n && !rc; i++)
		rc = without_dotdot(d, &facts(d->a)[i].file);
	for (size_t i = 0; i < d->a->pairs.n && !rc; i++) {
		rc = without_dotdot(d, &pairs[i].from);
		if (!rc)
			rc = without_dotdot(d, &pairs[i].to);
	}
	return rc;
}

/* What is known of a run and a file under two of its names is known of one. */
static void join_facts(struct deriving *d)
{
	struct dft_auto_fact *f = facts(d->a);
	size_t n = 0;

	for (size_t i = 0; i < d->a->facts.n; i++) {
		if (n && f[n - 1].run == f[i].run && f[n - 1].file == f[i].file)
			f[n - 1].facts |= f[i].facts;
		else
			f[n++] = f[i];
	}
	d->a->facts.n = n;
}

/* What was made and not written passes, at each exec, to the next run of the process. */
static int pass_on(struct deriving *d)
{
	size_t n;

	sort_facts(d, by_file);
	join_facts(d);
	n = d->a->facts.n;
	for (size_t i = 0; i < n; i++) {
		struct dft_auto_fact *f = facts(d->a) + i, *to = f + 1;
		const struct dft_auto_proc *p = procs(d->a) + runs(d->a)[f->run].proc;
		size_t last = p->run + p->nruns - 1, file = f->file;

		if (!(f->facts & DFT_PROV_MADE) || f->facts & DFT_PROV_WROTE || f->run == last)
			continue;
		f->facts &= ~(unsigned int)DFT_PROV_MADE;
		if (i + 1 == n || to->file != file || to->run > last) {
			to = dft_rows_add(&d->a->facts, sizeof(*to));
			if (!to)
				return -ENOMEM;
			to->run = last;
			to->file = file;
		}
		to->facts |= DFT_PROV_MADE;
	}
	return 0;
}

static int find_heirs(struct deriving *d)
{
	int rc = 0;

	for (size_t i = 0; i < d->a->facts.n && !rc; i++) {
		const struct dft_auto_fact *f = facts(d->a) + i;

		if (f->facts & DFT_PROV_MADE)
			rc = note(&d->made, pair_key(runs(d->a)[f->run].proc, f->file));
	}
	for (size_t i = 0; i < d->a->facts.n && !rc; i++) {
		struct dft_auto_fact *f = facts(d->a) + i;
		size_t proc = runs(d->a)[f->run].proc;

		if (!(f->facts & DFT_PROV_WROTE) || f->facts & (DFT_PROV_OPENED | DFT_PROV_MADE))
			continue;
		for (int up = 0; up < MAX_ANCESTORS && proc != NO_PROC; up++) {
			uint64_t key = pair_key(proc, f->file);

			if (dft_index_get(&d->made, key)) {
				f->facts |= DFT_PROV_INHERITED;
				rc = note(&d->heirs, key);
				break;
			}
			proc = d->parent[proc];
		}
	}
	return rc;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool name_of(const struct deriving *d, uint64_t file, struct dft_str *name)
{
	return dft_naming_get(&d->g->naming, DFT_NAME_FH, file, name);
}

static uint64_t name_hash(struct dft_str name)
{
	uint64_t h = DFT_GROWING_BASIS;

	for (size_t i = 0; i < name.n; i++)
		h = dft_hash_grow(h, name.s[i]);
	return h;
}

static bool is_dir(const struct deriving *d, struct dft_str name)
{
	return dft_index_get(&d->dirs, name_hash(name));
}

static int note_dir(struct deriving *d, struct dft_str name)
{
	return note(&d->dirs, name_hash(name));
}

static int dirs_above(struct deriving *d, struct dft_str name)
{
	uint64_t h = DFT_GROWING_BASIS;

	for (size_t i = 0; i < name.n; i++) {
		int rc = i && name.s[i] == '/' ? note(&d->dirs, h) : 0;

		if (rc)
			return rc;
		h = dft_hash_grow(h, name.s[i]);
	}
	return 0;
}

/* What has a new name is what it was under the old one. */
static int renamed_dirs(struct deriving *d, const struct dft_auto_pair *p)
{
	struct dft_str from, to;

	if (!name_of(d, p->from, &from) || !name_of(d, p->to, &to) || is_dir(d, from) == is_dir(d, to))
		return 0;
	return note_dir(d, is_dir(d, from) ? to : from);
}

/* Directories have no contents to relate to. */
static int find_dirs(struct deriving *d)
{
	const struct dft_index *at = &d->g->naming.at;
	const struct dft_auto_pair *pairs = d->a->pairs.v;
	struct dft_str name;
	int rc = 0;

	for (size_t i = 0; i < at->cap && !rc; i++) {
		if (at->slots[i].epoch != at->epoch)
			continue;
		name = dft_strings_at(&d->g->naming.texts, at->slots[i].val);
		if (name.n && name.s[0] == '/')
			rc = dirs_above(d, name);
	}
	for (size_t i = 0; i < d->a->facts.n && !rc; i++)
		if (facts(d->a)[i].facts & DFT_AUTO_DIR && name_of(d, facts(d->a)[i].file, &name))
			rc = note_dir(d, name);
	for (size_t i = 0; i < d->a->pairs.n && !rc; i++)
		rc = renamed_dirs(d, &pairs[i]);
	for (size_t i = d->a->pairs.n; i-- > 0 && !rc;)
		rc = renamed_dirs(d, &pairs[i]);
	return rc;
}

static bool begins(struct dft_str s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && memcmp(s.s, with, n) == 0;
}

static bool is_pipe(struct dft_str name)
{
	/* pipe:[0] stands for those for which there was no room to be counted by themselves. */
	return dft_is_pipe_name(name) && !DFT_STR_IS(name, "pipe:[0]");
}

/* With --all-files a trace has more than files. */
static bool is_in_tree(struct dft_str name)
{
	static const char *const not_files[] = {
		"/proc/", "/sys/", "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty", "/dev/pts/", "/dev/ptmx", "/dev/console",
	};

	if (!name.n || name.s[0] != '/' || begins(name, "/memfd:"))
		return false;
	for (size_t i = 0; i < sizeof(not_files) / sizeof(not_files[0]); i++)
		if (begins(name, not_files[i]))
			return false;
	return true;
}

static bool has_contents(const struct deriving *d, struct dft_str name)
{
	return is_pipe(name) || (is_in_tree(name) && !is_dir(d, name));
}

static bool harmless(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-.:/@+=,~ ", c));
}

/* As the format wants uris: cut, and of few characters. */
static int uri_of(struct deriving *d, struct dft_str path, uint64_t *at)
{
	char uri[MAX_URI];
	size_t n = path.n < sizeof(uri) ? path.n : sizeof(uri);

	for (size_t i = 0; i < n; i++)
		uri[i] = harmless((unsigned char)path.s[i]) ? path.s[i] : '_';
	return dft_graph_text(d->g, (struct dft_str){ uri, n }, at);
}

/* ---- entities ------------------------------------------------------------------------------- */

static uint64_t place_key(uint64_t host, uint64_t mnt_ns, uint64_t fhash)
{
	const uint64_t parts[] = { host, mnt_ns, fhash };

	return dft_hash_bytes(7, parts, sizeof(parts));
}

/* Files of which the tracer has told, by what they are called where. */
static int find_known(struct deriving *d)
{
	for (size_t i = 0; i < d->g->ents.n; i++) {
		const struct dft_ent *e = DFT_ENTS(d->g) + i;
		uint64_t *at;
		bool fresh;

		if (!e->fhash || !e->key)
			continue;
		at = dft_index_put(&d->known, place_key(e->host, e->mnt_ns, e->fhash), &fresh);
		if (!at)
			return -ENOMEM;
		/* A file's entities have one key, and hardly ever two stores. */
		if (fresh || e->id < DFT_ENTS(d->g)[*at].id)
			*at = i;
	}
	return 0;
}

/*
 * The entity of a file as a run sees it. What the tracer said of this file, as whatever type, tells whether
 * it is one that other hosts see, too.
 */
static int entity_of(struct deriving *d, const struct dft_auto_run *run, const char *type, uint64_t file,
		     struct dft_str name, uint32_t *nr)
{
	uint64_t host = procs(d->a)[run->proc].host, key;
	uint64_t store = is_pipe(name) ? MEMORY : LOCAL_DISK;
	const uint64_t *at = dft_index_get(&d->known, place_key(host, run->mnt_ns, file));
	const struct dft_str kind = { type, strlen(type) };
	struct dft_ent *e;
	int rc;

	if (at) {
		key = DFT_ENTS(d->g)[*at].key;
		store = DFT_ENTS(d->g)[*at].store;
		rc = 0;
	} else {
		rc = dft_graph_key(d->g, &d->buf, host, run->mnt_ns, name, &key);
	}
	if (rc)
		return rc;
	e = dft_graph_ent(d->g, dft_entity_id(kind, dft_graph_str(d->g, key)), nr);
	if (!e)
		return -ENOMEM;
	e->sides |= DFT_AUTO;
	e->key = key;
	if (e->declared)
		return 0;
	e->declared = true;
	e->store = (uint32_t)store;
	e->host = host;
	e->mnt_ns = run->mnt_ns;
	e->fhash = file;
	rc = dft_graph_text(d->g, kind, &e->type);
	return rc ? rc : uri_of(d, name, &DFT_ENTS(d->g)[*nr].uri);
}

/* ---- activities ----------------------------------------------------------------------------- */

static struct dft_str base_name(struct dft_str s)
{
	for (size_t i = s.n; i-- > 0;)
		if (s.s[i] == '/')
			return (struct dft_str){ s.s + i + 1, s.n - i - 1 };
	return s;
}

/* What ran: as it was executed, or as the command line of who was there before says. */
static struct dft_str program_of(const struct deriving *d, const struct dft_auto_run *run)
{
	struct dft_str s = { "", 0 };
	const char *end;

	if (run->execed && dft_naming_get(&d->g->naming, DFT_NAME_FH, run->path, &s))
		return base_name(s);
	if (!run->execed &&
	    dft_naming_get(&d->g->naming, DFT_NAME_SH, procs(d->a)[run->proc].program, &s)) {
		end = memchr(s.s, ';', s.n);
		s.n = end ? (size_t)(end - s.s) : s.n;
		s = base_name(s);
		/* A login shell's. */
		if (s.n > 1 && s.s[0] == '-')
			s = (struct dft_str){ s.s + 1, s.n - 1 };
	}
	return s.n ? s : (struct dft_str){ "unknown", strlen("unknown") };
}

static int activity_of(struct deriving *d, const struct dft_auto_run *run, uint32_t *nr)
{
	const struct dft_auto_proc *p = procs(d->a) + run->proc;
	struct dft_act a = { .host = p->host, .pid = p->pid, .ts = run->start, .id = run->id,
			     .key = run->id, .dur = run->end - run->start, .unit_ns = p->unit_ns,
			     .side = DFT_AUTO, .derived = true, .lacks = p->shed };
	int rc = dft_graph_text(d->g, program_of(d, run), &a.label);

	if (!rc)
		rc = dft_graph_text(d->g, (struct dft_str){ DFT_PROV_CAT, strlen(DFT_PROV_CAT) },
				    &a.cat);
	if (!rc)
		rc = dft_graph_act(d->g, &a, nr);
	return rc;
}

static int relate(struct deriving *d, const struct dft_auto_run *run, const struct dft_auto_fact *f,
		  struct dft_str name)
{
	static const enum dft_kind kinds[] = { DFT_USED, DFT_GENERATED, DFT_INVALIDATED,
					       DFT_UPDATED };
	static const unsigned int bits[] = { DFT_PROV_USED, DFT_PROV_GENERATED, DFT_PROV_INVALIDATED,
					     DFT_PROV_UPDATED };
	const char *type = is_pipe(name)	   ? DFT_PROV_PIPE :
			   f->facts & DFT_PROV_RAN ? DFT_PROV_PROGRAM :
						     DFT_PROV_FILE;
	unsigned int all = f->facts, relations;
	uint32_t act, ent;
	int rc;

	if (dft_index_get(&d->heirs, pair_key(run->proc, f->file)) && all & DFT_PROV_MADE)
		all |= DFT_PROV_HEIR_WROTE;
	relations = dft_prov_relations(all);
	/* What is written to a pipe comes out of it: it is made by who writes, and nothing there was before. */
	if (is_pipe(name) && relations & DFT_PROV_UPDATED)
		relations = (relations & ~(unsigned int)DFT_PROV_UPDATED) | DFT_PROV_GENERATED;
	if (!relations)
		return 0;
	rc = activity_of(d, run, &act);
	if (!rc)
		rc = entity_of(d, run, type, f->file, name, &ent);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !rc; i++)
		if (relations & bits[i])
			rc = dft_graph_rel(d->g, act, ent, kinds[i]);
	return rc;
}

static int relate_all(struct deriving *d)
{
	sort_facts(d, by_run);
	for (size_t i = 0; i < d->a->facts.n; i++) {
		const struct dft_auto_fact *f = facts(d->a) + i;
		const struct dft_auto_run *run = runs(d->a) + f->run;
		struct dft_str name;
		int rc;

		if (run->told || procs(d->a)[run->proc].whole ||
		    !name_of(d, f->file, &name) ||
		    !has_contents(d, name))
			continue;
		rc = relate(d, run, f, name);
		if (rc)
			return rc;
	}
	return 0;
}

static int edges(struct deriving *d)
{
	const struct dft_auto_pair *pairs = d->a->pairs.v;

	for (size_t i = 0; i < d->a->pairs.n; i++) {
		const struct dft_auto_pair *p = pairs + i;
		const struct dft_auto_run *run = runs(d->a) + p->run;
		struct dft_str from, to, why = { p->link ? "link" : "rename", p->link ? 4 : 6 };
		const char *type;
		uint32_t subject, object;
		int rc;

		if (run->told || !name_of(d, p->from, &from) || !name_of(d, p->to, &to) ||
		    !is_in_tree(from) || !is_in_tree(to))
			continue;
		type = is_dir(d, from) || is_dir(d, to) ? DFT_PROV_DIR : DFT_PROV_FILE;
		rc = entity_of(d, run, type, p->to, to, &subject);
		if (!rc)
			rc = entity_of(d, run, type, p->from, from, &object);
		if (!rc)
			rc = dft_graph_er(d->g, DFT_ENTS(d->g)[subject].id, DFT_ENTS(d->g)[object].id,
					  DFT_DERIVED_FROM, why);
		if (rc)
			return rc;
	}
	return 0;
}

int dft_auto_derive(struct dft_graph *g)
{
	struct deriving d = { .g = g, .a = &g->autos };
	bool needed = false;
	int rc;

	for (size_t i = 0; i < d.a->procs.n; i++)
		needed |= !procs(d.a)[i].whole;
	if (!needed)
		return 0;
	rc = find_parents(&d);
	if (!rc)
		rc = clean_names(&d);
	if (!rc)
		rc = pass_on(&d);
	if (!rc)
		rc = find_heirs(&d);
	if (!rc)
		rc = find_dirs(&d);
	if (!rc)
		rc = find_known(&d);
	if (!rc)
		rc = relate_all(&d);
	if (!rc)
		rc = edges(&d);
	dft_index_free(&d.made);
	dft_index_free(&d.heirs);
	dft_index_free(&d.dirs);
	dft_index_free(&d.known);
	dft_buf_free(&d.buf);
	free(d.parent);
	return rc;
}
