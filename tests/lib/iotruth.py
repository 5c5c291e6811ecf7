# SPDX-License-Identifier: MIT
"""What a trace must hold, computed from a log of strace; and the comparison of the two.

The table below is written from the list of traced calls that the project promises, not from the
table that the tracer is built from: agreement of the two is what is tested.

    truth = Truth(straceparse.parse(log, cwd))
    differences = compare(dfttest.load(trace), truth)

Compared, process by process: for each event name and file the number of events, the bytes moved,
the number of errors of each kind and of interrupted calls; for each event name and thread the
number of events; for each event name the number of calls kept and filtered, by class; the calls
that are only counted; how the process ended.

Differences that are right, and what is done about them:

 1. The process of strace itself, and those it forks before it runs the command (to try out ptrace),
    are in the trace and not in the log: set aside, if their ancestor is strace and none of them
    ever ran a program.
 2. The command's own process begins as a child of strace: it closes the log and then calls execve.
    What it did before its first successful execve is set aside.
 3. strace does not say which descriptors a close_range() closed. The closes it stands for are set
    aside (they carry via:"close_range"); the event of the call itself is compared. In such a
    process the filtered closes are at least, not exactly, strace's.
 4. A call in which its process was killed: strace prints no result. The kernel may have reported it
    as interrupted before the signal took effect. Such calls are allowed, not required.
 5. A successful call of a thread that makes the process end (exit, exec by another thread) falls
    under 4 as well.
"""
import collections
import os
import re
import signal
import stat

import straceparse
from straceparse import join

# ---- file systems without files ---------------------------------------------------------------

PSEUDO = {"proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs",
          "bpf", "pstore", "efivarfs", "fusectl", "binfmt_misc", "selinuxfs", "nsfs", "smackfs",
          "mqueue", "rpc_pipefs"}


def _mounts():
    """[(mount point, file system type)], the longest mount points first."""
    found = []
    with open("/proc/self/mountinfo", "rb") as f:
        for line in f:
            left, _, right = line.partition(b" - ")
            point = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]),
                           left.split()[4])
            found.append((point, right.split()[0].decode()))
    found.reverse()  # of two mounts on one point, the later one is seen
    found.sort(key=lambda m: -len(m[0]))
    return found


class Classes:
    """Sorts descriptors into the trace's classes: "" is kept, others are filtered."""

    def __init__(self):
        self.mounts = _mounts()
        self.known = {}

    def of(self, d):
        """Class of a straceparse.Fd. "none": the descriptor was not open."""
        if d is None or d.name is None:
            return "none"
        if d.device:
            if d.device[0] == "block":
                return ""
            return self._chardev(d)
        name = d.name
        if name not in self.known:
            self.known[name] = self._name(name)
        return self.known[name]

    @staticmethod
    def _chardev(d):
        major = d.device[1]
        # 4 virtual consoles and serial lines, 5 /dev/tty, /dev/console and /dev/ptmx,
        # 136-143 /dev/pts/N
        return "tty" if major in (4, 5) or 136 <= major <= 143 else "chardev"

    def _name(self, name):
        if not name.startswith(b"/"):
            kind = name.partition(b":")[0]
            if kind == b"pipe":
                return "pipe"
            if kind == b"socket" or re.match(rb"[A-Z]", kind):
                return "socket"
            if kind in (b"anon_inode", b"pid", b"signalfd", b"eventfd", b"pidfd"):
                return "anon"
            return "pseudo"  # net:[1], mnt:[2] ...: namespaces
        if name.startswith((b"/memfd:", b"/SYSV", b"/dev/zero", b"/[aio]")):
            return ""
        try:
            mode = os.lstat(name).st_mode
        except OSError:
            mode = 0
        if stat.S_ISFIFO(mode):
            return "pipe"
        for point, kind in self.mounts:
            if name == point or point == b"/" or name.startswith(point + b"/"):
                return "pseudo" if kind in PSEUDO else ""
        return ""


# ---- the calls -------------------------------------------------------------------------------

