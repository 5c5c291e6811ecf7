// SPDX-License-Identifier: MIT
/*
 * Regions in all the ways in which a C++ program enters and leaves them, said by region_log.h.
 *
 *   region_shapes_cpp SHAPE...
 */
#include "region_log.h"

#include <memory>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(97);
}

/* What stands before and after a region in its scope. */
struct after {
	struct rl *r;
	explicit after(const char *name) : r(rl_opening(name)) {}
	~after() { rl_closed(r); }
};

struct before {
	struct rl *r;
	explicit before(const after &a) : r(rl_opened(a.r)) {}
	~before() { rl_closing(r); }
};

#define REGION(name)                                                                               \
	after after_##name(#name);                                                                 \
	DFTRACER_CPP_REGION(name)                                                                  \
	before before_##name(after_##name);                                                        \
	DFTRACER_CPP_REGION_UPDATE(name, "id", static_cast<int>(after_##name.r->id))

#define FUNCTION()                                                                                 \
	after after_fn(__func__);                                                                  \
	DFTRACER_CPP_FUNCTION()                                                                    \
	before before_fn(after_fn);                                                                \
	DFTRACER_CPP_FUNCTION_UPDATE("id", static_cast<int>(after_fn.r->id))

#define REGION_START(name)                                                                         \
	struct rl *r_##name = rl_opening(#name);                                                   \
	DFTRACER_CPP_REGION_START(name)                                                            \
	rl_opened(r_##name);                                                                       \
	DFTRACER_CPP_REGION_DYN_UPDATE(name, "id", static_cast<int>(r_##name->id))

#define REGION_END(name)                                                                           \
	do {                                                                                       \
		rl_closing(r_##name);                                                              \
		DFTRACER_CPP_REGION_END(name)                                                      \
		rl_closed(r_##name);                                                               \
	} while (0)

static std::string pad(const struct rl *r, int n)
{
	std::string text;

	for (int i = 0; i < n; i++)
		text += static_cast<char>('a' + (i + r->id) % 26);
	rl_say(("pad:" + std::to_string(r->id)).c_str(), n);
	return text;
}

struct boom {
	int level;
};

/* ---- nesting ------------------------------------------------------------------------------- */

static int nest(int depth)
{
	FUNCTION();
	profiler_dft_fn.update("pad", pad(after_fn.r, 250 * depth).c_str());
	if (!depth)
		return 0;
	REGION(around);
	auto lambda = [depth] {
		FUNCTION();
		return nest(depth - 1);
	};
	return lambda();
}

static void nested()
{
	FUNCTION();
	for (int i = 0; i < 5; i++) {
		REGION(turn);
		if (i == 3)
			continue;
		nest(i + 1);
		if (i == 4)
			return;
	}
}

/* ---- exceptions ---------------------------------------------------------------------------- */

struct throws_in_constructor {
	after a;
	DFTracer region;
	before b;
	explicit throws_in_constructor(int n)
		: a("member"), region("member", CPP_LOG_CATEGORY), b(a)
	{
		region.update("id", static_cast<int>(a.r->id));
		if (n)
			throw boom{ n };
	}
};

static void thrower(int depth, int level)
{
	FUNCTION();
	profiler_dft_fn.update("pad", pad(after_fn.r, 400 * depth).c_str());
	REGION(inner);
	if (depth < 0)
		return; /* never: for the compiler, which warns of a recursion without end */
	if (!depth) {
		throws_in_constructor good(0);
		throws_in_constructor bad(level);
	}
	thrower(depth - 1, level);
}

static void rethrower(int level)
{
	FUNCTION();
	try {
		REGION(in_try);
		thrower(4, level);
	} catch (const boom &b) {
		REGION(in_catch);
		if (b.level > 1)
			throw;
	}
	REGION(after_catch);
}

static void exceptions()
{
	FUNCTION();
	for (int level = 1; level < 4; level++) {
		try {
			rethrower(level);
		} catch (const boom &) {
			REGION(caught_outside);
		}
	}
	try {
		REGION(out_of_library);
		(void)std::string("x").at(7);
	} catch (const std::out_of_range &) {
		REGION(caught_range);
	}
	/* A region that is closed while another exception is on its way. */
	struct cleanup {
		~cleanup() { nest(1); }
	};
	try {
		cleanup c;
		throw boom{ 0 };
	} catch (const boom &) {
		REGION(caught_cleanup);
	}
}

/* ---- regions that do not end with a scope -------------------------------------------------- */

static void dynamic()
{
	FUNCTION();
	REGION_START(first);
	DFTRACER_CPP_REGION_DYN_UPDATE(first, "pad", pad(r_first, 1500).c_str());
	{
		REGION_START(second);
		nest(1);
		REGION_START(third);
		REGION_END(third);
		REGION_END(second);
	}
	REGION_END(first);
	/* Never deleted. */
	REGION_START(leaked);
	DFTRACER_CPP_REGION_DYN_UPDATE(leaked, "pad", pad(r_leaked, 1500).c_str());
	rl_top = r_leaked->parent;
	/* Opened here and closed there. */
	REGION_START(handed_over);
	struct rl_handle h = { r_handed_over, nullptr };
	rl_hand_over(h);
	std::thread other([&] {
		rl_sync();
		rl_take_over(h);
		nest(1);
		REGION_END(handed_over);
	});
	other.join();
	rl_sync();
}

/* ---- the class as a value ------------------------------------------------------------------ */

struct moving {
	struct rl *r;
	DFTracer region;
	moving(struct rl *r_, DFTracer &&from) : r(r_), region(std::move(from)) {}
};

static struct rl *opening;

static DFTracer make(const char *name)
{
	opening = rl_opening(name);
	DFTracer made(name, CPP_LOG_CATEGORY);
	rl_opened(opening);
	made.update("id", static_cast<int>(opening->id));
	return made;
}

static void values()
{
	FUNCTION();
	{
		/* As the macros of older headers declare it. */
		after a("by_assignment");
		DFTracer x = DFTracer("by_assignment", CPP_LOG_CATEGORY, 0);
		before b(a);
		x.update("id", static_cast<int>(a.r->id));
	}
	{
		/* Closed by hand first: the scope's end tells nothing. */
		after a("finalized");
		DFTracer x("finalized", CPP_LOG_CATEGORY);
		before b(a);
		x.update("id", static_cast<int>(a.r->id));
		rl_closing(a.r);
		x.finalize();
		rl_closed(a.r);
		x.finalize();
		x.update("late", 1);
	}
	/* In a vector that grows: moved again and again, and told once. */
	std::vector<moving> all;
	for (int i = 0; i < 9; i++) {
		DFTracer made = make("in_vector");
		made.update("pad", pad(opening, 170 * i).c_str());
		all.emplace_back(opening, std::move(made));
		must(all.back().r == opening, "vector");
	}
	while (!all.empty()) {
		struct rl *r = all.back().r;
		rl_closing(r);
		all.pop_back();
		rl_closed(r);
	}
	/* A copy has no region, and can be given one. */
	DFTracer original = make("copied");
	struct rl *r = opening;
	DFTracer copy = original;
	copy.update("by_copy", 1);
	original.update("pad", pad(r, 500).c_str());
	rl_closing(r);
	original.finalize();
	rl_closed(r);
	original = make("moved");
	r = opening;
	original.update("pad", pad(r, 300).c_str());
	copy = std::move(original);
	original.update("by_original", 1);
	original.finalize();
	rl_closing(r);
	copy.finalize();
	rl_closed(r);
	/* In what the library makes. */
	std::optional<DFTracer> maybe;
	r = rl_opening("in_optional");
	maybe.emplace("in_optional", CPP_LOG_CATEGORY);
	rl_opened(r);
	maybe->update("id", static_cast<int>(r->id));
	rl_closing(r);
	maybe.reset();
	rl_closed(r);
	r = rl_opening("in_unique_ptr");
	std::unique_ptr<DFTracer> owned(new DFTracer("in_unique_ptr", CPP_LOG_CATEGORY));
	rl_opened(r);
	owned->update("id", static_cast<int>(r->id));
	rl_closing(r);
	owned.reset();
	rl_closed(r);
}

/* ---- ends of threads and of the process ---------------------------------------------------- */

static void *leaves(void *)
{
	FUNCTION();
	REGION(inner);
	profiler_inner.update("pad", pad(after_inner.r, 1111).c_str());
	pthread_exit(nullptr);
}

static void threads()
{
	for (int i = 0; i < 4; i++) {
		pthread_t thread;
		must(!pthread_create(&thread, nullptr, leaves, nullptr), "thread");
		must(!pthread_join(thread, nullptr), "join");
	}
	std::vector<std::thread> all;
	for (int i = 0; i < 8; i++)
		all.emplace_back([] {
			nested();
			exceptions();
		});
	for (auto &t : all)
		t.join();
	rl_sync();
}

static void forks()
{
	FUNCTION();
	REGION(around);
	REGION_START(dynamic);
	pid_t pid = fork();
	must(pid >= 0, "fork");
	rl_sync();
	if (!pid) {
		try {
			REGION(in_child);
			throw boom{ 0 };
		} catch (const boom &) {
			REGION_END(dynamic);
			nest(1);
			return; /* through the regions of the parent */
		}
	}
	int status;
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "wait");
	rl_sync();
	REGION_END(dynamic);
}

/* Closed after main() has returned. */
struct at_exit {
	std::unique_ptr<after> a;
	std::unique_ptr<DFTracer> region;
	std::unique_ptr<before> b;
	void open()
	{
		a.reset(new after("until_exit"));
		region.reset(new DFTracer("until_exit", CPP_LOG_CATEGORY));
		b.reset(new before(*a));
		region->update("id", static_cast<int>(a->r->id));
	}
};
static at_exit end_of_process;

static void statics()
{
	end_of_process.open();
}

static const struct {
	const char *name;
	void (*run)();
} shapes[] = {
	{ "nested", nested }, { "exceptions", exceptions }, { "dynamic", dynamic },
	{ "values", values }, { "threads", threads },	    { "forks", forks },
	{ "statics", statics },
};

int main(int argc, char **argv)
{
	DFTRACER_CPP_INIT(nullptr, nullptr, nullptr);
	for (int i = 1; i < argc; i++) {
		bool found = false;

		for (const auto &shape : shapes) {
			if (strcmp(argv[i], shape.name))
				continue;
			found = true;
			shape.run();
		}
		must(found, argv[i]);
	}
	return 0;
}
