# SPDX-License-Identifier: MIT
"""File systems of other kinds, mounts, other roots: names as the process sees them, bytes exact.

All mounts are made in mount namespaces that end with the process that holds them.
"""
import collections
import contextlib
import errno
import hashlib
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

WORK = ROOT / "tests/lib/fswork.py"
OLD = b"".join(b"%07d\n" % i for i in range(2500))
OLD_SUM = hashlib.sha256(OLD).hexdigest()
SAID = {"open", "close", "read", "write", "pread", "pwrite", "fsync", "mkdir", "rename", "link",
        "unlink", "copy_file_range", "ftruncate"}

# Mounts what it is told, says so, and stays; the commands may use $T.
HOLDER = ["unshare", "-m", "--propagation", "private", "sh", "-ec"]


@contextlib.contextmanager
def mounted(tmp, feature, script, last="echo mounted; read end"):
    """A mount namespace in which the shell has run a script; its holder. Skips if it could not."""
    with open(tmp / "mount.err", "wb") as err, \
            Background([*HOLDER, f"{script}\n{last}"], stderr=err,
                       env=clean_env(T=str(tmp))) as holder:
        if "echo mounted" in last and holder.line() != b"mounted\n":
            skip(feature, (tmp / "mount.err").read_text().strip() or "cannot be mounted")
        yield holder


def inside(holder, argv, root=None):
    """argv, run in the mount namespace (and below a root)."""
    return ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", *(["chroot", root] if root else []),
            *map(str, argv)]


def work_in(tmp, holder, where, *options, root=None):
    """Runs fswork.py there; (trace, what it said)."""
    argv = inside(holder, [PYTHON, "-I", "-S", "-B", WORK, where], root)
    t = trace(tmp, argv, *options, out=tmp / f"trace{len(list(tmp.glob('trace*')))}")
    t.no_loss()
    check_with_reader(t.path)
    return t, json.loads(t.run.out)


def shown(e):
    return [e.name, os.fsdecode(e.file or b"?"), e.ret, bool(e.args.get("deleted"))]


def compare(t, said, where):
    """The calls on files there are those that the program made, in order, by the same names."""
    base = os.fsencode(str(where)) + b"/"
    events = [e for e in t.by_pid(said["pid"]).events
              if e.name in SAID and (e.file or b"").startswith(base)]
    got = [shown(e) for e in events][:len(said["said"])]  # it sums up the files in the end
    check(len(said["said"]) > 30, f"the program made {len(said['said'])} calls")
    for g, w in zip(got, said["said"]):
        equal(g, w, "call")
    equal(len(got), len(said["said"]), "calls")
    other, = {os.fsdecode(e.named("other_fhash")) for e in events if e.name == "copy_file_range"}
    equal(other, f"{where}/new/a \u00e4 file", "the file copied to")
    new, = {os.fsdecode(e.named("newpath_hash")) for e in events if e.name == "rename"}
    equal(new, f"{where}/renamed", "the new name")


def compare_sums(t, said, where):
    """In sums: each file has its bytes and calls, by each of its names."""
    want, got = collections.Counter(), collections.Counter()
    for event, name, ret, _ in said["said"]:
        if event in ("write", "pwrite", "pread"):
            want[event, name, "bytes"] += ret
            want[event, name, "calls"] += 1
    for row in t.by_pid(said["pid"]).rows():
        name = os.fsdecode(t.by_pid(said["pid"]).resolve(row["args"].get("fhash")) or b"")
        if row["name"] in ("write", "pwrite", "pread") and name.startswith(f"{where}/"):
            got[row["name"], name, "bytes"] += row["args"]["ret_sum"]
            got[row["name"], name, "calls"] += row["args"]["dft_cnt"]
    equal(dict(got), dict(want), "sums")


