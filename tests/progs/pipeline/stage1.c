// SPDX-License-Identifier: MIT
/*
 * Stage 1 of the pipeline, in C: from the input chunk to one filtered alignment for each sequence.
 *
 *     stage1 WORKDIR
 *
 * load_inputs           chunk and configuration to one file for each sequence
 * load_and_merge_msas   relatives in each database, aligned (raw), then merged to one alignment
 * filter_msa            without repeats and distant rows; the merged alignment is removed
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dftracer/dftracer.h>

#include "gate.h"

#define DISK DFT_STORE_LOCAL_DISK
#define MATRIX "matrix of classes" /* the key of the scoring matrix, which is part of this program */

enum { ID = 16, LENGTH = 128, ROW = 2 * LENGTH, PATH = 512, MAX = 64, DATABASES = 3, GAP = -4 };

struct seq {
	char id[ID];
	char text[ROW];
};

struct set {
	int n;
	struct seq seq[MAX];
};

static const char *const database_names[DATABASES] = { "families", "metagenome", "soil" };

static const char *workdir;
static struct set chunk, databases[DATABASES];
static int min_score, min_identity, max_rows;
static EntityID config_id, database_ids[DATABASES];

static void fail(const char *what)
{
	fprintf(stderr, "stage1: ");
	perror(what);
	exit(1);
}

/* The path of a file below the working directory. */
__attribute__((format(printf, 2, 3))) static const char *at(char *path, const char *format, ...)
{
	va_list args;
	int n = snprintf(path, PATH, "%s/", workdir);

	va_start(args, format);
	n += vsnprintf(path + n, n < PATH ? PATH - n : 0, format, args);
	va_end(args);
	if (n >= PATH) {
		fprintf(stderr, "stage1: %s: the path is too long\n", workdir);
		exit(1);
	}
	return path;
}

static FILE *open_or_fail(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (!f)
		fail(path);
	return f;
}

static void close_or_fail(FILE *f, const char *path)
{
	if (ferror(f) | fclose(f))
		fail(path);
}

/* Reads FASTA, or an alignment of the same shape: a line `>id` and a line of letters. */
static void read_set(const char *path, struct set *set)
{
	FILE *f = open_or_fail(path, "r");

	for (set->n = 0; set->n < MAX; set->n++) {
		struct seq *s = &set->seq[set->n];

		if (fscanf(f, ">%15s %255s ", s->id, s->text) != 2)
			break;
	}
	if (!feof(f) || !set->n) {
		fprintf(stderr, "stage1: %s: not FASTA, or too much of it\n", path);
		exit(1);
	}
	close_or_fail(f, path);
}

static void write_row(FILE *f, const struct seq *s)
{
	fprintf(f, ">%s\n%s\n", s->id, s->text);
}

/* ---- load_inputs ---------------------------------------------------------------------------- */

static void read_config(const char *path)
{
	FILE *f = open_or_fail(path, "r");

	if (fscanf(f, "min_score %d min_identity %d max_rows %d", &min_score, &min_identity,
		   &max_rows) != 3) {
		fprintf(stderr, "stage1: %s: not a configuration\n", path);
		exit(1);
	}
	close_or_fail(f, path);
}

static void load_inputs(void)
{
	struct DFTracerData *step = initialize_region("load_inputs", "PROV", DF_DATA_EVENT);
	char fasta[PATH], config[PATH], out[PATH];
	EntityID fasta_id, id;

	read_set(at(fasta, "inputs/chunk.fasta"), &chunk);
	read_config(at(config, "inputs/run.cfg"));
	fasta_id = DFTRACER_C_ENTITY("input_fasta", "chunk", DISK, fasta);
	config_id = DFTRACER_C_ENTITY("run_config", "run.cfg", DISK, config);
	update_relation(step, DFT_REL_USED, fasta_id);
	update_relation(step, DFT_REL_USED, config_id);
	for (int i = 0; i < chunk.n; i++) {
		const struct seq *s = &chunk.seq[i];
		FILE *f = open_or_fail(at(out, "seq/%s.fasta", s->id), "w");

		write_row(f, s);
		close_or_fail(f, out);
		id = update_relation_entity(step, DFT_REL_GENERATED, "sequence", s->id, DISK, out);
		DFTRACER_C_ENTITY_RELATE(DFT_REL_CONTAINS, fasta_id, id);
	}
	update_metadata_int(step, "sequences", chunk.n);
	finalize_region(step);
}

