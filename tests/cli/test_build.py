#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The build: header edits rebuild what includes them; install puts everything in place."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failed = False


def check(name, why):
    """Prints the result line; `why` is empty when the test passed."""
    global failed
    print(f"not ok {name}: {why}" if why else f"ok {name}")
    failed = failed or bool(why)


def make(*args):
    return subprocess.run(["make", "-C", ROOT, *args], capture_output=True, text=True)


def rebuilt(header):
    """What make would compile if the header had just been edited."""
    return make("-n", "-W", header, "all").stdout


def test_header(header, objects):
    out = rebuilt(header)
    missing = [o for o in objects if o not in out]
    check(f"edit_{header.replace('/', '_').replace('.', '_')}",
          f"not rebuilt: {', '.join(missing)}" if missing else "")


def test_nothing_to_do():
    out = make("-n", "all").stdout
    check("nothing_to_do", f"make would run: {out}" if "-c " in out else "")


def test_install():
    with tempfile.TemporaryDirectory() as dest:
        result = make("install", f"DESTDIR={dest}", "PREFIX=/usr")
        if result.returncode:
            check("install", result.stderr.strip())
            return
        found = {os.path.relpath(os.path.join(d, f), dest)
                 for d, _, files in os.walk(dest) for f in files}
        wanted = {"usr/sbin/dftrace-bpf", "usr/bin/dftrace",
                  "usr/share/man/man8/dftrace-bpf.8", "usr/share/man/man1/dftrace.1",
                  "usr/share/bash-completion/completions/dftrace-bpf",
                  "usr/share/bash-completion/completions/dftrace"}
        check("install", f"missing: {wanted - found}" if wanted - found else "")
        make("uninstall", f"DESTDIR={dest}", "PREFIX=/usr")
        left = [f for _, _, files in os.walk(dest) for f in files]
        check("uninstall", f"left behind: {left}" if left else "")


def main():
    test_nothing_to_do()
    test_header("bpf/abi.h", ["bpf/core.bpf.c", "bpf/io_cast.bpf.c", "user/trace/decode.c",
                              "user/trace/tracer.c"])
    test_header("bpf/syscalls.def", ["bpf/core.bpf.c", "user/lib/syscalls.c"])
    test_header("bpf/file.bpf.h", ["bpf/io.bpf.c", "bpf/io_cast.bpf.c", "gen skeleton"])
    arch = "x86" if os.uname().machine == "x86_64" else "arm64"
    test_header(f"vmlinux/{arch}/../common.h", ["bpf/path.bpf.c", "gen object"])
    test_header("user/lib/version.h", ["user/trace/format.c", "user/read/main.c"])
    test_install()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
