# SPDX-License-Identifier: MIT
"""Reads logs of strace, as truth about what programs did.

The options that make a log exact (strace 5.11 and later):

    strace -f -yy -s 0 -a1 -o LOG CMD          see argv()

-yy     names each descriptor, and says more than -y: character devices carry their numbers;
        `<`, `>`, quotes and bytes outside of ASCII are escaped, so that names can be read back.
-s 0    does not print data. Names of files are always printed whole.
-a1     no padding before " = ".

A call that other threads interrupt is printed in two halves (<unfinished ...>, <... resumed>);
they are put together again. Everything about names of files is bytes.

Nothing here knows what the tracer under test does.
"""
import errno as _errno
import os
import re


def argv(log, command, program="strace"):
    return [program, "-f", "-yy", "-s", "0", "-a1", "-o", os.fspath(log), *command]


class LogError(Exception):
    pass


# ---- strings and annotations -----------------------------------------------------------------

_SIMPLE = {ord(k): v for k, v in
           {"n": b"\n", "t": b"\t", "r": b"\r", "v": b"\v", "f": b"\f", "a": b"\a", "b": b"\b",
            "e": b"\x1b", '"': b'"', "\\": b"\\"}.items()}
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.S)


def _unescape_one(m):
    if m.group(1):
        return bytes([int(m.group(1), 8) & 255])
    if m.group(2):
        return bytes([int(m.group(2), 16)])
    return _SIMPLE.get(m.group(3)[0], m.group(3))


def unescape(text):
    """Bytes of a C string's inside."""
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(_unescape_one, text)


_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"(\.\.\.)?', re.S)


def string(arg):
    """Bytes of an argument that is a string; None if it is an address or NULL.

    A name longer than PATH_MAX is cut by strace; such a one is an error here.
    """
    m = _STRING.match(arg)
    if not m:
        return None
    if m.group(2) and m.group(1):
        raise LogError(f"strace has cut the string {arg[:80]!r}...")
    return unescape(m.group(1))


# A descriptor's name: a path (with the numbers of its device), or something in [ ], or pid:NNN.
_ANN = (rb"<(?:/(?:[^<>\\]|\\.|<(?:char|block) \d+:\d+>)*"
        rb"|[A-Za-z][A-Za-z0-9_-]*:\[(?:\[[^\]]*\]|[^\]])*\]"
        rb"|[A-Za-z_][^<>]*)>(?:\(deleted\))?")
_FD = re.compile(rb"(-?\d+|AT_FDCWD)(?:(" + _ANN + rb"))?", re.S)
_UNIX = re.compile(rb"UNIX[A-Z-]*:\[(\d+)")
_DEVICE = re.compile(rb"<(char|block) (\d+):(\d+)>$")


class Fd:
    """A descriptor as strace names it.

    number   the descriptor, -100 for AT_FDCWD
    name     what it refers to, as bytes: an absolute path (without "(deleted)"), "pipe:[1]" ...;
             None when strace names nothing: the descriptor was not open
    device   ("char" or "block", major, minor) or None
    deleted  the file had no name any more
    """
    __slots__ = ("number", "name", "device", "deleted")

    def __init__(self, number, name, device=None, deleted=False):
        self.number = number
        self.name = name
        self.device = device
        self.deleted = deleted

    def __repr__(self):
        return f"Fd({self.number}, {self.name!r}, {self.device}, {self.deleted})"


def _annotation(number, ann):
    if ann is None:
        return Fd(number, None)
    deleted = ann.endswith(b"(deleted)")
    if deleted:
        ann = ann[:-len(b"(deleted)")]
    inside = ann[1:-1]
    device = None
    if inside.startswith(b"/"):
        m = _DEVICE.search(inside)
        if m:
            device = (m.group(1).decode(), int(m.group(2)), int(m.group(3)))
            inside = inside[:m.start()]
        inside = unescape(inside)
        if inside.endswith(b" (deleted)"):  # strace before 5.19 leaves it in the name
            inside = inside[:-len(b" (deleted)")]
            deleted = True
    else:
        m = _UNIX.match(inside)
        if m:  # as -y, the kernel and everybody else name it
            inside = b"socket:[%s]" % m.group(1)
    return Fd(number, inside, device, deleted)


def fd(arg):
    """The descriptor in an argument; None if the argument is no descriptor."""
    m = _FD.match(arg)
    if not m:
        return None
    number = -100 if m.group(1) == b"AT_FDCWD" else int(m.group(1))
    return _annotation(number, m.group(2))


# ---- arguments -------------------------------------------------------------------------------

