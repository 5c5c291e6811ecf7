# SPDX-License-Identifier: MIT
"""Provenance as dftrace reads it: entities, edges, made, lineage, impact, graph, and what it exports.

Traces are written here line by line. What must come out is counted by hand, or by a walk over the raw
lines that knows nothing of dftrace (tests/progs/pipeline/truth.py)."""
import csv
import gzip
import io
import json
import os
import random
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from graphtrace import (Lines, ask, entity_id, reached, refused, valid_prov_json, valid_prov_n,  # noqa: E402
                        write_all)

sys.path.insert(0, str(ROOT / "tests/progs/pipeline"))
from truth import load as load_truth  # noqa: E402


def ids(*names):
    return [entity_id("t", n) for n in names]


# ---- walks -----------------------------------------------------------------------------------

def random_graph(seed):
    """A few processes whose steps use and make entities at random: circles, self loops, ids without EH,
    records that are split, steps of other categories."""
    rng = random.Random(seed)
    entities = [entity_id("t", str(i)) for i in range(rng.randrange(3, 60))]
    files = []
    for pid in range(1, rng.randrange(2, 5)):
        f = Lines(pid)
        for i in entities:
            if rng.random() < 0.8:
                f.eh(i, ["alpha", "beta", "gamma"][int(i, 16) % 3])
        for n in range(rng.randrange(1, 50)):
            lists = {k: rng.sample(entities, min(len(entities), rng.randrange(1, 4)))
                     for k in ("used", "generated", "updated", "invalidated") if rng.random() < 0.6}
            if rng.random() < 0.3 and len(lists) > 1:
                k = sorted(lists)[0]
                f.step(f"s{n % 5}", ts=n, dur=9, **{k: lists.pop(k)})
                f.step(f"s{n % 5}", ts=n, dur=9, id=f.n, **lists)
            else:
                f.step(f"s{n % 5}", ts=n, dur=9, **lists)
        f.er(16 + pid, *rng.sample(entities, 2))
        files.append(f)
    return files, entities


def hops(t, start, here, there, depth):
    """The same as Truth's walk, level by level."""
    seen, level = {start}, {start}
    for _ in range(depth):
        level = {i for a in t.activities if any(e in a.of[k] for e in level for k in here)
                 for k in there for i in a.of[k]} - seen
        seen |= level
    return seen - {start}


@test
def test_walks_of_random_graphs(tmp):
    for seed in range(9):
        files, entities = random_graph(seed)
        path = write_all(tmp / str(seed), *files)
        t = load_truth(path)
        equal({(m["step"], m["type"]): m["generated"] for m in ask("made", path)["made"]}, t.rows(),
              f"seed {seed}: made")
        for start in entities[:3]:
            if not any(start in lst for a in t.activities for lst in a.of.values()):
                continue
            equal(reached("lineage", path, start), t.lineage(start), f"seed {seed}: lineage of {start}")
            equal(reached("impact", path, start), t.impact(start), f"seed {seed}: impact of {start}")
            equal(reached("lineage", path, start, "--depth", "2"),
                  hops(t, start, ("generated", "updated"), ("used",), 2), f"seed {seed}: two hops")
            equal(reached("impact", path, start, "--via", "used,generated,invalidated"),
                  {i for i in hops(t, start, ("used", "invalidated"), ("generated",), 10**3)}, f"seed {seed}: --via")


@test
def test_counts_and_edges(tmp):
    """entities and edges, in text, JSON and CSV, against a count over the raw lines."""
    files, entities = random_graph(99)
    path = write_all(tmp / "t", *files)
    t = load_truth(path)
    want = sorted((kind, i) for a in t.activities for kind, lst in a.of.items() for i in lst)
    got = ask("edges", path)["edges"]
    equal(sorted((e["relation"], e["id"]) for e in got), want, "edges")
    raw = {(r["pid"], r["id"], r["ts"]): r["name"] for f in files for r in map(json.loads, f.lines)
           if r["cat"] == "PROV"}
    equal({tuple(map(int, e["activity"].split(":"))): e["step"] for e in got if e["cat"] == "PROV"},
          {k: v for k, v in raw.items() if k in {tuple(map(int, e["activity"].split(":"))) for e in got}}, "activities")
    rows = list(csv.DictReader(io.StringIO(run([READER, "edges", "--csv", path]).want(0).out.decode(), newline="")))
    equal(sorted((r["relation"], r["id"]) for r in rows), want, "edges in CSV")
    lines = run([READER, "edges", path]).want(0).out.decode().splitlines()
    equal(len(lines), 1 + len(want), "lines of text")
    counted = {e["id"]: [e[k] for k in ("used", "generated", "updated", "invalidated")]
               for e in ask("entities", path)["entities"]}
    for i in entities:
        if i in counted:
            equal(counted[i], [want.count((k, i)) for k in ("used", "generated", "updated", "invalidated")], i)
    ers = [(r["args"]["subject"], r["args"]["object"]) for f in files for r in map(json.loads, f.lines) if r["name"] == "ER"]
    equal(sorted((e["subject"], e["object"]) for e in ask("edges", path)["between_entities"]), sorted(ers), "ER")
    equal(set(counted), {i for _, i in want} | set(t.types) | {i for e in ers for i in e}, "entities")
    alphas = ask("entities", "--type", "alpha", path)["entities"]
    equal({e["id"] for e in alphas}, {i for i in counted if t.types.get(i) == "alpha"}, "--type")
    undeclared = ask("entities", path)["undeclared"]
    equal(undeclared, len(set(counted) - set(t.types)), "ids that nobody declared")


@test
def test_order_of_files_and_threads(tmp):
    """The answer is the same whatever the files are called, and however many threads read them."""
    files, entities = random_graph(7)
    outs = set()
    for n, order in enumerate(([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])):
        path = tmp / str(n)
        for k, f in enumerate(files):
            f.write(path, f"{order[k % 4]}-{k}.pfw.gz")
        for cpus in (1, 2):
            here = os.sched_getaffinity(0)
            argv = ["taskset", "-c", str(min(here)), READER] if cpus == 1 else [READER]
            out = b"".join(run([*argv, *words, path, *more], cwd=tmp).want(0).out for words, more in (
                (["entities"], []), (["edges", "--json"], []), (["lineage"], [entities[0]]), (["graph", "--json"], []),
                (["export", "--to", "prov-n"], [])))
            outs.add(out)
    equal(len(outs), 1, "different answers")


