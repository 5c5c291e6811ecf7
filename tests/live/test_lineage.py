# SPDX-License-Identifier: MIT
"""Lineage and impact of jobs that nobody annotated, against what strace shows of a second run.

It is what the calls say that counts here: the same comes out whether the tracer wrote PROGRAM events, or
dftrace derives the relations."""
import gzip
import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

JOB = "sort a | uniq > b; gzip b; cp b.gz c; mv c d; python3 script.py d > e; rm a"
SCRIPT = "import sys\nprint(len(open(sys.argv[1], 'rb').read()))\n"
NO_FILES = ("/proc/", "/sys/", "/dev/")

CALL = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)")
FIRST = re.compile(r"\d+<([^>]*)>")
MAPPED = re.compile(r"[^,]*, \d+, [A-Z_|]+, [A-Z_|]+, \d+<([^>]*)>")
CLONED = re.compile(r"\d+<[^>]*>, FICLONE, \d+<([^>]*)>")


def strace(tmp, argv, cwd):
    """[(program, {files whose content it took})] of each run of a program, by strace."""
    need_program("strace")
    log = tmp / "strace.log"
    run(["strace", "-f", "-y", "-s", "4096", "-e", "trace=execve,read,pread64,readv,preadv,mmap,copy_file_range,ioctl",
         "-o", log, *argv],
        cwd=cwd).want(0)
    runs, begun = {}, {}
    out = []
    for line in log.read_text(errors="replace").splitlines():
        m = CALL.match(line)
        if not m:
            continue
        pid, name, rest = m.groups()
        if rest.endswith("<unfinished ...>"):
            begun[pid] = rest.removesuffix("<unfinished ...>")
            continue
        if "resumed>" in line:
            rest = begun.pop(pid, "") + rest
        ret = rest.rsplit(" = ", 1)[-1]
        if ret.startswith("-1") or ret.startswith("?"):
            continue
        if name == "execve":
            path = os.path.realpath(os.path.join(cwd, json.loads(rest[:rest.index('", [') + 1])))
            runs[pid] = (os.path.basename(path), {path})
            out.append(runs[pid])
        elif pid in runs:
            how = {"mmap": MAPPED, "ioctl": CLONED}.get(name, FIRST).match(rest)
            took = how.group(1) if how else ""
            if took.startswith("/") and not took.startswith(NO_FILES):
                runs[pid][1].add(took)
    return out


def took(runs, *programs):
    return set().union(*(files for program, files in runs if re.fullmatch("|".join(programs), program)))


def ask(command, path, *argv, cwd):
    r = run([READER, command, "--json", path, *argv], cwd=cwd)
    check(r.status == 0, r.text[:500])
    got = json.loads(r.out)["reached"]
    return got, {os.path.realpath(e["entity"]) for e in got if e["type"] != "pipe"}


