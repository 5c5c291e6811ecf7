// SPDX-License-Identifier: MIT
/*
 * A file as it would be written for DFTracer, with every macro and member of its C++ interface, with
 * and without semicolons.
 */
#include <dftracer/dftracer.h>

#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

extern "C" void every_run(void);

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
	std::printf("id %s %s\n", what, hex);
}

static void vectors()
{
	static char many[5001];

	for (int i = 0; i < 5000; i++)
		many[i] = 'b';
	print_id("1", DFTRACER_CPP_ENTITY("protein_structure", "MGYP0001", DFT_STORE_MEMORY, nullptr));
	print_id("2", DFTRACER_CPP_ENTITY("sequence", "MGYP0001", DFT_STORE_LOCAL_DISK, "/d/s.fa"));
	print_id("3", dftracer_declare_entity("structure_tar", "MGYP0001", DFT_STORE_OTHER, ""));
	print_id("4", dftracer_declare_entity("file", "/data/a.bin", DFT_STORE_PARALLEL_FS,
					      "/data/a.bin"));
	print_id("5", dftracer_declare_entity("checkpoint", "step=120", DFT_STORE_NETWORK, nullptr));
	print_id("6", dftracer_declare_entity("", "", DFT_STORE_MEMORY, nullptr));
	print_id("7", dftracer_declare_entity("a", many, DFT_STORE_DATABASE, nullptr));
	print_id("no type", dftracer_declare_entity(nullptr, "k", DFT_STORE_MEMORY, nullptr));
	print_id("no key", dftracer_declare_entity("t", nullptr, DFT_STORE_MEMORY, nullptr));
}

static void thrower(int depth)
{
	DFTRACER_CPP_FUNCTION();
	DFTRACER_CPP_FUNCTION_UPDATE("depth", depth);
	if (!depth)
		throw std::runtime_error("bottom");
	thrower(depth - 1);
	DFTRACER_CPP_FUNCTION_UPDATE("never", 1);
}

static void in_function()
{
	DFTRACER_CPP_FUNCTION()
	EntityID id = DFTRACER_CPP_ENTITY("mesh", "m1", DFT_STORE_GPU_MEMORY, "gpu:0");

	DFTRACER_CPP_FUNCTION_UPDATE("int", -7)
	DFTRACER_CPP_FUNCTION_UPDATE("str", "a \"quoted\" \\ | one");
	DFTRACER_CPP_FUNCTION_UPDATE_TYPE("int_type", 2147483647, MT_VALUE);
	DFTRACER_CPP_FUNCTION_UPDATE_TYPE("str_type", "", MetadataType::MT_IGNORE)
	DFTRACER_CPP_FUNCTION_RELATE(DFT_REL_UPDATED, id);
	DFTRACER_CPP_FUNCTION_USES("file", "/data/a.bin");
	DFTRACER_CPP_FUNCTION_GENERATES("checkpoint", "step=120")
	for (int i = 0; i < 2; i++) {
		DFTRACER_CPP_REGION(STEP);
		DFTRACER_CPP_REGION_UPDATE(STEP, "i", i);
		DFTRACER_CPP_REGION_UPDATE(STEP, "s", "x")
		DFTRACER_CPP_REGION_UPDATE_TYPE(STEP, "it", i, MT_VALUE)
		DFTRACER_CPP_REGION_RELATE(STEP, DFT_REL_INVALIDATED, id)
		DFTRACER_CPP_REGION_RELATE(STEP, DFT_REL_CONTAINS, id);
		DFTRACER_CPP_REGION_START(DYN);
		DFTRACER_CPP_REGION_DYN_UPDATE(DYN, "i", i);
		DFTRACER_CPP_REGION_DYN_UPDATE_TYPE(DYN, "s", "z", MT_VALUE)
		DFTRACER_CPP_REGION_DYN_RELATE(DYN, DFT_REL_USED, id);
		DFTRACER_CPP_REGION_END(DYN);
		if (i == 1)
			continue;
		profiler_STEP.finalize();
		profiler_STEP.update("too", "late");
	}
}

class Step : public DFTracer
{
      public:
	explicit Step(const char *name) : DFTracer(name, "PROV"), counter(1)
	{
	}
	int counter;
};

static DFTracer made(const char *name)
{
	DFTracer region(name, "PROV", DF_DATA_EVENT);

	region.update("made", 1);
	return region;
}

static void objects()
{
	DFTracer first = DFTracer("first", "PROV", 0);
	DFTracer second(std::move(first));
	DFTracer copy(second);
	DFTracer assigned("assigned", "PROV", DF_DATA_EVENT, TRACE_TYPE_C_APP);
	DFTracer *moved_out = new DFTracer("moved out", "PROV");
	std::unique_ptr<DFTracer> owned(new (std::nothrow) DFTracer("owned", "PROV"));
	alignas(DFTracer) unsigned char room[sizeof(DFTracer)];
	DFTracer *placed = new (room) DFTracer("placed", "PROV", 0,
					       TraceEventType::TRACE_TYPE_PYTHON);
	Step *step = new Step("step");

	first.update("moved", "away");
	copy.update("only", "a copy");
	second.update("i", 1);
	second.relate(DFT_REL_USED, 5);
	assigned = made("made");
	assigned.update("after", 2, MT_VALUE);
	{
		DFTracer taken(std::move(*moved_out));
		taken.update("i", 3);
	}
	delete moved_out;
	print_id("relate", owned->relate(DFT_REL_DERIVED_FROM, "sequence", "MGYP0001"));
	print_id("uses", owned->uses("sequence", "MGYP0001", DFT_STORE_LOCAL_DISK, "/d/s.fa"));
	print_id("generates", owned->generates("protein_structure", "MGYP0001"));
	placed->~DFTracer();
	step->counter++;
	step->update("counter", step->counter);
	delete step;
}

static void entities()
{
	DFTRACER_CPP_ENTITY_TYPE("mesh", DFT_ROLE_INTERMEDIATE, "made of (x|y)\n");
	DFTRACER_CPP_ENTITY_TYPE("file", DFT_ROLE_INPUT, nullptr)
	DFTRACER_CPP_ENTITY_RELATE(DFT_REL_DERIVED_FROM, 1, 2);
	DFTRACER_CPP_ENTITY_RELATE(DFT_REL_USED, 1, 2)
}

static void branches(bool yes)
{
	DFTRACER_CPP_FUNCTION();
	if (yes)
		DFTRACER_CPP_FUNCTION_UPDATE("counted", count_evaluation(5))
	if (!yes)
		DFTRACER_CPP_FUNCTION_UPDATE("never", count_evaluation(6));
}

extern "C" void every_run(void)
{
	DFTRACER_CPP_INIT("log", "all", nullptr);
	DFTRACER_CPP_INIT_NO_BIND(nullptr, nullptr, nullptr)
	DFTRACER_CPP_APP_METADATA_INT("ranks", 4);
	DFTRACER_CPP_APP_METADATA_STR("model", "m\"1\"")
	DFTRACER_CPP_MARK_USED("GPU");
	DFTRACER_CPP_METADATA(meta, "epochs", "12");
	vectors();
	try {
		thrower(2);
	} catch (const std::runtime_error &) {
	}
	in_function();
	objects();
	entities();
	evaluated = 0;
	branches(true);
	std::printf("evaluated %d\n", evaluated);
	std::printf("categories %s %s\n", C_LOG_CATEGORY, CPP_LOG_CATEGORY);
	DFTRACER_CPP_FINI();
}
