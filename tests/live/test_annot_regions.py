# SPDX-License-Identifier: MIT
"""Regions: those that a program ended, where it ended them, nested as it nested them, and no other.

The programs say themselves, with their own clock, what they open and close (region_log.h).
"""
import collections
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"
TYPES = {"C_APP": 2, "CPP_APP": 9}
RACED = "raced"  # closed by two threads at once: either may be the one that does it


class Region:
    """One that the program has opened."""

    def __init__(self, words):
        self.pid, self.opener, self.id = map(int, words[1:4])
        self.parent = None if words[4] == "-" else tuple(map(int, words[4].split(":")))
        self.name = words[5]
        self.opened = int(words[6]), int(words[7])
        self.closed = None  # (t2, t3)
        self.closer = None  # tid
        self.pad = None

    @property
    def key(self):
        return self.pid, self.id


class Said:
    """What the program said: `regions` {(pid, id): Region}, `inherited` {pid: closed in a child}."""

    def __init__(self, text):
        self.regions, self.words = {}, collections.defaultdict(list)
        self.inherited = collections.Counter()
        for line in text.splitlines():
            words = line.split()
            getattr(self, {"+": "on_open", "-": "on_close", "^": "on_taken", "!": "on_word"}[words[0]])(words)

    def on_open(self, words):
        r = Region(words)
        check(r.key not in self.regions, f"{r.key} was opened twice")
        self.regions[r.key] = r

    def on_close(self, words):
        pid, tid = int(words[1]), int(words[2])
        key = tuple(map(int, words[3].split(":")))
        if key[0] != pid:
            self.inherited[pid] += 1
            return
        r = self.regions[key]
        check(r.closed is None, f"{r.name} {key} was closed twice")
        r.closed, r.closer = (int(words[4]), int(words[5])), tid

    def on_taken(self, words):
        r = self.regions[tuple(map(int, words[3].split(":")))]
        r.parent = None if words[4] == "-" else tuple(map(int, words[4].split(":")))

    def on_word(self, words):
        name, _, number = words[3].partition(":")
        if name == "pad":
            key = int(words[1]), int(number)
            if key in self.regions:  # else it is the parent's, and padded by its child
                self.regions[key].pad = int(words[4])
        else:
            self.words[name].append(int(words[4]))

    def ended(self):
        return {key: r for key, r in self.regions.items() if r.closed}

    def parent_of(self, r):
        """The key of the next region around it that has ended, in the same process."""
        above = self.regions.get(r.parent)
        while above is not None and (not above.closed or above.pid != r.pid):
            above = self.regions.get(above.parent)
        return above.key if above else None


# ---- the trace -------------------------------------------------------------------------------

def spans(t):
    """Events of the application: {(pid, id argument): record}."""
    out = {}
    for f in t.files:
        for r in f.records:
            if r["ph"] == 1 and r["type"] not in (1, 3):
                check("id" in r["args"], f"a region without its id: {str(r)[:300]}")
                key = r["pid"], r["args"]["id"]
                check(key not in out, f"{r['name']} {key} is there twice")
                out[key] = r
    return out


def nesting(records):
    """{key: key of the innermost one around it}, by thread; all must be nested or apart."""
    parents, by_thread = {}, collections.defaultdict(list)
    for key, r in records.items():
        by_thread[r["pid"], r["tid"]].append((r["ts"], -(r["ts"] + r["dur"]), key))
    for thread, found in by_thread.items():
        stack = []
        for begin, minus_end, key in sorted(found):
            while stack and stack[-1][0] <= begin:
                stack.pop()
            if stack:
                check(-minus_end <= stack[-1][0],
                      f"{records[key]['name']} {key} overlaps {stack[-1][1]} of thread {thread}")
            parents[key] = stack[-1][1] if stack else None
            stack.append((-minus_end, key))
    return parents


def same_times(t, said, records):
    """Each begin and end within the program's readings around it, by one distance of the clocks."""
    low, high = -1 << 62, 1 << 62
    for key, r in records.items():
        want = said.regions[key]
        for us, (before, after) in ((r["ts"], want.opened), (r["ts"] + r["dur"], want.closed)):
            low, high = max(low, us * 1000 - after), min(high, us * 1000 + 1000 - before)
            check(low < high, f"{want.name} {key}: {us} us is not within {before}..{after}, as others are")
    distance = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    check(not records or low - 1_000_000 < distance < high + 1_000_000,
          f"clocks are {distance} apart, in the trace {low}..{high}")


