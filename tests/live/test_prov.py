#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which files went into each run of a program, and which came out, against strace and by hand."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import provtruth  # noqa: E402
import straceparse  # noqa: E402
from dfttest import (BUILD, READER, Tracer, check, check_with_reader, equal, main, need_program,  # noqa: E402
                     need_root, run, running_python, skip, test, trace)

PYTHON = "/usr/bin/python3"


def against_strace(tmp, work, command):
    """Runs the command with both at once, and compares. Returns (trace, runs, log)."""
    need_root()
    need_program("strace")
    exist = {os.fsencode(p.resolve()) for p in work.rglob("*")}
    t = trace(tmp, straceparse.argv(tmp / "log", command), cwd=work).no_loss()
    check_with_reader(t.path)
    log = straceparse.parse(tmp / "log", cwd=work)
    return t, provtruth.compare(t, log, exist), log


def find(runs, name, n=None):
    """The runs of that name that executed a program."""
    found = [r for (_, k), r in sorted(runs.items()) if r.name == name and k]
    check(found, lambda: f"no run of {name} among {sorted({r.name for r in runs.values()})}")
    if n is None:
        equal(len(found), 1, f"runs of {name}")
        return found[0]
    return found[n]


def place(tmp, name="work"):
    work = tmp / name
    work.mkdir()
    return work, lambda *names: {os.fsencode(work / n) for n in names}


def program(run):
    return {p for what, p in run.used if what == "program"}


PIPELINE = """set -e
sort a | uniq > b
gzip b
cp b.gz c
mv c d
/usr/bin/python3 -I -S script.py d > e
rm a
grep nothing e > empty || :
sh -c 'exec grep nothing e > none' || :
"""


@test
def test_pipeline(tmp):
    """A shell's pipeline: connected through files, pipes, a rename; nothing else."""
    work, files = place(tmp)
    (work / "a").write_text("b\na\na\n")
    (work / "script.py").write_text("import sys\nprint(len(open(sys.argv[1], 'rb').read()))\n")
    (work / "job.sh").write_text(PIPELINE)
    t, runs, _ = against_strace(tmp, work, ["sh", "job.sh"])
    # By hand, besides.
    sort, uniq = find(runs, "sort"), find(runs, "uniq")
    check(files("a") <= sort.files("used"), "sort used a")
    equal({p for w, p in sort.generated}, {p for w, p in uniq.used if w == "pipe"}, "the pipe")
    equal(len({p for w, p in sort.generated}), 1, "pipes")
    equal(uniq.generated, {("file", p) for p in files("b")}, "uniq generated")
    gz = find(runs, "gzip")
    check(files("b") <= gz.files("used"), "gzip used b")
    equal((gz.files("generated"), gz.files("invalidated")), (files("b.gz"), files("b")), "gzip")
    cp, mv = find(runs, "cp"), find(runs, "mv")
    check(files("b.gz") <= cp.files("used"), "cp used b.gz")
    equal(cp.files("generated"), files("c"), "cp generated")
    equal((mv.files("generated"), mv.files("invalidated")), (files("d"), files("c")), "mv")
    equal(provtruth.derived(t, "rename"), {(*files("d"), *files("c"))}, "derived by rename")
    py = find(runs, os.path.basename(PYTHON))
    check(files("d", "script.py") <= py.files("used"), "python used d and the script")
    equal(py.files("generated"), files("e"), "python generated")
    equal(find(runs, "rm").files("invalidated"), files("a"), "rm")
    # An empty file is a result: of who opened it, or of the program that it was opened for.
    makers = [name for name in ("sh", "grep") for r in runs.values() if r.name == name and
              files("empty") <= r.files("generated")]
    equal(len(makers), 1, f"runs that generated the empty file: {makers}")
    none = [r.name for r in runs.values() if files("none") <= r.files("generated")]
    equal(none, ["grep"], "runs that generated what was opened before exec")
    for run in runs.values():
        own = run.records[0]["args"]
        equal(own["files"], len(set().union(*(run.files(k) for k in provtruth.KINDS))),
              f"files of {run.name}")


