/* SPDX-License-Identifier: MIT */
/*
 * Small ELF files made in memory, for tests to bend: a program with code, data, notes of probes and
 * what a dynamic linker wants; and what must hold of sites, whatever the file.
 *
 *   offset  address              what
 *   0x0000  0x400000  R          headers, strings, dynamic section
 *   0x1000  0x411000  R E        code, filled with bytes that are no nop
 *   0x2000  0x523000  RW         data (0x1000 bytes in the file, 0x1800 in memory)
 *   0x3000                       notes, then names of sections, then section headers
 */
#ifndef DFT_TESTS_ELFMAKE_H
#define DFT_TESTS_ELFMAKE_H

#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/trace/notes.h"

#define MAKE_CODE     0x411000ull
#define MAKE_CODE_OFF 0x1000ull
#define MAKE_DATA     0x523000ull
#define MAKE_DATA_OFF 0x2000ull
#define MAKE_BASE     0x400f00ull /* of .stapsdt.base */
#define MAKE_NOTES    0x3000ull
#define MAKE_STRINGS  0x400ull /* of the dynamic section, up to it */
#define MAKE_DYNAMIC  0xc00ull

#if defined(__x86_64__)
#define MAKE_MACHINE	   EM_X86_64
#define MAKE_OTHER_MACHINE EM_AARCH64
#define MAKE_OPERANDS	   "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9"
#define MAKE_NOP	   "\x0f\x1f\x44\x00\x00"
#define MAKE_NOP_SZ	   5
#else
#define MAKE_MACHINE	   EM_AARCH64
#define MAKE_OTHER_MACHINE EM_X86_64
#define MAKE_OPERANDS	   "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"
#define MAKE_NOP	   "\x1f\x20\x03\xd5"
#define MAKE_NOP_SZ	   4
#endif

enum { MAKE_PH_HEAD, MAKE_PH_CODE, MAKE_PH_DATA, MAKE_PH_DYNAMIC, MAKE_PH_INTERP, MAKE_PHDRS };
enum {
	MAKE_SH_NULL,
	MAKE_SH_CODE,
	MAKE_SH_DATA,
	MAKE_SH_BASE,
	MAKE_SH_NOTES,
	MAKE_SH_NAMES,
	MAKE_SHDRS
};

struct make {
	unsigned char *b;
	size_t cap;
	size_t notes;	/* end of the notes */
	size_t size;	/* of the whole, after make_end() */
	size_t strings; /* end of the strings */
	size_t dyns;	/* dynamic entries */
	Elf64_Ehdr *eh;
	Elf64_Phdr *ph;
	Elf64_Shdr *sh; /* after make_end() */
};

static inline Elf64_Phdr make_load(uint32_t flags, uint64_t offset, uint64_t address)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_flags = flags,
			     .p_offset = offset,
			     .p_vaddr = address,
			     .p_filesz = 0x1000,
			     .p_memsz = 0x1000,
			     .p_align = 0x1000 };
}

static inline void make_begin(struct make *m, size_t room_for_notes)
{
	Elf64_Ehdr *eh;

	memset(m, 0, sizeof(*m));
	m->cap = MAKE_NOTES + room_for_notes + 4096;
	m->b = calloc(1, m->cap);
	if (!m->b)
		abort();
	m->eh = eh = (Elf64_Ehdr *)m->b;
	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = ET_DYN;
	eh->e_machine = MAKE_MACHINE;
	eh->e_version = EV_CURRENT;
	eh->e_ehsize = sizeof(*eh);
	eh->e_phoff = sizeof(*eh);
	eh->e_phentsize = sizeof(Elf64_Phdr);
	eh->e_phnum = MAKE_PHDRS;
	m->ph = (Elf64_Phdr *)(m->b + eh->e_phoff);
	m->ph[MAKE_PH_HEAD] = make_load(PF_R, 0, 0x400000);
	m->ph[MAKE_PH_CODE] = make_load(PF_R | PF_X, MAKE_CODE_OFF, MAKE_CODE);
	m->ph[MAKE_PH_DATA] = make_load(PF_R | PF_W, MAKE_DATA_OFF, MAKE_DATA);
	m->ph[MAKE_PH_DATA].p_memsz = 0x1800;
	memset(m->b + MAKE_CODE_OFF, 0xc3, 0x1000);
	m->notes = MAKE_NOTES;
	m->strings = MAKE_STRINGS + 1;
}

