# SPDX-License-Identifier: MIT
"""What runs of programs did with their files: as a trace says it, and as a log of strace does.

from_trace()   {(pid, n): Run}, n counting the programs of the process; 0 is what it was before its first
from_strace()  the same, out of the calls, by a table of descriptors of each process

Nothing in from_strace() looks at a trace.
"""
import collections
import os
import re

from dfttest import check, equal

KINDS = ("used", "generated", "updated", "invalidated")
FORMAT_BASIS, PRIME = 1469598103934665603, 1099511628211


def entity_id(kind, key):
    """Of a type and a key, both bytes: docs/trace-format.md."""
    h = FORMAT_BASIS
    for b in kind + b"\x1f" + key:
        h = (h ^ b) * PRIME & (1 << 64) - 1
    return f"{h or 1:016x}"


class Run:
    """.used .generated .updated .invalidated: sets of (type, path)."""

    def __init__(self, name="", records=()):
        self.name = name
        self.records = list(records)
        for kind in KINDS:
            setattr(self, kind, set())

    def files(self, kind):
        return {path for what, path in getattr(self, kind) if what != "pipe"}

    def __repr__(self):
        return f"{self.name}: " + "; ".join(f"{k} {sorted(getattr(self, k))}" for k in KINDS
                                            if getattr(self, k))


# ---- a trace ----------------------------------------------------------------------------------

def entities(f):
    """{id: (type, name)} of the EH records that have a file's hash, each held to the format's rules."""
    host = next(r for r in f.records if r["name"] == "HH")["args"]["name"].encode()
    ns = f.start.get("mnt_ns") if f.start else None
    for r in f.records:  # the process may have moved
        if r["name"] == "CM" and r["args"].get("name") == "mnt_ns":
            ns = int(r["args"]["value"])
    found = {}
    for r in f.records:
        if r["ph"] != 4 or r["name"] != "EH" or "fhash" not in r["args"]:
            continue
        a = r["args"]
        path = f.names[a["fhash"]]
        check(a["id"] not in found, f"{f.path.name}: EH {a['id']} twice")
        found[a["id"]] = a["type"], path
        kind = a["type"].encode()
        keys = [host + b":" + path]
        if a["store"] in (3, 7):
            keys = [path]
        elif ns and a["type"] != "pipe":
            keys.append(host + b":%d:" % ns + path)
        check(a["id"] in {entity_id(kind, k) for k in keys}, f"{f.path.name}: id of {path!r}")
        equal(a["uri"], re.sub(rb"[^A-Za-z0-9_\-.:/@+=,~ ]", b"_", path[:255]).decode(), "uri")
    return found


def from_trace(t):
    runs = {}
    for f in t:
        known = entities(f)
        types = {r["args"]["type"] for r in f.records if r["ph"] == 4 and r["name"] == "ET"}
        check({kind for kind, _ in known.values()} <= types, f"{f.path.name}: an entity without ET")
        records = [r for r in f.records if r["cat"] == "PROGRAM"]
        execs = sorted({e.ts for e in f.events if e.name == "execve" and not e.errno})
        whole = [r for r in records if "part" not in r["args"]]
        equal(len({r["id"] for r in records}), len(whole), f"{f.path.name}: runs and their events")
        for r in sorted(whole, key=lambda r: r["ts"]):
            parts = [p for p in records if p["id"] == r["id"]]
            equal({(p["ts"], p["pid"], p["name"], p["type"]) for p in parts},
                  {(r["ts"], r["pid"], r["name"], 1)}, "what parts have in common")
            n = execs.index(r["ts"]) + 1 if r["ts"] in execs else 0
            check((f.pid, n) not in runs, f"{f.path.name}: two runs of program {n}")
            run = runs[f.pid, n] = Run(r["name"], parts)
            for p in parts:
                for kind, ids in p["args"].get("relations", {}).items():
                    getattr(run, kind).update(known[i] for i in ids)
        for n in range(1, len(execs) + 1):
            check((f.pid, n) in runs, f"{f.path.name}: no event of program {n} of {len(execs)}")
    return runs


def derived(t, why):
    """{(subject's path, object's path)} of the ER records that say `why`."""
    pairs = set()
    for f in t:
        known = entities(f)
        for r in f.records:
            if r["ph"] == 4 and r["name"] == "ER" and r["args"].get("why") == why:
                a = r["args"]
                pairs.add((known[a["subject"]][1], known[a["object"]][1]))
    return pairs