def same_args(r, want):
    keys = ["hhash", "id"] + ([] if want.pad is None else ["pad"])
    got = [k for k in r["args"] if k != "end"]
    equal(got, keys, f"arguments of {want.name} {want.key}")
    if want.pad is not None:
        text = "".join(chr(97 + (i + want.id) % 26) for i in range(want.pad))
        check(r["args"]["pad"] == text, f"argument of {want.name} {want.key}, {want.pad} bytes")


def left_behind(f):
    return f.end.get("annotations", {})


def shapes(tmp, program, *names, options=()):
    """Runs it traced and holds the trace against what it said."""
    need_root()
    t = trace(tmp, [PROGS / program, *names], *options)
    check_with_reader(t.path)
    t.no_loss()
    said, records = Said(t.run.out.decode()), spans(t)
    want = said.ended()

    def named(regions, parents):
        return collections.Counter(
            (r.name, r.pid, said.regions[parents[k]].name if parents[k] else None) for k, r in regions.items())

    parents = nesting(records)
    known = {k: said.regions[k] for k in records if k in said.regions}
    equal(sorted(set(records) - set(want)), [], "invented regions, (pid, id)")
    equal(sorted(set(want) - set(records)), [], "missing regions, (pid, id)")
    truth = {k: said.parent_of(r) for k, r in want.items()}
    equal(named(known, parents), named(want, truth), "(name, pid, parent)")
    for key, r in want.items():
        got = records[key]
        equal(parents[key], truth[key], f"what is around {r.name} {key}")
        equal(got["name"], r.name, f"name of {key}")
        equal(got["type"], TYPES.get(got["cat"]), f"type of {r.name}, {got['cat']}")
        if r.name != RACED:
            equal(got["tid"], r.closer, f"thread of {r.name} {key}")
        same_args(got, r)
    same_times(t, said, records)
    for f in t.files:
        equal(left_behind(f).get("inherited", 0), said.inherited[f.pid], f"inherited by {f.path.name}")
        # Regions without an end tell nothing, unless they were too large for one probe.
        left = [r for r in said.regions.values() if r.pid == f.pid and not r.closed and (r.pad or 0) > 444]
        equal(left_behind(f).get("unended", 0), len(left), f"left unfinished in {f.path.name}")
    return t, said


def names_of(said):
    return collections.Counter(r.name for r in said.ended().values())


# ---- C ---------------------------------------------------------------------------------------

@test
def test_five_nested(tmp):
    """Functions and blocks, five deep and more, with siblings and loops."""
    _, said = shapes(tmp, "region_shapes", "nested")
    deep, r = 1, next(r for r in said.regions.values() if r.name == "level5")
    while r.parent:
        deep, r = deep + 1, said.regions[r.parent]
    equal(deep, 5, "functions around level5, with it")
    equal(names_of(said)["level4"], 8, "level4 entered")


@test
def test_early_ends(tmp):
    """return, break, continue, goto; END twice."""
    _, said = shapes(tmp, "region_shapes", "early")
    equal(names_of(said)["early"], 9, "functions left")
    equal({r.name for r in said.regions.values() if not r.closed}, set(), "left open")


@test
def test_longjmp(tmp):
    """What is jumped out of is not reported, and its memory serves for others."""
    _, said = shapes(tmp, "region_shapes", "jumps", "nested")
    equal(sum(1 for r in said.regions.values() if not r.closed), 13, "never ended")


@test
def test_recursion(tmp):
    """3,000 deep, on the first stack and on one of 4 MiB."""
    _, said = shapes(tmp, "region_shapes", "recursion")
    equal(names_of(said)["descend"], 6000, "regions")
    for used in said.words["stack"]:
        check(used < 3000 * 900, f"{used} bytes of stack for 3,000 regions")


@test
def test_recursion_small_stack(tmp):
    """The same where the stack of the process is 4 MiB."""
    need_root()
    need_program("prlimit")
    shapes_program = PROGS / "region_shapes"
    t = trace(tmp, ["prlimit", f"--stack={4 << 20}", shapes_program, "recursion"], "--usdt", shapes_program)
    equal(collections.Counter(r["name"] for r in spans(t).values())["descend"], 6000, "regions")


