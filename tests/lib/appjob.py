# SPDX-License-Identifier: MIT
"""What the tests with whole programs share: they print what they compared."""
import contextlib
import os
import time

import comparejob
from dfttest import LIVE_TIMEOUT, Background, Fail, check, check_with_reader, equal, trace


def report(what, t, truth):
    """One line: how much was compared."""
    items = [i for items in truth.items.values() for i in items]
    data = [i for i in items if i.kept and i.bytes]
    events = sum(len(f.events) for f in t if f.pid in truth.items)
    print(f"  {what}: {len(truth.items)} processes, {events} events, "
          f"{len({i.file for i in data})} files with {sum(i.bytes for i in data)} bytes moved, "
          f"{len(truth.log.calls)} calls in strace's log: all agree", flush=True)


def from_start(what, tmp, command, **kw):
    t, truth = comparejob.compared(tmp, command, **kw)
    report(what, t, truth)
    return t, truth


def at_full_speed(what, tmp, command, **kw):
    """Without strace. Calls may be in rows for want of room, each of them, and nothing else missing."""
    t = trace(tmp, command, **kw)
    check_with_reader(t.path)
    for f in t:
        in_rows = sum(r["args"]["dft_cnt"] for r in f.rows(shed=True))
        equal(f.lost, {"aggregated": in_rows} if in_rows else {}, f"lost in {f.path.name}")
    print(f"  {what}: {len(t.files)} processes, {sum(len(f.events) for f in t)} events, "
          f"{sum(f.lost.get('aggregated', 0) for f in t)} more in sums: all right", flush=True)
    return t


def by_attach(what, tmp, pid, work, **kw):
    t, truth = comparejob.attached(tmp, pid, work, **kw)
    report(what, t, truth)
    return t, truth


@contextlib.contextmanager
def server(argv, up, **kw):
    """A server, once up() is true; ended if the test has not done so."""
    with Background(argv, **kw) as p:
        deadline = time.monotonic() + LIVE_TIMEOUT
        while not up():
            check(p.proc.poll() is None, f"{argv[0]} has ended, status {p.proc.returncode}")
            if time.monotonic() > deadline:
                raise Fail(f"{argv[0]} does not answer")
            os.sched_yield()
        yield p
