// SPDX-License-Identifier: MIT
#include "jsonr.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

struct parser {
	struct dft_jsonr *j;
	const unsigned char *start;
	const unsigned char *end;
	const unsigned char *p;
	bool escaped; /* any string so far holds a backslash */
};

void dft_jsonr_free(struct dft_jsonr *j)
{
	free(j->nodes);
	free(j->scratch);
	free(j->keys);
	memset(j, 0, sizeof(*j));
}

static int fail(struct parser *ps, const unsigned char *at, const char *what)
{
	ps->j->err = what;
	ps->j->err_off = (size_t)(at - ps->start);
	return -EBADMSG;
}

static __attribute__((noinline)) int grow_nodes(struct parser *ps)
{
	struct dft_jsonr *j = ps->j;
	uint32_t cap = j->node_cap ? j->node_cap * 2 : 128;
	struct dft_jsonr_node *nodes;

	if (j->node_cnt >= DFT_JSONR_MAX_NODES)
		return fail(ps, ps->p, "too many values");
	nodes = realloc(j->nodes, cap * sizeof(*nodes));
	if (!nodes) {
		fail(ps, ps->p, "out of memory");
		return -ENOMEM;
	}
	j->nodes = nodes;
	j->node_cap = cap;
	return 0;
}

/* Inline, as what is called for each value of each line. */
static __always_inline int add_node(struct parser *ps, enum dft_jsonr_type type, const unsigned char *at,
				    size_t len, bool escaped)
{
	struct dft_jsonr *j = ps->j;
	uint32_t i = j->node_cnt;
	int err;

	if (__builtin_expect(i == j->node_cap, 0)) {
		err = grow_nodes(ps);
		if (err)
			return err;
	}
	j->nodes[i] = (struct dft_jsonr_node){ .off = (uint32_t)(at - ps->start), .len = (uint32_t)len,
					       .next = i + 1, .type = (uint8_t)type, .escaped = escaped };
	j->node_cnt = i + 1;
	return 0;
}

static inline void skip_space(struct parser *ps)
{
	while (ps->p < ps->end &&
	       (*ps->p == ' ' || *ps->p == '\t' || *ps->p == '\n' || *ps->p == '\r'))
		ps->p++;
}

static bool in_range(unsigned char c, unsigned char lo, unsigned char hi)
{
	return c >= lo && c <= hi;
}

/* The second byte's range depends on the first (Unicode, table 3-7). */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (in_range(s[0], 0xc2, 0xdf))
		len = 2;
	else if (in_range(s[0], 0xe0, 0xef))
		len = 3;
	else if (in_range(s[0], 0xf0, 0xf4))
		len = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (n < len || !in_range(s[1], lo, hi))
		return 0;
	for (size_t i = 2; i < len; i++)
		if (!in_range(s[i], 0x80, 0xbf))
			return 0;
	return len;
}

size_t dft_utf8_len(const char *s, size_t n)
{
	return utf8_len((const unsigned char *)s, n);
}

