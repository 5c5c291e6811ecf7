// SPDX-License-Identifier: MIT
/* The rules of provenance, by hand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "prov.h"

#define FILE_OF(act, ...) facts(act, &(struct dft_prov_call){ __VA_ARGS__ }, false)
#define OTHER_OF(act, ...) facts(act, &(struct dft_prov_call){ __VA_ARGS__ }, true)

static unsigned int facts(enum dft_prov_act act, const struct dft_prov_call *call, bool of_other)
{
	unsigned int file, other;

	dft_prov_facts(act, call, &file, &other);
	return of_other ? other : file;
}

static enum dft_prov_act act_of(const char *event)
{
	return dft_prov_act_of(event, strlen(event));
}

static void events(void **state)
{
	(void)state;
	assert_int_equal(act_of("pread"), DFT_PROV_READ);
	assert_int_equal(act_of("mmap_write"), DFT_PROV_WRITE);
	assert_int_equal(act_of("sendfile"), DFT_PROV_COPY_TO);
	assert_int_equal(act_of("execve"), DFT_PROV_EXEC);
	assert_int_equal(act_of("stat"), DFT_PROV_NONE);
	assert_int_equal(act_of("rmdir"), DFT_PROV_NONE);
	assert_int_equal(act_of("rea"), DFT_PROV_NONE);
	assert_int_equal(act_of(""), DFT_PROV_NONE);
}

static void calls(void **state)
{
	(void)state;
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .has_flags = true, .flags = O_CREAT), DFT_PROV_OPENED);
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .has_flags = true, .flags = O_CREAT, .created = true),
			 DFT_PROV_OPENED | DFT_PROV_MADE);
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .has_flags = true, .flags = O_TRUNC),
			 DFT_PROV_OPENED | DFT_PROV_MADE);
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .has_flags = true,
				 .flags = DFT_PROV_O_TMPFILE | O_DIRECTORY | O_RDWR),
			 DFT_PROV_OPENED | DFT_PROV_MADE);
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .ret = 3), DFT_PROV_OPENED | DFT_PROV_MADE); /* creat */
	assert_int_equal(FILE_OF(DFT_PROV_OPEN, .ret = -2), 0);
	/* nothing to read is knowledge, nothing written is none */
	assert_int_equal(FILE_OF(DFT_PROV_READ, .ret = 0), DFT_PROV_DID_READ);
	assert_int_equal(FILE_OF(DFT_PROV_WRITE, .ret = 0), 0);
	assert_int_equal(FILE_OF(DFT_PROV_WRITE, .ret = 1), DFT_PROV_WROTE);
	assert_int_equal(FILE_OF(DFT_PROV_COPY_FROM, .ret = 1), DFT_PROV_DID_READ);
	assert_int_equal(OTHER_OF(DFT_PROV_COPY_FROM, .ret = 1), DFT_PROV_WROTE);
	assert_int_equal(FILE_OF(DFT_PROV_COPY_TO, .ret = 1), DFT_PROV_WROTE);
	assert_int_equal(OTHER_OF(DFT_PROV_COPY_TO, .ret = 0), DFT_PROV_DID_READ);
	assert_int_equal(FILE_OF(DFT_PROV_TRUNCATE, .len = 0), DFT_PROV_MADE);
	assert_int_equal(FILE_OF(DFT_PROV_TRUNCATE, .len = 5), DFT_PROV_WROTE);
	assert_int_equal(FILE_OF(DFT_PROV_RENAME, .ret = 0), DFT_PROV_UNNAMED);
	assert_int_equal(OTHER_OF(DFT_PROV_RENAME, .ret = 0), DFT_PROV_NAMED);
	assert_int_equal(FILE_OF(DFT_PROV_RENAME, .flags = 2), DFT_PROV_UNNAMED | DFT_PROV_NAMED);
	assert_int_equal(FILE_OF(DFT_PROV_LINK, .ret = 0), 0);
	assert_int_equal(OTHER_OF(DFT_PROV_LINK, .ret = 0), DFT_PROV_NAMED);
}

static void mappings(void **state)
{
	uint64_t both = PROT_READ | PROT_WRITE;

	(void)state;
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .ret = -1, .prot = PROT_READ), 0);
	/* Addresses may look negative. */
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .ret = INT64_MIN, .prot = PROT_READ, .flags = MAP_PRIVATE),
			 DFT_PROV_MAPPED);
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE),
			 DFT_PROV_RAN);
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .prot = both, .flags = MAP_PRIVATE), DFT_PROV_MAPPED);
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .prot = both, .flags = MAP_SHARED),
			 DFT_PROV_MAPPED | DFT_PROV_WROTE);
	assert_int_equal(FILE_OF(DFT_PROV_MAP, .prot = both, .flags = MAP_SHARED, .faults_seen = true), 0);
}

static void relations(void **state)
{
	static const struct {
		unsigned int facts, relations;
	} cases[] = {
		{ 0, 0 },
		{ DFT_PROV_OPENED, 0 },
		{ DFT_PROV_OPENED | DFT_PROV_DID_READ, DFT_PROV_USED },
		{ DFT_PROV_MAPPED, DFT_PROV_USED },
		{ DFT_PROV_RAN, DFT_PROV_USED },
		{ DFT_PROV_WROTE, DFT_PROV_UPDATED },
		{ DFT_PROV_OPENED | DFT_PROV_MADE | DFT_PROV_WROTE, DFT_PROV_GENERATED },
		{ DFT_PROV_OPENED | DFT_PROV_MADE, DFT_PROV_GENERATED }, /* an empty file */
		{ DFT_PROV_OPENED | DFT_PROV_MADE | DFT_PROV_HEIR_WROTE, 0 },
		{ DFT_PROV_MADE | DFT_PROV_WROTE | DFT_PROV_HEIR_WROTE, DFT_PROV_GENERATED },
		{ DFT_PROV_WROTE | DFT_PROV_INHERITED, DFT_PROV_GENERATED },
		{ DFT_PROV_WROTE | DFT_PROV_INHERITED | DFT_PROV_OPENED, DFT_PROV_UPDATED },
		{ DFT_PROV_INHERITED, 0 },
		{ DFT_PROV_NAMED, DFT_PROV_GENERATED },
		{ DFT_PROV_NAMED | DFT_PROV_WROTE, DFT_PROV_GENERATED },
		{ DFT_PROV_UNNAMED, DFT_PROV_INVALIDATED },
		{ DFT_PROV_MADE | DFT_PROV_WROTE | DFT_PROV_DID_READ | DFT_PROV_UNNAMED,
		  DFT_PROV_USED | DFT_PROV_GENERATED | DFT_PROV_INVALIDATED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(dft_prov_relations(cases[i].facts), cases[i].relations);
}

/* The vectors of docs/trace-format.md; the key in one part or two. */
static void ids(void **state)
{
	(void)state;
	assert_true(dft_prov_id("protein_structure", 17, "MGYP0001", 8, "", 0) == 0x8f0de68c04eea0bf);
	assert_true(dft_prov_id("protein_structure", 17, "", 0, "MGYP0001", 8) == 0x8f0de68c04eea0bf);
	assert_true(dft_prov_id("sequence", 8, "MGYP", 4, "0001", 4) == 0xd824b0bb91487885);
	assert_true(dft_prov_id("checkpoint", 10, "step=120", 8, "", 0) == 0xbab6475a3dba6198);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events), cmocka_unit_test(calls), cmocka_unit_test(mappings),
		cmocka_unit_test(relations), cmocka_unit_test(ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
