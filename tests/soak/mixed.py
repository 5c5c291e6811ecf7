# SPDX-License-Identifier: MIT
"""Half an hour of a bit of everything at a steady rate: the tracer does not grow, and sheds nothing.

    tests/soak/mixed.py [--minutes 30] [--rounds 30]

Each minute a line with what the tracer holds. A round is about 300 events. Root.
"""
import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from longlife import descriptors, entries, members, rss_kib  # noqa: E402

GROWTH_MIB = 10
WARM_MINUTES = 5
ap = argparse.ArgumentParser(usage="tests/soak/mixed.py [--minutes 30] [--rounds 30]")
ap.add_argument("--minutes", type=float, default=30)
ap.add_argument("--rounds", type=int, default=30)
ARGS = ap.parse_args()

# Entries of tallies of calls that the ring had no room for.
SHED = 1


def sample(pid, minute):
    maps = entries(pid)
    kinds = [key["kind"] for name in ("totals", "details") for key in maps[name]]
    now = {"rss": rss_kib(pid), "fds": descriptors(pid), "shed": kinds.count(SHED)}
    print(f"  {minute:5.1f} min: RSS {now['rss']} KiB, {now['fds']} descriptors,",
          *(f"{name} {len(keys)}" for name, keys in maps.items()), flush=True)
    equal(now["shed"], 0, "tallies of calls that were shed")
    for name, most in (("names", 25000), ("targets", 4), ("totals", 500), ("details", 500),
                       ("declared", 500)):
        check(len(maps[name]) <= most, f"map {name} has {len(maps[name])} entries")
    return now


def samples(pid, job):
    """One each minute, or a tenth of the time if that is less."""
    step = min(60, ARGS.minutes * 60 / 10)
    begin = time.monotonic()
    for i in range(1, round(ARGS.minutes * 60 / step) + 1):
        time.sleep(max(0, begin + i * step - time.monotonic()))
        equal(job.proc.poll(), None, "the job's state")
        yield i * step / 60, sample(pid, i * step / 60)


@test
def test_mixed_load(tmp):
    need_root()
    need_program("bpftool")
    work = tmp / "work"
    work.mkdir()
    warm = min(WARM_MINUTES, ARGS.minutes / 3)
    before, most_fds = 0, 0
    with Background([BUILD / "tests/progs/mixed_load", str(ARGS.rounds)], cwd=work) as job, \
            Tracer(tmp, "-p", job.pid) as tracer:
        job.tell(b"g")
        fds = descriptors(tracer.pid)
        for minute, now in samples(tracer.pid, job):
            most_fds = max(most_fds, now["fds"])
            if minute <= warm:
                before = max(before, now["rss"])
            else:
                check(now["rss"] <= before + GROWTH_MIB * 1024,
                      f"RSS has grown from {before} to {now['rss']} KiB")
        job.proc.stdin.close()
        rounds = int(job.line())
        equal(job.wait(), 0, "exit status of the job")
        equal(tracer.proc.wait(LIVE_TIMEOUT), 0, "exit status of the tracer")
        text = tracer.stderr().decode()
        tracer.trace = ()  # not all of them at once
    print(f"  {rounds} rounds: {text.strip()}")
    check(", 0 aggregated, 0 lost" in text, "something was shed or lost")
    # There are hardly ever more than two processes at a time, each with a file.
    check(most_fds <= fds + 16, f"{fds} descriptors at first, {most_fds} later")
    equal(len(list(tracer.out.iterdir())), rounds + 1, "trace files")
    own, = tracer.out.glob(f"mixed_load-{job.pid}-*")
    equal(sum(text.count(b'"name":"reader"') for text in members(own)), rounds,
          "regions of its threads")
    run([READER, "check", tracer.out], timeout=3600).want(0)


if __name__ == "__main__":
    main([])
