/* SPDX-License-Identifier: MIT */
/* Which annotations are listened to in a session, and what is said of those that are not. */
#ifndef DFT_LISTEN_H
#define DFT_LISTEN_H

#include "engine.h"

struct dft_arm;
struct dft_tracer;

struct dft_listen {
	const struct dft_config *cfg;
	struct dft_tracer *tracer;
	struct dft_engine *engine;
	struct dft_arm *arm;  /* NULL: nothing is listened to (any more) */
	unsigned int again;   /* times that running files are still to be looked at */
};

/* All files known before tracing is live. 0, or -errno after one line. */
int dft_listen_start(struct dft_listen *listen, const struct dft_config *cfg,
		     struct dft_tracer *tracer, struct dft_engine *engine);
/* What runs already: once more, when new files are reported, so that none is missed. As above. */
int dft_listen_running(struct dft_listen *listen);
/* Readable when an armed file was written to, for dft_listen_on_files(); -1: none. */
int dft_listen_fd(const struct dft_listen *listen);
void dft_listen_on_files(struct dft_listen *listen);
/* After SIGIO. */
void dft_listen_on_lease(struct dft_listen *listen);
/* For the engine's `image`. */
void dft_listen_image(struct dft_listen *listen, const struct dft_rec_image *rec, const char *path,
		      struct dft_image_found *out);
/* Every tenth of a second: files that were written to, and run. 0 or -ENOMEM. */
int dft_listen_again(struct dft_listen *listen);
void dft_listen_stop(struct dft_listen *listen);

#endif
