# SPDX-License-Identifier: MIT
"""The tests of overload and of a killed tracer at full length: about half an hour (root).

    tests/soak/overload.py [--seconds 20] [NAME...]

Runs those whose names contain a NAME; all without one. It wants a machine for itself: that nothing is
shed at the default ring, and that all that is older than 1.2 s is on disk, depends on the load.
"""
import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from overjob import *  # noqa: E402,F403
from growing import *  # noqa: E402,F403

LONG = 900  # seconds until what was traced is written


def options():
    ap = argparse.ArgumentParser(usage="tests/soak/overload.py [--seconds 20] [NAME...]")
    ap.add_argument("--seconds", type=float, default=20)
    ap.add_argument("names", nargs="*")
    return ap.parse_args()


OPTIONS = options()
SECONDS = f"{OPTIONS.seconds:g}s"


def ring_options(ring):
    return ("--ring", ring) if ring else ()


def run_of(ring, threads, processes):
    @test(name=f"ring_{ring or 'default'}_{threads}x{processes}")
    def one(tmp):
        account = traced(tmp, threads, processes, SECONDS, *ring_options(ring), timeout=LONG)
        report("exact", account)


for ring in ("64K", "1M", None):
    for shape in SHAPES:
        run_of(ring, *shape)


def nothing_shed(threads):
    @test(name=f"nothing_shed_{threads}")
    def one(tmp):
        account = traced(tmp, threads, 1, SECONDS, polled=False, timeout=LONG)
        report("default ring", account)
        equal(account.shed, 0, "calls shed")


nothing_shed(1)
nothing_shed(2)


def stop_in_the_middle(tracer, poller):
    time.sleep(OPTIONS.seconds / 2)
    with stopped(tracer):
        time.sleep(3)
    time.sleep(OPTIONS.seconds / 2)


def stopped_of(ring):
    @test(name=f"stopped_{ring or 'default'}")
    def one(tmp):
        account = traced(tmp, 2, 4, "-", *ring_options(ring), during=stop_in_the_middle, timeout=LONG)
        report("stopped for 3 s", account)
        check(account.shed, "nothing was shed")


for ring in ("64K", "1M", None):
    stopped_of(ring)


@test
def test_slow_disk(tmp):
    """With the memory that it has without being told, much waits there, and little is shed."""
    report("1 MB/s", traced(tmp, 2, 4, SECONDS, env=slow_disk(tmp, 1000000), timeout=LONG))


@test
def test_slow_disk_little_memory(tmp):
    account = traced(tmp, 2, 4, SECONDS, "--memory", "16M", env=slow_disk(tmp, 1000000), timeout=LONG)
    report("1 MB/s", account)
    check(account.shed, "nothing was shed")


@test
def test_disk_fills_up(tmp):
    for threads, processes in SHAPES:
        with tempdir("full") as sub:
            print(f"  {fill_disk(sub, threads, processes)} events in 4 MB", flush=True)


def killed_of(mode, processes, *more):
    @test(name=f"killed_{mode}_{processes}" + "".join(more).replace("--", "_"))
    def one(tmp):
        for _ in range(20):
            with tempdir("killed") as sub:
                print("  " + kill_and_account(sub, mode, processes, 1, random.uniform(1, 5), *more),
                      flush=True)


killed_of("log", 1)
killed_of("slow", 4)
killed_of("log", 2)
killed_of("log", 2, "--ring", "64K")

if __name__ == "__main__":
    main(OPTIONS.names)
