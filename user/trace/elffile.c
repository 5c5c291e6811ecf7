// SPDX-License-Identifier: MIT
#include "elffile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PHDRS_MAX   1170 /* the kernel executes nothing with more */
#define SHDRS_MAX   65536
#define SHDRS_CHUNK 64
#define DYNS_MAX    65536
#define DYNS_CHUNK  64
#define NEEDED_MAX  4096
#define STRING_MAX  65536

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "this processor is not supported"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

int dft_elf_read(const struct dft_elf *elf, uint64_t offset, void *to, size_t len)
{
	size_t got = 0;

	if (offset > elf->size || len > elf->size - offset)
		return -ENODATA;
	if (!len)
		return 0;
	if (elf->fd < 0) {
		memcpy(to, elf->data + offset, len);
		return 0;
	}
	while (got < len) {
		ssize_t n = pread(elf->fd, (char *)to + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA; /* it has become shorter */
		got += (size_t)n;
	}
	return 0;
}

/* What has not even its headers is damaged; an error of reading stays one. */
static int damaged(int err)
{
	return err == -ENODATA ? -ENOEXEC : err;
}

static int check_header(const Elf64_Ehdr *eh)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != BYTE_ORDER_HERE)
		return -EMEDIUMTYPE;
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return -ENOEXEC;
	return eh->e_machine == MACHINE ? 0 : -EMEDIUMTYPE;
}

/* Numbers of headers that do not fit into the first header are in the first section's. */
static int count_headers(struct dft_elf *elf)
{
	const Elf64_Ehdr *eh = &elf->eh;
	Elf64_Shdr first = { 0 };
	int err = 0;

	elf->nph = eh->e_phnum;
	elf->nsh = eh->e_shnum;
	if (!eh->e_shoff || eh->e_shentsize != sizeof(Elf64_Shdr))
		elf->nsh = 0;
	else if (!eh->e_shnum)
		err = dft_elf_read(elf, eh->e_shoff, &first, sizeof(first));
	if (err)
		return err == -ENODATA ? 0 : err; /* sections are not needed to run it */
	if (!eh->e_shnum)
		elf->nsh = first.sh_size;
	return elf->nph <= PHDRS_MAX ? 0 : -ENOEXEC;
}

