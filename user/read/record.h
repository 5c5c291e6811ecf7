/* SPDX-License-Identifier: MIT */
/*
 * One line of a trace as a record. Both dialects are read: the one of 2026 with integers for `ph`,
 * and the one of 2025 with letters. Unknown keys, kinds and types are no errors here.
 */
#ifndef DFT_RECORD_H
#define DFT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "jsonr.h"

/* The format's numbers; OTHER stands for any that we do not know. */
enum dft_ph {
	DFT_PH_NONE = 0, /* no `ph`, or not a number or letter of the format */
	DFT_PH_COMPLETE = 1,
	DFT_PH_COUNTER = 2,
	DFT_PH_AGGREGATED = 3,
	DFT_PH_METADATA = 4,
	DFT_PH_OTHER = 255,
};

enum dft_field {
	DFT_F_ID = 1 << 0,
	DFT_F_NAME = 1 << 1,
	DFT_F_CAT = 1 << 2,
	DFT_F_TYPE = 1 << 3,
	DFT_F_PID = 1 << 4,
	DFT_F_TID = 1 << 5,
	DFT_F_TS = 1 << 6,
	DFT_F_DUR = 1 << 7,
	DFT_F_PH = 1 << 8,
	DFT_F_ARGS = 1 << 9,
};

/* The format's numbers for `type`, those that matter here. */
enum dft_origin {
	DFT_BY_TRACER = 1,
	DFT_BY_C = 2,
	DFT_BY_PYTHON = 6,
	DFT_BY_CPP = 9,
};

struct dft_record {
	unsigned int has;   /* enum dft_field: there, and of the type that the format asks for */
	unsigned int wrong; /* there, but of another type or out of range; read as 0 or "" */
	enum dft_ph ph;
	bool letter; /* `ph` was a letter: a record of the 2025 dialect */
	uint64_t id, type, pid, tid, ts, dur;
	struct dft_str name, cat;
	const struct dft_jsonr_node *args; /* NULL when absent */
};

/*
 * Returns 1 with a record; 0 for a line that is none and need not be (blank, or a lone bracket of
 * an array); -EBADMSG, j->err saying what is wrong at j->err_off; -ENOMEM. A comma after the record
 * is passed over. The record points into the line and into j.
 */
int dft_record_parse(struct dft_record *r, struct dft_jsonr *j, const char *line, size_t n);

/*
 * Made by the program itself, through DFTracer's interface for C, C++ or Python: its names,
 * categories and args are the program's own, whatever they look like. The dialect of 2025 does not
 * tell.
 */
bool dft_is_of_app(const struct dft_record *r);

/* Made by the tracer about itself: cat "dftracer", and where there are types that of the tracer. */
bool dft_is_of_tracer(const struct dft_record *r);

/* What it says first of a process, and what last. */
static inline bool dft_is_start(const struct dft_record *r)
{
	return r->ph == DFT_PH_COMPLETE && DFT_STR_IS(r->name, "start") && dft_is_of_tracer(r);
}

static inline bool dft_is_end(const struct dft_record *r)
{
	return r->ph == DFT_PH_COMPLETE && DFT_STR_IS(r->name, "end") && dft_is_of_tracer(r);
}

/* The tracer's account of one run of a program: which files went into it, and what came out. */
bool dft_is_of_run(const struct dft_record *r);

/* Name of a field as in the format. */
const char *dft_field_name(unsigned int field);

/*
 * The number in a hash as the format writes it: 16 lowercase hex digits in a string. With `old`
 * also a decimal number, as in 2025. False for anything else.
 */
bool dft_hash_value(struct dft_jsonr *j, const struct dft_jsonr_node *n, bool old, uint64_t *v);

/* The same for bare text. */
bool dft_hex16(struct dft_str s, uint64_t *v);

/* Text that is a decimal number and nothing else. */
bool dft_decimal(struct dft_str s, uint64_t *v);

/*
 * The original bytes of an FH, SH or HH: args.raw in hex where there is one, else args.name.
 * Returns 1; 0 when neither is there in a proper form; -ENOMEM. `buf` is grown as needed.
 */
struct dft_bytes {
	char *buf;
	size_t cap;
};
int dft_original_name(struct dft_jsonr *j, const struct dft_jsonr_node *args,
		      struct dft_bytes *buf, struct dft_str *out);

/* The hash of a name: by the rule of 2026, or with `old` by that of 2025. */
uint64_t dft_name_hash(struct dft_str name, bool old);

#endif
