#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Single programs that do a lot of I/O, against strace watching the same run."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from comparejob import compared, must_run  # noqa: E402
from dfttest import PYTHON, check, clean_env, main, need_program, test  # noqa: E402


def make_repository(tmp):
    """A repository with some history, packed in part."""
    need_program("git")
    env = clean_env(HOME=str(tmp), GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a",
                    GIT_AUTHOR_EMAIL="a@example.org", GIT_COMMITTER_NAME="c",
                    GIT_COMMITTER_EMAIL="c@example.org",
                    GIT_AUTHOR_DATE="2024-01-01T00:00:00Z",
                    GIT_COMMITTER_DATE="2024-01-01T00:00:00Z")
    repo = tmp / "repo"
    os.mkdir(repo)
    must_run(["git", "init", "-q", "-b", "main"], cwd=repo, env=env)
    for commit in range(8):
        for i in range(25):
            path = repo / f"d{i % 5}" / f"f{i}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{commit} {i}\n" * (i * 40))
        must_run(["git", "add", "-A"], cwd=repo, env=env)
        must_run(["git", "commit", "-q", "-m", f"commit {commit}"], cwd=repo, env=env)
        if commit == 5:
            must_run(["git", "repack", "-q", "-a", "-d"], cwd=repo, env=env)
    return repo, env


@test
def test_git_clone(tmp):
    repo, env = make_repository(tmp)
    compared(tmp, ["git", "clone", "repo", "clone"], at_least=500, env=env)
    check((tmp / "clone/d1/f1").exists(), "git has not made the clone")


@test
def test_git_clone_by_transport(tmp):
    """Through upload-pack and index-pack: several processes, pipes, threads."""
    repo, env = make_repository(tmp)
    compared(tmp, ["git", "clone", f"file://{repo}", "clone"], at_least=500, processes=4, env=env)
    check((tmp / "clone/d1/f1").exists(), "git has not made the clone")


IMPORT_ALL = """
import importlib, sys
sys.dont_write_bytecode = False
left_out = {"antigravity", "this", "idlelib", "turtledemo", "test"}
good = 0
for name in sorted(sys.stdlib_module_names):
    if name in left_out or name.startswith("_"):
        continue
    try:
        importlib.import_module(name)
        good += 1
    except ImportError:
        pass
assert good > 150, good
"""


@test
def test_python_imports(tmp):
    """All of the standard library, compiled and written to a cache of its own."""
    compared(tmp, [PYTHON, "-I", "-X", f"pycache_prefix={tmp}/pyc", "-c", IMPORT_ALL],
             at_least=5000)
    written = sum(len(files) for _, _, files in os.walk(tmp / "pyc"))
    check(written > 200, f"only {written} modules were written")


SQL = """
pragma journal_mode=delete;
create table t(id integer primary key, k text, v blob);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000)
insert into t select i, 'key' || (i * 7919 % 9001), zeroblob(900) from n;
commit;
create index tk on t(k);
update t set v = zeroblob(950) where id % 10 = 0;
begin; delete from t where id % 100 = 0; rollback;
pragma journal_mode=wal;
insert into t select id + 100000, k || 'x', zeroblob(700) from t where id <= 1500;
select count(*) from t where k >= 'key5';
"""


@test
def test_sqlite3(tmp):
    compared(tmp, ["sqlite3", "big.db", SQL], at_least=3000)
    size = os.path.getsize(tmp / "big.db")
    check(size >= 10 << 20, f"the database has {size} bytes")


@test
def test_sort_beyond_buffer(tmp):
    r = random.Random(7)
    with open(tmp / "in", "w") as f:
        size = 0
        while size < 20 << 20:
            line = f"{r.getrandbits(64):016x} {r.getrandbits(200):x}\n" * 1
            f.write(line)
            size += len(line)
    t, _ = compared(tmp, ["sort", "-S", "1M", "-T", ".", "-o", "out", "in"], at_least=1000)
    temporary = {e.file for e in t.events("open") if b"/sort" in (e.file or b"")}
    check(len(temporary) >= 10, f"sort made {len(temporary)} temporary files")


if __name__ == "__main__":
    main()
