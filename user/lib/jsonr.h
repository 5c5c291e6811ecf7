/* SPDX-License-Identifier: MIT */
/*
 * A strict reader for one JSON text (RFC 8259) held in memory, made for trace lines.
 *
 * The text is checked completely and turned into a flat array of nodes that point into it; nothing
 * is copied. A container is followed by its children (in an object: key, value, key, value ...),
 * and `next` leads past them. The node array and the buffer for unescaped strings belong to the
 * reader and are used again for the next text, so that a steady stream of lines allocates nothing.
 *
 * Stricter than many readers: UTF-8 must be well-formed, a lone surrogate is an error, and nesting,
 * text length and number of values are bounded. Duplicate keys are grammatical and therefore kept;
 * dft_jsonr_find_dup() tells of them.
 *
 * One reader serves one thread. Nodes and strings live until the next parse of the same reader and
 * as long as the text does.
 */
#ifndef DFT_JSONR_H
#define DFT_JSONR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DFT_JSONR_MAX_DEPTH 64
#define DFT_JSONR_MAX_NODES (1u << 20)
#define DFT_JSONR_MAX_LEN (1u << 30)

enum dft_jsonr_type {
	DFT_JSONR_NULL = 0,
	DFT_JSONR_FALSE,
	DFT_JSONR_TRUE,
	DFT_JSONR_INT,  /* a number without fraction and exponent, of any size */
	DFT_JSONR_REAL, /* any other number */
	DFT_JSONR_STRING,
	DFT_JSONR_ARRAY,
	DFT_JSONR_OBJECT,
};

/* off and len are the raw text: without a string's quotes, with a container's brackets. */
struct dft_jsonr_node {
	uint32_t off;
	uint32_t len;
	uint32_t next; /* index of the node after this value and its children */
	uint8_t type;
	bool escaped; /* a string that holds a backslash */
};

/* Bytes that are not terminated. */
struct dft_str {
	const char *s;
	size_t n;
};

struct dft_jsonr {
	const char *text;
	struct dft_jsonr_node *nodes; /* nodes[0] is the whole value */
	uint32_t node_cnt;
	uint32_t node_cap;
	char *scratch; /* unescaped strings, each at the offset of its raw text */
	size_t scratch_cap;
	uint32_t *keys; /* for dft_jsonr_find_dup() */
	size_t key_cap;
	const char *err; /* after a failed parse: what is wrong ... */
	size_t err_off;  /* ... and at which byte */
};

/* The reader starts zeroed (`= {0}`); free releases what it holds and zeroes it again. */
void dft_jsonr_free(struct dft_jsonr *j);

/* Returns 0; -EBADMSG with err and err_off set; -ENOMEM with err set. */
int dft_jsonr_parse(struct dft_jsonr *j, const char *text, size_t len);

/* The bytes of a STRING with escapes resolved. Never fails; may hold NUL bytes. */
struct dft_str dft_jsonr_str(struct dft_jsonr *j, const struct dft_jsonr_node *n);

/* The value of an INT if it fits the type; false for anything else, also other kinds of nodes. */
bool dft_jsonr_u64(const struct dft_jsonr *j, const struct dft_jsonr_node *n, uint64_t *v);
bool dft_jsonr_i64(const struct dft_jsonr *j, const struct dft_jsonr_node *n, int64_t *v);

/* The first member of that name; NULL when there is none or n is not an OBJECT. */
const struct dft_jsonr_node *dft_jsonr_get(struct dft_jsonr *j, const struct dft_jsonr_node *n,
					   const char *key);

/* Looks for an object, at any depth, with two members of one name: 1 and *key, 0, or -ENOMEM. */
int dft_jsonr_find_dup(struct dft_jsonr *j, struct dft_str *key);

static inline const struct dft_jsonr_node *dft_jsonr_root(const struct dft_jsonr *j)
{
	return j->nodes;
}

/* The value's text as it stands. */
static inline struct dft_str dft_jsonr_raw(const struct dft_jsonr *j,
					   const struct dft_jsonr_node *n)
{
	return (struct dft_str){ j->text + n->off, n->len };
}

/*
 * Walking a container:
 *
 *     for (v = dft_jsonr_first(j, c); v; v = dft_jsonr_next(j, c, v))
 *
 * In an object v is the key and dft_jsonr_value(v) its value.
 */
static inline const struct dft_jsonr_node *dft_jsonr_first(const struct dft_jsonr *j,
							   const struct dft_jsonr_node *c)
{
	return c + 1 < j->nodes + c->next ? c + 1 : NULL;
}

static inline const struct dft_jsonr_node *dft_jsonr_value(const struct dft_jsonr_node *key)
{
	return key + 1;
}

static inline const struct dft_jsonr_node *dft_jsonr_next(const struct dft_jsonr *j,
							  const struct dft_jsonr_node *c,
							  const struct dft_jsonr_node *v)
{
	const struct dft_jsonr_node *last = c->type == DFT_JSONR_OBJECT ? v + 1 : v;
	const struct dft_jsonr_node *next = j->nodes + last->next;

	return next < j->nodes + c->next ? next : NULL;
}

static inline bool dft_str_eq(struct dft_str a, const char *lit, size_t n)
{
	return a.n == n && __builtin_memcmp(a.s, lit, n) == 0;
}

static inline bool dft_str_ends(struct dft_str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && memcmp(s.s + s.n - n, suffix, n) == 0;
}

/* Comparison with a string literal; the length is a constant. */
#define DFT_STR_IS(str, lit) dft_str_eq((str), (lit), sizeof(lit) - 1)

/*
 * Length of the well-formed UTF-8 sequence at s (of n > 0 bytes), 0 if there is none: overlong
 * forms, surrogates, values above U+10FFFF and cut sequences are not well-formed.
 */
size_t dft_utf8_len(const char *s, size_t n);

#endif
