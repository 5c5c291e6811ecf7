/* SPDX-License-Identifier: MIT */
/*
 * PIPELINE_GATE=READY:GO in the environment names two descriptors. A stage then writes one byte to
 * READY when it stands before its annotated work, and begins it when a byte comes from GO: so that a
 * tracer can be attached in between. Without the variable the stage just runs.
 */
#ifndef PIPELINE_GATE_H
#define PIPELINE_GATE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void gate(void)
{
	const char *text = getenv("PIPELINE_GATE");
	int ready, go;
	char byte = 'r';

	if (!text)
		return;
	if (sscanf(text, "%d:%d", &ready, &go) != 2 || write(ready, &byte, 1) != 1 ||
	    read(go, &byte, 1) != 1) {
		fprintf(stderr, "pipeline: PIPELINE_GATE=%s: nobody opens the gate\n", text);
		exit(2);
	}
}

#endif
