# SPDX-License-Identifier: MIT
"""Attaching to processes that run: names right from the first event, no thread missed."""
import collections
import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import Said, compare, listener  # noqa: E402

PROGS = BUILD / "tests/progs"


@test
def test_open_files_and_cwd(tmp):
    """Three files open, cwd elsewhere, eight threads: all right from the first event."""
    need_root()
    work, elsewhere = tmp / "work", tmp / "else where"
    work.mkdir()
    elsewhere.mkdir()
    with listener(tmp / "said") as held, \
            Background([PROGS / "attach_me", elsewhere], cwd=work, stdout=held[0]) as target:
        os.close(held[0])
        held[0] = None
        # Live when it has said so: the file grows as soon as the line is there.
        while b"\n" not in (tmp / "said").read_bytes():
            os.sched_yield()
        with Tracer(tmp, "-p", target.pid) as tracer:
            target.tell()
            t = tracer.wait()
            equal(target.wait(), 0, "attach_me")
    t.no_loss()
    check_with_reader(t.path)
    said = Said((tmp / "said").read_text())
    equal(len(said.who("done")), 10, "threads that came to their end")
    # All events of each thread, beginning with the very first.
    compare(t, said)
    f = t.by_pid(target.pid)
    equal({e.tid for e in f.events}, {tid for pid, tid in said.threads if pid == target.pid},
          "threads with events")
    equal(f.resolve(f.start["cwd"]), os.fsencode(elsewhere), "cwd")
    equal(f.resolve(f.start["cmd_hash"]), os.fsencode(f"{PROGS}/attach_me;{elsewhere}"), "cmd")
    equal(f.resolve(f.start["exec_hash"]), b"attach_me", "exec")
    equal(f.start["ppid"], os.getpid(), "ppid")
    equal(f.program, "attach_me", "name of the file")
    equal(f.exit, {"code": 0}, "exit")
    child, = t.pids() - {target.pid}
    equal(t.by_pid(child).exit, {"code": 5}, "exit of the child")
    equal(t.by_pid(child).start["ppid"], target.pid, "ppid of the child")
    equal(t.by_pid(child).resolve(t.by_pid(child).start["cwd"]), os.fsencode(elsewhere))


@test
def test_threads_and_forks_all_the_time(tmp):
    """Every thread that lives after the ready byte is traced, with each of its reads."""
    need_root()
    (tmp / "file").write_bytes(bytes(100100))
    for round_ in range(6):
        with listener(tmp / f"said{round_}") as held, \
                Background([PROGS / "churn", tmp / "file"], stdout=held[0]) as churn:
            os.close(held[0])
            held[0] = None
            lines = tmp / f"said{round_}"

            def until(more):
                size = lines.stat().st_size
                while lines.stat().st_size < size + more:
                    os.sched_yield()

            until(100)
            with Tracer(tmp, "-p", churn.pid, out=tmp / f"t{round_}") as tracer:
                ready = time.time() * 1e6
                churn.tell(b"1")
                until(4000)
                churn.tell(b"2")
                t = tracer.wait()
                equal(churn.wait(), 0, "churn")
        want, born = {}, {}
        for line in lines.read_text().splitlines():
            pid, tid, n, usec = map(int, line.split())
            want[pid, tid] = n
            born[pid] = usec
        got = collections.defaultdict(list)
        for e in t.events("pread", file=tmp / "file"):
            if e.args["offset"]:
                got[e.pid, e.tid].append(e.args["offset"])
        counted = {who: n for who, n in want.items() if n}
        check(len(counted) > 50, f"only {len(counted)} threads after the ready byte")
        equal(set(got) - set(counted), set(), "threads that read nothing")
        # A child that was there before us is no thread of the process we were asked for.
        live = min(e.ts for e in t.by_pid(churn.pid).events)
        for who, n in counted.items():
            if who in got or who[0] == churn.pid or born[who[0]] > live:
                equal(got.get(who), list(range(1, n + 1)),
                      f"round {round_}: reads of {who}, one of {len(counted)} threads; born "
                      f"{born[who[0]] - live} us after the first event")
        for f in t.files:
            equal(f.exit, {"code": 0}, f"exit of {f.path.name}")
        # Each child born under our eyes has its fork, and each fork its child.
        forks = [e.ret for e in t.by_pid(churn.pid).events if e.name == "fork"]
        equal(len(forks), len(set(forks)), "children forked")
        check(set(forks) <= t.pids(), "a child without a file")
        for pid in t.pids() - set(forks) - {churn.pid}:
            check(born[pid] <= ready, f"child {pid} without a fork")
        t.no_loss()


