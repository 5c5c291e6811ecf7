// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jobenv.h"

/* Of just its size, so that AddressSanitizer sees any reading beyond it. */
static struct dft_job scan(const char *env, size_t len)
{
	struct dft_job job;
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, env, len);
	memset(&job, 'x', sizeof(job));
	dft_jobenv_scan(copy, len, &job);
	free(copy);
	return job;
}
#define SCAN(env) scan(env, sizeof(env))

static void want(const struct dft_job *job, const char *rank, const char *source, const char *scheduler,
		 const char *id)
{
	assert_string_equal(job->rank, rank);
	assert_string_equal(job->source, source);
	assert_string_equal(job->scheduler, scheduler);
	assert_string_equal(job->id, id);
}

static void schedulers(void **state)
{
	struct dft_job job = SCAN("PATH=/bin\0SLURM_JOB_ID=12\0SLURM_STEP_ID=3\0SLURM_NODEID=7\0SLURM_PROCID=40");

	(void)state;
	want(&job, "40", "SLURM_PROCID", "slurm", "12");
	assert_string_equal(job.step, "3");
	assert_string_equal(job.node, "7");
	job = SCAN("PBS_JOBID=12.head.site\0PMI_RANK=0");
	want(&job, "0", "PMI_RANK", "pbs", "12.head.site");
	assert_string_equal(job.step, "");
	job = SCAN("LSB_JOBID=99\0JSM_NAMESPACE_RANK=5");
	want(&job, "5", "JSM_NAMESPACE_RANK", "lsf", "99");
	job = SCAN("FLUX_TASK_RANK=2\0FLUX_JOB_ID=f2");
	want(&job, "2", "FLUX_TASK_RANK", "flux", "f2");
	job = SCAN("MV2_COMM_WORLD_RANK=8");
	want(&job, "8", "MV2_COMM_WORLD_RANK", "", "");
	job = SCAN("PMIX_RANK=8");
	want(&job, "8", "PMIX_RANK", "", "");
}

/* An mpirun within one task of the resource manager: its own number counts, wherever it stands. */
static void several(void **state)
{
	struct dft_job job = SCAN("SLURM_PROCID=0\0SLURM_JOB_ID=1\0OMPI_COMM_WORLD_RANK=3\0PMIX_RANK=4");

	(void)state;
	want(&job, "3", "OMPI_COMM_WORLD_RANK", "slurm", "1");
	job = SCAN("PBS_JOBID=2\0SLURM_JOB_ID=1");
	want(&job, "", "", "slurm", "1");
	/* A step of another scheduler's is none of this one's. */
	job = SCAN("PBS_JOBID=2\0SLURM_STEP_ID=1");
	want(&job, "", "", "pbs", "2");
	assert_string_equal(job.step, "");
}

static void none(void **state)
{
	static const char *const odd[] = {
		"PMI_RANK=", "PMI_RANK=x", "PMI_RANK=-1", "PMI_RANK", "PMI_RANKS=1", "XPMI_RANK=1",
		"PMI_RANK=1 ", "PMI_RANK=11111111111111111111", "SLURM_JOB_ID=", "SLURM_JOB_ID=a b",
		"SLURM_JOB_ID=\"", "SLURM_JOB_ID=\xc3\xa9", "=", "S", "",
	};
	struct dft_job job = scan("", 0);

	(void)state;
	want(&job, "", "", "", "");
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		job = scan(odd[i], strlen(odd[i]) + 1);
		want(&job, "", "", "", "");
	}
	/* The next best source is taken where the best is no number. */
	job = SCAN("OMPI_COMM_WORLD_RANK=?\0PMI_RANK=6");
	want(&job, "6", "PMI_RANK", "", "");
}

static void edges(void **state)
{
	char env[16 + 200];
	struct dft_job job;

	(void)state;
	/* Without the last NUL, and empty strings in between. */
	job = scan("\0\0PMI_RANK=7", 12);
	want(&job, "7", "PMI_RANK", "", "");
	/* The longest id, and one more. */
	memset(env, 'j', sizeof(env));
	memcpy(env, "LSB_JOBID=", 10);
	job = scan(env, 10 + 127);
	assert_int_equal(strlen(job.id), 127);
	job = scan(env, 10 + 128);
	want(&job, "", "", "", "");
	/* The first of several of one name counts, as for getenv(). */
	job = SCAN("PMI_RANK=1\0PMI_RANK=2");
	want(&job, "1", "PMI_RANK", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedulers),
		cmocka_unit_test(several),
		cmocka_unit_test(none),
		cmocka_unit_test(edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
