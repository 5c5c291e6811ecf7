# SPDX-License-Identifier: MIT
"""Calls in sums instead of one by one: by choice, and when a trace has become too large. And calls that
are left out: by --only and --min-dur."""
import collections
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from growing import *  # noqa: E402,F403

# Steps on files of a directory, one a line: what is done, the file, how often. All calls return 1 but
# those that fail.
STEPS = """
import os, sys
os.chdir(sys.argv[1])
fds = {}
def fd(name):
    if name not in fds:
        fds[name] = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(fds[name], b"first", 0)
    return fds[name]
read_only = os.open("read_only", os.O_RDONLY | os.O_CREAT, 0o600)
print("live")
for line in sys.stdin:
    what, name, n = line.split()
    for _ in range(int(n)):
        if what == "write":
            os.pwrite(fd(name), b"x", 0)
        elif what == "read":
            os.pread(fd(name), 1, 0)
        elif what == "fail":
            try:
                os.write(read_only, b"x")
            except OSError:
                pass
        elif what == "stat":
            os.stat(name)
        elif what == "rename":
            os.rename(name, name + "2")
    print("done")
"""

# How often each is called is known for those that Python itself does not make.
OWN = ("pwrite", "pread", "write", "rename")


class Job:
    """STEPS under a tracer, which is attached when it lives."""

    def __init__(self, tmp, *options):
        self.dir = tmp / "job"
        self.dir.mkdir()
        self.python = running_python(STEPS, self.dir)
        self.tracer = None
        try:
            equal(self.python.line(), b"live\n")
            self.tracer = Tracer(tmp, *options, "-p", self.python.pid)
        except BaseException:
            self.python.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.python.end()
        self.tracer.close()

    def do(self, what, name="a", n=1):
        self.python.tell(f"{what} {name} {n}\n".encode())
        equal(self.python.line(), b"done\n")

    def name(self, name):
        return os.fsencode(self.dir / name)

    def end(self):
        """Ends the job; the trace file of it."""
        self.python.proc.stdin.close()
        equal(self.python.wait(), 0, "exit status of the job")
        return self.tracer.wait().by_pid(self.python.pid)


def sums(rows, resolve):
    """{(event, file): [calls, bytes, errors]}"""
    got = collections.defaultdict(lambda: [0, 0, 0])
    for r in rows:
        for i, key in enumerate(("dft_cnt", "ret_sum", "errors")):
            got[r["name"], resolve(r["args"].get("fhash"))][i] += r["args"][key]
    return dict(got)


def own(got):
    return {key: numbers for key, numbers in got.items() if key[0] in OWN}


def written(tracer):
    """The rows on disk so far, but those of pipes, and the names in use."""
    names, rows = {None: None}, []
    for line in lines_of(tracer.out):
        r = json.loads(line)
        if r["name"] == "FH":
            names[r["args"]["value"]] = r["args"]["name"].encode()
        elif r["ph"] == 3:
            rows.append(r)
    return sums(rows, names.get)


def check_rows(f):
    """Of each sum the rows go on from each other, and what they say of single calls fits."""
    last, calls, time_us = {}, collections.Counter(), collections.Counter()
    for r in f.rows():
        a, key = r["args"], (r["name"], r["args"].get("fhash"))
        check(r["ts"] <= a["last"], f"times of {r}")
        calls[key] += a["dft_cnt"]
        time_us[key] += a["dur_sum"]
        if key in last:
            before = last[key]
            check(before["ts"] <= r["ts"] and before["args"]["last"] <= a["last"],
                  f"{r} comes behind {before}")
            check(a["dur_min"] <= before["args"]["dur_min"] and before["args"]["dur_max"] <= a["dur_max"],
                  f"shortest and longest of {r}, behind {before}")
        last[key] = r
    for key, r in last.items():
        # Single calls are rounded to microseconds, sums only once.
        least, most = ((r["args"][k] + d) * calls[key] for k, d in (("dur_min", -0.5), ("dur_max", 0.5)))
        check(least - 1 <= time_us[key] <= most + 1,
              f"{calls[key]} calls took {time_us[key]} us, from {least} to {most}")


