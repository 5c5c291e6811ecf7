# SPDX-License-Identifier: MIT
"""Namespaces, other roots and cgroups: who and where a process is, in its own eyes and in the tracer's;
and tracing those that are asked for by cgroup, user or name."""
import contextlib
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

# What a process knows of itself, as one line; then a write, to have an event.
SAY = r"""
import os, sys
ns = {n: os.readlink(f"/proc/self/ns/{n}").split("[")[1][:-1] for n in ("mnt", "pid", "user")}
cgroup = [l[3:] for l in open("/proc/self/cgroup").read().splitlines() if l.startswith("0::")]
print(os.getpid(), ns["mnt"], ns["pid"], ns["user"], cgroup[0] if cgroup else "-", flush=True)
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as f:
        f.write("inside")
"""


def say_argv(*args):
    return [PYTHON, "-I", "-S", "-c", SAY, *map(str, args)]


def home():
    return {n: int(os.readlink(f"/proc/self/ns/{n}").split("[")[1][:-1]) for n in ("mnt", "pid", "user")}


def said(f, key):
    return [r["args"]["value"] for r in f.records
            if r["ph"] == 4 and r["name"] == "CM" and r["args"].get("name") == key]


def last_known(f, key):
    """What holds of the process at its end: of `start`, unless it was told anew."""
    return int(said(f, key)[-1]) if said(f, key) else f.start.get(key)


def check_place(f, words, at_home):
    """The file of a process against what that said."""
    pid, mnt, pid_ns, user, cgroup = words
    equal(last_known(f, "mnt_ns") or at_home["mnt"], int(mnt), "mnt_ns")
    equal(last_known(f, "pid_ns") or at_home["pid"], int(pid_ns), "pid_ns")
    equal(last_known(f, "user_ns") or at_home["user"], int(user), "user_ns")
    equal(f.start.get("ns_pid", f.pid), int(pid), "pid as the process has it")
    if cgroup != "-":
        equal((said(f, "cgroup") or [f.start.get("cgroup")])[-1], cgroup, "cgroup")


# ---- namespaces and roots ----

@test
def test_container_of_unshare(tmp):
    """Own users, pids and mounts: both pids, and the path as the process sees it."""
    need_root()
    inside = f"mount -t tmpfs none {tmp} && exec \"$@\""
    t = trace(tmp, ["unshare", "-Urpmf", "--mount-proc", "sh", "-c", inside, "sh", *say_argv(tmp / "f")],
              out=tmp.parent / (tmp.name + "-trace"))
    try:
        words = t.run.out.decode().split()
        e, = t.events("write", file=tmp / "f")
        check_place(e.owner, words, home())
        equal((words[0], e.ret), ("1", 6), "pid within, bytes")
        check(e.owner.start["mnt_ns"] != home()["mnt"], "a mount namespace of its own")
        check(not (tmp / "f").exists(), "the file is in the container's tmpfs, not here")
        # The one that made the container stayed outside with its pid.
        outer, = [f for f in t.files if f.start["ppid"] not in t.pids()]
        check("ns_pid" not in outer.start and "mnt_ns" not in outer.start, f"start of unshare: {outer.start}")
        check_with_reader(t.path)
    finally:
        for f in t.path.iterdir():
            f.unlink()
        t.path.rmdir()


@test
def test_same_name_in_two_containers(tmp):
    """One path, two files: told apart by the mount namespace."""
    need_root()
    job = f"unshare -m sh -c 'mount -t tmpfs none {tmp}/d && echo $0 >{tmp}/d/f && readlink /proc/$$/ns/mnt'"
    (tmp / "d").mkdir()
    t = trace(tmp, ["sh", "-c", f"{job} one; {job} second"])
    want = [int(line.split("[")[1][:-1]) for line in t.run.out.decode().splitlines()]
    writes = t.events("write", file=tmp / "d/f")
    equal(sorted(e.ret for e in writes), [4, 7], "writes")
    equal({e.ret: last_known(e.owner, "mnt_ns") for e in writes}, dict(zip((4, 7), want)), "mount namespaces")


@test
def test_namespaces_that_change(tmp):
    """unshare and exec in one process: told with the exec."""
    need_root()
    t = trace(tmp, ["unshare", "-m", *say_argv(tmp / "f")])
    f, = t.files
    words = t.run.out.decode().split()
    check("mnt_ns" not in f.start, "at its start it was at home")
    equal(said(f, "mnt_ns"), [words[1]], "since the exec")
    check_place(f, words, home())


