// SPDX-License-Identifier: MIT
/*
 * Programs that do nothing, at the entry and the exit of system calls: what being there costs, before
 * anything is done with it. MIT is compatible with the GPL; the kernel, which asks for that, wants it
 * in these words.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("?tp_btf/sys_enter") int btf_enter(void *ctx)
{
	return 0;
}

SEC("?tp_btf/sys_exit") int btf_exit(void *ctx)
{
	return 0;
}

SEC("?tracepoint") int classic_enter(void *ctx)
{
	return 0;
}

SEC("?tracepoint") int classic_exit(void *ctx)
{
	return 0;
}
