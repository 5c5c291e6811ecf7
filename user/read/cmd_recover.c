// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "files.h"
#include "gzout.h"
#include "log.h"
#include "marker.h"
#include "out.h"
#include "outpath.h"
#include "process.h"
#include "record.h"
#include "rows.h"
#include "source.h"
#include "tables.h"

/* What a file holds, and what it does not any more; `unfinished`: processes without an end record. */
struct loss {
	uint64_t lines, bad_lines, members, junk, events, names, unfinished;
	bool cut;
};

/* A process of the file. */
struct life {
	struct dft_whose whose;
	uint64_t first_id, last_id, max_id, ids, last_ts;
	bool ended;
};

struct run {
	struct dft_source *src;
	struct dft_jsonr json;
	struct dft_index bad;   /* members that are not to be trusted */
	struct dft_index names; /* 1: introduced; 2: missing */
	struct dft_index taken; /* names of files */
	struct dft_gzout out;
	struct dft_buf buf;
	struct loss loss;
	struct dft_processes processes;
	struct dft_rows lives;  /* of struct life, by number of the process */
	uint64_t end_line;      /* that of the last end record, which tells what was lost; 0: there is none */
	bool split;             /* ends may be in other files */
	bool writing, whole, marked, no_memory;
	uint64_t wrong;         /* files that could not be recovered */
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: dftrace recover [OPTIONS] -o OUTDIR DIR|FILE...\n"
	"Makes clean traces of cut, damaged and unfinished ones. The originals stay as they are.\n"
	"\n"
	"A DIR stands for every *.pfw and *.pfw.gz below it. What is in damaged gzip members, and\n"
	"lines that are no records, are left out; the last record tells what is missing.\n"
	"\n"
	"  -o, --output OUTDIR  write there, under the names that the files have\n"
	"      --force          replace what is there\n"
	"  -h, --help           print this help\n"
	"\n"
	"Exit status: 0 each file was recovered as far as it goes; 1 one was not, or cannot be\n"
	"read; 2 wrong usage.\n";

/* ---- what there is -------------------------------------------------------------------------- */

static void on_fault(void *run, const struct dft_fault *fault)
{
	struct run *r = run;
	bool fresh;

	if (r->writing || fault->harmless)
		return;
	if (!fault->bad_member) {
		/* That it is cut, the source knows. */
		r->loss.junk += strncmp(fault->what, "cut", 3) != 0;
		return;
	}
	r->loss.members++;
	if (!dft_index_put(&r->bad, fault->member, &fresh))
		r->no_memory = true; /* looked at when the reading is over */
}

static int note_name(struct run *r, const struct dft_jsonr_node *n, bool old, bool introduced)
{
	uint64_t hash, *v;
	bool fresh;

	if (!dft_hash_value(&r->json, n, old, &hash))
		return 0;
	v = dft_index_put(&r->names, hash, &fresh);
	if (!v)
		return -ENOMEM;
	if (fresh) {
		*v = introduced ? 1 : 2;
		r->loss.names += !introduced;
	}
	return 0;
}

/* Are the names there that the record uses? */
static int note_names(struct run *r, const struct dft_record *rec)
{
	struct dft_jsonr *j = &r->json;
	const struct dft_jsonr_node *k;
	int rc = 0;

	if (!rec->args || dft_is_of_app(rec))
		return 0;
	if (rec->ph == DFT_PH_METADATA) {
		k = dft_jsonr_get(j, rec->args, "value");
		if (k && rec->name.n == 2 && rec->name.s[1] == 'H' && strchr("FSH", rec->name.s[0]))
			return note_name(r, k, rec->letter, true);
		return 0;
	}
	for (k = dft_jsonr_first(j, rec->args); k && !rc; k = dft_jsonr_next(j, rec->args, k)) {
		struct dft_str key = dft_jsonr_str(j, k);

		if (DFT_STR_IS(key, "fhash") || dft_str_ends(key, "_hash") || dft_str_ends(key, "_fhash"))
			rc = note_name(r, dft_jsonr_value(k), rec->letter, false);
	}
	return rc;
}

/* The process of the record at hand; NULL: no memory. */
static struct life *life_of(struct run *r, const struct dft_record *rec)
{
	size_t nr = dft_process_of(&r->processes, rec, &r->json);

