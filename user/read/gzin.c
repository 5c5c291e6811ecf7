// SPDX-License-Identifier: MIT
/*
 * zlib in its gzip mode checks header, CRC and length of one member. What is between the members,
 * and how to go on after a bad one, is decided here.
 *
 * A bad member may have swallowed the start of the next one before the damage showed, so the search
 * for the next header begins right after the bad header. Such going back costs time, which hostile
 * input could multiply; GOBACK_SLACK bounds it, after that the search begins where reading stands.
 */
#include "gzin.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define IN_SZ (256u << 10)
#define HEADER_SZ 10
#define GOBACK_SLACK (64ull << 20)

enum state {
	ST_START,   /* nothing read yet */
	ST_PLAIN,
	ST_BETWEEN, /* at what should be a member's header */
	ST_MEMBER,
	ST_SEARCH,  /* looking for a header */
	ST_END,
};

struct dft_gzin {
	int fd;
	int stop_fd; /* -1: none */
	bool seekable;
	bool eof;
	enum dft_gz_format format;
	enum state state;
	unsigned char *in; /* IN_SZ bytes, holding in_len bytes of the file from in_off on */
	size_t in_pos;
	size_t in_len;
	uint64_t in_off;
	uint64_t member;     /* number of the current or last member */
	uint64_t member_off;
	uint64_t junk_off;   /* start of the bytes being searched ... */
	bool junk_zeros;
	bool junk_told;      /* ... which a bad member already accounts for */
	uint64_t went_back;  /* bytes read a second time so far */
	bool z_ready;
	z_stream z;
};

struct dft_gzin *dft_gzin_new(int fd)
{
	struct dft_gzin *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->in = malloc(IN_SZ);
	if (!g->in) {
		free(g);
		errno = ENOMEM;
		return NULL;
	}
	g->stop_fd = -1;
	dft_gzin_reset(g, fd, DFT_GZ_AUTO);
	return g;
}

void dft_gzin_free(struct dft_gzin *g)
{
	if (!g)
		return;
	if (g->z_ready)
		inflateEnd(&g->z);
	free(g->in);
	free(g);
}

void dft_gzin_reset(struct dft_gzin *g, int fd, enum dft_gz_format format)
{
	off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);

	g->fd = fd;
	/* Offsets are counted from 0; a descriptor handed over in mid-file is read like a pipe. */
	g->seekable = at == 0;
	g->eof = false;
	g->format = format;
	g->state = ST_START;
	g->in_pos = g->in_len = 0;
	g->in_off = 0;
	g->member = g->member_off = 0;
	g->junk_off = 0;
	g->junk_zeros = g->junk_told = false;
	g->went_back = 0;
}

bool dft_gzin_is_plain(const struct dft_gzin *g)
{
	return g->state == ST_PLAIN;
}

uint64_t dft_gzin_offset(const struct dft_gzin *g)
{
	return g->in_off + g->in_pos;
}

void dft_gzin_stop_at(struct dft_gzin *g, int fd)
{
	g->stop_fd = fd;
}

/* read(), unless it is to be given up before anything comes; -1 with errno. */
static ssize_t read_some(struct dft_gzin *g, void *buf, size_t n)
{
	struct pollfd p[2] = { { .fd = g->fd, .events = POLLIN },
			       { .fd = g->stop_fd, .events = POLLIN } };

	if (g->stop_fd >= 0) {
		if (poll(p, 2, -1) < 0)
			return -1;
		if (p[1].revents) {
			errno = ECANCELED;
			return -1;
		}
	}
	return read(g->fd, buf, n);
}