def held_to(tmp, holder, where, root=None):
    """Events, then sums; what the program read and left behind is right."""
    visible = Path(f"/proc/{holder.pid}/root{root or ''}{where}")
    for options, judge in (((), compare), (("--aggregate",), compare_sums)):
        for name in ("renamed/a \u00e4 file", "renamed"):
            path = visible / name
            if path.exists():
                path.rmdir() if path.is_dir() else path.unlink()
        (visible / "old").write_bytes(OLD)
        t, said = work_in(tmp, holder, where, *options, root=root)
        judge(t, said, where)
        equal(said["first"], OLD_SUM, "what was read")
        for name, digest in said["sums"].items():
            equal(hashlib.sha256((visible / name).read_bytes()).hexdigest(), digest, name)


def image(tmp, mkfs, size, *options):
    """A file system in a sparse file; its mount command."""
    need_root()
    need_program(f"mkfs.{mkfs}")
    with open(tmp / "image", "wb") as f:
        f.truncate(size)
    run([f"mkfs.{mkfs}", *options, tmp / "image"]).want(0)
    (tmp / "mnt").mkdir()
    return 'mount -o loop "$T/image" "$T/mnt"'


@test
def test_tmpfs(tmp):
    need_root()
    (tmp / "mnt").mkdir()
    with mounted(tmp, "tmpfs", 'mount -t tmpfs tmpfs "$T/mnt"') as holder:
        held_to(tmp, holder, tmp / "mnt")


@test
def test_ends(tmp):
    """At the end of a file, and of the room for it: what was asked for, and what there was."""
    need_root()
    (tmp / "mnt").mkdir()
    code = """
import errno, os, sys
fd = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_RDWR)
def tell(call, *args):
    try:
        got = call(*args)
        print(len(got) if isinstance(got, bytes) else got, 0)
    except OSError as e:
        print(-1, e.errno)
for _ in range(3):
    tell(os.write, fd, bytes(50000))
for at in (0, 65530, 65536, 1 << 40):
    tell(os.pread, fd, 4096, at)
os.ftruncate(fd, 0)
tell(os.pwrite, fd, b"x", 0)
"""
    with mounted(tmp, "tmpfs", 'mount -t tmpfs -o size=64k tmpfs "$T/mnt"') as holder:
        t = trace(tmp, inside(holder, [PYTHON, "-I", "-S", "-c", code, tmp / "mnt"]))
    said = [tuple(map(int, line.split())) for line in t.run.out.splitlines()]
    events = [e for e in t.events(file=tmp / "mnt/f") if e.name in ("write", "pread", "pwrite")]
    equal([(e.ret, e.errno) for e in events], said, "results")
    equal([e.args["count"] for e in events], [50000] * 3 + [4096] * 4 + [1], "bytes asked for")
    equal([n for n, _ in said[:3]], [50000, 15536, -1], "bytes that had room")
    equal(said[2][1], errno.ENOSPC, "error of the write")
    equal([n for n, _ in said[3:7]], [4096, 6, 0, 0], "bytes read at the end")


@test
def test_overlayfs(tmp):
    """Read from below, copied up by the first write: one name, and the file below is untouched."""
    need_root()
    for name in ("lower", "upper", "ovl", "mnt"):
        (tmp / name).mkdir()
    (tmp / "lower/old").write_bytes(OLD)
    with mounted(tmp, "overlayfs",
                 'mount -t overlay overlay "$T/mnt" -o '
                 '"lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/ovl"') as holder:
        t, said = work_in(tmp, holder, tmp / "mnt")
        compare(t, said, tmp / "mnt")
        equal((tmp / "lower/old").read_bytes(), OLD, "the file below")
        equal(hashlib.sha256((tmp / "upper/old").read_bytes()).hexdigest(), said["sums"]["old"],
              "the file above")
        held_to(tmp, holder, tmp / "mnt")


@test
def test_ext4(tmp):
    with mounted(tmp, "ext4", image(tmp, "ext4", 32 << 20, "-q", "-F")) as holder:
        held_to(tmp, holder, tmp / "mnt")


@test
def test_xfs(tmp):
    with mounted(tmp, "xfs", image(tmp, "xfs", 320 << 20, "-q")) as holder:
        held_to(tmp, holder, tmp / "mnt")


