/* SPDX-License-Identifier: MIT */
/*
 * USDT probes: places in a program where a tracer may be told something, and which cost one nop
 * while none is there. Nothing is included and nothing is linked. A probe has a provider, a name and
 * six operands of 8 bytes:
 *
 *	DFTRACER_USDT_DEFINE(game, score)                       at file scope, or in a header
 *	...
 *	if (DFTRACER_USDT_ENABLED(game, score))                 somebody listens
 *		DFTRACER_USDT(game, score, player, points, 0, 0, 0, 0);
 *
 * DEFINE may be in any number of files of a program or library: they share one semaphore, which the
 * kernel counts up and down with those who listen. Every probe has one.
 *
 * All operands are always in the same registers, so that all probes of a file have the same argument
 * string, and a tracer needs to understand only one. They are those of the first six arguments of a
 * function call.
 *
 * A probe is described by a note in the format of SystemTap, which bpftrace, perf, gdb and libbpf
 * read as well: section .note.stapsdt, owner "stapsdt", type 3; then the addresses of the probe, of
 * the section .stapsdt.base (by which a tool sees how far prelink moved the file) and of the
 * semaphore, and three strings: provider, name, arguments.
 */
#ifndef DFTRACER_USDT_H
#define DFTRACER_USDT_H

/*
 * x86-64: the classic nop of one byte, on which a listener gets a trap. That is safe on all kernels.
 *
 * DFTRACER_USDT_NOP5 takes a nop of five bytes, which kernels from 6.18 on turn into a call. It is not
 * faster for every listener, and it has two dangers. The call writes onto the stack, and a leaf function
 * may have data below its stack pointer (the red zone, 128 bytes), which would be destroyed: hence the
 * step past it, in two leas because they leave the flags alone. And kernels up to at least 6.18 do not
 * give a forked child the page that is called: the child of a process that is listened to dies of
 * SIGSEGV at its next probe. For programs that never fork.
 *
 * The operands are in registers, so they do not care where the stack pointer is.
 */
#if defined(__x86_64__) && defined(__LP64__)
#define DFTRACER_USDT_ARGS "8@%%rdi 8@%%rsi 8@%%rdx 8@%%rcx 8@%%r8 8@%%r9"
#define DFTRACER_USDT_R0   "rdi"
#define DFTRACER_USDT_R1   "rsi"
#define DFTRACER_USDT_R2   "rdx"
#define DFTRACER_USDT_R3   "rcx"
#define DFTRACER_USDT_R4   "r8"
#define DFTRACER_USDT_R5   "r9"
#ifdef DFTRACER_USDT_NOP5
#define DFTRACER_USDT_PLACE                                                                        \
	"	lea	{-128(%%rsp), %%rsp|rsp, [rsp - 128]}\n"                                   \
	"3:	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                            \
	"	lea	{128(%%rsp), %%rsp|rsp, [rsp + 128]}\n"
#else
#define DFTRACER_USDT_PLACE "3:	nop\n"
#endif
#elif defined(__aarch64__) && defined(__LP64__)
#define DFTRACER_USDT_ARGS  "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"
#define DFTRACER_USDT_R0    "x0"
#define DFTRACER_USDT_R1    "x1"
#define DFTRACER_USDT_R2    "x2"
#define DFTRACER_USDT_R3    "x3"
#define DFTRACER_USDT_R4    "x4"
#define DFTRACER_USDT_R5    "x5"
#define DFTRACER_USDT_PLACE "3:	nop\n"
#endif

#define DFTRACER_USDT_WORD_OF(x) ((unsigned long)(x))

#if defined(__cplusplus)
#define DFTRACER_USDT_C_BEGIN extern "C" {
#define DFTRACER_USDT_C_END   }
#else
#define DFTRACER_USDT_C_BEGIN
#define DFTRACER_USDT_C_END
#endif

#ifdef DFTRACER_USDT_PLACE

/*
 * The semaphore. `used`, because only assembler text may name it, which the optimizer of whole
 * programs does not read: it would give it another name.
 */
#define DFTRACER_USDT_DEFINE(provider, probe)                                                      \
	DFTRACER_USDT_C_BEGIN                                                                      \
	extern volatile unsigned short provider##_##probe##_semaphore                              \
		__attribute__((visibility("hidden")));                                             \
	__attribute__((weak, used, visibility("hidden"),                                           \
		       section(".probes"))) volatile unsigned short                                \
		provider##_##probe##_semaphore = 0;                                                \
	DFTRACER_USDT_C_END

