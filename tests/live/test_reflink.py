# SPDX-License-Identifier: MIT
"""What moves data from file to file without reading or writing it: both files named, bytes on both
sides. And what changes the blocks of one. On file systems made for it."""
import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

MIB = 1 << 20

MAKE = {"btrfs": ("mkfs.btrfs", "-q"), "xfs": ("mkfs.xfs", "-q", "-m", "reflink=1"),
        "ext4": ("mkfs.ext4", "-q")}

# FICLONE, FICLONERANGE and FIDEDUPERANGE of linux/fs.h; each says what it returned.
CLONES = """
import errno, fcntl, os, struct
FICLONE, FICLONERANGE, FIDEDUPERANGE = 0x40049409, 0x4020940d, 0xc0189436
def do(what, *args):
    try:
        print(what, fcntl.ioctl(*args))
    except OSError as e:
        print(what, -e.errno)
source = os.open("source", os.O_RDONLY)
def out(name):
    return os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
def ranged(offset, length, to):
    return bytearray(struct.pack("qQQQ", source, offset, length, to))
do("whole", out("whole"), FICLONE, source)
do("part", out("part"), FICLONERANGE, ranged(1 << 20, 2 << 20, 1 << 20))
do("tail", out("tail"), FICLONERANGE, ranged(3 << 20, 0, 0))
do("uneven", out("uneven"), FICLONERANGE, ranged(1, 4096, 0))
do("bad", out("bad"), FICLONE, 999)
whole = out("whole")
info = struct.pack("qqQiI", whole, 0, 0, 0, 0)
do("same", source, FIDEDUPERANGE, bytearray(struct.pack("QQHHI", 0, 4096, 1, 0, 0) + info))
"""


@contextlib.contextmanager
def mounted(tmp, kind):
    """A new file system of that kind."""
    need_root()
    need_program(MAKE[kind][0], "mount")
    image, at = tmp / "image", tmp / "mnt"
    with open(image, "wb") as f:
        f.truncate(400 * MIB)
    run([*MAKE[kind], image]).want(0)
    at.mkdir()
    r = run(["mount", "-t", kind, "-o", "loop", image, at])
    if r.status:
        skip(kind, f"cannot be mounted: {r.text.strip()}")
    try:
        yield at
    finally:
        run(["umount", at]).want(0)
        at.rmdir()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def summary(t):
    out = run([READER, "summary", "--json", "--top", "0", t.path]).want(0).out
    return {f.get("name"): (f["read"], f["written"]) for f in json.loads(out)["top_files"]}


def cloned(tmp, kind):
    with mounted(tmp, kind) as at:
        data = os.urandom(4 * MIB + 100)
        (at / "source").write_bytes(data)
        t = trace(tmp, [PYTHON, "-I", "-S", "-c", CLONES], cwd=at)
        check_with_reader(t.path)
        said = dict(line.split() for line in t.run.out.decode().splitlines())
        said.pop("same")  # dedupe is an ioctl like any other
        name = {n: os.fsencode(at / n) for n in [*said, "source"]}
        sizes = {n: os.stat(at / n).st_size for n in name}
        equal({n: int(r) for n, r in said.items()},
              {"whole": 0, "part": 0, "tail": 0, "uneven": -22, "bad": -9}, "what the calls returned")
        equal(digest((at / "whole").read_bytes()), digest(data), "the whole")
        equal(digest((at / "part").read_bytes()), digest(bytes(MIB) + data[MIB:3 * MIB]), "the part")
        equal(digest((at / "tail").read_bytes()), digest(data[3 * MIB:]), "the tail")
        got = {e.file: (e.name, e.named("other_fhash"), e.ret, e.errno,
                        *(e.args.get(k) for k in ("len", "off_in", "off_out", "size")))
               for e in t.events() if e.name.startswith("ficlone")}
        size = sizes["source"]
        equal(size, len(data), "size of the source")
        want = {"whole": ("ficlone", 0, 0, None, None, None, size),
                "part": ("ficlonerange", 0, 0, 2 * MIB, MIB, MIB, size),
                "tail": ("ficlonerange", 0, 0, 0, 3 * MIB, 0, size),
                "uneven": ("ficlonerange", -1, 22, 4096, 1, 0, None)}
        want = {name[n]: (w[0], name["source"], *w[1:]) for n, w in want.items()}
        want[name["bad"]] = ("ficlone", None, -1, 9, None, None, None, None)
        equal(got, want, "events")
        dedupe = [e for e in t.events("ioctl", file=at / "source")
                  if e.args["request"] == 0xc0189436]
        equal(len(dedupe), 1, "dedupe as a plain ioctl")
        files = summary(t)
        for n in ("whole", "part", "tail"):
            moved = {"whole": size, "part": 2 * MIB, "tail": size - 3 * MIB}[n]
            equal(files[str(at / n)], (0, moved), f"bytes of {n}")
        equal(files[str(at / "source")], (2 * size - MIB, 0), "bytes of the source")


