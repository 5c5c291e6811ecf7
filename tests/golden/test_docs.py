#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the documents against what they describe: the table of events of docs/trace-format.md against
bpf/syscalls.def, each line of a trace shown anywhere against the rules of the format, and names of
files, options and commands against those that exist.

    test_docs.py             run
    test_docs.py --table     print the table of events as it has to stand in docs/trace-format.md
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("DFT_BUILD", ROOT / "build"))
BEGIN, END = "<!-- events: begin -->", "<!-- events: end -->"
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *(
    str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("*.md")))]

# The order of the table: by what a reader looks for.
ORDER = """open close close_range read write pread pwrite readv writev preadv pwritev preadv2 pwritev2
    lseek sendfile copy_file_range splice tee ficlone ficlonerange mmap mremap msync munmap mmap_read
    mmap_write fsync fdatasync sync_file_range syncfs sync
    truncate ftruncate fallocate posix_fadvise readahead stat lstat fstat statvfs fstatvfs access readlink
    readdir unlink rmdir rename link symlink mkdir mknod chmod fchmod chown lchown fchown utime
    setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
    removexattr lremovexattr fremovexattr chdir fchdir chroot dup dup2 dup3 fcntl flock ioctl execve
    fork wait""".split()

# Which of two files `fhash` is.
SIDES = {"sendfile": "file written", "copy_file_range": "file read", "splice": "file read",
         "tee": "file read", "ficlone": "file written", "ficlonerange": "file written",
         "mmap_read": "mapped file", "mmap_write": "mapped file"}

# Other names that AT_* flags give the event.
ALTS = {"STAT": "lstat, fstat", "UNLINK": "rmdir", "CHMOD": "fchmod", "CHOWN": "lchown, fchown",
        "SETXATTR": "lsetxattr, fsetxattr", "GETXATTR": "lgetxattr, fgetxattr",
        "LISTXATTR": "llistxattr, flistxattr", "REMOVEXATTR": "lremovexattr, fremovexattr",
        "FSYNC": "fdatasync"}


# ---- the table of events ----------------------------------------------------------------------

def decoded_lines():
    """(call, event, spec, ret, [(name, source, format)]) of each decoded call."""
    for line in (ROOT / "bpf/syscalls.def").read_text().splitlines():
        m = re.match(r"DFT_(?:SYS|SYS_X86|LINE)\((\w+), .*?DECODED\(\"(\w+)\", SPEC\((.*)\), (\w+), (.*)\)\)$",
                     line)
        if not m:
            if line.startswith(("DFT_SYS", "DFT_LINE")) and "DECODED(" in line and "UNDECODED(" not in line:
                raise SystemExit(f"not understood: {line}")
            continue
        call, event, spec, ret, values = m.groups()
        yield call, event, spec, ret, re.findall(r'V\("?(\w+)"?, ([^,()]+(?:\([^)]*\))?), (\w+)\)',
                                                 values)


def argument(name, source, fmt):
    conditional = (fmt in ("MODE", "STATUS") or source in ("RET", "CMD", "NAME2", "TEXT1", "TEXT2", "SLOT",
                                                          "NOTED", "SIZE2", "CREATED")
                   or source.startswith(("POS", "WPOS", "OFFP", "W(", "I(", "SET_")))
    return name + ("?" if conditional else "")


def table():
    rows = {}
    for call, event, spec, ret, values in decoded_lines():
        alt = re.search(r"FLAGS\((?:\d, )+(\w+)\)", spec)
        names = event + (f" ({ALTS[alt.group(1)]})" if alt and alt.group(1) in ALTS else "")
        shown = [v for v in values if v[0] != "NULL"]
        before = [argument(*v) for v in shown if v[2] != "STATUS"]
        after = [argument(*v) for v in shown if v[2] == "STATUS"]
        if "SPECIAL(EXEC)" in spec:
            file = "-"
        elif ret == "FILE":
            file = "opened file, else path" if "NOFILE" not in spec else "opened file"
        elif event in SIDES:
            file = SIDES[event]
        elif "VMA(" in spec:
            file = "mapped file"
        elif "FD(" in spec:
            file = "descriptor"
        elif re.search(r"NULL_OK|EMPTY_OK|AT_FLAGS", spec) and "UNLINK" not in spec:
            file = "path, or descriptor"
        elif re.search(r"PATH\(|AT\(|AT_FLAGS", spec):
            file = "path"
        else:
            file = "-"
        key = (ORDER.index(event), names, file, ", ".join(before + ["ret"] + after))
        rows.setdefault(key, []).append(call)
    out = ["| Event | Calls and requests | `fhash` | Arguments |", "|---|---|---|---|"]
    for (_, names, file, arguments), calls in sorted(rows.items(), key=lambda r: r[0]):
        out.append(f"| {names} | {', '.join(calls)} | {file} | {arguments} |")
    return "\n".join(out)


def check_table():
    text = (ROOT / "docs/trace-format.md").read_text()
    if BEGIN not in text or END not in text:
        return "docs/trace-format.md: no table of events"
    have = text.split(BEGIN)[1].split(END)[0].strip()
    want = table()
    if have == want:
        return None
    for h, w in zip(have.splitlines(), want.splitlines()):
        if h != w:
            return f"docs/trace-format.md has {h!r}, bpf/syscalls.def gives {w!r}"
    return "docs/trace-format.md: the table of events is longer or shorter than bpf/syscalls.def"


