// SPDX-License-Identifier: MIT
#include "uprobes.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

int dft_uprobes_link(int prog, const struct dft_uprobes *uprobes)
{
	/* `link_create` of union bpf_attr with its `uprobe_multi`, which older headers lack. */
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, end;
	} attr = {
		.prog_fd = (uint32_t)prog,
		.attach_type = DFT_ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)uprobes->path,
		.offsets = (uintptr_t)uprobes->offsets,
		.ref_ctr_offsets = (uintptr_t)uprobes->counters,
		.cookies = (uintptr_t)uprobes->cookies,
		.cnt = uprobes->n,
		.pid = uprobes->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}