	while (nr > r->lives.n)
		if (!dft_rows_add(&r->lives, sizeof(struct life)))
			nr = 0;
	return nr ? (struct life *)r->lives.v + nr - 1 : NULL;
}

static int note_record(struct run *r, const struct dft_record *rec, uint64_t line)
{
	struct life *l = life_of(r, rec);
	uint64_t end = rec->ts;

	if (!l)
		return -ENOMEM;
	r->loss.lines++;
	r->split |= dft_rearranged_of(rec, &r->json) == DFT_REARRANGED_SPLIT;
	dft_whose_of(&l->whose, rec, &r->json);
	if (rec->has & DFT_F_TS) {
		dft_add_sat(&end, rec->dur);
		l->last_ts = end > l->last_ts ? end : l->last_ts;
	}
	/* Records of one event share its id. */
	if (rec->has & DFT_F_ID && (rec->ph == DFT_PH_COMPLETE || rec->letter) &&
	    (!l->ids || rec->id != l->last_id)) {
		if (!l->ids || rec->id < l->first_id)
			l->first_id = rec->id;
		l->ids++;
		l->last_id = rec->id;
		l->max_id = rec->id > l->max_id ? rec->id : l->max_id;
	}
	if (dft_is_end(rec)) {
		l->ended = true;
		r->end_line = line;
	}
	return note_names(r, rec);
}

/* The ids of a process are 1, 2, 3 ... In 2025 the first ones may be of metadata that were left out. */
static void add_up(struct run *r)
{
	const struct life *l = r->lives.v;

	for (size_t i = 0; i < r->lives.n; i++) {
		uint64_t from = l[i].whose.letter || r->split ? l[i].first_id : 1;

		if (!l[i].ids)
			continue;
		r->loss.unfinished += !l[i].ended && !r->split;
		if (l[i].max_id >= from && l[i].max_id - from + 1 > l[i].ids)
			dft_add_sat(&r->loss.events, l[i].max_id - from + 1 - l[i].ids);
	}
	if (!r->end_line && !r->split && !r->loss.unfinished)
		r->loss.unfinished = 1;
}

/* ---- the clean file ------------------------------------------------------------------------- */

static void put_loss(struct dft_json *w, const struct loss *l)
{
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "bad_lines", l->bad_lines }, { "members_bad", l->members }, { "junk", l->junk },
		{ "events_missing", l->events }, { "names_missing", l->names },
		{ "cut", l->cut }, { "unfinished", l->unfinished },
	};

	dft_json_object(w, "recovered");
	dft_json_u64(w, "lines", l->lines);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].n)
			dft_json_u64(w, counts[i].key, counts[i].n);
	dft_json_object_end(w);
}

/* There was none: one that says no more than is known. */
static int make_end(struct run *r, const struct life *l, uint64_t id, bool tells)
{
	struct dft_json w = { .buf = &r->buf };

	r->buf.len = 0;
	dft_json_object(&w, NULL);
	dft_json_u64(&w, "id", id);
	dft_json_cstr(&w, "name", "end");
	dft_json_cstr(&w, "cat", "dftracer");
	if (!l->whose.letter)
		dft_json_u64(&w, "type", DFT_BY_TRACER);
	dft_json_u64(&w, "pid", l->whose.pid);
	dft_json_u64(&w, "tid", l->whose.pid);
	dft_json_u64(&w, "ts", l->last_ts);
	dft_json_u64(&w, "dur", 0);
	if (l->whose.letter)
		dft_json_cstr(&w, "ph", "X");
	else
		dft_json_u64(&w, "ph", DFT_PH_COMPLETE);
	dft_json_object(&w, "args");
	if (l->whose.has_host && l->whose.letter)
		dft_json_u64(&w, "hhash", l->whose.hhash);
	else if (l->whose.has_host)
		dft_json_hash(&w, "hhash", l->whose.hhash);
	dft_json_u64(&w, "num_events", id - 1);
	if (tells)
		put_loss(&w, &r->loss);
	dft_json_object_end(&w);
	dft_json_object_end(&w);
	return r->buf.failed ? -ENOMEM : dft_gzout_line(&r->out, r->buf.data, r->buf.len);
}