# A call's place of its file: ("fd", i), ("path", i), ("at", directory, path), ("none",);
# "open" for calls that return a descriptor of what they name; ("fds", i, j) for those between two:
# they are kept when one of the two files is. ("mapped",): argument 0 is an address in a mapping.
FD, PATH, AT, NONE, OPEN, FDS, MAPPED = "fd", "path", "at", "none", "open", "fds", "mapped"

# Requests of ioctl, by strace's names.
CLONES = {b"FICLONE": ("ficlone", (FDS, 0, 2)), b"BTRFS_IOC_CLONE": ("ficlone", (FDS, 0, 2)),
          b"BTRFS_IOC_CLONE or FICLONE": ("ficlone", (FDS, 0, 2))}

TABLE = {
    # name: (event, place)
    "open": ("open", (OPEN, PATH, 0)),
    "openat": ("open", (OPEN, AT, 0, 1)),
    "openat2": ("open", (OPEN, AT, 0, 1)),
    "creat": ("open", (OPEN, PATH, 0)),
    "open_by_handle_at": ("open", (OPEN, NONE)),
    "close": ("close", (FD, 0)),
    "close_range": ("close_range", (NONE,)),
    "read": ("read", (FD, 0)), "write": ("write", (FD, 0)),
    "pread64": ("pread", (FD, 0)), "pwrite64": ("pwrite", (FD, 0)),
    "readv": ("readv", (FD, 0)), "writev": ("writev", (FD, 0)),
    "preadv": ("preadv", (FD, 0)), "pwritev": ("pwritev", (FD, 0)),
    "preadv2": ("preadv2", (FD, 0)), "pwritev2": ("pwritev2", (FD, 0)),
    "lseek": ("lseek", (FD, 0)),
    "fsync": ("fsync", (FD, 0)), "fdatasync": ("fdatasync", (FD, 0)),
    "sync_file_range": ("sync_file_range", (FD, 0)), "syncfs": ("syncfs", (FD, 0)),
    "sync": ("sync", (NONE,)),
    "truncate": ("truncate", (PATH, 0)), "ftruncate": ("ftruncate", (FD, 0)),
    "fallocate": ("fallocate", (FD, 0)),
    "stat": ("stat", (PATH, 0)), "lstat": ("lstat", (PATH, 0)), "fstat": ("fstat", (FD, 0)),
    "newfstatat": ("stat", ("stat", 0, 1, 3)), "statx": ("stat", ("stat", 0, 1, 2)),
    "access": ("access", (PATH, 0)), "faccessat": ("access", (AT, 0, 1)),
    "faccessat2": ("access", ("flags", 0, 1, 3)),
    "unlink": ("unlink", (PATH, 0)), "rmdir": ("rmdir", (PATH, 0)),
    "unlinkat": ("unlink", ("unlink", 0, 1, 2)),
    "rename": ("rename", ("two", PATH, 0, 1)),
    "renameat": ("rename", ("two", AT, 0, 1, 2, 3)),
    "renameat2": ("rename", ("two", AT, 0, 1, 2, 3)),
    "link": ("link", ("two", PATH, 0, 1)), "linkat": ("link", ("two", AT, 0, 1, 2, 3)),
    "symlink": ("symlink", (PATH, 1)), "symlinkat": ("symlink", (AT, 1, 2)),
    "readlink": ("readlink", (PATH, 0)), "readlinkat": ("readlink", ("empty", 0, 1)),
    "mkdir": ("mkdir", (PATH, 0)), "mkdirat": ("mkdir", (AT, 0, 1)),
    "mknod": ("mknod", (PATH, 0)), "mknodat": ("mknod", (AT, 0, 1)),
    "chmod": ("chmod", (PATH, 0)), "fchmod": ("fchmod", (FD, 0)),
    "fchmodat": ("chmod", (AT, 0, 1)), "fchmodat2": ("chmod", ("flags", 0, 1, 3)),
    "chown": ("chown", (PATH, 0)), "lchown": ("lchown", (PATH, 0)), "fchown": ("fchown", (FD, 0)),
    "fchownat": ("chown", ("chown", 0, 1, 4)),
    "utimensat": ("utime", ("flags", 0, 1, 3)), "futimesat": ("utime", ("flags", 0, 1, 3)),
    "utimes": ("utime", (PATH, 0)), "utime": ("utime", (PATH, 0)),
    "getdents": ("readdir", (FD, 0)), "getdents64": ("readdir", (FD, 0)),
    "chdir": ("chdir", (PATH, 0)), "fchdir": ("fchdir", (FD, 0)), "chroot": ("chroot", (PATH, 0)),
    "dup": ("dup", (FD, 0)), "dup2": ("dup2", (FD, 0)), "dup3": ("dup3", (FD, 0)),
    "fcntl": ("fcntl", (FD, 0)), "flock": ("flock", (FD, 0)),
    "mmap": ("mmap", (FD, 4)), "msync": ("msync", (MAPPED,)),
    "munmap": ("munmap", (MAPPED,)), "mremap": ("mremap", (MAPPED,)),
    "sendfile": ("sendfile", (FDS, 0, 1)), "copy_file_range": ("copy_file_range", (FDS, 0, 2)),
    "splice": ("splice", (FDS, 0, 2)), "tee": ("tee", (FDS, 0, 1)),
    "fadvise64": ("posix_fadvise", (FD, 0)), "readahead": ("readahead", (FD, 0)),
    "statfs": ("statvfs", (PATH, 0)), "fstatfs": ("fstatvfs", (FD, 0)),
    "ioctl": ("ioctl", (FD, 0)),
    "execve": ("execve", (PATH, 0)), "execveat": ("execve", ("empty", 0, 1)),
    "fork": ("fork", (NONE,)), "vfork": ("fork", (NONE,)),
    "clone": ("fork", (NONE,)), "clone3": ("fork", (NONE,)),
    "wait4": ("wait", (NONE,)), "waitid": ("wait", (NONE,)),
}
for _verb in ("setxattr", "getxattr", "listxattr", "removexattr"):
    TABLE[_verb] = (_verb, (PATH, 0))
    TABLE["l" + _verb] = ("l" + _verb, (PATH, 0))
    TABLE["f" + _verb] = ("f" + _verb, (FD, 0))

