#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What is kept and what is only counted: prefixes, file types, users, durations, arguments.

"kept + filtered = strace's count" is held, by process and operation, for every filter.
"""
import collections
import errno
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import iotruth  # noqa: E402
from comparejob import compared, demand, job  # noqa: E402
from dfttest import (READER, PYTHON, TRACER, Tracer, as_user_argv, check, clean_env,  # noqa: E402
                     equal, main, need_root, one_error_line, run, running_python, skip, test,
                     trace)

# Opens, stats, writes, renames in several places, a pipe, a socket, /dev/null, /proc; a child.
WORK = """
import os, socket, sys
base = sys.argv[1]
def put(name, text=b"x" * 100):
    fd = os.open(base + name, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, text)
    os.pread(fd, 10, 0)
    os.close(fd)
for d in ("/data", "/database", "/data/deep", "/other"):
    os.makedirs(base + d, exist_ok=True)
    put(d + "/f1")
    put(d + "/f2", b"y" * 200)
    os.stat(base + d + "/f1")
    os.lstat(base + d + "/f1")
    os.listdir(base + d)
for d in ("/data", "/database"):
    try:
        os.open(base + d + "/missing", os.O_RDONLY)
    except OSError:
        pass
    os.rename(base + d + "/f2", base + d + "/f3")
    os.unlink(base + d + "/f3")
    os.mkdir(base + d + "/gone")
    where = os.open(base + d, os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir("gone", dir_fd=where)
    os.stat("f1", dir_fd=where)
    os.close(where)
os.chdir(base + "/data")
put("/data/./deep//f4")
fd = os.open("f1", os.O_RDONLY)
os.read(fd, 5)
os.chdir("..")
fd2 = os.open("database/f1", os.O_RDONLY)
os.dup2(fd, fd2)
os.read(fd2, 5)
r, w = os.pipe()
os.write(w, b"12345")
os.read(r, 5)
a, b = socket.socketpair()
os.write(a.fileno(), b"123")
os.read(b.fileno(), 3)
null = os.open("/dev/null", os.O_WRONLY)
os.write(null, b"n")
status = os.open("/proc/self/status", os.O_RDONLY)
os.read(status, 100)
pid = os.fork()
if pid == 0:
    put("/data/child")
    put("/other/child")
    os._exit(0)
os.waitpid(pid, 0)
"""


def work(tmp):
    return [PYTHON, "-I", "-S", "-c", WORK, str(tmp)]


def under(name, prefixes):
    """Is a name one of the prefixes, or below one?"""
    name = os.fsencode(name)
    return any(name == p or name.startswith(p + b"/")
               for p in (os.fsencode(p).rstrip(b"/") for p in prefixes))


def sums_agree(t, truth):
    """kept + filtered = strace's count, for each process and operation."""
    differences = []
    files, problems = iotruth.set_aside_tracees_of_strace(t, truth)
    differences += problems
    for tgid, items in truth.items.items():
        want, got = collections.Counter(), collections.Counter()
        for i in items:
            if not i.optional:
                want[i.event] += 1
        f = files.get(tgid)
        if f is None:
            differences.append(f"process {tgid} has no trace file")
            continue
        kept = iotruth.after_own_exec(f, truth.log)
        got.update(e.name for e in kept)
        for ops in f.filtered.values():
            got.update({op: n for op, n in ops.items() if not op.startswith("mmap_")})  # no calls
        if tgid == truth.log.first.tgid:
            # Its close of the log, before the exec of the command: kept (and set aside already),
            # or excluded, that is among the counts.
            before = len(f.events) - len(kept)
            if not before:
                got["close"] -= 1
        for op in sorted(set(want) | set(got)):
            if want[op] != got[op]:
                differences.append(f"process {tgid}: {op}: kept and filtered {got[op]}, "
                                   f"strace {want[op]}")
    demand(differences, "kept + filtered is not what strace has counted")


def kept_as_wanted(t, truth, wanted):
    """Exactly the calls on files whose names are `wanted` are kept, of those that name a file.

    A call on two names is kept when one of them is wanted. An execve is always kept: it tells what
    the process is from then on.
    """
    differences = []
    files, _ = iotruth.set_aside_tracees_of_strace(t, truth)
    for tgid, items in truth.items.items():
        want, got = collections.Counter(), collections.Counter()
        for i in items:
            if i.kept and not i.optional and i.file is not None and i.event != "execve" and (
                    wanted(i.file) or i.file2 is not None and wanted(i.file2)):
                want[i.event, i.file] += 1
        if tgid in files:
            for e in iotruth.after_own_exec(files[tgid], truth.log):
                name = iotruth.event_file(e)
                if name is not None and e.name != "execve":
                    got[e.name, name] += 1
        for key in sorted(set(want) | set(got)):
            if want[key] != got[key]:
                differences.append(f"process {tgid}: {key[0]} {key[1]!r}: kept {got[key]}, "
                                   f"should be {want[key]}")
    demand(differences, "the wrong calls are kept")


def filtered_classes(t):
    total = collections.defaultdict(collections.Counter)
    for f in t:
        for cls, ops in f.filtered.items():
            total[cls].update(ops)
    return total


# ---- prefixes --------------------------------------------------------------------------------

@test
def test_include(tmp):
    prefix = f"{tmp}/data"
    t, truth = job(tmp, work(tmp), "--include", prefix)
    kept_as_wanted(t, truth, lambda name: under(name, [prefix]))
    sums_agree(t, truth)
    check(t.events("write", file=f"{tmp}/data/f1"), "nothing under the prefix was kept")
    check(not [e for e in t.events() if b"/database" in (e.file or b"")],
          "--include /data has kept files of /database")
    check(filtered_classes(t)["excluded"]["write"] >= 4, "writes elsewhere are not counted")
    t.no_loss()


@test
def test_exclude(tmp):
    prefix = f"{tmp}/data"
    t, truth = job(tmp, work(tmp), "--exclude", prefix)
    kept_as_wanted(t, truth, lambda name: not under(name, [prefix]))
    sums_agree(t, truth)
    check(t.events("write", file=f"{tmp}/database/f1"),
          "--exclude /data has left out /database")


@test
def test_include_repeated_and_exclude_within(tmp):
    inside, other, deep = f"{tmp}/data", f"{tmp}/other/", f"{tmp}/data/deep"
    t, truth = job(tmp, work(tmp), "--include", inside, "--include", other, "--exclude", deep)
    kept_as_wanted(t, truth,
                   lambda name: under(name, [inside, other]) and not under(name, [deep]))
    sums_agree(t, truth)
    check(t.events("write", file=f"{tmp}/other/f1"), "the second --include was not heeded")


@test
def test_include_a_single_file(tmp):
    t, truth = job(tmp, work(tmp), "--include", f"{tmp}/data/f1")
    kept_as_wanted(t, truth, lambda name: name == os.fsencode(f"{tmp}/data/f1"))
    sums_agree(t, truth)


@test
def test_hard_links_follow_the_name_used(tmp):
    """One file, one name inside the prefix and one outside: the name it was opened by decides."""
    for d in ("in", "out"):
        os.mkdir(tmp / d)
    (tmp / "in/a").write_bytes(b"a" * 50)
    os.link(tmp / "in/a", tmp / "out/b")
    code = """
import os, sys
base = sys.argv[1]
outside = os.open(base + "/out/b", os.O_RDWR)
inside = os.open(base + "/in/a", os.O_RDWR)
for n in range(10):
    os.pwrite(inside, b"i", n)
    os.pwrite(outside, b"o", n + 100)
    os.pwrite(outside, b"o", n + 200)
again = os.open(base + "/in/a", os.O_RDONLY)
os.read(again, 7)
os.dup2(outside, again)
os.read(again, 7)
"""
    prefix = f"{tmp}/in"
    t, truth = job(tmp, [PYTHON, "-I", "-S", "-c", code, str(tmp)], "--include", prefix)
    kept_as_wanted(t, truth, lambda name: under(name, [prefix]))
    sums_agree(t, truth)
    equal(len(t.events("pwrite", file=f"{tmp}/in/a")), 10, "writes by the name inside")
    equal(len(t.events("pwrite")), 10, "writes kept")
    equal(filtered_classes(t)["excluded"]["pwrite"], 20, "writes by the name outside")


@test
def test_rename_across_the_prefix(tmp):
    """The name used decides, also while a file stays open."""
    for d in ("in", "out"):
        os.mkdir(tmp / d)
    code = """
import os, sys
base = sys.argv[1]
fd = os.open(base + "/out/f", os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"1")
os.rename(base + "/out/f", base + "/in/f")
os.write(fd, b"2")
os.write(fd, b"3")
os.rename(base + "/in/f", base + "/out/g")
os.write(fd, b"4")
"""
    prefix = f"{tmp}/in"
    t, truth = job(tmp, [PYTHON, "-I", "-S", "-c", code, str(tmp)], "--include", prefix)
    equal(len(t.events("write", file=f"{tmp}/in/f")), 2, "writes while it was inside")
    equal(len(t.events("write")), 2, "writes kept")
    sums_agree(t, truth)


@test
def test_prefix_of_a_running_process(tmp):
    """-p with --include: descriptors that were open before are judged by their names as well."""
    for d in ("data", "database"):
        os.mkdir(tmp / d)
    code = """
import os, sys
base = sys.argv[1]
a = os.open(base + "/data/f", os.O_RDWR | os.O_CREAT, 0o644)
b = os.open(base + "/database/f", os.O_RDWR | os.O_CREAT, 0o644)
print("open", flush=True)
sys.stdin.readline()
for n in range(25):
    os.write(a, b"1")
    os.write(b, b"22")
print("done", flush=True)
sys.stdin.readline()
"""
    need_root()
    with running_python(code, tmp) as target:
        equal(target.line(), b"open\n")
        with Tracer(tmp, "-p", target.pid, "--include", f"{tmp}/data") as tracer:
            target.tell()
            equal(target.line(), b"done\n")
        target.tell()
        equal(target.wait(), 0, "exit status of the target")
    t = tracer.trace
    equal(len(t.events("write", file=f"{tmp}/data/f")), 25, "writes under the prefix")
    equal(len(t.events("write", file=f"{tmp}/database/f")), 0, "writes kept of another directory")
    equal(filtered_classes(t)["excluded"]["write"], 25, "writes counted as excluded")


# ---- file types ------------------------------------------------------------------------------

@test
def test_file_types_by_default(tmp):
    t, truth = compared(tmp, work(tmp), processes=2)
    sums_agree(t, truth)
    classes = filtered_classes(t)
    for cls, op in (("pipe", "write"), ("pipe", "read"), ("socket", "write"), ("socket", "read"),
                    ("chardev", "open"), ("chardev", "write"), ("pseudo", "open"),
                    ("pseudo", "read")):
        check(classes[cls][op] >= 1, f"{op} of {cls} is not counted as filtered")


@test
def test_times_of_pipes(tmp):
    """The row of a pipe has the shortest and the longest call, and the end of the last, by the program's clock."""
    need_root()
    code = """
import os, time
r, w = os.pipe()
now = lambda: time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
begin = now()
for i in range(50):
    os.write(w, b"12345")
print(begin, now(), os.fstat(w).st_ino)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], "--precise")
    begin, end, ino = (int(word) for word in t.run.out.split())
    f, = t.files
    row, = [r for r in f.records if r["ph"] == 3 and r["name"] == "write" and
            f.resolve(r["args"]["fhash"]) == b"pipe:[%d]" % ino]
    a = row["args"]
    equal((a["dft_cnt"], a["ret_sum"]), (50, 250), "calls and bytes")
    # The clocks are read in turn, and one is compared with the other once only: 1 ms is far more than that.
    check(begin - 1000 <= row["ts"] <= a["last"] <= end + 1000, f"times: {row}, the program's {begin} to {end}")
    mean = a["dur_sum_ns"] / 50000
    check(a["dur_min"] - 0.5 <= mean <= a["dur_max"] + 0.5, f"durations: {a}")


@test
def test_terminals(tmp):
    """A terminal is its own class; its bytes are no bytes of files."""
    ours, its = os.openpty()
    try:
        code = "import os; os.write(0, b'12'); os.read(0, 10); os.write(0, b'3')"
        os.write(ours, b"line\n")
        t, truth = job(tmp, [PYTHON, "-I", "-S", "-c", code], stdin=its)
    finally:
        os.close(ours)
        os.close(its)
    sums_agree(t, truth)
    classes = filtered_classes(t)
    check(classes["tty"]["write"] >= 2 and classes["tty"]["read"] >= 1,
          f"calls on the terminal are not counted as such: {dict(classes['tty'])}")


@test
def test_all_files(tmp):
    t, truth = job(tmp, work(tmp), "--all-files")
    left = {cls: dict(ops) for cls, ops in filtered_classes(t).items() if ops}
    equal(left, {}, "what --all-files has filtered")
    sums_agree(t, truth)
    files, _ = iotruth.set_aside_tracees_of_strace(t, truth)
    differences = []
    for tgid, items in truth.items.items():
        # Descriptors without a name in the file system: their names are ours to choose, the
        # numbers of calls are not.
        want = collections.Counter(
            (i.event, i.file if i.file is None or i.file.startswith(b"/") else b"*")
            for i in items if not i.optional)
        got = collections.Counter(
            (e.name, n if n is None or n.startswith(b"/") else b"*")
            for e in iotruth.after_own_exec(files[tgid], truth.log)
            for n in [iotruth.event_file(e)])
        for key in sorted(set(want) | set(got), key=repr):
            if want[key] != got[key]:
                differences.append(f"process {tgid}: {key}: trace {got[key]}, strace {want[key]}")
    demand(differences)


# ---- --no-follow -----------------------------------------------------------------------------

@test
def test_no_follow_command(tmp):
    need_root()
    t = trace(tmp, work(tmp), "--no-follow")
    equal(len(t.files), 1, "processes traced")
    check(t.events("write", file=f"{tmp}/data/f1"), "the command itself was not traced")
    check(not t.events(file=f"{tmp}/data/child"), "its child was traced")
    equal(len(t.events("fork")), 1, "the fork itself is the command's own call")


@test
def test_no_follow_threads_are_followed(tmp):
    need_root()
    code = """
import os, sys, threading
def run():
    fd = os.open(sys.argv[1] + "/by-thread", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, b"t")
t = threading.Thread(target=run); t.start(); t.join()
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code, str(tmp)], "--no-follow")
    equal(len(t.events("write", file=f"{tmp}/by-thread")), 1, "writes of a thread born later")


