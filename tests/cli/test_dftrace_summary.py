#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace summary: every figure, against a second opinion.

The traces are written here. Small ones have figures counted by hand; large ones, drawn at random from a
fixed seed, are read again by a script below that knows nothing of dftrace but the format: it reads the
lines with gzip and json and adds up.
"""
import collections
import csv
import errno
import gzip
import io
import json
import math
import random
import sys

import test_dftrace as base
from test_dftrace import HOST, Trace, check, dfhash, dumps, equal, one_line, run, test

base.TESTS.clear()

READS = {"read", "pread", "readv", "fread"}
WRITES = {"write", "pwrite", "writev", "fwrite"}
COPIES = {"sendfile": True, "copy_file_range": False, "splice": False}  # True: fhash is written
CLASS = {"open": "open", "close": "close", "stat": "stat", "readdir": "readdir", "rename": "names",
         "fsync": "sync", "lseek": "seek", "ftruncate": "size", "chmod": "attributes", "fcntl": "control",
         "mmap": "map", "wait": "process", "mmap_read": "page faults"}
DATA = {"read", "write", "copy", "sync", "page faults"}
META = {"open", "close", "stat", "readdir", "names", "attributes", "size", "seek", "map", "control"}
BOUNDS = [100, 1024, 10240, 102400, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30]


def kind_of(name):
    if name in READS or name in WRITES:
        return "read" if name in READS else "write"
    return "copy" if name in COPIES else CLASS.get(name, "other")


def bin_of(size):
    return next((i for i, b in enumerate(BOUNDS) if size <= b), len(BOUNDS))


# ---- the second opinion ---------------------------------------------------------------------------

class Opinion:
    """What the lines of some files come to."""

    def __init__(self, paths, depth=None):
        new = lambda: collections.defaultdict(int)
        self.ops = collections.defaultdict(new)
        self.durs = collections.defaultdict(list)
        self.files = collections.defaultdict(new)
        self.procs = []
        self.names = {}
        self.bins = {"read": [0] * 10, "write": [0] * 10}
        self.sizes = collections.Counter()
        self.place = collections.defaultdict(new)
        self.slow, self.errors = [], collections.Counter()
        self.touched, self.ranks = collections.defaultdict(set), collections.defaultdict(set)
        for nr, path in enumerate(sorted(map(str, paths))):
            self.one_file(nr, gzip.open(path).read() if path.endswith(".gz") else open(path, "rb").read())

    def one_file(self, nr, data):
        self.ends, self.nr, here = {}, nr, {}
        for line in data.splitlines():
            if line.strip() in (b"[", b"]", b""):
                continue
            r = json.loads(line.rstrip(b","))
            pid = r["pid"]
            if pid not in here:
                here[pid] = collections.defaultdict(int, pid=pid, nr=nr, tids=set())
                self.procs.append(here[pid])
            self.record(r, r.get("args", {}), here[pid])
        for (pid, h) in {k for k in self.touched_here(nr)}:
            if "rank" in here[pid]:
                self.ranks[h].add(here[pid]["rank"])

    def touched_here(self, nr):
        return [(pid, h) for h, s in self.touched.items() for (n, pid) in s if n == nr]

    def record(self, r, a, p):
        ph = {"X": 1, "A": 3, "M": 4}.get(r["ph"], r["ph"])
        if ph == 4:
            if r["name"] == "FH":
                self.names[self.hash(a["value"])] = a["name"]
            if r["name"] == "PR" and a["name"] == "rank":
                p["rank"] = int(a["value"])
        elif ph == 3:
            self.row(r, a, p)
        elif r["cat"] != "dftracer":
            self.event(r, a, p)

    @staticmethod
    def hash(v):
        return int(v, 16) if isinstance(v, str) else v

    def add(self, r, a, p, calls, errors, moved, ns):
        name, kind = r["name"], kind_of(r["name"])
        o = self.ops[name]
        for key, n in (("calls", calls), ("errors", errors), ("bytes", moved), ("time_ns", ns)):
            o[key] += n
        if kind in DATA | META:
            p["data" if kind in DATA else "meta"] += ns
            p["calls"] += calls
            p["read"] += moved * (kind in ("read", "copy"))
            p["written"] += moved * (kind in ("write", "copy"))
        sides = [("fhash", COPIES.get(name, name in WRITES))]
        sides.append(("other_fhash", not COPIES.get(name, True)))
        for key, writes in sides:
            if key not in a:
                continue
            f = self.files[self.hash(a[key])]
            self.touched[self.hash(a[key])].add((self.nr, p["pid"]))
            f["calls"] += calls
            f["errors"] += errors
            f["time_ns"] += ns
            f["metadata_ns"] += ns * (kind in META)
            f["opens"] += (calls - errors) * (kind == "open")
            if kind in ("read", "write", "copy"):
                f["written" if writes else "read"] += moved

    def event(self, r, a, p):
        name, ns = r["name"], r["dur"] * 1000
        ret = a.get("ret", 0)
        failed = ret == -1 and not a.get("restarted")
        moved = max(ret, 0) if name in READS | WRITES | set(COPIES) | {"mmap_read"} else 0
        if name in ("fread", "fwrite"):
            moved *= a["size"]
        p["events"] += 1
        p["tids"].add(r["tid"])
        self.add(r, a, p, 1, failed, moved, ns)
        self.durs[name].append(ns)
        if failed:
            self.errors[name, a["errno"]] += 1
        if kind_of(name) in DATA | META:
            self.slow.append((-ns, r["ts"], self.nr, p["pid"], r["tid"], name))
        if name in READS | WRITES and ret >= 0:
            self.access(name, a, p, moved)

    def access(self, name, a, p, moved):
        way = "read" if name in READS else "write"
        self.bins[way][bin_of(moved)] += 1
        self.sizes[way, moved] += 1
        if "fhash" not in a:
            return
        h = self.hash(a["fhash"])
        for key in ((way,), (way, h)):
            t = self.place[key]
            t["calls"] += 1
            if "offset" not in a:
                continue
            t["located"] += 1
            t["unaligned"] += a["offset"] % 4096 != 0
            end = self.ends.get((p["pid"], h, way))
            if end is None:
                t["first"] += 1
            else:
                t["consecutive"] += a["offset"] == end
                t["sequential"] += a["offset"] >= end
                t["random"] += a["offset"] < end
        if "offset" in a:
            self.ends[p["pid"], h, way] = a["offset"] + moved

    def row(self, r, a, p):
        self.add(r, a, p, a["dft_cnt"], a["errors"], a["ret_sum"], a["dur_sum"] * 1000)
        self.ops[r["name"]]["aggregated"] += a["dft_cnt"]
        if a["errors"]:
            self.errors[r["name"], None] += a["errors"]


# ---- random traces --------------------------------------------------------------------------------

def random_trace(rng, pid, files, events, rank=None, old=False):
    """A process that does this and that with files; `old`: in the dialect of 2025."""
    t = Trace(pid=pid, exe=f"prog{pid % 3}", cmd=f"prog{pid % 3};-n;{pid}")
    t.ts += rng.randrange(1000)
    if rank is not None:
        t.meta("PR", {"name": "rank", "value": str(rank)})
        t.meta("CM", {"name": "job_scheduler", "value": "slurm"})
        t.meta("CM", {"name": "job_id", "value": "4711"})
    for _ in range(events):
        one_event(rng, t, rng.choice(files))
    t.end()
    if old:
        t.lines = [old_line(json.loads(line)) for line in t.lines]
        t.lines.insert(0, b"[")
    return t


def one_event(rng, t, name):
    what = rng.choices(["pread", "pwrite", "read", "write", "fread", "open", "close", "stat", "rename",
                        "fsync", "lseek", "copy_file_range", "sendfile", "wait", "row", "chmod",
                        "made_up", "readdir"], [9, 6, 3, 2, 1] + [1] * 13)[0]
    dur = int(rng.lognormvariate(3, 2))
    t.tid = t.pid + rng.randrange(3)
    size = rng.choice([0, 1, 100, 101, 1000, 1024, 1025, 4096, 4096, 4096, 65536, 1 << 20, 5 << 20, 10 << 20,
                       101 << 20, 2 << 30])
    args = {"count": size, "offset": rng.choice([0, 4096, 8192, 100, 1 << 30, size]), "ret": size}
    if what == "row":
        t.tid = t.pid
        t.aggregate(rng.choice(["read", "open", "pwrite"]), {
            "fhash": t.fh(name), "dft_cnt": rng.randrange(1, 50), "dur_sum": dur, "dur_min": 0, "dur_max": dur,
            "ret_sum": 0, "errors": rng.choice([0, 0, 1]), "shed": 1})
        return
    if what in ("read", "write"):
        del args["offset"]
        if rng.random() < 0.5:
            args["offset_shared"] = 1
    elif what == "fread":
        args = {"size": 8, "nmemb": 4, "offset": 16, "ret": rng.randrange(5)}
    elif what in ("sendfile", "copy_file_range"):
        args = {"other_fhash": t.fh("/copy/of"), "len": size, "ret": size}
    elif what not in ("pread", "pwrite"):
        args = {"ret": 0}
    if rng.random() < 0.07:
        args.update(ret=-1, errno=rng.choice([errno.ENOENT, errno.EINTR, errno.ENOSPC]))
        if args["errno"] == errno.EINTR:
            args["restarted"] = 1
    t.event(what, file=None if what == "wait" else name, dur=dur, args=args, step=rng.randrange(50))


def old_line(r):
    r["ph"] = {1: "X", 3: "A", 4: "M"}[r["ph"]]
    del r["type"]
    return dumps(r).encode() + b","


def random_job(tmp, seed, ranks=True, old=False):
    rng = random.Random(seed)
    files = [f"/data/a/f{i}" for i in range(9)] + ["/data/b/x/deep", "/data/b/y/deep", "/top", "socket:[7]"]
    for i in range(5):
        t = random_trace(rng, 100 + i, files, 400, rank=i % 4 if ranks and i != 2 else None, old=old)
        t.gz(tmp / f"p{i}.pfw.gz", per_member=50)
    return Opinion(tmp.glob("*.pfw.gz"))


def compare(tmp, o):
    """The whole JSON object against the second opinion."""
    s = run("summary", "--json", "--top", "0", tmp, rc=0).json()
    got = {x["name"]: x for x in s["operations"]}
    equal(set(got), set(o.ops), "operations")
    for name, want in o.ops.items():
        for key in ("calls", "errors", "bytes", "time_ns", "aggregated"):
            equal(got[name][key], want[key], f"{name}.{key}")
        equal(got[name]["class"], kind_of(name), name)
        quantiles(got[name], sorted(o.durs[name]))
    compare_io(s, o)
    compare_files(s, o)
    for i, b in enumerate(s["access_sizes"]):
        equal((b["reads"], b["writes"]), (o.bins["read"][i], o.bins["write"][i]), b["size"])
        equal(b["max_bytes"], BOUNDS[i] if i < 9 else None, b["size"])
    equal({(z["way"], z["size"]): z["calls"] for z in s["frequent_sizes"]}, dict(o.sizes), "sizes")
    for a in s["access"]:
        for key in ("calls", "located", "first", "consecutive", "sequential", "random", "unaligned"):
            equal(a[key], o.place[a["way"],][key], f"{a['way']} {key}")
    equal([(-z["dur_ns"], z["ts_us"], z["pid"], z["tid"], z["operation"]) for z in s["slowest"]],
          [(d, ts, pid, tid, name) for d, ts, _, pid, tid, name in sorted(o.slow)[:1000]], "slowest")
    equal({(e["operation"], e["errno"]): e["calls"] for e in s["errors_by_reason"]}, dict(o.errors), "errors")
    for e in s["errors_by_reason"]:
        equal(e["error"], e["errno"] and errno.errorcode[e["errno"]], "name of the error")
    compare_balance(s, o)
    return s


def quantiles(op, durs):
    """Within 4 in a hundred of the value by its rank in the list."""
    if not durs:
        equal(op["p50_ns"], None, "no events, no quantile")
        return
    for key, permille in (("p50_ns", 500), ("p95_ns", 950), ("p99_ns", 990)):
        want = durs[max(math.ceil(len(durs) * permille / 1000), 1) - 1]
        check(abs(op[key] - want) <= want * 0.04, f"{op['name']} {key}: {op[key]}, by the list {want}")
    check(op["p50_ns"] <= op["p95_ns"] <= op["p99_ns"] <= op["max_ns"], f"order of quantiles: {op}")


def compare_io(s, o):
    for key, of in (("read", "read"), ("written", "written"), ("calls", "calls"), ("data_ns", "data"),
                    ("metadata_ns", "meta")):
        equal(s["io"][key], sum(p[of] for p in o.procs), f"io.{key}")
    equal(s["threads"], sum(len(p["tids"]) for p in o.procs), "threads")
    equal(s["events"], sum(p["events"] for p in o.procs), "events")
    kinds = collections.defaultdict(lambda: [0, 0])
    for name, op in o.ops.items():
        kinds[kind_of(name)][0] += op["calls"]
        kinds[kind_of(name)][1] += op["time_ns"]
    equal({c["class"]: [c["calls"], c["time_ns"]] for c in s["classes"]}, dict(kinds), "classes")
    for c in s["classes"]:
        equal(c["kind"], "data" if c["class"] in DATA else "metadata" if c["class"] in META else "other")
    got = {p["pid"]: p for p in s["process_list"]}
    for p in o.procs:
        for key, of in (("read", "read"), ("written", "written"), ("data_ns", "data"), ("calls", "calls"),
                        ("metadata_ns", "meta"), ("events", "events")):
            equal(got[p["pid"]][key], p[of], f"process {p['pid']} {key}")
        equal(got[p["pid"]].get("rank"), p.get("rank"), "rank")
        equal(got[p["pid"]]["command"], f"prog{p['pid'] % 3};-n;{p['pid']}", "command")
    programs = collections.Counter(f"prog{p['pid'] % 3}" for p in o.procs)
    equal({p["program"]: p["processes"] for p in s["programs"]}, dict(programs), "programs")


def compare_files(s, o):
    used = {h: f for h, f in o.files.items() if f["calls"]}
    equal(len(s["top_files"]), len(used), "files")
    for f in s["top_files"]:
        h = int(f["fhash"], 16)
        equal(f["name"], o.names[h])
        for key in ("read", "written", "calls", "opens", "errors", "time_ns", "metadata_ns"):
            equal(f[key], used[h][key], f"{f['name']} {key}")
        equal(f["processes"], len(o.touched[h]), f"processes of {f['name']}")
        equal(f["ranks"], len(o.ranks[h]), f"ranks of {f['name']}")
        for way in ("read", "write"):
            for key in ("located", "first", "consecutive", "sequential", "random", "unaligned"):
                equal(f[f"{way}s_{key}"], o.place[way, h][key], f"{f['name']} {way}s_{key}")
    dirs = collections.defaultdict(lambda: collections.defaultdict(int))
    for h, f in used.items():
        name = o.names[h]
        d = dirs[(name.rsplit("/", 1)[0] or "/") if "/" in name else None]
        d["files"] += 1
        for key in ("read", "written", "calls", "opens", "errors", "time_ns", "metadata_ns"):
            d[key] += f[key]
    equal(s["directories_used"], len(dirs), "directories")
    for d in s["top_directories"]:
        equal({k: d[k] for k in dirs[d["name"]]}, dict(dirs[d["name"]]), f"directory {d['name']}")


def compare_balance(s, o):
    ranks = {p["rank"] for p in o.procs if "rank" in p}
    equal(s["ranks"], len(ranks), "ranks")
    parts = collections.defaultdict(lambda: [0, 0])
    for p in o.procs:
        if ranks and "rank" not in p:
            continue
        part = parts[p["rank"] if ranks else p["pid"]]
        part[0] += p["read"] + p["written"]
        part[1] += p["data"] + p["meta"]
    for i, b in enumerate(s["balance"]):
        values = [v[i] for v in parts.values()]
        mean = sum(values) / len(values)
        equal((b["min"], b["max"]), (min(values), max(values)), b["what"])
        check(math.isclose(b["mean"], mean, rel_tol=1e-9, abs_tol=0.001), f"mean {b} {mean}")
        dev = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        check(math.isclose(b["stddev"], dev, rel_tol=1e-9, abs_tol=0.001), f"stddev {b} {dev}")
        equal(parts[b["max_of"]][i], max(values), "who has the maximum")
    slowest = max(v[1] for v in parts.values())
    total = s["io"]["read"] + s["io"]["written"]
    check(math.isclose(s["io"]["bandwidth"], total * 1e9 / slowest, rel_tol=1e-6), s["io"])


@test
def random_jobs(tmp):
    """Ranks, none, and both dialects: all figures."""
    for i, kw in enumerate(({}, {"ranks": False}, {"old": True}, {})):
        d = tmp / str(i)
        d.mkdir()
        compare(d, random_job(d, 7 + i, **kw))


@test
def order_of_files_makes_no_difference(tmp):
    """Whichever thread reads which file: byte by byte the same, also of one file after the other."""
    random_job(tmp, 3)
    paths = sorted(tmp.glob("*.pfw.gz"))
    want = run("summary", "--json", "--top", "0", tmp, rc=0).out
    for seed in range(12):
        some = list(paths)
        random.Random(seed).shuffle(some)
        links = tmp / f"links{seed}"
        links.mkdir()
        equal(run("summary", "--json", "--top", "0", tmp, rc=0).out, want, "again")
        # In another order other files are next to each other; numbers of files break ties alone.
        got = run("summary", "--json", "--top", "0", *some, rc=0).json()
        equal(got, json.loads(want), f"order {seed}")
    one = tmp / "one.pfw"
    one.write_bytes(b"".join(gzip.open(p).read() for p in paths))
    alone = run("summary", "--json", "--top", "0", one, rc=0).json()
    for key in ("operations", "io", "access", "access_sizes", "frequent_sizes", "errors_by_reason"):
        equal(alone[key], json.loads(want)[key], f"{key} of one file that has all processes")


# ---- by hand --------------------------------------------------------------------------------------

@test
def places_by_hand(tmp):
    """Each kind of access, two processes on one file, calls without offset in between."""
    a = Trace(pid=10)
    for offset, size in ((0, 10), (10, 10), (30, 10), (20, 10), (30, 0), (30, 5)):
        a.event("pread", file="/f", args={"count": 10, "offset": offset, "ret": size})
    a.event("read", file="/f", args={"count": 10, "ret": 10})
    a.event("pread", file="/f", args={"count": 10, "offset": 35, "ret": 1})
    a.event("pread", file="/f", args={"count": 10, "offset": 36, "ret": -1, "errno": 5})
    a.event("pwrite", file="/f", args={"count": 1, "offset": 8192, "ret": 1})
    a.event("pwrite", file="/f", args={"count": 1, "offset": 4097, "ret": 1})
    a.end().gz(tmp / "a.pfw.gz")
    b = Trace(pid=11)
    b.event("pread", file="/f", args={"count": 10, "offset": 36, "ret": 1})
    b.end().gz(tmp / "b.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    f = s["top_files"][0]
    # 0 first; 10 consecutive; 30 forward; 20 back; 30 and 30 again consecutive; 35 consecutive. And 36 of b.
    equal([f[f"reads{k}"] for k in ("", "_located", "_first", "_consecutive", "_sequential", "_random",
                                    "_unaligned")], [9, 8, 2, 4, 5, 1, 7])
    equal([f[f"writes{k}"] for k in ("", "_located", "_first", "_consecutive", "_sequential", "_random",
                                     "_unaligned")], [2, 2, 1, 0, 0, 1, 1])
    equal((f["processes"], f["calls"], f["errors"]), (2, 12, 1))
    text = run("summary", tmp, rc=0).out
    check("read        9            8          67%         83%     17%        88%" in text, text)


@test
def requests_in_the_order_of_their_ends(tmp):
    """The order of lines counts, not that of ts."""
    t = Trace()
    for offset, step in ((0, 100), (4096, -50), (8192, -10)):
        t.event("read", file="/f", args={"count": 4096, "offset": offset, "ret": 4096, "via": "io_uring"},
                step=step)
    t.end().gz(tmp / "a.pfw.gz")
    a = run("summary", "--json", tmp, rc=0).json()["access"][0]
    equal((a["first"], a["consecutive"], a["random"]), (1, 2, 0))


@test
def program_runs_are_no_operations(tmp):
    t = Trace()
    ids = ["00000000000000aa", "00000000000000bb"]
    for i in ids:
        t.meta("EH", {"id": i, "type": "file", "store": 2, "uri": "/x"})
    t.meta("ER", {"relation": 16, "subject": ids[0], "object": ids[1], "why": "rename"})
    t.event("read", file="/f", args={"ret": 1})
    for part in (None, 2, 3):
        t.event("cat", cat="PROGRAM", type=1, args={"relations": {"used": ids},
                                                    **({"part": part} if part else {})})
    t.event("cat", cat="PROGRAM", type=2, args={"relations": {"used": ids[:1]}})
    t.event("dd", cat="PROGRAM", type=1, args={"relations": {"generated": ids[:1]}})
    t.end().gz(tmp / "a.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    equal([o["name"] for o in s["operations"]], ["read"])
    equal(s["program_runs"], {"runs": 2, "relations": [
        {"name": "used", "count": 6}, {"name": "derived_from", "count": 1}, {"name": "generated", "count": 1}]})
    equal((s["events"], s["annotations"]["events"], s["annotations"]["relations"]),
          (2, 1, [{"name": "used", "count": 1}]))
    check("2 program runs (used 6, derived_from 1, generated 1)\n" in run("summary", tmp, rc=0).out, "text")


@test
def sizes_by_hand(tmp):
    """The bounds of Darshan's bins belong to the lower one."""
    t = Trace()
    sizes = [0, 100, 101, 1024, 1025, 10240, 10241, 102400, 102401, 1 << 20, (1 << 20) + 1, 4 << 20, 4194305,
             10 << 20, 10485761, 100 << 20, 104857601, 1 << 30, (1 << 30) + 1]
    for n in sizes:
        t.event("write", file="/f", args={"count": n, "ret": n})
    t.end().gz(tmp / "a.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    equal([b["writes"] for b in s["access_sizes"]], [2] * 9 + [1])
    equal([b["size"] for b in s["access_sizes"]][:2], ["0-100", "100-1K"])
    text = run("summary", tmp, rc=0).out
    check("most frequent: 1073741825 (1 write), 1073741824 (1 write)" in text, text)


@test
def many_sizes_leave_the_round_ones(tmp):
    """More different sizes than are counted: those of the lowest power of two that suffices."""
    rng = random.Random(5)
    sizes = list(range(1, 6001)) + [65536] * 7
    rng.shuffle(sizes)
    want = collections.Counter(sizes)
    for i in range(3):
        t = Trace(pid=10 + i)
        for n in sizes[i::3]:
            t.event("write", file="/f", args={"count": n, "ret": n})
        t.end().gz(tmp / f"{i}.pfw.gz", per_member=500)
    got = run("summary", "--json", "--top", "0", tmp, rc=0).json()["frequent_sizes"]
    step = next(1 << k for k in range(64) if len([n for n in want if n % (1 << k) == 0]) <= 4096)
    equal(step, 2, "by hand: 6001 sizes, 3001 even ones")
    equal({z["size"]: z["calls"] for z in got}, {n: c for n, c in want.items() if n % step == 0})
    equal((got[0]["size"], got[0]["calls"]), (65536, 7))


@test
def ranks_by_hand(tmp):
    """More ranks on a file than are told apart, a process without a rank, two processes of one."""
    for i in range(134):
        t = Trace(pid=1000 + i)
        if i < 132:
            t.meta("PR", {"name": "rank", "value": str(i)})
        elif i == 132:
            t.meta("PR", {"name": "rank", "value": "0"})
        t.event("write", file="/shared", dur=1 + i, args={"ret": 10})
        if i in (3, 4, 133):
            t.event("read", file="/few", dur=0, args={"ret": 0})
        t.end().gz(tmp / f"{i:03}.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    files = {f["name"]: f for f in s["top_files"]}
    f = files["/shared"]
    equal((f["processes"], f["processes_more"], f["ranks"], f["ranks_more"]), (134, 0, 129, 1))
    f = files["/few"]
    equal((f["processes"], f["ranks"], f["ranks_more"]), (3, 2, 0))
    equal(s["ranks"], 132)
    nbytes, time = s["balance"]
    equal((nbytes["min"], nbytes["max"], nbytes["max_of"]), (10, 20, 0))
    # Rank 0 is two processes: 1 and 133 us. Rank 1 has 2 us, and so on.
    equal((time["min"], time["max"], time["max_of"]), (2000, 134000, 0))
    text = run("summary", tmp, rc=0).out
    check(" >=129 " in text and "132 ranks" in text and "Balance over 132 ranks:" in text, text)


@test
def batch_job_and_commands(tmp):
    t = Trace(cmd="python3;train.py;--lr;0.1", exe="train.py")
    t.meta("CM", {"name": "job_id", "value": "4711"})
    t.meta("CM", {"name": "job_scheduler", "value": "slurm"})
    t.event("read", file="/f", args={"ret": 1})
    t.end().gz(tmp / "a.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    equal(s["job"], [{"name": "job_id", "value": "4711"}, {"name": "job_scheduler", "value": "slurm"}])
    text = run("summary", tmp, rc=0).out
    check("batch job: id 4711, slurm\ncommand: python3 train.py --lr 0.1\n" in text, text)


@test
def directories_by_depth(tmp):
    t = Trace()
    for name, n in (("/a/b/c/d", 1), ("/a/b/e", 2), ("/a/f", 4), ("//a//b//g", 8), ("/h", 16), ("pipe:[1]", 32)):
        t.event("write", file=name, args={"ret": n})
    t.end().gz(tmp / "a.pfw.gz")
    for depth, want in (("0", {"/a/b/c": 1, "/a/b": 2, "/a": 4, "//a//b/": 8, "/": 16, None: 32}),
                        ("1", {"/a": 7, "//a": 8, "/": 16, None: 32}),
                        ("2", {"/a/b": 3, "/a": 4, "//a//b": 8, "/": 16, None: 32})):
        s = run("summary", "--json", "--top=0", f"--dir-depth={depth}", tmp, rc=0).json()
        equal({d["name"]: d["written"] for d in s["top_directories"]}, want, f"depth {depth}")


@test
def tables_alone(tmp):
    """Each table as CSV and JSON has the same rows, those of the whole object; text is aligned."""
    random_job(tmp, 11)
    whole = run("summary", "--json", "--top", "0", tmp, rc=0).json()
    keys = {"files": "top_files", "directories": "top_directories", "sizes": "access_sizes",
            "frequent-sizes": "frequent_sizes", "errors": "errors_by_reason"}
    for name in ("operations", "classes", "access", "sizes", "frequent-sizes", "files", "directories",
                 "processes", "programs", "slowest", "errors", "balance", "pipes"):
        rows = run("summary", "--json", "--table", name, tmp, rc=0).json()
        equal(list(rows), [name])
        rows = rows[name]
        if name != "processes":
            equal(rows, whole[keys.get(name, name)], name)
        lines = list(csv.DictReader(io.StringIO(run("summary", "--csv", "--table", name, tmp, rc=0).out,
                                                newline="")))
        equal([{k: v for k, v in r.items()} for r in lines],
              [{k: "" if v is None else f"{v:.3f}" if isinstance(v, float) else str(v) for k, v in r.items()}
               for r in rows], f"{name} as CSV")
        text = run("summary", "--table", name, "--top", "3", tmp, rc=0).out.splitlines()
        equal(len(text), 1 + min(len(rows), 3), f"rows of {name}")
    procs = run("summary", "--json", "--table", "processes", tmp, rc=0).json()["processes"]
    equal([(p["pid"], p["events"], p["read"]) for p in procs],
          [(p["pid"], p["events"], p["read"]) for p in whole["process_list"]])
    for name, key in (("time", lambda p: p["data_ns"] + p["metadata_ns"]),
                      ("bytes", lambda p: p["read"] + p["written"])):
        rows = run("summary", "--json", "--table", f"processes-by-{name}", tmp, rc=0).json()
        equal(rows[f"processes-by-{name}"], sorted(procs, key=key, reverse=True), name)
    text = run("summary", "--top", "2", tmp, rc=0).out
    for by in ("time in calls", "bytes", "events"):
        check(f"\nProcesses, by {by}: first 2 of {len(procs)} (--top 0 shows all)\n" in text, text)
    for args in (["--top", "5"], []):
        text = run("summary", *args, tmp, rc=0).out
        check("\nProcesses, by time in calls: " in text, text)
        check("Processes, by bytes" not in text, "all are shown anyway, or one table was enough")
    equal(run("summary", "--csv", tmp, rc=0).out, run("summary", "--csv", "--table=operations", tmp, rc=0).out)


@test
def wrong_usage(tmp):
    for args, part in ((["--table", "x"], "operations, classes"), (["--csv", "--json"], "one of them"),
                       (["--dir-depth", "x"], "not a number")):
        r = run("summary", *args, tmp, rc=2)
        equal(r.out, "")
        one_line(r.err, part)


@test
def nothing_to_say_is_not_said(tmp):
    Trace().end().gz(tmp / "a.pfw.gz")
    text = run("summary", tmp, rc=0).out
    for part in ("Access", "Files", "Directories", "Longest", "Errors", "Balance", "batch", "program run", "\nread "):
        check(part not in text, f"{part!r} in {text!r}")
    s = run("summary", "--json", tmp, rc=0).json()
    equal((s["access"], s["slowest"], s["balance"], s["io"]["bandwidth"]), ([], [], [], 0))


@test
def damaged_files_count_what_can_be_read(tmp):
    """Of a file that is cut or has a bad member the figures are those of the lines that are left."""
    rng = random.Random(2)
    t = random_trace(rng, 50, ["/a", "/b"], 300)
    whole = tmp / "whole"
    whole.mkdir()
    offsets = t.gz(whole / "a.pfw.gz", per_member=20)
    data = bytearray((whole / "a.pfw.gz").read_bytes())
    good = [t.lines[i:i + 20] for i in range(0, len(t.lines), 20)]
    data[offsets[6] - 5] ^= 0xff  # the length of member 5
    (tmp / "a.pfw.gz").write_bytes(data[:offsets[-1] + 30])
    r = run("summary", "--json", "--top=0", tmp / "a.pfw.gz", rc=1)
    check("a.pfw.gz: member 6 at byte" in r.err and "cut" in r.err, r.err)
    (tmp / "left.pfw").write_bytes(b"".join(x + b"\n" for m in good[:-1] for x in m))
    # What a member with a wrong length holds has been seen by then, and is counted; its last line too.
    o = Opinion([tmp / "left.pfw"])
    got = {x["name"]: x["calls"] for x in r.json()["operations"]}
    equal(got, {n: x["calls"] for n, x in o.ops.items()})


@test
def contradictions_give_the_same_every_time(tmp):
    """One hash with two names, one entity of two types: it does not matter which file comes first."""
    for i, (name, kind, role) in enumerate((("/b", "t2", 2), ("/a", "t1", 3), ("/c", "t2", 1))):
        t = Trace(pid=10 + i)
        t.meta("FH", {"name": name, "value": dfhash("/x")})
        t.meta("ET", {"type": "t1", "role": role, "description": ""})
        t.meta("EH", {"id": "00000000000000aa", "type": kind, "store": 2, "uri": "/x"})
        t.event("read", args={"fhash": dfhash("/x"), "ret": 1})
        t.end().gz(tmp / f"{i}.pfw.gz")
    paths = sorted(tmp.glob("*.gz"))
    for order in (paths, paths[::-1], paths[1:] + paths[:1]):
        s = run("summary", "--json", *order, rc=0).json()
        equal(s["top_files"][0]["name"], "/a")
        equal(s["annotations"]["entity_types"], [{"type": "t1", "role": "input", "entities": 1},
                                                 {"type": "t2", "entities": 0}])


@test
def faults_in_the_order_of_files(tmp):
    """Many files, some of them wrong: messages in the order of the files, whoever read them."""
    want = []
    for i in range(40):
        t = Trace(pid=100 + i)
        t.event("read", file="/f", args={"ret": 1})
        if i % 7 == 3:
            t.raw("{bad")
            want.append(f"{i:02}.pfw.gz: line")
        t.end().gz(tmp / f"{i:02}.pfw.gz")
    for _ in range(5):
        r = run("summary", "--json", tmp, rc=1)
        equal(len(r.err.splitlines()), len(want))
        for line, part in zip(r.err.splitlines(), want):
            check(part in line, f"{part!r} not in {line!r}")
        equal(r.json()["events"], 40)


if __name__ == "__main__":
    sys.exit(base.main())
