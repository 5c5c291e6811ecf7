// SPDX-License-Identifier: MIT
// CFLAGS: -ffreestanding -fno-stack-protector -fno-builtin
// LDFLAGS: -static -nostdlib -nostartfiles
/*
 * No libc at all: system calls by instructions of its own, one in each of several places. Writes 600
 * times to "raw" in the current directory, the i-th time i % 7 bytes, and ends with status 7.
 */
#include <asm/unistd.h>
#include <fcntl.h>

#if defined(__x86_64__)
#define SYSCALL(nr, a, b, c, d)                                                                    \
	({                                                                                         \
		long ret_;                                                                         \
		register long r10_ __asm__("r10") = (long)(d);                                     \
		__asm__ volatile("syscall"                                                         \
				 : "=a"(ret_)                                                      \
				 : "a"(nr), "D"((long)(a)), "S"((long)(b)), "d"((long)(c)),        \
				   "r"(r10_)                                                       \
				 : "rcx", "r11", "memory");                                        \
		ret_;                                                                              \
	})
#elif defined(__aarch64__)
#define SYSCALL(nr, a, b, c, d)                                                                    \
	({                                                                                         \
		register long x8_ __asm__("x8") = (nr);                                            \
		register long x0_ __asm__("x0") = (long)(a);                                       \
		register long x1_ __asm__("x1") = (long)(b);                                       \
		register long x2_ __asm__("x2") = (long)(c);                                       \
		register long x3_ __asm__("x3") = (long)(d);                                       \
		__asm__ volatile("svc #0"                                                          \
				 : "+r"(x0_)                                                       \
				 : "r"(x8_), "r"(x1_), "r"(x2_), "r"(x3_)                          \
				 : "memory");                                                      \
		x0_;                                                                               \
	})
#endif

__attribute__((noreturn)) void _start(void);

void _start(void)
{
	long fd = SYSCALL(__NR_openat, AT_FDCWD, "raw", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < 600; i += 3) {
		SYSCALL(__NR_write, fd, "1234567", i % 7, 0);
		SYSCALL(__NR_write, fd, "1234567", (i + 1) % 7, 0);
		SYSCALL(__NR_write, fd, "1234567", (i + 2) % 7, 0);
	}
	SYSCALL(__NR_close, fd, 0, 0, 0);
	for (;;)
		SYSCALL(__NR_exit_group, 7, 0, 0, 0);
}
