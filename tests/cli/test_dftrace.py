#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace from outside: exit codes, messages and numbers, on good and on damaged traces.

The traces are written here, line by line, and every number that is expected of dftrace is computed
here from the same lines. Run from anywhere: python3 tests/cli/test_dftrace.py [NAME-PART...]
"""
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DFT_BUILD", ROOT / "build"))
DFTRACE = BUILD / "dftrace"
TIMEOUT = 120
HOST = "node01"

TESTS = []


class Fail(Exception):
    pass


class Skip(Exception):
    pass


def test(fn):
    TESTS.append(fn)
    return fn


def check(cond, what):
    if not cond:
        raise Fail(what)


def equal(got, want, what=""):
    if got != want:
        raise Fail(f"{what}: got {got!r}, expected {want!r}")


# ---- writing traces ----------------------------------------------------------------------------

def dfhash(name):
    """The hash of the format: every other byte of the MD5."""
    if isinstance(name, str):
        name = name.encode()
    return hashlib.md5(name).digest()[::2].hex()


def dumps(rec):
    return json.dumps(rec, separators=(",", ":"), ensure_ascii=False)


class Trace:
    """The records of one process, in the order and form of the format."""

    def __init__(self, pid=4242, tid=None, host=HOST, cmd="cat;a;b", exe="cat",
                 ts=1_750_000_000_000_000):
        self.pid, self.tid, self.host = pid, tid or pid, host
        self.lines = []
        self.id = 0
        self.ts = ts
        self.seen = set()
        self.name("HH", host)
        self.meta("thread_name", {"name": str(pid), "value": "thread_name"})
        self.meta("CM", {"name": "time_metric", "value": "US"})
        cwd = self.fh("/data")
        self.name("SH", "/data")
        self.event("start", cat="dftracer", type=1, dur=0, args={
            "cwd": cwd, "cmd_hash": self.name("SH", cmd), "exec_hash": self.name("SH", exe),
            "version": "0.1.0", "date": "Sun Jun 15 15:06:40 2025", "ppid": 1})

    def raw(self, line):
        self.lines.append(line if isinstance(line, bytes) else line.encode())

    def rec(self, rec):
        self.raw(dumps(rec))

    def meta(self, name, args):
        self.rec({"name": name, "cat": "dftracer", "type": 1, "pid": self.pid, "tid": self.tid,
                  "ph": 4, "args": {"hhash": dfhash(self.host), **args}})

    def name(self, kind, name):
        data = name.encode() if isinstance(name, str) else name
        value = dfhash(data)
        if (kind, value) not in self.seen:
            self.seen.add((kind, value))
            args = {"name": data.decode(errors="replace"), "value": value}
            if args["name"].encode() != data:
                args["raw"] = data.hex()
            self.meta(kind, args)
        return value

    def fh(self, name):
        return self.name("FH", name)

    def event(self, name, cat="POSIX", type=3, dur=10, args=None, file=None, step=100):
        self.id += 1
        self.ts += step
        full = {"hhash": dfhash(self.host)}
        if file is not None:
            full["fhash"] = self.fh(file)
        full.update(args or {})
        self.rec({"id": self.id, "name": name, "cat": cat, "type": type, "pid": self.pid,
                  "tid": self.tid, "ts": self.ts, "dur": dur, "ph": 1, "args": full})

    def aggregate(self, name, args, cat="POSIX"):
        self.rec({"name": name, "cat": cat, "type": 3, "ts": self.ts, "ph": 3, "pid": self.pid,
                  "tid": self.tid, "args": {"hhash": dfhash(self.host), **args}})

    def end(self, lost=None, filtered=None, exit={"code": 0}, **more):
        args = {"num_events": self.id, "cfg": {"enable": 1, "metadata": 1}, "build": {},
                "used": {"LIBC_IO": 1}, "app": {}, "lost": lost or {},
                "filtered": filtered or {}, "exit": exit, **more}
        self.event("end", cat="dftracer", type=1, dur=0, args=args)
        return self

    def text(self):
        return b"".join(line + b"\n" for line in self.lines)

    def gz(self, path, per_member=7):
        """Members of whole lines, as the tracer writes them. Returns their offsets."""
        offsets, data = [], b""
        for i in range(0, len(self.lines), per_member):
            offsets.append(len(data))
            part = b"".join(line + b"\n" for line in self.lines[i:i + per_member])
            data += gzip.compress(part, mtime=0)
        Path(path).write_bytes(data)
        return offsets


def sample(pid=4242, n=20, **kw):
    """A process that opens, reads, writes, fails and is interrupted."""
    t = Trace(pid=pid, **kw)
    t.event("open", file="/data/in", args={"flags": 0, "ret": 3})
    for i in range(n):
        t.event("read", file="/data/in", dur=10 + i,
                args={"count": 4096, "offset": 4096 * i, "ret": 4096})
    t.event("pwrite", file="/data/out", dur=77, args={"count": 100, "offset": 0, "ret": 60})
    t.event("open", file="/data/none", args={"flags": 0, "ret": -1, "errno": 2})
    t.event("read", file="/data/in", args={"count": 1, "ret": -1, "errno": 4, "restarted": 1})
    t.event("close", file="/data/in", args={"ret": 0})
    return t.end()


# ---- running -----------------------------------------------------------------------------------

class Result:
    def __init__(self, rc, out, err):
        self.rc, self.out, self.err = rc, out, err

    def json(self):
        return json.loads(self.out)


def run(*args, stdin=None, rc=None, **kw):
    p = subprocess.run([DFTRACE, *map(os.fsencode, args)], input=stdin, capture_output=True,
                       timeout=TIMEOUT, **kw)
    r = Result(p.returncode, p.stdout.decode(), p.stderr.decode())
    sanitizer = re.search(r"(AddressSanitizer|runtime error|LeakSanitizer).*", r.err)
    check(not sanitizer, f"{args}: {sanitizer and sanitizer.group()}")
    if rc is not None:
        equal(r.rc, rc, f"exit status of {args}; stdout {r.out!r} stderr {r.err!r}")
    return r


def one_line(err, *parts):
    """One line for the user: dftrace: what: why."""
    lines = err.splitlines()
    equal(len(lines), 1, f"lines on stderr {err!r}")
    check(lines[0].startswith("dftrace: "), f"message {err!r}")
    for p in parts:
        check(p in lines[0], f"{p!r} not in {lines[0]!r}")


def faults(path, rc=1):
    """What check says of one file, without the file's name and the last line."""
    r = run("check", path, rc=rc)
    lines = r.out.splitlines()
    check(lines, f"no output; stderr {r.err!r}")
    prefix = f"{path}: "
    for line in lines[:-1]:
        check(line.startswith(prefix), f"line {line!r} does not start with {prefix!r}")
    return [line[len(prefix):] for line in lines[:-1]]


