# SPDX-License-Identifier: MIT
"""Tools that move much data, by several processes, threads or past the page cache; against strace."""
import hashlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from comparejob import compared, make_tree, must_run  # noqa: E402
from dfttest import check, clean_env, equal, main, need_program, skip, test  # noqa: E402


def sums(root):
    """{name below root: sum of the content}, of all regular files."""
    return {os.path.relpath(os.path.join(d, n), root):
            hashlib.sha256(Path(d, n).read_bytes()).hexdigest()
            for d, _, names in os.walk(root) for n in names
            if not os.path.islink(os.path.join(d, n))}


@test
def test_git_gc(tmp):
    """Two packs and loose objects become one pack; by threads, and through mappings."""
    need_program("git")
    env = clean_env(HOME=str(tmp), GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a",
                    GIT_AUTHOR_EMAIL="a@example.org", GIT_COMMITTER_NAME="c",
                    GIT_COMMITTER_EMAIL="c@example.org")
    repo = tmp / "repo"
    make_tree(repo, 200)
    must_run(["git", "init", "-q", "-b", "main"], cwd=repo, env=env)
    for i in range(3):
        (repo / "dir0/sub000/file 00.txt").write_text(f"{i}\n" * 3000)
        must_run(["git", "add", "-A"], cwd=repo, env=env)
        must_run(["git", "commit", "-q", "-m", f"{i}"], cwd=repo, env=env)
        if i < 2:
            must_run(["git", "repack", "-q", "-d"], cwd=repo, env=env)
    packs = sorted((repo / ".git/objects/pack").glob("*.pack"))
    equal(len(packs), 2, "packs before")
    t, _ = compared(tmp, ["git", "gc", "-q"], cwd=repo, env=env, at_least=500, processes=4)
    now = sorted((repo / ".git/objects/pack").glob("*.pack"))
    equal(len(now), 1, "packs after")
    gone = {e.file for e in t.events("unlink") if e.ret == 0}
    equal({os.fsencode(p) for p in packs} - gone, set(), "packs not seen to be removed")
    must_run(["git", "fsck", "--strict"], cwd=repo, env=env)


@test
def test_rsync(tmp):
    """Three processes: who sends, who makes the list, who receives."""
    need_program("rsync")
    make_tree(tmp / "tree", 400)
    t, _ = compared(tmp, ["rsync", "-aH", "tree/", "copy"], at_least=3000, processes=3)
    equal(sums(tmp / "copy"), sums(tmp / "tree"), "the copy")
    base = os.fsencode(tmp / "copy") + b"/"
    made = {e.named("newpath_hash") for e in t.events("rename") if e.ret == 0}
    made = {n for n in made if n.startswith(base)}
    links = {n for n in sums(tmp / "tree") if os.stat(tmp / "tree" / n).st_nlink > 1}
    plain = {base + os.fsencode(n) for n in sums(tmp / "tree") if n not in links}
    equal(plain - made, set(), "files that rsync renamed to their name")


@test
def test_rsync_changes(tmp):
    """A file that has changed is put together from blocks of the old one."""
    need_program("rsync")
    (tmp / "a").mkdir()
    (tmp / "b").mkdir()
    old = b"".join(b"%07d\n" % i for i in range(60000))
    (tmp / "b/f").write_bytes(old)
    (tmp / "a/f").write_bytes(old[:200000] + b"in between" + old[200000:])
    t, _ = compared(tmp, ["rsync", "-a", "--no-whole-file", "-I", "a/", "b/"], at_least=20,
                    processes=3)
    equal((tmp / "b/f").read_bytes(), (tmp / "a/f").read_bytes(), "the copy")
    read = {e.file for e in t.events("read") if e.ret and e.ret > 0}
    check({os.fsencode(tmp / "a/f"), os.fsencode(tmp / "b/f")} <= read, "both files are read")


@test
def test_dd_direct(tmp):
    """Past the page cache, and by blocks that do not divide the size."""
    size = 1 << 20
    (tmp / "in").write_bytes(os.urandom(size))
    try:
        os.close(os.open(tmp / "in", os.O_RDONLY | os.O_DIRECT))
    except OSError as e:
        skip("O_DIRECT", f"{tmp}: {e.strerror}")
    t, _ = compared(tmp, ["dd", "if=in", "of=out", "bs=12k", "iflag=direct", "oflag=direct"],
                    at_least=170)
    equal((tmp / "out").read_bytes(), (tmp / "in").read_bytes(), "the copy")
    for name, path in (("read", "in"), ("write", "out")):
        events = t.events(name, file=tmp / path)
        equal(sum(e.ret for e in events), size, f"bytes of {name}")
        equal([e.args["offset"] for e in events if e.ret], list(range(0, size, 12288)),
              f"offsets of {name}")
        flags, = {e.args["flags"] for e in t.events("open", file=tmp / path) if e.ret >= 0}
        check(flags & os.O_DIRECT, f"flags of the open of {path}: {flags:o}")


@test
def test_tar_zstd_tar(tmp):
    """Two pipes; what comes out is what went in, and as many bytes leave a pipe as enter it."""
    need_program("tar", "zstd")
    make_tree(tmp / "tree", 300)
    (tmp / "out").mkdir()
    t, _ = compared(tmp, ["sh", "-c", "tar -cf - tree | zstd -q -T2 | zstd -q -d | tar -xf - -C out"],
                    at_least=3000, processes=5)
    equal(sums(tmp / "out/tree"), sums(tmp / "tree"), "the tree")
    pipes = {}
    for f in t:
        for r in f.records:
            if r["ph"] == 3 and not r["name"].startswith("mmap_"):
                key = f.resolve(r["args"]["fhash"]), r["name"]
                pipes[key] = pipes.get(key, 0) + r["args"]["ret_sum"]
    names = {n for n, _ in pipes}
    equal(len(names), 3, "pipes")
    for n in names:
        equal(pipes.get((n, "read")), pipes.get((n, "write")), f"bytes through {n}")


if __name__ == "__main__":
    main()
