# SPDX-License-Identifier: MIT
"""A tracer that cannot keep up: what it does not record call by call is in sums, and those are exact.

How much is shed depends on the machine, and is only told. tests/soak/overload.py is the long run.
"""
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403
from growing import *  # noqa: E402,F403
from overjob import *  # noqa: E402,F403

SECONDS = "0.5s"


def matrix_of(ring, *options):
    @test(name=f"ring_{ring or 'default'}")
    def matrix(tmp):
        accounts = []
        for threads, processes in SHAPES:
            with tempdir("shape") as sub:
                account = traced(sub, threads, processes, SECONDS, *options)
            report(f"{threads} threads, {processes} processes", account)
            accounts.append(account)
        check(ring != "64K" or max(a.rows for a in accounts) > 1, "no rows that add up to a sum")


matrix_of("64K", "--ring", "64K", "--flush", "50ms")
matrix_of("1M", "--ring", "1M")
matrix_of(None)


def stop_until_shed(tracer, poller):
    with stopped(tracer):
        poller.wait_shed()


def stop_until_over(tracer, poller):
    with stopped(tracer):
        poller.wait_shed()
        tracer.proc.stdin.close()
        return read_until(tracer.proc.stdout.fileno(), b"\n")


@test
def test_tracer_is_stopped(tmp):
    """In the middle, until the ring is full; then it goes on, and so does the job."""
    account = traced(tmp, 2, 2, "-", during=stop_until_shed)
    report("stopped", account)
    check_with_reader(tmp / "trace")
    check(account.shed, "nothing was shed: the test tests nothing")


@test
def test_job_ends_while_the_tracer_is_stopped(tmp):
    """All processes are gone before any of their last calls is read."""
    account = traced(tmp, 4, 4, "-", during=stop_until_over)
    report("gone", account)
    check_with_reader(tmp / "trace")
    check(account.shed, "nothing was shed: the test tests nothing")


@test
def test_new_files(tmp):
    """Names find the ring full as well: what there is has its own file's name all the same, or none."""
    report("new files", traced(tmp, 4, 2, "-", "--ring", "64K", mode="files", during=stop_until_shed,
                               may_lose={"record_name"}))
    offsets, shed = pwrites_of(lines_of(tmp / "trace"))
    named = set(offsets) | set(shed)
    print(f"  {len(offsets.pop(None, ()))} events and {shed.pop(None, 0)} in rows without a name")
    for file in named - {None}:
        directory, name = os.path.split(file)
        equal({directory, *offsets.get(file, [])} - {int(name.split("-")[-1])}, {f"{job_dir(tmp)}"},
              f"directory and other offsets of {file}")
        check(len(offsets.get(file, [])) + shed.get(file, 0) <= 4, f"more than four writes of {file}")


# Fills the ring with calls, then all of it with names, the last of which is that of an open file.
FILL = """
import os, sys
fd = os.open(sys.argv[1] + "/0", os.O_WRONLY | os.O_CREAT)
print("live")
sys.stdin.readline()
for _ in range(5000):
    os.pwrite(fd, b"x", 0)
for i in range(1, 1001):
    os.close(fd)
    fd = os.open(f"{sys.argv[1]}/{i}", os.O_WRONLY | os.O_CREAT)
print("full")
for at, _ in enumerate(sys.stdin):
    os.pwrite(fd, b"x", at)
    print("done")
"""


@test
def test_lost_name_is_sent_again(tmp):
    """A file that is opened when not even names have room has its name as soon as there is."""
    need_root()
    last = os.fspath(job_dir(tmp) / "1000")
    with running_python(FILL, job_dir(tmp)) as job:
        equal(job.line(), b"live\n")
        with Tracer(tmp, "--ring", "64K", "--flush", "50ms", "-p", job.pid) as tracer:
            with stopped(tracer):
                job.tell()
                equal(job.line(), b"full\n")

            def is_named():
                job.tell()
                equal(job.line(), b"done\n")
                return pwrites_of(lines_of(tracer.out))[0].get(last)

            until(is_named, "its calls remain without a name")
            f = tracer.stop().by_pid(job.pid)
    check(f.lost.get("record_name"), f"no name was lost: {f.lost}")


@test
def test_process_exits_in_the_midst_of_calls(tmp):
    """What its threads have gathered comes with each of them, also behind the end of the process."""
    for ring in ((), ("--ring", "64K")):
        with tempdir("exit") as sub:
            report(" ".join(ring), traced(sub, 8, 4, "0.2s", *ring, mode="exit", polled=False))


@test
def test_flushed_all_the_time(tmp):
    """Somebody else hands in what threads have gathered, while they go on gathering."""
    report("every 10 ms", traced(tmp, 2, 2, SECONDS, "--flush", "10ms"))


@test
def test_attached_and_detached_at_full_speed(tmp):
    """Of each thread all calls are there, in their order, from the first one to the end of tracing."""
    need_root()
    job = job_dir(tmp)
    with Background([JOB, "log", "2", "2", "-", job]) as running:
        pids = live(running.proc.stdout.fileno())
        log = Log(job / "log")
        with Tracer(tmp, "--ring", "64M", *(o for pid in pids for o in ("-p", pid))) as tracer:
            begin = [log.calls(w) for w in range(4)]
            until(lambda: all(log.calls(w) > n + 5000 for w, n in enumerate(begin)), "no calls")
            end = [log.calls(w) for w in range(4)]
            tracer.proc.send_signal(signal.SIGINT)
            equal(tracer.proc.wait(LIVE_TIMEOUT), 0, "exit status of the tracer")
            tracer.trace = True
        running.proc.stdin.close()
        running.proc.stdin = None
        truth_of(running.line())
        equal(running.wait(), 0, "exit status of the job")
    offsets, shed = pwrites_of(lines_of(tracer.out))
    for w in range(4):
        file = f"{job}/{w // 2}-{w % 2}-0"
        at = offsets[file]
        check(all(a < b for a, b in zip(at, at[1:])), f"{file}: calls out of order, or twice")
        # One call may have begun before the tracer came.
        check(at[0] <= begin[w] + 1, f"{file}: the first call is {at[0]}, want {begin[w]}")
        last = max(at[-1] + 1, end[w])
        missing = last - at[0] - len(at)
        check(missing <= shed.get(file, 0), f"{file}: of {last - at[0]} calls {missing} are missing")
        print(f"  {len(at)} events, {missing} shed before the last one")


@test
def test_slow_disk(tmp):
    """The disk takes next to nothing, and little memory is there for what waits, until it is full."""
    fast = tmp / "fast"

    def wait(tracer, poller):
        poller.wait_shed()
        fast.touch()

    account = traced(tmp, 2, 2, "-", "--memory", "16M", "--level", "1", during=wait,
                     env=slow_disk(tmp, 200000, SLOW_UNTIL=os.fspath(fast)))
    report("slow disk", account)
    check(account.shed, "nothing was shed: the test tests nothing")


@test
def test_disk_fills_up(tmp):
    print(f"  {fill_disk(tmp, 2, 2)} events in 4 MB")


if __name__ == "__main__":
    main()
