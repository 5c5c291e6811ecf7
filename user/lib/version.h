/* SPDX-License-Identifier: MIT */
/* The one place that states the version; everything else includes or parses this file. */
#ifndef DFT_VERSION_H
#define DFT_VERSION_H

#define DFT_VERSION_MAJOR 0
#define DFT_VERSION_MINOR 1
#define DFT_VERSION_PATCH 0
#define DFT_VERSION "0.1.0"

#endif
