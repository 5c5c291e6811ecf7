// SPDX-License-Identifier: MIT
/* Page faults in mapped files: attaches the programs, and sees whether they do their work in this kernel. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "kernel.h"
#include "log.h"

/* One for each fault that had to wait for the disk, whatever thread has it. */
static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ, .sample_period = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_major(struct dft_tracer *tracer)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return cpus;
	tracer->majors = calloc((size_t)cpus, sizeof(*tracer->majors));
	if (!tracer->majors)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(cpu);

		if (fd < 0 && (errno == ENODEV || errno == ENXIO))
			continue; /* it is off */
		if (fd < 0)
			return -errno;
		tracer->majors[tracer->nmajors] =
			bpf_program__attach_perf_event(tracer->skel->progs.fault_major, fd);
		if (!tracer->majors[tracer->nmajors]) {
			int err = -errno;

			close(fd);
			return err;
		}
		tracer->nmajors++;
	}
	return tracer->nmajors ? 0 : -ENODEV;
}

/* How mappings are kept is the kernel's own affair: touches a page of a known file and sees what is found. */
static int ask(struct dft_tracer *tracer)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	volatile char *at;
	int err = 0, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	at = err ? MAP_FAILED : mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!err && at == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	__atomic_store_n(&tracer->skel->bss->dft_fault_asked, (uint64_t)(uintptr_t)at, __ATOMIC_RELEASE);
	(void)*at;
	__atomic_store_n(&tracer->skel->bss->dft_fault_asked, 0, __ATOMIC_RELEASE);
	munmap((void *)(uintptr_t)at, page);
	return tracer->skel->bss->dft_fault_answer == st.st_ino ? 0 : -ENOTSUP;
}

int dft_faults_attach(struct dft_tracer *tracer)
{
	static const char *const hooks[] = { "page_fault_user", "page_fault_kernel" };
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		tracer->faults[i] = bpf_program__attach_raw_tracepoint(
			tracer->skel->progs.fault_begin, hooks[i]);
		if (!tracer->faults[i])
			err = -errno;
	}
	if (!err)
		err = ask(tracer);
	if (!err)
		err = attach_major(tracer);
	if (err)
		dft_faults_detach(tracer);
	return err;
}

void dft_faults_detach(struct dft_tracer *tracer)
{
	while (tracer->nmajors)
		bpf_link__destroy(tracer->majors[--tracer->nmajors]);
	free(tracer->majors);
	tracer->majors = NULL;
	for (size_t i = 0; i < sizeof(tracer->faults) / sizeof(tracer->faults[0]); i++) {
		bpf_link__destroy(tracer->faults[i]);
		tracer->faults[i] = NULL;
	}
}
