#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The annotation header compiles everywhere, leaves the probes that it should, and says the same.

every_c.c and every_cpp.cpp use all of the interface. They are compiled in 45 ways, so that every
two of these meet: a standard, an optimization, a compiler, a way of linking. A file that is not
what was asked for, another note, or another word in what a listener hears is a failure.
"""
import atexit
import concurrent.futures
import functools
import itertools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))
from expected import (C_HEARD, C_PRINTED, CPP_HEARD, CPP_PRINTED,  # noqa: E402
                      DISABLED_PRINTED)
from probes import (ARGUMENTS, HERE, INCLUDE, PROBES, WARNINGS, build, code_at,  # noqa: E402
                    compile, events_of, hits_of, notes, run, sections, without_times)
from dfttest import check, equal, fail, main, need_program, test  # noqa: E402

STANDARDS = [("c", "c99"), ("c", "c11"), ("c", "c17"), ("c", "c2x"),
             ("cpp", "c++11"), ("cpp", "c++14"), ("cpp", "c++17"), ("cpp", "c++20"),
             ("cpp", "c++2b")]
OPTIMIZATIONS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
COMPILERS = ["gcc", "clang"]
LINKS = {
    "pie": (["-fPIE"], ["-pie"]),
    "no-pie": (["-fno-pie"], ["-no-pie"]),
    "static": (["-fno-pie"], ["-static"]),
    "shared": (["-fPIC"], ["-shared"]),
    "dlopen": (["-fPIC", "-fvisibility=hidden"], ["-shared"]),
}
SOURCE = {"c": HERE / "every_c.c", "cpp": HERE / "every_cpp.cpp"}
HEARD = {"c": C_HEARD, "cpp": CPP_HEARD}
PRINTED = {"c": C_PRINTED, "cpp": CPP_PRINTED}

# lea -128(%rsp),%rsp; nop of 5 bytes; lea 128(%rsp),%rsp
STEP_DOWN = bytes.fromhex("488d642480")
NOP5 = bytes.fromhex("0f1f440000")
STEP_UP = bytes.fromhex("488da42480000000")


def driver_of(lang, compiler):
    return {"c": compiler, "cpp": {"gcc": "g++", "clang": "clang++"}[compiler]}[lang]


class Cell:
    """One way of compiling: .subject is the file with the probes, .argv what runs it."""

    def __init__(self, lang, std, opt, compiler, link):
        self.lang, self.std, self.opt, self.compiler, self.link = lang, std, opt, compiler, link
        self.name = f"{compiler} -std={std} {opt} {link}"
        self.subject = self.argv = None

    def build(self, base):
        where = base / re.sub(r"\W+", "_", self.name)
        where.mkdir()
        cc = driver_of(self.lang, self.compiler)
        compiling, linking = LINKS[self.link]
        flags = [f"-std={self.std}", self.opt, *compiling, *WARNINGS, f"-I{INCLUDE}"]
        if self.link in ("shared", "dlopen"):
            export = ["-Devery_run=__attribute__((visibility(\"default\")))every_run"] \
                if self.link == "dlopen" else []
            self.subject = where / "libevery.so"
            compile([cc, *flags, *export, SOURCE[self.lang], *linking, "-o", self.subject])
            program = base / "by_dlopen"
            if self.link == "shared":
                program = where / "every"
                compile([cc, base / "driver.o", base / "listen.o", self.subject,
                         f"-Wl,-rpath,{where}", "-o", program])
            self.argv = [program, self.subject]
        else:
            self.subject = where / "every"
            source = where / "every.o"
            compile([cc, *flags, "-c", SOURCE[self.lang], "-o", source])
            compile([cc, *linking, source, base / "driver.o", base / "listen.o", "-o",
                     self.subject])
            self.argv = [self.subject]
        return self


def cells():
    for s, (lang, std) in enumerate(STANDARDS):
        for o, opt in enumerate(OPTIMIZATIONS):
            yield Cell(lang, std, opt, COMPILERS[(s + o) % 2], list(LINKS)[(s + o) % 5])


@functools.lru_cache(None)
def built():
    """All cells, compiled once, two at a time."""
    base = Path(tempfile.mkdtemp(prefix="dft-header-"))
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    driver_objects(base, "-O1")
    compile(["gcc", "-O1", *WARNINGS, "-DBY_DLOPEN", HERE / "driver.c", base / "listen.o",
             "-o", base / "by_dlopen"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda c: c.build(base), cells()))


def driver_objects(where, *flags, cc="gcc"):
    return [build(where / f"{name}.o", "-fPIC", *flags, "-c", HERE / f"{name}.c", cc=cc)
            for name in ("listen", "driver")]


def each_cell(look):
    """Calls look(cell) for all, and fails with the names of those that failed."""
    bad = {}
    for cell in built():
        try:
            look(cell)
        except AssertionError as e:
            bad[cell.name] = str(e)
    if bad:
        fail(f"{len(bad)} of {len(built())}: {bad}")


def own_notes(cell):
    """The notes, without those that the C++ library brings along when it is linked in."""
    found = notes(cell.subject)
    others = {"libstdcxx"} if (cell.lang, cell.link) == ("cpp", "static") else set()
    equal({n.provider for n in found} - others, {"dftracer"}, "providers")
    return [n for n in found if n.provider not in others]


def heard_by(argv):
    """(what every_run() printed each of the three times, what was heard each time)"""
    text = run(argv).want(0).out.decode().splitlines()
    listening = next(i for i, line in enumerate(text) if line.startswith("listening "))
    end = text.index("no more")
    times = text[:listening], text[listening + 1:end], text[end + 1:]
    return ([[line for line in t if not line.startswith("probe ")] for t in times],
            [events_of(hits_of(t)) for t in times])


def check_heard(argv, lang):
    said, heard = heard_by(argv)
    equal(said, [PRINTED[lang]] * 3, "printed")
    equal((heard[0], heard[2]), ([], []), "heard while nobody listens")
    got = without_times(heard[1])
    for n, (a, b) in enumerate(itertools.zip_longest(got, HEARD[lang])):
        equal(a, b, f"heard, number {n}")
    starts = [e[1].start for e in heard[1] if e[0] == "event"]
    check(min(starts) > 0, "an event without a start")


@test
def test_pairs_are_complete(tmp):
    """Every value of each axis meets every value of the others."""
    axes = ("std", "opt", "compiler", "link")
    values = {a: {getattr(c, a) for c in cells()} for a in axes}
    equal([len(values[a]) for a in axes], [9, 5, 2, 5], "sizes of the axes")
    for a, b in itertools.combinations(axes, 2):
        missing = set(itertools.product(values[a], values[b])) - {
            (getattr(c, a), getattr(c, b)) for c in cells()}
        check(not missing, f"{a} and {b} never meet: {sorted(missing)}")


@test
def test_matrix_compiles(tmp):
    need_program("gcc", "g++", "clang", "clang++")
    equal(len(built()), 45, "cells")


@test
def test_matrix_is_heard_alike(tmp):
    """All data that a listener gets, and ids, are the same however it was compiled."""
    each_cell(lambda c: check_heard(c.argv, c.lang))


@test
def test_matrix_notes(tmp):
    def look(cell):
        found = own_notes(cell)
        equal({n.name for n in found}, PROBES, "names")
        equal({n.arguments for n in found}, {ARGUMENTS}, "arguments")
        where = sections(cell.subject)
        start, _, size, _ = where[".probes"]
        for n in found:
            check(start <= n.semaphore < start + size, f"semaphore of {n} is not in .probes")
            equal(n.base, where[".stapsdt.base"][0], f"base of {n}")
        equal(len({(n.name, n.semaphore) for n in found}), len(PROBES), "semaphores")
        equal(len({n.pc for n in found}), len(found), "addresses")

    each_cell(look)


@test
def test_matrix_sites(tmp):
    """Each probe is on a nop of one byte."""
    def look(cell):
        for n in own_notes(cell):
            equal(code_at(cell.subject, n.pc, 0, 1), b"\x90", f"code of {n.name}")

    each_cell(look)


@test
def test_sites_disassembled(tmp):
    """The same as a disassembler tells it."""
    cell = next(c for c in built() if c.link == "pie")
    text = run(["objdump", "-d", "--no-show-raw-insn", cell.subject]).want(0).out.decode()
    lines = [line.split(":", 1) for line in text.splitlines() if re.match(r"\s*[0-9a-f]+:", line)]
    code = [(int(at, 16), " ".join(words.split())) for at, words in lines]
    index = {at: n for n, (at, _) in enumerate(code)}
    for n in notes(cell.subject):
        at = index[n.pc]
        equal(code[at][1], "nop", f"at {n.name}")


@test
def test_c_as_cpp(tmp):
    """The C interface is there in C++, too."""
    for cc in ("g++", "clang++"):
        obj = tmp / f"{cc}.o"
        build(obj, "-std=c++17", "-O2", "-x", "c++", "-c", HERE / "every_c.c", cc=cc)
        compile([cc, obj, *driver_objects(tmp), "-o", tmp / cc])
        check_heard([tmp / cc], "c")


@test
def test_whole_program_optimization(tmp):
    for cc in ("gcc", "clang"):
        for lang, std in (("c", "c11"), ("cpp", "c++17")):
            cxx = driver_of(lang, cc)
            out = tmp / f"{cc}-{lang}"
            build(out, f"-std={std}", "-O2", "-flto", SOURCE[lang],
                  *driver_objects(tmp, "-O2", "-flto", cc=cc), cc=cxx)
            equal({n.name for n in notes(out)}, PROBES, "names")
            check_heard([out], lang)


@test
def test_whole_program_optimization_keeps_semaphores(tmp):
    """A probe that is not guarded: nothing but its note names the semaphore."""
    (tmp / "bare.c").write_text(
        "#include <dftracer/usdt.h>\nDFTRACER_USDT_DEFINE(p, q)\n"
        "int main(void) { DFTRACER_USDT(p, q, 0, 0, 0, 0, 0, 0); return 0; }\n")
    for cc in ("gcc", "clang"):
        found = notes(build(tmp / "bare", "-O2", "-flto", tmp / "bare.c", cc=cc))
        check(len(found) == 1 and found[0].semaphore, f"notes under {cc}: {found}")


@test
def test_old_move(tmp):
    """C++11 without the elision of copies: regions that move are reported once."""
    for cc in ("g++", "clang++"):
        obj = tmp / f"{cc}.o"
        build(obj, "-std=c++11", "-O1", "-fno-elide-constructors", "-c", SOURCE["cpp"], cc=cc)
        compile([cc, obj, *driver_objects(tmp), "-o", tmp / cc])
        check_heard([tmp / cc], "cpp")


@test
def test_intel_syntax(tmp):
    for cc in ("gcc", "clang"):
        out = build(tmp / cc, "-O2", "-masm=intel", SOURCE["c"], HERE / "driver.c",
                    HERE / "listen.c", cc=cc)
        check_heard([out], "c")


@test
def test_strict_warnings(tmp):
    """Warnings that some projects turn on."""
    more = ["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wundef", "-Wcast-qual",
            "-Wcast-align", "-Wnull-dereference", "-Wwrite-strings", "-Wformat=2"]
    for cc in ("gcc", "clang"):
        build(tmp / "o", "-std=c11", "-O2", *more, "-Wstrict-prototypes", "-Wmissing-prototypes",
              "-c", SOURCE["c"], cc=cc)
        build(tmp / "o", "-std=c++17", "-O2", *more, "-Wold-style-cast", "-Wnon-virtual-dtor",
              "-Woverloaded-virtual", "-c", SOURCE["cpp"], cc=driver_of("cpp", cc))


@test
def test_disabled(tmp):
    """-DDFTRACER_DISABLE: no note, no symbol, no evaluated argument, ids 0."""
    for cc in ("gcc", "clang"):
        for lang, opt in itertools.product(("c", "cpp"), ("-O0", "-O2")):
            obj = tmp / "every.o"
            build(obj, opt, "-DDFTRACER_DISABLE", "-c", SOURCE[lang], cc=driver_of(lang, cc))
            there = set(sections(obj)) & {".note.stapsdt", ".probes", ".stapsdt.base"}
            equal(there, set(), f"sections under {cc} {opt}")
            symbols = run(["nm", obj]).want(0).out.decode()
            ours = re.compile(r"dftracer|dft_(?!entity_hex)|\b_ZNK?8DFTracer")
            equal([s for s in symbols.splitlines() if ours.search(s)], [],
                  f"symbols under {cc} {opt}")
            out = tmp / "every"
            compile([driver_of(lang, cc), obj, "-o", out, HERE / "plain.c"]
                    if lang == "c" else [driver_of(lang, cc), obj, "-x", "c", HERE / "plain.c",
                                         "-o", out])
            said = run([out]).want(0).out.decode().splitlines()
            equal(said, DISABLED_PRINTED[lang], f"printed under {cc} {opt}")


@test
def test_disabled_needs_nothing(tmp):
    """Every variable that only macros use counts as used, and an if holds a lone macro."""
    (tmp / "u.c").write_text(
        "#include <dftracer/dftracer.h>\n"
        "int f(int a, const char *s);\n"
        "int f(int a, const char *s)\n{\n"
        "\tEntityID id = DFTRACER_C_ENTITY(s, s, DFT_STORE_MEMORY, s);\n"
        "\tint set = 0;\n\n\tset = a + 1;\n"
        "\tDFTRACER_C_FUNCTION_START();\n"
        "\tDFTRACER_C_REGION_START(R);\n"
        "\tif (a)\n\t\tDFTRACER_C_FUNCTION_UPDATE_INT(s, set);\n"
        "\tDFTRACER_C_ENTITY(s, s, DFT_STORE_MEMORY, s);\n"
        "\tDFTRACER_C_REGION_RELATE(R, DFT_REL_USED, id);\n"
        "\treturn a;\n}\n")
    for cc, std in (("gcc", "c99"), ("clang", "c99"), ("g++", "c++11"), ("clang++", "c++11")):
        for disable in ([], ["-DDFTRACER_DISABLE"]):
            lang = ["-x", "c++"] if "++" in cc else []
            build(tmp / "o", f"-std={std}", "-O2", *disable, *lang, "-c", tmp / "u.c", cc=cc)


@test
def test_frames(tmp):
    """A region takes at most 512 bytes of its function's frame."""
    for cc in ("gcc", "clang"):
        for lang, opt in itertools.product(("c", "cpp"), OPTIMIZATIONS):
            build(tmp / "o", opt, "-Wframe-larger-than=560", "-c", HERE / f"frames.{lang}",
                  cc=driver_of(lang, cc))


