# SPDX-License-Identifier: MIT
"""Writes traces with provenance, line by line, and checks what is exported of them."""
import datetime
import gzip
import json
import re
from pathlib import Path

from dfttest import READER, check, dfhash, equal, run

HOST = "node01"


def entity_id(kind, key):
    """The format's FNV-1a."""
    h = 1469598103934665603
    for byte in (kind.encode() if isinstance(kind, str) else kind) + b"\x1f" + \
            (key.encode() if isinstance(key, str) else key):
        h = ((h ^ byte) * 1099511628211) % 2**64
    return f"{h or 1:016x}"


class Lines:
    """The trace file of one process."""

    def __init__(self, pid=7, host=HOST, **start):
        self.pid, self.host, self.hhash, self.n, self.lines, self.names = pid, host, dfhash(host), 0, [], set()
        self.meta("HH", name=host, value=self.hhash)
        if start:
            self.event("start", "dftracer", start.pop("ts", 100), version="dftrace-bpf, a test", **start)

    def line(self, record):
        self.lines.append(json.dumps(record, separators=(",", ":"), ensure_ascii=False))
        return self

    def meta(self, record, /, **args):
        return self.line({"name": record, "cat": "dftracer", "type": 1, "pid": self.pid, "tid": self.pid, "ph": 4,
                          "args": {"hhash": self.hhash, **args}})

    def event(self, name, cat, ts, dur=0, /, kind=1, ph=1, id=None, **args):
        if id is None:
            self.n += 1
        return self.line({"id": self.n if id is None else id, "name": name, "cat": cat, "type": kind,
                          "pid": self.pid, "tid": self.pid, "ts": ts, "dur": dur, "ph": ph,
                          "args": {"hhash": self.hhash, **args}})

    # ---- annotations ----

    def eh(self, entity, kind, uri="", store=2, **more):
        return self.meta("EH", id=entity, type=kind, store=store, uri=uri, **more)

    def er(self, relation, subject, target, **more):
        return self.meta("ER", relation=relation, subject=subject, object=target, **more)

    def step(self, name, ts=None, dur=1, id=None, cat="PROV", **relations):
        return self.event(name, cat, 1000 + self.n if ts is None else ts, dur, kind=2, id=id, relations=relations)

    # ---- runs and calls ----

    def name(self, text, record="FH"):
        value = dfhash(text)
        if (record, text) not in self.names:
            self.names.add((record, text))
            raw = {}
            if isinstance(text, bytes):
                raw, text = {"raw": text.hex()}, text.decode("utf-8", "replace")
            self.meta(record, name=text, value=value, **raw)
        return value

    def call(self, name, ts, path=None, ret=0, dur=1, **args):
        for key in ("other_fhash", "newpath_hash", "pathname_hash", "interp_hash"):
            if key in args:
                args[key] = self.name(args[key])
        where = {"fhash": self.name(path)} if path is not None else {}
        return self.event(name, "POSIX", ts, dur, kind=3, **where, **args, ret=ret)

    def row(self, name, ts, path, total, last=None, cnt=1, errors=0):
        fhash = self.name(path)
        return self.line({"name": name, "cat": "POSIX", "type": 3, "ts": ts, "ph": 3, "pid": self.pid,
                          "tid": self.pid, "args": {"hhash": self.hhash, "fhash": fhash, "dft_cnt": cnt, "dur_sum": 1,
                                                    "dur_min": 1, "dur_max": 1, "ret_sum": total, "errors": errors,
                                                    "last": last or ts + 1}})

    def program(self, name, ts, dur, id=None, **relations):
        return self.event(name, "PROGRAM", ts, dur, id=id, relations=relations)

    def file(self, kind, path, key=None, store=2, mnt=None):
        """EH of a file, as the tracer declares it; its id."""
        text = path if isinstance(path, bytes) else path.encode()
        if key is None:
            key = (f"{self.host}:{mnt}:" if mnt else f"{self.host}:").encode() + text
        entity = entity_id(kind, key)
        uri = re.sub(rb"[^A-Za-z0-9_\-.:/@+=,~ ]", b"_", text[:255]).decode()
        self.eh(entity, kind, uri, store, fhash=self.name(path))
        return entity

    def end(self, ts=10**9, **cfg):
        return self.event("end", "dftracer", ts, num_events=self.n, cfg={"mmap": 1, **cfg})

    def write(self, directory, name=None):
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / (name or f"p-{self.host}-{self.pid}.pfw.gz")
        text = "".join(line + "\n" for line in self.lines)
        path.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), 1))
        return path


