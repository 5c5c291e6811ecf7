#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs over a tree of 2,000 files, against strace watching the same run."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from comparejob import compared, make_tree  # noqa: E402
from dfttest import check, main, test  # noqa: E402


@test
def test_tar_gzip(tmp):
    make_tree(tmp / "tree")
    t, _ = compared(tmp, ["tar", "-czf", "tree.tar.gz", "tree"], at_least=8000, processes=2)
    read = {e.file for e in t.events("read") if b"/tree/" in (e.file or b"")}
    check(len(read) >= 1900, f"tar has read {len(read)} files")


@test
def test_tar_extract(tmp):
    make_tree(tmp / "tree", 500)
    from comparejob import must_run
    must_run(["tar", "-czf", "tree.tar.gz", "tree"], cwd=tmp)
    os.mkdir(tmp / "out")
    compared(tmp, ["tar", "-xzf", "tree.tar.gz", "-C", "out"], at_least=2500, processes=2)


@test
def test_cp_r(tmp):
    make_tree(tmp / "tree")
    compared(tmp, ["cp", "-r", "tree", "copy"], at_least=12000)


@test
def test_find(tmp):
    make_tree(tmp / "tree")
    with open(tmp / "found", "wb") as out:
        compared(tmp, ["find", "tree", "-type", "f", "-size", "+1k", "-printf", "%p %s\n"],
                 stdout=out, at_least=2000)


@test
def test_rm_r(tmp):
    make_tree(tmp / "tree", 500)
    compared(tmp, ["rm", "-r", "tree"], at_least=500)


if __name__ == "__main__":
    main()
