// SPDX-License-Identifier: MIT
// CFLAGS: -O2
// LDFLAGS: -lz
/*
 * Sums up trace files that are too long for a reader in Python, and knows nothing of the tracer's own
 * code. One line of JSON for each file:
 *
 *     trace_sums FILE...
 *
 *     {"file":..,"pid":..,"members":..,"tail":..,"events":..,"ended":..,"faults":[..],"end":{..},
 *      "sums":[[NAME,FILE,KIND,CALLS,ERRORS,BYTES,DURATION,MIN,MAX,ROWS],...]}
 *
 * tail: bytes of a last member that is not complete; ended: whether there is an `end`, which is then
 * shown. KIND is event, shed or chosen (AGGREGATED records with and without "shed"); FILE is the name, or
 * null. Faults: a member that is damaged or ends within a line, lines that are no JSON, an id out of turn,
 * ends of one thread that are out of order, a hash without a name.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_SUMS    (1 << 18) /* powers of two */
#define MAX_NAMES   (1 << 18)
#define MAX_THREADS 4096
#define MAX_FAULTS  20
#define MAX_NAME    24

enum kind { EVENT, SHED, CHOSEN };
static const char *const kinds[] = { "event", "shed", "chosen" };

struct sum {
	char name[MAX_NAME];
	uint64_t fhash; /* 0: no file */
	enum kind kind;
	bool used;
	uint64_t calls, errors, bytes, dur, min, max, rows;
};

struct name {
	uint64_t hash;
	char *text; /* as it stands between the quotes */
};

struct span {
	const char *s;
	size_t n;
};

/* What is read of one line. */
struct record {
	struct span name, cat, value, arg_name;
	uint64_t id, ph, ts, dur, pid, tid, fhash;
	uint64_t dft_cnt, dur_sum, dur_min, dur_max, ret_sum, errors;
	int64_t ret;
	bool shed, has_ret, is_call;
};

struct reader {
	const char *path;
	char *line; /* what is there of the line that is not complete yet */
	size_t line_len, line_cap;
	uint64_t pid, members, tail, events, lines;
	char *end;
	unsigned int nfaults;
	char faults[MAX_FAULTS][256];
	struct sum sums[MAX_SUMS];
	struct name names[MAX_NAMES];
	struct { uint64_t tid, end; } threads[MAX_THREADS];
};

static struct reader *r;

static void die(const char *what)
{
	fprintf(stderr, "trace_sums: %s: %s\n", what, strerror(errno));
	exit(1);
}

__attribute__((format(printf, 1, 2))) static void fault(const char *fmt, ...)
{
	va_list ap;

	if (r->nfaults < MAX_FAULTS) {
		va_start(ap, fmt);
		vsnprintf(r->faults[r->nfaults], sizeof(r->faults[0]), fmt, ap);
		va_end(ap);
	}
	r->nfaults++;
}

static bool is(struct span s, const char *text)
{
	return s.n == strlen(text) && !memcmp(s.s, text, s.n);
}

/* ---- tables -------------------------------------------------------------------------------- */

static uint64_t span_hash(struct span s, uint64_t hash)
{
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.s[i]) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

static struct sum *sum_of(struct span name, uint64_t fhash, enum kind kind)
{
	uint64_t at = span_hash(name, fhash ^ kind);

	for (unsigned int i = 0; i < MAX_SUMS; i++) {
		struct sum *s = &r->sums[(at + i) % MAX_SUMS];

		if (!s->used && name.n < MAX_NAME) {
			memcpy(s->name, name.s, name.n);
			s->fhash = fhash;
			s->kind = kind;
			s->used = true;
			s->min = UINT64_MAX;
			return s;
		}
		if (s->fhash == fhash && s->kind == kind && is(name, s->name))
			return s;
	}
	errno = E2BIG;
	die(r->path);
	return NULL;
}

static struct name *name_of(uint64_t hash)
{
	for (uint64_t i = 0; i < MAX_NAMES; i++) {
		struct name *n = &r->names[(hash + i) % MAX_NAMES];

		if (n->hash == hash || !n->text)
			return n;
	}
	errno = E2BIG;
	die(r->path);
	return NULL;
}

/* Ends of one thread are in order; each is known to a microsecond and a half. */
static void check_order(const struct record *rec)
{
	uint64_t end = rec->ts + rec->dur;

	for (uint64_t i = 0; i < MAX_THREADS; i++) {
		uint64_t at = (rec->tid + i) % MAX_THREADS;

		if (r->threads[at].tid && r->threads[at].tid != rec->tid)
			continue;
		if (end + 2 < r->threads[at].end)
			fault("line %" PRIu64 ": thread %" PRIu64 " ends a call %" PRIu64
			      " us before its last one", r->lines, rec->tid,
			      r->threads[at].end - end);
		r->threads[at].tid = rec->tid;
		r->threads[at].end = end;
		return;
	}
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : NULL;
}

