# SPDX-License-Identifier: MIT
"""Redis with an append-only file, under its own benchmark: traced from start, and by attach."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from appjob import at_full_speed, by_attach, from_start, server  # noqa: E402
from comparejob import must_run  # noqa: E402
from dfttest import check, equal, main, need_program, run, test  # noqa: E402

SERVER = ["redis-server", "--port", "0", "--unixsocket", "sock", "--daemonize", "no", "--save", "",
          "--appendonly", "yes", "--appendfsync", "everysec", "--dir", ".", "--logfile", "log"]
LOAD = ["redis-benchmark", "-s", "sock", "-q", "-t", "set", "-n", "20000", "-r", "1000", "-c", "8"]
CLI = ["redis-cli", "-s", "sock"]
JOB = f"""
{' '.join(f"'{w}'" for w in SERVER)} &
until {' '.join(CLI)} ping >ping 2>&1 && grep -q PONG ping; do :; done
{' '.join(LOAD)} >load
{' '.join(CLI)} bgrewriteaof >rewrite
until {' '.join(CLI)} info persistence | grep -q aof_rewrite_in_progress:0; do :; done
{' '.join(CLI)} shutdown
wait
"""


def appended(tmp, t):
    """At least the bytes that the append-only files have were seen to be written: more, for old ones
    are removed when they were written anew."""
    size = sum(p.stat().st_size for p in (tmp / "appendonlydir").iterdir())
    check(size > 1000, f"the append-only files have {size} bytes")
    written = 0
    for f in t:
        if f.program.startswith("redis-server"):
            written += sum(e.ret for e in f.events if e.name == "write" and e.ret > 0 and
                           (b"/appendonlydir/" in (e.file or b"") or b"temp-rewrite" in e.file))
    check(written >= size, f"{written} bytes written of {size}")
    print(f"  {written} bytes written to append-only files, {size} of them are there")


@test
def test_from_start(tmp):
    need_program("redis-server", "redis-benchmark", "redis-cli")
    t, _ = from_start("redis from start", tmp, ["sh", "-ec", JOB], at_least=1000, processes=5)
    appended(tmp, t)


@test
def test_at_full_speed(tmp):
    need_program("redis-server", "redis-benchmark", "redis-cli")
    t = at_full_speed("redis at full speed", tmp, ["sh", "-ec", JOB], cwd=tmp)
    appended(tmp, t)


@test
def test_by_attach(tmp):
    need_program("redis-server", "redis-benchmark", "redis-cli")

    def answers():
        return b"PONG" in run([*CLI, "ping"], cwd=tmp).out

    with server(SERVER, answers, cwd=tmp) as p:
        def work():
            must_run(LOAD, cwd=tmp)
            must_run([*CLI, "shutdown"], cwd=tmp)
            equal(p.wait(), 0, "exit status of redis-server")

        by_attach("redis by attach", tmp, p.pid, work, at_least=100)


if __name__ == "__main__":
    main()
