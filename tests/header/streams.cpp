// SPDX-License-Identifier: MIT
/*
 * Regions with random names and random things told about them, and the truth about each on stdout:
 *
 *	streams SEED COUNT THREADS [deaf]
 *
 * "deaf" has the semaphores up but no breakpoints, which sanitizers get along with.
 */
#include <dftracer/dftracer.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "listen.h"

namespace
{
struct Worker {
	std::mt19937 random;
	std::string truth;
	int tid = 0;

	unsigned below(unsigned n)
	{
		return static_cast<unsigned>(random() % n);
	}

	/* Of all lengths, and often close to where something is cut. */
	std::string string(unsigned most)
	{
		static const unsigned edges[] = { 0, 1, 127, 128, 129, 255, 256, 257, 443, 444, 445 };
		unsigned n = below(2) ? edges[below(11)] : below(most);
		std::string s;

		for (unsigned i = 0; i < n; i++)
			s += static_cast<char>(1 + below(255));
		return s;
	}

	void say(const std::string &s)
	{
		static const char digits[] = "0123456789abcdef";

		truth += " +";
		for (unsigned char c : s) {
			truth += digits[c >> 4];
			truth += digits[c & 15];
		}
	}

	void say(long long n)
	{
		truth += " " + std::to_string(n);
	}
};

void tell(Worker &w, DFTracer &d, MetadataType mt)
{
	std::string key = w.string(40), value = w.string(5000);
	EntityID id = w.random();
	int number = static_cast<int>(w.random());

	switch (w.below(3)) {
	case 0:
		d.update(key.c_str(), number, mt);
		w.truth += " int";
		w.say(mt);
		w.say(key);
		w.say(number);
		break;
	case 1:
		d.update(key.c_str(), value.c_str(), mt);
		w.truth += " str";
		w.say(mt);
		w.say(key);
		w.say(value);
		break;
	default:
		d.relate(DFT_REL_UPDATED, id);
		w.truth += " rel";
		w.say(DFT_REL_UPDATED);
		w.say(static_cast<long long>(id));
	}
}

void tell(Worker &w, struct DFTracerData *d, int mt)
{
	std::string key = w.string(40), value = w.string(5000);
	int number = static_cast<int>(w.random());

	if (w.below(2)) {
		update_metadata_int_type(d, key.c_str(), number, mt);
		w.truth += " int";
		w.say(mt);
		w.say(key);
		w.say(number);
	} else {
		update_metadata_string_type(d, key.c_str(), value.c_str(), mt);
		w.truth += " str";
		w.say(mt);
		w.say(key);
		w.say(value);
	}
}

void begin(Worker &w, const std::string &name, const std::string &cat, int code)
{
	w.truth += "truth " + std::to_string(w.tid) + " event";
	w.say(name);
	w.say(cat);
	w.say(code);
}

void one_object(Worker &w)
{
	std::string name = w.string(600), cat = w.string(600);
	DFTracer d(name.c_str(), cat.c_str());

	begin(w, name, cat, 9);
	for (unsigned n = w.below(6); n; n--)
		tell(w, d, static_cast<MetadataType>(w.below(3)));
	w.truth += "\n";
}

void one_handle(Worker &w)
{
	std::string name = w.string(600), cat = w.string(600);
	struct DFTracerData *d = initialize_region(name.c_str(), cat.c_str(), DF_DATA_EVENT);

	begin(w, name, cat, 2);
	name.assign(name.size(), '!'); /* it has its own copy */
	cat.assign(cat.size(), '!');
	for (unsigned n = w.below(6); n; n--)
		tell(w, d, static_cast<int>(w.below(3)));
	w.truth += "\n";
	finalize_region(d);
}

void one_metadata(Worker &w)
{
	std::string key = w.string(600), value = w.string(5000);

	if (w.below(2))
		DFTRACER_CPP_METADATA(m, key.c_str(), value.c_str())
	else
		set_app_metadata_string(key.c_str(), value.c_str());
	w.truth += "truth " + std::to_string(w.tid) + " metadata";
	w.say(key);
	w.say(value);
	w.truth += "\n";
}

void work(Worker &w, int count)
{
	w.tid = static_cast<int>(syscall(SYS_gettid));
	for (int i = 0; i < count; i++) {
		switch (w.below(3)) {
		case 0:
			one_object(w);
			break;
		case 1:
			one_handle(w);
			break;
		default:
			one_metadata(w);
		}
	}
}
}

int main(int argc, char **argv)
{
	bool deaf = argc > 4 && !std::strcmp(argv[4], "deaf");
	unsigned seed = static_cast<unsigned>(std::atoi(argv[1]));
	int count = std::atoi(argv[2]);
	std::vector<Worker> workers(static_cast<std::size_t>(std::atoi(argv[3])));
	std::vector<std::thread> threads;

	if (deaf)
		dftracer_event_semaphore = dftracer_part_semaphore = dftracer_metadata_semaphore = 1;
	else
		listen_begin();
	for (Worker &w : workers) {
		w.random.seed(seed++);
		threads.emplace_back([&w, count] { work(w, count); });
	}
	for (std::thread &t : threads)
		t.join();
	if (!deaf)
		listen_end();
	for (Worker &w : workers)
		std::fwrite(w.truth.data(), 1, w.truth.size(), stdout);
	listen_print();
	return 0;
}
