/* SPDX-License-Identifier: MIT */
/*
 * Which files have been looked at for probes, and which are armed: each once, by inode, for all
 * processes. A file is what was opened, whatever its name means by then or elsewhere; it is looked
 * at anew when it has changed.
 */
#ifndef DFT_ARM_H
#define DFT_ARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct dft_arm;
struct dft_image_key;
struct dft_tracer;

struct dft_arm_result {
	bool probes;	   /* it has probes of ours */
	uint64_t since_ns; /* CLOCK_MONOTONIC from which all their hits are seen; 0 = not armed */
	int err;	   /* negative errno: could not be looked at or, with `probes`, be armed */
};

/* NULL + errno. */
struct dft_arm *dft_arm_new(struct dft_tracer *tracer);
/*
 * Before a file is disarmed because somebody writes to it: who has it mapped is not listened to any
 * more. `st` is of the file.
 */
typedef void (*dft_arm_changed_fn)(void *ctx, const struct stat *st, const char *name);
void dft_arm_on_change(struct dft_arm *arm, dft_arm_changed_fn fn, void *ctx);
/* Disarms everything: before the tracer is freed. */
void dft_arm_free(struct dft_arm *arm);

/*
 * One file. `explicit`: it was asked for by --usdt, and one line says why it cannot be armed;
 * otherwise a file without probes is as good as any. 0 or -errno.
 */
int dft_arm_file(struct dft_arm *arm, const char *path, bool explicit);
/*
 * A file that is open, with O_PATH at least; it stays the caller's. Or the error of opening it, of
 * which is told what concerns us.
 */
void dft_arm_fd(struct dft_arm *arm, int fd, const char *name, struct dft_arm_result *out);
/* The same, if it is one that is armed; false: not known. */
bool dft_arm_known(struct dft_arm *arm, const struct dft_image_key *key,
		   struct dft_arm_result *out);
/*
 * What CMD will execute and link, as far as it can be known, and libdftracer.so; with NULL only
 * that. 0 or -ENOMEM.
 */
int dft_arm_command(struct dft_arm *arm, char *const *argv);
/* All that a process has mapped to be executed. 0, also when it is gone, or -errno. */
int dft_arm_process(struct dft_arm *arm, pid_t pid);
/* The same of all processes but ourselves. */
int dft_arm_all(struct dft_arm *arm);
/*
 * The file that the kernel side says a process executes or has mapped. `key` and `path` (in the
 * process's root) are as the record has them, either may be NULL. If the process has gone or gone
 * on, the path is all there is; -ENOENT: it stands for nothing, or for another file.
 */
void dft_arm_image(struct dft_arm *arm, pid_t pid, const struct dft_image_key *key,
		   const char *path, struct dft_arm_result *out);

/* Readable when an armed file was written to. -1: there is none, and nothing can be armed. */
int dft_arm_watch_fd(const struct dft_arm *arm);
/*
 * Disarms the files that were written to: a breakpoint where another instruction is now would ruin
 * the job. Returns how many; the kernel side should then say again which files are used.
 */
unsigned int dft_arm_on_watch(struct dft_arm *arm);
/* After SIGIO: the same for files that somebody waits to write to. */
void dft_arm_on_lease(struct dft_arm *arm);

/* Files with probes that could not be armed, and files not looked at for want of descriptors. */
size_t dft_arm_failures(const struct dft_arm *arm);

#endif