@test
def test_no_follow_attached(tmp):
    need_root()
    code = """
import os, sys
print("up", flush=True)
sys.stdin.readline()
if os.fork() == 0:
    os.close(os.open(sys.argv[1] + "/child", os.O_CREAT | os.O_WRONLY, 0o644))
    os._exit(0)
os.wait()
os.close(os.open(sys.argv[1] + "/parent", os.O_CREAT | os.O_WRONLY, 0o644))
"""
    with running_python(code, tmp) as target:
        equal(target.line(), b"up\n")
        with Tracer(tmp, "-p", target.pid, "--no-follow") as tracer:
            target.tell()
            t = tracer.wait()
        equal(target.wait(), 0)
    equal(t.pids(), {target.pid}, "processes traced")
    equal(len(t.events("open", file=f"{tmp}/parent")), 1, "opens of the process itself")


# ---- --no-args -------------------------------------------------------------------------------

@test
def test_no_args(tmp):
    t, truth = job(tmp, work(tmp), "--no-args")
    summary = run([READER, "summary", t.path]).want(0)
    check(b"UNKNOWN: results, errors, bytes and files" in summary.out, "the summary takes unknown for 0")
    for f in t:
        for r in f.records:
            if r["ph"] == 1 and r["cat"] == "POSIX":
                extra = set(r.get("args", {})) - {"hhash", "relations"}
                check(not extra, f"--no-args has left arguments: {sorted(extra)} in {r}")
        hosts = [r for r in f.records if r["name"] == "HH"]
        equal(len(hosts), 1, "HH records")
    files, _ = iotruth.set_aside_tracees_of_strace(t, truth)
    for tgid, items in truth.items.items():
        want = collections.Counter(i.event for i in items if i.kept and not i.optional)
        got = collections.Counter(
            e.name for e in iotruth.after_own_exec(files[tgid], truth.log))
        equal(dict(got), dict(want), f"events of process {tgid}")