@test
def test_unused_probes_are_not_there(tmp):
    """A file that only includes the header has no probe; one that uses regions has theirs."""
    (tmp / "none.c").write_text("#include <dftracer/dftracer.h>\nint main(void) { return 0; }\n")
    (tmp / "some.c").write_text(
        "#include <dftracer/dftracer.h>\n"
        "int main(void) { DFTRACER_C_FUNCTION_START(); return 0; }\n")
    for cc in ("gcc", "clang"):
        for opt in ("-O0", "-O2"):
            equal(notes(build(tmp / "none", opt, tmp / "none.c", cc=cc)), [], f"{cc} {opt}")
            check({"event"} <= {n.name for n in notes(build(tmp / "some", opt, tmp / "some.c",
                                                            cc=cc))}, f"{cc} {opt}: no event")


@test
def test_one_semaphore_for_all_files(tmp):
    """Two files and a C++ one of a program share the semaphore; a library has its own."""
    for n, kind in enumerate(("c", "c", "cpp")):
        (tmp / f"f{n}.{kind}").write_text(
            "#include <dftracer/dftracer.h>\n"
            '#ifdef __cplusplus\nextern "C"\n#endif\n'
            f"void f{n}(void);\nvoid f{n}(void) {{ DFTRACER_C_REGION_START(r{n}) }}\n")
    (tmp / "main.c").write_text(
        "void f0(void); void f1(void); void f2(void);\n"
        "int main(void) { f0(); f1(); f2(); return 0; }\n")
    library = build(tmp / "libf1.so", "-fPIC", "-shared", tmp / "f1.c")
    out = build(tmp / "all", "-O1", tmp / "f0.c", tmp / "f1.c", tmp / "main.c",
                build(tmp / "f2.o", "-O1", "-c", tmp / "f2.cpp", cc="g++"))
    events = [n for n in notes(out) if n.name == "event"]
    check(len(events) >= 3, f"{len(events)} probes of 3 files")
    equal(len({n.semaphore for n in events}), 1, "semaphores of three files")
    split = build(tmp / "split", tmp / "f0.c", tmp / "main.c", tmp / "f2.o", library)
    equal(len({n.semaphore for n in notes(split) if n.name == "event"}), 1, "of two files")
    equal(len({n.semaphore for n in notes(library) if n.name == "event"}), 1, "of the library")
    symbols = run(["nm", "-D", library]).want(0).out.decode()
    check("semaphore" not in symbols, f"the semaphore is visible outside: {symbols}")


