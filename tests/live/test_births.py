# SPDX-License-Identifier: MIT
"""How processes come about and end: every way to make one, names of threads, scripts, jobs, calls that
are not finished. What is true is what the programs themselves report, and /proc."""
import collections
import contextlib
import fcntl
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"


def said(f, kind, key):
    """Values of the metadata `key` of a file, in order."""
    return [r["args"]["value"] for r in f.records
            if r["ph"] == 4 and r["name"] == kind and r["args"].get("name") == key]


def bytes_written(t, path):
    return sum(e.ret for e in t.events("write", file=path) if e.ret > 0)


# ---- births ----

@test
def test_ways_to_make_a_process(tmp):
    """fork, vfork, posix_spawn and clone: each child's write is in the file of its own pid."""
    need_root()
    t = trace(tmp, [PROGS / "births", tmp], status=0).no_loss()
    children = [line.split() for line in t.run.out.decode().splitlines()]
    equal([c[0] for c in children], ["fork", "vfork", "spawn", "clone", "clone_vm"], "ways")
    first, = [f for f in t.files if f.program == "births" and f.start["ppid"] not in t.pids()]
    equal(sorted(e.ret for e in first.events if e.name == "fork"), sorted(int(c[1]) for c in children),
          "pids that the calls returned")
    for way, pid in children:
        f = t.by_pid(int(pid))
        equal(f.start["ppid"], first.pid, f"parent of {way}")
        equal((tmp / way).read_bytes(), way.encode(), f"what {way} wrote")
        e, = [e for e in f.events if e.name == "write" and e.file == os.fsencode(tmp / way)]
        equal(e.ret, len(way), f"write of {way}")
    check_with_reader(t.path)


@test
def test_daemon(tmp):
    """Two forks and a new session; the tracer goes on until the daemon ends, after the command has."""
    need_root()
    code = f"""
import os, sys
r, w = os.pipe()
if os.fork():
    os.close(w)
    os.read(r, 1)  # the daemon lives, and its parent has gone
    sys.exit(3)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
while os.getppid() != 1 and open(f"/proc/{{os.getppid()}}/comm").read().startswith("python"):
    os.sched_yield()
print(os.getpid(), os.getppid(), flush=True)
for fd in (0, 1, 2, r):
    os.close(fd)
os.write(w, b"x")
os.close(w)
with open("{tmp}/late", "w") as f:
    f.write("from the daemon")
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], status=3).no_loss()
    pid, _ = map(int, t.run.out.split())
    equal(len(t.files), 3, "processes")
    equal(bytes_written(t, tmp / "late"), (tmp / "late").stat().st_size, "bytes of the daemon")
    f = t.by_pid(pid)
    equal(f.exit, {"code": 0}, "end of the daemon")
    middle, = [g for g in t.files if g.pid == f.start["ppid"]]
    equal(middle.exit, {"code": 0}, "end of its parent")


@test
def test_multiprocessing(tmp):
    """fork, spawn and forkserver: all writers there, and the bytes are the files' sizes."""
    need_root()
    (tmp / "work.py").write_text("""
import multiprocessing, os, sys
def work(base, i):
    with open(f"{base}/{i}", "wb", buffering=0) as f:
        for n in range(20):
            f.write(b"z" * (i + n))
    print(i, os.getpid(), flush=True)
if __name__ == "__main__":
    ctx = multiprocessing.get_context(sys.argv[1])
    all = [ctx.Process(target=work, args=(sys.argv[2], i)) for i in range(4)]
    for p in all:
        p.start()
    for p in all:
        p.join()
        assert p.exitcode == 0
""")
    for way in ("fork", "spawn", "forkserver"):
        base = tmp / way
        base.mkdir()
        t = trace(tmp, ["/usr/bin/python3", tmp / "work.py", way, base], out=tmp / f"t-{way}").no_loss()
        workers = dict(map(int, line.split()) for line in t.run.out.splitlines())
        equal(sorted(workers), [0, 1, 2, 3], f"workers of {way}")
        for i, pid in workers.items():
            writes = [e.ret for e in t.by_pid(pid).events
                      if e.name == "write" and e.file == os.fsencode(base / str(i))]
            equal(writes, [i + n for n in range(20)], f"writes of worker {i} of {way}")
            equal(sum(writes), (base / str(i)).stat().st_size, f"size of file {i} of {way}")


