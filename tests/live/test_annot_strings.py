# SPDX-License-Identifier: MIT
"""Strings of annotations: whatever bytes a program passes, the trace has them as it should.

What is expected is computed here, from the bytes and from what the format says of them.
"""
import json
import random
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"
SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@+=,~ ")
RELATIONS = ("used", "generated", "invalidated", "updated", "related")
OURS = {"hhash", "relations", "args_lost", "unreadable", "dur_ns"}  # keys that get a "_" when they are the program's
CUT_TYPE, CUT_TEXT = 31, 255
C, CPP = 2, 9


# ---- what the format says ----------------------------------------------------------------------

def sanitized(text, cut):
    return "".join(chr(b) if b in SAFE else "_" for b in (text or b"")[:cut])


def fnv(data):
    value = 1469598103934665603
    for byte in data:
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return value or 1


def identity(kind, key):
    if kind is None or key is None:
        return 0
    return fnv(sanitized(kind, CUT_TYPE).encode() + b"\x1f" + key)


def shown(text):
    """A string as JSON can have it: what is not UTF-8 is replaced, each maximal part by one mark."""
    return (text or b"").decode("utf-8", "replace")


class Told:
    """What a sequence of operations must bring into the trace, in order."""

    def __init__(self):
        self.records = []    # [(name, cat, type, [(argument, value)])]
        self.declared = {}   # id -> True, or "late"
        self.types = set()
        self.app, self.used, self.apis = {}, {}, set()

    def meta(self, name, *args, type=1):
        self.records.append((name, "dftracer", type, list(args)))

    def entity(self, kind, key, store, uri):
        ident = identity(kind, key)
        self.raw_entity(ident, kind, store, uri)
        return ident

    def raw_entity(self, ident, kind, store, uri):
        if ident and self.declared.get(ident) is not True:
            self.declared[ident] = True
            self.meta("EH", ("id", f"{ident:016x}"), ("type", sanitized(kind, CUT_TYPE)),
                      ("store", store if store <= 8 else 8), ("uri", sanitized(uri, CUT_TEXT)))

    def need(self, ident):
        if ident not in self.declared:
            self.declared[ident] = "late"
            self.meta("EH", ("id", f"{ident:016x}"), ("type", ""), ("store", 8), ("uri", ""), ("late", 1))

    def entity_type(self, kind, role, text):
        name = sanitized(kind, CUT_TYPE)
        if kind is not None and name not in self.types:
            self.types.add(name)
            self.meta("ET", ("type", name), ("role", role if role <= 5 else 0),
                      ("description", sanitized(text, CUT_TEXT)))

    def relation(self, relation, subject, obj):
        if relation >= 16 and subject and obj:
            self.need(subject)
            self.need(obj)
            self.meta("ER", ("relation", relation), ("subject", f"{subject:016x}"), ("object", f"{obj:016x}"))

    def region(self, name, cat, items, type):
        args, relations = {}, {}

        def relate(relation, ident):
            if relation < 16 and ident:
                ids = relations.setdefault(RELATIONS[min(relation, 4)], [])
                if ident not in ids:
                    ids.append(ident)

        for letter, *words in items:
            if letter in "si":
                key, value, _ = words
                key = shown(key)
                args[key + "_" if key in OURS else key] = shown(value) if letter == "s" else value
            elif letter == "r":
                relate(*words)
            else:
                relate(words[0], self.entity(*words[1:]))
        for ids in relations.values():
            for ident in ids:
                self.need(ident)
        if relations:
            args["relations"] = {name: [f"{i:016x}" for i in ids] for name, ids in relations.items()}
        self.records.append((shown(name), shown(cat), type, list(args.items())))
        self.apis.add(type)

    def obey(self, op, *words):
        if op == "E":
            self.entity(*words)
        elif op == "T":
            self.entity_type(*words)
        elif op == "Q":
            kind, uri, ident, store = words
            self.raw_entity(ident, kind or b"", store, uri)
        elif op == "R":
            self.entity_type(words[0] or b"", words[2], words[1])
        elif op == "L":
            self.relation(*words)
        elif op in "HS":
            self.region(*words, C if op == "H" else CPP)
        elif op in "MN":
            self.meta("CM", ("name", shown(words[0])), ("value", shown(words[1])), type=C if op == "M" else CPP)
        elif op in "Aa":
            self.app[shown(words[0])] = shown(words[1]) if op == "A" else words[1]
        else:
            self.used[shown(words[0])] = 1

    def layers(self):
        out = {"LIBC_IO": 1, **self.used}
        for name, type in (("C_APP", C), ("CPP_APP", CPP)):
            if type in self.apis:
                out[name] = 1
        return out


