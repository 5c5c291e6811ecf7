/* SPDX-License-Identifier: MIT */
/*
 * What a run of a program did with a file, and which relations follow from it. The tracer asks while
 * it traces; the reader asks by the same rules about a run whose PROGRAM event is missing.
 *
 * Facts of one run and one file are collected in any order; relations are derived at the end. What
 * counts is content: who only looks a name up, or at a file's attributes, has no relation to it.
 */
#ifndef DFT_PROV_H
#define DFT_PROV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an event does to the content of the file in `fhash`, and of the other one, if it names two. */
enum dft_prov_act {
	DFT_PROV_NONE = 0,
	DFT_PROV_OPEN,
	DFT_PROV_READ,
	DFT_PROV_WRITE,
	DFT_PROV_COPY_FROM, /* read from fhash, written to the other */
	DFT_PROV_COPY_TO,   /* read from the other, written to fhash */
	DFT_PROV_SHARE_TO,  /* the same, by a call that returns nothing */
	DFT_PROV_CHANGE,    /* written, by a call that returns nothing */
	DFT_PROV_MAP,
	DFT_PROV_TRUNCATE,
	DFT_PROV_UNLINK,
	DFT_PROV_RENAME,    /* fhash is the old name, the other one the new */
	DFT_PROV_LINK,      /* the same, and the old one stays */
	DFT_PROV_EXEC,      /* the other one is a script's interpreter */
};

enum dft_prov_fact {
	DFT_PROV_OPENED = 1 << 0,   /* by this run itself, not inherited */
	DFT_PROV_DID_READ = 1 << 1, /* that there was nothing to read is knowledge, too */
	DFT_PROV_WROTE = 1 << 2,
	DFT_PROV_MADE = 1 << 3,     /* created, or emptied */
	DFT_PROV_NAMED = 1 << 4,    /* this name was given to it, by rename or link */
	DFT_PROV_UNNAMED = 1 << 5,  /* this name was taken from it, by unlink or rename */
	DFT_PROV_RAN = 1 << 6,      /* executed, or mapped to be executed */
	DFT_PROV_MAPPED = 1 << 7,   /* for reading */
	/* Not from the run's own events: */
	DFT_PROV_INHERITED = 1 << 8, /* an ancestor had made it */
	DFT_PROV_HEIR_WROTE = 1 << 9, /* a descendant without an open of its own did */
};

/* Relations of an event, as bits. */
enum dft_prov_relation {
	DFT_PROV_USED = 1 << 0,
	DFT_PROV_GENERATED = 1 << 1,
	DFT_PROV_INVALIDATED = 1 << 2,
	DFT_PROV_UPDATED = 1 << 3,
};

/* Values of a call, as far as it has them. */
struct dft_prov_call {
	int64_t ret;          /* of DFT_PROV_MAP: only whether it is -1 */
	bool has_flags;       /* an OPEN without them is a creat() */
	uint64_t flags;       /* of open, mmap, rename */
	uint64_t prot;        /* of mmap */
	uint64_t len;         /* of truncate */
	bool created;         /* of open: there was no such file before */
	bool faults_seen;     /* page faults in mapped files are events or rows of their own */
};

/* By an event's name, category POSIX. */
enum dft_prov_act dft_prov_act_of(const char *event, size_t len);

/* What the call tells of the file in `fhash`, and of the other one; enum dft_prov_fact. */
void dft_prov_facts(enum dft_prov_act act, const struct dft_prov_call *call, unsigned int *file,
		    unsigned int *other);

/* enum dft_prov_relation of all that is known of a run and a file. */
unsigned int dft_prov_relations(unsigned int facts);

/*
 * The id of an entity: FNV-1a of type, a separator and key, as the format has it. The key comes in two
 * parts, either of which may be empty. Never 0.
 */
uint64_t dft_prov_id(const char *type, size_t type_len, const char *head, size_t head_len,
		     const char *tail, size_t tail_len);

/* O_TMPFILE of the kernel, without O_DIRECTORY, which is part of it where programs see it. */
#define DFT_PROV_O_TMPFILE 020000000

/* Entity types of what the tracer finds by itself. */
#define DFT_PROV_FILE	 "file"
#define DFT_PROV_PROGRAM "program" /* executables and shared libraries */
#define DFT_PROV_PIPE	 "pipe"
#define DFT_PROV_DIR	 "directory" /* only of those that were renamed */
/* Category of the event that tells a run's relations. */
#define DFT_PROV_CAT "PROGRAM"

#endif
