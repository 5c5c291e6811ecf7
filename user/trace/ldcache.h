/* SPDX-License-Identifier: MIT */
/* The dynamic linker's cache of libraries, /etc/ld.so.cache, as glibc's ldconfig writes it. */
#ifndef DFT_LDCACHE_H
#define DFT_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls fn with each path that the cache has for a library of this name and of this processor's
 * 64-bit kind (there are several where a library comes in variants for processors), until it
 * returns true. Anything may be in `data`.
 */
void dft_ldcache_find(const char *data, size_t size, const char *name,
		      bool (*fn)(void *ctx, const char *path), void *ctx);

#endif
