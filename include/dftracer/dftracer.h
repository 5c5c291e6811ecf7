/* SPDX-License-Identifier: MIT */
/*
 * Annotations for C and C++: spans of time, what they worked on, and how results came to be.
 *
 *	#include <dftracer/dftracer.h>
 *
 *	void load(const char *path)
 *	{
 *		DFTRACER_C_FUNCTION_START();
 *		DFTRACER_C_FUNCTION_UPDATE_STR("path", path);
 *		DFTRACER_C_FUNCTION_USES("file", path);
 *		...
 *	}                                          the region ends with the function
 *
 * The names are those of DFTracer, so that a file written for it compiles unchanged. Nothing is
 * linked, nothing is written by the program, and INIT and FINI may be left out: every event is a
 * probe (usdt.h), to which dftrace-bpf listens, from the start or whenever it is attached. While
 * nobody listens a region costs a test at its beginning and one at its end.
 *
 * - A region whose beginning nobody listened to is not reported.
 * - Ids of entities are returned whether or not anybody listens.
 * - Of a NULL name, category, key or value nothing but "" is told.
 * - The strings of a region in a scope (FUNCTION, REGION, class DFTracer) must live as long as it
 *   does; keys and values are copied at once, and so are the strings of initialize_region().
 *
 * -DDFTRACER_DISABLE leaves nothing of all this: no code, no probes, ids 0, and no argument of a
 * macro is evaluated.
 */
#ifndef DFTRACER_DFTRACER_H
#define DFTRACER_DFTRACER_H

#include <dftracer/types.h>
#include <dftracer/wire.h>

static const char *C_LOG_CATEGORY DFT_UNUSED = "C_APP";
static const char *CPP_LOG_CATEGORY DFT_UNUSED = "CPP_APP";

#ifdef DFTRACER_DISABLE
#include <dftracer/disabled.h>
#else
#include <dftracer/functions.h>
#endif

/*
 * Macros that are a statement end it themselves: they are written with or without a semicolon. The
 * condition makes the disabled ones nothing, and still everything in them is used.
 */
#ifdef DFTRACER_DISABLE
#define DFT_DO(statements)                                                                         \
	do {                                                                                       \
		if (0) {                                                                           \
			statements;                                                                \
		}                                                                                  \
	} while (0);
#define DFT_VALUE_OF(expression) dft_no_entity(0 ? (expression) : DFT_ENTITY_NONE)
#else
#define DFT_DO(statements)                                                                         \
	do {                                                                                       \
		statements;                                                                        \
	} while (0);
#define DFT_VALUE_OF(expression) (expression)
#endif

/* ---- C ------------------------------------------------------------------------------------- */

#define DFTRACER_C_INIT(log_file, data_dirs, process_id)                                           \
	DFT_DO(initialize_main(log_file, data_dirs, process_id); mark_used(C_LOG_CATEGORY))
#define DFTRACER_C_INIT_NO_BIND(log_file, data_dirs, process_id)                                   \
	DFT_DO(initialize_no_bind(log_file, data_dirs, process_id); mark_used(C_LOG_CATEGORY))
#define DFTRACER_C_FINI()		   DFT_DO(finalize())
#define DFTRACER_C_APP_METADATA_INT(key, value) DFT_DO(set_app_metadata_int(key, value))
#define DFTRACER_C_APP_METADATA_STR(key, value) DFT_DO(set_app_metadata_string(key, value))
#define DFTRACER_C_MARK_USED(name)		   DFT_DO(mark_used(name))

#define DFTRACER_C_REGION_CLEANUP __attribute__((cleanup(finalize_region_cleanup)))

/* A region in the scope where this stands: its memory, and the pointer that closes it. */
#ifdef DFTRACER_DISABLE
#define DFT_SCOPED(id, name)                                                                       \
	struct DFTracerData *data_##id = DFT_NULL;                                                 \
	(void)data_##id;
