// SPDX-License-Identifier: MIT
#include "record.h"

#include <errno.h>
#include <md5.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "prov.h"

static const char *const field_names[] = {
	"id", "name", "cat", "type", "pid", "tid", "ts", "dur", "ph", "args",
};

const char *dft_field_name(unsigned int field)
{
	return field_names[__builtin_ctz(field)];
}

/* The field of that key, 0 for keys of others. A switch on the length spares most comparisons. */
static unsigned int field_of(struct dft_str k)
{
	switch (k.n) {
	case 2:
		if (k.s[0] == 'i' && k.s[1] == 'd')
			return DFT_F_ID;
		if (k.s[0] == 't' && k.s[1] == 's')
			return DFT_F_TS;
		return k.s[0] == 'p' && k.s[1] == 'h' ? DFT_F_PH : 0;
	case 3:
		if (memcmp(k.s, "cat", 3) == 0)
			return DFT_F_CAT;
		if (memcmp(k.s, "pid", 3) == 0)
			return DFT_F_PID;
		if (memcmp(k.s, "tid", 3) == 0)
			return DFT_F_TID;
		return memcmp(k.s, "dur", 3) == 0 ? DFT_F_DUR : 0;
	case 4:
		if (memcmp(k.s, "name", 4) == 0)
			return DFT_F_NAME;
		if (memcmp(k.s, "type", 4) == 0)
			return DFT_F_TYPE;
		return memcmp(k.s, "args", 4) == 0 ? DFT_F_ARGS : 0;
	default:
		return 0;
	}
}

static bool take_ph(struct dft_record *r, struct dft_jsonr *j, const struct dft_jsonr_node *v)
{
	struct dft_str s;
	uint64_t u;

	if (dft_jsonr_u64(j, v, &u)) {
		r->ph = u >= DFT_PH_COMPLETE && u <= DFT_PH_METADATA ? (enum dft_ph)u :
								       DFT_PH_OTHER;
		return true;
	}
	if (v->type != DFT_JSONR_STRING)
		return false;
	s = dft_jsonr_str(j, v);
	if (s.n != 1)
		return false;
	r->letter = true;
	switch (s.s[0]) {
	case 'X':
		r->ph = DFT_PH_COMPLETE;
		return true;
	case 'C':
		r->ph = DFT_PH_COUNTER;
		return true;
	case 'A':
		r->ph = DFT_PH_AGGREGATED;
		return true;
	case 'M':
		r->ph = DFT_PH_METADATA;
		return true;
	default:
		r->ph = DFT_PH_OTHER;
		return true;
	}
}

static bool take_str(struct dft_jsonr *j, const struct dft_jsonr_node *v, struct dft_str *out)
{
	if (v->type != DFT_JSONR_STRING)
		return false;
	*out = dft_jsonr_str(j, v);
	return true;
}

