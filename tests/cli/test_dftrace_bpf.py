# SPDX-License-Identifier: MIT
"""The command line of dftrace-bpf: what it says, where, and with which exit status.

Nothing is traced here, so nothing needs root; run as root, the parts about missing privileges are
done as another user.
"""
import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

MAN = ROOT / "docs/man/dftrace-bpf.8"
COMPLETION = ROOT / "completions/dftrace-bpf"
NOBODY = 65534

FEATURES = ["tp_btf", "raw_tp", "tracepoint", "iter_task", "task_storage", "ringbuf", "uprobe",
            "uprobe_multi", "kprobe", "fentry", "lsm", "bpf_loop", "uring"]
CAPS = ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN"]


def cli(*args, **kw):
    return run([TRACER, *args], **kw)


def text_of(r):
    return r.out.decode()


# ---- the same options everywhere ----

def options_of_help():
    """{long name: (letter or None, takes a value: True, False or "may")} as --help has them."""
    found = {}
    for line in text_of(cli("--help").want(0)).splitlines():
        m = re.match(r"  (?:-(\w), |    )--([a-z-]+)(?:( [A-Z]\S*)|(\[=[A-Z]+\]))?(?:  |$)", line)
        if m:
            found[m[2]] = (m[1], "may" if m[4] else bool(m[3]))
    return found


def options_of_man():
    """The same from the tagged paragraphs of the man page's OPTIONS."""
    source = MAN.read_text().replace("\\-", "-")
    section = source[source.index("\n.SH OPTIONS\n"):source.index('\n.SH "EXIT STATUS"')]
    found = {}
    for m in re.finditer(r"^\.TP\n\.B[RI]? (?:-(\w) \", \" )?--([a-z-]+)(.*)$", section, re.M):
        found[m[2]] = (m[1], "may" if m[3].startswith(" [") else "=" in m[3])
    return found


def bash(script, *args):
    r = run(["bash", "--norc", "-c", script, "bash", *args]).want(0)
    equal(r.err, b"", "bash's stderr")
    return text_of(r)


def complete(*words, program="dftrace-bpf"):
    """What the completion script offers for the last of the words."""
    return bash('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dftrace_bpf; '
                'printf "%s\\n" "${COMPREPLY[@]}"', COMPLETION, program, *words).split()


@test
def test_options_in_help_man_and_completion(tmp):
    wanted = options_of_help()
    check(len(wanted) == 35, f"--help has {len(wanted)} options: {sorted(wanted)}")
    equal(options_of_man(), wanted, "options of the man page")
    words = bash('source "$1"; echo $_dftrace_bpf_options', COMPLETION).split()
    equal(sorted(words),
          sorted([f"--{name}" for name in wanted] + [f"-{s}" for s, _ in wanted.values() if s]),
          "options of the completion")
    equal(sorted(complete("--")), sorted(f"--{name}" for name in wanted), "completion of --")
    for name, (letter, valued) in wanted.items():
        for option in (f"--{name}", f"-{letter}"):
            if option == "-None":
                continue
            takes = bash('source "$1"; _dftrace_bpf_takes_value "$2" && echo yes || echo no',
                         COMPLETION, option).strip()
            equal(takes, "yes" if valued is True else "no", f"completion: {option} takes a value")


@test
def test_every_option_of_help_is_accepted(tmp):
    """With no target, a known option ends in 'nothing to trace', an unknown one does not."""
    values = {"pid": "1", "user": "root", "duration": "1", "include": "/", "exclude": "/",
              "usdt": "/x", "only": "read,fstat", "min-dur": "1ms", "flush": "100ms",
              "max-size": "1G", "level": "3", "memory": "64M",
              "output": "x", "ring": "64K", "ready-fd": "2", "cgroup": "/", "uid": "0", "comm": "x"}
    for name, (letter, valued) in options_of_help().items():
        for option in [f"--{name}"] + ([f"-{letter}"] if letter else []):
            if name in ("info", "list-syscalls", "version", "help"):
                cli(option).want(0)
                continue
            args = [option] + ([values[name]] if valued is True else [])
            # Some are targets themselves: something else has to be wrong then
            args += ["--json"] if name in ("pid", "all", "cgroup", "uid", "comm") else []
            r = cli(*args)
            one_error_line(r, "nothing to trace|only goes with --info", status=2)
        if valued == "may":
            one_error_line(cli(f"--{name}=1m"), "nothing to trace", status=2)
        elif valued:
            one_error_line(cli(f"--{name}"), f"--{name}: needs a value", status=2)
        else:
            one_error_line(cli(f"--{name}=x"), "takes no value", status=2)


