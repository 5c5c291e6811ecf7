# SPDX-License-Identifier: MIT
"""CMD under the tracer: that it starts, runs and ends exactly as it would without.

The comparisons run the same command with and without dftrace-bpf, from the same unusual
circumstances (signals blocked and ignored, a nice value, an umask, extra descriptors), and want the
same words out of /proc.
"""
import grp
import os
import pwd
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

# What of /proc/self/status a command could notice. Its pids and memory differ between any two runs.
STATUS_LINES = ("Umask", "Uid", "Gid", "Groups", "SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn",
                "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
                "Seccomp_filters", "Threads", "TracerPid", "CoreDumping", "Cpus_allowed", "FDSize")
# Fields of /proc/self/stat behind the name: process group, session, terminal, terminal's group,
# priority, nice, signal sent at exit, realtime priority, policy.
STAT_FIELDS = {2: "pgrp", 3: "session", 4: "tty", 5: "tpgid", 15: "priority", 16: "nice",
               35: "exit_signal", 37: "rt_priority", 38: "policy"}


class Holders:
    """A pipe that everybody inherits: at its end, all of them are gone."""

    def __enter__(self):
        self.r, self.w = os.pipe()
        return self

    def all_gone(self):
        os.close(self.w)
        self.w = None
        equal(read_until(self.r, b"\n"), b"", "what came through the pipe")

    def __exit__(self, *exc):
        os.close(self.r)
        if self.w is not None:
            os.close(self.w)


class Ordinary:
    """Another user than root, with supplementary groups if there is one."""

    def __init__(self):
        users = [p for p in pwd.getpwall() if 0 < p.pw_uid < 65536]
        if not users:
            skip("users", "there is no user but root")

        def groups(p):
            return {g.gr_gid for g in grp.getgrall() if p.pw_name in g.gr_mem} - {p.pw_gid}

        entry = max(users, key=lambda p: (len(groups(p)), p.pw_gid != 0, p.pw_name == "nobody"))
        self.name, self.uid, self.gid = entry.pw_name, entry.pw_uid, entry.pw_gid
        self.home, self.shell = entry.pw_dir, entry.pw_shell or "/bin/sh"

    def sudo(self, **more):
        """The environment as sudo would leave it."""
        return clean_env(SUDO_UID=str(self.uid), SUDO_GID=str(self.gid), SUDO_USER=self.name,
                         **more)

    def setpriv(self):
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--init-groups"]

    def own(self, *paths):
        for path in paths:
            os.chown(path, self.uid, self.gid)

    def notice(self):
        return (f"dftrace-bpf: running CMD as user {self.name} (uid {self.uid}); "
                "-u root keeps root")


def circumstances():
    """Run between fork and exec of whatever is compared."""
    os.umask(0o027)
    os.nice(3)
    for sig in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM, signal.SIGRTMIN + 1})


def status_facts(text):
    found = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {key: found.get(key) for key in STATUS_LINES}


def stat_facts(text):
    fields = text[text.rindex(")") + 2:].split()
    return {name: fields[i] for i, name in STAT_FIELDS.items()}


def environ_facts(text):
    return sorted(text.split("\0"))


def fd_facts(text):
    """{number: target}; the listing's own directory is named by a pid that differs."""
    found = re.findall(r"(\d+) -> (.*)$", text, re.M)
    return {int(n): re.sub(r"/proc/\d+/fd", "/proc/PID/fd", target) for n, target in found}


COMPARED = [
    (["cat", "/proc/self/status"], status_facts),
    (["cat", "/proc/self/stat"], stat_facts),
    (["cat", "/proc/self/limits"], str),
    (["cat", "/proc/self/cgroup"], str),
    (["cat", "/proc/self/oom_score_adj"], str),
    (["cat", "/proc/self/coredump_filter"], str),
    (["cat", "/proc/self/environ"], environ_facts),
    (["ls", "-l", "/proc/self/fd"], fd_facts),
    (["pwd"], str),
]


def run_in_circumstances(tmp, argv, env):
    """stdout of argv as text; three more descriptors than usual are open."""
    with open(tmp / "stdout", "w+b") as out, open(tmp / "stderr", "w+b") as err, \
            open("/etc/passwd", "rb") as extra, open(tmp / "log", "ab") as log:
        directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        os.dup2(directory, 200)
        os.close(directory)
        try:
            r = run(argv, env=env, cwd=tmp, stdout=out, stderr=err, preexec_fn=circumstances,
                    pass_fds=(extra.fileno(), log.fileno(), 200))
        finally:
            os.close(200)
        out.seek(0)
        err.seek(0)
        r = r._replace(err=err.read())
        r.want(0)
        return out.read().decode("utf-8", "surrogateescape"), r.err.decode()


