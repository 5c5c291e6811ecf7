// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "notes.h"

#include "tests/lib/elfmake.h"

static struct make m;
static struct dft_notes notes;

static int setup(void **state)
{
	(void)state;
	make_begin(&m, 1 << 16);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	make_free(&m);
	dft_notes_free(&notes);
	return 0;
}

/* From memory of just that size, so that AddressSanitizer sees any reading beyond it. */
static int read_bytes(const unsigned char *bytes, size_t size)
{
	unsigned char *exact = malloc(size ? size : 1);
	struct dft_elf elf;
	int err;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	dft_notes_free(&notes);
	err = dft_elf_open_memory(&elf, exact, size);
	if (!err) {
		const char *broken;

		err = dft_notes_read(&notes, &elf);
		broken = rule_broken(exact, size, &notes);
		if (broken)
			fail_msg("%s", broken);
		dft_elf_close(&elf);
	}
	free(exact);
	return err;
}

static void read_made(void)
{
	assert_int_equal(read_bytes(m.b, m.size), 0);
}

static void want(size_t n, size_t foreign, size_t refused)
{
	assert_int_equal(notes.n, n);
	assert_int_equal(notes.foreign, foreign);
	assert_int_equal(notes.refused, refused);
}

static void want_site(size_t i, uint64_t offset, uint64_t sem, int kind)
{
	assert_true(i < notes.n);
	assert_int_equal(notes.sites[i].offset, offset);
	assert_int_equal(notes.sites[i].sem_offset, sem);
	assert_int_equal(notes.sites[i].kind, kind);
}

/* ---- what there is --------------------------------------------------------------------------- */

static void all_kinds(void **state)
{
	(void)state;
	/* In an order of its own; sites come by offset. */
	make_probe(&m, "relation", MAKE_CODE + 0x500, MAKE_DATA + 10);
	make_probe(&m, "event", MAKE_CODE, MAKE_DATA + 2);
	make_probe(&m, "entity", MAKE_CODE + 0x300, MAKE_DATA + 6);
	make_probe(&m, "part", MAKE_CODE + 0x100, 0);
	make_probe(&m, "metadata", MAKE_CODE + 0x200, MAKE_DATA + 0xffe);
	make_probe(&m, "entity_type", MAKE_CODE + 0x400, MAKE_DATA + 8);
	make_end(&m);
	read_made();
	want(6, 0, 0);
	want_site(0, MAKE_CODE_OFF, MAKE_DATA_OFF + 2, DFT_PROBE_EVENT);
	want_site(1, MAKE_CODE_OFF + 0x100, 0, DFT_PROBE_PART);
	want_site(2, MAKE_CODE_OFF + 0x200, MAKE_DATA_OFF + 0xffe, DFT_PROBE_METADATA);
	want_site(3, MAKE_CODE_OFF + 0x300, MAKE_DATA_OFF + 6, DFT_PROBE_ENTITY);
	want_site(4, MAKE_CODE_OFF + 0x400, MAKE_DATA_OFF + 8, DFT_PROBE_ENTITY_TYPE);
	want_site(5, MAKE_CODE_OFF + 0x500, MAKE_DATA_OFF + 10, DFT_PROBE_RELATION);
	assert_int_equal(DFT_PROBE_EVENT, 0);
	assert_int_equal(DFT_PROBE_RELATION, 5);
}

static void none(void **state)
{
	(void)state;
	make_end(&m);
	read_made();
	want(0, 0, 0);
}

