#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recorded steps through decoder and formatter, against the lines they must become.

Each case is a pair: NAME.rec, what the kernel side sent, written by hand in the small language
below, and NAME.jsonl, the lines expected, written by hand from docs/trace-format.md. They are
compared byte for byte and as parsed JSON. Apart from that, the expected lines themselves are held
against rules written here anew: every hash is the MD5 rule over its name, every hash that is used
has been introduced, ids count from 1. Last come cases that are made here, since they are many of a
kind.

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
         of all three: [mnt_ns= pid_ns= user_ns= ns_pid= uid= euid= cgroup=]; without mnt_ns nothing of it is known
    comm ts= comm=S                                          of thread tid
    env [at=N] [full=N] S                                    a part of an environment
    home mnt_ns= pid_ns= user_ns= | cgroup ID S              the tracer's own; the path of one
    exit ts= status= [threads=N]
    name ID CLASS S [flags=F|F] [ino=] [dev=] [magic=]
    text CALL S [slot=2] [base=ID]
    call CALL ts= [dur=] ret= [name=ID] [cls=CLASS] [flags=F|F] [v=VALUE,-,VALUE]
    request CALL ts= [...]                                   the same; [serial=N], which is the tid= of
                                                             its texts; [texts_only]; ret=unfinished|unseen
    batch [tid=] [room=N]                                    of the calls `in` it, the lines behind it:
    in CALL ts= [dur=] ret= [name=ID] [cls=CLASS] [flags=F|F] [v=VALUE,-,VALUE]
    raw HEX|S...                                             any bytes as a record
    tally KIND [nr=CALL|N] [cls=CLASS] [self] [flagged] [id=] calls= [errors= bytes= dur= min= max=
          first= last=]                                      as it is in the kernel from now on
    look NOW [rows] [names] | reap                           at all tallies; reap: for ends alone
    settle | adopt PID START NOW [gone] | aggregate NOW
    gone PID NOW | retire NOW | flush | uncounted N

CALL is a line of bpf/syscalls.def. v= gives the values of its line in order, - for one that
is not there.

Annotations. The items of a stream are collected under the address of its buffer, data=, 0x1000 unless
given, until an event or metadata sends them: what is too long for one chunk in parts before it.

    item int|float|str KEY VALUE [mt=N] | item rel RELATION ID | item dur NS
    item name|cat S | item bytes HEX...
    event NAME CAT start= ts= [cut=N] [before=N] [lose=N,N]  cut: size of its chunks
    part NAME CAT start= ts= [take=N] [before=N] [lose] [left]
    metadata KEY form=cm|app|used ts= [cut=N] [before=N] [lose=N,N]
    entity TYPE URI ID store= ts= | entity_type TYPE TEXT role= ts= | relation RELATION ID ID ts=
    image NAMEID ino= ts=                                    a record
    found INO plain|armed|failed [armed=NS] [why=S]          what looking at that file finds

