# SPDX-License-Identifier: MIT
"""What a trace of the pipeline must hold, after expected.json: for the tests."""
import json
import re
from pathlib import Path

import truth
from dfttest import READER, check, equal, run

WANT = json.loads((Path(__file__).resolve().parent / "expected.json").read_text())

# Files of entities, below WORKDIR; of the others it is in memory.
PATHS = {
    "input_fasta": "inputs/chunk.fasta", "run_config": "inputs/run.cfg",
    "sequence_db": "inputs/db/{db}.fasta", "template_db": "inputs/templates.fasta",
    "model_params": "inputs/params/{model}.tsv", "sequence": "seq/{seq}.fasta",
    "raw_msa": "raw/{seq}.{db}.a3m", "merged_msa": "merged/{seq}.a3m", "filtered_msa": "msa/{seq}.a3m",
    "sto_msa": "msa/{seq}.sto", "msa_features": "features/{seq}.features.tsv",
    "deletion_matrix": "features/{seq}.deletions.tsv", "template_hits": "templates/{seq}.hits.tsv",
    "structure": "models/{seq}.{model}.pdb", "confidence": "models/{seq}.{model}.tsv",
    "relaxed_structure": "relaxed/{seq}.{model}.pdb", "relax_report": "relaxed/{seq}.{model}.txt",
    "best_structure": "results/{seq}.pdb", "archive": "results/{seq}.tar",
    "results_index": "results/index.tsv",
}


def entity_id(kind, key):
    h = 1469598103934665603
    for byte in kind.encode() + b"\x1f" + key.encode():
        h = ((h ^ byte) * 1099511628211) % 2**64
    return f"{h or 1:016x}"


class Entity:
    """One entity of the pipeline: its file, and the activity that generates it."""

    def __init__(self, kind, key, names):
        self.kind = kind
        self.seq = names["seq"] if "{seq}" in key else None
        self.model = names["model"] if "{model}" in key else None
        self.id = entity_id(kind, key.format(**names))
        self.path = PATHS[kind].format(**names) if kind in PATHS else None
        steps = [step for step, generated, _ in WANT["rows"] if generated == kind]
        self.step = names["model"] if names["model"] in steps else steps[0] if steps else None
        alone = self.step == "load_inputs"
        self.activity = self.step, None if alone else self.seq, self.model


def entities():
    """{id: Entity} of all the pipeline's."""
    out = {}
    for kind, keys in WANT["entities"].items():
        for key in keys:
            for seq in WANT["sequences"]:
                for db in WANT["databases"]:
                    for model in WANT["models"]:
                        e = Entity(kind, key, {"seq": seq, "db": db, "model": model})
                        out[e.id] = e
    return out


ENTITIES = entities()


def is_prov(record):
    return record["cat"] == "PROV"


def same_counts(got, want, where):
    for key in ("events", "EH", "late", "ET", "ER", "relations", "CM", "app", "used", "dangling"):
        if key == "EH":
            equal(sum(got[key].values()), want["EH_total"], f"{where}: EH")
            kinds = {k: n for k, n in got["EH"].items() if k}
            equal(kinds, want["EH"], f"{where}: EH by type")
        elif key == "relations":
            equal({k: list(v) for k, v in got[key].items()}, want[key], f"{where}: relations")
        elif key == "used":
            # What the tracer says of itself does not count.
            equal({k: n for k, n in got[key].items() if k != "LIBC_IO"}, want[key], f"{where}: used")
        else:
            equal(got[key], want.get(key, []), f"{where}: {key}")


def same_records(records, want, work, where):
    """What the counts do not tell: types, arguments, ids, stores, uris, times."""
    for r in records:
        args = r.get("args", {})
        if r["name"] == "EH":
            e = ENTITIES.get(args["id"])
            check(e, f"{where}: EH of an unknown entity: {r}")
            if args.get("late"):
                check(e.kind in want["late_types"], f"{where}: {e.kind} is late")
                equal((args["type"], args["uri"]), ("", ""), f"{where}: late EH of a {e.kind}")
                continue
            equal((args["type"], args["store"], args["uri"]),
                  (e.kind, 2 if e.path else 0, f"{work}/{e.path}" if e.path else ""), f"{where}: EH")
        elif is_prov(r):
            equal((r["type"], r["ph"]), (want["type"], 1), f"{where}: type and ph of {r['name']}")
            own = [k for k in args if k not in ("hhash", "relations")]
            equal(sorted(own), sorted(WANT["args"][r["name"]]), f"{where}: arguments of {r['name']}")
            same_relations(r, where)
        elif r["name"] == "ER":
            subject, target = ENTITIES[args["subject"]], ENTITIES[args["object"]]
            edge = [subject.kind, truth.EDGES[args["relation"] - 16], target.kind]
            check(edge in WANT["edges"], f"{where}: an edge {edge}")
            check(subject.seq in (target.seq, None), f"{where}: {subject.seq} {edge} {target.seq}")