@test
def test_btrfs(tmp):
    """In a subvolume, and in one that is mounted by itself; same inode numbers are not one file."""
    need_program("btrfs")
    script = image(tmp, "btrfs", 128 << 20, "-q")
    (tmp / "sub").mkdir()
    script += """
        btrfs subvolume create "$T/mnt/one" >&2
        btrfs subvolume create "$T/mnt/two" >&2
        mount -o loop,subvol=two "$T/image" "$T/sub" 2>/dev/null ||
            mount -o subvol=two "$(findmnt -no SOURCE "$T/mnt")" "$T/sub"
    """
    with mounted(tmp, "btrfs", script) as holder:
        held_to(tmp, holder, tmp / "mnt/one")
        held_to(tmp, holder, tmp / "sub")
        code = """
import os, sys
for i, d in enumerate(sys.argv[1:], 1):
    fd = os.open(f"{d}/twin", os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * i)
    s = os.fstat(fd)
    print(s.st_dev, s.st_ino)
"""
        argv = inside(holder, [PYTHON, "-I", "-S", "-c", code, tmp / "mnt/one", tmp / "sub"])
        t = trace(tmp, argv, "--aggregate", out=tmp / "twins")
        (dev1, ino1), (dev2, ino2) = (line.split() for line in t.run.out.splitlines())
        check(dev1 != dev2 and ino1 == ino2, f"not twins: {t.run.out}")
        got = {f.resolve(r["args"].get("fhash")): r["args"]["ret_sum"]
               for f in t for r in f.rows("write")}
        for i, d in enumerate(("mnt/one", "sub"), 1):
            equal(got.get(os.fsencode(tmp / d / "twin")), i, f"bytes of {d}/twin")


def until_mounted(holder, where):
    """Until a daemon that says nothing has mounted its file system there."""
    deadline = time.monotonic() + LIVE_TIMEOUT
    point = f" {where} "
    while point not in Path(f"/proc/{holder.pid}/mountinfo").read_text():
        if holder.proc.poll() is not None:
            return False
        check(time.monotonic() < deadline, f"nothing was mounted on {where}")
        os.sched_yield()
    return True


@test
def test_fuse(tmp):
    """By a daemon: the names are those below its mount, not those of the files behind it."""
    need_root()
    need_program("bindfs")
    for name in ("behind", "mnt"):
        (tmp / name).mkdir()
    if not os.path.exists("/dev/fuse"):
        skip("fuse", "there is no /dev/fuse")
    with mounted(tmp, "fuse", "", 'exec bindfs -f "$T/behind" "$T/mnt"') as holder:
        if not until_mounted(holder, tmp / "mnt"):
            skip("fuse", (tmp / "mount.err").read_text().strip())
        held_to(tmp, holder, tmp / "mnt")
        check((tmp / "behind/renamed").is_dir(), "nothing came through to the files behind")


@test
def test_single_files(tmp):
    """Files mounted on files: the name is the one used, also of one that is open when we come."""
    need_root()
    for name, text in (("config", b"a" * 10), ("real", b"b" * 20), ("later", b"c" * 40)):
        (tmp / name).write_bytes(text)
    code = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
print("open", flush=True)
sys.stdin.readline()
print(os.readlink(f"/proc/self/fd/{fd}"), len(os.pread(fd, 100, 0)), os.fstat(fd).st_ino)
other = os.open(sys.argv[2], os.O_RDWR)
print(os.readlink(f"/proc/self/fd/{other}"), len(os.pread(other, 100, 0)), os.fstat(other).st_ino)
sys.stdout.flush()
"""
    with mounted(tmp, "bind mounts", 'mount --bind "$T/real" "$T/config"') as holder, \
            Background(inside(holder, [PYTHON, "-I", "-S", "-u", "-c", code, tmp / "config",
                                       tmp / "real"])) as p:
        equal(p.line(), b"open\n")
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.tell()
            said = [p.line().split() for _ in range(2)]
            equal(p.wait(), 0, "exit status")
            t = tracer.wait()
    equal(said[0][2], said[1][2], "inode")
    equal([[e.file, b"%d" % e.ret] for e in t.events("pread")], [s[:2] for s in said],
          "names and bytes")
    equal([s[0] for s in said], [os.fsencode(tmp / n) for n in ("config", "real")], "its names")


@test
def test_same_path_in_two_namespaces(tmp):
    """One path, two files: each process has the bytes of its own."""
    need_root()
    (tmp / "mnt").mkdir()
    code = """
