#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""dftrace on annotations: what programs report about themselves, entities and their relations.

The traces are written here, line by line, and every number that is expected of dftrace is computed
here from the same lines. Run from anywhere: python3 tests/cli/test_dftrace_annot.py [NAME-PART...]
"""
import collections
import copy
import json
import sys

import test_dftrace as base
from test_dftrace import (HOST, Trace, check, dfhash, dumps, equal, expect_fault, faults, first, run,
                          sample)

TESTS = base.TESTS
TESTS.clear()  # those of the other file
test = base.test

C, PYTHON, CPP = 2, 6, 9
OF_EVENTS = ["used", "generated", "invalidated", "updated", "related"]
OF_ENTITIES = dict(enumerate(["derived_from", "revision_of", "contains", "part_of", "specialization_of",
                              "alternate_of", "depends_on"], 16))
ROLES = ["unknown", "input", "output", "intermediate", "parameter", "reference"]


def fnv(kind, key):
    """The id of an entity, by the format's rule."""
    value = 1469598103934665603
    for byte in kind.encode() + b"\x1f" + key.encode():
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return f"{value or 1:016x}"


class Annotated(Trace):
    """A trace with annotations."""

    def cm(self, name, value, type=C, **more):
        self.meta("CM", {"name": name, "value": value, **more})
        rec = json.loads(self.lines[-1])
        rec["type"] = type
        self.lines[-1] = dumps(rec).encode()

    def entity(self, kind, key, store=0, uri=""):
        self.meta("EH", {"id": fnv(kind, key), "type": kind, "store": store, "uri": uri})
        return fnv(kind, key)

    def late(self, ident):
        self.meta("EH", {"id": ident, "type": "", "store": 8, "uri": "", "late": 1})
        return ident

    def entity_type(self, kind, role=0, text=""):
        self.meta("ET", {"type": kind, "role": role, "description": text})

    def relate(self, relation, subject, obj):
        self.meta("ER", {"relation": relation, "subject": subject, "object": obj})

    def region(self, name, cat="C_APP", type=C, dur=10, args=None, **relations):
        full = dict(args or {})
        if relations:
            full["relations"] = relations
        self.event(name, cat=cat, type=type, dur=dur, args=full)

    def gap(self, us, path, ts=1_750_000_000_000_000):
        self.cm("probes_gap_us", str(us), type=1, ts=ts, path=path)

    def unarmed(self, why, path, ts=1_750_000_000_000_000):
        self.cm("probes_unarmed", why, type=1, ts=ts, path=path)


def annotated(pid=4242, key="MGYP0001"):
    """A process with one of everything that is right."""
    t = Annotated(pid=pid)
    t.entity_type("sequence", 1, "what came in")
    seq = t.entity("sequence", key, 2, "/data/in.fa")
    model = t.entity("structure", key, 1)
    before = t.late(fnv("msa", key))
    t.event("read", file="/data/in", args={"count": 9, "offset": 0, "ret": 7})
    t.region("fold", "PROV", dur=70, used=[seq, before], generated=[model], invalidated=[before])
    t.region("fold", "PROV", PYTHON, dur=30, args={"step": -3, "loss": 1.5e-3, "note": "a \"b\"\n"},
             updated=[model])
    t.region("fold", "C_APP", dur=5)
    t.region("", "", CPP, dur=1, args={"unreadable": 1})
    t.region("main", "CPP_APP", CPP, dur=200, args={"args_lost": 1}, related=[seq])
    t.relate(17, model, seq)
    t.relate(22, model, model)
    t.relate(17, model, seq)
    t.cm("batch", "32")
    t.gap(2500, "/opt/lib.so")
    t.unarmed("the file has changed", "/opt/new.so")
    t.entity("msa", key, 8)
    return t.end(used={"LIBC_IO": 1, "C_APP": 1, "PYTHON": 1, "my layer": 1},
                 app={"epochs": 3, "name": "fold", "negative": -1},
                 annotations={"inherited": 2, "unended": 1})


def records(t):
    return [json.loads(line) for line in t.lines]


def is_annotation(rec):
    return rec["ph"] == 1 and rec["type"] in (C, PYTHON, CPP)


# ---- check: what is right -----------------------------------------------------------------------

