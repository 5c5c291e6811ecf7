# SPDX-License-Identifier: MIT
"""What is found in ELF files, against readelf; and what a command links, against ldd."""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

NOTES = BUILD / "tests/progs/notes_dump"
LIBS = BUILD / "tests/progs/libs_dump"
KINDS = ("event", "part", "metadata", "entity", "entity_type", "relation")
OPERANDS = {
    "x86_64": "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9",
    "aarch64": "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5",
}.get(os.uname().machine)
NOPS = {
    "x86_64": (b"\x90", b"\x0f\x1f\x44\x00\x00"),
    "aarch64": (b"\x1f\x20\x03\xd5",),
}.get(os.uname().machine)

# A probe as the header makes it, without the header.
PROBE = r"""
static unsigned short %(name)s_sem __attribute__((section(".probes"), used));
static void __attribute__((noinline, used)) %(name)s_hit(void)
{
    __asm__ volatile(
        "990: %(nop)s\n"
        ".pushsection .note.stapsdt,\"\",\"note\"\n"
        ".balign 4\n"
        ".4byte 992f-991f, 994f-993f, 3\n"
        "991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n"
        "993: .8byte 990b, _.stapsdt.base, %(name)s_sem\n"
        ".asciz \"dftracer\"\n"
        ".asciz \"%(name)s\"\n"
        ".asciz \"%(operands)s\"\n"
        "994: .balign 4\n"
        ".popsection\n"
        ".ifndef _.stapsdt.base\n"
        ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
        ".weak _.stapsdt.base\n"
        ".hidden _.stapsdt.base\n"
        "_.stapsdt.base: .space 1\n"
        ".size _.stapsdt.base, 1\n"
        ".popsection\n"
        ".endif\n");
}
"""


def lines_of(program, *args):
    return os.fsdecode(run([program, *args]).want(0).out).splitlines()


class Found:
    """What notes_dump prints about one file."""

    def __init__(self):
        self.result = self.foreign = self.refused = None
        self.sites = []
        self.strings = {}


def dump(*paths):
    """{path: Found}"""
    found = {}
    for line in lines_of(NOTES, *paths):
        word, _, rest = line.partition(" ")
        if word == "file":
            path, *numbers = rest.rsplit(" ", 3)
            one = found[path] = Found()
            one.result, one.foreign, one.refused = map(int, numbers)
        elif word == "site":
            kind, offset, sem = rest.split()
            one.sites.append((int(offset, 16), int(sem, 16), kind))
        else:
            one.strings.setdefault(word, []).append(rest)
    return found


def readelf(path):
    """(segments, notes, base now, dynamic strings), all by readelf."""
    text = os.fsdecode(run(["readelf", "-lSWnd", path]).out)
    segments = []
    for m in re.finditer(r"^  LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (.{3}) 0x", text, re.M):
        segments.append((int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4]))
    base = re.search(r"\] \.stapsdt\.base +PROGBITS +(\w+) ", text)
    notes = re.findall(r"Provider: (.*)\n +Name: (.*)\n +Location: 0x(\w+), Base: 0x(\w+), "
                       r"Semaphore: 0x(\w+)\n +Arguments: (.*)\n", text)
    strings = {}
    for word, pattern in (("interp", r"\[Requesting program interpreter: (.*)\]"),
                          ("needed", r"\(NEEDED\) +Shared library: \[(.*)\]"),
                          ("soname", r"\(SONAME\) +Library soname: \[(.*)\]"),
                          ("rpath", r"\(RPATH\) +Library rpath: \[(.*)\]"),
                          ("runpath", r"\(RUNPATH\) +Library runpath: \[(.*)\]")):
        if re.search(pattern, text):
            strings[word] = re.findall(pattern, text)
    return segments, notes, int(base[1], 16) if base else 0, strings


