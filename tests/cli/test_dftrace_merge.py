#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace merge, split and recover: no line is lost, none is made up, and check still has its say.

The traces are written here; what must come out is taken from the same lines.
Run from anywhere: python3 tests/cli/test_dftrace_merge.py [NAME-PART...]
"""
import collections
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import test_dftrace as base
import tracelines
from test_dftrace import Trace, check, equal, expect_fault, faults, one_line, run

TESTS = base.TESTS
TESTS.clear()  # those of the other file
test = base.test

ONCE = ("FH", "SH", "HH", "EH", "ET")


def make(tmp, seed=7, n=60, procs=4):
    rng = random.Random(seed)
    for i in range(procs):
        t = tracelines.busy(Trace, rng, 9000 + i // 2 * 100, n, host=f"host{i % 2}", exe=f"prog{i % 3}")
        shared = f"{77:016x}"
        t.meta("ET", {"type": "file", "role": 1, "description": "in"})
        for e in (shared, f"{i + 1:016x}"):
            t.meta("EH", {"id": e, "type": "file", "store": 2, "uri": f"/data/{e}",
                          "fhash": t.fh(f"/data/{e}")})
        t.event("step", cat="PROV", type=6, dur=5,
                args={"relations": {"used": [shared], "generated": [f"{i + 1:016x}"]}})
        t.meta("ER", {"relation": 16, "subject": f"{i + 1:016x}", "object": shared})
        t.event("pread", file="/data/ring", args={"unseen": 1, "via": "aio"}, dur=0)
        sums = {"files": 1, "bytes_read": 0, "bytes_written": 0}
        for part in (sums, {"part": 2}, {"part": 3}):  # the account of a run, in three records of one id
            t.event(f"prog{i % 3}", cat="PROGRAM", type=1, dur=9, step=0,
                    args={"relations": {"used": [shared]}, **part})
            t.id -= 1
        t.id += 1
        t.ts += 2000
        t.aggregate("write", {"fhash": t.fh("/data/rows"), "dft_cnt": 9, "dur_sum": 70, "dur_min": 1,
                              "dur_max": 30, "ret_sum": 90, "errors": 1, "shed": 1, "last": t.ts})
        t.end(lost={"aggregated": 9}, unseen={"aio": 1}).gz(tmp / f"p{i}.pfw.gz")
    return tracelines.lines(tmp)


def is_ours(x):
    return x.rec["name"] == "CM" and x.args.get("name") in ("rearranged", "merged_from")


def without_ours(all_lines):
    return [x for x in all_lines if not is_ours(x)]


def members_are_whole(path):
    """Each gzip member holds whole lines."""
    data = Path(path).read_bytes()
    while data:
        d = zlib.decompressobj(31)
        check(d.decompress(data).endswith(b"\n") and d.eof, f"{path}: a member that is no row of lines")
        data = d.unused_data


def key(x):
    return (x.args.get("hhash"), x.rec["pid"])


def by_process(all_lines, what=lambda x: True):
    out = collections.defaultdict(list)
    for x in all_lines:
        if what(x):
            out[key(x)].append(x.raw)
    return out


def undeclared(x):
    return x.rec["name"] not in ONCE or x.rec["ph"] != 4


@test
def merge_keeps_all(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    out = tmp / "m.pfw.gz"
    run("merge", "-o", out, tmp / "tr", rc=0)
    r = run("check", out, rc=0)
    check("all right, nothing lost" in r.out, r.out)
    members_are_whole(out)
    merged = tracelines.lines(out)
    equal(merged[0].rec["name"], "HH")
    equal(by_process(without_ours(merged), undeclared), by_process(all_lines, undeclared))
    # Declarations: the same, each once; before what needs them.
    for name in ("FH", "SH", "HH"):
        equal(tracelines.names(merged, name), tracelines.names(all_lines, name))
        check(len([x for x in merged if x.rec["name"] == name]) == len(tracelines.names(merged, name)),
              f"{name} twice")
    equal([x.args["value"] for x in merged if x.args.get("name") == "merged_from"],
          sorted(str(p) for p in (tmp / "tr").iterdir()))
    got, want = (run("events", "--jsonl", w, rc=0).out.splitlines() for w in (out, tmp / "tr"))
    equal(got, want, "events")
    got, want = (run("summary", "--json", w, rc=0).json() for w in (out, tmp / "tr"))
    for k in ("operations", "files_used", "top_files", "annotations", "lost", "hosts"):
        equal(got[k], want[k], k)
    plain = tmp / "m.pfw"
    run("merge", "-o", plain, tmp / "tr", rc=0)
    equal(plain.read_bytes(), gzip.decompress(out.read_bytes()))


@test
def not_below_what_is_read(tmp):
    """What is written there would be read with the rest the next time, and count twice."""
    (tmp / "tr/sub").mkdir(parents=True)
    make(tmp / "tr")
    (tmp / "link").symlink_to("tr")
    before = sorted(tmp.rglob("*"))
    for args in (["merge", "-o", "tr/m.pfw.gz"], ["merge", "-o", "tr/sub/m.pfw"], ["merge", "-o", "link/m.pfw.gz"],
                 ["split", "--by", "host", "-o", "tr/new"], ["recover", "-o", "tr"], ["recover", "-o", "tr/sub"]):
        args[-1] = tmp / args[-1]
        one_line(run(*args, tmp / "tr", rc=2).err, "would be read twice")
    equal(sorted(tmp.rglob("*")), before, "nothing was written")
    run("merge", "-o", tmp / "tr/m.gz", tmp / "tr", rc=0)  # not read by that name
    run("split", "--by", "host", "-o", tmp / "trace", tmp / "tr", rc=0)  # only its name begins alike
    run("merge", "-o", tmp / "tr/m.pfw", *(tmp / "tr").glob("p*.gz"), rc=0)  # files alone are asked for


@test
def members_have_a_size(tmp):
    """About a megabyte of text each, however long the file."""
    (tmp / "tr").mkdir()
    make(tmp / "tr", n=6000)
    for cmd, out in ((["merge"], tmp / "m.pfw.gz"), (["split", "--by", "host"], tmp / "s")):
        run(*cmd, "-o", out, tmp / "tr", rc=0)
        for p in tracelines.paths(out):
            members_are_whole(p)
            data, sizes = p.read_bytes(), []
            while data:
                d = zlib.decompressobj(31)
                sizes.append(len(d.decompress(data)))
                data = d.unused_data
            check(len(sizes) > 1 and all(1 << 20 <= n < (1 << 20) + 20000 for n in sizes[:-1]),
                  f"members of {sizes}")


@test
def merge_by_time(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr", n=300)
    out = tmp / "m.pfw.gz"
    run("merge", "--by-time", "-o", out, tmp / "tr", rc=0)
    run("check", out, rc=0)
    merged = tracelines.lines(out)
    times = [x.rec["ts"] for x in merged if "ts" in x.rec]
    equal(times, sorted(times))
    equal(sorted(x.raw for x in merged if "ts" in x.rec), sorted(x.raw for x in all_lines if "ts" in x.rec))
    same = collections.defaultdict(list)
    for x in all_lines:
        if "ts" in x.rec:
            same[x.rec["ts"]].append(x.raw)
    equal([x.raw for x in merged if "ts" in x.rec], [r for ts in sorted(same) for r in same[ts]])


@test
def merged_files_are_checked(tmp):
    """What is wrong with one process of many is still found."""
    (tmp / "tr").mkdir()
    make(tmp / "tr")
    for opts, gone in (([], r"id is \d+, expected"), (["--by-time"], "ids are not 1 to")):
        run("merge", "--force", *opts, "-o", tmp / "m.pfw", tmp / "tr", rc=0)
        good = (tmp / "m.pfw").read_bytes().splitlines(keepends=True)
        recs = [json.loads(x) for x in good]

        def pick(name, n=5):
            return [i for i, r in enumerate(recs) if r["name"] == name][n]

        def without(i):
            (tmp / "bad.pfw").write_bytes(b"".join(good[:i] + good[i + 1:]))
            return tmp / "bad.pfw"

        expect_fault(without(pick("pread")), gone, only=False)
        expect_fault(without(pick("FH", 3)), "has no FH record before it")
        expect_fault(without(pick("start", 1)), "start|ids are not", only=False)
        expect_fault(without(pick("end", 1)), "1 of 4 processes have no end record", only=False)
        expect_fault(without(pick("write", 2) if recs[pick("write", 2)]["ph"] == 3 else
                             [i for i, r in enumerate(recs) if r["ph"] == 3][1]),
                     "the rows that say shed have 0")
        (tmp / "bad.pfw").write_bytes(b"".join(good + [good[pick("read")]]))
        expect_fault(tmp / "bad.pfw", "after the end record|ids are not", only=False)
        # Without the marker it is a file of one process, and that is what it is not.
        expect_fault(without(pick("CM", [r["args"].get("name") for r in recs if r["name"] == "CM"].index(
            "rearranged"))), "a second start record|pid is", only=False)


@test
def pids_come_again(tmp):
    (tmp / "tr").mkdir()
    for i in range(3):
        t = Trace(pid=4242)
        t.ts += 1000000 * i
        t.lines[-1] = t.lines[-1].replace(b'"ts":1750000000', b'"ts":175000000%d' % i)
        # One says of an entity that it is in use, another one declares it.
        t.meta("EH", {"id": f"{5:016x}", "type": "file", "store": 2, "uri": "/x"} if not i else
               {"id": f"{5:016x}", "type": "", "store": 8, "uri": "", "late": 1})
        t.meta("EH", {"id": f"{6:016x}", "type": "", "store": 8, "uri": "", "late": 1})
        for k in range(20):
            t.event("read", file="/data/in", args={"ret": 1})
            t.event("step", cat="PROV", type=6, args={"relations": {"used": [f"{5:016x}", f"{6:016x}"]}})
        t.end().gz(tmp / f"tr/p{i}.pfw.gz")
    run("check", tmp / "tr", rc=0)
    for opts, name in (([], "m"), (["--by-time"], "t")):
        out = tmp / f"{name}.pfw.gz"
        run("merge", *opts, "-o", out, tmp / "tr", rc=0)
        run("check", out, rc=0)
        run("split", "--by", "process", "-o", tmp / name, out, rc=0)
        run("check", tmp / name, rc=0)
        equal(len(list((tmp / name).iterdir())), 3)
    for size in ("2K", "6K"):
        run("split", "--size", size, "-o", tmp / size, tmp / "tr", rc=0)
        run("check", tmp / size, rc=0)


@test
def processes_of_one_pid(tmp):
    """On another host, and one after the other on one: in one file as in several, and in parts of it."""
    (tmp / "tr").mkdir()
    want = {}  # (host, pid, start): program, rank, bytes, calls
    traces = []
    for i, (host, pid) in enumerate((("h0", 50), ("h0", 60), ("h0", 50), ("h1", 50))):
        t = Trace(pid=pid, host=host, exe=f"p{i}", cmd=f"p{i}", ts=10**15 + i * 10**6)
        t.meta("PR", {"name": "rank", "value": str(i)})
        for k in range(40 + i):
            t.event("read", file="/data/in", args={"count": 1 << i, "offset": 0, "ret": 1 << i})
        traces.append(t.end())
        traces[-1].gz(tmp / "tr" / f"p{i}.pfw.gz")
        want[host, pid, i] = (f"p{i}", i, (40 + i) << i, 40 + i)
    run("merge", "-o", tmp / "m.pfw.gz", tmp / "tr", rc=0)
    run("merge", "--by-time", "-o", tmp / "t.pfw.gz", tmp / "tr", rc=0)
    run("split", "--size", "5K", "-o", tmp / "parts", tmp / "m.pfw.gz", rc=0)
    check(len(list((tmp / "parts").iterdir())) > 4, "parts")
    run("split", "--by", "process", "-o", tmp / "again", tmp / "parts", rc=0)
    for where in ("tr", "m.pfw.gz", "t.pfw.gz", "parts", "again"):
        ranks = where != "t.pfw.gz"  # metadata have no time, so whose they are of one pid is open
        run("export", "--to", "sqlite", "-o", tmp / "db", "--force", tmp / where, rc=0)
        db = sqlite3.connect(tmp / "db")
        rows = db.execute("select h.name, p.pid, p.program, p.rank, sum(e.bytes), sum(e.bytes is not null)"
                          " from processes p join hosts h on h.id = p.host join events e on e.process = p.id"
                          " group by p.id").fetchall()
        db.close()
        equal(sorted(r if ranks else r[:3] + r[4:] for r in rows),
              sorted((h, p, *(v if ranks else (v[0], *v[2:]))) for (h, p, _), v in want.items()), where)
        by = run("timeline", "--json", "--by", "process", "--top", "0", tmp / where, rc=0).json()
        sums = collections.Counter()
        for x in by["intervals"]:
            sums[x["process"]] += x["read"]
        apart = {f"{v[0]} ({h}:{p})": v[2] for (h, p, _), v in want.items()}
        if where in ("parts", "again"):  # which parts are of one process is told by host and pid alone
            apart["p2 (h0:50)"] += apart.pop("p0 (h0:50)")
        equal(dict(sums), apart, where)
        if where != "parts":
            s = run("summary", "--json", tmp / where, rc=0).json()
            equal(sorted((p["pid"], p["program"], p["read"]) for p in s["process_list"]),
                  sorted((p, v[0], v[2]) for (_, p, _), v in want.items()), where)
            equal(s["processes"], 4)
            equal(s["ranks"] if ranks else 4, 4)
        run("export", "--to", "perfetto", "-o", tmp / "p.json", "--force", tmp / where, rc=0)
        sums, titles = collections.Counter(), {}
        for e in json.loads((tmp / "p.json").read_text())["traceEvents"]:
            if e["ph"] == "X" and e["name"] == "read":
                sums[e["pid"]] += e["args"]["ret"]
            elif e["ph"] == "M" and e["name"] == "process_name":
                titles[e["pid"]] = e["args"]["name"]
        equal(sorted((titles[p], n) for p, n in sums.items()),
              sorted((f"{v[0]} ({h}:{p})", v[2]) for (h, p, _), v in want.items()), where)
    again, first = (sorted(sorted(x.raw for x in without_ours(tracelines.lines(p))) for p in (tmp / d).iterdir())
                    for d in ("again", "tr"))
    equal(again, first, "processes put together again")


@test
def merge_of_bad_files(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    t = base.sample(pid=1)
    t.lines.pop()
    t.gz(tmp / "tr/unfinished.pfw.gz")
    r = run("merge", "-o", tmp / "m.pfw.gz", tmp / "tr", rc=0)
    one_line(r.err, "unfinished")
    equal([x.args.get("unfinished") for x in tracelines.lines(tmp / "m.pfw.gz")
           if x.args.get("name") == "merged_from"], [None] * 4 + [1])
    expect_fault(tmp / "m.pfw.gz", "1 of 5 processes have no end record")
    p = tmp / "tr/p1.pfw.gz"
    p.write_bytes(p.read_bytes()[:-30])
    check("cut" in run("merge", "-o", tmp / "n.pfw.gz", tmp / "tr", rc=1).err, "told")
    check((tmp / "n.pfw.gz").exists(), "the rest")
    one_line(run("merge", "-o", tmp / "n.pfw.gz", tmp / "tr", rc=1).err.splitlines()[-1] + "\n", "--force")
    (tmp / "e").mkdir()
    (tmp / "e/empty.pfw").write_bytes(b"")
    check("no records" in run("merge", "-o", tmp / "x.pfw.gz", tmp / "e", rc=1).err, "nothing there")
    check(not (tmp / "x.pfw.gz").exists() and len(list(tmp.iterdir())) == 4, "nothing left behind")
    ns = Trace(pid=77)
    ns.lines = [x.replace(b'"US"', b'"NS"') for x in ns.lines]
    (tmp / "tr/zz.pfw").write_bytes(ns.end().text())
    check("another unit" in run("merge", "-o", tmp / "x.pfw.gz", tmp / "tr", rc=1).err, "units")
    check(not (tmp / "x.pfw.gz").exists(), "not half a file")
    for args, part in ((["merge", "a"], "no -o FILE"), (["merge", "-o", "a"], "no DIR"),
                       (["split", "-o", "a", "b"], "none of --by"), (["split", "--by", "x"], "--by x"),
                       (["split", "--by", "host", "b"], "no -o"), (["split", "--size", "1s"], "--size 1s"),
                       (["split", "--interval", "5"], "--interval 5"), (["recover", "a"], "no -o"),
                       (["split", "--by", "host", "--size", "5", "b"], "only one"),
                       (["recover", "-o", "a", "-"], "twice")):
        one_line(run(*args, rc=2).err, part)


# ---- split ---------------------------------------------------------------------------------------

@test
def split_by_process(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    for i, opts in enumerate(([], ["--by-time"])):
        run("merge", *opts, "-o", tmp / f"m{i}.pfw.gz", tmp / "tr", rc=0)
        run("split", "--by", "process", "-o", tmp / f"s{i}", tmp / f"m{i}.pfw.gz", rc=0)
        run("check", tmp / f"s{i}", rc=0)
        equal(len(list((tmp / f"s{i}").iterdir())), 4)
        got = [x for x in tracelines.lines(tmp / f"s{i}") if not is_ours(x)]
        order = sorted if opts else list
        equal({k: order(v) for k, v in by_process(got, undeclared).items()},
              {k: order(v) for k, v in by_process(all_lines, undeclared).items()})
        for p in tracelines.paths(tmp / f"s{i}"):
            equal(len({key(x) for x in tracelines.lines(p)}), 1, "one process")
            members_are_whole(p)
    for name in ("FH", "SH", "HH"):
        equal(tracelines.names(tracelines.lines(tmp / "s0"), name), tracelines.names(all_lines, name))
    # All that one process declared is declared in its file again, by itself.
    want = by_process(all_lines, lambda x: x.rec["name"] in ("EH", "ET"))
    got = by_process(tracelines.lines(tmp / "s0"), lambda x: x.rec["name"] in ("EH", "ET"))
    equal({k: sorted(v) for k, v in got.items()}, {k: sorted(v) for k, v in want.items()})


@test
def split_by_host(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr")
    run("split", "--by", "host", "-o", tmp / "s", tmp / "tr", rc=0)
    run("check", tmp / "s", rc=0)
    parts = tracelines.paths(tmp / "s")
    equal([p.name.split("-")[0] for p in parts], ["host0", "host1"])
    for p in parts:
        equal(len({x.args["hhash"] for x in tracelines.lines(p)}), 1)
    equal(by_process(without_ours(tracelines.lines(tmp / "s")), undeclared), by_process(all_lines, undeclared))


@test
def split_into_parts(tmp):
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr", n=300)
    for how in (["--size", "20K"], ["--interval", "3ms"], ["--interval", "1min"]):
        out = tmp / how[1]
        run("split", *how, "-o", out, tmp / "tr", rc=0)
        r = run("check", out, rc=0)
        check("all right" in r.out, r.out)
        parts = tracelines.paths(out)
        check(len(parts) > 3 or how[1] == "1min", f"{len(parts)} parts")
        got = [x for p in parts for x in tracelines.lines(p) if "ts" in x.rec]
        equal(sorted(x.raw for x in got), sorted(x.raw for x in all_lines if "ts" in x.rec), how)
        for p in parts:
            size = len(tracelines.text(p))
            times = {x.rec["ts"] // 3000 for x in tracelines.lines(p) if "ts" in x.rec}
            if how[0] == "--size":
                check(size < 20 * 1024 + 4096, f"a part of {size} bytes")
            elif how[1] == "3ms":
                equal(len(times), 1, "intervals in a part")
        if how[0] == "--size":
            equal([x.raw for x in got], [x.raw for x in all_lines if "ts" in x.rec], "order")
        # Each part tells all names of its own, so that it says the same alone.
        for p in parts[:4]:
            lines = tracelines.lines(p)
            fh = tracelines.names(all_lines, "FH")
            rows = run("events", "--json", "--fields", "file", p, rc=0).json()["events"]
            equal([r["file"] for r in rows],
                  [fh[x.args["fhash"]].decode(errors="replace") if "fhash" in x.args else None
                   for x in lines if "ts" in x.rec])


@test
def nanoseconds_stay(tmp):
    t = Trace(pid=77)
    t.lines = [x.replace(b'"US"', b'"NS"') for x in t.lines]
    for i in range(50):
        t.event("read", file="/data/x", step=1000, args={"ret": 1})
    (tmp / "a.pfw").write_bytes(t.end().text())
    run("split", "--interval", "10us", "-o", tmp / "s", tmp / "a.pfw", rc=0)
    parts = tracelines.paths(tmp / "s")
    check(len(parts) > 3, "parts")
    for p in parts:
        check(b'"time_metric","value":"NS"' in tracelines.text(p), f"the unit in {p}")


# ---- recover -------------------------------------------------------------------------------------

def recovered(tmp, path, rc=0):
    out = tmp / "rec"
    before = Path(path).read_bytes()
    r = run("recover", "--force", "-o", out, path, rc=rc)
    equal(Path(path).read_bytes(), before, "the original")
    return out / (Path(path).name.removesuffix(".gz").removesuffix(".pfw") + ".pfw.gz"), r


def lines_of(data):
    """The whole lines that gzip text still has, by Python's own zlib."""
    text = b""
    while data:
        d = zlib.decompressobj(31)
        try:
            text += d.decompress(data)
        except zlib.error:
            break
        if not d.eof:
            break
        data = d.unused_data
    return text[:text.rfind(b"\n") + 1].split(b"\n")[:-1]


