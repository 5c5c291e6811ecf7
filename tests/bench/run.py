#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What tracing costs, measured: each workload bare, traced, and under other tracers, in one run.

    tests/bench/run.py [OPTIONS]          (root; what the figures mean: docs/overhead.md)

The modes of a round run one after the other, each with a bare run just before it: A B A C A D, and
again. So a machine that gets slower meanwhile slows both halves of a pair; ratios are those of pairs,
and tables show their medians. A workload times its own loop, so that starting a tracer is not in the
times. What was lost stands beside each figure: a fast tracer that loses is not fast. For every run of
ours events, sums and losses must add up to the calls that the workload made.
"""
import argparse
import collections
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import account
import modes
import reading
import show

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DFT_BUILD", ROOT / "build")).resolve()

# share: of the calls of the workload. Slow tracers get fewer; a thing that costs less than a
# nanosecond needs more to be seen. program: another build of the workload.
Mode = collections.namedtuple("Mode", "key title how share needs program",
                              defaults=(1, (), None))
# What perf records, and which of it there is one of for each call.
Perf = collections.namedtuple("Perf", "options counted")
PERF_CALLS = Perf(("-e", "raw_syscalls:*"), "raw_syscalls:sys_exit")

# argv: (bench, program, calls) -> argv. lost_as: names in `lost`, see account.py. syscall: one that
# the loop makes. pairs: of runs, in each round.
Workload = collections.namedtuple("Workload",
                                  "key title argv names modes syscall lost_as calls pairs perf",
                                  defaults=(None, None, 300000, 1, PERF_CALLS))
Probe = collections.namedtuple("Probe", "syscall args form")

PERF_RING = Perf(("-e", "io_uring:io_uring_submit_req,io_uring:io_uring_complete"),
                 "io_uring:io_uring_complete")
PERF_FAULTS = Perf(("-e", "page-faults", "-c", "1", "-d"), "page-faults")

# By event: the system call, and what bpftrace needs to print what the event has.
PROBES = {
    "pread": Probe("pread64", ("args->fd", "args->count", "args->pos"), "%d %llu %lld"),
    "pwrite": Probe("pwrite64", ("args->fd", "args->count", "args->pos"), "%d %llu %lld"),
    "read": Probe("read", ("args->fd", "args->count"), "%d %llu"),
    "open": Probe("openat", ("str(args->filename)", "args->flags", "args->mode"), "%s %d %d"),
    "close": Probe("close", ("args->fd",), "%d"),
    "stat": Probe("newfstatat", ("str(args->filename)", "args->flag"), "%s %d"),
}

BARE = Mode("bare", "bare", modes.bare)
OURS = [
    Mode("command", "dftrace-bpf --", modes.command),
    Mode("attach", "dftrace-bpf -p", modes.attach),
]
NO_PROV = Mode("no-prov", "dftrace-bpf --no-prov", modes.no_prov)
NO_MMAP = Mode("no-mmap", "dftrace-bpf --no-mmap", modes.no_mmap)
EXCLUDED = Mode("excluded", "dftrace-bpf --exclude", modes.excluded)
UNTRACED = [
    Mode("empty-pair", "empty pair, all calls", modes.empty_pair),
    Mode("untraced", "not traced", modes.untraced),
]
CLASSIC = [
    Mode("classic-same", "empty classic pair, this call", modes.classic_same, 1, ("tracefs",)),
    Mode("classic-other", "empty classic pair, another call", modes.classic_other, 1, ("tracefs",)),
]
BPFTRACE = Mode("bpftrace", "bpftrace printf", modes.bpftrace, 1 / 8, ("bpftrace", "tracefs"))
PERF_RECORD = Mode("perf-record", "perf record", modes.perf_record, 1 / 3, ("perf", "tracefs"))
OTHERS = [
    PERF_RECORD, BPFTRACE,
    Mode("strace", "strace -f -ttt -T", modes.strace, 1 / 30, ("strace",)),
    Mode("perf-trace", "perf trace", modes.perf_trace, 1 / 30, ("perf", "tracefs")),
]
REGION = [
    Mode("bare", "no annotations", modes.bare, 100, program="bench_region_off"),
    Mode("untraced", "nobody listens", modes.bare, 100),
    Mode("untraced-nop5", "nobody listens, 5-byte nop", modes.bare, 100,
         program="bench_region_nop5"),
    *OURS,
    Mode("command-nop5", "dftrace-bpf --, 5-byte nop", modes.command, program="bench_region_nop5"),
    Mode("bpftrace", "bpftrace printf", modes.bpftrace_regions, 1 / 4, ("bpftrace",)),
]


def io_argv(mode, threads=1):
    return lambda bench, _program, calls: [bench.prog("bench_io"), mode, bench.data, calls, threads]


def ways(key, title, names, perf, more=UNTRACED, **kw):
    argv = lambda bench, _program, calls: [bench.prog("bench_ways"), key, bench.data, calls]
    return Workload(key, title, argv, names, [BARE, *OURS, *more, PERF_RECORD], perf=perf, **kw)


def region_argv(bench, program, calls):
    return [bench.prog(program or "bench_region"), calls]


def io(key, title, names, more, **kw):
    return Workload(key, title, io_argv(key), names, [BARE, *OURS, *more],
                    PROBES[names[0]].syscall, **kw)


def two_threads(key, title):
    return Workload(f"{key}-2", title, io_argv(key, 2), [key], [BARE, *OURS, PERF_RECORD, BPFTRACE],
                    calls=600000)


WORKLOADS = [
    io("pread", "pread of 4 KiB", ["pread"], [NO_PROV, EXCLUDED, *UNTRACED, *CLASSIC, *OTHERS]),
    io("pwrite", "pwrite of 4 KiB", ["pwrite"], OTHERS),
    io("open", "open and close", ["open", "close"], OTHERS),
    io("stat", "stat", ["stat"], [*UNTRACED, *OTHERS]),
    io("create", "new file of 4 KiB, closed and removed", ["open", "pwrite", "close", "unlink"], [NO_PROV, PERF_RECORD],
       calls=40000),
    # What tracing adds is less than what memory makes the runs differ: more of them.
    io("loader", "data loader: 64 files of 4 MiB, read 1 MiB at a time", ["open", "read", "close"],
       [*UNTRACED, *OTHERS[:-1]], calls=6000, pairs=3),
    two_threads("pread", "pread of 4 KiB, 2 threads"),
    two_threads("pwrite", "pwrite of 4 KiB, 2 threads"),
    ways("uring", "io_uring: read of 4 KiB, one at a time", ["read"], PERF_RING),
    ways("uring16", "io_uring: reads of 4 KiB, sixteen at once", ["read"], PERF_RING),
    ways("aio", "Linux AIO: read of 4 KiB, one at a time", ["pread"], PERF_CALLS),
    ways("mapped", "page of a mapped file, written for the first time", ["mmap_write"], PERF_FAULTS),
    ways("fresh", "page of new memory, no file in it", [], PERF_FAULTS, [NO_MMAP, *UNTRACED]),
    Workload("region", "region with 2 arguments and 1 relation", region_argv, ["step"], REGION,
             lost_as={"step": "record_event"}),
]

FILE_SIZES = {"0": 1 << 20, "1": 1 << 20, **{f"loader/{i}": 4 << 20 for i in range(64)}}
DECODED = {"reads and writes": [], "calls on names": ["--paths"]}
COMPRESSORS = ["libdeflate-1", "libdeflate-3", "libdeflate-6", "zlib-1", "zlib-6"]


class Bench:
    """Where things are. One trace at a time is in `out`."""

    def __init__(self, tmp, options):
        self.tmp = tmp
        self.options = options  # for every run of ours
        self.out = tmp / "trace"
        self.data = tmp / "data"
        self.kept = tmp / "kept"
        self.tracer = BUILD / "dftrace-bpf"
        self.probes = PROBES
        self.want_sizes = False
        (self.data / "loader").mkdir(parents=True)
        for name, size in FILE_SIZES.items():
            with open(self.data / name, "wb") as f:
                f.write(b"0123456789abcde\n" * (size // 16))
                f.flush()
                os.fsync(f.fileno())  # so that the loops find no pages that wait for the disk

    def tool(self, name):
        return BUILD / "tests/bench" / name

    def prog(self, name):
        return BUILD / "tests/progs" / name

    def drop_trace(self):
        shutil.rmtree(self.out)

    def keep_trace(self):
        """The last trace of a command stays, to compress its lines again."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.out.rename(self.kept)


