#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recorded steps through decoder and formatter, against the lines they must become.

Each case is a pair: NAME.rec, what the kernel side sent, written by hand in the small language
below, and NAME.jsonl, the lines expected, written by hand from docs/trace-format.md. They are
compared byte for byte and as parsed JSON. Apart from that, the expected lines themselves are held
against rules written here anew: every hash is the MD5 rule over its name, every hash that is used
has been introduced, ids count from 1.

    test_golden.py [NAME...]              run (those whose names contain NAME)
    test_golden.py --assemble REC OUT     write the steps of a case as the replay program reads them
    test_golden.py --corpus REC DIR       write them as inputs of tests/fuzz/fuzz_decode.c

A .rec file has one step a line; `#` begins a comment. Strings are quoted and know \\n \\t \\\\ \\" \\0
\\xHH and *N behind the closing quote for N times. pid is 100, tid is pid, the birth of a process is
start=5000 unless given. Times are in nanoseconds.

    host NAME | offset NS | config WORD | only x86_64        the scene
    describe PID [program=S] [cmd=S] [cwd=S]                 what /proc would tell
    proc|fork [pid=] ppid= ts= [cwd=ID] [comm=S] [maker=]    records; maker is ppid unless given
    exec ts= [ppid=] [cwd=ID] [comm=S] cmd=S [full=N]
    exit ts= status=
    name ID CLASS S [flags=F|F] [ino=] [dev=] [magic=]
    text CALL S [slot=2] [base=ID]
    call CALL ts= [dur=] ret= [name=ID] [cls=CLASS] [flags=F|F] [v=VALUE,-,VALUE]
    raw HEX...                                               any bytes as a record
    tally KIND [nr=CALL|N] [cls=CLASS] [self] [flagged] [ino=] calls= [errors= bytes= dur= first=]
    reap | gone PID NOW | retire NOW | flush | uncounted N