@test
def good_annotations(tmp):
    t = annotated()
    t.gz(tmp / "a.pfw.gz")
    out = run("check", tmp, rc=0).out
    equal(out, f"1 file, {t.id} events (5 of them annotations), 3 entities, 1 entity type, "
               "3 relations of entities: all right, nothing lost, 1 annotation gap, "
               "1 file without annotations\n")
    annotated(4243, "other").gz(tmp / "b.pfw.gz")
    r = run("check", "--json", tmp, rc=0).json()
    keys = ("annotations", "entities", "entity_types", "entity_relations", "annotation_gaps",
            "annotations_unarmed")
    for f in r["files"]:
        equal([f[k] for k in keys], [5, 3, 1, 3, 1, 1])
    equal([r["total"][k] for k in keys], [10, 6, 2, 6, 2, 2])


@test
def good_without_annotations(tmp):
    t = sample()
    t.gz(tmp / "a.pfw.gz")
    equal(run("check", tmp, rc=0).out, f"1 file, {t.id} events: all right, nothing lost\n")
    check("nnotation" not in run("summary", tmp, rc=0).out, "a section of nothing")
    s = run("summary", "--json", tmp, rc=0).json()["annotations"]
    check(not any(v for k, v in s.items() if k != "coverage"), s)
    check(not any(s["coverage"].values()), s)


@test
def good_names_of_programs(tmp):
    """Names, categories and keys are the program's own, whatever they look like."""
    t = Annotated()
    t.region("start", "dftracer")
    t.region("end", "dftracer", PYTHON, args={"num_events": 0, "lost": "x", "app": 1})
    t.region("read", "POSIX", CPP, args={"fhash": 17, "x_hash": "no", "ret": "none", "count": "many",
                                         "offset": 1.5, "errno": "x", "other_fhash": "y"})
    t.region("schön\u0000\n", "猫", args={"größe": 1, "": 2, "hhash_": "x", "relations_": "y", "a b": -1,
                                          "nan": "nan", "big": 2 ** 70, "e": 1e300})
    t.region("x" * 5000, "y" * 5000, args={"k" * 5000: "v" * 5000})
    t.region("ph", "C_APP", args={"ph": 4, "type": 1, "cat": "dftracer"})
    t.cm("probes_gap_us", "soon")
    t.cm("probes_unarmed", "", PYTHON)
    t.cm("time_metric", "SEC", CPP)
    t.cm("", "")
    t.end(app={"größe": "x", "": 0}, used={"LIBC_IO": 1, "": 1, "größe": 1}).gz(tmp / "a.pfw.gz")
    out = run("check", tmp, rc=0).out
    equal(out, f"1 file, {t.id} events (6 of them annotations): all right, nothing lost\n")


@test
def good_no_args(tmp):
    """Relations are there also with --no-args."""
    t = annotated()
    recs = records(t)
    for r in recs:
        if is_annotation(r):
            r["args"] = {k: v for k, v in r["args"].items() if k in ("hhash", "relations")}
    t.lines = [dumps(r).encode() for r in recs]
    t.gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)


@test
def good_relations_of_calls(tmp):
    """Any event may have relations."""
    t = Annotated()
    t.event("read", file="/data/in", args={"count": 1, "ret": 1, "relations": {
        "used": [t.entity("file", "/data/in")]}})
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    s = run("summary", "--json", tmp, rc=0).json()
    equal(s["annotations"]["relations"], [{"name": "used", "count": 1}])
    equal((s["annotations"]["events"], s["operations"][0]["bytes"]), (0, 1))


# ---- check: what is not -------------------------------------------------------------------------

def edited(tmp, edit):
    t = annotated()
    recs = records(t)
    edit(recs)
    t.lines = [dumps(r).encode() for r in recs]
    t.gz(tmp / "a.pfw.gz")
    return tmp / "a.pfw.gz"


def rule(name, edit, pattern, only=True):
    def fn(tmp):
        expect_fault(edited(tmp, edit), pattern, only)
    fn.__name__ = f"rule_{name}"
    TESTS.append(fn)


def args_of(recs, name, number=0):
    return [r for r in recs if r["name"] == name][number]["args"]


def cm_of(recs, name):
    return next(r for r in recs if r["name"] == "CM" and r["args"]["name"] == name)


def again(name, number=0, **changes):
    """A second copy of a record, with changes, before the end."""
    def edit(recs):
        rec = copy.deepcopy([r for r in recs if r["name"] == name][number])
        rec["args"].update(changes)
        recs.insert(len(recs) - 1, rec)
    return edit


def set_arg(name, number, **changes):
    return lambda recs: args_of(recs, name, number).update(changes)


