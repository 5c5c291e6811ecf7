#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace check and summary on traces with runs of programs, made here."""
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import READER, check, dfhash, equal, main, test  # noqa: E402

HOST = "node01"
A, B = "00000000000000a1", "00000000000000b2"


def metadata(name, /, **args):
    return {"name": name, "cat": "dftracer", "type": 1, "pid": 7, "tid": 7, "ph": 4,
            "args": {"hhash": dfhash(HOST.encode()), **args}}


def event(number, name, cat, kind, /, ts=1000, **args):
    return {"id": number, "name": name, "cat": cat, "type": kind, "pid": 7, "tid": 7, "ts": ts, "dur": 5, "ph": 1,
            "args": {"hhash": dfhash(HOST.encode()), **args}}


def run(number, **args):
    return event(number, "job", "PROGRAM", 1, **args)


TOTALS = {"files": 2, "bytes_read": 5, "bytes_written": 0}


def sample():
    """Two runs, the first of which has two further parts, one of them late; a read; a part before its event."""
    name = {"name": "/data/in", "value": dfhash(b"/data/in")}
    return [
        metadata("HH", name=HOST, value=dfhash(HOST.encode())),
        event(1, "start", "dftracer", 1, version="x"),
        metadata("FH", **name),
        event(2, "read", "POSIX", 3, fhash=name["value"], ret=5),
        *(metadata("EH", id=i, type="file", store=2, uri="/data/in", fhash=name["value"]) for i in (A, B)),
        run(3, **TOTALS, relations={"used": [A]}),
        run(3, part=2, relations={"used": [B]}),
        run(4, part=2, relations={"generated": [A]}, ts=1001),
        event(5, "read", "POSIX", 3, fhash=name["value"], ret=5),
        run(3, part=3, relations={"updated": [B]}),
        run(4, **TOTALS, ts=1001),
        event(6, "end", "dftracer", 1, ts=1002, num_events=5),
    ]


def result(tmp, records, command="check"):
    path = tmp / "job.pfw.gz"
    path.write_bytes(gzip.compress(b"".join(json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records)))
    return subprocess.run([READER, command, path], capture_output=True, text=True, check=False)


def of(records, number, part=None):
    return next(r for r in records if r.get("id") == number and r["args"].get("part") == part)


def rule(name, edit, pattern):
    def fn(tmp):
        records = sample()
        edit(records)
        r = result(tmp, records)
        equal(r.returncode, 1, f"exit status: {r.stdout}")
        check(re.search(pattern, r.stdout + r.stderr), lambda: f"want {pattern}: {r.stdout}")
    fn.__name__ = f"test_rule_{name}"
    test(fn)


@test
def test_good(tmp):
    """Parts have the id of their event, wherever they stand, and are not counted."""
    r = result(tmp, sample())
    equal((r.returncode, r.stderr), (0, ""), r.stdout)
    check(re.search(r"\b6 events\b", r.stdout), r.stdout)


@test
def test_not_operations(tmp):
    """The summary has reads, and no operation of the name of a program."""
    r = result(tmp, sample(), "summary")
    equal(r.returncode, 0, r.stderr)
    check("2 events" in r.stdout and not re.search(r"^job\b", r.stdout, re.M), r.stdout)


rule("part_missing", lambda r: r.remove(of(r, 3, 2)), "args.part is 3, expected 2")
rule("part_twice", lambda r: r.insert(9, of(r, 3, 2)), "args.part is 2, expected 3")
rule("part_of_1", lambda r: of(r, 3, 2)["args"].update(part=1), "args.part is not an integer from 2 on")
rule("part_is_text", lambda r: of(r, 3, 2)["args"].update(part="2"), "args.part is not an integer from 2 on")
rule("event_twice", lambda r: r.insert(8, of(r, 3)), "a second event of the run with id 3")
rule("event_missing", lambda r: r.remove(of(r, 4)), "of the run with id 4 there are parts and no event")
rule("other_ts", lambda r: of(r, 3, 3).update(ts=1), "parts of the run with id 3 begin at different times")
rule("id_of_a_call", lambda r: of(r, 3, 3).update(id=2), "id is 2, expected 6")
rule("undeclared", lambda r: of(r, 3, 3)["args"].update(relations={"used": ["00000000000000c3"]}),
     "entity 00000000000000c3 has no EH record")
rule("totals", lambda r: of(r, 3)["args"].pop("files"), "PROGRAM: args.files is missing")


if __name__ == "__main__":
    main()
