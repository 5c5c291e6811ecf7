// SPDX-License-Identifier: MIT
// CFLAGS: -shared -fPIC
/*
 * To be preloaded into a tracer: the first NO_SETTLING times it cannot wait for programs that run in the
 * kernel, for which it writes to a map of maps. What the tracer runs is not concerned.
 */
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static int left;

__attribute__((constructor)) static void begin(void)
{
	const char *times = getenv("NO_SETTLING");

	left = times ? atoi(times) : 0;
	unsetenv("LD_PRELOAD");
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int (*update)(int, const void *, const void *, __u64) = dlsym(RTLD_NEXT, "bpf_map_update_elem");
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	if (!update || bpf_obj_get_info_by_fd(fd, &info, &len))
		abort();
	if (info.type != BPF_MAP_TYPE_ARRAY_OF_MAPS || __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED) < 1)
		return update(fd, key, value, flags);
	errno = ENOMEM;
	return -ENOMEM;
}
