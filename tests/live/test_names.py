# SPDX-License-Identifier: MIT
"""Each event names the file that the kernel used, by the name it has at that moment."""
import collections
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import compare, trace_said  # noqa: E402

PROGS = BUILD / "tests/progs"


def in_work(tmp, argv, *options):
    need_root()
    work = tmp / "work"
    work.mkdir()
    t, said, _ = trace_said(tmp, argv, *options, cwd=work)
    check_with_reader(t.path)
    return t, said, work


@test
def test_names_that_change(tmp):
    """Hard links, bind mounts, renames of file and directory, unlink, dup over a blocked call."""
    t, said, _ = in_work(tmp, [PROGS / "names_change"])
    equal(len(said.who("end")), 9, "threads that said something")
    compare(t, said)


@test
def test_shared_descriptor(tmp):
    """Four threads reading one descriptor: where an offset is given, the read took place there."""
    t, said, work = in_work(tmp, [PROGS / "shared_reads", "numbers", "40000"])
    truth = collections.defaultdict(list)
    for _, tid, text in said.words["offsets"]:
        truth[tid] += map(int, text.split())
    equal(sorted(n for list_ in truth.values() for n in list_), list(range(0, 320000, 8)),
          "what the threads read")
    given, shared = [], 0
    for tid, offsets in truth.items():
        reads = t.events("read", file=work / "numbers", tid=tid)
        equal(len(reads), len(offsets), f"reads of thread {tid}")
        for e, offset in zip(reads, offsets):
            equal((e.ret, e.args["count"]), (8, 8), f"bytes of {e}")
            if "offset" in e.args:
                equal(e.args["offset"], offset, f"offset of {e}")
                check("offset_shared" not in e.args, f"both certain and not: {e}")
                given.append(offset)
            else:
                equal(e.args.get("offset_shared"), 1, f"mark of {e}")
                shared += 1
    equal(len(set(given)), len(given), "distinct offsets")
    check(given, "no offset was certain")


@test
def test_offset_of_one_reader(tmp):
    """Alone, every offset is certain."""
    need_root()
    (tmp / "f").write_bytes(bytes(100000))
    t = trace(tmp, ["dd", f"if={tmp}/f", "of=/dev/null", "bs=1000"])
    reads = t.events("read", file=tmp / "f")
    equal([e.args.get("offset") for e in reads], list(range(0, 100001, 1000)), "offsets")


@test
def test_descriptor_replaced_all_the_time(tmp):
    """A write between two dup2() of another thread: it is there once, and with one of the two files.

    Which of them the kernel took is decided a fraction of a microsecond after the tracer looked, so
    that in such a race some name the other one: every such event is marked `replaced`.
    """
    t, said, work = in_work(tmp, [PROGS / "replaced_fd", "A", "B", "20000"], "--ring", "256M")
    truth = b"".join(text for _, _, text in said.words["files"]).decode()
    equal(len(truth), 20000, "records")
    check(min(truth.count("A"), truth.count("B")) > 100, "the descriptor was hardly replaced")
    writes = sorted(t.events("pwrite"), key=lambda e: e.args["offset"])
    equal([e.args["offset"] for e in writes], list(range(20000)), "writes")
    files = {os.fsencode(work / letter): letter for letter in "AB"}
    marked = sum("replaced" in e.args for e in writes)
    other = unmarked = 0
    for e, letter in zip(writes, truth):
        check(e.file in files, f"file of {e}")
        if files[e.file] != letter:
            other += 1
            unmarked += "replaced" not in e.args
    print(f"  {other} of 20000 writes name the other file; {marked} marked")
    equal(unmarked, 0, "writes that name the other file and are not marked")


@test
def test_pipe_replaced_under_a_read(tmp):
    """A thread blocks in a read; dup2() puts a file in the pipe's place: the event names the pipe."""
    need_root()
    code = """
import os, threading
r, w = os.pipe()
keep = os.dup(r)
f = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(f, b"0123456789")
me = []
def reader():
    me.append(threading.get_native_id())
    assert os.read(r, 7) == b"piped"
    assert os.pread(r, 7, 3) == b"3456789"
t = threading.Thread(target=reader)
t.start()
while not me or open(f"/proc/self/task/{me[0]}/syscall").read().split()[0] not in ("0", "63"):
    os.sched_yield()
os.dup2(f, r)
os.write(w, b"piped")
t.join()
print(me[0], os.fstat(keep).st_ino)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], "--all-files", cwd=tmp)
    tid, ino = map(int, t.run.out.split())
    pipe, file = b"pipe:[%d]" % ino, os.fsencode(tmp / "file")
    got = [(e.name, e.file, e.ret) for e in t.events(tid=tid) if e.name in ("read", "pread")]
    equal(got, [("read", pipe, 5), ("pread", file, 7)], "reads of the thread")
    dup, = t.events("dup2")
    equal((dup.file, dup.ret), (file, dup.args["newfd"]), "dup2")
    close, = [e for e in t.events("close") if e.args.get("via") == "dup2"]
    equal(close.file, pipe, "what dup2 closed")


@test
def test_renamed_by_an_untraced_process(tmp):
    """The name of the moment, also where nobody traced saw the renaming."""
    need_root()
    work = tmp / "w"
    (work / "d").mkdir(parents=True)
    code = """
import os, sys
fd = os.open("d/f", os.O_CREAT | os.O_RDWR)
print("live", flush=True)
for line in sys.stdin.buffer:
    os.pwrite(fd, b"x", int(line))
    print("done", flush=True)
"""
    names = [b"d/f", b"d/g", b"d/h", b"e/h", b"h", b"i"]
    with running_python(code, cwd=work) as p:
        equal(p.line(), b"live\n")
        with Tracer(tmp, "-p", p.pid) as tracer:
            for i, name in enumerate(names):
                if i == 3:
                    os.rename(work / "d", work / "e")
                elif i:
                    os.rename(os.path.join(work, os.fsdecode(before)), work / os.fsdecode(name))
                before = name
                p.tell(b"%d\n" % i)
                equal(p.line(), b"done\n")
            os.unlink(work / "i")
            p.tell(b"6\n")
            equal(p.line(), b"done\n")
            t = tracer.stop()
    got = [(e.args["offset"], e.file, e.args.get("deleted")) for e in t.events("pwrite")]
    base = os.fsencode(work) + b"/"
    want = [(i, base + n, None) for i, n in enumerate(names)] + [(6, base + b"i", 1)]
    equal(got, want, "names")


if __name__ == "__main__":
    main()
