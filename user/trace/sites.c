// SPDX-License-Identifier: MIT
/* The tracer's side of annotations: links of probes, and the map of files that were examined. */
#include "kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "uprobes.h"

#define DISARM_THREADS 32
/* Empty the map of examined files when this many have been put in, well before it is full. */
#define IMAGES_HIGH 49152

struct dft_armed {
	int fd;                   /* of the link of all of them, or -1 */
	struct bpf_link **links;  /* one by one */
	size_t n;
};

int dft_tracer_wake_fd(const struct dft_tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

static int arm_all(struct dft_tracer *tracer, struct dft_armed *armed, const char *path,
		   const struct dft_site *sites, size_t n)
{
	uint64_t *words = calloc(n * 3, sizeof(*words));
	struct dft_uprobes uprobes = {
		.path = path, .offsets = words, .counters = words + n, .cookies = words + 2 * n,
		.n = (uint32_t)n,
	};

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = sites[i].offset;
		words[n + i] = sites[i].sem_offset;
		words[2 * n + i] = sites[i].kind;
	}
	armed->fd = dft_uprobes_link(bpf_program__fd(tracer->skel->progs.annot_multi), &uprobes);
	free(words);
	return armed->fd < 0 ? armed->fd : 0;
}

/* For kernels before 6.6. Slow to attach, and much slower to detach. */
static int arm_each(struct dft_tracer *tracer, struct dft_armed *armed, const char *path,
		    const struct dft_site *sites, size_t n)
{
	armed->links = calloc(n, sizeof(*armed->links));
	if (!armed->links)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = sites[i].sem_offset,
			    .bpf_cookie = sites[i].kind);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			tracer->skel->progs.annot_single, -1, path, sites[i].offset, &opts);

		if (!link)
			return -errno;
		armed->links[armed->n++] = link;
	}
	return 0;
}

int dft_tracer_arm(struct dft_tracer *tracer, const char *path, const struct dft_site *sites,
		   size_t n, struct dft_armed **out)
{
	struct dft_armed *armed;
	int err;

	if (!tracer->probes)
		return -EOPNOTSUPP;
	armed = calloc(1, sizeof(*armed));
	if (!armed)
		return -ENOMEM;
	armed->fd = -1;
	err = tracer->one_by_one ? arm_each(tracer, armed, path, sites, n) :
				   arm_all(tracer, armed, path, sites, n);
	if (err) {
		dft_tracer_disarm(tracer, armed);
		return err;
	}
	*out = armed;
	return 0;
}

void dft_tracer_disarm(struct dft_tracer *tracer, struct dft_armed *armed)
{
	(void)tracer;
	if (!armed)
		return;
	if (armed->fd >= 0)
		close(armed->fd);
	for (size_t i = 0; i < armed->n; i++)
		bpf_link__destroy(armed->links[i]);
	free(armed->links);
	free(armed);
}

/* Each waits for grace periods of the kernel; those who wait together wait for the same ones. */
struct disarming {
	struct dft_tracer *tracer;
	struct dft_armed **armed;
	size_t n, next;
};

static void *disarm_some(void *ctx)
{
	struct disarming *d = ctx;
	size_t i;

	while ((i = __atomic_fetch_add(&d->next, 1, __ATOMIC_RELAXED)) < d->n)
		dft_tracer_disarm(d->tracer, d->armed[i]);
	return NULL;
}

void dft_tracer_disarm_all(struct dft_tracer *tracer, struct dft_armed **armed, size_t n)
{
	struct disarming d = { .tracer = tracer, .armed = armed, .n = n };
	pthread_t threads[DISARM_THREADS];
	size_t nthreads = 0;

	while (nthreads < DISARM_THREADS && nthreads + 1 < n &&
	       !pthread_create(&threads[nthreads], NULL, disarm_some, &d))
		nthreads++;
	disarm_some(&d);
	while (nthreads)
		pthread_join(threads[--nthreads], NULL);
}

int dft_tracer_image_seen(struct dft_tracer *tracer, const struct dft_image_key *key)
{
	uint8_t one = 1;

	if (tracer->images_seen++ > IMAGES_HIGH)
		dft_kernel_forget(tracer->skel->maps.images, &tracer->images_seen);
	return bpf_map__update_elem(tracer->skel->maps.images, key, sizeof(*key), &one, sizeof(one),
				    BPF_ANY);
}

void dft_tracer_images_unseen(struct dft_tracer *tracer)
{
	dft_kernel_forget(tracer->skel->maps.images, &tracer->images_seen);
}

struct gone {
	bool (*fn)(void *ctx, uint32_t pid, uint64_t start_ns);
	void *ctx;
};

static int declarer_is_gone(void *ctx, const void *data, const void *value)
{
	const struct dft_declared_key *key = data;
	const struct gone *gone = ctx;

	(void)value;
	return gone->fn(gone->ctx, key->pid, key->start_ns);
}

int dft_tracer_forget_declared(struct dft_tracer *tracer,
			       bool (*fn)(void *ctx, uint32_t pid, uint64_t start_ns), void *ctx)
{
	struct gone gone = { fn, ctx };

	return dft_kernel_walk(tracer->skel->maps.declared, declarer_is_gone, &gone);
}