def compare(tmp, before, options, env, plain_env):
    """Each command under the tracer against the same one started by `before`."""
    for number, (argv, facts) in enumerate(COMPARED):
        want, _ = run_in_circumstances(tmp, [*before, *argv], plain_env)
        got, _ = run_in_circumstances(
            tmp, [TRACER, "-q", "-o", tmp / f"trace{number}", *options, "--", *argv], env)
        got, want = facts(got), facts(want)
        if got == want:
            continue
        if isinstance(got, dict):
            for key in got.keys() | want.keys():
                equal(got.get(key), want.get(key), f"{' '.join(argv)}: {key}")
        equal(got, want, " ".join(argv))


@test
def test_cmd_is_as_without_us(tmp):
    need_root()
    env = clean_env(DFT_ODD="a=b\nc", LANG="C")
    compare(tmp, [], [], env, env)


@test
def test_cmd_under_sudo_is_as_under_setpriv(tmp):
    need_root()
    need_program("setpriv")
    user = Ordinary()
    user.own(tmp)
    env = user.sudo(DFT_ODD="a=b")
    plain = dict(env, HOME=user.home, USER=user.name, LOGNAME=user.name, SHELL=user.shell)
    compare(tmp, user.setpriv(), [], env, plain)


@test
def test_u_user_is_as_setpriv(tmp):
    """-u without sudo; the name and the number are the same user."""
    need_root()
    need_program("setpriv")
    user = Ordinary()
    env = clean_env(SHELL="/bin/false", MAIL="/x")
    plain = dict(env, HOME=user.home, USER=user.name, LOGNAME=user.name, SHELL=user.shell)
    compare(tmp, user.setpriv(), ["-u", user.name], env, plain)
    r = run([TRACER, "-o", tmp / "n", "-u", str(user.uid), "--", "id"], env=env).want(0)
    want = run([*user.setpriv(), "id"], env=plain).want(0)
    equal(r.out, want.out, "id with -u NUMBER")


@test
def test_u_root_keeps_root(tmp):
    need_root()
    user = Ordinary()
    user.own(tmp)
    env = user.sudo()
    compare(tmp, [], ["-u", "root"], env, env)


@test
def test_who_cmd_runs_as_is_said_once(tmp):
    need_root()
    user = Ordinary()
    user.own(tmp)

    def notices(name, *options, env):
        r = run([TRACER, "-o", tmp / name, *options, "--", "true"], env=env).want(0)
        return [line for line in r.text.splitlines() if "running CMD as" in line]

    equal(notices("a", env=user.sudo()), [user.notice()])
    equal(notices("b", "-q", env=user.sudo()), [])
    equal(notices("c", "-u", "root", env=user.sudo()), [])
    equal(notices("d", "-u", user.name, env=user.sudo()), [])
    equal(notices("e", env=clean_env()), [])
    equal(notices("f", env=clean_env(SUDO_UID="0", SUDO_GID="0", SUDO_USER="root")), [])
    equal(notices("g", env=clean_env(SUDO_UID="")), [])


@test
def test_sudo_uid_without_passwd_entry(tmp):
    """The two numbers are used alone, and the environment is left."""
    need_root()
    uid = next(u for u in range(60000, 64000) if not any(p.pw_uid == u for p in pwd.getpwall()))
    os.chown(tmp, uid, uid + 1)
    env = clean_env(SUDO_UID=str(uid), SUDO_GID=str(uid + 1), HOME="/somewhere")
    r = run([TRACER, "-o", tmp / "t", "--", "sh", "-c", "id -u; id -g; id -G; echo $HOME"], env=env)
    equal(r.want(0).out.decode().split(), [str(uid), str(uid + 1), str(uid + 1), "/somewhere"])
    check(f"running CMD as uid {uid}; -u root keeps root" in r.text, r.text)
    r = run([TRACER, "-o", tmp / "u", "--", "true"], env=clean_env(SUDO_UID=str(uid)))
    one_error_line(r, f"uid {uid} has no passwd entry and SUDO_GID is not set", status=125)


