# SPDX-License-Identifier: MIT
"""What a running tracer holds, and short processes that must leave nothing behind in it."""
import collections
import json
import os
import re
import select
import signal
import time
import zlib

from dfttest import BUILD, LIVE_TIMEOUT, Background, Fail, Tracer, check, equal, run

PROG = BUILD / "tests/progs/short_lives"

# Maps in which there is something of each process, while it lives.
OF_PROCESSES = "totals", "details", "declared"


def rss_kib(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", f.read(), re.M)[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def entries(pid):
    """What the hash tables of a tracer have in the kernel: {name: [key]}."""
    keys = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                text = f.read()
        except OSError:
            continue  # closed just now
        kind = re.search(r"^map_type:\s+(\d+)", text, re.M)
        if not kind or kind[1] != "1":  # BPF_MAP_TYPE_HASH
            continue
        number = re.search(r"^map_id:\s+(\d+)", text, re.M)[1]
        show = run(["bpftool", "-j", "map", "show", "id", number]).want(0)
        dump = run(["bpftool", "-j", "map", "dump", "id", number]).want(0)
        # What is deleted while bpftool reads comes without.
        keys[json.loads(show.out)["name"]] = [e["formatted"]["key"] for e in json.loads(dump.out)
                                              if "formatted" in e]
    check({*OF_PROCESSES, "targets", "names", "verdicts", "images"} <= keys.keys(), f"maps: {[*keys]}")
    return keys


def wait_for(what, seconds):
    """Calls `what` until it returns no complaint."""
    deadline = time.monotonic() + seconds
    while why := what():
        if time.monotonic() > deadline:
            raise Fail(why)
        select.select([], [], [], 0.2)


def lives(tmp, name, lanes, processes, files):
    """Runs the program in a directory of its own: {pid: [(lane, number)]}, and the directory."""
    work = tmp / name
    work.mkdir()
    said = collections.defaultdict(list)
    with Background([PROG, *map(str, (lanes, processes, files))], cwd=work) as job:
        while (line := job.proc.stdout.readline()) != b"done\n":
            check(line, "the program has ended early")
            pid, *which = map(int, line.split())
            said[pid].append(tuple(which))
        job.proc.stdin.close()
        equal(job.wait(), 0, "exit status")
    equal(sum(map(len, said.values())), lanes * processes, "processes")
    return said, work


OPEN = re.compile(rb'^\{"id":\d+,"name":"open","cat":"POSIX".*"fhash":"([0-9a-f]{16})"', re.M)
NAME = re.compile(rb'^\{"name":"FH".*"name":"([^"]*)","value":"([0-9a-f]{16})"', re.M)


def members(path):
    """The texts of a trace file's members, one after the other: together they may be very large."""
    blob = path.read_bytes()
    while blob:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        text = member.decompress(blob) + member.flush()
        check(member.eof, f"{path.name} is cut")
        yield text
        blob = member.unused_data


def check_lives(out, said, work, files):
    """Each process has a file, and in it exactly its opens."""
    missing = {(pid, *which) for pid, list_ in said.items() for which in list_}
    prefix = os.fsencode(work) + b"/"
    for path in out.glob("short_lives-*.pfw.gz"):
        text = b"".join(members(path))
        names = {value: name for name, value in NAME.findall(text)}
        opened = [names[value] for value in OPEN.findall(text)]
        opened = [name for name in opened if name.startswith(prefix) and b"/f" in name]
        if not opened or text.count(b'"name":"rename"'):
            continue  # a lane, or the program itself, or one of another run
        pid = int(path.name.split("-")[1])
        directory = os.path.dirname(opened[0])
        which = tuple(map(int, directory[len(prefix):].split(b"/")))
        equal(opened, [b"%s/f%d" % (directory, i) for i in range(files)], f"opens of {path.name}")
        check((pid, *which) in missing, f"{path.name}: {which} is not there, or is there twice")
        missing.remove((pid, *which))
        equal(text.count(b'"name":"end"'), 1, f"ends of {path.name}")
    check(not missing, lambda: f"{len(missing)} processes without a trace: {sorted(missing)[:5]}")


def leaves_nothing(tmp, processes, files, *options, rss_mib, seconds, env=None):
    """Short processes under -a: memory and maps of the tracer are as before, and all is in the trace."""
    lanes = 2
    with Tracer(tmp, "-a", *options, env=env) as tracer:
        lives(tmp, "warm", lanes, 100, files)
        before = rss_kib(tracer.pid)
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        said, work = lives(tmp, "work", lanes, processes // lanes, files)
        until = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

        def left(key):
            return key["pid"] in said and since <= key["start_ns"] <= until

        def complaint():
            after = rss_kib(tracer.pid)
            if after > before + rss_mib * 1024:
                return f"RSS has grown from {before} to {after} KiB"
            maps = entries(tracer.pid)
            for name in OF_PROCESSES:
                n = sum(map(left, maps[name]))
                if n > processes // 100:  # others that were born meanwhile have such pids as well
                    return f"map {name} has {n} entries of processes that are gone"
            for name, most in ("targets", 0), ("names", 20000), ("verdicts", 20000):
                if len(maps[name]) > most:
                    return f"map {name} has {len(maps[name])} entries"
            print(f"  {processes} processes: RSS {before} -> {after} KiB,",
                  *(f"{name} {len(keys)}" for name, keys in maps.items()), flush=True)
            return None

        wait_for(complaint, seconds)
        tracer.proc.send_signal(signal.SIGINT)
        equal(tracer.proc.wait(LIVE_TIMEOUT), 0, "exit status of the tracer")
        tracer.trace = ()  # not all of them at once
    check_lives(tracer.out, said, work, files)
