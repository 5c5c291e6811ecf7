/* SPDX-License-Identifier: MIT */
/* Other formats: one file export_NAME.c each, with one entry of the table in cmd_export.c. */
#ifndef DFT_EXPORT_H
#define DFT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "pass.h"
#include "whole.h"

struct dft_export_opts {
	const char *out; /* -o; NULL: standard output */
	bool force;      /* replace what is there */
	unsigned int sides; /* of provenance: enum dft_side */
};

struct dft_exporter {
	const char *name;
	const char *brief;
	/* Takes the files' arguments; returns the exit status of the program. */
	int (*run)(int argc, char **argv, const struct dft_export_opts *opts);
};

extern const struct dft_exporter dft_export_csv;
extern const struct dft_exporter dft_export_dftracer_1;
extern const struct dft_exporter dft_export_dot;
extern const struct dft_exporter dft_export_perfetto;
extern const struct dft_exporter dft_export_prov_json;
extern const struct dft_exporter dft_export_prov_n;
extern const struct dft_exporter dft_export_sqlite;

/* A text that goes to -o, whole or not at all, or to standard output. */
struct dft_export_file {
	struct dft_whole whole;
	FILE *f;
};

/* 0 or -errno, which is told. */
int dft_export_open(struct dft_export_file *e, const struct dft_export_opts *opts);
/* With `rc` that is not 0 nothing is left behind. 0 or -errno, which is told, or rc. */
int dft_export_close(struct dft_export_file *e, int rc);

/* What failed behind the pass, which tells of its own. Returns rc. */
int dft_export_failed(const char *what, int rc);

#endif