def tells(path):
    """args.recovered of the end record, which is the last line."""
    last = json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[-2])
    equal((last["name"], last["cat"]), ("end", "dftracer"))
    return last


def content(path):
    """The lines but the last, and without those of dftrace's own."""
    return [x for x in gzip.decompress(path.read_bytes()).split(b"\n")[:-2] if b'"rearranged"' not in x]


@test
def recover_cut_files(tmp):
    rng = random.Random(3)
    (tmp / "tr").mkdir()
    make(tmp / "tr", procs=1, n=200)
    data = (tmp / "tr/p0.pfw.gz").read_bytes()
    cut = tmp / "cut.pfw.gz"
    done = 0
    for size in sorted(rng.sample(range(400, len(data) - 8), 100)):
        cut.write_bytes(data[:size])
        want = lines_of(data[:size])
        if not want:
            continue
        out, r = recovered(tmp, cut)
        end = tells(out)
        want = [x for x in want if b'"name":"end"' not in x]
        equal(content(out), want, f"cut at {size}")
        check(end["args"]["recovered"].get("cut") == 1 or end["args"]["recovered"].get("unfinished"), f"{end}")
        equal(end["args"]["recovered"]["lines"], len(want))
        equal(end["id"], 1 + max([json.loads(x).get("id", 0) for x in want]))
        got = faults(out)
        equal(len(got), 1, f"faults {got}")
        check("recovered from a file that was cut" in got[0], got[0])
        members_are_whole(out)
        done += 1
    check(done > 90, f"{done} files")