# ---- -d --------------------------------------------------------------------------------------

TICKING = """
import os, sys, time
fd = os.open(sys.argv[1] + "/ticks", os.O_RDWR | os.O_CREAT, 0o644)
end = time.monotonic() + float(sys.argv[2])
n = 0
while time.monotonic() < end:
    os.write(fd, b"t")
    n += 1
os.write(1, b"%d\\n" % n)
os._exit(7)
"""


@test
def test_duration_with_command(tmp):
    """Tracing ends after the time, the command goes on and its exit status is passed on."""
    need_root()
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", TICKING, str(tmp), "2"], "-d", "500ms", status=7)
    total = int(t.run.out)
    ticks = t.events("write", file=f"{tmp}/ticks")
    check(0 < len(ticks) < total, f"{len(ticks)} of {total} writes were traced")
    f = t.by_pid(ticks[0].pid)
    span = (max(e.ts for e in f.events) - min(e.ts for e in f.events)) / 1e6
    check(0.2 < span < 1.2, f"traced for {span:.3f} s, wanted 0.5 s")
    check(f.end is not None, "the trace has no end record")
    t.no_loss()


@test
def test_duration_attached(tmp):
    """-p -d: ends by itself with 0; the process goes on undisturbed."""
    need_root()
    code = "import sys\nprint('up', flush=True)\nsys.stdin.readline()\nprint('on', flush=True)\n"
    with running_python(code) as target:
        equal(target.line(), b"up\n")
        with Tracer(tmp, "-p", target.pid, "-d", "0.3") as tracer:
            tracer.wait()
        target.tell()
        equal(target.line(), b"on\n", "what the target says after the tracer has gone")
        equal(target.wait(), 0)