# ---- strace -----------------------------------------------------------------------------------

READS = {"read", "pread64", "readv", "preadv", "preadv2"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}


class Segment:
    """A program of a process."""

    def __init__(self, parent):
        self.parent = parent
        self.follower = None
        self.marks = collections.defaultdict(set)  # path: r w m(ade) o(pened) n(amed) u(nnamed) x map p(assed)

    def ancestors(self):
        at = self.parent
        while at:
            yield at
            at = at.parent

    def wrote(self, path):
        self.marks[path].add("w")
        if path.startswith(b"pipe:") or "o" in self.marks[path]:
            return
        for a in self.ancestors():
            if "m" in a.marks.get(path, ()):
                self.marks[path].add("inherited")
                while a:
                    a.marks[path].add("heir")
                    a = a.follower if "p" in a.marks[path] else None
                return

    def run(self):
        run = Run()
        for path, marks in self.marks.items():
            pipe = path.startswith(b"pipe:")
            what = "pipe" if pipe else "program" if "x" in marks else "file", path
            made = "m" in marks and "p" not in marks
            if marks & {"r", "x", "map"}:
                run.used.add(what)
            if "n" in marks or (made and ("w" in marks or "heir" not in marks)) or \
                    ("w" in marks and (pipe or ("inherited" in marks and "o" not in marks))):
                run.generated.add(what)
            elif "w" in marks:
                run.updated.add(what)
            if "u" in marks:
                run.invalidated.add(what)
        return run


class Replay:
    """Goes through the calls in the order of their ends."""

    def __init__(self, log, exist):
        self.log, self.exist = log, set(exist)
        self.segments = {}   # tgid: list
        self.fds = {}        # tgid: {number: (path, closed on exec)}
        for call in sorted(log.calls, key=lambda c: (c.leave if c.leave is not None else 1 << 60, c.enter)):
            self.at(call.process)
            if call.ret is not None and not call.failed:
                self.call(call)

    def at(self, process):
        if process.tgid not in self.segments:
            parent = self.at(process.parent) if process.parent else None
            self.segments[process.tgid] = [Segment(parent)]
            self.fds[process.tgid] = dict(self.fds.get(process.parent.tgid, {})) if process.parent else {}
        return self.segments[process.tgid][-1]

    @staticmethod
    def content(fd):
        """The name of what a descriptor stands for, if that is a file or pipe; else None."""
        name = fd.name if fd else None
        if not name or fd.device or re.match(rb"/(proc|sys|dev)/", name) or name == b"/dev":
            return None
        return name if name.startswith((b"/", b"pipe:")) else None

    def path(self, call, base, at):
        """A name in arguments, its directory without symbolic links."""
        name = call.string(at)
        if name is None:
            return None
        if not name.startswith(b"/"):
            where = call.fd(base).name if base is not None else None
            name = (where or call.cwd) + b"/" + name
        head, tail = os.path.split(name)
        return os.path.join(os.path.realpath(head), tail)

    def exec(self, call):
        old = self.at(call.process)
        new = Segment(old)
        old.follower = new
        fds = self.fds[call.tgid]
        self.fds[call.tgid] = fds = {n: v for n, v in fds.items() if not v[1]}
        for path, marks in old.marks.items():
            if "m" in marks and "w" not in marks and path in {p for p, _ in fds.values()}:
                marks.add("p")
                new.marks[path] |= marks & {"m", "heir"}
        self.segments[call.tgid].append(new)
        program = os.path.realpath(self.path(call, None, 0))
        new.marks[program].add("x")
        with open(program, "rb") as f:
            first = f.readline(256)
        if first.startswith(b"#!"):
            new.marks[os.path.realpath(first[2:].split()[0])].add("x")

    def opened(self, call):
        seg, fd = self.at(call.process), call.ret_fd
        path = self.content(fd)
        flags = {"open": 1, "openat": 2}.get(call.name)
        has = (lambda f: call.has(flags, f)) if flags else (lambda f: f == b"O_TRUNC")
        self.fds[call.tgid][fd.number] = path, has(b"O_CLOEXEC")
        if not path or (has(b"O_DIRECTORY") and not has(b"O_TMPFILE")):
            return
        seg.marks[path].add("o")
        if has(b"O_TRUNC") or has(b"O_TMPFILE") or (has(b"O_CREAT") and path not in self.exist):
            seg.marks[path].add("m")
            self.exist.add(path)

    def names(self, call, base, old, base2, new, link):
        seg = self.at(call.process)
        a, b = self.path(call, base, old), self.path(call, base2, new)
        if os.path.isdir(b) or not a or not b:
            return
        if not link:
            seg.marks[a].add("u")
            self.exist.discard(a)
        seg.marks[b].add("n")
        self.exist.add(b)

    def call(self, c):
        seg, name, fds = self.at(c.process), c.name, self.fds[c.tgid]
        file = self.content(c.fd(0)) if c.args else None
        if name in ("execve", "execveat"):
            self.exec(c)
        elif name in ("open", "openat", "creat"):
            self.opened(c)
        elif name == "close":
            fds.pop(c.fd(0).number, None)
        elif name in ("dup", "dup2", "dup3") and c.ret_fd:
            fds[c.ret_fd.number] = file, c.has(2, b"O_CLOEXEC")
        elif name == "fcntl" and c.arg(1).startswith(b"F_DUPFD") and c.ret_fd:
            fds[c.ret_fd.number] = file, c.arg(1) == b"F_DUPFD_CLOEXEC"
        elif name == "fcntl" and c.arg(1) == b"F_SETFD" and c.fd(0).number in fds:
            fds[c.fd(0).number] = file, c.has(2, b"FD_CLOEXEC")
        elif name in READS and file:
            seg.marks[file].add("r")
        elif name in WRITES and file and c.ret > 0:
            seg.wrote(file)
        elif name in ("copy_file_range", "splice") and c.fd(2):
            if file:
                seg.marks[file].add("r")
            if self.content(c.fd(2)) and c.ret > 0:
                seg.wrote(self.content(c.fd(2)))
        elif name == "sendfile":
            if self.content(c.fd(1)):
                seg.marks[self.content(c.fd(1))].add("r")
            if file and c.ret > 0:
                seg.wrote(file)
        elif name == "mmap" and c.fd(4) and self.content(c.fd(4)):
            seg.marks[self.content(c.fd(4))].add("x" if c.has(2, b"PROT_EXEC") else "map")
        elif name == "ftruncate" and file:
            if c.arg(1) == b"0":
                seg.marks[file].add("m")
            else:
                seg.wrote(file)
        elif name == "fallocate" and file:
            seg.wrote(file)
        elif name in ("unlink", "unlinkat") and not c.has(2, b"AT_REMOVEDIR"):
            path = self.path(c, 0, 1) if name == "unlinkat" else self.path(c, None, 0)
            seg.marks[path].add("u")
            self.exist.discard(path)
        elif name == "rename":
            self.names(c, None, 0, None, 1, False)
        elif name in ("renameat", "renameat2"):
            self.names(c, 0, 1, 2, 3, False)
        elif name == "link":
            self.names(c, None, 0, None, 1, True)
        elif name == "linkat":
            self.names(c, 0, 1, 2, 3, True)


