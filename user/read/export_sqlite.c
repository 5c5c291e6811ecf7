// SPDX-License-Identifier: MIT
/* A trace as a database: tables without repetition, each row with the file and line it comes from. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export.h"
#include "log.h"
#include "out.h"
#include "rewrite.h"
#include "view.h"

/*
 * Hashes are keys as they are, as signed numbers: names come before, after or never. A string is a
 * TEXT; `raw` has the bytes of one that is not UTF-8.
 */
static const char schema[] =
	"CREATE TABLE sources(id INTEGER PRIMARY KEY, path TEXT, lines INT, bytes INT, ended INT,"
	" faults INT);"
	"CREATE TABLE hosts(id INTEGER PRIMARY KEY, name TEXT, raw BLOB, source INT, line INT);"
	"CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT, raw BLOB, source INT, line INT);"
	"CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT, raw BLOB, source INT, line INT);"
	"CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE processes(id INTEGER PRIMARY KEY, source INT, line INT, host INT, pid INT,"
	" program TEXT, rank INT, start_ts INT, end_ts INT);"
	"CREATE TABLE events(key INTEGER PRIMARY KEY, source INT, line INT, process INT, id INT,"
	" name INT, cat INT, type INT, tid INT, ts INT, dur INT, dur_ns INT, file INT, other INT,"
	" offset INT, count INT, flags INT, mode INT, ret INT, errno INT, bytes INT, moved TEXT,"
	" args TEXT);"
	"CREATE TABLE \"rows\"(source INT, line INT, process INT, ph INT, name INT, cat INT, type INT,"
	" tid INT, ts INT, file INT, calls INT, errors INT, bytes INT, dur_sum INT, args TEXT);"
	"CREATE TABLE relations(event INT, relation TEXT, entity INT, source INT, line INT);"
	"CREATE TABLE entities(id INT, hex TEXT, type TEXT, store INT, uri TEXT, file INT,"
	" process INT, source INT, line INT);"
	"CREATE TABLE entity_types(type TEXT, role INT, description TEXT, process INT, source INT,"
	" line INT);"
	"CREATE TABLE entity_relations(relation INT, subject INT, object INT, why TEXT, process INT,"
	" source INT, line INT);"
	"CREATE TABLE metadata(source INT, line INT, process INT, tid INT, type INT, record TEXT,"
	" name TEXT, value TEXT, args TEXT);";

static const char indexes[] =
	"CREATE INDEX events_file ON events(file);"
	"CREATE INDEX events_name ON events(name);"
	"CREATE INDEX events_ts ON events(ts);"
	"CREATE INDEX events_process ON events(process, ts);"
	"CREATE INDEX rows_file ON \"rows\"(file);"
	"CREATE INDEX relations_event ON relations(event);"
	"CREATE INDEX relations_entity ON relations(entity);"
	"CREATE INDEX entities_id ON entities(id);"
	"CREATE INDEX entity_relations_subject ON entity_relations(subject);"
	"CREATE INDEX entity_relations_object ON entity_relations(object);"
	"CREATE VIEW calls AS SELECT e.key, s.path AS source, e.line, h.name AS host, p.pid, e.tid,"
	" p.program, e.id, n.name, c.name AS cat, e.ts, e.dur, f.path AS file, o.path AS other,"
	" e.offset, e.count, e.ret, e.errno, e.bytes, e.moved, e.args FROM events e"
	" JOIN sources s ON s.id = e.source JOIN processes p ON p.id = e.process"
	" JOIN names n ON n.id = e.name JOIN names c ON c.id = e.cat"
	" LEFT JOIN hosts h ON h.id = p.host LEFT JOIN files f ON f.id = e.file"
	" LEFT JOIN files o ON o.id = e.other;";