@test
def test_long_chain(tmp):
    """100,000 hops, with little stack: nothing is recursive."""
    n = 100_000
    f = Lines()
    chain = [entity_id("t", str(i)) for i in range(n + 1)]
    for i in range(n):
        f.step("s", ts=i, used=[chain[i]], generated=[chain[i + 1]])
    path = write_all(tmp / "t", f)

    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))

    for argv in (["lineage", path, chain[n]], ["impact", "--time-aware", path, chain[0]]):
        r = run([READER, *argv], preexec_fn=small_stack).want(0)
        check(r.out.endswith(f"\n{n} entities through {n} activities: {n} of unknown type\n".encode()), argv)
        equal(r.out.decode().splitlines()[-3].split()[0], str(n), "depth of the last")
    got = ask("lineage", "--depth", "5", path, chain[n])
    equal([e["id"] for e in got["reached"]], chain[n - 1:n - 6:-1], "five hops, in order")
    r = run([READER, "export", "--to", "dot", path], preexec_fn=small_stack).want(0)
    equal(r.out.count(b" -> "), 2 * n, "arrows")


@test
def test_time_aware(tmp):
    """What was used only after the result was finished is not its source."""
    out, early, late, far, old = ids("out", "early", "late", "far", "old")
    f = Lines()
    # `late` is made from `far` at 500..510, after `out` was finished at 120.
    f.step("first", ts=10, dur=20, used=[old], generated=[early])
    f.step("make", ts=100, dur=20, used=[early, late], generated=[out])
    f.step("after", ts=500, dur=10, used=[far], generated=[late])
    path = write_all(tmp / "t", f)
    equal(reached("lineage", path, out), {early, late, far, old}, "without times")
    equal(reached("lineage", path, out, "--time-aware"), {early, late, old}, "with times")
    equal(reached("impact", path, far), {late, out}, "impact without times")
    equal(reached("impact", path, far, "--time-aware"), {late}, "impact with times")
    equal(reached("impact", path, old, "--time-aware"), {early, out}, "impact of what was there in time")
    # At the same microsecond it may have been in time.
    g = Lines()
    g.step("make", ts=100, dur=20, used=[late], generated=[out])
    g.step("after", ts=120, dur=10, used=[far], generated=[late])
    equal(reached("lineage", write_all(tmp / "u", g), out, "--time-aware"), {late, far}, "at the end")
    # The limit is the smallest end on the way, not the last one.
    h = Lines()
    h.step("make", ts=100, dur=20, used=[early], generated=[out])
    h.step("long", ts=50, dur=10**6, used=[late], generated=[early])
    h.step("after", ts=500, dur=10, used=[far], generated=[late])
    equal(reached("lineage", write_all(tmp / "v", h), out, "--time-aware"), {early, late}, "over a long run")
    # Of two ways, the one that is in time counts, although it is the longer one.
    m, n = ids("m", "n")
    k = Lines()
    k.step("goal", ts=1000, dur=10, used=[early, n], generated=[out])
    k.step("short", ts=10, dur=10, used=[m], generated=[early])
    k.step("long", ts=600, dur=10, used=[m], generated=[n])
    k.step("m", ts=300, dur=10, used=[far], generated=[m])
    equal(reached("lineage", write_all(tmp / "w", k), out, "--time-aware"), {early, n, m, far}, "two ways")
    # One activity in several records has the time of the longest.
    s = Lines()
    s.step("make", ts=100, dur=20, used=[late])
    s.step("make", ts=100, dur=500, id=s.n, generated=[out])
    s.step("after", ts=500, dur=10, used=[far], generated=[late])
    equal(reached("lineage", write_all(tmp / "x", s), out, "--time-aware"), {late, far}, "split")


def in_time(steps, start, impact):
    """Every way back (or onwards) is tried: a step counts if it began by the earliest end so far on the
    way (or ended after the latest begin)."""
    seen, todo = set(), [(start, 0 if impact else 10**30)]
    while todo:
        entity, limit = todo.pop()
        for ts, dur, made, used in steps:
            near, far = (used, made) if impact else (made, used)
            if entity in near and (ts + dur >= limit if impact else ts <= limit):
                nxt = max(limit, ts) if impact else min(limit, ts + dur)
                new = {(e, nxt) for e in far} - seen
                seen |= new
                todo += new
    return {e for e, _ in seen} - {start}


@test
def test_time_aware_at_random(tmp):
    rng = random.Random(11)
    for n in range(16):
        entities = ids(*map(str, range(rng.randrange(3, 14))))
        steps = [(rng.randrange(60), rng.randrange(30), rng.sample(entities, rng.randrange(1, 3)),
                  rng.sample(entities, rng.randrange(1, 3))) for _ in range(rng.randrange(2, 25))]
        f = Lines()
        for ts, dur, made, used in steps:
            f.step("s", ts=ts, dur=dur, generated=made, used=used)
        path = write_all(tmp / str(n), f)
        start = steps[0][2][0]
        for command in ("lineage", "impact"):
            equal(reached(command, path, start, "--time-aware"), in_time(steps, start, command == "impact"),
                  f"{n}: {command} of {start} in {steps}")


@test
def test_edges_between_entities(tmp):
    a, b, c, d, e, g, h = ids("a", "b", "c", "d", "e", "g", "h")
    f = Lines()
    for i in (a, b, c, d, e, g, h):
        f.eh(i, "t")
    f.er(16, b, a)  # b is derived from a
    f.er(18, c, b)  # c contains b
    f.er(19, d, c)  # d is part of c
    f.er(21, e, b)  # e is an alternate of b
    f.er(22, g, e)  # g depends on e
    f.er(200, h, g)
    path = write_all(tmp / "t", f)
    equal(reached("lineage", path, h), set(), "not followed")
    equal(reached("lineage", path, h, "--er"), {g, e, b, a}, "lineage of h")
    equal(reached("lineage", path, c, "--er"), {b, a, d, e}, "lineage of a whole")
    equal(reached("impact", path, a, "--er"), {b, c, e, g, h}, "impact of a")
    equal(reached("impact", path, d, "--er"), {c}, "impact of a part")
    # Those of the tracer are followed, unless only what programs say counts.
    x, y = (f.file("file", p) for p in ("/w/x", "/w/y"))
    f.er(16, y, x, why="rename")
    write_all(tmp / "t", f)
    equal(reached("lineage", path, y), {x}, "renamed")
    equal(reached("lineage", path, y, "--auto"), {x}, "renamed, --auto")
    run([READER, "lineage", "--annotated", path, "/w/y"]).want(1)
    g = Lines()
    g.er(16, a, b)
    only = write_all(tmp / "only", g)
    equal([len(ask("entities", o, only)["entities"]) for o in ("--annotated", "--auto")], [2, 0], "only in an edge")
    said = ask("edges", path)["between_entities"]
    equal({(e_["relation"], e_.get("why")) for e_ in said},
          {("derived_from", None), ("contains", None), ("part_of", None), ("alternate_of", None),
           ("depends_on", None), ("relation 200", None), ("derived_from", "rename")}, "edges")


