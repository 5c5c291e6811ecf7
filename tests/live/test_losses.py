# SPDX-License-Identifier: MIT
"""What a full ring, full tables and deaths of threads may cost: nothing that is not counted."""
import collections
import os
import select
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from growing import lines_of, until  # noqa: E402

SHAPES = BUILD / "tests/progs/shapes"


def file_of(tmp, size=1000):
    (tmp / "file").write_bytes(bytes(size))
    return tmp / "file"


def counted(f, name):
    """{file: [calls, bytes, errors]} of the events and the rows of a kind of call; names may be lost."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for e in f.events:
        if e.name == name:
            failed = e.ret < 0
            for i, n in enumerate((1, 0 if failed else e.ret, failed)):
                sums[e.file][i] += n
    for r in f.rows(name):
        check(r["args"].get("shed") == 1, f"nobody asked for {r}")
        for i, key in enumerate(("dft_cnt", "ret_sum", "errors")):
            sums[f.resolve(r["args"].get("fhash"))][i] += r["args"][key]
    return sums


def all_files(sums):
    return [sum(column) for column in zip(*sums.values())] or [0, 0, 0]


def shed_of(f):
    """Calls in rows, as many as the end record says."""
    shed = sum(r["args"]["dft_cnt"] for r in f.rows(shed=True))
    equal(f.lost.get("aggregated", 0), shed, f"lost.aggregated of {f.path.name}")
    return shed


def good_but_for_losses(path):
    """`dftrace check` finds nothing but what the end records say was lost."""
    r = run([READER, "check", path])
    faults = [line for line in r.out.decode().splitlines()[:-1] if " lost: " not in line]
    check(not faults, lambda: f"{len(faults)} faults: {faults[:5]}")
    check(r.status in (0, 1), f"dftrace check: exit status {r.status}: {r.text}")


@test
def test_short_processes_and_a_tiny_ring(tmp):
    """Records of births and deaths are lost: each process has its file and its count all the same."""
    need_root()
    number, calls = 1000, 50
    t = trace(tmp, [SHAPES, "brood", str(number), str(calls), file_of(tmp)], "--ring", "4K")
    good_but_for_losses(t.path)
    children = set(map(int, t.run.out.split()))
    equal(len(children), number, "children")
    bad, losing = [], 0
    files = collections.Counter(f.pid for f in t.files)
    equal({pid: n for pid, n in files.items() if n > 1}, {}, "processes with several files")
    for f in t.files:
        check(f.start is not None and f.end is not None, f"start and end of {f.path.name}")
        if f.pid not in children:
            continue
        sums = counted(f, "pread")
        losing += shed_of(f) > 0
        if all_files(sums) != [calls, calls, 0] or not set(sums) <= {os.fsencode(tmp / "file"), None}:
            bad.append(f"{f.pid}: {dict(sums)}")
    missing = children - t.pids()
    print(f"  {losing} of {number} processes have calls in rows")
    check(not missing, f"{len(missing)} of {number} processes have no file")
    check(not bad, lambda: f"{len(bad)} of {number} processes with a wrong count: {bad[:5]}")
    check(losing, "every call is an event: the test tests nothing")
    # What came of it, sums, losses, and that CMD has ended before its children: no line for each loss.
    check(len(t.run.err.splitlines()) <= 4, f"too many lines: {t.run.text}")


def pipe_tallies(f):
    """{call: {pipe: (calls, bytes, errors)}} of a file."""
    tallies = collections.defaultdict(dict)
    for r in f.records:
        if r["ph"] == 3:
            a = r["args"]
            name = f.resolve(a["fhash"])
            check(name not in tallies[r["name"]], f"two records of {r['name']} on {name}")
            tallies[r["name"]][name] = a["dft_cnt"], a["ret_sum"], a["errors"]
    return tallies


# What is known of the pipes for which the table has no room: all of them together.
TOGETHER = b"pipe:[0]"


@test
def test_many_pipes(tmp):
    """40,000 pipes of one process: those of others keep their tallies, whatever the tables hold."""
    need_root()
    number = 40000
    t = trace(tmp, [SHAPES, "pipes", str(number), "echo hello | cat | wc -c"])
    equal(t.run.out.split(), [b"6"], "what wc said")
    t.no_loss()
    check_with_reader(t.path)
    f = max(t.files, key=lambda f: len(f.records))
    for call in ("read", "write"):
        tallies = pipe_tallies(f)[call]
        rest = tallies.pop(TOGETHER, (0, 0, 0))
        equal(set(tallies.values()), {(1, 1, 0)}, f"tallies of {call}")
        equal(rest, (number - len(tallies),) * 2 + (0,), f"{call} on {len(tallies)} pipes; the rest")
        check(len(tallies) > 10000, f"only {len(tallies)} pipes are told apart")
        equal(f.filtered["pipe"][call], number, f"{call} filtered")
    # All are forked from a shell, so that their files are named after it.
    program = {}
    for g in t.files:
        execs = [e.named("pathname_hash") for e in g.events if e.name == "execve" and e.ret == 0]
        if execs:
            program[os.path.basename(execs[-1])] = g
    cat, wc = (pipe_tallies(program[name]) for name in (b"cat", b"wc"))
    equal(list(cat["read"].values()), [(2, 6, 0)], "reads of cat")
    equal(list(cat["write"].values()), [(1, 6, 0)], "writes of cat")
    equal(list(wc["read"].values()), [(2, 6, 0)], "reads of wc")
    equal(list(wc["write"].values()), [(1, 2, 0)], "writes of wc")
    equal(set(wc["read"]), set(cat["write"]), "the pipe between them")
    for name in (b"cat", b"wc"):
        counts = program[name].filtered.get("pipe", {})
        equal((counts.get("read"), counts.get("write")), (2, 1), f"pipe calls of {name}")


def ended(pid, timeout):
    """Whether a process ends (it may stay a zombie) within so many seconds."""
    fd = os.pidfd_open(pid)
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


@test
def test_daemon_whose_birth_was_lost(tmp):
    """Forked when the ring was full, with the tracer stopped: it is waited for, its calls count."""
    need_root()
    calls = 5000
    r, w = os.pipe()
    argv = [SHAPES, "daemon", file_of(tmp, calls), str(calls), tmp / "out"]
    with Tracer(tmp, "--ring", "4K", "--", *argv, stdin=r) as tracer:
        os.close(r)
        said = tracer.proc.stdout.fileno()
        equal(read_until(said, b"\n"), b"live\n", "first line")
        try:
            os.kill(tracer.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, tracer.pid, os.WSTOPPED | os.WNOWAIT)
            children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
            equal(len(children), 1, "children of the tracer")
            command = int(children[0])
            os.write(w, b"\n")
            daemon = int(read_until(said, b"\n"))
            check(ended(command, LIVE_TIMEOUT), "the command did not end")
        finally:
            os.kill(tracer.pid, signal.SIGCONT)
        # From when it has taken note of the command's death it waits for the daemon alone.
        deadline = time.monotonic() + LIVE_TIMEOUT
        while os.path.exists(f"/proc/{command}"):
            check(time.monotonic() < deadline, "the tracer does not reap its child")
            os.sched_yield()
        gone = ended(tracer.pid, 1.5)
        os.write(w, b"\n")
        os.close(w)
        t = tracer.wait()
    check(not gone, "the tracer ended while the daemon lived")
    good_but_for_losses(t.path)
    equal((tmp / "out").stat().st_size, calls, "size of the file written")
    f = t.by_pid(daemon)
    sums = counted(f, "pwrite")
    equal(all_files(sums), [calls, calls, 0], f"calls, bytes, errors of the daemon's writes ({dict(sums)})")
    check(set(sums) <= {os.fsencode(tmp / "out"), None}, f"files of its writes: {set(sums)}")
    for e in f.events:
        if e.name == "pwrite":
            equal(e.file, os.fsencode(tmp / "out"), f"file of {e}")
    shed_of(f)
    # The record of its end comes when the ring is as full as it was all the time: it may be lost, too.
    equal(f.exit, {"unknown": 1} if f.lost.get("record_exit") else {"code": 0}, "exit of the daemon")
    lost = collections.Counter()
    for g in t.files:
        lost.update(g.lost)
    check(lost["record_fork"] or lost["record_proc"], f"its birth was not lost: {dict(lost)}")


# Fills the ring, also the part that calls leave to others, then forks a child that writes and waits.
FLOOD = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
out = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
r, w = os.pipe()
print("live")
sys.stdin.readline()
for i in range(5000):
    os.pread(fd, 1, 0)
for i in range(100):
    os.fstat(os.memfd_create(""))
pid = os.fork()
if pid == 0:
    os.close(w)
    for i in range(1024):  # a number of whole batches: nothing is left to be sent later
        os.pwrite(out, b"xy", 0)
    print(os.getpid())
    os.read(r, 1)
    os._exit(0)
sys.stdin.readline()
os.close(w)
os.waitpid(pid, 0)
"""


