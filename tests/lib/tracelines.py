# SPDX-License-Identifier: MIT
"""Traces as rows of JSON lines: written at random, and read without any of our programs."""
import gzip
import json
from pathlib import Path

READS, WRITES = {"read", "pread"}, {"write", "pwrite"}


def paths(where):
    """The trace files below, in order of their paths."""
    where = Path(where)
    if where.is_file():
        return [where]
    return sorted((p for p in where.rglob("*") if p.name.endswith((".pfw", ".pfw.gz"))),
                  key=lambda p: str(p).encode())


def text(path):
    data = Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


class Line:
    """A record with the place it stands at."""

    def __init__(self, path, number, raw):
        self.path, self.number, self.raw = str(path), number, raw
        self.rec = json.loads(raw.rstrip(b", \r"))
        self.args = self.rec.get("args", {})

    @property
    def is_event(self):
        return self.rec["ph"] in (1, "X")


def lines(where):
    """All records, file by file."""
    return [Line(p, i, raw) for p in paths(where)
            for i, raw in enumerate(text(p).split(b"\n"), 1) if raw.strip() not in (b"", b"[", b"]")]


def names(all_lines, kind):
    """{hash: name} of the FH, SH or HH records."""
    return {x.args["value"]: bytes.fromhex(x.args["raw"]) if "raw" in x.args else
            x.args["name"].encode() for x in all_lines if x.rec["name"] == kind}


def bytes_of(x):
    """(read, written) by a call."""
    ret = max(x.args.get("ret", 0), 0)
    return (ret if x.rec["name"] in READS else 0, ret if x.rec["name"] in WRITES else 0)


def busy(Trace, rng, pid, n, host="node01", exe="worker", **kw):
    """A process of several threads whose spans nest within each thread, regions around calls."""
    t = Trace(pid=pid, host=host, cmd=f"{exe};-x", exe=exe, **kw)
    t.ts += rng.randrange(1000000)
    files = [f"/data/{exe}/{i}" for i in range(5)] + ["/odd/\"q\"\\x\n\u00e9", b"/raw/\xff\xfe"]
    clock = {tid: t.ts for tid in (pid, pid + 1, pid + 2)}
    for _ in range(n):
        t.tid = rng.choice(list(clock))
        t.ts = clock[t.tid]
        dur = rng.choice([0, 1, 3, 50, 700])
        name = rng.choice(["read", "pread", "write", "pwrite", "stat", "open", "close"])
        if rng.random() < 0.1:
            start, inner = t.ts + 1, 0
            for _ in range(3):
                t.event("pread", file=rng.choice(files), dur=5, step=2, args={"ret": 10, "offset": 7})
                t.ts += 5
            t.ts, inner = start, t.ts - start
            t.event("region", cat="app", type=2, dur=inner + 1, step=0, args={"step": 3})
            t.ts += inner + 1
        elif name in READS | WRITES:
            failed = rng.random() < 0.1
            args = {"count": 4096, "ret": -1, "errno": 5} if failed else \
                   {"count": 4096, "ret": rng.randrange(5000)}
            t.event(name, file=rng.choice(files), dur=dur, step=rng.randrange(1, 90), args=args)
        else:
            t.event(name, file=rng.choice(files), dur=dur, step=rng.randrange(1, 90), args={"ret": 0})
        clock[t.tid] = max(clock[t.tid], t.ts + dur)
    t.tid = pid
    t.ts = max(clock.values())
    return t
