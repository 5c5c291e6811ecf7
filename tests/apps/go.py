# SPDX-License-Identifier: MIT
"""restic, a program of Go: a tree goes into a repository and comes back; from start, and by attach."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from appjob import by_attach, from_start, server  # noqa: E402
from comparejob import make_tree, must_run  # noqa: E402
from dfttest import check, clean_env, equal, main, need_program, test  # noqa: E402


def prepared(tmp):
    need_program("restic")
    env = clean_env(HOME=str(tmp), RESTIC_PASSWORD="x", RESTIC_REPOSITORY=str(tmp / "repo"),
                    RESTIC_CACHE_DIR=str(tmp / "cache"), TMPDIR=str(tmp))
    must_run(["restic", "init"], env=env)
    return env


def stored(tmp, t):
    """Each file of the repository's data was seen to be written, whole, and renamed to its name."""
    renamed = {e.named("newpath_hash") for e in t.events("rename") if e.ret == 0}
    written = {}
    for e in t.events("write"):
        if e.ret > 0:
            written[e.file] = written.get(e.file, 0) + e.ret
    old = {e.named("newpath_hash"): e.file for e in t.events("rename") if e.ret == 0}
    packs = [p for p in (tmp / "repo/data").rglob("*") if p.is_file()]
    check(packs, "restic has stored nothing")
    for p in packs:
        name = os.fsencode(p)
        check(name in renamed, f"{p} was not renamed to its name")
        equal(written.get(old[name], 0), p.stat().st_size, f"bytes written to {p}")


@test
def test_from_start(tmp):
    env = prepared(tmp)
    make_tree(tmp / "tree", 500)
    t, _ = from_start("restic from start", tmp, ["restic", "backup", "-q", "tree"], env=env,
                      at_least=3000)
    stored(tmp, t)
    must_run(["restic", "restore", "-q", "latest", "--target", tmp / "back"], env=env)
    must_run(["diff", "-r", "--no-dereference", tmp / "tree", tmp / "back/tree"])


@test
def test_by_attach(tmp):
    """It reads what to store from a pipe, and has a dozen threads when we come."""
    env = prepared(tmp)
    data = os.urandom(3 << 20)
    argv = ["restic", "backup", "-q", "--stdin", "--stdin-filename", "stream"]

    def has_begun():
        return any((tmp / "repo/locks").iterdir())

    with server(argv, has_begun, env=env, cwd=tmp) as p:
        def go():
            with os.fdopen(os.dup(p.proc.stdin.fileno()), "wb") as f:
                p.proc.stdin.close()
                f.write(data)
            equal(p.wait(), 0, "exit status of restic")

        t, _ = by_attach("restic by attach", tmp, p.pid, go, at_least=20)
    stored(tmp, t)
    r = must_run(["restic", "dump", "latest", "stream"], env=env)
    check(r.out == data, "what comes back is not what was stored")


if __name__ == "__main__":
    main()
