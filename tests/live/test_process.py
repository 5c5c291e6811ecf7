# SPDX-License-Identifier: MIT
"""Processes: static and libc-less programs, thousands of short ones, command lines, exec, -a."""
import collections
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"
CMD_MAX = 16384


def check_writes(t, path, n):
    """The i-th write is of i % 7 bytes, each where the one before ended."""
    writes = t.events("write", file=path)
    at = 0
    equal(len(writes), n, "writes")
    for i, e in enumerate(writes):
        equal((e.args["count"], e.ret, e.args.get("offset")), (i % 7, i % 7, at), f"write {i}")
        at += i % 7
    equal(path.stat().st_size, at, "size of the file")


@test
def test_static_binary(tmp):
    need_root()
    t = trace(tmp, [PROGS / "static_writes", tmp / "out", "5000"])
    check_writes(t, tmp / "out", 5000)
    equal(t.files[0].exit, {"code": 0}, "exit")


@test
def test_program_without_libc(tmp):
    """N writes by inline instructions, N events; and nothing else but exec, open and close."""
    need_root()
    t = trace(tmp, [PROGS / "raw_writes"], status=7, cwd=tmp)
    check_writes(t, tmp / "raw", 600)
    names = collections.Counter(e.name for e in t.events())
    equal(names, {"execve": 1, "open": 1, "write": 600, "close": 1}, "events")
    equal(t.files[0].exit, {"code": 7}, "exit")
    equal(t.files[0].end["num_events"], 605, "num_events, with start and that of the run")


@test
def test_preloaded_library(tmp):
    """A job that preloads a library of its own is as without us, and so is what it loads."""
    need_root()
    library = BUILD / "libdftracer.so"
    command = ["sh", "-c", f"cat /proc/self/maps >{tmp}/maps; echo out; echo err >&2; exit 7"]
    env = clean_env(LD_PRELOAD=str(library))
    alone = run(command, env=env)
    t = trace(tmp, command, env=env, status=7)
    equal((alone.status, t.run.out), (7, alone.out), "exit status and output")
    check(t.run.err.startswith(alone.err), f"stderr: {t.run.err}")
    check(library.resolve().name in (tmp / "maps").read_text(), "the library was not preloaded")
    equal(len(t.files), 2, "processes: sh and cat")
    for f in t.files:
        check(t.events("open", file=library.resolve(), pid=f.pid,
                       where=lambda e: e.ret >= 0), f"{f.path.name}: the library is not loaded")


@test
def test_two_thousand_processes(tmp):
    """Forks, execs and exits agree, and each has its own command line."""
    need_root()
    shell = "i=0; while [ $i -lt 500 ]; do /bin/true $1 $i; i=$((i+1)); done; exit $1"
    job = "".join(f'sh -c \'{shell}\' sh {n} & ' for n in range(4)) + "wait; exit 3"
    t = trace(tmp, ["sh", "-c", job], status=3).no_loss()
    equal(len(t.files), 2005, "processes")
    pids = [f.pid for f in t.files]
    equal(len(set(pids)), 2005, "distinct pids")
    by_pid = {f.pid: f for f in t.files}
    children = collections.defaultdict(list)
    execs = collections.Counter()
    for f in t.files:
        for e in f.events:
            if e.name == "fork":
                equal(sorted(e.args)[-1], "ret", "arguments of fork")
                children[f.pid].append(e.ret)
            elif e.name == "execve":
                equal(e.ret, 0, f"result of {e}")
                execs[f.pid] += 1
    equal(sum(map(len, children.values())), 2004, "forks")
    equal(execs, collections.Counter(pids), "execs, one in each process")
    for parent, born in children.items():
        for pid in born:
            equal(by_pid[pid].start["ppid"], parent, f"parent of {pid}")
    first, = set(pids) - {p for born in children.values() for p in born}
    equal(by_pid[first].exit, {"code": 3}, "exit of the first")
    commands = collections.Counter()
    for shell in children[first]:
        n = by_pid[shell].exit["code"]
        equal(len(children[shell]), 500, f"children of shell {n}")
        for i, pid in enumerate(children[shell]):
            f = by_pid[pid]
            equal(f.exit, {"code": 0}, f"exit of {pid}")
            e, = [e for e in f.events if e.name == "execve"]
            equal(e.named("cmd_hash"), b"/bin/true;%d;%d" % (n, i), f"command of {pid}")
            equal(e.named("pathname_hash"), b"/bin/true", f"program of {pid}")
            commands[n, i] += 1
    equal(len(commands), 2000, "commands")


