# SPDX-License-Identifier: MIT
"""What every_c.c and every_cpp.cpp must make a listener hear, and print."""

VECTORS = [
    ("protein_structure", "MGYP0001", "8f0de68c04eea0bf"),
    ("sequence", "MGYP0001", "d824b0bb91487885"),
    ("structure_tar", "MGYP0001", "6e6d650dd131e83b"),
    ("file", "/data/a.bin", "83b05a10328e7590"),
    ("checkpoint", "step=120", "bab6475a3dba6198"),
    ("", "", "44bd44d473cd2214"),
    ("a", "b" * 5000, "3afdedd377e3657b"),
]


def entity_hash(kind, key):
    """FNV-1a with the offset basis of the format."""
    value = 1469598103934665603
    for byte in kind.encode() + b"\x1f" + key.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value or 1


MESH = entity_hash("mesh", "m1")
FILE = entity_hash("file", "/data/a.bin")
STEP120 = entity_hash("checkpoint", "step=120")
SEQUENCE = entity_hash("sequence", "MGYP0001")
STRUCTURE = entity_hash("protein_structure", "MGYP0001")
C, CPP, PYTHON = 2, 9, 6


def printed(*more):
    """The lines of every_run() itself, which are the same whether or not anybody listens."""
    ids = [(str(n + 1), v[2]) for n, v in enumerate(VECTORS)]
    ids += [("no type", "0" * 16), ("no key", "0" * 16), *more]
    return [f"id {what} {value}" for what, value in ids] + ["evaluated 1",
                                                           "categories C_APP CPP_APP"]


C_PRINTED = printed(("relation", f"{SEQUENCE:016x}"))
CPP_PRINTED = printed(("relate", f"{SEQUENCE:016x}"), ("uses", f"{SEQUENCE:016x}"),
                      ("generates", f"{STRUCTURE:016x}"))

DISABLED_PRINTED = {
    lines[0]: [f"{line.rpartition(' ')[0]} {'0' * 16}" if line.startswith("id ") else
               line.replace("evaluated 1", "evaluated 0") for line in lines[1]]
    for lines in (("c", C_PRINTED), ("cpp", CPP_PRINTED))
}


def _process(cat, code):
    layer = cat.encode()
    return [
        ("metadata", 2, C, layer, 1),
        ("metadata", 2, C, layer, 1),
        ("metadata", 1, C, b"ranks", 4),
        ("metadata", 1, C, b"model", b'm"1"'),
        ("metadata", 2, C, b"GPU", 1),
        ("metadata", 0, code, b"epochs", b"12"),
    ]


_VECTOR_ENTITIES = [
    ("entity", t.encode(), uri, int(value, 16), store)
    for (t, _, value), uri, store in zip(
        VECTORS, (b"", b"/d/s.fa", b"", b"/data/a.bin", b"", b"", b""), (0, 2, 8, 3, 7, 0, 6))
]

_FUNCTION_ENTITIES = [
    ("entity", b"mesh", b"gpu:0", MESH, 1),
    ("entity", b"file", b"", FILE, 0),
    ("entity", b"checkpoint", b"", STEP120, 0),
]

_FUNCTION_ITEMS = [
    ("int", 0, b"int", -7), ("str", 0, b"str", b'a "quoted" \\ | one'),
    ("int", 1, b"int_type", 2147483647), ("str", 2, b"str_type", b""),
    ("rel", 3, MESH), ("rel", 0, FILE), ("rel", 1, STEP120),
]

_TYPES = [
    ("entity_type", b"mesh", b"made of _x_y__", entity_hash("mesh", ""), 3),
    ("entity_type", b"file", b"", entity_hash("file", ""), 1),
]

_RELATED = ("entity", b"sequence", b"/d/s.fa", SEQUENCE, 2)


def _event(name, cat, code, *items):
    return ("event", name.encode(), cat.encode(), code, list(items))


C_HEARD = [
    *_process("C_APP", C),
    *_VECTOR_ENTITIES,
    _event("early", "C_APP", C, ("int", 0, b"n", -1)),
    _event("early", "C_APP", C, ("int", 0, b"n", 1), ("str", 0, b"sign", b"positive")),
    *_FUNCTION_ENTITIES,
    *(_event("STEP", "C_APP", C, ("int", 0, b"i", i), ("str", 0, b"s", b"x"),
             ("int", 1, b"it", i), ("str", 0, b"st", b"y"), ("rel", 2, MESH)) for i in (0, 1)),
    _event("in_function", "C_APP", C, *_FUNCTION_ITEMS),
    _RELATED,
    _event("handle", "PROV", C, ("int", 0, b"i", 1), ("str", 0, b"s", b"v"),
           ("int", 2, b"it", 2), ("str", 1, b"st", b"w"), ("rel", 1, 0xabcdef0123456789),
           ("rel", 0, SEQUENCE)),
    ("entity", b"t", b"", entity_hash("t", "no region"), 0),
    ("metadata", 0, C, b"a key", b"a value"),
    _event("", "", C, ("int", 0, b"", 3), ("str", 0, b"", b"")),
    *_TYPES,
    ("relation", 16, 1, 2),
    ("relation", 22, 3, 4),
    _event("branches", "C_APP", C, ("int", 0, b"counted", 5)),
]


def _cpp_step(i):
    return [
        _event("DYN", "CPP_APP", CPP, ("int", 0, b"i", i), ("str", 1, b"s", b"z"),
               ("rel", 0, MESH)),
        _event("STEP", "CPP_APP", CPP, ("int", 0, b"i", i), ("str", 0, b"s", b"x"),
               ("int", 1, b"it", i), ("rel", 2, MESH)),
    ]


CPP_HEARD = [
    *_process("CPP_APP", CPP),
    *_VECTOR_ENTITIES,
    *(_event("thrower", "CPP_APP", CPP, ("int", 0, b"depth", depth)) for depth in (0, 1, 2)),
    *_FUNCTION_ENTITIES,
    *_cpp_step(0), *_cpp_step(1),
    _event("in_function", "CPP_APP", CPP, *_FUNCTION_ITEMS),
    _event("assigned", "PROV", C),
    _event("moved out", "PROV", CPP, ("int", 0, b"i", 3)),
    ("entity", b"sequence", b"", SEQUENCE, 0),
    _RELATED,
    ("entity", b"protein_structure", b"", STRUCTURE, 0),
    _event("placed", "PROV", PYTHON),
    _event("step", "PROV", CPP, ("int", 0, b"counter", 2)),
    _event("owned", "PROV", CPP, ("rel", 0, SEQUENCE), ("rel", 1, STRUCTURE)),
    _event("made", "PROV", CPP, ("int", 0, b"made", 1), ("int", 1, b"after", 2)),
    _event("first", "PROV", CPP, ("int", 0, b"i", 1), ("rel", 0, 5)),
    *_TYPES,
    ("relation", 16, 1, 2),
    _event("branches", "CPP_APP", CPP, ("int", 0, b"counted", 5)),
]