def check_arguments():
    """Each argument of the table is explained."""
    text = (ROOT / "docs/trace-format.md").read_text()
    explained = set()
    for row in re.findall(r"^\| (`[^|]*`) \|", text, re.M):
        explained.update(re.findall(r"`(\w+)`", row))
    used = {name for _, _, _, _, values in decoded_lines() for name, _, _ in values if name != "NULL"}
    missing = sorted(used - explained)
    return f"docs/trace-format.md does not explain {', '.join(missing)}" if missing else None


# ---- lines shown in documents -----------------------------------------------------------------

def rule_hash(text):
    digest = hashlib.md5(text).digest()
    return "".join(f"{digest[i]:02x}" for i in range(0, 16, 2))


EVENT_KEYS = ["id", "name", "cat", "type", "pid", "tid", "ts", "dur", "ph", "args"]
METADATA_KEYS = ["name", "cat", "type", "pid", "tid", "ph", "args"]
AGGREGATED_KEYS = ["name", "cat", "type", "ts", "ph", "pid", "tid", "args"]


def check_line(line):
    rec = json.loads(line)
    want = {1: EVENT_KEYS, 3: AGGREGATED_KEYS, 4: METADATA_KEYS}.get(rec.get("ph"))
    if want is None:
        return f"no known ph: {rec.get('ph')}"
    if list(rec) != want:
        return f"fields are {list(rec)}, not {want}"
    if next(iter(rec["args"])) != "hhash":
        return "hhash is not the first argument"
    if rec["name"] in ("HH", "FH", "SH"):
        args = rec["args"]
        raw = bytes.fromhex(args["raw"]) if "raw" in args else args["name"].encode()
        if args["value"] != rule_hash(raw):
            return f"{args['value']} is not the hash of its name"
    if json.dumps(rec, separators=(",", ":"), ensure_ascii=False) != line:
        return "not written compactly"
    return None


def check_lines(document):
    count = 0
    for number, line in enumerate((ROOT / document).read_text().splitlines()):
        if line.startswith('{"'):
            count += 1
            try:
                wrong = check_line(line)
            except (ValueError, KeyError, StopIteration) as e:
                wrong = f"{type(e).__name__}: {e}"
            if wrong:
                return f"{document}:{number + 1}: {wrong}"
    if document == "docs/trace-format.md" and count < 10:
        return f"{document}: shows {count} lines only"
    return None


# ---- names that must exist --------------------------------------------------------------------

def check_paths(document):
    """Paths in backquotes and links lead somewhere."""
    text = (ROOT / document).read_text()
    base = (ROOT / document).parent
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not (base / target).exists():
            return f"{document}: the link to {target} leads nowhere"
    tops = "bpf|user|tests|scripts|docs|vmlinux|include|completions"
    for name in re.findall(rf"`((?:{tops})/[\w./-]*\w)`", text):
        if not (ROOT / name).exists() and not re.search(r"\b[A-Z]{3,}\b", name):  # NAME, DIR
            return f"{document}: there is no {name}"
    return None


def known_options(program):
    run = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True,
                         check=False)
    return set(re.findall(r"--[a-z][\w-]*", run.stdout))


def check_options(document):
    """Options shown with a program's name in front are that program's."""
    text = (ROOT / document).read_text()
    for program in ("dftrace-bpf", "dftrace"):
        known = known_options(program)
        if program == "dftrace":
            listed = subprocess.run([BUILD / "dftrace", "--help"], text=True, capture_output=True,
                                    check=False).stdout
            for command in re.findall(r"^  ([a-z]+) ", listed, re.M):
                run = subprocess.run([BUILD / "dftrace", command, "--help"], text=True,
                                     capture_output=True, check=False)
                known |= set(re.findall(r"--[a-z][\w-]*", run.stdout))
        for line in re.findall(rf"(?<![\w/-]){program}((?: [^\s|`]+)+)", text):
            for word in line.split():
                if word == "--":
                    break
                m = re.match(r"(--[a-z][\w-]*)", word)
                if m and m.group(1) not in known:
                    return f"{document}: {program} has no option {m.group(1)}"
    return None


def check_targets(document):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for target in re.findall(r"`(?:sudo )?make ([a-z-]+)", (ROOT / document).read_text()):
        if target not in targets:
            return f"{document}: there is no target {target}"
    return None


def main():
    if sys.argv[1:] == ["--table"]:
        print(table())
        return 0
    results = [("table_of_events", check_table), ("arguments_explained", check_arguments)]
    for document in DOCUMENTS:
        for check in (check_lines, check_paths, check_options, check_targets):
            name = f"{check.__name__.removeprefix('check_')}_of_{document.replace('/', '_')}"
            results.append((name, lambda c=check, d=document: c(d)))
    failed = False
    for name, check in results:
        try:
            wrong = check()
        except OSError as e:
            wrong = f"{e.filename}: {e.strerror}"
        print(f"not ok {name}: {wrong}" if wrong else f"ok {name}")
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