def expect_fault(path, pattern, only=True):
    got = faults(path)
    check(any(re.search(pattern, f) for f in got), f"{pattern!r} is not among {got}")
    if only:
        equal(len(got), 1, f"faults {got}")


# ---- check: good files --------------------------------------------------------------------------

@test
def good_trace(tmp):
    t = sample()
    t.gz(tmp / "a.pfw.gz")
    r = run("check", tmp, rc=0)
    equal(r.out, f"1 file, {t.id} events: all right, nothing lost\n")
    equal(r.err, "")
    r = run("check", "--json", tmp, rc=0).json()
    equal(r["total"]["events"], t.id)
    equal(r["total"]["records"], len(t.lines))
    equal(r["files"][0]["state"], "good")
    equal(r["files"][0]["members"], -(-len(t.lines) // 7))
    equal(run("check", "-q", tmp, rc=0).out, "")


@test
def good_wrappings(tmp):
    t = sample()
    (tmp / "plain.pfw").write_bytes(t.text())
    (tmp / "one.pfw.gz").write_bytes(gzip.compress(t.text()))
    (tmp / "named.pfw.gz").write_bytes(gzip.compress(b""))
    with gzip.open(tmp / "named.pfw.gz", "ab") as f:
        f.write(t.text())
    (tmp / "notes.txt").write_text("not a trace")
    equal(run("check", tmp, rc=0).out, f"3 files, {3 * t.id} events: all right, nothing lost\n")
    for data in (t.text(), gzip.compress(t.text())):
        equal(run("check", "-", stdin=data, rc=0).out,
              f"1 file, {t.id} events: all right, nothing lost\n")


@test
def good_names(tmp):
    t = Trace()
    for name in (b"/data/\xff\xfe", b"/data/\xe9", "/data/é".encode(), b"/q\"b\\s\n\t\x01",
                 b"/" + b"x" * 4094, "/data/\U0001f600".encode()):
        t.event("stat", file=name, args={"ret": 0})
    # Escapes instead of the characters themselves.
    t.raw(json.dumps({"name": "SH", "cat": "dftracer", "type": 1, "pid": t.pid, "tid": t.tid,
                      "ph": 4, "args": {"hhash": dfhash(HOST), "name": "\U0001f600/é",
                                        "value": dfhash("\U0001f600/é")}}))
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    top = run("summary", "--json", "--top", "0", tmp, rc=0).json()["top_files"]
    raw = {bytes.fromhex(f["name_raw"]) for f in top if "name_raw" in f}
    equal(raw, {b"/data/\xff\xfe", b"/data/\xe9"})
    check("\x01" not in run("summary", tmp, rc=0).out, "a control character in the text")


@test
def good_no_args(tmp):
    """With --no-args events hold no more than hhash, start and end included."""
    t = sample()
    out = Trace.__new__(Trace)
    out.lines = []
    for line in t.lines:
        rec = json.loads(line)
        if rec["ph"] == 1:
            rec["args"] = {"hhash": rec["args"]["hhash"]}
        out.rec(rec)
    out.gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    out.lines = [dumps({k: v for k, v in json.loads(x).items()
                        if k != "args" or json.loads(x)["ph"] == 4}).encode() for x in out.lines]
    out.gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)


@test
def good_tallies_and_entities(tmp):
    t = Trace()
    t.meta("ET", {"type": "file", "role": 1, "description": "d"})
    t.meta("EH", {"id": "83b05a10328e7590", "type": "file", "store": 2, "uri": "/data/a.bin"})
    t.event("step", cat="PROV", type=2, args={"relations": {"used": ["83b05a10328e7590"]},
                                               "commit_hash": "abc"})
    t.meta("ER", {"relation": 16, "subject": "83b05a10328e7590", "object": "83b05a10328e7590"})
    t.aggregate("read", {"pipe": 77, "dft_cnt": 3, "ret_sum": 12, "dur_sum": 9, "dur_max": 5})
    t.raw('{"name":"cpu-0","cat":"sys","type":7,"ts":1,"ph":2,"pid":4242,"tid":1}')
    t.raw('{"name":"NEW","cat":"dftracer","type":99,"pid":4242,"tid":1,"ph":4,"args":{"hhash":"%s",'
          '"some":{"thing":[1.5e3,null,true]}},"further":1}' % dfhash(HOST))
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)


@test
def good_2025(tmp):
    """The older dialect: letters, numbered metadata, decimal hashes, an array with commas."""
    def old_hash(name):
        return int("".join(f"{b >> 4:x}" for b in hashlib.md5(name.encode()).digest()), 16)

    base = {"cat": "POSIX", "pid": 9, "tid": 9, "ts": 100, "dur": 5, "ph": "X"}
    meta = {"cat": "dftracer", "pid": 9, "tid": 9, "ph": "M"}
    hh = old_hash(HOST)
    fh = old_hash("/data/in")
    recs = [
        {"id": 0, "name": "HH", **meta, "args": {"hhash": hh, "name": HOST, "value": hh}},
        {"id": 1, "name": "start", **base, "cat": "dftracer", "args": {"hhash": hh}},
        {"id": 2, "name": "FH", **meta, "args": {"hhash": hh, "name": "/data/in", "value": fh}},
        {"id": 3, "name": "read", **base,
         "args": {"hhash": hh, "fhash": fh, "ret": 40, "count": 99, "level": 1, "p_idx": 0}},
        {"id": 4, "name": "end", **base, "cat": "dftracer", "args": {"hhash": hh, "num_events": 5}},
    ]
    text = "[\n  " + ",\n".join(dumps(r) for r in recs) + "\n]"
    (tmp / "a.pfw").write_text(text)
    (tmp / "b.pfw.gz").write_bytes(gzip.compress(text.encode()))
    run("check", tmp, rc=0)
    s = run("summary", "--json", tmp, rc=0).json()
    equal([(o["name"], o["calls"], o["bytes"]) for o in s["operations"]], [("read", 2, 80)])
    equal(s["top_files"][0]["name"], "/data/in")


# ---- check: rules -------------------------------------------------------------------------------

def edited(tmp, edit, name="a.pfw.gz"):
    """The sample with its parsed records edited; `edit` gets the list."""
    recs = [json.loads(x) for x in sample().lines]
    edit(recs)
    t = Trace.__new__(Trace)
    t.lines = [r if isinstance(r, bytes) else dumps(r).encode() for r in recs]
    t.gz(tmp / name)
    return tmp / name


def first(recs, name, ph=None):
    return next(r for r in recs if r["name"] == name and (ph is None or r["ph"] == ph))


