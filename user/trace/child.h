/* SPDX-License-Identifier: MIT */
/*
 * The command traced with `-- CMD`. It is forked first, before the tracer opens anything that could
 * leak into it, and waits on a pipe until the tracer is live. It is never stopped or signalled; if
 * the tracer gives up, closing the pipe makes the waiting child exit by itself.
 */
#ifndef DFT_CHILD_H
#define DFT_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "config.h"

struct dft_child;

/* Identity under which CMD runs and output files are created. */
struct dft_identity {
	bool change_cmd;   /* CMD runs as cmd_* instead of as we are */
	uid_t cmd_uid;
	gid_t cmd_gid;
	gid_t *cmd_groups;
	size_t cmd_ngroups;
	char *cmd_name, *cmd_home, *cmd_shell; /* HOME, USER, LOGNAME, SHELL of CMD */
	bool change_out;   /* output files are created under out_* (SUDO_UID's) */
	uid_t out_uid;
	gid_t out_gid;
	gid_t *out_groups;
	size_t out_ngroups;
};

/* From -u USER and SUDO_UID/SUDO_GID. 0, or -errno after one line. */
int dft_identity_resolve(struct dft_identity *id, const struct dft_config *cfg);
void dft_identity_free(struct dft_identity *id);

/*
 * Forks CMD up to its gate. NULL + errno after one line. CMD gets exactly the fds, signal mask and
 * dispositions, environment and ids that it would have had without us (or of `id`).
 */
struct dft_child *dft_child_start(const struct dft_config *cfg, const struct dft_identity *id);
pid_t dft_child_pid(const struct dft_child *child);
/* A pidfd, readable when CMD has ended. Owned by the child object. */
int dft_child_pidfd(const struct dft_child *child);
/*
 * Opens the gate and waits for the exec to happen or fail. 0; or the exit status to use (126, 127,
 * 125) after one line saying why exec failed.
 */
int dft_child_release(struct dft_child *child);
/* Forwards TERM or HUP that the tracer itself was sent. */
void dft_child_forward(struct dft_child *child, int sig);
/*
 * Reaps CMD if it has ended. Returns 1 and sets *status as wait(2) does, 0 if still running, -errno.
 */
int dft_child_reap(struct dft_child *child, int *status);
/* Waits until CMD ends (used after -d). */
int dft_child_wait(struct dft_child *child, int *status);
/*
 * Ends this process as CMD ended: exit status, or the same signal raised (with core files off).
 */
void dft_child_exit_as(int status) __attribute__((noreturn));
/* Frees; a child still at its gate exits by itself. */
void dft_child_free(struct dft_child *child);

#endif
