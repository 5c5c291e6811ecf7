// SPDX-License-Identifier: MIT
#include "where.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of brackets and `not`: evaluating goes as deep. */
#define MAX_DEPTH   64
#define MAX_NODES   4096
#define MAX_PATTERN 1000

enum op {
	OP_OR,
	OP_AND,
	OP_NOT,
	OP_HAS,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_MATCH,
	OP_NO_MATCH,
	OP_IN,
	OP_VALUE, /* one of the list of an OP_IN */
};

struct node {
	enum op op;
	int first, next; /* operands, and the next operand beside this one; -1: none */
	struct dft_field_ref field;
	struct dft_value value;
	bool is_time;
	bool compiled; /* re is in use */
	regex_t re;
};

struct dft_where {
	struct node *v;
	int n, cap;
	int root;
	char *text;   /* field names point into it */
	char *pool;   /* strings without their escapes; never longer than the text */
	size_t pool_n;
};

struct parser {
	struct dft_where *w;
	const char *text;
	size_t at;
	int depth;
	int err;
	struct dft_where_error *e;
};

void dft_where_free(struct dft_where *w)
{
	if (!w)
		return;
	for (int i = 0; i < w->n; i++)
		if (w->v[i].compiled)
			regfree(&w->v[i].re);
	free(w->v);
	free(w->text);
	free(w->pool);
	free(w);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int fail(struct parser *p, const char *what)
{
	if (!p->err) {
		p->err = -EINVAL;
		p->e->at = p->at;
		snprintf(p->e->what, sizeof(p->e->what), "%s", what);
	}
	return -1;
}

static int add(struct parser *p, enum op op)
{
	struct dft_where *w = p->w;

	if (w->n == MAX_NODES)
		return fail(p, "the condition has too many parts");
	if (w->n == w->cap) {
		int cap = w->cap ? w->cap * 2 : 16;
		struct node *v = realloc(w->v, (size_t)cap * sizeof(*v));

		if (!v) {
			p->err = -ENOMEM;
			return -1;
		}
		w->v = v;
		w->cap = cap;
	}
	memset(&w->v[w->n], 0, sizeof(w->v[0]));
	w->v[w->n].op = op;
	w->v[w->n].first = w->v[w->n].next = -1;
	return w->n++;
}

static void skip_space(struct parser *p)
{
	while (isspace((unsigned char)p->text[p->at]))
		p->at++;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool take(struct parser *p, const char *token)
{
	size_t n = strlen(token);

	skip_space(p);
	if (strncmp(p->text + p->at, token, n) != 0)
		return false;
	/* "order" does not begin with an "or". */
	if (is_word(token[0]) && is_word(p->text[p->at + n]))
		return false;
	p->at += n;
	return true;
}

static bool field_char(char c)
{
	return is_word(c) || c == '.' || c == '-' || c == ':' || c == '/' || (unsigned char)c >= 0x80;
}

static bool parse_field(struct parser *p, struct dft_field_ref *ref)
{
	char what[sizeof(p->e->what)];
	struct dft_str s;
	size_t start;

	skip_space(p);
	start = p->at;
	while (field_char(p->text[p->at]))
		p->at++;
	s = (struct dft_str){ p->text + start, p->at - start };
	if (s.n && dft_field_parse(s, ref))
		return true;
	p->at = start;
	if (s.n)
		dft_field_unknown(what, sizeof(what), s);
	fail(p, s.n ? what : "a field is expected");
	return false;
}

static bool parse_string(struct parser *p, struct dft_value *v)
{
	struct dft_where *w = p->w;
	char quote = p->text[p->at], *to = w->pool + w->pool_n;
	size_t n = 0, i = p->at + 1;

	for (; p->text[i] && p->text[i] != quote; i++) {
		/* Only what would end the string needs a backslash: patterns keep theirs. */
		if (p->text[i] == '\\' && (p->text[i + 1] == quote || p->text[i + 1] == '\\'))
			to[n++] = p->text[++i];
		else
			to[n++] = p->text[i];
	}
	if (!p->text[i]) {
		fail(p, "the string does not end");
		return false;
	}
	to[n] = '\0';
	w->pool_n += n + 1;
	p->at = i + 1;
	v->kind = DFT_VALUE_STR;
	v->s = (struct dft_str){ to, n };
	return true;
}

static const struct {
	const char *suffix;
	uint64_t factor;
	bool is_time;
} units[] = {
	{ "ns", 1, true }, { "us", 1000, true }, { "ms", 1000000, true },
	{ "s", 1000000000, true }, { "min", 60000000000, true },
	{ "K", 1ull << 10, false }, { "M", 1ull << 20, false }, { "G", 1ull << 30, false },
	{ "T", 1ull << 40, false },
};

static size_t apply_unit(const char *s, struct dft_value *v, bool *is_time)
{
	size_t n = 0;

	while (isalpha((unsigned char)s[n]))
		n++;
	for (size_t i = 0; n && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].suffix) != n || memcmp(units[i].suffix, s, n) != 0)
			continue;
		*is_time = units[i].is_time;
		v->d *= (double)units[i].factor;
		v->i *= units[i].factor;
		/* 1.5K is a whole number again. */
		if (v->kind == DFT_VALUE_REAL && v->d < 9e15 && v->d > -9e15 &&
		    v->d == (double)(int64_t)v->d) {
			v->kind = DFT_VALUE_INT;
			v->i = (int64_t)v->d;
		}
		return n;
	}
	return n ? SIZE_MAX : 0;
}