@test
def test_renamed_directories(tmp):
    """What is below the new name of a directory was below the old one."""
    f = Lines()
    d = {n: f.file("directory", n) for n in ("/w/d", "/w/e", "/w/e/s", "/w/t", "/w/a", "/w/b", "/w/c")}
    src, in_d, in_e, deep, in_t, out = (f.file("file", n) for n in
                                        ("/w/src", "/w/d/x", "/w/e/x", "/w/d/s/y", "/w/t/y", "/w/out"))
    own, other, stale, again = (f.file("file", n) for n in ("/w/e/own", "/w/d/own", "/w/d/old", "/w/e/old"))
    tool, as_file = f.file("program", "/w/e/tool"), f.file("file", "/w/d/tool")
    circle = f.file("file", "/w/a/z")
    f.er(16, d["/w/e"], d["/w/d"], why="rename")
    f.er(16, d["/w/t"], d["/w/e/s"], why="rename")
    f.er(16, d["/w/b"], d["/w/a"], why="rename")
    f.er(16, d["/w/a"], d["/w/b"], why="rename")
    f.program("cp", 10, 5, used=[src], generated=[in_d, deep, other, stale, as_file, circle])
    f.program("cc", 20, 5, generated=[own])                # made there: of no other origin
    f.program("cc", 25, 5, generated=[again])
    f.program("rm", 30, 5, invalidated=[again])            # so that the one moved there is another
    f.program("cat", 50, 5, used=[in_e, in_t, own, again, tool, circle], generated=[out])
    path = write_all(tmp / "t", f)
    for start, want in ((in_e, {in_d, src}), (in_t, {deep, src}), (own, set()), (again, {stale, src}),
                        (tool, {as_file, src})):
        equal(reached("lineage", path, start), want, "lineage")
    equal(reached("impact", path, in_d), {in_e, out}, "impact")
    equal(reached("impact", path, as_file), {tool, out}, "impact of a tool")
    equal(reached("lineage", path, "/w/e/s/y"), {src}, "found by a name nobody used")
    equal(reached("lineage", path, "/w/b/z"), {src}, "round in a circle")
    run([READER, "lineage", path, "/w/b/nothing"]).want(1)
    run([READER, "lineage", path, "/w/dd/x"]).want(1)
    # One that had moved on before it was known to be a directory stands there as a file; and hosts are apart.
    f, g = Lines(1, "node01"), Lines(2, "node02")
    new, mid, old = (f.file("file", n) for n in ("/w/new", "/w/mid", "/w/old"))
    used, made, far = f.file("file", "/w/new/x"), f.file("file", "/w/old/x"), g.file("file", "/w/new/x")
    f.er(16, new, mid, why="rename")
    f.er(16, mid, old, why="rename")
    f.program("cp", 10, 5, generated=[made])
    f.program("cat", 20, 5, used=[used])
    g.program("cat", 20, 5, used=[far])
    path = write_all(tmp / "m", f, g)
    equal(reached("lineage", path, used), {made}, "over two renames")
    equal(reached("lineage", path, far), set(), "of another host")
    # Backups that go on by one, again and again.
    f = Lines()
    now, olds = f.file("directory", "/w/now"), [f.file("directory", f"/w/old.{i}") for i in range(10)]
    for i in range(100):
        for n in range(9, 0, -1):
            f.er(16, olds[n], olds[n - 1], why="rename")
        f.er(16, olds[0], now, why="rename")
    first, last = f.file("file", "/w/now/x"), f.file("file", "/w/old.9/x")
    f.program("cp", 10, 5, generated=[first])
    f.program("cat", 20, 5, used=[last])
    equal(reached("lineage", write_all(tmp / "b", f), last), {first}, "after ten renames")
    # Many of one name: no more than so many are looked at.
    f = Lines()
    to = f.file("directory", "/w/to")
    for i in range(5000):
        f.er(16, to, f.file("directory", f"/w/{i}"), why="rename")
    files = [f.file("file", f"/w/to/{i}") for i in range(2000)]
    f.program("cat", 20, 5, used=files)
    equal(reached("lineage", write_all(tmp / "n", f), files[0]), set(), "nothing")


# ---- what is one thing -----------------------------------------------------------------------

@test
def test_joins(tmp):
    """A file that is also a program; shared and local paths on two hosts; mount namespaces; uris."""
    one, two = Lines(1, "node01"), Lines(2, "node02")
    tool, prog = one.file("file", "/bin/tool"), one.file("program", "/bin/tool")
    src, out = one.file("file", "/w/src"), one.file("file", "/w/out")
    one.program("ld", 10, 5, used=[src], generated=[tool])
    one.program("tool", 20, 5, used=[prog], generated=[out])
    equal(reached("lineage", write_all(tmp / "a", one), out), {tool, prog, src}, "file and program")

    one, two = Lines(1, "node01"), Lines(2, "node02")
    shared = [f.file("file", "/lustre/x", key="/lustre/x", store=3) for f in (one, two)]
    equal(shared[0], shared[1], "ids of a shared file")
    local = [f.file("file", "/tmp/x") for f in (one, two)]
    tool = [one.file("file", "/lustre/tool", key="/lustre/tool", store=3),
            two.file("program", "/lustre/tool", key="/lustre/tool", store=3)]
    a, b, c = one.file("file", "/a"), two.file("file", "/b"), two.file("file", "/c")
    one.program("p", 10, 5, used=[a], generated=[shared[0], local[0], tool[0]])
    two.program("q", 20, 5, used=[shared[1]], generated=[b])
    two.program("r", 30, 5, used=[local[1]], generated=[c])
    path = write_all(tmp / "b", one, two)
    equal(reached("lineage", path, b), {shared[0], a}, "over a shared file system")
    equal(reached("lineage", path, c), {local[1]}, "one name, two hosts")
    equal(reached("lineage", path, tool[1]), {tool[0], a}, "a shared tool")
    keys = {e["id"]: e["entity"] for e in ask("entities", path)["entities"]}
    equal((keys[shared[0]], keys[local[1]]), ("/lustre/x", "node02:/tmp/x"), "keys")

    # The same name in two mount namespaces of a host: two files.
    inside, outside = Lines(3, ts=5, mnt_ns=4026532000, ppid=0), Lines(4)
    x, y = inside.file("file", "/x", mnt=4026532000), outside.file("file", "/x")
    a, b = outside.file("file", "/a"), inside.file("file", "/b", mnt=4026532000)
    outside.program("p", 10, 5, used=[a], generated=[y])
    inside.program("q", 20, 5, used=[x], generated=[b])
    path = write_all(tmp / "c", inside.end(), outside)
    equal(reached("lineage", path, b), {x}, "namespaces")

    # What a program calls by its own name is in a file.
    f = Lines(5)
    model = entity_id("model", "best")
    f.eh(model, "model", "/w/model.bin")
    f.step("train", ts=100, dur=10, generated=[model])
    file, data, out = f.file("file", "/w/model.bin"), f.file("file", "/w/data"), f.file("file", "/w/out")
    f.program("train", 90, 30, used=[data], generated=[file])
    f.program("use", 200, 30, used=[file], generated=[out])
    path = write_all(tmp / "d", f)
    equal(reached("lineage", path, model, "--all"), {file, data}, "from the model to its file")
    equal(reached("impact", path, model, "--all"), {file, out}, "what came of the model")
    equal(reached("lineage", path, model, "--annotated"), set(), "--annotated")
    # Where steps worked on it, these alone are followed, and it is told that there is more.
    equal(reached("lineage", path, model), set(), "of steps")
    check(run([READER, "lineage", path, model]).want(0).out.endswith(b" (of annotations; --all adds runs of programs)\n"), "a hint")
    equal(ask("lineage", path, model)["sides"], "annotated", "sides")
    equal(reached("lineage", path, file, "--auto"), {data}, "--auto")
    # By an ER of the tracer, where the uri does not tell.
    odd = entity_id("model", "odd")
    f.eh(odd, "model", "/w/mod_l")
    real = f.file("file", "/w/mod\u00e9l")
    f.er(21, odd, real, why="uri")
    path = write_all(tmp / "d", f)
    equal(reached("lineage", path, odd), {real}, "alternate by ER")
    equal(reached("lineage", path, real, "--auto"), set(), "alternate by ER, which --auto does not show")
    equal(reached("lineage", path, odd, "--annotated"), set(), "alternate by ER, --annotated")


