// SPDX-License-Identifier: MIT
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "hash.h"

#define NSFS_MAGIC 0x6e736673u

/* Files outside the tree, spelt as /proc/PID/fd and strace -y do. */
static void compose_floating(struct dft_buf *out, const struct dft_rec_name *rec)
{
	const char *path = rec->path;
	size_t len = rec->len;
	const char *prefix = NULL;

	if (rec->cls == DFT_CLASS_PIPE)
		prefix = "pipe:[";
	else if (rec->cls == DFT_CLASS_SOCKET)
		prefix = "socket:[";
	else if (rec->magic == NSFS_MAGIC)
		prefix = "nsfs:[";
	if (prefix) {
		dft_buf_puts(out, prefix);
		dft_buf_u64(out, rec->ino);
		dft_buf_putc(out, ']');
	} else if (rec->cls == DFT_CLASS_ANON) {
		DFT_BUF_LIT(out, "anon_inode:");
		dft_buf_append(out, path + (len ? 1 : 0), len ? len - 1 : 0);
	} else {
		dft_buf_append(out, path, len);
	}
}

struct dft_name *dft_names_put(struct dft_names *names, const struct dft_rec_name *rec)
{
	struct dft_name *name = dft_map_get(&names->by_id, rec->id);
	struct dft_buf text = DFT_BUF_INIT;

	if (rec->flags & DFT_NAME_FLOATING)
		compose_floating(&text, rec);
	else if (!rec->len)
		dft_buf_putc(&text, '/'); /* the root itself: no component */
	else
		dft_buf_append(&text, rec->path, rec->len);
	if (text.failed) {
		dft_buf_free(&text);
		return NULL;
	}
	if (!name) {
		name = calloc(1, sizeof(*name));
		if (!name || dft_map_put(&names->by_id, rec->id, name)) {
			free(name);
			dft_buf_free(&text);
			return NULL;
		}
	}
	free(name->text);
	name->id = rec->id;
	name->text = text.data;
	name->len = (uint32_t)text.len;
	name->flags = rec->flags;
	name->cls = rec->cls;
	name->fhash = dft_hash(text.data, text.len);
	return name;
}

struct dft_name *dft_names_get(const struct dft_names *names, uint64_t id)
{
	return id ? dft_map_get(&names->by_id, id) : NULL;
}

void dft_names_free(struct dft_names *names)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&names->by_id, &at))) {
		struct dft_name *name = slot->value;

		free(name->text);
		free(name);
	}
	dft_map_free(&names->by_id);
}