def drop_arg(name, number, key):
    return lambda recs: args_of(recs, name, number).pop(key)


def relations(value, number=0):
    return set_arg("fold", number, relations=value)


SEQ, MODEL, MSA = (fnv(k, "MGYP0001") for k in ("sequence", "structure", "msa"))

# EH: the first is of the sequence, the second of the structure, the third late, the last the late
# one's declaration.
for _key in ("id", "type", "store", "uri"):
    rule(f"eh_without_{_key}", drop_arg("EH", 1, _key), f"EH: args.{_key} is missing", _key != "id")
rule("eh_id_short", set_arg("EH", 1, id=MODEL[1:]), "EH: an entity id is not 16", False)
rule("eh_id_upper", set_arg("EH", 1, id=MODEL.upper()), "EH: an entity id is not 16", False)
rule("eh_id_number", set_arg("EH", 1, id=17), "EH: args.id is not a string", False)
rule("eh_id_zero", again("EH", 0, id="0" * 16), "EH: an entity id is 0")
rule("eh_type_number", set_arg("EH", 1, type=1), "EH: args.type is not a string")
rule("eh_type_long", set_arg("EH", 1, type="x" * 32), "args.type has 32 bytes, at most 31")
rule("eh_type_character", set_arg("EH", 1, type="a|b"), "args.type holds a character that is not")
rule("eh_type_nul", set_arg("EH", 1, type="a\0b"), "args.type holds a character that is not")
rule("eh_uri_long", set_arg("EH", 1, uri="x" * 256), "args.uri has 256 bytes, at most 255")
rule("eh_uri_character", set_arg("EH", 1, uri="/dätä"), "args.uri holds a character that is not")
rule("eh_store_large", set_arg("EH", 1, store=9), r"EH: args.store is not within 0..8")
rule("eh_store_negative", set_arg("EH", 1, store=-1), r"EH: args.store is not within 0..8")
rule("eh_store_text", set_arg("EH", 1, store="1"), "EH: args.store is not an integer")
rule("eh_twice", again("EH", 0), f"EH: entity {SEQ} was declared before")
rule("eh_twice_after_late", again("EH", 3), f"EH: entity {MSA} was declared before")
rule("eh_late_twice", lambda r: r.insert(r.index(first(r, "ER")), copy.deepcopy(
    [x for x in r if x["name"] == "EH"][2])), f"EH: entity {MSA} was declared before")
rule("eh_late_after_declaration", lambda r: r.insert(len(r) - 1, r.pop(next(
    i for i, x in enumerate(r) if "late" in x["args"]))), f"EH: entity {MSA} was declared before")
rule("eh_late_false", set_arg("EH", 2, late=0), "EH: args.late is not 1")
rule("eh_late_true", set_arg("EH", 2, late=True), "EH: args.late is not 1")
rule("eh_late_type", set_arg("EH", 2, type="msa"), "EH: it is late, but has a type")
rule("eh_late_store", set_arg("EH", 2, store=0), "EH: it is late, but has a type, a store")
rule("eh_late_uri", set_arg("EH", 2, uri="/x"), "EH: it is late, but has .* a uri")
rule("eh_record_type", lambda r: first(r, "EH").update(type=2), "EH: type is not 1")
rule("eh_cat", lambda r: first(r, "EH").update(cat="PROV"), 'is not "dftracer"')

for _key in ("type", "role", "description"):
    rule(f"et_without_{_key}", drop_arg("ET", 0, _key), f"ET: args.{_key} is missing")
rule("et_role_large", set_arg("ET", 0, role=6), r"ET: args.role is not within 0..5")
rule("et_role_text", set_arg("ET", 0, role="input"), "ET: args.role is not an integer")
rule("et_description_number", set_arg("ET", 0, description=1), "ET: args.description is not a string")
rule("et_description_long", set_arg("ET", 0, description="x" * 256), "description has 256 bytes")
rule("et_twice", again("ET", 0, role=2), 'ET: type "sequence" was described before')
rule("et_record_type", lambda r: first(r, "ET").update(type=9), "ET: type is not 1")

for _key in ("relation", "subject", "object"):
    rule(f"er_without_{_key}", drop_arg("ER", 0, _key), f"ER: args.{_key} is missing")