@test
def test_group_changed_before_sudo(tmp):
    """After newgrp, SUDO_GID is not the group of the passwd entry."""
    need_root()
    user = Ordinary()
    user.own(tmp)
    env = dict(user.sudo(), SUDO_GID="60001")
    r = run([TRACER, "-q", "-o", tmp / "t", "--", "id", "-g"], env=env).want(0)
    equal(r.out, b"60001\n")
    want = run([*user.setpriv(), "id", "-G"], env=env).want(0).out.split()
    r = run([TRACER, "-q", "-o", tmp / "u", "--", "id", "-G"], env=env).want(0)
    equal(sorted(r.out.split()), sorted({*want, b"60001"}))


@test
def test_wrong_users(tmp):
    need_root()
    for user in ("no-such-user", "4294967295", "4294967296", "-1", "0x0", "root ", "63999999"):
        r = run([TRACER, "-o", tmp / "t", "-u", user, "--", "true"])
        check(r.status in (2, 125), f"exit status {r.status}")
        one_error_line(r, "-u: .*no such user")
    for env in ({"SUDO_UID": "x"}, {"SUDO_UID": "-1"}, {"SUDO_UID": "4294967295"},
                {"SUDO_UID": "1 "}, {"SUDO_UID": "1", "SUDO_GID": "x"}):
        r = run([TRACER, "-o", tmp / "t", "--", "true"], env=clean_env(**env))
        one_error_line(r, "not numbers", status=125)
    check(not (tmp / "t").exists(), "an output directory was made")


@test
def test_ids_that_cannot_be_taken(tmp):
    """Every change of ids is checked: CMD never runs with half of them."""
    need_root()
    need_program("setpriv")
    user = Ordinary()
    for lacking, what in (("setgid", "groups"), ("setuid", "uid")):
        with Holders() as holders:
            r = run(["setpriv", f"--bounding-set=-{lacking}", TRACER, "-q", "-o", tmp / lacking,
                     "-u", user.name, "--", "touch", tmp / "ran"], pass_fds=(holders.w,))
            one_error_line(r, f"cannot take the {what} of user {user.name}", "-u root", status=125)
            holders.all_gone()
    check(not (tmp / "ran").exists(), "CMD ran all the same")


# ---- how CMD ends ----

def wait_status(argv, **kw):
    """The status as wait(2) has it, with the core flag."""
    pid = os.posix_spawn(argv[0], [os.fspath(a) for a in argv], clean_env(), **kw)
    return os.waitpid(pid, 0)[1]


@test
def test_exit_status_is_passed_through(tmp):
    need_root()
    for status in (0, 1, 2, 7, 125, 126, 127, 128, 255):
        run([TRACER, "-o", tmp / f"t{status}", "--", "sh", "-c", f"exit {status}"]).want(status)


@test
def test_signal_is_passed_through(tmp):
    need_root()
    signals = [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
               signal.SIGABRT, signal.SIGPIPE, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM,
               signal.SIGRTMIN, signal.SIGRTMAX]
    # 32 and 33 are libc's own: no sigaction(), yet they kill, unless they are ignored from the start
    # (make does that to what it runs).
    ignored = int(re.search(r"SigIgn:\s*(\w+)", Path("/proc/self/status").read_text())[1], 16)
    own = [sig for sig in (32, 33) if not ignored >> (sig - 1) & 1]
    for sig in [int(s) for s in signals] + own:
        run([TRACER, "-o", tmp / f"t{sig}", "--", "sh", "-c", f"kill -{sig} $$"]).want(-sig)
    # Also where the signal was ignored or blocked when we were started: CMD cannot have died of it
    # unless it changed that itself, and we have to do likewise.
    code = ("import os, signal; signal.signal(15, signal.SIG_DFL); "
            "signal.pthread_sigmask(signal.SIG_UNBLOCK, {15}); os.kill(os.getpid(), 15)")

    def ignore_and_block():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    run([TRACER, "-o", tmp / "i", "--", PYTHON, "-I", "-c", code],
        preexec_fn=ignore_and_block).want(-15)


@test
def test_no_core_file_of_ours(tmp):
    need_root()
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    os.chdir(tmp)
    try:
        status = wait_status([TRACER, "-q", "-o", tmp / "t", "--", "sh", "-c", "kill -SEGV $$"])
    finally:
        os.chdir("/")
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV, f"status {status:#x}")
    check(not os.WCOREDUMP(status), "dftrace-bpf dumped core")