size_t dft_number_parse(const char *text, struct dft_value *v, bool *is_time)
{
	size_t n = text[0] == '-', digits = n, unit;
	char *end;

	memset(v, 0, sizeof(*v));
	*is_time = false;
	if (!isdigit((unsigned char)text[n]))
		return 0;
	while (isdigit((unsigned char)text[n])) {
		v->i = v->i * 10 + (text[n++] - '0');
		if (n - digits > 20) /* more than 64 bits hold */
			return 0;
	}
	v->kind = DFT_VALUE_INT;
	if (text[0] == '-')
		v->i = -v->i;
	v->d = (double)v->i;
	if (text[n] == '.') {
		v->kind = DFT_VALUE_REAL;
		v->d = strtod(text, &end);
		n++;
		while (isdigit((unsigned char)text[n]))
			n++;
	}
	unit = apply_unit(text + n, v, is_time);
	return unit == SIZE_MAX || is_word(text[n + unit]) ? 0 : n + unit;
}

static bool parse_value(struct parser *p, struct dft_value *v, bool *is_time)
{
	size_t n;

	skip_space(p);
	*is_time = false;
	if (p->text[p->at] == '"' || p->text[p->at] == '\'')
		return parse_string(p, v);
	n = dft_number_parse(p->text + p->at, v, is_time);
	if (!n)
		fail(p, isdigit((unsigned char)p->text[p->at]) ?
			     "not a number (units are K M G T, ns us ms s min)" :
			     "a number or a string in quotes is expected");
	p->at += n;
	return n > 0;
}

static int parse_list(struct parser *p, int node)
{
	int *link, item;

	if (!take(p, "("))
		return fail(p, "( is expected");
	do {
		item = add(p, OP_VALUE);
		if (item < 0 || !parse_value(p, &p->w->v[item].value, &p->w->v[item].is_time))
			return -1;
		link = &p->w->v[node].first;
		while (*link >= 0)
			link = &p->w->v[*link].next;
		*link = item;
	} while (take(p, ","));
	return take(p, ")") ? node : fail(p, ", or ) is expected");
}

