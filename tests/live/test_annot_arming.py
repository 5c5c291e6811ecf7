# SPDX-License-Identifier: MIT
"""Which programs are listened to, and from when on: every hit is there, or in a gap that is told.

The programs say themselves, with their own clock, what they open and close (region_log.h).
"""
import collections
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"
NOBODY = 65534
# A program that waits for the tracer says itself when somebody listens, which is the moment before.
LATE = {"late", "armed_late"}


# ---- what the program said ---------------------------------------------------------------------

Hit = collections.namedtuple("Hit", "pid id name opened closed")


class Said:
    """Regions that were closed in the process that opened them, and words {word: [number]}."""

    def __init__(self, text):
        opened, self.hits, self.words = {}, [], collections.defaultdict(list)
        for line in text.splitlines():
            w = line.split()
            if w[0] == "+":
                opened[int(w[1]), int(w[3])] = w[5], int(w[6]), int(w[7])
            elif w[0] == "-":
                key = tuple(map(int, w[3].split(":")))
                name, t0, t1 = opened[key]
                if key[0] == int(w[1]):
                    self.hits.append(Hit(*key, name, (t0, t1), (int(w[4]), int(w[5]))))
            elif w[0] == "!":
                self.words[w[3]].append(int(w[4]))

    def pids(self, name):
        return {h.pid for h in self.hits if h.name == name}

    def pid(self, name):
        pids = self.pids(name)
        equal(len(pids), 1, f"processes with {name}")
        return pids.pop()


class Driver(Background):
    """region_arm: does what it is told, and all that it has said is in `text`."""

    def __init__(self, program=None, **kw):
        super().__init__([program or PROGS / "region_arm"], **kw)
        self.text = ""

    def do(self, *words):
        """Has it obey; returns what it says to that."""
        self.tell((" ".join(map(str, words)) + "\n").encode())
        said = ""
        while True:
            line = self.line().decode()
            check(line.endswith("\n"), lambda: f"region_arm has ended, told {words}, after {said!r}")
            if line == ".\n":
                break
            said += line
        self.text += said
        return said

    def number(self, *words):
        return int(self.do(*words).split()[-1])

    def leave(self):
        self.tell(b"exit\n")
        self.text += self.proc.stdout.read().decode()
        equal(self.wait(), 0, "exit status of the program")


def answer(background, until=b"\n"):
    return read_until(background.proc.stdout.fileno(), until).decode()


def errors_of(tracer):
    """Its stderr so far; not by reading, which would move where it writes."""
    return os.pread(tracer.errfile.fileno(), 1 << 20, 0).decode("utf-8", "replace")


def wait_armed(tracer, path, times=1):
    """Until the tracer (with -v) has said that the file is armed."""
    line = re.compile(rf"^dftrace-bpf: {re.escape(str(path))}: \d+ probes armed$", re.M)
    deadline = time.monotonic() + LIVE_TIMEOUT
    while len(line.findall(errors_of(tracer))) < times:
        check(time.monotonic() < deadline, lambda: f"{path} is not armed: {errors_of(tracer)!r}")
        os.sched_yield()


# ---- what the trace says -----------------------------------------------------------------------

def events(t, pids=None):
    """Events of the application, of all processes or of some: {(pid, id argument): record}."""
    out = {}
    for f in t.files:
        if pids is not None and f.pid not in pids:
            continue
        for r in f.records:
            if r["ph"] == 1 and r["cat"] == "C_APP":
                key = r["pid"], r["args"]["id"]
                check(key not in out, f"{r['name']} {key} is there twice")
                out[key] = r
    return out


def custom(f, name):
    return [r["args"] for r in f.records if r["name"] == "CM" and r["args"]["name"] == name]


def gaps(t, pid=None):
    """[(path, from, to)] in microseconds, of all processes or of one."""
    out = []
    for f in t.files:
        equal(custom(f, "probes_unarmed"), [], f"not armed in {f.path.name}")
        if pid in (None, f.pid):
            out += [(a["path"], a["ts"], a["ts"] + int(a["value"])) for a in custom(f, "probes_gap_us")]
    return out


