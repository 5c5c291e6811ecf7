// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Knobs, maps, emitting and counting. */
#include "core.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool dft_knob_all = false;
const volatile bool dft_knob_follow = true;
const volatile bool dft_knob_select = false;
const volatile bool dft_knob_cgroup = false;
const volatile __u32 dft_knob_uid = ~0u;
const volatile __u64 dft_knob_comm[2] = {};
const volatile bool dft_knob_all_files = false;
const volatile bool dft_knob_verdicts = false;
const volatile bool dft_knob_no_loop = false;
const volatile __u32 dft_knob_self = 0;
const volatile bool dft_knob_only = false;
const volatile __u64 dft_knob_min_dur = 0;
const volatile __u64 dft_knob_flush = 1000000000;
const volatile __u32 dft_knob_page_shift = 12;
const volatile __u64 dft_knob_call_room = 0;

__u64 dft_unmarked = 0, dft_unmarked_done = 0;
bool dft_census = false;
bool dft_aggregate = false;
bool dft_tallied = false;
__u32 dft_names_epoch = 0;
bool dft_keep_names = false;
__u64 dft_exits_lost = 0;
bool dft_requested = false;
__u32 dft_serial = 0;
__u32 dft_sweep = 0;
__u64 dft_fault_asked = 0, dft_fault_answer = 0;

#define DFT_TABLE_KERNEL
#include "table.h"
const volatile struct dft_desc dft_descs[DFT_NR_MAX] = {
#include "syscalls.def"
};
#include "table_end.h"

struct tasks_map tasks SEC(".maps");
struct ring_map ring SEC(".maps");
struct targets_map targets SEC(".maps");
struct selected_map selected SEC(".maps");
struct names_map names SEC(".maps");
struct verdicts_map verdicts SEC(".maps");
struct totals_map totals SEC(".maps");
struct details_map details SEC(".maps");
struct fd_changes_map fd_changes SEC(".maps");
struct counters_map counters SEC(".maps");
struct images_map images SEC(".maps");
struct executed_map executed SEC(".maps");
struct declared_map declared SEC(".maps");
struct scratch_map scratch SEC(".maps");
struct iter_scratch_map iter_scratch SEC(".maps");
struct requests_map requests SEC(".maps");
struct ending_map ending SEC(".maps");
struct request_scratch_map request_scratch SEC(".maps");

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
	struct dft_tally *tally = bpf_map_lookup_elem(map, key);
	struct dft_tally fresh = { .min_ns = ~0ull, .first_ns = ~0ull };

	if (tally)
		return tally;
	/* -EEXIST: another thread of the process was faster. */
	bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/*
 * More tries than there can be threads that win against this one one after the other, each with a
 * more extreme value, before it has its turn.
 */
#define EXTREME_TRIES 64

/* Global functions, as dft_tally() is. */
__attribute__((noinline)) int dft_least(__u64 *at, __u64 value)
{
	__u64 old;

	if (!at)
		return 0;
	old = *(volatile __u64 *)at;
	for (__u32 i = 0; i < EXTREME_TRIES && value < old; i++) {
		__u64 was = __sync_val_compare_and_swap(at, old, value);

		if (was == old)
			break;
		old = was;
	}
	return 0;
}

__attribute__((noinline)) int dft_greatest(__u64 *at, __u64 value)
{
	__u64 old;

	if (!at)
		return 0;
	old = *(volatile __u64 *)at;
	for (__u32 i = 0; i < EXTREME_TRIES && value > old; i++) {
		__u64 was = __sync_val_compare_and_swap(at, old, value);

		if (was == old)
			break;
		old = was;
	}
	return 0;
}

int dft_tally(struct dft_tally_key *key, struct dft_sum *sum)
{
	struct dft_tally *tally = NULL;
	struct dft_tally_key own;
	bool filtered;
	__u64 ts_ns;

	if (!key || !sum)
		return 0;
	own = *key;
	if (own.id) {
		tally = tally_in(&details, &own);
		own.id = 0; /* no room: all of them together */
	}
	if (!tally)
		tally = tally_in(&totals, &own);
	if (!tally)
		return dft_count(DFT_COUNTER_TALLY_FULL);
	ts_ns = sum->ts_ns ? sum->ts_ns : bpf_ktime_get_ns();
	__sync_fetch_and_add(&tally->calls, 1 + sum->more);
	if (sum->failed)
		__sync_fetch_and_add(&tally->errors, 1);
	if (sum->bytes)
		__sync_fetch_and_add(&tally->bytes, sum->bytes);
	__sync_fetch_and_add(&tally->dur_ns, sum->dur_ns);
	dft_least(&tally->first_ns, ts_ns);
	filtered = own.kind == DFT_TALLY_FILTERED;
	/* What rows are made of: calls without a record of their own, and those on pipes. */
	if (own.kind != DFT_TALLY_SHED && own.kind != DFT_TALLY_CHOSEN &&
	    !(filtered && own.cls == DFT_CLASS_PIPE))
		return 0;
	dft_least(&tally->min_ns, sum->dur_ns);
	dft_greatest(&tally->max_ns, sum->dur_ns);
	dft_greatest(&tally->last_ns, ts_ns + sum->dur_ns);
	/* After the sums, so that who clears it first and then looks sees them. */
	if (!filtered && !dft_tallied)
		dft_tallied = true;
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

__hidden bool dft_ring_is_tight(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > dft_knob_call_room;
}

__hidden int dft_emit_detail(void *rec, __u64 size)
{
	return dft_ring_is_tight() ? -1 : dft_emit(rec, size);
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
