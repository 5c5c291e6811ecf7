// SPDX-License-Identifier: MIT
/*
 * What this kernel and these privileges allow. Every feature is found by doing it once: loading a
 * program of a few instructions, and attaching it where attaching is the question. Nothing stays:
 * each program, map and link goes with its descriptor.
 */
#include "probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "explain.h"
#include "info.h"
#include "log.h"
#include "uprobes.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

#define PATH_BTF      "/sys/kernel/btf/vmlinux"
#define PATH_LOCKDOWN "/sys/kernel/security/lockdown"
#define PATH_LSM      "/sys/kernel/security/lsm"

/* Inode of the first user namespace, PROC_USER_INIT_INO: the same in every kernel. */
#define FIRST_USERNS_INO 0xEFFFFFFDu
#define FIRST_PIDNS_INO	 0xEFFFFFFCu /* PROC_PID_INIT_INO, likewise */

/* Kernel 6.6; the headers we build with may be older. */

/* ---- facts ---- */

/* The first bytes of a small file, NUL-terminated. False when it cannot be read. */
static bool read_small_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

static int read_number(const char *path)
{
	char text[32], *end;
	long v;

	if (!read_small_file(path, text, sizeof(text)))
		return DFT_FACT_UNKNOWN;
	v = strtol(text, &end, 10);
	return end == text ? DFT_FACT_UNKNOWN : (int)v;
}

static uint64_t effective_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static void gather_facts(struct dft_facts *facts)
{
	char text[128];
	struct utsname uts;
	struct stat st;

	memset(facts, 0, sizeof(*facts));
	facts->root = geteuid() == 0;
	facts->userns = stat("/proc/self/ns/user", &st) == 0 && st.st_ino != FIRST_USERNS_INO;
	facts->pidns = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != FIRST_PIDNS_INO;
	facts->caps = effective_caps();
	facts->btf = access(PATH_BTF, R_OK) == 0;
	if (read_small_file(PATH_LOCKDOWN, text, sizeof(text)))
		facts->lockdown = dft_lockdown_parse(text);
	facts->perf_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
	snprintf(facts->release, sizeof(facts->release), "%.64s",
		 uname(&uts) == 0 ? uts.release : "unknown");
}

int dft_probe_preflight(void)
{
	struct dft_facts facts;
	char text[512];
	int err;

	gather_facts(&facts);
	err = dft_explain_preflight(&facts, text, sizeof(text));
	if (err)
		dft_error("%s", text);
	return err;
}

void dft_probe_explain(const char *what, int err)
{
	struct dft_facts facts;
	char text[512];

	gather_facts(&facts);
	dft_explain_failure(&facts, what, err, text, sizeof(text));
	dft_error("%s", text);
}

/* ---- trial loads ---- */

/* The smallest program: return 0. */
static const struct bpf_insn return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

__attribute__((format(printf, 2, 3)))
static void fail(struct dft_feature *out, const char *fmt, ...)
{
	va_list ap;

	out->ok = false;
	va_start(ap, fmt);
	vsnprintf(out->why, sizeof(out->why), fmt, ap);
	va_end(ap);
}

/* What the verifier ended on: the last line of its log that is not its statistics. */
static const char *last_words(char *log)
{
	char *word = NULL;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) != 0)
			word = line;
	return word;
}

static int load(enum bpf_prog_type type, const struct bpf_insn *insns, size_t count,
		struct bpf_prog_load_opts *opts, struct dft_feature *out)
{
	char log[4096] = "";
	const char *said;
	int fd;

	opts->log_buf = log;
	opts->log_size = sizeof(log);
	fd = bpf_prog_load(type, "dft_probe", "Dual MIT/GPL", insns, count, opts);
	if (fd >= 0)
		return fd;
	said = last_words(log);
	fail(out, "load: %s%s%s", strerror(-fd), said ? ": " : "", said ? said : "");
	return fd;
}

/* Attached is all we wanted to know. Any descriptor whose closing undoes it. */
static void finish(struct dft_feature *out, int attached_fd)
{
	if (attached_fd < 0) {
		fail(out, "attach: %s", strerror(-attached_fd));
		return;
	}
	close(attached_fd);
	out->ok = true;
}