@test
def test_duration_longer_than_command(tmp):
    need_root()
    t = trace(tmp, ["true"], "-d", "1h")
    equal(len(t.files), 1)


# ---- -u --------------------------------------------------------------------------------------

SHOW_IDS = """
import os, json
print(json.dumps({"ids": os.getresuid() + os.getresgid(), "groups": sorted(os.getgroups()),
                  "env": {k: os.environ.get(k) for k in ("HOME", "USER", "LOGNAME", "SHELL",
                                                         "KEPT")}}))
"""


@test
def test_user(tmp):
    import json
    need_root()
    nobody = pwd.getpwnam("nobody")
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", SHOW_IDS], "-u", "nobody",
              env=clean_env(KEPT="yes"))
    said = json.loads(t.run.out)
    equal(said["ids"], [nobody.pw_uid] * 3 + [nobody.pw_gid] * 3, "ids of the command")
    equal(said["groups"], sorted(set(os.getgrouplist("nobody", nobody.pw_gid))), "its groups")
    equal(said["env"], {"HOME": nobody.pw_dir, "USER": "nobody", "LOGNAME": "nobody",
                        "SHELL": nobody.pw_shell, "KEPT": "yes"}, "its environment")


@test
def test_user_over_sudo(tmp):
    """-u wins over SUDO_UID; -u root keeps root."""
    import json
    need_root()
    daemon = pwd.getpwnam("daemon")
    sudo = clean_env(SUDO_UID=str(daemon.pw_uid), SUDO_GID=str(daemon.pw_gid),
                     SUDO_USER="daemon")
    os.chmod(tmp, 0o777)
    for n, (user, uid) in enumerate((("nobody", pwd.getpwnam("nobody").pw_uid), ("root", 0))):
        t = trace(tmp, [PYTHON, "-I", "-S", "-c", SHOW_IDS], "-u", user, env=sudo,
                  out=tmp / f"out{n}")
        equal(json.loads(t.run.out)["ids"][0], uid, f"uid with -u {user} under sudo")


