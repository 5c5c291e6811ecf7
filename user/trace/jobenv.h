/* SPDX-License-Identifier: MIT */
/* Which part of which job a process is, as resource managers and MPI put it into its environment. */
#ifndef DFT_JOBENV_H
#define DFT_JOBENV_H

#include <stdbool.h>
#include <stddef.h>

/* Strings; empty: not known. Numbers stay as they were written. */
struct dft_job {
	char scheduler[8];
	char id[128];
	char step[64];
	char node[32];
	char rank[16];
	char source[32]; /* the variable that the rank is from */
};

/* Reads an environment, strings with a NUL behind each. Nothing of it but the above is kept. */
void dft_jobenv_scan(const char *env, size_t len, struct dft_job *job);

#endif