@test
def test_setuid_program(tmp):
    """Run by somebody without rights: traced like any other, and as whom it ran."""
    need_root()
    (tmp / "secret").write_bytes(b"s" * 1234)
    os.chmod(tmp / "secret", 0o600)
    with open("/bin/cat", "rb") as f:
        (tmp / "kitten").write_bytes(f.read())
    os.chmod(tmp / "kitten", 0o4755)
    if os.statvfs(tmp).f_flag & os.ST_NOSUID:
        skip("setuid", f"{tmp} is mounted nosuid")
    t = trace(tmp, ["sh", "-c", f"setpriv --reuid=1234 --regid=1234 --clear-groups {tmp}/kitten {tmp}/secret"])
    equal(t.run.out, b"s" * 1234, "what was read")
    f, = [f for f in t.files if t.events("read", file=tmp / "secret", pid=f.pid)]
    equal([e.ret for e in t.events("read", file=tmp / "secret")], [1234, 0], "reads")
    # sh, then setpriv in the same process, then the program: user and effective user change at the last.
    equal(f.start["uid"], 0, "at first")
    equal((said(f, "CM", "uid"), said(f, "CM", "euid")), (["1234"], []), "at its exec")


@test
def test_pid_used_again(tmp):
    """Two lives under one number are two files, each with its own writes."""
    need_root()
    script = r"""
echo $$ >/dev/null
for life in one two; do
    echo 50 >/proc/sys/kernel/ns_last_pid
    /bin/sh -c 'echo "$1 $$"; echo "$1" >>"$2/$1"' sh $life "$1"
done
"""
    t = trace(tmp, ["unshare", "-pf", "--mount-proc", "/bin/sh", "-c", script, "sh", tmp]).no_loss()
    lives = dict(line.split() for line in t.run.out.decode().splitlines())
    equal(lives, {"one": "51", "two": "51"}, "pids, as the processes have them")
    seen = {}
    for life in lives:
        e, = t.events("write", file=tmp / life)
        f = e.owner
        equal(f.start["ns_pid"], 51, "pid in its namespace")
        seen[life] = f.path.name
        other = "two" if life == "one" else "one"
        check(not [e for e in f.events if e.file == os.fsencode(tmp / other)], "the other's file, too")
    equal(len(set(seen.values())), 2, "files")


# ---- names ----

@test
def test_names_of_threads(tmp):
    """Their own, those given by others through /proc, and the process's."""
    need_root()
    code = f"""
import ctypes, os, threading
libc = ctypes.CDLL(None)
libc.prctl(15, b"main one", 0, 0, 0)
ready, go = threading.Event(), threading.Event()
tid = []
def body():
    libc.prctl(15, b"worker \\xe9", 0, 0, 0)
    tid.append(threading.get_native_id())
    ready.set()
    go.wait()
    os.stat("/from-the-thread")
t = threading.Thread(target=body)
t.start()
ready.wait()
with open(f"/proc/self/task/{{tid[0]}}/comm", "w") as f:
    f.write("renamed longer than it can be")
print(tid[0], os.getpid(), open(f"/proc/self/task/{{tid[0]}}/comm").read().strip(), flush=True)
go.set()
t.join()
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print(pid, flush=True)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code]).no_loss()
    first, child = t.run.out.splitlines()
    tid, pid, last = first.split(None, 2)
    equal(last, b"renamed longer", "its last name, as /proc has it")
    f = t.by_pid(int(pid))
    names = collections.defaultdict(list)
    for r in f.records:
        if r["ph"] == 4 and r["args"].get("name") == "comm":
            names[r["tid"]].append(r["args"]["value"])
    equal(names, {int(pid): ["main one"], int(tid): ["worker \ufffd", "renamed longer "]}, "names")
    e, = t.events("stat", file="/from-the-thread")
    equal(e.tid, int(tid), "thread of the call")
    equal(said(t.by_pid(int(child)), "CM", "comm"), ["main one"], "name that the child has inherited")
    check_with_reader(t.path)


@test
def test_names_at_attach(tmp):
    """Threads that had names before the tracer came."""
    need_root()
    code = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
go = threading.Event()
ready = threading.Barrier(3)
tids = {}
def body(name):
    if name:
        libc.prctl(15, name, 0, 0, 0)
    tids[name] = threading.get_native_id()
    ready.wait()
    go.wait()
threads = [threading.Thread(target=body, args=(name,)) for name in (b"reader", None)]
for t in threads:
    t.start()
ready.wait()
print(tids[b"reader"], tids[None], flush=True)
sys.stdin.readline()
go.set()
for t in threads:
    t.join()
"""
    with running_python(code) as p:
        named, unnamed = map(int, p.line().split())
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.tell()
            t = tracer.wait()
        equal(p.wait(), 0)
    f = t.by_pid(p.pid)
    got = {r["tid"]: r["args"]["value"] for r in f.records
           if r["ph"] == 4 and r["args"].get("name") == "comm" and r["tid"] != p.pid}
    equal(got, {named: "reader"}, "names")


