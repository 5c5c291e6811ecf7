/* SPDX-License-Identifier: MIT */
/* Hashes of the trace format. */
#ifndef DFT_HASH_H
#define DFT_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * hhash, fhash, shash: bytes 0, 2, 4 ... 14 of the MD5 of the bytes. Printed as 16 hex digits, most
 * significant first, the value is the text of the format.
 */
uint64_t dft_hash(const void *bytes, size_t len);

#endif