@test
def test_finding(tmp):
    """By id, type and key, key, path, relative path; several and none."""
    f, g = Lines(1, "node01"), Lines(2, "node02")
    tmp = Path(os.path.realpath(tmp))
    a, b, c = f.file("file", f"{tmp}/a b"), f.file("file", "/x"), g.file("file", "/x")
    p, odd = f.file("program", "/x"), f.file("file", "/n\u00e4me")
    long = f.file("file", "/" + "l" * 300)
    e = entity_id("sequence", "MGYP0001")
    f.eh(e, "sequence", "/data/s.fa")
    f.eh(entity_id("sequence", "odd"), "sequence", "/data/s__.fa")
    f.meta("EH", id=entity_id("we", "i:rd"), type="we", store=0, uri="")
    path = write_all(tmp / "t", f.end(), g.end())

    def found(what, cwd=None):
        r = run([READER, "lineage", "--json", path, what], cwd=cwd)
        return json.loads(r.out)["entity"]["id"] if r.status == 0 else r

    def below(where, cwd=None):
        r = run([READER, "entities", "--json", "--under", where, path], cwd=cwd)
        return [e["id"] for e in json.loads(r.out)["entities"]]

    equal(below(tmp), [a], "below a directory")
    (tmp / "by").symlink_to(".")
    equal([below(x, cwd=tmp / "t") for x in ("..", "../by", "../by/t/..", ".")], [[a], [a], [a], []], "links, and dots")
    equal([below(x, cwd=tmp) for x in (".", "./", "a b", "a")], [[a], [a], [a], []], "relative")
    equal(below("/x"), sorted([b, c, p]), "the file itself")
    equal(len(below("/")), len({a, b, c, p, odd, long}) + 2, "all files, and what is said to be one")
    equal(found(e), e, "by id")
    equal(found("sequence:MGYP0001"), e, "by type and key")
    equal(found("we:i:rd"), entity_id("we", "i:rd"), "a key with a colon")
    equal(found("/data/s.fa"), e, "by uri")
    equal(found(f"node01:{tmp}/a b"), a, "by key")
    equal(found(f"file:node01:{tmp}/a b"), a, "by type and automatic key")
    equal(found("a b", cwd=tmp), a, "relative")
    equal(found(".//a b", cwd=tmp), a, "relative with dots")
    (tmp / "a b").write_text("")
    (tmp / "link").symlink_to(tmp)
    equal(found("../a b", cwd=tmp / "t"), a, "above the working directory")
    equal(found(tmp / "link/a b"), a, "through a symbolic link")
    equal(found("/n\u00e4me"), odd, "a name that the uri does not have")
    equal(found("/" + "l" * 300), long, "a name that the uri does not have to its end")
    equal(found("/data/s\u00e9.fa"), entity_id("sequence", "odd"), "a uri in which characters were replaced")
    equal(found("node01:/x"), b, "the file rather than the program")
    r = found("/x")
    equal(r.status, 1, "two hosts")
    check(all(i in r.text for i in (b, c)) and "node02:/x" in r.text and p not in r.text, r.text)
    refused(found("/nowhere"), "/nowhere", "dftrace entities", status=1)
    refused(found("0" * 16), "no such entity", status=1)
    r = found("/else/where/s.fa")
    equal((r.status, r.text.count("\n")), (1, 2), "of the same name elsewhere")
    check("no such entity" in r.text and e in r.text and "/data/s.fa" in r.text, r.text)
    refused(found(tmp), "ENTITY stands behind DIR", status=1)
    for argv in (["lineage"], ["lineage", path], ["impact", "--depth", "0", path, e], ["impact", "--via", "x", path, e],
                 ["lineage", "--via", "used,", path, e], ["graph"], ["graph", "--depth", "1", path], ["export", path],
                 ["export", "--to", "x", path], ["export", "--to", "dot"], ["made"], ["edges", "--frob", path]):
        refused(run([READER, *argv]), "--help", status=2)


# ---- relations derived from calls --------------------------------------------------------------

def of_run(path, step, *options):
    """{relation: names} of the runs of a program."""
    out = {}
    for e in ask("edges", "--auto", *options, path)["edges"]:
        if e["step"] == step:
            out.setdefault(e["relation"], set()).add(e["entity"])
    return out


O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE = 1, 0o100, 0o1000, 0o2000, 0o20200000


def same_when_merged(tmp, path):
    """All processes in one file, one behind the other and in order of time."""
    want = ask("edges", path)["edges"]
    for i, order in enumerate(([], ["--by-time"])):
        one = tmp / f"merged{i}.pfw.gz"
        r = run([READER, "merge", *order, "-o", one, path])
        check(r.status == 0, r.text)
        equal(ask("edges", one)["edges"], want, f"merged {order}")


