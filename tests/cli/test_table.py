# SPDX-License-Identifier: MIT
"""The table of system calls against the kernel's own: every number has a line, under its name."""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

TABLE = ROOT / "bpf/syscalls.def"
GENERIC = Path("/usr/include/asm-generic/unistd.h")

# Names of the kernel's functions that differ from those of the calls (include/linux/syscalls.h).
FUNCTIONS = {
    "newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname",
    "sendfile64": "sendfile", "umount": "umount2",
}
# Functions with the prefix that are in no table of x86-64: for other machines and for 32 bits.
NO_CALLS = {
    "fstatat64", "stat64", "lstat64", "fstat64", "truncate64", "ftruncate64", "statfs64",
    "fstatfs64", "fadvise64_64", "fcntl64", "llseek", "mmap_pgoff", "sendfile", "sync_file_range2",
    "send", "recv", "nice", "gethostname", "stime", "socketcall", "ipc", "old_getrlimit", "oldumount", "sigsuspend",
    "sigaction", "sgetmask", "ssetmask", "signal", "sigpending", "sigprocmask", "bdflush", "waitpid",
    "olduname", "uname", "chown16", "lchown16", "fchown16", "setregid16", "setgid16", "setreuid16",
    "setuid16", "setresuid16", "getresuid16", "setresgid16", "getresgid16", "setfsuid16",
    "setfsgid16", "getgroups16", "setgroups16", "getuid16", "geteuid16", "getgid16", "getegid16",
    "old_select", "old_mmap", "old_readdir", "clone2", "clock_settime32", "clock_gettime32",
    "clock_adjtime32", "clock_getres_time32", "clock_nanosleep_time32", "timer_gettime32",
    "timer_settime32", "timerfd_settime32", "timerfd_gettime32", "utimensat_time32",
    "pselect6_time32", "ppoll_time32", "io_pgetevents_time32", "recvmmsg_time32",
    "mq_timedsend_time32", "mq_timedreceive_time32", "semtimedop_time32", "rt_sigtimedwait_time32",
    "futex_time32", "sched_rr_get_interval_time32", "futimesat_time32", "utimes_time32",
    "adjtimex_time32", "nanosleep_time32", "time32", "stime32", "utime32", "io_getevents_time32",
}


# Numbers given out later in a gap of the x86-64 table: headers may be older.
LATER = {"uretprobe", "uprobe"}


def table():
    """{name: (number on x86-64 or None, number on arm64 or None)}, in the file's order."""
    found = {}
    for line in TABLE.read_text().splitlines():
        m = re.match(r"DFT_SYS\((\w+), (\d+), (\d+), \w", line)
        x = re.match(r"DFT_SYS_X86\((\w+), (\d+), \w", line)
        name = (m or x)[1] if m or x else None
        check(bool(m or x) or not line.startswith("DFT_SYS"), f"line not understood: {line}")
        check(name not in found, f"{name} twice")
        if m:
            found[name] = int(m[2]), int(m[3])
        elif x:
            found[name] = int(x[2]), None
    check(len(found) > 350, f"only {len(found)} lines in {TABLE}")
    return found


def x86_header():
    for path in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if os.path.exists(path):
            return {m[1]: int(m[2]) for m in
                    re.finditer(r"^#define __NR_(\w+) (\d+)$", Path(path).read_text(), re.M)}
    skip("headers", "no asm/unistd_64.h of x86-64")


def arm64_header():
    """asm-generic/unistd.h as arm64 and other 64-bit machines use it."""
    if not GENERIC.exists():
        skip("headers", f"no {GENERIC}")
    text = GENERIC.read_text()
    numbers = {m[1]: int(m[2]) for m in
               re.finditer(r"^#define (__NR(?:3264)?_\w+)\s+(\d+)\b", text, re.M)}
    # Behind the marker are the names of the calls that 32- and 64-bit machines name differently.
    names = {}
    part = text[text.index("#if __BITS_PER_LONG == 64 && !defined(__SYSCALL_COMPAT)",
                           text.index("__NR_syscalls")):]
    for m in re.finditer(r"^#define __NR_(\w+) (__NR3264_\w+)$", part[:part.index("#else")], re.M):
        if m[2] in numbers:  # stat and lstat are not for new machines
            names[m[1]] = numbers[m[2]]
    for name, number in numbers.items():
        if name.startswith("__NR_") and name not in ("__NR_syscalls", "__NR_arch_specific_syscall",
                                                     "__NR_sync_file_range2") and \
                not 403 <= number < 424:  # with 64-bit times, for 32-bit machines
            names.setdefault(name.removeprefix("__NR_"), number)
    return names