/* Sets opts up for what is attached by the kernel's type information. False with a reason. */
static bool find_target(struct bpf_prog_load_opts *opts, const char *target,
			struct dft_feature *out)
{
	int id = libbpf_find_vmlinux_btf_id(target, opts->expected_attach_type);

	if (id > 0) {
		opts->attach_btf_id = (unsigned int)id;
		return true;
	}
	if (access(PATH_BTF, R_OK))
		fail(out, "no kernel type information at %s", PATH_BTF);
	else
		fail(out, "the kernel's type information has no %s", target);
	return false;
}

/* Loads a program that is attached by type id: 0 or above is its descriptor. */
static int load_btf(enum bpf_prog_type type, enum bpf_attach_type attach, const char *target,
		    struct dft_feature *out)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);

	if (!find_target(&opts, target, out))
		return -ENOENT;
	return load(type, return_0, ARRAY_SIZE(return_0), &opts, out);
}

static void try_btf(enum bpf_prog_type type, enum bpf_attach_type attach, const char *target,
		    struct dft_feature *out)
{
	int prog = load_btf(type, attach, target, out);

	if (prog < 0)
		return;
	finish(out, bpf_raw_tracepoint_open(NULL, prog));
	close(prog);
}

static void try_tp_btf(struct dft_feature *out)
{
	try_btf(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "sys_enter", out);
}

/* A function that is there on every kernel, and hardly ever called. */
static void try_fentry(struct dft_feature *out)
{
	try_btf(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "vfs_fsync_range", out);
}

static void try_lsm(struct dft_feature *out)
{
	char modules[512];

	try_btf(BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "settime", out);
	/* It attaches all the same when the module is off, and is never called. */
	if (out->ok && read_small_file(PATH_LSM, modules, sizeof(modules)) &&
	    !strstr(modules, "bpf"))
		fail(out, "security module bpf is not active (boot with lsm=...,bpf)");
}

static void try_uring(struct dft_feature *out)
{
	const char *name = "io_uring_submit_req";

	/* Its name in older kernels. */
	if (libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP) <= 0)
		name = "io_uring_submit_sqe";
	try_btf(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, name, out);
}

static void try_raw_tp(struct dft_feature *out)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, return_0, ARRAY_SIZE(return_0), &opts, out);

	if (prog < 0)
		return;
	finish(out, bpf_raw_tracepoint_open("sys_enter", prog));
	close(prog);
}

static void try_iter_task(struct dft_feature *out)
{
	int prog = load_btf(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "task", out), link;

	if (prog < 0)
		return;
	link = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
	close(prog);
	if (link < 0) {
		fail(out, "attach: %s", strerror(-link));
		return;
	}
	finish(out, bpf_iter_create(link));
	close(link);
}

/* Kernel type information of our own with one int, for what the maps below hold. */
static struct btf *int_btf(struct dft_feature *out)
{
	struct btf *btf = btf__new_empty();
	int err = btf ? 0 : -errno;

	if (!err)
		err = btf__add_int(btf, "int", sizeof(int), BTF_INT_SIGNED);
	if (err > 0)
		return btf;
	fail(out, "type information: %s", strerror(-err));
	btf__free(btf);
	return NULL;
}

/* Both the map and, as that is a separate question, its use by a tp_btf program. */
static void use_task_storage(int map, struct dft_feature *out)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_task_btf },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4,
		  .imm = BPF_LOCAL_STORAGE_GET_F_CREATE },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_task_storage_get },
		return_0[0],
		return_0[1],
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	int prog;

	if (!find_target(&opts, "sys_enter", out))
		return;
	prog = load(BPF_PROG_TYPE_TRACING, insns, ARRAY_SIZE(insns), &opts, out);
	if (prog < 0)
		return;
	close(prog);
	out->ok = true;
}