@test
def test_derived(tmp):
    """`sort a | uniq > b; mv b c; rm a`, as a shell does it, and no PROGRAM event."""
    sh = Lines(10, ts=100, ppid=1, cmd_hash="")
    sh.call("execve", 101, pathname_hash="/bin/sh")
    sh.call("read", 102, "/w/job.sh", 40).call("fork", 110, ret=11).call("fork", 111, ret=12)
    sh.call("unlink", 900, "/w/a").call("unlink", 901, "/w/nothing", -1, errno=2)
    sh.call("open", 902, "/w/empty", 3, flags=O_WRONLY | O_CREAT | O_TRUNC, mode=0o644)
    sh.call("stat", 903, "/w/looked")
    sh.call("open", 904, "/w/dir", 3, flags=0o200000).call("readdir", 905, "/w/dir", 0)
    sort = Lines(11, ts=110, ppid=10)
    sort.call("execve", 120, pathname_hash="/usr/bin/sort")
    sort.call("open", 125, "/lib/libc.so", 3, flags=0).call("read", 126, "/lib/libc.so", 800)
    sort.call("mmap", 127, "/lib/libc.so", 4096, prot=5, flags=2)
    sort.call("open", 130, "/w/a", 3, flags=0).call("read", 131, "/w/a", 100).call("read", 132, "/w/a", 0)
    sort.row("write", 140, "pipe:[77]", 100)
    uniq = Lines(12, ts=111, ppid=10)
    uniq.call("open", 112, "/w/b", 3, flags=O_WRONLY | O_CREAT | O_TRUNC, mode=0o644)
    uniq.call("execve", 121, pathname_hash="/usr/bin/uniq", dur=3)
    uniq.call("write", 150, "/w/b", 90)
    uniq.row("read", 141, "pipe:[77]", 100)
    mv = Lines(13, ts=400, ppid=10).call("execve", 401, pathname_hash="/usr/bin/mv")
    mv.call("rename", 402, "/w/b", newpath_hash="/w/c")
    log = Lines(14, ts=500, ppid=10).call("open", 501, "/w/log", 3, flags=O_WRONLY | O_CREAT | O_APPEND, mode=0o644)
    log.call("execve", 502, pathname_hash="/w/run.sh", interp_hash="/bin/sh").call("write", 503, "/w/log", 9)
    log.call("write", 504, "/w/lost", 0).call("write", 505, "/w/failed", -1, errno=28)
    path = write_all(tmp / "t", sh, sort, uniq, mv, log)

    equal(of_run(path, "sort"), {"used": {"/usr/bin/sort", "/lib/libc.so", "/w/a"}, "generated": {"pipe:[77]"}}, "sort")
    equal(of_run(path, "uniq"), {"used": {"/usr/bin/uniq", "pipe:[77]"}, "generated": {"/w/b"}}, "uniq")
    equal(of_run(path, "mv"), {"used": {"/usr/bin/mv"}, "generated": {"/w/c"}, "invalidated": {"/w/b"}}, "mv")
    equal(of_run(path, "run.sh"), {"used": {"/w/run.sh", "/bin/sh"}, "updated": {"/w/log"}}, "run.sh")
    equal(of_run(path, "sh"), {"used": {"/bin/sh", "/w/job.sh"}, "invalidated": {"/w/a"}, "generated": {"/w/empty"}},
          "sh")
    check(all(e["derived"] == 1 and e["cat"] == "PROGRAM" for e in ask("edges", path)["edges"]), "derived")
    types = {e["entity"]: e["type"] for e in ask("entities", path)["entities"]}
    equal({k: types[f"node01:{k}"] for k in ("/lib/libc.so", "/usr/bin/mv", "/w/a", "pipe:[77]", "/w/run.sh")},
          {"/lib/libc.so": "program", "/usr/bin/mv": "program", "/w/a": "file", "pipe:[77]": "pipe",
           "/w/run.sh": "program"}, "types")
    check("node01:/w/looked" not in types and "node01:/w/dir" not in types, "no content of these is known")
    got = {e["entity"]: e["depth"] for e in ask("lineage", path, "/w/c")["reached"]}
    equal({k: got.get(k) for k in ("/w/b", "pipe:[77]", "/w/a", "/usr/bin/uniq", "/usr/bin/sort", "/w/job.sh")},
          {"/w/b": 1, "pipe:[77]": 2, "/w/a": 3, "/usr/bin/uniq": 2, "/usr/bin/sort": 3, "/w/job.sh": None}, "lineage")
    equal({e["entity"] for e in ask("impact", path, "file:node01:/w/a")["reached"]}, {"pipe:[77]", "/w/b", "/w/c"},
          "impact")
    equal(ask("made", path)["made"][0]["step"], "mv", "made, of runs when nothing is annotated")
    # The pid of one that is over, given again; and that of another host.
    sort.end(ts=390)
    again = Lines(11, ts=700, ppid=10).call("execve", 701, pathname_hash="/usr/bin/wc").call("read", 702, "/w/c", 90)
    there = Lines(11, host="node02", ts=110, ppid=10).call("execve", 120, pathname_hash="/usr/bin/od")
    there.call("read", 121, "/w/a", 90)
    for f, name in ((sort, "p-node01-11.pfw.gz"), (again, "p-node01-11a.pfw.gz"), (there, None)):
        f.write(path, name)
    equal(of_run(path, "wc"), {"used": {"/usr/bin/wc", "/w/c"}}, "wc")
    equal(of_run(path, "od"), {"used": {"/usr/bin/od", "/w/a"}}, "od")
    same_when_merged(tmp, path)

    # A directory that is renamed; a file without a name, which is none.
    f = Lines(20, ts=100, ppid=1)
    f.call("mkdir", 101, "/w/d").call("open", 102, "/w/d/x", 3, flags=O_WRONLY | O_CREAT | O_TRUNC)
    f.call("write", 103, "/w/d/x", 9).call("rename", 104, "/w/d", newpath_hash="/w/e").call("read", 105, "/w/e/x", 9)
    f.call("open", 106, "/w/#1", 4, flags=O_WRONLY | O_TMPFILE).call("write", 107, "/w/#1", 9)
    path = write_all(tmp / "dir", f)
    equal({e["entity"] for e in ask("lineage", path, "/w/e/x")["reached"]}, {"/w/d/x"}, "renamed")
    equal({(e["relation"], e["type"], e["entity"]) for e in ask("edges", path)["edges"]},
          {("generated", "file", "/w/d/x"), ("used", "file", "/w/e/x"), ("generated", "file", "/w/#1")}, "of the run")
    equal({e["entity"] for e in ask("entities", "--type", "directory", path)["entities"]},
          {"node01:/w/d", "node01:/w/e"}, "directories")
    # ".." goes, where the name without it is one of the trace's.
    f.call("rename", 108, "/w/e/x", newpath_hash="/w/e/s/../../y").call("read", 109, "/w/y", 9)
    f.call("write", 110, "/w/y", 9).call("unlink", 111, "/w/e/../../gone").call("unlink", 112, "/../..")
    f.call("rename", 113, "/w/m", newpath_hash="/w/n", flags=2)  # exchanged
    path = write_all(tmp / "dots", f)
    equal({(e["relation"], e["entity"]) for e in ask("edges", path)["edges"] if e["entity"][-1] in "ye"},
          {("used", "/w/y"), ("generated", "/w/y"), ("invalidated", "/w/e/../../gone")}, "relations of names with ..")
    check("/w/d/x" in {e["entity"] for e in ask("lineage", path, "/w/y")["reached"]}, "lineage over ..")
    keys = {e["id"]: e["entity"] for e in ask("entities", path)["entities"]}
    pairs = {(keys[e["subject"]], keys[e["object"]]) for e in ask("edges", path)["between_entities"]}
    check({("node01:/w/m", "node01:/w/n"), ("node01:/w/n", "node01:/w/m")} <= pairs, "exchanged")


