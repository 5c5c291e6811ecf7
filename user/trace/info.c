// SPDX-License-Identifier: MIT
#include "info.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "config.h"
#include "json.h"
#include "log.h"
#include "version.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

static const struct {
	const char *name;
	int number;
	const char *use;
} caps[] = {
	{ "CAP_BPF", CAP_BPF, "load the programs" },
	{ "CAP_PERFMON", CAP_PERFMON, "let them read kernel memory" },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, "read /proc of other users' processes" },
	{ "CAP_SETUID", CAP_SETUID, "run CMD and write files as another user" },
	{ "CAP_SETGID", CAP_SETGID, "the same, for groups" },
	{ "CAP_SYS_ADMIN", CAP_SYS_ADMIN, "stands in for the first two" },
};

static bool has_cap(const struct dft_facts *facts, int cap)
{
	return facts->caps >> cap & 1;
}

static void print_number(const char *label, int v)
{
	if (v == DFT_FACT_UNKNOWN)
		printf("%-20s unknown\n", label);
	else
		printf("%-20s %d\n", label, v);
}

/* Everything else has a fallback or is for what comes on top. */
static bool is_required(const struct dft_feature *feature)
{
	static const char *const names[] = { "tp_btf", "iter_task", "task_storage", "ringbuf" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(feature->name, names[i]))
			return true;
	return false;
}

/* The first required feature that is not there, or NULL. */
static const struct dft_feature *missing_feature(const struct dft_info *info)
{
	for (size_t i = 0; i < info->nfeatures; i++)
		if (is_required(&info->features[i]) && !info->features[i].ok)
			return &info->features[i];
	return NULL;
}

static int print_text(const struct dft_info *info)
{
	const struct dft_facts *facts = &info->facts;
	const struct dft_feature *missing;

	printf("%-20s %s\n", "dftrace-bpf", DFT_VERSION);
	printf("%-20s %s\n", "libbpf", info->libbpf);
	printf("%-20s %s\n", "kernel", facts->release);
	printf("%-20s %u%s\n", "uid", geteuid(), facts->userns ? " (in a user namespace)" :
							facts->pidns  ? " (in a pid namespace)" : "");
	printf("%-20s %s\n", "type information",
	       facts->btf ? "yes" : "no readable /sys/kernel/btf/vmlinux");
	printf("%-20s %s\n", "lockdown", dft_lockdown_name(facts->lockdown));
	print_number("perf_event_paranoid", facts->perf_paranoid);
	print_number("kptr_restrict", info->kptr_restrict);
	puts("\ncapabilities");
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		printf("  %-18s %-4s %s\n", caps[i].name,
		       has_cap(facts, caps[i].number) ? "yes" : "no", caps[i].use);
	puts("\nfeatures, each tried");
	for (size_t i = 0; i < info->nfeatures; i++) {
		const struct dft_feature *f = &info->features[i];

		printf("  %-18s %s%s%s\n", f->name, f->ok ? "yes" : "no   ", f->ok ? "" : f->why,
		       is_required(f) ? " (required)" : "");
	}
	missing = missing_feature(info);
	if (facts->pidns)
		puts("\ntracing is NOT possible: this is a pid namespace of its own (run it on the host)");
	else if (missing)
		printf("\ntracing is NOT possible: %s: %s\n", missing->name, missing->why);
	else
		puts("\ntracing is possible");
	return DFT_EXIT_OK;
}

static void json_number(struct dft_json *json, const char *key, int v)
{
	if (v != DFT_FACT_UNKNOWN)
		dft_json_i64(json, key, v);
}

static void json_features(struct dft_json *json, const struct dft_info *info)
{
	dft_json_object(json, "features");
	for (size_t i = 0; i < info->nfeatures; i++) {
		const struct dft_feature *f = &info->features[i];

		dft_json_object(json, f->name);
		dft_json_bool(json, "ok", f->ok);
		if (!f->ok)
			dft_json_cstr(json, "why", f->why);
		dft_json_object_end(json);
	}
	dft_json_object_end(json);
}

static int print_json(const struct dft_info *info)
{
	const struct dft_facts *facts = &info->facts;
	struct dft_buf buf = DFT_BUF_INIT;
	struct dft_json json = { .buf = &buf };
	int status = DFT_EXIT_OK;

	dft_json_object(&json, NULL);
	dft_json_cstr(&json, "version", DFT_VERSION);
	dft_json_cstr(&json, "kernel", facts->release);
	dft_json_bool(&json, "can_trace", !missing_feature(info) && !facts->pidns);
	dft_json_cstr(&json, "libbpf", info->libbpf);
	dft_json_u64(&json, "uid", geteuid());
	dft_json_bool(&json, "userns", facts->userns);
	dft_json_bool(&json, "pidns", facts->pidns);
	dft_json_object(&json, "caps");
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		dft_json_bool(&json, caps[i].name, has_cap(facts, caps[i].number));
	dft_json_object_end(&json);
	dft_json_bool(&json, "btf", facts->btf);
	dft_json_cstr(&json, "lockdown", dft_lockdown_name(facts->lockdown));
	json_number(&json, "perf_event_paranoid", facts->perf_paranoid);
	json_number(&json, "kptr_restrict", info->kptr_restrict);
	json_features(&json, info);
	dft_json_object_end(&json);
	dft_buf_putc(&buf, '\n');
	if (buf.failed) {
		dft_error("--info: out of memory (free some memory)");
		status = DFT_EXIT_OUTPUT;
	} else if (fwrite(buf.data, 1, buf.len, stdout) != buf.len) {
		status = DFT_EXIT_OUTPUT; /* main() says so when it flushes */
	}
	dft_buf_free(&buf);
	return status;
}

int dft_info_print(const struct dft_info *info, bool json)
{
	return json ? print_json(info) : print_text(info);
}
