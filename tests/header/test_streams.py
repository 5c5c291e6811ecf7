#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What probes carry, to the last byte: long and odd strings, parts, threads; handles and objects."""
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))
from probes import HERE, build, events_of, hits_of, run  # noqa: E402
from dfttest import check, equal, main, need_program, test  # noqa: E402

COMPILERS = (("gcc", "g++"), ("clang", "clang++"))


def truth_of(lines):
    """{tid: [what the program says it told]}, in the form of events_of()."""
    def take_item(words):
        kind = next(words, None)
        if kind is None:
            return None
        if kind == "rel":
            return "rel", int(next(words)), int(next(words))
        mt, key, value = int(next(words)), bytes.fromhex(next(words)[1:]), next(words)
        return kind, mt, key, int(value) if kind == "int" else bytes.fromhex(value[1:])

    said = {}
    for line in lines:
        words = iter(line.split(" "))
        if next(words) != "truth":
            continue
        tid, what = int(next(words)), next(words)
        first, second = (bytes.fromhex(next(words)[1:]) for _ in range(2))
        if what == "metadata":
            entry = ("metadata", first, second)
        else:
            code = int(next(words))
            entry = ("event", first, second, code, list(iter(lambda: take_item(words), None)))
        said.setdefault(tid, []).append(entry)
    return said


def heard_of(hits):
    heard = []
    for s in events_of(hits):
        if s[0] == "event":
            heard.append(("event", s[1].name, s[1].cat, s[1].code, s[1].items))
        else:
            heard.append(("metadata", s[3], s[4]))
    return heard


def streams(tmp, cc, cxx, *flags):
    listener = build(tmp / "listen.o", "-O1", "-g", "-c", HERE / "listen.c", cc=cc)
    return build(tmp / f"streams-{cc}", "-std=c++17", "-g", *flags, HERE / "streams.cpp", listener,
                 "-lpthread", cc=cxx)


def check_streams(program, seed, count, threads):
    text = run([program, str(seed), str(count), str(threads)]).want(0).out.decode().splitlines()
    truth = truth_of(text)
    hits = hits_of(text)
    equal(len(truth), threads, "threads")
    check(any(h.probe == "part" for h in hits), "no part")
    equal({h.tid for h in hits}, set(truth), "threads that fired")
    for tid, said in truth.items():
        heard = heard_of([h for h in hits if h.tid == tid])
        for n, (a, b) in enumerate(itertools.zip_longest(heard, said)):
            equal(a, b, f"thread {tid}, number {n}")


@test
def test_random_regions(tmp):
    """Everything told arrives, in order and whole, whatever its length."""
    for (cc, cxx), opt in zip(COMPILERS, ("-O2", "-O0")):
        program = streams(tmp, cc, cxx, opt)
        for seed in (1, 2):
            check_streams(program, seed * 100, 700, 1)


@test
def test_random_regions_of_threads(tmp):
    check_streams(streams(tmp, "gcc", "g++", "-O2"), 7, 200, 8)


@test
def test_random_regions_under_sanitizers(tmp):
    program = streams(tmp, "gcc", "g++", "-O1", "-fsanitize=address,undefined",
                      "-fno-sanitize-recover=all")
    run([program, "5", "3000", "4", "deaf"]).want(0)


@test
def test_no_race_under_tsan(tmp):
    program = streams(tmp, "clang", "clang++", "-O1", "-fsanitize=thread")
    run([program, "5", "1000", "4", "deaf"]).want(0)


@test
def test_listeners_come_and_go(tmp):
    """A region is told of when somebody listened at its beginning and somebody does at its end."""
    for cc, opt in itertools.product(("gcc", "clang"), ("-O0", "-O2")):
        text = run([build(tmp / "gone", opt, HERE / "gone.c", HERE / "listen.c", cc=cc)]).want(0)
        want = []
        for word in (b"back again", b"stayed"):
            want += [
                ("event", b"region", b"C_APP", 2,
                 [("str", 0, b"first", word), ("str", 0, b"second", word)]),
                ("event", b"handle", b"c", 2, [("str", 0, b"second", word)]),
                ("metadata", word, b"fact"),
            ]
        equal(heard_of(hits_of(text.out.decode().splitlines())), want, f"heard under {cc} {opt}")


