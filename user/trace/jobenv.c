// SPDX-License-Identifier: MIT
#include "jobenv.h"

#include <string.h>

/*
 * The first scheduler whose job is there is the one. Step and node are of its own variables, and NULL
 * where it has none.
 */
static const struct {
	const char *name, *id, *step, *node;
} schedulers[] = {
	{ "slurm", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID" },
	{ "flux", "FLUX_JOB_ID", NULL, NULL },
	{ "pbs", "PBS_JOBID", NULL, "PBS_NODENUM" },
	{ "lsf", "LSB_JOBID", "LSF_PM_TASKID", NULL },
};

/*
 * Those of MPI itself first: what an mpirun starts within one task of a resource manager inherits that
 * task's number.
 */
static const char *const ranks[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "ALPS_APP_PE", "SLURM_PROCID",
};

#define N_SCHEDULERS (sizeof(schedulers) / sizeof(schedulers[0]))
#define N_RANKS	     (sizeof(ranks) / sizeof(ranks[0]))

/* A value in the environment: not ended by a NUL of its own if it is the last. */
struct value {
	const char *text;
	size_t len;
};

struct found {
	struct value id[N_SCHEDULERS], step[N_SCHEDULERS], node[N_SCHEDULERS], rank[N_RANKS];
};

static bool is_variable(const char *at, size_t len, const char *name, struct value *value)
{
	size_t n = name ? strlen(name) : 0;

	if (!n || len <= n || at[n] != '=' || memcmp(at, name, n))
		return false;
	if (!value->text) /* of several the first counts, as for getenv() */
		*value = (struct value){ at + n + 1, len - n - 1 };
	return true;
}

static void take(struct found *found, const char *at, size_t len)
{
	for (size_t i = 0; i < N_SCHEDULERS; i++)
		if (is_variable(at, len, schedulers[i].id, &found->id[i]) ||
		    is_variable(at, len, schedulers[i].step, &found->step[i]) ||
		    is_variable(at, len, schedulers[i].node, &found->node[i]))
			return;
	for (size_t i = 0; i < N_RANKS; i++)
		if (is_variable(at, len, ranks[i], &found->rank[i]))
			return;
}

/* Names of jobs are of these; something else, or longer, is no such name. */
static bool is_plain(const struct value *value)
{
	for (size_t i = 0; i < value->len; i++)
		if (value->text[i] <= ' ' || value->text[i] > '~' || value->text[i] == '"' ||
		    value->text[i] == '\\')
			return false;
	return value->len;
}

static bool is_number(const struct value *value)
{
	for (size_t i = 0; i < value->len; i++)
		if (value->text[i] < '0' || value->text[i] > '9')
			return false;
	return value->len;
}

static void keep(char *to, size_t cap, const struct value *value)
{
	if (value->len >= cap || !is_plain(value))
		return;
	memcpy(to, value->text, value->len);
	to[value->len] = '\0';
}

void dft_jobenv_scan(const char *env, size_t len, struct dft_job *job)
{
	struct found found = { 0 };
	size_t i;

	memset(job, 0, sizeof(*job));
	while (len) {
		const char *nul = memchr(env, '\0', len);
		size_t n = nul ? (size_t)(nul - env) : len;

		/* All that we look for begin with a capital letter, and most others do with another one. */
		if (n && strchr("SFPLOMJA", env[0]))
			take(&found, env, n);
		n += nul != NULL;
		env += n;
		len -= n;
	}
	for (i = 0; i < N_SCHEDULERS && !job->id[0]; i++) {
		keep(job->id, sizeof(job->id), &found.id[i]);
		if (!job->id[0])
			continue;
		strcpy(job->scheduler, schedulers[i].name);
		keep(job->step, sizeof(job->step), &found.step[i]);
		keep(job->node, sizeof(job->node), &found.node[i]);
	}
	for (i = 0; i < N_RANKS && !job->rank[0]; i++) {
		if (!is_number(&found.rank[i]))
			continue;
		keep(job->rank, sizeof(job->rank), &found.rank[i]);
		if (job->rank[0])
			strcpy(job->source, ranks[i]);
	}
}
