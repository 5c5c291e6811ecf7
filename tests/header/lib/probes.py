# SPDX-License-Identifier: MIT
"""What the tests of the header share: compiling, notes of a file, what listen.c printed, decoded.

The decoder follows include/dftracer/wire.h, and shares no code with what it checks.
"""
import collections
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from dfttest import Fail, ROOT, clean_env, equal, run  # noqa: E402

HERE = ROOT / "tests/header"
INCLUDE = ROOT / "include"
ARGUMENTS = "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9"
PROBES = {"event", "part", "metadata", "entity", "entity_type", "relation"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

CHUNK_MAX = 448
NAME_SENT = 128  # with the NUL
TEXT_SENT = 256


def compile(argv, cwd=None):
    """Runs a compiler; its complaints are the failure."""
    r = run([*argv], cwd=cwd, env=clean_env(TMPDIR="/tmp"))
    if r.status != 0:
        words = " ".join(map(str, argv))
        raise Fail(f"exit status {r.status}: {words}:\n{(r.err + r.out).decode()[:3000]}")
    return r


def build(out, *argv, cc="gcc", warnings=WARNINGS):
    compile([cc, *warnings, f"-I{INCLUDE}", f"-I{HERE}", *argv, "-o", out])
    return out


# ---- notes -----------------------------------------------------------------------------------

Note = collections.namedtuple("Note", "provider name pc base semaphore arguments")


def notes(path):
    """The stapsdt notes of a file, as readelf tells them."""
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                          check=True).stdout
    found = []
    provider = name = place = None
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Provider":
            provider = value
        elif key == "Name":
            name = value
        elif key == "Location":
            place = [int(p.split(": ")[-1], 16) for p in line.strip().split(", ")]
        elif key == "Arguments":
            found.append(Note(provider, name, *place, value))
    return found


def sections(path):
    """{name: (address, offset, size, flags)}"""
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for line in text.splitlines():
        line = line.strip()
        if not line.startswith("[") or line.startswith("[Nr]"):
            continue
        words = line.split("]", 1)[1].split()
        if len(words) < 9 or not words[0].startswith("."):
            continue
        found[words[0]] = (int(words[2], 16), int(words[3], 16), int(words[4], 16), words[6])
    return found


def code_at(path, address, before, size):
    """The bytes of a file around an address of its code."""
    for start, offset, length, flags in sections(path).values():
        if "X" in flags and start <= address < start + length:
            with open(path, "rb") as f:
                f.seek(offset + address - start - before)
                return f.read(before + size)
    raise Fail(f"{path}: {address:#x} is not in a section with code")


# ---- hits ------------------------------------------------------------------------------------

Hit = collections.namedtuple("Hit", "probe name text value code data len chunk tid")
# What a listener makes of them. items: tuples as described in decode().
Event = collections.namedtuple("Event", "name cat start code items tid")


def hits_of(lines):
    def text(word):
        return None if word == "-" else bytes.fromhex(word[1:])

    found = []
    for line in lines:
        if line.startswith("probe "):
            _, probe, name, string, value, code, data, size, chunk, tid = line.split(" ")
            found.append(Hit(probe, text(name), text(string), int(value), int(code), int(data),
                             int(size), text(chunk), int(tid)))
    return found


class Stream:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        got = self.data[self.at:self.at + n]
        if len(got) != n:
            raise Fail(f"a stream ends inside an item: {self.data!r} at {self.at}")
        self.at += n
        return got

    def number(self, form):
        return struct.unpack("=" + form, self.take(struct.calcsize("=" + form)))[0]

    def string(self):
        return self.take(self.number("I"))


def decode(data):
    """[("int", mt, key, n), ("str", mt, key, value), ("float", mt, key, x), ("rel", relation, id),
    ("dur", ns), ("name", s), ("cat", s)]"""
    s = Stream(data)
    items = []
    while s.at < len(data):
        kind = s.number("B")
        if kind in (1, 2, 3):
            mt, key = s.number("B"), s.string()
            value = {1: lambda: s.number("q"), 2: s.string, 3: lambda: s.number("d")}[kind]()
            items.append(({1: "int", 2: "str", 3: "float"}[kind], mt, key, value))
        elif kind == 4:
            items.append(("rel", s.number("B"), s.number("Q")))
        elif kind == 5:
            items.append(("dur", s.number("Q")))
        elif kind in (6, 7):
            items.append(({6: "name", 7: "cat"}[kind], s.string()))
        else:
            raise Fail(f"no such item: {kind} in {data!r} at {s.at}")
    return items


def _begin_or_go_on(open_streams, hit):
    """Adds the hit's chunk to its stream, and returns the stream."""
    if hit.len < 4 or hit.len > CHUNK_MAX or len(hit.chunk) != hit.len:
        raise Fail(f"a chunk of {hit.len} bytes: {hit}")
    before = struct.unpack("=I", hit.chunk[:4])[0]
    key = (hit.data, hit.value)
    stream = open_streams.pop(key, b"") if before else b""
    if len(stream) != before:
        raise Fail(f"{before} bytes went before, {len(stream)} are known: {hit}")
    return key, stream + hit.chunk[4:]


def events_of(hits):
    """The hits of event, metadata, entity, entity_type and relation, with their parts joined.

    [("event", Event), ("metadata", form, code, key, item), ("entity", type, uri, id, store),
     ("entity_type", type, text, id, role), ("relation", relation, subject, object)]
    """
    said = []
    parts = {}
    for h in hits:
        if h.probe == "part":
            key, stream = _begin_or_go_on(parts, h)
            equal(h.len, CHUNK_MAX, "bytes of a part")
            parts[key] = stream
        elif h.probe == "event":
            _, stream = _begin_or_go_on(parts, h)
            items = decode(stream)
            name = next((i[1] for i in items if i[0] == "name"), h.name)
            cat = next((i[1] for i in items if i[0] == "cat"), h.text)
            equal((len(name) >= NAME_SENT, len(cat) >= TEXT_SENT),
                  tuple(any(i[0] == k for i in items) for k in ("name", "cat")),
                  "whether long strings are in the stream")
            items = [i for i in items if i[0] not in ("name", "cat")]
            said.append(("event", Event(name, cat, h.value, h.code, items, h.tid)))
        elif h.probe == "metadata":
            equal(h.text, None, "operand 1 of metadata")
            _, stream = _begin_or_go_on(parts, h)
            items = decode(stream)
            equal(len(items), 1, "items of metadata")
            equal(h.name, items[0][2][:len(h.name)], "key of metadata")
            said.append(("metadata", h.value % 4, h.code, items[0][2], items[0][3]))
        else:
            equal(h.len, 0, f"operand 5 of {h.probe}")
            if h.probe == "relation":
                equal((h.name, h.text), (None, None), "strings of relation")
                said.append(("relation", h.code, h.value, h.data))
            else:
                said.append((h.probe, h.name, h.text, h.value, h.code))
    if parts:
        raise Fail(f"parts of no event: {list(parts)}")
    return said


def without_times(said):
    """The same, with of events only what does not differ from run to run."""
    return [("event", s[1].name, s[1].cat, s[1].code, s[1].items) if s[0] == "event" else s
            for s in said]