def same_relations(record, where):
    """Each activity has the entities that its step works on, of its own sequence and model."""
    args, step = record["args"], record["name"]
    related = {kind: [ENTITIES[i] for i in ids] for kind, ids in args["relations"].items()}
    equal({kind: truth.count(e.kind for e in them) for kind, them in related.items()}, WANT["steps"][step],
          f"{where}: what {step} relates")
    if step == "load_inputs":
        return
    check(args["sequence"] in WANT["sequences"], f"{where}: {args['sequence']}")
    for e in (e for them in related.values() for e in them):
        check(e.seq in (args["sequence"], None), f"{where}: {step} of {args['sequence']}: {e.kind} of {e.seq}")
        check(step not in WANT["models"] or e.model in (step, None), f"{where}: {step}: {e.kind} of {e.model}")


def whole_graph(t, where):
    equal(sorted(t.types), sorted(ENTITIES), f"{where}: entities of all processes")
    equal(len(t.types), WANT["distinct_entities"], f"{where}: number of entities")
    equal(t.types, {e.id: e.kind for e in ENTITIES.values()}, f"{where}: types")
    equal(sorted([step, kind, n] for (step, kind), n in t.rows().items()), sorted(WANT["rows"]), "rows")
    for what, walk in (("lineage", t.lineage), ("impact", t.impact)):
        for kind, want in WANT[what].items():
            starts = t.of_type(kind)
            check(starts, f"no {kind}")
            for start in starts:
                got = walk(start)
                equal(len(got), want["size"], f"{where}: {what} of {kind} {start}")
                if "by_type" in want:
                    equal(t.by_type(got), want["by_type"], f"{where}: {what} of {kind} {start}")


# ---- what dftrace says -------------------------------------------------------------------------

def table(text):
    """The rows of a table in text, whose cells here have no blanks."""
    return [line.split() for line in text.decode().split("\n\n")[0].splitlines()[1:]]


def dftrace_agrees(path, t, *options):
    """`made`, `lineage` and `impact` say what was counted, in text and in JSON."""
    def ask(command, *what, form=()):
        r = run([READER, command, *form, *options, path, *what]).want(0)
        return json.loads(r.out) if form else r.out

    want = sorted([step, kind, n] for (step, kind), n in t.rows().items())
    equal(want, sorted(WANT["rows"]), "rows by the truth")
    equal(sorted([m["step"], m["type"], m["generated"]] for m in ask("made", form=["--json"])["made"]), want, "made")
    equal(sorted([step, kind, int(n)] for step, kind, n in table(ask("made"))), want, "made in text")
    for what, walk in (("lineage", t.lineage), ("impact", t.impact)):
        for kind, wanted in WANT[what].items():
            for n, start in enumerate(t.of_type(kind)):
                got = ask(what, start, form=["--json"])
                equal({e["id"] for e in got["reached"]}, walk(start), f"{what} of {kind} {start}")
                equal(got["total"], wanted["size"], f"{what} of {kind} {start}: total")
                equal({c["type"]: c["count"] for c in got["by_type"]}, t.by_type(walk(start)), f"{what}: by type")
                if n:
                    continue
                text = ask(what, start)
                equal({row[2] for row in table(text)}, walk(start), f"{what} of {kind} {start} in text")
                total, last = f"{wanted['size']} entit", text.decode().rstrip().splitlines()[-1]
                last = last.removesuffix(" (of annotations; --all adds runs of programs)")
                check(last.startswith(total), f"last line: {last!r}")
                equal({k: int(c) for c, k in re.findall(r"(\d+) (\w+)(?:,|$)", last.split(": ", 1)[-1])} if walk(start)
                      else {}, t.by_type(walk(start)), "last line, by type")