def fresh(work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    work = Path(os.path.realpath(work))
    (work / "script.py").write_text(SCRIPT)
    (work / "a").write_text("".join(f"{i * 7919 % 1000}\n" for i in range(2000)))
    return work


def below(work, names):
    return {os.path.relpath(n, work) for n in names if Path(n).is_relative_to(work)}


@test
def test_shell_pipeline(tmp):
    """What went into e: every file on the way, and the programs and libraries of each run, no other."""
    need_root()
    runs = strace(tmp, ["sh", "-c", JOB], fresh(tmp / "w"))
    work = fresh(tmp / "w")
    t = trace(tmp, ["sh", "-c", JOB], cwd=work)
    t.no_loss()
    got, names = ask("lineage", t.path, "e", cwd=work)
    want = took(runs, "sort", "uniq", "gzip", "cp", "mv", r"python3.*") | {str(work / "c")}
    equal(below(work, want), {"a", "b", "b.gz", "c", "d", "script.py"}, "what strace shows")
    equal(names ^ want, set(), "files, programs and libraries")
    equal(sum(e["type"] == "pipe" for e in got), 1, "pipes")
    depth = {os.path.basename(e["entity"]): e["depth"] for e in got}
    equal([depth[n] for n in ("d", "c", "b.gz", "b", "a")], sorted({depth[n] for n in ("d", "c", "b.gz", "b", "a")}),
          "order of the way")
    _, names = ask("impact", t.path, "a", cwd=work)
    equal(below(work, names), {"b", "b.gz", "c", "d", "e"}, "impact of a")
    equal(len(names), 5, "impact of a elsewhere")
    _, names = ask("impact", t.path, "script.py", cwd=work)
    equal(below(work, names), {"e"}, "impact of the script")
    _, names = ask("lineage", t.path, "--depth", "1", "d", cwd=work)
    equal(below(work, names), {"c"}, "one hop back from d")


FILES = {
    "Makefile": "CFLAGS = -O1\nhello: hello.o util.o\n\tgcc -o $@ hello.o util.o\n"
                "%.o: %.c util.h\n\tgcc $(CFLAGS) -c -o $@ $<\nother: other.c\n\tgcc -o $@ other.c\n",
    "hello.c": '#include <stdio.h>\n#include "util.h"\nint main(void) { return printf("%d\\n", two()) < 0; }\n',
    "util.c": '#include "util.h"\nint two(void) { return 2; }\n',
    "util.h": "int two(void);\n",
    "other.c": "int main(void) { return 0; }\n",
}


def sources(work):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    return Path(os.path.realpath(work))


@test
def test_build_by_make(tmp):
    """What went into an executable: its sources, headers and objects, and what compiler, assembler and
    linker took; nothing of another one."""
    need_root()
    need_program("make", "gcc")
    runs = strace(tmp, ["make", "-s", "hello", "other"], sources(tmp / "w"))
    work = sources(tmp / "w")
    t = trace(tmp, ["make", "-s", "hello", "other"], cwd=work)
    t.no_loss()
    _, names = ask("lineage", t.path, "hello", cwd=work)
    temporary = {n for n in names if re.match(r"/tmp/cc\w+\.\w+\Z", n)}
    equal(below(work, names), {"hello.c", "util.c", "util.h", "hello.o", "util.o"}, "files of the project")
    elsewhere = {n for n in names - temporary if not Path(n).is_relative_to(work)}
    least = {n for n in took(runs, "cc1", r".*-as|as", r".*-ld(\.bfd)?|ld(\.bfd)?")
             if not Path(n).is_relative_to(work) and not re.match(r"/tmp/cc", n)}
    check(any(n.endswith("/stdio.h") for n in least), "strace shows no stdio.h")
    equal(least - elsewhere, set(), "what is missing")
    # The compiler's driver makes the temporary files that the others fill: it may be on the way.
    most = least | took(runs, r".*gcc.*", "collect2")
    equal(elsewhere - most, set(), "what strace does not show")
    equal(len(temporary), 2, f"temporary files: {temporary}")
    _, names = ask("impact", t.path, "util.h", cwd=work)
    equal(below(work, names), {"hello.o", "util.o", "hello"}, "impact of a header")


WORK = """
mkdir in tree; seq 100 > in/one; seq 200 > in/two
tar cf all.tar in; mkdir out; tar xf all.tar -C out
cat out/in/one >> log; ln log log2; true > empty; mv in/two in/three
cp log tree/file; cd tree; git init -q -b trunk .; git add file
git -c user.name=a -c user.email=a@b commit -q -m one; cd ..
python3 -c '
import mmap, subprocess
subprocess.run(["cat", "log2"], stdout=open("sub", "w"))
f = open("mapped", "w+b"); f.truncate(4096)
m = mmap.mmap(f.fileno(), 4096); m[0:3] = b"abc"; m.close()'
"""


@test
def test_tar_and_git(tmp):
    """Archives, commits, links, what a child writes for its parent: by hand."""
    need_root()
    need_program("git", "tar")
    (tmp / "w").mkdir()
    work = Path(os.path.realpath(tmp / "w"))
    t = trace(tmp, ["sh", "-c", WORK], cwd=work)
    t.no_loss()
    objects = run(["git", "rev-list", "--objects", "--all"], cwd=work / "tree").want(0).out.decode().split()
    objects = {f"tree/.git/objects/{o[:2]}/{o[2:]}" for o in objects if re.fullmatch("[0-9a-f]{40}", o)}
    equal(len(objects), 3, "commit, tree and blob")

    def walk(command, what, *options):
        return below(work, ask(command, t.path, *options, what, cwd=work)[1])

    equal(walk("lineage", "out/in/one"), {"all.tar", "in/one", "in/two"}, "lineage of what was unpacked")
    equal(walk("lineage", "log2"), {"log", "out/in/one", "all.tar", "in/one", "in/two"}, "lineage of a link")
    equal(walk("lineage", "in/three"), {"in/two"}, "lineage of a new name")
    equal(walk("lineage", "sub") - walk("lineage", "log2"), {"log2"}, "lineage of what a child wrote")
    equal(walk("lineage", "empty"), set(), "lineage of an empty file")
    into_head = walk("lineage", "tree/.git/refs/heads/trunk")
    check({"tree/file", "log", "tree/.git/index", "in/one"} <= into_head, f"lineage of a branch: {into_head}")
    check(not into_head & {"log2", "in/three", "sub", "mapped", "empty"}, f"lineage of a branch: {into_head}")
    came = walk("impact", "in/one")
    check(objects | {"all.tar", "out/in/one", "out/in/two", "log", "log2", "sub", "tree/file",
                     "tree/.git/refs/heads/trunk"} <= came, f"impact of an input: {came}")
    check(not came & {"in/two", "in/three", "mapped", "empty"}, f"impact of an input: {came}")


def relations(path):
    """{(program, pid, relation, type, file)} and edges between files, by their true names."""
    entities = json.loads(run([READER, "entities", "--json", path]).want(0).out)["entities"]
    keys = {e["id"]: e["entity"].partition(":")[2] or e["entity"] for e in entities}
    keys = {i: os.path.realpath(k) if k.startswith("/") else k for i, k in keys.items()}
    got = json.loads(run([READER, "edges", "--json", path]).want(0).out)
    return ({(e["step"], e["activity"].split(":")[0], e["relation"], e["type"], keys[e["id"]]) for e in got["edges"]},
            {(e["why"], keys[e["subject"]], keys[e["object"]]) for e in got["between_entities"]}, got["edges"])


@test
def test_told_is_what_is_derived(tmp):
    """Without what the tracer says of runs, the same relations follow from the calls of the trace."""
    need_root()
    need_program("git", "tar")
    (tmp / "w").mkdir()
    t = trace(tmp, ["sh", "-c", f"{WORK}\nsort log | uniq > sorted; gzip sorted; rm log"], cwd=tmp / "w")
    t.no_loss()
    (tmp / "bare").mkdir()
    for f in t.path.glob("*.pfw.gz"):
        kept = []
        for line in gzip.decompress(f.read_bytes()).splitlines():
            r = json.loads(line)
            if r["cat"] == "PROGRAM" or r["name"] in ("EH", "ET", "ER"):
                continue
            if (r["cat"], r["name"]) == ("dftracer", "end"):
                r["args"]["cfg"].pop("prov", None)
                line = json.dumps(r, separators=(",", ":")).encode()
            kept.append(line + b"\n")
        (tmp / "bare" / f.name).write_bytes(gzip.compress(b"".join(kept), 1))
    (told, between, _), (derived, also, edges) = relations(t.path), relations(tmp / "bare")
    check(len(told) > 100 and len(between) >= 2, f"{len(told)} relations, {len(between)} edges")
    check(all(e["derived"] for e in edges), "all of it derived")
    equal(told ^ derived, set(), "relations")
    equal(between ^ also, set(), "edges between files")


ATTACHED = """
import os, subprocess, sys
os.chdir(sys.argv[1])
def work(n):
    data = open(f"in{n}").read()
    with open(f"own{n}", "w") as f: f.write(data)
    subprocess.run(["cp", f"in{n}", f"copy{n}"])
work(1)
held = open("held", "w")
print("ready", flush=True)
sys.stdin.readline()
work(2)
held.write("x")
held.close()
"""


@test
def test_attached(tmp):
    """With -p: what came after the attach, of the process and of those it starts, and nothing of before."""
    need_root()
    (tmp / "w").mkdir()
    work = Path(os.path.realpath(tmp / "w"))
    for n in "12":
        (work / f"in{n}").write_text(n)
    with running_python(ATTACHED, work) as job:
        equal(job.line(), b"ready\n", "the job")
        with Tracer(tmp, "-p", job.pid) as tracer:
            job.tell()
            equal(job.wait(), 0, "the job")
            t = tracer.wait()
    t.no_loss()

    def walk(command, what):
        return below(work, ask(command, t.path, what, cwd=work)[1])

    equal(walk("lineage", "copy2"), {"in2"}, "lineage of a copy")
    equal(walk("lineage", "own2"), {"in2"}, "lineage of the process's own file")
    equal(walk("lineage", "held"), {"in2"}, "lineage of what was open before")
    equal(walk("impact", "in2"), {"own2", "copy2", "held"}, "impact")
    files = run([READER, "entities", "--json", t.path]).want(0).out.decode()
    check(not any(f"/{name}1" in files for name in ("in", "own", "copy")), "files of before the attach")


@test
def test_tracer_killed(tmp):
    """The tracer is killed at the end of the job: the same answers."""
    need_root()
    work = fresh(tmp / "w")
    gate_r, gate_w = os.pipe()
    done_r, done_w = os.pipe()
    job = f"{JOB}; echo done >&{done_w}; read x <&{gate_r}"
    command = [TRACER, "-o", tmp / "trace", "--flush", "100ms", "--", "bash", "-c", job]
    with Background(command, cwd=work, pass_fds=(gate_r, done_w)) as tracer:
        try:
            read_until(done_r, b"\n")
            # What is older than the interval is in the files: wait until the last call that matters is.
            deadline = [0]

            def seen():
                deadline[0] += 1
                r = run([READER, "edges", "--csv", tmp / "trace"])
                return b"rm,PROGRAM" in r.out

            while not seen():
                check(deadline[0] < 2000, "the end of the job never came into the files")
            tracer.proc.kill()
            tracer.proc.wait()
        finally:
            os.write(gate_w, b"\n")
            for fd in (gate_r, gate_w, done_r, done_w):
                os.close(fd)
    _, names = ask("lineage", tmp / "trace", "e", cwd=work)
    equal(below(work, names), {"a", "b", "b.gz", "c", "d", "script.py"}, "lineage of e")
    _, names = ask("impact", tmp / "trace", "a", cwd=work)
    equal(below(work, names), {"b", "b.gz", "c", "d", "e"}, "impact of a")


if __name__ == "__main__":
    main()
