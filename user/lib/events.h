/* SPDX-License-Identifier: MIT */
/* Names of the events that system calls become. */
#ifndef DFT_EVENTS_H
#define DFT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

/* Is any call an event of that name? If not, *nearest is one that may have been meant, or NULL. */
bool dft_event_is_known(const char *text, size_t len, const char **nearest);

#endif
