# SPDX-License-Identifier: MIT
"""fio: every engine with 1 and 4 jobs, in order and at random, reading, writing, and both verified."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import main, tempdir, test  # noqa: E402
from fiojob import ENGINES, compared  # noqa: E402

# (what fio does, whether it reads back and verifies what it wrote)
WORK = [("read", False), ("randread", False), ("write", False), ("randwrite", False),
        ("write", True), ("randwrite", True), ("rw", True), ("randrw", True)]
SIZE = 4 << 20


def one(engine, jobs):
    @test(name=f"{engine} {jobs}")
    def run_it(tmp):
        for rw, verify in WORK:
            with tempdir("fio") as own:
                found = compared(own, engine, rw, jobs, SIZE, verify)
            reads, read, writes, written, syncs = map(sum, zip(*found))
            print(f"  {engine}, {jobs} jobs, {rw}{' verified' if verify else ''}: {reads} reads of "
                  f"{read} bytes, {writes} writes of {written}, {syncs} fsyncs: as fio says")


for name in ENGINES:
    for number in (1, 4):
        one(name, number)

if __name__ == "__main__":
    main()
