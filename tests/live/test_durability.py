# SPDX-License-Identifier: MIT
"""What is on disk while a tracer runs, and when it is killed: whole lines, and all but the latest."""
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from overjob import *  # noqa: E402,F403
from growing import *  # noqa: E402,F403

# N calls for each line, at the offsets 0, 1, 2 ...
STEPS = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
at = 0
print("live")
for line in sys.stdin:
    for at in range(at, at + int(line)):
        os.pwrite(fd, b"x", at)
    at += 1
    print("done")
"""


@test
def test_idle_process(tmp):
    """What a process has done is in its file soon, also when it does nothing more."""
    need_root()
    with running_python(STEPS, tmp / "file") as job:
        equal(job.line(), b"live\n")
        with Tracer(tmp, "--flush", "100ms", "-p", job.pid) as tracer:
            calls = 0
            for step in (1, 15, 16, 17, 40, 3):
                job.tell(f"{step}\n".encode())
                equal(job.line(), b"done\n")
                calls += step
                until(lambda: offsets_of(tracer.out, tmp / "file") >= calls,
                      lambda: f"{offsets_of(tracer.out, tmp / 'file')} of {calls} are in the file")
                equal(offsets_of(tracer.out, tmp / "file"), calls, "calls in the file")
            tracer.stop()


def offsets_of(out, file):
    """How many calls are there, which are the first ones."""
    offsets = pwrites_of(lines_of(out))[0].get(os.fspath(file), [])
    equal(offsets, list(range(len(offsets))), "offsets")
    return len(offsets)


class Growing:
    """A file that another process appends members to, looked at again and again."""

    def __init__(self, path):
        self.path = path
        self.blob = b""
        self.whole = 0  # bytes of complete members
        self.grown = 0  # how often there were more of them

    def look(self):
        blob = self.path.read_bytes()
        check(blob.startswith(self.blob), f"{self.path.name}: what was there has changed")
        _, tail = members_of(blob[self.whole:])
        self.grown += len(blob) - tail > self.whole
        self.blob, self.whole = blob, len(blob) - tail


@test
def test_growing_files(tmp):
    """At any moment a file holds complete members of whole lines, and at most a part of the next one."""
    need_root()
    argv = [JOB, "log", "1", "2", "-", job_dir(tmp)]
    with Tracer(tmp, "--flush", "100ms", "--", *argv, stdin=subprocess.PIPE) as tracer:
        said = tracer.proc.stdout.fileno()
        live(said)
        until(lambda: len(list(tracer.out.glob("overload-*"))) == 3, "files of three processes")
        files = [Growing(p) for p in tracer.out.glob("overload-*")]

        def grown():
            for f in files:
                f.look()
            return sum(f.grown >= 8 for f in files) >= 2

        until(grown, lambda: f"members came {[f.grown for f in files]} times")
        tracer.proc.stdin.close()
        truth = truth_of(read_until(said, b"\n"))
        equal(tracer.proc.wait(LIVE_TIMEOUT), 0, "exit status")
        tracer.trace = True
    for f in files:
        f.look()
        equal(f.whole, len(f.blob), f"bytes in complete members of {f.path.name}")
    check_exact(tracer.out, truth)


@test
def test_killed(tmp):
    """By kill -9, at moments that are different each time."""
    for mode in ("log", "slow", "slow", "slow", "log"):
        with tempdir("killed") as sub:
            print("  " + kill_and_account(sub, mode, 1, 0.2, random.uniform(0.3, 1.3), "--flush", "200ms"))


def semaphores(pid, program):
    """The sum of a program's semaphores, in the memory of a process."""
    text = run(["nm", program]).want(0).out.decode().splitlines()
    places = [int(line.split()[0], 16) for line in text if line.endswith("_semaphore")]
    check(places, f"{program} has no semaphores")
    base = next(int(line.split("-")[0], 16) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
                if line.endswith(f" {program}"))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        return sum(int.from_bytes(os.pread(mem.fileno(), 2, base + at), sys.byteorder)
                   for at in places)


@test
def test_nothing_is_left_of_a_killed_tracer(tmp):
    """Programs, maps, links and semaphores are as before, and the program runs on."""
    need_root()
    program = (PROGS / "annot_sem").resolve()
    with Background([program]) as job:
        equal(job.line(), b"ready\n")
        before = semaphores(job.pid, program)  # 0, unless somebody else listens to all
        tracer = Tracer(tmp, "-p", job.pid, status=None)
        try:
            check(semaphores(job.pid, program) > before, "it does not listen")
            state = KernelState(tracer.pid)
            equal(state.left(), state.ids, "what the tracer holds in the kernel")
            tracer.kill()
            state.wait_gone()
            until(lambda: semaphores(job.pid, program) == before, "semaphores are not as before")
        finally:
            tracer.close()
        job.tell(b"fire\n")
        equal(job.line(), b"fired\n")


if __name__ == "__main__":
    main()