static int read_headers(struct dft_elf *elf)
{
	int err = damaged(dft_elf_read(elf, 0, &elf->eh, sizeof(elf->eh)));

	if (!err)
		err = check_header(&elf->eh);
	if (!err)
		err = count_headers(elf);
	if (err || !elf->nph)
		return err;
	if (elf->eh.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	elf->ph = calloc(elf->nph, sizeof(*elf->ph));
	if (!elf->ph)
		return -ENOMEM;
	return damaged(dft_elf_read(elf, elf->eh.e_phoff, elf->ph, elf->nph * sizeof(*elf->ph)));
}

static int open_any(struct dft_elf *elf)
{
	int err = read_headers(elf);

	if (err)
		dft_elf_close(elf);
	return err;
}

int dft_elf_open(struct dft_elf *elf, int fd)
{
	struct stat st;

	*elf = (struct dft_elf){ .fd = fd };
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	elf->size = (uint64_t)st.st_size;
	return open_any(elf);
}

int dft_elf_open_memory(struct dft_elf *elf, const void *data, size_t size)
{
	*elf = (struct dft_elf){ .fd = -1, .data = data, .size = size };
	return open_any(elf);
}

void dft_elf_close(struct dft_elf *elf)
{
	free(elf->ph);
	*elf = (struct dft_elf){ .fd = -1 };
}

int dft_elf_sections(const struct dft_elf *elf, int (*fn)(void *ctx, const Elf64_Shdr *sh),
		     void *ctx)
{
	Elf64_Shdr chunk[SHDRS_CHUNK];
	int err = 0;

	if (elf->nsh > SHDRS_MAX)
		return -E2BIG;
	for (uint64_t i = 0; i < elf->nsh && !err; i += SHDRS_CHUNK) {
		uint64_t n = elf->nsh - i < SHDRS_CHUNK ? elf->nsh - i : SHDRS_CHUNK;
		uint64_t offset;

		if (__builtin_add_overflow(elf->eh.e_shoff, i * sizeof(*chunk), &offset))
			return -ENODATA;
		err = dft_elf_read(elf, offset, chunk, n * sizeof(*chunk));
		for (uint64_t k = 0; k < n && !err; k++)
			err = fn(ctx, &chunk[k]);
	}
	return err;
}

const Elf64_Phdr *dft_elf_locate(const struct dft_elf *elf, uint64_t address, uint64_t len,
				 uint32_t flags, uint64_t *offset)
{
	for (size_t i = 0; i < elf->nph; i++) {
		const Elf64_Phdr *ph = &elf->ph[i];
		uint64_t into = address - ph->p_vaddr;

		if (ph->p_type != PT_LOAD || address < ph->p_vaddr || into >= ph->p_filesz)
			continue;
		if (len > ph->p_filesz - into || (ph->p_flags & flags) != flags)
			return NULL;
		if (__builtin_add_overflow(ph->p_offset, into, offset) || *offset > elf->size ||
		    len > elf->size - *offset)
			return NULL;
		return ph;
	}
	return NULL;
}

/* ---- what the dynamic linker is told ------------------------------------------------------- */

/* A string of at most `room` bytes with its NUL, or else NULL. 0 or -ENOMEM. */
static int read_string(const struct dft_elf *elf, uint64_t offset, uint64_t room, char **out)
{
	size_t len = 0, cap = 0;
	char *text = NULL;

	*out = NULL;
	if (offset >= elf->size)
		return 0;
	if (room > elf->size - offset)
		room = elf->size - offset;
	if (room > STRING_MAX)
		room = STRING_MAX;
	while (len < room) {
		size_t n = room - len < 256 ? room - len : 256;

		if (cap - len < n) {
			char *more = realloc(text, cap = cap ? cap * 2 : 256);

			if (!more) {
				free(text);
				return -ENOMEM;
			}
			text = more;
		}
		if (dft_elf_read(elf, offset + len, text + len, n))
			break;
		if (memchr(text + len, 0, n)) {
			*out = text;
			return 0;
		}
		len += n;
	}
	free(text);
	return 0;
}

/* The dynamic section, as far as it matters here. */
struct dynamic {
	uint64_t strtab, strsz;
	uint64_t soname, rpath, runpath; /* into strtab; UINT64_MAX = not there */
	uint64_t *needed;
	size_t nneeded;
};

static int note_needed(struct dynamic *dyn, uint64_t value)
{
	/* Doubled whenever the number is a power of two. */
	if (!(dyn->nneeded & (dyn->nneeded - 1))) {
		size_t cap = dyn->nneeded ? dyn->nneeded * 2 : 1;
		uint64_t *more = realloc(dyn->needed, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		dyn->needed = more;
	}
	dyn->needed[dyn->nneeded++] = value;
	return 0;
}

static int note_dyn(struct dynamic *dyn, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_STRTAB:
		dyn->strtab = d->d_un.d_ptr;
		break;
	case DT_STRSZ:
		dyn->strsz = d->d_un.d_val;
		break;
	case DT_SONAME:
		dyn->soname = d->d_un.d_val;
		break;
	case DT_RPATH:
		dyn->rpath = d->d_un.d_val;
		break;
	case DT_RUNPATH:
		dyn->runpath = d->d_un.d_val;
		break;
	case DT_NEEDED:
		if (dyn->nneeded < NEEDED_MAX)
			return note_needed(dyn, d->d_un.d_val);
		break;
	}
	return 0;
}

static int read_dynamic(struct dynamic *dyn, const struct dft_elf *elf, const Elf64_Phdr *ph)
{
	uint64_t total = ph->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn chunk[DYNS_CHUNK];

	if (ph->p_offset > elf->size)
		return 0;
	if (total > DYNS_MAX)
		total = DYNS_MAX;
	for (uint64_t i = 0; i < total; i += DYNS_CHUNK) {
		uint64_t n = total - i < DYNS_CHUNK ? total - i : DYNS_CHUNK;

		if (dft_elf_read(elf, ph->p_offset + i * sizeof(*chunk), chunk, n * sizeof(*chunk)))
			return 0;
		for (uint64_t k = 0; k < n; k++) {
			int err = note_dyn(dyn, &chunk[k]);

			if (err || chunk[k].d_tag == DT_NULL)
				return err;
		}
	}
	return 0;
}

/* The string at `at` of the string table that begins at `base` of the file. */
static int dyn_string(const struct dft_elf *elf, const struct dynamic *dyn, uint64_t base,
		      uint64_t at, char **out)
{
	uint64_t offset;

	*out = NULL;
	if (at >= dyn->strsz || __builtin_add_overflow(base, at, &offset))
		return 0;
	return read_string(elf, offset, dyn->strsz - at, out);
}

static int name_needs(struct dft_elf_needs *needs, const struct dft_elf *elf,
		      const struct dynamic *dyn)
{
	uint64_t base;
	int err;

	if (!dft_elf_locate(elf, dyn->strtab, 1, 0, &base))
		return 0;
	err = dyn_string(elf, dyn, base, dyn->soname, &needs->soname);
	if (!err)
		err = dyn_string(elf, dyn, base, dyn->rpath, &needs->rpath);
	if (!err)
		err = dyn_string(elf, dyn, base, dyn->runpath, &needs->runpath);
	if (err || !dyn->nneeded)
		return err;
	needs->needed = calloc(dyn->nneeded, sizeof(*needs->needed));
	if (!needs->needed)
		return -ENOMEM;
	for (size_t i = 0; i < dyn->nneeded && !err; i++) {
		char **name = &needs->needed[needs->nneeded];

		err = dyn_string(elf, dyn, base, dyn->needed[i], name);
		if (*name)
			needs->nneeded++;
	}
	return err;
}

int dft_elf_needs(struct dft_elf_needs *needs, const struct dft_elf *elf)
{
	struct dynamic dyn = { .soname = UINT64_MAX, .rpath = UINT64_MAX, .runpath = UINT64_MAX };
	bool dynamic = false;
	int err = 0;

	*needs = (struct dft_elf_needs){ 0 };
	for (size_t i = 0; i < elf->nph && !err; i++) {
		const Elf64_Phdr *ph = &elf->ph[i];

		if (ph->p_type == PT_INTERP && !needs->interp)
			err = read_string(elf, ph->p_offset, ph->p_filesz, &needs->interp);
		if (ph->p_type == PT_DYNAMIC && !dynamic) {
			dynamic = true;
			err = read_dynamic(&dyn, elf, ph);
		}
	}
	if (!err && dynamic)
		err = name_needs(needs, elf, &dyn);
	free(dyn.needed);
	return err;
}

void dft_elf_needs_free(struct dft_elf_needs *needs)
{
	for (size_t i = 0; i < needs->nneeded; i++)
		free(needs->needed[i]);
	free(needs->needed);
	free(needs->interp);
	free(needs->soname);
	free(needs->rpath);
	free(needs->runpath);
	*needs = (struct dft_elf_needs){ 0 };
}
