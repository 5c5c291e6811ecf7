#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random calls of every kind, many of them wrong, against strace watching the same run.

A program makes thousands of system calls by number with arguments drawn from a small pool of good
and bad descriptors, names, addresses and flags (always the same ones for a seed), in a few
processes. What it does makes no sense; what the trace says about it must be true.
"""
import os
import pwd
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from comparejob import compared  # noqa: E402
from dfttest import PYTHON, check, main, need_program, need_root, run, test  # noqa: E402

PROGRAM = r"""
import ctypes, os, random, sys
seed, calls, numbers = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
nr = {k: int(v) for k, v in (w.split("=") for w in numbers.split(","))}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
rng = random.Random(seed)
here = os.fsencode(os.getcwd())

class Random:
    "Arguments; keeps alive what it points to."
    def __init__(self):
        self.keep = []
        self.buf = ctypes.create_string_buffer(8192)

    def ptr(self, data):
        b = ctypes.create_string_buffer(data, len(data) + 8)
        self.keep.append(b)
        return ctypes.addressof(b)

    def fd(self):
        return rng.choice(fds + [99, -1, 3])

    def path(self):
        p = rng.choice(PATHS)
        if p is None:
            return 0
        if p == 1:
            return 1
        return self.ptr(p + b"\0")

    def at(self):
        return rng.choice([-100, -100, dirfd, dirfd, rng.choice(fds), 99])

    def out(self):
        return rng.choice([ctypes.addressof(self.buf)] * 4 + [0, 1])

    def size(self):
        return rng.choice([0, 1, 10, 100, 4096, 8192])

    def off(self):
        return rng.choice([0, 0, 1, 100, 5000, -1])

    def offp(self):
        return rng.choice([0, 0, self.ptr(rng.choice([0, 7, 100]).to_bytes(8, "little")), 1])

    def iov(self):
        n = rng.choice([0, 1, 2, 3])
        a = ctypes.addressof(self.buf)
        return self.ptr(b"".join((a + 100 * i).to_bytes(8, "little") +
                                 rng.choice([0, 5, 50]).to_bytes(8, "little")
                                 for i in range(n))), n

    def mode(self):
        return rng.choice([0o644, 0o600, 0o755])

    def times(self):
        return rng.choice([0, self.ptr(b"\0" * 32)])

NAMES = [b"a", b"b", b"c", b"dir/c", b"./dir//d", b"dir/../a", b"missing/x", b"dir/./sub/./e",
         b"link", b"dangling", b"dir/", b".", b"..", b"\xff\xfe", b"q\"u\\o\nte", b"a<b>",
         b"n" * 255, b"n" * 256, b"x/" * 150 + b"y", b"dir//", b"a/.", b"///proc/version"]
PATHS = NAMES + [here + b"/" + n for n in NAMES[:12]] + [
    b"", b"", None, 1, b"/proc/loadavg", b"/proc/self/stat", b"/nowhere/at/all", b"/proc/self/cwd/a",
    b"/proc/../proc/uptime", b"fifo"]
O = os.O_RDWR, os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_APPEND, \
    os.O_RDONLY | os.O_DIRECTORY, os.O_PATH, os.O_RDWR | os.O_CREAT | os.O_EXCL, \
    os.O_PATH | os.O_NOFOLLOW, os.O_RDWR | os.O_TMPFILE, os.O_RDWR | os.O_CREAT | os.O_TRUNC
O = tuple(o | os.O_NONBLOCK for o in O)  # nothing may wait

def prepare():
    global fds, dirfd
    os.makedirs("dir/sub", exist_ok=True)
    for n in ("a", "b", "dir/c", "dir/d"):
        with open(n, "wb") as f:
            f.write(os.urandom(50) * 200)
    for link in (("a", "link"), ("nothing", "dangling")):
        try:
            os.symlink(*link)
        except FileExistsError:
            pass
    dirfd = os.open("dir", os.O_RDONLY | os.O_DIRECTORY)
    r, w = os.pipe2(os.O_NONBLOCK)
    import socket
    a, b = (s.detach() for s in socket.socketpair())
    os.set_blocking(a, False); os.set_blocking(b, False)
    fds = [os.open("a", os.O_RDWR), os.open("b", os.O_RDWR | os.O_APPEND), os.open("dir/c", os.O_RDONLY),
           dirfd, r, w, a, b, os.open("/dev/null", os.O_RDWR), os.open("/proc/self/stat", os.O_RDONLY),
           os.eventfd(3, os.EFD_NONBLOCK), os.memfd_create("mem"),
           os.open("dir/sub", os.O_RDONLY | os.O_DIRECTORY),
           os.open("/proc/self/task", os.O_RDONLY | os.O_DIRECTORY)]
    gone = os.open("gone", os.O_RDWR | os.O_CREAT, 0o644)
    os.unlink("gone")
    fds.append(gone)

