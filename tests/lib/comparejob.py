# SPDX-License-Identifier: MIT
"""Runs a job under the tracer and strace at once, and compares what the two saw."""
import os
import re
import select
import time

import iotruth
import straceparse
from dfttest import (LIVE_TIMEOUT, Background, Fail, Tracer, check, check_with_reader, clean_env,
                     need_program, need_root, run, trace)


def make_tree(root, files=2000, seed=1):
    """A tree of `files` regular files of up to 20,000 bytes, with links and an empty directory."""
    state = seed
    made = 0
    os.makedirs(root)
    for d in range(files // 50):
        path = os.path.join(root, f"dir{d % 8}", f"sub{d:03}")
        os.makedirs(path)
        for i in range(50):
            state = (state * 1103515245 + 12345) & 0x7fffffff
            # most files are small, some fill several buffers
            size = (state >> 8) % 700 if i % 10 else (state >> 8) % 20000
            with open(os.path.join(path, f"file {i:02}.txt"), "wb") as f:
                line = b"%d: the quick brown fox %d\n" % (i, state)
                f.write((line * (size // len(line) + 1))[:size])
            made += 1
    os.symlink("dir0", os.path.join(root, "link"))
    os.symlink("nowhere", os.path.join(root, "dangling"))
    os.mkdir(os.path.join(root, "empty"))
    os.link(os.path.join(root, "dir0/sub000/file 00.txt"), os.path.join(root, "hard link"))
    check(made == files, "the tree is not as large as it should be")
    return root


def job(tmp, command, *options, cwd=None, status=0, stdout=None, stdin=None, env=None):
    """Runs `dftrace-bpf OPTIONS -- strace ... COMMAND`. Returns (Trace, Truth)."""
    need_root()
    need_program("strace", command[0])
    log = tmp / "strace.log"
    cwd = tmp if cwd is None else cwd
    kw = {} if stdin is None else {"stdin": stdin}
    t = trace(tmp, straceparse.argv(log, command), *options, cwd=cwd, status=status,
              stdout=stdout, env=env or clean_env(HOME=str(tmp), TMPDIR=str(tmp)), **kw)
    return t, iotruth.Truth(straceparse.parse(log, cwd))


def demand(differences, what="trace and strace differ"):
    """Fails with all of the differences, the first ones in its one line."""
    if differences:
        raise Fail(f"{what}, {len(differences)} times:\n" + "\n".join(differences))


def compared(tmp, command, *options, at_least=1, processes=1, **kw):
    """A job whose trace must agree with strace in everything. Returns (Trace, Truth).

    at_least, processes: what the job must have done for the comparison to be worth something.
    """
    t, truth = job(tmp, command, *options, **kw)
    kept = sum(i.kept for items in truth.items.values() for i in items)
    check(kept >= at_least, f"the job made {kept} calls on files, at least {at_least} expected")
    check(len(truth.items) >= processes,
          f"the job had {len(truth.items)} processes, at least {processes} expected")
    demand(iotruth.compare(t, truth))
    t.no_loss()
    check_with_reader(t.path)
    return t, truth


def must_run(argv, **kw):
    """Preparation outside of the trace."""
    r = run(argv, **kw)
    if r.status != 0:
        raise Fail(f"{argv[0]} failed in preparing the test: {r.text}")
    return r


# ---- jobs that run already -------------------------------------------------------------------

def _parent(pid):
    """That of a process that has not ended, else None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            state, parent = f.read().rpartition(b")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in b"ZX" else int(parent)


def process_tree(pid):
    """The process and all its descendants, as they are now."""
    parents = {int(name): _parent(name) for name in os.listdir("/proc") if name.isdigit()}
    tree = [pid]
    for member in tree:
        tree += [child for child, parent in parents.items() if parent == member]
    return tree


def _attach_strace(log, pids):
    """strace on processes that run, once it has all that are still there; {thread: process}."""
    argv = straceparse.argv(log, [])
    for pid in pids:
        argv += ["-p", str(pid)]
    told_r, told_w = os.pipe()
    strace = Background(argv, stderr=told_w)
    os.close(told_w)
    waiting, gone, told, deadline = set(pids), set(), b"", time.monotonic() + LIVE_TIMEOUT
    while waiting:
        ready = select.select([told_r], [], [], max(0, deadline - time.monotonic()))[0]
        text = os.read(told_r, 65536) if ready else b""
        if not text:
            strace.end()
            os.close(told_r)
            raise Fail(f"strace has not attached to {sorted(waiting)}: {told!r}")
        told += text
        # Of one that has ended and not been waited for it says that it may not.
        refused = re.findall(rb"PTRACE_SEIZE, (\d+)\): (?:No such process|Operation not permitted)", told)
        gone = {pid for pid in map(int, refused) if _parent(pid) is None}
        waiting -= gone | set(map(int, re.findall(rb"Process (\d+) attached", told)))
    threads = {int(tid): pid for pid in set(pids) - gone for tid in os.listdir(f"/proc/{pid}/task")}
    return strace, told_r, threads


def attached(tmp, pid, work, *options, at_least=1, processes=1):
    """strace and the tracer attach to a process and its descendants, work() has it do something
    and end; then the two must agree in everything. Returns (Trace, Truth).
    """
    need_root()
    need_program("strace")
    log = tmp / "strace.log"
    strace, told, threads = _attach_strace(log, process_tree(pid))
    pids = sorted(set(threads.values()))
    cwds = {p: os.readlink(f"/proc/{p}/cwd") for p in pids}
    # strace must not be held up by a full pipe.
    with Background(["cat"], stdin=told), strace:
        os.close(told)
        with Tracer(tmp, *(f"-p{p}" for p in pids), *options) as tracer:
            # One more: the line that is being written.
            since = log.read_bytes().count(b"\n") + 1
            work()
            t = tracer.wait()
        strace.wait()
    truth = iotruth.Truth(straceparse.parse(log, threads=threads, cwds=cwds), since)
    kept = sum(i.kept and not i.optional for items in truth.items.values() for i in items)
    check(kept >= at_least, f"the job made {kept} calls on files, at least {at_least} expected")
    check(len(truth.items) >= processes,
          f"the job had {len(truth.items)} processes, at least {processes} expected")
    demand(iotruth.compare(t, truth))
    t.no_loss()
    check_with_reader(t.path)
    return t, truth
