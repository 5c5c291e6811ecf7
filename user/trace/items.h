/* SPDX-License-Identifier: MIT */
/* The stream of items of an annotation (include/dftracer/wire.h): bounds-checked reading. */
#ifndef DFT_ITEMS_H
#define DFT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/dftracer/wire.h"

struct dft_item_text {
	const char *bytes;
	size_t len;
};

struct dft_item_value {
	enum dft_item tag;
	uint8_t small;             /* MetadataType or EntityRelation */
	struct dft_item_text key;  /* the text of NAME and CAT, too */
	struct dft_item_text text;
	int64_t number;            /* of INT */
	uint64_t id;               /* of REL; ns of DUR */
	double real;
};

struct dft_items {
	const char *at, *end;
	bool bad; /* an unknown tag, or the end came within an item */
};

/* The next item; false at the end, or when the rest cannot be understood (then `bad`). */
bool dft_items_next(struct dft_items *items, struct dft_item_value *item);

#endif