/* Reads on until `want` bytes are at in_pos or the file ends. */
static int fill(struct dft_gzin *g, size_t want)
{
	while (g->in_len - g->in_pos < want && !g->eof) {
		ssize_t n;

		if (g->in_pos && g->in_len < IN_SZ && g->in_pos == g->in_len) {
			g->in_off += g->in_len;
			g->in_pos = g->in_len = 0;
		} else if (g->in_len == IN_SZ) {
			memmove(g->in, g->in + g->in_pos, g->in_len - g->in_pos);
			g->in_off += g->in_pos;
			g->in_len -= g->in_pos;
			g->in_pos = 0;
		}
		n = read_some(g, g->in + g->in_len, IN_SZ - g->in_len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			g->eof = true;
		g->in_len += (size_t)n;
	}
	return 0;
}

/*
 * Moves back to the byte at `off`, or as near to it as a pipe's buffer and the allowance let us. It
 * is never behind the current byte.
 */
static int go_back(struct dft_gzin *g, uint64_t off)
{
	uint64_t now = dft_gzin_offset(g);

	if (off >= now || g->went_back > GOBACK_SLACK + now)
		return 0;
	if (off < g->in_off && !g->seekable)
		off = g->in_off;
	g->went_back += now - off;
	if (off >= g->in_off) {
		g->in_pos = (size_t)(off - g->in_off);
		return 0;
	}
	if (lseek(g->fd, (off_t)off, SEEK_SET) < 0)
		return -errno;
	g->eof = false;
	g->in_off = off;
	g->in_pos = g->in_len = 0;
	return 0;
}

/* What all readers of the format accept as a member's start. */
static bool is_header(const unsigned char *h)
{
	return h[0] == 0x1f && h[1] == 0x8b && h[2] == 8 && !(h[3] & 0xe0) &&
	       (h[8] == 0 || h[8] == 2 || h[8] == 4) && (h[9] <= 13 || h[9] == 255);
}

static bool all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/*
 * Moves to the next header in the buffered bytes, or past all of them but a header's length, or to
 * the end of the file. Returns 1 at a header, 0 otherwise (at the end when g->eof), or -errno.
 */
static int find_header(struct dft_gzin *g)
{
	const unsigned char *p;
	size_t left, done = 0;
	int hit = 0, err = fill(g, HEADER_SZ);

	if (err)
		return err;
	p = g->in + g->in_pos;
	left = g->in_len - g->in_pos;
	while (left - done >= HEADER_SZ) {
		const unsigned char *c = memchr(p + done, 0x1f, left - done - (HEADER_SZ - 1));

		done = c ? (size_t)(c - p) : left - HEADER_SZ;
		if (c && is_header(c)) {
			hit = 1;
			break;
		}
		done++;
	}
	if (!hit && g->eof)
		done = left;
	g->junk_zeros = g->junk_zeros && all_zero(p, done);
	g->in_pos += done;
	return hit;
}

static int start_member(struct dft_gzin *g)
{
	int rc;

	if (g->z_ready) {
		rc = inflateReset(&g->z);
	} else {
		rc = inflateInit2(&g->z, 15 + 16);
		g->z_ready = rc == Z_OK;
	}
	if (rc != Z_OK)
		return rc == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	g->member++;
	g->member_off = dft_gzin_offset(g);
	g->state = ST_MEMBER;
	return 0;
}

static void start_search(struct dft_gzin *g, bool told)
{
	g->state = ST_SEARCH;
	g->junk_off = dft_gzin_offset(g);
	g->junk_zeros = true;
	g->junk_told = told;
}

static int step_start(struct dft_gzin *g)
{
	const unsigned char *h = g->in;
	int err = fill(g, HEADER_SZ);

	if (err)
		return err;
	g->state = ST_BETWEEN;
	if (g->in_len && (h[0] != 0x1f || (g->in_len > 1 && h[1] != 0x8b)) &&
	    (g->format == DFT_GZ_AUTO || h[0] == '{' || h[0] == '['))
		g->state = ST_PLAIN;
	return 0;
}

static int step_plain(struct dft_gzin *g, char *buf, size_t cap, struct dft_gz_step *st)
{
	size_t n;
	int err = fill(g, 1);

	if (err)
		return err;
	n = g->in_len - g->in_pos;
	if (!n) {
		st->event = DFT_GZ_END;
		return 0;
	}
	if (n > cap)
		n = cap;
	memcpy(buf, g->in + g->in_pos, n);
	g->in_pos += n;
	st->got = n;
	return 0;
}

static int step_between(struct dft_gzin *g, struct dft_gz_step *st)
{
	const unsigned char *h;
	size_t left;
	int err = fill(g, HEADER_SZ);

	if (err)
		return err;
	h = g->in + g->in_pos;
	left = g->in_len - g->in_pos;
	if (!left) {
		g->state = ST_END;
		st->event = DFT_GZ_END;
		return 0;
	}
	/* A file cut within a header still starts like one. zlib judges the whole of it. */
	if (h[0] == 0x1f && (left < 2 || h[1] == 0x8b))
		return start_member(g);
	start_search(g, false);
	return 0;
}

/* After damage within a member: on to the bytes behind its header. */
static int leave_member(struct dft_gzin *g)
{
	int err = go_back(g, g->member_off + 1);

	if (!err)
		start_search(g, true);
	return err;
}

/*
 * The input ended within the member. When another member's header follows inside of what was taken
 * for this one, this one is damaged; otherwise the file is cut.
 */
static int input_ended(struct dft_gzin *g, struct dft_gz_step *st)
{
	int rc;

	st->event = DFT_GZ_CUT;
	if (dft_gzin_offset(g) - g->member_off <= HEADER_SZ) {
		g->state = ST_END;
		return 0;
	}
	rc = leave_member(g);
	if (rc)
		return rc;
	do {
		rc = find_header(g);
	} while (rc == 0 && !g->eof);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		g->state = ST_END;
		return 0;
	}
	st->event = DFT_GZ_BAD;
	st->why = "compressed data run into the next member";
	return 0;
}

