// SPDX-License-Identifier: MIT
/* Runs a fuzz target over files: the corpus is a test, with or without a fuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *data = malloc(1 << 24);
		size_t size;

		if (!file || !data) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, 1 << 24, file);
		if (ferror(file)) {
			perror(argv[i]);
			return 1;
		}
		fclose(file);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
		printf("ok %s\n", argv[i]);
	}
	return 0;
}