def clocks(found, hits):
    """Bounds, in ns, of how far the trace's clock is ahead of the program's."""
    low, high = -1 << 62, 1 << 62
    for h in hits:
        r = found.get((h.pid, h.id))
        if r is not None:
            for us, (before, after) in ((r["ts"], h.opened), (r["ts"] + r["dur"], h.closed)):
                low, high = max(low, us * 1000 - after), min(high, us * 1000 + 1000 - before)
                check(low < high, f"{h.name}: {us} us is not within {before}..{after}, as others are")
    return low, high


def compare(t, said, *, late=(), absent=()):
    """Each hit is in the trace, and nothing else. Of names in `late` those may be missing that began
    before a gap of their process ended; those in `absent` are not there."""
    t.no_loss()
    check_with_reader(t.path)
    found = events(t)
    low, _ = clocks(found, said.hits)
    want = {(h.pid, h.id): h for h in said.hits if h.name not in absent}
    equal(sorted(set(found) - set(want)), [], "regions that did not happen, (pid, id)")
    for key, h in want.items():
        if key in found:
            equal(found[key]["name"], h.name, f"name of {key}")
            continue
        check(h.name in late, f"{h.name} {key} is missing")
        where = late[h.name] if isinstance(late, dict) else None
        ends = [end for path, _, end in gaps(t, h.pid) if where in (None, path)]
        equal(len(ends), 1, f"gaps of process {h.pid}, file {where}")
        check(h.opened[0] + low <= ends[0] * 1000 + 1000, f"{h} is missing after its gap, which ended at {ends[0]}")


def copy(program, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGS / program, to)
    os.chmod(to, 0o755)
    return to


# ---- from the start ----------------------------------------------------------------------------

@test
def test_first_line_of_main(tmp):
    """The very first region of a command, and of one that is static."""
    need_root()
    for program in ("region_hits", "region_static"):
        t = trace(tmp, [PROGS / program, "first", "20"], out=tmp / program)
        said = Said(t.run.out.decode())
        equal(len(said.hits), 20, "hits")
        compare(t, said)
        equal(gaps(t), [], "gaps")


