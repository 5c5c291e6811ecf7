# SPDX-License-Identifier: MIT
"""What the test scripts share: results, temporary directories, running the tracer, reading traces.

A test script looks like this:

    from dfttest import *

    @test
    def test_writes_are_seen(tmp):
        t = trace(tmp, ["dd", "if=/dev/zero", f"of={tmp}/f", "count=3"])
        equal(len(t.events(name="write", file=f"{tmp}/f")), 3)

    if __name__ == "__main__":
        main()

Each test gets a directory of its own, which is removed afterwards (kept with DFT_KEEP=1). Names of
files are bytes throughout. Nothing here waits by sleeping: the tracer says over --ready-fd when it
is live, and everything else is waited for by pidfd or pipe with a deadline.
"""
import collections
import concurrent.futures
import contextlib
import functools
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path

__all__ = [
    "ROOT", "BUILD", "TRACER", "READER", "Fail", "Skip", "test", "main", "skip", "fail", "check",
    "equal", "need_root", "need_feature", "need_program", "clean_env", "run", "Run", "trace",
    "Tracer", "load", "load_file", "Trace", "TraceFile", "Event", "dfhash", "LIVE_TIMEOUT",
    "running_python", "read_until", "one_error_line", "Background", "as_user_argv",
    "check_with_reader", "tempdir", "info", "PYTHON", "ERROR_LINE", "two_at_a_time",
]

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DFT_BUILD", ROOT / "build"))
TRACER = BUILD / "dftrace-bpf"
READER = BUILD / "dftrace"
PYTHON = "/usr/bin/python3"

# No wait in a test is longer than this many seconds; reaching it is a failure.
LIVE_TIMEOUT = float(os.environ.get("DFT_LIVE_TIMEOUT", 120))


# ---- results ---------------------------------------------------------------------------------

class Fail(AssertionError):
    """The test failed; the text says why."""


class Skip(Exception):
    """The test cannot be made here: Skip(feature, why)."""

    def __init__(self, feature, why):
        super().__init__(feature, why)
        self.feature = feature
        self.why = why


_registry = []


def test(fn=None, *, name=None):
    """Registers a test: a function of one argument, its temporary directory (a Path)."""
    def register(f):
        label = name or f.__name__.removeprefix("test_")
        if ":" in label:
            raise ValueError("a test's name holds no colon")
        _registry.append((label, f))
        return f
    return register(fn) if fn else register


def skip(feature, why):
    raise Skip(feature, why)


def fail(why):
    raise Fail(why)


def check(condition, why):
    if not condition:
        raise Fail(why() if callable(why) else why)


def equal(got, want, what="value"):
    if got != want:
        raise Fail(f"{what}: got {got!r}, want {want!r}")


def _one_line(text, limit=600):
    text = " ".join(str(text).split())
    return text if len(text) <= limit else text[:limit] + " ..."


def main(argv=None):
    """Runs the registered tests (those whose names contain an argument, if there are any)."""
    names = sys.argv[1:] if argv is None else argv
    os.environ["LC_ALL"] = "C"
    for number in (signal.SIGINT, signal.SIGQUIT):
        # Shells have what runs in the background ignore them, and so would all that is tested.
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    bad = False
    for label, fn in _registry:
        if names and not any(n in label for n in names):
            continue
        try:
            with tempdir(label) as tmp:
                fn(tmp)
            print(f"ok {label}", flush=True)
        except Skip as s:
            print(f"skip {label}: {s.feature}: {_one_line(s.why)}", flush=True)
        except Fail as e:
            bad = True
            print(f"not ok {label}: {_one_line(e)}", flush=True)
            lines = str(e).splitlines()
            if len(lines) > 1 or len(str(e)) > 600:
                for line in lines[:200]:
                    print("  " + line)
        except Exception as e:  # a broken test is a failed test, and the others still run
            bad = True
            print(f"not ok {label}: {type(e).__name__}: {_one_line(e)}", flush=True)
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
    sys.exit(1 if bad else 0)


@contextlib.contextmanager
def tempdir(label="test"):
    path = Path(tempfile.mkdtemp(prefix=f"dft-{label[:40]}-".replace("/", "-")))
    os.chmod(path, 0o755)
    path = path.resolve()
    try:
        yield path
    finally:
        if os.environ.get("DFT_KEEP") == "1":
            print(f"  kept: {path}")
        else:
            shutil.rmtree(os.fsencode(path), ignore_errors=True)
            if path.exists():
                raise Fail(f"temporary directory {path} could not be removed")


