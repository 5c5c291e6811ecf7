// SPDX-License-Identifier: MIT
/*
 * Keeps a pair of empty programs attached to the entry and the exit of system calls.
 *
 *     empty_pair OBJECT              one pair for all system calls, as the tracer has it (tp_btf)
 *     empty_pair OBJECT SYSCALL      a pair on the classic tracepoints of this one system call
 *
 * OBJECT is what empty_pair.bpf.c was compiled to. Prints `ready` when both are attached, and detaches
 * them when its standard input ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

static struct bpf_program *wanted(struct bpf_object *obj, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);

	if (!prog || bpf_program__set_autoload(prog, true)) {
		fprintf(stderr, "empty_pair: program %s: %s\n", name, strerror(errno));
		exit(1);
	}
	return prog;
}

static struct bpf_link *attach(struct bpf_program *prog, const char *when, const char *syscall)
{
	struct bpf_link *link;
	char name[128];

	snprintf(name, sizeof(name), "sys_%s_%s", when, syscall ? syscall : "");
	link = syscall ? bpf_program__attach_tracepoint(prog, "syscalls", name) :
			 bpf_program__attach(prog);
	if (!link) {
		fprintf(stderr, "empty_pair: attaching at the %s of %s: %s\n", when,
			syscall ? syscall : "all system calls", strerror(errno));
		exit(1);
	}
	return link;
}

int main(int argc, char **argv)
{
	const char *syscall = argc == 3 ? argv[2] : NULL;
	struct bpf_program *enter, *exit_;
	struct bpf_link *links[2];
	struct bpf_object *obj;
	char byte;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: empty_pair OBJECT [SYSCALL]\n");
		return 2;
	}
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj) {
		fprintf(stderr, "empty_pair: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	enter = wanted(obj, syscall ? "classic_enter" : "btf_enter");
	exit_ = wanted(obj, syscall ? "classic_exit" : "btf_exit");
	if (bpf_object__load(obj)) {
		fprintf(stderr, "empty_pair: loading: %s\n", strerror(errno));
		return 1;
	}
	links[0] = attach(enter, "enter", syscall);
	links[1] = attach(exit_, "exit", syscall);
	if (puts("ready") == EOF || fflush(stdout) || read(STDIN_FILENO, &byte, 1) < 0) {
		perror("empty_pair");
		return 1;
	}
	bpf_link__destroy(links[1]);
	bpf_link__destroy(links[0]);
	bpf_object__close(obj);
	return 0;
}