_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*"(?:\.\.\.)?'          # a string
    rb"|/\*.*?\*/"                            # a comment
    rb"|(?<=[0-9D])" + _ANN +                 # the name of a descriptor
    rb"|[\[({]|[\])}]|,"
    rb'|[^"<\[\](){},/]+|[</]', re.S)


def split_args(text):
    """Splits `a, {b, c}, d) = ...` (behind the opening bracket) at its commas.

    Returns (list of arguments, offset behind the closing bracket); offset None if it never closes.
    """
    args, depth, begin, pos, size = [], 0, 0, 0, len(text)
    match = _TOKEN.match
    while pos < size:
        m = match(text, pos)
        if not m:
            raise LogError(f"cannot read {text[pos:pos + 80]!r}")
        c = text[pos]
        pos = m.end()
        if c in b"[({" and pos - m.start() == 1:
            depth += 1
        elif c in b"])}" and pos - m.start() == 1:
            if depth == 0:
                last = text[begin:m.start()].strip()
                if last or args:
                    args.append(last)
                return args, pos
            depth -= 1
        elif c == 0x2c and depth == 0:
            args.append(text[begin:m.start()].strip())
            begin = pos
    last = text[begin:].strip()
    if last:
        args.append(last)
    return args, None


# ---- calls -----------------------------------------------------------------------------------

class Call:
    """One system call.

    tid, tgid   thread and process
    process     Process
    name        the kernel's name of the call
    args        list of bytes, as strace prints them
    ret         value returned, -1 on errors; None when it did not return (exit, killed)
    ret_fd      Fd that was returned, when strace names it
    errno       0, or the number of the error
    restarted   the call was interrupted, the kernel will restart it (ERESTARTSYS and its like)
    enter, leave  line numbers of its begin and end (leave None: it never ended)
    cwd         working directory when it was entered, None if not known
    """
    __slots__ = ("tid", "tgid", "process", "name", "text", "_args", "ret", "ret_fd", "errno",
                 "restarted", "enter", "leave", "cwd")

    def __init__(self, tid, name, enter):
        self.tid = tid
        self.tgid = None
        self.process = None
        self.name = name
        self.text = b""
        self._args = None
        self.ret = None
        self.ret_fd = None
        self.errno = 0
        self.restarted = False
        self.enter = enter
        self.leave = None
        self.cwd = None

    @property
    def args(self):
        if self._args is None:
            self._args = split_args(self.text)[0]
        return self._args

    def arg(self, i):
        """Argument i, b"" if strace printed fewer."""
        args = self.args
        return args[i] if i < len(args) else b""

    def fd(self, i):
        return fd(self.arg(i))

    def string(self, i):
        return string(self.arg(i))

    def has(self, i, flag):
        """Is FLAG among the flags of argument i?"""
        return flag in re.split(rb"[|\s]+", self.arg(i))

    @property
    def failed(self):
        return self.errno != 0

    def __repr__(self):
        return (f"<{self.tid} {self.name}({self.text.decode('utf-8', 'backslashreplace')[:200]}"
                f" line {self.enter + 1}>")


class Process:
    """One process (thread group) of the log."""

    def __init__(self, tgid, parent):
        self.tgid = tgid
        self.parent = parent     # Process, None for the first
        self.calls = []          # in the order they were entered
        self.tids = set()
        self.exit = None         # ("code", n), ("signal", "SIGSEGV"), None if the log ends before
        self.execs = []          # names of the programs run by successful execs

    def __repr__(self):
        return f"<process {self.tgid} of {len(self.calls)} calls>"


class Log:
    """A whole log: .processes {tgid: Process}, .calls in order of entry, .first the command's."""

    def __init__(self):
        self.processes = {}
        self.calls = []
        self.first = None

    def calls_of(self, *names):
        return [c for c in self.calls if c.name in names]


_LINE = re.compile(rb"^(\d+) +(?:(\d+:\d+:\d+(?:\.\d+)?|\d+\.\d+) +)?(.*)$", re.S)
_CALL = re.compile(rb"^([a-z_][a-zA-Z0-9_]*)\(")
_RESUMED = re.compile(rb"^<\.\.\. ([a-zA-Z0-9_]+) resumed>")
_EXIT = re.compile(rb"^\+\+\+ exited with (\d+) \+\+\+")
_KILLED = re.compile(rb"^\+\+\+ killed by (SIG[A-Z0-9_]+)(?: \(core dumped\))? \+\+\+")
_SUPERSEDED = re.compile(rb"^\+\+\+ superseded by execve in pid (\d+) \+\+\+")
_RET = re.compile(rb"^\s*= (\?|-?0x[0-9a-f]+|-?\d+)(.*)$", re.S)
_RET_ERR = re.compile(rb"^ (E[A-Z0-9]+)\b|^ \(errno (\d+)\)")

