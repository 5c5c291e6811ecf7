#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 3 of the pipeline, in Python: from features to the best structure of each sequence.

    stage3.py WORKDIR

model_1, model_2   a structure and how sure of it the model is, each with parameters of its own
relaxation         a structure without clashes, and what it took
ranking            the better one of the two
export             an archive of what belongs together, and a line in the index of all results

PIPELINE_GATE=READY:GO names two descriptors: see gate.h. With PIPELINE_GATE_AT=relaxation the gate
stands behind the models instead of before everything.
"""
import io
import math
import os
import sys
import tarfile
from pathlib import Path

from dftracer.python import EntityRelation, EntityRole, EntityStore, dft_fn, dftracer

DISK = EntityStore.LOCAL_DISK
MODELS = ("model_1", "model_2")
TYPES = (
    ("msa_features", EntityRole.INTERMEDIATE, "numbers for each column"),
    ("deletion_matrix", EntityRole.INTERMEDIATE, "what is between columns"),
    ("template_hits", EntityRole.INTERMEDIATE, "structures that resemble"),
    ("model_params", EntityRole.PARAMETER, "what a model has learnt"),
    ("structure", EntityRole.INTERMEDIATE, "as predicted"),
    ("confidence", EntityRole.OUTPUT, "how sure the model is"),
    ("force_field", EntityRole.PARAMETER, "what pushes and pulls"),
    ("relaxed_structure", EntityRole.INTERMEDIATE, "without clashes"),
    ("relax_report", EntityRole.OUTPUT, "what the relaxation took"),
    ("best_structure", EntityRole.OUTPUT, "the better one of the two"),
    ("archive", EntityRole.OUTPUT, "what belongs to one sequence"),
    ("results_index", EntityRole.OUTPUT, "all results"),
)
THREE = dict(zip("ACDEFGHIKLMNPQRSTVWY",
                 "ALA CYS ASP GLU PHE GLY HIS ILE LYS LEU MET ASN PRO GLN ARG SER THR VAL TRP TYR".split()))
SPRING = "springs of 3.8 A"  # the key of the force field, which is part of this program

tables = dft_fn("TABLES")


def gate(here):
    """Says that it is ready and waits, where PIPELINE_GATE asks for it."""
    fds = os.environ.get("PIPELINE_GATE")
    if fds and os.environ.get("PIPELINE_GATE_AT", "start") == here:
        ready, go = map(int, fds.split(":"))
        os.write(ready, b"r")
        if not os.read(go, 1):
            sys.exit("pipeline: nobody opens the gate")


# ---- files -----------------------------------------------------------------------------------

class Files:
    """Where things are, below the working directory."""

    def __init__(self, work):
        self.work = work

    def features(self, name):
        return self.work / "features" / f"{name}.features.tsv"

    def deletions(self, name):
        return self.work / "features" / f"{name}.deletions.tsv"

    def hits(self, name):
        return self.work / "templates" / f"{name}.hits.tsv"

    def params(self, model):
        return self.work / "inputs" / "params" / f"{model}.tsv"

    def structure(self, name, model):
        return self.work / "models" / f"{name}.{model}.pdb"

    def confidence(self, name, model):
        return self.work / "models" / f"{name}.{model}.tsv"

    def relaxed(self, name, model):
        return self.work / "relaxed" / f"{name}.{model}.pdb"

    def report(self, name, model):
        return self.work / "relaxed" / f"{name}.{model}.txt"

    def best(self, name):
        return self.work / "results" / f"{name}.pdb"

    def archive(self, name):
        return self.work / "results" / f"{name}.tar"

    def index(self):
        return self.work / "results" / "index.tsv"


@tables.log
def read_table(path, header):
    """Rows of a file of tab-separated values."""
    return [line.split("\t") for line in path.read_text().splitlines()[1 if header else 0:]]


def write_structure(path, residues, atoms, remark=""):
    with path.open("w") as out:
        out.write(remark)
        for i, (residue, (x, y, z)) in enumerate(zip(residues, atoms), 1):
            out.write(f"ATOM  {i:5d}  CA  {THREE[residue]} A{i:4d}    {x:8.3f}{y:8.3f}{z:8.3f}\n")
        out.write("END\n")


def read_structure(path):
    one = {three: residue for residue, three in THREE.items()}
    residues, atoms = [], []
    for line in path.read_text().splitlines():
        if line.startswith("ATOM"):
            residues.append(one[line[17:20]])
            atoms.append([float(line[30:38]), float(line[38:46]), float(line[46:54])])
    return residues, atoms


# ---- the steps -------------------------------------------------------------------------------

def fold(features, params):
    """A chain of atoms: each residue turns it by what the parameters say."""
    turns = {residue: (int(bend), int(twist)) for residue, bend, twist in params}
    atoms, theta, phi = [[0.0, 0.0, 0.0]], 0.0, 0.0
    for residue, _, conserved in features[1:]:
        bend, twist = turns[residue]
        theta += bend / 1000 - 0.45
        phi += twist / 600 + int(conserved) / 4000
        step = (math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), math.cos(theta))
        atoms.append([a + 3.8 * s for a, s in zip(atoms[-1], step)])
    return atoms


def predict(files, name, model, made):
    with dft_fn("PROV", name=model) as step:
        features = read_table(files.features(name), True)
        deletions = read_table(files.deletions(name), False)
        hits = read_table(files.hits(name), True)
        params = read_table(files.params(model), False)
        write_structure(files.structure(name, model), [f[0] for f in features], fold(features, params))
        middle = features[len(features) // 2][0]
        bonus = min(10, len(hits)) + sum(int(bend) for residue, bend, _ in params if residue == middle) / 200
        sure = [min(100.0, 30 + int(conserved) / 20 + bonus - 2 * sum(int(row[i]) for row in deletions))
                for i, (_, _, conserved) in enumerate(features)]
        files.confidence(name, model).write_text(
            "".join(f"{i}\t{value:.2f}\n" for i, value in enumerate(sure, 1)))

        step.uses("msa_features", name, DISK, str(files.features(name)))
        step.uses("deletion_matrix", name, DISK, str(files.deletions(name)))
        step.uses("template_hits", name, DISK, str(files.hits(name)))
        step.uses("model_params", model, DISK, str(files.params(model)))
        made["structure", name, model] = step.generates(
            "structure", f"{name}/{model}", DISK, str(files.structure(name, model)))
        made["confidence", name, model] = step.generates(
            "confidence", f"{name}/{model}", DISK, str(files.confidence(name, model)))
        step.update(args={"sequence": name, "mean_confidence": sum(sure) / len(sure)})


def strain(atoms):
    """What the springs hold: between neighbours, and where two others come closer than their length."""
    total = 0.0
    for i, a in enumerate(atoms):
        for j in range(i + 1, len(atoms)):
            d = math.dist(a, atoms[j])
            if j == i + 1 or d < 3.8:
                total += (d - 3.8) ** 2
    return total


def push_apart(atoms):
    for i, a in enumerate(atoms):
        for j in range(i + 1, len(atoms)):
            b = atoms[j]
            d = math.dist(a, b) or 0.01
            if j == i + 1 or d < 3.8:
                move = [(q - p) / d * (3.8 - d) * 0.4 for p, q in zip(a, b)]
                for k in range(3):
                    a[k] -= move[k] / 2
                    b[k] += move[k] / 2


def relax(files, name, model, made):
    with dft_fn("PROV", name="relaxation") as step:
        residues, atoms = read_structure(files.structure(name, model))
        before = strain(atoms)
        for _ in range(12):
            push_apart(atoms)
        after = strain(atoms)
        write_structure(files.relaxed(name, model), residues, atoms)
        files.report(name, model).write_text(f"before {before:.3f}\nafter {after:.3f}\n")

        step.relate(EntityRelation.USED, made["structure", name, model])
        step.uses("force_field", SPRING)
        relaxed = made["relaxed_structure", name, model] = step.generates(
            "relaxed_structure", f"{name}/{model}", DISK, str(files.relaxed(name, model)))
        made["relax_report", name, model] = step.generates(
            "relax_report", f"{name}/{model}", DISK, str(files.report(name, model)))
        step.update(args={"sequence": name, "strain": after})
    dftracer.get_instance().relate_entities(
        EntityRelation.REVISION_OF, relaxed, made["structure", name, model])


def score(files, name, model):
    rows = [float(line.split()[1]) for line in files.confidence(name, model).read_text().splitlines()]
    left = float(files.report(name, model).read_text().split()[-1])
    return sum(rows) / len(rows) - left / 10


def rank(files, name, made):
    """Returns the better model and its score."""
    with dft_fn("PROV", name="ranking") as step:
        scores = {model: score(files, name, model) for model in MODELS}
        winner = max(MODELS, key=scores.get)
        residues, atoms = read_structure(files.relaxed(name, winner))
        write_structure(files.best(name), residues, atoms, f"REMARK {winner}\n")

        for kind in ("relaxed_structure", "confidence", "relax_report"):
            for model in MODELS:
                step.relate(EntityRelation.USED, made[kind, name, model])
        best = made["best_structure", name] = step.generates(
            "best_structure", name, DISK, str(files.best(name)))
        step.update(args={"sequence": name, "score": scores[winner]})
    dftracer.get_instance().relate_entities(
        EntityRelation.DERIVED_FROM, best, made["relaxed_structure", name, winner])
    return winner, scores[winner]


def export(files, name, winner, points, made):
    with dft_fn("PROV", name="export") as step:
        with tarfile.open(files.archive(name), "w", format=tarfile.USTAR_FORMAT) as tar:
            for path in (files.best(name), files.confidence(name, winner), files.report(name, winner)):
                data = path.read_bytes()
                entry = tarfile.TarInfo(path.name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        with files.index().open("a") as index:
            index.write(f"{name}\t{winner}\t{points:.3f}\n")

        inside = (made["best_structure", name], made["confidence", name, winner],
                  made["relax_report", name, winner])
        for entity in inside:
            step.relate(EntityRelation.USED, entity)
        archive = step.generates("archive", name, DISK, str(files.archive(name)))
        step.relate_entity(EntityRelation.UPDATED, "results_index", "index", DISK, str(files.index()))
        step.update(args={"sequence": name, "model": winner})
    for entity in inside:
        dftracer.get_instance().relate_entities(EntityRelation.CONTAINS, archive, entity)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: stage3.py WORKDIR")
    files = Files(Path(sys.argv[1]))
    names = sorted(p.name.split(".")[0] for p in (files.work / "features").glob("*.features.tsv"))
    if not names:
        sys.exit(f"stage3: {files.work}/features: no features")

    gate("start")
    log = dftracer.initialize_log(None, None, -1)
    log.log_metadata_event("pipeline", "protein-structure")
    log.mark_used("PIPELINE")
    log.set_app_metadata_string("stage", "structures")
    for kind, role, description in TYPES:
        log.declare_entity_type(kind, role, description)
    made = {}
    for model in MODELS:
        for name in names:
            predict(files, name, model, made)
    gate("relaxation")
    for model in MODELS:
        for name in names:
            relax(files, name, model, made)
    winners = {name: rank(files, name, made) for name in names}
    for name in names:
        export(files, name, *winners[name], made)
    log.set_app_metadata_int("sequences", len(names))
    log.finalize()


if __name__ == "__main__":
    main()
