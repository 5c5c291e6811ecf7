# SPDX-License-Identifier: MIT
"""The job `overload` under a tracer that may not keep up, and the account of its calls: what the trace
holds one by one plus what it holds in sums is what the job says that it did."""
import collections
import contextlib
import json
import os
import select
import signal
import subprocess
import time

from dfttest import *  # noqa: F403

__all__ = ["PROGS", "JOB", "LOG_CALLS", "SHAPES", "job_dir", "live", "truth_of", "sums_of",
           "traced", "stopped", "slow_disk", "fill_disk", "check_exact", "report"]

PROGS = BUILD / "tests/progs"
JOB = PROGS / "overload"
LOG_CALLS = 16 << 20  # as in overload.c

# Threads and processes of the job.
SHAPES = ((1, 1), (2, 1), (8, 1), (1, 4), (8, 4))

# Calls that return bytes: `ret` of the others is something else.
BYTES = {"read", "write", "pread", "pwrite", "readv", "copy_file_range"}

# Calls in the trace one by one, and in rows; the most rows of one call, file and process.
Account = collections.namedtuple("Account", "events shed rows")


class Poller(Background):
    """A second reader of the tallies of a tracer, as fast as it can (map_poll.c)."""

    def __init__(self, pid):
        super().__init__([PROGS / "map_poll", str(pid)], stderr=None)
        equal(self.line(), b"live\n", "first line of map_poll")

    def wait_shed(self):
        """Until there is a tally of calls that found the ring full."""
        equal(self.line(), b"shed\n", "line of map_poll")

    def result(self):
        self.proc.stdin.close()
        self.proc.stdin = None
        got = json.loads(self.proc.stdout.read().splitlines()[-1])
        equal(self.wait(), 0, "exit status of map_poll")
        check(got["rounds"], "map_poll has read nothing")
        equal(got["decreased"], 0, "tallies that became smaller while their process lived")
        return got


def job_dir(tmp):
    (tmp / "job").mkdir(exist_ok=True)
    return tmp / "job"


def live(said):
    """Until all threads of the job run; its processes."""
    words = read_until(said, b"\n").split()
    equal(words[:1], [b"live"], "first word of the job")
    return list(map(int, words[1:]))


def truth_of(line):
    """{(pid, call, file or None): (calls, errors, bytes)} of the job's last line."""
    check(line.endswith(b"\n"), "the job has said nothing: it did not end as it should")
    return {(pid, name, file): tuple(numbers) for pid, file, name, *numbers in json.loads(line)}


def sums_of(out):
    """What trace_sums says of each file of a trace."""
    r = run([PROGS / "trace_sums", *sorted(out.glob("*.pfw.gz"))], timeout=600).want(0)
    return [json.loads(line) for line in r.out.splitlines()]


def add_up(files, truth):
    """{(pid, call, file or None): [calls, errors, bytes]} of events, of what was shed, and chosen."""
    pids = {pid for pid, *_ in truth}
    kinds = {kind: collections.defaultdict(lambda: [0, 0, 0]) for kind in ("event", "shed", "chosen")}
    for f in files:
        if f["pid"] not in pids:
            continue
        for name, file, kind, calls, errors, moved, *_ in f["sums"]:
            if name.startswith("mmap_"):
                continue  # the job's log is mapped
            key = f["pid"], name, file
            # Calls on names are summed up without a file, and some are told without it by the job.
            at = kinds[kind][key if key in truth else (f["pid"], name, None)]
            at[0] += calls
            at[1] += errors
            at[2] += moved if kind != "event" or name in BYTES else 0
    return kinds


def sound(f):
    """A file's members and lines are as they should be."""
    check(not f["nfaults"], lambda: f"{f['file']}: {f['nfaults']} faults: {f['faults'][:3]}")


def check_durations(f):
    """Sum, least and longest of the rows fit; they are rounded to microseconds, each row's apart."""
    for name, file, kind, calls, _, _, total, least, most, rows in f["sums"]:
        if kind != "shed":
            continue
        slack = calls / 2 + rows
        check(least <= most and calls * least - slack <= total <= calls * most + slack,
              f"{name} of {file}: {calls} calls took {total} us, from {least} to {most}")


def check_exact(out, truth, *, more=0, may_lose=()):
    """
    Events and sums together are the truth, for each process, call and file; nothing else is lost but
    records of the kinds in `may_lose`. Of so many threads of each process there may be one call `more`
    than the truth, of one byte or unfinished: it died in it. Returns an Account.
    """
    files = sums_of(out)
    for f in files:
        sound(f)
        equal((f["ended"], f["tail"]), (True, 0), f"end, and bytes of a member cut, of {f['file']}")
        check_durations(f)
    pids = {pid for pid, *_ in truth}
    equal(sorted(f["pid"] for f in files if f["pid"] in pids), sorted(pids), "processes with a file")
    kinds = add_up(files, truth)
    equal(dict(kinds["chosen"]), {}, "calls that are summed up though nobody asked for it")
    got = collections.defaultdict(lambda: (0, 0, 0))
    for sums in kinds["event"], kinds["shed"]:
        for key, numbers in sums.items():
            got[key] = tuple(map(sum, zip(got[key], numbers)))
    bad, extra = [], collections.Counter()
    for key in set(got) | set(truth):
        have, want = got[key], truth.get(key, (0, 0, 0))
        if have == want:
            continue
        # The thread died in the call, or before it had noted it: nothing, or a byte written.
        if more and tuple(map(int.__sub__, have, want)) in ((1, 0, 1), (1, 0, 0)):
            extra[key[0]] += 1
        else:
            bad.append(f"{key}: {have}, want {want}")
    check(not bad, lambda: f"{len(bad)} of {len(truth)} sums are wrong: " + "; ".join(bad[:4]))
    check(all(n <= more for n in extra.values()), f"{extra}: there can be {more} more of each process")
    for f in files:
        told = dict(f["end"]["args"].get("lost", {}))
        shed = sum(s[3] for s in f["sums"] if s[2] == "shed")
        equal(told.pop("aggregated", 0), shed, f"end.lost.aggregated of {f['file']}")
        check(set(told) <= set(may_lose), f"lost in {f['file']} beside what is summed up: {told}")
    return Account(sum(n for n, *_ in kinds["event"].values()),
                   sum(n for n, *_ in kinds["shed"].values()),
                   max(s[-1] for f in files for s in f["sums"]))