@test
def test_derived_over_processes(tmp):
    """A child that writes to what its parent opened; a run that execs; a namespace; a directory renamed."""
    parent = Lines(20, ts=100, ppid=1, cmd_hash=dfhash("/usr/bin/python3;x.py"))
    parent.name("/usr/bin/python3;x.py", "SH")
    parent.call("open", 110, "/w/out", 3, flags=O_WRONLY | O_CREAT | O_TRUNC, mode=0o644)
    parent.call("open", 111, "/w/own", 4, flags=O_WRONLY | O_CREAT | O_TRUNC, mode=0o644).call("write", 112, "/w/own", 5)
    parent.call("rename", 300, "/w/olddir", newpath_hash="/w/newdir")
    child = Lines(21, ts=120, ppid=20).call("execve", 121, pathname_hash="/bin/echo").call("write", 122, "/w/out", 6)
    child.call("read", 123, "/w/newdir/f", 5)
    passing = Lines(22, ts=130, ppid=20).call("open", 131, "/w/nothing", 3, flags=O_WRONLY | O_CREAT | O_TRUNC, mode=0)
    passing.call("execve", 132, pathname_hash="/bin/true").call("execve", 133, pathname_hash="/bin/grep")
    boxed = Lines(23, ts=140, ppid=20, mnt_ns=4026532000).call("read", 141, "/w/own", 5)
    boxed.call("open", 142, "/w/made", 3, flags=O_WRONLY | O_CREAT, created=1).call("write", 143, "/w/made", 1)
    shared = Lines(24, ts=150, ppid=1)
    shared.call("mmap", 151, "/w/db", 1, prot=3, flags=1).row("mmap_write", 152, "/w/db", 4096)
    unseen = Lines(25, ts=160, ppid=1).call("mmap", 161, "/w/db2", 1, prot=3, flags=1).end(mmap=0)
    idle = Lines(26, ts=170, ppid=1).call("mmap", 171, "/w/db3", 1, prot=3, flags=1).end(mmap=1)
    path = write_all(tmp / "t", parent, child, passing, boxed, shared, unseen, idle)

    equal(of_run(path, "python3").get("generated"), {"/w/own"}, "python3 makes what it writes")
    equal(of_run(path, "echo"), {"used": {"/bin/echo", "/w/newdir/f"}, "generated": {"/w/out"}}, "echo")
    equal(of_run(path, "grep"), {"used": {"/bin/grep"}, "generated": {"/w/nothing"}}, "grep")
    equal(of_run(path, "true"), {"used": {"/bin/true"}}, "true")
    keys = {e["entity"] for e in ask("entities", path)["entities"]}
    check({"node01:4026532000:/w/own", "node01:/w/own"} <= keys, "names in a namespace")
    dirs = {(e["entity"], e["type"], e["used"] + e["generated"] + e["updated"] + e["invalidated"])
            for e in ask("entities", path)["entities"] if "olddir" in e["entity"] or e["entity"].endswith("/w/newdir")}
    equal(dirs, {(f"node01:/w/{d}", "directory", 0) for d in ("olddir", "newdir")}, "a directory has no content")
    equal(reached("lineage", path, "node01:4026532000:/w/made"),
          {entity_id("file", "node01:4026532000:/w/own")}, "within the namespace")
    equal(of_run(path, "unknown"), {"updated": {"/w/db", "/w/db2"}, "used": {"/w/db2", "/w/own"},
                                    "generated": {"/w/made"}}, "who has no name; mapped files")
    same_when_merged(tmp, path)


@test
def test_told_and_derived(tmp):
    """PROGRAM events are taken as they are; only runs without one are derived."""
    whole = Lines(30, ts=100, ppid=1).call("execve", 101, pathname_hash="/bin/whole").call("read", 102, "/w/a", 5)
    a, out = whole.file("file", "/w/told"), whole.file("file", "/w/out")
    whole.program("whole", 101, 50, used=[a], generated=[out]).end()
    cut = Lines(31, ts=200, ppid=30).call("execve", 201, pathname_hash="/bin/first").call("read", 202, "/w/a", 5)
    b = cut.file("file", "/w/first")
    cut.program("first", 201, 9, used=[b])
    cut.call("execve", 210, pathname_hash="/bin/second").call("read", 211, "/w/out", 5)
    lustre = cut.file("file", "/lustre/tool", key="/lustre/tool", store=3)
    cut.call("execve", 220, pathname_hash="/lustre/tool").call("write", 221, "/w/last", 5)
    path = write_all(tmp / "t", whole, cut)
    equal(of_run(path, "whole"), {"used": {"/w/told"}, "generated": {"/w/out"}}, "told")
    equal(of_run(path, "first"), {"used": {"/w/first"}}, "first, told")
    equal(of_run(path, "second"), {"used": {"/bin/second", "/w/out"}}, "second, derived")
    equal(of_run(path, "tool"), {"used": {"/lustre/tool"}, "updated": {"/w/last"}}, "third, derived")
    keys = {(e["type"], e["entity"]) for e in ask("entities", path)["entities"]}
    check(("program", "/lustre/tool") in keys, "the key is that of the entity that is known")
    check(lustre in reached("lineage", path, "/w/last"), "the same file, as file and as program")
    # Where calls were lost, the answer says so.
    lossy, shed = Lines(50), Lines(51, ts=1, ppid=1)
    x, y = lossy.file("file", "/w/x"), lossy.file("file", "/w/y")
    lossy.event("p", "PROGRAM", 5, 9, relations={"used": [x], "generated": [y]}, incomplete=3)
    lossy.program("q", 50, 9, used=[y], generated=[lossy.file("file", "/w/z")])
    shed.line({"name": "open", "cat": "POSIX", "type": 3, "ts": 2, "ph": 3, "pid": 51, "tid": 51, "args": {
        "hhash": shed.hhash, "dft_cnt": 5, "dur_sum": 1, "ret_sum": 0, "errors": 0, "shed": 1, "last": 9}})
    shed.call("read", 3, "/w/y", 5).call("write", 4, "/w/s", 5)
    losses = write_all(tmp / "losses", lossy, shed)
    equal([ask("lineage", losses, f"/w/{n}")["incomplete"] for n in "yzs"], [1, 1, 2], "incomplete")
    check(b"calls were lost" in run([READER, "lineage", losses, "/w/z"]).want(0).out, "said in text")
    check(b"lost" not in run([READER, "impact", losses, "--depth", "1", "--auto", "/w/z"]).want(0).out, "nothing lost")
    # Nothing is derived of what others wrote, or programs say.
    foreign = Lines(40)
    foreign.event("start", "dftracer", 1, version="2.0.1", ppid=1)
    foreign.call("read", 5, "/w/x", 5)
    mine = Lines(41, ts=1, ppid=1)
    mine.event("read", "POSIX", 5, kind=2, fhash=mine.name("/w/x"), ret=5)
    equal(ask("edges", write_all(tmp / "u", foreign, mine))["edges"], [], "nothing to derive")


