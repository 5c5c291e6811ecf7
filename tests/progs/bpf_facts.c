// SPDX-License-Identifier: MIT
// LDFLAGS: -lbpf
/*
 * What is in a BPF object file, and whether it loads.
 *
 *   bpf_facts OBJECT list                 lines "prog NAME SECTION TYPE" and "map NAME TYPE"
 *   bpf_facts OBJECT load [-VARIABLE=1] [+PROGRAM] [--PROGRAM]
 *
 * -VARIABLE=1 sets a constant of the object, +PROGRAM has a program loaded and --PROGRAM not.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int list(struct bpf_object *obj)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, obj)
		printf("prog %s %s %d\n", bpf_program__name(prog), bpf_program__section_name(prog),
		       bpf_program__type(prog));
	bpf_object__for_each_map(map, obj)
		printf("map %s %d\n", bpf_map__name(map), bpf_map__type(map));
	return 0;
}

/* The constant lies in .rodata, where the type information says. */
static int set_constant(struct bpf_object *obj, const char *name, size_t len)
{
	const struct btf *btf = bpf_object__btf(obj);
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	struct btf_var_secinfo *var = section ? btf_var_secinfos(section) : NULL;
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		size_t size = 0;
		char *value, *suffix = strstr(bpf_map__name(map), ".rodata");

		if (!suffix || strcmp(suffix, ".rodata"))
			continue;
		value = (char *)bpf_map__initial_value(map, &size);
		for (int i = 0; var && i < btf_vlen(section); i++) {
			const char *is = btf__name_by_offset(
				btf, btf__type_by_id(btf, var[i].type)->name_off);

			if (value && strlen(is) == len && !strncmp(is, name, len)) {
				value[var[i].offset] = 1;
				return 0;
			}
		}
	}
	fprintf(stderr, "no constant %.*s\n", (int)len, name);
	return 1;
}

static int apply(struct bpf_object *obj, const char *arg)
{
	struct bpf_program *prog;
	const char *equals = strchr(arg, '=');

	if (arg[0] == '-' && arg[1] != '-' && equals)
		return set_constant(obj, arg + 1, (size_t)(equals - arg - 1));
	prog = bpf_object__find_program_by_name(obj, arg + (arg[0] == '+' ? 1 : 2));
	if (!prog) {
		fprintf(stderr, "no program %s\n", arg);
		return 1;
	}
	return bpf_program__set_autoload(prog, arg[0] == '+');
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	int err = 0;

	if (argc < 3)
		return 2;
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	if (!strcmp(argv[2], "list"))
		return list(obj);
	for (int i = 3; i < argc && !err; i++)
		err = apply(obj, argv[i]);
	if (!err)
		err = bpf_object__load(obj);
	if (err)
		fprintf(stderr, "does not load: %d\n", err);
	bpf_object__close(obj);
	return err != 0;
}
