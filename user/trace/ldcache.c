// SPDX-License-Identifier: MIT
/*
 * Since glibc 2.2 the format is "1.1"; until 2.31 it was written behind one of the old format, for
 * the sake of old programs. Offsets of strings count from the beginning of the new part.
 */
#include "ldcache.h"

#include <stdint.h>
#include <string.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define MAGIC	  "glibc-ld.so.cache1.1"

#define KIND_ELF_LIBC6 0x0003
#define KIND_TYPE      0x00ff
#define KIND_MACHINE   0xff00
#if defined(__x86_64__)
#define KIND_HERE 0x0300
#elif defined(__aarch64__)
#define KIND_HERE 0x0a00
#else
#error "this processor is not supported"
#endif

struct old_header {
	char magic[sizeof(OLD_MAGIC)]; /* its NUL is padding in the file */
	uint32_t count;
};

struct old_entry {
	uint32_t kind, name, path;
};

struct header {
	char magic[sizeof(MAGIC) - 1];
	uint32_t count;
	uint32_t strings_sz;
	uint8_t flags, pad[3]; /* flags: byte order */
	uint32_t extensions;
	uint32_t unused[3];
};

struct entry {
	uint32_t kind, name, path;
	uint32_t os;
	uint64_t hwcap;
};
_Static_assert(sizeof(struct old_header) == 16 && sizeof(struct old_entry) == 12 &&
		       sizeof(struct header) == 48 && sizeof(struct entry) == 24,
	       "laid out as in the file");

/* Where the new part begins; `size` when there is none. */
static size_t skip_old(const char *data, size_t size)
{
	struct old_header old;
	uint64_t end;

	if (size < sizeof(old) || memcmp(data, OLD_MAGIC, sizeof(OLD_MAGIC) - 1) != 0)
		return 0;
	memcpy(&old, data, sizeof(old));
	end = sizeof(old) + (uint64_t)old.count * sizeof(struct old_entry);
	end = (end + 7) & ~(uint64_t)7;
	return end < size ? (size_t)end : size;
}

/* NULL unless it ends within the file. */
static const char *string_at(const char *data, size_t size, uint32_t offset)
{
	return offset < size && memchr(data + offset, 0, size - offset) ? data + offset : NULL;
}

void dft_ldcache_find(const char *data, size_t size, const char *name,
		      bool (*fn)(void *ctx, const char *path), void *ctx)
{
	size_t skipped = skip_old(data, size), room;
	size_t len = strlen(name) + 1;
	struct header header;
	struct entry entry;

	data += skipped;
	size -= skipped;
	if (size < sizeof(header))
		return;
	memcpy(&header, data, sizeof(header));
	room = (size - sizeof(header)) / sizeof(entry);
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0 || header.count > room)
		return;
	for (uint32_t i = 0; i < header.count; i++) {
		const char *path;

		memcpy(&entry, data + sizeof(header) + i * sizeof(entry), sizeof(entry));
		if ((entry.kind & KIND_TYPE) != KIND_ELF_LIBC6 ||
		    (entry.kind & KIND_MACHINE) != KIND_HERE)
			continue;
		if (entry.name >= size || size - entry.name < len ||
		    memcmp(data + entry.name, name, len) != 0)
			continue;
		path = string_at(data, size, entry.path);
		if (path && fn(ctx, path))
			return;
	}
}
