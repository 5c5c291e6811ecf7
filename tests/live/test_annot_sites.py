# SPDX-License-Identifier: MIT
"""Probe sites: what listening does to the program that has them, how many there may be, and that what
they carry arrives whole or is counted."""
import collections
import contextlib
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PROGS = BUILD / "tests/progs"
FALLBACK = clean_env(DFTRACE_BPF_FALLBACK="1")  # a probe at a time, as kernels before 6.6 need it

# What a nop of five bytes becomes, on x86-64, where the kernel does not need a trap.
CALL, TRAP = 0xe8, 0xcc


@contextlib.contextmanager
def killed(tracer):
    """A tracer that is not given the time to end."""
    try:
        yield tracer
        tracer.kill()
    finally:
        tracer.close()


# ---- files and memory of programs ------------------------------------------------------------

class Sites:
    """The probes of provider dftracer in a file, as readelf tells them."""

    def __init__(self, path):
        self.path = Path(path)
        text = run(["readelf", "-nW", path]).want(0).out.decode()
        self.all = [(name, int(place, 16), int(counter, 16)) for name, place, counter in re.findall(
            r"Provider: dftracer\s+Name: (\w+)\s+Location: 0x(\w+), Base: \w+, Semaphore: 0x(\w+)",
            text)]
        check(self.all, f"{path}: no probes")
        loads = re.search(r"^\s+LOAD\s+0x0+\s+0x(\w+)",
                          run(["readelf", "-lW", path]).want(0).out.decode(), re.M)
        self.first = int(loads[1], 16)
        text = run(["nm", path]).want(0).out.decode()
        self.counters = {name: int(at, 16) for at, name in
                         re.findall(r"^(\w+) \w dftracer_(\w+)_semaphore$", text, re.M)}

    def number(self):
        """{probe: how many sites}"""
        return collections.Counter(name for name, _, _ in self.all)

    def stored(self, address, size):
        """What the file has there; as far as probes go, code is where it is linked to."""
        return self.path.read_bytes()[address - self.first:][:size]

    def in_process(self, pid):
        return Memory(self, pid)


