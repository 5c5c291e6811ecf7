# SPDX-License-Identifier: MIT
"""The ways a workload is run: alone, under each tracer, beside one that traces something else.

Each function takes (bench, work, argv) and returns the workload's report, a dict (see bench.h), to
which tracers add

    kept, lost, shed    calls: in the output; missing from it; only in sums
    out_bytes           size of the output
    used                what measure.c tells of the tracer, less the workload's own processor time
    wrong               list of words: what does not add up
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import account


class Failed(Exception):
    """A program that should not have failed did."""


class Child:
    """A program that is running. Its standard output is a pipe, its standard error a file."""

    def __init__(self, argv, stdin=subprocess.DEVNULL, **kw):
        self.argv = [str(a) for a in argv]
        self.errors = tempfile.TemporaryFile()
        try:
            self.proc = subprocess.Popen(self.argv, stdin=stdin, stdout=subprocess.PIPE,
                                         stderr=self.errors, **kw)
        except OSError as e:
            raise Failed(f"{self.argv[0]}: {e.strerror} (make bench builds all that is needed)") \
                from e

    def wait_ready(self):
        for line in self.proc.stdout:
            if line == b"ready\n":
                return
        self.end()
        raise Failed(f"{self.argv[0]} ended before it was ready")

    def end(self):
        """Its remaining output, when it has ended by itself. Its standard input ends now."""
        if self.proc.stdin:
            self.proc.stdin.close()
        text = self.proc.stdout.read().decode(errors="replace")
        status = self.proc.wait()
        self.proc.stdout.close()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        if status:
            raise Failed(f"{' '.join(self.argv)} ended with {status}: {said or text}")
        return text


def report_in(text):
    """The report among the lines of a workload's output, to which a tracer may add its own."""
    for line in text.splitlines():
        if line.startswith('{"calls":'):
            return json.loads(line)
    raise Failed(f"the workload reported nothing: {text}")


class Measured(Child):
    """A program run by measure.c."""

    def __init__(self, bench, argv, pass_fds=(), **kw):
        self.told, fd = os.pipe()
        try:
            super().__init__([bench.tool("measure"), fd, *argv], pass_fds=[fd, *pass_fds], **kw)
        finally:
            os.close(fd)

    def end(self):
        try:
            text = super().end()
            with os.fdopen(self.told, closefd=False) as f:
                self.used = json.load(f)
        finally:
            os.close(self.told)
        return text


def bare(_bench, _work, argv):
    return report_in(Child(argv).end())


def under(bench, by, argv, waits=True, **kw):
    """The workload run by a tracer; the report with what the tracer used. waits: the tracer waits for
    its child, so that the kernel adds the child's time to the tracer's."""
    child = Measured(bench, [*by, *argv], **kw)
    report = report_in(child.end())
    report["used"] = child.used
    if waits:
        report["used"]["cpu_ns"] -= report["process_cpu_ns"]
    return report


# ---- ours ------------------------------------------------------------------------------------

def tracer(bench, *options):
    return [bench.tracer, "-q", "-o", bench.out, *bench.options, *options]


# -u root: the same under sudo as without it.
RUN = "-u", "root", "--"


def add_account(report, got, wrong):
    report["kept"] = sum(got.kept.values())
    report["shed"] = sum(got.shed.values())
    report["lost"] = sum(got.lost.values())
    report["out_bytes"] = got.bytes
    report["wrong"] = wrong
    return report


def all_calls(report):
    return {name: n + report["before"][name] for name, n in report["loop"].items()}


def command(bench, work, argv):
    """dftrace-bpf -- WORKLOAD"""
    report = under(bench, tracer(bench, *RUN), argv)
    got = account.read_trace(bench.out, report["loop"])
    bench.keep_trace()
    return add_account(report, got,
                       account.differences(all_calls(report), got, work.lost_as))


def without(bench, work, argv, option):
    """dftrace-bpf OPTION -- WORKLOAD"""
    report = under(bench, tracer(bench, option, *RUN), argv)
    got = account.read_trace(bench.out, report["loop"])
    bench.drop_trace()
    return add_account(report, got, account.differences(all_calls(report), got, work.lost_as))


def no_mmap(bench, work, argv):
    return without(bench, work, argv, "--no-mmap")


def no_prov(bench, work, argv):
    return without(bench, work, argv, "--no-prov")


def excluded(bench, _work, argv):
    """The same; all files of the workload are left out."""
    report = under(bench, tracer(bench, "--exclude", bench.data, *RUN), argv)
    got = account.read_trace(bench.out, report["loop"])
    bench.drop_trace()
    return add_account(report, got, account.differences_excluded(all_calls(report), got))


@contextlib.contextmanager
def attached(bench, pid):
    """dftrace-bpf -p PID, live. The process must end within."""
    ready, live = os.pipe()
    try:
        child = Measured(bench, tracer(bench, "--ready-fd", live, "-p", pid), pass_fds=[live])
    finally:
        os.close(live)
    with os.fdopen(ready, "rb") as f:
        if not f.read(1):
            child.end()
            raise Failed("dftrace-bpf ended before it was ready")
    yield child
    child.end()


def attach(bench, work, argv):
    """dftrace-bpf -p, begun when the workload was ready for its loop."""
    job = Child(argv, stdin=subprocess.PIPE)
    job.wait_ready()
    with attached(bench, job.proc.pid) as child:
        report = report_in(job.end())
    report["used"] = child.used
    got = account.read_trace(bench.out, report["loop"])
    bench.drop_trace()
    return add_account(report, got,
                       account.differences(report["loop"], got, work.lost_as))


