/* SPDX-License-Identifier: MIT */
/*
 * Messages to the user. One message is one line, written with one write(2):
 *
 *     dftrace-bpf: what: why (what to do)
 *
 * Everything goes to stderr: stdout belongs to the traced command. errno is preserved.
 */
#ifndef DFT_LOG_H
#define DFT_LOG_H

enum dft_log_level {
	DFT_LOG_QUIET = 0, /* errors only */
	DFT_LOG_NORMAL = 1,
	DFT_LOG_VERBOSE = 2,
};

/* Program name put before each message; the string is not copied. */
void dft_log_init(const char *program, enum dft_log_level level);
void dft_log_set_level(enum dft_log_level level);
enum dft_log_level dft_log_level(void);

/* Always shown. */
void dft_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shown unless quiet. */
void dft_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void dft_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shown with -v. */
void dft_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
