// SPDX-License-Identifier: MIT
/*
 * A stapsdt note (owner "stapsdt", type 3) has three addresses - of the probe, of the section
 * .stapsdt.base when the file was linked, and of a counter - and three strings: provider, name,
 * operands. Files without such notes are the rule, and cost one look at the section headers.
 */
#include "notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TYPE   3
#define NOTE_OWNER  "stapsdt"
#define PROVIDER    "dftracer"
#define BASE_NAME   ".stapsdt.base"
#define ADDRESSES   3
#define NOTES_BYTES (64u << 20) /* of one file */
#define SITES_MAX   (1u << 20)	/* what the kernel takes in one go */
#define NAMES_MAX   4096	/* section names compared, in files that have our probes */
#define WINDOW	    4096

#if defined(__x86_64__)
#define OPERANDS "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9"
#elif defined(__aarch64__)
#define OPERANDS "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"
#else
#error "this processor is not supported"
#endif

static const char *const probe_names[DFT_PROBE_MAX] = {
	[DFT_PROBE_EVENT] = "event",
	[DFT_PROBE_PART] = "part",
	[DFT_PROBE_METADATA] = "metadata",
	[DFT_PROBE_ENTITY] = "entity",
	[DFT_PROBE_ENTITY_TYPE] = "entity_type",
	[DFT_PROBE_RELATION] = "relation",
};

/* A note of ours, with addresses as they stand in it. */
struct raw {
	uint64_t address, base, sem;
	uint8_t kind;
};

struct scan {
	const struct dft_elf *elf;
	struct dft_notes *notes;
	struct raw *raws;
	size_t n, cap;
	uint64_t bytes;		  /* of notes that may still be read */
	bool no_code;		  /* a file of debugging information: its code is elsewhere */
	uint64_t names, names_sz; /* section names */
	uint64_t base;		  /* where .stapsdt.base is now; 0 = there is none */
	unsigned int named;
};

/* ---- notes ----------------------------------------------------------------------------------- */