static int step_member(struct dft_gzin *g, char *buf, size_t cap, struct dft_gz_step *st)
{
	int rc, err = fill(g, 1);
	size_t left;

	if (err)
		return err;
	left = g->in_len - g->in_pos;
	g->z.next_in = g->in + g->in_pos;
	g->z.avail_in = (uInt)left;
	g->z.next_out = (unsigned char *)buf;
	g->z.avail_out = cap > 1u << 30 ? 1u << 30 : (uInt)cap;
	cap = g->z.avail_out;
	rc = inflate(&g->z, Z_NO_FLUSH);
	g->in_pos += left - g->z.avail_in;
	st->got = cap - g->z.avail_out;
	switch (rc) {
	case Z_STREAM_END:
		st->event = DFT_GZ_MEMBER;
		g->state = ST_BETWEEN;
		return 0;
	case Z_OK:
	case Z_BUF_ERROR:
		/* No output although there was room and no input left: only more input can help. */
		if (!st->got && !left && g->eof)
			return input_ended(g, st);
		return 0;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		st->event = DFT_GZ_BAD;
		st->why = g->z.msg ? g->z.msg : "bad compressed data";
		return leave_member(g);
	}
}

static int step_search(struct dft_gzin *g, struct dft_gz_step *st)
{
	int rc = find_header(g);

	if (rc < 0 || (rc == 0 && !g->eof))
		return rc;
	if (!g->junk_told && dft_gzin_offset(g) > g->junk_off) {
		st->event = DFT_GZ_JUNK;
		st->byte = g->junk_off;
		st->junk = dft_gzin_offset(g) - g->junk_off;
		st->zeros = g->junk_zeros;
	}
	if (rc == 1)
		return start_member(g);
	g->state = ST_END;
	return 0;
}

int dft_gzin_step(struct dft_gzin *g, char *buf, size_t cap, struct dft_gz_step *st)
{
	int err = 0;

	memset(st, 0, sizeof(*st));
	if (g->state == ST_START) {
		err = step_start(g);
		if (err)
			return err;
	}
	switch (g->state) {
	case ST_PLAIN:
		return step_plain(g, buf, cap, st);
	case ST_BETWEEN:
		err = step_between(g, st);
		break;
	case ST_MEMBER:
		st->member = g->member;
		st->byte = g->member_off;
		return step_member(g, buf, cap, st);
	case ST_SEARCH:
		st->member = g->member;
		err = step_search(g, st);
		break;
	case ST_START:
	case ST_END:
		st->event = DFT_GZ_END;
		break;
	}
	return err;
}