def rule(name, edit, pattern, only=True):
    def fn(tmp):
        expect_fault(edited(tmp, edit), pattern, only)
    fn.__name__ = f"rule_{name}"
    TESTS.append(fn)


def set_in(name, path, value):
    def edit(recs):
        r = first(recs, name)
        for k in path[:-1]:
            r = r[k]
        r[path[-1]] = value
    return edit


def delete(name, key):
    return lambda recs: first(recs, name).pop(key)


for _key in ("cat", "type", "pid", "tid", "ts", "dur", "id"):
    rule(f"missing_{_key}", delete("pwrite", _key), f"line \\d+: {_key} is missing", _key != "id")
rule("missing_ph", delete("pwrite", "ph"), "ph is missing", False)
rule("ts_float", set_in("pwrite", ["ts"], 1.5), "ts is not a non-negative integer")
rule("dur_negative", set_in("pwrite", ["dur"], -1), "dur is not a non-negative integer")
rule("dur_quoted", set_in("pwrite", ["dur"], "1"), "dur is not a non-negative integer")
rule("ts_huge", set_in("pwrite", ["ts"], 1 << 64), "ts is not a non-negative integer")
rule("name_number", set_in("pwrite", ["name"], 1), "name is not a string")
rule("args_array", set_in("pwrite", ["args"], []), "args is not an object")
rule("ph_unknown", set_in("pwrite", ["ph"], 9), "ph is none that the format knows", False)
rule("pid_differs", set_in("pwrite", ["pid"], 4243), r"pid is 4243", False)
rule("hhash_missing", lambda r: first(r, "pwrite")["args"].pop("hhash"), "hhash is missing")
rule("hhash_not_first", lambda r: first(r, "pwrite").update(args=dict(reversed(
     first(r, "pwrite")["args"].items()))), "hhash is not the first")
rule("hhash_unknown", set_in("pwrite", ["args", "hhash"], "0" * 16), "no HH record before it")
rule("fhash_unknown", set_in("pwrite", ["args", "fhash"], "0" * 16),
     "args.fhash 0000000000000000 has no FH record before it")
rule("fhash_only_sh", set_in("pwrite", ["args", "fhash"], dfhash("cat")), "has no FH record")
rule("hash_arg_unknown", set_in("pwrite", ["args", "newpath_hash"], "0" * 16),
     "args.newpath_hash .* has no FH or SH record")
rule("hash_arg_number", set_in("pwrite", ["args", "newpath_hash"], 17), "is not a hash")
rule("hash_uppercase", set_in("pwrite", ["args", "fhash"], "C721397C362C32B4"), "is not a hash")
rule("cwd_unknown", set_in("start", ["args", "cwd"], "0" * 16), "args.cwd .* no FH or SH")
rule("fh_wrong_hash", lambda r: next(x for x in r if x["args"].get("name") == "/data/in")["args"]
     .update(name="/data/im"), "is not the hash of the name")
rule("fh_raw_wrong", lambda r: next(x for x in r if x["args"].get("name") == "/data/in")["args"]
     .update(raw="ff"), "is not the hash of the name")
rule("fh_raw_not_hex", lambda r: next(x for x in r if x["args"].get("name") == "/data/in")["args"]
     .update(raw="f"), "not hex")
rule("fh_without_name", lambda r: next(x for x in r if x["args"].get("name") == "/data/in")
     ["args"].pop("name"), "no args.name")
rule("fh_twice", lambda r: r.insert(len(r) - 1, next(x for x in r if x["name"] == "FH")),
     "was introduced before")
rule("fh_late", lambda r: r.insert(len(r) - 1, r.pop(next(
     i for i, x in enumerate(r) if x["args"].get("name") == "/data/out"))),
     "no FH record before it")
rule("id_gap", lambda r: r.remove(first(r, "pwrite")), r"id is \d+, expected \d+")
rule("id_repeated", lambda r: first(r, "close").update(id=first(r, "close")["id"] - 1),
     r"id is \d+, expected \d+", False)
rule("id_on_metadata", set_in("CM", ["id"], 7), "carries no id")
rule("start_missing", lambda r: r.remove(first(r, "start")), "before the start record", False)
rule("start_twice", lambda r: r.insert(-1, {**first(r, "start"), "id": r[-1]["id"]}),
     "second start record", False)
rule("event_after_end", lambda r: r.append({**first(r, "close"), "id": r[-1]["id"] + 1}),
     "after the end record")
rule("num_events", lambda r: r[-1]["args"].update(num_events=1), "num_events is 1, but end is")
rule("num_events_text", lambda r: r[-1]["args"].update(num_events="x"), "num_events is x")
rule("lost", lambda r: r[-1]["args"].update(lost={"read": 3, "write": 2, "close": 0}),
     "5 lost: read 3, write 2$")
rule("lost_number", lambda r: r[-1]["args"].update(lost=4), "4 lost")
rule("lost_nested", lambda r: r[-1]["args"].update(lost={"faults": {"open": 1}}), "1 lost: open 1")
rule("lost_in_rows_is_none", lambda r: r[-1]["args"].update(lost={"aggregated": 0, "read": 3}),
     "3 lost: read 3$")


def row(**args):
    """Puts a row of 5 calls before the end record."""
    full = {"dft_cnt": 5, "dur_sum": 5, "dur_min": 1, "dur_max": 1, "ret_sum": 0, "errors": 0, "shed": 1,
            **args}
    return lambda r: r.insert(-1, {"name": "read", "cat": "POSIX", "type": 3, "ts": r[-1]["ts"], "ph": 3,
                                   "pid": r[-1]["pid"], "tid": r[-1]["tid"],
                                   "args": {"hhash": r[-1]["args"]["hhash"], **full}})


def with_lost(change, lost):
    return lambda r: (change(r), r[-1]["args"].update(lost=lost))


rule("row_not_told", row(), "lost.aggregated is 0, the rows that say shed have 5 calls")
rule("row_told_wrong", with_lost(row(), {"aggregated": 6}), "aggregated is 6, the rows .* have 5 calls")
rule("row_without_shed", with_lost(row(shed=0), {"aggregated": 5}),
     "aggregated is 5, the rows .* have 0 calls")
rule("row_told_as_text", with_lost(row(shed=0), {"aggregated": "5"}), "aggregated is not a non-negative")
rule("row_count_float", row(dft_cnt=1.5, shed=0), "args.dft_cnt is not a non-negative integer")
rule("row_errors_negative", row(errors=-1, shed=0), "args.errors is not a non-negative integer")
rule("row_hash", row(shed=0, fhash="0123456789abcdef"), "has no FH record before it")
rule("aggregated_from_without_ts", lambda r: r.insert(3, {
    **r[2], "args": {**r[2]["args"], "name": "aggregated_from", "value": "max_size"}}),
     "aggregated_from: args.ts is not")