@test
def test_chroot_and_pivot_root(tmp):
    """Paths are those within the new root."""
    need_root()
    root = tmp / "root"
    root.mkdir()
    bind = "".join(f"mkdir -p {root}{d} && mount --rbind {d} {root}{d} && " for d in
                   ("/usr", "/lib", "/lib64", "/bin", "/proc", "/dev", "/etc") if Path(d).is_dir())
    (root / "data").mkdir()
    (root / "old").mkdir()
    for how, enter in (("chroot", f"exec chroot {root} \"$@\""),
                       ("pivot", f"cd {root} && pivot_root . old && exec chroot . \"$@\"")):
        script = f"mount --make-rprivate / && mount --bind {root} {root} && {bind}{enter}"
        t = trace(tmp, ["unshare", "-m", "sh", "-c", script, "sh", *say_argv(f"/data/{how}")],
                  out=tmp / f"t-{how}")
        words = t.run.out.decode().split()
        e, = t.events("write", file=f"/data/{how}")
        equal((e.ret, (root / "data" / how).read_text()), (6, "inside"), f"what {how} wrote")
        check_place(e.owner, words, home())


@test
def test_cwd_of_an_attached_container(tmp):
    """-p of a process in a container takes its pid out here."""
    need_root()
    with Background(["unshare", "-Urpf", "--mount-proc", PYTHON, "-I", "-S", "-c",
                     f"import sys; print('live', flush=True); sys.stdin.readline(); exec({SAY!r})"]) as p:
        p.line()
        child, = map(int, Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split())
        with Tracer(tmp, "-p", child) as tracer:
            p.tell()
            words = p.line().decode().split()
            t = tracer.wait()
        equal(p.wait(), 0)
    equal(words[0], "1", "pid within")
    check_place(t.by_pid(child), words, home())


# ---- cgroups ----

def unified():
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line:
            return Path(line.split()[4])
    skip("cgroup2", "no cgroup2 file system is mounted")


@contextlib.contextmanager
def cgroup(*names):
    """Directories NAME, NAME/OTHER ... of their own."""
    made = []
    try:
        at = unified() / f"dft-{os.getpid()}"
        for name in (None, *names):
            at = at / name if name else at
            try:
                at.mkdir()
            except OSError as e:
                skip("cgroup2", f"{at}: {e.strerror}")
            made.append(at)
        yield made
    finally:
        for d in reversed(made):
            with contextlib.suppress(FileNotFoundError):
                d.rmdir()


JOIN = "echo $$ >{}/cgroup.procs && exec \"$@\""


@test
def test_cgroup_is_named(tmp):
    """As /proc/PID/cgroup has it, at birth and after it has changed."""
    need_root()
    with cgroup("inner") as (outer, inner):
        t = trace(tmp, ["sh", "-c", JOIN.format(inner), "sh", *say_argv(tmp / "f")])
        words = t.run.out.decode().split()
        equal(words[4], "/" + str(inner.relative_to(unified())), "cgroup of the process")
        f, = t.files
        check_place(f, words, home())
        t = trace(tmp, ["sh", "-c", "echo $$ >%s/cgroup.procs; /bin/true; exit 0" % inner], out=tmp / "t2")
        equal({f.start["cgroup"] for f in t.by_program("true") or t.files[1:]}, {words[4]}, "of a child")
        # One that has gone has its number only.
        gone = inner.stat().st_ino
        code = f"import os, sys; open('{inner}/cgroup.procs', 'w').write('0'); sys.stdin.readline()"
        with running_python(code + "; os.stat('/x') if os.path.exists('/x') else None") as p:
            while str(inner.name) not in Path(f"/proc/{p.pid}/cgroup").read_text():
                os.sched_yield()
            with Tracer(tmp, "-p", p.pid, out=tmp / "t3") as tracer:
                p.tell()
                t = tracer.wait()
        equal((t.files[0].start["cgroup"], gone), (words[4], gone), "of an attached one")


def in_cgroup(where, code, *args):
    """A program that is in the cgroup before it says so."""
    return running_python(f"open({str(where / 'cgroup.procs')!r}, 'w').write('0')\n" + code, *args)


