// SPDX-License-Identifier: MIT
#include "syscalls.h"

#include <stdio.h>

#include "bpf/table.h"
#define V(n, s, f) { n, DFT_SRC_##s, DFT_FMT_##f, sizeof(n) - 1 }, /* of NULL it is not used */
#define NOVALS
#define DFT_SYS(n, x86, arm64, ...) [DFT_TABLE_NR(x86, arm64)] = { .name = #n, __VA_ARGS__ },
#define DECODED(ev, spec, r, v)                                                                    \
	.event = ev, .desc = { .kind = DFT_KIND_DECODED, spec .ret = DFT_RET_##r }, .vals = { v }
#define UNDECODED(spec) .desc = { .kind = DFT_KIND_UNDECODED, spec }
#define NOTIO		.desc = { .kind = DFT_KIND_NOTIO }
#define NOTIO_BUT(x)	.desc = { .kind = DFT_KIND_NOTIO, .special = DFT_SPECIAL_##x }

static const struct dft_sys table[DFT_NR_MAX] = {
#include "bpf/syscalls.def"
};

#include "bpf/table_end.h"

/* By enum dft_alt: on the descriptor itself, and with the flag of dft_alt_flag(). */
static const struct {
	const char *flagged, *self;
} alts[] = {
	[DFT_ALT_STAT] = { "lstat", "fstat" },
	[DFT_ALT_UNLINK] = { "rmdir", NULL },
	[DFT_ALT_CHMOD] = { NULL, "fchmod" },
	[DFT_ALT_CHOWN] = { "lchown", "fchown" },
	[DFT_ALT_SETXATTR] = { "lsetxattr", "fsetxattr" },
	[DFT_ALT_GETXATTR] = { "lgetxattr", "fgetxattr" },
	[DFT_ALT_LISTXATTR] = { "llistxattr", "flistxattr" },
	[DFT_ALT_REMOVEXATTR] = { "lremovexattr", "fremovexattr" },
	[DFT_ALT_FSYNC] = { "fdatasync", NULL },
};

const struct dft_sys *dft_sys_find(unsigned int nr)
{
	return nr < DFT_NR_MAX && table[nr].name ? &table[nr] : NULL;
}

const char *dft_sys_event(const struct dft_sys *sys, bool flagged, bool self)
{
	unsigned int alt = sys->desc.alt;

	if (alt == DFT_ALT_NONE || alt >= sizeof(alts) / sizeof(alts[0]))
		return sys->event;
	if (self && alts[alt].self)
		return alts[alt].self;
	if (flagged && alts[alt].flagged)
		return alts[alt].flagged;
	return sys->event;
}

const char *dft_sys_event_of(const struct dft_sys *sys, const struct dft_rec_call *rec)
{
	unsigned int arg = sys->desc.at_flags;
	bool flagged = false;

	if (rec->flags & DFT_CALL_VIA)
		return "close";
	for (unsigned int i = 0; arg && i < DFT_MAX_VALS && i < rec->nvals; i++)
		if (sys->vals[i].src == DFT_SRC_A0 + arg - 1 && rec->present & 1u << i)
			flagged = rec->val[i] & dft_alt_flag(sys->desc.alt);
	return dft_sys_event(sys, flagged, rec->flags & DFT_CALL_SELF);
}

static void print_line(unsigned int nr, const struct dft_sys *sys)
{
	static const char *const kinds[] = {
		[DFT_KIND_DECODED] = "decoded",
		[DFT_KIND_UNDECODED] = "undecoded",
		[DFT_KIND_NOTIO] = "not-io",
	};
	const char *sep = "";

	if (nr < DFT_NR_SYS)
		printf("%3u ", nr);
	else
		printf("  - ");
	printf("%-24s %-10s %-16s ", sys->name, kinds[sys->desc.kind],
	       sys->event ? sys->event : "-");
	for (unsigned int i = 0; i < DFT_MAX_VALS && sys->vals[i].src; i++) {
		if (!sys->vals[i].name)
			continue;
		printf("%s%s", sep, sys->vals[i].name);
		sep = ",";
	}
	putchar('\n');
}

int dft_list_syscalls(void)
{
	puts(" nr syscall                  kind       event            arguments");
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++)
		if (table[nr].name)
			print_line(nr, &table[nr]);
	if (fflush(stdout) || ferror(stdout))
		return 1;
	return 0;
}
