# SPDX-License-Identifier: MIT
"""Runs a job under the tracer and strace at once, and compares what the two saw."""
import os

import iotruth
import straceparse
from dfttest import (Fail, check, check_with_reader, clean_env, need_program, need_root, run,
                     trace)


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