# Calls whose result is a number of bytes of file data.
BYTES = {"read", "write", "pread", "pwrite", "readv", "writev", "preadv", "pwritev", "preadv2",
         "pwritev2", "sendfile", "copy_file_range", "splice", "tee"}


class Item:
    """What one call must look like in the trace."""
    __slots__ = ("event", "file", "file2", "cls", "ret", "errno", "restarted", "optional", "call",
                 "via")

    def __init__(self, call, event):
        self.call = call
        self.event = event
        self.file = None
        self.file2 = None
        self.cls = "none"       # "" kept, "none" kept without a descriptor, else filtered
        self.ret = call.ret
        self.errno = call.errno
        self.restarted = call.restarted
        self.optional = call.ret is None
        self.via = None

    @property
    def kept(self):
        return self.cls in ("", "none")

    @property
    def bytes(self):
        return self.ret if self.event in BYTES and self.ret and self.ret > 0 else 0

    def __repr__(self):
        return f"<{self.event} {self.file!r} {self.cls} of {self.call!r}>"


class Maps:
    """What is mapped where in each process, by its calls."""

    def __init__(self):
        self.of = collections.defaultdict(list)  # tgid -> [(begin, end, what)]

    @staticmethod
    def number(text):
        return int(text, 0) if re.fullmatch(rb"0x[0-9a-f]+|0|[1-9]\d*", text) else 0

    def at(self, call):
        """The (name, class) of the file at the address that is the call's first argument, or None."""
        address = self.number(call.arg(0))
        return next((what for begin, end, what in self.of[call.tgid] if begin <= address < end), None)

    def _take(self, tgid, begin, size):
        end = begin + (size + 4095) // 4096 * 4096
        left = []
        for b, e, what in self.of[tgid]:
            left += [(x, y, what) for x, y in ((b, min(e, begin)), (max(b, end), e)) if x < y]
        self.of[tgid] = left
        return begin, end

    def follow(self, call, what):
        """The call is over; `what` as at() gave it before."""
        tgid, size = call.tgid, self.number(call.arg(1))
        if call.failed or call.ret is None:
            return
        if call.name == "mmap":
            span = self._take(tgid, call.ret, size)
            if what:
                self.of[tgid].append((*span, what))
        elif call.name == "munmap":
            self._take(tgid, self.number(call.arg(0)), size)
        elif call.name == "mremap":
            self._take(tgid, self.number(call.arg(0)), size)
            span = self._take(tgid, call.ret, self.number(call.arg(2)))
            if what:
                self.of[tgid].append((*span, what))
        elif call.name in ("execve", "execveat"):
            self.of[tgid] = []
        elif call.name in straceparse.FORKS and not straceparse.made_thread(call) and call.ret > 0:
            self.of[call.ret] = list(self.of[tgid])