# ---- command lines ----

def traced_command(tmp, argv):
    """(command line as the trace has it, cmd_len or None): of `start` and of execve alike."""
    with tempdir("command") as out:
        t = trace(tmp, argv, out=out / "t")
    f, = t.files
    e = next(e for e in f.events if e.name == "execve")
    got = f.resolve(f.start["cmd_hash"]), f.start.get("cmd_len")
    equal((e.named("cmd_hash"), e.args.get("cmd_len")), got, "execve's command line against start's")
    return got


def want_command(argv):
    full = sum(len(a) + 1 for a in argv)
    if full <= CMD_MAX:
        return b";".join(argv), None
    kept, size = [], 0
    for a in argv:
        size += len(a) + 1
        if size > CMD_MAX:
            break
        kept.append(a)
    return b";".join(kept), full


@test
def test_command_lines(tmp):
    """Exact to 16 KiB, with a NUL behind each argument; longer ones are cut at an argument."""
    need_root()
    true = b"/bin/true"
    lines = [
        [true],
        [true, b"", b"a b", b"", b"\"q\"", b"back\\slash", b"new\nline", b"\x01\xff\xfe", b"a;b", b""],
        [true] + [b"x%d" % i for i in range(1500)],                    # about 9 KB
        [true] + [b"argument %d" % i for i in range(7500)],            # about 100 KB
        [true, b"y" * 9000],
        [true, b"z" * 100000],
        [true, b"a", b"b" * 100000, b"c"],
    ]
    for size in range(CMD_MAX - 2, CMD_MAX + 4):
        lines.append([true, b"w" * 8000, b"v" * (size - 8001 - 10 - 1)])  # full length: size
        lines.append([true, b"w" * (size - 10 - 1), b"tail"])
    for argv in lines:
        text, length = traced_command(tmp, argv)
        want, want_length = want_command(argv)
        what = f"{len(argv)} arguments, {sum(len(a) + 1 for a in argv)} bytes"
        equal(length, want_length, f"cmd_len of {what}")
        if text != want:
            fail(f"command line of {what}: {len(text)} bytes, want {len(want)}: "
                 f"...{text[-40:]!r}, want ...{want[-40:]!r}")


