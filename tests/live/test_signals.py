# SPDX-License-Identifier: MIT
"""Interrupted at random moments: whatever was written is complete and passes every check."""
import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

TIMES = 12  # each kind of signal; a multiple of 6, for each way that the number chooses

# Writes, renames, forks and runs other programs for ever; a byte on stdout each round.
JOB = """
i=0
while :; do
  echo line $i >f$$
  mv f$$ g$$
  cat g$$ >/dev/null
  (echo sub >>h$$)
  i=$((i+1))
  printf .
done
"""


class Job:
    """Shells that work for ever; their output is read as it comes."""

    def __init__(self, tmp):
        self.proc = Background(["sh", "-c", JOB], cwd=tmp)

    def rounds(self, n):
        for _ in range(n):
            equal(len(os.read(self.proc.proc.stdout.fileno(), 1)), 1, "byte of the job")

    def end(self):
        """Also of its children, which hold the other end of the pipe: they make files as well."""
        self.proc.proc.kill()
        while os.read(self.proc.proc.stdout.fileno(), 65536):
            pass
        self.proc.end()


def check_output(out):
    """gzip and our reader find nothing wrong, and no two ends or starts."""
    files = sorted(out.glob("*")) if out.exists() else []
    for path in files:
        check(path.name.endswith(".pfw.gz"), f"not a trace: {path}")
    if files:
        run(["gzip", "-t", *files]).want(0)
        check_with_reader(out)
        for f in load(out):
            check(f.start is not None and f.end is not None, f"{f.path.name} has no start or end")
            equal(f.end["num_events"], f.records[-1]["id"] - 1, f"num_events of {f.path.name}")
    return len(files)


def moment(rng, fd):
    """Lets a random time pass, up to a quarter second, or less if something comes from fd."""
    select.select([fd], [], [], rng.random() * 0.25)


def interrupted_command(tmp, sig, number, rng):
    """A command that would run for ever; the signal comes while starting or running."""
    work, out = tmp / "work", tmp / "out"
    work.mkdir()
    argv = [TRACER, "-q", "-o", out, "--", "sh", "-c", JOB]
    p = subprocess.Popen(argv, cwd=work, env=clean_env(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        if number % 3:
            for _ in range(rng.randrange(1, 60)):
                if not os.read(p.stdout.fileno(), 1):
                    raise Fail(f"the command ended: {p.stderr.read()}")
        else:
            moment(rng, p.stdout.fileno())
        # From a terminal ^C goes to all of the group; TERM and HUP are passed on.
        os.killpg(p.pid, sig) if sig == signal.SIGINT else p.send_signal(sig)
        try:
            status = p.wait(LIVE_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Fail(f"did not end after {sig.name}") from None
        err = p.stderr.read()
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        p.stderr.close()
        p.stdout.close()  # not before: the command would die of SIGPIPE
    check(status == -sig or status == 128 + sig, f"status {status} after {sig.name}: {err!r}")
    return out


def interrupted_attach(tmp, sig, number, rng):
    """Attached to a job that goes on; the signal is the tracer's."""
    work, out = tmp / "work", tmp / "out"
    work.mkdir()
    job = Job(work)
    try:
        job.rounds(1)
        with Tracer(tmp, "-q", "-p", job.proc.pid, out=out, ready=bool(number % 3), status=None,
                    stop=sig) as tracer:
            if number % 3:
                job.rounds(rng.randrange(1, 40))
            else:
                moment(rng, tracer.ready_r)
            tracer.proc.send_signal(sig)
            status = tracer._wait()
            tracer.trace = True
        job.rounds(2)  # undisturbed
    finally:
        job.end()
    # 0 when tracing had begun; before that the tracer may just as well die of it.
    check(status == 0 or not number % 3 and status == -sig, f"status {status} after {sig.name}")
    return out


def many(tmp, sig):
    need_root()
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    files = 0
    for number in range(TIMES):
        kind = interrupted_command if number % 2 else interrupted_attach
        with tempdir("signals") as sub:
            try:
                files += check_output(kind(sub, sig, number, rng))
            except Fail as e:
                raise Fail(f"{kind.__name__} {number} (seed {seed}): {e}") from None
    check(files > TIMES, f"only {files} files in {TIMES} runs")


@test
def test_interrupted_by_int(tmp):
    many(tmp, signal.SIGINT)


@test
def test_interrupted_by_term(tmp):
    many(tmp, signal.SIGTERM)


@test
def test_interrupted_by_hup(tmp):
    many(tmp, signal.SIGHUP)


@test
def test_flood_of_signals(tmp):
    """Signals while the tracer is finishing: it may end at once, and what it wrote is whole members."""
    need_root()
    rng = random.Random(1)
    for number in range(6):
        with tempdir("flood") as sub:
            work = sub / "work"
            work.mkdir()
            job = Job(work)
            try:
                job.rounds(1)
                with Tracer(sub, "-q", "-p", job.proc.pid, out=sub / "out", status=None) as tracer:
                    job.rounds(rng.randrange(1, 30))
                    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                        if tracer.proc.poll() is None:
                            tracer.proc.send_signal(sig)
                    tracer._wait()
                    tracer.trace = True
            finally:
                job.end()
            files = sorted((sub / "out").glob("*.pfw.gz"))
            if files:
                whole = [p for p in files if p.stat().st_size]
                if whole:
                    run(["gzip", "-t", *whole]).want(0)


if __name__ == "__main__":
    main()
