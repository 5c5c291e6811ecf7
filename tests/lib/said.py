# SPDX-License-Identifier: MIT
"""Workload programs that say what they do (tests/progs/say.h), and their traces held against it."""
import collections
import contextlib
import difflib
import json
import os

from dfttest import Background, check, equal, fail, trace

RECORD_KEYS = ["id", "name", "cat", "type", "pid", "tid", "ts", "dur", "ph", "args"]
SH_KEYS = {"target_hash", "cmd_hash"}


class Said:
    """What a program said.

    threads     {(pid, tid): [(class, name, [(key, value)])]}: the events of each thread that it must
                have, in order. class "": always; else only with --all-files.
    words       {word: [(pid, tid, text)]}: everything else it had to say.
    called      {number of a system call: {True: with success, False: with failure}}
    lines       {pid: lines said}
    """

    def __init__(self, text):
        self.threads = {}
        self.words = collections.defaultdict(list)
        self.called = collections.defaultdict(set)
        self.lines = collections.Counter()
        for line in text.splitlines():
            said = json.loads(line)
            key = said["pid"], said["tid"]
            self.lines[said["pid"]] += 1
            if "say" in said:
                text = bytes.fromhex(said["text"])
                self.words[said["say"]].append((*key, text))
                if said["say"] == "begin":
                    self.threads[key] = []
            else:
                self._event(key, said)

    def _event(self, key, said):
        args = []
        for kind, name, value in said["args"][1:]:
            if kind != "i":
                value = bytes.fromhex(value)
            args.append((name, value.decode() if kind == "s" else value))
        self.threads.setdefault(key, []).append((said["cls"], said["name"], args))
        self.called[said["nr"]].add("errno" not in dict(args) or dict(args)["errno"] == 4)

    def who(self, word):
        """The threads that said a word."""
        return {(pid, tid) for pid, tid, _ in self.words[word]}


def shown(e):
    """An event of the trace as (name, [(key, value)]), with names in the place of hashes.

    Not whether an open created the file: the programs do not say it; tests/live/test_prov.py is about that.
    """
    equal(list(e.record), RECORD_KEYS, f"keys of {e}")
    equal((e.record["cat"], e.record["type"]), ("POSIX", 3), f"category and type of {e}")
    keys = list(e.args)
    equal(keys[0], "hhash", f"first argument of {e}")
    args = []
    for key in keys[1:]:
        value = e.args[key]
        if key == "created":
            equal((e.name, value), ("open", 1), f"created of {e}")
            check(e.args.get("flags", os.O_CREAT) & os.O_CREAT, f"created without O_CREAT: {e}")
            continue
        if key.endswith("hash"):
            kind = "SH" if key in SH_KEYS else "FH"
            check(value in e.owner.kinds[kind], f"{key} of {e} is no {kind}")
            value = e.owner.kinds[kind][value]
        args.append((key, value))
    return e.name, args


def text_of(event):
    name, args = event
    words = [f"{k}={os.fsdecode(v) if isinstance(v, bytes) else v!r}" for k, v in args]
    return f"{name} {' '.join(words)}"


def between_marks(events):
    """The events after the begin mark and before the end mark, or all when there is none."""
    begin = [i for i, e in enumerate(events) if e.name == "access" and e.file == b"/dft-begin"]
    check(len(begin) < 2, f"{len(begin)} begin marks")
    events = events[begin[0] + 1:] if begin else events
    end = [i for i, e in enumerate(events) if e.name == "access" and e.file == b"/dft-end"]
    return events[:end[0]] if end else events


def differences(want, got):
    """Readable lines for what differs between two lists of (name, args)."""
    want, got = [text_of(e) for e in want], [text_of(e) for e in got]
    lines = []
    for op, a, b, c, d in difflib.SequenceMatcher(None, want, got, autojunk=False).get_opcodes():
        if op != "equal":
            lines += [f"want {e}" for e in want[a:b]] + [f"got  {e}" for e in got[c:d]]
    return lines


def compare(t, said, all_files=False, set_aside=lambda e: False):
    """Fails unless each thread has exactly the events said, in order."""
    check(said.threads, "the program said nothing")
    lines = []
    for (pid, tid), want in said.threads.items():
        events = [e for e in t.by_pid(pid).events if e.tid == tid and not set_aside(e)]
        got = between_marks(events)
        want = [(name, args) for cls, name, args in want if not cls or all_files]
        if (pid, tid) in said.who("exec"):
            got = got[:len(want)]  # another program follows
        lines += [f"{tid}: {line}" for line in differences(want, [shown(e) for e in got])]
    if lines:
        fail(f"{len(lines)} lines differ\n" + "\n".join(lines))


@contextlib.contextmanager
def listener(path):
    """A pipe whose bytes go to a file; yields [its writing end, its name as the kernel has it].

    The writing end is closed by whoever takes it (sets it to None)."""
    r, w = os.pipe()
    held = [w, b"pipe:[%d]" % os.fstat(r).st_ino]
    with open(path, "wb") as sink, Background(["cat"], stdin=r, stdout=sink) as cat:
        os.close(r)
        try:
            yield held
        finally:
            if held[0] is not None:
                os.close(held[0])
        equal(cat.wait(), 0, "cat")


def trace_said(tmp, argv, *options, cwd, env=None):
    """Traces a program that says what it does: (trace, what it said, name of the pipe it used)."""
    with listener(tmp / "said") as held:
        t = trace(tmp, argv, *options, cwd=cwd, env=env, stdout=held[0])
    t.no_loss()
    said = Said((tmp / "said").read_text())
    check(said.who("begin") == said.who("end") | said.who("exec"),
          "threads that did not come to their end")
    return t, said, held[1]
