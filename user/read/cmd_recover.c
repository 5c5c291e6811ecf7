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
#include "record.h"
#include "source.h"
#include "tables.h"

/* What a file holds, and what it does not any more. */
struct loss {
	uint64_t lines, bad_lines, members, junk, events, names;
	bool cut, unfinished;
};

struct run {
	struct dft_source *src;
	struct dft_jsonr json;
	struct dft_index bad;   /* members that are not to be trusted */
	struct dft_index names; /* 1: introduced; 2: missing */
	struct dft_gzout out;
	struct dft_buf buf, end; /* `end`: the end record's line */
	struct loss loss;
	struct dft_whose whose;
	uint64_t last_id, last_ts, end_at;
	bool writing, whole, marked;
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
		r->end.failed = true; /* no memory: looked at when the reading is over */
}

static bool ends_in(struct dft_str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && memcmp(s.s + s.n - n, suffix, n) == 0;
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

		if (DFT_STR_IS(key, "fhash") || ends_in(key, "_hash") || ends_in(key, "_fhash"))
			rc = note_name(r, dft_jsonr_value(k), rec->letter, false);
	}
	return rc;
}

static bool is_end(const struct dft_record *r)
{
	return r->ph == DFT_PH_COMPLETE && DFT_STR_IS(r->name, "end") && dft_is_of_tracer(r);
}

static int note_record(struct run *r, const struct dft_record *rec)
{
	uint64_t end = rec->ts;

	r->loss.lines++;
	dft_whose_of(&r->whose, rec, &r->json);
	if (rec->has & DFT_F_TS) {
		dft_add_sat(&end, rec->dur);
		r->last_ts = end > r->last_ts ? end : r->last_ts;
	}
	if (rec->has & DFT_F_ID && (rec->ph == DFT_PH_COMPLETE || rec->letter)) {
		if (rec->id > r->last_id + 1 && (r->last_id || !rec->letter))
			dft_add_sat(&r->loss.events, rec->id - r->last_id - 1);
		r->last_id = rec->id;
	}
	if (is_end(rec))
		r->loss.unfinished = false;
	return note_names(r, rec);
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
static void make_end(struct run *r)
{
	struct dft_json w = { .buf = &r->buf };

	dft_json_object(&w, NULL);
	dft_json_u64(&w, "id", r->last_id + 1);
	dft_json_cstr(&w, "name", "end");
	dft_json_cstr(&w, "cat", "dftracer");
	if (!r->whose.letter)
		dft_json_u64(&w, "type", DFT_BY_TRACER);
	dft_json_u64(&w, "pid", r->whose.pid);
	dft_json_u64(&w, "tid", r->whose.pid);
	dft_json_u64(&w, "ts", r->last_ts);
	dft_json_u64(&w, "dur", 0);
	if (r->whose.letter)
		dft_json_cstr(&w, "ph", "X");
	else
		dft_json_u64(&w, "ph", DFT_PH_COMPLETE);
	dft_json_object(&w, "args");
	if (r->whose.has_host && r->whose.letter)
		dft_json_u64(&w, "hhash", r->whose.hhash);
	else if (r->whose.has_host)
		dft_json_hash(&w, "hhash", r->whose.hhash);
	dft_json_u64(&w, "num_events", r->last_id);
	put_loss(&w, &r->loss);
	dft_json_object_end(&w);
	dft_json_object_end(&w);
}

/* The one that was there, with one more member in its args. */
static void mend_end(struct run *r)
{
	struct dft_json w = { .buf = &r->buf, .comma = r->end.data[r->end_at - 1] != '{' };

	dft_buf_append(&r->buf, r->end.data, r->end_at);
	put_loss(&w, &r->loss);
	dft_buf_append(&r->buf, r->end.data + r->end_at, r->end.len - r->end_at);
}

static int put_end(struct run *r)
{
	r->buf.len = 0;
	if (r->whole)
		dft_buf_append(&r->buf, r->end.data, r->end.len);
	else if (r->end.len)
		mend_end(r);
	else
		make_end(r);
	return r->buf.failed || r->end.failed ? -ENOMEM :
	       dft_gzout_line(&r->out, r->buf.data, r->buf.len);
}

static int write_record(struct run *r, const struct dft_record *rec, struct dft_str line)
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
	if (rc || !is_end(rec))
		return rc ? rc : dft_gzout_line(&r->out, line.s, line.n);
	/* Of two the last one counts; it comes when all else is written. */
	r->end.len = 0;
	dft_buf_append(&r->end, line.s, line.n);
	r->end_at = rec->args ? (uint64_t)(dft_jsonr_raw(&r->json, rec->args).s - line.s) +
				rec->args->len - 1 : 0;
	/* One that tells of an earlier recovery cannot tell of this one as well. */
	if (!r->end_at || (!r->whole && dft_jsonr_get(&r->json, rec->args, "recovered")))
		r->end.len = 0;
	return r->end.failed ? -ENOMEM : 0;
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
	return r->writing ? write_record(r, &rec, bare) : note_record(r, &rec);
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

static int count_file(struct run *r, const char *path)
{
	struct dft_source_stat st;
	int rc;

	memset(&r->loss, 0, sizeof(r->loss));
	r->loss.unfinished = true;
	r->last_id = r->last_ts = 0;
	r->writing = false;
	dft_index_clear(&r->bad);
	rc = read_file(r, path);
	/* Lines of a damaged member were counted before it was known to be: once more, without. */
	if (!rc && r->loss.members) {
		uint64_t members = r->loss.members, junk = r->loss.junk;

		memset(&r->loss, 0, sizeof(r->loss));
		r->loss.unfinished = true;
		r->last_id = r->last_ts = 0;
		dft_index_clear(&r->names);
		rc = read_file(r, path);
		r->loss.members = members;
		r->loss.junk = junk;
	}
	dft_source_stat(r->src, &st);
	r->loss.cut = st.cut;
	r->whole = !r->loss.bad_lines && !r->loss.members && !r->loss.junk && !r->loss.cut &&
		   !r->loss.unfinished;
	return !rc && r->end.failed ? -ENOMEM : rc;
}

static int write_file(struct run *r, const char *path, const char *out, bool force)
{
	int rc = dft_gzout_open(&r->out, out, force);

	if (rc)
		return rc;
	r->writing = true;
	r->marked = false;
	r->end.len = 0;
	rc = read_file(r, path);
	if (!rc)
		rc = put_end(r);
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
	else if (l->unfinished)
		fputs(", it had no end record", stdout);
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
	char safe[1024], *out = dft_outpath(dir, path);
	int rc;

	if (!out)
		return -ENOMEM;
	dft_index_clear(&r->names);
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
	dft_buf_free(&r.buf);
	dft_buf_free(&r.end);
	return rc;
}

const struct dft_cmd dft_cmd_recover = {
	.name = "recover",
	.run = run_recover,
	.brief = "clean traces of cut and damaged ones, which tell what was lost",
};
