/* SPDX-License-Identifier: MIT */
/*
 * With DFT_FUZZ_REPLAY defined a fuzz target is an ordinary program that runs its entry over the
 * files, and the files in the directories, that it is given. Exit status 1 when there were none.
 */
#ifndef DFT_FUZZ_REPLAY_H
#define DFT_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef DFT_FUZZ_REPLAY

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t n = 0;

	if (!f || fstat(fileno(f), &st) < 0) {
		perror(path);
		return -1;
	}
	/* Of just that size, so that AddressSanitizer sees any reading beyond it. */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (data)
		n = fread(data, 1, (size_t)st.st_size, f);
	if (!data || n != (size_t)st.st_size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		fclose(f);
		free(data);
		return -1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

static int replay_dir(const char *dir, unsigned int *cnt)
{
	char path[4096];
	struct dirent *e;
	DIR *d = opendir(dir);
	int rc = 0;

	if (!d) {
		perror(dir);
		return -1;
	}
	while (!rc && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		rc = replay_file(path);
		++*cnt;
	}
	closedir(d);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned int cnt = 0;
	struct stat st;
	int rc = 0;

	for (int i = 1; !rc && i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			rc = replay_dir(argv[i], &cnt);
		} else {
			rc = replay_file(argv[i]);
			cnt++;
		}
	}
	fprintf(stderr, "%u inputs replayed\n", cnt);
	return rc || !cnt ? 1 : 0;
}

#endif
#endif
