// SPDX-License-Identifier: MIT
#include "prov.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define RENAME_EXCHANGED 2u /* RENAME_EXCHANGE, which needs _GNU_SOURCE and a recent libc */

#define ID_BASIS 1469598103934665603ull /* of the format; that of the textbook is another */
#define ID_PRIME 1099511628211ull

static uint64_t id_add(uint64_t hash, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * ID_PRIME;
	return hash;
}

uint64_t dft_prov_id(const char *type, size_t type_len, const char *head, size_t head_len,
		     const char *tail, size_t tail_len)
{
	uint64_t hash = id_add(ID_BASIS, type, type_len);

	hash = id_add(hash, "\x1f", 1);
	hash = id_add(hash, head, head_len);
	hash = id_add(hash, tail, tail_len);
	return hash ? hash : 1;
}

enum dft_prov_act dft_prov_act_of(const char *event, size_t len)
{
	static const struct {
		const char *event;
		enum dft_prov_act act;
	} acts[] = {
		{ "open", DFT_PROV_OPEN },
		{ "read", DFT_PROV_READ },
		{ "pread", DFT_PROV_READ },
		{ "readv", DFT_PROV_READ },
		{ "preadv", DFT_PROV_READ },
		{ "mmap_read", DFT_PROV_READ },
		{ "write", DFT_PROV_WRITE },
		{ "pwrite", DFT_PROV_WRITE },
		{ "writev", DFT_PROV_WRITE },
		{ "pwritev", DFT_PROV_WRITE },
		{ "mmap_write", DFT_PROV_WRITE },
		{ "copy_file_range", DFT_PROV_COPY_FROM },
		{ "splice", DFT_PROV_COPY_FROM },
		{ "tee", DFT_PROV_COPY_FROM },
		{ "sendfile", DFT_PROV_COPY_TO },
		{ "ficlone", DFT_PROV_SHARE_TO },
		{ "ficlonerange", DFT_PROV_SHARE_TO },
		{ "fallocate", DFT_PROV_CHANGE },
		{ "mmap", DFT_PROV_MAP },
		{ "truncate", DFT_PROV_TRUNCATE },
		{ "ftruncate", DFT_PROV_TRUNCATE },
		{ "unlink", DFT_PROV_UNLINK },
		{ "rename", DFT_PROV_RENAME },
		{ "link", DFT_PROV_LINK },
		{ "execve", DFT_PROV_EXEC },
	};

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strlen(acts[i].event) == len && !memcmp(acts[i].event, event, len))
			return acts[i].act;
	return DFT_PROV_NONE;
}

static unsigned int facts_of_open(const struct dft_prov_call *call)
{
	bool emptied = !call->has_flags || call->flags & O_TRUNC;
	bool nameless = call->flags & DFT_PROV_O_TMPFILE;

	return DFT_PROV_OPENED | (emptied || nameless || call->created ? DFT_PROV_MADE : 0);
}

static unsigned int facts_of_map(const struct dft_prov_call *call)
{
	bool shared = (call->flags & MAP_TYPE) != MAP_PRIVATE;
	bool told = call->faults_seen && !(call->flags & MAP_POPULATE);

	if (call->prot & PROT_EXEC)
		return DFT_PROV_RAN;
	/* Of what can be written, page faults tell whether it was, and whether it was read. */
	if (shared && call->prot & PROT_WRITE)
		return told ? 0 : DFT_PROV_MAPPED | DFT_PROV_WROTE;
	return DFT_PROV_MAPPED;
}

void dft_prov_facts(enum dft_prov_act act, const struct dft_prov_call *call, unsigned int *file,
		    unsigned int *other)
{
	unsigned int wrote = call->ret > 0 ? DFT_PROV_WROTE : 0;

	*file = *other = 0;
	if (call->ret < 0 && act != DFT_PROV_MAP)
		return;
	switch (act) {
	case DFT_PROV_NONE:
		break;
	case DFT_PROV_OPEN:
		*file = facts_of_open(call);
		break;
	case DFT_PROV_READ:
		*file = DFT_PROV_DID_READ;
		break;
	case DFT_PROV_WRITE:
		*file = wrote;
		break;
	case DFT_PROV_COPY_FROM:
		*file = DFT_PROV_DID_READ;
		*other = wrote;
		break;
	case DFT_PROV_COPY_TO:
		*file = wrote;
		*other = DFT_PROV_DID_READ;
		break;
	case DFT_PROV_SHARE_TO:
		*file = DFT_PROV_WROTE;
		*other = DFT_PROV_DID_READ;
		break;
	case DFT_PROV_CHANGE:
		*file = DFT_PROV_WROTE;
		break;
	case DFT_PROV_MAP:
		*file = call->ret == -1 ? 0 : facts_of_map(call);
		break;
	case DFT_PROV_TRUNCATE:
		*file = call->len ? DFT_PROV_WROTE : DFT_PROV_MADE;
		break;
	case DFT_PROV_UNLINK:
		*file = DFT_PROV_UNNAMED;
		break;
	case DFT_PROV_RENAME:
		*file = DFT_PROV_UNNAMED | (call->flags & RENAME_EXCHANGED ? DFT_PROV_NAMED : 0);
		*other = DFT_PROV_NAMED | (call->flags & RENAME_EXCHANGED ? DFT_PROV_UNNAMED : 0);
		break;
	case DFT_PROV_LINK:
		*other = DFT_PROV_NAMED;
		break;
	case DFT_PROV_EXEC:
		*file = *other = DFT_PROV_RAN;
		break;
	}
}

unsigned int dft_prov_relations(unsigned int facts)
{
	unsigned int relations = 0;
	bool made = facts & DFT_PROV_MADE, wrote = facts & DFT_PROV_WROTE;

	if (facts & (DFT_PROV_DID_READ | DFT_PROV_MAPPED | DFT_PROV_RAN))
		relations |= DFT_PROV_USED;
	/* A file that was made for another to fill is that one's work; one left empty is the maker's. */
	if (facts & DFT_PROV_NAMED || (made && (wrote || !(facts & DFT_PROV_HEIR_WROTE))) ||
	    (wrote && facts & DFT_PROV_INHERITED && !(facts & DFT_PROV_OPENED)))
		relations |= DFT_PROV_GENERATED;
	else if (wrote)
		relations |= DFT_PROV_UPDATED;
	if (facts & DFT_PROV_UNNAMED)
		relations |= DFT_PROV_INVALIDATED;
	return relations;
}