def check_prefix(out, truth):
    """What there is of a trace that was cut short is sound, and no more than the truth."""
    files = sums_of(out)
    for f in files:
        sound(f)
    kinds = add_up(files, truth)
    for sums in kinds["event"], kinds["shed"]:
        for key, numbers in sums.items():
            check(all(a <= b for a, b in zip(numbers, truth.get(key, (0, 0, 0)))),
                  f"{key}: {numbers}, and there were {truth.get(key)}")
    return files


# ---- runs ------------------------------------------------------------------------------------

def traced(tmp, threads, processes, how_long, *options, mode="mix", during=None, polled=True,
           may_lose=(), timeout=None, **kw):
    """
    The job under a tracer, and a second reader of the tallies beside it: an Account of it. `during` gets
    the tracer and that reader, and may return the job's last line.
    """
    need_root()
    argv = [JOB, mode, str(threads), str(processes), how_long, job_dir(tmp)]
    line = None
    with Tracer(tmp, *options, "--", *argv, stdin=subprocess.PIPE, **kw) as tracer:
        said = tracer.proc.stdout.fileno()
        live(said)
        with Poller(tracer.pid) if polled else contextlib.nullcontext() as poller:
            if during:
                line = during(tracer, poller)
            if not line:
                tracer.proc.stdin.close()
                line = read_until(said, b"\n", timeout)
            if poller:
                poller.result()
        status = tracer.proc.wait(timeout or LIVE_TIMEOUT)
        equal(status, 0, f"exit status ({tracer.stderr().decode().strip()})")
        tracer.trace = True  # trace_sums reads the files
    return check_exact(tracer.out, truth_of(line), more=threads - 1 if mode == "exit" else 0,
                       may_lose=may_lose)


def report(what, account):
    print(f"  {what}: {account.events} events, {account.shed} shed", flush=True)


@contextlib.contextmanager
def stopped(tracer):
    os.kill(tracer.pid, signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, tracer.pid, os.WSTOPPED | os.WNOWAIT)
        yield
    finally:
        os.kill(tracer.pid, signal.SIGCONT)


def slow_disk(tmp, rate, **more):
    """An environment in which the tracer's disk takes so many bytes a second (slow_disk.c)."""
    return clean_env(LD_PRELOAD=os.fspath(PROGS / "slow_disk"), SLOW_DIR=os.fspath(tmp / "trace"),
                     SLOW_RATE=str(rate), **more)


@contextlib.contextmanager
def small_disk(tmp, size):
    """A file system of that size."""
    place = tmp / "small"
    place.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={size}", "dft-small", place]).want(0)
    try:
        yield place
    finally:
        run(["umount", place]).want(0)


def fill_disk(tmp, threads, processes):
    """
    The job until a file system of 4 MB is full: one message, exit status 1, and what was written before
    is good; the job notices nothing.
    """
    need_root()
    # The job's own exit status, which the tracer's is not where the trace is not complete.
    argv = ["sh", "-c", f'"$0" mix {threads} {processes} - "$1"; echo "status $?"', JOB, job_dir(tmp)]
    with small_disk(tmp, "4M") as small:
        with Tracer(tmp, "--", *argv, out=small / "trace", stdin=subprocess.PIPE) as tracer:
            said = tracer.proc.stdout.fileno()
            live(said)
            deadline = time.monotonic() + LIVE_TIMEOUT
            while b"No space" not in tracer.stderr():
                check(time.monotonic() < deadline, "no message about the full disk")
                select.select([], [], [], 0.01)
            tracer.proc.stdin.close()
            truth = truth_of(read_until(said, b"\n"))
            equal(read_until(said, b"\n"), b"status 0\n", "exit status of the job")
            equal(tracer.proc.wait(LIVE_TIMEOUT), 1, "exit status of the tracer")
            text = tracer.stderr().decode()
            tracer.trace = True
        errors = [line for line in text.splitlines() if "No space left on device" in line]
        equal(len(errors), 1, f"messages about the full disk in {text!r}")
        check(ERROR_LINE.match(errors[0]), f"form of the message {errors[0]!r}")
        files = check_prefix(small / "trace", truth)
    for f in files:
        equal(f["tail"], 0, f"bytes of a member that was cut in {f['file']}")
    events = sum(f["events"] for f in files)
    check(events > 100000, f"only {events} events in 4 MB")
    return events
