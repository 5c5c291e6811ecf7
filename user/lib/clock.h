/* SPDX-License-Identifier: MIT */
#ifndef DFT_CLOCK_H
#define DFT_CLOCK_H

#include <stdint.h>

uint64_t dft_clock_mono_ns(void);
/* CLOCK_REALTIME - CLOCK_MONOTONIC, measured so that the error is below a microsecond. */
int64_t dft_clock_offset_ns(void);

#endif