@test
def test_many_sites(tmp):
    """Thousands of probes of one file, each with its own note."""
    (tmp / "many.c").write_text(
        "#include <dftracer/usdt.h>\n"
        "DFTRACER_USDT_DEFINE(game, score)\n"
        "#define ONE(n) DFTRACER_USDT(game, score, n, argv, 0, 0, 0, 0);\n"
        "#define TEN(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n) ONE(n)\n"
        "#define HUNDRED(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n) TEN(n)\n"
        "#define THOUSAND(n) HUNDRED(n) HUNDRED(n) HUNDRED(n) HUNDRED(n) HUNDRED(n) HUNDRED(n) "
        "HUNDRED(n) HUNDRED(n) HUNDRED(n) HUNDRED(n)\n"
        "int main(int argc, char **argv)\n{\n"
        "\tif (DFTRACER_USDT_ENABLED(game, score)) {\n\t\tTHOUSAND(argc)\n\t\tTHOUSAND(2)\n\t}\n"
        "\treturn 0;\n}\n")
    for cc in ("gcc", "clang"):
        found = notes(build(tmp / cc, "-O2", tmp / "many.c", cc=cc))
        equal(len({n.pc for n in found}), 2000, "addresses")
        equal({(n.provider, n.name, n.arguments) for n in found}, {("game", "score", ARGUMENTS)})


