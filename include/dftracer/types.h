/* SPDX-License-Identifier: MIT */
/*
 * The types and constants of dftracer.h, which includes this file, and what is computed without any
 * tracer: the ids of entities.
 *
 * Entities are the data sets, models, results ... that a program reads and makes. An entity has a
 * type and a key. Its id is a pure function of the two, the same in every process and language, so
 * that what one program made is known to the one that uses it. The key itself is neither kept nor
 * sent.
 */
#ifndef DFTRACER_TYPES_H
#define DFTRACER_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* How a function of this header is declared. libdftracer.so exports the very same functions. */
#ifndef DFTRACER_FN
#define DFTRACER_FN static inline
#endif
#define DFT_UNUSED __attribute__((unused))

#ifdef __cplusplus
#define DFT_CAST(type, x) (static_cast<type>(x))
#define DFT_NULL	  nullptr
#else
#define DFT_CAST(type, x) ((type)(x))
#define DFT_NULL	  NULL
#endif

/* What a region is: an event, or a name with a value. */
#define DF_DATA_EVENT	  0
#define DF_METADATA_EVENT 1

/* A region in C. It is only ever used by pointer. */
struct DFTracerData {
	void *profiler;
};

typedef unsigned long long TimeResolution; /* microseconds */
typedef unsigned long ThreadID;
typedef int ProcessID;
typedef char *HashType;
typedef uint64_t EntityID;
typedef const char *ConstEventNameType;
typedef const char *ConstEntityTypeName;
typedef const char *ConstEntityKey;
typedef const char *ConstEntityURI;
typedef const char *ConstEntityDescription;

/* Sizes of the strings, with the NUL: longer ones are cut. */
#define DFT_ENTITY_TYPE_LEN 32
#define DFT_ENTITY_URI_LEN  256
#define DFT_ENTITY_DESC_LEN 256
#define DFT_ENTITY_HEX_LEN  17

#define DFT_ENTITY_NONE	  (DFT_CAST(EntityID, 0))
#define DFT_RELATIONS_ARG "relations"

/* Where an entity is. */
typedef enum {
	DFT_STORE_MEMORY = 0,
	DFT_STORE_GPU_MEMORY = 1,
	DFT_STORE_LOCAL_DISK = 2,
	DFT_STORE_PARALLEL_FS = 3,
	DFT_STORE_BURST_BUFFER = 4,
	DFT_STORE_OBJECT_STORE = 5,
	DFT_STORE_DATABASE = 6,
	DFT_STORE_NETWORK = 7,
	DFT_STORE_OTHER = 8
} EntityStore;

/* What the entities of a type are for. */
typedef enum {
	DFT_ROLE_UNKNOWN = 0,
	DFT_ROLE_INPUT = 1,
	DFT_ROLE_OUTPUT = 2,
	DFT_ROLE_INTERMEDIATE = 3,
	DFT_ROLE_PARAMETER = 4,
	DFT_ROLE_REFERENCE = 5
} EntityRole;

/* Below 16: of an event to an entity. From 16 on: of an entity to another. */
typedef enum {
	DFT_REL_USED = 0,
	DFT_REL_GENERATED = 1,
	DFT_REL_INVALIDATED = 2,
	DFT_REL_UPDATED = 3,
	DFT_REL_DERIVED_FROM = 16,
	DFT_REL_REVISION_OF = 17,
	DFT_REL_CONTAINS = 18,
	DFT_REL_PART_OF = 19,
	DFT_REL_SPECIALIZATION_OF = 20,
	DFT_REL_ALTERNATE_OF = 21,
	DFT_REL_DEPENDS_ON = 22
} EntityRelation;

#ifdef __cplusplus
/* What an argument is in the aggregation of events. */
enum MetadataType : uint8_t {
	MT_KEY = 0,
	MT_VALUE = 1,
	MT_IGNORE = 2
};

enum ValueType : uint8_t {
	VALUE_TYPE_NUMBER = 0,
	VALUE_TYPE_STRING = 1
};

