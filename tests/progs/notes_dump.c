// SPDX-License-Identifier: MIT
/*
 * What the tracer finds in ELF files:
 *
 *   notes_dump FILE...    for each: "file FILE RESULT FOREIGN REFUSED", then "site KIND OFFSET SEM"
 *                         (hex), "interp", "soname", "rpath", "runpath" and "needed" lines
 *   notes_dump -t FILE    how long that takes, in ns, the best of many
 *
 * RESULT is 0 or a negative errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "user/trace/elffile.c"
#include "user/trace/notes.c"

static int read_all(const char *path, struct dft_notes *notes, struct dft_elf_needs *needs)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct dft_elf elf;

	*notes = (struct dft_notes){ 0 };
	*needs = (struct dft_elf_needs){ 0 };
	if (fd < 0)
		return -errno;
	err = dft_elf_open(&elf, fd);
	if (!err) {
		err = dft_notes_read(notes, &elf);
		if (!err)
			err = dft_elf_needs(needs, &elf);
		dft_elf_close(&elf);
	}
	close(fd);
	return err;
}

static void print_string(const char *what, const char *text)
{
	if (text)
		printf("%s %s\n", what, text);
}

static void dump(const char *path)
{
	struct dft_elf_needs needs;
	struct dft_notes notes;
	int err = read_all(path, &notes, &needs);

	printf("file %s %d %zu %zu\n", path, err, notes.foreign, notes.refused);
	for (size_t i = 0; i < notes.n; i++)
		printf("site %s %" PRIx64 " %" PRIx64 "\n", probe_names[notes.sites[i].kind],
		       notes.sites[i].offset, notes.sites[i].sem_offset);
	print_string("interp", needs.interp);
	print_string("soname", needs.soname);
	print_string("rpath", needs.rpath);
	print_string("runpath", needs.runpath);
	for (size_t i = 0; i < needs.nneeded; i++)
		print_string("needed", needs.needed[i]);
	dft_elf_needs_free(&needs);
	dft_notes_free(&notes);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void measure(const char *path)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 200; i++) {
		struct dft_notes notes;
		struct dft_elf elf;
		uint64_t t = now_ns();
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (!dft_elf_open(&elf, fd)) {
			dft_notes_read(&notes, &elf);
			dft_notes_free(&notes);
			dft_elf_close(&elf);
		}
		close(fd);
		t = now_ns() - t;
		best = t < best ? t : best;
	}
	printf("%" PRIu64 " ns %s\n", best, path);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-t")) {
		measure(argv[2]);
		return 0;
	}
	for (int i = 1; i < argc; i++)
		dump(argv[i]);
	return 0;
}
