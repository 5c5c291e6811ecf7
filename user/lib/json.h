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

/* In an object pass a key (plain ASCII, not escaped), in an array or at the top NULL. */
void dft_json_object(struct dft_json *json, const char *key);
void dft_json_object_end(struct dft_json *json);
void dft_json_array(struct dft_json *json, const char *key);
void dft_json_array_end(struct dft_json *json);
void dft_json_u64(struct dft_json *json, const char *key, uint64_t value);
void dft_json_i64(struct dft_json *json, const char *key, int64_t value);
void dft_json_bool(struct dft_json *json, const char *key, bool value);
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