@test
def test_completion(tmp):
    equal(complete("--inc"), ["--include"])
    equal(complete("-u", "roo"), ["root"])
    equal(complete("--user", "=", "roo"), ["root"])
    equal(complete("-o", "/us"), ["/usr"])
    equal(complete("-qo", "/us"), ["/usr"])
    equal(complete("--memory", "64"), ["64M"])
    equal(complete("--only", "read,fst", program=TRACER), ["read,fstat", "read,fstatvfs"])
    check("gzip" in complete("--aggregate", "gzi"), "CMD is not completed behind --aggregate")
    check(str(os.getpid()) in complete("-p", str(os.getpid())), "the pid is not completed")
    check(f"1,{os.getpid()}" in complete("-p", f"1,{os.getpid()}"), "no second pid is completed")
    check("gzip" in complete("-o", "x", "gzi"), "CMD is not completed")
    check("gzip" in complete("--", "gzi"), "CMD behind -- is not completed")
    equal(complete("-q", "gzip", "/us"), ["/usr"], "an argument of CMD")
    equal(complete("-q", "gzip", "--inc"), [], "an option of CMD is not ours")


# ---- what it says ----

@test
def test_help_and_version(tmp):
    r = cli("--help").want(0)
    equal(r.err, b"", "stderr of --help")
    long_lines = [line for line in text_of(r).splitlines() if len(line) > 100]
    check(not long_lines, f"lines of --help too long: {long_lines}")
    equal(text_of(cli("-h").want(0)), text_of(r), "-h")
    r = cli("--version").want(0)
    equal(r.err, b"", "stderr of --version")
    m = re.fullmatch(r"dftrace-bpf (\d+\.\d+\.\d+)\n", text_of(r))
    check(m, f"--version: {text_of(r)!r}")
    header = (ROOT / "user/lib/version.h").read_text()
    check(f'"{m[1]}"' in header, "--version is not the version of version.h")
    check(f'"dftrace-bpf {m[1]}"' in MAN.read_text(), "the man page has another version")
    # they win over what comes behind, not over what comes before
    equal(text_of(cli("-V", "--nonsense").want(0)), text_of(r))
    one_error_line(cli("--nonsense", "-V"), "--nonsense: unknown", status=2)


@test
def test_man_page_is_clean(tmp):
    need_program("groff")
    r = run(["groff", "-man", "-ww", "-z", MAN]).want(0)
    equal(r.err, b"", "warnings of groff")
    man = MAN.read_text()
    for section in ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SIGNALS", "FILES",
                    "ENVIRONMENT", "OVERHEAD", "SECURITY", "EXAMPLES", "BUGS", "SEE ALSO"):
        check(re.search(rf'^\.SH "?{section}"?$', man, re.M), f"no section {section}")


