// SPDX-License-Identifier: MIT
/* Entities with long and odd strings: every byte there is, and lengths about where they are cut. */
#include <dftracer/dftracer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listen.h"

/* In memory of its own size, so that a sanitizer sees a byte too many. */
static char *string(size_t n, int first)
{
	char *s = malloc(n + 1);

	if (!s)
		exit(3);
	for (size_t i = 0; i < n; i++)
		s[i] = (char)(1 + (first + i) % 255);
	s[n] = 0;
	return s;
}

static void tell(size_t n, int first)
{
	char *s = string(n, first);
	char small[8], hex[DFT_ENTITY_HEX_LEN];

	dft_entity_sanitize(small, sizeof(small), s);
	dft_entity_hex(DFTRACER_C_ENTITY(s, s, DFT_STORE_OTHER, s), hex);
	DFTRACER_C_ENTITY_TYPE(s, DFT_ROLE_OUTPUT, s);
	printf("told %zu %d %s %s %d\n", n, first, hex, small, *s ? dft_entity_safe_char(*s) : -1);
	free(s);
}

static void helpers(void)
{
	char one[1] = { 'x' };

	dft_entity_sanitize(one, 1, "long");
	printf("cut %d\n", one[0]);
	dft_entity_sanitize(one, 0, "long");
	dft_entity_sanitize(NULL, 9, "long");
	dft_entity_sanitize(one, 1, NULL);
	printf("hash %d %d %d\n", dft_entity_hash(NULL, "k") == 0, dft_entity_hash("t", NULL) == 0,
	       dft_entity_hash("t|", "k") != dft_entity_hash("t_", "k"));
	for (int i = 0; i <= 23; i++)
		printf("name %d %s %d\n", i, dft_relation_name((EntityRelation)i),
		       dft_relation_is_event((EntityRelation)i));
}

int main(void)
{
	static const size_t lengths[] = { 0, 1, 30, 31, 32, 33, 254, 255, 256, 257, 5000 };

	helpers();
	listen_begin();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		tell(lengths[i], 'a');
	for (int c = 0; c < 255; c++)
		tell(3, c);
	listen_end();
	listen_print();
	return 0;
}