@test
def test_program_among_the_arguments(tmp):
    """Of a command that runs another one, which is named by its path."""
    need_root()
    t = trace(tmp, ["env", "A=/b", "nice", PROGS / "region_hits", "first", "20"])
    said = Said(t.run.out.decode())
    equal(len(said.hits), 20, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")


@test
def test_before_main(tmp):
    """A library that comes with the command, and has regions before main()."""
    need_root()
    t = trace(tmp, [PROGS / "region_hits", "first", "20"],
              env=clean_env(LD_PRELOAD=str(PROGS / "region_lib"), REGION_LIB_EARLY="1"))
    said = Said(t.run.out.decode())
    # The tracer got the library as well, and does not trace itself.
    said.hits = [h for h in said.hits if h.pid == said.pid("first")]
    equal(collections.Counter(h.name for h in said.hits), {"early": 5, "first": 20}, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")


@test
def test_inlined_copies(tmp):
    """One probe at four places of a program: each is listened to."""
    need_root()
    need_program("readelf")
    notes = run(["readelf", "-n", PROGS / "region_inline"]).want(0).out.decode()
    equal(len(re.findall(r"Name: event\b", notes)), 4, "places")
    t = trace(tmp, [PROGS / "region_inline", "100"])
    t.no_loss()
    check_with_reader(t.path)
    got = [(r["name"], r["args"]["value"]) for f in t.files for r in f.records if r.get("cat") == "INLINE"]
    want = []
    for i in range(100):
        want += [("odd" if i % 2 else "even", i), ("always", i), ("another", i)]
    equal(got, want, "hits")


@test
def test_script(tmp):
    """A script whose first line names an annotated program; a script of which that is the interpreter."""
    need_root()
    hits = copy("region_hits", tmp / "bin/hits")
    script, second = tmp / "bin/script", tmp / "bin/second"
    script.write_text(f"#!{hits} of_script\n")
    second.write_text(f"#!{script}\n")
    for path in (script, second):
        os.chmod(path, 0o755)
    # NAME is what the line says; N is the script's name, which is no number. With a second script
    # the first one's name comes before.
    for path, want in ((script, 0), (second, 0)):
        t = trace(tmp, [path, "3"], out=tmp / path.name)
        said = Said(t.run.out.decode())
        equal(len(said.hits), want, "hits of a script without a number")
        equal(said.words["listens"], [1], f"who listens to what executes {path.name}")
    env = tmp / "bin/env"
    env.write_text(f"#!{copy('region_arm', tmp / 'bin/arm')}\n")
    os.chmod(env, 0o755)
    (tmp / "commands").write_text("hits in_script 30\nexit\n")
    with open(tmp / "commands") as commands:
        t = trace(tmp, [env], stdin=commands, out=tmp / "t")
    said = Said(t.run.out.decode().replace(".\n", ""))
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")


@test
def test_other_user(tmp):
    """CMD as nobody, and a program that makes root of nobody."""
    need_root()
    hits = copy("region_hits", tmp / "bin/hits")
    t = trace(tmp, [hits, "as_nobody", "20"], "-u", "nobody", out=tmp / "nobody")
    said = Said(t.run.out.decode())
    equal((len(said.hits), said.words["euid"]), (20, [NOBODY]), "hits and user")
    compare(t, said)
    equal(gaps(t), [], "gaps")
    os.chown(hits, 0, 0)
    os.chmod(hits, 0o4755)
    t = trace(tmp, [hits, "setuid", "20"], "-u", "nobody", out=tmp / "setuid")
    said = Said(t.run.out.decode())
    equal((len(said.hits), said.words["euid"]), (20, [0]), "hits and user")
    compare(t, said)
    equal(gaps(t), [], "gaps")


# ---- later -------------------------------------------------------------------------------------

@test
def test_library_loaded_later(tmp):
    """After attaching: hits are missed in the gap only; none after it, nor when it is loaded again."""
    need_root()
    lib, other = copy("region_lib", tmp / "lib.so"), copy("region_lib", tmp / "other.so")
    with Driver() as d, Tracer(tmp, "-v", "-p", d.pid) as tracer:
        d.do("hits", "program", 5)
        d.do("load", lib)
        d.do("lib", "first", 40, 1000)
        d.do("lib-until", 1)
        wait_armed(tracer, lib)
        d.do("lib", "armed", 40, 2000)
        d.do("unload")
        d.do("load", lib)
        d.do("lib", "again", 40, 3000)
        d.do("unload")
        # Another file, though it is equal, is looked at for itself.
        d.do("load", other)
        d.do("lib", "first_of_other", 40, 4000)
        wait_armed(tracer, other)
        d.do("lib", "armed_other", 40, 5000)
        d.leave()
        t = tracer.wait()
    said = Said(d.text)
    equal(len(said.hits), 205, "hits")
    compare(t, said, late={"first": str(lib), "first_of_other": str(other)})
    equal(sorted(g[0] for g in gaps(t)), sorted(map(str, (lib, other))), "files with a gap")


@test
def test_processes_started_later(tmp):
    """Of the same program, of another one, and of another one that was named before."""
    need_root()
    later, named = copy("region_hits", tmp / "later"), copy("region_hits", tmp / "named")
    static = copy("region_static", tmp / "static")
    with Driver() as d, Tracer(tmp, "-v", "--usdt", named, "--usdt", static, "-p", d.pid) as tracer:
        wait_armed(tracer, named)
        for _ in range(3):
            d.do("spawn", named, "named", 30)
            d.do("spawn", static, "static", 30)
        d.do("spawn", later, "later", 30)
        wait_armed(tracer, later)
        d.do("spawn", later, "later_again", 30)
        d.do("child")
        d.do("hits", "in_child", 30)
        d.do("exit")
        d.do("hits", "parent", 30)
        d.leave()
        t = tracer.wait()
    said = Said(d.text)
    equal(len(said.hits), 9 * 30 + 30, "hits")
    equal(set(said.words["status"]), {0}, "how processes ended")
    compare(t, said, late={"later"})
    equal([g[0] for g in gaps(t)], [str(later)], "files with a gap")
    equal([g[0] for g in gaps(t, said.pid("later"))], [str(later)], "files with a gap, in that process")


@test
def test_second_process_from_elsewhere(tmp):
    """Not a child: another process of the same file, which -a sees, and which has what it needs."""
    need_root()
    with Driver() as first, Tracer(tmp, "-v", "-a") as tracer:
        first.do("hits", "ran_before", 30)
        r = run([PROGS / "region_arm"], input=b"hits started_later 30\nexit\n").want(0)
        with Driver() as third:
            third.do("hits", "third", 30)
            third.leave()
        first.leave()
        t = tracer.stop()
    said = Said(first.text + r.out.decode().replace(".\n", "") + third.text)
    equal(len(said.hits), 90, "hits")
    found = events(t, {h.pid for h in said.hits})
    equal(len(found), 90, "events")
    for h in said.hits:
        check((h.pid, h.id) in found, f"missing: {h}")
        equal(found[h.pid, h.id]["name"], h.name, "name")
        equal(gaps(t, h.pid), [], "gaps")


@test
def test_child_after_fork(tmp):
    """A child of a process that was hit already: its own hits, while traced and after."""
    need_root()
    with Driver(copy("region_arm", tmp / "program")) as d:
        others = d.number("listens")  # none, unless somebody else traces this machine
        with Tracer(tmp, "--no-prov", "-p", d.pid) as tracer:
            d.do("hits", "before_fork", 5)
            equal(d.number("listens"), others + 1, "listeners while traced")
            d.do("child")
            d.do("hits", "in_child", 5)
            d.do("child")
            d.do("hits", "in_grandchild", 5)
            t = tracer.stop()
        # We do not listen any more, to it neither.
        equal(d.number("listens"), others, "listeners of the grandchild")
        d.do("hits", "unheard", 5)
        d.do("exit")
        equal(d.number("listens"), others, "listeners of the child")
        d.do("hits", "unheard", 5)
        d.do("exit")
        equal(d.number("listens"), others, "listeners of the parent")
        d.leave()
    said = Said(d.text)
    equal(set(said.words["status"]), {0}, "how the children ended")
    compare(t, said, absent={"unheard"})


# ---- elsewhere ---------------------------------------------------------------------------------

@test
def test_chroot(tmp):
    """A copy in a directory that is the root of its process: executed there, and attached to there."""
    need_root()
    need_program("chroot")
    jail = tmp / "jail"
    hits = copy("region_static", jail / "hits")
    t = trace(tmp, ["chroot", jail, "/hits", "late", "30", "armed"], out=tmp / "late")
    said = Said(t.run.out.decode())
    equal(len(said.hits), 60, "hits")
    compare(t, said, late=LATE)
    equal([g[0] for g in gaps(t)], ["/hits"], "files with a gap")
    t = trace(tmp, ["chroot", jail, "/hits", "named", "30"], "--usdt", hits, out=tmp / "named")
    said = Said(t.run.out.decode())
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")
    with Background(["chroot", jail, "/hits", "attached", "30", "wait"]) as target:
        answer(target)
        with Tracer(tmp, "-p", target.pid, out=tmp / "attached") as tracer:
            target.tell()
            text = answer(target, b"listens 1\n")
            t = tracer.wait()
    said = Said(text)
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")


@test
def test_mount_namespace(tmp):
    """Its path means another file with us, which has probes as well, at other places."""
    need_root()
    need_program("unshare", "mount")
    theirs, ours = copy("region_hits", tmp / "theirs/hits"), copy("region_arm", tmp / "ours/hits")
    shell = f"mount --bind {tmp}/theirs {tmp}/ours && exec {ours} "
    private = ["unshare", "-m", "--propagation", "private", "sh", "-c"]
    with Background([*private, shell + "attached 30 wait"]) as target:
        answer(target)
        with Tracer(tmp, "-p", target.pid, out=tmp / "attached") as tracer:
            target.tell()
            text = answer(target, b"listens 1\n")
            t = tracer.wait()
    said = Said(text)
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")
    # Executed there under our eyes, by a path that we would find something else at.
    t = trace(tmp, [*private, shell + "late 30 armed"], out=tmp / "late")
    said = Said(t.run.out.decode())
    equal(len(said.hits), 60, "hits")
    compare(t, said, late=LATE)
    equal([g[0] for g in gaps(t)], [str(ours)], "files with a gap")
    t = trace(tmp, [*private, shell + "named 30"], "--usdt", theirs, out=tmp / "named")
    said = Said(t.run.out.decode())
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")


@test
def test_deleted(tmp):
    """A program that is removed while it runs, with another file in its place; one that removes itself."""
    need_root()
    hits = copy("region_hits", tmp / "bin/hits")
    with Background([hits, "removed", "30", "wait"]) as target:
        answer(target)
        hits.unlink()
        copy("region_arm", hits)
        with Tracer(tmp, "-p", target.pid, out=tmp / "removed") as tracer:
            target.tell()
            text = answer(target, b"listens 1\n")
            t = tracer.wait()
    said = Said(text)
    equal(len(said.hits), 30, "hits")
    compare(t, said)
    equal(gaps(t), [], "gaps")
    itself = copy("region_hits", tmp / "bin/itself")
    with Driver() as d, Tracer(tmp, "-p", d.pid, out=tmp / "itself") as tracer:
        d.do("spawn", itself, "itself", 30, "unlink")
        d.leave()
        t = tracer.wait()
    check(not itself.exists(), "it is still there")
    said = Said(d.text)
    equal(len(said.hits), 60, "hits")
    compare(t, said, late={"itself", "armed_itself"})
    equal(len(gaps(t, said.pid("itself"))), 1, "gaps")


@test
def test_path_of_another_root(tmp):
    """A process goes into another root, where its path means another file, before the tracer looks.

    The tracer is stopped meanwhile. What it did not find it must not take for known.
    """
    need_root()
    program, jail = copy("region_hits", tmp / "program"), tmp / "jail"
    copy("region_static", jail / "hits")
    inside = jail / str(program).lstrip("/")
    inside.parent.mkdir(parents=True)
    inside.write_text("something else\n")
    with Driver() as d, Tracer(tmp, "-v", "-p", d.pid) as tracer:
        os.kill(tracer.pid, signal.SIGSTOP)
        d.tell(f"spawn {program} once 5 jail {jail}\n".encode())
        said = answer(d, b"ready 0\n")
        os.kill(tracer.pid, signal.SIGCONT)
        wait_armed(tracer, jail / "hits")
        d.tell()
        said += answer(d, b"status 0\n")
        equal(answer(d), ".\n", "answer")
        d.do("spawn", program, "later", 50)
        d.do("spawn", program, "twice", 50, "armed")
        d.leave()
        t = tracer.wait()
    t.no_loss()
    check_with_reader(t.path)
    found, said = events(t), Said(said + d.text)
    low, _ = clocks(found, said.hits)
    for name in ("later", "twice", "armed_twice"):
        hits = [h for h in said.hits if h.name == name]
        equal(len(hits), 50, name)
        ends = [end for _, _, end in gaps(t, hits[0].pid)]
        for h in hits:
            check((h.pid, h.id) in found or any(h.opened[0] + low <= end * 1000 + 1000 for end in ends),
                  f"{h} is missing, gaps end at {ends}")


# ---- in the middle -----------------------------------------------------------------------------

def annotations(f):
    """All that the program told, in order, without times and numbers: [(kind, ...)]."""
    out = []
    for r in f.records:
        args = {k: v for k, v in r["args"].items() if k not in ("hhash", "id")} if r["ph"] == 1 else r["args"]
        if r["ph"] == 1 and r["cat"] == "C_APP":
            out.append((r["name"], args))
        elif r["name"] in ("EH", "ET", "ER"):
            out.append((r["name"], {k: v for k, v in args.items() if k != "hhash"}))
    return out


def entity(kind, key):
    value = 1469598103934665603
    for byte in f"{kind}\x1f{key}".encode():
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return f"{value or 1:016x}"


def late(ident):
    return "EH", {"id": ident, "type": "", "store": 8, "uri": "", "late": 1}


def declared(kind, key, store=0, uri=""):
    return "EH", {"id": entity(kind, key), "type": kind, "store": store, "uri": uri}


@test
def test_attached_in_a_region(tmp):
    """What began before is not told; what was declared before is told as such, or again when named."""
    need_root()
    # A copy, which nobody else who traces has armed: a region that was heard from its begin is told.
    with Driver(copy("region_arm", tmp / "program")) as d:
        equal(d.number("listens"), 0, "listeners")
        d.do("inside")
        d.do("hits", "before", 3)
        for key in ("a", "b", "c", "d"):
            d.do("entity", "file", key, 1)
        d.do("type", "file", "before")
        with Tracer(tmp, "--no-prov", "-p", d.pid) as tracer:
            d.do("relates", "file", "a")
            d.do("relates", "file", "a")
            d.do("uses", "file", "b")
            d.do("edge", "file", "b", "file", "c")
            d.do("edge", "file", "a", "file", "d")
            d.do("entity", "file", "a", 2)
            d.do("uses", "file", "c")
            d.do("type", "file", "after")
            d.do("inside")
            d.do("leave")
            d.do("leave")
            d.leave()
            t = tracer.wait()
    t.no_loss()
    check_with_reader(t.path)
    a, b, c, d_ = (entity("file", key) for key in "abcd")
    here = {"store": 0, "uri": "/somewhere"}
    equal(annotations(t.by_pid(d.pid)), [
        late(a),
        ("relates", {"relations": {"used": [a]}}),
        ("relates", {"relations": {"used": [a]}}),
        declared("file", "b"),
        ("uses", {"relations": {"generated": [b]}}),
        late(c),
        ("ER", {"relation": 18, "subject": b, "object": c}),
        late(d_),
        ("ER", {"relation": 18, "subject": a, "object": d_}),
        ("EH", {"id": a, "type": "file", **here}),
        declared("file", "c"),
        ("uses", {"relations": {"generated": [c]}}),
        ("ET", {"type": "file", "role": 1, "description": "after"}),
        ("inside", {}),
    ], "what was told after attaching")


@test
def test_no_args(tmp):
    """Relations and what they need stay; arguments go."""
    need_root()
    (tmp / "commands").write_text("told\nexit\n")
    traces = {}
    for options in ((), ("--no-args",)):
        with open(tmp / "commands") as commands:
            t = trace(tmp, [PROGS / "region_arm"], "--no-prov", *options, stdin=commands,
                      out=tmp / f"t{len(options)}")
        t.no_loss()
        check_with_reader(t.path)
        f, = t.files
        told, = [r for r in f.records if r["name"] == "told"]
        traces[options] = told["args"], [a for a in annotations(f) if a[0] != "told"], f
    relations = {"used": [entity("file", "told")], "updated": [entity("file", "told")]}
    (full, around, _), (bare, bare_around, f) = traces.values()
    equal([*full], ["hhash", "id", "text", "relations"], "arguments")
    equal(full["relations"], relations, "relations")
    equal(bare, {"hhash": full["hhash"], "relations": relations}, "what is left of the arguments")
    equal(bare_around, around, "entities")
    equal([a["value"] for a in custom(f, "fact")], ["as it is"], "facts")
    equal((f.end["app"], f.end["used"]), ({"seed": 7}, {"LIBC_IO": 1, "TOLD": 1, "C_APP": 1}), "facts in the end")


@test
def test_declared_often(tmp):
    """One entity declared 100,000 times is one record, in each process; so is its type. And they are
    not sent again and again either: that would be too much for so small a buffer."""
    need_root()
    commands = "entity file often 100000\nchild\nentity file often 100000\nentity file other 1\nexit\n" \
               "entity file other 100000\nentity file often 1\nuses file often\ntype file x\ntype file y\nexit\n"
    (tmp / "commands").write_text(commands)
    with open(tmp / "commands") as stdin:
        t = trace(tmp, [PROGS / "region_arm"], "--no-prov", "--ring", "128K", stdin=stdin)
    t.no_loss()
    check_with_reader(t.path)
    words = {"store": 0, "uri": "/somewhere"}
    often, other = (("EH", {"id": entity("file", key), "type": "file", **words}) for key in ("often", "other"))
    got = sorted((annotations(f) for f in t.files), key=len)
    equal(got, [[often, other],
                [often, other, ("uses", {"relations": {"generated": [entity("file", "often")]}}),
                 ("ET", {"type": "file", "role": 1, "description": "x"})]], "what the child and the parent told")


@test
def test_gap_of_a_quiet_process(tmp):
    """The gap is told also where --include leaves nothing else of the process."""
    need_root()
    lib = copy("region_lib", tmp / "lib.so")
    with Driver() as d, Tracer(tmp, "-v", "--include", "/nowhere", "-p", d.pid) as tracer:
        d.do("load", lib)
        wait_armed(tracer, lib)
        d.do("lib", "armed", 3, 1000)
        d.leave()
        t = tracer.wait()
    compare(t, Said(d.text))
    equal([g[0] for g in gaps(t)], [str(lib)], "files with a gap")


if __name__ == "__main__":
    main()
