#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace export: what other programs get to see of a trace.

The traces are written here; what is expected is counted here over the same lines.
Run from anywhere: python3 tests/cli/test_dftrace_export.py [NAME-PART...]
"""
import collections
import csv
import hashlib
import io
import json
import os
import random
import sqlite3
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


def make(tmp, seed=3, n=200):
    """Two hosts with the same pids, rows, requests, annotations with entities."""
    rng = random.Random(seed)
    for i in range(4):
        t = tracelines.busy(Trace, rng, 7000 + i // 2 * 100, n, host=f"host{i % 2}", exe=f"prog{i}")
        t.meta("CM", {"name": "comm", "value": f"thread \"{i}\"", "ts": t.ts})
        t.meta("PR", {"name": "rank", "value": str(i)})
        for k in range(5):
            t.event("read", file="/data/ring", dur=500, step=10,
                    args={"ret": 100 + k, "via": "io_uring"})
        t.ts += 600
        t.aggregate("write", {"fhash": t.fh("/data/rows"), "dft_cnt": 9, "dur_sum": 70, "dur_min": 1,
                              "dur_max": 30, "ret_sum": 9000, "errors": 1, "last": t.ts + 400})
        a, b = f"{i + 1:016x}", f"{i + 99:016x}"
        t.meta("ET", {"type": "file", "role": 1, "description": "in"})
        for e in (a, b):
            t.meta("EH", {"id": e, "type": "file", "store": 2, "uri": f"/data/{e}",
                          "fhash": t.fh("/data/rows")})
        t.meta("ER", {"relation": 16, "subject": a, "object": b, "why": "rename"})
        t.event("step", cat="PROV", type=6, dur=5, args={"relations": {"used": [a], "generated": [b, a]}})
        t.event("rename", file="/data/a", args={"newpath_hash": t.fh("/data/b"), "ret": 0})
        t.end().gz(tmp / f"p{i}.pfw.gz", per_member=50)
    return tracelines.lines(tmp)


# ---- perfetto ------------------------------------------------------------------------------------

def valid_perfetto(data):
    """Holds the events to what viewers need. Returns them."""
    events = json.loads(data)["traceEvents"]
    threads, asyncs, seen = collections.defaultdict(list), {}, set()
    for e in events:
        check({"ph", "pid", "tid", "name"} <= set(e), f"{e} lacks a field")
        check(0 < e["pid"] < 2**31 and 0 < e["tid"] < 2**31, f"ids of {e}")
        check(e["ph"] == "M" or e["ts"] >= 0, f"time of {e}")
        if e["ph"] == "X":
            threads[e["pid"], e["tid"]].append(e)
        elif e["ph"] == "b":
            check(e["id"] not in seen, f"{e} has an id of another")
            seen.add(e["id"])
            asyncs[e["id"]] = e
        elif e["ph"] == "e":
            b = asyncs.pop(e["id"])
            check(b["ts"] <= e["ts"] and (b["cat"], b["name"], b["pid"]) ==
                  (e["cat"], e["name"], e["pid"]), f"{b} and {e}")
        else:
            check(e["ph"] in "CMi", f"phase of {e}")
    check(not asyncs, "spans that do not end")
    for spans in threads.values():
        stack, last = [], None
        for e in spans:
            end = e["ts"] + e["dur"]
            check(last is None or (e["ts"], -e["dur"]) >= last, "spans in order of time, outer ones first")
            last = (e["ts"], -e["dur"])
            while stack and stack[-1] <= e["ts"]:
                stack.pop()
            check(not stack or end <= stack[-1], f"{e} overlaps the span before it")
            stack.append(end)
    return events


def export(tmp, fmt, *more, rc=0):
    p = subprocess.run([DFTRACE, "export", "--to", fmt, *map(os.fsencode, more), tmp],
                       capture_output=True, timeout=TIMEOUT)
    equal(p.returncode, rc, f"exit status; {p.stderr!r}")
    return p.stdout


def kind(x):
    """What becomes of a line."""
    if x.rec["name"] in ("start", "end") and x.rec["cat"] == "dftracer":
        return "i"
    if x.rec["ph"] == 3 or "via" in x.args:
        return "b"
    return "X"


@test
def perfetto(tmp):
    all_lines = make(tmp)
    events = valid_perfetto(export(tmp, "perfetto"))
    want = collections.Counter((kind(x), x.rec["name"], x.rec["cat"], x.rec["ts"])
                               for x in all_lines if x.rec["ph"] in (1, 3))
    got = collections.Counter((e["ph"], e["name"], e["cat"], e["ts"]) for e in events if e["ph"] in "Xbi")
    equal(got, want)
    # Each span is as long as it was, and what says which file.
    fh = tracelines.names(all_lines, "FH")
    want = collections.Counter((x.rec["ts"], x.rec["dur"], fh.get(x.args.get("fhash"), b"").decode(
        errors="replace"), x.args.get("ret")) for x in all_lines if x.rec["ph"] == 1 and kind(x) == "X")
    got = collections.Counter((e["ts"], e["dur"], e["args"].get("file", ""), e["args"].get("ret"))
                              for e in events if e["ph"] == "X")
    equal(got, want)
    # Four processes, although hosts share their pids; names that viewers show.
    titles = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and
              e["name"] == "process_name"}
    equal(sorted(titles.values()), sorted([f"prog{i} (host{i % 2}:{7000 + i // 2 * 100})"
                                           for i in range(4)] + ["all processes"]))
    equal({e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"},
          {f'thread "{i}"' for i in range(4)})
    for which, k in (("read", 0), ("written", 1)):
        total = sum(tracelines.bytes_of(x)[k] for x in all_lines if x.rec["ph"] == 1)
        total += sum(x.args["ret_sum"] for x in all_lines if x.rec["ph"] == 3) if k else 0
        points = [(e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C" and
                  e["name"].startswith(f"bytes {which} in ")]
        equal(sum(v for ts, v in points), total, f"bytes {which}")
        equal(len({ts for ts, v in points}), len(points), "one value for each time")
        equal(max(points)[1], 0, "the last value is nothing")


def one_thread(path, spans, cat="app", type=2):
    path.write_text("".join(json.dumps({
        "id": i, "name": n, "cat": cat, "type": type, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "ph": 1,
        "args": {}}) + "\n" for i, (n, ts, dur) in enumerate(spans, 1)))


@test
def perfetto_overlaps(tmp):
    """Rounding is trimmed from the earlier one, all else is told apart."""
    for spans, want in (
            ([("a", 10, 5), ("b", 14, 5)], {"a": ("X", 10, 4), "b": ("X", 14, 5)}),
            ([("a", 10, 5), ("b", 13, 5)], {"a": ("X", 10, 5), "b": ("b", 13, 5)}),
            ([("a", 10, 10), ("b", 12, 3), ("c", 19, 3)],
             {"a": ("X", 10, 9), "b": ("X", 12, 3), "c": ("X", 19, 3)}),
            ([("o", 0, 50), ("a", 10, 5), ("b", 14, 5)],
             {"o": ("X", 0, 50), "a": ("X", 10, 4), "b": ("X", 14, 5)}),
            ([("o", 0, 50), ("a", 10, 41)], {"o": ("X", 0, 50), "a": ("X", 10, 40)}),
            ([("o", 0, 50), ("a", 10, 42)], {"o": ("X", 0, 50), "a": ("b", 10, 42)}),
            ([("a", 10, 0), ("b", 10, 0)], {"a": ("X", 10, 0), "b": ("X", 10, 0)}),
            ([("in", 10, 2), ("out", 10, 9)], {"out": ("X", 10, 9), "in": ("X", 10, 2)}),
            ([("a", 2**64 - 1, 2**64 - 1), ("b", 0, 2**64 - 1)], None)):
        one_thread(tmp / "t.pfw", spans)
        events = valid_perfetto(export(tmp, "perfetto"))
        ends = {e["id"]: e["ts"] for e in events if e["ph"] == "e"}
        got = {e["name"]: (e["ph"], e["ts"], e["dur"] if e["ph"] == "X" else ends[e["id"]] - e["ts"])
               for e in events if e["ph"] in "Xb"}
        if want:
            equal(got, want, spans)


@test
def perfetto_random_overlaps(tmp):
    rng = random.Random(11)
    spans = [(f"s{i}", rng.randrange(3000), rng.choice([0, 1, 2, 5, 40, 300])) for i in range(4000)]
    one_thread(tmp / "t.pfw", spans)
    events = valid_perfetto(export(tmp, "perfetto"))
    got = {e["name"]: e for e in events if e["ph"] in "Xb"}
    equal(len(got), len(spans))
    for name, ts, dur in spans:
        e = got[name]
        equal(e["ts"], ts)
        check(e["ph"] == "b" or dur - 1 <= e["dur"] <= dur, f"{e} was {dur} long")
    deep = [("d", i, 4000 - 2 * i) for i in range(1500)]
    one_thread(tmp / "t.pfw", deep)
    valid_perfetto(export(tmp, "perfetto"))


# ---- sqlite --------------------------------------------------------------------------------------

@test
def sqlite(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    export(tmp / "tr", "sqlite", "-o", tmp / "x.db")
    equal(sorted(os.listdir(tmp)), ["tr", "x.db"])
    db = sqlite3.connect(tmp / "x.db")

    def ask(q):
        return db.execute(q).fetchall()

    equal(ask("PRAGMA integrity_check"), [("ok",)])
    events = [x for x in all_lines if x.rec["ph"] == 1]
    fh = tracelines.names(all_lines, "FH")
    equal(dict(ask("SELECT name, count(*) FROM calls GROUP BY name")),
          dict(collections.Counter(x.rec["name"] for x in events)))
    equal(sorted(ask("SELECT source, line, pid, tid, id, name, cat, ts, dur, ret, host FROM calls")),
          sorted((x.path, x.number, x.rec["pid"], x.rec["tid"], x.rec["id"], x.rec["name"], x.rec["cat"],
                  x.rec["ts"], x.rec["dur"], x.args.get("ret"), f"host{x.path[-8:-7] in '13':d}")
                 for x in events), )
    want = collections.Counter()
    for x in events:
        for moved, n in zip(("read", "write"), tracelines.bytes_of(x)):
            if x.rec["name"] in (tracelines.READS if moved == "read" else tracelines.WRITES):
                want[fh[x.args["fhash"]].decode(errors="replace"), moved] += n
    equal({(f, m): n for f, m, n in ask("SELECT file, moved, sum(bytes) FROM calls WHERE moved IS NOT NULL"
                                        " GROUP BY file, moved")}, dict(want))
    equal(sorted(p or b for p, b in ask("SELECT CASE WHEN raw IS NULL THEN path END, raw FROM files")
                 if p), sorted(n.decode() for n in fh.values() if b"\xff" not in n))
    equal(ask("SELECT path, raw FROM files WHERE raw IS NOT NULL"),
          [("/raw/\ufffd\ufffd", b"/raw/\xff\xfe")])
    equal(ask("SELECT n.name, sum(calls), sum(bytes), sum(errors) FROM \"rows\" r JOIN names n ON n.id = r.name"
              " GROUP BY 1"), [("write", 36, 36000, 4)])
    equal(ask("SELECT o.path, count(*) FROM events e JOIN files o ON o.id = e.other GROUP BY 1"),
          [("/data/b", 4)])
    equal(ask("SELECT relation, count(*) FROM relations GROUP BY 1 ORDER BY 1"),
          [("generated", 8), ("used", 4)])
    equal(ask("SELECT count(*), count(DISTINCT id), min(hex) FROM entities"), [(8, 8, f"{1:016x}")])
    equal(ask("SELECT relation, why, count(*) FROM entity_relations GROUP BY 1, 2"), [(16, "rename", 4)])
    equal(ask("SELECT type, role, count(*) FROM entity_types GROUP BY 1, 2"), [("file", 1, 4)])
    equal(sorted(ask("SELECT program, rank, pid FROM processes")),
          [(f"prog{i}", i, 7000 + i // 2 * 100) for i in range(4)])
    equal(ask("SELECT record, name, count(*) FROM metadata GROUP BY 1, 2 ORDER BY 1, 2"),
          [("CM", "comm", 4), ("CM", "time_metric", 4), ("PR", "rank", 4)] +
          [("thread_name", str(p), 2) for p in (7000, 7100)])
    equal(ask("SELECT sum(lines), sum(ended) FROM sources"), [(len(all_lines), 4)])
    # The rest of the args, as JSON; and the plans that indexes are for.
    got = ask("SELECT args FROM calls WHERE name = 'step' ORDER BY source LIMIT 1")[0][0]
    equal(got, None)
    got = ask("SELECT args FROM calls WHERE name = 'region' LIMIT 1")[0][0]
    equal(json.loads(got), {"step": 3})
    check("events_file" in str(ask("EXPLAIN QUERY PLAN SELECT * FROM events WHERE file = 5")), "an index")
    db.close()


@test
def sqlite_target(tmp):
    (tmp / "tr").mkdir()
    make(tmp / "tr", n=3)
    (tmp / "x.db").write_text("mine")
    one_line(run("export", "--to", "sqlite", "-o", tmp / "x.db", tmp / "tr", rc=1).err, "--force")
    equal((tmp / "x.db").read_text(), "mine")
    run("export", "--to", "sqlite", "-o", tmp / "x.db", "--force", tmp / "tr", rc=0)
    check((tmp / "x.db").read_bytes().startswith(b"SQLite format 3"), "a database")
    check("No such file" in run("export", "--to", "sqlite", "-o", tmp / "no/x.db", tmp / "tr", rc=1).err,
          "why")
    equal(sorted(os.listdir(tmp)), ["tr", "x.db"])
    for fmt in ("sqlite", "dftracer-1"):
        one_line(run("export", "--to", fmt, tmp / "tr", rc=2).err, "needs -o")
    for args, part in ((["--to", "x"], "--to x"), ([], "no format"), (["--to", "csv"], "no DIR")):
        one_line(run("export", *args, *([] if "csv" in args else [tmp]), rc=2).err, part)
    # A file that was cut: the rest is there, and it is told.
    data = (tmp / "tr/p0.pfw.gz").read_bytes()
    (tmp / "tr/p0.pfw.gz").write_bytes(data[:len(data) // 2])
    check("cut" in run("export", "--to", "sqlite", "-o", tmp / "y.db", tmp / "tr", rc=1).err, "told")
    check((tmp / "y.db").exists(), "what there is")


@test
def full_disk(tmp):
    make(tmp, n=2000)
    for fmt in ("csv", "perfetto"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([DFTRACE, "export", "--to", fmt, tmp], stdout=full, stderr=subprocess.PIPE,
                               timeout=TIMEOUT)
        equal(p.returncode, 1)
        one_line(p.stderr.decode(), "standard output")


# ---- csv and dftracer-1 ----------------------------------------------------------------------------

@test
def csv_rows(tmp):
    all_lines = make(tmp)
    fh = tracelines.names(all_lines, "FH")
    text = export(tmp, "csv").decode("utf-8", "surrogateescape")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    events = [x for x in all_lines if x.rec["ph"] in (1, 3)]
    equal(len(rows), len(events))
    for row, x in zip(rows, events):
        equal((row["source"], int(row["line"]), row["name"], int(row["ts"]), row["id"], row["ret"]),
              (x.path, x.number, x.rec["name"], x.rec["ts"], str(x.rec.get("id", "")),
               str(x.args.get("ret", ""))))
        equal(os.fsencode(row["file"]), fh.get(x.args.get("fhash"), b""))


def old_hash(name):
    """The hash of 2025: the high half of each byte of the MD5, as a number."""
    return int("".join(d[0] for d in (f"{b:02x}" for b in hashlib.md5(name).digest())), 16)


@test
def dftracer_1(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    export(tmp / "tr", "dftracer-1", "-o", tmp / "old")
    equal(sorted(os.listdir(tmp / "old")), [f"p{i}.pfw.gz" for i in range(4)])
    run("check", tmp / "old", rc=0)
    names = {k: {v: n for v, n in tracelines.names(all_lines, k).items()} for k in ("FH", "SH", "HH")}
    by_file = collections.defaultdict(list)
    for x in all_lines:
        by_file[Path(x.path).name].append(x)
    for path in sorted((tmp / "old").iterdir()):
        text = tracelines.text(path)
        check(text.startswith(b"[\n") and text.endswith(b"\n]"), "an array")
        got = [json.loads(line) for line in text.split(b"\n")[1:-1]]
        equal(len(got), len(by_file[path.name]))
        for i, (g, x) in enumerate(zip(got, by_file[path.name]), 1):
            equal((g["id"], g["ph"], g["name"], g["cat"], g.get("ts"), g.get("dur"), g["pid"], g["tid"]),
                  (i, {1: "X", 3: "A", 4: "M"}[x.rec["ph"]], x.rec["name"], x.rec["cat"],
                   x.rec.get("ts"), x.rec.get("dur", x.args.get("dur_sum")), x.rec["pid"], x.rec["tid"]))
            equal(list(g["args"]), list(x.args), "keys of args")
            equal(g["args"]["hhash"], old_hash(names["HH"][x.args["hhash"]]))
            if "fhash" in x.args:
                equal(g["args"]["fhash"], old_hash(names["FH"][x.args["fhash"]]))
            if x.rec["name"] in names:
                equal(g["args"]["value"], old_hash(names[x.rec["name"]][x.args["value"]]))
            if "newpath_hash" in x.args:
                equal(g["args"]["newpath_hash"], old_hash(b"/data/b"))
            for k in ("ret", "relations", "id", "subject", "dft_cnt"):
                equal(g["args"].get(k), x.args.get(k))
    new, old = (run("summary", "--top", "0", tmp / d, rc=0).out.splitlines() for d in ("tr", "old"))
    equal(old, new)
    check("4 files are there" not in run("export", "--to", "dftracer-1", "-o", tmp / "old", tmp / "tr",
                                         rc=1).out, "refused")


if __name__ == "__main__":
    sys.exit(base.main())
