// SPDX-License-Identifier: MIT
/*
 * Any bytes as an ELF file: probes that are found are at nops in code, each once; and as the
 * dynamic linker's cache: paths that are found end within it.
 */
#include <stdlib.h>
#include <string.h>

#include "ldcache.h"
#include "notes.h"
#include "replay.h"

#include "tests/lib/elfmake.h"

static void must(int cond)
{
	if (!cond)
		abort();
}

static void read_elf(const uint8_t *data, size_t size)
{
	struct dft_elf_needs needs;
	struct dft_notes notes;
	struct dft_elf elf;

	if (dft_elf_open_memory(&elf, data, size))
		return;
	if (!dft_notes_read(&notes, &elf))
		must(!rule_broken(data, size, &notes));
	else
		must(!notes.n);
	dft_notes_free(&notes);
	must(!dft_elf_needs(&needs, &elf));
	for (size_t i = 0; i < needs.nneeded; i++)
		must(strlen(needs.needed[i]) < size);
	dft_elf_needs_free(&needs);
	dft_elf_close(&elf);
}

struct cache {
	const char *data;
	size_t size, found;
};

static bool on_path(void *ctx, const char *path)
{
	struct cache *cache = ctx;

	must(path >= cache->data && path < cache->data + cache->size);
	must(strlen(path) < (size_t)(cache->data + cache->size - path));
	return ++cache->found == 100;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cache cache = { .data = (const char *)data, .size = size };

	read_elf(data, size);
	dft_ldcache_find(cache.data, size, "liba.so", on_path, &cache);
	must(cache.found <= 100);
	dft_ldcache_find(cache.data, size, "", on_path, &cache);
	return 0;
}
