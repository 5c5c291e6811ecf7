// SPDX-License-Identifier: MIT
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ahead.h"
#include "gzin.h"

#define BUF_SZ (1u << 20)
/* Decompression pays a price per call; less room than this is made more first. */
#define ROOM_MIN (64u << 10)

struct dft_source {
	struct dft_gzin *gz;
	int fd; /* -1: none */
	dft_fault_fn fn;
	void *ctx;
	char *own;      /* `cap` bytes */
	size_t cap;
	uint64_t ahead_from;
	struct dft_ahead *ahead;       /* NULL: not, or not yet */
	struct dft_ahead_piece *piece; /* that `buf` is part of; NULL: it is `own` */
	char *buf;
	size_t begin;   /* where the bytes in buf begin: at the start of a line */
	size_t pos;     /* start of the next line */
	size_t scanned; /* no newline between pos and here */
	size_t len;
	struct dft_gz_step event; /* to be told when the lines before it have been taken; or DFT_GZ_DATA */
	uint64_t member; /* that the last bytes came from */
	bool ended;
	bool skipping;  /* within a line that is too long */
	bool named_gz;
	bool text_told; /* "named .gz but plain" has been said */
	struct dft_source_stat st;
};

struct dft_source *dft_source_new(void)
{
	struct dft_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	s->cap = BUF_SZ;
	s->ahead_from = UINT64_MAX;
	s->buf = s->own = malloc(s->cap);
	s->gz = dft_gzin_new(-1);
	if (!s->own || !s->gz) {
		dft_source_free(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

void dft_source_ahead(struct dft_source *s, uint64_t from)
{
	s->ahead_from = from;
}

static void close_file(struct dft_source *s)
{
	dft_ahead_stop(s->ahead);
	s->ahead = NULL;
	s->piece = NULL;
	s->buf = s->own;
	/* Nothing was written to it: an error of close() loses nothing. */
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void dft_source_free(struct dft_source *s)
{
	if (!s)
		return;
	close_file(s);
	dft_gzin_free(s->gz);
	free(s->own);
	free(s);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n >= m && strcmp(name + n - m, suffix) == 0;
}

int dft_source_open_fd(struct dft_source *s, int fd, const char *name, dft_fault_fn fn, void *ctx)
{
	close_file(s);
	s->fd = fd;
	s->fn = fn;
	s->ctx = ctx;
	s->begin = s->pos = s->scanned = s->len = 0;
	s->member = 0;
	s->ended = s->skipping = s->text_told = false;
	s->named_gz = has_suffix(name, ".gz");
	memset(&s->st, 0, sizeof(s->st));
	memset(&s->event, 0, sizeof(s->event));
	dft_gzin_reset(s->gz, fd, s->named_gz ? DFT_GZ_GZIP : DFT_GZ_AUTO);
	return 0;
}

int dft_source_open(struct dft_source *s, const char *path, dft_fault_fn fn, void *ctx)
{
	/* A duplicate, so that closing is the same for all files. */
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) :
					  open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return dft_source_open_fd(s, fd, path, fn, ctx);
}

static void tell(struct dft_source *s, const struct dft_gz_step *g, uint64_t line, const char *what)
{
	struct dft_fault f = { .line = line, .what = what };

	if (g) {
		f.member = g->member;
		f.byte = g->byte;
		f.bad_member = g->event == DFT_GZ_BAD;
	}
	s->fn(s->ctx, &f);
}

static void tell_harmless(struct dft_source *s, const struct dft_gz_step *g, const char *what)
{
	struct dft_fault f = { .what = what, .harmless = true };

	if (g) {
		f.member = g->member;
		f.byte = g->byte;
	}
	s->fn(s->ctx, &f);
}

/* The unfinished line behind the last newline, when what follows is not its continuation. */
static size_t drop_tail(struct dft_source *s)
{
	const char *nl = s->len > s->pos ? memrchr(s->buf + s->pos, '\n', s->len - s->pos) : NULL;
	size_t keep = nl ? (size_t)(nl + 1 - s->buf) : s->pos;
	size_t dropped = s->len - keep;

	if (s->skipping && !nl)
		s->skipping = false;
	s->len = keep;
	if (s->scanned > s->len)
		s->scanned = s->len;
	return dropped;
}

/* A member should end with a line; "]" closes the array of the 2025 dialect and may go without. */
static void check_member_end(struct dft_source *s, const struct dft_gz_step *g)
{
	if (s->len == s->begin || s->buf[s->len - 1] == '\n')
		return;
	if (s->buf[s->len - 1] == ']' && (s->len - s->begin == 1 || s->buf[s->len - 2] == '\n'))
		return;
	tell_harmless(s, g, "does not end at the end of a line");
}

static void on_junk(struct dft_source *s, const struct dft_gz_step *g)
{
	struct dft_gz_step at = *g;
	char what[128];

	s->st.damaged = true;
	if (g->member)
		snprintf(what, sizeof(what), "followed by %" PRIu64 " %s at byte %" PRIu64, g->junk,
			 g->zeros ? "zero bytes" : "bytes that are not gzip", g->byte);
	else
		snprintf(what, sizeof(what), "no gzip header: %" PRIu64 " bytes passed over",
			 g->junk);
	at.member = g->member ? g->member : 1;
	tell(s, &at, 0, what);
	drop_tail(s);
}

static void on_event(struct dft_source *s, const struct dft_gz_step *g)
{
	char what[160];

	switch (g->event) {
	case DFT_GZ_DATA:
		break;
	case DFT_GZ_MEMBER:
		s->st.members++;
		check_member_end(s, g);
		break;
	case DFT_GZ_BAD:
		s->st.damaged = true;
		drop_tail(s);
		snprintf(what, sizeof(what), "damaged: %s; what it holds is not to be trusted",
			 g->why);
		tell(s, g, 0, what);
		break;
	case DFT_GZ_CUT:
		s->st.cut = true;
		snprintf(what, sizeof(what),
			 "cut: the file ends within it; %zu bytes of an unfinished line dropped",
			 drop_tail(s));
		tell(s, g, 0, what);
		break;
	case DFT_GZ_JUNK:
		on_junk(s, g);
		break;
	case DFT_GZ_END:
		s->ended = true;
		break;
	}
}

static void tell_long(struct dft_source *s, uint64_t line)
{
	s->st.damaged = true;
	tell(s, NULL, line, "longer than 64 MiB; passed over");
}

/* From here on the bytes of a line that is too long are thrown away until its end. */
static void skip_line(struct dft_source *s)
{
	if (!s->skipping)
		tell_long(s, s->st.lines + 1);
	s->skipping = true;
	s->len = s->scanned = s->pos;
}

/* Room for `want` bytes behind len in the buffer that grows. */
static int grow(struct dft_source *s, size_t want)
{
	size_t cap = s->cap;
	char *own;

	while (cap - s->len < want)
		cap *= 2;
	if (cap == s->cap)
		return 0;
	own = realloc(s->own, cap);
	if (!own)
		return -ENOMEM;
	s->buf = s->own = own;
	s->cap = cap;
	return 0;
}

/* Makes room behind len: by moving the started line to the front, then by growing. */
static int make_room(struct dft_source *s, size_t want)
{
	if (s->cap - s->len >= want)
		return 0;
	if (s->pos) {
		memmove(s->buf, s->buf + s->pos, s->len - s->pos);
		s->len -= s->pos;
		s->scanned -= s->pos;
		s->begin = s->pos = 0;
		if (s->cap - s->len >= s->cap / 2 && s->cap - s->len >= want)
			return 0;
	}
	if (s->len > DFT_LINE_MAX)
		skip_line(s);
	return grow(s, want);
}

/* The started line, the only bytes that are left of a piece, into the buffer that grows. */
static int leave_piece(struct dft_source *s)
{
	struct dft_ahead_piece *old = s->piece;
	const char *from = s->buf + s->pos;
	size_t n = s->len - s->pos;
	int err;

	if (!old)
		return 0;
	s->scanned -= s->pos;
	s->begin = s->pos = s->len = 0;
	err = grow(s, n);
	if (err)
		return err;
	memcpy(s->own, from, n);
	s->buf = s->own;
	s->len = n;
	s->piece = NULL;
	dft_ahead_give(s->ahead, old);
	return 0;
}

/*
 * Goes on with the bytes of the next piece. The line that has begun goes before them, and nothing else is
 * copied; a line that is too long for that is put together in the buffer that grows.
 */
static int enter_piece(struct dft_source *s, struct dft_ahead_piece *p)
{
	size_t n = s->len - s->pos, got = p->step.got;
	int err;

	if (n > DFT_AHEAD_ROOM) {
		err = leave_piece(s);
		if (!err)
			err = make_room(s, got);
		if (!err)
			memcpy(s->buf + s->len, p->data, got);
		s->len += err ? 0 : got;
		dft_ahead_give(s->ahead, p);
		return err;
	}
	memcpy(p->data - n, s->buf + s->pos, n);
	if (s->piece)
		dft_ahead_give(s->ahead, s->piece);
	s->piece = p;
	s->buf = p->data - DFT_AHEAD_ROOM;
	s->scanned = DFT_AHEAD_ROOM - n + (s->scanned - s->pos);
	s->begin = s->pos = DFT_AHEAD_ROOM - n;
	s->len = DFT_AHEAD_ROOM + got;
	return 0;
}

/* The next bytes, by the thread or without it, behind those that are there. */
static int more_bytes(struct dft_source *s, struct dft_gz_step *g)
{
	struct dft_ahead_piece *p;
	int err;

	if (!s->ahead && s->st.bytes_out >= s->ahead_from) {
		s->ahead = dft_ahead_start(s->gz);
		if (!s->ahead)
			s->ahead_from = UINT64_MAX;
	}
	if (!s->ahead) {
		err = make_room(s, ROOM_MIN);
		if (!err)
			err = dft_gzin_step(s->gz, s->buf + s->len, s->cap - s->len, g);
		if (err)
			return err;
		s->len += g->got;
		s->st.bytes_in = dft_gzin_offset(s->gz);
		s->st.plain = dft_gzin_is_plain(s->gz);
		return 0;
	}
	p = dft_ahead_take(s->ahead);
	*g = p->step;
	s->st.bytes_in = p->offset;
	s->st.plain = p->plain;
	err = p->err;
	if (g->got)
		return enter_piece(s, p);
	dft_ahead_give(s->ahead, p);
	return err;
}

static int pump(struct dft_source *s)
{
	struct dft_gz_step g;
	int err = more_bytes(s, &g);

	if (err)
		return err;
	if (g.got)
		s->member = g.member;
	s->st.bytes_out += g.got;
	if (s->st.plain && s->named_gz && !s->text_told) {
		s->text_told = true;
		tell_harmless(s, NULL, "named .gz but not compressed");
	}
	s->event = g;
	return 0;
}

/* Whether the line is one to be shown, and not one that is too long. */
static bool take(struct dft_source *s, struct dft_line *line, size_t end, bool whole)
{
	bool skipped = s->skipping;

	line->s = s->buf + s->pos;
	line->n = end - s->pos;
	line->no = ++s->st.lines;
	line->whole = whole;
	line->member = s->member;
	s->pos = s->scanned = whole ? end + 1 : end;
	s->skipping = false;
	if (!skipped && line->n > DFT_LINE_MAX)
		tell_long(s, line->no);
	return !skipped && line->n <= DFT_LINE_MAX;
}

int dft_source_next(struct dft_source *s, struct dft_line *line)
{
	for (;;) {
		const char *nl = s->len > s->scanned ?
			memchr(s->buf + s->scanned, '\n', s->len - s->scanned) : NULL;
		int err;

		if (nl) {
			if (take(s, line, (size_t)(nl - s->buf), true))
				return 1;
			continue;
		}
		s->scanned = s->len;
		if (s->ended)
			break;
		/* Not before: so the order of lines and faults is the same however many bytes come at a time. */
		if (s->event.event != DFT_GZ_DATA) {
			struct dft_gz_step g = s->event;

			s->event.event = DFT_GZ_DATA;
			on_event(s, &g);
			continue;
		}
		err = pump(s);
		if (err)
			return err;
	}
	if (s->len == s->pos)
		return 0;
	if (!take(s, line, s->len, false))
		return 0;
	if (s->st.plain && !(line->n == 1 && *line->s == ']')) {
		s->st.cut = true;
		tell(s, NULL, line->no, "cut: the file ends within this line");
	}
	return 1;
}

void dft_source_stat(const struct dft_source *s, struct dft_source_stat *st)
{
	*st = s->st;
}