/* The one that was there, with one more member in its args. */
static int mend_end(struct run *r, const struct dft_record *rec, struct dft_str line)
{
	size_t at = rec->args ? (size_t)(dft_jsonr_raw(&r->json, rec->args).s - line.s) + rec->args->len - 1 : 0;
	struct dft_json w = { .buf = &r->buf, .comma = at && line.s[at - 1] != '{' };
	struct life l = { .last_ts = rec->ts };

	/* One that tells of an earlier recovery cannot tell of this one as well. */
	if (!at || dft_jsonr_get(&r->json, rec->args, "recovered")) {
		dft_whose_of(&l.whose, rec, &r->json);
		return make_end(r, &l, rec->id ? rec->id : 1, true);
	}
	r->buf.len = 0;
	dft_buf_append(&r->buf, line.s, at);
	put_loss(&w, &r->loss);
	dft_buf_append(&r->buf, line.s + at, line.n - at);
	return r->buf.failed ? -ENOMEM : dft_gzout_line(&r->out, r->buf.data, r->buf.len);
}

/* Of the processes that have none; one of them tells what was lost, if no other does. */
static int put_ends(struct run *r)
{
	const struct life *l = r->lives.v;
	size_t last = 0, n = r->lives.n;
	int rc = 0;

	if (r->whole || (r->split && r->end_line))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (l[i].ids && !l[i].ended)
			last = i;
	for (size_t i = 0; i < n && !rc; i++)
		if (i == last ? !r->end_line || (l[i].ids && !l[i].ended) :
				l[i].ids && !l[i].ended && !r->split)
			rc = make_end(r, &l[i], l[i].max_id == UINT64_MAX ? UINT64_MAX : l[i].max_id + 1,
				      i == last && !r->end_line);
	return rc;
}

static int write_record(struct run *r, const struct dft_record *rec, struct dft_str line, uint64_t nr)
{
	struct dft_json w = { .buf = &r->buf };
	int rc = 0;

	if (!r->marked && !r->whole && !DFT_STR_IS(rec->name, "HH")) {
		struct dft_whose whose;

		r->marked = true;
		r->buf.len = 0;
		dft_whose_of(&whose, rec, &r->json);
		dft_marker_cm(&w, &whose, "rearranged", "recover");
		rc = r->buf.failed ? -ENOMEM : dft_gzout_line(&r->out, r->buf.data, r->buf.len);
	}
	if (!rc && !r->whole && nr == r->end_line)
		return mend_end(r, rec, line);
	return rc ? rc : dft_gzout_line(&r->out, line.s, line.n);
}

/* ---- a file --------------------------------------------------------------------------------- */

static int take_line(struct run *r, const struct dft_line *line)
{
	struct dft_record rec;
	struct dft_str bare = dft_bare_line(line->s, line->n);
	int rc;

	if (line->member && dft_index_get(&r->bad, line->member))
		return 0;
	rc = dft_record_parse(&rec, &r->json, bare.s, bare.n);
	if (rc == -EBADMSG) {
		/* What is behind the last newline was cut, not wrong. */
		r->loss.bad_lines += !r->writing && line->whole;
		return 0;
	}
	if (rc <= 0)
		return rc;
	return r->writing ? write_record(r, &rec, bare, line->no) : note_record(r, &rec, line->no);
}

static int read_file(struct run *r, const char *path)
{
	struct dft_line line;
	int rc = dft_source_open(r->src, path, on_fault, r);

	while (!rc) {
		rc = dft_source_next(r->src, &line);
		if (rc != 1)
			break;
		rc = take_line(r, &line);
	}
	return rc;
}

/* Before the lines are counted. */
static void forget(struct run *r)
{
	memset(&r->loss, 0, sizeof(r->loss));
	dft_index_clear(&r->names);
	r->processes.alone = true;
	dft_processes_begin_file(&r->processes);
	r->lives.n = 0;
	r->end_line = 0;
	r->split = false;
}

static int count_file(struct run *r, const char *path)
{
	struct dft_source_stat st;
	int rc;

	forget(r);
	r->writing = false;
	dft_index_clear(&r->bad);
	rc = read_file(r, path);
	/* Lines of a damaged member were counted before it was known to be: once more, without. */
	if (!rc && r->loss.members) {
		uint64_t members = r->loss.members, junk = r->loss.junk;

		forget(r);
		rc = read_file(r, path);
		r->loss.members = members;
		r->loss.junk = junk;
	}
	add_up(r);
	dft_source_stat(r->src, &st);
	r->loss.cut = st.cut;
	r->whole = !r->loss.bad_lines && !r->loss.members && !r->loss.junk && !r->loss.cut &&
		   !r->loss.unfinished;
	return !rc && r->no_memory ? -ENOMEM : rc;
}

