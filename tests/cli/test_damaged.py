#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""300 damaged copies of a good trace through the commands that read traces: cut, bits flipped, bytes
lost, parts swapped. No crash, no hang, and nothing missing that is not told.

What a copy still holds is found out here, by zlib and json. A copy that is not the same any more must be
named on standard error or output, with the line or the gzip member, and the exit status is 1. The copies are
the same each time. The reader runs with AddressSanitizer and UBSan if it was built so (make tests-build).
"""
import concurrent.futures
import gzip
import json
import os
import random
import re
import subprocess
import sys
import zlib

import test_dftrace as base
from test_dftrace import Trace, check, equal, test

base.TESTS.clear()

# FILES are the copies, OUT a name of which there is no file yet. `check` tells faults on standard output.
COMMANDS = [c.split() for c in (
    "check FILES", "summary FILES", "summary --json FILES", "events --jsonl FILES", "events --sort dur:desc FILES",
    "timeline FILES", "entities --csv FILES", "edges --json FILES", f"lineage --time-aware FILES {7:016x}",
    "graph --dot FILES", "export --to perfetto FILES", "export --to prov-json FILES", "export --to sqlite -o OUT FILES",
    "merge --by-time -o OUT FILES")]
SANITIZED = base.BUILD / "san/dftrace"
READER = SANITIZED if SANITIZED.exists() else base.DFTRACE
COPIES = 300
BATCH = 25
TIMEOUT = 60
WHERE = r"(member \d+ at byte \d+|line \d+|cut|no gzip header|followed by|unfinished|cannot be read)"


def good_trace():
    """About 50 KB of lines of all kinds."""
    t = Trace(pid=77, cmd="python3;job.py")
    ids = [f"{i:016x}" for i in range(1, 40)]
    t.meta("ET", {"type": "data", "role": 1, "description": "d"})
    t.meta("PR", {"name": "rank", "value": "3"})
    for i, entity in enumerate(ids):
        t.meta("EH", {"id": entity, "type": "data", "store": 2, "uri": f"/data/{i}"})
        name = f"/data/caf\u00e9-{i % 7}"
        t.event("open", file=name, args={"flags": 0, "ret": 3})
        for k in range(3):
            t.event("pread", file=name, dur=i, args={"count": 4096, "offset": 4096 * k, "ret": 4096})
        t.event("stat", file=name, args={"flags": 0, "ret": -1, "errno": 2})
        t.event("step", cat="PROV", type=2, args={"note": "a \"b\" \\ \n", "relations": {"used": ids[:i + 1][-3:]}})
    t.aggregate("write", {"fhash": t.fh("/data/out"), "dft_cnt": 5, "dur_sum": 9, "dur_min": 1, "dur_max": 3,
                          "ret_sum": 50, "errors": 0})
    t.event("job.py", cat="PROGRAM", type=1, args={
        "files": 9, "bytes_read": 0, "bytes_written": 0, "relations": {"used": ids[:5], "generated": ids[5:9]}})
    return t.end()


# ---- damage ---------------------------------------------------------------------------------------

def flip(rng, data):
    at = rng.randrange(len(data) * 8)
    return data[:at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1:]


def cut(rng, data):
    return data[:rng.randrange(len(data))]


def lose(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randrange(1, 200):]


def swap(rng, data):
    a, b = sorted(rng.sample(range(len(data)), 2))
    return data[:a] + data[b:b + 50] + data[a:]


def zero(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes(min(64, len(data) - at)) + data[at + 64:]


DAMAGE = [flip, flip, flip, cut, cut, lose, swap, zero]


def damaged_copies(tmp):
    """[(path, whether all that was there is there, and nothing else)]"""
    t = good_trace()
    text = t.text()
    check(40_000 < len(text) < 80_000, f"{len(text)} bytes")
    offsets = t.gz(tmp / "good.pfw.gz", per_member=30)
    check(len(offsets) > 5, "several members")
    packed = (tmp / "good.pfw.gz").read_bytes()
    copies = []
    for i in range(COPIES):
        rng = random.Random(i)
        plain = i % 5 == 4
        data = text if plain else packed
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            data = rng.choice(DAMAGE)(rng, data) or b"x"
        path = tmp / f"{i:03}.pfw{'' if plain else '.gz'}"
        path.write_bytes(data)
        copies.append((path, is_whole(data, text) if not plain else has_all_lines(data, text)))
    return copies


def is_whole(data, text):
    """By the rules of gzip: members one after the other, nothing between, nothing behind."""
    out = b""
    try:
        while data:
            z = zlib.decompressobj(31)
            out += z.decompress(data)
            if not z.eof:
                return False
            data = z.unused_data
    except zlib.error:
        return False
    return out == text


def has_all_lines(data, text):
    """Plain text has no check sum: what is JSON still is believed. Lines must not be fewer."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else data.split(b"\n")
    if data.count(b"\n") < text.count(b"\n"):
        return False
    for line in lines:
        try:
            if line.strip() and not isinstance(json.loads(line.decode()), dict):
                return False
        except ValueError:
            return False
    return True