rule("comm_without_ts", lambda r: r.insert(3, {
    **r[2], "args": {**r[2]["args"], "name": "comm", "value": "x"}}), "comm: args.ts is not")
rule("unfinished_with_ret", lambda r: first(r, "pwrite")["args"].update(unfinished=1),
     "a result beside args.unfinished")
rule("unseen_not_told", lambda r: (first(r, "pwrite")["args"].update(unseen=1), first(r, "pwrite")["args"].pop("ret")),
     "unseen is 0 in all, the events that say unseen are 1")
rule("unseen_told_wrong", lambda r: r[-1]["args"].update(unseen={"aio": 2, "io_uring": 1}),
     "unseen is 3 in all, the events that say unseen are 0")
rule("unseen_number", lambda r: r[-1]["args"].update(unseen=2), "args.unseen is not an object")
rule("unfinished", lambda r: r.pop(), "^unfinished: no end record after 26 events")
rule("not_json", lambda r: r.insert(9, b'{"id":1,}'), r"^line 10: not a JSON record: .*byte 9")
rule("not_object", lambda r: r.insert(9, b"17"), "^line 10: .*not an object")
rule("not_utf8", lambda r: r.insert(9, b'{"name":"\xff"}'), "^line 10: .*not UTF-8")
rule("raw_control", lambda r: r.insert(9, b'{"name":"\x01"}'), "^line 10: .*control character")
rule("lone_surrogate", lambda r: r.insert(9, b'{"name":"\\ud800"}'), "^line 10: .*surrogate")
rule("deep", lambda r: r.insert(9, b"[" * 100000), "^line 10: .*nested too deeply")
rule("duplicate_key", lambda r: r.insert(9, dumps(r[2]).replace('"ph":4', '"ph":4,"ph":4')
     .encode()), 'key "ph" twice', False)
rule("duplicate_escaped", lambda r: r.insert(9, dumps(r[2]).replace('"ph":4', r'"ph":4,"p\u0068":4')
     .encode()), 'key "ph" twice', False)
rule("duplicate_of_many", lambda r: r.insert(9, dumps(r[2]).replace('"ph":4', '"ph":4,' + ",".join(
     f'"k{i % 900}":1' for i in range(1000))).encode()), r'key "k\d+" twice', False)
rule("entity_undeclared", lambda r: first(r, "pwrite")["args"].update(
     relations={"used": ["0123456789abcdef"]}), "entity 0123456789abcdef has no EH record")
rule("entity_bad", lambda r: first(r, "pwrite")["args"].update(relations={"used": ["x"]}),
     "entity id is not 16")


@test
def rule_all_faults_counted(tmp):
    t = sample()
    for _ in range(50):
        t.raw("nonsense")
    t.gz(tmp / "a.pfw.gz")
    got = faults(tmp / "a.pfw.gz")
    equal(len(got), 21)
    equal(got[-1], "... and 30 more")
    equal(run("check", "--json", tmp, rc=1).json()["total"]["faults"], 50)


# ---- check: damage ------------------------------------------------------------------------------

@test
def cut_at_every_byte(tmp):
    t = sample(n=3)
    offsets = t.gz(tmp / "whole.pfw.gz", per_member=6)
    data = (tmp / "whole.pfw.gz").read_bytes()
    path, last = tmp / "cut.pfw.gz", -1
    for k in range(len(data)):
        path.write_bytes(data[:k])
        r = run("check", "--json", path, rc=1).json()["files"][0]
        want = "unfinished" if k in offsets else "cut"
        equal(r["state"], want, f"cut at {k}")
        check(r["records"] >= last, f"cut at {k}: {r['records']} records after {last}")
        whole = sum(1 for o in offsets if o <= k) - 1
        check(r["records"] >= 6 * max(0, whole), f"cut at {k}: {r['records']} records")
        last = r["records"]
        equal(run("summary", "--json", path).json()["records"], last, f"summary cut at {k}")


@test
def cut_plain_at_every_byte(tmp):
    t = sample(n=1)
    data = t.text()
    path = tmp / "cut.pfw"
    for k in range(len(data)):
        path.write_bytes(data[:k])
        r = run("check", "--json", path, rc=1).json()["files"][0]
        on_line = k == 0 or data[k - 1] == 10
        equal(r["state"], "unfinished" if on_line else "cut", f"cut at {k}")
        whole = data[:k].count(b"\n")
        check(r["records"] in (whole, whole + 1), f"cut at {k}: {r['records']} of {whole}")


@test
def bit_flips_are_never_silent(tmp):
    t = sample(n=40)
    t.gz(tmp / "whole.pfw.gz")
    data = (tmp / "whole.pfw.gz").read_bytes()
    path = tmp / "flipped.pfw.gz"
    rnd = random.Random(1)
    # Header bytes that gzip itself leaves unchecked: time, extra flags, system.
    harmless = {o + i for o in t.gz(tmp / "whole.pfw.gz") for i in (4, 5, 6, 7, 8, 9)}
    for _ in range(300):
        k = rnd.randrange(len(data))
        path.write_bytes(data[:k] + bytes([data[k] ^ 1 << rnd.randrange(8)]) + data[k + 1:])
        r, s = run("check", path), run("summary", path)
        check(r.rc in (0, 1) and s.rc in (0, 1), f"byte {k}: {r.rc} {s.rc}")
        if k not in harmless:
            equal((r.rc, s.rc), (1, 1), f"byte {k}")
            check(s.err.startswith("dftrace: "), f"byte {k}: {s.err!r}")


@test
def damaged_member_costs_only_itself(tmp):
    t = sample(n=60)
    offsets = t.gz(tmp / "a.pfw.gz", per_member=10)
    data = bytearray((tmp / "a.pfw.gz").read_bytes())
    bad = 3
    data[offsets[bad] + 20] ^= 0xff
    (tmp / "a.pfw.gz").write_bytes(data)
    got = faults(tmp / "a.pfw.gz")
    check(any(f.startswith(f"member {bad + 1} at byte {offsets[bad]}: damaged") for f in got), got)
    r = run("check", "--json", tmp, rc=1).json()["files"][0]
    check(r["records"] >= len(t.lines) - 10, f"{r['records']} of {len(t.lines)} records")
    equal(r["members"], len(offsets) - 1)
    equal(run("check", "-", stdin=bytes(data)).rc, 1)