lose= has the numbers of the chunks that never come, from 0; `left` ends what is known of its region.
All of them take data=, pid=, tid=, api=c|cpp|python|N and flags=fault_name|fault_text|fault_data|inherited (then
the string or chunk is not there). Of names 127 and of texts 255 bytes are sent. In expected lines @c*N@
stands for N times c.
"""
import hashlib
import json
import os
import platform
import random
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
    "host offset config describe record tally look gone retire flush uncounted found settle adopt "
    "aggregate home cgroup".split())}
CLASS = {name: i for i, name in enumerate(
    "none file dir block link socket pipe tty chardev anon pseudo excluded only "
    "min_dur".split())}
CALL_FLAG = {name: 1 << i for i, name in enumerate(
    "base text1 text2 fault1 fault2 lost1 lost2 self deleted shared via nameless dirfd "
    "replaced other_nameless other_deleted".split())}
NAME_FLAG = {"truncated": 1, "unreachable": 2, "floating": 4}
TALLY = {name: i + 1 for i, name in enumerate(
    "shed filtered undecoded unknown compat record chosen".split())}
RECORD = {name: i + 1 for i, name in enumerate(
    "call text name proc fork exec exit event part metadata entity entity_type relation "
    "image batch request comm env".split())}
LOOK = {"rows": 1, "names": 2}
RESULT = {"unfinished": -600, "unseen": -601}  # instead of one
NEVER = (1 << 64) - 1
TALLY_SELF, TALLY_FLAGGED = 0x8000, 0x4000


# include/dftracer/wire.h and bpf/abi.h
ITEM = {name: i + 1 for i, name in enumerate("int str float rel dur name cat".split())}
REL = {"used": 0, "generated": 1, "invalidated": 2, "updated": 3, "derived_from": 16,
       "revision_of": 17, "contains": 18, "part_of": 19}
FORM = {"cm": 0, "app": 1, "used": 2}
API = {"c": 2, "python": 6, "cpp": 9}
FOUND = {"plain": 0, "armed": 1, "failed": 2}
ANNOT_FLAG = {"fault_name": 1, "fault_text": 2, "fault_data": 4, "inherited": 8}
NAME_ROOM, TEXT_ROOM, CHUNK_ROOM = 128, 256, 448
REST = b"\xa5"  # what is in a record behind a string: never to be read


class Bad(Exception):
    """A case that is not well written."""


# ---- reading .rec ----------------------------------------------------------------------------

# Where the numbers of lines begin that are no system calls (bpf/abi.h).
BASES = {"URING": 512, "AIO": 640, "FORM": 704, "FAULT": 736}


def call_numbers():
    """{name: number} of this machine, out of the table."""
    column = 2 if platform.machine() == "x86_64" else 3
    out = {}
    base = {name: int(n) for name, n in
            re.findall(r"^#define DFT_NR_(\w+) +(\d+)u", (ROOT / "bpf/abi.h").read_text(), re.M)}
    for line in (ROOT / "bpf/syscalls.def").read_text().splitlines():
        m = re.match(r"DFT_LINE\((\w+), (\w+), (\d+),", line)
        if m:
            out[m.group(1)] = base[m.group(2)] + int(m.group(3))
        m = re.match(r"DFT_SYS\((\w+), (\d+), (\d+),", line)
        if m:
            out[m.group(1)] = int(m.group(column))
        m = re.match(r"DFT_SYS_X86\((\w+), (\d+),", line)
        if m and column == 2:
            out[m.group(1)] = int(m.group(2))
        m = re.match(r"DFT_LINE\((\w+), (\w+), (\d+),", line)
        if m:
            out[m.group(1)] = BASES[m.group(2)] + int(m.group(3))
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


def scene(n):
    return struct.pack("=Q6I", n("cgroup"), n("mnt_ns"), n("pid_ns"), n("user_ns"), n("ns_pid"), n("uid"),
                       n("euid"))


def u64(text, names=()):
    return names[text] if text in names else int(text, 0) & (1 << 64) - 1


def item_bytes(kind, words, mt):
    """An item as wire.h has it."""
    string = lambda s: struct.pack("=I", len(s)) + s  # noqa: E731
    if kind == "bytes":
        return bytes.fromhex("".join(words))
    head = bytes([ITEM[kind]])
    if kind in ("int", "str", "float"):
        value = {"int": lambda v: struct.pack("=q", int(v, 0)), "str": string,
                 "float": lambda v: struct.pack("=d", float(v))}[kind](words[1])
        return head + bytes([mt]) + string(words[0]) + value
    if kind == "rel":
        return head + struct.pack("=BQ", u64(words[0], REL), int(words[1], 16))
    return head + (struct.pack("=Q", u64(words[0])) if kind == "dur" else string(words[0]))


class Annotations:
    """The records of probes; `emit` takes each."""

    def __init__(self, emit):
        self.emit = emit
        self.streams = {}  # address -> bytes
        self.before = {}   # address -> bytes sent in parts
        self.lines = {"item": self.item, "part": self.part, "event": self.whole,
                      "metadata": self.whole, "entity": self.declaration,
                      "entity_type": self.declaration, "relation": self.relation}

    def hit(self, what, num, name=b"", text=b"", value=0, code=0, data=0, chunk=None):
        """A record; a chunk of None: the short form."""
        flags = bits(num.get("flags"), ANNOT_FLAG)
        name = b"" if flags & 1 else name[:NAME_ROOM - 1]
        text = b"" if flags & 2 else text[:TEXT_ROOM - 1]
        sent = b"" if flags & 4 or chunk is None else chunk
        pid = int(num.get("pid", "100"))
        self.emit(struct.pack("=BBHHHIIQQQQ", RECORD[what], flags, len(name), len(text), len(sent), pid,
                              int(num.get("tid", pid)), u64(num["ts"]), value, code, data)
                  + name.ljust(NAME_ROOM, REST) + text.ljust(TEXT_ROOM, REST)
                  + (b"" if chunk is None else sent.ljust(CHUNK_ROOM, REST)))

    def item(self, _, words, num):
        at = u64(num.get("data", "0x1000"))
        self.streams[at] = self.streams.get(at, b"") + item_bytes(words[0], words[1:],
                                                                  int(num.get("mt", "0")))

    def chunk(self, what, words, num, take, lost):
        """Takes bytes off the stream and sends them, unless they get lost."""
        at = u64(num.get("data", "0x1000"))
        stream, sent = self.streams.get(at, b""), self.before.get(at, 0)
        if what == "part" and "left" not in words:
            self.streams[at], self.before[at] = stream[take:], sent + len(stream[:take])
        else:
            self.streams.pop(at, None)
            self.before.pop(at, None)
        if lost:
            return
        value = u64(num["form"], FORM) + 4 * u64(num["ts"]) & (1 << 64) - 1 if "form" in num else \
            u64(num["start"])
        self.hit(what, num, words[0], words[1] if len(words) > 1 else b"", value,
                 u64(num.get("api", "c"), API), at,
                 struct.pack("=I", u64(num.get("before", str(sent)))) + stream[:take])

    def part(self, what, words, num):
        lost = "lose" in words
        self.chunk(what, words, num, u64(num.get("take", str(CHUNK_ROOM - 4))), lost)

    def whole(self, what, words, num):
        at = u64(num.get("data", "0x1000"))
        cut = u64(num.get("cut", str(CHUNK_ROOM - 4)))
        lose = num.get("lose", "").split(",")
        number = 0
        while len(self.streams.get(at, b"")) > cut:
            self.chunk("part", words, num, cut, str(number) in lose)
            number += 1
        self.chunk(what, words, num, cut, str(number) in lose)

    def declaration(self, what, words, num):
        entity = what == "entity"
        self.hit(what, num, words[0], words[1],
                 int(words[2], 16) if entity else u64(num.get("hash", "1")),
                 u64(num["store" if entity else "role"]))

    def relation(self, what, words, num):
        self.hit(what, num, value=int(words[1], 16), code=u64(words[0], REL), data=int(words[2], 16))


class Assembler:
    def __init__(self):
        self.steps = []   # (kind, payload)
        self.batch = None # a line `batch`, and its calls
        self.only = None
        self.annotations = Annotations(self.record)

    def step(self, kind, payload=b""):
        self.steps.append((STEP[kind], payload))

    def record(self, payload):
        self.step("record", payload)

    def line(self, line):
        words, keys = tokens(line)
        if not words:
            return
        what = words.pop(0)
        if what != "in":
            self.end_batch()
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
            self.record(struct.pack("=B3xIIIQQQ", RECORD[what], pid, n("ppid"),
                                    n("maker", n("ppid")), n("ts"), start, n("cwd")) + scene(n) + comm(keys))
        elif what == "exec":
            cmd = keys.get("cmd", b"")
            self.record(struct.pack("=B3xIIIQQIIQQQ", RECORD["exec"], pid, n("old_tid", tid),
                                    len(cmd), n("ts"), start, n("ppid"), 0, n("cwd"), n("image"),
                                    n("full", len(cmd))) + scene(n) + comm(keys) + cmd)
        elif what == "comm":
            self.record(struct.pack("=B3xIIIQQ", RECORD["comm"], pid, tid, 0, n("ts"), start) + comm(keys))
        elif what == "env":
            self.record(struct.pack("=B3xIQIIQ", RECORD["env"], pid, start, n("at"), len(words[0]),
                                    n("full", len(words[0]))) + words[0])
        elif what == "home":
            self.step("home", scene(n))
        elif what == "cgroup":
            self.step("cgroup", struct.pack("=Q", int(words[0])) + words[1] + b"\0")
        elif what == "exit":
            self.record(struct.pack("=B3xIIIQQII", RECORD["exit"], pid, tid, n("status"), n("ts"), start,
                                    n("threads", 1), 0))
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
            self.record(self.call_record(words[0], num, n, pid, tid))
        elif what == "request":
            self.record(struct.pack("=BB2xIQ", RECORD["request"], "texts_only" in words, n("serial"), start)
                        + self.call_record(words[0], num, n, pid, tid))
        elif what == "batch":
            self.batch = pid, tid, start, n("room"), []
        elif what == "in":
            self.batch[-1].append(self.gathered(words[0], num, n))
        elif what in self.annotations.lines:
            self.annotations.lines[what](what, words, num)
        elif what == "image":
            self.record(struct.pack("=B3xIQQQQII", RECORD["image"], pid, n("ts"), int(words[0]),
                                    n("ino"), n("size"), n("dev"), n("gen")))
        elif what == "found":
            self.step("found", struct.pack("=QQII", int(words[0]), n("armed"), FOUND[words[1]], 0)
                      + keys.get("why", b""))
        elif what == "raw":
            self.record(b"".join(w if isinstance(w, bytes) else bytes.fromhex(w) for w in words))
        elif what == "tally":
            nr = call_number(num.get("nr", "0"))
            nr |= (TALLY_SELF if "self" in words else 0) | (TALLY_FLAGGED if "flagged" in words else 0)
            self.step("tally", struct.pack("=QIHBBQ", start, pid, nr, TALLY[words[0]],
                                           CLASS[num.get("cls", "none")], n("id"))
                      + struct.pack("=8Q", n("calls"), n("errors"), n("bytes"), n("dur"),
                                    n("min", NEVER), n("max"), n("first", NEVER), n("last")))
        elif what == "look":
            self.step("look", struct.pack("=QQ", int(words[0]), sum(LOOK[w] for w in words[1:])))
        elif what == "reap":
            self.step("look", struct.pack("=QQ", n("now"), 0))
        elif what == "adopt":
            self.step("adopt", struct.pack("=QQQQ", *map(int, words[:3]), "gone" in words))
        elif what == "gone":
            self.step("gone", struct.pack("=QQ", int(words[0]), int(words[1])))
        elif what in ("retire", "uncounted", "aggregate"):
            self.step(what, struct.pack("=Q", int(words[0])))
        elif what in ("settle", "flush"):
            self.step(what)
        else:
            raise Bad(f"no step {what}")

    @staticmethod
    def values(num):
        """(number, bits of those present, [value])"""
        values = num["v"].split(",") if "v" in num else []
        while values and values[-1] == "-":
            values.pop()
        present = sum(1 << i for i, v in enumerate(values) if v != "-")
        return len(values), present, [(0 if v == "-" else int(v, 0)) & NEVER for v in values]

    def call_record(self, name, num, n, pid, tid):
        count, present, values = self.values(num)
        return struct.pack("=BBHHBBQQIIqQ", RECORD["call"], count, call_number(name),
                           bits(num.get("flags"), CALL_FLAG), present,
                           CLASS[num.get("cls", "none")], n("ts"), n("dur", 1000), pid, tid,
                           RESULT.get(num.get("ret")) or n("ret"), n("name")) + \
            struct.pack(f"={count}Q", *values)

    def gathered(self, name, num, n):
        count, present, values = self.values(num)
        values = (values + [0xa5a5a5a5a5a5a5a5] * 3)[:3]  # what is not there is not to be read
        return struct.pack("=HHBBBBQQqQ3Q", call_number(name), bits(num.get("flags"), CALL_FLAG),
                           count, present, CLASS[num.get("cls", "none")], 0, n("ts"),
                           n("dur", 1000), n("ret"), n("name"), *values)

    def end_batch(self):
        if self.batch:
            pid, tid, start, room, calls = self.batch
            self.batch = None
            rest = b"\xa5" * 64 * max(0, room - len(calls))
            self.record(struct.pack("=BB2xIIIQQ", RECORD["batch"], len(calls), pid, tid, 0, start, 0)
                        + b"".join(calls) + rest)

    def binary(self):
        self.end_batch()
        out = b""
        for kind, payload in self.steps:
            out += struct.pack("=II", kind, len(payload)) + payload + b"\0" * (-len(payload) % 8)
        return out

    def fuzz_input(self):
        """A byte of options, then the records, each behind its length: see fuzz_decode.c."""
        self.end_batch()
        options = 0
        for kind, payload in self.steps:
            if kind == STEP["config"]:
                word = payload.rstrip(b"\0").partition(b"=")[0].decode()
                options |= {"no-args": 1, "precise": 2, "include": 4, "exclude": 4, "prov": 16}.get(word, 0)
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
             "cmd_hash", "interp_hash", "exec_hash", "cwd")


def entity_fault(rec, entities):
    """Ids used and not introduced; those introduced, and types, twice. `entities`: of one process."""
    args = rec["args"]
    if rec["ph"] == 4 and rec["name"] in ("EH", "ET"):
        key = args["id"] if rec["name"] == "EH" else ("type", args["type"])
        late = args.get("late", 0)
        found = rec["name"] == "ET" and args["type"] in ("file", "program", "pipe")
        if found and entities.get(key) == "twice" or not found and key in entities and (late or not entities[key]):
            return f"{key} twice"
        if found:  # by the tracer, and perhaps by the program
            late = "twice" if key in entities else "once"
        entities[key] = late
    used = [i for ids in args.get("relations", {}).values() for i in ids]
    for key in used + ([args["subject"], args["object"]] if rec["name"] == "ER" else []):
        if key not in entities:
            return f"{key} was not introduced"
    return None


def found_id_is_right(args, names):
    """Of an entity that is a file: type and key as docs/trace-format.md has them. `names`: of its process."""
    path, host = names[args["fhash"]], names["host"]
    key = path if args["store"] in (3, 7) else host + b":" + path
    if names["ns"] and args["store"] not in (3, 7) and args["type"] != "pipe":
        key = host + b":%d:" % names["ns"] + path
    value = 1469598103934665603
    for byte in args["type"].encode() + b"\x1f" + key:
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return args["id"] == f"{value or 1:016x}"


def check_expected(lines):
    """Faults of hand-written lines that no comparison with the program would show."""
    known = {}   # pid -> {hash}
    entities = {}
    last_id, names = {}, {}
    for number, line in enumerate(lines):
        rec = json.loads(line)
        if "totals" in rec or "incomplete" in rec:
            continue
        if rec["name"] == "start" and rec["cat"] == "dftracer":
            names[rec["pid"]]["ns"] = rec["args"].get("mnt_ns")
        pid, args = rec["pid"], rec.get("args", {})
        if rec["name"] == "HH" and rec["ph"] == 4:
            known[pid], entities[pid], last_id[pid] = set(), {}, 0
            names[pid] = {"host": args["name"].encode()}
        where = f"expected line {number + 1}"
        if rec["name"] in ("HH", "FH", "SH") and rec["ph"] == 4:
            raw = bytes.fromhex(args["raw"]) if "raw" in args else args["name"].encode()
            if args["value"] != rule_hash(raw):
                return f"{where}: {args['value']} is not the hash of its name ({rule_hash(raw)})"
            known[pid].add(args["value"])
            names[pid][args["value"]] = raw
        for key in HASH_KEYS if rec["cat"] in ("dftracer", "POSIX") else ("hhash",):
            if key in args and args[key] not in known[pid]:
                return f"{where}: {key} {args[key]} was not introduced"
        wrong = entity_fault(rec, entities[pid])
        if wrong:
            return f"{where}: {wrong}"
        if rec["name"] == "EH" and "fhash" in args and not found_id_is_right(args, names[pid]):
            return f"{where}: the id is not that of type and key"
        if "id" in rec and "part" not in args:
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


def replay(case):
    """The lines that the steps become."""
    with tempfile.NamedTemporaryFile(prefix="dft-golden-") as steps:
        steps.write(case.binary())
        steps.flush()
        env = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        run = subprocess.run([REPLAY, steps.name], capture_output=True, env=env, check=False)
    if run.returncode:
        raise Bad(f"replay ended with {run.returncode}: {run.stderr.decode(errors='replace')}")
    return run.stdout.decode()


def expected(path):
    text = path.read_text().replace("@VERSION@", version())
    return re.sub(r"@(.)\*(\d+)@", lambda m: m[1] * int(m[2]), text).splitlines()


def run_case(rec):
    """The verdict, and why."""
    case = assemble(rec)
    if case.only and case.only != platform.machine():
        return "skip", f"arch: only for {case.only}"
    want = expected(rec.with_suffix(".jsonl"))
    wrong = check_expected(want)
    if wrong:
        return "not ok", wrong
    text = replay(case)
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


# ---- cases of a kind -------------------------------------------------------------------------

SCENE = """host node01
offset 1000000000000
proc ppid=1 ts=1000 comm="job"
"""


def lines_of(script):
    """What the steps become, as [record]."""
    case = Assembler()
    for line in script.splitlines():
        case.line(line)
    return [json.loads(line) for line in replay(case).splitlines()]


def cut_anywhere():
    """An item may lie across chunks in any way: the event is the same."""
    items = ["int key 258", 'str "k\\"" "value"', "float f 0.1", "rel used ab", "rel updated ab",
             'str "" ""', "dur 5000", 'name "the name"', 'cat "the category"', "int key -1"]
    items = [re.sub(r"\b(key|f)\b", r'"\1"', item, count=1) for item in items]
    stream = Assembler()
    for item in items:
        stream.line("item " + item)
    size = len(stream.annotations.streams[0x1000])
    script = SCENE
    for at in range(1, size):
        script += "".join(f"item {item}\n" for item in items)
        script += f'part "n" "c" start={at * 1000} ts=9 take={at}\n'
        script += f'event "n" "c" start={at * 1000} ts=9\n'
        script += "".join(f"item {item}\n" for item in items)
        script += f'event "n" "c" start={at * 1000} ts=9 cut={at}\n'
    got = [r for r in lines_of(script + "exit ts=10 status=0\nreap\n") if r.get("type") == 2]
    want = {"key": -1, 'k"': "value", "f": 0.1, "": "",
            "relations": {"used": ["00000000000000ab"], "updated": ["00000000000000ab"]}}
    for n, rec in enumerate(got):
        told = rec["name"], rec["cat"], rec["dur"], list(rec["args"].items())[1:]
        if told != ("the name", "the category", 5, list(want.items())):
            return f"cut at byte {n // 2 + 1} of {size}: {told}"
    return None if len(got) == 2 * (size - 1) else f"{len(got)} events"


def many_of_each():
    """Keys and ids are told once, few or many: around the number from which on a table is used."""
    script, want = SCENE, []
    for count in (1, 2, 15, 16, 17, 18, 33, 200):
        keys = [f"k{n}" for n in range(count)]
        ids = [f"{n + 1:016x}" for n in range(count)]
        for turn in (0, 1):
            script += "".join(f'item int "{k}" {turn * 1000 + n}\n' for n, k in enumerate(keys))
            script += "".join(f"item rel used {i}\n" for i in ids)
        script += f'event "{count}" "c" start=2000 ts=9\n'
        want.append({**{k: 1000 + n for n, k in enumerate(keys)}, "relations": {"used": ids}})
    got = [list(r["args"].items())[1:] for r in lines_of(script + "exit ts=10 status=0\nreap\n")
           if r.get("type") == 2]
    return None if got == [list(w.items()) for w in want] else f"{got}"[:300]


def never_ended():
    """Memory is bounded, and each region that was left is counted; the newest can go on."""
    script = SCENE
    for n in range(2000):
        script += f'item data={n + 1} int "n" {n}\npart "n" "c" start=2000 ts=9 data={n + 1}\n'
    script += 'item data=2000 int "last" 1\nevent "n" "c" start=2000 ts=9 data=2000\n'
    event, end = lines_of(script + "exit ts=10 status=0\nreap\n")[-3:-1]
    if list(event["args"].items())[1:] != [("n", 1999), ("last", 1)]:
        return f"the newest is {event}"
    return None if end["args"].get("annotations") == {"unended": 1999} else f"the end is {end}"


def random_region(rng, start, lossy):
    """[lines that send it], what its event's args must be or None, whether it is left."""
    data = rng.randrange(1, 9) * 4096
    items, lines = [], []
    for _ in range(rng.randrange(1, 9)):
        key = rng.choice("abcd")
        value = rng.choice([rng.randrange(-1 << 63, 1 << 63), rng.random(), "x" * rng.randrange(60)])
        kind = {int: "int", float: "float", str: "str"}[type(value)]
        shown = f'"{value}"' if kind == "str" else repr(value)
        items.append((len(item_bytes(kind, [key.encode(), value.encode() if kind == "str" else shown],
                                     0)), key, value))
        lines.append(f'item data={data} {kind} "{key}" {shown}')
    total = sum(size for size, _, _ in items)
    lines, at, kept, whole, sent = ["\n".join(lines)], 0, 0, True, False
    while at < total:
        take = rng.randrange(1, 80)
        what = "event" if at + take >= total else "part"
        lost = lossy and rng.random() < 0.2
        if what == "event" and lost:  # a lost event cannot be said in one word
            lines.append(f'event "{start}" "c" start={start} ts={start} data={data} lose=0')
            return lines, data, None, sent
        lines.append(f'{what} "{start}" "c" start={start} ts={start} data={data} take={take}'
                     + (" lose" if lost else ""))
        sent = sent or what == "part" and not lost
        whole = whole and not lost
        at += take
        kept = min(at, total) if whole else kept
    args = {}
    for size, key, value in items:
        kept -= size
        if kept >= 0:
            args[key] = value
    return lines, data, args if whole else {**args, "args_lost": 1}, False