@test
def test_usage_errors(tmp):
    cases = [
        ((), "nothing to trace: give a command, -p PID or -a"),
        (("--",), "nothing to trace"),
        (("-q", "--precise"), "nothing to trace"),
        (("-x",), "-x: unknown option"),
        (("-qx", "true"), "-x: unknown option"),
        (("--all", "-xq"), "-x: unknown option"),
        (("--nonsense", "true"), "--nonsense: unknown or ambiguous"),
        (("--in", "true"), "--in: unknown or ambiguous"),
        (("--quiet=1", "true"), "--quiet=1: takes no value"),
        (("-p",), "-p: needs a value"),
        (("-a", "-p", "1"), "-p: has no meaning with -a"),
        (("-a", "--no-follow"), "--no-follow: has no meaning with -a"),
        (("-u", "root", "-p", "1"), "-u: there is no command"),
        (("-u", "", "true"), "-u: '': is empty"),
        (("-o", "", "true"), "-o: '': is empty"),
        (("--include", "data", "true"), "--include: 'data': not an absolute path"),
        (("--exclude", "./data", "true"), "--exclude: './data': not an absolute path"),
        (("--include", "", "true"), "not an absolute path"),
        (("--include", "/a/../b", "true"), r"without '\.\.'"),
        (("--include", "/" + "x" * 4095, "true"), "longer than a path"),
        (("--json", "true"), "--json: only goes with --info"),
        (("--json", "--list-syscalls"), "--json: only goes with --info"),
        (("--info", "true"), "true: no command is run"),
        (("--list-syscalls", "true"), "true: no command is run"),
        (("--only", "raed", "true"), "--only: 'raed': no event is called so: did you mean read?"),
        (("--only", "read,x", "true"), "--only: 'x': no event is called so; --list-syscalls"),
        (("--only", "", "true"), "--only: not a name or a list"),
        (("--aggregate", "--max-size", "1G", "true"), "--max-size: has no meaning with --aggregate"),
        (("--aggregate=x", "true"), "--aggregate: 'x': not a time"),
        (("--ready-fd", "900", "true"), "--ready-fd: '900': that descriptor is not open"),
        (("--ready-fd", "1", "true"), "0, 1 and 2 belong to CMD"),
        (("--ready-fd", "two", "true"), "not a descriptor number"),
        # one line whatever is in the value
        (("-p", "1\n2", "true"), "-p: '1 2': not a process id"),
        (("-p", "7" * 9000, "true"), r"\.\.\.': not a process id"),
    ]
    for args, words in cases:
        r = cli(*args, cwd=tmp)
        line = one_error_line(r, words, status=2)
        check(line.endswith(" (try --help)"), f"no remedy: {line}")
        equal(r.out, b"", f"stdout after {args}")
    with open(MAN, "rb") as readable:
        r = cli("--ready-fd", "0", "-a", stdin=readable)
    one_error_line(r, "not open for writing", status=2)
    equal(list(tmp.iterdir()), [], "files made by wrong command lines")


@test
def test_numbers_and_their_bounds(tmp):
    # Nothing else is wrong with these than that there is no target.
    taken = [("-d", v) for v in ("1", "1.5s", ".5", "200ms", "7us", "1ns", "2m", "1h",
                                 "9223372036")]
    taken += [("--ring", v) for v in ("64K", "64k", "65536", "1M", "16MiB", "1G", "1073741824")]
    taken += [("--min-dur", v) for v in ("1ns", "2h")]
    taken += [("--flush", v) for v in ("10ms", "0.01", "1h")]
    taken += [("--level", v) for v in ("0", "1", "12")]
    taken += [("--memory", v) for v in ("16M", "16777216", "1T")]
    taken += [("--max-size", v) for v in ("1", "4k", "20GiB", "18446744073709551615")]
    for option, value in taken:
        one_error_line(cli(option, value), "nothing to trace", status=2)
    for value in ("1", "4194304", "1,2,3", "1,1"):
        one_error_line(cli("-p", value, "-a"), "no meaning with -a", status=2)
    refused = {
        "-d": ("", "0", "0.0", "-1", "+1", " 1", "1 ", "1x", "1.", "1e3", "0x1", "inf",
               "9223372037", "0.1ns", "99999999999999999999999h"),
        "--ring": ("", "0", "1", "2K", "3M", "2G", "64KB", "65537", "-64K", "1.5M", "K", "1T",
                   "18446744073709551616", "17179869184G"),
        "--min-dur": ("", "0", "x", "0.1ns"),
        "--flush": ("", "0", "9ms", "9999999ns", "x"),
        "--level": ("", "-1", "13", "6.5", "high"),
        "--memory": ("", "0", "15M", "16777215", "64MB", "-64M", "18446744073709551616"),
        "--max-size": ("", "0", "0G", "1.5G", "16777216T", "K"),
        "-p": ("", "0", "-1", "+1", "4194305", "1,", ",1", "1,,2", "1 2", "1x", "self",
               "18446744073709551617"),
        "--ready-fd": ("", "-1", "3x", "2147483648", "2147483647", "99999999999999999999"),
    }
    for option, values in refused.items():
        for value in values:
            one_error_line(cli(option, value, "true"), f"{option}: '{re.escape(value)}': ",
                           status=2)


