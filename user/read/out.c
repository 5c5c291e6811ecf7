// SPDX-License-Identifier: MIT
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

int dft_out_finish(void)
{
	/* Of an earlier part that could not be written, it is what failed last. */
	int before = ferror(stdout) ? errno : 0, err = 0;

	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout))
		err = errno ? errno : before ? before : EIO;
	if (err)
		dft_error("standard output: %s (the output is not complete)", strerror(err));
	return -err;
}

/* Writes the display form of the first character at s into out (at most 8 bytes); its length. */
static size_t safe_char(const char *s, size_t n, char out[8], size_t *used)
{
	unsigned char c = (unsigned char)*s;
	size_t len = dft_utf8_len(s, n);
	/* U+0080 to U+009F control a terminal like the bytes below 0x20. */
	bool c1 = len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0;

	if (len && !c1 && c >= 0x20 && c != 0x7f && c != '\\') {
		*used = len;
		memcpy(out, s, len);
		return len;
	}
	*used = 1;
	if (c == '\\' || c == '\n' || c == '\t') {
		out[0] = '\\';
		out[1] = c == '\n' ? 'n' : c == '\t' ? 't' : '\\';
		return 2;
	}
	return (size_t)snprintf(out, 8, "\\x%02x", c);
}

char *dft_safe(char *buf, size_t cap, struct dft_str s)
{
	size_t o = 0, used;
	char one[8];

	for (size_t i = 0; i < s.n; i += used) {
		size_t len = safe_char(s.s + i, s.n - i, one, &used);

		if (o + len + sizeof("...") > cap) {
			memcpy(buf + o, "...", 3);
			o += 3;
			break;
		}
		memcpy(buf + o, one, len);
		o += len;
	}
	buf[o] = '\0';
	return buf;
}

char *dft_safe_z(char *buf, size_t cap, const char *s)
{
	return dft_safe(buf, cap, (struct dft_str){ s, strlen(s) });
}

char *dft_human_bytes(char *buf, uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	size_t u = 0;

	if (bytes < 1024) {
		snprintf(buf, DFT_UNIT_SZ, "%" PRIu64 " B", bytes);
		return buf;
	}
	/* 1023.95 would be shown as 1024.0. */
	for (v /= 1024; v >= 1023.95 && u + 1 < sizeof(unit) / sizeof(unit[0]); u++)
		v /= 1024;
	snprintf(buf, DFT_UNIT_SZ, "%.1f %s", v, unit[u]);
	return buf;
}

char *dft_human_ns(char *buf, uint64_t ns)
{
	double v = (double)ns;

	if (ns < 1000)
		snprintf(buf, DFT_UNIT_SZ, "%" PRIu64 " ns", ns);
	else if (v < 999.95e3)
		snprintf(buf, DFT_UNIT_SZ, "%.1f us", v / 1e3);
	else if (v < 999.95e6)
		snprintf(buf, DFT_UNIT_SZ, "%.1f ms", v / 1e6);
	else
		snprintf(buf, DFT_UNIT_SZ, "%.2f s", v / 1e9);
	return buf;
}

void dft_table_init(struct dft_table *t, const char *align)
{
	memset(t, 0, sizeof(*t));
	t->align = align;
	t->cols = strlen(align);
}

void dft_table_add(struct dft_table *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->err)
		return;
	if (t->cnt == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;
		char **cells = realloc(t->cells, cap * sizeof(*cells));

		if (!cells) {
			t->err = -ENOMEM;
			return;
		}
		t->cells = cells;
		t->cap = cap;
	}
	va_start(ap, fmt);
	n = vasprintf(&t->cells[t->cnt], fmt, ap);
	va_end(ap);
	if (n < 0)
		t->err = -ENOMEM;
	else
		t->cnt++;
}

/* Characters, not bytes; good enough for names that are not in wide scripts. */
size_t dft_text_width(const char *s)
{
	size_t w = 0;

	for (; *s; s++)
		w += ((unsigned char)*s & 0xc0) != 0x80;
	return w;
}

void dft_print_cell(FILE *f, const char *s, size_t width, char align, bool last)
{
	size_t w = dft_text_width(s);
	int pad = w < width ? (int)(width - w) : 0;

	if (align == 'r')
		fprintf(f, "%*s%s", pad, "", s);
	else
		fprintf(f, "%s%*s", s, last ? 0 : pad, "");
	fputs(last ? "\n" : "  ", f);
}

int dft_table_print(struct dft_table *t, FILE *f)
{
	size_t *width = calloc(t->cols, sizeof(*width));
	int err = t->err;

	if (!width)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < t->cnt; i++) {
		size_t w = dft_text_width(t->cells[i]);

		if (w > width[i % t->cols])
			width[i % t->cols] = w;
	}
	for (size_t i = 0; !err && i < t->cnt; i++) {
		size_t c = i % t->cols;

		dft_print_cell(f, t->cells[i], width[c], t->align[c], c + 1 == t->cols);
	}
	for (size_t i = 0; i < t->cnt; i++)
		free(t->cells[i]);
	free(t->cells);
	free(width);
	dft_table_init(t, t->align);
	return err;
}

void dft_out_name(struct dft_json *json, const char *key, const char *raw_key, struct dft_str s)
{
	if (!dft_json_str(json, key, s.s, s.n) && raw_key)
		dft_json_hex(json, raw_key, s.s, s.n);
}

int dft_out_buf(struct dft_buf *buf, FILE *f)
{
	int err = buf->failed ? -ENOMEM : 0;

	if (!err && buf->len)
		fwrite(buf->data, 1, buf->len, f);
	buf->len = 0;
	return err;
}
