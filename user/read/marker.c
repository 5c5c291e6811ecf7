// SPDX-License-Identifier: MIT
#include "marker.h"

#include <string.h>

static const char *const values[] = { "merge", "sort", "split", "recover" };

unsigned int dft_rearranged_of(const struct dft_record *r, struct dft_jsonr *j)
{
	const struct dft_jsonr_node *name, *value;
	struct dft_str s;

	if (r->ph != DFT_PH_METADATA || !r->args || !DFT_STR_IS(r->name, "CM") || !dft_is_of_tracer(r))
		return 0;
	name = dft_jsonr_get(j, r->args, "name");
	value = dft_jsonr_get(j, r->args, "value");
	if (!name || !value || name->type != DFT_JSONR_STRING || value->type != DFT_JSONR_STRING ||
	    !DFT_STR_IS(dft_jsonr_str(j, name), "rearranged"))
		return 0;
	s = dft_jsonr_str(j, value);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (dft_str_eq(s, values[i], strlen(values[i])))
			return 1u << i;
	return 0;
}

void dft_whose_of(struct dft_whose *w, const struct dft_record *r, struct dft_jsonr *j)
{
	const struct dft_jsonr_node *h = r->args ? dft_jsonr_get(j, r->args, "hhash") : NULL;

	*w = (struct dft_whose){ .pid = r->pid, .tid = r->tid, .letter = r->letter };
	w->has_host = h && dft_hash_value(j, h, r->letter, &w->hhash);
}

static void put_hash(struct dft_json *json, const struct dft_whose *w, const char *key, uint64_t hash)
{
	if (w->letter)
		dft_json_u64(json, key, hash);
	else
		dft_json_hash(json, key, hash);
}

void dft_marker_begin(struct dft_json *json, const struct dft_whose *w, const char *name)
{
	json->comma = false;
	dft_json_object(json, NULL);
	dft_json_cstr(json, "name", name);
	dft_json_cstr(json, "cat", "dftracer");
	if (!w->letter)
		dft_json_u64(json, "type", DFT_BY_TRACER);
	dft_json_u64(json, "pid", w->pid);
	dft_json_u64(json, "tid", w->tid);
	if (w->letter)
		dft_json_cstr(json, "ph", "M");
	else
		dft_json_u64(json, "ph", DFT_PH_METADATA);
	dft_json_object(json, "args");
	if (w->has_host)
		put_hash(json, w, "hhash", w->hhash);
}

void dft_marker_end(struct dft_json *json)
{
	dft_json_object_end(json);
	dft_json_object_end(json);
}

void dft_marker_cm(struct dft_json *json, const struct dft_whose *w, const char *name,
		   const char *value)
{
	dft_marker_begin(json, w, "CM");
	dft_json_cstr(json, "name", name);
	dft_json_cstr(json, "value", value);
	dft_marker_end(json);
}

void dft_marker_name(struct dft_json *json, const struct dft_whose *w, enum dft_name_kind kind,
		     uint64_t hash, struct dft_str name)
{
	static const char *const records[] = { "", "FH", "SH", "HH" };
	bool good;

	dft_marker_begin(json, w, records[kind]);
	good = dft_json_str(json, "name", name.s, name.n);
	put_hash(json, w, "value", hash);
	if (!good)
		dft_json_hex(json, "raw", name.s, name.n);
	dft_marker_end(json);
}

struct dft_str dft_bare_line(const char *s, size_t n)
{
	while (n && s[n - 1] && strchr(" \t\r,", s[n - 1]))
		n--;
	while (n && *s && strchr(" \t", *s)) {
		s++;
		n--;
	}
	return (struct dft_str){ s, n };
}