/* The base was at 0x400f00 when the notes were written, and is elsewhere now. */
static void moved(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE + 0x40, MAKE_DATA + 4);
	make_note_of(&m, "dftracer", "part", MAKE_OPERANDS, MAKE_CODE + 0x80 - 0x7000,
		     MAKE_BASE - 0x7000, MAKE_DATA + 6 - 0x7000);
	make_nop(&m, MAKE_CODE + 0x80);
	/* Without a base there is nothing to correct. */
	make_note_of(&m, "dftracer", "entity", MAKE_OPERANDS, MAKE_CODE + 0xc0, 0, 0);
	make_nop(&m, MAKE_CODE + 0xc0);
	make_end(&m);
	read_made();
	want(3, 0, 0);
	want_site(1, MAKE_CODE_OFF + 0x80, MAKE_DATA_OFF + 6, DFT_PROBE_PART);
	want_site(2, MAKE_CODE_OFF + 0xc0, 0, DFT_PROBE_ENTITY);
	/* All of it moved down by 0x10000. The name of one section is the last, and short. */
	m.sh[MAKE_SH_DATA].sh_name = (uint32_t)m.sh[MAKE_SH_NAMES].sh_size - 1;
	m.ph[MAKE_PH_CODE].p_vaddr -= 0x10000;
	m.ph[MAKE_PH_DATA].p_vaddr -= 0x10000;
	m.sh[MAKE_SH_BASE].sh_addr -= 0x10000;
	read_made();
	want(2, 0, 1);
	want_site(0, MAKE_CODE_OFF + 0x40, MAKE_DATA_OFF + 4, DFT_PROBE_EVENT);
	want_site(1, MAKE_CODE_OFF + 0x80, MAKE_DATA_OFF + 6, DFT_PROBE_PART);
}

static void once_each(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE + 0x10, MAKE_DATA);
	make_note(&m, "event", MAKE_CODE + 0x10, MAKE_DATA);
	make_note(&m, "event", MAKE_CODE + 0x10, MAKE_DATA);
	make_probe(&m, "event", MAKE_CODE + 0x20, MAKE_DATA);
	/* These contradict each other. */
	make_probe(&m, "event", MAKE_CODE + 0x30, MAKE_DATA);
	make_note(&m, "relation", MAKE_CODE + 0x30, MAKE_DATA);
	make_probe(&m, "event", MAKE_CODE + 0x40, MAKE_DATA);
	make_note(&m, "event", MAKE_CODE + 0x40, MAKE_DATA + 2);
	make_end(&m);
	read_made();
	want(2, 0, 4);
	want_site(0, MAKE_CODE_OFF + 0x10, MAKE_DATA_OFF, DFT_PROBE_EVENT);
	want_site(1, MAKE_CODE_OFF + 0x20, MAKE_DATA_OFF, DFT_PROBE_EVENT);
}

