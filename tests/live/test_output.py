# SPDX-License-Identifier: MIT
"""A disk that fills up, stops being writable or is slow costs lines of the trace, not its validity,
and nothing of the job."""
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

BLOCK, BLOCKS = 4096, 256

READER_CODE = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
calls = int(sys.argv[2])
for i in range(calls):
    if os.pread(fd, {BLOCK}, i % {BLOCKS} * {BLOCK}) != bytes({BLOCK}):
        sys.exit("wrong bytes")
print(calls)
"""


@contextlib.contextmanager
def tmpfs(path, size):
    path.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path]).want(0)
    try:
        yield path
    finally:
        run(["umount", path]).want(0)


def wait_for(what, condition):
    deadline = time.monotonic() + LIVE_TIMEOUT
    while not (got := condition()):
        check(time.monotonic() < deadline, f"{what}: waited {LIVE_TIMEOUT:g} s for it")
        os.sched_yield()
    return got


def trace_files(out, program=""):
    return sorted(Path(out).glob(f"{program}*.pfw.gz"))


def job(tmp, *calls):
    """A shell that has a process make so many reads, and another the next after a line on stdin;
    a number of 0 makes no process. It writes a file in the end."""
    (tmp / "data").write_bytes(bytes(BLOCK * BLOCKS))
    (tmp / "reader").write_text(READER_CODE)
    steps = [f"{PYTHON} -I -S {tmp}/reader {tmp}/data {n}" if n else "echo 0" for n in calls]
    return ["sh", "-ec", "\nread line\n".join(steps) + f"\necho all of it >{tmp}/result\n"]


def job_is_right(tmp, stdout, *calls):
    """What the job wrote is there, and its reads were right."""
    equal((tmp / "result").read_text(), "all of it\n", "what the job wrote")
    equal(stdout.split(), [str(n).encode() for n in calls], "what the job said")


def readers(t):
    """The files of the processes that read, by how much they read."""
    return sorted((f for f in t.files if f.program.startswith("python")), key=lambda f: len(f.events))


def prefix_of_reads(f, tmp, calls):
    """The reads in its file are the first ones the process made. How many there are."""
    path = os.fsencode(tmp / "data")
    offsets = [e.args["offset"] for e in f.events if e.name == "pread" and e.file == path]
    for i, offset in enumerate(offsets):
        if offset != i % BLOCKS * BLOCK:
            fail(f"{f.path.name}: read {i} is at {offset}")
    check(len(offsets) <= calls, f"{len(offsets)} reads of {calls}")
    return len(offsets)


def one_error(text, *words):
    return one_error_line(Run([], 1, b"", text), *words)


@test
def test_disk_full(tmp):
    """What fitted stays, whole: of the process that filled the disk and of the one before it."""
    need_root()
    calls = 300000
    r, w = os.pipe()
    with tmpfs(tmp / "small", "1m") as small:
        with Tracer(tmp, "-q", "--", *job(tmp, 100, calls), out=small / "out", status=1,
                    stdin=r) as tracer:
            os.close(r)
            first, = wait_for("a file", lambda: trace_files(small / "out", "python"))

            def complete():
                try:
                    return load_file(first).end
                except Fail:
                    return None  # it is being written

            wait_for("the end of the first process", complete)
            os.write(w, b"\n")
            os.close(w)
            t = tracer.wait()
        room = os.statvfs(small).f_bavail * os.statvfs(small).f_bsize
    job_is_right(tmp, tracer.stdout, 100, calls)
    one_error(tracer.err, "No space left", f"{small}/out/", "free some space")
    done, cut = readers(t)
    equal(done.path, first, "file of the process before")
    equal(prefix_of_reads(done, tmp, 100), 100, "reads of the process before")
    number = prefix_of_reads(cut, tmp, calls)
    print(f"  {number} of {calls} reads in {len(cut.members)} members, {room} bytes left")
    check(number > calls / 10, f"only {number} reads of {calls}")
    equal(cut.end, None, "end of the process that filled the disk")


@test
def test_disk_turns_read_only(tmp):
    need_root()
    r, w = os.pipe()
    with tmpfs(tmp / "small", "16m") as small:
        with Tracer(tmp, "-q", "--", *job(tmp, 100, 1000), out=small / "out", status=1,
                    stdin=r) as tracer:
            os.close(r)
            wait_for("two files", lambda: len(trace_files(small / "out")) == 2)
            # It is refused while a file is being written.
            wait_for("a read-only file system",
                     lambda: run(["mount", "-o", "remount,ro", small]).status == 0)
            sizes = {p: p.stat().st_size for p in trace_files(small / "out")}
            os.write(w, b"\n")
            os.close(w)
            t = tracer.wait()
        equal({f.path: f.path.stat().st_size for f in t.files}, sizes, "files and their sizes")
    job_is_right(tmp, tracer.stdout, 100, 1000)
    one_error(tracer.err, "Read-only file system", f"{small}/out/", "-o")
    equal(len(readers(t)), 1, "files of the two processes")


@test
def test_limit_of_file_size(tmp):
    """The limit is the tracer's too, and comes with a signal that would end it."""
    need_root()
    need_program("prlimit")
    calls, limit = 100000, 300000
    out = tmp / "trace"
    r = run(["prlimit", f"--fsize={limit}", TRACER, "-q", "-o", out, "--", *job(tmp, 100, calls)],
            input=b"\n")
    r.want(1)
    job_is_right(tmp, r.out, 100, calls)
    one_error(r.err, "File too large", f"{out}/", "ulimit -f")
    done, cut = readers(load(out))
    equal(prefix_of_reads(done, tmp, 100), 100, "reads of the process that fits")
    check(done.end, "its file has no end")
    check(prefix_of_reads(cut, tmp, calls) > calls / 20, "next to nothing of the other")
    equal(cut.end, None, "end of the process that does not fit")
    size = cut.path.stat().st_size
    check(limit / 2 < size <= limit, f"{size} bytes of {limit}")


@test
def test_slow_disk(tmp):
    """Each write of the tracer takes its time, while calls come as fast as they can: all count."""
    need_root()
    need_program("strace")
    calls = 200000
    r, w = os.pipe()
    with Tracer(tmp, "-q", "--", *job(tmp, 0, calls), stdin=r) as tracer:
        os.close(r)
        equal(read_until(tracer.proc.stdout.fileno(), b"\n"), b"0\n", "first line")
        slow = subprocess.Popen(["strace", "-f", "-p", str(tracer.pid), "-o", tmp / "strace",
                                 "-e", "trace=write", "-e", "inject=write:delay_enter=50000"],
                                stderr=subprocess.PIPE, env=clean_env())
        try:
            check(b" attached" in read_until(slow.stderr.fileno(), b"\n"), "strace is not attached")
            os.write(w, b"\n")
            os.close(w)
            t = tracer.wait()
        finally:
            if slow.poll() is None:
                slow.kill()
            slow.wait()
            slow.stderr.close()
    job_is_right(tmp, tracer.stdout, calls)
    delayed = (tmp / "strace").read_text().count("(DELAYED)")
    f, = readers(t)
    check(delayed >= len(f.members) > 10, f"{delayed} slow writes, {len(f.members)} members")
    data = os.fsencode(tmp / "data")
    seen = sum(e.name == "pread" and e.file == data for e in f.events)
    equal(seen + f.lost.get("pread", 0), calls, f"reads, of which {seen} in detail")
    equal(f.exit, {"code": 0}, "exit")
    print(f"  {seen} of {calls} reads in {len(f.members)} members, {delayed} slow writes")


if __name__ == "__main__":
    main()
