// SPDX-License-Identifier: MIT
#include "lines.h"


uint64_t dft_line_us(const struct dft_engine *engine, uint64_t mono_ns)
{
	return (mono_ns + (uint64_t)engine->clock_offset_ns) / 1000;
}

void dft_line_begin(struct dft_json *json, struct dft_proc *proc)
{
	json->buf = &proc->lines;
	json->comma = false;
	dft_json_object(json, NULL);
}

void dft_line_end(struct dft_json *json)
{
	dft_json_object_end(json);
	dft_buf_putc(json->buf, '\n');
}

void dft_metadata_of(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
		     uint32_t tid, const char *name, unsigned int type)
{
	dft_line_begin(json, proc);
	dft_json_cstr(json, "name", name);
	dft_json_cstr(json, "cat", "dftracer");
	dft_json_u64(json, "type", type);
	dft_json_u64(json, "pid", proc->pid);
	dft_json_u64(json, "tid", tid);
	dft_json_u64(json, "ph", DFT_PH_METADATA);
	dft_json_object(json, "args");
	dft_json_hash(json, "hhash", engine->hhash);
}

void dft_metadata_begin(struct dft_json *json, struct dft_engine *engine, struct dft_proc *proc,
			const char *name, unsigned int type)
{
	dft_metadata_of(json, engine, proc, proc->pid, name, type);
}

void dft_metadata_end(struct dft_json *json)
{
	dft_json_object_end(json);
	dft_line_end(json);
}

void dft_metadata_write(struct dft_engine *engine, struct dft_proc *proc, const char *name,
			const char *key, const char *value)
{
	struct dft_json json;

	dft_metadata_begin(&json, engine, proc, name, DFT_LINE_DFTRACER);
	dft_json_cstr(&json, "name", key);
	dft_json_cstr(&json, "value", value);
	dft_metadata_end(&json);
}

void dft_event_end(struct dft_json *json)
{
	struct dft_pen pen;

	if (!dft_pen_begin(&pen, json, 1, 0))
		return;
	dft_pen_object_end(&pen);
	dft_pen_object_end(&pen);
	*pen.at++ = '\n';
	dft_pen_end(&pen, json);
}
