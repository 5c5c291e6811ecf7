/* SPDX-License-Identifier: MIT */
/* Annotations: from records of probes to lines. include/dftracer/wire.h says what the probes carry. */
#ifndef DFT_ANNOT_H
#define DFT_ANNOT_H

#include "engine.h"

#define DFT_ANNOT_TEXT 255 /* longest uri and description, as DFTracer has them */

/*
 * Into `to`, at most `cut` bytes of a string, what is not allowed in strings of entities replaced; how
 * many. Such strings promise to every reader that they need no escaping.
 */
size_t dft_annot_sanitize(char *to, size_t cut, const char *from, size_t len);

/* A record of a probe, its size checked. The process's opening is written. 0 or -ENOMEM. */
int dft_annot_record(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_annot *rec);
/* What became of a file the process has begun to run, of which there is something to tell. */
void dft_annot_image(struct dft_engine *engine, struct dft_proc *proc,
		     const struct dft_rec_image *rec, const struct dft_image_found *found);

/* `used` and `app`, and `annotations` of the end record. */
void dft_annot_write_layers(struct dft_json *json, const struct dft_proc *proc);
void dft_annot_write_counts(struct dft_json *json, const struct dft_proc *proc);

#endif
