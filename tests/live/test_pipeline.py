# SPDX-License-Identifier: MIT
"""The example pipeline traced: its provenance is what was counted by hand."""
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PIPELINE = ROOT / "tests/progs/pipeline"
sys.path.insert(0, str(PIPELINE))
import truth  # noqa: E402
from wanted import (ENTITIES, WANT, dftrace_agrees, is_prov, same_counts, same_records,  # noqa: E402
                    whole_graph)

BIN = BUILD / "tests/progs/pipeline"
LIBRARY = BUILD / "libdftracer.so"
PREARMED = ["--usdt", BIN / "stage1", "--usdt", BIN / "stage2", "--usdt", LIBRARY]
STAGES = ("stage1", "stage2", "stage3")

# How many edges each activity of a step makes, in each stage.
EDGES = {
    "stage1": {"contains": ("load_inputs", 10), "revision_of": ("filter_msa", 1)},
    "stage2": {"alternate_of": ("a3m_to_sto", 1)},
    "stage3": {"revision_of": ("relaxation", 1), "derived_from": ("ranking", 1), "contains": ("export", 3)},
}


def environment(**more):
    return clean_env(PIPELINE_BIN=str(BIN), DFTRACER_LIBRARY=str(LIBRARY),
                     PYTHONPATH=str(ROOT / "user/annotate/python"), **more)


# ---- looking at a trace ----------------------------------------------------------------------

def stages(t):
    """{stage: TraceFile}, told apart by the steps in them."""
    out = {}
    for f in t.files:
        steps = {r["name"] for r in f.records if is_prov(r)}
        for stage in STAGES:
            if steps and steps <= set(WANT["processes"][stage]["events"]["PROV"]):
                check(stage not in out, f"two files with steps of {stage}")
                out[stage] = f
    return out


def closes(f):
    """{file: (begin, end) of its first close in this process}: by the step that made it."""
    out = {}
    for e in f.events:
        if e.name == "close" and e.file:
            out.setdefault(e.file, (e.ts, e.ts + e.dur))
    return out


def generated(record):
    return record["args"].get("relations", {}).get("generated", [])


def files_within_steps(f, work, where):
    """Each file that a step made was closed, says the system call, while the step ran."""
    closed, steps = closes(f), [r for r in f.records if is_prov(r)]
    for r in steps:
        for e in map(ENTITIES.get, generated(r)):
            begin, end = closed[os.fsencode(work / e.path)]
            check(r["ts"] - 2 <= begin and end <= r["ts"] + r["dur"] + 2,
                  f"{where}: {e.path} closed at {begin}..{end}, {r['name']} ran from {r['ts']} for {r['dur']}")
    for a, b in zip(steps, steps[1:]):
        check(a["ts"] + a["dur"] <= b["ts"] + 1, f"{where}: one step after another, but {a} {b}")


def gaps(f):
    """Times in which probes of this process were not armed yet: [(from, to)], microseconds."""
    found = [r["args"] for r in f.records if r["name"] == "CM" and r["args"].get("name") == "probes_gap_us"]
    return [(a["ts"], a["ts"] + int(a["value"])) for a in found]


# ---- tests -----------------------------------------------------------------------------------

@test
def test_beside_program_runs(tmp):
    """What the steps said is answered in their terms, without being asked to, though runs tell of files, too."""
    need_root()
    need_feature("uprobe")
    t = trace(tmp, [PIPELINE / "run", tmp / "w"], *PREARMED, env=environment())
    t.no_loss()
    check(any(r["cat"] == "PROGRAM" for f in t.files for r in f.records), "runs of programs")
    dftrace_agrees(t.path, truth.load(t.path))
    check_with_reader(t.path)


@test
def test_prearmed(tmp):
    """Traced from the start with all probes armed: exactly what was counted by hand."""
    need_root()
    need_feature("uprobe")
    work = tmp / "w"
    t = trace(tmp, [PIPELINE / "run", work], "--no-prov", *PREARMED, env=environment())
    t.no_loss()
    check_with_reader(t.path)
    found, said = stages(t), truth.load(t.path)
    equal(sorted(found), sorted(STAGES), "stages with steps")
    for stage, f in found.items():
        want = WANT["processes"][stage]
        same_counts(said.files[f.path.name], want, stage)
        same_records(f.records, want, work, stage)
        files_within_steps(f, work, stage)
        equal(gaps(f), [], f"{stage}: gaps although everything was armed")
    whole_graph(said, "prearmed")
    dftrace_agrees(t.path, said, "--annotated")
    equal(len(said.activities), 21 + 30 + 60, "activities")
    # The entities' uris are names of files that the same trace tells of.
    traced = {name for f in t.files for name in f.kinds["FH"].values()}
    unknown = {e.path for e in ENTITIES.values() if e.path and os.fsencode(work / e.path) not in traced}
    equal(unknown, set(), "uris without a traced file")
    unlinked = {e.file for e in t.events("unlink", where=lambda e: e.ret == 0)}
    gone = {os.fsencode(work / e.path) for e in ENTITIES.values() if e.kind == "merged_msa"}
    equal(gone - unlinked, set(), "invalidated files that were not unlinked")


