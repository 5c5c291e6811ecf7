#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests of io_uring: each is one event, with what was asked and what its completion said."""
import collections
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import Said, shown, text_of, trace_said  # noqa: E402

OPS = BUILD / "tests/progs/uring_ops"
ODD = BUILD / "tests/progs/uring_odd"


def requests(t):
    """The events of requests: {pid: [event]}."""
    found = collections.defaultdict(list)
    for e in t.events():
        if e.args.get("via") == "io_uring":
            found[e.pid].append(e)
    return found


def compare(t, said, tids=True, all_files=False, aside=lambda e: False):
    """Fails unless the trace has exactly the requests that the program said."""
    want = collections.defaultdict(list)
    for (pid, tid), events in said.threads.items():
        want[pid] += [(tid if tids else 0, text_of((name, args))) for cls, name, args in events
                      if not cls or all_files]
    got = {pid: [(e.tid if tids else 0, text_of(shown(e))) for e in events if not aside(e)]
           for pid, events in requests(t).items()}
    equal(sorted(got), sorted(pid for pid in want if want[pid]), "processes")
    lines = []
    for pid in got:
        missing = collections.Counter(want[pid]) - collections.Counter(got[pid])
        excess = collections.Counter(got[pid]) - collections.Counter(want[pid])
        lines += [f"want {e}" for e in missing.elements()] + [f"got  {e}" for e in excess.elements()]
    if lines:
        fail(f"{len(lines)} lines differ\n" + "\n".join(lines))


