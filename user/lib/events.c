// SPDX-License-Identifier: MIT
#include "events.h"

#include <stdint.h>
#include <string.h>

#include "syscalls.h"

#define NAME_MAX_LEN 31 /* of an event, and more */
#define FORMS	     4  /* of dft_desc_form() */

/* The event of a call in one of its forms, NULL for calls that are none. */
static const char *event_of(unsigned int nr, unsigned int form)
{
	const struct dft_sys *sys = dft_sys_find(nr);

	return sys && sys->event ? dft_sys_event(sys, form & 2, form & 1) : NULL;
}

/* How many letters have to be put in, taken out or changed. */
static size_t distance(const char *a, size_t a_len, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], b_len = strlen(b);

	if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
		return SIZE_MAX;
	for (size_t k = 0; k <= b_len; k++)
		row[k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		size_t before = row[0];

		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			size_t changed = before + (a[i - 1] != b[k - 1]);
			size_t other = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;

			before = row[k];
			row[k] = changed < other ? changed : other;
		}
	}
	return row[b_len];
}

bool dft_event_is_known(const char *text, size_t len, const char **nearest)
{
	size_t least = SIZE_MAX;

	*nearest = NULL;
	for (unsigned int i = 0; i < FORMS * DFT_NR_MAX && least; i++) {
		const char *event = event_of(i / FORMS, i % FORMS);
		size_t off = event ? distance(text, len, event) : SIZE_MAX;

		if (off < least && off <= len / 2) {
			least = off;
			*nearest = event;
		}
	}
	return !least;
}
