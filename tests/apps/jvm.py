# SPDX-License-Identifier: MIT
"""A program of Java: channels, mapped and random-access files; traced from start, and by attach."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from appjob import by_attach, from_start  # noqa: E402
from comparejob import must_run  # noqa: E402
from dfttest import Background, clean_env, equal, main, need_program, test  # noqa: E402

PROGRAM = """
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.concurrent.*;
import static java.nio.file.StandardOpenOption.*;

class Work {
    static void channel(Path p) throws IOException {
        try (FileChannel c = FileChannel.open(p, CREATE, READ, WRITE)) {
            ByteBuffer b = ByteBuffer.allocateDirect(1000);
            for (int i = 0; i < 100; i++) {
                b.clear();
                c.write(b, i * 1000L);
            }
            c.write(new ByteBuffer[] { ByteBuffer.allocate(10), ByteBuffer.allocate(20) });
            c.force(false);
            b.clear();
            c.read(b, 500);
            c.truncate(90000);
            MappedByteBuffer m = c.map(FileChannel.MapMode.READ_WRITE, 0, 4096);
            m.put(0, (byte)1);
            m.force();
            try (FileChannel to = FileChannel.open(Path.of(p + ".copy"), CREATE, WRITE)) {
                c.transferTo(0, 90000, to);
            }
        }
    }

    static void random(Path p) throws IOException {
        try (RandomAccessFile f = new RandomAccessFile(p.toFile(), "rw")) {
            for (int i = 99; i >= 0; i--) {
                f.seek(i * 512L);
                f.write(new byte[512]);
            }
            f.seek(0);
            f.readFully(new byte[51200]);
            f.getFD().sync();
        }
    }

    static void streams(Path p) throws IOException {
        try (Writer w = Files.newBufferedWriter(p)) {
            for (int i = 0; i < 20000; i++)
                w.write("line " + i + "\\n");
        }
        if (Files.lines(p).count() != 20000)
            throw new IOException("lines");
        Files.move(p, Path.of(p + ".moved"), StandardCopyOption.ATOMIC_MOVE);
        Files.copy(Path.of(p + ".moved"), p);
        Files.delete(Path.of(p + ".moved"));
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            System.out.println("ready");
            System.in.read();
        }
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 4; i++) {
            int n = i;
            pool.submit(() -> {
                channel(Path.of("channel" + n));
                random(Path.of("random" + n));
                streams(Path.of("stream" + n));
                return null;
            }).get();
        }
        pool.shutdown();
        pool.awaitTermination(60, TimeUnit.SECONDS);
    }
}
"""


def prepared(tmp):
    need_program("javac", "java")
    (tmp / "Work.java").write_text(PROGRAM)
    must_run(["javac", "Work.java"], cwd=tmp)
    return clean_env(HOME=str(tmp))


def judge(tmp, t):
    for i in range(4):
        moved = {}
        for name in ("channel", "random"):
            for e in t.events(file=tmp / f"{name}{i}"):
                if e.name in ("read", "write", "pread", "pwrite", "writev") and e.ret > 0:
                    moved[name, e.name] = moved.get((name, e.name), 0) + e.ret
        equal(moved, {("channel", "pwrite"): 100000, ("channel", "writev"): 30,
                      ("channel", "pread"): 1000, ("random", "write"): 51200,
                      ("random", "read"): 51200}, f"bytes of thread {i}")


@test
def test_from_start(tmp):
    env = prepared(tmp)
    t, _ = from_start("java from start", tmp, ["java", "-cp", ".", "Work"], env=env, at_least=2000)
    judge(tmp, t)


@test
def test_by_attach(tmp):
    env = prepared(tmp)
    with Background(["java", "-cp", ".", "Work", "wait"], cwd=tmp, env=env) as p:
        equal(p.line(), b"ready\n")

        def go():
            p.tell()
            equal(p.wait(), 0, "exit status of java")

        t, _ = by_attach("java by attach", tmp, p.pid, go, at_least=1000)
    judge(tmp, t)


if __name__ == "__main__":
    main()