# ---- forms that were before, hostile bytes, damage ------------------------------------------------

@test
def test_old_forms(tmp):
    """Relations directly in args, prototypes in metadata, and the dialect of 2025."""
    f = Lines()
    a, b = ids("a", "b")
    f.event("direct", "C_APP", 10, 5, kind=2, used=[a], generated=[b], activity="by its own name")
    f.meta("CM", name="prov_entity:aaaaaaaaaaaaaaaa", value="seq|id1|2|/d/one")
    f.meta("CM", name="prov_entity:bbbbbbbbbbbbbbbb", value="fold|id2|0|")
    f.meta("CM", name="prov_type:seq", value="1|proteins")
    f.event("old", "PROV", 20, 5, kind=2, prov_aid="act1", prov_activity="folding", prov_used="aaaaaaaaaaaaaaaa")
    f.event("old", "PROV_CONT", 21, 5, kind=2, prov_aid="act1", prov_activity="folding", prov_generated="bbbbbbbbbbbbbbbb")
    f.meta("EH", name="cccccccccccccccc", value="late|3|/l/x")
    path = write_all(tmp / "t", f)
    edges = {(e["step"], e["relation"], e["id"], e["type"]) for e in ask("edges", path)["edges"]}
    equal(edges, {("by its own name", "used", a, None), ("by its own name", "generated", b, None),
                  ("folding", "used", "a" * 16, "seq"), ("folding", "generated", "b" * 16, "fold")}, "edges")
    entities = {e["id"]: (e["type"], e["role"], e["store"], e["entity"]) for e in ask("entities", path)["entities"]}
    equal(entities["a" * 16], ("seq", "input", "local_disk", "/d/one"), "entity of a prototype")
    equal(entities["c" * 16], ("late", "unknown", "parallel_fs", "/l/x"), "EH of a prototype")
    equal(reached("lineage", path, "b" * 16), {"a" * 16}, "one activity in two records")
    letters = [json.dumps({"name": "step", "cat": "PROV", "ph": "X", "id": "7", "pid": 3, "tid": 3, "ts": 5, "dur": 1,
                           "args": {"hhash": 5, "relations": {"used": [a], "generated": [b]}}})]
    (tmp / "u").mkdir()
    (tmp / "u/x.pfw").write_text("[\n" + "\n".join(letters) + "\n]\n")
    equal(reached("lineage", tmp / "u", b), {a}, "2025")


EVIL = ['"', "\\", "\n", "a\"b\\c\nd\te", "</script>", "'; drop", "%s%n", "\u00e9\u4e2d\U0001f600", "\x01\x7f\x1b[31m",
        "<b>&amp;", "{}|<>", "a,b", "x" * 5000, "=1+1", "]", "//", "e\u0301"]


def evil(tmp):
    f = Lines()
    for n, text in enumerate(EVIL):
        e = entity_id("x", str(n))
        f.eh(e, text[:31], text)
        f.meta("ET", type=text[:31], role=n % 6, description=text)
        f.event(text, text, 10 + n, 5, kind=2, activity=text, relations={
            "used": [e], "generated": [entity_id("y", str(n))], "updated": [entity_id("z", str(n))],
            "invalidated": [e]})
        f.er(16 + n % 9, e, entity_id("y", str(n)))
    f.event("self", "PROV", 2**63, 2**63, kind=2, relations={"used": [entity_id("x", "0")]})
    f.event("pid", "PROV", 0, 0, kind=2, id=2**64 - 1, relations={"generated": [entity_id("x", "0")] * 3})
    f.file("file", b"/bad\xff\xfe\"name")
    return f


@test
def test_hostile_names(tmp):
    need_program("dot")
    path = write_all(tmp / "t", evil(tmp))
    for command in ("entities", "edges", "made", "graph"):
        text = run([READER, command, path]).want(0).out
        check(b"\x1b" not in text and b"\x01" not in text, f"{command}: control bytes")
    got = ask("edges", path)["edges"]
    equal({e["step"] for e in got}, {*EVIL, "self", "pid"}, "steps")
    rows = list(csv.DictReader(io.StringIO(run([READER, "edges", "--csv", path]).want(0).out.decode(), newline="")))
    equal([r["step"] for r in rows], [e["step"] for e in got], "steps in CSV")
    graph = ask("graph", path)
    equal(len([n for n in graph["nodes"] if n["kind"] == "entity"]), len({e["id"] for e in ask("entities", path)["entities"]}),
          "nodes")
    for argv in (["graph", "--dot"], ["export", "--to", "dot"]):
        dot = run([READER, *argv, path]).want(0).out
        svg = run(["dot", "-Tsvg"], input=dot).want(0)
        equal(svg.err, b"", "graphviz")
        equal(svg.out.count(b'class="node"'), len(graph["nodes"]), "nodes drawn")
        equal(svg.out.count(b'class="edge"'), len(graph["edges"]), "edges drawn")


