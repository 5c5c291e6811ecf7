// SPDX-License-Identifier: MIT
/*
 * Does what a foreign tool is to see, and writes into FILE what it did, a line for each probe:
 *
 *     annot_foreign FILE [wait]
 *
 * With "wait" it goes on when a line comes on stdin.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dftracer/dftracer.h>

static FILE *truth;

/* What the event of a region that ends now will carry. */
static void say_event(const char *cat, const struct DFTracerData *d)
{
	const struct dft_region *r = d->profiler;
	const unsigned char *chunk;

	if (!r)
		return;
	chunk = (const unsigned char *)&r->chunk;
	fprintf(truth, "event|%s|%s|%" PRIu64 "|%d|%" PRIu32 "|", r->name, cat, r->value, r->code,
		r->len);
	for (uint32_t i = 0; i < r->len; i++)
		fprintf(truth, "%02x", chunk[i]);
	fputc('\n', truth);
}

static void inner(int n)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("n", n);
	if (n > 3) {
		DFTRACER_C_FUNCTION_UPDATE_STR("why", "more than three");
		say_event("C_APP", data_fn);
		return;
	}
	say_event("C_APP", data_fn);
}

static void handle(const char *name, const char *cat)
{
	struct DFTracerData *d = initialize_region(name, cat, DF_DATA_EVENT);

	update_relation(d, DFT_REL_USED, 0x0123456789abcdefu);
	say_event(cat, d);
	finalize_region(d);
}

static void entity(const char *type, const char *key, const char *uri)
{
	EntityID id = DFTRACER_C_ENTITY(type, key, DFT_STORE_PARALLEL_FS, uri);

	fprintf(truth, "entity|%s|%s|%" PRIx64 "|%d\n", type, uri, id, DFT_STORE_PARALLEL_FS);
}

static void relation(EntityRelation relation, EntityID subject, EntityID object)
{
	DFTRACER_C_ENTITY_RELATE(relation, subject, object);
	fprintf(truth, "relation|%d|%" PRIx64 "|%" PRIx64 "\n", relation, subject, object);
}

int main(int argc, char **argv)
{
	int c;

	if (argc < 2)
		return 2;
	truth = fopen(argv[1], "w");
	if (!truth)
		return 1;
	if (argc > 2 && !strcmp(argv[2], "wait"))
		do
			c = getchar();
		while (c != '\n' && c != EOF);
	for (int i = 0; i < 10; i++)
		inner(i);
	handle("a region with a name of its own", "PROV");
	handle("", "");
	entity("file", "/data/a.bin", "/data/a.bin");
	entity("sequence", "MGYP0001", "");
	relation(DFT_REL_CONTAINS, 0x8f0de68c04eea0bfu, 0xd824b0bb91487885u);
	return fclose(truth) != 0;
}
