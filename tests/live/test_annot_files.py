# SPDX-License-Identifier: MIT
"""Armed files belong to the job: what it does with them while it is traced works as ever, and the trace
says what it missed meanwhile."""
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403


PROGS = BUILD / "tests/progs"


class Steps(Background):
    """region_steps: a region for each thing it is told."""

    def __init__(self, program):
        super().__init__([program])
        equal(self.line(), b"ready\n")

    def step(self, text):
        self.tell(text.encode() + b"\n")
        equal(self.line(), b"done\n")


def lines_of(f):
    return [r["args"]["line"] for r in f.records if r["ph"] == 1 and r["cat"] == "C_APP"]


def unarmed(f):
    return [r["args"] for r in f.records if r["name"] == "CM" and r["args"]["name"] == "probes_unarmed"]


def semaphore(program):
    """Address of the event probe's semaphore in a position-independent program, by nm."""
    out = run(["nm", program]).want(0).out.decode()
    return next(int(line.split()[0], 16) for line in out.splitlines()
                if line.endswith(" dftracer_event_semaphore"))


def counter(pid, program):
    """The semaphore in the memory of the process."""
    base = None
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if len(words) > 5 and words[5] == str(program) and int(words[2], 16) == 0:
            base = int(words[0].split("-")[0], 16)
    check(base is not None, f"{program} is not mapped")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        mem.seek(base + semaphore(program))
        return int.from_bytes(mem.read(2), sys.byteorder)


@test
def test_running_program_opened_for_writing(tmp):
    """A running program cannot be opened for writing (ETXTBSY), armed or not."""
    need_root()
    program = tmp / "program"
    shutil.copy(PROGS / "region_steps", program)
    with Steps(program) as p:
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.step("before")
            check(counter(p.pid, program) > 0, "nobody listens")
            try:
                os.close(os.open(program, os.O_WRONLY | os.O_CLOEXEC))
                check(False, "a running program could be opened for writing")
            except OSError as e:
                equal(e.errno, 26, "errno")
            p.step("after the attempt")
            t = tracer.stop()
        p.proc.stdin.close()
        equal(p.wait(), 0, "exit status")
    f = t.by_pid(p.pid)
    told = unarmed(f)
    if told:  # the attempt may have broken the lease before it failed
        equal([a["path"] for a in told], [str(program)], "files that were not listened to")
    else:
        equal(lines_of(f), ["before", "after the attempt"], "regions")
    run([READER, "check", tmp / "trace"]).want(0)


@test
def test_touched_library(tmp):
    """touch opens it for writing and changes nothing: told, and armed again."""
    need_root()
    source = tmp / "program.c"
    source.write_text("int steps_main(void);\nint main(void) { return steps_main(); }\n")
    library, program = tmp / "libsteps.so", tmp / "program"
    run(["gcc", "-O2", "-fPIC", "-shared", "-Dmain=steps_main", f"-I{ROOT}/include",
         ROOT / "tests/progs/region_steps.c", "-o", library]).want(0)
    run(["gcc", "-O2", source, library, "-o", program]).want(0)
    with Steps(program) as p:
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.step("before")
            run(["touch", library]).want(0)
            # Readiness, not time: until the kernel counts a listener in the process again.
            steps = 0
            while counter(p.pid, library) == 0:
                p.step(f"meanwhile {steps}")
                steps += 1
            p.step("after")
            t = tracer.stop()
        p.proc.stdin.close()
        equal(p.wait(), 0, "exit status")
    f = t.by_pid(p.pid)
    heard = lines_of(f)
    equal((heard[0], heard[-1]), ("before", "after"), "first and last region")
    missing = {"before", "after", *(f"meanwhile {n}" for n in range(steps))} - set(heard)
    told = unarmed(f)
    equal([a["path"] for a in told], [str(library)], "files that were not listened to")
    begun = {r["args"]["line"]: r["ts"] for r in f.records if r["ph"] == 1 and r["cat"] == "C_APP"}
    check(begun["before"] <= told[0]["ts"] <= begun["after"], f"time of the record; missing {missing}")
    run([READER, "check", tmp / "trace"]).want(0)


@test
def test_deleted_programs_free_their_space(tmp):
    """On a file system that has room for two of them, one after the other, and which can go then."""
    need_root()
    mount = tmp / "small"
    mount.mkdir()
    script = tmp / "job.sh"
    script.write_text(f"""set -e
mount -t tmpfs -o size=3m none {mount}
for i in 1 2 3 4 5 6; do
    cp {PROGS}/region_steps {mount}/x
    head -c 1200000 /dev/zero >>{mount}/x
    echo $i | {mount}/x
    rm {mount}/x
    # Readiness: the space is back.
    until [ "$(stat -f -c %f {mount})" = "$(stat -f -c %b {mount})" ]; do :; done
done
umount {mount}
""")
    t = trace(tmp, ["unshare", "-m", "sh", script])
    equal(t.run.out, b"ready\ndone\n" * 6, "what the programs said")
    run([READER, "check", tmp / "trace"]).want(0)


@test
def test_time_namespace(tmp):
    """A clock of its own does not move its regions in time, nor make them look inherited."""
    need_root()
    for offset in ("100000", "-100"):
        out = tmp / f"trace{offset}"
        (tmp / "input").write_text("one\n" + "x" * 200 + "\n")
        with open(tmp / "input", "rb") as stdin:
            t = trace(tmp, ["unshare", "-T", "--monotonic", offset, "--fork", PROGS / "region_steps"],
                      out=out, stdin=stdin)
        f = next(f for f in t.files if lines_of(f))
        equal(lines_of(f), ["one", "x" * 200], "regions")
        calls = [r["ts"] for r in f.records if r["ph"] == 1 and r["cat"] in ("POSIX", "dftracer")]
        regions = [r["ts"] for r in f.records if r["ph"] == 1 and r["cat"] == "C_APP"]
        check(all(min(calls) <= ts <= max(calls) for ts in regions),
              f"regions at {regions} in a process from {min(calls)} to {max(calls)}")


if __name__ == "__main__":
    main()
