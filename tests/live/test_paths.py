# SPDX-License-Identifier: MIT
"""Names byte for byte: odd bytes, long names, deep directories.

tests/progs/odd_names.c makes and uses the files and says their names.
"""
import functools
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import compare, trace_said  # noqa: E402

PROGRAM = BUILD / "tests/progs/odd_names"


@functools.lru_cache(None)
def traced():
    need_root()
    with tempfile.TemporaryDirectory(prefix="dft-paths-") as tmp:
        tmp = Path(tmp).resolve()
        work = tmp / "work"
        work.mkdir()
        try:
            t, said, _ = trace_said(tmp, [PROGRAM], cwd=work)
            check_with_reader(t.path)
        finally:
            run(["rm", "-rf", work]).want(0)  # too deep for Python
        return t, said


@test
def test_names_byte_for_byte(tmp):
    t, said = traced()
    equal(len(said.threads), 6, "threads that said something")
    compare(t, said)
    names = {dict(args).get("fhash", b"") for events in said.threads.values()
             for _, _, args in events}
    for length in (255, 300, 4095):
        check(any(len(n) == length or len(n.rpartition(b"/")[2]) == length or
                  n.startswith(os.fsencode(t.path.parent)) and
                  len(n.removeprefix(os.fsencode(t.path.parent) + b"/work/")) == length
                  for n in names), f"no name of {length} bytes was used")
    check(any(n.count(b"/") == 2047 for n in names), "no path of 2,047 components was used")


@test
def test_names_that_are_no_utf8(tmp):
    """args.name is valid with U+FFFD in the place of the bad bytes, args.raw the original in hex."""
    t, said = traced()
    seen = {True: 0, False: 0}
    for f in t.files:
        for r in f.records:
            if r["ph"] != 4 or r["name"] not in ("FH", "SH", "HH"):
                continue
            args = r["args"]
            raw = f.kinds[r["name"]][args["value"]]
            try:
                raw.decode("utf-8")
                good = True
            except UnicodeDecodeError:
                good = False
            seen[good] += 1
            equal(list(args), ["hhash", "name", "value"] + ([] if good else ["raw"]),
                  f"keys of the record of {raw!r}")
            equal(args["name"], raw.decode("utf-8", "replace"), f"text of {raw!r}")
            if not good:
                equal(args["raw"], raw.hex(), f"hex of {raw!r}")
    check(seen[True] > 50 and seen[False] > 20, f"valid and invalid names seen: {seen}")


@test
def test_each_name_once(tmp):
    """Distinct names have distinct hashes, and one record in each file before their first use."""
    t, said = traced()
    names = {}
    for f in t.files:
        declared = set()
        for r in f.records:
            args = r["args"]
            if r["ph"] == 4 and "value" in args:
                declared.add((r["name"], args["value"]))
                continue
            for key, value in args.items():
                if key.endswith("hash") and key not in ("hhash", "cmd_hash", "exec_hash",
                                                        "target_hash"):
                    check(("FH", value) in declared, f"{key} before its record: {r}")
        for value, name in f.kinds["FH"].items():
            equal(names.setdefault(value, name), name, f"name of hash {value}")


if __name__ == "__main__":
    main()
