#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests of Linux AIO: each is one event, with what was asked and what its completion said."""
import collections
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import shown, text_of, trace_said  # noqa: E402

OPS = BUILD / "tests/progs/aio_ops"


def requests(t):
    return t.events(where=lambda e: e.args.get("via") == "aio")


def run(tmp, what, *options, env=None):
    """Traces the program doing `what`, and compares: (trace, what was said)."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    t, said, _ = trace_said(tmp, [OPS, what, work], *options, cwd=tmp, env=env)
    want = collections.Counter((tid, text_of((name, args))) for (_, tid), events in said.threads.items()
                               for _, name, args in events)
    got = collections.Counter((e.tid, text_of(shown(e))) for e in requests(t) if "unseen" not in e.args)
    lines = [f"want {e}" for e in (want - got).elements()] + [f"got  {e}" for e in (got - want).elements()]
    if lines:
        fail(f"{len(lines)} lines differ\n" + "\n".join(lines))
    check_with_reader(t.path)
    return t, said


def undecoded(t):
    return {key for f in t.files for key in f.end.get("undecoded", {}) if "io_" in key}


@test
def test_every_operation(tmp):
    t, _ = run(tmp, "buffered")
    equal(undecoded(t), set(), "calls that are counted")


@test
def test_past_the_cache(tmp):
    run(tmp, "direct")


@test
def test_pgetevents(tmp):
    run(tmp, "pgetevents")


@test
def test_without_direct_loads_and_loops(tmp):
    run(tmp, "threads", env={"DFTRACE_BPF_FALLBACK": "1"})


@test
def test_refused(tmp):
    run(tmp, "refused")


@test
def test_threads_that_share_a_context(tmp):
    run(tmp, "threads")


@test
def test_ends_taken_out_of_the_ring(tmp):
    t, said = run(tmp, "unseen")
    (pid, _, count), = said.words["unseen"]
    unseen = [e for e in requests(t) if "unseen" in e.args]
    equal(sorted(e.args["offset"] for e in unseen), list(range(int(count))), "offsets")
    for e in unseen:
        equal((e.pid, e.name, e.args["count"], e.dur, "ret" in e.args, os.path.basename(e.file)),
              (pid, "pread", 50, 0, False, b"file"), f"{e}")
    equal(t.by_pid(pid).end["unseen"], {"aio": int(count)}, "unseen")
    # Those that are left out are no events, and so are not told as unseen either.
    work = tmp / "second" / "work"
    work.mkdir(parents=True)
    t, said, _ = trace_said(work.parent, [OPS, "unseen", work], "--exclude", work, cwd=tmp)
    equal(("unseen" in t.by_pid(said.words["unseen"][0][0]).end, len(requests(t))), (False, 0), "those left out")
    check_with_reader(t.path)


def waiting(tmp, end):
    """The request of a program that does not ask for its end, once `end` has come: (event, trace file)."""
    need_root()
    (tmp / "work").mkdir()
    with Background([OPS, "waiting", tmp / "work"]) as program:
        program.line()
        with Tracer(tmp, "-p", str(program.pid)) as tracer:
            program.tell(b"x")
            program.line()
            end(program)
            t = tracer.stop() if program.proc.poll() is None else tracer.wait()
        pid = program.pid
    e, = requests(t)
    equal((e.name, e.args["count"], e.args["offset"], "ret" in e.args), ("pread", 60, 5, False), f"{e}")
    equal(os.path.basename(e.file), b"file", f"file of {e}")
    equal(t.by_pid(pid).records[-1]["name"], "end", "last line")
    return e, t.by_pid(pid)


@test
def test_killed_with_requests_in_flight(tmp):
    # The kernel lets them come to their end.
    def end(program):
        os.kill(program.pid, signal.SIGKILL)
        program.wait()

    e, f = waiting(tmp, end)
    equal((e.args.get("unseen"), e.args.get("unfinished"), f.end["unseen"]), (1, None, {"aio": 1}), f"{e}")


@test
def test_tracing_ends_with_requests_in_flight(tmp):
    e, f = waiting(tmp, lambda program: None)
    equal((e.args.get("unseen"), e.args.get("unfinished"), "unseen" in f.end), (None, 1, False), f"{e}")


if __name__ == "__main__":
    main()