static int hex4(const unsigned char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int d;

		if (in_range(s[i], '0', '9'))
			d = s[i] - '0';
		else if (in_range(s[i] | 0x20, 'a', 'f'))
			d = (s[i] | 0x20) - 'a' + 10;
		else
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* p is at the backslash; moves past the escape. */
static int check_escape(struct parser *ps)
{
	const unsigned char *at = ps->p;
	int hi, lo;

	if (ps->end - at < 2)
		return fail(ps, at, "string not closed");
	if (at[1] != 'u') {
		if (at[1] == '\0' || !strchr("\"\\/bfnrt", at[1]))
			return fail(ps, at, "unknown escape");
		ps->p = at + 2;
		return 0;
	}
	hi = ps->end - at < 6 ? -1 : hex4(at + 2);
	if (hi < 0)
		return fail(ps, at, "\\u without four hex digits");
	ps->p = at + 6;
	if (hi < 0xd800 || hi > 0xdfff)
		return 0;
	lo = ps->end - at < 12 || at[6] != '\\' || at[7] != 'u' ? -1 : hex4(at + 8);
	if (hi > 0xdbff || lo < 0xdc00 || lo > 0xdfff)
		return fail(ps, at, "lone surrogate");
	ps->p = at + 12;
	return 0;
}

/*
 * Moves to the first byte that needs a look: a quote, a backslash, a control or a non-ASCII byte.
 * Eight bytes at a time; the lowest flagged byte is exact, and little-endian loads make it the
 * first.
 */
static __always_inline const unsigned char *skip_plain(const unsigned char *p, const unsigned char *end)
{
	while (end - p >= 8) {
		uint64_t w, q, b, hit;

		memcpy(&w, p, 8);
		w = le64toh(w);
		q = w ^ ONES * '"';
		b = w ^ ONES * '\\';
		hit = ((w - ONES * 0x20) | (q - ONES) | (b - ONES)) & ~w & HIGHS;
		hit |= w & HIGHS;
		if (hit)
			return p + (__builtin_ctzll(hit) >> 3);
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && *p >= 0x20 && *p < 0x80)
		p++;
	return p;
}

/* A string in which something needs a look: at p, behind `start`. */
static __attribute__((noinline)) int parse_odd_string(struct parser *ps, const unsigned char *start)
{
	bool escaped = false;
	size_t len;
	int err;

	for (;; ps->p = skip_plain(ps->p, ps->end)) {
		if (ps->p == ps->end)
			return fail(ps, start - 1, "string not closed");
		if (*ps->p == '"')
			break;
		if (*ps->p == '\\') {
			escaped = true;
			err = check_escape(ps);
			if (err)
				return err;
		} else if (*ps->p < 0x20) {
			return fail(ps, ps->p, "control character in a string");
		} else {
			len = utf8_len(ps->p, (size_t)(ps->end - ps->p));
			if (!len)
				return fail(ps, ps->p, "not UTF-8");
			ps->p += len;
		}
	}
	ps->escaped |= escaped;
	ps->p++;
	return add_node(ps, DFT_JSONR_STRING, start, (size_t)(ps->p - start) - 1, escaped);
}

/* p is after the opening quote. */
static __always_inline int parse_string(struct parser *ps)
{
	const unsigned char *start = ps->p;

	ps->p = skip_plain(start, ps->end);
	if (__builtin_expect(ps->p == ps->end || *ps->p != '"', 0))
		return parse_odd_string(ps, start);
	return add_node(ps, DFT_JSONR_STRING, start, (size_t)(ps->p++ - start), false);
}

static bool skip_digits(struct parser *ps)
{
	const unsigned char *start = ps->p;

	while (ps->p < ps->end && in_range(*ps->p, '0', '9'))
		ps->p++;
	return ps->p > start;
}

static int parse_number(struct parser *ps)
{
	const unsigned char *start = ps->p;
	enum dft_jsonr_type type = DFT_JSONR_INT;

	if (*ps->p == '-')
		ps->p++;
	if (ps->p < ps->end && *ps->p == '0')
		ps->p++;
	else if (!skip_digits(ps))
		return fail(ps, start, "not a value");
	if (ps->p < ps->end && *ps->p == '.') {
		type = DFT_JSONR_REAL;
		ps->p++;
		if (!skip_digits(ps))
			return fail(ps, ps->p, "no digit after the decimal point");
	}
	if (ps->p < ps->end && (*ps->p | 0x20) == 'e') {
		type = DFT_JSONR_REAL;
		ps->p++;
		if (ps->p < ps->end && (*ps->p == '+' || *ps->p == '-'))
			ps->p++;
		if (!skip_digits(ps))
			return fail(ps, ps->p, "no digit in the exponent");
	}
	return add_node(ps, type, start, (size_t)(ps->p - start), false);
}

static int parse_word(struct parser *ps, const char *word, enum dft_jsonr_type type)
{
	const unsigned char *start = ps->p;
	size_t n = strlen(word);

	if ((size_t)(ps->end - start) < n || memcmp(start, word, n) != 0)
		return fail(ps, start, "not a value");
	ps->p += n;
	return add_node(ps, type, start, n, false);
}

static int parse_value(struct parser *ps, unsigned int depth);

static __always_inline int parse_member_key(struct parser *ps)
{
	int err;

	skip_space(ps);
	if (ps->p == ps->end || *ps->p != '"')
		return fail(ps, ps->p, "expected a quoted key");
	ps->p++;
	err = parse_string(ps);
	if (err)
		return err;
	skip_space(ps);
	if (ps->p == ps->end || *ps->p != ':')
		return fail(ps, ps->p, "expected ':' after a key");
	ps->p++;
	return 0;
}

/* Recursion is bounded by DFT_JSONR_MAX_DEPTH. */
static int parse_container(struct parser *ps, unsigned int depth)
{
	const unsigned char *start = ps->p;
	bool object = *start == '{';
	unsigned char close = object ? '}' : ']';
	uint32_t self = ps->j->node_cnt;
	struct dft_jsonr_node *n;
	int err;

	if (depth >= DFT_JSONR_MAX_DEPTH)
		return fail(ps, start, "nested too deeply");
	err = add_node(ps, object ? DFT_JSONR_OBJECT : DFT_JSONR_ARRAY, start, 0, false);
	if (err)
		return err;
	ps->p++;
	skip_space(ps);
	if (ps->p < ps->end && *ps->p == close) {
		ps->p++;
		goto done;
	}
	for (;;) {
		err = object ? parse_member_key(ps) : 0;
		if (!err)
			err = parse_value(ps, depth + 1);
		if (err)
			return err;
		skip_space(ps);
		if (ps->p == ps->end)
			return fail(ps, start, object ? "object not closed" : "array not closed");
		if (*ps->p == close) {
			ps->p++;
			break;
		}
		if (*ps->p != ',')
			return fail(ps, ps->p, "expected ',' or the closing bracket");
		ps->p++;
	}
done:
	n = &ps->j->nodes[self];
	n->len = (uint32_t)(ps->p - start);
	n->next = ps->j->node_cnt;
	return 0;
}

static int parse_value(struct parser *ps, unsigned int depth)
{
	skip_space(ps);
	if (ps->p == ps->end)
		return fail(ps, ps->p, "value missing");
	switch (*ps->p) {
	case '"':
		ps->p++;
		return parse_string(ps);
	case '{':
	case '[':
		return parse_container(ps, depth);
	case 't':
		return parse_word(ps, "true", DFT_JSONR_TRUE);
	case 'f':
		return parse_word(ps, "false", DFT_JSONR_FALSE);
	case 'n':
		return parse_word(ps, "null", DFT_JSONR_NULL);
	default:
		return parse_number(ps);
	}
}

int dft_jsonr_parse(struct dft_jsonr *j, const char *text, size_t len)
{
	struct parser ps = {
		.j = j,
		.start = (const unsigned char *)text,
		.p = (const unsigned char *)text,
	};
	int err;

	j->text = text;
	j->node_cnt = 0;
	j->err = NULL;
	j->err_off = 0;
	/* Offsets are 32 bits wide. */
	if (len > DFT_JSONR_MAX_LEN)
		return fail(&ps, ps.p, "longer than 1 GiB");
	ps.end = ps.start + len;
	err = parse_value(&ps, 0);
	if (err)
		return err;
	skip_space(&ps);
	if (ps.p != ps.end)
		return fail(&ps, ps.p, "text after the value");
	/* Here rather than at the first use, so that dft_jsonr_str() cannot fail. */
	if (ps.escaped && j->scratch_cap < len) {
		char *scratch = realloc(j->scratch, len);

		if (!scratch) {
			fail(&ps, ps.start, "out of memory");
			return -ENOMEM;
		}
		j->scratch = scratch;
		j->scratch_cap = len;
	}
	return 0;
}

static char *put_utf8(char *o, unsigned int c)
{
	if (c < 0x80) {
		*o++ = (char)c;
	} else if (c < 0x800) {
		*o++ = (char)(0xc0 | c >> 6);
		*o++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*o++ = (char)(0xe0 | c >> 12);
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	} else {
		*o++ = (char)(0xf0 | c >> 18);
		*o++ = (char)(0x80 | (c >> 12 & 0x3f));
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	}
	return o;
}

/* s is at a \u that the parser has found good; returns the character and moves s past it. */
static unsigned int take_unicode(const unsigned char **s)
{
	unsigned int c = (unsigned int)hex4(*s + 2);

	*s += 6;
	if (c >= 0xd800 && c <= 0xdbff) {
		c = 0x10000 + ((c - 0xd800) << 10) + ((unsigned int)hex4(*s + 2) - 0xdc00);
		*s += 6;
	}
	return c;
}

static char plain_escape(unsigned char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return (char)c;
	}
}

