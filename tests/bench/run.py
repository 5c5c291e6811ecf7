#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What tracing costs, measured: the workload bare, traced and under strace, in one run.

    tests/bench/run.py [--rounds N] [--calls N] [--json FILE]          (root)

The modes of a round run one after the other (A B C A B C ...), so that a machine that gets slower
meanwhile slows all of them; each ratio is that of one round, and the table shows medians. A workload
times its own loop, so that starting a tracer is not in the times. Lost calls stand beside each
figure: a fast tracer that loses is not fast. Results go to build/bench.json, too.
"""
import argparse
import gzip
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DFT_BUILD", ROOT / "build"))
TRACER = BUILD / "dftrace-bpf"
PROGS = BUILD / "tests/progs"


class Workload:
    """A program that prints its own times as JSON, what its events have in their lines, and the
    modes it is run in; the first one is what the others are compared with."""

    def __init__(self, name, mark, argv, modes):
        self.name = name
        self.mark = mark.encode()
        self.argv = argv  # (directory, calls) -> argv
        self.modes = modes


def child_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(argv, **kw):
    """The workload's own report, and the processor time of all else that ran for it."""
    before = child_cpu()
    proc = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, **kw)
    if proc.returncode:
        sys.exit(f"bench: {argv[0]} ended with {proc.returncode}: {proc.stderr.strip()}")
    report = json.loads(proc.stdout)
    report["all_cpu_s"] = child_cpu() - before
    return report


def bare(work, tmp, calls):
    return run(work.argv(tmp, calls))


def traced(work, tmp, calls):
    out = tmp / "trace"
    report = run([TRACER, "-q", "-u", "root", "-o", out, "--", *work.argv(tmp, calls)])
    kept = lost = 0
    for path in out.glob("*.pfw.gz"):
        with gzip.open(path, "rb") as f:
            for line in f:
                if work.mark in line:
                    kept += 1
                elif b'"name":"end"' in line:
                    lost += sum(json.loads(line)["args"].get("lost", {}).values())
    report["lost"] = lost
    report["missing"] = max(0, calls - kept - lost)
    report["bytes_per_event"] = sum(p.stat().st_size for p in out.iterdir()) / max(kept, 1)
    report["tracer_cpu_s_per_million"] = \
        (report["all_cpu_s"] - report["cpu_ns"] / 1e9) / calls * 1e6
    shutil.rmtree(out)
    return report


