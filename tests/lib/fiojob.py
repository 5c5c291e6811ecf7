# SPDX-License-Identifier: MIT
"""Runs fio under the tracer and holds the trace against fio's own report, file by file.

Each job of fio has a file of its own, whole before it begins, so that fio need not lay it out. Then
what fio does to the file is what it reports: calls that move data (those that read back what was
written, for --verify, are among its reads) and fsyncs. One at the end (--end_fsync) it counts at
times and at times not: it is not asked for.
"""
import collections
import json
import os

from dfttest import check, check_with_reader, equal, fail, need_program, need_root, trace

READS = {"read", "readv", "pread", "preadv", "preadv2"}
WRITES = {"write", "writev", "pwrite", "pwritev", "pwritev2"}

# Name here: (engine of fio, its options, events that move the data). An engine that waits for
# several requests at once has a queue.
QUEUE = ["--iodepth=8"]
URING = {"read", "write", "pread", "pwrite"}
ENGINES = {
    "sync": ("sync", [], {"read", "write"}),
    "psync": ("psync", [], {"pread", "pwrite"}),
    "pvsync": ("pvsync", [], {"preadv", "pwritev"}),
    "pvsync2": ("pvsync2", [], {"preadv2", "pwritev2"}),
    "posixaio": ("posixaio", QUEUE, {"pread", "pwrite"}),
    "splice": ("splice", [], {"splice"}),
    "libaio": ("libaio", QUEUE, {"pread", "pwrite"}),
    "libaio direct": ("libaio", [*QUEUE, "--direct=1"], {"pread", "pwrite"}),
    "io_uring": ("io_uring", QUEUE, URING),
    "io_uring sqpoll": ("io_uring", [*QUEUE, "--sqthread_poll=1"], URING),
    "io_uring fixed": ("io_uring", [*QUEUE, "--registerfiles=1", "--fixedbufs=1"], URING),
    "io_uring all": ("io_uring", [*QUEUE, "--sqthread_poll=1", "--registerfiles=1",
                                  "--fixedbufs=1"], URING),
    "mmap": ("mmap", [], None),  # see compare_mapped()
}

# Not more than a pipe holds: splice moves more in several calls.
BLOCK = 16384


def made(path, size, seed):
    """A file of that many bytes."""
    line = b"%d: what stood here before\n" % seed
    path.write_bytes((line * (size // len(line) + 1))[:size])


def argv(engine, rw, files, size, report, verify):
    """fio with one job for each file."""
    name, options, _ = ENGINES[engine]
    words = ["fio", "--output-format=json", f"--output={report}", f"--ioengine={name}", *options,
             f"--rw={rw}", f"--size={size}", f"--bs={BLOCK}", "--fsync=16",
             "--randseed=4711", "--allrandrepeat=1"]
    if verify:
        words += ["--verify=crc32c", "--verify_fatal=1"]
    for i, path in enumerate(files):
        words += [f"--name=job{i}", f"--filename={path}"]
    return words


def reported(path):
    """Of each job of fio's report: (reads, bytes read, writes, bytes written, fsyncs)."""
    text = path.read_text()
    found = []
    for job in json.loads(text[text.index("{"):])["jobs"]:
        equal(job["error"], 0, f"error of fio's {job['jobname']}")
        read, write = job["read"], job["write"]
        found.append((read["total_ios"], read["io_bytes"], write["total_ios"], write["io_bytes"],
                      job["sync"]["total_ios"]))
    return found


def direction(e, path):
    """Which way an event moved data of the file: "read", "write" or None."""
    if e.name in ("splice", "sendfile", "copy_file_range"):
        # Their fhash is the file read, but sendfile's.
        other = "read" if e.name == "sendfile" else "write"
        if e.named("other_fhash") == path:
            return other
        return ({"read", "write"} - {other}).pop() if e.file == path else None
    if e.file != path:
        return None
    return "read" if e.name in READS else "write" if e.name in WRITES else None


def traced(t, path, events):
    """The same five numbers, from the trace; all data was moved by `events`."""
    sums = collections.Counter()
    for e in t.events():
        way = direction(e, path)
        if way:
            check(e.name in events, lambda e=e: f"data was moved by {e}")
            check(e.ret > 0, lambda e=e: f"no data was moved by {e}")
            sums[way] += 1
            sums[way + " bytes"] += e.ret
        elif e.name == "fsync" and e.file == path:
            sums["fsync"] += 1
    return (sums["read"], sums["read bytes"], sums["write"], sums["write bytes"], sums["fsync"])


def compare_mapped(t, path, want, size):
    """No call moves the data: what the trace has are faults. The kernel maps many pages at one, so
    that there may be few; a page has at most one in a mapping, and one more after each sync."""
    reads, _, writes, _, syncs = want
    maps = t.events("mmap", file=path)
    check(maps, "fio has mapped nothing")
    equal({e.args["length"] for e in maps}, {size}, "bytes mapped")
    equal([e for e in t.events() if direction(e, path)], [], "calls that move data")
    equal(len(t.events("msync", file=path)), syncs, "syncs of the mapping")
    faulted = collections.Counter()
    for f in t:
        for name in ("mmap_read", "mmap_write"):
            rows, majors = f.faults(name, path)
            faulted[name] += sum(r["ret_sum"] for r in rows) + sum(e.ret for e in majors)
    most = size * (len(maps) + syncs)
    check(faulted["mmap_write" if writes else "mmap_read"], f"faults: {dict(faulted)}")
    for name, number in (("mmap_read", reads), ("mmap_write", writes)):
        check(number or not faulted[name], f"{name}: {faulted[name]} bytes without a reason")
        check(faulted[name] <= most, f"{name}: {faulted[name]} of {most} bytes")


def compared(tmp, engine, rw="randrw", jobs=2, size=1 << 20, verify=True, options=()):
    """One run of fio; fails unless trace and report agree. Returns what fio reported."""
    need_root()
    need_program("fio")
    work = tmp / "fio"
    work.mkdir()
    files = [work / f"file{i}" for i in range(jobs)]
    for i, path in enumerate(files):
        made(path, size, i)
    report = tmp / "report.json"
    t = trace(tmp, argv(engine, rw, files, size, report, verify), *options, cwd=tmp)
    t.no_loss()
    check_with_reader(t.path)
    want = reported(report)
    equal(len(want), jobs, "jobs of fio")
    for path, (reads, read, writes, written, syncs) in zip(files, want):
        check("read" not in rw and not verify or reads, f"fio read nothing of {path.name}")
        check(rw.endswith("read") or writes, f"fio wrote nothing to {path.name}")
        if ENGINES[engine][2] is None:
            compare_mapped(t, os.fsencode(path), (reads, read, writes, written, syncs), size)
            continue
        got = traced(t, os.fsencode(path), ENGINES[engine][2])
        if got != (reads, read, writes, written, syncs):
            fail(f"{engine} {rw} {path.name}: (reads, bytes, writes, bytes, fsyncs): trace {got}, "
                 f"fio {(reads, read, writes, written, syncs)}")
    return want