rule("er_relation_small", set_arg("ER", 0, relation=15), r"ER: args.relation is not within 16..255")
rule("er_relation_large", set_arg("ER", 0, relation=256), r"ER: args.relation is not within 16..255")
rule("er_relation_name", set_arg("ER", 0, relation="revision_of"), "args.relation is not an integer")
rule("er_subject_bad", set_arg("ER", 0, subject="x"), "ER: an entity id is not 16")
rule("er_object_zero", set_arg("ER", 0, object="0" * 16), "ER: an entity id is 0")
rule("er_subject_dangles", set_arg("ER", 0, subject="f" * 16), "entity ffffffffffffffff has no EH")
rule("er_object_dangles", set_arg("ER", 0, object="f" * 16), "entity ffffffffffffffff has no EH")
rule("er_record_type", lambda r: first(r, "ER").update(type=6), "ER: type is not 1")
rule("late_is_needed", lambda r: r.remove(next(x for x in r if "late" in x["args"])) or r.remove(
    [x for x in r if x["name"] == "EH"][-1]), f"entity {MSA} has no EH record")

rule("relations_array", relations([SEQ]), "args.relations is not an object")
rule("relations_text", relations(SEQ), "args.relations is not an object")
rule("relations_empty", relations({}), "args.relations is empty")
rule("relations_unknown", relations({"eaten": [SEQ]}), "args.relations.eaten is no relation of an")
rule("relations_of_entities", relations({"contains": [SEQ]}), "relations.contains is no relation")
rule("relations_one_id", relations({"used": SEQ}), "something other than arrays")
rule("relations_no_id", relations({"used": []}), "args.relations.used is empty")
rule("relations_number", relations({"used": [17]}), "args.relations: an entity id is not 16")
rule("relations_zero", relations({"used": ["0" * 16]}), "args.relations: an entity id is 0")
rule("relations_twice", relations({"used": [SEQ, MODEL, SEQ]}), f"relations.used holds {SEQ} twice")
rule("relations_dangle", relations({"updated": [SEQ, "e" * 16]}), "entity eeeeeeeeeeeeeeee has no EH")
rule("relations_of_call", set_arg("read", 0, relations={"used": ["d" * 16]}), "has no EH record")

for _name, _value in (("null", None), ("bool", True), ("array", [1]), ("object", {"a": 1})):
    rule(f"arg_{_name}", set_arg("fold", 1, step=_value), "args.step is neither a number nor a str")
rule("arg_hhash_late", lambda r: args_of(r, "fold", 1).update(hhash=args_of(r, "fold", 1).pop("hhash")),
     "hhash is not the first")
rule("call_like_annotation", lambda r: next(x for x in r if x["name"] == "read")["args"].update(
    fhash="0" * 16), "has no FH record")

rule("cm_value_number", lambda r: cm_of(r, "batch")["args"].update(value=32),
     "CM: args.value is not a string")
rule("cm_value_missing", lambda r: cm_of(r, "batch")["args"].pop("value"), "CM: args.value is missing")
rule("cm_own_value_missing", lambda r: cm_of(r, "time_metric")["args"].pop("value"),
     "CM: args.value is missing")
rule("cm_name_number", lambda r: cm_of(r, "batch")["args"].update(name=1), "args.name is not a string")
rule("cm_record_type", lambda r: cm_of(r, "batch").update(type=3), "CM: type is none of 1, 2, 6 and 9")

for _name in ("probes_gap_us", "probes_unarmed"):
    for _key, _say in (("value", "value is missing"), ("path", "path is missing"),
                       ("ts", "ts is not a non-negative integer")):
        rule(f"{_name}_without_{_key}", lambda r, n=_name, k=_key: cm_of(r, n)["args"].pop(k),
             f"{_name}: args.{_say}")
    rule(f"{_name}_ts_text", lambda r, n=_name: cm_of(r, n)["args"].update(ts="1"),
         f"{_name}: args.ts is not a non-negative integer")
    rule(f"{_name}_path_number", lambda r, n=_name: cm_of(r, n)["args"].update(path=1),
         f"{_name}: args.path is not a string")
    rule(f"{_name}_value_number", lambda r, n=_name: cm_of(r, n)["args"].update(value=1),
         f"{_name}: args.value is not a string")
for _name, _value in (("text", "soon"), ("empty", ""), ("negative", "-1"), ("real", "1.5"),
                      ("huge", str(1 << 64)), ("space", " 1")):
    rule(f"gap_{_name}", lambda r, v=_value: cm_of(r, "probes_gap_us")["args"].update(value=v),
         "probes_gap_us: args.value is not a decimal number")


def end(key, value):
    return set_arg("end", 0, **{key: value})