# ---- measuring -------------------------------------------------------------------------------

class Measurement:
    """The rounds of one workload."""

    def __init__(self, bench, work, wanted, calls, startups):
        self.bench = bench
        self.work = work
        self.calls = calls
        self.startups = startups  # by mode, for all workloads
        self.base = work.modes[0]
        self.left_out = {}
        self.modes = []
        self.wrong = []
        self.disturbed = 0  # bare runs that were not
        for mode in work.modes[1:]:
            if wanted is None or mode.key in wanted:
                why = modes.missing(mode)
                if why:
                    self.left_out[mode.title] = why
                else:
                    self.modes.append(mode)
        self.runs = {mode.key: [] for mode in self.modes}

    def run(self, mode, calls):
        argv = self.work.argv(self.bench, mode.program, int(calls * mode.share))
        report = mode.how(self.bench, self.work, argv)
        self.wrong += [f"{self.work.title}, {mode.title}: {w}" for w in report.get("wrong", ())]
        return report

    def warm_up(self):
        """Nothing is measured the first time: programs and files are in memory afterwards. Without a
        loop, so that what a tracer uses then is its start-up."""
        self.run(self.base, self.calls)
        for mode in self.modes:
            key = (mode.how, mode.program)
            report = self.run(mode, 0)
            if "used" in report and key not in self.startups:
                self.startups[key] = statistics.median(
                    self.run(mode, 0)["used"]["cpu_ns"] for _ in range(5))

    def round(self):
        for mode in self.modes * self.work.pairs:
            foreign = modes.foreign_programs()
            bare = self.run(self.base, self.calls)
            self.disturbed += bool(foreign or modes.foreign_programs())
            self.runs[mode.key].append((bare, self.run(mode, self.calls)))

    def result(self):
        pairs = [(b, b) for runs in self.runs.values() for b, _ in runs]
        result = {"title": self.work.title, "left_out": self.left_out, "wrong": self.wrong,
                  "disturbed": self.disturbed,
                  "modes": {self.base.key: {"title": self.base.title, **show.summed_up(pairs, 0)}}}
        for mode in self.modes:
            startup = self.startups.get((mode.how, mode.program), 0)
            result["modes"][mode.key] = {"title": mode.title,
                                         **show.summed_up(self.runs[mode.key], startup)}
        if self.runs.get("untraced") and self.runs.get("empty-pair"):
            result["untraced_over_empty_pair"] = show.over(self.runs["untraced"],
                                                           self.runs["empty-pair"])
        result["runs"] = self.runs
        return result


