// SPDX-License-Identifier: MIT
#include "hash.h"

#include <md5.h>

uint64_t dft_hash(const void *bytes, size_t len)
{
	uint8_t digest[MD5_DIGEST_LENGTH];
	uint64_t value = 0;
	MD5_CTX ctx;

	MD5Init(&ctx);
	MD5Update(&ctx, bytes, len);
	MD5Final(digest, &ctx);
	for (int i = 0; i < MD5_DIGEST_LENGTH; i += 2)
		value = value << 8 | digest[i];
	return value;
}
