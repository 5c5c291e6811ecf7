/* SPDX-License-Identifier: MIT */
/*
 * class DFTracer: a region that ends with its scope, or with delete. dftracer.h includes this file.
 *
 * All members are hidden: every library has its own, which belong to one version of this header and
 * to the library's own idle object.
 */
#ifndef DFTRACER_CPP_H
#define DFTRACER_CPP_H

#include <cstddef>
#include <new>

#include <dftracer/functions.h>

#define DFT_HIDDEN __attribute__((visibility("hidden")))

class DFTracer;

/* Stands before every object made by new, and says where its memory comes from. */
struct alignas(16) dft_object_head {
	bool allocated;
};

/*
 * What new returns while nobody listens. No constructor, destructor or member writes to it, so all
 * threads may have it at the same time. (A template, because all files of a program have one.)
 */
template <typename object> struct DFT_HIDDEN dft_idle {
	struct memory {
		dft_object_head head;
		alignas(16) unsigned char bytes[512];
	};
	static memory shared;
};
template <typename object> typename dft_idle<object>::memory dft_idle<object>::shared = {};

static inline __attribute__((cold)) void *dft_object_allocate(std::size_t size)
{
	void *memory = malloc(sizeof(dft_object_head) + size);

	if (!memory)
		return nullptr;
	static_cast<dft_object_head *>(memory)->allocated = true;
	return static_cast<dft_object_head *>(memory) + 1;
}

static inline void dft_object_free(void *object)
{
	dft_object_head *head = static_cast<dft_object_head *>(object) - 1;

	if (head->allocated)
		free(head);
}

class DFTracer
{
      public:
	DFT_HIDDEN DFTracer(ConstEventNameType name, ConstEventNameType cat,
			    int event_type = DF_DATA_EVENT,
			    TraceEventType type = TraceEventType::TRACE_TYPE_CPP_APP)
	{
		if (is_idle()) {
			/*
			 * Nothing is written, but its content counts as written: a compiler may take
			 * that of an object without a constructor's hand for undefined.
			 */
			__asm__ __volatile__("" : : "r"(this) : "memory");
			return;
		}
		dft_region_start(&region, name, cat, event_type, type);
	}

	/* The region goes over to the new object, and goes on from where it was. */
	DFT_HIDDEN DFTracer(DFTracer &&other) noexcept
	{
		region.data.profiler = nullptr;
		take(other);
	}

	/* The region stays with the old one, and is reported once. */
	DFT_HIDDEN DFTracer(const DFTracer &) noexcept
	{
		region.data.profiler = nullptr;
	}

	DFT_HIDDEN DFTracer &operator=(DFTracer &&other) noexcept
	{
		if (this != &other && !is_idle()) {
			finalize();
			take(other);
		}
		return *this;
	}

	DFT_HIDDEN DFTracer &operator=(const DFTracer &other) noexcept
	{
		if (this != &other)
			finalize();
		return *this;
	}

	DFT_HIDDEN ~DFTracer()
	{
		finalize();
	}

	DFT_HIDDEN void finalize() noexcept
	{
		::finalize_region(&region.data);
	}

	DFT_HIDDEN void update(const char *key, int value, MetadataType type = MT_KEY)
	{
		::update_metadata_int_type(&region.data, key, value, type);
	}

	DFT_HIDDEN void update(const char *key, const char *value, MetadataType type = MT_KEY)
	{
		::update_metadata_string_type(&region.data, key, value, type);
	}

	DFT_HIDDEN void relate(EntityRelation relation, EntityID id)
	{
		::update_relation(&region.data, relation, id);
	}

	DFT_HIDDEN EntityID relate(EntityRelation relation, ConstEntityTypeName type,
				   ConstEntityKey key, EntityStore store = DFT_STORE_MEMORY,
				   ConstEntityURI uri = nullptr)
	{
		return ::update_relation_entity(&region.data, relation, type, key, store, uri);
	}

	DFT_HIDDEN EntityID uses(ConstEntityTypeName type, ConstEntityKey key,
				 EntityStore store = DFT_STORE_MEMORY, ConstEntityURI uri = nullptr)
	{
		return relate(DFT_REL_USED, type, key, store, uri);
	}

	DFT_HIDDEN EntityID generates(ConstEntityTypeName type, ConstEntityKey key,
				      EntityStore store = DFT_STORE_MEMORY,
				      ConstEntityURI uri = nullptr)
	{
		return relate(DFT_REL_GENERATED, type, key, store, uri);
	}

	/* Allocates only while somebody listens, or for a class that is more than this one. */
	DFT_HIDDEN static void *operator new(std::size_t size)
	{
		void *memory = nullptr;

		if (size == sizeof(DFTracer)) {
			if (dft_listens(DF_DATA_EVENT) || dft_listens(DF_METADATA_EVENT))
				memory = dft_object_allocate(size);
			return memory ? memory : dft_idle<DFTracer>::shared.bytes;
		}
		memory = dft_object_allocate(size);
		if (!memory)
			return out_of_memory();
		return memory;
	}

	DFT_HIDDEN static void *operator new(std::size_t size, const std::nothrow_t &) noexcept
	{
		return size == sizeof(DFTracer) ? operator new(size) : dft_object_allocate(size);
	}

	DFT_HIDDEN static void *operator new(std::size_t, void *place) noexcept
	{
		return place;
	}

	/* Not inline: a compiler would see access to memory before the object. */
	DFT_HIDDEN __attribute__((noinline)) static void operator delete(void *object) noexcept
	{
		if (object)
			dft_object_free(object);
	}

	DFT_HIDDEN static void operator delete(void *object, const std::nothrow_t &) noexcept
	{
		operator delete(object);
	}

	DFT_HIDDEN static void operator delete(void *, void *) noexcept
	{
	}

      private:
	DFT_HIDDEN bool is_idle() const noexcept
	{
		return static_cast<const void *>(this) == dft_idle<DFTracer>::shared.bytes;
	}

	/* How the global operator new fails, by throwing or as the program has arranged. */
	DFT_HIDDEN static void *out_of_memory()
	{
		return ::operator new(static_cast<std::size_t>(-1) / 2);
	}

	/* This one has no region. The chunk is copied as far as it is filled. */
	DFT_HIDDEN void take(DFTracer &other) noexcept
	{
		struct dft_region *from = dft_live(&other.region.data);

		if (!from)
			return;
		memcpy(static_cast<void *>(&region), from,
		       offsetof(struct dft_region, chunk) + from->len);
		from->data.profiler = nullptr;
		region.data.profiler = &region;
	}

	struct dft_region region;
};

static_assert(sizeof(DFTracer) <= sizeof(dft_idle<DFTracer>::shared.bytes), "DFTracer is small");

#endif
