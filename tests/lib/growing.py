# SPDX-License-Identifier: MIT
"""Trace files that are being written, or whose writer was killed; and what a tracer leaves in the
kernel."""
import array
import collections
import json
import mmap
import os
import re
import subprocess
import time
import zlib
from pathlib import Path

from dfttest import *  # noqa: F403
from overjob import *  # noqa: F403

__all__ = ["until", "members_of", "lines_of", "pwrites_of", "Log", "KernelState", "kill_and_account"]


def until(condition, what):
    """Waits until it is true; the result."""
    deadline = time.monotonic() + LIVE_TIMEOUT
    while not (got := condition()):
        check(time.monotonic() < deadline, lambda: what() if callable(what) else what)
        os.sched_yield()
    return got


def members_of(blob):
    """(text of the complete members, bytes of a last one that is not complete)"""
    texts = []
    while blob:
        d = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            text = d.decompress(blob)
        except zlib.error as e:
            fail(f"gzip member {len(texts)}: {e}")
        if not d.eof:
            break
        check(text.endswith(b"\n"), f"member {len(texts)} ends within a line: {text[-100:]!r}")
        texts.append(text)
        blob = d.unused_data
    return b"".join(texts), len(blob)


def lines_of(out):
    """All lines of a trace's complete members, of all files."""
    return b"".join(members_of(p.read_bytes())[0] for p in out.glob("*.pfw.gz")).splitlines()


FH = re.compile(rb'"name":"FH".*"name":"([^"]*)","value":"(\w+)"')
PWRITE = re.compile(rb'"name":"pwrite",.*?"hhash":"\w+",(?:"fhash":"(\w+)",)?"count":1,"offset":(\d+),"ret":1[,}]')
SHED = re.compile(rb'"name":"pwrite",.*"ph":3,.*"hhash":"\w+",(?:"fhash":"(\w+)",)?"dft_cnt":(\d+),'
                  rb'.*"shed":1')


def pwrites_of(lines):
    """{file: offsets of its events}, {file: calls in sums} of the job's writes of one byte."""
    names, offsets, shed = {None: None}, collections.defaultdict(list), collections.Counter()
    for line in lines:
        if m := PWRITE.search(line):
            offsets[m[1]].append(int(m[2]))
        elif m := SHED.search(line):
            shed[m[1]] += int(m[2])
        elif m := FH.search(line):
            names[m[2]] = os.fsdecode(m[1])
    return ({names[h]: found for h, found in offsets.items()},
            {names[h]: n for h, n in shed.items()})


class Log:
    """What the job in its log mode says of its calls: DIR/log, read while it is written."""

    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY)
        try:
            self.mem = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        finally:
            os.close(fd)
        self.writers = len(self.mem) // (8 * (LOG_CALLS + 1))

    def numbers(self, writer, first, n):
        at = 8 * (writer * (LOG_CALLS + 1) + first)
        return array.array("Q", self.mem[at:at + 8 * n])

    def calls(self, writer):
        return self.numbers(writer, 0, 1)[0]

    def total(self):
        return sum(self.calls(w) for w in range(self.writers))

    def ended_before(self, writer, ns):
        """How many calls had ended then: the first so many."""
        times = self.numbers(writer, 1, self.calls(writer))
        lo, hi = 0, len(times)
        while lo < hi:
            mid = (lo + hi) // 2
            lo, hi = (mid + 1, hi) if times[mid] < ns else (lo, mid)
        return lo


class KernelState:
    """Programs, maps and links that a process holds, by their numbers."""

    def __init__(self, pid):
        self.ids = set()
        for info in Path(f"/proc/{pid}/fdinfo").iterdir():
            for kind, number in re.findall(r"^(prog|map|link)_id:\s+(\d+)$", info.read_text(), re.M):
                self.ids.add((kind, int(number)))

    def kinds(self):
        return {kind for kind, _ in self.ids}

    def left(self):
        """Those that there still are."""
        there = set()
        for kind in ("prog", "map", "link"):
            r = run(["bpftool", "-j", kind, "show"]).want(0)
            there |= {(kind, entry["id"]) for entry in json.loads(r.out or b"[]")}
        return self.ids & there

    def wait_gone(self):
        """The kernel frees some of them a while after the last user has gone."""
        until(lambda: not self.left(), lambda: f"left in the kernel: {sorted(self.left())[:5]}")


