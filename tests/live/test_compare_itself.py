#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The comparison itself: logs of strace are read rightly, and every kind of difference is found."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import errno  # noqa: E402

import iotruth  # noqa: E402
import straceparse  # noqa: E402
from comparejob import job  # noqa: E402
from dfttest import PYTHON, check, equal, main, run, test  # noqa: E402

LOG = rb"""10 execve("/bin/x", [...], 0x7f /* 1 vars */) = 0
10 openat(AT_FDCWD</w>, "d/a<b>\n\377\"q, (", O_RDWR|O_CREAT, 0777) = 3</w/d/a\74b\76\n\377\"q, (>
10 write(3</w/d/a\74b\76\n\377\"q, (>, ""..., 100) = 100
10 write(3</w/d/a\74b\76\n\377\"q, (>(deleted), ""..., 1) = 1
10 dup2(3</w/x) = 5>, 10</dev/null<char 1:3>>) = 10</w/x) = 5>
10 read(99, 0x7f7946382f30, 1) = -1 EBADF (Bad file descriptor)
10 chdir("/tmp") = 0
10 stat("rel//./x", 0x7f) = -1 ENOENT (No such file or directory)
10 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD, stack=0x7f} => {parent_tid=[11]}, 88) = 11
10 read(5<pipe:[7164]>,  <unfinished ...>
11 write(8<UNIX-STREAM:[7165->7166]>, ""..., 1 <unfinished ...>
10 <... read resumed>""..., 10) = 1
11 <... write resumed>) = -1 EAGAIN (Resource temporarily unavailable)
11 umask(0777) = 022
11 vfork( <unfinished ...>
12 fcntl(3</w/x>, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)
12 close(7<anon_inode:[eventpoll]>) = 0
12 close(8<TCPv6:[[::1]:80->[::1]:90]>) = 0
12 wait4(-1,  <unfinished ...>
12 <... wait4 resumed>0x7f, 0, NULL) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
12 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---
12 wait4(-1,  <unfinished ...>
11 <... vfork resumed>) = 12
12 <... wait4 resumed> <unfinished ...>) = ?
12 +++ killed by SIGKILL +++
11 mmap(NULL, 41723, PROT_READ, MAP_PRIVATE, 3</w/x>, 0) = 0x7f9249cd5000
11 capset({version=_LINUX_CAPABILITY_VERSION_3, pid=0}, {effective=1<<CAP_CHOWN|1<<CAP_KILL}) = 0
11 exit(0) = ?
11 +++ exited with 0 +++
10 exit_group(7) = ?
10 +++ exited with 7 +++
"""


@test
def test_log_is_read(tmp):
    (tmp / "log").write_bytes(LOG)
    log = straceparse.parse(tmp / "log", "/w")
    equal(sorted(log.processes), [10, 12], "processes")
    equal(log.processes[10].tids, {10, 11}, "threads")
    equal(log.processes[12].parent.tgid, 10, "parent")
    equal((log.processes[10].exit, log.processes[12].exit), (("code", 7), ("signal", "SIGKILL")))
    c = log.calls
    odd = b'/w/d/a<b>\n\xff"q, ('
    equal(c[1].string(1), b'd/a<b>\n\xff"q, (')
    equal((c[1].ret, c[1].ret_fd.name, c[1].fd(0).name), (3, odd, b"/w"))
    equal((c[2].fd(0).name, c[2].ret, len(c[2].args)), (odd, 100, 3))
    equal((c[3].fd(0).name, c[3].fd(0).deleted), (odd, True))
    equal((c[4].fd(0).name, c[4].fd(1).device, c[4].ret_fd.name),
          (b"/w/x) = 5", ("char", 1, 3), b"/w/x) = 5"))
    equal((c[5].errno, c[5].fd(0).name, c[5].ret), (errno.EBADF, None, -1))
    equal((c[7].cwd, c[7].errno), (b"/tmp", errno.ENOENT))
    equal(straceparse.join(c[7].cwd, c[7].string(0)), b"/tmp/rel/x")
    by = {(x.name, x.tid): x for x in c}
    equal((by["read", 10].ret, by["read", 10].fd(0).name), (1, b"pipe:[7164]"))
    equal((by["write", 11].errno, by["write", 11].tgid), (errno.EAGAIN, 10))
    equal(by["write", 11].fd(0).name, b"socket:[7165]")
    equal(by["umask", 11].ret, 0o22)
    equal((by["fcntl", 12].ret, by["fcntl", 12].ret_fd), (0x8000, None))
    waits = [x for x in c if x.name == "wait4"]
    equal([(w.ret, w.restarted, w.errno) for w in waits],
          [(-1, True, errno.EINTR), (None, False, 0)])
    equal(by["mmap", 11].fd(4).name, b"/w/x")
    equal(by["vfork", 11].ret, 12)


