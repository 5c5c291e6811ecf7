// SPDX-License-Identifier: MIT
/*
 * The object that `new DFTracer` returns while nobody listens: one for all, never written to, also
 * when somebody begins to listen at the worst moment. Exit status 0: all is well.
 */
#include "alone.h"

#include <dftracer/dftracer.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

/* The program is linked with --wrap=malloc. */
extern "C" void *__real_malloc(std::size_t size);
extern "C" void *__wrap_malloc(std::size_t size);

static int allocations;
static bool no_memory;

extern "C" void *__wrap_malloc(std::size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return no_memory ? nullptr : __real_malloc(size);
}

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);            \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

/* As the kernel would, whose writes no sanitizer sees. */
static const char *listeners(unsigned short n, const char *name)
{
	__asm__ __volatile__("movw %1, %0" : "=m"(dftracer_event_semaphore) : "r"(n));
	return name;
}

static bool untouched()
{
	static const unsigned char zero[512] = {};

	return !std::memcmp(dft_idle<DFTracer>::shared.bytes, zero, sizeof(zero)) &&
	       !dft_idle<DFTracer>::shared.head.allocated;
}

static void use(DFTracer *d)
{
	d->update("i", 1);
	d->update("s", "v");
	d->relate(DFT_REL_USED, 1);
	d->finalize();
}

static void nobody_listens()
{
	DFTracer *a = new DFTracer("a", "c");
	DFTracer *b = new (std::nothrow) DFTracer("b", "c");

	CHECK(a == b);
	use(a);
	delete a;
	delete b;
	delete static_cast<DFTracer *>(nullptr);
	CHECK(allocations == 0);
	CHECK(untouched());
}

/* From C++17 on the arguments are evaluated between the allocation and the constructor. */
static void they_come_in_between()
{
	DFTracer *d = new DFTracer(listeners(1, "flip"), "c");

	use(d);
	delete d;
	CHECK(untouched());
	listeners(0, "");
}

static void they_come_after()
{
	DFTracer *d = new DFTracer("early", "c");

	listeners(1, "");
	use(d);
	*d = DFTracer("assigned", "c");
	CHECK(untouched());
	delete d;
	listeners(0, "");
}

static void they_leave_in_between()
{
	int before = allocations;
	DFTracer *d;

	listeners(1, "");
	d = new DFTracer(listeners(0, "gone"), "c");
	use(d);
	delete d;
#if __cplusplus >= 201703L
	CHECK(allocations == before + 1);
#endif
	(void)before;
	CHECK(untouched());
}

static void memory_runs_out()
{
	DFTracer *d;

	listeners(1, "");
	no_memory = true;
	d = new DFTracer("poor", "c");
	no_memory = false;
	use(d);
	delete d;
	CHECK(untouched());
	listeners(0, "");
}

static void many_threads()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([i] {
			for (int n = 0; n < 20000; n++) {
				DFTracer *d = new DFTracer("t", "c");

				if (i == 0)
					listeners(n % 2, "");
				use(d);
				delete d;
			}
		});
	for (std::thread &t : threads)
		t.join();
	listeners(0, "");
	CHECK(untouched());
}

int main()
{
	want_to_be_alone();
	nobody_listens();
	they_come_in_between();
	they_come_after();
	they_leave_in_between();
	memory_runs_out();
	many_threads();
	return 0;
}