def run(tmp, what, *options, env=None, prog=OPS, **kw):
    """Traces the program doing `what`, and compares: (trace, what was said)."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    os.mkfifo(work / "fifo")
    t, said, _ = trace_said(tmp, [prog, what, work], *options, cwd=tmp, env=env)
    compare(t, said, **kw)
    return t, said


def undecoded(t):
    return [key for f in t.files for key in f.end.get("undecoded", {}) if "io_uring" in key]


@test
def test_every_operation(tmp):
    t, _ = run(tmp, "plain")
    equal(undecoded(t), [], "calls of io_uring that are counted")


@test
def test_every_operation_with_all_files(tmp):
    run(tmp, "plain", "--all-files", all_files=True)


@test
def test_what_is_counted(tmp):
    need_root()
    for name, options, counts in (("default", [], lambda f: f.filtered.get("socket", {})),
                                  ("all", ["--all-files"], lambda f: f.end.get("undecoded", {}))):
        t = trace(tmp, [OPS, "other", "/"], *options, cwd=tmp, out=tmp / name)
        f, = t.files
        equal({op: n for op, n in counts(f).items() if op.startswith("uring_")},
              {"uring_send": 1, "uring_recv": 1}, f"{name}: requests on sockets")
        equal(f.end.get("unknown"), 2, f"{name}: requests of unknown number")
        equal(requests(t), {}, f"{name}: events")


@test
def test_without_direct_loads(tmp):
    run(tmp, "plain", env={"DFTRACE_BPF_FALLBACK": "1"})


@test
def test_polling_thread(tmp):
    # The kernel's thread submits. It is of the process, and has an id of its own.
    t, said = run(tmp, "sqpoll", tids=False)
    pid, = {pid for pid, _ in said.threads}
    tids = {e.tid for e in requests(t)[pid]}
    check(len(tids) == 1 and pid not in tids, f"threads {tids} of {pid}")


@test
def test_worker_threads(tmp):
    run(tmp, "async")


@test
def test_deferred_ends(tmp):
    run(tmp, "deferred")


@test
def test_registered_files(tmp):
    run(tmp, "fixed")


@test
def test_registered_files_of_polling_thread(tmp):
    run(tmp, "fixed-sqpoll", tids=False)


@test
def test_chains(tmp):
    run(tmp, "linked")


@test
def test_cancelled(tmp):
    t, _ = run(tmp, "cancelled")
    equal(sum(n for f in t.files for op, n in f.filtered.get("pipe", {}).items() if op == "read"), 1,
          "reads of pipes that are counted")


@test
def test_cancelled_is_an_event_with_all_files(tmp):
    run(tmp, "cancelled", "--all-files", all_files=True)


@test
def test_success_not_told(tmp):
    t, _ = run(tmp, "skipped", aside=lambda e: "unseen" in e.args)
    unseen = t.events(where=lambda e: "unseen" in e.args)
    equal(sorted(e.args["offset"] for e in unseen), [100 * i for i in range(50)], "offsets of unseen writes")
    for e in unseen:
        equal((e.name, e.args["count"], e.dur, "ret" in e.args),
              ("write", 100, 0, False), f"{e}")
        equal(os.path.basename(e.file), b"file", f"file of {e}")
    equal([f.end["unseen"] for f in t.files if "unseen" in f.end], [{"io_uring": 50}], "unseen")


@test
def test_completion_queue_overflows(tmp):
    run(tmp, "overflowing")


def run_odd(tmp, *whats, **kw):
    """All of them told: none is without its end."""
    for what in whats:
        (tmp / what).mkdir()
        t, _ = run(tmp / what, what, "--all-files", prog=ODD, all_files=True, **kw)
        equal([f.end["unseen"] for f in t.files if "unseen" in f.end], [], f"{what}: unseen")


@test
def test_completion_queue_overflows_in_odd_ways(tmp):
    run_odd(tmp, "overflowing", "overflowing-async", "overflowing-deferred", "overflowing-deferred-async")


@test
def test_another_file_has_the_memory_of_the_one_before(tmp):
    """A descriptor that is closed and opened again in a chain, before a request on it is begun with."""
    run_odd(tmp, "replaced", "replaced-async", "replaced-deferred")
    run_odd(tmp, "replaced-sqpoll", tids=False)


@test
def test_another_file_is_under_the_number_of_the_one_opened(tmp):
    run_odd(tmp, "reused", "reused-deferred")


@test
def test_positions_of_many_at_once(tmp):
    run_odd(tmp, "positions")


@test
def test_rings_of_all_kinds(tmp):
    run_odd(tmp, "bare", "bare-wide", "bare-no-array", "iopoll", "one-ring", "inherited")
    run_odd(tmp, "shared-poller", tids=False)


@test
def test_order_and_ends_of_all_kinds(tmp):
    run_odd(tmp, "drained", "stopped", "updated", "exec")


@test
def test_threads_with_many_in_flight(tmp):
    run(tmp, "threads")


@test
def test_child_with_its_own_ring(tmp):
    run(tmp, "forked")


@test
def test_aggregated(tmp):
    need_root()
    (tmp / "work").mkdir()
    t, said, _ = trace_said(tmp, [OPS, "threads", tmp / "work"], "--aggregate=1s", cwd=tmp)
    want = collections.Counter()
    for events in said.threads.values():
        for _, name, args in events:
            args = dict(args)
            want[name, args["fhash"]] += max(args["ret"], 0)
    got = collections.Counter()
    for f in t.files:
        for row in f.rows():
            name = f.resolve(row["args"].get("fhash"))
            if row["name"] in ("read", "write") and name and os.path.dirname(name).endswith(b"/work"):
                got[row["name"], name] += row["args"]["ret_sum"]
    equal(got, want, "bytes of rows")


def said_by_plain(tmp, *options):
    """Traces every operation with options that leave some out: (trace, [(name, arguments)] said)."""
    need_root()
    (tmp / "work").mkdir()
    t, said, _ = trace_said(tmp, [OPS, "plain", tmp / "work"], *options, cwd=tmp)
    return t, [(name, dict(args)) for events in said.threads.values() for cls, name, args in events
               if not cls]


def filtered(t, reason):
    return sum(n for f in t.files for n in f.filtered.get(reason, {}).values())


@test
def test_only_some_operations(tmp):
    t, said = said_by_plain(tmp, "--only", "fdatasync,rmdir")
    equal(sorted(e.name for e in t.events()), ["fdatasync", "rmdir"], "events")
    want = collections.Counter(name for name, _ in said)
    got = collections.Counter()
    for f in t.files:
        got.update({name: f.filtered["only"].get(name, 0) for name in want})
    for name in ("fsync", "unlink", "rename", "lstat", "splice", "posix_fadvise"):
        equal(got[name], want[name], f"{name} left out")


@test
def test_excluded_files(tmp):
    t, said = said_by_plain(tmp, "--exclude", str(tmp))
    names = ("fhash", "other_fhash")
    want = sorted(name for name, args in said if "fhash" not in args or
                  any(args.get(n, b"").startswith(b"pipe:") for n in names))
    # What names no file is kept, and what names a pipe as well, which is not excluded.
    got = sorted(e.name for events in requests(t).values() for e in events)
    equal(got, want, "requests")
    check(filtered(t, "excluded") >= len(said) - len(want), "counted as excluded")


@test
def test_too_short(tmp):
    t, said = said_by_plain(tmp, "--min-dur", "1h")
    equal(len(t.events()), 0, "events")
    check(filtered(t, "min_dur") >= len(said), "counted as too short")


def waiting(tmp):
    (tmp / "work").mkdir()
    os.mkfifo(tmp / "work" / "fifo")
    return Background([OPS, "waiting", tmp / "work"])


def tell(program, word):
    """Has it do something; what it said until it was done."""
    program.tell(word)
    lines = []
    while not lines or json.loads(lines[-1]).get("say") != "done":
        lines.append(program.line())
    return lines


def in_flight(tmp, words, kill, env=None):
    """The trace of a program with requests in flight that is killed, or goes on while tracing ends."""
    need_root()
    with waiting(tmp) as program:
        program.line()
        with Tracer(tmp, "--all-files", "-p", str(program.pid), env=env) as tracer:
            said = tell(program, b"r")
            for word in words:
                tell(program, word)
            if kill:
                os.kill(program.pid, signal.SIGKILL)
                program.wait()
                t = tracer.wait()
            else:
                t = tracer.stop()
        if not kill:
            tell(program, b"r")  # it is as it was
        check_waiting(t, said)
        return t.by_pid(program.pid)


@test
def test_killed_with_requests_in_flight(tmp):
    f = in_flight(tmp, [b"p"], True)
    equal(f.exit, {"signal": 9}, "its end")


@test
def test_killed_with_worker_threads_in_flight(tmp):
    in_flight(tmp, [b"w"], True)


LEFT_ALONE = """
import os, subprocess, sys
program = subprocess.Popen([sys.argv[1], "left-alone", "/"], stdout=subprocess.PIPE)
program.stdout.readline()
while open(f"/proc/{program.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
    pass
os.kill(program.pid, 9)
program.wait()
"""


@test
def test_polling_thread_is_the_last_one(tmp):
    """The kernel's thread, which has not done anything, ends the process."""
    need_root()
    t = trace(tmp, [PYTHON, "-c", LEFT_ALONE, OPS], cwd=tmp)
    f, = t.by_program("uring_ops")
    equal(f.exit, {"signal": 9}, "its end")


@test
def test_tracing_ends_with_requests_in_flight(tmp):
    f = in_flight(tmp, [b"p"], False)
    # The program itself may be in its read of what it is to do next.
    equal(sum("unfinished" in e.args for e in f.events if e.args.get("via") == "io_uring"), 8, "unfinished")


@test
def test_names_of_requests_are_kept(tmp):
    """Names are forgotten meanwhile, but not those that requests in flight refer to."""
    in_flight(tmp, [b"p", b"m", b"m", b"m"], False, env=clean_env(DFTRACE_BPF_NAMES_HIGH="64"))


def check_waiting(t, said):
    compare(t, Said(b"".join(said).decode()), aside=lambda e: "count" in e.args and e.args["count"] < 50)
    over = [e for events in requests(t).values() for e in events if e.args["count"] < 50]
    equal(sorted(e.args["count"] for e in over), list(range(10, 18)), "reads that had not ended")
    for e in over:
        equal(os.path.basename(e.file), b"fifo", f"file of {e}")
        check(e.args.get("unfinished") == 1 and "ret" not in e.args or e.errno == 125, f"{e}")
    for f in t.files:
        equal(f.records[-1]["name"], "end", "last line")


@test
def test_coverage_is_told_where_there_is_none(tmp):
    need_root()
    (tmp / "work").mkdir()
    t = trace(tmp, [OPS, "plain", tmp / "work"], env={"DFTRACE_BPF_FALLBACK": "uring"})
    equal(sum(map(len, requests(t).values())), 0, "requests")
    told = [r["args"]["value"] for f in t.files for r in f.records
            if r["name"] == "CM" and r["args"]["name"] == "coverage_incomplete"]
    equal(told, ["io_uring"], "incomplete coverage")
    check({"io_uring_setup", "io_uring_enter"} <= set(undecoded(t)), f"{undecoded(t)}")


if __name__ == "__main__":
    main()