@test
def crc_and_length_are_checked(tmp):
    t = sample()
    for back, word in ((8, "data check"), (4, "length check")):
        data = bytearray(gzip.compress(t.text()))
        data[-back] ^= 1
        (tmp / "a.pfw.gz").write_bytes(data)
        expect_fault(tmp / "a.pfw.gz", f"member 1 at byte 0: damaged: incorrect {word}")


@test
def trailing_bytes(tmp):
    t = sample()
    offsets = t.gz(tmp / "a.pfw.gz")
    data = (tmp / "a.pfw.gz").read_bytes()
    for extra, what in ((b"\0" * 5000, "5000 zero bytes"), (b"\0", "1 zero bytes"),
                        (b"garbage", "7 bytes that are not gzip")):
        (tmp / "a.pfw.gz").write_bytes(data + extra)
        expect_fault(tmp / "a.pfw.gz",
                     f"^member {len(offsets)} at byte {len(data)}: followed by {what}")
    # Between members, where the second half must still be read.
    (tmp / "a.pfw.gz").write_bytes(data[:offsets[2]] + b"xyz" * 100 + data[offsets[2]:])
    expect_fault(tmp / "a.pfw.gz", "300 bytes that are not gzip")
    equal(run("summary", "--json", tmp, rc=1).json()["records"], len(t.lines))


@test
def member_within_a_line(tmp):
    t = sample()
    text = t.text()
    (tmp / "a.pfw.gz").write_bytes(gzip.compress(text[:777]) + gzip.compress(text[777:]))
    expect_fault(tmp / "a.pfw.gz", "^member 1 at byte 0: does not end at the end of a line")
    run("summary", tmp, rc=0)


@test
def no_header(tmp):
    (tmp / "a.pfw.gz").write_bytes(b"\0" * 100000)
    got = faults(tmp / "a.pfw.gz")
    check("no gzip header: 100000 bytes passed over" in got[0], got)
    (tmp / "a.pfw.gz").write_bytes(b"")
    expect_fault(tmp / "a.pfw.gz", "unfinished: no records")
    (tmp / "a.pfw.gz").write_bytes(sample().text())
    expect_fault(tmp / "a.pfw.gz", "named .gz but not compressed")


@test
def long_lines(tmp):
    t = sample()
    body = b'{"name":"' + b"x" * (3 << 20) + b'"}\n'
    (tmp / "a.pfw.gz").write_bytes(gzip.compress(body + t.text(), 1))
    r = run("summary", "--json", tmp, rc=0).json()
    equal(r["records"], len(t.lines) + 1)
    # A thousandfold bomb without a newline is passed over in bounded memory.
    with gzip.open(tmp / "a.pfw.gz", "wb", 1) as f:
        for _ in range(200):
            f.write(b"y" * (1 << 20))
        f.write(b"\n" + t.text())
    check("longer than 64 MiB; passed over" in run("summary", tmp, rc=1).err, "message")
    limit = 600 << 20
    r = run("summary", "--json", tmp, rc=1, preexec_fn=(lambda: __import__("resource").setrlimit(
        __import__("resource").RLIMIT_AS, (limit, limit))) if not sanitized() else None)
    equal(r.json()["records"], len(t.lines))


def sanitized():
    return b"__asan_init" in DFTRACE.read_bytes()


# ---- summary ------------------------------------------------------------------------------------

def expected_ops(traces):
    """The numbers per operation, straight from the lines."""
    ops = {}
    for t in traces:
        for r in map(json.loads, t.lines):
            if r["ph"] != 1 or r["cat"] == "dftracer":
                continue
            o = ops.setdefault((r["name"], r["cat"]), dict(calls=0, errors=0, restarted=0, bytes=0,
                                                           time_ns=0, max_ns=0))
            a = r["args"]
            ns = a.get("dur_ns", r["dur"] * 1000)
            o["calls"] += 1
            o["errors"] += a.get("ret") == -1 and not a.get("restarted")
            o["restarted"] += a.get("restarted", 0)
            if r["name"] in ("read", "pread", "write", "pwrite", "readv", "writev", "sendfile",
                             "copy_file_range", "splice") and a.get("ret", 0) > 0:
                o["bytes"] += a["ret"]
            o["time_ns"] += ns
            o["max_ns"] = max(o["max_ns"], ns)
    return ops


