# SPDX-License-Identifier: MIT
"""Calls and processes of unusual shape: overlapping buffers, other roots, handles, races, terminals."""
import collections
import os
import pty
import select
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from said import Said, between_marks, compare, listener, trace_said  # noqa: E402

SHAPES = BUILD / "tests/progs/shapes"
RACES = BUILD / "tests/progs/races"
SKIPPED = 77


@test
def test_result_written_over_the_path(tmp):
    """stat, statfs, getxattr, readlink ... into the memory that their path came from."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    if run([SHAPES, "overlap"], cwd=work).status == SKIPPED:
        skip("user.* attributes", f"not on the file system of {tmp}")
    for path in work.iterdir():
        path.unlink()
    t, said, _ = trace_said(tmp, [SHAPES, "overlap"], cwd=work)
    check_with_reader(t.path)
    compare(t, said)


# The leader of a session whose terminal is its stdin: starts a background job, says how it fares.
LEADER = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
attr = termios.tcgetattr(0)
attr[3] |= termios.TOSTOP
termios.tcsetattr(0, termios.TCSANOW, attr)
os.tcsetpgrp(0, os.getpgrp())
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
job = os.fork()
if not job:
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.dup2(0, 2)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(sys.argv[2], sys.argv[2:])

def state(seconds):
    # The job as waitid sees it when it changes, within so many seconds.
    if signal.sigtimedwait([signal.SIGCHLD], seconds) is None:
        return "runs"
    pid, status = os.waitpid(job, os.WUNTRACED)
    return "stopped" if os.WIFSTOPPED(status) else f"ended {os.waitstatus_to_exitcode(status)}"

said = state(3)
print(said, flush=True)
if said == "runs":
    with open(sys.argv[1], "w") as go:  # the command waits for that
        go.write("go\\n")
    said = state(30)
    print(said, flush=True)
if not said.startswith("ended"):
    os.killpg(job, signal.SIGKILL)
    os.waitpid(job, 0)
"""


@test
def test_background_job_of_a_terminal_that_stops_writers(tmp):
    """`stty tostop; dftrace-bpf -- CMD &`: the live line does not stop CMD with the tracer."""
    need_root()
    os.mkfifo(tmp / "go")
    master, slave = pty.openpty()
    argv = [TRACER, "-o", tmp / "trace", "--", "sh", "-c", f"read word < {tmp}/go"]
    try:
        with running_python(LEADER, tmp / "go", *argv, stdin=slave, start_new_session=True) as job:
            os.close(slave)
            slave = None
            states = [job.line() for _ in range(2)]
            equal(job.wait(), 0, "the leader")
        shown = b""
        while select.select([master], [], [], 0)[0]:
            try:
                more = os.read(master, 4096)
            except OSError:  # nobody has the terminal any more
                break
            if not more:
                break
            shown += more
    finally:
        os.close(master)
        if slave is not None:
            os.close(slave)
    equal(states, [b"runs\n", b"ended 0\n"], f"states of the job, which wrote {shown!r}")
    check(load(tmp / "trace").files, "no trace")


def attached(tmp, *argv):
    with Background([SHAPES, *argv], cwd=tmp) as target:
        equal(target.line(), b"live\n")
        with Tracer(tmp, "-p", target.pid) as tracer:
            target.tell()
            equal(target.wait(), 0, "shapes")
            t = tracer.wait()
    t.no_loss()
    check_with_reader(t.path)
    f = t.by_pid(target.pid)
    return f, [e.file for e in f.events if e.name == "access"]


@test
def test_attach_to_another_root(tmp):
    """The working directory in `start` is a path in the root of the process, as all names are."""
    need_root()
    f, names = attached(tmp, "chroot", tmp / "root")
    equal(names, [b"/sub/rel"], "name")
    equal(f.resolve(f.start["cwd"]), b"/sub", "cwd")


@test
def test_attach_in_a_removed_directory(tmp):
    need_root()
    f, names = attached(tmp, "gone", tmp / "gone")
    equal(names, [os.fsencode(tmp / "gone/rel")], "name")
    equal(f.resolve(f.start["cwd"]), os.fsencode(tmp / "gone"), "cwd")


@test
def test_io_uring(tmp):
    """Workers do not change how the process is seen to end."""
    need_root()
    (tmp / "file").write_bytes(b"x")
    calls = 5
    argv = [SHAPES, "uring", str(calls), tmp / "file"]
    if run(argv).status == SKIPPED:
        skip("io_uring", "io_uring_setup fails")
    t = trace(tmp, argv, status=7).no_loss()
    check_with_reader(t.path)
    f, = t.files
    equal(f.end.get("undecoded"), None, "undecoded")
    equal(f.exit, {"code": 7}, "exit")
    equal([e.name for e in f.events if e.file == os.fsencode(tmp / "file")],
          ["open"] + calls * ["read"], "events")


