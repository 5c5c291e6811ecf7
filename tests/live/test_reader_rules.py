#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What DFTracer's readers derive from a trace (tests/lib/reader_rules.py) against strace.

For three jobs: by file and category of I/O, the number of events and the bytes, and for calls that
carry their position, the lowest and highest offset. strace's own file is set aside, and what its
child did before it ran the command (it closes the log).
"""
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import reader_rules  # noqa: E402
from comparejob import demand, job, make_tree  # noqa: E402
from dfttest import PYTHON, check, equal, main, test  # noqa: E402


class Want:
    def __init__(self):
        self.count = self.size = 0
        self.offsets = []


def expected(truth):
    """{(pid, category, file name): Want}, from strace."""
    want = {}
    for tgid, items in truth.items.items():
        for i in items:
            if not i.kept or i.optional:
                continue
            name = i.file.decode("utf-8") if i.file is not None else ""
            if i.event == "execve":
                name = None  # no file hash is asked of it, see compared()
            row = want.setdefault((tgid, reader_rules.io_category(i.event), name), Want())
            row.count += 1
            row.size += i.bytes
            if i.event in ("pread", "pwrite"):
                row.offsets.append(int(i.call.arg(3)))
    return want


def compared(tmp, command, **kw):
    # Readers take a row for an event, and strace does not see page faults.
    t, truth = job(tmp, command, "--no-mmap", **kw)
    totals = reader_rules.Totals()
    totals.add_directory(t.path)
    equal(list(totals.notes), [], "what the readers complain about")
    equal(totals.hosts, {socket.gethostname()}, "hosts")

    logged = set(truth.items)
    first = truth.log.first.tgid
    want = expected(truth)
    # The exec of the command, and the close of the log before it, are strace's child's.
    log = str(tmp / "strace.log")
    differences = []
    got = {}
    for (pid, category, name), row in totals.by_process.items():
        if pid not in logged:
            continue
        if pid == first and name == log:
            check(category == "METADATA" and row.count == 1, "strace's child used the log")
            continue
        if name.startswith("pipe:["):
            # The sum that we write for a pipe and direction is one event without a size to them.
            check((row.count, row.size) == (1, 0), f"{name} is {row.count} events, {row.size} bytes")
            continue
        got[pid, category, name] = row
    # execve is in category OTHER; whether it has a file is not said by the format. Its number is
    # compared by the sum over all files of that category.
    for pid in logged:
        w = sum(r.count for (p, c, _), r in want.items() if p == pid and c == "OTHER")
        g = sum(r.count for (p, c, _), r in got.items() if p == pid and c == "OTHER")
        if w != g:
            differences.append(f"process {pid}: OTHER: trace {g}, strace {w}")
    for key in sorted(set(want) | set(got), key=repr):
        pid, category, name = key
        if category == "OTHER":
            continue
        w, g = want.get(key) or Want(), got.get(key) or reader_rules.Row()
        if (w.count, w.size) != (g.count, g.size):
            differences.append(f"process {pid}: {category} {name!r}: trace {g.count} events, "
                               f"{g.size} bytes; strace {w.count} events, {w.size} bytes")
    demand(differences)
    return totals, want


def total(rows, category):
    return sum(r.size for (_, c, _), r in rows.items() if c == category)


@test
def test_tar_pipeline(tmp):
    make_tree(tmp / "tree", 300)
    totals, _ = compared(tmp, ["sh", "-c", "tar cf - tree | gzip > t.gz; gzip -dc t.gz > t.tar"])
    row = totals.rows["WRITE", str(tmp / "t.tar")]
    equal(row.size, os.path.getsize(tmp / "t.tar"), "bytes written to t.tar")


@test
def test_sqlite(tmp):
    sql = ("create table t(i integer primary key, v blob);"
           "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) "
           "insert into t select i, zeroblob(1000) from n; select sum(length(v)) from t;")
    totals, want = compared(tmp, ["sqlite3", "some.db", sql])
    name = str(tmp / "some.db")
    for category in ("READ", "WRITE"):
        offsets = [o for (_, c, n), w in want.items() if c == category and n == name
                   for o in w.offsets]
        row = totals.rows[category, name]
        equal((row.offset_min, row.offset_max), (min(offsets), max(offsets)),
              f"offsets of {category}")


@test
def test_python_copies(tmp):
    """Plain, positioned and vectored calls; a descriptor shared with a child; a failed read."""
    code = """
import os
a = os.open("a", os.O_RDWR | os.O_CREAT, 0o644)
os.write(a, b"x" * 10000)
os.pwrite(a, b"y" * 100, 20000)
os.writev(a, [b"1" * 5, b"2" * 6])
os.pwritev(a, [b"3" * 7], 30000)
os.lseek(a, 0, 0)
while os.read(a, 4096):
    pass
os.preadv(a, [bytearray(50), bytearray(60)], 5)
if os.fork() == 0:
    os.lseek(a, 100, 0)
    os.read(a, 10)
    os._exit(0)
os.wait()
w = os.open("a", os.O_WRONLY)
try:
    os.read(w, 10)
except OSError:
    pass
b = os.open("b", os.O_RDWR | os.O_CREAT, 0o644)
os.copy_file_range(a, b, 500, 0)
os.sendfile(b, a, 0, 700)
os.fsync(b)
"""
    totals, _ = compared(tmp, [PYTHON, "-I", "-c", code])
    row = totals.rows["WRITE", str(tmp / "a")]
    equal((row.count, row.size), (4, 10000 + 100 + 11 + 7), "writes to a")
    equal(row.offset_max, 30000, "highest offset written")
    other = totals.rows["OTHER", str(tmp / "b")]
    equal(other.size, 700, "bytes of sendfile to b")
    check(totals.rows["OTHER", str(tmp / "a")].size == 500, "bytes of copy_file_range from a")


if __name__ == "__main__":
    main()