static void foreign(void **state)
{
	uint64_t short_desc[3] = { MAKE_CODE, MAKE_BASE, 0 };
	char desc[128] = { 0 };

	(void)state;
	make_nop(&m, MAKE_CODE);
	make_note(&m, "events", MAKE_CODE, 0);
	make_note(&m, "", MAKE_CODE, 0);
	make_note(&m, "even", MAKE_CODE, 0);
	make_note_of(&m, "dftracer", "event", "8@%rdi", MAKE_CODE, MAKE_BASE, 0);
	make_note_of(&m, "dftracer", "event", MAKE_OPERANDS " 8@%rax", MAKE_CODE, MAKE_BASE, 0);
	make_note_of(&m, "dftracer", "event", "", MAKE_CODE, MAKE_BASE, 0);
	/* "dftracer" and nothing behind it, or a name without an end. */
	memcpy(desc, short_desc, sizeof(short_desc));
	strcpy(desc + 24, "dftracer");
	make_raw_note(&m, "stapsdt", 8, 3, desc, 24 + 9);
	strcpy(desc + 33, "event");
	make_raw_note(&m, "stapsdt", 8, 3, desc, 24 + 9 + 5);
	make_raw_note(&m, "stapsdt", 8, 3, desc, 24 + 9 + 6);
	/* Right, but for the operands' end. */
	memcpy(desc + 39, MAKE_OPERANDS, sizeof(MAKE_OPERANDS));
	make_raw_note(&m, "stapsdt", 8, 3, desc, 39 + sizeof(MAKE_OPERANDS) - 1);
	/* Nothing of ours: */
	make_raw_note(&m, "stapsdt", 8, 3, desc, 24 + 8);
	make_raw_note(&m, "stapsdt", 8, 3, desc, 23);
	make_raw_note(&m, "stapsdt", 8, 3, desc, 0);
	make_note_of(&m, "libc", "event", MAKE_OPERANDS, MAKE_CODE, MAKE_BASE, 0);
	make_note_of(&m, "dftracer2", "event", MAKE_OPERANDS, MAKE_CODE, MAKE_BASE, 0);
	make_note_of(&m, "", "event", MAKE_OPERANDS, MAKE_CODE, MAKE_BASE, 0);
	make_raw_note(&m, "GNU", 4, 3, desc, 20);
	make_raw_note(&m, "stapsdt", 8, 4, desc, 24 + 9 + 6);
	make_raw_note(&m, "stapsdx", 8, 3, desc, 24 + 9 + 6);
	make_raw_note(&m, "", 0, 3, desc, 24 + 9 + 6);
	make_probe(&m, "event", MAKE_CODE + 0x10, 0);
	make_end(&m);
	read_made();
	want(1, 10, 0);
	want_site(0, MAKE_CODE_OFF + 0x10, 0, DFT_PROBE_EVENT);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void only_nops(void **state)
{
	unsigned char *code = m.b + MAKE_CODE_OFF;

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		make_note(&m, "event", MAKE_CODE + i * 0x10, 0);
#if defined(__x86_64__)
	code[0] = 0x90;
	memcpy(code + 0x10, "\x0f\x1f\x44\x00\x00", 5);
	memcpy(code + 0x20, "\x0f\x1f\x44\x00\x01", 5);
	memcpy(code + 0x30, "\x0f\x1f\x40\x00", 4);
	code[0x40] = 0xcc;
	code[0x50] = 0x66;
	code[0x51] = 0x90;
	code[0x70] = 0x0f;
	make_note(&m, "event", MAKE_CODE + 0x11, 0); /* within a nop */
	/* At the very end of the code: the short one fits, and the long one goes on behind it. */
	make_note(&m, "part", MAKE_CODE + 0xfff, 0);
	code[0xfff] = 0x90;
#else
	memcpy(code, MAKE_NOP, 4);
	memcpy(code + 0x10, MAKE_NOP, 4);
	memcpy(code + 0x21, MAKE_NOP, 4);
	make_note(&m, "event", MAKE_CODE + 0x21, 0);
	make_note(&m, "part", MAKE_CODE + 0xffc, 0);
	memcpy(code + 0xffc, MAKE_NOP, 4);
#endif
	make_end(&m);
	read_made();
	want(3, 0, 7);
	want_site(0, MAKE_CODE_OFF, 0, DFT_PROBE_EVENT);
	want_site(1, MAKE_CODE_OFF + 0x10, 0, DFT_PROBE_EVENT);
}

#if defined(__x86_64__)
/* Code is read a page at a time; a nop may lie across. */
static void across(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	make_probe(&m, "event", MAKE_CODE + 0xffd, 0);
	make_end(&m);
	read_made();
	want(2, 0, 0);
	m.b[MAKE_CODE_OFF + 0x1001] = 1;
	read_made();
	want(1, 0, 1);
}
#endif

static void only_code(void **state)
{
	static const uint64_t addresses[] = {
		0,
		0x400800,
		MAKE_CODE - 1,
		MAKE_CODE + 0x1000,
		MAKE_DATA,
		MAKE_DATA + 0x1400,
		UINT64_MAX,
		UINT64_MAX - 0xfff,
		MAKE_CODE + (1ull << 32),
		MAKE_CODE_OFF,
	};
	size_t n = sizeof(addresses) / sizeof(addresses[0]);

	(void)state;
	/* Nops wherever one could look. */
	memset(m.b + 0x800, 0x90, 0x100);
	memset(m.b + MAKE_CODE_OFF, 0x90, 0x1000);
	memset(m.b + MAKE_DATA_OFF, 0x90, 0x1000);
	for (size_t i = 0; i < n; i++)
		make_note(&m, "event", addresses[i], 0);
	make_end(&m);
	read_made();
	want(0, 0, n);
}

static void segments(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE + 0x20, 0);
	make_end(&m);
	read_made();
	want(1, 0, 0);

	/* No breakpoint can be set in what is writable. */
	m.ph[MAKE_PH_CODE].p_flags |= PF_W;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_flags = PF_R;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_flags = PF_R | PF_X;

	/* In memory only. */
	m.ph[MAKE_PH_CODE].p_filesz = 0x20;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_filesz = 0x21;
	read_made();
	want(1, 0, 0);
	m.ph[MAKE_PH_CODE].p_filesz = UINT64_MAX;
	read_made();
	want(1, 0, 0);
	m.ph[MAKE_PH_CODE].p_filesz = 0x1000;

	m.ph[MAKE_PH_CODE].p_offset = UINT64_MAX - 0x10;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_offset = m.size;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_offset = MAKE_CODE_OFF;

	m.ph[MAKE_PH_CODE].p_type = PT_NOTE;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_CODE].p_type = PT_LOAD;

	/* The code is elsewhere: this is what was split off for debuggers. */
	m.sh[MAKE_SH_CODE].sh_type = SHT_NOBITS;
	read_made();
	want(0, 0, 1);
}