rule("end_used_array", end("used", ["LIBC_IO"]), "end: args.used is not an object")
rule("end_used_number", end("used", {"LIBC_IO": 2}), r"end: args.used.LIBC_IO is not within 0..1")
rule("end_used_text", end("used", {"LIBC_IO": "1"}), r"end: args.used.LIBC_IO is not within 0..1")
rule("end_app_text", end("app", "x"), "end: args.app is not an object")
rule("end_app_real", end("app", {"a": 1.5}), "end: args.app.a is neither an integer nor a string")
rule("end_app_object", end("app", {"a": {}}), "end: args.app.a is neither an integer nor a string")
rule("end_annotations_number", end("annotations", 1), "end: args.annotations is not an object")
rule("end_annotations_text", end("annotations", {"inherited": "1", "unended": 1}),
     "args.annotations.inherited is not within")
rule("end_annotations_negative", end("annotations", {"inherited": -1, "unended": 1}),
     "args.annotations.inherited is not within")
rule("end_annotations_zero", end("annotations", {"inherited": 0}), "args.annotations counts nothing")
rule("end_annotations_empty", end("annotations", {}), "args.annotations counts nothing")
rule("lost_annotations", end("lost", {"record_event": 2, "record_entity": 1}),
     "3 lost: record_event 2, record_entity 1$")


@test
def rule_duplicate_key(tmp):
    t = annotated()
    i = next(i for i, r in enumerate(records(t)) if r["name"] == "fold" and "step" in r["args"])
    t.lines[i] = t.lines[i].replace(b'"step":-3', b'"step":-3,"st\\u0065p":"x"')
    t.gz(tmp / "a.pfw.gz")
    expect_fault(tmp / "a.pfw.gz", 'key "step" twice')


@test
def rule_dangling_is_told_where(tmp):
    """With the line of the first use, and not while declarations may still come."""
    t = Annotated()
    t.region("a")
    t.region("b", used=["a" * 16])
    line = len(t.lines)
    t.region("c", generated=["a" * 16])
    t.end().gz(tmp / "a.pfw.gz")
    equal(faults(tmp / "a.pfw.gz"), [f"line {line}: entity aaaaaaaaaaaaaaaa has no EH record"])
    t.lines.pop()
    t.gz(tmp / "a.pfw.gz")
    got = faults(tmp / "a.pfw.gz")
    equal((len(got), got[0].split(":")[0]), (1, "unfinished"))


@test
def rule_files_are_apart(tmp):
    """What one file declares is not known in the next."""
    annotated().gz(tmp / "a.pfw.gz")
    t = Annotated(pid=7)
    t.region("b", used=[SEQ])
    t.entity_type("sequence")
    t.end().gz(tmp / "b.pfw.gz")
    equal(faults(tmp / "b.pfw.gz"), [f"line {len(t.lines) - 2}: entity {SEQ} has no EH record"])
    out = run("check", tmp, rc=1).out.splitlines()
    equal(len(out), 2, out)


# ---- summary ------------------------------------------------------------------------------------

def expected(traces):
    """The numbers of the section, straight from the lines."""
    names, kinds, roles, rels = {}, {}, {}, collections.Counter()
    events = 0
    for r in (r for t in traces for r in records(t)):
        a = r["args"]
        if is_annotation(r):
            events += 1
            n = names.setdefault((r["cat"], r["name"]), [0, 0, 0])
            n[0] += 1
            n[1] += r["dur"] * 1000
            n[2] = max(n[2], r["dur"] * 1000)
        if r["ph"] == 1:
            for rel, ids in a.get("relations", {}).items():
                rels[rel] += len(ids)
        if r["name"] == "EH" and not (a.get("late") and a["id"] in kinds):
            kinds[a["id"]] = None if a.get("late") else a["type"]
        if r["name"] == "ET":
            roles[a["type"]] = ROLES[a["role"]]
        if r["name"] == "ER":
            rels[OF_ENTITIES[a["relation"]]] += 1
    by_kind = collections.Counter(k for k in kinds.values() if k is not None)
    late = sum(k is None for k in kinds.values())
    return events, names, by_kind, roles, late, len(kinds), rels


def section(tmp, *args):
    return run("summary", "--json", *args, tmp, rc=0).json()["annotations"]