@test
def test_process_known_by_its_sums_alone(tmp):
    """Born when the ring was full, and so were all its calls: they are in the trace while it lives."""
    need_root()
    with running_python(FLOOD, file_of(tmp), tmp / "out") as job:
        equal(job.line(), b"live\n")
        with Tracer(tmp, "--ring", "4K", "--flush", "50ms", "-p", job.pid) as tracer:
            os.kill(tracer.pid, signal.SIGSTOP)
            try:
                os.waitid(os.P_PID, tracer.pid, os.WSTOPPED | os.WNOWAIT)
                job.tell()
                child = int(job.line())
            finally:
                os.kill(tracer.pid, signal.SIGCONT)
            wanted = b'"name":"pwrite"'
            until(lambda: [line for line in lines_of(tracer.out)
                           if wanted in line and b'"pid":%d,' % child in line and b'"dft_cnt":1024,' in line],
                  "the child's writes are not in the trace while it lives")
            job.tell()
            t = tracer.wait()
    f = t.by_pid(child)
    check(not [e for e in f.events if e.name == "pwrite"], "some of its writes are events: nothing is tested")
    equal(all_files(counted(f, "pwrite")), [1024, 2048, 0], "writes of the child")
    equal(f.exit, {"code": 0}, "exit of the child")
    check(any(g.lost.get("record_fork") for g in t.files), "its birth was not lost")
    good_but_for_losses(t.path)


