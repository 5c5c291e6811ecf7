// SPDX-License-Identifier: MIT
/*
 * Tells what a file says, with strings of any bytes.
 *
 *   region_strings FILE
 *
 * FILE is a sequence of operations: a letter and its operands, numbers of 8 bytes in native order,
 * strings as length (or -1: NULL), bytes and a NUL. Strings are handed on where they lie in the file,
 * which is mapped anew for each operation, so that no page of them has been looked at before.
 *
 *   E type key store uri         entity
 *   T type role description      type of entities
 *   L relation subject object    relation of entities
 *   H name cat n ITEM...         region by handle, with n items
 *   S name cat n ITEM...         region of class DFTracer
 *   M key value                  fact about the process, C; N: C++
 *   A key value, a key number    fact for its end
 *   U name                       layer in use
 *   Q type uri id store          entity, and
 *   R type description role      type, both past the header, as they are
 *
 * ITEM: s key value type; i key number type; r relation id; e relation type key store uri
 */
#include <dftracer/dftracer.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base;
static size_t size, at;
static int file;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "region_strings: %s at %zu\n", what, at);
	_exit(97);
}

static int64_t number()
{
	int64_t n;

	must(at + sizeof(n) <= size, "number");
	memcpy(&n, base + at, sizeof(n));
	at += sizeof(n);
	return n;
}

static const char *string()
{
	int64_t n = number();
	const char *s = base + at;

	if (n < 0)
		return nullptr;
	must(static_cast<uint64_t>(n) < size - at && !s[n], "string");
	at += static_cast<size_t>(n) + 1;
	return s;
}

static void map_anew()
{
	if (base)
		must(!munmap(const_cast<char *>(base), size), "munmap");
	void *mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
	must(mapped != MAP_FAILED, "mmap");
	base = static_cast<const char *>(mapped);
}

static void item_of_handle(struct DFTracerData *d)
{
	switch (base[at++]) {
	case 's': {
		const char *key = string(), *value = string();
		int type = static_cast<int>(number());
		if (type)
			update_metadata_string_type(d, key, value, type);
		else
			update_metadata_string(d, key, value);
		break;
	}
	case 'i': {
		const char *key = string();
		int value = static_cast<int>(number()), type = static_cast<int>(number());
		if (type)
			update_metadata_int_type(d, key, value, type);
		else
			update_metadata_int(d, key, value);
		break;
	}
	case 'r': {
		auto relation = static_cast<EntityRelation>(number());
		update_relation(d, relation, static_cast<EntityID>(number()));
		break;
	}
	case 'e': {
		auto relation = static_cast<EntityRelation>(number());
		const char *type = string(), *key = string();
		auto store = static_cast<EntityStore>(number());
		update_relation_entity(d, relation, type, key, store, string());
		break;
	}
	default:
		must(false, "item");
	}
}

static void item_of_object(DFTracer &region)
{
	switch (base[at++]) {
	case 's': {
		const char *key = string(), *value = string();
		region.update(key, value, static_cast<MetadataType>(number()));
		break;
	}
	case 'i': {
		const char *key = string();
		int value = static_cast<int>(number());
		region.update(key, value, static_cast<MetadataType>(number()));
		break;
	}
	case 'r': {
		auto relation = static_cast<EntityRelation>(number());
		region.relate(relation, static_cast<EntityID>(number()));
		break;
	}
	case 'e': {
		auto relation = static_cast<EntityRelation>(number());
		const char *type = string(), *key = string();
		auto store = static_cast<EntityStore>(number());
		region.relate(relation, type, key, store, string());
		break;
	}
	default:
		must(false, "item");
	}
}

static void handle()
{
	const char *name = string(), *cat = string();
	struct DFTracerData *d = initialize_region(name, cat, DF_DATA_EVENT);

	for (int64_t n = number(); n > 0; n--)
		item_of_handle(d);
	finalize_region(d);
}

static void object()
{
	const char *name = string(), *cat = string();
	DFTracer region(name, cat);

	for (int64_t n = number(); n > 0; n--)
		item_of_object(region);
}

static void entity_operation(char letter)
{
	const char *type;

	if (letter == 'E') {
		const char *key;
		type = string();
		key = string();
		auto store = static_cast<EntityStore>(number());
		DFTRACER_CPP_ENTITY(type, key, store, string());
	} else if (letter == 'T') {
		type = string();
		auto role = static_cast<EntityRole>(number());
		DFTRACER_CPP_ENTITY_TYPE(type, role, string());
	} else {
		auto relation = static_cast<EntityRelation>(number());
		auto subject = static_cast<EntityID>(number());
		DFTRACER_CPP_ENTITY_RELATE(relation, subject, static_cast<EntityID>(number()));
	}
}

/* For those who know only of the probes, and check nothing. */
static void probe_operation(char letter)
{
	const char *type = string(), *text = string();
	std::string type_here(type ? type : ""), text_here(text ? text : "");
	auto value = static_cast<EntityID>(number());

	if (letter == 'Q')
		DFTRACER_USDT(dftracer, entity, type ? type_here.c_str() : nullptr,
			      text ? text_here.c_str() : nullptr, value, number(), 0, 0);
	else
		DFTRACER_USDT(dftracer, entity_type, type ? type_here.c_str() : nullptr,
			      text ? text_here.c_str() : nullptr, at, value, 0, 0);
}

static void operation(char letter)
{
	const char *key;

	switch (letter) {
	case 'E':
	case 'T':
	case 'L':
		entity_operation(letter);
		break;
	case 'Q':
	case 'R':
		probe_operation(letter);
		break;
	case 'H':
		handle();
		break;
	case 'S':
		object();
		break;
	case 'M':
		key = string();
		DFTRACER_C_METADATA(fact, key, string());
		break;
	case 'N':
		key = string();
		{
			const char *value = string();
			DFTRACER_CPP_METADATA(fact, key, value);
		}
		break;
	case 'A':
		key = string();
		DFTRACER_CPP_APP_METADATA_STR(key, string());
		break;
	case 'a':
		key = string();
		DFTRACER_C_APP_METADATA_INT(key, static_cast<int>(number()));
		break;
	case 'U':
		DFTRACER_C_MARK_USED(string());
		break;
	default:
		must(false, "operation");
	}
}

int main(int argc, char **argv)
{
	struct stat st;

	must(argc == 2, "FILE");
	file = open(argv[1], O_RDONLY | O_CLOEXEC);
	must(file >= 0 && !fstat(file, &st), "FILE");
	size = static_cast<size_t>(st.st_size);
	while (at < size) {
		map_anew();
		char letter = base[at++];
		operation(letter);
	}
	return 0;
}