def ask(*argv, status=0, cwd=None):
    """dftrace with --json; the object."""
    r = run([READER, argv[0], "--json", *argv[1:]], cwd=cwd)
    check(r.status == status, f"{argv[0]}: exit status {r.status}, want {status}: {r.text.strip()[:300]}")
    return json.loads(r.out)


def refused(r, *words, status):
    """One line that says what, and why."""
    lines = r.text.splitlines()
    check(r.status == status and len(lines) == 1 and lines[0].startswith("dftrace: "), f"status {r.status}: {lines}")
    check(all(w in lines[0] for w in words), f"{words} in {lines[0]!r}")


def reached(command, path, entity, *options):
    return {e["id"] for e in ask(command, *options, path, entity)["reached"]}


# ---- PROV-JSON -------------------------------------------------------------------------------

# Of each relation: what it must have, and what it may have besides attributes of other namespaces.
PROV = {
    "wasGeneratedBy": (["entity"], ["activity", "time", "role"]),
    "used": (["activity"], ["entity", "time", "role"]),
    "wasInformedBy": (["informant", "informed"], []),
    "wasStartedBy": (["activity"], ["trigger", "starter", "time"]),
    "wasEndedBy": (["activity"], ["trigger", "ender", "time"]),
    "wasInvalidatedBy": (["entity"], ["activity", "time", "role"]),
    "wasDerivedFrom": (["generatedEntity", "usedEntity"], ["activity", "generation", "usage"]),
    "wasAttributedTo": (["entity", "agent"], []),
    "wasAssociatedWith": (["activity"], ["agent", "plan"]),
    "actedOnBehalfOf": (["delegate", "responsible"], ["activity"]),
    "wasInfluencedBy": (["influencer", "influencee"], []),
    "specializationOf": (["generalEntity", "specificEntity"], []),
    "alternateOf": (["alternate1", "alternate2"], []),
    "hadMember": (["collection", "entity"], []),
}
ACTIVITIES = {"activity", "informant", "informed", "starter", "ender"}
COMMON = ["type", "label", "location", "value"]
LOCAL = re.compile(r"dft:[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?\Z")
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")


def attribute(value, where):
    for v in value if isinstance(value, list) else [value]:
        if isinstance(v, dict):
            check(isinstance(v.get("$"), str) and set(v) <= {"$", "type", "lang"} and
                  v.get("type", "xsd:string").startswith("xsd:"), f"{where}: literal {v}")
        else:
            check(isinstance(v, (str, int, float, bool)), f"{where}: value {v!r}")


def moment(text):
    check(isinstance(text, str) and DATE_TIME.match(text), f"no dateTime: {text!r}")
    return datetime.datetime.fromisoformat(text.removesuffix("Z") + "+00:00")


def valid_prov_json(doc):
    """By the rules of the member submission: groups, required ends, ends that exist, times, literals."""
    check(set(doc) <= {"prefix", "entity", "activity", "agent", "bundle", *PROV}, f"groups {sorted(doc)}")
    check(all(re.match(r"[A-Za-z]\w*\Z", k) and re.match(r"[a-z][a-z0-9+.-]*:", v) for k, v in doc["prefix"].items()),
          "prefixes")
    for group in ("entity", "activity"):
        for name, attributes in doc[group].items():
            check(LOCAL.match(name), f"qualified name {name!r}")
            for key, value in attributes.items():
                check(re.match(r"(prov|dft):[A-Za-z]+\Z", key), f"attribute {key!r}")
                if key in ("prov:startTime", "prov:endTime"):
                    check(group == "activity" and moment(value), key)
                else:
                    attribute(value, key)
    for kind, (must, may) in PROV.items():
        for name, r in doc.get(kind, {}).items():
            check(name.startswith("_:") or LOCAL.match(name), f"id of a relation {name!r}")
            check(all(f"prov:{k}" in r for k in must), f"{kind} lacks of {must}: {r}")
            for key, value in r.items():
                prefix, _, word = key.partition(":")
                check(prefix in doc["prefix"] or word in [*must, *may, *COMMON], f"{kind} has {key}")
                if prefix == "prov" and word in must + may and word != "time":
                    group = "activity" if word in ACTIVITIES else "entity"
                    check(value in doc[group], f"{kind}: {key} {value} is no {group}")
                else:
                    attribute(value, key)
    return doc


