# SPDX-License-Identifier: MIT
"""The tracer lives long: what it does not need any more it forgets, and nothing that it needs."""
import collections
import os
import re
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from longlife import entries, leaves_nothing, wait_for  # noqa: E402
from said import compare, trace_said  # noqa: E402

PROGS = BUILD / "tests/progs"


def forgotten(text):
    """How many names were forgotten at a time, as the tracer says with -v."""
    return [int(n) for n in re.findall(r"names: (\d+) forgotten, \d+ kept", text)]


@test
def test_forgotten_names(tmp):
    """Names are forgotten all the time: each event has the right one still, however long it took."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    t, said, _ = trace_said(tmp, [PROGS / "many_names", "3000"], "-v", cwd=work,
                            env=clean_env(DFTRACE_BPF_NAMES_HIGH="64"))
    times = forgotten(t.run.text)
    print(f"  {len(times)} times, {sum(times)} names")
    check(len(times) >= 3 and sum(times) > 1000, f"forgotten: {times}")
    for e in t.events():
        e.args.pop("replaced", None)  # descriptors of two threads may share a counter of changes
    compare(t, said)
    equal(len(said.who("end")), 5 + 5, "threads that said something")


@test
def test_names_in_a_full_ring(tmp):
    """What is in the ring still needs names that no thread needs any more."""
    need_root()
    calls = 150000
    code = """
import os, sys
sys.stdin.buffer.readline()
for i in range(int(sys.argv[1])):
    os.access("f", os.F_OK)
print("done", flush=True)
sys.stdin.buffer.readline()
"""
    with running_python(code, calls, cwd=tmp) as job:
        with Tracer(tmp, "-v", "--ring", "64M", "-p", job.pid,
                    env=clean_env(DFTRACE_BPF_NAMES_HIGH="0")) as tracer:
            os.kill(tracer.pid, signal.SIGSTOP)
            job.tell()
            equal(job.line(), b"done\n")
            os.kill(tracer.pid, signal.SIGCONT)
            wait_for(lambda: not forgotten(tracer.stderr().decode()) and "nothing is forgotten", 60)
        tracer.trace.no_loss()
        equal(len(tracer.trace.events("access", file=tmp / "f")), calls, "calls with their name")


@test
def test_forgotten_verdicts(tmp):
    """Files left out: the kernel side forgets them with their names, and they stay left out."""
    need_root()
    (tmp / "in").mkdir()
    (tmp / "out").mkdir()
    files = 3000
    code = """
import os, sys
sys.stdin.buffer.readline()
for i in range(int(sys.argv[1])):
    for where in "in", "out":
        fd = os.open(f"{where}/{i}", os.O_CREAT | os.O_RDWR)
        os.pwrite(fd, b"x", 0)
        os.pwrite(fd, b"x", 1)
        os.close(fd)
print("done", flush=True)
sys.stdin.buffer.readline()
"""
    with running_python(code, files, cwd=tmp) as job:
        with Tracer(tmp, "-v", "--exclude", tmp / "out", "-p", job.pid,
                    env=clean_env(DFTRACE_BPF_NAMES_HIGH="64")) as tracer:
            job.tell()
            equal(job.line(), b"done\n")

            def complaint():
                left = entries(tracer.pid)
                n = len(left["verdicts"]) + len(left["names"])
                return n > 300 and f"there are still {n} names and verdicts"

            wait_for(complaint, 60)
        check(sum(forgotten(tracer.err.decode())) > files, "hardly a name was forgotten")
    t = tracer.trace
    t.no_loss()
    for name, each in ("open", 1), ("pwrite", 2), ("close", 1):
        got = [e.file for e in t.events(name) if e.file and e.file.startswith(os.fsencode(tmp))]
        want = [os.fsencode(tmp / "in" / str(i)) for i in range(files) for _ in range(each)]
        equal(got, want, f"files of {name}")
        equal(t.by_pid(job.pid).filtered["excluded"][name], each * files, f"left out: {name}")


@test
def test_more_names_than_are_remembered(tmp):
    """What a process has used is told once, unless it is very much: then some names come again."""
    need_root()
    code = """
