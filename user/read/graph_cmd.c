// SPDX-License-Identifier: MIT
#include "graph_cmd.h"

#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "out.h"
#include "path.h"

#define MAX_LISTED 20
#define MAX_MOVES  64 /* of a directory and those above it */
#define MAX_URI	   255 /* of an EH */

bool dft_graph_opt(struct dft_graph_cmd *c, int opt)
{
	switch (opt) {
	case 'n':
	case 'a':
	case 'A':
		c->said = true;
		c->sides = opt == 'n' ? DFT_ANNOTATED : opt == 'a' ? DFT_AUTO : DFT_BOTH;
		return true;
	case 't':
		c->type = optarg;
		return true;
	case 'u':
		c->under = optarg;
		return true;
	case 'j':
		c->style = DFT_STYLE_JSON;
		return true;
	case 'c':
		c->style = DFT_STYLE_CSV;
		return true;
	default:
		return false;
	}
}

/* Absolute, and without what may stand at the end of a directory's name: a slash, or a dot. */
static int under_what(struct dft_graph_cmd *c)
{
	char cwd[4096], *real = realpath(c->under, NULL);

	/* Of "/" the name as given has it all. */
	if (real && strcmp(real, "/") != 0)
		dft_buf_append(&c->real, real, strlen(real));
	free(real);

	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	dft_path_join(&c->dir, cwd, strlen(cwd), c->under, strlen(c->under));
	if (c->dir.failed || c->real.failed)
		return -ENOMEM;
	if (c->dir.len > 1 && !memcmp(c->dir.data + c->dir.len - 2, "/.", 2))
		c->dir.len--;
	while (c->dir.len && c->dir.data[c->dir.len - 1] == '/')
		c->dir.len--;
	return 0;
}

static bool is_below(struct dft_str name, const struct dft_buf *dir)
{
	return name.n >= dir->len && (!dir->len || !memcmp(name.s, dir->data, dir->len)) &&
	       (name.n == dir->len ? name.n != 0 : name.s[dir->len] == '/');
}

bool dft_graph_passes(const struct dft_graph_cmd *c, const struct dft_ent *e)
{
	struct dft_str name;

	if (c->type && !dft_str_eq(dft_graph_str(&c->g, e->type), c->type, strlen(c->type)))
		return false;
	if (!c->under)
		return true;
	name = dft_graph_name(&c->g, e);
	return is_below(name, &c->dir) || (c->real.len && is_below(name, &c->real));
}

int dft_graph_read(struct dft_graph_cmd *c, int argc, char **argv)
{
	if (!c->said)
		c->sides = DFT_BOTH;
	if (c->under && under_what(c)) {
		dft_graph_no_memory(c->name);
		return -ENOMEM;
	}
	return dft_graph_load(&c->g, &c->pass, c->name, c->sides, argc, argv);
}

int dft_graph_exit(struct dft_graph_cmd *c, int rc)
{
	rc = dft_pass_exit(&c->pass, rc);
	dft_graph_free(&c->g);
	dft_pass_free(&c->pass);
	dft_buf_free(&c->dir);
	dft_buf_free(&c->real);
	return rc;
}

unsigned int dft_graph_walk_sides(const struct dft_graph_cmd *c, uint32_t start)
{
	const struct dft_graph *g = &c->g;

	if (c->said || DFT_ENTS(g)[start].sides != DFT_ANNOTATED)
		return c->sides;
	/* One that is merely declared, and says which file it is, is followed as that file. */
	for (uint32_t i = g->of_ent.at[start]; i < g->of_ent.at[start + 1]; i++)
		if (DFT_ACTS(g)[DFT_RELS(g)[g->of_ent.v[i]].act].side == DFT_ANNOTATED)
			return DFT_ANNOTATED;
	return c->sides;
}

const char *dft_graph_sides_name(unsigned int sides)
{
	return sides == DFT_BOTH ? "all" : sides == DFT_AUTO ? "auto" : "annotated";
}

/* ---- cells ---------------------------------------------------------------------------------- */

void dft_graph_cell_text(struct dft_sheet *s, const struct dft_graph *g, uint64_t text)
{
	if (text)
		dft_sheet_name(s, dft_graph_str(g, text));
	else
		dft_sheet_none(s);
}

void dft_graph_cell_name(struct dft_sheet *s, const struct dft_graph *g, const struct dft_ent *e)
{
	struct dft_str name = dft_graph_name(g, e);

	if (name.n)
		dft_sheet_name(s, name);
	else
		dft_sheet_none(s);
}

void dft_graph_cell_act(struct dft_sheet *s, const struct dft_act *a)
{
	char name[DFT_ACT_SZ];

	dft_sheet_text(s, dft_act_name(name, a));
}

void dft_graph_cell_bool(struct dft_sheet *s, bool v)
{
	dft_sheet_u64(s, v);
}

int dft_graph_compare(const struct dft_graph *g, uint64_t a, uint64_t b)
{
	struct dft_str s = dft_graph_str(g, a), t = dft_graph_str(g, b);
	int c;

	/* Each text is there once. */
	if (a == b)
		return 0;
	c = memcmp(s.s, t.s, s.n < t.n ? s.n : t.n);
	return c ? c : (s.n > t.n) - (s.n < t.n);
}

