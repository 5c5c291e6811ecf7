# SPDX-License-Identifier: MIT
"""A Node.js program with streams, promises and worker threads: traced from start, and by attach."""
import hashlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from appjob import by_attach, from_start  # noqa: E402
from dfttest import Background, clean_env, equal, main, need_program, test  # noqa: E402

PROGRAM = r"""
const fs = require('fs');
const { pipeline } = require('stream/promises');
const zlib = require('zlib');
const { Worker, isMainThread, workerData } = require('worker_threads');
const readline = require('readline');

if (!isMainThread) {
    const fd = fs.openSync(workerData.name, 'w+');
    for (let i = 0; i < 50; i++)
        fs.writeSync(fd, Buffer.alloc(1000, i), 0, 1000, i * 1000);
    fs.fsyncSync(fd);
    fs.ftruncateSync(fd, 40000);
    fs.closeSync(fd);
} else {
    work();
}

function worker(name) {
    return new Promise((done, failed) => {
        const w = new Worker(__filename, { workerData: { name } });
        w.on('error', failed);
        w.on('exit', done);
    });
}

async function work() {
    if (process.argv[2] === 'wait') {
        console.log('ready');
        for await (const line of readline.createInterface({ input: process.stdin }))
            break;
    }
    fs.mkdirSync('many');
    await Promise.all([...Array(100).keys()].map(async (i) => {
        const h = await fs.promises.open(`many/f${i}`, 'w+');
        await h.write(Buffer.alloc(1000 + i, i), 0, 1000 + i, 0);
        await h.writev([Buffer.alloc(10), Buffer.alloc(20)], 5000);
        await h.datasync();
        await h.close();
        await fs.promises.rename(`many/f${i}`, `many/g${i}`);
    }));
    await pipeline(fs.createReadStream('in'), zlib.createGzip(), fs.createWriteStream('in.gz'));
    await pipeline(fs.createReadStream('in.gz'), zlib.createGunzip(), fs.createWriteStream('out'));
    await fs.promises.copyFile('in', 'copy');
    await fs.promises.appendFile('copy', 'appended');
    await Promise.all([1, 2, 3].map((i) => worker(`worker${i}`)));
    for (const name of await fs.promises.readdir('many'))
        await fs.promises.unlink(`many/${name}`);
}
"""


def prepared(tmp):
    need_program("node")
    work = tmp / "work"
    work.mkdir()
    (work / "program.js").write_text(PROGRAM)
    (work / "in").write_bytes(os.urandom(700000) + bytes(700000))
    return work


def judge(work, t):
    one, two = (hashlib.sha256((work / n).read_bytes()).hexdigest() for n in ("in", "out"))
    equal(two, one, "what came out")
    for name, want in (("out", 1400000), ("worker2", 50000)):
        written = sum(e.ret for e in t.events(file=work / name)
                      if e.name in ("write", "pwrite", "writev") and e.ret > 0)
        equal(written, want, f"bytes written to {name}")
    equal(len({e.file for e in t.events("fdatasync")}), 100, "files synced")


@test
def test_from_start(tmp):
    work = prepared(tmp)
    t, _ = from_start("node from start", tmp, ["node", "program.js"], cwd=work, at_least=1000)
    judge(work, t)


@test
def test_by_attach(tmp):
    work = prepared(tmp)
    with Background(["node", "program.js", "wait"], cwd=work, env=clean_env(HOME=str(tmp))) as p:
        equal(p.line(), b"ready\n")

        def go():
            p.tell()
            p.proc.stdin.close()
            equal(p.wait(), 0, "exit status of node")

        t, _ = by_attach("node by attach", tmp, p.pid, go, at_least=1000)
    judge(work, t)


if __name__ == "__main__":
    main()