@test
def recover_damaged_members(tmp):
    rng = random.Random(4)
    (tmp / "tr").mkdir()
    all_lines = make(tmp / "tr", procs=1, n=200)
    offsets = []
    data = (tmp / "tr/p0.pfw.gz").read_bytes()
    rest = data
    members = []
    while rest:
        d = zlib.decompressobj(31)
        members.append(d.decompress(rest))
        offsets.append(len(data) - len(rest))
        rest = d.unused_data
    bad_file = tmp / "bad.pfw.gz"
    offsets.append(len(data))
    for _ in range(40):
        which = rng.randrange(1, len(members) - 1)
        blob = bytearray(data)
        at = rng.randrange(offsets[which] + 12, offsets[which + 1] - 5)  # data or CRC
        blob[at] ^= 1 << rng.randrange(8)
        bad_file.write_bytes(blob)
        out, r = recovered(tmp, bad_file)
        want = b"".join(members[:which] + members[which + 1:]).split(b"\n")[:-2]
        equal(content(out), want, f"member {which}")
        end = tells(out)
        equal(end["args"]["recovered"].get("members_bad"), 1)
        missing = sum(1 for x in members[which].split(b"\n")[:-1] if b'"id":' in x and
                      json.loads(x)["ph"] == 1)
        equal(end["args"]["recovered"].get("events_missing", 0), missing)
        check(end["args"]["exit"] == {"code": 0} and "cfg" in end["args"], "what the end record said")
        got = faults(out)
        equal(len(got), 1, f"faults {got}")


