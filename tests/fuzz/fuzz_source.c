// SPDX-License-Identifier: MIT
/*
 * Any bytes as a trace file, once under a name that promises gzip and once under one that does not,
 * through the checker and the summary to the printed page; and once more with a thread that decompresses
 * ahead, which must make no difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "replay.h"
#include "source.h"
#include "summary.h"
#include "tests/lib/jobline.h"

static void must(int cond)
{
	if (!cond)
		abort();
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0);
	must(write(fd, data, size) == (ssize_t)size);
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void add_fault(void *sum, const struct dft_fault *f)
{
	uint64_t where[] = { f->member, f->byte, f->line, f->harmless };

	*(uint64_t *)sum = dft_hash_bytes(*(uint64_t *)sum, where, sizeof(where));
	*(uint64_t *)sum = dft_hash_bytes(*(uint64_t *)sum, f->what, strlen(f->what));
}

/* Lines, faults and figures, as one number. */
static uint64_t lines_of(struct dft_source *src, const uint8_t *data, size_t size, const char *name,
			 uint64_t ahead_from)
{
	struct dft_source_stat st;
	struct dft_line line;
	uint64_t sum = 0;
	int rc;

	dft_source_ahead(src, ahead_from);
	must(!dft_source_open_fd(src, file_of(data, size), name, add_fault, &sum));
	while ((rc = dft_source_next(src, &line)) == 1)
		sum = dft_hash_bytes(sum + line.whole, line.s, line.n);
	dft_source_ahead(src, UINT64_MAX);
	dft_source_stat(src, &st);
	sum = dft_hash_bytes(sum, &st.members, sizeof(st.members));
	sum = dft_hash_bytes(sum + st.plain * 4u + st.cut * 2u + st.damaged, &st.bytes_in, sizeof(st.bytes_in));
	sum = dft_hash_bytes(sum + (unsigned int)rc, &st.bytes_out, sizeof(st.bytes_out));
	return dft_hash_bytes(sum, &st.lines, sizeof(st.lines));
}

static void read_all(struct dft_source *src, const uint8_t *data, size_t size, const char *name,
		     struct dft_job *job)
{
	static struct dft_check check;
	struct dft_source_stat st;
	struct dft_line line;
	uint64_t lines = 0;

	dft_check_begin(&check);
	dft_job_begin_file(job, 0);
	must(!dft_source_open_fd(src, file_of(data, size), name, dft_check_source_fault, &check));
	while (dft_source_next(src, &line) == 1) {
		lines++;
		dft_source_stat(src, &st);
		must(dft_check_line(&check, &line, st.plain) == 0);
		job_line(job, &line);
	}
	dft_job_end_file(job);
	dft_source_stat(src, &st);
	must(lines == st.lines);
	must(dft_check_end(&check, &st) == 0);
	/* Whatever is wrong is told. */
	if (st.cut || st.damaged || check.unfinished || check.lost)
		must(check.faults.total > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dft_source *src;
	static FILE *null;
	const struct dft_read_stat rs = { .files = 2 };
	const struct dft_summary_opts opts = { .top = 10 };
	struct dft_job job = { .slow_max = 10 }, other = { .slow_max = 3 };

	if (!src) {
		src = dft_source_new();
		null = fopen("/dev/null", "w");
	}
	must(src && null);
	/* Once: a thread takes its time to begin. */
	must(lines_of(src, data, size, "x.pfw.gz", UINT64_MAX) == lines_of(src, data, size, "x.pfw.gz", 0));
	read_all(src, data, size, "x.pfw.gz", &job);
	read_all(src, data, size, "x.pfw", &job);
	read_all(src, data, size, "y.pfw", &other);
	must(dft_job_merge(&job, &other) == 0);
	dft_job_free(&other);
	must(dft_job_sort(&job) == 0);
	must(dft_summary_text(&job, &rs, &opts, null) == 0);
	must(dft_summary_json(&job, &rs, &opts, null) == 0);
	dft_job_free(&job);
	return 0;
}