def two_at_a_time(fn, items):
    """The results of fn for each item. A tracer that starts mostly waits, for the kernel."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(fn, item) for item in items]
        try:
            return [f.result() for f in futures]
        finally:
            pool.shutdown(cancel_futures=True)


# ---- what is needed --------------------------------------------------------------------------

def need_root():
    if os.geteuid() != 0:
        skip("root", "needs root")


def need_program(*names):
    for name in names:
        if not shutil.which(name, path=clean_env()["PATH"]):
            skip(name, f"{name} is not installed")


@functools.lru_cache(None)
def info():
    """The capability report of the tracer, as an object."""
    p = subprocess.run([TRACER, "--info", "--json"], capture_output=True, timeout=LIVE_TIMEOUT)
    if p.returncode != 0:
        raise Fail(f"dftrace-bpf --info --json: exit status {p.returncode}: {p.stderr.decode()}")
    return json.loads(p.stdout)


def _find_feature(node, name):
    """A feature's entry in the report: NAME: bool, or NAME: {ok: bool, reason: ...}."""
    if isinstance(node, dict):
        if name in node:
            return node[name]
        for value in node.values():
            hit = _find_feature(value, name)
            if hit is not None:
                return hit
        if node.get("name") == name:
            return node
    elif isinstance(node, list):
        for value in node:
            hit = _find_feature(value, name)
            if hit is not None:
                return hit
    return None


def need_feature(name):
    """Skips unless the tracer's own report says that this kernel has the feature."""
    entry = _find_feature(info(), name)
    if entry is None:
        raise Fail(f"dftrace-bpf --info --json says nothing about {name!r}")
    ok, why = entry, "not available"
    if isinstance(entry, dict):
        ok = next((entry[k] for k in ("ok", "yes", "available", "supported", "usable")
                   if k in entry), None)
        why = entry.get("reason") or entry.get("why") or why
        if ok is None:
            raise Fail(f"--info --json: entry of {name!r} not understood: {entry!r}")
    if not ok:
        skip(name, why)


# ---- running programs ------------------------------------------------------------------------

def clean_env(**more):
    """The environment of everything that tests run: nothing of the caller's but this."""
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root" if os.geteuid() == 0 else os.environ.get("HOME", "/"),
        "LC_ALL": "C",
        "TZ": "UTC",
    }
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(more)
    return env


class Run(collections.namedtuple("Run", "argv status out err")):
    """A program that has ended. status < 0: killed by that signal."""

    @property
    def text(self):
        return self.err.decode("utf-8", "replace")

    def want(self, status):
        if self.status != status:
            words = " ".join(os.fsdecode(a) for a in self.argv)
            raise Fail(f"exit status {self.status}, want {status}: {words}: {self.text.strip()}")
        return self


def run(argv, *, cwd=None, env=None, stdin=subprocess.DEVNULL, input=None, timeout=None, **kw):
    """Runs a program to its end."""
    argv = [os.fspath(a) for a in argv]
    if input is not None:
        kw["input"] = input
    else:
        kw["stdin"] = stdin
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    try:
        p = subprocess.run(argv, cwd=cwd, env=clean_env() if env is None else env,
                           timeout=timeout or LIVE_TIMEOUT, **kw)
    except subprocess.TimeoutExpired as e:
        raise Fail(f"still running after {e.timeout:g} s: {argv}") from None
    return Run(argv, p.returncode, p.stdout or b"", p.stderr or b"")


def as_user_argv(uid, gid, argv):
    """argv, run under other ids and without any capability."""
    return ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups",
            "--inh-caps=-all", "--bounding-set=-all", *argv]


