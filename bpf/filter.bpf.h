/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Why a call is left out. */
#ifndef DFT_FILTER_BPF_H
#define DFT_FILTER_BPF_H

#include "value.bpf.h"

/* Not among those of --only: left out whatever its file. `form` is dft_desc_form(). */
ALWAYS_INLINE bool is_dropped(__u32 nr, __u32 form)
{
	return dft_knob_only && desc_of(nr)->drop & 1 << (form & 3);
}

ALWAYS_INLINE bool is_too_short(__u64 dur_ns)
{
	return dft_knob_min_dur && dur_ns < dft_knob_min_dur;
}

/* The class of the file that has the call left out, or 0. */
ALWAYS_INLINE __u8 filter_file(struct dft_task *t, const volatile struct dft_desc *d, __u32 call)
{
	bool is_file = d->fd || d->vma || d->ret == DFT_RET_FILE || call & DFT_CALL_SELF;

	if (!is_file || call & DFT_CALL_BASE)
		return 0; /* calls on names are judged in user space, which has the name */
	if (class_is_filtered(t->cls) &&
	    (!d->fd2 || d->closes || !t->cls2 || class_is_filtered(t->cls2)))
		return t->cls;
	if (dft_knob_verdicts && t->name && bpf_map_lookup_elem(&verdicts, &t->name) &&
	    (!d->fd2 || d->closes || !t->name2 || bpf_map_lookup_elem(&verdicts, &t->name2)))
		return DFT_CLASS_EXCLUDED;
	return 0;
}

#endif
