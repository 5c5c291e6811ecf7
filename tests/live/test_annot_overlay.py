# SPDX-License-Identifier: MIT
"""Containers of one image: two overlays show one lower file as two files. Each hit is told once."""
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGRAM = BUILD / "tests/progs/region_hits"
PRIVATE = ["unshare", "-m", "--propagation", "private", "sh", "-c"]

# Two overlays, c1 and c2, over one directory, and c3 over a copy of it that looks the same.
MOUNTS = """
set -e
mount -t tmpfs none {tmp}/fs
mkdir -p {tmp}/fs/image {tmp}/fs/copy
cp {program} {tmp}/fs/image/hits
cp -p {tmp}/fs/image/hits {tmp}/fs/copy/hits
for n in 1 2 3; do
    lower=image
    [ $n != 3 ] || lower=copy
    mkdir -p {tmp}/c$n {tmp}/fs/u$n {tmp}/fs/w$n
    mount -t overlay none -o lowerdir={tmp}/fs/$lower,upperdir={tmp}/fs/u$n,workdir={tmp}/fs/w$n {tmp}/c$n
done
"""


def mounts(tmp):
    """A script for a mount namespace of its own; skips where there are no overlays."""
    need_root()
    need_program("unshare", "mount")
    (tmp / "fs").mkdir()
    script = MOUNTS.format(tmp=tmp, program=PROGRAM)
    p = run([*PRIVATE, script + f"stat -c %d:%i {tmp}/c1/hits {tmp}/c2/hits {tmp}/c3/hits"])
    if p.status:
        skip("overlay", f"cannot be mounted: {p.text.strip()}")
    equal(len(set(p.out.split())), 3, "different files that stat sees")
    return script


def hits_said(text):
    """{name: regions that the program says it closed}"""
    opened, closed = {}, {}
    for line in text.splitlines():
        w = line.split()
        if w and w[0] == "+":
            opened[w[1], w[3]] = w[5]
        elif w and w[0] == "-":
            name = opened[tuple(w[3].split(":"))]
            closed[name] = closed.get(name, 0) + 1
    return closed


def hits_told(t):
    told = {}
    for f in t.files:
        for r in f.records:
            if r["ph"] == 1 and r["cat"] == "C_APP":
                told[r["name"]] = told.get(r["name"], 0) + 1
    return told


@test
def test_known_before(tmp):
    """Each of the files is named to the tracer; then they are executed, and the lower one itself."""
    script = mounts(tmp)
    out, job = tmp / "trace", tmp / "job"
    job.write_text(f"{tmp}/c1/hits one 7\n{tmp}/c2/hits two 8\n{tmp}/c3/hits three 9\n"
                   f"{tmp}/fs/image/hits lower 10\n")
    names = " ".join(f"--usdt {tmp}/c{n}/hits" for n in (1, 2, 3))
    p = run([*PRIVATE, script + f"exec {TRACER} -v -o {out} {names} --usdt {tmp}/fs/image/hits "
                                f"-- sh {job}"]).want(0)
    said = hits_said(p.out.decode())
    equal(said, {"one": 7, "two": 8, "three": 9, "lower": 10}, "what was hit")
    equal(hits_told(load(out)), said, "what was told")
    equal(p.text.count("its probes are those of"), 2, "files known to be armed already")


@test
def test_attached(tmp):
    """Two that run, seen from outside; and a third that begins later, in another container."""
    script = mounts(tmp)
    fifo = tmp / "go"
    os.mkfifo(fifo)
    run_both = (f"{tmp}/c1/hits one 20 wait <{fifo} & {tmp}/c2/hits two 30 wait <{fifo}; wait; "
                f"{tmp}/c2/hits three 40")
    # One byte for each.
    with Background([*PRIVATE, script + run_both]) as target:
        go = os.open(fifo, os.O_RDWR)
        text = target.line() + target.line()
        equal(text.count(b"ready"), 2, "programs that wait")
        with Tracer(tmp, "-a", "-v") as tracer:
            os.write(go, b"xx")
            os.close(go)
            text += target.proc.stdout.read()
            equal(target.wait(), 0, "exit status")
        t = tracer.trace
    said = hits_said(text.decode())
    equal(said, {"one": 20, "two": 30, "three": 40}, "what was hit")
    told = hits_told(t)
    equal({name: told.get(name) for name in said}, said, "what was told")


if __name__ == "__main__":
    main()