def from_strace(log, exist=()):
    """`exist`: names of the files that are there before, of those that may be created."""
    replay = Replay(log, exist)
    runs = {}
    for tgid, segments in replay.segments.items():
        for n, segment in enumerate(segments):
            runs[tgid, n] = segment.run()
            runs[tgid, n].mapped = {p for a in segment.ancestors() for p, marks in a.marks.items()
                                    if "map" in marks}
    return runs


def compare(t, log, exist=()):
    """Fails unless all programs of the log did the same by the trace. Returns the runs of the trace."""
    want, got = from_strace(log, exist), from_trace(t)
    lines = []
    first = log.first.tgid
    execs = {tgid: len(p.execs) for tgid, p in log.processes.items()}
    for (tgid, n), run in sorted(want.items()):
        if tgid == first:
            if not n:
                continue
            # Before it strace executed itself, or what the tracer ran was the first.
            total = len([1 for pid, k in got if pid == tgid and k])
            n += total - execs[tgid]
        have = got.get((tgid, n), Run())
        # Of memory that it has from its parent a process reads by page faults, which strace does not see.
        extra = {w for w in have.used - run.used if w[1] in run.mapped}
        for kind in KINDS:
            a, b = getattr(run, kind), getattr(have, kind) - (extra if kind == "used" else set())
            lines += [f"{tgid}.{n} {have.name}: {kind}: strace has {w}" for w in sorted(a - b)]
            lines += [f"{tgid}.{n} {have.name}: {kind}: the trace has {w}" for w in sorted(b - a)]
    check(not lines, lambda: f"{len(lines)} differences\n" + "\n".join(lines[:40]))
    return got