def compare(name, header, lines):
    last = max(header.values())
    for call, number in header.items():
        check(call in lines, f"{name}: {call} ({number}) has no line")
        equal(lines[call], number, f"{name}: number of {call}")
    for call, number in lines.items():
        check(call in header or number > last or call in LATER, f"{name}: the header has no {call} ({number})")
    numbers = sorted(lines.values())
    equal(len(numbers), len(set(numbers)), f"{name}: distinct numbers")


@test
def test_x86_64_header(tmp):
    compare("x86-64", x86_header(), {n: x for n, (x, _) in table().items() if x is not None})


@test
def test_arm64_header(tmp):
    compare("arm64", arm64_header(), {n: a for n, (_, a) in table().items() if a is not None})


@test
def test_newer_calls(tmp):
    """From 424 on, all machines have the same numbers, and none is left out."""
    lines = table()
    new = {x: (n, a) for n, (x, a) in lines.items() if x >= 424}
    equal(sorted(new), list(range(424, max(new) + 1)), "numbers")
    for number, (name, arm64) in new.items():
        equal(arm64, number, f"number of {name} on arm64")
    equal([x for _, (x, _) in lines.items()], sorted(x for x, _ in lines.values()), "order of lines")


@test
def test_running_kernel(tmp):
    """Every system call function of this kernel has a line, and every newer line a function."""
    if os.uname().machine != "x86_64":
        skip("x86-64", "the names of the functions are those of x86-64")
    try:
        text = Path("/proc/kallsyms").read_text()
    except OSError as e:
        skip("kallsyms", e.strerror)
    functions = {FUNCTIONS.get(n, n) for n in re.findall(r" [tT] __x64_sys_(\w+)$", text, re.M)}
    if len(functions) < 100:
        skip("kallsyms", "names of functions are hidden")
    lines = table()
    missing = sorted(n for n in functions if n not in lines and n not in NO_CALLS and
                     n != "ni_syscall" and not n.startswith("ia32_"))
    equal(missing, [], "functions without a line")
    known = max(x86_header().values())
    # A call may be configured out; but the table is not ahead of the newest kernel we know.
    unknown = [n for n, (x, _) in lines.items() if x > known and n not in functions]
    check(len(unknown) <= 3, f"calls newer than the headers that this kernel does not have: {unknown}")


@test
def test_list_of_the_tracer(tmp):
    """--list-syscalls shows this machine's numbers, all of them."""
    column = 0 if os.uname().machine == "x86_64" else 1
    want = {numbers[column]: name for name, numbers in table().items()
            if numbers[column] is not None}
    got, others = {}, []
    for line in run([TRACER, "--list-syscalls"]).want(0).out.decode().splitlines()[1:]:
        m = re.match(r" *(\d+|-) (\w+) +(decoded|undecoded|not-io) ", line)
        check(m, f"line not understood: {line!r}")
        if m[1] == "-":
            others.append(m[2])
        else:
            got[int(m[1])] = m[2]
    equal(got, want, "numbers and names")
    equal(others, list(re.findall(r"^DFT_LINE\((\w+),", TABLE.read_text(), re.M)), "what is no call")


@test
def test_requests_of_the_header(tmp):
    """Each operation of io_uring that the kernel's header has is there under its number."""
    header = Path("/usr/include/linux/io_uring.h")
    if not header.exists():
        skip("headers", f"no {header}")
    text = header.read_text()
    names = re.findall(r"^\tIORING_OP_(\w+),", text[text.index("\tIORING_OP_NOP"):], re.M)
    names = names[:names.index("LAST")] if "LAST" in names else names
    check(len(names) > 40, f"{len(names)} operations in {header}")
    lines = {int(n): name for name, n in
             re.findall(r"^DFT_LINE\((\w+), URING, (\d+),", TABLE.read_text(), re.M)}
    for number, name in enumerate(names):
        equal(lines.get(number), f"uring_{name.lower()}", f"operation {number}")
    equal(sorted(lines), list(range(len(lines))), "numbers of operations")


if __name__ == "__main__":
    main()