@test
def test_exit_of_a_process_with_idle_threads(tmp):
    """With -a: the threads were there before and never made a call; the code is the process's."""
    need_root()
    path = file_of(tmp)
    jobs = [Background([SHAPES, "idle", "3", "60", path]) for _ in range(8)]
    try:
        for job in jobs:
            equal(job.line(), b"live\n")
        with Tracer(tmp, "-a") as tracer:
            for job in jobs:
                job.tell()
            for job in jobs:
                equal(job.wait(), 7, "exit status")
            t = tracer.stop()
    finally:
        for job in jobs:
            job.end()
    for job in jobs:
        f = t.by_pid(job.pid)
        equal(counted(f, "pread"), {os.fsencode(path): [60, 60, 0]}, "reads")
        equal(f.exit, {"code": 7}, f"exit of {f.path.name}")


UNSETTLED = clean_env(LD_PRELOAD=os.fspath(BUILD / "tests/progs/no_settling"), NO_SETTLING="1")
NOT_WAITED = (b"dftrace-bpf: calls in progress could not be waited for: Cannot allocate memory (the last "
              b"ones may be missing from the trace)")


def unsettled(tmp, status, **more):
    """A process that lives on when its tracer ends, which cannot wait for calls in progress."""
    path = file_of(tmp)
    with Background([SHAPES, "idle", "1", "60", path]) as job:
        equal(job.line(), b"live\n")
        with Tracer(tmp, "-p", job.pid, status=status, **more) as tracer:
            tracer.stop()
    return tracer, tracer.trace.by_pid(job.pid)


@test
def test_calls_that_cannot_be_waited_for(tmp):
    """Nobody knows how many are missing: the tracer, its exit status and the trace say that much."""
    need_root()
    tracer, f = unsettled(tmp, 1, env=UNSETTLED)
    equal([line for line in tracer.err.splitlines() if b"not be waited" in line], [NOT_WAITED], "what it says")
    check(b" 0 or more lost" in tracer.err, f"the count is none: {tracer.err}")
    equal(f.lost, {"tracer_failed": 1}, "lost")
    r = run([READER, "check", tracer.out]).want(1)
    check("1 lost: tracer_failed" in r.out.decode(), f"dftrace check says {r.out}")


@test
def test_calls_that_are_waited_for(tmp):
    """The same without a failure: nothing is said to be missing."""
    need_root()
    tracer, f = unsettled(tmp, 0)
    check(b"not be waited" not in tracer.err and b" 0 lost" in tracer.err, f"it says {tracer.err}")
    equal(f.lost, {}, "lost")


@test
def test_failure_while_tracing(tmp):
    """A tracer that fails before its end says so in the traces of those that live then."""
    need_root()
    path = file_of(tmp)
    with Background([SHAPES, "idle", "1", "60", path]) as job:
        equal(job.line(), b"live\n")
        # As soon as a name is sent names are forgotten, for which it has to wait; at the end it can.
        env = {**UNSETTLED, "DFTRACE_BPF_NAMES_HIGH": "0"}
        with Tracer(tmp, "-p", job.pid, status=1, env=env) as tracer:
            t = tracer.wait()
    check(b"tracing stops: Cannot allocate memory" in tracer.err, f"it says {tracer.err}")
    check(b"not be waited" not in tracer.err, "it could not wait at its end either: nothing is tested")
    equal(t.by_pid(job.pid).lost, {"tracer_failed": 1}, "lost")


if __name__ == "__main__":
    main()