def untraced(bench, work, argv):
    """The workload alone, while dftrace-bpf traces a process that does nothing."""
    idle = Child(["cat"], stdin=subprocess.PIPE)
    with attached(bench, idle.proc.pid):
        report = bare(bench, work, argv)
        idle.end()
    bench.drop_trace()
    return report


# ---- nothing but programs there --------------------------------------------------------------

def beside_pair(bench, work, argv, *syscall):
    pair = Child([bench.tool("empty_pair"), bench.tool("empty_pair.bpf.o"), *syscall],
                 stdin=subprocess.PIPE)
    pair.wait_ready()
    report = bare(bench, work, argv)
    pair.end()
    return report


def empty_pair(bench, work, argv):
    """Empty programs at the entry and exit of all system calls."""
    return beside_pair(bench, work, argv)


def classic_same(bench, work, argv):
    """Empty programs on the classic tracepoints of the workload's own system call."""
    return beside_pair(bench, work, argv, work.syscall)


def classic_other(bench, work, argv):
    """Empty programs on the classic tracepoints of a system call that the workload does not make."""
    return beside_pair(bench, work, argv, "sync")


# ---- others ----------------------------------------------------------------------------------

def add_text(bench, report, out, mark):
    """What a tracer kept that writes text: one match of the mark for each call."""
    expected = sum(all_calls(report).values())
    report["kept"] = account.count_text(out, mark)
    return add_size(bench, report, out, expected)


def add_size(bench, report, out, expected):
    report["lost"] = max(0, expected - report["kept"])
    report["shed"] = 0
    report["wrong"] = []
    if bench.want_sizes:
        report["out_bytes"] = account.gzip6(out)
    out.unlink()
    return report


def strace(bench, _work, argv):
    out = bench.tmp / "strace.log"
    report = under(bench, ["strace", "-f", "-ttt", "-T", "-o", out], argv)
    # an unfinished line has the parenthesis, the resumed one has not
    mark = "|".join(bench.probes[name].syscall for name in report["loop"])
    return add_text(bench, report, out, rb" (%s)\(" % mark.encode())


def perf_trace(bench, _work, argv):
    out = bench.tmp / "perf.log"
    report = under(bench, ["perf", "trace", "-o", out, "--"], argv, waits=False)
    mark = "|".join(bench.probes[name].syscall for name in report["loop"])
    return add_text(bench, report, out, rb"[ :](%s)\(" % mark.encode())


def perf_record(bench, work, argv):
    out = bench.tmp / "perf.data"
    # -m: as large a buffer as ours; with its own it loses
    report = under(bench, ["perf", "record", "-q", "-m", "16M", *work.perf.options, "-o", out, "--"],
                   argv)
    report["kept"] = account.count_perf(out, work.perf.counted)
    return add_size(bench, report, out, sum(all_calls(report).values()))


def bpftrace_script(bench, names):
    """The arguments at the entry, kept by thread; a line at the exit."""
    script = ""
    for name in names:
        probe = bench.probes[name]
        keep = "".join(f" @{name}_{i}[tid] = {a};" for i, a in enumerate(probe.args))
        args = "".join(f", @{name}_{i}[tid]" for i in range(len(probe.args)))
        script += (f"tracepoint:syscalls:sys_enter_{probe.syscall} /pid == cpid/ "
                   f"{{ @{name}[tid] = nsecs;{keep} }} "
                   f"tracepoint:syscalls:sys_exit_{probe.syscall} /@{name}[tid]/ "
                   f'{{ printf("{name} %d %d %llu %llu {probe.form} %lld\\n", pid, tid, '
                   f"@{name}[tid], nsecs - @{name}[tid]{args}, args->ret); "
                   f"delete(@{name}[tid]); }} ")
    return script


def run_bpftrace(bench, argv, script, mark):
    out = bench.tmp / "bpftrace.log"
    # Without a larger buffer than its own it would lose.
    env = dict(os.environ, BPFTRACE_PERF_RB_PAGES="4096")
    report = under(bench, ["bpftrace", "-o", out, "-e", script, "-c"],
                   [" ".join(str(a) for a in argv)], env=env)
    return add_text(bench, report, out, mark)


def bpftrace(bench, work, argv):
    """bpftrace printing what an event of ours has."""
    names = work.names
    return run_bpftrace(bench, argv, bpftrace_script(bench, names),
                        rb"^(%s) " % "|".join(names).encode())


def bpftrace_regions(bench, _work, argv):
    """bpftrace printing name, category and times of each region."""
    script = (f"usdt:{argv[0]}:dftracer:event "
              '{ printf("step %d %d %llu %llu %s %s\\n", pid, tid, arg2, nsecs - arg2, str(arg0), '
              "str(arg1)); }")
    return run_bpftrace(bench, argv, script, rb"^step ")


def foreign_programs():
    """How many programs are attached to the entry or exit of all system calls while we have none."""
    bpftool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not bpftool:
        return 0
    done = subprocess.run([bpftool, "-j", "link", "list"], capture_output=True, check=False)
    # A link that goes away while they are listed makes it fail; what was listed is then no JSON.
    return done.stdout.count(b'"tp_name":"sys_')


TRACEFS = "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"


def missing(mode):
    """Why a mode cannot be run here, or None."""
    for program in mode.needs:
        if program == "tracefs":
            if not any(os.path.isdir(d) for d in TRACEFS):
                return "no tracefs (mount -t tracefs none /sys/kernel/tracing)"
        elif not shutil.which(program):
            return f"{program} is not installed"
    return None