/* A note with any content; `desc` is copied. */
static inline void make_raw_note(struct make *m, const char *owner, size_t owner_sz, uint32_t type,
				 const void *desc, size_t desc_sz)
{
	Elf64_Nhdr nh = { (Elf64_Word)owner_sz, (Elf64_Word)desc_sz, type };

	if (m->notes + sizeof(nh) + owner_sz + desc_sz + 8 > m->cap - 4096)
		abort();
	memcpy(m->b + m->notes, &nh, sizeof(nh));
	memcpy(m->b + m->notes + sizeof(nh), owner, owner_sz);
	m->notes += (sizeof(nh) + owner_sz + 3) & ~(size_t)3;
	memcpy(m->b + m->notes, desc, desc_sz);
	m->notes += (desc_sz + 3) & ~(size_t)3;
}

static inline void make_note_of(struct make *m, const char *provider, const char *name,
				const char *operands, uint64_t address, uint64_t base, uint64_t sem)
{
	uint64_t addresses[3] = { address, base, sem };
	char desc[512];
	size_t n = sizeof(addresses);

	memcpy(desc, addresses, n);
	n += (size_t)snprintf(desc + n, sizeof(desc) - n, "%s", provider) + 1;
	n += (size_t)snprintf(desc + n, sizeof(desc) - n, "%s", name) + 1;
	n += (size_t)snprintf(desc + n, sizeof(desc) - n, "%s", operands) + 1;
	make_raw_note(m, "stapsdt", 8, 3, desc, n);
}

static inline void make_note(struct make *m, const char *name, uint64_t address, uint64_t sem)
{
	make_note_of(m, "dftracer", name, MAKE_OPERANDS, address, MAKE_BASE, sem);
}

static inline void make_nop(struct make *m, uint64_t address)
{
	memcpy(m->b + MAKE_CODE_OFF + (address - MAKE_CODE), MAKE_NOP, MAKE_NOP_SZ);
}

/* A probe as it should be: its note and its nop. */
static inline void make_probe(struct make *m, const char *name, uint64_t address, uint64_t sem)
{
	make_nop(m, address);
	make_note(m, name, address, sem);
}

static inline uint64_t make_string(struct make *m, const char *text)
{
	size_t at = m->strings, len = strlen(text) + 1;

	if (at + len > MAKE_DYNAMIC)
		abort();
	memcpy(m->b + at, text, len);
	m->strings += len;
	return at - MAKE_STRINGS;
}

static inline void make_dyn(struct make *m, int64_t tag, uint64_t value)
{
	Elf64_Dyn dyn = { .d_tag = tag, .d_un.d_val = value };

	if (m->dyns == 48)
		abort();
	memcpy(m->b + MAKE_DYNAMIC + m->dyns++ * sizeof(dyn), &dyn, sizeof(dyn));
}

static inline void make_dyn_string(struct make *m, int64_t tag, const char *text)
{
	make_dyn(m, tag, make_string(m, text));
}

static inline void make_interp(struct make *m, const char *path)
{
	uint64_t at = MAKE_STRINGS + make_string(m, path);

	m->ph[MAKE_PH_INTERP] = make_load(PF_R, at, 0x400000 + at);
	m->ph[MAKE_PH_INTERP].p_type = PT_INTERP;
	m->ph[MAKE_PH_INTERP].p_filesz = strlen(path) + 1;
}

static inline Elf64_Shdr make_section(uint32_t name, uint32_t type, uint64_t offset, uint64_t size)
{
	return (Elf64_Shdr){ .sh_name = name,
			     .sh_type = type,
			     .sh_offset = offset,
			     .sh_size = size,
			     .sh_addralign = 4 };
}