static int parse_pattern(struct parser *p, int node)
{
	struct node *n = &p->w->v[node];
	size_t start;
	int rc;

	skip_space(p);
	start = p->at;
	if (p->text[p->at] != '"' && p->text[p->at] != '\'')
		return fail(p, "a pattern in quotes is expected");
	if (!parse_string(p, &n->value))
		return -1;
	rc = n->value.s.n > MAX_PATTERN ? REG_ESPACE :
	     regcomp(&n->re, n->value.s.s, REG_EXTENDED | REG_NOSUB);
	n->compiled = !rc;
	if (rc) {
		p->at = start;
		return fail(p, rc == REG_ESPACE ? "the pattern is too long" :
						  "not an extended regular expression");
	}
	return node;
}

static int parse_comparison(struct parser *p)
{
	static const struct {
		const char *token;
		enum op op;
	} ops[] = {
		{ "==", OP_EQ }, { "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE },
		{ "<", OP_LT }, { ">", OP_GT }, { "!~", OP_NO_MATCH }, { "~", OP_MATCH },
		{ "in", OP_IN },
	};
	int node = add(p, OP_EQ);
	size_t i;

	if (node < 0 || !parse_field(p, &p->w->v[node].field))
		return -1;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (take(p, ops[i].token))
			break;
	if (i == sizeof(ops) / sizeof(ops[0]))
		return fail(p, "one of == != < <= > >= ~ !~ in is expected");
	p->w->v[node].op = ops[i].op;
	if (ops[i].op == OP_IN)
		return parse_list(p, node);
	if (ops[i].op == OP_MATCH || ops[i].op == OP_NO_MATCH)
		return parse_pattern(p, node);
	return parse_value(p, &p->w->v[node].value, &p->w->v[node].is_time) ? node : -1;
}

static int parse_or(struct parser *p);

static int parse_unary(struct parser *p)
{
	int node, inner;

	if (p->depth == MAX_DEPTH)
		return fail(p, "too many brackets or nots within each other");
	p->depth++;
	if (take(p, "not")) {
		node = add(p, OP_NOT);
		inner = node < 0 ? -1 : parse_unary(p);
		if (inner < 0)
			return -1;
		p->w->v[node].first = inner;
	} else if (take(p, "(")) {
		node = parse_or(p);
		if (node >= 0 && !take(p, ")"))
			return fail(p, "and, or or ) is expected");
	} else if (take(p, "has")) {
		node = add(p, OP_HAS);
		if (node < 0 || !parse_field(p, &p->w->v[node].field))
			return -1;
	} else {
		node = parse_comparison(p);
	}
	p->depth--;
	return node;
}

/* Operands of one kind stand in a row, however many: only brackets make it deeper. */
static int parse_row(struct parser *p, enum op op, const char *word, int (*operand)(struct parser *))
{
	int first = operand(p), last = first, row, next;

	if (first < 0 || !take(p, word))
		return first;
	row = add(p, op);
	if (row < 0)
		return -1;
	p->w->v[row].first = first;
	do {
		next = operand(p);
		if (next < 0)
			return -1;
		p->w->v[last].next = next;
		last = next;
	} while (take(p, word));
	return row;
}

static int parse_and(struct parser *p)
{
	return parse_row(p, OP_AND, "and", parse_unary);
}

static int parse_or(struct parser *p)
{
	return parse_row(p, OP_OR, "or", parse_and);
}

int dft_where_compile(struct dft_where **out, const char *text, struct dft_where_error *e)
{
	struct dft_where *w = calloc(1, sizeof(*w));
	struct parser p = { .w = w, .e = e };

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->text = strdup(text);
	/* Each string in quotes gives up two bytes and takes one NUL. */
	w->pool = malloc(strlen(text) + 1);
	if (!w->text || !w->pool) {
		dft_where_free(w);
		return -ENOMEM;
	}
	p.text = w->text;
	w->root = parse_or(&p);
	skip_space(&p);
	if (!p.err && p.text[p.at])
		fail(&p, "and, or or the end is expected");
	if (p.err) {
		dft_where_free(w);
		return p.err;
	}
	*out = w;
	return 0;
}

void dft_where_excerpt(char *buf, size_t cap, const char *text, size_t at)
{
	size_t from = at > 30 ? at - 30 : 0;

	snprintf(buf, cap, "%s%.*s^%.30s%s", from ? "..." : "", (int)(at - from), text + from,
		 text + at, strlen(text + at) > 30 ? "..." : "");
}

/* ---- asking --------------------------------------------------------------------------------- */

/* Less than, equal to or greater than 0; false when the two cannot be compared. */
static bool compare(const struct dft_value *a, uint64_t unit, const struct node *n, int *cmp)
{
	const struct dft_value *b = &n->value;
	long double x, y;
	size_t len;

	if ((a->kind == DFT_VALUE_STR) != (b->kind == DFT_VALUE_STR))
		return false;
	if (a->kind == DFT_VALUE_STR) {
		len = a->s.n < b->s.n ? a->s.n : b->s.n;
		*cmp = len ? memcmp(a->s.s, b->s.s, len) : 0;
		if (!*cmp)
			*cmp = a->s.n < b->s.n ? -1 : a->s.n > b->s.n;
		return true;
	}
	if (!n->is_time)
		unit = 1;
	if (a->kind == DFT_VALUE_INT && b->kind == DFT_VALUE_INT) {
		*cmp = a->i * unit < b->i ? -1 : a->i * unit > b->i;
		return true;
	}
	x = (a->kind == DFT_VALUE_INT ? (long double)a->i : a->d) * unit;
	y = b->kind == DFT_VALUE_INT ? (long double)b->i : b->d;
	*cmp = x < y ? -1 : x > y;
	return true;
}

static bool matches(const struct node *n, struct dft_view *v, const struct dft_value *val)
{
	struct dft_str s = dft_view_text(v, val);
	regmatch_t m = { .rm_so = 0, .rm_eo = (regoff_t)s.n };
	char copy[8192];

	/* The length is enough for regexec(), but sanitizers that watch it look for a NUL as well. */
	if (s.n < sizeof(copy)) {
		memcpy(copy, s.s, s.n);
		copy[s.n] = '\0';
		s.s = copy;
	}
	return regexec(&n->re, s.s, 1, &m, REG_STARTEND) == 0;
}

static bool compares(const struct dft_where *w, const struct node *n, struct dft_view *v)
{
	struct dft_value val = dft_view_get(v, &n->field);
	uint64_t unit = dft_view_unit(v, &n->field);
	int cmp;

	/* What is not there is neither equal nor unequal. */
	if (val.kind == DFT_VALUE_NONE)
		return false;
	switch (n->op) {
	case OP_HAS:
		return true;
	case OP_MATCH:
		return matches(n, v, &val);
	case OP_NO_MATCH:
		return !matches(n, v, &val);
	case OP_IN:
		for (int i = n->first; i >= 0; i = w->v[i].next)
			if (compare(&val, unit, &w->v[i], &cmp) && !cmp)
				return true;
		return false;
	default:
		break;
	}
	if (!compare(&val, unit, n, &cmp))
		return n->op == OP_NE;
	return n->op == OP_EQ ? !cmp : n->op == OP_NE ? cmp != 0 : n->op == OP_LT ? cmp < 0 :
	       n->op == OP_LE ? cmp <= 0 : n->op == OP_GT ? cmp > 0 : cmp >= 0;
}

static bool holds(const struct dft_where *w, int at, struct dft_view *v)
{
	const struct node *n = &w->v[at];
	bool all = n->op == OP_AND;

	if (n->op == OP_NOT)
		return !holds(w, n->first, v);
	if (n->op != OP_AND && n->op != OP_OR)
		return compares(w, n, v);
	for (int i = n->first; i >= 0; i = w->v[i].next)
		if (holds(w, i, v) != all)
			return !all;
	return all;
}

bool dft_where_match(const struct dft_where *w, struct dft_view *v)
{
	return !w || holds(w, w->root, v);
}
