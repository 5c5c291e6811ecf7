# SPDX-License-Identifier: MIT
"""Each engine of fio: calls and bytes of each file are those of fio's own report."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import main, test  # noqa: E402
from fiojob import ENGINES, compared  # noqa: E402


def one(engine):
    @test(name=engine)
    def run_it(tmp):
        """Reads and writes at random, all of it read back; two jobs."""
        compared(tmp, engine)


for name in ENGINES:
    one(name)

if __name__ == "__main__":
    main()
