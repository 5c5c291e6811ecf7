/* SPDX-License-Identifier: MIT */
/*
 * Which files a command will have mapped to be executed: its program, the program loader, and the
 * libraries it links, found as the dynamic linker of glibc finds them. Nothing is executed. What is
 * not found, or wrongly, only makes a file known later, when it is mapped.
 */
#ifndef DFT_LIBS_H
#define DFT_LIBS_H

#include <limits.h>

/* Of the environment in which the command will run. NULL: not set. */
struct dft_libs_env {
	const char *path;	  /* PATH */
	const char *library_path; /* LD_LIBRARY_PATH */
	const char *preload;	  /* LD_PRELOAD */
	const char *dftracer;	  /* DFTRACER_LIBRARY */
	const char *cache;	  /* the file /etc/ld.so.cache, and */
	const char *preloads;	  /* /etc/ld.so.preload */
	char own_dir[PATH_MAX];	  /* where our own program is; "": not known */
};

/* May be told a file that does not exist any more. */
typedef void (*dft_libs_fn)(void *ctx, const char *path);

/* Our own environment, which CMD inherits. */
void dft_libs_environment(struct dft_libs_env *env);
/*
 * Calls fn once for each file of a command as execvp() takes it; relative names are relative to our
 * own directory. For a script, those of its interpreter. 0, -ENOENT: no such command, or -ENOMEM.
 */
int dft_libs_each(const char *command, const struct dft_libs_env *env, dft_libs_fn fn, void *ctx);
/* The same with each libdftracer.so in the places where programs look for it. 0 or -ENOMEM. */
int dft_libs_dftracer(const struct dft_libs_env *env, dft_libs_fn fn, void *ctx);

#endif