CALL is a system call of bpf/syscalls.def. v= gives the values of its line in order, - for one that
is not there.
"""
import hashlib
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REPLAY = Path(os.environ.get("DFT_BUILD", ROOT / "build")) / "tests/golden/replay"

STEP = {name: i + 1 for i, name in enumerate(
    "host offset config describe record tally reap gone retire flush uncounted".split())}
CLASS = {name: i for i, name in enumerate(
    "none file dir block link socket pipe tty chardev anon pseudo excluded".split())}
CALL_FLAG = {name: 1 << i for i, name in enumerate(
    "base text1 text2 fault1 fault2 lost1 lost2 self deleted shared via nameless dirfd "
    "replaced unused other_deleted".split())}
NAME_FLAG = {"truncated": 1, "unreachable": 2, "floating": 4}
TALLY = {name: i + 1 for i, name in enumerate(
    "lost filtered undecoded unknown compat record".split())}
RECORD = {name: i + 1 for i, name in enumerate("call text name proc fork exec exit".split())}
TALLY_SELF, TALLY_FLAGGED = 0x8000, 0x4000


class Bad(Exception):
    """A case that is not well written."""


# ---- reading .rec ----------------------------------------------------------------------------

def call_numbers():
    """{name: number} of this machine, out of the table."""
    column = 2 if platform.machine() == "x86_64" else 3
    out = {}
    for line in (ROOT / "bpf/syscalls.def").read_text().splitlines():
        m = re.match(r"DFT_SYS\((\w+), (\d+), (\d+),", line)
        if m:
            out[m.group(1)] = int(m.group(column))
        m = re.match(r"DFT_SYS_X86\((\w+), (\d+),", line)
        if m and column == 2:
            out[m.group(1)] = int(m.group(2))
    return out


NUMBERS = call_numbers()
TOKEN = re.compile(r'\s*(?:(\w+)=)?(?:"((?:[^"\\]|\\.)*)"(?:\*(\d+))?|([^\s"]+))')


def unescape(text):
    out = bytearray()
    i = 0
    while i < len(text):
        if text[i] != "\\":
            out += text[i].encode()
            i += 1
        elif text[i + 1] == "x":
            out.append(int(text[i + 2:i + 4], 16))
            i += 4
        else:
            out += {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\", '"': b'"'}[text[i + 1]]
            i += 2
    return bytes(out)


def tokens(line):
    """(words, {key: value}); quoted values are bytes, others str."""
    words, keys = [], {}
    at = 0
    line = line.rstrip()
    while at < len(line):
        m = TOKEN.match(line, at)
        if not m:
            raise Bad(f"cannot be read from here: {line[at:]}")
        key, quoted, times, plain = m.groups()
        if quoted is not None:
            value = unescape(quoted) * int(times or 1)
        else:
            if plain.startswith("#") and key is None:
                break
            value = plain
        at = m.end()
        if key is None:
            words.append(value)
        else:
            keys[key] = value
    return words, keys


def call_number(name):
    if re.fullmatch(r"\d+|0x[0-9a-f]+", name):
        return int(name, 0)
    if name not in NUMBERS:
        raise Bad(f"no call {name}")
    return NUMBERS[name]


def bits(text, table):
    value = 0
    for word in text.split("|") if text else ():
        value |= table[word]
    return value


def comm(keys):
    return keys.get("comm", b"").ljust(16, b"\0")


class Assembler:
    def __init__(self):
        self.steps = []   # (kind, payload)
        self.only = None

    def step(self, kind, payload=b""):
        self.steps.append((STEP[kind], payload))

    def record(self, payload):
        self.step("record", payload)

    def line(self, line):
        words, keys = tokens(line)
        if not words:
            return
        what = words.pop(0)
        num = {k: v for k, v in keys.items() if isinstance(v, str)}
        n = lambda key, default=0: int(num.get(key, str(default)), 0)  # noqa: E731
        pid = n("pid", 100)
        tid = n("tid", pid)
        start = n("start", 5000)
        if what == "host":
            self.step("host", words[0].encode() + b"\0")
        elif what == "offset":
            self.step("offset", struct.pack("=q", int(words[0])))
        elif what == "config":
            word = words[0] if words else "=".join(next(iter(num.items())))
            self.step("config", word.encode() + b"\0")
        elif what == "only":
            self.only = words[0]
        elif what == "describe":
            fields = [keys.get(k) for k in ("program", "cmd", "cwd")]
            self.step("describe", struct.pack("=IIII", int(words[0]),
                                              *(0xffffffff if f is None else len(f) for f in fields))
                      + b"".join(f or b"" for f in fields))
        elif what in ("proc", "fork"):
            self.record(struct.pack("=B3xIIIQQQ16s", RECORD[what], pid, n("ppid"),
                                    n("maker", n("ppid")), n("ts"), start, n("cwd"), comm(keys)))
        elif what == "exec":
            cmd = keys.get("cmd", b"")
            self.record(struct.pack("=B3xIIIQQIIQQ16s", RECORD["exec"], pid, n("old_tid", tid),
                                    len(cmd), n("ts"), start, n("ppid"), 0, n("cwd"),
                                    n("full", len(cmd)), comm(keys)) + cmd)
        elif what == "exit":
            self.record(struct.pack("=B3xIIIQQ", RECORD["exit"], pid, tid, n("status"), n("ts"), start))
        elif what == "name":
            path = words[2]
            self.record(struct.pack("=BBHIQQIIII", RECORD["name"], CLASS[words[1]], len(path),
                                    bits(num.get("flags"), NAME_FLAG), int(words[0]), n("ino"),
                                    n("dev"), n("gen"), n("mode"), n("magic")) + path)
        elif what == "text":
            text = words[1]
            self.record(struct.pack("=BBHIIIQ", RECORD["text"], n("slot", 1), len(text), pid, tid,
                                    call_number(words[0]), n("base")) + text)
        elif what == "call":
            self.call(words[0], num, n, pid, tid)
        elif what == "raw":
            self.record(bytes.fromhex("".join(words)))
        elif what == "tally":
            nr = call_number(num.get("nr", "0"))
            nr |= (TALLY_SELF if "self" in words else 0) | (TALLY_FLAGGED if "flagged" in words else 0)
            self.step("tally", struct.pack("=QIHBBQ", start, pid, nr, TALLY[words[0]],
                                           CLASS[num.get("cls", "none")], n("ino"))
                      + struct.pack("=QQQQQ", n("calls"), n("errors"), n("bytes"), n("dur"),
                                    n("first")))
        elif what == "gone":
            self.step("gone", struct.pack("=QQ", int(words[0]), int(words[1])))
        elif what in ("retire", "uncounted"):
            self.step(what, struct.pack("=Q", int(words[0])))
        elif what in ("reap", "flush"):
            self.step(what)
        else:
            raise Bad(f"no step {what}")

    def call(self, name, num, n, pid, tid):
        values = num["v"].split(",") if "v" in num else []
        while values and values[-1] == "-":
            values.pop()
        present = sum(1 << i for i, v in enumerate(values) if v != "-")
        self.record(struct.pack("=BBHHBBQQIIqQ", RECORD["call"], len(values), call_number(name),
                                bits(num.get("flags"), CALL_FLAG), present,
                                CLASS[num.get("cls", "none")], n("ts"), n("dur", 1000), pid, tid,
                                n("ret"), n("name"))
                    + b"".join(struct.pack("=Q", (0 if v == "-" else int(v, 0)) & (1 << 64) - 1)
                               for v in values))

    def binary(self):
        out = b""
        for kind, payload in self.steps:
            out += struct.pack("=II", kind, len(payload)) + payload + b"\0" * (-len(payload) % 8)
        return out

    def fuzz_input(self):
        """A byte of options, then the records, each behind its length: see fuzz_decode.c."""
        options = 0
        for kind, payload in self.steps:
            if kind == STEP["config"]:
                word = payload.rstrip(b"\0").partition(b"=")[0].decode()
                options |= {"no-args": 1, "precise": 2, "include": 4, "exclude": 4}.get(word, 0)
        return bytes([options]) + b"".join(struct.pack("=H", len(p)) + p for k, p in self.steps if k == STEP["record"])


def assemble(path):
    out = Assembler()
    for number, line in enumerate(path.read_text().splitlines()):
        try:
            out.line(line)
        except (Bad, KeyError, IndexError, ValueError, struct.error) as e:
            raise Bad(f"{path.name}:{number + 1}: {type(e).__name__}: {e}") from None
    return out


# ---- rules for the expected lines -------------------------------------------------------------

def rule_hash(text):
    digest = hashlib.md5(text).digest()
    return "".join(f"{digest[i]:02x}" for i in range(0, 16, 2))


HASH_KEYS = ("hhash", "fhash", "other_fhash", "newpath_hash", "target_hash", "pathname_hash",
             "cmd_hash", "exec_hash", "cwd")


def check_expected(lines):
    """Faults of hand-written lines that no comparison with the program would show."""
    known = {}   # pid -> {hash}
    last_id = {}
    for number, line in enumerate(lines):
        rec = json.loads(line)
        if "totals" in rec or "incomplete" in rec:
            continue
        pid, args = rec["pid"], rec.get("args", {})
        if rec["name"] == "HH":
            known[pid] = set()
            last_id[pid] = 0
        where = f"expected line {number + 1}"
        if rec["name"] in ("HH", "FH", "SH"):
            raw = bytes.fromhex(args["raw"]) if "raw" in args else args["name"].encode()
            if args["value"] != rule_hash(raw):
                return f"{where}: {args['value']} is not the hash of its name ({rule_hash(raw)})"
            known[pid].add(args["value"])
        for key in HASH_KEYS:
            if key in args and args[key] not in known[pid]:
                return f"{where}: {key} {args[key]} was not introduced"
        if "id" in rec:
            if rec["id"] != last_id[pid] + 1:
                return f"{where}: id {rec['id']} after {last_id[pid]}"
            last_id[pid] = rec["id"]
        compact = json.dumps(rec, separators=(",", ":"), ensure_ascii=False)
        if compact != line.replace("\\u0008", "\\b").replace("\\u000c", "\\f"):
            return f"{where}: not written compactly, or a key twice"
    return None


def first_difference(got, want):
    for number, (g, w) in enumerate(zip(got, want)):
        if g != w:
            return f"line {number + 1}:\n  got  {g}\n  want {w}"
    longer = ("got", got) if len(got) > len(want) else ("want", want)
    at = min(len(got), len(want))
    return f"line {at + 1}: only in what I {longer[0]}:\n  {longer[1][at]}"


def version():
    return re.search(r'DFT_VERSION "([^"]+)"', (ROOT / "user/lib/version.h").read_text()).group(1)


def run_case(rec):
    """The verdict, and why."""
    case = assemble(rec)
    if case.only and case.only != platform.machine():
        return "skip", f"arch: only for {case.only}"
    want = (rec.with_suffix(".jsonl").read_text().replace("@VERSION@", version())).splitlines()
    wrong = check_expected(want)
    if wrong:
        return "not ok", wrong
    with tempfile.NamedTemporaryFile(prefix="dft-golden-") as steps:
        steps.write(case.binary())
        steps.flush()
        env = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        run = subprocess.run([REPLAY, steps.name], capture_output=True, env=env, check=False)
    if run.returncode:
        return "not ok", f"replay ended with {run.returncode}: {run.stderr.decode(errors='replace')}"
    text = run.stdout.decode()
    got = text.splitlines()
    if "DFT_GOLDEN_OUT" in os.environ:  # to look at what came
        Path(os.environ["DFT_GOLDEN_OUT"], rec.stem + ".jsonl").write_text(
            text.replace(f"dftrace-bpf {version()}", "dftrace-bpf @VERSION@"))
    if text and not text.endswith("\n"):
        return "not ok", "the last line has no end"
    if got != want:
        return "not ok", first_difference(got, want)
    if [json.loads(g) for g in got] != [json.loads(w) for w in want]:
        return "not ok", "the same bytes read as other JSON"
    return "ok", None


def main(argv):
    if argv and argv[0] == "--assemble":
        Path(argv[2]).write_bytes(assemble(Path(argv[1])).binary())
        return 0
    if argv and argv[0] == "--corpus":
        Path(argv[2], Path(argv[1]).stem).write_bytes(assemble(Path(argv[1])).fuzz_input())
        return 0
    cases = [p for p in sorted(HERE.glob("*.rec")) if not argv or any(a in p.stem for a in argv)]
    failed = False
    for rec in cases:
        try:
            verdict, why = run_case(rec)
        except (Bad, ValueError, KeyError, OSError) as e:
            verdict, why = "not ok", f"{type(e).__name__}: {e}"
        print(f"{verdict} {rec.stem}" + (f": {why}" if why else ""), flush=True)
        failed = failed or verdict == "not ok"
    for orphan in sorted(HERE.glob("*.jsonl")):
        if not orphan.with_suffix(".rec").exists():
            print(f"not ok {orphan.stem}: it has no .rec")
            failed = True
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