@test
def test_scripts(tmp):
    """The interpreter, also of a script that another script runs, and one named relative to the cwd."""
    need_root()
    for name, first in (("plain", "#!/bin/sh -e"), ("nested", f"#!{tmp}/plain"), ("near", "#!./tool arg")):
        (tmp / name).write_text(f"{first}\nexit 0\n")
        os.chmod(tmp / name, 0o755)
    os.symlink("/bin/true", tmp / "tool")
    script = "./plain && ./nested && ./near && /bin/true && { ./missing; exit 0; }"
    t = trace(tmp, ["sh", "-c", script], cwd=tmp)
    got = {e.named("pathname_hash"): e.named("interp_hash") for e in t.events("execve") if not e.errno}
    want = {os.fsencode(tmp / "plain"): b"/bin/sh", os.fsencode(tmp / "nested"): b"/bin/sh",
            os.fsencode(tmp / "near"): os.fsencode(tmp / "tool"), b"/bin/true": None}
    equal({k: got.get(k, "not seen") for k in want}, want, "interpreters")
    failed = [e for e in t.events("execve") if e.errno]
    check(all("interp_hash" not in e.args for e in failed), "of an exec that failed")


@test
def test_script_by_exec_of_a_thread(tmp):
    """It becomes the process: interpreter and rank belong to that."""
    need_root()
    (tmp / "script").write_text("#!/bin/sh\necho $$ $PMI_RANK\n")
    os.chmod(tmp / "script", 0o755)
    t = trace(tmp, [PROGS / "thread_exec", tmp / "script"], env=clean_env(PMI_RANK="2")).no_loss()
    f, = t.files
    equal(t.run.out.split(), [b"%d" % f.pid, b"2"], "what the script said")
    last = [e for e in f.events if e.name == "execve"][-1]
    equal((last.tid, last.named("interp_hash")), (f.pid, b"/bin/sh"), "the exec")
    equal(said(f, "PR", "rank"), ["2"], "rank, once")


# ---- jobs ----

