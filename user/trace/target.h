/* SPDX-License-Identifier: MIT */
/* Processes that were there before the tracer, seen through /proc. */
#ifndef DFT_TARGET_H
#define DFT_TARGET_H

#include <stdint.h>
#include <sys/types.h>

#include "engine.h"

/* Can `pid` be attached to? 0, or -errno after one line that says why not. */
int dft_target_check(pid_t pid);
/* Fills what is known; strings that cannot be had stay NULL. The caller frees them. */
void dft_target_describe(uint32_t pid, struct dft_described *out);
/* As whom, where and under what name a process runs. */
struct dft_identified {
	uint32_t uid; /* the real one */
	char comm[DFT_COMM_LEN];
};

/* 0 or -errno. */
int dft_target_identify(uint32_t pid, struct dft_identified *out);
/* The namespaces of the tracer itself. 0 or -errno. */
int dft_target_home(struct dft_scene *out);
/*
 * The process born at `start_ns` (CLOCK_BOOTTIME, 0 = not known) is gone or a zombie; another may
 * have its pid.
 */
bool dft_target_is_gone(uint32_t pid, uint64_t start_ns);

#endif