@test
def summary_numbers(tmp):
    a, b = sample(pid=10, n=33), sample(pid=11, n=7, exe="dd", host="node02")
    a.gz(tmp / "a.pfw.gz")
    (tmp / "sub").mkdir()
    b.gz(tmp / "sub" / "b.pfw.gz")
    r = run("summary", "--json", tmp, rc=0)
    equal(r.err, "")
    s = r.json()
    keys = ("calls", "errors", "restarted", "bytes", "time_ns", "max_ns")
    got = {(o["name"], o["cat"]): {k: o[k] for k in keys} for o in s["operations"]}
    equal(got, expected_ops([a, b]))
    for o in s["operations"]:
        equal(o["mean_ns"], o["time_ns"] // o["calls"])
    equal([o["time_ns"] for o in s["operations"]],
          sorted((o["time_ns"] for o in s["operations"]), reverse=True))
    equal(s["events"], a.id + b.id - 4)
    equal(s["errors"], 2)
    equal(sorted(s["hosts"]), ["node01", "node02"])
    equal([(p["pid"], p["program"], p["events"], p["exit"]) for p in s["process_list"]],
          [(10, "cat", a.id - 2, {"code": 0}), (11, "dd", b.id - 2, {"code": 0})])
    files = {f["name"]: f for f in s["top_files"]}
    equal(files["/data/in"]["read"], 40 * 4096)
    equal(files["/data/in"]["calls"], 40 + 2 * 3)
    equal(files["/data/out"]["written"], 120)
    equal(files["/data/none"]["errors"], 2)
    check("/data" not in files, "the working directory is not a file that was used")
    text = run("summary", tmp, rc=0).out
    check("160.0 KiB" in text and "2 processes on node01, node02, in 2 files" in text, text)


@test
def summary_two_sided(tmp):
    t = Trace()
    t.fh("/to"), t.fh("/from")
    t.event("sendfile", file="/to", args={"other_fhash": dfhash("/from"), "len": 9, "ret": 5})
    t.event("copy_file_range", file="/from", args={"other_fhash": dfhash("/to"), "ret": 7})
    t.event("splice", file="/from", args={"len": 9, "ret": 11})
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    files = {f["name"]: f for f in run("summary", "--json", tmp, rc=0).json()["top_files"]}
    equal((files["/to"]["read"], files["/to"]["written"]), (0, 12))
    equal((files["/from"]["read"], files["/from"]["written"]), (23, 0))


@test
def summary_exec_exit_loss(tmp):
    t = Trace(exe="sh")
    t.name("SH", "ls;-l")
    t.event("execve", file="/usr/bin/none", args={"pathname_hash": t.fh("/usr/bin/none"), "ret": -1,
                                                  "errno": 2})
    t.event("execve", file="/usr/bin/ls", args={"pathname_hash": t.fh("/usr/bin/ls"), "ret": 0})
    t.aggregate("read", {"pipe": 77, "dft_cnt": 3, "ret_sum": 12, "dur_sum": 9, "dur_max": 5})
    t.aggregate("write", {"fhash": t.fh("pipe:[78]"), "dft_cnt": 4, "ret_sum": 40, "dur_sum": 1,
                          "dur_max": 1})
    t.aggregate("read", {"fhash": t.fh("/data/in"), "dft_cnt": 5, "ret_sum": 500, "dur_sum": 50,
                         "dur_max": 20, "errors": 1, "shed": 1})
    t.aggregate("read", {"dft_cnt": 2, "ret_sum": 7, "dur_sum": 8, "dur_max": 8, "errors": 0})
    t.aggregate("read", {"fhash": t.fh("/data/in"), "dft_cnt": 0, "ret_sum": 9, "dur_sum": 0,
                         "dur_max": 20, "errors": 0, "shed": 1})
    t.end(lost={"aggregated": 5, "read": 3}, filtered={"socket": {"read": 4, "write": 1}, "pseudo": 2},
          exit={"signal": 11}, undecoded={"sendto": 5}, compat=2).gz(tmp / "a.pfw.gz")
    equal(run("check", tmp, rc=1).out.splitlines()[-1],
          f"1 file, {t.id} events: 1 fault in 1 file, 3 calls and records lost, 5 calls aggregated, "
          "7 calls not decoded")
    r = run("summary", "--json", tmp, rc=0).json()
    p = r["process_list"][0]
    equal((p["program"], p["exit"]), ("ls", {"signal": 11}))
    equal(r["pipes_used"], 2)
    equal({o["name"]: (o["calls"], o["bytes"], o["time_ns"], o["max_ns"]) for o in r["pipes"]},
          {"read": (3, 12, 9000, 5000), "write": (4, 40, 1000, 1000)})
    read = next(o for o in r["operations"] if o["name"] == "read")
    equal((read["calls"], read["aggregated"], read["errors"], read["bytes"], read["max_ns"]),
          (7, 7, 1, 516, 20000))
    equal((r["aggregated_shed"], r["aggregated_chosen"]), (5, 2))
    equal(next(o for o in r["operations"] if o["name"] == "execve")["aggregated"], 0)
    equal(r["lost"], [{"name": "read", "calls": 3}])
    equal(r["filtered_calls"], 7)
    check({"class": "socket", "name": "read", "calls": 4} in r["filtered"], r["filtered"])
    equal((r["not_decoded_calls"], r["not_decoded"]),
          (7, [{"class": "compat", "name": "compat", "calls": 2},
               {"class": "undecoded", "name": "sendto", "calls": 5}]))
    text = run("summary", tmp, rc=0).out
    for part in ("signal 11", "Not decoded: 7 calls", "INCOMPLETE: 3 calls and records lost",
                 "Filtered, not traced: 7 calls", "Pipes: 2 pipes",
                 "AGGREGATED: 5 calls came too fast", "AGGREGATED: 2 calls are in the trace as sums"):
        check(part in text, f"{part!r} not in {text!r}")
    short = run("summary", "--top", "1", tmp, rc=0).out
    check("Filtered, not traced: 7 calls, first 1 of 3 kinds (--top 0 shows all)\n4  read  socket\n" in short,
          short)
    check("1  write   socket\n" in text and "socket\n1 " not in short, short)


@test
def summary_coverage(tmp):
    """What a trace does not tell is told, each kind by its count; of a clean one nothing."""
    t = Trace()
    t.event("read", file="/data/in", args={"ret": 7})
    t.end().gz(tmp / "clean.pfw.gz")
    s = run("summary", "--json", tmp / "clean.pfw.gz", rc=0).json()
    equal(s["coverage"], {})
    check("Coverage" not in run("summary", tmp / "clean.pfw.gz", rc=0).out, "a clean trace has no section")

    t = Trace()
    t.fh("/data/in")
    t.event("open", args={"ret": -1, "errno": 14, "unresolved": "fault"})
    t.event("rename", args={"ret": -1, "errno": 9, "unresolved": "dirfd", "unresolved2": "fault"})
    t.event("read", file="/data/in", args={"replaced": 1, "ret": 7})
    for name in ("read", "read", "wait"):
        t.event(name, args={"unfinished": 1})
    t.event("fsync", file="/data/in", args={"unseen": 1})
    t.event("mine", cat="app", type=2, args={"replaced": 1, "unfinished": 1})  # the program's own words
    t.meta("CM", {"name": "coverage_incomplete", "value": "io_uring"})
    t.aggregate("read", {"fhash": t.fh("/data/in"), "dft_cnt": 5, "ret_sum": 500, "dur_sum": 50,
                         "dur_max": 20, "errors": 0, "shed": 1})
    t.end(lost={"aggregated": 5, "record_name": 2}, filtered={"pipe": {"read": 3}},
          undecoded={"sendto": 4}).gz(tmp / "a.pfw.gz")
    want = {"lost": 2, "shed": 5, "not_decoded": 4, "filtered": 3,
            "incomplete": [{"name": "io_uring", "count": 1}],
            "unresolved": [{"name": "fault", "count": 2}, {"name": "dirfd", "count": 1}],
            "replaced": [{"name": "read", "count": 1}],
            "unfinished": [{"name": "read", "count": 2}, {"name": "wait", "count": 1}],
            "unseen": [{"name": "fsync", "count": 1}]}
    equal(run("summary", "--json", tmp / "a.pfw.gz", rc=0).json()["coverage"], want)
    text = run("summary", tmp / "a.pfw.gz", rc=0).out
    for part in ("3 names that could not be found out: fault 2, dirfd 1\n",
                 "3 calls that had not ended: read 2, wait 1\n", "4 calls not decoded\n",
                 "1 process of which something cannot be seen: io_uring 1\n"):
        check(part in text, f"{part!r} not in {text!r}")


@test
def aggregated_is_not_lost(tmp):
    """Calls that are there as rows: no fault, and their times count."""
    t = Trace()
    first = t.ts
    t.aggregate("pread", {"fhash": t.fh("/data/in"), "dft_cnt": 5, "dur_sum": 50, "dur_min": 5,
                          "dur_max": 20, "ret_sum": 500, "errors": 0, "shed": 1, "last": first + 7000,
                          "dur_sum_ns": 50001})
    t.end(lost={"aggregated": 5}).gz(tmp / "a.pfw.gz")
    equal(run("check", tmp, rc=0).out,
          f"1 file, {t.id} events: all right, nothing lost, 5 calls aggregated\n")
    c = run("check", "--json", tmp, rc=0).json()
    equal((c["total"]["aggregated"], c["files"][0]["aggregated"], c["total"]["lost"]), (5, 5, 0))
    s = run("summary", "--json", tmp, rc=0).json()
    equal(s["operations"][0]["time_ns"], 50001)
    equal((s["lost_total"], s["lost"], s["duration_us"]), (0, [], first + 7000 - s["begin_us"]))
    # Without the end record the rows tell as much.
    t.lines.pop()
    t.gz(tmp / "a.pfw.gz")
    equal(run("summary", "--json", tmp, rc=0).json()["aggregated_shed"], 5)
    expect_fault(tmp / "a.pfw.gz", "^unfinished: no end record")


@test
def summary_counts_of_all_processes(tmp):
    """What is of the whole run stands in each process's end record, and counts once."""
    for pid, n in ((1, 5), (2, 7)):
        Trace(pid=pid).end(lost={"read": 1, "uncounted_of_all_processes": n}).gz(
            tmp / f"{pid}.pfw.gz")
    equal(run("summary", "--json", tmp, rc=0).json()["lost"],
          [{"name": "uncounted_of_all_processes", "calls": 7}, {"name": "read", "calls": 2}])


@test
def summary_precise_and_units(tmp):
    t = Trace()
    t.event("read", file="/a", dur=2, args={"ret": 1, "dur_ns": 1501})
    t.end().gz(tmp / "a.pfw.gz")
    equal(run("summary", "--json", tmp).json()["operations"][0]["time_ns"], 1501)
    lines = [x.replace(b'"value":"US"', b'"value":"MS"').replace(b',"dur_ns":1501', b"")
             for x in t.lines]
    (tmp / "a.pfw.gz").write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    equal(run("summary", "--json", tmp).json()["operations"][0]["time_ns"], 2000000)


@test
def summary_saturates(tmp):
    t = Trace()
    big = (1 << 64) - 1
    for _ in range(3):
        t.event("read", file="/a", dur=big, args={"ret": (1 << 63) - 1})
    t.aggregate("write", {"fhash": dfhash("/a"), "dft_cnt": big, "ret_sum": big, "dur_sum": big})
    t.aggregate("write", {"fhash": dfhash("/a"), "dft_cnt": big, "ret_sum": big, "dur_sum": big})
    t.event("read", file="/a", args={"ret": int("9" * 400), "errno": 10 ** 50, "count": -10 ** 30})
    t.end(lost={"a": big, "b": big}).gz(tmp / "a.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    for o in s["operations"]:
        equal((o["bytes"], o["time_ns"]), (big, big), o["name"])
    equal(s["lost_total"], big)
    run("summary", tmp, rc=0)


@test
def summary_bad_line_costs_itself(tmp):
    t = sample()
    want = len(t.lines)
    t.lines.insert(8, b'{"id":')
    t.lines.insert(12, b"\xff\xfe\0")
    t.lines.insert(14, b"")
    t.gz(tmp / "a.pfw.gz")
    r = run("summary", "--json", tmp, rc=1)
    equal(r.json()["records"], want)
    equal(r.json()["read"]["faults"], 2)
    lines = r.err.splitlines()
    equal(len(lines), 2, r.err)
    check(lines[0].startswith(f"dftrace: {tmp}/a.pfw.gz: line 9: not a JSON record"), r.err)


@test
def summary_unfinished_is_a_warning(tmp):
    t = sample()
    t.lines.pop()
    t.gz(tmp / "a.pfw.gz")
    r = run("summary", tmp, rc=0)
    one_line(r.err, "a.pfw.gz: unfinished")
    check("INCOMPLETE: 1 file unfinished\n" in r.out, r.out)
    equal(run("summary", "--json", tmp).json()["read"]["unfinished"], 1)


@test
def summary_top(tmp):
    t = Trace()
    for i in range(25):
        t.event("read", file=f"/data/f{i:02}", args={"ret": 1000 + i})
    t.end().gz(tmp / "a.pfw.gz")
    for args, n in (([], 10), (["--top", "3"], 3), (["--top=0"], 25), (["--top", "99"], 25)):
        s = run("summary", "--json", *args, tmp, rc=0).json()
        equal([f["name"] for f in s["top_files"]],
              [f"/data/f{i:02}" for i in range(24, 24 - n, -1)], str(args))
        equal(s["files_used"], 25)
        text = run("summary", *args, tmp).out.split("\nFiles, ")[1].split("\n\n")[0]
        equal(text.count("/data/f"), n, str(args))
    for bad in ("x", "", "-1", "1x", "9" * 30):
        one_line(run("summary", f"--top={bad}", tmp, rc=2).err, "--top", "not a number")


# ---- the command line ---------------------------------------------------------------------------

@test
def help_and_version(tmp):
    header = (ROOT / "user/lib/version.h").read_text()
    version = re.search(r'DFT_VERSION "([^"]+)"', header).group(1)
    for args in (["--version"], ["-V"]):
        equal(run(*args, rc=0).out, f"dftrace {version}\n")
    for args in (["--help"], ["-h"], ["check", "--help"], ["summary", "-h"]):
        r = run(*args, rc=0)
        check(r.out.startswith("Usage: dftrace") and not r.err, r.out)


@test
def usage_errors(tmp):
    for args, part in (([], "no command"), (["frob"], "no such command"), (["--frob"], "--frob"),
                       (["check"], "no DIR or FILE"), (["summary"], "no DIR or FILE"),
                       (["check", "--frob"], "--frob"), (["summary", "-x", "a"], "-x"),
                       (["summary", "--top"], "--top")):
        r = run(*args, rc=2)
        equal(r.out, "")
        one_line(r.err, part, "--help")


@test
def options_are_documented(tmp):
    """--help, the man page and the completion name the same options."""
    man = (ROOT / "docs/man/dftrace.1").read_text().replace("\\-", "-")
    completion = (ROOT / "completions/dftrace").read_text()
    names = re.findall(r"^  ([a-z]+) ", run("--help").out.split("Options:")[0], re.M)
    check({"check", "summary", "lineage"} <= set(names), f"commands: {names}")
    known = set()
    for cmd in ([], *([name] for name in names)):
        for name in cmd:
            check(re.search(rf"\n\.SS .*\b{name}\b", man), f"{name} has no section in the man page")
            check(re.search(rf"\b{name}\b", completion), f"{name} is not in the completion")
        options = set(re.findall(r"(?<![-\w])--[a-z][a-z-]*", run(*cmd, "--help").out))
        known |= options
        for opt in options:
            check(opt in man, f"{opt} of {cmd} is not in the man page")
            check(opt in completion, f"{opt} of {cmd} is not in the completion")
    for text, where in ((man, "man page"), (completion, "completion")):
        for opt in set(re.findall(r"(?<![-\w])--[a-z][a-z-]*", text)):
            check(opt in known, f"{opt} in the {where} does not exist")


@test
def man_page_is_clean(tmp):
    groff = shutil.which("groff")
    if not groff:
        raise Skip("groff: not installed")
    p = subprocess.run([groff, "-man", "-ww", "-z", ROOT / "docs/man/dftrace.1"],
                       capture_output=True, text=True, timeout=TIMEOUT)
    equal((p.returncode, p.stderr), (0, ""))


@test
def missing_and_unreadable(tmp):
    one_line(run("check", tmp / "none", rc=1).err, "none", "No such file")
    one_line(run("summary", tmp / "none", rc=1).err, "none", "No such file")
    one_line(run("check", tmp, rc=1).err, "no *.pfw or *.pfw.gz below it")
    sample().gz(tmp / "a.pfw.gz")
    r = run("check", tmp, tmp / "none", rc=1)
    check("all right" in r.out, r.out)
    (tmp / "dir.pfw.gz").mkdir()
    run("check", tmp, rc=0)
    os.mkfifo(tmp / "fifo.pfw")
    run("check", tmp, rc=0)


@test
def unreadable_as_user(tmp):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("root: needs root and setpriv")
    sample().gz(tmp / "a.pfw.gz")
    (tmp / "locked").mkdir(mode=0o700)
    sample().gz(tmp / "locked/b.pfw.gz")
    sample().gz(tmp / "c.pfw.gz")
    (tmp / "c.pfw.gz").chmod(0)
    tmp.chmod(0o755)
    binary = tmp / "dftrace"
    shutil.copy(DFTRACE, binary)
    for cmd in ("check", "summary"):
        p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", binary,
                            cmd, tmp], capture_output=True, text=True, timeout=TIMEOUT)
        equal(p.returncode, 1, p.stderr)
        check("locked: Permission denied" in p.stderr, p.stderr)
        check("c.pfw.gz: cannot be read: Permission denied" in p.stdout + p.stderr, p.stderr)