class Memory:
    """The memory of a process, by the addresses in one of its files."""

    def __init__(self, sites, pid):
        self.sites = sites
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        real = os.fspath(sites.path.resolve())
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            field = line.split(maxsplit=5)
            if len(field) == 6 and field[5] == real and int(field[2], 16) == 0:
                self.base = int(field[0].split("-")[0], 16) - sites.first
                break
        else:
            fail(f"{real} is not mapped by {pid}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)

    def read(self, address, size):
        return os.pread(self.fd, size, self.base + address)

    def counters(self):
        """{probe: its semaphore}, without those that are 0."""
        values = {name: int.from_bytes(self.read(at, 2), sys.byteorder)
                  for name, at in self.sites.counters.items()}
        return {name: n for name, n in values.items() if n}

    def first_bytes(self):
        return [self.read(place, 1)[0] for _, place, _ in self.sites.all]

    def wait_for(self, want):
        """Until the semaphores are so; the seconds that took."""
        begun = time.monotonic()
        while (got := self.counters()) != want:
            check(time.monotonic() < begun + LIVE_TIMEOUT, f"semaphores are {got}, want {want}")
            os.sched_yield()
        return time.monotonic() - begun


def api_events(f, category):
    """The events of a category in one file or trace, as records."""
    files = f.files if hasattr(f, "files") else [f]
    return [r for g in files for r in g.records if r["ph"] == 1 and r["cat"] == category and r["type"] != 1]


def own_args(record):
    """Arguments of an event without hhash, in their order."""
    return {k: v for k, v in record["args"].items() if k != "hhash"}


# ---- the red zone ----------------------------------------------------------------------------

def need_red_zone():
    """AArch64 and others keep nothing below the stack pointer."""
    if platform.machine() != "x86_64":
        skip("red zone", f"{platform.machine()} has none")


def red_zone_of(path):
    """Distances below the stack pointer at which leaf() has data."""
    text = run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=leaf", path]).want(0).out.decode()
    check("<leaf>:" in text, "no leaf() in the program")
    check("call" not in text, "leaf() calls something")
    return {int(at, 16) for at in re.findall(r"\bmov .*-0x(\w+)\(%rsp", text)}


class Leaves(Background):
    """annot_redzone: the totals after each command."""

    def __init__(self, program):
        super().__init__([PROGS / program], preexec_fn=lambda: os.nice(19))
        equal(self.line(), b"ready\n")

    def ask(self, command):
        self.tell(command.encode() + b"\n")
        word = self.line().split()
        equal(word[::2], [b"calls", b"hits", b"wrong"], "what it says")
        return [int(n) for n in word[1::2]]


def red_zone(tmp, program, armed, listeners):
    """Listeners come and go; functions with data below the stack pointer compute rightly."""
    need_root()
    need_red_zone()
    sites = Sites(PROGS / program)
    equal(sites.number(), {"entity": 1, "event": 1}, "sites")
    # A call writes the first 8 bytes, what it calls some more.
    check({8, 16, 24, 32} <= red_zone_of(sites.path), "leaf() has no data in the red zone")
    armed_seen = 0
    with Leaves(program) as p, sites.in_process(p.pid) as memory:
        before = memory.first_bytes()
        for i in range(listeners):
            options = ["-p", str(p.pid)]
            if i % 4 == 3:  # it comes and goes by itself
                run([TRACER, "-q", "-o", tmp / f"t{i}", "-d", "10ms", *options]).want(0)
            else:
                tracer = Tracer(tmp, *options, out=tmp / f"t{i}")
                with killed(tracer) if i % 4 == 2 else tracer:
                    p.ask("hits 2000")
                    armed_seen += bool(armed & set(memory.first_bytes()))
            memory.wait_for({})
            equal(memory.first_bytes(), before, f"first bytes of the sites after listener {i}")
            calls, hits, wrong = p.ask("calls 100")
            equal(wrong, 0, f"wrong results of {calls} calls, after listener {i}")
            if i % 4 < 2:
                f = tracer.trace.by_pid(p.pid)
                check(len(api_events(f, "REDZONE")) > 8, f"events seen by listener {i}")
                equal(sum(r["name"] == "EH" and "fhash" not in r["args"] for r in f.records), 1, f"EH records of listener {i}")
    print(f"  {calls} calls, {hits} of them listened to, {wrong} wrong; "
          f"sites were armed at {armed_seen} of {listeners * 3 // 4} looks")
    check(armed_seen, "the sites were never seen armed")


@test
def test_red_zone(tmp):
    red_zone(tmp, "annot_redzone", {TRAP}, 100)


@test
def test_red_zone_of_calls(tmp):
    """The five-byte nop becomes a call, where the kernel does so; else it is a trap as well."""
    red_zone(tmp, "annot_redzone_nop5", {CALL, TRAP}, 12)


@test
def test_red_zone_control(tmp):
    """The same without the step past the red zone is wrong: the test above would notice."""
    need_root()
    need_red_zone()
    sites = Sites(PROGS / "annot_redzone_bare")
    check({8, 16, 24, 32} <= red_zone_of(sites.path), "leaf() has no data in the red zone")
    with Leaves("annot_redzone_bare") as p, sites.in_process(p.pid) as memory:
        calls, hits, wrong = p.ask("calls 2000")
        equal((hits, wrong), (0, 0), "hits and wrong results before")
        with Tracer(tmp, "-p", p.pid) as tracer:
            calls, hits, wrong = p.ask("hits 2000")
            bytes_now = memory.first_bytes()
            tracer.stop()
        memory.wait_for({})
        after = [p.ask("calls 2000")[2] for _ in range(2)]
    if CALL not in bytes_now:
        skip("uprobe_optimized", f"probes on five-byte nops are traps in this kernel: {bytes_now}")
    print(f"  {wrong} of {hits} calls wrong")
    check(wrong > hits / 2, f"only {wrong} of {hits} calls were wrong")
    equal(after[0], after[1], "wrong results after the listener has gone")


# ---- semaphores ------------------------------------------------------------------------------

# What annot_sem.h has.
IN_SEM = {"event": 3, "relation": 2, "entity": 1}
EVENTS_ONLY = {"event": 3}


def of_sem(f, category):
    """What one pass of the probes of annot_sem.h has left in a file."""
    return [(r["name"], r["type"], own_args(r)) for r in api_events(f, category)]


ONE_PASS = [(name, 2, {"n": 42}) for name in ("first", "second", "third")]


class Sem(Background):
    """annot_sem, and its memory by the addresses in each of its files."""

    def __init__(self, program, *libraries):
        super().__init__([PROGS / program, *(PROGS / name for name in libraries)])
        equal(self.line(), b"ready\n")
        self.files = [Sites(PROGS / name) for name in (program, *libraries)]
        for sites in self.files:
            equal(sites.number(), IN_SEM, f"sites in {sites.path.name}")
            equal(set(sites.counters), {*IN_SEM, "entity_type"}, f"counters of {sites.path.name}")
        self.memories = [sites.in_process(self.pid) for sites in self.files]

    def fire(self):
        self.tell(b"fire\n")
        equal(self.line(), b"fired\n")

    def want(self, what, *counters):
        for memory, want in zip(self.memories, counters):
            equal(memory.counters(), want, f"semaphores of {memory.sites.path.name} {what}")

    def wait_for(self, *counters):
        for memory, want in zip(self.memories, counters):
            memory.wait_for(want)


def semaphores_of(tmp, program, *libraries, env=None):
    """Zero before, as many as there are sites during, zero after: whichever way the tracer ends."""
    with Sem(program, *libraries) as p:
        none, all_of = [{}] * len(p.files), [IN_SEM] * len(p.files)
        categories = ["PROGRAM", "LIBRARY"][:len(p.files)]
        p.want("before", *none)
        for i, end in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGINT)):
            tracer = Tracer(tmp, "-p", p.pid, out=tmp / f"{program}{i}", env=env)
            with killed(tracer) if end == signal.SIGKILL else tracer:
                p.want("while it listens", *all_of)
                p.fire()
                p.want("after hits", *all_of)
                if end != signal.SIGKILL:
                    f = tracer.stop(end).by_pid(p.pid)
                    for category in categories:
                        equal(of_sem(f, category), ONE_PASS, f"events of {category}")
            p.wait_for(*none)
            p.fire()
        equal(own_args(next(r for r in f.records if r["name"] == "EH" and "fhash" not in r["args"])),
              {"id": f"{1:016x}", "type": "thing", "store": 0, "uri": ""}, "entity")
        equal(sum(r["name"] == "ER" for r in f.records), 2 * len(p.files), "relations")