@test
def test_build(tmp):
    """A build by make: the executable goes back to the sources, headers, tools, libraries that were read."""
    need_program("make", "gcc")
    work, files = place(tmp)
    (work / "one.h").write_text("int one(void);\n")
    (work / "one.c").write_text('#include "one.h"\nint one(void) { return 1; }\n')
    (work / "main.c").write_text('#include "one.h"\nint main(void) { return one() - 1; }\n')
    (work / "Makefile").write_text("prog: main.o one.o\n\tgcc -o $@ main.o one.o\n"
                                   "%.o: %.c one.h\n\tgcc -c $< -o $@\n")
    _, runs, log = against_strace(tmp, work, ["make", "-j2", "prog"])
    made_by = {}
    for run in runs.values():
        for p in run.files("generated"):
            made_by.setdefault(p, []).append(run)
    # Hop by hop.
    todo, seen = list(files("prog")), set()
    while todo:
        p = todo.pop()
        if p in seen:
            continue
        seen.add(p)
        for run in made_by.get(p, []):
            todo += run.files("used")
    check(files("main.c", "one.c", "one.h", "main.o", "one.o") <= seen, "sources of prog")
    check(any(p.endswith(b"/cc1") for p in seen) and any(p.endswith(b"/crti.o") for p in seen),
          "tools and libraries")
    check(not files("Makefile") & seen, "prog does not come from the Makefile")


@test
def test_git(tmp):
    """git commit: objects are made under other names, linked or renamed."""
    need_program("git")
    work, files = place(tmp)
    env = ["env", "HOME=" + str(tmp), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
           "GIT_COMMITTER_EMAIL=a@b"]
    subprocess.run([*env, "git", "init", "-q", "."], cwd=work, check=True)
    (work / "file").write_text("content\n")
    t, runs, _ = against_strace(tmp, work, [*env, "sh", "-c", "git add file && git commit -q -m message"])
    add = find(runs, "git", 0)
    check(files("file") <= add.files("used"), "git add used the file")
    check(files(".git/index") <= add.files("generated"), "git add made the index")
    check((*files(".git/index"), *files(".git/index.lock")) in provtruth.derived(t, "rename"), "index.lock")


@test
def test_untar(tmp):
    """tar x: all members come from the archive, and nothing else does."""
    need_program("tar")
    work, files = place(tmp)
    (work / "in/sub").mkdir(parents=True)
    for i in range(50):
        (work / f"in/sub/{i}").write_text(f"{i}\n")
    subprocess.run(["tar", "cf", "archive.tar", "in"], cwd=work, check=True)
    shutil.rmtree(work / "in")
    _, runs, _ = against_strace(tmp, work, ["tar", "xf", "archive.tar"])
    tar = find(runs, "tar")
    check(files("archive.tar") <= tar.files("used"), "tar used the archive")
    equal(tar.files("generated"), files(*(f"in/sub/{i}" for i in range(50))), "tar generated")
    equal(tar.files("updated") | tar.files("invalidated"), set(), "tar changed")


ATTACHED = r"""
import os, subprocess, sys
open("before", "w").write("x")
open("read before").read()
kept = open("kept", "w")
print("live", flush=True)
sys.stdin.readline()
open("after", "w").write(open("read after").read())
kept.write("more"); kept.flush()
subprocess.run(["cat", "read after"], stdout=open("copy", "w"), check=True)
print("done", flush=True)
sys.stdin.readline()
"""


@test
def test_attach(tmp):
    """-p: only what came after, in an event that says so; written although the process goes on."""
    need_root()
    work, files = place(tmp)
    for name in ("read before", "read after"):
        (work / name).write_text(name)
    with running_python(ATTACHED, cwd=work) as job:
        equal(job.line(), b"live\n")
        with Tracer(tmp, "-p", job.pid) as tracer:
            job.tell(b"\n")
            equal(job.line(), b"done\n")
            t = tracer.stop()
        job.tell(b"\n")
        equal(job.wait(), 0, "the job")
    check_with_reader(t.path)
    runs = provtruth.from_trace(t)
    run = runs[job.pid, 0]
    equal(run.records[0]["args"].get("attached"), 1, "attached")
    check(files("read after") <= run.files("used"), "used")
    check(not files("read before") & run.files("used"), "what was read before")
    equal(run.files("generated"), files("after"), "generated")
    equal(run.files("updated"), files("kept"), "updated: it was made before")
    cat = find(runs, "cat")
    equal(cat.files("generated"), files("copy"), "cat writes what its parent has opened")
    check("attached" not in cat.records[0]["args"], "a child was not there before")


