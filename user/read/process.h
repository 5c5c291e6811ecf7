/* SPDX-License-Identifier: MIT */
/*
 * Which process a record is of. A file may hold several of one pid: of different hosts, or because the
 * pid was given again. Host and pid tell them apart, and that another one begins.
 */
#ifndef DFT_PROCESS_H
#define DFT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "rows.h"
#include "tables.h"

struct dft_process {
	uint64_t pid, host; /* HH hash; 0 when no record has told it */
	bool has_host;
	bool marked;        /* its `start` or `end` was seen: what begins then is another one */
	size_t before;      /* number of the one of an earlier file that it may go on with; 0: none */
};

/* Starts zeroed. */
struct dft_processes {
	struct dft_rows v;        /* of struct dft_process */
	struct dft_index by_host; /* host and pid -> number of the last one */
	struct dft_index by_pid;
	size_t first;             /* those before it are of earlier files */
	bool goes_on;             /* the file has parts of processes that earlier files may have begun */
	bool alone;               /* each file for itself, for what came before is open; numbers begin again */
	size_t now;               /* that of the record before, and how its host stood there: */
	char host[20];
	size_t host_n;            /* 0: nowhere, or longer */
};

/* Another file: what comes now is of other processes, unless the file says that it has parts of them. */
void dft_processes_begin_file(struct dft_processes *p);
/*
 * The number of the record's process, from 1 on; 0 when memory is short. That of an HH record may be no
 * other's: whether its file goes on with processes is told behind it.
 */
size_t dft_process_of(struct dft_processes *p, const struct dft_record *r, struct dft_jsonr *json);
/* A name of it that does not depend on what the files before were; `file` is the number of the one at hand. */
uint64_t dft_process_key(const struct dft_processes *p, size_t nr, uint64_t file);
void dft_processes_free(struct dft_processes *p);

static inline const struct dft_process *dft_process_at(const struct dft_processes *p, size_t nr)
{
	return (const struct dft_process *)p->v.v + nr - 1;
}

#endif
