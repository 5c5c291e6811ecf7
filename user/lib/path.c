// SPDX-License-Identifier: MIT
#include "path.h"

static void append_clean(struct dft_buf *out, size_t start, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '/' && out->len > start && out->data[out->len - 1] == '/')
			continue; /* "//" */
		dft_buf_putc(out, text[i]);
		if (out->failed)
			return;
		if (text[i] == '/' && out->len - start >= 3 && out->data[out->len - 2] == '.' &&
		    out->data[out->len - 3] == '/')
			out->len -= 2; /* "/./" */
	}
}

static bool has_dotdot(const char *text, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '/')
			continue;
		if (i - start == 2 && text[start] == '.' && text[start + 1] == '.')
			return true;
		start = i + 1;
	}
	return false;
}

bool dft_path_join(struct dft_buf *out, const char *base, size_t base_len, const char *text,
		   size_t len)
{
	size_t start = out->len;

	if (!len || text[0] != '/') {
		append_clean(out, start, base, base_len);
		append_clean(out, start, "/", 1);
	}
	append_clean(out, start, text, len);
	return has_dotdot(text, len);
}
