// SPDX-License-Identifier: MIT
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "hash.h"

#define NSFS_MAGIC  0x6e736673u
#define PIDFS_MAGIC 0x50494446u

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
	} else if (rec->magic == PIDFS_MAGIC) {
		/* Its entry has the name "/"; the kernel makes this one up when it is asked. */
		DFT_BUF_LIT(out, "anon_inode:[pidfd]");
	} else if (rec->cls == DFT_CLASS_ANON) {
		DFT_BUF_LIT(out, "anon_inode:");
		dft_buf_append(out, path + (len ? 1 : 0), len ? len - 1 : 0);
	} else {
		dft_buf_append(out, path, len);
	}
}

/* A new one in the place of `old`, which may be NULL. */
static struct dft_name *replace(struct dft_names *names, struct dft_name *old, uint64_t id,
				const char *text, size_t len)
{
	struct dft_name *name = malloc(sizeof(*name) + len);

	if (!name || dft_map_put(&names->by_id, id, name)) {
		free(name);
		return NULL;
	}
	free(old);
	name->id = id;
	name->len = (uint32_t)len;
	memcpy(name->text, text, len);
	name->fhash = dft_hash(text, len);
	name->excluded = false;
	return name;
}

struct dft_name *dft_names_put(struct dft_names *names, const struct dft_rec_name *rec)
{
	struct dft_name *name = dft_map_get(&names->by_id, rec->id);
	struct dft_buf floating = DFT_BUF_INIT;
	const char *text = rec->path;
	size_t len = rec->len;

	if (rec->flags & DFT_NAME_FLOATING) {
		compose_floating(&floating, rec);
		if (floating.failed) {
			dft_buf_free(&floating);
			return NULL;
		}
		text = floating.data;
		len = floating.len;
	} else if (!len) {
		text = "/"; /* the root itself: no component */
		len = 1;
	}
	/* Sent again, as most are sooner or later. */
	if (!name || name->len != len || memcmp(name->text, text, len))
		name = replace(names, name, rec->id, text, len);
	dft_buf_free(&floating);
	if (!name)
		return NULL;
	name->flags = rec->flags;
	name->cls = rec->cls;
	name->magic = rec->magic;
	name->age = names->age;
	return name;
}

struct dft_name *dft_names_get(const struct dft_names *names, uint64_t id)
{
	return id ? dft_map_get(&names->by_id, id) : NULL;
}

void dft_names_begin(struct dft_names *names)
{
	names->age++;
}

void dft_names_keep(struct dft_names *names, uint64_t id)
{
	struct dft_name *name = dft_names_get(names, id);

	if (name)
		name->age = names->age;
}

int dft_names_drop(struct dft_names *names, void (*gone)(void *ctx, const struct dft_name *name),
		   void *ctx)
{
	struct dft_map left = { 0 };
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&names->by_id, &at))) {
		struct dft_name *name = slot->value;

		if (name->age == names->age && dft_map_put(&left, name->id, name)) {
			dft_map_free(&left);
			return -ENOMEM;
		}
	}
	at = 0;
	while ((slot = dft_map_next(&names->by_id, &at))) {
		struct dft_name *name = slot->value;

		if (name->age != names->age) {
			gone(ctx, name);
			free(name);
		}
	}
	dft_map_free(&names->by_id);
	names->by_id = left;
	return 0;
}

void dft_names_free(struct dft_names *names)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&names->by_id, &at)))
		free(slot->value);
	dft_map_free(&names->by_id);
}