WAYS = r"""
import ctypes, mmap, os, subprocess, sys
def make(name, size=10000):
    with open(name, "wb") as f:
        f.write(b"x" * size)
if sys.argv[1] == "copy":
    src, dst = os.open("src", os.O_RDONLY), os.open("dst", os.O_WRONLY | os.O_CREAT, 0o600)
    os.copy_file_range(src, dst, 1000)
    os.sendfile(os.open("sent", os.O_WRONLY | os.O_CREAT, 0o600), os.open("src2", os.O_RDONLY), 0, 1000)
    os.truncate("cut", 0)
    os.truncate("shorter", 5)
    os.open("only looked at", os.O_RDWR)
    os.stat("src3")
    os.write(os.open("old", os.O_WRONLY), b"y")
    os.open("emptied", os.O_WRONLY | os.O_TRUNC)
    os.link("src", "linked")
    os.rename("one", "two")
    os.mkdir("dir"); os.rename("dir", "dir2")
    os.symlink("src", "link"); os.unlink("link")
elif sys.argv[1] == "map":
    with open("mapped", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
        m[5000] = 1
    with open("only mapped", "r+b") as f:
        quiet = mmap.mmap(f.fileno(), 0)
    with open("read by map", "rb") as f:
        sum(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[::4096])
elif sys.argv[1] == "child":
    with open("out", "w") as f:
        subprocess.run(["cat", "src"], stdout=f, check=True)
"""


def ways(tmp, what, *options):
    work, files = place(tmp)
    for name in ("src", "src2", "src3", "cut", "shorter", "only looked at", "old", "emptied", "one", "mapped",
                 "only mapped", "read by map"):
        (work / name).write_bytes(b"x" * 10000)
    (work / "ways.py").write_text(WAYS)
    t = trace(tmp, [PYTHON, "-I", "-S", "ways.py", what], *options, cwd=work).no_loss()
    check_with_reader(t.path)
    return t, provtruth.from_trace(t), files


@test
def test_ways_to_copy(tmp):
    """Each call that moves or gives away content, and those that only look."""
    need_root()
    t, runs, files = ways(tmp, "copy")
    run = find(runs, os.path.basename(PYTHON))
    inside = {os.fsencode(p) for p in (tmp / "work").parent.rglob("*")} | files("src3", "one", "link")
    equal(run.files("used") & inside, files("src", "src2", "ways.py"), "used")
    equal(run.files("generated"), files("dst", "sent", "cut", "emptied", "linked", "two"), "generated")
    equal(run.files("updated"), files("shorter", "old"), "updated")
    # That a name was one of a symbolic link cannot be seen when it has gone.
    equal(run.files("invalidated"), files("one", "link"), "invalidated")
    equal(provtruth.derived(t, "link"), {(*files("linked"), *files("src"))}, "link")
    equal(provtruth.derived(t, "rename"), {(*files("two"), *files("one")), (*files("dir2"), *files("dir"))}, "rename")
    args = run.records[0]["args"]
    equal(args["bytes_written"], 1000 + 1000 + 1, "bytes written")


@test
def test_mapped(tmp):
    """Files read and written through memory: by page faults, or where these are not seen, by what is allowed."""
    need_root()
    t, runs, files = ways(tmp, "map")
    if not t.files[0].end["cfg"]["mmap"]:
        skip("page faults", "the kernel does not tell of them")
    run = find(runs, os.path.basename(PYTHON))
    equal(run.files("updated"), files("mapped"), "written")
    check(files("read by map") <= run.files("used"), "read")
    check(not files("only mapped") & (run.files("used") | run.files("updated")), "not touched")
    shutil.rmtree(tmp / "work")
    shutil.rmtree(tmp / "trace")
    _, runs, files = ways(tmp, "map", "--no-mmap")
    run = find(runs, os.path.basename(PYTHON))
    equal(run.files("updated"), files("mapped", "only mapped"), "may have been written")


@test
def test_child_with_open_file(tmp):
    """What a parent opens for its child is the child's work."""
    need_root()
    _, runs, files = ways(tmp, "child")
    cat = find(runs, "cat")
    equal(cat.files("generated"), files("out"), "cat")
    check(files("src") <= cat.files("used"), "cat used src")
    equal(find(runs, os.path.basename(PYTHON)).files("generated"), set(), "its parent")