@test
def test_ranks_of_a_job(tmp):
    """A launcher of four ranks: each process says which it is; nothing else of the environment."""
    need_root()
    launch = "for i in 0 1 2 3; do PMI_RANK=$i /bin/sh -c 'echo $PMI_RANK $$; cat /dev/null; exit 0' & " \
             "done; wait"
    env = clean_env(SECRET="hunter2", SLURM_JOB_ID="4711", SLURM_STEP_ID="2", SLURM_NODEID="5", SLURM_PROCID="0")
    t = trace(tmp, ["sh", "-c", launch], env=env).no_loss()
    ranks = dict(reversed(line.split()) for line in t.run.out.decode().splitlines())
    equal(sorted(ranks.values()), ["0", "1", "2", "3"], "ranks that ran")
    for f in t.files:
        equal((said(f, "CM", "job_scheduler"), said(f, "CM", "job_id"), said(f, "CM", "job_step"),
               said(f, "CM", "job_node")), (["slurm"], ["4711"], ["2"], ["5"]), f"job of {f.pid}")
        if str(f.pid) in ranks:
            # Forked by the launcher, whose number is the task's; then it is told its own.
            want = ["0", ranks[str(f.pid)]] if ranks[str(f.pid)] != "0" else ["0"]
            equal((said(f, "PR", "rank"), said(f, "CM", "job_rank_source")),
                  (want, ["SLURM_PROCID", "PMI_RANK"]), f"rank of {f.pid}")
        text = b"".join(f.members)
        check(b"hunter2" not in text and b"SECRET" not in text, "something else of the environment")
    for f in t.by_program("cat"):
        equal(said(f, "PR", "rank")[-1], ranks[str(f.start["ppid"])], "rank that a child has inherited")
    check_with_reader(t.path)


