# SPDX-License-Identifier: MIT
"""What a tracer kept: counted in its output, by names of calls, and held against what was called."""
import collections
import gzip
import json
import re
import subprocess

CHUNK = 16 << 20


class Account:
    """kept, shed, excluded: calls by name. lost: what the trace says is missing, by its own names.
    aggregated: what the ends of files say of how much was shed."""

    def __init__(self):
        self.kept = collections.Counter()
        self.shed = collections.Counter()
        self.excluded = collections.Counter()
        self.lost = collections.Counter()
        self.aggregated = 0
        self.bytes = 0


def chunks(path):
    """The uncompressed bytes of a file of a trace, in pieces that end at a line's end."""
    with gzip.open(path, "rb") as f:
        while True:
            piece = f.read(CHUNK)
            if not piece:
                return
            yield piece + f.readline()


def lines_with(piece, mark):
    """The lines of the piece that have the mark in them."""
    at = piece.find(mark)
    while at >= 0:
        begin = piece.rfind(b"\n", 0, at) + 1
        end = piece.find(b"\n", at)
        yield piece[begin:end]
        at = piece.find(mark, end)


def read_trace(directory, names):
    """The account of a trace, of the calls in names. Lines are counted by what they have in them, not
    parsed: a run of the benchmark has some hundred million."""
    account = Account()
    for path in directory.glob("*.pfw.gz"):
        account.bytes += path.stat().st_size
        for piece in chunks(path):
            for name in names:
                # of an event: an aggregated record begins with the name
                account.kept[name] += piece.count(b',"name":"%s","cat":' % name.encode())
            for line in lines_with(piece, b',"ph":3,'):
                record = json.loads(line)
                if record["ph"] != 3 or record["name"] not in names:
                    continue
                # faults in mapped files are in rows always
                kind = account.shed if record["args"].get("shed") else account.kept
                kind[record["name"]] += record["args"]["dft_cnt"]
            for line in lines_with(piece, b'"name":"end","cat":"dftracer"'):
                args = json.loads(line)["args"]
                lost = args.get("lost", {})
                account.aggregated += lost.pop("aggregated", 0)
                account.lost.update(lost)
                account.excluded.update(args.get("filtered", {}).get("excluded", {}))
    return account


def differences(expected, account, lost_as=None):
    """What does not add up, in words. expected: calls by name; lost_as: under what name `lost` has
    those calls, where it is another."""
    wrong = []
    for name, calls in expected.items():
        lost = account.lost[(lost_as or {}).get(name, name)]
        there = account.kept[name] + account.shed[name] + lost
        if there != calls:
            wrong.append(f"{calls} calls of {name}: {account.kept[name]} events + "
                         f"{account.shed[name]} in sums + {lost} lost = {there}")
    shed = sum(account.shed.values())
    if account.aggregated != shed:
        wrong.append(f"{shed} calls in sums, and the ends of the files say {account.aggregated}")
    return wrong


def differences_excluded(expected, account):
    """The same for a file that is filtered: none in the trace, all counted."""
    wrong = []
    for name, calls in expected.items():
        counted = account.excluded[name] + account.lost[name]
        if counted != calls or account.kept[name]:
            wrong.append(f"{calls} calls of {name} on an excluded file: {account.kept[name]} events, "
                         f"{account.excluded[name]} excluded + {account.lost[name]} lost = {counted}")
    return wrong


def gzip6(path):
    """The size of the file as `gzip -6` makes it."""
    done = subprocess.run(["gzip", "-6", "-c", str(path)], stdout=subprocess.PIPE, check=True)
    return len(done.stdout)


def count_text(path, mark):
    """How often the pattern matches in a text file."""
    with open(path, "rb") as f:
        return sum(1 for _ in re.finditer(mark, f.read(), re.M))


def count_perf(path, event):
    """How many of the event are in perf's file: of all calls, for instance, whatever their names."""
    done = subprocess.run(["perf", "report", "--stats", "-i", str(path)], capture_output=True,
                          text=True, check=True)
    exits = re.search(rf"{event} stats:\s+SAMPLE events:\s+(\d+)", done.stdout)
    return int(exits.group(1)) if exits else 0
