// SPDX-License-Identifier: MIT
/*
 * A name of which the compiler knows everything must still be read before its probe is hit: its pages
 * may not be in memory yet. Prints which of its pages were read, by taking away the right to.
 */
#define _GNU_SOURCE
#include "alone.h"

#include <dftracer/dftracer.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4 };

static const char name[PAGES * PAGE] __attribute__((aligned(PAGE))) = {
	[0 ... 2 * PAGE + 100] = 'n'
};
static int was_read[PAGES];

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = ((uintptr_t)info->si_addr - (uintptr_t)name) / PAGE;

	(void)sig;
	(void)context;
	if (page >= PAGES || mprotect((void *)((uintptr_t)name + page * PAGE), PAGE, PROT_READ))
		_Exit(3);
	was_read[page] = 1;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct dft_region r = { .name = name, .text = "" };

	want_to_be_alone();
	if (sigaction(SIGSEGV, &sa, NULL) || mprotect((void *)(uintptr_t)name, sizeof(name), PROT_NONE))
		return 3;
	dft_part(&r); /* nobody listens: nothing is read */
	printf("%d%d%d%d ", was_read[0], was_read[1], was_read[2], was_read[3]);
	dft_touch(name);
	printf("%d%d%d%d\n", was_read[0], was_read[1], was_read[2], was_read[3]);
	return 0;
}