class Truth:
    """The items of each process of a log: .items {tgid: [Item]}.

    since   the tracer came when the log had so many lines: what was begun before is allowed, not
            required
    """

    def __init__(self, log, since=0):
        self.log = log
        self.since = since
        self.classes = Classes()
        self.maps = Maps()
        # Calls on addresses at which the log has mapped nothing: a process that was there before it may
        # have done so. {(tgid, event, address): how many}
        self.elsewhere = collections.Counter()
        self.items = {tgid: [] for tgid in log.processes}
        for call in log.calls:
            mapped = self._mapped(call)
            for item in self._items(call, mapped):
                item.optional |= call.enter < since
                self.items[call.tgid].append(item)
            self.maps.follow(call, mapped)

    def was_elsewhere(self, tgid, e):
        """True for as many events as there were such calls."""
        key = tgid, e.name, e.args.get("address")
        if not self.elsewhere[key]:
            return False
        self.elsewhere[key] -= 1
        return True

    def _mapped(self, call):
        """(name, class) of what a call maps, or works on as a mapping; None for memory."""
        if call.name == "mmap" and not call.has(3, b"MAP_ANONYMOUS"):
            d = call.fd(4)
            return (d.name if d else None, self.classes.of(d))
        return self.maps.at(call) if call.name in ("munmap", "mremap", "msync") else None

    def _items(self, call, mapped):
        entry = TABLE.get(call.name)
        if entry is None:
            return
        event, place = entry
        if call.name == "ioctl" and call.arg(1) in CLONES:
            event, place = CLONES[call.arg(1)]
        if call.name in straceparse.FORKS and straceparse.made_thread(call):
            return
        if call.name == "mmap":
            if call.has(3, b"MAP_ANONYMOUS"):
                return
        item = Item(call, event)
        if place[0] == MAPPED:
            if not mapped and self.since:
                self.elsewhere[call.tgid, event, Maps.number(call.arg(0))] += 1
            if not mapped and call.name != "msync":
                return
            item.file, item.cls = mapped or (None, "none")
        else:
            self._place(item, call, place)
        yield item
        if call.name in ("dup2", "dup3") and call.ret is not None and not call.failed:
            old = call.fd(1)
            if old and old.name is not None and old.number != call.fd(0).number:
                closed = Item(call, "close")
                closed.via = call.name
                closed.ret = 0
                closed.file, closed.cls = old.name, self.classes.of(old)
                yield closed

    def _place(self, item, call, place):
        kind = place[0]
        if kind == NONE:
            return
        if kind == FD:
            d = call.fd(place[1])
            item.file, item.cls = d.name if d else None, self.classes.of(d)
        elif kind == FDS:
            d, other = call.fd(place[1]), call.fd(place[2])
            item.file, item.cls = d.name if d else None, self.classes.of(d)
            if not item.kept and self.classes.of(other) == "":
                item.cls = ""
        elif kind == "empty" and call.string(place[2]) == b"" and \
                (call.name == "readlinkat" or call.has(4, b"AT_EMPTY_PATH")):
            d = call.fd(place[1])  # the descriptor itself is meant
            item.file, item.cls = d.name, self.classes.of(d)
        elif kind == PATH:
            item.file = self._join(call.cwd, call.string(place[1]))
        elif kind in (AT, "empty"):
            item.file = self._at(call, place[1], place[2])
        elif kind == OPEN:
            if call.ret_fd is not None:
                item.file, item.cls = call.ret_fd.name, self.classes.of(call.ret_fd)
            elif len(place) > 2:
                self._place(item, call, place[1:])
        elif kind == "two":
            if place[1] == PATH:
                item.file = self._join(call.cwd, call.string(place[2]))
                item.file2 = self._join(call.cwd, call.string(place[3]))
            else:
                item.file = self._at(call, place[2], place[3])
                item.file2 = self._at(call, place[4], place[5])
                if call.name == "linkat" and call.has(4, b"AT_EMPTY_PATH") and \
                        call.string(1) == b"":
                    d = call.fd(0)
                    item.file, item.cls = d.name, self.classes.of(d)
        else:
            base, path, flags = place[1:]
            name = call.string(path)
            null = call.arg(path) == b"NULL"
            itself = call.has(flags, b"AT_EMPTY_PATH") and \
                (name == b"" or null and kind == "stat") or \
                null and call.name in ("utimensat", "futimesat") and \
                not (call.arg(base) or b"").startswith(b"AT_FDCWD")  # utimensat(2): EFAULT
            nofollow = call.has(flags, b"AT_SYMLINK_NOFOLLOW")
            if itself:
                d = call.fd(base)
                item.file = d.name if d else None
                item.cls = self.classes.of(d)
            else:
                item.file = self._at(call, base, path)
            if kind == "stat":
                item.event = "fstat" if itself else "lstat" if nofollow else "stat"
            elif kind == "chown":
                item.event = "fchown" if itself else "lchown" if nofollow else "chown"
            elif kind == "unlink" and call.has(flags, b"AT_REMOVEDIR"):
                item.event = "rmdir"

    @staticmethod
    def _join(base, name):
        if name is None:
            return None
        if not name.startswith(b"/") and not (base or b"").startswith(b"/"):
            return None
        return join(base, name)

    def _at(self, call, base, path):
        name = call.string(path)
        if name is None:
            return None
        d = call.fd(base)
        where = d.name if d else None
        if d and d.number == -100 and where is None:
            where = call.cwd
        return self._join(where, name)