import hashlib, os, sys
fd = os.open(sys.argv[1] + "/f", os.O_CREAT | os.O_RDWR)
os.pwrite(fd, b"x" * int(sys.argv[2]), 0)
s = os.fstat(fd)
print(os.getpid(), os.readlink(f"/proc/self/fd/{fd}"), s.st_dev, s.st_size)
"""
    script = 'mount -t tmpfs tmpfs "$T/mnt"'
    with mounted(tmp, "tmpfs", script) as one, mounted(tmp, "tmpfs", script) as two:
        words = []
        for i, holder in enumerate((one, two), 1):
            argv = inside(holder, [PYTHON, "-I", "-S", "-c", code, tmp / "mnt", 100 * i])
            words.append(" ".join(f"'{w}'" for w in argv).replace(f"'{code}'", '"$CODE"'))
        t = trace(tmp, ["sh", "-ec", "\n".join(words)], env=clean_env(CODE=code))
    said = [line.split() for line in t.run.out.splitlines()]
    check(said[0][2] != said[1][2], "the two are one file system")
    for pid, name, _, size in said:
        e, = t.events("pwrite", pid=int(pid))
        equal((e.file, e.ret), (name, int(size)), "what was written")
    equal(said[0][1], said[1][1], "the path")


@test
def test_chroot(tmp):
    """Names are absolute in the root of the process, where another file system is."""
    need_root()
    (tmp / "root").mkdir()
    script = 'mount --rbind / "$T/root"\nmount -t tmpfs tmpfs "$T/root/srv"'
    with mounted(tmp, "bind mounts", script) as holder:
        held_to(tmp, holder, "/srv", root=f"{tmp}/root")
    check(not Path("/srv/old").exists(), "the file is in the root of the test")


@test
def test_inodes_used_again(tmp):
    """A number used again by another file: two files, two names, two sums."""
    code = """
import os, sys
rounds = []
for i in range(60):
    name = f"{sys.argv[1]}/file{i}"
    fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    os.write(fd, b"x" * (i + 1))
    os.pwrite(fd, b"y" * (i + 1), 5)
    rounds.append((name, os.fstat(fd).st_ino, i + 1))
    os.unlink(name)
    os.close(fd)
for r in rounds:
    print(*r)
"""
    with mounted(tmp, "ext4", image(tmp, "ext4", 32 << 20, "-q", "-F")) as holder:
        argv = inside(holder, [PYTHON, "-I", "-S", "-c", code, tmp / "mnt"])
        t = trace(tmp, argv)
        s = trace(tmp, argv, "--aggregate", out=tmp / "sums")
    for one in (t, s):
        one.no_loss()
        check_with_reader(one.path)
        one.said = [line.split() for line in one.run.out.splitlines()]
        numbers = collections.Counter(ino for _, ino, _ in one.said)
        check(max(numbers.values()) > 1, "no number was used again")
    base = os.fsencode(tmp / "mnt") + b"/"
    got = [(e.name, e.file, e.ret) for e in t.events() if e.name in ("write", "pwrite") and
           (e.file or b"").startswith(base)]
    want = [(event, name, int(n)) for name, _, n in t.said for event in ("write", "pwrite")]
    equal(got, want, "writes")
    got = {(r["name"], f.resolve(r["args"].get("fhash"))): (r["args"]["dft_cnt"],
                                                            r["args"]["ret_sum"])
           for f in s for name in ("write", "pwrite") for r in f.rows(name)}
    for name, _, n in s.said:
        for event in ("write", "pwrite"):
            equal(got.get((event, name)), (1, int(n)), f"sum of {event} of {name}")


if __name__ == "__main__":
    main()