static void counters(void **state)
{
	static const uint64_t bad[] = {
		MAKE_DATA + 1,
		MAKE_DATA + 0xfff,
		MAKE_DATA + 0x1000,
		MAKE_DATA + 0x1400,
		MAKE_CODE,
		MAKE_DATA - 2,
		2,
		UINT64_MAX - 1,
		0x400100,
	};
	size_t n = sizeof(bad) / sizeof(bad[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		make_probe(&m, "event", MAKE_CODE + i * 0x10, bad[i]);
	make_end(&m);
	read_made();
	want(0, 0, n);
	/* Half of it in the file; or in a part that the file should have, and has not. */
	m.notes = MAKE_NOTES;
	make_probe(&m, "event", MAKE_CODE, MAKE_DATA + 0xffe);
	make_end(&m);
	read_made();
	want(1, 0, 0);
	m.ph[MAKE_PH_DATA].p_filesz = 0xfff;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_DATA].p_filesz = 0x1000;
	m.ph[MAKE_PH_DATA].p_offset = m.size - 0xffe;
	m.size &= ~(size_t)1;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_DATA].p_offset = m.size + 2;
	read_made();
	want(0, 0, 1);
	m.ph[MAKE_PH_DATA].p_offset = MAKE_DATA_OFF;
	/* Offset 0 of the file means that there is none; it must not come to mean it. */
	m.ph[MAKE_PH_HEAD].p_flags = PF_R | PF_W;
	m.notes = MAKE_NOTES;
	make_probe(&m, "event", MAKE_CODE, 0x400000);
	make_end(&m);
	read_made();
	want(0, 0, 1);
}

/* ---- other files ----------------------------------------------------------------------------- */