AT_EMPTY, NOFOLLOW, REMOVEDIR, SYMLINK_FOLLOW = 0x1000, 0x100, 0x200, 0x400

def call(name):
    r = Random()
    fd, path, at, out = r.fd, r.path, r.at, r.out
    f = rng.choice
    args = {
        "read": lambda: (fd(), out(), r.size()), "write": lambda: (fd(), out(), r.size()),
        "open": lambda: (path(), f(O), r.mode()), "openat": lambda: (at(), path(), f(O), r.mode()),
        "openat2": lambda: (at(), path(), r.ptr(f((os.O_NONBLOCK, os.O_RDWR | os.O_NONBLOCK)).to_bytes(8, "little") +
                                                b"\0" * 16), f((24, 8))),
        "creat": lambda: (r.ptr(f((b"c", b"dir/new", b"missing/x", b"dir")) + b"\0"), r.mode()),
        "open_by_handle_at": lambda: (at(), out(), 0),
        "close": lambda: (f((99, -1, 98)),),
        "stat": lambda: (path(), out()), "lstat": lambda: (path(), out()), "fstat": lambda: (fd(), out()),
        "newfstatat": lambda: (at(), path(), out(), f((0, NOFOLLOW, AT_EMPTY, AT_EMPTY | NOFOLLOW))),
        "statx": lambda: (at(), path(), f((0, NOFOLLOW, AT_EMPTY, AT_EMPTY | NOFOLLOW)), 0x7ff, out()),
        "lseek": lambda: (fd(), r.off(), f((0, 1, 2, 3, 4, 9))),
        "mmap": lambda: (0, f((0, 4096, 8192)), f((0, 1)), f((1, 2, 0x22)), fd(), f((0, 4096, 1))),
        "ioctl": lambda: (fd(), f((0x5401, 0x541b, 0x80086601, 0x12345678)), out()),
        "pread64": lambda: (fd(), out(), r.size(), r.off()),
        "pwrite64": lambda: (fd(), out(), r.size(), r.off()),
        "readv": lambda: (fd(), *r.iov()), "writev": lambda: (fd(), *r.iov()),
        "preadv": lambda: (fd(), *r.iov(), r.off(), 0), "pwritev": lambda: (fd(), *r.iov(), r.off(), 0),
        "preadv2": lambda: (fd(), *r.iov(), r.off(), 0, f((0, 8, 0x1000))),
        "pwritev2": lambda: (fd(), *r.iov(), r.off(), 0, f((0, 2, 0x1000))),
        "access": lambda: (path(), f((0, 4, 99))), "faccessat": lambda: (at(), path(), 4),
        "faccessat2": lambda: (at(), path(), f((0, 4)), f((0, AT_EMPTY, NOFOLLOW))),
        "dup": lambda: (fd(),), "dup2": lambda: (fd(), f(fds + [99])),
        "dup3": lambda: (fd(), f((70, 71, 72, 99)), f((0, os.O_CLOEXEC, 1))),
        "fcntl": lambda: (fd(), f((1, 3, 1030, 9999, 5)), f((60, 0))),
        "flock": lambda: (fd(), f((4 | 1, 8, 4 | 2, 99))),
        "fsync": lambda: (f([x for x in fds[:3]] + [99, fds[5]]),), "fdatasync": lambda: (fd(),),
        "sync_file_range": lambda: (fd(), r.off(), r.size(), f((0, 2))), "syncfs": lambda: (f((99, -1)),),
        "truncate": lambda: (path(), f((0, 100, 20000, -5))), "ftruncate": lambda: (fd(), f((0, 9999, 20000))),
        "fallocate": lambda: (fd(), f((0, 1)), r.off(), r.size()),
        "unlink": lambda: (path(),), "rmdir": lambda: (path(),),
        "unlinkat": lambda: (at(), path(), f((0, REMOVEDIR, 1))),
        "rename": lambda: (path(), path()), "renameat": lambda: (at(), path(), at(), path()),
        "renameat2": lambda: (at(), path(), at(), path(), f((0, 1, 2, 99))),
        "link": lambda: (path(), path()),
        "linkat": lambda: (at(), path(), at(), path(), f((0, SYMLINK_FOLLOW, AT_EMPTY))),
        "symlink": lambda: (path(), path()), "symlinkat": lambda: (path(), at(), path()),
        "readlink": lambda: (path(), out(), f((100, 0, 1))),
        "readlinkat": lambda: (at(), path(), out(), 100),
        "mkdir": lambda: (path(), 0o755), "mkdirat": lambda: (at(), path(), 0o755),
        "mknod": lambda: (path(), f((0o100644, 0o600)), 0),
        "mknodat": lambda: (at(), path(), 0o100644, 0),
        "chmod": lambda: (r.ptr(f((b"a", b"b", b"missing/x", b"dir/c")) + b"\0"), 0o644),
        "fchmod": lambda: (fd(), 0o755), "fchmodat": lambda: (at(), r.ptr(f((b"a", b"c")) + b"\0"), 0o644),
        "chown": lambda: (path(), -1, -1), "lchown": lambda: (path(), -1, 0), "fchown": lambda: (fd(), -1, -1),
        "fchownat": lambda: (at(), path(), -1, -1, f((0, NOFOLLOW, AT_EMPTY, AT_EMPTY | NOFOLLOW))),
        "utimensat": lambda: (at(), path(), r.times(), f((0, NOFOLLOW, AT_EMPTY))),
        "futimesat": lambda: (at(), path(), r.times()), "utimes": lambda: (path(), r.times()),
        "utime": lambda: (path(), r.times()),
        "getdents64": lambda: (fd(), ctypes.addressof(r.buf), f((0, 10, 4096))),
        "getdents": lambda: (fd(), ctypes.addressof(r.buf), f((0, 10, 4096))),
        "chdir": lambda: (r.ptr(f((here, b"dir", b"sub", b"missing", b"a", here + b"/dir/sub")) + b"\0")
                          if f((0, 1)) else r.ptr(here + b"\0"),),
        "fchdir": lambda: (f([dirfd, fds[12], fds[0], 99, fds[4]]),),
        "sendfile": lambda: (fd(), fd(), r.offp(), r.size()),
        "copy_file_range": lambda: (fd(), r.offp(), fd(), r.offp(), r.size(), f((0, 0, 1))),
        "splice": lambda: (fd(), r.offp(), fd(), r.offp(), f((0, 10, 100)), f((2, 0x100))),
        "tee": lambda: (fd(), fd(), f((0, 10)), f((2, 0x100))),
        "fadvise64": lambda: (fd(), 0, 100, f((0, 2, 99))), "readahead": lambda: (fd(), 0, 100),
        "statfs": lambda: (path(), out()), "fstatfs": lambda: (fd(), out()),
        "msync": lambda: (ctypes.addressof(r.buf) & ~4095, 4096, f((1, 4, 99))),
        "setxattr": lambda: (path(), r.ptr(f((b"user.x\0", b"bad\0"))), out(), f((0, 5)), f((0, 1, 2))),
        "getxattr": lambda: (path(), r.ptr(f((b"user.x\0", b"user.y\0"))), out(), f((0, 100))),
        "listxattr": lambda: (path(), out(), 100), "removexattr": lambda: (path(), r.ptr(b"user.x\0")),
        "lsetxattr": lambda: (path(), r.ptr(b"user.x\0"), out(), 5, 0),
        "lgetxattr": lambda: (path(), r.ptr(b"user.x\0"), out(), 100),
        "llistxattr": lambda: (path(), out(), 100), "lremovexattr": lambda: (path(), r.ptr(b"user.x\0")),
        "fsetxattr": lambda: (fd(), r.ptr(b"user.x\0"), out(), 5, 0),
        "fgetxattr": lambda: (fd(), r.ptr(b"user.x\0"), out(), 100),
        "flistxattr": lambda: (fd(), out(), 100), "fremovexattr": lambda: (fd(), r.ptr(b"user.x\0")),
        "execve": lambda: (r.ptr(f((b"a", b"missing", b"dir", b"null", b"")) + b"\0"), 0, 0),
        "execveat": lambda: (at(), r.ptr(f((b"a", b"missing", b"")) + b"\0"), 0, 0, f((0, AT_EMPTY, NOFOLLOW))),
        "wait4": lambda: (f((-1, 99999999)), 0, 1, 0), "waitid": lambda: (0, 0, 0, 4 | 1, 0),
        "close_range": lambda: (f((200, 300)), f((250, 100)), f((0, 4, 64))),
        "chroot": lambda: (r.ptr(b"missing/root\0"),),
        "sendto": lambda: (fd(), ctypes.addressof(r.buf), 3, 0x40, 0, 0),
        "recvfrom": lambda: (fd(), ctypes.addressof(r.buf), 3, 0x40, 0, 0),
    }[name]()
    # The directory we are in may have got another name: have the log tell.
    libc.syscall(ctypes.c_long(nr["getcwd"]), r.buf, ctypes.c_long(8192))
    ret = libc.syscall(ctypes.c_long(nr[name]), *[ctypes.c_long(a) for a in args])
    if ret > 2 and name in ("open", "openat", "openat2", "creat", "dup", "fcntl") and ret not in fds \
            and not (name == "fcntl" and args[1] != 1030):
        extra.append(ret)
    elif ret > 0 and name == "mmap":
        libc.syscall(ctypes.c_long(nr["munmap"]), ctypes.c_long(ret), ctypes.c_long(args[1]))
    while len(extra) > 8:
        os.close(extra.pop(rng.randrange(len(extra))))