@test
def test_links_to_directories(tmp):
    """Names that lead over symbolic links are those of the files they lead to."""
    need_root()
    work, files = place(tmp)
    (work / "real").mkdir()
    (work / "link").symlink_to("real")
    (work / "real/tool").write_text("#!/bin/sh\necho x > link/x; mv link/x link/y; rm link/old\n")
    (work / "real/tool").chmod(0o755)
    (work / "real/old").write_text("x")
    t = trace(tmp, ["link/tool"], cwd=work).no_loss()
    check_with_reader(t.path)
    runs = provtruth.from_trace(t)
    check(files("real/tool") <= program(find(runs, "tool")), "the script is a program")
    check({os.fsencode(os.path.realpath("/bin/sh"))} <= program(find(runs, "tool")), "and what runs it")
    equal(find(runs, "mv").files("generated"), files("real/y"), "mv generated")
    equal(find(runs, "mv").files("invalidated"), files("real/x"), "mv invalidated")
    equal(find(runs, "rm").files("invalidated"), files("real/old"), "rm invalidated")
    equal(provtruth.derived(t, "rename"), {(*files("real/y"), *files("real/x"))}, "derived")


DIRECTORIES = """
mkdir -p p/q
cp src p/q/x
mv p z
mv z y
sort y/q/x > one
/usr/bin/python3 -I -S - <<'end'
import os
fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(fd, open("one", "rb").read())
os.link(f"/proc/self/fd/{fd}", "two", src_dir_fd=fd)
end
"""


@test
def test_renamed_directories(tmp):
    """Directories that are renamed are told, and what is below them is found; a file made without a name."""
    need_root()
    work, files = place(tmp)
    (work / "src").write_text("x\n")
    t = trace(tmp, ["sh", "-c", DIRECTORIES], cwd=work).no_loss()
    check_with_reader(t.path)
    equal(provtruth.derived(t, "rename"), {(*files("z"), *files("p")), (*files("y"), *files("z"))}, "directories")
    runs = provtruth.from_trace(t)
    py = find(runs, os.path.basename(PYTHON))
    made = py.files("generated") - files("two")
    check(files("two") < py.files("generated") and len(made) == 1 and b"#" in made.copy().pop(),
          f"python generated {py.generated}")
    equal(py.files("updated"), set(), "python updated")
    reached = {e["entity"].encode() for e in json.loads(
        run([READER, "lineage", "--json", t.path, work / "two"]).want(0).out)["reached"]}
    check(files("one", "y/q/x", "p/q/x", "src") <= reached, f"lineage of the last: {sorted(reached)}")


@test
def test_stores_and_namespaces(tmp):
    """A tmpfs is memory; in a mount namespace a name is another file."""
    need_root()
    need_program("unshare", "mount")
    work, files = place(tmp)
    (work / "m").mkdir()
    t = trace(tmp, ["sh", "-c", "echo x > m/x; unshare -m --propagation private sh -c "
                    "'mount -t tmpfs none m && cp /etc/passwd m/x'"], cwd=work).no_loss()
    check_with_reader(t.path)
    (path,) = files("m/x")
    seen = {}
    for f in t:
        ns = f.start.get("mnt_ns") or next((int(r["args"]["value"]) for r in f.records if r["name"] == "CM" and
                                            r["args"]["name"] == "mnt_ns"), None)
        for r in f.records:
            if r["name"] == "EH" and f.names[r["args"]["fhash"]] == path:
                seen[f.program] = r["args"]["store"], r["args"]["id"], ns
    host = os.uname().nodename.encode()
    equal(seen["sh"], (2, provtruth.entity_id(b"file", host + b":" + path), None), "of the shell")
    store, ident, ns = next(v for k, v in seen.items() if k != "sh")
    check(ns, "another mount namespace")
    equal((store, ident), (0, provtruth.entity_id(b"file", host + b":%d:" % ns + path)), "in the namespace")


@test
def test_created(tmp):
    """Which opens created their file: each call, and whether it was there."""
    need_root()
    work, files = place(tmp)
    code = r"""
import ctypes, os, struct
libc = ctypes.CDLL(None)
W, C, X, T = os.O_WRONLY, os.O_CREAT, os.O_EXCL, os.O_TRUNC
for name in (b"openat", b"old"):
    os.open(name, W | C, 0o600); os.open(name, W | C | T, 0o600); os.open(name, os.O_RDONLY)
os.open(b"excl", W | C | X, 0o600)
for name in (b"creat", b"old"):
    libc.creat(name, 0o600)
for name in (b"openat2", b"old"):
    libc.syscall(437, -100, name, struct.pack("QQQ", W | C, 0o600, 0), 24)
os.open(".", os.O_RDWR | os.O_TMPFILE)
"""
    (work / "old").write_text("x")
    t = trace(tmp, [PYTHON, "-I", "-S", "-c", code], cwd=work).no_loss()
    created = [e.file for e in t.events("open") if e.args.get("created")]
    equal(sorted(created), sorted(files("openat", "excl", "creat", "openat2")), "created")
    for e in t.events("open"):
        keys = list(e.args)
        if "created" in keys:
            equal((e.args["created"], keys.index("created") + 1), (1, keys.index("ret")), f"{e}")


