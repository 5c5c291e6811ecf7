// SPDX-License-Identifier: MIT
#include "items.h"

#include <string.h>

static bool take(struct dft_items *items, void *to, size_t len)
{
	if ((size_t)(items->end - items->at) < len) {
		items->bad = true;
		return false;
	}
	memcpy(to, items->at, len);
	items->at += len;
	return true;
}

static bool take_text(struct dft_items *items, struct dft_item_text *text)
{
	uint32_t len;

	if (!take(items, &len, sizeof(len)))
		return false;
	if ((size_t)(items->end - items->at) < len) {
		items->bad = true;
		return false;
	}
	text->bytes = items->at;
	text->len = len;
	items->at += len;
	return true;
}

bool dft_items_next(struct dft_items *items, struct dft_item_value *item)
{
	uint8_t tag;

	memset(item, 0, sizeof(*item));
	if (items->bad || items->at == items->end || !take(items, &tag, 1))
		return false;
	item->tag = (enum dft_item)tag;
	switch (tag) {
	case DFT_ITEM_INT:
		return take(items, &item->small, 1) && take_text(items, &item->key) &&
		       take(items, &item->number, sizeof(item->number));
	case DFT_ITEM_STR:
		return take(items, &item->small, 1) && take_text(items, &item->key) &&
		       take_text(items, &item->text);
	case DFT_ITEM_FLOAT:
		return take(items, &item->small, 1) && take_text(items, &item->key) &&
		       take(items, &item->real, sizeof(item->real));
	case DFT_ITEM_REL:
		return take(items, &item->small, 1) && take(items, &item->id, sizeof(item->id));
	case DFT_ITEM_DUR:
		return take(items, &item->id, sizeof(item->id));
	case DFT_ITEM_NAME:
	case DFT_ITEM_CAT:
		return take_text(items, &item->key);
	}
	items->bad = true;
	return false;
}
