# SPDX-License-Identifier: MIT
"""A program that works on files in a directory and says what it did, with the kernel's names.

    fswork.py DIR    DIR holds the file `old`. Prints one line of JSON for each call:
                     [event, name, ret], and at last {"sums": {name below DIR: sha256}, "ids": ...}

It is run by the tests, in mount namespaces and roots of their making, and imports nothing of theirs.
Names are what /proc/self/fd says of descriptors, and for calls on names what was asked for.
"""
import hashlib
import json
import os
import sys

SAID = []


def name_of(fd):
    """(the kernel's name, is it deleted)"""
    text = os.readlink(f"/proc/self/fd/{fd}")
    return text.removesuffix(" (deleted)"), text.endswith(" (deleted)")


def say(event, fd, ret):
    name, deleted = name_of(fd)
    SAID.append([event, name, ret, deleted])
    return ret


def say_path(event, path):
    SAID.append([event, path, 0, False])


def open_it(path, flags):
    fd = os.open(path, flags, 0o600)
    say("open", fd, fd)
    return fd


def close_it(fd):
    name, deleted = name_of(fd)
    os.close(fd)
    SAID.append(["close", name, 0, deleted])


def read_all(fd):
    got = b""
    while True:
        data = os.read(fd, 4096)
        say("read", fd, len(data))
        if not data:
            return got
        got += data


def write_it(fd, data, at):
    say("pwrite", fd, os.pwrite(fd, data, at))


def work(root):
    old = open_it(f"{root}/old", os.O_RDONLY)
    first = read_all(old)
    changed = open_it(f"{root}/old", os.O_RDWR)  # a copy is made by this in an overlay
    write_it(changed, b"changed", 10)
    os.fsync(changed)
    say("fsync", changed, 0)
    say("pread", old, len(os.pread(old, 100, 0)))
    close_it(old)

    os.mkdir(f"{root}/new", 0o700)
    say_path("mkdir", f"{root}/new")
    made = open_it(f"{root}/new/a \u00e4 file", os.O_CREAT | os.O_EXCL | os.O_RDWR)
    for i in range(3):
        say("write", made, os.write(made, b"%d" % i * 30000))
    say("copy_file_range", changed, os.copy_file_range(changed, made, 5000, 0, 200000))
    os.rename(f"{root}/new", f"{root}/renamed")
    say_path("rename", f"{root}/new")
    say("pread", made, len(os.pread(made, 1000, 89990)))
    os.link(f"{root}/renamed/a \u00e4 file", f"{root}/linked")
    say_path("link", f"{root}/renamed/a \u00e4 file")
    linked = open_it(f"{root}/linked", os.O_RDWR)
    write_it(linked, b"by the link", 0)
    close_it(linked)
    write_it(made, b"by the first name", 20)
    close_it(made)

    os.unlink(f"{root}/linked")
    say_path("unlink", f"{root}/linked")
    gone = open_it(f"{root}/gone", os.O_CREAT | os.O_RDWR)
    write_it(gone, b"a name", 0)
    os.unlink(f"{root}/gone")
    say_path("unlink", f"{root}/gone")
    write_it(gone, b"no name", 0)
    os.ftruncate(gone, 3)
    say("ftruncate", gone, 0)
    close_it(gone)
    close_it(changed)
    return first


def main():
    root = sys.argv[1]
    first = work(root)
    sums = {name: hashlib.sha256(open(f"{root}/{name}", "rb").read()).hexdigest()
            for name in ("old", "renamed/a \u00e4 file")}
    print(json.dumps({"pid": os.getpid(), "said": SAID, "sums": sums,
                      "first": hashlib.sha256(first).hexdigest()}))


if __name__ == "__main__":
    main()