static void other_files(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	make_end(&m);
	m.eh->e_type = ET_EXEC;
	read_made();
	want(1, 0, 0);
	m.eh->e_type = ET_REL;
	assert_int_equal(read_bytes(m.b, m.size), -ENOEXEC);
	m.eh->e_type = ET_CORE;
	assert_int_equal(read_bytes(m.b, m.size), -ENOEXEC);
	m.eh->e_type = ET_DYN;
	m.eh->e_machine = MAKE_OTHER_MACHINE;
	assert_int_equal(read_bytes(m.b, m.size), -EMEDIUMTYPE);
	m.eh->e_machine = MAKE_MACHINE;
	m.eh->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_bytes(m.b, m.size), -EMEDIUMTYPE);
	m.eh->e_ident[EI_CLASS] = ELFCLASS64;
	m.eh->e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(read_bytes(m.b, m.size), -EMEDIUMTYPE);
	m.eh->e_ident[EI_DATA] = ELFDATA2LSB;
	m.eh->e_phentsize = 32;
	assert_int_equal(read_bytes(m.b, m.size), -ENOEXEC);
	m.eh->e_phentsize = sizeof(Elf64_Phdr);
	m.eh->e_phnum = 60000;
	assert_int_equal(read_bytes(m.b, m.size), -ENOEXEC);
	m.eh->e_phnum = MAKE_PHDRS;
	m.b[1] = 'e';
	assert_int_equal(read_bytes(m.b, m.size), -ENOEXEC);
	assert_int_equal(read_bytes((const unsigned char *)"#!/bin/sh\n", 10), -ENOEXEC);
	assert_int_equal(read_bytes((const unsigned char *)"", 0), -ENOEXEC);
}

static void section_headers(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	make_end(&m);
	/* Their number and that of the names in the first one, where they are many. */
	m.eh->e_shnum = 0;
	m.sh[0].sh_size = MAKE_SHDRS;
	m.eh->e_shstrndx = SHN_XINDEX;
	m.sh[0].sh_link = MAKE_SH_NAMES;
	m.sh[MAKE_SH_BASE].sh_addr += 0x10;
	read_made();
	want(0, 0, 1); /* moved by 0x10: the names were found */
	make_nop(&m, MAKE_CODE + 0x10);
	read_made();
	want(1, 0, 0);
	/* More than there is room for. */
	m.sh[0].sh_size = 1000;
	read_made();
	want(0, 0, 0);
	m.sh[0].sh_size = 1ull << 60;
	assert_int_equal(read_bytes(m.b, m.size), -E2BIG);
	m.sh[0].sh_size = 0;
	read_made();
	want(0, 0, 0);
	/* None, or nowhere. */
	m.eh->e_shnum = MAKE_SHDRS;
	m.eh->e_shoff = UINT64_MAX - 100;
	read_made();
	want(0, 0, 0);
	m.eh->e_shoff = m.size - 10;
	read_made();
	want(0, 0, 0);
	m.eh->e_shoff = 0;
	read_made();
	want(0, 0, 0);
}

static void note_headers(void **state)
{
	size_t second;

	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	second = m.notes;
	make_probe(&m, "part", MAKE_CODE + 0x10, 0);
	make_end(&m);
	read_made();
	want(2, 0, 0);
	/* Lengths of the second one: name, desc. */
	for (int i = 0; i < 2; i++) {
		uint32_t *len = (uint32_t *)(m.b + second + i * 4), was = *len;
		static const uint32_t lens[] = { UINT32_MAX, UINT32_MAX - 3, INT32_MAX, 0x10000,
						 1000 };

		for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
			*len = lens[k];
			read_made();
			want(1, 0, 0);
		}
		*len = was;
	}
	/* The section's: it ends in the second, then in that one's header, then nowhere. */
	m.sh[MAKE_SH_NOTES].sh_size -= 4;
	read_made();
	want(1, 0, 0);
	m.sh[MAKE_SH_NOTES].sh_size = second - MAKE_NOTES + 11;
	read_made();
	want(1, 0, 0);
	m.sh[MAKE_SH_NOTES].sh_size = UINT64_MAX;
	read_made();
	want(0, 0, 0);
	m.sh[MAKE_SH_NOTES].sh_size = m.size;
	read_made();
	want(0, 0, 0);
	/* Which says nothing about others. */
	m.sh[MAKE_SH_NOTES].sh_size = m.notes - MAKE_NOTES;
	m.sh[MAKE_SH_DATA].sh_type = SHT_NOTE;
	m.sh[MAKE_SH_DATA].sh_size = m.size;
	read_made();
	want(2, 0, 0);
	m.sh[MAKE_SH_NOTES].sh_type = SHT_PROGBITS;
	read_made();
	want(0, 0, 0);
}