@test
def test_prov_exports(tmp):
    """PROV-JSON and PROV-N are right by their rules, and say what the trace says."""
    f = evil(tmp)
    a, b = f.file("file", "/w/a"), f.file("program", "/w/a")
    f.program("sh", 1_796_038_961_206_080, 1_500_000, used=[a, b], updated=[f.file("file", "/w/db")])
    path = write_all(tmp / "t", f)
    doc = valid_prov_json(json.loads(run([READER, "export", "--to", "prov-json", path]).want(0).out))
    edges = ask("edges", path)
    n = {k: sum(e["relation"] == k for e in edges["edges"]) for k in ("used", "generated", "updated", "invalidated")}
    entities = ask("entities", path)["entities"]
    equal({k: len(doc[k]) for k in ("entity", "used", "wasGeneratedBy", "wasInvalidatedBy")},
          {"entity": len(entities) + n["updated"], "used": n["used"] + n["updated"],
           "wasGeneratedBy": n["generated"] + n["updated"], "wasInvalidatedBy": n["invalidated"]}, "statements")
    between = [e["relation"] for e in edges["between_entities"]]
    influence = sum(r == "depends_on" or r.startswith("relation") for r in between)
    equal({k: len(doc[k]) for k in ("wasDerivedFrom", "specializationOf", "alternateOf", "hadMember", "wasInfluencedBy")},
          {"wasDerivedFrom": between.count("derived_from") + between.count("revision_of") + n["updated"],
           "specializationOf": between.count("specialization_of") + n["updated"],
           "alternateOf": between.count("alternate_of") + 1, "hadMember": between.count("contains") + between.count("part_of"),
           "wasInfluencedBy": influence}, "edges between entities")
    sh = [x for x in doc["activity"].values() if x["prov:type"] == "PROGRAM"]
    equal([(x["prov:startTime"], x["prov:endTime"], x["prov:label"]) for x in sh],
          [("2026-11-30T11:42:41.206080Z", "2026-11-30T11:42:42.706080Z", "sh")], "a run")
    members = {tuple(r.values()) for r in doc["hadMember"].values()}
    want = set()
    for line in map(json.loads, f.lines):
        x = line["args"]
        if line["name"] == "ER" and x["relation"] in (18, 19):  # contains; part of
            whole, part = (x["subject"], x["object"]) if x["relation"] == 18 else (x["object"], x["subject"])
            want.add((f"dft:e{whole}", f"dft:e{part}"))
    equal(members, want, "members")
    valid_prov_n(run([READER, "export", "--to", "prov-n", path]).want(0).out.decode(), doc)
    only = valid_prov_json(json.loads(run([READER, "export", "--to", "prov-json", "--auto", path]).want(0).out))
    equal((len(only["activity"]), len(only["used"]), "wasDerivedFrom" in only and len(only["wasDerivedFrom"])), (1, 3, 1),
          "--auto")


@test
def test_export_file(tmp):
    """A file that is written is whole, with the usual mode, or is not there."""
    path = write_all(tmp / "t", evil(tmp).end())
    out = tmp / "out.json"
    out.write_text("before")
    refused(run([READER, "export", "--to", "prov-json", "-o", out, path]), "--force", status=1)
    equal(out.read_text(), "before", "what was there")
    run([READER, "export", "--to", "prov-json", "--force", "-o", out, path]).want(0)
    run([READER, "export", "--to", "prov-json", "-o", tmp / "other.json", path]).want(0)
    equal((tmp / "other.json").read_bytes(), out.read_bytes(), "a new file")
    equal(sorted(os.listdir(tmp)), ["other.json", "out.json", "t"], "what else is there")
    equal(out.read_bytes(), run([READER, "export", "--to", "prov-json", path]).want(0).out, "file and stdout")
    mask = os.umask(0o22)
    os.umask(mask)
    equal(out.stat().st_mode & 0o777, 0o666 & ~mask, "mode")
    refused(run([READER, "export", "--to", "dot", "-o", tmp / "no/x", path]), "No such file", status=1)
    refused(run([READER, "export", "--to", "dot", "-o", tmp / "new", tmp / "none"]), "No such file", status=1)
    check(not (tmp / "new").exists(), "nothing was read, and a file is there")

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    big = Lines()
    for i in range(5000):
        big.step("s", ts=i, used=[entity_id("t", str(i))])
    big = write_all(tmp / "big", big.end())
    (tmp / "d").mkdir()
    r = run(["env", "--ignore-signal=XFSZ", READER, "export", "--to", "prov-n", "-o", tmp / "d/x", big],
            preexec_fn=small_files)
    refused(r, "d/x", status=1)
    equal(os.listdir(tmp / "d"), [], "what is left of it")


@test
def test_damage(tmp):
    """Cut and bit-flipped traces: the rest is answered, the fault is told, nothing crashes."""
    files, entities = random_graph(3)
    rng = random.Random(5)
    whole = Path(files[0].write(tmp / "t")).read_bytes()
    text = gzip.decompress(whole)
    for n in range(36):
        bad = bytearray(text)
        for _ in range(rng.randrange(1, 20)):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        if n % 3 == 0:
            bad = bad[:rng.randrange(1, len(bad))]
        d = tmp / f"b{n}"
        d.mkdir()
        (d / "x.pfw.gz").write_bytes(gzip.compress(bytes(bad), 1) if n % 2 else gzip.compress(bytes(bad), 1)[:-9])
        for argv in (["edges", "--json", d], ["lineage", "--time-aware", "--er", d, entities[0]],
                     ["export", "--to", "prov-json", d]):
            r = run([READER, *argv])
            check(r.status in (0, 1), f"{argv}: {r.status}")
            if argv[0] != "lineage":
                json.loads(r.out)
            if n % 2 == 0:
                check(r.status == 1 and r.err, "a cut file is told")
    r = run([READER, "lineage", tmp / "nowhere", entities[0]]).want(1)
    check("No such file" in r.text, r.text)


@test
def test_graph_around(tmp):
    """A part of the graph: what is reached in both directions, and nothing else."""
    a, b, c, d, x, y = ids("a", "b", "c", "d", "x", "y")
    f = Lines()
    f.step("one", ts=1, used=[a], generated=[b])
    f.step("two", ts=2, used=[b], generated=[c])
    f.step("three", ts=3, used=[c], generated=[d])
    f.step("aside", ts=4, used=[x], generated=[y])
    path = write_all(tmp / "t", f)

    def part(*options):
        g = ask("graph", *options, path)
        return ({n["id"] for n in g["nodes"] if n["kind"] == "entity"},
                {n["step"] for n in g["nodes"] if n["kind"] == "activity"}, len(g["edges"]))

    equal(part(), ({a, b, c, d, x, y}, {"one", "two", "three", "aside"}, 8), "all")
    equal(part("--around", b), ({a, b, c, d}, {"one", "two", "three"}, 6), "around b")
    equal(part("--around", b, "--depth", "1"), ({a, b, c}, {"one", "two"}, 4), "one hop around b")
    text = run([READER, "graph", "--around", c, "--depth", "1", path]).want(0).out.decode().splitlines()
    equal([line.split()[0] for line in text], ["two", "used", "generated", "three", "used", "generated"], "text")
    dot = run([READER, "graph", "--dot", "--around", b, "--depth", "1", path]).want(0).out
    equal((dot.count(b"shape=box"), dot.count(b"shape=ellipse"), dot.count(b" -> ")), (2, 3, 4), "dot")


if __name__ == "__main__":
    main()