@test
def test_clones_on_btrfs(tmp):
    cloned(tmp, "btrfs")


@test
def test_clones_on_xfs(tmp):
    cloned(tmp, "xfs")


def preallocated(tmp, kind):
    """Blocks punched out, taken away, put in, zeroed."""
    steps = [("keep", 0x1, 0, 8 * MIB), ("punch", 0x3, MIB, MIB), ("zero", 0x10, 2 * MIB, MIB),
             ("collapse", 0x8, 4 * MIB, MIB), ("insert", 0x20, MIB, MIB), ("bad", 0x3, -1, MIB)]
    code = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
fd = os.open("file", os.O_RDWR)
for what, mode, at, length in {steps!r}:
    r = libc.fallocate(fd, mode, at, length)
    print(what, r, ctypes.get_errno() if r else 0, os.fstat(fd).st_size)
"""
    with mounted(tmp, kind) as at:
        data = bytearray(os.urandom(8 * MIB))
        (at / "file").write_bytes(data)
        t = trace(tmp, [PYTHON, "-I", "-c", code], cwd=at)
        said = [line.split() for line in t.run.out.decode().splitlines()]
        got = [(e.args["mode"], e.args["offset"], e.args["len"], e.ret, e.errno)
               for e in t.events("fallocate", file=at / "file")]
        equal(got, [(mode, offset, length, int(r), int(err))
                    for (_, mode, offset, length), (_, r, err, _) in zip(steps, said)], "events")
        equal([int(r) for _, r, _, _ in said], [0, 0, 0, 0, 0, -1], "what the calls returned")
        data[MIB:2 * MIB] = bytes(MIB)
        data[2 * MIB:3 * MIB] = bytes(MIB)
        del data[4 * MIB:5 * MIB]
        data[MIB:MIB] = bytes(MIB)
        equal(digest((at / "file").read_bytes()), digest(bytes(data)), "content")


@test
def test_fallocate_on_ext4(tmp):
    preallocated(tmp, "ext4")


@test
def test_fallocate_on_xfs(tmp):
    preallocated(tmp, "xfs")


MOVERS = """
import os
MIB = 1 << 20
def whole(n):
    assert n == MIB, n
source = os.open("source", os.O_RDONLY)
def out(name):
    return os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
whole(os.sendfile(out("sendfile"), source, 0, MIB))
whole(os.copy_file_range(source, out("range"), MIB, 0))
r, w = os.pipe()
import fcntl
fcntl.fcntl(w, 1031, MIB)
os.lseek(source, 0, 0)
whole(os.splice(source, w, MIB))
whole(os.splice(r, out("splice"), MIB))
"""


@test
def test_movers(tmp):
    """sendfile, copy_file_range, and splice through a pipe: a mebibyte each."""
    need_root()
    data = os.urandom(MIB)
    (tmp / "source").write_bytes(data)
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", MOVERS], cwd=tmp)
    for n in ("sendfile", "range", "splice"):
        equal(digest((tmp / n).read_bytes()), digest(data), n)
    name = {n: os.fsencode(tmp / n) for n in ("source", "sendfile", "range", "splice")}
    pairs = [(e.name, e.file, e.named("other_fhash"), e.ret) for e in t.events()
             if e.name in ("sendfile", "copy_file_range", "splice")]
    equal([(n, a, b if b and b.startswith(b"/") else "pipe", r) if not (a or b"").startswith(b"pipe")
           else (n, "pipe", b, r) for n, a, b, r in pairs],
          [("sendfile", name["sendfile"], name["source"], MIB),
           ("copy_file_range", name["source"], name["range"], MIB),
           ("splice", name["source"], "pipe", MIB), ("splice", "pipe", name["splice"], MIB)],
          "events")
    files = summary(t)
    equal([files[str(tmp / n)] for n in ("source", "sendfile", "range", "splice")],
          [(3 * MIB, 0), (0, MIB), (0, MIB), (0, MIB)], "bytes on both sides")


if __name__ == "__main__":
    main()
