/* SPDX-License-Identifier: MIT */
/* Finds the probes of provider `dftracer` in ELF files, by their stapsdt notes. */
#ifndef DFT_NOTES_H
#define DFT_NOTES_H

#include "elffile.h"
#include "probesites.h"

struct dft_notes {
	struct dft_site *sites; /* by offset, each once */
	size_t n;
	size_t foreign; /* notes of `dftracer` with a name or operands that are not of wire.h */
	size_t refused; /* not at a nop in code, or with a counter that is not in data */
};

/*
 * All probes that can be armed without harm. 0, also when there are none; -E2BIG: more notes than
 * anybody has; or another error. To be freed in any case.
 */
int dft_notes_read(struct dft_notes *notes, const struct dft_elf *elf);
void dft_notes_free(struct dft_notes *notes);

#endif