static void try_task_storage(struct dft_feature *out)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC,
		    .btf_key_type_id = 1, .btf_value_type_id = 1);
	struct btf *btf = int_btf(out);
	int err, map;

	if (!btf)
		return;
	err = btf__load_into_kernel(btf);
	if (err) {
		fail(out, "type information: %s", strerror(-err));
		btf__free(btf);
		return;
	}
	opts.btf_fd = (unsigned int)btf__fd(btf);
	map = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "dft_probe", sizeof(int), sizeof(int), 0,
			     &opts);
	btf__free(btf);
	if (map < 0) {
		fail(out, "create: %s", strerror(-map));
		return;
	}
	use_task_storage(map, out);
	close(map);
}

static void try_ringbuf(struct dft_feature *out)
{
	int map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dft_probe", 0, 0,
				 (unsigned int)sysconf(_SC_PAGESIZE), NULL);

	if (map < 0) {
		fail(out, "create: %s", strerror(-map));
		return;
	}
	close(map);
	out->ok = true;
}

/*
 * bpf_loop takes a function, and the verifier wants to know that it is one: two functions in the
 * program, two in its type information.
 */
static int load_loop(struct btf *btf, struct dft_feature *out)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_FUNC, .imm = 6 }, /* to the last two, from here */
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_loop },
		return_0[0],
		return_0[1],
		return_0[0],
		return_0[1],
	};
	struct bpf_func_info funcs[2] = { { .insn_off = 0 }, { .insn_off = 8 } };
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .func_info = funcs, .func_info_cnt = 2,
		    .func_info_rec_size = sizeof(funcs[0]));
	int proto = btf__add_func_proto(btf, 1), prog, err;

	for (int i = 0; i < 2; i++) {
		int id = btf__add_func(btf, i ? "step" : "probe",
				       i ? BTF_FUNC_STATIC : BTF_FUNC_GLOBAL, proto);

		if (proto < 0 || id < 0) {
			fail(out, "type information: %s", strerror(proto < 0 ? -proto : -id));
			return -EINVAL;
		}
		funcs[i].type_id = (unsigned int)id;
	}
	err = btf__load_into_kernel(btf);
	if (err) {
		fail(out, "type information: %s", strerror(-err));
		return err;
	}
	opts.prog_btf_fd = (unsigned int)btf__fd(btf);
	prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns), &opts, out);
	return prog;
}

static void try_bpf_loop(struct dft_feature *out)
{
	struct btf *btf = int_btf(out);
	int prog;

	if (!btf)
		return;
	prog = load_loop(btf, out);
	btf__free(btf);
	if (prog < 0)
		return;
	close(prog);
	out->ok = true;
}

/* ---- what attaches through a perf event ---- */

static void attach_perf(enum bpf_prog_type type, struct perf_event_attr *attr, pid_t pid, int cpu,
			struct dft_feature *out)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int prog = load(type, return_0, ARRAY_SIZE(return_0), &opts, out), event;

	if (prog < 0)
		return;
	attr->size = sizeof(*attr);
	attr->sample_period = 1;
	event = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0) {
		fail(out, "attach: %s", strerror(errno));
	} else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, prog)) {
		fail(out, "attach: %s", strerror(errno));
		close(event);
	} else {
		finish(out, event);
	}
	close(prog);
}

static void try_tracepoint(struct dft_feature *out)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	int id = read_number("/sys/kernel/tracing/events/sched/sched_process_exit/id");

	if (id < 0)
		id = read_number("/sys/kernel/debug/tracing/events/sched/sched_process_exit/id");
	if (id < 0) {
		fail(out, "tracefs is not readable at /sys/kernel/tracing, where its number is");
		return;
	}
	attr.config = (unsigned int)id;
	attach_perf(BPF_PROG_TYPE_TRACEPOINT, &attr, -1, 0, out);
}

static void try_kprobe(struct dft_feature *out)
{
	struct perf_event_attr attr = { 0 };
	int type = read_number("/sys/bus/event_source/devices/kprobe/type");

	if (type < 0) {
		fail(out, "the kernel has no kprobe events (CONFIG_KPROBE_EVENTS)");
		return;
	}
	attr.type = (unsigned int)type;
	attr.config1 = (uintptr_t)"vfs_fsync_range";
	attach_perf(BPF_PROG_TYPE_KPROBE, &attr, -1, 0, out);
}

