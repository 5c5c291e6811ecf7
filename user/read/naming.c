// SPDX-License-Identifier: MIT
#include "naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dft_naming_free(struct dft_naming *t)
{
	dft_index_free(&t->at);
	dft_strings_free(&t->texts);
	free(t->raw.buf);
	memset(t, 0, sizeof(*t));
}

/* Hashes are well mixed already; one text can be a file's name and a string as well. */
static uint64_t key_of(enum dft_name_kind kind, uint64_t hash)
{
	return hash ^ (uint64_t)kind << 62 ^ (uint64_t)kind;
}

static enum dft_name_kind kind_of(const struct dft_record *r)
{
	if (r->ph != DFT_PH_METADATA || !r->args || r->name.n != 2 || r->name.s[1] != 'H')
		return DFT_NAME_NONE;
	return r->name.s[0] == 'F' ? DFT_NAME_FH : r->name.s[0] == 'S' ? DFT_NAME_SH :
	       r->name.s[0] == 'H' ? DFT_NAME_HH : DFT_NAME_NONE;
}

static int put(struct dft_naming *t, uint64_t key, struct dft_str name)
{
	bool fresh;
	uint64_t *at = dft_index_put(&t->at, key, &fresh);

	if (!at)
		return -ENOMEM;
	return fresh ? dft_strings_add(&t->texts, name, at) : 0;
}

int dft_naming_take(struct dft_naming *t, const struct dft_record *r, struct dft_jsonr *json)
{
	enum dft_name_kind kind = kind_of(r);
	const struct dft_jsonr_node *v;
	struct dft_str name;
	uint64_t hash;
	int rc;

	if (!kind)
		return 0;
	v = dft_jsonr_get(json, r->args, "value");
	if (!v || !dft_hash_value(json, v, r->letter, &hash))
		return 0;
	rc = dft_original_name(json, r->args, &t->raw, &name);
	if (rc == 1)
		rc = put(t, key_of(kind, hash), name);
	else if (!rc)
		return 0;
	return rc < 0 ? rc : 1;
}

bool dft_naming_get(const struct dft_naming *t, enum dft_name_kind kind, uint64_t hash,
		    struct dft_str *name)
{
	const uint64_t *at = dft_index_get(&t->at, key_of(kind, hash));

	if (at)
		*name = dft_strings_at(&t->texts, *at);
	return at != NULL;
}

bool dft_naming_of(const struct dft_naming *t, enum dft_name_kind kind, struct dft_jsonr *json,
		   const struct dft_jsonr_node *arg, bool old, struct dft_str *name)
{
	uint64_t hash;

	return arg && dft_hash_value(json, arg, old, &hash) &&
	       dft_naming_get(t, kind, hash, name);
}

int dft_naming_merge(struct dft_naming *to, const struct dft_naming *from)
{
	for (size_t i = 0; i < from->at.cap; i++) {
		const struct dft_index_slot *slot = &from->at.slots[i];
		int rc;

		if (slot->epoch != from->at.epoch)
			continue;
		rc = put(to, slot->key, dft_strings_at(&from->texts, slot->val));
		if (rc)
			return rc;
	}
	return 0;
}