/* Notes aligned to 8 bytes, which only the section's header tells. */
static void wide_notes(void **state)
{
	char desc[128] = { 0 };
	uint64_t address = MAKE_CODE;
	Elf64_Nhdr nh = { 8, 24 + 9 + 6 + sizeof(MAKE_OPERANDS), 3 };
	size_t desc_sz = (nh.n_descsz + 7) & ~(size_t)7;

	(void)state;
	memcpy(desc, &address, 8);
	memcpy(desc + 24, "dftracer\0event", 15);
	memcpy(desc + 39, MAKE_OPERANDS, sizeof(MAKE_OPERANDS));
	for (int i = 0; i < 2; i++) {
		memcpy(m.b + m.notes, &nh, sizeof(nh));
		memcpy(m.b + m.notes + 12, "stapsdt", 8);
		memcpy(m.b + m.notes + 24, desc, nh.n_descsz);
		m.notes += 24 + desc_sz;
		address += 0x10;
		memcpy(desc, &address, 8);
	}
	make_nop(&m, MAKE_CODE);
	make_nop(&m, MAKE_CODE + 0x10);
	make_end(&m);
	read_made();
	want(0, 0, 0);
	m.sh[MAKE_SH_NOTES].sh_addralign = 8;
	read_made();
	want(2, 0, 0);
}

/* More than are read at a time. */
static void far_header(void **state)
{
	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	make_end(&m);
	for (size_t at = 1; at < 200; at++) {
		Elf64_Shdr *sh = (Elf64_Shdr *)(m.b + MAKE_NOTES + 8192);

		memset(sh, 0, 200 * sizeof(*sh));
		sh[at] = m.sh[MAKE_SH_NOTES];
		m.eh->e_shoff = MAKE_NOTES + 8192;
		m.eh->e_shnum = 200;
		m.size = m.eh->e_shoff + 200 * sizeof(*sh);
		read_made();
		want(1, 0, 0);
	}
}

/* Work is bounded: the same notes named by thousands of headers. */
static void many_headers(void **state)
{
	const size_t n = 60000, size = 1 << 20;
	unsigned char *b;
	Elf64_Shdr *sh;

	(void)state;
	make_probe(&m, "event", MAKE_CODE, 0);
	make_end(&m);
	b = calloc(1, size + n * sizeof(*sh));
	assert_non_null(b);
	memcpy(b, m.b, m.size);
	((Elf64_Ehdr *)b)->e_shoff = size;
	((Elf64_Ehdr *)b)->e_shnum = n;
	sh = (Elf64_Shdr *)(b + size);
	for (size_t i = 0; i < n; i++)
		sh[i] = (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_size = size, .sh_addralign = 4 };
	assert_int_equal(read_bytes(b, size + n * sizeof(*sh)), -E2BIG);
	free(b);
}

static void many_sites(void **state)
{
	const size_t n = 200;

	(void)state;
	for (size_t i = n; i--;)
		make_probe(&m, "event", MAKE_CODE + i * 8, MAKE_DATA);
	make_end(&m);
	read_made();
	want(n, 0, 0);
	for (size_t i = 0; i < n; i++)
		want_site(i, MAKE_CODE_OFF + i * 8, MAKE_DATA_OFF, DFT_PROBE_EVENT);
}