@test
def test_requests(tmp):
    """Requests of io_uring create and write files like calls."""
    need_root()
    work, files = place(tmp)
    t = trace(tmp, [BUILD / "tests/progs/uring_ops", "plain", work], stdout=subprocess.DEVNULL).no_loss()
    check_with_reader(t.path)
    opens = [e for e in t.events("open") if e.args.get("via") == "io_uring" and not e.errno]
    check(len(opens) > 2, "opens by io_uring")
    equal([e.file for e in opens if e.args.get("created")], list(files("created")), "created")
    run = find(provtruth.from_trace(t), "uring_ops")
    written = {e.file for e in t.events() if e.name in ("write", "pwrite", "writev", "pwritev") and e.file and
               isinstance(e.ret, int) and e.ret > 0 and e.file.startswith(os.fsencode(work))}
    check(written and written <= run.files("generated") | run.files("updated"), lambda: f"{written}: {run}")


@test
def test_entities_of_the_program(tmp):
    """What a program declares with the name of a file that it uses is that file, once for each."""
    need_root()
    work, files = place(tmp)
    for name in ("early", "late"):
        (work / name).write_text("x")
    prog = BUILD / "tests/progs/entity_files"
    t = trace(tmp, [prog, work / "early", work / "late", work / "none"], "--usdt", prog, cwd=work).no_loss()
    check_with_reader(t.path)
    (f,) = t.files
    known = provtruth.entities(f)
    pairs = sorted((r["args"]["subject"], known[r["args"]["object"]]) for r in f.records
                   if r["name"] == "ER" and r["args"]["relation"] == 21 and r["args"].get("why") == "uri")
    equal(pairs, sorted((provtruth.entity_id(b"data", n.encode()), ("file", *files(n)))
                        for n in ("early", "late")), "alternates")


@test
def test_aggregated(tmp):
    """From sums it is known what was read and written, and not who made it."""
    need_root()
    work, files = place(tmp)
    (work / "in").write_text("x")
    t = trace(tmp, ["dd", "if=in", "of=out", "status=none"], "--aggregate", cwd=work).no_loss()
    check_with_reader(t.path)
    run = next(r for r in t.files[0].records if r["cat"] == "PROGRAM")["args"]
    names = {r["args"]["id"]: t.files[0].names[r["args"]["fhash"]] for r in t.files[0].records
             if r["name"] == "EH"}
    told = {kind: {names[i] for i in ids} for kind, ids in run["relations"].items()}
    check(files("in") <= told["used"], "used")
    equal(told.get("updated"), files("out"), "updated")
    check("generated" not in told, "generated")
    check(run["incomplete"] > 2, "opens and mappings of which no more is known")


@test
def test_without(tmp):
    """--no-prov: neither events nor entities; --no-args: both, without names of files."""
    need_root()
    work, _ = place(tmp)
    job = ["sh", "-c", "echo x > x; cat x > y"]
    t = trace(tmp, job, "--no-prov", cwd=work, out=tmp / "none")
    for f in t:
        equal(f.end["cfg"]["prov"], 0, "cfg")
        equal([r for r in f.records if r["cat"] == "PROGRAM" or r["name"] in ("EH", "ET", "ER")], [], "lines")
    t = trace(tmp, job, "--no-args", cwd=work, out=tmp / "args")
    check_with_reader(t.path)
    made = set()
    for f in t:
        uris = {r["args"]["id"]: r["args"]["uri"] for r in f.records if r["name"] == "EH"}
        check(not any("fhash" in r["args"] for r in f.records if r["name"] == "EH"), "fhash without a name")
        for r in f.records:
            if r["cat"] == "PROGRAM":
                made |= {uris[i] for i in r["args"].get("relations", {}).get("generated", [])}
    equal(made, {str(work / "x"), str(work / "y")}, "made")


if __name__ == "__main__":
    main()
