/* SPDX-License-Identifier: MIT */
/* Command line of dftrace-bpf. */
#ifndef DFT_CLI_H
#define DFT_CLI_H

#include "config.h"

/*
 * Parses the command line. Returns 0, or -1 after printing one line that says what is wrong.
 * Whatever it allocated is released by dft_cli_free(), also after an error.
 */
int dft_cli_parse(struct dft_config *cfg, int argc, char **argv);
void dft_cli_free(struct dft_config *cfg);
void dft_cli_help(void); /* to stdout */

/* "1.5s", "200ms", "2m", "1h", bare number = seconds. 0 or -EINVAL / -ERANGE. */
int dft_cli_parse_duration(const char *text, uint64_t *ns);
/* "500M", "20GiB": bytes, in powers of 1024. 0 or -EINVAL / -ERANGE. */
int dft_cli_parse_size(const char *text, uint64_t *bytes);
/* "64K", "1M", "16MiB": bytes, power of two, 4 KiB .. 1 GiB. 0 or -EINVAL / -ERANGE. */
int dft_cli_parse_ring_size(const char *text, uint32_t *bytes);

#endif
