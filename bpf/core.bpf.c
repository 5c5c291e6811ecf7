// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Knobs, maps, emitting and counting. */
#include "core.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool dft_knob_all = false;
const volatile bool dft_knob_follow = true;
const volatile bool dft_knob_all_files = false;
const volatile bool dft_knob_verdicts = false;
const volatile bool dft_knob_no_loop = false;
const volatile __u32 dft_knob_self = 0;

__u64 dft_unmarked = 0, dft_unmarked_done = 0;
bool dft_census = false;

#define DFT_TABLE_KERNEL
#include "table.h"
const volatile struct dft_desc dft_descs[DFT_NR_MAX] = {
#include "syscalls.def"
};
#include "table_end.h"

struct tasks_map tasks SEC(".maps");
struct ring_map ring SEC(".maps");
struct targets_map targets SEC(".maps");
struct names_map names SEC(".maps");
struct verdicts_map verdicts SEC(".maps");
struct tallies_map tallies SEC(".maps");
struct pipes_map pipes SEC(".maps");
struct fd_changes_map fd_changes SEC(".maps");
struct counters_map counters SEC(".maps");
struct images_map images SEC(".maps");
struct declared_map declared SEC(".maps");
struct scratch_map scratch SEC(".maps");
struct iter_scratch_map iter_scratch SEC(".maps");

__hidden int dft_count(__u32 counter)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

/* The tally of the key in one of the two maps, made if need be. NULL: the map is full. */
ALWAYS_INLINE struct dft_tally *tally_in(void *map, const struct dft_tally_key *key)
{
	struct dft_tally *sum = bpf_map_lookup_elem(map, key);
	struct dft_tally zero = {};

	if (sum)
		return sum;
	zero.first_ns = bpf_ktime_get_ns();
	/* -EEXIST: another thread of the process was faster. */
	bpf_map_update_elem(map, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

int dft_tally(struct dft_tally_key *key, __s64 ret, __u64 bytes, __u64 dur_ns)
{
	struct dft_tally *sum = NULL;
	struct dft_tally_key own;

	if (!key)
		return 0;
	own = *key;
	if (own.ino) {
		sum = tally_in(&pipes, &own);
		own.ino = 0; /* no room: the pipes together */
	}
	if (!sum)
		sum = tally_in(&tallies, &own);
	if (!sum)
		return dft_count(DFT_COUNTER_TALLY_FULL);
	__sync_fetch_and_add(&sum->calls, 1);
	if (ret < 0)
		__sync_fetch_and_add(&sum->errors, 1);
	if (bytes)
		__sync_fetch_and_add(&sum->bytes, bytes);
	__sync_fetch_and_add(&sum->dur_ns, dur_ns);
	return 0;
}

__hidden int dft_emit(void *rec, __u64 size)
{
	/*
	 * Never a wake-up: user space looks every few milliseconds, and waking it costs a call more
	 * than everything else together.
	 */
	return bpf_ringbuf_output(&ring, rec, size, BPF_RB_NO_WAKEUP) ? -1 : 0;
}

__hidden int dft_emit_urgent(void *rec, __u64 size)
{
	return bpf_ringbuf_output(&ring, rec, size, BPF_RB_FORCE_WAKEUP) ? -1 : 0;
}

/*
 * Programs on these hooks run with preemption off, so that one scratch a CPU is enough; the flag
 * turns a kernel where that no longer holds into a counted loss instead of a torn record.
 */
__hidden struct dft_scratch *dft_scratch_get(__u32 iter)
{
	struct dft_scratch *s;
	__u32 zero = 0;

	/* The iterator can be interrupted by programs that need the other. */
	if (iter)
		s = bpf_map_lookup_elem(&iter_scratch, &zero);
	else
		s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return NULL;
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		dft_count(DFT_COUNTER_SCRATCH_BUSY);
		return NULL;
	}
	return s;
}

__hidden int dft_scratch_put(struct dft_scratch *s)
{
	s->busy = 0;
	return 0;
}