# ---- the end by signal, as far as filters are concerned ---------------------------------------

@test
def test_filtered_counts_survive_an_interrupt(tmp):
    """What was counted as filtered is in the end record also when tracing is interrupted."""
    need_root()
    code = """
import os, sys
null = os.open("/dev/null", os.O_WRONLY)
print("up", flush=True)
sys.stdin.readline()
for n in range(1000):
    os.write(null, b"x")
print("done", flush=True)
sys.stdin.readline()
"""
    for sig in (signal.SIGINT, signal.SIGTERM):
        with running_python(code) as target:
            equal(target.line(), b"up\n")
            with Tracer(tmp, "-p", target.pid, out=tmp / sig.name) as tracer:
                target.tell()
                equal(target.line(), b"done\n")
                t = tracer.stop(sig)
            equal(t.by_pid(target.pid).filtered["chardev"]["write"], 1000,
                  f"filtered writes after {sig.name}")


# ---- errors ----------------------------------------------------------------------------------
#
# Each is one line `dftrace-bpf: what: why (what to do)` on stderr, nothing on stdout; CMD is not run
# when the tracer cannot trace it.

def ran(tmp):
    return ["touch", tmp / "ran"]


def refused(tmp, argv, *words, status, env=None, **kw):
    """Runs a command line that must fail before the command runs; returns the line of error."""
    r = run(argv, env=env, cwd=tmp, **kw)
    line = one_error_line(r, *words, status=status)
    equal(r.out, b"", "stdout")
    check(not (tmp / "ran").exists(), "the command was run")
    return line


def public_tracer(tmp):
    """A copy of the tracer where everybody can run it."""
    copy = tmp / "dftrace-bpf"
    shutil.copyfile(TRACER, copy)
    os.chmod(copy, 0o755)
    os.chmod(tmp, 0o777)
    return copy