_ERRNO = {name: number for number, name in _errno.errorcode.items()}
_ERRNO.update(EWOULDBLOCK=_errno.EAGAIN, EDEADLOCK=_errno.EDEADLK, EOPNOTSUPP=_errno.EOPNOTSUPP,
              ENOTSUP=_errno.ENOTSUP, ENOTSUPP=524)
_RESTART = {"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514,
            "ERESTART_RESTARTBLOCK": 516}

FORKS = ("clone", "clone3", "fork", "vfork")


def _finish(call, text, number):
    """Sets what is known at the end of a call; `text` is its whole line behind the bracket."""
    call.leave = number
    # Cheap way: the last ") = " ends the arguments, unless a name holds the same characters.
    at = text.rfind(b") = ")
    if at >= 0 and text.find(b") = ") == at:
        call.text = text[:at]
        rest = text[at + 1:]
    else:
        call._args, end = split_args(text)
        if end is None:
            raise LogError(f"line {number + 1}: the call has no end: {text[:200]!r}")
        call.text = text[:end - 1]
        rest = text[end:]
    m = _RET.match(rest)
    if not m:
        raise LogError(f"line {number + 1}: no return value in {rest[:200]!r}")
    value, rest = m.group(1), m.group(2)
    err = _RET_ERR.match(rest)
    if value == b"?":
        if err:
            name = err.group(1).decode()
            if name not in _RESTART:
                raise LogError(f"line {number + 1}: {name}?")
            call.ret = -1
            call.errno = _errno.EINTR
            call.restarted = True
        return
    octal = re.match(rb"0[0-7]+$", value)  # umask
    call.ret = int(value, 8 if octal else 0)
    if call.ret == -1 and err:
        if err.group(1):
            name = err.group(1).decode()
            if name not in _ERRNO:
                raise LogError(f"line {number + 1}: unknown error {name}")
            call.errno = _ERRNO[name]
        else:
            call.errno = int(err.group(2))
    elif rest.startswith(b"<"):
        found = _FD.match(value + rest)
        if found and found.group(2):
            call.ret_fd = _annotation(call.ret, found.group(2))


def _read_lines(lines):
    """Yields ("call", Call), ("exit", tid, how, number) in the order of the ends."""
    pending = {}
    for number, line in enumerate(lines):
        m = _LINE.match(line)
        if not m:
            if not line.strip():
                continue
            raise LogError(f"line {number + 1}: {line[:200]!r}")
        tid, body = int(m.group(1)), m.group(3)
        c = body[:1]
        if c == b"<":
            r = _RESUMED.match(body)
            if not r:
                raise LogError(f"line {number + 1}: {body[:200]!r}")
            if tid not in pending:
                raise LogError(f"line {number + 1}: {r.group(1)} resumed without a begin")
            call, text = pending.pop(tid)
            if call.name.encode() != r.group(1):
                raise LogError(f"line {number + 1}: {r.group(1)} resumed, {call.name} begun")
            text += body[r.end():]
            if text.endswith(b" <unfinished ...>"):
                pending[tid] = (call, text[:-len(b" <unfinished ...>")])
                continue
            text = text.replace(b" <unfinished ...>) = ?", b") = ?")
            _finish(call, text, number)
            yield "call", call
        elif c == b"+":
            e = _EXIT.match(body)
            k = _KILLED.match(body)
            s = _SUPERSEDED.match(body)
            if s:
                other = int(s.group(1))
                if other in pending:  # the exec goes on under the number of the leader
                    pending[tid] = pending.pop(other)
                    pending[tid][0].tid = tid
                continue
            if tid in pending:
                call, text = pending.pop(tid)
                call.text = text
                yield "call", call
            if e:
                yield "exit", tid, ("code", int(e.group(1))), number
            elif k:
                yield "exit", tid, ("signal", k.group(1).decode()), number
            else:
                raise LogError(f"line {number + 1}: {body[:200]!r}")
        elif c == b"-":
            continue  # a signal: --- SIGCHLD {...} ---
        else:
            b = _CALL.match(body)
            if not b:
                if body.startswith(b"strace: "):
                    continue
                raise LogError(f"line {number + 1}: {body[:200]!r}")
            call = Call(tid, b.group(1).decode(), number)
            text = body[b.end():]
            if text.endswith(b"<unfinished ...>"):
                pending[tid] = (call, text[:-len(b"<unfinished ...>")].removesuffix(b" "))
            elif text.endswith(b"<detached ...>"):
                call.text = text[:-len(b"<detached ...>")].rstrip()
                yield "call", call
            else:
                _finish(call, text, number)
                yield "call", call
    for call, text in pending.values():
        call.text = text
        yield "call", call


