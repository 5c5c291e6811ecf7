/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The words of syscalls.def. Include this, then syscalls.def inside an array initializer, then
 * table_end.h. With DFT_TABLE_KERNEL the array is of struct dft_desc; otherwise the includer defines
 * DFT_TABLE_LINE(nr, name, event, desc, vals) for the decoder's richer lines and DFT_TABLE_V.
 *
 * No include guard: it is made to be included again.
 */
#define SPEC(...)   __VA_ARGS__,
#define NOFILE	    .fd = 0
#define FD(n)	    .fd = (n) + 1
#define FD2(n)	    .fd2 = (n) + 1
#define FD2P(n)	    .fd2 = (n) + 1, .fd2_ptr = 1
#define VMA(n)	    .vma = (n) + 1
#define PATH(n)	    .path = (n) + 1
#define AT(b, n)    .base = (b) + 1, .path = (n) + 1
#define AT_FLAGS(b, n, f, a)                                                                       \
	.base = (b) + 1, .path = (n) + 1, .at_flags = (f) + 1, .alt = DFT_ALT_##a
#define PATH2(n)    .path2 = (n) + 1
#define AT2(b, n)   .base2 = (b) + 1, .path2 = (n) + 1
#define RAW2(n)	    .path2 = (n) + 1, .raw2 = 1
#define CLOSES(n)   .fd2 = (n) + 1, .closes = 1
#define FLAGS(f, a) .at_flags = (f) + 1, .alt = DFT_ALT_##a
#define EARLY	    .early = 1
#define EMPTY_OK    .empty_ok = 1
#define NULL_OK	    .null_ok = 1
#define NULL_EMPTY  .null_empty = 1
#define SPECIAL(x)  .special = DFT_SPECIAL_##x

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define DFT_TABLE_NR(x86, arm64) arm64
#define DFT_SYS_X86(name, x86, ...)
#else
#define DFT_TABLE_NR(x86, arm64) x86
#define DFT_SYS_X86(name, x86, ...) DFT_SYS(name, x86, 0, __VA_ARGS__)
#endif

/* What is no system call has the same number everywhere. */
#define DFT_LINE(name, base, n, ...) DFT_SYS(name, DFT_NR_##base + (n), DFT_NR_##base + (n), __VA_ARGS__)

#ifdef DFT_TABLE_KERNEL
#define V(name, src, fmt) DFT_SRC_##src,
#define NOVALS
#define DFT_SYS(name, x86, arm64, ...) [DFT_TABLE_NR(x86, arm64)] = { __VA_ARGS__ },
#define DECODED(event, spec, r, vals) .kind = DFT_KIND_DECODED, spec .ret = DFT_RET_##r, .src = { vals }
#define UNDECODED(spec) .kind = DFT_KIND_UNDECODED, spec
#define NOTIO .kind = DFT_KIND_NOTIO
#define NOTIO_BUT(x) .kind = DFT_KIND_NOTIO, .special = DFT_SPECIAL_##x
#endif
