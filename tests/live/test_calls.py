# SPDX-License-Identifier: MIT
"""Every decoded system call, called by its number with right and with wrong arguments.

tests/progs/every_call.c does it and says which event each call must become: name, arguments in
order, ret, errno and names of files. The trace must hold exactly these, thread by thread and in order.
"""
import collections
import functools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import Said, compare, listener, trace_said  # noqa: E402

PROGRAM = BUILD / "tests/progs/every_call"

# Calls that cannot be made to fail.
NEVER_FAIL = {"sync", "fork", "vfork"}


def make_work(tmp):
    work = tmp / "work"
    work.mkdir()
    shutil.copy("/bin/true", work / "tool")
    (work / "script").write_text("#!/bin/sh -e\nexit 0\n")
    os.chmod(work / "script", 0o755)
    return work


@functools.lru_cache(None)
def traced(*options):
    """(trace, what the program said, name of the pipe it said it through)"""
    need_root()
    with tempfile.TemporaryDirectory(prefix="dft-calls-") as tmp:
        tmp = Path(tmp).resolve()
        t, said, pipe = trace_said(tmp, [PROGRAM], *options, cwd=make_work(tmp))
        check_with_reader(t.path)
        return t, said, pipe


@test
def test_every_call(tmp):
    t, said, _ = traced()
    compare(t, said)


@test
def test_every_call_as_on_older_kernels(tmp):
    """Without bpf_loop() and bpf_rdonly_cast()."""
    os.environ["DFTRACE_BPF_FALLBACK"] = "1"
    try:
        t, said, _ = traced()
    finally:
        del os.environ["DFTRACE_BPF_FALLBACK"]
    compare(t, said)


@test
def test_every_call_with_all_files(tmp):
    """With --all-files the calls on pipes and devices are events as well."""
    t, said, pipe = traced("--all-files")
    # What the program says goes through a pipe, which is one of all files now.
    compare(t, said, all_files=True, set_aside=lambda e: e.file == pipe)
    for f in t.files:
        equal(f.filtered, {}, f"filtered of {f.path.name}")


def traced_beside(tmp, *options):
    """The same, with the program started by a shell that runs already; -p if no options are given."""
    need_root()
    with listener(tmp / "said") as held, \
            Background(["sh", "-c", 'read line; exec "$@"', "sh", PROGRAM], cwd=make_work(tmp),
                       stdout=held[0]) as shell:
        os.close(held[0])
        held[0] = None
        with Tracer(tmp, *(options or ["-p", shell.pid])) as tracer:
            shell.tell()
            equal(shell.wait(), 0, "every_call")
            t = tracer.stop() if options else tracer.wait()
    said = Said((tmp / "said").read_text())
    for pid, _ in said.threads:
        equal(t.by_pid(pid).lost, {}, f"lost of {pid}")
    return t, said


@test
def test_every_call_after_attach(tmp):
    t, said = traced_beside(tmp)
    compare(t, said)
    check_with_reader(t.path)


@test
def test_every_call_with_the_whole_system(tmp):
    t, said = traced_beside(tmp, "-a")
    compare(t, said)


@test
def test_filtered_calls_are_counted(tmp):
    t, said, _ = traced()
    for (pid, tid), events in said.threads.items():
        if (pid, tid) in said.who("exec"):
            continue
        f = t.by_pid(pid)
        want = collections.defaultdict(collections.Counter)
        for cls, name, _ in events:
            if cls:
                want[cls][name] += 1
        want["pipe"]["write"] += said.lines[pid]
        equal(f.filtered, {cls: dict(n) for cls, n in want.items()}, f"filtered of {pid}")
    first = next(iter(said.threads))[0]
    equal(t.by_pid(first).end.get("undecoded"), {"name_to_handle_at": 1}, "undecoded")


@test
def test_every_decoded_call_was_called(tmp):
    """And each both with success and with failure, where it can fail."""
    _, said, _ = traced()
    out = run([TRACER, "--list-syscalls"]).want(0).out.decode()
    decoded = {}
    for line in out.splitlines()[1:]:
        m = re.match(r" *(\d+|-) (\w+) +(decoded|undecoded|not-io) +(\S+)", line)
        check(m, f"line of --list-syscalls: {line!r}")
        if m[1] != "-" and m[3] == "decoded":
            decoded[int(m[1])] = m[2]
    check(len(decoded) > 90, f"only {len(decoded)} decoded calls")
    equal(sorted(decoded[n] for n in decoded if n not in said.called), [], "never called")
    equal(sorted(n for n in said.called if n not in decoded), [], "called and not decoded")
    equal(sorted(decoded[n] for n, ways in said.called.items()
                 if ways != {True, False} and decoded[n] not in NEVER_FAIL), [],
          "called in one way only")


@test
def test_numbers_that_no_call_has(tmp):
    """Above the table, in a hole of it, and far out: counted, and no event."""
    need_root()
    code = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
os.access("/dft-begin", 0)
for nr in (511, 511, 512, 1000, 70000, 0x7fffffff, 400):
    assert call(ctypes.c_long(nr), 0, 0, 0) == -1, nr
os.access("/dft-end", 0)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code])
    f, = t.files
    names = [(e.name, e.file) for e in f.events if e.file in (b"/dft-begin", b"/dft-end")]
    equal(names, [("access", b"/dft-begin"), ("access", b"/dft-end")], "marks")
    at = [i for i, e in enumerate(f.events) if e.file in (b"/dft-begin", b"/dft-end")]
    equal(at[1] - at[0], 1, "events between the marks, plus one")
    equal(f.end.get("unknown"), 7, "calls of unknown number")


if __name__ == "__main__":
    main()