# What a race is about: event, the argument that names the file, the names for A and B.
RACE = {
    "base": ("access", "fhash", "A/x", "B/x"),
    "cwd": ("access", "fhash", "A/x", "B/x"),
    "fchdir": ("fchdir", "fhash", "A", "B"),
    "read": ("pread", "fhash", "A/x", "B/y"),
    "sendfile": ("sendfile", "other_fhash", "A/x", "B/y"),
}


def race(tmp, what):
    """Every call that names the other of two says so; replaced twice in one call, it cannot know."""
    need_root()
    number = 20000
    work = tmp / "work"
    work.mkdir()
    with listener(tmp / "said") as held:
        t = trace(tmp, [RACES, what, str(number)], "--ring", "64M", cwd=work, stdout=held[0])
    t.no_loss()
    check_with_reader(t.path)
    said = Said((tmp / "said").read_text())
    truth = b"".join(text for _, _, text in said.words["files"]).decode()
    equal(len(truth), number, "calls")
    f, = t.files
    call, key, *names = RACE[what]
    tid, = {tid for _, tid, _ in said.words["files"]}
    events = between_marks([e for e in f.events if e.tid == tid])
    events = [e for e in events if e.name == call]
    equal(len(events), number, "events")
    names = {os.fsencode(work / name): letter for name, letter in zip(names, "AB")}
    other, unmarked, marked = 0, [], 0
    for e, letter in zip(events, truth):
        name = e.named(key)
        check(name in names, f"{key} of {e} is {name!r}")
        marked += "replaced" in e.args
        if names[name] != letter:
            other += 1
            if e.args.get("replaced") != 1:
                unmarked.append((letter, e))
    seen = collections.Counter(truth)
    print(f"  {what}: {seen['A']} A, {seen['B']} B; {other} of {number} name the other, "
          f"{len(unmarked)} of them unmarked; {marked} marked")
    check(min(seen.values()) > 100 and len(seen) == 2, f"hardly replaced: {seen}")
    # The replacer rests between replacements for longer than a call takes: twice is an accident.
    check(len(unmarked) <= max(3, other // 10), lambda:
          f"{len(unmarked)} of {other} wrong names are not marked; the first: {unmarked[0]}")


def _races():
    for what in RACE:
        test(name=f"replaced_{what}")(lambda tmp, what=what: race(tmp, what))


_races()


@test
def test_replaced_under_a_blocked_call(tmp):
    """Base, working directory and other file replaced while the call is blocked: marked each time."""
    need_root()
    work = tmp / "work"
    work.mkdir()
    with listener(tmp / "said") as held:
        t = trace(tmp, [RACES, "blocked"], "--all-files", cwd=work, stdout=held[0])
    t.no_loss()
    check_with_reader(t.path)
    said = Said((tmp / "said").read_text())
    for what, call, key, name in (("base", "open", "fhash", "A/fifo"),
                                  ("cwd", "open", "fhash", "A/fifo"),
                                  ("sendfile", "sendfile", "other_fhash", "A/x")):
        (_, tid, _), = said.words[what]
        e, = t.events(call, tid=tid)
        equal(e.named(key), os.fsencode(work / name), f"{key} of {e}")
        equal(e.errno, 0 if call == "sendfile" else 4, f"errno of {e}")
        equal(e.args.get("replaced"), 1, f"mark of {e}")


@test
def test_file_handle_without_a_name(tmp):
    """Opened by handle when the kernel has forgotten its name: nothing is guessed."""
    need_root()
    need_program("mkfs.ext4")
    image, mnt = tmp / "image", tmp / "mnt"
    mnt.mkdir()
    with open(image, "wb") as f:
        f.truncate(4 << 20)
    run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", image]).want(0)
    mounting = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                'mount -o loop "$1" "$2" || exit 77; cd "$2"; shift 2; exec "$@"', "sh", image, mnt]
    if run([*mounting, "true"]).status == SKIPPED:
        skip("loop mounts", "mount -o loop fails")
    t = trace(tmp, [*mounting, "sh", "-c", 'mkdir -p deep/er; echo hello > deep/er/file; exec "$@"',
                    "sh", SHAPES, "handle", "deep/er/file"])
    check_with_reader(t.path)
    shown = t.run.out.strip()
    if shown == os.fsencode(mnt / "deep/er/file"):
        skip("dentries dropped", "the kernel still had the name after a remount")
    f, = [f for f in t.files if any(e.name == "pwrite" for e in f.events)]
    at, = [i for i, e in enumerate(f.events) if e.name == "pwrite"]
    opened = [e for e in f.events[:at] if e.name == "open"][-1]
    closed = [e for e in f.events[at:] if e.name == "close"][0]
    for e in (opened, f.events[at], closed):
        check("fhash" not in e.args, f"a name in {e}; /proc shows {shown!r}")
        equal(e.args.get("unresolved"), "disconnected", f"unresolved of {e}")
        check(e.ret >= 0, f"failed: {e}")


if __name__ == "__main__":
    main()