static int by_name(const void *x, const void *y, void *g)
{
	return dft_graph_compare(g, ((const struct dft_type_count *)x)->type,
				 ((const struct dft_type_count *)y)->type);
}

int dft_count_types(const struct dft_graph *g, const uint32_t *ents, size_t n,
		    struct dft_type_count **counts, size_t *cnt)
{
	struct dft_index at = { 0 };
	struct dft_rows rows = { 0 };
	bool fresh;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t type = DFT_ENTS(g)[ents[i]].type, *slot = dft_index_put(&at, type, &fresh);
		struct dft_type_count *c = NULL;

		if (slot && fresh) {
			*slot = rows.n;
			c = dft_rows_add(&rows, sizeof(*c));
			if (c)
				c->type = type;
		} else if (slot) {
			c = (struct dft_type_count *)rows.v + *slot;
		}
		if (c)
			c->n++;
		else
			rc = -ENOMEM;
	}
	dft_index_free(&at);
	if (rc) {
		dft_rows_free(&rows);
		return rc;
	}
	if (rows.n)
		qsort_r(rows.v, rows.n, sizeof(struct dft_type_count), by_name, (void *)g);
	*counts = rows.v;
	*cnt = rows.n;
	return 0;
}

/* ---- finding an entity ---------------------------------------------------------------------- */

struct finding {
	const struct dft_graph_cmd *c;
	struct dft_str what, absolute, uri;
	uint32_t found[MAX_LISTED];
	size_t n;
};

static bool by_number(const struct dft_graph *g, uint64_t id, uint32_t *ent)
{
	size_t from = 0, to = g->ents.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (DFT_ENTS(g)[mid].id < id)
			from = mid + 1;
		else
			to = mid;
	}
	*ent = (uint32_t)from;
	return from < g->ents.n && DFT_ENTS(g)[from].id == id;
}

/* Types and keys may have colons themselves: any of them may be the one between. */
static bool by_type_and_key(const struct dft_graph *g, struct dft_str what, uint32_t *ent)
{
	for (size_t i = 0; i < what.n; i++) {
		struct dft_str type = { what.s, i }, key = { what.s + i + 1, what.n - i - 1 };

		if (what.s[i] == ':' && by_number(g, dft_entity_id(type, key), ent))
			return true;
	}
	return false;
}

static bool same(struct dft_str a, struct dft_str b)
{
	return a.n && dft_str_eq(a, b.s, b.n);
}

static bool is_named(const struct finding *f, const struct dft_ent *e, bool loosely)
{
	const struct dft_graph *g = &f->c->g;
	struct dft_str uri = dft_graph_str(g, e->uri), key = dft_graph_str(g, e->key), path;

	if (loosely)
		return same(uri, f->uri);
	if (same(f->what, uri) || same(f->what, key) || same(f->absolute, uri) ||
	    same(f->absolute, key))
		return true;
	return e->fhash && dft_naming_get(&g->naming, DFT_NAME_FH, e->fhash, &path) &&
	       (same(f->what, path) || same(f->absolute, path));
}

/* Entities that are one thing are one hit: of these it is the file rather than the program. */
static bool same_thing(const struct finding *f, uint32_t a, uint32_t b)
{
	return f->c->sides & DFT_AUTO && DFT_ENTS(&f->c->g)[a].group == DFT_ENTS(&f->c->g)[b].group;
}

static void search(struct finding *f, bool loosely)
{
	const struct dft_graph *g = &f->c->g;

	for (uint32_t i = 0; i < g->ents.n; i++) {
		size_t k = 0;

		if (!dft_graph_shows_ent(g, i, f->c->sides) || !is_named(f, DFT_ENTS(g) + i, loosely))
			continue;
		while (k < f->n && !same_thing(f, f->found[k], i))
			k++;
		if (k == f->n && f->n < MAX_LISTED)
			f->found[f->n++] = i;
		else if (k < f->n && DFT_STR_IS(dft_graph_str(g, DFT_ENTS(g)[i].type), "file"))
			f->found[k] = i;
	}
}

static struct dft_str last_part(struct dft_str s)
{
	size_t at = s.n;

	while (at && s.s[at - 1] != '/' && s.s[at - 1] != ':')
		at--;
	return (struct dft_str){ s.s + at, s.n - at };
}

/* Those of the same name in other directories. */
static void search_alike(struct finding *f)
{
	const struct dft_graph *g = &f->c->g;
	struct dft_str name = last_part(f->what);

	for (uint32_t i = 0; i < g->ents.n && f->n < MAX_LISTED; i++) {
		const struct dft_ent *e = DFT_ENTS(g) + i;

		if (dft_graph_shows_ent(g, i, f->c->sides) &&
		    same(name, last_part(dft_graph_str(g, e->key ? e->key : e->uri))))
			f->found[f->n++] = i;
	}
}