# ---- comparison ------------------------------------------------------------------------------

class Tally:
    """Sums over the events of one kind."""

    def __init__(self):
        self.n = 0
        self.bytes = 0
        self.errors = collections.Counter()
        self.restarted = 0

    def key(self):
        return self.n, self.bytes, dict(self.errors), self.restarted

    def __eq__(self, other):
        return self.key() == other.key()

    def __str__(self):
        text = f"{self.n} events"
        if self.bytes:
            text += f", {self.bytes} bytes"
        if self.errors:
            text += ", errors " + ", ".join(
                f"{os.strerror(e)}: {n}" for e, n in sorted(self.errors.items()))
        if self.restarted:
            text += f", {self.restarted} interrupted"
        return text


def add_item(tally, item):
    tally.n += 1
    tally.bytes += item.bytes
    if item.restarted:
        tally.restarted += 1
    elif item.errno:
        tally.errors[item.errno] += 1


def add_event(tally, event):
    tally.n += 1
    ret = event.ret
    if event.name in BYTES and isinstance(ret, int) and ret > 0:
        tally.bytes += ret
    if event.restarted:
        tally.restarted += 1
    elif event.errno:
        tally.errors[event.errno] += 1


def event_file(event):
    """The file an event is about; execve names its program."""
    name = event.file
    if name is None and event.name == "execve":
        name = event.named("pathname_hash")
    return name


def _shorten(events, limit=3):
    return "; ".join(repr(e) for e in events[:limit])