TIMES = 100


@test
def test_many_attaches(tmp):
    """To a process that opens, reads and closes all the time: no wrong name, no absurd duration."""
    need_root()
    events, threads = 0, collections.Counter()
    with Background([PROGS / "open_loop", "200", "1"], cwd=tmp) as target:
        equal(target.line(), b"live\n")
        for n in range(TIMES):
            begun = time.time()
            # At once, or after a moment in which some thousand events happen.
            options = ["-d", "0.004"] if n % 4 else []
            with Tracer(tmp, "-q", "-p", target.pid, *options, out=tmp / "t") as tracer:
                t = tracer.wait() if options else tracer.stop()
            ended = time.time()
            t.no_loss()
            f, = t.files
            equal(f.pid, target.pid, "traced")
            for tid in {e.tid for e in f.events}:
                check_loop(tmp, [e for e in f.events if e.tid == tid])
            for e in f.events:
                check(e.dur < 10_000_000, f"duration of {e}: {e.dur}")
                check(begun * 1e6 - 10 <= e.ts and e.ts + e.dur <= ended * 1e6 + 10,
                      f"time of {e}: {e.ts}, traced from {begun} to {ended}")
            events += len(f.events)
            threads.update({e.tid for e in f.events})
            for path in (tmp / "t").iterdir():
                path.unlink()
    check(events > 100 * TIMES, f"only {events} events in {TIMES} attaches")
    check(list(threads.values())[0] > TIMES * 7 // 10, f"attaches with events: {threads}")


def check_loop(base, events):
    """open fN, read N bytes of fN, close fN, then the same of the file after it."""
    order = {"open": "read", "read": "close", "close": "open"}
    before = None
    for e in events:
        if "unfinished" in e.args:
            # Tracing ended in it; the path of an open cannot be read then.
            check(e is events[-1], f"not the last one: {e}")
            break
        m = re.fullmatch(re.escape(os.fsencode(base)) + rb"/f(\d+)", e.file or b"")
        check(m, f"name of {e}")
        number = int(m[1])
        if e.name == "read":
            equal(e.ret, number, f"bytes of {e}")
            equal(e.args.get("offset"), 0, f"offset of {e}")
        if before is not None:
            name, last = before
            equal(e.name, order[name], f"event after {name} f{last}")
            equal(number, last % 200 + 1 if name == "close" else last,
                  f"file of {e}, after {name} of f{last}")
        before = e.name, number


@test
def test_call_begun_before(tmp):
    """A call that blocks when we come is no event; what the thread does next is."""
    need_root()
    (tmp / "f").write_text("")
    holder = os.open(tmp / "f", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    code = """
import fcntl, os, sys, threading
fd = os.open("f", os.O_RDONLY)
pid = os.fork()
if pid == 0:
    os.read(0, 1)
    os._exit(3)
threading.Thread(target=lambda: os.waitpid(pid, 0)).start()
print(pid, flush=True)
fcntl.flock(fd, fcntl.LOCK_EX)
fcntl.flock(fd, fcntl.LOCK_UN)
os.fsync(fd)
"""
    try:
        with running_python(code, cwd=tmp) as p:
            child = int(p.line())

            def number(path):
                return Path(f"/proc/{path}/syscall").read_text().split()[0]

            def asleep():  # in flock, and in wait4
                return {number(f"{p.pid}/task/{tid}") for tid in os.listdir(f"/proc/{p.pid}/task")}

            wanted = {"73", "61"} if os.uname().machine == "x86_64" else {"32", "260"}
            while asleep() != wanted:
                os.sched_yield()
            begun = time.time()
            with Tracer(tmp, "-p", p.pid) as tracer:
                fcntl.flock(holder, fcntl.LOCK_UN)
                p.tell(b"x")  # ends the child, and with it the other thread's wait
                t = tracer.wait()
            ended = time.time()
            equal(p.wait(), 0)
    finally:
        os.close(holder)
    f = t.by_pid(p.pid)
    flocks = [(e.args["operation"], e.ret) for e in f.events if e.name == "flock"]
    equal(flocks, [(fcntl.LOCK_UN, 0)], "flock events")
    equal([e.file for e in f.events if e.name == "fsync"], [os.fsencode(tmp / "f")], "fsync")
    equal([e for e in f.events if e.name == "wait"], [], "wait events")
    check(child not in t.pids(), "a child that was there before")
    for e in f.events:
        check(begun * 1e6 - 10 <= e.ts and e.ts + e.dur <= ended * 1e6 + 10, f"time of {e}")


@test
def test_program_that_was_removed(tmp):
    """It has its name, as the kernel's own short one of it, and not /proc's "NAME (deleted)"; a real one of those stays."""
    need_root()
    for name, removed in (("dft-gone", True), ("dft (deleted)", False)):
        program = tmp / name
        shutil.copy("/bin/sh", program)
        with Background([program, "-c", "echo live; read x; echo y >$0", tmp / "out"]) as p:
            equal(p.line(), b"live\n")
            if removed:
                program.unlink()
            with Tracer(tmp, "-p", p.pid, out=tmp / f"t-{removed}") as tracer:
                p.tell()
                t = tracer.wait()
        f, = t.files
        equal(f.program, name.translate({ord(c): "_" for c in " ()"}), "name of the file")
        equal([r for r in f.records if r["args"].get("name") == "comm"], [], "names other than the program's")


@test
def test_attached_again(tmp):
    """Into the same directory: another file, and the first one is left as it was."""
    need_root()
    with running_python("import os, sys\n"
                        "for line in sys.stdin:\n"
                        " os.access('/dft-' + line.strip(), 0)\n"
                        " print(flush=True)") as p:
        sums = {}
        for n in range(3):
            with Tracer(tmp, "-p", p.pid) as tracer:
                p.tell(b"%d\n" % n)
                p.line()
                t = tracer.stop()
            for name, digest in sums.items():
                equal(hashlib.sha256((tmp / "trace" / name).read_bytes()).hexdigest(), digest,
                      f"{name} after attach {n}")
            equal(len(t.files), n + 1, "files")
            sums = {f.path.name: hashlib.sha256(f.path.read_bytes()).hexdigest() for f in t.files}
            seen = sorted(e.file for e in t.events("access"))
            equal(seen, [b"/dft-%d" % i for i in range(n + 1)], "names asked for")


@test
def test_several_at_once(tmp):
    """-p PID,PID and -p again; --no-follow leaves the children out."""
    need_root()
    code = """
import os, sys
for line in sys.stdin:
    os.access("/dft-" + line.strip(), 0)
    if os.fork() == 0:
        os.access("/dft-child", 0)
        os._exit(0)
    os.wait()
    print(flush=True)
"""
    for options, children in ([], 3), (["--no-follow"], 0):
        with running_python(code) as a, running_python(code) as b, running_python(code) as c, \
                running_python(code) as d:
            four = [a, b, c, d]
            with Tracer(tmp, "-p", f"{a.pid},{b.pid}", "-p", c.pid, *options,
                        out=tmp / f"t{children}") as tracer:
                for p in four:
                    p.tell(b"%d\n" % p.pid)
                    p.line()
                t = tracer.stop()
            t.no_loss()
            pids = {p.pid for p in four[:3]}
            for pid in pids:
                equal(len(t.events("access", file=b"/dft-%d" % pid, pid=pid)), 1, f"of {pid}")
            equal(len(t.events("access", file=b"/dft-child")), children, "of children")
            check(d.pid not in t.pids(), "a process that was not asked for")
            equal(len(t.pids() - pids), children, "files of children")


@test
def test_target_ends(tmp):
    """The tracer ends with its last target, with status 0."""
    need_root()
    with running_python("import sys; sys.stdin.read(1); sys.exit(9)") as p:
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.tell(b"x")
            t = tracer.wait()
        equal(p.wait(), 9)
    equal(t.by_pid(p.pid).exit, {"code": 9}, "exit")
    check_with_reader(t.path)


@test
def test_nothing_captured_is_said(tmp):
    """A process that makes no call: a warning, and a whole, empty trace."""
    need_root()
    with running_python("import sys; sys.stdin.read(1)") as p:
        r = run([TRACER, "-o", tmp / "t", "-d", "0.3", "-p", str(p.pid)])
        r.want(0)
        check(b"nothing was captured" in r.err, r.err)
        p.tell(b"x")
    check_with_reader(tmp / "t")
    run([READER, "summary", tmp / "t"]).want(0)


if __name__ == "__main__":
    main()