enum table {
	T_SOURCE,
	T_HOST,
	T_FILE,
	T_STRING,
	T_NAME,
	T_PROCESS,
	T_EVENT,
	T_ROW,
	T_RELATION,
	T_ENTITY,
	T_TYPE,
	T_ER,
	T_METADATA,
	TABLES,
};

static const char *const inserts[TABLES] = {
	"INSERT INTO sources VALUES(?,?,?,?,?,?)",
	"INSERT OR IGNORE INTO hosts VALUES(?,?,?,?,?)",
	"INSERT OR IGNORE INTO files VALUES(?,?,?,?,?)",
	"INSERT OR IGNORE INTO strings VALUES(?,?,?,?,?)",
	"INSERT INTO names VALUES(?,?)",
	"INSERT INTO processes VALUES(?,?,?,?,?,?,?,?,?)",
	"INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	"INSERT INTO \"rows\" VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	"INSERT INTO relations VALUES(?,?,?,?,?)",
	"INSERT INTO entities VALUES(?,?,?,?,?,?,?,?,?)",
	"INSERT INTO entity_types VALUES(?,?,?,?,?,?)",
	"INSERT INTO entity_relations VALUES(?,?,?,?,?,?,?)",
	"INSERT INTO metadata VALUES(?,?,?,?,?,?,?,?,?)",
};

/* A process, where it is first heard of: written at the end, because it learns its program late. */
struct proc {
	uint64_t id, number, source, line, program, rank, first, last;
};

struct run {
	sqlite3 *db;
	sqlite3_stmt *st[TABLES];
	int col; /* of the row at hand, the last one bound */
	enum table table;
	struct dft_view view;
	struct dft_index name_at;  /* of names -> id */
	struct dft_index proc_at;  /* number -> place in procs, from 1 on */
	struct proc *procs;
	size_t nprocs, cap;
	struct dft_buf buf;
	struct dft_bytes raw;
	uint64_t source, events, line;
};

/* ---- binding -------------------------------------------------------------------------------- */

static void begin(struct run *r, enum table t)
{
	r->table = t;
	r->col = 0;
	sqlite3_reset(r->st[t]);
	sqlite3_clear_bindings(r->st[t]);
}

/* Numbers beyond the signed range keep their bits. */
static void put(struct run *r, uint64_t v)
{
	sqlite3_bind_int64(r->st[r->table], ++r->col, (sqlite3_int64)v);
}

static void put_if(struct run *r, bool has, uint64_t v)
{
	if (has)
		put(r, v);
	else
		r->col++; /* NULL */
}

/* What is not UTF-8 becomes U+FFFD, as it does in traces; returns whether that was so. */
static bool put_text(struct run *r, struct dft_str s)
{
	bool good = true;

	r->buf.len = 0;
	for (size_t i = 0; i < s.n;) {
		size_t n = dft_utf8_len(s.s + i, s.n - i);

		if (n)
			dft_buf_append(&r->buf, s.s + i, n);
		else
			DFT_BUF_LIT(&r->buf, "\xef\xbf\xbd");
		good &= n > 0;
		i += n ? n : 1;
	}
	sqlite3_bind_text64(r->st[r->table], ++r->col, r->buf.len ? r->buf.data : "", r->buf.len,
			    SQLITE_TRANSIENT, SQLITE_UTF8);
	return !good;
}

static void put_name(struct run *r, struct dft_str s)
{
	bool raw = put_text(r, s);

	r->col++;
	if (raw)
		sqlite3_bind_blob64(r->st[r->table], r->col, s.s, s.n, SQLITE_TRANSIENT);
}

static int db_failed(struct run *r, const char *what)
{
	if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
		return -ENOMEM;
	dft_error("export: sqlite: %s: %s", what, sqlite3_errmsg(r->db));
	return -EIO;
}

static int end_row(struct run *r)
{
	if (r->buf.failed)
		return -ENOMEM;
	return sqlite3_step(r->st[r->table]) == SQLITE_DONE ? 0 : db_failed(r, "a row");
}

