# SPDX-License-Identifier: MIT
"""The example pipeline without a tracer: it works alike with and without annotations, and what
counts its provenance counts right."""
import contextlib
import gzip
import hashlib
import json
import os
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PIPELINE = ROOT / "tests/progs/pipeline"
sys.path.insert(0, str(PIPELINE))
from truth import Truth  # noqa: E402
from wanted import (ENTITIES, WANT, dftrace_agrees, is_prov, same_counts, same_records,  # noqa: E402
                    whole_graph)


def build(out, *flags):
    """stage1 and stage2 in directory `out`."""
    need_program("gcc", "g++")
    out.mkdir()
    warn = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", *flags,
            f"-I{ROOT}/include"]
    run(["gcc", "-std=gnu11", *warn, PIPELINE / "stage1.c", "-o", out / "stage1"]).want(0)
    run(["g++", "-std=c++11", *warn, PIPELINE / "stage2.cpp", "-o", out / "stage2"]).want(0)
    return out


def build_library(out, *flags):
    run(["gcc", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-O1", *flags, f"-I{ROOT}/include",
         *(ROOT / "user/annotate").glob("*.c"), "-o", out / "libdftracer.so"]).want(0)
    return out / "libdftracer.so"


def environment(bin_dir, library="", **more):
    return clean_env(PIPELINE_BIN=str(bin_dir), DFTRACER_LIBRARY=str(library),
                     PYTHONPATH=str(ROOT / "user/annotate/python"), **more)


def pipeline(work, env, *parts):
    r = run([PIPELINE / "run", work, *parts], env=env).want(0)
    equal((r.out, r.err), (b"", b""), "what the pipeline says")