@test
def test_semaphores_of_a_program(tmp):
    need_root()
    semaphores_of(tmp, "annot_sem")


@test
def test_semaphores_of_a_static_program(tmp):
    need_root()
    semaphores_of(tmp, "annot_sem_static")


@test
def test_semaphores_of_a_library(tmp):
    """A library has its own, beside those of the program."""
    need_root()
    semaphores_of(tmp, "annot_sem", "annot_sem_lib")


@test
def test_semaphores_one_by_one(tmp):
    """The same where each probe is attached by itself."""
    need_root()
    semaphores_of(tmp, "annot_sem", env=FALLBACK)


@test
def test_semaphores_with_two_tracers(tmp):
    """A semaphore counts sites, not listeners: it is there until the last one has gone."""
    need_root()
    with Sem("annot_sem") as p:
        first = Tracer(tmp, "-p", p.pid, out=tmp / "a")
        with first, Tracer(tmp, "-p", p.pid, out=tmp / "b") as second:
            p.want("with two tracers", IN_SEM)
            p.fire()
            first.stop()
            p.want("when the first has gone", IN_SEM)
            p.fire()
            second.stop()
        p.wait_for({})
        equal(of_sem(first.trace.by_pid(p.pid), "PROGRAM"), ONE_PASS, "events of the first")
        equal(of_sem(second.trace.by_pid(p.pid), "PROGRAM"), ONE_PASS * 2, "events of the second")


@contextlib.contextmanager
def bpftrace_on_events(p, out):
    """bpftrace, which listens to the events of a program that nobody else listens to."""
    script = f"usdt:{p.files[0].path}:dftracer:event {{ @seen[str(arg0), str(arg1), arg3] = count(); }}"
    argv = ["bpftrace", "-o", out, "-e", script]
    with Background(argv, stdin=None, stdout=subprocess.DEVNULL) as foreign:
        p.wait_for(EVENTS_ONLY)
        yield foreign
        if foreign.proc.poll() is None:
            foreign.proc.send_signal(signal.SIGINT)
        foreign.wait()


