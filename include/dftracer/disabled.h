/* SPDX-License-Identifier: MIT */
/* dftracer.h under -DDFTRACER_DISABLE: the same names, and nothing behind them. */
#ifndef DFTRACER_DISABLED_H
#define DFTRACER_DISABLED_H

#include <dftracer/types.h>

#define DFT_NOTHING __attribute__((always_inline, unused))

#ifdef __cplusplus
extern "C" {
#endif

/* A value that may be ignored, made of an expression. */
DFT_NOTHING static inline EntityID dft_no_entity(EntityID id)
{
	return id;
}

DFT_NOTHING static inline void initialize_main(const char *log_file, const char *data_dirs,
					       int *process_id)
{
	(void)log_file;
	(void)data_dirs;
	(void)process_id;
}

DFT_NOTHING static inline void initialize_no_bind(const char *log_file, const char *data_dirs,
						  int *process_id)
{
	(void)log_file;
	(void)data_dirs;
	(void)process_id;
}

DFT_NOTHING static inline void finalize(void)
{
}

DFT_NOTHING static inline void set_app_metadata_int(const char *key, int value)
{
	(void)key;
	(void)value;
}

DFT_NOTHING static inline void set_app_metadata_string(const char *key, const char *value)
{
	(void)key;
	(void)value;
}

DFT_NOTHING static inline void mark_used(const char *name)
{
	(void)name;
}

DFT_NOTHING static inline EntityID dftracer_declare_entity(ConstEntityTypeName type,
							   ConstEntityKey key, EntityStore store,
							   ConstEntityURI uri)
{
	(void)type;
	(void)key;
	(void)store;
	(void)uri;
	return DFT_ENTITY_NONE;
}

DFT_NOTHING static inline void dftracer_declare_entity_type(ConstEntityTypeName type,
							    EntityRole role,
							    ConstEntityDescription description)
{
	(void)type;
	(void)role;
	(void)description;
}

DFT_NOTHING static inline void dftracer_relate_entities(EntityRelation relation, EntityID subject,
							EntityID object)
{
	(void)relation;
	(void)subject;
	(void)object;
}

DFT_NOTHING static inline struct DFTracerData *
initialize_region(ConstEventNameType name, ConstEventNameType cat, int event_type)
{
	(void)name;
	(void)cat;
	(void)event_type;
	return DFT_NULL;
}

DFT_NOTHING static inline void finalize_region(struct DFTracerData *d)
{
	(void)d;
}

DFT_NOTHING static inline void finalize_region_cleanup(struct DFTracerData **d)
{
	(void)d;
}

DFT_NOTHING static inline void update_metadata_int_type(struct DFTracerData *d, const char *key,
							int value, int type)
{
	(void)d;
	(void)key;
	(void)value;
	(void)type;
}

DFT_NOTHING static inline void update_metadata_string_type(struct DFTracerData *d, const char *key,
							   const char *value, int type)
{
	(void)d;
	(void)key;
	(void)value;
	(void)type;
}

DFT_NOTHING static inline void update_metadata_int(struct DFTracerData *d, const char *key,
						   int value)
{
	update_metadata_int_type(d, key, value, 0);
}

DFT_NOTHING static inline void update_metadata_string(struct DFTracerData *d, const char *key,
						      const char *value)
{
	update_metadata_string_type(d, key, value, 0);
}

DFT_NOTHING static inline void update_relation(struct DFTracerData *d, EntityRelation relation,
					       EntityID id)
{
	(void)d;
	(void)relation;
	(void)id;
}

DFT_NOTHING static inline EntityID update_relation_entity(struct DFTracerData *d,
							  EntityRelation relation,
							  ConstEntityTypeName type,
							  ConstEntityKey key, EntityStore store,
							  ConstEntityURI uri)
{
	(void)d;
	(void)relation;
	return dftracer_declare_entity(type, key, store, uri);
}

#ifdef __cplusplus
} /* extern "C" */

class DFTracer
{
      public:
	DFT_NOTHING DFTracer(ConstEventNameType, ConstEventNameType, int = DF_DATA_EVENT,
			     TraceEventType = TraceEventType::TRACE_TYPE_CPP_APP)
	{
	}

	/* With these no compiler calls an object of this class unused. */
	DFT_NOTHING DFTracer(const DFTracer &) noexcept
	{
	}

	DFT_NOTHING DFTracer &operator=(const DFTracer &) noexcept
	{
		return *this;
	}

	DFT_NOTHING ~DFTracer()
	{
	}

	DFT_NOTHING void finalize() noexcept
	{
	}

	DFT_NOTHING void update(const char *, int, MetadataType = MT_KEY)
	{
	}

	DFT_NOTHING void update(const char *, const char *, MetadataType = MT_KEY)
	{
	}

	DFT_NOTHING void relate(EntityRelation, EntityID)
	{
	}

	DFT_NOTHING EntityID relate(EntityRelation, ConstEntityTypeName, ConstEntityKey,
				    EntityStore = DFT_STORE_MEMORY, ConstEntityURI = nullptr)
	{
		return DFT_ENTITY_NONE;
	}

	DFT_NOTHING EntityID uses(ConstEntityTypeName, ConstEntityKey,
				  EntityStore = DFT_STORE_MEMORY, ConstEntityURI = nullptr)
	{
		return DFT_ENTITY_NONE;
	}

	DFT_NOTHING EntityID generates(ConstEntityTypeName, ConstEntityKey,
				       EntityStore = DFT_STORE_MEMORY, ConstEntityURI = nullptr)
	{
		return DFT_ENTITY_NONE;
	}
};
#endif

#endif
