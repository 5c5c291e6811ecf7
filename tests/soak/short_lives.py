# SPDX-License-Identifier: MIT
"""100,000 short processes with 20 files each under -a, and nothing of them is left in the tracer.

    tests/soak/short_lives.py [PROCESSES]
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from longlife import leaves_nothing  # noqa: E402

PROCESSES = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 100000


@test
def test_short_lives(tmp):
    need_root()
    need_program("bpftool")
    leaves_nothing(tmp, PROCESSES, 20, rss_mib=20, seconds=600)


if __name__ == "__main__":
    main()
