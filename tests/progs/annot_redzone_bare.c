// SPDX-License-Identifier: MIT
// CFLAGS: -O2
/*
 * annot_redzone with probes done wrong: a nop of five bytes and no step past the red zone. The call
 * that a listener puts in its place writes where the leaf function has its data.
 */
#if defined(__x86_64__)

#define WORD(x) ((unsigned long)(x))

#define PROBE(provider, probe, a0, a1, a2, a3, a4, a5)                                             \
	do {                                                                                       \
		register unsigned long r0 __asm__("rdi") = WORD(a0);                               \
		register unsigned long r1 __asm__("rsi") = WORD(a1);                               \
		register unsigned long r2 __asm__("rdx") = WORD(a2);                               \
		register unsigned long r3 __asm__("rcx") = WORD(a3);                               \
		register unsigned long r4 __asm__("r8") = WORD(a4);                                \
		register unsigned long r5 __asm__("r9") = WORD(a5);                                \
		__asm__ __volatile__(                                                              \
			"1:	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00\n"                                  \
			"	.pushsection .note.stapsdt, \"\", \"note\"\n"                            \
			"	.balign	4\n"                                                             \
			"	.4byte	3f - 2f, 5f - 4f, 3\n"                                            \
			"2:	.asciz	\"stapsdt\"\n"                                                  \
			"3:	.balign	4\n"                                                           \
			"4:	.8byte	1b, 0, " #provider "_" #probe "_semaphore\n"               \
			"	.asciz	\"" #provider "\"\n"                                       \
			"	.asciz	\"" #probe "\"\n"                                          \
			"	.asciz	\"8@%%rdi 8@%%rsi 8@%%rdx 8@%%rcx 8@%%r8 8@%%r9\"\n"              \
			"5:	.balign	4\n"                                                           \
			"	.popsection\n"                                                           \
			:                                                                          \
			: "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)                     \
			: "memory");                                                               \
	} while (0)

#endif

#include "annot_redzone.c"