def process_of(t, stage):
    """The file of a stage's process, whether or not there are steps in it."""
    if stage == "stage3":
        hits = [f for f in t.files if any(e.file == os.fsencode(PIPELINE / "stage3.py") and e.ret >= 0
                                          for e in f.events if e.name == "open" and e.ret is not None)]
    else:
        hits = [f for f in t.files if any(e.name == "execve" and e.ret == 0 and
                                          e.named("pathname_hash") == os.fsencode(BIN / stage)
                                          for e in f.events)]
    equal(len(hits), 1, f"processes of {stage}")
    return hits[0]


@test
def test_not_prearmed(tmp):
    """Probes armed when their program starts: what is missing lies in a gap that the trace reports."""
    need_root()
    need_feature("uprobe")
    work = tmp / "w"
    # A copy, and named to the pipeline alone: the tracer would arm one that it knows beforehand.
    env = environment()
    env.pop("DFTRACER_LIBRARY")
    library = shutil.copy(LIBRARY, tmp / "libdftracer.so")
    t = trace(tmp, ["env", f"DFTRACER_LIBRARY={library}", PIPELINE / "run", work], "--no-prov", env=env)
    t.no_loss()
    check_with_reader(t.path)
    said = truth.load(t.path)
    for stage in STAGES:
        f, want = process_of(t, stage), WANT["processes"][stage]
        got, closed, reported = said.files[f.path.name], closes(f), gaps(f)
        check(reported, f"{stage}: no gap is reported")
        equal(got["dangling"], [], f"{stage}: dangling ids")
        # Activities in order, each with the time of the last file that it closed.
        times = {}
        for e in ENTITIES.values():
            if e.step in want["events"]["PROV"]:
                times.setdefault(e.activity, []).append(closed[os.fsencode(work / e.path)][0])
        order = sorted(times, key=lambda activity: max(times[activity]))
        seen = [ENTITIES[generated(r)[0]].activity for r in f.records if is_prov(r)]
        missing = order[:len(order) - len(seen)]
        equal(seen, order[len(missing):], f"{stage}: steps that are there, after {len(missing)} missing")
        # A step that began in a gap and ended after it is missing as well: that may be the last one.
        for activity in missing[:-1]:
            check(any(a <= max(times[activity]) <= b for a, b in reported),
                  f"{stage}: {activity} of {max(times[activity])} is missing, gaps are {reported}")
        for r in filter(is_prov, f.records):
            equal(r["type"], want["type"], f"{stage}: type")
        # What a step that is there says besides its event is there, too.
        steps = got["events"].get("PROV", {})
        for edge, (step, each) in EDGES[stage].items():
            n = got["ER"].get(edge, 0)
            check(each * steps.get(step, 0) <= n <= want["ER"][edge], f"{stage}: {n} times {edge}: {steps}")


def attached(tmp, part, at, want, *options):
    """Runs a stage up to its gate, attaches, and compares what comes behind the gate."""
    need_root()
    need_feature("uprobe")
    work = tmp / "w"
    before = ["inputs", "1", "2"][:int(part)]
    run([PIPELINE / "run", work, *before], env=environment()).want(0)
    ready_r, ready_w = os.pipe()
    go_r, go_w = os.pipe()
    argv = [PYTHON, "-B", PIPELINE / "stage3.py", work] if part == "3" else [BIN / f"stage{part}", work]
    env = environment(PIPELINE_GATE=f"{ready_w}:{go_r}", PIPELINE_GATE_AT=at)
    with Background(argv, env=env, pass_fds=(ready_w, go_r)) as stage:
        try:
            os.close(ready_w)
            os.close(go_r)
            equal(read_until(ready_r, b"r"), b"r", "ready byte")
            with Tracer(tmp, "--no-prov", "-p", stage.pid, *options) as tracer:
                os.write(go_w, b"g")
                t = tracer.wait()
                equal(stage.wait(), 0, f"stage {part}")
        finally:
            os.close(ready_r)
            os.close(go_w)
    t.no_loss()
    check_with_reader(t.path)
    f, said = t.by_pid(stage.pid), truth.load(t.path)
    where = f"stage {part} attached at {at}"
    same_counts(said.files[f.path.name], want, where)
    same_records(f.records, want, work, where)
    files_within_steps(f, work, where)
    equal(gaps(f), [], f"{where}: gaps")


@test
def test_attached_to_c(tmp):
    attached(tmp, "1", "start", WANT["processes"]["stage1"])


@test
def test_attached_to_cpp(tmp):
    attached(tmp, "2", "start", WANT["processes"]["stage2"])


@test
def test_attached_to_python(tmp):
    attached(tmp, "3", "start", WANT["processes"]["stage3"])


@test
def test_attached_in_the_middle(tmp):
    """Entities declared before the tracer came are late, and nothing dangles."""
    attached(tmp, "3", "relaxation", WANT["stage3_from_relaxation"])


@test
def test_without_arguments(tmp):
    """--no-args leaves the relations, so that the graph is the same."""
    need_root()
    need_feature("uprobe")
    t = trace(tmp, [PIPELINE / "run", tmp / "w"], "--no-args", "--no-prov", *PREARMED, env=environment())
    whole_graph(truth.load(t.path), "--no-args")


if __name__ == "__main__":
    main()