struct dft_str dft_jsonr_str(struct dft_jsonr *j, const struct dft_jsonr_node *n)
{
	struct dft_str raw = dft_jsonr_raw(j, n);
	const unsigned char *s, *end;
	char *out, *o;

	if (!n->escaped)
		return raw;
	/* An escape is never shorter than what it stands for: the raw text's place is enough. */
	out = o = j->scratch + n->off;
	s = (const unsigned char *)raw.s;
	end = s + raw.n;
	while (s < end) {
		if (*s != '\\') {
			*o++ = (char)*s++;
		} else if (s[1] == 'u') {
			o = put_utf8(o, take_unicode(&s));
		} else {
			*o++ = plain_escape(s[1]);
			s += 2;
		}
	}
	return (struct dft_str){ out, (size_t)(o - out) };
}

static inline bool digits(const char *s, const char *end, uint64_t *v)
{
	uint64_t acc = 0;

	/* 19 digits always fit. */
	if (end - s <= 19) {
		/* Eight at a time: pairs, then fours, then all, as numbers side by side in one. */
		for (; end - s >= 8; s += 8) {
			uint64_t w;

			memcpy(&w, s, 8);
			w = le64toh(w) - ONES * '0';
			w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffull;
			w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffull;
			w = (w * 10000 + (w >> 32)) & 0xffffffffull;
			acc = acc * 100000000 + w;
		}
		while (s < end)
			acc = acc * 10 + (uint64_t)(*s++ - '0');
		*v = acc;
		return true;
	}
	for (; s < end; s++)
		if (__builtin_mul_overflow(acc, 10u, &acc) ||
		    __builtin_add_overflow(acc, (uint64_t)(*s - '0'), &acc))
			return false;
	*v = acc;
	return true;
}

