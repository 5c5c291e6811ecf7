/* SPDX-License-Identifier: MIT */
/* Names as processes write them -> names without symbolic links, as the kernel has them. */
#ifndef DFT_RESOLVE_H
#define DFT_RESOLVE_H

#include <limits.h>

#include "engine.h"

#define DFT_RESOLVER_DIRS 64

struct dft_resolver_dir {
	uint64_t key; /* of process and name */
	char *path;
	size_t len;
	uint32_t magic, mode;
};

struct dft_resolver {
	struct dft_resolver_dir dirs[DFT_RESOLVER_DIRS];
	size_t n;
	uint64_t since_ns;       /* of the oldest one */
	char path[PATH_MAX + 1]; /* of the last one that is not a directory */
};

/* As dft_engine_ops has it; `home`: the mount namespace of the tracer. */
int dft_resolver_look(struct dft_resolver *resolver, const struct dft_proc *proc, uint32_t home,
		      enum dft_resolve how, const char *path, size_t len, struct dft_resolved *out);
void dft_resolver_free(struct dft_resolver *resolver);

#endif
