# SPDX-License-Identifier: MIT
"""How fast dftrace reads, beside zcat and jq. The traces are made by make_trace, outside of the times."""
import json
import os
import shutil
import subprocess

import show

JQ_PART = 20  # jq gets a trace of so many times fewer events: it would take minutes
GRAPH_EVENTS, GRAPH_ENTITIES = 1_000_000, 100_000


class Failed(Exception):
    pass


def timed(bench, argv):
    """Wall time, processor time and the largest memory of it and its children."""
    told, fd = os.pipe()
    try:
        p = subprocess.run([bench.tool("measure"), str(fd), *argv], stdin=subprocess.DEVNULL, pass_fds=[fd],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    finally:
        os.close(fd)
    with os.fdopen(told) as f:
        used = f.read()
    if p.returncode:
        raise Failed(f"{argv}: exit status {p.returncode}: {p.stderr.decode(errors='replace')[-500:]}")
    return json.loads(used)


def several(bench, argv, rounds, trace):
    runs = [timed(bench, argv) for _ in range(rounds)]
    return {"wall_s": show.spread([r["wall_ns"] / 1e9 for r in runs]),
            "cpu_s": show.spread([r["cpu_ns"] / 1e9 for r in runs]),
            "maxrss_mib": max(r["maxrss_kib"] for r in runs) / 1024, "runs": runs, **trace}


def made(bench, name, *args):
    """A trace, and what is in it."""
    path = bench.tmp / name
    argv = [bench.tool("make_trace"), *("--graph",) * (name == "graph"), path, *map(str, args)]
    p = subprocess.run(argv, capture_output=True, text=True)
    if p.returncode:
        raise Failed(f"{argv}: {p.stderr}")
    lines = int(subprocess.run(f"zcat {path}/*.gz | wc -l", shell=True, check=True, capture_output=True).stdout)
    return path, {"lines": lines, "bytes": int(p.stdout)}


def shell(command):
    return ["sh", "-c", command]


def measure(bench, dftrace, rounds, events):
    """One file, as of a program that runs long; and as many calls in 200 files."""
    runs, left_out = {}, {}
    help_text = subprocess.run([dftrace, "--help"], capture_output=True, text=True, check=True).stdout
    one, of_one = made(bench, "one", events, 1, 100)
    runs["dftrace summary, one file"] = several(bench, [dftrace, "summary", one], rounds, of_one)
    runs["zcat | wc -l"] = {**several(bench, shell(f"zcat {one}/*.gz | wc -l"), rounds, of_one), "is_base": True}
    shutil.rmtree(one)
    many, of_many = made(bench, "many", events, 200, 20000)
    runs["dftrace summary, 200 files"] = several(bench, [dftrace, "summary", many], rounds, of_many)
    shutil.rmtree(many)
    part, of_part = made(bench, "part", events // JQ_PART, 1, 100)
    if shutil.which("jq"):
        runs[f"zcat | jq, sum of args.ret of 1/{JQ_PART}"] = several(
            bench, shell(f"zcat {part}/*.gz | jq -n 'reduce inputs as $r (0; . + ($r.args.ret // 0))'"), rounds, of_part)
    else:
        left_out["jq"] = "not installed"
    graph, of_graph = made(bench, "graph", GRAPH_EVENTS, GRAPH_ENTITIES)
    runs["dftrace summary, graph"] = several(bench, [dftrace, "summary", graph], rounds, of_graph)
    # Whoever has the command must be able to walk; who has not says so.
    if "\n  lineage " in help_text:
        runs["dftrace lineage, graph"] = several(
            bench, [dftrace, "lineage", graph, f"/graph/{GRAPH_ENTITIES - 1}"], rounds, of_graph)
    else:
        left_out["dftrace lineage"] = "no such command"
    return {"runs": runs, "left_out": left_out}