static int write_file(struct run *r, const char *path, const char *out, bool force)
{
	int rc = dft_gzout_open(&r->out, out, force);

	if (rc)
		return rc;
	r->writing = true;
	r->marked = false;
	rc = read_file(r, path);
	if (!rc)
		rc = put_ends(r);
	return dft_gzout_close(&r->out, rc);
}

static void tell(const char *path, const char *out, const struct loss *l, bool whole)
{
	char from[1024], to[1024];

	printf("%s: %" PRIu64 " %s in %s", dft_safe_z(from, sizeof(from), path), l->lines,
	       l->lines == 1 ? "record" : "records", dft_safe_z(to, sizeof(to), out));
	if (whole)
		fputs(", it was whole", stdout);
	if (l->cut)
		fputs(", it was cut", stdout);
	else if (l->unfinished == 1)
		fputs(", it had no end record", stdout);
	else if (l->unfinished)
		printf(", processes without an end record: %" PRIu64, l->unfinished);
	if (l->members)
		printf(", damaged members: %" PRIu64, l->members);
	if (l->junk)
		printf(", places that are no gzip: %" PRIu64, l->junk);
	if (l->bad_lines)
		printf(", bad lines: %" PRIu64, l->bad_lines);
	if (l->events)
		printf(", events missing: %" PRIu64, l->events);
	if (l->names)
		printf(", names missing: %" PRIu64, l->names);
	putchar('\n');
}

/* 0, or -ENOMEM; anything else is told and counted. */
static int recover(struct run *r, const char *path, const char *dir, bool force)
{
	char safe[1024], *out = dft_outpath(&r->taken, dir, path);
	int rc;

	if (!out)
		return -ENOMEM;
	rc = count_file(r, path);
	if (rc && rc != -ENOMEM) {
		dft_error("%s: cannot be read: %s", dft_safe_z(safe, sizeof(safe), path), strerror(-rc));
	} else if (!rc && !r->loss.lines) {
		dft_error("%s: there is nothing to be recovered", dft_safe_z(safe, sizeof(safe), path));
		rc = -ENODATA;
	} else if (!rc) {
		rc = write_file(r, path, out, force);
		if (!rc)
			tell(path, out, &r->loss, r->whole);
	}
	free(out);
	r->wrong += rc != 0;
	return rc == -ENOMEM ? rc : 0;
}

static int recover_all(struct run *r, const char *dir, bool force, int argc, char **argv)
{
	struct dft_files files = { 0 };
	int rc = dft_outpath_dir(dir), err;

	if (rc)
		return DFT_EXIT_FAULT;
	rc = dft_files_add_all(&files, argc, argv);
	dft_whole_spare(&files);
	r->src = rc ? NULL : dft_source_new();
	if (!rc && !r->src)
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < files.n; i++)
		rc = recover(r, files.v[i], dir, force);
	if (rc)
		dft_error("recover: %s", strerror(-rc));
	err = dft_out_finish();
	rc = rc || err || r->wrong || files.errors ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
	dft_source_free(r->src);
	dft_whole_spare(NULL);
	dft_files_free(&files);
	return rc;
}

static int run_recover(int argc, char **argv)
{
	static struct run r;
	const char *dir = NULL, *below;
	bool force = false;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'o':
			dir = optarg;
			break;
		case 'f':
			force = true;
			break;
		case 'h':
			fputs(help, stdout);
			return dft_out_finish() ? DFT_EXIT_FAULT : DFT_EXIT_GOOD;
		default:
			return dft_usage_option("recover", argv);
		}
	}
	if (!dir)
		return dft_usage("recover", "no -o OUTDIR given");
	if (optind == argc)
		return dft_usage("recover", "no DIR or FILE given");
	below = dft_outpath_below(dir, argc - optind, argv + optind);
	if (below)
		return dft_usage("recover", "-o %s: is below %s, which would be read twice from then on", dir,
				 below);
	for (int i = optind; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			return dft_usage("recover", "standard input cannot be read twice");
	rc = recover_all(&r, dir, force, argc - optind, argv + optind);
	dft_jsonr_free(&r.json);
	dft_index_free(&r.bad);
	dft_index_free(&r.names);
	dft_index_free(&r.taken);
	dft_buf_free(&r.buf);
	dft_processes_free(&r.processes);
	dft_rows_free(&r.lives);
	return rc;
}

const struct dft_cmd dft_cmd_recover = {
	.name = "recover",
	.run = run_recover,
	.brief = "clean traces of cut and damaged ones, which tell what was lost",
};