#else
#define DFT_SCOPED(id, name)                                                                       \
	struct dft_region dft_region_##id;                                                         \
	DFTRACER_C_REGION_CLEANUP DFT_UNUSED struct DFTracerData *data_##id = dft_region_start(    \
		&dft_region_##id, name, C_LOG_CATEGORY, DF_DATA_EVENT, DFT_TYPE_C_APP);
#endif

#define DFTRACER_C_FUNCTION_START()  DFT_SCOPED(fn, __func__)
#define DFTRACER_C_FUNCTION_END()    DFT_DO(finalize_region(data_fn); data_fn = DFT_NULL)
#define DFTRACER_C_REGION_START(name) DFT_SCOPED(name, #name)
#define DFTRACER_C_REGION_END(name)  DFT_DO(finalize_region(data_##name); data_##name = DFT_NULL)

#define DFTRACER_C_METADATA(name, key, val)                                                        \
	DFT_DO(finalize_region(initialize_region(key, val, DF_METADATA_EVENT)))

#define DFTRACER_C_FUNCTION_UPDATE_INT(key, val) DFT_DO(update_metadata_int(data_fn, key, val))
#define DFTRACER_C_FUNCTION_UPDATE_STR(key, val) DFT_DO(update_metadata_string(data_fn, key, val))
#define DFTRACER_C_REGION_UPDATE_INT(name, key, val)                                               \
	DFT_DO(update_metadata_int(data_##name, key, val))
#define DFTRACER_C_REGION_UPDATE_STR(name, key, val)                                               \
	DFT_DO(update_metadata_string(data_##name, key, val))
#define DFTRACER_C_FUNCTION_UPDATE_INT_TYPE(key, val, type)                                        \
	DFT_DO(update_metadata_int_type(data_fn, key, val, type))
#define DFTRACER_C_FUNCTION_UPDATE_STR_TYPE(key, val, type)                                        \
	DFT_DO(update_metadata_string_type(data_fn, key, val, type))
#define DFTRACER_C_REGION_UPDATE_INT_TYPE(name, key, val, type)                                    \
	DFT_DO(update_metadata_int_type(data_##name, key, val, type))
#define DFTRACER_C_REGION_UPDATE_STR_TYPE(name, key, val, type)                                    \
	DFT_DO(update_metadata_string_type(data_##name, key, val, type))

#define DFTRACER_C_ENTITY(type, key, store, uri)                                                   \
	DFT_VALUE_OF(dftracer_declare_entity(type, key, store, uri))
#define DFTRACER_C_ENTITY_TYPE(type, role, description)                                            \
	DFT_DO(dftracer_declare_entity_type(type, role, description))
#define DFTRACER_C_ENTITY_RELATE(relation, subject, object)                                        \
	DFT_DO(dftracer_relate_entities(relation, subject, object))
#define DFTRACER_C_FUNCTION_RELATE(relation, id) DFT_DO(update_relation(data_fn, relation, id))
#define DFTRACER_C_FUNCTION_USES(type, key)                                                        \
	DFT_DO(update_relation_entity(data_fn, DFT_REL_USED, type, key, DFT_STORE_MEMORY, DFT_NULL))
#define DFTRACER_C_FUNCTION_GENERATES(type, key)                                                   \
	DFT_DO(update_relation_entity(data_fn, DFT_REL_GENERATED, type, key, DFT_STORE_MEMORY,     \
				      DFT_NULL))
#define DFTRACER_C_REGION_RELATE(name, relation, id)                                               \
	DFT_DO(update_relation(data_##name, relation, id))

/* ---- C++ ----------------------------------------------------------------------------------- */

#ifdef __cplusplus

#ifndef DFTRACER_DISABLE
#include <dftracer/cpp.h>
#endif

#define DFTRACER_CPP_INIT(log_file, data_dirs, process_id)                                         \
	DFT_DO(initialize_main(log_file, data_dirs, process_id); mark_used(CPP_LOG_CATEGORY))
#define DFTRACER_CPP_INIT_NO_BIND(log_file, data_dirs, process_id)                                 \
	DFT_DO(initialize_no_bind(log_file, data_dirs, process_id); mark_used(CPP_LOG_CATEGORY))
#define DFTRACER_CPP_FINI()		     DFT_DO(::finalize())
#define DFTRACER_CPP_APP_METADATA_INT(key, value) DFT_DO(set_app_metadata_int(key, value))
#define DFTRACER_CPP_APP_METADATA_STR(key, value) DFT_DO(set_app_metadata_string(key, value))
#define DFTRACER_CPP_MARK_USED(name)		     DFT_DO(mark_used(name))

#define DFTRACER_CPP_FUNCTION()                                                                    \
	DFTracer profiler_dft_fn(__func__, CPP_LOG_CATEGORY, DF_DATA_EVENT);
#define DFTRACER_CPP_REGION(name)                                                                  \
	DFTracer profiler_##name(#name, CPP_LOG_CATEGORY, DF_DATA_EVENT);
#define DFTRACER_CPP_METADATA(name, key, value)                                                    \
	DFT_DO(DFTracer profiler_##name(key, value, DF_METADATA_EVENT))

/* A region from here to REGION_END, wherever that is. */
#ifdef DFTRACER_DISABLE
#define DFTRACER_CPP_REGION_START(name)                                                            \
	DFTracer *profiler_##name = nullptr;                                                       \
	(void)profiler_##name;
#else
#define DFTRACER_CPP_REGION_START(name)                                                            \
	DFTracer *profiler_##name = new DFTracer(#name, CPP_LOG_CATEGORY, DF_DATA_EVENT);
#endif
#define DFTRACER_CPP_REGION_END(name) DFT_DO(delete profiler_##name)

#define DFTRACER_CPP_FUNCTION_UPDATE(key, val) DFT_DO(profiler_dft_fn.update(key, val))
#define DFTRACER_CPP_FUNCTION_UPDATE_TYPE(key, val, type)                                          \
	DFT_DO(profiler_dft_fn.update(key, val, type))
#define DFTRACER_CPP_REGION_UPDATE(name, key, val) DFT_DO(profiler_##name.update(key, val))
#define DFTRACER_CPP_REGION_DYN_UPDATE(name, key, val) DFT_DO(profiler_##name->update(key, val))
#define DFTRACER_CPP_REGION_UPDATE_TYPE(name, key, val, type)                                      \
	DFT_DO(profiler_##name.update(key, val, type))
#define DFTRACER_CPP_REGION_DYN_UPDATE_TYPE(name, key, val, type)                                  \
	DFT_DO(profiler_##name->update(key, val, type))

#define DFTRACER_CPP_ENTITY(type, key, store, uri)                                                 \
	DFT_VALUE_OF(dftracer_declare_entity(type, key, store, uri))
#define DFTRACER_CPP_ENTITY_TYPE(type, role, description)                                          \
	DFT_DO(dftracer_declare_entity_type(type, role, description))
#define DFTRACER_CPP_ENTITY_RELATE(relation, subject, object)                                      \
	DFT_DO(dftracer_relate_entities(relation, subject, object))
#define DFTRACER_CPP_FUNCTION_RELATE(relation, id)   DFT_DO(profiler_dft_fn.relate(relation, id))
#define DFTRACER_CPP_FUNCTION_USES(type, key)	     DFT_DO(profiler_dft_fn.uses(type, key))
#define DFTRACER_CPP_FUNCTION_GENERATES(type, key)   DFT_DO(profiler_dft_fn.generates(type, key))
#define DFTRACER_CPP_REGION_RELATE(name, relation, id)                                             \
	DFT_DO(profiler_##name.relate(relation, id))
#define DFTRACER_CPP_REGION_DYN_RELATE(name, relation, id)                                         \
	DFT_DO(profiler_##name->relate(relation, id))

#endif

#endif