@test
def test_five_byte_nop(tmp):
    """On request: behind the red zone."""
    for cc in ("gcc", "clang"):
        out = build(tmp / f"nop5-{cc}", "-O2", "-DDFTRACER_USDT_NOP5", SOURCE["c"],
                    HERE / "plain.c", cc=cc)
        found = notes(out)
        equal({n.name for n in found}, PROBES)
        for n in found:
            code = code_at(out, n.pc, len(STEP_DOWN), len(NOP5) + len(STEP_UP))
            equal(code, STEP_DOWN + NOP5 + STEP_UP, f"code around {n.name}")


@test
def test_discarded_with_their_function(tmp):
    """Of equal inline functions of several files one is kept, with one note."""
    (tmp / "i.h").write_text(
        "#include <dftracer/usdt.h>\nDFTRACER_USDT_DEFINE(p, q)\n"
        "struct s { __attribute__((noinline)) void f() "
        "{ DFTRACER_USDT(p, q, this, 0, 0, 0, 0, 0); } };\n")
    for n in (0, 1):
        (tmp / f"i{n}.cpp").write_text(
            f'#include "i.h"\nvoid g{n}();\nvoid g{n}() {{ s x; x.f(); }}\n')
    (tmp / "m.cpp").write_text("void g0(); void g1();\nint main() { g0(); g1(); return 0; }\n")
    for cc in ("g++", "clang++"):
        equal(len(notes(build(tmp / "i", "-O2", *(tmp / n for n in ("i0.cpp", "i1.cpp", "m.cpp")),
                              cc=cc))), 1, f"notes under {cc}")


