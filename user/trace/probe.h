/* SPDX-License-Identifier: MIT */
/*
 * What this kernel and these privileges allow, found by trying (never by version number), and the
 * words for it: `--info`, and the one line printed when tracing cannot start.
 */
#ifndef DFT_PROBE_H
#define DFT_PROBE_H

#include <stdbool.h>

/*
 * Prints the capability report to stdout: kernel, capabilities, BTF, lockdown, each program/attach
 * type with yes/no and the reason, libbpf and tool version. `json`: one JSON object. Exit status.
 */
int dft_probe_info(bool json);

/*
 * Has this kernel links of many uprobes? Attaching one for `--info` takes tens of milliseconds; here it is
 * tried on a directory, which a kernel that has them refuses in its own way, and at once.
 */
bool dft_probe_uprobe_multi(void);

/*
 * Cheap checks before anything is loaded: root or capabilities, BTF present, lockdown. 0, or -errno
 * after one line that names the cause and the remedy.
 */
int dft_probe_preflight(void);

/*
 * Explains why loading or attaching `what` failed with `err` (a negative errno): one line with the
 * cause (lockdown, missing capability, no BTF, kernel too old, program type refused) and remedy.
 */
void dft_probe_explain(const char *what, int err);

#endif