bool dft_jsonr_u64(const struct dft_jsonr *j, const struct dft_jsonr_node *n, uint64_t *v)
{
	const char *s = j->text + n->off;

	/* -0 is an integer and not a negative one, but nobody means it. */
	return n->type == DFT_JSONR_INT && *s != '-' && digits(s, s + n->len, v);
}

bool dft_jsonr_i64(const struct dft_jsonr *j, const struct dft_jsonr_node *n, int64_t *v)
{
	const char *s = j->text + n->off;
	uint64_t u;
	bool neg;

	if (n->type != DFT_JSONR_INT)
		return false;
	neg = *s == '-';
	if (!digits(s + neg, s + n->len, &u) || u > (uint64_t)INT64_MAX + neg)
		return false;
	*v = neg ? (int64_t)(0 - u) : (int64_t)u;
	return true;
}

const struct dft_jsonr_node *dft_jsonr_get(struct dft_jsonr *j, const struct dft_jsonr_node *n,
					   const char *key)
{
	const struct dft_jsonr_node *k;
	size_t len = strlen(key);

	if (n->type != DFT_JSONR_OBJECT)
		return NULL;
	for (k = dft_jsonr_first(j, n); k; k = dft_jsonr_next(j, n, k))
		if (dft_str_eq(dft_jsonr_str(j, k), key, len))
			return dft_jsonr_value(k);
	return NULL;
}

static int cmp_keys(const void *a, const void *b, void *arg)
{
	struct dft_jsonr *j = arg;
	struct dft_str x = dft_jsonr_str(j, &j->nodes[*(const uint32_t *)a]);
	struct dft_str y = dft_jsonr_str(j, &j->nodes[*(const uint32_t *)b]);

	if (x.n != y.n)
		return x.n < y.n ? -1 : 1;
	return memcmp(x.s, y.s, x.n);
}

/* The keys of one object into j->keys; their number, or -ENOMEM. */
static int64_t collect_keys(struct dft_jsonr *j, const struct dft_jsonr_node *obj)
{
	const struct dft_jsonr_node *k;
	size_t cnt = 0;

	for (k = dft_jsonr_first(j, obj); k; k = dft_jsonr_next(j, obj, k)) {
		if (cnt == j->key_cap) {
			size_t cap = cnt ? cnt * 2 : 64;
			uint32_t *keys = realloc(j->keys, cap * sizeof(*keys));

			if (!keys)
				return -ENOMEM;
			j->keys = keys;
			j->key_cap = cap;
		}
		j->keys[cnt++] = (uint32_t)(k - j->nodes);
	}
	return (int64_t)cnt;
}

static bool dup_in_keys(struct dft_jsonr *j, size_t cnt, struct dft_str *key)
{
	/* Few keys, the usual case, are compared in pairs; sorting keeps hostile objects cheap. */
	if (cnt <= 16) {
		for (size_t a = 1; a < cnt; a++)
			for (size_t b = 0; b < a; b++)
				if (cmp_keys(&j->keys[a], &j->keys[b], j) == 0) {
					*key = dft_jsonr_str(j, &j->nodes[j->keys[a]]);
					return true;
				}
		return false;
	}
	qsort_r(j->keys, cnt, sizeof(*j->keys), cmp_keys, j);
	for (size_t a = 1; a < cnt; a++)
		if (cmp_keys(&j->keys[a], &j->keys[a - 1], j) == 0) {
			*key = dft_jsonr_str(j, &j->nodes[j->keys[a]]);
			return true;
		}
	return false;
}

int dft_jsonr_find_dup(struct dft_jsonr *j, struct dft_str *key)
{
	for (uint32_t i = 0; i < j->node_cnt; i++) {
		int64_t cnt;

		if (j->nodes[i].type != DFT_JSONR_OBJECT)
			continue;
		cnt = collect_keys(j, &j->nodes[i]);
		if (cnt < 0)
			return -ENOMEM;
		if (dup_in_keys(j, (size_t)cnt, key))
			return 1;
	}
	return 0;
}