extra = []
prepare()
names = sorted(set(nr) - {"munmap", "getcwd"})
for n in range(calls):
    call(rng.choice(names))
    if n % 400 == 399:
        pid = os.fork()
        if pid == 0:
            rng.seed(seed * 1000 + n)
            for _ in range(150):
                call(rng.choice(names))
            os._exit(n % 7)
        os.waitpid(pid, 0)
os._exit(0)
"""

CALLS = """read write open openat openat2 creat open_by_handle_at close stat lstat fstat newfstatat statx
lseek mmap ioctl pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 access faccessat
faccessat2 dup dup2 dup3 fcntl flock fsync fdatasync sync_file_range syncfs truncate ftruncate
fallocate unlink rmdir unlinkat rename renameat renameat2 link linkat symlink symlinkat readlink
readlinkat mkdir mkdirat mknod mknodat chmod fchmod fchmodat chown lchown fchown fchownat
utimensat futimesat utimes utime getdents64 getdents chdir fchdir sendfile copy_file_range splice tee
fadvise64 readahead statfs fstatfs msync setxattr getxattr listxattr removexattr lsetxattr lgetxattr
llistxattr lremovexattr fsetxattr fgetxattr flistxattr fremovexattr execve execveat wait4 waitid
close_range chroot sendto recvfrom munmap getcwd""".split()


def numbers():
    """name=number,... of those calls that this machine has, from its headers."""
    need_program("gcc")
    r = run(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]).want(0)
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)$", r.out.decode(), re.M))
    found = [f"{name}={known[name]}" for name in CALLS if name in known]
    check(len(found) > 70, f"only {len(found)} calls are known here")
    return ",".join(found)


def random_run(tmp, seed, calls=2000):
    """As nobody, in a directory of its own: what the calls do must do no harm."""
    need_root()
    nobody = pwd.getpwnam("nobody")
    work = tmp / "work"
    os.mkdir(work)
    os.mknod(work / "null", 0o020666, os.makedev(1, 3))  # its mode and name will be changed
    for path in (work, work / "null"):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    os.chmod(tmp, 0o777)  # for the log
    return compared(tmp, [PYTHON, "-I", "-S", "-c", PROGRAM, str(seed), str(calls), numbers()],
                    "-u", "nobody", cwd=work, at_least=calls // 2, processes=calls // 400)


def seeds():
    return [int(s) for s in os.environ.get("DFT_SEEDS", "1,2,3").split(",")]


for _seed in seeds():
    def _run(tmp, seed=_seed):
        random_run(tmp, seed)
    test(_run, name=f"random_calls_{_seed}")


if __name__ == "__main__":
    main()
