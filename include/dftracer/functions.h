/* SPDX-License-Identifier: MIT */
/*
 * The functions of dftracer.h. libdftracer.so is this file compiled with DFTRACER_FN as nothing, so
 * that they are exported.
 */
#ifndef DFTRACER_FUNCTIONS_H
#define DFTRACER_FUNCTIONS_H

#include <dftracer/region.h>
#include <dftracer/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what there is ------------------------------------------------------------------------- */

/* Begin and end of tracing in DFTracer. Here whoever listens decides, and nothing is done. */
DFTRACER_FN void initialize_main(const char *log_file, const char *data_dirs, int *process_id);
DFTRACER_FN void initialize_no_bind(const char *log_file, const char *data_dirs, int *process_id);
DFTRACER_FN void finalize(void);

/* About the whole process: the last value of a key counts. mark_used: a layer that is in use. */
DFTRACER_FN void set_app_metadata_int(const char *key, int value);
DFTRACER_FN void set_app_metadata_string(const char *key, const char *value);
DFTRACER_FN void mark_used(const char *name);

/* The id is 0 if type or key is NULL. uri: where it is, may be NULL. */
DFTRACER_FN EntityID dftracer_declare_entity(ConstEntityTypeName type, ConstEntityKey key,
					     EntityStore store, ConstEntityURI uri);
DFTRACER_FN void dftracer_declare_entity_type(ConstEntityTypeName type, EntityRole role,
					      ConstEntityDescription description);
/* Only relations between entities (16 and above); an id of 0 is ignored. */
DFTRACER_FN void dftracer_relate_entities(EntityRelation relation, EntityID subject,
					  EntityID object);

/*
 * A region with a handle. The handle is never NULL; while nobody listens it is one that ignores
 * everything. Closing a handle twice, or NULL, does nothing.
 */
DFTRACER_FN struct DFTracerData *initialize_region(ConstEventNameType name, ConstEventNameType cat,
						   int event_type);
DFTRACER_FN void finalize_region(struct DFTracerData *d);
/* For __attribute__((cleanup)). */
DFTRACER_FN void finalize_region_cleanup(struct DFTracerData **d);

/* type: 0 key, 1 value, 2 to be ignored, in the aggregation of events. */
DFTRACER_FN void update_metadata_int(struct DFTracerData *d, const char *key, int value);
DFTRACER_FN void update_metadata_string(struct DFTracerData *d, const char *key, const char *value);
DFTRACER_FN void update_metadata_int_type(struct DFTracerData *d, const char *key, int value,
					  int type);
DFTRACER_FN void update_metadata_string_type(struct DFTracerData *d, const char *key,
					     const char *value, int type);
/* Only relations of an event (below 16); an id of 0 is ignored. */
DFTRACER_FN void update_relation(struct DFTracerData *d, EntityRelation relation, EntityID id);
/* Declares the entity, whether or not the region is recorded, and relates the region to it. */
DFTRACER_FN EntityID update_relation_entity(struct DFTracerData *d, EntityRelation relation,
					    ConstEntityTypeName type, ConstEntityKey key,
					    EntityStore store, ConstEntityURI uri);

/* ---- how it is done ------------------------------------------------------------------------ */

DFTRACER_FN void initialize_main(const char *log_file, const char *data_dirs, int *process_id)
{
	(void)log_file;
	(void)data_dirs;
	(void)process_id;
}

DFTRACER_FN void initialize_no_bind(const char *log_file, const char *data_dirs, int *process_id)
{
	(void)log_file;
	(void)data_dirs;
	(void)process_id;
}

DFTRACER_FN void finalize(void)
{
}

DFTRACER_FN void set_app_metadata_int(const char *key, int value)
{
	if (DFTRACER_USDT_ENABLED(dftracer, metadata))
		dft_metadata_int(DFT_META_APP, DFT_TYPE_C_APP, key, value);
}

DFTRACER_FN void set_app_metadata_string(const char *key, const char *value)
{
	if (DFTRACER_USDT_ENABLED(dftracer, metadata))
		dft_metadata_str(DFT_META_APP, DFT_TYPE_C_APP, key, value);
}

DFTRACER_FN void mark_used(const char *name)
{
	if (DFTRACER_USDT_ENABLED(dftracer, metadata))
		dft_metadata_int(DFT_META_USED, DFT_TYPE_C_APP, name, 1);
}

DFTRACER_FN EntityID dftracer_declare_entity(ConstEntityTypeName type, ConstEntityKey key,
					     EntityStore store, ConstEntityURI uri)
{
	EntityID id = dft_entity_id(type, key);

	if (DFTRACER_USDT_ENABLED(dftracer, entity) && id != DFT_ENTITY_NONE)
		dft_entity_fire(type, id, store, uri);
	return id;
}

DFTRACER_FN void dftracer_declare_entity_type(ConstEntityTypeName type, EntityRole role,
					      ConstEntityDescription description)
{
	if (DFTRACER_USDT_ENABLED(dftracer, entity_type) && type)
		dft_entity_type_fire(type, role, description);
}

DFTRACER_FN void dftracer_relate_entities(EntityRelation relation, EntityID subject,
					  EntityID object)
{
	if (DFTRACER_USDT_ENABLED(dftracer, relation) && !dft_relation_is_event(relation) &&
	    subject != DFT_ENTITY_NONE && object != DFT_ENTITY_NONE)
		dft_relation_fire(relation, subject, object);
}

DFTRACER_FN struct DFTracerData *initialize_region(ConstEventNameType name, ConstEventNameType cat,
						   int event_type)
{
	if (dft_listens(event_type))
		return dft_handle_open(name, cat, event_type, DFT_TYPE_C_APP);
	return &dft_inert;
}

DFTRACER_FN void finalize_region(struct DFTracerData *d)
{
	if (dft_live(d))
		dft_region_close(d, 0);
}

DFTRACER_FN void finalize_region_cleanup(struct DFTracerData **d)
{
	if (d)
		finalize_region(*d);
}

DFTRACER_FN void update_metadata_int_type(struct DFTracerData *d, const char *key, int value,
					  int type)
{
	struct dft_region *r = dft_live(d);

	if (r)
		dft_region_int(r, key, value, type);
}

DFTRACER_FN void update_metadata_string_type(struct DFTracerData *d, const char *key,
					     const char *value, int type)
{
	struct dft_region *r = dft_live(d);

	if (r)
		dft_region_str(r, key, value, type);
}

DFTRACER_FN void update_metadata_int(struct DFTracerData *d, const char *key, int value)
{
	update_metadata_int_type(d, key, value, 0);
}

DFTRACER_FN void update_metadata_string(struct DFTracerData *d, const char *key, const char *value)
{
	update_metadata_string_type(d, key, value, 0);
}

DFTRACER_FN void update_relation(struct DFTracerData *d, EntityRelation relation, EntityID id)
{
	struct dft_region *r = dft_live(d);

	if (r)
		dft_region_relation(r, relation, id);
}

DFTRACER_FN EntityID update_relation_entity(struct DFTracerData *d, EntityRelation relation,
					    ConstEntityTypeName type, ConstEntityKey key,
					    EntityStore store, ConstEntityURI uri)
{
	EntityID id = dftracer_declare_entity(type, key, store, uri);

	update_relation(d, relation, id);
	return id;
}

#ifdef __cplusplus
}
#endif

#endif