/* ---- load_and_merge_msas -------------------------------------------------------------------- */

static void read_databases(void)
{
	DFTRACER_C_FUNCTION_START();
	char path[PATH];

	for (int d = 0; d < DATABASES; d++) {
		at(path, "inputs/db/%s.fasta", database_names[d]);
		database_ids[d] = DFTRACER_C_ENTITY("sequence_db", database_names[d], DISK, path);
		read_set(path, &databases[d]);
	}
	DFTRACER_C_FUNCTION_UPDATE_INT("databases", DATABASES);
	DFTRACER_C_FUNCTION_END();
}

/* Residues of one class replace each other more often than others do. */
static int score_of(char a, char b)
{
	static const char *const classes[] = { "AVILMC", "FWYH", "STNQ", "KR", "DE", "GP" };

	if (a == b)
		return 4;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (strchr(classes[i], a))
			return strchr(classes[i], b) ? 1 : -2;
	return -2;
}

static int largest(int a, int b, int c)
{
	int m = a > b ? a : b;

	return m > c ? m : c;
}

/*
 * Aligns t with q over their whole lengths. The row has a capital letter or '-' for each residue of q,
 * and in small letters what t has more. Returns the score.
 */
static int align(const char *q, const char *t, char *row)
{
	static int best[LENGTH + 1][LENGTH + 1];
	int n = (int)strlen(q), m = (int)strlen(t), at_end = 0;
	char turned[ROW + 1];

	if (n > LENGTH || m > LENGTH) {
		fprintf(stderr, "stage1: a sequence of more than %d residues\n", LENGTH);
		exit(1);
	}
	for (int i = 0; i <= n; i++)
		for (int j = 0; j <= m; j++)
			best[i][j] = !i || !j ? GAP * (i + j)
					      : largest(best[i - 1][j - 1] + score_of(q[i - 1], t[j - 1]),
							best[i - 1][j] + GAP, best[i][j - 1] + GAP);
	for (int i = n, j = m; i || j;) {
		if (i && j && best[i][j] == best[i - 1][j - 1] + score_of(q[i - 1], t[j - 1])) {
			turned[at_end++] = t[j - 1];
			i--, j--;
		} else if (i && best[i][j] == best[i - 1][j] + GAP) {
			turned[at_end++] = '-';
			i--;
		} else {
			turned[at_end++] = (char)tolower((unsigned char)t[j - 1]);
			j--;
		}
	}
	for (int i = 0; i < at_end; i++)
		row[i] = turned[at_end - 1 - i];
	row[at_end] = 0;
	return best[n][m];
}

/* What of database d resembles s, aligned with it. A resemblance is measured by s and itself. */
static void search_database(const struct seq *s, int d, const char *path)
{
	int enough = 4 * (int)strlen(s->text) * min_score / 100;
	FILE *f = open_or_fail(path, "w");
	struct seq row;

	for (int i = 0; i < databases[d].n; i++) {
		memcpy(row.id, databases[d].seq[i].id, sizeof(row.id));
		if (align(s->text, databases[d].seq[i].text, row.text) >= enough)
			write_row(f, &row);
	}
	close_or_fail(f, path);
}

static void merge(const struct seq *s, char raw[][PATH], const char *merged)
{
	DFTRACER_C_REGION_START(merge);
	FILE *f = open_or_fail(merged, "w");
	struct set set;
	int rows = 1;

	write_row(f, s);
	for (int d = 0; d < DATABASES; d++) {
		read_set(raw[d], &set);
		for (int i = 0; i < set.n; i++, rows++)
			write_row(f, &set.seq[i]);
	}
	close_or_fail(f, merged);
	DFTRACER_C_REGION_UPDATE_INT(merge, "rows", rows);
	DFTRACER_C_REGION_END(merge);
	(void)rows; /* nobody asks for it with DFTRACER_DISABLE */
}

