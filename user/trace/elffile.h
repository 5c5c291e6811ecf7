/* SPDX-License-Identifier: MIT */
/*
 * ELF files as they come: programs and libraries of 64 bits for this processor. We read files of
 * whoever is traced, often as root, so nothing in them is believed: everything is read by offset
 * and within bounds (a mapping would kill us when the file is cut meanwhile), and work and memory
 * are bounded whatever the headers say.
 */
#ifndef DFT_ELFFILE_H
#define DFT_ELFFILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dft_elf {
	int fd; /* -1: the file is `data` */
	const unsigned char *data;
	uint64_t size;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	size_t nph;
	uint64_t nsh;
};

/*
 * Reads the headers. The fd stays the caller's and must stay open. 0; -ENOEXEC: not an ELF program
 * or library, or a damaged one; -EMEDIUMTYPE: one of another processor, or of 32 bits; or another
 * error.
 */
int dft_elf_open(struct dft_elf *elf, int fd);
int dft_elf_open_memory(struct dft_elf *elf, const void *data, size_t size);
void dft_elf_close(struct dft_elf *elf);

/* Reads all of `len` bytes. 0, -ENODATA: they are not in the file, or another error. */
int dft_elf_read(const struct dft_elf *elf, uint64_t offset, void *to, size_t len);
/*
 * Calls fn for each section header, until it returns nonzero, which is returned. 0, -E2BIG: more
 * than anybody has, or another error.
 */
int dft_elf_sections(const struct dft_elf *elf, int (*fn)(void *ctx, const Elf64_Shdr *sh),
		     void *ctx);
/*
 * The offset in the file of `len` bytes at an address, and the segment that has them; its flags
 * must include `flags`. NULL when they are not in the file.
 */
const Elf64_Phdr *dft_elf_locate(const struct dft_elf *elf, uint64_t address, uint64_t len,
				 uint32_t flags, uint64_t *offset);

/* What the dynamic linker is told. Strings are NULL when they are not there. */
struct dft_elf_needs {
	char *interp;
	char *soname;
	char *rpath, *runpath;
	char **needed;
	size_t nneeded;
};

/* 0, also for a file without such, or -ENOMEM. To be freed in any case. */
int dft_elf_needs(struct dft_elf_needs *needs, const struct dft_elf *elf);
void dft_elf_needs_free(struct dft_elf_needs *needs);

#endif
