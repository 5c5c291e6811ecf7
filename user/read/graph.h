/* SPDX-License-Identifier: MIT */
/*
 * The provenance in a trace: entities, the activities that used or made them, and edges between
 * entities. Built by one pass over all files; what is kept of an event is its relations.
 *
 * Two kinds stand side by side. Annotated is what programs report about themselves. Automatic is what
 * the tracer found, one activity for each run of a program, told by a PROGRAM event or, where that is
 * missing, derived from the run's calls (prov_auto.h). An entity may be of both.
 *
 * After dft_graph_load() everything is in an order that does not depend on threads or files: entities
 * by id, activities by time, and indices into these arrays stand for them.
 */
#ifndef DFT_GRAPH_H
#define DFT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"
#include "naming.h"
#include "pass.h"
#include "prov_auto.h"
#include "rows.h"
#include "tables.h"

#define DFT_NOTHING UINT32_MAX /* no index */

enum dft_kind { /* of relations of activities */
	DFT_USED = 0,
	DFT_GENERATED,
	DFT_INVALIDATED,
	DFT_UPDATED,
	DFT_KINDS,
};

enum dft_side {
	DFT_ANNOTATED = 1 << 0,
	DFT_AUTO = 1 << 1,
	DFT_BOTH = DFT_ANNOTATED | DFT_AUTO,
};

/* Numbers of edges between entities; others are as programs have agreed with their readers. */
enum dft_edge_kind {
	DFT_DERIVED_FROM = 16,
	DFT_REVISION_OF,
	DFT_CONTAINS,
	DFT_PART_OF,
	DFT_SPECIALIZATION_OF,
	DFT_ALTERNATE_OF,
	DFT_DEPENDS_ON,
};

struct dft_ent {
	uint64_t id;
	uint64_t type, uri; /* in g->texts; 0: not told */
	uint64_t key;       /* in g->texts; 0: not known. Only of automatic ones */
	uint64_t host, fhash, mnt_ns; /* who declared it; 0: not told */
	uint32_t store;     /* DFT_NOTHING: not told */
	uint32_t group;     /* entities of one group are one thing */
	uint8_t sides;      /* enum dft_side */
	bool declared;      /* by an EH that is not late */
	bool late;          /* at least its id was declared */
};

struct dft_act {
	uint64_t host, pid, ts, id, dur; /* times as in the trace */
	uint64_t key;        /* the id, or the hash of a name that the activity has by itself */
	uint64_t label, cat; /* in g->texts */
	uint32_t unit_ns;    /* of ts and dur */
	uint8_t side;        /* one of enum dft_side */
	bool named;          /* by itself: pid and key are all its identity */
	bool derived;
	bool lacks;          /* calls of it were lost: relations may be missing */
};

struct dft_rel {
	uint32_t act, ent;
	uint32_t kind; /* enum dft_kind */
};

struct dft_er {
	uint32_t subject, object;
	uint32_t relation;
	uint8_t side;
	uint64_t why; /* in g->texts; 0: none */
};

struct dft_etype {
	uint64_t name; /* in g->texts */
	uint32_t role;
};

/* For each of some things, those of others that belong to it: v[at[i]] .. v[at[i + 1] - 1]. */
struct dft_fan {
	uint32_t *at;
	uint32_t *v;
};

struct dft_graph {
	struct dft_rows ents, acts, rels, ers, types;
	struct dft_strings texts;
	struct dft_index text_at, ent_at, act_at, type_at;
	struct dft_naming naming;
	struct dft_auto_facts autos;
	bool derive; /* relations of runs without a PROGRAM event are wanted */

	/* When complete: */
	struct dft_fan of_ent; /* entity -> rels */
	struct dft_fan of_act; /* activity -> rels */
	struct dft_fan ers_of; /* entity -> ers in which it is subject or object */
	struct dft_fan groups; /* group -> entities */
	uint64_t undeclared;   /* entities without any EH */
	uint64_t derived;      /* activities */

	/* Of the file at hand: */
	uint32_t unit_ns;
	uint64_t mnt_ns;
};

#define DFT_ENTS(g) ((struct dft_ent *)(g)->ents.v)
#define DFT_ACTS(g) ((struct dft_act *)(g)->acts.v)
#define DFT_RELS(g) ((struct dft_rel *)(g)->rels.v)
#define DFT_ERS(g) ((struct dft_er *)(g)->ers.v)
#define DFT_TYPES(g) ((struct dft_etype *)(g)->types.v)

