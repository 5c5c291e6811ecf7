// SPDX-License-Identifier: MIT
#include "parts.h"

#include <errno.h>
#include <string.h>

#include "rewrite.h"

/* Keys of `written`. */
enum what {
	W_FH = DFT_NAME_FH,
	W_SH = DFT_NAME_SH,
	W_HH = DFT_NAME_HH,
	W_EH,
	W_ET,
	W_FIRST, /* there is a line */
	W_LATE,  /* an EH that only says that the id is in use */
};

static int get_string(struct dft_jsonr *j, const struct dft_record *r, const char *key,
		      struct dft_str *s)
{
	const struct dft_jsonr_node *n = r->args ? dft_jsonr_get(j, r->args, key) : NULL;

	if (!n || n->type != DFT_JSONR_STRING)
		return 0;
	*s = dft_jsonr_str(j, n);
	return 1;
}

static bool is_late(struct dft_jsonr *j, const struct dft_record *r)
{
	return r->args && dft_jsonr_get(j, r->args, "late");
}

static int keep_line(struct dft_parts *p, struct dft_index *at, uint64_t key, struct dft_str line,
		     bool replace)
{
	bool fresh;
	uint64_t *v = dft_index_put(at, key, &fresh);

	if (!v)
		return -ENOMEM;
	return fresh || replace ? dft_strings_add(&p->lines, line, v) : 0;
}

int dft_parts_learn(struct dft_parts *p, const struct dft_record *r, struct dft_jsonr *j,
		    struct dft_str line)
{
	struct dft_str s;
	uint64_t id;
	int rc = dft_naming_take(&p->names, r, j);