class Background:
    """A program running beside the test; with pipes for its stdin and stdout unless told."""

    def __init__(self, argv, **kw):
        kw.setdefault("stdin", subprocess.PIPE)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.DEVNULL)
        kw.setdefault("env", clean_env())
        self.proc = subprocess.Popen([os.fspath(a) for a in argv], **kw)
        self.pid = self.proc.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.end()

    def line(self):
        """The next line of its stdout; a deadline instead of for ever."""
        return read_until(self.proc.stdout.fileno(), b"\n")

    def tell(self, text=b"\n"):
        os.write(self.proc.stdin.fileno(), text)

    def wait(self, timeout=None):
        try:
            return self.proc.wait(timeout or LIVE_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Fail(f"still running: {self.proc.args}") from None

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        for f in (self.proc.stdin, self.proc.stdout, self.proc.stderr):
            if f:
                with contextlib.suppress(OSError):
                    f.close()


def running_python(code, *args, **kw):
    """A Background python program; it talks over its stdin and stdout."""
    return Background([PYTHON, "-I", "-u", "-c", code, *map(str, args)], **kw)


def read_until(fd, end, timeout=None):
    """Bytes from fd up to and with `end`; what came so far at end of file."""
    deadline = time.monotonic() + (timeout or LIVE_TIMEOUT)
    got = b""
    while not got.endswith(end):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            raise Fail(f"nothing more to read after {got!r}")
        byte = os.read(fd, 1)
        if not byte:
            break
        got += byte
    return got


# ---- the tracer ------------------------------------------------------------------------------

def trace(tmp, argv, *options, out=None, status=0, cwd=None, env=None, stdout=None, stderr=None,
          stdin=subprocess.DEVNULL, quiet=True, timeout=None):
    """Runs `dftrace-bpf -o OUT OPTIONS -- ARGV` and loads what it wrote."""
    out = Path(tmp) / "trace" if out is None else Path(out)
    command = [TRACER, "-o", out, *options, "--", *argv]
    r = run(command, cwd=cwd, env=env, stdin=stdin, timeout=timeout,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE if stderr is None else stderr)
    r.want(status)
    t = load(out)
    t.run = r
    return t


class Tracer:
    """A tracer that goes on while the test does something else.

        with Tracer(tmp, "-p", pid) as tracer:   # live from here on
            ...
        t = tracer.trace
    """

    def __init__(self, tmp, *options, out=None, status=0, env=None, ready=True, stop=signal.SIGINT,
                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec=None):
        self.out = Path(tmp) / "trace" if out is None else Path(out)
        self.want_status = status
        self.stop_signal = stop
        self.trace = None
        self.err = b""
        self.stdout = b""
        ready_r, ready_w = os.pipe()
        self.errfile = tempfile.TemporaryFile()
        options = list(map(os.fspath, map(lambda o: str(o) if isinstance(o, int) else o, options)))
        argv = [os.fspath(TRACER), "-o", os.fspath(self.out), "--ready-fd", str(ready_w), *options]
        try:
            self.proc = subprocess.Popen(argv, pass_fds=(ready_w,), stdin=stdin, stdout=stdout,
                                         stderr=self.errfile, preexec_fn=preexec,
                                         env=clean_env() if env is None else env)
        finally:
            os.close(ready_w)
        self.ready_r = ready_r
        self.pid = self.proc.pid
        if ready:
            self.wait_ready()

    def stderr(self):
        self.errfile.seek(0)
        return self.errfile.read()

    def wait_ready(self):
        if not select.select([self.ready_r], [], [], LIVE_TIMEOUT)[0]:
            self.kill()
            raise Fail("the tracer did not become ready")
        byte = os.read(self.ready_r, 2)
        if len(byte) != 1:
            status = self._wait()
            raise Fail(f"the tracer ended before it was ready, status {status}: "
                       f"{self.stderr().decode('utf-8', 'replace').strip()}")

    def _wait(self):
        try:
            return self.proc.wait(LIVE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Fail("the tracer did not end") from None

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()

    def wait(self):
        """Waits until it ends by itself; loads the trace."""
        status = self._wait()
        self.err = self.stderr()
        if self.proc.stdout:
            self.stdout = self.proc.stdout.read()
        if self.want_status is not None and status != self.want_status:
            raise Fail(f"tracer: exit status {status}, want {self.want_status}: "
                       f"{self.err.decode('utf-8', 'replace').strip()}")
        self.status = status
        self.trace = load(self.out)
        return self.trace

    def stop(self, sig=None):
        self.proc.send_signal(sig or self.stop_signal)
        return self.wait()

    def close(self):
        self.kill()
        if self.proc.stdout:
            self.proc.stdout.close()
        if self.ready_r is not None:
            os.close(self.ready_r)
            self.ready_r = None
        self.errfile.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        try:
            if kind is None and self.trace is None:
                self.stop() if self.proc.poll() is None else self.wait()
        finally:
            self.close()


ERROR_LINE = re.compile(r"^dftrace-bpf: (?P<what>.+?): (?P<why>.+) \((?P<remedy>[^()].*)\)$")


def one_error_line(r, *words, status=None):
    """Checks that stderr is exactly one line `dftrace-bpf: what: why (what to do)`; returns it."""
    text = r.text
    lines = text.splitlines()
    if len(lines) != 1 or not text.endswith("\n"):
        raise Fail(f"want one line of error, got {lines!r} (exit status {r.status})")
    if not ERROR_LINE.match(lines[0]):
        raise Fail(f"not of the form 'dftrace-bpf: what: why (what to do)': {lines[0]!r}")
    for word in words:
        if not re.search(word, lines[0], re.I):
            raise Fail(f"{word!r} is not in the error: {lines[0]!r}")
    if status is not None:
        equal(r.status, status, f"exit status after {lines[0]!r}")
    return lines[0]


# ---- traces ----------------------------------------------------------------------------------

def dfhash(name):
    """The hash of the format: every second byte of the MD5 of the bytes."""
    digest = hashlib.md5(os.fsencode(name), usedforsecurity=False).digest()
    return digest[::2].hex()


class Event:
    """One COMPLETE event of category POSIX."""
    __slots__ = ("record", "owner", "name", "pid", "tid", "ts", "dur", "args", "line")

    def __init__(self, record, owner, line):
        self.record = record
        self.owner = owner
        self.line = line
        self.name = record["name"]
        self.pid = record["pid"]
        self.tid = record["tid"]
        self.ts = record["ts"]
        self.dur = record["dur"]
        self.args = record.get("args", {})

    @property
    def file(self):
        """Name of its file as bytes; None if the event names none."""
        return self.owner.resolve(self.args.get("fhash"))

    def named(self, arg):
        """The text behind an argument that is a hash; None if it is not there."""
        return self.owner.resolve(self.args.get(arg))

    @property
    def ret(self):
        return self.args.get("ret")

    @property
    def errno(self):
        return self.args.get("errno", 0)

    @property
    def restarted(self):
        return bool(self.args.get("restarted"))

    def __repr__(self):
        args = {k: v for k, v in self.args.items() if k != "hhash"}
        return f"<{self.name} {self.file!r} pid={self.pid} tid={self.tid} {args}>"


class TraceFile:
    """One *.pfw.gz, read completely and held to the format."""

    def __init__(self, path):
        self.path = Path(path)
        self.members = []      # decompressed gzip members
        self.records = []      # all lines as objects
        self.events = []       # Event, in file order
        self.names = {}        # hash -> bytes, of FH, SH and HH together
        self.kinds = {"FH": {}, "SH": {}, "HH": {}}
        self.start = None      # args of the start event
        self.end = None        # args of the end event
        self.pid = None
        self._read()

    def bad(self, why):
        raise Fail(f"{self.path.name}: {why}")

    def _read(self):
        blob = self.path.read_bytes()
        while blob:
            d = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                text = d.decompress(blob) + d.flush()
            except zlib.error as e:
                self.bad(f"gzip member {len(self.members)}: {e}")
            if not d.eof:
                self.bad(f"gzip member {len(self.members)} is cut")
            if not text.endswith(b"\n"):
                self.bad(f"gzip member {len(self.members)} does not end on a line end")
            self.members.append(text)
            blob = d.unused_data
        number = 0
        for text in self.members:
            for line in text[:-1].split(b"\n"):
                number += 1
                self._line(line, number)
        if not self.records:
            self.bad("no records")

    def _line(self, line, number):
        try:
            record = json.loads(line.decode("utf-8"))
        except ValueError as e:
            self.bad(f"line {number}: {e}: {line[:200]!r}")
        self.records.append(record)
        for key in ("type", "pid", "tid", "ph"):
            if type(record.get(key)) is not int or record[key] < 0:
                self.bad(f"line {number}: {key} is not a natural number: {line[:200]!r}")
        if self.pid is None:
            self.pid = record["pid"]
        elif record["pid"] != self.pid:
            self.bad(f"line {number}: pid {record['pid']} in the file of {self.pid}")
        name, cat, args = record["name"], record["cat"], record.get("args", {})
        if args and next(iter(args)) != "hhash":
            self.bad(f"line {number}: hhash is not the first argument: {line[:200]!r}")
        if record["ph"] == 4:
            if name in self.kinds:
                text = args["name"].encode("utf-8")
                if "raw" in args:
                    text = bytes.fromhex(args["raw"])
                value = args["value"]
                if value in self.kinds[name] and len(self.names) < 65536:
                    self.bad(f"line {number}: {name} {value} twice")
                if dfhash(text) != value:
                    self.bad(f"line {number}: {value} is not the hash of {text!r}")
                self.kinds[name][value] = text
                self.names[value] = text
        elif record["ph"] == 1:
            for key in ("id", "ts", "dur"):
                if type(record.get(key)) is not int or record[key] < 0:
                    self.bad(f"line {number}: {key} is not a natural number: {line[:200]!r}")
            if cat == "POSIX":
                self.events.append(Event(record, self, number))
            elif cat == "dftracer" and name == "start":
                if self.start is not None:
                    self.bad(f"line {number}: a second start")
                self.start = args
            elif cat == "dftracer" and name == "end":
                if self.end is not None:
                    self.bad(f"line {number}: a second end")
                self.end = args

    def resolve(self, value):
        if value is None:
            return None
        if value not in self.names:
            self.bad(f"hash {value} is not declared")
        return self.names[value]

    @property
    def program(self):
        """The part of the file name before -PID-HEX."""
        return re.sub(r"-\d+-[0-9a-f]{16}\.pfw\.gz$", "", self.path.name)

    @property
    def lost(self):
        return (self.end or {}).get("lost", {})

    def rows(self, name=None, *, shed=None):
        """AGGREGATED records, but those of pipes and of page faults: all, those with `shed`, or those
        without."""
        return [r for r in self.records if r["ph"] == 3 and (name is None or r["name"] == name) and
                not r["name"].startswith("mmap_") and
                (shed is None or bool(r["args"].get("shed")) == shed) and
                not (self.resolve(r["args"].get("fhash")) or b"").startswith(b"pipe:[")]

    def faults(self, name, file):
        """Page faults in a file: (those in rows, the events of the others)."""
        file = os.fsencode(file)
        rows = [r["args"] for r in self.records if r["ph"] == 3 and r["name"] == name and
                self.resolve(r["args"].get("fhash")) == file]
        return rows, [e for e in self.events if e.name == name and e.file == file]

    @property
    def filtered(self):
        """{class: {operation: count}}"""
        return (self.end or {}).get("filtered", {})

    @property
    def exit(self):
        return (self.end or {}).get("exit")


class Trace:
    """All files of one trace directory."""

    def __init__(self, path):
        self.path = Path(path)
        self.files = [TraceFile(p) for p in sorted(self.path.glob("*.pfw.gz"))]
        self.run = None
        others = [p.name for p in self.path.iterdir() if not p.name.endswith(".pfw.gz")]
        if others:
            raise Fail(f"{path}: files that are not traces: {others}")

    def __iter__(self):
        return iter(self.files)

    def by_pid(self, pid):
        hits = [f for f in self.files if f.pid == pid]
        if len(hits) != 1:
            raise Fail(f"{len(hits)} trace files of process {pid}, want 1")
        return hits[0]

    def pids(self):
        return {f.pid for f in self.files}

    def by_program(self, program):
        return [f for f in self.files if f.program == program]

    def events(self, name=None, *, file=None, pid=None, tid=None, where=None):
        """Events in file order, process by process."""
        if file is not None:
            file = os.fsencode(file)
        return [e for f in self.files if pid is None or f.pid == pid for e in f.events
                if (name is None or e.name == name) and (tid is None or e.tid == tid) and
                (file is None or e.file == file) and (where is None or where(e))]

    def lost(self):
        """{(file name, operation): what the end record says about it}"""
        return {(f.path.name, op): n for f in self.files for op, n in f.lost.items()}

    def no_loss(self):
        lost = self.lost()
        check(not lost, lambda: f"events were lost: {lost}")
        return self


def load_file(path):
    return TraceFile(path)


def load(path):
    """Reads a trace directory (a Trace)."""
    path = Path(path)
    if not path.is_dir():
        raise Fail(f"there is no trace directory {path}")
    return Trace(path)


def check_with_reader(path):
    """`dftrace check` on a trace directory must find nothing wrong."""
    r = run([READER, "check", path])
    if r.status != 0:
        raise Fail(f"dftrace check: exit status {r.status}: "
                   f"{(r.out + r.err).decode('utf-8', 'replace').strip()[:2000]}")
    return r