@test
def test_ignored_sigchld(tmp):
    """Where the caller ignores SIGCHLD, statuses of children are normally thrown away."""
    need_root()

    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    run([TRACER, "-o", tmp / "a", "--", "sh", "-c", "exit 7"], preexec_fn=ignore).want(7)
    run([TRACER, "-o", tmp / "b", "--", "sh", "-c", "kill -9 $$"], preexec_fn=ignore).want(-9)


# ---- what cannot be executed ----

@test
def test_what_cannot_be_executed(tmp):
    need_root()
    (tmp / "plain").write_text("exit 9\n")
    (tmp / "noshebang").write_text("exit 9\n")
    (tmp / "badshebang").write_text("#!/no/such/interpreter\n")
    (tmp / "empty").write_text("")
    for name in ("noshebang", "badshebang", "empty"):
        os.chmod(tmp / name, 0o755)
    env = clean_env(PATH=f"/nowhere:{tmp}:/usr/bin:/bin")
    cases = [
        ("no-such-command", 127, "not found in PATH"),
        ("", 127, "not found in PATH"),
        ("./no-such-file", 127, "No such file"),
        ("/no/such/dir/x", 127, "No such file"),
        ("/", 126, "Is a directory"),
        (str(tmp), 126, "Is a directory"),
        (str(tmp / "plain"), 126, "Permission denied"),
        ("plain", 126, "Permission denied"),
        (str(tmp / "plain" / "x"), 126, "Not a directory"),
        (str(tmp / "badshebang"), 126, "interpreter or loader does not exist"),
        ("badshebang", 126, "interpreter or loader does not exist"),
        ("x" * 300, 126, "File name too long"),
        ("/" + "x" * 5000, 126, "File name too long"),
    ]
    for number, (command, status, words) in enumerate(cases):
        r = run([TRACER, "-q", "-o", tmp / f"t{number}", "--", command], env=env, cwd=tmp)
        equal(r.out, b"", "stdout")
        one_error_line(r, words, status=status)
    # As execvp(3), env(1) and setpriv(1) do, what the kernel does not know is given to sh.
    run([TRACER, "-o", tmp / "s", "--", tmp / "noshebang"], env=env).want(9)
    run([TRACER, "-o", tmp / "e", "--", "empty"], env=env).want(0)


@test
def test_long_path_variable(tmp):
    need_root()
    (tmp / "here").write_text("#!/bin/sh\nexit 5\n")
    os.chmod(tmp / "here", 0o755)
    path = ":".join(["/no/such/directory/at/all"] * 4000 + [f"{'/x' * 4000}", str(tmp)])
    run([TRACER, "-o", tmp / "t", "--", "here"], env=clean_env(PATH=path)).want(5)
    one_error_line(run([TRACER, "-q", "-o", tmp / "u", "--", "nowhere"], env=clean_env(PATH=path)),
                   "not found in PATH", status=127)


@test
def test_long_arguments(tmp):
    """What we are given, CMD gets, up to the kernel's limit for one argument."""
    need_root()
    words = ["x" * 131071, "", "y" * 100000, "\n", "--", "-p"]
    r = run([TRACER, "-o", tmp / "t", "--", "printf", "%s|", *words]).want(0)
    equal(r.out.decode(), "".join(f"{w}|" for w in words))


@test
def test_rights_of_the_user_count(tmp):
    """PATH is searched, and CMD executed, with the rights of the user it runs as."""
    need_root()
    user = Ordinary()
    out = tmp / "out"
    out.mkdir()
    user.own(out)
    secret = tmp / "secret"
    secret.mkdir()
    (secret / "tool").write_text("#!/bin/sh\nexit 3\n")
    os.chmod(secret / "tool", 0o755)
    os.chmod(secret, 0o700)
    env = user.sudo()
    r = run([TRACER, "-q", "-o", out, "--", secret / "tool"], env=env)
    one_error_line(r, f"by user {user.name}: Permission denied", "-u root", status=126)
    run([TRACER, "-q", "-u", "root", "-o", out, "--", secret / "tool"], env=env).want(3)


# ---- descriptors ----

@test
def test_closed_descriptors_stay_closed(tmp):
    need_root()
    listing = f"ls -l /proc/self/fd >{tmp}/list"
    for number, closed in enumerate(("0<&-", "1>&-", "2>&-", "0<&- 2>&-", "0<&- 1>&- 2>&-")):
        def descriptors(*before):
            run(["sh", "-c", f'"$@" {closed}', "sh", *before, "sh", "-c", listing],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).want(0)
            return fd_facts((tmp / "list").read_text())

        equal(descriptors(TRACER, "-q", "-o", tmp / f"t{number}", "--"), descriptors(),
              f"descriptors with {closed}")