static void damaged(void **state)
{
	size_t found = 0;

	(void)state;
	make_probe(&m, "event", MAKE_CODE + 0x800, MAKE_DATA);
	make_probe(&m, "relation", MAKE_CODE + 0xffb, MAKE_DATA + 0xffe);
	make_dyn_string(&m, DT_NEEDED, "libx.so.1");
	make_end(&m);
	/* Cut anywhere. */
	for (size_t size = 0; size < m.size; size++) {
		read_bytes(m.b, size);
		assert_int_equal(notes.n, 0);
	}
	/* Any byte of the headers and notes changed: read_bytes() checks what must hold. */
	for (size_t at = 0; at < m.size; at++) {
		unsigned char was = m.b[at];

		if (at == 0x400)
			at = MAKE_NOTES;
		was = m.b[at];
		for (unsigned int bit = 0; bit < 8; bit++) {
			m.b[at] = was ^ (unsigned char)(1u << bit);
			if (!read_bytes(m.b, m.size))
				found += notes.n;
		}
		m.b[at] = was;
	}
	assert_true(found > 1000);
	read_made();
	want(2, 0, 0);
}

static void from_fd(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC), ends[2];
	struct dft_elf elf;

	(void)state;
	make_probe(&m, "entity", MAKE_CODE + 0x20, MAKE_DATA);
	make_end(&m);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, m.b, m.size), m.size);
	assert_int_equal(dft_elf_open(&elf, fd), 0);
	assert_int_equal(dft_notes_read(&notes, &elf), 0);
	want(1, 0, 0);
	want_site(0, MAKE_CODE_OFF + 0x20, MAKE_DATA_OFF, DFT_PROBE_ENTITY);
	/* It becomes shorter while it is being read. */
	assert_int_equal(ftruncate(fd, MAKE_NOTES + 8), 0);
	dft_notes_free(&notes);
	assert_int_equal(dft_notes_read(&notes, &elf), 0);
	want(0, 0, 0);
	dft_elf_close(&elf);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dft_elf_open(&elf, ends[0]), -ENOEXEC);
	close(ends[0]);
	assert_int_equal(dft_elf_open(&elf, ends[0]), -EBADF);
	close(ends[1]);
}

/* ---- what the dynamic linker is told --------------------------------------------------------- */

static void needs_of(struct dft_elf_needs *needs, size_t size)
{
	unsigned char *exact = malloc(size);
	struct dft_elf elf;

	assert_non_null(exact);
	memcpy(exact, m.b, size);
	assert_int_equal(dft_elf_open_memory(&elf, exact, size), 0);
	assert_int_equal(dft_elf_needs(needs, &elf), 0);
	dft_elf_close(&elf);
	free(exact);
}

static void needs_all(void **state)
{
	struct dft_elf_needs needs;

	(void)state;
	make_interp(&m, "/lib/ld.so");
	make_dyn_string(&m, DT_NEEDED, "liba.so.1");
	make_dyn_string(&m, DT_RPATH, "/r:$ORIGIN");
	make_dyn_string(&m, DT_SONAME, "libself.so");
	make_dyn_string(&m, DT_NEEDED, "libb.so");
	make_dyn(&m, DT_NEEDED, 1 << 20); /* not in the table: left out */
	make_dyn_string(&m, DT_RUNPATH, "/run");
	make_dyn_string(&m, DT_NEEDED, "./c.so");
	make_end(&m);
	needs_of(&needs, m.size);
	assert_string_equal(needs.interp, "/lib/ld.so");
	assert_string_equal(needs.soname, "libself.so");
	assert_string_equal(needs.rpath, "/r:$ORIGIN");
	assert_string_equal(needs.runpath, "/run");
	assert_int_equal(needs.nneeded, 3);
	assert_string_equal(needs.needed[0], "liba.so.1");
	assert_string_equal(needs.needed[1], "libb.so");
	assert_string_equal(needs.needed[2], "./c.so");
	dft_elf_needs_free(&needs);
}