def strace(work, tmp, calls):
    # It takes some 25 times as long: fewer calls tell as much.
    report = run(["strace", "-f", "-o", tmp / "strace.log", *work.argv(tmp, max(calls // 20, 1))])
    (tmp / "strace.log").unlink()
    return report


def pread_argv(tmp, calls):
    data = tmp / "data"
    if not data.exists():
        data.write_bytes(os.urandom(1 << 20))
    return [PROGS / "bench_pread", data, str(calls)]


def regions(program, mode, factor=1):
    """The mode with another build of the region workload, and so many times the regions."""
    def run_it(work, tmp, calls):
        def argv(_tmp, n):
            return [PROGS / program, str(n)]
        return mode(Workload(work.name, work.mark.decode(), argv, {}), tmp, calls * factor)
    return run_it


def bpftrace(work, tmp, calls):
    """A listener that reads the same operands and strings, and keeps nothing."""
    program = work.argv(tmp, calls)[0]
    script = (f"usdt:{program}:dftracer:event {{ @s[str(arg0), str(arg1)] = count(); }} "
              "END { clear(@s); }")
    log = tmp / "bpftrace.log"
    proc = subprocess.run(["bpftrace", "-o", str(log), "-c",
                           " ".join(str(a) for a in work.argv(tmp, max(calls // 10, 1))), "-e",
                           script], capture_output=True, text=True, check=False)
    if proc.returncode:
        sys.exit(f"bench: bpftrace ended with {proc.returncode}: {proc.stderr.strip()}")
    return json.loads(next(l for l in proc.stdout.splitlines() if l.startswith("{")))


PREAD = {"bare": bare, "dftrace-bpf": traced, "strace -f": strace}
# Nobody listening costs too little to be seen in a million.
REGION = {
    "no annotations": regions("bench_region_off", bare, 100),
    "not traced": regions("bench_region", bare, 100),
    "not traced, 5-byte nop": regions("bench_region_nop5", bare, 100),
    "dftrace-bpf": regions("bench_region", traced),
    "dftrace-bpf, 5-byte nop": regions("bench_region_nop5", traced),
    "bpftrace": regions("bench_region", bpftrace),
    "bpftrace, 5-byte nop": regions("bench_region_nop5", bpftrace),
}
WORKLOADS = [
    Workload("pread 4 KiB", '"name":"pread"', pread_argv, PREAD),
    Workload("region, 2 arguments and 1 relation", '"cat":"C_APP"', None, REGION),
]
NEEDS = {"strace -f": "strace", "bpftrace": "bpftrace", "bpftrace, 5-byte nop": "bpftrace"}


def measure(work, rounds, calls, tmp):
    modes = {n: f for n, f in work.modes.items() if n not in NEEDS or shutil.which(NEEDS[n])}
    runs = {name: [] for name in modes}
    for mode in modes.values():  # once unmeasured: everything is in memory afterwards
        mode(work, tmp, min(calls, 10000))
    for _ in range(rounds):
        for name, mode in modes.items():
            runs[name].append(mode(work, tmp, calls))
    result = {}
    base = [(r["wall_ns"] / r["calls"], r["cpu_ns"] / r["calls"])
            for r in next(iter(runs.values()))]
    for name, reports in runs.items():
        wall = [r["wall_ns"] / r["calls"] for r in reports]
        cpu = [r["cpu_ns"] / r["calls"] for r in reports]
        result[name] = {
            "wall_ns": statistics.median(wall),
            "cpu_ns": statistics.median(cpu),
            "cpu_added_ns": statistics.median(c - b for c, (_, b) in zip(cpu, base)),
            "wall_ratio": statistics.median(w / b for w, (b, _) in zip(wall, base)),
            "cpu_ratio": statistics.median(c / b for c, (_, b) in zip(cpu, base)),
            "wall_ns_spread": [min(wall), max(wall)],
        }
        for key in ("bytes_per_event", "tracer_cpu_s_per_million"):
            if key in reports[0]:
                result[name][key] = statistics.median(r[key] for r in reports)
        if "lost" in reports[0]:
            result[name]["lost"] = sum(r["lost"] for r in reports)
            result[name]["missing"] = sum(r["missing"] for r in reports)
    return result


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(row, widths))))


def digits(ns):
    return f"{ns:.0f}" if abs(ns) >= 100 else f"{ns:.2f}"


def show(work, result):
    print(f"\n{work.name}, medians")
    rows = [["", "wall ns/call", "wall x", "cpu ns/call", "added", "cpu x", "lost", "tracer cpu s/M",
             "bytes/event"]]
    for name, r in result.items():
        rows.append([name, digits(r["wall_ns"]), f"{r['wall_ratio']:.2f}", digits(r["cpu_ns"]),
                     digits(r["cpu_added_ns"]), f"{r['cpu_ratio']:.2f}", str(r["lost"]) if "lost" in r else "-",
                     f"{r['tracer_cpu_s_per_million']:.2f}" if "lost" in r else "-",
                     f"{r['bytes_per_event']:.1f}" if "lost" in r else "-"])
    table(rows)


def main():
    ap = argparse.ArgumentParser(usage="tests/bench/run.py [--rounds N] [--calls N] [--json FILE]")
    ap.add_argument("--rounds", type=int, default=7, help="of all modes, at least 5 (7)")
    ap.add_argument("--calls", type=int, default=1000000, help="in each run (1000000)")
    ap.add_argument("--json", type=Path, default=BUILD / "bench.json", help="where results go")
    opt = ap.parse_args()
    if opt.rounds < 5:
        ap.error("fewer than 5 rounds say nothing")
    if os.geteuid():
        sys.exit("bench: tracing needs root (run: sudo make bench)")

    print(f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} "
          f"processors, {opt.rounds} rounds of {opt.calls} calls")
    results = {}
    with tempfile.TemporaryDirectory(prefix="dft-bench-") as tmp:
        for work in WORKLOADS:
            results[work.name] = measure(work, opt.rounds, opt.calls, Path(tmp))
            show(work, results[work.name])
    opt.json.write_text(json.dumps({
        "kernel": platform.release(), "machine": platform.machine(), "processors": os.cpu_count(),
        "rounds": opt.rounds, "calls": opt.calls, "workloads": results}, indent=1) + "\n")
    print(f"\nwritten: {opt.json}")
    missing = sum(r.get("missing", 0) for result in results.values() for r in result.values())
    if missing:
        sys.exit(f"bench: {missing} calls are neither in the trace nor counted as lost")


if __name__ == "__main__":
    main()