@test
def test_ready_fd_is_not_inherited(tmp):
    need_root()
    ready_r, ready_w = os.pipe()
    try:
        r = run([TRACER, "-q", "-o", tmp / "t", "--ready-fd", str(ready_w), "--", "ls", "-l",
                 "/proc/self/fd"], pass_fds=(ready_w,)).want(0)
        os.close(ready_w)
        ready_w = None
        equal(sorted(fd_facts(r.out.decode())), [0, 1, 2, 3], "CMD's descriptors")
        equal(len(os.read(ready_r, 2)), 1, "bytes at --ready-fd")
        equal(os.read(ready_r, 1), b"", "more bytes at --ready-fd")
    finally:
        os.close(ready_r)
        if ready_w is not None:
            os.close(ready_w)


@test
def test_few_descriptors(tmp):
    """However few we may have: CMD's status, or one line and 125."""
    need_root()
    for limit in range(3, 80):
        r = run(["sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", TRACER, "-q", "-o",
                 tmp / f"t{limit}", "--", "sh", "-c", "exit 7"])
        if r.status == 7:
            return
        check(r.status in (125, 127), f"exit status {r.status} with ulimit -n {limit}: {r.text}")
        if b"error while loading shared libraries" not in r.err:
            one_error_line(r, status=125)
    fail("dftrace-bpf does not work with 80 descriptors")


# ---- the gate ----

@test
def test_first_event_is_the_exec(tmp):
    need_root()

    def one(number):
        t = trace(tmp, ["/bin/true"], "-q", out=tmp / f"t{number}")
        equal(len(t.files), 1, f"trace files of run {number}")
        first = t.files[0].events[0]
        equal((first.name, first.ret), ("execve", 0), f"first event of run {number}")
        equal(first.named("pathname_hash"), b"/bin/true", f"its file, run {number}")

    two_at_a_time(one, range(100))


@test
def test_search_of_path_is_not_traced(tmp):
    """The first event is the exec that worked, whatever was tried before."""
    need_root()
    env = clean_env(PATH=f"/nowhere:{tmp}:/usr/bin:/bin")
    t = trace(tmp, ["true"], "-q", env=env)
    first = t.files[0].events[0]
    equal((first.name, first.ret), ("execve", 0), "first event")


@test
def test_killed_before_the_gate_opens(tmp):
    """The tracer is killed at the system call that would open the gate: CMD must not run."""
    need_root()
    need_program("strace")
    with Holders() as holders:
        # Without -f strace only sees the tracer; its first sendto is the one to the gate.
        r = run(["strace", "-o", tmp / "log", "-e", "trace=sendto",
                 "-e", "inject=sendto:error=EINTR:signal=KILL:when=1",
                 TRACER, "-q", "-o", tmp / "t", "--", "touch", tmp / "ran"],
                pass_fds=(holders.w,))
        equal(r.status, -signal.SIGKILL, "strace's exit status")
        check("SIGKILL" in (tmp / "log").read_text(), "the tracer was not killed at the gate")
        holders.all_gone()
    check(not (tmp / "ran").exists(), "CMD ran although its tracer was killed before")


@test
def test_killed_after_the_gate_opened(tmp):
    """CMD goes on undisturbed, its tracer's death notwithstanding."""
    need_root()
    with Background([TRACER, "-q", "-o", tmp / "t", "--", "sh", "-c",
                     f'echo live; read word; echo "got $word" >{tmp}/result; echo done']) as tracer:
        equal(tracer.line(), b"live\n")
        tracer.proc.kill()
        equal(tracer.wait(), -signal.SIGKILL)
        tracer.tell(b"on\n")
        equal(tracer.line(), b"done\n")
    equal((tmp / "result").read_text(), "got on\n")


@test
def test_no_output_directory_no_run(tmp):
    """What the tracer cannot do is found out before CMD runs."""
    need_root()
    (tmp / "file").write_text("")
    with Holders() as holders:
        r = run([TRACER, "-o", tmp / "file", "--", "touch", tmp / "ran"], pass_fds=(holders.w,))
        check(r.status in (1, 125), f"exit status {r.status}")
        one_error_line(r, "file")
        holders.all_gone()
    check(not (tmp / "ran").exists(), "CMD ran all the same")


if __name__ == "__main__":
    main()