@test
def test_truth_of_the_log(tmp):
    (tmp / "log").write_bytes(LOG)
    truth = iotruth.Truth(straceparse.parse(tmp / "log", "/w"))
    got = [(i.event, i.file, i.cls) for i in truth.items[10]]
    odd = b'/w/d/a<b>\n\xff"q, ('
    equal(got, [("execve", b"/bin/x", "none"), ("open", odd, ""), ("write", odd, ""),
                ("write", odd, ""), ("dup2", b"/w/x) = 5", ""), ("close", b"/dev/null", "chardev"),
                ("read", None, "none"), ("chdir", b"/tmp", "none"), ("stat", b"/tmp/rel/x", "none"),
                ("read", b"pipe:[7164]", "pipe"), ("write", b"socket:[7165]", "socket"),
                ("fork", None, "none"), ("mmap", b"/w/x", "")])
    got = [(i.event, i.cls, i.optional) for i in truth.items[12]]
    equal(got, [("fcntl", "", False), ("close", "anon", False), ("close", "socket", False),
                ("wait", "none", False), ("wait", "none", True)])


@test
def test_broken_logs_are_refused(tmp):
    for bad in (b"10 read(3</w/x>, \"\"..., 10\n", b"10 <... read resumed>) = 1\n", b"nonsense\n",
                b"10 read(3, 4) = -1 EFUNNY (?)\n",
                b"10 getpid() = 10\n10 fork() = 20\n10 fork() = 20\n"):
        (tmp / "log").write_bytes(bad)
        try:
            straceparse.parse(tmp / "log", "/w")
        except straceparse.LogError:
            continue
        check(False, f"taken as a log: {bad!r}")


@test
def test_own_names_against_strace(tmp):
    """What the parser reads back is what the program did: names of every byte, lengths to 255."""
    names = [bytes([b]) * 3 for b in range(1, 256) if b not in b"/."] + [b"n" * 255, b"a b>", b"->",
                                                                         b"x<char 1:3>"]
    (tmp / "names").write_bytes(b"\0".join(names))
    code = """
import os
for n in open("names", "rb").read().split(b"\\0"):
    os.close(os.open(n, os.O_CREAT | os.O_WRONLY, 0o644))
"""
    run(straceparse.argv(tmp / "log", [PYTHON, "-I", "-S", "-c", code]), cwd=tmp).want(0)
    log = straceparse.parse(tmp / "log", tmp)
    made = [c for c in log.calls_of("openat") if c.has(2, b"O_CREAT")]
    base = os.fsencode(tmp) + b"/"
    equal([c.string(1) for c in made], names, "names given")
    equal([c.ret_fd.name for c in made], [base + n for n in names], "names of descriptors")


@test
def test_differences_are_found(tmp):
    """A right trace has none; with one thing changed in what is expected there is at least one."""
    code = """
import os
a = os.open("a", os.O_CREAT | os.O_RDWR, 0o644)
os.write(a, b"12345")
os.rename("a", "b")
try:
    os.open("missing", os.O_RDONLY)
except OSError:
    pass
n = os.open("/dev/null", os.O_WRONLY)
os.write(n, b"x")
if os.fork() == 0:
    os.write(a, b"6")
    os._exit(3)
os.wait()
"""
    t, truth = job(tmp, [PYTHON, "-I", "-S", "-c", code])
    equal(iotruth.compare(t, truth), [], "differences of a right trace")
    first = truth.log.first.tgid
    child = next(p for p in truth.items if p != first)
    items = truth.items[first]
    write = next(i for i in items if i.event == "write" and i.kept)
    missing = next(i for i in items if i.event == "open" and i.errno and b"missing" in i.file)
    null = next(i for i in items if i.event == "write" and i.cls == "chardev")
    rename = next(i for i in items if i.event == "rename")
    read = next(i for i in items if i.event == "read" and i.kept)

    def changed(what, **values):
        obj = values.pop("of")
        old = {k: getattr(obj, k) for k in values}
        for k, v in values.items():
            setattr(obj, k, v)
        found = iotruth.compare(t, truth)
        for k, v in old.items():
            setattr(obj, k, v)
        check(found, f"not noticed: {what}")

    changed("bytes", of=write, ret=6)
    changed("file", of=write, file=b"/other")
    changed("event name", of=write, event="pwrite")
    changed("an error instead of success", of=read, errno=errno.EIO)
    changed("another error", of=missing, errno=errno.EACCES)
    changed("new name of a rename", of=rename, file2=b"/c")
    changed("interrupted", of=read, restarted=True, errno=errno.EINTR)
    changed("filtered instead of kept", of=write, cls="pipe")
    changed("kept instead of filtered", of=null, cls="")
    changed("class", of=null, cls="tty")
    changed("exit code", of=truth.log.processes[child], exit=("code", 4))
    changed("end by signal", of=truth.log.processes[child], exit=("signal", "SIGKILL"))
    for lost in (write, null, missing):
        items.remove(lost)
        check(iotruth.compare(t, truth), f"an event too many was not noticed: {lost}")
        items.append(lost)
        items.append(lost)
        check(iotruth.compare(t, truth), f"an event missing was not noticed: {lost}")
        items.remove(lost)
    whole = truth.items.pop(child)
    check(iotruth.compare(t, truth), "a process too many was not noticed")
    truth.items[child] = whole
    kept = t.files
    t.files = [f for f in kept if f.pid != child]
    check(iotruth.compare(t, truth), "a missing process was not noticed")
    t.files = kept
    equal(iotruth.compare(t, truth), [], "differences at the end")


if __name__ == "__main__":
    main()
