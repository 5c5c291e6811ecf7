// SPDX-License-Identifier: MIT
#include "listen.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "arm.h"
#include "clock.h"
#include "log.h"
#include "mappings.h"
#include "probe.h"
#include "tracer.h"

#define AGAIN_TRIES 100 /* of dft_listen_again(): a file is written to for a while */

/*
 * An armed file is being disarmed for somebody who wants to write to it. Those who run it are told of
 * in the trace; what they run is looked at again for a while, for it may be the same as before.
 */
static void on_changed(void *ctx, const struct stat *st, const char *name)
{
	uint32_t dev = major(st->st_dev) << 20 | minor(st->st_dev);
	uint64_t now = dft_clock_mono_ns();
	struct dft_listen *listen = ctx;
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&listen->engine->procs.live, &at))) {
		struct dft_proc *proc = slot->value;
		int has = dft_mappings_has((pid_t)proc->pid, dev, st->st_ino);

		/* One that cannot be looked into may have it. */
		if (has && has != -ESRCH)
			dft_engine_unheard(listen->engine, proc, name, now);
	}
	listen->again = AGAIN_TRIES;
}

/*
 * A process that cannot be looked into can be traced all the same, without its annotations. 0 or
 * -ENOMEM.
 */
static int arm_running(struct dft_listen *listen)
{
	const struct dft_config *cfg = listen->cfg;
	int err = 0;

	for (size_t i = 0; i < cfg->npids && err != -ENOMEM; i++) {
		err = dft_arm_process(listen->arm, cfg->pids[i]);
		if (err && err != -ENOMEM)
			dft_warn("-p %d: annotations are not recorded: its mappings cannot be read: %s "
				 "(run as root)", (int)cfg->pids[i], strerror(-err));
	}
	if (cfg->all && err != -ENOMEM)
		err = dft_arm_all(listen->arm);
	return err == -ENOMEM ? err : 0;
}

int dft_listen_running(struct dft_listen *listen)
{
	int err = arm_running(listen);

	if (err)
		dft_probe_explain("looking for annotations", err);
	return err;
}

int dft_listen_start(struct dft_listen *listen, const struct dft_config *cfg,
		     struct dft_tracer *tracer, struct dft_engine *engine)
{
	int err = 0;

	listen->cfg = cfg;
	listen->tracer = tracer;
	listen->engine = engine;
	listen->arm = dft_arm_new(tracer);
	if (!listen->arm) {
		err = -errno;
		dft_probe_explain("looking for annotations", err);
		return err;
	}
	dft_arm_on_change(listen->arm, on_changed, listen);
	for (size_t i = 0; i < cfg->usdt.n && !err; i++)
		err = dft_arm_file(listen->arm, cfg->usdt.v[i], true);
	if (err)
		return err;
	err = dft_arm_command(listen->arm, cfg->argv);
	if (err)
		dft_probe_explain("looking for annotations", err);
	return err ? err : dft_listen_running(listen);
}

int dft_listen_fd(const struct dft_listen *listen)
{
	return dft_arm_watch_fd(listen->arm);
}

void dft_listen_on_files(struct dft_listen *listen)
{
	if (listen->arm && dft_arm_on_watch(listen->arm))
		dft_tracer_images_unseen(listen->tracer);
}

void dft_listen_on_lease(struct dft_listen *listen)
{
	if (listen->arm)
		dft_arm_on_lease(listen->arm);
}

void dft_listen_image(struct dft_listen *listen, const struct dft_rec_image *rec, const char *path,
		      struct dft_image_found *out)
{
	struct dft_arm_result result = { 0 };
	int err = 0;

	if (!listen->arm)
		return; /* at the end: nothing is listened to any more */
	dft_arm_image(listen->arm, (pid_t)rec->pid, &rec->key, path, &result);
	if (result.err) {
		out->state = DFT_IMAGE_FAILED;
		out->why = strerror(-result.err);
	} else if (result.probes) {
		out->state = DFT_IMAGE_ARMED;
		out->armed_ns = result.since_ns;
	}
	/* One that failed is told of in each process that runs it. */
	if (!result.err)
		err = dft_tracer_image_seen(listen->tracer, &rec->key);
	if (err) /* harmless: it is looked up again at its next use */
		dft_verbose("examined files: %s", strerror(-err));
}

int dft_listen_again(struct dft_listen *listen)
{
	struct dft_map_slot *slot;
	size_t at = 0;
	int err = 0;

	if (!listen->arm || !listen->again)
		return 0;
	listen->again--;
	while (err != -ENOMEM && (slot = dft_map_next(&listen->engine->procs.live, &at)))
		err = dft_arm_process(listen->arm, (pid_t)((struct dft_proc *)slot->value)->pid);
	return err == -ENOMEM ? err : 0;
}

void dft_listen_stop(struct dft_listen *listen)
{
	dft_arm_free(listen->arm);
	listen->arm = NULL;
}