static bool take_field(struct dft_record *r, struct dft_jsonr *j, unsigned int field,
		       const struct dft_jsonr_node *v)
{
	switch (field) {
	case DFT_F_ID:
		return dft_jsonr_u64(j, v, &r->id);
	case DFT_F_TYPE:
		return dft_jsonr_u64(j, v, &r->type);
	case DFT_F_PID:
		return dft_jsonr_u64(j, v, &r->pid);
	case DFT_F_TID:
		return dft_jsonr_u64(j, v, &r->tid);
	case DFT_F_TS:
		return dft_jsonr_u64(j, v, &r->ts);
	case DFT_F_DUR:
		return dft_jsonr_u64(j, v, &r->dur);
	case DFT_F_NAME:
		return take_str(j, v, &r->name);
	case DFT_F_CAT:
		return take_str(j, v, &r->cat);
	case DFT_F_PH:
		return take_ph(r, j, v);
	default:
		if (v->type != DFT_JSONR_OBJECT)
			return false;
		r->args = v;
		return true;
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int dft_record_parse(struct dft_record *r, struct dft_jsonr *j, const char *line, size_t n)
{
	const struct dft_jsonr_node *root, *k;
	const char *start = line, *end = line + n;
	int err;

	while (end > start && is_space(end[-1]))
		end--;
	if (end > start && end[-1] == ',')
		end--;
	while (start < end && is_space(*start))
		start++;
	if (start == end || (end - start == 1 && (*start == '[' || *start == ']')))
		return 0;
	/* From the start of the line, so that err_off counts from there. */
	err = dft_jsonr_parse(j, line, (size_t)(end - line));
	if (err)
		return err;
	root = dft_jsonr_root(j);
	if (root->type != DFT_JSONR_OBJECT) {
		j->err = "not an object";
		return -EBADMSG;
	}
	memset(r, 0, sizeof(*r));
	r->name.s = r->cat.s = "";
	for (k = dft_jsonr_first(j, root); k; k = dft_jsonr_next(j, root, k)) {
		unsigned int field = field_of(dft_jsonr_str(j, k));

		/* Of two members of one name the first counts. */
		if (!field || ((r->has | r->wrong) & field))
			continue;
		if (take_field(r, j, field, dft_jsonr_value(k)))
			r->has |= field;
		else
			r->wrong |= field;
	}
	return 1;
}

bool dft_is_of_app(const struct dft_record *r)
{
	return r->has & DFT_F_TYPE && (r->type == DFT_BY_C || r->type == DFT_BY_CPP ||
				       r->type == DFT_BY_PYTHON);
}

bool dft_is_of_tracer(const struct dft_record *r)
{
	return DFT_STR_IS(r->cat, "dftracer") && !dft_is_of_app(r);
}

bool dft_is_of_run(const struct dft_record *r)
{
	return DFT_STR_IS(r->cat, DFT_PROV_CAT) && (r->letter || r->type == DFT_BY_TRACER);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool dft_hex16(struct dft_str s, uint64_t *v)
{
	uint64_t acc = 0;

	if (s.n != 16)
		return false;
	for (size_t i = 0; i < 16; i++) {
		int d = hex_digit(s.s[i]);

		if (d < 0)
			return false;
		acc = acc << 4 | (uint64_t)d;
	}
	*v = acc;
	return true;
}

bool dft_decimal(struct dft_str s, uint64_t *v)
{
	uint64_t acc = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.s[i] < '0' || s.s[i] > '9' || __builtin_mul_overflow(acc, 10, &acc) ||
		    __builtin_add_overflow(acc, (uint64_t)(s.s[i] - '0'), &acc))
			return false;
	}
	*v = acc;
	return s.n > 0;
}

bool dft_hash_value(struct dft_jsonr *j, const struct dft_jsonr_node *n, bool old, uint64_t *v)
{
	if (n->type == DFT_JSONR_STRING)
		return dft_hex16(dft_jsonr_str(j, n), v);
	return old && dft_jsonr_u64(j, n, v);
}

int dft_original_name(struct dft_jsonr *j, const struct dft_jsonr_node *args,
		      struct dft_bytes *buf, struct dft_str *out)
{
	const struct dft_jsonr_node *raw = dft_jsonr_get(j, args, "raw");
	const struct dft_jsonr_node *name = dft_jsonr_get(j, args, "name");
	struct dft_str hex;

	if (!raw) {
		if (!name || name->type != DFT_JSONR_STRING)
			return 0;
		*out = dft_jsonr_str(j, name);
		return 1;
	}
	if (raw->type != DFT_JSONR_STRING)
		return 0;
	hex = dft_jsonr_str(j, raw);
	if (hex.n % 2)
		return 0;
	if (buf->cap < hex.n / 2) {
		char *p = realloc(buf->buf, hex.n / 2);

		if (!p)
			return -ENOMEM;
		buf->buf = p;
		buf->cap = hex.n / 2;
	}
	for (size_t i = 0; i < hex.n; i += 2) {
		int hi = hex_digit(hex.s[i]), lo = hex_digit(hex.s[i + 1]);

		if (hi < 0 || lo < 0)
			return 0;
		buf->buf[i / 2] = (char)(hi << 4 | lo);
	}
	*out = (struct dft_str){ buf->buf ? buf->buf : "", hex.n / 2 };
	return 1;
}

uint64_t dft_name_hash(struct dft_str name, bool old)
{
	unsigned char d[MD5_DIGEST_LENGTH];
	uint64_t h = 0;
	MD5_CTX md;

	if (!old)
		return dft_hash(name.s, name.n);
	/* 2025: the high half of each byte of the digest. */
	MD5Init(&md);
	MD5Update(&md, (const uint8_t *)name.s, name.n);
	MD5Final(d, &md);
	for (int i = 0; i < 16; i++)
		h = h << 4 | d[i] >> 4;
	return h;
}