#define DFTRACER_USDT_ENABLED(provider, probe)                                                     \
	(__builtin_expect(provider##_##probe##_semaphore, 0) != 0)

/*
 * No label is 0 or 1: under -masm=intel 0b and 1b are numbers. "?" puts the note into the section group of the function, if that is in one: of several equal
 * inline functions the linker keeps one, and with the others their notes must go.
 */
#define DFTRACER_USDT_TEXT(provider, probe)                                                        \
	DFTRACER_USDT_PLACE                                                                        \
	"	.pushsection .note.stapsdt, \"?\", \"note\"\n"                                     \
	"	.balign	4\n"                                                                       \
	"	.4byte	5f - 4f, 7f - 6f, 3\n"                                                     \
	"4:	.asciz	\"stapsdt\"\n"                                                             \
	"5:	.balign	4\n"                                                                       \
	"6:	.8byte	3b, _.stapsdt.base, " #provider "_" #probe "_semaphore\n"                  \
	"	.asciz	\"" #provider "\"\n"                                                       \
	"	.asciz	\"" #probe "\"\n"                                                          \
	"	.asciz	\"" DFTRACER_USDT_ARGS "\"\n"                                              \
	"7:	.balign	4\n"                                                                       \
	"	.popsection\n"                                                                     \
	"	.ifndef	_.stapsdt.base\n"                                                          \
	"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"         \
	"	.weak	_.stapsdt.base\n"                                                          \
	"	.hidden	_.stapsdt.base\n"                                                          \
	"_.stapsdt.base:\n"                                                                        \
	"	.space	1\n"                                                                       \
	"	.size	_.stapsdt.base, 1\n"                                                       \
	"	.popsection\n"                                                                     \
	"	.endif\n"

/*
 * All operands are computed before the first one gets its register: what computes the next one may
 * call a function, and that uses the same registers.
 */
#define DFTRACER_USDT(provider, probe, a0, a1, a2, a3, a4, a5)                                     \
	do {                                                                                       \
		unsigned long dft_usdt_a0 = DFTRACER_USDT_WORD_OF(a0);                             \
		unsigned long dft_usdt_a1 = DFTRACER_USDT_WORD_OF(a1);                             \
		unsigned long dft_usdt_a2 = DFTRACER_USDT_WORD_OF(a2);                             \
		unsigned long dft_usdt_a3 = DFTRACER_USDT_WORD_OF(a3);                             \
		unsigned long dft_usdt_a4 = DFTRACER_USDT_WORD_OF(a4);                             \
		unsigned long dft_usdt_a5 = DFTRACER_USDT_WORD_OF(a5);                             \
		register unsigned long dft_usdt_r0 __asm__(DFTRACER_USDT_R0) = dft_usdt_a0;        \
		register unsigned long dft_usdt_r1 __asm__(DFTRACER_USDT_R1) = dft_usdt_a1;        \
		register unsigned long dft_usdt_r2 __asm__(DFTRACER_USDT_R2) = dft_usdt_a2;        \
		register unsigned long dft_usdt_r3 __asm__(DFTRACER_USDT_R3) = dft_usdt_a3;        \
		register unsigned long dft_usdt_r4 __asm__(DFTRACER_USDT_R4) = dft_usdt_a4;        \
		register unsigned long dft_usdt_r5 __asm__(DFTRACER_USDT_R5) = dft_usdt_a5;        \
		__asm__ __volatile__(DFTRACER_USDT_TEXT(provider, probe)                           \
				     :                                                             \
				     : "r"(dft_usdt_r0), "r"(dft_usdt_r1), "r"(dft_usdt_r2),       \
				       "r"(dft_usdt_r3), "r"(dft_usdt_r4), "r"(dft_usdt_r5)        \
				     : "memory");                                                  \
	} while (0)

#else /* no probes here: the same source compiles, and nobody ever listens */

#pragma message("dftracer/usdt.h: no probes on this processor (x86-64 and AArch64 have them)")

#define DFTRACER_USDT_DEFINE(provider, probe)                                                      \
	DFTRACER_USDT_C_BEGIN                                                                      \
	enum dftracer_usdt_none_##provider##_##probe {                                             \
		DFTRACER_USDT_NONE_##provider##_##probe                                            \
	};                                                                                         \
	DFTRACER_USDT_C_END

#define DFTRACER_USDT_ENABLED(provider, probe) 0

#define DFTRACER_USDT(provider, probe, a0, a1, a2, a3, a4, a5)                                     \
	do {                                                                                       \
		(void)DFTRACER_USDT_WORD_OF(a0);                                                   \
		(void)DFTRACER_USDT_WORD_OF(a1);                                                   \
		(void)DFTRACER_USDT_WORD_OF(a2);                                                   \
		(void)DFTRACER_USDT_WORD_OF(a3);                                                   \
		(void)DFTRACER_USDT_WORD_OF(a4);                                                   \
		(void)DFTRACER_USDT_WORD_OF(a5);                                                   \
	} while (0)

#endif

#endif