/* Section headers and the end of the dynamic section. The file is then b[0 .. size). */
static inline void make_end(struct make *m)
{
	static const char names[] = "\0.text\0.data\0.stapsdt.base\0.note.stapsdt\0.shstrtab";
	size_t at = (m->notes + 15) & ~(size_t)15, names_at = at;

	if (m->dyns) {
		make_dyn(m, DT_STRTAB, 0x400000 + MAKE_STRINGS);
		make_dyn(m, DT_STRSZ, m->strings - MAKE_STRINGS);
		make_dyn(m, DT_NULL, 0);
		m->ph[MAKE_PH_DYNAMIC] = make_load(PF_R, MAKE_DYNAMIC, 0x400000 + MAKE_DYNAMIC);
		m->ph[MAKE_PH_DYNAMIC].p_type = PT_DYNAMIC;
		m->ph[MAKE_PH_DYNAMIC].p_filesz = m->dyns * sizeof(Elf64_Dyn);
	}
	memcpy(m->b + at, names, sizeof(names));
	at = (at + sizeof(names) + 15) & ~(size_t)15;
	m->eh->e_shoff = at;
	m->eh->e_shentsize = sizeof(Elf64_Shdr);
	m->eh->e_shnum = MAKE_SHDRS;
	m->eh->e_shstrndx = MAKE_SH_NAMES;
	m->sh = (Elf64_Shdr *)(m->b + at);
	m->sh[MAKE_SH_CODE] = make_section(1, SHT_PROGBITS, MAKE_CODE_OFF, 0x1000);
	m->sh[MAKE_SH_CODE].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	m->sh[MAKE_SH_CODE].sh_addr = MAKE_CODE;
	m->sh[MAKE_SH_DATA] = make_section(7, SHT_PROGBITS, MAKE_DATA_OFF, 0x1000);
	m->sh[MAKE_SH_DATA].sh_flags = SHF_ALLOC | SHF_WRITE;
	m->sh[MAKE_SH_DATA].sh_addr = MAKE_DATA;
	m->sh[MAKE_SH_BASE] = make_section(13, SHT_PROGBITS, 0xf00, 1);
	m->sh[MAKE_SH_BASE].sh_flags = SHF_ALLOC;
	m->sh[MAKE_SH_BASE].sh_addr = MAKE_BASE;
	m->sh[MAKE_SH_NOTES] = make_section(27, SHT_NOTE, MAKE_NOTES, m->notes - MAKE_NOTES);
	m->sh[MAKE_SH_NAMES] = make_section(41, SHT_STRTAB, names_at, sizeof(names));
	m->size = at + MAKE_SHDRS * sizeof(Elf64_Shdr);
	if (m->size > m->cap)
		abort();
}

static inline void make_free(struct make *m)
{
	free(m->b);
	memset(m, 0, sizeof(*m));
}

/* ---- what must hold -------------------------------------------------------------------------- */

static inline const char *rule_of_site(const unsigned char *b, size_t size,
				       const struct dft_site *site)
{
	bool code = false, data = !site->sem_offset;
	Elf64_Ehdr eh;

	if (size < sizeof(eh))
		return "sites in a file without headers";
	memcpy(&eh, b, sizeof(eh));
	if (site->kind >= DFT_PROBE_MAX)
		return "a kind that is none";
	if (site->offset >= size || size - site->offset < MAKE_NOP_SZ - 4)
		return "a site outside of the file";
#if defined(__x86_64__)
	if (b[site->offset] != 0x90 &&
	    (size - site->offset < 5 || memcmp(b + site->offset, MAKE_NOP, 5) != 0))
		return "a site that is no nop";
#else
	if (site->offset % 4 || size - site->offset < 4 ||
	    memcmp(b + site->offset, MAKE_NOP, 4) != 0)
		return "a site that is no nop";
#endif
	if (site->sem_offset && (site->sem_offset % 2 || site->sem_offset > size - 2))
		return "a counter outside of the file, or odd";
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, b + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_flags & PF_X && !(ph.p_flags & PF_W) && site->offset >= ph.p_offset &&
		    site->offset - ph.p_offset < ph.p_filesz)
			code = true;
		if (ph.p_flags & PF_W && site->sem_offset >= ph.p_offset && ph.p_filesz >= 2 &&
		    site->sem_offset - ph.p_offset <= ph.p_filesz - 2)
			data = true;
	}
	return !code ? "a site outside of code" : !data ? "a counter outside of data" : NULL;
}

/* NULL, or what is wrong with what was found in a file. */
static inline const char *rule_broken(const unsigned char *b, size_t size,
				      const struct dft_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++) {
		const char *wrong = rule_of_site(b, size, &notes->sites[i]);

		if (wrong)
			return wrong;
		if (i && notes->sites[i - 1].offset >= notes->sites[i].offset)
			return "sites out of order, or twice";
	}
	return NULL;
}

#endif