/* ---- of args -------------------------------------------------------------------------------- */

static const struct dft_jsonr_node *arg(struct run *r, const char *key)
{
	return r->view.r->args ? dft_jsonr_get(r->view.json, r->view.r->args, key) : NULL;
}

static void put_arg(struct run *r, const char *key)
{
	const struct dft_jsonr_node *n = arg(r, key);
	struct dft_str s;
	uint64_t u;
	int64_t i;

	if (!n)
		r->col++;
	else if (n->type == DFT_JSONR_STRING)
		put_text(r, dft_jsonr_str(r->view.json, n));
	else if (dft_jsonr_u64(r->view.json, n, &u))
		put(r, u);
	else if (dft_jsonr_i64(r->view.json, n, &i))
		put(r, (uint64_t)i);
	else {
		s = dft_jsonr_raw(r->view.json, n);
		put_text(r, s);
	}
}

static void put_hash_arg(struct run *r, const char *key)
{
	const struct dft_jsonr_node *n = arg(r, key);
	uint64_t hash = 0;
	bool has = n && dft_hash_value(r->view.json, n, r->view.r->letter, &hash);

	put_if(r, has, hash);
}

/* Those that have no column of their own, as JSON. */
static void put_rest(struct run *r, const char *const *columns, size_t n)
{
	const struct dft_jsonr_node *k, *args = r->view.r->args;
	struct dft_jsonr *j = r->view.json;
	struct dft_json w = { .buf = &r->buf };

	r->buf.len = 0;
	dft_json_object(&w, NULL);
	for (k = args ? dft_jsonr_first(j, args) : NULL; k; k = dft_jsonr_next(j, args, k)) {
		struct dft_str key = dft_jsonr_str(j, k);
		size_t i = 0;

		while (i < n && !dft_str_eq(key, columns[i], strlen(columns[i])))
			i++;
		if (i == n)
			dft_rewrite_member(&w, j, k);
	}
	dft_json_object_end(&w);
	if (r->buf.len > 2)
		sqlite3_bind_text64(r->st[r->table], ++r->col, r->buf.data, r->buf.len,
				    SQLITE_TRANSIENT, SQLITE_UTF8);
	else
		r->col++;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The number of a name; 0 with -errno in *rc. */
static uint64_t name_id(struct run *r, struct dft_str s, int *rc)
{
	bool fresh;
	uint64_t *v = dft_index_put(&r->name_at, dft_hash_bytes(0, s.s, s.n), &fresh);

	if (!v) {
		*rc = -ENOMEM;
		return 0;
	}
	if (fresh) {
		*v = r->name_at.cnt;
		begin(r, T_NAME);
		put(r, *v);
		put_text(r, s);
		*rc = *rc ? *rc : end_row(r);
	}
	return *v;
}

static struct proc *proc(struct run *r)
{
	bool fresh;
	struct proc *p;
	uint64_t *v = dft_index_put(&r->proc_at, r->view.process, &fresh);

	if (!v)
		return NULL;
	if (fresh) {
		if (r->nprocs == r->cap) {
			size_t cap = r->cap ? r->cap * 2 : 16;

			p = realloc(r->procs, cap * sizeof(*p));
			if (!p)
				return NULL;
			r->procs = p;
			r->cap = cap;
		}
		r->procs[r->nprocs] = (struct proc){ .id = r->nprocs + 1, .number = r->view.process,
						     .source = r->source, .line = r->line,
						     .first = UINT64_MAX };
		*v = ++r->nprocs;
	}
	p = &r->procs[*v - 1];
	if (r->view.program)
		p->program = r->view.program;
	if (r->view.rank)
		p->rank = r->view.rank;
	return p;
}

static int put_relations(struct run *r, const struct dft_jsonr_node *rel)
{
	struct dft_jsonr *j = r->view.json;
	const struct dft_jsonr_node *k, *id;
	uint64_t entity;
	int rc = 0;

	for (k = rel->type == DFT_JSONR_OBJECT ? dft_jsonr_first(j, rel) : NULL; k && !rc;
	     k = dft_jsonr_next(j, rel, k)) {
		const struct dft_jsonr_node *ids = dft_jsonr_value(k);

		for (id = ids->type == DFT_JSONR_ARRAY ? dft_jsonr_first(j, ids) : NULL; id && !rc;
		     id = dft_jsonr_next(j, ids, id)) {
			if (!dft_hash_value(j, id, false, &entity))
				continue;
			begin(r, T_RELATION);
			put(r, r->events);
			put_text(r, dft_jsonr_str(j, k));
			put(r, entity);
			put(r, r->source);
			put(r, r->line);
			rc = end_row(r);
		}
	}
	return rc;
}

static int put_event(struct run *r, uint64_t process, uint64_t name, uint64_t cat)
{
	static const char *const columns[] = {
		"hhash", "fhash", "offset", "count", "flags", "mode", "ret", "errno", "dur_ns",
		"relations",
	};
	static const char *const moved[] = { NULL, "read", "write", "read", "write", "mapped" };
	const struct dft_record *rec = r->view.r;
	const struct dft_facts *f = dft_view_facts(&r->view);
	enum dft_dir dir = dft_view_dir(&r->view);

	begin(r, T_EVENT);
	put(r, ++r->events);
	put(r, r->source);
	put(r, r->line);
	put(r, process);
	put_if(r, rec->has & DFT_F_ID, rec->id);
	put(r, name);
	put(r, cat);
	put_if(r, rec->has & DFT_F_TYPE, rec->type);
	put_if(r, rec->has & DFT_F_TID, rec->tid);
	put_if(r, rec->has & DFT_F_TS, rec->ts);
	put_if(r, rec->has & DFT_F_DUR, rec->dur);
	put_if(r, f->has_dur_ns, f->dur_ns);
	put_if(r, f->has_file, f->file);
	put_hash_arg(r, f->has_other ? "other_fhash" : "newpath_hash");
	put_arg(r, "offset");
	put_arg(r, "count");
	put_arg(r, "flags");
	put_arg(r, "mode");
	put_arg(r, "ret");
	put_arg(r, "errno");
	put_if(r, dir != DFT_DIR_NONE, dft_view_bytes(&r->view));
	if (moved[dir])
		put_text(r, (struct dft_str){ moved[dir], strlen(moved[dir]) });
	else
		r->col++;
	put_rest(r, columns, sizeof(columns) / sizeof(columns[0]));
	return end_row(r);
}

static int put_row(struct run *r, uint64_t process, uint64_t name, uint64_t cat)
{
	static const char *const columns[] = {
		"hhash", "fhash", "dft_cnt", "errors", "ret_sum", "dur_sum",
	};
	const struct dft_record *rec = r->view.r;

	begin(r, T_ROW);
	put(r, r->source);
	put(r, r->line);
	put(r, process);
	put(r, rec->ph);
	put(r, name);
	put(r, cat);
	put_if(r, rec->has & DFT_F_TYPE, rec->type);
	put_if(r, rec->has & DFT_F_TID, rec->tid);
	put_if(r, rec->has & DFT_F_TS, rec->ts);
	put_hash_arg(r, "fhash");
	put_arg(r, "dft_cnt");
	put_arg(r, "errors");
	put_arg(r, "ret_sum");
	put_arg(r, "dur_sum");
	put_rest(r, columns, sizeof(columns) / sizeof(columns[0]));
	return end_row(r);
}

static bool tells_name(const struct dft_record *rec)
{
	return rec->name.n == 2 && rec->name.s[1] == 'H' && strchr("FSH", rec->name.s[0]);
}

static int put_named(struct run *r)
{
	struct dft_jsonr *j = r->view.json;
	const struct dft_jsonr_node *v = arg(r, "value");
	char first = r->view.r->name.s[0];
	struct dft_str name;
	uint64_t hash;
	int rc;

	if (!v || !dft_hash_value(j, v, r->view.r->letter, &hash))
		return 0;
	rc = dft_original_name(j, r->view.r->args, &r->raw, &name);
	if (rc != 1)
		return rc;
	begin(r, first == 'F' ? T_FILE : first == 'S' ? T_STRING : T_HOST);
	put(r, hash);
	put_name(r, name);
	put(r, r->source);
	put(r, r->line);
	return end_row(r);
}

static void put_where(struct run *r, uint64_t process)
{
	put(r, process);
	put(r, r->source);
	put(r, r->line);
}

static int put_entity(struct run *r, uint64_t process)
{
	char second = r->view.r->name.s[1];

	if (second == 'H') {
		begin(r, T_ENTITY);
		put_hash_arg(r, "id");
		put_arg(r, "id");
		put_arg(r, "type");
		put_arg(r, "store");
		put_arg(r, "uri");
		put_hash_arg(r, "fhash");
	} else if (second == 'T') {
		begin(r, T_TYPE);
		put_arg(r, "type");
		put_arg(r, "role");
		put_arg(r, "description");
	} else {
		begin(r, T_ER);
		put_arg(r, "relation");
		put_hash_arg(r, "subject");
		put_hash_arg(r, "object");
		put_arg(r, "why");
	}
	put_where(r, process);
	return end_row(r);
}

static int put_metadata(struct run *r, uint64_t process)
{
	static const char *const columns[] = { "hhash", "name", "value" };
	const struct dft_record *rec = r->view.r;

	if (DFT_STR_IS(rec->name, "EH") || DFT_STR_IS(rec->name, "ET") || DFT_STR_IS(rec->name, "ER"))
		return put_entity(r, process);
	begin(r, T_METADATA);
	put(r, r->source);
	put(r, r->line);
	put(r, process);
	put_if(r, rec->has & DFT_F_TID, rec->tid);
	put_if(r, rec->has & DFT_F_TYPE, rec->type);
	put_text(r, rec->name);
	put_arg(r, "name");
	put_arg(r, "value");
	put_rest(r, columns, sizeof(columns) / sizeof(columns[0]));
	return end_row(r);
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int on_begin(void *state, void *ctx, const struct dft_pass_file *file)
{
	struct run *r = ctx;

	(void)state;
	r->source++;
	dft_view_begin_file(&r->view, file->path);
	return 0;
}

static int on_record(void *state, void *ctx, const struct dft_record *rec, struct dft_jsonr *json,
		     const struct dft_line *line)
{
	struct run *r = ctx;
	uint64_t name, cat;
	struct proc *p;
	int rc = dft_view_take(&r->view, rec, json, line->no);

	(void)state;
	r->line = line->no;
	/* Names are nobody's: whoever comes first tells them. */
	if (!rc && rec->ph == DFT_PH_METADATA && tells_name(rec))
		return put_named(r);
	p = rc ? NULL : proc(r);
	if (!p)
		return rc ? rc : -ENOMEM;
	if (rec->ph == DFT_PH_METADATA)
		return put_metadata(r, p->id);
	if (rec->has & DFT_F_TS) {
		uint64_t end = rec->ts;

		dft_add_sat(&end, rec->dur);
		p->first = rec->ts < p->first ? rec->ts : p->first;
		p->last = end > p->last ? end : p->last;
	}
	name = name_id(r, rec->name, &rc);
	cat = name_id(r, rec->cat, &rc);
	if (!rc && rec->ph != DFT_PH_COMPLETE)
		return put_row(r, p->id, name, cat);
	if (!rc)
		rc = put_event(r, p->id, name, cat);
	if (!rc && dft_view_facts(&r->view)->relations)
		rc = put_relations(r, r->view.facts.relations);
	return rc;
}

static int on_end(void *state, void *ctx, const struct dft_pass_file *file,
		  const struct dft_pass_end *end)
{
	struct run *r = ctx;

	(void)state;
	begin(r, T_SOURCE);
	put(r, r->source);
	put_text(r, (struct dft_str){ file->path, strlen(file->path) });
	put(r, end->stat.lines);
	put(r, end->stat.bytes_in);
	put(r, end->ended);
	put(r, end->faults);
	return end_row(r);
}

static const struct dft_pass_ops ops = {
	.state_sz = 1,
	.begin = on_begin,
	.record = on_record,
	.end = on_end,
};

static int put_processes(struct run *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->nprocs; i++) {
		const struct proc *p = &r->procs[i];
		const struct dft_process *who = dft_process_at(&r->view.processes, p->number);

		begin(r, T_PROCESS);
		put(r, p->id);
		put(r, p->source);
		put(r, p->line);
		put_if(r, who->has_host, who->host);
		put(r, who->pid);
		if (p->program)
			put_text(r, dft_strings_at(&r->view.programs, p->program));
		else
			r->col++;
		put_if(r, p->rank, p->rank - 1);
		put_if(r, p->first != UINT64_MAX, p->first);
		put_if(r, p->first != UINT64_MAX, p->last);
		rc = end_row(r);
	}
	return rc;
}

/* ---- the database --------------------------------------------------------------------------- */

static int open_db(struct run *r, const char *path)
{
	if (sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READWRITE, NULL))
		return r->db ? db_failed(r, "cannot be made") : -ENOMEM;
	/* It is thrown away unless it is whole, so that nothing needs to be undone. */
	if (sqlite3_exec(r->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;", NULL,
			 NULL, NULL) ||
	    sqlite3_exec(r->db, schema, NULL, NULL, NULL))
		return db_failed(r, "the tables");
	for (int i = 0; i < TABLES; i++)
		if (sqlite3_prepare_v2(r->db, inserts[i], -1, &r->st[i], NULL))
			return db_failed(r, inserts[i]);
	return 0;
}

