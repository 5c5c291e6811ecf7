# SPDX-License-Identifier: MIT
"""Names stay right while the kernel uses directory entries, inodes and mounts again for others."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

REUSE = BUILD / "tests/progs/reuse"
ROUNDS = 10000

# Mounts what the words before -- say, within a mount namespace that ends with the program.
IN_NAMESPACE = ["unshare", "-m", "--propagation", "private", "sh", "-ec", """
while [ "$1" != -- ]; do eval "$1"; shift; done
shift
exec "$@"
""", "sh"]


def steps(what, work, rounds):
    """The events of the rounds, in order: (name, file, other file)."""
    work = os.fsencode(work)
    for i in range(rounds):
        d = work + (b"/%s" % (b"in", b"out")[i % 2] if what == "sides" else b"/d%d" % i)
        if what == "cwd":
            yield from [("mkdir", d, None), ("mkdir", d + b"/w", None), ("chdir", d + b"/w", None),
                        ("access", d + b"/w/n%d" % i, None), ("fchdir", work, None),
                        ("rmdir", d + b"/w", None), ("rmdir", d, None)]
            continue
        sub = d if what == "files" else d + b"/sub"
        f = sub + b"/f"
        yield "mkdir", d, None
        if sub != d:
            yield "mkdir", sub, None
            yield "link", work + b"/keep", f
        yield from [("open", f, None), ("pwrite", f, i), ("close", f, None), ("unlink", f, None)]
        if sub != d:
            yield "rmdir", sub, None
        yield "rmdir", d, None


def shown(e):
    if e.name == "pwrite":
        return e.name, e.file, e.args["offset"]
    return e.name, e.file, e.named("newpath_hash") if e.name == "link" else None


def compare(f, want):
    """Each event of the rounds is there, in order, with its name."""
    want = list(want)
    # Before the rounds there is what starts the program, and the file `keep`.
    events = f.events[-len(want):]
    equal(len(events), len(want), "events")
    wrong = [(shown(e), w, e) for e, w in zip(events, want) if shown(e) != w]
    if wrong:
        got, w, e = wrong[0]
        fail(f"{len(wrong)} of {len(want)} events are wrong; the first: got {got}, want {w}: {e}")


def churn(tmp, what, work=None, mount=(), options=(), rounds=ROUNDS):
    """Traces `reuse WHAT`; (the trace, the file of the program)."""
    need_root()
    if work is None:
        work = tmp / "work"
        work.mkdir()
    argv = ["sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", work, REUSE, what, rounds]
    if mount:
        argv = [*IN_NAMESPACE, *mount, "--", *argv]
    t = trace(tmp, [str(a) for a in argv], "--ring", "64M", *options)
    t.no_loss()
    check_with_reader(t.path)
    # `sh` may make others, which mount.
    return work, max(t.files, key=lambda f: len(f.events))


def need_mount(feature, *commands):
    r = run([*IN_NAMESPACE, *commands, "--", "true"])
    if r.status != 0:
        skip(feature, r.text.strip())


def on_tmpfs(tmp):
    work = tmp / "tmpfs"
    work.mkdir()
    mount = [f"mount -t tmpfs tmpfs {work}"]
    need_mount("tmpfs", *mount)
    return work, mount


def on_overlay(tmp):
    for name in ("lower", "upper", "work.dir", "merged"):
        (tmp / name).mkdir()
    mount = [f"mount -t overlay overlay {tmp}/merged -o "
             f"lowerdir={tmp}/lower,upperdir={tmp}/upper,workdir={tmp}/work.dir"]
    need_mount("overlayfs", *mount)
    return tmp / "merged", mount


@test
def test_hard_links(tmp):
    """dI/sub/f by hard link, on the file system of the test: the inode is always the same."""
    work, f = churn(tmp, "links")
    compare(f, steps("links", work, ROUNDS))


@test
def test_hard_links_on_tmpfs(tmp):
    work, mount = on_tmpfs(tmp)
    work, f = churn(tmp, "links", work, mount)
    compare(f, steps("links", work, ROUNDS))


@test
def test_files_on_overlayfs(tmp):
    work, mount = on_overlay(tmp)
    work, f = churn(tmp, "files", work, mount)
    compare(f, steps("files", work, ROUNDS))


@test
def test_working_directories(tmp):
    """dI/w as the base of names."""
    work, f = churn(tmp, "cwd")
    compare(f, steps("cwd", work, ROUNDS))


@test
def test_working_directories_on_overlayfs(tmp):
    work, mount = on_overlay(tmp)
    work, f = churn(tmp, "cwd", work, mount)
    compare(f, steps("cwd", work, ROUNDS))


@test
def test_mount_namespaces(tmp):
    """One file below two bind mounts, each time in a new copy of the mount namespace."""
    need_root()
    for name in ("source", "b0", "b1"):
        (tmp / name).mkdir()
    (tmp / "source/f").touch()
    mount = [f"mount --bind {tmp}/source {tmp}/{b}" for b in ("b0", "b1")]
    need_mount("bind mounts", *mount)
    rounds = 2000
    t = trace(tmp, [*IN_NAMESPACE, *mount, "--", REUSE, "mounts", str(rounds), f"{tmp}/b0/f",
                    f"{tmp}/b1/f"], "--ring", "64M")
    t.no_loss()
    f = max(t.files, key=lambda f: len(f.events))
    want = []
    for i in range(rounds):
        name = os.fsencode(tmp / f"b{i % 2}/f")
        want += [("open", name, None), ("pwrite", name, i), ("close", name, None)]
    compare(f, want)


def filtered(tmp, work, mount):
    """--include in/: exactly the calls inside are kept, the others counted."""
    work, f = churn(tmp, "sides", work, mount, options=["--include", f"{work}/in"])
    inside = os.fsencode(work) + b"/in/"
    # A call between two names is kept for either.
    want = [s for s in steps("sides", work, ROUNDS)
            if any(isinstance(n, bytes) and (n + b"/").startswith(inside) for n in s[1:])]
    compare(f, want)
    kept = [e for e in f.events if e.file is not None]
    equal(len(kept), len(want), "events with a name")
    counts = f.filtered.get("excluded", {})
    for name, each in (("pwrite", 1), ("unlink", 1), ("rmdir", 2), ("link", 1)):
        equal(counts.get(name), each * ROUNDS // 2, f"{name} excluded")


@test
def test_include(tmp):
    (tmp / "work").mkdir()
    filtered(tmp, tmp / "work", ())


@test
def test_include_on_tmpfs(tmp):
    work, mount = on_tmpfs(tmp)
    filtered(tmp, work, mount)


if __name__ == "__main__":
    main()