def measure(bench, work, wanted, rounds, calls, startups):
    m = Measurement(bench, work, wanted, calls, startups)
    if not m.modes:
        for mode, why in m.left_out.items():
            print(f"{work.title}: left out: {mode}: {why}")
        return None
    m.warm_up()
    for nr in range(rounds):
        bench.want_sizes = nr == 0
        m.round()
    return m.result()


# ---- the tracer by itself --------------------------------------------------------------------

def startup(bench, rounds):
    live, cpu = [], []
    work = WORKLOADS[0]
    for _ in range(rounds):
        idle = modes.Child(["cat"], stdin=subprocess.PIPE)
        begin = time.monotonic()
        with modes.attached(bench, idle.proc.pid):
            live.append(time.monotonic() - begin)
            idle.end()
        bench.drop_trace()
        cpu.append(modes.command(bench, work, work.argv(bench, None, 0))["used"]["cpu_ns"] / 1e9)
    return {"live_s": show.spread(live), "cpu_s": show.spread(cpu)}


def lines_of(bench):
    """The lines of a traced pread loop, uncompressed."""
    work = WORKLOADS[0]
    modes.command(bench, work, work.argv(bench, None, 500000))
    lines = bench.tmp / "lines"
    with open(lines, "wb") as out:
        for path in bench.kept.glob("*.pfw.gz"):
            for piece in account.chunks(path):
                out.write(piece)
    return lines


def output_of(argv):
    return [json.loads(line) for line in modes.Child(argv).end().splitlines()]