def sites_by_readelf(path):
    segments, notes, base, _ = readelf(path)
    data = Path(path).read_bytes()

    def offset_of(address, flag):
        for offset, start, size, flags in segments:
            if start <= address < start + size and flag in flags:
                return offset + address - start
        return None

    sites = set()
    for provider, name, address, old_base, sem, operands in notes:
        moved = base - int(old_base, 16)
        if provider != "dftracer" or name not in KINDS or operands.strip() != OPERANDS:
            continue
        at = offset_of(int(address, 16) + moved, "E")
        counter = offset_of(int(sem, 16) + moved, "W") if int(sem, 16) else 0
        if any(data[at:at + len(nop)] == nop for nop in NOPS):
            sites.add((at, counter, name))
    return sorted(sites)


def source(tmp, names, nops=(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "nop"), operands=None):
    """A C file with a probe of each name, in turn with these instructions."""
    if os.uname().machine != "x86_64":
        nops = ("nop",)
    text = "".join(PROBE % {"name": name, "nop": nops[i % len(nops)],
                            "operands": operands or OPERANDS}
                   for i, name in enumerate(names))
    path = tmp / f"{'_'.join(names)}.c"
    path.write_text(text)
    return path


def compile_all(tmp):
    """Files with all probes, of each kind that linkers make."""
    probes = source(tmp, KINDS)
    main = tmp / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    made = []
    for name, flags, files in (
            ("pie", ["-pie", "-fPIE"], [probes, main]),
            ("fixed", ["-no-pie", "-fno-pie"], [probes, main]),
            ("static", ["-static", "-no-pie", "-fno-pie"], [probes, main]),
            ("static-pie", ["-static-pie", "-fPIE"], [probes, main]),
            ("shared.so", ["-shared", "-fPIC"], [probes]),
            ("sections", ["-ffunction-sections", "-Wl,-z,noseparate-code"], [probes, main]),
            ("packed", ["-Wl,-z,noseparate-code", "-Wl,-s"], [probes, main])):
        out = tmp / name
        run(["gcc", "-O1", *flags, "-o", out, *files]).want(0)
        made.append(out)
    return made


@test
def test_sites_are_readelfs(tmp):
    """Six probes in each kind of program; offsets and counters as readelf's tables give them."""
    need_program("readelf", "gcc")
    made = compile_all(tmp)
    found = dump(*made)
    for path in made:
        one, want = found[str(path)], sites_by_readelf(path)
        equal(len(want), 6, f"probes that readelf finds in {path.name}")
        equal(one.sites, want, path.name)
        equal((one.result, one.foreign, one.refused), (0, 0, 0), f"{path.name}: counts")
        equal({s[2] for s in one.sites}, set(KINDS), "kinds")


@test
def test_changed_files(tmp):
    """What strip and objcopy make of it: the program keeps its probes, the rest has none to arm."""
    need_program("readelf", "gcc", "strip", "objcopy")
    pie = next(p for p in compile_all(tmp) if p.name == "pie")
    want = dump(pie)[str(pie)].sites
    debug, stripped, bare = tmp / "pie.debug", tmp / "pie.stripped", tmp / "pie.bare"
    run(["objcopy", "--only-keep-debug", pie, debug]).want(0)
    run(["strip", "-o", stripped, pie]).want(0)
    run(["objcopy", "--remove-section=.note.stapsdt", pie, bare]).want(0)
    found = dump(debug, stripped, bare)
    equal(found[str(stripped)].sites, want, "stripped")
    equal(found[str(bare)].sites, [], "without notes")
    equal(found[str(debug)].sites, [], "debugging information only")
    check("dftracer" in os.fsdecode(run(["readelf", "-n", debug]).out), "no notes in the debug file")
    equal(found[str(debug)].refused, 6, "debugging information only: refused")


@test
def test_moved_file(tmp):
    """Shifted by a page to other addresses, as prelink does it, with the notes as they were."""
    need_program("readelf", "gcc", "objcopy")
    fixed = next(p for p in compile_all(tmp) if p.name == "fixed")
    want = dump(fixed)[str(fixed)].sites
    moved = tmp / "moved"
    data = bytearray(fixed.read_bytes())
    # Addresses of segments and sections, in the headers: 8 bytes each.
    phoff, shoff = (int.from_bytes(data[at:at + 8], "little") for at in (0x20, 0x28))
    phnum, shnum = (int.from_bytes(data[at:at + 2], "little") for at in (0x38, 0x3c))
    for at in [phoff + 56 * i + 16 for i in range(phnum)] + [shoff + 64 * i + 16 for i in range(shnum)]:
        address = int.from_bytes(data[at:at + 8], "little")
        if address:
            data[at:at + 8] = (address + 0x10000).to_bytes(8, "little")
    moved.write_bytes(data)
    check(readelf(moved)[2] == readelf(fixed)[2] + 0x10000, "readelf does not see it moved")
    equal(dump(moved)[str(moved)].sites, want, "sites")
    equal(sites_by_readelf(moved), want, "sites by readelf")