# ---- the program's input -----------------------------------------------------------------------

def packed(word):
    """An operand of region_strings."""
    if isinstance(word, list):
        return packed(len(word)) + b"".join(operation(*item) for item in word)
    if isinstance(word, int):
        return struct.pack("=q", word if word < 1 << 63 else word - (1 << 64))
    if word is None:
        return struct.pack("=q", -1)
    assert b"\0" not in word
    return struct.pack("=q", len(word)) + word + b"\0"


def operation(letter, *words):
    return letter.encode() + b"".join(map(packed, words))


# ---- the trace ---------------------------------------------------------------------------------

def no_twins(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice in {keys}")
    return dict(pairs)


def told_in(f, precise):
    out = []
    lines = b"".join(f.members).split(b"\n")[:-1]
    for number, line in enumerate(lines):
        r = json.loads(line.decode("utf-8"), object_pairs_hook=no_twins)
        if number < 3 or r["name"] in ("start", "end") and r["cat"] == "dftracer" and r["ph"] == 1:
            continue
        if r["cat"] == "POSIX" and r["type"] == 3 or r["ph"] == 4 and r["name"] in ("FH", "SH"):
            continue
        args = list(r["args"].items())
        equal(args[0][0], "hhash", f"first argument of line {number + 1}")
        if r["ph"] == 1 and precise:
            key, ns = args.pop()
            equal(key, "dur_ns", f"last argument of line {number + 1}")
            check(abs(ns - 1000 * r["dur"]) <= 1000, f"durations of line {number + 1}")
        out.append((r["name"], r["cat"], r["type"], args[1:]))
    return out


def brief(record):
    text = repr(record)
    return text if len(text) < 300 else f"{text[:200]} ... {text[-80:]} ({len(text)})"


def tell(tmp, operations, *options, keys=(), out="trace"):
    """Has the operations told and holds the trace against them. `keys`: must not be in it."""
    need_root()
    (tmp / "told").write_bytes(b"".join(operation(*op) for op in operations))
    t = trace(tmp, [PROGS / "region_strings", tmp / "told"], "--no-prov", *options, out=tmp / out)
    t.no_loss()
    check_with_reader(t.path)
    want, (f,) = Told(), t.files
    for op in operations:
        want.obey(*op)
    got = told_in(f, "--precise" in options)
    for n, (g, w) in enumerate(zip(got, want.records)):
        check(g == w, lambda: f"record {n}: got {brief(g)}, want {brief(w)}")
    equal(len(got), len(want.records), "records")
    equal(f.end["app"], want.app, "app")
    equal(f.end["used"], want.layers(), "used")
    whole = b"".join(f.members)
    for key in keys:
        check(key not in whole, f"the key {key!r} is in the trace")
    return t


# ---- strings -----------------------------------------------------------------------------------

CONTROL = bytes(range(1, 32)) + b"\x7f"
SPECIAL = [
    b"", None, b"plain", b'"', b'with "quotes"', b"back\\slash\\", b"\\", b"\\\"", b"a|b|c", CONTROL,
    b"new\nline\ttab\rreturn", b"\x1f", b"<&'/>", b"{}[]:,", b"\\u0041", b"%s%n%d", b"a" * 5000, b'"' * 5000, b"\x01" * 5000,
    "\u00e9\u4e2d\U0001f600\u2028\u2029\ufeff".encode(), "\u4e2d".encode() * 1700,
    b"caf\xe9", b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8", b"x\xe4\xb8y", b"\xf0\x9f\x98",
    bytes(range(1, 256)), b"\xe9" * 5000, bytes(range(128, 256)) * 40, b" ", b"  spaces  ", b"id", b"hhash", b"relations",
    b"args_lost", b"unreadable", b"dur_ns", b"name", b"late", b"time_metric", b"0", b"-1", b"null", b"true",
]


def some_bytes(rng):
    kind, n = rng.randrange(6), rng.choice((0, 1, 2, 3, 7, rng.randrange(60), rng.choice((30, 31, 32, 33)),
                                            rng.choice((126, 127, 128, 129, 130)), rng.choice((254, 255, 256, 257, 258)),
                                            rng.randrange(425, 460), rng.randrange(870, 900), rng.randrange(6000)))
    if kind == 0:
        return bytes(rng.randrange(1, 256) for _ in range(n))
    if kind == 1:
        return bytes(rng.choice(sorted(SAFE)) for _ in range(n))
    if kind == 2:
        return bytes(rng.choice(b'"\\|/\n\t\x01\x1f\x7f{}[]:,\' ') for _ in range(n))
    if kind == 3:
        text = "".join(chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x80, 0x800), rng.randrange(0x800, 0xd800),
                                       rng.randrange(0xe000, 0x10000), rng.randrange(0x10000, 0x110000))))
                       for _ in range(n // 3)).encode()
        return text[:n] if rng.randrange(2) else text  # perhaps cut within a character
    if kind == 4:
        return bytes([rng.randrange(1, 256)]) * n
    return rng.choice(SPECIAL)


def some_key(rng, used):
    """The key of an entity, unlike everything else that is in the trace."""
    core = b"KEY-%032x" % rng.getrandbits(128)
    used.append(core)
    wrap = [s or b"" for s in (some_bytes(rng), some_bytes(rng))]
    return wrap[0] + core + wrap[1]


def some_item(rng, known, used):
    letter = rng.choice("ssssiire")
    if letter == "s":
        return letter, some_bytes(rng), some_bytes(rng), rng.choice((0, 0, 1, 2, 3))
    if letter == "i":
        return letter, some_bytes(rng), rng.choice((0, 1, -1, 2**31 - 1, -2**31, rng.randrange(10**6))), rng.randrange(4)
    if letter == "r":
        ident = rng.choice((0, 1, 2**64 - 1, rng.getrandbits(64), *known[-5:]))
        return letter, rng.choice((0, 1, 2, 3, 0, 1, 4, 15, 16, 18)), ident
    kind, key = rng.choice((None, some_bytes(rng), b"file")), rng.choice((None, *[some_key(rng, used)] * 5))
    known.append(identity(kind, key))
    return letter, rng.choice((0, 1, 2, 3, 17)), kind, key, rng.choice((0, 3, 8, 9, 1000)), some_bytes(rng)


def some_operations(rng, n):
    known, used, out = [1], [], []
    for _ in range(n):
        op = rng.choice("EETLHHHHSSSSMNAaU")
        if op == "E":
            kind, key = rng.choice((None, some_bytes(rng), some_bytes(rng), b"file")), some_key(rng, used)
            known.append(identity(kind, key))
            out.append((op, kind, key, rng.choice((0, 1, 2, 8, 9, 1000)), some_bytes(rng)))
            if rng.randrange(3) == 0:
                out.append((op, kind, key, 7, some_bytes(rng)))
        elif op == "T":
            out.append((op, some_bytes(rng), rng.choice((0, 1, 5, 6, 1000)), some_bytes(rng)))
        elif op == "L":
            out.append((op, rng.choice((15, 16, 17, 18, 19, 20, 21, 22)), rng.choice(known[-6:]),
                        rng.choice((0, rng.getrandbits(64), *known[-6:]))))
        elif op in "HS":
            out.append((op, some_bytes(rng), some_bytes(rng),
                        [some_item(rng, known, used) for _ in range(rng.choice((0, 1, 2, 3, 5, 12)))]))
        elif op in "MNA":
            out.append((op, some_bytes(rng), some_bytes(rng)))
        elif op == "a":
            out.append((op, some_bytes(rng), rng.randrange(-5, 5)))
        else:
            # LIBC_IO is there anyway, and what an API is called stands for it.
            out.append((op, rng.choice((b"MY_LAYER", b"C_APP", b"", b'a "layer"', b"caf\xe9"))))
    return out, used


# ---- tests -------------------------------------------------------------------------------------

@test
def test_events(tmp):
    """Each string as name, category, key and value of both kinds of region."""
    operations = []
    for s in SPECIAL:
        for op in "HS":
            operations += [(op, s, b"C_APP", []), (op, b"n", s, []), (op, b"n", b"c", [("s", s, b"v", 0)]),
                           (op, b"n", b"c", [("s", b"k", s, 0)]), (op, s, s, [("s", s, s, 1), ("i", s, 7, 2)])]
    tell(tmp, operations)


@test
def test_metadata(tmp):
    """Each string as key and value of facts about the process."""
    operations = []
    for s in SPECIAL:
        operations += [("M", s, b"v"), ("M", b"k", s), ("N", s, s), ("A", s, b"v"), ("a", b"number of " + (s or b""), 1)]
    operations += [("A", b"again", s) for s in SPECIAL] + [("a", b"again", -5), ("U", b"MINE"), ("U", None), ("U", b"a|\"b\\")]
    tell(tmp, operations)


@test
def test_entities(tmp):
    """Each string as type, uri, description and as part of a key, which is never told."""
    rng, operations, keys = random.Random(3), [], []
    for s in SPECIAL:
        core = b"KEY-%032x" % rng.getrandbits(128)
        keys.append(core)
        key = (s or b"") + core
        operations += [("E", s, key, 1, b"/uri"), ("E", b"type", key, 2, s), ("E", b"type", key, 3, b"second"),
                       ("E", s, None, 1, s), ("E", None, key, 1, s), ("T", s, 1, b"description"), ("T", b"of " + (s or b""), 2, s),
                       ("H", b"uses", b"C_APP", [("e", 0, s, key, 0, None), ("e", 1, b"made", key, 0, s)]),
                       ("S", b"uses", b"C_APP", [("e", 0, s, key, 0, s), ("e", 1, b"by object", key, 0, s)])]
    # Where the cuts are.
    for n in (30, 31, 32, 100, 254, 255, 256, 5000):
        core = b"KEY-%032x" % rng.getrandbits(128)
        keys.append(core)
        operations += [("E", b"t" * n, core, 0, b"u" * n), ("E", b"t" * (n - 1) + b"\xe9", core, 0, b"u" * (n - 1) + b"|"),
                       ("T", b"d" * n, 0, b"d" * n)]
    tell(tmp, operations, keys=keys)


@test
def test_past_the_header(tmp):
    """Who fires the probes himself, and restricts nothing, gets the same."""
    operations = []
    for n, s in enumerate(SPECIAL):
        operations += [("Q", s, b"/uri", 2 * n + 1, 1), ("Q", b"type", s, 2 * n + 2, 2 ** 40), ("Q", s, s, 2 * n + 1, 3),
                       ("R", s, b"text", 1), ("R", b"of %d" % n, s, 2 ** 40), ("R", b"of %d" % n, b"second", 3)]
    tell(tmp, [*operations, ("Q", b"none", b"of id 0", 0, 0)])


@test
def test_ids(tmp):
    """The ids that the format's description gives."""
    vectors = [(b"protein_structure", b"MGYP0001", "8f0de68c04eea0bf"), (b"sequence", b"MGYP0001", "d824b0bb91487885"),
               (b"structure_tar", b"MGYP0001", "6e6d650dd131e83b"), (b"file", b"/data/a.bin", "83b05a10328e7590"),
               (b"checkpoint", b"step=120", "bab6475a3dba6198"), (b"", b"", "44bd44d473cd2214"),
               (b"a", b"b" * 5000, "3afdedd377e3657b")]
    t = tell(tmp, [("E", kind, key, 0, None) for kind, key, _ in vectors], keys=[b"MGYP0001", b"step=120", b"bbbb"])
    f, = t.files
    equal([r["args"]["id"] for r in f.records if r["name"] == "EH"], [ident for _, _, ident in vectors], "ids")


@test
def test_sizes(tmp):
    """Every length around the sizes of what is sent at once; many arguments; long ones."""
    operations = []
    for n in [*range(100, 135), *range(250, 262), *range(395, 450), *range(840, 900), 2000, 65535, 65536, 300000]:
        text = bytes(33 + i % 90 for i in range(n))
        operations.append(("H" if n % 2 else "S", text, b"c", [("s", b"k", text, 0), ("i", b"after", n, 0)]))
        if n < 1000:
            operations += [("S", b"n", text, [("s", text, b"v", 0)]), ("M", text, text), ("A", b"app", text)]
    operations.append(("H", b"many", b"c", [("i", b"key %d" % (i % 700), i, 0) for i in range(1000)]))
    operations.append(("S", b"many", b"c", [("r", i % 3, 1 + i // 2) for i in range(1500)]))
    tell(tmp, operations, "--ring", "64M")


@test
def test_any_bytes(tmp):
    """Made up: the trace is what the operations say, whatever the bytes."""
    for seed in range(6):
        operations, keys = some_operations(random.Random(seed), 250)
        options = (["--precise"], [])[seed % 2]
        tell(tmp, operations, "--ring", "64M", *options, keys=keys, out=f"trace{seed}")


if __name__ == "__main__":
    main()