class RunDelay:
    """How long each thread of a process has waited for a processor, over time."""

    def __init__(self, pid):
        self.pid = pid
        self.seen = []  # (CLOCK_MONOTONIC, {thread: ns waited until then})
        self.look()

    def look(self):
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        waited = {p.parent.name: int(p.read_text().split()[1]) for p in tasks}
        self.seen.append((time.monotonic_ns(), waited))

    def look_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.02))
            self.look()

    def slack_ns(self, end_ns, ns):
        """ns, and what a thread waited in the ns before that end and in the time that this adds."""
        slack, last = ns, self.seen[-1][1]
        for at, waited in reversed(self.seen):
            slack = ns + max(last[t] - waited.get(t, 0) for t in last)
            if end_ns - at >= slack:
                break
        return slack


def check_unfinished(out):
    """The reader finds nothing wrong but that files are unfinished."""
    r = run([READER, "check", "--json", out])
    files = json.loads(r.out)["files"]
    for f in files:
        check(f["state"] in ("unfinished", "cut"), f"state of {f['file']}: {f['state']}")
        equal(f["faults"], 1, f"faults of {f['file']} ({f['first_faults']})")
    equal(r.status, 1, "exit status of dftrace check")


def missing_of(log, found, job, before_ns):
    """{file: calls that had ended by then, and are neither events nor in sums}, without those of none."""
    offsets, shed = found
    missing = {}
    for writer in range(log.writers):
        file = f"{job}/{writer}-0-0"
        want = log.ended_before(writer, before_ns)
        there = sum(at < want for at in offsets.get(file, ())) + shed.get(file, 0)
        if there < want:
            missing[file] = want - there
    return missing


def kill_and_account(tmp, mode, processes, flush_s, moment, *options):
    """
    Kills a tracer so many seconds after its job went live. What is older than the flush interval, and
    0.2 s more, and what the tracer has waited for a processor meanwhile, is there; the kernel has
    nothing left; the job notices nothing. Returns what there is to say.
    """
    need_root()
    argv = [JOB, mode, "1", str(processes), "-", job_dir(tmp)]
    with Tracer(tmp, *options, "--", *argv, stdin=subprocess.PIPE) as tracer:
        said = tracer.proc.stdout.fileno()
        live(said)
        log = Log(tmp / "job/log")
        state = KernelState(tracer.pid)
        equal(state.kinds(), {"prog", "map", "link"}, "what the tracer holds in the kernel")
        delay = RunDelay(tracer.pid)
        delay.look_for(moment)
        killed_ns = time.monotonic_ns()
        tracer.kill()
        calls = log.total()
        tracer.trace = True
        state.wait_gone()
        until(lambda: log.total() > calls, "the job does not go on")
        tracer.proc.stdin.close()
        truth_of(read_until(said, b"\n"))
    strict_ns = int((flush_s + 0.2) * 1e9)
    slack_ns = delay.slack_ns(killed_ns, strict_ns)
    found = pwrites_of(lines_of(tracer.out))
    for file, offsets in found[0].items():
        equal(len(set(offsets)), len(offsets), f"events of {file} without those that are there twice")
    missing = missing_of(log, found, job_dir(tmp), killed_ns - slack_ns)
    equal(missing, {}, f"missing of {calls} calls, killed after {moment:.3f} s, all older than "
          f"{slack_ns / 1e9:.3f} s")
    check_unfinished(tracer.out)
    strict = sum(missing_of(log, found, job_dir(tmp), killed_ns - strict_ns).values())
    events = sum(map(len, found[0].values()))
    return (f"{mode}, killed after {moment:.3f} s: {events} of {calls} calls; missing are {strict} older "
            f"than {strict_ns / 1e9:g} s, none older than {slack_ns / 1e9:.3f} s")