@test
def test_error_not_root(tmp):
    need_root()
    tool = public_tracer(tmp)
    argv = as_user_argv(65534, 65534, [tool, "-o", tmp / "t", "--", *ran(tmp)])
    refused(tmp, argv, "root|CAP_|capabilit", "sudo|root", status=125)
    check(not (tmp / "t").exists(), "an output directory was left behind")


@test
def test_error_not_root_attaching(tmp):
    need_root()
    tool = public_tracer(tmp)
    argv = as_user_argv(65534, 65534, [tool, "-o", tmp / "t", "-p", str(os.getpid())])
    refused(tmp, argv, "root|CAP_|capabilit", status=125)


@test
def test_error_missing_capability(tmp):
    """Root without the capabilities for BPF: as in a container."""
    need_root()
    argv = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all",
            TRACER, "-o", tmp / "t", "--", *ran(tmp)]
    line = refused(tmp, argv, "CAP_BPF|CAP_PERFMON|CAP_SYS_ADMIN", status=125)
    check("BPF" in line, "the line does not name the capability that is missing")


@test
def test_error_one_capability_missing(tmp):
    """CAP_BPF without CAP_PERFMON: the one that is missing is named, not the other."""
    need_root()
    argv = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-all",
            TRACER, "-o", tmp / "t", "--", *ran(tmp)]
    refused(tmp, argv, "CAP_PERFMON", status=125)


def in_private_mounts(script, *argv):
    """argv, after a piece of shell in a mount namespace of its own."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec",
            script + '\nexec "$@"', "sh", *argv]


@test
def test_error_no_btf(tmp):
    need_root()
    if not os.path.isdir("/sys/kernel/btf"):
        skip("btf", "this kernel has no BTF at all")
    argv = in_private_mounts("mount -t tmpfs none /sys/kernel/btf",
                             TRACER, "-o", tmp / "t", "--", *ran(tmp))
    refused(tmp, argv, "BTF", "CONFIG_DEBUG_INFO_BTF", status=125)


@test
def test_error_lockdown(tmp):
    need_root()
    if not os.path.isdir("/sys/kernel/security"):
        skip("securityfs", "there is no /sys/kernel/security to mount over")
    argv = in_private_mounts(
        "mount -t tmpfs none /sys/kernel/security\n"
        "echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown",
        TRACER, "-o", tmp / "t", "--", *ran(tmp))
    refused(tmp, argv, "lockdown", "confidentiality", status=125)


@test
def test_lockdown_integrity_is_no_error(tmp):
    need_root()
    if not os.path.isdir("/sys/kernel/security"):
        skip("securityfs", "there is no /sys/kernel/security to mount over")
    r = run(in_private_mounts(
        "mount -t tmpfs none /sys/kernel/security\n"
        "echo 'none [integrity] confidentiality' > /sys/kernel/security/lockdown",
        TRACER, "-o", tmp / "t", "--", "true"))
    r.want(0)


NO_BPF = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
def ins(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)
prog = (ins(0x20, 0, 0, 0) + ins(0x15, 0, 1, NR) + ins(0x06, 0, 0, 0x50000 | int(sys.argv[1])) +
        ins(0x06, 0, 0, 0x7fff0000))
buf = ctypes.create_string_buffer(prog)
fprog = struct.pack("HxxxxxxP", len(prog) // 8, ctypes.addressof(buf))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(fprog), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[2], sys.argv[2:])
"""


@test
def test_error_kernel_too_old(tmp):
    """A kernel without the bpf system call (a seccomp filter plays it)."""
    need_root()
    argv = [PYTHON, "-I", "-c", NO_BPF, str(errno.ENOSYS), TRACER, "-o", tmp / "t", "--",
            *ran(tmp)]
    refused(tmp, argv, "kernel", status=125)


@test
def test_error_bpf_forbidden(tmp):
    """EPERM although the capabilities are there: a container's seccomp profile."""
    need_root()
    argv = [PYTHON, "-I", "-c", NO_BPF, str(errno.EPERM), TRACER, "-o", tmp / "t", "--",
            *ran(tmp)]
    refused(tmp, argv, "permitted|refused|seccomp|denied", status=125)


def gone_pid():
    """A number that no process has: of one that has just been reaped."""
    r = subprocess.Popen(["true"])
    r.wait()
    return r.pid


