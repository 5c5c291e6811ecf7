/* SPDX-License-Identifier: MIT */
/* What kind of work an operation is: that moves data, or metadata. */
#ifndef DFT_CLASSES_H
#define DFT_CLASSES_H

#include "facts.h"

enum dft_class {
	DFT_CLASS_OTHER = 0, /* no input or output, or none that we know */
	/* Data: */
	DFT_CLASS_READ,
	DFT_CLASS_WRITE,
	DFT_CLASS_COPY,
	DFT_CLASS_SYNC,
	DFT_CLASS_FAULT,
	/* Metadata: */
	DFT_CLASS_OPEN,
	DFT_CLASS_CLOSE,
	DFT_CLASS_STAT,
	DFT_CLASS_READDIR,
	DFT_CLASS_NAMES,
	DFT_CLASS_ATTRIBUTES,
	DFT_CLASS_SIZE,
	DFT_CLASS_SEEK,
	DFT_CLASS_MAP,
	DFT_CLASS_CONTROL,
	/* Neither: */
	DFT_CLASS_PROCESS,
	DFT_CLASSES,
};

enum dft_class dft_class_of(struct dft_str cat, struct dft_str name);
const char *dft_class_name(enum dft_class c);

static inline bool dft_class_is_data(enum dft_class c)
{
	return c >= DFT_CLASS_READ && c <= DFT_CLASS_FAULT;
}

static inline bool dft_class_is_meta(enum dft_class c)
{
	return c >= DFT_CLASS_OPEN && c <= DFT_CLASS_CONTROL;
}

#endif
