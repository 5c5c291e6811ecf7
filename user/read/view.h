/* SPDX-License-Identifier: MIT */
/*
 * A record as people ask for it: its fields by name, with what stands elsewhere in the trace beside
 * it - the names behind its hashes, the host, the program and rank of its process, the unit of its
 * times. One view belongs to one thread; memory is bounded by distinct names and processes.
 */
#ifndef DFT_VIEW_H
#define DFT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"
#include "naming.h"
#include "process.h"
#include "record.h"
#include "source.h"
#include "tables.h"

struct dft_view {
	struct dft_naming names;
	struct dft_strings programs;
	struct dft_index program_at; /* by text */
	uint64_t base_ns;            /* what `time` counts from; the caller's */
	struct dft_processes processes;
	struct dft_index runs;       /* process -> place of its program's name */
	struct dft_index ranks;      /* process -> rank + 1 */
	/* Of the file at hand: */
	const char *source;
	uint64_t unit_ns;            /* of ts and dur */
	/* The record at hand: */
	const struct dft_record *r;
	struct dft_jsonr *json;
	uint64_t line;
	size_t process;              /* its number */
	uint64_t program, rank;      /* as in the tables above; 0: not known */
	struct dft_facts facts;
	bool have_facts;
	char text[64];               /* of a number that is wanted as text */
};

void dft_view_free(struct dft_view *v);
void dft_view_begin_file(struct dft_view *v, const char *source);
/* Takes up the record, and learns what it tells of others. 0 or -ENOMEM. */
int dft_view_take(struct dft_view *v, const struct dft_record *r, struct dft_jsonr *json,
		  uint64_t line);

/* Of a record that is shown later than it was read. */
struct dft_view_kept {
	uint64_t unit_ns, line, program, rank, source_nr;
};

void dft_view_keep(const struct dft_view *v, struct dft_view_kept *k);
void dft_view_show(struct dft_view *v, const struct dft_view_kept *k, const char *source,
		   const struct dft_record *r, struct dft_jsonr *json);

/* Facts of the record at hand, taken when they are first asked for. */
const struct dft_facts *dft_view_facts(struct dft_view *v);

/* In nanoseconds. */
uint64_t dft_view_ts(const struct dft_view *v);
uint64_t dft_view_dur(struct dft_view *v);
/* Which way bytes went, and how many. */
enum dft_dir dft_view_dir(const struct dft_view *v);
uint64_t dft_view_bytes(struct dft_view *v);
/* False where there is none, or its name is not known. */
bool dft_view_file(struct dft_view *v, struct dft_str *name);
bool dft_view_other(struct dft_view *v, struct dft_str *name);
bool dft_view_host(struct dft_view *v, struct dft_str *name);
bool dft_view_program(const struct dft_view *v, struct dft_str *name);

enum dft_field_kind {
	DFT_FIELD_NONE = 0,
	DFT_FIELD_ID,
	DFT_FIELD_NAME,
	DFT_FIELD_CAT,
	DFT_FIELD_TYPE,
	DFT_FIELD_PID,
	DFT_FIELD_TID,
	DFT_FIELD_TS,
	DFT_FIELD_TIME, /* seconds since base_ns */
	DFT_FIELD_DUR,
	DFT_FIELD_PH,
	DFT_FIELD_FILE,
	DFT_FIELD_OTHER,
	DFT_FIELD_HOST,
	DFT_FIELD_PROGRAM,
	DFT_FIELD_RANK,
	DFT_FIELD_BYTES,
	DFT_FIELD_SOURCE,
	DFT_FIELD_LINE,
	DFT_FIELD_ARG, /* args.KEY, or args.KEY.KEY ... */
};

struct dft_field_ref {
	enum dft_field_kind kind;
	struct dft_str key; /* of DFT_FIELD_ARG; the caller's */
};

/* The field of that name; false when there is none. The key points into the text. */
bool dft_field_parse(struct dft_str text, struct dft_field_ref *ref);
/* What is wrong with a name that is that of no field, and what may have been meant. */
void dft_field_unknown(char *buf, size_t cap, struct dft_str text);

enum dft_value_kind {
	DFT_VALUE_NONE = 0,
	DFT_VALUE_INT,
	DFT_VALUE_REAL,
	DFT_VALUE_STR,
};

struct dft_value {
	enum dft_value_kind kind;
	__int128 i; /* signed and unsigned 64-bit numbers both fit */
	double d;
	struct dft_str s; /* of a real number of a trace: how it stands there */
};

/* Strings are valid until the next record is taken. */
struct dft_value dft_view_get(struct dft_view *v, const struct dft_field_ref *ref);
/* Nanoseconds in one unit of a field that is a time. */
uint64_t dft_view_unit(const struct dft_view *v, const struct dft_field_ref *ref);
/* A value as text, which is the view's own where it is a number. */
struct dft_str dft_view_text(struct dft_view *v, const struct dft_value *val);

#endif