@test
def test_output_that_cannot_be_written(tmp):
    for option in ("--help", "--version", "--list-syscalls", "--info"):
        with open("/dev/full", "wb") as full:
            r = cli(option, stdout=full)
        one_error_line(r, "No space left", status=1)


@test
def test_closed_descriptors(tmp):
    """What is opened later must not become stdin, stdout or stderr."""
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        r = run(["bash", "-c", f'"$1" --info {closed}', "bash", TRACER])
        equal(r.status, 0, f"exit status with {closed}")
        equal(r.err, b"", f"stderr with {closed}")
    r = run(["bash", "-c", '"$1" --nonsense 2>&-', "bash", TRACER])
    equal((r.status, r.out), (2, b""), "usage error without stderr")


@test
def test_list_syscalls(tmp):
    r = cli("--list-syscalls").want(0)
    equal(r.err, b"", "stderr")
    for name in ("openat", "read", "pwrite64", "newfstatat", "renameat2", "execve"):
        check(re.search(rf"\b{name}\b", text_of(r)), f"{name} is not listed")


# ---- --info ----

def check_info(report):
    equal(list(report["features"]), FEATURES, "features")
    for name, entry in report["features"].items():
        check(type(entry["ok"]) is bool, f"{name}: ok is {entry['ok']!r}")
        if entry["ok"]:
            equal(list(entry), ["ok"], name)
        else:
            equal(list(entry), ["ok", "why"], name)
            check(entry["why"].strip() == entry["why"] != "", f"{name}: why is {entry['why']!r}")
    equal(list(report["caps"]), CAPS, "caps")
    equal(report["kernel"], os.uname().release, "kernel")
    check(report["lockdown"] in ("none", "integrity", "confidentiality", "unknown"),
          f"lockdown is {report['lockdown']!r}")
    equal(report["btf"], os.access("/sys/kernel/btf/vmlinux", os.R_OK), "btf")
    check(re.fullmatch(r"\d+\.\d+", report["libbpf"]), f"libbpf is {report['libbpf']!r}")
    check(f"dftrace-bpf {report['version']}\n" == text_of(cli("-V")), "version")


def json_info(*before, tracer=TRACER):
    r = run([*before, tracer, "--info", "--json"]).want(0)
    equal(r.err, b"", "stderr of --info --json")
    check(r.out.endswith(b"}\n") and r.out.count(b"\n") == 1, "not one line")
    return json.loads(r.out)


@test
def test_info_json(tmp):
    report = json_info()
    check_info(report)
    equal(report["uid"], os.geteuid(), "uid")
    # the man page describes what is printed
    man = MAN.read_text().replace("\\-", "-")
    for key in [*report, *report["features"], *report["caps"]]:
        check(key in man, f"{key} is not in the man page")


@test
def test_info_text(tmp):
    r = cli("--info").want(0)
    equal(r.err, b"", "stderr of --info")
    report = json_info()
    for name, entry in report["features"].items():
        m = re.search(rf"^  {name} +(yes|no)(?: +(.+?))??(?: \(required\))?$", text_of(r), re.M)
        check(m, f"--info does not tell of {name}")
        equal((m[1] == "yes", m[2] or ""), (entry["ok"], entry.get("why", "")), name)
    for name, has in report["caps"].items():
        check(re.search(rf"^  {name} +{'yes' if has else 'no'} ", text_of(r), re.M), name)


def tracer_for_all(tmp):
    """A copy that other users can execute, wherever the tree is."""
    copy = tmp / "dftrace-bpf"
    shutil.copyfile(TRACER, copy)
    os.chmod(copy, 0o755)
    return copy


def unprivileged():
    """What to put before a command so that it has no privileges."""
    if os.geteuid() != 0:
        return []
    need_program("setpriv")
    return as_user_argv(NOBODY, NOBODY, [])


@test
def test_info_without_privileges(tmp):
    report = json_info(*unprivileged(), tracer=tracer_for_all(tmp))
    check_info(report)
    check(not any(report["caps"].values()), f"caps: {report['caps']}")
    check(not report["features"]["tp_btf"]["ok"], "tp_btf works without privileges")