WRITER = """
import os, subprocess, sys
print("live", flush=True)
sys.stdin.readline()
with open(sys.argv[1], "w") as f:
    f.write("by myself")
subprocess.run(["sh", "-c", 'echo child >"$0"', sys.argv[1] + "-child"], check=True)
"""


def run_writers(tmp, tracer_options, out=None, **programs):
    """Programs that write tmp/NAME and, by a child, tmp/NAME-child under one tracer; the trace."""
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(make()) for name, make in programs.items()}
        for p in running.values():
            equal(p.line(), b"live\n")
        with Tracer(tmp, *tracer_options, out=out) as tracer:
            for p in running.values():
                p.tell()
            for p in running.values():
                equal(p.wait(), 0)
            t = tracer.stop()
    t.err = tracer.err.decode()
    return t


def seen(t, tmp, name):
    return [len(t.events("write", file=tmp / n)) for n in (name, name + "-child")]


@test
def test_select_by_cgroup(tmp):
    """Those in it and below it; not those beside."""
    need_root()
    with cgroup("inner") as (outer, inner):
        beside = outer.with_name(outer.name + "x")
        beside.mkdir()
        try:
            for given in (outer, "/" + outer.name):
                out = tmp / f"t{len(str(given))}"
                t = run_writers(tmp, ["--cgroup", given], out,
                                top=lambda: in_cgroup(outer, WRITER, tmp / "top"),
                                below=lambda: in_cgroup(inner, WRITER, tmp / "below"),
                                other=lambda: in_cgroup(beside, WRITER, tmp / "other"),
                                none=lambda: running_python(WRITER, tmp / "none"))
                equal({n: seen(t, tmp, n) for n in ("top", "below", "other", "none")},
                      {"top": [1, 1], "below": [1, 1], "other": [0, 0], "none": [0, 0]}, "writes seen")
                check("2 running processes match" in t.err, f"what was said: {t.err}")
                equal(t.files[0].end["cfg"]["cgroup"], str(given), "cfg")
                check_with_reader(t.path)
        finally:
            beside.rmdir()


@test
def test_select_from_a_cgroup_namespace(tmp):
    """Where the tracer sees other names of cgroups, and from another depth."""
    need_root()
    need_program("unshare")
    with cgroup("inner", "below") as (outer, inner, below):
        # The tracer's own cgroup becomes its top: once above the one asked for, once beside it.
        for home in (outer, unified()):
            ready, ready_w = os.pipe()
            enter = f"echo $$ >{home}/cgroup.procs && exec unshare -C \"$@\""
            with in_cgroup(below, WRITER, tmp / "f") as p:
                equal(p.line(), b"live\n")
                tracer = Background(["sh", "-c", enter, "sh", TRACER, "-o", tmp / home.name, "--cgroup", inner,
                                     "--ready-fd", str(ready_w)], pass_fds=[ready_w])
                os.close(ready_w)
                with tracer:
                    equal(os.read(ready, 1), b"r", "the tracer is ready")
                    os.close(ready)
                    p.tell()
                    equal(p.wait(), 0)
                    tracer.proc.send_signal(signal.SIGINT)
                    equal(tracer.wait(), 0, "exit status of the tracer")
            t = load(tmp / home.name)
            equal(seen(t, tmp, "f"), [1, 1], f"writes seen from {home}")


@test
def test_select_a_process_with_threads(tmp):
    """All its threads, also one that makes its first call when the process has another name."""
    need_root()
    code = """
import os, sys, threading
r, w = os.pipe()
def write(name):
    with open(sys.argv[1] + name, "w") as f:
        f.write(name)
def late():
    os.read(r, 1)
    write("late")
other = threading.Thread(target=late)
other.start()
def rename(name):
    with open("/proc/self/comm", "w") as f:
        f.write(name)
rename("dft-chosen")
print("live", flush=True)
sys.stdin.readline()
write("early")
rename("not-chosen")
os.write(w, b"x")
other.join()
"""
    with running_python(code, tmp / "f-") as p:
        equal(p.line(), b"live\n")
        with Tracer(tmp, "--comm", "dft-chosen") as tracer:
            p.tell()
            equal(p.wait(), 0)
            t = tracer.stop()
    for name in ("early", "late"):
        e, = t.events("write", file=tmp / f"f-{name}")
        equal((e.ret, e.tid == e.pid), (len(name), name == "early"), f"write of {name}")


