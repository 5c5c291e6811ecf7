# SPDX-License-Identifier: MIT
"""What DFTracer's own readers make of a trace, by the rules of the format's description alone.

Sections 4 (files and their requirements) and 5 (what analyzers derive) of the format sheet, nothing
else: no module of this project is used, and nothing is assumed about the traces beyond them.

    totals = Totals(); totals.add(path); ...
    totals.rows         {(category, file name): Row}
"""
import json
import os
import zlib

# ---- files: gzip members ---------------------------------------------------------------------

MIN_GZIP = 18  # a header of 10 bytes and a trailer of 8


class Notes(list):
    """What a reader would have complained about, or silently left out."""

    def say(self, text):
        self.append(text)


def is_member_header(data, at=0):
    """The member scanner's test of a header."""
    if len(data) - at < MIN_GZIP:
        return False
    if data[at:at + 3] != b"\x1f\x8b\x08":
        return False
    flags, xfl, system = data[at + 3], data[at + 8], data[at + 9]
    return flags & 0xe0 == 0 and xfl in (0, 2, 4) and (system <= 13 or system == 255)


def header_size(data, at):
    """Length of a member's header, with its optional fields."""
    flags, pos = data[at + 3], at + 10
    if flags & 4:
        pos += 2 + int.from_bytes(data[pos:pos + 2], "little")
    for bit in (8, 16):
        if flags & bit:
            pos = data.index(b"\0", pos) + 1
    if flags & 2:
        pos += 2
    return pos - at


def scan_members(data, notes):
    """The texts of the members of a file. A cut last member counts up to its last whole line."""
    texts, at = [], 0
    while at < len(data):
        if not is_member_header(data, at):
            notes.say(f"no member at byte {at}: the rest of the file is not read")
            break
        start = at + header_size(data, at)
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = inflate.decompress(data[start:]) + inflate.flush()
        except zlib.error as e:
            notes.say(f"member at byte {at}: {e}")
            break
        if not inflate.eof or len(inflate.unused_data) < 8:
            notes.say(f"member at byte {at} is cut")
            texts.append(text[:text.rfind(b"\n") + 1])
            break
        trailer = inflate.unused_data[:8]
        if int.from_bytes(trailer[:4], "little") != zlib.crc32(text):
            notes.say(f"member at byte {at}: wrong CRC")
        if int.from_bytes(trailer[4:], "little") != len(text) & 0xffffffff:
            notes.say(f"member at byte {at}: wrong length")
        if text and not text.endswith(b"\n"):
            notes.say(f"member at byte {at} does not end on a line end")
        texts.append(text)
        at = len(data) - len(inflate.unused_data) + 8
    return texts


# ---- lines -----------------------------------------------------------------------------------

PHASES = (0, 1, 2, 3, 4)
LETTERS = {"X": 1, "C": 2, "A": 3, "M": 4}
LINE_LIMIT = 16 * 1024


def natural(value):
    """A number as the readers take it: a non-negative integer, anything else is 0."""
    return value if type(value) is int and value >= 0 else 0


def text(value):
    return value if isinstance(value, str) else ""


class Record:
    """One line, as a reader sees it."""
    __slots__ = ("phase", "name", "cat", "id", "pid", "tid", "ts", "dur", "args")

    def __init__(self, obj):
        self.phase = LETTERS.get(obj["ph"], obj["ph"])
        self.name, self.cat = text(obj.get("name")), text(obj.get("cat"))
        self.id, self.pid, self.tid = (natural(obj.get(k)) for k in ("id", "pid", "tid"))
        self.ts, self.dur = natural(obj.get("ts")), natural(obj.get("dur"))
        args = obj.get("args")
        self.args = args if isinstance(args, dict) else {}


def read_lines(texts, notes):
    """The records of a file's members."""
    number = 0
    for chunk in texts:
        lines = chunk.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        for line in lines:
            number += 1
            line = line.strip(b" \r\t")
            if line in (b"", b"[", b"]"):
                continue
            if line.endswith(b","):
                line = line[:-1]
            if len(line) >= LINE_LIMIT:
                notes.say(f"line {number} is longer than upstream writes")
            try:
                obj = json.loads(line)
            except ValueError:
                notes.say(f"line {number} is no JSON, it is dropped")
                continue
            ph = obj.get("ph") if isinstance(obj, dict) else None
            if not (type(ph) is int and ph in PHASES or
                    isinstance(ph, str) and ph in LETTERS):
                notes.say(f"line {number} has no phase, it is dropped")
                continue
            for key in ("id", "pid", "tid", "ts", "dur"):
                if key in obj and natural(obj[key]) != obj[key]:
                    notes.say(f"line {number}: {key} is taken as 0")
            yield Record(obj)