@test
def test_semaphores_with_a_foreign_listener(tmp):
    """bpftrace comes before us and goes before us, or after."""
    need_root()
    need_program("bpftrace")
    for foreign_first in (True, False):
        with Sem("annot_sem") as p:
            out = tmp / f"bpftrace{foreign_first}"
            with bpftrace_on_events(p, out) as foreign, \
                    Tracer(tmp, "-p", p.pid, out=tmp / f"t{foreign_first}") as tracer:
                p.want("with both", IN_SEM)
                p.fire()
                if foreign_first:
                    foreign.proc.send_signal(signal.SIGINT)
                    foreign.wait()
                    p.want("without bpftrace", IN_SEM)
                    p.fire()
                t = tracer.stop()
                p.wait_for({} if foreign_first else EVENTS_ONLY)
            p.wait_for({})
            seen = re.findall(r"^@seen\[(\w+), PROGRAM, 2\]: (\d+)$", out.read_text(), re.M)
            equal(sorted(seen), [("first", "1"), ("second", "1"), ("third", "1")], "what bpftrace saw")
            equal(of_sem(t.by_pid(p.pid), "PROGRAM"), ONE_PASS * (1 + foreign_first), "what we saw")


@test
def test_child_forked_while_listened_to(tmp):
    """A child has the probes of its parent as they were: it lives, is heard, and is left in peace."""
    need_root()
    with Sem("annot_sem") as p:
        with Tracer(tmp, "-p", p.pid) as tracer:
            p.fire()
            p.tell(b"fork\n")
            child = int(p.line())
            with p.files[0].in_process(child) as memory:
                equal(memory.counters(), IN_SEM, "semaphores of the child")
                p.tell(b"fire\n")
                equal(p.line(), b"fired\n", "the child, while it is listened to")
                t = tracer.stop()
                memory.wait_for({})
                p.wait_for({})
                for name, place, _ in p.files[0].all:
                    equal(memory.read(place, 5), p.files[0].stored(place, 5), f"site of {name}")
        p.fire()
        p.proc.stdin.close()
        equal(p.wait(), 0, "exit status")
    equal(of_sem(t.by_pid(p.pid), "PROGRAM"), ONE_PASS, "events of the parent")
    equal(of_sem(t.by_pid(child), "PROGRAM"), ONE_PASS, "events of the child")


# ---- many sites ------------------------------------------------------------------------------

def numbers(f):
    return [r["args"]["site"] for r in api_events(f, "SITES")]


@test
def test_two_thousand_sites(tmp):
    """All of them are armed before the program begins, and each tells of itself, once."""
    need_root()
    equal(Sites(PROGS / "annot_sites").number(), {"event": 2000}, "sites")
    t = trace(tmp, [PROGS / "annot_sites", "once"])
    t.no_loss()
    check_with_reader(t.path)
    equal(numbers(t), list(range(2000)), "sites in the trace")


@test
def test_two_thousand_sites_attached(tmp):
    """The same of a program that runs, again and again; and nothing of them stays."""
    need_root()
    sites = Sites(PROGS / "annot_sites")
    with Background([PROGS / "annot_sites"]) as p:
        equal(p.line(), b"ready\n")
        with sites.in_process(p.pid) as memory:
            before = memory.read(min(at for _, at, _ in sites.all), 4096)
            for i, end in enumerate((signal.SIGINT, signal.SIGKILL, signal.SIGTERM)):
                equal(memory.counters(), {}, "semaphore before")
                begun = time.monotonic()
                tracer = Tracer(tmp, "-p", p.pid, out=tmp / f"t{i}")
                ready = time.monotonic()
                with killed(tracer) if end == signal.SIGKILL else tracer:
                    equal(memory.counters(), {"event": 2000}, "semaphore")
                    p.tell()
                    equal(p.line(), b"fired\n")
                    tracer.proc.send_signal(end)
                    ending = time.monotonic()
                    memory.wait_for({})
                    print(f"  {ready - begun:.3f} s to ready, "
                          f"{time.monotonic() - ending:.3f} s from {end.name} to 0")
                    if end != signal.SIGKILL:
                        t = tracer.wait()
                        t.no_loss()
                        equal(numbers(t.by_pid(p.pid)), list(range(2000)), f"sites, trace {i}")
                p.tell()
                equal(p.line(), b"fired\n")
            equal(memory.read(min(at for _, at, _ in sites.all), 4096), before, "the program's code")


@test
def test_sites_one_by_one(tmp):
    """Probes attached one by one, as older kernels need it, give the same trace."""
    need_root()
    seen = []
    for env in (None, FALLBACK):
        t = trace(tmp, [PROGS / "annot_sites_few", "once"], out=tmp / f"t{len(seen)}", env=env)
        t.no_loss()
        check_with_reader(t.path)
        equal(numbers(t), list(range(50)), "sites in the trace")
        # All records but for times and what differs from run to run.
        seen.append([{k: v for k, v in r.items() if k not in ("pid", "tid", "ts", "dur", "id")}
                     for r in api_events(t, "SITES")])
    equal(seen[1], seen[0], "events")