@test
def test_selection_errors(tmp):
    need_root()
    with cgroup() as (empty,):
        for options, words in ((["--cgroup", empty], ["matches no process"]),
                               (["--cgroup", os.path.relpath(tmp, unified())], ["not a directory of the cgroup2"]),
                               (["--cgroup", str(empty) + "-not"], ["no such cgroup"]),
                               (["--cgroup", tmp], ["not a directory of the cgroup2"]),
                               (["--uid", "nobody-at-all"], ["no such user"])):
            r = run([TRACER, "-o", tmp / "t", *options])
            one_error_line(r, *words, status=125)
            check(not (tmp / "t").exists(), "a trace directory was made")
    for options, words in ((["--cgroup", "/", "-p", "1"], ["-p"]), (["--uid", "0", "--", "true"], ["command"]),
                           (["--comm", "x", "--no-follow"], ["--no-follow"]),
                           (["--comm", "sixteen letters!"], ["15 bytes"]), (["--comm", ""], ["empty"])):
        one_error_line(run([TRACER, "-o", tmp / "t", *options]), *words, status=2)


@test
def test_select_by_user(tmp):
    """By number and by name; the real user counts, and a child that changes it is followed."""
    need_root()
    os.chmod(tmp, 0o777)
    as_user = lambda uid, name: lambda: Background(  # noqa: E731
        as_user_argv(uid, uid, [PYTHON, "-I", "-S", "-u", "-c", WRITER, tmp / name]))
    t = run_writers(tmp, ["--uid", "4242"], mine=as_user(4242, "mine"), other=as_user(4243, "other"))
    equal((seen(t, tmp, "mine"), seen(t, tmp, "other")), ([1, 1], [0, 0]), "writes seen")
    equal({f.start["uid"] for f in t.files}, {4242}, "users of the processes")
    nobody = 65534
    t = run_writers(tmp, ["--uid", "nobody"], tmp / "t2", him=as_user(nobody, "him"))
    equal(seen(t, tmp, "him"), [1, 1], "writes of nobody")


@test
def test_select_by_name(tmp):
    """Programs that have the name already, and ones that get it by exec; and their children, whatever their names."""
    need_root()
    tool = tmp / "dft-chosen"
    os.symlink(PYTHON, tool)
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(Background([tool, "-I", "-S", "-u", "-c", WRITER, tmp / "old"]))
        shell = stack.enter_context(Background(["sh", "-c", 'read x; exec "$@"', "sh", tool, "-I", "-S", "-u", "-c",
                                                WRITER, tmp / "new"]))
        equal(old.line(), b"live\n")
        tracer = stack.enter_context(Tracer(tmp, "--comm", "dft-chosen"))
        shell.tell()
        equal(shell.line(), b"live\n")
        for p in (old, shell):
            p.tell()
            equal(p.wait(), 0)
        t = tracer.stop()
    equal((seen(t, tmp, "old"), seen(t, tmp, "new")), ([1, 1], [1, 1]), "writes seen")
    equal({f.pid for f in t.files if f.start["ppid"] not in t.pids()}, {old.pid, shell.pid}, "processes")
    f = t.by_pid(shell.pid)
    equal(f.program, "dft-chosen", "what it was called when it was first seen")
    check(b"dft-chosen" in f.resolve(f.start["cmd_hash"]), "its command line")
    check("1 running process matches" in tracer.err.decode(), "what was said")


@test
def test_select_by_all(tmp):
    """Several conditions: all must hold."""
    need_root()
    os.chmod(tmp, 0o777)
    with cgroup() as (group,):
        def make(uid, name):
            return lambda: in_cgroup(group, f"import os; os.setresuid({uid}, {uid}, {uid})\n" + WRITER, tmp / name)
        t = run_writers(tmp, ["--cgroup", group, "--uid", "4242"], both=make(4242, "both"), one=make(4243, "one"),
                        none=lambda: running_python("import os; os.setresuid(4242, 4242, 4242)\n" + WRITER,
                                                    tmp / "none"))
        equal({n: seen(t, tmp, n) for n in ("both", "one", "none")},
              {"both": [1, 1], "one": [0, 0], "none": [0, 0]}, "writes seen")


if __name__ == "__main__":
    main()