def made_thread(call):
    """Did (or would) this fork-like call make a thread instead of a process?"""
    return b"CLONE_THREAD" in call.text


def shares_fs(call):
    return b"CLONE_FS" in call.text


def join(base, name):
    """base/name as the rule of the trace says: `//` and `/./` go, `..` and links stay."""
    whole = name if name.startswith(b"/") else base + b"/" + name
    whole = re.sub(rb"/+", b"/", whole)
    while b"/./" in whole:
        whole = whole.replace(b"/./", b"/")
    return whole


def parse(path, cwd=None, threads=None, cwds=None):
    """Reads a log. `cwd` is where the command was started.

    Of `strace -p`: `threads` {tid: tgid} and `cwds` {tgid: directory} of those that were there.
    """
    with open(path, "rb") as f:
        lines = f.read().split(b"\n")
    calls, exits = [], []
    for item in _read_lines(lines):
        if item[0] == "call":
            calls.append(item[1])
        else:
            exits.append(item[1:])
    calls.sort(key=lambda c: c.enter)
    log = Log()
    log.calls = calls
    if not calls:
        return log

    # Who made whom. A number that is used a second time would mix up two processes.
    maker = {}
    for c in calls:
        if c.name in FORKS and c.ret is not None and c.ret > 0:
            if c.ret in maker:
                raise LogError(f"the number {c.ret} was used twice")
            maker[c.ret] = c
    threads = threads or {calls[0].tid: calls[0].tid}

    def tgid_of(tid):
        seen = []
        while tid in maker and made_thread(maker[tid]):
            if tid in seen:
                raise LogError(f"thread {tid} made itself")
            seen.append(tid)
            tid = maker[tid].tid
        return threads.get(tid, tid)

    def process_of(tid):
        tgid = tgid_of(tid)
        p = log.processes.get(tgid)
        if p is None:
            if tgid in maker:
                parent = process_of(maker[tgid].tid)
            elif tgid in threads:
                parent = None
            else:
                raise LogError(f"nobody made process {tgid}")
            p = log.processes[tgid] = Process(tgid, parent)
            if parent is None and not cwds:
                log.first = p
        p.tids.add(tid)
        return p

    for c in calls:
        c.process = process_of(c.tid)
        c.tgid = c.process.tgid
        c.process.calls.append(c)
        if c.name in ("execve", "execveat") and c.ret == 0:
            c.process.execs.append(c)
    for tid in maker:  # made, and gone before it did anything
        process_of(tid)
    for tid, how, _ in exits:
        p = process_of(tid)
        if tid == p.tgid:
            p.exit = how

    if cwds is None:
        cwds = {log.first.tgid: cwd}
    where = {tgid: None if d is None else os.fsencode(d) for tgid, d in cwds.items()}
    _follow_cwd(calls, maker, tgid_of, where)
    return log


def _follow_cwd(calls, maker, tgid_of, where):
    """Sets Call.cwd: from the names strace gives to AT_FDCWD, getcwd, chdir and fchdir.

    where   {process: its directory at first}, of those that nobody made
    """
    def now(tgid):
        if tgid not in where:
            made_by = maker.get(tgid)
            where[tgid] = now(tgid_of(made_by.tid)) if made_by else None
        return where[tgid]

    moments = [(c.enter, 0, c) for c in calls]
    moments += [(c.leave, 1, c) for c in calls
                if c.leave is not None and c.ret is not None and not c.failed and
                c.name in ("chdir", "fchdir", "getcwd") + FORKS]
    moments.sort(key=lambda m: m[:2])
    for _, end, c in moments:
        tgid = c.tgid
        if not end:
            at = c.text.find(b"AT_FDCWD<")
            if at >= 0:
                d = fd(c.text[at:])
                if d.name is not None:
                    where[tgid] = d.name
            c.cwd = now(tgid)
        elif c.name == "chdir":
            name = c.string(0)
            if name is not None and name.startswith(b"/"):
                where[tgid] = os.path.realpath(name)
            elif name is not None and c.cwd is not None:
                where[tgid] = os.path.realpath(c.cwd + b"/" + name)
        elif c.name == "fchdir":
            d = c.fd(0)
            where[tgid] = d.name if d else None
        elif c.name == "getcwd":
            name = c.string(0)
            if name is not None:
                where[tgid] = name
        elif c.ret > 0 and not made_thread(c):
            now(c.ret)  # the child begins where its parent is now