static void list_found(const struct finding *f)
{
	const struct dft_graph *g = &f->c->g;
	char type[128], more[1024];

	for (size_t i = 0; i < f->n; i++) {
		const struct dft_ent *e = DFT_ENTS(g) + f->found[i];

		dft_error("%s: %016llx %s %s", f->c->name, (unsigned long long)e->id,
			  dft_safe(type, sizeof(type), dft_graph_str(g, e->type)),
			  dft_safe(more, sizeof(more), dft_graph_str(g, e->key ? e->key : e->uri)));
	}
}

static int tell(struct finding *f)
{
	bool found = f->n > 0;
	struct stat st;
	char safe[1024];

	dft_safe(safe, sizeof(safe), f->what);
	if (!found)
		search_alike(f);
	if (found)
		dft_error("%s: %s: %zu%s entities are called so (give the id of one)", f->c->name, safe, f->n,
			  f->n == MAX_LISTED ? " or more" : "");
	else if (f->n)
		dft_error("%s: %s: no such entity in the trace (give the id of one of these, if it is meant)",
			  f->c->name, safe);
	else
		dft_error("%s: %s: no such entity in the trace (%s)", f->c->name, safe,
			  !stat(f->what.s, &st) && S_ISDIR(st.st_mode) ? "ENTITY stands behind DIR" :
			  "dftrace entities lists them");
	list_found(f);
	return -ENOENT;
}

/* The name with its directory, and as a uri has it; both in `buf`. */
static int spell(struct finding *f, struct dft_buf *buf)
{
	char cwd[4096];
	size_t n;

	if (getcwd(cwd, sizeof(cwd)))
		dft_path_join(buf, cwd, strlen(cwd), f->what.s, f->what.n);
	n = buf->len;
	dft_buf_append(buf, f->what.s, f->what.n < MAX_URI ? f->what.n : MAX_URI);
	if (buf->failed)
		return -ENOMEM;
	for (size_t i = n; i < buf->len; i++) {
		unsigned char c = (unsigned char)buf->data[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			      (c >= '0' && c <= '9');

		if (!letter && !strchr("_-.:/@+=,~ ", c))
			buf->data[i] = '_';
	}
	f->absolute = (struct dft_str){ buf->data, n };
	f->uri = (struct dft_str){ buf->data + n, buf->len - n };
	return 0;
}

/* The name under which a file was known before a directory of it was renamed, in the buffer. */
static bool old_name(const struct finding *f, struct dft_buf *buf)
{
	const struct dft_graph *g = &f->c->g;
	struct dft_str new, old;

	for (size_t i = 0; i < g->ers.n; i++) {
		const struct dft_er *e = DFT_ERS(g) + i;

		if (!dft_graph_is_move(g, e))
			continue;
		new = dft_graph_name(g, DFT_ENTS(g) + e->subject);
		old = dft_graph_name(g, DFT_ENTS(g) + e->object);
		if (f->absolute.n <= new.n || f->absolute.s[new.n] != '/' ||
		    memcmp(f->absolute.s, new.s, new.n) != 0)
			continue;
		buf->len = 0;
		dft_buf_append(buf, old.s, old.n);
		dft_buf_append(buf, f->absolute.s + new.n, f->absolute.n - new.n);
		return !buf->failed;
	}
	return false;
}

/* Nothing happened to it under the name that it has now. */
static int search_moved(struct finding *f)
{
	struct dft_buf names[2] = { DFT_BUF_INIT, DFT_BUF_INIT };

	/* A directory can be renamed back and forth. */
	for (unsigned int i = 0; i < MAX_MOVES && !f->n && old_name(f, &names[i & 1]); i++) {
		f->absolute = (struct dft_str){ names[i & 1].data, names[i & 1].len };
		search(f, false);
	}
	f->absolute = f->what;
	dft_buf_free(&names[0]);
	dft_buf_free(&names[1]);
	return names[0].failed || names[1].failed ? -ENOMEM : 0;
}

int dft_graph_find(const struct dft_graph_cmd *c, const char *what, uint32_t *ent)
{
	struct finding f = { .c = c, .what = { what, strlen(what) } };
	struct dft_buf buf = DFT_BUF_INIT;
	char *real;
	uint64_t id;
	int rc;

	if ((dft_hex16(f.what, &id) && by_number(&c->g, id, ent)) ||
	    by_type_and_key(&c->g, f.what, ent))
		return 0;
	rc = spell(&f, &buf);
	if (!rc)
		search(&f, false);
	/* A uri is not the whole of a long or odd name. */
	if (!rc && !f.n)
		search(&f, true);
	/* Traces have names without symbolic links and "..". */
	real = !rc && !f.n ? realpath(what, NULL) : NULL;
	if (real) {
		f.absolute = (struct dft_str){ real, strlen(real) };
		search(&f, false);
	}
	if (!rc && !f.n)
		rc = search_moved(&f);
	if (!rc && f.n == 1)
		*ent = f.found[0];
	else if (!rc)
		rc = tell(&f);
	free(real);
	dft_buf_free(&buf);
	return rc;
}