/* What made an event. */
enum TraceEventType : uint8_t {
	TRACE_TYPE_UNKNOWN = 0,
	TRACE_TYPE_DFTRACER = 1,
	TRACE_TYPE_C_APP = 2,
	TRACE_TYPE_LIBC_IO = 3,
	TRACE_TYPE_HIP = 4,
	TRACE_TYPE_HDF5 = 5,
	TRACE_TYPE_PYTHON = 6,
	TRACE_TYPE_PSUTIL = 7,
	TRACE_TYPE_FINSTRUMENT = 8,
	TRACE_TYPE_CPP_APP = 9,
	TRACE_TYPE_MPI = 10,
	TRACE_TYPE_PAPI = 11,
	TRACE_TYPE_OMNISTAT = 12,
	TRACE_TYPE_VARIORUM = 13,
	TRACE_TYPE_CUDA = 14
};
#endif

static inline int dft_relation_is_event(EntityRelation relation)
{
	return DFT_CAST(unsigned int, relation) < 16;
}

static inline const char *dft_relation_name(EntityRelation relation)
{
	switch (DFT_CAST(int, relation)) {
	case DFT_REL_USED:
		return "used";
	case DFT_REL_GENERATED:
		return "generated";
	case DFT_REL_INVALIDATED:
		return "invalidated";
	case DFT_REL_UPDATED:
		return "updated";
	case DFT_REL_DERIVED_FROM:
		return "derived_from";
	case DFT_REL_REVISION_OF:
		return "revision_of";
	case DFT_REL_CONTAINS:
		return "contains";
	case DFT_REL_PART_OF:
		return "part_of";
	case DFT_REL_SPECIALIZATION_OF:
		return "specialization_of";
	case DFT_REL_ALTERNATE_OF:
		return "alternate_of";
	case DFT_REL_DEPENDS_ON:
		return "depends_on";
	default:
		return "related";
	}
}

/* Ranges of ASCII, not isalnum(): that depends on the locale, and an id must not. */
static inline int dft_entity_safe_char(char c)
{
	const char *mark = " _-.:/@+=,~";

	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return 1;
	while (*mark && *mark != c)
		mark++;
	return *mark != 0;
}

/* Copies as much of src as fits into cap bytes, everything that is not safe as '_'. */
static inline void dft_entity_sanitize(char *dst, size_t cap, const char *src)
{
	size_t n;

	if (!dst || !cap)
		return;
	for (n = 0; src && src[n] && n < cap - 1; n++) {
		dst[n] = src[n];
		if (!dft_entity_safe_char(src[n]))
			dst[n] = '_';
	}
	dst[n] = 0;
}

static inline uint64_t dft_entity_fnv(uint64_t hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ DFT_CAST(unsigned char, *s)) * 1099511628211u;
	return hash;
}

/*
 * FNV-1a of the type as it is given, a separator and the key. The offset basis is the one of the
 * DFTracer format, not that of the textbook. 0 means no entity, so no entity has it.
 */
static inline EntityID dft_entity_hash(ConstEntityTypeName type, ConstEntityKey key)
{
	uint64_t hash;

	if (!type || !key)
		return DFT_ENTITY_NONE;
	hash = dft_entity_fnv(1469598103934665603u, type);
	hash = dft_entity_fnv(hash, "\x1f");
	hash = dft_entity_fnv(hash, key);
	return hash ? hash : 1;
}

/* The id as the trace has it: 16 digits. */
static inline void dft_entity_hex(EntityID id, char out[DFT_ENTITY_HEX_LEN])
{
	int i;

	for (i = 15; i >= 0; i--, id >>= 4)
		out[i] = "0123456789abcdef"[id & 15];
	out[16] = 0;
}

/* The id of an entity: that of its sanitized type and its key. NULL for either: no entity. */
static inline EntityID dft_entity_id(ConstEntityTypeName type, ConstEntityKey key)
{
	char safe[DFT_ENTITY_TYPE_LEN];

	if (!type || !key)
		return DFT_ENTITY_NONE;
	dft_entity_sanitize(safe, sizeof(safe), type);
	return dft_entity_hash(safe, key);
}

#endif