	if (rc)
		return rc < 0 ? rc : 0;
	if (DFT_STR_IS(r->name, "EH") && get_string(j, r, "id", &s) && dft_hex16(s, &id)) {
		const uint64_t *at = dft_index_get(&p->entity_at, id);
		bool late = is_late(j, r);

		/* The declaration itself says more than a late one. */
		if (at && !late && memmem(dft_strings_at(&p->lines, *at).s,
					  dft_strings_at(&p->lines, *at).n, "\"late\":", 7))
			return keep_line(p, &p->entity_at, id, line, true);
		return keep_line(p, &p->entity_at, id, line, false);
	}
	if (DFT_STR_IS(r->name, "ET") && get_string(j, r, "type", &s))
		return keep_line(p, &p->type_at, dft_hash_bytes(0, s.s, s.n), line, false);
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

int dft_parts_open(struct dft_parts *p, const char *path, bool force)
{
	int rc = dft_gzout_open(&p->out, path, force);

	dft_index_clear(&p->written);
	p->open = !rc;
	return rc;
}

int dft_parts_close(struct dft_parts *p, int rc)
{
	if (!p->open)
		return rc;
	p->open = false;
	return dft_gzout_close(&p->out, rc);
}

void dft_parts_free(struct dft_parts *p)
{
	dft_naming_free(&p->names);
	dft_strings_free(&p->lines);
	dft_index_free(&p->entity_at);
	dft_index_free(&p->type_at);
	dft_index_free(&p->written);
	dft_jsonr_free(&p->json);
	dft_jsonr_free(&p->other);
	dft_buf_free(&p->buf);
}

/* 1: it was not there, and is now; 0; -ENOMEM. */
static int first_time(struct dft_parts *p, enum what what, uint64_t key)
{
	const uint64_t k[2] = { what, key };
	bool fresh;

	if (!dft_index_put(&p->written, dft_hash_bytes(0, k, sizeof(k)), &fresh))
		return -ENOMEM;
	return fresh;
}

static bool was_there(const struct dft_parts *p, enum what what, uint64_t key)
{
	const uint64_t k[2] = { what, key };

	return dft_index_get(&p->written, dft_hash_bytes(0, k, sizeof(k)));
}

static int put_buf(struct dft_parts *p)
{
	return p->buf.failed ? -ENOMEM : dft_gzout_line(&p->out, p->buf.data, p->buf.len);
}

static int need_name(struct dft_parts *p, const struct dft_whose *w, enum dft_name_kind kind,
		     uint64_t hash)
{
	struct dft_json json = { .buf = &p->buf };
	struct dft_str name;
	int rc;

	if (!dft_naming_get(&p->names, kind, hash, &name))
		return 0;
	rc = first_time(p, (enum what)kind, hash);
	if (rc != 1)
		return rc;
	p->buf.len = 0;
	dft_marker_name(&json, w, kind, hash, name);
	return put_buf(p);
}

/* A declaration that another process made, as if by this one. */
static int put_again(struct dft_parts *p, const struct dft_whose *w, struct dft_str line)
{
	struct dft_json json = { .buf = &p->buf };
	const struct dft_jsonr_node *k;
	struct dft_record r;
	uint64_t hash;
	int rc = dft_record_parse(&r, &p->other, line.s, line.n);

	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	k = dft_jsonr_get(&p->other, r.args, "fhash");
	rc = k && dft_hash_value(&p->other, k, r.letter, &hash) ?
		     need_name(p, w, DFT_NAME_FH, hash) : 0;
	if (rc)
		return rc;
	p->buf.len = 0;
	dft_marker_begin(&json, w, r.name.s[1] == 'H' ? "EH" : "ET");
	for (k = dft_jsonr_first(&p->other, r.args); k; k = dft_jsonr_next(&p->other, r.args, k))
		if (!DFT_STR_IS(dft_jsonr_str(&p->other, k), "hhash"))
			dft_rewrite_member(&json, &p->other, k);
	dft_marker_end(&json);
	return put_buf(p);
}

static int need_type(struct dft_parts *p, const struct dft_whose *w, struct dft_str type)
{
	uint64_t key = dft_hash_bytes(0, type.s, type.n);
	const uint64_t *at = dft_index_get(&p->type_at, key);
	int rc = at ? first_time(p, W_ET, key) : 0;

	return rc == 1 ? put_again(p, w, dft_strings_at(&p->lines, *at)) : rc;
}

static int need_entity(struct dft_parts *p, const struct dft_whose *w, struct dft_str hex)
{
	const uint64_t *at;
	struct dft_record r;
	struct dft_str line, type;
	uint64_t id;
	int rc;

	at = dft_hex16(hex, &id) ? dft_index_get(&p->entity_at, id) : NULL;
	if (!at || was_there(p, W_EH, id))
		return 0;
	line = dft_strings_at(&p->lines, *at);
	rc = dft_record_parse(&r, &p->other, line.s, line.n);
	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	/* Perhaps nobody has said more than that the id is in use. */
	rc = first_time(p, is_late(&p->other, &r) ? W_LATE : W_EH, id);
	if (rc != 1)
		return rc;
	if (get_string(&p->other, &r, "type", &type)) {
		rc = need_type(p, w, type);
		if (rc)
			return rc;
	}
	return put_again(p, w, line);
}

static int need_relations(struct dft_parts *p, const struct dft_whose *w,
			  const struct dft_jsonr_node *rel)
{
	struct dft_jsonr *j = &p->json;
	const struct dft_jsonr_node *k, *v;
	int rc = 0;

	if (rel->type != DFT_JSONR_OBJECT)
		return 0;
	for (k = dft_jsonr_first(j, rel); k && !rc; k = dft_jsonr_next(j, rel, k)) {
		const struct dft_jsonr_node *ids = dft_jsonr_value(k);

		if (ids->type != DFT_JSONR_ARRAY)
			continue;
		for (v = dft_jsonr_first(j, ids); v && !rc; v = dft_jsonr_next(j, ids, v))
			if (v->type == DFT_JSONR_STRING)
				rc = need_entity(p, w, dft_jsonr_str(j, v));
	}
	return rc;
}

/* What the record's args refer to. */
static int need_args(struct dft_parts *p, const struct dft_whose *w, const struct dft_record *r)
{
	struct dft_jsonr *j = &p->json;
	bool app = dft_is_of_app(r), er = r->ph == DFT_PH_METADATA && DFT_STR_IS(r->name, "ER");
	const struct dft_jsonr_node *k;
	uint64_t hash;
	int rc = 0;

	for (k = r->args ? dft_jsonr_first(j, r->args) : NULL; k && !rc;
	     k = dft_jsonr_next(j, r->args, k)) {
		const struct dft_jsonr_node *v = dft_jsonr_value(k);
		struct dft_str key = dft_jsonr_str(j, k);

		if (DFT_STR_IS(key, "relations"))
			rc = need_relations(p, w, v);
		else if (er && (DFT_STR_IS(key, "subject") || DFT_STR_IS(key, "object")) &&
			 v->type == DFT_JSONR_STRING)
			rc = need_entity(p, w, dft_jsonr_str(j, v));
		else if (app || !(dft_str_ends(key, "hash") || DFT_STR_IS(key, "cwd")) ||
			 !dft_hash_value(j, v, r->letter, &hash))
			continue;
		else if (!DFT_STR_IS(key, "hhash")) {
			rc = need_name(p, w, DFT_NAME_FH, hash);
			if (!rc && !dft_str_ends(key, "fhash"))
				rc = need_name(p, w, DFT_NAME_SH, hash);
		}
	}
	return rc;
}

/* A line that declares something is written unless that has been done. 1: write it. */
static int declares(struct dft_parts *p, const struct dft_record *r)
{
	const struct dft_jsonr_node *v = r->args ? dft_jsonr_get(&p->json, r->args, "value") : NULL;
	struct dft_str s;
	uint64_t hash;

	if (r->ph != DFT_PH_METADATA || r->name.n != 2)
		return 1;
	if (r->name.s[1] == 'H' && strchr("FSH", r->name.s[0]) && v &&
	    dft_hash_value(&p->json, v, r->letter, &hash))
		return first_time(p, r->name.s[0] == 'F' ? W_FH : r->name.s[0] == 'S' ? W_SH : W_HH,
				  hash);
	if (DFT_STR_IS(r->name, "EH") && get_string(&p->json, r, "id", &s) && dft_hex16(s, &hash)) {
		/* Behind the declaration a late one has nothing to say. */
		if (is_late(&p->json, r))
			return was_there(p, W_EH, hash) ? 0 : first_time(p, W_LATE, hash);
		return first_time(p, W_EH, hash);
	}
	if (DFT_STR_IS(r->name, "ET") && get_string(&p->json, r, "type", &s))
		return first_time(p, W_ET, dft_hash_bytes(0, s.s, s.n));
	return 1;
}

static int begin_part(struct dft_parts *p, const struct dft_whose *w, const char *about,
		      uint64_t unit_ns)
{
	struct dft_json json = { .buf = &p->buf };
	int rc = 0;

	if (about) {
		p->buf.len = 0;
		dft_marker_cm(&json, w, "rearranged", about);
		rc = put_buf(p);
	}
	if (!rc && about && unit_ns != 1000) {
		p->buf.len = 0;
		dft_marker_cm(&json, w, "time_metric", unit_ns == 1 ? "NS" :
			      unit_ns == 1000000 ? "MS" : "SEC");
		rc = put_buf(p);
	}
	return rc;
}

int dft_parts_line(struct dft_parts *p, struct dft_str line, const char *about, uint64_t unit_ns)
{
	struct dft_whose w;
	struct dft_record r;
	int rc = dft_record_parse(&r, &p->json, line.s, line.n);

	if (rc != 1)
		return rc < 0 ? rc : 0;
	dft_whose_of(&w, &r, &p->json);
	if (w.has_host)
		rc = need_name(p, &w, DFT_NAME_HH, w.hhash);
	else
		rc = 0;
	if (!rc) {
		rc = first_time(p, W_FIRST, 0);
		rc = rc == 1 ? begin_part(p, &w, about, unit_ns) : rc;
	}
	if (!rc)
		rc = need_args(p, &w, &r);
	if (rc)
		return rc;
	rc = declares(p, &r);
	return rc == 1 ? dft_gzout_line(&p->out, line.s, line.n) : rc;
}