static int close_db(struct run *r, int rc)
{
	for (int i = 0; i < TABLES; i++)
		sqlite3_finalize(r->st[i]);
	if (!rc && sqlite3_exec(r->db, indexes, NULL, NULL, NULL))
		rc = db_failed(r, "the indexes");
	if (!rc && sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL))
		rc = db_failed(r, "writing");
	if (sqlite3_close(r->db) && !rc)
		rc = db_failed(r, "closing");
	return rc;
}

static int run_sqlite(int argc, char **argv, const struct dft_export_opts *opts)
{
	static struct run r;
	struct dft_pass p = { .cmd = "export", .ops = &ops, .ctx = &r, .in_order = true };
	struct dft_whole whole;
	int rc;

	if (!opts->out || strcmp(opts->out, "-") == 0)
		return dft_usage("export", "--to sqlite needs -o FILE");
	/* Made first, so that it is a new file and no link to another. */
	if (dft_whole_open(&whole, opts->out, opts->force))
		return DFT_EXIT_FAULT;
	rc = dft_export_failed(opts->out, open_db(&r, whole.temp));
	if (!rc)
		rc = dft_pass_run(&p, argc, argv);
	if (!rc)
		rc = dft_export_failed(opts->out, put_processes(&r));
	rc = dft_whole_close(&whole, close_db(&r, rc));
	rc = dft_pass_exit(&p, rc);
	dft_pass_free(&p);
	dft_view_free(&r.view);
	dft_index_free(&r.name_at);
	dft_index_free(&r.proc_at);
	dft_buf_free(&r.buf);
	free(r.raw.buf);
	free(r.procs);
	return rc;
}

const struct dft_exporter dft_export_sqlite = {
	.name = "sqlite",
	.brief = "a database of SQLite 3, in -o FILE",
	.run = run_sqlite,
};