import os
os.mkdir("0")
for i in range(20):
    os.close(os.open(f"0/{i}", os.O_CREAT))
for d in range(3500):
    for i in range(20):
        os.close(os.open(f"{d}/{i}", os.O_RDONLY))
    os.rename(f"{d}", f"{d + 1}")
os.mkdir("0")
os.close(os.open("0/0", os.O_CREAT))
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], "--only", "open", cwd=tmp)
    t.no_loss()
    check_with_reader(t.path)
    own = os.fsencode(tmp) + b"/"
    opened = [e.file[len(own):] for e in t.events("open") if e.file and e.file.startswith(own)]
    equal(opened, [b"0/%d" % i for i in range(20)] +
          [b"%d/%d" % (d, i) for d in range(3500) for i in range(20)] + [b"0/0"], "files")
    told = collections.Counter(r["args"]["name"] for f in t for r in f.records if r["name"] == "FH")
    equal(told[f"{tmp}/0/0"], 2, "times that the first name is told")
    equal(told[f"{tmp}/3499/19"], 1, "times that the last name is told")


WRITES = 100

# In each round new files are written to, and some of those of the rounds before once more.
ROUNDS = f"""
import os, sys
old = []
for line in sys.stdin:
    for fd in old:
        os.pwrite(fd, b"x", 0)
    for i in range(40):
        fd = os.open(f"{{line.strip()}}-{{i}}", os.O_CREAT | os.O_RDWR)
        for _ in range({WRITES}):
            os.pwrite(fd, b"x", 0)
        if i < 5:
            old.append(fd)
        else:
            os.close(fd)
    print("done", flush=True)
"""


def sums_and_names(tmp, *options, stopped):
    """Names are forgotten after each round, and the sums of each file have its name all the same."""
    need_root()
    rounds = 5
    want = {os.fsencode(tmp / f"{r}-{i}"): WRITES + (rounds - 1 - r if i < 5 else 0)
            for r in range(rounds) for i in range(40)}
    with running_python(ROUNDS, cwd=tmp) as job:
        with Tracer(tmp, "-v", *options, "-p", job.pid,
                    env=clean_env(DFTRACE_BPF_NAMES_HIGH="30")) as tracer:
            for r in range(rounds):
                before = len(forgotten(tracer.stderr().decode()))
                if stopped:
                    os.kill(tracer.pid, signal.SIGSTOP)
                job.tell(b"%d\n" % r)
                equal(job.line(), b"done\n")
                os.kill(tracer.pid, signal.SIGCONT)
                wait_for(lambda: len(forgotten(tracer.stderr().decode())) < before + 1
                         and "nothing is forgotten", 60)
    f = tracer.trace.by_pid(job.pid)
    got, rows = collections.Counter(), 0
    for e in tracer.trace.events("pwrite"):
        got[e.file] += 1
    for row in f.rows("pwrite"):
        got[f.resolve(row["args"].get("fhash"))] += row["args"]["dft_cnt"]
        rows += row["args"]["dft_cnt"]
    equal(dict(got), want, "writes of each file")
    check(rows > sum(want.values()) // 2, f"only {rows} calls in sums")


@test
def test_names_of_sums(tmp):
    """With --aggregate."""
    sums_and_names(tmp, "--aggregate=100ms", stopped=False)


@test
def test_names_of_what_was_shed(tmp):
    """The ring has no room for most calls."""
    sums_and_names(tmp, "--ring", "64K", stopped=True)


@test
def test_short_processes(tmp):
    """Under -a, thousands of short processes with files of their own leave nothing in the tracer."""
    need_root()
    need_program("bpftool")
    # What the rest of the machine does is left out, so that memory is this program's affair.
    leaves_nothing(tmp, 3000, 20, "--include", tmp, rss_mib=5, seconds=60,
                   env=clean_env(DFTRACE_BPF_NAMES_HIGH="5000"))


if __name__ == "__main__":
    main()
