/* SPDX-License-Identifier: MIT */
/* One tracing run, from the fork of CMD or the attach to the last byte written. */
#ifndef DFT_SESSION_H
#define DFT_SESSION_H

#include "config.h"

/*
 * Runs to the end and returns the exit status of dftrace-bpf. When CMD was killed by a signal, the
 * function does not return (see dft_child_exit_as).
 */
int dft_session_run(const struct dft_config *cfg);

#endif