@test
def links_and_repeats(tmp):
    t = sample()
    t.gz(tmp / "a.pfw.gz")
    (tmp / "loop").symlink_to(tmp)
    (tmp / "again.pfw.gz").symlink_to("a.pfw.gz")
    os.link(tmp / "a.pfw.gz", tmp / "hard.pfw.gz")
    equal(run("check", tmp, tmp / "a.pfw.gz", tmp / "loop", rc=0).out,
          f"1 file, {t.id} events: all right, nothing lost\n")
    (tmp / "broken.pfw.gz").symlink_to("nowhere")
    one_line(run("check", tmp, rc=1).err, "broken.pfw.gz: No such file")
    (tmp / "x.pfw.gz").symlink_to("x.pfw.gz")
    check("symbolic links" in run("check", tmp, rc=1).err, "a link to itself")


@test
def deep_directories(tmp):
    """Deeper than a path can be long: told, and no crash."""
    here = os.open(tmp, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("d", dir_fd=here)
        fd = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = fd
    os.close(here)
    sample().gz(tmp / "a.pfw.gz")
    try:
        r = run("check", tmp, rc=1)
        check("File name too long" in r.err, r.err[-200:])
        check("all right" in r.out, r.out)
    finally:
        # Too deep for Python's own.
        subprocess.run(["rm", "-rf", tmp / "d"], check=True, timeout=TIMEOUT)


@test
def names_of_files_are_safe(tmp):
    t = sample()
    t.lines.pop()
    t.gz(tmp / "a\n\x1b[31m\udcff.pfw.gz")
    out = run("check", tmp, rc=1).out
    equal(out.count("\n"), 2, out)
    check("a\\n\\x1b[31m\\xff.pfw.gz: unfinished" in out, out)
    err = run("summary", tmp, rc=0).err
    check("\x1b" not in err and err.count("\n") == 1, repr(err))
    f = run("check", "--json", tmp, rc=1).json()["files"][0]
    equal(bytes.fromhex(f["file_raw"]), os.fsencode(tmp / "a\n\x1b[31m\udcff.pfw.gz"))


@test
def output_errors(tmp):
    sample().gz(tmp / "a.pfw.gz")
    with open("/dev/full", "wb") as full:
        for cmd in (["check"], ["summary"], ["summary", "--json"], ["check", "--json"]):
            p = subprocess.run([DFTRACE, *cmd, tmp], stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=TIMEOUT)
            equal(p.returncode, 1)
            one_line(p.stderr, "standard output", "No space left")


@test
def closed_pipe(tmp):
    t = Trace()
    for i in range(20000):
        t.event("read", file=f"/data/f{i:05}", args={"ret": 1})
    t.end().gz(tmp / "a.pfw.gz", per_member=5000)
    p = subprocess.Popen([DFTRACE, "summary", "--top", "0", tmp], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, restore_signals=True)
    line = p.stdout.readline()
    p.stdout.close()
    err = p.stderr.read()
    p.stderr.close()
    equal(p.wait(TIMEOUT), -signal.SIGPIPE, err)
    equal((err, line.startswith(b"20000 events")), (b"", True))


@test
def fifo_is_read(tmp):
    t = sample()
    os.mkfifo(tmp / "fifo")
    data = gzip.compress(t.text())
    w = threading.Thread(target=lambda: (tmp / "fifo").write_bytes(data))
    w.start()
    equal(run("check", tmp / "fifo", rc=0).out, f"1 file, {t.id} events: all right, nothing lost\n")
    w.join(TIMEOUT)


def main():
    wanted = sys.argv[1:]
    failed = 0
    if not DFTRACE.exists():
        print(f"not ok setup: {DFTRACE} does not exist (run make)")
        return 1
    for fn in TESTS:
        name = fn.__name__
        if wanted and not any(w in name for w in wanted):
            continue
        with tempfile.TemporaryDirectory(prefix="dft-cli-") as tmp:
            try:
                fn(Path(tmp))
                print(f"ok {name}", flush=True)
            except Skip as e:
                print(f"skip {name}: {e}", flush=True)
            except Exception as e:  # a test that breaks has failed
                failed += 1
                why = f"{'' if isinstance(e, Fail) else type(e).__name__ + ' '}{e}"
                print(f"not ok {name}: {' '.join(why.split())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