static int add_raw(struct scan *scan, const struct raw *raw)
{
	if (scan->n == SITES_MAX)
		return -E2BIG;
	if (scan->n == scan->cap) {
		size_t cap = scan->cap ? scan->cap * 2 : 64;
		struct raw *more = realloc(scan->raws, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		scan->raws = more;
		scan->cap = cap;
	}
	scan->raws[scan->n++] = *raw;
	return 0;
}

/* The string at *at, which then stands behind it; NULL when it does not end. */
static const char *next_string(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, 0, (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static int read_note(struct scan *scan, const char *desc, size_t len)
{
	uint64_t addresses[ADDRESSES];
	const char *at = desc + sizeof(addresses), *end = desc + len;
	const char *provider, *name, *operands;
	struct raw raw;

	if (len < sizeof(addresses))
		return 0;
	memcpy(addresses, desc, sizeof(addresses));
	provider = next_string(&at, end);
	if (!provider || strcmp(provider, PROVIDER) != 0)
		return 0;
	name = next_string(&at, end);
	operands = name ? next_string(&at, end) : NULL;
	raw = (struct raw){ .address = addresses[0], .base = addresses[1], .sem = addresses[2] };
	while (name && raw.kind < DFT_PROBE_MAX && strcmp(name, probe_names[raw.kind]) != 0)
		raw.kind++;
	if (!operands || raw.kind == DFT_PROBE_MAX || strcmp(operands, OPERANDS) != 0) {
		scan->notes->foreign++;
		return 0;
	}
	return add_raw(scan, &raw);
}

static int read_notes(struct scan *scan, const char *bytes, uint64_t size, uint64_t align)
{
	uint64_t at = 0;
	int err = 0;

	while (!err && size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name = at + sizeof(Elf64_Nhdr), desc;
		Elf64_Nhdr nh;

		memcpy(&nh, bytes + at, sizeof(nh));
		/* None of these can overflow: 32-bit lengths, and a size that was bounded. */
		desc = (name + nh.n_namesz + align - 1) & ~(align - 1);
		at = (desc + nh.n_descsz + align - 1) & ~(align - 1);
		if (desc + nh.n_descsz > size)
			break;
		if (nh.n_type == NOTE_TYPE && nh.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(bytes + name, NOTE_OWNER, sizeof(NOTE_OWNER)))
			err = read_note(scan, bytes + desc, nh.n_descsz);
		if (at > size)
			break; /* the last one without its padding */
	}
	return err;
}

static int on_section(void *ctx, const Elf64_Shdr *sh)
{
	struct scan *scan = ctx;
	char *bytes;
	int err;

	if (sh->sh_type == SHT_NOBITS && sh->sh_flags & SHF_EXECINSTR)
		scan->no_code = true;
	if (sh->sh_type != SHT_NOTE || sh->sh_size < sizeof(Elf64_Nhdr) + sizeof(NOTE_OWNER))
		return 0;
	if (sh->sh_offset > scan->elf->size || sh->sh_size > scan->elf->size - sh->sh_offset)
		return 0; /* points to nowhere: of a file cut off */
	if (sh->sh_size > scan->bytes)
		return -E2BIG;
	scan->bytes -= sh->sh_size;
	bytes = malloc(sh->sh_size);
	if (!bytes)
		return -ENOMEM;
	err = dft_elf_read(scan->elf, sh->sh_offset, bytes, sh->sh_size);
	if (!err)
		err = read_notes(scan, bytes, sh->sh_size, sh->sh_addralign == 8 ? 8 : 4);
	free(bytes);
	return err;
}

/* ---- from addresses to offsets --------------------------------------------------------------- */

static int on_name(void *ctx, const Elf64_Shdr *sh)
{
	struct scan *scan = ctx;
	char name[sizeof(BASE_NAME)];

	if (!(sh->sh_flags & SHF_ALLOC) || scan->named++ == NAMES_MAX)
		return 0;
	if (sh->sh_name >= scan->names_sz || scan->names_sz - sh->sh_name < sizeof(name))
		return 0;
	if (dft_elf_read(scan->elf, scan->names + sh->sh_name, name, sizeof(name)) ||
	    memcmp(name, BASE_NAME, sizeof(name)) != 0)
		return 0;
	scan->base = sh->sh_addr;
	return 1;
}

/*
 * A file that was moved to other addresses after linking (prelink) still has the old ones in its
 * notes. How far it was moved is seen from the section that stands there for this purpose.
 */
static int find_base(struct scan *scan)
{
	const Elf64_Ehdr *eh = &scan->elf->eh;
	Elf64_Shdr sh;
	uint64_t index = eh->e_shstrndx, offset;
	int err;

	if (index == SHN_XINDEX) {
		err = dft_elf_read(scan->elf, eh->e_shoff, &sh, sizeof(sh));
		if (err)
			return err;
		index = sh.sh_link;
	}
	if (index >= scan->elf->nsh ||
	    __builtin_add_overflow(eh->e_shoff, index * sizeof(sh), &offset) ||
	    dft_elf_read(scan->elf, offset, &sh, sizeof(sh)) || sh.sh_offset > scan->elf->size)
		return 0;
	scan->names = sh.sh_offset;
	scan->names_sz = sh.sh_size;
	err = dft_elf_sections(scan->elf, on_name, scan);
	return err > 0 ? 0 : err;
}

/* The counter: two aligned bytes in the file's part of writable data. */
static bool place_sem(const struct scan *scan, uint64_t address, uint64_t *offset)
{
	*offset = 0;
	return !address ||
	       (dft_elf_locate(scan->elf, address, sizeof(uint16_t), PF_R | PF_W, offset) &&
		*offset % sizeof(uint16_t) == 0 && *offset != 0);
}

static bool place_site(const struct scan *scan, const struct raw *raw, struct dft_site *site)
{
	uint64_t moved = scan->base && raw->base ? scan->base - raw->base : 0;
	const Elf64_Phdr *ph =
		dft_elf_locate(scan->elf, raw->address + moved, 1, PF_X, &site->offset);

	site->kind = raw->kind;
	/* The kernel sets no breakpoints in writable memory. */
	return ph && !(ph->p_flags & PF_W) &&
	       place_sem(scan, raw->sem ? raw->sem + moved : 0, &site->sem_offset);
}

/* ---- what is at the site --------------------------------------------------------------------- */

struct window {
	const struct dft_elf *elf;
	uint64_t offset;
	size_t len;
	unsigned char bytes[WINDOW];
};

/* `len` bytes of the file, read together with what follows: sites come in ascending order. */
static const unsigned char *look(struct window *win, uint64_t offset, size_t len)
{
	uint64_t left = win->elf->size - offset;

	if (offset >= win->elf->size || len > left)
		return NULL;
	if (offset < win->offset || offset + len > win->offset + win->len) {
		win->offset = offset;
		win->len = left < WINDOW ? left : WINDOW;
		if (dft_elf_read(win->elf, offset, win->bytes, win->len)) {
			win->len = 0;
			return NULL;
		}
	}
	return win->bytes + (offset - win->offset);
}

/*
 * A breakpoint anywhere but at the beginning of an instruction changes what the program does. Ours
 * are at nops, so whatever is not one has been changed since, or never was ours.
 */
#if defined(__x86_64__)
static bool is_nop(struct window *win, uint64_t offset)
{
	static const unsigned char nop5[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const unsigned char *at = look(win, offset, 1);

	if (!at || *at == 0x90)
		return at != NULL;
	at = look(win, offset, sizeof(nop5));
	return at && !memcmp(at, nop5, sizeof(nop5));
}
#else
static bool is_nop(struct window *win, uint64_t offset)
{
	static const unsigned char nop[4] = { 0x1f, 0x20, 0x03, 0xd5 };
	const unsigned char *at = offset % sizeof(nop) ? NULL : look(win, offset, sizeof(nop));

	return at && !memcmp(at, nop, sizeof(nop));
}
#endif

static int by_offset(const void *a, const void *b)
{
	const struct dft_site *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->sem_offset > y->sem_offset) - (x->sem_offset < y->sem_offset);
}

static bool same_place(const struct dft_site *a, const struct dft_site *b)
{
	return a->offset == b->offset;
}

/* Leaves the sites that can be armed, each once. */
static int sift(struct dft_notes *notes, const struct dft_elf *elf)
{
	struct window *win = calloc(1, sizeof(*win));
	size_t kept = 0, next;

	if (!win)
		return -ENOMEM;
	win->elf = elf;
	for (size_t i = 0; i < notes->n; i = next) {
		const struct dft_site *site = &notes->sites[i];
		bool agree = true;

		for (next = i + 1; next < notes->n && same_place(site, &notes->sites[next]); next++)
			agree = agree && !by_offset(site, &notes->sites[next]);
		/* Notes that contradict each other: none of them is believed. */
		if (agree && is_nop(win, site->offset))
			notes->sites[kept++] = *site;
		else
			notes->refused += next - i;
	}
	notes->n = kept;
	free(win);
	return 0;
}

static int place_all(struct scan *scan)
{
	struct dft_notes *notes = scan->notes;
	int err = find_base(scan);

	if (err)
		return err;
	notes->sites = calloc(scan->n, sizeof(*notes->sites));
	if (!notes->sites)
		return -ENOMEM;
	for (size_t i = 0; i < scan->n; i++) {
		if (!scan->no_code && place_site(scan, &scan->raws[i], &notes->sites[notes->n]))
			notes->n++;
		else
			notes->refused++;
	}
	qsort(notes->sites, notes->n, sizeof(*notes->sites), by_offset);
	return sift(notes, scan->elf);
}

int dft_notes_read(struct dft_notes *notes, const struct dft_elf *elf)
{
	struct scan scan = { .elf = elf, .notes = notes, .bytes = NOTES_BYTES };
	int err;

	*notes = (struct dft_notes){ 0 };
	err = dft_elf_sections(elf, on_section, &scan);
	if (!err && scan.n)
		err = place_all(&scan);
	free(scan.raws);
	if (err)
		notes->n = 0;
	if (err == -ENODATA) {
		/* Cut off. It may run all the same, but what is read of it cannot be relied on. */
		notes->refused = scan.n;
		err = 0;
	}
	return err;
}

void dft_notes_free(struct dft_notes *notes)
{
	free(notes->sites);
	*notes = (struct dft_notes){ 0 };
}
