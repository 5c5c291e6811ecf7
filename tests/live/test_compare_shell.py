#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs of many processes, against strace watching the same run."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from comparejob import compared, make_tree  # noqa: E402
from dfttest import check, equal, main, need_program, test  # noqa: E402


@test
def test_make_j2(tmp):
    need_program("gcc")
    modules = 8
    for m in range(modules):
        (tmp / f"mod{m}.h").write_text(f"int mod{m}(int);\n")
        (tmp / f"mod{m}.c").write_text(
            f'#include <stdio.h>\n#include "mod{m}.h"\n#include "mod{(m + 1) % modules}.h"\n'
            f"int mod{m}(int x)\n{{\n\treturn x > 100 ? x : mod{(m + 1) % modules}(x + {m + 1});\n}}\n")
    (tmp / "main.c").write_text('#include <stdio.h>\n#include "mod0.h"\n'
                                'int main(void)\n{\n\treturn printf("%d\\n", mod0(1)) < 0;\n}\n')
    objects = " ".join(f"mod{m}.o" for m in range(modules)) + " main.o"
    (tmp / "Makefile").write_text(
        f"all: prog\n\t./prog > result\nprog: {objects}\n\tgcc -o $@ {objects}\n"
        "%.o: %.c\n\tgcc -O1 -MMD -c -o $@ $<\nclean:\n\trm -f *.o prog\n-include *.d\n")
    compared(tmp, ["make", "-j2"], at_least=5000, processes=25)
    check((tmp / "result").read_text().strip().isdigit(), "the program made was not run")


PIPELINE = r"""
set -e
cat words words | tr a-z A-Z | grep -v X | sort | uniq -c | tee counts | wc -l > lines
while read -r n w; do echo "$w $n"; done < counts | head -n 20 > first
for i in 1 2 3 4; do (echo "$i" > "part$i"; cat "part$i" >> all) done
(cd sub; cat < ../words > copy; ls -l .. | awk '{ s += $5 } END { print s }' > sum)
exec 3< words 4>> log; read -r line <&3; echo "$line" >&4; exec 3<&- 4>&-
rm part1; mv part2 part9; cat nothing 2> errors || echo failed >> log
sh -c 'echo out; echo err >&2' > both 2>&1
diff words sub/copy
{ cat words; cat all; } | dd of=blocks bs=512 2> /dev/null
mkfifo pipe; cat pipe > from-pipe & cat words > pipe; wait
"""


@test
def test_pipeline(tmp):
    os.mkdir(tmp / "sub")
    (tmp / "words").write_text("".join(f"word{i * 7919 % 1009}\n" for i in range(5000)))
    t, _ = compared(tmp, ["sh", "-c", PIPELINE], at_least=800, processes=20)
    equal((tmp / "from-pipe").read_bytes(), (tmp / "words").read_bytes(), "what came by the FIFO")
    # Bytes of pipes are not bytes of files.
    check(not [e for e in t.events() if (e.file or b"").startswith(b"pipe:")], "pipes were kept")


@test
def test_xargs_children(tmp):
    """Many short processes: each has its own file, with its own counts."""
    make_tree(tmp / "tree", 100)
    compared(tmp, ["sh", "-c", "find tree -type f -print0 | xargs -0 -n 4 -P 2 md5sum > sums"],
             at_least=1500, processes=27)


if __name__ == "__main__":
    main()
