/* SPDX-License-Identifier: MIT */
/*
 * The one place that writes JSON: compact, keys in the order written, always valid (RFC 8259) and
 * always UTF-8 whatever bytes come in.
 */
#ifndef DFT_JSON_H
#define DFT_JSON_H

#include "buf.h"

struct dft_json {
	struct dft_buf *buf;
	bool comma; /* something stands before in the innermost object or array */
};

/*
 * What is written often is written with a pen: into room reserved once for several members, without
 * looking whether each fits. A pen that is a plain local variable costs nothing: the compiler has it
 * in registers, and knows where a comma is due. All that is below is made of it.
 */
struct dft_pen {
	char *at;
	bool comma;
};

/* Room for one member: an integer or hash, and a key of up to so many characters. */
#define DFT_PEN_KEY    19
#define DFT_PEN_MEMBER (sizeof(",\"\":") - 1 + DFT_PEN_KEY + DFT_PUT_INT)

/* Begins writing so many members, and `more` bytes. False and `failed` when there is no memory. */
static __always_inline bool dft_pen_begin(struct dft_pen *pen, const struct dft_json *json,
					  size_t members, size_t more)
{
	pen->at = dft_buf_reserve(json->buf, members * DFT_PEN_MEMBER + more);
	pen->comma = json->comma;
	return pen->at;
}

static __always_inline void dft_pen_end(const struct dft_pen *pen, struct dft_json *json)
{
	dft_buf_filled(json->buf, pen->at);
	json->comma = pen->comma;
}

/* The functions of a pen: as those of the same names below. */

/* A key of known length; the value follows, with NULL as its key. */
static __always_inline void dft_pen_named(struct dft_pen *pen, const char *key, size_t len)
{
	if (pen->comma)
		*pen->at++ = ',';
	pen->comma = false;
	*pen->at++ = '"';
	pen->at = dft_put(pen->at, key, len);
	pen->at = DFT_PUT_LIT(pen->at, "\":");
}

static __always_inline void dft_pen_key(struct dft_pen *pen, const char *key)
{
	if (key)
		dft_pen_named(pen, key, strlen(key));
	else if (pen->comma)
		*pen->at++ = ',';
	pen->comma = true;
}

static __always_inline void dft_pen_object(struct dft_pen *pen, const char *key)
{
	dft_pen_key(pen, key);
	*pen->at++ = '{';
	pen->comma = false;
}

static __always_inline void dft_pen_object_end(struct dft_pen *pen)
{
	*pen->at++ = '}';
	pen->comma = true;
}

static __always_inline void dft_pen_u64(struct dft_pen *pen, const char *key, uint64_t value)
{
	dft_pen_key(pen, key);
	if (__builtin_constant_p(value) && value < 10)
		*pen->at++ = (char)('0' + value);
	else
		pen->at = dft_put_u64(pen->at, value);
}

static __always_inline void dft_pen_i64(struct dft_pen *pen, const char *key, int64_t value)
{
	dft_pen_key(pen, key);
	pen->at = dft_put_i64(pen->at, value);
}

static __always_inline void dft_pen_hash(struct dft_pen *pen, const char *key, uint64_t value)
{
	dft_pen_key(pen, key);
	*pen->at++ = '"';
	pen->at = dft_put_hex16(pen->at, value);
	*pen->at++ = '"';
}

/* Strings need room of their own: their length when they need no escaping ... */
static __always_inline void dft_pen_plain(struct dft_pen *pen, const char *key, const char *text,
					  size_t len)
{
	dft_pen_key(pen, key);
	*pen->at++ = '"';
	pen->at = dft_put(pen->at, text, len);
	*pen->at++ = '"';
}

/* ... and dft_json_room() for any bytes. `*good` is set to false when they are not UTF-8. */
size_t dft_json_room(const char *bytes, size_t len);
char *dft_json_escape(char *to, const char *bytes, size_t len, bool *good);

static __always_inline bool dft_pen_str(struct dft_pen *pen, const char *key, const char *bytes,
					size_t len)
{
	bool good = true;

	dft_pen_key(pen, key);
	*pen->at++ = '"';
	pen->at = dft_json_escape(pen->at, bytes, len, &good);
	*pen->at++ = '"';
	return good;
}

/* In an object pass a key (plain ASCII, not escaped), in an array or at the top NULL. */
void dft_json_object(struct dft_json *json, const char *key);
void dft_json_object_end(struct dft_json *json);
void dft_json_array(struct dft_json *json, const char *key);
void dft_json_array_end(struct dft_json *json);
void dft_json_u64(struct dft_json *json, const char *key, uint64_t value);
void dft_json_i64(struct dft_json *json, const char *key, int64_t value);
void dft_json_bool(struct dft_json *json, const char *key, bool value);
/* A value that is JSON already, and valid. */
void dft_json_raw(struct dft_json *json, const char *key, const char *text, size_t len);
/* A short decimal number that reads back as the same, and as no integer; not finite: a string. */
void dft_json_f64(struct dft_json *json, const char *key, double value);
/*
 * A key of any bytes, already as a JSON string with its quotes (see dft_json_str() at the top
 * level). The value follows, with NULL as its key.
 */
void dft_json_quoted_key(struct dft_json *json, const char *quoted, size_t len);
/* A hash: 16 hex digits as a string. */
void dft_json_hash(struct dft_json *json, const char *key, uint64_t value);
void dft_json_cstr(struct dft_json *json, const char *key, const char *value);
/*
 * Any bytes as a string. What is not UTF-8 becomes U+FFFD (one for each maximal ill-formed part, as
 * Unicode recommends); returns false in that case, so that the caller can add the bytes in hex.
 */
bool dft_json_str(struct dft_json *json, const char *key, const char *bytes, size_t len);
/* The bytes as a string of hex digits. */
void dft_json_hex(struct dft_json *json, const char *key, const char *bytes, size_t len);

#endif