@test
def test_without_privileges(tmp):
    """One line that names what is missing; CMD is not run; nothing is left behind."""
    argv = [*unprivileged(), tracer_for_all(tmp)]
    work = tmp / "work"
    work.mkdir()
    os.chmod(work, 0o777)
    r = run([*argv, "-o", "out", "touch", "ran"], cwd=work)
    one_error_line(r, "CAP_BPF and CAP_PERFMON are missing", "sudo", status=125)
    r = run([*argv, "-o", "out", "-p", "1"], cwd=work)
    one_error_line(r, "CAP_BPF and CAP_PERFMON are missing", "sudo", status=125)
    equal(list(work.iterdir()), [], "files left behind")


@test
def test_one_capability_missing(tmp):
    need_root()
    need_program("setpriv")
    tracer = tracer_for_all(tmp)
    for kept, missing in (("bpf", "CAP_PERFMON is missing"), ("perfmon", "CAP_BPF is missing")):
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                f"--inh-caps=-all,+{kept}", f"--ambient-caps=-all,+{kept}", tracer]
        r = run([*argv, "-o", tmp / "out", "true"], cwd=tmp)
        one_error_line(r, f": {missing}", "sudo", status=125)
    r = run(["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", tracer, "-o", tmp / "out",
             "true"], cwd=tmp)
    one_error_line(r, "root without its capabilities", "container", status=125)


@test
def test_user_namespace(tmp):
    need_program("unshare")
    before = ["unshare", "-U", "-r"]
    if run([*before, "true"]).status != 0:
        skip("user namespaces", "unshare -U does not work here")
    r = run([*before, TRACER, "-o", tmp / "out", "true"], cwd=tmp)
    one_error_line(r, "user namespace", "host", status=125)
    report = json_info(*before)
    check(report["userns"] and report["uid"] == 0, "--info does not say so")


@test
def test_pid_namespace(tmp):
    """The numbers that are seen there are not those of the kernel side: better no trace than an empty one."""
    need_program("unshare")
    before = ["unshare", "-pf", "--mount-proc"]
    if run([*before, "true"]).status != 0:
        skip("pid namespaces", "unshare -p does not work here")
    for target in (["true"], ["-p", "1"], ["-a"]):
        r = run([*before, TRACER, "-o", tmp / "out", *target], cwd=tmp)
        one_error_line(r, "pid namespace", "host", status=125)
    report = json_info(*before)
    check(report["pidns"] and not report["can_trace"] and not json_info()["pidns"], "--info does not say so")


@test
def test_no_type_information(tmp):
    """/sys without /sys/kernel/btf, as in some containers."""
    need_root()
    need_program("unshare", "mount")
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
    if run([*hide, "true"]).status != 0:
        skip("mount namespaces", "/sys/kernel/btf cannot be hidden")
    r = run([*hide, TRACER, "-o", tmp / "out", "true"], cwd=tmp)
    one_error_line(r, "no kernel type information", "CONFIG_DEBUG_INFO_BTF", status=125)
    report = json_info(*hide)
    equal(report["btf"], False, "btf")
    check("no kernel type information" in report["features"]["tp_btf"]["why"], "reason for tp_btf")


@test
def test_lockdown(tmp):
    """The mode is read where the kernel shows it. What follows from it is in the unit tests."""
    need_root()
    need_program("unshare", "mount")
    for text, mode in (("none [integrity] confidentiality", "integrity"),
                       ("none integrity [confidentiality]", "confidentiality")):
        hide = ["unshare", "-m", "sh", "-c",
                'mount -t tmpfs none /sys/kernel/security && echo "$1" >'
                '/sys/kernel/security/lockdown && shift && exec "$@"', "sh", text]
        if run([*hide, "true"]).status != 0:
            skip("mount namespaces", "/sys/kernel/security cannot be replaced")
        equal(json_info(*hide)["lockdown"], mode, "lockdown")
    r = run([*hide, TRACER, "-o", tmp / "out", "true"], cwd=tmp)
    one_error_line(r, "lockdown is 'confidentiality'", "lockdown=integrity", status=125)


if __name__ == "__main__":
    main()
