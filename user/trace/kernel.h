/* SPDX-License-Identifier: MIT */
/* The kernel side as the tracer's own parts see it (tracer.c, sites.c, pagefault.c); nobody else does. */
#ifndef DFT_KERNEL_H
#define DFT_KERNEL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tracer.h"
#include "walk.h"

#include "dftrace.skel.h"

#define DFT_LINKS_MAX 16

struct dft_tracer {
	struct dftrace_bpf *skel;
	struct ring_buffer *ring;
	const unsigned long *ring_pos; /* the two pages before its data */
	int barrier_fd;             /* a map of maps, see dft_tracer_settle(); or -1 */
	struct dft_walk tallies[2]; /* totals, details */
	struct bpf_link *links[DFT_LINKS_MAX];
	size_t nlinks, nbirths; /* those of births and deaths come first */
	dft_record_fn fn;
	void *ctx;
	unsigned int left;      /* of the budget */
	int stopped;            /* what the callback returned */
	unsigned int names_sent;
	unsigned int images_seen, declared_sent;
	bool has_faults;        /* those for page faults are loaded, and attached later on */
	bool probes;            /* programs for annotations are loaded */
	bool one_by_one;        /* no links of many probes in this kernel: what is loaded is for single ones */
	struct bpf_link *faults[2], **majors; /* page faults in mapped files; one of majors for each CPU */
	size_t nmajors;
	struct bpf_program *enter, *exit; /* of the variant that loads */
	struct bpf_program *sweep, *uring[4];
	bool requests;          /* those of io_uring are followed */
};

/* Page faults in mapped files: 0 or -errno, and then nothing is attached. */
int dft_faults_attach(struct dft_tracer *tracer);
void dft_faults_detach(struct dft_tracer *tracer);
/* 0 or -errno, or what `fn` returned. */
int dft_kernel_walk(const struct bpf_map *map, dft_walk_fn fn, void *ctx);
/*
 * Forgetting what has been sent is always safe: it is sent again. Entries written meanwhile may stay
 * or go.
 */
void dft_kernel_forget(const struct bpf_map *map, unsigned int *sent);

#endif