@test
def summary_of_annotations(tmp):
    a, b, c = annotated(10), annotated(11, "MGYP0002"), Annotated(pid=12)
    # Of a, by another process; one that is late in both; one that was declared elsewhere.
    c.entity("sequence", "MGYP0001")
    c.late(fnv("structure", "MGYP0002"))
    c.late("9" * 16)
    c.entity_type("template", 5)
    c.region("rank", used=[SEQ, "9" * 16], generated=[fnv("structure", "MGYP0002")])
    for rel in OF_ENTITIES:
        c.relate(rel, SEQ, "9" * 16)
    c.end()
    for i, t in enumerate((c, a, b)):
        t.gz(tmp / f"{i}.pfw.gz")
    run("check", tmp, rc=0)
    s = section(tmp)
    events, names, by_kind, roles, late, entities, rels = expected([a, b, c])
    equal(s["events"], events)
    equal({(n["cat"], n["name"]): [n["calls"], n["time_ns"], n["max_ns"]] for n in s["top_names"]},
          names)
    equal(s["names_used"], len(names))
    for n in s["top_names"]:
        equal(n["mean_ns"], n["time_ns"] // n["calls"])
    times = [n["time_ns"] for n in s["top_names"]]
    equal(times, sorted(times, reverse=True))
    equal(s["entities"], entities)
    equal(s["entities_undeclared"], late)
    want = {k: (by_kind[k], roles.get(k)) for k in set(by_kind) | set(roles)}
    equal({k["type"]: (k["entities"], k.get("role")) for k in s["entity_types"]}, want)
    equal({r["name"]: r["count"] for r in s["relations"]}, dict(rels))
    counts = [r["count"] for r in s["relations"]]
    equal(counts, sorted(counts, reverse=True))
    # The literal numbers, so that both computations cannot be wrong in the same way.
    equal((events, entities, late), (11, 7, 1))
    equal((want["sequence"], want["template"], want["structure"]),
          ((2, "input"), (0, "reference"), (2, None)))
    equal((rels["used"], rels["revision_of"], rels["generated"], rels["part_of"]), (6, 5, 3, 1))
    text = run("summary", tmp, rc=0).out
    for part in ("Annotations, by time: 5\n", "Types of entities: 4\n", "Relations: 12\n",
                 "(declared before the tracer came)"):
        check(part in text, f"{part!r} not in {text!r}")
    rows = [line.split() for line in text.splitlines()]
    check(["fold", "PROV", "4", "200.0", "us", "50.0", "us", "70.0", "us"] in rows, text)
    check(["2", "input", "sequence"] in rows, text)
    check(["6", "used"] in rows, text)


@test
def summary_role_is_the_one_that_says_something(tmp):
    for pid, role in ((1, 0), (2, 3), (3, 0)):
        t = Annotated(pid=pid)
        t.entity_type("msa", role)
        t.end().gz(tmp / f"{pid}.pfw.gz")
    equal(section(tmp)["entity_types"], [{"type": "msa", "role": "intermediate", "entities": 0}])
    (tmp / "2.pfw.gz").unlink()
    equal(section(tmp)["entity_types"], [{"type": "msa", "role": "unknown", "entities": 0}])


@test
def summary_keeps_calls_apart(tmp):
    """No annotation is in the tables of calls, whatever it is called."""
    plain, mixed = sample(), Annotated()
    mixed.lines, mixed.id, mixed.ts = plain.lines[:-1], plain.id - 1, plain.ts
    mixed.seen = plain.seen
    for cat in ("POSIX", "posix", "STDIO", "dftracer", "C_APP"):
        for name in ("read", "write", "open", "execve", "start", "end"):
            mixed.region(name, cat, args={"ret": -1, "errno": 2, "fhash": dfhash("/data/in"),
                                          "size_sum": 9, "image_size": 9, "restarted": 1,
                                          "pathname_hash": dfhash("/data/in")})
            mixed.region(name, cat, args={"ret": 4096, "fhash": dfhash("/data/in"), "size": 7,
                                          "exec_hash": dfhash("cat;a;b")})
            mixed.region(name, cat, args={"ret": 0, "pathname_hash": dfhash("/data/in"),
                                          "exec_hash": dfhash("cat;a;b"), "lost": {"read": 3}})
    # The rule about kinds of values is not what is tested here, hence no check of this file.
    mixed.end().gz(tmp / "m.pfw.gz")
    plain.gz(tmp / "p.pfw.gz")
    p = run("summary", "--json", tmp / "p.pfw.gz", rc=0).json()
    m = run("summary", "--json", tmp / "m.pfw.gz", rc=0).json()
    for key in ("operations", "top_files", "files_used", "errors", "pipes", "lost", "lost_total",
                "filtered", "not_decoded"):
        equal(m[key], p[key], key)
    equal(m["events"], p["events"] + 90)
    equal(m["process_list"][0]["events"], p["process_list"][0]["events"] + 90)
    equal(m["process_list"][0]["program"], "cat")
    equal(m["annotations"]["events"], 90)
    equal({n["calls"] for n in section(tmp / "m.pfw.gz", "--top=0")["top_names"]}, {3})


@test
def summary_units_and_precision(tmp):
    t = Annotated()
    t.region("a", dur=2, args={"dur_ns": 2501})  # by --precise
    t.region("b", dur=2, args={"dur_ns": 999999})  # the program's own
    t.region("c", dur=2, args={"dur_ns": "x"})
    t.cm("time_metric", "SEC")
    t.region("d", dur=2)
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    equal({n["name"]: n["time_ns"] for n in section(tmp)["top_names"]},
          {"a": 2501, "b": 2000, "c": 2000, "d": 2000})


@test
def summary_of_rows_for_many(tmp):
    """DFTracer's own aggregation writes one row for many annotations."""
    t = Annotated()
    t.region("fold", dur=7)
    t.aggregate("fold", {"dft_cnt": 4, "dur_sum": 50, "dur_max": 20}, cat="C_APP")
    t.lines[-1] = t.lines[-1].replace(b'"type":3', b'"type":2')
    t.end().gz(tmp / "a.pfw.gz")
    s = run("summary", "--json", tmp, rc=0).json()
    equal(s["operations"], [])
    n = s["annotations"]["top_names"][0]
    equal((n["calls"], n["time_ns"], n["max_ns"]), (5, 57000, 20000))


@test
def summary_coverage(tmp):
    a, b, c = (Annotated(pid=p) for p in (1, 2, 3))
    a.gap(2500, "/opt/lib.so")
    a.gap(500, "/opt/lib.so")
    a.gap(1, "/opt/x\x1b[31m.so")
    b.gap(40, "/opt/lib.so")
    b.unarmed("gone", "/opt/lib.so")
    b.unarmed("gone", "/opt/lib.so")
    b.unarmed("too many sites", "/opt/lib.so")
    c.unarmed("gone", "/opt/lib.so")
    # A program's own metadata of these names say nothing.
    c.cm("probes_gap_us", "77", ts=1, path="/no")
    c.cm("probes_unarmed", "no", PYTHON, ts=1, path="/no")
    c.region("a", args={"args_lost": 1})
    c.region("a", args={"args_lost": 1, "unreadable": 1})
    c.region("a", args={"args_lost": "x", "unreadable": 0})
    a.end(annotations={"inherited": 2})
    b.end(annotations={"inherited": 3, "unended": 4})
    for i, t in enumerate((a, b, c.end())):
        t.gz(tmp / f"{i}.pfw.gz")
    run("check", tmp, rc=0)
    equal(section(tmp)["coverage"], {
        "gaps": 4, "gap_processes": 2, "gap_us": 3041,
        "gap_files": [{"path": "/opt/lib.so", "gaps": 3, "processes": 2, "us": 3040},
                      {"path": "/opt/x\x1b[31m.so", "gaps": 1, "processes": 1, "us": 1}],
        "unarmed_files": [{"path": "/opt/lib.so", "reason": "gone", "processes": 2},
                          {"path": "/opt/lib.so", "reason": "too many sites", "processes": 1}],
        "args_lost": 2, "unreadable": 1, "unended": 4, "inherited": 5})
    text = run("summary", tmp, rc=0).out
    for part in ("INCOMPLETE: annotations are missing, or may be", "4 gaps in 2 processes, 3.0 ms",
                 "Files whose annotations may be missing: 2\n", "Files whose annotations are missing: 2\n",
                 "2 annotations without some of their arguments",
                 "1 annotations without a readable name or category",
                 "4 annotations of which only parts came",
                 "5 regions that a process had from its parent"):
        check(part in text, f"{part!r} not in {text!r}")
    check("\x1b" not in text, "a control character in the text")


@test
def summary_inherited_is_no_loss(tmp):
    Annotated().end(annotations={"inherited": 2}).gz(tmp / "a.pfw.gz")
    text = run("summary", tmp, rc=0).out
    check("INCOMPLETE" not in text and "2 regions that a process had" in text, text)


@test
def summary_top(tmp):
    t = Annotated()
    for i in range(25):
        t.region(f"name{i:02}", dur=i + 1)
        t.gap(i + 1, f"/opt/lib{i:02}")
        t.entity(f"type{i:02}", "key")
    t.entity("type07", "another")
    t.end().gz(tmp / "a.pfw.gz")
    for args, n in (([], 10), (["--top", "3"], 3), (["--top=0"], 25), (["--top", "99"], 25)):
        s = section(tmp, *args)
        equal([x["name"] for x in s["top_names"]], [f"name{i:02}" for i in range(24, 24 - n, -1)])
        equal([g["us"] for g in s["coverage"]["gap_files"]], list(range(25, 0, -1)))
        equal([k["type"] for k in s["entity_types"]],
              ["type07"] + [f"type{i:02}" for i in range(25) if i != 7])
        equal((s["names_used"], len(s["entity_types"]), len(s["coverage"]["gap_files"])), (25,) * 3)
        text = run("summary", *args, tmp, rc=0).out
        equal([text.count(x) for x in ("name0", "name1", "name2", "/opt/lib", "type0")],
              [sum(f"name{i:02}".startswith(x) for i in range(25 - n, 25))
               for x in ("name0", "name1", "name2")] + [n, min(n, 10)], str(args))


@test
def summary_saturates(tmp):
    t = Annotated()
    big = (1 << 64) - 1
    for _ in range(3):
        t.region("a", dur=big)
        t.gap(big, "/x")
    t.end(annotations={"inherited": big, "unended": big}).gz(tmp / "a.pfw.gz")
    Annotated(pid=7).end(annotations={"inherited": big, "unended": 2}).gz(tmp / "b.pfw.gz")
    s = section(tmp)
    equal((s["top_names"][0]["time_ns"], s["coverage"]["gap_us"], s["coverage"]["inherited"],
           s["coverage"]["unended"], s["coverage"]["gap_files"][0]["us"]), (big,) * 5)
    run("summary", tmp, rc=0)


@test
def summary_takes_what_is_wrong(tmp):
    """Records against the rules cost themselves at most."""
    t = Annotated()
    for args in ({}, {"id": 1}, {"id": "x", "type": 1}, {"id": "f" * 16}, {"type": 7, "role": "x"}):
        for name in ("EH", "ET", "ER"):
            t.meta(name, args)
    for rel in (0, 15, 23, 1 << 64, -1, "x"):
        t.meta("ER", {"relation": rel, "subject": SEQ, "object": SEQ})
    t.meta("ET", {"type": "t", "role": 6})
    for rels in ([], 1, None, {"used": 1}, {"used": []}, {"used": [1, None]}, {"x": ["y"]}):
        t.region("a", args={"relations": rels})
    for value in (None, 1, "x", "", {}):
        t.cm("probes_gap_us", value, type=1)
        t.cm("probes_unarmed", value, type=1)
    t.end(annotations=[1]).gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=1)
    s = section(tmp)
    equal((s["events"], s["entities"], s["coverage"]["gaps"]), (7, 1, 0))
    equal(sorted((r["name"], r["count"]) for r in s["relations"]), [("used", 2), ("x", 1)])
    run("summary", tmp, rc=0)


# ---- what is written about it --------------------------------------------------------------------

@test
def documented_lines_are_right(tmp):
    """The lines that docs/trace-format.md shows of annotations, as a trace."""
    text = (base.ROOT / "docs/trace-format.md").read_text()
    shown = [x for x in text.split("\n## Annotations\n")[1].split("\n## ")[0].splitlines()
             if x.startswith('{"')]
    recs = [json.loads(x) for x in shown]
    equal({r["name"] for r in recs if r["ph"] == 4}, {"EH", "ET", "ER", "CM"}, "metadata shown")
    check(sum(map(is_annotation, recs)) >= 2, "no events shown")
    t = Annotated(pid=recs[0]["pid"], host="vm")
    for r in recs:
        if "id" in r:  # those between are not shown
            t.id += 1
            r["id"] = t.id
        t.rec(r)
    t.end().gz(tmp / "a.pfw.gz")
    run("check", tmp, rc=0)
    for kind, key in (("sequence", "MGYP0001"), ("protein_structure", "MGYP0001"),
                      ("checkpoint", "step=120")):
        check(f"| `{kind}` | `{key}` | `{fnv(kind, key)}` |" in text, f"id of {kind} {key}")


if __name__ == "__main__":
    sys.exit(base.main())