/* Behind a value of any kind; NULL if it does not end. */
static const char *skip_value(const char *p, const char *end)
{
	int depth = 0;

	while (p && p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			if (!depth)
				return p;
			depth--;
			p++;
		} else if (*p == ',' && !depth) {
			return p;
		} else {
			p++;
			continue;
		}
		if (p && !depth)
			return p;
	}
	return p == end && !depth ? p : NULL;
}

static uint64_t number(struct span v)
{
	return strtoull(v.s, NULL, 10);
}

static uint64_t hex(struct span v)
{
	return v.n > 2 ? strtoull(v.s + 1, NULL, 16) : 0;
}

static struct span unquote(struct span v)
{
	return v.n >= 2 ? (struct span){ v.s + 1, v.n - 2 } : v;
}

static void argument(struct record *rec, struct span key, struct span v)
{
	static const struct { const char *key; size_t at; } numbers[] = {
		{ "dft_cnt", offsetof(struct record, dft_cnt) },
		{ "dur_sum", offsetof(struct record, dur_sum) },
		{ "dur_min", offsetof(struct record, dur_min) },
		{ "dur_max", offsetof(struct record, dur_max) },
		{ "ret_sum", offsetof(struct record, ret_sum) },
		{ "errors", offsetof(struct record, errors) },
	};

	if (is(key, "fhash")) {
		rec->fhash = hex(v);
	} else if (is(key, "ret")) {
		rec->has_ret = true;
		rec->ret = strtoll(v.s, NULL, 10);
	} else if (is(key, "name")) {
		rec->arg_name = unquote(v);
	} else if (is(key, "value")) {
		rec->value = v;
	} else if (is(key, "shed")) {
		rec->shed = number(v) == 1;
	} else if (rec->ph == 3) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (is(key, numbers[i].key))
				*(uint64_t *)((char *)rec + numbers[i].at) = number(v);
	}
}

static void field(struct record *rec, struct span key, struct span v)
{
	if (is(key, "name"))
		rec->name = unquote(v);
	else if (is(key, "cat"))
		rec->cat = unquote(v);
	else if (is(key, "id"))
		rec->id = number(v);
	else if (is(key, "ph"))
		rec->ph = number(v);
	else if (is(key, "ts"))
		rec->ts = number(v);
	else if (is(key, "dur"))
		rec->dur = number(v);
	else if (is(key, "pid"))
		rec->pid = number(v);
	else if (is(key, "tid"))
		rec->tid = number(v);
}

/* Goes through an object, of whose keys args is one. False: it is not JSON as it should be. */
static bool object(struct record *rec, struct span o, bool args)
{
	const char *p = o.s + 1, *end = o.s + o.n - 1;

	if (o.n < 2 || o.s[0] != '{' || *end != '}')
		return false;
	while (p < end) {
		struct span key = { p + 1, 0 }, v;
		const char *q = *p == '"' ? skip_string(p, end) : NULL;

		if (!q || q >= end || *q != ':')
			return false;
		key.n = (size_t)(q - 1 - key.s);
		v.s = q + 1;
		p = skip_value(v.s, end);
		if (!p || p == v.s || (p < end && *p != ','))
			return false;
		v.n = (size_t)(p - v.s);
		if (args)
			argument(rec, key, v);
		else if (!is(key, "args"))
			field(rec, key, v);
		else if (!object(rec, v, true))
			return false;
		p++;
	}
	return true;
}

/* ---- records ------------------------------------------------------------------------------- */

static void on_event(const struct record *rec)
{
	struct sum *s;

	r->events++;
	if (rec->id != r->events)
		fault("line %" PRIu64 ": id %" PRIu64 ", it is event %" PRIu64, r->lines, rec->id,
		      r->events);
	if (!is(rec->cat, "POSIX"))
		return;
	check_order(rec);
	s = sum_of(rec->name, rec->fhash, EVENT);
	s->calls++;
	s->errors += rec->has_ret && rec->ret < 0;
	s->bytes += rec->ret > 0 ? (uint64_t)rec->ret : 0;
	s->dur += rec->dur;
}

static void on_row(const struct record *rec)
{
	struct sum *s = sum_of(rec->name, rec->fhash, rec->shed ? SHED : CHOSEN);

	s->calls += rec->dft_cnt;
	s->errors += rec->errors;
	s->bytes += rec->ret_sum;
	s->dur += rec->dur_sum;
	s->min = rec->dur_min < s->min ? rec->dur_min : s->min;
	s->max = rec->dur_max > s->max ? rec->dur_max : s->max;
	s->rows++;
}

