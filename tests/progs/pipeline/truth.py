#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a trace says about provenance, from its raw lines alone. Usage: truth.py DIR (prints JSON)

An activity is an event of category PROV, known by pid, id and ts; records that share all three are
one. The lineage of an entity is what is reached from it over activities that generated or updated it
to what these used, and so on; its impact the same the other way. Neither holds the entity itself, and
neither follows ER records.
"""
import collections
import gzip
import json
import sys
from pathlib import Path

Activity = collections.namedtuple("Activity", "step of")  # of: relation -> ids
NOT_OURS = ("POSIX", "STDIO", "dftracer", "PROGRAM")      # categories that nobody annotated
EDGES = ("derived_from", "revision_of", "contains", "part_of", "specialization_of", "alternate_of",
         "depends_on")                                    # EntityRelation 16 and on


class Truth:
    def __init__(self, files):
        """files: {name: lines}"""
        self.types, self.activities = {}, []
        self.files = {name: self._file(map(json.loads, lines)) for name, lines in files.items()}

    def _file(self, records):
        """The counts of one file."""
        eh, er, others, steps = {}, [], set(), {}
        out = {"ET": {}, "CM": [], "app": {}, "used": {}}
        for r in records:
            name, args = r["name"], r.get("args", {})
            who = r["pid"], r.get("id"), r.get("ts")
            if name == "EH":
                eh[args["id"], len(eh)] = args
            elif name == "ET":
                out["ET"][args["type"]] = args["role"]
            elif name == "ER":
                er.append(args)
            elif name == "CM" and r["type"] != 1:
                out["CM"].append([args["name"], args["value"]])
            elif (r["cat"], name) == ("dftracer", "end"):
                out |= {k: args.get(k, {}) for k in ("app", "used")}
            elif r["cat"] == "PROV":
                a = steps.setdefault(who, Activity(name, collections.defaultdict(list)))
                for relation, ids in args.get("relations", {}).items():
                    a.of[relation] += ids
            elif r["ph"] == 1 and r["cat"] not in NOT_OURS:
                others.add((r["cat"], name, who))
        self.activities += steps.values()
        self.types |= {i: a["type"] for (i, _), a in eh.items() if a["type"] or i not in self.types}
        events = collections.defaultdict(dict)
        for cat, name in [("PROV", a.step) for a in steps.values()] + [o[:2] for o in others]:
            events[cat][name] = events[cat].get(name, 0) + 1
        lists = [(kind, ids) for a in steps.values() for kind, ids in a.of.items()]
        ends = {i for _, ids in lists for i in ids} | {e[k] for e in er for k in ("subject", "object")}
        return out | {
            "events": dict(events), "EH": count(a["type"] for a in eh.values()),
            "late": sum(a.get("late", 0) for a in eh.values()),
            "ER": count(EDGES[e["relation"] - 16] for e in er),
            "relations": {k: [n, sum(len(ids) for kind, ids in lists if kind == k)]
                          for k, n in count(kind for kind, _ in lists).items()},
            "dangling": sorted(ends - {i for i, _ in eh})}

    def rows(self):
        """{(step, type): how many of it the step generated}"""
        return count((a.step, self.types.get(i)) for a in self.activities for i in a.of["generated"])

    def _walk(self, start, here, there):
        seen, todo = {start}, [start]
        while todo:
            entity = todo.pop()
            for a in self.activities:
                if any(entity in a.of[kind] for kind in here):
                    new = {i for kind in there for i in a.of[kind]} - seen
                    seen |= new
                    todo += new
        return seen - {start}

    def lineage(self, entity):
        return self._walk(entity, ("generated", "updated"), ("used",))

    def impact(self, entity):
        return self._walk(entity, ("used",), ("generated", "updated"))

    def by_type(self, entities):
        return count(self.types.get(i) for i in entities)

    def of_type(self, kind):
        return sorted(i for i, t in self.types.items() if t == kind)


def count(things):
    return dict(collections.Counter(things))


def load(directory):
    return Truth({p.name: gzip.open(p).read().splitlines() for p in sorted(Path(directory).glob("*.pfw.gz"))})


if __name__ == "__main__":
    t = load(sys.argv[1])
    print(json.dumps({"files": t.files, "rows": [[*row, n] for row, n in t.rows().items()],
                      "lineage": {i: len(t.lineage(i)) for i in t.of_type("best_structure")},
                      "impact": {i: t.by_type(t.impact(i)) for i in t.of_type("model_params")}}, indent=1))