def contents(work):
    """{relative path: hash}"""
    return {str(p.relative_to(work)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(work.rglob("*")) if p.is_file()}


@test
def test_annotations_change_nothing(tmp):
    """With annotations, compiled without, with the library and without: the same files."""
    pipeline(tmp / "w1", environment(build(tmp / "plain", "-DDFTRACER_DISABLE")))
    pipeline(tmp / "w2", environment(build(tmp / "annotated")))
    files = contents(tmp / "w1")
    equal(contents(tmp / "w2"), files, "files")
    pipeline(tmp / "w3", environment(tmp / "annotated", build_library(tmp / "annotated")))
    equal(contents(tmp / "w3"), files, "files with the library")
    number = {}
    for path in files:
        number[path.split("/")[0]] = number.get(path.split("/")[0], 0) + 1
    # The merged alignments are gone.
    equal(number, {"inputs": 8, "seq": 10, "raw": 30, "msa": 20, "features": 20, "templates": 10,
                   "models": 40, "relaxed": 40, "results": 21}, "files in each directory")
    equal(os.listdir(tmp / "w1/merged"), [], "merged alignments")
    for path in files:
        size = (tmp / "w1" / path).stat().st_size
        check(0 < size < 16384, f"{path} has {size} bytes")
    has_probes = {name: b"stapsdt" in (tmp / name / stage).read_bytes()
                  for name in ("plain", "annotated") for stage in ("stage1", "stage2")}
    equal(has_probes, {"plain": False, "annotated": True}, "probes in the programs")


def rows(path):
    return path.read_text().splitlines()[1::2]


@test
def test_work_is_real(tmp):
    """Alignments hold relatives, the filter filters, each model wins, archives hold three files."""
    pipeline(tmp / "w", environment(build(tmp / "bin", "-DDFTRACER_DISABLE")))
    why = {"repeated": 0, "distant or too many": 0}
    for name in WANT["sequences"]:
        found = [row for db in WANT["databases"] for row in rows(tmp / f"w/raw/{name}.{db}.a3m")]
        kept = rows(tmp / f"w/msa/{name}.a3m")[1:]
        check(len(kept) >= 3 and set(kept) <= set(found), f"{name}: relatives")
        equal(len(set(kept)), len(kept), f"{name}: different relatives")
        why["repeated"] += len(found) - len(set(found))
        why["distant or too many"] += len(set(found)) - len(kept)
        kept = (tmp / f"w/msa/{name}.a3m").read_text()
        sequence = (tmp / f"w/seq/{name}.fasta").read_text()
        check(kept.startswith(sequence), f"{name}: its alignment begins with something else")
        listing = run(["tar", "tf", tmp / f"w/results/{name}.tar"]).want(0).out.decode().split()
        equal(sorted(p.rsplit(".", 1)[1] for p in listing), ["pdb", "tsv", "txt"], "archive")
    check(min(why.values()) > 5, f"rows that were filtered: {why}")
    index = [line.split("\t") for line in (tmp / "w/results/index.tsv").read_text().splitlines()]
    equal([line[0] for line in index[1:]], WANT["sequences"], "index")
    equal({line[1] for line in index[1:]}, set(WANT["models"]), "winners")


@test
def test_gate(tmp):
    """A stage says that it is ready before its work, and then waits."""
    bin_dir = build(tmp / "bin")
    work = tmp / "w"
    pipeline(work, environment(bin_dir), "inputs")
    for part, at, made, before in (("1", "start", "seq", 0), ("2", "start", "features", 0),
                                   ("3", "start", "models", 0), ("3", "relaxation", "relaxed", 0)):
        with gated(work, bin_dir, part, at) as (stage, ready, go):
            equal(os.read(ready, 2), b"r", "ready byte")
            equal(len(os.listdir(work / made)), before, f"stage {part} at {at}: files in {made}")
            if (part, at) == ("3", "start"):
                os.close(go[0])
                go[0] = None
                check(stage.wait() != 0, "the gate opened although nobody was there")
                continue
            os.write(go[0], b"g")
            equal(stage.wait(), 0, f"stage {part}")
            check(os.listdir(work / made), f"stage {part} made nothing")
    equal(len(contents(work)), 199, "files in the end")


@contextlib.contextmanager
def gated(work, bin_dir, part, at):
    ready_r, ready_w = os.pipe()
    go_r, go_w = os.pipe()
    go = [go_w]
    env = environment(bin_dir, PIPELINE_GATE=f"{ready_w}:{go_r}", PIPELINE_GATE_AT=at)
    with Background([PIPELINE / "run", work, part], env=env, pass_fds=(ready_w, go_r)) as stage:
        os.close(ready_w)
        os.close(go_r)
        try:
            yield stage, ready_r, go
        finally:
            os.close(ready_r)
            if go[0] is not None:
                os.close(go[0])


# ---- with probes that write down what they carry ------------------------------------------------

class Recording:
    """Reads what record/dftracer/usdt.h wrote, and makes of it the lines that a trace would hold."""

    def __init__(self, path):
        self.processes = {}
        for text in path.read_text().splitlines():
            pid, now, probe, name, kind, value, code, data, size, chunk = text.split()
            p = self.processes.setdefault(int(pid), Process(int(pid)))
            strings = [None if s == "-" else bytes.fromhex(s[1:]).decode() for s in (name, kind)]
            getattr(p, probe)(int(now), *strings, int(value), int(code), int(data), bytes.fromhex(chunk[1:]))

    def truth(self):
        return Truth({pid: map(json.dumps, [*p.records, p.end()]) for pid, p in self.processes.items()})


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.records, self.parts = [], {}
        self.app, self.used, self.declared = {}, {}, set()

    def add(self, name, cat, kind, ph, args, **more):
        self.records.append({"name": name, "cat": cat, "type": kind, "pid": self.pid, "tid": self.pid,
                             "ph": ph, **more, "args": {"hhash": "0" * 16, **args}})

    def part(self, now, name, cat, value, code, data, chunk):
        self.stream(data, value, chunk, False)

    def stream(self, data, value, chunk, last=True):
        """The whole stream of an event of which this is the last chunk."""
        before = int.from_bytes(chunk[:4], sys.byteorder)
        so_far = self.parts.pop((data, value), b"") if before else b""
        equal(len(so_far), before, "bytes that went before")
        check(len(chunk) <= 448, f"a chunk of {len(chunk)} bytes")
        if not last:
            self.parts[data, value] = so_far + chunk[4:]
        return so_far + chunk[4:]

    def event(self, now, name, cat, value, code, data, chunk):
        args, relations = {}, {}
        for kind, key, got in items(self.stream(data, value, chunk)):
            if kind == 4:
                relations.setdefault(("used", "generated", "invalidated", "updated")[key], []).append(got)
            elif kind == 5:
                now = value + got
            else:
                args[key] = got
        if relations:
            args["relations"] = relations
        self.add(name, cat, code, 1, args, id=len(self.records), ts=value // 1000, dur=(now - value) // 1000)

    def metadata(self, now, name, _, value, code, data, chunk):
        (_, key, got), = items(self.stream(data, value, chunk))
        equal(key, name, "key in the chunk")
        if value % 4 == 0:
            self.add("CM", "dftracer", code, 4, {"name": key, "value": got})
        else:
            (self.app if value % 4 == 1 else self.used)[key] = got

    def entity(self, now, kind, uri, value, code, data, chunk):
        if value not in self.declared:
            self.declared.add(value)
            self.add("EH", "dftracer", 1, 4,
                     {"id": f"{value:016x}", "type": kind, "store": code, "uri": uri or ""})

    def entity_type(self, now, kind, description, value, code, data, chunk):
        if kind not in self.declared:
            self.declared.add(kind)
            self.add("ET", "dftracer", 1, 4, {"type": kind, "role": code, "description": description})

    def relation(self, now, _, __, value, code, data, chunk):
        self.add("ER", "dftracer", 1, 4,
                 {"relation": code, "subject": f"{value:016x}", "object": f"{data:016x}"})

    def end(self):
        return {"name": "end", "cat": "dftracer", "type": 1, "pid": self.pid, "tid": self.pid, "ph": 1,
                "id": len(self.records), "ts": 0, "dur": 0, "args": {"app": self.app, "used": self.used}}


def items(stream):
    """(kind, key, value) of each item, after include/dftracer/wire.h."""
    def take(n):
        nonlocal stream
        check(len(stream) >= n, "an item is cut")
        head, stream = stream[:n], stream[n:]
        return head

    def string():
        return take(int.from_bytes(take(4), sys.byteorder)).decode()

    while stream:
        kind = take(1)[0]
        if kind in (1, 2, 3):
            take(1)
            key = string()
            yield kind, key, (int.from_bytes(take(8), sys.byteorder, signed=True) if kind == 1 else
                              string() if kind == 2 else struct.unpack("=d", take(8))[0])
        elif kind == 4:
            relation = take(1)[0]
            yield kind, relation, f"{int.from_bytes(take(8), sys.byteorder):016x}"
        elif kind == 5:
            yield kind, None, int.from_bytes(take(8), sys.byteorder)
        else:
            fail(f"an item of kind {kind}")


def recorded(tmp, *parts, **more):
    """Runs the pipeline with recording probes."""
    bin_dir = build(tmp / "recording", "-Wno-pedantic", f"-I{PIPELINE}/record")
    library = build_library(bin_dir, f"-I{PIPELINE}/record")
    env = environment(bin_dir, library, PIPELINE_RECORD=str(tmp / "log"), **more)
    pipeline(tmp / "w", env, *parts)
    return Recording(tmp / "log")


@test
def test_probes_say_what_was_counted(tmp):
    """All that the probes carry is what was counted by hand: in each process, and as a whole."""
    r = recorded(tmp)
    t = r.truth()
    equal(len(r.processes), 3, "processes that said something")
    for (pid, p), (stage, want) in zip(r.processes.items(), WANT["processes"].items()):
        same_counts(t.files[pid], want, stage)
        same_records(p.records, want, tmp / "w", stage)
    whole_graph(t, "recorded")
    equal(len(t.activities), 21 + 30 + 60, "activities")


@test
def test_dftrace_on_it(tmp):
    """dftrace counts the same rows, lineages and impacts as truth.py does, from the same lines."""
    r = recorded(tmp)
    (tmp / "trace").mkdir()
    for pid, p in r.processes.items():
        lines = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [*p.records, p.end()])
        (tmp / f"trace/stage-{pid}.pfw.gz").write_bytes(gzip.compress(lines.encode(), 1))
    dftrace_agrees(tmp / "trace", r.truth())


# ---- truth.py --------------------------------------------------------------------------------

def line(name, cat, ph, args, **more):
    return json.dumps({"name": name, "cat": cat, "type": 1, "pid": 7, "tid": 7, "ph": ph, **more,
                       "args": {"hhash": "0" * 16, **args}})


def eh(entity, kind, **more):
    return line("EH", "dftracer", 4, {"id": entity, "type": kind, "store": 2, "uri": "/" + entity, **more})


def er(relation, subject, target):
    return line("ER", "dftracer", 4, {"relation": relation, "subject": subject, "object": target})


def step(name, number, cat="PROV", pid=7, ts=None, **relations):
    return line(name, cat, 1, {"relations": relations} if relations else {}, id=number, pid=pid,
                ts=100 + number if ts is None else ts, dur=1)


@test
def test_truth_walks(tmp):
    """in -> a -> x -> b -> out: each hop, both ways; other categories and ER records are no hops."""
    t = Truth({"one": [
        eh("in", "source"), eh("x", "middle"), eh("out", "sink"), eh("aside", "sink"), eh("far", "source"),
        step("a", 1, used=["in"], generated=["x"]),
        step("b", 2, used=["x"], generated=["out"]),
        step("c", 3, cat="C_APP", used=["far"], generated=["in"]),
        step("d", 4, used=["x"]),
        er(17, "out", "aside"), er(18, "far", "in"), er(18, "far", "x")]})
    equal(t.lineage("out"), {"x", "in"}, "lineage of out")
    equal(t.lineage("x"), {"in"}, "lineage of x")
    equal(t.lineage("in"), set(), "lineage of in")
    equal(t.impact("in"), {"x", "out"}, "impact of in")
    equal(t.impact("out"), set(), "impact of out")
    equal(t.impact("far"), set(), "impact of far")
    equal(t.rows(), {("a", "middle"): 1, ("b", "sink"): 1}, "rows")
    equal(t.by_type(t.lineage("out")), {"middle": 1, "source": 1}, "lineage by type")
    equal(t.of_type("sink"), ["aside", "out"], "entities of a type")
    got = t.files["one"]
    equal(got["ER"], {"revision_of": 1, "contains": 2}, "ER")
    equal(got["EH"], {"source": 2, "middle": 1, "sink": 2}, "EH")
    equal(got["events"], {"PROV": {"a": 1, "b": 1, "d": 1}, "C_APP": {"c": 1}}, "events")
    equal(got["relations"], {"used": [3, 3], "generated": [2, 2]}, "relations")
    equal(got["dangling"], [], "dangling")


@test
def test_truth_cycles(tmp):
    """Walks end where things go round, and do not count where they began."""
    t = Truth({"one": [
        eh("p", "t"), eh("q", "t"), eh("r", "t"), eh("s", "t"),
        step("a", 1, used=["p", "r"], generated=["q"]),
        step("b", 2, used=["q"], generated=["r"]),
        step("self", 3, used=["s"], generated=["s"]),
        step("log", 4, used=["q"], updated=["s"])]})
    equal(t.lineage("r"), {"p", "q"}, "lineage of r")
    equal(t.lineage("q"), {"p", "r"}, "lineage of q")
    equal(t.impact("q"), {"r", "s"}, "impact of q")
    equal(t.lineage("s"), {"p", "q", "r"}, "what was updated has a lineage")
    equal(t.impact("s"), set(), "impact of s")


@test
def test_truth_counts(tmp):
    """Two processes; a split record; repeated and late declarations; ids that nobody declared."""
    t = Truth({
        "one": [
            eh("x", "t"), eh("x", "t"), eh("here", "t"), line("ET", "dftracer", 4, {"type": "t", "role": 3, "description": ""}),
            step("a", 1, ts=5, used=["x"], generated=["y"]),
            step("a", 1, ts=5, used=["z"]),
            er(16, "x", "w"),
            line("CM", "dftracer", 4, {"name": "time_metric", "value": "US"}),
            line("CM", "dftracer", 4, {"name": "k", "value": "v"}, type=9),
            line("end", "dftracer", 1, {"app": {"n": 1}, "used": {"C_APP": 1}}, id=2, ts=9, dur=0),
            line("read", "POSIX", 1, {"ret": 1}, id=3, ts=9, dur=0)],
        "two": [
            eh("x", "", late=1), eh("y", "u"),
            step("a", 1, pid=8, ts=5, used=["y"], generated=["v"]), er(16, "here", "y")]})
    one, two = t.files["one"], t.files["two"]
    equal(one["EH"], {"t": 3}, "EH, each record")
    equal(one["ET"], {"t": 3}, "ET")
    equal(one["relations"], {"used": [1, 2], "generated": [1, 1]}, "one activity in two records")
    equal(one["events"], {"PROV": {"a": 1}}, "events")
    equal(one["dangling"], ["w", "y", "z"], "dangling")
    equal(one["CM"], [["k", "v"]], "CM")
    equal((one["app"], one["used"]), ({"n": 1}, {"C_APP": 1}), "end")
    equal((one["late"], two["late"]), (0, 1), "late")
    equal(two["dangling"], ["here", "v"], "dangling in the other")
    equal(t.types["x"], "t", "a late declaration does not hide the type")
    # The same id and ts in another process is another activity.
    equal(t.lineage("v"), {"y", "x", "z"}, "lineage over processes")
    equal(t.rows(), {("a", "u"): 1, ("a", None): 1}, "rows")


@test
def test_readme_and_expected_agree(tmp):
    text = (PIPELINE / "README.md").read_text()
    table = text.split("16 rows\n")[1].strip().split("\n\n")[0]
    rows = [[c.strip() for c in row.split("|")[1:4]] for row in table.splitlines()[2:-1]]
    equal([[step_, kind, int(n.split()[-1])] for step_, kind, n in rows], WANT["rows"], "rows")
    totals = re.search(r"\*\*EH\*\* \|(.*)\|", text).group(1)
    equal([int(n) for n in re.findall(r"\*\*(\d+)\*\*", totals)],
          [p["EH_total"] for p in WANT["processes"].values()], "EH")
    for name, p in WANT["processes"].items():
        equal(sum(p["EH"].values()), p["EH_total"], f"EH of {name}")
    lineage = WANT["lineage"]["best_structure"]
    equal((lineage["size"], sum(lineage["by_type"].values())), (28, 28), "lineage")
    equal(WANT["impact"]["model_params"]["by_type"]["best_structure"], 10, "impact")


if __name__ == "__main__":
    main()
