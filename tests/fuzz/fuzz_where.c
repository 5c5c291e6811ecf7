// SPDX-License-Identifier: MIT
/* Conditions of any bytes: refused with a place, or asked about a few records. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "where.h"

static const char *const lines[] = {
	"{\"id\":1,\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"pid\":5,\"tid\":6,\"ts\":1000,"
	"\"dur\":3,\"ph\":1,\"args\":{\"hhash\":\"42a907a3b64f2a3e\",\"fhash\":\"c721397c362c32b4\","
	"\"ret\":-1,\"a\":{\"b\":[1,\"x\"],\"c\":1.5},\"s\":\"\\u0000\"}}",
	"{\"name\":\"write\",\"cat\":\"POSIX\",\"type\":3,\"ts\":7,\"ph\":3,\"pid\":5,\"tid\":5,"
	"\"args\":{\"hhash\":\"42a907a3b64f2a3e\",\"dft_cnt\":3}}",
	"{\"ph\":\"X\"}",
};

static void must(int cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dft_view view;
	static struct dft_jsonr json;
	struct dft_where_error e = { 0 };
	struct dft_where *w;
	struct dft_record r;
	bool repeats = false;
	char *text;
	int rc;

	/*
	 * Patterns belong to the C library, which some repetitions take for ever: what somebody asks
	 * for on a command line of his own is not what is tested here.
	 */
	if (size > 4096)
		return 0;
	for (size_t i = 0; i < size; i++)
		if (strchr("*+?|{\\", data[i] ? data[i] : ' '))
			repeats = true;
	if (repeats && memchr(data, '~', size))
		return 0;
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rc = dft_where_compile(&w, text, &e);
	if (rc) {
		char buf[80];

		must(!w && e.at <= strlen(text) && e.what[0]);
		dft_where_excerpt(buf, sizeof(buf), text, e.at);
		must(strlen(buf) < sizeof(buf));
		free(text);
		return 0;
	}
	dft_view_begin_file(&view, "file");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		must(dft_record_parse(&r, &json, lines[i], strlen(lines[i])) == 1);
		must(dft_view_take(&view, &r, &json, i + 1) == 0);
		must(dft_where_match(w, &view) == dft_where_match(w, &view));
	}
	dft_where_free(w);
	free(text);
	return 0;
}
