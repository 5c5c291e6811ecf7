# SPDX-License-Identifier: MIT
"""Descriptors that come by other ways than open, and files that nobody finds by name."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import compare, trace_said  # noqa: E402

PROG = BUILD / "tests/progs/descriptors"

# duplicates 1, exec 1, shared tables 6, unshared 2, passed 2, fetched 2, special files 4
THREADS = 18


def said_so(tmp, *options, all_files=False):
    need_root()
    work = tmp / "work"
    work.mkdir()
    t, said, pipe = trace_said(tmp, [PROG], *options, cwd=work)
    check_with_reader(t.path)
    equal(len(said.who("end")), THREADS, "threads that said something")
    compare(t, said, all_files=all_files, set_aside=lambda e: e.file == pipe)


@test
def test_said(tmp):
    """Duplicates, exec, shared and separate tables, SCM_RIGHTS, pidfd_getfd, O_PATH, memfd ..."""
    said_so(tmp)


@test
def test_said_with_all_files(tmp):
    said_so(tmp, "--all-files", all_files=True)


@test
def test_sums(tmp):
    """The same in sums: each file has its own writes, whichever way the descriptor came."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    t, said, _ = trace_said(tmp, [PROG], "--aggregate", cwd=work)
    want, got = {}, {}
    for events in said.threads.values():
        for _, name, args in events:
            args = dict(args)
            if name == "pwrite" and args["ret"] > 0:
                file = args["fhash"]
                want[file] = want.get(file, 0) + args["ret"]
    for f in t.files:
        for row in f.rows("pwrite"):
            file = f.resolve(row["args"].get("fhash"))
            if file is not None and row["args"]["ret_sum"]:
                got[file] = got.get(file, 0) + row["args"]["ret_sum"]
    check(len(want) > 12, f"the program wrote to {len(want)} files")
    equal(got, want, "bytes of each file")


if __name__ == "__main__":
    main()
