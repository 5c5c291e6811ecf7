# SPDX-License-Identifier: MIT
"""Mapped files: each page fault that the kernel counts in one is told, with its file and direction, and
no other; and the calls on mappings name their file. tests/progs/mapped.c does it and says what the
kernel counted."""
import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

MAPPED = BUILD / "tests/progs/mapped"
PAGE = os.sysconf("SC_PAGE_SIZE")

Step = collections.namedtuple("Step", "pid what minor major")


def make(path, pages):
    """A file whose pages are all different, on the disk."""
    with open(path, "wb") as f:
        for i in range(pages):
            f.write(i.to_bytes(8, "little") * (PAGE // 8))
        f.flush()
        os.fsync(f.fileno())
    return path


def said(text):
    """What the kernel has counted, step by step."""
    lines = text.decode().splitlines()
    equal(lines[0], f"page {PAGE}", "page size")
    return [Step(int(w[0]), w[1], int(w[2]), int(w[3])) for w in map(str.split, lines[1:])
            if len(w) == 4]


def need_faults():
    need_root()
    if not Path("/sys/kernel/tracing/events/exceptions/page_fault_user").exists():
        skip("page faults", "this kernel has no tracepoint for them")


def job(tmp, *steps, options=(), pages=64, path=None):
    """Traces the steps on a file; (trace, what the kernel counted, the file)."""
    need_faults()
    path = make(path or tmp / "file", pages)
    t = trace(tmp, [MAPPED, f"open:{path}:{pages}", *[s.replace("@", str(tmp)) for s in steps]],
              *options)
    t.no_loss()
    check_with_reader(t.path)
    return t, said(t.run.out), path


def kernel(steps, *what, pid=None):
    """How many faults the kernel counted in those steps."""
    return sum(s.minor + s.major for s in steps
               if s.what.split(":")[0] in what and (pid is None or s.pid == pid))


def traced(f, name, path):
    """Faults of a process in a file, by rows and events; their bytes must be their pages."""
    rows, events = f.faults(name, path)
    n = sum(r["dft_cnt"] for r in rows)
    equal(sum(r["ret_sum"] for r in rows), n * PAGE, f"bytes of the rows of {name}")
    for e in events:
        equal((e.ret, e.args["offset"] % PAGE), (PAGE, 0), f"{e}")
        check(e.args["offset"] < os.path.getsize(path) or e.args.get("deleted"), f"offset of {e}")
    return n + len(events)


def only_file(t):
    (f,) = t.files
    return f


def as_counted(t, steps, path, reads, writes):
    f = only_file(t)
    equal(traced(f, "mmap_read", path), reads, "faults that read")
    equal(traced(f, "mmap_write", path), writes, "faults that write")
    check(reads + writes, "the kernel counted none")
    equal([r for r in f.records if r["name"].startswith("mmap_") and "fhash" not in r["args"]], [],
          "faults in no file")


@test
def test_shared_writes(tmp):
    """Each page of a fresh shared mapping that is written is a fault that writes."""
    t, steps, path = job(tmp, "map:shared", "write:0:20", "write:0:20", "write:30:10")
    as_counted(t, steps, path, 0, kernel(steps, "write"))


@test
def test_shared_write_behind_read(tmp):
    """The page is there, and becomes writable."""
    t, steps, path = job(tmp, "map:shared", "read:0:20", "write:0:20")
    as_counted(t, steps, path, kernel(steps, "read"), kernel(steps, "write"))


@test
def test_private(tmp):
    """A private copy is a read of the file; of a page that was read before it is none."""
    t, steps, path = job(tmp, "map:private", "read:0:10", "write:20:10")
    as_counted(t, steps, path, kernel(steps, "read", "write"), 0)


@test
def test_private_copy(tmp):
    t, steps, path = job(tmp, "map:private", "read:0:10", "write:0:10")
    check(kernel(steps, "write"), "the kernel counted no copies")
    as_counted(t, steps, path, kernel(steps, "read"), 0)


@test
def test_read_only(tmp):
    t, steps, path = job(tmp, "map:ro", "read:0:64")
    as_counted(t, steps, path, kernel(steps, "read"), 0)


@test
def test_from_disk(tmp):
    """Those that wait for the disk are events, each with the page it is about."""
    t, steps, path = job(tmp, "cold", "map:shared", "read:3:5", "write:20:4", "read:40:1")
    f = only_file(t)
    as_counted(t, steps, path, kernel(steps, "read"), kernel(steps, "write"))
    major = sum(s.major for s in steps if s.what.startswith(("read", "write")))
    events = [e for e in f.events if e.name.startswith("mmap_") and e.file == os.fsencode(path)]
    equal(len(events), major, "events")
    check(major, "no fault had to wait for the disk")
    pages = [(e.name, e.args["offset"] // PAGE) for e in events]
    equal(len(set(pages)), len(pages), "distinct pages")
    touched = {("mmap_read", p) for p in (3, 4, 5, 6, 7, 40)} | {("mmap_write", p)
                                                                 for p in range(20, 24)}
    check(set(pages) <= touched, f"pages not touched: {set(pages) - touched}")
    equal([e.ts for e in events], sorted(e.ts for e in events), "order")


@test
def test_in_child(tmp):
    """A mapping that a process was born with, its file closed and unlinked."""
    t, steps, path = job(tmp, "map:shared", "read:0:4", "close", "unlink", "fork", "read:0:8",
                         "write:8:8")
    parent, child = steps[0].pid, steps[-1].pid
    check(parent != child, "one process")
    make(path, 64)
    equal(traced(t.by_pid(parent), "mmap_read", path), kernel(steps, "read", pid=parent), "parent")
    equal(traced(t.by_pid(child), "mmap_read", path), kernel(steps, "read", pid=child), "child")
    equal(traced(t.by_pid(child), "mmap_write", path), kernel(steps, "write", pid=child), "writes")
    check(kernel(steps, "read", pid=child), "the child had no faults")


@test
def test_by_calls(tmp):
    """A call that is given mapped memory: the kernel has the faults."""
    t, steps, path = job(tmp, "map:shared", "give:0:8:@/out", "take:16:8:@/out")
    as_counted(t, steps, path, kernel(steps, "give"), kernel(steps, "take"))
    equal((tmp / "out").read_bytes(), path.read_bytes()[:8 * PAGE], "what was written")


@test
def test_failing(tmp):
    """Behind the end of the file there is nothing to read: SIGBUS, and no fault that was served."""
    t, steps, path = job(tmp, "map:shared", "trunc:8", "read:0:4", "bus:12", "bus:13", "memory:3",
                         "read:4:4", "bus:40")
    as_counted(t, steps, path, kernel(steps, "read"), 0)


@test
def test_memory(tmp):
    """Memory that is no file's is not told, shared or not."""
    t, steps, path = job(tmp, "map:shared", "memory:500", "anon_shared:500", "read:0:2")
    f = only_file(t)
    check(kernel(steps, "memory", "anon_shared") >= 1000, "the kernel counted too few")
    as_counted(t, steps, path, kernel(steps, "read"), 0)
    names = {f.resolve(r["args"].get("fhash")) for r in f.records
             if r["name"] in ("mmap_read", "mmap_write")}
    equal({n for n in names if n is None or b"zero" in n or not n.startswith(b"/")}, set(), "names")
    equal([e for e in f.events if e.name == "munmap" and not e.file], [], "munmap of memory")


def on_tmpfs(tmp, use):
    need_faults()
    at = tmp / "mnt"
    at.mkdir()
    run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", at]).want(0)
    try:
        use(at)
    finally:
        run(["umount", at]).want(0)


@test
def test_tmpfs(tmp):
    """Two files, of a file system without a disk."""
    def use(at):
        other = make(at / "other", 8)
        t, steps, path = job(tmp, "map:shared", "read:0:4", "write:4:4", f"open:{other}:8",
                             "map:private", "read:0:8", path=at / "file")
        f = only_file(t)
        reads = [s.minor + s.major for s in steps if s.what.startswith("read")]
        equal(traced(f, "mmap_read", path), reads[0], "the first file")
        equal(traced(f, "mmap_read", other), reads[1], "the second")
        equal(traced(f, "mmap_write", path), kernel(steps, "write"), "written")
    on_tmpfs(tmp, use)


@test
def test_while_rows_are_written(tmp):
    """Many rows of a thread that goes on having faults add up."""
    def use(at):
        t, steps, path = job(tmp, *["map:shared", "write:0:8000", "unmap"] * 8,
                             options=("--flush", "10ms"), pages=8000, path=at / "file")
        as_counted(t, steps, path, 0, kernel(steps, "write"))
        rows, _ = only_file(t).faults("mmap_write", path)
        check(len(rows) > 1, "one row only")
    on_tmpfs(tmp, use)


@test
def test_attached(tmp):
    """From the attach on."""
    need_faults()
    path = make(tmp / "file", 64)
    with Background([MAPPED, f"open:{path}:64", "map:shared", "read:0:8", "pause", "read:8:8",
                     "write:0:4", "unmap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as b:
        lines = []
        while not lines or lines[-1] != b"paused\n":
            lines.append(b.line())
        with Tracer(tmp, "-p", b.proc.pid) as tracer:
            b.tell()
            out = b.proc.stdout.read()
            equal(b.wait(), 0, "exit status")
            t = tracer.wait()
    steps = said(b"page %d\n" % PAGE + out)
    as_counted(t, steps, path, kernel(steps, "read"), kernel(steps, "write"))
    equal([(e.file, e.args["length"]) for e in t.events("munmap", file=path)],
          [(os.fsencode(path), 64 * PAGE)], "munmap")


@test
def test_calls_on_mappings(tmp):
    """munmap, mremap and msync name the file that is mapped, and where."""
    t, steps, path = job(tmp, "map:shared", "msync", "remap:128", "unmap", "memory:9")
    f = only_file(t)
    got = [(e.name, e.args.get("old_length"), e.args.get("length", e.args.get("len")),
            e.args["offset"], e.ret > 0) for e in f.events
           if e.file == os.fsencode(path) and e.name in ("msync", "mremap", "munmap")]
    equal(got, [("msync", None, 64 * PAGE, 0, False), ("mremap", 64 * PAGE, 128 * PAGE, 0, True),
                ("munmap", None, 128 * PAGE, 0, False)], "calls")
    (mapped,) = [e for e in f.events if e.file == os.fsencode(path) and e.name == "mmap"]
    by_name = {e.name: e for e in f.events if e.file == os.fsencode(path)}
    equal(by_name["mremap"].args["address"], mapped.ret, "address")
    equal(by_name["munmap"].args["address"], by_name["mremap"].ret, "address behind mremap")


# ---- what is left out ------------------------------------------------------------------------

def summary(t):
    s = json.loads(run([READER, "summary", "--json", "--top", "0", t.path]).want(0).out)
    text = run([READER, "summary", "--top", "0", t.path]).want(0).out.decode()
    return {f.get("name"): f for f in s["top_files"]}, s, text


@test
def test_summary(tmp):
    t, steps, path = job(tmp, "map:shared", "read:0:8", "write:8:8")
    n = kernel(steps, "read", "write")
    files, s, text = summary(t)
    row = files[str(path)]
    equal((row["mapped"], row["mapped_bytes"], row["read"]), ("known", n * PAGE, 0), "the file")
    equal(s["aggregated_chosen"], 0, "calls in rows")
    check("UNKNOWN" not in text and "AGGREGATED" not in text, text)
    check(re.search(rf"^ +0 B +0 B +{n * PAGE / 1024:.1f} KiB .*{re.escape(str(path))}$", text, re.M),
          text)
    equal(only_file(t).end["cfg"]["mmap"], 1, "cfg")


@test
def test_no_mmap(tmp):
    """Without page faults the bytes are unknown, not 0."""
    t, steps, path = job(tmp, "map:shared", "read:0:8", options=("--no-mmap",))
    f = only_file(t)
    equal([r for r in f.records if r["name"].startswith("mmap_")], [], "faults")
    equal(f.end["cfg"]["mmap"], 0, "cfg")
    files, _, text = summary(t)
    equal((files[str(path)]["mapped"], files[str(path)]["read"]), ("unknown", 0), "the file")
    check(re.search(r"^UNKNOWN: .* mapped file", text, re.M), text)
    check(re.search(rf"^ +0 B +0 B +unknown .*{re.escape(str(path))}$", text, re.M), text)


@test
def test_filters(tmp):
    """--only and --exclude leave faults out and count them."""
    for options, cls in ((("--only", "open"), "only"), (("--exclude", str(tmp / "file")), "excluded")):
        out = tmp / cls
        out.mkdir()
        path = make(tmp / "file", 64)
        need_faults()
        t = trace(out, [MAPPED, f"open:{path}:64", "map:shared", "read:0:8", "write:8:8"], *options)
        steps = said(t.run.out)
        f = only_file(t)
        equal([f.faults(n, path) for n in ("mmap_read", "mmap_write")], [([], [])] * 2, "told")
        equal(f.filtered[cls]["mmap_write"], kernel(steps, "write"), cls)
        check(f.filtered[cls]["mmap_read"] >= kernel(steps, "read"), f"{cls}: {f.filtered}")


@test
def test_aggregate(tmp):
    """Those that waited for the disk are in the rows, too, with their time."""
    t, steps, path = job(tmp, "cold", "map:shared", "read:0:8", options=("--aggregate",))
    f = only_file(t)
    as_counted(t, steps, path, kernel(steps, "read"), 0)
    rows, events = f.faults("mmap_read", path)
    equal(events, [], "events")
    check(sum(s.major for s in steps) and max(r["dur_max"] for r in rows), "no time")


@test
def test_program_code(tmp):
    """The sections of programs and libraries are mapped files as well; they are not the job's I/O."""
    t, _, path = job(tmp, "map:shared", "read:0:1")
    f = only_file(t)
    names = {f.resolve(r["args"].get("fhash")) for r in f.records if r["name"].startswith("mmap_")}
    check(os.fsencode(path) in names, "the file is missing")
    equal({n for n in names if b".so" in n and not n.endswith(b"ld.so.cache")}, set(), "libraries")
    check(os.fsencode(MAPPED) not in names, "the program itself")


@test
def test_fio(tmp):
    """fio maps its file: what it wrote and read went through page faults, of that file alone."""
    need_faults()
    need_program("fio")
    for rw, name in (("write", "mmap_write"), ("read", "mmap_read")):
        out = tmp / rw
        out.mkdir()
        t = trace(out, ["fio", "--name=a", "--thread", "--ioengine=mmap", f"--rw={rw}", "--bs=4k",
                        "--size=4m", f"--filename={tmp}/data", "--output-format=json"],
                  timeout=LIVE_TIMEOUT)
        fio = json.loads(t.run.out[t.run.out.index(b"{"):])["jobs"][0][rw]
        equal(fio["io_bytes"], 4 << 20, "bytes by fio")
        n = sum(traced(f, name, tmp / "data") for f in t)
        check(0 < n * PAGE <= fio["io_bytes"], f"{n} faults")
        files, _, _ = summary(t)
        check(files[f"{tmp}/data"]["mapped_bytes"] >= n * PAGE, "summary")


if __name__ == "__main__":
    main()