@test
def test_fork(tmp):
    """The child comes back through its parents' regions, or leaves in one; those are the parent's."""
    t, said = shapes(tmp, "region_shapes", "forks")
    equal(sorted(said.inherited.values()), [1, 2], "regions that children came back through")
    equal(len(t.files), 4, "processes")
    equal(names_of(said)["lost_by_exit"], 0, "ended in the child that left")
    equal(names_of(said)["fork_inside"], 2, "ended by who began them")


@test
def test_vfork_and_exec(tmp):
    """A child in the parent's memory, with a region of its own, executes or leaves."""
    t, said = shapes(tmp, "region_shapes", "vforks")
    equal(names_of(said), {"of_vforked_child": 2, "leaf": 1, "in_leaf": 1, "vforks": 1, "around_vfork": 1}, "regions")
    equal(len(t.files), 3, "processes")


@test
def test_posix_spawn(tmp):
    t, said = shapes(tmp, "region_shapes", "spawns")
    equal(names_of(said), {"leaf": 1, "in_leaf": 1, "spawns": 1, "around_spawn": 1}, "regions")
    equal(len(t.files), 2, "processes")


@test
def test_exec_in_region(tmp):
    """The regions of the program that was replaced have no end; the next one has its own."""
    t, said = shapes(tmp, "region_shapes", "execs")
    equal(names_of(said), {"leaf": 1, "in_leaf": 1}, "regions")
    equal(len(t.files), 1, "processes")


@test
def test_threads_end_in_regions(tmp):
    """By pthread_exit and pthread_cancel, with a handle open; others take their stacks over."""
    _, said = shapes(tmp, "region_shapes", "threads")
    names = names_of(said)
    equal((names["leave_by_exit"], names["ends_by_cancel"], names["of_ended_thread"]), (0, 0, 4), "ended")


@test
def test_threads_that_unwind(tmp):
    """The same where the end of a thread runs what its scopes have to."""
    _, said = shapes(tmp, "region_shapes_unwound", "threads")
    names = names_of(said)
    equal((names["leave_by_exit"], names["ends_by_cancel"], names["inner"]), (4, 4, 4), "ended")


@test
def test_handles(tmp):
    """Closed by another thread, twice, by two threads at once, after FINI."""
    _, said = shapes(tmp, "region_shapes", "handles")
    equal(names_of(said)[RACED], 300, "closed by two threads")


@test
def test_everything_in_one_process(tmp):
    """One after the other, with what each of them leaves behind; then another program."""
    shapes(tmp, "region_shapes", "nested", "early", "jumps", "recursion", "handles", "forks", "vforks", "spawns",
           "threads", "execs")


# ---- C++ -------------------------------------------------------------------------------------

@test
def test_cpp_nested(tmp):
    """Functions, blocks and lambdas."""
    _, said = shapes(tmp, "region_shapes_cpp", "nested")
    equal(names_of(said)["nest"], 2 + 3 + 4 + 6, "functions")


@test
def test_cpp_exceptions(tmp):
    """Thrown five functions deep, out of a constructor, again, and during another."""
    _, said = shapes(tmp, "region_shapes_cpp", "exceptions")
    equal({r.name for r in said.regions.values() if not r.closed}, set(), "left open")
    equal(names_of(said)["thrower"], 15, "functions left by an exception")


@test
def test_cpp_dynamic(tmp):
    """START and END in different places and threads; one that is never deleted."""
    _, said = shapes(tmp, "region_shapes_cpp", "dynamic")
    equal([r.name for r in said.regions.values() if not r.closed], ["leaked"], "left open")


@test
def test_cpp_values(tmp):
    """Objects moved, copied, assigned, finalized by hand: each region once, with all it was told."""
    _, said = shapes(tmp, "region_shapes_cpp", "values")
    equal(names_of(said)["in_vector"], 9, "in a vector that grows")


@test
def test_cpp_threads(tmp):
    """pthread_exit in a region, and eight threads at once."""
    _, said = shapes(tmp, "region_shapes_cpp", "threads")
    equal((names_of(said)["leaves"], names_of(said)["thrower"]), (4, 8 * 15), "regions")


@test
def test_cpp_fork_and_exit(tmp):
    """A child out of its parent's regions; a region that ends after main()."""
    _, said = shapes(tmp, "region_shapes_cpp", "statics", "forks")
    equal(names_of(said)["until_exit"], 1, "ended at exit")
    equal(list(said.inherited.values()), [4], "regions that the child came back through")


if __name__ == "__main__":
    main()