def in_any_order(lossy):
    """Threads at once, each chunk where it belongs; `lossy`: some do not come."""
    rng = random.Random(1 + lossy)
    for _ in range(10):
        script, want, open_at, left, start = SCENE, {}, {}, 0, 2000
        while start < 300000 or open_at:
            if start < 300000 and len(open_at) < 8:
                start += 1000
                lines, data, args, is_left = random_region(rng, start, lossy)
                if data not in open_at:
                    open_at[data] = lines
                    left += is_left
                    if args is not None:
                        want[str(start)] = args
            data = rng.choice(list(open_at))
            script += open_at[data].pop(0) + "\n"
            if not open_at[data]:
                del open_at[data]
        got = lines_of(script + "exit ts=10 status=0\nreap\n")
        for rec in got:
            if rec.get("cat") != "c":
                continue
            args = want.pop(rec["name"])
            if list(rec["args"].items())[1:] != list(args.items()):
                return f"region {rec['name']}: {rec['args']} instead of {args}"
        counts = got[-2]["args"].get("annotations", {})
        if want or counts != ({"unended": left} if left else {}):
            return f"missing {list(want)}, {left} left, and the end says {counts}"
    return None


def prov_parts():
    """A run with many files: records that repeat id and ts, each below 16 KiB, all ids once."""
    count = 2500
    script = SCENE + "config prov\n" + 'comm ts=1500 comm="job"\n'
    for n in range(count):
        script += f'name {n + 1} file "/data/{n}"\n'
        script += f"call read ts={2000 + n} ret=1 name={n + 1} cls=file v=1,0\n"
        if n % 2:
            script += f"call write ts={2000 + n} ret=1 name={n + 1} cls=file v=1,0\n"
    case = Assembler()
    for line in (script + "exit ts=90000 status=0\nreap\n").splitlines():
        case.line(line)
    lines = replay(case).splitlines()
    runs = [(json.loads(line), len(line)) for line in lines if '"cat":"PROGRAM"' in line]
    if len(runs) < 3 or max(size for _, size in runs) >= 16384:
        return f"{len(runs)} records, the longest of {max(size for _, size in runs)} bytes"
    if len({(r["id"], r["pid"], r["ts"], r["dur"]) for r, _ in runs}) != 1:
        return "not all are of one run"
    if [r["args"].get("part", 1) for r, _ in runs] != list(range(1, len(runs) + 1)):
        return "parts are not numbered"
    for kind, want in ("used", count), ("updated", count // 2):
        ids = [i for r, _ in runs for i in r["args"]["relations"].get(kind, [])]
        if len(ids) != want or len(set(ids)) != want:
            return f"{kind}: {len(ids)} ids"
    end = json.loads(lines[-2])
    return None if end["args"]["num_events"] == runs[0][0]["id"] else f"the end is {end}"


MADE = {"prov_parts": prov_parts, "annot_cut_anywhere": cut_anywhere, "annot_many_of_each": many_of_each, "annot_never_ended": never_ended,
        "annot_in_any_order": lambda: in_any_order(False),
        "annot_lossy": lambda: in_any_order(True)}


def verdict_of(run, *args):
    """(verdict, why); a case that cannot be run has failed."""
    try:
        return run(*args)
    except (Bad, ValueError, KeyError, IndexError, OSError) as e:
        return "not ok", f"{type(e).__name__}: {e}"


def run_made(case):
    why = case()
    return ("not ok", why) if why else ("ok", None)


def main(argv):
    if argv and argv[0] == "--assemble":
        Path(argv[2]).write_bytes(assemble(Path(argv[1])).binary())
        return 0
    if argv and argv[0] == "--corpus":
        Path(argv[2], Path(argv[1]).stem).write_bytes(assemble(Path(argv[1])).fuzz_input())
        return 0
    cases = [(p.stem, run_case, p) for p in sorted(HERE.glob("*.rec"))]
    cases += [(name, run_made, case) for name, case in MADE.items()]
    cases = [c for c in cases if not argv or any(a in c[0] for a in argv)]
    failed = False
    for name, run, case in cases:
        verdict, why = verdict_of(run, case)
        print(f"{verdict} {name}" + (f": {why}" if why else ""), flush=True)
        failed = failed or verdict == "not ok"
    for orphan in sorted(HERE.glob("*.jsonl")):
        if not orphan.with_suffix(".rec").exists():
            print(f"not ok {orphan.stem}: it has no .rec")
            failed = True
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