static void load_and_merge_msas(const struct seq *s)
{
	struct DFTracerData *step = initialize_region("load_and_merge_msas", "PROV", DF_DATA_EVENT);
	char raw[DATABASES][PATH], merged[PATH], key[2 * ID];
	EntityID id;

	/* Declared with its file by load_inputs: type and key are enough to mean it. */
	update_relation_entity(step, DFT_REL_USED, "sequence", s->id, DFT_STORE_MEMORY, NULL);
	update_relation_entity(step, DFT_REL_USED, "scoring_matrix", MATRIX, DFT_STORE_MEMORY, NULL);
	for (int d = 0; d < DATABASES; d++) {
		update_relation(step, DFT_REL_USED, database_ids[d]);
		search_database(s, d, at(raw[d], "raw/%s.%s.a3m", s->id, database_names[d]));
		snprintf(key, sizeof(key), "%s/%s", s->id, database_names[d]);
		id = update_relation_entity(step, DFT_REL_GENERATED, "raw_msa", key, DISK, raw[d]);
		update_relation(step, DFT_REL_USED, id); /* by merge */
	}
	merge(s, raw, at(merged, "merged/%s.a3m", s->id));
	update_relation_entity(step, DFT_REL_GENERATED, "merged_msa", s->id, DISK, merged);
	update_metadata_string(step, "sequence", s->id);
	finalize_region(step);
}

/* ---- filter_msa ----------------------------------------------------------------------------- */

/* Per cent of the residues of q that the row repeats. */
static int identity(const char *q, const char *row)
{
	int same = 0, n = 0;

	for (; *row; row++)
		if (!islower((unsigned char)*row))
			same += *row == q[n++];
	return n ? 100 * same / n : 0;
}

static int is_kept(const struct set *set, int row)
{
	for (int i = 0; i < row; i++)
		if (!strcmp(set->seq[i].text, set->seq[row].text))
			return 0;
	return identity(set->seq[0].text, set->seq[row].text) >= min_identity;
}

static void filter_msa(const char *name)
{
	struct DFTracerData *step = initialize_region("filter_msa", "PROV", DF_DATA_EVENT);
	char from[PATH], to[PATH];
	EntityID merged_id, filtered_id;
	int rows = 0;
	struct set set;
	FILE *f;

	read_set(at(from, "merged/%s.a3m", name), &set);
	f = open_or_fail(at(to, "msa/%s.a3m", name), "w");
	for (int i = 0; i < set.n && rows < max_rows; i++)
		if (is_kept(&set, i)) {
			write_row(f, &set.seq[i]);
			rows++;
		}
	close_or_fail(f, to);
	if (unlink(from))
		fail(from);

	merged_id = update_relation_entity(step, DFT_REL_USED, "merged_msa", name, DISK, from);
	filtered_id = update_relation_entity(step, DFT_REL_GENERATED, "filtered_msa", name, DISK, to);
	update_relation(step, DFT_REL_INVALIDATED, merged_id);
	dftracer_relate_entities(DFT_REL_REVISION_OF, filtered_id, merged_id);
	update_metadata_string(step, "sequence", name);
	update_metadata_int(step, "rows", rows);
	finalize_region(step);
}

static void declare_types(void)
{
	DFTRACER_C_ENTITY_TYPE("input_fasta", DFT_ROLE_INPUT, "the sequences of this run");
	DFTRACER_C_ENTITY_TYPE("run_config", DFT_ROLE_PARAMETER, "thresholds");
	DFTRACER_C_ENTITY_TYPE("sequence_db", DFT_ROLE_REFERENCE, "known sequences");
	DFTRACER_C_ENTITY_TYPE("scoring_matrix", DFT_ROLE_PARAMETER, "what replaces what");
	DFTRACER_C_ENTITY_TYPE("sequence", DFT_ROLE_INPUT, "one sequence");
	DFTRACER_C_ENTITY_TYPE("raw_msa", DFT_ROLE_INTERMEDIATE, "relatives in one database");
	DFTRACER_C_ENTITY_TYPE("merged_msa", DFT_ROLE_INTERMEDIATE, "relatives in all databases");
	DFTRACER_C_ENTITY_TYPE("filtered_msa", DFT_ROLE_INTERMEDIATE, "relatives worth keeping");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: stage1 WORKDIR\n");
		return 2;
	}
	workdir = argv[1];
	gate();
	DFTRACER_C_INIT(NULL, NULL, NULL);
	DFTRACER_C_METADATA(run, "pipeline", "protein-structure");
	DFTRACER_C_MARK_USED("PIPELINE");
	DFTRACER_C_APP_METADATA_STR("stage", "alignments");
	declare_types();
	load_inputs();
	read_databases();
	for (int i = 0; i < chunk.n; i++) {
		load_and_merge_msas(&chunk.seq[i]);
		filter_msa(chunk.seq[i].id);
	}
	DFTRACER_C_APP_METADATA_INT("sequences", chunk.n);
	DFTRACER_C_FINI();
	return 0;
}