@test
def test_error_no_such_pid(tmp):
    need_root()
    pid = gone_pid()
    refused(tmp, [TRACER, "-o", tmp / "t", "-p", str(pid)], str(pid), "no such process",
            status=125)
    refused(tmp, [TRACER, "-o", tmp / "t2", "-p", f"{os.getpid()},{pid}"], str(pid),
            "no such process", status=125)


@test
def test_error_thread_instead_of_process(tmp):
    """A thread's number is not a process's: said, or taken for its process, but never silent."""
    need_root()
    code = """
import sys, threading
def run():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
threading.Thread(target=run).start()
"""
    with running_python(code) as target:
        tid = int(target.line())
        check(tid != target.pid, "the thread has no number of its own")
        refused(tmp, [TRACER, "-o", tmp / "t", "-p", str(tid)], str(tid), "thread",
                str(target.pid), status=125)
        target.tell()


@test
def test_error_output_is_a_file(tmp):
    need_root()
    (tmp / "file").write_text("precious")
    refused(tmp, [TRACER, "-o", tmp / "file", "--", *ran(tmp)], "file", status=125)
    equal((tmp / "file").read_text(), "precious", "the file that was in the way")
    refused(tmp, [TRACER, "-o", tmp / "file/below", "--", *ran(tmp)], "Not a directory", status=125)


@test
def test_error_output_parent_missing(tmp):
    need_root()
    refused(tmp, [TRACER, "-o", tmp / "no/such/dir", "--", *ran(tmp)], "No such file", status=125)


@test
def test_error_output_unwritable(tmp):
    need_root()
    os.mkdir(tmp / "ro")
    for target in ("ro", "ro/sub"):
        argv = in_private_mounts(f"mount -t tmpfs -o ro none {tmp}/ro",
                                 TRACER, "-o", tmp / target, "--", *ran(tmp))
        refused(tmp, argv, "Read-only file system", str(tmp / "ro"), status=125)