SAFE = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@+=,~ ")
RELATIONS = {0: "used", 1: "generated", 2: "invalidated", 3: "updated", 16: "derived_from",
             17: "revision_of", 18: "contains", 19: "part_of", 20: "specialization_of",
             21: "alternate_of", 22: "depends_on"}


def sanitized(string, most):
    return bytes(b if b in SAFE else ord("_") for b in string[:most])


def fnv(data):
    value = 1469598103934665603
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return value or 1


@test
def test_strings_of_entities(tmp):
    """Cut to 31 and 255 bytes, what is not allowed is _, and the id is of the type as it is sent."""
    for cc, flags in (("gcc", ["-O1", "-fsanitize=address,undefined"]), ("clang", ["-O2"])):
        program = build(tmp / "entities", *flags, HERE / "entities.c", HERE / "listen.c", cc=cc)
        lines = run([program]).want(0).out.decode().splitlines()
        told = [line.split(" ") for line in lines if line.startswith("told ")]
        equal(len(told), 266, "entities told of")
        heard = events_of(hits_of(lines))
        for n, (_, length, first, *rest) in enumerate(told):
            string = bytes(1 + (int(first) + i) % 255 for i in range(int(length)))
            kind, uri = sanitized(string, 31), sanitized(string, 255)
            value = fnv(kind + b"\x1f" + string)
            equal(heard[2 * n:2 * n + 2],
                  [("entity", kind, uri, value, 8),
                   ("entity_type", kind, uri, fnv(kind + b"\x1f"), 2)], f"heard of {string!r}")
            equal(" ".join(rest), f"{value:016x} {sanitized(string, 7).decode()} "
                  f"{int(string[0] in SAFE) if string else -1}", f"told of {string!r}")
        equal([line for line in lines if line.startswith(("cut", "hash"))], ["cut 0", "hash 1 1 1"])
        equal([line for line in lines if line.startswith("name")],
              [f"name {i} {RELATIONS.get(i, 'related')} {int(i < 16)}" for i in range(24)])


WRAP = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"


@test
def test_handles(tmp):
    for cc, _ in COMPILERS:
        for opt in ("-O0", "-O2"):
            run([build(tmp / "handles", opt, WRAP, HERE / "handles.c", "-lpthread", cc=cc)]).want(0)


@test
def test_handles_under_sanitizers(tmp):
    for cc, flags in (("gcc", "-fsanitize=address,undefined"), ("clang", "-fsanitize=thread")):
        run([build(tmp / "handles", "-O1", "-g", flags, WRAP, HERE / "handles.c", "-lpthread",
                   cc=cc)]).want(0)


@test
def test_idle_object(tmp):
    for (_, cxx), opt, std in itertools.product(COMPILERS, ("-O0", "-O2", "-O3"),
                                                ("c++11", "c++17")):
        run([build(tmp / "idle", opt, f"-std={std}", "-Wl,--wrap=malloc", HERE / "idle.cpp",
                   "-lpthread", cc=cxx)]).want(0)


@test
def test_idle_object_under_sanitizers(tmp):
    for cxx, flags in (("g++", "-fsanitize=address,undefined"), ("clang++", "-fsanitize=thread")):
        run([build(tmp / "idle", "-O1", "-g", "-std=c++17", flags, "-Wl,--wrap=malloc",
                   HERE / "idle.cpp", "-lpthread", cc=cxx)]).want(0)


@test
def test_no_system_calls(tmp):
    """Thousands of regions with a listener ask nothing of the kernel."""
    need_program("strace")
    for cc, _ in COMPILERS:
        program = build(tmp / "calls", "-O1", HERE / "calls.c", cc=cc)
        log = tmp / "log"
        run(["strace", "-f", "-o", log, program]).want(0)
        lines = log.read_text().splitlines()
        at = {word: next(n for n, line in enumerate(lines) if f'write(1, "{word}' in line)
              for word in ("begin", "end")}
        between = lines[at["begin"] + 1:at["end"]]
        check(not between, f"{len(between)} calls between, the first ones {between[:3]}")


@test
def test_strings_are_touched(tmp):
    """The name's page is read before the probe, also when its length is known beforehand."""
    for cc, opt in itertools.product(("gcc", "clang"), ("-O0", "-O3")):
        program = build(tmp / "touch", opt, HERE / "touch.c", cc=cc, warnings=[])
        equal(run([program]).want(0).out.split(), [b"0000", b"1110"], f"pages read, {cc} {opt}")


if __name__ == "__main__":
    main()