# ---- what the reader says -------------------------------------------------------------------------

def argv_of(command, files, out):
    return [READER, *(x for word in command for x in (files if word == "FILES" else [out] if word == "OUT" else [word]))]


def run_batch(command, copies, out):
    argv = argv_of(command, [path for path, _ in copies], out)
    try:
        p = subprocess.run(argv, capture_output=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
                           env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        return [f"{command}: hangs with {[c[0].name for c in copies]}"]
    names = f"{' '.join(command)} {copies[0][0].name} ... {copies[-1][0].name}"
    told = (p.stdout if command[0] == "check" else p.stderr).decode()
    found = re.search(r"(AddressSanitizer|runtime error|LeakSanitizer).*", p.stderr.decode(errors="replace"))
    bad = [f"{names}: {found.group()}"] if found else []
    if p.returncode not in (0, 1):
        bad.append(f"{names}: exit status {p.returncode}: {p.stderr[-300:]!r}")
    wrong = [path for path, whole in copies if not whole]
    if wrong and p.returncode != 1:
        bad.append(f"{names}: exit status {p.returncode}, but {wrong[0].name} is damaged")
    for path in wrong:
        lines = [line for line in told.splitlines() if path.name in line]
        if not any(re.search(path.name + ": .*" + WHERE, line) for line in lines):
            bad.append(f"{names}: {path.name} is damaged, and this is told of it: {lines[:2]}")
    if command[:2] == ["summary", "--json"] and p.returncode in (0, 1):
        equal(json.loads(p.stdout)["files"], len(copies), f"{names}: files")
    return bad


@test
def damage_is_told(tmp):
    copies = damaged_copies(tmp)
    check(sum(not whole for _, whole in copies) > COPIES * 0.8, "most copies are damaged")
    check(sum(whole for _, whole in copies) > 3, "in some, the damage is where it does not matter")
    jobs = [(c, copies[i:i + BATCH], tmp / f"out{k}-{i}") for k, c in enumerate(COMMANDS)
            for i in range(0, COPIES, BATCH)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bad = [b for found in pool.map(lambda job: run_batch(*job), jobs) for b in found]
    check(not bad, f"{len(bad)} faults: {bad[:5]}")


@test
def spoilt_lines_do_not_hide_their_member(tmp):
    """Of many faults the first few are told: that the member is damaged is one of them, and the first."""
    bad = bytearray(gzip.compress(b"no record\n" * 100))
    bad[-8] ^= 1  # of the check sum
    good = good_trace()
    good.gz(tmp / "p.pfw.gz", per_member=1000)
    data = (tmp / "p.pfw.gz").read_bytes()
    (tmp / "p.pfw.gz").write_bytes(data + bytes(bad))
    for command in (["check"], ["summary"]):
        p = subprocess.run([READER, *command, tmp / "p.pfw.gz"], capture_output=True, timeout=TIMEOUT)
        told = (p.stdout if command == ["check"] else p.stderr).decode().splitlines()
        check(p.returncode == 1 and len(told) >= 21, f"{command}: {told[:3]}")
        check(f" member 2 at byte {len(data)}: damaged" in told[0], f"{command}: {told[0]}")
        check(any("and 81 more" in line for line in told), f"{command}: {told[-2:]}")


@test
def check_tells_in_the_order_of_files(tmp):
    """Large and small ones in turn, so that the cores are done in another order."""
    paths = [tmp / f"{i:02d}.pfw" for i in range(30)]
    for i, path in enumerate(paths):
        text = good_trace().text() * (20 if i % 3 == 0 else 1)
        path.write_bytes(text + b"no record\n" * (i % 4))
    one = [base.run("check", p) for p in paths]
    both = base.run("check", *paths)
    equal(both.out.splitlines()[:-1], [x for r in one for x in r.out.splitlines()[:-1]])
    want = [base.run("check", "--json", p).json() for p in paths]
    got = base.run("check", "--json", *paths).json()
    equal(got["files"], [w["files"][0] for w in want])
    equal({k: sum(w["total"][k] for w in want) for k in got["total"]}, got["total"])


@test
def nothing_is_told_of_the_good_one(tmp):
    good_trace().gz(tmp / "good.pfw.gz", per_member=30)
    (tmp / "good.pfw").write_bytes(good_trace().text())
    for k, command in enumerate(COMMANDS):
        (tmp / str(k)).mkdir()
        (tmp / str(k) / "a.pfw.gz").write_bytes((tmp / "good.pfw.gz").read_bytes())
        (tmp / str(k) / "b.pfw").write_bytes((tmp / "good.pfw").read_bytes())
        p = subprocess.run(argv_of(command, [tmp / str(k)], tmp / f"out{k}"), capture_output=True,
                           timeout=TIMEOUT)
        equal((p.returncode, p.stderr), (0, b""), f"{command}: {p.stdout[-500:]}")


if __name__ == "__main__":
    sys.exit(base.main())
