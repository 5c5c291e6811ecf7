# SPDX-License-Identifier: MIT
"""What the kernel side asks of a kernel: nothing newer than the oldest one promised.

The helper functions, kernel functions, program types and map types that the programs can reach are
read out of the object file itself. Each must be in the tables below, with the first kernel that has
it; one newer than the floor must be among the optional ones, which name their fallback. That the
fallbacks load is tried on the running kernel.
"""
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

FLOOR = (5, 14)
OBJECT = BUILD / "dftrace.bpf.o"
FACTS = BUILD / "tests/progs/bpf_facts"

# number: (name, first kernel in which programs of our types may call it)
HELPERS = {
    1: ("map_lookup_elem", (3, 19)),
    2: ("map_update_elem", (3, 19)),
    3: ("map_delete_elem", (3, 19)),
    5: ("ktime_get_ns", (4, 1)),
    8: ("get_smp_processor_id", (4, 1)),
    14: ("get_current_pid_tgid", (4, 2)),
    15: ("get_current_uid_gid", (4, 2)),
    16: ("get_current_comm", (4, 2)),
    35: ("get_current_task", (4, 8)),
    37: ("current_task_under_cgroup", (4, 9)),
    112: ("probe_read_user", (5, 5)),
    113: ("probe_read_kernel", (5, 5)),
    114: ("probe_read_user_str", (5, 5)),
    115: ("probe_read_kernel_str", (5, 5)),
    125: ("ktime_get_boot_ns", (5, 8)),
    126: ("seq_printf", (5, 7)),
    127: ("seq_write", (5, 7)),
    130: ("ringbuf_output", (5, 8)),
    131: ("ringbuf_reserve", (5, 8)),
    132: ("ringbuf_submit", (5, 8)),
    133: ("ringbuf_discard", (5, 8)),
    134: ("ringbuf_query", (5, 8)),
    156: ("task_storage_get", (5, 11)),
    157: ("task_storage_delete", (5, 11)),
    158: ("get_current_task_btf", (5, 11)),
    164: ("for_each_map_elem", (5, 13)),
    174: ("get_attach_cookie", (5, 15)),
    175: ("task_pt_regs", (5, 15)),
    181: ("loop", (5, 17)),
}
KERNEL_FUNCTIONS = {
    "bpf_rdonly_cast": (6, 2),
}
PROGRAM_TYPES = {
    2: ("kprobe", (4, 1)),
    7: ("perf_event", (4, 9)),
    17: ("raw_tracepoint", (4, 17)),
    26: ("tracing", (5, 5)),
}
# The beginning of the section says how a tracing program is attached.
ATTACH = {
    "tp_btf": (5, 5),
    "iter/task": (5, 8),
    "iter/bpf_map_elem": (5, 9),
    "uprobe": (4, 3),
    "raw_tp": (4, 17),
    "perf_event": (4, 9),
}
MAP_TYPES = {
    1: ("hash", (3, 19)),
    2: ("array", (3, 19)),
    5: ("percpu_hash", (4, 6)),
    6: ("percpu_array", (4, 6)),
    8: ("cgroup_array", (4, 8)),
    27: ("ringbuf", (5, 8)),
    29: ("task_storage", (5, 12)),  # 5.11 has it for LSM programs only
}

# Newer than the floor: what is done without it.
OPTIONAL_HELPERS = {
    "task_pt_regs": "calls that have not ended are without their arguments",
    "loop": "a bounded loop, chosen when the kernel's types do not have the helper",
}
# Programs that are loaded if they can be; the programs to load in their place.
OPTIONAL_PROGRAMS = {
    "io_cast_sys_enter": "io_sys_enter",
    "io_cast_sys_exit": "io_sys_exit",
    "io_cast_request_sweep": "io_request_sweep",
    "io_cast_uring_submit": "io_uring_submit",
    "io_cast_uring_failed": "io_uring_failed",
    "io_cast_uring_complete": "io_uring_complete",
    "io_cast_uring_overflow": "io_uring_overflow",
}
# Programs without which the rest works: annotations, or requests of io_uring, are then not seen.
EXTRA_PROGRAMS = {"annot_multi", "annot_single"}
NEW_TRACEPOINTS = {i for o, i in OPTIONAL_PROGRAMS.items() if "uring" in o}  # as they are since 6.10