@test
def test_sums_of_each_file(tmp):
    """No events; rows while the process lives, and all of them add up."""
    need_root()
    with Job(tmp, "--aggregate=50ms", "--precise") as job:
        want = collections.defaultdict(lambda: [0, 0, 0])

        def step(what, event, name, n, errors=0):
            job.do(what, name, n)
            for i, number in enumerate((n, n - errors, errors)):
                want[event, job.name(name)][i] += number

        job.do("read", "a", 0)
        for what, event, name, n in (("write", "pwrite", "a", 1000), ("read", "pread", "a", 17),
                                     ("write", "pwrite", "b", 16), ("write", "pwrite", "a", 5)):
            if (event, job.name(name)) not in want and what == "write":
                want[event, job.name(name)] = [1, 5, 0]  # its first one
            step(what, event, name, n)
            until(lambda: own(written(job.tracer)) == want,
                  lambda: f"rows: {own(written(job.tracer))}, want {dict(want)}")
        step("fail", "write", "read_only", 3, errors=3)
        f = job.end()
    equal([e.name for e in f.events], [], "events")
    equal(own(sums(f.rows(), f.resolve)), want, "sums")
    equal(sums(f.rows(shed=True), f.resolve), {}, "rows of calls for which there was no room")
    equal(len(f.rows("pwrite")) >= 3, True, "rows of pwrite: two of one file, one of the other")
    check_rows(f)
    for r in f.rows():
        a = r["args"]
        check(abs(a["dur_sum"] - a["dur_sum_ns"] / 1000) <= 1, f"time in microseconds of {r}")
    equal(f.end["cfg"]["aggregation_enable"], 1, "aggregation_enable")
    equal(f.end["cfg"]["aggregate_ns"], 50000000, "aggregate_ns")
    equal(f.end["num_events"], 2, "num_events: start, and the event of the run")
    equal(f.lost, {}, "lost")
    check_with_reader(job.tracer.out)


@test
def test_names_of_sums(tmp):
    """A file renamed has rows under both names; calls on names have one row; some are left out."""
    need_root()
    with Job(tmp, "--aggregate=1h", "--exclude", tmp / "job/out") as job:
        job.do("write", "a", 10)
        job.do("write", "out", 20)
        job.do("rename", "a")
        job.do("write", "a", 3)
        job.do("stat", "a2", 7)
        job.do("stat", "out", 5)
        f = job.end()
    got = own(sums(f.rows(), f.resolve))
    equal(got, {("pwrite", job.name("a")): [11, 15, 0], ("pwrite", job.name("a2")): [3, 3, 0],
                ("rename", None): [1, 0, 0]}, "sums")
    equal(sums(f.rows("stat"), f.resolve)["stat", None][0], 12, "stat")
    equal(f.filtered["excluded"]["pwrite"], 21, "left out")
    check_with_reader(job.tracer.out)


@test
def test_processes_of_sums(tmp):
    """A process of its own has rows of its own, and so has a program run in it."""
    need_root()
    code = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
for i in range(3):
    pid = os.fork()
    if not pid:
        for k in range(100 * (i + 1)):
            os.pwrite(fd, b"xy", 0)
        if i == 2:
            os.execv("/bin/dd", ["dd", "if=/dev/zero", "of=" + sys.argv[1] + ".dd", "bs=7", "count=11",
                                 "status=none"])
        os._exit(0)
    os.waitpid(pid, 0)
    print(pid)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code, tmp / "file"], "--aggregate")
    file = os.fsencode(tmp / "file")
    for i, pid in enumerate(map(int, t.run.out.split())):
        f = t.by_pid(pid)
        got = sums(f.rows(), f.resolve)
        equal(got["pwrite", file], [100 * (i + 1), 200 * (i + 1), 0], f"writes of child {i}")
        equal(got.get(("write", file + b".dd")), [11, 77, 0] if i == 2 else None, "writes of dd")
        equal(f.exit, {"code": 0}, "exit")
    equal(len(t.events()), 0, "events")
    check_with_reader(t.path)