@test
def test_long_command_lines_of_children(tmp):
    """Not only of the command that we start ourselves."""
    need_root()
    code = """
import os, sys
for n, size in (1, 9000), (900, 9), (10000, 9):
    pid = os.posix_spawn("/bin/true", ["true"] + [str(i).rjust(size, "0") for i in range(n)], {})
    assert os.waitpid(pid, 0)[1] == 0
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code])
    got = [(e.named("cmd_hash"), e.args.get("cmd_len")) for f in t.by_program("true")
           for e in f.events if e.name == "execve"]
    want = [want_command([b"true"] + [b"%0*d" % (size, i) for i in range(n)])
            for n, size in ((1, 9000), (900, 9), (10000, 9))]
    equal(len(got), 3, "children")
    check(sorted(got, key=repr) == sorted(want, key=repr),
          lambda: f"got {[(len(c), n) for c, n in got]}, want {[(len(c), n) for c, n in want]}")


# ---- exec ----

@test
def test_one_file_across_exec(tmp):
    """start describes the first image, later ones are announced before their execve."""
    need_root()
    (tmp / "sub").mkdir()
    script = f"cd {tmp}/sub; exec /bin/sh -c 'exec /bin/true last word'"
    t = trace(tmp, ["sh", "-c", script])
    f, = t.files
    execs = [e for e in f.events if e.name == "execve"]
    equal([e.named("cmd_hash") for e in execs],
          [b"sh;-c;" + os.fsencode(script), b"/bin/sh;-c;exec /bin/true last word",
           b"/bin/true;last;word"], "commands")
    equal(f.resolve(f.start["cmd_hash"]), b"sh;-c;" + os.fsencode(script), "first image")
    equal(f.resolve(f.start["cwd"]), os.fsencode(os.getcwd()), "cwd of the first image")
    equal(f.exit, {"code": 0}, "exit")
    # The records of each image come before its execve.
    seen, order = [], []
    for r in f.records:
        if r["ph"] == 4 and r["name"] in ("SH", "FH"):
            seen.append((r["name"], r["args"]["name"]))
        elif r["name"] == "execve":
            order.append(list(seen))
    for shown, want in zip(order, ([("SH", "sh;-c;" + script)],
                                   [("SH", "/bin/sh;-c;exec /bin/true last word"),
                                    ("FH", f"{tmp}/sub"), ("SH", f"{tmp}/sub")],
                                   [("SH", "/bin/true;last;word"), ("SH", "true")])):
        for record in want:
            check(record in shown, f"{record} is not before its execve")


@test
def test_exec_by_descriptor(tmp):
    """Known by the file's name, not by the number of the descriptor."""
    need_root()
    (tmp / "a script").write_text("#!/bin/sh\nexit 6\n")
    os.chmod(tmp / "a script", 0o755)
    os.symlink("/bin/true", tmp / "link")
    for file, program, status in (("a script", "a_script", 6), ("link", "true", 0)):
        code = f"import os; fd = os.open({file!r}, os.O_RDONLY); os.set_inheritable(fd, True); " \
               "os.execve(fd, ['first', 'second'], {})"
        t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], cwd=tmp, out=tmp / program, status=status)
        f, = t.files
        e = [e for e in f.events if e.name == "execve"][-1]
        where = os.path.realpath(tmp / file)
        equal((e.ret, e.named("pathname_hash")), (0, os.fsencode(where)), "execve")
        # One more process, in which the exec is the first that happens.
        code = f"import os, sys; fd = os.open({file!r}, os.O_RDONLY); " \
               "os.set_inheritable(fd, True); sys.stdin.read(1); os.execve(fd, ['first'], {})"
        with running_python(code, cwd=tmp) as p:
            with Tracer(tmp, "-p", p.pid, out=tmp / f"{program}2") as tracer:
                p.tell()
                t = tracer.wait()
            equal(p.wait(), status)
        equal([f.program for f in t.files], [program], "name of the file")


@test
def test_exec_of_a_thread(tmp):
    """It becomes the process: one file, the exec once, and under the process's own number."""
    need_root()
    t = trace(tmp, [PROGS / "thread_exec", "/bin/true", "now"]).no_loss()
    f, = t.files
    execs = [e for e in f.events if e.name == "execve"]
    equal([e.named("cmd_hash") for e in execs],
          [os.fsencode(f"{PROGS}/thread_exec;/bin/true;now"), b"/bin/true;now"], "commands")
    equal([(e.ret, e.tid) for e in execs], [(0, f.pid), (0, f.pid)], "results and threads")
    before, = t.events("access", file="/dft-before-exec")
    check(before.tid != f.pid, "the exec was to come from another thread")
    last = [e for e in f.events[:f.events.index(execs[1])] if e.tid == before.tid]
    equal([e.name for e in last], ["access", "open", "close"], "its calls, all before the exec")
    equal(f.exit, {"code": 0}, "exit")