/* Where uprobes are tried: our own function, never called. */
__attribute__((noinline, used)) static int uprobe_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

/* The place of uprobe_target() in the file that we run from. 0 when not found. */
static uint64_t uprobe_target_offset(void)
{
	uintptr_t at = (uintptr_t)uprobe_target;
	uint64_t start, end, offset, found = 0;
	char *line = NULL;
	size_t room = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return 0;
	while (!found && getline(&line, &room, maps) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end,
			   &offset) == 3 &&
		    at >= start && at < end)
			found = at - start + offset;
	free(line);
	fclose(maps);
	return found;
}

static void try_uprobe(struct dft_feature *out)
{
	struct perf_event_attr attr = { 0 };
	int type = read_number("/sys/bus/event_source/devices/uprobe/type");

	if (type < 0) {
		fail(out, "the kernel has no uprobe events (CONFIG_UPROBE_EVENTS)");
		return;
	}
	attr.type = (unsigned int)type;
	attr.config1 = (uintptr_t)"/proc/self/exe";
	attr.config2 = uprobe_target_offset();
	attach_perf(BPF_PROG_TYPE_KPROBE, &attr, 0, -1, out);
}

static int load_uprobe_multi(struct dft_feature *out)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = DFT_ATTACH_UPROBE_MULTI);

	return load(BPF_PROG_TYPE_KPROBE, return_0, ARRAY_SIZE(return_0), &opts, out);
}

/* Newer than libbpf's own opts, so through the system call itself. */
static void try_uprobe_multi(struct dft_feature *out)
{
	int prog = load_uprobe_multi(out);
	uint64_t offset = uprobe_target_offset();
	struct dft_uprobes uprobes = {
		.path = "/proc/self/exe", .offsets = &offset, .n = 1, .pid = (uint32_t)getpid(),
	};

	if (prog < 0)
		return;
	finish(out, dft_uprobes_link(prog, &uprobes));
	close(prog);
}

bool dft_probe_uprobe_multi(void)
{
	struct dft_feature out = { 0 };
	int link, prog = load_uprobe_multi(&out);
	uint64_t offset = 0;
	struct dft_uprobes uprobes = { .path = "/", .offsets = &offset, .n = 1 };

	if (prog < 0)
		return false;
	link = dft_uprobes_link(prog, &uprobes);
	if (link >= 0)
		close(link);
	close(prog);
	return link == -EBADF;
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*try)(struct dft_feature *out);
} features[] = {
	{ "tp_btf", try_tp_btf },
	{ "raw_tp", try_raw_tp },
	{ "tracepoint", try_tracepoint },
	{ "iter_task", try_iter_task },
	{ "task_storage", try_task_storage },
	{ "ringbuf", try_ringbuf },
	{ "uprobe", try_uprobe },
	{ "uprobe_multi", try_uprobe_multi },
	{ "kprobe", try_kprobe },
	{ "fentry", try_fentry },
	{ "lsm", try_lsm },
	{ "bpf_loop", try_bpf_loop },
	{ "uring", try_uring },
};

int dft_probe_info(bool json)
{
	struct dft_feature found[ARRAY_SIZE(features)];
	struct dft_info info = { .features = found, .nfeatures = ARRAY_SIZE(found) };
	/* Its hints guess, and are meant for developers; `why` says what the kernel said. */
	libbpf_print_fn_t print = libbpf_set_print(NULL);

	memset(found, 0, sizeof(found));
	gather_facts(&info.facts);
	info.kptr_restrict = read_number("/proc/sys/kernel/kptr_restrict");
	snprintf(info.libbpf, sizeof(info.libbpf), "%u.%u", libbpf_major_version(),
		 libbpf_minor_version());
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		found[i].name = features[i].name;
		features[i].try(&found[i]);
	}
	libbpf_set_print(print);
	return dft_info_print(&info, json);
}