@test
def test_other_processors(tmp):
    """AArch64 has probes; elsewhere the same source compiles, with one remark, and does nothing."""
    need_program("clang")
    (tmp / "u.c").write_text(
        "#include <dftracer/usdt.h>\n#include <dftracer/usdt.h>\n"
        "DFTRACER_USDT_DEFINE(dftracer, event)\n"
        "int f(long a, const char *s);\nint f(long a, const char *s)\n{\n"
        "\tif (DFTRACER_USDT_ENABLED(dftracer, event))\n"
        "\t\tDFTRACER_USDT(dftracer, event, s, \"x\", a, 4, 5, sizeof(a));\n"
        "\treturn a > 0;\n}\n")
    arm = build(tmp / "arm.o", "--target=aarch64-linux-gnu", "-O2", "-c", tmp / "u.c", cc="clang")
    equal([(n.provider, n.name, n.arguments) for n in notes(arm)],
          [("dftracer", "event", "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5")])
    for target in ("riscv64-linux-gnu", "i386-linux-gnu", "x86_64-linux-gnux32"):
        for std in ("c99", "c++11"):
            r = compile(["clang", f"--target={target}", *WARNINGS, f"-std={std}", f"-I{INCLUDE}",
                         "-O2", "-fno-caret-diagnostics", "-x", "c" if std == "c99" else "c++", "-c", tmp / "u.c", "-o",
                         tmp / "o"])
            equal(r.err.count(b"no probes on this processor"), 1, f"remarks for {target}")
            check(".note.stapsdt" not in sections(tmp / "o"), f"a note on {target}")


if __name__ == "__main__":
    main()