@test
def test_ends_of_processes(tmp):
    """Codes and signals, also of processes with threads, also of those killed in a call."""
    need_root()
    code = """
import os, signal, threading, time
def child(end):
    pid = os.fork()
    if pid == 0:
        end()
        os._exit(99)
    return pid
r, w = os.pipe()
def in_thread():
    threading.Thread(target=lambda: os.read(r, 1), daemon=True).start()
    os.kill(os.getpid(), signal.SIGABRT)
def others():
    t = threading.Thread(target=lambda: os._exit(42))
    t.start()
    t.join()
ends = [(child(lambda: os._exit(0)), "code", 0), (child(lambda: os._exit(255)), "code", 255),
        (child(lambda: os.kill(os.getpid(), 9)), "signal", 9),
        (child(lambda: os.kill(os.getpid(), 11)), "signal", 11),
        (child(lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3)), "signal", signal.SIGRTMIN + 3),
        (child(in_thread), "signal", 6), (child(others), "code", 42)]
victim = child(lambda: os.read(r, 1))
while open(f"/proc/{victim}/syscall").read().split()[0] != "0":
    os.sched_yield()
os.kill(victim, 15)
ends.append((victim, "signal", 15))
for pid, kind, value in ends:
    status = os.waitpid(pid, 0)[1]
    assert (os.WTERMSIG(status) if kind == "signal" else os.WEXITSTATUS(status)) == value
    print(pid, kind, int(value))
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code])
    lines = t.run.out.decode().split("\n")[:-1]
    equal(len(lines), 8, "children")
    for line in lines:
        pid, kind, value = line.split()
        equal(t.by_pid(int(pid)).exit, {kind: int(value)}, f"end of {pid}")


@test
def test_writes_before_a_violent_end(tmp):
    """100 writes, then abort() or kill -9: every one is there, and how it ended."""
    need_root()
    for sig in (signal.SIGABRT, signal.SIGKILL):
        code = f"""
import os
fd = os.open("{tmp}/f{sig}", os.O_CREAT | os.O_WRONLY)
for i in range(100):
    os.write(fd, b"x")
os.kill(os.getpid(), {sig})
"""
        t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], out=tmp / f"t{sig}", status=-sig)
        equal(len(t.events("write", file=tmp / f"f{sig}")), 100, "writes")
        equal(t.files[0].exit, {"signal": sig}, "exit")


@test
def test_whole_system(tmp):
    """-a sees two other jobs, old and new processes of them, and never itself."""
    need_root()
    code = """
import os, subprocess, sys
base = sys.argv[1]
fd = os.open(base + "/old", os.O_CREAT | os.O_WRONLY)
print("live", flush=True)
sys.stdin.readline()
for i in range(500):
    os.write(fd, b"12345")
subprocess.run(["sh", "-c", f"cd {base} && echo one >new && read x <new && echo $x >copy && rm new"], check=True)
print("done", flush=True)
sys.stdin.readline()
"""
    jobs = [tmp / "job1", tmp / "job2"]
    for job in jobs:
        job.mkdir()
    with running_python(code, jobs[0]) as a, running_python(code, jobs[1]) as b:
        for p in (a, b):
            equal(p.line(), b"live\n")
        with Tracer(tmp, "-a", "-d", "3") as tracer:
            for p in (a, b):
                p.tell()
            for p in (a, b):
                equal(p.line(), b"done\n")
            t = tracer.wait()
            own = tracer.pid
        for p in (a, b):
            p.tell()
            equal(p.wait(), 0)
    for job, p in zip(jobs, (a, b)):
        f = t.by_pid(p.pid)
        equal(f.lost, {}, f"lost of {p.pid}")
        writes = [e for e in f.events if e.name == "write" and e.file == os.fsencode(job / "old")]
        equal([(e.ret, e.args.get("offset")) for e in writes], [(5, 5 * i) for i in range(500)],
              f"writes of {job}")
        equal(f.resolve(f.start["cmd_hash"]).split(b";")[-1], os.fsencode(job), "command line")
        equal(f.start["ppid"], os.getpid(), "parent")
        ours = {e.ret for e in f.events if e.name == "fork"}
        equal(len(ours), 1, "children of the job")
        shell = t.by_pid(ours.pop())
        equal(shell.exit, {"code": 0}, "exit of the job's shell")
        names = [(e.name, e.file) for g in t.files for e in g.events
                 if e.file and e.file.startswith(os.fsencode(job))]
        for want in (("open", job / "new"), ("write", job / "new"), ("read", job / "new"),
                     ("write", job / "copy"), ("unlink", job / "new")):
            check((want[0], os.fsencode(want[1])) in names, f"no {want[0]} of {want[1]}")
    check(own not in t.pids(), "the tracer traced itself")
    for f in t.files:
        check((f.start or {}).get("ppid") != own, f"a child of the tracer: {f.path.name}")
        for e in f.events:
            check(not (e.file or b"").startswith(os.fsencode(tmp / "trace")) or e.pid == os.getpid(),
                  f"the tracer's own output: {e}")


if __name__ == "__main__":
    main()
