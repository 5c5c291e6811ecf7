#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fio's engines that submit requests: calls and bytes of each file are those of its own report."""
import collections
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

URING = ["--ioengine=io_uring"]
POLLED = [*URING, "--sqthread_poll=1", "--registerfiles=1", "--fixedbufs=1"]
READS = {"read", "readv", "pread", "preadv"}
WRITES = {"write", "writev", "pwrite", "pwritev"}


def fio(tmp, via, engine, *options, jobs=1):
    need_root()
    need_program("fio")
    work = tmp / "work"
    work.mkdir()
    report = tmp / "report.json"
    # The file of each job has its name.
    argv = ["fio", "--output-format=json", f"--output={report}", f"--directory={work}", "--size=2m",
            "--bs=4k", "--iodepth=16", "--filename_format=$jobname.$jobnum.data", "--name=job",
            f"--numjobs={jobs}", *engine, *options]
    t = trace(tmp, argv, cwd=tmp).no_loss()
    got = collections.Counter()
    for e in t.events(where=lambda e: e.args.get("via") == via):
        kind = "read" if e.name in READS else "write" if e.name in WRITES else None
        if kind:
            check(e.ret >= 0, f"{e}")
            name = os.fsdecode(os.path.basename(e.file))
            got[name, kind, "calls"] += 1
            got[name, kind, "bytes"] += e.ret
    want = collections.Counter()
    for i, job in enumerate(json.loads(report.read_text())["jobs"]):
        equal(job["error"], 0, "fio's error")
        for kind in ("read", "write"):
            want[f"job.{i}.data", kind, "calls"] += job[kind]["total_ios"]
            want[f"job.{i}.data", kind, "bytes"] += job[kind]["io_bytes"]
    equal(got, +want, "calls and bytes by file")
    check_with_reader(t.path)


@test
def test_uring(tmp):
    fio(tmp, "io_uring", URING, "--rw=randrw", jobs=2)


@test
def test_uring_polled_registered(tmp):
    fio(tmp, "io_uring", POLLED, "--rw=randrw", jobs=2)


@test
def test_uring_direct(tmp):
    fio(tmp, "io_uring", URING, "--rw=write", "--direct=1", "--verify=crc32c")


@test
def test_aio(tmp):
    fio(tmp, "aio", ["--ioengine=libaio"], "--rw=randrw", jobs=2)


@test
def test_aio_direct(tmp):
    fio(tmp, "aio", ["--ioengine=libaio"], "--rw=randread", "--direct=1")


if __name__ == "__main__":
    main()