@test
def test_foreign_probes(tmp):
    """Another provider's and other operands are not for us; those of other instructions neither."""
    need_program("gcc")
    main = "int main(void) { return 0; }\n"
    for what, src, foreign, refused in (
            ("operands", source(tmp, ["event"], operands="8@%rdi"), 1, 0),
            ("name", source(tmp, ["events"]), 1, 0),
            ("instruction", source(tmp, ["part"], nops=("ret",)), 0, 1)):
        src.write_text(src.read_text() + main)
        out = tmp / what
        run(["gcc", "-o", out, src]).want(0)
        one = dump(out)[str(out)]
        equal((one.sites, one.foreign, one.refused), ([], foreign, refused), what)


@test
def test_system_files(tmp):
    """Every program and library of the system: nothing of ours, and the strings readelf finds."""
    need_program("readelf")
    paths = []
    for directory in ("/usr/bin", "/usr/lib", "/lib64", f"/usr/lib/{os.uname().machine}-linux-gnu"):
        if os.path.isdir(directory):
            paths += [os.path.realpath(e.path) for e in os.scandir(directory)
                      if e.is_file() and not re.search(r"[\n ]", e.path)]
    paths = sorted(set(paths))
    found = dump(*paths)
    elves = [p for p in paths if found[p].result == 0]
    check(len(elves) > 20, f"only {len(elves)} ELF files among {len(paths)}")
    for path in elves[::max(1, len(elves) // 60)]:
        equal(found[path].sites, sites_by_readelf(path), f"{path}: sites")
        equal(found[path].strings, readelf(path)[3], f"{path}: strings")
    for path in paths:
        with open(path, "rb") as f:
            head = f.read(20)
        ours = head[:6] == b"\x7fELF\x02\x01" and head[16] in (2, 3)
        check(found[path].result == 0 or not ours or head[18:20] != elf_machine(),
              f"{path}: {found[path].result}")
        check(ours or found[path].result != 0, f"{path}: taken for a program")


def elf_machine():
    return {"x86_64": b"\x3e\x00", "aarch64": b"\xb7\x00"}[os.uname().machine]


# ---- libraries -------------------------------------------------------------------------------

def by_ldd(path):
    text = os.fsdecode(run(["ldd", path]).out)
    if "not a dynamic executable" in text or "statically linked" in text:
        return None
    return {os.path.realpath(p) for p in re.findall(r"(?:=> |^\t)(/\S+) \(0x", text, re.M)}


def by_us(*args, env=None):
    p = run([LIBS, *args], env=env)
    return [os.path.realpath(line) for line in os.fsdecode(p.want(0).out).splitlines()]


@test
def test_libraries_are_ldds(tmp):
    """The program, the program loader and the libraries, each once, as ldd finds them."""
    need_program("ldd")
    programs = [p for p in ("/usr/bin/python3", "/usr/bin/git", "/bin/ls", "/bin/sh", "/usr/bin/gcc",
                            "/usr/bin/perl", "/usr/bin/gdb", "/usr/bin/clang", str(TRACER), str(READER))
                if os.path.exists(p)]
    checked = 0
    for path in programs:
        want = by_ldd(path)
        if want is None:
            continue
        got = by_us(path)
        equal(sorted(set(got) - {os.path.realpath(path)}), sorted(want), path)
        equal(got[0], os.path.realpath(path), "the first")
        equal(len(got), len(set(got)), f"{path}: files, and each once")
        checked += 1
    check(checked >= 3, f"only {checked} programs compared")


@test
def test_own_libraries_are_ldds(tmp):
    """Libraries found by RPATH, RUNPATH, $ORIGIN, LD_LIBRARY_PATH and LD_PRELOAD."""
    need_program("ldd", "gcc")
    for d in ("a", "b", "c"):
        (tmp / d).mkdir()
        for lib in ("one", "two"):
            src = tmp / f"{lib}.c"
            src.write_text(f"int {lib}(void) {{ return 1; }}\n")
            run(["gcc", "-shared", "-fPIC", "-o", tmp / d / f"lib{lib}.so", src]).want(0)
    src = tmp / "user.c"
    src.write_text("int one(void); int three(void) { return one(); }\n")
    main = tmp / "main.c"
    main.write_text("int three(void); int two(void); int main(void) { return three() + two(); }\n")
    new, old = "-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"
    seen = set()
    for n, (tags, main_path, lib_path) in enumerate((
            (old, "$ORIGIN/a", "$ORIGIN/../b"), (old, "$ORIGIN/a", None), (new, "$ORIGIN/a", None),
            (new, "$ORIGIN/a", "$ORIGIN/../b"), (old, "${ORIGIN}/c:$ORIGIN/a", "/nowhere"))):
        flags = [f"-Wl,-rpath,{lib_path}"] if lib_path else []
        run(["gcc", "-shared", "-fPIC", tags, *flags, "-o", tmp / "a/libthree.so", src,
             f"-L{tmp}/b", "-lone"]).want(0)
        prog = tmp / f"prog{n}"
        run(["gcc", tags, f"-Wl,-rpath,{main_path}", "-Wl,--no-as-needed", "-o", prog, main,
             f"-L{tmp}/a", "-lthree", "-ltwo", f"-Wl,-rpath-link,{tmp}/a"]).want(0)
        for env in ({}, {"LD_LIBRARY_PATH": f"{tmp}/nowhere:{tmp}/c"},
                    {"LD_LIBRARY_PATH": f"{tmp}/b", "LD_PRELOAD": f"{tmp}/c/libone.so"}):
            text = os.fsdecode(run(["ldd", prog], env=clean_env(**env)).out)
            want = {os.path.realpath(p) for p in re.findall(r"(?:=> |^\t)(/\S+) \(0x", text, re.M)}
            got = by_us(prog, env=clean_env(**env))
            equal(sorted(got), sorted(want | {str(prog)}), f"{prog.name} with {env}")
            seen |= want
    for lib in ("a/libthree.so", "a/libone.so", "b/libone.so", "c/libone.so", "c/libtwo.so"):
        check(str(tmp / lib) in seen, f"no case in which ldd finds {lib}")


@test
def test_scripts(tmp):
    """A script's interpreter, by path and by env, and what it links."""
    script = tmp / "script"
    for line in ("#!/usr/bin/python3", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"):
        script.write_text(line + "\n")
        script.chmod(0o755)
        got = by_us(script)
        check(set(by_us("/usr/bin/python3")) <= set(got), f"{line}: {got}")
        equal("env" in line, os.path.realpath("/usr/bin/env") in got, f"{line}: env")
    equal(run([LIBS, "no-such-command"]).status, 1, "exit status")


@test
def test_own_library(tmp):
    """libdftracer.so beside our program and in the environment."""
    need_program("gcc")
    (tmp / "bin").mkdir()
    src = tmp / "x.c"
    src.write_text("int x;\n")
    want = []
    for where in ("lib/libdftracer.so.0", "bin/libdftracer.so", "env/libdftracer.so", "given/any.so"):
        (tmp / where).parent.mkdir(exist_ok=True)
        run(["gcc", "-shared", "-fPIC", "-o", tmp / where, src]).want(0)
        want.append(str(tmp / where))
    env = clean_env(LD_LIBRARY_PATH=f"{tmp}/env", DFTRACER_LIBRARY=f"{tmp}/given/any.so")
    got = by_us("--dftracer", tmp / "bin", env=env)
    equal(sorted(p for p in got if p.startswith(str(tmp))), sorted(want), "libraries")


if __name__ == "__main__":
    main()
