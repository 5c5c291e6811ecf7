// SPDX-License-Identifier: MIT
/*
 * A file as it would be written for DFTracer, with every macro and function of its C interface, with
 * and without semicolons. Compiled as C and as C++.
 */
#include <dftracer/dftracer.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
void every_run(void);
#ifdef __cplusplus
}
#endif

static int evaluated;

static int count_evaluation(int value)
{
	evaluated++;
	return value;
}

static void print_id(const char *what, EntityID id)
{
	char hex[DFT_ENTITY_HEX_LEN];

	dft_entity_hex(id, hex);
	printf("id %s %s\n", what, hex);
}

static void vectors(void)
{
	static char many[5001];
	int i;

	for (i = 0; i < 5000; i++)
		many[i] = 'b';
	print_id("1", DFTRACER_C_ENTITY("protein_structure", "MGYP0001", DFT_STORE_MEMORY, NULL));
	print_id("2", DFTRACER_C_ENTITY("sequence", "MGYP0001", DFT_STORE_LOCAL_DISK, "/d/s.fa"));
	print_id("3", dftracer_declare_entity("structure_tar", "MGYP0001", DFT_STORE_OTHER, ""));
	print_id("4", dftracer_declare_entity("file", "/data/a.bin", DFT_STORE_PARALLEL_FS,
					      "/data/a.bin"));
	print_id("5", dftracer_declare_entity("checkpoint", "step=120", DFT_STORE_NETWORK, NULL));
	print_id("6", dftracer_declare_entity("", "", DFT_STORE_MEMORY, NULL));
	print_id("7", dftracer_declare_entity("a", many, DFT_STORE_DATABASE, NULL));
	print_id("no type", dftracer_declare_entity(NULL, "k", DFT_STORE_MEMORY, NULL));
	print_id("no key", dftracer_declare_entity("t", NULL, DFT_STORE_MEMORY, NULL));
}

static int early(int n)
{
	DFTRACER_C_FUNCTION_START();
	DFTRACER_C_FUNCTION_UPDATE_INT("n", n);
	if (n < 0)
		return -1;
	DFTRACER_C_FUNCTION_UPDATE_STR("sign", "positive")
	DFTRACER_C_FUNCTION_END();
	DFTRACER_C_FUNCTION_UPDATE_STR("too", "late");
	return n;
}

static void in_function(void)
{
	DFTRACER_C_FUNCTION_START()
	EntityID id = DFTRACER_C_ENTITY("mesh", "m1", DFT_STORE_GPU_MEMORY, "gpu:0");
	int i;

	DFTRACER_C_FUNCTION_UPDATE_INT("int", -7)
	DFTRACER_C_FUNCTION_UPDATE_STR("str", "a \"quoted\" \\ | one");
	DFTRACER_C_FUNCTION_UPDATE_INT_TYPE("int_type", 2147483647, 1);
	DFTRACER_C_FUNCTION_UPDATE_STR_TYPE("str_type", "", 2)
	DFTRACER_C_FUNCTION_RELATE(DFT_REL_UPDATED, id);
	DFTRACER_C_FUNCTION_USES("file", "/data/a.bin");
	DFTRACER_C_FUNCTION_GENERATES("checkpoint", "step=120")
	for (i = 0; i < 2; i++) {
		DFTRACER_C_REGION_START(STEP);
		DFTRACER_C_REGION_UPDATE_INT(STEP, "i", i);
		DFTRACER_C_REGION_UPDATE_STR(STEP, "s", "x")
		DFTRACER_C_REGION_UPDATE_INT_TYPE(STEP, "it", i, 1)
		DFTRACER_C_REGION_UPDATE_STR_TYPE(STEP, "st", "y", 7);
		DFTRACER_C_REGION_RELATE(STEP, DFT_REL_INVALIDATED, id)
		DFTRACER_C_REGION_RELATE(STEP, DFT_REL_CONTAINS, id);
		DFTRACER_C_REGION_RELATE(STEP, DFT_REL_USED, DFT_ENTITY_NONE);
		if (i == 1)
			continue;
		DFTRACER_C_REGION_END(STEP);
	}
}

static void handles(void)
{
	struct DFTracerData *d = initialize_region("handle", "PROV", DF_DATA_EVENT);

	update_metadata_int(d, "i", 1);
	update_metadata_string(d, "s", "v");
	update_metadata_int_type(d, "it", 2, 2);
	update_metadata_string_type(d, "st", "w", 1);
	update_relation(d, DFT_REL_GENERATED, 0xabcdef0123456789u);
	print_id("relation", update_relation_entity(d, DFT_REL_USED, "sequence", "MGYP0001",
						    DFT_STORE_LOCAL_DISK, "/d/s.fa"));
	finalize_region(d);
	finalize_region(d);
	finalize_region(NULL);
	finalize_region_cleanup(NULL);
	d = NULL;
	finalize_region_cleanup(&d);
	update_metadata_int(NULL, "i", 1);
	update_metadata_string(NULL, "s", "v");
	update_relation(NULL, DFT_REL_USED, 1);
	update_relation_entity(NULL, DFT_REL_USED, "t", "no region", DFT_STORE_MEMORY, NULL);
	d = initialize_region("a key", "a value", DF_METADATA_EVENT);
	update_metadata_int(d, "i", 1);
	update_relation(d, DFT_REL_USED, 1);
	finalize_region(d);
	d = initialize_region(NULL, NULL, DF_DATA_EVENT);
	update_metadata_int(d, NULL, 3);
	update_metadata_string(d, NULL, NULL);
	finalize_region(d);
}

static void entities(void)
{
	DFTRACER_C_ENTITY_TYPE("mesh", DFT_ROLE_INTERMEDIATE, "made of (x|y)\n");
	DFTRACER_C_ENTITY_TYPE("file", DFT_ROLE_INPUT, NULL)
	DFTRACER_C_ENTITY_TYPE(NULL, DFT_ROLE_INPUT, "nothing");
	DFTRACER_C_ENTITY_RELATE(DFT_REL_DERIVED_FROM, 1, 2);
	DFTRACER_C_ENTITY_RELATE(DFT_REL_DEPENDS_ON, 3, 4)
	DFTRACER_C_ENTITY_RELATE(DFT_REL_USED, 1, 2);
	DFTRACER_C_ENTITY_RELATE(DFT_REL_CONTAINS, 0, 2);
	DFTRACER_C_ENTITY_RELATE(DFT_REL_CONTAINS, 1, DFT_ENTITY_NONE);
}

static void branches(int yes)
{
	DFTRACER_C_FUNCTION_START();
	if (yes)
		DFTRACER_C_FUNCTION_UPDATE_INT("counted", count_evaluation(5))
	if (!yes)
		DFTRACER_C_FUNCTION_UPDATE_INT("never", count_evaluation(6));
}

void every_run(void)
{
	DFTRACER_C_INIT("log", "all", NULL);
	DFTRACER_C_INIT_NO_BIND(NULL, NULL, NULL)
	DFTRACER_C_APP_METADATA_INT("ranks", 4);
	DFTRACER_C_APP_METADATA_STR("model", "m\"1\"")
	DFTRACER_C_MARK_USED("GPU");
	DFTRACER_C_METADATA(meta, "epochs", "12");
	vectors();
	early(-1);
	early(1);
	in_function();
	handles();
	entities();
	evaluated = 0;
	branches(1);
	printf("evaluated %d\n", evaluated);
	printf("categories %s %s\n", C_LOG_CATEGORY, CPP_LOG_CATEGORY);
	DFTRACER_C_FINI();
}
