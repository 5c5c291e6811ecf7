// SPDX-License-Identifier: MIT
/*
 * A program that was written against DFTracer's library, with its declarations and not ours, and that
 * uses what libdftracer.so has besides.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "listen.h"
#include "user/annotate/dftracer_ext.h"

void initialize_main(const char *log_file, const char *data_dirs, int *process_id);
void initialize_no_bind(const char *log_file, const char *data_dirs, int *process_id);
void finalize(void);
void set_app_metadata_int(const char *key, int value);
void set_app_metadata_string(const char *key, const char *value);
void mark_used(const char *name);
uint64_t dftracer_declare_entity(const char *type, const char *key, EntityStore store,
				 const char *uri);
void dftracer_declare_entity_type(const char *type, EntityRole role, const char *description);
void dftracer_relate_entities(EntityRelation relation, uint64_t subject, uint64_t object);
struct DFTracerData *initialize_region(const char *name, const char *cat, int event_type);
void finalize_region(struct DFTracerData *d);
void finalize_region_cleanup(struct DFTracerData **d);
void update_metadata_int(struct DFTracerData *d, const char *key, int value);
void update_metadata_string(struct DFTracerData *d, const char *key, const char *value);
void update_metadata_int_type(struct DFTracerData *d, const char *key, int value, int type);
void update_metadata_string_type(struct DFTracerData *d, const char *key, const char *value,
				 int type);
void update_relation(struct DFTracerData *d, EntityRelation relation, uint64_t id);
uint64_t update_relation_entity(struct DFTracerData *d, EntityRelation relation, const char *type,
				const char *key, EntityStore store, const char *uri);

static long long now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void of_dftracer(void)
{
	struct DFTracerData *d;

	initialize_main(NULL, NULL, NULL);
	initialize_no_bind(NULL, NULL, NULL);
	mark_used("C_APP");
	set_app_metadata_int("n", -1);
	set_app_metadata_string("s", "x");
	d = initialize_region("region", "PROV", 0);
	update_metadata_int(d, "i", 1);
	update_metadata_string(d, "s", "v");
	update_metadata_int_type(d, "it", 2, 1);
	update_metadata_string_type(d, "st", "w", 2);
	update_relation(d, DFT_REL_USED, 7);
	printf("id %016llx\n", (unsigned long long)update_relation_entity(
				       d, DFT_REL_GENERATED, "file", "/data/a.bin",
				       DFT_STORE_LOCAL_DISK, "/data/a.bin"));
	finalize_region_cleanup(&d);
	finalize_region(d);
	printf("id %016llx\n", (unsigned long long)dftracer_declare_entity(
				       "sequence", "MGYP0001", DFT_STORE_MEMORY, NULL));
	dftracer_declare_entity_type("file", DFT_ROLE_INPUT, "read");
	dftracer_relate_entities(DFT_REL_CONTAINS, 1, 2);
	d = initialize_region("key", "value", 1);
	finalize_region(d);
	finalize();
}

static void of_ours(void)
{
	struct DFTracerData *d = dftracer_region_open("open", "py", DFT_TYPE_PYTHON);
	static char many[3001];

	memset(many, 'm', 3000);
	dftracer_region_int(d, "big", INT64_MIN, 0);
	dftracer_region_float(d, "pi", 3.25, 1);
	update_metadata_string_type(d, "s", many, 9);
	update_relation(d, DFT_REL_USED, 3);
	finalize_region(d);
	d = dftracer_region_open("dropped", "py", DFT_TYPE_PYTHON);
	dftracer_region_int(d, "n", 1, 0);
	dftracer_region_drop(d);
	dftracer_region_drop(d);
	finalize_region(d);
	dftracer_region_drop(NULL);
	dftracer_region_times(NULL, 1, 2);
	dftracer_region_float(NULL, "x", 1, 0);
	dftracer_region_int(NULL, "x", 1, 0);
	dftracer_metadata_str(DFT_META_CM, DFT_TYPE_PYTHON, "key", many);
	dftracer_metadata_int(DFT_META_APP, DFT_TYPE_PYTHON, "key", INT64_MAX);
	dftracer_metadata_int(DFT_META_USED, DFT_TYPE_PYTHON, "PYTHON", 1);
	printf("id %016llx\n", (unsigned long long)dftracer_entity_id("checkpoint", "step=120"));
	printf("listeners %u\n", *dftracer_listeners());
}

static void times(void)
{
	long long mono = now(CLOCK_MONOTONIC), real = now(CLOCK_REALTIME);
	TimeResolution t = get_time();
	struct DFTracerData *d;

	printf("time %lld %llu %lld\n", real, t, now(CLOCK_REALTIME));
	log_event("logged", "py", t, 250);
	printf("mono %lld %lld\n", mono, now(CLOCK_MONOTONIC));
	d = dftracer_region_open("timed", "py", DFT_TYPE_PYTHON);
	dftracer_region_times(d, t + 1000, 0);
	dftracer_region_int(d, "n", 1, 0);
	finalize_region(d);
}

int main(void)
{
	of_dftracer();
	of_ours();
	times();
	listen_print();
	printf("listening %d\n", listen_begin());
	of_dftracer();
	of_ours();
	times();
	listen_end();
	listen_print();
	return 0;
}
