/* SPDX-License-Identifier: MIT */
/* The files that a process has mapped to be executed, out of /proc. */
#ifndef DFT_MAPPINGS_H
#define DFT_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dft_mapping {
	uint64_t start, end;
	uint64_t ino;
	uint32_t dev;	  /* kernel encoding: major << 20 | minor */
	const char *path; /* as the process, or we, see it; perhaps with " (deleted)" */
};

/* A line of /proc/PID/maps, changed by this. True when it is an executable mapping of a file. */
bool dft_mapping_parse(char *line, struct dft_mapping *out);
/*
 * Calls fn with each, until it returns true. 0, or -errno; -ESRCH: the process has gone, or is
 * about to.
 */
int dft_mappings_each(pid_t pid,
		      bool (*fn)(void *ctx, pid_t tid, const struct dft_mapping *mapping),
		      void *ctx);
/* Has the process this file mapped to be executed? 1, 0, or as dft_mappings_each(). */
int dft_mappings_has(pid_t pid, uint32_t dev, uint64_t ino);
/* Has anybody this file mapped to be executed, as far as we may see? */
bool dft_mappings_used(uint32_t dev, uint64_t ino);
/*
 * The mapped file itself, whatever has become of its name. `tid` as fn got it. An fd with O_PATH,
 * so that nothing happens to what is opened; or -errno.
 */
int dft_mapping_open(pid_t tid, const struct dft_mapping *mapping);
/* An absolute path as the process sees it; symbolic links do not lead out of its root. As above. */
int dft_mapping_open_path(pid_t pid, const char *path);

#endif