static void on_line(const char *line, size_t len)
{
	struct record rec = { 0 };
	struct name *name;

	r->lines++;
	if (!object(&rec, (struct span){ line, len }, false) || !rec.ph) {
		fault("line %" PRIu64 ": no record: %.*s", r->lines, (int)(len < 100 ? len : 100), line);
		return;
	}
	r->pid = rec.pid;
	if (rec.ph == 4 && is(rec.name, "FH")) {
		name = name_of(hex(rec.value));
		name->hash = hex(rec.value);
		free(name->text);
		name->text = strndup(rec.arg_name.s, rec.arg_name.n);
	} else if (rec.ph == 3) {
		on_row(&rec);
	} else if (rec.ph == 1) {
		on_event(&rec);
		if (is(rec.cat, "dftracer") && is(rec.name, "end"))
			r->end = strndup(line, len);
	}
	/* The calls that user space calls on names are declared before they are used. */
	if (rec.fhash && !name_of(rec.fhash)->text)
		fault("line %" PRIu64 ": a hash without a name", r->lines);
}

/* Decompressed text, in pieces. */
static void on_text(const char *text, size_t len)
{
	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		if (r->line_len || !nl) {
			if (r->line_len + n > r->line_cap) {
				r->line_cap = 2 * (r->line_len + n);
				r->line = realloc(r->line, r->line_cap);
				if (!r->line)
					die("realloc");
			}
			memcpy(r->line + r->line_len, text, n);
			r->line_len += n;
		}
		if (!nl)
			return;
		if (r->line_len)
			on_line(r->line, r->line_len);
		else
			on_line(text, n);
		r->line_len = 0;
		text += n + 1;
		len -= n + 1;
	}
}

static void read_members(const unsigned char *data, size_t len)
{
	static char text[1 << 18];
	z_stream z = { 0 };
	size_t at = 0;

	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		die("inflate");
	while (at < len) {
		int rc = Z_OK;

		/* Whether it is complete is only known at its end: those that are not are few. */
		inflateReset(&z);
		z.next_in = (unsigned char *)data + at;
		z.avail_in = (uInt)(len - at);
		while (rc == Z_OK) {
			z.next_out = (unsigned char *)text;
			z.avail_out = sizeof(text);
			rc = inflate(&z, Z_NO_FLUSH);
			on_text(text, sizeof(text) - z.avail_out);
		}
		if (rc != Z_STREAM_END) {
			r->tail = len - at;
			r->line_len = 0;
			if (rc != Z_BUF_ERROR)
				fault("member %" PRIu64 ": damaged", r->members);
			break;
		}
		if (r->line_len)
			fault("member %" PRIu64 ": ends within a line", r->members);
		r->members++;
		at = len - z.avail_in;
	}
	inflateEnd(&z);
}

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *data;

	r->path = path;
	if (fd < 0 || fstat(fd, &st))
		die(path);
	if (st.st_size > UINT32_MAX) {
		errno = EFBIG;
		die(path);
	}
	data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (data == MAP_FAILED)
		die(path);
	if (data) {
		read_members(data, (size_t)st.st_size);
		munmap(data, (size_t)st.st_size);
	}
	close(fd);
}

/* ---- output -------------------------------------------------------------------------------- */

static void say_sums(void)
{
	bool more = false;

	printf(",\"sums\":[");
	for (unsigned int i = 0; i < MAX_SUMS; i++) {
		struct sum *s = &r->sums[i];
		const char *text = s->fhash ? name_of(s->fhash)->text : NULL;

		if (!s->used)
			continue;
		printf("%s[\"%s\",%s%s%s,\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		       ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
		       more ? "," : "", s->name, text ? "\"" : "", text ? text : "null",
		       text ? "\"" : "", kinds[s->kind], s->calls, s->errors, s->bytes, s->dur,
		       s->rows ? s->min : 0, s->max, s->rows);
		more = true;
	}
	printf("]}\n");
}

static void say(void)
{
	printf("{\"file\":\"%s\",\"pid\":%" PRIu64 ",\"members\":%" PRIu64 ",\"tail\":%" PRIu64
	       ",\"events\":%" PRIu64 ",\"ended\":%s,\"nfaults\":%u,\"faults\":[",
	       r->path, r->pid, r->members, r->tail, r->events, r->end ? "true" : "false", r->nfaults);
	for (unsigned int i = 0; i < r->nfaults && i < MAX_FAULTS; i++) {
		printf("%s\"", i ? "," : "");
		for (const char *p = r->faults[i]; *p; p++)
			putchar(*p < ' ' || *p == '"' || *p == '\\' ? '?' : *p);
		putchar('"');
	}
	printf("],\"end\":%s", r->end ? r->end : "null");
	say_sums();
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		r = calloc(1, sizeof(*r));
		if (!r)
			die("calloc");
		read_file(argv[i]);
		say();
		for (unsigned int n = 0; n < MAX_NAMES; n++)
			free(r->names[n].text);
		free(r->line);
		free(r->end);
		free(r);
	}
	return fflush(stdout) ? 1 : 0;
}
