/* SPDX-License-Identifier: MIT */
/* What all lines of the trace begin and end with. docs/trace-format.md is the norm. */
#ifndef DFT_LINES_H
#define DFT_LINES_H

#include "engine.h"

#define DFT_LINE_DFTRACER 1 /* `type` of records about the trace itself */
#define DFT_LINE_LIBC_IO  3

#define DFT_PH_COMPLETE	  1
#define DFT_PH_AGGREGATED 3
#define DFT_PH_METADATA	  4

#define DFT_EVENT_MEMBERS 12 /* of an event up to and with hhash, the two objects among them */

/* CLOCK_MONOTONIC in ns -> microseconds since the epoch. */
uint64_t dft_line_us(const struct dft_engine *engine, uint64_t mono_ns);

void dft_line_begin(struct dft_json *json, struct dft_proc *proc);
void dft_line_end(struct dft_json *json);

/* Everything of a metadata record up to and with hhash, of the process or a thread; its end. */
void dft_metadata_of(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
		     uint32_t tid, const char *name, unsigned int type);
void dft_metadata_begin(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
			const char *name, unsigned int type);
void dft_metadata_end(struct dft_json *json);
/* A whole one with `name` and `value`. */
void dft_metadata_write(struct dft_engine *engine, struct dft_proc *proc, const char *name,
			const char *key, const char *value);

struct dft_event_head {
	const char *name, *cat;
	size_t name_len, cat_len;
	bool plain; /* both need no escaping: they are ours */
	unsigned int type;
	uint32_t tid;
	uint64_t ts_us, dur_us;
};

/* Everything of an event up to and with hhash, with the next id; inline, for much is constant. */
static __always_inline void dft_event_begin(struct dft_json *json,
					    const struct dft_engine *engine, struct dft_proc *proc,
					    const struct dft_event_head *head)
{
	size_t strings = head->name_len + head->cat_len;
	struct dft_pen pen;

	if (!head->plain)
		strings = dft_json_room(head->name, head->name_len) +
			  dft_json_room(head->cat, head->cat_len);
	json->buf = &proc->lines;
	json->comma = false;
	if (!dft_pen_begin(&pen, json, DFT_EVENT_MEMBERS, strings))
		return;
	dft_pen_object(&pen, NULL);
	dft_pen_u64(&pen, "id", ++proc->next_id);
	if (head->plain) {
		dft_pen_plain(&pen, "name", head->name, head->name_len);
		dft_pen_plain(&pen, "cat", head->cat, head->cat_len);
	} else {
		dft_pen_str(&pen, "name", head->name, head->name_len);
		dft_pen_str(&pen, "cat", head->cat, head->cat_len);
	}
	dft_pen_u64(&pen, "type", head->type);
	dft_pen_u64(&pen, "pid", proc->pid);
	dft_pen_u64(&pen, "tid", head->tid);
	dft_pen_u64(&pen, "ts", head->ts_us);
	dft_pen_u64(&pen, "dur", head->dur_us);
	dft_pen_u64(&pen, "ph", DFT_PH_COMPLETE);
	dft_pen_object(&pen, "args");
	dft_pen_hash(&pen, "hhash", engine->hhash);
	dft_pen_end(&pen, json);
}

/* Its end. */
void dft_event_end(struct dft_json *json);

#endif