def set_aside_tracees_of_strace(trace, truth):
    """The files of the trace by process, without those of strace itself (difference 1)."""
    problems, files = [], {}
    logged = set(truth.items)
    parents = {f.pid: (f.start or {}).get("ppid") for f in trace}
    for f in trace:
        if f.pid in logged:
            if f.pid in files:
                problems.append(f"two trace files of process {f.pid}")
            files[f.pid] = f
            continue
        ran = [e for e in f.events if e.name == "execve" and not e.errno]
        is_strace = any(b"strace" in (event_file(e) or b"") for e in ran) or \
            f.program == "strace"
        if is_strace:
            continue
        ppid = parents.get(f.pid)
        parent = next((g for g in trace if g.pid == ppid), None)
        if not ran and parent is not None and parent.program == "strace":
            continue
        problems.append(f"process {f.pid} ({f.program}) is not in the log of strace: "
                        f"{_shorten(f.events)}")
    return files, problems


def after_own_exec(trace_file, log):
    """The events of the first process from its exec of the command on (difference 2)."""
    events = trace_file.events
    if log.first is None or trace_file.pid != log.first.tgid:
        return events
    for i, e in enumerate(events):
        if e.name == "execve" and not e.errno:
            return events[i:]
    return events  # the exec itself may be filtered


def compare(trace, truth, check_filtered=True):
    """Returns the differences as a list of lines; empty when all agree."""
    files, problems = set_aside_tracees_of_strace(trace, truth)
    for tgid, items in sorted(truth.items.items()):
        process = truth.log.processes[tgid]
        who = f"process {tgid}" + (f" ({os.fsdecode(process.execs[-1].string(0) or b'?')})"
                                   if process.execs else "")
        kept = [i for i in items if i.kept and not i.optional]
        f = files.get(tgid)
        if f is None:
            if kept:
                problems.append(f"{who}: no trace file, strace has {len(kept)} calls")
            continue
        problems += [f"{who}: {p}" for p in
                     _compare_process(f, items, process, truth, check_filtered)]
    return problems


def _compare_process(f, items, process, truth, check_filtered):
    problems = []
    if f.lost:
        problems.append(f"lost: {f.lost}")
    # Page faults are no calls.
    events = [e for e in after_own_exec(f, truth.log) if not e.name.startswith("mmap_") and
              not (e.file and truth.was_elsewhere(f.pid, e))]
    closed_by_range = [e for e in events if e.name == "close" and
                       e.args.get("via") == "close_range"]  # difference 3
    ranges = [i for i in items if i.event == "close_range"]
    if closed_by_range and not ranges:
        problems.append(f"closes by a close_range that was not called: "
                        f"{_shorten(closed_by_range)}")
    events = [e for e in events if not (e.name == "close" and
                                        e.args.get("via") == "close_range")]

    want, got = collections.defaultdict(Tally), collections.defaultdict(Tally)
    want_thread, got_thread = collections.Counter(), collections.Counter()
    maybe = collections.Counter()
    shown = collections.defaultdict(list)
    from_strace = collections.defaultdict(list)
    for i in items:
        if not i.kept:
            continue
        key = (i.event, i.file, i.file2)
        if i.optional:
            maybe[key] += 1
            continue
        add_item(want[key], i)
        from_strace[key].append(i)
        want_thread[i.event, i.call.tid] += 1
    for e in events:
        key = (e.name, event_file(e), e.named("newpath_hash"))
        if maybe[key] and (e.restarted or not e.errno) and \
                got[key].n >= want.get(key, Tally()).n:
            maybe[key] -= 1  # difference 4
            continue
        add_event(got[key], e)
        shown[key].append(e)
        got_thread[e.name, e.tid] += 1
    for key in sorted(set(want) | set(got), key=repr):
        if want[key] != got[key]:
            event, file, file2 = key
            name = os.fsdecode(file) if file is not None else "no file"
            if file2 is not None:
                name += f" -> {os.fsdecode(file2)}"
            problems.append(f"{event} {name}: trace {got[key]}; strace {want[key]}"
                            f" [trace: {_shorten(shown[key])}]"
                            f" [strace: {_shorten(from_strace[key])}]")
    for key in sorted(set(want_thread) | set(got_thread)):
        if want_thread[key] != got_thread[key] and not problems:
            problems.append(f"thread {key[1]}: {key[0]}: trace {got_thread[key]}, "
                            f"strace {want_thread[key]}")

    if check_filtered:
        problems += _compare_filtered(f, items, process, truth)
        problems += _compare_pipes(f, items)
    problems += _compare_exit(f, process)
    ppid = (f.start or {}).get("ppid")
    if process.parent is not None and ppid != process.parent.tgid:
        problems.append(f"parent: trace {ppid}, strace {process.parent.tgid}")
    return problems


