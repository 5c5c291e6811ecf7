/* SPDX-License-Identifier: MIT */
/*
 * Listens to the probes of its own process, without the kernel's help: puts a breakpoint into each,
 * counts up the semaphores, and keeps what the registers and the chunk hold when it is hit. So tests
 * need no privileges, and see every byte.
 */
#ifndef TESTS_HEADER_LISTEN_H
#define TESTS_HEADER_LISTEN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Arms all probes of provider dftracer in all files that are mapped now. Returns their number. */
int listen_begin(void);
/* Takes the breakpoints out again, and the semaphores down. */
void listen_end(void);
/*
 * Prints what came, one line for each hit and forgets it:
 *	probe NAME name text value code data len chunk tid
 * name, text and chunk as hex digits, "-" for NULL, "+" before nothing.
 */
void listen_print(void);

#ifdef __cplusplus
}
#endif

#endif
