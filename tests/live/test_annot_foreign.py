#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tool that knows nothing of us attaches to the probes, and reads what the program says it told."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import (BUILD, LIVE_TIMEOUT, Background, check, clean_env, equal,  # noqa: E402
                     fail, main, need_program, need_root, read_until, run, test)

PROGRAM = BUILD / "tests/progs/annot_foreign"

SCRIPT = """
BEGIN { printf("ready\\n"); }
usdt:PROGRAM:dftracer:event {
    printf("event|%s|%s|%lu|%d|%d|%r\\n", str(arg0), str(arg1), arg2, arg3, arg5, buf(arg4, arg5));
}
usdt:PROGRAM:dftracer:entity {
    printf("entity|%s|%s|%lx|%d\\n", str(arg0), str(arg1), arg2, arg3);
}
usdt:PROGRAM:dftracer:relation { printf("relation|%d|%lx|%lx\\n", arg3, arg2, arg4); }
"""


def bpftrace(*options):
    need_root()
    need_program("bpftrace")
    return ["bpftrace", "-B", "line", *map(str, options), "-e",
            SCRIPT.replace("PROGRAM", str(PROGRAM.resolve()))]


def environment():
    return clean_env(BPFTRACE_STRLEN="64")  # more than any string here


def plain(line):
    """A line of bpftrace, with the chunk in hexadecimal."""
    head, bar, chunk = line.rpartition("|")
    if line.startswith("event|"):
        return head + bar + chunk.encode().decode("unicode_escape").encode("latin-1").hex()
    return line


def compare(output, truth):
    seen = [plain(line) for line in output.splitlines()
            if line.startswith(("event|", "entity|", "relation|"))]
    said = truth.read_text().splitlines()
    equal(len(said), 15, "lines of the program")
    for kind in ("event", "entity", "relation"):
        equal([s for s in seen if s.startswith(kind)], [s for s in said if s.startswith(kind)],
              f"what bpftrace saw of {kind}")


@test
def test_command(tmp):
    """bpftrace -c: attached before the program begins."""
    truth = tmp / "truth"
    r = run([*bpftrace("-c", f"{PROGRAM.resolve()} {truth}")], env=environment())
    check(r.status == 0, f"bpftrace: exit status {r.status}: {r.text}")
    compare(r.out.decode(), truth)


@test
def test_attach(tmp):
    """bpftrace -p: attached to a program that waits."""
    truth = tmp / "truth"
    with Background([PROGRAM, truth, "wait"]) as program:
        with Background(bpftrace("-p", program.pid), env=environment(),
                        stdin=subprocess.DEVNULL) as tool:
            out = tool.proc.stdout.fileno()
            while True:
                line = read_until(out, b"\n")
                if not line:
                    fail("bpftrace ended before it was ready")
                if line == b"ready\n":
                    break
            program.tell()
            equal(program.wait(), 0, "exit status of the program")
            rest = b""
            while True:
                more = os.read(out, 65536)
                if not more:
                    break
                rest += more
            tool.wait(LIVE_TIMEOUT)
    compare(rest.decode(), truth)


@test
def test_list(tmp):
    """bpftrace -l and readelf name the same probes."""
    need_root()
    need_program("bpftrace", "readelf")
    path = PROGRAM.resolve()
    listed = run(["bpftrace", "-l", f"usdt:{path}:dftracer:*"], env=environment()).want(0)
    notes = run(["readelf", "-n", path]).want(0).out.decode()
    names = {line.split(": ")[1] for line in notes.splitlines() if line.strip().startswith("Name: ")}
    equal({line.rpartition(":")[2] for line in listed.out.decode().split()}, names, "probes")
    check("event" in names, f"no probe event: {names}")


if __name__ == "__main__":
    main()