@test
def test_trace_has_become_too_large(tmp):
    """From then on sums, also of processes that come later; nothing is missing."""
    need_root()
    with Job(tmp, "--max-size", "10K", "--flush", "20ms") as job:
        before = 0
        while b"--max-size" not in job.tracer.stderr():
            job.do("write", "a", 1000)
            before += 1000
            check(before < 10000000, "the trace does not reach its size")
        job.do("write", "b", 5000)
        f = job.end()
        err = job.tracer.err.decode()
    events = collections.Counter(e.file for e in f.events if e.name == "pwrite")
    rows = {file: numbers[0] for (name, file), numbers in sums(f.rows(), f.resolve).items()
            if name == "pwrite"}
    equal(events[job.name("a")] + rows.get(job.name("a"), 0), before + 1, "writes to a")
    equal((events[job.name("b")], rows[job.name("b")]), (0, 5001), "writes to b: events, in rows")
    check(events[job.name("a")], "there are no events")
    equal(err.count("has reached its --max-size"), 1, "messages")
    marks = [r for r in f.records if r["args"].get("name") == "aggregated_from"]
    equal([m["args"]["value"] for m in marks], ["max_size"], "marks in the trace")
    for e in f.events:
        check(e.ts <= marks[0]["args"]["ts"], f"{e} began when there should be no events any more")
    check_rows(f)
    check_with_reader(job.tracer.out)


PROGRAM = """
import os, sys
os.chdir(sys.argv[1])
fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o600)
for i in range(50):
    os.pwrite(fd, b"x", i)
    os.pread(fd, 1, i)
    os.stat("f")
    os.lstat("f")
    os.fstat(fd)
    os.mkdir("d")
    os.rmdir("d")
os.dup2(fd, 100)
os.dup2(0, 100)
os.unlink("f")
"""


def counts(tmp, name, *options):
    """Of PROGRAM: {event: events}, {reason: {event: calls left out}}, the trace."""
    (tmp / name).mkdir()
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", PROGRAM, tmp / name], *options, out=tmp / f"{name}.trace")
    check_with_reader(t.path)
    f, = t.files
    # Page faults are no calls.
    filtered = {cls: {op: n for op, n in ops.items() if not op.startswith("mmap_")}
                for cls, ops in f.filtered.items()}
    return collections.Counter(e.name for e in f.events if not e.name.startswith("mmap_")), filtered, f


def altogether(filtered):
    """{event: calls left out} for all reasons together."""
    return sum((collections.Counter(ops) for ops in filtered.values()), collections.Counter())


@test
def test_only(tmp):
    """Just these events, by the names that the trace shows; the others are counted, under this first."""
    need_root()
    every, filtered, _ = counts(tmp, "all")
    only = ["pread", "fstat", "rmdir", "close"]
    got, left_out, f = counts(tmp, "some", "--only", ",".join(only[:3]), "--only", only[3])
    equal(got, {name: every[name] for name in only}, "events")
    equal(left_out.pop("only"), {name: n for name, n in (every + altogether(filtered)).items() if name not in only},
          "left out")
    kept = {cls: {name: n for name, n in ops.items() if name in only} for cls, ops in filtered.items()}
    equal(left_out, {cls: ops for cls, ops in kept.items() if ops}, "left out for other reasons")
    check(got["pread"] >= 50 and got["fstat"] >= 50 and every["lstat"] >= 50, f"{got}, {every}")
    check(any(e.args.get("via") == "dup2" for e in f.events), "no close by dup2")
    equal(f.end["cfg"]["only"], only, "cfg.only")
    got, left_out, _ = counts(tmp, "sums", "--only", "pread", "--aggregate")
    equal(got, {}, "events with --aggregate")
    equal(sum(left_out["only"].values()),
          sum((every + altogether(filtered)).values()) - (every + altogether(filtered))["pread"], "left out")


@test
def test_min_dur(tmp):
    """Just calls that took so long; the others are counted."""
    need_root()
    every, filtered, f = counts(tmp, "all", "--precise")
    times = sorted(e.args["dur_ns"] for e in f.events)
    least = times[len(times) // 2]
    got, left_out, f = counts(tmp, "some", "--precise", "--min-dur", f"{least}ns")
    for e in f.events:
        check(e.args["dur_ns"] >= least, f"{e} took less than {least} ns")
    equal(got + collections.Counter(left_out.pop("min_dur")), every, "events and calls left out")
    equal(left_out, filtered, "left out for other reasons")
    check(0 < len(f.events) < len(times), f"{len(f.events)} events, without --min-dur {len(times)}")
    equal(f.end["cfg"]["min_dur_ns"], least, "cfg.min_dur_ns")


if __name__ == "__main__":
    main()
