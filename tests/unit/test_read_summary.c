// SPDX-License-Identifier: MIT
/* Bounds of what the summary keeps, and jobs that are added up, line by line and without any file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "summary.h"
#include "tests/lib/jobline.h"

#define MAX_USES (1u << 18) /* as summary_event.c has it */

static void take(struct dft_job *job, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void take(struct dft_job *job, const char *fmt, ...)
{
	struct dft_line line = { .no = 1, .whole = true };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	line.n = (size_t)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_true(line.n < sizeof(text));
	line.s = text;
	assert_int_equal(job_line(job, &line), 1);
}

static void take_read(struct dft_job *job, unsigned int pid, uint64_t hash, unsigned int dur, unsigned int offset)
{
	take(job, "{\"name\":\"pread\",\"cat\":\"POSIX\",\"type\":3,\"pid\":%u,\"tid\":%u,\"ts\":5,\"dur\":%u,\"ph\":1,"
		  "\"args\":{\"fhash\":\"%016llx\",\"offset\":%u,\"ret\":7}}",
	     pid, pid, dur, (unsigned long long)hash, offset);
}

static const struct dft_file *file_of(const struct dft_job *job, uint64_t hash)
{
	const struct dft_file *f = job->files.v;

	for (size_t i = 0; i < job->files.n; i++)
		if (f[i].hash == hash)
			return &f[i];
	return NULL;
}

/* Beyond the bound calls count, but which processes they are of is not told any more. */
static void test_many_uses(void **state)
{
	struct dft_job job = { .slow_max = 3 };
	const struct dft_file *f;

	(void)state;
	dft_job_begin_file(&job, 0);
	for (unsigned int i = 0; i < MAX_USES; i++)
		take_read(&job, 1 + i / 1000, 1 + i % 1000, 1, 0);
	for (unsigned int i = 0; i < 3; i++)
		take_read(&job, 5000 + i, 7, 1, 0);
	take_read(&job, 5000, 1001, 1, 0);
	take_read(&job, 1, 1, 1, 7);
	dft_job_end_file(&job);
	assert_int_equal(dft_job_sort(&job), 0);
	assert_int_equal(job.events, MAX_USES + 5);
	f = file_of(&job, 7);
	assert_true(f->procs == 263 && f->procs_more && f->calls == 263 + 3 && f->read == 7 * 266);
	f = file_of(&job, 1001);
	assert_true(f->procs == 0 && f->procs_more && f->calls == 1 && !f->access);
	/* One that is known goes on where it was. */
	f = file_of(&job, 1);
	assert_false(f->procs_more);
	assert_int_equal(((struct dft_access *)job.access.v + f->access - 1)->way[0].consecutive, 1);
	dft_job_free(&job);
}

/* Of the next file of the trace nothing is known of what was read where. */
static void test_next_file(void **state)
{
	struct dft_job job = { .slow_max = 3 };
	const struct dft_pattern *p;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		dft_job_begin_file(&job, i);
		take_read(&job, 1, 9, 1, i * 7);
		take_read(&job, 1, 9, 1, i * 7 + 7);
		dft_job_end_file(&job);
	}
	assert_int_equal(dft_job_sort(&job), 0);
	p = &((struct dft_access *)job.access.v)->way[0];
	assert_true(p->first == 3 && p->consecutive == 3 && p->located == 6);
	assert_int_equal(file_of(&job, 9)->procs, 3);
	dft_job_free(&job);
}

/* The longest calls of several jobs are those of all, whatever each of them kept. */
static void test_longest(void **state)
{
	struct dft_job sum = { 0 }; /* as of a thread that had no file */
	const struct dft_slow *s;

	(void)state;
	for (unsigned int k = 0; k < 5; k++) {
		struct dft_job job = { .slow_max = 4 };

		dft_job_begin_file(&job, k);
		for (unsigned int i = 0; i < 50; i++)
			take_read(&job, k + 1, 9, (i * 37 + k * 11) % 101, 0);
		dft_job_end_file(&job);
		assert_int_equal(dft_job_merge(&sum, &job), 0);
		dft_job_free(&job);
	}
	assert_int_equal(dft_job_sort(&sum), 0);
	s = sum.slow.v;
	assert_int_equal(sum.slow.n, 4);
	/* By hand: i * 37 + k * 11 is 100 in 101 for (k 0, i 30), (k 3, i 10), (k 4, i 37); then 99. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(s[i].dur_ns, 100000);
	assert_true(s[0].pid == 1 && s[1].pid == 4 && s[2].pid == 5);
	assert_int_equal(s[3].dur_ns, 99000);
	assert_int_equal(sum.events, 250);
	dft_job_free(&sum);
}

/* Sums stop at the largest number, also those of jobs. */
static void test_saturates(void **state)
{
	struct dft_job a = { .slow_max = 1 }, b = { .slow_max = 1 };
	struct dft_job *const jobs[] = { &a, &b };

	(void)state;
	for (int i = 0; i < 2; i++) {
		dft_job_begin_file(jobs[i], (uint64_t)i);
		take(jobs[i], "{\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"pid\":1,\"tid\":1,\"ts\":1,\"ph\":3,"
			      "\"args\":{\"fhash\":\"0000000000000009\",\"dft_cnt\":18446744073709551615,"
			      "\"ret_sum\":18446744073709551615,\"dur_sum\":18446744073709551615,"
			      "\"errors\":18446744073709551615}}");
		dft_job_end_file(jobs[i]);
	}
	assert_int_equal(dft_job_merge(&a, &b), 0);
	assert_int_equal(dft_job_sort(&a), 0);
	assert_true(a.read == UINT64_MAX && a.data_ns == UINT64_MAX && a.calls == UINT64_MAX);
	assert_true(file_of(&a, 9)->calls == UINT64_MAX && file_of(&a, 9)->procs == 2);
	assert_int_equal(((struct dft_failure *)a.failures.v)->calls, UINT64_MAX);
	dft_job_free(&a);
	dft_job_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_uses),
		cmocka_unit_test(test_next_file),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