def links_of(pid):
    """{type: number} of a process's links of BPF programs."""
    infos = [i.read_text() for i in Path(f"/proc/{pid}/fdinfo").iterdir()]
    return collections.Counter(re.findall(r"^link_type:\s*(\S+)$", "\n".join(infos), re.MULTILINE))


@test
def test_sites_at_once(tmp):
    """One link for all probes of a file where the kernel has such, one for each elsewhere."""
    need_root()
    need_feature("uprobe_multi")
    path = PROGS / "annot_sites_few"
    for env, kind, number, other in ((None, "uprobe_multi", 1, "perf"),
                                     (FALLBACK, "perf", len(Sites(path).all), "uprobe_multi")):
        with Background(["cat"]) as idle, \
                Tracer(tmp, "--no-mmap", "--usdt", path, "-p", idle.pid, env=env, out=tmp / kind) as tracer:
            links = links_of(tracer.pid)
        # The library that is built beside the tracer is listened to as well.
        check(number <= links[kind] <= number + 10 and not links[other], f"{kind}: {links}")


# ---- what events carry -----------------------------------------------------------------------

def fnv(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return f"{value:08x}"


ARGS = ["thread", "seq", "text", "sum"]


def whole_texts(t, threads, number):
    """Checks the events of annot_threads; returns those that are whole and those that say they are not."""
    whole, cut = {}, []
    for r in api_events(t, "C_APP"):
        args = own_args(r)
        lost = args.pop("args_lost", 0)
        check(list(args) == ARGS or lost and list(args) == ARGS[:len(args)], lambda: f"args of {r}")
        # Also of what is there of an event that has lost a part.
        if "text" in args:
            equal(args["text"][:8], fnv(args["text"][8:]), f"first checksum of {args}")
        if "sum" in args:
            equal(args["sum"], fnv(args["text"]), f"second checksum of {args}")
        if lost:
            cut.append(args)
            continue
        key = args["thread"], args["seq"]
        check(key not in whole, f"event {key} twice")
        whole[key] = r
    check(set(whole) <= {(i, k) for i in range(threads) for k in range(number)}, "invented events")
    for key, r in whole.items():
        length = (key[0] * 977 + key[1] * 131) % (3000 if key[1] % 2 else 200)
        equal(len(r["args"]["text"]), 8 + length, f"length of the text of {key}")
    return whole, cut


def sixteen_threads(tmp, *more):
    threads, number = 16, 500
    # Room for everything: however seldom the tracer gets to run, nothing is lost.
    t = trace(tmp, [PROGS / "annot_threads", str(threads), str(number), *more], "--ring", "128M")
    equal(t.run.out, b"fired 8000\n")
    t.no_loss()
    check_with_reader(t.path)
    whole, cut = whole_texts(t, threads, number)
    equal((len(whole), len(cut)), (threads * number, 0), "events whole and cut")
    equal(len({(r["tid"], key[0]) for key, r in whole.items()}), threads, "threads")
    last = {}
    for r in api_events(t, "C_APP"):  # one after the other in each thread
        end = r["ts"] + r["dur"]
        check(r["ts"] >= last.get(r["tid"], 0), lambda: f"begins before the last one ended: {r}")
        last[r["tid"]] = end


@test
def test_texts_of_sixteen_threads(tmp):
    """Of several records each: none torn, none missing."""
    need_root()
    sixteen_threads(tmp)


@test
def test_texts_of_threads_that_interrupt_each_other(tmp):
    """The same with real-time threads: where the kernel is preemptible, their probes break into
    those of the others."""
    need_root()
    sixteen_threads(tmp, "rt")


@test
def test_texts_and_a_tiny_ring(tmp):
    """What finds no room is counted; what has lost a part says so, and is not torn."""
    need_root()
    threads, number = 16, 500
    for mode in ([], ["slow"]):
        t = trace(tmp, [PROGS / "annot_threads", str(threads), str(number), *mode], "--ring", "64K",
                  out=tmp / f"t{len(mode)}")
        equal(t.run.out, b"fired 8000\n")
        whole, cut = whole_texts(t, threads, number)
        equal(len(t.files), 1, "files")
        lost = t.files[0].lost
        events, parts = lost.get("record_event", 0), lost.get("record_part", 0)
        print(f"  {len(whole)} whole, {len(cut)} cut, {events} events and {parts} parts lost")
        equal(len(whole) + len(cut) + events, threads * number, "events whole, cut and lost")
        check("uncounted_of_all_processes" not in lost, f"uncounted: {lost}")
        check(len(cut) <= parts, "more events are cut than parts were lost")
        check(whole and events and parts, "too little was lost: the test tests nothing")
    check(cut, "no event was cut: the test tests nothing")


# ---- files that change -----------------------------------------------------------------------

RUNNER = """
import os, subprocess, sys
print("ready", flush=True)
for line in sys.stdin:
    p = subprocess.run(line.split(), stdout=subprocess.PIPE)
    print(p.returncode, p.stdout.decode().strip(), flush=True)
"""


def write_over(target, content, flags=0):
    """As cp does it: the file stays what it is, with other bytes in it."""
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_TRUNC | flags, 0o755), "wb") as f:
        f.write(content)