/* More entries than are read at a time. */
static void needs_many(void **state)
{
	Elf64_Dyn *dyn = (Elf64_Dyn *)(m.b + MAKE_DATA_OFF);
	struct dft_elf_needs needs;
	uint64_t name;

	(void)state;
	name = make_string(&m, "liba.so");
	make_end(&m);
	for (int i = 0; i < 150; i++)
		dyn[i] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = name + (uint64_t)i % 7 };
	dyn[150] = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_val = 0x400000 + MAKE_STRINGS };
	dyn[151] = (Elf64_Dyn){ .d_tag = DT_STRSZ, .d_un.d_val = 100 };
	m.ph[MAKE_PH_DYNAMIC] = make_load(PF_R, MAKE_DATA_OFF, MAKE_DATA);
	m.ph[MAKE_PH_DYNAMIC].p_type = PT_DYNAMIC;
	m.ph[MAKE_PH_DYNAMIC].p_filesz = 200 * sizeof(*dyn);
	needs_of(&needs, m.size);
	assert_int_equal(needs.nneeded, 150);
	for (size_t i = 0; i < 150; i++)
		assert_string_equal(needs.needed[i], &"liba.so"[i % 7]);
	dft_elf_needs_free(&needs);
	/* The first DT_NULL is the end. */
	dyn[140].d_tag = DT_NULL;
	dyn[0] = dyn[150];
	dyn[1] = dyn[151];
	needs_of(&needs, m.size);
	assert_int_equal(needs.nneeded, 138);
	dft_elf_needs_free(&needs);
}

static void needs_none(void **state)
{
	struct dft_elf_needs needs;

	(void)state;
	make_dyn_string(&m, DT_RPATH, "/r");
	make_end(&m);
	needs_of(&needs, m.size);
	assert_null(needs.interp);
	assert_null(needs.soname);
	assert_null(needs.runpath);
	assert_string_equal(needs.rpath, "/r");
	assert_int_equal(needs.nneeded, 0);
	dft_elf_needs_free(&needs);
}

static void needs_damaged(void **state)
{
	char longest[600];
	struct dft_elf_needs needs;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	make_interp(&m, "/lib/ld.so");
	make_dyn_string(&m, DT_NEEDED, longest);
	make_dyn_string(&m, DT_NEEDED, "last");
	make_end(&m);
	needs_of(&needs, m.size);
	assert_int_equal(needs.nneeded, 2);
	assert_string_equal(needs.needed[0], longest);
	assert_string_equal(needs.needed[1], "last");
	dft_elf_needs_free(&needs);
	/* The loader's name has no end; the table ends before the last string does. */
	m.ph[MAKE_PH_INTERP].p_filesz--;
	((Elf64_Dyn *)(m.b + MAKE_DYNAMIC))[3].d_un.d_val--;
	needs_of(&needs, m.size);
	assert_null(needs.interp);
	assert_int_equal(needs.nneeded, 1);
	dft_elf_needs_free(&needs);
	/* Sizes beyond everything are cut to the file; the strings are where they were. */
	((Elf64_Dyn *)(m.b + MAKE_DYNAMIC))[3].d_un.d_val = UINT64_MAX;
	m.ph[MAKE_PH_INTERP].p_filesz = UINT64_MAX;
	m.ph[MAKE_PH_DYNAMIC].p_filesz = UINT64_MAX;
	needs_of(&needs, m.size);
	assert_string_equal(needs.interp, "/lib/ld.so");
	dft_elf_needs_free(&needs);
	for (size_t size = m.eh->e_phoff + MAKE_PHDRS * sizeof(Elf64_Phdr); size < MAKE_CODE_OFF;
	     size++) {
		needs_of(&needs, size);
		dft_elf_needs_free(&needs);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		T(across),
#endif
		T(all_kinds),
		T(none),
		T(moved),
		T(once_each),
		T(foreign),
		T(only_nops),
		T(only_code),
		T(segments),
		T(counters),
		T(other_files),
		T(section_headers),
		T(note_headers),
		T(wide_notes),
		T(far_header),
		T(many_headers),
		T(many_sites),
		T(damaged),
		T(from_fd),
		T(needs_all),
		T(needs_none),
		T(needs_many),
		T(needs_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