@test
def recover_merged_files(tmp):
    """Of several processes each keeps its end, or is given one; one of them tells what was lost."""
    (tmp / "tr").mkdir()
    for i in range(3):
        base.sample(pid=50 + i // 2, n=30, ts=10**15 + i * 10**6).gz(tmp / "tr" / f"p{i}.pfw.gz")
    for opts in ([], ["--by-time"]):
        run("merge", *opts, "--force", "-o", tmp / "m.pfw", tmp / "tr", rc=0)
        text = (tmp / "m.pfw").read_bytes()
        run("recover", "--force", "-o", tmp / "r", tmp / "m.pfw", rc=0)
        equal(gzip.decompress((tmp / "r/m.pfw.gz").read_bytes()), text, "it was whole")
        lines = text.splitlines(keepends=True)
        kept = [n for n in lines if b'"id":7,' not in n and not (b'"pid":51,' in n and b'"end"' in n)]
        equal(len(lines) - len(kept), 4)
        (tmp / "m.pfw").write_bytes(b"".join(kept))
        run("recover", "--force", "-o", tmp / "r", tmp / "m.pfw", rc=0)
        got = tracelines.lines(tmp / "r/m.pfw.gz")
        ends = [x for x in got if x.rec["name"] == "end"]
        equal(collections.Counter(x.rec["pid"] for x in ends), {50: 2, 51: 1})
        equal([x.args["recovered"] for x in ends if "recovered" in x.args],
              [{"lines": len(kept), "events_missing": 3, "unfinished": 1}])
        r = run("check", tmp / "r", rc=1)
        equal(len(r.out.splitlines()), 2, r.out)  # what was recovered, and the sum


@test
def merge_the_dialect_of_2025(tmp):
    (tmp / "tr").mkdir()
    for pid in (50, 51):
        base.sample(pid=pid).gz(tmp / "tr" / f"{pid}.pfw.gz")
    run("export", "--to", "dftracer-1", "-o", tmp / "old", tmp / "tr", rc=0)
    count = len([x for x in tracelines.lines(tmp / "tr") if "ts" in x.rec and x.rec["name"] not in ("start", "end")])
    for opts in ([], ["--by-time"]):
        run("merge", *opts, "--force", "-o", tmp / "m.pfw.gz", tmp / "old", rc=0)
        check("all right, nothing lost" in run("check", tmp / "m.pfw.gz", rc=0).out, "check")
        s = run("summary", "--json", tmp / "m.pfw.gz", rc=0).json()
        equal((s["events"], s["processes"]), (count, 2))


@test
def sources_of_one_name(tmp):
    """Each gets a file of its own; which of them is which the text tells."""
    for d, pid in (("a", 1), ("b", 2), ("c", 3)):
        (tmp / d).mkdir()
        base.sample(pid=pid, n=pid).gz(tmp / d / "p.pfw.gz")
    base.sample(pid=4).gz(tmp / "a/p-2.pfw.gz")
    for cmd in (["recover"], ["export", "--to", "dftracer-1"]):
        out = tmp / cmd[-1]
        run(*cmd, "-o", out, tmp / "a", tmp / "b", tmp / "c", rc=0)
        equal(sorted({json.loads(x.raw.rstrip(b","))["pid"] for x in tracelines.lines(p)}.pop()
                     for p in out.iterdir()), [1, 2, 3, 4], cmd)


@test
def sources_stay(tmp):
    """--force replaces what is there, but nothing that is read."""
    for d in ("a", "b"):
        (tmp / d).mkdir()
        base.sample(n=9).gz(tmp / d / "p.pfw.gz")
    (tmp / "b/link.pfw.gz").symlink_to("../a/p.pfw.gz")
    before = (tmp / "a/p.pfw.gz").read_bytes()
    for cmd, out in ((["recover"], "a"), (["export", "--to", "dftracer-1"], "a"), (["merge"], "a/p.pfw.gz"),
                     (["export", "--to", "csv"], "a/p.pfw.gz"), (["export", "--to", "sqlite"], "b/../a/p.pfw.gz")):
        r = run(*cmd, "--force", "-o", tmp / out, tmp / "a/p.pfw.gz", rc=1)
        one_line(r.err.splitlines()[0], "one of the files that are read")
        equal((tmp / "a/p.pfw.gz").read_bytes(), before, cmd)
        equal([p.name for p in (tmp / "a").iterdir()], ["p.pfw.gz"])
    run("merge", "--force", "-o", tmp / "b/link.pfw.gz", tmp / "a/p.pfw.gz", rc=0)  # it is the link that is replaced
    equal((tmp / "a/p.pfw.gz").read_bytes(), before)


@test
def interrupted(tmp):
    """Nothing half done is left behind, whatever ends the command while it waits for its input."""
    for cmd, out in ((["merge"], "m.pfw.gz"), (["export", "--to", "sqlite"], "db"), (["split", "--size", "1M"], "s"),
                     (["export", "--to", "perfetto"], "p.json"), (["export", "--to", "dftracer-1"], "d")):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            p = subprocess.Popen([base.DFTRACE, *cmd, "-o", tmp / out, "-"], stdin=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
            p.stdin.write(base.sample(n=3000).text())
            p.stdin.flush()
            deadline = time.monotonic() + 20
            while not list(tmp.rglob("*.tmp-*")) and time.monotonic() < deadline:
                os.sched_yield()
            check(list(tmp.rglob("*.tmp-*")), f"{cmd}: nothing is being written")
            p.send_signal(sig)
            equal(p.wait(base.TIMEOUT), -sig, cmd)
            p.stdin.close()
            equal([f for f in tmp.rglob("*") if f.is_file()], [], f"{cmd} {sig}")


@test
def recover_lines(tmp):
    t = base.sample()
    lines = list(t.lines)
    bad = lines[:5] + [b"garbage", b'{"id":'] + lines[5:9] + lines[10:]
    for name, text, want in (
            ("plain.pfw", b"\n".join(bad) + b"\n", {"bad_lines": 2}),
            ("noend.pfw", b"\n".join(lines[:-1]) + b"\n", {"unfinished": 1}),
            ("tail.pfw", b"\n".join(lines)[:-20], {"cut": 1, "unfinished": 1}),
            ("array.pfw", b"[\n" + b",\n".join(lines[:-1]) + b",\n", {"unfinished": 1})):
        (tmp / name).write_bytes(text)
        out, r = recovered(tmp, tmp / name)
        end = tells(out)["args"]["recovered"]
        for k, v in want.items():
            equal(end.get(k), v, f"{name}: {end}")
        got = faults(out)
        equal(len(got), 1, f"{name}: faults {got}")
        equal(content(out), [x for x in lines if x in text and b'"name":"end"' not in x])
    # What is whole stays as it is, and nothing is said of it.
    (tmp / "good.pfw").write_bytes(t.text())
    out, r = recovered(tmp, tmp / "good.pfw")
    equal(gzip.decompress(out.read_bytes()), t.text())
    check("it was whole" in r.out, r.out)
    run("check", out, rc=0)
    # Refusals.
    check("--force" in run("recover", "-o", tmp / "rec", tmp / "good.pfw", rc=1).err, "refused")
    (tmp / "none.pfw").write_bytes(b"no records\n")
    check("nothing to be recovered" in recovered(tmp, tmp / "none.pfw", rc=1)[1].err, "nothing")
    check(not (tmp / "rec/none.pfw.gz").exists(), "no file of nothing")
    check(not [p for p in (tmp / "rec").iterdir() if "tmp" in p.name], "nothing left behind")
    for _ in range(2):
        r = run("recover", "--force", "-o", tmp / "rec", tmp / "plain.pfw", tmp / "no.pfw", rc=1)
        check("plain.pfw: " in r.out, "the rest is done")


if __name__ == "__main__":
    sys.exit(base.main())