@test
def test_error_output_unwritable_for_the_user(tmp):
    """Under sudo the files are written as the user who called it, who may not write there."""
    need_root()
    os.mkdir(tmp / "roots", 0o755)
    env = clean_env(SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
    refused(tmp, [TRACER, "-q", "-o", tmp / "roots", "--", *ran(tmp)], "Permission denied",
            "roots", status=125, env=env)


@test
def test_error_disk_full(tmp):
    """One line naming path and cause, exit status 1; what was written before stays valid, and the
    command is not disturbed."""
    need_root()
    os.mkdir(tmp / "small")
    code = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
for n in range(60000):
    os.pwrite(fd, b"x", n * 7919 % 1000003)
print("all written")
"""
    script = (f"mount -t tmpfs -o size=256k none {tmp}/small\n"
              'status=0; "$@" || status=$?\n'
              f"mkdir {tmp}/saved; cp {tmp}/small/out/* {tmp}/saved/ || :\nexit $status\n")
    r = run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh",
             TRACER, "-q", "-o", tmp / "small/out", "--", PYTHON, "-I", "-S", "-c", code,
             tmp / "data"])
    equal(r.out, b"all written\n", "what the command says")
    one_error_line(r, "No space left", str(tmp / "small/out"), status=1)
    saved = sorted((tmp / "saved").glob("*.pfw.gz"))
    check(saved, "nothing of the trace was left")
    import reader_rules
    notes = reader_rules.Notes()
    texts = reader_rules.scan_members(saved[0].read_bytes(), notes)
    records = list(reader_rules.read_lines(texts, notes))
    check(len(records) > 1000, f"only {len(records)} records before the disk was full: {notes}")
    bad = [n for n in notes if "cut" not in n]
    equal(bad, [], "what is wrong with the part that was written")


@test
def test_error_other_processes_survive_a_full_disk(tmp):
    """A full disk is told once, not for each file."""
    need_root()
    os.mkdir(tmp / "small")
    script = (f"mount -t tmpfs -o size=16k none {tmp}/small\nexec \"$@\"\n")
    r = run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh",
             TRACER, "-q", "-o", tmp / "small/out", "--", "sh", "-c",
             "for i in 1 2 3 4 5 6 7 8 9 10; do ls -lR /usr/include/linux > /dev/null; done"])
    one_error_line(r, "No space left", status=1)


def bad_usage(tmp, *options, words=(), command=True):
    argv = [TRACER, *options] + (["--", *ran(tmp)] if command else [])
    return refused(tmp, argv, *words, status=2)


@test
def test_error_nothing_to_trace(tmp):
    bad_usage(tmp, command=False)
    bad_usage(tmp, "-o", tmp / "t", command=False)
    check(not (tmp / "t").exists(), "an output directory was left behind")


@test
def test_error_unknown_option(tmp):
    bad_usage(tmp, "--no-such-option", words=("--no-such-option",))
    bad_usage(tmp, "-Z", words=("-Z",))
    bad_usage(tmp, "-o", command=False, words=("-o",))
    bad_usage(tmp, "--quiet=3", words=("--quiet",))


@test
def test_error_bad_duration(tmp):
    for value in ("", "abc", "0", "-1", "5x", "1.", "1e3", "99999999999999999999", " 5", "nan"):
        bad_usage(tmp, "-d", value, words=("-d",))


@test
def test_error_bad_ring(tmp):
    for value in ("", "abc", "0", "-4096", "5000", "3M", "2G", "1K", "1T", "4096X"):
        bad_usage(tmp, "--ring", value, words=("--ring",))


@test
def test_error_bad_pid(tmp):
    for value in ("", "abc", "0", "-5", "1,", ",1", "1,,2", "99999999999", "1 2", "0x10"):
        bad_usage(tmp, "-p", value, words=("-p",), command=False)


@test
def test_error_bad_ready_fd(tmp):
    for value in ("", "abc", "-1", "99", "99999999999"):
        bad_usage(tmp, "--ready-fd", value, words=("--ready-fd",))
    with open("/dev/null", "rb") as f:
        argv = [TRACER, "--ready-fd", str(f.fileno()), "--", *ran(tmp)]
        refused(tmp, argv, "--ready-fd", status=2, pass_fds=(f.fileno(),))


@test
def test_error_bad_prefix(tmp):
    for option in ("--include", "--exclude"):
        for value in ("", "relative/path", "/a/../b", "/" + "x" * 5000):
            bad_usage(tmp, option, value, words=(option,))


@test
def test_error_bad_output_name(tmp):
    bad_usage(tmp, "-o", "", words=("-o",))


@test
def test_error_contradicting_options(tmp):
    bad_usage(tmp, "-a", "-p", "1", command=False)
    bad_usage(tmp, "-a", "--no-follow", command=False)
    bad_usage(tmp, "-u", "nobody", "-p", "1", command=False)


@test
def test_error_no_such_user(tmp):
    need_root()
    refused(tmp, [TRACER, "-u", "no-such-user-here", "-o", tmp / "t", "--", *ran(tmp)],
            "no-such-user-here", "no such user", status=125)


@test
def test_error_usdt_files(tmp):
    """No such file, or one with nothing to listen to: nothing is run in vain."""
    need_root()
    for n, (path, word) in enumerate(((tmp / "none", "No such file"), (tmp, "not an ELF"),
                                      (os.path.realpath("/bin/true"), "no dftracer probes"))):
        refused(tmp, [TRACER, "--usdt", path, "-o", tmp / f"t{n}", "--", *ran(tmp)], "--usdt",
                re.escape(str(path)), word, status=125)


@test
def test_error_command_not_found(tmp):
    need_root()
    for n, (command, word) in enumerate((("no-such-command-here", "not found|No such file"),
                                         ("/no/such/command", "No such file"))):
        r = run([TRACER, "-q", "-o", tmp / f"t{n}", "--", command], cwd=tmp)
        one_error_line(r, command, word, status=127)


@test
def test_error_command_not_executable(tmp):
    need_root()
    (tmp / "plain").write_text("not a program\n")
    (tmp / "empty").write_text("")
    os.chmod(tmp / "plain", 0o644)
    for n, command in enumerate(("plain", ".", "sub/")):
        if command == "sub/":
            os.mkdir(tmp / "sub")
        r = run([TRACER, "-q", "-o", tmp / f"t{n}", "--", tmp / command], cwd=tmp)
        one_error_line(r, "Permission denied|Is a directory", status=126)


@test
def test_exit_status_is_the_commands(tmp):
    need_root()
    for n in (0, 1, 2, 7, 125, 255):
        r = run([TRACER, "-q", "-o", tmp / f"t{n}", "--", "sh", "-c", f"exit {n}"])
        equal(r.status, n, "exit status")
        equal(r.err, b"", "stderr with -q")
    r = run([TRACER, "-q", "-o", tmp / "sig", "--", "sh", "-c", "kill -SEGV $$"])
    equal(r.status, -signal.SIGSEGV, "end by signal")


if __name__ == "__main__":
    main()