def gaps(f, path):
    """[(begin, end)] in us: when the probes of a file were not listened to, as the trace tells."""
    out = []
    for r in f.records:
        if r["name"] == "CM" and r["args"]["name"].startswith("probes_"):
            equal(os.path.realpath(r["args"]["path"]), os.path.realpath(path), "file of the gap")
            equal(r["args"]["name"], "probes_gap_us", "what is told of the file")
            out.append((r["args"]["ts"], r["args"]["ts"] + int(r["args"]["value"])))
    return out


def all_but_in_gaps(f, path):
    """The spans of annot_rewrite: one behind each mark that is in no gap. Returns how many."""
    marks = {int(e.file.rsplit(b"-", 1)[1]): e.ts for e in f.events if e.file and e.file.startswith(b"/dft-mark-")}
    equal(sorted(marks), list(range(len(marks))), "marks")
    spans = [r["args"]["n"] for r in api_events(f, "C_APP")]
    equal(spans, sorted(set(spans)), "spans")
    told = gaps(f, path)
    for n in set(marks) - set(spans):
        check(any(begin <= marks[n] <= end for begin, end in told),
              lambda: f"no span {n} of {len(marks)} at {marks[n]}, gaps {told}")
    return len(spans)


def code_of(path):
    """The addresses of arithmetic() in annot_rewrite."""
    text = run(["nm", "-S", path]).want(0).out.decode()
    begin, length = re.search(r"^(\w+) (\w+) T arithmetic$", text, re.M).groups()
    return range(int(begin, 16), int(begin, 16) + int(length, 16))


def written_over(tmp, *options):
    """An armed file is written over and executed at once, again and again."""
    programs = [PROGS / "annot_rewrite", PROGS / "annot_rewrite_other"]
    for this, other in programs, programs[::-1]:
        check(all(at in code_of(other) for _, at, _ in Sites(this).all),
              f"{this.name} has probes where {other.name} has no code")
    size = max(map(os.path.getsize, programs))
    said = [run([p, "plain"]).want(0).out.strip() for p in programs]
    path = tmp / "program"
    write_over(path, programs[0].read_bytes(), os.O_CREAT)
    with running_python(RUNNER) as p:
        equal(p.line(), b"ready\n")
        options = [str(p.pid) if o == "PID" else o for o in options]
        with Tracer(tmp, "--usdt", path, "--ring", "128M", *options) as tracer:
            for i in range(20):
                if i:
                    # Now and then not even the size tells them apart.
                    write_over(path, programs[i % 2].read_bytes().ljust(size if i % 3 else 0, b"\0"))
                p.tell(os.fsencode(path) + b"\n")
                equal(p.line().split(), [b"0", said[i % 2]], f"status and sum of run {i}")
            t = tracer.stop()
    runs = [f for f in t.files if any(e.file and e.file.startswith(b"/dft-mark-") for e in f.events)]
    equal(len(runs), 20, "runs in the trace")
    whole = [f for f in runs if not f.lost or "-a" not in options]
    spans = [all_but_in_gaps(f, path) for f in whole]
    check(min(spans, default=100) >= 100, f"spans {spans}")
    print(f"  {len(whole)} of 20 files without losses")
    return t


@test
def test_armed_file_written_over(tmp):
    """It runs as it should, whatever was armed in it before, and what is missing is told of."""
    need_root()
    check_with_reader(written_over(tmp, "-p", "PID").no_loss().path)


@test
def test_armed_file_written_over_for_all(tmp):
    """The same with -a; what others do on the machine meanwhile may fill the ring."""
    need_root()
    written_over(tmp, "-a")


if __name__ == "__main__":
    main()