def looks_like_a_trace(records):
    """Schema detection: of the first 1000 records that are no metadata, 90 % hold ph, name, ts."""
    seen = good = 0
    for r in records:
        if r.phase == 4:
            continue
        seen += 1
        good += bool(r.name and r.ts)
        if seen == 1000:
            break
    return seen == 0 or good >= 0.9 * seen


# ---- what is derived -------------------------------------------------------------------------

READ = set("read pread pread64 readv preadv preadv2 fread".split())
WRITE = set("write pwrite pwrite64 writev pwritev pwritev2 fwrite".split())
SYNC = set("fsync fdatasync msync sync".split())
PCTL = set("exec exit fork kill pipe wait".split())
METADATA = set("""
    __fxstat __fxstat64 __lxstat __lxstat64 __xstat __xstat64 access close closedir fclose fcntl
    fopen fopen64 fseek fseeko fseeko64 fstat fstat64 fstatat fstatat64 ftell ftello ftello64
    ftruncate ftruncate64 link lseek lseek64 mkdir open open64 opendir readdir readdir64 readlink
    remove rename rmdir seek stat stat64 unlink""".split())


def io_category(name):
    """The category of an event, by its exact name."""
    if name in READ:
        return "READ"
    if name in WRITE:
        return "WRITE"
    if name in SYNC:
        return "SYNC"
    if name in PCTL:
        return "PCTL"
    if name.startswith(("msg", "sem", "shm")):
        return "IPC"
    if name in METADATA:
        return "METADATA"
    return "OTHER"


TRANSFER = READ | WRITE | set("""recv recvfrom recvmsg send sendto sendmsg splice sendfile
    copy_file_range""".split())


def size_of(record):
    """Bytes an event moved, or None: it has no size."""
    args = record.args
    if type(args.get("size_sum")) is int:
        return natural(args["size_sum"])
    if record.cat.lower() in ("posix", "stdio"):
        if record.name in TRANSFER and type(args.get("ret")) is int:
            return natural(args["ret"])  # negative: 0
        return None
    if "open" not in record.name and type(args.get("image_size")) is int:
        return natural(args["image_size"])
    return None


class Row:
    """Aggregated events of one category and file."""

    def __init__(self):
        self.count = 0
        self.size = 0
        self.offset_min = None
        self.offset_max = None

    def add(self, record):
        self.count += 1
        self.size += size_of(record) or 0
        offset = record.args.get("offset")
        if type(offset) is int and offset >= 0:
            self.offset_min = offset if self.offset_min is None else min(self.offset_min, offset)
            self.offset_max = offset if self.offset_max is None else max(self.offset_max, offset)


class Totals:
    """All traces of a directory, joined and aggregated as the readers do."""

    def __init__(self):
        self.rows = {}        # (category, file name) -> Row
        self.by_process = {}  # (pid, category, file name) -> Row
        self.hosts = set()
        self.processes = set()  # (host name, pid, tid)
        self.notes = Notes()

    def add_directory(self, path):
        names = sorted(os.listdir(path))
        kinds = {n[n.index(".pfw"):] for n in names if ".pfw" in n}
        if kinds == {".pfw", ".pfw.gz"}:
            self.notes.say("plain and compressed traces are mixed in one directory")
        for name in names:
            if name.endswith((".pfw", ".pfw.gz")):
                self.add(os.path.join(path, name))

    def add(self, path):
        with open(path, "rb") as f:
            data = f.read()
        name = os.path.basename(path)
        notes = Notes()
        if not is_member_header(data):
            self.notes.say(f"{name}: not compressed, gives an empty index")
            return
        records = list(read_lines(scan_members(data, notes), notes))
        if not looks_like_a_trace(records):
            notes.say("not recognised as a trace")
        tables = {"FH": {}, "HH": {}, "SH": {}}
        for r in records:
            if r.phase == 4 and r.name in tables:
                tables[r.name][text(r.args.get("value"))] = text(r.args.get("name"))
        for r in records:
            if r.phase == 3:
                r.dur = 0  # a sum over events counts as one event
            elif r.phase != 1:
                continue
            host = tables["HH"].get(text(r.args.get("hhash")), "")
            self.hosts.add(host)
            self.processes.add((host, r.pid, r.tid))
            if r.cat.lower() not in ("posix", "stdio"):
                continue
            fhash = text(r.args.get("fhash"))
            file = tables["FH"].get(fhash, "")
            if fhash and not file:
                notes.say(f"event {r.id}: file hash {fhash} is not in the table")
            category = io_category(r.name)
            self.rows.setdefault((category, file), Row()).add(r)
            self.by_process.setdefault((r.pid, category, file), Row()).add(r)
        self.notes += [f"{name}: {note}" for note in notes]
