# SPDX-License-Identifier: MIT
"""PostgreSQL under pgbench: traced from initdb on, and by attach to the server that runs."""
import glob
import os
import pwd
import select
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from appjob import at_full_speed, by_attach, from_start  # noqa: E402
from comparejob import must_run, process_tree  # noqa: E402
from dfttest import check, main, skip, test  # noqa: E402

INITDB = "initdb -D data -U postgres -A trust --no-instructions >log.initdb"
# No work at moments of its own; several ways to sync.
START = """pg_ctl -D data -l log.server -w -o "-k $PWD -c listen_addresses='' -c autovacuum=off
    -c jit=off -c shared_buffers=4MB -c checkpoint_timeout=1h -c bgwriter_delay=10s" start >log.ctl 2>&1"""
FILL = "pgbench -h \"$PWD\" -U postgres -q -i -s 2 postgres"
LOAD = "pgbench -h \"$PWD\" -U postgres -n -c 4 -j 2 -t 200 postgres"
STOP = "pg_ctl -D data -w -m fast stop >&2"


def prepared(tmp):
    """The directory that the server may write to, and how to run a script as its user there."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb") + glob.glob("/usr/bin/initdb"))
    if not found or not shutil.which("pgbench", path=os.path.dirname(found[-1])):
        skip("postgresql", "initdb or pgbench is not installed")
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")  # it must not be root
    work = tmp / "pg"
    work.mkdir()
    os.chown(work, user.pw_uid, user.pw_gid)

    def script(*lines):
        path = f"export PATH={os.path.dirname(found[-1])}:$PATH"
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                "sh", "-ec", "\n".join((path, *lines))]

    return work, script


@test
def test_from_start(tmp):
    """initdb, start, fill, load, stop."""
    work, script = prepared(tmp)
    t, _ = from_start("postgresql from start", tmp, script(INITDB, START, FILL, LOAD, STOP),
                      cwd=work, at_least=20000, processes=15)
    wal = [e for e in t.events() if b"/pg_wal/" in (e.file or b"")]
    check(any(e.name == "pwrite" for e in wal), "no write to the log of transactions")
    check(any(e.name == "fdatasync" for e in wal), "no sync of the log of transactions")


@test
def test_at_full_speed(tmp):
    work, script = prepared(tmp)
    at_full_speed("postgresql at full speed", tmp, script(INITDB, START, FILL, LOAD, STOP),
                  cwd=work)


def wait_for_clients(pid):
    """Until the server's processes for clients that have gone have gone as well."""
    for member in process_tree(pid):
        try:
            fd = os.pidfd_open(member)
        except ProcessLookupError:
            continue
        try:
            if b"[local]" in Path(f"/proc/{member}/cmdline").read_bytes():
                select.select([fd], [], [])
        except FileNotFoundError:
            pass
        finally:
            os.close(fd)


@test
def test_by_attach(tmp):
    work, script = prepared(tmp)
    must_run(script(INITDB), cwd=work)
    try:
        must_run(script(START, FILL), cwd=work)
        pid = int((work / "data/postmaster.pid").read_text().split()[0])
        wait_for_clients(pid)

        def load():
            must_run(script(LOAD, STOP), cwd=work)

        by_attach("postgresql by attach", tmp, pid, load, at_least=2000, processes=8)
    finally:
        if (work / "data/postmaster.pid").exists():
            must_run(script(STOP.replace("fast", "immediate")), cwd=work)


if __name__ == "__main__":
    main()