/* ---- building; all return 0 or -errno ---------------------------------------------------------- */

/* The text once, however often it comes. */
int dft_graph_text(struct dft_graph *g, struct dft_str s, uint64_t *at);
/* The entity of that id, made if need be. NULL: no memory. */
struct dft_ent *dft_graph_ent(struct dft_graph *g, uint64_t id, uint32_t *nr);
/* The activity of that identity; what `like` says of it is taken over. */
int dft_graph_act(struct dft_graph *g, const struct dft_act *like, uint32_t *nr);
int dft_graph_rel(struct dft_graph *g, uint32_t act, uint32_t ent, enum dft_kind kind);
/* What an EH says: of several that differ, the one that comes first in an order of their contents. */
struct dft_eh {
	struct dft_str type, uri;
	uint32_t store;
	uint64_t host, fhash, mnt_ns;
	bool late;
};
int dft_graph_eh(struct dft_graph *g, uint64_t id, const struct dft_eh *eh);
int dft_graph_type(struct dft_graph *g, struct dft_str name, uint32_t role);
int dft_graph_er(struct dft_graph *g, uint64_t subject, uint64_t object, uint32_t relation,
		 struct dft_str why);

/* One record (graph_read.c). */
int dft_graph_record(struct dft_graph *g, const struct dft_record *r, struct dft_jsonr *json);

/* All that `from` has is also in `to` after it; neither is complete yet. */
int dft_graph_merge(struct dft_graph *to, const struct dft_graph *from);

/* What is below a directory that got another name is what it was below the old one (graph_dirs.c). */
int dft_graph_move_dirs(struct dft_graph *g);
/* Whether an edge tells that a file, or directory, got another name. */
bool dft_graph_is_move(const struct dft_graph *g, const struct dft_er *e);

/* Sorts everything, joins what is one, and makes the fans (graph_join.c). */
int dft_graph_complete(struct dft_graph *g);

void dft_graph_free(struct dft_graph *g);

/* ---- for commands ------------------------------------------------------------------------------ */

/*
 * Reads what the arguments name. `sides` tells whether relations are derived where PROGRAM events are
 * missing. 0, or -errno, which has been told.
 */
int dft_graph_load(struct dft_graph *g, struct dft_pass *pass, const char *cmd, unsigned int sides,
		   int argc, char **argv);

/* The id of an entity, by the rule of the format. */
uint64_t dft_entity_id(struct dft_str type, struct dft_str key);

/* Whether an entity or activity is to be shown. */
bool dft_graph_shows_ent(const struct dft_graph *g, uint32_t ent, unsigned int sides);

static inline struct dft_str dft_graph_str(const struct dft_graph *g, uint64_t at)
{
	return dft_strings_at(&g->texts, at);
}

/* What people call it: a file's name, else the uri, else the key, else nothing. */
struct dft_str dft_graph_name(const struct dft_graph *g, const struct dft_ent *e);

/* The key of a file or pipe: HOST:MNTNS:NAME, of which what is 0 is left out. 0 or -ENOMEM. */
int dft_graph_key(struct dft_graph *g, struct dft_buf *buf, uint64_t host, uint64_t mnt_ns,
		  struct dft_str path, uint64_t *at);

/* Says that memory was short. */
void dft_graph_no_memory(const char *cmd);

/* Role of a type as in the format, 0 when not told. */
uint32_t dft_graph_role(const struct dft_graph *g, uint64_t type);

const char *dft_kind_name(enum dft_kind kind);
const char *dft_store_name(uint32_t store); /* NULL for none of the format */
const char *dft_role_text(uint32_t role);
/* Name of an edge's relation; `buf` is for numbers. */
#define DFT_EDGE_SZ 24
const char *dft_edge_name(uint32_t relation, char buf[DFT_EDGE_SZ]);

/* "pid:id:ts", as other readers write it. */
#define DFT_ACT_SZ 72
char *dft_act_name(char buf[DFT_ACT_SZ], const struct dft_act *a);

/* Begin and end, saturating. */
uint64_t dft_act_begin_ns(const struct dft_act *a);
uint64_t dft_act_end_ns(const struct dft_act *a);

#endif