# ---- PROV-N ----------------------------------------------------------------------------------

TOKEN = re.compile(r"""\s*(?:
    (?P<string>"(?:[^"\\\n\r]|\\[tbnrf"'\\])*") | (?P<type>'[a-z]+:[A-Za-z]+') | (?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z) |
    (?P<iri><[^<>"{}|^`\\\x00-\x20]*>) | (?P<name>[A-Za-z][\w]*(?::[\w](?:[\w.-]*[\w-])?)?) | (?P<mark>%%|[-()\[\],=;])
    )""", re.X)


def parse_prov_n(text):
    """[(word, [arguments], {attributes})] of a document; any fault of grammar is a failure."""
    tokens, at = [], 0
    while text[at:].strip() if at + 64 > len(text) else True:
        m = TOKEN.match(text, at)
        check(m, f"PROV-N: no token at {text[at:at + 40]!r}")
        tokens.append((m.lastgroup, m.group(m.lastgroup)))
        at = m.end()
    pos = 0

    def take(value=None, kinds=None):
        nonlocal pos
        check(pos < len(tokens), "PROV-N ends early")
        kind, got = tokens[pos]
        check((value is None or got == value) and (kinds is None or kind in kinds), f"PROV-N: {got!r}, want {value or kinds}")
        pos += 1
        return got

    take("document")
    while tokens[pos][1] == "prefix":
        take()
        take(kinds=["name"])
        take(kinds=["iri"])
    out = []
    while tokens[pos][1] != "endDocument":
        word, args, attributes = take(kinds=["name"]), [], []
        take("(")
        args.append(take(kinds=["name"]))
        while tokens[pos][1] == ",":
            take(",")
            if tokens[pos][1] != "[":
                args.append(take(kinds=["name", "time"]) if tokens[pos][1] != "-" else take())
                continue
            take("[")
            while True:
                key = take(kinds=["name"])
                take("=")
                attributes.append((key, take(kinds=["string", "type"])))
                if tokens[pos][1] == "%%":
                    take()
                    take(kinds=["name"])
                if take(kinds=["mark"]) == "]":
                    break
        take(")")
        out.append((word, args, attributes))
    take("endDocument")
    equal(pos, len(tokens), "tokens")
    return out


# How many arguments each expression has, besides attributes.
ARITY = {"entity": {1}, "activity": {1, 3}, "used": {3}, "wasGeneratedBy": {3}, "wasInvalidatedBy": {3},
         "wasDerivedFrom": {2, 5}, "specializationOf": {2}, "alternateOf": {2}, "hadMember": {2}, "wasInfluencedBy": {2}}


def valid_prov_n(text, doc):
    """It parses, has the right number of arguments, and says the same as the JSON."""
    said = parse_prov_n(text)
    for word, args, _ in said:
        check(len(args) in ARITY[word], f"{word} with {args}")
    for word in ARITY:
        equal(sum(w == word for w, _, _ in said), len(doc.get(word, {})), f"expressions {word}")
    ends = {(w, a[0], a[1]) for w, a, _ in said if w not in ("entity", "activity")}
    order = {"used": ("activity", "entity"), "wasGeneratedBy": ("entity", "activity"),
             "wasInvalidatedBy": ("entity", "activity"), "wasDerivedFrom": ("generatedEntity", "usedEntity"),
             "specializationOf": ("specificEntity", "generalEntity"), "alternateOf": ("alternate1", "alternate2"),
             "hadMember": ("collection", "entity"), "wasInfluencedBy": ("influencee", "influencer")}
    equal(ends, {(w, r[f"prov:{a}"], r[f"prov:{b}"]) for w, (a, b) in order.items() for r in doc.get(w, {}).values()},
          "relations of PROV-N and PROV-JSON")
    return said


def write_all(directory, *files):
    for f in files:
        f.write(Path(directory))
    return Path(directory)