@test
def test_job_of_a_long_environment(tmp):
    """Found across the parts that an environment comes in; beyond 128 KiB it is said that it was cut."""
    need_root()
    for where, fill, want, cut in (("last", 100000, ["17"], False), ("beyond", 140000, [], True)):
        size = 0
        pad = {}
        for i in range(fill // 1000):
            pad[f"A{i:04}"] = "x" * 993
        env = {**clean_env(), **pad, "PMIX_RANK": "17"}
        # The order is that of the dictionary, and env(1) keeps it.
        t = trace(tmp, ["/bin/true"], env=env, out=tmp / where)
        f, = t.files
        size = sum(len(k) + len(v) + 2 for k, v in env.items())
        equal(said(f, "PR", "rank"), want, f"rank, {where}")
        got = said(f, "CM", "job_env_cut")
        check(bool(got) == cut, f"job_env_cut of {size} bytes: {got}")


@test
def test_job_cut_in_the_middle(tmp):
    """Of a variable only whose beginning is among the first 128 KiB nothing is said: not rank 1 for 1234."""
    need_root()
    name = "PMIX_RANK="
    for digits, want in ((1, []), (4, []), (5, ["1234"])):
        env, size = clean_env(), 0
        size = sum(len(k) + len(v) + 2 for k, v in env.items())
        for i in range(100):
            env[f"A{i:04}"] = "x" * 993
            size += 1000
        env["B"] = "y" * (128 * 1024 - size - len("B=") - 1 - len(name) - digits)
        env["PMIX_RANK"] = "1234"
        env["C"] = "z" * 50
        t = trace(tmp, ["/bin/true"], env=env, out=tmp / f"t{digits}")
        f, = t.files
        equal(said(f, "PR", "rank"), want, f"rank of which {digits} bytes are within")
        equal(said(f, "CM", "job_env_cut"), [str(sum(len(k) + len(v) + 2 for k, v in env.items()))], "bytes")


@test
def test_no_job(tmp):
    """Where there is no job there is none in the trace; numbers that are none are not ranks."""
    need_root()
    t = trace(tmp, ["sh", "-c", "/bin/true; PMI_RANK=x1 /bin/true; SLURM_PROCID= SLURM_JOB_ID='a b' /bin/true"])
    for f in t.files:
        jobs = [r for r in f.records if r["ph"] == 4 and
                (r["name"] == "PR" or str(r["args"].get("name")).startswith("job_"))]
        equal(jobs, [], f"job of {f.path.name}")
    # A cleared environment in the middle of a job: its children do not belong to it either.
    env = clean_env(PBS_JOBID="77.head", OMPI_COMM_WORLD_RANK="1")
    t = trace(tmp, ["/bin/sh", "-c", "env -i /bin/sh -c '/bin/true; exit 0'; exit 0"], env=env, out=tmp / "t2")
    first, = [f for f in t.files if f.start["ppid"] not in t.pids()]
    equal((said(first, "PR", "rank"), said(first, "CM", "job_id")), (["1"], ["77.head"]), "the first")
    true, = [f for f in t.files if any(e.named("pathname_hash") == b"/bin/true" for e in f.events
                                       if e.name == "execve")]
    equal((said(true, "PR", "rank"), said(true, "CM", "job_id")), ([], []), "a child of a cleared one")


@test
def test_job_at_attach(tmp):
    """From /proc, for those that were there before."""
    need_root()
    with running_python("import sys; sys.stdin.readline(); open('/dev/null').close()",
                        env=clean_env(FLUX_JOB_ID="f23", FLUX_TASK_RANK="6")) as p:
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.tell()
            t = tracer.wait()
    f = t.by_pid(p.pid)
    equal((said(f, "PR", "rank"), said(f, "CM", "job_scheduler"), said(f, "CM", "job_id")),
          (["6"], ["flux"], ["f23"]), "job")


# ---- calls that do not end ----

BLOCKED = """
import fcntl, os, struct, sys, threading
base, how = sys.argv[1:]
fd = os.open(base + "/locked", os.O_RDWR)
def act():
    if how.endswith("fifo"):
        os.read(os.open(base + "/fifo", os.O_RDWR), 10)
    elif how.endswith("flock"):
        fcntl.flock(fd, fcntl.LOCK_EX)
    elif how.endswith("ofd"):
        fcntl.fcntl(fd, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    elif how.endswith("wait"):
        if os.fork() == 0:
            os.read(os.open(base + "/fifo", os.O_RDWR), 10)
            os._exit(0)
        os.wait()
    elif how.endswith("open"):
        os.open(base + "/fifo2", os.O_RDONLY)
print("live", flush=True)
sys.stdin.readline()
if how.startswith("thread-"):
    threading.Thread(target=act, daemon=True).start()
    threading.Event().wait()
act()
"""
WAYS = "fifo", "flock", "ofd", "wait", "open", "thread-flock"
NUMBER = {"fifo": "0", "flock": "73", "ofd": "72", "wait": "61", "open": "257"}


def waits_in(pid, number):
    """Is a thread of it asleep in that call (which is not a read from its stdin)?"""
    for task in Path(f"/proc/{pid}/task").iterdir():
        words = (task / "syscall").read_text().split()
        state = (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "S" and words[0] == number and words[:2] != ["0", "0x0"]:
            return True
    return False


def stuck(tmp, how):
    """Starts it, then a tracer; returns both once it waits in its call."""
    if os.uname().machine != "x86_64":
        skip("x86-64", "knows the calls' numbers of that only")
    (tmp / "locked").touch()
    for name in ("fifo", "fifo2"):
        if not (tmp / name).exists():
            os.mkfifo(tmp / name)
    p = running_python(BLOCKED, tmp, how)
    p.line()
    tracer = Tracer(tmp, "--all-files", "-p", p.pid, out=tmp / f"t-{how}")
    p.tell()
    while not waits_in(p.pid, NUMBER[how.removeprefix("thread-")]):
        check(p.proc.poll() is None, f"{how}: ended early")
        os.sched_yield()
    return p, tracer


def kill_all(p):
    others = Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()
    p.proc.kill()
    equal(p.wait(), -signal.SIGKILL, "end of the program")
    for other in others: # not before: it might be waiting for them
        os.kill(int(other), signal.SIGKILL)


EVENT = {"fifo": ("read", "fifo", {"count": 10}), "flock": ("flock", "locked", {"operation": 2}),
         "ofd": ("fcntl", "locked", {"cmd": 38}), "wait": ("wait", None, {"options": 0}),
         "open": ("open", "fifo2", {"flags": os.O_RDONLY | os.O_CLOEXEC})}


def check_unfinished(t, pid, tmp, how, named=True):
    name, file, args = EVENT[how.removeprefix("thread-")]
    f = t.by_pid(pid)
    got = [e for e in f.events if "unfinished" in e.args]
    equal([e.name for e in got], [name], f"unfinished calls of {how}")
    e, = got
    check("ret" not in e.args and "errno" not in e.args, f"a result: {e}")
    equal({k: e.args.get(k) for k in args}, args, f"arguments of {how}")
    if named:
        equal(e.file, None if file is None else os.fsencode(tmp / file), f"file of {how}")
    check(e is f.events[-1], f"{how}: not the last")
    check_with_reader(t.path)
    return e


@contextlib.contextmanager
def all_locked(path):
    """For flock and for fcntl."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


@test
def test_killed_in_a_call(tmp):
    """kill -9: no result, and said so; the arguments and the file are there."""
    need_root()
    with all_locked(tmp / "locked"):
        for how in WAYS:
            p, tracer = stuck(tmp, how)
            with p, tracer:
                kill_all(p)
                t = tracer.wait()
            check_unfinished(t, p.pid, tmp, how)
            equal(t.by_pid(p.pid).exit, {"signal": 9}, f"exit of {how}")


@test
def test_interrupted_is_not_unfinished(tmp):
    """A signal that has a handler: the call is run again, as before."""
    need_root()
    code = """
import os, signal
r, w = os.pipe()
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, False)
pid = os.fork()
if pid == 0:
    parent = os.getppid()
    while not open(f"/proc/{parent}/syscall").read().startswith("0 "):
        os.sched_yield()
    os.kill(parent, signal.SIGUSR1)
    # It has been delivered: the read was interrupted, and what comes now is for the next one.
    while "\\nShdPnd:\\t0000000000000000" not in open(f"/proc/{parent}/status").read():
        os.sched_yield()
    os.write(w, b"x")
    os._exit(0)
os.read(r, 1)
os.waitpid(pid, 0)
"""
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], "--all-files")
    equal([e for e in t.events() if "unfinished" in e.args], [], "unfinished")
    check(any(e.restarted for e in t.events("read")), "no read was interrupted")


@test
def test_tracing_ends_in_a_call(tmp):
    """The process lives on; what it was in is told, with what can still be known of it."""
    need_root()
    with all_locked(tmp / "locked"):
        for how in WAYS:
            p, tracer = stuck(tmp, how)
            with p, tracer:
                t = tracer.stop()
                check(p.proc.poll() is None, f"{how}: the program has ended")
                kill_all(p)
            e = check_unfinished(t, p.pid, tmp, how, named=how != "open")
            if how == "open":
                equal((e.file, e.args.get("unresolved")), (None, "unfinished"), "name of the open")
            equal(t.by_pid(p.pid).exit, {"unknown": 1}, f"exit of {how}")


@test
def test_tracing_ends_between_calls(tmp):
    """Of one call after the other none is missing before the last one told, which has arguments of its own."""
    need_root()
    code = """
import os, sys
data = memoryview(bytes((4 << 20) + 100000))
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
print("live", flush=True)
i = 0
while True:
    os.pwrite(fd, data[:(4 << 20) + i % 100000], 0)
    i += 1
"""
    def written(pid):
        return int(Path(f"/proc/{pid}/io").read_text().split("syscw: ")[1].split()[0])

    for turn in range(4):
        with running_python(code, tmp / "out") as p:
            equal(p.line(), b"live\n")
            with Tracer(tmp, "-p", p.pid, out=tmp / f"t{turn}") as tracer:
                enough = written(p.pid) + 20
                while written(p.pid) < enough:
                    os.sched_yield()
                t = tracer.stop()
        counts = [e.args["count"] - (4 << 20) for e in t.events("pwrite")]
        check(len(counts) >= 20, f"{len(counts)} writes seen")
        equal(counts, list(range(counts[0], counts[0] + len(counts))), "writes in turn")


@test
def test_sums_of_calls_that_do_not_end(tmp):
    """With --aggregate: a call without bytes, and no failure."""
    need_root()
    with all_locked(tmp / "locked"):
        with running_python(BLOCKED, tmp, "flock") as p:
            p.line()
            with Tracer(tmp, "--aggregate", "-p", p.pid) as tracer:
                p.tell()
                while not waits_in(p.pid, NUMBER["flock"]):
                    os.sched_yield()
                kill_all(p)
                t = tracer.wait()
    rows = t.by_pid(p.pid).rows("flock")
    equal([(r["args"]["dft_cnt"], r["args"]["errors"], r["args"]["ret_sum"]) for r in rows], [(1, 0, 0)], "row")


if __name__ == "__main__":
    main()
