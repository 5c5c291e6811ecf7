/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the checker share: check.c has the rules of every record and of calls,
 * check_annot.c those of what a program reports about itself. Each rule looks at c->r.
 */
#ifndef DFT_CHECK_PARTS_H
#define DFT_CHECK_PARTS_H

#include "check.h"
#include "out.h"

#define SHORT_SZ 96

static inline char *brief(char buf[SHORT_SZ], struct dft_str s)
{
	return dft_safe(buf, SHORT_SZ, s);
}

#define FAULT(c, ...) dft_faults_add(&(c)->faults, (c)->line, __VA_ARGS__)

/* Whether args hold that key with a value of that type, INT or STRING; if not, it is told. */
bool dft_check_has_arg(struct dft_check *c, const char *record, const char *key,
		       enum dft_jsonr_type type);

/* The rules of files that `dftrace` has rearranged; check_moved.c. */
/* What a call of this one would be checked against is the record's own process. */
void dft_check_life_of(struct dft_check *c);
/* Counts the record's id among those of its process. */
void dft_check_count_id(struct dft_check *c);
/* Whether that may be the next id of its process. */
bool dft_check_id_fits(struct dft_check *c, uint64_t want);
/* Whether parts of the process may be missing, because they are in other files or lost. */
bool dft_check_may_lack(const struct dft_check *c);
/* What the end record says was lost of a cut or damaged file. */
void dft_check_recovered(struct dft_check *c);
/* At the end of a file of several processes. */
void dft_check_lives(struct dft_check *c, const struct dft_source_stat *st);

/* args.relations of any event. */
void dft_check_relations(struct dft_check *c, const struct dft_jsonr_node *rel);
/* One of a program's own args. */
void dft_check_app_arg(struct dft_check *c, struct dft_str key, const struct dft_jsonr_node *v);
/* EH, ET or ER, by the second letter. */
void dft_check_entity_record(struct dft_check *c, char second);
void dft_check_cm(struct dft_check *c);
/*
 * A record of a run. True: it has the id of one before, as further parts do, and is not to be counted as
 * an event.
 */
bool dft_check_run(struct dft_check *c);
/* At the end of a finished file. */
void dft_check_runs_end(struct dft_check *c);
/* What the end record says of annotations. */
void dft_check_end_args(struct dft_check *c);
/* At the end of the file: entities that something relates to, and no record declares. */
void dft_check_undeclared(struct dft_check *c);

#endif
