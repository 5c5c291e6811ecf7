/* SPDX-License-Identifier: MIT */
/* bpf/syscalls.def as the decoder sees it. */
#ifndef DFT_SYSCALLS_H
#define DFT_SYSCALLS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

enum dft_fmt {
	DFT_FMT_NONE = 0,
	DFT_FMT_INT,    /* 32 bits, signed */
	DFT_FMT_UINT,
	DFT_FMT_LONG,   /* 64 bits, signed */
	DFT_FMT_ULONG,
	DFT_FMT_LO32,
	DFT_FMT_HI32,
	DFT_FMT_ID,     /* uid or gid; -1 = unchanged */
	DFT_FMT_MODE,   /* only with O_CREAT or O_TMPFILE in `flags` */
	DFT_FMT_STATUS, /* behind ret */
	DFT_FMT_GATE,   /* low half 0: the next value is not shown */
	DFT_FMT_FH,     /* hash of a file name */
	DFT_FMT_SH,     /* hash of a string */
	DFT_FMT_STR,
};

struct dft_sys_val {
	const char *name; /* JSON key; NULL = not shown */
	uint8_t src;      /* enum dft_src */
	uint8_t fmt;      /* enum dft_fmt */
	uint8_t name_len;
};

struct dft_sys {
	const char *name;  /* of the system call */
	const char *event; /* NULL unless decoded */
	struct dft_desc desc;
	struct dft_sys_val vals[DFT_MAX_VALS];
};

/* The line of a number of this machine's table, or NULL. */
const struct dft_sys *dft_sys_find(unsigned int nr);

/*
 * The event's name. `flagged`: the call's AT_* flags have the bit of dft_alt_flag(); `self`: it was
 * on the descriptor itself.
 */
const char *dft_sys_event(const struct dft_sys *sys, bool flagged, bool self);
/* The name of the event that a CALL record of this line becomes. */
const char *dft_sys_event_of(const struct dft_sys *sys, const struct dft_rec_call *rec);

/* Prints the table to stdout; the exit status. */
int dft_list_syscalls(void);

#endif
