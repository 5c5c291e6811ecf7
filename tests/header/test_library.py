#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libdftracer.so: what it exports, and that its functions say the same as those of the header."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))
from expected import C, PYTHON, entity_hash  # noqa: E402
from probes import (ARGUMENTS, HERE, INCLUDE, PROBES, build, events_of,  # noqa: E402
                    hits_of, notes, run)
from dfttest import BUILD, ROOT, check, equal, main, test  # noqa: E402

LIBRARY = BUILD / "libdftracer.so"

OF_DFTRACER = {
    "initialize_main", "initialize_no_bind", "finalize", "set_app_metadata_int",
    "set_app_metadata_string", "mark_used", "dftracer_declare_entity",
    "dftracer_declare_entity_type", "dftracer_relate_entities", "initialize_region",
    "finalize_region", "finalize_region_cleanup", "update_metadata_int", "update_metadata_string",
    "update_metadata_int_type", "update_metadata_string_type", "update_relation",
    "update_relation_entity", "get_time", "log_event",
}
OURS = {
    "dftracer_region_open", "dftracer_region_int", "dftracer_region_float",
    "dftracer_region_times", "dftracer_region_drop", "dftracer_metadata_str",
    "dftracer_metadata_int", "dftracer_entity_id", "dftracer_listeners",
}

FILE = entity_hash("file", "/data/a.bin")

HEARD = [
    ("metadata", 2, C, b"C_APP", 1),
    ("metadata", 1, C, b"n", -1),
    ("metadata", 1, C, b"s", b"x"),
    ("entity", b"file", b"/data/a.bin", FILE, 2),
    ("event", b"region", b"PROV", C,
     [("int", 0, b"i", 1), ("str", 0, b"s", b"v"), ("int", 1, b"it", 2), ("str", 2, b"st", b"w"),
      ("rel", 0, 7), ("rel", 1, FILE)]),
    ("entity", b"sequence", b"", entity_hash("sequence", "MGYP0001"), 0),
    ("entity_type", b"file", b"read", entity_hash("file", ""), 1),
    ("relation", 18, 1, 2),
    ("metadata", 0, C, b"key", b"value"),
    ("event", b"open", b"py", PYTHON,
     [("int", 0, b"big", -2**63), ("float", 1, b"pi", 3.25), ("str", 0, b"s", b"m" * 3000),
      ("rel", 0, 3)]),
    ("metadata", 0, PYTHON, b"key", b"m" * 3000),
    ("metadata", 1, PYTHON, b"key", 2**63 - 1),
    ("metadata", 2, PYTHON, b"PYTHON", 1),
    ("event", b"logged", b"py", C, [("dur", 250000)]),
    ("event", b"timed", b"py", PYTHON, [("dur", 0), ("int", 0, b"n", 1)]),
]


@test
def test_exports(tmp):
    """Exactly these symbols, and nothing that an application could have one of as well."""
    text = run(["nm", "-D", "--defined-only", LIBRARY]).want(0).out.decode()
    symbols = dict(reversed(line.split()[1:]) for line in text.splitlines())
    equal(set(symbols), OF_DFTRACER | OURS, "symbols")
    equal(set(symbols.values()), {"T"}, "kinds of symbols")


@test
def test_probes(tmp):
    found = notes(LIBRARY)
    equal({n.name for n in found}, PROBES)
    equal({(n.provider, n.arguments) for n in found}, {("dftracer", ARGUMENTS)})


@test
def test_needs_only_the_c_library(tmp):
    text = run(["readelf", "-d", LIBRARY]).want(0).out.decode()
    needed = [line.split("[")[1].split("]")[0] for line in text.splitlines() if "(NEEDED)" in line]
    equal(needed, ["libc.so.6"])
    check("(SONAME)" in text and "[libdftracer.so" in text, f"no name: {text}")


@test
def test_says_what_the_header_says(tmp):
    program = build(tmp / "library", "-O1", f"-I{ROOT}", HERE / "library.c", HERE / "listen.c",
                    LIBRARY, f"-Wl,-rpath,{os.path.dirname(os.path.abspath(LIBRARY))}")
    lines = run([program], env={"LD_LIBRARY_PATH": str(BUILD)}).want(0).out.decode().splitlines()
    at = lines.index(next(line for line in lines if line.startswith("listening ")))
    equal(hits_of(lines[:at]), [], "hits while nobody listens")
    said = events_of(hits_of(lines))
    heard = [("event", s[1].name, s[1].cat, s[1].code, s[1].items) if s[0] == "event" else s
             for s in said]
    for n, (a, b) in enumerate(zip(heard, HEARD)):
        equal(a, b, f"number {n}")
    equal(len(heard), len(HEARD), "how many")
    ids = [f"id {i}" for i in (f"{FILE:016x}", "d824b0bb91487885", "bab6475a3dba6198")]
    equal([line for line in lines if line.startswith("id ")], ids * 2, "ids")
    equal([line for line in lines if line.startswith("listeners ")],
          ["listeners 0", f"listeners {len([n for n in notes(LIBRARY) if n.name == 'event'])}"])
    check_times(lines[at:], [s[1] for s in said if s[0] == "event"])


def check_times(lines, events):
    """get_time() is the time of day, and log_event() undoes what get_time() did."""
    before, t, after = (int(w) for w in
                        next(x for x in lines if x.startswith("time ")).split()[1:])
    first, last = (int(w) for w in next(x for x in lines if x.startswith("mono ")).split()[1:])
    second = 10**9
    check(before - second <= t * 1000 <= after + second, f"get_time() is {t}: {before} {after}")
    logged = next(e for e in events if e.name == b"logged")
    timed = next(e for e in events if e.name == b"timed")
    check(first - 1000 <= logged.start <= last, f"start {logged.start}: {first} {last}")
    equal(timed.start - logged.start, 1000000, "distance of two starts, ns")


if __name__ == "__main__":
    main()
