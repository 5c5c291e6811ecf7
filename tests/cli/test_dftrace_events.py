#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace events and timeline: conditions, columns, orders, sums by time.

The traces are written here, and what is expected is computed here from the same lines.
Run from anywhere: python3 tests/cli/test_dftrace_events.py [NAME-PART...]
"""
import collections
import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import test_dftrace as base
import tracelines
from test_dftrace import DFTRACE, TIMEOUT, Trace, check, equal, one_line, run

TESTS = base.TESTS
TESTS.clear()  # those of the other file
test = base.test


def make(tmp, seed=1, procs=3, n=150):
    rng = random.Random(seed)
    for i in range(procs):
        t = tracelines.busy(Trace, rng, 5000 + 10 * i, n, host=f"host{i % 2}", exe=f"prog{i}")
        t.meta("PR", {"name": "rank", "value": str(i)})
        t.event("write", file="/data/big", dur=9, args={
            "ret": 3 << 20, "note": "a.b", "deep": {"x": {"y": 5}, "z.w": 1.5}, "flag": True})
        t.event("copy_file_range", file="/data/big", args={"other_fhash": t.fh("/data/copy"),
                                                           "ret": 100})
        t.aggregate("pread", {"fhash": t.fh("/data/big"), "dft_cnt": 7, "dur_sum": 70, "dur_min": 1,
                              "dur_max": 30, "ret_sum": 7000, "errors": 0, "last": t.ts + 500})
        t.aggregate("read", {"fhash": t.fh("pipe:[77]"), "dft_cnt": 5, "dur_sum": 9, "dur_min": 1,
                             "dur_max": 3, "ret_sum": 4096, "errors": 0, "last": t.ts + 100})
        t.end().gz(tmp / f"p{i}.pfw.gz")
    return tracelines.lines(tmp)


def kept(all_lines):
    return [x for x in all_lines if x.rec["ph"] in (1, 3)]


class Fields:
    """The fields of a record, by the documented meaning."""

    def __init__(self, all_lines):
        self.fh = tracelines.names(all_lines, "FH")
        self.hh = tracelines.names(all_lines, "HH")
        self.exe, self.ranks = {}, {}
        sh = tracelines.names(all_lines, "SH")
        seen_rank = {}
        for x in all_lines:
            if x.rec["name"] == "start":
                self.exe[x.path] = sh[x.args["exec_hash"]]
            if x.rec["name"] == "PR":
                seen_rank[x.path] = (x.number, int(x.args["value"]))
        self.ranks = seen_rank

    def __call__(self, x):
        f = {k: x.rec[k] for k in ("id", "name", "cat", "type", "pid", "tid", "ts", "dur", "ph")
             if k in x.rec}
        f["file"] = self.fh.get(x.args.get("fhash"), None)
        f["other"] = self.fh.get(x.args.get("other_fhash"), None)
        f["host"] = self.hh.get(x.args.get("hhash"), None)
        f["program"] = self.exe[x.path]
        rank = self.ranks[x.path]
        f["rank"] = rank[1] if x.number > rank[0] else None
        moved = x.rec["name"] in tracelines.READS | tracelines.WRITES | {"copy_file_range"}
        f["bytes"] = None
        if moved:
            f["bytes"] = x.args["ret_sum"] if x.rec["ph"] == 3 else max(x.args.get("ret", 0), 0)
        f["source"], f["line"] = x.path.encode(), x.number
        return collections.defaultdict(lambda: None, {k: v.encode() if isinstance(v, str) else v
                                                      for k, v in f.items()})


def arg(x, *keys):
    v = x.args
    for k in keys:
        if not isinstance(v, dict) or k not in v:
            return None
        v = v[k]
    return v


def lt(a, b):
    return a is not None and isinstance(a, (int, float)) and a < b


def gt(a, b):
    return a is not None and isinstance(a, (int, float)) and a > b


def search(pattern, s):
    return s is not None and re.search(pattern, s) is not None


# (condition, the same in Python: of the fields f and the line x)
CONDITIONS = [
    ('name == "read"', lambda f, x: f["name"] == b"read"),
    ("name == 'read'", lambda f, x: f["name"] == b"read"),
    ('name != "read"', lambda f, x: f["name"] != b"read"),
    ('name=="read"', lambda f, x: f["name"] == b"read"),
    ('not name == "read"', lambda f, x: f["name"] != b"read"),
    ('not not name == "read"', lambda f, x: f["name"] == b"read"),
    ('name in ("read", "write")', lambda f, x: f["name"] in (b"read", b"write")),
    ('not name in ("read","write")', lambda f, x: f["name"] not in (b"read", b"write")),
    ('name ~ "^p"', lambda f, x: f["name"].startswith(b"p")),
    ('name !~ "^p"', lambda f, x: not f["name"].startswith(b"p")),
    ('name ~ "(read|write)$"', lambda f, x: search(b"(read|write)$", f["name"])),
    ('name < "open"', lambda f, x: f["name"] < b"open"),
    ('name >= "pwrite"', lambda f, x: f["name"] >= b"pwrite"),
    ('cat == "app"', lambda f, x: f["cat"] == b"app"),
    ("type == 2", lambda f, x: f["type"] == 2),
    ("type in (1, 2)", lambda f, x: f["type"] in (1, 2)),
    ("ph == 3", lambda f, x: f["ph"] == 3),
    ("pid == 5010", lambda f, x: f["pid"] == 5010),
    ("pid != 5010", lambda f, x: f["pid"] != 5010),
    ("pid > 5000 and pid < 5020", lambda f, x: 5000 < f["pid"] < 5020),
    ('pid ~ "^501"', lambda f, x: str(f["pid"]).startswith("501")),
    ('pid == "5010"', lambda f, x: False),
    ('pid != "5010"', lambda f, x: True),
    ("tid == 5001", lambda f, x: f["tid"] == 5001),
    ("id <= 10", lambda f, x: f["id"] is not None and f["id"] <= 10),
    ("dur > 49", lambda f, x: gt(f["dur"], 49)),
    ("dur >= 50us", lambda f, x: gt(f["dur"], 49)),
    ("dur > 0.5ms", lambda f, x: gt(f["dur"], 500)),
    ("dur < 3000ns", lambda f, x: lt(f["dur"], 3)),
    ("dur == 1us", lambda f, x: f["dur"] == 1),
    ("dur < 1.5", lambda f, x: lt(f["dur"], 1.5)),
    ("ts > 1750000000s", lambda f, x: gt(f["ts"], 1750000000 * 10**6)),
    ("ts < 29166667min", lambda f, x: lt(f["ts"], 29166667 * 60 * 10**6)),
    ("args.ret > 1M", lambda f, x: gt(arg(x, "ret"), 1 << 20)),
    ("args.ret == 3M", lambda f, x: arg(x, "ret") == 3 << 20),
    ("args.ret >= 1.5K", lambda f, x: gt(arg(x, "ret"), 1535)),
    ("args.ret == -1", lambda f, x: arg(x, "ret") == -1),
    ("args.ret < 0", lambda f, x: lt(arg(x, "ret"), 0)),
    ("args.ret < 1G", lambda f, x: lt(arg(x, "ret"), 1 << 30)),
    ("args.ret < 1T", lambda f, x: lt(arg(x, "ret"), 1 << 40)),
    ("args.errno == 5", lambda f, x: arg(x, "errno") == 5),
    ("has args.errno", lambda f, x: arg(x, "errno") is not None),
    ("not has args.errno", lambda f, x: arg(x, "errno") is None),
    ("args.errno != 5", lambda f, x: False),
    ("args.deep.x.y == 5", lambda f, x: arg(x, "deep", "x", "y") == 5),
    ("has args.deep.x", lambda f, x: arg(x, "deep", "x") is not None),
    ("args.deep.z.w > 1.25", lambda f, x: arg(x, "deep", "z.w") == 1.5),
    ("has args.deep.q or has args.note.x", lambda f, x: False),
    ("args.flag == 1", lambda f, x: arg(x, "flag") is True),
    ('args.note ~ "a\\.b"', lambda f, x: arg(x, "note") == "a.b"),
    ('args.deep ~ "z.w"', lambda f, x: arg(x, "deep") is not None),
    ('file ~ "^/data/prog1/"', lambda f, x: search(b"^/data/prog1/", f["file"])),
    ('file !~ "^/data/"', lambda f, x: f["file"] is not None and not f["file"].startswith(b"/data/")),
    ("has file", lambda f, x: f["file"] is not None),
    ('file ~ "raw/\\W"', lambda f, x: search(rb"raw/\xff", f["file"])),
    ('file == "/odd/\\"q\\"\\\\x\n\u00e9"', lambda f, x: f["file"] == b"/odd/\"q\"\\x\n\xc3\xa9"),
    ('other == "/data/copy"', lambda f, x: f["other"] == b"/data/copy"),
    ('host == "host1"', lambda f, x: f["host"] == b"host1"),
    ('program == "prog2"', lambda f, x: f["program"] == b"prog2"),
    ("rank == 1", lambda f, x: f["rank"] == 1),
    ("rank >= 0", lambda f, x: f["rank"] is not None),
    ("bytes > 4000", lambda f, x: gt(f["bytes"], 4000)),
    ("bytes == 0", lambda f, x: f["bytes"] == 0),
    ("line == 12", lambda f, x: f["line"] == 12),
    ('source ~ "p1.pfw.gz$"', lambda f, x: f["source"].endswith(b"p1.pfw.gz")),
    ('name == "read" and args.ret > 1K and file ~ "^/data/"', lambda f, x: f["name"] == b"read" and
     gt(arg(x, "ret"), 1024) and search(b"^/data/", f["file"])),
    ('name == "read" or name == "write" and dur > 10', lambda f, x: f["name"] == b"read" or
     (f["name"] == b"write" and gt(f["dur"], 10))),
    ('(name == "read" or name == "write") and dur > 10', lambda f, x: f["name"] in (b"read", b"write")
     and gt(f["dur"], 10)),
    ('not (name == "read" or dur > 10)', lambda f, x: not (f["name"] == b"read" or gt(f["dur"], 10))),
    ("((((pid==5000))))", lambda f, x: f["pid"] == 5000),
    (" and ".join(["pid == 5000"] * 400), lambda f, x: f["pid"] == 5000),
]


def raw_lines(*args, rc=0):
    p = subprocess.run([DFTRACE, "events", "--jsonl", *map(os.fsencode, args)], capture_output=True,
                       timeout=TIMEOUT)
    equal(p.returncode, rc, f"exit status of {args}: {p.stderr!r}")
    return p.stdout.split(b"\n")[:-1]


@test
def conditions(tmp):
    check(len(CONDITIONS) >= 60, "a table of conditions")
    all_lines = make(tmp)
    fields = Fields(all_lines)
    pairs = [(fields(x), x) for x in kept(all_lines)]
    some = 0
    for text, same in CONDITIONS:
        want = [x.raw for f, x in pairs if same(f, x)]
        some += 0 < len(want) < len(pairs)
        equal(raw_lines("--where", text, tmp), want, f"--where {text!r}")
    check(some > 50, f"only {some} conditions tell anything apart")


@test
def bad_conditions(tmp):
    make(tmp, procs=1, n=5)
    for text, part in (("", "a field is expected"), ("name", "== != <"), ("name = 3", "^= 3"),
                       ("nam == 3", "no such field (of arguments it is args.nam), at ^: ^nam"),
                       ("path == 3", "(it is file), at ^: ^path"), ("args. == 3", "no such field"),
                       ("name == ", "a number or a string"), ("name == read", "^read"),
                       ('name == "read', "does not end"), ("pid == 5x", "not a number"),
                       ("pid == 99999999999999999999999", "not a number"),
                       ("(pid == 5", "and, or or )"), ("pid == 5)", "^)"), ("pid == 5 pid == 6", "^pid"),
                       ("pid in 5", "( is expected"), ("pid in (5", ", or )"), ("pid in ()", "a number"),
                       ('name ~ "("', "regular expression"), ("name ~ read", "a pattern in quotes"),
                       ("not", "a field is expected"), ("has", "a field is expected"),
                       ("pid == 5 and", "a field is expected"), ("(" * 100 + "pid == 5", "too many brackets"),
                       ("not " * 100 + "pid == 5", "too many brackets"),
                       (" or ".join(["pid == 5"] * 5000), "too many parts")):
        one_line(run("events", "--where", text, tmp, rc=2).err, "--where: ", part, "^")


@test
def columns(tmp):
    all_lines = make(tmp)
    fields = Fields(all_lines)
    cols = ["ts", "dur", "pid", "name", "file", "other", "host", "program", "rank", "bytes", "args.ret",
            "args.note", "line", "args.deep.x.y"]
    got = run("events", "--json", "--fields", ",".join(cols), tmp, rc=0).json()["events"]
    want = []
    for x in kept(all_lines):
        f, row = fields(x), {}
        for c in cols:
            v = arg(x, *c.split(".")[1:]) if c.startswith("args.") else f[c]
            row[c] = v.decode(errors="replace") if isinstance(v, bytes) else v
            if isinstance(v, bytes) and row[c].encode() != v:
                row[c + "_raw"] = v.hex()
        want.append(row)
    equal(len(got), len(want), "rows")
    for g, w in zip(got, want):
        equal(g, w, "row")
    # Numbers of any size, as they stand.
    (tmp / "n").mkdir()
    numbers = ["1e400", "-1.5e-400", "123456789012345678901234567890", "18446744073709551615",
               "-9223372036854775808", "0.1", "1E5", "-0"]
    (tmp / "n/a.pfw").write_text("".join(
        '{"id":%d,"name":"x","cat":"c","type":2,"pid":1,"tid":1,"ts":1,"dur":0,"ph":1,"args":{"v":%s}}\n'
        % (i, v) for i, v in enumerate(numbers, 1)))
    for style, sep in (("--json", '"args.v":'), ("--csv", "\r\n")):
        out = run("events", style, "--fields", "args.v", tmp / "n", rc=0).out
        equal([re.match(r"[^,}\r]*", x).group() for x in out.split(sep)[1:] if x],
              [v if v != "-0" else "0" for v in numbers])
    json.loads(run("events", "--json", "--fields", "args.v", tmp / "n", rc=0).out)
    run("export", "--to", "csv", tmp / "n", rc=0)
    shutil.rmtree(tmp / "n")
    rows = list(csv.DictReader(io.StringIO(run("events", "--csv", "--fields", "ts,name,args.ret",
                                               "--where", "pid == 5000", tmp, rc=0).out, newline="")))
    equal([(int(r["ts"]), r["name"], r["args.ret"]) for r in rows],
          [(x.rec["ts"], x.rec["name"], str(x.args.get("ret", ""))) for x in kept(all_lines)
           if x.rec["pid"] == 5000])
    text = run("events", "--limit", "3", tmp, rc=0).out.splitlines()
    equal(len(text), 4)
    equal(text[0].split(), ["time", "pid", "tid", "name", "file", "bytes", "ret", "dur"])
    # Why a call failed: in text by name, and the numbers of the trace elsewhere.
    failed = ["--fields", "args.ret", "--where", "args.errno == 5", "--limit", "1", tmp]
    equal(run("events", *failed, rc=0).out.split(), ["ret", "-1", "EIO"])
    equal(run("events", "--csv", *failed, rc=0).out.split(), ["args.ret", "-1"])
    equal(len(raw_lines("--metadata", tmp)), len(all_lines))
    for bad in ("nosuch", "name,", "args.", 'args.a"b', "args." + "x" * 80, ""):
        if bad != "name,":
            one_line(run("events", "--fields", bad, tmp, rc=2).err, "--fields")


@test
def times_count_from_the_earliest_file(tmp):
    """Though it is not the first that is read, and what stands before its first event has no time."""
    for name, pid, later in (("a", 5, 3_000_000), ("b", 6, 0), ("c", 7, 5_500_000)):
        t = Trace(pid=pid)
        for i in range(50):
            t.fh(f"/data/{i}")
        t.event("read", file="/data/1", step=250_000)
        t.end()
        t.lines = [re.sub(rb'"ts":(\d+)', lambda m: b'"ts":%d' % (int(m[1]) + later), s) for s in t.lines]
        t.gz(tmp / f"{name}.pfw.gz")
    all_lines = [x for x in tracelines.lines(tmp) if x.rec["ph"] == 1]
    (tmp / "x.pfw").write_text("none\n")
    first = min(x.rec["ts"] for x in all_lines)
    check(first < all_lines[0].rec["ts"], "another file than the first")
    rows = run("events", "--json", "--fields", "time,ts", tmp, rc=1).json()["events"]
    equal([round(r["time"] * 1e6) for r in rows], [x.rec["ts"] - first for x in all_lines], "time")
    equal([r["ts"] for r in rows], [x.rec["ts"] for x in all_lines], "ts")
    text = run("events", "--sort", "time", tmp, rc=1).out.splitlines()
    equal(text[1].split()[0], "0.000000")
    for cond, us in (("time >= 3.25", 3_250_000), ("time >= 3250ms", 3_250_000), ("time >= 5.5s", 5_500_000)):
        want = [x.rec["id"] for x in all_lines if x.rec["ts"] - first >= us]
        check(0 < len(want) < len(all_lines), cond)
        got = run("events", "--json", "--fields", "id", "--where", cond, tmp, rc=1).json()["events"]
        equal([r["id"] for r in got], want, cond)


@test
def orders(tmp):
    all_lines = make(tmp, n=400)
    fields = Fields(all_lines)
    rows = [(fields(x), x) for x in kept(all_lines)]

    def order(key, desc):
        have = [(f, x) for f, x in rows if key(f, x) is not None]
        have.sort(key=lambda r: key(*r), reverse=desc)
        if desc:  # equal ones stay in their order
            have = sorted(((f, x) for f, x in rows if key(f, x) is not None),
                          key=lambda r: -key(*r) if not isinstance(key(*r), bytes) else 0)
        return [x.raw for f, x in have] + [x.raw for f, x in rows if key(f, x) is None]

    for field, key in (("ts", lambda f, x: f["ts"]), ("time", lambda f, x: f["ts"]),
                       ("dur", lambda f, x: f["dur"]),
                       ("args.ret", lambda f, x: arg(x, "ret")), ("bytes", lambda f, x: f["bytes"])):
        for desc in (False, True):
            by = field + (":desc" if desc else "")
            want = order(key, desc)
            equal(raw_lines("--sort", by, tmp), want, by)
            for limit in (0, 1, 7, 100000):
                equal(raw_lines("--sort", by, "--limit", str(limit), tmp), want[:limit], f"{by} {limit}")
    equal(raw_lines("--sort", "file:asc", tmp), order(lambda f, x: f["file"], False))
    equal(raw_lines("--limit", "5", tmp), [x.raw for f, x in rows[:5]])
    equal(raw_lines("--limit", "0", tmp), [])
    got = run("events", "--json", "--sort", "bytes:desc", "--limit", "9", "--fields",
              "bytes,program,source,line", tmp, rc=0).json()["events"]
    want = [x for f, x in rows if x.raw in order(lambda f, x: f["bytes"], True)[:9]]
    equal(sorted((g["source"], g["line"]) for g in got), sorted((x.path, x.number) for x in want))


@test
def sorting_more_than_fits(tmp):
    """Beyond what is held in memory; and when there is no place for the rest."""
    rng = random.Random(5)
    pad = "x" * 2000
    with open(tmp / "big.pfw", "w") as f:
        keys = []
        for i in range(45000):
            keys.append(rng.randrange(10000))
            f.write('{"id":%d,"name":"w","cat":"POSIX","type":3,"pid":1,"tid":1,"ts":%d,"dur":%d,"ph":1,'
                    '"args":{"hhash":"0","pad":"%s"}}\n' % (i + 1, i, keys[-1], pad))
    os.mkdir(tmp / "t")
    p = subprocess.run([DFTRACE, "events", "--csv", "--fields", "dur,id", "--sort", "dur",
                        tmp / "big.pfw"], capture_output=True, timeout=TIMEOUT,
                       env={**os.environ, "TMPDIR": str(tmp / "t")})
    equal((p.returncode, p.stderr.count(b"\n")), (0, 1))  # unfinished
    got = [tuple(map(int, r.split(b","))) for r in p.stdout.split()[1:]]
    equal(got, sorted((k, i + 1) for i, k in enumerate(keys)))
    equal(os.listdir(tmp / "t"), [])
    p = subprocess.run([DFTRACE, "events", "--csv", "--fields", "dur,id", "--sort", "dur",
                        tmp / "big.pfw"], capture_output=True, timeout=TIMEOUT,
                       env={**os.environ, "TMPDIR": str(tmp / "none")})
    equal(p.returncode, 1)
    check(b"temporary file for sorting: cannot be made" in p.stderr, p.stderr)
    p = subprocess.run([DFTRACE, "events", "--csv", "--fields", "dur,id", "--sort", "dur", "--limit", "3",
                        tmp / "big.pfw"], capture_output=True, timeout=TIMEOUT,
                       env={**os.environ, "TMPDIR": str(tmp / "none")})
    equal([tuple(map(int, r.split(b","))) for r in p.stdout.split()[1:]], got[:3])
    equal(p.returncode, 0)


@test
def head_ends_quietly(tmp):
    make(tmp, procs=1, n=20000)
    p = subprocess.run(f"'{DFTRACE}' events --jsonl '{tmp}' | head -n 1", shell=True, capture_output=True,
                       timeout=TIMEOUT, restore_signals=True)
    equal((p.stdout.count(b"\n"), p.stderr), (1, b""))


@test
def damaged_lines(tmp):
    t = base.sample()
    t.raw(b'{"broken')
    (tmp / "a.pfw").write_bytes(t.text())
    r = run("events", "--jsonl", tmp, rc=1)
    equal(r.out.count("\n"), t.id)
    one_line(r.err, "a.pfw", "line")


# ---- timeline ------------------------------------------------------------------------------------

def spread(calls, width):
    """{interval: [read, written, ops, metadata]}, bytes in even parts."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for ts, dur, read, written, cnt, meta in calls:
        sums[ts // width][2] += cnt
        sums[ts // width][3] += meta
        end = ts + dur
        for i in range(ts // width, max(end - 1, ts) // width + 1):
            a, b = max(i * width, ts) - ts, min((i + 1) * width, end) - ts
            for k, n in ((0, read), (1, written)):
                sums[i][k] += n * b // dur - n * a // dur if dur else n
    return sums


def calls_of(all_lines):
    """[(line, (ts, dur, read, written, calls, metadata))] in nanoseconds."""
    out = []
    pipes = {h for h, name in tracelines.names(all_lines, "FH").items() if name.startswith(b"pipe:[")}
    for x in all_lines:
        if x.rec["ph"] not in (1, 3) or x.rec["cat"] != "POSIX" or x.args.get("fhash") in pipes:
            continue
        ts = x.rec["ts"] * 1000
        if x.rec["ph"] == 3:
            out.append((x, (ts, x.args["last"] * 1000 - ts, x.args["ret_sum"], 0, x.args["dft_cnt"], 0)))
            continue
        read, written = tracelines.bytes_of(x)
        if x.rec["name"] == "copy_file_range":
            read = written = x.args["ret"]
        meta = x.rec["name"] in ("stat", "open", "close")
        out.append((x, (ts, x.rec["dur"] * 1000, read, written, 1, int(meta))))
    return out


@test
def timeline_adds_up(tmp):
    all_lines = make(tmp, procs=4, n=500)
    calls = calls_of(all_lines)
    for opts in ([], ["--interval", "1ms"], ["--interval", "700us"], ["--interval", "10s"]):
        r = run("timeline", "--json", *opts, tmp, rc=0).json()
        width = r["interval_ns"]
        if not opts:
            check(30 <= len(r["intervals"]) <= 80, f"{len(r['intervals'])} intervals")
        else:
            equal(width, {"1ms": 10**6, "700us": 700000, "10s": 10**10}[opts[1]])
        want = spread([c for x, c in calls], width)
        got = {i["ts_ns"] // width: [i["read"], i["written"], i["ops"], i["metadata"]]
               for i in r["intervals"]}
        equal({k: v for k, v in got.items() if any(v)}, {k: v for k, v in want.items() if any(v)}, opts)
        equal(sorted(got), list(range(min(want), max(want) + 1)), "intervals without a hole")
        for i in r["intervals"]:
            equal(i["ts_ns"] % width, 0)
            check(abs(i["read_per_s"] - i["read"] * 1e9 / width) < 0.01, f"bandwidth {i}")


@test
def timeline_by(tmp):
    all_lines = make(tmp, procs=4, n=300)
    calls = calls_of(all_lines)
    fh = tracelines.names(all_lines, "FH")
    fields = Fields(all_lines)
    keys = {
        "op": lambda x: x.rec["name"],
        "file": lambda x: fh[x.args["fhash"]].decode(errors="replace"),
        "process": lambda x: "{} ({}:{})".format(
            *(fields(x)[k].decode() for k in ("program", "host")), x.rec["pid"]),
    }
    for by, key in keys.items():
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for x, c in calls:
            k = sums[key(x)]
            k[0], k[1], k[2] = k[0] + c[2], k[1] + c[3], k[2] + c[4]
        for top in (0, 2):
            r = run("timeline", "--json", "--by", by, "--top", str(top), tmp, rc=0).json()
            got = collections.defaultdict(lambda: [0, 0, 0])
            for i in r["intervals"]:
                g = got[i[by]]
                g[0], g[1], g[2] = g[0] + i["read"], g[1] + i["written"], g[2] + i["ops"]
            rank = sorted(sums, key=lambda k: (-sum(sums[k][:2]), -sums[k][2], k))
            want = {k: sums[k] for k in (rank if not top else rank[:top])}
            if top:
                want["(others)"] = [sum(sums[k][i] for k in rank[top:]) for i in range(3)]
            equal(dict(got), want, f"{by} {top}")


@test
def timeline_shapes(tmp):
    make(tmp, n=50)
    plot = subprocess.run([DFTRACE, "timeline", "--plot", tmp], capture_output=True, timeout=TIMEOUT,
                          env={**os.environ, "LC_ALL": "C"}).stdout.decode("ascii").splitlines()
    check(len(plot) > 20 and all(len(line) <= 80 for line in plot), "lines of at most 80 columns")
    check(any("#" in line for line in plot), "bars")
    rows = list(csv.reader(io.StringIO(run("timeline", "--csv", tmp, rc=0).out, newline="")))
    equal(rows[0], ["ts_ns", "read", "written", "read_per_s", "written_per_s", "ops", "metadata"])
    # Nothing to show, and times at both ends of what numbers can say.
    (tmp / "e").mkdir()
    t = base.Trace()
    t.end().gz(tmp / "e/empty.pfw.gz")
    equal(run("timeline", "--json", tmp / "e", rc=0).json()["intervals"], [])
    (tmp / "h").mkdir()
    (tmp / "h/a.pfw").write_text("".join(
        '{"id":%d,"name":"read","cat":"POSIX","type":3,"pid":1,"tid":1,"ts":%d,"dur":%d,"ph":1,'
        '"args":{"hhash":"0","ret":%d}}\n' % (i, ts, dur, 2**63 - 1) for i, (ts, dur) in enumerate(
            ((0, 2**64 - 1), (2**64 - 1, 0), (2**64 - 1, 2**64 - 1), (5, 5)), 1)))
    for opts in ([], ["--by", "op"], ["--interval", "1us"]):
        r = run("timeline", "--json", *opts, tmp / "h", rc=0).json()
        equal(sum(i["ops"] for i in r["intervals"]), 4)
        check(sum(i["read"] for i in r["intervals"]) >= 2**63 - 1, "bytes")
    for args, part in ((["--interval", "5"], "--interval 5"), (["--interval", "1ns"], "--interval"),
                       (["--by", "x"], "--by x"), (["--plot", "--json"], "--plot")):
        one_line(run("timeline", *args, tmp, rc=2).err, part)


if __name__ == "__main__":
    sys.exit(base.main())