def figures(bench, rounds):
    result = {"startup": startup(bench, rounds), "decode": {},
              "compression": output_of([bench.tool("compress_bench"), lines_of(bench),
                                        *COMPRESSORS])}
    for what, options in DECODED.items():
        speeds = [d["events"] / d["wall_ns"] * 1e3 for _ in range(rounds)
                  for d in output_of([bench.tool("decode_bench"), 2000000, *options])]
        result["decode"][what] = show.spread(speeds)
    return result


# ---- main ------------------------------------------------------------------------------------

def machine(bench):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    where = subprocess.run(["stat", "-f", "-c", "%T", bench.data], capture_output=True, text=True,
                           check=True).stdout.strip()
    return {"kernel": platform.release(), "machine": platform.machine(), "processor": cpu,
            "processors": os.cpu_count(), "file_system": where, "load": os.getloadavg()[0]}


def words(text):
    return text.split(",")


def arguments():
    ap = argparse.ArgumentParser(usage="tests/bench/run.py [OPTIONS]")
    keys = [w.key for w in WORKLOADS] + ["tracer", "reading"]
    every_mode = list(dict.fromkeys(m.key for w in WORKLOADS for m in w.modes[1:]))
    ap.add_argument("--only", type=words, help=f"these workloads: {','.join(keys)}; tracer: figures "
                    "of the tracer by itself; reading: dftrace on a large trace")
    ap.add_argument("--modes", type=words, help=f"these modes: {','.join(every_mode)}")
    ap.add_argument("--rounds", type=int, default=5, help="of all modes, at least 5 (5)")
    ap.add_argument("--calls", type=int, help="system calls or regions in a run; slow tracers get a "
                    "fixed part of them (300000; loader 6000; 2 threads 600000)")
    ap.add_argument("--read-events", type=int, default=10_000_000, help="events of the trace that is read "
                    "(10000000)")
    ap.add_argument("--with", dest="options", action="append", default=[], metavar="OPTION",
                    help="give dftrace-bpf this option, too (--with=--ring=1M; repeatable)")
    ap.add_argument("--json", type=Path, default=BUILD / "bench.json", help="where results go")
    opt = ap.parse_args()
    for what, known in (("only", keys), ("modes", every_mode)):
        for word in getattr(opt, what) or ():
            if word not in known:
                ap.error(f"--{what} {word}: not one of {', '.join(known)}")
    if opt.rounds < 5:
        ap.error("fewer than 5 rounds say nothing")
    return opt


def measure_all(bench, opt):
    results, startups = {}, {}
    for work in WORKLOADS:
        if opt.only is None or work.key in opt.only:
            result = measure(bench, work, opt.modes, opt.rounds, opt.calls or work.calls, startups)
            if result:
                show.workload(f"{work.title}: medians of {opt.rounds * work.pairs} pairs", result)
                sys.stdout.flush()
                results[work.key] = result
    return results


def main():
    opt = arguments()
    if os.geteuid():
        sys.exit("bench: tracing needs root (run: sudo make bench)")
    with tempfile.TemporaryDirectory(prefix="dft-bench-") as tmp:
        bench = Bench(Path(tmp), opt.options)
        m = machine(bench)
        print(f"Linux {m['kernel']}, {m['processors']} x {m['processor']}, files on "
              f"{m['file_system']}, load {m['load']:.1f} before")
        begin = time.monotonic()
        try:
            results = measure_all(bench, opt)
            by_itself = {}
            if opt.only is None or "tracer" in opt.only:
                by_itself = figures(bench, opt.rounds)
                show.figures(by_itself)
            read = {}
            if opt.only is None or "reading" in opt.only:
                read = reading.measure(bench, BUILD / "dftrace", opt.rounds, opt.read_events)
                show.reading(read)
        except (modes.Failed, reading.Failed) as e:
            sys.exit(f"bench: {e}")
    opt.json.write_text(json.dumps({**m, "rounds": opt.rounds, "options": opt.options,
                                    "workloads": results,
                                    "figures": by_itself, "reading": read}, indent=1) + "\n")
    print(f"\nwritten: {opt.json}, after {time.monotonic() - begin:.0f} s")
    wrong = [w for r in results.values() for w in r["wrong"]]
    for w in wrong:
        print(f"bench: {w}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