def _compare_filtered(f, items, process, truth):
    """Counts by class and operation, of the calls of the table."""
    problems = []
    had_ranges = any(i.event == "close_range" for i in items)
    want, maybe, got = collections.Counter(), collections.Counter(), collections.Counter()
    for i in items:
        if not i.kept:
            (maybe if i.optional else want)[i.cls, i.event] += 1
    for c in process.calls:
        if c.name not in TABLE and counted_only(f, c.name):
            cls = truth.classes.of(c.fd(0))
            counts = maybe if c.enter < truth.since else want
            counts[cls if cls not in ("", "none") else "undecoded", c.name] += 1
    for cls, ops in list(f.filtered.items()) + [("undecoded", (f.end or {}).get("undecoded", {}))]:
        for op, n in ops.items():
            got[cls, op] += n
    for key in sorted(set(want) | set(got)):
        low, high = want[key], want[key] + maybe[key]
        if had_ranges and key[1] == "close":
            high = float("inf")  # difference 3
        if not low <= got[key] <= high:
            problems.append(f"filtered {key[0]} {key[1]}: trace {got[key]}, strace {low}")
    return problems


# Calls that move data and are not decoded: they are counted in any case, by the kernel's name.
COUNTED_ONLY = {"sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "vmsplice",
                "io_submit", "io_uring_enter", "process_vm_readv", "process_vm_writev"}


def counted_only(f, name):
    """Is a call, which is not in the table, one that the trace must count, or has counted?"""
    if name in COUNTED_ONLY or name in (f.end or {}).get("undecoded", {}):
        return True
    return any(name in ops for ops in f.filtered.values())


def _compare_pipes(f, items):
    """The sums of each pipe and direction: calls, bytes, errors."""
    want, got = collections.defaultdict(lambda: [0, 0, 0]), {}
    most = collections.defaultdict(lambda: [0, 0, 0])
    for i in items:
        if i.cls != "pipe" or i.event not in BYTES:
            continue
        name = i.file
        if name.startswith(b"/"):  # a FIFO is known by its inode as well
            try:
                name = b"pipe:[%d]" % os.stat(name).st_ino
            except OSError:
                continue
        for rows in (most,) if i.optional else (want, most):
            row = rows[i.event, name]
            row[0] += 1
            row[1] += i.bytes
            row[2] += bool(i.errno and not i.restarted)
    for r in f.records:
        if r["ph"] == 3 and r["cat"] == "POSIX" and not r["name"].startswith("mmap_"):
            args = r["args"]
            key = r["name"], f.resolve(args["fhash"])
            if key in got:
                return [f"two sums of {key}"]
            got[key] = [args["dft_cnt"], args["ret_sum"], args["errors"]]
    return [f"sum of {key[0]} {os.fsdecode(key[1])}: trace (calls, bytes, errors) {got.get(key)}, "
            f"strace {want.get(key)}"
            for key in sorted(set(want) | set(got))
            if not all(low <= n <= high for low, n, high in
                       zip(want[key], got.get(key, (0, 0, 0)), most[key]))]


def _compare_exit(f, process):
    if process.exit is None:
        return []
    kind, value = process.exit
    want = {"code": value} if kind == "code" else \
        {"signal": int(getattr(signal, value, -1))}
    return [] if f.exit == want else [f"ended with {kind} {value}, the trace says {f.exit}"]