class Object:
    """An ELF file of BPF functions: what each calls."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        check(self.data[:6] == b"\x7fELF\x02\x01", f"{path} is no little-endian ELF64 file")
        self._sections()
        self._symbols()
        self._relocations()
        self._functions()

    def _sections(self):
        at, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3a)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size)
                         for i in range(count)]
        self.names_at = self.sections[names][4]

    def content(self, index):
        section = self.sections[index]
        return self.data[section[4]:section[4] + section[5]]

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def _symbols(self):
        self.symbols = []
        for i, section in enumerate(self.sections):
            if section[1] != 2:  # SHT_SYMTAB
                continue
            strings = self.sections[section[6]][4]
            for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", self.content(i)):
                self.symbols.append((self.text(strings + name), info & 15, index, value, size))

    def _relocations(self):
        self.relocations = {}  # (section, offset) -> symbol
        for i, section in enumerate(self.sections):
            if section[1] == 9:  # SHT_REL
                for offset, info in struct.iter_unpack("<QQ", self.content(i)):
                    self.relocations[section[7], offset] = self.symbols[info >> 32]

    def _functions(self):
        """{(section, offset): (name, [(kind, what)])}"""
        self.functions = {}
        starts = sorted((index, value, size, name) for name, kind, index, value, size in self.symbols
                        if kind == 2 and 0 < index < len(self.sections))
        for index, value, size, name in starts:
            calls = []
            code = self.content(index)
            for at in range(value, value + size, 8):
                op, regs, _, imm = struct.unpack_from("<BBhi", code, at)
                self._instruction(calls, index, at, op, regs >> 4, imm)
            self.functions[index, value] = name, calls

    def _instruction(self, calls, index, at, op, src, imm):
        symbol = self.relocations.get((index, at))
        if op == 0x85 and src == 0:
            calls.append(("helper", imm))
        elif op == 0x85 and symbol and symbol[2] == 0:
            calls.append(("kernel", symbol[0]))
        elif op == 0x85:
            if symbol is None:
                target = index, at + (imm + 1) * 8
            else:
                target = symbol[2], symbol[3] + (imm + 1) * 8
            calls.append(("function", target))
        elif op == 0x18 and symbol and self._is_code(symbol[2]):
            # The address of a function, for a helper that calls it back.
            calls.append(("function", (symbol[2], symbol[3] + imm)))

    def _is_code(self, index):
        return 0 < index < len(self.sections) and self.sections[index][2] & 4

    def reach(self, program):
        """({helper number}, {kernel function}) of a program and all it calls."""
        start = [at for at, (name, _) in self.functions.items() if name == program]
        equal(len(start), 1, f"functions named {program}")
        helpers, kernel, seen, todo = set(), set(), set(), start
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            check(at in self.functions, f"{program} calls what is no function: {at}")
            for kind, what in self.functions[at][1]:
                if kind == "helper":
                    helpers.add(what)
                elif kind == "kernel":
                    kernel.add(what)
                else:
                    todo.append(what)
        return helpers, kernel


def facts():
    """({program: (section, type)}, {map: type}) as libbpf sees them."""
    out = run([FACTS, OBJECT, "list"]).want(0).out.decode()
    programs, maps = {}, {}
    for line in out.splitlines():
        words = line.split()
        if words[0] == "prog":
            programs[words[1]] = words[2].lstrip("?"), int(words[3])
        else:
            maps[words[1]] = int(words[2])
    check(len(programs) >= 6 and len(maps) >= 6, f"programs and maps: {out}")
    return programs, maps


def show(version):
    return ".".join(map(str, version))


@test
def test_helpers(tmp):
    obj = Object(OBJECT)
    programs, _ = facts()
    seen = set()
    for program in programs:
        helpers, kernel = obj.reach(program)
        check(helpers, f"no helper found in {program}")
        for number in helpers:
            check(number in HELPERS, f"{program} calls helper {number}, which is not in the table")
            name, since = HELPERS[number]
            seen.add(name)
            check(since <= FLOOR or name in OPTIONAL_HELPERS or program in EXTRA_PROGRAMS,
                  f"{program} calls bpf_{name}(), which is of {show(since)}")
        for name in kernel:
            check(name in KERNEL_FUNCTIONS, f"{program} calls {name}, which is not in the table")
            check(KERNEL_FUNCTIONS[name] <= FLOOR or program in OPTIONAL_PROGRAMS,
                  f"{program} calls {name}(), which is of {show(KERNEL_FUNCTIONS[name])}")
            seen.add(name)
    # The search itself is right: it finds what is known to be there.
    for name in ("ktime_get_ns", "ringbuf_output", "task_storage_get", "probe_read_user_str",
                 "loop", "bpf_rdonly_cast"):
        check(name in seen, f"{name} was not found in any program")


@test
def test_program_and_map_types(tmp):
    programs, maps = facts()
    for name, (section, kind) in programs.items():
        check(kind in PROGRAM_TYPES, f"{name}: program type {kind} is not in the table")
        check(PROGRAM_TYPES[kind][1] <= FLOOR, f"{name}: type {PROGRAM_TYPES[kind][0]}")
        since = [v for begin, v in ATTACH.items() if section.startswith(begin)]
        check(since and since[0] <= FLOOR, f"{name}: section {section}")
    for name, kind in maps.items():
        check(kind in MAP_TYPES, f"{name}: map type {kind} is not in the table")
        check(MAP_TYPES[kind][1] <= FLOOR, f"{name}: map type {MAP_TYPES[kind][0]}")
    for optional, instead in OPTIONAL_PROGRAMS.items():
        check(optional in programs and instead in programs, f"{optional} and its fallback {instead}")


@test
def test_fallbacks_load(tmp):
    """Each way of doing without what is newer is accepted by this kernel, too."""
    need_root()
    base = [w + p for o, i in OPTIONAL_PROGRAMS.items() for w, p in (("+", i), ("--", o))]
    least = [w for w in base if w[1:] not in NEW_TRACEPOINTS]
    cast = [w + p for o, i in OPTIONAL_PROGRAMS.items() for w, p in (("+", o), ("--", i))]
    for knobs in ([], ["-dft_knob_all=1"], ["-dft_knob_all=1", "-dft_knob_select=1", "-dft_knob_uid=0"],
                  ["-dft_knob_verdicts=1", "-dft_knob_all_files=1"]):
        r = run([FACTS, OBJECT, "load", "-dft_knob_no_loop=1", *knobs, *base])
        equal(r.status, 0, f"without bpf_loop() and bpf_rdonly_cast(), {knobs}: {r.text[-1500:]}")
    r = run([FACTS, OBJECT, "load", *base])
    equal(r.status, 0, f"without bpf_rdonly_cast(): {r.text[-1500:]}")
    r = run([FACTS, OBJECT, "load", *least])
    equal(r.status, 0, f"without io_uring: {r.text[-1500:]}")
    need_feature("bpf_loop")
    r = run([FACTS, OBJECT, "load", "-dft_knob_no_loop=1", *cast])
    if os.uname().release.split(".")[0] >= "6":
        equal(r.status, 0, f"without bpf_loop(): {r.text[-1500:]}")


if __name__ == "__main__":
    main()
